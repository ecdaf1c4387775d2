/* watch/watch_limits.h - the limits of memory that a program started now inherits from us.
 * What a program changes of its own limits later is not seen. */
#ifndef AS_WATCH_WATCH_LIMITS_H
#define AS_WATCH_WATCH_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

struct as_watch_limits {
    double address_bytes; /* of a process (RLIMIT_AS, RLIMIT_DATA); NaN: none */
    double group_bytes;   /* of its control group, all processes together; NaN: none known */
};

/* `root` stands before "/proc" and "/sys" ("" usually). */
void as_watch_limits_read(struct as_watch_limits *out, const char *root);

/* Whether they leave an injected library no room for its counters; `why` then says so. */
bool as_watch_limits_forbid(char *why, size_t capacity);

#endif
