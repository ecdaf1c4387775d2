/* engine/kernels/ml/kern_ml_linear.c - linear models, labels, and what classifiers do with their
 * scores. Labels are words or whole numbers, in attributes. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "engine/kernels/ml/kern_ml.h"

enum as_ml_transform as_read_post(const struct as_kernel_ctx *k)
{
    static const char *const words[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};

    for (size_t i = 0; i < AS_COUNT_OF(words); i++)
        if (as_node_text_is(k->node, "post_transform", words[i]))
            return (enum as_ml_transform)i;
    return AS_POST_NONE;
}

/* The inverse of the normal distribution's integral, by bisection of erfc. */
static double probit(double p)
{
    double low = -40, high = 40;

    if (!(p > 0 && p < 1))
        return p <= 0 ? -(double)INFINITY : (double)INFINITY;
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;

        if (erfc(-middle / sqrt(2)) / 2 < p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Scores that are 0 are left out of SOFTMAX_ZERO and stay 0. */
static void soften(double *scores, uint64_t n, bool zero)
{
    double most = -(double)INFINITY, sum = 0;

    for (uint64_t i = 0; i < n; i++)
        most = scores[i] > most ? scores[i] : most;
    for (uint64_t i = 0; i < n; i++) {
        if (zero && fabs(scores[i]) < 1e-7)
            scores[i] = 0;
        else
            sum += scores[i] = exp(scores[i] - most);
    }
    for (uint64_t i = 0; i < n && sum > 0; i++)
        scores[i] /= sum;
}

void as_ml_transform(enum as_ml_transform post, double *scores, uint64_t n)
{
    if (post == AS_POST_SOFTMAX || post == AS_POST_SOFTMAX_ZERO)
        soften(scores, n, post == AS_POST_SOFTMAX_ZERO);
    for (uint64_t i = 0; i < n; i++) {
        if (post == AS_POST_LOGISTIC)
            scores[i] = 1 / (1 + exp(-scores[i]));
        else if (post == AS_POST_PROBIT)
            scores[i] = probit(scores[i]);
    }
}

int as_read_labels(struct as_kernel_ctx *k, const char *numbers, struct as_labels *labels)
{
    labels->words = as_listed(k, "classlabels_strings", AS_ATTR_TEXTS);
    labels->numbers = as_listed(k, numbers, AS_ATTR_INTS);
    labels->n = labels->words ? labels->words->n : labels->numbers ? labels->numbers->n : 0;
    return labels->n > 0 ? ASSAY_OK : as_kernel_fail(k, "it has no labels");
}

static int put_label(struct as_kernel_ctx *k, const struct as_labels *labels, uint64_t example,
                     uint64_t best)
{
    if (!as_has_out(k, 0))
        return ASSAY_OK;
    if (labels->words)
        return as_put_text(k, k->out[0], example, labels->words->texts[best]);
    as_val_put_i64(k->out[0], example, labels->numbers->ints[best]);
    return ASSAY_OK;
}

/* One score for two labels: its sign says which, or the half where it is a probability. */
static void spread_two(enum as_ml_transform post, double *scores, bool *second)
{
    double score = scores[0];

    *second = score > 0;
    if (post == AS_POST_LOGISTIC) {
        scores[1] = 1 / (1 + exp(-score));
        scores[0] = 1 - scores[1];
    } else {
        scores[1] = score;
        scores[0] = -score;
        as_ml_transform(post, scores, 2);
    }
}

int as_classify(struct as_kernel_ctx *k, const struct as_labels *labels, uint64_t example,
                double *scores, uint64_t n)
{
    enum as_ml_transform post = as_read_post(k);
    uint64_t best = 0;
    bool second = false;

    if (n == 1 && labels->n == 2) {
        spread_two(post, scores, &second);
        best = second;
        n = 2;
    } else {
        for (uint64_t i = 1; i < n; i++)
            if (scores[i] > scores[best])
                best = i;
        as_ml_transform(post, scores, n);
    }
    if (as_has_out(k, 1))
        for (uint64_t i = 0; i < n && example * n + i < k->out[1]->n; i++)
            as_val_put_f64(k->out[1], example * n + i, scores[i]);
    return best < labels->n ? put_label(k, labels, example, best)
                            : as_kernel_fail(k, "there are fewer labels than scores");
}

/* ---- linear models ---- */

struct linear {
    const struct as_attr *coefficients, *intercepts;
    uint64_t n, features, n_scores;
    double *scores;
};

static int read_linear(struct as_kernel_ctx *k, uint64_t n_scores, struct linear *l)
{
    l->coefficients = as_listed(k, "coefficients", AS_ATTR_FLOATS);
    l->intercepts = as_listed(k, "intercepts", AS_ATTR_FLOATS);
    as_examples(k->in[0], &l->n, &l->features);
    if (!l->coefficients || l->features == 0 || l->coefficients->n % l->features != 0)
        return as_kernel_fail(k, "its coefficients do not go with %llu features",
                              (unsigned long long)l->features);
    l->n_scores = l->coefficients->n / l->features;
    if ((n_scores > 0 && l->n_scores != n_scores) ||
        (l->intercepts && l->intercepts->n != l->n_scores))
        return as_kernel_fail(k, "its coefficients are for %llu scores",
                              (unsigned long long)l->n_scores);
    l->scores = as_kernel_work(k, l->n_scores + 1, sizeof *l->scores);
    return l->scores ? ASSAY_OK : ASSAY_ERR_NOMEM;
}

static void score(const struct as_kernel_ctx *k, const struct linear *l, uint64_t example)
{
    for (uint64_t s = 0; s < l->n_scores; s++) {
        double sum = l->intercepts ? (double)l->intercepts->floats[s] : 0;

        for (uint64_t f = 0; f < l->features; f++)
            sum += as_val_f64(k->in[0], example * l->features + f) *
                   (double)l->coefficients->floats[s * l->features + f];
        l->scores[s] = sum;
    }
}

int as_run_linear_classifier(struct as_kernel_ctx *k)
{
    struct as_labels labels;
    struct linear l = {0};
    int rc = as_read_labels(k, "classlabels_ints", &labels);

    if (rc == ASSAY_OK)
        rc = read_linear(k, 0, &l);
    if (rc == ASSAY_OK && as_has_out(k, 0) && k->out[0]->n != l.n)
        rc = as_kernel_fail(k, "its output does not fit");
    for (uint64_t i = 0; rc == ASSAY_OK && i < l.n; i++) {
        score(k, &l, i);
        rc = as_classify(k, &labels, i, l.scores, l.n_scores);
    }
    return rc;
}

int as_run_linear_regressor(struct as_kernel_ctx *k)
{
    int64_t targets = as_node_int(k->node, "targets", 1);
    struct linear l = {0};
    int rc = read_linear(k, targets > 0 ? (uint64_t)targets : 1, &l);

    if (rc == ASSAY_OK && k->out[0]->n != l.n * l.n_scores)
        rc = as_kernel_fail(k, "its output does not fit");
    for (uint64_t i = 0; rc == ASSAY_OK && i < l.n; i++) {
        score(k, &l, i);
        as_ml_transform(as_read_post(k), l.scores, l.n_scores);
        for (uint64_t s = 0; s < l.n_scores; s++)
            as_val_put_f64(k->out[0], i * l.n_scores + s, l.scores[s]);
    }
    return rc;
}

/* ---- LabelEncoder ---- */

/* One side of the table: texts, whole numbers or floats, as lists or tensors. */
struct side {
    const struct as_attr *texts, *ints, *floats;
    struct as_val tensor; /* of an attribute that is one */
    uint64_t n;
};

static void read_side(struct as_kernel_ctx *k, const char *const names[4], struct side *s)
{
    const struct as_attr *tensor = as_node_attr(k->node, names[3]);

    *s = (struct side){.texts = as_listed(k, names[0], AS_ATTR_TEXTS),
                       .ints = as_listed(k, names[1], AS_ATTR_INTS),
                       .floats = as_listed(k, names[2], AS_ATTR_FLOATS)};
    s->n = s->texts ? s->texts->n : s->ints ? s->ints->n : s->floats ? s->floats->n : 0;
    if (s->n > 0 || !tensor || tensor->kind != AS_ATTR_TENSOR || !tensor->data)
        return;
    if (as_val_load(&s->tensor, k->mem, AS_MEM_WORKSPACE, &tensor->type, tensor->data, k->err) >= 0)
        s->n = s->tensor.n;
}

static struct as_text text_at(const struct side *s, uint64_t i)
{
    if (s->texts)
        return s->texts->texts[i];
    if (s->tensor.present && s->tensor.dtype == AS_DTYPE_STRING)
        return ((const struct as_text *)s->tensor.data)[i];
    return (struct as_text){"", 0};
}

static double number_at(const struct side *s, uint64_t i)
{
    if (s->ints)
        return (double)s->ints->ints[i];
    if (s->floats)
        return (double)s->floats->floats[i];
    return s->tensor.present && s->tensor.dtype != AS_DTYPE_STRING ? as_val_f64(&s->tensor, i) : 0;
}

static bool is_key(const struct side *keys, uint64_t i, const struct as_val *x, uint64_t at)
{
    if (x->dtype == AS_DTYPE_STRING) {
        struct as_text a = text_at(keys, i), b = ((const struct as_text *)x->data)[at];

        return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
    } else {
        double a = number_at(keys, i), b = as_val_f64(x, at);

        return a == b || (isnan(a) && isnan(b));
    }
}

static int put_default(struct as_kernel_ctx *k, uint64_t i, const struct side *given)
{
    struct as_val *out = k->out[0];
    struct as_text word = {"_Unused", 7};

    if (out->dtype == AS_DTYPE_STRING) {
        if (given->n > 0)
            word = text_at(given, 0);
        else
            (void)as_node_text(k->node, "default_string", &word);
        return as_put_text(k, out, i, word.at ? word : (struct as_text){"_Unused", 7});
    }
    if (given->n > 0)
        as_val_put_f64(out, i, number_at(given, 0));
    else if (as_dtype_is_float(out->dtype))
        as_val_put_f64(out, i, as_node_float(k->node, "default_float", -0.0));
    else
        as_val_put_i64(out, i, as_node_int(k->node, "default_int64", -1));
    return ASSAY_OK;
}

/* Before version 2 a list of words is one side and their places the other. */
static int encode_places(struct as_kernel_ctx *k, const struct as_attr *words)
{
    const struct as_val *x = k->in[0];
    const struct side keys = {.texts = words, .n = words->n}, none = {.n = 0};
    int rc = ASSAY_OK;

    for (uint64_t i = 0; i < x->n && rc == ASSAY_OK; i++) {
        uint64_t at = 0;

        if (x->dtype != AS_DTYPE_STRING) {
            int64_t place = as_val_i64(x, i);

            rc = place >= 0 && (uint64_t)place < words->n
                     ? as_put_text(k, k->out[0], i, words->texts[place])
                     : put_default(k, i, &none);
            continue;
        }
        while (at < keys.n && !is_key(&keys, at, x, i))
            at++;
        if (at < keys.n)
            as_val_put_i64(k->out[0], i, (int64_t)at);
        else
            rc = put_default(k, i, &none);
    }
    return rc;
}

int as_run_label_encoder(struct as_kernel_ctx *k)
{
    static const char *const key_names[] = {"keys_strings", "keys_int64s", "keys_floats",
                                            "keys_tensor"};
    static const char *const value_names[] = {"values_strings", "values_int64s", "values_floats",
                                              "values_tensor"};
    static const char *const default_names[] = {"", "", "", "default_tensor"};
    const struct as_attr *words = as_listed(k, "classes_strings", AS_ATTR_TEXTS);
    struct side keys, values, other;
    int rc = as_kernel_same_size(k, k->in[0], k->out[0], "the output");

    if (rc < 0)
        return rc;
    if (words)
        return encode_places(k, words);
    read_side(k, key_names, &keys);
    read_side(k, value_names, &values);
    read_side(k, default_names, &other);
    if (keys.n == 0 || keys.n != values.n)
        rc = as_kernel_fail(k, "it has %llu keys and %llu values", (unsigned long long)keys.n,
                            (unsigned long long)values.n);
    for (uint64_t i = 0; i < k->in[0]->n && rc == ASSAY_OK; i++) {
        uint64_t at = 0;

        while (at < keys.n && !is_key(&keys, at, k->in[0], i))
            at++;
        if (at == keys.n)
            rc = put_default(k, i, &other);
        else if (k->out[0]->dtype == AS_DTYPE_STRING)
            rc = as_put_text(k, k->out[0], i, text_at(&values, at));
        else if (values.ints)
            as_val_put_i64(k->out[0], i, values.ints->ints[at]);
        else
            as_val_put_f64(k->out[0], i, number_at(&values, at));
    }
    as_val_drop(&keys.tensor);
    as_val_drop(&values.tensor);
    as_val_drop(&other.tensor);
    return rc;
}
