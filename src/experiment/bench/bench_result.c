/* experiment/bench/bench_result.c - what an experiment says: each setting's figures with their
 * intervals, what it saves beside the baseline, and which success criteria it meets. */
#include "experiment/bench/bench_result.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/units.h"
#include "stats/inference/interval.h"
#include "stats/inference/welch.h"

#define LEVEL 0.95

static const struct as_bench_estimate unknown = {AS_UNKNOWN, AS_UNKNOWN, AS_UNKNOWN, 0};

/* ---- estimates ---- */

/* One value of a sample; NaN: unknown. */
typedef double (*value_of)(const struct as_bench_sample *sample);

static double whole(uint64_t value)
{
    return value == AS_BENCH_UNKNOWN ? AS_UNKNOWN : (double)value;
}

static double wall(const struct as_bench_sample *s)
{
    return whole(s->wall_ns);
}
static double kernel(const struct as_bench_sample *s)
{
    return whole(s->kernel_ns);
}
static double user_time(const struct as_bench_sample *s)
{
    return whole(s->user_ns);
}
static double system_time(const struct as_bench_sample *s)
{
    return whole(s->system_ns);
}
static double decide(const struct as_bench_sample *s)
{
    return whole(s->decide_ns);
}
static double memory(const struct as_bench_sample *s)
{
    return whole(s->peak_mem_bytes);
}
static double energy(const struct as_bench_sample *s)
{
    return s->energy_j;
}
static double coherence(const struct as_bench_sample *s)
{
    return s->coherence_delta;
}
static double passes(const struct as_bench_sample *s)
{
    return whole(s->passes);
}
static double contradicts(const struct as_bench_sample *s)
{
    return whole(s->contradicts);
}
static double max_abs(const struct as_bench_sample *s)
{
    return s->max_abs;
}
static double kept_positions(const struct as_bench_sample *s)
{
    return whole(s->positions_kept);
}
static double all_positions(const struct as_bench_sample *s)
{
    return whole(s->positions_total);
}
static double kept_edges(const struct as_bench_sample *s)
{
    return whole(s->edges_kept);
}
static double cuts(const struct as_bench_sample *s)
{
    return whole(s->cuts);
}
static double decisions(const struct as_bench_sample *s)
{
    return whole(s->decisions);
}
static double all_edges(const struct as_bench_sample *s)
{
    return whole(s->edges_total);
}

/* Around `value`, by Student's distribution. */
static struct as_bench_estimate around(double value, double variance_of_mean, size_t n)
{
    struct as_bench_estimate e = {value, AS_UNKNOWN, AS_UNKNOWN, n};
    double half;

    if (n < 2 || !isfinite(variance_of_mean))
        return e;
    half = as_student_point(LEVEL, (double)n - 1) * sqrt(variance_of_mean);
    e.low = value - half;
    e.high = value + half;
    return e;
}

/* The mean of all samples; unknown when one of them is. */
static struct as_bench_estimate mean_of(const struct as_bench_setting *s, value_of value)
{
    double sum = 0, mean, squares = 0;

    if (s->n == 0)
        return unknown;
    for (size_t i = 0; i < s->n; i++)
        sum += value(&s->samples[i]);
    mean = sum / (double)s->n; /* 99 of 100 is 0.99 and no digit less */
    if (!isfinite(mean))
        return unknown;
    for (size_t i = 0; i < s->n; i++) {
        double off = value(&s->samples[i]) - mean;

        squares += off * off;
    }
    return around(mean, squares / (double)(s->n - (s->n > 1)) / (double)s->n, s->n);
}

static double greatest(const struct as_bench_setting *s, value_of value)
{
    double most = AS_UNKNOWN;

    for (size_t i = 0; i < s->n; i++) {
        double x = value(&s->samples[i]);

        if (!isfinite(x))
            return AS_UNKNOWN;
        most = i == 0 || x > most ? x : most;
    }
    return most;
}

/* A share of sums, top over bottom, sample by sample; its spread by the usual linear approximation
 * of a ratio. `bottom` may be of another setting: samples with the same number belong together. */
static struct as_bench_estimate share_of(const struct as_bench_setting *top, value_of top_value,
                                         const struct as_bench_setting *bottom,
                                         value_of bottom_value)
{
    size_t n = top->n < bottom->n ? top->n : bottom->n;
    double above = 0, below = 0, squares = 0, share;

    for (size_t i = 0; i < n; i++) {
        above += top_value(&top->samples[i]);
        below += bottom_value(&bottom->samples[i]);
    }
    share = above / below;
    if (n == 0 || !isfinite(share))
        return unknown;
    for (size_t i = 0; i < n; i++) {
        double off = top_value(&top->samples[i]) - share * bottom_value(&bottom->samples[i]);

        squares += off * off;
    }
    below /= (double)n;
    return around(share, n > 1 ? squares / (double)(n - 1) / (double)n / (below * below) : 0, n);
}

static struct as_bench_estimate scaled(struct as_bench_estimate e, double factor)
{
    return (struct as_bench_estimate){e.value * factor, e.low * factor, e.high * factor, e.n};
}

/* A part of a whole is from 0 to 1, and so is its interval: Student's knows nothing of that. */
static struct as_bench_estimate within_whole(struct as_bench_estimate share)
{
    if (share.low < 0)
        share.low = 0;
    if (share.high > 1)
        share.high = 1;
    return share;
}

/* 1 - share: what is saved. */
static struct as_bench_estimate saved(struct as_bench_estimate share)
{
    return (struct as_bench_estimate){1 - share.value, 1 - share.high, 1 - share.low, share.n};
}

/* Geometric mean of ratios, and how likely such a mean is when there is no difference. */
static struct as_bench_estimate ratio_of(const struct as_bench_setting *s,
                                         const struct as_bench_setting *base, double *p,
                                         double *log_sd)
{
    size_t n = s->n < base->n ? s->n : base->n;
    double mean = 0, squares = 0, variance;
    struct as_bench_estimate e;

    *p = *log_sd = AS_UNKNOWN;
    for (size_t i = 0; i < n; i++) {
        double x = log(wall(&s->samples[i]) / s->items / (wall(&base->samples[i]) / base->items));
        double step = x - mean;

        mean += step / (double)(i + 1);
        squares += step * (x - mean);
    }
    if (n == 0 || !isfinite(mean))
        return unknown;
    variance = squares / (double)(n - (n > 1)) / (double)n;
    e = around(mean, variance, n);
    if (n > 1)
        *log_sd = sqrt(variance * (double)n);
    if (n > 1 && variance > 0)
        *p = as_student_two_sided(mean / sqrt(variance), (double)n - 1);
    return (struct as_bench_estimate){exp(e.value), exp(e.low), exp(e.high), n};
}

/* Samples with which a paired test of level 5 % finds that ratio in 4 of 5 experiments, when the
 * logarithms of paired ratios spread by `log_sd`. */
static double samples_needed(double log_sd, double ratio)
{
    const double points = 1.960 + 0.842; /* of the normal distribution: 97.5 %, 80 % */
    double n = points * log_sd / log(ratio);

    return isfinite(n) ? ceil(fmax(n * n, 3)) : AS_UNKNOWN;
}

/* ---- a row ---- */

static int put_wall(struct as_bench_row *row, struct assay_error *err)
{
    const struct as_bench_setting *s = row->setting;
    double *times = as_alloc_zero(2 * s->n + 1, sizeof *times);
    struct as_interval interval;
    struct as_sorted sorted;
    int rc;

    if (!times)
        return as_fail_nomem(err);
    for (size_t i = 0; i < s->n; i++)
        times[i] = (double)s->samples[i].wall_ns;
    rc = as_summary_f64(&row->wall, times, s->n, times + s->n, AS_QUANTILE_NEAREST_RANK, err);
    row->median_ns = unknown;
    if (rc == ASSAY_OK && s->n > 0) {
        sorted = as_sorted_f64(times, s->n);
        rc = as_interval_median(&interval, &sorted, LEVEL, err);
        row->median_ns = (struct as_bench_estimate){row->wall.median, AS_UNKNOWN, AS_UNKNOWN, s->n};
        if (rc == ASSAY_OK && interval.reached) {
            row->median_ns.low = interval.low;
            row->median_ns.high = interval.high;
        }
    }
    row->item_ns = scaled(row->median_ns, 1 / s->items);
    as_free(times);
    return rc;
}

static void put_outputs(struct as_bench_row *row, const struct as_bench_setting *base)
{
    const struct as_bench_setting *s = row->setting;
    size_t n = s->n < base->n ? s->n : base->n;

    row->outputs_known = n > 0 && s->items == base->items;
    row->same_outputs = true;
    for (size_t i = 0; i < n; i++) {
        const char *mine = s->samples[i].output_hash, *theirs = base->samples[i].output_hash;

        row->outputs_known = row->outputs_known && mine[0] && theirs[0];
        row->same_outputs = row->same_outputs && strcmp(mine, theirs) == 0;
    }
    row->same_outputs = row->same_outputs && row->outputs_known;
}

static void put_savings(struct as_bench_row *row, const struct as_bench_setting *base,
                        double base_p95)
{
    const struct as_bench_setting *s = row->setting;
    double factor = base ? base->items / s->items : 1;

    row->kv_cache_reduction = saved(within_whole(share_of(s, kept_positions, s, all_positions)));
    row->peak_mem_reduction = row->energy_reduction = row->latency_reduction = unknown;
    row->time_ratio = unknown;
    row->p = row->p95_change = row->ratio_log_sd = row->samples_for_10 = AS_UNKNOWN;
    if (!base)
        return;
    row->peak_mem_reduction = saved(share_of(s, memory, base, memory));
    row->energy_reduction = saved(scaled(share_of(s, energy, base, energy), factor));
    row->latency_reduction = saved(scaled(share_of(s, wall, base, wall), factor));
    row->time_ratio = ratio_of(s, base, &row->p, &row->ratio_log_sd);
    row->samples_for_10 = samples_needed(row->ratio_log_sd, 1.1);
    row->p95_change = row->wall.percentile[AS_SUMMARY_P95] / base_p95 - 1;
    put_outputs(row, base);
}

static void put_figures(struct as_bench_row *row)
{
    const struct as_bench_setting *s = row->setting;

    row->decide_ns = mean_of(s, decide);
    row->kernel_mean_ns = mean_of(s, kernel).value;
    row->user_mean_ns = mean_of(s, user_time).value;
    row->system_mean_ns = mean_of(s, system_time).value;
    row->mean_mem_bytes = mean_of(s, memory);
    row->peak_mem_bytes = greatest(s, memory);
    row->energy_j = mean_of(s, energy);
    row->coherence_delta = mean_of(s, coherence);
    row->coherence_loss = 0 - row->coherence_delta.value;
    row->accuracy = mean_of(s, passes).value;
    row->contradiction_rate = mean_of(s, contradicts).value;
    row->max_abs_error = greatest(s, max_abs);
    row->cuts = within_whole(share_of(s, cuts, s, decisions));
    row->deciding = share_of(s, decide, s, wall).value;
    row->edges_kept = within_whole(share_of(s, kept_edges, s, all_edges));
}

/* ---- criteria ---- */

static const char *const criterion_names[] = {
    [AS_CRITERION_QUALITY] = "quality", [AS_CRITERION_KV_CACHE] = "kv_cache",
    [AS_CRITERION_ENERGY] = "energy",   [AS_CRITERION_LATENCY] = "latency",
    [AS_CRITERION_WITNESS] = "witness",
};
_Static_assert(AS_COUNT_OF(criterion_names) == AS_CRITERION_COUNT, "name every criterion");

const char *as_criterion_name(enum as_criterion which)
{
    return which < AS_CRITERION_COUNT ? criterion_names[which] : "unknown";
}

const char *as_verdict_name(enum as_verdict verdict)
{
    static const char *const names[] = {"unknown", "met", "missed"};

    return names[verdict];
}

void as_criterion_rule(enum as_criterion which, const struct as_bench_limits *l, char out[120])
{
    switch (which) {
    case AS_CRITERION_QUALITY:
        (void)snprintf(out, 120, "coherence loss at most %g %%, accuracy at least %g %%",
                       l->max_coherence_loss * 100, l->min_accuracy * 100);
        break;
    case AS_CRITERION_KV_CACHE:
        (void)snprintf(out, 120, "KV cache at least %g %% smaller", l->min_kv_reduction * 100);
        break;
    case AS_CRITERION_ENERGY:
        (void)snprintf(out, 120, "energy of a sample at least %g %% less",
                       l->min_energy_reduction * 100);
        break;
    case AS_CRITERION_LATENCY:
        (void)snprintf(out, 120, "p95 latency at most %g %% above the baseline's",
                       l->max_p95_change * 100);
        break;
    default:
        (void)snprintf(out, 120, "decisions are identical when replayed");
    }
}

static enum as_verdict verdict(double value, bool holds)
{
    if (!isfinite(value))
        return AS_VERDICT_UNKNOWN;
    return holds ? AS_VERDICT_MET : AS_VERDICT_MISSED;
}

static void judge(struct as_bench_row *row, const struct as_bench_limits *l,
                  enum as_verdict witness)
{
    row->criteria[AS_CRITERION_QUALITY] =
        verdict(row->coherence_loss + row->accuracy,
                row->coherence_loss <= l->max_coherence_loss && row->accuracy >= l->min_accuracy);
    row->criteria[AS_CRITERION_KV_CACHE] = verdict(
        row->kv_cache_reduction.value, row->kv_cache_reduction.value >= l->min_kv_reduction);
    row->criteria[AS_CRITERION_ENERGY] =
        verdict(l->energy_is_assumed ? AS_UNKNOWN : row->energy_reduction.value,
                row->energy_reduction.value >= l->min_energy_reduction);
    row->criteria[AS_CRITERION_LATENCY] =
        verdict(row->wall.supported[AS_SUMMARY_P95] ? row->p95_change : AS_UNKNOWN,
                row->p95_change <= l->max_p95_change);
    row->criteria[AS_CRITERION_WITNESS] = witness;
    row->met = !row->setting->failed;
    row->missed = row->setting->failed;
    for (size_t i = 0; i < AS_CRITERION_COUNT; i++) {
        row->met = row->met && row->criteria[i] != AS_VERDICT_MISSED;
        row->missed = row->missed || row->criteria[i] == AS_VERDICT_MISSED;
    }
}

/* ---- all of them ---- */

int as_bench_result_new(struct as_bench_result **out, const struct as_bench *bench,
                        const struct as_bench_limits *limits, const enum as_verdict *witness,
                        struct assay_error *err)
{
    static const struct as_bench_limits usual = AS_BENCH_LIMITS_INIT;
    struct as_bench_result *r = as_alloc_zero(1, sizeof *r);
    const struct as_bench_setting *base =
        bench->baseline < bench->n_settings ? &bench->settings[bench->baseline] : NULL;
    int rc = ASSAY_OK;

    *out = NULL;
    if (!r)
        return as_fail_nomem(err);
    r->bench = bench;
    r->limits = limits ? *limits : usual;
    r->judged = strcmp(bench->kind, "attention") == 0;
    r->rows = as_alloc_zero(bench->n_settings, sizeof *r->rows);
    if (!r->rows)
        rc = as_fail_nomem(err);
    for (size_t i = 0; rc == ASSAY_OK && i < bench->n_settings; i++) {
        r->rows[i].setting = &bench->settings[i];
        r->by_item = r->by_item || bench->settings[i].items != bench->settings[0].items;
        rc = put_wall(&r->rows[i], err);
    }
    for (size_t i = 0; rc == ASSAY_OK && i < bench->n_settings; i++) {
        struct as_bench_row *row = &r->rows[i];

        put_figures(row);
        put_savings(row, base, base ? r->rows[bench->baseline].wall.percentile[AS_SUMMARY_P95] : 0);
        if (r->judged && i != bench->baseline) {
            judge(row, &r->limits, witness ? witness[i] : AS_VERDICT_UNKNOWN);
            r->n_met += row->met;
        }
    }
    if (rc < 0)
        as_bench_result_free(r);
    else
        *out = r;
    return rc;
}

void as_bench_result_free(struct as_bench_result *result)
{
    if (!result)
        return;
    as_free(result->rows);
    as_free(result);
}
