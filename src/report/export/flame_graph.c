/* report/export/flame_graph.c - stacks as a flame graph in one SVG file, without scripts. */
#include "report/export/flame_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "base/vec.h"
#include "report/page/svg.h"

#define WIDTH      1200.0
#define MARGIN     10.0
#define ROW        17.0
#define HEAD       56.0
#define FOOT       30.0
#define FONT       11.0
#define LETTER     6.62 /* pixels of one, of a fixed width at that size */
#define MAX_ROWS   200u
#define MORE_ROWS  12u  /* above the last frame with a label: towers of narrow ones say little */
#define FEWEST     6u   /* letters of a label that say something */
#define LABELED    46.0 /* pixels of one */
#define NARROWEST  0.4  /* pixels */
#define LABEL_TEXT 600
#define TIP_TEXT   2600
#define MAX_NODES  1000000u

/* ---- the tree ---- */

struct edge {
    uint32_t node, name;
};

static bool start(struct as_flame *f)
{
    if (f->n)
        return true;
    if (!AS_VEC_RESERVE(f->node, f->n, f->capacity))
        return false;
    f->node[f->n++] = (struct as_flame_node){.name = UINT32_MAX};
    return true;
}

static bool add_node(struct as_flame *f, struct edge edge)
{
    struct edge *key = as_arena_alloc(&f->arena, sizeof *key);

    if (!key || !AS_VEC_RESERVE(f->node, f->n, f->capacity))
        return false;
    *key = edge;
    if (as_hash_map_put(&f->index, key, sizeof *key, f->n) < 0)
        return false;
    f->node[f->n++] = (struct as_flame_node){
        .name = edge.name, .parent = edge.node, .depth = f->node[edge.node].depth + 1};
    return true;
}

uint32_t as_flame_step(struct as_flame *flame, uint32_t node, uint32_t name)
{
    const struct edge edge = {node, name};
    const uint64_t *known;

    if (flame->nomem || !start(flame)) {
        flame->nomem = true;
        return 0;
    }
    if (node && flame->node[node].name == name) {
        flame->node[node].again = true;
        return node;
    }
    known = as_hash_map_find(&flame->index, &edge, sizeof edge);
    if (known)
        return (uint32_t)*known;
    if (flame->n >= MAX_NODES) /* what goes beyond is its caller's */
        return node;
    if (add_node(flame, edge))
        return (uint32_t)flame->n - 1;
    flame->nomem = true;
    return node;
}

void as_flame_add(struct as_flame *flame, uint32_t node, uint64_t weight)
{
    uint64_t *self;

    if (flame->nomem || !start(flame)) {
        flame->nomem = true;
        return;
    }
    self = &flame->node[node].self;
    if (__builtin_add_overflow(*self, weight, self))
        *self = UINT64_MAX;
}

void as_flame_fini(struct as_flame *flame)
{
    as_hash_map_fini(&flame->index);
    as_arena_fini(&flame->arena);
    as_free(flame->node);
    *flame = (struct as_flame){0};
}

/* A parent has a smaller number. */
static void sum_up(struct as_flame *f)
{
    for (size_t i = 0; i < f->n; i++)
        f->node[i].total = f->node[i].self;
    for (size_t i = f->n; i-- > 1;) {
        uint64_t *total = &f->node[f->node[i].parent].total;

        if (__builtin_add_overflow(*total, f->node[i].total, total))
            *total = UINT64_MAX;
    }
}

/* ---- places ---- */

/* A frame with its place: x in parts of the whole. */
struct place {
    uint32_t node;
    double from, width;
};

struct drawing {
    const struct as_flame *flame;
    const struct as_flame_name *name;
    const struct as_flame_title *title;
    struct place *place; /* by parent, widest first */
    double *left;        /* [node]: where its next child begins */
    double narrowest;
    uint32_t rows, most_rows;
    size_t n_hidden;
};

static int by_parent(const void *a, const void *b, void *user)
{
    const struct as_flame *flame = user;
    const struct as_flame_node *x = &flame->node[((const struct place *)a)->node];
    const struct as_flame_node *y = &flame->node[((const struct place *)b)->node];

    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Parents come first, so that each knows where its children begin. */
static void place_all(struct drawing *d)
{
    const struct as_flame *f = d->flame;
    double whole = f->node[0].total ? (double)f->node[0].total : 1;

    for (size_t i = 0; i < f->n; i++) {
        struct place *p = &d->place[i];
        const struct as_flame_node *n = &f->node[p->node];

        p->width = (double)n->total / whole;
        p->from = p->node ? d->left[n->parent] : 0;
        if (p->node)
            d->left[n->parent] += p->width;
        d->left[p->node] = p->from;
    }
}

static double pixels(const struct place *p)
{
    return p->width * (WIDTH - 2 * MARGIN);
}

static bool is_drawn(const struct drawing *d, const struct place *p)
{
    return pixels(p) >= d->narrowest && d->flame->node[p->node].depth < d->most_rows;
}

static void choose(struct drawing *d)
{
    uint32_t labeled = 0;

    d->rows = 1;
    d->n_hidden = 0;
    for (size_t i = 0; i < d->flame->n; i++)
        if (pixels(&d->place[i]) >= LABELED && d->flame->node[d->place[i].node].depth > labeled)
            labeled = d->flame->node[d->place[i].node].depth;
    if (labeled + MORE_ROWS < d->most_rows)
        d->most_rows = labeled + MORE_ROWS;
    for (size_t i = 0; i < d->flame->n; i++) {
        uint32_t depth = d->flame->node[d->place[i].node].depth;

        if (!is_drawn(d, &d->place[i]))
            d->n_hidden++;
        else if (depth + 1 > d->rows)
            d->rows = depth + 1;
    }
}

/* ---- drawing ---- */

/* Of warm colors one for each group. */
static const char *color_of(const struct as_flame_name *name)
{
    static const char *const color[] = {"#f4a582", "#fdb863", "#e9c46a", "#f6bd60",
                                        "#ee9b72", "#f2a65a", "#e8a598", "#dda15e",
                                        "#f7c59f", "#e5989b", "#ffb4a2", "#d4b483"};
    const char *text = name->group ? name->group : name->label;
    uint32_t hash = 2166136261u;

    if (name->pale)
        return "#dcdcdc";
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return color[(hash >> 8) % AS_COUNT_OF(color)];
}

/* What of the label has room; "" when that says nothing. */
static void fit_label(const char *label, double width, char out[LABEL_TEXT])
{
    size_t columns = width > 6 ? (size_t)((width - 6) / LETTER) : 0, size = strlen(label);
    struct as_utf8_cut cut;

    out[0] = '\0';
    if (columns < FEWEST)
        return;
    cut = as_utf8_cut(label, size, columns < 200 ? columns : 200, 1);
    if (cut.head == cut.tail)
        (void)snprintf(out, LABEL_TEXT, "%s", label);
    else
        (void)snprintf(out, LABEL_TEXT, "%.*s\xe2\x80\xa6%s", (int)cut.head, label,
                       label + cut.tail);
}

static void put_tip(const struct drawing *d, const struct as_flame_node *n, char out[TIP_TEXT])
{
    char total[AS_TEXT_HUMAN], self[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN];
    double whole = (double)d->flame->node[0].total;

    d->title->text(total, (double)n->total);
    d->title->text(self, (double)n->self);
    as_text_percent(share, (double)n->total / whole);
    (void)snprintf(out, TIP_TEXT, "%.2000s: %s (%s), itself %s%s",
                   n->name == UINT32_MAX ? "all" : d->name[n->name].tip, total, share, self,
                   n->again ? "; it calls itself" : "");
}

static void put_frame(const struct drawing *d, struct as_svg *svg, const struct place *p)
{
    static const struct as_flame_name all = {.label = "all", .pale = true};
    const struct as_flame_node *n = &d->flame->node[p->node];
    const struct as_flame_name *name = n->name == UINT32_MAX ? &all : &d->name[n->name];
    double x = MARGIN + p->from * (WIDTH - 2 * MARGIN), width = pixels(p);
    double y = HEAD + ROW * (double)(d->rows - 1 - n->depth);
    char label[LABEL_TEXT], tip[TIP_TEXT];

    fit_label(name->label, width, label);
    put_tip(d, n, tip);
    as_svg_tile(svg, &(struct as_svg_tile){.x = x,
                                           .y = y,
                                           .width = width > 1 ? width - 0.5 : width,
                                           .height = ROW - 1,
                                           .size = FONT,
                                           .color = color_of(name),
                                           .label = label,
                                           .tip = tip});
}

static void put_all(const struct drawing *d, struct as_out *out)
{
    double height = HEAD + ROW * d->rows + FOOT;
    struct as_svg svg;
    char note[200];
    int n;

    as_svg_begin(&svg, out, WIDTH, height, d->title->title);
    as_svg_text(&svg, 16, 44, AS_SVG_START, 12, d->title->subtitle);
    for (size_t i = 0; i < d->flame->n && d->flame->node[0].total; i++)
        if (is_drawn(d, &d->place[i]))
            put_frame(d, &svg, &d->place[i]);
    n = snprintf(note, sizeof note, "%s",
                 d->flame->node[0].total
                     ? "callers below, those they call above; the tip of a frame has its name"
                     : "nothing to draw: all stacks are empty");
    if (d->n_hidden && n > 0)
        (void)snprintf(note + n, sizeof note - (size_t)n,
                       "; %zu narrow or deep frames are not drawn", d->n_hidden);
    as_svg_text(&svg, 16, height - 10, AS_SVG_START, 11, note);
    as_svg_end(&svg);
}

/* Draws with wider and wider frames, and more and more rows, left out until the picture has room.
 */
static int draw(struct drawing *d, struct as_out *out, struct assay_error *err)
{
    uint64_t most = d->title->max_bytes;
    uint32_t rows = MAX_ROWS;

    for (d->narrowest = NARROWEST; d->narrowest < WIDTH; d->narrowest *= 2, rows -= rows / 3) {
        struct as_out picture;
        const char *text;
        size_t size;
        int rc = as_out_memory(&picture, err);

        if (rc < 0)
            return rc;
        d->most_rows = rows;
        choose(d);
        put_all(d, &picture);
        text = as_out_get(&picture, &size);
        if (!as_out_ok(&picture))
            rc = as_fail_nomem(err);
        else if (!most || size <= most)
            as_out_put(out, text, size);
        else
            rc = 1;
        as_out_drop(&picture);
        if (rc <= 0)
            return rc;
    }
    return as_fail(err, ASSAY_ERR_LIMIT, "the picture does not fit into %llu bytes",
                   (unsigned long long)most);
}

int as_flame_draw(struct as_flame *flame, const struct as_flame_name *name,
                  const struct as_flame_title *title, struct as_out *out, struct assay_error *err)
{
    struct drawing d = {.flame = flame, .name = name, .title = title};
    int rc;

    if (flame->nomem || !start(flame))
        return as_fail_nomem(err);
    sum_up(flame);
    d.place = as_alloc_zero(flame->n, sizeof *d.place);
    d.left = as_alloc_zero(flame->n, sizeof *d.left);
    rc = d.place && d.left ? ASSAY_OK : as_fail_nomem(err);
    for (size_t i = 0; rc == ASSAY_OK && i < flame->n; i++)
        d.place[i].node = (uint32_t)i;
    if (rc == ASSAY_OK) {
        qsort_r(d.place, flame->n, sizeof *d.place, by_parent, flame);
        place_all(&d);
        rc = draw(&d, out, err);
    }
    as_free(d.place);
    as_free(d.left);
    return rc;
}
