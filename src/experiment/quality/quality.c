/* experiment/quality/quality.c - how far one vector is from another.
 * Squares of f32 neither overflow nor vanish in double, so nothing here needs scaling. */
#include <assay/experiment/quality.h>

#include <math.h>

#include "base/error.h"
#include "base/units.h"
#include "experiment/quality/quality_pair.h"

static int find_wrong(const char *which, const float *x, size_t n, struct assay_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return as_fail(err, ASSAY_ERR_FORMAT, "element %zu of the %s vector is %s", i, which,
                           isnan(x[i]) ? "not a number" : "infinite");
    return ASSAY_OK;
}

int as_quality_pair(const struct assay_vector *a, const struct assay_vector *b,
                    struct as_quality_sums *sums, struct assay_error *err)
{
    int rc;

    *sums = (struct as_quality_sums){0};
    if (a->n != b->n)
        return as_fail(err, ASSAY_ERR_USAGE, "vectors of %zu and %zu elements cannot be compared",
                       a->n, b->n);
    if (a->n > 0 && (!a->at || !b->at))
        return as_fail(err, ASSAY_ERR_USAGE, "a vector is missing");
    rc = find_wrong("first", a->at, a->n, err);
    if (rc == ASSAY_OK)
        rc = find_wrong("second", b->at, b->n, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < a->n; i++) {
        double x = (double)a->at[i], y = (double)b->at[i], apart = fabs(x - y);

        sums->aa += x * x;
        sums->bb += y * y;
        sums->ab += x * y;
        sums->apart += apart * apart;
        sums->most = apart > sums->most ? apart : sums->most;
        sums->flips += (x < 0) != (y < 0);
    }
    return ASSAY_OK;
}

/* The root of one product: of equal vectors it is exactly 1. */
double as_quality_cosine(const struct as_quality_sums *sums)
{
    double cosine;

    if (sums->aa == 0 || sums->bb == 0)
        return sums->aa == sums->bb ? 1 : 0;
    cosine = sums->ab / sqrt(sums->aa * sums->bb);
    return cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
}

/* Sums of two plain arrays, with a place for the answer. */
static int sum(const float *a, size_t n_a, const float *b, size_t n_b, const void *out,
               struct as_quality_sums *sums, struct assay_error *err)
{
    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the answer was given");
    return as_quality_pair(&(struct assay_vector){a, n_a}, &(struct assay_vector){b, n_b}, sums,
                           err);
}

int assay_quality_cosine_similarity(const float *a, size_t n_a, const float *b, size_t n_b,
                                    double *out, struct assay_error *err)
{
    struct as_quality_sums sums = {0};
    int rc = sum(a, n_a, b, n_b, out, &sums, err);

    if (rc == ASSAY_OK)
        *out = as_quality_cosine(&sums);
    return rc;
}

int assay_quality_l2_distance(const float *a, size_t n_a, const float *b, size_t n_b, double *out,
                              struct assay_error *err)
{
    struct as_quality_sums sums = {0};
    int rc = sum(a, n_a, b, n_b, out, &sums, err);

    if (rc == ASSAY_OK)
        *out = sqrt(sums.apart);
    return rc;
}

int assay_quality_max_abs_error(const float *base, size_t n_base, const float *other,
                                size_t n_other, double *out, struct assay_error *err)
{
    struct as_quality_sums sums = {0};
    int rc = sum(base, n_base, other, n_other, out, &sums, err);

    if (rc == ASSAY_OK)
        *out = sums.most;
    return rc;
}

int assay_quality_relative_error(const float *base, size_t n_base, const float *other,
                                 size_t n_other, double *out, struct assay_error *err)
{
    struct as_quality_sums sums = {0};
    int rc = sum(base, n_base, other, n_other, out, &sums, err);

    if (rc < 0)
        return rc;
    if (sums.aa > 0)
        *out = sqrt(sums.apart) / sqrt(sums.aa);
    else
        *out = sums.bb > 0 ? AS_UNKNOWN : 0;
    return ASSAY_OK;
}

/* log of the sum of exp(x), without overflow: the greatest is 1 of the sum. */
static double log_sum(const float *x, size_t n)
{
    size_t top = 0;
    double rest = 0;

    for (size_t i = 1; i < n; i++)
        top = x[i] > x[top] ? i : top;
    for (size_t i = 0; i < n; i++)
        if (i != top)
            rest += exp((double)x[i] - (double)x[top]);
    return (double)x[top] + log1p(rest);
}

int assay_quality_softmax_kl(const float *base, size_t n_base, const float *other, size_t n_other,
                             double *out, struct assay_error *err)
{
    struct as_quality_sums sums = {0};
    double log_p, log_q, total = 0;
    int rc = sum(base, n_base, other, n_other, out, &sums, err);

    if (rc < 0)
        return rc;
    *out = 0;
    if (n_base == 0)
        return ASSAY_OK;
    log_p = log_sum(base, n_base);
    log_q = log_sum(other, n_base);
    for (size_t i = 0; i < n_base; i++) {
        double p = (double)base[i] - log_p, q = (double)other[i] - log_q;

        total += exp(p) * (p - q);
    }
    *out = total > 0 ? total : 0; /* below it only by rounding */
    return ASSAY_OK;
}

int assay_quality_delta_behavior(const float *base, size_t n_base, const float *gated,
                                 size_t n_gated, struct assay_delta_metric *out,
                                 struct assay_error *err)
{
    struct as_quality_sums sums = {0};
    double cosine;
    int rc = sum(base, n_base, gated, n_gated, out, &sums, err);

    if (rc < 0)
        return rc;
    cosine = as_quality_cosine(&sums);
    *out = (struct assay_delta_metric){
        .size = sizeof(struct assay_delta_metric),
        .coherence_delta = cosine - 1,
        .coherence_loss = 1 - cosine,
        .decision_flips = sums.flips,
    };
    if (sums.aa > 0)
        out->path_length_change = sqrt(sums.bb) / sqrt(sums.aa) - 1;
    else if (sums.bb > 0)
        out->path_length_change = AS_UNKNOWN;
    return ASSAY_OK;
}

int assay_quality_check(const float *base, size_t n_base, const float *gated, size_t n_gated,
                        double threshold, struct assay_quality_result *out, struct assay_error *err)
{
    struct as_quality_sums sums = {0};
    int rc;

    if (isnan(threshold))
        return as_fail(err, ASSAY_ERR_USAGE, "the threshold is not a number");
    rc = sum(base, n_base, gated, n_gated, out, &sums, err);
    if (rc < 0)
        return rc;
    out->size = sizeof *out;
    out->cosine_sim = as_quality_cosine(&sums);
    out->l2_dist = sqrt(sums.apart);
    out->passes_threshold = out->cosine_sim >= threshold;
    return ASSAY_OK;
}
