/* experiment/quality/quality_batch.c - lists of vectors: how often they contradict, how steady they
 * are, and how much a batch lost. */
#include <math.h>

#include "base/units.h"
#include "experiment/quality/quality_pair.h"
#include "stats/inference/welch.h"

/* Says which pair a failure is about. */
static int pair_at(const struct assay_vector *a, const struct assay_vector *b, size_t i,
                   struct as_quality_sums *sums, struct assay_error *err)
{
    struct assay_error why;
    int rc = as_quality_pair(a, b, sums, &why);

    return rc < 0 ? as_fail(err, rc, "pair %zu: %s", i, why.msg) : rc;
}

static int check_lists(const struct assay_vector *a, size_t n_a, const struct assay_vector *b,
                       size_t n_b, const void *out, struct assay_error *err)
{
    if (n_a != n_b)
        return as_fail(err, ASSAY_ERR_USAGE, "%zu and %zu vectors cannot be paired", n_a, n_b);
    if (!out || (n_a > 0 && (!a || !b)))
        return as_fail(err, ASSAY_ERR_USAGE, "vectors and a place for the answer are needed");
    return ASSAY_OK;
}

int assay_quality_contradiction_rate(const struct assay_vector *predictions, size_t n_predictions,
                                     const struct assay_vector *references, size_t n_references,
                                     double *out, struct assay_error *err)
{
    uint64_t against = 0;
    int rc = check_lists(predictions, n_predictions, references, n_references, out, err);

    for (size_t i = 0; i < n_predictions && rc == ASSAY_OK; i++) {
        struct as_quality_sums sums;

        rc = pair_at(&predictions[i], &references[i], i, &sums, err);
        against += rc == ASSAY_OK && sums.ab < 0;
    }
    if (rc == ASSAY_OK)
        *out = n_predictions > 0 ? (double)against / (double)n_predictions : 0;
    return rc;
}

int assay_quality_entailment_consistency(const struct assay_vector *outputs, size_t n, double *out,
                                         struct assay_error *err)
{
    double total = 0;
    int rc = check_lists(outputs, n, outputs, n, out, err);

    for (size_t i = 0; i + 1 < n && rc == ASSAY_OK; i++) {
        struct as_quality_sums sums;

        rc = pair_at(&outputs[i], &outputs[i + 1], i, &sums, err);
        if (rc == ASSAY_OK)
            total += as_quality_cosine(&sums);
    }
    if (rc == ASSAY_OK)
        *out = n < 2 ? 1 : total / (double)(n - 1);
    return rc;
}

/* Mean and squared distances from it, kept up to date value by value. */
struct running {
    double mean, squares;
    uint64_t n, passed;
};

static void tell(const struct running *r, struct assay_batch_result *out)
{
    double n = (double)r->n, margin;

    *out = (struct assay_batch_result){
        .size = sizeof(struct assay_batch_result),
        .mean_coherence_delta = AS_UNKNOWN,
        .std_coherence_delta = AS_UNKNOWN,
        .mean_coherence_loss = AS_UNKNOWN,
        .ci_95_lower = AS_UNKNOWN,
        .ci_95_upper = AS_UNKNOWN,
        .pass_rate = AS_UNKNOWN,
        .n_samples = r->n,
    };
    if (r->n == 0)
        return;
    out->mean_coherence_delta = r->mean;
    out->mean_coherence_loss = 0 - r->mean;
    out->pass_rate = (double)r->passed / n;
    if (r->n < 2)
        return;
    out->std_coherence_delta = sqrt(r->squares / (n - 1));
    margin = as_student_point(0.95, n - 1) * out->std_coherence_delta / sqrt(n);
    out->ci_95_lower = r->mean - margin;
    out->ci_95_upper = r->mean + margin;
}

int assay_quality_evaluate_batch(const struct assay_vector *bases, size_t n_bases,
                                 const struct assay_vector *gateds, size_t n_gateds,
                                 double threshold, struct assay_batch_result *out,
                                 struct assay_error *err)
{
    struct running r = {0};
    int rc = check_lists(bases, n_bases, gateds, n_gateds, out, err);

    if (rc == ASSAY_OK && isnan(threshold))
        rc = as_fail(err, ASSAY_ERR_USAGE, "the threshold is not a number");
    for (size_t i = 0; i < n_bases && rc == ASSAY_OK; i++) {
        struct as_quality_sums sums;
        double cosine, delta, before;

        rc = pair_at(&bases[i], &gateds[i], i, &sums, err);
        if (rc < 0)
            break;
        cosine = as_quality_cosine(&sums);
        delta = cosine - 1;
        before = delta - r.mean;
        r.n++;
        r.mean += before / (double)r.n;
        r.squares += before * (delta - r.mean);
        r.passed += cosine >= threshold;
    }
    if (rc == ASSAY_OK)
        tell(&r, out);
    return rc;
}
