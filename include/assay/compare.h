/* assay/compare.h - which of several backends runs the same layers fastest, and how surely.
 *
 *     struct assay_compare *c;
 *     const struct assay_comparison *r;
 *     assay_compare_new(&c, NULL, &err);
 *     assay_compare_layer(c, "PyTorch", "conv1", seconds, n);
 *     assay_compare_layer(c, "ONNX", "conv1", seconds2, n2);
 *     if (assay_compare_run(c, NULL, 0, &r, &err) == 0)
 *         puts(r->summary.recommendation);
 *     assay_compare_free(c);
 *
 * Times are seconds. What was not given is NaN: it is last in every order and wins nothing. One
 * thread at a time. */
#ifndef ASSAY_COMPARE_H
#define ASSAY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_compare;

/* One layer on one backend. Samples, when there are any, replace the four values. Of
 * these 0 and NaN both mean not known; ASSAY_MEASURED_ZERO is a zero that was measured. */
struct assay_backend_layer {
    const char *name;
    double mean_seconds;           /* of a call */
    double std_seconds;            /* population standard deviation of the calls */
    double total_seconds;          /* unknown: mean_seconds * call_count */
    uint64_t call_count;           /* 0: unknown */
    const double *samples_seconds; /* the time of each call; copied */
    size_t n_samples;
};

/* There is no option yet. */
struct assay_compare_options {
    size_t size; /* sizeof(struct assay_compare_options) */
};

/* `options` may be NULL. */
ASSAY_API int assay_compare_new(struct assay_compare **out,
                                const struct assay_compare_options *options,
                                struct assay_error *err);
/* Accepts NULL. */
ASSAY_API void assay_compare_free(struct assay_compare *compare);
/* Forgets backends and aliases. */
ASSAY_API void assay_compare_reset(struct assay_compare *compare);

/* A backend added twice keeps its place and the later profile. `total_seconds` 0 or NaN: the sum of
 * the layers' totals, unknown when one of them is. `timestamp_seconds` is in UNIX seconds, 0 or
 * NaN: now. USAGE without a name, for a layer given twice, and for a time that is negative or
 * infinite. */
ASSAY_API int assay_compare_add(struct assay_compare *compare, const char *name,
                                const struct assay_backend_layer *layers, size_t n,
                                double total_seconds, double timestamp_seconds,
                                struct assay_error *err);

/* The same in short, layer by layer: adds one layer, by the time of each of its calls, to a
 * backend, which is made at its first mention. Returns 0 or the code that the call above returns,
 * without its sentence. */
ASSAY_API int assay_compare_layer(struct assay_compare *compare, const char *backend,
                                  const char *layer, const double *samples_seconds,
                                  size_t n_samples);

/* Peak memory in MiB and energy in joules of a backend's whole profile; 0 or NaN: unknown.
 * NOTFOUND for a backend that has not been added. */
ASSAY_API int assay_compare_add_resources(struct assay_compare *compare, const char *name,
                                          double peak_memory_mb, double energy_j,
                                          struct assay_error *err);

/* Layers called `alias`, on whatever backend, are the layer `layer`. Several of one backend that
 * become one layer are added up. USAGE for an alias of an alias. */
ASSAY_API int assay_compare_add_alias(struct assay_compare *compare, const char *alias,
                                      const char *layer, struct assay_error *err);

/* ---- what comes out ---- */

enum assay_difference {
    ASSAY_DIFFERENCE_UNKNOWN, /* too little is known: samples, or a deviation and two calls */
    ASSAY_DIFFERENCE_NONE,    /* no significant difference */
    ASSAY_DIFFERENCE_SHOWN
};
/* "not tested", "no significant difference", "different" */
ASSAY_API const char *assay_difference_name(enum assay_difference difference);

/* How sure a speedup is. Of a layer with 9 samples or more on either side the calls are compared
 * by their ranks (Mann and Whitney's test, as `assay diff` does), and the interval is of the ratio
 * of typical calls. So are whole backends when all their layers have equally many samples: the k-th
 * of each are then the k-th iteration. Otherwise it is Welch's interval for the ratio of two means,
 * on the logarithm, in which a single late call hides a difference. Holds for calls that do not
 * depend on each other; those of one run mostly do, and then it is too narrow. */
struct assay_speedup_test {
    enum assay_difference difference; /* at 95 % */
    double low, high;                 /* 95 % interval of the speedup; NaN: unknown */
    double p_value;                   /* two-sided, of a speedup of 1 */
    double degrees;                   /* Welch's and Satterthwaite's degrees of freedom; NaN: ranks
                                         were compared */
};

struct assay_backend_data {
    const char *backend;
    double mean_seconds, std_seconds, total_seconds; /* NaN: unknown */
    uint64_t call_count;                             /* 0: unknown */
};

/* A layer that has a mean time on at least two backends. */
struct assay_layer_comparison {
    const char *layer;
    const struct assay_backend_data *backend_data; /* in the order of the comparison */
    size_t n_backends;
    /* By mean time of a call; NULL when they took the same, to a thousandth. */
    const char *fastest_backend, *slowest_backend;
    double speedup;            /* slowest / fastest; 1 when the fastest is 0 */
    double time_difference_ms; /* of a call */
    bool call_counts_differ;   /* then totals are not comparable */
    struct assay_speedup_test test;
};

struct assay_backend_total {
    const char *backend;
    double total_seconds; /* as given, or of its layers; NaN: unknown */
    /* For the calls that the first backend of the comparison made, over the layers that all of
     * them have; NaN: there are none, or something of them is unknown. */
    double normalized_seconds;
    size_t layer_wins; /* layers of which it is the fastest */
    size_t sure_wins;  /* of those, with a difference shown to the slowest */
    double peak_memory_mb, energy_j;
    double timestamp_seconds; /* UNIX seconds */
};

struct assay_comparison_summary {
    /* NULL: not two times are known, or they are the same to a thousandth. */
    const char *fastest_backend, *slowest_backend;
    double overall_speedup; /* NaN then */
    /* Totals are compared, unless backends did not do the same: then the normalized times. */
    bool normalized;
    const char *why_unequal; /* NULL: layers and calls are the same, as far as they are known */
    struct assay_speedup_test test;
    const char *most_wins; /* NULL: no layer was compared */
    const char *least_memory_backend,
        *least_energy_backend; /* NULL: known for fewer than two, or a tie */
    const char *recommendation;
};

/* Borrowed until the next run, or until something is added. */
struct assay_comparison {
    size_t size;       /* set by the library */
    const char *error; /* NULL, or why nothing was compared: then only the next is filled */
    const char *const *available_backends;
    size_t n_available;
    const struct assay_backend_total *backends; /* those compared, in the order asked for */
    size_t n_backends;
    const char *const *unknown_backends; /* asked for, never added */
    size_t n_unknown;
    const struct assay_layer_comparison *layers; /* in the order in which they were first added */
    size_t n_layers;
    struct assay_comparison_summary summary;
};

/* Of the backends named, each once; NULL: of all. Fewer than two: USAGE, and `out` holds the error
 * and what there is. */
ASSAY_API int assay_compare_run(struct assay_compare *compare, const char *const *names, size_t n,
                                const struct assay_comparison **out, struct assay_error *err);

/* All backends, least total time first, those without one last. Borrowed until the next ranking;
 * the fields that need a comparison are NaN and 0. */
ASSAY_API int assay_compare_ranking(struct assay_compare *compare,
                                    const struct assay_backend_total **out, size_t *n,
                                    struct assay_error *err);

#ifdef __cplusplus
}
#endif
#endif
