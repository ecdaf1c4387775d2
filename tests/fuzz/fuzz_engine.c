/* tests/fuzz/fuzz_engine.c - any bytes as a small graph that is run, bodies and chains among it.
 * The first byte says how, and what is left at the end is what its inputs are made of. */
#include "fuzz_drive.h"
#include "fuzz_graph.h"
#include "fuzz_recipes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_VISIBLE = 256, MAX_STEPS = 24, MAX_IN = 24, MAX_GIVEN = 12, MAX_OUTPUTS = 8 };

struct graph_making {
    struct making m;
    unsigned dtype;
    uint32_t visible[MAX_VISIBLE]; /* values that a node may use here */
    uint32_t n_visible;
    uint32_t inputs[MAX_VISIBLE];
    uint32_t n_inputs;
};

static uint32_t seen(struct graph_making *g, uint32_t id)
{
    if (id != AS_NONE && g->n_visible < MAX_VISIBLE)
        g->visible[g->n_visible++] = id;
    return id;
}

/* A number that an attribute or a shape often has; one of four is any. */
static int64_t usual(struct graph_making *g)
{
    static const int8_t often[] = {1, 2, 4, 0, -1, 3, 1, 2};
    unsigned b = byte(&g->m);

    return b < 192 ? often[b % sizeof often] : number(&g->m);
}

/* The last ones are taken most. */
static uint32_t pick(struct graph_making *g)
{
    unsigned b = byte(&g->m);

    if (g->n_visible == 0)
        return AS_NONE;
    if (b < 128)
        return g->visible[g->n_visible - 1];
    return g->visible[g->n_visible - 1 - b % g->n_visible];
}

/* A constant, or an input of the main graph. */
static uint32_t fresh(struct graph_making *g, unsigned dtype, int rank)
{
    struct making *m = &g->m;
    unsigned flags = byte(m);
    struct as_graph *home = m->graph;
    struct as_dims dims = {.rank = rank};
    struct as_value *value;
    uint32_t id;
    uint64_t n;

    m->graph = m->model->main;
    id = make_value(m, false);
    m->graph = home;
    if (id == AS_NONE)
        return id;
    value = &m->model->values[id];
    for (int i = 0; i < rank; i++) {
        dims.at[i] = dimension(m);
        if (dims.at[i] < 0)
            dims.at[i] = AS_DIM_UNKNOWN;
    }
    if (!as_type_tensor(&value->type, &m->model->arena, dtype, &dims))
        return AS_NONE;
    if (flags % 4 && as_type_elems(&value->type, &n) && n <= 4096) {
        value->data = make_data(m, dtype, n);
        value->is_initializer = value->data != NULL;
    } else if (g->n_inputs < MAX_GIVEN) {
        g->inputs[g->n_inputs++] = id;
    }
    return id;
}

static uint32_t fresh_ints(struct graph_making *g, int rank)
{
    uint32_t id = make_value(&g->m, false);
    struct as_dims dims = {rank, {byte(&g->m) % 5}};
    struct as_value *value;

    if (id == AS_NONE)
        return id;
    value = &g->m.model->values[id];
    value->graph = g->m.model->main;
    value->data = as_data_new(&g->m.model->arena, AS_DTYPE_I64, rank ? (uint64_t)dims.at[0] : 1);
    value->is_initializer = true;
    for (uint64_t i = 0; value->data && i < value->data->n; i++)
        as_data_put_i64(value->data, i, usual(g));
    if (!value->data || !as_type_tensor(&value->type, &g->m.model->arena, AS_DTYPE_I64, &dims))
        return AS_NONE;
    return id;
}

static uint32_t take(struct graph_making *g, char letter)
{
    static const char fresh_letters[] = "svmtw";
    const char *at = strchr(fresh_letters, letter);
    unsigned b;

    if (letter == 'x')
        return pick(g);
    if (at && byte(&g->m) < 32)
        return pick(g);
    if (at)
        return fresh(g, g->dtype, (int)(at - fresh_letters));
    b = byte(&g->m);
    switch (letter) {
    case 'i':
        return b < 16 ? pick(g) : fresh_ints(g, 1);
    case 'j':
        return b < 16 ? pick(g) : fresh_ints(g, 0);
    case 'k':
        return fresh(g, b & 1 ? AS_DTYPE_I64 : AS_DTYPE_I32, (int)(b / 2 % 4));
    case 'q':
        return fresh(g, AS_DTYPE_F32, b < 64);
    case 'z':
        return fresh(g, b & 1 ? AS_DTYPE_U8 : AS_DTYPE_I8, b < 64);
    case 'u':
        return fresh(g, b & 1 ? AS_DTYPE_U8 : AS_DTYPE_I8, 2 + b / 2 % 2);
    case 'U':
        return fresh(g, b & 1 ? AS_DTYPE_U8 : AS_DTYPE_I8, 4);
    case 'I':
        return fresh(g, AS_DTYPE_I32, (int)(b % 3));
    case 'b':
        return fresh(g, AS_DTYPE_BOOL, 0);
    case 'B':
        return fresh(g, AS_DTYPE_BOOL, 1);
    default:
        return fresh(g, AS_DTYPE_STRING, 1);
    }
}

static uint32_t take_inputs(struct graph_making *g, const char *letters, uint32_t *ids)
{
    uint32_t n = 0;

    for (; *letters && n + 4 < MAX_IN; letters++) {
        if (*letters == 'o') {
            letters++;
            ids[n++] = byte(&g->m) < 128 ? AS_NONE : take(g, *letters);
        } else if (*letters == '*') {
            letters++;
            for (unsigned times = byte(&g->m) % 4; times > 0; times--)
                ids[n++] = take(g, *letters);
        } else {
            ids[n++] = take(g, *letters);
        }
    }
    if (byte(&g->m) > 250 && n > 0)
        n -= 1 + byte(&g->m) % n;
    return n;
}

static bool usual_list(struct graph_making *g, struct as_attr *attr)
{
    static const uint8_t lengths[] = {2, 4, 2, 1, 3, 0, 4, 8};
    int64_t *ints = as_arena_zero(&g->m.model->arena, 8, sizeof *ints);

    attr->n = lengths[byte(&g->m) % sizeof lengths];
    attr->ints = ints;
    for (uint32_t i = 0; ints && i < attr->n; i++)
        ints[i] = usual(g);
    return ints != NULL;
}

/* "Lpads,Igroup": some of them, by the next bytes. */
static uint32_t take_attrs(struct graph_making *g, const char *list, struct as_attr *attrs)
{
    uint32_t n = 0;

    while (*list && n < MAX_IN) {
        const char *end = strchr(list, ',');
        size_t size = end ? (size_t)(end - list) : strlen(list);
        struct as_attr *attr = &attrs[n];
        const char *word;

        if (byte(&g->m) < 128) {
            n++;
            attr->name = as_arena_text(&g->m.model->arena, list + 1, size - 1);
            switch (*list) {
            case 'I':
                attr->kind = AS_ATTR_INT;
                attr->i = usual(g);
                break;
            case 'F':
                attr->kind = AS_ATTR_FLOAT;
                attr->f = byte(&g->m) & 1 ? 0.5 : (double)number(&g->m);
                break;
            case 'T':
                attr->kind = AS_ATTR_TEXT;
                word = words[byte(&g->m) % (sizeof words / sizeof *words)];
                attr->text = (struct as_text){word, strlen(word)};
                break;
            case 'L':
                attr->kind = AS_ATTR_INTS;
                if (!usual_list(g, attr))
                    return 0;
                break;
            default:
                attr->kind = AS_ATTR_FLOATS;
                make_list(&g->m, attr);
            }
            if (!attr->name)
                return 0;
        }
        list += size + (end != NULL);
    }
    return n;
}

static bool make_outputs(struct graph_making *g, struct as_node *node, uint32_t n, uint32_t *ids)
{
    node->outputs = ids;
    for (; node->n_outputs < n; node->n_outputs++) {
        bool left_out = node->n_outputs > 0 && byte(&g->m) < 24;

        ids[node->n_outputs] = left_out ? AS_NONE : make_value(&g->m, false);
    }
    /* Others are not used before the first is there. */
    for (uint32_t i = n; i-- > 0;)
        seen(g, ids[i]);
    return true;
}

static bool begin_node(struct graph_making *g, struct as_node *node, enum as_op op, uint32_t **ids,
                       struct as_attr **attrs)
{
    struct as_arena *arena = &g->m.model->arena;

    *ids = as_arena_zero(arena, 2 * MAX_IN, sizeof **ids);
    *attrs = as_arena_zero(arena, MAX_IN + 1, sizeof **attrs);
    *node = (struct as_node){.name = "",
                             .op = op,
                             .op_name = as_op_name(op),
                             .domain_name = as_domain_name(as_op_domain(op)),
                             .inputs = *ids,
                             .attrs = *attrs};
    return *ids && *attrs;
}

static bool make_from(struct graph_making *g, struct as_node *node, const struct recipe *recipe)
{
    struct as_attr *attrs;
    uint32_t *ids, n_out;

    if (!begin_node(g, node, recipe->op, &ids, &attrs))
        return false;
    node->n_inputs = take_inputs(g, recipe->inputs, ids);
    node->n_attrs = take_attrs(g, recipe->attrs, attrs);
    n_out = byte(&g->m) < 200 ? 1 : 1 + byte(&g->m) % 4;
    return make_outputs(g, node, n_out, ids + MAX_IN);
}

static const struct recipe *recipe_of(struct graph_making *g, enum as_op op)
{
    enum { N = sizeof recipes / sizeof *recipes };
    unsigned start = op == AS_OP_UNKNOWN ? byte(&g->m) << 8 : 0;

    if (op == AS_OP_UNKNOWN)
        return &recipes[(start | byte(&g->m)) % N];
    for (unsigned i = 0; i < N; i++)
        if (recipes[i].op == op && strchr(recipes[i].inputs, 'x'))
            return &recipes[i];
    return &recipes[0];
}

static uint32_t make_nodes(struct graph_making *g, struct as_graph *graph, uint32_t n);

/* A body with its own inputs; what it can see of the graph around it stays visible. */
static struct as_graph *make_body(struct graph_making *g, struct as_graph *parent, uint32_t n_in,
                                  uint32_t n_out)
{
    struct as_graph *body = as_graph_new(g->m.model, parent, "body", NULL);
    uint32_t *ids = as_arena_zero(&g->m.model->arena, n_in + n_out + 1, sizeof *ids);
    uint32_t visible = g->n_visible, n = 1 + byte(&g->m) % 3;

    if (!body || !ids || as_graph_reserve_nodes(body, n, NULL) < 0)
        return NULL;
    g->m.graph = body;
    for (uint32_t i = 0; i < n_in; i++)
        ids[i] = seen(g, make_value(&g->m, false));
    body->inputs = ids;
    body->n_inputs = n_in;
    body->n_nodes = make_nodes(g, body, n);
    for (uint32_t i = 0; i < n_out; i++)
        ids[n_in + i] = pick(g);
    body->outputs = ids + n_in;
    body->n_outputs = n_out;
    g->n_visible = visible;
    g->m.graph = parent;
    return body;
}

static bool make_control(struct graph_making *g, struct as_node *node, struct as_graph *graph)
{
    static const enum as_op ops[] = {AS_OP_If, AS_OP_Loop, AS_OP_Scan, AS_OP_SequenceMap};
    enum as_op op = ops[byte(&g->m) % 4];
    uint32_t *ids, n_carried = byte(&g->m) % 3, n_more = byte(&g->m) % 3, n_out;
    struct as_attr *attrs;

    if (!begin_node(g, node, op, &ids, &attrs))
        return false;
    n_out = n_carried + n_more;
    if (op == AS_OP_If) {
        ids[node->n_inputs++] = take(g, 'b');
    } else if (op == AS_OP_Loop) {
        ids[node->n_inputs++] = byte(&g->m) < 32 ? AS_NONE : take(g, 'j');
        ids[node->n_inputs++] = byte(&g->m) < 128 ? AS_NONE : take(g, 'b');
    }
    for (uint32_t i = 0; op != AS_OP_If && i < (op == AS_OP_Loop ? n_carried : n_out); i++)
        ids[node->n_inputs++] = pick(g);
    attrs[0].name = op == AS_OP_If ? "then_branch" : "body";
    attrs[0].kind = attrs[1].kind = AS_ATTR_GRAPH;
    attrs[0].graph = make_body(g, graph,
                               op == AS_OP_If     ? 0
                               : op == AS_OP_Loop ? n_carried + 2
                                                  : n_out,
                               n_out + (op == AS_OP_Loop));
    attrs[1].name = "else_branch";
    if (op == AS_OP_If)
        attrs[1].graph = make_body(g, graph, 0, n_out);
    node->n_attrs = op == AS_OP_If ? 2 : 1;
    if (!attrs[0].graph || (op == AS_OP_If && !attrs[1].graph))
        return false;
    if (op == AS_OP_Scan)
        attrs[node->n_attrs++] =
            (struct as_attr){.name = "num_scan_inputs", .kind = AS_ATTR_INT, .i = n_more};
    return make_outputs(g, node, n_out, ids + MAX_IN);
}

static bool make_any(struct graph_making *g, struct as_node *node)
{
    uint32_t before = g->m.model->n_values;

    /* Of all values that there are: some may not be visible, and linking says so. */
    if (!make_node(&g->m, node))
        return false;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] != AS_NONE && node->outputs[i] >= before)
            seen(g, node->outputs[i]);
    return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): each byte makes at most one body */
static uint32_t make_nodes(struct graph_making *g, struct as_graph *graph, uint32_t n)
{
    const enum as_op *chain = NULL;
    uint32_t made = 0;
    bool fine = true;

    while (made < n && fine && (made == 0 || as_cursor_left(&g->m.in) > 0)) {
        struct as_node *node = &graph->nodes[made];
        unsigned b = chain ? 0 : byte(&g->m);

        if (!chain && b >= 200 && b < 240)
            chain = chains[b % (sizeof chains / sizeof *chains)];
        if (chain) {
            fine = make_from(g, node, recipe_of(g, *chain));
            chain = chain[1] == AS_OP_UNKNOWN ? NULL : chain + 1;
        } else if (b >= 240 && graph->depth < 3) {
            fine = make_control(g, node, graph);
        } else if (b >= 236) {
            fine = make_any(g, node);
        } else {
            fine = make_from(g, node, recipe_of(g, AS_OP_UNKNOWN));
        }
        made += fine;
    }
    return made;
}

static bool make_graph(struct graph_making *g)
{
    static const uint8_t opsets[] = {17, 13, 18, 21, 11, 19, 7, 9, 10, 15};
    static const uint8_t dtypes[] = {AS_DTYPE_F32, AS_DTYPE_F32, AS_DTYPE_F32,  AS_DTYPE_F32,
                                     AS_DTYPE_F16, AS_DTYPE_F64, AS_DTYPE_BF16, AS_DTYPE_I64,
                                     AS_DTYPE_I32, AS_DTYPE_U8,  AS_DTYPE_I8,   AS_DTYPE_BOOL};
    struct as_graph *graph = as_graph_new(g->m.model, NULL, "main", NULL);
    uint32_t n = 1 + byte(&g->m) % MAX_STEPS, n_out = 1 + byte(&g->m) % MAX_OUTPUTS;
    uint32_t *outputs = as_arena_zero(&g->m.model->arena, MAX_OUTPUTS, sizeof *outputs);

    if (!graph || !outputs || as_graph_reserve_nodes(graph, n, NULL) < 0)
        return false;
    g->m.graph = graph;
    g->m.model->opset = opsets[byte(&g->m) % sizeof opsets];
    g->dtype = dtypes[byte(&g->m) % sizeof dtypes];
    seen(g, fresh(g, g->dtype, (int)(byte(&g->m) % 5)));
    graph->n_nodes = make_nodes(g, graph, n);
    for (uint32_t i = 0; i < n_out; i++)
        outputs[i] = pick(g);
    graph->inputs = g->inputs;
    graph->n_inputs = g->n_inputs;
    graph->outputs = outputs;
    graph->n_outputs = n_out;
    g->m.model->has_graph = true;
    return graph->n_nodes > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct graph_making g = {.m = {.in = as_cursor_over(data, size), .small = true}};
    struct assay_error err = {0};
    unsigned flags;

    if (size < 4 || as_model_new(&g.m.model, 64 << 20, NULL) < 0)
        return 0;
    flags = byte(&g.m);
    if (make_graph(&g) && worked(as_model_link(g.m.model, &err), &err))
        drive(g.m.model, flags, g.m.in);
    as_model_free(g.m.model);
    return 0;
}
