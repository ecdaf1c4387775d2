/* report/bench/bench_plots.c - figures of an experiment: how latencies are spread, quality against
 * what is saved, latency by length or along an axis, energy. */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/bench/bench_report.h"
#include "report/page/svg.h"
#include "stats/describe/sorted.h"

#define WIDTH   840.0
#define RIGHT   20.0
#define MAX_ROW 40 /* settings in a figure; more would not be told apart */

static size_t shown(const struct as_bench_result *r)
{
    return r->bench->n_settings < MAX_ROW ? r->bench->n_settings : MAX_ROW;
}

/* Whether a character begins at that byte. */
static bool begins(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xc0) != 0x80;
}

/* The middle of a name that is too long for its place is left out, whole characters of it. */
static void short_name(const char *name, size_t most, char out[AS_GRID_NAME])
{
    size_t size = strlen(name), head = most / 2, tail = size > most ? size - most / 2 + 3 : 0;

    if (size <= most) {
        (void)snprintf(out, AS_GRID_NAME, "%s", name);
        return;
    }
    while (head > 0 && !begins(name, head))
        head--;
    while (tail < size && !begins(name, tail))
        tail++;
    (void)snprintf(out, AS_GRID_NAME, "%.*s...%s", (int)head, name, name + tail);
}

static void put_key(struct as_svg *svg, size_t color, size_t line, double x, const char *name)
{
    char text[AS_GRID_NAME];
    double y = 60 + 16 * (double)line;

    short_name(name, 26, text);
    as_svg_dot(svg, x, y - 4, 4, as_svg_color(color), 1, NULL);
    as_svg_text(svg, x + 9, y, AS_SVG_START, 11, text);
}

static void put_stamp(struct as_svg *svg, const struct as_bench_report *report)
{
    char text[80];

    (void)snprintf(text, sizeof text, "experiment %.16s",
                   report->experiment_hash ? report->experiment_hash : "-");
    as_svg_text(svg, svg->width - RIGHT, svg->height - 8, AS_SVG_END, 9, text);
    if (report->result->bench->n_settings > MAX_ROW)
        as_svg_text(svg, svg->width - RIGHT, 24, AS_SVG_END, 10, "the first 40 settings are shown");
}

/* ---- how latencies are spread ---- */

/* Ends of all wall times. */
static bool wall_range(const struct as_bench_result *r, double *low, double *high)
{
    *low = (double)INFINITY;
    *high = 0;
    for (size_t i = 0; i < shown(r); i++) {
        if (r->rows[i].wall.n == 0)
            continue;
        *low = fmin(*low, r->rows[i].wall.min);
        *high = fmax(*high, r->rows[i].wall.max);
    }
    return *high > 0 && *low > 0;
}

static void put_box(struct as_svg *svg, const struct as_svg_frame *f,
                    const struct as_bench_row *row, size_t i, double y)
{
    const struct as_summary *s = &row->wall;
    const char *color = as_svg_color(i);
    double low = as_svg_at(&f->x, s->percentile[AS_SUMMARY_P25]);
    double high = as_svg_at(&f->x, s->percentile[AS_SUMMARY_P75]);
    double middle = as_svg_at(&f->x, s->median);
    double p95 = as_svg_at(&f->x, s->percentile[AS_SUMMARY_P95]);
    size_t step = row->setting->n / 150 + 1;

    for (size_t k = 0; k < row->setting->n; k += step) {
        double shift = 16 * (fmod((double)k * 0.618034, 1) - 0.5);

        as_svg_dot(svg, as_svg_at(&f->x, (double)row->setting->samples[k].wall_ns), y + shift, 1.6,
                   color, 0.25, NULL);
    }
    as_svg_line(svg, as_svg_at(&f->x, s->min), y, as_svg_at(&f->x, s->max), y, color, 1);
    as_svg_rect(svg, low, y - 8, high - low, 16, color, 0.35);
    as_svg_line(svg, middle, y - 10, middle, y + 10, color, 2.5);
    as_svg_line(svg, p95, y - 6, p95, y + 6, color, 1.5);
}

static void draw_latency(struct as_svg *svg, const struct as_bench_report *report)
{
    const struct as_bench_result *r = report->result;
    struct as_svg_frame f = {.x = {.log = true, .from = 210, .to = WIDTH - RIGHT},
                             .y = {.low = 0, .high = 1, .from = svg->height - 60, .to = 40},
                             .x_title = "wall time of a sample (log scale)",
                             .x_unit = "ns",
                             .no_y = true};
    double low, high;

    if (!wall_range(r, &low, &high))
        return;
    as_svg_axis_fit(&f.x, low, high);
    as_svg_frame(svg, &f);
    for (size_t i = 0; i < shown(r); i++) {
        double y = 56 + 30 * (double)i;
        char name[AS_GRID_NAME];

        short_name(r->rows[i].setting->name, 30, name);
        as_svg_text(svg, 202, y + 4, AS_SVG_END, 12, name);
        if (r->rows[i].wall.n)
            put_box(svg, &f, &r->rows[i], i, y);
        else
            as_svg_text(svg, 220, y + 4, AS_SVG_START, 11, "failed");
    }
    as_svg_text(svg, 16, svg->height - 8, AS_SVG_START, 10,
                "box: middle half; thick line: median; short line: p95; whiskers: least and most");
}

/* ---- quality against savings ---- */

static const struct panel {
    const char *title;
    size_t at; /* of the estimate in a row */
} panels[] = {
    {"KV cache saved", offsetof(struct as_bench_row, kv_cache_reduction)},
    {"memory saved", offsetof(struct as_bench_row, peak_mem_reduction)},
    {"energy saved", offsetof(struct as_bench_row, energy_reduction)},
    {"time saved", offsetof(struct as_bench_row, latency_reduction)},
};

static const struct as_bench_estimate *saving(const struct as_bench_row *row, size_t panel)
{
    return (const struct as_bench_estimate *)(const void *)((const char *)row + panels[panel].at);
}

static bool is_point(const struct as_bench_result *r, size_t i, size_t panel)
{
    return i != r->bench->baseline && isfinite(saving(&r->rows[i], panel)->value) &&
           isfinite(r->rows[i].coherence_loss);
}

static bool panel_ranges(const struct as_bench_result *r, size_t panel, struct as_svg_frame *f)
{
    double x_low = 0, x_high = 0, y_high = 0;
    size_t n = 0;

    for (size_t i = 0; i < shown(r); i++) {
        if (!is_point(r, i, panel))
            continue;
        x_low =
            fmin(x_low, fmin(saving(&r->rows[i], panel)->value, saving(&r->rows[i], panel)->low));
        x_high =
            fmax(x_high, fmax(saving(&r->rows[i], panel)->value, saving(&r->rows[i], panel)->high));
        y_high = fmax(y_high, r->rows[i].coherence_loss);
        n++;
    }
    as_svg_axis_fit(&f->x, x_low, x_high > x_low ? x_high : 0.01);
    as_svg_axis_fit(&f->y, 0, y_high > 0 ? y_high : 0.001);
    return n > 0;
}

static void draw_panel(struct as_svg *svg, const struct as_bench_report *report, size_t panel)
{
    const struct as_bench_result *r = report->result;
    size_t line = panel / 2;
    double left = 80 + 330 * (double)(panel % 2), top = 50 + 250 * (double)line;
    struct as_svg_frame f = {.x = {.from = left, .to = left + 240},
                             .y = {.from = top + 180, .to = top},
                             .x_title = panels[panel].title,
                             .y_title = panel % 2 ? NULL : "coherence loss",
                             .x_unit = "%",
                             .y_unit = "%"};

    if (!panel_ranges(r, panel, &f)) {
        as_svg_text(svg, left + 120, top + 90, AS_SVG_MIDDLE, 12, panels[panel].title);
        as_svg_text(svg, left + 120, top + 108, AS_SVG_MIDDLE, 11, "unknown: it was not measured");
        return;
    }
    as_svg_frame(svg, &f);
    as_svg_line(svg, as_svg_at(&f.x, 0), f.y.from, as_svg_at(&f.x, 0), f.y.to, "#999", 1);
    for (size_t i = 0; i < shown(r); i++) {
        const struct as_bench_estimate *e = saving(&r->rows[i], panel);
        double y = as_svg_at(&f.y, r->rows[i].coherence_loss);

        if (!is_point(r, i, panel))
            continue;
        if (isfinite(e->low))
            as_svg_line(svg, as_svg_at(&f.x, e->low), y, as_svg_at(&f.x, e->high), y,
                        as_svg_color(i), 1);
        /* Smaller and smaller, so that points in one place are all seen. */
        as_svg_dot(svg, as_svg_at(&f.x, e->value), y, fmax(9 - (double)i, 2.5), as_svg_color(i), 1,
                   r->rows[i].setting->name);
    }
}

static void draw_tradeoff(struct as_svg *svg, const struct as_bench_report *report)
{
    for (size_t p = 0; p < AS_COUNT_OF(panels); p++)
        draw_panel(svg, report, p);
    for (size_t i = 0, line = 0; i < shown(report->result); i++)
        if (i != report->result->bench->baseline)
            put_key(svg, i, line++, 690, report->result->rows[i].setting->name);
}

/* ---- curves ---- */

enum { MAX_POINTS = 64 };

struct curve {
    double x[MAX_POINTS], y[MAX_POINTS];
    size_t n;
    char name[AS_GRID_NAME]; /* "": that of the setting */
};

static double median_of(double *values, double *scratch, size_t n)
{
    struct as_sorted sorted;

    as_sort_f64(values, n, scratch);
    sorted = as_sorted_f64(values, n);
    return as_sorted_median(&sorted);
}

/* Median wall time of the samples whose length lies between two powers of the square root of 2. */
static bool length_curve(const struct as_bench_setting *s, struct curve *c)
{
    double *values = as_alloc_zero(2 * s->n + 1, sizeof *values);

    c->n = 0;
    if (!values)
        return false;
    for (int step = 0; step < 60 && c->n < MAX_POINTS; step++) {
        double from = pow(2, step * 0.5), lengths = 0;
        size_t n = 0;

        for (size_t i = 0; i < s->n; i++) {
            double length = (double)s->samples[i].seq_len;

            if (s->samples[i].seq_len == AS_BENCH_UNKNOWN || length < from ||
                length >= from * sqrt(2))
                continue;
            values[n++] = (double)s->samples[i].wall_ns;
            lengths += length;
        }
        if (n == 0)
            continue;
        c->x[c->n] = lengths / (double)n;
        c->y[c->n++] = median_of(values, values + s->n, n);
    }
    as_free(values);
    return true;
}

static void draw_curves(struct as_svg *svg, const struct as_bench_report *report,
                        const struct curve *curves, const char *x_title)
{
    const struct as_bench_result *r = report->result;
    struct as_svg_frame f = {.x = {.log = true, .from = 90, .to = 640},
                             .y = {.log = true, .from = svg->height - 60, .to = 50},
                             .x_title = x_title,
                             .y_title = "median wall time (log scale)",
                             .y_unit = "ns"};
    double x_low = (double)INFINITY, x_high = 0, y_low = (double)INFINITY, y_high = 0;

    for (size_t i = 0; i < shown(r); i++)
        for (size_t k = 0; k < curves[i].n; k++) {
            x_low = fmin(x_low, curves[i].x[k]);
            x_high = fmax(x_high, curves[i].x[k]);
            y_low = fmin(y_low, curves[i].y[k]);
            y_high = fmax(y_high, curves[i].y[k]);
        }
    if (!(x_high > 0) || !(y_high > 0) || !(x_low > 0)) {
        as_svg_text(svg, WIDTH / 2, svg->height / 2, AS_SVG_MIDDLE, 12, "too few samples");
        return;
    }
    as_svg_axis_fit(&f.x, x_low, x_high);
    as_svg_axis_fit(&f.y, y_low, y_high);
    as_svg_frame(svg, &f);
    for (size_t i = 0; i < shown(r); i++)
        for (size_t k = 0; k < curves[i].n; k++) {
            double x = as_svg_at(&f.x, curves[i].x[k]), y = as_svg_at(&f.y, curves[i].y[k]);

            if (k > 0)
                as_svg_line(svg, as_svg_at(&f.x, curves[i].x[k - 1]),
                            as_svg_at(&f.y, curves[i].y[k - 1]), x, y, as_svg_color(i), 1.8);
            as_svg_dot(svg, x, y, 3, as_svg_color(i), 1, r->rows[i].setting->name);
        }
    for (size_t i = 0, line = 0; i < shown(r); i++)
        if (curves[i].n && (curves[i].name[0] || r->judged))
            put_key(svg, i, line++, 660,
                    curves[i].name[0] ? curves[i].name : r->rows[i].setting->name);
}

static void draw_lengths(struct as_svg *svg, const struct as_bench_report *report)
{
    const struct as_bench_result *r = report->result;
    struct curve *curves = as_alloc_zero(MAX_ROW, sizeof *curves);

    for (size_t i = 0; curves && i < shown(r); i++)
        (void)length_curve(r->rows[i].setting, &curves[i]);
    if (curves)
        draw_curves(svg, report, curves, "tokens of a sample (log scale)");
    as_free(curves);
}

/* The first axis whose values are all numbers above 0; SIZE_MAX: none. */
static size_t number_axis(const struct as_grid *grid)
{
    for (size_t a = 0; grid && a < grid->n_axes; a++) {
        bool all = grid->axes[a].n > 1;

        for (size_t i = 0; i < grid->axes[a].n; i++) {
            double value = 0;
            const char *text = grid->axes[a].values[i];

            all = all && as_parse_f64(text, strlen(text), &value) && value > 0;
        }
        if (all)
            return a;
    }
    return SIZE_MAX;
}

/* In the order of x, whatever order the values were given in. */
static void insert_point(struct curve *c, double x, double y)
{
    size_t at = c->n++;

    for (; at > 0 && c->x[at - 1] > x; at--) {
        c->x[at] = c->x[at - 1];
        c->y[at] = c->y[at - 1];
    }
    c->x[at] = x;
    c->y[at] = y;
}

/* What a setting has beside that axis. */
static void other_axes(const struct as_grid *grid, size_t axis, size_t setting,
                       char out[AS_GRID_NAME])
{
    size_t used = 0;

    (void)snprintf(out, AS_GRID_NAME, "all");
    for (size_t a = 0; a < grid->n_axes && used < AS_GRID_NAME; a++) {
        int n;

        if (a == axis)
            continue;
        n = snprintf(out + used, AS_GRID_NAME - used, "%s%s=%s", used ? "," : "",
                     grid->axes[a].name, as_grid_value(grid, setting, a));
        used += n > 0 ? (size_t)n : 0;
    }
}

/* One curve for each combination of the others, under the first setting that has it. */
static void axis_curves(const struct as_bench_report *report, size_t axis, struct curve *curves)
{
    const struct as_grid *grid = report->grid;
    const struct as_bench_result *r = report->result;
    size_t inner = 1;

    for (size_t a = axis + 1; a < grid->n_axes; a++)
        inner *= grid->axes[a].n;
    for (size_t i = 0; i < shown(r); i++) {
        size_t place = i / inner % grid->axes[axis].n, first = i - place * inner;
        const char *text = as_grid_value(grid, i, axis);
        struct curve *c = &curves[first];
        double x = 0;

        if (r->rows[i].wall.n == 0 || c->n == MAX_POINTS || !as_parse_f64(text, strlen(text), &x))
            continue;
        insert_point(c, x, r->rows[i].wall.median);
        if (grid->n_axes > 1)
            other_axes(grid, axis, i, c->name);
    }
}

static void draw_axis(struct as_svg *svg, const struct as_bench_report *report)
{
    size_t axis = number_axis(report->grid);
    struct curve *curves = as_alloc_zero(MAX_ROW, sizeof *curves);
    char title[120];

    if (curves && axis != SIZE_MAX) {
        axis_curves(report, axis, curves);
        (void)snprintf(title, sizeof title, "%.60s (log scale)", report->grid->axes[axis].name);
        draw_curves(svg, report, curves, title);
    }
    as_free(curves);
}

/* ---- energy ---- */

static void draw_energy(struct as_svg *svg, const struct as_bench_report *report)
{
    const struct as_bench_result *r = report->result;
    struct as_svg_frame f = {.x = {.from = 210, .to = WIDTH - RIGHT},
                             .y = {.low = 0, .high = 1, .from = svg->height - 60, .to = 40},
                             .x_title = "joules a sample",
                             .no_y = true};
    double high = 0;

    for (size_t i = 0; i < shown(r); i++)
        if (isfinite(r->rows[i].energy_j.value))
            high = fmax(high, fmax(r->rows[i].energy_j.value, r->rows[i].energy_j.high));
    if (!(high > 0)) {
        char text[200];

        (void)snprintf(text, sizeof text, "Energy is unknown: %.160s.",
                       report->energy_why ? report->energy_why : "it was not metered");
        as_svg_text(svg, WIDTH / 2, svg->height / 2, AS_SVG_MIDDLE, 13, text);
        return;
    }
    f.x.low = 0;
    f.x.high = high * 1.05;
    as_svg_frame(svg, &f);
    for (size_t i = 0; i < shown(r); i++) {
        const struct as_bench_estimate *e = &r->rows[i].energy_j;
        double y = 56 + 30 * (double)i;
        char name[AS_GRID_NAME];

        short_name(r->rows[i].setting->name, 30, name);
        as_svg_text(svg, 202, y + 4, AS_SVG_END, 12, name);
        if (!isfinite(e->value))
            continue;
        as_svg_rect(svg, f.x.from, y - 9, as_svg_at(&f.x, e->value) - f.x.from, 18, as_svg_color(i),
                    0.6);
        if (isfinite(e->low))
            as_svg_line(svg, as_svg_at(&f.x, e->low), y, as_svg_at(&f.x, e->high), y, "#222", 1.5);
    }
}

/* ---- files ---- */

static const struct figure {
    const char *file, *title;
    bool attention, others; /* for which workloads */
    bool rows;              /* as high as there are settings */
    void (*draw)(struct as_svg *svg, const struct as_bench_report *report);
} figures[] = {
    {"latency.svg", "Latency of each setting", true, true, true, draw_latency},
    {"tradeoff.svg", "Quality against savings", true, false, false, draw_tradeoff},
    {"lengths.svg", "Latency by length", true, false, false, draw_lengths},
    {"axis.svg", "Latency along the grid", false, true, false, draw_axis},
    {"energy.svg", "Energy of each setting", true, true, true, draw_energy}, /* when metered */
};

int as_bench_plots(const struct as_bench_report *report, const char *folder,
                   struct assay_error *err)
{
    const struct as_bench_result *r = report->result;
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < AS_COUNT_OF(figures); i++) {
        const struct figure *f = &figures[i];
        char path[PATH_MAX];
        struct as_svg svg;
        struct as_out out;

        if (!(r->judged ? f->attention : f->others) ||
            (f->draw == draw_axis && number_axis(report->grid) == SIZE_MAX) ||
            (f->draw == draw_energy && !r->judged && !report->energy_source))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, f->file) >= (int)sizeof path)
            return as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", folder);
        rc = as_out_file(&out, path, err);
        if (rc < 0)
            break;
        as_svg_begin(&svg, &out, WIDTH, f->rows ? 120 + 30 * (double)shown(r) : 560, f->title);
        f->draw(&svg, report);
        put_stamp(&svg, report);
        as_svg_end(&svg);
        rc = as_out_close(&out, err);
    }
    return rc;
}
