/* tests/unit/test_tflite_types.c - every operator of TensorFlow Lite with every pair of declared
 * types, from the bytes of a file to a run. What a file declares is either what its operator makes
 * or refused; under ASan no pair may touch memory that it was not given. */
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "bytes_kit.h"
#include "engine/engine.h"
#include "flat_kit.h"
#include "format/mapped_file.h"
#include "format/tflite/tflite_options.h"

enum { N_TYPES = 19, MAX_PARTS = 8 };

/* Inputs by a letter and their shape: T of the type under test; C a constant of that type; B of
 * booleans; I a constant of the i32 that follow ':'. Outputs are shapes of the other type. Options
 * are the number of their kind, the bytes of each field as in flat_table(), and values. */
struct types_case {
    const char *op, *inputs, *outputs;
    uint8_t kind;
    const char *fields;
    int32_t values[8];
};

#define IMAGE "T1x4x4x2"

static const struct types_case cases[] = {
    {"CONV_2D", IMAGE "; C3x2x2x2; C3", "1x3x3x3", 1, "144144", {1, 1, 1, 1, 1, 1}},
    {"DEPTHWISE_CONV_2D", IMAGE "; C1x2x2x2; C2", "1x3x3x2", 2, "1444144", {1, 1, 1, 1, 3, 1, 1}},
    {"TRANSPOSE_CONV", "I4:1,8,8,3; C3x2x2x2; " IMAGE, "1x8x8x3", 49, "1441", {0, 2, 2, 0}},
    {"FULLY_CONNECTED", "T2x4; C3x4; C3", "2x3", 8, "1111", {3, 0, 0, 0}},
    {"BATCH_MATMUL", "T2x3x4; T2x4x5", "2x3x5", 101, "11", {0}},
    {"AVERAGE_POOL_2D", IMAGE, "1x2x2x2", 5, "144441", {1, 2, 2, 2, 2, 0}},
    {"MAX_POOL_2D", IMAGE, "1x2x2x2", 5, "144441", {1, 2, 2, 2, 2, 1}},
    {"L2_POOL_2D", IMAGE, "1x2x2x2", 5, "144441", {1, 2, 2, 2, 2, 0}},
    {"ADD", "T2x3; T3", "2x3", 11, "1", {1}},
    {"SUB", "T2x3; T3", "2x3", 28, "1", {4}},
    {"MUL", "T2x3; C3", "2x3", 21, "1", {3}},
    {"DIV", "T2x3; T3", "2x3", 29, "1", {0}},
    {"POW", "T2x3; T3", "2x3", 0, "", {0}},
    {"MAXIMUM", "T2x3; T3", "2x3", 0, "", {0}},
    {"MINIMUM", "T2x3; T3", "2x3", 0, "", {0}},
    {"ADD_N", "T2x3; T2x3; T2x3", "2x3", 0, "", {0}},
    {"SQUARED_DIFFERENCE", "T2x3; T3", "2x3", 0, "", {0}},
    {"FLOOR_DIV", "T2x3; T3", "2x3", 0, "", {0}},
    {"FLOOR_MOD", "T2x3; T3", "2x3", 0, "", {0}},
    {"ATAN2", "T2x3; T3", "2x3", 0, "", {0}},
    {"BITWISE_XOR", "T2x3; T3", "2x3", 0, "", {0}},
    {"RIGHT_SHIFT", "T2x3; T3", "2x3", 0, "", {0}},
    {"LESS", "T2x3; T3", "2x3", 0, "", {0}},
    {"LESS_EQUAL", "T2x3; T3", "2x3", 0, "", {0}},
    {"GREATER", "T2x3; T3", "2x3", 0, "", {0}},
    {"GREATER_EQUAL", "T2x3; T3", "2x3", 0, "", {0}},
    {"EQUAL", "T2x3; T3", "2x3", 0, "", {0}},
    {"NOT_EQUAL", "T2x3; T3", "2x3", 0, "", {0}},
    {"LOGICAL_AND", "T2x3; T3", "2x3", 0, "", {0}},
    {"LOGICAL_OR", "T2x3; T3", "2x3", 0, "", {0}},
    {"SELECT", "B2x3; T2x3; T2x3", "2x3", 0, "", {0}},
    {"SELECT_V2", "B2x3; T2x3; T3", "2x3", 0, "", {0}},
    {"PRELU", "T2x3; C3", "2x3", 0, "", {0}},
    {"LEAKY_RELU", "T2x3", "2x3", 75, "4", {0}},
    {"GELU", "T2x3", "2x3", 116, "1", {1}},
    {"SOFTMAX", "T2x3", "2x3", 9, "4", {0x3f800000}},
    {"L2_NORMALIZATION", "T2x3", "2x3", 11, "1", {0}},
    {"MEAN", "T2x3x4; I1:1", "2x4", 27, "1", {0}},
    {"SUM", "T2x3x4; I1:1", "2x4", 27, "1", {0}},
    {"REDUCE_PROD", "T2x3x4; I1:1", "2x4", 27, "1", {0}},
    {"REDUCE_MAX", "T2x3x4; I2:1,2", "2x1x1", 27, "1", {1}},
    {"REDUCE_MIN", "T2x3x4; I1:1", "2x4", 27, "1", {0}},
    {"REDUCE_ANY", "T2x3x4; I1:1", "2x4", 27, "1", {0}},
    {"REDUCE_ALL", "T2x3x4; I1:1", "2x4", 27, "1", {0}},
    {"ARG_MAX", "T2x3; I:1", "2", 40, "1", {4}},
    {"ARG_MIN", "T2x3; I:1", "2", 57, "1", {2}},
    {"TOPK_V2", "T2x3; I:2", "2x2; 2x2", 0, "", {0}},
    {"CUMSUM", "T2x3; I:1", "2x3", 102, "11", {0}},
    {"CONCATENATION", "T2x3; T2x4", "2x7", 10, "41", {1, 0}},
    {"PACK", "T2x3; T2x3", "2x2x3", 59, "44", {2, 1}},
    {"UNPACK", "T2x3", "3; 3", 64, "44", {2, 0}},
    {"SPLIT", "I:1; T2x4", "2x2; 2x2", 35, "4", {2}},
    {"SPLIT_V", "T2x4; I2:1,3; I:1", "2x1; 2x3", 79, "4", {2}},
    {"SLICE", "T4x5; I2:1,2; I2:2,-1", "2x3", 0, "", {0}},
    {"STRIDED_SLICE", "T4x5; I2:0,1; I2:4,5; I2:2,2", "2x2", 32, "444441", {0}},
    {"TRANSPOSE", "T2x3x4; I3:2,0,1", "4x2x3", 0, "", {0}},
    {"PAD", "T2x3; I2x2:1,0,0,2", "3x5", 0, "", {0}},
    {"PADV2", "T2x3; I2x2:1,0,0,2; C", "3x5", 0, "", {0}},
    {"MIRROR_PAD", "T2x3; I2x2:1,0,0,2", "3x5", 77, "1", {0}},
    {"GATHER", "T4x5; I2:1,3", "2x5", 23, "44", {0, 0}},
    {"GATHER_ND", "T4x5; I2x1:1,3", "2x5", 0, "", {0}},
    {"SCATTER_ND", "I2x1:0,2; T2x3; I2:4,3", "4x3", 0, "", {0}},
    {"ONE_HOT", "I2:0,1; I:3; C; C", "2x3", 61, "4", {-1}},
    {"EMBEDDING_LOOKUP", "I2:0,1; C3x4", "2x4", 0, "", {0}},
    {"TILE", "T2x3; I2:2,1", "4x3", 0, "", {0}},
    {"BROADCAST_TO", "T3; I2:2,3", "2x3", 0, "", {0}},
    {"FILL", "I2:2,3; T", "2x3", 0, "", {0}},
    {"RANGE", "T; T; T", "5", 0, "", {0}},
    {"SHAPE", "T2x3", "2", 55, "1", {2}},
    {"RANK", "T2x3", "", 0, "", {0}},
    {"WHERE", "T2x3", "6x2", 0, "", {0}},
    {"CAST", "T2x3", "2x3", 37, "11", {0}},
    {"RESHAPE", "T2x3; I2:3,2", "3x2", 0, "", {0}},
    {"SQUEEZE", "T2x1x3", "2x3", 0, "", {0}},
    {"EXPAND_DIMS", "T2x3; I:0", "1x2x3", 0, "", {0}},
    {"RESIZE_BILINEAR", IMAGE "; I2:8,6", "1x8x6x2", 15, "0011", {0, 0, 0, 1}},
    {"RESIZE_NEAREST_NEIGHBOR", IMAGE "; I2:8,6", "1x8x6x2", 74, "11", {0, 0}},
    {"DEPTH_TO_SPACE", "T1x2x2x8", "1x4x4x2", 94, "4", {2}},
    {"SPACE_TO_DEPTH", "T1x4x4x2", "1x2x2x8", 19, "4", {2}},
    {"SPACE_TO_BATCH_ND", "T1x4x4x2; I2:2,2; I2x2:0,0,0,0", "4x2x2x2", 0, "", {0}},
    {"BATCH_TO_SPACE_ND", "T4x2x2x2; I2:2,2; I2x2:0,0,0,0", "1x4x4x2", 0, "", {0}},
    {"REVERSE_V2", "T2x3; I1:1", "2x3", 0, "", {0}},
    {"DYNAMIC_UPDATE_SLICE", "T4x5; T2x2; I2:0,1", "4x5", 0, "", {0}},
    {"CONV_3D",
     "T1x4x4x4x2; C2x2x2x2x3; C3",
     "1x3x3x3x3",
     106,
     "14441444",
     {1, 1, 1, 1, 1, 1, 1, 1}},
    {"SVDF", "T2x4; C6x4; C6x3; C3; T2x18", "2x3", 6, "411", {2, 0, 0}},
};

/* What a case has no row for: an operator of one input that keeps its shape. */
static const struct types_case plain_case = {NULL, "T2x3", "2x3", 0, "", {0}};

struct file {
    struct as_buffer b;
    size_t tensors, buffers;
    uint32_t n_tensors, n_buffers;
    bool quantized;
};

static uint32_t read_shape(const char **at, int32_t *dims)
{
    uint32_t n = 0;

    while (**at >= '0' && **at <= '9') {
        dims[n++] = (int32_t)strtol(*at, (char **)(uintptr_t)at, 10);
        *at += **at == 'x';
    }
    return n;
}

static uint32_t type_bytes(unsigned type)
{
    unsigned dtype;

    return as_tflite_dtype(type, &dtype) ? as_dtype_at(dtype)->block_bytes : 0;
}

static void add_quantization(struct file *f, size_t tensor)
{
    size_t q = flat_table(&f->b, "0044004"), scale;

    flat_link(&f->b, tensor, 4, q);
    scale = flat_vector(&f->b, 1, 4);
    flat_set(&f->b, scale + 4, 0x3f000000, 4);
    flat_link(&f->b, q, 2, scale);
    flat_link(&f->b, q, 3, flat_vector(&f->b, 1, 8));
}

/* A tensor; `list` has the numbers of a constant of i32, of others all are zero. */
static void add_tensor(struct file *f, unsigned type, const int32_t *dims, uint32_t rank,
                       bool is_constant, const char *list)
{
    size_t t = flat_table(&f->b, f->quantized ? "414440001" : "414400001"), data;
    uint32_t n = 1;
    char name[8];

    for (uint32_t i = 0; i < rank; i++)
        n *= (uint32_t)dims[i];
    (void)snprintf(name, sizeof name, "t%u", f->n_tensors);
    flat_element(&f->b, f->tensors, f->n_tensors++, t);
    flat_link(&f->b, t, 0, flat_ints(&f->b, rank, dims));
    flat_field(&f->b, t, 1, type, 1);
    flat_link(&f->b, t, 3, flat_text(&f->b, name));
    flat_field(&f->b, t, 8, 1, 1);
    if (f->quantized)
        add_quantization(f, t);
    if (!is_constant)
        return;
    flat_field(&f->b, t, 2, f->n_buffers, 4);
    t = flat_table(&f->b, "4");
    flat_element(&f->b, f->buffers, f->n_buffers++, t);
    data = flat_vector(&f->b, n * type_bytes(type), 1);
    flat_link(&f->b, t, 0, data);
    for (uint32_t i = 0; list && i < n; i++) {
        flat_set(&f->b, data + 4 + 4 * (size_t)i,
                 (uint32_t)strtol(list, (char **)(uintptr_t)&list, 10), 4);
        list += *list == ',';
    }
}

/* The tensors of a list, and which of them are inputs of the graph. */
static uint32_t add_tensors(struct file *f, const char *text, unsigned type, int32_t *inputs,
                            uint32_t *n_inputs)
{
    uint32_t n = 0;

    for (const char *at = text; *at || n == 0; n++) {
        int kind = *at >= 'A' && *at <= 'Z' ? *at++ : 'O';
        bool is_constant = kind == 'C' || kind == 'I';
        unsigned own = kind == 'B' ? 6 : kind == 'I' ? 2 : type;
        int32_t dims[8] = {0};
        uint32_t rank = read_shape(&at, dims);

        if (kind != 'O' && !is_constant)
            inputs[(*n_inputs)++] = (int32_t)f->n_tensors;
        add_tensor(f, own, dims, rank, is_constant, *at == ':' ? at + 1 : NULL);
        at += strcspn(at, ";");
        at += *at == ';';
        at += *at == ' ';
    }
    return n;
}

static void add_operator(struct file *f, size_t graph, const struct types_case *c, uint32_t n_in,
                         uint32_t n_out)
{
    size_t operators = flat_vector(&f->b, 1, 4), op, options;
    int32_t ids[2 * MAX_PARTS] = {0};

    for (uint32_t i = 0; i < n_in + n_out; i++)
        ids[i] = (int32_t)i;
    flat_link(&f->b, graph, 3, operators);
    op = flat_table(&f->b, c->kind ? "44414" : "444");
    flat_element(&f->b, operators, 0, op);
    flat_link(&f->b, op, 1, flat_ints(&f->b, n_in, ids));
    flat_link(&f->b, op, 2, flat_ints(&f->b, n_out, ids + n_in));
    if (!c->kind)
        return;
    flat_field(&f->b, op, 3, c->kind, 1);
    options = flat_table(&f->b, c->fields);
    flat_link(&f->b, op, 4, options);
    for (unsigned i = 0; c->fields[i]; i++)
        if (c->fields[i] != '0')
            flat_field(&f->b, options, i, (uint32_t)c->values[i], (unsigned)(c->fields[i] - '0'));
}

static struct as_buffer make_file(const struct types_case *c, unsigned code, unsigned in,
                                  unsigned out, bool quantized)
{
    struct file f = {.quantized = quantized, .n_buffers = 1};
    size_t model, codes, subgraphs, graph, t;
    uint32_t n_in, n_out, n_inputs = 0;
    int32_t inputs[MAX_PARTS] = {0};

    put_u32(&f.b, 0);
    put_bytes(&f.b, "TFL3", 4);
    model = flat_table(&f.b, "44404");
    flat_set(&f.b, 0, model, 4);
    flat_field(&f.b, model, 0, 3, 4);
    codes = flat_vector(&f.b, 1, 4);
    flat_link(&f.b, model, 1, codes);
    t = flat_table(&f.b, "1004");
    flat_element(&f.b, codes, 0, t);
    flat_field(&f.b, t, 0, code < 127 ? code : 127, 1);
    flat_field(&f.b, t, 3, code, 4);
    subgraphs = flat_vector(&f.b, 1, 4);
    flat_link(&f.b, model, 2, subgraphs);
    f.buffers = flat_vector(&f.b, MAX_PARTS, 4);
    flat_link(&f.b, model, 4, f.buffers);
    t = flat_table(&f.b, "");
    for (uint32_t i = 0; i < MAX_PARTS; i++)
        flat_element(&f.b, f.buffers, i, t);
    graph = flat_table(&f.b, "4444");
    flat_element(&f.b, subgraphs, 0, graph);
    f.tensors = flat_vector(&f.b, 2 * MAX_PARTS, 4);
    flat_link(&f.b, graph, 0, f.tensors);
    n_in = add_tensors(&f, c->inputs, in, inputs, &n_inputs);
    n_out = add_tensors(&f, c->outputs, out, NULL, NULL);
    flat_set(&f.b, f.tensors, f.n_tensors, 4);
    flat_link(&f.b, graph, 1, flat_ints(&f.b, n_inputs, inputs));
    t = flat_vector(&f.b, n_out, 4);
    for (uint32_t i = 0; i < n_out; i++)
        flat_set(&f.b, t + 4 + 4 * (size_t)i, n_in + i, 4);
    flat_link(&f.b, graph, 2, t);
    add_operator(&f, graph, c, n_in, n_out);
    return f.b;
}

/* Runs it: what comes out has the declared type and as many bytes as that takes. */
static bool run_file(struct as_model *model, const char *what)
{
    const struct as_engine_options options = {.reference = true};
    struct as_engine *engine = NULL;
    struct assay_error err = {0};
    int rc = as_engine_new(&engine, model, &options, &err);

    if (rc == ASSAY_OK) {
        for (size_t i = 0; as_engine_input_value(engine, i); i++) {
            struct as_val *val = as_engine_input(engine, i);

            for (uint64_t k = 0; val->present && k < val->n; k++)
                if (val->dtype != AS_DTYPE_STRING && as_dtype_at(val->dtype)->block_elems == 1)
                    as_val_put_i64(val, k, i == 1 && val->rank == 0 ? 5 : 1);
        }
        /* Each tensor in memory of its own: what leaves it meets a wall. */
        rc = as_engine_run(engine, AS_RUN_MEMORY, NULL, &err);
    }
    if (rc < 0 && !err.msg[0])
        fail_msg("%s: refused without a sentence", what);
    for (size_t i = 0; rc == ASSAY_OK && i < model->main->n_outputs; i++) {
        const struct as_val *val = as_engine_output(engine, i);
        const struct as_value *value = as_engine_output_value(engine, i);

        if (val->dtype != value->declared.dtype && value->declared.dtype != AS_DTYPE_UNKNOWN)
            fail_msg("%s: output %zu is %s, not %s", what, i, as_dtype_name(val->dtype),
                     as_dtype_name(value->declared.dtype));
    }
    as_engine_free(engine);
    return rc == ASSAY_OK;
}

static bool try_pair(const struct types_case *c, unsigned code, unsigned in, unsigned out,
                     bool quantized)
{
    struct as_buffer b = make_file(c, code, in, out, quantized);
    struct as_model *model;
    struct assay_error err;
    char what[80];
    bool ran = false;

    (void)snprintf(what, sizeof what, "%s of type %u to %u%s", as_tflite_op_name(code), in, out,
                   quantized ? ", quantized" : "");
    if (kit_read(&as_format_tflite, &b, &model, &err) == ASSAY_OK) {
        err = (struct assay_error){0};
        if (as_infer_shapes(model, NULL, NULL, &err) < 0 && !err.msg[0])
            fail_msg("%s: refused without a sentence", what);
        ran = run_file(model, what);
    } else if (!err.msg[0]) {
        fail_msg("%s: refused without a sentence", what);
    }
    as_model_free(model);
    as_buffer_fini(&b);
    return ran;
}

static const struct types_case *find_case(unsigned code)
{
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        if (strcmp(cases[i].op, as_tflite_op_name(code)) == 0)
            return &cases[i];
    return &plain_case;
}

static void every_operator_takes_every_pair_of_types(void **state)
{
    unsigned n_ran = 0;

    (void)state;
    for (unsigned code = 0; as_tflite_op_name(code); code++)
        for (unsigned pair = 0; pair < N_TYPES * N_TYPES; pair++)
            for (int quantized = 0; quantized < 2; quantized++)
                n_ran += try_pair(find_case(code), code, pair / N_TYPES, pair % N_TYPES, quantized);
    print_message("%u files ran\n", n_ran);
    assert_true(n_ran > 500);
}

/* With floats in and the type that belongs there out, what has a row here and a kernel runs. */
static void operators_of_the_declared_types_run(void **state)
{
    static const char *const run[] = {
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "TRANSPOSE_CONV",
        "FULLY_CONNECTED",
        "ADD",
        "MUL",
        "POW",
        "MAXIMUM",
        "ADD_N",
        "SELECT",
        "PRELU",
        "LEAKY_RELU",
        "GELU",
        "SOFTMAX",
        "MEAN",
        "REDUCE_MAX",
        "PACK",
        "UNPACK",
        "SPLIT",
        "SPLIT_V",
        "SLICE",
        "STRIDED_SLICE",
        "TRANSPOSE",
        "PAD",
        "PADV2",
        "MIRROR_PAD",
        "GATHER",
        "GATHER_ND",
        "TILE",
        "BROADCAST_TO",
        "FILL",
        "RANGE",
        "RESHAPE",
        "SQUEEZE",
        "EXPAND_DIMS",
        "RESIZE_BILINEAR",
        "L2_POOL_2D",
        "AVERAGE_POOL_2D",
        "MAX_POOL_2D",
        "BATCH_MATMUL",
        "FLOOR",
        "CEIL",
        "ROUND",
        "RSQRT",
        "SQUARE",
        "RELU6",
        "RELU_0_TO_1",
        "ELU",
        "LOG_SOFTMAX",
        "L2_NORMALIZATION",
        "ZEROS_LIKE",
        "SQUARED_DIFFERENCE",
        "CAST",
        "CONCATENATION",
        "DEPTH_TO_SPACE",
        "SPACE_TO_DEPTH",
        "HARD_SWISH",
        "SPACE_TO_BATCH_ND",
        "TANH",
        "BATCH_TO_SPACE_ND",
        "LOGISTIC",
        "SIGN",
        "SQRT",
        "RESIZE_NEAREST_NEIGHBOR",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(run); i++)
        for (unsigned code = 0; as_tflite_op_name(code); code++)
            if (strcmp(as_tflite_op_name(code), run[i]) == 0) {
                if (!try_pair(find_case(code), code, 0, 0, false))
                    fail_msg("%s of floats does not run", run[i]);
                /* Other types than the operator makes are refused. */
                if (strcmp(run[i], "CAST") != 0 && try_pair(find_case(code), code, 0, 6, false))
                    fail_msg("%s of floats declared as booleans runs", run[i]);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_takes_every_pair_of_types),
        cmocka_unit_test(operators_of_the_declared_types_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
