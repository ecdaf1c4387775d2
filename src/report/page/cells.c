/* report/page/cells.c - the columns and cells that several sections share.
 * A time's column is titled with its unit; what cannot be had is "-". */
#include "report/page/page.h"

#include <math.h>
#include <stdio.h>

struct as_table_column as_column_time(struct as_time_column *column, const char *title,
                                      double largest_ns, enum as_time_unit unit)
{
    column->scale = as_time_scale_for(largest_ns, unit);
    snprintf(column->text, sizeof column->text, "%s %s", title,
             as_time_unit_name(column->scale.unit));
    return (struct as_table_column){.title = column->text, .align = AS_ALIGN_RIGHT};
}

void as_cell_time(struct as_table *t, const struct as_time_column *column, double ns)
{
    as_cell_tail(t, column, ns, true);
}

void as_cell_tail(struct as_table *t, const struct as_time_column *column, double ns,
                  bool supported)
{
    char text[AS_TEXT_HUMAN];

    as_text_scaled(text, ns, column->scale);
    if (supported || !isfinite(ns))
        as_table_text(t, AS_STYLE_NONE, text);
    else
        as_table_printf(t, AS_STYLE_DIM, "~%s", text);
}

void as_cell_count(struct as_table *t, uint64_t n)
{
    char text[AS_TEXT_HUMAN];

    as_text_count(text, n);
    as_table_text(t, AS_STYLE_NONE, text);
}

void as_cell_share(struct as_table *t, double share)
{
    char text[AS_TEXT_HUMAN];

    as_text_percent(text, share);
    as_table_text(t, AS_STYLE_NONE, text);
}

/* Decimals for all of them: none for whole numbers, else four digits of the largest. */
static unsigned decimals_for(const double *value, size_t n)
{
    double largest = 0;
    bool whole = true;

    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(value[i]));
        whole &= !isfinite(value[i]) || value[i] == floor(value[i]);
    }
    if (whole)
        return 0;
    return largest >= 1000 ? 1 : largest >= 10 ? 2 : 3;
}

void as_cell_values(struct as_table *t, const double *value, size_t n)
{
    unsigned decimals = decimals_for(value, n);
    char text[AS_TEXT_HUMAN];

    for (size_t i = 0; i < n; i++) {
        double size = fabs(value[i]);

        if (isfinite(size) && size < 1e6 && (size >= 0.001 || size == 0))
            as_text_fixed(text, value[i], decimals);
        else
            as_text_si(text, value[i], NULL);
        as_table_text(t, AS_STYLE_NONE, text);
    }
}
