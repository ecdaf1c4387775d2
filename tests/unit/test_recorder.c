/* tests/unit/test_recorder.c - one thread records, and reads back what it did.
 * Overflow is brought about by holding the lock of the file, so that nothing depends on time. */
#include "recorder_kit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

#include "trace/record/recorder.h"
#include "trace/run/run_reader.h"

static void nested_scopes_are_recorded(void **state)
{
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    for (int i = 0; i < 1000; i++) {
        ASSAY_SCOPE("outer");
        {
            ASSAY_SCOPE("inner");
            ASSAY_BEGIN("innermost");
            ASSAY_END("innermost");
        }
    }
    rec_stop();
    assert_int_equal(rec_files(false), 1); /* no ring is left */
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(rec_calls(&r, "outer"), 1000);
    assert_int_equal(rec_calls(&r, "inner"), 1000);
    assert_int_equal(rec_calls(&r, "innermost"), 1000);
    assert_int_equal(r.layers->n_nodes,
                     4); /* root, outer, inner, innermost: each under the one before */
    assert_int_equal(r.layers->node[3].depth, 3);
    assert_true(r.run->health.closed);
    assert_int_equal(r.run->health.expected_events, 6000);
    assert_true(r.layers->wall_ns > 0);
    rec_done(&r);
}

/* The first sample is taken at once and the last when the session is closed. */
static void memory_is_sampled_when_asked_for(void **state)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    struct rec r;

    (void)state;
    options.memory_interval_ms = 1;
    rec_start("run.assay", &options);
    for (int i = 0; i < 100; i++) {
        ASSAY_SCOPE("layer");
    }
    rec_stop();
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(rec_calls(&r, "layer"), 100);
    assert_int_equal(r.layers->n_channels, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct as_channel *c = &r.layers->channel[i];

        assert_string_equal(c->info->unit, "bytes");
        assert_true(c->n >= 1);
        assert_true(c->min > 0 && c->max < 1e12 && c->min <= c->last && c->last <= c->max);
    }
    assert_int_equal(r.layers->n_threads, 2); /* ours is told apart */
    assert_true(as_run_thread_is_ours(r.layers->thread[0].info) !=
                as_run_thread_is_ours(r.layers->thread[1].info));
    rec_done(&r);
    options.memory_interval_ms = UINT32_MAX;
    assert_int_equal(assay_session_open("x.assay", &options, NULL), ASSAY_ERR_USAGE);
}

static void ids_switches_failures_and_facts_are_recorded(void **state)
{
    const struct assay_layer_info info = {sizeof info, "conv2d", "1x64x112x112", 2e9, 1e6};
    uint32_t a = assay_layer("by id"), b = assay_layer("switched");
    const struct as_run_attribute *kernel;
    struct assay_error err;
    struct rec r;

    (void)state;
    assert_int_equal(assay_layer("by id"), a);
    rec_start("run.assay", NULL);
    assert_int_equal(assay_layer_describe(a, &info, &err), ASSAY_OK);
    assert_int_equal(assay_layer_set(a, "kernel", "winograd", &err), ASSAY_OK);
    for (int i = 0; i < 10; i++) {
        assay_begin(a);
        if (i % 2)
            assay_end(a);
        else
            assay_end_failed(a);
        assay_switch(b);
        ASSAY_SWITCH("switched too");
        ASSAY_SWITCH_END();
        {
            ASSAY_SCOPE_NAMED(scope, "failing");

            assay_scope_fail(&scope);
        }
    }
    rec_stop();
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(rec_calls(&r, "by id"), 10);
    assert_int_equal(rec_find(&r, "by id")->failed, 5);
    assert_int_equal(rec_find(&r, "failing")->failed, 10);
    assert_int_equal(rec_calls(&r, "switched"), 10);
    assert_int_equal(rec_calls(&r, "switched too"), 10);
    assert_string_equal(rec_find(&r, "by id")->op, "conv2d");
    assert_string_equal(rec_find(&r, "by id")->shape, "1x64x112x112");
    assert_true(rec_find(&r, "by id")->flops == 2e9 && rec_find(&r, "by id")->bytes == 1e6);
    kernel = as_run_site_get(rec_find(&r, "by id")->info, "kernel");
    assert_true(kernel && kernel->text && strcmp(kernel->text, "winograd") == 0);
    rec_done(&r);
}

static int twice(int x)
{
    ASSAY_FUNCTION_SCOPE();
    return 2 * x;
}

ASSAY_WRAP(int, wrapped_twice, twice, (int x), (x))

static void the_rarer_marks_are_recorded(void **state)
{
    uint32_t power = assay_channel("power", "watts");
    double ms = -1;
    int sum = 0;
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    for (uint64_t i = 0; i < 20; i++) {
        assay_iteration(100 + i);
        assay_iteration_length(i % 2 ? 64 : 32);
        ASSAY_PHASE_SCOPE(ASSAY_PHASE_FORWARD);
        {
            ASSAY_SCOPE("noted");
            assay_note("batch", (double)i);
        }
        assay_sample(power, 10 + (double)i);
        sum += ASSAY_CALL("called", twice(1)) + wrapped_twice(2);
        ASSAY_TIMED("timed", &ms)
        {
            sum += twice(3);
        }
        assay_phase_begin((enum assay_phase)99); /* ignored */
    }
    assay_iteration_end();
    rec_stop();
    assert_int_equal(sum, 20 * (2 + 4 + 6));
    assert_true(ms >= 0);
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(r.layers->iterations.n, 20);
    assert_int_equal(r.layers->iterations.record[19].sample_id, 119);
    assert_int_equal(r.layers->iterations.n_groups, 2);
    assert_true(r.layers->iterations.any_kernel);
    assert_int_equal(r.layers->phase[ASSAY_PHASE_FORWARD].calls, 20);
    assert_int_equal(rec_find(&r, "noted")->phase_calls[ASSAY_PHASE_FORWARD], 20);
    assert_int_equal(r.layers->n_channels, 1);
    assert_int_equal(r.layers->channel[0].n, 20);
    assert_true(r.layers->channel[0].min == 10 && r.layers->channel[0].max == 29);
    assert_string_equal(r.layers->channel[0].info->unit, "watts");
    assert_int_equal(rec_calls(&r, "called"), 20);
    assert_int_equal(rec_calls(&r, "timed"), 20);
    assert_int_equal(rec_calls(&r, "twice"), 60 + 20);
    rec_done(&r);
}

static void without_a_session_marks_do_nothing_and_timing_works(void **state)
{
    double ms = -1;

    (void)state;
    assert_false(assay_session_is_open());
    ASSAY_BEGIN("nowhere");
    ASSAY_END("nowhere");
    assay_iteration(1);
    assay_sample(1, 2);
    assay_note("key", 1);
    ASSAY_TIMED("nowhere", &ms)
    {
    }
    assert_true(ms >= 0);
    assert_int_equal(rec_files(false), 0);
}

static void unbalanced_marks_are_told(void **state)
{
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    ASSAY_END("stray");
    ASSAY_BEGIN("outer");
    ASSAY_BEGIN("forgotten");
    ASSAY_END("outer");
    ASSAY_BEGIN("open");
    rec_stop();
    ASSAY_END("open"); /* too late */
    r = rec_read("run.assay");
    assert_int_equal(r.layers->stray_ends, 1);
    assert_int_equal(rec_find(&r, "forgotten")->unclosed, 1);
    assert_int_equal(rec_find(&r, "open")->open, 1);
    assert_int_equal(rec_calls(&r, "outer"), 1);
    rec_done(&r);
}

static void the_monotonic_clock_records_as_well(void **state)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    struct rec r;

    (void)state;
    options.clock = ASSAY_CLOCK_MONOTONIC;
    options.label = "a label \"with quotes\"";
    rec_start("run.assay", &options);
    for (int i = 0; i < 10000; i++) {
        ASSAY_SCOPE("outer");
        ASSAY_BEGIN("inner");
        ASSAY_END("inner");
    }
    rec_stop();
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(rec_calls(&r, "outer"), 10000);
    assert_int_equal(rec_calls(&r, "inner"), 10000);
    assert_string_equal(as_run_fact_text(r.run, "clock.kind"), "monotonic");
    assert_string_equal(as_run_fact_text(r.run, "label"), "a label \"with quotes\"");
    rec_done(&r);
}

static void a_pause_records_nothing(void **state)
{
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    for (int i = 0; i < 10; i++) {
        ASSAY_BEGIN("before");
        ASSAY_END("before");
        assay_session_pause();
        assert_true(assay_session_is_open());
        ASSAY_BEGIN("during");
        ASSAY_END("during");
        assay_session_resume();
        ASSAY_BEGIN("after");
        ASSAY_END("after");
    }
    assay_session_pause();
    rec_stop();
    assay_session_resume(); /* of nothing */
    ASSAY_BEGIN("later");
    ASSAY_END("later");
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(rec_calls(&r, "before"), 10);
    assert_int_equal(rec_calls(&r, "during"), 0);
    assert_int_equal(rec_calls(&r, "after"), 10);
    assert_int_equal(rec_calls(&r, "later"), 0);
    rec_done(&r);
}

static void sessions_follow_one_another(void **state)
{
    struct rec r;

    (void)state;
    for (int i = 0; i < 5; i++) {
        rec_start(i % 2 ? "odd.assay" : "even.assay", NULL);
        for (int k = 0; k <= i; k++) {
            ASSAY_SCOPE("work");
        }
        rec_stop();
    }
    assert_int_equal(rec_files(false), 4);
    r = rec_read("even.assay");
    rec_expect_whole(&r);
    assert_int_equal(rec_calls(&r, "work"), 5);
    rec_done(&r);
    r = rec_read("even.assay.old");
    assert_int_equal(rec_calls(&r, "work"), 3);
    rec_done(&r);
    r = rec_read("odd.assay");
    assert_int_equal(rec_calls(&r, "work"), 4);
    rec_done(&r);
}

static void wrong_use_is_an_error_with_a_sentence(void **state)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_session_close(&err), ASSAY_ERR_STATE);
    assert_int_equal(assay_session_open(NULL, NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_session_open("", NULL, NULL), ASSAY_ERR_USAGE);
    options.ring_kib = 100;
    assert_int_equal(assay_session_open("run.assay", &options, &err), ASSAY_ERR_USAGE);
    options.ring_kib = 8192;
    assert_int_equal(assay_session_open("run.assay", &options, &err), ASSAY_ERR_USAGE);
    options.ring_kib = 0;
    options.size = 4;
    assert_int_equal(assay_session_open("run.assay", &options, &err), ASSAY_ERR_USAGE);
    options.size = SIZE_MAX;
    assert_int_equal(assay_session_open("run.assay", &options, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_session_open("/proc/nowhere/run.assay", NULL, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "/proc/nowhere"));
    assert_int_equal(rec_files(false), 0);
    rec_start("run.assay", NULL);
    assert_int_equal(assay_session_open("other.assay", NULL, &err), ASSAY_ERR_STATE);
    assert_non_null(strstr(err.msg, "run.assay"));
    assert_int_equal(assay_layer_describe(1, NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_layer_set(1, "", "x", &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_layer_set(1u << 30, "k", "x", &err), ASSAY_ERR_NOTFOUND);
    rec_stop();
    assert_int_equal(assay_session_close(NULL), ASSAY_ERR_STATE);
    assert_int_equal(rec_files(false), 1);
}

static void another_kind_of_file_is_not_overwritten(void **state)
{
    FILE *f = fopen("notes.txt", "w");
    struct assay_error err;
    struct stat st;

    (void)state;
    fputs("dear diary", f);
    fclose(f);
    assert_int_equal(assay_session_open("notes.txt", NULL, &err), ASSAY_ERR_IO);
    assert_int_equal(stat("notes.txt", &st), 0);
    assert_int_equal(st.st_size, 10);
    assert_int_equal(rec_files(false), 1);
}

static void errno_is_kept(void **state)
{
    (void)state;
    errno = 77;
    ASSAY_BEGIN("errno");
    ASSAY_END("errno");
    assert_int_equal(errno, 77);
    rec_start("run.assay", NULL);
    for (int i = 0; i < 20000; i++) {
        errno = i;
        ASSAY_BEGIN("errno one");
        ASSAY_END("errno one");
        assay_note("key", 1);
        assay_iteration(1);
        assay_sample(assay_channel("errno ch", NULL), 1);
        if (errno != i)
            fail_msg("errno became %d", errno);
    }
    rec_stop();
}

static uint64_t total_lost_in_place(const struct as_layers *layers)
{
    uint64_t lost = 0;

    for (size_t i = 0; i < layers->n_threads; i++)
        lost += layers->thread[i].lost;
    return lost;
}

/* The mover cannot write while the lock of the file is held, so a ring of two chunks overflows at
 * once. */
static void what_does_not_fit_is_counted_to_the_last_event(void **state)
{
    static const uint64_t floods[] = {1, 4000, 4076, 5000, 50000};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(floods); i++) {
        struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
        uint32_t a = assay_layer("flood"), b = assay_layer("calm");
        uint64_t marked = 0, lost;
        struct rec r;

        options.ring_kib = 128;
        rec_start("run.assay", &options);
        assay_begin(b); /* has a lane from here on */
        assay_end(b);
        marked += 2;
        for (int round = 0; round < 3; round++) {
            pthread_mutex_lock(&as_recorder.file_lock);
            for (uint64_t k = 0; k < floods[i]; k++) {
                assay_begin(a);
                assay_end(a);
                marked += 2;
            }
            pthread_mutex_unlock(&as_recorder.file_lock);
            for (int k = 0; k < 3000; k++) { /* while the mover comes back */
                assay_begin(b);
                assay_end(b);
                marked += 2;
            }
        }
        lost = assay_session_lost();
        rec_stop();
        r = rec_read("run.assay");
        assert_int_equal(rec_marks(r.run) + lost, marked);
        assert_int_equal(r.layers->lost_events, lost);
        assert_int_equal(total_lost_in_place(r.layers), lost);
        assert_true(floods[i] < 5000 || lost > 0);
        assert_int_equal(r.layers->bad_events, 0);
        assert_int_equal(r.layers->stray_ends, 0); /* a loss explains every one */
        rec_done(&r);
    }
}

struct holder {
    _Atomic int held, finish;
    uint32_t wake;
};

/* Holds the file until the other thread has filled its ring and waits for room. */
static void *hold_the_file(void *user)
{
    struct holder *h = user;

    pthread_mutex_lock(&as_recorder.file_lock);
    h->wake = as_guest_wake_count();
    atomic_store(&h->held, 1);
    while (as_guest_wake_count() - h->wake < 3) /* two chunks filled, then waiting */
        sched_yield();
    pthread_mutex_unlock(&as_recorder.file_lock);
    return NULL;
}

static void a_thread_that_waits_loses_nothing_and_says_so(void **state)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    struct holder holder = {0};
    uint32_t a = assay_layer("patient");
    uint64_t marked = 0;
    pthread_t thread;
    struct rec r;

    (void)state;
    options.ring_kib = 128;
    options.overflow = ASSAY_OVERFLOW_WAIT;
    rec_start("run.assay", &options);
    assay_begin(a);
    assay_end(a);
    assert_int_equal(pthread_create(&thread, NULL, hold_the_file, &holder), 0);
    while (!atomic_load(&holder.held))
        sched_yield();
    for (int k = 0; k < 100000; k++) {
        assay_begin(a);
        assay_end(a);
    }
    marked = 2 + 200000;
    pthread_join(thread, NULL);
    rec_stop();
    assert_int_equal(assay_session_lost(), 0);
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(rec_marks(r.run), marked);
    assert_true(r.layers->waited_ns > 0);
    rec_done(&r);
}

/* Reading while the program records: what is complete is there, and nothing is said to be wrong. */
static void a_live_run_can_be_read(void **state)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    struct rec r;

    (void)state;
    options.overflow = ASSAY_OVERFLOW_WAIT; /* on a busy machine the ring may fill */
    rec_start("run.assay", &options);
    for (uint64_t i = 1; i <= 20000; i++) {
        {
            ASSAY_SCOPE("live");
        }
        if (i % 4000 == 0) {
            r = rec_read("run.assay");
            assert_false(r.run->health.closed);
            assert_int_equal(rec_calls(&r, "live"), i);
            assert_int_equal(r.layers->lost_events, 0);
            assert_false(r.layers->lost_unknown);
            rec_done(&r);
        }
    }
    rec_stop();
}

static void a_report_without_self_time_has_no_share(void **state)
{
    struct assay_session_options options = {.size = sizeof options};
    char text[1024] = "";
    FILE *f;

    (void)state;
    options.report_path = "page.txt";
    rec_start("run.assay", &options);
    assay_begin(assay_layer("never ended"));
    rec_stop();
    f = fopen("page.txt", "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    (void)fclose(f);
    assert_int_equal(unlink("page.txt"), 0);
    assert_non_null(strstr(text, "never ended"));
    assert_null(strchr(text, '%'));
}

static void a_session_makes_its_folders_and_its_report(void **state)
{
    struct assay_session_options options = {.size = sizeof options};
    struct assay_error err;
    char text[1024] = "";
    FILE *f;

    (void)state;
    options.report_path = "page.txt";
    rec_start("a/b/run.assay", &options);
    for (int i = 0; i < 12; i++) {
        ASSAY_SCOPE("layer");
    }
    rec_stop();
    f = fopen("page.txt", "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    (void)fclose(f);
    assert_non_null(strstr(text, "1 layer, 12 calls\n"));
    assert_int_equal(unlink("page.txt") + unlink("a/b/run.assay") + rmdir("a/b") + rmdir("a"), 0);
    /* A report that cannot be written is an error of close; the run is there. */
    options.report_path = "/proc/nowhere/page.txt";
    rec_start("run.assay", &options);
    assert_int_equal(assay_session_close(&err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "/proc/nowhere"));
    assert_false(assay_session_is_open());
}

#define RECORDED(test) cmocka_unit_test_teardown(test, rec_clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDED(nested_scopes_are_recorded),
        RECORDED(memory_is_sampled_when_asked_for),
        RECORDED(ids_switches_failures_and_facts_are_recorded),
        RECORDED(the_rarer_marks_are_recorded),
        RECORDED(without_a_session_marks_do_nothing_and_timing_works),
        RECORDED(unbalanced_marks_are_told),
        RECORDED(the_monotonic_clock_records_as_well),
        RECORDED(a_pause_records_nothing),
        RECORDED(sessions_follow_one_another),
        RECORDED(wrong_use_is_an_error_with_a_sentence),
        RECORDED(another_kind_of_file_is_not_overwritten),
        RECORDED(errno_is_kept),
        RECORDED(what_does_not_fit_is_counted_to_the_last_event),
        RECORDED(a_thread_that_waits_loses_nothing_and_says_so),
        RECORDED(a_live_run_can_be_read),
        RECORDED(a_report_without_self_time_has_no_share),
        RECORDED(a_session_makes_its_folders_and_its_report),
    };

    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
