/* analyze/measure_profiles.c - the public calls of assay/measure.h that hold what was measured
 * against what was counted, layer by layer or as a whole, and against the machine. */
#include <assay/measure.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/inspect.h"
#include "analyze/measure_session.h"
#include "base/alloc.h"
#include "base/text.h"
#include "measure/peaks.h"
#include "stats/sort.h"

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

/* ---- layers ---- */

enum { NO_STEP = -1 };

/* Which steps of the engine did the work of which layer: lists by layer. */
struct step_lists {
    int32_t *first; /* by layer */
    int32_t *next;  /* by step */
};

struct row_of_node {
    const struct as_node *node;
    size_t row;
};

static int by_node(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct row_of_node *)a)->node;
    uintptr_t y = (uintptr_t)((const struct row_of_node *)b)->node;

    return (x > y) - (x < y);
}

static int list_steps(struct step_lists *lists, const struct as_engine *engine,
                      const struct as_costs *costs, struct assay_error *err)
{
    size_t n_steps = as_engine_n_steps(engine), n_rows = costs->n_rows;
    struct row_of_node *index = as_alloc_zero(n_rows + 1, sizeof *index);

    lists->first = as_alloc_zero(n_rows + 1, sizeof *lists->first);
    lists->next = as_alloc_zero(n_steps + 1, sizeof *lists->next);
    if (!index || !lists->first || !lists->next) {
        as_free(index);
        return as_fail_nomem(err);
    }
    for (size_t i = 0; i < n_rows; i++) {
        index[i] = (struct row_of_node){costs->rows[i].node, i};
        lists->first[i] = NO_STEP;
    }
    qsort(index, n_rows, sizeof *index, by_node);
    for (size_t i = n_steps; i-- > 0;) {
        struct as_step_info info;
        struct row_of_node key = {0}, *found;

        as_engine_step(engine, i, &info);
        key.node = info.node ? info.node : info.n_sources ? info.sources[0] : NULL;
        found = key.node ? bsearch(&key, index, n_rows, sizeof *index, by_node) : NULL;
        if (!found)
            continue;
        lists->next[i] = lists->first[found->row];
        lists->first[found->row] = (int32_t)i;
    }
    as_free(index);
    return ASSAY_OK;
}

static double median_of(double *v, size_t n, double *scratch)
{
    struct as_sorted s = as_sorted_f64(v, n);

    as_sort_f64(v, n, scratch);
    return as_sorted_median(&s);
}

/* Sums over all steps in each run, so that the shares add up to one. `work` has room for twice the
 * runs. */
static double all_layers_ns(const struct as_profile_pass *pass, double *work)
{
    for (size_t run = 0; run < pass->n_runs; run++) {
        work[run] = 0;
        for (size_t step = 0; step < pass->n_steps; step++)
            work[run] += (double)pass->self_ns[step * pass->n_runs + run];
    }
    return median_of(work, pass->n_runs, work + pass->n_runs);
}

static void put_time(struct assay_layer_profile *layer, const struct as_profile_run *run,
                     const struct step_lists *lists, size_t row, double *work)
{
    const struct as_profile_pass *pass = &run->profile;
    uint64_t live = 0;
    double ns;

    layer->latency_ms = layer->gflops_per_second = layer->share = (double)NAN;
    layer->peak_memory_mb = layer->memory_efficiency = (double)NAN;
    layer->reason = "the layer is not run: its result is known before, or nobody needs it";
    if (lists->first[row] == NO_STEP)
        return;
    memset(work, 0, pass->n_runs * sizeof *work);
    for (int32_t s = lists->first[row]; s != NO_STEP; s = lists->next[s]) {
        for (size_t i = 0; i < pass->n_runs; i++)
            work[i] += (double)pass->self_ns[(size_t)s * pass->n_runs + i];
        if (run->memory.live_bytes[s] > live)
            live = run->memory.live_bytes[s];
    }
    ns = median_of(work, pass->n_runs, work + pass->n_runs);
    layer->latency_ms = ns / 1e6;
    layer->peak_memory_mb = (double)live / AS_MIB + layer->parameter_memory_mb;
    layer->reason = NULL;
    if (ns > 0)
        layer->gflops_per_second = (double)layer->flops / ns;
    else
        layer->reason = "the layer takes less time than the clock can see";
    if (layer->peak_memory_mb > 0)
        layer->memory_efficiency =
            (layer->parameter_memory_mb + layer->activation_memory_mb) / layer->peak_memory_mb;
}

static void put_layer(struct assay_layer_profile *layer, const struct as_cost_row *row)
{
    struct as_cost all = {0};

    as_cost_add(&all, &row->forward, row->times);
    *layer = (struct assay_layer_profile){
        .name = as_node_label(row->graph, row->node),
        .layer_type = row->node->op_name,
        .parameters = row->parameters,
        .flops = all.macs ? (all.macs > UINT64_MAX / 2 ? UINT64_MAX : 2 * all.macs)
                          : as_cost_flops(&all),
        .parameter_memory_mb = (double)row->parameter_bytes / AS_MIB,
        .activation_memory_mb = (double)row->output_bytes / AS_MIB,
    };
}

/* Layers [first, first + room) of those the model has. */
static int profile_rows(const struct as_measure_session *s, size_t first,
                        struct assay_layer_profile *layers, size_t room, struct assay_error *err)
{
    const struct as_inspection *found = s->model->counted;
    const struct as_costs *costs = found->costs;
    struct step_lists lists = {0};
    double *work = as_alloc_zero(s->run->profile.n_runs + 1, 2 * sizeof *work), all;
    int rc = work ? list_steps(&lists, s->run->engine, costs, err) : as_fail_nomem(err);

    if (rc == ASSAY_OK) {
        all = all_layers_ns(&s->run->profile, work);
        for (size_t i = 0; i < room && first + i < costs->n_rows; i++) {
            put_layer(&layers[i], &costs->rows[first + i]);
            put_time(&layers[i], s->run, &lists, first + i, work);
            if (all > 0)
                layers[i].share = layers[i].latency_ms * 1e6 / all;
        }
    }
    as_free(lists.first);
    as_free(lists.next);
    as_free(work);
    return rc;
}

/* Names of layers are those of the last count; counting again does not move them. */
static int profile_layers(struct assay_model *model, const struct assay_measure_options *options,
                          size_t first, struct assay_layer_profile *layers, size_t room,
                          size_t *n_layers, struct assay_error *err)
{
    struct assay_measure_options o = as_measure_options(options);
    struct as_measure_session s;
    int rc, closed;

    o.no_fuse = true;
    rc = as_measure_session_open(&s, model, &o, AS_PASS_PROFILE | AS_PASS_MEMORY, err);
    if (rc < 0)
        return rc;
    *n_layers = (size_t)s.counts.n_layers;
    rc = profile_rows(&s, first, layers, room, err);
    closed = as_measure_session_close(&s, rc < 0 ? NULL : err);
    return rc < 0 ? rc : closed;
}

int assay_profile_layers(struct assay_model *model, const struct assay_measure_options *options,
                         struct assay_layer_profile *layers, size_t room, struct assay_error *err)
{
    size_t n = 0;
    int rc;

    if (!layers && room)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the layers is given");
    rc = profile_layers(model, options, 0, layers, room, &n, err);
    if (rc < 0)
        return rc;
    return n > INT_MAX ? INT_MAX : (int)n;
}

int assay_profile_layer(struct assay_model *model, size_t i,
                        const struct assay_measure_options *options,
                        struct assay_layer_profile *layer, struct assay_error *err)
{
    struct assay_model_counts counts;
    size_t n = 0;
    int rc;

    if (!layer)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the layer is given");
    memset(layer, 0, sizeof *layer);
    rc = assay_model_count(model, &counts, err);
    if (rc < 0)
        return rc;
    if (i >= counts.n_layers)
        return as_fail(err, ASSAY_ERR_NOTFOUND,
                       "the model has %llu layers, so there is no layer %zu",
                       (unsigned long long)counts.n_layers, i);
    return profile_layers(model, options, i, layer, 1, &n, err);
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

/* Which roof the time comes nearest to; neither, when both are far away. */
static void find_bound(struct assay_forward_profile *f, double seconds)
{
    const struct assay_roof *roof = &f->roof;
    uint64_t set = f->memory.held_parameter_bytes + f->memory.activation_bytes;
    bool cached = roof->cache_bytes && set <= roof->cache_bytes && roof->cache_bandwidth_gbs > 0;
    double bandwidth = (cached ? roof->cache_bandwidth_gbs : roof->bandwidth_gbs) * 1e9;
    double peak = roof->peak_gflops * 1e9;
    double computing = (double)f->flops / peak, moving = (double)f->bytes_moved / bandwidth;

    f->bottleneck = "unknown";
    f->computational_efficiency = f->gflops_per_second / roof->peak_gflops;
    f->attainable_gflops = fmin(peak, f->intensity * bandwidth) / 1e9;
    if (isnan(peak) || isnan(bandwidth) || isnan(f->intensity))
        f->attainable_gflops = (double)NAN;
    f->attained_share = f->gflops_per_second / f->attainable_gflops;
    if (!(peak > 0)) {
        f->computational_efficiency = f->attained_share = (double)NAN;
        f->reason = "the peak of this machine is not known";
    } else if (!(bandwidth > 0)) {
        f->reason = "the bandwidth of this machine is not known";
    } else if (fmax(computing, moving) < OVERHEAD_SHARE * seconds) {
        f->bottleneck = "overhead";
    } else {
        f->is_memory_bound = moving > computing;
        f->is_compute_bound = !f->is_memory_bound;
        f->bottleneck = f->is_memory_bound ? "memory" : "compute";
    }
}

static void put_forward(struct assay_forward_profile *f, const struct assay_model_counts *c)
{
    double seconds = f->latency.median_ns / 1e9;

    f->memory.parameter_bytes = c->parameter_bytes;
    f->memory.parameter_memory_mb = (double)c->parameter_bytes / AS_MIB;
    f->parameters = c->parameters;
    f->flops = c->macs > UINT64_MAX / 2 ? UINT64_MAX : 2 * c->macs;
    f->bytes_moved = c->bytes_moved;
    f->complete = c->complete;
    f->latency_ms = f->latency.latency_ms;
    f->parameter_memory_mb = f->memory.parameter_memory_mb;
    f->activation_memory_mb = f->memory.activation_memory_mb;
    f->peak_memory_mb = f->memory.peak_memory_mb;
    f->memory_efficiency = f->memory.memory_efficiency;
    f->intensity = f->bytes_moved ? (double)f->flops / (double)f->bytes_moved : (double)NAN;
    f->gflops_per_second = seconds > 0 ? (double)f->flops / 1e9 / seconds : (double)NAN;
    f->memory_bandwidth_mbs = seconds > 0 ? (double)f->bytes_moved / AS_MIB / seconds : (double)NAN;
    find_bound(f, seconds);
}

int assay_profile_forward(struct assay_model *model, const struct assay_measure_options *options,
                          struct assay_forward_profile *forward, struct assay_error *err)
{
    struct as_measure_session s;
    int rc;

    if (!forward)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the profile is given");
    memset(forward, 0, sizeof *forward);
    rc = as_measure_session_open(&s, model, options, AS_PASS_TIMING | AS_PASS_MEMORY, err);
    if (rc < 0)
        return rc;
    as_measure_put_latency(&forward->latency, &s.run->latency, &s.options);
    as_measure_put_memory(&forward->memory, &s);
    rc = as_measure_session_close(&s, err);
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
                        struct assay_forward_profile *forward, char *text, size_t room,
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
    return snprintf(text, text ? room : 0,
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
