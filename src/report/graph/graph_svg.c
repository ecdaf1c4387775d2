/* report/graph/graph_svg.c - the picture of a graph as SVG: boxes below each other in the order in
 * which they run, edges that skip boxes beside them, repeated blocks in brackets. */
#include "report/graph/graph_picture.h"

#include <stdio.h>
#include <string.h>

#include "report/page/svg.h"

enum {
    LEFT = 70,
    BOX_WIDTH = 520,
    BOX_HEIGHT = 34,
    STEP = 46,
    CAPTION = 20,
    TOP = 70,
    LANES = 10,
    LANE = 14,
    WIDTH = LEFT + BOX_WIDTH + 20 + LANES * LANE + 10,
    MAX_OPS = 50,
    MAX_CHARS = 60
};

/* Above the first box of a block is a line for what the block is. */
static double top_of(const struct as_picture *p, size_t box)
{
    size_t captions = 0;

    while (captions < p->n_blocks && p->blocks[captions].first <= box)
        captions++;
    return TOP + STEP * (double)box + CAPTION * (double)captions;
}

/* The end of a long name says more than its beginning. */
static void put_name(struct as_svg *svg, double x, double y, const char *text)
{
    size_t length = strlen(text);
    char cut[MAX_CHARS + 8];

    if (length <= MAX_CHARS) {
        as_svg_text(svg, x, y, AS_SVG_START, 10, text);
        return;
    }
    text += length - MAX_CHARS;
    while (((unsigned char)*text & 0xc0) == 0x80)
        text++; /* not in the middle of a character */
    (void)snprintf(cut, sizeof cut, "...%s", text);
    as_svg_text(svg, x, y, AS_SVG_START, 10, cut);
}

static void put_box(struct as_svg *svg, const struct as_picture *p, size_t i)
{
    const struct as_picture_box *box = &p->boxes[i];
    double y = top_of(p, i);
    char color[8], text[64], ops[MAX_OPS + 1];

    as_picture_color(p, box, color);
    as_picture_text(box, text);
    as_svg_rect(svg, LEFT - 1, y - 1, BOX_WIDTH + 2, BOX_HEIGHT + 2, "#999999", 1);
    as_svg_rect(svg, LEFT, y, BOX_WIDTH, BOX_HEIGHT, color, 1);
    (void)snprintf(ops, sizeof ops, "%.*s", MAX_OPS, box->ops);
    if (strlen(box->ops) > MAX_OPS)
        (void)snprintf(ops + MAX_OPS - 3, 4, "...");
    as_svg_text(svg, LEFT + 8, y + 14, AS_SVG_START, 12, ops);
    put_name(svg, LEFT + 8, y + 28, box->name);
    as_svg_text(svg, LEFT + BOX_WIDTH - 8, y + 21, AS_SVG_END, 12, text);
}

static void put_block(struct as_svg *svg, const struct as_picture *p,
                      const struct as_picture_block *b)
{
    double from = top_of(p, b->first) - 3, to = top_of(p, b->first + b->n - 1) + BOX_HEIGHT + 3;
    double x = LEFT - 14;
    char text[80];

    as_svg_line(svg, x, from, x, to, "#333333", 2);
    as_svg_line(svg, x, from, x + 8, from, "#333333", 2);
    as_svg_line(svg, x, to, x + 8, to, "#333333", 2);
    (void)snprintf(text, sizeof text, "×%zu", b->times);
    as_svg_text(svg, x - 8, (from + to) / 2 + 6, AS_SVG_END, 17, text);
    as_picture_block_text(b, text);
    as_svg_text(svg, LEFT + 70, from - 5, AS_SVG_START, 12, text);
}

static void put_arrow(struct as_svg *svg, double x, double y, double dx, double dy)
{
    as_svg_line(svg, x, y, x - 5 * dx - 3 * dy, y - 5 * dy - 3 * dx, "#777777", 1.2);
    as_svg_line(svg, x, y, x - 5 * dx + 3 * dy, y - 5 * dy + 3 * dx, "#777777", 1.2);
}

/* An edge over other boxes runs in the first lane beside them that is free; the last is shared. */
static void put_edge(struct as_svg *svg, const struct as_picture *p,
                     const struct as_picture_edge *e, size_t until[LANES])
{
    double right = LEFT + BOX_WIDTH, x, from = top_of(p, e->from) + BOX_HEIGHT - 8,
           to = top_of(p, e->to) + 8;
    size_t lane = 0;

    if (e->to == e->from + 1) {
        as_svg_line(svg, LEFT + 60, top_of(p, e->from) + BOX_HEIGHT, LEFT + 60, top_of(p, e->to),
                    "#777777", 1.2);
        put_arrow(svg, LEFT + 60, top_of(p, e->to), 0, 1);
        return;
    }
    while (lane + 1 < LANES && until[lane] > e->from)
        lane++;
    if (until[lane] < e->to)
        until[lane] = e->to;
    x = right + 14 + LANE * (double)lane;
    as_svg_line(svg, right, from, x, from, "#777777", 1.2);
    as_svg_line(svg, x, from, x, to, "#777777", 1.2);
    as_svg_line(svg, x, to, right, to, "#777777", 1.2);
    put_arrow(svg, right, to, -1, 0);
}

void as_picture_svg(const struct as_picture *p, struct as_out *out)
{
    size_t until[LANES] = {0};
    struct as_svg svg;
    char note[120];

    as_svg_begin(&svg, out, WIDTH, top_of(p, p->n_boxes) + 30, p->title);
    as_svg_text(
        &svg, LEFT, 46, AS_SVG_START, 11,
        "each box is an operator with its followers; darker boxes have more MACs; blocks that "
        "repeat are drawn once");
    /* Short edges first, so that they lie in the inner lanes; starts are in order. */
    for (size_t from = 0, i = 0; from < p->n_boxes; from++)
        for (i = 0; i < p->n_edges; i++)
            if (p->edges[i].from == from)
                put_edge(&svg, p, &p->edges[i], until);
    for (size_t i = 0; i < p->n_boxes; i++)
        put_box(&svg, p, i);
    for (size_t i = 0; i < p->n_blocks; i++)
        put_block(&svg, p, &p->blocks[i]);
    if (p->n_left_out) {
        (void)snprintf(note, sizeof note, "the last %zu boxes are omitted", p->n_left_out);
        as_svg_text(&svg, LEFT, top_of(p, p->n_boxes) + 10, AS_SVG_START, 12, note);
    }
    as_svg_end(&svg);
}
