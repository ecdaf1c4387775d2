/* tests/unit/test_watch_run.c - real children are watched until they end, and the run tells what
 * they did. */
#include <assay/session.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "root_kit.h"

#include "analyze/watch/target.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "watch/watch_run.h"
#include "watch/watch_shm.h"

enum { HELD_BYTES = 48 << 20 };

static const char why[] = "no library in a test";

/* So much time of a processor, however long that takes. */
static void spin(uint64_t ns)
{
    uint64_t now = 0;

    while (as_clock_thread_cpu_ns(&now) && now < ns)
        ;
}

/* The child of a test; ends the process. */
typedef void (*body)(void);

static void hold_and_end(void)
{
    char *block =
        mmap(NULL, HELD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (block == MAP_FAILED)
        _exit(1);
    memset(block, 1, HELD_BYTES);
    spin(60000000);
    _exit(7);
}

static void have_a_child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        spin(80000000);
        _exit(3);
    }
    _exit(pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 1);
}

static void be_killed(void)
{
    spin(20000000);
    (void)raise(SIGKILL);
    _exit(1);
}

static void end_at_once(void)
{
    _exit(0);
}

/* Runs and reads back. */
static struct as_target *watch(const char *folder, body what, struct as_watch_end *end,
                               struct as_run **run)
{
    static const char *const argv[] = {"a test", "with \"words\"", NULL};
    struct assay_session_options session = {.size = sizeof(struct assay_session_options)};
    struct as_watch_options options = {.argv = argv,
                                       .n_args = 2,
                                       .folder = "/some/where",
                                       .heap_why = why,
                                       .interval_ns = 5000000};
    struct as_target *program = NULL;
    struct assay_error err = {0};
    char path[128];
    sigset_t saved;
    pid_t pid;

    (void)snprintf(path, sizeof path, "%s/run.assay", folder);
    session.fork = ASSAY_FORK_STOP;
    as_watch_signals_block(&saved);
    assert_int_equal(assay_session_open(path, &session, &err), ASSAY_OK);
    options.started_ns = as_clock_mono_ns();
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        what();
    assert_int_equal(as_watch_run(end, pid, &options, &err), ASSAY_OK);
    assert_int_equal(end->wrong.code, ASSAY_OK);
    assert_int_equal(assay_session_close(&err), ASSAY_OK);
    as_watch_signals_restore(&saved);
    assert_int_equal(as_run_open(run, path, &err), ASSAY_OK);
    assert_int_equal(as_target_analyze(&program, *run, &err), ASSAY_OK);
    return program;
}

static void what_a_child_held_is_told(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_watch_end end;
    struct as_target *p;
    struct as_run *run;

    (void)state;
    p = watch(root.path, hold_and_end, &end, &run);
    assert_int_equal(end.exit_status, 7);
    assert_int_equal(end.n_left, 0);
    assert_int_equal(p->exit_status, 7);
    assert_int_equal(p->signal, 0);
    assert_int_equal(p->n_args, 2);
    assert_string_equal(p->argv[1], "with \"words\"");
    assert_string_equal(p->folder, "/some/where");
    assert_string_equal(p->heap_why, why);
    assert_false(p->heap_known);
    assert_true(p->wall_seconds >= 0.06);
    assert_true(p->readings >= 2);
    assert_null(p->cpu_user_ns.why);
    assert_true(p->cpu_user_ns.value + p->cpu_system_ns.value >= 50000000);
    assert_true(p->minor_faults.value > 0);
    assert_null(p->own_cpu_ns.why);
    assert_int_equal(p->n_processes, 1);
    assert_true(p->process[0].parent_pid == getpid());
    assert_true(p->process[0].end_seconds > 0);
    /* Under a sanitizer, and without /proc, memory is another matter. */
    if (!p->tree_peak_rss_bytes.why) {
        assert_true(p->tree_peak_rss_bytes.value >= HELD_BYTES);
        assert_true(p->peak_rss_bytes.value >= HELD_BYTES);
        assert_true(p->rss.n >= 2);
        assert_true(p->cpu.n >= 2);
    }
    as_target_free(p);
    as_run_close(run);
    kit_root_fini(&root);
}

static void children_of_the_child_are_seen(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_watch_end end;
    struct as_target *p;
    struct as_run *run;

    (void)state;
    p = watch(root.path, have_a_child, &end, &run);
    assert_int_equal(end.exit_status, 0);
    assert_int_equal(p->n_processes, 2);
    assert_int_equal(p->process[1].parent_pid, p->process[0].pid);
    assert_true(p->process[1].start_seconds >= p->process[0].start_seconds);
    assert_true(p->cpu_user_ns.value + p->cpu_system_ns.value >= 70000000); /* of both */
    as_target_free(p);
    as_run_close(run);
    kit_root_fini(&root);
}

static void a_signal_that_ends_it_is_told(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_watch_end end;
    struct as_target *p;
    struct as_run *run;

    (void)state;
    p = watch(root.path, be_killed, &end, &run);
    assert_int_equal(end.signal, SIGKILL);
    assert_int_equal(end.exit_status, 128 + SIGKILL);
    assert_int_equal(p->signal, SIGKILL);
    assert_int_equal(p->exit_status, 128 + SIGKILL);
    assert_false(p->dumped);
    as_target_free(p);
    as_run_close(run);
    kit_root_fini(&root);
}

static void the_end_is_never_missed(void **state)
{
    struct kit_root root = kit_root_new();

    (void)state;
    for (int i = 0; i < 20; i++) {
        struct as_watch_end end;
        struct as_run *run;
        struct as_target *p = watch(root.path, end_at_once, &end, &run);

        assert_int_equal(end.exit_status, 0);
        /* What was read of it while it began is not its peak. */
        assert_true(p->wall_seconds > 0.01 || p->tree_peak_rss_bytes.why);
        assert_true(p->wall_seconds > 0.01 || p->process == NULL || p->peak_rss_bytes.why ||
                    strcmp(p->peak_from, "the largest seen") != 0);
        as_target_free(p);
        as_run_close(run);
    }
    kit_root_fini(&root);
}

/* The series are those of the sites that held most, with 0 before a site was there. */
static void series_are_of_what_held_most(void **state)
{
    uint64_t first[] = {5, 700}, second[] = {6, 10, 0, 90};
    struct as_heap_series points = {
        .point = {{0.5, first, 2}, {1.5, second, 4}},
        .n = 2,
    };
    struct as_site_series *series;
    struct as_arena arena = {0};
    size_t n;

    (void)state;
    assert_int_equal(as_heap_series_series(&points, &arena, &series, &n, NULL), ASSAY_OK);
    assert_int_equal(n, 3); /* the third never held anything */
    assert_int_equal(series[0].id, 1);
    assert_int_equal(series[1].id, 3);
    assert_int_equal(series[2].id, 0);
    assert_int_equal(series[1].n, 2);
    assert_true(series[1].live_bytes[0] == 0 && series[1].live_bytes[1] == 90);
    assert_true(series[0].seconds[1] == 1.5);
    points.n = 0;
    assert_int_equal(as_heap_series_series(&points, &arena, &series, &n, NULL), ASSAY_OK);
    assert_int_equal(n, 0);
    as_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_child_held_is_told),
        cmocka_unit_test(children_of_the_child_are_seen),
        cmocka_unit_test(a_signal_that_ends_it_is_told),
        cmocka_unit_test(the_end_is_never_missed),
        cmocka_unit_test(series_are_of_what_held_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
