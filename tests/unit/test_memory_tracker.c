/* tests/unit/test_memory_tracker.c - readings over time: the documented figures, thinning, the
 * thread that samples and every order of starting, stopping and freeing it. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "probe/process/memory_probe.h"
#include "probe/process/memory_sampler.h"

static struct assay_memory_tracker *new_tracker(const char *label, size_t most)
{
    const struct assay_memory_tracker_options options = {
        .size = sizeof options, .label = label, .max_snapshots = most};
    struct assay_memory_tracker *tracker;

    (void)assay_memory_tracker_new(&tracker, &options, NULL);
    return tracker;
}

#define UNKNOWN ASSAY_UNKNOWN

static struct assay_memory_snapshot made(uint64_t rss, uint64_t kv, uint64_t activation,
                                         uint64_t at_us)
{
    struct assay_memory_snapshot s;

    as_memory_snapshot_clear(&s);
    s.rss_bytes = rss;
    s.kv_cache_bytes = kv;
    s.activation_bytes = activation;
    s.timestamp_us = at_us;
    return s;
}

static void add(struct assay_memory_tracker *t, struct assay_memory_snapshot s)
{
    assert_int_equal(assay_memory_tracker_add(t, &s, NULL), ASSAY_OK);
}

static struct assay_memory_report report_of(struct assay_memory_tracker *t)
{
    struct assay_memory_report r;

    assert_int_equal(assay_memory_tracker_report(t, &r, NULL), ASSAY_OK);
    return r;
}

static void the_documented_example(void **state)
{
    struct assay_memory_tracker *t = new_tracker("bench", 0);
    struct assay_memory_report r;

    (void)state;
    assert_non_null(t);
    add(t, made(100, 10, 20, 1));
    add(t, made(200, 30, 40, 2));
    r = report_of(t);
    assert_string_equal(r.label, "bench");
    assert_int_equal(r.peak_rss_bytes, 200);
    assert_int_equal(r.mean_rss_bytes, 150);
    assert_int_equal(r.kv_cache_total_bytes, 40);
    assert_int_equal(r.activation_total_bytes, 60);
    assert_true(r.temp_buffer_total_bytes == UNKNOWN && r.temp_buffer.n == 0);
    assert_true(isnan(r.temp_buffer.mean_bytes));
    assert_int_equal(r.n_snapshots, 2);
    assert_int_equal(r.rss.last_bytes, 200);
    assert_true(r.peak_rss_kernel_bytes == UNKNOWN); /* recorded data that did not tell it */
    assert_true(r.sampler_cpu_ns == UNKNOWN);
    assert_int_equal(assay_memory_tracker_peak(t), 200);
    assay_memory_tracker_free(t);
}

static void nothing_is_unknown(void **state)
{
    struct assay_memory_tracker *t = new_tracker(NULL, 0);
    struct assay_memory_report r;

    (void)state;
    assert_non_null(t);
    r = report_of(t);
    assert_string_equal(r.label, "");
    assert_true(r.peak_rss_bytes == UNKNOWN && r.mean_rss_bytes == UNKNOWN &&
                r.kv_cache_total_bytes == UNKNOWN);
    assert_true(r.rss.p95_bytes == UNKNOWN && isnan(r.rss.time_weighted_mean_bytes));
    assert_true(assay_memory_tracker_peak(t) == UNKNOWN);
    assert_int_equal(assay_memory_tracker_snapshots(t, NULL, 0), 0);
    assay_memory_tracker_free(t);
    assay_memory_tracker_free(NULL);
    assert_true(assay_memory_tracker_peak(NULL) == UNKNOWN);
    assert_int_equal(assay_memory_tracker_snapshot(NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_memory_tracker_add(NULL, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_memory_tracker_report(NULL, &r, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_memory_tracker_start(NULL, 1000, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_memory_tracker_stop(NULL, NULL), ASSAY_ERR_USAGE);
}

static void time_weighs_what_lasts(void **state)
{
    struct assay_memory_tracker *t = new_tracker("", 0);
    struct assay_memory_report r;

    (void)state;
    add(t, made(100, UNKNOWN, 0, 1000));
    add(t, made(100, 50, UNKNOWN, 10000)); /* 9 ms at 100 */
    add(t, made(300, 70, UNKNOWN, 11000)); /* 1 ms from 100 to 300 */
    add(t, made(300, 90, 0, 10500));       /* backwards: no time passed */
    r = report_of(t);
    assert_true(fabs(r.rss.time_weighted_mean_bytes - (9 * 100 + 1 * 200) / 10.0) < 1e-9);
    assert_true(fabs(r.rss.mean_bytes - 200) < 1e-9);
    assert_true(fabs(r.kv_cache.time_weighted_mean_bytes - 60) < 1e-9);
    assert_int_equal(r.activation.n, 2);
    assert_int_equal(r.activation.max_bytes, 0); /* known to be none */
    assert_int_equal(r.kv_cache.n, 3);
    assay_memory_tracker_free(t);
}

static void thinning_keeps_old_and_new_alike(void **state)
{
    enum { MANY = 1000, MOST = 16 };
    struct assay_memory_tracker *t = new_tracker("", MOST);
    struct assay_memory_snapshot kept[MOST];
    struct assay_memory_report r;
    size_t n;

    (void)state;
    for (uint64_t i = 0; i < MANY; i++)
        add(t, made(i, UNKNOWN, UNKNOWN, i + 1));
    r = report_of(t);
    n = assay_memory_tracker_snapshots(t, kept, MOST);
    assert_int_equal(n, r.n_kept);
    assert_in_range(n, MOST / 2, MOST);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(kept[i].rss_bytes, i * 64); /* 1000 / 64 is 15.6 */
    assert_int_equal(r.n_snapshots, MANY);           /* all are counted */
    assert_int_equal(r.rss.min_bytes, 0);
    assert_int_equal(r.rss.max_bytes, MANY - 1);
    assert_int_equal(r.mean_rss_bytes, 499);
    assert_true(fabs((double)r.rss.p95_bytes - 949) <= 949 * 0.004 + 1);
    assert_int_equal(assay_memory_tracker_snapshots(t, kept, 1), n);
    assay_memory_tracker_free(t);
}

static void capacity_for_one_keeps_the_first(void **state)
{
    struct assay_memory_tracker *t = new_tracker("", 1);
    struct assay_memory_snapshot kept[2];

    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        add(t, made(i + 7, UNKNOWN, UNKNOWN, 0));
    assert_int_equal(assay_memory_tracker_snapshots(t, kept, 2), 1);
    assert_int_equal(kept[0].rss_bytes, 7);
    assert_int_equal(report_of(t).n_snapshots, 100);
    assay_memory_tracker_free(t);
}

static void sums_that_do_not_fit_are_unknown(void **state)
{
    struct assay_memory_tracker *t = new_tracker("", 0);

    (void)state;
    add(t, made(UINT64_MAX - 1, UINT64_MAX - 1, 1, 1));
    add(t, made(UINT64_MAX - 1, UINT64_MAX - 1, 1, 2));
    assert_true(report_of(t).kv_cache_total_bytes == UNKNOWN);
    assert_int_equal(report_of(t).activation_total_bytes, 2);
    assert_true(report_of(t).mean_rss_bytes >= UINT64_MAX - 4096);
    assay_memory_tracker_free(t);
}

/* ---- the thread ---- */

static void wait_for(struct assay_memory_tracker *t, uint64_t n)
{
    while (report_of(t).n_snapshots + report_of(t).failed < n)
        sched_yield();
}

static void the_sampler_samples_until_it_is_stopped(void **state)
{
    struct assay_memory_tracker *t = new_tracker("", 0);
    struct assay_memory_report r;
    uint64_t n;

    (void)state;
    assert_int_equal(assay_memory_tracker_stop(t, NULL), ASSAY_ERR_STATE);
    assert_int_equal(assay_memory_tracker_start(t, 999, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_memory_tracker_start(t, 60000001, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_memory_tracker_start(t, 1000, NULL), ASSAY_OK);
    assert_int_equal(assay_memory_tracker_start(t, 1000, NULL), ASSAY_ERR_STATE);
    wait_for(t, 5);
    (void)assay_memory_tracker_snapshot(t, NULL); /* beside it */
    assert_int_equal(assay_memory_tracker_stop(t, NULL), ASSAY_OK);
    n = report_of(t).n_snapshots;
    r = report_of(t);
    assert_int_equal(r.n_snapshots, n);
    assert_true(r.sampler_wall_ns >= 3000000);
    assert_true(r.sampler_cpu_ns > 0 && r.sampler_cpu_ns <= r.sampler_wall_ns);
    if (r.failed == 0)
        assert_true(r.peak_rss_kernel_bytes >= r.peak_rss_bytes);
    assert_int_equal(assay_memory_tracker_start(t, 1000, NULL), ASSAY_OK); /* once more */
    wait_for(t, n + 2);
    assay_memory_tracker_free(t); /* while it runs */
}

static void stopping_does_not_wait_for_the_next_reading(void **state)
{
    struct assay_memory_tracker *t = new_tracker("", 0);

    (void)state;
    assert_int_equal(assay_memory_tracker_start(t, 60000000, NULL), ASSAY_OK);
    wait_for(t, 1); /* the first is taken at once */
    assert_int_equal(assay_memory_tracker_stop(t, NULL), ASSAY_OK);
    assert_int_equal(assay_memory_tracker_start(t, 60000000, NULL), ASSAY_OK);
    assay_memory_tracker_free(t);
}

/* The child has the tracker but not its thread. */
static void a_child_is_not_stuck(void **state)
{
    struct assay_memory_tracker *t = new_tracker("", 0);
    int status = -1;
    pid_t child;

    (void)state;
    assert_int_equal(assay_memory_tracker_start(t, 1000, NULL), ASSAY_OK);
    wait_for(t, 3);
    child = fork();
    if (child == 0) {
        struct assay_memory_report r;
        int bad = assay_memory_tracker_report(t, &r, NULL) != ASSAY_OK || r.n_snapshots < 3;

        bad |= assay_memory_tracker_stop(t, NULL) != ASSAY_ERR_STATE;
        (void)assay_memory_tracker_snapshot(t, NULL);
        assay_memory_tracker_free(t);
        _exit(bad);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(assay_memory_tracker_stop(t, NULL), ASSAY_OK);
    assay_memory_tracker_free(t);
}

static void want_of_memory_is_told_and_counted(void **state)
{
    struct assay_memory_snapshot s = made(5, UNKNOWN, UNKNOWN, 1);
    struct assay_memory_tracker *t;
    int rc;

    (void)state;
    for (uint64_t nth = 1; nth <= 3; nth++) {
        as_alloc_fail_at(nth, 1);
        t = new_tracker("x", 0);
        as_alloc_fail_at(0, 0);
#ifdef ASSAY_FAULTS
        assert_null(t);
#endif
        assay_memory_tracker_free(t);
    }
    t = new_tracker("x", 0);
    as_alloc_fail_at(1, 1);
    rc = assay_memory_tracker_add(t, &s, NULL);
    as_alloc_fail_at(0, 0);
#ifdef ASSAY_FAULTS
    assert_int_equal(rc, ASSAY_ERR_NOMEM);
#else
    assert_int_equal(rc, ASSAY_OK);
#endif
    assert_int_equal(report_of(t).n_snapshots, 1);
    assert_int_equal(report_of(t).peak_rss_bytes, 5);
    assay_memory_tracker_free(t);
}

/* ---- the greatest since a moment ---- */

static void the_greatest_since_any_moment(void **state)
{
    enum { MANY = 3000 };
    static uint64_t all[MANY];
    struct as_rss_peaks peaks;
    uint64_t seed = 1, bytes = 0;

    (void)state;
    assert_true(as_rss_peaks_init(&peaks));
    assert_int_equal(as_rss_peaks_since(&peaks, 0, &bytes), 0);
    for (int i = 0; i < MANY; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        all[i] = seed >> 50;
        as_rss_peaks_add(&peaks, all[i]);
    }
    for (int from = 0; from < MANY; from += 7) {
        uint64_t most = 0;

        for (int i = from; i < MANY; i++)
            most = all[i] > most ? all[i] : most;
        assert_int_equal(as_rss_peaks_since(&peaks, (uint64_t)from, &bytes), MANY - from);
        assert_int_equal(bytes, most);
    }
    assert_int_equal(as_rss_peaks_since(&peaks, as_rss_peaks_mark(&peaks), &bytes), 0);
    for (uint64_t i = 0; i < 5000; i++) /* a fall longer than the room */
        as_rss_peaks_add(&peaks, 1000000 - i);
    assert_int_equal(as_rss_peaks_since(&peaks, 0, &bytes), MANY + 5000);
    assert_int_equal(bytes, 1000000);
    assert_int_equal(as_rss_peaks_since(&peaks, MANY + 4000, &bytes), 1000);
    assert_in_range(bytes, 1000000 - 4000 - 64, 1000000 - 4000);
    as_rss_peaks_fini(&peaks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documented_example),
        cmocka_unit_test(nothing_is_unknown),
        cmocka_unit_test(time_weighs_what_lasts),
        cmocka_unit_test(thinning_keeps_old_and_new_alike),
        cmocka_unit_test(capacity_for_one_keeps_the_first),
        cmocka_unit_test(sums_that_do_not_fit_are_unknown),
        cmocka_unit_test(the_sampler_samples_until_it_is_stopped),
        cmocka_unit_test(stopping_does_not_wait_for_the_next_reading),
        cmocka_unit_test(a_child_is_not_stuck),
        cmocka_unit_test(want_of_memory_is_told_and_counted),
        cmocka_unit_test(the_greatest_since_any_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
