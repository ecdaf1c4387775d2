/* format/tflite/tflite_options.c - the options of TensorFlow Lite's operators, as attributes of
 * nodes. One row for each kind of options that has fields; kinds without fields need none. */
#include "format/tflite/tflite_options.h"

#include <string.h>

enum { MAX_LIST = 4096 };

/* How a field is stored, and what it becomes. */
enum field_kind {
    NO_FIELD,
    I32,
    I64,
    FLAG,
    F32,
    LIST32,
    LIST64,
    PADDING,
    ACTIVATION,
    ELEMENT,  /* a type of elements */
    WORD8,    /* an enum of one byte, kept as its number */
    SUBGRAPH, /* becomes a graph, under the name given */
};

struct field {
    const char *name;
    uint8_t number, kind;
    int8_t fallback;
};

#define MAX_FIELDS 12

struct options {
    uint8_t type; /* its number in the union */
    struct field fields[MAX_FIELDS];
};

#define FUSED(n)                                                                                   \
    {                                                                                              \
        "fused_activation_function", n, ACTIVATION, 0                                              \
    }

static const struct options first_union[] = {
    {1,
     {{"padding", 0, PADDING, 0},
      {"stride_w", 1, I32, 0},
      {"stride_h", 2, I32, 0},
      FUSED(3),
      {"dilation_w_factor", 4, I32, 1},
      {"dilation_h_factor", 5, I32, 1}}},
    {2,
     {{"padding", 0, PADDING, 0},
      {"stride_w", 1, I32, 0},
      {"stride_h", 2, I32, 0},
      {"depth_multiplier", 3, I32, 0},
      FUSED(4),
      {"dilation_w_factor", 5, I32, 1},
      {"dilation_h_factor", 6, I32, 1}}},
    {3, {{"num_channels", 0, I32, 0}}},
    {4, {{"type", 0, WORD8, 0}}},
    {5,
     {{"padding", 0, PADDING, 0},
      {"stride_w", 1, I32, 0},
      {"stride_h", 2, I32, 0},
      {"filter_width", 3, I32, 0},
      {"filter_height", 4, I32, 0},
      FUSED(5)}},
    {6, {{"rank", 0, I32, 0}, FUSED(1), {"asymmetric_quantize_inputs", 2, FLAG, 0}}},
    {7, {FUSED(0), {"asymmetric_quantize_inputs", 1, FLAG, 0}}},
    {8,
     {FUSED(0),
      {"weights_format", 1, WORD8, 0},
      {"keep_num_dims", 2, FLAG, 0},
      {"asymmetric_quantize_inputs", 3, FLAG, 0}}},
    {9, {{"beta", 0, F32, 0}}},
    {10, {{"axis", 0, I32, 0}, FUSED(1)}},
    {11, {FUSED(0)}},
    {12, {FUSED(0)}},
    {13, {{"radius", 0, I32, 0}, {"bias", 1, F32, 0}, {"alpha", 2, F32, 0}, {"beta", 3, F32, 0}}},
    {14,
     {FUSED(0), {"cell_clip", 1, F32, 0}, {"proj_clip", 2, F32, 0}, {"kernel_type", 3, WORD8, 0}}},
    {15, {{"align_corners", 2, FLAG, 0}, {"half_pixel_centers", 3, FLAG, 0}}},
    {16, {{"subgraph", 0, SUBGRAPH, 0}}},
    {17, {{"new_shape", 0, LIST32, 0}}},
    {18,
     {{"ngram_size", 0, I32, 0}, {"max_skip_size", 1, I32, 0}, {"include_all_ngrams", 2, FLAG, 0}}},
    {19, {{"block_size", 0, I32, 0}}},
    {20, {{"combiner", 0, WORD8, 0}}},
    {21, {FUSED(0)}},
    {23, {{"axis", 0, I32, 0}, {"batch_dims", 1, I32, 0}}},
    {27, {{"keep_dims", 0, FLAG, 0}}},
    {28, {FUSED(0)}},
    {29, {FUSED(0)}},
    {30, {{"squeeze_dims", 0, LIST32, 0}}},
    {31, {{"time_major", 0, FLAG, 0}, FUSED(1)}},
    {32,
     {{"begin_mask", 0, I32, 0},
      {"end_mask", 1, I32, 0},
      {"ellipsis_mask", 2, I32, 0},
      {"new_axis_mask", 3, I32, 0},
      {"shrink_axis_mask", 4, I32, 0},
      {"offset", 5, FLAG, 0}}},
    {35, {{"num_splits", 0, I32, 0}}},
    {37, {{"in_data_type", 0, ELEMENT, 0}, {"out_data_type", 1, ELEMENT, 0}}},
    {40, {{"output_type", 0, ELEMENT, 0}}},
    {49, {{"padding", 0, PADDING, 0}, {"stride_w", 1, I32, 0}, {"stride_h", 2, I32, 0}, FUSED(3)}},
    {50, {{"validate_indices", 0, FLAG, 0}}},
    {55, {{"out_type", 0, ELEMENT, 0}}},
    {57, {{"output_type", 0, ELEMENT, 0}}},
    {58,
     {{"min", 0, F32, 0},
      {"max", 1, F32, 0},
      {"num_bits", 2, I32, 0},
      {"narrow_range", 3, FLAG, 0}}},
    {59, {{"values_count", 0, I32, 0}, {"axis", 1, I32, 0}}},
    {61, {{"axis", 0, I32, 0}}},
    {64, {{"num", 0, I32, 0}, {"axis", 1, I32, 0}}},
    {69,
     {FUSED(0),
      {"cell_clip", 1, F32, 0},
      {"proj_clip", 2, F32, 0},
      {"merge_outputs", 3, FLAG, 0},
      {"time_major", 4, FLAG, 1}}},
    {70, {{"time_major", 0, FLAG, 0}, FUSED(1), {"merge_outputs", 2, FLAG, 0}}},
    {71,
     {FUSED(0),
      {"cell_clip", 1, F32, 0},
      {"proj_clip", 2, F32, 0},
      {"time_major", 3, FLAG, 0},
      {"diagonal_recurrent_tensors", 5, FLAG, 0}}},
    {74, {{"align_corners", 0, FLAG, 0}, {"half_pixel_centers", 1, FLAG, 0}}},
    {75, {{"alpha", 0, F32, 0}}},
    {77, {{"mode", 0, WORD8, 0}}},
    {79, {{"num_splits", 0, I32, 0}}},
    {80, {{"idx_out_type", 0, ELEMENT, 2}}},
    {87, {{"seq_dim", 0, I32, 0}, {"batch_dim", 1, I32, 0}}},
    {92, {{"then", 0, SUBGRAPH, 0}, {"else", 1, SUBGRAPH, 0}}},
    {93, {{"cond", 0, SUBGRAPH, 0}, {"body", 1, SUBGRAPH, 0}}},
    {94, {{"block_size", 0, I32, 0}}},
    {101, {{"adj_x", 0, FLAG, 0}, {"adj_y", 1, FLAG, 0}}},
    {102, {{"exclusive", 0, FLAG, 0}, {"reverse", 1, FLAG, 0}}},
    {103, {{"init", 0, SUBGRAPH, 0}}},
    {106,
     {{"padding", 0, PADDING, 0},
      {"stride_d", 1, I32, 0},
      {"stride_w", 2, I32, 0},
      {"stride_h", 3, I32, 0},
      FUSED(4),
      {"dilation_d_factor", 5, I32, 1},
      {"dilation_w_factor", 6, I32, 1},
      {"dilation_h_factor", 7, I32, 1}}},
    {107, {{"table_id", 0, I32, 0}, {"key_dtype", 1, ELEMENT, 0}, {"value_dtype", 2, ELEMENT, 0}}},
    {114, {{"seed", 0, I64, 0}, {"seed2", 1, I64, 0}}},
    {116, {{"approximate", 0, FLAG, 0}}},
};

static const struct options second_union[] = {
    {1, {{"dimension", 0, I64, 0}}},
    {2, {{"broadcast_dimensions", 0, LIST64, 0}}},
    {3,
     {{"start_indices", 0, LIST64, 0}, {"limit_indices", 1, LIST64, 0}, {"strides", 2, LIST64, 0}}},
    {6, {{"dimensions", 0, LIST64, 0}, {"body", 1, SUBGRAPH, 0}}},
    {9, {{"slice_sizes", 0, LIST64, 0}}},
    {10,
     {{"edge_padding_low", 0, LIST64, 0},
      {"edge_padding_high", 1, LIST64, 0},
      {"interior_padding", 2, LIST64, 0}}},
    {11, {{"iota_dimension", 0, I64, 0}}},
    {12,
     {{"lhs_batching_dimensions", 0, LIST64, 0},
      {"rhs_batching_dimensions", 1, LIST64, 0},
      {"lhs_contracting_dimensions", 2, LIST64, 0},
      {"rhs_contracting_dimensions", 3, LIST64, 0}}},
    {15, {{"cond", 0, SUBGRAPH, 0}, {"body", 1, SUBGRAPH, 0}}},
    {17, {{"permutation", 0, LIST64, 0}}},
    {21, {{"decomposition", 1, SUBGRAPH, 0}}},
};

static const struct options *find_options(const struct options *table, size_t n, uint64_t type)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].type == type)
            return &table[i];
    return NULL;
}

static struct as_text words(const char *text)
{
    return (struct as_text){text, strlen(text)};
}

static void read_word(struct as_flat *flat, const struct as_flat_table *t, const struct field *f,
                      struct as_attr *attr)
{
    static const char *const paddings[] = {"SAME", "VALID"};
    static const char *const activations[] = {"NONE",  "RELU", "RELU_N1_TO_1",
                                              "RELU6", "TANH", "SIGN_BIT"};
    bool padding = f->kind == PADDING;
    uint64_t n = padding ? 2 : 6, value = as_flat_uint(flat, t, f->number, 1, 0);

    attr->kind = AS_ATTR_TEXT;
    attr->text = words("");
    if (value >= n)
        as_flat_fail(flat, t->at, "the %s of %s is %llu, which does not exist", f->name, t->what,
                     (unsigned long long)value);
    else
        attr->text = words(padding ? paddings[value] : activations[value]);
}

static void read_element(struct as_flat *flat, const struct as_flat_table *t, const struct field *f,
                         struct as_attr *attr)
{
    uint64_t code = as_flat_uint(flat, t, f->number, 1, (uint8_t)f->fallback);
    unsigned dtype = AS_DTYPE_UNKNOWN;

    if (!as_tflite_dtype(code, &dtype))
        as_flat_fail(flat, t->at, "the %s of %s is %llu, which is not a type", f->name, t->what,
                     (unsigned long long)code);
    attr->kind = AS_ATTR_TEXT;
    attr->text = words(as_dtype_name(dtype));
}

static int read_list(struct as_flat *flat, struct as_arena *arena, const struct as_flat_table *t,
                     const struct field *f, struct as_attr *attr)
{
    unsigned bytes = f->kind == LIST32 ? 4 : 8;
    struct as_flat_vector v = as_flat_vector(flat, t, f->number, bytes);
    int64_t *ints;

    if (v.n > MAX_LIST)
        return as_flat_fail(flat, v.at, "the %s of %s has %u elements, more than %d", f->name,
                            t->what, v.n, MAX_LIST);
    ints = as_arena_alloc(arena, (v.n ? v.n : 1) * sizeof *ints);
    if (!ints)
        return as_fail_nomem(flat->err);
    for (uint32_t i = 0; i < v.n; i++) {
        uint64_t value = as_flat_at(flat, &v, i, bytes);

        ints[i] = bytes == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
    }
    attr->kind = AS_ATTR_INTS;
    attr->n = v.n;
    attr->ints = ints;
    return ASSAY_OK;
}

static int read_field(struct as_flat *flat, struct as_arena *arena, const struct as_flat_table *t,
                      const struct field *f, struct as_attr *attr)
{
    attr->name = f->name;
    attr->kind = AS_ATTR_INT;
    switch ((enum field_kind)f->kind) {
    case PADDING:
    case ACTIVATION:
        read_word(flat, t, f, attr);
        break;
    case ELEMENT:
        read_element(flat, t, f, attr);
        break;
    case LIST32:
    case LIST64:
        return read_list(flat, arena, t, f, attr);
    case F32:
        attr->kind = AS_ATTR_FLOAT;
        attr->f = (double)as_flat_f32(flat, t, f->number, 0);
        break;
    case FLAG:
        attr->i = as_flat_uint(flat, t, f->number, 1, (uint8_t)f->fallback) != 0;
        break;
    case WORD8:
        attr->i = (int64_t)as_flat_uint(flat, t, f->number, 1, 0);
        break;
    case I64:
        attr->i = (int64_t)as_flat_uint(flat, t, f->number, 8, 0);
        break;
    default:
        attr->i = as_flat_i32(flat, t, f->number, f->fallback);
    }
    return flat->rc;
}

static int read_options(struct as_flat *flat, struct as_arena *arena, const struct as_flat_table *t,
                        const struct options *options, struct as_node *node,
                        struct as_tflite_bodies *bodies)
{
    struct as_attr *attrs = as_arena_zero(arena, MAX_FIELDS, sizeof *attrs);
    int rc = ASSAY_OK;

    if (!attrs)
        return as_fail_nomem(flat->err);
    for (uint32_t i = 0; rc == ASSAY_OK && i < MAX_FIELDS && options->fields[i].name; i++) {
        const struct field *f = &options->fields[i];

        rc = read_field(flat, arena, t, f, &attrs[i]);
        if (f->kind == SUBGRAPH && bodies->n < 2) {
            bodies->at[bodies->n].name = f->name;
            bodies->at[bodies->n].subgraph = (int32_t)attrs[i].i;
            bodies->at[bodies->n++].attr = &attrs[i];
        }
        node->n_attrs = i + 1;
    }
    node->attrs = attrs;
    return rc;
}

int as_tflite_options(struct as_flat *flat, struct as_arena *arena, const struct as_flat_table *op,
                      struct as_node *node, struct as_tflite_bodies *bodies)
{
    uint64_t type = as_flat_uint(flat, op, 3, 1, 0);
    struct as_flat_table t = as_flat_table(flat, op, 4, "an operator's options");
    const struct options *options =
        find_options(first_union, sizeof first_union / sizeof *first_union, type);

    *bodies = (struct as_tflite_bodies){0};
    if (type == 0) {
        type = as_flat_uint(flat, op, 11, 1, 0);
        t = as_flat_table(flat, op, 12, "an operator's options");
        options = find_options(second_union, sizeof second_union / sizeof *second_union, type);
    }
    if (flat->rc < 0 || !options || t.at == 0)
        return flat->rc;
    return read_options(flat, arena, &t, options, node, bodies);
}

bool as_tflite_dtype(uint64_t code, unsigned *dtype)
{
    static const uint8_t types[] = {
        AS_DTYPE_F32,    AS_DTYPE_F16,  AS_DTYPE_I32, AS_DTYPE_U8,      AS_DTYPE_I64,
        AS_DTYPE_STRING, AS_DTYPE_BOOL, AS_DTYPE_I16, AS_DTYPE_C64,     AS_DTYPE_I8,
        AS_DTYPE_F64,    AS_DTYPE_C128, AS_DTYPE_U64, AS_DTYPE_UNKNOWN, AS_DTYPE_UNKNOWN,
        AS_DTYPE_U32,    AS_DTYPE_U16,  AS_DTYPE_I4,  AS_DTYPE_BF16,
    };

    if (code >= sizeof types)
        return false;
    *dtype = types[code];
    return true;
}

const char *as_tflite_op_name(uint64_t code)
{
    /* clang-format off */
    static const char *const names[] = {
        "ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D",
        "DEPTH_TO_SPACE", "DEQUANTIZE", "EMBEDDING_LOOKUP", "FLOOR", "FULLY_CONNECTED",
        "HASHTABLE_LOOKUP", "L2_NORMALIZATION", "L2_POOL_2D", "LOCAL_RESPONSE_NORMALIZATION",
        "LOGISTIC", "LSH_PROJECTION", "LSTM", "MAX_POOL_2D", "MUL", "RELU", "RELU_N1_TO_1",
        "RELU6", "RESHAPE", "RESIZE_BILINEAR", "RNN", "SOFTMAX", "SPACE_TO_DEPTH", "SVDF", "TANH",
        "CONCAT_EMBEDDINGS", "SKIP_GRAM", "CALL", "CUSTOM", "EMBEDDING_LOOKUP_SPARSE", "PAD",
        "UNIDIRECTIONAL_SEQUENCE_RNN", "GATHER", "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND",
        "TRANSPOSE", "MEAN", "SUB", "DIV", "SQUEEZE", "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "STRIDED_SLICE", "BIDIRECTIONAL_SEQUENCE_RNN", "EXP", "TOPK_V2", "SPLIT", "LOG_SOFTMAX",
        "DELEGATE", "BIDIRECTIONAL_SEQUENCE_LSTM", "CAST", "PRELU", "MAXIMUM", "ARG_MAX",
        "MINIMUM", "LESS", "NEG", "PADV2", "GREATER", "GREATER_EQUAL", "LESS_EQUAL", "SELECT",
        "SLICE", "SIN", "TRANSPOSE_CONV", "SPARSE_TO_DENSE", "TILE", "EXPAND_DIMS", "EQUAL",
        "NOT_EQUAL", "LOG", "SUM", "SQRT", "RSQRT", "SHAPE", "POW", "ARG_MIN", "FAKE_QUANT",
        "REDUCE_PROD", "REDUCE_MAX", "PACK", "LOGICAL_OR", "ONE_HOT", "LOGICAL_AND", "LOGICAL_NOT",
        "UNPACK", "REDUCE_MIN", "FLOOR_DIV", "REDUCE_ANY", "SQUARE", "ZEROS_LIKE", "FILL",
        "FLOOR_MOD", "RANGE", "RESIZE_NEAREST_NEIGHBOR", "LEAKY_RELU", "SQUARED_DIFFERENCE",
        "MIRROR_PAD", "ABS", "SPLIT_V", "UNIQUE", "CEIL", "REVERSE_V2", "ADD_N", "GATHER_ND",
        "COS", "WHERE", "RANK", "ELU", "REVERSE_SEQUENCE", "MATRIX_DIAG", "QUANTIZE",
        "MATRIX_SET_DIAG", "ROUND", "HARD_SWISH", "IF", "WHILE", "NON_MAX_SUPPRESSION_V4",
        "NON_MAX_SUPPRESSION_V5", "SCATTER_ND", "SELECT_V2", "DENSIFY", "SEGMENT_SUM",
        "BATCH_MATMUL", "PLACEHOLDER_FOR_GREATER_OP_CODES", "CUMSUM", "CALL_ONCE", "BROADCAST_TO",
        "RFFT2D", "CONV_3D", "IMAG", "REAL", "COMPLEX_ABS", "HASHTABLE", "HASHTABLE_FIND",
        "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "REDUCE_ALL", "CONV_3D_TRANSPOSE", "VAR_HANDLE",
        "READ_VARIABLE", "ASSIGN_VARIABLE", "BROADCAST_ARGS", "RANDOM_STANDARD_NORMAL",
        "BUCKETIZE", "RANDOM_UNIFORM", "MULTINOMIAL", "GELU", "DYNAMIC_UPDATE_SLICE",
        "RELU_0_TO_1", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_SUM",
        "ATAN2", "UNSORTED_SEGMENT_MIN", "SIGN", "BITCAST", "BITWISE_XOR", "RIGHT_SHIFT",
        "STABLEHLO_LOGISTIC", "STABLEHLO_ADD", "STABLEHLO_DIVIDE", "STABLEHLO_MULTIPLY",
        "STABLEHLO_MAXIMUM", "STABLEHLO_RESHAPE", "STABLEHLO_CLAMP", "STABLEHLO_CONCATENATE",
        "STABLEHLO_BROADCAST_IN_DIM", "STABLEHLO_CONVOLUTION", "STABLEHLO_SLICE",
        "STABLEHLO_CUSTOM_CALL", "STABLEHLO_REDUCE", "STABLEHLO_ABS", "STABLEHLO_AND",
        "STABLEHLO_COSINE", "STABLEHLO_EXPONENTIAL", "STABLEHLO_FLOOR", "STABLEHLO_LOG",
        "STABLEHLO_MINIMUM", "STABLEHLO_NEGATE", "STABLEHLO_OR", "STABLEHLO_POWER",
        "STABLEHLO_REMAINDER", "STABLEHLO_RSQRT", "STABLEHLO_SELECT", "STABLEHLO_SUBTRACT",
        "STABLEHLO_TANH", "STABLEHLO_SCATTER", "STABLEHLO_COMPARE", "STABLEHLO_CONVERT",
        "STABLEHLO_DYNAMIC_SLICE", "STABLEHLO_DYNAMIC_UPDATE_SLICE", "STABLEHLO_PAD",
        "STABLEHLO_IOTA", "STABLEHLO_DOT_GENERAL", "STABLEHLO_REDUCE_WINDOW", "STABLEHLO_SORT",
        "STABLEHLO_WHILE", "STABLEHLO_GATHER", "STABLEHLO_TRANSPOSE", "DILATE",
        "STABLEHLO_RNG_BIT_GENERATOR", "REDUCE_WINDOW", "STABLEHLO_COMPOSITE",
    };
    /* clang-format on */

    return code < sizeof names / sizeof *names ? names[code] : NULL;
}
