/* model/graph/tensor.h - what is known of a tensor: its type, its dimensions and, of a constant,
 * where its numbers are. Numbers in a model file stay there until somebody asks for them. */
#ifndef AS_MODEL_GRAPH_TENSOR_H
#define AS_MODEL_GRAPH_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "model/graph/dtype.h"

#define AS_MAX_RANK 32

/* A dimension, or an element of a constant of integers, that is not known. */
#define AS_DIM_UNKNOWN INT64_MIN

enum as_value_kind {
    AS_VALUE_TENSOR,
    AS_VALUE_SEQUENCE,
    AS_VALUE_OPTIONAL,
    AS_VALUE_MAP,
    AS_VALUE_COUNT
};

/* The type of a value. `dims` is never changed once set and may be shared. */
struct as_type {
    uint8_t kind;                /* enum as_value_kind */
    uint8_t dtype;               /* enum as_dtype, of a tensor */
    int16_t rank;                /* -1: not known */
    int32_t n_elems;             /* of a sequence: -1 not known; of an optional: 0, 1 or -1 */
    const int64_t *dims;         /* `rank` of them */
    const struct as_type *elems; /* of a sequence or optional: n_elems types, one common type when
                                    n_elems is -1, NULL when nothing is known */
};

#define AS_TYPE_UNKNOWN ((struct as_type){.rank = -1, .n_elems = -1})

/* Dimensions while they are worked out. */
struct as_dims {
    int rank;
    int64_t at[AS_MAX_RANK];
};

/* Numbers, for instance of an attribute or a small constant. Borrowed. */
struct as_ints {
    size_t n;
    const int64_t *at;
};

/* The numbers of a constant, little-endian and in row-major order. */
struct as_data;

/* Writes the elements from `first` on into `out`, in the data's dtype. For 4-bit types and blocks
 * `first` is at the start of a byte or block. */
typedef int (*as_data_make)(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                            struct assay_error *err);

struct as_data {
    uint8_t dtype;
    bool partial;        /* i64 only: some elements are AS_DIM_UNKNOWN */
    bool generated;      /* not in any file: made by a node such as ConstantOfShape, or by a seed */
    uint64_t n;          /* elements, all of them also when sparse */
    uint64_t size_bytes; /* of the n elements */
    uint64_t stored_elems, stored_bytes; /* in the file; differs for sparse and made constants */
    uint64_t offset;                     /* in the file, where it is known; for messages */
    const uint8_t *bytes; /* the elements when they are in memory (mapped or in an arena), else
                             NULL; not aligned */
    as_data_make make;    /* how to have them when not; NULL: not to be had */
    const void *from;     /* for `make` */
    uint64_t seed;
    const struct as_text *texts; /* of AS_DTYPE_STRING: n of them */
};

/* False when a dimension is not known or the product passes 2^63. Of a scalar: 1. */
bool as_type_elems(const struct as_type *type, uint64_t *n);
/* The same in bytes; a type whose dtype has no size gives false. */
bool as_type_bytes(const struct as_type *type, uint64_t *bytes);
/* True for a tensor of which every dimension is known. */
bool as_type_is_static(const struct as_type *type);
bool as_type_equal(const struct as_type *a, const struct as_type *b);

/* "1x3x224x224", "scalar", "?" for an unknown rank, "?" for an unknown dimension; a sequence as
 * "seq(2)[3x4, 5]". Always ended by NUL; "..." where it does not fit. Returns the length. */
size_t as_type_text(char *out, size_t capacity, const struct as_type *type);

/* A tensor type with a copy of the dimensions in `arena`; rank -1 for NULL dims. False: no memory.
 */
bool as_type_tensor(struct as_type *out, struct as_arena *arena, unsigned dtype,
                    const struct as_dims *dims);

/* The type's dimensions; false when the rank is not known or it is no tensor. */
bool as_type_dims(const struct as_type *type, struct as_dims *out);

/* Reads elements in pieces, wherever they are, without keeping them. `out` holds the bytes of n
 * elements. ASSAY_ERR_UNSUPPORTED when they cannot be had. */
AS_MUST_USE int as_data_read(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                             struct assay_error *err);

/* Has all elements in data->bytes, made once into `arena`. ASSAY_ERR_LIMIT above `max_bytes`. */
AS_MUST_USE int as_data_load(struct as_data *data, struct as_arena *arena, uint64_t max_bytes,
                             struct assay_error *err);

/* Element `i` of loaded data as a number; any dtype but text, complex and blocks. Floats are cut
 * towards zero and saturate in i64; u64 past INT64_MAX saturates. */
int64_t as_data_i64(const struct as_data *data, uint64_t i);
double as_data_f64(const struct as_data *data, uint64_t i);

/* New data of zeros in `arena`, to be filled by the two below; NULL: no memory or too large. Its
 * `generated` is set. */
struct as_data *as_data_new(struct as_arena *arena, unsigned dtype, uint64_t n);
void as_data_put_i64(struct as_data *data, uint64_t i, int64_t value);
void as_data_put_f64(struct as_data *data, uint64_t i, double value);

/* Where the elements of data made by as_data_new() are written. */
uint8_t *as_data_storage(struct as_data *data);
/* Element `from` of `in` as it is, bit by bit; both of one dtype, which is not text. */
void as_data_copy(struct as_data *out, uint64_t to, const struct as_data *in, uint64_t from);

/* Data over bytes that live as long as the arena. NULL: no memory. `size_bytes` must be that of
 * the n elements, which the caller has checked. */
struct as_data *as_data_over(struct as_arena *arena, unsigned dtype, uint64_t n, const void *bytes);

/* One number of a small float format from its bits. */
double as_f16_value(uint16_t bits);
double as_bf16_value(uint16_t bits);

#endif
