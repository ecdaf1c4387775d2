/* engine/onednn/onednn_matmul.c - MatMul and Gemm by oneDNN; constant weights are packed for it.
 * Axes that both sides have in common are made one, and rows of a plain product too. */
#include <string.h>

#include "engine/onednn/onednn.h"

/* Above this much memory the library's packing kernel for plain weights loses to its gemm. */
#define LARGE_BYTES ((int64_t)1 << 20)

struct product {
    struct as_dnn_tensor a, b, c, y;
    bool has_c, turn_a, turn_b;
    float alpha;
    int n; /* axes of the three below */
    dnnl_memory_desc_t da, db, dy, dc;
};

/* A matrix, or batches of them: dims and strides of a plain tensor, [.., rows, columns]. */
struct matrix {
    int n;
    int64_t dims[DNNL_MAX_NDIMS], strides[DNNL_MAX_NDIMS];
};

static void matrix_of(const dnnl_memory_desc_t *desc, bool turn, struct matrix *m)
{
    int64_t step = 1;

    m->n = desc->ndims;
    for (int i = m->n; i-- > 0;) {
        m->dims[i] = desc->dims[i];
        m->strides[i] = step;
        step *= desc->dims[i];
    }
    if (turn) {
        int a = m->n - 2, b = m->n - 1;
        int64_t dim = m->dims[a], stride = m->strides[a];

        m->dims[a] = m->dims[b];
        m->strides[a] = m->strides[b];
        m->dims[b] = dim;
        m->strides[b] = stride;
    }
}

/* Axes of one in front until there are `n`. */
static void widen(struct matrix *m, int n)
{
    int skip = n - m->n;

    for (int i = m->n; i-- > 0;) {
        m->dims[i + skip] = m->dims[i];
        m->strides[i + skip] = m->strides[i];
    }
    for (int i = 0; i < skip; i++) {
        m->dims[i] = 1;
        m->strides[i] = m->strides[skip] * m->dims[skip];
    }
    m->n = n;
}

/* The axes in front of the last `keep` as one. */
static void narrow(struct matrix *m, int keep)
{
    int first = m->n - keep;
    int64_t all = 1;

    for (int i = 0; i < first; i++)
        all *= m->dims[i];
    m->strides[0] = m->strides[first - 1];
    m->dims[0] = all;
    for (int i = 0; i < keep; i++) {
        m->dims[i + 1] = m->dims[first + i];
        m->strides[i + 1] = m->strides[first + i];
    }
    m->n = keep + 1;
}

static int64_t batches(const struct matrix *m)
{
    int64_t all = 1;

    for (int i = 0; i < m->n - 2; i++)
        all *= m->dims[i];
    return all;
}

static bool desc_of(const struct as_dnn *d, const struct matrix *m, dnnl_memory_desc_t *out)
{
    return d->lib->api.memory_desc_init_by_strides(out, m->n, m->dims, dnnl_f32, m->strides) ==
           dnnl_success;
}

/* Fewest axes: one matrix on the right takes all rows of the left at once. */
static bool join_axes(const struct as_dnn *d, struct product *p)
{
    struct matrix a, b, y;
    int n;

    matrix_of(&p->a.desc, p->turn_a, &a);
    matrix_of(&p->b.desc, p->turn_b, &b);
    matrix_of(&p->y.desc, false, &y);
    n = a.n > b.n ? a.n : b.n;
    if (y.n != n)
        return false;
    widen(&a, n);
    widen(&b, n);
    if (n > 2 && batches(&b) == 1 && !p->turn_a) {
        narrow(&a, 1);
        narrow(&y, 1);
        b.dims[0] = b.dims[n - 2];
        b.strides[0] = b.strides[n - 2];
        b.dims[1] = b.dims[n - 1];
        b.strides[1] = b.strides[n - 1];
        b.n = 2;
    } else if (n > 3 && batches(&a) == batches(&b) && batches(&a) == batches(&y)) {
        narrow(&a, 2);
        narrow(&b, 2);
        narrow(&y, 2);
    }
    p->n = a.n;
    return desc_of(d, &a, &p->da) && desc_of(d, &b, &p->db) && desc_of(d, &y, &p->dy);
}

/* A vector counts as a row on the left and as a column on the right. */
static bool make_matrix(const struct as_dnn *d, struct as_dnn_tensor *t, bool column)
{
    int64_t dims[2] = {1, 1};

    if (t->desc.ndims > 1)
        return true;
    dims[column ? 0 : 1] = t->desc.dims[0];
    return as_dnn_plain(d->lib, t->dtype, 2, dims, &t->desc);
}

/* The output of vectors has fewer axes; its numbers are the same. */
static bool output_matrix(const struct as_dnn *d, struct product *p, bool row, bool column)
{
    int64_t dims[DNNL_MAX_NDIMS];
    int n = p->y.desc.ndims, at = 0;

    if (!row && !column)
        return true;
    if (p->y.desc.ndims == 1 && row && column)
        n = 0; /* a scalar, seen as one axis */
    if (n + row + column > DNNL_MAX_NDIMS)
        return false;
    for (int i = 0; i < n - !column; i++)
        dims[at++] = p->y.desc.dims[i];
    if (row)
        dims[at++] = 1;
    dims[at++] = column ? 1 : p->y.desc.dims[n - 1];
    return as_dnn_plain(d->lib, p->y.dtype, at, dims, &p->y.desc);
}

static bool are_floats(const struct product *p)
{
    return p->a.dtype == AS_DTYPE_F32 && p->b.dtype == AS_DTYPE_F32 && p->y.dtype == AS_DTYPE_F32 &&
           (!p->has_c || p->c.dtype == AS_DTYPE_F32);
}

/* A bias along the last axis, whatever axes of one it has in front. */
static bool read_bias(const struct as_dnn *d, struct product *p)
{
    dnnl_dims_t dims;

    if (!p->has_c)
        return true;
    for (int i = 0; i < p->n; i++)
        dims[i] = 1;
    dims[p->n - 1] = p->dy.dims[p->n - 1];
    for (int i = 0; i < p->c.desc.ndims; i++)
        if (p->c.desc.dims[i] != (i == p->c.desc.ndims - 1 ? dims[p->n - 1] : 1))
            return false;
    return as_dnn_plain(d->lib, AS_DTYPE_F32, p->n, dims, &p->dc);
}

static dnnl_primitive_desc_t describe(const struct as_dnn *d, const struct product *p,
                                      uint32_t n_post_ops, bool pack, int skip)
{
    const struct as_onednn_api *api = &d->lib->api;
    dnnl_primitive_attr_t attr = as_dnn_attr(d->lib);
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t b = p->db;
    dnnl_matmul_desc_t desc;

    if (!attr)
        return NULL;
    if (pack)
        as_dnn_any(&b);
    if (as_dnn_post_attr(d, &p->dy, 0, n_post_ops, attr) &&
        (p->alpha == 1 ||
         api->primitive_attr_set_output_scales(attr, 1, 0, &p->alpha) == dnnl_success) &&
        api->matmul_desc_init(&desc, &p->da, &b, p->has_c ? &p->dc : NULL, &p->dy) == dnnl_success)
        pd = as_dnn_choose(d->lib, &desc, attr, skip);
    api->primitive_attr_destroy(attr);
    return pd;
}

static bool is_large(const struct product *p)
{
    int64_t bytes = sizeof(float);

    for (int i = 0; i < p->n; i++)
        bytes *= p->db.dims[i];
    return p->n == 2 && bytes > LARGE_BYTES;
}

static dnnl_primitive_desc_t choose(const struct as_dnn *d, const struct product *p,
                                    uint32_t n_post_ops)
{
    bool pack = p->b.is_const && (p->da.dims[p->n - 2] > 1 || p->turn_b);
    dnnl_primitive_desc_t pd = describe(d, p, n_post_ops, pack, 0), other;

    if (!pd || pack || !is_large(p))
        return pd;
    other = describe(d, p, n_post_ops, false, 1);
    if (other && strcmp(as_dnn_impl(d->lib, other), "gemm:jit") == 0) {
        dnnl_primitive_desc_t swap = pd;

        pd = other;
        other = swap;
    }
    if (other)
        d->lib->api.primitive_desc_destroy(other);
    return pd;
}

static bool emit(struct as_dnn *d, const struct product *p, dnnl_primitive_desc_t pd,
                 uint32_t n_post_ops)
{
    struct as_dnn_ref ra, rb, rc, ry, post_ops[AS_MAX_POST_OPS];
    struct as_dnn_tensor a = p->a, b = p->b;
    dnnl_memory_desc_t plain;
    struct as_dnn_call *call;

    /* A side that is not plain is made so; then it may be read with other axes. */
    if (!as_dnn_plain(d->lib, AS_DTYPE_F32, a.desc.ndims, a.desc.dims, &plain) ||
        !as_dnn_source(d, &a, &plain, &ra))
        return false;
    ra.desc = p->da;
    b.desc = p->db;
    b.viewed = true;
    if (!as_dnn_source(d, &b, as_dnn_md(d->lib, pd, dnnl_query_weights_md, 0), &rb) ||
        (p->has_c && !as_dnn_source(d, &p->c, &p->dc, &rc)) || !as_dnn_result(d, &p->dy, &ry) ||
        !as_dnn_post_sources(d, &p->dy, 0, n_post_ops, post_ops))
        return false;
    call = as_dnn_call(d, pd);
    return call && as_dnn_arg(d, call, DNNL_ARG_SRC, &ra) &&
           as_dnn_arg(d, call, DNNL_ARG_WEIGHTS, &rb) &&
           (!p->has_c || as_dnn_arg(d, call, DNNL_ARG_BIAS, &rc)) &&
           as_dnn_arg(d, call, DNNL_ARG_DST, &ry) &&
           as_dnn_post_args(d, call, 0, n_post_ops, post_ops) &&
           as_dnn_post_calls(d, &ry, n_post_ops);
}

static int prepare(struct as_dnn *d, struct product *p)
{
    uint32_t n_post_ops = d->step->n_post_ops;
    dnnl_primitive_desc_t pd;
    bool ok;

    if (!are_floats(p) || !join_axes(d, p) || !read_bias(d, p) ||
        !as_dnn_post_ops_fit(d, &p->dy, 0))
        return 0;
    pd = choose(d, p, n_post_ops);
    if (!pd && n_post_ops) {
        n_post_ops = 0;
        pd = choose(d, p, 0);
    }
    if (!pd)
        return 0;
    ok = emit(d, p, pd, n_post_ops);
    d->lib->api.primitive_desc_destroy(pd);
    return ok;
}

static bool post_reads(const struct as_step *step, uint32_t in)
{
    for (uint32_t i = 0; i < step->n_post_ops; i++)
        if (step->post_ops[i].in == in)
            return true;
    return false;
}

/* MatMul, with a bias as its third input after optimization, and FusedMatMul. */
int as_dnn_matmul(struct as_dnn *d)
{
    struct product p = {.alpha = 1};
    bool row, column;

    if (!as_dnn_in(d, 0, &p.a) || !as_dnn_in(d, 1, &p.b) || !as_dnn_out(d, 0, &p.y) ||
        !as_dnn_is_plain(&p.b.desc))
        return 0;
    p.has_c = d->step->n_in > 2 && d->step->in[2] != AS_NONE && !post_reads(d->step, 2);
    if (p.has_c && !as_dnn_in(d, 2, &p.c))
        return 0;
    row = p.a.desc.ndims == 1;
    column = p.b.desc.ndims == 1;
    if (d->step->op == AS_OP_MS_FusedMatMul) {
        p.alpha = (float)as_node_float(d->spec, "alpha", 1);
        p.turn_a = as_node_int(d->spec, "transA", 0) != 0;
        p.turn_b = as_node_int(d->spec, "transB", 0) != 0;
        if (row || column || as_node_int(d->spec, "transBatchA", 0) ||
            as_node_int(d->spec, "transBatchB", 0))
            return 0;
    }
    if (!make_matrix(d, &p.a, false) || !make_matrix(d, &p.b, true) ||
        !output_matrix(d, &p, row, column))
        return 0;
    return prepare(d, &p);
}

int as_dnn_gemm(struct as_dnn *d)
{
    struct product p = {0};
    double beta = as_node_float(d->spec, "beta", 1);

    p.alpha = (float)as_node_float(d->spec, "alpha", 1);
    if (!as_dnn_in(d, 0, &p.a) || !as_dnn_in(d, 1, &p.b) || !as_dnn_out(d, 0, &p.y) ||
        p.a.desc.ndims != 2 || p.b.desc.ndims != 2 || !as_dnn_is_plain(&p.b.desc))
        return 0;
    p.has_c =
        d->step->n_in > 2 && d->step->in[2] != AS_NONE && !post_reads(d->step, 2) && beta != 0;
    /* The library scales what the bias was added to. */
    if (p.has_c && (beta != 1 || p.alpha != 1 || !as_dnn_in(d, 2, &p.c)))
        return 0;
    p.turn_a = as_node_int(d->spec, "transA", 0) != 0;
    p.turn_b = as_node_int(d->spec, "transB", 0) != 0;
    return prepare(d, &p);
}
