/* tests/unit/test_npy_file.c - tensors in NumPy's format, as they should be and as they should not.
 * That files of NumPy itself are read is tested by e2e/test_npy.sh. */
#include "stats_near.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "measure/inputs/model_inputs.h"

static uint8_t file[4096];

/* A file of that version with this header and `n` bytes 0, 1, 2 ... of numbers; returns its size.
 */
static size_t build(unsigned version, const char *header, size_t n)
{
    size_t size = strlen(header), at = 0;

    memcpy(file, "\x93NUMPY", 6);
    at = 6;
    file[at++] = (uint8_t)version;
    file[at++] = 0;
    for (unsigned i = 0; i < (version > 1 ? 4u : 2u); i++)
        file[at++] = (uint8_t)(size >> 8 * i);
    memcpy(file + at, header, size);
    at += size;
    for (size_t i = 0; i < n; i++)
        file[at++] = (uint8_t)i;
    return at;
}

static void rows_are_read_as_they_are(void **state)
{
    struct as_npy npy;
    uint8_t out[24];

    (void)state;
    for (unsigned version = 1; version <= 3; version++) {
        size_t size =
            build(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", 24);

        assert_int_equal(as_npy_parse(&npy, file, size, "x.npy", NULL), 0);
        assert_int_equal(npy.dtype, AS_DTYPE_F32);
        assert_int_equal(npy.dims.rank, 2);
        assert_int_equal(npy.dims.at[0], 2);
        assert_int_equal(npy.dims.at[1], 3);
        assert_int_equal(npy.n, 6);
        assert_false(npy.fortran);
        as_npy_copy(&npy, out);
        for (unsigned i = 0; i < 24; i++)
            assert_int_equal(out[i], i);
    }
}

static void columns_are_turned_into_rows(void **state)
{
    static const uint8_t want[] = {0, 2, 4, 1, 3, 5};
    struct as_npy npy;
    uint8_t out[6];
    size_t size = build(1, "{'shape': (2, 3), 'fortran_order': True, 'descr': '|u1'}", 6);

    (void)state;
    assert_int_equal(as_npy_parse(&npy, file, size, "x.npy", NULL), 0);
    as_npy_copy(&npy, out);
    assert_memory_equal(out, want, 6);
}

static void scalars_lists_and_nothing(void **state)
{
    struct as_npy npy;
    uint8_t out[8];
    size_t size = build(1, "{'descr': '<i8', 'fortran_order': False, 'shape': ()}", 8);

    (void)state;
    assert_int_equal(as_npy_parse(&npy, file, size, "x.npy", NULL), 0);
    assert_int_equal(npy.dims.rank, 0);
    assert_int_equal(npy.n, 1);
    as_npy_copy(&npy, out);
    size = build(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2,)}", 8);
    assert_int_equal(as_npy_parse(&npy, file, size, "x.npy", NULL), 0);
    assert_int_equal(npy.n, 2);
    size = build(
        1, "{'descr': '<i4', 'fortran_order': True, 'shape': (0, 99999999999, 9999999999)}", 0);
    assert_int_equal(as_npy_parse(&npy, file, size, "x.npy", NULL), 0);
    assert_int_equal(npy.n, 0);
    as_npy_copy(&npy, out);
}

static void expect(int code, const char *header, size_t n, const char *part)
{
    struct assay_error err = {0};
    struct as_npy npy;
    size_t size = build(1, header, n);

    assert_int_equal(as_npy_parse(&npy, file, size, "bad.npy", &err), code);
    if (!strstr(err.msg, part) || !strstr(err.msg, "bad.npy"))
        fail_msg("'%s' does not say '%s'", err.msg, part);
}

static void wrong_files_are_named(void **state)
{
    (void)state;
    expect(ASSAY_ERR_UNSUPPORTED, "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", 4,
           "astype('<f4')");
    expect(ASSAY_ERR_UNSUPPORTED, "{'descr': '<U5', 'fortran_order': False, 'shape': (1,)}", 20,
           "'<U5'");
    expect(ASSAY_ERR_FORMAT, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4,
           "records");
    expect(ASSAY_ERR_FORMAT, "{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}", 4, "True");
    expect(ASSAY_ERR_FORMAT, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 4,
           "not a number");
    expect(ASSAY_ERR_FORMAT, "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", 4,
           "commas");
    expect(ASSAY_ERR_FORMAT,
           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 4,
           "too large");
    expect(ASSAY_ERR_FORMAT,
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 4,
           "too many elements");
    expect(ASSAY_ERR_FORMAT, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 7,
           "7 bytes of data where its shape needs 8");
    expect(ASSAY_ERR_FORMAT, "{'descr': '<f4', 'fortran_order': False}", 4, "must have");
    expect(ASSAY_ERR_FORMAT, "{'descr': '<f4', 'descr': '<f4', 'shape': ()}", 4, "twice");
    expect(ASSAY_ERR_FORMAT, "{'descr': '<f4', 'more': 1}", 4, "does not write");
    expect(ASSAY_ERR_FORMAT, "{'descr': '<f4", 0, "does not end");
    expect(ASSAY_ERR_FORMAT, "", 0, "bracket");
}

static void every_cut_is_refused(void **state)
{
    size_t size = build(2, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }\n", 48);
    struct assay_error err = {0};
    struct as_npy npy;

    (void)state;
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut + 1); /* so that a read past the end is seen */

        assert_non_null(copy);
        memcpy(copy, file, cut);
        assert_true(as_npy_parse(&npy, copy, cut, "cut.npy", &err) < 0);
        free(copy);
    }
    assert_int_equal(as_npy_parse(&npy, file, size, "whole.npy", NULL), 0);
    file[6] = 4;
    assert_int_equal(as_npy_parse(&npy, file, size, "new.npy", &err), ASSAY_ERR_FORMAT);
    assert_non_null(strstr(err.msg, "version 4"));
}

static void what_is_written_is_read_back(void **state)
{
    static const struct as_dims shapes[] = {
        {.rank = 0}, {1, {7}}, {2, {2, 3}}, {4, {2, 1, 3, 2}}, {2, {0, 5}}};
    uint8_t numbers[256], out[256];

    (void)state;
    for (size_t i = 0; i < sizeof numbers; i++)
        numbers[i] = (uint8_t)(i * 7);
    for (unsigned dtype = 0; dtype < AS_DTYPE_COUNT; dtype++) {
        for (size_t k = 0; k < AS_COUNT_OF(shapes); k++) {
            uint64_t n = 1, bytes;
            struct as_npy npy;
            struct as_out to;
            const char *text;
            size_t size;

            for (int i = 0; i < shapes[k].rank; i++)
                n *= (uint64_t)shapes[k].at[i];
            assert_int_equal(as_out_memory(&to, NULL), 0);
            if (!as_npy_has(dtype)) {
                assert_int_equal(as_npy_write(&to, dtype, &shapes[k], numbers, 0, NULL),
                                 ASSAY_ERR_UNSUPPORTED);
                as_out_drop(&to);
                continue;
            }
            assert_true(as_dtype_bytes(dtype, n, &bytes));
            assert_int_equal(as_npy_write(&to, dtype, &shapes[k], numbers, bytes, NULL), 0);
            text = as_out_get(&to, &size);
            assert_int_equal((size - bytes) % 64, 0);
            assert_int_equal(as_npy_parse(&npy, (const uint8_t *)text, size, "x.npy", NULL), 0);
            assert_int_equal(npy.dtype, dtype);
            assert_int_equal(npy.dims.rank, shapes[k].rank);
            assert_int_equal(npy.n, n);
            assert_int_equal(npy.data_bytes, bytes);
            as_npy_copy(&npy, out);
            assert_memory_equal(out, numbers, bytes);
            as_out_drop(&to);
        }
    }
}

static void what_numpy_lacks_is_not_written(void **state)
{
    (void)state;
    assert_false(as_npy_has(AS_DTYPE_BF16));
    assert_false(as_npy_has(AS_DTYPE_STRING));
    assert_false(as_npy_has(AS_DTYPE_I4));
    assert_true(as_npy_has(AS_DTYPE_F16));
    assert_true(as_npy_has(AS_DTYPE_BOOL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read_as_they_are),
        cmocka_unit_test(columns_are_turned_into_rows),
        cmocka_unit_test(scalars_lists_and_nothing),
        cmocka_unit_test(wrong_files_are_named),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(what_numpy_lacks_is_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
