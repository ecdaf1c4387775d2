/* experiment/attention/attn_check.c - what every call of attention asks of its shape and its
 * numbers. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cursor.h"
#include "experiment/attention/attn_worker.h"

static int check_sizes(const struct assay_attn_shape *s, struct assay_error *err)
{
    if (s->batch == 0 || s->heads == 0 || s->kv_heads == 0 || s->seq_len == 0 || s->dim == 0)
        return as_fail(err, ASSAY_ERR_USAGE, "a size of attention is 0");
    if (s->heads % s->kv_heads != 0)
        return as_fail(err, ASSAY_ERR_USAGE, "%zu query heads cannot share %zu key heads evenly",
                       s->heads, s->kv_heads);
    if (s->seq_len > ASSAY_ATTN_MAX_SEQ)
        return as_fail(err, ASSAY_ERR_LIMIT, "%zu tokens: at most %d are possible", s->seq_len,
                       ASSAY_ATTN_MAX_SEQ);
    if (s->dim > ASSAY_ATTN_MAX_DIM)
        return as_fail(err, ASSAY_ERR_LIMIT, "a head of %zu: at most %d is possible", s->dim,
                       ASSAY_ATTN_MAX_DIM);
    return ASSAY_OK;
}

int as_attn_check_shape(const struct assay_attn_shape *shape, struct assay_error *err)
{
    uint64_t heads, elements, bits;
    int rc;

    if (!shape)
        return as_fail(err, ASSAY_ERR_USAGE, "no shape was given");
    rc = check_sizes(shape, err);
    if (rc < 0)
        return rc;
    if (!as_mul_u64(shape->batch, shape->heads, &heads) ||
        !as_mul_u64(heads, shape->seq_len * shape->dim * sizeof(float), &elements) ||
        !as_mul_u64(heads, shape->seq_len * shape->seq_len, &bits) || elements > INT64_MAX ||
        bits > INT64_MAX)
        return as_fail(err, ASSAY_ERR_LIMIT, "%zu batches of %zu heads are too many", shape->batch,
                       shape->heads);
    return ASSAY_OK;
}

int assay_attn_mask_bytes(const struct assay_attn_shape *shape, size_t *bytes,
                          struct assay_error *err)
{
    int rc = as_attn_check_shape(shape, err);

    if (rc < 0)
        return rc;
    if (!bytes)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the size was given");
    *bytes = (shape->batch * shape->heads * shape->seq_len * shape->seq_len + 7) / 8;
    return ASSAY_OK;
}

/* The greatest magnitude of a tensor of `heads` heads, or where it is not finite. */
static int check_tensor(const struct as_attn_kernels *kernels, const struct assay_attn_shape *shape,
                        char name, const float *x, float *most, struct assay_error *err)
{
    size_t heads = name == 'q' ? shape->heads : shape->kv_heads, at = 0;
    size_t n = shape->batch * heads * shape->seq_len * shape->dim;
    uint32_t bits = kernels->largest(x, n);

    memcpy(most, &bits, sizeof bits);
    if (isfinite(*most))
        return ASSAY_OK;
    while (isfinite(x[at]))
        at++;
    return as_fail(err, ASSAY_ERR_FORMAT,
                   "%c is %s in batch %zu, head %zu, token %zu, column %zu (element %zu)", name,
                   isnan(x[at]) ? "not a number" : "infinite",
                   at / shape->dim / shape->seq_len / heads,
                   at / shape->dim / shape->seq_len % heads, at / shape->dim % shape->seq_len,
                   at % shape->dim, at);
}

int as_attn_check_inputs(const struct as_attn_kernels *kernels,
                         const struct assay_attn_shape *shape, const struct as_attn_inputs *in,
                         struct assay_error *err)
{
    float q = 0, k = 0, v = 0;
    int rc = check_tensor(kernels, shape, 'q', in->q, &q, err);

    if (rc == ASSAY_OK)
        rc = check_tensor(kernels, shape, 'k', in->k, &k, err);
    if (rc == ASSAY_OK && in->v)
        rc = check_tensor(kernels, shape, 'v', in->v, &v, err);
    if (rc < 0)
        return rc;
    if ((double)q * (double)k * (double)shape->dim > (double)FLT_MAX / 2)
        return as_fail(err, ASSAY_ERR_LIMIT,
                       "q reaches %g and k reaches %g: q times k may overflow", (double)q,
                       (double)k);
    if ((double)v * (double)shape->seq_len > (double)FLT_MAX / 2)
        return as_fail(err, ASSAY_ERR_LIMIT, "v reaches %g: sums over %zu tokens may overflow",
                       (double)v, shape->seq_len);
    return ASSAY_OK;
}

int as_attn_check_config(const struct assay_mincut_config *config,
                         const struct assay_attn_shape *shape, struct assay_error *err)
{
    if (!isfinite(config->lambda) || config->lambda < 0)
        return as_fail(err, ASSAY_ERR_USAGE, "lambda is %g: it must be 0 or more",
                       (double)config->lambda);
    if (!isfinite(config->eps) || config->eps < 0)
        return as_fail(err, ASSAY_ERR_USAGE, "eps is %g: it must be 0 or more",
                       (double)config->eps);
    if (config->mode != ASSAY_GATING_EXACT && config->mode != ASSAY_GATING_HYSTERESIS)
        return as_fail(err, ASSAY_ERR_USAGE, "%d is not a gating mode", (int)config->mode);
    if (shape->seq_len > ASSAY_ATTN_MAX_GATED)
        return as_fail(err, ASSAY_ERR_LIMIT, "%zu tokens: at most %d can be gated", shape->seq_len,
                       ASSAY_ATTN_MAX_GATED);
    return ASSAY_OK;
}
