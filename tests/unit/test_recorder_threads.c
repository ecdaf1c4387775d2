/* tests/unit/test_recorder_threads.c - many threads record, come and go, and outlive sessions.
 * Threads are kept in step by counters and barriers, never by time. */
#include "recorder_kit.h"

#include <pthread.h>
#include <sched.h>

#include "trace/record/recorder.h"

#define N_THREADS 16
#define N_ROUNDS  4
#define N_CALLS   3000

static struct assay_session_options patient(void)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};

    options.overflow = ASSAY_OVERFLOW_WAIT;
    options.ring_kib = 128;
    return options;
}

static void nest(int depth)
{
    if (depth == 0)
        return;
    ASSAY_SCOPE("nest");
    nest(depth - 1);
}

static void *record_calls(void *unused)
{
    for (int i = 0; i < N_CALLS; i++) {
        ASSAY_SCOPE("outer");
        nest(1 + i % 4);
    }
    return unused;
}

static void threads_come_and_go(void **state)
{
    struct assay_session_options options = patient();
    pthread_t thread[N_THREADS];
    uint64_t nested = 0;
    struct rec r;

    (void)state;
    rec_start("run.assay", &options);
    for (int round = 0; round < N_ROUNDS; round++) {
        for (int i = 0; i < N_THREADS; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, record_calls, NULL), 0);
        for (int i = 0; i < N_THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    rec_stop();
    for (int i = 0; i < N_CALLS; i++)
        nested += 1 + (uint64_t)i % 4;
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(r.layers->n_threads, N_THREADS * N_ROUNDS); /* the main one recorded nothing */
    assert_int_equal(rec_calls(&r, "outer"), N_THREADS * N_ROUNDS * N_CALLS);
    assert_int_equal(rec_calls(&r, "nest"), N_THREADS * N_ROUNDS * nested);
    assert_int_equal(rec_find(&r, "outer")->n_threads, N_THREADS * N_ROUNDS);
    for (size_t i = 0; i < r.layers->n_threads; i++)
        assert_int_equal(r.layers->thread[i].counts.spans, N_CALLS + nested);
    rec_done(&r);
}

static void lanes_of_ended_threads_are_used_again(void **state)
{
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    for (int i = 0; i < 200; i++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, record_calls, NULL), 0);
        pthread_join(thread, NULL);
        while (atomic_load(&as_recorder.lane[0]->sealed)) /* the mover empties it */
            sched_yield();
    }
    assert_int_equal(atomic_load(&as_recorder.n_lanes), 1);
    rec_stop();
    r = rec_read("run.assay");
    assert_int_equal(r.layers->n_threads, 200);
    assert_int_equal(rec_marks(r.run) + r.layers->lost_events,
                     200 * 2 * (N_CALLS + N_CALLS / 4 * 10));
    rec_done(&r);
}

static void *open_and_record(void *unused)
{
    rec_start("run.assay", NULL);
    {
        ASSAY_SCOPE("worker");
    }
    return unused;
}

static void a_session_may_be_opened_by_a_thread_that_ends(void **state)
{
    pthread_t thread;
    struct rec r;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, open_and_record, NULL), 0);
    pthread_join(thread, NULL);
    {
        ASSAY_SCOPE("main");
    }
    rec_stop();
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(rec_calls(&r, "worker"), 1);
    assert_int_equal(rec_calls(&r, "main"), 1);
    assert_int_equal(r.layers->n_threads, 2);
    rec_done(&r);
}

/* Not by joining it, which TSan cannot follow. */
static void wait_for_the_end_of_main(void)
{
    char text[256] = "";

    while (!strstr(text, ") Z")) {
        FILE *f = fopen("/proc/self/stat", "r");

        if (!f || !fgets(text, sizeof text, f))
            _exit(1);
        fclose(f);
        sched_yield();
    }
}

static void *record_after_main(void *unused)
{
    wait_for_the_end_of_main();
    ASSAY_BEGIN("survivor");
    ASSAY_END("survivor");
    return unused;
}

/* What this program does when it is started with an argument. */
static void end_the_first_thread(void)
{
    pthread_t thread;

    if (assay_session_open("run.assay", NULL, NULL) < 0 ||
        pthread_create(&thread, NULL, record_after_main, NULL) != 0)
        _exit(1);
    ASSAY_BEGIN("first");
    ASSAY_END("first");
    pthread_exit(NULL);
}

/* The process must end with its last thread, not wait for the recorder's own. */
static void the_first_thread_may_end_first(void **state)
{
    struct rec r;
    pid_t pid;

    (void)state;
    if (REC_TSAN) /* has a thread of its own in the process, so that nobody is ever the last */
        skip();
    pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_recorder_threads", "first", (char *)NULL);
        _exit(1);
    }
    rec_wait(pid);
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_true(r.run->health.closed);
    assert_int_equal(rec_calls(&r, "first"), 1);
    assert_int_equal(rec_calls(&r, "survivor"), 1);
    rec_done(&r);
}

/* ---- threads that outlive sessions ---- */

#define N_LIVING 4

static _Atomic bool stop_living;
static struct life {
    _Atomic uint64_t n;
} lived[N_LIVING];

static void *live(void *user)
{
    struct life *life = user;

    while (!atomic_load(&stop_living)) {
        {
            ASSAY_SCOPE("life");
            nest(2);
        }
        atomic_fetch_add(&life->n, 1);
    }
    return NULL;
}

static void wait_for_progress(uint64_t more)
{
    for (int i = 0; i < N_LIVING; i++) {
        uint64_t from = atomic_load(&lived[i].n);

        while (atomic_load(&lived[i].n) < from + more)
            sched_yield();
    }
}

static void threads_outlive_sessions(void **state)
{
    pthread_t thread[N_LIVING];
    char path[32];

    (void)state;
    atomic_store(&stop_living, false);
    for (int i = 0; i < N_LIVING; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, live, &lived[i]), 0);
    for (int s = 0; s < 12; s++) {
        struct assay_session_options options = {.size = sizeof(struct assay_session_options)};

        options.ring_kib = s % 2 ? 128 : 512;
        options.clock = s % 3 ? ASSAY_CLOCK_BEST : ASSAY_CLOCK_MONOTONIC;
        options.overflow = s % 4 ? ASSAY_OVERFLOW_DROP : ASSAY_OVERFLOW_WAIT;
        snprintf(path, sizeof path, "run%d.assay", s);
        rec_start(path, &options);
        wait_for_progress(s == 5 ? 1 : REC_TSAN ? 2000 : 20000);
        if (s == 7) {
            assay_session_pause();
            wait_for_progress(100);
            assay_session_resume();
        }
        rec_stop();
        wait_for_progress(100);
    }
    atomic_store(&stop_living, true);
    for (int i = 0; i < N_LIVING; i++)
        pthread_join(thread[i], NULL);
    for (int s = 0; s < 12; s++) {
        struct rec r;

        snprintf(path, sizeof path, "run%d.assay", s);
        r = rec_read(path);
        assert_true(r.run->health.closed);
        assert_int_equal(r.run->health.events, r.run->health.expected_events);
        assert_int_equal(r.layers->bad_events, 0);
        assert_int_equal(r.layers->backwards, 0);
        assert_true(r.layers->n_threads <= N_LIVING);
        if (s != 7) { /* only what a border cut: 3 levels a thread */
            assert_true(r.layers->stray_ends <= 3 * N_LIVING);
            assert_int_equal(r.layers->unclosed, 0);
        }
        if (s % 4 == 0)
            assert_int_equal(r.layers->lost_events, 0);
        rec_done(&r);
    }
}

/* ---- what is lost at the end of a thread ---- */

static pthread_key_t late_key;
static _Atomic int flooded;

static void mark_late(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5; i++) {
        ASSAY_BEGIN("late");
        ASSAY_END("late");
    }
}

static void *mark_and_end(void *unused)
{
    pthread_setspecific(late_key, &late_key);
    ASSAY_BEGIN("in time");
    ASSAY_END("in time");
    return unused;
}

/* Our key is older than this one, so its destructor comes after ours. */
static void marks_after_the_good_bye_are_counted(void **state)
{
    pthread_t thread;
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    assert_int_equal(pthread_key_create(&late_key, mark_late), 0);
    assert_int_equal(pthread_create(&thread, NULL, mark_and_end, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(assay_session_lost(), 10);
    rec_stop();
    pthread_key_delete(late_key);
    r = rec_read("run.assay");
    assert_int_equal(rec_calls(&r, "in time"), 1);
    assert_int_equal(rec_calls(&r, "late"), 0);
    assert_int_equal(r.layers->lost_events, 10);
    assert_int_equal(r.run->health.lost[AS_LOSS_THREAD_EXIT], 10);
    rec_done(&r);
}

static void *flood_and_end(void *barrier)
{
    ASSAY_BEGIN("flood"); /* has its lane */
    ASSAY_END("flood");
    pthread_barrier_wait(barrier); /* the file is held now */
    pthread_barrier_wait(barrier);
    for (int i = 0; i < 20000; i++) {
        ASSAY_BEGIN("flood");
        ASSAY_END("flood");
    }
    atomic_store(&flooded, 1);
    return NULL;
}

static void *record_little(void *unused)
{
    for (int i = 0; i < 100; i++) {
        ASSAY_SCOPE("little");
    }
    return unused;
}

/* The ring was full when its thread ended; the next thread in the same lane lost nothing. */
static void a_loss_belongs_to_the_thread_that_had_it(void **state)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    pthread_barrier_t barrier;
    pthread_t thread;
    uint64_t lost;
    struct rec r;

    (void)state;
    options.ring_kib = 128;
    pthread_barrier_init(&barrier, NULL, 2);
    rec_start("run.assay", &options);
    assert_int_equal(pthread_create(&thread, NULL, flood_and_end, &barrier), 0);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&as_recorder.file_lock);
    pthread_barrier_wait(&barrier);
    while (!atomic_load(&flooded))
        sched_yield();
    pthread_mutex_unlock(&as_recorder.file_lock);
    pthread_join(thread, NULL);
    while (atomic_load(&as_recorder.lane[0]->sealed))
        sched_yield();
    assert_int_equal(pthread_create(&thread, NULL, record_little, NULL), 0);
    pthread_join(thread, NULL);
    lost = assay_session_lost();
    rec_stop();
    pthread_barrier_destroy(&barrier);
    r = rec_read("run.assay");
    assert_true(lost > 20000);
    assert_int_equal(r.layers->n_threads, 2);
    assert_int_equal(r.layers->thread[0].lost, lost);
    assert_int_equal(r.layers->thread[1].lost, 0);
    assert_int_equal(rec_marks(r.run) + lost, 2 * 20001 + 2 * 100);
    rec_done(&r);
}

#define RECORDED(test) cmocka_unit_test_teardown(test, rec_clean)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RECORDED(threads_come_and_go),
        RECORDED(lanes_of_ended_threads_are_used_again),
        RECORDED(a_session_may_be_opened_by_a_thread_that_ends),
        RECORDED(the_first_thread_may_end_first),
        RECORDED(threads_outlive_sessions),
        RECORDED(marks_after_the_good_bye_are_counted),
        RECORDED(a_loss_belongs_to_the_thread_that_had_it),
    };

    (void)argv;
    if (argc > 1)
        end_the_first_thread();
    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
