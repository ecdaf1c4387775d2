/* experiment/attention/attention_plan.c - the attention experiment as it was asked for: its
 * numbers, their limits, its settings, and how it is written down. */
#include "experiment/attention/attention_plan.h"

#include <math.h>
#include <stdio.h>

#include "base/text/float_text.h"
#include "base/units.h"

enum kind { WHOLE, REAL };

#define FIELD_W(name, least, most)                                                                 \
    {                                                                                              \
#name, WHOLE, offsetof(struct as_attention_plan, name), least, most                        \
    }
#define FIELD_R(name, least, most)                                                                 \
    {                                                                                              \
#name, REAL, offsetof(struct as_attention_plan, name), least, most                         \
    }

/* Every number of a plan but the two lists, with its limits. */
static const struct field {
    const char *name;
    enum kind kind;
    size_t at;
    double least, most;
} fields[] = {
    FIELD_W(seed, 0, 1.9e19),     FIELD_W(n_short, 0, 1000000), FIELD_W(n_long, 0, 1000000),
    FIELD_W(short_min, 1, 16384), FIELD_W(short_max, 1, 16384), FIELD_W(long_min, 1, 16384),
    FIELD_W(long_max, 1, 16384),  FIELD_W(dim, 1, 1024),        FIELD_W(heads, 1, 256),
    FIELD_W(kv_heads, 1, 256),    FIELD_W(steps, 1, 1000),      FIELD_W(refresh, 1, 1000),
    FIELD_W(gating, 0, 1),        FIELD_W(topics, 1, 1024),     FIELD_R(filler, 0, 0.95),
    FIELD_R(drift, 0, 10),        FIELD_R(eps, 1e-30, 1e30),    FIELD_R(quality, 0, 1),
};
#define N_FIELDS (AS_COUNT_OF(fields))

static uint64_t *whole_at(struct as_attention_plan *plan, const struct field *f)
{
    return (uint64_t *)(void *)((char *)plan + f->at);
}

static double *real_at(struct as_attention_plan *plan, const struct field *f)
{
    return (double *)(void *)((char *)plan + f->at);
}

void as_attention_plan_init(struct as_attention_plan *plan)
{
    *plan = (struct as_attention_plan){
        .seed = 42,
        .n_short = 500,
        .n_long = 500,
        .short_min = 16,
        .short_max = 128,
        .long_min = 256,
        .long_max = 1024,
        .dim = 64,
        .heads = 1,
        .kv_heads = 1,
        .steps = 4,
        .refresh = 1,
        .gating = ASSAY_GATING_HYSTERESIS,
        .topics = 8,
        .filler = 0.25,
        .drift = 0.3,
        .eps = 0.01,
        .quality = 0.99,
        .lambdas = {0.3, 0.5, 0.7},
        .taus = {0, 2},
        .n_lambdas = 3,
        .n_taus = 2,
    };
}

/* ---- limits ---- */

static int check_lists(const struct as_attention_plan *plan, struct assay_error *err)
{
    if (plan->n_lambdas == 0 || plan->n_taus == 0)
        return as_fail(err, ASSAY_ERR_USAGE, "lambda and tau need at least one value each");
    for (uint64_t i = 0; i < plan->n_lambdas; i++) {
        if (!(plan->lambdas[i] >= 0 && plan->lambdas[i] <= 1))
            return as_fail(err, ASSAY_ERR_USAGE, "lambda is a number from 0 to 1, not %g",
                           plan->lambdas[i]);
        for (uint64_t k = 0; k < i; k++)
            if ((float)plan->lambdas[k] == (float)plan->lambdas[i])
                return as_fail(err, ASSAY_ERR_USAGE, "lambda %g is given twice", plan->lambdas[i]);
    }
    for (uint64_t i = 0; i < plan->n_taus; i++) {
        if (!(plan->taus[i] >= 0 && plan->taus[i] <= 1000 && plan->taus[i] == floor(plan->taus[i])))
            return as_fail(err, ASSAY_ERR_USAGE, "tau is a whole number from 0 to 1000, not %g",
                           plan->taus[i]);
        for (uint64_t k = 0; k < i; k++)
            if (plan->taus[k] == plan->taus[i])
                return as_fail(err, ASSAY_ERR_USAGE, "tau %g is given twice", plan->taus[i]);
    }
    return ASSAY_OK;
}

int as_attention_plan_check(const struct as_attention_plan *given, struct assay_error *err)
{
    struct as_attention_plan plan = *given;

    for (size_t i = 0; i < N_FIELDS; i++) {
        const struct field *f = &fields[i];
        double value = f->kind == WHOLE ? (double)*whole_at(&plan, f) : *real_at(&plan, f);

        if (!(value >= f->least && value <= f->most))
            return as_fail(err, ASSAY_ERR_USAGE, "%s is from %g to %g, not %g", f->name, f->least,
                           f->most, value);
    }
    if (plan.n_short + plan.n_long == 0)
        return as_fail(err, ASSAY_ERR_USAGE, "at least one sample is needed");
    if (plan.short_min > plan.short_max || plan.long_min > plan.long_max)
        return as_fail(err, ASSAY_ERR_USAGE, "the shortest sample must not be above the longest");
    if (plan.heads % plan.kv_heads != 0)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "%llu heads cannot share %llu key heads: one must be a multiple of the "
                       "other",
                       (unsigned long long)plan.heads, (unsigned long long)plan.kv_heads);
    return check_lists(&plan, err);
}

/* ---- settings ---- */

int as_attention_plan_settings(const struct as_attention_plan *plan, struct as_bench *bench,
                               struct assay_error *err)
{
    int rc = as_bench_init(bench, "attention", 1 + plan->n_lambdas * plan->n_taus, err);
    size_t at = 1;

    if (rc < 0)
        return rc;
    bench->baseline = 0;
    bench->n_samples = plan->n_short + plan->n_long;
    (void)snprintf(bench->settings[0].name, AS_GRID_NAME, "softmax");
    for (uint64_t l = 0; l < plan->n_lambdas; l++)
        for (uint64_t t = 0; t < plan->n_taus; t++) {
            struct as_bench_setting *s = &bench->settings[at++];
            char lambda[AS_FLOAT_TEXT];
            size_t size = as_float_text32(lambda, (float)plan->lambdas[l]);

            if (size > 2 && strcmp(lambda + size - 2, ".0") == 0)
                lambda[size - 2] = '\0';
            s->lambda = plan->lambdas[l];
            s->tau = plan->taus[t];
            (void)snprintf(s->name, AS_GRID_NAME, "mincut_l%s_t%.0f", lambda, s->tau);
        }
    return ASSAY_OK;
}

/* ---- written down ---- */

static void put_list(struct as_json_writer *w, const char *key, const double *values, uint64_t n)
{
    as_json_kv_array(w, key);
    for (uint64_t i = 0; i < n; i++)
        as_json_f64(w, values[i]);
    as_json_array_end(w);
}

void as_attention_plan_write(const struct as_attention_plan *given, struct as_json_writer *w)
{
    struct as_attention_plan plan = *given;

    for (size_t i = 0; i < N_FIELDS; i++) {
        if (fields[i].kind == WHOLE)
            as_json_kv_u64(w, fields[i].name, *whole_at(&plan, &fields[i]));
        else
            as_json_kv_f64(w, fields[i].name, *real_at(&plan, &fields[i]));
    }
    as_json_kv_bool(w, "causal", plan.causal);
    put_list(w, "lambda", plan.lambdas, plan.n_lambdas);
    put_list(w, "tau", plan.taus, plan.n_taus);
}

static int read_list(const struct as_json_value *array, double *values, uint64_t *n)
{
    *n = 0;
    if (!array || array->type != AS_TYPE_ARRAY || array->n > AS_ATTENTION_LIST)
        return ASSAY_ERR_FORMAT;
    for (const struct as_json_value *v = array->first; v; v = v->next)
        values[(*n)++] = as_json_number(v);
    return ASSAY_OK;
}

int as_attention_plan_read(struct as_attention_plan *plan, const struct as_json_value *object,
                           struct assay_error *err)
{
    *plan = (struct as_attention_plan){.causal = as_json_is_true(as_json_get(object, "causal"))};
    for (size_t i = 0; i < N_FIELDS; i++) {
        const struct field *f = &fields[i];
        const struct as_json_value *value = as_json_get(object, f->name);

        if (!value || value->type != AS_TYPE_NUMBER ||
            (f->kind == WHOLE && !as_json_whole(value, whole_at(plan, f))))
            return as_fail(err, ASSAY_ERR_FORMAT, "the plan has no number %s", f->name);
        if (f->kind == REAL)
            *real_at(plan, f) = as_json_number(value);
    }
    if (read_list(as_json_get(object, "lambda"), plan->lambdas, &plan->n_lambdas) < 0 ||
        read_list(as_json_get(object, "tau"), plan->taus, &plan->n_taus) < 0)
        return as_fail(err, ASSAY_ERR_FORMAT, "the plan has no list of lambda and tau");
    return as_attention_plan_check(plan, err) < 0 ? ASSAY_ERR_FORMAT : ASSAY_OK;
}

int as_attention_config_hash(const struct as_attention_plan *given,
                             const struct as_bench_setting *setting, char hex[ASSAY_HASH_HEX],
                             struct assay_error *err)
{
    struct as_attention_plan plan = *given;
    struct assay_fingerprint *fp = NULL;
    int rc = assay_fingerprint_new(&fp, NULL, err);

    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_text(fp, "workload", "attention", ASSAY_FACT_DECIDES, err);
    for (size_t i = 0; rc == ASSAY_OK && i < N_FIELDS; i++) {
        const struct field *f = &fields[i];

        /* Samples do not depend on each other, but which are short or long depends on both. */
        rc = f->kind == WHOLE ? assay_fingerprint_set_u64(fp, f->name, *whole_at(&plan, f),
                                                          ASSAY_FACT_DECIDES, err)
                              : assay_fingerprint_set_f64(fp, f->name, *real_at(&plan, f),
                                                          ASSAY_FACT_DECIDES, err);
    }
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_u64(fp, "causal", plan.causal, ASSAY_FACT_DECIDES, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_text(fp, "setting", setting->name, ASSAY_FACT_DECIDES, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_hash(fp, ASSAY_FINGERPRINT_DECIDING, hex, err);
    assay_fingerprint_free(fp);
    return rc;
}
