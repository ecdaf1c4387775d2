/* report/profile/profile_tables_text.c - time by operator, by layer and by part of the name, and
 * what to do. One unit a column of times: that of the slowest row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/page/layer_rows.h"
#include "report/profile/profile_report.h"

enum column {
    NAME,
    OP,
    STEPS,
    CALLS,
    THREADS,
    SELF,
    SHARE,
    BAR,
    CUMULATIVE,
    GFLOPS,
    GBPS,
    BYTES,
    BOUND,
    OF_ROOF,
    KERNEL,
    COLUMN_COUNT
};

static const struct as_row_column looks[] = {
    [NAME] =
        {.id = NAME, .title = "layer", .shown = AS_SHOWN_TEXT, .min_width = 12, .identity = true},
    [OP] = {.id = OP,
            .title = "op",
            .shown = AS_SHOWN_TEXT,
            .drop = 1,
            .min_width = 12,
            .may_shrink = true},
    [STEPS] = {.id = STEPS, .title = "layers", .shown = AS_SHOWN_COUNT, .drop = 6},
    [CALLS] = {.id = CALLS, .title = "calls", .shown = AS_SHOWN_COUNT, .drop = 9},
    [THREADS] = {.id = THREADS, .title = "threads", .shown = AS_SHOWN_COUNT, .drop = 6},
    [SELF] = {.id = SELF, .title = "self", .shown = AS_SHOWN_TIME},
    [SHARE] = {.id = SHARE, .title = "share", .shown = AS_SHOWN_SHARE},
    [BAR] = {.id = BAR, .title = " ", .shown = AS_SHOWN_BAR, .drop = 10, .min_width = 8},
    [CUMULATIVE] = {.id = CUMULATIVE,
                    .title = "cum.",
                    .shown = AS_SHOWN_SHARE,
                    .drop = 5,
                    .style = AS_STYLE_DIM},
    [GFLOPS] = {.id = GFLOPS, .title = "GFLOP/s", .shown = AS_SHOWN_RATE},
    [GBPS] = {.id = GBPS, .title = "GB/s", .shown = AS_SHOWN_RATE, .drop = 4},
    [BYTES] = {.id = BYTES, .title = "bytes", .shown = AS_SHOWN_BYTES, .drop = 7},
    [BOUND] = {.id = BOUND, .title = "bound by", .shown = AS_SHOWN_TEXT, .drop = 3},
    [OF_ROOF] = {.id = OF_ROOF, .title = "roofline", .shown = AS_SHOWN_SHARE},
    [KERNEL] = {.id = KERNEL,
                .title = "kernel",
                .shown = AS_SHOWN_TEXT,
                .drop = 8,
                .min_width = 22,
                .may_shrink = true,
                .style = AS_STYLE_DIM},
};
_Static_assert(AS_COUNT_OF(looks) == COLUMN_COUNT, "every column");

/* Layers in an order, or groups. */
struct lines {
    const struct as_profile_layer *layers;
    const uint32_t *order;
    double *so_far; /* shares of the layers shown, summed up from the top */
    const struct as_profile_group *groups;
    bool threads_differ; /* from layer to layer */
};

/* A layer is a group of one. */
static struct as_profile_group line_at(const struct lines *l, size_t row)
{
    const struct as_profile_layer *layer = l->layers ? &l->layers[l->order[row]] : NULL;

    if (!layer)
        return l->groups[row];
    return (struct as_profile_group){.name = layer->step->name,
                                     .calls = layer->step->calls,
                                     .flops = layer->step->flops,
                                     .bytes = layer->step->bytes,
                                     .self_ns = layer->self_ns,
                                     .share = layer->share,
                                     .cumulative_share = l->so_far[row],
                                     .counted = layer->step->counted,
                                     .roof = layer->roof};
}

/* All digits of a time, so that those of the layers add up to that of the run. */
static void make_time(struct as_row_cell *cell, double ns, enum as_time_unit unit)
{
    char text[AS_TEXT_HUMAN];

    as_text_ns(text, ns, unit);
    (void)snprintf(cell->line, sizeof cell->line, "%.*s", (int)strcspn(text, " "), text);
    cell->text = cell->line;
}

static void make_whole(struct as_row_cell *cell, uint64_t n)
{
    (void)snprintf(cell->line, sizeof cell->line, "%llu", (unsigned long long)n);
    cell->text = cell->line;
}

/* The layers that decide: above a tenth of the time, and above a twentieth. */
static enum as_style hot_style(const struct lines *lines, double share)
{
    if (!lines->layers)
        return AS_STYLE_NONE;
    return share >= 0.1 ? AS_STYLE_BAD : share >= 0.05 ? AS_STYLE_WARN : AS_STYLE_NONE;
}

static enum as_style roof_style(const struct as_roof *roof)
{
    if (roof->inconsistent)
        return AS_STYLE_BAD;
    return roof->roof_fraction >= 0.6   ? AS_STYLE_GOOD
           : roof->roof_fraction <= 0.3 ? AS_STYLE_WARN
                                        : AS_STYLE_NONE;
}

/* "131.2 % !" */
static void mark_inconsistent(struct as_row_cell *cell)
{
    char text[AS_TEXT_HUMAN];

    as_text_percent(text, cell->number);
    (void)snprintf(cell->line, sizeof cell->line, "%s !", text);
    cell->text = cell->line;
}

static void get_cell(void *user, size_t row, const struct as_row_column *column,
                     struct as_row_cell *cell)
{
    const struct lines *lines = user;
    const struct as_profile_group l = line_at(lines, row);
    const struct as_profile_step *step =
        lines->layers ? lines->layers[lines->order[row]].step : NULL;

    switch ((enum column)column->id) {
    case NAME:
        cell->text = l.name;
        break;
    case OP:
        if (step)
            as_op_short(cell->line, sizeof cell->line, step->op, step->fused);
        cell->text = cell->line;
        break;
    case STEPS:
        make_whole(cell, l.n_layers);
        break;
    case CALLS:
        make_whole(cell, l.calls);
        break;
    case SELF:
        make_time(cell, l.self_ns, column->scale.unit);
        cell->style = hot_style(lines, l.share);
        break;
    case SHARE:
        cell->style = hot_style(lines, l.share);
        cell->number = l.share;
        break;
    case BAR:
        cell->number = l.share;
        break;
    case CUMULATIVE:
        cell->number = l.cumulative_share;
        break;
    case THREADS:
        make_whole(cell, step ? step->threads : 0);
        break;
    case GFLOPS:
        cell->number = l.counted && l.flops > 0 ? l.roof.achieved : AS_UNKNOWN;
        break;
    case GBPS:
        cell->number = l.bytes > 0 ? l.roof.bandwidth : AS_UNKNOWN;
        break;
    case BYTES:
        cell->number = (double)l.bytes;
        break;
    case BOUND:
        cell->text = as_roof_text(&l.roof);
        break;
    case OF_ROOF:
        cell->number = l.counted ? l.roof.roof_fraction : AS_UNKNOWN;
        cell->style = roof_style(&l.roof);
        if (l.counted && l.roof.inconsistent)
            mark_inconsistent(cell);
        break;
    case KERNEL:
        cell->text = step ? step->kernel : NULL;
        break;
    case COLUMN_COUNT:
        break;
    }
    if (!cell->text && !isfinite(cell->number))
        cell->style = AS_STYLE_DIM;
}

static size_t rows_shown(const struct as_profile_report *report, size_t usual, size_t n)
{
    size_t top = report->top ? report->top : usual;

    return top < n ? top : n;
}

/* `slowest_ns` chooses the unit. */
static void put_lines(struct as_page *page, struct lines *lines, size_t shown, const char *first,
                      double slowest_ns)
{
    struct as_row_column chosen[COLUMN_COUNT];
    size_t n = 0;

    for (unsigned c = 0; c < COLUMN_COUNT; c++)
        if (lines->layers ? c != STEPS && (c != THREADS || lines->threads_differ)
                          : c != OP && c != KERNEL && c != THREADS)
            chosen[n++] = looks[c];
    chosen[0].title = first;
    for (size_t i = 0; i < n; i++)
        chosen[i].scale.unit = as_time_unit_for(slowest_ns);
    as_page_rows(
        page,
        &(struct as_layer_rows){
            .column = chosen, .n_columns = n, .n_rows = shown, .user = lines, .get = get_cell});
}

static void put_groups(const struct as_profile_report *report, struct as_page *page,
                       const char *heading, const char *first,
                       const struct as_profile_group *groups, size_t n)
{
    size_t shown = rows_shown(report, 12, n);
    char note[80] = "", titled[AS_PHASE_HEADING];

    if (n == 0)
        return;
    if (shown < n)
        (void)snprintf(note, sizeof note, "the slowest %zu of %zu", shown, n);
    as_page_heading(page, as_profile_heading(report->profile, heading, titled),
                    note[0] ? note : NULL);
    put_lines(page, &(struct lines){.groups = groups}, shown, first, n ? groups[0].self_ns : 1e6);
}

void as_profile_put_ops(const struct as_profile_report *report, struct as_page *page)
{
    put_groups(report, page, "By operator", "operator", report->profile->ops,
               report->profile->n_ops);
}

void as_profile_put_scopes(const struct as_profile_report *report, struct as_page *page)
{
    put_groups(report, page, "By module", "module", report->profile->scopes,
               report->profile->n_scopes);
}

void as_profile_put_layers(const struct as_profile_report *report, struct as_page *page)
{
    struct as_profile *p = report->profile;
    struct lines lines = {.layers = p->layers, .order = as_profile_order(p, report->sort)};
    size_t shown = rows_shown(report, 15, p->n_layers);
    char note[100] = "", titled[AS_PHASE_HEADING];
    double so_far = 0;

    lines.so_far = as_arena_zero(&page->arena, shown + 1, sizeof *lines.so_far);
    for (size_t i = 1; i < p->n_layers; i++)
        lines.threads_differ |= p->layers[i].step->threads != p->layers[0].step->threads;
    page->nomem |= !lines.order || !lines.so_far;
    if (!lines.order || !lines.so_far || p->n_layers == 0)
        return;
    for (size_t i = 0; i < shown; i++)
        lines.so_far[i] = so_far += p->layers[lines.order[i]].share;
    if (shown < p->n_layers)
        (void)snprintf(note, sizeof note, "%zu of %zu by %s; --top shows more", shown, p->n_layers,
                       as_profile_sort_at(report->sort));
    as_page_heading(page, as_profile_heading(p, "By layer", titled), note[0] ? note : NULL);
    put_lines(page, &lines, shown, "layer", p->layers[p->by_time[0]].self_ns);
    for (size_t i = 0; i < shown; i++)
        if (p->layers[lines.order[i]].roof.inconsistent) {
            as_page_line(page, AS_STYLE_WARN,
                         "! above 100 %% of roofline: a count, a peak or the cache level is wrong; "
                         "no recommendation rests on these layers");
            break;
        }
}

void as_profile_put_slowest(const struct as_profile_report *report, struct as_page *page)
{
    const struct as_profile *p = report->profile;
    const struct as_profile_layer *layer = p->n_layers ? &p->layers[p->by_time[0]] : NULL;
    char median[AS_TEXT_HUMAN], low[AS_TEXT_HUMAN], high[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN];
    double values[60];
    size_t n;

    if (!layer)
        return;
    n = layer->step->n_inferences < 60 ? layer->step->n_inferences : 60;
    for (size_t i = 0; i < n; i++)
        values[i] = (double)layer->step->self_ns[i];
    as_text_ns(median, layer->self_ns, AS_TIME_AUTO);
    as_text_ns(low, layer->min_ns, AS_TIME_AUTO);
    as_text_ns(high, layer->max_ns, AS_TIME_AUTO);
    as_text_percent(share, layer->share);
    as_page_heading(page, "Slowest layer", NULL);
    as_page_line(page, AS_STYLE_NONE, "%s (%s%s): %s, %s of an inference, from %s to %s",
                 as_page_name(page, layer->brief), layer->step->op, layer->step->fused, median,
                 share, low, high);
    if (!page->markdown) {
        as_term_spark(page->term, page->out, values, n,
                      page->term->width < 62 ? page->term->width - 2 : 60);
        as_out_text(page->out, "\n");
    }
}

static void put_prefill(const struct as_token_run *t, struct as_page *page)
{
    char text[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN];

    if (!isfinite(t->prompt_ns))
        return;
    as_text_ns(text, t->prompt_ns, AS_TIME_AUTO);
    as_text_si(rate, t->prompt_tokens_per_s, NULL);
    as_page_pair(page, AS_STYLE_NONE, "prefill", "%s for a prompt of %lld tokens: %s tokens/s",
                 text, (long long)t->prompt, rate);
}

static void put_steps(const struct as_token_run *t, struct as_page *page)
{
    const char *what = t->kind == AS_TOKENS_STREAM ? "piece" : "token";
    char text[AS_TEXT_HUMAN], p95[AS_TEXT_HUMAN + 8] = "", rate[AS_TEXT_HUMAN];
    char cache[AS_TEXT_HUMAN];
    double values[60];
    size_t n = t->n_steps < 60 ? t->n_steps : 60;

    if (t->n_steps == 0)
        return;
    as_text_ns(text, t->median_ns, AS_TIME_AUTO);
    if (isfinite(t->p95_ns)) {
        as_text_ns(rate, t->p95_ns, AS_TIME_AUTO);
        (void)snprintf(p95, sizeof p95, ", p95 %s", rate);
    }
    as_text_si(rate, t->tokens_per_s, NULL);
    as_text_bytes(cache, (double)t->steps[t->n_steps - 1].cache_bytes);
    as_page_pair(page, AS_STYLE_NONE, t->kind == AS_TOKENS_STREAM ? "stream" : "decode",
                 "p50 %s per %s%s: %s %ss/s over %zu", text, what, p95, rate, what, t->n_steps);
    if (t->peak_cache_bytes > 0)
        as_page_pair(page, AS_STYLE_NONE, "state", "%s at a context of %lld%s", cache,
                     (long long)t->steps[t->n_steps - 1].context,
                     t->formula_bytes && t->formula_bytes == t->steps[t->n_steps - 1].cache_bytes
                         ? ", as predicted by the formula"
                         : "");
    if (isfinite(t->shapes_ns)) {
        as_text_ns(text, t->shapes_ns, AS_TIME_AUTO);
        as_page_pair(page, AS_STYLE_DIM, NULL,
                     "%s of each step is spent on growing shapes, and kernels are chosen anew for "
                     "them: a cache of one length is faster",
                     text);
    }
    for (size_t i = 0; i < n; i++)
        values[i] = t->steps[t->n_steps * i / n].ns;
    if (!page->markdown && n > 2) {
        as_term_spark(page->term, page->out, values, n,
                      page->term->width < 62 ? page->term->width - 2 : 60);
        as_out_text(page->out, "\n");
    }
}

void as_profile_put_decoder(const struct as_profile_report *report, struct as_page *page)
{
    const struct as_profile_data *d = report->profile->data;
    const struct as_token_run *t = d->has_tokens ? &d->tokens : NULL;
    char whole[AS_TEXT_HUMAN], alone[AS_TEXT_HUMAN];

    if (!t)
        return;
    as_page_heading(page, t->kind == AS_TOKENS_STREAM ? "Piece by piece" : "Token by token", NULL);
    put_prefill(t, page);
    put_steps(t, page);
    if (t->shortened)
        as_page_line(page, AS_STYLE_DIM,
                     "the default length fails: measured with a prompt of %lld tokens and %zu more",
                     (long long)t->prompt, t->n_steps);
    if (t->kind == AS_TOKENS_FIXED)
        as_page_line(page, AS_STYLE_DIM,
                     "the file fixes its shapes: decoding is measured at this one context");
    if (t->kind != AS_TOKENS_WHOLE)
        return;
    as_page_line(page, AS_STYLE_WARN, "no KV cache: every new token recomputes the whole sequence");
    if (t->whole_macs && t->cached_macs) {
        as_text_si(whole, (double)t->whole_macs, "MAC");
        as_text_si(alone, (double)t->cached_macs, "MAC");
        as_page_line(page, AS_STYLE_DIM, "%s for a text of %lld tokens; with a KV cache %s", whole,
                     (long long)t->prompt, alone);
    }
}

/* ---- memory ---- */

static void put_kind(struct as_table *t, const char *name, uint64_t bytes, const char *note)
{
    char text[AS_TEXT_HUMAN];

    as_text_bytes(text, (double)bytes);
    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, name);
    as_table_text(t, bytes ? AS_STYLE_NONE : AS_STYLE_DIM, text);
    as_text_count(text, bytes);
    as_table_text(t, AS_STYLE_DIM, text);
    as_table_text(t, AS_STYLE_DIM, note);
}

void as_profile_put_memory(const struct as_profile_report *report, struct as_page *page)
{
    static const struct as_table_column columns[] = {
        {.title = "memory"},
        {.title = "size", .align = AS_ALIGN_RIGHT},
        {.title = "bytes", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "what it is", .may_shrink = true, .min_width = 20},
    };
    const struct as_profile *p = report->profile;
    const struct as_profile_memory *m = &p->memory;
    struct as_table t;
    char text[AS_TEXT_HUMAN];

    as_page_heading(page, "Memory",
                    "planned, and measured in an inference that keeps tensors apart");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    put_kind(&t, "parameters", m->parameter_bytes, "as the model stores them");
    put_kind(&t, "weights held", m->held_bytes, "as the engine keeps them: packed, folded");
    if (m->counted)
        put_kind(&t, "activations", m->activation_bytes, "measured: peak live");
    else if (m->why)
        as_page_line(page, AS_STYLE_WARN, "memory was not measured: %s", m->why);
    if (m->planned)
        put_kind(&t, "planned", m->planned_bytes,
                 !m->counted                               ? "planned peak of activations"
                 : m->planned_bytes == m->activation_bytes ? "planned peak: equal"
                                                           : "planned peak");
    else
        as_page_line(page, AS_STYLE_DIM,
                     "sizes depend on data, so no plan can be compared with the measurement");
    if (m->counted) {
        put_kind(&t, "workspace", m->workspace_bytes, "of kernels, while they run");
        put_kind(&t, "state", m->kv_cache_bytes, "recurrent state, KV cache");
        put_kind(&t, "peak", m->peak_bytes, "of all of these together");
    }
    if (m->rss_known) {
        put_kind(&t, "RSS before", m->base_rss_bytes, "program and libraries, excluding the model");
        put_kind(&t, "RSS", m->rss_bytes, "after the inferences");
        put_kind(&t, "peak RSS", m->peak_rss_bytes,
                 m->peak_rss_fresh ? "while it was prepared, timed and profiled"
                                   : "since the program began");
    }
    as_page_table(page, &t);
    if (!m->counted)
        return;
    as_text_percent(text, m->efficiency);
    as_page_pair(page, AS_STYLE_NONE, "efficiency", "%s of the peak are weights and activations",
                 text);
}

void as_profile_put_inputs(const struct as_profile_report *report, struct as_page *page)
{
    static const struct as_table_column columns[] = {
        {.title = "input", .may_shrink = true, .min_width = 12},
        {.title = "type"},
        {.title = "shape"},
        {.title = "fed with", .may_shrink = true, .min_width = 12},
    };
    const struct as_profile_data *data = report->profile->data;
    struct as_table t;

    as_page_heading(page, "Inputs", NULL);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < data->n_inputs; i++) {
        const struct as_input_choice *c = &data->inputs[i];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, c->name));
        as_table_text(&t, AS_STYLE_NONE, c->dtype);
        as_table_text(&t, AS_STYLE_NONE, c->shape);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, c->how));
    }
    as_page_table(page, &t);
}
