/* report/export/export_folded.c - a run as folded stacks, the input of flame graphs: "thread;a;b
 * self_ns", one line a stack. Calls of the same stack are added up, lines are in the order of their
 * frames; memory holds the call tree alone. */
#include <stdlib.h>
#include <string.h>

#include "analyze/run/layer_collect.h"
#include "base/alloc.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "report/export/export_common.h"
#include "report/export/flame_graph.h"

/* A frame's name and its rank among all different names: sites of the same name are one frame. */
struct frame {
    const char *name;
    size_t size;
    uint32_t rank;
};

struct folded {
    struct as_export *x;
    struct frame *frame;   /* sites by their place, then threads */
    struct frame **ranked; /* [rank]: one of that name */
    struct as_call_tree tree;
    uint32_t *at; /* [depth]: node of the open span; [0] is the thread's */
    bool nomem;
};

/* One stack that may become a line. */
struct line {
    uint64_t self_ns;
    uint64_t size; /* of the line, its end included */
    uint32_t node; /* place in the ordered tree */
};

static const char *make_name(struct as_export *x, const char *text)
{
    char *name =
        as_utf8_safe(&x->arena, text[0] ? text : "(unnamed)", strlen(text[0] ? text : "(unnamed)"));

    if (!name)
        return NULL;
    for (char *c = strchr(name, ';'); c; c = strchr(c, ';'))
        *c = ':';
    return name;
}

static int by_name(const void *a, const void *b)
{
    const struct frame *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static int rank_names(struct folded *f, size_t n_sites, struct assay_error *err)
{
    struct as_export *x = f->x;
    size_t n = n_sites + x->n_threads;
    uint32_t rank = 0;

    f->frame = as_arena_zero(&x->arena, n, sizeof *f->frame);
    f->ranked = as_arena_zero(&x->arena, n, sizeof(struct frame *));
    if (!f->frame || !f->ranked)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const char *name =
            i < n_sites ? as_export_site(x, (uint32_t)i)->name : x->thread[i - n_sites].info->name;

        f->frame[i].name = make_name(x, name);
        if (!f->frame[i].name)
            return as_fail_nomem(err);
        f->frame[i].size = strlen(f->frame[i].name);
        f->ranked[i] = &f->frame[i];
    }
    qsort(f->ranked, n, sizeof(struct frame *), by_name);
    for (size_t i = 0; i < n; i++) {
        struct frame *here = f->ranked[i];

        if (i > 0 && strcmp(here->name, f->ranked[rank]->name) != 0)
            rank++;
        here->rank = rank;
        f->ranked[rank] = here;
    }
    return ASSAY_OK;
}

static uint32_t find_node(struct folded *f, uint32_t parent, const struct frame *frame)
{
    uint32_t node = as_call_tree_child(&f->tree, parent, frame->rank);

    if (node == UINT32_MAX) {
        f->nomem = true;
        return parent;
    }
    /* The tree orders siblings by this, largest first. */
    f->tree.node[node].inclusive_ns = UINT32_MAX - f->tree.node[node].site;
    return node;
}

static void on_begin(void *user, uint32_t site, uint32_t depth, uint64_t ns)
{
    struct folded *f = user;

    (void)ns;
    f->at[depth + 1] = find_node(f, f->at[depth], &f->frame[as_export_site_place(f->x, site)]);
}

static void on_end(void *user, const struct as_span *span)
{
    struct folded *f = user;

    f->tree.node[f->at[span->depth + 1]].self_ns += as_export_self_ns(span);
}

static int collect(struct folded *f, struct assay_error *err)
{
    const struct as_span_visitor visitor = {.user = f, .begin = on_begin, .end = on_end};
    size_t n_sites = (size_t)f->x->run->n_sites + 1;
    int rc = rank_names(f, n_sites, err);

    f->at = as_arena_zero(&f->x->arena, AS_RUN_MAX_DEPTH + 2, sizeof *f->at);
    if (rc == ASSAY_OK && !f->at)
        rc = as_fail_nomem(err);
    for (size_t i = 0; i < f->x->n_threads && rc == ASSAY_OK && !f->nomem; i++) {
        f->at[0] = find_node(f, 0, &f->frame[n_sites + i]);
        if (!f->nomem)
            rc = as_export_walk(f->x, &f->x->thread[i], &visitor, err);
    }
    return rc == ASSAY_OK && f->nomem ? as_fail_nomem(err) : rc;
}

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;

    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int by_node(const void *a, const void *b)
{
    const struct line *x = a, *y = b;

    return x->node < y->node ? -1 : x->node > y->node;
}

/* Keeps the lines with the most time that fit, in the order of the tree; returns how many. */
static size_t choose(struct as_export *x, struct line *line, size_t n)
{
    uint64_t left = x->options.max_bytes;
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        x->result.seen.stacks++;
        x->result.seen.stacks_ns += line[i].self_ns;
    }
    if (!left) {
        x->result.kept = x->result.seen;
        return n;
    }
    if (n)
        qsort(line, n, sizeof *line, by_time);
    for (; n_kept < n && line[n_kept].size <= left; n_kept++) {
        left -= line[n_kept].size;
        x->result.kept.stacks++;
        x->result.kept.stacks_ns += line[n_kept].self_ns;
    }
    if (n_kept)
        qsort(line, n_kept, sizeof *line, by_node);
    return n_kept;
}

static void put_line(struct folded *f, const struct as_tree_node *node, uint32_t i,
                     uint64_t self_ns)
{
    struct as_out *out = f->x->out;
    uint32_t depth = node[i].depth;
    char number[AS_TEXT_INT];
    size_t n = as_text_u64(number, self_ns);

    for (; i; i = node[i].parent) /* upwards, so that it can be read downwards */
        f->at[node[i].depth] = node[i].site;
    for (uint32_t d = 1; d <= depth; d++) {
        const struct frame *frame = f->ranked[f->at[d]];

        if (d > 1)
            as_out_char(out, ';');
        as_out_put(out, frame->name, frame->size);
    }
    as_out_char(out, ' ');
    as_out_put(out, number, n);
    as_out_char(out, '\n');
}

static int put_lines(struct folded *f, struct assay_error *err)
{
    struct as_tree_node *node;
    struct line *line;
    uint64_t *stack_size;
    size_t n_nodes, n = 0;
    int rc = as_call_tree_order(&f->tree, &f->x->arena, &node, &n_nodes, err);

    if (rc < 0)
        return rc;
    line = as_arena_zero(&f->x->arena, n_nodes + 1, sizeof *line);
    stack_size = as_arena_zero(&f->x->arena, n_nodes + 1, sizeof *stack_size);
    if (!line || !stack_size)
        return as_fail_nomem(err);
    for (uint32_t i = 1; i < n_nodes; i++) {
        char number[AS_TEXT_INT];

        stack_size[i] =
            stack_size[node[i].parent] + f->ranked[node[i].site]->size + 1; /* and ';' or ' ' */
        if (node[i].self_ns)
            line[n++] = (struct line){node[i].self_ns,
                                      stack_size[i] + as_text_u64(number, node[i].self_ns) + 1, i};
    }
    n = choose(f->x, line, n);
    for (size_t i = 0; i < n && as_out_ok(f->x->out); i++)
        put_line(f, node, line[i].node, line[i].self_ns);
    return ASSAY_OK;
}

int as_export_folded(struct as_export *x, struct assay_error *err)
{
    struct folded f = {.x = x};
    int rc = collect(&f, err);

    x->result.stacks_merged = f.tree.truncated;
    if (rc == ASSAY_OK)
        rc = put_lines(&f, err);
    as_call_tree_fini(&f.tree);
    return rc;
}

/* ---- the same as a picture ---- */

static size_t time_text(char *out, double weight)
{
    return as_text_ns(out, weight, AS_TIME_AUTO);
}

/* Nodes stand behind their parents. */
static int draw(struct folded *f, struct as_flame *flame, struct assay_error *err)
{
    struct as_export *x = f->x;
    size_t n_names = (size_t)x->run->n_sites + 1 + x->n_threads, n_nodes;
    struct as_flame_name *name = as_arena_zero(&x->arena, n_names, sizeof *name);
    struct as_tree_node *node;
    uint32_t *drawn;
    int rc = as_call_tree_order(&f->tree, &x->arena, &node, &n_nodes, err);

    if (rc < 0)
        return rc;
    drawn = as_arena_zero(&x->arena, n_nodes + 1, sizeof *drawn);
    if (!name || !drawn)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n_names && f->ranked[i]; i++)
        name[i] = (struct as_flame_name){.label = f->ranked[i]->name, .tip = f->ranked[i]->name};
    for (uint32_t i = 1; i < n_nodes; i++) {
        drawn[i] = as_flame_step(flame, drawn[node[i].parent], node[i].site);
        as_flame_add(flame, drawn[i], node[i].self_ns);
        x->result.seen.stacks += node[i].self_ns > 0;
        x->result.seen.stacks_ns += node[i].self_ns;
    }
    x->result.kept = x->result.seen;
    return as_flame_draw(flame, name,
                         &(struct as_flame_title){.title = "Time by span, without those inside it",
                                                  .subtitle = x->title,
                                                  .text = time_text,
                                                  .max_bytes = x->options.max_bytes},
                         x->out, err);
}

int as_export_flame_graph(struct as_export *x, struct assay_error *err)
{
    struct folded f = {.x = x};
    struct as_flame flame = {0};
    int rc = collect(&f, err);

    x->result.stacks_merged = f.tree.truncated;
    if (rc == ASSAY_OK)
        rc = draw(&f, &flame, err);
    as_flame_fini(&flame);
    as_call_tree_fini(&f.tree);
    return rc;
}
