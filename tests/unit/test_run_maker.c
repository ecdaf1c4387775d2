/* tests/unit/test_run_maker.c - runs of what was measured once: made, added to, read back, and what
 * becomes of the file when something fails. Works in a folder of its own under /tmp. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/run/run_maker.h"

static char folder[] = "/tmp/assay-maker-XXXXXX";

static int enter(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0
                                                 : -1; /* fails when a test left something behind */
}

struct thing {
    uint64_t n;
    double x;
    const char *name;
};

static const struct as_json_field thing_fields[] = {
    AS_FIELD(struct thing, n),
    AS_FIELD(struct thing, x),
    AS_FIELD(struct thing, name),
};
static const struct as_json_shape thing_shape = AS_SHAPE(struct thing, thing_fields);

static const struct as_json_field other_fields[] = {AS_FIELD(struct thing, n),
                                                    AS_FIELD_KEY(struct thing, "y", x, NULL, NULL)};
static const struct as_json_shape other_shape = AS_SHAPE(struct thing, other_fields);

static const struct thing one = {7, 0.1, "seven"};

static void fill(struct as_run_maker *m, size_t n_rows)
{
    struct thing row = {0, 0.5, "row"};

    as_run_maker_put(m, "thing", &thing_shape, &one);
    for (size_t i = 0; i < n_rows; i++) {
        row.n = i;
        as_run_maker_rows(m, "rows", &thing_shape, &row, 1);
    }
}

static void expect_thing(struct as_run *run, size_t n_rows)
{
    struct thing *rows, t;
    size_t n;

    assert_int_equal(as_run_get(run, "thing", &thing_shape, &t, NULL), ASSAY_OK);
    assert_true(t.n == 7 && t.x == 0.1);
    assert_string_equal(t.name, "seven");
    assert_int_equal(as_run_get_rows(run, "rows", &thing_shape, 100, &rows, &n, NULL), ASSAY_OK);
    assert_int_equal(n, n_rows);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rows[i].n, i);
}

static void a_run_in_memory_is_read_back(void **state)
{
    struct as_run_maker m;
    struct as_run *run;

    (void)state;
    assert_int_equal(as_run_maker_open(&m, NULL, "test", NULL), ASSAY_OK);
    fill(&m, 3);
    assert_int_equal(as_run_maker_finish(&m, &run, NULL), ASSAY_OK);
    assert_string_equal(as_run_kind(run), "test");
    assert_true(run->health.closed && run->health.damaged_blocks == 0);
    expect_thing(run, 3);
    as_run_close(run);
}

static void a_run_on_disk_keeps_the_older_one(void **state)
{
    struct as_run_maker m;
    struct as_run *run;

    (void)state;
    for (size_t i = 1; i <= 2; i++) {
        assert_int_equal(as_run_maker_open(&m, "a.assay", "test", NULL), ASSAY_OK);
        assert_true((access("a.assay", F_OK) == 0) == (i > 1)); /* in place when it is complete */
        fill(&m, i);
        assert_int_equal(as_run_maker_finish(&m, &run, NULL), ASSAY_OK);
        expect_thing(run, i);
        as_run_close(run);
    }
    assert_int_equal(as_run_open(&run, "a.assay.old", NULL), ASSAY_OK);
    expect_thing(run, 1);
    as_run_close(run);
    assert_int_equal(unlink("a.assay.old") + unlink("a.assay"), 0);
}

static void a_run_is_added_to(void **state)
{
    struct thing more = {8, 0.2, "eight"}, t;
    struct as_run_maker m;
    struct as_run *run;

    (void)state;
    assert_int_equal(as_run_maker_open(&m, "a.assay", "test", NULL), ASSAY_OK);
    fill(&m, 1);
    assert_int_equal(as_run_maker_finish(&m, &run, NULL), ASSAY_OK);
    as_run_close(run);
    assert_int_equal(as_run_maker_append(&m, "a.assay", "grown", NULL), ASSAY_OK);
    as_run_maker_put(&m, "more", &thing_shape, &more);
    assert_int_equal(as_run_maker_finish(&m, &run, NULL), ASSAY_OK);
    assert_string_equal(as_run_kind(run), "grown");
    assert_int_equal(as_run_get(run, "more", &thing_shape, &t, NULL), ASSAY_OK);
    assert_int_equal(t.n, 8);
    expect_thing(run, 1);
    as_run_close(run);
    assert_int_equal(unlink("a.assay"), 0);
}

static void what_is_not_a_run_is_refused(void **state)
{
    struct assay_error err = {0};
    struct as_run_maker m;
    int fd = open("mine.assay", O_WRONLY | O_CREAT, 0644);

    (void)state;
    assert_int_equal(write(fd, "my own text", 11), 11);
    close(fd);
    assert_int_equal(as_run_maker_open(&m, "mine.assay", "test", &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "not a run file"));
    assert_true(as_run_maker_append(&m, "mine.assay", "test", &err) < 0);
    assert_true(as_run_maker_open(&m, "nowhere/a.assay", "test", &err) < 0);
    assert_int_equal(unlink("mine.assay"), 0);
}

static void a_run_given_up_leaves_nothing(void **state)
{
    struct as_run_maker m;

    (void)state;
    assert_int_equal(as_run_maker_open(&m, "a.assay", "test", NULL), ASSAY_OK);
    fill(&m, 1);
    as_run_maker_drop(&m);
    as_run_maker_drop(&m);
    assert_int_equal(access("a.assay", F_OK), -1);
}

/* No more bytes fit: the failure is told once, at the end, and an older run stays as it is. */
static void a_full_disk_leaves_nothing(void **state)
{
    struct rlimit before, little;
    struct assay_error err = {0};
    struct as_run_maker m;
    struct as_run *run;

    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = 1000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    assert_int_equal(as_run_maker_open(&m, "a.assay", "test", &err), ASSAY_OK);
    fill(&m, 50);
    assert_int_equal(as_run_maker_finish(&m, &run, &err), ASSAY_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_null(run);
    assert_non_null(strstr(err.msg, "a.assay"));
    assert_int_equal(access("a.assay", F_OK), -1);
}

static void parts_that_are_not_as_described_are_refused(void **state)
{
    struct as_run_maker m;
    struct as_run *run;
    struct thing *rows, t;
    size_t n;

    (void)state;
    assert_int_equal(as_run_maker_open(&m, NULL, "test", NULL), ASSAY_OK);
    fill(&m, 3);
    assert_int_equal(as_run_maker_finish(&m, &run, NULL), ASSAY_OK);
    assert_true(as_run_has(run, "thing") && !as_run_has(run, "nothing"));
    assert_int_equal(as_run_get(run, "nothing", &thing_shape, &t, NULL), ASSAY_ERR_NOTFOUND);
    assert_int_equal(as_run_get(run, "thing", &other_shape, &t, NULL), ASSAY_ERR_FORMAT);
    assert_int_equal(as_run_get(run, "rows", &thing_shape, &t, NULL), ASSAY_ERR_FORMAT);
    assert_int_equal(as_run_get_rows(run, "rows", &other_shape, 9, &rows, &n, NULL),
                     ASSAY_ERR_FORMAT);
    assert_int_equal(as_run_get_rows(run, "rows", &thing_shape, 2, &rows, &n, NULL),
                     ASSAY_ERR_FORMAT);
    assert_int_equal(as_run_get_rows(run, "nothing", &thing_shape, 2, &rows, &n, NULL), ASSAY_OK);
    assert_int_equal(n, 0);
    as_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_in_memory_is_read_back),
        cmocka_unit_test(a_run_on_disk_keeps_the_older_one),
        cmocka_unit_test(a_run_is_added_to),
        cmocka_unit_test(what_is_not_a_run_is_refused),
        cmocka_unit_test(a_run_given_up_leaves_nothing),
        cmocka_unit_test(a_full_disk_leaves_nothing),
        cmocka_unit_test(parts_that_are_not_as_described_are_refused),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
