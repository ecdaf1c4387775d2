/* engine/kernels/control/kern_loop.c - Loop: a body run while it says so, at most as often as the
 * trip count. What each round gives for a scan output is kept, and stacked at the end. */
#include "base/alloc.h"
#include "engine/kernels/control/kern_control.h"
#include "model/infer/infer_context.h"

/* More rounds than anybody waits for; a model that asks for them is broken or means harm. Without a
 * trip count, or with one beyond that (exporters write the greatest number there is), only the
 * condition ends a loop, and one that has not for so long never will. */
#define MAX_ROUNDS      10000000
#define MAX_OPEN_ROUNDS 100000

struct loop {
    const struct as_graph *body;
    size_t n_carried, n_scan;
    int64_t most;              /* INT64_MAX: no limit */
    bool goes;                 /* the condition */
    struct as_val head[2];     /* round and condition, as the body sees them */
    struct as_val *carried;    /* n_carried, owned */
    struct as_val *outs;       /* of one round */
    const struct as_val **ins; /* of one round */
    struct as_val *scans;      /* those of scan output s are at s * room, owned */
    int64_t rounds, capacity;
    uint64_t scan_bytes; /* of `scans`, counted beside the tensors */
};

static int open_loop(struct as_kernel_ctx *k, struct loop *l)
{
    size_t n = k->n_in < 2 ? 0 : k->n_in - 2;

    l->body = as_node_graph(k->node, "body");
    if (!l->body || l->body->n_inputs != n + 2 || l->body->n_outputs < n + 1 ||
        l->body->n_outputs - 1 < k->n_out)
        return as_kernel_fail(k, "the body does not have the inputs and outputs of the node");
    l->n_carried = n;
    l->n_scan = l->body->n_outputs - n - 1;
    l->most = INT64_MAX;
    if (as_has_in(k, 0)) {
        if (k->in[0]->n != 1 || !as_dtype_is_integer(k->in[0]->dtype))
            return as_kernel_fail(k, "its trip count is not one integer");
        l->most = as_val_i64(k->in[0], 0);
    }
    if (as_has_in(k, 1) && k->in[1]->n != 1)
        return as_kernel_fail(k, "its condition is not one element");
    l->goes = !as_has_in(k, 1) || as_control_true(k->in[1]);
    l->carried = as_control_vals(k, n);
    l->outs = as_control_vals(k, l->body->n_outputs);
    l->ins = as_arena_zero(k->scratch, n + 2, sizeof(void *));
    return l->carried && l->outs && l->ins ? ASSAY_OK : as_fail_nomem(k->err);
}

static int start_loop(struct as_kernel_ctx *k, struct loop *l)
{
    struct as_dims scalar = {0};
    int rc = as_val_new(&l->head[0], k->mem, AS_MEM_ACTIVATIONS, AS_DTYPE_I64, &scalar, k->err);

    if (rc == ASSAY_OK)
        rc = as_val_new(&l->head[1], k->mem, AS_MEM_ACTIVATIONS, AS_DTYPE_BOOL, &scalar, k->err);
    for (size_t i = 0; i < l->n_carried && rc == ASSAY_OK; i++) {
        if (!as_has_in(k, 2 + i))
            return as_kernel_fail(k, "carried value %zu is missing", i);
        rc = as_val_share(&l->carried[i], k->in[2 + i], k->err);
    }
    l->ins[0] = &l->head[0];
    l->ins[1] = &l->head[1];
    for (size_t i = 0; i < l->n_carried; i++)
        l->ins[2 + i] = &l->carried[i];
    return rc;
}

/* Room for the scan outputs of one more round. */
static int more_capacity(struct as_kernel_ctx *k, struct loop *l)
{
    int64_t capacity = l->capacity ? 2 * l->capacity : 16;
    uint64_t bytes = (uint64_t)l->n_scan * (uint64_t)capacity * sizeof *l->scans;
    struct as_val *scans;

    if (l->n_scan == 0 || l->rounds < l->capacity)
        return ASSAY_OK;
    if (!as_mem_beside(k->mem, bytes))
        return as_fail_nomem(k->err);
    as_mem_beside_sub(k->mem, l->scan_bytes);
    l->scan_bytes = bytes;
    scans = as_alloc_zero(l->n_scan, (size_t)capacity * sizeof *scans);
    if (!scans)
        return as_fail_nomem(k->err);
    for (size_t s = 0; s < l->n_scan; s++)
        for (int64_t i = 0; i < l->rounds; i++)
            scans[(int64_t)s * capacity + i] = l->scans[(int64_t)s * l->capacity + i];
    as_free(l->scans);
    l->scans = scans;
    l->capacity = capacity;
    return ASSAY_OK;
}

/* A round's numbers may be seen by what a body keeps: each has a value of its own. */
static int renew_head(struct as_kernel_ctx *k, struct loop *l)
{
    struct as_dims scalar = {0};
    int rc = ASSAY_OK;

    if (l->head[0].hold->n_refs > 1) {
        as_val_drop(&l->head[0]);
        rc = as_val_new(&l->head[0], k->mem, AS_MEM_ACTIVATIONS, AS_DTYPE_I64, &scalar, k->err);
    }
    if (rc == ASSAY_OK && l->head[1].hold->n_refs > 1) {
        as_val_drop(&l->head[1]);
        rc = as_val_new(&l->head[1], k->mem, AS_MEM_ACTIVATIONS, AS_DTYPE_BOOL, &scalar, k->err);
    }
    return rc;
}

static int one_round(struct as_kernel_ctx *k, struct loop *l)
{
    int rc = more_capacity(k, l);

    if (rc == ASSAY_OK)
        rc = renew_head(k, l);
    if (rc < 0)
        return rc;
    as_val_put_i64(&l->head[0], 0, l->rounds);
    as_val_put_i64(&l->head[1], 0, 1);
    rc = as_kernel_body(k, l->body, l->ins, l->n_carried + 2, l->outs, l->body->n_outputs);
    if (rc < 0)
        return rc;
    l->goes = as_control_true(&l->outs[0]);
    as_val_drop(&l->outs[0]);
    for (size_t i = 0; i < l->n_carried; i++)
        as_control_move(&l->carried[i], &l->outs[1 + i]);
    for (size_t s = 0; s < l->n_scan; s++)
        as_control_move(&l->scans[(int64_t)s * l->capacity + l->rounds],
                        &l->outs[1 + l->n_carried + s]);
    l->rounds++;
    return ASSAY_OK;
}

/* No iteration has given the shape: the body's type does, and what it leaves open is empty. */
static int empty_scan(struct as_kernel_ctx *k, const struct loop *l, size_t s)
{
    const struct as_type *type =
        &k->graph->model->values[l->body->outputs[1 + l->n_carried + s]].type;
    struct as_dims dims = {1, {0}}, one;

    if (as_type_dims(type, &one) && one.rank < AS_MAX_RANK)
        for (int d = 0; d < one.rank; d++)
            dims.at[dims.rank++] = one.at[d] < 0 ? 0 : one.at[d];
    return as_kernel_out(k, l->n_carried + s, type->dtype ? type->dtype : AS_DTYPE_F32, &dims);
}

static int end_loop(struct as_kernel_ctx *k, struct loop *l)
{
    int rc = ASSAY_OK;

    for (size_t i = 0; i < l->n_carried && rc == ASSAY_OK; i++)
        rc = as_control_give(k, i, &l->carried[i]);
    for (size_t s = 0; s < l->n_scan && rc == ASSAY_OK; s++) {
        const struct as_val *first = l->scans ? l->scans + (int64_t)s * l->capacity : NULL;

        if (!as_has_out(k, l->n_carried + s))
            continue;
        if (l->rounds == 0 || !first)
            rc = empty_scan(k, l, s);
        else if (first->kind != AS_VALUE_TENSOR)
            rc = as_kernel_fail(k, "scan output %zu is not a tensor", s);
        else
            rc = as_list_join(k, l->n_carried + s, first, l->rounds, 0, true);
    }
    return rc;
}

int as_kern_loop(struct as_kernel_ctx *k)
{
    struct loop l = {0};
    int rc = open_loop(k, &l);

    if (rc == ASSAY_OK)
        rc = start_loop(k, &l);
    while (rc == ASSAY_OK && l.goes && l.rounds < l.most) {
        if (l.rounds == MAX_OPEN_ROUNDS && l.most > MAX_ROUNDS)
            rc = as_kernel_fail(k,
                                "its condition was still true after %d rounds, and no trip count "
                                "up to %d ends it",
                                MAX_OPEN_ROUNDS, MAX_ROUNDS);
        else
            rc = one_round(k, &l);
    }
    if (rc == ASSAY_OK)
        rc = end_loop(k, &l);
    for (size_t s = 0; s < l.n_scan && l.scans; s++)
        for (int64_t i = 0; i < l.rounds; i++)
            as_val_drop(&l.scans[(int64_t)s * l.capacity + i]);
    as_free(l.scans);
    as_mem_beside_sub(k->mem, l.scan_bytes);
    as_control_drop(l.outs, l.body ? l.body->n_outputs : 0);
    as_control_drop(l.carried, l.n_carried);
    as_val_drop(&l.head[0]);
    as_val_drop(&l.head[1]);
    return rc;
}
