/* assay/model.h: networks with weights of few bits are described, counted, written and read again.
 * Every byte is accounted for: weights, scales, biases. */
#include "unit.h"

#include <assay/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/weights/seeded_data.h"
#include "stats_near.h"

static struct assay_model *new_model(void)
{
    struct assay_model *model;

    (void)assay_model_new(&model, NULL, NULL);
    return model;
}

static struct assay_model_counts counts_of(struct assay_model *model)
{
    struct assay_model_counts counts;
    struct assay_error err = {0};

    if (assay_model_count(model, &counts, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(counts.n_unknown_ops, 0);
    assert_int_equal(counts.n_unknown_shapes, 0);
    return counts;
}

/* Two dense layers with a norm and a split reduction between them; bits 32: not quantized. */
static struct assay_model *network(int rank, int bits)
{
    const int64_t dims[] = {2, 16, 256};
    struct assay_model *model = new_model();
    int x = assay_model_input(model, "x", ASSAY_DTYPE_F32, rank, rank == 2 ? dims + 1 : dims);

    if (bits == 32)
        x = assay_model_linear(model, "fc1", x, 512, true);
    else
        x = assay_model_linear_quantized(model, "fc1", x, 512, bits, true);
    x = assay_model_rms_norm(model, "norm", x, 0);
    if (bits == 32)
        x = assay_model_linear(model, "fc2", x, 64, false);
    else
        x = assay_model_linear_quantized(model, "fc2", x, 64, bits, false);
    assay_model_output(model, x, "y");
    return model;
}

enum { WEIGHTS = 256 * 512 + 512 * 64, OTHERS = 512 + 512, SCALES = 512 + 64 };

static void weights_take_the_bytes_they_have(void **state)
{
    (void)state;
    for (int rank = 2; rank <= 3; rank++) {
        struct assay_model *whole = network(rank, 32);
        struct assay_model_counts full = counts_of(whole);

        assert_int_equal(full.parameters, WEIGHTS + OTHERS);
        assert_true(full.compression > 0.9999 && full.compression < 1.0001);
        for (int bits = 4; bits <= 8; bits += 4) {
            struct assay_model *model = network(rank, bits);
            struct assay_model_counts counts = counts_of(model);
            double stored = WEIGHTS * bits / 8 + 4 * (OTHERS + SCALES);

            assert_int_equal(counts.parameters, WEIGHTS + OTHERS);
            assert_int_equal(counts.trainable, OTHERS);
            assert_int_equal(counts.frozen, WEIGHTS);
            assert_int_equal(counts.parameter_bytes, WEIGHTS * bits / 8 + 4 * OTHERS);
            assert_int_equal(counts.macs, full.macs);
            assert_near(counts.compression, 4.0 * (WEIGHTS + OTHERS) / stored, 1e-9);
            assert_true(counts.compression > (bits == 8 ? 3.8 : 7.2));
            assert_true(counts.compression < (bits == 8 ? 4.0 : 8.0));
            assay_model_free(model);
        }
        assay_model_free(whole);
    }
}

static void what_is_written_reads_the_same(void **state)
{
    (void)state;
    for (int rank = 2; rank <= 3; rank++)
        for (int bits = 4; bits <= 8; bits += 4) {
            char path[] = "/tmp/test_model_quantized.XXXXXX";
            struct assay_model_counts before, after;
            struct assay_model *model = network(rank, bits), *again = NULL;
            struct assay_error err = {0};
            int fd = mkstemp(path);

            assert_true(fd >= 0);
            close(fd);
            before = counts_of(model);
            assert_int_equal(assay_model_write_onnx(model, path, &err), ASSAY_OK);
            assert_int_equal(assay_model_open(&again, path, &err), ASSAY_OK);
            after = counts_of(again);
            assert_memory_equal(&before, &after, sizeof before);
            assay_model_free(again);
            assay_model_free(model);
            unlink(path);
        }
}

static void activations_are_quantized_and_come_back(void **state)
{
    const int64_t dims[] = {4, 6}, six[] = {6};
    const float one = 0.5f, each[6] = {1, 2, 3, 4, 5, 6};
    const int8_t zero = 0, zeros[6] = {0};
    struct assay_model_layer layer;
    struct assay_model *model = new_model();
    int x = assay_model_input(model, "x", ASSAY_DTYPE_F32, 2, dims);
    int s = assay_model_constant(model, "s", ASSAY_DTYPE_F32, 0, NULL, &one);
    int z = assay_model_constant(model, "z", ASSAY_DTYPE_I8, 0, NULL, &zero);
    int ss = assay_model_constant(model, "ss", ASSAY_DTYPE_F32, 1, six, each);
    int zs = assay_model_constant(model, "zs", ASSAY_DTYPE_I8, 1, six, zeros);

    (void)state;
    x = assay_model_dequantize(model, NULL, assay_model_quantize(model, NULL, x, s, z, 0), s, z, 0);
    x = assay_model_dequantize(model, NULL, assay_model_quantize(model, NULL, x, ss, zs, 1), ss, zs,
                               -1);
    x = assay_model_quantize(model, NULL, x, s, -1, 0); /* u8 */
    assay_model_output(model, x, "y");
    (void)counts_of(model);
    assert_int_equal(assay_model_layer_at(model, 0, &layer), ASSAY_OK);
    assert_string_equal(layer.op, "QuantizeLinear");
    assert_int_equal(layer.output_bytes, 24);
    assert_int_equal(assay_model_layer_at(model, 1, &layer), ASSAY_OK);
    assert_int_equal(layer.output_bytes, 96);
    assert_int_equal(assay_model_layer_at(model, 4, &layer), ASSAY_OK);
    assert_int_equal(layer.output_bytes, 24);
    assay_model_free(model);
}

static void wrong_scales_are_refused(void **state)
{
    const int64_t dims[] = {4, 6}, five[] = {5};
    const float each[6] = {1, 2, 3, 4, 5, 6};
    const double wide = 1;

    (void)state;
    for (int i = 0; i < 6; i++) {
        struct assay_model *model = new_model();
        int x = assay_model_input(model, "x", ASSAY_DTYPE_F32, 2, dims), y = 0;
        int q = assay_model_parameter_typed(model, "q", ASSAY_DTYPE_U4, 2, dims, 3);
        int s = assay_model_constant(model, "s", ASSAY_DTYPE_F32, 1, five, each);
        int d = assay_model_constant(model, "d", ASSAY_DTYPE_F64, 0, NULL, &wide);

        if (i == 0)
            y = assay_model_dequantize(model, NULL, q, s, -1, 1); /* 5 for 6 */
        else if (i == 1)
            y = assay_model_dequantize(model, NULL, q, d, -1, 1);
        else if (i == 2)
            y = assay_model_dequantize(model, NULL, q, x, -1, 1);
        else if (i == 3)
            y = assay_model_quantize(model, NULL, x, -1, -1, 1);
        else if (i == 4)
            y = assay_model_linear_quantized(model, NULL, x, 4, 5, true);
        else
            y = assay_model_parameter_typed(model, NULL, ASSAY_DTYPE_U64, 2, dims, 3);
        if (y != ASSAY_ERR_USAGE)
            fail_msg("case %d gives %d", i, y);
        assay_model_free(model);
    }
}

/* Any piece of a tensor is that of the whole, and all steps are in range. */
static void seeded_integers_have_their_range(void **state)
{
    static const struct {
        unsigned dtype;
        int64_t low, high;
    } cases[] = {{AS_DTYPE_I8, -128, 127},
                 {AS_DTYPE_U8, 0, 255},
                 {AS_DTYPE_I4, -8, 7},
                 {AS_DTYPE_U4, 0, 15}};
    const struct as_seeded how = {AS_SEEDED_NORMAL, 0, 200};

    (void)state;
    for (size_t c = 0; c < UNIT_COUNT(cases); c++) {
        struct as_arena arena = {0};
        struct as_data *data;
        int64_t low = INT64_MAX, high = INT64_MIN;
        const size_t first = 1024;
        uint8_t piece[8];

        data = as_seeded_data(&arena, cases[c].dtype, 1999, 7, &how);
        assert_non_null(data);
        assert_int_equal(data->size_bytes, as_dtype_bits(cases[c].dtype) < 8 ? 1000 : 1999);
        assert_int_equal(as_data_load(data, &arena, 1 << 20, NULL), ASSAY_OK);
        for (uint64_t i = 0; i < data->n; i++) {
            int64_t value = as_data_i64(data, i);

            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        assert_int_equal(low, cases[c].low);
        assert_int_equal(high, cases[c].high);
        assert_int_equal(data->make(data, first, 8, piece, NULL), ASSAY_OK);
        if (data->size_bytes == 1000)
            assert_memory_equal(piece, data->bytes + first / 2, 4);
        else
            assert_memory_equal(piece, data->bytes + first, 8);
        as_arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_take_the_bytes_they_have),
        cmocka_unit_test(what_is_written_reads_the_same),
        cmocka_unit_test(activations_are_quantized_and_come_back),
        cmocka_unit_test(wrong_scales_are_refused),
        cmocka_unit_test(seeded_integers_have_their_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
