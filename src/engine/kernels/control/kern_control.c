/* engine/kernels/control/kern_control.c - If and SequenceMap, and the table of what runs bodies.
 * Loop is in kern_loop.c, Scan in kern_scan.c. What a body gives is moved out, never copied. */
#include "engine/kernels/control/kern_control.h"

#include "base/alloc.h"

struct as_val *as_control_vals(struct as_kernel_ctx *k, size_t n)
{
    struct as_val *vals = as_alloc_zero(n + 1, sizeof *vals);

    if (!vals)
        (void)as_fail_nomem(k->err);
    return vals;
}

void as_control_drop(struct as_val *vals, size_t n)
{
    for (size_t i = 0; vals && i < n; i++)
        as_val_drop(&vals[i]);
    as_free(vals);
}

void as_control_move(struct as_val *to, struct as_val *from)
{
    as_val_drop(to);
    *to = *from;
    *from = (struct as_val){0};
}

int as_control_give(struct as_kernel_ctx *k, size_t i, struct as_val *from)
{
    if (!as_has_out(k, i))
        return ASSAY_OK;
    if (from->kind == AS_VALUE_TENSOR && !from->hold) {
        as_val_drop(k->out[i]);
        return as_list_keep(k, k->out[i], from);
    }
    as_control_move(k->out[i], from);
    return ASSAY_OK;
}

bool as_control_true(const struct as_val *val)
{
    return val->kind == AS_VALUE_TENSOR && val->n > 0 && val->dtype != AS_DTYPE_STRING &&
           as_val_i64(val, 0) != 0;
}

static int run_if(struct as_kernel_ctx *k)
{
    const struct as_graph *body;
    struct as_val *outs;
    int rc;

    if (!as_has_in(k, 0) || k->in[0]->kind != AS_VALUE_TENSOR || k->in[0]->n != 1)
        return as_kernel_fail(k, "its condition is not one element");
    body = as_node_graph(k->node, as_control_true(k->in[0]) ? "then_branch" : "else_branch");
    if (!body || body->n_outputs < k->n_out)
        return as_kernel_fail(k, "a branch is missing or gives too few outputs");
    outs = as_control_vals(k, body->n_outputs);
    if (!outs)
        return ASSAY_ERR_NOMEM;
    rc = as_kernel_body(k, body, NULL, 0, outs, body->n_outputs);
    for (size_t i = 0; i < k->n_out && rc == ASSAY_OK; i++)
        rc = as_control_give(k, i, &outs[i]);
    as_control_drop(outs, body->n_outputs);
    return rc;
}

/* ---- SequenceMap ---- */

/* How many elements there are: all sequences agree. */
static int map_length(struct as_kernel_ctx *k, int32_t *n)
{
    if (!as_has_in(k, 0) || k->in[0]->kind != AS_VALUE_SEQUENCE)
        return as_kernel_fail(k, "its first input is not a sequence");
    *n = k->in[0]->n_elems;
    for (size_t i = 0; i < k->n_in; i++) {
        if (!k->in[i])
            return as_kernel_fail(k, "input %zu is missing", i);
        if (k->in[i]->kind == AS_VALUE_SEQUENCE && k->in[i]->n_elems != *n)
            return as_kernel_fail(k, "sequences of %d and %d elements are mapped together", *n,
                                  k->in[i]->n_elems);
    }
    return ASSAY_OK;
}

static int map_one(struct as_kernel_ctx *k, const struct as_graph *body, int32_t at,
                   const struct as_val **ins, struct as_val *outs)
{
    int rc;

    for (size_t i = 0; i < k->n_in; i++)
        ins[i] = k->in[i]->kind == AS_VALUE_SEQUENCE ? &k->in[i]->elems[at] : k->in[i];
    rc = as_kernel_body(k, body, ins, k->n_in, outs, body->n_outputs);
    for (size_t i = 0; i < k->n_out && rc == ASSAY_OK; i++)
        if (k->out[i])
            rc = as_list_add(k, i, &outs[i]);
    for (size_t i = 0; i < body->n_outputs; i++)
        as_val_drop(&outs[i]);
    return rc;
}

static int run_map(struct as_kernel_ctx *k)
{
    const struct as_graph *body = as_node_graph(k->node, "body");
    const struct as_val **ins;
    struct as_val *outs;
    int32_t n = 0;
    int rc = map_length(k, &n);

    if (rc < 0)
        return rc;
    if (!body || body->n_inputs != k->n_in || body->n_outputs < k->n_out)
        return as_kernel_fail(k, "the body does not have the inputs and outputs of the node");
    ins = as_arena_zero(k->scratch, k->n_in + 1, sizeof(void *));
    outs = as_control_vals(k, body->n_outputs);
    if (!ins || !outs)
        rc = as_fail_nomem(k->err);
    for (size_t i = 0; i < k->n_out && rc == ASSAY_OK; i++)
        if (k->out[i])
            rc = as_list_begin(k, i, AS_VALUE_SEQUENCE, (uint64_t)n);
    for (int32_t at = 0; at < n && rc == ASSAY_OK; at++)
        rc = map_one(k, body, at, ins, outs);
    as_control_drop(outs, body->n_outputs);
    return rc;
}

#define MAKES (AS_KERNEL_MAKES_OUT | AS_KERNEL_HALF | AS_KERNEL_TEXT | AS_KERNEL_LISTS)

const struct as_kernel as_kernels_control[] = {
    {AS_OP_If, run_if, MAKES},         {AS_OP_Loop, as_kern_loop, MAKES},
    {AS_OP_Scan, as_kern_scan, MAKES}, {AS_OP_SequenceMap, run_map, MAKES},
    {AS_OP_UNKNOWN, NULL, 0},
};
