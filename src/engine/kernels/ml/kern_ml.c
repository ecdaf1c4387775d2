/* engine/kernels/ml/kern_ml.c - the table of ai.onnx.ml and training; features in and out.
 * Maps are not among the values the engine has, so what makes or takes them is left out. */
#include "engine/kernels/ml/kern_ml.h"

#include <math.h>
#include <string.h>

const struct as_attr *as_listed(const struct as_kernel_ctx *k, const char *name,
                                enum as_attr_kind kind)
{
    const struct as_attr *attr = as_node_attr(k->node, name);

    return attr && attr->kind == kind && attr->n > 0 ? attr : NULL;
}

void as_examples(const struct as_val *x, uint64_t *n, uint64_t *features)
{
    *n = x->rank < 2 ? 1 : (uint64_t)x->dims[0];
    *features = *n ? x->n / *n : 0;
}

int as_put_text(struct as_kernel_ctx *k, struct as_val *out, uint64_t i, struct as_text text)
{
    struct as_text *texts = out->data;

    if (out->dtype != AS_DTYPE_STRING || !out->hold || i >= out->n)
        return as_kernel_fail(k, "its output has no room for strings");
    texts[i].at = as_arena_text(&out->hold->texts, text.at ? text.at : "", text.size);
    texts[i].size = text.size;
    return texts[i].at ? ASSAY_OK : as_fail_nomem(k->err);
}

/* The last axis, by indices. */
static int feature_extractor(struct as_kernel_ctx *k)
{
    const struct as_val *x = k->in[0], *ids = k->in[1];
    struct as_val *out = k->out[0];
    size_t bytes = as_elem_bytes(x->dtype);
    uint64_t width = x->rank > 0 ? (uint64_t)x->dims[x->rank - 1] : 1;
    uint64_t rows = width ? x->n / width : 0;

    if (out->n != rows * ids->n || bytes == 0 || x->dtype != out->dtype)
        return as_kernel_fail(k, "its output does not fit");
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t i = 0; i < ids->n; i++) {
            int64_t at = as_val_i64(ids, i);
            uint64_t from, to = row * ids->n + i;

            if (at < 0 || (uint64_t)at >= width)
                return as_kernel_fail(k, "feature %lld is not among %llu", (long long)at,
                                      (unsigned long long)width);
            from = row * width + (uint64_t)at;
            if (x->dtype == AS_DTYPE_STRING) {
                int rc = as_put_text(k, out, to, ((const struct as_text *)x->data)[from]);

                if (rc < 0)
                    return rc;
                continue;
            }
            memcpy((char *)out->data + to * bytes, (const char *)x->data + from * bytes, bytes);
        }
    return ASSAY_OK;
}

static int binarizer(struct as_kernel_ctx *k)
{
    double threshold = as_node_float(k->node, "threshold", 0);
    int rc = as_kernel_same_size(k, k->in[0], k->out[0], "the output");

    for (uint64_t i = 0; i < k->in[0]->n && rc == ASSAY_OK; i++)
        as_val_put_f64(k->out[0], i, as_val_f64(k->in[0], i) > threshold);
    return rc;
}

static int scaler(struct as_kernel_ctx *k)
{
    const struct as_attr *offset = as_listed(k, "offset", AS_ATTR_FLOATS);
    const struct as_attr *scale = as_listed(k, "scale", AS_ATTR_FLOATS);
    int rc = as_kernel_same_size(k, k->in[0], k->out[0], "the output");

    for (uint64_t i = 0; i < k->in[0]->n && rc == ASSAY_OK; i++) {
        double x = as_val_f64(k->in[0], i);

        x -= offset ? (double)offset->floats[i % offset->n] : 0;
        as_val_put_f64(k->out[0], i, x * (scale ? (double)scale->floats[i % scale->n] : 1));
    }
    return rc;
}

static double row_size(const struct as_val *x, uint64_t from, uint64_t n, char how)
{
    double size = 0;

    for (uint64_t i = from; i < from + n; i++) {
        double v = as_val_f64(x, i);

        if (how == 'M')
            size = fabs(v) > size ? fabs(v) : size;
        else
            size += how == '1' ? fabs(v) : v * v;
    }
    return how == '2' ? sqrt(size) : size;
}

static int normalizer(struct as_kernel_ctx *k)
{
    const struct as_val *x = k->in[0];
    uint64_t rows, width;
    char how = 'M';
    int rc = as_kernel_same_size(k, x, k->out[0], "the output");

    if (as_node_text_is(k->node, "norm", "L1"))
        how = '1';
    else if (as_node_text_is(k->node, "norm", "L2"))
        how = '2';
    as_examples(x, &rows, &width);
    for (uint64_t row = 0; row < rows && rc == ASSAY_OK; row++) {
        double size = row_size(x, row * width, width, how);

        for (uint64_t i = row * width; i < (row + 1) * width; i++)
            as_val_put_f64(k->out[0], i, size != 0 ? as_val_f64(x, i) / size : as_val_f64(x, i));
    }
    return rc;
}

static int imputer(struct as_kernel_ctx *k)
{
    const struct as_val *x = k->in[0];
    const struct as_attr *floats = as_listed(k, "imputed_value_floats", AS_ATTR_FLOATS);
    const struct as_attr *ints = as_listed(k, "imputed_value_int64s", AS_ATTR_INTS);
    double lost = as_node_float(k->node, "replaced_value_float", 0);
    int64_t lost_whole = as_node_int(k->node, "replaced_value_int64", 0);
    bool whole = !as_dtype_is_float(x->dtype);
    int rc = as_kernel_same_size(k, x, k->out[0], "the output");

    if (rc < 0)
        return rc;
    if (whole ? !ints : !floats)
        return as_kernel_fail(k, "it has no values to put in");
    for (uint64_t i = 0; i < x->n; i++) {
        double v = whole ? 0 : as_val_f64(x, i);

        if (whole) {
            int64_t at = as_val_i64(x, i);

            as_val_put_i64(k->out[0], i, at == lost_whole ? ints->ints[i % ints->n] : at);
        } else {
            bool gone = v == lost || (isnan(v) && isnan(lost));

            as_val_put_f64(k->out[0], i, gone ? (double)floats->floats[i % floats->n] : v);
        }
    }
    return ASSAY_OK;
}

/* Columns of all inputs side by side; an input with fewer than announced is filled up with 0. */
static int feature_vectorizer(struct as_kernel_ctx *k)
{
    struct as_val *out = k->out[0];
    struct as_ints widths;
    uint64_t rows = out->rank == 2 ? (uint64_t)out->dims[0] : 0, at = 0;

    if (!as_node_ints(k->node, "inputdimensions", &widths) || widths.n != k->n_in)
        return as_kernel_fail(k, "inputdimensions is not one number for each input");
    for (size_t i = 0; i < k->n_in; i++) {
        uint64_t n, width, want = (uint64_t)widths.at[i];

        if (!k->in[i] || widths.at[i] < 0)
            return as_kernel_fail(k, "input %zu is missing", i);
        as_examples(k->in[i], &n, &width);
        if (n != rows || rows == 0 || want > out->n / rows - at)
            return as_kernel_fail(k, "input %zu does not fit", i);
        for (uint64_t row = 0; row < rows; row++)
            for (uint64_t c = 0; c < want; c++)
                as_val_put_f64(out, row * (out->n / rows) + at + c,
                               c < width ? as_val_f64(k->in[i], row * width + c) : 0);
        at += want;
    }
    return rows == 0 || at == out->n / rows ? ASSAY_OK
                                            : as_kernel_fail(k, "its output does not fit");
}

static int one_hot_encoder(struct as_kernel_ctx *k)
{
    const struct as_val *x = k->in[0];
    const struct as_attr *numbers = as_listed(k, "cats_int64s", AS_ATTR_INTS);
    const struct as_attr *words = as_listed(k, "cats_strings", AS_ATTR_TEXTS);
    const struct as_text *texts = x->data;
    bool text = x->dtype == AS_DTYPE_STRING;
    uint64_t n = text ? (words ? words->n : 0) : numbers ? numbers->n : 0;

    if (n == 0 || k->out[0]->n / n != x->n || k->out[0]->n % n != 0)
        return as_kernel_fail(k, "its categories are not of the input's kind");
    for (uint64_t i = 0; i < x->n; i++) {
        bool found = false;

        for (uint64_t c = 0; c < n; c++) {
            bool same = text ? texts[i].size == words->texts[c].size &&
                                   memcmp(texts[i].at, words->texts[c].at, texts[i].size) == 0
                             : as_val_i64(x, i) == numbers->ints[c];

            as_val_put_f64(k->out[0], i * n + c, same);
            found |= same;
        }
        if (!found && as_node_int(k->node, "zeros", 1) == 0)
            return as_kernel_fail(k, "element %llu is in no category", (unsigned long long)i);
    }
    return ASSAY_OK;
}

const struct as_kernel as_kernels_ml[] = {
    {AS_OP_TRAIN_Adagrad, as_run_adagrad, 0},
    {AS_OP_TRAIN_Adam, as_run_adam, 0},
    {AS_OP_TRAIN_Momentum, as_run_momentum, 0},
    {AS_OP_ML_ArrayFeatureExtractor, feature_extractor, AS_KERNEL_TEXT},
    {AS_OP_ML_Binarizer, binarizer, 0},
    {AS_OP_ML_Scaler, scaler, 0},
    {AS_OP_ML_Normalizer, normalizer, 0},
    {AS_OP_ML_Imputer, imputer, 0},
    {AS_OP_ML_FeatureVectorizer, feature_vectorizer, 0},
    {AS_OP_ML_OneHotEncoder, one_hot_encoder, AS_KERNEL_TEXT},
    {AS_OP_ML_LabelEncoder, as_run_label_encoder, AS_KERNEL_TEXT},
    {AS_OP_ML_LinearClassifier, as_run_linear_classifier, AS_KERNEL_TEXT},
    {AS_OP_ML_LinearRegressor, as_run_linear_regressor, 0},
    {AS_OP_ML_TreeEnsembleClassifier, as_run_tree_classifier, AS_KERNEL_TEXT},
    {AS_OP_ML_TreeEnsembleRegressor, as_run_tree_regressor, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
