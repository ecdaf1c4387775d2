/* experiment/graph/spectral_health.c - how well a graph hangs together: eigenvalues of its
 * Laplacian, how hard it is to get from node to node, and how even its nodes are. */
#include <assay/experiment/quality.h>

#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "experiment/graph/laplacian.h"
#include "stats/describe/rng.h"

#define LEAST_FIEDLER     0.05
#define LEAST_GAP         0.01
#define MOST_RESISTANCE   0.95
#define LEAST_COMPOSITE   0.3
#define ALERTS_TO_REBUILD 2

struct study {
    struct as_laplacian graph;
    struct assay_spectral_options options;
    struct as_rng rng;
    double *x, *y; /* n numbers each */
};

/* Takes the mean away, so that the constant vector has no part in it, and makes its length 1. */
static void normalize(double *x, size_t n)
{
    double mean = 0, square = 0;

    for (size_t i = 0; i < n; i++)
        mean += x[i];
    mean /= (double)n;
    for (size_t i = 0; i < n; i++) {
        x[i] -= mean;
        square += x[i] * x[i];
    }
    for (size_t i = 0; i < n && square > 0; i++)
        x[i] /= sqrt(square);
}

static void start(struct study *s)
{
    for (size_t i = 0; i < s->graph.n; i++)
        s->x[i] = as_rng_normal(&s->rng);
    normalize(s->x, s->graph.n);
}

/* x L x for a vector of length 1; leaves L x in y. */
static double quotient(struct study *s)
{
    double sum = 0;

    as_laplacian_apply(&s->graph, s->x, s->y);
    for (size_t i = 0; i < s->graph.n; i++)
        sum += s->x[i] * s->y[i];
    return sum;
}

/* Multiplies with L, or solves with it, until the quotient stays; false: it did not. */
static bool iterate(struct study *s, bool inverse, double *value)
{
    double before;

    start(s);
    *value = quotient(s);
    for (unsigned i = 0; i < s->options.max_iterations; i++) {
        double *swap = s->x;

        if (inverse)
            as_laplacian_solve(&s->graph, s->x, s->y);
        s->x = s->y;
        s->y = swap;
        normalize(s->x, s->graph.n);
        before = *value;
        *value = quotient(s);
        if (fabs(*value - before) <= s->options.tolerance * fabs(*value))
            return true;
    }
    return false;
}

/* ---- from node to node ---- */

static double resistance(struct study *s, size_t a, size_t b)
{
    if (s->graph.part[a] != s->graph.part[b])
        return (double)INFINITY;
    for (size_t i = 0; i < s->graph.n; i++)
        s->x[i] = 0;
    s->x[a] = 1;
    s->x[b] = -1;
    as_laplacian_solve(&s->graph, s->x, s->y);
    return s->y[a] - s->y[b];
}

static void resistances(struct study *s, struct assay_spectral_health *out)
{
    uint64_t n = s->graph.n, all = n * (n - 1) / 2;
    double sum = 0;

    out->n_pairs = all < s->options.max_pairs ? all : s->options.max_pairs;
    if (all <= s->options.max_pairs) {
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1; b < n; b++)
                sum += resistance(s, a, b);
    } else {
        for (uint64_t i = 0; i < out->n_pairs; i++) {
            uint64_t a = as_rng_below(&s->rng, n), b = as_rng_below(&s->rng, n - 1);

            sum += resistance(s, a, b < a ? b : b + 1);
        }
    }
    out->mean_resistance = sum / (double)out->n_pairs;
}

/* ---- scores ---- */

static double within(double x)
{
    return x > 1 ? 1 : x > 0 ? x : 0; /* NaN becomes 0 */
}

static double regularity(const struct as_laplacian *l, double mean)
{
    double squares = 0;

    for (size_t i = 0; i < l->n; i++)
        squares += (l->degree[i] - mean) * (l->degree[i] - mean);
    return mean > 0 ? within(1 - sqrt(squares / (double)l->n) / mean) : 0;
}

/* A complete graph of equal weights has the eigenvalue n / (n - 1) times the mean degree, and twice
 * the inverse of that between any two nodes; no other graph of that weight does better. */
static void score(const struct as_laplacian *l, struct assay_spectral_health *out)
{
    double mean = 0, complete;

    for (size_t i = 0; i < l->n; i++)
        mean += l->degree[i];
    mean /= (double)l->n;
    complete = mean * (double)l->n / (double)(l->n - 1);
    out->fiedler_score = complete > 0 ? within(out->fiedler_value / complete) : 0;
    out->gap_ratio = out->largest_value > 0 ? within(out->fiedler_value / out->largest_value) : 0;
    out->resistance_score = 1;
    if (complete > 0 && isfinite(out->mean_resistance))
        out->resistance_score = within(1 - 2 / complete / out->mean_resistance);
    out->degree_regularity = regularity(l, mean);
    out->composite = 0.3 * out->fiedler_score + 0.3 * out->gap_ratio +
                     0.2 * (1 - out->resistance_score) + 0.2 * out->degree_regularity;
}

static void alert(struct assay_spectral_health *out)
{
    out->alerts =
        (out->fiedler_score < LEAST_FIEDLER ? (unsigned)ASSAY_SPECTRAL_ALERT_FIEDLER : 0) |
        (out->gap_ratio < LEAST_GAP ? (unsigned)ASSAY_SPECTRAL_ALERT_GAP : 0) |
        (out->resistance_score > MOST_RESISTANCE ? (unsigned)ASSAY_SPECTRAL_ALERT_RESISTANCE : 0) |
        (out->composite < LEAST_COMPOSITE ? (unsigned)ASSAY_SPECTRAL_ALERT_COMPOSITE : 0);
    out->rebuild = __builtin_popcount(out->alerts) >= ALERTS_TO_REBUILD;
}

static void examine(struct study *s, struct assay_spectral_health *out)
{
    *out = (struct assay_spectral_health){.size = sizeof(struct assay_spectral_health),
                                          .n_parts = s->graph.n_parts,
                                          .converged = true};
    if (s->graph.n_parts == 1) /* else it is 0 */
        out->converged = iterate(s, true, &out->fiedler_value);
    out->converged &= iterate(s, false, &out->largest_value);
    resistances(s, out);
    out->converged &= s->graph.n_unsolved == 0;
    score(&s->graph, out);
    alert(out);
}

static int take_options(struct assay_spectral_options *to,
                        const struct assay_spectral_options *from, struct assay_error *err)
{
    int rc = as_sized_take(to, sizeof *to, from, "options of spectral health", err);

    if (rc < 0)
        return rc;
    if (!(to->tolerance >= 0))
        return as_fail(err, ASSAY_ERR_USAGE, "the tolerance must be more than 0");
    to->max_iterations = to->max_iterations ? to->max_iterations : 50;
    to->tolerance = to->tolerance > 0 ? to->tolerance : 1e-6;
    to->max_pairs = to->max_pairs ? to->max_pairs : 32;
    to->seed = to->seed ? to->seed : 42;
    return ASSAY_OK;
}

int assay_attention_graph_health(const struct assay_attention_graph *graph,
                                 const struct assay_spectral_options *options,
                                 struct assay_spectral_health *out, struct assay_error *err)
{
    struct study s = {0};
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the answer was given");
    rc = take_options(&s.options, options, err);
    if (rc < 0)
        return rc;
    as_rng_seed(&s.rng, s.options.seed);
    rc = as_laplacian_init(&s.graph, graph, err);
    if (rc < 0)
        return rc;
    s.x = as_alloc_zero(s.graph.n, sizeof *s.x);
    s.y = as_alloc_zero(s.graph.n, sizeof *s.y);
    if (s.x && s.y)
        examine(&s, out);
    else
        rc = as_fail_nomem(err);
    as_free(s.x);
    as_free(s.y);
    as_laplacian_fini(&s.graph);
    return rc;
}
