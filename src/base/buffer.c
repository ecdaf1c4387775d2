/* base/buffer.c - bytes that grow, up to a stated maximum. */
#include "base/buffer.h"

#include <string.h>

#include "base/alloc.h"

uint8_t *as_buffer_reserve(struct as_buffer *b, size_t extra)
{
    size_t limit = b->max_bytes ? b->max_bytes : SIZE_MAX;
    size_t capacity = b->capacity ? b->capacity : 256;
    uint8_t *grown;

    if (extra > limit || b->size > limit - extra) {
        b->failed = true;
        return NULL;
    }
    if (b->capacity - b->size >= extra)
        return b->data + b->size;
    while (capacity < b->size + extra)
        capacity = capacity > limit / 2 ? limit : capacity * 2;
    grown = as_realloc(b->data, capacity, 1);
    if (!grown) {
        b->failed = true;
        return NULL;
    }
    b->data = grown;
    b->capacity = capacity;
    return b->data + b->size;
}

bool as_buffer_add(struct as_buffer *b, const void *data, size_t size)
{
    uint8_t *to;

    if (size == 0)
        return true;
    to = as_buffer_reserve(b, size);
    if (!to)
        return false;
    memcpy(to, data, size);
    b->size += size;
    return true;
}

void as_buffer_fini(struct as_buffer *b)
{
    as_free(b->data);
    *b = (struct as_buffer){.max_bytes = b->max_bytes};
}
