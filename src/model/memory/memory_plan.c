/* model/memory/memory_plan.c - how much memory a run needs: lifetimes over the order of execution.
 * Lifetimes come from lifetimes.c, places from memory_place.c. */
#include "model/memory/memory_plan.h"

#include "base/alloc.h"
#include "base/cursor.h"

static uint64_t sum_known(const struct as_model *model, const uint32_t *at, uint32_t n)
{
    uint64_t sum = 0, bytes;

    for (uint32_t i = 0; i < n; i++)
        if (at[i] != AS_NONE && as_type_bytes(&model->values[at[i]].type, &bytes) &&
            !as_add_u64(sum, bytes, &sum))
            return UINT64_MAX;
    return sum;
}

/* Without a row there is still the moment at which inputs and outputs are held. */
static void find_peak(struct as_memory_plan *plan, uint64_t *spans)
{
    size_t n = plan->n_steps ? plan->n_steps : 1;
    uint64_t live = 0;

    for (size_t i = 0; i < plan->n_tensors; i++)
        as_span_add(spans, plan->tensors[i].first, plan->tensors[i].last, plan->tensors[i].bytes);
    for (size_t r = 0; r < n; r++) {
        live += spans[r];
        spans[r] = plan->naive_bytes == UINT64_MAX ? UINT64_MAX : live;
        if (spans[r] > plan->peak_bytes) {
            plan->peak_bytes = spans[r];
            plan->peak_step = r;
        }
    }
}

static int fill(struct as_memory_plan *plan, const struct as_model *model,
                const struct as_costs *costs, struct as_arena *scratch, struct assay_error *err)
{
    struct as_lifetimes life;
    int rc = as_lifetimes_find(&life, scratch, model, costs, 0, NULL, err);

    if (rc < 0)
        return rc;
    plan->n_steps = costs->n_rows;
    plan->n_tensors = life.n_tensors;
    plan->n_unknown = life.n_unknown;
    plan->live_bytes = as_arena_zero(&plan->arena, plan->n_steps + 2, sizeof *plan->live_bytes);
    plan->tensors = as_arena_zero(&plan->arena, plan->n_tensors + 1, sizeof *plan->tensors);
    if (!plan->live_bytes || !plan->tensors)
        return as_fail_nomem(err);
    for (size_t i = 0; i < plan->n_tensors; i++) {
        plan->tensors[i] = life.tensors[i];
        if (!as_add_u64(plan->naive_bytes, life.tensors[i].bytes, &plan->naive_bytes))
            plan->naive_bytes = UINT64_MAX;
    }
    if (model->main) {
        plan->input_bytes = sum_known(model, model->main->inputs, model->main->n_inputs);
        plan->output_bytes = sum_known(model, model->main->outputs, model->main->n_outputs);
    }
    find_peak(plan, plan->live_bytes);
    return as_memory_place(plan->tensors, plan->n_tensors, &plan->arena_bytes, err);
}

int as_memory_plan_new(struct as_memory_plan **plan, const struct as_model *model,
                       const struct as_costs *costs, struct assay_error *err)
{
    struct as_memory_plan *p = as_alloc_zero(1, sizeof *p);
    struct as_arena scratch = {0};
    int rc;

    *plan = NULL;
    if (!p)
        return as_fail_nomem(err);
    rc = fill(p, model, costs, &scratch, err);
    as_arena_fini(&scratch);
    if (rc < 0) {
        as_memory_plan_free(p);
        return rc;
    }
    *plan = p;
    return ASSAY_OK;
}

void as_memory_plan_free(struct as_memory_plan *plan)
{
    if (!plan)
        return;
    as_arena_fini(&plan->arena);
    as_free(plan);
}

uint64_t as_kv_bytes_per_token(const struct as_decoder *decoder, unsigned bits)
{
    uint64_t values = decoder->value_dim ? decoder->value_dim : decoder->head_dim;
    uint64_t n;

    if (!decoder->head_dim)
        return 0;
    if (!as_add_u64(decoder->head_dim, values, &n) || !as_mul_u64(n, decoder->kv_heads, &n) ||
        !as_mul_u64(n, decoder->layers, &n) || !as_mul_u64(n, bits, &n))
        return UINT64_MAX;
    return n / 8 + (n % 8 != 0);
}
