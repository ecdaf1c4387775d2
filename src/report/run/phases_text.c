/* report/run/phases_text.c - the sections on phases and on channels.
 * Neither appears when the program marked none. */
#include "base/units.h"
#include "report/page/page.h"
#include "report/run/report.h"

static double largest_phase(const struct as_layers *layers)
{
    uint64_t largest = 0;

    for (uint32_t i = 0; i < ASSAY_PHASE_COUNT; i++)
        largest = layers->phase[i].inclusive_ns > largest ? layers->phase[i].inclusive_ns : largest;
    return (double)largest;
}

static bool any_phase(const struct as_layers *layers)
{
    for (uint32_t i = 0; i < ASSAY_PHASE_COUNT; i++) {
        if (layers->phase[i].seen)
            return true;
    }
    return false;
}

int as_section_phases(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    const struct as_layers *layers = report->layers;
    double largest = largest_phase(layers);
    struct as_time_column total, self;
    struct as_table_column columns[] = {
        {.title = "phase"},
        {.title = "times", .align = AS_ALIGN_RIGHT},
        as_column_time(&total, "total", largest, report->options->unit),
        as_column_time(&self, "in no layer", largest, report->options->unit),
    };
    struct as_table t;

    (void)err;
    if (!any_phase(layers))
        return ASSAY_OK;
    as_page_heading(page, "Phases", NULL);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (uint32_t i = 0; i < ASSAY_PHASE_COUNT; i++) {
        const struct as_phase_total *p = &layers->phase[i];

        if (!p->seen)
            continue;
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_phase_name(i));
        as_cell_count(&t, p->calls);
        as_cell_time(&t, &total, (double)p->inclusive_ns);
        as_cell_time(&t, &self, (double)p->self_ns);
    }
    as_page_table(page, &t);
    return ASSAY_OK;
}

int as_section_channels(const struct as_report *report, struct as_page *page,
                        struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "channel", .may_shrink = true},      {.title = "unit", .may_shrink = true},
        {.title = "samples", .align = AS_ALIGN_RIGHT}, {.title = "min", .align = AS_ALIGN_RIGHT},
        {.title = "mean", .align = AS_ALIGN_RIGHT},    {.title = "max", .align = AS_ALIGN_RIGHT},
        {.title = "last", .align = AS_ALIGN_RIGHT},
    };
    const struct as_layers *layers = report->layers;
    struct as_table t;

    (void)err;
    if (layers->n_channels == 0)
        return ASSAY_OK;
    as_page_heading(page, "Channels", NULL);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < layers->n_channels; i++) {
        const struct as_channel *c = &layers->channel[i];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, c->info->name));
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, c->info->unit));
        as_cell_count(&t, c->n);
        as_cell_values(&t, (const double[]){c->min, c->mean, c->max, c->last}, 4);
    }
    as_page_table(page, &t);
    return ASSAY_OK;
}
