/* model/memory/train_memory.c - how much memory a training step needs, over its time line.
 * What is alive is entered as spans of rows, once for each part of a step, and summed at the end.
 */
#include "model/memory/train_memory.h"

#include "base/cursor.h"
#include "model/cost/cost_rules.h"
#include "model/cost/kept.h"

struct training {
    const struct as_model *model;
    const struct as_costs *costs;
    const struct as_params *params;
    const struct as_train_options *options;
    struct as_train_memory *out;
    struct as_arena arena;
    struct as_lifetimes life;
    struct as_train_blocks blocks;
    uint32_t n_rows;
    unsigned weight_bytes; /* of one weight or activation */
    uint8_t *has_gradient; /* value -> one is computed of it */
    uint32_t *param_of;    /* value -> the param that holds its numbers, or AS_NONE */
    uint32_t *saver;       /* tensor -> the earliest row that saves it, or AS_NONE */
    uint32_t *last_user;   /* param -> the last row that uses it, or AS_NONE */
    /* Bytes beside what is always there, by row: of the forward pass, of computing a block again,
     * of the backward pass; and of that the gradients of activations. One more than rows. */
    uint64_t *forward, *again, *backward, *workspace;
    uint64_t all; /* sum of everything entered, to see that nothing wraps */
    bool overflow;
};

static void add(struct training *t, uint64_t *spans, uint32_t first, uint32_t last, uint64_t bytes)
{
    t->overflow |= !as_add_u64(t->all, bytes, &t->all);
    as_span_add(spans, first, last, bytes);
}

static uint64_t plus(struct training *t, uint64_t a, uint64_t b)
{
    uint64_t sum = UINT64_MAX;

    if (a == UINT64_MAX || b == UINT64_MAX || !as_add_u64(a, b, &sum)) {
        t->overflow = true;
        return UINT64_MAX;
    }
    return sum;
}

static uint64_t times(struct training *t, uint64_t a, uint64_t b)
{
    uint64_t product;

    if (!as_mul_u64(a, b, &product)) {
        t->overflow = true;
        return UINT64_MAX;
    }
    return product;
}

static bool is_trained(const struct training *t, uint32_t p)
{
    return as_param_is_trained(t->model, &t->params->params[p]);
}

/* ---- what is always there ---- */

static uint64_t shard(const struct training *t, uint64_t bytes, uint32_t from_stage)
{
    uint32_t ranks = t->options->ranks > 1 ? t->options->ranks : 1;

    if (bytes == UINT64_MAX || t->options->zero_stage < from_stage)
        return bytes;
    return bytes / ranks + (bytes % ranks != 0);
}

static bool shards(const struct training *t, uint32_t stage)
{
    return t->options->ranks > 1 && t->options->zero_stage >= stage;
}

static unsigned gradient_size(const struct training *t)
{
    return t->options->mixed && t->options->accumulate > 1 ? 4 : t->weight_bytes;
}

static void count_state(struct training *t)
{
    struct as_train_memory *out = t->out;
    uint64_t trained = 0, other = 0;

    for (size_t i = 0; i < t->params->n_params; i++) {
        const struct as_param *param = &t->params->params[i];

        if (is_trained(t, (uint32_t)i))
            trained = plus(t, trained, param->elems);
        else if (param->role != AS_ROLE_UNUSED)
            other = plus(t, other, param->bytes);
    }
    out->parameter_bytes = shard(t, plus(t, times(t, trained, t->weight_bytes), other), 3);
    out->master_bytes = t->options->mixed ? shard(t, times(t, trained, 4), 1) : 0;
    out->gradient_bytes = shard(t, times(t, trained, gradient_size(t)), 2);
    out->optimizer_bytes =
        shard(t, as_optimizer_bytes(t->params, t->model, t->options->optimizer), 1);
}

/* ---- who has a gradient, and what is saved ---- */

/* A second name leads to the param that counts its numbers. */
static uint32_t counted_param(const struct training *t, uint32_t p)
{
    for (size_t steps = 0; steps < t->params->n_params; steps++) {
        uint32_t to = t->params->params[p].tied_to;

        if (t->params->params[p].elems > 0 || to >= t->params->n_params)
            break;
        p = to;
    }
    return p;
}

static void mark_params(struct training *t)
{
    for (uint32_t i = 0; i < t->model->n_values; i++)
        t->param_of[i] = AS_NONE;
    for (uint32_t i = 0; i < t->params->n_params; i++) {
        uint32_t p = counted_param(t, i), value = t->params->params[i].value;

        t->last_user[i] = AS_NONE;
        if (value >= t->model->n_values || !is_trained(t, p))
            continue;
        t->param_of[value] = p;
        t->has_gradient[value] = 1;
    }
}

static bool has_body(const struct as_node *node)
{
    for (uint32_t i = 0; i < node->n_attrs; i++)
        if (node->attrs[i].kind == AS_ATTR_GRAPH)
            return true;
    return false;
}

static void mark_value(struct training *t, uint32_t id)
{
    if (id != AS_NONE && as_dtype_is_float(t->model->values[id].type.dtype))
        t->has_gradient[id] = 1;
}

/* A gradient passes a node when one of its inputs has one, unless the node is flat. What goes into
 * and out of a body is taken to have one. */
static bool gradient_passes(struct training *t, uint32_t r, bool flat)
{
    const struct as_node *node = t->costs->rows[r].node;
    bool passes = has_body(node);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint32_t id = node->inputs[i], p;

        if (id == AS_NONE)
            continue;
        passes |= t->has_gradient[id];
        p = t->param_of[id];
        if (p != AS_NONE) /* rows come in order */
            t->last_user[p] = t->life.top_of[r];
    }
    passes &= !flat;
    for (uint32_t i = 0; passes && i < node->n_attrs; i++) {
        const struct as_graph *body =
            node->attrs[i].kind == AS_ATTR_GRAPH ? node->attrs[i].graph : NULL;

        for (uint32_t k = 0; body && k < body->n_inputs; k++)
            mark_value(t, body->inputs[k]);
    }
    for (uint32_t i = 0; passes && i < node->n_outputs; i++)
        mark_value(t, node->outputs[i]);
    return passes;
}

static void save(struct training *t, uint32_t value, uint32_t r)
{
    uint32_t tensor = value == AS_NONE ? AS_NONE : t->life.tensor_of[value];

    if (tensor != AS_NONE && t->saver[tensor] > t->life.top_of[r])
        t->saver[tensor] = t->life.top_of[r];
}

/* Of a product an input is needed for the gradients of the others only. */
static void save_inputs(struct training *t, uint32_t r)
{
    const struct as_node *node = t->costs->rows[r].node;
    uint32_t n_gradients = 0, origin = as_keeps_origin(t->costs->kept, node);

    for (uint32_t i = 0; i < node->n_inputs; i++)
        n_gradients += node->inputs[i] != AS_NONE && t->has_gradient[node->inputs[i]];
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        bool own = node->inputs[i] != AS_NONE && t->has_gradient[node->inputs[i]];

        if (as_keeps_input(t->costs->kept, node, i, n_gradients > own))
            save(t, node->inputs[i], r);
    }
    save(t, origin, r);
}

/* Masks, gates, probabilities: what only this node has. */
static void save_inner(struct training *t, uint32_t r)
{
    const struct as_cost_row *row = &t->costs->rows[r];
    uint32_t block = t->blocks.block_of[r], end = t->blocks.end[block];
    uint64_t each = row->inner_floats && t->weight_bytes
                        ? times(t, row->inner_floats, t->weight_bytes)
                        : row->inner_bytes;
    uint64_t bytes = times(t, each, row->times);

    if (block + 1 == t->blocks.n) {
        add(t, t->forward, r, end, bytes);
        t->out->saved_bytes = plus(t, t->out->saved_bytes, bytes);
    } else {
        add(t, t->again, r, end, bytes);
    }
    add(t, t->backward, t->life.top_of[r], end, bytes);
}

static void save_row(struct training *t, uint32_t r)
{
    const struct as_node *node = t->costs->rows[r].node;

    save_inputs(t, r);
    if (as_keeps_output(t->costs->kept, node))
        save(t, node->outputs[0], r);
    if (t->costs->rows[r].inner_bytes)
        save_inner(t, r);
}

static void walk_rows(struct training *t)
{
    for (uint32_t r = 0; r < t->n_rows; r++) {
        const struct as_cost_row *row = &t->costs->rows[r];
        const struct as_cost_entry *entry = as_cost_entry_at(row->node->op);

        if (row->times == 0)
            continue;
        t->out->exact &= row->times_known && row->state == AS_COST_KNOWN;
        if (t->blocks.block_of[r] + 1 < t->blocks.n)
            t->out->recompute_macs =
                plus(t, t->out->recompute_macs, times(t, row->forward.macs, row->times));
        if (gradient_passes(t, r, entry && entry->flags & AS_COST_FLAT) && entry)
            save_row(t, r);
    }
}

/* ---- spans ---- */

/* What crosses a cut is there from its making in the forward pass to that row's backward pass. */
static void enter_kept(struct training *t, const struct as_plan_tensor *tensor)
{
    uint32_t last_row = t->n_rows - 1, from = t->blocks.block_of[tensor->first];

    add(t, t->forward, tensor->first, last_row, tensor->bytes);
    add(t, t->backward, tensor->first, last_row, tensor->bytes);
    add(t, t->again, t->blocks.start[from], last_row, tensor->bytes);
    t->out->saved_bytes = plus(t, t->out->saved_bytes, tensor->bytes);
    if (t->has_gradient[tensor->value]) /* it waits while the blocks it crosses are made again */
        add(t, t->again, t->blocks.start[from], t->blocks.end[t->blocks.block_of[tensor->last] - 1],
            tensor->bytes);
}

static void enter_saved(struct training *t, const struct as_plan_tensor *tensor, uint32_t saver)
{
    const struct as_graph *graph = t->model->values[tensor->value].graph;
    uint32_t block = t->blocks.block_of[tensor->first], end = t->blocks.end[block];
    uint64_t n = graph && graph->parent ? t->costs->rows[tensor->first].times : 1;
    uint64_t bytes = times(t, tensor->bytes, n ? n : 1);

    if (block + 1 == t->blocks.n) {
        add(t, t->forward, tensor->first, end, bytes);
        t->out->saved_bytes = plus(t, t->out->saved_bytes, bytes);
    } else {
        add(t, t->forward, tensor->first, tensor->last, tensor->bytes);
        add(t, t->again, tensor->first, end, bytes);
    }
    add(t, t->backward, saver, end, bytes);
}

static void enter_tensors(struct training *t)
{
    for (size_t i = 0; i < t->life.n_tensors; i++) {
        const struct as_plan_tensor *tensor = &t->life.tensors[i];

        if (t->blocks.block_of[tensor->first] != t->blocks.block_of[tensor->last]) {
            enter_kept(t, tensor);
        } else if (t->saver[i] != AS_NONE) {
            enter_saved(t, tensor, t->saver[i]);
        } else {
            add(t, t->forward, tensor->first, tensor->last, tensor->bytes);
            add(t, t->again, tensor->first, tensor->last, tensor->bytes);
        }
        if (t->has_gradient[tensor->value]) {
            add(t, t->workspace, tensor->first, tensor->last, tensor->bytes);
            add(t, t->backward, tensor->first, tensor->last, tensor->bytes);
        }
    }
}

/* A gradient appears when the backward pass meets the last node that uses the parameter. With
 * accumulation all are always there; sharded, the sum of all is divided and they are taken to be
 * there from the start of the backward pass. */
static void enter_gradients(struct training *t)
{
    if (t->options->accumulate > 1)
        return;
    if (shards(t, 2)) {
        add(t, t->backward, 0, t->n_rows - 1, t->out->gradient_bytes);
        add(t, t->again, 0, t->n_rows - 1, t->out->gradient_bytes);
        return;
    }
    for (uint32_t p = 0; p < t->params->n_params; p++) {
        uint32_t user = t->last_user[p], start;
        uint64_t bytes;

        if (user == AS_NONE)
            continue;
        bytes = times(t, t->params->params[p].elems, t->weight_bytes);
        start = t->blocks.start[t->blocks.block_of[user]];
        add(t, t->backward, 0, user, bytes);
        if (start > 0)
            add(t, t->again, 0, start - 1, bytes);
    }
}

/* What the node that runs has in full beside the shards: parameters, and in the backward pass
 * gradients on their way to the ranks or to the f32 sum. */
static void enter_gathered(struct training *t)
{
    bool parameters = shards(t, 3), gradients = shards(t, 2);

    gradients |= gradient_size(t) != t->weight_bytes;
    for (uint32_t r = 0; (parameters || gradients) && r < t->n_rows; r++) {
        const struct as_node *node = t->costs->rows[r].node;
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < node->n_inputs; i++) {
            uint32_t p = node->inputs[i] == AS_NONE ? AS_NONE : t->param_of[node->inputs[i]];

            if (p != AS_NONE)
                bytes = plus(t, bytes, times(t, t->params->params[p].elems, t->weight_bytes));
        }
        if (parameters) {
            add(t, t->forward, r, r, bytes);
            add(t, t->again, r, r, bytes);
            add(t, t->backward, r, r, bytes);
        }
        if (gradients)
            add(t, t->backward, r, r, bytes);
    }
}

static uint64_t largest(const uint64_t *spans, uint32_t n)
{
    uint64_t sum = 0, most = 0;

    for (uint32_t r = 0; r < n; r++) {
        sum += spans[r];
        most = sum > most ? sum : most;
    }
    return most;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void find_peaks(struct training *t)
{
    struct as_train_memory *out = t->out;
    uint64_t base = plus(t, plus(t, out->parameter_bytes, out->master_bytes), out->optimizer_bytes);
    uint64_t backward = largest(t->backward, t->n_rows), again = 0;

    out->step_peak_bytes = plus(t, base, out->gradient_bytes);
    if (t->options->accumulate > 1)
        base = out->step_peak_bytes;
    if (t->blocks.n > 1) /* the last block is not computed again */
        again = largest(t->again, t->blocks.end[t->blocks.n - 2] + 1);
    out->workspace_bytes = largest(t->workspace, t->n_rows);
    out->forward_peak_bytes = plus(t, base, largest(t->forward, t->n_rows));
    out->backward_peak_bytes = plus(t, base, most(backward, again));
    if (t->overflow) {
        out->forward_peak_bytes = out->backward_peak_bytes = UINT64_MAX;
        out->workspace_bytes = UINT64_MAX;
        out->exact = false;
    }
    out->peak_bytes =
        most(most(out->forward_peak_bytes, out->backward_peak_bytes), out->step_peak_bytes);
}

/* ---- the whole ---- */

static int check_options(const struct as_train_options *options, struct assay_error *err)
{
    unsigned dtype = options->dtype;

    if (dtype && dtype != AS_DTYPE_F32 && dtype != AS_DTYPE_F16 && dtype != AS_DTYPE_BF16)
        return as_fail(err, ASSAY_ERR_USAGE, "training is in f32, f16 or bf16, not in %s",
                       as_dtype_name(dtype));
    if (options->zero_stage > 3)
        return as_fail(err, ASSAY_ERR_USAGE, "ZeRO has the stages 0 to 3, not %u",
                       options->zero_stage);
    if ((unsigned)options->optimizer >= AS_OPTIMIZER_COUNT)
        return as_fail(err, ASSAY_ERR_USAGE, "there is no such optimizer");
    return ASSAY_OK;
}

static int allocate(struct training *t, struct assay_error *err)
{
    size_t rows = (size_t)t->n_rows + 1, values = (size_t)t->model->n_values + 1;

    t->has_gradient = as_arena_zero(&t->arena, values, sizeof *t->has_gradient);
    t->param_of = as_arena_zero(&t->arena, values, sizeof *t->param_of);
    t->saver = as_arena_zero(&t->arena, t->life.n_tensors + 1, sizeof *t->saver);
    t->last_user = as_arena_zero(&t->arena, t->params->n_params + 1, sizeof *t->last_user);
    t->forward = as_arena_zero(&t->arena, rows, sizeof *t->forward);
    t->again = as_arena_zero(&t->arena, rows, sizeof *t->again);
    t->backward = as_arena_zero(&t->arena, rows, sizeof *t->backward);
    t->workspace = as_arena_zero(&t->arena, rows, sizeof *t->workspace);
    if (!t->has_gradient || !t->param_of || !t->saver || !t->last_user || !t->forward ||
        !t->again || !t->backward || !t->workspace)
        return as_fail_nomem(err);
    for (size_t i = 0; i < t->life.n_tensors; i++)
        t->saver[i] = AS_NONE;
    return ASSAY_OK;
}

static int count(struct training *t, struct assay_error *err)
{
    const struct as_kept *kept = t->costs->kept;
    int rc = as_lifetimes_find(&t->life, &t->arena, t->model, t->costs, t->weight_bytes,
                               kept ? kept->storage : NULL, err);

    if (rc == ASSAY_OK)
        rc = as_train_blocks_find(&t->blocks, &t->arena, &t->life, t->n_rows,
                                  t->options->checkpoint, err);
    if (rc == ASSAY_OK)
        rc = allocate(t, err);
    if (rc < 0)
        return rc;
    t->out->exact = t->life.n_unknown == 0;
    count_state(t);
    if (t->n_rows > 0) {
        mark_params(t);
        walk_rows(t);
        enter_tensors(t);
        enter_gradients(t);
        enter_gathered(t);
    }
    find_peaks(t);
    return ASSAY_OK;
}

int as_train_memory_count(struct as_train_memory *out, const struct as_model *model,
                          const struct as_costs *costs, const struct as_params *params,
                          const struct as_train_options *options, struct assay_error *err)
{
    struct training t = {.model = model,
                         .costs = costs,
                         .params = params,
                         .options = options,
                         .out = out,
                         .n_rows = (uint32_t)costs->n_rows};
    int rc = check_options(options, err);

    *out = (struct as_train_memory){0};
    if (rc < 0)
        return rc;
    t.weight_bytes =
        options->mixed || options->dtype == AS_DTYPE_F16 || options->dtype == AS_DTYPE_BF16 ? 2 : 4;
    rc = count(&t, err);
    as_arena_fini(&t.arena);
    return rc;
}
