/* base/file/executable.h - whether a library can be put into a program, from the program's
 * file. The file is hostile: nothing in it is believed without a check. */
#ifndef AS_BASE_FILE_EXECUTABLE_H
#define AS_BASE_FILE_EXECUTABLE_H

#include <stdbool.h>
#include <stdint.h>

#define AS_INTERPRETER_BYTES 256

enum as_executable_kind {
    AS_EXECUTABLE_UNKNOWN, /* text without a first line that names its interpreter, or anything */
    AS_EXECUTABLE_SCRIPT,  /* "#!" */
    AS_EXECUTABLE_ELF
};

struct as_executable {
    enum as_executable_kind kind;
    bool is_text; /* no NUL in what was read of it: a shell may run it */
    bool same_machine;
    bool sanitized; /* needs a sanitizer's runtime, which wants to come first */
    char interpreter[AS_INTERPRETER_BYTES]; /* of a script, or the loader; "": none, static */
};

/* Reads what is needed from `fd`. What is damaged counts as not there. */
void as_executable_read(struct as_executable *out, int fd);

/* Why the library of `own`, the path of a program that uses the loader it was built for, cannot be
 * put into the program at `path`: a static sentence without a full stop; NULL when it can. For a
 * script its interpreter counts. */
const char *as_executable_why_not(const char *path, const char *own);

#endif
