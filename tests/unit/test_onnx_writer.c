/* tests/unit/test_onnx_writer.c - a model built in memory, written as ONNX and read back, is the
 * same; what ONNX cannot say is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "format/model_file.h"
#include "format/onnx/onnx_writer.h"

enum { WIDTH = 1000 };

/* Numbers that are nowhere until asked for: i, i + 1, ... */
static int make_counting(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                         struct assay_error *err)
{
    float *to = out;

    (void)data, (void)err;
    for (uint64_t i = 0; i < n; i++)
        to[i] = (float)(first + i);
    return ASSAY_OK;
}

static struct as_value *add(struct as_model *m, const char *name, unsigned dtype, int rank,
                            int64_t a, int64_t b, uint32_t *id)
{
    struct as_dims dims = {.rank = rank, .at = {a, b}};

    *id = as_model_add_value(m, m->main, name, strlen(name), NULL);
    assert_int_not_equal(*id, AS_NONE);
    assert_true(as_type_tensor(&m->values[*id].type, &m->arena, dtype, &dims));
    return &m->values[*id];
}

static const uint32_t *ids_of(struct as_model *m, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t *ids = as_arena_alloc(&m->arena, 3 * sizeof *ids);

    assert_non_null(ids);
    ids[0] = a, ids[1] = b, ids[2] = c;
    return ids;
}

/* y = Odd(x, w) with one attribute of each kind and a symbol; w is made on demand. */
static struct as_model *build(unsigned weight_dtype)
{
    static const int64_t ints[] = {1, -2, INT64_MIN};
    static const float floats[] = {0.5F, -1e30F};
    static const struct as_text texts[] = {{"a", 1}, {"\xff\0", 2}};
    static const char *symbols[] = {"batch", NULL};
    static struct as_attr attrs[7];
    struct as_model *m = NULL;
    struct as_data *data;
    struct as_value *value;
    uint32_t x, w, y;

    assert_int_equal(as_model_new(&m, 0, NULL), ASSAY_OK);
    m->has_graph = true;
    m->opset = 17;
    assert_non_null(as_graph_new(m, NULL, "built", NULL));
    value = add(m, "x", AS_DTYPE_F32, 2, AS_DIM_UNKNOWN, WIDTH, &x);
    value->symbols = symbols;
    value = add(m, "w", weight_dtype, 2, WIDTH, WIDTH, &w);
    value->is_initializer = true;
    data = as_arena_zero(&m->arena, 1, sizeof *data);
    assert_non_null(data);
    data->dtype = (uint8_t)weight_dtype;
    data->n = (uint64_t)WIDTH * WIDTH;
    assert_true(as_dtype_bytes(weight_dtype, data->n, &data->size_bytes));
    data->make = make_counting;
    value->data = data;
    (void)add(m, "", AS_DTYPE_F32, 2, AS_DIM_UNKNOWN, WIDTH, &y); /* it must be given a name */
    attrs[0] = (struct as_attr){.name = "i", .kind = AS_ATTR_INT, .i = -7};
    attrs[1] = (struct as_attr){.name = "f", .kind = AS_ATTR_FLOAT, .f = 0.25};
    attrs[2] = (struct as_attr){.name = "s", .kind = AS_ATTR_TEXT, .text = {"text", 4}};
    attrs[3] = (struct as_attr){.name = "ints", .kind = AS_ATTR_INTS, .n = 3, .ints = ints};
    attrs[4] = (struct as_attr){.name = "floats", .kind = AS_ATTR_FLOATS, .n = 2, .floats = floats};
    attrs[5] = (struct as_attr){.name = "texts", .kind = AS_ATTR_TEXTS, .n = 2, .texts = texts};
    attrs[6] = (struct as_attr){.name = "t", .kind = AS_ATTR_TENSOR};
    attrs[6].data = as_data_over(&m->arena, AS_DTYPE_I64, 1, "\x05\0\0\0\0\0\0");
    attrs[6].type = (struct as_type){.dtype = AS_DTYPE_I64};
    assert_int_equal(as_graph_reserve_nodes(m->main, 1, NULL), ASSAY_OK);
    m->main->nodes[0] = (struct as_node){.name = "odd",
                                         .op_name = "Odd",
                                         .domain_name = "own",
                                         .n_inputs = 3,
                                         .n_outputs = 1,
                                         .n_attrs = 7,
                                         .inputs = ids_of(m, x, AS_NONE, w),
                                         .outputs = ids_of(m, y, 0, 0),
                                         .attrs = attrs};
    m->main->inputs = ids_of(m, x, 0, 0);
    m->main->outputs = ids_of(m, y, 0, 0);
    m->main->n_inputs = m->main->n_outputs = 1;
    assert_int_equal(as_model_link(m, NULL), ASSAY_OK);
    return m;
}

static void check_attrs(const struct as_node *node)
{
    struct as_ints ints;
    struct as_text text;
    const struct as_attr *attr;

    assert_int_equal(as_node_int(node, "i", 0), -7);
    assert_true(as_node_float(node, "f", 0) == 0.25);
    assert_true(as_node_text(node, "s", &text) && text.size == 4);
    assert_true(as_node_ints(node, "ints", &ints));
    assert_int_equal(ints.n, 3);
    assert_int_equal(ints.at[2], INT64_MIN);
    attr = as_node_attr(node, "floats");
    assert_int_equal(attr->n, 2);
    assert_true(attr->floats[1] == -1e30F);
    attr = as_node_attr(node, "texts");
    assert_int_equal(attr->n, 2);
    assert_int_equal(attr->texts[1].size, 2);
    attr = as_node_attr(node, "t");
    assert_int_equal(attr->type.rank, 0);
    assert_int_equal(as_data_i64(attr->data, 0), 5);
}

static void check_model(const struct as_model *m)
{
    const struct as_node *node = &m->main->nodes[0];
    const struct as_value *x = as_node_input(m->main, node, 0);
    const struct as_value *w = as_node_input(m->main, node, 2);
    float numbers[2];

    assert_int_equal(m->opset, 17);
    assert_string_equal(m->producer, "assay");
    assert_string_equal(m->main->name, "built");
    assert_int_equal(m->main->n_nodes, 1);
    assert_string_equal(node->domain_name, "own");
    assert_null(as_node_input(m->main, node, 1));
    assert_string_equal(x->symbols[0], "batch");
    assert_null(x->symbols[1]);
    assert_int_equal(x->type.dims[1], WIDTH);
    assert_true(w->is_initializer);
    assert_int_equal(w->data->n, WIDTH * WIDTH);
    assert_int_equal(as_data_read(w->data, WIDTH * WIDTH - 2, 2, numbers, NULL), ASSAY_OK);
    assert_true(numbers[0] == (float)(WIDTH * WIDTH - 2) && numbers[1] == numbers[0] + 1);
    assert_string_equal(as_node_output(m->main, node, 0)->name, "assay_tensor_2");
    check_attrs(node);
}

static void written_and_read_it_is_the_same(void **state)
{
    char folder[] = "/tmp/assay-writer-XXXXXX", path[64], data[64];
    struct as_model *m = build(AS_DTYPE_F32), *again = NULL;
    struct assay_error err = {0};
    struct stat st;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    snprintf(data, sizeof data, "%s/m.onnx.data", folder);
    for (int external = 0; external < 2; external++) {
        (void)unlink(path); /* a model is not replaced, nor are its weights */
        (void)unlink(data);
        assert_int_equal(as_onnx_save(m, path, external, &err), ASSAY_OK);
        assert_int_equal(as_model_open(&again, path, &err), ASSAY_OK);
        check_model(again);
        as_model_free(again);
        assert_int_equal(stat(path, &st), 0);
        assert_true(external ? st.st_size < 2000 : st.st_size > 4 * WIDTH * WIDTH);
        assert_int_equal(stat(data, &st), external ? 0 : -1);
    }
    assert_int_equal(st.st_size, 4 * WIDTH * WIDTH);
    as_model_free(m);
    assert_int_equal(unlink(path) | unlink(data) | rmdir(folder), 0);
}

static void what_onnx_cannot_say_is_refused(void **state)
{
    struct as_model *m = build(AS_DTYPE_Q4_0);
    struct as_attr other = {.name = "sparse_tensors", .kind = AS_ATTR_OTHER};
    struct as_out out = unit_out();
    struct assay_error err = {0};

    (void)state;
    assert_int_equal(as_onnx_write(m, &out, &err), ASSAY_ERR_UNSUPPORTED);
    assert_string_equal(err.msg, "tensor 'w' is of q4_0, which ONNX does not have");
    assert_int_equal(out.used, 0);
    as_model_free(m);

    m = build(AS_DTYPE_F32);
    m->main->nodes[0].attrs = &other;
    m->main->nodes[0].n_attrs = 1;
    assert_int_equal(as_onnx_write(m, &out, &err), ASSAY_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "attribute 'sparse_tensors' of node 'odd'"));
    m->main->nodes[0].n_attrs = 0;
    m->main->nodes[0].domain_name = "tflite";
    assert_int_equal(as_onnx_write(m, &out, &err), ASSAY_ERR_UNSUPPORTED);
    m->main->nodes[0].domain_name = "";
    m->main->nodes[0].op = AS_OP_UNKNOWN;
    m->values[1].data->n = (uint64_t)1 << 30;
    m->values[1].data->size_bytes = (uint64_t)1 << 32;
    assert_int_equal(as_onnx_write(m, &out, &err), ASSAY_ERR_LIMIT);
    assert_non_null(strstr(err.msg, "external data"));
    as_model_free(m);
    as_out_drop(&out);
}

static void numbers_that_cannot_be_had_leave_no_file(void **state)
{
    struct as_model *m = build(AS_DTYPE_F32);
    char folder[] = "/tmp/assay-writer-XXXXXX", path[64];
    struct assay_error err = {0};

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    m->values[1].data->make = NULL;
    assert_int_equal(as_onnx_save(m, path, false, &err), ASSAY_ERR_UNSUPPORTED);
    assert_int_equal(as_onnx_save(m, path, true, &err), ASSAY_ERR_UNSUPPORTED);
    as_model_free(m);
    assert_int_equal(rmdir(folder), 0); /* it is empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_and_read_it_is_the_same),
        cmocka_unit_test(what_onnx_cannot_say_is_refused),
        cmocka_unit_test(numbers_that_cannot_be_had_leave_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
