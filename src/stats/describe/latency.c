/* stats/describe/latency.c - latency of inferences: what was recorded, and its percentiles.
 * Times are nanoseconds; the microsecond fields serve files and readers that expect them. */
#include <assay/latency.h>

#include <limits.h>

#include "base/alloc.h"
#include "base/error.h"
#include "stats/describe/sorted.h"
#include "stats/describe/summary.h"

#define NS_PER_US 1000

static bool time_of(const struct assay_latency_record *r, enum assay_latency_time which,
                    uint64_t *time_ns)
{
    *time_ns = which == ASSAY_LATENCY_WALL ? r->wall_time_ns : r->kernel_time_ns;
    return which == ASSAY_LATENCY_WALL || r->kernel_available;
}

/* Rounding down keeps the order, so whole microseconds of a percentile are the percentile of whole
 * microseconds, which is what the compatible files hold. */
static void fill_stats(struct assay_latency_stats *out, uint64_t *times, size_t n,
                       uint64_t *scratch)
{
    struct as_summary s;

    *out = (struct assay_latency_stats){0};
    if (n == 0)
        return;
    as_summary_u64(&s, times, n, scratch, AS_QUANTILE_NEAREST_RANK);
    out->n = n;
    out->p50_ns = as_quantile_nearest_u64(times, n, 50);
    out->p95_ns = as_quantile_nearest_u64(times, n, 95);
    out->p99_ns = as_quantile_nearest_u64(times, n, 99);
    out->min_ns = s.total.min;
    out->max_ns = s.total.max;
    out->mean_ns = s.mean;
    out->std_ns = s.std_population;
    out->p50_us = out->p50_ns / NS_PER_US;
    out->p95_us = out->p95_ns / NS_PER_US;
    out->p99_us = out->p99_ns / NS_PER_US;
    out->mean_us = s.mean / NS_PER_US;
    out->std_us = s.std_population / NS_PER_US;
    out->p95_supported = s.supported[AS_SUMMARY_P95];
    out->p99_supported = s.supported[AS_SUMMARY_P99];
}

int assay_latency_summarize(const struct assay_latency_record *records, size_t n,
                            enum assay_latency_time which, struct assay_latency_stats *out,
                            struct assay_error *err)
{
    uint64_t *times = NULL;
    size_t n_times = 0;

    if (!out || (!records && n > 0))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "the records or the pointer for their statistics is NULL");
    *out = (struct assay_latency_stats){0};
    if (n == 0)
        return ASSAY_OK;
    times = as_alloc_zero(n, 2 * sizeof *times);
    if (!times)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        n_times += time_of(&records[i], which, &times[n_times]);
    fill_stats(out, times, n_times, times + n);
    as_free(times);
    return ASSAY_OK;
}

/* Records laid out by length, in memory for n values each. */
struct grouping {
    const struct assay_latency_record *records;
    size_t n;
    uint64_t *lengths; /* ascending, each once */
    size_t n_lengths;
    uint64_t *end; /* of each length's part of `times` */
    uint64_t *times, *scratch;
};

static void find_lengths(struct grouping *g)
{
    size_t n_lengths = 0;

    for (size_t i = 0; i < g->n; i++)
        g->lengths[i] = g->records[i].seq_len;
    as_sort_u64(g->lengths, g->n, g->scratch);
    for (size_t i = 0; i < g->n; i++) {
        if (n_lengths == 0 || g->lengths[n_lengths - 1] != g->lengths[i])
            g->lengths[n_lengths++] = g->lengths[i];
    }
    g->n_lengths = n_lengths;
}

static size_t index_of(const struct grouping *g, uint64_t length)
{
    size_t low = 0, high = g->n_lengths - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (g->lengths[middle] < length)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Puts the times of each length side by side. */
static void lay_out(struct grouping *g, enum assay_latency_time which)
{
    uint64_t sum = 0, time_ns;

    for (size_t i = 0; i < g->n_lengths; i++)
        g->end[i] = 0;
    for (size_t i = 0; i < g->n; i++)
        g->end[index_of(g, g->records[i].seq_len)] += time_of(&g->records[i], which, &time_ns);
    for (size_t i = 0; i < g->n_lengths; i++) {
        uint64_t count = g->end[i];

        g->end[i] = sum; /* the start, which filling moves to the end */
        sum += count;
    }
    for (size_t i = 0; i < g->n; i++) {
        if (time_of(&g->records[i], which, &time_ns))
            g->times[g->end[index_of(g, g->records[i].seq_len)]++] = time_ns;
    }
}

static void fill_groups(struct grouping *g, struct assay_latency_group *groups, size_t n_groups,
                        enum assay_latency_time which)
{
    uint64_t start = 0;

    lay_out(g, which);
    for (size_t i = 0; i < n_groups; i++) {
        struct assay_latency_stats *out =
            which == ASSAY_LATENCY_WALL ? &groups[i].wall : &groups[i].kernel;

        fill_stats(out, g->times + start, (size_t)(g->end[i] - start), g->scratch);
        start = g->end[i];
    }
}

int assay_latency_groups(const struct assay_latency_record *records, size_t n,
                         struct assay_latency_group *groups, size_t capacity,
                         struct assay_error *err)
{
    uint64_t *work = NULL;
    struct grouping g;
    size_t n_groups;
    int rc;

    if (!records && n > 0)
        return as_fail(err, ASSAY_ERR_USAGE, "the array of records is NULL");
    if (!groups && capacity > 0)
        return as_fail(err, ASSAY_ERR_USAGE, "the array for the groups is NULL");
    if (n == 0)
        return 0;
    work = as_alloc_zero(n, 4 * sizeof *work);
    if (!work)
        return as_fail_nomem(err);
    g = (struct grouping){records, n, work, 0, work + n, work + 2 * n, work + 3 * n};
    find_lengths(&g);
    if (g.n_lengths > INT_MAX) {
        rc = as_fail(err, ASSAY_ERR_LIMIT, "too many sequence lengths: %zu", g.n_lengths);
        goto out;
    }
    rc = (int)g.n_lengths;
    n_groups = g.n_lengths < capacity ? g.n_lengths : capacity;
    if (n_groups > 0) {
        fill_groups(&g, groups, n_groups, ASSAY_LATENCY_WALL);
        fill_groups(&g, groups, n_groups, ASSAY_LATENCY_KERNEL);
    }
    for (size_t i = 0; i < n_groups; i++) {
        groups[i].seq_len = g.lengths[i];
        groups[i].n_records = groups[i].wall.n;
    }
out:
    as_free(work);
    return rc;
}
