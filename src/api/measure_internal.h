/* api/measure_internal.h - one measuring of a model for the calls of assay/measure.h.
 * Holds what the measuring borrows, until all figures are taken from it. */
#ifndef AS_API_MEASURE_INTERNAL_H
#define AS_API_MEASURE_INTERNAL_H

#include <assay/measure.h>

#include "api/model_sizes.h"
#include "base/units.h"
#include "measure/latency/profile_run.h"
#include "model/cost/cost.h"

struct as_measure_setup {
    struct assay_model *model;
    struct assay_measure_options options; /* all of them, whatever the caller's version has */
    struct as_handle_sizes sizes;
    struct as_input_file *files;
    struct assay_model_counts counts;
    struct as_profile_run *run;
};

enum as_measure_pass { AS_PASS_TIMING = 1, AS_PASS_PROFILE = 2, AS_PASS_MEMORY = 4 };

/* The caller's options, with zeros for those its version does not have. */
int as_measure_options(struct assay_measure_options *to, const struct assay_measure_options *given,
                       struct assay_error *err);

/* Counts the model, runs the passes and keeps both. Sizes that come from files hold for the model
 * from then on. */
AS_MUST_USE int as_measure_setup_open(struct as_measure_setup *s, struct assay_model *model,
                                      const struct assay_measure_options *options, unsigned passes,
                                      struct assay_error *err);
/* Counts the model once more, since running it inferred other types; fails when that does. */
AS_MUST_USE int as_measure_setup_close(struct as_measure_setup *s, struct assay_error *err);

void as_measure_put_latency(struct assay_latency *out, const struct as_latency_run *run,
                            const struct assay_measure_options *options);
void as_measure_put_memory(struct assay_memory *out, const struct as_measure_setup *s);

/* Options of the timing of anything. */
struct as_latency_options as_measure_latency_options(const struct assay_measure_options *options);

#endif
