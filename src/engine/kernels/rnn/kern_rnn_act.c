/* engine/kernels/rnn/kern_rnn_act.c - the activations that recurrent layers and fused nodes name by
 * text. */
#include "engine/kernels/rnn/kern_rnn.h"

#include <math.h>
#include <strings.h>

#include "base/units.h"
#include "engine/kernels/math/fast_math.h"

static const struct {
    const char *name;
    int n_params;
    float alpha, beta;
} acts[] = {
    [AS_ACT_NONE] = {"", 0, 0, 0},
    [AS_ACT_RELU] = {"Relu", 0, 0, 0},
    [AS_ACT_TANH] = {"Tanh", 0, 0, 0},
    [AS_ACT_SIGMOID] = {"Sigmoid", 0, 0, 0},
    [AS_ACT_AFFINE] = {"Affine", 2, 1, 0},
    [AS_ACT_LEAKY_RELU] = {"LeakyRelu", 1, 0.01f, 0},
    [AS_ACT_THRESHOLDED_RELU] = {"ThresholdedRelu", 1, 1, 0},
    [AS_ACT_SCALED_TANH] = {"ScaledTanh", 2, 1, 1},
    [AS_ACT_HARD_SIGMOID] = {"HardSigmoid", 2, 0.2f, 0.5f},
    [AS_ACT_ELU] = {"Elu", 1, 1, 0},
    [AS_ACT_SOFTSIGN] = {"Softsign", 0, 0, 0},
    [AS_ACT_SOFTPLUS] = {"Softplus", 0, 0, 0},
    [AS_ACT_CLIP] = {"Clip", 2, -3.4028235e38f, 3.4028235e38f},
    [AS_ACT_GELU] = {"Gelu", 0, 0, 0},
    [AS_ACT_SILU] = {"Silu", 0, 0, 0},
    [AS_ACT_HARD_SWISH] = {"HardSwish", 0, 0, 0},
};
_Static_assert(AS_COUNT_OF(acts) == AS_ACT_COUNT, "name every activation");

bool as_act_find(struct as_text name, struct as_act *act, int *n_params)
{
    for (int i = 1; i < AS_ACT_COUNT; i++)
        if (strlen(acts[i].name) == name.size &&
            strncasecmp(acts[i].name, name.at, name.size) == 0) {
            *act = (struct as_act){(enum as_act_kind)i, acts[i].alpha, acts[i].beta};
            *n_params = acts[i].n_params;
            return true;
        }
    return false;
}

#define EACH(expression)                                                                           \
    for (uint64_t i = 0; i < n; i++) {                                                             \
        float v = x[i];                                                                            \
                                                                                                   \
        x[i] = (expression);                                                                       \
    }                                                                                              \
    break

AS_VECTOR(extern, as_act_run, (const struct as_act *act, float *x, uint64_t n), (act, x, n))
{
    float alpha = act->alpha, beta = act->beta;

    switch (act->kind) {
    case AS_ACT_RELU:
        EACH(v > 0 ? v : v != v ? v : 0);
    case AS_ACT_TANH:
        EACH(as_tanhf(v));
    case AS_ACT_SIGMOID:
        EACH(as_sigmoidf(v));
    case AS_ACT_AFFINE:
        EACH(alpha * v + beta);
    case AS_ACT_LEAKY_RELU:
        EACH(v < 0 ? alpha * v : v);
    case AS_ACT_THRESHOLDED_RELU:
        EACH(v > alpha ? v : 0);
    case AS_ACT_SCALED_TANH:
        EACH(alpha * as_tanhf(beta * v));
    case AS_ACT_HARD_SIGMOID:
        EACH(fminf(1, fmaxf(0, alpha * v + beta)));
    case AS_ACT_ELU:
        EACH(v < 0 ? alpha * expm1f(v) : v);
    case AS_ACT_SOFTSIGN:
        EACH(v / (1 + fabsf(v)));
    case AS_ACT_SOFTPLUS:
        EACH(fmaxf(v, 0) + log1pf(expf(-fabsf(v))));
    case AS_ACT_CLIP:
        EACH(v < alpha ? alpha : v > beta ? beta : v);
    case AS_ACT_GELU:
        EACH(0.5f * v * (1 + erff(v * 0.70710678f)));
    case AS_ACT_SILU:
        EACH(v * as_sigmoidf(v));
    case AS_ACT_HARD_SWISH:
        EACH(v * fminf(1, fmaxf(0, v / 6 + 0.5f)));
    default:
        break;
    }
}
