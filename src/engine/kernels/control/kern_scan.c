/* engine/kernels/control/kern_scan.c - Scan: a body run for every slice of its inputs, carrying
 * states along. In opset 8 axis 0 is a batch and axis 1 what is scanned, and sequences may end
 * early. */
#include <string.h>

#include "engine/kernels/control/kern_control.h"
#include "engine/kernels/move/kern_move.h"
#include "model/infer/infer_context.h"

struct scan {
    const struct as_graph *body;
    size_t n_scan, n_state, n_outs; /* scanned inputs, carried states, scanned outputs */
    size_t first;                   /* input where the states begin */
    bool batched;
    int64_t steps, batch;
    struct as_val *states;     /* n_state, owned */
    struct as_val *slices;     /* n_scan, owned */
    struct as_val *outs;       /* of one step */
    const struct as_val **ins; /* of one step */
    struct as_val *kept;       /* those of scan output s are at s * steps, owned */
};

/* Number `i` of a list of axes or directions; 0 where there is no list. */
static int64_t listed(const struct as_kernel_ctx *k, const char *name, size_t i)
{
    struct as_ints list;

    return as_node_ints(k->node, name, &list) && i < list.n ? list.at[i] : 0;
}

static int open_scan(struct as_kernel_ctx *k, struct scan *s)
{
    int64_t n_scan = as_node_int(k->node, "num_scan_inputs", 0);

    s->body = as_node_graph(k->node, "body");
    s->batched = k->opset < 9;
    s->first = s->batched ? 1 : 0;
    if (!s->body || k->n_in < s->first || n_scan < 1 || (uint64_t)n_scan > k->n_in - s->first)
        return as_kernel_fail(k, "num_scan_inputs is %lld of %zu inputs", (long long)n_scan,
                              k->n_in);
    s->n_scan = (size_t)n_scan;
    s->n_state = k->n_in - s->first - s->n_scan;
    if (s->body->n_inputs != s->n_state + s->n_scan || s->body->n_outputs < s->n_state ||
        s->body->n_outputs < k->n_out)
        return as_kernel_fail(k, "the body does not have the inputs and outputs of the node");
    s->n_outs = s->body->n_outputs - s->n_state;
    for (size_t i = s->first; i < k->n_in; i++)
        if (!k->in[i] || k->in[i]->kind != AS_VALUE_TENSOR)
            return as_kernel_fail(k, "input %zu is not a tensor", i);
    s->states = as_control_vals(k, s->n_state);
    s->slices = as_control_vals(k, s->n_scan);
    s->outs = as_control_vals(k, s->body->n_outputs);
    s->ins = as_arena_zero(k->scratch, k->n_in + 1, sizeof(void *));
    if (!s->states || !s->slices || !s->outs || !s->ins)
        return as_fail_nomem(k->err);
    for (size_t i = 0; i < s->n_state + s->n_scan; i++)
        s->ins[i] = i < s->n_state ? &s->states[i] : &s->slices[i - s->n_state];
    return ASSAY_OK;
}

static int scan_axis(struct as_kernel_ctx *k, const struct scan *s, size_t i, int *axis)
{
    const struct as_val *in = k->in[s->first + s->n_state + i];
    int64_t said = s->batched ? 1 : listed(k, "scan_input_axes", i);

    if (!as_axis(said, in->rank, axis))
        return as_kernel_fail(k, "axis %lld of a scanned input of rank %d", (long long)said,
                              in->rank);
    return ASSAY_OK;
}

static int measure(struct as_kernel_ctx *k, struct scan *s)
{
    s->steps = s->batch = -1;
    for (size_t i = 0; i < s->n_scan; i++) {
        const struct as_val *in = k->in[s->first + s->n_state + i];
        int axis, rc = scan_axis(k, s, i, &axis);

        if (rc < 0)
            return rc;
        if (s->steps >= 0 && s->steps != in->dims[axis])
            return as_kernel_fail(k, "scanned inputs have lengths of %lld and %lld",
                                  (long long)s->steps, (long long)in->dims[axis]);
        s->steps = in->dims[axis];
    }
    if (!s->batched)
        return ASSAY_OK;
    for (size_t i = 1; i < k->n_in; i++) {
        if (k->in[i]->rank < 1 || (s->batch >= 0 && s->batch != k->in[i]->dims[0]))
            return as_kernel_fail(k, "input %zu has another batch", i);
        s->batch = k->in[i]->dims[0];
    }
    return ASSAY_OK;
}

/* `to` becomes the slice of `from` at place `at` of an axis. */
static int slice_at(struct as_kernel_ctx *k, struct as_val *to, const struct as_val *from, int axis,
                    int64_t at)
{
    int64_t strides[AS_MAX_RANK], steps[AS_MAX_RANK] = {0};
    struct as_dims dims = {0};
    int rc;

    as_val_drop(to);
    as_strides(from, strides);
    for (int d = 0; d < from->rank; d++)
        if (d != axis) {
            steps[dims.rank] = strides[d];
            dims.at[dims.rank++] = from->dims[d];
        }
    rc = as_val_new(to, k->mem, AS_MEM_ACTIVATIONS, from->dtype, &dims, k->err);
    return rc < 0 ? rc : as_move_view(k, to, from, at * strides[axis], steps);
}

/* One of the batch from a scanned input, then one step of it. */
static int slice_input(struct as_kernel_ctx *k, struct scan *s, size_t i, int64_t b, int64_t at)
{
    const struct as_val *in = k->in[s->first + s->n_state + i];
    struct as_val one = {0};
    int axis, rc = scan_axis(k, s, i, &axis);

    if (rc == ASSAY_OK && s->batched) {
        rc = slice_at(k, &one, in, 0, b);
        if (rc == ASSAY_OK)
            rc = slice_at(k, &s->slices[i], &one, 0, at);
        as_val_drop(&one);
        return rc;
    }
    return rc < 0 ? rc : slice_at(k, &s->slices[i], in, axis, at);
}

static int one_step(struct as_kernel_ctx *k, struct scan *s, int64_t b, int64_t t, int64_t length)
{
    const char *turned = s->batched ? "directions" : "scan_input_directions";
    int rc = ASSAY_OK;

    for (size_t i = 0; i < s->n_scan && rc == ASSAY_OK; i++)
        rc = slice_input(k, s, i, b, listed(k, turned, i) ? length - 1 - t : t);
    if (rc == ASSAY_OK)
        rc =
            as_kernel_body(k, s->body, s->ins, s->n_state + s->n_scan, s->outs, s->body->n_outputs);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->n_state; i++)
        as_control_move(&s->states[i], &s->outs[i]);
    for (size_t o = 0; o < s->n_outs; o++) {
        int64_t at = !s->batched && listed(k, "scan_output_directions", o) ? length - 1 - t : t;

        as_control_move(&s->kept[(int64_t)o * s->steps + at], &s->outs[s->n_state + o]);
    }
    return ASSAY_OK;
}

static int start_states(struct as_kernel_ctx *k, struct scan *s, int64_t b)
{
    int rc = ASSAY_OK;

    for (size_t i = 0; i < s->n_state && rc == ASSAY_OK; i++) {
        const struct as_val *in = k->in[s->first + i];

        as_val_drop(&s->states[i]);
        rc = s->batched ? slice_at(k, &s->states[i], in, 0, b)
                        : as_val_share(&s->states[i], in, k->err);
    }
    return rc;
}

/* No step has given the shape: the body's type does, and what it leaves open is empty. */
static int empty_output(struct as_kernel_ctx *k, const struct scan *s, size_t o)
{
    const struct as_type *type = &k->graph->model->values[s->body->outputs[s->n_state + o]].type;
    struct as_dims dims = {0}, one = {0};
    int axis;

    (void)as_type_dims(type, &one);
    if (one.rank >= AS_MAX_RANK || !as_axis(listed(k, "scan_output_axes", o), one.rank + 1, &axis))
        return as_kernel_fail(k, "scan_output_axes does not fit its outputs");
    for (int d = 0; d <= one.rank; d++) {
        int64_t dim = d == axis ? 0 : one.at[d > axis ? d - 1 : d];

        dims.at[dims.rank++] = dim < 0 ? 0 : dim;
    }
    return as_kernel_out(k, s->n_state + o, type->dtype ? type->dtype : AS_DTYPE_F32, &dims);
}

static int finish(struct as_kernel_ctx *k, struct scan *s)
{
    int rc = ASSAY_OK;

    for (size_t i = 0; i < s->n_state && rc == ASSAY_OK; i++)
        rc = as_control_give(k, i, &s->states[i]);
    for (size_t o = 0; o < s->n_outs && rc == ASSAY_OK; o++) {
        const struct as_val *first = s->kept + (int64_t)o * s->steps;
        int axis;

        if (!as_has_out(k, s->n_state + o))
            continue;
        if (s->steps == 0)
            rc = empty_output(k, s, o);
        else if (first->kind != AS_VALUE_TENSOR || first->rank >= AS_MAX_RANK ||
                 !as_axis(listed(k, "scan_output_axes", o), first->rank + 1, &axis))
            rc = as_kernel_fail(k, "scan_output_axes does not fit its outputs");
        else
            rc = as_list_join(k, s->n_state + o, first, s->steps, axis, true);
    }
    return rc;
}

/* ---- opset 8 ---- */

/* Output `i` has one place for each of the batch; `from` goes to element `begin` of place `b`. */
static int put_batch(struct as_kernel_ctx *k, const struct scan *s, size_t i,
                     const struct as_val *from, int64_t b, int64_t t)
{
    bool scanned = i >= s->n_state;
    struct as_dims dims = {0};
    uint64_t all = from->n * (scanned ? (uint64_t)s->steps : 1);
    struct as_val *out = k->out[i];
    int rc = ASSAY_OK;

    if (!out->present) {
        dims.at[dims.rank++] = s->batch;
        if (scanned)
            dims.at[dims.rank++] = s->steps;
        if (from->rank + dims.rank > AS_MAX_RANK)
            return as_kernel_fail(k, "more than %d dimensions", AS_MAX_RANK);
        for (int d = 0; d < from->rank; d++)
            dims.at[dims.rank++] = from->dims[d];
        rc = as_kernel_out(k, i, from->dtype, &dims);
        if (rc == ASSAY_OK)
            memset(out->data, 0, out->bytes);
    }
    if (rc < 0 || from->n == 0)
        return rc;
    if (out->n != all * (uint64_t)s->batch)
        return as_kernel_fail(k, "what the body gives changes its size");
    return as_move_part(k, out, from, 1, out->n, (uint64_t)b * all + (uint64_t)t * from->n);
}

static int batch_one(struct as_kernel_ctx *k, struct scan *s, int64_t b)
{
    int64_t length =
        as_has_in(k, 0) && k->in[0]->n > (uint64_t)b ? as_val_i64(k->in[0], (uint64_t)b) : s->steps;
    int rc = start_states(k, s, b);

    if (length < 0 || length > s->steps)
        return as_kernel_fail(k, "sequence %lld has a length of %lld", (long long)b,
                              (long long)length);
    for (int64_t t = 0; t < length && rc == ASSAY_OK; t++)
        rc = one_step(k, s, b, t, length);
    for (size_t i = 0; i < s->n_state && rc == ASSAY_OK; i++)
        if (as_has_out(k, i))
            rc = put_batch(k, s, i, &s->states[i], b, 0);
    for (size_t o = 0; o < s->n_outs && rc == ASSAY_OK; o++)
        for (int64_t t = 0; as_has_out(k, s->n_state + o) && t < length && rc == ASSAY_OK; t++)
            rc = put_batch(k, s, s->n_state + o, &s->kept[(int64_t)o * s->steps + t], b, t);
    return rc;
}

static int run_batched(struct as_kernel_ctx *k, struct scan *s)
{
    int rc = ASSAY_OK;

    for (size_t i = 0; i < k->n_out; i++)
        if (k->out[i])
            as_val_drop(k->out[i]);
    for (int64_t b = 0; b < s->batch && rc == ASSAY_OK; b++)
        rc = batch_one(k, s, b);
    for (size_t i = 0; i < k->n_out && rc == ASSAY_OK; i++) {
        if (k->out[i] && !k->out[i]->present)
            return as_kernel_fail(k, "an empty batch or sequence leaves the shape unknown");
        if (k->out[i])
            rc = as_move_own_texts(k, k->out[i]);
    }
    return rc;
}

int as_kern_scan(struct as_kernel_ctx *k)
{
    struct scan s = {0};
    int rc = open_scan(k, &s);

    if (rc == ASSAY_OK)
        rc = measure(k, &s);
    if (rc == ASSAY_OK && s.n_outs > 0 && (uint64_t)s.steps > SIZE_MAX / 1024 / s.n_outs)
        rc = as_kernel_fail(k, "it has %lld steps", (long long)s.steps);
    if (rc == ASSAY_OK) {
        s.kept = as_control_vals(k, s.n_outs * (size_t)s.steps);
        rc = s.kept ? ASSAY_OK : ASSAY_ERR_NOMEM;
    }
    if (rc == ASSAY_OK && s.batched) {
        rc = run_batched(k, &s);
    } else if (rc == ASSAY_OK) {
        rc = start_states(k, &s, 0);
        for (int64_t t = 0; t < s.steps && rc == ASSAY_OK; t++)
            rc = one_step(k, &s, 0, t, s.steps);
        if (rc == ASSAY_OK)
            rc = finish(k, &s);
    }
    as_control_drop(s.kept, s.kept ? s.n_outs * (size_t)s.steps : 0);
    as_control_drop(s.outs, s.outs ? s.body->n_outputs : 0);
    as_control_drop(s.slices, s.n_scan);
    as_control_drop(s.states, s.n_state);
    return rc;
}
