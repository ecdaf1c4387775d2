/* tests/unit/test_recorder_fork.c - processes made while a session is open: each has a run of its
 * own or none. Children end by exit, _exit, exec or a bare clone, and the parent's run stays whole.
 */
#include "recorder_kit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "trace/record/recorder.h"

/* A child of a process with threads cannot look for leaks, since it may have inherited a lock of
 * the allocator. */
ASSAY_API const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void work(int n)
{
    for (int i = 0; i < n; i++) {
        ASSAY_SCOPE("work");
        ASSAY_BEGIN("inner");
        ASSAY_END("inner");
    }
}

static void expect_run(const char *path, uint64_t calls)
{
    struct rec r = rec_read(path);

    rec_expect_whole(&r);
    assert_true(r.run->health.closed);
    assert_int_equal(rec_calls(&r, "work"), calls);
    assert_int_equal(rec_calls(&r, "inner"), calls);
    rec_done(&r);
}

static const char *child_path(pid_t pid)
{
    static char path[64];

    snprintf(path, sizeof path, "run.%d.assay", (int)pid);
    return path;
}

static void a_child_has_a_run_of_its_own(void **state)
{
    pid_t pid;

    (void)state;
    rec_start_settled("run.assay");
    work(10);
    pid = fork();
    if (pid == 0) {
        work(5000); /* more than a ring holds */
        exit(0);
    }
    rec_wait(pid);
    work(20);
    rec_stop();
    assert_int_equal(rec_files(false), 2);
    expect_run("run.assay", 30);
    expect_run(child_path(pid), 5000);
}

static void a_child_of_a_child_too(void **state)
{
    pid_t pid;

    (void)state;
    rec_start_settled("run.assay");
    work(1);
    pid = fork();
    if (pid == 0) {
        pid_t second;
        int status;

        work(2);
        second = fork();
        if (second == 0) {
            work(3);
            exit(0);
        }
        if (waitpid(second, &status, 0) != second || status != 0)
            _exit(1);
        work(4);
        exit(assay_session_close(NULL) == 0 ? 0 : 1);
    }
    rec_wait(pid);
    rec_stop();
    assert_int_equal(rec_files(false), 3);
    expect_run("run.assay", 1);
    expect_run(child_path(pid), 6);
}

static void a_child_that_ends_at_once_is_found_in_its_ring(void **state)
{
    struct rec r;
    pid_t pid;

    (void)state;
    rec_start_settled("run.assay");
    work(10);
    pid = fork();
    if (pid == 0) {
        work(5000);
        _exit(0);
    }
    rec_wait(pid);
    rec_stop();
    assert_int_equal(rec_files(false), 3); /* the child's ring stands */
    expect_run("run.assay", 10);
    r = rec_read(child_path(pid));
    assert_false(r.run->health.closed);
    assert_true(r.run->health.ring_events > 0);
    rec_expect_whole(&r);
    assert_int_equal(rec_calls(&r, "work"), 5000);
    assert_int_equal(rec_calls(&r, "inner"), 5000);
    rec_done(&r);
}

static void children_that_record_nothing_leave_nothing(void **state)
{
    pid_t pid;

    (void)state;
    rec_start_settled("run.assay");
    work(1);
    for (int i = 0; i < 20; i++) {
        pid = fork();
        if (pid == 0) {
            if (i % 4 == 0)
                execl("/bin/true", "true", (char *)NULL);
            if (i % 4 == 1)
                exit(0);
            if (i % 4 == 2)
                exit(assay_session_close(NULL) == 0 ? 0 : 1);
            _exit(0);
        }
        rec_wait(pid);
        pid = vfork();
        if (pid == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        rec_wait(pid);
    }
    work(1);
    rec_stop();
    assert_int_equal(rec_files(false), 1);
    expect_run("run.assay", 2);
}

static void a_child_may_be_told_to_stop(void **state)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    pid_t pid;

    (void)state;
    if (REC_TSAN) /* which does not follow threads made after a fork, and a session has one */
        skip();
    options.fork = ASSAY_FORK_STOP;
    rec_start("run.assay", &options);
    work(1);
    pid = fork();
    if (pid == 0) {
        bool open = assay_session_is_open();

        work(10);
        if (open || assay_session_open("own.assay", NULL, NULL) < 0)
            _exit(1);
        work(7);
        exit(0);
    }
    rec_wait(pid);
    rec_stop();
    assert_int_equal(rec_files(false), 2);
    expect_run("run.assay", 1);
    expect_run("own.assay", 7);
}

static void a_paused_child_stays_paused(void **state)
{
    pid_t pid;

    (void)state;
    rec_start_settled("run.assay");
    work(1);
    assay_session_pause();
    pid = fork();
    if (pid == 0) {
        work(10);
        assay_session_resume();
        work(3);
        exit(0);
    }
    rec_wait(pid);
    rec_stop();
    expect_run("run.assay", 1);
    expect_run(child_path(pid), 3);
}

/* ---- a bare clone: no handler of ours runs in it ---- */

static void a_bare_clone_records_nothing(void **state)
{
    (void)state;
    rec_start_settled("run.assay");
    work(10);
    for (int i = 0; i < 3; i++) {
        pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

        if (pid == 0) {
            work(1000);
            if (i == 1)
                exit(0); /* runs the destructors: the session is not this process's to close */
            if (i == 2) {
                assay_session_resume();
                work(1000);
                assay_session_close(NULL);
            }
            _exit(0);
        }
        rec_wait(pid);
        assert_true(assay_session_is_open());
        work(10);
    }
    rec_stop();
    assert_int_equal(rec_files(false), 1);
    expect_run("run.assay", 40);
}

/* ---- fork while others record ---- */

#define N_BUSY     3
#define N_CHILDREN (REC_TSAN ? 4 : 20) /* TSan: the recorder itself is slow then */

static _Atomic bool stop_busy;

static struct busy {
    _Atomic uint64_t n;
} done[N_BUSY];

static void *be_busy(void *user)
{
    struct busy *busy = user;

    while (!atomic_load(&stop_busy)) {
        work(50);
        atomic_fetch_add(&busy->n, 50);
    }
    return NULL;
}

static void a_fork_among_busy_threads_disturbs_nobody(void **state)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    pthread_t thread[N_BUSY];
    uint64_t calls = 0;
    pid_t pid[N_CHILDREN];

    (void)state;
    options.overflow = ASSAY_OVERFLOW_WAIT;
    options.ring_kib = 128;
    rec_start("run.assay", &options);
    for (int i = 0; i < N_BUSY; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, be_busy, &done[i]), 0);
    for (size_t i = 0; i < UNIT_COUNT(pid); i++) {
        uint64_t from = atomic_load(&done[0].n);

        while (atomic_load(&done[0].n) < from + 200)
            sched_yield();
        pid[i] = fork();
        if (pid[i] == 0) {
            work(3000);
            if (i % 2)
                _exit(0);
            exit(0);
        }
        rec_wait(pid[i]);
    }
    atomic_store(&stop_busy, true);
    for (int i = 0; i < N_BUSY; i++) {
        pthread_join(thread[i], NULL);
        calls += atomic_load(&done[i].n);
    }
    rec_stop();
    expect_run("run.assay", calls);
    for (size_t i = 0; i < UNIT_COUNT(pid); i++) {
        struct rec r = rec_read(child_path(pid[i]));

        rec_expect_whole(&r);
        assert_int_equal(rec_calls(&r, "work"), 3000);
        assert_int_equal(r.layers->n_threads, 1);
        rec_done(&r);
    }
}

static void *work_in_thread(void *unused)
{
    work(4000);
    return unused;
}

/* In a child whoever fills a chunk moves it; its threads do so side by side, and while another
 * closes. */
static void a_child_may_have_threads(void **state)
{
    pid_t pid;

    (void)state;
    if (REC_TSAN) /* which does not follow threads made after a fork */
        skip();
    rec_start_settled("run.assay");
    work(1);
    pid = fork();
    if (pid == 0) {
        pthread_t thread[8];

        for (size_t i = 0; i < UNIT_COUNT(thread); i++)
            pthread_create(&thread[i], NULL, work_in_thread, NULL);
        for (size_t i = 0; i < UNIT_COUNT(thread); i++)
            pthread_join(thread[i], NULL);
        exit(0);
    }
    rec_wait(pid);
    rec_stop();
    expect_run("run.assay", 1);
    expect_run(child_path(pid), 8 * 4000);
}

/* ---- a signal in the middle of a fork ---- */

static _Atomic int raise_in_fork;

static void mark_anew(int signal)
{
    static int n;
    char name[32];
    uint32_t id;

    (void)signal;
    snprintf(name, sizeof name, "in handler %d", n++);
    id = assay_layer(name); /* its first mention: takes the lock of the table */
    assay_begin(id);
    assay_end(id);
}

/* Registered before the recorder's own, so it runs after it: its locks are held now. */
static void during_fork(void)
{
    if (atomic_load(&raise_in_fork))
        raise(SIGUSR1);
}

static void a_handler_may_mark_in_the_middle_of_a_fork(void **state)
{
    struct sigaction action = {.sa_handler = mark_anew}, kept;
    struct rec r;
    pid_t pid;

    (void)state;
    sigaction(SIGUSR1, &action, &kept);
    rec_start_settled("run.assay");
    work(1);
    atomic_store(&raise_in_fork, 1);
    for (int i = 0; i < 10; i++) {
        pid = fork();
        if (pid == 0)
            _exit(0);
        rec_wait(pid);
    }
    atomic_store(&raise_in_fork, 0);
    rec_stop();
    sigaction(SIGUSR1, &kept, NULL);
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(rec_calls(&r, "in handler 0"), 1);
    assert_int_equal(rec_calls(&r, "in handler 9"), 1);
    rec_done(&r);
}

#define RECORDED(test) cmocka_unit_test_teardown(test, rec_clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDED(a_child_has_a_run_of_its_own),
        RECORDED(a_child_of_a_child_too),
        RECORDED(a_child_that_ends_at_once_is_found_in_its_ring),
        RECORDED(children_that_record_nothing_leave_nothing),
        RECORDED(a_child_may_be_told_to_stop),
        RECORDED(a_paused_child_stays_paused),
        RECORDED(a_bare_clone_records_nothing),
        RECORDED(a_fork_among_busy_threads_disturbs_nobody),
        RECORDED(a_child_may_have_threads),
        RECORDED(a_handler_may_mark_in_the_middle_of_a_fork),
    };

    pthread_atfork(during_fork, NULL, NULL);
    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
