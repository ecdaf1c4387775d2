/* tests/unit/test_protobuf_writer.c - protobuf on the wire, byte for byte, and what stops it. */
#include "unit.h"

#include "base/proto/protobuf_writer.h"

static void expect(struct as_protobuf *p, const char *bytes, size_t size)
{
    assert_true(as_protobuf_ok(p));
    assert_int_equal(p->bytes.size, size);
    assert_memory_equal(p->bytes.data, bytes, size);
    as_protobuf_reset(p);
}

#define EXPECT(p, text) expect(p, text, sizeof(text) - 1)

static void numbers_are_varints(void **state)
{
    struct as_protobuf p = {0};

    (void)state;
    as_protobuf_u64(&p, 1, 150);
    EXPECT(&p, "\x08\x96\x01");
    as_protobuf_u64(&p, 2, 0);
    EXPECT(&p, "\x10\0");
    as_protobuf_u64(&p, 3, UINT64_MAX);
    EXPECT(&p, "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    as_protobuf_u64(&p, 1, (uint64_t)-2);
    EXPECT(&p, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    as_protobuf_u64(&p, 16, 1);
    EXPECT(&p, "\x80\x01\x01");
    as_protobuf_u64(&p, 536870911, 1); /* the largest field number */
    EXPECT(&p, "\xf8\xff\xff\xff\x0f\x01");
    as_protobuf_fini(&p);
}

static void doubles_are_eight_bytes_little_endian(void **state)
{
    struct as_protobuf p = {0};

    (void)state;
    as_protobuf_f64(&p, 5, 1.5);
    EXPECT(&p, "\x29\0\0\0\0\0\0\xf8\x3f");
    as_protobuf_fini(&p);
}

static void text_that_is_not_utf8_is_mended(void **state)
{
    struct as_protobuf p = {0};

    (void)state;
    as_protobuf_text(&p, 2, "testing");
    EXPECT(&p, "\x12\x07testing");
    as_protobuf_text(&p, 2, "");
    EXPECT(&p, "\x12\0");
    as_protobuf_text(&p, 2, "a\xff\xc3\xa4");
    EXPECT(&p, "\x12\x06"
               "a\xef\xbf\xbd\xc3\xa4");
    as_protobuf_bytes(&p, 1, "\0\xff", 2);
    EXPECT(&p, "\x0a\x02\0\xff");
    as_protobuf_fini(&p);
}

static void messages_nest(void **state)
{
    struct as_protobuf p = {0};

    (void)state;
    as_protobuf_begin(&p, 3);
    as_protobuf_u64(&p, 1, 150);
    as_protobuf_begin(&p, 4);
    as_protobuf_end(&p);
    as_protobuf_end(&p);
    as_protobuf_u64(&p, 1, 1);
    EXPECT(&p, "\x1a\x05\x08\x96\x01\x22\0\x08\x01");
    as_protobuf_fini(&p);
}

/* Around 127 and 16383 bytes the length takes one more byte, and what was written moves. */
static void long_messages_have_long_lengths(void **state)
{
    static const size_t size[] = {0,   1,   123,   124,   125,   126,  127,
                                  128, 200, 16370, 16380, 16384, 70000};
    static char text[70001];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(size); i++) {
        struct as_protobuf p = {0};
        const uint8_t *at;
        uint64_t length[2] = {0, 0};

        memset(text, 'x', size[i]);
        text[size[i]] = '\0';
        as_protobuf_begin(&p, 1);
        as_protobuf_begin(&p, 1);
        as_protobuf_text(&p, 1, text);
        as_protobuf_end(&p);
        as_protobuf_end(&p);
        assert_true(as_protobuf_ok(&p));
        at = p.bytes.data;
        for (size_t level = 0; level < 2; level++) {
            assert_int_equal(*at++, 0x0a);
            for (unsigned shift = 0;; shift += 7) {
                length[level] |= (uint64_t)(*at & 0x7f) << shift;
                if (!(*at++ & 0x80))
                    break;
            }
            assert_int_equal(length[level], p.bytes.size - (size_t)(at - p.bytes.data));
        }
        assert_memory_equal(p.bytes.data + p.bytes.size - size[i], text, size[i]);
        as_protobuf_fini(&p);
    }
}

static void misuse_is_told(void **state)
{
    struct as_protobuf p = {0};

    (void)state;
    as_protobuf_begin(&p, 1);
    assert_false(as_protobuf_ok(&p));
    as_protobuf_end(&p);
    assert_true(as_protobuf_ok(&p));
    as_protobuf_end(&p);
    assert_false(as_protobuf_ok(&p));
    as_protobuf_fini(&p);
    for (unsigned i = 0; i <= AS_PROTOBUF_DEPTH; i++)
        as_protobuf_begin(&p, 1);
    for (unsigned i = 0; i <= AS_PROTOBUF_DEPTH; i++)
        as_protobuf_end(&p);
    assert_false(as_protobuf_ok(&p));
    as_protobuf_fini(&p);
}

static void running_out_of_memory_is_kept(void **state)
{
    struct as_protobuf p = {.bytes = {.max_bytes = 300}};
    static const char text[400];

    (void)state;
    as_protobuf_bytes(&p, 1, text, 100);
    assert_true(as_protobuf_ok(&p));
    as_protobuf_bytes(&p, 1, text, sizeof text);
    assert_false(as_protobuf_ok(&p));
    as_protobuf_u64(&p, 1, 1);
    as_protobuf_begin(&p, 1);
    as_protobuf_end(&p);
    assert_int_equal(p.bytes.size, 102);
    as_protobuf_reset(&p);
    assert_false(as_protobuf_ok(&p));
    as_protobuf_fini(&p);
    as_protobuf_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_varints),
        cmocka_unit_test(doubles_are_eight_bytes_little_endian),
        cmocka_unit_test(text_that_is_not_utf8_is_mended),
        cmocka_unit_test(messages_nest),
        cmocka_unit_test(long_messages_have_long_lengths),
        cmocka_unit_test(misuse_is_told),
        cmocka_unit_test(running_out_of_memory_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
