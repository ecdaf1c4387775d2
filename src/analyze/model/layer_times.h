/* analyze/model/layer_times.h - how long each layer typically takes: the one estimator behind every
 * time of a layer of a model. */
#ifndef AS_ANALYZE_MODEL_LAYER_TIMES_H
#define AS_ANALYZE_MODEL_LAYER_TIMES_H

#include "measure/latency/profile_data.h"

#define AS_NO_ROW SIZE_MAX

/* Fills `ns` of `n_rows` layers and their sum. `row_of_step` says which layer a step of the data
 * belongs to, or AS_NO_ROW; NULL: every step is a layer. NaN for a layer without a step.
 *
 * A layer's time is the p50 of its self time over the profiled inferences. The sum is that of these
 * p50s: a stall that hits another layer in each inference is in none of them, so the sum may be
 * shorter than the median inference. */
AS_MUST_USE int as_layer_times(double *ns, double *sum_ns, const struct as_profile_data *data,
                               const size_t *row_of_step, size_t n_rows, struct assay_error *err);

#endif
