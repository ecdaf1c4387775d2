/* tests/unit/rule_kit.h - graphs written as text, and what inference makes of them.
 * A line is `in NAME SPEC`, `const NAME SPEC`, `out NAME`, `graph NAME` ... `end` for a body, or
 * `Op[@domain] in,in -> out,out attr=value ...`; rule_spec.h says what a SPEC is. */
#ifndef AS_TESTS_RULE_KIT_H
#define AS_TESTS_RULE_KIT_H

#include "format/tflite/tflite_lower.h"
#include "rule_spec.h"

/* Names between commas; "-" or nothing for one that is left out. */
static inline uint32_t *kit_list(struct rule_kit *k, char *text, uint32_t *n)
{
    uint32_t *ids = kit_capacity(k, 40 * sizeof *ids);
    char *next;

    for (*n = 0; *text; text = next) {
        next = strchr(text, ',');
        next = next ? (*next = 0, next + 1) : text + strlen(text);
        ids[(*n)++] = strcmp(text, "-") == 0 ? AS_NONE : kit_name(k, text);
    }
    return ids;
}

static inline void kit_node(struct rule_kit *k, char *line)
{
    struct as_graph *graph = k->graphs[k->depth];
    struct as_node *node = &graph->nodes[graph->n_nodes++];
    struct as_attr *attrs = kit_capacity(k, 16 * sizeof *attrs);
    char *op = kit_capacity(k, strlen(line) + 1), *save = line, *word, *at;
    bool made = false;

    assert_true(graph->n_nodes <= KIT_NODES);
    word = kit_word(&save, " ");
    memcpy(op, word, strlen(word));
    at = strchr(op, '@');
    node->domain_name = at ? (*at = 0, at + 1) : "";
    node->name = node->op_name = op;
    node->op = as_op_find(as_domain_find(node->domain_name), op);
    node->attrs = attrs;
    while ((word = kit_word(&save, " "))) {
        if (strcmp(word, "->") == 0)
            made = true;
        else if (strchr(word, '='))
            kit_attr(k, word, &attrs[node->n_attrs++]);
        else if (made)
            node->outputs = kit_list(k, word, &node->n_outputs);
        else
            node->inputs = kit_list(k, word, &node->n_inputs);
    }
    if (as_node_is_lowered(node))
        assert_int_equal(as_tflite_lower(k->model, node, as_tflite_row_find(op), &k->err),
                         ASSAY_OK);
    assert_int_not_equal(node->op, AS_OP_UNKNOWN);
}

static inline void kit_open(struct rule_kit *k, struct as_graph *parent, const char *name)
{
    struct as_graph *graph = as_graph_new(k->model, parent, name, &k->err);

    assert_non_null(graph);
    assert_int_equal(as_graph_reserve_nodes(graph, KIT_NODES, &k->err), ASSAY_OK);
    graph->n_nodes = 0;
    graph->inputs = kit_capacity(k, 32 * sizeof *graph->inputs);
    graph->outputs = kit_capacity(k, 32 * sizeof *graph->outputs);
    k->graphs[k->depth] = graph;
}

/* Lists that a graph only shows as constant. */
static inline void kit_push(const uint32_t *list, uint32_t *n, uint32_t id)
{
    uint32_t *at;

    memcpy(&at, &list, sizeof at);
    assert_true(*n < 32);
    at[(*n)++] = id;
}

static inline void kit_line(struct rule_kit *k, char *line)
{
    struct as_graph *graph = k->graphs[k->depth];
    char first[32] = "", name[32] = "", spec[256] = "", *copy = strdup(line), *save = copy, *word;

    word = kit_word(&save, " ");
    snprintf(first, sizeof first, "%s", word ? word : "");
    word = kit_word(&save, " ");
    snprintf(name, sizeof name, "%s", word ? word : "");
    word = kit_word(&save, " ");
    snprintf(spec, sizeof spec, "%s", word ? word : "");
    free(copy);
    if (strcmp(first, "in") == 0 || strcmp(first, "const") == 0) {
        uint32_t id = kit_name(k, name);

        kit_spec(k, spec, &k->model->values[id]);
        k->model->values[id].is_initializer = first[0] == 'c';
        if (first[0] == 'i')
            kit_push(graph->inputs, &graph->n_inputs, id);
    } else if (strcmp(first, "out") == 0) {
        kit_push(graph->outputs, &graph->n_outputs, kit_name(k, name));
    } else if (strcmp(first, "graph") == 0) {
        k->depth++;
        kit_open(k, graph, name);
        snprintf(k->bodies[k->n_bodies], sizeof k->bodies[0], "%s", name);
        k->closed[k->n_bodies++] = k->graphs[k->depth];
    } else if (strcmp(first, "end") == 0) {
        k->depth--;
    } else {
        kit_node(k, line);
    }
}

/* Builds, links and infers; the code of the first that fails. */
static inline int kit_infer(struct rule_kit *k, int64_t opset, const char *text,
                            const struct as_infer_options *options)
{
    char *copy = strdup(text), *save = copy, *line;
    int rc;

    memset(k, 0, sizeof *k);
    assert_int_equal(as_model_new(&k->model, 0, &k->err), ASSAY_OK);
    k->model->opset = opset;
    kit_open(k, NULL, "main");
    while ((line = kit_word(&save, ";\n"))) {
        line += strspn(line, " ");
        if (*line)
            kit_line(k, line);
    }
    free(copy);
    rc = as_model_link(k->model, &k->err);
    return rc == ASSAY_OK ? as_infer_shapes(k->model, options, NULL, &k->err) : rc;
}

static inline void kit_free(struct rule_kit *k)
{
    as_model_free(k->model);
    k->model = NULL;
}

static inline void kit_is(const struct rule_kit *k, const char *name, const char *expected)
{
    char text[256];

    (void)as_type_text(text, sizeof text, &kit_value(k, name)->type);
    assert_string_equal(text, expected);
}

#endif
