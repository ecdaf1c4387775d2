/* report/graph/graph_picture.c - the graph of a model as a picture: boxes, repeated blocks, edges.
 *
 * Every operator with MACs begins a box. Any other joins the last box that it depends on, so that
 * edges between boxes only lead forward. Blocks whose boxes have the same operators in the same
 * order and follow each other are drawn once; where names have numbers, as in layer.3.conv, these
 * say what a block is. */
#include "report/graph/graph_picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

/* While it is made: all boxes, before blocks are taken together. */
struct making {
    struct as_picture *out;
    const struct as_model *model;
    const struct as_graph *graph;
    uint64_t *macs;      /* by node, those of its subgraphs included */
    bool *skipped;       /* by node: computed when the model is loaded, or never */
    uint32_t *box_of;    /* by value: the box that makes it; AS_NONE */
    uint64_t *signature; /* by box */
    uint32_t *latest;    /* by box: the last other box that it takes something from; AS_NONE */
    uint32_t *place;     /* by box: its number in the picture; AS_NONE: left out */
    size_t n;            /* boxes */
    struct as_picture_box *all;
    bool *joined; /* by pair of boxes of the picture */
    size_t edge_capacity;
};

static const struct as_node *outermost(const struct as_cost_row *row)
{
    const struct as_graph *graph = row->graph;
    const struct as_node *node = row->node;

    while (graph->parent) {
        node = graph->owner;
        graph = graph->parent;
    }
    return node;
}

static void count_macs(struct making *m, const struct as_costs *costs)
{
    for (size_t i = 0; i < costs->n_rows; i++) {
        const struct as_cost_row *row = &costs->rows[i];
        size_t at = (size_t)(outermost(row) - m->graph->nodes);
        uint64_t macs;

        if (__builtin_mul_overflow(row->forward.macs, row->times, &macs) ||
            __builtin_add_overflow(m->macs[at], macs, &m->macs[at]))
            m->macs[at] = UINT64_MAX;
        if (row->graph == m->graph && (row->constant || row->times == 0))
            m->skipped[at] = true;
    }
}

/* ---- boxes ---- */

static void add_op(struct as_picture_box *box, const char *op)
{
    size_t used = strlen(box->ops), size = strlen(op);
    const char *found = strstr(box->ops, op);
    bool again = found && (found[size] == '\0' || found[size] == '+') &&
                 (found == box->ops || found[-1] == '+');

    if (again || (used >= 3 && strcmp(box->ops + used - 3, "...") == 0))
        return;
    if (used + size + 6 > sizeof box->ops)
        (void)snprintf(box->ops + used, sizeof box->ops - used, "+...");
    else
        (void)snprintf(box->ops + used, sizeof box->ops - used, "%s%s", used ? "+" : "", op);
}

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (hash ^ 1) * UINT64_C(0x100000001b3);
}

static uint32_t last_producer(const struct making *m, const struct as_node *node)
{
    uint32_t last = AS_NONE;

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint32_t value = node->inputs[i];
        uint32_t box = value == AS_NONE ? AS_NONE : m->box_of[value];

        if (box != AS_NONE && (last == AS_NONE || box > last))
            last = box;
    }
    return last;
}

static void take_from(struct making *m, uint32_t box, const struct as_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint32_t from = node->inputs[i] == AS_NONE ? AS_NONE : m->box_of[node->inputs[i]];

        if (from != AS_NONE && from != box && (m->latest[box] == AS_NONE || from > m->latest[box]))
            m->latest[box] = from;
    }
}

static void put_nodes(struct making *m)
{
    for (uint32_t i = 0; i < m->graph->n_nodes; i++) {
        const struct as_node *node = &m->graph->nodes[i];
        uint32_t at = last_producer(m, node);
        struct as_picture_box *box;

        if (m->skipped[i])
            continue;
        if (at == AS_NONE || m->macs[i] > 0) {
            at = (uint32_t)m->n++;
            m->all[at].name = as_node_label(m->graph, node);
            m->signature[at] = UINT64_C(0xcbf29ce484222325);
        }
        take_from(m, at, node);
        box = &m->all[at];
        box->n_nodes++;
        if (__builtin_add_overflow(box->macs, m->macs[i], &box->macs))
            box->macs = UINT64_MAX;
        add_op(box, node->op_name);
        m->signature[at] = mix(m->signature[at], node->op_name);
        for (uint32_t k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] != AS_NONE)
                m->box_of[node->outputs[k]] = at;
    }
}

/* ---- blocks ---- */

/* The part of a name that numbers a block: "encoder.layer.3" of "encoder.layer.3.output.dense", up
 * to the first part that is a number. Empty where there is none. */
static size_t unit_size(const char *name)
{
    for (const char *at = name; *at;) {
        size_t size = strcspn(at, "./_"), digits = strspn(at, "0123456789");

        if (size > 0 && digits == size)
            return (size_t)(at - name) + size;
        at += size + (at[size] != '\0');
    }
    return 0;
}

/* Whether two boxes belong to the same numbered block. */
static bool same_unit(const struct making *m, size_t a, size_t b)
{
    size_t size = unit_size(m->all[a].name);

    return size > 0 && unit_size(m->all[b].name) == size &&
           strncmp(m->all[a].name, m->all[b].name, size) == 0;
}

/* Names with numbers say where blocks begin and end; without them any boxes may be one. */
static bool may_be_block(const struct making *m, size_t at, size_t period)
{
    if (unit_size(m->all[at].name) == 0)
        return true;
    return (at == 0 || !same_unit(m, at, at - 1)) && same_unit(m, at, at + period - 1) &&
           !same_unit(m, at, at + period);
}

/* Whether a box of the copy that begins at `at` takes something from the copy before it: boxes side
 * by side are no repetition. */
static bool is_chained(const struct making *m, size_t at, size_t period)
{
    for (size_t k = at; k < at + period; k++)
        if (m->latest[k] != AS_NONE && m->latest[k] >= at - period && m->latest[k] < at)
            return true;
    return false;
}

/* How often the `period` boxes from `at` on follow each other. */
static size_t copies(const struct making *m, size_t at, size_t period)
{
    bool units = unit_size(m->all[at].name) > 0;
    size_t n = 1;

    for (size_t next = at + period; next + period <= m->n; next += period, n++) {
        if (memcmp(&m->signature[next], &m->signature[at], period * sizeof *m->signature) != 0 ||
            !is_chained(m, next, period))
            break;
        if (units && (!same_unit(m, next, next + period - 1) ||
                      (next + period < m->n && same_unit(m, next, next + period))))
            break;
    }
    return n;
}

/* Keeps the period that takes most boxes together; of equal ones the shortest. */
static size_t find_block(const struct making *m, size_t at, size_t *times)
{
    size_t best = 1, gained = 0;

    *times = 1;
    for (size_t period = 1; period <= AS_PICTURE_PERIOD && at + 2 * period <= m->n; period++) {
        size_t n = copies(m, at, period), gain = (n - 1) * period;

        if (n > 1 && gain > gained && may_be_block(m, at, period)) {
            best = period;
            *times = n;
            gained = gain;
        }
    }
    return best;
}

static void keep_block(struct making *m, size_t at, size_t period, size_t times)
{
    struct as_picture *out = m->out;
    size_t first = out->n_boxes;

    for (size_t k = 0; k < period; k++) {
        struct as_picture_box *box = &out->boxes[first + k];

        *box = m->all[at + k];
        box->copies = times;
        for (size_t copy = 1; copy < times; copy++) {
            uint64_t more = m->all[at + copy * period + k].macs;

            if (__builtin_add_overflow(box->macs, more, &box->macs))
                box->macs = UINT64_MAX;
        }
        for (size_t copy = 0; copy < times; copy++)
            m->place[at + copy * period + k] = (uint32_t)(first + k);
    }
    out->n_boxes += period;
    if (times > 1)
        out->blocks[out->n_blocks++] = (struct as_picture_block){first, period, times, 0};
}

static void take_together(struct making *m)
{
    for (size_t at = 0; at < m->n;) {
        size_t times, period = find_block(m, at, &times);

        if (m->out->n_boxes + period > AS_PICTURE_BOXES) {
            m->out->n_left_out = m->n - at;
            return;
        }
        keep_block(m, at, period, times);
        at += period * times;
    }
}

/* ---- edges ---- */

static void add_edge(struct making *m, uint32_t from, uint32_t to)
{
    struct as_picture *out = m->out;

    if (from == AS_NONE || to == AS_NONE || from >= to)
        return; /* within a box, or to the next copy of a block */
    if (m->joined[(size_t)from * AS_PICTURE_BOXES + to])
        return;
    m->joined[(size_t)from * AS_PICTURE_BOXES + to] = true;
    if (out->n_edges < m->edge_capacity)
        out->edges[out->n_edges++] = (struct as_picture_edge){from, to};
}

static void put_edges(struct making *m)
{
    for (uint32_t i = 0; i < m->graph->n_nodes; i++) {
        const struct as_node *node = &m->graph->nodes[i];
        uint32_t to = AS_NONE;

        for (uint32_t k = 0; k < node->n_outputs && to == AS_NONE; k++)
            if (node->outputs[k] != AS_NONE)
                to = m->box_of[node->outputs[k]];
        for (uint32_t k = 0; to != AS_NONE && !m->skipped[i] && k < node->n_inputs; k++) {
            uint32_t value = node->inputs[k];
            uint32_t from = value == AS_NONE ? AS_NONE : m->box_of[value];

            if (from != AS_NONE)
                add_edge(m, m->place[from], m->place[to]);
        }
    }
}

static size_t count_inputs(const struct as_graph *graph)
{
    size_t n = 0;

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        n += graph->nodes[i].n_inputs;
    return n < (size_t)8 * AS_PICTURE_BOXES ? n : (size_t)8 * AS_PICTURE_BOXES;
}

static void share_macs(struct as_picture *out, uint64_t total)
{
    for (size_t i = 0; i < out->n_boxes; i++)
        out->boxes[i].share = total ? (double)out->boxes[i].macs / (double)total : AS_UNKNOWN;
    for (size_t i = 0; i < out->n_blocks; i++)
        for (size_t k = 0; k < out->blocks[i].n; k++)
            out->blocks[i].share += out->boxes[out->blocks[i].first + k].share;
}

static int reserve(struct making *m, struct as_arena *scratch, struct assay_error *err)
{
    struct as_picture *out = m->out;
    size_t nodes = (size_t)m->graph->n_nodes + 1;

    m->edge_capacity = count_inputs(m->graph);
    m->macs = as_arena_zero(scratch, nodes, sizeof *m->macs);
    m->skipped = as_arena_zero(scratch, nodes, sizeof *m->skipped);
    m->signature = as_arena_zero(scratch, nodes, sizeof *m->signature);
    m->place = as_arena_zero(scratch, nodes, sizeof *m->place);
    m->latest = as_arena_zero(scratch, nodes, sizeof *m->latest);
    m->all = as_arena_zero(scratch, nodes, sizeof *m->all);
    m->joined =
        as_arena_zero(scratch, (size_t)AS_PICTURE_BOXES * AS_PICTURE_BOXES, sizeof *m->joined);
    m->box_of = as_arena_zero(scratch, (size_t)m->model->n_values + 1, sizeof *m->box_of);
    out->boxes = as_arena_zero(&out->arena, AS_PICTURE_BOXES, sizeof *out->boxes);
    out->blocks = as_arena_zero(&out->arena, AS_PICTURE_BOXES, sizeof *out->blocks);
    out->edges = as_arena_zero(&out->arena, m->edge_capacity + 1, sizeof *out->edges);
    if (!m->macs || !m->skipped || !m->signature || !m->place || !m->latest || !m->all ||
        !m->box_of || !m->joined || !out->boxes || !out->blocks || !out->edges)
        return as_fail_nomem(err);
    memset(m->box_of, 0xff, ((size_t)m->model->n_values + 1) * sizeof *m->box_of);
    memset(m->place, 0xff, nodes * sizeof *m->place);
    memset(m->latest, 0xff, nodes * sizeof *m->latest);
    return ASSAY_OK;
}

int as_picture_init(struct as_picture *picture, const struct as_model *model,
                    const struct as_costs *costs, const char *title, struct assay_error *err)
{
    struct making m = {.out = picture, .model = model, .graph = model->main};
    struct as_arena scratch = {0};
    int rc;

    *picture = (struct as_picture){.title = title};
    if (!m.graph || m.graph->n_nodes == 0)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "the model has weights but no graph to draw");
    rc = reserve(&m, &scratch, err);
    if (rc == ASSAY_OK) {
        count_macs(&m, costs);
        put_nodes(&m);
        take_together(&m);
        put_edges(&m);
        share_macs(picture, costs->forward.macs);
    }
    as_arena_fini(&scratch);
    return rc;
}

void as_picture_fini(struct as_picture *picture)
{
    as_arena_fini(&picture->arena);
    *picture = (struct as_picture){0};
}

/* ---- looks ---- */

void as_picture_text(const struct as_picture_box *box, char out[64])
{
    char all[32] = "";

    if (box->copies > 1)
        (void)snprintf(all, sizeof all, "all %zu: ", box->copies);
    if (box->share >= 0.0005)
        (void)snprintf(out, 64, "%s%.1f %% of MACs", all, box->share * 100);
    else
        (void)snprintf(out, 64, "%zu node%s", box->n_nodes, box->n_nodes == 1 ? "" : "s");
}

void as_picture_block_text(const struct as_picture_block *block, char out[80])
{
    int size = snprintf(out, 80, "%zu × this block", block->times);

    if (block->share >= 0.0005)
        (void)snprintf(out + size, 80 - (size_t)size, ", %.1f %% of MACs together",
                       block->share * 100);
}

void as_picture_color(const struct as_picture *picture, const struct as_picture_box *box,
                      char out[8])
{
    static const int cool[3] = {0xff, 0xff, 0xff}, hot[3] = {0xe3, 0x4a, 0x33};
    double most = 0, heat;
    unsigned color[3];

    for (size_t i = 0; i < picture->n_boxes; i++)
        most = fmax(most, picture->boxes[i].share);
    heat = most > 0 && box->share > 0 ? sqrt(box->share / most) : 0;
    for (int c = 0; c < 3; c++)
        color[c] = (unsigned)lround(cool[c] + heat * (hot[c] - cool[c])) & 0xff;
    (void)snprintf(out, 8, "#%02x%02x%02x", color[0], color[1], color[2]);
}
