/* tests/unit/test_run_history.c - what is remembered of earlier runs, and files that are something
 * else. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure/latency/run_history.h"

static void parse(struct as_run_history *h, const char *text)
{
    as_run_history_parse(h, text, strlen(text));
}

static void spread_needs_three_runs(void **state)
{
    struct as_run_history h = {0};

    (void)state;
    assert_true(isnan(as_run_history_spread(&h)));
    as_run_history_add(&h, 90, 1);
    as_run_history_add(&h, 110, 2);
    assert_true(isnan(as_run_history_spread(&h)));
    as_run_history_add(&h, 100, 3);
    /* Logarithms of 90, 110, 100: 4.49981, 4.70048, 4.60517. */
    assert_true(fabs(as_run_history_spread(&h) - 0.1003773) < 1e-6);
    /* A busy hour among many runs: 20 quiet ones, 3 of twice the time. */
    for (int i = 0; i < 20; i++)
        as_run_history_add(&h, 99 + i % 3, 4);
    for (int i = 0; i < 3; i++)
        as_run_history_add(&h, 200, 5);
    assert_true(as_run_history_spread(&h) < 0.03);
}

static void the_oldest_goes(void **state)
{
    struct as_run_history h = {0};

    (void)state;
    for (int i = 1; i <= AS_HISTORY_KEPT + 3; i++)
        as_run_history_add(&h, 1000 + i, i);
    assert_int_equal(h.n, AS_HISTORY_KEPT);
    assert_true(h.median_ns[0] == 1004 && h.unix_s[0] == 4);
    assert_true(h.median_ns[h.n - 1] == 1003 + AS_HISTORY_KEPT);
    as_run_history_add(&h, UNIT_NAN, 1);
    as_run_history_add(&h, -5, 1);
    as_run_history_add(&h, UNIT_INFINITY, 1);
    assert_true(h.median_ns[h.n - 1] == 1003 + AS_HISTORY_KEPT);
}

static void files_come_back(void **state)
{
    struct as_run_history h = {0}, back;
    char path[] = "/tmp/assay-history-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    as_run_history_add(&h, 12345.5, 1.8e9);
    as_run_history_add(&h, 12346.25, 1.8e9 + 1);
    assert_int_equal(as_run_history_save(&h, path, NULL), ASSAY_OK);
    as_run_history_load(&back, path);
    assert_int_equal(back.n, 2);
    assert_true(back.median_ns[1] == 12346.25 && back.unix_s[0] == 1.8e9);
    (void)unlink(path);
    as_run_history_load(&back, path);
    assert_int_equal(back.n, 0);
}

static void what_makes_no_sense_counts_as_none(void **state)
{
    struct as_run_history h;

    (void)state;
    parse(&h, "");
    assert_int_equal(h.n, 0);
    parse(&h, "{\"schema\":\"assay.run_history\",\"runs\":[{\"median_ns\":5,\"unix_s\":1}");
    assert_int_equal(h.n, 0);
    parse(&h, "{\"schema\":\"other\",\"runs\":[{\"median_ns\":5,\"unix_s\":1}]}");
    assert_int_equal(h.n, 0);
    parse(&h, "{\"schema\":\"assay.run_history\",\"runs\":[3,{\"median_ns\":\"x\",\"unix_s\":1},"
              "{\"median_ns\":7,\"unix_s\":1}]}");
    assert_int_equal(h.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread_needs_three_runs),
        cmocka_unit_test(the_oldest_goes),
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(what_makes_no_sense_counts_as_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
