/* tests/unit/test_memory_counts.c - the program's own account of memory: exact, over threads, and
 * forgiving of mistakes, which it counts. */
#include "unit.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "probe/process/memory_probe.h"

static struct assay_memory_counts now(void)
{
    struct assay_memory_counts c;

    assay_memory_read_counts(&c);
    return c;
}

/* Runs first: nothing was counted yet. */
static void silence_is_not_zero(void **state)
{
    uint64_t total;

    (void)state;
    assert_false(now().any);
    assert_false(as_memory_counted_total(&total));
}

static void kinds_have_names(void **state)
{
    (void)state;
    assert_string_equal(assay_memory_kind_name(ASSAY_MEMORY_PARAMETERS), "parameters");
    assert_string_equal(assay_memory_kind_name(ASSAY_MEMORY_TEMP), "temp");
    assert_null(assay_memory_kind_name(ASSAY_MEMORY_KIND_COUNT));
    assert_null(assay_memory_kind_name((enum assay_memory_kind) - 1));
}

static void the_peak_of_the_sum_is_not_the_sum_of_peaks(void **state)
{
    struct assay_memory_counts c;

    (void)state;
    assay_memory_add(ASSAY_MEMORY_KV_CACHE, 100);
    assay_memory_sub(ASSAY_MEMORY_KV_CACHE, 100);
    assay_memory_add(ASSAY_MEMORY_TEMP, 60);
    assay_memory_add(ASSAY_MEMORY_ACTIVATIONS, 30);
    c = now();
    assert_true(c.any);
    assert_int_equal(c.current_bytes[ASSAY_MEMORY_KV_CACHE], 0);
    assert_int_equal(c.peak_bytes[ASSAY_MEMORY_KV_CACHE], 100);
    assert_int_equal(c.current_bytes[ASSAY_MEMORY_TEMP], 60);
    assert_int_equal(c.current_total_bytes, 90);
    assert_int_equal(c.peak_total_bytes, 100);
    assert_int_equal(c.added[ASSAY_MEMORY_TEMP], 1);
    assert_int_equal(c.mistakes, 0);
    assay_memory_sub(ASSAY_MEMORY_TEMP, 60);
    assay_memory_sub(ASSAY_MEMORY_ACTIVATIONS, 30);
    assert_int_equal(now().current_total_bytes, 0);
}

static void mistakes_are_counted_and_do_no_harm(void **state)
{
    uint64_t before = now().mistakes, peak = now().peak_total_bytes;

    (void)state;
    assay_memory_add(ASSAY_MEMORY_GRADIENTS, 10);
    assay_memory_sub(ASSAY_MEMORY_GRADIENTS, 11);
    assert_int_equal(now().current_bytes[ASSAY_MEMORY_GRADIENTS], 0);
    assert_int_equal(now().current_total_bytes, 0);
    assert_int_equal(now().mistakes, before + 1);
    assay_memory_add((enum assay_memory_kind)99, 5);
    assay_memory_sub((enum assay_memory_kind) - 3, 5);
    assert_int_equal(now().mistakes, before + 3);
    assay_memory_add(ASSAY_MEMORY_TEMP, UINT64_MAX);
    assert_int_equal(now().mistakes, before + 4);
    for (int i = 0; i < 6; i++)
        assay_memory_add((enum assay_memory_kind)i, UINT64_C(1) << 61); /* two of them fit */
    assert_int_equal(now().mistakes, before + 8);
    assert_true(now().current_total_bytes == UINT64_C(1) << 62);
    for (int i = 0; i < 6; i++)
        assay_memory_sub((enum assay_memory_kind)i, UINT64_MAX);
    assert_int_equal(now().current_total_bytes, 0);
    assert_true(now().peak_total_bytes >= peak);
}

static void blocks_count_themselves(void **state)
{
    uint64_t before = now().mistakes, added = now().added[ASSAY_MEMORY_OPTIMIZER];
    char *block = assay_memory_alloc(ASSAY_MEMORY_OPTIMIZER, 1000);
    char *empty = assay_memory_alloc(ASSAY_MEMORY_OPTIMIZER, 0);
    char *odd = assay_memory_alloc((enum assay_memory_kind)77, 10);
    _Alignas(64) char fake[192] = {0};

    (void)state;
    assert_non_null(block);
    assert_non_null(empty);
    assert_non_null(odd);
    assert_int_equal((uintptr_t)block % 64, 0);
    memset(block, 1, 1000);
    memset(odd, 1, 10);
    assert_int_equal(now().current_bytes[ASSAY_MEMORY_OPTIMIZER], 1000);
    assert_int_equal(now().added[ASSAY_MEMORY_OPTIMIZER], added + 2);
    assert_int_equal(now().mistakes, before + 1);
    assay_memory_free(block);
    assay_memory_free(empty);
    assay_memory_free(odd);
    assay_memory_free(NULL);
    assert_int_equal(now().current_bytes[ASSAY_MEMORY_OPTIMIZER], 0);
    assay_memory_free(fake + 64); /* not one of ours: left alone */
    assert_int_equal(now().mistakes, before + 2);
    assert_null(assay_memory_alloc(ASSAY_MEMORY_TEMP, SIZE_MAX));
    assert_int_equal(now().current_total_bytes, 0);
}

static void without_memory_a_block_is_null(void **state)
{
    void *block;

    (void)state;
    as_alloc_fail_at(1, 1);
    block = assay_memory_alloc(ASSAY_MEMORY_TEMP, 100);
    as_alloc_fail_at(0, 0);
#ifdef ASSAY_FAULTS
    assert_null(block);
#endif
    assay_memory_free(block);
    assert_int_equal(now().current_total_bytes, 0);
}

/* ---- spans ---- */

static struct as_memory_thread_use end(struct as_memory_thread_span *span)
{
    struct as_memory_thread_use use;

    as_memory_span_end(span, &use);
    return use;
}

static void a_span_sees_its_own_peak_and_those_within(void **state)
{
    struct as_memory_thread_span outer, inner;
    struct as_memory_thread_use use;

    (void)state;
    assay_memory_add(ASSAY_MEMORY_PARAMETERS, 5000); /* before: no span's */
    as_memory_span_begin(&outer);
    assay_memory_add(ASSAY_MEMORY_TEMP, 300);
    assay_memory_sub(ASSAY_MEMORY_TEMP, 300);
    assay_memory_add(ASSAY_MEMORY_ACTIVATIONS, 50);
    as_memory_span_begin(&inner);
    assay_memory_add(ASSAY_MEMORY_TEMP, 200);
    assay_memory_sub(ASSAY_MEMORY_TEMP, 150);
    use = end(&inner);
    assert_null(use.why);
    assert_int_equal(use.peak_bytes, 200);
    assert_int_equal(use.net_bytes, 50);
    use = end(&outer);
    assert_null(use.why);
    assert_int_equal(use.peak_bytes, 300); /* its own, before the inner one began */
    assert_int_equal(use.net_bytes, 100);
    as_memory_span_begin(&outer);
    assay_memory_sub(ASSAY_MEMORY_TEMP, 50);
    assay_memory_sub(ASSAY_MEMORY_ACTIVATIONS, 50);
    assay_memory_sub(ASSAY_MEMORY_PARAMETERS, 5000);
    use = end(&outer);
    assert_int_equal(use.peak_bytes, 0);
    assert_int_equal(use.net_bytes, -5100);
}

static void spans_that_cross_say_so_and_the_next_are_exact_again(void **state)
{
    struct as_memory_thread_span top, a, b, next;
    struct as_memory_thread_use use;

    (void)state;
    as_memory_span_begin(&top);
    as_memory_span_begin(&a);
    assay_memory_add(ASSAY_MEMORY_TEMP, 70); /* hidden in b's memory of what was before it */
    assay_memory_sub(ASSAY_MEMORY_TEMP, 70);
    as_memory_span_begin(&b);
    assert_non_null(end(&a).why);
    assert_non_null(end(&b).why);
    assert_non_null(end(&top).why);
    assert_non_null(end(&top).why); /* twice */
    as_memory_span_begin(&top);
    as_memory_span_begin(&next);
    assay_memory_add(ASSAY_MEMORY_TEMP, 10);
    use = end(&next);
    assert_null(use.why);
    assert_int_equal(use.peak_bytes, 10);
    assay_memory_sub(ASSAY_MEMORY_TEMP, 10);
    use = end(&top);
    assert_null(use.why);
    assert_int_equal(use.peak_bytes, 10);
}

static void *end_elsewhere(void *user)
{
    struct as_memory_thread_use use = end(user);

    assert_non_null(use.why);
    return NULL;
}

static void a_span_ends_on_its_own_thread_only(void **state)
{
    struct as_memory_thread_span span, next;
    pthread_t thread;

    (void)state;
    as_memory_span_begin(&span);
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, &span), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    as_memory_span_begin(&next);
    assert_null(end(&next).why);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 20000, STEP = 64 };

static pthread_barrier_t all_hold;

static void *count_much(void *user)
{
    enum assay_memory_kind kind = *(const enum assay_memory_kind *)user;
    struct as_memory_thread_span span;
    struct as_memory_thread_use use;

    as_memory_span_begin(&span);
    for (int i = 0; i < ROUNDS; i++) {
        assay_memory_add(kind, STEP);
        assay_memory_sub(kind, STEP);
    }
    assay_memory_add(kind, 1000);
    pthread_barrier_wait(&all_hold); /* here all of them hold theirs at once */
    assay_memory_sub(kind, 1000);
    as_memory_span_end(&span, &use);
    assert_null(use.why);
    assert_int_equal(use.peak_bytes, 1000); /* whatever the others did */
    assert_int_equal(use.net_bytes, 0);
    return NULL;
}

static void child_counts_many(void)
{
    enum assay_memory_kind kind[THREADS] = {ASSAY_MEMORY_TEMP, ASSAY_MEMORY_TEMP,
                                            ASSAY_MEMORY_KV_CACHE, ASSAY_MEMORY_GRADIENTS};
    struct assay_memory_counts before = now(), c;
    pthread_t thread[THREADS];

    for (int round = 0; round < 3; round++) { /* threads that end hand their counts on */
        pthread_barrier_init(&all_hold, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, count_much, &kind[i]), 0);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_join(thread[i], NULL), 0);
        pthread_barrier_destroy(&all_hold);
    }
    c = now();
    assert_int_equal(c.mistakes, before.mistakes);
    assert_int_equal(c.current_total_bytes, 0);
    assert_int_equal(c.added[ASSAY_MEMORY_TEMP] - before.added[ASSAY_MEMORY_TEMP],
                     3 * 2 * (ROUNDS + 1));
    assert_int_equal(c.added[ASSAY_MEMORY_GRADIENTS] - before.added[ASSAY_MEMORY_GRADIENTS],
                     3 * (ROUNDS + 1));
    if (before.peak_total_bytes > 0)
        return;
    assert_int_equal(c.peak_bytes[ASSAY_MEMORY_TEMP], 2000);
    assert_int_equal(c.peak_bytes[ASSAY_MEMORY_KV_CACHE], 1000);
    assert_int_equal(c.peak_total_bytes, 4000);
}

static void threads_add_up_to_the_byte(void **state)
{
    (void)state;
    child_counts_many();
}

/* Before anything else was counted, so that the peaks are those of the threads. */
static void peaks_over_threads_are_exact(void **state)
{
    int status = -1;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        child_counts_many();
        _exit(now().peak_total_bytes == 4000 ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_child_goes_on_counting(void **state)
{
    uint64_t before = now().current_bytes[ASSAY_MEMORY_TEMP];
    int status = -1;
    pid_t child;

    (void)state;
    assay_memory_add(ASSAY_MEMORY_TEMP, 10);
    child = fork();
    if (child == 0) {
        assay_memory_add(ASSAY_MEMORY_TEMP, 5);
        _exit(now().current_bytes[ASSAY_MEMORY_TEMP] == before + 15 ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(now().current_bytes[ASSAY_MEMORY_TEMP],
                     before + 10); /* the child's is its own */
    assay_memory_sub(ASSAY_MEMORY_TEMP, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_is_not_zero),
        cmocka_unit_test(peaks_over_threads_are_exact),
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(the_peak_of_the_sum_is_not_the_sum_of_peaks),
        cmocka_unit_test(mistakes_are_counted_and_do_no_harm),
        cmocka_unit_test(blocks_count_themselves),
        cmocka_unit_test(without_memory_a_block_is_null),
        cmocka_unit_test(a_span_sees_its_own_peak_and_those_within),
        cmocka_unit_test(spans_that_cross_say_so_and_the_next_are_exact_again),
        cmocka_unit_test(a_span_ends_on_its_own_thread_only),
        cmocka_unit_test(threads_add_up_to_the_byte),
        cmocka_unit_test(a_child_goes_on_counting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
