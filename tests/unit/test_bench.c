/* tests/unit/test_bench.c - the loop in turns, its journal and what becomes of it when a run is
 * killed, cut or changed. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "experiment/bench/bench.h"

#define PLAN "{\"seed\":1,\"grid\":{\"n\":[\"1\",\"2\"]}}"

static char path[] = "/tmp/assay-bench-XXXXXX";

static int make_path(void **state)
{
    int fd;

    (void)state;
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    fd = mkstemp(path);
    if (fd < 0)
        return -1;
    (void)close(fd);
    return unlink(path);
}

static int remove_path(void **state)
{
    (void)state;
    (void)unlink(path);
    return 0;
}

/* ---- a workload that counts ---- */

struct counting {
    unsigned runs[3], ready, stop_after; /* 0: never */
    size_t order[3000];
    size_t n;
    int fails; /* this setting, from its second sample on; -1: none */
};

static int ready(void *user, uint64_t sample_id, struct assay_error *err)
{
    struct counting *c = user;

    (void)sample_id;
    (void)err;
    c->ready++;
    return ASSAY_OK;
}

static int run(void *user, size_t setting, uint64_t sample_id, struct as_bench_sample *out,
               struct assay_error *err)
{
    struct counting *c = user;

    if (c->stop_after && c->n == c->stop_after)
        return as_fail(err, ASSAY_ERR_IO, "stopped");
    if ((int)setting == c->fails && sample_id == 1)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "it fell over");
    c->order[c->n++] = setting;
    c->runs[setting]++;
    out->wall_ns = 1000 * (setting + 1) + sample_id;
    out->energy_j = 0.1 * (double)sample_id;
    (void)snprintf(out->output_hash, sizeof out->output_hash, "%064llx",
                   (unsigned long long)sample_id);
    return ASSAY_OK;
}

static void begin(struct as_bench *bench, uint64_t samples)
{
    assert_int_equal(as_bench_init(bench, "command", 3, NULL), ASSAY_OK);
    bench->n_samples = samples;
    for (size_t i = 0; i < 3; i++)
        (void)snprintf(bench->settings[i].name, AS_GRID_NAME, "n=%zu", i);
}

static int go(struct as_bench *bench, struct counting *c, struct as_journal *journal,
              unsigned warmup)
{
    const struct as_bench_load load = {.user = c, .ready = ready, .run = run};
    const struct as_bench_loop loop = {
        .load = &load, .journal = journal, .seed = 7, .warmup = warmup};

    return as_bench_run(bench, &loop, NULL);
}

static void settings_take_turns(void **state)
{
    struct counting c = {.fails = -1};
    struct as_bench bench;
    unsigned first[3] = {0};

    (void)state;
    begin(&bench, 300);
    assert_int_equal(go(&bench, &c, NULL, 2), ASSAY_OK);
    assert_int_equal(c.ready, 302);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(bench.settings[i].n, 300);
        assert_int_equal(c.runs[i], 302);
    }
    /* Each round has every setting once, and every setting is first about as often. */
    for (size_t r = 0; r < 302; r++) {
        assert_int_equal(c.order[3 * r] + c.order[3 * r + 1] + c.order[3 * r + 2], 3);
        assert_int_not_equal(c.order[3 * r], c.order[3 * r + 1]);
        first[c.order[3 * r]]++;
    }
    for (size_t i = 0; i < 3; i++)
        assert_true(first[i] > 70 && first[i] < 131);
    as_bench_fini(&bench);
}

static void a_setting_that_fails_leaves_the_others_running(void **state)
{
    struct counting c = {.fails = 1};
    struct as_bench bench;

    (void)state;
    begin(&bench, 5);
    assert_int_equal(go(&bench, &c, NULL, 0), ASSAY_OK);
    assert_true(bench.settings[1].failed);
    assert_string_equal(bench.settings[1].why, "it fell over");
    assert_int_equal(bench.settings[1].n, 1);
    assert_int_equal(bench.settings[0].n, 5);
    assert_int_equal(as_bench_done(&bench), 15);
    as_bench_fini(&bench);
}

/* ---- the journal ---- */

static void a_killed_run_goes_on_and_repeats_nothing(void **state)
{
    struct as_journal journal;

    (void)state;
    for (unsigned stop = 1; stop < 30; stop++) {
        struct counting before = {.fails = -1, .stop_after = stop}, then = {.fails = -1};
        struct as_bench bench;

        begin(&bench, 10);
        assert_int_equal(as_journal_create(&journal, path, PLAN, NULL), ASSAY_OK);
        assert_int_equal(go(&bench, &before, &journal, 0), ASSAY_ERR_IO);
        assert_int_equal(as_journal_close(&journal, NULL), ASSAY_OK);
        as_bench_fini(&bench);

        begin(&bench, 10);
        assert_int_equal(as_journal_resume(&journal, path, PLAN, as_bench_keep, &bench, NULL),
                         ASSAY_OK);
        assert_int_equal(as_bench_done(&bench), stop);
        assert_false(journal.torn);
        assert_int_equal(go(&bench, &then, &journal, 0), ASSAY_OK);
        assert_int_equal(then.n, 30 - stop);
        assert_int_equal(as_journal_close(&journal, NULL), ASSAY_OK);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(bench.settings[i].n, 10);
            assert_int_equal(bench.settings[i].samples[3].wall_ns, 1000 * (i + 1) + 3);
            assert_true(bench.settings[i].samples[3].energy_j == 0.1 * 3);
            assert_int_equal(bench.settings[i].samples[3].peak_mem_bytes, AS_BENCH_UNKNOWN);
        }
        as_bench_fini(&bench);
        assert_int_equal(unlink(path), 0);
    }
}

static size_t make_journal(void)
{
    struct counting c = {.fails = 1};
    struct as_journal journal;
    struct as_bench bench;
    struct stat st;

    begin(&bench, 3);
    assert_int_equal(as_journal_create(&journal, path, PLAN, NULL), ASSAY_OK);
    assert_int_equal(go(&bench, &c, &journal, 0), ASSAY_OK);
    assert_int_equal(as_journal_close(&journal, NULL), ASSAY_OK);
    as_bench_fini(&bench);
    assert_int_equal(stat(path, &st), 0);
    return (size_t)st.st_size;
}

static void a_journal_cut_anywhere_is_read_as_far_as_it_goes(void **state)
{
    size_t size = make_journal(), last = 0;
    char *bytes = calloc(1, size);
    int fd = open(path, O_RDONLY);
    size_t plan_end;

    (void)state;
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, size), size);
    (void)close(fd);
    plan_end = (size_t)((char *)memchr(bytes, '\n', size) - bytes) + 1;
    for (size_t cut = 0; cut <= size; cut++) {
        struct as_journal journal;
        struct as_bench bench;
        int rc;

        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fd, bytes, cut), cut);
        (void)close(fd);
        begin(&bench, 3);
        rc = as_journal_resume(&journal, path, PLAN, as_bench_keep, &bench, NULL);
        if (cut < plan_end) {
            assert_int_equal(rc, ASSAY_ERR_FORMAT);
        } else {
            size_t done = bench.settings[0].n + bench.settings[1].n + bench.settings[2].n;

            assert_int_equal(rc, ASSAY_OK);
            assert_true(done >= last);
            last = done;
            assert_int_equal(journal.torn, bytes[cut - 1] != '\n');
            assert_int_equal(as_journal_close(&journal, NULL), ASSAY_OK);
        }
        as_bench_fini(&bench);
    }
    assert_int_equal(last, 7);
    free(bytes);
}

static void a_changed_byte_is_found(void **state)
{
    size_t size = make_journal();

    (void)state;
    for (size_t at = 0; at < size; at++) {
        int fd = open(path, O_RDWR);
        struct as_journal journal;
        struct as_bench bench;
        char byte, other;

        assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
        other = (char)(byte ^ 0x15);
        assert_int_equal(pwrite(fd, &other, 1, (off_t)at), 1);
        begin(&bench, 3);
        /* The newline of the last line alone makes it a line that was cut short. */
        if (at + 1 < size) {
            assert_int_equal(as_journal_resume(&journal, path, PLAN, as_bench_keep, &bench, NULL),
                             ASSAY_ERR_FORMAT);
        }
        as_bench_fini(&bench);
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
        (void)close(fd);
    }
}

static void another_plan_is_refused_by_name(void **state)
{
    struct assay_error err = {0};
    struct as_journal journal, second;
    struct as_bench bench;

    (void)state;
    (void)make_journal();
    begin(&bench, 3);
    assert_int_equal(as_journal_resume(&journal, path,
                                       "{\"seed\":2,\"grid\":{\"n\":[\"1\",\"2\"]}}", as_bench_keep,
                                       &bench, &err),
                     ASSAY_ERR_STATE);
    assert_non_null(strstr(err.msg, "another value of seed"));
    assert_int_equal(as_journal_resume(&journal, path,
                                       "{\"seed\":1,\"grid\":{\"n\":[\"1\",\"3\"]}}", as_bench_keep,
                                       &bench, &err),
                     ASSAY_ERR_STATE);
    assert_non_null(strstr(err.msg, "another value of grid"));
    assert_int_equal(as_journal_create(&journal, path, PLAN, &err), ASSAY_ERR_STATE);
    assert_int_equal(as_journal_resume(&journal, path, PLAN, as_bench_keep, &bench, NULL),
                     ASSAY_OK);
    assert_true(bench.settings[1].failed);
    assert_int_equal(as_journal_resume(&second, path, PLAN, as_bench_keep, &bench, &err),
                     ASSAY_ERR_STATE);
    assert_non_null(strstr(err.msg, "another process"));
    assert_int_equal(as_journal_close(&journal, NULL), ASSAY_OK);
    as_bench_fini(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_take_turns),
        cmocka_unit_test(a_setting_that_fails_leaves_the_others_running),
        cmocka_unit_test_setup_teardown(a_killed_run_goes_on_and_repeats_nothing, make_path,
                                        remove_path),
        cmocka_unit_test_setup_teardown(a_journal_cut_anywhere_is_read_as_far_as_it_goes, make_path,
                                        remove_path),
        cmocka_unit_test_setup_teardown(a_changed_byte_is_found, make_path, remove_path),
        cmocka_unit_test_setup_teardown(another_plan_is_refused_by_name, make_path, remove_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
