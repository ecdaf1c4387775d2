/* format/tflite/tflite_lower.c - operators of TensorFlow Lite as operators of ONNX, by one table.
 * Each layer stays one node that reads the tensors it reads in the file, in ONNX's order; options
 * become ONNX's attributes. */
#include "format/tflite/tflite_lower.h"

#include <assert.h>
#include <string.h>

enum { MAX_ATTRS = 8 };

struct lowering {
    const struct as_model *model;
    struct as_arena *arena;
    const struct as_node *from;   /* the node as the file has it */
    struct as_node *node;         /* the node in ONNX's terms */
    struct as_attr at[MAX_ATTRS]; /* its attributes */
    uint32_t n;
    bool short_of_memory;
};

typedef void (*lower_fn)(struct lowering *l);

struct as_tflite_row {
    const char *name;
    enum as_op op;
    lower_fn lower; /* NULL: the options already have ONNX's names, or there are none */
};

/* ---- attributes ---- */

static void put(struct lowering *l, struct as_attr attr)
{
    assert(l->n < MAX_ATTRS);
    l->at[l->n++] = attr;
}

static void put_int(struct lowering *l, const char *name, int64_t value)
{
    put(l, (struct as_attr){.name = name, .kind = AS_ATTR_INT, .i = value});
}

static void put_float(struct lowering *l, const char *name, double value)
{
    put(l, (struct as_attr){.name = name, .kind = AS_ATTR_FLOAT, .f = value});
}

static void put_text(struct lowering *l, const char *name, const char *text)
{
    put(l, (struct as_attr){.name = name, .kind = AS_ATTR_TEXT, .text = {text, strlen(text)}});
}

/* A list of the options named, each 1 when the file leaves it out. */
static void put_list(struct lowering *l, const char *name, const char *const *options, uint32_t n)
{
    int64_t *ints = as_arena_zero(l->arena, n, sizeof *ints);

    for (uint32_t i = 0; ints && i < n; i++)
        ints[i] = as_node_int(l->from, options[i], 1);
    l->short_of_memory |= !ints;
    put(l, (struct as_attr){.name = name, .kind = AS_ATTR_INTS, .n = ints ? n : 0, .ints = ints});
}

static void keep(struct lowering *l, const char *name)
{
    const struct as_attr *attr = as_node_attr(l->from, name);

    if (attr)
        put(l, *attr);
}

static void lower_fused(struct lowering *l)
{
    static const char name[] = "fused_activation_function";
    struct as_text text;

    if (as_node_text(l->from, name, &text) && text.size > 0 &&
        !as_node_text_is(l->from, name, "NONE"))
        keep(l, name);
}

static const struct as_value *output_of(const struct lowering *l)
{
    uint32_t id = l->from->n_outputs ? l->from->outputs[0] : AS_NONE;

    return id == AS_NONE ? NULL : &l->model->values[id];
}

static void set_inputs(struct lowering *l, const uint32_t *at, uint32_t n)
{
    uint32_t *copy = as_arena_zero(l->arena, n, sizeof *copy);

    l->short_of_memory |= !copy;
    if (!copy)
        return;
    memcpy(copy, at, n * sizeof *copy);
    l->node->inputs = copy;
    l->node->n_inputs = n;
}

static uint32_t input_at(const struct lowering *l, uint32_t i)
{
    return i < l->from->n_inputs ? l->from->inputs[i] : AS_NONE;
}

/* The number that ONNX has for a type; 0: none. */
static int64_t onnx_type(unsigned dtype)
{
    for (int64_t i = 1; i < 32 && dtype != AS_DTYPE_UNKNOWN; i++)
        if (as_dtype_of_onnx(i) == dtype)
            return i;
    return 0;
}

/* ---- layers: channels come last ---- */

static void put_window(struct lowering *l, bool deep)
{
    static const char *const strides[] = {"stride_d", "stride_h", "stride_w"};

    put_text(l, "auto_pad", as_node_text_is(l->from, "padding", "SAME") ? "SAME_UPPER" : "VALID");
    put_list(l, "strides", deep ? strides : strides + 1, deep ? 3 : 2);
    lower_fused(l);
}

static void put_conv(struct lowering *l, bool deep, const char *layout)
{
    static const char *const dilations[] = {"dilation_d_factor", "dilation_h_factor",
                                            "dilation_w_factor"};

    put_window(l, deep);
    put_list(l, "dilations", deep ? dilations : dilations + 1, deep ? 3 : 2);
    put_text(l, "filter_layout", layout);
}

static void lower_conv(struct lowering *l)
{
    put_conv(l, false, "OHWI");
}

static void lower_depthwise(struct lowering *l)
{
    put_conv(l, false, "1HWO");
}

static void lower_conv_3d(struct lowering *l)
{
    put_conv(l, true, "DHWIO");
}

static void lower_pool(struct lowering *l)
{
    static const char *const lengths[] = {"filter_height", "filter_width"};

    put_window(l, false);
    put_list(l, "kernel_shape", lengths, 2);
    put_int(l, "channels_last", 1);
}

/* The square root of the mean of squares, where ONNX's takes that of the sum. */
static void lower_l2_pool(struct lowering *l)
{
    lower_pool(l);
    put_int(l, "mean", 1);
}

static void lower_dense(struct lowering *l)
{
    put_int(l, "transB", 1);
    put_int(l, "flatten_rows", as_node_int(l->from, "keep_num_dims", 0) ? 2 : 1);
    lower_fused(l);
    if (as_node_int(l->from, "weights_format", 0) != 0) /* shuffled for one processor */
        l->node->op = AS_OP_UNKNOWN;
}

static void lower_batch_matmul(struct lowering *l)
{
    bool a = as_node_int(l->from, "adj_x", 0) != 0, b = as_node_int(l->from, "adj_y", 0) != 0;

    put_int(l, "transA", a);
    put_int(l, "transB", b);
    l->node->op = a || b ? AS_OP_MS_FusedMatMul : AS_OP_MatMul;
}

/* ---- elements ---- */

static void put_clip(struct lowering *l, double low, double high)
{
    put_float(l, "min", low);
    put_float(l, "max", high);
}

static void lower_relu_6(struct lowering *l)
{
    put_clip(l, 0, 6);
}

static void lower_relu_n1(struct lowering *l)
{
    put_clip(l, -1, 1);
}

static void lower_relu_1(struct lowering *l)
{
    put_clip(l, 0, 1);
}

static void lower_gelu(struct lowering *l)
{
    put_text(l, "approximate", as_node_int(l->from, "approximate", 0) ? "tanh" : "none");
}

static void lower_shift(struct lowering *l)
{
    put_text(l, "direction", "RIGHT");
}

static void lower_square(struct lowering *l)
{
    set_inputs(l, (const uint32_t[]){input_at(l, 0), input_at(l, 0)}, 2);
}

/* The type to cast to is that of the output, whatever the options say: so do other runtimes. */
static void lower_cast(struct lowering *l)
{
    const struct as_value *out = output_of(l);

    put_int(l, "to", out ? onnx_type(out->type.dtype) : 0);
}

static void lower_quantize(struct lowering *l)
{
    const struct as_value *out = output_of(l);
    bool quantized = as_value_is_quantized(out);

    put_int(l, "to", onnx_type(quantized ? out->type.dtype : (unsigned)AS_DTYPE_F32));
}

static void lower_dequantize(struct lowering *l)
{
    put_int(l, "to", onnx_type(AS_DTYPE_F32));
}

/* ---- along axes ---- */

static void lower_softmax(struct lowering *l)
{
    double beta = as_node_float(l->from, "beta", 1);

    put_int(l, "axis", -1);
    if (beta < 1 || beta > 1)
        put_float(l, "beta", beta);
}

static void lower_l2_normalization(struct lowering *l)
{
    put_int(l, "axis", -1);
    put_int(l, "p", 2);
    put_float(l, "epsilon", 1e-6);
    lower_fused(l);
}

/* Axes may be a list of none: then nothing is reduced. */
static void lower_reduce(struct lowering *l)
{
    put_int(l, "keepdims", as_node_int(l->from, "keep_dims", 0));
    put_int(l, "noop_with_empty_axes", 1);
}

static void put_index_type(struct lowering *l)
{
    const struct as_value *out = output_of(l);
    bool wide = out && out->type.dtype == AS_DTYPE_I64;

    put_int(l, "output_dtype", onnx_type(wide ? AS_DTYPE_I64 : AS_DTYPE_I32));
}

static void lower_arg(struct lowering *l)
{
    put_int(l, "keepdims", 0);
    put_index_type(l);
}

static void lower_concatenation(struct lowering *l)
{
    keep(l, "axis");
    lower_fused(l);
}

/* The axis is input 2, as that of SPLIT_V, which also has lengths before it. */
static void lower_split(struct lowering *l)
{
    set_inputs(l, (const uint32_t[]){input_at(l, 1), AS_NONE, input_at(l, 0)}, 3);
}

static void lower_pad(struct lowering *l)
{
    put_text(l, "mode", "constant");
}

static void lower_mirror_pad(struct lowering *l)
{
    put_text(l, "mode", as_node_int(l->from, "mode", 0) ? "symmetric" : "reflect");
}

/* Rows and columns are axes 1 and 2; their new lengths are input 3. */
static void put_resize(struct lowering *l, const char *mode)
{
    static const int64_t axes[] = {1, 2};
    bool corners = as_node_int(l->from, "align_corners", 0) != 0;
    bool half = as_node_int(l->from, "half_pixel_centers", 0) != 0;

    put(l, (struct as_attr){.name = "axes", .kind = AS_ATTR_INTS, .n = 2, .ints = axes});
    put_text(l, "mode", mode);
    put_text(l, "coordinate_transformation_mode",
             half      ? "half_pixel"
             : corners ? "align_corners"
                       : "asymmetric");
    put_text(l, "nearest_mode", half || corners ? "round_prefer_ceil" : "floor");
    set_inputs(l, (const uint32_t[]){input_at(l, 0), AS_NONE, AS_NONE, input_at(l, 1)}, 4);
}

static void lower_bilinear(struct lowering *l)
{
    put_resize(l, "linear");
}

static void lower_nearest(struct lowering *l)
{
    put_resize(l, "nearest");
}

static void lower_squeeze(struct lowering *l)
{
    struct as_ints axes;

    if (as_node_ints(l->from, "squeeze_dims", &axes) && axes.n > 0)
        put(l, (struct as_attr){
                   .name = "axes", .kind = AS_ATTR_INTS, .n = (uint32_t)axes.n, .ints = axes.at});
}

static void lower_reverse_sequence(struct lowering *l)
{
    put_int(l, "time_axis", as_node_int(l->from, "seq_dim", 0));
    put_int(l, "batch_axis", as_node_int(l->from, "batch_dim", 0));
}

/* ---- the table ---- */

static const struct as_tflite_row rows[] = {
    {"CONV_2D", AS_OP_Conv, lower_conv},
    {"DEPTHWISE_CONV_2D", AS_OP_Conv, lower_depthwise},
    {"CONV_3D", AS_OP_Conv, lower_conv_3d},
    {"AVERAGE_POOL_2D", AS_OP_AveragePool, lower_pool},
    {"MAX_POOL_2D", AS_OP_MaxPool, lower_pool},
    {"L2_POOL_2D", AS_OP_LpPool, lower_l2_pool},
    {"FULLY_CONNECTED", AS_OP_Gemm, lower_dense},
    {"BATCH_MATMUL", AS_OP_MatMul, lower_batch_matmul},
    {"ADD", AS_OP_Add, lower_fused},
    {"SUB", AS_OP_Sub, lower_fused},
    {"MUL", AS_OP_Mul, lower_fused},
    {"DIV", AS_OP_Div, lower_fused},
    {"POW", AS_OP_Pow, NULL},
    {"MAXIMUM", AS_OP_Max, NULL},
    {"MINIMUM", AS_OP_Min, NULL},
    {"ADD_N", AS_OP_Sum, NULL},
    {"SQUARE", AS_OP_Mul, lower_square},
    {"LESS", AS_OP_Less, NULL},
    {"LESS_EQUAL", AS_OP_LessOrEqual, NULL},
    {"GREATER", AS_OP_Greater, NULL},
    {"GREATER_EQUAL", AS_OP_GreaterOrEqual, NULL},
    {"EQUAL", AS_OP_Equal, NULL},
    {"LOGICAL_AND", AS_OP_And, NULL},
    {"LOGICAL_OR", AS_OP_Or, NULL},
    {"LOGICAL_NOT", AS_OP_Not, NULL},
    {"BITWISE_XOR", AS_OP_BitwiseXor, NULL},
    {"RIGHT_SHIFT", AS_OP_BitShift, lower_shift},
    {"SELECT", AS_OP_Where, NULL},
    {"SELECT_V2", AS_OP_Where, NULL},
    {"RELU", AS_OP_Relu, NULL},
    {"RELU6", AS_OP_Clip, lower_relu_6},
    {"RELU_N1_TO_1", AS_OP_Clip, lower_relu_n1},
    {"RELU_0_TO_1", AS_OP_Clip, lower_relu_1},
    {"LOGISTIC", AS_OP_Sigmoid, NULL},
    {"TANH", AS_OP_Tanh, NULL},
    {"EXP", AS_OP_Exp, NULL},
    {"LOG", AS_OP_Log, NULL},
    {"SQRT", AS_OP_Sqrt, NULL},
    {"NEG", AS_OP_Neg, NULL},
    {"ABS", AS_OP_Abs, NULL},
    {"SIGN", AS_OP_Sign, NULL},
    {"SIN", AS_OP_Sin, NULL},
    {"COS", AS_OP_Cos, NULL},
    {"FLOOR", AS_OP_Floor, NULL},
    {"CEIL", AS_OP_Ceil, NULL},
    {"ROUND", AS_OP_Round, NULL},
    {"ELU", AS_OP_Elu, NULL},
    {"LEAKY_RELU", AS_OP_LeakyRelu, NULL},
    {"PRELU", AS_OP_PRelu, NULL},
    {"HARD_SWISH", AS_OP_HardSwish, NULL},
    {"GELU", AS_OP_Gelu, lower_gelu},
    {"CAST", AS_OP_Cast, lower_cast},
    {"QUANTIZE", AS_OP_Cast, lower_quantize},
    {"DEQUANTIZE", AS_OP_Cast, lower_dequantize},
    {"SOFTMAX", AS_OP_Softmax, lower_softmax},
    {"LOG_SOFTMAX", AS_OP_LogSoftmax, lower_softmax},
    {"L2_NORMALIZATION", AS_OP_LpNormalization, lower_l2_normalization},
    {"MEAN", AS_OP_ReduceMean, lower_reduce},
    {"SUM", AS_OP_ReduceSum, lower_reduce},
    {"REDUCE_MAX", AS_OP_ReduceMax, lower_reduce},
    {"REDUCE_MIN", AS_OP_ReduceMin, lower_reduce},
    {"REDUCE_PROD", AS_OP_ReduceProd, lower_reduce},
    {"ARG_MAX", AS_OP_ArgMax, lower_arg},
    {"ARG_MIN", AS_OP_ArgMin, lower_arg},
    {"CUMSUM", AS_OP_CumSum, NULL},
    {"CONCATENATION", AS_OP_Concat, lower_concatenation},
    {"SPLIT", AS_OP_Split, lower_split},
    {"SPLIT_V", AS_OP_Split, NULL},
    {"PAD", AS_OP_Pad, lower_pad},
    {"PADV2", AS_OP_Pad, lower_pad},
    {"MIRROR_PAD", AS_OP_Pad, lower_mirror_pad},
    {"RESIZE_BILINEAR", AS_OP_Resize, lower_bilinear},
    {"RESIZE_NEAREST_NEIGHBOR", AS_OP_Resize, lower_nearest},
    {"TRANSPOSE", AS_OP_Transpose, NULL},
    {"GATHER", AS_OP_Gather, NULL},
    {"GATHER_ND", AS_OP_GatherND, NULL},
    {"TILE", AS_OP_Tile, NULL},
    {"BROADCAST_TO", AS_OP_Expand, NULL},
    {"RANGE", AS_OP_Range, NULL},
    {"SHAPE", AS_OP_Shape, put_index_type},
    {"SQUEEZE", AS_OP_Squeeze, lower_squeeze},
    {"EXPAND_DIMS", AS_OP_Unsqueeze, NULL},
    {"REVERSE_SEQUENCE", AS_OP_ReverseSequence, lower_reverse_sequence},
};

const struct as_tflite_row *as_tflite_row_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

int as_tflite_lower(struct as_model *model, struct as_node *node, const struct as_tflite_row *row,
                    struct assay_error *err)
{
    const struct as_node from = *node;
    struct lowering l = {.model = model, .arena = &model->arena, .from = &from, .node = node};
    struct as_attr *attrs;

    if (!row)
        return ASSAY_OK;
    node->op = row->op;
    if (!row->lower)
        return ASSAY_OK;
    row->lower(&l);
    attrs = as_arena_zero(&model->arena, l.n ? l.n : 1, sizeof *attrs);
    if (!attrs || l.short_of_memory)
        return as_fail_nomem(err);
    memcpy(attrs, l.at, l.n * sizeof *attrs);
    node->attrs = attrs;
    node->n_attrs = l.n;
    return ASSAY_OK;
}
