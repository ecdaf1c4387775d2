/* base/text/redact.h - command lines without their arguments, which may hold passwords and tokens.
 * What names the program stays; whatever follows becomes "[redacted]". */
#ifndef AS_BASE_TEXT_REDACT_H
#define AS_BASE_TEXT_REDACT_H

#include <stddef.h>

#define AS_REDACTED "[redacted]"

/* Bytes of a command line, as a shell would take it, that name the program; 0 when it begins with
 * anything else, as an assignment does. */
size_t as_redact_program(const char *command);

/* The command line with one AS_REDACTED for all that follows its program. One that was redacted
 * before stays as it is, and so does a number before it, as in "2. ". `out` is cut where it is
 * full. */
void as_redact_command(char *out, size_t capacity, const char *command);

#endif
