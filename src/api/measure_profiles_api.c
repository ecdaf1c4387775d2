/* api/measure_profiles_api.c - the public calls of assay/measure.h that hold a whole model against
 * what was counted of it and against the machine. Layer by layer: measure_layers_api.c. */
#include <assay/measure.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/measure_internal.h"
#include "base/alloc.h"
#include "base/text/text.h"
#include "base/units.h"
#include "measure/peaks/peaks.h"
#include "model/cost/cost_rules.h"

#define OVERHEAD_SHARE 0.25 /* when neither roof explains more of the time than this */

/* ---- the machine ---- */

int assay_measure_roof(uint32_t threads, struct assay_roof *roof, struct assay_error *err)
{
    struct as_topology topology;
    struct as_peaks_options options = {
        .topology = &topology, .max_threads = threads ? threads : 1, .quick = true};
    struct as_peaks *peaks;
    int rc;

    if (!roof)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the roof is given");
    memset(roof, 0, sizeof *roof);
    peaks = as_alloc_zero(1, sizeof *peaks);
    if (!peaks)
        return as_fail_nomem(err);
    rc = as_topology_read(&topology, NULL, err);
    if (rc == ASSAY_OK)
        rc = as_topology_check_threads(&topology, options.max_threads, err);
    if (rc == ASSAY_OK)
        rc = as_peaks_measure(peaks, &options, err);
    if (rc == ASSAY_OK)
        *roof = (struct assay_roof){
            .size = sizeof *roof,
            .threads = options.max_threads,
            .peak_gflops = as_peak_flops(peaks, AS_PEAK_F32, options.max_threads) / 1e9,
            .bandwidth_gbs = as_peak_bandwidth(peaks, AS_PEAK_DRAM, options.max_threads) / 1e9,
            .cache_bandwidth_gbs = as_peak_bandwidth(peaks, AS_PEAK_L3, options.max_threads) / 1e9,
            .cache_bytes = peaks->place[AS_PEAK_L3].size_bytes,
        };
    as_free(peaks);
    return rc;
}

/* ---- the whole ---- */

static int find_roof(struct assay_forward_profile *f, const struct assay_measure_options *o,
                     struct assay_error *err)
{
    if (!o->roof)
        return assay_measure_roof(o->threads, &f->roof, err);
    memcpy(&f->roof, o->roof, o->roof->size < sizeof f->roof ? o->roof->size : sizeof f->roof);
    return ASSAY_OK;
}

static void find_rates(struct assay_forward_profile *f, double seconds, double bandwidth)
{
    const struct assay_roof *roof = &f->roof;
    bool known = f->complete && seconds > 0;

    f->intensity =
        f->complete && f->bytes_moved ? (double)f->flops / (double)f->bytes_moved : AS_UNKNOWN;
    f->gflops_per_second = known ? (double)f->flops / 1e9 / seconds : AS_UNKNOWN;
    f->memory_bandwidth_mbs = known ? (double)f->bytes_moved / AS_MIB / seconds : AS_UNKNOWN;
    f->computational_efficiency =
        roof->peak_gflops > 0 ? f->gflops_per_second / roof->peak_gflops : AS_UNKNOWN;
    f->attainable_gflops = roof->peak_gflops > 0 && bandwidth > 0 && !isnan(f->intensity)
                               ? fmin(roof->peak_gflops, f->intensity * bandwidth / 1e9)
                               : AS_UNKNOWN;
    f->attained_share =
        f->attainable_gflops > 0 ? f->gflops_per_second / f->attainable_gflops : AS_UNKNOWN;
}

/* NULL: all of them could be had. */
static const char *why_unknown(const struct assay_forward_profile *f, double seconds,
                               double bandwidth)
{
    if (!f->complete)
        return "not every layer is counted: an operator has no rule, or a shape or a number of "
               "rounds is not the same all the time";
    if (!(f->roof.peak_gflops > 0))
        return "the peak of this machine is not known";
    if (!(bandwidth > 0))
        return "the bandwidth of this machine is not known";
    if (!(seconds > 0))
        return "a run takes less time than the clock can see";
    if (f->bytes_moved == 0)
        return "no layer moves a byte";
    if (f->flops == 0)
        return "nothing is multiplied and added, so there is no share to attain";
    return isnan(f->memory_efficiency) ? "a run takes no memory" : NULL;
}

/* Which roof the time comes nearest to; neither, when both are far away. */
static void find_bound(struct assay_forward_profile *f, double seconds)
{
    const struct assay_roof *roof = &f->roof;
    uint64_t set = f->memory.held_parameter_bytes + f->memory.activation_bytes;
    bool cached = roof->cache_bytes && set <= roof->cache_bytes && roof->cache_bandwidth_gbs > 0;
    double bandwidth = (cached ? roof->cache_bandwidth_gbs : roof->bandwidth_gbs) * 1e9;
    double computing = (double)f->flops / (roof->peak_gflops * 1e9);
    double moving = (double)f->bytes_moved / bandwidth;

    find_rates(f, seconds, bandwidth);
    f->reason = why_unknown(f, seconds, bandwidth);
    f->bottleneck = "unknown";
    if (!f->complete || !(roof->peak_gflops > 0) || !(bandwidth > 0))
        return;
    if (fmax(computing, moving) < OVERHEAD_SHARE * seconds) {
        f->bottleneck = "overhead";
        return;
    }
    f->is_memory_bound = moving > computing;
    f->is_compute_bound = !f->is_memory_bound;
    f->bottleneck = f->is_memory_bound ? "memory" : "compute";
}

static void put_forward(struct assay_forward_profile *f, const struct assay_model_counts *c)
{
    f->memory.parameter_bytes = c->parameter_bytes;
    f->memory.parameter_memory_mb = (double)c->parameter_bytes / AS_MIB;
    f->parameters = c->parameters;
    f->latency_ms = f->latency.latency_ms;
    f->parameter_memory_mb = f->memory.parameter_memory_mb;
    f->activation_memory_mb = f->memory.activation_memory_mb;
    f->peak_memory_mb = f->memory.peak_memory_mb;
    f->memory_efficiency = f->memory.memory_efficiency;
    find_bound(f, f->latency.median_ns / 1e9);
}

/* What ran is counted, not what could have been. */
static int put_work(struct assay_forward_profile *f, struct as_measure_setup *s,
                    struct assay_error *err)
{
    struct as_costs *costs;
    int rc = as_measure_count_ran(s, &costs, err);

    if (rc < 0)
        return rc;
    f->flops = as_sat_mul(costs->forward.macs, 2);
    f->bytes_moved = as_sat_add(costs->forward.bytes_read, costs->forward.bytes_written);
    f->complete = costs->n_unknown_ops == 0 && costs->n_unknown_shapes == 0 && costs->times_known &&
                  !costs->overflow;
    as_costs_free(costs);
    return ASSAY_OK;
}

int assay_profile_forward(struct assay_model *model, const struct assay_measure_options *options,
                          struct assay_forward_profile *forward, struct assay_error *err)
{
    struct as_measure_setup s;
    int rc, closed;

    if (!forward)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the profile is given");
    memset(forward, 0, sizeof *forward);
    rc = as_measure_setup_open(&s, model, options, AS_PASS_TIMING | AS_PASS_MEMORY, err);
    if (rc < 0)
        return rc;
    as_measure_put_latency(&forward->latency, &s.run->latency, &s.options);
    as_measure_put_memory(&forward->memory, &s);
    rc = put_work(forward, &s, err);
    closed = as_measure_setup_close(&s, rc < 0 ? NULL : err);
    rc = rc < 0 ? rc : closed;
    if (rc == ASSAY_OK)
        rc = find_roof(forward, &s.options, err);
    if (rc < 0) {
        memset(forward, 0, sizeof *forward);
        return rc;
    }
    put_forward(forward, &s.counts);
    return ASSAY_OK;
}

int assay_quick_profile(struct assay_model *model, const struct assay_measure_options *options,
                        struct assay_forward_profile *forward, char *text, size_t capacity,
                        struct assay_error *err)
{
    struct assay_forward_profile own = {0};
    struct assay_forward_profile *f = forward ? forward : &own;
    char parameters[AS_TEXT_HUMAN], flops[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN];
    int rc = assay_profile_forward(model, options, f, err);

    if (rc < 0)
        return rc;
    as_text_count(parameters, f->parameters);
    as_text_si(flops, (double)f->flops, "FLOP");
    as_text_percent(share, f->computational_efficiency);
    return snprintf(text, text ? capacity : 0,
                    "Parameters   %s\n"
                    "FLOPs        %s\n"
                    "Latency      %.2f ms (%.0f %% interval of the median: %.2f to %.2f ms)\n"
                    "Memory       %.2f MB at the peak\n"
                    "Bottleneck   %s\n"
                    "Efficiency   %s of the machine's peak (%.2f GFLOP/s)\n",
                    parameters, flops, f->latency_ms, 100 * f->latency.level,
                    f->latency.low_ns / 1e6, f->latency.high_ns / 1e6, f->peak_memory_mb,
                    f->bottleneck, share, f->gflops_per_second);
}
