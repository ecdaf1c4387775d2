/* analyze/recommend/inspect_recommend.c - what the structure of a model suggests, before it runs:
 * weights of equal content, tokens computed again, layers worth quantizing. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/model/inspect.h"
#include "base/text/text.h"
#include "base/units.h"

#define SEVERITY_RECOMPUTE 90.0

AS_PRINTF(2, 3) static const char *text_of(struct as_inspection *in, const char *fmt, ...)
{
    char line[400];
    va_list args;
    const char *copy;

    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    copy = as_arena_text(&in->arena, line, strlen(line));
    return copy ? copy : "";
}

static void add(struct as_inspection *in, struct assay_finding finding)
{
    finding.expected_gain = AS_UNKNOWN;
    if (in->n_recommendations < AS_INSPECT_RECOMMENDATIONS)
        in->recommendations[in->n_recommendations++] = finding;
}

/* The part of the stored parameters that could be saved, as a severity. */
static double severity_of(const struct as_inspection *in, uint64_t bytes)
{
    uint64_t all = in->params->stored_bytes;

    return all ? as_severity_of_gain((double)bytes / (double)all, 0) : 0;
}

/* The largest of those that repeat another. */
static const struct as_param *largest_copy(const struct as_params *p)
{
    const struct as_param *largest = NULL;

    for (size_t i = 0; i < p->n_params; i++)
        if (p->params[i].equal_to != AS_NONE && (!largest || p->params[i].bytes > largest->bytes))
            largest = &p->params[i];
    return largest;
}

/* One finding for all: clones of an untrained model may be many. */
static void find_copies(struct as_inspection *in)
{
    const struct as_params *p = in->params;
    const struct as_param *copy = largest_copy(p);
    char shared[AS_TEXT_HUMAN];

    if (!copy)
        return;
    as_text_bytes(shared, (double)p->equal_bytes);
    add(in, (struct assay_finding){
                .rule = "duplicate-weights",
                .target = in->model->values[copy->value].name,
                .finding = text_of(in, "%llu tensors hold equal content, %s could be shared",
                                   (unsigned long long)p->equal_tensors, shared),
                .evidence = text_of(in, "%.100s equals %.100s: %llu bytes each",
                                    in->model->values[copy->value].name,
                                    in->model->values[p->params[copy->equal_to].value].name,
                                    (unsigned long long)copy->bytes),
                .action = "where they are meant to be one parameter, store it once and use it "
                          "twice; copies that training will change stay as they are",
                .severity = severity_of(in, p->equal_bytes),
                .confidence = ASSAY_CONFIDENCE_MEDIUM});
}

static void find_recompute(struct as_inspection *in)
{
    unsigned long long again = in->recomputed;

    if (!again)
        return;
    add(in, (struct assay_finding){
                .rule = "no-kv-cache",
                .finding = "no KV cache: each new token recomputes all earlier ones",
                .evidence = text_of(in, "%llu tokens are recomputed, %llu times the work", again,
                                    again + 1),
                .action = "export the decoder with past keys and values as inputs and outputs",
                .severity = SEVERITY_RECOMPUTE,
                .confidence = ASSAY_CONFIDENCE_HIGH});
}

/* One finding for all layers: they are listed largest first. */
static void find_quantization(struct as_inspection *in)
{
    uint64_t saved = 0, stored = 0;
    char weights[AS_TEXT_HUMAN], all[AS_TEXT_HUMAN], most[AS_TEXT_HUMAN];
    const struct as_cost_row *row;
    const char *name;

    if (in->n_quant == 0)
        return;
    for (size_t i = 0; i < in->n_quant; i++) {
        saved += in->quant[i].saved_bytes;
        stored += in->quant[i].bytes;
    }
    row = &in->costs->rows[in->quant[0].row];
    name = as_inspect_brief(in, row);
    as_text_bytes(weights, (double)stored);
    as_text_bytes(all, (double)saved);
    as_text_bytes(most, (double)in->quant[0].saved_bytes);
    add(in, (struct assay_finding){
                .rule = "quantize-weights",
                .target = as_node_label(row->graph, row->node),
                .finding = text_of(in, "int8 weights save %s in the %zu largest layer%s", all,
                                   in->n_quant, in->n_quant == 1 ? "" : "s"),
                .evidence = text_of(
                    in, "%zu layer%s hold%s %s of f32 or f16 weights; %.100s alone saves %s",
                    in->n_quant, in->n_quant == 1 ? "" : "s", in->n_quant == 1 ? "s" : "", weights,
                    name, most),
                .action = text_of(in, "quantize to int8, beginning with %.100s", name),
                .severity = severity_of(in, saved),
                .confidence = ASSAY_CONFIDENCE_MEDIUM});
}

void as_inspect_recommend(struct as_inspection *in)
{
    find_copies(in);
    find_recompute(in);
    find_quantization(in);
    as_inspect_recommend_more(in);
    as_findings_rank(in->recommendations, in->n_recommendations);
    if (in->n_recommendations > AS_INSPECT_SHOWN)
        in->n_recommendations = AS_INSPECT_SHOWN;
}
