/* format/tflite/flatbuffer.h - tables, vectors and texts of a FlatBuffer, each checked before it is
 * read. The first trouble is kept and reported; after it every call gives nothing, so a reader may
 * ask at the end of a table whether all was well. */
#ifndef AS_FORMAT_TFLITE_FLATBUFFER_H
#define AS_FORMAT_TFLITE_FLATBUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/graph/tensor.h"

struct as_flat {
    const uint8_t *bytes;
    uint64_t size;
    struct assay_error *err;
    int rc; /* ASSAY_OK until something was wrong */
};

/* A table; one that is absent has `at` 0, and all its fields have their defaults. */
struct as_flat_table {
    uint64_t at, vtable;
    uint32_t vtable_bytes, table_bytes;
    const char *what; /* for messages */
};

/* A vector of `n` elements that are all in the file; absent: n and at are 0. */
struct as_flat_vector {
    uint64_t at;
    uint32_t n;
};

/* The table the file begins with. */
struct as_flat_table as_flat_root(struct as_flat *flat, const char *what);

bool as_flat_has(struct as_flat *flat, const struct as_flat_table *t, unsigned field);
/* A number of `bytes` (1, 2, 4 or 8), its sign not carried on. */
uint64_t as_flat_uint(struct as_flat *flat, const struct as_flat_table *t, unsigned field,
                      unsigned bytes, uint64_t fallback);
int32_t as_flat_i32(struct as_flat *flat, const struct as_flat_table *t, unsigned field,
                    int32_t fallback);
float as_flat_f32(struct as_flat *flat, const struct as_flat_table *t, unsigned field,
                  float fallback);
struct as_flat_table as_flat_table(struct as_flat *flat, const struct as_flat_table *t,
                                   unsigned field, const char *what);
/* Borrowed from the file; absent: {"", 0}. */
struct as_text as_flat_text(struct as_flat *flat, const struct as_flat_table *t, unsigned field);
/* Elements of `bytes` each; tables and texts in a vector take 4. */
struct as_flat_vector as_flat_vector(struct as_flat *flat, const struct as_flat_table *t,
                                     unsigned field, unsigned bytes);

/* Element `i`, which must be below v->n. */
uint64_t as_flat_at(const struct as_flat *flat, const struct as_flat_vector *v, uint32_t i,
                    unsigned bytes);
struct as_flat_table as_flat_table_at(struct as_flat *flat, const struct as_flat_vector *v,
                                      uint32_t i, const char *what);

/* Keeps the first trouble; returns the code. */
AS_PRINTF(3, 4)
int as_flat_fail(struct as_flat *flat, uint64_t offset, const char *fmt, ...);

#endif
