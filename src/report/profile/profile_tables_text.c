/* report/profile/profile_tables_text.c - time by operator, by layer and by part of the name, and
 * what to do. One unit a column of times: that of the slowest row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/profile/profile_report.h"

/* What layers and groups have in common. */
struct line {
    const char *name, *op, *kernel;
    uint64_t n_layers, calls, flops, bytes;
    double self_ns, share, cumulative_share;
    bool counted;
    const struct as_roof *roof;
};

static void put_rate(struct as_table *t, double rate, bool known)
{
    char text[AS_TEXT_HUMAN];

    if (!known || !isfinite(rate)) {
        as_table_text(t, AS_STYLE_DIM, "-");
        return;
    }
    rate *= 1e-9;
    as_text_fixed(text, rate, rate < 1 ? 3 : rate < 100 ? 1 : 0);
    as_table_text(t, AS_STYLE_NONE, text);
}

static void put_share(struct as_table *t, double share, enum as_style style)
{
    char text[AS_TEXT_HUMAN];

    as_text_percent(text, share);
    as_table_text(t, isfinite(share) ? style : AS_STYLE_DIM, isfinite(share) ? text : "-");
}

static void put_line(struct as_table *t, struct as_page *page, const struct line *l,
                     enum as_time_unit unit, bool layers)
{
    char text[AS_TEXT_HUMAN], *space;

    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, as_page_name(page, l->name));
    if (layers)
        as_table_text(t, AS_STYLE_NONE, as_page_name(page, l->op));
    else
        as_table_printf(t, AS_STYLE_NONE, "%llu", (unsigned long long)l->n_layers);
    as_table_printf(t, AS_STYLE_NONE, "%llu", (unsigned long long)l->calls);
    as_text_ns(text, l->self_ns, unit);
    space = strchr(text, ' ');
    if (space)
        *space = 0;
    as_table_text(t, AS_STYLE_NONE, text);
    put_share(t, l->share, AS_STYLE_NONE);
    as_table_bar(t, AS_STYLE_BAR, l->share);
    put_share(t, l->cumulative_share, AS_STYLE_DIM);
    put_rate(t, l->roof->achieved, l->counted && l->flops > 0);
    put_rate(t, l->roof->bandwidth, l->bytes > 0);
    as_text_bytes(text, (double)l->bytes);
    as_table_text(t, AS_STYLE_NONE, text);
    as_table_text(t, AS_STYLE_NONE, as_roof_text(l->roof));
    put_share(t, l->counted ? l->roof->roof_fraction : AS_UNKNOWN,
              l->roof->inconsistent ? AS_STYLE_WARN : AS_STYLE_NONE);
    if (layers)
        as_table_text(t, AS_STYLE_DIM, as_page_name(page, l->kernel));
}

static void begin(struct as_table *t, struct as_table_column *columns, const char *first,
                  const char *second, enum as_time_unit unit, char title[16])
{
    bool layers = strcmp(second, "op") == 0;
    const struct as_table_column all[] = {
        {.title = first, .may_shrink = true, .min_width = 20},
        {.title = second,
         .align = layers ? AS_ALIGN_LEFT : AS_ALIGN_RIGHT,
         .may_shrink = layers,
         .drop = layers ? 4 : 6},
        {.title = "calls", .align = AS_ALIGN_RIGHT, .drop = 9},
        {.title = title, .align = AS_ALIGN_RIGHT},
        {.title = "share", .align = AS_ALIGN_RIGHT},
        {.title = " ", .min_width = 8, .drop = 10},
        {.title = "cum.", .align = AS_ALIGN_RIGHT, .drop = 5},
        {.title = "GFLOP/s", .align = AS_ALIGN_RIGHT},
        {.title = "GB/s", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "bytes", .align = AS_ALIGN_RIGHT, .drop = 7},
        {.title = "bound by"},
        {.title = "of roof", .align = AS_ALIGN_RIGHT},
        {.title = "kernel", .may_shrink = true, .min_width = 10, .drop = 8},
    };

    (void)snprintf(title, 16, "self %s", as_time_unit_name(unit));
    memcpy(columns, all, sizeof all);
    as_table_init(t, columns, AS_COUNT_OF(all) - !layers);
}

static struct line of_layer(const struct as_profile_layer *layer, char *op, size_t capacity)
{
    (void)snprintf(op, capacity, "%s%s", layer->step->op, layer->step->fused);
    return (struct line){.name = layer->step->name,
                         .op = op,
                         .kernel = layer->step->kernel,
                         .calls = layer->step->calls,
                         .flops = layer->step->flops,
                         .bytes = layer->step->bytes,
                         .self_ns = layer->self_ns,
                         .share = layer->share,
                         .cumulative_share = layer->cumulative_share,
                         .counted = layer->step->counted,
                         .roof = &layer->roof};
}

static struct line of_group(const struct as_profile_group *group)
{
    return (struct line){.name = group->name,
                         .n_layers = group->n_layers,
                         .calls = group->calls,
                         .flops = group->flops,
                         .bytes = group->bytes,
                         .self_ns = group->self_ns,
                         .share = group->share,
                         .cumulative_share = group->cumulative_share,
                         .counted = group->counted,
                         .roof = &group->roof};
}

static size_t rows_shown(const struct as_profile_report *report, size_t usual, size_t n)
{
    size_t top = report->top ? report->top : usual;

    return top < n ? top : n;
}

static void put_groups(const struct as_profile_report *report, struct as_page *page,
                       const char *heading, const char *first,
                       const struct as_profile_group *groups, size_t n)
{
    size_t shown = rows_shown(report, 12, n);
    struct as_table_column columns[16];
    struct as_table t;
    char note[80] = "", title[16];
    enum as_time_unit unit = n ? as_time_unit_for(groups[0].self_ns) : AS_TIME_MS;

    if (shown < n)
        (void)snprintf(note, sizeof note, "the slowest %zu of %zu", shown, n);
    as_page_heading(page, heading, note[0] ? note : NULL);
    begin(&t, columns, first, "steps", unit, title);
    for (size_t i = 0; i < shown; i++) {
        struct line l = of_group(&groups[i]);

        put_line(&t, page, &l, unit, false);
    }
    as_page_table(page, &t);
}

void as_profile_put_ops(const struct as_profile_report *report, struct as_page *page)
{
    put_groups(report, page, "By operator", "operator", report->profile->ops,
               report->profile->n_ops);
}

void as_profile_put_scopes(const struct as_profile_report *report, struct as_page *page)
{
    put_groups(report, page, "By part of the name", "scope", report->profile->scopes,
               report->profile->n_scopes);
}

void as_profile_put_layers(const struct as_profile_report *report, struct as_page *page)
{
    struct as_profile *p = report->profile;
    const uint32_t *order = as_profile_order(p, report->sort);
    size_t shown = rows_shown(report, 15, p->n_layers);
    struct as_table_column columns[16];
    struct as_table t;
    char note[100] = "", title[16], op[160];
    enum as_time_unit unit;
    double so_far = 0; /* in the order shown */

    if (!order || p->n_layers == 0)
        return;
    unit = as_time_unit_for(p->layers[p->by_time[0]].self_ns);
    if (shown < p->n_layers)
        (void)snprintf(note, sizeof note, "%zu of %zu by %s; --top shows more", shown, p->n_layers,
                       as_profile_sort_at(report->sort));
    as_page_heading(page, "By layer", note[0] ? note : NULL);
    begin(&t, columns, "layer", "op", unit, title);
    for (size_t i = 0; i < shown; i++) {
        struct line l = of_layer(&p->layers[order[i]], op, sizeof op);

        so_far += l.share;
        l.cumulative_share = so_far;
        put_line(&t, page, &l, unit, true);
    }
    as_page_table(page, &t);
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
    as_page_line(page, AS_STYLE_NONE, "%s (%s%s): %s, %s of a run, between %s and %s",
                 as_page_name(page, layer->step->name), layer->step->op, layer->step->fused, median,
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
    as_page_line(page, AS_STYLE_NONE, "prefill     %s for %lld tokens: %s tokens/s", text,
                 (long long)t->prompt, rate);
}

static void put_steps(const struct as_token_run *t, struct as_page *page)
{
    const char *what = t->kind == AS_TOKENS_STREAM ? "piece" : "token";
    char text[AS_TEXT_HUMAN], p95[AS_TEXT_HUMAN] = "-", rate[AS_TEXT_HUMAN], cache[AS_TEXT_HUMAN];
    double values[60];
    size_t n = t->n_steps < 60 ? t->n_steps : 60;

    if (t->n_steps == 0)
        return;
    as_text_ns(text, t->median_ns, AS_TIME_AUTO);
    if (isfinite(t->p95_ns))
        as_text_ns(p95, t->p95_ns, AS_TIME_AUTO);
    as_text_si(rate, t->tokens_per_s, NULL);
    as_text_bytes(cache, (double)t->steps[t->n_steps - 1].cache_bytes);
    as_page_line(page, AS_STYLE_NONE, "%-11s %s a %s, p95 %s: %s %ss/s over %zu",
                 t->kind == AS_TOKENS_STREAM ? "stream" : "decode", text, what, p95, rate, what,
                 t->n_steps);
    if (t->peak_cache_bytes > 0)
        as_page_line(page, AS_STYLE_NONE, "state       %s at a context of %lld%s", cache,
                     (long long)t->steps[t->n_steps - 1].context,
                     t->formula_bytes && t->formula_bytes == t->steps[t->n_steps - 1].cache_bytes
                         ? ", as the formula has it"
                         : "");
    if (isfinite(t->shapes_ns)) {
        as_text_ns(text, t->shapes_ns, AS_TIME_AUTO);
        as_page_line(page, AS_STYLE_DIM, "            of a step %s go into shapes that grow", text);
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
                     "a text as long as usual fails: a prompt of %lld and %zu tokens more were run",
                     (long long)t->prompt, t->n_steps);
    if (t->kind == AS_TOKENS_FIXED)
        as_page_line(page, AS_STYLE_DIM,
                     "the file fixes its shapes: decoding is measured at this one context");
    if (t->kind != AS_TOKENS_WHOLE)
        return;
    as_page_line(page, AS_STYLE_WARN, "no cache: every new token computes the whole text again");
    if (t->whole_macs && t->cached_macs) {
        as_text_si(whole, (double)t->whole_macs, "MAC");
        as_text_si(alone, (double)t->cached_macs, "MAC");
        as_page_line(page, AS_STYLE_DIM,
                     "%s for a text of %lld tokens, where a cache would need %s", whole,
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

    as_page_heading(page, "Memory", "planned, and measured in a run that keeps tensors apart");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    put_kind(&t, "parameters", m->parameter_bytes, "as the model stores them");
    put_kind(&t, "weights held", m->held_bytes, "as the engine keeps them: packed, folded");
    if (m->counted)
        put_kind(&t, "activations", m->activation_bytes, "measured: the most alive together");
    else if (m->why)
        as_page_line(page, AS_STYLE_WARN, "memory of a run was not measured: %s", m->why);
    if (m->planned)
        put_kind(&t, "planned", m->planned_bytes,
                 !m->counted                               ? "activations, by the plan"
                 : m->planned_bytes == m->activation_bytes ? "the same, by the plan: equal"
                                                           : "the same, by the plan");
    else
        as_page_line(page, AS_STYLE_DIM,
                     "sizes depend on data, so there is no plan to hold the measurement against");
    if (m->counted) {
        put_kind(&t, "workspace", m->workspace_bytes, "of kernels, while they run");
        put_kind(&t, "state", m->kv_cache_bytes, "goes from one run into the next");
        put_kind(&t, "peak", m->peak_bytes, "of all these at once");
    }
    if (m->rss_known) {
        put_kind(&t, "resident before", m->base_rss_bytes,
                 "program and libraries, without the model");
        put_kind(&t, "resident", m->rss_bytes, "after the runs");
        put_kind(&t, "resident at most", m->peak_rss_bytes,
                 m->peak_rss_fresh ? "while prepared, timed and profiled"
                                   : "since the program began");
    }
    as_page_table(page, &t);
    if (!m->counted)
        return;
    as_text_percent(text, m->efficiency);
    as_page_line(page, AS_STYLE_NONE, "efficiency   %s of the peak are weights and activations",
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

void as_profile_put_recommendations(const struct as_profile_report *report, struct as_page *page)
{
    as_page_findings(page, "What to do next", report->profile->findings,
                     report->profile->n_findings);
}
