/* report/page/svg_labels.h - labels in a figure that do not lie on each other, on dots or on lines.
 * What cannot be placed is left out: dots have tips that name them. */
#ifndef AS_REPORT_PAGE_SVG_LABELS_H
#define AS_REPORT_PAGE_SVG_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/page/svg.h"

enum { AS_SVG_OBSTACLES = 640 };

struct as_svg_box {
    double left, top, right, bottom;
};

/* Where labels may stand, and what is there already. What is beyond the capacity is not avoided. */
struct as_svg_labels {
    struct as_svg_box frame;
    struct as_svg_box boxes[AS_SVG_OBSTACLES]; /* labels and dots */
    size_t n_boxes;
    struct {
        double x1, y1, x2, y2;
    } lines[32];
    size_t n_lines;
};

struct as_svg_spot {
    double x, y;
    enum as_svg_anchor anchor;
};

void as_svg_avoid_box(struct as_svg_labels *labels, struct as_svg_box box);
void as_svg_avoid_line(struct as_svg_labels *labels, double x1, double y1, double x2, double y2);

/* Keeps others off a text that begins at a point and rises by so much per pixel to the right. */
void as_svg_avoid_slanted(struct as_svg_labels *labels, double x, double y, double rise,
                          double size, const char *text);

/* Draws the text at the first spot where it is free, and keeps that free; false: there is none. */
bool as_svg_label_at(struct as_svg_labels *labels, struct as_svg *svg,
                     const struct as_svg_spot *spots, size_t n, double size, const char *text);

/* The same beside a dot: right, left, above or below it, and then further off, joined to it by a
 * thin line. The dot must have been avoided already. */
bool as_svg_label_dot(struct as_svg_labels *labels, struct as_svg *svg, double x, double y,
                      double radius, double size, const char *text);

#endif
