/* model/cost/cost_matmul.c - counts of matrix products in all their forms.
 * Each number of the output takes one MAC for each number along the dimension that is summed. */
#include "model/cost/cost_rules.h"
#include "model/infer/einsum.h"

enum { REQUANTIZE = 5, DYNAMIC_QUANTIZE = 7 };

/* The dimension of input `a` that is summed: its last, or where transposed the one before. */
static uint64_t summed(struct as_cost_ctx *ctx, size_t a, bool transposed)
{
    struct as_dims dims;

    if (!as_cost_in_dims(ctx, a, &dims) || dims.rank == 0) {
        ctx->unknown = true;
        return 0;
    }
    return (uint64_t)dims.at[transposed && dims.rank > 1 ? dims.rank - 2 : dims.rank - 1];
}

static uint64_t product_of(struct as_cost_ctx *ctx, size_t a, size_t b, bool transposed)
{
    uint64_t n = as_cost_out(ctx, 0);

    as_cost_product(ctx, as_sat_mul(n, summed(ctx, a, transposed)), a, b);
    return n;
}

void as_cost_matmul(struct as_cost_ctx *ctx)
{
    (void)product_of(ctx, 0, 1, false);
}

static void scaled(struct as_cost_ctx *ctx, const char *name, uint64_t n)
{
    double factor = as_node_float(ctx->node, name, 1);

    if (factor < 1 || factor > 1)
        as_count(&ctx->forward->elementwise, n);
}

void as_cost_fused_matmul(struct as_cost_ctx *ctx)
{
    bool transposed = as_node_int(ctx->node, "transA", 0) != 0;
    uint64_t n = as_cost_out(ctx, 0), k;
    struct as_dims a;

    if (transposed && as_node_int(ctx->node, "transBatchA", 0) != 0)
        k = as_cost_in_dims(ctx, 0, &a) && a.rank ? (uint64_t)a.at[0] : 0;
    else
        k = summed(ctx, 0, transposed);
    as_cost_product(ctx, as_sat_mul(n, k), 0, 1);
    scaled(ctx, "alpha", n);
}

void as_cost_gemm(struct as_cost_ctx *ctx)
{
    bool rows = as_node_int(ctx->node, "flatten_rows", 0) != 0; /* as long as the weights' */
    uint64_t n = as_cost_out(ctx, 0), depth;
    struct as_text name;

    depth = rows ? summed(ctx, 1, false) : summed(ctx, 0, as_node_int(ctx->node, "transA", 0) != 0);
    as_cost_product(ctx, as_sat_mul(n, depth), 0, 1);

    scaled(ctx, "alpha", n);
    if (as_cost_has(ctx, 2))
        scaled(ctx, "beta", as_cost_in(ctx, 2));
    as_cost_bias(ctx, 2, n);
    if (ctx->node->op == AS_OP_MS_FusedGemm && as_node_text(ctx->node, "activation", &name))
        as_cost_activation(ctx, name.at, name.size, n);
    as_cost_fused(ctx, n);
}

void as_cost_qgemm(struct as_cost_ctx *ctx)
{
    uint64_t n = product_of(ctx, 0, 3, as_node_int(ctx->node, "transA", 0) != 0);

    as_cost_bias(ctx, 6, n);
    as_count_each(&ctx->forward->elementwise, n, REQUANTIZE);
}

/* Zero points are subtracted from both operands where they are given. */
static void zero_points(struct as_cost_ctx *ctx, size_t a_zero, size_t b_zero)
{
    if (as_cost_has(ctx, a_zero))
        as_count(&ctx->forward->elementwise, as_cost_in(ctx, 0));
    if (as_cost_has(ctx, b_zero))
        as_count(&ctx->forward->elementwise, as_cost_in(ctx, 1));
}

void as_cost_matmul_integer(struct as_cost_ctx *ctx)
{
    (void)product_of(ctx, 0, 1, false);
    zero_points(ctx, 2, 3);
}

/* A, B, scale of A, scale of B, zero points, bias */
void as_cost_matmul_integer_float(struct as_cost_ctx *ctx)
{
    uint64_t n = product_of(ctx, 0, 1, false);

    zero_points(ctx, 4, 5);
    as_count(&ctx->forward->elementwise, n);
    as_cost_bias(ctx, 6, n);
}

/* A of floats is quantized first; B, its scale, its zero point, bias */
void as_cost_dynamic_matmul(struct as_cost_ctx *ctx)
{
    uint64_t n = product_of(ctx, 0, 1, false);

    as_count_each(&ctx->forward->elementwise, as_cost_in(ctx, 0), DYNAMIC_QUANTIZE);
    if (as_cost_has(ctx, 3))
        as_count(&ctx->forward->elementwise, as_cost_in(ctx, 1));
    as_count(&ctx->forward->elementwise, n);
    as_cost_bias(ctx, 4, n);
}

void as_cost_qlinear_matmul(struct as_cost_ctx *ctx)
{
    as_count_each(&ctx->forward->elementwise, product_of(ctx, 0, 3, false), REQUANTIZE);
}

/* The weights are unpacked once: shifted and scaled, or looked up and scaled. */
void as_cost_matmul_bits(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_out(ctx, 0);
    int64_t k = as_node_int(ctx->node, "K", 0), width = as_node_int(ctx->node, "N", 0);
    bool looked_up = ctx->node->op == AS_OP_MS_MatMulBnb4;

    if (k <= 0 || width <= 0) {
        ctx->unknown = true;
        return;
    }
    as_cost_product(ctx, as_sat_mul(n, (uint64_t)k), 0, 1);
    as_count_each(&ctx->forward->elementwise, as_sat_mul((uint64_t)k, (uint64_t)width),
                  looked_up ? 1 : 2);
    as_cost_bias(ctx, looked_up ? SIZE_MAX : 5, n);
}

/* ---- Einsum ---- */

static bool read_equation(const struct as_cost_ctx *ctx, struct as_einsum *e)
{
    const struct as_value *out = as_node_output(ctx->graph, ctx->node, 0);
    struct as_model *model = ctx->graph->model;
    struct assay_error err = {0};
    struct as_infer infer = {.model = model,
                             .graph = out ? out->graph : NULL,
                             .node = ctx->node,
                             .opset = ctx->opset,
                             .arena = &model->inference,
                             .err = &err};

    return out && as_einsum_read(&infer, e) == ASSAY_OK;
}

bool as_cost_einsum_sizes(struct as_cost_ctx *ctx, uint64_t *all, uint64_t *out)
{
    struct as_einsum e;

    *all = *out = 1;
    if (!read_equation(ctx, &e) || (e.dots_used && e.dots.rank < 0)) {
        ctx->unknown = true;
        return false;
    }
    for (int i = 0; i < AS_EINSUM_LETTERS; i++) {
        if (e.uses[i] == 0)
            continue;
        if (e.length[i] < 0)
            ctx->unknown = true;
        *all = as_sat_mul(*all, (uint64_t)e.length[i]);
        if (e.in_output[i])
            *out = as_sat_mul(*out, (uint64_t)e.length[i]);
    }
    for (int i = 0; e.dots_used && i < e.dots.rank; i++) {
        if (e.dots.at[i] < 0)
            ctx->unknown = true;
        *all = as_sat_mul(*all, (uint64_t)e.dots.at[i]);
        if (e.dots_in_output)
            *out = as_sat_mul(*out, (uint64_t)e.dots.at[i]);
    }
    return !ctx->unknown;
}

/* Two operands with something summed are a product of matrices; without, a multiplication. One
 * operand is a sum or a move. More are multiplied point by point and summed. */
void as_cost_einsum(struct as_cost_ctx *ctx)
{
    uint64_t all, out, n = ctx->node->n_inputs;

    if (!as_cost_einsum_sizes(ctx, &all, &out))
        return;
    if (n == 2 && all != out) {
        as_cost_product(ctx, all, 0, 1);
        return;
    }
    as_count_each(&ctx->forward->elementwise, all, as_sat_sub(n, 1) + (all != out ? 1 : 0));
    for (size_t i = 0; i < n && n > 1; i++)
        if (as_cost_grad(ctx, i))
            as_count_each(&ctx->backward->elementwise, all, n - 1);
}

/* ---- experts ---- */

/* The weights of one expert in input i: its elements over the experts, times what a byte packs. */
static uint64_t expert_weights(struct as_cost_ctx *ctx, size_t i, uint64_t packed)
{
    struct as_dims dims;

    if (!as_cost_has(ctx, i))
        return 0;
    if (!as_cost_in_dims(ctx, i, &dims) || dims.rank < 2) {
        ctx->unknown = true;
        return 0;
    }
    return as_sat_mul(as_cost_volume(&dims, 1, dims.rank), packed);
}

/* The activation of `n` numbers between the matrices; by default relu. */
static void expert_activation(struct as_cost_ctx *ctx, uint64_t n, bool gated)
{
    bool silu = as_cost_attr_is(ctx, "activation_type", "silu") ||
                as_cost_attr_is(ctx, "activation_type", "swiglu");
    bool gelu = as_cost_attr_is(ctx, "activation_type", "gelu");

    as_count_each(&ctx->forward->elementwise, n, silu ? 3 : gelu ? 4 : 1);
    as_count_each(&ctx->forward->transcendental, n, silu || gelu ? 1 : 0);
    as_count_each(&ctx->backward->elementwise, n, silu || gelu ? 8 : 1);
    as_count_each(&ctx->forward->elementwise, n, gated ? 1 : 0);
    as_count_each(&ctx->backward->elementwise, n, gated ? 2 : 0);
}

/* Every token goes through k experts of two or three matrices, chosen by a softmax over all. */
void as_cost_moe(struct as_cost_ctx *ctx)
{
    bool quantized = ctx->node->op == AS_OP_MS_QMoE;
    size_t step = quantized ? 3 : 2;
    int64_t k = as_node_int(ctx->node, "k", 1);
    int64_t bits = quantized ? as_node_int(ctx->node, "expert_weight_bits", 4) : 8;
    uint64_t each = 0, used, tokens, packed = bits == 4 ? 2 : 1;
    struct as_dims dims;

    if (!as_cost_in_dims(ctx, 0, &dims) || dims.rank < 1 || k <= 0) {
        ctx->unknown = true;
        return;
    }
    for (size_t i = 0; i < 3; i++)
        each = as_sat_add(each, expert_weights(ctx, 2 + step * i, packed));
    tokens = as_cost_volume(&dims, 0, dims.rank - 1);
    used = as_sat_mul(tokens, (uint64_t)k);
    as_cost_product(ctx, as_sat_mul(used, each), 0, 2);
    if (dims.at[dims.rank - 1] > 0)
        expert_activation(ctx,
                          as_sat_mul(used, expert_weights(ctx, 2 + step, packed) /
                                               (uint64_t)dims.at[dims.rank - 1]),
                          as_cost_has(ctx, 2 + 2 * step));
    as_cost_softmax_of(ctx, as_cost_in(ctx, 1), tokens);
    /* The results of the k experts are weighed and summed. */
    as_count_each(&ctx->forward->elementwise, as_sat_mul(as_cost_out(ctx, 0), (uint64_t)k), 2);
}

/* ---- matrices alone ---- */

/* Elimination: in step j (n - j) divisions and (n - j)^2 multiplications and subtractions; then the
 * diagonal is multiplied. */
static uint64_t elimination(uint64_t n)
{
    uint64_t pairs;

    if (n < 2)
        return 0;
    if (n > (uint64_t)1 << 20)
        return UINT64_MAX;
    pairs = (n - 1) * n * (2 * n - 1) / 6;
    return 2 * pairs + n * (n - 1) / 2 + n - 1;
}

static bool square(struct as_cost_ctx *ctx, uint64_t *n, uint64_t *matrices)
{
    struct as_dims dims;

    if (!as_cost_in_dims(ctx, 0, &dims) || dims.rank < 2) {
        ctx->unknown = true;
        return false;
    }
    *n = (uint64_t)dims.at[dims.rank - 1];
    *matrices = as_cost_volume(&dims, 0, dims.rank - 2);
    return true;
}

void as_cost_det(struct as_cost_ctx *ctx)
{
    uint64_t n, matrices;

    if (square(ctx, &n, &matrices))
        as_count_each(&ctx->forward->elementwise, matrices, elimination(n));
}

void as_cost_inverse(struct as_cost_ctx *ctx)
{
    uint64_t n, matrices;

    if (square(ctx, &n, &matrices))
        as_count_each(&ctx->forward->elementwise, matrices,
                      as_sat_mul(as_sat_mul(n, n), as_sat_mul(n, 2)));
}

/* ---- TensorFlow Lite ---- */
