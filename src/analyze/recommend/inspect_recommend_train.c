/* analyze/recommend/inspect_recommend_train.c - what the graph and the memory of a training step
 * suggest, before anything runs. */
#include <stdio.h>
#include <string.h>

#include "analyze/model/inspect.h"
#include "base/text/text.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"
#include "model/structure/structure.h"

#define MOST_SAVED  0.5 /* of the peak: then the activations kept are what to save */
#define WORTH_BYTES 0.1 /* of what is there */

static const char *copy(struct as_inspection *in, const char *text)
{
    const char *kept = as_arena_text(&in->arena, text, strlen(text));

    return kept ? kept : "";
}

static void add(struct as_inspection *in, const struct assay_finding *finding)
{
    if (in->n_recommendations < AS_INSPECT_RECOMMENDATIONS)
        in->recommendations[in->n_recommendations++] = *finding;
}

/* ---- the graph ---- */

static const struct {
    const char *one, *several, *action;
} structure_text[AS_STRUCTURE_COUNT] = {
    [AS_STRUCTURE_TRANSPOSE_PAIR] = {"pair of Transposes that undo each other",
                                     "pairs of Transposes that undo each other",
                                     "export in one layout, or run a graph simplifier"},
    [AS_STRUCTURE_CAST_CHAIN] = {"chain of Casts", "chains of Casts",
                                 "keep one type from the first to the last"},
    [AS_STRUCTURE_BATCH_NORM] = {"BatchNormalization that could be in the weights before it",
                                 "BatchNormalizations that could be in the weights before them",
                                 "export in inference mode; assay folds them when it runs the "
                                 "model, other engines may not"},
};

static void find_structures(struct as_inspection *in)
{
    struct as_structure found[AS_STRUCTURE_COUNT];
    size_t n = 0;

    if (as_structures_find(found, &n, in->model, &in->arena, NULL) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        bool one = found[i].n_places == 1;
        char line[120], evidence[160];

        (void)snprintf(line, sizeof line, "%llu %s", (unsigned long long)found[i].n_places,
                       one ? structure_text[found[i].kind].one
                           : structure_text[found[i].kind].several);
        (void)snprintf(evidence, sizeof evidence, "%s%.140s",
                       one ? "" : "the first: ", found[i].example);
        add(in, &(struct assay_finding){.rule = as_structure_rule(found[i].kind),
                                        .finding = copy(in, line),
                                        .evidence = copy(in, evidence),
                                        .action = structure_text[found[i].kind].action,
                                        .severity = AS_SEVERITY_NOTE,
                                        .expected_gain = AS_UNKNOWN,
                                        .confidence = ASSAY_CONFIDENCE_HIGH});
    }
}

/* ---- training ---- */

static double part_of(uint64_t bytes, uint64_t all)
{
    return all ? (double)bytes / (double)all : 0;
}

/* The same step with checkpoints: what it saves and what it computes again. */
static void find_checkpoints(struct as_inspection *in)
{
    struct as_train_options with = in->options.train;
    struct as_train_memory other;
    char before[AS_TEXT_HUMAN], after[AS_TEXT_HUMAN], again[AS_TEXT_HUMAN], saved[AS_TEXT_HUMAN];
    char line[400];
    double gain;

    with.checkpoint = true;
    if (in->options.train.checkpoint || !in->train.exact ||
        part_of(in->train.saved_bytes, in->train.peak_bytes) < MOST_SAVED ||
        as_train_memory_count(&other, in->model, in->costs, in->params, &with, NULL) < 0 ||
        !other.exact || other.peak_bytes >= in->train.peak_bytes)
        return;
    gain = 1 - part_of(other.peak_bytes, in->train.peak_bytes);
    if (gain < WORTH_BYTES)
        return;
    as_text_bytes(before, (double)in->train.peak_bytes);
    as_text_bytes(after, (double)other.peak_bytes);
    as_text_percent(again, part_of(other.recompute_macs,
                                   as_sat_add(in->costs->forward.macs, in->costs->backward.macs)));
    as_text_percent(saved, part_of(in->train.saved_bytes, in->train.peak_bytes));
    (void)snprintf(line, sizeof line,
                   "activations kept for the backward pass are %s of the peak of a step; with "
                   "checkpoints the peak is %s instead of %s, for %s more MACs",
                   saved, after, before, again);
    add(in, &(struct assay_finding){.rule = "checkpoint-activations",
                                    .finding = "the activations kept for the backward pass are "
                                               "most of the memory of a training step",
                                    .evidence = copy(in, line),
                                    .action = "compute activations again by segments "
                                              "(torch.utils.checkpoint), and compare: --train "
                                              "--checkpoint",
                                    .severity = as_severity_of_gain(gain, 0),
                                    .expected_gain = AS_UNKNOWN,
                                    .confidence = ASSAY_CONFIDENCE_MEDIUM});
}

static bool is_half(const struct as_train_options *o)
{
    return o->mixed || o->dtype == AS_DTYPE_F16 || o->dtype == AS_DTYPE_BF16;
}

/* Scores of attention, which a fused kernel does not keep. */
static void find_scores(struct as_inspection *in)
{
    uint64_t bytes = 0, width = is_half(&in->options.train) ? 2 : 4;
    char text[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN], line[400];
    double part;

    for (size_t i = 0; i < in->costs->n_attentions; i++) {
        const struct as_attention *a = &in->costs->attentions[i];
        uint64_t scores =
            as_sat_mul(as_sat_mul(a->batch, a->heads), as_sat_mul(a->queries, a->keys));

        bytes = as_sat_add(bytes, as_sat_mul(scores, width));
    }
    part = part_of(bytes, in->train.saved_bytes);
    if (!in->train.exact || part < WORTH_BYTES || bytes > in->train.saved_bytes)
        return;
    as_text_bytes(text, (double)bytes);
    as_text_percent(share, part);
    (void)snprintf(line, sizeof line,
                   "the scores of %zu blocks of attention are %s, %s of the activations kept",
                   in->costs->n_attentions, text, share);
    add(in, &(struct assay_finding){
                .rule = "fused-attention",
                .finding = "attention keeps its scores for the backward pass",
                .evidence = copy(in, line),
                .action = "train with a fused attention "
                          "(scaled_dot_product_attention), which computes "
                          "them again",
                .severity = as_severity_of_gain(part_of(bytes, in->train.peak_bytes), 0),
                .expected_gain = AS_UNKNOWN,
                .confidence = ASSAY_CONFIDENCE_MEDIUM});
}

void as_inspect_recommend_more(struct as_inspection *in)
{
    find_structures(in);
    if (!in->options.training)
        return;
    find_checkpoints(in);
    find_scores(in);
}
