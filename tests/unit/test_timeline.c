/* tests/unit/test_timeline.c - every call in the order the calls ended, threads side by side.
 * Runs are made in memory; times are what the tables say. */
#include "run_kit.h"

#include "analyze/run/timeline.h"
#include "stats/describe/rng.h"

#define A       1
#define B       2
#define FORWARD 3

static void calls_of_all_threads_come_as_they_ended(void **state)
{
    static const struct as_event first[] = {BEGIN(10, A), BEGIN(20, B), END(30, B), END(100, A)},
                                 more[] = {BEGIN(110, FORWARD), BEGIN(120, A), END(130, A),
                                           END(140, FORWARD)},
                                 other[] = {BEGIN(5, B), END(25, B), BEGIN(90, B), FAIL(101, B),
                                            BEGIN(150, B)};
    static const struct {
        uint64_t thread, start_ns, end_ns, cumulative_ns;
        uint32_t site;
        enum as_span_state state;
    } want[] = {{1, 5, 25, 20, B, AS_SPAN_OK},     {0, 20, 30, 30, B, AS_SPAN_OK},
                {0, 10, 100, 120, A, AS_SPAN_OK},  {1, 90, 101, 131, B, AS_SPAN_FAILED},
                {0, 120, 130, 141, A, AS_SPAN_OK}, {1, 150, 150, 141, B, AS_SPAN_OPEN}};
    struct as_timeline *timeline;
    struct as_timeline_entry entry;
    struct as_run *run;
    struct kit kit;

    (void)state;
    kit_begin(&kit);
    kit_site(&kit, A, ASSAY_CATEGORY_LAYER, "a");
    kit_site(&kit, B, ASSAY_CATEGORY_FUNCTION, "b");
    kit_site(&kit, FORWARD, ASSAY_CATEGORY_PHASE, "forward");
    kit_events(&kit, 0, first, UNIT_COUNT(first));
    kit_events(&kit, 1, other, UNIT_COUNT(other));
    kit_events(&kit, 0, more, UNIT_COUNT(more));
    run = kit_open(&kit);
    timeline = as_timeline_new(run);
    assert_non_null(timeline);
    for (size_t i = 0; i < UNIT_COUNT(want); i++) {
        assert_int_equal(as_timeline_next(timeline, &entry, NULL), 1);
        assert_int_equal(entry.number, i);
        assert_int_equal(entry.span.thread->index, want[i].thread);
        assert_int_equal(entry.cumulative_ns, want[i].cumulative_ns);
        kit_expect_span(&entry.span, want[i].site, entry.span.depth, want[i].start_ns,
                        want[i].end_ns, want[i].state);
    }
    assert_int_equal(as_timeline_next(timeline, &entry, NULL), 0);
    assert_int_equal(as_timeline_next(timeline, &entry, NULL), 0);
    as_timeline_free(timeline);
    as_timeline_free(NULL);
    as_run_close(run);
    kit_close(&kit);
}

#define N_PAIRS  3000
#define N_CHUNKS 7

static void a_long_run_stays_in_order(void **state)
{
    static struct as_event event[2 * N_PAIRS];
    struct as_timeline *timeline;
    struct as_timeline_entry entry;
    uint64_t time[KIT_THREADS] = {0}, last = 0, n = 0, sum = 0, told = 0;
    struct as_run *run;
    struct as_rng rng;
    struct kit kit;
    int rc;

    (void)state;
    as_rng_seed(&rng, 4);
    kit_begin(&kit);
    kit_site(&kit, A, ASSAY_CATEGORY_LAYER, "a");
    for (int chunk = 0; chunk < N_CHUNKS; chunk++) {
        for (uint64_t t = 0; t < KIT_THREADS; t++) {
            for (size_t i = 0; i < N_PAIRS; i++) {
                uint64_t ns = as_rng_below(&rng, 50);

                time[t] += as_rng_below(&rng, 100 * (t + 1));
                event[2 * i] = (struct as_event)BEGIN(time[t], A);
                time[t] += ns;
                event[2 * i + 1] = (struct as_event)END(time[t], A);
                sum += ns;
            }
            kit_events(&kit, t, event, UNIT_COUNT(event));
        }
    }
    run = kit_open(&kit);
    timeline = as_timeline_new(run);
    while ((rc = as_timeline_next(timeline, &entry, NULL)) == 1) {
        assert_true(entry.span.end_ns >= last);
        assert_int_equal(entry.number, n);
        last = entry.span.end_ns;
        told += entry.span.end_ns - entry.span.start_ns;
        assert_int_equal(entry.cumulative_ns, told);
        n++;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(n, (uint64_t)N_PAIRS * N_CHUNKS * KIT_THREADS);
    assert_int_equal(told, sum);
    as_timeline_free(timeline);
    as_run_close(run);
    kit_close(&kit);
}

static void a_run_without_threads_has_no_calls(void **state)
{
    struct as_timeline *timeline;
    struct as_timeline_entry entry;
    struct as_run *run;
    struct kit kit;

    (void)state;
    kit_begin(&kit);
    run = kit_open(&kit);
    timeline = as_timeline_new(run);
    assert_non_null(timeline);
    assert_int_equal(as_timeline_next(timeline, &entry, NULL), 0);
    as_timeline_free(timeline);
    as_run_close(run);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_all_threads_come_as_they_ended),
        cmocka_unit_test(a_long_run_stays_in_order),
        cmocka_unit_test(a_run_without_threads_has_no_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
