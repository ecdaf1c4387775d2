/* tests/unit/test_layer_profile.c - the figures of layers: nested, many, failed, beyond every
 * bound. Times are made up by moving the stamps, so that each figure is known. */
#include "profiler/layer_profile.h"

#include <assay/scope.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "unit.h"

static uint64_t stamp = 1u << 30;
static struct as_layer_thread *thread; /* of the profile made last */

static struct as_layer_profile *make(size_t layers, size_t timeline, size_t bytes)
{
    const struct as_layer_limits limits = {layers, timeline, bytes, NULL};
    struct as_layer_profile *p;

    assert_int_equal(as_layer_profile_new(&p, &limits, NULL), ASSAY_OK);
    thread = as_layer_profile_thread(p);
    assert_non_null(thread);
    return p;
}

/* Ticks of that many nanoseconds. */
static uint64_t ticks_of(const struct as_layer_profile *p, double ns)
{
    return (uint64_t)(ns / as_layer_profile_clock(p)->ns_a_tick + 0.5);
}

static void begin(struct as_layer_profile *p, const char *name)
{
    as_layer_profile_begin(p, thread, assay_layer(name), stamp, 0);
}

static bool end_as(struct as_layer_profile *p, const struct as_layer_end *as)
{
    struct as_layer_end how = *as;
    struct as_layer_call call;

    how.ticks = stamp;
    how.keep = true;
    return as_layer_profile_end(p, thread, &how, &call);
}

static void end(struct as_layer_profile *p, bool failed)
{
    assert_true(end_as(p, &(struct as_layer_end){.failed = failed}));
}

static void call_of(struct as_layer_profile *p, const char *name, double ns)
{
    begin(p, name);
    stamp += ticks_of(p, ns);
    end(p, false);
}

static struct assay_layer_profile *read_it(struct as_layer_profile *p)
{
    struct assay_layer_profile *seen;

    assert_int_equal(as_layer_profile_read(p, 0, &seen, NULL), ASSAY_OK);
    return seen;
}

static const struct assay_layer_stats *find(const struct assay_layer_profile *seen,
                                            const char *name)
{
    const struct assay_layer_stats *s = assay_layer_profile_find(seen, name);

    assert_non_null(s);
    return s;
}

#define NEAR(a, b) assert_true(fabs((a) - (b)) <= 1e-4 * fabs(b) + 3e-9)

static void figures_are_those_of_the_calls(void **state)
{
    static const double us[] = {100, 200, 300, 400};
    struct as_layer_profile *p = make(16, 100, 1u << 20);
    const struct assay_layer_stats *s;
    struct assay_layer_profile *seen;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(us); i++)
        call_of(p, "conv", us[i] * 1e3);
    seen = read_it(p);
    s = find(seen, "conv");
    assert_int_equal(s->call_count, 4);
    NEAR(s->total_seconds, 1000e-6);
    NEAR(s->min_seconds, 100e-6);
    NEAR(s->max_seconds, 400e-6);
    NEAR(s->mean_seconds, 250e-6);
    NEAR(s->std_seconds, 111.8033989e-6);
    NEAR(s->std_sample_seconds, 129.0994449e-6);
    NEAR(s->cv, 0.4472135955);
    NEAR(s->p50_seconds, 250e-6);
    NEAR(s->p95_seconds, 385e-6);
    NEAR(s->p99_seconds, 397e-6);
    assert_true(s->percentile_error == 0);
    assert_int_equal(s->n_execution_times, 4);
    NEAR(s->execution_times_seconds[2], 300e-6);
    NEAR(seen->average_seconds_per_call, 250e-6);
    assay_layer_profile_free(seen);
    as_layer_profile_free(p);
}

static void inner_time_is_not_self_time(void **state)
{
    struct as_layer_profile *p = make(16, 100, 1u << 20);
    struct assay_layer_profile *seen;

    (void)state;
    begin(p, "block");
    stamp += ticks_of(p, 10e3);
    call_of(p, "conv", 70e3);
    call_of(p, "relu", 15e3);
    stamp += ticks_of(p, 5e3);
    end(p, false);
    seen = read_it(p);
    NEAR(find(seen, "block")->total_seconds, 100e-6);
    NEAR(find(seen, "block")->self_seconds, 15e-6);
    NEAR(find(seen, "conv")->self_seconds, 70e-6);
    NEAR(seen->total_seconds, 185e-6);
    NEAR(seen->total_self_seconds, 100e-6);
    assert_string_equal(seen->slowest[0].layer, "block");
    assert_string_equal(seen->slowest[1].layer, "conv");
    assert_int_equal(seen->n_timeline, 3);
    assert_string_equal(seen->timeline[0].layer, "conv");
    assert_int_equal(seen->timeline[0].depth, 1);
    assert_int_equal(seen->timeline[2].depth, 0);
    NEAR(seen->timeline[0].cumulative_seconds, 70e-6);
    NEAR(seen->timeline[2].cumulative_seconds, 185e-6);
    NEAR(seen->timeline[2].cumulative_self_seconds, 100e-6);
    assay_layer_profile_free(seen);
    as_layer_profile_free(p);
}

static void a_failed_call_is_in_no_time(void **state)
{
    struct as_layer_profile *p = make(16, 100, 1u << 20);
    struct assay_layer_profile *seen;

    (void)state;
    call_of(p, "load", 50e3);
    begin(p, "load");
    stamp += ticks_of(p, 1e6);
    end(p, true);
    seen = read_it(p);
    assert_int_equal(find(seen, "load")->call_count, 1);
    assert_int_equal(find(seen, "load")->failed_count, 1);
    NEAR(find(seen, "load")->max_seconds, 50e-6);
    NEAR(find(seen, "load")->failed_seconds, 1000e-6);
    assert_int_equal(seen->failed_calls, 1);
    assert_true(seen->timeline[1].failed);
    assay_layer_profile_free(seen);
    as_layer_profile_free(p);
}

static void many_calls_keep_percentiles_within_the_bound(void **state)
{
    struct as_layer_profile *p = make(16, 100, 1u << 20);
    const struct assay_layer_stats *s;
    struct assay_layer_profile *seen;
    enum { CALLS = 20000 };

    (void)state;
    /* 1 to 20,000 us, in an order that is not theirs: 7919 is prime to 20,000. */
    for (unsigned i = 0; i < CALLS; i++)
        call_of(p, "conv", 1e3 * (1 + (double)(i * 7919u % CALLS)));
    seen = read_it(p);
    s = find(seen, "conv");
    assert_int_equal(s->call_count, CALLS);
    assert_true(s->percentile_error > 0 && s->percentile_error < 0.02);
    assert_true(fabs(s->p50_seconds / 10000e-6 - 1) <= s->percentile_error + 1e-3);
    assert_true(fabs(s->p99_seconds / 19800e-6 - 1) <= s->percentile_error + 1e-3);
    NEAR(s->mean_seconds, 10000.5e-6);
    NEAR(s->std_seconds, 5773.5026e-6);
    assert_int_equal(s->n_execution_times, AS_LAYER_NEWEST);
    NEAR(s->execution_times_seconds[AS_LAYER_NEWEST - 1],
         1e-6 * (1 + (double)((CALLS - 1) * 7919u % CALLS)));
    assert_int_equal(seen->n_timeline, 100);
    assert_int_equal(seen->timeline_dropped, CALLS - 100);
    NEAR(seen->timeline[99].cumulative_seconds, s->total_seconds);
    NEAR(seen->timeline[99].cumulative_seconds - seen->timeline[98].cumulative_seconds,
         seen->timeline[99].execution_seconds);
    assay_layer_profile_free(seen);
    as_layer_profile_free(p);
}

static void without_room_the_newest_are_told_and_said_to_be(void **state)
{
    struct as_layer_profile *p = make(16, 1000, 600);
    struct assay_layer_profile *seen;

    (void)state;
    for (int i = 0; i < 500; i++)
        call_of(p, "conv", 1e3 * (i + 1));
    seen = read_it(p);
    assert_int_equal(find(seen, "conv")->call_count, 500);
    assert_true(find(seen, "conv")->percentiles_newest);
    NEAR(find(seen, "conv")->max_seconds, 500e-6);
    assert_int_equal(seen->n_timeline + seen->timeline_dropped, 500);
    assay_layer_profile_free(seen);
    as_layer_profile_free(p);
}

static void too_many_names_are_put_together(void **state)
{
    struct as_layer_profile *p = make(4, 1000, 1u << 20);
    struct assay_layer_profile *seen;
    char name[32];

    (void)state;
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "layer %d", i);
        call_of(p, name, 1e3);
    }
    seen = read_it(p);
    assert_int_equal(seen->n_layers, 4);
    assert_int_equal(find(seen, "(other)")->call_count, 7);
    assert_int_equal(seen->calls_unnamed, 7);
    assert_int_equal(seen->total_calls, 10);
    assay_layer_profile_free(seen);
    as_layer_profile_free(p);
}

static void time_of_profiling_is_no_layers(void **state)
{
    struct as_layer_profile *p = make(16, 10, 1u << 20);
    struct assay_layer_profile *seen;

    (void)state;
    begin(p, "outer");
    stamp += ticks_of(p, 10e3); /* of which 4 us were profiling before the inner one */
    as_layer_profile_begin(p, thread, assay_layer("inner"), stamp, 4000);
    stamp += ticks_of(p, 20e3);
    end(p, false);
    stamp += ticks_of(p, 5e3);
    as_layer_profile_excuse(thread, 3000);
    end(p, false);
    seen = read_it(p);
    NEAR(find(seen, "outer")->self_seconds, 8e-6);
    NEAR(find(seen, "outer")->total_seconds, 28e-6);
    NEAR(find(seen, "inner")->total_seconds, 20e-6);
    assay_layer_profile_free(seen);
    as_layer_profile_free(p);
}

static void layers_left_without_an_end_are_counted(void **state)
{
    struct as_layer_profile *p = make(16, 10, 1u << 20);
    struct assay_layer_profile *seen;

    (void)state;
    begin(p, "outer");
    begin(p, "lost");
    call_of(p, "inside", 5e3);
    as_layer_profile_abandon(p, thread, 1);
    end(p, false);
    assert_false(end_as(p, &(struct as_layer_end){0})); /* none is open */
    begin(p, "of a thread that ended");
    as_layer_thread_restart(p, thread, 3, 4711);
    seen = read_it(p);
    assert_int_equal(seen->calls_abandoned, 2);
    assert_int_equal(seen->total_calls, 2);
    assert_int_equal(seen->n_threads, 1);
    assert_null(assay_layer_profile_find(seen, "lost"));
    assay_layer_profile_free(seen);
    as_layer_profile_free(p);
}

static void layers_open_at_the_end_are_named_and_forgotten(void **state)
{
    struct as_layer_profile *p = make(16, 10, 1u << 20);
    struct assay_layer_profile *seen;

    (void)state;
    begin(p, "outer");
    begin(p, "inner");
    assert_int_equal(as_layer_profile_close(p), 2);
    assert_int_equal(as_layer_profile_close(p), 0);
    assert_false(end_as(p, &(struct as_layer_end){0})); /* forgotten: nothing is counted */
    call_of(p, "later", 1e3);
    seen = read_it(p);
    assert_int_equal(seen->n_open_at_end, 2);
    assert_string_equal(seen->open_at_end[0], "outer");
    assert_string_equal(seen->open_at_end[1], "inner");
    assert_int_equal(seen->n_layers, 1);
    assert_int_equal(seen->total_calls, 1);
    assay_layer_profile_free(seen);
    as_layer_profile_free(p);
}

static void metadata_keeps_to_its_own_keys(void **state)
{
    const struct assay_metadata facts[] = {{"layer", "mine", 0}, {"batch", NULL, 8},
                                           {"batch", NULL, 16},  {"metadata_layer", "first", 0},
                                           {"layer", "last", 0}, {NULL, "no key", 0}};
    struct as_layer_profile *p = make(16, 10, 1u << 20);
    const struct as_layer_end how = {.metadata = facts, .n_metadata = UNIT_COUNT(facts)};
    struct assay_layer_profile *seen;

    (void)state;
    begin(p, "conv");
    assert_true(end_as(p, &how));
    seen = read_it(p);
    assert_int_equal(seen->timeline[0].n_metadata, 2);
    assert_string_equal(seen->timeline[0].metadata[0].key, "batch");
    assert_true(seen->timeline[0].metadata[0].number == 16);
    assert_string_equal(seen->timeline[0].metadata[1].key, "metadata_layer");
    assert_string_equal(seen->timeline[0].metadata[1].text, "last");
    assay_layer_profile_free(seen);
    as_layer_profile_free(p);
}

static void a_reset_forgets_all(void **state)
{
    struct as_layer_profile *p = make(16, 10, 1u << 20);
    struct assay_layer_profile *seen;

    (void)state;
    for (int i = 0; i < 6000; i++)
        call_of(p, "conv", 1e3);
    as_layer_profile_reset(p);
    seen = read_it(p);
    assert_int_equal(seen->n_layers, 0);
    assert_int_equal(seen->n_timeline, 0);
    assert_int_equal(seen->timeline_dropped, 0);
    assert_true(isnan(seen->average_seconds_per_call));
    assay_layer_profile_free(seen);
    call_of(p, "conv", 2e3);
    seen = read_it(p);
    NEAR(find(seen, "conv")->min_seconds, 2e-6);
    assay_layer_profile_free(seen);
    as_layer_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_the_calls),
        cmocka_unit_test(inner_time_is_not_self_time),
        cmocka_unit_test(a_failed_call_is_in_no_time),
        cmocka_unit_test(many_calls_keep_percentiles_within_the_bound),
        cmocka_unit_test(without_room_the_newest_are_told_and_said_to_be),
        cmocka_unit_test(too_many_names_are_put_together),
        cmocka_unit_test(time_of_profiling_is_no_layers),
        cmocka_unit_test(layers_left_without_an_end_are_counted),
        cmocka_unit_test(layers_open_at_the_end_are_named_and_forgotten),
        cmocka_unit_test(metadata_keeps_to_its_own_keys),
        cmocka_unit_test(a_reset_forgets_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
