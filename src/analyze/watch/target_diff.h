/* analyze/watch/target_diff.h - what changed between two runs of `assay run`: by allocation site,
 * by GEMM call and shape, by process. What only one of them has stands with NaN for the other. */
#ifndef AS_ANALYZE_WATCH_TARGET_DIFF_H
#define AS_ANALYZE_WATCH_TARGET_DIFF_H

#include "analyze/watch/target.h"

/* One thing that both runs, or one of them, have. */
struct as_target_diff_row {
    const char *name;  /* "parse_row (a.out)", "cblas_sgemm f32 m 8 n 8 k 8", "worker --shard" */
    double value[2];   /* peak live bytes of a site, nanoseconds of calls, CPU nanoseconds */
    double count[2];   /* allocations, calls, processes of that name */
    double largest[2]; /* bytes allocated, slowest call in nanoseconds, peak memory of one */
};

struct as_target_diff_list {
    struct as_target_diff_row *row; /* by how far the values are apart, widest first */
    size_t n;
};

struct as_target_diff {
    struct as_arena arena;
    struct as_target_diff_list sites, products, processes;
};

/* Names are copied: the runs may go. */
AS_MUST_USE int as_target_diff_new(struct as_target_diff **out, const struct as_target *a,
                                   const struct as_target *b, struct assay_error *err);
void as_target_diff_free(struct as_target_diff *diff);

#endif
