/* base/text/redact.c - command lines without their arguments. */
#include "base/text/redact.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

size_t as_redact_program(const char *command)
{
    size_t n = 0;

    while (isalnum((unsigned char)command[n]) || (command[n] && strchr("_./+-", command[n])))
        n++;
    /* A blank ends a word; whatever else stands there may be a part of a secret. */
    return command[n] == '\0' || command[n] == ' ' || command[n] == '\t' ? n : 0;
}

void as_redact_command(char *out, size_t capacity, const char *command)
{
    size_t digits = strspn(command, "0123456789");
    size_t number = digits && strncmp(command + digits, ". ", 2) == 0 ? digits + 2 : 0;
    size_t program = number + as_redact_program(command + number);

    if (command[program] == '\0' || strcmp(command + program, " " AS_REDACTED) == 0)
        (void)snprintf(out, capacity, "%s", command);
    else
        (void)snprintf(out, capacity, "%.*s%s%s", (int)program, command,
                       program > number ? " " : "", AS_REDACTED);
}
