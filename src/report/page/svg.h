/* report/page/svg.h - figures as SVG: a frame with axes, and what is drawn in it in the data's own
 * units. One file needs nothing else: no script, no font, no style sheet from anywhere. */
#ifndef AS_REPORT_PAGE_SVG_H
#define AS_REPORT_PAGE_SVG_H

#include "base/output.h"

struct as_svg {
    struct as_out *out; /* the caller's */
    double width, height;
};

/* Begins the figure; `title` is shown, and read out by those who cannot see it. */
void as_svg_begin(struct as_svg *svg, struct as_out *out, double width, double height,
                  const char *title);
void as_svg_end(struct as_svg *svg);

/* Below: pixels from the left and the top. Text is escaped. */
enum as_svg_anchor { AS_SVG_START, AS_SVG_MIDDLE, AS_SVG_END };
void as_svg_text(struct as_svg *svg, double x, double y, enum as_svg_anchor anchor, double size,
                 const char *text);
void as_svg_text_up(struct as_svg *svg, double x, double y, double size, const char *text);
/* Rotated about its beginning, clockwise. */
void as_svg_text_along(struct as_svg *svg, double x, double y, double degrees, double size,
                       const char *text);
void as_svg_line(struct as_svg *svg, double x1, double y1, double x2, double y2, const char *color,
                 double width);
void as_svg_rect(struct as_svg *svg, double x, double y, double width, double height,
                 const char *color, double opacity);
void as_svg_dot(struct as_svg *svg, double x, double y, double radius, const char *color,
                double opacity, const char *tip);

/* A rectangle with a text in it, in letters of one width, and a tip. */
struct as_svg_tile {
    double x, y, width, height;
    double size; /* of the text */
    const char *color, *label, *tip;
};
void as_svg_tile(struct as_svg *svg, const struct as_svg_tile *tile);

/* A colour for the i-th thing; they repeat after some time. Told apart by most eyes. */
const char *as_svg_color(size_t i);

/* An axis: which numbers lie where. */
struct as_svg_axis {
    double low, high; /* of the data, set by as_svg_axis_fit() */
    bool log;
    double from, to; /* pixels */
};

/* Opens the axis a little beyond the data, `low` to `high`; a log axis needs both above 0. Equal
 * ends get room on both sides. */
void as_svg_axis_fit(struct as_svg_axis *axis, double low, double high);
double as_svg_at(const struct as_svg_axis *axis, double value);

struct as_svg_frame {
    struct as_svg_axis x, y;
    const char *x_title, *y_title;
    const char *x_unit, *y_unit; /* "ns" is written as times, "%" as percent of a share */
    bool no_y;                   /* rows with names of their own: no ticks at the left */
};

/* Grid lines, ticks with their numbers, titles. */
void as_svg_frame(struct as_svg *svg, const struct as_svg_frame *frame);

#endif
