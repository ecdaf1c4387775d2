/* tests/unit/test_error.c - how a function says what went wrong. */
#include "unit.h"

#include <errno.h>

#include "base/error.h"

static void every_code_has_its_words(void **state)
{
    (void)state;
    assert_string_equal(assay_code_text(ASSAY_OK), "ok");
#define X(name, number, words) assert_string_equal(assay_code_text(ASSAY_ERR_##name), words);
    ASSAY_ERRORS(X)
#undef X
    assert_string_equal(assay_code_text(1), "unknown error");
    assert_string_equal(assay_code_text(-1000), "unknown error");
    assert_string_equal(assay_code_text(INT32_MIN), "unknown error");
}

static void the_sentence_and_code_are_kept(void **state)
{
    struct assay_error err;

    (void)state;
    errno = ENOENT;
    assert_int_equal(as_fail(&err, ASSAY_ERR_USAGE, "%d runs given", 3), ASSAY_ERR_USAGE);
    assert_int_equal(err.code, ASSAY_ERR_USAGE);
    assert_int_equal(err.sys, 0);
    assert_string_equal(err.msg, "3 runs given");
}

static void a_system_error_adds_its_text(void **state)
{
    struct assay_error err;

    (void)state;
    errno = ENOENT;
    assert_int_equal(as_fail_sys(&err, ASSAY_ERR_IO, "cannot open %s", "x"), ASSAY_ERR_IO);
    assert_int_equal(err.sys, ENOENT);
    assert_string_equal(err.msg, "cannot open x: No such file or directory");
}

static void input_is_blamed_by_byte(void **state)
{
    struct assay_error err;

    (void)state;
    assert_int_equal(as_fail_at(&err, 42, "a bad tag"), ASSAY_ERR_FORMAT);
    assert_int_equal(err.offset, 42);
    assert_string_equal(err.msg, "a bad tag (byte 42)");
}

static void a_caller_may_not_care(void **state)
{
    (void)state;
    assert_int_equal(as_fail(NULL, ASSAY_ERR_LIMIT, "x"), ASSAY_ERR_LIMIT);
    assert_int_equal(as_fail_sys(NULL, ASSAY_ERR_IO, "x"), ASSAY_ERR_IO);
    assert_int_equal(as_fail_at(NULL, 1, "x"), ASSAY_ERR_FORMAT);
    assert_int_equal(as_fail_nomem(NULL), ASSAY_ERR_NOMEM);
}

static void a_long_sentence_is_cut_not_overrun(void **state)
{
    struct assay_error err;
    char name[1000];

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    errno = EIO;
    as_fail_sys(&err, ASSAY_ERR_IO, "%s", name);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    as_fail_at(&err, 7, "%s", name);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    assert_int_equal(err.offset, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_words),
        cmocka_unit_test(the_sentence_and_code_are_kept),
        cmocka_unit_test(a_system_error_adds_its_text),
        cmocka_unit_test(input_is_blamed_by_byte),
        cmocka_unit_test(a_caller_may_not_care),
        cmocka_unit_test(a_long_sentence_is_cut_not_overrun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
