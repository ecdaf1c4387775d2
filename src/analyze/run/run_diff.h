/* analyze/run/run_diff.h - what changed between two runs, layer by layer, and how surely.
 * Takes two plain accounts, wherever they come from; analyze/run/diff_side.h makes one from a run.
 */
#ifndef AS_ANALYZE_RUN_RUN_DIFF_H
#define AS_ANALYZE_RUN_RUN_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/run/layers.h"
#include "base/arena.h"
#include "base/error.h"

/* One layer of one run. Times in nanoseconds; NaN: not known. */
struct as_diff_layer {
    const char *name;
    uint64_t calls;
    double total_ns, self_ns, mean_ns;
    const double *call_ns; /* self time of calls: all of them or a fair sample; NULL: not kept */
    size_t n_call_ns;
    const double *whole_ns; /* the same with layers inside, for want of `call_ns`; may be NULL */
    size_t n_whole_ns;
    const double *iteration_ns; /* self time in each of the iterations kept; NULL: not kept */
    size_t n_iteration_ns;
};

/* One run. */
struct as_diff_side {
    const char *name;
    double total_ns;
    double peak_memory_bytes; /* NaN: not known */
    const struct as_diff_layer *layer;
    size_t n_layers;
    const double *iteration_ns; /* wall time of the iterations kept */
    size_t n_iteration_ns;
    uint64_t n_iterations; /* that there were */
};

/* 0 means the default everywhere. */
struct as_diff_options {
    double threshold; /* a change of less than this share is none: 0.01 */
    double level;     /* of significance, after correction for many layers: 0.05 */
};

/* What a test compares. Iterations are nearly independent; calls of one run are not, so that what
 * they show holds for this pair of runs. */
#define AS_DIFF_BASES(X)                                                                           \
    X(NONE, "none")                                                                                \
    X(CALLS, "calls")                                                                              \
    X(ITERATIONS, "iterations")                                                                    \
    X(SAMPLES, "samples")

enum as_diff_basis {
#define X(name, text) AS_DIFF_##name,
    AS_DIFF_BASES(X)
#undef X
        AS_DIFF_BASIS_COUNT
};
const char *as_diff_basis_name(enum as_diff_basis basis);

#define AS_DIFF_VERDICTS(X)                                                                        \
    X(SAME, "no significant difference")                                                           \
    X(FASTER, "faster")                                                                            \
    X(SLOWER, "slower")                                                                            \
    X(FEWER, "fewer calls")                                                                        \
    X(MORE, "more calls")                                                                          \
    X(ONLY_A, "only in A")                                                                         \
    X(ONLY_B, "only in B")                                                                         \
    X(UNTESTED, "-")

enum as_diff_verdict {
#define X(name, text) AS_DIFF_##name,
    AS_DIFF_VERDICTS(X)
#undef X
        AS_DIFF_VERDICT_COUNT
};
const char *as_diff_verdict_name(enum as_diff_verdict verdict);

/* Mann-Whitney. NaN everywhere when `basis` is NONE. */
struct as_diff_test {
    enum as_diff_basis basis;
    size_t n[2];
    double p, q;                                  /* q: after Benjamini and Hochberg, over layers */
    double median_ns[2];                          /* of what was compared */
    double shift_ns, shift_low_ns, shift_high_ns; /* Hodges-Lehmann and its 95 % interval */
    double relative;                              /* shift over the median of A */
    double factor;                                /* median of B over that of A */
    double inflation; /* readings that are worth one independent reading, on the worse side */
};

/* ---- diff_test.c ---- */

extern const struct as_diff_test as_diff_no_test;

/* What is `part` of `before`; NaN when there was nothing. */
double as_diff_ratio(double part, double before);

/* Some readings of each side. */
struct as_diff_pair {
    const double *value[2];
    size_t n[2];
};

/* Whether there are enough of them to test. */
bool as_diff_is_enough(const struct as_diff_pair *pair);
AS_MUST_USE int as_diff_test(struct as_diff_test *test, const struct as_diff_pair *pair,
                             enum as_diff_basis basis, struct assay_error *err);

/* Benjamini and Hochberg: fills `q` of all of them, which are sorted. */
void as_diff_correct(struct as_diff_test **tested, size_t n);

/* Whether the test shows a difference that is large enough. */
bool as_diff_is_shown(const struct as_diff_options *options, const struct as_diff_test *test);

/* The options with their defaults. USAGE for one out of range. */
AS_MUST_USE int as_diff_options_take(struct as_diff_options *out,
                                     const struct as_diff_options *given, struct assay_error *err);

/* ---- run_diff.c ---- */

struct as_diff_row {
    const char *name;
    bool in[2];
    bool inside; /* iterations: on either side */
    bool whole;  /* compared with layers inside: a side did not keep self time by call */
    uint64_t calls[2];
    double total_ns[2], self_ns[2], mean_ns[2];
    double time_ns[2];   /* self time, or all when `whole`: of the run, or of an iteration when
                            their numbers differ */
    double change_ns;    /* B - A of `time_ns`; a layer that is not there takes none */
    double change;       /* of A; NaN when it took none */
    double change_share; /* of all changes, up and down; 0..1; NaN when nothing changed */
    struct as_diff_test test;
    enum as_diff_verdict verdict;
};

struct as_diff {
    struct as_arena arena;
    const struct as_diff_side *side[2];
    struct as_diff_options options; /* defaults filled in */
    double total_ns[2], speedup_percent;
    double memory_bytes[2], reduction_percent; /* NaN: not known */
    bool per_iteration;                        /* what `time_ns` is of */
    struct as_diff_test whole;                 /* of iterations; NONE: see shown_change */
    double layers_ns[2];                       /* the sum of `time_ns` */
    double shown_change; /* of that sum, by layers whose verdict is not SAME; NaN without time */
    enum as_diff_verdict verdict;
    double slower_percent;   /* that is shown, by iterations or by layers; NaN: nothing to test */
    struct as_diff_row *row; /* by change_ns, largest first whichever way */
    size_t n_rows, n_tested;
    size_t n_common;       /* in both */
    size_t n_calls_tested; /* of them, by their calls */
    size_t n_whole;        /* of them, with layers inside */
};

/* What rows can be ordered by; the name is what --sort takes. */
#define AS_DIFF_SORTS(X)                                                                           \
    X(CHANGE, "change")                                                                            \
    X(PERCENT, "percent")                                                                          \
    X(BEFORE, "before")                                                                            \
    X(AFTER, "after")                                                                              \
    X(P, "p")                                                                                      \
    X(NAME, "name")

enum as_diff_sort {
#define X(name, text) AS_DIFF_BY_##name,
    AS_DIFF_SORTS(X)
#undef X
        AS_DIFF_SORT_COUNT
};
const char *as_diff_sort_name(enum as_diff_sort sort);

/* Compares `a` and `b`, which must outlive the result. USAGE for options out of range. */
AS_MUST_USE int as_diff_new(struct as_diff **out, const struct as_diff_side *a,
                            const struct as_diff_side *b, const struct as_diff_options *options,
                            struct assay_error *err);

/* Accepts NULL. */
void as_diff_free(struct as_diff *diff);

void as_diff_order(struct as_diff *diff, enum as_diff_sort sort);

/* ---- diff_side.c ---- */

struct as_diff_run {
    struct as_diff_side side;
    struct as_run *run;
    struct as_layers *layers; /* NULL: its kind has none, and `side` has a name alone */
    const char *unsteady; /* why nothing about a model is concluded from it; NULL: it is steady */
    const char *broken;   /* what is wrong with the run, as in "was never closed"; NULL: nothing */
    struct as_arena arena;
};

/* Opens and reads `path`: a run, or a document that holds one. STATE when the run is not whole and
 * `partial` is false; NOTFOUND when there is nothing in it to compare. Close with
 * as_diff_run_close(). */
AS_MUST_USE int as_diff_run_open(struct as_diff_run **out, const char *path, bool partial,
                                 struct assay_error *err);

/* Accepts NULL. */
void as_diff_run_close(struct as_diff_run *r);

#endif
