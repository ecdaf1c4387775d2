/* tests/unit/test_onednn_integer.c - 8-bit kernels of oneDNN against those in plain C. */
#include "onednn_kit.h"

struct int_case {
    const char *op, *domain;
    unsigned x, w;
    int64_t x_zero, w_zero, y_zero;
    bool by_channel; /* scales of the weights */
    int64_t group;
};

/* Of the weights: 18 keeps them within 64, which every processor multiplies rightly; with 40 they
 * fill their range, and pairs of their products fit into 32 bits alone. */
static float spread;

static uint32_t bytes_of(struct as_builder *b, const char *name, unsigned dtype,
                         const struct as_dims *dims)
{
    const struct as_seeded how = {AS_SEEDED_NORMAL, 0, spread};

    return as_build_param_of(b, name, dtype, dims, &how);
}

/* Whether this processor has instructions that sum products of bytes in 32 bits. */
static bool sums_widely(const struct pair *p)
{
    const char *why_not = NULL, *name = as_engine_library(p->engine[1], &why_not);

    return strstr(name, "vnni") || strstr(name, "bf16");
}

static uint32_t zero_of(struct as_builder *b, const char *name, unsigned dtype, int64_t zero)
{
    uint8_t byte = (uint8_t)zero;

    return as_build_const(b, name, dtype, &(struct as_dims){0}, &byte);
}

static uint32_t scale_of(struct as_builder *b, const char *name, int64_t n, float scale)
{
    float all[64];

    for (int64_t i = 0; i < n; i++)
        all[i] = scale * (1 + 0.1f * (float)i);
    return as_build_const(b, name, AS_DTYPE_F32,
                          n > 1 ? &(struct as_dims){1, {n}} : &(struct as_dims){0}, all);
}

static uint32_t bias_of(struct as_builder *b, int64_t n)
{
    int32_t all[64];

    for (int64_t i = 0; i < n; i++)
        all[i] = (int32_t)(i * 311 - 900);
    return as_build_const(b, "bias", AS_DTYPE_I32, &(struct as_dims){1, {n}}, all);
}

static void build_conv(struct as_builder *b, const void *how)
{
    static const int64_t pads[] = {1, 1, 1, 1}, strides[] = {2, 1};
    const struct int_case *c = how;
    bool scaled = strcmp(c->op, "QLinearConv") == 0;
    int64_t filters = 24, channels = 12;
    uint32_t in[9], n = 0;

    in[n++] = as_build_input(b, "x", c->x, PAIR_DIMS(2, channels, 9, 7), NULL);
    if (scaled) {
        in[n++] = scale_of(b, "xs", 1, 0.02f);
        in[n++] = zero_of(b, "xz", c->x, c->x_zero);
    }
    in[n++] = bytes_of(b, "w", c->w, PAIR_DIMS(filters, channels / c->group, 3, 3));
    if (scaled) {
        in[n++] = scale_of(b, "ws", c->by_channel ? filters : 1, 0.01f);
        in[n++] = zero_of(b, "wz", c->w, c->w_zero);
        in[n++] = scale_of(b, "ys", 1, 0.9f);
        in[n++] = zero_of(b, "yz", c->x, c->y_zero);
        in[n++] = bias_of(b, filters);
    } else {
        in[n++] = zero_of(b, "xz", c->x, c->x_zero);
        in[n++] = zero_of(b, "wz", c->w, c->w_zero);
    }
    as_build_output(
        b,
        as_build_one(b,
                     &(struct as_build_node){.op = c->op,
                                             .inputs = in,
                                             .n_inputs = n,
                                             AS_BUILD_ATTR(as_attr_of_ints("pads", pads, 4),
                                                           as_attr_of_ints("strides", strides, 2),
                                                           as_attr_of_int("group", c->group))},
                     NULL),
        "y");
}

static void build_product(struct as_builder *b, const void *how)
{
    const struct int_case *c = how;
    bool gemm = strcmp(c->op, "QGemm") == 0, scaled = strcmp(c->op, "MatMulInteger") != 0;
    int64_t n_out = 20;
    uint32_t in[9], n = 0;

    in[n++] = as_build_input(b, "x", c->x, gemm ? PAIR_DIMS(6, 32) : PAIR_DIMS(2, 3, 32), NULL);
    if (scaled) {
        in[n++] = scale_of(b, "xs", 1, 0.02f);
        in[n++] = zero_of(b, "xz", c->x, c->x_zero);
    }
    in[n++] = bytes_of(b, "w", c->w, gemm ? PAIR_DIMS(n_out, 32) : PAIR_DIMS(32, n_out));
    if (!scaled)
        in[n++] = zero_of(b, "xz", c->x, c->x_zero);
    else
        in[n++] = scale_of(b, "ws", c->by_channel ? n_out : 1, 0.01f);
    in[n++] = zero_of(b, "wz", c->w, c->w_zero);
    if (gemm)
        in[n++] = bias_of(b, n_out);
    if (scaled) {
        in[n++] = scale_of(b, "ys", 1, 0.6f);
        in[n++] = zero_of(b, "yz", c->x, c->y_zero);
    }
    as_build_output(
        b,
        as_build_one(b,
                     &(struct as_build_node){.op = c->op,
                                             .domain = c->domain,
                                             .inputs = in,
                                             .n_inputs = n,
                                             AS_BUILD_ATTR(as_attr_of_int("transB", gemm))},
                     NULL),
        "y");
}

static void check_one(const struct int_case *c, pair_build build, bool taken)
{
    struct pair p = {.step = strstr(c->op, "Integer") ? 0 : 1};
    bool library;

    pair_open(&p, build, c);
    pair_same(&p, c->op);
    library = pair_has_library(&p) && strcmp(pair_kernel(&p, c->op), "plain C") != 0;
    if (!taken || (spread > 20 && pair_has_library(&p) && !sums_widely(&p)))
        assert_false(library);
    else if (pair_has_library(&p) && sums_widely(&p)) /* others lack kernels for some of them */
        assert_true(library);
    pair_close(&p);
}

static void check(const struct int_case *cases, size_t n, pair_build build, bool taken)
{
    for (size_t i = 0; i < n; i++) {
        spread = 18;
        check_one(&cases[i], build, taken);
        spread = 40;
        check_one(&cases[i], build, taken);
    }
}

static void integer_convolutions_are_right_to_one_unit(void **state)
{
    static const struct int_case cases[] = {
        {"QLinearConv", NULL, AS_DTYPE_U8, AS_DTYPE_I8, 128, 0, 3, true, 1},
        {"QLinearConv", NULL, AS_DTYPE_U8, AS_DTYPE_I8, 7, 0, 120, false, 3},
        {"QLinearConv", NULL, AS_DTYPE_I8, AS_DTYPE_I8, -5, 0, 10, true, 1},
        {"QLinearConv", NULL, AS_DTYPE_U8, AS_DTYPE_I8, 100, 0, 128, true, 12},
        {"QLinearConv", NULL, AS_DTYPE_U8, AS_DTYPE_U8, 100, 128, 128, false, 1},
        {"ConvInteger", NULL, AS_DTYPE_U8, AS_DTYPE_I8, 128, 0, 0, false, 1},
    };

    (void)state;
    check(cases, UNIT_COUNT(cases), build_conv, true);
}

static void integer_products_are_right_to_one_unit(void **state)
{
    static const struct int_case cases[] = {
        {"QLinearMatMul", NULL, AS_DTYPE_U8, AS_DTYPE_I8, 128, 0, 3, true, 1},
        {"QLinearMatMul", NULL, AS_DTYPE_I8, AS_DTYPE_I8, -3, 0, 3, false, 1},
        {"MatMulInteger", NULL, AS_DTYPE_U8, AS_DTYPE_I8, 11, 0, 0, false, 1},
        {"MatMulInteger", NULL, AS_DTYPE_U8, AS_DTYPE_U8, 11, 128, 0, false, 1},
        {"QGemm", "com.microsoft", AS_DTYPE_U8, AS_DTYPE_I8, 128, 0, 30, true, 1},
    };

    (void)state;
    check(cases, UNIT_COUNT(cases), build_product, true);
}

/* Zero points of weights that are not in the middle stay with plain C. */
static void odd_zero_points_are_refused(void **state)
{
    static const struct int_case conv = {"QLinearConv", NULL, AS_DTYPE_U8, AS_DTYPE_U8, 100, 3, 128,
                                         false,         1};
    static const struct int_case product = {
        "MatMulInteger", NULL, AS_DTYPE_U8, AS_DTYPE_I8, 11, 5, 0, false, 1};

    (void)state;
    check(&conv, 1, build_conv, false);
    check(&product, 1, build_product, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_convolutions_are_right_to_one_unit),
        cmocka_unit_test(integer_products_are_right_to_one_unit),
        cmocka_unit_test(odd_zero_points_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
