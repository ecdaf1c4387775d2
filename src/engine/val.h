/* engine/val.h - a value while the network runs: a tensor with its numbers, a sequence, an
 * optional. Numbers are row-major in the dtype's own width unless `layout` says otherwise; kernels
 * of our own only ever see plain ones. */
#ifndef AS_ENGINE_VAL_H
#define AS_ENGINE_VAL_H

#include "engine/memory_count.h"
#include "model/graph/tensor.h"

/* The greatest weight whose products with bytes fit into 16 bits in pairs: twice 255 times it. */
#define AS_NARROW_WEIGHT 64

struct as_layout; /* how a kernel library keeps a tensor in memory; engine/layout.h */

/* A counted block that several values may share: views of it, elements of sequences. Of a list it
 * keeps the elements. */
struct as_hold {
    uint32_t n_refs;
    enum as_mem_kind kind;
    uint64_t bytes;
    uint64_t beside_bytes; /* itself, and what as_val_count_texts() found */
    struct as_mem *mem;
    void *block;           /* of a list: NULL */
    struct as_arena texts; /* of strings: what they are made of */
};

struct as_val {
    uint8_t kind;    /* enum as_value_kind */
    uint8_t dtype;   /* enum as_dtype */
    int16_t rank;    /* of a tensor; never negative once it is there */
    bool present;    /* false: nothing yet */
    int32_t n_elems; /* of a sequence; of an optional 0 or 1 */
    uint64_t n;      /* elements of a tensor */
    uint64_t bytes;  /* of its data */
    /* Of strings: struct as_text[n]. Aligned to AS_MEM_ALIGN when the engine took it; to the
     * dtype at least. Not NULL, also with 0 elements. */
    void *data;
    const struct as_layout *layout; /* NULL: plain */
    struct as_hold *hold;           /* what keeps `data` alive; NULL: borrowed or of the arena */
    struct as_val *elems;           /* of a sequence or optional: n_elems, of the hold; or owned */
    int64_t dims[AS_MAX_RANK];
};

/* A tensor of that type with memory of its own, not cleared. Whatever `val` held must have been
 * dropped. LIMIT when the size passes what can be, NOMEM. */
AS_MUST_USE int as_val_new(struct as_val *val, struct as_mem *mem, enum as_mem_kind kind,
                           unsigned dtype, const struct as_dims *dims, struct assay_error *err);

/* An empty sequence or optional with room for `n` elements, which are put into `elems` before it is
 * shared. Whatever `val` held must have been dropped. */
AS_MUST_USE int as_val_list(struct as_val *val, struct as_mem *mem, enum as_value_kind kind,
                            int32_t n, struct assay_error *err);

/* Counts what the texts of a new value of strings are made of. */
AS_MUST_USE int as_val_count_texts(const struct as_val *val, struct assay_error *err);

/* Another reference to the same numbers; lists share their elements. */
AS_MUST_USE int as_val_share(struct as_val *to, const struct as_val *from, struct assay_error *err);

/* Gives up what it holds; `val` is empty afterwards. */
void as_val_drop(struct as_val *val);
/* Memory that is held is counted as `kind` from now on, for all who share it. */
void as_val_recount(const struct as_val *val, enum as_mem_kind kind);

/* Sets dtype, rank, dims, n and bytes but no memory. */
AS_MUST_USE int as_val_shape(struct as_val *val, unsigned dtype, const struct as_dims *dims,
                             struct assay_error *err);

/* Its dimensions, and its type; the type borrows the value's dims. Of a sequence the type has no
 * elems. */
void as_val_dims(const struct as_val *val, struct as_dims *out);
void as_val_type(const struct as_val *val, struct as_type *out);

/* A value for the numbers of a constant, not filled: of the dtype they are stored in, or of f32
 * when `type` is and they are f16, bf16 or quantized blocks. */
AS_MUST_USE int as_val_for(struct as_val *val, struct as_mem *mem, enum as_mem_kind kind,
                           const struct as_type *type, const struct as_data *data,
                           struct assay_error *err);

/* Numbers [first, first + n) of a constant as they are in such a value; no texts. `first` is at the
 * start of a byte or block. */
AS_MUST_USE int as_val_read(const struct as_type *type, const struct as_data *data, uint64_t first,
                            uint64_t n, void *out, struct assay_error *err);

/* Both: the constant copied into a plain value of the kind's memory. */
AS_MUST_USE int as_val_load(struct as_val *val, struct as_mem *mem, enum as_mem_kind kind,
                            const struct as_type *type, const struct as_data *data,
                            struct assay_error *err);

/* One element of a plain number tensor of any dtype but text, complex and blocks; 0 for one behind
 * the last, as where a file gives an empty tensor for a number. */
double as_val_f64(const struct as_val *val, uint64_t i);
int64_t as_val_i64(const struct as_val *val, uint64_t i);
void as_val_put_f64(struct as_val *val, uint64_t i, double x);
/* Whether no byte is further than AS_NARROW_WEIGHT from `zero`. */
bool as_weights_are_narrow(const struct as_val *val, int64_t zero);
void as_val_put_i64(struct as_val *val, uint64_t i, int64_t x);

#endif
