/* base/buffer.h - bytes that grow, up to a stated maximum.
 * A failed append leaves the buffer as it was and is remembered in `failed`. */
#ifndef AS_BASE_BUFFER_H
#define AS_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* {.max_bytes = N} is an empty buffer; 0 means no maximum. */
struct as_buffer {
    uint8_t *data;
    size_t size, capacity, max_bytes;
    bool failed;
};

/* Makes room for `extra` more bytes and returns where they go, or NULL. */
uint8_t *as_buffer_reserve(struct as_buffer *b, size_t extra);

bool as_buffer_add(struct as_buffer *b, const void *data, size_t size);

/* Frees the bytes; the buffer is empty and usable again, with the same maximum. */
void as_buffer_fini(struct as_buffer *b);

#endif
