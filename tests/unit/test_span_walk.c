/* tests/unit/test_span_walk.c - events become nested spans, and what is wrong with them is marked,
 * not repaired. Runs are made in memory; times are what the tables say. */
#include "run_kit.h"

#define A   1
#define B   2
#define C   3
#define KEY 9

static struct kit kit;
static struct as_run *run;
static struct kit_heard heard;

/* Walks one thread with these events, all in one chunk. */
static void walk(const struct as_event *event, size_t n)
{
    kit_begin(&kit);
    kit_site(&kit, A, ASSAY_CATEGORY_LAYER, "a");
    kit_site(&kit, B, ASSAY_CATEGORY_LAYER, "b");
    kit_site(&kit, C, ASSAY_CATEGORY_LAYER, "c");
    kit_events(&kit, 0, event, n);
    run = kit_open(&kit);
    kit_walk(&heard, run, 0);
    assert_int_equal(heard.counts.events, n);
    assert_int_equal(heard.counts.spans, heard.n_spans);
    assert_int_equal(heard.n_begins, heard.n_spans);
}

static void done(void)
{
    kit_forget(&heard);
    as_run_close(run);
    kit_close(&kit);
}

#define WALK(...)                                                                                  \
    do {                                                                                           \
        const struct as_event given_[] = {__VA_ARGS__};                                            \
        walk(given_, UNIT_COUNT(given_));                                                          \
    } while (0)

static void spans_nest(void **state)
{
    (void)state;
    WALK(BEGIN(10, A), BEGIN(20, B), END(30, B), BEGIN(40, C), BEGIN(41, A), END(44, A), END(50, C),
         END(100, A));
    assert_int_equal(heard.n_spans, 4);
    kit_expect_span(&heard.span[0], B, 1, 20, 30, AS_SPAN_OK);
    kit_expect_span(&heard.span[1], A, 2, 41, 44, AS_SPAN_OK);
    kit_expect_span(&heard.span[2], C, 1, 40, 50, AS_SPAN_OK);
    kit_expect_span(&heard.span[3], A, 0, 10, 100, AS_SPAN_OK);
    assert_int_equal(heard.span[0].child_ns, 0);
    assert_int_equal(heard.span[2].child_ns, 3);
    assert_int_equal(heard.span[3].child_ns, 20);
    assert_int_equal(heard.counts.first_ns, 10);
    assert_int_equal(heard.counts.last_ns, 100);
    done();
}

static void failed_spans_are_told(void **state)
{
    (void)state;
    WALK(BEGIN(10, A), BEGIN(20, B), FAIL(30, B), END(40, A));
    kit_expect_span(&heard.span[0], B, 1, 20, 30, AS_SPAN_FAILED);
    kit_expect_span(&heard.span[1], A, 0, 10, 40, AS_SPAN_OK);
    done();
}

static void an_end_without_a_begin_is_counted_and_closes_nothing(void **state)
{
    (void)state;
    WALK(END(5, A), BEGIN(10, A), END(20, B), FAIL(25, C), END(30, A), END(31, A));
    assert_int_equal(heard.n_spans, 1);
    kit_expect_span(&heard.span[0], A, 0, 10, 30, AS_SPAN_OK);
    assert_int_equal(heard.counts.stray_ends, 4);
    assert_int_equal(heard.counts.stray_after_loss, 0);
    done();
}

static void a_missing_end_closes_with_the_parent(void **state)
{
    (void)state;
    WALK(BEGIN(10, A), BEGIN(20, B), BEGIN(25, C), END(40, A), BEGIN(50, A), END(60, A));
    assert_int_equal(heard.n_spans, 4);
    kit_expect_span(&heard.span[0], C, 2, 25, 40, AS_SPAN_UNCLOSED);
    kit_expect_span(&heard.span[1], B, 1, 20, 40, AS_SPAN_UNCLOSED);
    kit_expect_span(&heard.span[2], A, 0, 10, 40, AS_SPAN_OK);
    kit_expect_span(&heard.span[3], A, 0, 50, 60, AS_SPAN_OK);
    assert_int_equal(heard.counts.stray_ends, 0);
    done();
}

static void spans_still_open_end_with_the_recording(void **state)
{
    (void)state;
    WALK(BEGIN(10, A), BEGIN(20, B), BEGIN(30, C), END(45, C));
    assert_int_equal(heard.n_spans, 3);
    kit_expect_span(&heard.span[1], B, 1, 20, 45, AS_SPAN_OPEN);
    kit_expect_span(&heard.span[2], A, 0, 10, 45, AS_SPAN_OPEN);
    done();
}

static void a_switch_closes_the_switch_before(void **state)
{
    (void)state;
    WALK(BEGIN(5, C), SWITCH(10, A), SWITCH(20, B), BEGIN(22, C), END(24, C), SWITCH(30, A),
         SWITCH(40, 0), END(50, C));
    assert_int_equal(heard.n_spans, 5);
    kit_expect_span(&heard.span[0], A, 1, 10, 20, AS_SPAN_OK);
    kit_expect_span(&heard.span[1], C, 2, 22, 24, AS_SPAN_OK);
    kit_expect_span(&heard.span[2], B, 1, 20, 30, AS_SPAN_OK);
    assert_int_equal(heard.span[2].child_ns, 2);
    kit_expect_span(&heard.span[3], A, 1, 30, 40, AS_SPAN_OK);
    kit_expect_span(&heard.span[4], C, 0, 5, 50, AS_SPAN_OK);
    assert_int_equal(heard.span[4].child_ns, 30);
    done();
}

static void a_sequence_of_switches_ends_with_the_scope_around_it(void **state)
{
    (void)state;
    WALK(BEGIN(5, C), SWITCH(10, A), SWITCH(20, B), END(30, C), SWITCH(40, 0));
    assert_int_equal(heard.n_spans, 3);
    kit_expect_span(&heard.span[1], B, 1, 20, 30, AS_SPAN_OK);
    kit_expect_span(&heard.span[2], C, 0, 5, 30, AS_SPAN_OK);
    assert_int_equal(heard.counts.stray_ends, 1);
    done();
}

static void a_switch_does_not_close_a_scope(void **state)
{
    (void)state;
    WALK(SWITCH(10, A), BEGIN(20, C), SWITCH(30, B), END(40, C), SWITCH(50, 0));
    assert_int_equal(heard.n_spans, 3);
    kit_expect_span(&heard.span[0], B, 2, 30, 40, AS_SPAN_OK);
    kit_expect_span(&heard.span[1], C, 1, 20, 40, AS_SPAN_OK);
    kit_expect_span(&heard.span[2], A, 0, 10, 50, AS_SPAN_OK);
    done();
}

static void nothing_is_joined_across_a_loss(void **state)
{
    (void)state;
    WALK(BEGIN(10, A), BEGIN(20, B), LOST(30, 80, 7), END(90, B), END(95, A), BEGIN(100, A),
         END(110, A));
    assert_int_equal(heard.n_spans, 3);
    kit_expect_span(&heard.span[0], B, 1, 20, 30, AS_SPAN_CUT);
    kit_expect_span(&heard.span[1], A, 0, 10, 30, AS_SPAN_CUT);
    kit_expect_span(&heard.span[2], A, 0, 100, 110, AS_SPAN_OK);
    assert_int_equal(heard.counts.stray_after_loss, 2);
    assert_int_equal(heard.counts.stray_ends, 0);
    assert_int_equal(heard.n_losses, 1);
    assert_int_equal(heard.loss[0].from_ns, 30);
    assert_int_equal(heard.loss[0].to_ns, 80);
    assert_int_equal(heard.loss[0].n, 7);
    done();
}

static void a_loss_may_count_past_32_bits(void **state)
{
    (void)state;
    WALK(BEGIN(10, A), LOST(30, 80, ((uint64_t)3 << 32) + 5));
    assert_true(heard.loss[0].n == ((uint64_t)3 << 32) + 5);
    done();
}

/* As a damaged or hostile file may have it. */
static void half_a_loss_or_wait_invents_no_time(void **state)
{
    (void)state;
    WALK(BEGIN(100, A), {200, 1, AS_RECORD_SAMPLE}, {kit_bits(1), 0, AS_RECORD_VALUE}, END(300, A),
         BEGIN(400, B), {500, 0, AS_RECORD_LOST_TO}, {600, 0, AS_RECORD_WAIT_TO});
    kit_expect_span(&heard.span[1], B, 0, 400, 500, AS_SPAN_CUT);
    assert_int_equal(heard.loss[0].from_ns, 500);
    assert_int_equal(heard.n_waits, 0);
    done();
}

static void a_missing_chunk_cuts_what_was_open(void **state)
{
    const struct as_event first[] = {BEGIN(10, A), BEGIN(20, B)},
                          later[] = {END(90, B), BEGIN(91, C), END(92, C)};

    (void)state;
    kit_begin(&kit);
    kit_chunk(&kit, 0, 0, first, UNIT_COUNT(first));
    kit_chunk(&kit, 0, 2, later, UNIT_COUNT(later));
    run = kit_open(&kit);
    kit_walk(&heard, run, 0);
    assert_int_equal(heard.n_spans, 3);
    kit_expect_span(&heard.span[0], B, 1, 20, 20, AS_SPAN_CUT);
    kit_expect_span(&heard.span[1], A, 0, 10, 20, AS_SPAN_CUT);
    kit_expect_span(&heard.span[2], C, 0, 91, 92, AS_SPAN_OK);
    assert_int_equal(heard.n_losses, 1);
    assert_int_equal(heard.loss[0].n, 0); /* nobody knows how many */
    assert_int_equal(heard.counts.stray_after_loss, 1);
    done();
}

static void a_scope_may_last_over_chunks(void **state)
{
    const struct as_event first[] = {BEGIN(10, A), BEGIN(20, B)},
                          later[] = {END(90, B), END(92, A)};

    (void)state;
    kit_begin(&kit);
    kit_chunk(&kit, 0, 1, later, UNIT_COUNT(later));
    kit_chunk(&kit, 0, 0, first, UNIT_COUNT(first));
    run = kit_open(&kit);
    kit_walk(&heard, run, 0);
    assert_int_equal(heard.n_spans, 2);
    kit_expect_span(&heard.span[0], B, 1, 20, 90, AS_SPAN_OK);
    kit_expect_span(&heard.span[1], A, 0, 10, 92, AS_SPAN_OK);
    done();
}

static void a_loss_pending_in_the_ring_cuts_at_the_end(void **state)
{
    const struct as_event event[] = {BEGIN(10, A), BEGIN(20, B), END(30, B)};

    (void)state;
    kit_begin(&kit);
    kit_events(&kit, 0, event, UNIT_COUNT(event));
    run = kit_open(&kit);
    run->thread[0].pending_lost = 4;
    run->thread[0].pending_from =
        KIT_START + 25; /* before the last event: hostile, or a torn read */
    run->thread[0].pending_to = KIT_START + 80;
    kit_walk(&heard, run, 0);
    kit_expect_span(&heard.span[1], A, 0, 10, 30, AS_SPAN_CUT);
    assert_int_equal(heard.loss[0].n, 4);
    assert_true(heard.loss[0].from_ns >= 30 && heard.loss[0].to_ns >= heard.loss[0].from_ns);
    done();
}

static void a_pending_loss_needs_no_clock(void **state)
{
    struct as_run_thread *thread;

    (void)state;
    kit_begin_bare(&kit);
    kit_thread(&kit, 0, 1, "main");
    run = kit_open(&kit);
    thread = &run->thread[0];
    thread->pending_lost = 4;
    thread->pending_from = thread->pending_to = 1234;
    kit_walk(&heard, run, 0);
    assert_int_equal(heard.n_losses, 1);
    assert_int_equal(heard.loss[0].n, 4);
    done();
}

static void waits_and_samples_are_told(void **state)
{
    (void)state;
    WALK(BEGIN(10, A), WAIT(20, 50), {60, B, AS_RECORD_SAMPLE}, {kit_bits(2.5), 0, AS_RECORD_VALUE},
         END(70, A), {kit_bits(9), 0, AS_RECORD_VALUE});
    assert_int_equal(heard.n_waits, 1);
    assert_int_equal(heard.wait[0].from_ns, 20);
    assert_int_equal(heard.wait[0].to_ns, 50);
    assert_int_equal(heard.n_samples, 1); /* a value without its sample is nothing */
    assert_int_equal(heard.sample[0].channel, B);
    assert_int_equal(heard.sample[0].ns, 60);
    assert_true(heard.sample[0].value == 2.5);
    done();
}

static void notes_belong_to_the_innermost_open_span(void **state)
{
    struct as_event event[4 + AS_SPAN_MAX_NOTES + 4] = {{kit_bits(-1), KEY, AS_RECORD_NOTE},
                                                        BEGIN(10, A),
                                                        {kit_bits(1.5), KEY, AS_RECORD_NOTE},
                                                        BEGIN(20, B)};
    size_t n = 4;

    (void)state;
    for (int i = 0; i < AS_SPAN_MAX_NOTES + 2; i++)
        event[n++] = (struct as_event){kit_bits(i), KEY + 1, AS_RECORD_NOTE};
    event[n++] = (struct as_event)END(30, B);
    event[n++] = (struct as_event)END(40, A);
    walk(event, n);
    assert_int_equal(heard.span[0].n_notes, AS_SPAN_MAX_NOTES);
    for (uint32_t i = 0; i < AS_SPAN_MAX_NOTES; i++) {
        assert_int_equal(heard.span[0].note[i].key, KEY + 1);
        assert_true(heard.span[0].note[i].value == i);
    }
    assert_int_equal(heard.span[1].n_notes, 1);
    assert_true(heard.span[1].note[0].value == 1.5);
    done();
}

static void iterations_have_cpu_time_and_length(void **state)
{
    (void)state;
    WALK(ITER(10), NUMBER(0), CPU(1000), LENGTH(128), BEGIN(12, A), END(14, A), ITER(30), NUMBER(1),
         CPU(1015), ITER_END(70), CPU(1040), BEGIN(80, A), END(81, A), ITER(90), NUMBER(7),
         CPU(1100), BEGIN(91, A), END(95, A));
    assert_int_equal(heard.n_iterations, 3);
    assert_int_equal(heard.iteration[0].number, 0);
    assert_int_equal(heard.iteration[0].start_ns, 10);
    assert_int_equal(heard.iteration[0].end_ns, 30);
    assert_true(heard.iteration[0].has_cpu && heard.iteration[0].has_length &&
                !heard.iteration[0].cut);
    assert_int_equal(heard.iteration[0].cpu_ns, 15);
    assert_int_equal(heard.iteration[0].length, 128);
    assert_int_equal(heard.iteration[1].number, 1);
    assert_int_equal(heard.iteration[1].end_ns, 70);
    assert_int_equal(heard.iteration[1].cpu_ns, 25);
    assert_false(heard.iteration[1].has_length);
    assert_int_equal(heard.iteration[2].number, 7);
    assert_int_equal(heard.iteration[2].end_ns, 95);
    assert_true(heard.iteration[2].cut);
    assert_false(heard.iteration[2].has_cpu);
    done();
}

static void iterations_need_no_cpu_time(void **state)
{
    (void)state;
    WALK(ITER(10), NUMBER(5), ITER(20), NUMBER(6), ITER_END(30), LENGTH(4), ITER_END(40));
    assert_int_equal(heard.n_iterations, 2);
    assert_int_equal(heard.iteration[0].number, 5);
    assert_false(heard.iteration[0].has_cpu);
    assert_int_equal(heard.iteration[1].number, 6);
    assert_int_equal(heard.iteration[1].end_ns, 30);
    assert_false(heard.iteration[1].has_length); /* it was over */
    done();
}

static void a_loss_cuts_the_iteration(void **state)
{
    (void)state;
    WALK(ITER(10), NUMBER(5), CPU(100), LOST(20, 30, 2), ITER(40), NUMBER(9), CPU(200),
         ITER_END(50), CPU(207));
    assert_int_equal(heard.n_iterations, 2);
    assert_true(heard.iteration[0].cut);
    assert_int_equal(heard.iteration[0].end_ns, 20);
    assert_int_equal(heard.iteration[1].number, 9);
    assert_int_equal(heard.iteration[1].cpu_ns, 7);
    done();
}

static void below_the_depth_limit_levels_are_counted_not_followed(void **state)
{
    const uint32_t n = AS_RUN_MAX_DEPTH + 10;
    struct as_event *event = calloc(2 * n + 2, sizeof *event);

    (void)state;
    assert_non_null(event);
    for (uint32_t i = 0; i < n; i++) {
        event[i] = (struct as_event)BEGIN(i, A);
        event[n + i] = (struct as_event)END(n + i, A);
    }
    event[2 * n] = (struct as_event)BEGIN(2 * n, B);
    event[2 * n + 1] = (struct as_event)END(2 * n + 1, B);
    walk(event, 2 * n + 2);
    assert_int_equal(heard.n_spans, AS_RUN_MAX_DEPTH + 1);
    assert_int_equal(heard.counts.too_deep, 10);
    assert_int_equal(heard.counts.stray_ends, 0);
    kit_expect_span(&heard.span[AS_RUN_MAX_DEPTH - 1], A, 0, 0, 2 * n - 1, AS_SPAN_OK);
    kit_expect_span(&heard.span[AS_RUN_MAX_DEPTH], B, 0, 2 * n, 2 * n + 1, AS_SPAN_OK);
    free(event);
    done();
}

/* Deep stacks and ends of nobody: a file of two megabytes must not cost minutes. */
static void stray_ends_under_a_deep_stack_do_not_cost_their_product(void **state)
{
    const size_t deep = AS_RUN_MAX_DEPTH - 1, n = 1000000;
    struct as_event *event = calloc(n, sizeof *event);

    (void)state;
    assert_non_null(event);
    for (size_t i = 0; i < n; i++)
        event[i] =
            (struct as_event){i, i < deep ? A : B, i < deep ? AS_RECORD_BEGIN : AS_RECORD_END};
    walk(event, n);
    assert_int_equal(heard.counts.stray_ends, n - deep);
    free(event);
    done();
}

static void damaged_clock_readings_are_an_error(void **state)
{
    const struct as_event event[] = {BEGIN(10, A), END(20, A)};
    const struct as_span_visitor nobody = {0};
    struct assay_error err;

    (void)state;
    kit_begin_bare(&kit);
    kit_anchor(&kit, 5, 5); /* one reading of a counter says nothing about its rate */
    kit_events(&kit, 0, event, 2);
    run = kit_open(&kit);
    assert_int_equal(as_span_walk(run, &run->thread[0], &nobody, NULL, &err), ASSAY_ERR_FORMAT);
    done();
}

static void a_walk_begins_where_the_first_timed_event_is(void **state)
{
    (void)state;
    WALK({kit_bits(1), KEY, AS_RECORD_NOTE}, BEGIN(500, A), END(600, A));
    assert_int_equal(heard.counts.first_ns, 500);
    assert_int_equal(heard.counts.last_ns, 600);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_nest),
        cmocka_unit_test(failed_spans_are_told),
        cmocka_unit_test(an_end_without_a_begin_is_counted_and_closes_nothing),
        cmocka_unit_test(a_missing_end_closes_with_the_parent),
        cmocka_unit_test(spans_still_open_end_with_the_recording),
        cmocka_unit_test(a_switch_closes_the_switch_before),
        cmocka_unit_test(a_sequence_of_switches_ends_with_the_scope_around_it),
        cmocka_unit_test(a_switch_does_not_close_a_scope),
        cmocka_unit_test(nothing_is_joined_across_a_loss),
        cmocka_unit_test(a_loss_may_count_past_32_bits),
        cmocka_unit_test(half_a_loss_or_wait_invents_no_time),
        cmocka_unit_test(a_missing_chunk_cuts_what_was_open),
        cmocka_unit_test(a_scope_may_last_over_chunks),
        cmocka_unit_test(a_loss_pending_in_the_ring_cuts_at_the_end),
        cmocka_unit_test(a_pending_loss_needs_no_clock),
        cmocka_unit_test(waits_and_samples_are_told),
        cmocka_unit_test(notes_belong_to_the_innermost_open_span),
        cmocka_unit_test(iterations_have_cpu_time_and_length),
        cmocka_unit_test(iterations_need_no_cpu_time),
        cmocka_unit_test(a_loss_cuts_the_iteration),
        cmocka_unit_test(below_the_depth_limit_levels_are_counted_not_followed),
        cmocka_unit_test(stray_ends_under_a_deep_stack_do_not_cost_their_product),
        cmocka_unit_test(damaged_clock_readings_are_an_error),
        cmocka_unit_test(a_walk_begins_where_the_first_timed_event_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
