/* tests/unit/flat_kit.h - FlatBuffers made by hand, wrong ones too: nothing here checks anything.
 * Include after bytes_kit.h. */
#ifndef AS_TESTS_FLAT_KIT_H
#define AS_TESTS_FLAT_KIT_H

static inline void flat_set(struct as_buffer *b, size_t at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        b->data[at + i] = (uint8_t)(value >> (8 * i));
}

static inline size_t flat_get(const struct as_buffer *b, size_t at, unsigned bytes)
{
    size_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (size_t)b->data[at + i] << (8 * i);
    return value;
}

/* A table whose fields have the bytes given by digits: "401" has one of 4, none, and one of 1. */
static inline size_t flat_table(struct as_buffer *b, const char *digits)
{
    size_t n = strlen(digits), vtable = b->size, table, offset = 4;

    put_int(b, 4 + 2 * n, 2);
    put_int(b, 0, 2);
    for (size_t i = 0; i < n; i++) {
        put_int(b, digits[i] == '0' ? 0 : offset, 2);
        offset += (size_t)(digits[i] - '0');
    }
    flat_set(b, vtable + 2, offset, 2);
    table = b->size;
    put_u32(b, (uint32_t)(table - vtable));
    put_zeros(b, offset - 4);
    return table;
}

static inline size_t flat_slot(const struct as_buffer *b, size_t table, unsigned field)
{
    size_t vtable = table - flat_get(b, table, 4);

    return table + flat_get(b, vtable + 4 + 2 * field, 2);
}

static inline void flat_field(struct as_buffer *b, size_t table, unsigned field, uint64_t value,
                              unsigned bytes)
{
    flat_set(b, flat_slot(b, table, field), value, bytes);
}

static inline void flat_link(struct as_buffer *b, size_t table, unsigned field, size_t target)
{
    size_t slot = flat_slot(b, table, field);

    flat_set(b, slot, target - slot, 4);
}

static inline size_t flat_vector(struct as_buffer *b, uint32_t n, unsigned bytes)
{
    size_t at = b->size;

    put_u32(b, n);
    put_zeros(b, (size_t)n * bytes);
    return at;
}

static inline size_t flat_ints(struct as_buffer *b, uint32_t n, const int32_t *at)
{
    size_t vector = flat_vector(b, n, 4);

    for (uint32_t i = 0; i < n; i++)
        flat_set(b, vector + 4 + 4 * i, (uint32_t)at[i], 4);
    return vector;
}

static inline void flat_element(struct as_buffer *b, size_t vector, uint32_t i, size_t target)
{
    size_t slot = vector + 4 + 4 * i;

    flat_set(b, slot, target - slot, 4);
}

static inline size_t flat_text(struct as_buffer *b, const char *text)
{
    size_t at = b->size;

    put_u32(b, (uint32_t)strlen(text));
    put_bytes(b, text, strlen(text) + 1);
    return at;
}

#endif
