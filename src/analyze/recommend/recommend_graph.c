/* analyze/recommend/recommend_graph.c - recommendations about nodes that cost time and compute
 * nothing: copies between layouts, Transposes, Casts, batch norms, tables that are looked up. */
#include <math.h>
#include <stdio.h>

#include "analyze/recommend/recommend_internal.h"
#include "base/hash_map.h"

/* The slowest layer of an operator and the share of all of them; NULL: there is none. */
static const struct as_profile_layer *sum_op(const struct as_profile *p, const char *op,
                                             double *share, size_t *n)
{
    const struct as_profile_layer *worst = NULL;

    *share = 0;
    *n = 0;
    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];

        if (!as_layer_is_op(layer, op))
            continue;
        worst = worst ? worst : layer;
        *share += layer->share;
        *n += 1;
    }
    return worst;
}

/* Of the time, what layers take that do the work of these nodes alone. */
static double share_of(const struct as_profile *p, const struct as_structure *s)
{
    struct as_hash_map names = {0};
    double share = 0;

    for (size_t i = 0; i < s->n_nodes; i++)
        if (as_hash_map_put(&names, s->nodes[i], strlen(s->nodes[i]), i) < 0)
            share = AS_UNKNOWN;
    for (size_t i = 0; i < p->n_layers && !isnan(share); i++) {
        const struct as_profile_step *step = p->layers[i].step;
        bool all = step->n_nodes > 0 && !step->is_reorder;

        for (size_t k = 0; k < step->n_nodes && all; k++)
            all = as_hash_map_find(&names, step->nodes[k], strlen(step->nodes[k])) != NULL;
        share += all ? p->layers[i].share : 0;
    }
    as_hash_map_fini(&names);
    return isnan(share) ? 0 : share;
}

static const struct as_structure *find_structure(const struct as_profile *p,
                                                 enum as_structure_kind kind)
{
    for (size_t i = 0; i < p->data->n_structures; i++)
        if (p->data->structures[i].kind == kind)
            return &p->data->structures[i];
    return NULL;
}

/* Returns what pairs take. */
static double advise_transpose_pairs(struct as_profile *p)
{
    const struct as_structure *s = find_structure(p, AS_STRUCTURE_TRANSPOSE_PAIR);
    double share = s ? share_of(p, s) : 0;
    char text[AS_TEXT_HUMAN];

    if (!s || share < AS_WORTH_SAYING)
        return 0;
    as_text_percent(text, share);
    as_recommend_add(
        p,
        &(struct as_advice){
            .rule = as_structure_rule(s->kind),
            .action = as_recommend_text(p,
                                        "remove the Transposes that undo each other (%s%s): "
                                        "export in one layout, or run a graph simplifier",
                                        s->example, s->n_places > 1 ? ", ..." : ""),
            .evidence = as_recommend_text(p,
                                          "%llu pair%s with only elementwise operators between "
                                          "them take%s %s of the time",
                                          (unsigned long long)s->n_places, as_plural(s->n_places),
                                          s->n_places == 1 ? "s" : "", text),
            .gain = share,
            .share = share,
            .confidence = ASSAY_CONFIDENCE_HIGH,
        });
    return share;
}

/* Copies that change the order of dimensions and compute nothing. */
static void advise_transposes(struct as_profile *p)
{
    double share, pairs = advise_transpose_pairs(p);
    size_t n;
    const struct as_profile_layer *worst = sum_op(p, "Transpose", &share, &n);
    char text[AS_TEXT_HUMAN];

    if (!worst || share - pairs < 2 * AS_WORTH_SAYING)
        return;
    as_text_percent(text, share);
    as_recommend_add(
        p, &(struct as_advice){
               .rule = "transposes",
               .action = as_recommend_text(p,
                                           "remove Transposes, those around %s first, by exporting "
                                           "in the layout that its neighbors use",
                                           worst->brief),
               .evidence = as_recommend_text(
                   p, "%zu Transpose layer%s take%s %s of the time and compute nothing", n,
                   as_plural(n), n == 1 ? "s" : "", text),
               .gain = share - pairs,
               .share = share - pairs,
               .confidence = ASSAY_CONFIDENCE_MEDIUM,
               .target = worst->step->name,
           });
}

static void advise_casts(struct as_profile *p)
{
    const struct as_structure *s = find_structure(p, AS_STRUCTURE_CAST_CHAIN);
    double share = s ? share_of(p, s) : 0;
    char text[AS_TEXT_HUMAN];

    if (!s || share < AS_WORTH_SAYING)
        return;
    as_text_percent(text, share);
    as_recommend_add(
        p,
        &(struct as_advice){
            .rule = as_structure_rule(s->kind),
            .action = as_recommend_text(p,
                                        "keep one type: remove Casts that follow each other "
                                        "(%s%s)",
                                        s->example, s->n_places > 1 ? ", ..." : ""),
            .evidence = as_recommend_text(p, "%llu chain%s of Casts take%s %s of the time",
                                          (unsigned long long)s->n_places, as_plural(s->n_places),
                                          s->n_places == 1 ? "s" : "", text),
            .gain = share,
            .share = share,
            .confidence = ASSAY_CONFIDENCE_HIGH,
        });
}

/* Those that are left: the engine puts the others into the weights before them. */
static void advise_batch_norms(struct as_profile *p)
{
    double share;
    size_t n;
    const struct as_profile_layer *worst = sum_op(p, "BatchNormalization", &share, &n);
    char text[AS_TEXT_HUMAN];

    if (!worst || share < AS_WORTH_SAYING)
        return;
    as_text_percent(text, share);
    as_recommend_add(
        p,
        &(struct as_advice){
            .rule = "unfused-batch-norm",
            .action = as_recommend_text(
                p,
                p->data->config.fuse
                    ? "put %s behind its convolution, so that it can be folded into the weights"
                    : "fold %s into the weights before it: leave --no-fuse out",
                worst->brief),
            .evidence = as_recommend_text(p, "%zu BatchNormalization layer%s take%s %s of the time",
                                          n, as_plural(n), n == 1 ? "s" : "", text),
            .gain = share,
            .share = share,
            .confidence = ASSAY_CONFIDENCE_MEDIUM,
            .target = worst->step->name,
        });
}

static const char *const level_text[] = {
    [AS_PEAK_L1] = "fit the L1 cache",
    [AS_PEAK_L2] = "fit the L2 cache",
    [AS_PEAK_L3] = "fit the L3 cache",
    [AS_PEAK_DRAM] = "fit no cache",
};
_Static_assert(AS_COUNT_OF(level_text) == AS_PEAK_LEVEL_COUNT, "every level");

/* Rows that are looked up: neither fusing nor a larger batch makes the table smaller. */
static void advise_lookups(struct as_profile *p)
{
    double share;
    size_t n;
    const struct as_profile_layer *worst = sum_op(p, "Gather", &share, &n);
    char text[AS_TEXT_HUMAN], rows[AS_TEXT_HUMAN], level[200] = "";

    if (!worst || share < AS_MUCH)
        return;
    as_text_percent(text, share);
    if (p->peaks) {
        as_text_bytes(rows, (double)worst->step->bytes);
        (void)snprintf(level, sizeof level, "; the rows of %.60s and its output are %s, which %s",
                       worst->brief, rows, level_text[as_peak_level(p->peaks, worst->step->bytes)]);
    }
    as_recommend_add(
        p, &(struct as_advice){
               .rule = "lookup-tables",
               .action = as_recommend_text(p,
                                           "shrink or quantize the table of %s: rows that fit a "
                                           "nearer cache are looked up faster",
                                           worst->brief),
               .evidence = as_recommend_text(p, "%zu lookup%s take%s %s of the time%s", n,
                                             as_plural(n), n == 1 ? "s" : "", text, level),
               .gain = AS_UNKNOWN,
               .share = share,
               .confidence = ASSAY_CONFIDENCE_MEDIUM,
               .target = worst->step->name,
           });
}

/* Between layers: those of inputs and outputs must be. */
static bool is_avoidable(const struct as_profile_layer *layer)
{
    static const char input[] = "an input of the model", output[] = "an output of the model";
    const char *why = layer->step->why ? layer->step->why : "";

    return layer->step->is_reorder && strncmp(why, input, sizeof input - 1) != 0 &&
           strncmp(why, output, sizeof output - 1) != 0;
}

static void advise_reorders(struct as_profile *p)
{
    const struct as_profile_layer *worst = NULL;
    char share[AS_TEXT_HUMAN];
    double taken = 0;
    size_t n = 0;

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];

        if (!is_avoidable(layer))
            continue;
        worst = worst ? worst : layer;
        taken += layer->share;
        n++;
    }
    if (!worst || taken < AS_WORTH_SAYING)
        return;
    as_text_percent(share, taken);
    as_recommend_add(
        p, &(struct as_advice){
               .rule = "reorders",
               .action = "keep operators that need plain tensors (reshapes, transposes, operators "
                         "in plain C) out from between convolutions and GEMMs",
               .evidence = as_recommend_text(
                   p, "%zu reorder%s take%s %s of the time; the slowest is there because %s", n,
                   as_plural(n), n == 1 ? "s" : "", share,
                   worst->step->why ? worst->step->why : "its neighbors use different layouts"),
               .gain = taken,
               .share = taken,
               .confidence = ASSAY_CONFIDENCE_MEDIUM,
               .target = worst->step->name,
           });
}

/* Text is made token by token, and each of them runs all earlier ones again. */
static void advise_cache(struct as_profile *p)
{
    unsigned long long again = p->data->model.recomputed;

    if (again == 0)
        return;
    as_recommend_add(
        p, &(struct as_advice){
               .rule = "no-kv-cache",
               .action = "to generate text, export the decoder with past keys and values as inputs "
                         "and outputs",
               .evidence = as_recommend_text(p,
                                             "no KV cache: each new token recomputes %llu earlier "
                                             "ones",
                                             again),
               .gain = AS_UNKNOWN,
               .share = 1,
               .confidence = ASSAY_CONFIDENCE_HIGH,
           });
}

void as_recommend_by_graph(struct as_profile *p)
{
    advise_transposes(p);
    advise_casts(p);
    advise_batch_norms(p);
    advise_lookups(p);
    advise_reorders(p);
    advise_cache(p);
}
