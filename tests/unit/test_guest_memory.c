/* tests/unit/test_guest_memory.c - the memory that the recorder takes in a program: address space
 * and resident, with one thread and with many. docs/security.md states the bounds. */
#include "recorder_kit.h"

#include <pthread.h>
#include <stdint.h>

#define N_THREADS 8
#define MARKS     100000 /* several rings */

/* What is stated, in KiB. A ring is 512 KiB unless the program asks for another. */
#define RING_KIB        512u
#define FIXED_SIZE_KIB  (22u * 1024)
#define FIXED_RSS_KIB   (2u * 1024)
#define THREAD_SIZE_KIB (RING_KIB + 256)
#define THREAD_RSS_KIB  (RING_KIB + 64)
#define RINGS_OF(n)     ((n) + 1u) /* one stands ready for the next thread */

struct memory {
    size_t size_kib, rss_kib;
};

static pthread_barrier_t barrier;

/* The kernel adds up what is resident, page by page; what it counts in passing is not exact. */
static struct memory memory_now(void)
{
    FILE *status = fopen("/proc/self/status", "r"), *maps = fopen("/proc/self/smaps_rollup", "r");
    struct memory m = {0, 0};
    char line[256];

    assert_non_null(status);
    assert_non_null(maps);
    while (fgets(line, sizeof line, status)) {
        if (strncmp(line, "VmSize:", 7) == 0)
            m.size_kib = strtoul(line + 7, NULL, 10);
    }
    while (fgets(line, sizeof line, maps)) {
        if (strncmp(line, "Rss:", 4) == 0)
            m.rss_kib = strtoul(line + 4, NULL, 10);
    }
    fclose(status);
    fclose(maps);
    return m;
}

static void mark(void)
{
    for (int i = 0; i < MARKS; i++) {
        ASSAY_SCOPE("work");
    }
}

static void *mark_between(void *unused)
{
    pthread_barrier_wait(&barrier); /* it is there */
    pthread_barrier_wait(&barrier); /* the session is open */
    mark();
    pthread_barrier_wait(&barrier); /* it has marked */
    pthread_barrier_wait(&barrier); /* memory was looked at */
    return unused;
}

static void expect_within(struct memory before, struct memory after, unsigned n_rings)
{
    size_t size_kib = after.size_kib - before.size_kib, rss_kib = after.rss_kib - before.rss_kib;

    print_message("%u rings: %zu KiB of address space, %zu KiB resident\n", n_rings, size_kib,
                  rss_kib);
    assert_in_range(size_kib, 1, FIXED_SIZE_KIB + n_rings * THREAD_SIZE_KIB);
    assert_in_range(rss_kib, 1, FIXED_RSS_KIB + n_rings * THREAD_RSS_KIB);
}

static void record_with(unsigned n_threads)
{
    pthread_t thread[N_THREADS];
    struct memory before, after;

    pthread_barrier_init(&barrier, NULL, n_threads + 1);
    for (unsigned i = 0; i < n_threads; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, mark_between, NULL), 0);
    pthread_barrier_wait(&barrier);
    before = memory_now();
    rec_start("run.assay", NULL);
    mark();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    after = memory_now();
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < n_threads; i++)
        pthread_join(thread[i], NULL);
    rec_stop();
    pthread_barrier_destroy(&barrier);
    expect_within(before, after, n_threads ? RINGS_OF(n_threads + 1) : 1);
}

/* The first session maps what stays for the life of the process. */
static void one_thread_costs_what_is_stated(void **state)
{
    (void)state;
    record_with(0);
}

static void each_thread_costs_a_ring(void **state)
{
    (void)state;
    record_with(N_THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_thread_costs_what_is_stated, rec_clean),
        cmocka_unit_test_teardown(each_thread_costs_a_ring, rec_clean),
    };

    if (REC_SANITIZED) { /* whose shadow is larger than anything here */
        print_message("not here\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
