/* tests/unit/test_onnx_tensor.c - tensors of every element type in every way ONNX stores them: the
 * same numbers come out. Models are made here, byte by byte, with the stream writer. */
#include "unit.h"

#include "base/proto/protobuf_writer.h"
#include "format/model_file.h"

/* An initializer "w" of four elements, or what a test asks for. */
struct item {
    unsigned number;      /* of the element type */
    uint32_t field;       /* of the numbers; 9: raw */
    const uint8_t *bytes; /* raw or packed, as they are in the file */
    size_t size;
    int64_t dims[2];
    int n_dims;
    int split; /* 1: in two packs; 2: each number a field of its own, for numbers of one byte */
};

static void put_split(struct as_protobuf *p, const struct item *item)
{
    size_t half = item->size / 2;

    if (item->split == 1) {
        as_protobuf_bytes(p, item->field, item->bytes, half);
        as_protobuf_u64(p, 99, 1); /* of a later version */
        as_protobuf_bytes(p, item->field, item->bytes + half, item->size - half);
        return;
    }
    for (size_t i = 0; i < item->size; i++)
        as_protobuf_u64(p, item->field, item->bytes[i]);
}

static void put_tensor(struct as_protobuf *p, const void *what)
{
    const struct item *item = what;

    for (int i = 0; i < item->n_dims; i++)
        as_protobuf_u64(p, 1, (uint64_t)item->dims[i]);
    as_protobuf_u64(p, 2, item->number);
    if (item->split)
        put_split(p, item);
    else if (item->field)
        as_protobuf_bytes(p, item->field, item->bytes, item->size);
    as_protobuf_string(p, 8, "w");
}

static void put_graph(struct as_protobuf *p, const void *what)
{
    as_protobuf_string(p, 2, "g");
    as_protobuf_message(p, 5, put_tensor, what);
}

static void put_opset(struct as_protobuf *p, const void *what)
{
    (void)what;
    as_protobuf_u64(p, 2, 21);
}

static struct as_out write_model(const struct item *item)
{
    struct as_out out = unit_out();
    struct as_protobuf p = {.out = &out};

    as_protobuf_u64(&p, 1, 10);
    as_protobuf_message(&p, 7, put_graph, item);
    as_protobuf_message(&p, 8, put_opset, NULL);
    return out;
}

static int read_model(struct as_model **model, struct as_out *out, struct assay_error *err)
{
    struct as_mapped_file file = {0};
    size_t size;
    int rc;

    file.bytes = (const uint8_t *)as_out_get(out, &size);
    file.size = size;
    assert_true(as_format_onnx.is(file.bytes, file.size));
    assert_int_equal(as_model_new(model, 0, NULL), ASSAY_OK);
    rc = as_format_onnx.read(*model, &file, err);
    if (rc < 0) {
        as_model_free(*model);
        *model = NULL;
    }
    return rc;
}

/* The bytes of the elements must be `wanted`, read whole and one by one. */
static void expect_bytes(const struct item *item, const uint8_t *wanted, size_t size)
{
    struct as_out out = write_model(item);
    struct as_model *model = NULL;
    struct assay_error err = {0};
    const struct as_data *data;
    uint8_t got[64] = {0};
    uint32_t step;

    assert_int_equal(read_model(&model, &out, &err), ASSAY_OK);
    data = model->values[0].data;
    assert_int_equal(data->size_bytes, size);
    assert_int_equal(as_data_read(data, 0, data->n, got, &err), ASSAY_OK);
    assert_memory_equal(got, wanted, size);
    step = as_dtype_at(data->dtype)->block_elems;
    for (uint64_t i = 0; i < data->n; i += step) {
        uint64_t n = data->n - i < step ? data->n - i : step, bytes = 0, at = 0;

        assert_int_equal(as_data_read(data, i, n, got, &err), ASSAY_OK);
        assert_true(as_dtype_bytes(data->dtype, n, &bytes) && as_dtype_bytes(data->dtype, i, &at));
        assert_memory_equal(got, wanted + at, bytes);
    }
    as_model_free(model);
    as_out_drop(&out);
}

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

static void every_type_is_read_raw(void **state)
{
    static const struct {
        unsigned number, size; /* of four elements */
    } types[] = {{1, 16}, {2, 4},   {3, 4},   {4, 8},   {5, 8},   {6, 16},  {7, 32}, {9, 4},
                 {10, 8}, {11, 32}, {12, 16}, {13, 32}, {14, 32}, {15, 64}, {16, 8}, {17, 4},
                 {18, 4}, {19, 4},  {20, 4},  {21, 2},  {22, 2},  {23, 2}};
    uint8_t bytes[64];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + 1);
    for (size_t i = 0; i < UNIT_COUNT(types); i++) {
        struct item item = {types[i].number, 9, bytes, types[i].size, {4}, 1, 0};

        expect_bytes(&item, bytes, types[i].size);
    }
}

static void small_integers_stand_in_int32s(void **state)
{
    static const unsigned one_byte[] = {2, 3, 9, 17, 18, 19, 20}, two_bytes[] = {4, 5, 10, 16};

    (void)state;
    for (int split = 0; split < 3; split++) {
        for (size_t i = 0; i < UNIT_COUNT(one_byte); i++) {
            struct item item = {one_byte[i], 5, BYTES("\x01\x00\x01\x7f"), {2, 2}, 2, split};

            expect_bytes(&item, BYTES("\x01\x00\x01\x7f"));
        }
        for (size_t i = 0; i < UNIT_COUNT(two_bytes); i++) {
            struct item item = {two_bytes[i], 5, BYTES("\x01\x00\x01\x7f"), {4}, 1, split};

            expect_bytes(&item, BYTES("\x01\0\x00\0\x01\0\x7f\0"));
        }
    }
    /* -1 takes ten bytes; only its low ones are the element's. */
    expect_bytes(
        &(struct item){3, 5, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02"), {2}, 1, 0},
        BYTES("\xff\x02"));
    expect_bytes(
        &(struct item){6, 5, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02"), {2}, 1, 0},
        BYTES("\xff\xff\xff\xff\x02\0\0\0"));
}

static void four_bit_numbers_stand_in_pairs(void **state)
{
    (void)state;
    expect_bytes(&(struct item){22, 5, BYTES("\x21\x03"), {3}, 1, 0}, BYTES("\x21\x03"));
    expect_bytes(&(struct item){21, 5, BYTES("\x21\x43"), {4}, 1, 2}, BYTES("\x21\x43"));
}

static void wide_numbers_have_lists_of_their_own(void **state)
{
    (void)state;
    expect_bytes(&(struct item){7, 7, BYTES("\x01\xac\x02"), {2}, 1, 0},
                 BYTES("\x01\0\0\0\0\0\0\0\x2c\x01\0\0\0\0\0\0"));
    expect_bytes(&(struct item){13, 11, BYTES("\x01\x02"), {2}, 1, 1},
                 BYTES("\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"));
    expect_bytes(&(struct item){12, 11, BYTES("\x01\x02"), {2}, 1, 2},
                 BYTES("\x01\0\0\0\x02\0\0\0"));
    expect_bytes(&(struct item){1, 4, BYTES("12345678"), {2}, 1, 0}, BYTES("12345678"));
    expect_bytes(&(struct item){1, 4, BYTES("12345678"), {2}, 1, 1}, BYTES("12345678"));
    expect_bytes(&(struct item){11, 10, BYTES("1234567887654321"), {2}, 1, 1},
                 BYTES("1234567887654321"));
    expect_bytes(&(struct item){14, 4, BYTES("12345678"), {1}, 1, 1}, BYTES("12345678"));
    expect_bytes(&(struct item){15, 10, BYTES("1234567887654321"), {1}, 1, 0},
                 BYTES("1234567887654321"));
}

static void raw_and_packed_floats_are_not_copied(void **state)
{
    static const uint32_t fields[] = {9, 4};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(fields); i++) {
        struct item item = {1, fields[i], BYTES("12345678"), {2}, 1, 0};
        struct as_out out = write_model(&item);
        struct as_model *model = NULL;
        const uint8_t *start, *bytes;
        size_t size;

        assert_int_equal(read_model(&model, &out, NULL), ASSAY_OK);
        start = (const uint8_t *)as_out_get(&out, &size);
        bytes = model->values[0].data->bytes;
        assert_true(bytes > start && bytes < start + size);
        assert_int_equal(model->values[0].data->offset, bytes - start);
        as_model_free(model);
        as_out_drop(&out);
    }
}

static void scalars_and_nothing_are_tensors_too(void **state)
{
    struct item scalar = {1, 9, BYTES("1234"), {0}, 0, 0};
    struct item empty = {1, 0, NULL, 0, {0, 5}, 2, 0};

    (void)state;
    expect_bytes(&scalar, BYTES("1234"));
    expect_bytes(&empty, BYTES(""));
}

/* More numbers than are between two places that are kept. */
static void long_lists_are_read_from_the_middle(void **state)
{
    enum { N = 200000 };
    static uint8_t packed[2 * N];
    struct item item = {7, 7, packed, sizeof packed, {N}, 1, 0};
    struct as_out out;
    struct as_model *model = NULL;
    const struct as_data *data;

    (void)state;
    for (size_t i = 0; i < N; i++) { /* two bytes each: i % 16384 */
        packed[2 * i] = (uint8_t)((i & 127) | 128);
        packed[2 * i + 1] = (uint8_t)(i >> 7 & 127);
    }
    out = write_model(&item);
    assert_int_equal(read_model(&model, &out, NULL), ASSAY_OK);
    data = model->values[0].data;
    for (uint64_t at = 0; at < N; at += 9973) {
        int64_t got[3];

        assert_int_equal(as_data_read(data, at, 3, got, NULL), ASSAY_OK);
        for (uint64_t i = 0; i < 3; i++)
            assert_int_equal(got[i], (at + i) % 16384);
    }
    as_model_free(model);
    as_out_drop(&out);
}

static void wrong_sizes_are_told_with_the_name(void **state)
{
    static const struct {
        struct item item;
        const char *says;
    } cases[] = {
        {{1, 9, BYTES("1234567"), {2}, 1, 0}, "7 bytes where its shape and type need 8"},
        {{3, 5, BYTES("\1\2\3"), {2}, 1, 0}, "3 numbers where its shape and type need 2"},
        {{3, 5, BYTES("\1\2\3"), {4}, 1, 2}, "3 numbers where its shape and type need 4"},
        {{7, 7, BYTES("\1\2"), {1000000000}, 1, 0}, "need 1000000000"},
        {{7, 5, BYTES("\1\2"), {2}, 1, 0}, "is of i64 but its numbers are in field 5"},
        {{1, 0, NULL, 0, {2}, 1, 0}, "has no data"},
        {{1, 9, BYTES("1234"), {-1}, 1, 0}, "negative dimension"},
        {{1, 9, BYTES("1234"), {INT64_MAX, 4}, 2, 0}, "64 bits"},
        {{77, 9, BYTES("1234"), {1}, 1, 0}, "of type 77"},
        {{8, 9, BYTES("1234"), {1}, 1, 0}, "of strings"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_out out = write_model(&cases[i].item);
        struct as_model *model = NULL;
        struct assay_error err = {0};

        assert_int_equal(read_model(&model, &out, &err), ASSAY_ERR_FORMAT);
        assert_non_null(strstr(err.msg, "tensor 'w'"));
        assert_non_null(strstr(err.msg, cases[i].says));
        assert_true(err.offset > 0);
        as_out_drop(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read_raw),
        cmocka_unit_test(small_integers_stand_in_int32s),
        cmocka_unit_test(four_bit_numbers_stand_in_pairs),
        cmocka_unit_test(wide_numbers_have_lists_of_their_own),
        cmocka_unit_test(raw_and_packed_floats_are_not_copied),
        cmocka_unit_test(scalars_and_nothing_are_tensors_too),
        cmocka_unit_test(long_lists_are_read_from_the_middle),
        cmocka_unit_test(wrong_sizes_are_told_with_the_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
