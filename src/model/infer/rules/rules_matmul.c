/* model/infer/rules/rules_matmul.c - shape rules of matrix products: MatMul, Gemm, Det.
 * Einsum, which is a language of its own, is in einsum.c. */
#include "model/infer/einsum.h"
#include "model/infer/infer_rules.h"

static unsigned dtype_of(const struct as_infer *ctx)
{
    unsigned first = as_in_dtype(ctx, 0);

    return first != AS_DTYPE_UNKNOWN ? first : as_in_dtype(ctx, 1);
}

static bool differ(int64_t a, int64_t b)
{
    return a != b && a != AS_DIM_UNKNOWN && b != AS_DIM_UNKNOWN;
}

/* Puts a 1 before or behind a vector, which is taken away from the product again. */
static void make_matrix(struct as_dims *dims, bool before)
{
    if (dims->rank != 1)
        return;
    dims->rank = 2;
    dims->at[1] = before ? dims->at[0] : 1;
    dims->at[0] = before ? 1 : dims->at[0];
}

static int matmul(struct as_infer *ctx)
{
    struct as_dims a, b, batch_a, batch_b, out;
    bool row, column;
    int64_t m, n;

    if (!as_in_dims(ctx, 0, &a) || !as_in_dims(ctx, 1, &b))
        return as_out_tensor(ctx, 0, dtype_of(ctx), NULL);
    if (a.rank == 0 || b.rank == 0)
        return as_conflict(ctx, "a scalar is multiplied as a matrix");
    row = a.rank == 1;
    column = b.rank == 1;
    make_matrix(&a, true);
    make_matrix(&b, false);
    m = a.at[a.rank - 2];
    n = b.at[b.rank - 1];
    if (differ(a.at[a.rank - 1], b.at[b.rank - 2]))
        return as_conflict(ctx, "rows of %lld meet columns of %lld", (long long)a.at[a.rank - 1],
                           (long long)b.at[b.rank - 2]);
    batch_a = a;
    batch_a.rank = a.rank - 2;
    batch_b = b;
    batch_b.rank = b.rank - 2;
    if (!as_dims_broadcast(&batch_a, &batch_b, &out))
        return as_conflict(ctx, "the matrices cannot be broadcast together");
    if (!row)
        out.at[out.rank++] = m;
    if (!column)
        out.at[out.rank++] = n;
    return as_out_tensor(ctx, 0, dtype_of(ctx), &out);
}

/* With flatten_rows the first factor may be of any rank and is cut into rows of the weights'
 * length: 1 gives a matrix, 2 keeps all axes but the last. */
static int gemm_rows(struct as_infer *ctx, int64_t keep)
{
    struct as_dims x, w, out = {2, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};
    int64_t elems;

    if (!as_in_dims(ctx, 0, &x) || !as_in_dims(ctx, 1, &w))
        return as_out_tensor(ctx, 0, dtype_of(ctx), NULL);
    if (w.rank != 2)
        return as_conflict(ctx, "weights of %d dimensions, not 2", w.rank);
    if (x.rank < 1)
        return as_conflict(ctx, "an input without dimensions, which has no rows");
    if (keep == 2) {
        if (differ(x.at[x.rank - 1], w.at[1]))
            return as_conflict(ctx, "rows of %lld meet columns of %lld",
                               (long long)x.at[x.rank - 1], (long long)w.at[1]);
        x.at[x.rank - 1] = w.at[0];
        return as_out_tensor(ctx, 0, dtype_of(ctx), &x);
    }
    elems = as_dims_product(&x, 0, x.rank);
    out.at[1] = w.at[0];
    if (elems >= 0 && w.at[1] > 0) {
        if (elems % w.at[1] != 0)
            return as_conflict(ctx, "%lld elements are not rows of %lld", (long long)elems,
                               (long long)w.at[1]);
        out.at[0] = elems / w.at[1];
    }
    return as_out_tensor(ctx, 0, dtype_of(ctx), &out);
}

static int gemm(struct as_infer *ctx)
{
    int64_t rows = as_node_extra_int(ctx->node, "flatten_rows", 0);
    bool turn_a = as_node_int(ctx->node, "transA", 0) != 0;
    bool turn_b = as_node_int(ctx->node, "transB", 0) != 0;
    struct as_dims a, b, out = {2, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};
    bool has_a = as_in_dims(ctx, 0, &a), has_b = as_in_dims(ctx, 1, &b);

    if (rows)
        return gemm_rows(ctx, rows);
    if ((has_a && a.rank != 2) || (has_b && b.rank != 2))
        return as_conflict(ctx, "an input has %d dimensions, not 2",
                           has_a && a.rank != 2 ? a.rank : b.rank);
    if (has_a && has_b && differ(a.at[!turn_a], b.at[turn_b]))
        return as_conflict(ctx, "rows of %lld meet columns of %lld", (long long)a.at[!turn_a],
                           (long long)b.at[turn_b]);
    if (has_a)
        out.at[0] = a.at[turn_a];
    if (has_b)
        out.at[1] = b.at[!turn_b];
    return as_out_tensor(ctx, 0, dtype_of(ctx), &out);
}

static int det(struct as_infer *ctx)
{
    struct as_dims dims;

    if (!as_in_dims(ctx, 0, &dims))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (dims.rank < 2 || differ(dims.at[dims.rank - 1], dims.at[dims.rank - 2]))
        return as_conflict(ctx, "the determinant of a matrix that is not square");
    dims.rank -= 2;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &dims);
}

const struct as_op_rule as_rules_matmul[] = {
    {AS_OP_MatMul, matmul, NULL},          {AS_OP_Gemm, gemm, NULL},
    {AS_OP_Einsum, as_infer_einsum, NULL}, {AS_OP_Det, det, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
