/* cmd/bench/bench_options.c - the attention experiment from the options of `assay bench`. */
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "cmd/bench/bench_work.h"

int as_bench_number_list(const char *option, const char *text, double *out, uint64_t *n,
                         struct assay_error *err)
{
    *n = 0;
    for (const char *at = text + strspn(text, " ,"); *at; at += strspn(at, " ,")) {
        size_t size = strcspn(at, " ,");

        if (*n == AS_ATTENTION_LIST)
            return as_fail(err, ASSAY_ERR_USAGE, "--%s takes at most %d numbers", option,
                           AS_ATTENTION_LIST);
        if (!as_parse_f64(at, size, &out[*n]))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "--%s is a list of numbers as in \"0.3 0.5 0.7\", not '%.60s'", option,
                           text);
        (*n)++;
        at += size;
    }
    return *n ? ASSAY_OK : as_fail(err, ASSAY_ERR_USAGE, "--%s needs at least one number", option);
}

static int read_real(const struct as_cmd_line *line, const char *option, double *out,
                     struct assay_error *err)
{
    const char *text = as_opt_text(line, option);

    if (!text || as_parse_f64(text, strlen(text), out))
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_USAGE, "--%s is a number, not '%.40s'", option, text);
}

static int read_samples(const struct as_cmd_line *line, struct as_attention_plan *plan,
                        struct assay_error *err)
{
    uint64_t samples = as_opt_number(line, "iterations", plan->n_short + plan->n_long);
    bool shorts = as_opt_given(line, "short-samples"), longs = as_opt_given(line, "long-samples");

    if (as_opt_given(line, "iterations") && shorts && longs)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "choose two of --iterations, --short-samples and --long-samples");
    if (!as_opt_given(line, "iterations") && (shorts || longs))
        samples = as_opt_number(line, "short-samples", 0) + as_opt_number(line, "long-samples", 0);
    plan->n_short = as_opt_number(line, "short-samples", samples / 2);
    if (longs && !shorts)
        plan->n_short = samples - as_opt_number(line, "long-samples", 0);
    plan->n_long = samples - plan->n_short;
    if (plan->n_short > samples)
        return as_fail(err, ASSAY_ERR_USAGE, "short and long samples together cannot exceed %llu",
                       (unsigned long long)samples);
    return ASSAY_OK;
}

int as_bench_attention_options(const struct as_cmd_line *line, struct as_attention_plan *plan,
                               struct assay_error *err)
{
    static const struct {
        const char *option;
        size_t at;
    } whole[] = {
        {"seed", offsetof(struct as_attention_plan, seed)},
        {"short-min-len", offsetof(struct as_attention_plan, short_min)},
        {"short-max-len", offsetof(struct as_attention_plan, short_max)},
        {"long-min-len", offsetof(struct as_attention_plan, long_min)},
        {"long-max-len", offsetof(struct as_attention_plan, long_max)},
        {"head-dim", offsetof(struct as_attention_plan, dim)},
        {"heads", offsetof(struct as_attention_plan, heads)},
        {"steps", offsetof(struct as_attention_plan, steps)},
        {"refresh", offsetof(struct as_attention_plan, refresh)},
        {"topics", offsetof(struct as_attention_plan, topics)},
    };
    const char *lambda = as_opt_text(line, "lambda"), *tau = as_opt_text(line, "tau");
    int rc = read_samples(line, plan, err);

    for (size_t i = 0; i < AS_COUNT_OF(whole); i++) {
        uint64_t *value = (uint64_t *)(void *)((char *)plan + whole[i].at);

        *value = as_opt_number(line, whole[i].option, *value);
    }
    /* A shorter limit alone means what it says. */
    if (!as_opt_given(line, "short-min-len") && plan->short_min > plan->short_max)
        plan->short_min = plan->short_max;
    if (!as_opt_given(line, "long-min-len") && plan->long_min > plan->long_max)
        plan->long_min = plan->long_max;
    plan->kv_heads = as_opt_number(line, "kv-heads", plan->heads);
    plan->causal = as_opt_given(line, "causal");
    plan->gating = (uint64_t)as_opt_word(line, "gating", (int)plan->gating);
    if (rc == ASSAY_OK)
        rc = read_real(line, "eps", &plan->eps, err);
    if (rc == ASSAY_OK)
        rc = read_real(line, "filler", &plan->filler, err);
    if (rc == ASSAY_OK)
        rc = read_real(line, "drift", &plan->drift, err);
    if (rc == ASSAY_OK)
        rc = read_real(line, "quality", &plan->quality, err);
    if (rc == ASSAY_OK && lambda)
        rc = as_bench_number_list("lambda", lambda, plan->lambdas, &plan->n_lambdas, err);
    if (rc == ASSAY_OK && tau)
        rc = as_bench_number_list("tau", tau, plan->taus, &plan->n_taus, err);
    return rc == ASSAY_OK ? as_attention_plan_check(plan, err) : rc;
}
