/* tests/unit/test_recorder_full.c - a run that cannot be written any more: the ring keeps what it
 * has, and whatever is lost is counted, by the session and by the run alike. A limit on the size of
 * files stands for a disk that is full. */
#include "recorder_kit.h"

#include <pthread.h>
#include <sys/resource.h>

#include "report/run/run_health.h"

#define LIMIT_BYTES ((rlim_t)700000) /* the ring of one thread is smaller, the run soon larger */
#define CALLS       400000           /* more than file and ring hold together */

static struct rlimit before;

static void limit_files(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = LIMIT_BYTES;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void *work(void *calls)
{
    for (int i = 0; i < *(const int *)calls; i++) {
        ASSAY_SCOPE("work");
    }
    return NULL;
}

static void work_in_thread(int calls)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, work, &calls), 0);
    pthread_join(thread, NULL);
}

static void expect_sentence(const struct as_layers *layers)
{
    struct as_health_finding finding[AS_MAX_FINDINGS];
    size_t n = as_health_findings(layers, finding);
    bool found = false;

    for (size_t i = 0; i < n; i++)
        found |= strstr(finding[i].text, "could not be written to its end (File too large)") &&
                 strstr(finding[i].text, "recovered from its ring");
    assert_true(found);
}

/* Every event is in the run, or in its ring, or counted. */
static void expect_all_counted(uint64_t calls, uint64_t lost)
{
    struct rec r = rec_read("run.assay");
    const struct as_run_health *h = &r.run->health;

    assert_false(h->closed);
    assert_true(h->ring_found);
    assert_true(h->ring_events > 0);
    assert_true(lost > 0);
    assert_int_equal(as_run_health_lost(h), lost);
    assert_int_equal(r.layers->lost_events, lost);
    assert_int_equal(rec_marks(r.run) + lost, 2 * calls);
    expect_sentence(r.layers);
    rec_done(&r);
}

static void record(enum assay_overflow overflow)
{
    struct assay_session_options options = {.size = sizeof options, .overflow = overflow};
    int calls = CALLS;
    struct assay_error err;
    uint64_t lost;

    rec_start("run.assay", &options);
    limit_files();
    work(&calls);
    for (int i = 0; i < 20; i++) /* each takes a ring of its own, and leaves it */
        work_in_thread(1000);
    assert_int_equal(assay_session_close(&err), ASSAY_ERR_IO);
    lost = assay_session_lost();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(access("run.assay.ring", F_OK), 0);
    expect_all_counted(CALLS + 20 * 1000, lost);
}

static void a_full_disk_leaves_the_ring_and_a_true_account(void **state)
{
    (void)state;
    record(ASSAY_OVERFLOW_DROP);
}

static void nobody_waits_for_a_disk_that_is_full(void **state)
{
    (void)state;
    record(ASSAY_OVERFLOW_WAIT);
}

static void a_child_too(void **state)
{
    int calls = CALLS, status;
    char path[64];
    struct rec r;
    pid_t pid;

    (void)state;
    rec_start_settled("run.assay");
    limit_files();
    pid = fork();
    if (pid == 0) {
        work(&calls);
        exit(assay_session_close(NULL) == ASSAY_ERR_IO && assay_session_lost() > 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, 0);
    rec_stop();
    snprintf(path, sizeof path, "run.%d.assay", (int)pid);
    r = rec_read(path);
    assert_true(r.run->health.ring_events > 0);
    assert_int_equal(rec_marks(r.run) + as_run_health_lost(&r.run->health), 2 * CALLS);
    rec_done(&r);
}

/* With the ring gone too there is nothing left to read, and everything is counted. */
static void a_run_without_its_ring_counts_what_is_gone(void **state)
{
    int calls = CALLS;
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    limit_files();
    unlink("run.assay.ring");
    work(&calls);
    assert_int_equal(assay_session_close(NULL), ASSAY_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(access("run.assay.ring", F_OK), -1);
    r = rec_read("run.assay");
    /* A gap is told by two events, which are lost as well. */
    assert_in_range(rec_marks(r.run) + assay_session_lost(), 2 * CALLS, 2 * CALLS + 64);
    rec_done(&r);
}

/* The next recording keeps both. */
static void the_next_run_puts_both_aside(void **state)
{
    int calls = CALLS;

    (void)state;
    rec_start("run.assay", NULL);
    limit_files();
    work(&calls);
    assert_int_equal(assay_session_close(NULL), ASSAY_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    rec_start("run.assay", NULL);
    rec_stop();
    assert_int_equal(access("run.assay.old", F_OK), 0);
    assert_int_equal(access("run.assay.old.ring", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_full_disk_leaves_the_ring_and_a_true_account, rec_clean),
        cmocka_unit_test_teardown(nobody_waits_for_a_disk_that_is_full, rec_clean),
        cmocka_unit_test_teardown(a_child_too, rec_clean),
        cmocka_unit_test_teardown(a_run_without_its_ring_counts_what_is_gone, rec_clean),
        cmocka_unit_test_teardown(the_next_run_puts_both_aside, rec_clean),
    };

    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
