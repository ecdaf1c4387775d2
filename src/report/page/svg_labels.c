/* report/page/svg_labels.c - labels in a figure that do not lie on each other, on dots or on lines.
 * How wide a text is depends on the font of whoever looks at it: the estimate is generous. */
#include "report/page/svg_labels.h"

#include <math.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/units.h"

#define WIDTH_OF_SIZE   0.62 /* a character's width, in font sizes */
#define ASCENT_OF_SIZE  0.8
#define DESCENT_OF_SIZE 0.25
#define FAR             22 /* pixels from a dot to a label with a leader */

void as_svg_avoid_box(struct as_svg_labels *labels, struct as_svg_box box)
{
    if (labels->n_boxes < AS_SVG_OBSTACLES)
        labels->boxes[labels->n_boxes++] = box;
}

void as_svg_avoid_line(struct as_svg_labels *labels, double x1, double y1, double x2, double y2)
{
    size_t n = labels->n_lines;

    if (n == AS_COUNT_OF(labels->lines))
        return;
    labels->lines[n].x1 = x1;
    labels->lines[n].y1 = y1;
    labels->lines[n].x2 = x2;
    labels->lines[n].y2 = y2;
    labels->n_lines++;
}

void as_svg_avoid_slanted(struct as_svg_labels *labels, double x, double y, double rise,
                          double size, const char *text)
{
    double steep = hypot(1, rise), step = size / steep;
    double length = (double)as_utf8_width(text, strlen(text)) * size * WIDTH_OF_SIZE / steep;

    for (size_t i = 0; (double)i * step < length; i++) {
        double at = (double)i * step;

        as_svg_avoid_box(labels, (struct as_svg_box){x + at - size, y - at * rise - size,
                                                     x + at + step, y - at * rise + size / 2});
    }
}

static struct as_svg_box box_of(const struct as_svg_spot *spot, double size, const char *text)
{
    double width = (double)as_utf8_width(text, strlen(text)) * size * WIDTH_OF_SIZE;
    double left = spot->anchor == AS_SVG_START ? spot->x
                  : spot->anchor == AS_SVG_END ? spot->x - width
                                               : spot->x - width / 2;

    return (struct as_svg_box){left, spot->y - size * ASCENT_OF_SIZE, left + width,
                               spot->y + size * DESCENT_OF_SIZE};
}

static bool overlap(const struct as_svg_box *a, const struct as_svg_box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Whether a part of the line lies in the box: what is left of it between the sides, by Liang and
 * Barsky. */
static bool crosses(const struct as_svg_box *box, double x1, double y1, double x2, double y2)
{
    double dx = x2 - x1, dy = y2 - y1, from = 0, to = 1;
    const double p[4] = {-dx, dx, -dy, dy};
    const double q[4] = {x1 - box->left, box->right - x1, y1 - box->top, box->bottom - y1};

    for (int i = 0; i < 4; i++) {
        if (p[i] == 0 && q[i] < 0)
            return false;
        if (p[i] < 0)
            from = fmax(from, q[i] / p[i]);
        else if (p[i] > 0)
            to = fmin(to, q[i] / p[i]);
    }
    return from < to;
}

static bool is_free(const struct as_svg_labels *labels, const struct as_svg_box *box)
{
    const struct as_svg_box *frame = &labels->frame;

    if (box->left < frame->left || box->right > frame->right || box->top < frame->top ||
        box->bottom > frame->bottom)
        return false;
    for (size_t i = 0; i < labels->n_boxes; i++)
        if (overlap(box, &labels->boxes[i]))
            return false;
    for (size_t i = 0; i < labels->n_lines; i++)
        if (crosses(box, labels->lines[i].x1, labels->lines[i].y1, labels->lines[i].x2,
                    labels->lines[i].y2))
            return false;
    return true;
}

bool as_svg_label_at(struct as_svg_labels *labels, struct as_svg *svg,
                     const struct as_svg_spot *spots, size_t n, double size, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        struct as_svg_box box = box_of(&spots[i], size, text);

        if (!is_free(labels, &box))
            continue;
        as_svg_text(svg, spots[i].x, spots[i].y, spots[i].anchor, size, text);
        as_svg_avoid_box(labels, box);
        return true;
    }
    return false;
}

/* Eight directions, the usual ones first; 0.7 is on the diagonal. */
static const struct {
    double x, y;
    enum as_svg_anchor anchor;
} around[] = {
    {1, 0, AS_SVG_START},     {-1, 0, AS_SVG_END},      {0.7, -0.7, AS_SVG_START},
    {0.7, 0.7, AS_SVG_START}, {-0.7, -0.7, AS_SVG_END}, {-0.7, 0.7, AS_SVG_END},
    {0, -1, AS_SVG_MIDDLE},   {0, 1, AS_SVG_MIDDLE},
};

/* A line may leave its own dot, and must not run over any other label or dot. */
static bool leader_is_free(const struct as_svg_labels *labels, double x, double y, double radius,
                           double to_x, double to_y)
{
    double length = hypot(to_x - x, to_y - y), from = (radius + 1) / length;

    for (size_t i = 0; i < labels->n_boxes; i++)
        if (crosses(&labels->boxes[i], x + from * (to_x - x), y + from * (to_y - y), to_x, to_y) &&
            !(labels->boxes[i].left <= x && x <= labels->boxes[i].right &&
              labels->boxes[i].top <= y && y <= labels->boxes[i].bottom))
            return false;
    return true;
}

bool as_svg_label_dot(struct as_svg_labels *labels, struct as_svg *svg, double x, double y,
                      double radius, double size, const char *text)
{
    double middle = size * (ASCENT_OF_SIZE - DESCENT_OF_SIZE) / 2;

    for (int step = 0; step < 3; step++)
        for (size_t i = 0; i < AS_COUNT_OF(around); i++) {
            double away = radius + 3 + step * FAR;
            double to_x = x + around[i].x * away, to_y = y + around[i].y * away;
            double lift = around[i].x == 0 ? around[i].y * size / 2 : 0;
            struct as_svg_spot spot = {to_x, to_y + middle + lift, around[i].anchor};

            if (step > 0 && !leader_is_free(labels, x, y, radius, to_x, to_y))
                continue;
            if (!as_svg_label_at(labels, svg, &spot, 1, size, text))
                continue;
            if (step > 0) {
                as_svg_line(svg, x + around[i].x * radius, y + around[i].y * radius,
                            to_x - around[i].x * 2, to_y - around[i].y * 2, "#888888", 0.8);
                as_svg_avoid_line(labels, x, y, to_x, to_y);
            }
            return true;
        }
    return false;
}
