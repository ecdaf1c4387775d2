/* analyze/recommend/recommend_time.c - recommendations that follow from the time of layers, held
 * against the roofline and against other numbers of threads. */
#include <math.h>
#include <stdio.h>

#include "analyze/recommend/recommend_internal.h"

#define WORTH_THREADS 0.1
#define WORTH_FEWER   0.95 /* of the time: above it the difference is of no use */
#define SPLIT_NS      20000 /* a call this short gains nothing: handing work over takes microseconds */

/* ---- threads ---- */

/* What a trial measured: "an inference takes ... on 1 thread and ... on 2, 0.50x". */
static const char *tell_trial(struct as_profile *p, const char *why)
{
    const struct as_thread_trial *t = &p->data->trial;
    char tried[AS_TEXT_HUMAN], used[AS_TEXT_HUMAN];

    as_text_ns(tried, t->threads_ns, AS_TIME_AUTO);
    as_text_ns(used, t->against_ns, AS_TIME_AUTO);
    return as_recommend_text(
        p,
        "interleaved, an inference takes %s on %u thread%s and %s on %u (median "
        "ratio of neighboring pairs %.2fx)%s",
        tried, t->threads, as_plural(t->threads), used, t->against, t->factor, why);
}

/* Layers so short that handing them to several threads costs more than it saves: measured, one
 * thread interleaved with those of the profile. */
static void advise_fewer_threads(struct as_profile *p)
{
    const struct as_thread_trial *t = &p->data->trial;

    if (!as_thread_trial_won(t) || t->factor > WORTH_FEWER || t->threads >= t->against ||
        p->data->threads != t->against)
        return;
    as_recommend_add(
        p,
        &(struct as_advice){
            .rule = "fewer-threads",
            .action = as_recommend_text(
                p, "use fewer threads: assay profile %s --threads %u; assay tune %s tries others",
                p->data->model.path, t->threads, p->data->model.path),
            .evidence = tell_trial(p, ": layers are too short to share"),
            .gain = 1 - t->factor,
            .share = 1,
            .confidence = ASSAY_CONFIDENCE_HIGH,
        });
}

/* Of a layer's time, what so many threads could save: where arithmetic or a bandwidth that grows
 * with them is what takes it. */
static double saved_by_threads(const struct as_profile *p, const struct as_profile_layer *layer,
                               unsigned most)
{
    double now = AS_UNKNOWN, then = AS_UNKNOWN;

    if (layer->self_ns < SPLIT_NS * (double)layer->step->calls)
        return 0;
    if (as_layer_is_bound_by(layer, AS_BOUND_COMPUTE)) {
        now = as_peak_flops(p->peaks, layer->step->type, p->data->threads);
        then = as_peak_flops(p->peaks, layer->step->type, most);
    } else if (as_layer_is_bound_by(layer, AS_BOUND_MEMORY)) {
        now = as_peak_bandwidth(p->peaks, layer->roof.level, p->data->threads);
        then = as_peak_bandwidth(p->peaks, layer->roof.level, most);
    }
    return then > now ? layer->share * (1 - now / then) : 0;
}

/* Whether a trial tried those that were not used: it decides, whatever the roofline promises. */
static bool decided_by_trial(struct as_profile *p)
{
    const struct as_thread_trial *t = &p->data->trial;

    if (!t->tried)
        return false;
    if (t->threads > t->against && as_thread_trial_won(t) && t->factor <= WORTH_FEWER)
        as_recommend_add(
            p, &(struct as_advice){
                   .rule = "more-threads",
                   .action = as_recommend_text(p, "use more threads: assay profile %s --threads %u",
                                               p->data->model.path, t->threads),
                   .evidence = tell_trial(p, ""),
                   .gain = 1 - t->factor,
                   .share = 1,
                   .confidence = ASSAY_CONFIDENCE_HIGH,
               });
    return true;
}

static void advise_more_threads(struct as_profile *p)
{
    unsigned most = p->peaks->n_counts ? p->peaks->threads[p->peaks->n_counts - 1] : 1;
    double saved = 0, bound = 0;
    char share[AS_TEXT_HUMAN];

    if (decided_by_trial(p))
        return;
    for (size_t i = 0; i < p->n_layers && most > p->data->threads; i++) {
        double one = saved_by_threads(p, &p->layers[i], most);

        saved += one;
        bound += one > 0 ? p->layers[i].share : 0;
    }
    if (saved < WORTH_THREADS)
        return;
    as_text_percent(share, bound);
    as_recommend_add(
        p, &(struct as_advice){
               .rule = "more-threads",
               .action = as_recommend_text(p, "use more threads: assay profile %s --threads %u",
                                           p->data->model.path, most),
               .evidence = as_recommend_text(
                   p,
                   "%u thread%s used, and %s of the time is in layers bound by compute or "
                   "bandwidth, of which %u threads have more",
                   p->data->threads, p->data->threads == 1 ? " is" : "s are", share, most),
               .gain = saved,
               .share = bound,
               .confidence = ASSAY_CONFIDENCE_MEDIUM,
           });
}

bool as_recommend_threads(struct as_profile *p)
{
    size_t before = p->n_findings;

    advise_fewer_threads(p);
    return p->n_findings == before || p->data->trial.factor > 1 - AS_MUCH;
}

/* ---- weights ---- */

/* What can be done about weights that are read for few samples; NULL: nothing. */
static const char *about_weights(struct as_profile *p, bool may_quantize)
{
    const char *model = p->data->model.path;
    unsigned long long batch = p->data->model.batch;

    if (p->data->has_tokens && p->data->tokens.kind == AS_TOKENS_STREAM)
        return "give it more streams at a time, with the batch of input and state set together "
               "(--shape), since weights are read once per inference";
    if (p->data->model.batch_why)
        return may_quantize ? "quantize these weights to int8: they are read once per inference"
                            : NULL;
    if (p->data->model.fixed_why)
        return as_recommend_text(p,
                                 "export the model again with a dynamic batch axis, since it fixes "
                                 "its batch at %llu, and give it more samples at a time%s",
                                 batch, may_quantize ? "; or quantize these weights" : "");
    return as_recommend_text(p,
                             "give it more samples at a time%s, since weights are read once per "
                             "inference: assay sweep %s --batch %llu,%llu,%llu",
                             may_quantize ? ", or quantize these weights" : "", model, batch,
                             4 * batch, 16 * batch);
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

/* Weights that stream from far away are read once per inference: more samples share that. */
static void advise_batch(struct as_profile *p)
{
    double streaming = 0, saved = 0;
    char share[AS_TEXT_HUMAN], batch[60] = "";
    const char *action = about_weights(p, !is_quantized(p) && !p->memory.widened.n);

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[i];

        if (!as_layer_is_bound_by(layer, AS_BOUND_MEMORY) || as_layer_is_op(layer, "Gather") ||
            layer->step->weight_bytes * 2 < layer->step->bytes || as_layer_is_plain_product(layer))
            continue;
        streaming += layer->share;
        saved += layer->share * (1 - layer->roof.compute_seconds / layer->roof.memory_seconds);
    }
    if (streaming < AS_WORTH_SAYING || !action)
        return;
    as_text_percent(share, streaming);
    if (!p->data->model.batch_why)
        (void)snprintf(batch, sizeof batch, " at batch %llu",
                       (unsigned long long)p->data->model.batch);
    as_recommend_add(p, &(struct as_advice){
                            .rule = "memory-bound-weights",
                            .action = action,
                            .evidence = as_recommend_text(
                                p, "%s of the time is spent in layers that stream their weights%s",
                                share, batch),
                            .gain = saved,
                            .share = streaming,
                            .confidence = ASSAY_CONFIDENCE_MEDIUM,
                        });
}

/* ---- arithmetic ---- */

/* GEMMs and convolutions in floats between quantized tensors, by the reason that takes most time.
 */
static void advise_float_fallback(struct as_profile *p, double factor)
{
    const struct as_profile_layer *worst = NULL;
    double dense = 0;
    char share[AS_TEXT_HUMAN];
    size_t n = 0;

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];

        if (!layer->step->why || layer->step->is_reorder)
            continue;
        worst = worst ? worst : layer;
        dense += layer->share;
        n++;
    }
    if (!worst || dense < AS_WORTH_SAYING)
        return;
    as_text_percent(share, dense);
    as_recommend_add(
        p, &(struct as_advice){
               .rule = "float-fallback",
               .action = as_recommend_text(
                   p, "quantize so that these layers can run in int8; %s runs in f32 because %s",
                   worst->brief, worst->step->why),
               .evidence = as_recommend_text(p,
                                             "%s of the time of this quantized model is in %zu "
                                             "layer%s that fell back to f32; the int8 peak of this "
                                             "machine is %.1fx the f32 peak",
                                             share, n, as_plural(n), factor),
               .gain = factor > 1 ? dense * (1 - 1 / factor) : AS_UNKNOWN,
               .share = dense,
               .confidence = ASSAY_CONFIDENCE_MEDIUM,
               .target = worst->step->name,
           });
}

static void advise_int8(struct as_profile *p)
{
    double factor = as_peak_flops(p->peaks, AS_PEAK_I8, p->data->threads) /
                    as_peak_flops(p->peaks, AS_PEAK_F32, p->data->threads);
    double dense = 0;
    char share[AS_TEXT_HUMAN];

    if (is_quantized(p)) {
        advise_float_fallback(p, factor);
        return;
    }
    for (size_t i = 0; i < p->n_layers; i++)
        if (as_layer_is_bound_by(&p->layers[i], AS_BOUND_COMPUTE) &&
            !as_layer_is_plain(&p->layers[i]) && p->layers[i].step->type == AS_PEAK_F32 &&
            p->layers[i].step->macs > 0 && p->layers[i].roof.roof_fraction >= AS_HALF)
            dense += p->layers[i].share;
    if (dense < AS_MUCH || !(factor > 1.5))
        return;
    as_text_percent(share, dense);
    as_recommend_add(
        p, &(struct as_advice){
               .rule = "quantize-dense-layers",
               .action = "quantize convolutions and GEMMs to int8, as QDQ ONNX: they are near the "
                         "f32 roofline, so only cheaper arithmetic makes them faster",
               .evidence = as_recommend_text(p,
                                             "%s of the time is dense f32 arithmetic near the "
                                             "roofline; the int8 peak of this machine is %.1fx the "
                                             "f32 peak",
                                             share, factor),
               .gain = dense * (1 - 1 / factor),
               .share = dense,
               .confidence = ASSAY_CONFIDENCE_MEDIUM,
           });
}

/* Dense layers that reach less than half of what this machine could do for them. */
static void advise_slow_dense(struct as_profile *p)
{
    const struct as_profile_layer *worst = NULL;
    double lost = 0;
    char share[AS_TEXT_HUMAN], roof[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];

        if (layer->step->macs == 0 || !(layer->roof.roof_fraction < AS_HALF) ||
            layer->share < 0.005 || layer->roof.is_short || as_layer_is_plain_product(layer))
            continue;
        lost += layer->share * (1 - layer->roof.roof_fraction);
        worst = worst ? worst : layer;
    }
    if (!worst || lost < AS_WORTH_SAYING)
        return;
    as_text_percent(share, lost);
    as_text_percent(roof, worst->roof.roof_fraction);
    as_recommend_add(
        p,
        &(struct as_advice){
            .rule = "far-below-roof",
            .action = as_recommend_text(p,
                                        "start with %s, the slowest of the GEMMs and convolutions "
                                        "below 50 %% of roofline: sizes that are multiples of 16 "
                                        "and other settings may give it a better kernel: assay "
                                        "tune %s",
                                        worst->brief, p->data->model.path),
            .evidence = as_recommend_text(p,
                                          "it reaches %s of roofline with the kernel %.40s; at the "
                                          "roofline all these layers together would save %s of the "
                                          "time",
                                          roof, worst->step->kernel, share),
            .gain = lost,
            .share = lost,
            .confidence = ASSAY_CONFIDENCE_LOW,
            .target = worst->step->name,
        });
}

/* ---- what is neither arithmetic nor bandwidth ---- */

/* Calls of a few microseconds: what takes time is starting them. */
static void advise_short_layers(struct as_profile *p)
{
    double share = 0;
    size_t n = 0;
    char text[AS_TEXT_HUMAN], each[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++)
        if (p->layers[i].roof.bound == AS_BOUND_OVERHEAD && p->layers[i].roof.is_short &&
            !as_layer_is_plain_product(&p->layers[i])) {
            share += p->layers[i].share;
            n++;
        }
    if (share < AS_MUCH || n == 0)
        return;
    as_text_percent(text, share);
    as_text_ns(each, share * p->sum_ns / (double)n, AS_TIME_AUTO);
    as_recommend_add(
        p, &(struct as_advice){
               .rule = "overhead",
               .action = "give each layer more to do: a larger batch, or a graph with fewer and "
                         "larger operators (fused norms, fused attention)",
               .evidence = as_recommend_text(p,
                                             "%s of the time is in %zu layer%s of %s each: too "
                                             "short for arithmetic or memory bandwidth to matter",
                                             text, n, as_plural(n), each),
               .gain = AS_UNKNOWN,
               .share = share,
               .confidence = ASSAY_CONFIDENCE_MEDIUM,
           });
}

/* Layers without MACs that take long, and yet move and compute little. */
static void advise_inefficient(struct as_profile *p)
{
    const struct as_profile_layer *worst = NULL;
    double lost = 0;
    char share[AS_TEXT_HUMAN], roof[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];

        if (layer->roof.bound != AS_BOUND_OVERHEAD || layer->roof.is_short ||
            layer->step->macs > 0 || layer->step->is_reorder || as_layer_is_plain(layer))
            continue;
        worst = worst ? worst : layer;
        lost += layer->share * (1 - layer->roof.roof_fraction);
    }
    if (!worst || lost < AS_WORTH_SAYING)
        return;
    as_text_percent(share, lost);
    as_text_percent(roof, worst->roof.roof_fraction);
    as_recommend_add(
        p, &(struct as_advice){
               .rule = "slow-kernels",
               .action = as_recommend_text(p,
                                           "compare %s with another engine, or give it another "
                                           "shape: its kernel here is slow",
                                           worst->brief),
               .evidence = as_recommend_text(p,
                                             "it reaches %s of roofline; at the roofline it and "
                                             "layers like it would save %s of the time",
                                             roof, share),
               .gain = lost,
               .share = lost,
               .confidence = ASSAY_CONFIDENCE_LOW,
               .target = worst->step->name,
           });
}

static bool is_elementwise(const struct as_profile_layer *layer)
{
    return as_layer_is_bound_by(layer, AS_BOUND_MEMORY) && layer->step->macs == 0 &&
           !layer->step->is_reorder && !as_layer_is_op(layer, "Transpose") &&
           !as_layer_is_op(layer, "Gather") && !as_layer_is_op(layer, "Cast");
}

/* Elementwise work that only moves bytes: of `k` such layers in a row one pass over memory is left
 * when they are one kernel, and none when they are part of the GEMM or convolution before them. */
static void advise_elementwise(struct as_profile *p)
{
    double moved = 0, saved = 0, row_share = 0;
    bool behind_macs = false;
    size_t n = 0, row = 0;
    char share[AS_TEXT_HUMAN];

    for (size_t i = 0; i <= p->n_layers; i++) {
        const struct as_profile_layer *layer = i < p->n_layers ? &p->layers[i] : NULL;

        if (layer && is_elementwise(layer)) {
            moved += layer->share;
            row_share += layer->share;
            row++;
            n++;
            continue;
        }
        saved += row == 0 ? 0 : behind_macs ? row_share : row_share * (1 - 1 / (double)row);
        row_share = 0;
        row = 0;
        behind_macs = layer && layer->step->macs > 0;
    }
    if (moved < 2 * AS_WORTH_SAYING)
        return;
    as_text_percent(share, moved);
    as_recommend_add(
        p, &(struct as_advice){
               .rule = "memory-bound-elementwise",
               .action = "fuse elementwise operators with their producers or with each other: each "
                         "reads and writes every element for little arithmetic",
               .evidence = as_recommend_text(p,
                                             "%s of the time is in %zu layer%s without MACs that "
                                             "run%s at memory bandwidth",
                                             share, n, as_plural(n), n == 1 ? "s" : ""),
               .gain = saved,
               .share = moved,
               .confidence = ASSAY_CONFIDENCE_MEDIUM,
           });
}

void as_recommend_by_roofline(struct as_profile *p)
{
    advise_more_threads(p);
    advise_batch(p);
    advise_int8(p);
    advise_slow_dense(p);
    advise_short_layers(p);
    advise_inefficient(p);
    advise_elementwise(p);
}

/* ---- plain C ---- */

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

        if (!as_layer_is_plain_product(layer) || layer->roof.inconsistent)
            continue;
        spent += layer->share;
        /* Another type or engine moves twice the bytes, or stays below the roofline. */
        lost += layer->share * (1 - fmin(1, 3 * layer->roof.roof_fraction));
        worst = worst ? worst : layer;
    }
    if (!worst || spent < AS_WORTH_SAYING)
        return;
    as_text_percent(share, spent);
    as_text_si(rate, worst->roof.achieved, "FLOP/s");
    as_recommend_add(
        p,
        &(struct as_advice){
            .rule = "plain-products",
            .action = as_recommend_text(
                p,
                "%s %s with another engine: GEMMs and convolutions like it run in plain C "
                "here, not in oneDNN",
                computes_in_f32(worst) ? "compare" : "export it in f32, or compare", worst->brief),
            .evidence = as_recommend_text(p,
                                          "%s of the time is spent in plain C GEMMs and "
                                          "convolutions; the slowest (%.30s) reaches %s",
                                          share, worst->step->op, rate),
            .gain = lost > 0 ? lost : AS_UNKNOWN,
            .share = spent,
            .confidence = ASSAY_CONFIDENCE_MEDIUM,
            .target = worst->step->name,
        });
}

/* Other rules have more to say of these. */
static bool has_own_rule(const struct as_profile_layer *layer)
{
    return as_layer_is_op(layer, "Transpose") || as_layer_is_op(layer, "Gather") ||
           as_layer_is_op(layer, "Cast") || as_layer_is_op(layer, "BatchNormalization") ||
           layer->step->is_reorder || as_layer_is_plain_product(layer) ||
           (layer->roof.bound == AS_BOUND_OVERHEAD && layer->roof.is_short);
}

static void advise_plain(struct as_profile *p)
{
    const struct as_profile_layer *worst = NULL;
    double spent = 0;
    char share[AS_TEXT_HUMAN], own[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];

        if (!as_layer_is_plain(layer) || has_own_rule(layer) || is_elementwise(layer))
            continue;
        spent += layer->share;
        worst = worst ? worst : layer;
    }
    if (!worst || spent < AS_MUCH)
        return;
    as_text_percent(share, spent);
    as_text_percent(own, worst->share);
    as_recommend_add(
        p, &(struct as_advice){
               .rule = "plain-kernels",
               .action = as_recommend_text(p,
                                           "compare %s with another engine, or build it of "
                                           "operators that oneDNN has: %.30s runs in plain C here",
                                           worst->brief, worst->step->op),
               .evidence = as_recommend_text(
                   p, "%s of the time is spent in plain C; the slowest of it is %.60s (%.30s, %s)",
                   share, worst->brief, worst->step->op, own),
               .gain = AS_UNKNOWN,
               .share = spent,
               .confidence = ASSAY_CONFIDENCE_MEDIUM,
               .target = worst->step->name,
           });
}

void as_recommend_plain(struct as_profile *p)
{
    advise_plain_products(p);
    advise_plain(p);
}
