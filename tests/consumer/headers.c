/* tests/consumer/headers.c - every public header in one C file: no two of them define the same
 * name. */
#include <assay/anomaly.h>
#include <assay/assay.h>
#include <assay/attention.h>
#include <assay/bench_csv.h>
#include <assay/bottlenecks.h>
#include <assay/bundle.h>
#include <assay/compare.h>
#include <assay/distributed.h>
#include <assay/error.h>
#include <assay/fingerprint.h>
#include <assay/latency.h>
#include <assay/leaks.h>
#include <assay/manager.h>
#include <assay/measure.h>
#include <assay/memory.h>
#include <assay/model.h>
#include <assay/power.h>
#include <assay/quality.h>
#include <assay/scope.h>
#include <assay/witness.h>

int headers_fit_together(void);

int headers_fit_together(void)
{
    return (int)sizeof(struct assay_layer_profile) > 0 &&
           (int)sizeof(struct assay_model_layer_profile) > 0;
}
