/* tests/unit/test_thread_events.c - events in the order of time: overtaken ones put back, a clock
 * that fell counted. Runs are made in memory; times are what the tables say. */
#include "run_kit.h"

#include "trace/run/thread_events.h"

static struct kit kit;
static struct as_run *run;
static struct as_thread_events events;
static struct as_event_batch got;
static size_t got_at;

static void begin(void)
{
    kit_begin(&kit);
    kit_site(&kit, 1, ASSAY_CATEGORY_LAYER, "a");
}

static void open_run(void)
{
    run = kit_open(&kit);
    as_thread_events_init(&events, run, &run->thread[0]);
    got.n_events = got_at = 0;
}

static void close_run(void)
{
    as_thread_events_fini(&events);
    as_run_close(run);
    kit_close(&kit);
}

/* The next event of the stream, whichever batch it comes in; NULL at the end. */
static const struct as_event *next_event(bool *after_gap)
{
    while (got_at == got.n_events) {
        if (as_thread_events_next(&events, &got, NULL) != 1)
            return NULL;
        got_at = 0;
        *after_gap |= got.after_gap;
    }
    return &got.event[got_at++];
}

/* Compares what comes next with `want`, whose times are ns since the start. */
static void expect(const struct as_event *want, size_t n, bool after_gap)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t shift = as_kind_is_timed(want[i].kind) ? KIT_START : 0;
        bool gap = false;
        const struct as_event *e = next_event(&gap);

        assert_non_null(e);
        if (!e)
            return;
        assert_int_equal(e->time, want[i].time + shift);
        assert_int_equal(e->site, want[i].site);
        assert_int_equal(e->kind, want[i].kind);
        assert_int_equal(gap, after_gap && i == 0);
    }
}

#define EXPECT(...)                                                                                \
    do {                                                                                           \
        const struct as_event want_[] = {__VA_ARGS__};                                             \
        expect(want_, UNIT_COUNT(want_), false);                                                   \
    } while (0)

#define EVENTS(...)                                                                                \
    do {                                                                                           \
        const struct as_event given_[] = {__VA_ARGS__};                                            \
        kit_events(&kit, 0, given_, UNIT_COUNT(given_));                                           \
    } while (0)

static void expect_end(uint64_t displaced, uint64_t backwards)
{
    struct as_event_batch batch;

    assert_int_equal(as_thread_events_next(&events, &batch, NULL), 0);
    assert_int_equal(events.n_displaced, displaced);
    assert_int_equal(events.n_backwards, backwards);
    assert_int_equal(events.n_bad, 0);
}

static void events_in_order_stay_so(void **state)
{
    (void)state;
    begin();
    EVENTS(BEGIN(10, 1), END(20, 1), BEGIN(20, 1), END(30, 1));
    EVENTS(BEGIN(30, 1), END(40, 1));
    open_run();
    EXPECT(BEGIN(10, 1), END(20, 1), BEGIN(20, 1), END(30, 1));
    EXPECT(BEGIN(30, 1), END(40, 1));
    expect_end(0, 0);
    close_run();
}

/* A handler came between taking the slot of BEGIN(30) and reading its time. */
static void an_overtaken_event_is_put_back(void **state)
{
    (void)state;
    begin();
    EVENTS(BEGIN(10, 1), BEGIN(30, 3), BEGIN(21, 2), END(25, 2), END(35, 3), END(40, 1));
    open_run();
    EXPECT(BEGIN(10, 1), BEGIN(21, 2), END(25, 2), BEGIN(30, 3), END(35, 3), END(40, 1));
    expect_end(1, 0);
    close_run();
}

static void its_data_goes_with_it(void **state)
{
    (void)state;
    begin();
    EVENTS(ITER(10), NUMBER(1), CPU(5), ITER(30), NUMBER(2), CPU(8), BEGIN(21, 2),
           {7, 4, AS_RECORD_NOTE}, END(25, 2), END(40, 1));
    open_run();
    EXPECT(ITER(10), NUMBER(1), CPU(5), BEGIN(21, 2), {7, 4, AS_RECORD_NOTE}, END(25, 2), ITER(30),
           NUMBER(2), CPU(8), END(40, 1));
    expect_end(1, 0);
    close_run();
}

/* The handler's events are the last of the batch. */
static void an_overtaken_event_goes_to_the_end(void **state)
{
    (void)state;
    begin();
    EVENTS(BEGIN(10, 1), END(30, 1), BEGIN(21, 2), END(25, 2));
    open_run();
    EXPECT(BEGIN(10, 1), BEGIN(21, 2), END(25, 2), END(30, 1));
    expect_end(1, 0);
    close_run();
}

/* A handler may mark more than it interrupted. */
static void an_event_overtaken_by_very_many_is_put_back(void **state)
{
    struct as_event given[1003], want[1003];

    (void)state;
    begin();
    given[0] = want[0] = (struct as_event)BEGIN(10, 1);
    given[1] = want[1001] = (struct as_event)BEGIN(5000, 1);
    for (uint32_t i = 0; i < 1000; i++)
        given[i + 2] = want[i + 1] =
            (struct as_event){20 + i, 2, i % 2 ? AS_RECORD_END : AS_RECORD_BEGIN};
    given[1002] = want[1002] = (struct as_event)END(5100, 1);
    kit_events(&kit, 0, given, UNIT_COUNT(given));
    open_run();
    expect(want, UNIT_COUNT(want), false);
    expect_end(1, 0);
    close_run();
}

/* One handler interrupted another: two events stand in front of those that came before them. */
static void events_overtaken_by_handlers_in_handlers_are_put_back(void **state)
{
    (void)state;
    begin();
    EVENTS(BEGIN(10, 1), BEGIN(40, 4), BEGIN(35, 2), BEGIN(31, 3), END(33, 3), END(38, 2),
           END(60, 4), END(70, 1));
    open_run();
    EXPECT(BEGIN(10, 1), BEGIN(31, 3), END(33, 3), BEGIN(35, 2), END(38, 2), BEGIN(40, 4),
           END(60, 4), END(70, 1));
    expect_end(2, 0);
    close_run();
}

/* The chunk was full when the handler came. */
static void an_event_overtaken_across_two_chunks_goes_back(void **state)
{
    (void)state;
    begin();
    EVENTS(BEGIN(10, 1), BEGIN(30, 1));
    EVENTS(BEGIN(21, 2), END(25, 2), END(40, 1));
    open_run();
    EXPECT(BEGIN(10, 1), BEGIN(21, 2), END(25, 2), BEGIN(30, 1), END(40, 1));
    expect_end(1, 0);
    close_run();
}

/* The handler itself began in the one and ended in the other. */
static void a_handler_may_be_split_over_two_chunks(void **state)
{
    (void)state;
    begin();
    EVENTS(BEGIN(10, 1), BEGIN(30, 3), BEGIN(21, 2));
    EVENTS(END(25, 2), END(40, 3), END(50, 1));
    open_run();
    EXPECT(BEGIN(10, 1), BEGIN(21, 2), END(25, 2), BEGIN(30, 3), END(40, 3), END(50, 1));
    assert_int_equal(events.n_backwards, 0);
    close_run();
}

static void and_handlers_in_handlers_over_three(void **state)
{
    (void)state;
    begin();
    EVENTS(BEGIN(10, 1), BEGIN(60, 3));
    EVENTS(BEGIN(50, 2));
    EVENTS(BEGIN(31, 4), END(32, 4), END(55, 2), END(70, 3), END(80, 1));
    open_run();
    EXPECT(BEGIN(10, 1), BEGIN(31, 4), END(32, 4), BEGIN(50, 2), END(55, 2), BEGIN(60, 3),
           END(70, 3), END(80, 1));
    assert_int_equal(events.n_backwards, 0);
    close_run();
}

static void a_clock_that_fell_is_held_and_counted(void **state)
{
    struct as_event fell[60], held[60];

    (void)state;
    begin();
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t kind = i % 2 ? AS_RECORD_END : AS_RECORD_BEGIN;

        fell[i] = (struct as_event){i < 20 ? 905 + 5 * i : i, 1, kind};
        held[i] = (struct as_event){i < 20 ? 905 + 5 * i : 1000, 1, kind};
    }
    kit_events(&kit, 0, fell, 60);
    EVENTS(BEGIN(500, 1), END(600, 1), BEGIN(2000, 1));
    open_run();
    expect(held, 60, false);
    EXPECT(BEGIN(1000, 1), END(1000, 1), BEGIN(2000, 1));
    expect_end(0, 42);
    close_run();
}

static void a_missing_chunk_is_a_gap(void **state)
{
    const struct as_event a[] = {BEGIN(10, 1), END(20, 1)}, b[] = {BEGIN(30, 1), END(40, 1)},
                          c[] = {BEGIN(50, 1), END(60, 1)};

    (void)state;
    begin();
    kit_chunk(&kit, 0, 1, a, 2); /* 0 is missing */
    kit_chunk(&kit, 0, 2, b, 2);
    kit_chunk(&kit, 0, 5, c, 2);
    open_run();
    expect(a, 2, true);
    expect(b, 2, false);
    expect(c, 2, true);
    expect_end(0, 0);
    close_run();
}

static void chunks_come_in_order_and_once(void **state)
{
    const struct as_event a[] = {BEGIN(10, 1), END(20, 1)}, b[] = {BEGIN(30, 1), END(40, 1)};

    (void)state;
    begin();
    kit_chunk(&kit, 0, 1, b, 2);
    kit_chunk(&kit, 0, 0, a, 2);
    kit_chunk(&kit, 0, 1, b, 2);
    open_run();
    assert_int_equal(run->health.events, 4);
    expect(a, 2, false);
    expect(b, 2, false);
    expect_end(0, 0);
    close_run();
}

static void a_block_that_holds_less_than_it_says_is_counted(void **state)
{
    const uint8_t bytes[] = {0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, AS_RECORD_ITER, 5, AS_RECORD_ITER,
                             0x60, 1};
    struct as_event_batch batch;

    (void)state;
    begin();
    kit_add(&kit, AS_BLOCK_EVENTS, bytes, sizeof bytes, 4);
    open_run();
    assert_int_equal(as_thread_events_next(&events, &batch, NULL), 1);
    assert_int_equal(batch.n_events,
                     2); /* the last takes 0x60 as its time and then the end comes */
    assert_int_equal(events.n_bad, 2);
    close_run();
}

static void a_file_changed_while_it_is_read_is_an_error(void **state)
{
    struct as_event_batch batch;
    struct assay_error err;

    (void)state;
    begin();
    EVENTS(BEGIN(10, 1), END(20, 1));
    open_run();
    assert_int_equal(pwrite(kit.w.fd, "!", 1, (off_t)kit.w.size_bytes - 1), 1);
    assert_int_equal(as_thread_events_next(&events, &batch, &err), ASSAY_ERR_IO);
    close_run();
    begin();
    EVENTS(BEGIN(10, 1), END(20, 1));
    open_run();
    assert_int_equal(ftruncate(kit.w.fd, 100), 0);
    assert_int_equal(as_thread_events_next(&events, &batch, &err), ASSAY_ERR_IO);
    close_run();
}

/* Every second event pretends to have been overtaken by all before it: the work must stay in
 * bounds. */
static void many_overtaken_events_do_not_cost_their_square(void **state)
{
    const size_t n = 400000;
    struct as_event *event = calloc(n, sizeof *event);
    struct as_event_batch batch;
    uint64_t last = 0;

    (void)state;
    assert_non_null(event);
    for (size_t i = 0; i < n; i++)
        event[i] = (struct as_event){i % 2 ? 5 : 100 + i, 1, AS_RECORD_SWITCH};
    begin();
    kit_events(&kit, 0, event, n);
    open_run();
    assert_int_equal(as_thread_events_next(&events, &batch, NULL), 1);
    assert_int_equal(batch.n_events, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(batch.event[i].time >= last);
        last = batch.event[i].time;
    }
    assert_true(events.n_displaced + events.n_backwards >= n / 2 - 1);
    close_run();
    free(event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_in_order_stay_so),
        cmocka_unit_test(an_overtaken_event_is_put_back),
        cmocka_unit_test(its_data_goes_with_it),
        cmocka_unit_test(an_event_overtaken_by_very_many_is_put_back),
        cmocka_unit_test(an_overtaken_event_goes_to_the_end),
        cmocka_unit_test(events_overtaken_by_handlers_in_handlers_are_put_back),
        cmocka_unit_test(an_event_overtaken_across_two_chunks_goes_back),
        cmocka_unit_test(a_handler_may_be_split_over_two_chunks),
        cmocka_unit_test(and_handlers_in_handlers_over_three),
        cmocka_unit_test(a_clock_that_fell_is_held_and_counted),
        cmocka_unit_test(a_missing_chunk_is_a_gap),
        cmocka_unit_test(chunks_come_in_order_and_once),
        cmocka_unit_test(a_block_that_holds_less_than_it_says_is_counted),
        cmocka_unit_test(a_file_changed_while_it_is_read_is_an_error),
        cmocka_unit_test(many_overtaken_events_do_not_cost_their_square),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
