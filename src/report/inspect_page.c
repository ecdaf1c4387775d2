/* report/inspect_page.c - what a model is made of, for a person: the headline and the small
 * sections. The table of layers is in inspect_layers.c, the curve of memory in inspect_memory.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/inspect_report.h"

const char *as_inspect_section_at(size_t i)
{
    static const char *const names[] = {
#define X(name, function, help, usual) #function,
        AS_INSPECT_SECTIONS(X)
#undef X
    };

    return i < AS_INSPECT_SECTION_COUNT ? names[i] : NULL;
}

const char *as_inspect_format_name(enum as_model_format format)
{
    static const char *const names[] = {
        [AS_FORMAT_BUILT] = "built",   [AS_FORMAT_ONNX] = "onnx",
        [AS_FORMAT_GGUF] = "gguf",     [AS_FORMAT_SAFETENSORS] = "safetensors",
        [AS_FORMAT_TFLITE] = "tflite",
    };
    _Static_assert(sizeof names / sizeof *names == AS_FORMAT_COUNT, "name every format");

    return names[format];
}

const char *as_inspect_finding_name(enum as_finding_kind kind)
{
    static const char *const names[] = {
        [AS_FINDING_UNKNOWN_OP] = "unknown_op", [AS_FINDING_UNKNOWN_SHAPE] = "unknown_shape",
        [AS_FINDING_DEFAULT] = "default",       [AS_FINDING_BRANCH] = "branch",
        [AS_FINDING_CONFLICT] = "conflict",     [AS_FINDING_NOTE] = "note",
    };
    _Static_assert(sizeof names / sizeof *names == AS_FINDING_COUNT, "name every finding");

    return names[kind];
}

/* "25,557,032 (25.6 M)". */
enum { COUNT_TEXT = 3 * AS_TEXT_HUMAN };

static const char *count_text(char out[COUNT_TEXT], uint64_t value, const char *unit)
{
    char exact[AS_TEXT_HUMAN], round[AS_TEXT_HUMAN];

    as_text_count(exact, value);
    as_text_si(round, (double)value, unit);
    if (value < 10000)
        (void)snprintf(out, COUNT_TEXT, "%s%s%s", exact, unit[0] ? " " : "", unit);
    else
        (void)snprintf(out, COUNT_TEXT, "%s (%s)", exact, round);
    return out;
}

static void put_title(const struct as_inspection *in, struct as_page *page)
{
    static const char *const names[AS_FORMAT_COUNT] = {"built in", "ONNX", "GGUF", "safetensors",
                                                       "TensorFlow Lite"};
    const struct as_model *m = in->model;
    char size[AS_TEXT_HUMAN] = "", opset[32] = "", nodes[AS_TEXT_HUMAN + 16] = "";
    char count[AS_TEXT_HUMAN];

    as_text_bytes(size, (double)m->file_bytes);
    as_text_count(count, in->n_nodes);
    if (m->opset > 0 && (m->format == AS_FORMAT_ONNX || m->format == AS_FORMAT_BUILT))
        (void)snprintf(opset, sizeof opset, ", opset %lld", (long long)m->opset);
    if (m->has_graph)
        (void)snprintf(nodes, sizeof nodes, ", %s node%s", count, in->n_nodes == 1 ? "" : "s");
    as_page_title(page, m->path);
    as_page_line(page, AS_STYLE_DIM, "%s%s%s%s%s%s%.60s", names[m->format], opset, nodes,
                 m->file_bytes ? ", " : "", m->file_bytes ? size : "",
                 m->producer[0] ? ", by " : "", as_page_name(page, m->producer));
}

static void put_parameters_line(const struct as_inspection *in, struct as_page *page)
{
    const struct as_params *p = in->params;
    char count[COUNT_TEXT], bytes[AS_TEXT_HUMAN], stored[AS_TEXT_HUMAN];
    char more[200] = "";
    size_t size = 0;

    count_text(count, p->parameters, "");
    as_text_bytes(bytes, (double)p->parameter_bytes);
    if (p->by_role[AS_ROLE_BUFFER].elems) {
        as_text_count(stored, p->by_role[AS_ROLE_BUFFER].elems);
        size += (size_t)snprintf(more + size, sizeof more - size, ", %s in buffers", stored);
    }
    if (p->tied_elems) {
        as_text_count(stored, p->tied_elems);
        size += (size_t)snprintf(more + size, sizeof more - size, ", %s stored twice", stored);
    }
    if (isfinite(p->compression) && fabs(p->compression - 1) > 0.005)
        (void)snprintf(more + size, sizeof more - size, ", %.2fx below f32 with scales",
                       p->compression);
    as_page_line(page, AS_STYLE_NONE, "parameters   %s, %s%s", count, bytes, more);
}

static void put_compute_lines(const struct as_inspection *in, struct as_page *page)
{
    const struct as_cost *c = &in->costs->forward;
    char macs[COUNT_TEXT], flops[AS_TEXT_HUMAN], element[AS_TEXT_HUMAN];
    char transc[AS_TEXT_HUMAN], back[AS_TEXT_HUMAN], batch[64];

    if (!in->model->has_graph) {
        as_page_line(page, AS_STYLE_DIM, "compute      not known: the file holds weights only");
        return;
    }
    as_text_si(flops, (double)in->flops, "FLOP");
    as_text_si(element, (double)c->elementwise, "");
    as_text_si(transc, (double)c->transcendental, "");
    as_text_si(back, (double)in->flops_backward, "FLOP");
    (void)snprintf(batch, sizeof batch, "for a batch of %llu",
                   (unsigned long long)in->costs->batch);
    as_page_line(page, AS_STYLE_NONE, "compute      %s, %s%s %s", count_text(macs, c->macs, "MAC"),
                 in->complete ? "" : "at least ", flops, batch);
    as_page_line(page, AS_STYLE_DIM, "             %s elementwise, %s transcendental; backward %s",
                 element, transc, back);
    if (in->costs->batch > 1 && !in->costs->overflow) {
        as_text_si(flops, (double)in->flops / (double)in->costs->batch, "FLOP");
        as_text_si(macs, (double)c->macs / (double)in->costs->batch, "MAC");
        as_page_line(page, AS_STYLE_NONE, "per sample   %s, %s", macs, flops);
    }
}

static void put_memory_line(const struct as_inspection *in, struct as_page *page)
{
    char peak[AS_TEXT_HUMAN], naive[AS_TEXT_HUMAN], moved[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN];

    if (!in->model->has_graph)
        return;
    as_text_bytes(peak, (double)in->plan->peak_bytes);
    as_text_bytes(naive, (double)in->plan->naive_bytes);
    as_text_bytes(moved, (double)in->bytes_moved);
    as_text_fixed(rate, in->intensity, in->intensity < 10 ? 2 : 1);
    as_page_line(page, AS_STYLE_NONE, "activations  %s at their peak (%s without reuse)", peak,
                 naive);
    as_page_line(page, AS_STYLE_NONE, "traffic      %s read and written, %s FLOP a byte", moved,
                 rate[0] ? rate : "-");
}

static void put_bounds(const struct as_inspection *in, struct as_page *page)
{
    char time[AS_TEXT_HUMAN];

    if (isfinite(in->min_seconds)) {
        as_text_ns(time, in->min_seconds * 1e9, AS_TIME_AUTO);
        as_page_line(page, AS_STYLE_NONE,
                     "at best      %s at the rates given, weights and ends moved once", time);
    }
}

static void put_fit(const struct as_inspection *in, struct as_page *page)
{
    char memory[AS_TEXT_HUMAN], need[AS_TEXT_HUMAN], value[AS_TEXT_HUMAN];
    const char *what = in->options.fit_what == AS_FIT_BATCH     ? "batch"
                       : in->options.fit_what == AS_FIT_CONTEXT ? "context"
                                                                : in->options.fit_symbol;

    if (!in->options.fit_bytes)
        return;
    as_text_bytes(memory, (double)in->options.fit_bytes);
    if (in->fit.value == 0) {
        as_text_bytes(need, (double)in->fit.bytes_at_one);
        as_page_line(page, AS_STYLE_WARN, "fits         not in %s: %s 1 needs %s", memory, what,
                     need);
        return;
    }
    as_text_count(value, in->fit.value);
    as_text_bytes(need, (double)in->fit.bytes);
    as_page_line(page, AS_STYLE_NONE, "fits         %s %s%s in %s%s (needs %s)%s", what,
                 in->fit.at_max && !in->fit.at_context ? "at least " : "", value, memory,
                 in->options.training ? " for training" : "", need,
                 in->fit.at_context ? ": all that the model can take" : "");
}

int as_inspect_summary(const struct as_inspect_report *report, struct as_page *page,
                       struct assay_error *err)
{
    const struct as_inspection *in = report->in;
    const struct as_costs *c = in->costs;

    (void)err;
    put_title(in, page);
    if (c->n_unknown_ops || c->n_unknown_shapes)
        as_page_line(
            page, AS_STYLE_WARN,
            "! not everything is counted: %zu layer%s of unknown operators, %zu of unknown shape",
            c->n_unknown_ops, c->n_unknown_ops == 1 ? "" : "s", c->n_unknown_shapes);
    if (!c->times_known)
        as_page_line(
            page, AS_STYLE_WARN,
            "! a branch or a loop depends on data: the costlier branch and one round are counted");
    if (c->overflow)
        as_page_line(page, AS_STYLE_WARN, "! some counts pass 2^64 and are cut there");
    put_parameters_line(in, page);
    put_compute_lines(in, page);
    put_memory_line(in, page);
    put_bounds(in, page);
    put_fit(in, page);
    if (in->model->has_graph)
        as_page_line(page, AS_STYLE_DIM, "%s", AS_COST_CONVENTION);
    return ASSAY_OK;
}

enum { USUAL_TENSORS = 100 };

/* Returns how many are left out. */
static uint32_t put_tensors(const struct as_inspect_report *report, struct as_table *t,
                            const char *what, const uint32_t *at, uint32_t n)
{
    const struct as_inspection *in = report->in;
    size_t limit = report->top ? report->top : USUAL_TENSORS;
    uint32_t shown = n < limit ? n : (uint32_t)limit;

    for (uint32_t i = 0; i < shown; i++) {
        const struct as_value *value = &in->model->values[at[i]];
        char shape[120], symbols[120] = "";
        uint64_t bytes;
        size_t size = 0;

        if (value->is_initializer) /* older files list their weights among the inputs */
            continue;
        as_type_text(shape, sizeof shape, &value->type);
        for (int axis = 0; value->symbols && axis < value->type.rank && size < sizeof symbols;
             axis++) {
            char number[AS_TEXT_INT] = "?";

            if (!value->symbols[axis] || !value->symbols[axis][0])
                continue;
            if (value->type.dims[axis] >= 0)
                as_text_i64(number, value->type.dims[axis]);
            size += (size_t)snprintf(symbols + size, sizeof symbols - size, "%s%.30s=%s",
                                     size ? " " : "", value->symbols[axis], number);
        }
        as_table_row(t);
        as_table_text(t, AS_STYLE_DIM, what);
        as_table_text(t, AS_STYLE_NONE, value->name);
        as_table_text(t, AS_STYLE_NONE, as_dtype_name(value->type.dtype));
        as_table_text(t, AS_STYLE_NONE, shape);
        if (as_type_bytes(&value->type, &bytes)) {
            char human[AS_TEXT_HUMAN];

            as_text_bytes(human, (double)bytes);
            as_table_text(t, AS_STYLE_NONE, human);
        } else {
            as_table_text(t, AS_STYLE_NONE, "-");
        }
        as_table_text(t, AS_STYLE_DIM, symbols);
    }
    return n - shown;
}

int as_inspect_tensors(const struct as_inspect_report *report, struct as_page *page,
                       struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = ""},
        {.title = "tensor", .may_shrink = true},
        {.title = "type"},
        {.title = "shape", .may_shrink = true},
        {.title = "bytes", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "", .drop = 3, .may_shrink = true},
    };
    const struct as_graph *main = report->in->model->main;
    struct as_table t;
    uint64_t more;

    (void)err;
    if (!report->in->model->has_graph)
        return ASSAY_OK;
    as_page_heading(page, "Inputs and outputs", NULL);
    as_table_init(&t, columns, sizeof columns / sizeof *columns);
    more = put_tensors(report, &t, "in", main->inputs, main->n_inputs);
    more += put_tensors(report, &t, "out", main->outputs, main->n_outputs);
    as_page_table(page, &t);
    if (more)
        as_page_line(page, AS_STYLE_DIM, "%llu more; --top N shows N of each",
                     (unsigned long long)more);
    return ASSAY_OK;
}

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
        as_page_line(page, AS_STYLE_NONE, "share        %s of the MACs%s", share,
                     in->projections_known ? ", with its projections" : ", without projections");
    }
    if (!in->kv_bytes_per_token)
        return;
    as_text_bytes(token, (double)in->kv_bytes_per_token);
    as_page_line(page, AS_STYLE_NONE, "cache        %s a token with %u-bit keys and values", token,
                 in->options.kv_bits ? in->options.kv_bits : 16);
    if (d->context) {
        as_text_bytes(whole, (double)in->kv_bytes_per_token * (double)d->context);
        as_page_line(page, AS_STYLE_NONE, "             %s at its context of %llu tokens", whole,
                     (unsigned long long)d->context);
    }
    if (isfinite(in->max_tokens_per_second)) {
        as_text_fixed(rate, in->max_tokens_per_second, 1);
        as_page_line(page, AS_STYLE_NONE,
                     "tokens       at most %s a second for one sequence at the bandwidth given",
                     rate);
        as_text_fixed(rate, in->max_tokens_at_context, 1);
        if (isfinite(in->max_tokens_at_context))
            as_page_line(page, AS_STYLE_NONE, "             at most %s with a full cache", rate);
    }
}

int as_inspect_attention(const struct as_inspect_report *report, struct as_page *page,
                         struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "attention", .may_shrink = true},
        {.title = "kind"},
        {.title = "heads", .align = AS_ALIGN_RIGHT},
        {.title = "width", .align = AS_ALIGN_RIGHT},
        {.title = "queries", .align = AS_ALIGN_RIGHT},
        {.title = "keys", .align = AS_ALIGN_RIGHT},
        {.title = "MACs", .align = AS_ALIGN_RIGHT},
        {.title = "causal share", .align = AS_ALIGN_RIGHT, .drop = 1},
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
    as_table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n && i < shown; i++) {
        const struct as_attention *a = &in->costs->attentions[i];
        char macs[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN];

        as_text_si(macs, (double)a->macs, "");
        as_text_percent(share, a->macs ? (double)a->causal_macs / (double)a->macs : (double)NAN);
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
    as_page_heading(page, "Parameters", "each number once");
    as_table_init(&t, columns, sizeof columns / sizeof *columns);
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
                   m->exact ? "" : ", some sizes not known");
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
    size_t n_columns = sizeof columns / sizeof *columns - !in->options.training;
    struct as_table t;

    (void)err;
    if (in->n_scale == 0)
        return ASSAY_OK;
    as_page_heading(page, "Scaling", "each row counted anew");
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
                     "! %s weights are of a kind that is not read; the figures leave them out",
                     count);
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
                                                : (double)NAN);
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
        as_table_text(&t, AS_STYLE_NONE, d->device_class ? d->device_class : "more than 640 GiB");
    }
    as_page_table(page, &t);
    return ASSAY_OK;
}

static void put_quant_advice(const struct as_inspection *in, struct as_page *page)
{
    for (size_t i = 0; i < in->n_quant; i++) {
        const struct as_quant_candidate *q = &in->quant[i];
        const struct as_cost_row *row = &in->costs->rows[q->row];
        char bytes[AS_TEXT_HUMAN], saved[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN];

        as_text_bytes(bytes, (double)q->bytes);
        as_text_bytes(saved, (double)q->saved_bytes);
        as_text_fixed(rate, q->intensity, q->intensity < 10 ? 2 : 0);
        as_page_line(page, AS_STYLE_NONE,
                     "%s quantise %s (%s): %s of weights at %s FLOP a byte; 8 bits save %s",
                     as_page_glyph(page, AS_GLYPH_ARROW),
                     as_page_name(page, as_node_label(row->graph, row->node)), row->node->op_name,
                     bytes, rate[0] ? rate : "-", saved);
    }
}

static void put_ties(const struct as_inspection *in, struct as_page *page)
{
    const struct as_params *p = in->params;
    size_t shown = 0;

    for (size_t i = 0; i < p->n_params && shown < 5; i++) {
        const struct as_param *param = &p->params[i];
        const struct as_value *value = &in->model->values[param->value];

        if (param->tied_to != AS_NONE) {
            as_page_line(
                page, AS_STYLE_NONE, "%s %s holds the same numbers as %s: stored twice",
                as_page_glyph(page, AS_GLYPH_BULLET), as_page_name(page, value->name),
                as_page_name(page, in->model->values[p->params[param->tied_to].value].name));
            shown++;
        } else if (param->role == AS_ROLE_PARAMETER && param->n_uses > 1) {
            as_page_line(page, AS_STYLE_NONE, "%s %s is used by %u layers and counted once",
                         as_page_glyph(page, AS_GLYPH_BULLET), as_page_name(page, value->name),
                         param->n_uses);
            shown++;
        }
    }
}

int as_inspect_findings(const struct as_inspect_report *report, struct as_page *page,
                        struct assay_error *err)
{
    const struct as_inspection *in = report->in;
    size_t limit = report->top ? report->top : 12, shown = 0;

    (void)err;
    as_page_heading(page, "Findings", NULL);
    for (const struct as_finding *f = in->model->findings; f && shown < limit;
         f = f->next, shown++) {
        enum as_style style = f->kind == AS_FINDING_NOTE || f->kind == AS_FINDING_DEFAULT
                                  ? AS_STYLE_NONE
                                  : AS_STYLE_WARN;
        char times[40] = "";

        if (f->times > 1)
            (void)snprintf(times, sizeof times, " (%llu times)", (unsigned long long)f->times);
        as_page_line(page, style, "%s %s%s%s%s%s",
                     style == AS_STYLE_WARN ? "!" : as_page_glyph(page, AS_GLYPH_BULLET),
                     f->node ? as_page_name(page, f->node) : "", f->node ? ": " : "",
                     as_page_name(page, f->text), times, "");
    }
    if (in->model->n_findings > shown)
        as_page_line(page, AS_STYLE_DIM, "%zu more; --top N shows N",
                     in->model->n_findings - shown);
    if (in->model->findings_lost)
        as_page_line(page, AS_STYLE_WARN, "! %llu more are not kept: there are too many",
                     (unsigned long long)in->model->findings_lost);
    put_ties(in, page);
    if (in->recomputed)
        as_page_line(page, AS_STYLE_NONE,
                     "%s no cache of keys and values: made one by one, each new token computes the "
                     "%llu before it again, %llu times the work",
                     as_page_glyph(page, AS_GLYPH_BULLET), (unsigned long long)in->recomputed,
                     (unsigned long long)in->recomputed + 1);
    put_quant_advice(in, page);
    if (!in->model->has_graph)
        as_page_line(page, AS_STYLE_NONE,
                     "%s the file holds weights only: layers, costs and activations are not known",
                     as_page_glyph(page, AS_GLYPH_BULLET));
    else if (in->model->n_findings == 0 && in->n_quant == 0 && in->recomputed == 0)
        as_page_line(page, AS_STYLE_NONE, "nothing: every layer is counted");
    return ASSAY_OK;
}

int as_inspect_page(const struct as_inspect_report *report, struct as_out *out,
                    const struct as_term *term, struct assay_error *err)
{
    static int (*const sections[])(const struct as_inspect_report *, struct as_page *,
                                   struct assay_error *) = {
#define X(name, function, help, usual) as_inspect_##function,
        AS_INSPECT_SECTIONS(X)
#undef X
    };
    struct as_page page;
    int rc = ASSAY_OK;
    int closed;

    as_page_open(&page, out, term, report->markdown);
    page.wide = report->wide;
    for (unsigned i = 0; i < AS_INSPECT_SECTION_COUNT && rc == ASSAY_OK; i++)
        if (report->sections == 0 || report->sections >> i & 1)
            rc = sections[i](report, &page, err);
    closed = as_page_close(&page, rc < 0 ? NULL : err);
    return rc < 0 ? rc : closed;
}
