/* engine/post_ops.c - operations done to the output of a step before it is stored, in plain C.
 * One table has every post: a loop over f32, and the same for one number of any other dtype. */
#include <math.h>

#include "base/units.h"
#include "engine/exec_plan.h"

#define SQRT_HALF   0.70710678118654752440
#define SQRT_2_PI   0.79788456080286535588
#define CUBIC       0.044715
#define PIECE_ELEMS 16384

struct args {
    float *y;
    const float *other;
    float alpha, beta;
};

typedef void (*post_loop)(const struct args *a, uint64_t from, uint64_t to);
typedef double (*post_one)(double x, double other, double alpha, double beta);

/* name, in f32, in double; x is the element, z the second tensor's. */
#define POSTS(X)                                                                                   \
    X(relu, x > 0 ? x : 0, x > 0 ? x : 0)                                                          \
    X(leaky, x < 0 ? alpha * x : x, x < 0 ? alpha * x : x)                                         \
    X(clip, fminf(fmaxf(x, alpha), beta), fmin(fmax(x, alpha), beta))                              \
    X(sigmoid, 1 / (1 + expf(-x)), 1 / (1 + exp(-x)))                                              \
    X(tanh, tanhf(x), tanh(x))                                                                     \
    X(hard_sigmoid, fminf(fmaxf(alpha *x + beta, 0), 1), fmin(fmax(alpha *x + beta, 0), 1))        \
    X(hard_swish, x *fminf(fmaxf(x / 6 + 0.5f, 0), 1), x *fmin(fmax(x / 6 + 0.5, 0), 1))           \
    X(elu, x < 0 ? alpha * expm1f(x) : x, x < 0 ? alpha * expm1(x) : x)                            \
    X(gelu, 0.5f * x * (1 + erff(x * (float)SQRT_HALF)), 0.5 * x * (1 + erf(x * SQRT_HALF)))       \
    X(fast_gelu, 0.5f * x * (1 + tanhf((float)SQRT_2_PI * (x + (float)CUBIC * x * x * x))),        \
      0.5 * x * (1 + tanh(SQRT_2_PI * (x + CUBIC * x * x * x))))                                   \
    X(quick_gelu, x / (1 + expf(-alpha * x)), x / (1 + exp(-alpha * x)))                           \
    X(mish, x *tanhf(log1pf(expf(fminf(x, 30.0f)))), x *tanh(log1p(exp(fmin(x, 30)))))             \
    X(add, x + z, x + z)                                                                           \
    X(sub, x - z, x - z)                                                                           \
    X(mul, x *z, x *z)

#define X(name, single, exact)                                                                     \
    AS_VECTOR(static, loop_##name, (const struct args *a, uint64_t from, uint64_t to),             \
              (a, from, to))                                                                       \
    {                                                                                              \
        const float alpha = a->alpha, beta = a->beta;                                              \
        const float *other = a->other;                                                             \
        float *y = a->y;                                                                           \
                                                                                                   \
        (void)alpha, (void)beta;                                                                   \
        for (uint64_t i = from; i < to; i++) {                                                     \
            const float x = y[i], z = other[i];                                                    \
                                                                                                   \
            (void)z;                                                                               \
            y[i] = single;                                                                         \
        }                                                                                          \
    }                                                                                              \
    static double one_##name(double x, double z, double alpha, double beta)                        \
    {                                                                                              \
        (void)z, (void)alpha, (void)beta;                                                          \
        return exact;                                                                              \
    }
POSTS(X)
#undef X

static const struct post {
    enum as_op op;
    bool second;
    post_loop loop;
    post_one one;
} post_ops[] = {
    {AS_OP_Relu, false, loop_relu, one_relu},
    {AS_OP_LeakyRelu, false, loop_leaky, one_leaky},
    {AS_OP_Clip, false, loop_clip, one_clip},
    {AS_OP_Sigmoid, false, loop_sigmoid, one_sigmoid},
    {AS_OP_Tanh, false, loop_tanh, one_tanh},
    {AS_OP_HardSigmoid, false, loop_hard_sigmoid, one_hard_sigmoid},
    {AS_OP_HardSwish, false, loop_hard_swish, one_hard_swish},
    {AS_OP_Elu, false, loop_elu, one_elu},
    {AS_OP_Gelu, false, loop_gelu, one_gelu},
    {AS_OP_MS_FastGelu, false, loop_fast_gelu, one_fast_gelu},
    {AS_OP_MS_QuickGelu, false, loop_quick_gelu, one_quick_gelu},
    {AS_OP_Mish, false, loop_mish, one_mish},
    {AS_OP_Add, true, loop_add, one_add},
    {AS_OP_Sub, true, loop_sub, one_sub},
    {AS_OP_Mul, true, loop_mul, one_mul},
};

static const struct post *find(enum as_op op)
{
    for (size_t i = 0; i < AS_COUNT_OF(post_ops); i++)
        if (post_ops[i].op == op)
            return &post_ops[i];
    return NULL;
}

/* All posts on one piece, which then stays in the cache. */
struct job {
    const struct post *post[AS_MAX_POST_OPS];
    struct args args[AS_MAX_POST_OPS];
    uint32_t n;
};

static void run_job(void *arg, uint64_t from, uint64_t to)
{
    const struct job *job = arg;

    for (uint64_t at = from; at < to; at += PIECE_ELEMS) {
        uint64_t end = to - at > PIECE_ELEMS ? at + PIECE_ELEMS : to;

        for (uint32_t i = 0; i < job->n; i++)
            job->post[i]->loop(&job->args[i], at, end);
    }
}

AS_VECTOR(static, add_rows, (float *y, const float *bias, uint64_t n_rows, uint64_t width),
          (y, bias, n_rows, width))
{
    for (uint64_t r = 0; r < n_rows; r++)
        for (uint64_t i = 0; i < width; i++)
            y[r * width + i] += bias[i];
}

static int add_bias(struct as_kernel_ctx *k, struct as_val *y, const struct as_val *bias)
{
    if (bias->n == 0 || y->n % bias->n != 0)
        return as_kernel_fail(k, "its bias of %llu numbers does not fit",
                              (unsigned long long)bias->n);
    if (y->dtype == AS_DTYPE_F32 && bias->dtype == AS_DTYPE_F32) {
        add_rows(y->data, bias->data, y->n / bias->n, bias->n);
        return ASSAY_OK;
    }
    for (uint64_t i = 0; i < y->n; i++)
        as_val_put_f64(y, i, as_val_f64(y, i) + as_val_f64(bias, i % bias->n));
    return ASSAY_OK;
}

static void apply_slowly(struct as_val *y, const struct post *post, const struct as_post_op *spec,
                         const struct as_val *other)
{
    for (uint64_t i = 0; i < y->n; i++)
        as_val_put_f64(y, i,
                       post->one(as_val_f64(y, i), other ? as_val_f64(other, i) : 0,
                                 (double)spec->alpha, (double)spec->beta));
}

int as_post_ops_apply(struct as_kernel_ctx *k, const struct as_step *step)
{
    struct as_val *y = as_has_out(k, 0) ? k->out[0] : NULL;
    struct job job = {.n = 0};
    bool quick;
    int rc = ASSAY_OK;

    if (!y)
        return ASSAY_OK;
    quick = y->dtype == AS_DTYPE_F32;
    if (as_step_has_bias(step) && as_has_in(k, 2))
        rc = add_bias(k, y, k->in[2]);
    for (uint32_t i = 0; i < step->n_post_ops && rc == ASSAY_OK; i++) {
        const struct as_post_op *spec = &step->post_ops[i];
        const struct post *post = find(spec->op);
        const struct as_val *other =
            post && post->second && as_has_in(k, spec->in) ? k->in[spec->in] : NULL;

        if (!post || (post->second && (!other || other->n != y->n)))
            return as_kernel_fail(k, "what is fused to it (%s) does not fit", as_op_name(spec->op));
        quick = quick && (!other || other->dtype == AS_DTYPE_F32);
        job.post[job.n] = post;
        job.args[job.n++] =
            (struct args){y->data, other ? other->data : y->data, spec->alpha, spec->beta};
    }
    if (rc == ASSAY_OK && quick && job.n)
        as_kernel_parallel(k, y->n, PIECE_ELEMS, run_job, &job);
    for (uint32_t i = 0; i < job.n && rc == ASSAY_OK && !quick; i++)
        apply_slowly(y, job.post[i], &step->post_ops[i],
                     job.post[i]->second ? k->in[step->post_ops[i].in] : NULL);
    return rc;
}
