/* analyze/recommend/recommend_internal.h - what the files of rules share. A rule looks at a profile
 * and adds a recommendation, or nothing. */
#ifndef AS_ANALYZE_RECOMMEND_RECOMMEND_INTERNAL_H
#define AS_ANALYZE_RECOMMEND_RECOMMEND_INTERNAL_H

#include <string.h>

#include "analyze/model/profile.h"
#include "base/text/text.h"
#include "base/units.h"

/* Below these shares of the time nothing is said. */
#define AS_WORTH_SAYING 0.05
#define AS_MUCH         0.2
#define AS_HALF         0.5

/* A sentence in the profile's memory; "" without any. */
AS_PRINTF(2, 3) const char *as_recommend_text(struct as_profile *p, const char *fmt, ...);

/* What a rule found. Without a known gain its share of the time makes the severity. */
struct as_advice {
    const char *rule, *action, *evidence;
    double gain, share;
    enum assay_confidence confidence;
    const char *target;
};

void as_recommend_add(struct as_profile *p, const struct as_advice *advice);

/* ---- recommend_time.c: what the times of layers show against the roofline ---- */
/* False: handing work from thread to thread takes so much of the time that what layers take shows
 * little else. */
bool as_recommend_threads(struct as_profile *p);
void as_recommend_by_roofline(struct as_profile *p);
void as_recommend_plain(struct as_profile *p);

/* ---- recommend_graph.c: what the graph has that costs time and computes nothing ---- */
void as_recommend_by_graph(struct as_profile *p);

/* ---- of one layer ---- */

static inline bool as_layer_is_op(const struct as_profile_layer *layer, const char *op)
{
    return strcmp(layer->step->op, op) == 0;
}

static inline bool as_layer_is_plain(const struct as_profile_layer *layer)
{
    return strcmp(layer->step->kernel, "plain C") == 0;
}

/* A GEMM or convolution in our own kernel: its time shows what this engine lacks, not what to do
 * to the model. */
static inline bool as_layer_is_plain_product(const struct as_profile_layer *layer)
{
    return layer->step->macs > 0 && as_layer_is_plain(layer);
}

/* What bounds it, where its counts and the peaks can be true together. */
static inline bool as_layer_is_bound_by(const struct as_profile_layer *layer, enum as_bound bound)
{
    return layer->roof.bound == bound && !layer->roof.inconsistent;
}

static inline const char *as_plural(size_t n)
{
    return n == 1 ? "" : "s";
}

#endif
