/* measure/outputs: what is near, what is equal, what is not finite. That files are those of NumPy
 * and ONNX, and what a profile does with all of it, is tested by e2e/test_kept_outputs.sh. */
#include "stats_near.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "measure/outputs/kept_outputs_internal.h"

static const struct as_outputs_options usual = {.rtol = AS_OUTPUTS_RTOL, .atol = AS_OUTPUTS_ATOL};

/* Compares `n` elements in rows of `width`; both of one kind. */
static struct as_output_row compare(unsigned dtype, void *have, void *want, int64_t n,
                                    int64_t width)
{
    const struct as_dims dims = {2, {n / width, width}};
    struct as_tensor_file file = {.dtype = dtype, .dims = dims, .is_npy = true};
    struct as_output_row row = {.name = "y",
                                .n = (uint64_t)n,
                                .max_abs = AS_UNKNOWN,
                                .max_rel = AS_UNKNOWN,
                                .cosine = AS_UNKNOWN,
                                .top1 = AS_UNKNOWN};
    struct as_val val = {0};

    assert_int_equal(as_val_shape(&val, dtype, &dims, NULL), 0);
    val.present = true;
    val.data = have;
    file.file.path = "y.npy";
    file.npy = (struct as_npy){
        .dtype = dtype, .dims = dims, .data = want, .n = val.n, .data_bytes = val.bytes};
    assert_int_equal(as_output_compare(&row, &val, &file, &usual, NULL), 0);
    assert_string_equal(row.expected, "y.npy");
    assert_int_equal(row.agrees, row.n_beyond == 0);
    return row;
}

static void floats_are_near_within_both_tolerances(void **state)
{
    float have[] = {1, 1000, 0, NAN, INFINITY, -INFINITY}, want[6];
    struct as_output_row row;

    (void)state;
    memcpy(want, have, sizeof want);
    row = compare(AS_DTYPE_F32, have, want, 6, 6);
    assert_int_equal(row.n_beyond, 0);
    assert_true(row.max_abs == 0 && row.max_rel == 0);
    want[0] = 1.0009f;
    want[2] = 0.9e-5f;
    assert_int_equal(compare(AS_DTYPE_F32, have, want, 6, 6).n_beyond, 0);
    want[0] = 1.002f;
    want[1] = 1002;
    want[2] = 2e-5f;
    row = compare(AS_DTYPE_F32, have, want, 6, 6);
    assert_int_equal(row.n_beyond, 3);
    assert_near(row.max_abs, 2, 1e-6);
    assert_near(row.max_rel, 1, 1e-6);
    want[3] = 0;
    want[4] = -INFINITY;
    want[5] = -1e30f;
    assert_int_equal(compare(AS_DTYPE_F32, have, want, 6, 6).n_beyond, 6);
}

static void what_cannot_be_had_is_unknown(void **state)
{
    float have[] = {NAN, 0}, want[] = {NAN, 0};
    struct as_output_row row = compare(AS_DTYPE_F32, have, want, 2, 1);

    (void)state;
    assert_true(row.agrees && row.max_abs == 0);
    assert_true(isnan(row.max_rel) && isnan(row.cosine) && isnan(row.top1));
    have[1] = want[1] = NAN;
    assert_true(isnan(compare(AS_DTYPE_F32, have, want, 2, 1).max_abs));
}

static void directions_and_answers(void **state)
{
    float have[] = {1, 2, 3, 4}, want[] = {2, 4, 4, 3};
    struct as_output_row row = compare(AS_DTYPE_F32, have, want, 4, 2);

    (void)state;
    assert_near(row.cosine, 34 / sqrt(30) / sqrt(45), 1e-12);
    assert_near(row.top1, 0.5, 0);
}

static void integers_are_exact(void **state)
{
    int64_t have[] = {(INT64_C(1) << 53) + 1, 5}, want[] = {INT64_C(1) << 53, 5};
    uint64_t big[] = {UINT64_MAX, 5}, less[] = {UINT64_MAX - 1, 5};
    uint8_t truth[] = {1, 0, 1}, other[] = {1, 1, 1};
    struct as_output_row row = compare(AS_DTYPE_I64, have, want, 2, 2);

    (void)state;
    assert_int_equal(row.n_beyond, 1);
    assert_true(isnan(row.cosine) && isnan(row.top1));
    assert_int_equal(compare(AS_DTYPE_U64, big, less, 2, 2).n_beyond, 1);
    assert_int_equal(compare(AS_DTYPE_BOOL, truth, other, 3, 3).n_beyond, 1);
    assert_int_equal(compare(AS_DTYPE_BOOL, truth, truth, 3, 3).n_beyond, 0);
}

static void small_floats_and_complex_numbers(void **state)
{
    uint16_t half[] = {0x3c00, 0x7c00, 0xfe00, 0xfc00}, bfloat[] = {0x3f80, 0x7f80, 0x7fc0, 0};
    float complex_numbers[] = {1, NAN, INFINITY, 2}, others[] = {1, NAN, INFINITY, 3};
    struct as_val val = {.dtype = AS_DTYPE_F16, .n = 4, .data = half};
    uint64_t nan, inf;

    (void)state;
    as_output_count(&val, &nan, &inf);
    assert_int_equal(nan, 1);
    assert_int_equal(inf, 2);
    val.dtype = AS_DTYPE_BF16;
    val.data = bfloat;
    as_output_count(&val, &nan, &inf);
    assert_int_equal(nan, 1);
    assert_int_equal(inf, 1);
    val.dtype = AS_DTYPE_C64;
    val.n = 2;
    val.data = complex_numbers;
    as_output_count(&val, &nan, &inf);
    assert_int_equal(nan, 1);
    assert_int_equal(inf, 1);
    val.dtype = AS_DTYPE_I64;
    as_output_count(&val, &nan, &inf);
    assert_int_equal(nan + inf, 0);
    assert_int_equal(compare(AS_DTYPE_F16, half, half, 4, 4).n_beyond, 0);
    assert_int_equal(compare(AS_DTYPE_BF16, bfloat, half, 4, 4).n_beyond, 4);
    assert_int_equal(compare(AS_DTYPE_C64, complex_numbers, others, 2, 2).n_beyond, 1);
}

static void another_type_or_shape_is_refused(void **state)
{
    float x[6] = {0};
    struct as_dims dims = {2, {2, 3}};
    struct as_tensor_file file = {.dtype = AS_DTYPE_F32, .dims = {2, {3, 2}}, .is_npy = true};
    struct as_output_row row = {.name = "y", .shape = "2x3", .n = 6};
    struct assay_error err = {0};
    struct as_val val = {0};

    (void)state;
    assert_int_equal(as_val_shape(&val, AS_DTYPE_F32, &dims, NULL), 0);
    val.data = x;
    file.file.path = "y.npy";
    assert_int_equal(as_output_compare(&row, &val, &file, &usual, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "y.npy holds 3x2, but tensor 'y' is 2x3");
    file.dtype = AS_DTYPE_F64;
    assert_int_equal(as_output_compare(&row, &val, &file, &usual, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "f64 elements"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_near_within_both_tolerances),
        cmocka_unit_test(what_cannot_be_had_is_unknown),
        cmocka_unit_test(directions_and_answers),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(small_floats_and_complex_numbers),
        cmocka_unit_test(another_type_or_shape_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
