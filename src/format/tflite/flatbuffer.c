/* format/tflite/flatbuffer.c - tables, vectors and texts of a FlatBuffer, each checked before it is
 * read.
 *
 *   root    u32 at byte 0: offset of the root table, from there
 *   table   i32: its vtable is that far before it; then its fields
 *   vtable  u16 bytes of itself, u16 bytes of the table, u16 per field: offset in the table, 0:
 * none vector  u32 count, elements; text: u32 count, bytes, NUL a field that is a table, vector or
 * text holds a u32: how far ahead of the field it is
 *
 * Offsets other than to vtables only go ahead, so nothing can lead in circles. */
#include "format/tflite/flatbuffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int as_flat_fail(struct as_flat *flat, uint64_t offset, const char *fmt, ...)
{
    char said[200];
    va_list args;

    if (flat->rc < 0)
        return flat->rc;
    va_start(args, fmt);
    (void)vsnprintf(said, sizeof said, fmt, args);
    va_end(args);
    flat->rc = as_fail_at(flat->err, offset, "%s", said);
    return flat->rc;
}

/* `bytes` bytes at `at` are in the file. */
static bool inside(const struct as_flat *flat, uint64_t at, uint64_t bytes)
{
    return at <= flat->size && bytes <= flat->size - at;
}

static uint64_t raw(const struct as_flat *flat, uint64_t at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)flat->bytes[at + i] << (8 * i);
    return value;
}

static struct as_flat_table open_table(struct as_flat *flat, uint64_t at, const char *what)
{
    struct as_flat_table none = {.what = what}, t = {.at = at, .what = what};
    int64_t vtable;

    if (flat->rc < 0)
        return none;
    if (!inside(flat, at, 4)) {
        as_flat_fail(flat, at, "%s is outside the file", what);
        return none;
    }
    vtable = (int64_t)at - (int32_t)(uint32_t)raw(flat, at, 4);
    if (vtable < 0 || !inside(flat, (uint64_t)vtable, 4)) {
        as_flat_fail(flat, at, "the vtable of %s is outside the file", what);
        return none;
    }
    t.vtable = (uint64_t)vtable;
    t.vtable_bytes = (uint32_t)raw(flat, t.vtable, 2);
    t.table_bytes = (uint32_t)raw(flat, t.vtable + 2, 2);
    if (t.vtable_bytes < 4 || t.vtable_bytes % 2 || !inside(flat, t.vtable, t.vtable_bytes)) {
        as_flat_fail(flat, t.vtable, "the vtable of %s has %u bytes", what, t.vtable_bytes);
        return none;
    }
    if (t.table_bytes < 4 || !inside(flat, at, t.table_bytes)) {
        as_flat_fail(flat, t.vtable, "%s has %u bytes and ends past the end of the file", what,
                     t.table_bytes);
        return none;
    }
    return t;
}

struct as_flat_table as_flat_root(struct as_flat *flat, const char *what)
{
    if (!inside(flat, 0, 4)) {
        as_flat_fail(flat, 0, "the file is too short for %s", what);
        return (struct as_flat_table){.what = what};
    }
    return open_table(flat, raw(flat, 0, 4), what);
}

/* Where the field is, or 0 when it is absent or something is wrong. */
static uint64_t field_at(struct as_flat *flat, const struct as_flat_table *t, unsigned field,
                         unsigned bytes)
{
    uint32_t slot = 4 + 2 * field, offset;

    if (flat->rc < 0 || t->at == 0 || slot + 2 > t->vtable_bytes)
        return 0;
    offset = (uint32_t)raw(flat, t->vtable + slot, 2);
    if (offset == 0)
        return 0;
    if (offset < 4 || offset > t->table_bytes || bytes > t->table_bytes - offset) {
        as_flat_fail(flat, t->vtable + slot, "field %u of %s is outside its table", field, t->what);
        return 0;
    }
    return t->at + offset;
}

bool as_flat_has(struct as_flat *flat, const struct as_flat_table *t, unsigned field)
{
    return field_at(flat, t, field, 1) != 0;
}

uint64_t as_flat_uint(struct as_flat *flat, const struct as_flat_table *t, unsigned field,
                      unsigned bytes, uint64_t fallback)
{
    uint64_t at = field_at(flat, t, field, bytes);

    return at ? raw(flat, at, bytes) : fallback;
}

int32_t as_flat_i32(struct as_flat *flat, const struct as_flat_table *t, unsigned field,
                    int32_t fallback)
{
    return (int32_t)(uint32_t)as_flat_uint(flat, t, field, 4, (uint32_t)fallback);
}

float as_flat_f32(struct as_flat *flat, const struct as_flat_table *t, unsigned field,
                  float fallback)
{
    uint64_t at = field_at(flat, t, field, 4);
    uint32_t bits;
    float value;

    if (!at)
        return fallback;
    bits = (uint32_t)raw(flat, at, 4);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* What the offset at `at` points to; 0 when that is nowhere. */
static uint64_t follow(struct as_flat *flat, uint64_t at, const char *what)
{
    uint64_t offset = raw(flat, at, 4);

    if (offset == 0 || !inside(flat, at + offset, 4)) {
        as_flat_fail(flat, at, "%s is outside the file", what);
        return 0;
    }
    return at + offset;
}

struct as_flat_table as_flat_table(struct as_flat *flat, const struct as_flat_table *t,
                                   unsigned field, const char *what)
{
    uint64_t at = field_at(flat, t, field, 4);

    if (at)
        at = follow(flat, at, what);
    return at ? open_table(flat, at, what) : (struct as_flat_table){.what = what};
}

struct as_flat_vector as_flat_vector(struct as_flat *flat, const struct as_flat_table *t,
                                     unsigned field, unsigned bytes)
{
    uint64_t at = field_at(flat, t, field, 4), n;

    if (at)
        at = follow(flat, at, t->what);
    if (!at)
        return (struct as_flat_vector){0, 0};
    n = raw(flat, at, 4);
    if (!inside(flat, at + 4, n * bytes)) { /* below 2^35 */
        as_flat_fail(flat, at,
                     "the vector in field %u of %s has %llu elements, past the end of "
                     "the file",
                     field, t->what, (unsigned long long)n);
        return (struct as_flat_vector){0, 0};
    }
    return (struct as_flat_vector){at + 4, (uint32_t)n};
}

struct as_text as_flat_text(struct as_flat *flat, const struct as_flat_table *t, unsigned field)
{
    struct as_flat_vector v = as_flat_vector(flat, t, field, 1);

    if (v.n == 0)
        return (struct as_text){"", 0};
    return (struct as_text){(const char *)flat->bytes + v.at, v.n};
}

uint64_t as_flat_at(const struct as_flat *flat, const struct as_flat_vector *v, uint32_t i,
                    unsigned bytes)
{
    return raw(flat, v->at + (uint64_t)i * bytes, bytes);
}

struct as_flat_table as_flat_table_at(struct as_flat *flat, const struct as_flat_vector *v,
                                      uint32_t i, const char *what)
{
    uint64_t at = flat->rc < 0 ? 0 : follow(flat, v->at + (uint64_t)i * 4, what);

    return at ? open_table(flat, at, what) : (struct as_flat_table){.what = what};
}
