/* model/cost/cost_table.c - what one element costs in each operator, and which rule counts the
 * rest. docs/costs.md explains the figures; a test checks that no operator is left out. */
#include "model/cost/cost_rules.h"

#define ROW(op, fn, saved, view, e, t, be, bt, flags)                                              \
    [AS_OP_##op] = {{AS_OP_##op, as_cost_##fn, AS_SAVED_##saved, view}, e, t, be, bt, flags}

/* elementwise and transcendental operations an element, forward and backward */
#define MAP(op, e, t, be, bt, saved)  ROW(op, map, saved, false, e, t, be, bt, 0)
#define FLAT(op, e, t)                ROW(op, map, NONE, false, e, t, 0, 0, AS_COST_FLAT)
#define FLAT_IN(op, e, t)             ROW(op, map_in, NONE, false, e, t, 0, 0, AS_COST_FLAT)
#define NARY(op, e, t, be, bt, saved) ROW(op, nary, saved, false, e, t, be, bt, 0)
#define PRODUCT(op, e, be)            ROW(op, nary, INPUTS, false, e, 0, be, 0, AS_COST_BILINEAR)
#define COMPARE(op)                   ROW(op, nary, NONE, false, 1, 0, 0, 0, AS_COST_FLAT)
#define MOVE(op)                      ROW(op, nothing, NONE, false, 0, 0, 0, 0, 0)
#define LOOK(op)                      ROW(op, nothing, NONE, false, 0, 0, 0, 0, AS_COST_LOOKUP)
#define MAKE(op, e, t)                ROW(op, map, NONE, false, e, t, 0, 0, AS_COST_FLAT | AS_COST_FILL)
#define VIEW(op)                      ROW(op, nothing, NONE, true, 0, 0, 0, 0, 0)
#define FREE(op)                      ROW(op, nothing, NONE, false, 0, 0, 0, 0, AS_COST_FREE)
#define FREE_FLAT(op)                 ROW(op, nothing, NONE, false, 0, 0, 0, 0, AS_COST_FREE | AS_COST_FLAT)
#define DATA(op)                      ROW(op, data, NONE, false, 0, 0, 0, 0, AS_COST_FLAT)
#define RULE(op, fn, saved)           ROW(op, fn, saved, false, 0, 0, 0, 0, 0)
#define RULE_FLAT(op, fn)             ROW(op, fn, NONE, false, 0, 0, 0, 0, AS_COST_FLAT)
#define BILINEAR(op, fn)              ROW(op, fn, INPUTS, false, 0, 0, 0, 0, AS_COST_BILINEAR)
#define INTEGER(op, fn)               ROW(op, fn, INPUTS, false, 0, 0, 0, 0, AS_COST_FLAT)

/* clang-format off */
static const struct as_cost_entry table[AS_OP_COUNT] = {
    /* one operand */
    MAP(Abs, 1, 0, 1, 0, INPUTS),
    MAP(Acos, 0, 1, 4, 1, INPUTS), MAP(Acosh, 0, 1, 3, 1, INPUTS),
    MAP(Asin, 0, 1, 3, 1, INPUTS), MAP(Asinh, 0, 1, 3, 1, INPUTS),
    MAP(Atan, 0, 1, 3, 0, INPUTS), MAP(Atanh, 0, 1, 3, 0, INPUTS),
    MAP(Cos, 0, 1, 2, 1, INPUTS), MAP(Cosh, 0, 1, 1, 1, INPUTS),
    MAP(Sin, 0, 1, 1, 1, INPUTS), MAP(Sinh, 0, 1, 1, 1, INPUTS),
    MAP(Tan, 0, 1, 3, 0, OUTPUT), MAP(Tanh, 0, 1, 3, 0, OUTPUT),
    MAP(Erf, 0, 1, 3, 1, INPUTS), MAP(Exp, 0, 1, 1, 0, OUTPUT),
    MAP(Log, 0, 1, 1, 0, INPUTS), MAP(Sqrt, 0, 1, 2, 0, OUTPUT),
    MAP(Reciprocal, 1, 0, 3, 0, OUTPUT), MAP(Neg, 1, 0, 1, 0, NONE),
    FLAT(Sign, 1, 0), FLAT(Floor, 1, 0), FLAT(Ceil, 1, 0), FLAT(Round, 1, 0), FLAT(Not, 1, 0),
    FLAT(IsInf, 1, 0), FLAT(IsNaN, 1, 0), FLAT(BitwiseNot, 1, 0),
    /* activations */
    MAP(Relu, 1, 0, 1, 0, OUTPUT), MAP(LeakyRelu, 2, 0, 2, 0, OUTPUT),
    MAP(Elu, 3, 1, 3, 0, OUTPUT), MAP(Selu, 4, 1, 4, 0, OUTPUT), MAP(Celu, 5, 1, 4, 0, OUTPUT),
    MAP(ThresholdedRelu, 1, 0, 1, 0, INPUTS), MAP(HardSigmoid, 4, 0, 3, 0, INPUTS),
    MAP(HardSwish, 5, 0, 6, 0, INPUTS), MAP(Sigmoid, 2, 1, 3, 0, OUTPUT),
    MAP(Softplus, 1, 2, 3, 1, INPUTS), MAP(Softsign, 3, 0, 4, 0, INPUTS),
    MAP(Mish, 2, 3, 8, 3, INPUTS), MAP(Shrink, 3, 0, 1, 0, INPUTS),
    MAP(Clip, 2, 0, 2, 0, INPUTS), MAP(ParametricSoftplus, 3, 2, 5, 1, INPUTS),
    MAP(ScaledTanh, 2, 1, 5, 0, OUTPUT), MAP(Affine, 2, 0, 1, 0, NONE),
    MAP(ImageScaler, 2, 0, 1, 0, NONE),
    ROW(Gelu, gelu, INPUTS, false, 4, 1, 8, 2, 0),
    ROW(MS_Gelu, gelu, INPUTS, false, 4, 1, 8, 2, 0),
    ROW(MS_BiasGelu, bias_gelu, INPUTS, false, 4, 1, 8, 2, 0),
    ROW(MS_FastGelu, bias_gelu, INPUTS, false, 8, 1, 14, 1, 0),
    ROW(MS_BiasSplitGelu, bias_split_gelu, INPUTS, false, 4, 1, 8, 2, 0),
    MAP(MS_QuickGelu, 4, 1, 6, 1, INPUTS),
    /* several operands */
    NARY(Add, 1, 0, 0, 0, NONE), NARY(Sub, 1, 0, 0, 0, NONE),
    PRODUCT(Mul, 1, 1), PRODUCT(Div, 1, 2),
    NARY(Max, 1, 0, 1, 0, INPUTS), NARY(Min, 1, 0, 1, 0, INPUTS), NARY(Sum, 1, 0, 0, 0, NONE),
    RULE(Mean, mean, NONE), NARY(PRelu, 2, 0, 2, 0, INPUTS), NARY(Pow, 0, 1, 2, 1, INPUTS),
    ROW(Mod, nary, NONE, false, 1, 0, 0, 0, AS_COST_FLAT),
    COMPARE(And), COMPARE(Or), COMPARE(Xor), COMPARE(BitShift), COMPARE(BitwiseAnd),
    COMPARE(BitwiseOr), COMPARE(BitwiseXor), COMPARE(Equal), COMPARE(Greater),
    COMPARE(GreaterOrEqual), COMPARE(Less), COMPARE(LessOrEqual),
    ROW(Where, map, NONE, false, 1, 0, 2, 0, AS_COST_CHOOSES),
    /* along axes */
    RULE(ReduceL1, reduce, INPUTS), RULE(ReduceL2, reduce, BOTH), RULE(ReduceLogSum, reduce, BOTH),
    RULE(ReduceLogSumExp, reduce, BOTH), RULE(ReduceMax, reduce, BOTH),
    RULE(ReduceMean, reduce, NONE), RULE(ReduceMin, reduce, BOTH), RULE(ReduceProd, reduce, BOTH),
    RULE(ReduceSum, reduce, NONE), RULE(ReduceSumSquare, reduce, INPUTS),
    RULE_FLAT(MS_ReduceSumInteger, reduce),
    RULE_FLAT(ArgMax, arg_max), RULE_FLAT(ArgMin, arg_max), MAP(CumSum, 1, 0, 1, 0, NONE),
    RULE(TopK, top_k, MASK), RULE_FLAT(Unique, sort), RULE_FLAT(MS_Unique, sort),
    RULE(Softmax, softmax, OUTPUT), RULE(LogSoftmax, softmax, OUTPUT),
    RULE_FLAT(Hardmax, hardmax), RULE(MS_BiasSoftmax, bias_softmax, OUTPUT),
    /* moves */
    RULE(Cast, cast, NONE), MOVE(CastLike), LOOK(CenterCropPad), LOOK(Compress), MOVE(Concat),
    MOVE(ConcatFromSequence), LOOK(Crop), MOVE(DepthToSpace), MOVE(Expand), LOOK(Gather),
    LOOK(GatherElements), LOOK(GatherND), MOVE(Pad), MOVE(MS_Pad), MOVE(ReverseSequence),
    MOVE(SpaceToDepth), LOOK(Slice), MOVE(Split), MOVE(SplitToSequence), MOVE(Tile),
    MOVE(Transpose), MOVE(Trilu), MOVE(MS_Trilu), MOVE(MaxUnpool), MOVE(MS_RemovePadding),
    MOVE(MS_RestorePadding), MAP(MS_RelativePositionBias, 0, 0, 0, 0, NONE),
    ROW(Col2Im, map_in, NONE, false, 1, 0, 0, 0, 0),
    RULE(Scatter, scatter, NONE), RULE(ScatterElements, scatter, NONE),
    RULE(ScatterND, scatter, NONE),
    ROW(OneHot, nothing, NONE, false, 0, 0, 0, 0, AS_COST_FLAT),
    ROW(MS_GatherBlockQuantized, map, NONE, false, 2, 0, 0, 0, AS_COST_LOOKUP | AS_COST_FLAT),
    /* views */
    VIEW(Reshape), VIEW(Flatten), VIEW(Squeeze), VIEW(Unsqueeze), VIEW(Identity),
    VIEW(Optional), VIEW(OptionalGetElement), VIEW(SequenceAt), VIEW(SequenceConstruct),
    VIEW(SequenceErase), VIEW(SequenceInsert),
    ROW(Dropout, dropout, MASK, true, 0, 0, 0, 0, 0), /* without training */
    /* shapes, control, sequences: nothing to count in themselves */
    FREE_FLAT(Constant), MAKE(ConstantOfShape, 0, 0), FREE_FLAT(Shape), FREE_FLAT(Size),
    MAKE(EyeLike, 0, 0), FREE(If), FREE(Loop), FREE(Scan), FREE(SequenceMap),
    FREE_FLAT(OptionalHasElement), FREE_FLAT(SequenceEmpty), FREE_FLAT(SequenceLength),
    FREE_FLAT(StringConcat), FREE_FLAT(StringNormalizer), FREE_FLAT(StringSplit),
    FREE_FLAT(RegexFullMatch),
    /* made from nothing */
    MAKE(Range, 1, 0), MAKE(MS_Range, 1, 0), MAKE(RandomNormal, 2, 1), MAKE(RandomNormalLike, 2, 1),
    MAKE(RandomUniform, 2, 0), MAKE(RandomUniformLike, 2, 0), MAKE(HannWindow, 3, 1),
    MAKE(HammingWindow, 3, 1), MAKE(BlackmanWindow, 6, 2), FLAT(Bernoulli, 2, 0),
    DATA(Multinomial), FLAT(MelWeightMatrix, 5, 0),
    /* as the data says */
    FLAT_IN(NonZero, 1, 0), DATA(NonMaxSuppression), DATA(TfIdfVectorizer), DATA(ImageDecoder),
    DATA(MS_Sampling), DATA(MaxRoiPool),
    /* products */
    BILINEAR(Conv, conv), BILINEAR(ConvTranspose, conv_transpose), BILINEAR(MS_FusedConv, fused_conv),
    BILINEAR(MS_NhwcConv, conv), BILINEAR(MS_ConvTransposeWithDynamicPads, conv_transpose),
    INTEGER(ConvInteger, conv_integer), INTEGER(QLinearConv, qlinear_conv),
    INTEGER(MS_QLinearConv, qlinear_conv), RULE(DeformConv, deform_conv, INPUTS),
    BILINEAR(MatMul, matmul), BILINEAR(MS_FusedMatMul, fused_matmul),
    BILINEAR(MS_TransposeMatMul, fused_matmul), BILINEAR(Gemm, gemm), BILINEAR(MS_FusedGemm, gemm),
    INTEGER(MS_QGemm, qgemm), BILINEAR(Einsum, einsum), INTEGER(MatMulInteger, matmul_integer),
    INTEGER(MS_MatMulInteger16, matmul_integer),
    INTEGER(MS_MatMulIntegerToFloat, matmul_integer_float),
    INTEGER(MS_DynamicQuantizeMatMul, dynamic_matmul), INTEGER(QLinearMatMul, qlinear_matmul),
    BILINEAR(MS_MatMulNBits, matmul_bits), BILINEAR(MS_MatMulBnb4, matmul_bits),
    RULE(MS_MoE, moe, INPUTS), RULE(MS_QMoE, moe, INPUTS),
    RULE(Det, det, BOTH), RULE(MS_Inverse, inverse, OUTPUT),
    /* recurrent */
    RULE(LSTM, lstm, INPUTS), RULE(GRU, gru, INPUTS), RULE(RNN, rnn, INPUTS),
    INTEGER(MS_DynamicQuantizeLSTM, lstm),
    /* normalizations, pools, losses */
    RULE(BatchNormalization, batch_norm, INPUTS), RULE(LayerNormalization, layer_norm, INPUTS),
    RULE(SimplifiedLayerNormalization, rms_norm, INPUTS),
    RULE(MS_SkipLayerNormalization, skip_norm, OUTPUT),
    RULE(MS_SkipSimplifiedLayerNormalization, skip_rms_norm, OUTPUT),
    RULE(MS_EmbedLayerNormalization, embed_norm, OUTPUT),
    INTEGER(MS_QEmbedLayerNormalization, embed_norm),
    RULE(InstanceNormalization, instance_norm, INPUTS),
    RULE(GroupNormalization, group_norm, INPUTS), RULE(MS_GroupNorm, group_norm, INPUTS),
    RULE(MS_SkipGroupNorm, group_norm, OUTPUT),
    RULE(MeanVarianceNormalization, mean_variance, INPUTS), RULE(LpNormalization, lp_norm, INPUTS),
    RULE(LRN, lrn, BOTH),
    RULE(AveragePool, pool, INPUTS), RULE(MaxPool, pool, INDICES), RULE(LpPool, pool, BOTH),
    RULE(GlobalAveragePool, global_pool, NONE), RULE(GlobalMaxPool, global_pool, INDICES),
    RULE(GlobalLpPool, global_pool, BOTH),
    RULE(NegativeLogLikelihoodLoss, nll_loss, NONE),
    RULE(SoftmaxCrossEntropyLoss, cross_entropy, INPUTS),
    /* images and signals */
    RULE(Resize, resize, NONE), RULE(Upsample, resize, NONE), RULE(GridSample, grid_sample, INPUTS),
    RULE(AffineGrid, affine_grid, NONE), RULE(RoiAlign, roi_align, NONE), RULE(DFT, dft, NONE),
    RULE(STFT, stft, NONE),
    /* quantization */
    RULE(QuantizeLinear, quantize, NONE), RULE(MS_QuantizeLinear, quantize, NONE),
    RULE(DequantizeLinear, dequantize, NONE), RULE(MS_DequantizeLinear, dequantize, NONE),
    FLAT_IN(DynamicQuantizeLinear, 7, 0),
    RULE_FLAT(MS_QLinearAdd, qlinear_binary), RULE_FLAT(MS_QLinearMul, qlinear_binary),
    RULE_FLAT(MS_QLinearAveragePool, qlinear_pool),
    RULE_FLAT(MS_QLinearGlobalAveragePool, qlinear_mean),
    RULE_FLAT(MS_QLinearReduceMean, qlinear_mean), RULE_FLAT(MS_QLinearConcat, qlinear_concat),
    ROW(MS_QLinearLeakyRelu, qlinear_unary, NONE, false, 2, 0, 0, 0, AS_COST_FLAT),
    ROW(MS_QLinearSigmoid, qlinear_unary, NONE, false, 2, 1, 0, 0, AS_COST_FLAT),
    RULE_FLAT(MS_QLinearSoftmax, qlinear_softmax),
    /* attention */
    RULE(MS_Attention, attention, INPUTS), RULE(MS_MultiHeadAttention, attention, INPUTS),
    RULE(MS_GroupQueryAttention, attention, INPUTS), RULE(MS_PackedAttention, attention, INPUTS),
    RULE(MS_PackedMultiHeadAttention, attention, INPUTS),
    RULE(MS_DecoderMaskedMultiHeadAttention, attention, INPUTS),
    RULE(MS_SparseAttention, attention, INPUTS), INTEGER(MS_QAttention, attention),
    MAP(MS_RotaryEmbedding, 3, 0, 3, 0, NONE),
    /* ai.onnx.ml and training */
    LOOK(ML_ArrayFeatureExtractor), FLAT(ML_Binarizer, 1, 0), FREE_FLAT(ML_CastMap),
    FREE_FLAT(ML_CategoryMapper), FREE_FLAT(ML_DictVectorizer), MOVE(ML_FeatureVectorizer),
    FLAT(ML_Imputer, 1, 0), FREE_FLAT(ML_LabelEncoder), RULE_FLAT(ML_LinearClassifier, linear_model),
    RULE_FLAT(ML_LinearRegressor, linear_model), FLAT(ML_Normalizer, 3, 0),
    ROW(ML_OneHotEncoder, nothing, NONE, false, 0, 0, 0, 0, AS_COST_FLAT),
    RULE_FLAT(ML_SVMClassifier, svm), RULE_FLAT(ML_SVMRegressor, svm), FLAT(ML_Scaler, 2, 0),
    DATA(ML_TreeEnsembleClassifier), DATA(ML_TreeEnsembleRegressor), FREE_FLAT(ML_ZipMap),
    RULE_FLAT(TRAIN_Adagrad, optimizer), RULE_FLAT(TRAIN_Adam, optimizer),
    RULE_FLAT(TRAIN_Momentum, optimizer), DATA(TRAIN_Gradient),
    /* TensorFlow Lite */
    NARY(TFL_SQUARED_DIFFERENCE, 2, 0, 2, 0, INPUTS), NARY(TFL_ATAN2, 1, 1, 4, 0, INPUTS),
    ROW(TFL_FLOOR_DIV, nary, NONE, false, 2, 0, 0, 0, AS_COST_FLAT), COMPARE(TFL_FLOOR_MOD),
    COMPARE(TFL_NOT_EQUAL), MAP(TFL_RSQRT, 1, 1, 3, 0, OUTPUT),
    MAP(TFL_FAKE_QUANT, 6, 0, 2, 0, INPUTS), RULE_FLAT(TFL_REDUCE_ANY, reduce),
    RULE_FLAT(TFL_REDUCE_ALL, reduce), RULE(TFL_TOPK_V2, top_k, MASK), RULE_FLAT(TFL_UNIQUE, sort),
    RULE(TFL_LOCAL_RESPONSE_NORMALIZATION, tfl_lrn, BOTH),
    BILINEAR(TFL_TRANSPOSE_CONV, tfl_conv_transpose),
    BILINEAR(TFL_CONV_3D_TRANSPOSE, tfl_conv_transpose), RULE(TFL_LSTM, tfl_lstm, INPUTS),
    RULE(TFL_UNIDIRECTIONAL_SEQUENCE_LSTM, tfl_lstm, INPUTS),
    RULE(TFL_BIDIRECTIONAL_SEQUENCE_LSTM, tfl_lstm, INPUTS), RULE(TFL_RNN, tfl_rnn, INPUTS),
    RULE(TFL_UNIDIRECTIONAL_SEQUENCE_RNN, tfl_rnn, INPUTS),
    RULE(TFL_BIDIRECTIONAL_SEQUENCE_RNN, tfl_rnn, INPUTS), RULE(TFL_SVDF, tfl_svdf, INPUTS),
   
    RULE(TFL_RFFT2D, tfl_rfft, NONE), MOVE(TFL_DEPTH_TO_SPACE), MOVE(TFL_SPACE_TO_DEPTH),
    MOVE(TFL_BATCH_TO_SPACE_ND),
    MOVE(TFL_SPACE_TO_BATCH_ND), MOVE(TFL_PACK),
    MOVE(TFL_UNPACK), MOVE(TFL_REVERSE_V2), MOVE(TFL_MATRIX_DIAG), MOVE(TFL_MATRIX_SET_DIAG),
    MOVE(TFL_SCATTER_ND), MOVE(TFL_SPARSE_TO_DENSE), MOVE(TFL_DENSIFY),
    MOVE(TFL_DYNAMIC_UPDATE_SLICE), MOVE(TFL_IMAG), MOVE(TFL_REAL),
    MAP(TFL_COMPLEX_ABS, 3, 1, 3, 0, BOTH), LOOK(TFL_EMBEDDING_LOOKUP), LOOK(TFL_SLICE),
    LOOK(TFL_STRIDED_SLICE), LOOK(TFL_HASHTABLE_LOOKUP),
    ROW(TFL_ONE_HOT, nothing, NONE, false, 0, 0, 0, 0, AS_COST_FLAT),
    ROW(TFL_SEGMENT_SUM, map_in, NONE, false, 1, 0, 0, 0, 0),
    ROW(TFL_UNSORTED_SEGMENT_SUM, map_in, NONE, false, 1, 0, 0, 0, 0),
    ROW(TFL_UNSORTED_SEGMENT_PROD, map_in, BOTH, false, 1, 0, 2, 0, 0),
    ROW(TFL_UNSORTED_SEGMENT_MAX, map_in, BOTH, false, 1, 0, 1, 0, 0),
    ROW(TFL_UNSORTED_SEGMENT_MIN, map_in, BOTH, false, 1, 0, 1, 0, 0), FLAT_IN(TFL_WHERE, 1, 0),
    MAKE(TFL_ZEROS_LIKE, 0, 0), MAKE(TFL_FILL, 0, 0), MAKE(TFL_RANDOM_STANDARD_NORMAL, 2, 1),
    MAKE(TFL_RANDOM_UNIFORM, 2, 0), VIEW(TFL_RESHAPE), VIEW(TFL_BITCAST), FREE_FLAT(TFL_RANK),
    FREE_FLAT(TFL_BROADCAST_ARGS), FREE(TFL_IF), FREE(TFL_WHILE), FREE(TFL_CALL_ONCE),
    FREE_FLAT(TFL_VAR_HANDLE), MOVE(TFL_READ_VARIABLE), MOVE(TFL_ASSIGN_VARIABLE),
    FREE_FLAT(TFL_HASHTABLE), LOOK(TFL_HASHTABLE_FIND), FREE_FLAT(TFL_HASHTABLE_IMPORT),
    FREE_FLAT(TFL_HASHTABLE_SIZE), DATA(TFL_BUCKETIZE), DATA(TFL_MULTINOMIAL),
    DATA(TFL_NON_MAX_SUPPRESSION_V4), DATA(TFL_NON_MAX_SUPPRESSION_V5), DATA(TFL_LSH_PROJECTION),
    DATA(TFL_SKIP_GRAM), DATA(TFL_EMBEDDING_LOOKUP_SPARSE), MOVE(TFL_CONCAT_EMBEDDINGS),
};
/* clang-format on */

const struct as_cost_entry *as_cost_entry_at(enum as_op op)
{
    if ((int)op <= AS_OP_UNKNOWN || op >= AS_OP_COUNT || !table[op].cost.rule)
        return NULL;
    return &table[op];
}

const struct as_op_cost *as_op_cost_find(enum as_op op)
{
    const struct as_cost_entry *entry = as_cost_entry_at(op);

    return entry ? &entry->cost : NULL;
}
