/* tests/unit/test_flatbuffer.c - fields, vectors and texts, absent ones, and offsets that lie. */
#include "unit.h"

#include "bytes_kit.h"
#include "flat_kit.h"
#include "format/tflite/flatbuffer.h"

static struct as_buffer made(size_t *table, const char *digits)
{
    struct as_buffer b = {0};

    put_u32(&b, 0);
    *table = flat_table(&b, digits);
    flat_set(&b, 0, *table, 4);
    return b;
}

static void fields_have_values_or_defaults(void **state)
{
    size_t table;
    struct as_buffer b = made(&table, "41804");
    struct assay_error err = {0};
    struct as_flat flat = {.bytes = b.data, .size = b.size, .err = &err};
    struct as_flat_table t;

    (void)state;
    flat_field(&b, table, 0, (uint32_t)-7, 4);
    flat_field(&b, table, 1, 200, 1);
    flat_field(&b, table, 2, UINT64_MAX, 8);
    flat_field(&b, table, 4, 0x3fc00000, 4);
    t = as_flat_root(&flat, "the root");
    assert_int_equal(as_flat_i32(&flat, &t, 0, 1), -7);
    assert_int_equal(as_flat_uint(&flat, &t, 1, 1, 1), 200);
    assert_true(as_flat_uint(&flat, &t, 2, 8, 1) == UINT64_MAX);
    assert_int_equal(as_flat_i32(&flat, &t, 3, -5), -5);  /* left out */
    assert_int_equal(as_flat_i32(&flat, &t, 99, 42), 42); /* past the vtable */
    assert_true(as_flat_f32(&flat, &t, 4, 0) == 1.5f);
    assert_true(as_flat_has(&flat, &t, 0));
    assert_false(as_flat_has(&flat, &t, 3));
    assert_int_equal(flat.rc, ASSAY_OK);
    as_buffer_fini(&b);
}

static void absent_things_are_empty(void **state)
{
    size_t table;
    struct as_buffer b = made(&table, "0");
    struct as_flat flat = {.bytes = b.data, .size = b.size};
    struct as_flat_table t = as_flat_root(&flat, "the root"), none;

    (void)state;
    none = as_flat_table(&flat, &t, 0, "a child");
    assert_int_equal(none.at, 0);
    assert_int_equal(as_flat_vector(&flat, &t, 0, 4).n, 0);
    assert_int_equal(as_flat_text(&flat, &none, 0).size, 0);
    assert_int_equal(as_flat_i32(&flat, &none, 0, 3), 3);
    assert_int_equal(flat.rc, ASSAY_OK);
    as_buffer_fini(&b);
}

static void the_first_trouble_is_kept(void **state)
{
    size_t table;
    struct as_buffer b = made(&table, "44");
    struct assay_error err = {0};
    struct as_flat flat = {.bytes = b.data, .size = b.size, .err = &err};
    struct as_flat_table t = as_flat_root(&flat, "the root");

    (void)state;
    flat_field(&b, table, 0, 1000, 4);
    assert_int_equal(as_flat_vector(&flat, &t, 0, 4).n, 0);
    assert_true(flat.rc < 0);
    assert_int_equal(err.offset, flat_slot(&b, table, 0));
    assert_int_equal(as_flat_uint(&flat, &t, 1, 4, 77), 77); /* nothing is read any more */
    as_flat_fail(&flat, 5, "a later one");
    assert_null(strstr(err.msg, "later"));
    as_buffer_fini(&b);
}

static void vectors_end_inside_the_file(void **state)
{
    size_t table, vector;
    struct as_buffer b = made(&table, "4");
    struct assay_error err = {0};
    struct as_flat flat;
    struct as_flat_table t;
    struct as_flat_vector v;

    (void)state;
    vector = flat_ints(&b, 3, (const int32_t[]){5, 6, -1});
    flat_link(&b, table, 0, vector);
    flat = (struct as_flat){.bytes = b.data, .size = b.size, .err = &err};
    t = as_flat_root(&flat, "the root");
    v = as_flat_vector(&flat, &t, 0, 4);
    assert_int_equal(v.n, 3);
    assert_int_equal(as_flat_at(&flat, &v, 2, 4), UINT32_MAX);
    assert_int_equal(as_flat_vector(&flat, &t, 0, 8).n, 0); /* as longer elements: past the end */
    assert_non_null(strstr(err.msg, "3 elements, past the end"));
    as_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_have_values_or_defaults),
        cmocka_unit_test(absent_things_are_empty),
        cmocka_unit_test(the_first_trouble_is_kept),
        cmocka_unit_test(vectors_end_inside_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
