/* analyze/compare/compare_summary.c - the backends as a whole: who is fastest, how surely, and what
 * to use. Totals are compared as they are only where backends did the same. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/compare/compare_internal.h"
#include "base/error.h"
#include "base/units.h"
#include "stats/inference/rank_test.h"
#include "stats/inference/welch.h"

const char *assay_difference_name(enum assay_difference difference)
{
    static const char *const name[] = {
        [ASSAY_DIFFERENCE_UNKNOWN] = "not tested",
        [ASSAY_DIFFERENCE_NONE] = "no significant difference",
        [ASSAY_DIFFERENCE_SHOWN] = "different",
    };

    return (unsigned)difference < AS_COUNT_OF(name) ? name[difference] : "not tested";
}

/* A backend without layers says nothing of what it did. */
static bool has_layers(const struct as_compare_join *join, size_t backend)
{
    return join->backends[backend]->n_layers > 0;
}

/* Calls that all failed took no time that could be compared. */
static bool has_time(const struct as_compare_join *join, size_t layer, size_t backend)
{
    const struct as_compare_cell *cell = as_compare_cell_at(join, layer, backend);

    return cell->told && !isnan(cell->mean);
}

static bool all_have(const struct as_compare_join *join, size_t layer)
{
    for (size_t b = 0; b < join->n_backends; b++)
        if (has_layers(join, b) && !has_time(join, layer, b))
            return false;
    return true;
}

static bool none_has(const struct as_compare_join *join, size_t layer)
{
    for (size_t b = 0; b < join->n_backends; b++)
        if (has_time(join, layer, b))
            return false;
    return true;
}

static bool calls_differ(const struct as_compare_join *join, size_t layer)
{
    uint64_t calls = 0;

    for (size_t b = 0; b < join->n_backends; b++) {
        uint64_t here = as_compare_cell_at(join, layer, b)->calls;

        if (here && calls && here != calls)
            return true;
        calls = here ? here : calls;
    }
    return false;
}

static const char *find_unequal(const struct as_compare_join *join)
{
    for (size_t i = 0; i < join->n_layers; i++)
        if (!all_have(join, i) && !none_has(join, i))
            return "the backends did not run the same layers";
    for (size_t i = 0; i < join->n_layers; i++)
        if (calls_differ(join, i))
            return "the backends did not run their layers equally often";
    return NULL;
}

static size_t first_with_layers(const struct as_compare_join *join)
{
    size_t b = 0;

    while (b + 1 < join->n_backends && !has_layers(join, b))
        b++;
    return b;
}

/* What the backend would have taken for the calls of the first one, over the layers all have. */
static struct as_mean_estimate normalized(const struct as_compare_join *join, size_t backend)
{
    size_t first = first_with_layers(join), n = 0;
    struct as_mean_estimate sum = {0};

    for (size_t i = 0; has_layers(join, backend) && i < join->n_layers; i++) {
        const struct as_compare_cell *cell = as_compare_cell_at(join, i, backend);
        uint64_t calls = as_compare_cell_at(join, i, first)->calls;

        if (!all_have(join, i))
            continue;
        as_mean_estimate_add(&sum, calls ? (double)calls : AS_UNKNOWN, cell->mean, cell->std,
                             cell->calls);
        n++;
    }
    if (n == 0)
        sum.value = AS_UNKNOWN;
    return sum;
}

/* What it took, with the deviation of all its calls; not known of a total that is not their sum. */
static struct as_mean_estimate unchanged(const struct as_compare_backend *backend)
{
    struct as_mean_estimate sum = {0};

    for (size_t i = 0; i < backend->n_layers; i++) {
        const struct as_compare_layer *layer = &backend->layers[i];

        if (isnan(layer->mean))
            continue;
        as_mean_estimate_add(&sum, (double)layer->calls, layer->mean, layer->std, layer->calls);
    }
    if (!backend->total_is_sum)
        sum.variance = AS_UNKNOWN;
    return sum;
}

static double time_of(const struct assay_backend_total *total, bool by_normalized)
{
    return by_normalized ? total->normalized_seconds : total->total_seconds;
}

static size_t known_times(const struct assay_backend_total *totals, size_t n, bool by_normalized)
{
    size_t known = 0;

    for (size_t i = 0; i < n; i++)
        known += isnan(time_of(&totals[i], by_normalized)) ? 0 : 1;
    return known;
}

/* The times of whole iterations, as logarithms: where every layer has a sample of each. `logs`
 * NULL: they are not known; negative: no memory. */
static int iterations(double **logs, size_t *n, const struct as_compare_backend *backend,
                      struct as_arena *arena, struct assay_error *err)
{
    *n = backend->n_layers ? backend->layers[0].n_samples : 0;
    *logs = NULL;
    for (size_t i = 0; i < backend->n_layers; i++)
        if (!backend->layers[i].log_samples || backend->layers[i].n_samples != *n)
            return ASSAY_OK;
    if (*n < AS_RANK_TEST_FEW)
        return ASSAY_OK;
    *logs = as_arena_zero(arena, *n, sizeof **logs);
    if (!*logs)
        return as_fail_nomem(err);
    for (size_t k = 0; k < *n; k++) {
        double sum = exp(backend->layers[0].log_samples[k]);

        for (size_t i = 1; i < backend->n_layers; i++)
            sum += exp(backend->layers[i].log_samples[k]);
        (*logs)[k] = log(sum);
    }
    return ASSAY_OK;
}

/* By ranks where both are known iteration by iteration and ran the same; else by means. */
static int test_overall(struct assay_comparison_summary *out, const struct as_compare_join *join,
                        size_t fast, size_t slow, struct as_arena *arena, struct assay_error *err)
{
    struct as_mean_estimate fast_sum, slow_sum;
    double *fast_logs = NULL, *slow_logs = NULL;
    size_t n_fast = 0, n_slow = 0;
    int rc = ASSAY_OK;

    if (!out->why_unequal && join->backends[fast]->total_is_sum &&
        join->backends[slow]->total_is_sum) {
        rc = iterations(&fast_logs, &n_fast, join->backends[fast], arena, err);
        if (rc == ASSAY_OK)
            rc = iterations(&slow_logs, &n_slow, join->backends[slow], arena, err);
    }
    if (rc < 0)
        return rc;
    if (fast_logs && slow_logs)
        return as_compare_test_ranks(&out->test, fast_logs, n_fast, slow_logs, n_slow, err);
    fast_sum = out->normalized ? normalized(join, fast) : unchanged(join->backends[fast]);
    slow_sum = out->normalized ? normalized(join, slow) : unchanged(join->backends[slow]);
    as_compare_test(&out->test, &slow_sum, &fast_sum);
    return ASSAY_OK;
}

static int find_overall(struct assay_comparison_summary *out, const struct as_compare_join *join,
                        const struct assay_backend_total *totals, struct as_arena *arena,
                        struct assay_error *err)
{
    size_t fast = join->n_backends, slow = join->n_backends;
    int rc;

    for (size_t b = 0; b < join->n_backends; b++) {
        double t = time_of(&totals[b], out->normalized);

        if (isnan(t))
            continue;
        if (fast == join->n_backends || t < time_of(&totals[fast], out->normalized))
            fast = b;
        if (slow == join->n_backends || t > time_of(&totals[slow], out->normalized))
            slow = b;
    }
    if (known_times(totals, join->n_backends, out->normalized) < 2)
        return ASSAY_OK;
    out->overall_speedup =
        time_of(&totals[fast], out->normalized) > 0
            ? time_of(&totals[slow], out->normalized) / time_of(&totals[fast], out->normalized)
            : 1;
    rc = test_overall(out, join, fast, slow, arena, err);
    if (rc < 0 || !(out->overall_speedup >= AS_COMPARE_TIE))
        return rc;
    out->fastest_backend = totals[fast].backend;
    out->slowest_backend = totals[slow].backend;
    return ASSAY_OK;
}

/* The fastest overall when it wins as many as any. */
static const char *find_most_wins(const struct assay_backend_total *totals, size_t n,
                                  const char *fastest)
{
    const struct assay_backend_total *most = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct assay_backend_total *t = &totals[i];

        if (t->layer_wins == 0)
            continue;
        if (!most || t->layer_wins > most->layer_wins ||
            (t->layer_wins == most->layer_wins && t->backend == fastest))
            most = t;
    }
    return most ? most->backend : NULL;
}

static double memory_of(const struct assay_backend_total *t)
{
    return t->peak_memory_mb;
}

static double energy_of(const struct assay_backend_total *t)
{
    return t->energy_j;
}

/* NULL when fewer than two told it, or when another has as little: ties have no winner, as in time.
 */
static const char *find_least(const struct assay_backend_total *totals, size_t n,
                              double (*value)(const struct assay_backend_total *))
{
    const struct assay_backend_total *least = NULL;
    size_t known = 0, as_little = 0;

    for (size_t i = 0; i < n; i++) {
        if (isnan(value(&totals[i])))
            continue;
        known++;
        if (!least || value(&totals[i]) < value(least))
            least = &totals[i];
    }
    for (size_t i = 0; least && i < n; i++)
        as_little += value(&totals[i]) <= value(least) * AS_COMPARE_TIE;
    return known >= 2 && as_little == 1 ? least->backend : NULL;
}

static size_t wins_of(const struct assay_comparison *result, const char *backend)
{
    for (size_t i = 0; i < result->n_backends; i++)
        if (result->backends[i].backend == backend)
            return result->backends[i].layer_wins;
    return 0;
}

/* Names of backends are cut, so that the sentence always ends. */
static const char *recommend(struct as_arena *arena, const struct assay_comparison *r)
{
    const struct assay_comparison_summary *s = &r->summary;
    char text[480];

    if (s->overall_speedup < AS_COMPARE_TIE)
        return "The backends took the same time: choose by something other than speed.";
    if (!s->fastest_backend)
        return "There is not enough data for a recommendation: the time of fewer than two backends "
               "is known.";
    if (s->test.difference == ASSAY_DIFFERENCE_NONE && s->test.high < 1)
        (void)snprintf(text, sizeof text,
                       "%.80s took less time in total, yet iterations are usually faster on %.80s: "
                       "single slow calls decide the total, so measure more of them.",
                       s->fastest_backend, s->slowest_backend);
    else if (s->test.difference == ASSAY_DIFFERENCE_NONE)
        (void)snprintf(text, sizeof text,
                       "No significant difference between %.80s and %.80s: choose by something "
                       "other than speed, or measure more calls.",
                       s->fastest_backend, s->slowest_backend);
    else if (!s->most_wins)
        (void)snprintf(
            text, sizeof text,
            "Use %.80s: it is %.2f times as fast as %.80s overall; no layer was reported by "
            "two backends.",
            s->fastest_backend, s->overall_speedup, s->slowest_backend);
    else if (s->most_wins == s->fastest_backend)
        (void)snprintf(text, sizeof text,
                       "Use %.80s: it is the fastest overall, %.2f times as fast as %.80s, and "
                       "wins %zu of %zu layers.",
                       s->fastest_backend, s->overall_speedup, s->slowest_backend,
                       wins_of(r, s->most_wins), r->n_layers);
    else
        (void)snprintf(text, sizeof text,
                       "Use %.80s for overall speed, %.2f times that of %.80s; %.80s wins the most "
                       "layers, %zu of %zu, for consistent layers.",
                       s->fastest_backend, s->overall_speedup, s->slowest_backend, s->most_wins,
                       wins_of(r, s->most_wins), r->n_layers);
    return as_arena_text(arena, text, strlen(text));
}

int as_compare_summary(struct assay_compare *compare, const struct as_compare_join *join,
                       struct assay_backend_total *totals, struct assay_error *err)
{
    const double unknown = AS_UNKNOWN;
    struct assay_comparison_summary *s = &compare->result.summary;
    int rc;

    s->overall_speedup = unknown;
    s->test =
        (struct assay_speedup_test){ASSAY_DIFFERENCE_UNKNOWN, unknown, unknown, unknown, unknown};
    for (size_t b = 0; b < join->n_backends; b++)
        totals[b].normalized_seconds = normalized(join, b).value;
    s->why_unequal = find_unequal(join);
    s->normalized = s->why_unequal && known_times(totals, join->n_backends, true) >= 2;
    rc = find_overall(s, join, totals, &compare->arena, err);
    if (rc < 0)
        return rc;
    s->most_wins = find_most_wins(totals, join->n_backends, s->fastest_backend);
    s->least_memory_backend = find_least(totals, join->n_backends, memory_of);
    s->least_energy_backend = find_least(totals, join->n_backends, energy_of);
    s->recommendation = recommend(&compare->arena, &compare->result);
    return s->recommendation ? ASSAY_OK : as_fail_nomem(err);
}
