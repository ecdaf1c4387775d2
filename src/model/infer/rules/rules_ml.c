/* model/infer/rules/rules_ml.c - shape rules of ai.onnx.ml and of the training operators.
 * Classifiers give a label and a row of scores for each example. */
#include "model/infer/infer_context.h"
#include "model/infer/infer_rules.h"

static int like_first(struct as_infer *ctx)
{
    return as_out_like(ctx, 0, 0);
}

static int shaped(struct as_infer *ctx, unsigned dtype)
{
    struct as_dims x;

    return as_out_tensor(ctx, 0, dtype, as_in_dims(ctx, 0, &x) ? &x : NULL);
}

static int shaped_float(struct as_infer *ctx)
{
    return shaped(ctx, AS_DTYPE_F32);
}

/* Elements of a list attribute; -1: there is none. */
static int64_t listed(const struct as_infer *ctx, const char *name)
{
    const struct as_attr *attr = as_node_attr(ctx->node, name);

    if (!attr ||
        (attr->kind != AS_ATTR_INTS && attr->kind != AS_ATTR_FLOATS && attr->kind != AS_ATTR_TEXTS))
        return -1;
    return attr->n;
}

/* How many examples: a vector is a single one. */
static int64_t examples(const struct as_infer *ctx)
{
    struct as_dims x;

    if (!as_in_dims(ctx, 0, &x))
        return AS_DIM_UNKNOWN;
    return x.rank < 2 ? 1 : x.at[0];
}

/* ---- features ---- */

static int feature_extractor(struct as_infer *ctx)
{
    struct as_dims x, ids;
    int64_t n;

    if (!as_in_dims(ctx, 0, &x) || x.rank < 1)
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    n = as_in_dims(ctx, 1, &ids) ? as_dims_product(&ids, 0, ids.rank) : AS_DIM_UNKNOWN;
    if (x.rank == 1)
        x = (struct as_dims){2, {1, x.at[0]}};
    x.at[x.rank - 1] = n < 0 ? AS_DIM_UNKNOWN : n;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &x);
}

static int cast_map(struct as_infer *ctx)
{
    struct as_dims out = {2, {1, AS_DIM_UNKNOWN}};
    unsigned dtype = as_node_text_is(ctx->node, "cast_to", "TO_STRING")  ? AS_DTYPE_STRING
                     : as_node_text_is(ctx->node, "cast_to", "TO_INT64") ? AS_DTYPE_I64
                                                                         : AS_DTYPE_F32;
    int64_t most = as_node_int(ctx->node, "max_map", 1);
    int rc;

    if (as_node_text_is(ctx->node, "map_form", "SPARSE") && most > 0) {
        out.at[1] = most;
        return as_out_tensor(ctx, 0, dtype, &out);
    }
    rc = as_out_tensor(ctx, 0, dtype, &out);
    return rc == ASSAY_OK ? as_unknown(ctx, "the size of a map is in the data") : rc;
}

static int category_mapper(struct as_infer *ctx)
{
    return shaped(ctx, as_in_dtype(ctx, 0) == AS_DTYPE_STRING ? AS_DTYPE_I64 : AS_DTYPE_STRING);
}

static int dict_vectorizer(struct as_infer *ctx)
{
    int64_t words = listed(ctx, "string_vocabulary"), numbers = listed(ctx, "int64_vocabulary");
    struct as_dims out = {2, {1, words > 0 ? words : numbers}};

    if (out.at[1] < 0)
        return as_conflict(ctx, "there is no vocabulary");
    return as_out_tensor(ctx, 0, AS_DTYPE_UNKNOWN, &out);
}

static int feature_vectorizer(struct as_infer *ctx)
{
    struct as_dims out = {2, {examples(ctx), 0}};
    struct as_ints lengths;

    if (!as_node_ints(ctx->node, "inputdimensions", &lengths))
        out.at[1] = AS_DIM_UNKNOWN;
    for (size_t i = 0; i < lengths.n; i++) {
        if (lengths.at[i] < 0)
            return as_conflict(ctx, "inputdimensions holds %lld", (long long)lengths.at[i]);
        out.at[1] = as_dim_add(out.at[1], lengths.at[i]);
    }
    return as_out_tensor(ctx, 0, AS_DTYPE_F32, &out);
}

/* The dtype of what is mapped to. */
static int label_encoder(struct as_infer *ctx)
{
    const struct as_attr *tensor = as_node_attr(ctx->node, "values_tensor");
    unsigned dtype = AS_DTYPE_UNKNOWN;

    if (listed(ctx, "values_strings") >= 0)
        dtype = AS_DTYPE_STRING;
    else if (listed(ctx, "values_int64s") >= 0)
        dtype = AS_DTYPE_I64;
    else if (listed(ctx, "values_floats") >= 0)
        dtype = AS_DTYPE_F32;
    else if (tensor && tensor->kind == AS_ATTR_TENSOR)
        dtype = tensor->type.dtype;
    else if (listed(ctx, "classes_strings") >= 0)
        dtype = as_in_dtype(ctx, 0) == AS_DTYPE_STRING ? AS_DTYPE_I64 : AS_DTYPE_STRING;
    return shaped(ctx, dtype);
}

static int one_hot_encoder(struct as_infer *ctx)
{
    const struct as_type *x = as_in_type(ctx, 0);
    int64_t numbers = listed(ctx, "cats_int64s"), words = listed(ctx, "cats_strings");
    struct as_type type;

    if (numbers < 0 && words < 0)
        return as_conflict(ctx, "there are no categories");
    if (!x || x->rank < 0)
        return as_out_tensor(ctx, 0, AS_DTYPE_F32, NULL);
    if (!as_type_with_axis(ctx->arena, x, x->rank, numbers > 0 ? numbers : words, &type))
        return as_fail_nomem(ctx->err);
    type.dtype = AS_DTYPE_F32;
    return as_out_type(ctx, 0, &type);
}

/* ---- classifiers and regressors ---- */

static int classify(struct as_infer *ctx, const char *numbers, const char *words, bool per_class)
{
    bool named = listed(ctx, words) > 0;
    int64_t n = named ? listed(ctx, words) : listed(ctx, numbers);
    struct as_dims labels = {1, {examples(ctx)}}, scores = {2, {labels.at[0], AS_DIM_UNKNOWN}};
    int rc = as_out_tensor(ctx, 0, named ? AS_DTYPE_STRING : AS_DTYPE_I64, &labels);

    if (per_class && n > 0)
        scores.at[1] = n;
    return rc == ASSAY_OK ? as_out_tensor(ctx, 1, AS_DTYPE_F32, &scores) : rc;
}

static int linear_classifier(struct as_infer *ctx)
{
    return classify(ctx, "classlabels_ints", "classlabels_strings", true);
}

static int tree_classifier(struct as_infer *ctx)
{
    return classify(ctx, "classlabels_int64s", "classlabels_strings", true);
}

/* Without probabilities the scores are those of pairs of classes. */
static int svm_classifier(struct as_infer *ctx)
{
    return classify(ctx, "classlabels_ints", "classlabels_strings", listed(ctx, "prob_a") > 0);
}

static int regress(struct as_infer *ctx, int64_t targets)
{
    struct as_dims out = {2, {examples(ctx), targets}};

    if (targets < 1)
        return as_conflict(ctx, "%lld targets", (long long)targets);
    return as_out_tensor(ctx, 0, AS_DTYPE_F32, &out);
}

static int linear_regressor(struct as_infer *ctx)
{
    return regress(ctx, as_node_int(ctx->node, "targets", 1));
}

static int tree_regressor(struct as_infer *ctx)
{
    return regress(ctx, as_node_int(ctx->node, "n_targets", 1));
}

static int svm_regressor(struct as_infer *ctx)
{
    return regress(ctx, 1);
}

/* One map for each example. */
static int zip_map(struct as_infer *ctx)
{
    int64_t n = examples(ctx);
    struct as_type map = AS_TYPE_UNKNOWN, type, *maps;

    map.kind = AS_VALUE_MAP;
    if (!as_type_may_copy(ctx, n)) {
        if (!as_type_many(ctx->arena, &map, &type))
            return as_fail_nomem(ctx->err);
        return as_out_type(ctx, 0, &type);
    }
    maps = as_arena_zero(ctx->arena, (size_t)n + 1, sizeof *maps);
    for (int64_t i = 0; maps && i < n; i++)
        maps[i] = map;
    if (!maps || !as_type_list(ctx, AS_VALUE_SEQUENCE, maps, (size_t)n, &type))
        return as_fail_nomem(ctx->err);
    return as_out_type(ctx, 0, &type);
}

/* ---- training ---- */

/* After two scalars come groups of n tensors: values, gradients, then `n_states` kinds of state.
 * Values and states come out anew. */
static int optimize(struct as_infer *ctx, size_t n_states)
{
    size_t groups = 2 + n_states, n;
    int rc = ASSAY_OK;

    if (ctx->node->n_inputs < 2 || (ctx->node->n_inputs - 2) % groups != 0)
        return as_conflict(ctx, "%u inputs are not a whole number of tensors with their state",
                           ctx->node->n_inputs);
    n = (ctx->node->n_inputs - 2) / groups;
    for (size_t i = 0; i < n && rc == ASSAY_OK; i++) {
        rc = as_out_like(ctx, i, 2 + i);
        for (size_t s = 0; s < n_states && rc == ASSAY_OK; s++)
            rc = as_out_like(ctx, (1 + s) * n + i, 2 + (2 + s) * n + i);
    }
    return rc;
}

static int one_state(struct as_infer *ctx)
{
    return optimize(ctx, 1);
}

static int two_states(struct as_infer *ctx)
{
    return optimize(ctx, 2);
}

/* The first inputs are what is derived by; each has one derivative of its shape. */
static int gradient(struct as_infer *ctx)
{
    int rc = ASSAY_OK;

    for (size_t i = 0; i < ctx->node->n_outputs && rc == ASSAY_OK; i++)
        rc = as_out_like(ctx, i, i);
    return rc;
}

const struct as_op_rule as_rules_ml[] = {
    {AS_OP_ML_ArrayFeatureExtractor, feature_extractor, NULL},
    {AS_OP_ML_Binarizer, like_first, NULL},
    {AS_OP_ML_CastMap, cast_map, NULL},
    {AS_OP_ML_CategoryMapper, category_mapper, NULL},
    {AS_OP_ML_DictVectorizer, dict_vectorizer, NULL},
    {AS_OP_ML_FeatureVectorizer, feature_vectorizer, NULL},
    {AS_OP_ML_Imputer, like_first, NULL},
    {AS_OP_ML_LabelEncoder, label_encoder, NULL},
    {AS_OP_ML_LinearClassifier, linear_classifier, NULL},
    {AS_OP_ML_LinearRegressor, linear_regressor, NULL},
    {AS_OP_ML_Normalizer, shaped_float, NULL},
    {AS_OP_ML_OneHotEncoder, one_hot_encoder, NULL},
    {AS_OP_ML_SVMClassifier, svm_classifier, NULL},
    {AS_OP_ML_SVMRegressor, svm_regressor, NULL},
    {AS_OP_ML_Scaler, shaped_float, NULL},
    {AS_OP_ML_TreeEnsembleClassifier, tree_classifier, NULL},
    {AS_OP_ML_TreeEnsembleRegressor, tree_regressor, NULL},
    {AS_OP_ML_ZipMap, zip_map, NULL},
    {AS_OP_TRAIN_Adagrad, one_state, NULL},
    {AS_OP_TRAIN_Adam, two_states, NULL},
    {AS_OP_TRAIN_Momentum, one_state, NULL},
    {AS_OP_TRAIN_Gradient, gradient, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
