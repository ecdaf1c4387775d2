/* tests/unit/test_power.c - power and energy: the documented figures, sources that fail, counters,
 * and the thread that samples. */
#include "unit.h"

#include <assay/power.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

static struct assay_power_tracker *new_tracker(const char *label, size_t most)
{
    const struct assay_power_tracker_options options = {
        .size = sizeof options, .label = label, .max_samples = most};
    struct assay_power_tracker *tracker;

    (void)assay_power_tracker_new(&tracker, &options, NULL);
    return tracker;
}

static struct assay_energy_result estimate(const struct assay_power_sample *samples, size_t n)
{
    struct assay_energy_result r;

    assert_int_equal(assay_energy_estimate(samples, n, &r, NULL), ASSAY_OK);
    return r;
}

static void near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-12 * fabs(b));
}

static void the_documented_examples(void **state)
{
    const struct assay_power_sample flat[] = {{100, 5000000}, {100, 6000000}};
    const struct assay_power_sample ramp[] = {{0, 0}, {200, 1000000}};
    struct assay_energy_result r = estimate(flat, 2);

    (void)state;
    near(r.total_joules, 100);
    near(r.mean_watts, 100);
    near(r.peak_watts, 100);
    near(r.duration_seconds, 1);
    assert_int_equal(r.samples, 2);
    assert_true(r.available && !r.why && r.method == ASSAY_ENERGY_TRAPEZOID);
    r = estimate(ramp, 2);
    near(r.total_joules, 100);
    near(r.peak_watts, 200);
}

static void none_and_one_are_zeros_that_say_so(void **state)
{
    const struct assay_power_sample one = {42, 7};
    struct assay_energy_result r = estimate(NULL, 0);

    (void)state;
    assert_true(r.total_joules == 0 && r.mean_watts == 0 && r.peak_watts == 0 &&
                r.duration_seconds == 0);
    assert_int_equal(r.samples, 0);
    assert_false(r.available);
    assert_non_null(r.why);
    r = estimate(&one, 1);
    assert_true(r.total_joules == 0 && r.mean_watts == 42 && r.peak_watts == 42);
    assert_true(r.duration_seconds == 0 && isnan(r.time_weighted_watts));
    assert_int_equal(r.samples, 1);
    assert_false(r.available);
    assert_non_null(r.why);
}

static void time_weighs_what_lasts(void **state)
{
    const struct assay_power_sample s[] = {{10, 0}, {10, 9000000}, {30, 10000000}};
    struct assay_energy_result r = estimate(s, 3);

    (void)state;
    near(r.total_joules, 110);
    near(r.mean_watts, 50.0 / 3);
    near(r.time_weighted_watts, 11);
}

static void what_cannot_be_is_an_error(void **state)
{
    struct assay_power_sample s[] = {{10, 2000000}, {10, 1000000}, {10, 3000000}};
    struct assay_energy_result r;
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_energy_estimate(s, 3, &r, &err), ASSAY_ERR_FORMAT);
    assert_non_null(strstr(err.msg, "sample 2"));
    assert_int_equal(assay_energy_estimate_saturating(s, 3, &r, &err), ASSAY_OK);
    near(r.total_joules, 20); /* the step back counts as nothing */
    s[1].timestamp_us = 2500000;
    s[1].watts = UNIT_NAN;
    assert_int_equal(assay_energy_estimate(s, 3, &r, &err), ASSAY_ERR_FORMAT);
    s[1].watts = UNIT_INFINITY;
    assert_int_equal(assay_energy_estimate_saturating(s, 3, &r, &err), ASSAY_ERR_FORMAT);
    s[1].watts = -1;
    assert_int_equal(assay_energy_estimate(s, 3, &r, NULL), ASSAY_ERR_FORMAT);
    assert_int_equal(assay_energy_estimate(NULL, 3, &r, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_energy_estimate(s, 3, NULL, NULL), ASSAY_ERR_USAGE);
}

static void idle_power_is_taken_away_once_per_second(void **state)
{
    const struct assay_power_sample s[] = {{100, 0}, {60, 2000000}};
    struct assay_energy_result r = estimate(s, 2);

    (void)state;
    assert_int_equal(assay_energy_less_idle(&r, 30, NULL), ASSAY_OK);
    near(r.total_joules, 100);
    near(r.idle_joules, 60);
    near(r.mean_watts, 50);
    near(r.peak_watts, 70);
    near(r.time_weighted_watts, 50);
    assert_int_equal(assay_energy_less_idle(&r, -1, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_energy_less_idle(&r, UNIT_NAN, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_energy_less_idle(NULL, 1, NULL), ASSAY_ERR_USAGE);
    r = estimate(NULL, 0);
    assert_int_equal(assay_energy_less_idle(&r, 1, NULL), ASSAY_ERR_STATE);
}

static void energy_is_shared_out_or_unknown(void **state)
{
    const struct assay_power_sample s[] = {{100, 0}, {100, 2000000}};
    struct assay_energy_result r = estimate(s, 2);
    double joules = 0;

    (void)state;
    assert_int_equal(assay_energy_each(&r, 8, &joules, NULL), ASSAY_OK);
    near(joules, 25);
    assert_int_equal(assay_energy_share(&r, 0.5, &joules, NULL), ASSAY_OK);
    near(joules, 50);
    assert_int_equal(assay_energy_share(&r, 2.5, &joules, NULL), ASSAY_ERR_USAGE);
    assert_true(isnan(joules));
    assert_int_equal(assay_energy_share(&r, UNIT_NAN, &joules, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_energy_share(&r, -1, &joules, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_energy_each(&r, 0, &joules, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_energy_each(NULL, 1, &joules, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_energy_each(&r, 1, NULL, NULL), ASSAY_ERR_USAGE);
    r = estimate(s, 1);
    joules = 0;
    assert_int_equal(assay_energy_each(&r, 1, &joules, NULL), ASSAY_ERR_STATE);
    assert_true(isnan(joules));
    joules = 0;
    assert_int_equal(assay_energy_share(&r, 0, &joules, NULL), ASSAY_ERR_STATE);
    assert_true(isnan(joules));
}

static void sources_are_named(void **state)
{
    static const char *const wrong[] = {"constant",       "constant:",     "constant:W",
                                        "constant:75kW",  "constant:-1",   "constant:nan",
                                        "constant:1e999", "none:",         "",
                                        "wall socket:1",  "constant:75 W", "constantly:1"};
    struct assay_power_source source;
    struct assay_error err;
    double watts = 0;

    (void)state;
    assert_int_equal(assay_power_source_open("constant:75W", &source, NULL), ASSAY_OK);
    assert_int_equal(source.read_watts(source.user, &watts, NULL), ASSAY_OK);
    assert_true(watts == 75 && !source.read_joules);
    assay_power_source_close(&source);
    assay_power_source_close(&source);
    assay_power_source_close(NULL);
    assert_int_equal(assay_power_source_open("constant:0.25", &source, NULL), ASSAY_OK);
    assert_int_equal(source.read_watts(source.user, &watts, NULL), ASSAY_OK);
    assert_true(watts == 0.25);
    assay_power_source_close(&source);
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
        assert_int_equal(assay_power_source_open(wrong[i], &source, &err), ASSAY_ERR_USAGE);
        assert_true(err.msg[0] && !source.read_watts);
    }
    assert_int_equal(assay_power_source_open("sun", &source, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "'sun'"));
    assert_non_null(strstr(err.msg, "constant:75W"));
    assert_non_null(strstr(err.msg, "none"));
    assert_int_equal(assay_power_source_open(NULL, &source, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_source_open("none", NULL, NULL), ASSAY_ERR_USAGE);
}

/* A device that says what it is told to say. */
struct device {
    double watts, joules, step;
    bool watts_fail, joules_fail;
    atomic_int reads;
};

static int device_watts(void *user, double *watts, struct assay_error *err)
{
    struct device *d = user;

    atomic_fetch_add(&d->reads, 1);
    if (d->watts_fail)
        return as_fail(err, ASSAY_ERR_IO, "the cable is out");
    *watts = d->watts;
    return ASSAY_OK;
}

static int device_joules(void *user, double *joules, struct assay_error *err)
{
    struct device *d = user;

    atomic_fetch_add(&d->reads, 1);
    if (d->joules_fail)
        return as_fail(err, ASSAY_ERR_IO, "the counter is stuck");
    d->joules += d->step;
    *joules = d->joules;
    return ASSAY_OK;
}

static struct assay_energy_result energy_of(struct assay_power_tracker *t)
{
    struct assay_energy_result r;

    assert_int_equal(assay_power_tracker_energy(t, &r, NULL), ASSAY_OK);
    return r;
}

/* Readings are at least a microsecond apart, so that time passes between them. */
static void read_once(struct assay_power_tracker *t, const struct assay_power_source *source,
                      int expected)
{
    struct assay_power_sample last = {0}, all[64];
    size_t n = assay_power_tracker_samples(t, all, UNIT_COUNT(all));

    if (n > 0)
        last = all[n - 1];
    do {
        assert_int_equal(assay_power_tracker_sample(t, source, NULL), expected);
        n = assay_power_tracker_samples(t, all, UNIT_COUNT(all));
    } while (expected == ASSAY_OK && n < 32 && all[n - 1].timestamp_us <= last.timestamp_us);
}

static void a_constant_source_gives_its_watts(void **state)
{
    struct assay_power_tracker *t = new_tracker("run", 0);
    struct assay_power_source source;
    struct assay_energy_result r;

    (void)state;
    assert_int_equal(assay_power_source_constant(75, &source, NULL), ASSAY_OK);
    assert_string_equal(assay_power_tracker_label(t), "run");
    read_once(t, &source, ASSAY_OK);
    read_once(t, &source, ASSAY_OK);
    r = energy_of(t);
    assert_true(r.available && r.method == ASSAY_ENERGY_TRAPEZOID);
    near(r.total_joules, 75 * r.duration_seconds);
    near(r.time_weighted_watts, 75);
    near(r.mean_watts, 75);
    assay_power_tracker_free(t);
    assay_power_source_close(&source);
    assert_int_equal(assay_power_source_constant(-1, &source, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_source_constant(UNIT_INFINITY, &source, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_source_constant(1, NULL, NULL), ASSAY_ERR_USAGE);
}

static void a_failing_source_makes_energy_unknown_not_zero(void **state)
{
    struct assay_power_tracker *t = new_tracker("", 0);
    struct device d = {.watts = 10};
    const struct assay_power_source source = {
        .size = sizeof source, .name = "device", .read_watts = device_watts, .user = &d};
    struct assay_energy_result r;

    (void)state;
    read_once(t, &source, ASSAY_OK);
    d.watts_fail = true;
    read_once(t, &source, ASSAY_ERR_IO);
    d.watts_fail = false;
    read_once(t, &source, ASSAY_OK);
    r = energy_of(t);
    assert_false(r.available);
    assert_true(isnan(r.total_joules) && isnan(r.time_weighted_watts));
    assert_string_equal(r.why, "the cable is out");
    assert_true(r.peak_watts == 10);
    assert_int_equal(assay_power_tracker_failed(t), 1);
    assay_power_tracker_free(t);

    t = new_tracker("", 0);
    d.watts = UNIT_NAN;
    read_once(t, &source, ASSAY_ERR_FORMAT);
    r = energy_of(t);
    assert_true(!r.available && isnan(r.total_joules) && isnan(r.mean_watts) && r.samples == 0);
    assert_non_null(strstr(r.why, "device"));
    assay_power_tracker_free(t);
}

static void no_source_is_unavailable_with_a_reason(void **state)
{
    struct assay_power_tracker *t = new_tracker("", 0);
    struct assay_power_source source;
    struct assay_energy_result r;

    (void)state;
    assert_int_equal(assay_power_source_open("none", &source, NULL), ASSAY_OK);
    read_once(t, &source, ASSAY_ERR_UNSUPPORTED);
    r = energy_of(t);
    assert_true(!r.available && isnan(r.total_joules));
    assert_non_null(strstr(r.why, "none"));
    assay_power_tracker_free(t);
    assay_power_source_close(&source);
}

static void a_counter_is_believed_before_watts(void **state)
{
    struct assay_power_tracker *t = new_tracker("", 0);
    struct device d = {.watts = 10, .joules = 1000, .step = 5};
    const struct assay_power_source source = {.size = sizeof source,
                                              .read_watts = device_watts,
                                              .read_joules = device_joules,
                                              .user = &d};
    struct assay_energy_result r;
    double first;

    (void)state;
    read_once(t, &source, ASSAY_OK);
    first = d.joules;
    read_once(t, &source, ASSAY_OK);
    d.watts_fail = d.joules_fail = true;
    read_once(t, &source, ASSAY_ERR_IO);
    assert_false(energy_of(t).available); /* its end is not known */
    d.watts_fail = d.joules_fail = false;
    read_once(t, &source, ASSAY_OK);
    r = energy_of(t);
    assert_true(r.available && r.method == ASSAY_ENERGY_COUNTER); /* the gap is bridged */
    near(r.total_joules, d.joules - first);
    near(r.time_weighted_watts, r.total_joules / r.duration_seconds);
    near(r.mean_watts, 10);
    d.step = -1;
    read_once(t, &source, ASSAY_OK);
    assert_false(energy_of(t).available); /* backwards, and the watts have a gap */
    assay_power_tracker_free(t);
}

static void a_counter_alone_gives_watts_between_readings(void **state)
{
    struct assay_power_tracker *t = new_tracker("", 0);
    struct device d = {.joules = 7, .step = 2};
    const struct assay_power_source source = {
        .size = sizeof source, .read_joules = device_joules, .user = &d};
    struct assay_power_sample s[64];
    struct assay_energy_result r;

    (void)state;
    read_once(t, &source, ASSAY_OK);
    r = energy_of(t);
    assert_true(!r.available && isnan(r.mean_watts));
    read_once(t, &source, ASSAY_OK);
    r = energy_of(t);
    assert_true(r.available && r.method == ASSAY_ENERGY_COUNTER);
    near(r.total_joules, d.joules - 9);
    assert_true(assay_power_tracker_samples(t, s, 64) >= 2);
    assert_true(isnan(s[0].watts) && r.peak_watts > 0);
    d.step = -1;
    read_once(t, &source, ASSAY_OK);
    r = energy_of(t);
    assert_true(!r.available && isnan(r.total_joules));
    assert_non_null(strstr(r.why, "backwards"));
    assay_power_tracker_free(t);
}

static void another_counter_is_not_mixed_in(void **state)
{
    struct assay_power_tracker *t = new_tracker("", 0);
    struct device a = {.watts = 1, .joules = 100}, b = {.watts = 3, .joules = 900};
    struct assay_power_source source = {.size = sizeof source,
                                        .read_watts = device_watts,
                                        .read_joules = device_joules,
                                        .user = &a};
    struct assay_energy_result r;

    (void)state;
    read_once(t, &source, ASSAY_OK);
    source.user = &b;
    read_once(t, &source, ASSAY_OK);
    r = energy_of(t);
    assert_true(r.available && r.method == ASSAY_ENERGY_TRAPEZOID); /* the watts are still good */
    assert_true(r.total_joules < 1);
    assay_power_tracker_free(t);
}

static void thinning_loses_no_energy(void **state)
{
    enum { MANY = 1000, MOST = 16 };
    struct assay_power_tracker *t = new_tracker("", MOST);
    struct assay_power_sample kept[MOST], s;
    struct assay_energy_result r;
    size_t n;

    (void)state;
    for (uint64_t i = 0; i < MANY; i++) {
        s = (struct assay_power_sample){(double)(i % 2), i * 1000000};
        assert_int_equal(assay_power_tracker_add(t, &s, NULL), ASSAY_OK);
    }
    n = assay_power_tracker_samples(t, kept, MOST);
    assert_in_range(n, MOST / 2, MOST);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(kept[i].timestamp_us, i * 64 * 1000000);
    r = energy_of(t);
    assert_int_equal(r.samples, MANY);
    near(r.total_joules, 999 * 0.5);
    near(r.mean_watts, 0.5);
    s.timestamp_us = 5;
    assert_int_equal(assay_power_tracker_add(t, &s, NULL), ASSAY_ERR_FORMAT);
    s = (struct assay_power_sample){-1, MANY * 1000000ull};
    assert_int_equal(assay_power_tracker_add(t, &s, NULL), ASSAY_ERR_FORMAT);
    assert_int_equal(energy_of(t).samples, MANY); /* neither was taken */
    assay_power_tracker_free(t);
}

static void a_million_samples_lose_no_digits(void **state)
{
    struct assay_power_tracker *t = new_tracker("", 1);
    struct assay_power_sample s = {0.1, 0};

    (void)state;
    for (uint64_t i = 0; i <= 1000000; i++) {
        s.timestamp_us = i * 1000000;
        assert_int_equal(assay_power_tracker_add(t, &s, NULL), ASSAY_OK);
    }
    assert_true(fabs(energy_of(t).total_joules - 100000) < 1e-10);
    assay_power_tracker_free(t);
}

static void the_thread_samples_and_stops(void **state)
{
    struct assay_power_tracker *t = new_tracker("", 0);
    struct device d = {.watts = 20};
    const struct assay_power_source source = {
        .size = sizeof source, .read_watts = device_watts, .user = &d};
    struct assay_energy_result r;
    int reads;

    (void)state;
    assert_int_equal(assay_power_tracker_start(t, &source, 10, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_tracker_stop(t, NULL), ASSAY_ERR_STATE);
    for (int round = 0; round < 3; round++) {
        reads = atomic_load(&d.reads);
        assert_int_equal(assay_power_tracker_start(t, &source, 1000, NULL), ASSAY_OK);
        assert_int_equal(assay_power_tracker_start(t, &source, 1000, NULL), ASSAY_ERR_STATE);
        while (atomic_load(&d.reads) < reads + 3) {
            (void)energy_of(t); /* while it runs */
            assert_int_equal(assay_power_tracker_sample(t, &source, NULL), ASSAY_OK);
            sched_yield();
        }
        assert_int_equal(assay_power_tracker_stop(t, NULL), ASSAY_OK);
    }
    reads = atomic_load(&d.reads);
    r = energy_of(t);
    assert_int_equal(r.samples, reads); /* the last one too */
    assert_true(r.available);
    near(r.time_weighted_watts, 20);
    assert_int_equal(atomic_load(&d.reads), reads);
    assert_int_equal(assay_power_tracker_start(t, &source, 60000000, NULL), ASSAY_OK);
    assay_power_tracker_free(t); /* while it runs */
}

static void a_forked_child_has_no_thread(void **state)
{
    struct assay_power_tracker *t = new_tracker("", 0);
    struct device d = {.watts = 20};
    const struct assay_power_source source = {
        .size = sizeof source, .read_watts = device_watts, .user = &d};
    int status = -1;
    pid_t child;

    (void)state;
    assert_int_equal(assay_power_tracker_start(t, &source, 1000, NULL), ASSAY_OK);
    child = fork();
    if (child == 0) {
        int rc = assay_power_tracker_sample(t, &source, NULL);

        rc |= assay_power_tracker_stop(t, NULL) != ASSAY_ERR_STATE;
        assay_power_tracker_free(t);
        _exit(rc != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assay_power_tracker_free(t);
}

static void misuse_is_told(void **state)
{
    struct assay_power_tracker *t = new_tracker(NULL, 0);
    const struct assay_power_source empty = {0};
    struct assay_energy_result r;

    (void)state;
    assert_string_equal(assay_power_tracker_label(t), "");
    assert_int_equal(assay_power_tracker_sample(t, &empty, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_tracker_sample(t, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_tracker_sample(NULL, &empty, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_tracker_start(t, &empty, 1000, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_tracker_stop(NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_tracker_add(t, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_tracker_energy(NULL, &r, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_tracker_energy(t, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_power_tracker_samples(NULL, NULL, 0), 0);
    assert_int_equal(assay_power_tracker_failed(NULL), 0);
    r = energy_of(t);
    assert_true(r.total_joules == 0 && !r.available && r.why);
    assay_power_tracker_free(t);
    assay_power_tracker_free(NULL);
}

static void running_out_of_memory_is_told(void **state)
{
    (void)state;
#ifdef ASSAY_FAULTS
    for (uint64_t nth = 1; nth < 100; nth++) {
        const struct assay_power_sample s = {1, 1};
        struct assay_power_source source = {0};
        struct assay_power_tracker *t;
        int rc;

        as_alloc_fail_at(nth, 0);
        t = new_tracker("x", 0);
        rc = t ? assay_power_source_open("constant:1", &source, NULL) : ASSAY_ERR_NOMEM;
        for (int i = 0; rc == 0 && i < 200; i++)
            rc = assay_power_tracker_add(t, &s, NULL);
        as_alloc_fail_at(0, 0);
        assay_power_source_close(&source);
        assay_power_tracker_free(t);
        if (rc == 0)
            return;
        assert_int_equal(rc, ASSAY_ERR_NOMEM);
    }
    fail_msg("every allocation failed");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documented_examples),
        cmocka_unit_test(none_and_one_are_zeros_that_say_so),
        cmocka_unit_test(time_weighs_what_lasts),
        cmocka_unit_test(what_cannot_be_is_an_error),
        cmocka_unit_test(idle_power_is_taken_away_once_per_second),
        cmocka_unit_test(energy_is_shared_out_or_unknown),
        cmocka_unit_test(sources_are_named),
        cmocka_unit_test(a_constant_source_gives_its_watts),
        cmocka_unit_test(a_failing_source_makes_energy_unknown_not_zero),
        cmocka_unit_test(no_source_is_unavailable_with_a_reason),
        cmocka_unit_test(a_counter_is_believed_before_watts),
        cmocka_unit_test(a_counter_alone_gives_watts_between_readings),
        cmocka_unit_test(another_counter_is_not_mixed_in),
        cmocka_unit_test(thinning_loses_no_energy),
        cmocka_unit_test(a_million_samples_lose_no_digits),
        cmocka_unit_test(the_thread_samples_and_stops),
        cmocka_unit_test(a_forked_child_has_no_thread),
        cmocka_unit_test(misuse_is_told),
        cmocka_unit_test(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
