/* engine/kernels/gemm/kern_matmul.c - MatMul, Gemm and their kin: what is multiplied with what.
 * The loops are in kern_gemm.c; Einsum, Det and Inverse have files of their own. */
#include "engine/kernels/gemm/kern_gemm.h"

#include <string.h>

/* ---- batches ---- */

/* One factor as a batch of matrices, whatever its axes are called. */
struct factor {
    struct as_dims batch; /* lengths */
    int64_t step[AS_MAX_RANK];
    int64_t rows, columns, row, column; /* lengths, strides */
};

static int64_t product_of(const struct as_dims *dims)
{
    int64_t n = 1;

    for (int i = 0; i < dims->rank; i++)
        n *= dims->at[i];
    return n;
}

/* With transBatch the axes are rows, batch..., columns; then the last two may be swapped. */
static void read_factor(const struct as_val *val, bool before, const struct as_turn *turn,
                        struct factor *f)
{
    int64_t strides[AS_MAX_RANK];
    int row = val->rank - 2, first = 0;

    as_strides(val, strides);
    if (val->rank == 1) {
        *f = (struct factor){.rows = before ? 1 : val->dims[0],
                             .columns = before ? val->dims[0] : 1,
                             .row = before ? 0 : 1,
                             .column = before ? 1 : 0};
        return;
    }
    *f = (struct factor){.columns = val->dims[val->rank - 1], .column = 1};
    if (turn->batch && val->rank > 2) {
        row = 0;
        first = 1;
    }
    f->rows = val->dims[row];
    f->row = strides[row];
    f->batch.rank = val->rank - 2;
    for (int i = 0; i < f->batch.rank; i++) {
        f->batch.at[i] = val->dims[first + i];
        f->step[i] = strides[first + i];
    }
    if (turn->matrix) {
        int64_t rows = f->rows, step = f->row;

        f->rows = f->columns;
        f->columns = rows;
        f->row = f->column;
        f->column = step;
    }
}

/* Where each product of the broadcast batch finds this factor. */
static bool place(const struct factor *f, const struct as_dims *batch, int64_t *at)
{
    int64_t n = product_of(batch), step[AS_MAX_RANK], index[AS_MAX_RANK] = {0}, now = 0;
    int skip = batch->rank - f->batch.rank;

    for (int i = 0; i < batch->rank; i++) {
        step[i] = i < skip || f->batch.at[i - skip] == 1 ? 0 : f->step[i - skip];
        if (i >= skip && f->batch.at[i - skip] != 1 && f->batch.at[i - skip] != batch->at[i])
            return false;
    }
    for (int64_t p = 0; p < n; p++) {
        at[p] = now;
        for (int i = batch->rank; i-- > 0;) {
            now += step[i];
            if (++index[i] < batch->at[i])
                break;
            now -= step[i] * index[i];
            index[i] = 0;
        }
    }
    return true;
}

static bool join(const struct factor *a, const struct factor *b, struct as_dims *out)
{
    const struct as_dims *more = a->batch.rank >= b->batch.rank ? &a->batch : &b->batch;
    const struct as_dims *less = more == &a->batch ? &b->batch : &a->batch;
    int skip = more->rank - less->rank;

    *out = *more;
    for (int i = 0; i < less->rank; i++) {
        if (out->at[skip + i] == 1)
            out->at[skip + i] = less->at[i];
        else if (less->at[i] != 1 && less->at[i] != out->at[skip + i])
            return false;
    }
    return true;
}

/* Rows of all products one under the other when B is one matrix: a single, larger product. */
static bool one_matrix(const struct factor *a, const struct factor *b, struct as_gemm *g)
{
    int64_t step = a->row * a->rows;

    if (product_of(&b->batch) != 1 || a->batch.rank == 0)
        return false;
    for (int i = a->batch.rank; i-- > 0;) {
        if (a->batch.at[i] != 1 && a->step[i] != step)
            return false;
        step *= a->batch.at[i];
    }
    g->m *= g->batch;
    g->batch = 1;
    return true;
}

int as_kernel_product(struct as_kernel_ctx *k, const struct as_product *p)
{
    struct factor a, b;
    struct as_dims batch;
    struct as_gemm g = {.dtype = p->out->dtype, .alpha = p->alpha, .add = p->add};
    int64_t *at, n;

    if (p->a->rank < 1 || p->b->rank < 1)
        return as_kernel_fail(k, "a scalar is multiplied as a matrix");
    if (p->a->dtype != p->out->dtype || p->b->dtype != p->out->dtype)
        return as_kernel_fail(k, "%s times %s", as_dtype_name(p->a->dtype),
                              as_dtype_name(p->b->dtype));
    read_factor(p->a, true, &p->turn_a, &a);
    read_factor(p->b, false, &p->turn_b, &b);
    if (a.columns != b.rows || !join(&a, &b, &batch))
        return as_kernel_fail(k, "the matrices do not fit");
    n = p->out->n ? product_of(&batch) : 0;
    if ((uint64_t)n * (uint64_t)a.rows * (uint64_t)b.columns != p->out->n)
        return as_kernel_fail(k, "there is no room for the product");
    if (p->out->n == 0)
        return ASSAY_OK;
    g.m = (uint64_t)a.rows;
    g.n = (uint64_t)b.columns;
    g.k = (uint64_t)a.columns;
    g.batch = (uint64_t)n;
    g.a = p->a->data;
    g.b = p->b->data;
    g.c = p->out->data;
    g.a_row = a.row;
    g.a_col = a.column;
    g.b_row = b.row;
    g.b_col = b.column;
    g.c_row = b.columns;
    if (g.batch > 1 && !one_matrix(&a, &b, &g)) {
        at = as_kernel_work(k, 3 * g.batch, sizeof *at);
        if (!at)
            return ASSAY_ERR_NOMEM;
        if (!place(&a, &batch, at) || !place(&b, &batch, at + n))
            return as_kernel_fail(k, "the batches do not fit");
        for (int64_t i = 0; i < n; i++)
            at[2 * n + i] = i * a.rows * b.columns;
        g.a_at = at;
        g.b_at = at + n;
        g.c_at = at + 2 * n;
    }
    return as_gemm_run(k, &g);
}

static int run_matmul(struct as_kernel_ctx *k)
{
    struct as_product p = {.alpha = 1};

    if (!as_has_in(k, 0) || !as_has_in(k, 1) || !as_has_out(k, 0))
        return as_kernel_fail(k, "a factor is missing");
    p.a = k->in[0];
    p.b = k->in[1];
    p.out = k->out[0];
    return as_kernel_product(k, &p);
}

/* ---- Gemm ---- */

/* Output = beta * C, broadcast. */
static int begin_with(struct as_kernel_ctx *k, const struct as_val *c, double beta)
{
    struct as_val *out = k->out[0];
    struct as_dims dims;
    int64_t s[AS_MAX_RANK], columns;

    as_val_dims(out, &dims);
    if (c->dtype != out->dtype || !as_strides_broadcast(c, &dims, s))
        return as_kernel_fail(k, "C does not fit the product");
    columns = dims.at[1];
    if (out->dtype == AS_DTYPE_F32 && s[1] == 1 && !(beta < 1 || beta > 1)) {
        for (int64_t i = 0; i < dims.at[0]; i++)
            memcpy((float *)out->data + i * columns, (const float *)c->data + i * s[0],
                   (size_t)columns * sizeof(float));
        return ASSAY_OK;
    }
    for (int64_t i = 0; i < dims.at[0]; i++)
        for (int64_t j = 0; j < columns; j++) {
            uint64_t to = (uint64_t)(i * columns + j), from = (uint64_t)(i * s[0] + j * s[1]);

            if (out->dtype == AS_DTYPE_F32)
                ((float *)out->data)[to] = (float)beta * ((const float *)c->data)[from];
            else if (as_dtype_is_float(out->dtype))
                as_val_put_f64(out, to, beta * as_val_f64(c, from));
            else
                as_val_put_i64(out, to,
                               (int64_t)((uint64_t)(int64_t)beta * (uint64_t)as_val_i64(c, from)));
        }
    return ASSAY_OK;
}

/* A first factor of any rank, cut into rows as long as those of the second: the node's tensors seen
 * as matrices. */
static int gemm_rows(struct as_kernel_ctx *k)
{
    struct as_kernel_ctx inner = *k;
    struct as_val a, out;
    const struct as_val *ins[3];
    struct as_val *outs[] = {&out};
    struct as_node node = *k->node;
    struct as_attr turned = {.name = "transB", .kind = AS_ATTR_INT, .i = 1};
    uint64_t depth;

    if (!as_has_in(k, 0) || !as_has_in(k, 1) || !as_has_out(k, 0) || k->in[1]->rank != 2)
        return as_kernel_fail(k, "a factor is missing");
    a = *k->in[0];
    out = *k->out[0];
    depth = (uint64_t)k->in[1]->dims[1];
    if (depth == 0 || a.n % depth != 0 || out.n != a.n / depth * (uint64_t)k->in[1]->dims[0])
        return as_kernel_fail(k, "input and weights do not fit");
    a.rank = out.rank = 2;
    a.dims[0] = out.dims[0] = (int64_t)(a.n / depth);
    a.dims[1] = (int64_t)depth;
    out.dims[1] = k->in[1]->dims[0];
    ins[0] = &a;
    ins[1] = k->in[1];
    ins[2] = as_has_in(k, 2) ? k->in[2] : NULL;
    node.attrs = &turned;
    node.n_attrs = 1;
    inner.node = &node;
    inner.in = ins;
    inner.n_in = 3;
    inner.out = outs;
    inner.n_out = 1;
    return as_kernel_gemm(&inner);
}

int as_kernel_gemm(struct as_kernel_ctx *k)
{
    struct as_product p = {.alpha = as_node_float(k->node, "alpha", 1)};
    double beta = as_node_float(k->node, "beta", 1);
    int rc = ASSAY_OK;

    if (as_node_extra_int(k->node, "flatten_rows", 0) != 0)
        return gemm_rows(k);
    if (!as_has_in(k, 0) || !as_has_in(k, 1) || !as_has_out(k, 0))
        return as_kernel_fail(k, "a factor is missing");
    p.a = k->in[0];
    p.b = k->in[1];
    p.out = k->out[0];
    p.turn_a.matrix = as_node_int(k->node, "transA", 0) != 0;
    p.turn_b.matrix = as_node_int(k->node, "transB", 0) != 0;
    if (p.a->rank != 2 || p.b->rank != 2 || p.out->rank != 2)
        return as_kernel_fail(k, "an input is not a matrix");
    if (p.out->dims[0] != p.a->dims[p.turn_a.matrix] ||
        p.out->dims[1] != p.b->dims[!p.turn_b.matrix])
        return as_kernel_fail(k, "there is no room for the product");
    if (!as_dtype_is_float(p.out->dtype) && !(beta > -1e9 && beta < 1e9))
        return as_kernel_fail(k, "whole numbers times %g", beta);
    if (as_has_in(k, 2)) {
        rc = begin_with(k, k->in[2], beta);
        p.add = true;
    }
    return rc < 0 ? rc : as_kernel_product(k, &p);
}

const struct as_kernel as_kernels_matmul[] = {
    {AS_OP_MatMul, run_matmul, 0},
    {AS_OP_Gemm, as_kernel_gemm, 0},
    {AS_OP_Einsum, as_kernel_einsum, 0},
    {AS_OP_Det, as_kernel_det, 0},
    {AS_OP_MS_Inverse, as_kernel_inverse, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
