/* report/page/svg.c - figures as SVG: a frame with axes, and what is drawn in it in the data's own
 * units. */
#include "report/page/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/text/utf8.h"
#include "base/units.h"

#define INK  "#222"
#define PALE "#e3e3e3"

/* ---- escaping ---- */

static void put_char(struct as_out *out, char c)
{
    if (c == '<')
        as_out_text(out, "&lt;");
    else if (c == '>')
        as_out_text(out, "&gt;");
    else if (c == '&')
        as_out_text(out, "&amp;");
    else if (c == '"')
        as_out_text(out, "&quot;");
    else
        as_out_char(out, c);
}

/* XML has no controls, not even as references: they are made readable first. */
static void put_escaped(struct as_out *out, const char *text)
{
    size_t size = strlen(text), n;
    const char *piece;
    char escaped[12];

    for (size_t at = 0; at < size;) {
        at += as_utf8_next_safe(text + at, size - at, escaped, &piece, &n);
        for (size_t i = 0; i < n; i++)
            put_char(out, piece[i]);
    }
}

/* At most two decimals, whatever the locale. */
static void put_number(struct as_out *out, double value)
{
    char text[AS_TEXT_FLOAT];

    as_text_fixed(text, isfinite(value) ? value : 0, 2);
    as_out_text(out, text);
}

static void put_attribute(struct as_out *out, const char *name, double value)
{
    as_out_char(out, ' ');
    as_out_text(out, name);
    as_out_text(out, "=\"");
    put_number(out, value);
    as_out_char(out, '"');
}

/* ---- shapes ---- */

void as_svg_begin(struct as_svg *svg, struct as_out *out, double width, double height,
                  const char *title)
{
    *svg = (struct as_svg){.out = out, .width = width, .height = height};
    as_out_text(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"");
    put_attribute(out, "width", width);
    put_attribute(out, "height", height);
    as_out_text(out, " viewBox=\"0 0 ");
    put_number(out, width);
    as_out_char(out, ' ');
    put_number(out, height);
    as_out_text(out, "\" font-family=\"system-ui, sans-serif\" fill=\"" INK "\">\n<title>");
    put_escaped(out, title);
    as_out_text(out, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    as_svg_text(svg, 16, 24, AS_SVG_START, 15, title);
}

void as_svg_end(struct as_svg *svg)
{
    as_out_text(svg->out, "</svg>\n");
}

static void put_text(struct as_svg *svg, double x, double y, const char *attributes, double size,
                     const char *text)
{
    as_out_text(svg->out, "<text");
    put_attribute(svg->out, "x", x);
    put_attribute(svg->out, "y", y);
    put_attribute(svg->out, "font-size", size);
    as_out_text(svg->out, attributes);
    as_out_char(svg->out, '>');
    put_escaped(svg->out, text);
    as_out_text(svg->out, "</text>\n");
}

void as_svg_text(struct as_svg *svg, double x, double y, enum as_svg_anchor anchor, double size,
                 const char *text)
{
    static const char *const anchors[] = {
        [AS_SVG_START] = "",
        [AS_SVG_MIDDLE] = " text-anchor=\"middle\"",
        [AS_SVG_END] = " text-anchor=\"end\"",
    };

    put_text(svg, x, y, anchors[anchor], size, text);
}

void as_svg_tile(struct as_svg *svg, const struct as_svg_tile *tile)
{
    struct as_out *out = svg->out;

    as_out_text(out, "<g><title>");
    put_escaped(out, tile->tip);
    as_out_text(out, "</title><rect");
    put_attribute(out, "x", tile->x);
    put_attribute(out, "y", tile->y);
    put_attribute(out, "width", tile->width);
    put_attribute(out, "height", tile->height);
    as_out_text(out, " fill=\"");
    as_out_text(out, tile->color);
    as_out_text(out, "\"/>\n");
    if (tile->label[0])
        put_text(svg, tile->x + 3, tile->y + tile->height / 2 + tile->size * 0.36,
                 " font-family=\"monospace\"", tile->size, tile->label);
    as_out_text(out, "</g>\n");
}

static void put_rotated(struct as_svg *svg, double x, double y, const char *anchor, double degrees,
                        double size, const char *text)
{
    char attributes[160], at_x[AS_TEXT_FLOAT], at_y[AS_TEXT_FLOAT], angle[AS_TEXT_FLOAT];

    as_text_fixed(at_x, x, 2);
    as_text_fixed(at_y, y, 2);
    as_text_fixed(angle, degrees, degrees == floor(degrees) ? 0 : 2);
    (void)snprintf(attributes, sizeof attributes, "%s transform=\"rotate(%s %s %s)\"", anchor,
                   angle, at_x, at_y);
    put_text(svg, x, y, attributes, size, text);
}

void as_svg_text_up(struct as_svg *svg, double x, double y, double size, const char *text)
{
    put_rotated(svg, x, y, " text-anchor=\"middle\"", -90, size, text);
}

void as_svg_text_along(struct as_svg *svg, double x, double y, double degrees, double size,
                       const char *text)
{
    put_rotated(svg, x, y, "", degrees, size, text);
}

void as_svg_line(struct as_svg *svg, double x1, double y1, double x2, double y2, const char *color,
                 double width)
{
    as_out_text(svg->out, "<line");
    put_attribute(svg->out, "x1", x1);
    put_attribute(svg->out, "y1", y1);
    put_attribute(svg->out, "x2", x2);
    put_attribute(svg->out, "y2", y2);
    put_attribute(svg->out, "stroke-width", width);
    as_out_text(svg->out, " stroke=\"");
    as_out_text(svg->out, color);
    as_out_text(svg->out, "\"/>\n");
}

void as_svg_rect(struct as_svg *svg, double x, double y, double width, double height,
                 const char *color, double opacity)
{
    as_out_text(svg->out, "<rect");
    put_attribute(svg->out, "x", x);
    put_attribute(svg->out, "y", y);
    put_attribute(svg->out, "width", width > 0 ? width : 0);
    put_attribute(svg->out, "height", height > 0 ? height : 0);
    put_attribute(svg->out, "fill-opacity", opacity);
    as_out_text(svg->out, " fill=\"");
    as_out_text(svg->out, color);
    as_out_text(svg->out, "\"/>\n");
}

void as_svg_dot(struct as_svg *svg, double x, double y, double radius, const char *color,
                double opacity, const char *tip)
{
    as_out_text(svg->out, "<circle");
    put_attribute(svg->out, "cx", x);
    put_attribute(svg->out, "cy", y);
    put_attribute(svg->out, "r", radius);
    put_attribute(svg->out, "fill-opacity", opacity);
    as_out_text(svg->out, " fill=\"");
    as_out_text(svg->out, color);
    if (!tip) {
        as_out_text(svg->out, "\"/>\n");
        return;
    }
    as_out_text(svg->out, "\"><title>");
    put_escaped(svg->out, tip);
    as_out_text(svg->out, "</title></circle>\n");
}

const char *as_svg_color(size_t i)
{
    static const char *const colors[] = {"#4d4d4d", "#0072b2", "#d55e00", "#009e73",
                                         "#cc79a7", "#e69f00", "#56b4e9", "#8c564b"};

    return colors[i % (AS_COUNT_OF(colors))];
}

/* ---- axes ---- */

void as_svg_axis_fit(struct as_svg_axis *axis, double low, double high)
{
    double capacity;

    if (axis->log) {
        capacity = high > low ? 0.04 * log(high / low) : log(1.5);
        axis->low = low * exp(-capacity);
        axis->high = high * exp(capacity);
        return;
    }
    capacity = high > low ? 0.06 * (high - low) : (low != 0 ? 0.5 * fabs(low) : 1);
    axis->low = low - capacity;
    axis->high = high + capacity;
}

double as_svg_at(const struct as_svg_axis *axis, double value)
{
    double share = axis->log ? log(value / axis->low) / log(axis->high / axis->low)
                             : (value - axis->low) / (axis->high - axis->low);

    return axis->from + share * (axis->to - axis->from);
}

/* The least step of 1, 2 or 5 times a power of ten that gives no more than `most` of them. */
static double tick_step(double range, double most)
{
    double step = pow(10, floor(log10(range / most)));

    if (range / step <= most)
        return step;
    if (range / step <= 2 * most)
        return step * 2;
    return range / step <= 5 * most ? step * 5 : step * 10;
}

static void tick_text(char out[AS_TEXT_HUMAN], double value, const char *unit)
{
    if (unit && strcmp(unit, "ns") == 0) {
        static const struct {
            double ns;
            const char *name;
        } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
        size_t i = 0;

        while (i < 3 && value < units[i].ns * 0.9999)
            i++;
        (void)snprintf(out, AS_TEXT_HUMAN, "%g %s", value / units[i].ns, units[i].name);
    } else if (unit && strcmp(unit, "%") == 0) {
        (void)snprintf(out, AS_TEXT_HUMAN, "%.4g %%", value * 100);
    } else {
        bool kilo = fabs(value) >= 1e4 && fabs(value) < 1e6, mega = fabs(value) >= 1e6;

        (void)snprintf(out, AS_TEXT_HUMAN, "%.4g%s",
                       value / (mega   ? 1e6
                                : kilo ? 1e3
                                       : 1),
                       mega   ? " M"
                       : kilo ? " k"
                              : "");
    }
    for (char *c = strchr(out, ','); c; c = strchr(c, ',')) /* whatever the locale has */
        *c = '.';
}

typedef void (*each_tick)(struct as_svg *svg, const struct as_svg_frame *frame, double value);

static void walk_ticks(struct as_svg *svg, const struct as_svg_frame *frame,
                       const struct as_svg_axis *axis, each_tick put)
{
    static const double parts[] = {1, 2, 5, 1.5, 3, 4, 7};
    double ratio = axis->high / axis->low, capacity = axis == &frame->x ? 70 : 35, step;
    size_t n = ratio < 12 ? 7 : ratio < 300 ? 3 : 1; /* of the parts above */

    if (!axis->log) {
        step = tick_step(axis->high - axis->low, fabs(axis->to - axis->from) / capacity);
        for (long i = lround(ceil(axis->low / step)); (double)i * step <= axis->high; i++)
            put(svg, frame, (double)i * step);
        return;
    }
    for (long tens = lround(floor(log10(axis->low))); pow(10, (double)tens) <= axis->high; tens++)
        for (size_t k = 0; k < n; k++) {
            double value = pow(10, (double)tens) * parts[k];

            if (value >= axis->low && value <= axis->high)
                put(svg, frame, value);
        }
}

static void put_x_tick(struct as_svg *svg, const struct as_svg_frame *f, double value)
{
    double x = as_svg_at(&f->x, value);
    char text[AS_TEXT_HUMAN];

    tick_text(text, value, f->x_unit);
    as_svg_line(svg, x, f->y.from, x, f->y.to, PALE, 1);
    as_svg_text(svg, x, f->y.from + 15, AS_SVG_MIDDLE, 11, text);
}

static void put_y_tick(struct as_svg *svg, const struct as_svg_frame *f, double value)
{
    double y = as_svg_at(&f->y, value);
    char text[AS_TEXT_HUMAN];

    tick_text(text, value, f->y_unit);
    as_svg_line(svg, f->x.from, y, f->x.to, y, PALE, 1);
    as_svg_text(svg, f->x.from - 6, y + 4, AS_SVG_END, 11, text);
}

void as_svg_frame(struct as_svg *svg, const struct as_svg_frame *f)
{
    double middle_x = (f->x.from + f->x.to) / 2, middle_y = (f->y.from + f->y.to) / 2;

    walk_ticks(svg, f, &f->x, put_x_tick);
    if (!f->no_y)
        walk_ticks(svg, f, &f->y, put_y_tick);
    as_svg_line(svg, f->x.from, f->y.from, f->x.to, f->y.from, INK, 1);
    as_svg_line(svg, f->x.from, f->y.from, f->x.from, f->y.to, INK, 1);
    if (f->x_title)
        as_svg_text(svg, middle_x, f->y.from + 34, AS_SVG_MIDDLE, 12, f->x_title);
    if (f->y_title)
        as_svg_text_up(svg, f->x.from - 52, middle_y, 12, f->y_title);
}
