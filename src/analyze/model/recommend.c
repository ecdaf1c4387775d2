/* analyze/model/recommend.c - what to do next about a model, each with the metrics behind it.
 * A rule reports nothing unless its metrics do; base/finding.h ranks them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/profile.h"
#include "analyze/model/steadiness.h"
#include "base/text/text.h"
#include "base/units.h"

/* Below these shares of the time nothing is said. */
#define WORTH_SAYING  0.05
#define MUCH          0.2
#define HALF          0.5
#define WORTH_THREADS 0.1
#define SPLIT_NS      20000 /* a call this short gains nothing: handing work over takes microseconds */

AS_PRINTF(2, 3) static const char *text_of(struct as_profile *p, const char *fmt, ...)
{
    char line[400];
    va_list args;
    const char *copy;

    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    copy = as_arena_text(&p->arena, line, strlen(line));
    return copy ? copy : "";
}

/* What a rule found, of which severity when the gain is unknown: its share of the time. */
struct advice {
    const char *rule, *action, *evidence;
    double gain, share;
    enum assay_confidence confidence;
    const char *target;
};

static void advise(struct as_profile *p, const struct advice *a)
{
    if (p->n_findings < AS_PROFILE_MAX_FINDINGS)
        p->findings[p->n_findings++] = (struct assay_finding){
            .rule = a->rule,
            .target = a->target,
            .evidence = a->evidence,
            .action = a->action,
            .severity = as_severity_of_gain(a->gain, 50 * a->share),
            .expected_gain = a->gain,
            .confidence = a->confidence,
        };
}

/* A product in our own kernel: its time says what this engine lacks, not what to do to the model.
 */
static bool is_plain_product(const struct as_profile_layer *layer)
{
    return layer->step->macs > 0 && strcmp(layer->step->kernel, "plain C") == 0;
}

/* What bounds it, where its counts and the peaks can be true together. */
static bool is_bound_by(const struct as_profile_layer *layer, enum as_bound bound)
{
    return layer->roof.bound == bound && !layer->roof.inconsistent;
}

/* Weights that stream from far away are read once a run: more samples share that. */
static void advise_batch(struct as_profile *p)
{
    double streaming = 0, saved = 0;
    char share[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[i];

        if (!is_bound_by(layer, AS_BOUND_MEMORY) ||
            layer->step->weight_bytes * 2 < layer->step->bytes || is_plain_product(layer))
            continue;
        streaming += layer->share;
        saved += layer->share * (1 - layer->roof.compute_seconds / layer->roof.memory_seconds);
    }
    if (streaming < WORTH_SAYING)
        return;
    as_text_percent(share, streaming);
    advise(
        p,
        &(struct advice){
            "memory-bound-weights",
            "increase the batch (--batch): weights are read once per inference, whatever the "
            "batch; or quantize them",
            text_of(p, "%s of the time is spent in layers that stream their weights at batch %llu",
                    share, (unsigned long long)p->data->model.batch),
            saved, streaming, ASSAY_CONFIDENCE_MEDIUM, NULL});
}

/* Some of it was quantized already: nobody needs to hear that it could be. */
static bool is_quantized(const struct as_profile *p)
{
    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_step *step = p->layers[i].step;

        if (step->type == AS_PEAK_I8 || strstr(step->op, "QuantizeLinear") ||
            strstr(step->op, "DequantizeLinear") || strncmp(step->op, "QLinear", 7) == 0 ||
            strncmp(step->op, "DynamicQuantize", 15) == 0)
            return true;
        for (size_t k = 0; k < step->n_nodes; k++)
            if (strstr(step->nodes[k], "QuantizeLinear"))
                return true;
    }
    return false;
}

static void advise_int8(struct as_profile *p)
{
    double f32 = as_peak_flops(p->peaks, AS_PEAK_F32, p->data->threads);
    double i8 = as_peak_flops(p->peaks, AS_PEAK_I8, p->data->threads), dense = 0;
    char share[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++)
        if (is_bound_by(&p->layers[i], AS_BOUND_COMPUTE) &&
            p->layers[i].step->type == AS_PEAK_F32 && p->layers[i].step->macs > 0 &&
            p->layers[i].roof.roof_fraction >= 0.5)
            dense += p->layers[i].share;
    if (dense < MUCH || !(i8 > 1.5 * f32))
        return;
    as_text_percent(share, dense);
    if (is_quantized(p)) {
        advise(p, &(struct advice){
                      "float-fallback",
                      "give every input and output of these layers a QuantizeLinear and "
                      "DequantizeLinear pair, per tensor for activations: as they are, the engine "
                      "computes them in f32",
                      text_of(p,
                              "%s of the time of this quantized model is GEMMs and convolutions in "
                              "f32; the int8 peak of this machine is %.1fx the f32 peak",
                              share, i8 / f32),
                      dense * (1 - f32 / i8), dense, ASSAY_CONFIDENCE_MEDIUM, NULL});
        return;
    }
    advise(p,
           &(struct advice){
               "quantize-dense-layers",
               "quantize convolutions and GEMMs to int8, as QDQ ONNX: they are near the f32 "
               "roofline, so only cheaper arithmetic makes them faster",
               text_of(p,
                       "%s of the time is dense f32 arithmetic near the roofline; the int8 peak of "
                       "this machine is %.1fx the f32 peak",
                       share, i8 / f32),
               dense * (1 - f32 / i8), dense, ASSAY_CONFIDENCE_MEDIUM, NULL});
}

static bool computes_in_f32(const struct as_profile_layer *layer)
{
    return !layer->step->input_dtype || strcmp(layer->step->input_dtype, "f32") == 0;
}

static void advise_plain_products(struct as_profile *p)
{
    const struct as_profile_layer *worst = NULL;
    double lost = 0, spent = 0;
    char share[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];

        if (!is_plain_product(layer) || layer->roof.inconsistent)
            continue;
        spent += layer->share;
        lost += layer->share * (1 - layer->roof.roof_fraction);
        worst = worst ? worst : layer;
    }
    if (!worst || spent < WORTH_SAYING)
        return;
    as_text_percent(share, spent);
    as_text_si(rate, worst->roof.achieved, "FLOP/s");
    advise(p,
           &(struct advice){
               "plain-products",
               text_of(p,
                       "%s %s with another engine: GEMMs and convolutions like it run in plain C "
                       "here, not in oneDNN",
                       computes_in_f32(worst) ? "compare" : "use f32, or compare", worst->brief),
               text_of(
                   p,
                   "%s of the time is spent in plain C GEMMs and convolutions; the slowest (%.30s) "
                   "reaches %s",
                   share, worst->step->op, rate),
               lost > 0 ? lost : AS_UNKNOWN, spent, ASSAY_CONFIDENCE_HIGH, worst->step->name});
}

static void advise_plain(struct as_profile *p)
{
    const struct as_profile_layer *worst = NULL;
    double spent = 0;
    char share[AS_TEXT_HUMAN], own[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];

        if (strcmp(layer->step->kernel, "plain C") != 0 || layer->step->is_reorder ||
            is_plain_product(layer))
            continue;
        spent += layer->share;
        worst = worst ? worst : layer;
    }
    if (!worst || spent < MUCH)
        return;
    as_text_percent(share, spent);
    as_text_percent(own, worst->share);
    advise(
        p,
        &(struct advice){
            "plain-kernels",
            "compare with another engine: operators without a oneDNN kernel run in plain C "
            "here, and another engine may run them faster",
            text_of(p, "%s of the time is spent in plain C; the slowest of it is %.60s (%.30s, %s)",
                    share, worst->brief, worst->step->op, own),
            AS_UNKNOWN, spent, ASSAY_CONFIDENCE_MEDIUM, worst->step->name});
}

static void advise_reorders(struct as_profile *p)
{
    char share[AS_TEXT_HUMAN];

    if (p->reorder_share < WORTH_SAYING)
        return;
    as_text_percent(share, p->reorder_share);
    advise(p, &(struct advice){
                  "reorders",
                  "move reshapes and transposes out of the middle of the network: tensors are "
                  "copied between blocked and plain layouts around them",
                  text_of(p, "reorders take %s of the time", share), p->reorder_share,
                  p->reorder_share, ASSAY_CONFIDENCE_MEDIUM, NULL});
}

/* Layers so short that handing them to several threads costs about as much as it saves. */
static void advise_fewer_threads(struct as_profile *p)
{
    double share = 0;
    size_t n = 0;
    char text[AS_TEXT_HUMAN], each[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[i];

        if (layer->self_ns < SPLIT_NS * (double)layer->step->calls) {
            share += layer->share;
            n++;
        }
    }
    if (p->data->threads < 2 || share < HALF || n == 0)
        return;
    as_text_percent(text, share);
    as_text_ns(each, share * p->sum_ns / (double)n, AS_TIME_AUTO);
    advise(p, &(struct advice){
                  "fewer-threads",
                  text_of(p, "try --threads 1, or compare: assay sweep %s --threads 1,%u",
                          p->data->model.path, p->data->threads),
                  text_of(p,
                          "%s of the time is in %zu layers of %s each, too short to share between "
                          "%u threads: handing work over costs about as much",
                          text, n, each, p->data->threads),
                  AS_UNKNOWN, share, ASSAY_CONFIDENCE_MEDIUM, NULL});
}

static void advise_overhead(struct as_profile *p)
{
    double share = 0;
    size_t n = 0;
    char text[AS_TEXT_HUMAN], each[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++)
        if (p->layers[i].roof.bound == AS_BOUND_OVERHEAD && !is_plain_product(&p->layers[i])) {
            share += p->layers[i].share;
            n++;
        }
    if (share < MUCH || n == 0)
        return;
    as_text_percent(text, share);
    as_text_ns(each, share * p->sum_ns / (double)n, AS_TIME_AUTO);
    advise(p, &(struct advice){
                  "overhead",
                  "give each layer more to do: a larger batch, or a graph with fewer and larger "
                  "operators (fused norms, fused attention)",
                  text_of(p,
                          "%s of the time is in %zu layers (%s each) that neither arithmetic nor "
                          "memory bandwidth explains",
                          text, n, each),
                  AS_UNKNOWN, share, ASSAY_CONFIDENCE_MEDIUM, NULL});
}

static bool is_op(const struct as_profile_layer *layer, const char *op)
{
    return strcmp(layer->step->op, op) == 0;
}

/* The slowest layer of an operator and the share of all of them; NULL: there is none. */
static const struct as_profile_layer *sum_op(const struct as_profile *p, const char *op,
                                             double *share, size_t *n)
{
    const struct as_profile_layer *worst = NULL;

    *share = 0;
    *n = 0;
    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];

        if (!is_op(layer, op))
            continue;
        worst = worst ? worst : layer;
        *share += layer->share;
        *n += 1;
    }
    return worst;
}

/* Copies that change the order of dimensions and compute nothing. */
static void advise_transposes(struct as_profile *p)
{
    double share;
    size_t n;
    const struct as_profile_layer *worst = sum_op(p, "Transpose", &share, &n);
    char text[AS_TEXT_HUMAN];

    if (!worst || share < 0.1)
        return;
    as_text_percent(text, share);
    advise(p, &(struct advice){
                  "transposes",
                  text_of(p,
                          "remove Transposes: pairs that undo each other, and those around %s, by "
                          "exporting in the layout that its neighbors use",
                          worst->brief),
                  text_of(p, "%zu Transpose layer%s take%s %s of the time and compute nothing", n,
                          n == 1 ? "" : "s", n == 1 ? "s" : "", text),
                  share, share, ASSAY_CONFIDENCE_MEDIUM, worst->step->name});
}

/* Rows that are looked up: neither fusing nor a larger batch makes the table smaller. */
static void advise_lookups(struct as_profile *p)
{
    double share;
    size_t n;
    const struct as_profile_layer *worst = sum_op(p, "Gather", &share, &n);
    char text[AS_TEXT_HUMAN];

    if (!worst || share < MUCH)
        return;
    as_text_percent(text, share);
    advise(p, &(struct advice){
                  "lookup-tables",
                  text_of(p,
                          "shrink or quantize the table of %s: rows that fit a nearer cache are "
                          "looked up faster",
                          worst->brief),
                  text_of(p, "%zu lookup%s take%s %s of the time", n, n == 1 ? "" : "s",
                          n == 1 ? "s" : "", text),
                  AS_UNKNOWN, share, ASSAY_CONFIDENCE_MEDIUM, worst->step->name});
}

/* Elementwise work that only moves bytes. */
static void advise_elementwise(struct as_profile *p)
{
    double moved = 0;
    size_t n = 0;
    char share[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++)
        if (is_bound_by(&p->layers[i], AS_BOUND_MEMORY) && p->layers[i].step->macs == 0 &&
            !p->layers[i].step->is_reorder && !is_op(&p->layers[i], "Transpose") &&
            !is_op(&p->layers[i], "Gather")) {
            moved += p->layers[i].share;
            n++;
        }
    if (moved < 0.1)
        return;
    as_text_percent(share, moved);
    advise(p, &(struct advice){
                  "memory-bound-elementwise",
                  "fuse elementwise operators with their producers: they read and write "
                  "every element for little arithmetic",
                  text_of(p,
                          "%s of the time is in %zu layers without MACs that run at memory "
                          "bandwidth",
                          share, n),
                  AS_UNKNOWN, moved, ASSAY_CONFIDENCE_MEDIUM, NULL});
}

static void advise_slow_dense(struct as_profile *p)
{
    const struct as_profile_layer *worst = NULL;
    double lost = 0;
    char share[AS_TEXT_HUMAN], roof[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];

        if (layer->step->macs == 0 || !(layer->roof.roof_fraction < 0.5) || layer->share < 0.005 ||
            is_plain_product(layer))
            continue;
        lost += layer->share * (1 - layer->roof.roof_fraction);
        if (!worst)
            worst = layer;
    }
    if (!worst || lost < WORTH_SAYING)
        return;
    as_text_percent(share, lost);
    as_text_percent(roof, worst->roof.roof_fraction);
    advise(p, &(struct advice){
                  "far-below-roof",
                  text_of(p,
                          "start with %s: it takes the most time of the GEMMs and convolutions "
                          "below 50 %% of roofline; try other settings: assay sweep %s "
                          "--batch 1,4",
                          worst->brief, p->data->model.path),
                  text_of(p,
                          "it reaches %s of roofline with the kernel %.40s; at the roofline "
                          "all these layers together would save %s of the time",
                          roof, worst->step->kernel, share),
                  lost, lost, ASSAY_CONFIDENCE_MEDIUM, worst->step->name});
}

/* Of a layer's time, what so many threads could save: where arithmetic or a bandwidth that grows
 * with them is what takes it. */
static double saved_by_threads(const struct as_profile *p, const struct as_profile_layer *layer,
                               unsigned most)
{
    double now = AS_UNKNOWN, then = AS_UNKNOWN;

    if (layer->self_ns < SPLIT_NS * (double)layer->step->calls)
        return 0;
    if (is_bound_by(layer, AS_BOUND_COMPUTE)) {
        now = as_peak_flops(p->peaks, layer->step->type, p->data->threads);
        then = as_peak_flops(p->peaks, layer->step->type, most);
    } else if (is_bound_by(layer, AS_BOUND_MEMORY)) {
        now = as_peak_bandwidth(p->peaks, layer->roof.level, p->data->threads);
        then = as_peak_bandwidth(p->peaks, layer->roof.level, most);
    }
    return then > now ? layer->share * (1 - now / then) : 0;
}

static void advise_threads(struct as_profile *p)
{
    unsigned most = p->peaks->n_counts ? p->peaks->threads[p->peaks->n_counts - 1] : 1;
    double saved = 0, bound = 0;
    char share[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers && most > p->data->threads; i++) {
        double one = saved_by_threads(p, &p->layers[i], most);

        saved += one;
        bound += one > 0 ? p->layers[i].share : 0;
    }
    if (saved < WORTH_THREADS)
        return;
    as_text_percent(share, bound);
    advise(p, &(struct advice){
                  "more-threads", text_of(p, "use more threads (--threads %u)", most),
                  text_of(p,
                          "%u thread%s used, and %s of the time is in layers bound by compute or "
                          "bandwidth, of which %u threads have more",
                          p->data->threads, p->data->threads == 1 ? " is" : "s are", share, most),
                  saved, bound, ASSAY_CONFIDENCE_MEDIUM, NULL});
}

static void advise_noise(struct as_profile *p)
{
    const struct as_latency_metrics *f = &p->data->latency.figures;
    double width = (f->median.interval.high - f->median.interval.low) / f->summary.median;
    char text[AS_TEXT_HUMAN];

    as_text_percent(text, width);
    if (p->unsteady) {
        advise(p, &(struct advice){"noisy-machine",
                                   "stop other work and measure again, or longer (--time): "
                                   "recommendations need a steady measurement",
                                   p->unsteady, AS_UNKNOWN, 1, ASSAY_CONFIDENCE_HIGH, NULL});
        return;
    }
    if (!f->median.interval.reached) {
        advise(p, &(struct advice){"noisy-machine", "measure longer (--time, --iterations)",
                                   "too few iterations for a 95 % CI of p50", AS_UNKNOWN, 0,
                                   ASSAY_CONFIDENCE_HIGH, NULL});
        return;
    }
    if (!(width > 0.05))
        return;
    advise(p, &(struct advice){
                  "noisy-machine",
                  "measure again on a quieter machine or for longer (--time): smaller differences "
                  "are not significant",
                  text_of(p, "the 95 %% CI of p50 is %s wide", text), AS_UNKNOWN, fmin(width, 1),
                  ASSAY_CONFIDENCE_HIGH, NULL});
}

void as_profile_recommend(struct as_profile *p)
{
    p->unsteady = as_unsteady(&p->data->latency, &p->arena);
    advise_noise(p);
    if (p->peaks)
        advise_fewer_threads(p); /* which may be what makes the times unsteady */
    if (p->unsteady)
        return;
    if (p->peaks) {
        advise_batch(p);
        advise_int8(p);
        advise_overhead(p);
        advise_elementwise(p);
        advise_transposes(p);
        advise_lookups(p);
        advise_slow_dense(p);
        advise_threads(p);
    }
    advise_plain_products(p);
    advise_plain(p);
    advise_reorders(p);
    as_findings_rank(p->findings, p->n_findings);
}
