/* base/base64.h - bytes as text of RFC 4648, with padding and without line ends.
 * Reading is strict: one text for the same bytes, so that a changed character is always noticed. */
#ifndef AS_BASE_BASE64_H
#define AS_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/output.h"

/* Characters for `size` bytes, which must be at most SIZE_MAX / 2. */
static inline size_t as_base64_size(size_t size)
{
    return size / 3 * 4 + (size % 3 ? 4 : 0);
}

void as_base64_put(struct as_out *out, const void *data, size_t size);

/* Bytes in a text of that size; false unless it is a multiple of four with a possible end. */
bool as_base64_bytes(const char *text, size_t size, size_t *bytes);

/* Writes as_base64_bytes() bytes. False for any other character, padding elsewhere than at the end,
 * and bits behind the last byte that are not 0. */
bool as_base64_read(const char *text, size_t size, void *out);

#endif
