/* tests/unit/test_event_code.c - every event comes back as it went in, and nonsense is refused.
 * Random events are made from fixed seeds, so a failure repeats. */
#include "unit.h"

#include "stats/describe/rng.h"
#include "trace/record/event_code.h"

#define N_EVENTS 4000

static const uint32_t kinds[] = {
    AS_RECORD_BEGIN,   AS_RECORD_END,       AS_RECORD_FAIL,    AS_RECORD_SWITCH,
    AS_RECORD_ITER,    AS_RECORD_ITER_END,  AS_RECORD_SAMPLE,  AS_RECORD_LOST_FROM,
    AS_RECORD_LOST_TO, AS_RECORD_WAIT_FROM, AS_RECORD_WAIT_TO, AS_RECORD_VALUE,
    AS_RECORD_NUMBER,  AS_RECORD_CPU,       AS_RECORD_LENGTH,  AS_RECORD_NOTE,
    AS_RECORD_PAD,
};

static uint64_t any_number(struct as_rng *rng)
{
    uint64_t bits = as_rng_below(rng, 65);

    return bits ? as_rng_next(rng) >> (64 - bits) : 0;
}

static struct as_event any_event(struct as_rng *rng, uint64_t near)
{
    struct as_event e = {.kind = kinds[as_rng_below(rng, UNIT_COUNT(kinds))],
                         .site = (uint32_t)any_number(rng)};

    if (as_rng_below(rng, 4)) /* usually close to the one before, on either side */
        e.time = near + as_rng_below(rng, 2000) - 1000;
    else
        e.time = any_number(rng);
    if (as_rng_below(rng, 3) == 0)
        e.site = (uint32_t)as_rng_below(rng, 3);
    return e;
}

static void random_events_come_back(void **state)
{
    static struct as_event event[N_EVENTS];
    static uint8_t bytes[N_EVENTS * AS_EVENT_MAX_BYTES];

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct as_event_coder in = {.time = seed * 77}, out = in;
        uint8_t *to = bytes;
        struct as_cursor c;
        struct as_rng rng;
        uint64_t near = 1u << 20;

        as_rng_seed(&rng, seed);
        for (size_t i = 0; i < N_EVENTS; i++) {
            uint8_t *from = to;

            event[i] = any_event(&rng, near);
            near = event[i].time;
            to = as_event_encode(&in, &event[i], to);
            assert_true(to - from <= AS_EVENT_MAX_BYTES);
        }
        c = as_cursor_over(bytes, (size_t)(to - bytes));
        for (size_t i = 0; i < N_EVENTS; i++) {
            struct as_event e;

            assert_true(as_event_decode(&out, &c, &e));
            assert_int_equal(e.kind, event[i].kind);
            assert_int_equal(e.site, event[i].site);
            assert_true(e.time == event[i].time);
        }
        assert_int_equal(as_cursor_left(&c), 0);
        assert_false(as_event_decode(&out, &c, &event[0]));
    }
}

static void time_may_run_backwards_by_any_amount(void **state)
{
    static const uint64_t times[] = {0, UINT64_MAX, 1, UINT64_MAX / 2, UINT64_MAX / 2 + 2, 5, 5, 4};
    struct as_event_coder in = {0}, out = {0};
    uint8_t bytes[UNIT_COUNT(times) * AS_EVENT_MAX_BYTES], *to = bytes;
    struct as_cursor c;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(times); i++) {
        struct as_event e = {.time = times[i], .site = 9, .kind = AS_RECORD_BEGIN};

        to = as_event_encode(&in, &e, to);
    }
    c = as_cursor_over(bytes, (size_t)(to - bytes));
    for (size_t i = 0; i < UNIT_COUNT(times); i++) {
        struct as_event e;

        assert_true(as_event_decode(&out, &c, &e));
        assert_true(e.time == times[i]);
        assert_int_equal(e.site, 9);
    }
}

static void an_event_cut_anywhere_is_refused(void **state)
{
    const struct as_event e = {.time = UINT64_MAX, .site = UINT32_MAX, .kind = AS_RECORD_END};
    const struct as_event note = {.time = 1, .site = 300, .kind = AS_RECORD_NOTE};
    uint8_t bytes[AS_EVENT_MAX_BYTES];
    struct as_event out;

    (void)state;
    for (int round = 0; round < 2; round++) {
        struct as_event_coder coder = {0};
        size_t size = (size_t)(as_event_encode(&coder, round ? &note : &e, bytes) - bytes);

        for (size_t cut = 0; cut <= size; cut++) {
            struct as_event_coder fresh = {0};
            struct as_cursor c = as_cursor_over(bytes, cut);

            assert_int_equal(as_event_decode(&fresh, &c, &out), cut == size);
        }
    }
}

static void nonsense_is_refused(void **state)
{
    static const struct {
        const char *what;
        uint8_t size, bytes[13];
    } bad[] = {
        {"no kind", 2, {0x00, 0x01}},
        {"a site form that is none", 3, {0x60 | AS_RECORD_BEGIN, 0x01, 0x01}},
        {"a site past 32 bits",
         8,
         {0x40 | AS_RECORD_BEGIN, 0xff, 0xff, 0xff, 0xff, 0x1f, 0x01, 0x01}},
        {"a time past 64 bits",
         12,
         {AS_RECORD_BEGIN, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00}},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct as_event_coder coder = {0};
        struct as_cursor c = as_cursor_over(bad[i].bytes, bad[i].size);
        struct as_event e;

        if (as_event_decode(&coder, &c, &e))
            fail_msg("%s was taken", bad[i].what);
    }
}

static void random_bytes_never_read_past_the_end(void **state)
{
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 5);
    for (int round = 0; round < 20000; round++) {
        size_t size = as_rng_below(&rng, 40);
        uint8_t *bytes = test_malloc(size + 1); /* so that the sanitizer sees its end */
        struct as_event_coder coder = {0};
        struct as_cursor c = as_cursor_over(bytes, size);
        struct as_event e;
        size_t n = 0;

        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)as_rng_next(&rng);
        while (as_event_decode(&coder, &c, &e))
            n++;
        assert_true(n <= size / 2);
        test_free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events_come_back),
        cmocka_unit_test(time_may_run_backwards_by_any_amount),
        cmocka_unit_test(an_event_cut_anywhere_is_refused),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(random_bytes_never_read_past_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
