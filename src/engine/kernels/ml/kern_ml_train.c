/* engine/kernels/ml/kern_ml_train.c - one step of Adagrad, Adam and Momentum, as ONNX has them.
 * Inputs: the rate, the number of steps done, then groups of tensors: values, gradients, states. */
#include <tgmath.h>

#include "engine/kernels/ml/kern_ml.h"

/* What does not change from element to element. */
struct rule {
    double rate, alpha, beta, epsilon, decay, decay_after;
    bool nesterov;
};

struct tensors {
    const void *x, *g, *v, *h; /* `h` of Adam alone */
    void *x_new, *v_new, *h_new;
    struct rule rule;
};

#define STEP(name, type, tag, ...)                                                                 \
    AS_VECTOR(static, name##_##tag, (const struct tensors *t, uint64_t n), (t, n))                 \
    {                                                                                              \
        typedef type T;                                                                            \
        const T *xs = t->x, *gs = t->g, *vs = t->v, *hs = t->h;                                    \
        T *x_new = t->x_new, *v_new = t->v_new, *h_new = t->h_new;                                 \
        T rate = (T)t->rule.rate, alpha = (T)t->rule.alpha, beta = (T)t->rule.beta;                \
        T epsilon = (T)t->rule.epsilon, decay = (T)t->rule.decay;                                  \
        T after = (T)(1 - t->rule.decay_after), ahead = t->rule.nesterov ? 1 : 0;                  \
                                                                                                   \
        (void)hs, (void)h_new, (void)alpha, (void)beta, (void)epsilon, (void)after, (void)ahead;   \
        AS_IVDEP for (uint64_t i = 0; i < n; i++)                                                  \
        {                                                                                          \
            T g = gs[i] + decay * xs[i];                                                           \
                                                                                                   \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#define STEPS(type, tag)                                                                           \
    STEP(adagrad, type, tag, T v = vs[i] + g * g; v_new[i] = v;                                    \
         x_new[i] = xs[i] - rate * g / (sqrt(v) + epsilon);)                                       \
    STEP(adam, type, tag, T v = alpha * vs[i] + (1 - alpha) * g;                                   \
         T h = beta * hs[i] + (1 - beta) * g * g; v_new[i] = v; h_new[i] = h;                      \
         x_new[i] = after * (xs[i] - rate * v / (sqrt(h) + epsilon));)                             \
    STEP(momentum, type, tag, T v = alpha * vs[i] + beta * g; v_new[i] = v;                        \
         x_new[i] = xs[i] - rate * (ahead * g + (ahead > 0 ? alpha * v : v));)
STEPS(float, f32)
STEPS(double, f64)

typedef void (*step_fn)(const struct tensors *t, uint64_t n);

/* Tensor `i` of `n` in every group. An output nobody wants is written into working memory. */
static int gather(struct as_kernel_ctx *k, size_t i, size_t n, size_t n_states, struct tensors *t)
{
    const struct as_val *x = k->in[2 + i];
    const void **in[] = {&t->x, &t->g, &t->v, &t->h};
    void **out[] = {&t->x_new, &t->v_new, &t->h_new};

    for (size_t group = 0; group < 2 + n_states; group++) {
        const struct as_val *val = k->in[2 + group * n + i];

        if (!val || val->n != x->n || val->dtype != x->dtype)
            return as_kernel_fail(k, "the parts of tensor %zu do not fit together", i);
        *in[group] = val->data;
    }
    for (size_t group = 0; group < 1 + n_states; group++) {
        struct as_val *val = as_has_out(k, group * n + i) ? k->out[group * n + i] : NULL;

        if (val && (val->n != x->n || val->dtype != x->dtype))
            return as_kernel_fail(k, "output %zu does not fit", group * n + i);
        *out[group] = val ? val->data : as_kernel_work(k, x->n, as_elem_bytes(x->dtype));
        if (!*out[group])
            return ASSAY_ERR_NOMEM;
    }
    return ASSAY_OK;
}

static int optimize(struct as_kernel_ctx *k, size_t n_states, step_fn f32, step_fn f64,
                    const struct rule *rule)
{
    size_t groups = 2 + n_states, n;
    struct tensors t = {.rule = *rule};

    if (k->n_in < 2 || (k->n_in - 2) % groups != 0)
        return as_kernel_fail(k, "%zu inputs are not a whole number of tensors with their state",
                              k->n_in);
    n = (k->n_in - 2) / groups;
    for (size_t i = 0; i < n; i++) {
        const struct as_val *x = k->in[2 + i];
        int rc;

        if (!x || (x->dtype != AS_DTYPE_F32 && x->dtype != AS_DTYPE_F64))
            return as_kernel_cannot(k, "tensor %zu is neither f32 nor f64", i);
        rc = gather(k, i, n, n_states, &t);
        if (rc < 0)
            return rc;
        (x->dtype == AS_DTYPE_F32 ? f32 : f64)(&t, x->n);
    }
    return ASSAY_OK;
}

int as_run_adagrad(struct as_kernel_ctx *k)
{
    double rate = as_in_number(k, 0, 0), steps = as_in_number(k, 1, 0);
    struct rule r = {.epsilon = as_node_float(k->node, "epsilon", 1e-6),
                     .decay = as_node_float(k->node, "norm_coefficient", 0)};

    r.rate = rate / (1 + steps * as_node_float(k->node, "decay_factor", 0));
    return optimize(k, 1, adagrad_f32, adagrad_f64, &r);
}

int as_run_adam(struct as_kernel_ctx *k)
{
    double steps = as_in_number(k, 1, 0);
    struct rule r = {.rate = as_in_number(k, 0, 0),
                     .alpha = as_node_float(k->node, "alpha", 0.9),
                     .beta = as_node_float(k->node, "beta", 0.999),
                     .epsilon = as_node_float(k->node, "epsilon", 1e-6),
                     .decay = as_node_float(k->node, "norm_coefficient", 0),
                     .decay_after = as_node_float(k->node, "norm_coefficient_post", 0)};

    if (steps > 0)
        r.rate *= sqrt(1 - pow(r.beta, steps)) / (1 - pow(r.alpha, steps));
    return optimize(k, 2, adam_f32, adam_f64, &r);
}

int as_run_momentum(struct as_kernel_ctx *k)
{
    struct rule r = {.rate = as_in_number(k, 0, 0),
                     .alpha = as_node_float(k->node, "alpha", 0),
                     .beta = as_node_float(k->node, "beta", 0),
                     .decay = as_node_float(k->node, "norm_coefficient", 0),
                     .nesterov = as_node_text_is(k->node, "mode", "nesterov")};

    if (!(as_in_number(k, 1, 0) > 0))
        r.beta = 1;
    return optimize(k, 1, momentum_f32, momentum_f64, &r);
}
