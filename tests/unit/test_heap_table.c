/* tests/unit/test_heap_table.c - the table of live blocks against one that is plain: whatever was
 * put in is found, taken once, and nothing else is. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap_table.h"
#include "life.h"

#define N_BLOCKS  400000u
#define N_THREADS 4u
#define N_ROUNDS  40u

struct as_life as_life;

static int start(void **state)
{
    (void)state;
    return as_heap_table_start(true) ? 0 : -1;
}

/* As dense as an allocator may be: 8 bytes apart, then 16, 32 and so on. */
static uintptr_t address_of(uint32_t i)
{
    uintptr_t group = i / 10000;

    return 0x7f0000000000u + (group << 32) + (i % 10000) * ((uintptr_t)8 << group % 12);
}

static struct as_block block_of(uint32_t i)
{
    return (struct as_block){.size_bytes = i * UINT64_C(77777) % 100003, .cell = i % 65536};
}

static bool put(uintptr_t at, const struct as_block *b)
{
    struct as_block old;
    bool replaced = true, is_put = as_heap_table_put(at, b, &old, &replaced);

    assert_false(replaced);
    return is_put;
}

static void assert_block(const struct as_block *got, const struct as_block *want)
{
    assert_true(got->size_bytes == want->size_bytes);
    assert_int_equal(got->cell, want->cell);
    assert_int_equal(got->stack, want->stack);
    assert_int_equal(got->call, want->call);
}

static void blocks_are_found_once(void **state)
{
    struct as_block b, want;

    (void)state;
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        want = block_of(i);
        assert_true(put(address_of(i), &want));
    }
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        want = block_of(i);
        assert_true(as_heap_table_has(address_of(i)));
        assert_true(as_heap_table_take(address_of(i), &b));
        assert_block(&b, &want);
        assert_false(as_heap_table_take(address_of(i), &b));
    }
    assert_true(as_heap_table_used_bytes() >= N_BLOCKS * sizeof(struct as_heap_table_slot));
}

/* Places that became free are used again: the table does not grow with what comes and goes. */
static void what_comes_and_goes_takes_no_more(void **state)
{
    uint64_t before = 0;
    struct as_block b;

    (void)state;
    for (uint32_t round = 0; round < N_ROUNDS; round++) {
        for (uint32_t i = 0; i < 10000; i++) {
            const struct as_block want = block_of(i);

            assert_true(put(address_of(i), &want));
        }
        for (uint32_t i = 0; i < 10000; i++)
            assert_true(as_heap_table_take(address_of(i), &b));
        if (round == N_ROUNDS / 4) /* until then it may have grown: so dense they are */
            before = as_heap_table_used_bytes();
    }
    assert_true(as_heap_table_used_bytes() == before);
}

static void quick_and_slow_ways_see_the_same(void **state)
{
    const uintptr_t at = 0x550000001230u;
    struct as_heap_table_slot *slot;
    struct as_block b, want = {.size_bytes = 99, .cell = 7};

    (void)state;
    assert_true(put(at + 16, &want)); /* from then on the page is there */
    assert_true(as_heap_table_put_quick(at, 7, 99));
    assert_false(as_heap_table_put_quick(at, 7, 99)); /* there is one: the slow way replaces it */
    slot = as_heap_table_find_quick(at);
    assert_non_null(slot);
    assert_true(as_heap_table_take(at, &b));
    assert_block(&b, &want);
    assert_null(as_heap_table_find_quick(at));
    assert_true(as_heap_table_take(at + 16, &b));
}

static void large_blocks_and_stacks_have_details(void **state)
{
    const uintptr_t at = 0x7abcdef01230u;
    struct as_block b, want = {.size_bytes = UINT64_C(1) << 46, .cell = 3, .call = 5};
    uint32_t detail, again;

    (void)state;
    assert_false(as_heap_table_fits(at, want.size_bytes));
    assert_true(put(at, &want));
    assert_true(as_heap_table_take(at, &b));
    assert_block(&b, &want);
    want = (struct as_block){.size_bytes = 12, .cell = 9, .call = AS_TABLE_CALL_MAX};
    assert_true(put(at, &want));
    assert_true(as_heap_table_reserve(&detail));
    want.stack = 77;
    as_heap_table_set_stack(at, detail, &want);
    assert_true(as_heap_table_take(at, &b));
    assert_block(&b, &want);
    assert_true(put(at, &want)); /* as after a realloc that failed */
    assert_true(as_heap_table_take(at, &b));
    assert_block(&b, &want);
    assert_true(as_heap_table_reserve(&again));
    assert_int_equal(again, detail); /* it came back */
}

static void addresses_that_do_not_fit_are_left_out(void **state)
{
    const struct as_block b = {.size_bytes = 1, .cell = 1};
    struct as_block out;

    (void)state;
    assert_false(put((uintptr_t)1 << 48 | 0x1230, &b));
    assert_false(as_heap_table_has((uintptr_t)1 << 48 | 0x1230));
    assert_false(as_heap_table_take(0x1230, &out));
}

struct worker {
    pthread_t thread;
    uint32_t first;
    bool is_right;
};

/* Blocks of all threads lie among one another. */
static void *put_and_take(void *data)
{
    struct worker *w = data;
    struct as_block b, old;
    bool replaced;

    w->is_right = true;
    for (uint32_t round = 0; round < N_ROUNDS; round++) {
        for (uint32_t i = w->first; i < 40000; i += N_THREADS) {
            const struct as_block want = block_of(i);

            w->is_right &= as_heap_table_put(address_of(i), &want, &old, &replaced) && !replaced;
        }
        for (uint32_t i = w->first; i < 40000; i += N_THREADS)
            w->is_right &= as_heap_table_take(address_of(i), &b) &&
                           b.size_bytes == block_of(i).size_bytes && b.cell == block_of(i).cell;
    }
    return NULL;
}

static void threads_do_not_meet(void **state)
{
    struct worker w[N_THREADS];

    (void)state;
    for (uint32_t i = 0; i < N_THREADS; i++) {
        w[i].first = i;
        assert_int_equal(pthread_create(&w[i].thread, NULL, put_and_take, &w[i]), 0);
    }
    for (uint32_t i = 0; i < N_THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        assert_true(w[i].is_right);
    }
}

/* Last: from then on the table looks everywhere. */
static void a_block_freed_elsewhere_is_replaced(void **state)
{
    const struct as_block first = {.size_bytes = 10, .cell = 1},
                          second = {.size_bytes = 20, .cell = 2};
    const uintptr_t at = 0x560000000010u;
    struct as_block old;
    bool replaced;

    (void)state;
    assert_true(put(at, &first));
    assert_false(as_heap_table_is_thorough());
    assert_true(as_heap_table_put(at, &second, &old, &replaced));
    assert_true(replaced);
    assert_block(&old, &first);
    assert_true(as_heap_table_is_thorough());
    assert_true(as_heap_table_take(at, &old));
    assert_block(&old, &second);
    assert_false(as_heap_table_take(at, &old));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_and_slow_ways_see_the_same),
        cmocka_unit_test(what_comes_and_goes_takes_no_more),
        cmocka_unit_test(blocks_are_found_once),
        cmocka_unit_test(large_blocks_and_stacks_have_details),
        cmocka_unit_test(addresses_that_do_not_fit_are_left_out),
        cmocka_unit_test(threads_do_not_meet),
        cmocka_unit_test(a_block_freed_elsewhere_is_replaced),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
