/* format/tflite/tflite_reader.c - TensorFlow Lite files (TFL3): operators, tensors, quantization,
 * in place. A subgraph that several operators run is read once for each, with values of its own. */
#include <stdio.h>
#include <string.h>

#include "format/model_file.h"
#include "format/tflite/tflite_options.h"
#include "format/tflite/tflite_tensor.h"

/* Fields of the tables in the schema. */
enum {
    MODEL_VERSION,
    MODEL_CODES,
    MODEL_SUBGRAPHS,
    MODEL_DESCRIPTION,
    MODEL_BUFFERS,
    MODEL_METADATA = 6
};
enum { GRAPH_TENSORS, GRAPH_INPUTS, GRAPH_OUTPUTS, GRAPH_OPERATORS, GRAPH_NAME };
enum { OPERATOR_CODE, OPERATOR_INPUTS, OPERATOR_OUTPUTS };
enum { CODE_OLD, CODE_CUSTOM, CODE_VERSION, CODE_NEW };
enum { METADATA_NAME, METADATA_BUFFER };
enum { CUSTOM = 32 };

/* A copy that ends at the first NUL, at most `max` bytes. */
static const char *copy_text(struct as_tflite *r, struct as_text text, size_t max)
{
    const char *end = memchr(text.at, 0, text.size);
    size_t size = end ? (size_t)(end - text.at) : text.size;

    return as_arena_text(&r->model->arena, text.at, size < max ? size : max);
}

static int read_code(struct as_tflite *r, uint32_t i)
{
    struct as_flat_table t = as_flat_table_at(&r->flat, &r->codes, i, "an operator code");
    uint64_t old = as_flat_uint(&r->flat, &t, CODE_OLD, 1, 0);
    int32_t code = as_flat_i32(&r->flat, &t, CODE_NEW, 0);
    struct as_tflite_code *op = &r->ops[i];
    char said[32];

    if (r->flat.rc < 0)
        return r->flat.rc;
    if (code < 0 || old > 127)
        return as_flat_fail(&r->flat, t.at, "operator code %u is negative", i);
    code = code > (int32_t)old ? code : (int32_t)old;
    op->name = as_tflite_op_name((uint64_t)code);
    if (code != CUSTOM && op->name) {
        op->row = as_tflite_row_find(op->name);
        op->op = as_op_find(AS_DOMAIN_TFLITE, op->name);
    }
    if (code == CUSTOM)
        op->name = copy_text(r, as_flat_text(&r->flat, &t, CODE_CUSTOM), AS_MAX_NAME_BYTES);
    if (code != CUSTOM && !op->name) {
        (void)snprintf(said, sizeof said, "builtin %d", code);
        op->name = as_arena_text(&r->model->arena, said, strlen(said));
    }
    if (op->name && !op->name[0])
        return as_flat_fail(&r->flat, t.at, "custom operator code %u has no name", i);
    return op->name ? r->flat.rc : as_fail_nomem(r->flat.err);
}

/* Indices of tensors as values; -1 only where one may be left out. */
static int read_indices(struct as_tflite *r, const struct as_flat_vector *v, const char *what,
                        uint32_t base, uint32_t n_tensors, bool optional, const uint32_t **out)
{
    uint32_t *ids = as_arena_alloc(&r->model->arena, (v->n ? (size_t)v->n : 1) * sizeof *ids);

    if (!ids)
        return as_fail_nomem(r->flat.err);
    for (uint32_t i = 0; i < v->n; i++) {
        int32_t index = (int32_t)(uint32_t)as_flat_at(&r->flat, v, i, 4);

        if (index == -1 && optional)
            ids[i] = AS_NONE;
        else if (index < 0 || (uint32_t)index >= n_tensors)
            return as_flat_fail(&r->flat, v->at + 4ull * i,
                                "%s %u is tensor %d, but its graph has %u", what, i, index,
                                n_tensors);
        else
            ids[i] = base + (uint32_t)index;
    }
    *out = ids;
    return ASSAY_OK;
}

static int read_tensors(struct as_tflite *r, struct as_graph *graph,
                        const struct as_flat_vector *tensors)
{
    int rc = ASSAY_OK;

    if (tensors->n > AS_TFLITE_MAX_TENSORS - r->n_tensors)
        return as_flat_fail(&r->flat, tensors->at, "the model has more than %d tensors",
                            AS_TFLITE_MAX_TENSORS);
    r->n_tensors += tensors->n;
    for (uint32_t i = 0; i < tensors->n && rc == ASSAY_OK; i++) {
        struct as_flat_table t = as_flat_table_at(&r->flat, tensors, i, "a tensor");

        rc = r->flat.rc < 0 ? r->flat.rc : as_tflite_tensor(r, graph, &t);
    }
    return rc;
}

static int read_borders(struct as_tflite *r, struct as_graph *graph, const struct as_flat_table *t,
                        uint32_t base, uint32_t n_tensors)
{
    struct as_flat_vector inputs = as_flat_vector(&r->flat, t, GRAPH_INPUTS, 4);
    struct as_flat_vector outputs = as_flat_vector(&r->flat, t, GRAPH_OUTPUTS, 4);
    int rc = r->flat.rc;

    if (rc == ASSAY_OK)
        rc = read_indices(r, &inputs, "a graph's input", base, n_tensors, false, &graph->inputs);
    if (rc == ASSAY_OK)
        rc = read_indices(r, &outputs, "a graph's output", base, n_tensors, false, &graph->outputs);
    if (rc < 0)
        return rc;
    graph->n_inputs = inputs.n;
    graph->n_outputs = outputs.n;
    for (uint32_t i = 0; i < inputs.n && rc == ASSAY_OK; i++) {
        struct as_value *value = &r->model->values[graph->inputs[i]];

        if (value->is_input)
            return as_flat_fail(&r->flat, inputs.at + 4ull * i,
                                "tensor '%.80s' is an input of its graph twice", value->name);
        value->is_input = !value->data;
        if (value->type.rank < 0)
            value->type.rank = 0; /* an input of unknown rank would leave everything unknown */
        if (!graph->parent)
            rc = as_tflite_symbols(r, graph->inputs[i]);
    }
    return rc;
}

static int read_graph(struct as_tflite *r, uint32_t index, struct as_graph *parent,
                      struct as_graph **out);

/* The subgraphs an operator runs become the graphs in its attributes. */
static int read_bodies(struct as_tflite *r, struct as_graph *graph, struct as_node *node,
                       const struct as_tflite_bodies *bodies)
{
    int rc = ASSAY_OK;

    for (uint32_t i = 0; i < bodies->n && rc == ASSAY_OK; i++) {
        struct as_attr *attr = bodies->at[i].attr;
        int32_t index = bodies->at[i].subgraph;

        if (index < 0 || (uint32_t)index >= r->subgraphs.n)
            return as_flat_fail(&r->flat, node->offset,
                                "operator '%.80s' runs subgraph %d, but the file has %u",
                                as_node_label(graph, node), index, r->subgraphs.n);
        if (r->busy[index])
            return as_flat_fail(&r->flat, node->offset,
                                "operator '%.80s' runs subgraph %d, of which it is a part",
                                as_node_label(graph, node), index);
        rc = read_graph(r, (uint32_t)index, graph, &attr->graph);
        if (rc == ASSAY_OK)
            attr->kind = AS_ATTR_GRAPH;
    }
    return rc;
}

static int read_operator(struct as_tflite *r, struct as_graph *graph, struct as_node *node,
                         const struct as_flat_table *t, uint32_t base, uint32_t n_tensors)
{
    uint64_t code = as_flat_uint(&r->flat, t, OPERATOR_CODE, 4, 0);
    struct as_flat_vector inputs = as_flat_vector(&r->flat, t, OPERATOR_INPUTS, 4);
    struct as_flat_vector outputs = as_flat_vector(&r->flat, t, OPERATOR_OUTPUTS, 4);
    struct as_tflite_bodies bodies;
    int rc = r->flat.rc;

    if (rc == ASSAY_OK && code >= r->codes.n)
        rc = as_flat_fail(&r->flat, t->at, "an operator is of code %llu, but the file has %u",
                          (unsigned long long)code, r->codes.n);
    if (rc < 0)
        return rc;
    node->op_name = r->ops[code].name;
    node->op = r->ops[code].op;
    node->domain_name = "tflite";
    node->name = "";
    node->offset = t->at;
    rc = read_indices(r, &inputs, "an operator's input", base, n_tensors, true, &node->inputs);
    if (rc == ASSAY_OK)
        rc = read_indices(r, &outputs, "an operator's output", base, n_tensors, false,
                          &node->outputs);
    if (rc < 0)
        return rc;
    node->n_inputs = inputs.n;
    node->n_outputs = outputs.n;
    if (outputs.n)
        node->name = r->model->values[node->outputs[0]].name;
    rc = as_tflite_options(&r->flat, &r->model->arena, t, node, &bodies);
    if (rc == ASSAY_OK)
        rc = read_bodies(r, graph, node, &bodies);
    return rc < 0 ? rc : as_tflite_lower(r->model, node, r->ops[code].row, r->flat.err);
}

static int read_operators(struct as_tflite *r, struct as_graph *graph,
                          const struct as_flat_vector *operators, uint32_t base, uint32_t n_tensors)
{
    int rc;

    if (r->n_nodes + operators->n > AS_MAX_NODES)
        return as_flat_fail(&r->flat, operators->at, "the model has more than %d operators",
                            AS_MAX_NODES);
    r->n_nodes += operators->n;
    rc = as_graph_reserve_nodes(graph, operators->n, r->flat.err);
    for (uint32_t i = 0; i < operators->n && rc == ASSAY_OK; i++) {
        struct as_flat_table t = as_flat_table_at(&r->flat, operators, i, "an operator");

        rc = r->flat.rc < 0 ? r->flat.rc
                            : read_operator(r, graph, &graph->nodes[i], &t, base, n_tensors);
    }
    return rc;
}

/* Tensors that no node makes: variables and empty constants. */
static int settle_tensors(struct as_tflite *r, struct as_graph *graph,
                          const struct as_flat_vector *tensors, uint32_t base)
{
    uint8_t *made = as_arena_zero(&r->model->arena, tensors->n ? tensors->n : 1, 1);
    int rc = ASSAY_OK;

    if (!made)
        return as_fail_nomem(r->flat.err);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        for (uint32_t k = 0; k < graph->nodes[i].n_outputs; k++)
            made[graph->nodes[i].outputs[k] - base] = 1;
    for (uint32_t i = 0; rc == ASSAY_OK && i < tensors->n; i++) {
        struct as_flat_table t = as_flat_table_at(&r->flat, tensors, i, "a tensor");

        if (!made[i])
            rc = as_tflite_settle(r, &t, base + i);
    }
    /* A variable that no operator writes has nothing to give out. */
    for (uint32_t i = 0; rc == ASSAY_OK && i < graph->n_outputs; i++) {
        const struct as_value *value = &r->model->values[graph->outputs[i]];

        if (value->data && !value->is_initializer)
            rc = as_flat_fail(&r->flat, tensors->at,
                              "graph '%.80s' gives out tensor '%.80s', which nothing makes",
                              graph->name, value->name);
    }
    return rc;
}

/* Depth is limited by as_graph_new(), so this may come back to itself through operators. */
static int read_graph(struct as_tflite *r, uint32_t index, struct as_graph *parent,
                      struct as_graph **out)
{
    struct as_flat_table t = as_flat_table_at(&r->flat, &r->subgraphs, index, "a subgraph");
    struct as_flat_vector tensors = as_flat_vector(&r->flat, &t, GRAPH_TENSORS, 4);
    struct as_flat_vector operators = as_flat_vector(&r->flat, &t, GRAPH_OPERATORS, 4);
    const char *name = copy_text(r, as_flat_text(&r->flat, &t, GRAPH_NAME), AS_MAX_NAME_BYTES);
    uint32_t base = r->model->n_values;
    struct as_graph *graph;
    int rc = r->flat.rc;

    if (rc < 0)
        return rc;
    if (!name)
        return as_fail_nomem(r->flat.err);
    if (++r->n_bodies > AS_TFLITE_MAX_BODIES)
        return as_flat_fail(&r->flat, t.at, "operators run subgraphs more than %d times",
                            AS_TFLITE_MAX_BODIES);
    graph = as_graph_new(r->model, parent, name, r->flat.err);
    if (!graph)
        return parent && parent->depth + 1 >= AS_MAX_GRAPH_DEPTH ? ASSAY_ERR_LIMIT
                                                                 : ASSAY_ERR_NOMEM;
    r->busy[index] = r->used[index] = 1;
    rc = read_tensors(r, graph, &tensors);
    if (rc == ASSAY_OK)
        rc = read_borders(r, graph, &t, base, tensors.n);
    if (rc == ASSAY_OK)
        rc = read_operators(r, graph, &operators, base, tensors.n);
    if (rc == ASSAY_OK)
        rc = settle_tensors(r, graph, &tensors, base);
    r->busy[index] = 0;
    *out = graph;
    return rc;
}

/* A buffer as text when it is one, else by its size. */
static const char *meta_value(struct as_tflite *r, uint64_t at, uint64_t size)
{
    const char *bytes = (const char *)r->flat.bytes + at;
    bool plain = size > 0 && size <= 256;
    char said[40];

    for (uint64_t i = 0; plain && i < size && bytes[i]; i++)
        plain = bytes[i] >= ' ' && bytes[i] <= '~';
    if (plain)
        return copy_text(r, (struct as_text){bytes, (size_t)size}, 256);
    (void)snprintf(said, sizeof said, "%llu bytes", (unsigned long long)size);
    return as_arena_text(&r->model->arena, said, strlen(said));
}

static int read_metadata(struct as_tflite *r, const struct as_flat_table *root)
{
    struct as_flat_vector v = as_flat_vector(&r->flat, root, MODEL_METADATA, 4);
    struct as_model *model = r->model;
    uint32_t n = v.n < 1024 ? v.n : 1024;

    model->meta = as_arena_zero(&model->arena, n ? n : 1, sizeof *model->meta);
    if (!model->meta)
        return as_fail_nomem(r->flat.err);
    for (uint32_t i = 0; i < n; i++) {
        struct as_flat_table t = as_flat_table_at(&r->flat, &v, i, "a piece of metadata");
        uint64_t buffer = as_flat_uint(&r->flat, &t, METADATA_BUFFER, 4, 0), at, size;
        int rc = as_tflite_buffer(r, buffer, &at, &size);

        if (rc < 0)
            return rc;
        model->meta[i].key = copy_text(r, as_flat_text(&r->flat, &t, METADATA_NAME), 256);
        model->meta[i].value = meta_value(r, at, size);
        if (!model->meta[i].key || !model->meta[i].value)
            return as_fail_nomem(r->flat.err);
        model->n_meta++;
    }
    return r->flat.rc;
}

static int open_model(struct as_tflite *r, const struct as_flat_table *root)
{
    uint64_t version = as_flat_uint(&r->flat, root, MODEL_VERSION, 4, 0);

    r->codes = as_flat_vector(&r->flat, root, MODEL_CODES, 4);
    r->subgraphs = as_flat_vector(&r->flat, root, MODEL_SUBGRAPHS, 4);
    r->buffers = as_flat_vector(&r->flat, root, MODEL_BUFFERS, 4);
    if (r->flat.rc < 0)
        return r->flat.rc;
    if (version != 3)
        return as_flat_fail(&r->flat, root->at, "the model is of schema version %llu, not 3",
                            (unsigned long long)version);
    if (r->subgraphs.n == 0)
        return as_flat_fail(&r->flat, root->at, "the model has no subgraph");
    if (r->codes.n > AS_TFLITE_MAX_CODES || r->subgraphs.n > AS_TFLITE_MAX_CODES)
        return as_flat_fail(&r->flat, root->at,
                            "the model has %u operator codes and %u subgraphs, more than %d",
                            r->codes.n, r->subgraphs.n, AS_TFLITE_MAX_CODES);
    r->model->ir_version = (int64_t)version;
    r->ops = as_arena_zero(&r->model->arena, r->codes.n ? r->codes.n : 1, sizeof *r->ops);
    r->busy = as_arena_zero(&r->model->arena, r->subgraphs.n, 1);
    r->used = as_arena_zero(&r->model->arena, r->subgraphs.n, 1);
    if (!r->ops || !r->busy || !r->used)
        return as_fail_nomem(r->flat.err);
    for (uint32_t i = 0; i < r->codes.n; i++) {
        int rc = read_code(r, i);

        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

static int read_model(struct as_tflite *r)
{
    struct as_flat_table root = as_flat_root(&r->flat, "the model");
    struct as_graph *main = NULL;
    uint32_t unused = 0;
    int rc = r->flat.rc < 0 ? r->flat.rc : open_model(r, &root);

    if (rc < 0)
        return rc;
    r->model->producer = copy_text(r, as_flat_text(&r->flat, &root, MODEL_DESCRIPTION), 1024);
    if (!r->model->producer)
        return as_fail_nomem(r->flat.err);
    rc = read_metadata(r, &root);
    if (rc == ASSAY_OK)
        rc = read_graph(r, 0, NULL, &main);
    if (rc < 0 || !main)
        return rc;
    for (uint32_t i = 0; i < r->subgraphs.n; i++)
        unused += !r->used[i];
    if (unused)
        as_model_find(r->model, AS_FINDING_NOTE, NULL, NULL,
                      "%u of %u subgraphs are run by no operator of the first and are not counted",
                      unused, r->subgraphs.n);
    r->model->graph_name = main->name;
    r->model->has_graph = true;
    return as_model_link(r->model, r->flat.err);
}

static int read_tflite(struct as_model *model, const struct as_mapped_file *file,
                       struct assay_error *err)
{
    struct as_tflite r = {.model = model,
                          .flat = {.bytes = file->bytes, .size = file->size, .err = err}};

    model->format = AS_FORMAT_TFLITE;
    model->file_bytes = file->size;
    return read_model(&r);
}

static bool is_tflite(const uint8_t *bytes, uint64_t size)
{
    return size >= 8 && memcmp(bytes + 4, "TFL3", 4) == 0;
}

const struct as_format as_format_tflite = {
    .format = AS_FORMAT_TFLITE,
    .name = "tflite",
    .is = is_tflite,
    .read = read_tflite,
};
