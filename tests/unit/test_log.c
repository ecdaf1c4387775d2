/* tests/unit/test_log.c - lines for whoever wants them. */
#include "unit.h"

#include <stdio.h>

#include "base/log.h"

struct seen {
    int n, level;
    char module[32], line[600];
};

static void keep(void *user, int level, const char *module, const char *line)
{
    struct seen *seen = user;

    seen->n++;
    seen->level = level;
    snprintf(seen->module, sizeof seen->module, "%s", module);
    snprintf(seen->line, sizeof seen->line, "%s", line);
}

static void without_a_sink_lines_are_dropped(void **state)
{
    (void)state;
    as_log_set(NULL, NULL, AS_LOG_DEBUG);
    as_log(AS_LOG_ERROR, "ring", "nobody reads %d", 1);
}

static void a_sink_gets_what_it_asked_for(void **state)
{
    struct seen seen = {0};

    (void)state;
    as_log_set(keep, &seen, AS_LOG_WARN);
    as_log(AS_LOG_WARN, "ring", "%d records dropped", 7);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.level, AS_LOG_WARN);
    assert_string_equal(seen.module, "ring");
    assert_string_equal(seen.line, "7 records dropped");
    as_log(AS_LOG_INFO, "ring", "not wanted");
    assert_int_equal(seen.n, 1);
    as_log(AS_LOG_ERROR, "ring", "wanted");
    assert_int_equal(seen.n, 2);
    as_log_set(NULL, NULL, AS_LOG_ERROR);
}

static void a_long_line_is_cut(void **state)
{
    struct seen seen = {0};
    char text[2000];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    as_log_set(keep, &seen, AS_LOG_DEBUG);
    as_log(AS_LOG_DEBUG, "ring", "%s", text);
    assert_int_equal(strlen(seen.line), 511);
    as_log_set(NULL, NULL, AS_LOG_ERROR);
}

static void levels_have_names(void **state)
{
    (void)state;
    assert_string_equal(as_log_level_name(AS_LOG_ERROR), "error");
    assert_string_equal(as_log_level_name(AS_LOG_WARN), "warn");
    assert_string_equal(as_log_level_name(AS_LOG_INFO), "info");
    assert_string_equal(as_log_level_name(AS_LOG_DEBUG), "debug");
    assert_string_equal(as_log_level_name(-1), "?");
    assert_string_equal(as_log_level_name(99), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_sink_lines_are_dropped),
        cmocka_unit_test(a_sink_gets_what_it_asked_for),
        cmocka_unit_test(a_long_line_is_cut),
        cmocka_unit_test(levels_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
