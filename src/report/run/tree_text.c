/* report/run/tree_text.c - the section that shows which layer called which.
 * Siblings stand by inclusive time, largest first. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/page/page.h"
#include "report/run/report.h"

#define USUAL_NODES 40
#define MAX_DRAWN   24 /* levels drawn; deeper ones are indented no further */

/* Whether a sibling follows node `i`. */
static bool has_next(const struct as_layers *layers, uint32_t i)
{
    const struct as_tree_node *node = &layers->node[i], *parent = &layers->node[node->parent];

    return i + node->n_below < node->parent + parent->n_below;
}

/* The branches before a name: whether each level above goes on is known from `open`. */
static void put_branch(const struct as_page *page, const bool *open, uint32_t depth, bool last,
                       char *out, size_t capacity)
{
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t d = 2; d <= depth && d < MAX_DRAWN && used < capacity; d++) {
        enum as_glyph glyph = d < depth ? (open[d] ? AS_GLYPH_TREE_PASS : AS_GLYPH_TREE_GAP)
                              : last    ? AS_GLYPH_TREE_LAST
                                        : AS_GLYPH_TREE_MID;

        used += (size_t)snprintf(out + used, capacity - used, "%s", as_page_glyph(page, glyph));
    }
}

static void put_node(const struct as_report *report, struct as_page *page, struct as_table *t,
                     uint32_t i, bool *open)
{
    const struct as_tree_node *node = &report->layers->node[i];
    bool goes_on = has_next(report->layers, i);
    char branch[16 * MAX_DRAWN];

    put_branch(page, open, node->depth, !goes_on, branch, sizeof branch);
    if (node->depth < MAX_DRAWN)
        open[node->depth] = goes_on;
    as_table_row(t);
    as_table_printf(t, AS_STYLE_NONE, "%s%s", branch,
                    as_page_name(page, as_run_site_at(report->run, node->site)->name));
}

int as_section_tree(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    const struct as_layers *layers = report->layers;
    size_t n = layers->n_nodes ? layers->n_nodes - 1 : 0; /* the root is not shown */
    size_t shown = as_report_rows(report, USUAL_NODES, n);
    double largest = n ? (double)layers->node[1].inclusive_ns : 0;
    bool open[MAX_DRAWN] = {false};
    struct as_time_column total, self;
    struct as_table_column columns[] = {
        {.title = "layer", .may_shrink = true, .min_width = 20},
        as_column_time(&total, "total", largest, report->options->unit),
        as_column_time(&self, "self", largest, report->options->unit),
        {.title = "calls", .align = AS_ALIGN_RIGHT},
        {.title = "failed", .align = AS_ALIGN_RIGHT, .drop = 1},
    };
    struct as_table t;

    (void)err;
    as_page_heading(page, "Tree", "by total time: with the layers it calls");
    if (n == 0) {
        as_page_line(page, AS_STYLE_NONE, "No layer was recorded.");
        return ASSAY_OK;
    }
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (uint32_t i = 1; i <= shown; i++) {
        const struct as_tree_node *node = &layers->node[i];

        put_node(report, page, &t, i, open);
        as_cell_time(&t, &total, (double)node->inclusive_ns);
        as_cell_time(&t, &self, (double)node->self_ns);
        as_cell_count(&t, node->calls);
        as_cell_count(&t, node->failed);
    }
    as_page_table(page, &t);
    if (shown < n)
        as_page_line(page, AS_STYLE_DIM, "%zu more: --top %zu shows all", n - shown, n);
    return ASSAY_OK;
}
