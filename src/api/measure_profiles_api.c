/* api/measure_profiles_api.c - the public calls of assay/measure.h that hold a whole model against
 * what was counted of it and against the machine. Layer by layer: measure_layers_api.c. */
#include <assay/measure.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/model/profile.h"
#include "api/measure_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text/text.h"
#include "base/units.h"

/* ---- the machine ---- */

static int measure_peaks(struct as_peaks *peaks, uint32_t threads, struct assay_error *err)
{
    struct as_topology topology;
    struct as_peaks_options options = {
        .topology = &topology, .max_threads = threads, .quick = true};
    int rc = as_topology_read(&topology, NULL, err);

    if (rc == ASSAY_OK)
        rc = as_topology_check_threads(&topology, options.max_threads, err);
    return rc < 0 ? rc : as_peaks_measure(peaks, &options, err);
}

static struct assay_roof roof_of(const struct as_peaks *peaks, uint32_t threads)
{
    return (struct assay_roof){
        .size = sizeof(struct assay_roof),
        .threads = threads,
        .peak_gflops = as_peak_flops(peaks, AS_PEAK_F32, threads) / 1e9,
        .bandwidth_gbs = as_peak_bandwidth(peaks, AS_PEAK_DRAM, threads) / 1e9,
        .cache_bandwidth_gbs = as_peak_bandwidth(peaks, AS_PEAK_L3, threads) / 1e9,
        .cache_bytes = peaks->place[AS_PEAK_L3].size_bytes,
        .l1_bandwidth_gbs = as_peak_bandwidth(peaks, AS_PEAK_L1, threads) / 1e9,
        .l2_bandwidth_gbs = as_peak_bandwidth(peaks, AS_PEAK_L2, threads) / 1e9,
        .l1_bytes = peaks->place[AS_PEAK_L1].size_bytes,
        .l2_bytes = peaks->place[AS_PEAK_L2].size_bytes,
        .peak_f64_gflops = as_peak_flops(peaks, AS_PEAK_F64, threads) / 1e9,
        .peak_i8_gops = as_peak_flops(peaks, AS_PEAK_I8, threads) / 1e9,
    };
}

int assay_roof_measure(uint32_t threads, struct assay_roof *roof, struct assay_error *err)
{
    struct as_peaks *peaks;
    int rc;

    if (!roof)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the roof is given");
    memset(roof, 0, sizeof *roof);
    peaks = as_alloc_zero(1, sizeof *peaks);
    if (!peaks)
        return as_fail_nomem(err);
    threads = threads ? threads : 1;
    rc = measure_peaks(peaks, threads, err);
    if (rc == ASSAY_OK)
        *roof = roof_of(peaks, threads);
    as_free(peaks);
    return rc;
}

static int find_peaks(struct as_profile_data *d, struct assay_forward_profile *f,
                      const struct assay_measure_options *o, struct assay_error *err)
{
    uint32_t threads = o->threads ? o->threads : 1;
    int rc = ASSAY_OK;

    if (o->roof) {
        rc = as_sized_take(&f->roof, sizeof f->roof, o->roof, "a roof", err);
        if (rc < 0)
            return rc;
        as_peaks_from_rates(
            &d->peaks,
            &(struct as_peak_rates){.flops = {[AS_PEAK_F32] = f->roof.peak_gflops * 1e9,
                                              [AS_PEAK_F64] = f->roof.peak_f64_gflops * 1e9,
                                              [AS_PEAK_I8] = f->roof.peak_i8_gops * 1e9},
                                    .bytes = {[AS_PEAK_L1] = f->roof.l1_bandwidth_gbs * 1e9,
                                              [AS_PEAK_L2] = f->roof.l2_bandwidth_gbs * 1e9,
                                              [AS_PEAK_L3] = f->roof.cache_bandwidth_gbs * 1e9,
                                              [AS_PEAK_DRAM] = f->roof.bandwidth_gbs * 1e9},
                                    .size = {[AS_PEAK_L1] = f->roof.l1_bytes,
                                             [AS_PEAK_L2] = f->roof.l2_bytes,
                                             [AS_PEAK_L3] = f->roof.cache_bytes}},
            threads);
    } else {
        rc = measure_peaks(&d->peaks, threads, err);
        f->roof = roof_of(&d->peaks, threads);
    }
    d->has_peaks = rc == ASSAY_OK;
    return rc;
}

/* ---- the whole ---- */

/* NULL: all of them could be had. */
static const char *why_unknown(const struct assay_forward_profile *f)
{
    if (!f->complete)
        return "not every layer is counted: an operator has no rule, or a shape or a number of "
               "rounds is not the same all the time";
    if (!(f->roof.peak_gflops > 0))
        return "the peak compute of this machine is unknown";
    if (!(f->roof.bandwidth_gbs > 0))
        return "the memory bandwidth of this machine is unknown";
    if (!(f->latency_ms > 0))
        return "an inference takes less time than the clock resolves";
    if (f->bytes_moved == 0)
        return "no layer moves a byte";
    if (f->flops > 0 && isnan(f->attained_share))
        return "the roof has no peak for the types that most of the time is spent on";
    if (f->flops == 0)
        return "nothing is computed, so efficiency is undefined";
    return isnan(f->memory_efficiency) ? "an inference takes no memory" : NULL;
}

static void put_forward(struct assay_forward_profile *f, const struct as_profile *p,
                        const struct assay_model_counts *c)
{
    const struct as_profile_subject *m = &p->data->model;
    const struct as_roof *roof = &p->roof;
    double peak = f->roof.peak_gflops;

    f->memory.parameter_bytes = c->parameter_bytes;
    f->memory.parameter_memory_mb = (double)c->parameter_bytes / AS_MIB;
    f->parameters = c->parameters;
    f->flops = m->flops;
    f->bytes_moved = p->bytes;
    f->complete = m->complete;
    f->latency_ms = f->latency.latency_ms;
    f->parameter_memory_mb = f->memory.parameter_memory_mb;
    f->activation_memory_mb = f->memory.activation_memory_mb;
    f->peak_memory_mb = f->memory.peak_memory_mb;
    f->memory_efficiency = f->memory.memory_efficiency;
    f->intensity = m->complete ? roof->intensity : AS_UNKNOWN;
    f->gflops_per_second = m->complete ? roof->achieved / 1e9 : AS_UNKNOWN;
    f->memory_bandwidth_mib_per_second = m->complete ? roof->bandwidth / AS_MIB : AS_UNKNOWN;
    f->computational_efficiency = peak > 0 ? f->gflops_per_second / peak : AS_UNKNOWN;
    f->attainable_gflops = m->complete ? roof->attainable / 1e9 : AS_UNKNOWN;
    f->attained_share = m->complete && f->flops > 0 ? roof->roof_fraction : AS_UNKNOWN;
    f->is_memory_bound = m->complete && roof->bound == AS_BOUND_MEMORY;
    f->is_compute_bound = m->complete && roof->bound == AS_BOUND_COMPUTE;
    f->bottleneck = as_bound_name(m->complete ? roof->bound : AS_BOUND_UNKNOWN);
    f->reason = why_unknown(f);
}

/* The same profile that `assay profile` prints. */
static int profile(struct assay_forward_profile *f, struct as_measure_setup *s,
                   struct assay_error *err)
{
    struct as_profile_data *d = as_alloc_zero(1, sizeof *d);
    struct as_profile *p = NULL;
    struct as_arena arena = {0};
    int rc = d ? as_profile_data_init(d, s->run, s->model->model, &arena, err) : as_fail_nomem(err);

    if (rc == ASSAY_OK)
        rc = find_peaks(d, f, &s->options, err);
    if (rc == ASSAY_OK)
        rc = as_profile_new(&p, d, 0, err);
    if (rc == ASSAY_OK)
        put_forward(f, p, &s->counts);
    as_profile_free(p);
    as_arena_fini(&arena);
    as_free(d);
    return rc;
}

int assay_model_profile_forward(struct assay_model *model,
                                const struct assay_measure_options *options,
                                struct assay_forward_profile *forward, struct assay_error *err)
{
    struct as_measure_setup s;
    int rc, closed;

    if (!forward)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the profile is given");
    memset(forward, 0, sizeof *forward);
    forward->size = sizeof *forward;
    rc = as_measure_setup_open(&s, model, options,
                               AS_PASS_TIMING | AS_PASS_PROFILE | AS_PASS_MEMORY, err);
    if (rc < 0)
        return rc;
    as_measure_put_latency(&forward->latency, &s.run->latency, &s.options);
    as_measure_put_memory(&forward->memory, &s);
    rc = profile(forward, &s, err);
    closed = as_measure_setup_close(&s, rc < 0 ? NULL : err);
    rc = rc < 0 ? rc : closed;
    if (rc < 0)
        memset(forward, 0, sizeof *forward);
    return rc;
}

int assay_model_profile_quick(struct assay_model *model,
                              const struct assay_measure_options *options,
                              struct assay_forward_profile *forward, char *text, size_t capacity,
                              struct assay_error *err)
{
    struct assay_forward_profile own = {0};
    struct assay_forward_profile *f = forward ? forward : &own;
    char parameters[AS_TEXT_HUMAN], flops[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN];
    int rc = assay_model_profile_forward(model, options, f, err);

    if (rc < 0)
        return rc;
    as_text_count(parameters, f->parameters);
    as_text_si(flops, (double)f->flops, "FLOP");
    as_text_percent(share, f->computational_efficiency);
    return snprintf(text, text ? capacity : 0,
                    "Parameters   %s\n"
                    "FLOPs        %s\n"
                    "Latency      %.2f ms (%.0f %% CI of the median: %.2f to %.2f ms)\n"
                    "Memory       %.2f MB at the peak\n"
                    "Bottleneck   %s\n"
                    "Efficiency   %s of the machine's peak (%.2f GFLOP/s)\n",
                    parameters, flops, f->latency_ms, 100 * f->latency.level,
                    f->latency.low_ns / 1e6, f->latency.high_ns / 1e6, f->peak_memory_mb,
                    f->bottleneck, share, f->gflops_per_second);
}
