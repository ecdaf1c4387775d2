/* report/sweep/sweep_text.c - how a model scales: the page for a person, and one CSV table. */
#include "report/sweep/sweep_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/csv_fields.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/machine/machine_report.h"
#include "report/page/page.h"

static void put_fixed(struct as_table *t, double value)
{
    char text[AS_TEXT_HUMAN];

    if (!isfinite(value)) {
        as_table_text(t, AS_STYLE_DIM, "-");
        return;
    }
    as_text_fixed(text, value,
                  value < 0.01   ? 5
                  : value < 0.1  ? 4
                  : value < 1    ? 3
                  : value < 100  ? 2
                  : value < 1000 ? 1
                                 : 0);
    as_table_text(t, AS_STYLE_NONE, text);
}

static void put_axis(struct as_table *t, const struct as_sweep_axis *axis, size_t at)
{
    char text[80];

    if (axis->kind == AS_SWEEP_SHAPE) {
        struct as_type type = {.kind = AS_VALUE_TENSOR,
                               .rank = (int16_t)axis->shapes[at].rank,
                               .dims = axis->shapes[at].at};

        as_type_text(text, sizeof text, &type);
    } else {
        (void)snprintf(text, sizeof text, "%lld", (long long)axis->values[at]);
    }
    as_table_text(t, AS_STYLE_NONE, text);
}

static void put_row(struct as_table *t, struct as_page *page, const struct as_sweep *s, size_t r)
{
    const struct as_sweep_row *row = &s->rows[r];
    const struct as_sweep_point *point = row->point;
    const struct as_interval *ci = &point->figures.median.interval;
    char text[AS_TEXT_HUMAN];
    bool best = r == s->best && s->n_rows > 1;

    as_table_row(t);
    for (size_t i = 0; i < s->run->options->n_axes; i++)
        put_axis(t, &s->run->options->axes[i], point->place[i]);
    if (point->rc < 0) {
        as_table_text(t, AS_STYLE_BAD, "failed");
        as_table_text(t, AS_STYLE_BAD, as_page_name(page, point->err.msg));
        return;
    }
    as_text_si(text, (double)point->parameters, NULL);
    as_table_text(t, AS_STYLE_NONE, text);
    as_text_si(text, (double)point->flops, NULL);
    as_table_text(t, AS_STYLE_NONE, text);
    put_fixed(t, point->figures.summary.median / 1e6);
    put_fixed(t, ci->reached ? (ci->high - ci->low) / 2 / 1e6 : AS_UNKNOWN);
    put_fixed(t, row->samples_per_second);
    put_fixed(t, row->memory_mb);
    put_fixed(t, row->samples_per_second_mb);
    put_fixed(t, row->gflops_per_second);
    put_fixed(t, row->speedup);
    as_table_text(t, AS_STYLE_NONE, as_roof_text(&row->roof));
    as_table_text(t, AS_STYLE_GOOD, best ? "best" : r == s->knee ? "knee" : "");
}

static void put_law(struct as_page *page, const char *what, const struct as_power_law *law,
                    const char *axis)
{
    char error[AS_TEXT_HUMAN] = "";

    if (!law->known)
        return;
    if (isfinite(law->error))
        (void)snprintf(error, sizeof error, " %s %.2f", as_page_glyph(page, AS_GLYPH_PLUSMINUS),
                       law->error);
    as_page_pair(page, AS_STYLE_NONE, what, "grows as %s to the power %.2f%s",
                 as_page_name(page, axis), law->exponent, error);
}

enum { SAMPLES_PER_S = 4, SAMPLES_PER_S_MIB = 6 }; /* columns behind those of the axes */

/* No dimension of the model is known to count samples. */
static bool counts_inferences(const struct as_sweep *s)
{
    for (size_t r = 0; r < s->n_rows; r++)
        if (s->rows[r].point->batch_unknown)
            return true;
    return false;
}

/* How to look into a setting of batch and threads; other options are as they were given. */
static void put_command(const struct as_sweep_report *report, size_t row, struct as_page *page)
{
    const struct as_sweep_point *point = report->sweep->rows[row].point;
    char batch[40] = "";

    if (!report->sweep->same_work)
        return;
    if (!point->batch_unknown)
        (void)snprintf(batch, sizeof batch, " --batch %llu", (unsigned long long)point->batch);
    as_page_pair(page, AS_STYLE_DIM, NULL, "assay profile %s%s --threads %u",
                 as_page_name(page, report->model), batch, point->threads);
}

/* The setting that answers soonest, where it is not the one with the most throughput. */
static void put_fastest(const struct as_sweep_report *report, struct as_page *page)
{
    const struct as_sweep *s = report->sweep;
    char setting[200], latency[AS_TEXT_HUMAN];

    if (!s->same_work || s->fastest == SIZE_MAX || s->fastest == s->best || s->n_rows < 2)
        return;
    as_sweep_setting_text(s, s->fastest, setting, sizeof setting);
    as_text_ns(latency, s->rows[s->fastest].point->figures.summary.median, AS_TIME_AUTO);
    as_page_pair(page, AS_STYLE_NONE, "fastest", "%s: lowest latency, p50 %s",
                 as_page_name(page, setting), latency);
    put_command(report, s->fastest, page);
}

static void put_best(const struct as_sweep_report *report, struct as_page *page)
{
    const struct as_sweep *s = report->sweep;
    bool limited = isfinite(s->max_latency_ns) || isfinite(s->max_memory_bytes);
    char setting[200], latency[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN], equal[160] = "";
    int size = 0;

    if (s->best == SIZE_MAX) {
        if (limited)
            as_page_pair(page, AS_STYLE_WARN, "best", "no setting is within the limits");
        return;
    }
    as_sweep_setting_text(s, s->best, setting, sizeof setting);
    as_text_ns(latency, s->rows[s->best].point->figures.summary.median, AS_TIME_AUTO);
    as_text_si(rate, s->rows[s->best].samples_per_second, NULL);
    if (s->n_equal)
        size = snprintf(equal, sizeof equal, "; not significantly better than %zu other setting%s",
                        s->n_equal, s->n_equal == 1 ? "" : "s");
    if (s->n_untested && size >= 0)
        (void)snprintf(equal + size, sizeof equal - (size_t)size,
                       "; not tested against %zu for want of a 95 %% CI", s->n_untested);
    as_page_pair(page, AS_STYLE_NONE, "best", "%s: %s %s/s at p50 %s%s%s",
                 as_page_name(page, setting), rate, counts_inferences(s) ? "inferences" : "samples",
                 latency, limited ? ", within the limits" : "", equal);
    put_command(report, s->best, page);
}

static void put_findings(const struct as_sweep_report *report, struct as_page *page)
{
    const struct as_sweep *s = report->sweep;
    const char *axis = s->run->options->axes[0].name;
    char setting[200], rate[AS_TEXT_HUMAN];

    as_page_heading(page, "Scaling",
                    s->run->options->n_axes > 1
                        ? "along the first axis, the others at their first value"
                        : NULL);
    put_law(page, "latency", &s->latency, axis);
    put_law(page, "work", &s->work, axis);
    put_law(page, "memory", &s->memory, axis);
    if (isfinite(s->memory_growth) && s->n_rows > 1)
        as_page_pair(page, AS_STYLE_NONE, "first, last",
                     "memory %.2fx, GFLOP/s %.2fx from the first to the last setting",
                     s->memory_growth, s->compute_growth);
    if (s->knee != SIZE_MAX) {
        as_sweep_setting_text(s, s->knee, setting, sizeof setting);
        as_page_pair(page, AS_STYLE_NONE, "knee",
                     "%s: beyond it, doubling gains less than %.0f %% throughput",
                     as_page_name(page, setting), AS_SWEEP_KNEE_GAIN * 100);
    }
    put_fastest(report, page);
    put_best(report, page);
    if (s->advice && s->verdict != AS_BOUND_UNKNOWN)
        as_page_pair(page, AS_STYLE_NONE, "verdict", "the model as a whole is %s", s->advice);
    if (s->drift > AS_SWEEP_MAX_DRIFT) {
        as_text_percent(rate, s->drift);
        as_page_pair(page, AS_STYLE_WARN, "unsteady",
                     "forward and reverse pass differ by up to %s, so there is no verdict: stop "
                     "other work and measure again",
                     rate);
    }
}

int as_sweep_page(const struct as_sweep_report *report, struct as_out *out,
                  const struct as_term *term, struct assay_error *err)
{
    static const struct as_table_column figures[] = {
        {.title = "params", .align = AS_ALIGN_RIGHT, .drop = 5},
        {.title = "FLOPs", .align = AS_ALIGN_RIGHT, .drop = 4},
        {.title = "p50 ms", .align = AS_ALIGN_RIGHT},
        {.title = "CI/2 ms", .align = AS_ALIGN_RIGHT, .drop = 6},
        {.title = "samples/s", .align = AS_ALIGN_RIGHT},
        {.title = "memory MiB", .align = AS_ALIGN_RIGHT},
        {.title = "samples/s/MiB", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "GFLOP/s", .align = AS_ALIGN_RIGHT},
        {.title = "speedup", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "bound by", .drop = 1},
        {.title = "note"},
    };
    const struct as_sweep *s = report->sweep;
    size_t n_axes = s->run->options->n_axes;
    struct as_table_column columns[AS_SWEEP_AXES + AS_COUNT_OF(figures)];
    char isa[AS_ISA_TEXT], sizes[600];
    struct as_table t;
    struct as_page page;

    as_page_open(&page, out, term, report->markdown);
    page.wide = report->wide;
    as_page_title(&page, report->model);
    as_page_line(&page, AS_STYLE_DIM, "kernels %s", as_isa_text(isa, &report->isa));
    if (as_open_sizes_text(sizes, sizeof sizes, s->run->sizes, s->run->n_sizes, NULL))
        as_page_line(&page, AS_STYLE_DIM, "sizes: %s", as_page_name(&page, sizes));
    for (size_t i = 0; i < n_axes; i++)
        columns[i] = (struct as_table_column){.title = s->run->options->axes[i].name,
                                              .align = AS_ALIGN_RIGHT};
    memcpy(columns + n_axes, figures, sizeof figures);
    if (counts_inferences(s)) {
        columns[n_axes + SAMPLES_PER_S].title = "inferences/s";
        columns[n_axes + SAMPLES_PER_S_MIB].title = "inferences/s/MiB";
    }
    as_table_init(&t, columns, n_axes + AS_COUNT_OF(figures));
    for (size_t r = 0; r < s->n_rows; r++)
        put_row(&t, &page, s, r);
    as_page_table(&page, &t);
    if (s->verdict != AS_BOUND_UNKNOWN)
        as_page_line(&page, AS_STYLE_DIM,
                     "bounds are of the model as a whole, taken as one layer; 'assay profile' "
                     "judges each layer");
    for (size_t r = 0; r < s->n_rows; r++)
        if (s->rows[r].point->rc < 0) {
            char setting[200];

            as_sweep_setting_text(s, r, setting, sizeof setting);
            as_page_line(&page, AS_STYLE_WARN, "%s %s: %s", as_page_name(&page, setting),
                         s->rows[r].point->rc == ASSAY_ERR_STATE ? "was not measured" : "failed",
                         as_page_name(&page, s->rows[r].point->err.msg));
        }
    put_findings(report, &page);
    return as_page_close(&page, err);
}

int as_sweep_csv(struct as_csv_writer *w, const void *report, struct assay_error *err)
{
    const struct as_sweep *s = ((const struct as_sweep_report *)report)->sweep;

    (void)err;
    as_csv_text(w, "setting");
    as_csv_fields_keys(w, &as_sweep_row_shape);
    as_csv_row_end(w);
    for (size_t r = 0; r < s->n_rows; r++) {
        char setting[200];

        as_sweep_setting_text(s, r, setting, sizeof setting);
        as_csv_text(w, setting);
        as_csv_fields_values(w, &as_sweep_row_shape, &s->rows[r]);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}
