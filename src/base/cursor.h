/* base/cursor.h - how parsers see bytes from outside: what is taken was there.
 * Every take checks what is left and returns false, without moving, when it is not enough. */
#ifndef AS_BASE_CURSOR_H
#define AS_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_text {
    const char *at; /* not ended by NUL */
    size_t size;
};

struct as_cursor {
    const uint8_t *at, *end;
};

static inline struct as_cursor as_cursor_over(const void *data, size_t size)
{
    const uint8_t *bytes = data;

    return (struct as_cursor){bytes, size ? bytes + size : bytes}; /* NULL: nothing is there */
}

static inline size_t as_cursor_left(const struct as_cursor *c)
{
    return (size_t)(c->end - c->at);
}

static inline bool as_take_u8(struct as_cursor *c, uint8_t *out)
{
    if (c->at == c->end)
        return false;
    *out = *c->at++;
    return true;
}

static inline bool as_take_u16le(struct as_cursor *c, uint16_t *out)
{
    if (as_cursor_left(c) < 2)
        return false;
    *out = (uint16_t)(c->at[0] | c->at[1] << 8);
    c->at += 2;
    return true;
}

static inline bool as_take_u32le(struct as_cursor *c, uint32_t *out)
{
    if (as_cursor_left(c) < 4)
        return false;
    *out = (uint32_t)c->at[0] | (uint32_t)c->at[1] << 8 | (uint32_t)c->at[2] << 16 |
           (uint32_t)c->at[3] << 24;
    c->at += 4;
    return true;
}

static inline bool as_take_u64le(struct as_cursor *c, uint64_t *out)
{
    uint32_t low = 0, high = 0;

    if (as_cursor_left(c) < 8 || !as_take_u32le(c, &low) || !as_take_u32le(c, &high))
        return false;
    *out = (uint64_t)high << 32 | low;
    return true;
}

/* Base-128 with the low group first, at most ten bytes; a value past 64 bits is refused. */
static inline bool as_take_varint(struct as_cursor *c, uint64_t *out)
{
    const uint8_t *p = c->at;
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte;

        if (p == c->end)
            return false;
        byte = *p++;
        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            c->at = p;
            *out = value;
            return true;
        }
    }
    return false;
}

/* Borrows the next `size` bytes. */
static inline bool as_take_bytes(struct as_cursor *c, size_t size, const uint8_t **out)
{
    if (as_cursor_left(c) < size)
        return false;
    *out = c->at;
    c->at += size;
    return true;
}

static inline bool as_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool as_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

#endif
