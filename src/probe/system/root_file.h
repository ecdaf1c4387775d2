/* probe/system/root_file.h - small text files of the kernel, beneath a root that tests can replace.
 * Their text is not trusted: it is cut at the room given, and numbers are parsed whole or not. */
#ifndef AS_PROBE_SYSTEM_ROOT_FILE_H
#define AS_PROBE_SYSTEM_ROOT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"

/* `path` begins with '/' and stands beneath `root`, which is "" for the machine itself. The text is
 * NUL-terminated and without its last newline. False when there is no such file or it is empty. */
bool as_root_read(const char *root, const char *path, char *out, size_t capacity);

/* The whole number that is all of the file. `why` is what the fact says otherwise. */
struct as_fact as_root_u64(const char *root, const char *path, const char *why);

/* Where the value of "key<blanks>:<blanks>value" begins, and its size up to the end of its line;
 * NULL when no line has that key. The first such line counts. */
const char *as_text_field(const char *text, const char *key, size_t *size);

/* The number such a value begins with: "VmRSS:  12 kB" is 12. False when there is none. */
bool as_text_field_u64(const char *text, const char *key, uint64_t *out);

/* Such a number of KiB in bytes: "VmRSS:  12 kB" is 12288. False when there is none or it does not
 * fit. */
bool as_text_field_kib(const char *text, const char *key, uint64_t *out_bytes);

/* Copies that value, cut to the room; "" and false when there is none. */
bool as_text_field_copy(const char *text, const char *key, char *out, size_t capacity);

/* Takes the next blank-separated word and moves `at` behind it; NULL at the end of the line. */
const char *as_text_word(const char **at, size_t *size);

/* The next word as a number; false when it is none. */
bool as_text_word_u64(const char **at, uint64_t *out);

#endif
