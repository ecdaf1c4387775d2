/* model/graph/op_list.h - every operator we know, by domain. The order has no meaning.
 * An operator that is not here is kept as AS_OP_UNKNOWN with its name, and reported. */
#ifndef AS_MODEL_GRAPH_OP_LIST_H
#define AS_MODEL_GRAPH_OP_LIST_H

/* clang-format off */

/* The default domain to opset 21, and the few older ones that files still use. */
#define AS_OPS_ONNX(X) \
    X(Abs) X(Acos) X(Acosh) X(Add) X(AffineGrid) X(And) X(ArgMax) X(ArgMin) X(Asin) X(Asinh) \
    X(Atan) X(Atanh) X(AveragePool) X(BatchNormalization) X(Bernoulli) X(BitShift) X(BitwiseAnd) \
    X(BitwiseNot) X(BitwiseOr) X(BitwiseXor) X(BlackmanWindow) X(Cast) X(CastLike) X(Ceil) \
    X(Celu) X(CenterCropPad) X(Clip) X(Col2Im) X(Compress) X(Concat) X(ConcatFromSequence) \
    X(Constant) X(ConstantOfShape) X(Conv) X(ConvInteger) X(ConvTranspose) X(Cos) X(Cosh) \
    X(CumSum) X(DFT) X(DeformConv) X(DepthToSpace) X(DequantizeLinear) X(Det) X(Div) X(Dropout) \
    X(DynamicQuantizeLinear) X(Einsum) X(Elu) X(Equal) X(Erf) X(Exp) X(Expand) X(EyeLike) \
    X(Flatten) X(Floor) X(GRU) X(Gather) X(GatherElements) X(GatherND) X(Gelu) X(Gemm) \
    X(GlobalAveragePool) X(GlobalLpPool) X(GlobalMaxPool) X(Greater) X(GreaterOrEqual) \
    X(GridSample) X(GroupNormalization) X(HammingWindow) X(HannWindow) X(HardSigmoid) \
    X(HardSwish) X(Hardmax) X(Identity) X(If) X(ImageDecoder) X(InstanceNormalization) X(IsInf) \
    X(IsNaN) X(LRN) X(LSTM) X(LayerNormalization) X(LeakyRelu) X(Less) X(LessOrEqual) X(Log) \
    X(LogSoftmax) X(Loop) X(LpNormalization) X(LpPool) X(MatMul) X(MatMulInteger) X(Max) \
    X(MaxPool) X(MaxRoiPool) X(MaxUnpool) X(Mean) X(MeanVarianceNormalization) \
    X(MelWeightMatrix) X(Min) X(Mish) X(Mod) X(Mul) X(Multinomial) X(Neg) \
    X(NegativeLogLikelihoodLoss) X(NonMaxSuppression) X(NonZero) X(Not) X(OneHot) X(Optional) \
    X(OptionalGetElement) X(OptionalHasElement) X(Or) X(PRelu) X(Pad) X(Pow) X(QLinearConv) \
    X(QLinearMatMul) X(QuantizeLinear) X(RNN) X(RandomNormal) X(RandomNormalLike) \
    X(RandomUniform) X(RandomUniformLike) X(Range) X(Reciprocal) X(ReduceL1) X(ReduceL2) \
    X(ReduceLogSum) X(ReduceLogSumExp) X(ReduceMax) X(ReduceMean) X(ReduceMin) X(ReduceProd) \
    X(ReduceSum) X(ReduceSumSquare) X(RegexFullMatch) X(Relu) X(Reshape) X(Resize) \
    X(ReverseSequence) X(RoiAlign) X(Round) X(STFT) X(Scan) X(Scatter) X(ScatterElements) \
    X(ScatterND) X(Selu) X(SequenceAt) X(SequenceConstruct) X(SequenceEmpty) X(SequenceErase) \
    X(SequenceInsert) X(SequenceLength) X(SequenceMap) X(Shape) X(Shrink) X(Sigmoid) X(Sign) \
    X(Sin) X(Sinh) X(Size) X(Slice) X(Softmax) X(SoftmaxCrossEntropyLoss) X(Softplus) \
    X(Softsign) X(SpaceToDepth) X(Split) X(SplitToSequence) X(Sqrt) X(Squeeze) X(StringConcat) \
    X(StringNormalizer) X(StringSplit) X(Sub) X(Sum) X(Tan) X(Tanh) X(TfIdfVectorizer) \
    X(ThresholdedRelu) X(Tile) X(TopK) X(Transpose) X(Trilu) X(Unique) X(Unsqueeze) X(Upsample) \
    X(Where) X(Xor) X(Affine) X(Crop) X(ImageScaler) X(ParametricSoftplus) X(ScaledTanh) \
    X(SimplifiedLayerNormalization)

/* com.microsoft: what the optimizers of ONNX Runtime write. */
#define AS_OPS_MICROSOFT(X) \
    X(Attention) X(BiasGelu) X(BiasSplitGelu) X(BiasSoftmax) X(ConvTransposeWithDynamicPads) \
    X(DecoderMaskedMultiHeadAttention) X(DequantizeLinear) X(DynamicQuantizeLSTM) \
    X(DynamicQuantizeMatMul) X(EmbedLayerNormalization) X(FastGelu) X(FusedConv) X(FusedGemm) \
    X(FusedMatMul) X(GatherBlockQuantized) X(Gelu) X(GroupNorm) X(GroupQueryAttention) \
    X(Inverse) X(MatMulBnb4) X(MatMulInteger16) X(MatMulIntegerToFloat) X(MatMulNBits) X(MoE) \
    X(MultiHeadAttention) X(NhwcConv) X(PackedAttention) X(PackedMultiHeadAttention) X(Pad) \
    X(QAttention) X(QEmbedLayerNormalization) X(QGemm) X(QLinearAdd) X(QLinearAveragePool) \
    X(QLinearConcat) X(QLinearConv) X(QLinearGlobalAveragePool) X(QLinearLeakyRelu) \
    X(QLinearMul) X(QLinearReduceMean) X(QLinearSigmoid) X(QLinearSoftmax) X(QMoE) \
    X(QuantizeLinear) X(QuickGelu) X(Range) X(ReduceSumInteger) X(RelativePositionBias) \
    X(RemovePadding) X(RestorePadding) X(RotaryEmbedding) X(Sampling) X(SkipGroupNorm) \
    X(SkipLayerNormalization) X(SkipSimplifiedLayerNormalization) X(SparseAttention) \
    X(TransposeMatMul) X(Trilu) X(Unique)

/* ai.onnx.ml */
#define AS_OPS_ML(X) \
    X(ArrayFeatureExtractor) X(Binarizer) X(CastMap) X(CategoryMapper) X(DictVectorizer) \
    X(FeatureVectorizer) X(Imputer) X(LabelEncoder) X(LinearClassifier) X(LinearRegressor) \
    X(Normalizer) X(OneHotEncoder) X(SVMClassifier) X(SVMRegressor) X(Scaler) \
    X(TreeEnsembleClassifier) X(TreeEnsembleRegressor) X(ZipMap)

/* ai.onnx.preview.training */
#define AS_OPS_TRAINING(X) \
    X(Adagrad) X(Adam) X(Gradient) X(Momentum)

/* TensorFlow Lite: those that no operator of ONNX stands for (format/tflite/tflite_lower.c). */
#define AS_OPS_TFLITE(X) \
    X(DEPTH_TO_SPACE) X(EMBEDDING_LOOKUP) X(HASHTABLE_LOOKUP) X(LOCAL_RESPONSE_NORMALIZATION) \
    X(LSH_PROJECTION) X(LSTM) X(RESHAPE) X(RNN) X(SPACE_TO_DEPTH) X(SVDF) \
    X(CONCAT_EMBEDDINGS) X(SKIP_GRAM) X(CALL) X(EMBEDDING_LOOKUP_SPARSE) \
    X(UNIDIRECTIONAL_SEQUENCE_RNN) X(BATCH_TO_SPACE_ND) X(SPACE_TO_BATCH_ND) \
    X(UNIDIRECTIONAL_SEQUENCE_LSTM) X(STRIDED_SLICE) X(BIDIRECTIONAL_SEQUENCE_RNN) X(TOPK_V2) \
    X(BIDIRECTIONAL_SEQUENCE_LSTM) X(SLICE) X(TRANSPOSE_CONV) \
    X(SPARSE_TO_DENSE) X(NOT_EQUAL) X(RSQRT) X(FAKE_QUANT) X(PACK) X(ONE_HOT) X(UNPACK) \
    X(FLOOR_DIV) X(REDUCE_ANY) X(ZEROS_LIKE) X(FILL) X(FLOOR_MOD) \
    X(SQUARED_DIFFERENCE) X(UNIQUE) X(REVERSE_V2) X(WHERE) X(RANK) \
    X(MATRIX_DIAG) X(MATRIX_SET_DIAG) X(IF) X(WHILE) X(NON_MAX_SUPPRESSION_V4) \
    X(NON_MAX_SUPPRESSION_V5) X(SCATTER_ND) X(DENSIFY) X(SEGMENT_SUM) X(CALL_ONCE) X(RFFT2D) \
    X(IMAG) X(REAL) X(COMPLEX_ABS) X(HASHTABLE) X(HASHTABLE_FIND) X(HASHTABLE_IMPORT) \
    X(HASHTABLE_SIZE) X(REDUCE_ALL) X(CONV_3D_TRANSPOSE) X(VAR_HANDLE) X(READ_VARIABLE) \
    X(ASSIGN_VARIABLE) X(BROADCAST_ARGS) X(RANDOM_STANDARD_NORMAL) X(BUCKETIZE) \
    X(RANDOM_UNIFORM) X(MULTINOMIAL) X(DYNAMIC_UPDATE_SLICE) X(UNSORTED_SEGMENT_PROD) \
    X(UNSORTED_SEGMENT_MAX) X(UNSORTED_SEGMENT_SUM) X(ATAN2) X(UNSORTED_SEGMENT_MIN) X(BITCAST)
/* clang-format on */

#endif
