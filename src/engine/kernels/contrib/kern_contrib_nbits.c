/* engine/kernels/contrib/kern_contrib_nbits.c - weights in blocks of few bits with a scale each:
 * MatMulNBits and GatherBlockQuantized. Elements are packed from the low bits of a byte up. */
#include <string.h>

#include "engine/kernels/contrib/kern_contrib.h"
#include "engine/kernels/gemm/kern_gemm.h"

enum { PANEL = AS_GEMM_PANEL(sizeof(float)), PIECE = 256 };

struct blocks {
    const uint8_t *q, *zero_bits; /* zero_bits or zero_floats, or neither */
    const float *scale, *zero_floats;
    uint64_t k, n, block, n_blocks, bits, row_bytes, zero_row_bytes;
};

static inline unsigned bits_at(const uint8_t *at, uint64_t i, uint64_t bits)
{
    uint64_t per = 8 / bits;

    return (unsigned)at[i / per] >> (i % per * bits) & ((1u << bits) - 1);
}

static inline float zero_of(const struct blocks *v, uint64_t row, uint64_t block)
{
    if (v->zero_floats)
        return v->zero_floats[row * v->n_blocks + block];
    if (v->zero_bits)
        return (float)bits_at(v->zero_bits + row * v->zero_row_bytes, block, v->bits);
    return (float)(1u << (v->bits - 1));
}

/* Elements [from, from + n) of one row, which do not leave the block of the first. */
static inline void unpack(const struct blocks *v, uint64_t row, uint64_t from, uint64_t n,
                          float *to)
{
    uint64_t block = from / v->block;
    const uint8_t *q = v->q + row * v->row_bytes + block * (v->row_bytes / v->n_blocks);
    float scale = v->scale[row * v->n_blocks + block], zero = zero_of(v, row, block);
    uint64_t first = from % v->block;

    if (v->bits == 4 && first % 2 == 0) {
        q += first / 2;
        for (uint64_t i = 0; i + 1 < n; i += 2) {
            to[i] = ((float)(q[i / 2] & 15) - zero) * scale;
            to[i + 1] = ((float)(q[i / 2] >> 4) - zero) * scale;
        }
        if (n % 2)
            to[n - 1] = ((float)(q[n / 2] & 15) - zero) * scale;
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        to[i] = ((float)bits_at(q, first + i, v->bits) - zero) * scale;
}

static void pack_blocks(const void *arg, const struct as_gemm_part *part, void *packed)
{
    const struct blocks *v = arg;
    float row[PIECE], *to = packed;

    for (uint64_t j = 0; j < PANEL; j++)
        for (uint64_t p = 0; p < part->rows;) {
            uint64_t left = v->block - p % v->block, n = part->rows - p;

            n = n < left ? n : left;
            n = n < PIECE ? n : PIECE;
            if (j < part->columns)
                unpack(v, part->column + j, p, n, row);
            for (uint64_t i = 0; i < n; i++)
                to[(p + i) * PANEL + j] = j < part->columns ? row[i] : 0;
            p += n;
        }
}

/* ---- few rows ---- */

struct thin {
    const struct blocks *v;
    const float *a;
    float *c;
    uint64_t m;
};

static void work_thin(void *arg, uint64_t from, uint64_t to)
{
    const struct thin *t = arg;
    const struct blocks *v = t->v;
    float row[PIECE];

    for (uint64_t j = from; j < to; j++) {
        for (uint64_t i = 0; i < t->m; i++)
            t->c[i * v->n + j] = 0;
        for (uint64_t p = 0; p < v->k;) {
            uint64_t left = v->block - p % v->block, n = v->k - p;

            n = n < left ? n : left;
            n = n < PIECE ? n : PIECE;
            unpack(v, j, p, n, row);
            for (uint64_t i = 0; i < t->m; i++)
                t->c[i * v->n + j] += as_dot_f32(t->a + i * v->k + p, row, n);
            p += n;
        }
    }
}

static int check_blocks(struct as_kernel_ctx *k, struct blocks *v)
{
    const struct as_val *b = as_has_in(k, 1) ? k->in[1] : NULL;
    const struct as_val *scales = as_has_in(k, 2) ? k->in[2] : NULL;
    const struct as_val *zeros = as_has_in(k, 3) ? k->in[3] : NULL;
    int64_t rows = as_node_int(k->node, "N", 0), depth = as_node_int(k->node, "K", 0);
    int64_t block = as_node_int(k->node, "block_size", 0), bits = as_node_int(k->node, "bits", 4);

    if (!b || !scales || rows < 1 || depth < 1 || rows > 1 << 30 || depth > 1 << 30 || block < 8 ||
        block > 1 << 20 || (bits != 2 && bits != 4 && bits != 8))
        return as_kernel_cannot(k, "blocks of %lld elements of %lld bits", (long long)block,
                                (long long)bits);
    if (as_has_in(k, 4))
        return as_kernel_cannot(k, "blocks in an order of their own");
    v->n = (uint64_t)rows;
    v->k = (uint64_t)depth;
    v->block = (uint64_t)block;
    v->bits = (uint64_t)bits;
    v->n_blocks = (v->k + v->block - 1) / v->block;
    v->row_bytes = v->n_blocks * ((v->block * v->bits + 7) / 8);
    v->zero_row_bytes = (v->n_blocks * v->bits + 7) / 8;
    if (b->dtype != AS_DTYPE_U8 || b->n != v->n * v->row_bytes || scales->dtype != AS_DTYPE_F32 ||
        scales->n != v->n * v->n_blocks)
        return as_kernel_fail(k, "weights or scales do not fit");
    v->q = b->data;
    v->scale = scales->data;
    if (zeros && zeros->dtype == AS_DTYPE_U8 && zeros->n == v->n * v->zero_row_bytes)
        v->zero_bits = zeros->data;
    else if (zeros && zeros->dtype == AS_DTYPE_F32 && zeros->n == v->n * v->n_blocks)
        v->zero_floats = zeros->data;
    else if (zeros)
        return as_kernel_fail(k, "the zero points do not fit");
    return ASSAY_OK;
}

static int add_bias(struct as_kernel_ctx *k, const struct blocks *v, uint64_t m)
{
    const struct as_val *bias = as_has_in(k, 5) ? k->in[5] : NULL;
    float *out = k->out[0]->data;

    if (!bias)
        return ASSAY_OK;
    if (bias->dtype != AS_DTYPE_F32 || bias->n != v->n)
        return as_kernel_fail(k, "the bias does not fit");
    for (uint64_t i = 0; i < m * v->n; i++)
        out[i] += ((const float *)bias->data)[i % v->n];
    return ASSAY_OK;
}

int as_ms_matmul_nbits(struct as_kernel_ctx *k)
{
    const struct as_val *a = as_has_in(k, 0) ? k->in[0] : NULL;
    struct blocks v = {0};
    struct as_gemm g;
    uint64_t m;
    int rc = check_blocks(k, &v);

    if (rc < 0)
        return rc;
    if (!a || a->dtype != AS_DTYPE_F32 || a->rank < 1 || a->dims[a->rank - 1] != (int64_t)v.k ||
        !as_has_out(k, 0) || k->out[0]->dtype != AS_DTYPE_F32 || k->out[0]->n != a->n / v.k * v.n)
        return as_kernel_fail(k, "input and weights do not fit");
    m = a->n / v.k;
    if (m <= 4) {
        struct thin thin = {&v, a->data, k->out[0]->data, m};

        as_kernel_parallel(k, v.n, 32, work_thin, &thin);
        return add_bias(k, &v, m);
    }
    g = as_gemm_plain(m, v.n, v.k, a->data, NULL, false, k->out[0]->data);
    g.pack = pack_blocks;
    g.pack_arg = &v;
    rc = as_gemm_run(k, &g);
    return rc < 0 ? rc : add_bias(k, &v, m);
}

/* ---- gathering ---- */

struct picked {
    const struct as_val *data, *ids, *scales, *zeros;
    struct as_dims shape; /* of the data, unpacked */
    int64_t block, zero;
    uint64_t bits;
    bool packed; /* several in a byte of a u8 tensor */
    int gather, quantize;
};

static int64_t element(const struct picked *p, const struct as_val *from, uint64_t i)
{
    if (!p->packed)
        return as_val_i64(from, i);
    return bits_at(from->data, i, p->bits);
}

static int check_picked(struct as_kernel_ctx *k, struct picked *p)
{
    int64_t gather = as_node_int(k->node, "gather_axis", 0);
    int64_t quantize = as_node_int(k->node, "quantize_axis", 1);
    int64_t bits = as_node_int(k->node, "bits", 4);
    uint64_t n = 1;

    if (!as_has_in(k, 0) || !as_has_in(k, 1) || !as_has_in(k, 2) || !as_has_out(k, 0))
        return as_kernel_fail(k, "an input is missing");
    p->data = k->in[0];
    p->ids = k->in[1];
    p->scales = k->in[2];
    p->zeros = as_has_in(k, 3) ? k->in[3] : NULL;
    p->block = as_node_int(k->node, "block_size", 128);
    if (bits != 2 && bits != 4 && bits != 8)
        return as_kernel_cannot(k, "elements of %lld bits", (long long)bits);
    p->bits = (uint64_t)bits;
    p->packed = p->data->dtype == AS_DTYPE_U8 && bits < 8;
    p->zero = p->data->dtype == AS_DTYPE_U8 ? (int64_t)1 << (bits - 1) : 0;
    as_val_dims(p->data, &p->shape);
    if (p->shape.rank < 1 || p->block < 1 || !as_dtype_is_integer(p->data->dtype) ||
        !as_dtype_is_integer(p->ids->dtype) || gather < -p->shape.rank || gather >= p->shape.rank ||
        quantize < -p->shape.rank || quantize >= p->shape.rank)
        return as_kernel_fail(k, "data and axes do not fit");
    p->gather = (int)(gather < 0 ? gather + p->shape.rank : gather);
    p->quantize = (int)(quantize < 0 ? quantize + p->shape.rank : quantize);
    if (p->packed && (p->quantize != p->shape.rank - 1 || p->gather == p->quantize))
        return as_kernel_cannot(k, "bytes packed along another axis");
    if (p->packed)
        p->shape.at[p->shape.rank - 1] *= 8 / bits;
    if (p->scales->rank != p->shape.rank)
        return as_kernel_fail(k, "the scales do not fit");
    for (int i = 0; i < p->shape.rank; i++) {
        int64_t want =
            i == p->quantize ? (p->shape.at[i] + p->block - 1) / p->block : p->shape.at[i];

        if (p->scales->dims[i] != want)
            return as_kernel_fail(k, "the scales do not fit");
        n *= (uint64_t)(i == p->gather ? 1 : p->shape.at[i]);
    }
    if (p->zeros && p->zeros->n < (p->packed ? (p->scales->n * p->bits + 7) / 8 : p->scales->n))
        return as_kernel_fail(k, "the zero points do not fit");
    if (k->out[0]->n != n * p->ids->n || !as_dtype_is_float(k->out[0]->dtype))
        return as_kernel_fail(k, "there is no room for the output");
    return ASSAY_OK;
}

/* Zero points of packed bytes begin anew with every row of scales. */
static int64_t zero_at(const struct picked *p, uint64_t scale)
{
    uint64_t row = (uint64_t)p->scales->dims[p->scales->rank - 1], bytes;

    if (!p->zeros)
        return p->zero;
    if (!p->packed)
        return as_val_i64(p->zeros, scale);
    bytes = (row * p->bits + 7) / 8;
    if ((scale / row + 1) * bytes > p->zeros->n)
        return p->zero;
    return bits_at((const uint8_t *)p->zeros->data + scale / row * bytes, scale % row, p->bits);
}

int as_ms_gather_blocks(struct as_kernel_ctx *k)
{
    struct picked p = {0};
    uint64_t before = 1, behind = 1, length, to = 0;
    int64_t steps[AS_MAX_RANK];
    int rc = check_picked(k, &p);

    if (rc < 0)
        return rc;
    for (int i = 0; i < p.shape.rank; i++)
        *(i < p.gather ? &before : &behind) *= (uint64_t)(i == p.gather ? 1 : p.shape.at[i]);
    length = (uint64_t)p.shape.at[p.gather];
    as_strides(p.scales, steps);
    for (uint64_t a = 0; a < before; a++)
        for (uint64_t j = 0; j < p.ids->n; j++) {
            int64_t id = as_val_i64(p.ids, j);

            id = id < 0 ? id + (int64_t)length : id;
            if (id < 0 || id >= (int64_t)length)
                return as_kernel_fail(k, "index %lld is outside of %llu", (long long)id,
                                      (unsigned long long)length);
            for (uint64_t c = 0; c < behind; c++, to++) {
                uint64_t from = (a * length + (uint64_t)id) * behind + c, rest = from, scale = 0;

                for (int i = p.shape.rank; i-- > 0;) {
                    uint64_t at = rest % (uint64_t)p.shape.at[i];

                    rest /= (uint64_t)p.shape.at[i];
                    scale += (i == p.quantize ? at / (uint64_t)p.block : at) * (uint64_t)steps[i];
                }
                as_val_put_f64(k->out[0], to,
                               (double)(element(&p, p.data, from) - zero_at(&p, scale)) *
                                   as_val_f64(p.scales, scale));
            }
        }
    return ASSAY_OK;
}
