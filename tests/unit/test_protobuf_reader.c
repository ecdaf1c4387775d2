/* tests/unit/test_protobuf_reader.c - fields of every kind, lists however they are packed, and what
 * is refused with which byte. */
#include "unit.h"

#include "base/proto/protobuf_reader.h"
#include "model/graph/graph.h"

#define START(p, in, text) as_proto_init(p, in, "test file", text, sizeof(text) - 1)

static void fields_of_every_kind_are_read(void **state)
{
    struct as_proto_input in;
    struct as_proto_field f;
    struct as_text text;
    struct as_proto p;
    uint64_t u;
    int64_t i;
    float x;

    (void)state;
    START(&p, &in,
          "\x08\x96\x01"
          "\x12\x02hi"
          "\x1d\x00\x00\xc0\x3f"
          "\x21\x01\x02\x03\x04\x05\x06\x07\x08"
          "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    assert_int_equal(as_proto_next(&p, &f, NULL), 1);
    assert_int_equal(f.number, 1);
    assert_int_equal(as_proto_u64(&p, &f, &u, NULL), ASSAY_OK);
    assert_int_equal(u, 150);
    assert_int_equal(as_proto_next(&p, &f, NULL), 1);
    assert_int_equal(f.offset, 3);
    assert_int_equal(as_proto_text(&p, &f, &text, NULL), ASSAY_OK);
    assert_int_equal(text.size, 2);
    assert_memory_equal(text.at, "hi", 2);
    assert_int_equal(as_proto_next(&p, &f, NULL), 1);
    assert_int_equal(as_proto_f32(&p, &f, &x, NULL), ASSAY_OK);
    assert_true(x == 1.5F);
    assert_int_equal(as_proto_next(&p, &f, NULL), 1);
    assert_int_equal(f.wire, AS_WIRE_64);
    assert_true(f.value == 0x0807060504030201U);
    assert_int_equal(as_proto_next(&p, &f, NULL), 1);
    assert_int_equal(as_proto_i64(&p, &f, &i, NULL), ASSAY_OK);
    assert_int_equal(i, -1);
    assert_int_equal(as_proto_next(&p, &f, NULL), 0);
    assert_int_equal(as_proto_next(&p, &f, NULL), 0);
}

static void a_field_of_another_kind_is_refused(void **state)
{
    struct as_proto_input in;
    struct as_proto_field f;
    struct assay_error err;
    struct as_proto p, inner;
    struct as_text text;
    uint64_t u;
    float x;

    (void)state;
    START(&p, &in, "\x08\x01\x12\x00");
    assert_int_equal(as_proto_next(&p, &f, NULL), 1);
    assert_int_equal(as_proto_text(&p, &f, &text, &err), ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg, "damaged test file: field 1 should be text or bytes (byte 0)");
    assert_int_equal(as_proto_enter(&inner, &p, &f, &err), ASSAY_ERR_FORMAT);
    assert_int_equal(as_proto_f32(&p, &f, &x, &err), ASSAY_ERR_FORMAT);
    assert_int_equal(as_proto_next(&p, &f, NULL), 1);
    assert_int_equal(as_proto_u64(&p, &f, &u, &err), ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg, "damaged test file: field 2 should be a number (byte 2)");
}

static void damage_is_told_with_its_byte(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        uint64_t offset;
        const char *says;
    } cases[] = {
#define BAD(text, at, words) {text, sizeof(text) - 1, at, words}
        BAD("\x08\x01\x08", 2, "cannot be read"),
        BAD("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 0, "cannot be read"), /* past 64 bits */
        BAD("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 0, "cannot be read"), /* overlong */
        BAD("\x12\x05oops", 0, "claims 5 bytes where 4 are left"),
        BAD("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, "claims 18446744073709551615"),
        BAD("\x12", 0, "length of field 2"),
        BAD("\x1d\x01\x02\x03", 0, "cut off"),
        BAD("\x19\x01\x02\x03", 0, "cut off"),
        BAD("\x0b\x0c", 0, "group"),
        BAD("\x0c", 0, "group"),
        BAD("\x0e", 0, "group or of no known kind"),
        BAD("\x00\x00", 0, "no field can begin"),
        BAD("\xf8\xff\xff\xff\x10\x01", 0, "no field can begin"), /* number 2^29 */
        BAD("\x80", 0, "no field can begin"),
#undef BAD
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_proto_input in;
        struct as_proto_field f;
        struct assay_error err;
        struct as_proto p;
        int rc;

        as_proto_init(&p, &in, "test file", cases[i].bytes, cases[i].size);
        while ((rc = as_proto_next(&p, &f, &err)) > 0)
            continue;
        assert_int_equal(rc, ASSAY_ERR_FORMAT);
        assert_non_null(strstr(err.msg, "damaged test file: "));
        assert_non_null(strstr(err.msg, cases[i].says));
        assert_int_equal(err.offset, cases[i].offset);
    }
}

static void messages_nest_to_a_limit(void **state)
{
    uint8_t bytes[240];
    struct as_proto_input in;
    struct as_proto_field f;
    struct assay_error err;
    struct as_proto p;
    size_t size = 0;
    unsigned depth = 0;
    int rc = ASSAY_OK;

    (void)state;
    for (size_t left = 3 * 80; left >= 3; left -= 3) { /* each length in two bytes */
        bytes[size++] = 0x0a;
        bytes[size++] = (uint8_t)((left - 3) & 127) | 128;
        bytes[size++] = (uint8_t)((left - 3) >> 7);
    }
    as_proto_init(&p, &in, "test file", bytes, size);
    while (rc == ASSAY_OK && as_proto_next(&p, &f, &err) > 0) {
        rc = as_proto_enter(&p, &(struct as_proto){p.at, p.in, p.depth}, &f, &err);
        depth++;
    }
    assert_int_equal(rc, ASSAY_ERR_FORMAT);
    assert_int_equal(depth, AS_MAX_MESSAGE_DEPTH);
    assert_non_null(strstr(err.msg, "nested more than 64 deep"));
}

static void walking_has_a_limit(void **state)
{
    struct as_proto_input in;
    struct as_proto_field f;
    struct assay_error err;
    struct as_proto p, again;
    int rc = 1;

    (void)state;
    START(&p, &in, "\x08\x01");
    assert_true(in.max_steps > 1000000);
    in.max_steps = 10;
    for (int i = 0; i < 10; i++) {
        again = p;
        assert_int_equal(as_proto_next(&again, &f, &err), 1);
    }
    rc = as_proto_next(&p, &f, &err);
    assert_int_equal(rc, ASSAY_ERR_LIMIT);
}

/* 1, 2 and 300 in field 4, packed, alone, in two packs and mixed, with another field between. */
static void lists_are_read_however_they_are_packed(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
#define LIST(text) {text, sizeof(text) - 1}
        LIST("\x22\x04\x01\x02\xac\x02"),
        LIST("\x20\x01\x20\x02\x20\xac\x02"),
        LIST("\x22\x01\x01\x08\x07\x22\x03\x02\xac\x02"),
        LIST("\x20\x01\x08\x07\x22\x03\x02\xac\x02"),
        LIST("\x22\x00\x22\x02\x01\x02\x22\x00\x20\xac\x02\x08\x01"),
#undef LIST
    };
    static const uint64_t wanted[] = {1, 2, 300};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_proto_list list;
        struct as_proto_input in;
        struct as_proto p;
        uint64_t bits;

        as_proto_init(&p, &in, "test file", cases[i].bytes, cases[i].size);
        as_proto_list_init(&list, &p, 4, AS_WIRE_VARINT);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(as_proto_list_next(&list, &bits, NULL), 1);
            assert_int_equal(bits, wanted[k]);
        }
        assert_int_equal(as_proto_list_next(&list, &bits, NULL), 0);
    }
}

static void a_cut_list_is_damaged(void **state)
{
    struct as_proto_list list;
    struct as_proto_input in;
    struct assay_error err;
    struct as_proto p;
    uint64_t bits;

    (void)state;
    START(&p, &in, "\x22\x02\x01\x80");
    as_proto_list_init(&list, &p, 4, AS_WIRE_VARINT);
    assert_int_equal(as_proto_list_next(&list, &bits, &err), 1);
    assert_int_equal(as_proto_list_next(&list, &bits, &err), ASSAY_ERR_FORMAT);
    assert_int_equal(err.offset, 3);
    START(&p, &in, "\x22\x05\x01\x02\x03\x04\x05");
    as_proto_list_init(&list, &p, 4, AS_WIRE_32);
    assert_int_equal(as_proto_list_next(&list, &bits, &err), 1);
    assert_int_equal(bits, 0x04030201);
    assert_int_equal(as_proto_list_next(&list, &bits, &err), ASSAY_ERR_FORMAT);
    START(&p, &in, "\x21\x01\x02\x03\x04\x05\x06\x07\x08");
    as_proto_list_init(&list, &p, 4, AS_WIRE_32);
    assert_int_equal(as_proto_list_next(&list, &bits, &err), ASSAY_ERR_FORMAT);
    assert_non_null(strstr(err.msg, "a list of numbers"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_every_kind_are_read),
        cmocka_unit_test(a_field_of_another_kind_is_refused),
        cmocka_unit_test(damage_is_told_with_its_byte),
        cmocka_unit_test(messages_nest_to_a_limit),
        cmocka_unit_test(walking_has_a_limit),
        cmocka_unit_test(lists_are_read_however_they_are_packed),
        cmocka_unit_test(a_cut_list_is_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
