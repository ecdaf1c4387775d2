/* tests/fuzz/fuzz_infer.c - any bytes as a graph of any operators with any attributes, inferred.
 * The numbers a file could hold are drawn from a table of nasty ones; every type that comes out
 * must be sound. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_graph.h"
#include "model/infer/infer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_sound(const struct as_type *type)
{
    if (type->kind >= AS_VALUE_COUNT || type->rank > AS_MAX_RANK || type->dtype >= AS_DTYPE_COUNT)
        return false;
    for (int i = 0; type->kind == AS_VALUE_TENSOR && i < type->rank; i++)
        if (type->dims[i] < 0 && type->dims[i] != AS_DIM_UNKNOWN)
            return false;
    return true;
}

/* A constant's numbers agree with its type, and can be read to the last. */
static bool agrees(const struct as_value *value)
{
    const struct as_data *data = value->data;
    uint64_t n, last;

    if (!data || value->is_initializer)
        return true;
    if (!as_type_elems(&value->type, &n) || n != data->n || value->type.dtype != data->dtype)
        return false;
    if (n == 0 || data->dtype == AS_DTYPE_STRING || as_dtype_at(data->dtype)->block_elems != 1 ||
        as_dtype_at(data->dtype)->block_bytes > sizeof last)
        return true;
    return as_data_read(data, n - 1, 1, &last, NULL) == ASSAY_OK;
}

static void check_value(const struct as_model *model, const struct as_value *value)
{
    char text[200];

    if (is_sound(&value->type) && agrees(value))
        return;
    as_type_text(text, sizeof text, &value->type);
    fprintf(stderr, "%s of %s from %s, with %llu numbers of %s\n", text,
            as_dtype_name(value->type.dtype),
            value->producer == AS_NONE ? "nobody" : model->main->nodes[value->producer].op_name,
            value->data ? (unsigned long long)value->data->n : 0,
            value->data ? as_dtype_name(value->data->dtype) : "-");
    abort();
}

static void infer(struct making *m, uint32_t n_inputs)
{
    struct as_infer_options options = {.keep_unknown = true};
    struct as_graph *graph = m->model->main;
    struct assay_error err;

    graph->inputs = m->inputs;
    graph->n_inputs = n_inputs;
    if (as_model_link(m->model, &err) < 0)
        return;
    for (int again = 0; again < 2; again++) {
        if (as_infer_shapes(m->model, &options, NULL, &err) < 0 && err.msg[0] == '\0')
            abort();
        for (uint32_t i = 0; i < m->model->n_values; i++)
            check_value(m->model, &m->model->values[i]);
        options.keep_unknown = false;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t opsets[] = {1, 6, 7, 9, 10, 11, 13, 14, 15, 18, 19, 21};
    struct making m = {.in = as_cursor_over(data ? data : opsets, data ? size : 0)};
    uint32_t n_inputs = 0, n_nodes, made = 0;

    if (as_model_new(&m.model, 64 << 20, NULL) < 0)
        return 0;
    if (!as_graph_new(m.model, NULL, "main", NULL))
        goto out;
    m.model->opset = opsets[byte(&m) % sizeof opsets];
    for (unsigned n = 1 + byte(&m) % 8; n > 0; n--) {
        uint32_t id = make_value(&m, true);

        if (id == AS_NONE)
            goto out;
        if (!m.model->values[id].is_initializer)
            m.inputs[n_inputs++] = id;
    }
    n_nodes = 1 + byte(&m) % MAX_NODES;
    if (as_graph_reserve_nodes(m.model->main, n_nodes, NULL) < 0)
        goto out;
    while (made < n_nodes && make_node(&m, &m.model->main->nodes[made]))
        made++;
    m.model->main->n_nodes = made;
    if (made > 0)
        infer(&m, n_inputs);
out:
    as_model_free(m.model);
    return 0;
}
