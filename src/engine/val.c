/* engine/val.c - a value while the network runs: a tensor with its numbers, a sequence, an
 * optional. Blocks are counted and shared; whoever drops the last reference gives them back. */
#include "engine/val.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "model/weights/weight_stats.h"

/* Tensors past this are refused before anything else is asked of the machine. */
#define MAX_TENSOR_BYTES ((uint64_t)1 << 46)
#define MAX_TENSOR_ELEMS ((uint64_t)1 << 48)
#define TEXT_BLOCK_BYTES ((uint64_t)64 * 1024)

static bool bytes_of(unsigned dtype, uint64_t n, uint64_t *bytes)
{
    if (dtype == AS_DTYPE_STRING)
        return as_mul_u64(n, sizeof(struct as_text), bytes);
    return as_dtype_at(dtype)->block_bytes && as_dtype_bytes(dtype, n, bytes);
}

int as_val_shape(struct as_val *val, unsigned dtype, const struct as_dims *dims,
                 struct assay_error *err)
{
    uint64_t n = 1;

    val->kind = AS_VALUE_TENSOR;
    val->dtype = (uint8_t)dtype;
    val->rank = (int16_t)dims->rank;
    val->layout = NULL;
    val->n_elems = 0;
    val->elems = NULL;
    for (int i = 0; i < dims->rank; i++) {
        if (dims->at[i] < 0)
            return as_fail(err, ASSAY_ERR_FORMAT, "a dimension of a tensor is not known");
        val->dims[i] = dims->at[i];
    }
    /* Also of one without elements, so that strides and products of some of its dimensions can be
     * taken as they are. */
    for (int i = 0; i < dims->rank; i++)
        if (dims->at[i] > 0 && (!as_mul_u64(n, (uint64_t)dims->at[i], &n) || n > MAX_TENSOR_ELEMS))
            return as_fail(err, ASSAY_ERR_LIMIT, "a tensor has more than 2^48 elements");
    for (int i = 0; i < dims->rank; i++)
        if (dims->at[i] == 0)
            n = 0;
    val->n = n;
    if (!bytes_of(dtype, n, &val->bytes) || val->bytes > MAX_TENSOR_BYTES)
        return as_fail(err, ASSAY_ERR_LIMIT, "a tensor of %llu %s elements is too large",
                       (unsigned long long)n, as_dtype_name(dtype));
    return ASSAY_OK;
}

static struct as_hold *hold_new(struct as_mem *mem, uint64_t beside_bytes)
{
    struct as_hold *hold = NULL;

    beside_bytes += sizeof *hold;
    if (as_mem_beside(mem, beside_bytes)) {
        hold = as_alloc_zero(1, sizeof *hold);
        if (!hold)
            as_mem_beside_sub(mem, beside_bytes);
    }
    if (hold)
        *hold = (struct as_hold){.n_refs = 1, .mem = mem, .beside_bytes = beside_bytes};
    return hold;
}

static void unhold(struct as_hold *hold)
{
    if (!hold || --hold->n_refs > 0)
        return;
    as_mem_beside_sub(hold->mem, hold->beside_bytes);
    as_mem_free(hold->mem, hold->kind, hold->block, hold->bytes);
    as_arena_fini(&hold->texts);
    as_free(hold);
}

int as_val_new(struct as_val *val, struct as_mem *mem, enum as_mem_kind kind, unsigned dtype,
               const struct as_dims *dims, struct assay_error *err)
{
    struct as_hold *hold;
    int rc;

    *val = (struct as_val){0};
    rc = as_val_shape(val, dtype, dims, err);
    if (rc < 0)
        return rc;
    hold = hold_new(mem, 0);
    if (hold)
        hold->block = as_mem_alloc(mem, kind, val->bytes);
    if (!hold || !hold->block) {
        unhold(hold);
        return as_fail(err, ASSAY_ERR_NOMEM, "no memory for a tensor of %llu bytes",
                       (unsigned long long)val->bytes);
    }
    if (dtype == AS_DTYPE_STRING) {
        uint64_t left = as_mem_left(mem);

        memset(hold->block, 0, (size_t)val->bytes);
        hold->texts.max_bytes = left == UINT64_MAX ? 0 : (size_t)left + 1;
    }
    hold->kind = kind;
    hold->bytes = val->bytes;
    val->hold = hold;
    val->data = hold->block;
    val->present = true;
    return ASSAY_OK;
}

int as_val_list(struct as_val *val, struct as_mem *mem, enum as_value_kind kind, int32_t n,
                struct assay_error *err)
{
    *val = (struct as_val){.kind = (uint8_t)kind};
    val->hold = hold_new(mem, ((uint64_t)n + 1) * sizeof *val->elems);
    val->elems = val->hold ? as_alloc_zero((size_t)n + 1, sizeof *val->elems) : NULL;
    val->present = val->elems != NULL;
    if (val->elems)
        return ASSAY_OK;
    as_val_drop(val);
    return as_fail(err, ASSAY_ERR_NOMEM, "no memory for a list of %d elements", (int)n);
}

/* NOLINTNEXTLINE(misc-no-recursion): lists are at most two deep */
int as_val_count_texts(const struct as_val *val, struct assay_error *err)
{
    struct as_hold *hold = val->hold;
    uint64_t bytes;
    int rc = ASSAY_OK;

    for (int32_t i = 0; val->elems && i < val->n_elems && rc == ASSAY_OK; i++)
        rc = as_val_count_texts(&val->elems[i], err);
    if (rc < 0 || !hold || val->kind != AS_VALUE_TENSOR || hold->texts.used_bytes == 0)
        return rc;
    /* An arena takes whole blocks. */
    bytes = (hold->texts.used_bytes / TEXT_BLOCK_BYTES + 1) * TEXT_BLOCK_BYTES;
    if (bytes <= hold->beside_bytes)
        return ASSAY_OK;
    if (!as_mem_beside(hold->mem, bytes - hold->beside_bytes))
        return as_fail(err, ASSAY_ERR_NOMEM, "no memory for texts of %llu bytes",
                       (unsigned long long)bytes);
    hold->beside_bytes = bytes;
    return ASSAY_OK;
}

/* Lists are at most two deep: an optional of a sequence of tensors. */
/* NOLINTNEXTLINE(misc-no-recursion) */
void as_val_drop(struct as_val *val)
{
    if (val->elems && (!val->hold || val->hold->n_refs == 1)) {
        for (int32_t i = 0; i < val->n_elems; i++)
            as_val_drop(&val->elems[i]);
        as_free(val->elems);
    }
    unhold(val->hold);
    *val = (struct as_val){0};
}

void as_val_recount(const struct as_val *val, enum as_mem_kind kind)
{
    struct as_hold *hold = val->hold;

    if (!hold || hold->kind == kind)
        return;
    as_mem_sub(hold->mem, hold->kind, hold->bytes);
    as_mem_add(hold->mem, kind, hold->bytes);
    hold->kind = kind;
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
int as_val_share(struct as_val *to, const struct as_val *from, struct assay_error *err)
{
    int rc = ASSAY_OK;

    *to = *from;
    if (to->hold)
        to->hold->n_refs++;
    if (to->hold || !from->elems)
        return ASSAY_OK;
    /* One that was put together by hand. */
    to->n_elems = 0;
    to->elems = as_alloc_zero((size_t)from->n_elems + 1, sizeof *to->elems);
    if (!to->elems)
        rc = as_fail_nomem(err);
    for (int32_t i = 0; rc == ASSAY_OK && i < from->n_elems; i++, to->n_elems++)
        rc = as_val_share(&to->elems[i], &from->elems[i], err);
    if (rc < 0)
        as_val_drop(to);
    return rc;
}

void as_val_dims(const struct as_val *val, struct as_dims *out)
{
    out->rank = val->rank;
    memcpy(out->at, val->dims, (size_t)val->rank * sizeof *val->dims);
}

void as_val_type(const struct as_val *val, struct as_type *out)
{
    *out = AS_TYPE_UNKNOWN;
    out->kind = val->kind;
    if (val->kind == AS_VALUE_TENSOR) {
        out->dtype = val->dtype;
        out->rank = val->rank;
        out->dims = val->dims;
    } else {
        out->n_elems = val->n_elems;
    }
}

static int load_texts(struct as_val *val, const struct as_data *data, struct assay_error *err)
{
    struct as_text *texts = val->data;

    for (uint64_t i = 0; i < val->n && data->texts; i++) {
        texts[i].at = as_arena_text(&val->hold->texts, data->texts[i].at, data->texts[i].size);
        texts[i].size = data->texts[i].size;
        if (!texts[i].at)
            return as_fail_nomem(err);
    }
    return as_val_count_texts(val, err);
}

static bool is_widened(const struct as_type *type, const struct as_data *data)
{
    return type->dtype == AS_DTYPE_F32 && data->dtype != AS_DTYPE_F32;
}

int as_val_for(struct as_val *val, struct as_mem *mem, enum as_mem_kind kind,
               const struct as_type *type, const struct as_data *data, struct assay_error *err)
{
    struct as_dims dims;
    int rc;

    *val = (struct as_val){0};
    if (!as_type_dims(type, &dims))
        return as_fail(err, ASSAY_ERR_FORMAT, "a constant has no shape");
    rc =
        as_val_new(val, mem, kind, is_widened(type, data) ? AS_DTYPE_F32 : data->dtype, &dims, err);
    if (rc == ASSAY_OK && val->n != data->n) {
        rc = as_fail(err, ASSAY_ERR_FORMAT,
                     "a constant has %llu numbers where its shape asks for %llu",
                     (unsigned long long)data->n, (unsigned long long)val->n);
        as_val_drop(val);
    }
    return rc;
}

int as_val_read(const struct as_type *type, const struct as_data *data, uint64_t first, uint64_t n,
                void *out, struct assay_error *err)
{
    return is_widened(type, data) ? as_dequant_data(data, first, n, out, err)
                                  : as_data_read(data, first, n, out, err);
}

int as_val_load(struct as_val *val, struct as_mem *mem, enum as_mem_kind kind,
                const struct as_type *type, const struct as_data *data, struct assay_error *err)
{
    int rc = as_val_for(val, mem, kind, type, data, err);

    if (rc < 0)
        return rc;
    if (data->dtype == AS_DTYPE_STRING)
        rc = load_texts(val, data, err);
    else
        rc = as_val_read(type, data, 0, data->n, val->data, err);
    if (rc < 0)
        as_val_drop(val);
    return rc;
}

/* The value as constant data, which already knows how to read and write every dtype. */
static struct as_data view(const struct as_val *val)
{
    return (struct as_data){.dtype = val->dtype,
                            .n = val->n,
                            .size_bytes = val->bytes,
                            .bytes = val->data,
                            .from = val->data}; /* which makes it one that can be written */
}

double as_val_f64(const struct as_val *val, uint64_t i)
{
    struct as_data data = view(val);

    return i < val->n ? as_data_f64(&data, i) : 0;
}

int64_t as_val_i64(const struct as_val *val, uint64_t i)
{
    struct as_data data = view(val);

    return i < val->n ? as_data_i64(&data, i) : 0;
}

void as_val_put_f64(struct as_val *val, uint64_t i, double x)
{
    struct as_data data = view(val);

    as_data_put_f64(&data, i, x);
}

void as_val_put_i64(struct as_val *val, uint64_t i, int64_t x)
{
    struct as_data data = view(val);

    as_data_put_i64(&data, i, x);
}

bool as_weights_are_narrow(const struct as_val *val, int64_t zero)
{
    const uint8_t *bytes = val->data;
    bool is_signed = val->dtype == AS_DTYPE_I8;

    for (uint64_t i = 0; i < val->n; i++) {
        int64_t w = (is_signed ? (int64_t)(int8_t)bytes[i] : (int64_t)bytes[i]) - zero;

        if (w > AS_NARROW_WEIGHT || w < -AS_NARROW_WEIGHT)
            return false;
    }
    return true;
}
