/* report/inspect/inspect_memory_text.c - the planned memory of a run on a screen: figures and a
 * small curve. A column of the curve shows the largest of the steps it stands for, so no peak is
 * lost. */
#include <stdio.h>

#include "base/text/text.h"
#include "report/inspect/inspect_report.h"

enum { CURVE_ROWS = 6, CURVE_MAX = 100, LABEL = 12 };

static size_t fold_steps(const struct as_memory_plan *plan, unsigned width, uint64_t *column)
{
    size_t n = plan->n_steps < width ? plan->n_steps : width;

    for (size_t i = 0; i < n; i++) {
        size_t from = i * plan->n_steps / n, to = (i + 1) * plan->n_steps / n;

        column[i] = 0;
        for (size_t k = from; k < to; k++)
            if (plan->live_bytes[k] > column[i])
                column[i] = plan->live_bytes[k];
    }
    return n;
}

/* Eighths of a cell that the value fills in this row, counted from below. */
static int fill_of(uint64_t value, uint64_t peak, int row)
{
    double eighths = peak ? (double)value / (double)peak * CURVE_ROWS * 8 : 0;
    double in_row = eighths - (double)row * 8;

    if (in_row <= 0)
        return 0;
    return in_row >= 8 ? 8 : in_row < 1 ? 1 : (int)in_row;
}

static void put_curve(const struct as_memory_plan *plan, struct as_page *page)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    unsigned width = page->term->width > LABEL + 10 ? page->term->width - LABEL - 4 : 10;
    uint64_t column[CURVE_MAX];
    char line[LABEL + 4 + CURVE_MAX * 4], label[AS_TEXT_HUMAN];
    size_t n = fold_steps(plan, width < CURVE_MAX ? width : CURVE_MAX, column);

    for (int row = CURVE_ROWS - 1; row >= 0; row--) {
        size_t size;

        label[0] = 0;
        if (row == CURVE_ROWS - 1)
            as_text_bytes(label, (double)plan->peak_bytes);
        else if (row == 0)
            (void)snprintf(label, sizeof label, "0 B");
        size = (size_t)snprintf(line, sizeof line, "%*s ", LABEL, label);
        for (size_t i = 0; i < n; i++) {
            int fill = fill_of(column[i], plan->peak_bytes, row);
            const char *mark = page->term->unicode ? blocks[fill]
                               : fill >= 4         ? "#"
                               : fill              ? "."
                                                   : " ";

            size += (size_t)snprintf(line + size, sizeof line - size, "%s", mark);
        }
        while (size > 0 && line[size - 1] == ' ')
            line[--size] = 0;
        as_page_cut_line(page, AS_STYLE_BAR, "%s", line);
    }
}

int as_inspect_memory(const struct as_inspect_report *report, struct as_page *page,
                      struct assay_error *err)
{
    const struct as_inspection *in = report->in;
    const struct as_memory_plan *plan = in->plan;
    char peak[AS_TEXT_HUMAN], planned[AS_TEXT_HUMAN], naive[AS_TEXT_HUMAN];
    const struct as_cost_row *row;

    (void)err;
    if (!in->model->has_graph || plan->n_steps == 0)
        return ASSAY_OK;
    as_page_heading(page, "Memory", "live activations over one inference, planned");
    as_text_bytes(peak, (double)plan->peak_bytes);
    as_text_bytes(planned, (double)plan->arena_bytes);
    as_text_bytes(naive, (double)plan->naive_bytes);
    row = &in->costs->rows[plan->peak_step];
    as_page_line(page, AS_STYLE_NONE, "peak %s at %s (%s)", peak,
                 as_page_name(page, as_inspect_brief(in, row)), row->node->op_name);
    as_page_line(page, AS_STYLE_NONE, "one arena of %s holds them; without reuse they take %s",
                 planned, naive);
    if (plan->n_unknown)
        as_page_line(page, AS_STYLE_WARN, "! %zu tensors of unknown size are left out",
                     plan->n_unknown);
    if (!page->markdown && plan->peak_bytes > 0)
        put_curve(plan, page);
    return ASSAY_OK;
}
