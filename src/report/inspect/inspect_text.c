/* report/inspect/inspect_text.c - what a model is made of, for a person: the headline, the ends and
 * the findings. The other sections are in inspect_layers_text.c, inspect_memory_text.c and
 * inspect_sections_text.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "measure/inputs/open_sizes.h"
#include "report/inspect/inspect_report.h"

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
    _Static_assert(AS_COUNT_OF(names) == AS_FORMAT_COUNT, "name every format");

    return names[format];
}

const char *as_inspect_finding_name(enum as_finding_kind kind)
{
    static const char *const names[] = {
        [AS_FINDING_UNKNOWN_OP] = "unknown_op", [AS_FINDING_UNKNOWN_SHAPE] = "unknown_shape",
        [AS_FINDING_DEFAULT] = "default",       [AS_FINDING_BRANCH] = "branch",
        [AS_FINDING_CONFLICT] = "conflict",     [AS_FINDING_NOTE] = "note",
    };
    _Static_assert(AS_COUNT_OF(names) == AS_FINDING_COUNT, "name every finding");

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
        size +=
            (size_t)snprintf(more + size, sizeof more - size, ", %s under a second name", stored);
    }
    if (isfinite(p->compression) && fabs(p->compression - 1) > 0.005)
        (void)snprintf(more + size, sizeof more - size, ", %.2fx below f32 with scales",
                       p->compression);
    as_page_pair(page, AS_STYLE_NONE, "parameters", "%s, %s%s", count, bytes, more);
}

static void put_compute_lines(const struct as_inspection *in, struct as_page *page)
{
    const struct as_cost *c = &in->costs->forward;
    char macs[COUNT_TEXT], flops[AS_TEXT_HUMAN], element[AS_TEXT_HUMAN];
    char transc[AS_TEXT_HUMAN], back[AS_TEXT_HUMAN], batch[64], short_macs[AS_TEXT_HUMAN];

    if (!in->model->has_graph) {
        as_page_pair(page, AS_STYLE_DIM, "compute", "unknown: the file holds weights only");
        return;
    }
    as_text_si(flops, (double)in->flops, "FLOP");
    as_text_si(element, (double)c->elementwise, "");
    as_text_si(transc, (double)c->transcendental, "");
    as_text_si(back, (double)in->flops_backward, "FLOP");
    if (in->costs->batch_why)
        (void)snprintf(batch, sizeof batch, "per inference");
    else
        (void)snprintf(batch, sizeof batch, "for a batch of %llu",
                       (unsigned long long)in->costs->batch);
    as_text_count(macs, c->macs);
    as_text_si(short_macs, (double)c->macs, "MAC");
    as_page_pair(page, AS_STYLE_NONE, "compute", "%s%s MACs (%s), %s %s",
                 in->complete ? "" : "at least ", macs, short_macs, flops, batch);
    as_page_pair(page, AS_STYLE_DIM, NULL, "%s elementwise, %s transcendental; backward %s",
                 element, transc, back);
    if (in->costs->batch_why)
        as_page_pair(page, AS_STYLE_DIM, NULL, "batch unknown: %s (--batch-axis INPUT=AXIS)",
                     in->costs->batch_why);
    if (in->costs->batch > 1 && !in->costs->overflow) {
        as_text_si(flops, (double)in->flops / (double)in->costs->batch, "FLOP");
        as_text_si(macs, (double)c->macs / (double)in->costs->batch, "MAC");
        as_page_pair(page, AS_STYLE_NONE, "per sample", "%s, %s", macs, flops);
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
    as_page_pair(page, AS_STYLE_NONE, "activations", "peak %s (%s without reuse), before fusion",
                 peak, naive);
    as_page_pair(page, AS_STYLE_NONE, "traffic",
                 "%s read and written; arithmetic intensity %s FLOP/byte", moved,
                 rate[0] ? rate : "-");
}

/* What open dimensions were taken as, and who said so. */
static void put_sizes(const struct as_inspection *in, struct as_page *page)
{
    struct as_open_size *sizes;
    char text[800];
    size_t n;

    if (as_open_sizes_list(&sizes, &n, in->model, &page->arena, NULL) < 0) {
        page->nomem = true;
        return;
    }
    if (as_open_sizes_text(text, sizeof text, sizes, n, NULL))
        as_page_pair(page, AS_STYLE_NONE, "sizes", "%s", as_page_name(page, text));
}

static void put_phases(const struct as_inspection *in, struct as_page *page)
{
    for (size_t i = 0; i < in->n_phases; i++) {
        const struct as_inspect_phase *p = &in->phases[i];
        char macs[AS_TEXT_HUMAN], moved[AS_TEXT_HUMAN], cache[AS_TEXT_HUMAN], past[48] = "";

        as_text_si(macs, (double)p->macs, "MAC");
        as_text_bytes(moved, (double)p->bytes_moved);
        as_text_bytes(cache, (double)p->cache_bytes);
        if (p->past)
            (void)snprintf(past, sizeof past, " with %llu in the cache",
                           (unsigned long long)p->past);
        as_page_pair(page, AS_STYLE_NONE, as_inspect_phase_name(p),
                     "%llu token%s%s: %s%s, %s read and written, leaves a cache of %s",
                     (unsigned long long)p->tokens, p->tokens == 1 ? "" : "s", past,
                     p->complete ? "" : "at least ", macs, moved, cache);
    }
}

static void put_bounds(const struct as_inspection *in, struct as_page *page)
{
    char time[AS_TEXT_HUMAN];

    if (isfinite(in->min_seconds)) {
        as_text_ns(time, in->min_seconds * 1e9, AS_TIME_AUTO);
        as_page_pair(page, AS_STYLE_NONE, "at best",
                     "%s at the given rates, if weights, inputs and outputs move once", time);
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
        as_page_pair(page, AS_STYLE_WARN, "fits", "not in %s: %s 1 needs %s", memory, what, need);
        return;
    }
    as_text_count(value, in->fit.value);
    as_text_bytes(need, (double)in->fit.bytes);
    as_page_pair(page, AS_STYLE_NONE, "fits", "%s %s%s in %s%s (needs %s)%s", what,
                 in->fit.at_max && !in->fit.at_context ? "at least " : "", value, memory,
                 in->options.training ? " for training" : "", need,
                 in->fit.at_context ? ": the maximum of the model" : "");
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
            "! counts are incomplete: %zu layer%s of unknown operators, %zu of unknown shape",
            c->n_unknown_ops, c->n_unknown_ops == 1 ? "" : "s", c->n_unknown_shapes);
    if (!c->times_known)
        as_page_line(page, AS_STYLE_WARN,
                     "! a branch or loop depends on data: the branch with more known FLOPs and one "
                     "iteration are counted");
    if (c->overflow)
        as_page_line(page, AS_STYLE_WARN, "! some counts exceed 2^64 and are limited to it");
    put_parameters_line(in, page);
    put_compute_lines(in, page);
    put_memory_line(in, page);
    put_sizes(in, page);
    put_phases(in, page);
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
        {.title = "tensor", .identity = true},
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
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    more = put_tensors(report, &t, "in", main->inputs, main->n_inputs);
    more += put_tensors(report, &t, "out", main->outputs, main->n_outputs);
    as_page_table(page, &t);
    if (more)
        as_page_line(page, AS_STYLE_DIM, "%llu more; --top N shows N of each",
                     (unsigned long long)more);
    return ASSAY_OK;
}

/* Whether the sentence names the node itself. */
static bool names_node(const struct as_finding *f)
{
    return !f->node || (f->text && strstr(f->text, f->node));
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
                     names_node(f) ? "" : as_page_name(page, f->node), names_node(f) ? "" : ": ",
                     as_page_name(page, f->text), times, "");
    }
    if (in->model->n_findings > shown)
        as_page_line(page, AS_STYLE_DIM, "%zu more; --top N shows N",
                     in->model->n_findings - shown);
    if (in->model->findings_lost)
        as_page_line(page, AS_STYLE_WARN, "! %llu more are not listed",
                     (unsigned long long)in->model->findings_lost);
    as_page_findings(page, NULL, in->recommendations, in->n_recommendations);
    if (!in->model->has_graph)
        as_page_line(page, AS_STYLE_NONE,
                     "%s the file holds weights only: layers, costs and activations are unknown",
                     as_page_glyph(page, AS_GLYPH_BULLET));
    else if (in->model->n_findings == 0 && in->n_recommendations == 0)
        as_page_line(page, AS_STYLE_NONE, "no findings");
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
