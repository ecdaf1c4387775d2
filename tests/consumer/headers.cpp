// tests/consumer/headers.cpp - every public header in one C++ file.
#include <assay/anomaly.h>
#include <assay/assay.h>
#include <assay/bottlenecks.h>
#include <assay/compare.h>
#include <assay/distributed.h>
#include <assay/error.h>
#include <assay/experiment/attention.h>
#include <assay/experiment/bench_csv.h>
#include <assay/experiment/bundle.h>
#include <assay/experiment/fingerprint.h>
#include <assay/experiment/quality.h>
#include <assay/experiment/witness.h>
#include <assay/latency.h>
#include <assay/leaks.h>
#include <assay/lock.h>
#include <assay/manager.h>
#include <assay/measure.h>
#include <assay/memory.h>
#include <assay/model.h>
#include <assay/power.h>
#include <assay/scope.h>

int headers_fit_together_in_cpp();

int headers_fit_together_in_cpp()
{
    return sizeof(assay_layer_profile) > 0 && sizeof(assay_model_layer_profile) > 0;
}
