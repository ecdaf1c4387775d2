/* model/memory/fit.c - the largest batch, context or dimension that a given memory holds.
 * A straight line through two sizes usually says where to look; halving makes sure of the end. */
#include "model/memory/fit.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "model/memory/memory_plan.h"

enum { DEFAULT_MAX = 1 << 20, DEFAULT_KV_BITS = 16, MAX_PROBES = 160 };

/* One size and what it needs; UINT64_MAX: the model cannot work with it. */
struct probe {
    uint64_t at, bytes;
    bool past_context; /* that is why it cannot */
};

struct fitting {
    struct as_model *model;
    const struct as_infer_options *base;
    const struct as_fit_question *question;
    struct as_fit_answer *out;
    struct as_infer_dim *dims; /* those of `base` and, last, the one to find */
    size_t n_dims;
    uint64_t max;
    bool within_context; /* at size 1, so that a size past it is one too many */
};

static uint64_t sum_u64(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return as_add_u64(a, b, &sum) ? sum : UINT64_MAX;
}

static uint64_t kv_bytes(const struct fitting *f, const struct as_costs *costs, uint64_t tokens)
{
    unsigned bits = f->question->kv_bits ? f->question->kv_bits : DEFAULT_KV_BITS;
    uint64_t bytes = as_kv_bytes_per_token(&costs->decoder, bits);

    if (bytes == UINT64_MAX || !as_mul_u64(bytes, costs->batch ? costs->batch : 1, &bytes) ||
        !as_mul_u64(bytes, tokens, &bytes))
        return UINT64_MAX;
    return bytes;
}

static uint64_t constant_bytes(const struct as_params *params)
{
    uint64_t sum = 0;

    for (int role = 0; role < AS_ROLE_COUNT; role++)
        if (role != AS_ROLE_UNUSED)
            sum = sum_u64(sum, params->by_role[role].bytes);
    return sum;
}

/* What the model needs as it is inferred now, without a cache. */
static int count_bytes(struct fitting *f, const struct as_costs *costs, uint64_t *bytes,
                       struct assay_error *err)
{
    struct as_memory_plan *plan = NULL;
    struct as_params *params = NULL;
    struct as_train_memory train;
    int rc = as_params_new(&params, f->model, false, err);

    if (rc == ASSAY_OK && f->question->training) {
        rc = as_train_memory_count(&train, f->model, costs, params, &f->question->train, err);
        *bytes = train.peak_bytes;
        f->out->exact &= rc < 0 || train.exact;
    } else if (rc == ASSAY_OK) {
        rc = as_memory_plan_new(&plan, f->model, costs, err);
        if (rc == ASSAY_OK) {
            *bytes = sum_u64(constant_bytes(params), plan->arena_bytes);
            f->out->exact &= plan->n_unknown == 0;
        }
    }
    as_memory_plan_free(plan);
    as_params_free(params);
    return rc;
}

static int infer_at(struct fitting *f, uint64_t at, struct assay_error *err)
{
    struct as_infer_options options = *f->base;

    f->out->probes++;
    if (f->question->what == AS_FIT_BATCH) {
        options.batch = (int64_t)at;
    } else if (f->dims) {
        f->dims[f->n_dims - 1].value = (int64_t)at;
        options.dims = f->dims;
        options.n_dims = f->n_dims;
    }
    return as_infer_shapes(f->model, &options, NULL, err);
}

/* A text longer than the context asks for positions that the decoder does not have; a lookup in
 * their table is no matter of shapes, so inference cannot see it. */
static bool past_context(const struct as_costs *costs)
{
    uint64_t context = costs->decoder.context;

    for (size_t i = 0; context > 0 && i < costs->n_attentions; i++)
        if (costs->attentions[i].queries > context || costs->attentions[i].keys > context)
            return true;
    return false;
}

/* Fails for good only where a smaller size would as well. */
static int probe(struct fitting *f, uint64_t at, struct probe *out, struct assay_error *err)
{
    struct as_costs *costs = NULL;
    int rc = infer_at(f, at, err);

    *out = (struct probe){at, UINT64_MAX, false};
    if (rc == ASSAY_OK)
        rc = as_costs_new(&costs, f->model, err);
    if (rc == ASSAY_OK)
        rc = count_bytes(f, costs, &out->bytes, err);
    if (rc == ASSAY_OK && costs && f->question->what == AS_FIT_CONTEXT)
        out->bytes = sum_u64(out->bytes, kv_bytes(f, costs, at));
    if (rc == ASSAY_OK && costs)
        out->past_context = past_context(costs);
    if (at == 1)
        f->within_context = f->question->what != AS_FIT_BATCH && !out->past_context;
    else if (f->within_context && out->past_context)
        out->bytes = UINT64_MAX;
    as_costs_free(costs);
    if (at > 1 && rc < 0 && rc != ASSAY_ERR_NOMEM) {
        out->bytes = UINT64_MAX;
        return ASSAY_OK;
    }
    return rc;
}

/* Where the line through two sizes meets the memory; 0 when it never does. */
static uint64_t along(const struct probe *a, const struct probe *b, uint64_t memory)
{
    double slope, at;

    if (a->at >= b->at || b->bytes == UINT64_MAX || b->bytes <= a->bytes || memory < a->bytes)
        return 0;
    slope = (double)(b->bytes - a->bytes) / (double)(b->at - a->at);
    at = (double)a->at + (double)(memory - a->bytes) / slope;
    return at < 9e18 ? (uint64_t)at : UINT64_MAX;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* `fits` does and `fails` does not; at->0 of `fails`: none that fails is known yet. */
static uint64_t next_size(const struct fitting *f, const struct probe *one,
                          const struct probe *fits, const struct probe *fails, bool halve)
{
    uint64_t memory = f->question->memory_bytes, guess;

    if (fails->at == 0) {
        uint64_t twice = fits->at > f->max / 2 ? f->max : fits->at * 2;

        return clamp(along(one, fits, memory), twice, f->max);
    }
    guess = halve ? 0 : along(fits, fails, memory);
    if (guess == 0)
        guess = fits->at + (fails->at - fits->at) / 2;
    return clamp(guess, fits->at + 1, fails->at - 1);
}

static int search(struct fitting *f, struct assay_error *err)
{
    uint64_t memory = f->question->memory_bytes;
    struct probe one, fits, fails = {0}, now;
    int rc = probe(f, 1, &one, err);

    if (rc < 0)
        return rc;
    f->out->bytes_at_one = one.bytes;
    if (one.bytes > memory)
        return ASSAY_OK;
    fits = one;
    for (unsigned i = 0; fits.at < f->max && (fails.at == 0 || fits.at + 1 < fails.at); i++) {
        if (i == MAX_PROBES)
            return as_fail(err, ASSAY_ERR_LIMIT, "no end was found after %d sizes", MAX_PROBES);
        rc = probe(f, next_size(f, &one, &fits, &fails, i % 2 == 1), &now, err);
        if (rc < 0)
            return rc;
        if (now.bytes <= memory)
            fits = now;
        else
            fails = now;
    }
    f->out->value = fits.at;
    f->out->bytes = fits.bytes;
    f->out->at_max = fits.at == f->max;
    f->out->at_context = f->within_context && fails.past_context && !f->out->at_max;
    return ASSAY_OK;
}

/* The cache alone grows, so the answer is a division. */
static int fit_cache(struct fitting *f, struct assay_error *err)
{
    uint64_t memory = f->question->memory_bytes, rest = 0, each;
    struct as_costs *costs = NULL;
    int rc = as_infer_shapes(f->model, f->base, NULL, err);

    f->out->probes++;
    if (rc == ASSAY_OK)
        rc = as_costs_new(&costs, f->model, err);
    if (rc == ASSAY_OK)
        rc = count_bytes(f, costs, &rest, err);
    if (rc < 0 || !costs)
        goto out;
    each = kv_bytes(f, costs, 1);
    if (each == 0) {
        rc = as_fail(err, ASSAY_ERR_NOTFOUND,
                     "no key and value cache is known of this model; name the dimension instead");
        goto out;
    }
    f->out->bytes_at_one = sum_u64(rest, each);
    if (rest <= memory)
        f->out->value = (memory - rest) / each;
    if (f->out->value >= f->max) {
        f->out->value = f->max;
        f->out->at_max = true;
    }
    if (costs->decoder.context > 0 && f->out->value >= costs->decoder.context) {
        f->out->value = costs->decoder.context;
        f->out->at_max = false;
        f->out->at_context = true;
    }
    if (f->out->value > 0) /* at most `memory`, so nothing wraps */
        f->out->bytes = rest + f->out->value * each;
out:
    as_costs_free(costs);
    return rc;
}

static int take_dims(struct fitting *f, struct assay_error *err)
{
    const char *symbol = f->question->symbol;

    if (f->question->what == AS_FIT_BATCH)
        return ASSAY_OK;
    if (!symbol)
        return as_fail(err, ASSAY_ERR_USAGE, "the dimension to fit has no name");
    f->dims = as_alloc_zero(f->base->n_dims + 1, sizeof *f->dims);
    if (!f->dims)
        return as_fail_nomem(err);
    for (size_t i = 0; i < f->base->n_dims; i++)
        if (strcmp(f->base->dims[i].symbol, symbol) != 0)
            f->dims[f->n_dims++] = f->base->dims[i];
    f->dims[f->n_dims++] = (struct as_infer_dim){symbol, 1};
    return ASSAY_OK;
}

static bool has_nodes(const struct as_model *model)
{
    return model->main && model->main->n_nodes > 0;
}

int as_fit(struct as_fit_answer *out, struct as_model *model, const struct as_infer_options *base,
           const struct as_fit_question *question, struct assay_error *err)
{
    static const struct as_infer_options none;
    struct fitting f = {
        .model = model, .base = base ? base : &none, .question = question, .out = out};
    int rc, back;

    *out = (struct as_fit_answer){.exact = true};
    f.max = question->max ? question->max : DEFAULT_MAX;
    if (f.max > INT64_MAX)
        f.max = INT64_MAX;
    if (!model->has_graph && !has_nodes(model) &&
        (question->what != AS_FIT_CONTEXT || question->symbol))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "the file holds weights only, so nothing is known of how memory grows with "
                       "%s%s",
                       question->what == AS_FIT_BATCH ? "the batch" : "dimension ",
                       question->what != AS_FIT_BATCH && question->symbol ? question->symbol : "");
    if (question->what == AS_FIT_CONTEXT && !question->symbol)
        return fit_cache(&f, err);
    rc = take_dims(&f, err);
    if (rc == ASSAY_OK) {
        rc = search(&f, err);
        back = as_infer_shapes(model, f.base, NULL, rc < 0 ? NULL : err);
        rc = rc < 0 ? rc : back;
    }
    as_free(f.dims);
    return rc;
}
