/* report/inspect/inspect_sections_text.c - the smaller tables about a model: attention, parameters,
 * training, scaling, weights, deployment. Each leaves itself out when there is nothing to show. */
#include <math.h>
#include <stdio.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/inspect/inspect_report.h"

static void put_cell_count(struct as_table *t, uint64_t n)
{
    char text[AS_TEXT_HUMAN];

    as_text_count(text, n);
    as_table_text(t, AS_STYLE_NONE, text);
}

static void put_cell_bytes(struct as_table *t, uint64_t n)
{
    char text[AS_TEXT_HUMAN];

    as_text_bytes(text, (double)n);
    as_table_text(t, AS_STYLE_NONE, text);
}

static void put_decoder(const struct as_inspection *in, struct as_page *page)
{
    const struct as_decoder *d = &in->costs->decoder;
    char token[AS_TEXT_HUMAN], whole[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN];

    if (in->attention_macs && in->costs->forward.macs) {
        as_text_percent(share, (double)in->attention_macs / (double)in->costs->forward.macs);
        as_page_pair(page, AS_STYLE_NONE, "share", "%s of the MACs%s", share,
                     in->projections_known ? ", with its projections" : ", without projections");
    }
    if (!in->kv_bytes_per_token)
        return;
    as_text_bytes(token, (double)in->kv_bytes_per_token);
    as_page_pair(page, AS_STYLE_NONE, "cache", "%s per token with %u-bit keys and values", token,
                 in->options.kv_bits ? in->options.kv_bits : 16);
    if (d->context) {
        as_text_bytes(whole, (double)in->kv_bytes_per_token * (double)d->context);
        as_page_pair(page, AS_STYLE_NONE, NULL, "%s at its context of %llu tokens", whole,
                     (unsigned long long)d->context);
    }
    if (isfinite(in->max_tokens_per_second)) {
        as_text_fixed(rate, in->max_tokens_per_second, 1);
        as_page_pair(page, AS_STYLE_NONE, "tokens",
                     "up to %s per second for one sequence at the given bandwidth", rate);
        as_text_fixed(rate, in->max_tokens_at_context, 1);
        if (isfinite(in->max_tokens_at_context))
            as_page_pair(page, AS_STYLE_NONE, NULL, "up to %s with a full cache", rate);
    }
}

int as_inspect_attention(const struct as_inspect_report *report, struct as_page *page,
                         struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "attention", .identity = true},
        {.title = "kind"},
        {.title = "heads", .align = AS_ALIGN_RIGHT},
        {.title = "head_dim", .align = AS_ALIGN_RIGHT},
        {.title = "queries", .align = AS_ALIGN_RIGHT},
        {.title = "keys", .align = AS_ALIGN_RIGHT},
        {.title = "MACs", .align = AS_ALIGN_RIGHT},
        {.title = "unmasked", .align = AS_ALIGN_RIGHT, .drop = 1},
    };
    const struct as_inspection *in = report->in;
    size_t n = in->costs->n_attentions, shown;
    struct as_table t;

    (void)err;
    if (n == 0 && !in->kv_bytes_per_token)
        return ASSAY_OK;
    as_page_heading(page, "Attention", NULL);
    put_decoder(in, page);
    if (n == 0)
        return ASSAY_OK;
    shown = report->top ? report->top : 6;
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < n && i < shown; i++) {
        const struct as_attention *a = &in->costs->attentions[i];
        char macs[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN];

        as_text_si(macs, (double)a->macs, "");
        as_text_percent(share, a->macs ? (double)a->causal_macs / (double)a->macs : AS_UNKNOWN);
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, a->name);
        as_table_text(&t, AS_STYLE_NONE, as_attention_kind(a));
        if (a->kv_heads && a->kv_heads != a->heads)
            as_table_printf(&t, AS_STYLE_NONE, "%llu/%llu", (unsigned long long)a->heads,
                            (unsigned long long)a->kv_heads);
        else
            put_cell_count(&t, a->heads);
        put_cell_count(&t, a->head_dim);
        put_cell_count(&t, a->queries);
        put_cell_count(&t, a->keys);
        as_table_text(&t, AS_STYLE_NONE, macs);
        as_table_text(&t, AS_STYLE_NONE, a->causal ? share : "not causal");
    }
    as_page_table(page, &t);
    if (n > shown)
        as_page_line(page, AS_STYLE_DIM, "%zu more", n - shown);
    return ASSAY_OK;
}

int as_inspect_parameters(const struct as_inspect_report *report, struct as_page *page,
                          struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "constants"},
        {.title = "tensors", .align = AS_ALIGN_RIGHT},
        {.title = "elements", .align = AS_ALIGN_RIGHT},
        {.title = "bytes", .align = AS_ALIGN_RIGHT},
    };
    const struct as_params *p = report->in->params;
    struct as_table t;

    (void)err;
    if (p->n_params == 0)
        return ASSAY_OK;
    as_page_heading(page, "Parameters", "shared tensors counted once");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (int i = 0; i < AS_ROLE_COUNT; i++) {
        if (!p->by_role[i].tensors)
            continue;
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_role_name((enum as_role)i));
        put_cell_count(&t, p->by_role[i].tensors);
        put_cell_count(&t, p->by_role[i].elems);
        put_cell_bytes(&t, p->by_role[i].bytes);
    }
    as_table_rule(&t);
    for (unsigned i = 0; i < AS_DTYPE_COUNT; i++) {
        if (!p->by_dtype[i].tensors)
            continue;
        as_table_row(&t);
        as_table_printf(&t, AS_STYLE_NONE, "  as %s", as_dtype_name(i));
        put_cell_count(&t, p->by_dtype[i].tensors);
        put_cell_count(&t, p->by_dtype[i].elems);
        put_cell_bytes(&t, p->by_dtype[i].bytes);
    }
    as_table_rule(&t);
    as_table_row(&t);
    as_table_text(&t, AS_STYLE_NONE, "stored in the file");
    as_table_text(&t, AS_STYLE_NONE, "");
    put_cell_count(&t, p->stored);
    put_cell_bytes(&t, p->stored_bytes);
    as_page_table(page, &t);
    return ASSAY_OK;
}

static void put_train_row(struct as_table *t, const char *what, uint64_t bytes)
{
    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, what);
    put_cell_bytes(t, bytes);
}

int as_inspect_training(const struct as_inspect_report *report, struct as_page *page,
                        struct assay_error *err)
{
    static const struct as_table_column columns[] = {{.title = "memory of a training step"},
                                                     {.title = "bytes", .align = AS_ALIGN_RIGHT}};
    const struct as_inspection *in = report->in;
    const struct as_train_memory *m = &in->train;
    char note[100];
    struct as_table t;

    (void)err;
    if (!in->options.training)
        return ASSAY_OK;
    (void)snprintf(note, sizeof note, "%s%s%s%s", as_optimizer_name(in->options.train.optimizer),
                   in->options.train.mixed ? ", mixed precision" : "",
                   in->options.train.checkpoint ? ", checkpointing" : "",
                   m->exact ? "" : ", some sizes unknown");
    as_page_heading(page, "Training", note);
    as_table_init(&t, columns, 2);
    put_train_row(&t, "parameters", m->parameter_bytes);
    if (m->master_bytes)
        put_train_row(&t, "master copy", m->master_bytes);
    put_train_row(&t, "gradients", m->gradient_bytes);
    put_train_row(&t, "optimizer state", m->optimizer_bytes);
    put_train_row(&t, "activations kept for backward", m->saved_bytes);
    as_table_rule(&t);
    put_train_row(&t, "peak of forward", m->forward_peak_bytes);
    put_train_row(&t, "peak of backward", m->backward_peak_bytes);
    put_train_row(&t, "peak of the optimizer", m->step_peak_bytes);
    put_train_row(&t, "peak of the step", m->peak_bytes);
    as_page_table(page, &t);
    if (m->recompute_macs) {
        char macs[AS_TEXT_HUMAN];

        as_text_si(macs, (double)m->recompute_macs, "MAC");
        as_page_line(page, AS_STYLE_DIM, "checkpointing computes %s a second time", macs);
    }
    return ASSAY_OK;
}

int as_inspect_scaling(const struct as_inspect_report *report, struct as_page *page,
                       struct assay_error *err)
{
    struct as_table_column columns[] = {
        {.title = report->in->scale_name, .align = AS_ALIGN_RIGHT},
        {.title = "parameters", .align = AS_ALIGN_RIGHT},
        {.title = "MACs", .align = AS_ALIGN_RIGHT},
        {.title = "FLOPs", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "traffic", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "weights", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "activations", .align = AS_ALIGN_RIGHT},
        {.title = "training peak", .align = AS_ALIGN_RIGHT},
    };
    const struct as_inspection *in = report->in;
    size_t n_columns = AS_COUNT_OF(columns) - !in->options.training;
    struct as_table t;

    (void)err;
    if (in->n_scale == 0)
        return ASSAY_OK;
    as_page_heading(page, "Scaling", "each row is counted separately");
    as_table_init(&t, columns, n_columns);
    for (size_t i = 0; i < in->n_scale; i++) {
        const struct as_scale_row *row = &in->scale[i];
        const double counts[] = {(double)row->parameters, (double)row->macs, (double)row->flops};
        const uint64_t bytes[] = {row->bytes_moved, row->parameter_bytes, row->activation_bytes};
        char text[AS_TEXT_HUMAN];

        as_table_row(&t);
        as_table_printf(&t, AS_STYLE_NONE, "%lld", (long long)row->value);
        for (size_t k = 0; k < 3; k++) {
            as_text_si(text, counts[k], NULL);
            as_table_printf(&t, AS_STYLE_NONE, "%s%s", k && !row->complete ? ">=" : "", text);
        }
        for (size_t k = 0; k < 3; k++)
            put_cell_bytes(&t, bytes[k]);
        if (in->options.training)
            put_cell_bytes(&t, row->training_bytes);
    }
    as_page_table(page, &t);
    return ASSAY_OK;
}

int as_inspect_weights(const struct as_inspect_report *report, struct as_page *page,
                       struct assay_error *err)
{
    static const struct as_table_column columns[] = {{.title = "of |w|"},
                                                     {.title = "value", .align = AS_ALIGN_RIGHT}};
    const struct as_inspection *in = report->in;
    const struct as_weight_stats *s = &in->weights;
    struct as_table t;
    char count[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN];

    (void)err;
    if (!in->options.weights)
        return ASSAY_OK;
    as_page_heading(page, "Weights", NULL);
    if (in->weights_rc < 0) {
        as_page_line(page, AS_STYLE_WARN, "%s", in->weights_error.msg);
        return ASSAY_OK;
    }
    as_text_count(count, s->total_weights);
    as_page_line(page, AS_STYLE_NONE, "%s weights read", count);
    if (s->skipped) {
        as_text_count(count, s->skipped);
        as_page_line(page, AS_STYLE_WARN,
                     "! %s weights are of an unsupported type; the statistics exclude them", count);
    }
    as_table_init(&t, columns, 2);
    for (int i = 0; i < 4 + AS_WEIGHT_PERCENTILES; i++) {
        static const char *const words[] = {"min", "mean", "std", "max"};
        const double values[] = {s->min, s->mean, s->std, s->max};

        as_table_row(&t);
        if (i < 4)
            as_table_text(&t, AS_STYLE_NONE, words[i]);
        else
            as_table_printf(&t, AS_STYLE_NONE, "percentile %d", as_weight_percentiles[i - 4]);
        as_table_printf(&t, AS_STYLE_NONE, "%.6g", i < 4 ? values[i] : s->percentile[i - 4]);
    }
    for (int i = 0; i < 3; i++) {
        static const char *const words[] = {"below 0.001", "below 0.01", "below 0.1"};
        const uint64_t below[] = {s->below_0001, s->below_001, s->below_01};

        as_text_percent(share, s->total_weights ? (double)below[i] / (double)s->total_weights
                                                : AS_UNKNOWN);
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, words[i]);
        as_table_text(&t, AS_STYLE_NONE, share);
    }
    as_page_table(page, &t);
    if (s->percentile_error > 0)
        as_page_line(page, AS_STYLE_DIM, "percentiles within %.2g %%", 100 * s->percentile_error);
    if (s->n_nan || s->n_inf)
        as_page_line(page, AS_STYLE_BAD, "! %llu weights are not a number, %llu are infinite",
                     (unsigned long long)s->n_nan, (unsigned long long)s->n_inf);
    return ASSAY_OK;
}

int as_inspect_deployment(const struct as_inspect_report *report, struct as_page *page,
                          struct assay_error *err)
{
    const struct as_table_column columns[] = {
        {.title = "weights as"},
        {.title = "bytes", .align = AS_ALIGN_RIGHT},
        {.title = report->in->kv_bytes ? "with activations and cache" : "with activations",
         .align = AS_ALIGN_RIGHT},
        {.title = "fits in", .align = AS_ALIGN_RIGHT},
    };
    const struct as_inspection *in = report->in;
    struct as_table t;

    (void)err;
    if (in->params->parameters == 0)
        return ASSAY_OK;
    as_page_heading(page, "Deployment", NULL);
    as_table_init(&t, columns, 4);
    for (size_t i = 0; i < AS_DEPLOYMENTS; i++) {
        const struct as_deployment *d = &in->deployment[i];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, d->dtype);
        put_cell_bytes(&t, d->weight_bytes);
        if (in->model->has_graph)
            put_cell_bytes(&t, d->total_bytes);
        else
            as_table_text(&t, AS_STYLE_DIM, "-");
        if (!in->model->has_graph)
            as_table_text(&t, AS_STYLE_DIM, "-");
        else
            as_table_text(&t, AS_STYLE_NONE,
                          d->device_class ? d->device_class : "more than 640 GiB");
    }
    as_page_table(page, &t);
    return ASSAY_OK;
}
