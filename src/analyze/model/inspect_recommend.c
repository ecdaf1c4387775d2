/* analyze/model/inspect_recommend.c - what the structure of a model suggests, before it runs:
 * weights stored twice, tokens computed again, layers worth quantizing. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/model/inspect.h"
#include "base/text/text.h"
#include "base/units.h"

#define SEVERITY_RECOMPUTE 90.0
#define MAX_TIES           5

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

static void find_ties(struct as_inspection *in)
{
    const struct as_params *p = in->params;
    size_t found = 0;

    for (size_t i = 0; i < p->n_params && found < MAX_TIES; i++) {
        const struct as_param *param = &p->params[i];
        const char *name = in->model->values[param->value].name;

        if (param->tied_to == AS_NONE)
            continue;
        found++;
        add(in,
            (struct assay_finding){
                .rule = "duplicate-weights",
                .target = name,
                .finding = text_of(in, "%.100s holds the same elements as %.100s: stored twice",
                                   name, in->model->values[p->params[param->tied_to].value].name),
                .evidence = text_of(in, "%llu bytes are equal", (unsigned long long)param->bytes),
                .action = "store the tensor once and use it twice",
                .severity = severity_of(in, param->bytes),
                .confidence = ASSAY_CONFIDENCE_HIGH});
    }
}

static void find_recompute(struct as_inspection *in)
{
    unsigned long long again = in->recomputed;

    if (!again)
        return;
    add(in,
        (struct assay_finding){
            .rule = "no-kv-cache",
            .finding = "no cache of keys and values: each new token computes all before it again",
            .evidence = text_of(in, "%llu tokens are computed again, %llu times the work", again,
                                again + 1),
            .action = "export the decoder with past keys and values as inputs and outputs",
            .severity = SEVERITY_RECOMPUTE,
            .confidence = ASSAY_CONFIDENCE_HIGH});
}

static void find_quantization(struct as_inspection *in)
{
    for (size_t i = 0; i < in->n_quant; i++) {
        const struct as_quant_candidate *q = &in->quant[i];
        const struct as_cost_row *row = &in->costs->rows[q->row];
        const char *name = as_node_label(row->graph, row->node);
        char bytes[AS_TEXT_HUMAN], saved[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN];

        as_text_bytes(bytes, (double)q->bytes);
        as_text_bytes(saved, (double)q->saved_bytes);
        as_text_fixed(rate, q->intensity, q->intensity < 10 ? 2 : 0);
        add(in, (struct assay_finding){
                    .rule = "quantize-weights",
                    .target = name,
                    .evidence = text_of(in, "%s of weights at %s FLOP/byte; 8 bits save %s", bytes,
                                        rate[0] ? rate : "-", saved),
                    .action = text_of(in, "quantize %.100s (%s) to int8", name, row->node->op_name),
                    .severity = severity_of(in, q->saved_bytes),
                    .confidence = ASSAY_CONFIDENCE_MEDIUM});
    }
}

void as_inspect_recommend(struct as_inspection *in)
{
    find_ties(in);
    find_recompute(in);
    find_quantization(in);
    as_findings_rank(in->recommendations, in->n_recommendations);
}
