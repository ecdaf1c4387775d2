/* stats/inference/rank_test.h - whether two sets of runs differ, by how much, and how surely.
 * Samples must be independent: medians of process runs, not the scopes of one run. */
#ifndef AS_STATS_INFERENCE_RANK_TEST_H
#define AS_STATS_INFERENCE_RANK_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "stats/inference/interval.h"

#define AS_RANK_TEST_EXACT_MAX 20 /* either side, for the exact distribution */
#define AS_RANK_TEST_FEW       9  /* fewer on either side say little, whatever the p-value */

struct as_rank_test {
    size_t n_before, n_after;
    double u;           /* pairs in which after exceeds before; a tie counts one half */
    double z;           /* of the normal approximation, with continuity and tie correction */
    double p;           /* two-sided */
    bool exact;         /* p is from the exact distribution: no ties, both sides small */
    bool ties;          /* some values are equal, on whichever side */
    bool few;           /* a side has fewer than AS_RANK_TEST_FEW */
    double probability; /* that a value of after exceeds one of before: u / pairs */
    double delta; /* Cliff's: 2 * probability - 1, from -1 to 1, positive when after is greater */
    double shift; /* Hodges-Lehmann: the median of all differences after - before, exact */
};

/* Mann-Whitney U. Time grows as n log n, the shift included: it is found by bisection over the
 * doubles, counting the differences below in linear time, so no pair is ever stored or left out.
 * Fails (USAGE) for an empty side or a value that is not finite, and when memory runs out. */
AS_MUST_USE int as_rank_test(struct as_rank_test *out, const double *before, size_t n_before,
                             const double *after, size_t n_after, struct assay_error *err);

/* The interval of the shift that inverts the test: between two of all differences after - before,
 * chosen by the distribution of u; exact when both sides are small, whatever the ties, by the
 * normal approximation otherwise. Fails as as_rank_test() does, and for a level not inside (0, 1).
 */
AS_MUST_USE int as_rank_shift_interval(struct as_interval *out, const double *before,
                                       size_t n_before, const double *after, size_t n_after,
                                       double level, struct assay_error *err);

#endif
