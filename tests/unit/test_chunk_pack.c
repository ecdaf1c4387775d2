/* tests/unit/test_chunk_pack.c - what of a chunk is taken: complete records alone.
 * Chunks are filled by hand, as a recorder or a kill would leave them. */
#include "unit.h"

#include <stdlib.h>

#include "trace/record/event_code.h"

#define TAG ((uint64_t)7 << AS_TAG_SHIFT)

struct unpacked {
    uint64_t thread, sequence;
    struct as_event event[AS_CHUNK_CAPACITY];
    size_t n;
};

static struct as_chunk chunk;
static uint8_t bytes[AS_CHUNK_PACKED_BYTES];
static struct unpacked got;

static void put(uint32_t slot, uint64_t tag, uint64_t time, uint32_t kind, uint32_t site)
{
    chunk.slot[slot] = (struct assay_record_){time, as_record_word(tag, kind, site)};
}

static void fresh(void)
{
    memset(&chunk, 0, sizeof chunk);
    chunk.tag = TAG;
    chunk.sequence = 300;
    chunk.thread = 5;
}

static void unpack(struct as_chunk_packed packed)
{
    struct as_cursor c = as_cursor_over(bytes, packed.size);
    struct as_event_coder coder = {0};
    uint64_t first;

    assert_true(as_take_varint(&c, &got.thread) && as_take_varint(&c, &got.sequence) &&
                as_take_varint(&c, &first) && as_take_u64le(&c, &coder.time));
    for (got.n = 0; got.n < packed.n_records; got.n++)
        assert_true(as_event_decode(&coder, &c, &got.event[got.n]));
    assert_int_equal(as_cursor_left(&c), 0);
}

static void a_full_chunk_is_taken_whole(void **state)
{
    struct as_chunk_packed packed;

    (void)state;
    fresh();
    for (uint32_t i = 0; i < AS_CHUNK_CAPACITY; i++)
        put(i, TAG, 1000 + 10 * (uint64_t)i, i % 2 ? AS_RECORD_END : AS_RECORD_BEGIN, 1 + i % 3);
    packed = as_chunk_pack(&chunk, bytes);
    assert_int_equal(packed.n_records, AS_CHUNK_CAPACITY);
    assert_int_equal(packed.n_holes, 0);
    unpack(packed);
    assert_int_equal(got.thread, 5);
    assert_int_equal(got.sequence, 300);
    for (uint32_t i = 0; i < AS_CHUNK_CAPACITY; i++) {
        assert_int_equal(got.event[i].time, 1000 + 10 * i);
        assert_int_equal(got.event[i].site, 1 + i % 3);
    }
}

static void the_largest_payload_fits(void **state)
{
    struct as_chunk_packed packed;

    (void)state;
    fresh();
    chunk.thread = chunk.sequence = UINT64_MAX;
    for (uint32_t i = 0; i < AS_CHUNK_CAPACITY;
         i++) /* far apart in time and all of different sites */
        put(i, TAG, i % 2 ? UINT64_MAX / 2 : 0, AS_RECORD_BEGIN, UINT32_MAX - i);
    packed = as_chunk_pack(&chunk, bytes);
    assert_true(packed.size <= sizeof bytes);
    unpack(packed);
    assert_int_equal(got.n, AS_CHUNK_CAPACITY);
}

static void an_empty_chunk_gives_nothing(void **state)
{
    struct as_chunk_packed packed;

    (void)state;
    fresh();
    packed = as_chunk_pack(&chunk, bytes);
    assert_int_equal(packed.n_records, 0);
    assert_int_equal(packed.n_holes, 0);
}

static void holes_are_counted_and_the_tail_is_none(void **state)
{
    struct as_chunk_packed packed;

    (void)state;
    fresh();
    put(0, TAG, 10, AS_RECORD_BEGIN, 1);
    put(3, TAG, 20, AS_RECORD_END, 1); /* 1 and 2 were claimed and not stored */
    packed = as_chunk_pack(&chunk, bytes);
    assert_int_equal(packed.n_tail, AS_CHUNK_CAPACITY - 4);
    assert_int_equal(packed.n_records, 2);
    assert_int_equal(packed.n_holes, 2);
    unpack(packed);
    assert_int_equal(got.event[1].time, 20);
    chunk.slot[1].time = 15; /* the time is there, the word not yet */
    packed = as_chunk_pack(&chunk, bytes);
    assert_int_equal(packed.n_records, 2);
    assert_int_equal(packed.n_holes, 2);
}

static void records_of_an_earlier_use_are_left_out(void **state)
{
    struct as_chunk_packed packed;

    (void)state;
    fresh();
    for (uint32_t i = 0; i < AS_CHUNK_CAPACITY; i++)
        put(i, (uint64_t)6 << AS_TAG_SHIFT, 5, AS_RECORD_BEGIN, 9);
    put(0, TAG, 10, AS_RECORD_BEGIN, 1);
    put(1, TAG, 11, AS_RECORD_END, 1);
    packed = as_chunk_pack(&chunk, bytes);
    assert_int_equal(packed.n_records, 2);
    assert_int_equal(packed.n_holes, 0);
    unpack(packed);
    assert_int_equal(got.event[0].site, 1);
}

static void pads_and_unknown_kinds_are_left_out(void **state)
{
    struct as_chunk_packed packed;

    (void)state;
    fresh();
    put(0, TAG, 10, AS_RECORD_BEGIN, 1);
    put(1, TAG, 0, AS_RECORD_PAD, 0);
    put(2, TAG, 0, AS_RECORD_NONE, 4);
    put(3, TAG, 0, AS_RECORD_COUNT, 4);
    put(4, TAG, 0, 255, 4);
    packed = as_chunk_pack(&chunk, bytes);
    assert_int_equal(packed.n_records, 1);
    assert_int_equal(packed.n_holes, 0);
}

static void a_chunk_may_begin_with_data(void **state)
{
    struct as_chunk_packed packed;

    (void)state;
    fresh();
    put(0, TAG, 42, AS_RECORD_NOTE, 3);
    put(1, TAG, 1u << 30, AS_RECORD_END, 1);
    packed = as_chunk_pack(&chunk, bytes);
    unpack(packed);
    assert_int_equal(got.n, 2);
    assert_int_equal(got.event[0].time, 42);
    assert_int_equal(got.event[1].time, 1u << 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_chunk_is_taken_whole),
        cmocka_unit_test(the_largest_payload_fits),
        cmocka_unit_test(an_empty_chunk_gives_nothing),
        cmocka_unit_test(holes_are_counted_and_the_tail_is_none),
        cmocka_unit_test(records_of_an_earlier_use_are_left_out),
        cmocka_unit_test(pads_and_unknown_kinds_are_left_out),
        cmocka_unit_test(a_chunk_may_begin_with_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
