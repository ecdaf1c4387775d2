/* tests/unit/test_tflite_reader.c - TensorFlow Lite made by hand: what is read and what is refused;
 * and the files of the model set against counts of an independent reader
 * (tests/e2e/judge_tflite.py). */
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "base/alloc.h"
#include "bytes_kit.h"
#include "flat_kit.h"
#include "format/mapped_file.h"
#include "model/infer/infer.h"

/* x -> CONV_2D(weight, bias) -> y; every place a test may want to break is kept. */
struct made {
    struct as_buffer b;
    size_t model, codes, code, subgraphs, graph, buffers, buffer[3], tensors, tensor[4], shape[4];
    size_t operators, op, op_inputs, op_outputs, options, inputs, outputs;
    uint64_t signature; /* the place of the field in a tensor */
};

static size_t add_tensor(struct made *m, int i, const char *name, uint8_t type, uint32_t buffer,
                         uint32_t rank, const int32_t *shape)
{
    size_t t = flat_table(&m->b, "414441441"); /* up to has_rank; some are cut below */

    m->shape[i] = flat_ints(&m->b, rank, shape);
    flat_link(&m->b, t, 0, m->shape[i]);
    flat_field(&m->b, t, 1, type, 1);
    flat_field(&m->b, t, 2, buffer, 4);
    flat_link(&m->b, t, 3, flat_text(&m->b, name));
    flat_set(&m->b, t - flat_get(&m->b, t, 4) + 4 + 2 * 6, 0, 2); /* no sparsity */
    m->signature = flat_get(&m->b, t - flat_get(&m->b, t, 4) + 4 + 2 * 7, 2);
    flat_set(&m->b, t - flat_get(&m->b, t, 4) + 4 + 2 * 7, 0, 2); /* no signature */
    flat_set(&m->b, t - flat_get(&m->b, t, 4) + 4 + 2 * 4, 0, 2); /* no quantization */
    flat_element(&m->b, m->tensors, (uint32_t)i, t);
    m->tensor[i] = t;
    return t;
}

static void add_buffers(struct made *m)
{
    static const uint32_t bytes[] = {0, 2 * 3 * 3 * 4 * 4, 2 * 4};

    m->buffers = flat_vector(&m->b, 3, 4);
    flat_link(&m->b, m->model, 4, m->buffers);
    for (uint32_t i = 0; i < 3; i++) {
        m->buffer[i] = flat_table(&m->b, "488");
        flat_element(&m->b, m->buffers, i, m->buffer[i]);
        flat_link(&m->b, m->buffer[i], 0, flat_vector(&m->b, bytes[i], 1));
    }
}

static void add_operator(struct made *m)
{
    m->operators = flat_vector(&m->b, 1, 4);
    flat_link(&m->b, m->graph, 3, m->operators);
    m->op = flat_table(&m->b, "44414");
    flat_element(&m->b, m->operators, 0, m->op);
    m->op_inputs = flat_ints(&m->b, 3, (const int32_t[]){0, 1, 2});
    flat_link(&m->b, m->op, 1, m->op_inputs);
    m->op_outputs = flat_ints(&m->b, 1, (const int32_t[]){3});
    flat_link(&m->b, m->op, 2, m->op_outputs);
    flat_field(&m->b, m->op, 3, 1, 1);
    m->options = flat_table(&m->b, "14410");
    flat_link(&m->b, m->op, 4, m->options);
    flat_field(&m->b, m->options, 0, 1, 1);
    flat_field(&m->b, m->options, 1, 2, 4);
    flat_field(&m->b, m->options, 2, 1, 4);
    flat_field(&m->b, m->options, 3, 3, 1);
}

static struct made make(void)
{
    struct made m = {0};

    put_u32(&m.b, 0);
    put_bytes(&m.b, "TFL3", 4);
    m.model = flat_table(&m.b, "44444");
    flat_set(&m.b, 0, m.model, 4);
    flat_field(&m.b, m.model, 0, 3, 4);
    m.codes = flat_vector(&m.b, 1, 4);
    flat_link(&m.b, m.model, 1, m.codes);
    m.code = flat_table(&m.b, "1444");
    flat_set(&m.b, m.code - flat_get(&m.b, m.code, 4) + 4 + 2, 0, 2); /* no custom name */
    flat_element(&m.b, m.codes, 0, m.code);
    flat_field(&m.b, m.code, 0, 3, 1);
    m.subgraphs = flat_vector(&m.b, 2, 4); /* the second for those who want a body */
    flat_set(&m.b, m.subgraphs, 1, 4);
    flat_link(&m.b, m.model, 2, m.subgraphs);
    flat_link(&m.b, m.model, 3, flat_text(&m.b, "by hand"));
    add_buffers(&m);
    m.graph = flat_table(&m.b, "44444");
    flat_element(&m.b, m.subgraphs, 0, m.graph);
    m.tensors = flat_vector(&m.b, 4, 4);
    flat_link(&m.b, m.graph, 0, m.tensors);
    m.inputs = flat_ints(&m.b, 1, (const int32_t[]){0});
    flat_link(&m.b, m.graph, 1, m.inputs);
    m.outputs = flat_ints(&m.b, 1, (const int32_t[]){3});
    flat_link(&m.b, m.graph, 2, m.outputs);
    flat_link(&m.b, m.graph, 4, flat_text(&m.b, "main"));
    add_operator(&m);
    add_tensor(&m, 0, "x", 0, 0, 4, (const int32_t[]){1, 8, 8, 4});
    add_tensor(&m, 1, "w", 0, 1, 4, (const int32_t[]){2, 3, 3, 4});
    add_tensor(&m, 2, "bias", 0, 2, 1, (const int32_t[]){2});
    add_tensor(&m, 3, "y", 0, 0, 4, (const int32_t[]){1, 6, 3, 2});
    return m;
}

static struct as_model *good(struct made *m)
{
    struct as_model *model;
    struct assay_error err;

    if (kit_read(&as_format_tflite, &m->b, &model, &err) != ASSAY_OK)
        fail_msg("%s", err.msg);
    return model;
}

static void refuse(struct made *m, const char *words)
{
    kit_refuse(&as_format_tflite, &m->b, words);
    as_buffer_fini(&m->b);
}

static void a_convolution_is_read_with_its_options(void **state)
{
    struct made m = make();
    struct as_model *model = good(&m);
    const struct as_node *node = &model->main->nodes[0];
    struct as_ints list;

    (void)state;
    assert_int_equal(model->main->n_nodes, 1);
    assert_int_equal(node->op, AS_OP_Conv);
    assert_string_equal(node->op_name, "CONV_2D");
    assert_string_equal(node->domain_name, "tflite");
    assert_string_equal(node->name, "y");
    assert_true(as_node_text_is(node, "auto_pad", "VALID"));
    assert_true(as_node_text_is(node, "filter_layout", "OHWI"));
    assert_true(as_node_text_is(node, "fused_activation_function", "RELU6"));
    assert_true(as_node_ints(node, "strides", &list));
    assert_int_equal(list.n, 2);
    assert_int_equal(list.at[0], 1);
    assert_int_equal(list.at[1], 2);
    assert_true(as_node_ints(node, "dilations", &list));
    assert_int_equal(list.at[1], 1); /* the schema's default */
    assert_true(model->has_graph);
    assert_string_equal(model->producer, "by hand");
    assert_string_equal(model->graph_name, "main");
    assert_int_equal(model->main->n_inputs, 1);
    assert_true(kit_value(model, "x")->is_input);
    assert_true(kit_value(model, "y")->is_output);
    assert_true(kit_value(model, "w")->is_initializer);
    assert_int_equal(kit_value(model, "w")->data->n, 72);
    assert_true(kit_value(model, "w")->data->bytes > m.b.data);
    assert_int_equal(kit_value(model, "y")->type.dims[3], 2);
    as_model_free(model);
    as_buffer_fini(&m.b);
}

/* The batch of x becomes open, as a converter writes it: -1 in the signature, 1 in the shape. */
static void open_batch(struct made *m)
{
    size_t t = m->tensor[0];

    flat_set(&m->b, t - flat_get(&m->b, t, 4) + 4 + 2 * 7, m->signature, 2);
    flat_link(&m->b, t, 7, flat_ints(&m->b, 4, (const int32_t[]){-1, 8, 8, 4}));
}

static void declared_shapes_are_compared_with_inferred_ones(void **state)
{
    static const struct {
        bool open;
        uint32_t channels;
    } cases[] = {{false, 2}, {false, 99}, {true, 2}, {true, 99}};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct made m = make();
        struct assay_error err = {0};
        struct as_model *model;
        int rc;

        flat_set(&m.b, m.shape[3] + 16, cases[i].channels, 4);
        if (cases[i].open)
            open_batch(&m);
        model = good(&m);
        assert_int_equal(kit_value(model, "x")->type.dims[0], cases[i].open ? AS_DIM_UNKNOWN : 1);
        rc = as_infer_shapes(model, NULL, NULL, &err);
        assert_int_equal(rc, cases[i].channels == 2 ? ASSAY_OK : ASSAY_ERR_FORMAT);
        if (rc < 0)
            assert_non_null(strstr(err.msg, "declares output 'y'"));
        as_model_free(model);
        as_buffer_fini(&m.b);
    }
}

static void the_greater_operator_code_counts(void **state)
{
    struct made m = make(), unknown = make(), custom = make();
    struct as_model *model;

    (void)state;
    flat_field(&m.b, m.code, 0, 127, 1);
    flat_field(&m.b, m.code, 3, 150, 4);
    model = good(&m);
    assert_int_equal(model->main->nodes[0].op, AS_OP_Gelu);
    as_model_free(model);
    as_buffer_fini(&m.b);
    flat_field(&unknown.b, unknown.code, 3, 5000, 4);
    model = good(&unknown);
    assert_int_equal(model->main->nodes[0].op, AS_OP_UNKNOWN);
    assert_string_equal(model->main->nodes[0].op_name, "builtin 5000");
    as_model_free(model);
    as_buffer_fini(&unknown.b);
    flat_field(&custom.b, custom.code, 0, 32, 1);
    kit_refuse(&as_format_tflite, &custom.b, "custom operator code 0 has no name");
    flat_set(&custom.b, custom.code - flat_get(&custom.b, custom.code, 4) + 6, 5, 2);
    flat_link(&custom.b, custom.code, 1, flat_text(&custom.b, "MyOp"));
    model = good(&custom);
    assert_string_equal(model->main->nodes[0].op_name, "MyOp");
    assert_int_equal(model->main->nodes[0].op, AS_OP_UNKNOWN);
    as_model_free(model);
    as_buffer_fini(&custom.b);
}

static void an_open_batch_gets_a_symbol(void **state)
{
    struct made m = make();
    struct as_model *model;
    size_t slot = m.tensor[0] - flat_get(&m.b, m.tensor[0], 4) + 4 + 2 * 7;

    (void)state;
    flat_set(&m.b, slot, 26, 2);
    flat_link(&m.b, m.tensor[0], 7, flat_ints(&m.b, 4, (const int32_t[]){-1, 8, 8, 4}));
    model = good(&m);
    assert_true(kit_value(model, "x")->type.dims[0] == AS_DIM_UNKNOWN);
    assert_int_equal(kit_value(model, "x")->type.dims[1], 8);
    assert_string_equal(kit_value(model, "x")->symbols[0], "batch");
    assert_null(kit_value(model, "x")->symbols[1]);
    as_model_free(model);
    as_buffer_fini(&m.b);
}

static void an_input_may_be_left_out_an_output_not(void **state)
{
    struct made m = make(), out = make(), in = make(), past = make();
    struct as_model *model;

    (void)state;
    flat_set(&m.b, m.op_inputs + 12, UINT32_MAX, 4);
    model = good(&m);
    assert_true(model->main->nodes[0].inputs[2] == AS_NONE);
    as_model_free(model);
    as_buffer_fini(&m.b);
    flat_set(&out.b, out.op_outputs + 4, UINT32_MAX, 4);
    refuse(&out, "an operator's output 0 is tensor -1, but its graph has 4");
    flat_set(&in.b, in.inputs + 4, UINT32_MAX, 4);
    refuse(&in, "a graph's input 0 is tensor -1");
    flat_set(&past.b, past.op_inputs + 4, 4, 4);
    refuse(&past, "an operator's input 0 is tensor 4, but its graph has 4");
}

static void large_buffers_may_be_behind_the_tables(void **state)
{
    struct made m = make(), past = make(), wrap = make();
    struct as_model *model;
    uint64_t at;

    (void)state;
    flat_link(&m.b, m.buffer[2], 0, flat_vector(&m.b, 0, 1));
    at = m.b.size;
    put_zeros(&m.b, 8);
    flat_field(&m.b, m.buffer[2], 1, at, 8);
    flat_field(&m.b, m.buffer[2], 2, 8, 8);
    model = good(&m);
    assert_int_equal(kit_value(model, "bias")->data->offset, at);
    as_model_free(model);
    as_buffer_fini(&m.b);
    flat_link(&past.b, past.buffer[2], 0, flat_vector(&past.b, 0, 1));
    flat_field(&past.b, past.buffer[2], 1, past.b.size, 8);
    flat_field(&past.b, past.buffer[2], 2, 8, 8);
    refuse(&past, "buffer 2 has 8 bytes at");
    flat_link(&wrap.b, wrap.buffer[2], 0, flat_vector(&wrap.b, 0, 1));
    flat_field(&wrap.b, wrap.buffer[2], 1, 16, 8);
    flat_field(&wrap.b, wrap.buffer[2], 2, UINT64_MAX - 7, 8);
    refuse(&wrap, "past the end of the file");
}

static void variables_begin_as_zeros(void **state)
{
    struct made m = make();
    struct as_model *model;
    uint8_t bytes[8] = {1};

    (void)state;
    flat_field(&m.b, m.tensor[2], 2, 0, 4); /* the bias without a buffer ... */
    kit_refuse(&as_format_tflite, &m.b, "needs tensor 'bias', which nothing makes");
    flat_field(&m.b, m.tensor[2], 5, 1, 1); /* ... is a variable */
    model = good(&m);
    assert_false(kit_value(model, "bias")->is_initializer);
    assert_int_equal(kit_value(model, "bias")->data->stored_elems, 0);
    assert_int_equal(as_data_read(kit_value(model, "bias")->data, 0, 2, bytes, NULL), ASSAY_OK);
    assert_int_equal(bytes[0], 0);
    as_model_free(model);
    as_buffer_fini(&m.b);
}

static void wrong_tensors_are_refused(void **state)
{
    struct made size = make(), type = make(), rank = make(), negative = make(), buffer = make(),
                wrap = make();

    (void)state;
    flat_set(&size.b, size.shape[1] + 4, 3, 4);
    refuse(&size, "constant 'w' needs 432 bytes, but its buffer has 288");
    flat_field(&type.b, type.tensor[0], 1, 77, 1);
    refuse(&type, "tensor 'x' is of type 77");
    flat_set(&rank.b, rank.shape[3], 33, 4);
    put_zeros(&rank.b, 200);
    refuse(&rank, "tensor 'y' has 33 dimensions");
    flat_set(&negative.b, negative.shape[0] + 4, (uint32_t)-2, 4);
    refuse(&negative, "a dimension of tensor 'x' is -2");
    flat_field(&buffer.b, buffer.tensor[1], 2, 3, 4);
    refuse(&buffer, "buffer 3 is asked for, but the file has 3");
    for (unsigned i = 0; i < 4; i++)
        flat_set(&wrap.b, wrap.shape[1] + 4 + 4 * i, 0x40000000, 4);
    refuse(&wrap, "the size of constant 'w' is not known");
}

static void wrong_tables_are_refused(void **state)
{
    struct made root = make(), vtable = make(), field = make(), vector = make(), text = make(),
                version = make(), none = make(), code = make(), padding = make();

    (void)state;
    flat_set(&root.b, 0, 0xfffffff0, 4);
    refuse(&root, "the model is outside the file");
    flat_set(&vtable.b, vtable.graph, 0x7fffffff, 4);
    refuse(&vtable, "the vtable of a subgraph is outside the file");
    flat_set(&field.b, field.op - flat_get(&field.b, field.op, 4) + 4, 4000, 2);
    refuse(&field, "field 0 of an operator is outside its table");
    flat_set(&vector.b, vector.tensors, 0x7fffffff, 4);
    refuse(&vector, "has 2147483647 elements, past the end");
    flat_field(&text.b, text.tensor[0], 3, UINT32_MAX, 4);
    refuse(&text, "a tensor is outside the file");
    flat_field(&version.b, version.model, 0, 4, 4);
    refuse(&version, "schema version 4");
    flat_set(&none.b, none.subgraphs, 0, 4);
    refuse(&none, "no subgraph");
    flat_field(&code.b, code.op, 0, 1, 4);
    refuse(&code, "an operator is of code 1, but the file has 1");
    flat_field(&padding.b, padding.options, 0, 2, 1);
    refuse(&padding, "the padding of an operator's options is 2");
}

/* The operator becomes a WHILE whose cond and body are subgraph `body`. */
static void to_loop(struct made *m, int32_t body)
{
    size_t options = flat_table(&m->b, "44");

    flat_field(&m->b, options, 0, (uint32_t)body, 4);
    flat_field(&m->b, options, 1, (uint32_t)body, 4);
    flat_field(&m->b, m->code, 0, 119, 1);
    flat_field(&m->b, m->op, 3, 93, 1);
    flat_link(&m->b, m->op, 4, options);
}

static void bodies_are_graphs_of_their_own(void **state)
{
    struct made m = make(), self = make(), past = make();
    struct as_model *model;
    struct as_graph *cond, *body;
    size_t graph;

    (void)state;
    to_loop(&self, 0);
    refuse(&self, "runs subgraph 0, of which it is a part");
    to_loop(&past, 7);
    refuse(&past, "runs subgraph 7, but the file has 1");
    to_loop(&m, 1);
    flat_set(&m.b, m.subgraphs, 2, 4);
    graph = flat_table(&m.b, "44404");
    flat_element(&m.b, m.subgraphs, 1, graph);
    m.tensors = flat_vector(&m.b, 1, 4);
    flat_link(&m.b, graph, 0, m.tensors);
    flat_link(&m.b, graph, 1, flat_ints(&m.b, 1, (const int32_t[]){0}));
    flat_link(&m.b, graph, 2, flat_ints(&m.b, 1, (const int32_t[]){0}));
    flat_link(&m.b, graph, 4, flat_text(&m.b, "inside"));
    add_tensor(&m, 0, "inner", 0, 0, 1, (const int32_t[]){1});
    model = good(&m);
    cond = as_node_graph(&model->main->nodes[0], "cond");
    body = as_node_graph(&model->main->nodes[0], "body");
    assert_true(cond && body && cond != body);
    assert_string_equal(body->name, "inside");
    assert_ptr_equal(body->owner, &model->main->nodes[0]);
    assert_int_equal(model->n_values, 4 + 2);
    as_model_free(model);
    as_buffer_fini(&m.b);
}

static void a_subgraph_nobody_runs_is_told(void **state)
{
    struct made m = make();
    struct as_model *model;

    (void)state;
    flat_set(&m.b, m.subgraphs, 2, 4);
    flat_element(&m.b, m.subgraphs, 1, m.graph);
    model = good(&m);
    assert_true(kit_found(model, "1 of 2 subgraphs are run by no operator"));
    as_model_free(model);
    as_buffer_fini(&m.b);
}

static void a_file_cut_or_changed_anywhere_does_no_harm(void **state)
{
    struct made m = make();
    size_t size = m.b.size;
    struct as_model *model;
    struct assay_error err;

    (void)state;
    for (size_t cut = 8; cut < size; cut++) {
        m.b.size = cut;
        if (kit_read(&as_format_tflite, &m.b, &model, &err) < 0)
            assert_true(err.msg[0]);
        as_model_free(model);
    }
    m.b.size = size;
    for (size_t i = 0; i < size; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            m.b.data[i] ^= (uint8_t)(1u << bit);
            if (kit_read(&as_format_tflite, &m.b, &model, &err) < 0)
                assert_true(err.msg[0]);
            as_model_free(model);
            m.b.data[i] ^= (uint8_t)(1u << bit);
        }
    as_buffer_fini(&m.b);
}

static void every_allocation_may_fail(void **state)
{
    struct made m = make();

    (void)state;
    for (uint64_t nth = 1; nth < 50; nth++) {
        struct as_mapped_file mapped = {.bytes = m.b.data, .size = m.b.size, .path = ""};
        struct assay_error err = {0};
        struct as_model *model;
        int rc;

        assert_int_equal(as_model_new(&model, 0, &err), ASSAY_OK);
        as_alloc_fail_at(nth, 0);
        rc = as_format_tflite.read(model, &mapped, &err);
        as_alloc_fail_at(0, 0);
        if (rc < 0)
            assert_int_equal(err.code, ASSAY_ERR_NOMEM);
        as_model_free(model);
    }
    as_buffer_fini(&m.b);
}

/* ---- files of others ---- */

static const struct {
    const char *name;
    uint32_t operators, tensors, constants;
    uint64_t elements, bytes;
} files[] = {
    {"mlperf_tiny_ad_f32", 10, 31, 20, 265864, 1063456},
    {"mlperf_tiny_kws_int8", 13, 35, 21, 22606, 24376},
    {"mlperf_tiny_resnet8_f32", 16, 38, 21, 77708, 310832},
    {"mlperf_tiny_resnet8_int8", 16, 38, 21, 77708, 78752},
    {"mobilenet_v2_int8", 84, 212, 127, 3487968, 3542592},
};

static bool open_real(struct as_mapped_file *file, const char *name)
{
    const char *folder = getenv("ASSAY_MODELS");
    static char path[512];

    (void)snprintf(path, sizeof path, "%s/%s.tflite", folder ? folder : "../shared/models", name);
    return as_mapped_file_open(file, path, NULL) == ASSAY_OK;
}

static bool counted_before(const struct as_model *model, uint32_t id)
{
    for (uint32_t i = 0; i < id; i++)
        if (model->values[i].data && model->values[i].data->bytes == model->values[id].data->bytes)
            return true;
    return false;
}

static void the_model_set_has_the_judges_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(files); i++) {
        struct as_mapped_file file;
        struct assay_error err;
        struct as_model *model;
        uint64_t elements = 0, bytes = 0;
        uint32_t constants = 0;

        if (!open_real(&file, files[i].name)) {
            print_message("SKIP: %s.tflite is not here\n", files[i].name);
            skip();
        }
        assert_true(as_format_tflite.is(file.bytes, file.size));
        assert_int_equal(as_model_new(&model, 64u << 20, NULL), ASSAY_OK);
        if (as_format_tflite.read(model, &file, &err) < 0)
            fail_msg("%s: %s", files[i].name, err.msg);
        for (uint32_t k = 0; k < model->n_values; k++)
            if (model->values[k].is_initializer && !counted_before(model, k)) {
                constants++;
                elements += model->values[k].data->stored_elems;
                bytes += model->values[k].data->stored_bytes;
            }
        assert_int_equal(model->main->n_nodes, files[i].operators);
        assert_int_equal(model->n_values, files[i].tensors);
        assert_int_equal(constants, files[i].constants);
        assert_int_equal(elements, files[i].elements);
        assert_int_equal(bytes, files[i].bytes);
        for (uint32_t k = 0; k < model->main->n_nodes; k++)
            assert_true(model->main->nodes[k].op != AS_OP_UNKNOWN);
        as_model_free(model);
        as_mapped_file_close(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_is_read_with_its_options),
        cmocka_unit_test(declared_shapes_are_compared_with_inferred_ones),
        cmocka_unit_test(the_greater_operator_code_counts),
        cmocka_unit_test(an_open_batch_gets_a_symbol),
        cmocka_unit_test(an_input_may_be_left_out_an_output_not),
        cmocka_unit_test(large_buffers_may_be_behind_the_tables),
        cmocka_unit_test(variables_begin_as_zeros),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(wrong_tables_are_refused),
        cmocka_unit_test(bodies_are_graphs_of_their_own),
        cmocka_unit_test(a_subgraph_nobody_runs_is_told),
        cmocka_unit_test(a_file_cut_or_changed_anywhere_does_no_harm),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_model_set_has_the_judges_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
