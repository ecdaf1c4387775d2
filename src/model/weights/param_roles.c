/* model/weights/param_roles.c - tells what a constant is for: from the operator and the input that
 * takes it, and where both leave it open from its type, its name and its numbers. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "model/weights/parameters.h"

/* A letter for each input of an operator; a point, and what lies beyond the last, goes by the
 * type. */
enum {
    WEIGHT = 'W',
    BUFFER = 'B',
    QUANT = 'Q',
    INDEX = 'I',
    MASK = 'M',
    CONSTANT = 'C',
    LOOKUP = 'L', /* a table: embeddings, or of integers */
    OPEN = '.',
};

static const struct {
    enum as_op op;
    const char *inputs;
} slots[] = {
    {AS_OP_Conv, ".WW"},
    {AS_OP_ConvTranspose, ".WW"},
    {AS_OP_ConvInteger, ".WQQ"},
    {AS_OP_QLinearConv, ".QQWQQQQW"},
    {AS_OP_DeformConv, ".W.W"},
    {AS_OP_MatMul, "WW"},
    {AS_OP_Gemm, "WWW"},
    {AS_OP_Einsum, "WW"},
    {AS_OP_MatMulInteger, "WWQQ"},
    {AS_OP_QLinearMatMul, "WQQWQQQQ"},
    {AS_OP_LSTM, ".WWW.CCW"},
    {AS_OP_GRU, ".WWW.C"},
    {AS_OP_RNN, ".WWW.C"},
    {AS_OP_BatchNormalization, ".WWBB"},
    {AS_OP_LayerNormalization, ".WW"},
    {AS_OP_SimplifiedLayerNormalization, ".W"},
    {AS_OP_InstanceNormalization, ".WW"},
    {AS_OP_GroupNormalization, ".WW"},
    {AS_OP_PRelu, ".W"},
    {AS_OP_GridSample, ".B"},
    {AS_OP_Gather, "LI"},
    {AS_OP_GatherElements, "LI"},
    {AS_OP_GatherND, "LI"},
    {AS_OP_QuantizeLinear, ".QQ"},
    {AS_OP_DequantizeLinear, ".QQ"},
    {AS_OP_Resize, ".CCI"},
    {AS_OP_Upsample, ".C"},
    {AS_OP_OneHot, ".IC"},
    {AS_OP_Where, "M.."},
    {AS_OP_Clip, ".CC"},
    {AS_OP_Pad, ".IC"},
    {AS_OP_Loop, "ICCCCCCC"},
    {AS_OP_NegativeLogLikelihoodLoss, "..C"},
    {AS_OP_SoftmaxCrossEntropyLoss, "..C"},
    {AS_OP_STFT, ".IBI"},
    {AS_OP_MS_FusedConv, ".WW."},
    {AS_OP_MS_NhwcConv, ".WW"},
    {AS_OP_MS_ConvTransposeWithDynamicPads, ".WIW"},
    {AS_OP_MS_QLinearConv, ".QQWQQQQW"},
    {AS_OP_MS_FusedMatMul, "WW"},
    {AS_OP_MS_TransposeMatMul, "WW"},
    {AS_OP_MS_FusedGemm, "WWW"},
    {AS_OP_MS_QGemm, "WQQWQQWQQ"},
    {AS_OP_MS_MatMulInteger16, "WWQQ"},
    {AS_OP_MS_MatMulIntegerToFloat, "WWQQQQW"},
    {AS_OP_MS_DynamicQuantizeMatMul, "WWQQW"},
    {AS_OP_MS_MatMulNBits, ".WQQIW"},
    {AS_OP_MS_MatMulBnb4, ".WQ"},
    {AS_OP_MS_DynamicQuantizeLSTM, ".WWW.CCWQQQQ"},
    {AS_OP_MS_MoE, "..WWWWWW"},
    {AS_OP_MS_QMoE, "..WQWWQWWQW"},
    {AS_OP_MS_GatherBlockQuantized, "WIQQ"},
    {AS_OP_MS_SkipLayerNormalization, "..WWW"},
    {AS_OP_MS_SkipSimplifiedLayerNormalization, "..WW"},
    {AS_OP_MS_EmbedLayerNormalization, "..WWWWWMI"},
    {AS_OP_MS_QEmbedLayerNormalization, "..WWWWWMQQQQQQQQQQ"},
    {AS_OP_MS_GroupNorm, ".WW"},
    {AS_OP_MS_SkipGroupNorm, ".WW.W"},
    {AS_OP_MS_BiasGelu, ".W"},
    {AS_OP_MS_FastGelu, ".W"},
    {AS_OP_MS_BiasSplitGelu, ".W"},
    {AS_OP_MS_Attention, ".WWM"},
    {AS_OP_MS_QAttention, ".WWQQMQQ"},
    {AS_OP_MS_PackedAttention, ".WWI"},
    {AS_OP_MS_PackedMultiHeadAttention, "...WI"},
    {AS_OP_MS_MultiHeadAttention, "...WM"},
    {AS_OP_MS_DecoderMaskedMultiHeadAttention, "...M"},
    {AS_OP_MS_GroupQueryAttention, ".....IIBB"},
    {AS_OP_MS_SparseAttention, ".....IIIIBB"},
    {AS_OP_MS_RotaryEmbedding, ".IBB"},
    {AS_OP_MS_RelativePositionBias, "W"},
    {AS_OP_MS_QuantizeLinear, ".QQ"},
    {AS_OP_MS_DequantizeLinear, ".QQ"},
    {AS_OP_MS_QLinearAdd, "WQQWQQQQ"},
    {AS_OP_MS_QLinearMul, "WQQWQQQQ"},
    {AS_OP_MS_QLinearAveragePool, ".QQQQ"},
    {AS_OP_MS_QLinearGlobalAveragePool, ".QQQQ"},
    {AS_OP_MS_QLinearReduceMean, ".QQQQ"},
    {AS_OP_MS_QLinearLeakyRelu, ".QQQQ"},
    {AS_OP_MS_QLinearSigmoid, ".QQQQ"},
    {AS_OP_MS_QLinearSoftmax, ".QQQQ"},
    {AS_OP_MS_QLinearConcat, "QQWQQWQQWQQWQQWQQWQQWQQWQQ"},
    {AS_OP_TFL_TRANSPOSE_CONV, "IW.W"},
    {AS_OP_TFL_CONV_3D_TRANSPOSE, "IW.W"},
    {AS_OP_TFL_SVDF, ".WWW"},
    {AS_OP_TFL_LSTM, ".WWWWWWWWWWWWWWWWW..WWWW"},
    {AS_OP_TFL_UNIDIRECTIONAL_SEQUENCE_LSTM, ".WWWWWWWWWWWWWWWWW..WWWW"},
    {AS_OP_TFL_BIDIRECTIONAL_SEQUENCE_LSTM, ".WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW"},
    {AS_OP_TFL_RNN, ".WWW"},
    {AS_OP_TFL_UNIDIRECTIONAL_SEQUENCE_RNN, ".WWW"},
    {AS_OP_TFL_BIDIRECTIONAL_SEQUENCE_RNN, ".WWW.WWW"},
    {AS_OP_TFL_EMBEDDING_LOOKUP, "IW"},
};

static int slot_of(enum as_op op, size_t i)
{
    for (size_t s = 0; s < AS_COUNT_OF(slots); s++)
        if (slots[s].op == op)
            return i < strlen(slots[s].inputs) ? slots[s].inputs[i] : OPEN;
    return OPEN;
}

/* ---- by the numbers ---- */

enum { LOOK_ELEMS = 1 << 20 };

/* What the numbers of a constant have in common. */
struct look {
    bool zero, one, low; /* seen: 0, 1, something a softmax makes nothing of */
    bool other;          /* anything else that is whole */
    bool broken;         /* a fraction: the look ends */
};

static void look_at(struct look *look, double x)
{
    if (x == 0)
        look->zero = true;
    else if (x == 1)
        look->one = true;
    else if (x <= -1e4)
        look->low = true;
    else if (x == floor(x))
        look->other = true;
    else
        look->broken = true;
}

static bool can_look(const struct as_data *data)
{
    return data && data->bytes && data->n <= LOOK_ELEMS && !data->partial;
}

/* The same number again and again, made by a node: an initial state, a scale of ones. What a file
 * keeps as an initializer may be a parameter before training. */
static bool is_filled(const struct as_value *value)
{
    const struct as_data *data = value->data;

    if (value->is_initializer || !can_look(data) || data->n < 2)
        return false;
    for (uint64_t i = 1; i < data->n; i++)
        if (as_data_f64(data, i) != as_data_f64(data, 0))
            return false;
    return true;
}

/* Evenly spaced, to the precision of f32: positions of a grid. */
static bool is_spaced(const struct as_data *data)
{
    double step, first;

    if (data->n < 4)
        return false;
    first = as_data_f64(data, 0);
    step = (as_data_f64(data, data->n - 1) - first) / (double)(data->n - 1);
    if (step == 0)
        return false;
    for (uint64_t i = 1; i < data->n; i++)
        if (!(fabs(as_data_f64(data, i) - first - (double)i * step) < 1e-3 * fabs(step)))
            return false;
    return true;
}

/* Many points of two to four coordinates each: anchors, grids. Trained tables are wider, and a
 * trained scale by channel has one number each. */
static bool is_of_points(const struct as_type *type)
{
    enum { LEAST_COORDINATES = 2, MOST_COORDINATES = 4, LEAST_POINTS = 64 };
    uint64_t n;
    int64_t last = type->rank > 1 ? type->dims[type->rank - 1] : 0;

    return last >= LEAST_COORDINATES && last <= MOST_COORDINATES && as_type_elems(type, &n) &&
           n / (uint64_t)last >= LEAST_POINTS;
}

/* The same of one coordinate: strides of anchors, which are whole numbers of several kinds. */
static bool is_of_steps(const struct as_value *value)
{
    enum { LEAST_POINTS = 64 };
    const struct as_type *type = &value->type;
    bool differ = false;

    if (type->rank < 2 || type->dims[type->rank - 1] != 1 || !can_look(value->data) ||
        value->data->n < LEAST_POINTS)
        return false;
    for (uint64_t i = 0; i < value->data->n; i++) {
        double x = as_data_f64(value->data, i);

        if (x != floor(x))
            return false;
        differ |= x != as_data_f64(value->data, 0);
    }
    return differ;
}

/* Numbers that training does not make: masks, and tables of whole numbers. */
static enum as_role role_by_numbers(const struct as_data *data)
{
    struct look look = {0};

    if (!can_look(data))
        return AS_ROLE_PARAMETER;
    if (is_spaced(data))
        return AS_ROLE_BUFFER;
    for (uint64_t i = 0; i < data->n && !look.broken; i++)
        look_at(&look, as_data_f64(data, i));
    if (look.broken)
        return AS_ROLE_PARAMETER;
    if (!look.other && ((look.zero && look.one) || look.low))
        return AS_ROLE_MASK;
    return look.other && (look.zero || look.one) && data->n > 2 ? AS_ROLE_BUFFER
                                                                : AS_ROLE_PARAMETER;
}

/* ---- by name and type ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_table_name(const char *name)
{
    static const char *const words[] = {"inv_freq",   "rotary_emb.cos", "rotary_emb.sin",
                                        "cos_cached", "sin_cached",     "cos_cache",
                                        "sin_cache",  "rope_freqs",     "rope_factors"};

    for (size_t i = 0; i < AS_COUNT_OF(words); i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

static enum as_role role_by_type(const struct as_value *value, bool dequantized)
{
    unsigned dtype = value->type.dtype;
    uint64_t n = 0;

    if (value->data)
        n = value->data->n;
    else
        (void)as_type_elems(&value->type, &n);
    if (dtype == AS_DTYPE_BOOL)
        return AS_ROLE_MASK;
    if (dtype == AS_DTYPE_STRING)
        return AS_ROLE_CONSTANT;
    if (as_dtype_is_integer(dtype))
        return (dequantized || value->n_scales > 0) && n > 1 ? AS_ROLE_PARAMETER : AS_ROLE_INDEX;
    if (n <= 1)
        return AS_ROLE_CONSTANT;
    if (is_table_name(value->name))
        return AS_ROLE_BUFFER;
    if (!as_dtype_is_float(dtype))
        return AS_ROLE_PARAMETER;
    if (is_filled(value))
        return AS_ROLE_CONSTANT;
    return is_of_points(&value->type) || is_of_steps(value) ? AS_ROLE_BUFFER
                                                            : role_by_numbers(value->data);
}

enum as_role as_role_by_name(const struct as_value *value)
{
    static const char *const buffers[] = {"running_mean", "running_var", "moving_mean",
                                          "moving_variance"};
    unsigned dtype = value->type.dtype;

    for (size_t i = 0; i < AS_COUNT_OF(buffers); i++)
        if (ends_with(value->name, buffers[i]))
            return AS_ROLE_BUFFER;
    if (is_table_name(value->name))
        return AS_ROLE_BUFFER;
    if (dtype == AS_DTYPE_BOOL || ends_with(value->name, "masked_bias"))
        return AS_ROLE_MASK;
    /* The triangle of GPT-2: [1, 1, context, context] beside matrices of the same layer. */
    if (ends_with(value->name, "attn.bias") && value->type.rank == 4)
        return AS_ROLE_MASK;
    if (ends_with(value->name, ".scales") || ends_with(value->name, ".qzeros") ||
        ends_with(value->name, "_scale_inv"))
        return AS_ROLE_QUANT;
    if (ends_with(value->name, ".qweight"))
        return AS_ROLE_PARAMETER;
    if (dtype == AS_DTYPE_I8 || dtype == AS_DTYPE_U8 || dtype == AS_DTYPE_I4 ||
        dtype == AS_DTYPE_U4)
        return value->data && value->data->n > 1 ? AS_ROLE_PARAMETER : AS_ROLE_INDEX;
    if (as_dtype_is_integer(dtype))
        return AS_ROLE_INDEX;
    return dtype == AS_DTYPE_STRING ? AS_ROLE_CONSTANT : AS_ROLE_PARAMETER;
}

/* Their exporters fill scales and shifts in where the layer has none. */
static bool is_normalization(enum as_op op)
{
    return op == AS_OP_InstanceNormalization || op == AS_OP_GroupNormalization ||
           op == AS_OP_LayerNormalization || op == AS_OP_BatchNormalization;
}

enum as_role as_role_in(const struct as_model *model, const struct as_graph *graph,
                        const struct as_node *node, size_t i, const struct as_behind *behind)
{
    const struct as_value *value = &model->values[behind->value];
    unsigned dtype = value->type.dtype;

    (void)graph;
    switch (slot_of(node->op, i)) {
    case WEIGHT:
        return is_normalization(node->op) && is_filled(value) ? AS_ROLE_CONSTANT
                                                              : AS_ROLE_PARAMETER;
    case BUFFER:
        return AS_ROLE_BUFFER;
    case QUANT:
        return AS_ROLE_QUANT;
    case INDEX:
        return AS_ROLE_INDEX;
    case MASK:
        return AS_ROLE_MASK;
    case CONSTANT:
        return AS_ROLE_CONSTANT;
    case LOOKUP:
        if (is_table_name(value->name))
            return AS_ROLE_BUFFER;
        if (dtype == AS_DTYPE_BOOL)
            return AS_ROLE_MASK;
        if (as_dtype_is_integer(dtype) && as_dtype_bits(dtype) > 8 && !behind->dequantized)
            return AS_ROLE_INDEX;
        return AS_ROLE_PARAMETER;
    default:
        return role_by_type(value, behind->dequantized);
    }
}

uint64_t as_packed_elems(const struct as_node *node, size_t i)
{
    int64_t k = as_node_int(node, "K", 0), n = as_node_int(node, "N", 0);
    uint64_t elems;

    if (i != 1 || (node->op != AS_OP_MS_MatMulNBits && node->op != AS_OP_MS_MatMulBnb4) || k <= 0 ||
        n <= 0 || __builtin_mul_overflow((uint64_t)k, (uint64_t)n, &elems))
        return 0;
    return elems;
}
