/* analyze/compare/compare_internal.h - what a comparison of backends keeps, shared by its parts.
 * Names belong to the arena of their backend. */
#ifndef AS_ANALYZE_COMPARE_COMPARE_INTERNAL_H
#define AS_ANALYZE_COMPARE_COMPARE_INTERNAL_H

#include <assay/compare.h>

#include "base/arena.h"
#include "base/error.h"

#define AS_COMPARE_LEVEL 0.95  /* of intervals and verdicts */
#define AS_COMPARE_TIE   1.001 /* a speedup below it has no winner */

/* Figures are completed from each other; NaN and 0 calls: not known. */
struct as_compare_layer {
    const char *name;
    double mean, std, total;
    uint64_t calls;
    const double *log_samples; /* logarithms of the times of calls; NULL: not told, or one was 0 */
    size_t n_samples;
};

struct as_compare_backend {
    struct as_arena arena;
    const char *name;
    struct as_compare_layer *layers;
    size_t n_layers, capacity;
    double total;      /* NaN: unknown */
    bool total_is_sum; /* of the layers, told or not */
    double timestamp, peak_memory_mb, energy_j;
};

struct as_compare_alias {
    char *alias, *layer;
};

struct assay_compare {
    struct as_compare_backend *backends;
    size_t n_backends;
    struct as_compare_alias *aliases;
    size_t n_aliases;
    struct as_arena arena;         /* of the last comparison */
    struct as_arena ranking_arena; /* of the last ranking */
    struct assay_comparison result;
};

/* A layer on one of the backends that are compared. */
struct as_compare_cell {
    double mean, std, total;
    uint64_t calls;
    bool told;
    const double *log_samples; /* borrowed from its only layer; NULL: there are none */
    size_t n_samples;
};

/* The layers of the backends that are compared, each under its own name. */
struct as_compare_join {
    const struct as_compare_backend **backends;
    size_t n_backends;
    const char **names; /* of layers, in the order they were first told */
    size_t n_layers;
    struct as_compare_cell *cells; /* layer by layer, a cell for each backend */
};

static inline const struct as_compare_cell *as_compare_cell_at(const struct as_compare_join *join,
                                                               size_t layer, size_t backend)
{
    return &join->cells[layer * join->n_backends + backend];
}

/* Everything in `compare->arena`. */
int as_compare_join_layers(struct as_compare_join *join, struct assay_compare *compare,
                           struct assay_error *err);

/* Fills the result's layers and the wins of `totals`. */
int as_compare_layers(struct assay_compare *compare, const struct as_compare_join *join,
                      struct assay_backend_total *totals, struct assay_error *err);

/* Fills the result's summary and the normalized times of `totals`, after the layers. */
int as_compare_summary(struct assay_compare *compare, const struct as_compare_join *join,
                       struct assay_backend_total *totals, struct assay_error *err);

struct as_mean_estimate;
/* The speedup of one over the other and how sure it is. */
void as_compare_test(struct assay_speedup_test *out, const struct as_mean_estimate *slow,
                     const struct as_mean_estimate *fast);

/* The same by the ranks of calls, as `assay diff` compares runs: a call that the machine held up
 * counts as one late call, however late it was. Logarithms of times. */
AS_MUST_USE int as_compare_test_ranks(struct assay_speedup_test *out, const double *fast_logs,
                                      size_t n_fast, const double *slow_logs, size_t n_slow,
                                      struct assay_error *err);

#endif
