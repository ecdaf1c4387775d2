/* model/infer/infer_matmul.c - the dimensions of matrix products, and of recurrent layers, for the
 * many operators that are one in disguise. */
#include "model/infer/infer_context.h"

static void drop_dim(struct as_dims *dims, int axis)
{
    for (int i = axis; i + 1 < dims->rank; i++)
        dims->at[i] = dims->at[i + 1];
    dims->rank--;
}

int as_infer_product(struct as_infer *ctx, const struct as_dims *a, const struct as_dims *b,
                     struct as_dims *out)
{
    struct as_dims left = *a, right = *b;
    int64_t rows, inner, inner_b, columns;

    if (a->rank < 1 || b->rank < 1 || a->rank > AS_MAX_RANK - 1 || b->rank > AS_MAX_RANK - 1)
        return as_conflict(ctx, "tensors of %d and %d dimensions cannot be multiplied", a->rank,
                           b->rank);
    if (a->rank == 1)
        left = (struct as_dims){2, {1, a->at[0]}};
    if (b->rank == 1)
        right = (struct as_dims){2, {b->at[0], 1}};
    rows = left.at[left.rank - 2];
    inner = left.at[left.rank - 1];
    inner_b = right.at[right.rank - 2];
    columns = right.at[right.rank - 1];
    if (inner != AS_DIM_UNKNOWN && inner_b != AS_DIM_UNKNOWN && inner != inner_b)
        return as_conflict(ctx, "rows of %lld do not go with columns of %lld", (long long)inner,
                           (long long)inner_b);
    left.rank -= 2;
    right.rank -= 2;
    if (!as_dims_broadcast(&left, &right, out))
        return as_conflict(ctx, "the batches of the two factors do not fit");
    out->at[out->rank++] = rows;
    out->at[out->rank++] = columns;
    if (b->rank == 1)
        drop_dim(out, out->rank - 1);
    if (a->rank == 1)
        drop_dim(out, out->rank - (b->rank == 1 ? 1 : 2));
    return ASSAY_OK;
}

int as_infer_matmul(struct as_infer *ctx, size_t a, size_t b, unsigned dtype)
{
    struct as_dims left, right, out;
    int rc;

    if (!as_in_dims(ctx, a, &left) || !as_in_dims(ctx, b, &right))
        return as_out_tensor(ctx, 0, dtype, NULL);
    rc = as_infer_product(ctx, &left, &right, &out);
    return rc == ASSAY_OK ? as_out_tensor(ctx, 0, dtype, &out) : rc;
}

static bool matrix_of(const struct as_infer *ctx, size_t in, bool turned, struct as_dims *out)
{
    int64_t first;

    if (!as_in_dims(ctx, in, out) || out->rank != 2)
        return false;
    first = out->at[0];
    if (turned) {
        out->at[0] = out->at[1];
        out->at[1] = first;
    }
    return true;
}

int as_infer_gemm(struct as_infer *ctx, size_t a, size_t b, unsigned dtype)
{
    struct as_dims left, right, out = {2, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};
    bool has_left = matrix_of(ctx, a, as_node_int(ctx->node, "transA", 0) != 0, &left);
    bool has_right = matrix_of(ctx, b, as_node_int(ctx->node, "transB", 0) != 0, &right);

    if (has_left && has_right && left.at[1] != right.at[0] && left.at[1] != AS_DIM_UNKNOWN &&
        right.at[0] != AS_DIM_UNKNOWN)
        return as_conflict(ctx, "rows of %lld do not go with columns of %lld",
                           (long long)left.at[1], (long long)right.at[0]);
    if (has_left)
        out.at[0] = left.at[0];
    if (has_right)
        out.at[1] = right.at[1];
    return as_out_tensor(ctx, 0, dtype, &out);
}

int as_infer_broadcast(struct as_infer *ctx, size_t a, size_t b, unsigned dtype)
{
    struct as_dims left, right, out;

    if (!as_in_dims(ctx, a, &left) || !as_in_dims(ctx, b, &right))
        return as_out_tensor(ctx, 0, dtype, NULL);
    if (!as_dims_broadcast(&left, &right, &out))
        return as_conflict(ctx, "the two inputs do not fit together");
    return as_out_tensor(ctx, 0, dtype, &out);
}

static int check_recurrent(struct as_infer *ctx, const struct as_dims *x, int64_t hidden)
{
    if (x->rank != 3)
        return as_conflict(ctx, "the input has %d dimensions instead of 3", x->rank);
    if (hidden != AS_DIM_UNKNOWN && hidden < 1)
        return as_conflict(ctx, "hidden_size is %lld", (long long)hidden);
    return ASSAY_OK;
}

int as_infer_recurrent(struct as_infer *ctx, int hidden_axis, size_t n_states)
{
    unsigned dtype = as_in_dtype(ctx, 0);
    int64_t hidden = as_node_int(ctx->node, "hidden_size", AS_DIM_UNKNOWN);
    int64_t directions = as_node_text_is(ctx->node, "direction", "bidirectional") ? 2 : 1;
    bool batch_first = as_node_int(ctx->node, "layout", 0) != 0;
    struct as_dims x = {3, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}}, r;
    struct as_dims y = {4, {0}}, state = {3, {0}};
    int64_t batch;
    int rc;

    if (as_in_dims(ctx, 2, &r)) {
        if (r.rank != 3)
            return as_conflict(ctx, "the recurrence weights have %d dimensions instead of 3",
                               r.rank);
        if (hidden == AS_DIM_UNKNOWN)
            hidden = r.at[hidden_axis];
        if (r.at[0] != AS_DIM_UNKNOWN && r.at[0] != directions)
            return as_conflict(ctx, "there are weights for %lld directions, the node has %lld",
                               (long long)r.at[0], (long long)directions);
        if (r.at[hidden_axis] != AS_DIM_UNKNOWN && r.at[hidden_axis] != hidden)
            return as_conflict(ctx, "hidden_size is %lld, the weights are for %lld",
                               (long long)hidden, (long long)r.at[hidden_axis]);
    }
    (void)as_in_dims(ctx, 0, &x);
    rc = check_recurrent(ctx, &x, hidden);
    if (rc < 0)
        return rc;
    batch = x.at[batch_first ? 0 : 1];
    if (batch_first) {
        y = (struct as_dims){4, {batch, x.at[1], directions, hidden}};
        state = (struct as_dims){3, {batch, directions, hidden}};
    } else {
        y = (struct as_dims){4, {x.at[0], directions, batch, hidden}};
        state = (struct as_dims){3, {directions, batch, hidden}};
    }
    rc = as_out_tensor(ctx, 0, dtype, &y);
    for (size_t i = 1; i <= n_states && rc == ASSAY_OK; i++)
        rc = as_out_tensor(ctx, i, dtype, &state);
    return rc;
}
