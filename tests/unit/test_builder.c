/* The builder: shapes while it grows, names, seeded numbers, and failures that are kept. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "model/build/build_attention.h"

struct built {
    struct as_model *model;
    struct as_builder b;
};

static struct built *begin(void)
{
    static struct built built;

    memset(&built, 0, sizeof built);
    assert_int_equal(as_model_new(&built.model, 0, NULL), ASSAY_OK);
    as_builder_init(&built.b, built.model, 7);
    return &built;
}

static void end(struct built *built)
{
    as_builder_fini(&built->b);
    as_model_free(built->model);
}

static uint32_t input(struct as_builder *b, int rank, int64_t d0, int64_t d1, int64_t d2,
                      int64_t d3)
{
    struct as_dims dims = {rank, {d0, d1, d2, d3}};

    return as_build_input(b, "x", AS_DTYPE_F32, &dims, NULL);
}

static void expect_dims(const struct as_builder *b, uint32_t value, const char *text)
{
    char shown[128];

    if (!as_build_ok(b))
        fail_msg("%s", b->err.msg);
    as_type_text(shown, sizeof shown, &b->model->values[value].type);
    assert_string_equal(shown, text);
}

static void layers_follow_the_shape(void **state)
{
    struct built *built = begin();
    struct as_builder *b = &built->b;
    struct as_build_conv conv = {.channels = 64, .kernel = {7, 7}, .stride = {2, 2}, .pad = {3, 3}};
    struct as_build_conv up = {.channels = 8, .kernel = {4, 4}, .stride = {2, 2}, .pad = {1, 1}};
    struct as_build_pool pool = {.kernel = {3, 3}, .stride = {2, 2}, .ceil = true};
    uint32_t x = input(b, 4, AS_DIM_UNKNOWN, 3, 224, 224);

    (void)state;
    x = as_build_conv(b, "conv", x, &conv);
    expect_dims(b, x, "?x64x112x112");
    x = as_build_max_pool(b, NULL, x, &pool);
    expect_dims(b, x, "?x64x56x56");
    x = as_build_group_norm(b, NULL, x, 8, 1e-5);
    expect_dims(b, x, "?x64x56x56");
    x = as_build_conv_transpose(b, NULL, x, &up);
    expect_dims(b, x, "?x8x112x112");
    x = as_build_adaptive_avg_pool(b, NULL, x, 7, 7);
    expect_dims(b, x, "?x8x7x7");
    x = as_build_flatten(b, NULL, x, 1);
    expect_dims(b, x, "?x392");
    x = as_build_linear(b, NULL, x, 10, true);
    expect_dims(b, x, "?x10");
    as_build_output(b, x, "y");
    assert_int_equal(as_builder_finish(b, NULL), ASSAY_OK);
    assert_int_equal(built->model->main->n_outputs, 1);
    assert_string_equal(built->model->values[built->model->main->outputs[0]].name, "y");
    end(built);
}

static void attention_keeps_length_and_width(void **state)
{
    static const struct as_build_projections names = {"q", "k", "v", "o", true};
    struct built *built = begin();
    struct as_builder *b = &built->b;
    struct as_build_attention how = {.heads = 8, .kv_heads = 2, .mask = AS_NONE};
    uint32_t x = input(b, 3, AS_DIM_UNKNOWN, 16, 64, 0), length;
    struct as_build_rope rope;

    (void)state;
    length = as_build_length(b, "length", x, 1);
    how.mask = as_build_causal_mask(b, "mask", length, 16);
    expect_dims(b, how.mask, "16x16");
    rope = as_build_rope_table(b, "rope", as_build_positions(b, "at", length, 16), 8, 10000);
    expect_dims(b, rope.cos, "16x4");
    how.rope = &rope;
    x = as_build_attention_layer(b, "attn", x, x, &how, &names);
    expect_dims(b, x, "?x16x64");
    x = as_build_lstm(b, NULL, x, 5, true);
    expect_dims(b, x, "?x16x10");
    as_build_output(b, x, NULL);
    assert_int_equal(as_builder_finish(b, NULL), ASSAY_OK);
    end(built);
}

static void names_are_made_different(void **state)
{
    struct built *built = begin();
    struct as_builder *b = &built->b;
    uint32_t x = input(b, 2, 1, 4, 0, 0);

    (void)state;
    as_build_scope(b, "block%d", 1);
    x = as_build_linear(b, "fc", x, 4, true);
    x = as_build_linear(b, "fc", x, 4, true);
    as_build_scope_end(b);
    x = as_build_linear(b, "fc", x, 4, true);
    as_build_output(b, x, "x");
    assert_int_equal(as_builder_finish(b, NULL), ASSAY_OK);
    assert_string_equal(built->model->main->nodes[0].name, "block1.fc");
    assert_string_equal(built->model->main->nodes[1].name, "block1.fc_1");
    assert_string_equal(built->model->main->nodes[2].name, "fc");
    for (uint32_t i = 0; i < built->model->n_values; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(built->model->values[i].name, built->model->values[k].name);
    end(built);
}

static void the_first_failure_is_kept(void **state)
{
    struct built *built = begin();
    struct as_builder *b = &built->b;
    struct assay_error err = {0};
    uint32_t x = input(b, 2, 1, 4, 0, 0);

    (void)state;
    assert_int_equal(as_build_linear(b, "narrow", x, 0, true), AS_NONE);
    x = as_build_flatten(b, "later", AS_NONE, 1);
    assert_int_equal(x, AS_NONE);
    as_build_output(b, x, NULL);
    assert_int_equal(as_builder_finish(b, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "'narrow'"));
    end(built);
}

static void wrong_layers_are_refused(void **state)
{
    struct as_build_conv conv = {.channels = 4, .kernel = {3, 3}, .groups = 2};
    struct as_build_pool pool = {.kernel = {9, 9}};
    struct as_build_attention how = {.heads = 3, .mask = AS_NONE};

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct built *built = begin();
        struct as_builder *b = &built->b;
        uint32_t x = input(b, 4, 1, 3, 8, 8), y = AS_NONE;

        if (i == 0)
            y = as_build_conv(b, "odd groups", x, &conv);
        if (i == 1)
            y = as_build_max_pool(b, "large", x, &pool);
        if (i == 2)
            y = as_build_matmul(b, "no match", x,
                                as_build_reshape(b, NULL, x, (const int64_t[]){3, 64}, 2));
        if (i == 3)
            y = as_build_reshape(b, "wrong", x, (const int64_t[]){7, -1}, 2);
        if (i == 4)
            y = as_build_attend(b, x, x, x, &how);
        if (i == 5)
            as_build_scope_end(b);
        if (i == 6)
            y = as_build_adaptive_avg_pool(b, "uneven", x, 3, 3);
        if (i == 7)
            y = as_build_concat(b, "far axis", &x, 1, 9);
        assert_int_equal(y, AS_NONE);
        assert_false(as_build_ok(b));
        assert_true(b->err.msg[0]);
        end(built);
    }
}

/* ---- seeded numbers ---- */

static struct as_data *seeded(struct as_arena *arena, unsigned dtype, uint64_t n,
                              enum as_seeded_kind kind)
{
    struct as_seeded how = {kind, 0.5f, 2.0f};
    struct as_data *data = as_seeded_data(arena, dtype, n, as_seeded_key(3, "w"), &how);

    assert_non_null(data);
    return data;
}

static void seeded_numbers_do_not_depend_on_the_piece(void **state)
{
    static const unsigned dtypes[] = {AS_DTYPE_F32, AS_DTYPE_F16, AS_DTYPE_BF16, AS_DTYPE_F64};
    enum { N = 3001 };
    uint8_t *whole = as_alloc(N * 8), *pieces = as_alloc(N * 8);
    struct as_arena arena = {0};

    (void)state;
    assert_non_null(whole);
    assert_non_null(pieces);
    for (size_t d = 0; d < UNIT_COUNT(dtypes); d++)
        for (int kind = 0; kind < AS_SEEDED_COUNT; kind++) {
            struct as_data *data = seeded(&arena, dtypes[d], N, (enum as_seeded_kind)kind);
            size_t each = as_dtype_at(dtypes[d])->block_bytes;

            assert_int_equal(as_data_read(data, 0, N, whole, NULL), ASSAY_OK);
            for (uint64_t at = 0, n; at < N; at += n) {
                n = at % 7 * 100 + 1 < N - at ? at % 7 * 100 + 1 : N - at;
                assert_int_equal(as_data_read(data, at, n, pieces + at * each, NULL), ASSAY_OK);
            }
            assert_memory_equal(whole, pieces, N * each);
        }
    as_arena_fini(&arena);
    as_free(whole);
    as_free(pieces);
}

static void seeded_numbers_have_mean_and_spread(void **state)
{
    enum { N = 200000 };
    float *w = as_alloc(N * sizeof *w);
    struct as_arena arena = {0};

    (void)state;
    assert_non_null(w);
    for (int kind = 0; kind < AS_SEEDED_COUNT; kind++) {
        struct as_data *data = seeded(&arena, AS_DTYPE_F32, N, (enum as_seeded_kind)kind);
        double sum = 0, squares = 0, max = 0;

        assert_int_equal(as_data_read(data, 0, N, w, NULL), ASSAY_OK);
        for (int i = 0; i < N; i++) {
            double away = (double)w[i] - 0.5;

            sum += away;
            squares += away * away;
            max = fabs(away) > max ? fabs(away) : max;
        }
        assert_true(fabs(sum / N) < 0.02);
        assert_true(fabs(sqrt(squares / N) / (kind ? 2.0 : 2.0 / sqrt(3)) - 1) < 0.01);
        assert_true(max <= (kind ? 7.0 : 2.0001));
    }
    as_arena_fini(&arena);
    as_free(w);
}

static void tensors_of_other_names_or_seeds_differ(void **state)
{
    (void)state;
    assert_true(as_seeded_key(1, "a") != as_seeded_key(1, "b"));
    assert_true(as_seeded_key(1, "a") != as_seeded_key(2, "a"));
    assert_true(as_seeded_key(1, "a") == as_seeded_key(1, "a"));
}

static void half_floats_round_as_they_should(void **state)
{
    (void)state;
    /* Every finite half float is itself, ... */
    for (uint32_t bits = 0; bits < 0x10000; bits++)
        if ((bits & 0x7c00) != 0x7c00)
            assert_int_equal(as_f16_bits((float)as_f16_value((uint16_t)bits)), bits);
    /* ... and half-way cases go to the even one. */
    assert_int_equal(as_f16_bits(1.0f + 0x1p-11f), 0x3c00);
    assert_int_equal(as_f16_bits(1.0f + 0x3p-11f), 0x3c02);
    assert_int_equal(as_f16_bits(0x1p-25f), 0);
    assert_int_equal(as_f16_bits(0x1.8p-25f), 1);
    assert_int_equal(as_f16_bits(65504.0f), 0x7bff);
    assert_int_equal(as_f16_bits(65520.0f), 0x7c00);
    assert_int_equal(as_f16_bits(-1e9f), 0xfc00);
}

static void elements_past_the_end_are_refused(void **state)
{
    struct as_arena arena = {0};
    struct as_data *data = seeded(&arena, AS_DTYPE_F32, 4, AS_SEEDED_UNIFORM);
    float w[8];

    (void)state;
    assert_true(as_data_read(data, 2, 3, w, NULL) < 0);
    assert_true(as_data_read(data, UINT64_MAX, 2, w, NULL) < 0);
    as_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_follow_the_shape),
        cmocka_unit_test(attention_keeps_length_and_width),
        cmocka_unit_test(names_are_made_different),
        cmocka_unit_test(the_first_failure_is_kept),
        cmocka_unit_test(wrong_layers_are_refused),
        cmocka_unit_test(seeded_numbers_do_not_depend_on_the_piece),
        cmocka_unit_test(seeded_numbers_have_mean_and_spread),
        cmocka_unit_test(tensors_of_other_names_or_seeds_differ),
        cmocka_unit_test(half_floats_round_as_they_should),
        cmocka_unit_test(elements_past_the_end_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
