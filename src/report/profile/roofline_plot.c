/* report/profile/roofline_plot.c - layers under the measured roofline, on a terminal and as SVG. */
#include "report/profile/roofline_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/page/svg.h"

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

static void svg_roofs(const struct plot *plot, struct as_svg *svg, const struct as_svg_frame *frame)
{
    static const struct {
        enum as_peak_level level;
        const char *name;
    } roofs[] = {
        {AS_PEAK_L1, "L1"}, {AS_PEAK_L2, "L2"}, {AS_PEAK_L3, "L3"}, {AS_PEAK_DRAM, "DRAM"}};
    char text[AS_TEXT_HUMAN + 32], rate[AS_TEXT_HUMAN];

    for (size_t i = 0; i < AS_COUNT_OF(roofs); i++) {
        double rate_bytes =
            as_peak_bandwidth(plot->p->peaks, roofs[i].level, plot->p->data->threads);
        double ridge = plot->peak / rate_bytes,
               from = fmax(frame->x.low, frame->y.low * GIGA / rate_bytes);
        double to = fmin(ridge, frame->x.high);

        if (!isfinite(rate_bytes) || !(rate_bytes > 0) || from >= to)
            continue;
        as_svg_line(svg, as_svg_at(&frame->x, from), as_svg_at(&frame->y, from * rate_bytes / GIGA),
                    as_svg_at(&frame->x, to), as_svg_at(&frame->y, to * rate_bytes / GIGA),
                    as_svg_color(i + 1), 1.5);
        as_text_si(rate, rate_bytes, "B/s");
        (void)snprintf(text, sizeof text, "%s %s", roofs[i].name, rate);
        as_svg_text(svg, as_svg_at(&frame->x, from) + 4,
                    as_svg_at(&frame->y, from * rate_bytes / GIGA) - 6 - 12 * (double)(i % 2),
                    AS_SVG_START, 11, text);
    }
    as_svg_line(svg, as_svg_at(&frame->x, frame->x.low), as_svg_at(&frame->y, plot->peak / GIGA),
                as_svg_at(&frame->x, frame->x.high), as_svg_at(&frame->y, plot->peak / GIGA),
                as_svg_color(0), 2);
    as_text_si(rate, plot->peak, "FLOP/s");
    (void)snprintf(text, sizeof text, "f32 peak %s, %u thread%s", rate, plot->p->data->threads,
                   plot->p->data->threads == 1 ? "" : "s");
    as_svg_text(svg, as_svg_at(&frame->x, frame->x.high) - 4,
                as_svg_at(&frame->y, plot->peak / GIGA) - 6, AS_SVG_END, 11, text);
}

static void svg_layers(const struct plot *plot, struct as_svg *svg,
                       const struct as_svg_frame *frame)
{
    const struct as_profile *p = plot->p;
    char tip[400], share[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN], roof[AS_TEXT_HUMAN];
    size_t n_named = 0;

    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[p->by_time[i]];
        double x, y;

        if (!is_drawn(layer))
            continue;
        x = as_svg_at(&frame->x, layer->roof.intensity);
        y = as_svg_at(&frame->y, layer->roof.achieved / GIGA);
        as_text_percent(share, layer->share);
        as_text_percent(roof, layer->roof.roof_fraction);
        as_text_si(rate, layer->roof.achieved, "FLOP/s");
        (void)snprintf(tip, sizeof tip, "%.120s (%.40s): %s of the time, %s, %s of roofline",
                       layer->step->name, layer->step->op, share, rate, roof);
        as_svg_dot(svg, x, y, 3 + 14 * sqrt(layer->share), as_svg_color(5), 0.55, tip);
        if (n_named++ < 3)
            as_svg_text(svg, x + 8, y + (n_named % 2 ? -8 : 16), AS_SVG_START, 10,
                        layer->step->name);
    }
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
    svg_roofs(&plot, &svg, &frame);
    svg_layers(&plot, &svg, &frame);
    as_svg_end(&svg);
    return ASSAY_OK;
}
