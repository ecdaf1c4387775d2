/* report/profile/roofline_plot.c - layers under the measured roofline, on a terminal and as SVG. */
#include "report/profile/roofline_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/name_fit.h"
#include "base/units.h"
#include "report/page/svg.h"
#include "report/page/svg_labels.h"

#define ROWS        15
#define MAX_COLUMNS 100
#define GIGA        1e9
#define LABEL       10 /* columns left of the plot */

/* What is drawn: ends of both axes, in FLOP/byte and FLOP/s. */
struct plot {
    const struct as_profile *p;
    double peak; /* f32, FLOP/s */
    double x_low, x_high, y_low, y_high;
};

static bool is_drawn(const struct as_profile_layer *layer)
{
    return layer->step->counted && isfinite(layer->roof.intensity) && layer->roof.intensity > 0 &&
           isfinite(layer->roof.achieved) && layer->roof.achieved > 0;
}

/* Attainable FLOP/s at an intensity when data comes from that level. */
static double roof_at(const struct plot *plot, enum as_peak_level level, double intensity)
{
    double moved = as_peak_bandwidth(plot->p->peaks, level, plot->p->data->threads) * intensity;

    if (!isfinite(moved)) /* the level was not measured */
        return 0;
    return moved < plot->peak ? moved : plot->peak;
}

static bool fit(struct plot *plot, const struct as_profile *p)
{
    size_t n = 0;

    if (!p->peaks)
        return false;
    *plot = (struct plot){.p = p,
                          .peak = as_peak_flops(p->peaks, AS_PEAK_F32, p->data->threads),
                          .x_low = 0.1,
                          .x_high = 100,
                          .y_low = (double)INFINITY};
    plot->y_high = plot->peak;
    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_roof *roof = &p->layers[i].roof;

        if (!is_drawn(&p->layers[i]))
            continue;
        plot->x_low = fmin(plot->x_low, roof->intensity);
        plot->x_high = fmax(plot->x_high, roof->intensity);
        plot->y_low = fmin(plot->y_low, roof->achieved);
        plot->y_high = fmax(plot->y_high, roof->achieved);
        n++;
    }
    if (n == 0 || !(plot->peak > 0) || !isfinite(plot->peak))
        return false;
    plot->y_low = fmax(plot->y_low / 2, plot->y_high / 1e6);
    plot->x_low = fmax(plot->x_low, plot->x_high / 1e6);
    plot->y_high *= 1.5;
    return true;
}

/* 0 to n - 1; values beyond the ends are at them. */
static size_t place(double value, double low, double high, size_t n)
{
    double at = log(value / low) / log(high / low) * (double)(n - 1);

    return at <= 0 ? 0 : at >= (double)(n - 1) ? n - 1 : (size_t)(at + 0.5);
}

static void draw_roofs(const struct plot *plot, char grid[ROWS][MAX_COLUMNS], size_t columns)
{
    static const enum as_peak_level levels[] = {AS_PEAK_L2, AS_PEAK_DRAM};

    for (size_t c = 0; c < columns; c++) {
        double x = plot->x_low * pow(plot->x_high / plot->x_low, (double)c / (double)(columns - 1));

        for (size_t l = 0; l < AS_COUNT_OF(levels); l++) {
            double y = roof_at(plot, levels[l], x);

            if (y > plot->y_low)
                grid[place(y, plot->y_low, plot->y_high, ROWS)][c] =
                    (char)(y < plot->peak ? '/' : '-');
        }
    }
}

static void draw_layers(const struct plot *plot, char grid[ROWS][MAX_COLUMNS], size_t columns)
{
    const struct as_profile *p = plot->p;

    for (size_t i = p->n_layers; i-- > 0;) { /* the slowest last, above the others */
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];
        char mark = (char)(layer->share >= 0.05 ? '@' : layer->share >= 0.01 ? 'o' : '.');

        if (is_drawn(layer))
            grid[place(layer->roof.achieved, plot->y_low, plot->y_high, ROWS)]
                [place(layer->roof.intensity, plot->x_low, plot->x_high, columns)] = mark;
    }
}

void as_profile_put_roofline(const struct as_profile_report *report, struct as_page *page)
{
    struct plot plot;
    char grid[ROWS][MAX_COLUMNS], line[MAX_COLUMNS + 1], label[AS_TEXT_HUMAN];
    size_t columns = page->term->width > LABEL + 30 ? page->term->width - LABEL : 30;

    as_page_heading(page, "Roofline", "FLOP/s over arithmetic intensity, logarithmic");
    if (!fit(&plot, report->profile)) {
        as_page_line(
            page, AS_STYLE_NONE,
            "unavailable: the peaks of the machine or the costs of the layers are unknown");
        return;
    }
    if (page->markdown) {
        as_page_line(page, AS_STYLE_NONE, "drawn by --roofline FILE.svg");
        return;
    }
    columns = columns < MAX_COLUMNS ? columns : MAX_COLUMNS;
    memset(grid, ' ', sizeof grid);
    draw_roofs(&plot, grid, columns);
    draw_layers(&plot, grid, columns);
    for (size_t r = ROWS; r-- > 0;) {
        double y = plot.y_low * pow(plot.y_high / plot.y_low, (double)r / (ROWS - 1));
        size_t used = columns;

        label[0] = '\0';
        if (r % 4 == 2)
            as_text_si(label, y, NULL);
        while (used > 0 && grid[r][used - 1] == ' ')
            used--;
        (void)snprintf(line, sizeof line, "%.*s", (int)used, grid[r]);
        as_page_cut_line(page, AS_STYLE_NONE, "%*s |%s", LABEL - 2, label, line);
    }
    (void)snprintf(label, sizeof label, "%.2g", plot.x_low);
    as_page_cut_line(page, AS_STYLE_NONE, "%*s %s%*.3g FLOP/byte", LABEL - 2, "", label,
                     (int)(columns - strlen(label) - 10), plot.x_high);
    as_page_line(page, AS_STYLE_DIM,
                 "/ memory bandwidth (L2, DRAM)   - f32 peak   layers: @ 5 %% of the time or more, "
                 "o 1 %%, . less");
}

/* ---- SVG ---- */

#define PI         3.14159265358979323846
#define NAMED      8    /* layers at most that have a label */
#define NAMED_MIN  0.01 /* of the time */
#define NAME_WIDTH 32

/* The figure while it is drawn. */
struct figure {
    const struct plot *plot;
    struct as_svg *svg;
    const struct as_svg_frame *frame;
    struct as_svg_labels labels;
};

static const struct {
    enum as_peak_level level;
    const char *name;
} svg_levels[] = {
    {AS_PEAK_L1, "L1"}, {AS_PEAK_L2, "L2"}, {AS_PEAK_L3, "L3"}, {AS_PEAK_DRAM, "DRAM"}};

/* The part of a bandwidth's line that is in the frame; false when there is none. */
static bool bandwidth_line(const struct figure *f, size_t i, double *rate_bytes, double at[4])
{
    const struct as_svg_axis *x = &f->frame->x, *y = &f->frame->y;
    double from, to;

    *rate_bytes =
        as_peak_bandwidth(f->plot->p->peaks, svg_levels[i].level, f->plot->p->data->threads);
    from = fmax(x->low, y->low * GIGA / *rate_bytes);
    to = fmin(f->plot->peak / *rate_bytes, x->high);
    if (!isfinite(*rate_bytes) || !(*rate_bytes > 0) || from >= to)
        return false;
    at[0] = as_svg_at(x, from);
    at[1] = as_svg_at(y, from * *rate_bytes / GIGA);
    at[2] = as_svg_at(x, to);
    at[3] = as_svg_at(y, to * *rate_bytes / GIGA);
    return true;
}

static void svg_roofs(struct figure *f)
{
    double left = f->frame->x.from, right = f->frame->x.to, rate_bytes, at[4];
    double top = as_svg_at(&f->frame->y, f->plot->peak / GIGA);

    for (size_t i = 0; i < AS_COUNT_OF(svg_levels); i++)
        if (bandwidth_line(f, i, &rate_bytes, at)) {
            as_svg_line(f->svg, at[0], at[1], at[2], at[3], as_svg_color(i + 1), 1.5);
            as_svg_avoid_line(&f->labels, at[0], at[1], at[2], at[3]);
        }
    as_svg_line(f->svg, left, top, right, top, as_svg_color(0), 2);
    as_svg_avoid_line(&f->labels, left, top, right, top);
}

#define ROOF_SIZE 11
#define ROOF_GAP  (ROOF_SIZE + 5) /* pixels between two lines that a name needs */

/* How far apart the lines of two bandwidths are; infinite when the other one is not drawn. */
static double gap_to(const struct figure *f, size_t other, const double at[4])
{
    double rate_bytes, is[4], rise = (at[1] - at[3]) / (at[2] - at[0]);

    if (other >= AS_COUNT_OF(svg_levels) || !bandwidth_line(f, other, &rate_bytes, is))
        return (double)INFINITY;
    return fabs((is[1] + rise * (is[0] - at[0])) - at[1]) / hypot(1, rise);
}

/* Along the line, above it where the next higher one leaves room, else below; or not at all. */
static void svg_roof_name(struct figure *f, size_t i)
{
    double rate_bytes, at[4], x, y, rise;
    char text[AS_TEXT_HUMAN + 32], rate[AS_TEXT_HUMAN];

    if (!bandwidth_line(f, i, &rate_bytes, at))
        return;
    rise = (at[1] - at[3]) / (at[2] - at[0]);
    x = at[0] + 8;
    if (gap_to(f, i - 1, at) >= ROOF_GAP)
        y = at[1] - 8 * rise - 4 * hypot(1, rise);
    else if (gap_to(f, i + 1, at) >= ROOF_GAP)
        y = at[1] - 8 * rise + (ROOF_SIZE + 1) * hypot(1, rise);
    else
        return;
    as_text_si(rate, rate_bytes, "B/s");
    (void)snprintf(text, sizeof text, "%s %s", svg_levels[i].name, rate);
    as_svg_text_along(f->svg, x, y, -atan(rise) * 180 / PI, ROOF_SIZE, text);
    as_svg_avoid_slanted(&f->labels, x, y, rise, ROOF_SIZE, text);
}

static void svg_roof_names(struct figure *f)
{
    const double right = f->frame->x.to - 4, line = as_svg_at(&f->frame->y, f->plot->peak / GIGA);
    const double middle = (f->frame->x.from + f->frame->x.to) / 2;
    const struct as_svg_spot spots[] = {
        {right, line - 6, AS_SVG_END},      {right, line + 14, AS_SVG_END},
        {middle, line - 6, AS_SVG_MIDDLE},  {right, line - 20, AS_SVG_END},
        {middle, line - 20, AS_SVG_MIDDLE}, {right, line + 28, AS_SVG_END}};
    char text[AS_TEXT_HUMAN + 32], rate[AS_TEXT_HUMAN];

    as_text_si(rate, f->plot->peak, "FLOP/s");
    (void)snprintf(text, sizeof text, "f32 peak %s, %u thread%s", rate, f->plot->p->data->threads,
                   f->plot->p->data->threads == 1 ? "" : "s");
    (void)as_svg_label_at(&f->labels, f->svg, spots, AS_COUNT_OF(spots), ROOF_SIZE, text);
    for (size_t i = 0; i < AS_COUNT_OF(svg_levels); i++)
        svg_roof_name(f, i);
}

struct dot {
    double x, y, radius;
};

static struct dot dot_of(const struct figure *f, const struct as_profile_layer *layer)
{
    return (struct dot){as_svg_at(&f->frame->x, layer->roof.intensity),
                        as_svg_at(&f->frame->y, layer->roof.achieved / GIGA),
                        3 + 14 * sqrt(layer->share)};
}

static void svg_layers(struct figure *f)
{
    const struct as_profile *p = f->plot->p;
    char tip[400], share[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN], roof[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];
        struct dot d;

        if (!is_drawn(layer))
            continue;
        d = dot_of(f, layer);
        as_text_percent(share, layer->share);
        as_text_percent(roof, layer->roof.roof_fraction);
        as_text_si(rate, layer->roof.achieved, "FLOP/s");
        (void)snprintf(tip, sizeof tip, "%.120s (%.40s): %s of the time, %s, %s of roofline",
                       layer->brief, layer->step->op, share, rate, roof);
        as_svg_dot(f->svg, d.x, d.y, d.radius, as_svg_color(5), 0.55, tip);
        as_svg_avoid_box(&f->labels, (struct as_svg_box){d.x - d.radius, d.y - d.radius,
                                                         d.x + d.radius, d.y + d.radius});
    }
}

/* The slowest layers, as far as there is room. */
static void svg_layer_names(struct figure *f)
{
    const struct as_profile *p = f->plot->p;
    struct as_arena arena = {0};
    size_t n = 0;

    for (size_t i = 0; i < p->n_layers && n < NAMED; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];
        struct dot d = dot_of(f, layer);
        const char *name;

        if (!is_drawn(layer) || layer->share < NAMED_MIN)
            continue;
        n++;
        name = as_name_fit(&arena, layer->brief, NAME_WIDTH, "...");
        if (name)
            (void)as_svg_label_dot(&f->labels, f->svg, d.x, d.y, d.radius, 10, name);
    }
    as_arena_fini(&arena);
}

int as_roofline_svg(const struct as_profile *profile, struct as_out *out, struct assay_error *err)
{
    struct plot plot;
    struct as_svg svg;
    struct as_svg_frame frame = {.x = {.log = true, .from = 80, .to = 860},
                                 .y = {.log = true, .from = 500, .to = 50},
                                 .x_title = "arithmetic intensity, FLOP/byte",
                                 .y_title = "GFLOP/s",
                                 .x_unit = "",
                                 .y_unit = ""};
    struct figure figure = {.plot = &plot, .svg = &svg, .frame = &frame};
    char title[200];

    if (!fit(&plot, profile))
        return as_fail(
            err, ASSAY_ERR_UNSUPPORTED,
            "no roofline: the peaks of the machine or the costs of all layers are unknown");
    (void)snprintf(title, sizeof title, "Roofline of %.120s, each layer a dot",
                   profile->data->model.path);
    as_svg_begin(&svg, out, 900, 560, title);
    as_svg_axis_fit(&frame.x, plot.x_low, plot.x_high);
    as_svg_axis_fit(&frame.y, plot.y_low / GIGA, plot.y_high / GIGA);
    as_svg_frame(&svg, &frame);
    figure.labels.frame = (struct as_svg_box){frame.x.from, frame.y.to, frame.x.to, frame.y.from};
    svg_roofs(&figure);
    svg_layers(&figure);
    svg_roof_names(&figure);
    svg_layer_names(&figure);
    as_svg_end(&svg);
    return ASSAY_OK;
}
