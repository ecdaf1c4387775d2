/* measure/tokens/token_run.c - a decoder token by token while its context grows: the prompt in one
 * run, then one token a run. Two engines, one after the other: shapes of the prompt are fixed, and
 * of the steps all but those of the past. */
#include "measure/tokens/token_run.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/units.h"
#include "measure/tokens/token_inputs.h"
#include "model/cost/cost.h"
#include "stats/describe/quantile.h"
#include "stats/describe/sorted.h"
#include "stats/inference/trend.h"

enum { PROMPT_RUNS = 3, WARM_RUNS = 2, MAX_REPEATS = 1000 };

struct walking {
    const struct as_token_options *o;
    struct as_token_run *out;
    struct as_model *model;
    struct as_token_inputs in;
    struct as_engine_options base; /* as given; of a cache without sizes that count tokens */
    struct as_engine *engine;
    struct as_mem mem;         /* of states between two engines */
    struct as_val *held;       /* by pair: what the prompt left */
    double *samples;           /* of one step */
    struct as_decoder decoder; /* with what attention tells */
    struct assay_error *err;
};

uint64_t as_token_cache_bytes(const struct as_decoder *d, int64_t tokens, int64_t batch,
                              unsigned dtype)
{
    uint64_t n = 1, keys, values, bytes = as_dtype_at(dtype)->block_bytes;

    if (!d->architecture || tokens < 0 || batch < 1 || as_dtype_at(dtype)->block_elems != 1)
        return 0;
    if (!as_mul_u64(d->kv_heads, d->head_dim, &keys) ||
        !as_mul_u64(d->kv_heads, d->value_dim, &values) || !as_add_u64(keys, values, &n) ||
        !as_mul_u64(n, d->layers, &n) || !as_mul_u64(n, (uint64_t)tokens, &n) ||
        !as_mul_u64(n, (uint64_t)batch, &n) || !as_mul_u64(n, bytes, &n))
        return 0;
    return n;
}

static double median_of(double *v, size_t n, double *scratch)
{
    struct as_sorted s = as_sorted_f64(v, n);

    as_sort_f64(v, n, scratch);
    return as_sorted_median(&s);
}

/* ---- engines ---- */

static struct as_engine_options options_of(const struct walking *w)
{
    struct as_engine_options options = w->base;

    options.loops = w->o->pairs->loops;
    options.n_loops = w->out->kind == AS_TOKENS_FIXED ? 0 : w->o->pairs->n_loops;
    return options;
}

static int open_engine(struct walking *w, const struct as_engine_options *options,
                       const struct as_token_place *at)
{
    int rc = as_engine_new(&w->engine, w->model, options, w->err);

    if (rc == ASSAY_OK)
        rc = as_token_inputs_fill(&w->in, w->engine, at, true, w->err);
    if (rc == ASSAY_OK && w->o->fill)
        rc = w->o->fill(w->o->user, w->engine, w->err);
    return rc;
}

static void close_engine(struct walking *w)
{
    as_engine_free(w->engine);
    w->engine = NULL;
}

static int timed_run(struct walking *w, double *ns)
{
    uint64_t from = as_clock_mono_ns();
    int rc = as_engine_run(w->engine, AS_RUN_PLAIN, NULL, w->err);

    *ns = (double)(as_clock_mono_ns() - from);
    return rc;
}

/* ---- the prompt ---- */

static const struct as_val *output_named(const struct as_engine *engine, const char *name)
{
    const struct as_value *v;

    for (size_t i = 0; (v = as_engine_output_value(engine, i)) != NULL; i++)
        if (strcmp(v->name, name) == 0)
            return as_engine_output(engine, i);
    return NULL;
}

/* States live on when the engine that made them is closed. */
static int hold_states(struct walking *w)
{
    const struct as_state_pairs *pairs = w->o->pairs;

    for (size_t i = 0; i < pairs->n_loops; i++) {
        const struct as_val *val = output_named(w->engine, pairs->loops[i].output);
        struct as_dims dims;
        int rc;

        if (!val || !val->present || val->kind != AS_VALUE_TENSOR)
            return as_fail(w->err, ASSAY_ERR_STATE, "the prompt produced no '%.80s'",
                           pairs->loops[i].output);
        as_val_dims(val, &dims);
        rc = as_val_new(&w->held[i], &w->mem, AS_MEM_KV_CACHE, val->dtype, &dims, w->err);
        if (rc < 0)
            return rc;
        memcpy(w->held[i].data, val->data, (size_t)val->bytes);
    }
    return ASSAY_OK;
}

/* Copies into memory of the new engine, where they are counted. */
static int hand_over(struct walking *w)
{
    const struct as_state_pairs *pairs = w->o->pairs;
    const struct as_value *v;
    int rc = ASSAY_OK;

    for (size_t k = 0; k < pairs->n_loops && rc == ASSAY_OK; k++)
        for (size_t i = 0; rc == ASSAY_OK && (v = as_engine_input_value(w->engine, i)) != NULL;
             i++) {
            struct as_val *val = as_engine_input(w->engine, i);
            struct as_dims dims;

            if (strcmp(v->name, pairs->loops[k].input) != 0)
                continue;
            as_val_dims(&w->held[k], &dims);
            if (!val->present || val->bytes != w->held[k].bytes)
                rc = as_engine_make_input(w->engine, i, &dims, w->err);
            if (rc == ASSAY_OK)
                memcpy(val->data, w->held[k].data, (size_t)w->held[k].bytes);
            as_val_drop(&w->held[k]);
        }
    return rc;
}

static void count_whole(struct walking *w, int64_t n)
{
    struct as_costs *costs = NULL;

    if (as_costs_new(&costs, w->model, NULL) < 0)
        return;
    if (costs->n_unknown_ops == 0 && costs->n_unknown_shapes == 0) {
        w->out->whole_macs = costs->forward.macs;
        /* Every row of every product has the same cost, so a token is its share. */
        w->out->cached_macs = costs->forward.macs / (uint64_t)n;
    }
    as_costs_free(costs);
}

/* All tokens of the prompt at once, in an engine of its own. */
static int run_prompt(struct walking *w)
{
    struct as_token_place at = {w->out->batch, 0, w->out->prompt};
    struct as_engine_options options = options_of(w);
    double ns[PROMPT_RUNS], scratch[PROMPT_RUNS];
    int rc = as_token_inputs_sizes(&w->in, &at, false, &options.infer, w->err);

    if (rc == ASSAY_OK)
        rc = open_engine(w, &options, &at);
    if (rc == ASSAY_OK)
        rc = as_token_inputs_begin(&w->in, w->engine, 0, w->err);
    if (rc == ASSAY_OK)
        rc = timed_run(w, &ns[0]); /* the first touches memory; it is not counted */
    for (int i = 0; i < PROMPT_RUNS && rc == ASSAY_OK; i++)
        rc = timed_run(w, &ns[i]);
    if (rc == ASSAY_OK)
        rc = hold_states(w);
    if (rc < 0)
        return rc;
    count_whole(w, w->out->prompt);
    w->out->prompt_ns = median_of(ns, PROMPT_RUNS, scratch);
    w->out->prompt_runs = 1;
    w->out->parameter_bytes = as_engine_memory(w->engine)->of[AS_MEM_PARAMETERS].current_bytes;
    return ASSAY_OK;
}

/* ---- steps ---- */

/* Where time and memory of the last step go, in runs that are not timed. */
static int look_inside(struct walking *w)
{
    struct as_step_sample *samples =
        as_alloc_zero(as_engine_n_steps(w->engine) + 1, sizeof *samples);
    struct as_engine_plan plan;
    uint64_t from;
    int rc = samples ? ASSAY_OK : as_fail_nomem(w->err);

    as_engine_plan(w->engine, &plan);
    for (int i = 0; i < WARM_RUNS && rc == ASSAY_OK; i++) {
        from = as_clock_mono_ns();
        rc = as_engine_run(w->engine, AS_RUN_PROFILE, samples, w->err);
        w->out->profiled_ns = (double)(as_clock_mono_ns() - from);
    }
    as_free(samples);
    if (rc == ASSAY_OK && plan.n_dynamic > 0)
        w->out->shapes_ns = (double)as_engine_shapes_ns(w->engine);
    as_engine_reset_peaks(w->engine);
    if (rc == ASSAY_OK)
        rc = as_engine_run(w->engine, AS_RUN_MEMORY, NULL, w->err);
    if (rc < 0)
        return rc;
    w->out->peak_bytes = as_engine_memory(w->engine)->all.peak_bytes;
    w->out->peak_cache_bytes = as_engine_memory(w->engine)->of[AS_MEM_KV_CACHE].peak_bytes;
    w->out->parameter_bytes = as_engine_memory(w->engine)->of[AS_MEM_PARAMETERS].current_bytes;
    return as_engine_run(w->engine, AS_RUN_PLAIN, NULL, w->err); /* as if nobody had looked */
}

/* Of the last step it is looked inside before its state is handed on: there may be no room for one
 * more token. */
static int one_step(struct walking *w, const struct as_token_place *at, bool is_last,
                    struct as_token_step *step)
{
    unsigned repeats = w->o->repeats ? w->o->repeats : 1;
    int rc = as_token_inputs_fill(&w->in, w->engine, at, false, w->err);
    uint64_t from;

    repeats = repeats < MAX_REPEATS ? repeats : MAX_REPEATS;
    for (unsigned i = 0; i < repeats && rc == ASSAY_OK; i++)
        rc = timed_run(w, &w->samples[i]);
    if (rc == ASSAY_OK && is_last)
        rc = look_inside(w);
    if (rc < 0)
        return rc;
    from = as_clock_mono_ns();
    rc = as_engine_loop(w->engine, w->err);
    step->context = at->past + at->n;
    step->ns = median_of(w->samples, repeats, w->samples + MAX_REPEATS) +
               (double)(as_clock_mono_ns() - from);
    step->cache_bytes = as_engine_memory(w->engine)->of[AS_MEM_KV_CACHE].current_bytes;
    return rc;
}

/* `n` steps, each `each` tokens further than the one before: 0 stays where it is. */
static int walk(struct walking *w, const struct as_token_place *first, int64_t n, int64_t each)
{
    double unused;
    int rc = ASSAY_OK;

    for (int i = 0; i < WARM_RUNS && rc == ASSAY_OK; i++)
        rc = timed_run(w, &unused);
    for (int64_t i = 0; i < n && rc == ASSAY_OK; i++) {
        struct as_token_place at = {first->batch, first->past + i * each, first->n};

        rc = one_step(w, &at, i == n - 1, &w->out->steps[w->out->n_steps]);
        w->out->n_steps += rc == ASSAY_OK;
    }
    return rc;
}

/* Tokens of a prompt one by one, when the file takes no more at once. */
static int prompt_by_token(struct walking *w)
{
    struct as_token_step step = {0};
    double sum = 0;
    int rc = ASSAY_OK;

    for (int64_t i = 0; i < w->out->prompt && rc == ASSAY_OK; i++) {
        struct as_token_place at = {w->out->batch, i, 1};

        rc = one_step(w, &at, false, &step);
        sum += step.ns;
        w->out->prompt_runs++;
    }
    w->out->prompt_ns = sum;
    return rc;
}

static int run_cached(struct walking *w)
{
    struct as_token_place first = {w->out->batch, 0, 1};
    struct as_engine_options options = options_of(w);
    bool at_once = w->in.fixed_n == 0;
    int rc = at_once ? run_prompt(w) : ASSAY_OK;

    close_engine(w);
    if (rc == ASSAY_OK)
        rc = as_token_inputs_sizes(&w->in, &first, true, &options.infer, w->err);
    if (rc == ASSAY_OK)
        rc = open_engine(w, &options, &first);
    if (rc == ASSAY_OK)
        rc = as_token_inputs_begin(&w->in, w->engine, 0, w->err);
    if (rc == ASSAY_OK)
        rc = at_once ? hand_over(w) : prompt_by_token(w);
    first.past = w->out->prompt;
    if (rc == ASSAY_OK)
        rc = as_token_inputs_fill(&w->in, w->engine, &first, false, w->err);
    if (rc == ASSAY_OK)
        rc = walk(w, &first, w->o->tokens, 1);
    return rc;
}

/* The context of a cache whose shape the file fixes: the longest axis of a state's output, where it
 * differs from the input. */
static int64_t fixed_context(const struct walking *w)
{
    const struct as_state_pairs *pairs = w->o->pairs;

    for (size_t i = 0; i < pairs->n; i++) {
        const struct as_type *in = &w->model->values[pairs->at[i].input_value].type,
                             *out = &w->model->values[pairs->at[i].output_value].type;

        for (int k = 0; k < in->rank && in->rank == out->rank; k++)
            if (in->dims[k] >= 0 && out->dims[k] > in->dims[k])
                return out->dims[k];
    }
    return 0;
}

/* One shape alone: the same run again and again; states that fit go round. */
static int run_fixed(struct walking *w)
{
    struct as_engine_options options = options_of(w);
    struct as_token_place at = {w->out->batch, 0, w->in.fixed_n ? w->in.fixed_n : 1};
    int64_t n = w->o->tokens;
    int rc = w->out->kind == AS_TOKENS_FIXED
                 ? as_token_inputs_sizes(&w->in, &at, false, &options.infer, w->err)
                 : ASSAY_OK;

    if (rc == ASSAY_OK)
        rc = as_engine_new(&w->engine, w->model, &options, w->err);
    if (rc < 0)
        return rc;
    if (w->out->kind == AS_TOKENS_FIXED) {
        int64_t context = fixed_context(w);

        at.past = context > at.n ? context - at.n : 0;
    }
    as_token_inputs_keep_states(&w->in);
    rc = as_token_inputs_fill(&w->in, w->engine, &at, true, w->err);
    if (rc == ASSAY_OK)
        rc = as_token_inputs_begin(&w->in, w->engine, 0, w->err);
    if (rc == ASSAY_OK && w->o->fill)
        rc = w->o->fill(w->o->user, w->engine, w->err);
    return rc < 0 ? rc : walk(w, &at, n, w->out->kind == AS_TOKENS_STREAM);
}

/* ---- figures ---- */

static int sum_up(struct walking *w)
{
    struct as_token_run *out = w->out;
    size_t n = out->n_steps;
    double *ns = as_alloc_zero(n + 1, 3 * sizeof *ns), *context = ns ? ns + n + 1 : NULL;
    struct as_trend_line line;
    struct as_sorted sorted;
    int rc = ASSAY_OK;

    if (!ns)
        return as_fail_nomem(w->err);
    for (size_t i = 0; i < n; i++) {
        ns[i] = out->steps[i].ns;
        context[i] = (double)out->steps[i].context;
    }
    if (n >= 3 && out->kind == AS_TOKENS_CACHED) {
        rc = as_trend_line(&line, context, ns, n, w->err);
        out->slope_ns = rc == ASSAY_OK ? line.slope : AS_UNKNOWN;
    }
    if (n > 0) {
        int64_t each = out->kind == AS_TOKENS_FIXED && w->in.fixed_n ? w->in.fixed_n : 1;

        out->first_ns = ns[0];
        out->last_ns = ns[n - 1];
        as_sort_f64(ns, n, ns + 2 * (n + 1));
        sorted = as_sorted_f64(ns, n);
        out->median_ns = as_sorted_median(&sorted);
        out->p95_ns = as_quantile_supported(sorted.n, 95)
                          ? as_quantile_at(&sorted, 95, AS_QUANTILE_LINEAR)
                          : AS_UNKNOWN;
        out->tokens_per_s = (double)(out->batch * each) * 1e9 / out->median_ns;
    }
    if (out->prompt_ns > 0)
        out->prompt_tokens_per_s = (double)(out->prompt * out->batch) * 1e9 / out->prompt_ns;
    as_free(ns);
    return rc;
}

static void find_formula(struct walking *w)
{
    const struct as_state_pairs *pairs = w->o->pairs;

    if (w->out->n_steps == 0 || pairs->n == 0 || w->out->kind != AS_TOKENS_CACHED)
        return;
    w->out->formula_bytes =
        as_token_cache_bytes(&w->decoder, w->out->steps[w->out->n_steps - 1].context, w->out->batch,
                             as_declared_type(&w->model->values[pairs->at[0].input_value])->dtype);
}

/* ---- the whole ---- */

/* What the file says of the decoder, and where it does not, what its attention does. */
static int learn_decoder(struct walking *w)
{
    struct as_costs *costs = NULL;
    int rc = as_costs_new(&costs, w->model, w->err);

    if (rc == ASSAY_OK)
        w->decoder = costs->decoder;
    as_costs_free(costs);
    return rc;
}

static enum as_token_kind kind_of(const struct walking *w)
{
    const struct as_state_pairs *pairs = w->o->pairs;
    bool grows = false;

    if (w->in.ids == AS_NONE)
        return AS_TOKENS_STREAM;
    if (pairs->n == 0)
        return AS_TOKENS_WHOLE;
    for (size_t i = 0; i < pairs->n; i++)
        grows = grows || pairs->at[i].growing;
    return grows || w->in.fixed_n > 1 ? AS_TOKENS_FIXED : AS_TOKENS_CACHED;
}

static int begin(struct walking *w)
{
    struct as_token_run *out = w->out;
    struct as_infer_options infer;
    struct as_token_place at;
    int rc = as_token_inputs_init(&w->in, w->model, w->o->pairs, w->err);

    if (rc < 0)
        return rc;
    w->in.seed = w->o->seed;
    out->kind = kind_of(w);
    if (out->kind == AS_TOKENS_CACHED)
        rc = as_token_inputs_release(&w->in, &w->base.infer, w->err);
    if (rc < 0)
        return rc;
    infer = w->base.infer;
    if (out->kind == AS_TOKENS_STREAM && w->o->pairs->n_loops == 0)
        return as_fail(w->err, ASSAY_ERR_USAGE,
                       "the model has no token input and no state carried between inferences");
    out->batch = w->in.fixed_batch ? w->in.fixed_batch : w->o->batch ? w->o->batch : 1;
    out->prompt = w->o->prompt;
    if (out->kind == AS_TOKENS_WHOLE && w->in.fixed_n)
        out->prompt = w->in.fixed_n;
    at = (struct as_token_place){out->batch, 0, w->in.fixed_n ? w->in.fixed_n : out->prompt};
    if (out->kind != AS_TOKENS_STREAM)
        rc = as_token_inputs_sizes(&w->in, &at, false, &infer, w->err);
    if (rc == ASSAY_OK)
        rc = as_infer_shapes(w->model, &infer, NULL, w->err);
    if (rc == ASSAY_OK)
        as_token_inputs_keep_states(&w->in);
    return rc < 0 ? rc : learn_decoder(w);
}

static int run_kind(struct walking *w)
{
    if (w->out->kind == AS_TOKENS_WHOLE)
        return run_prompt(w);
    return w->out->kind == AS_TOKENS_CACHED ? run_cached(w) : run_fixed(w);
}

/* With just these numbers of tokens. */
static int run_with(struct as_token_run *out, struct as_model *model,
                    const struct as_token_options *options, struct assay_error *err)
{
    struct walking w = {
        .o = options, .out = out, .model = model, .base = options->engine, .err = err};
    int rc;

    *out = (struct as_token_run){.prompt_ns = AS_UNKNOWN,
                                 .prompt_tokens_per_s = AS_UNKNOWN,
                                 .median_ns = AS_UNKNOWN,
                                 .p95_ns = AS_UNKNOWN,
                                 .first_ns = AS_UNKNOWN,
                                 .last_ns = AS_UNKNOWN,
                                 .slope_ns = AS_UNKNOWN,
                                 .tokens_per_s = AS_UNKNOWN,
                                 .shapes_ns = AS_UNKNOWN};
    out->steps = as_alloc_zero((size_t)options->tokens, sizeof *out->steps);
    w.held = as_alloc_zero(options->pairs->n_loops + 1, sizeof *w.held);
    w.samples = as_alloc_zero((size_t)2 * MAX_REPEATS, sizeof *w.samples);
    rc = out->steps && w.held && w.samples ? begin(&w) : as_fail_nomem(err);
    if (rc == ASSAY_OK)
        rc = run_kind(&w);
    if (rc == ASSAY_OK)
        rc = sum_up(&w);
    if (rc == ASSAY_OK)
        find_formula(&w);
    close_engine(&w);
    for (size_t i = 0; w.held && i < options->pairs->n_loops; i++)
        as_val_drop(&w.held[i]);
    as_token_inputs_fini(&w.in);
    as_free(w.held);
    as_free(w.samples);
    if (rc < 0)
        as_token_run_fini(out);
    return rc;
}

static bool halve(int64_t *n, bool given)
{
    if (given || *n <= 1)
        return false;
    *n /= 2;
    return true;
}

int as_token_run(struct as_token_run *out, struct as_model *model,
                 const struct as_token_options *options, struct assay_error *err)
{
    struct as_token_options o = *options;
    bool shortened = false, again;
    int rc;

    *out = (struct as_token_run){0};
    if (!model->has_graph || !model->main)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "there is no graph to run");
    if (o.tokens > 1 << 24 || o.prompt > 1 << 24)
        return as_fail(err, ASSAY_ERR_LIMIT, "more than %d tokens", 1 << 24);
    o.prompt = o.prompt > 0 ? o.prompt : AS_TOKEN_PROMPT;
    o.tokens = o.tokens > 0 ? o.tokens : AS_TOKEN_NEW;
    do {
        rc = run_with(out, model, &o, err);
        again = false;
        if (rc == ASSAY_ERR_FORMAT) {
            bool fewer = halve(&o.prompt, options->prompt > 0);

            again = halve(&o.tokens, options->tokens > 0) || fewer;
        }
        shortened = shortened || again;
    } while (again);
    out->shortened = rc == ASSAY_OK && shortened;
    if (out->shortened && err)
        *err = (struct assay_error){0};
    return rc;
}

void as_token_run_fini(struct as_token_run *run)
{
    as_free(run->steps);
    *run = (struct as_token_run){0};
}
