/* bench/heap_loop.c - many small blocks: 16 to 1039 bytes, 256 of them live, at call depth 3.
 * usage: bench-heap-loop PAIRS THREADS; prints the CPU nanoseconds for a malloc and a free. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_THREADS 64
#define N_SLOTS     256

struct work {
    long pairs;
    uint64_t random;
};

static __attribute__((noinline)) void *innermost(size_t size)
{
    char *p = malloc(size);

    if (p)
        *(volatile char *)p = 1;
    return p;
}

static __attribute__((noinline)) void *middle(size_t size)
{
    void *p = innermost(size);

    __asm__ volatile("" : "+r"(p)); /* not a tail call: the frame counts */
    return p;
}

static __attribute__((noinline)) void *outermost(size_t size)
{
    void *p = middle(size);

    __asm__ volatile("" : "+r"(p));
    return p;
}

static void *run(void *data)
{
    const struct work *w = data;
    void *slot[N_SLOTS] = {NULL};
    uint64_t r = w->random;

    for (long i = 0; i < w->pairs; i++) {
        size_t k;

        r ^= r << 13;
        r ^= r >> 7;
        r ^= r << 17;
        k = (size_t)(r >> 40) % N_SLOTS;
        free(slot[k]);
        slot[k] = outermost(16 + (size_t)(r >> 10) % 1024);
    }
    for (size_t k = 0; k < N_SLOTS; k++)
        free(slot[k]);
    return NULL;
}

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    pthread_t thread[MAX_THREADS];
    struct work work[MAX_THREADS];
    double start = cpu_ns();

    if (pairs < 1 || n < 1 || n > MAX_THREADS)
        return 2;
    for (long i = 0; i < n; i++) {
        work[i] = (struct work){pairs, (uint64_t)(i + 1) * 88172645463325252u};
        if (n > 1 && pthread_create(&thread[i], NULL, run, &work[i]) != 0)
            return 3;
    }
    if (n == 1)
        run(&work[0]);
    for (long i = 0; n > 1 && i < n; i++)
        pthread_join(thread[i], NULL);
    printf("%.3f\n", (cpu_ns() - start) / (double)pairs / (double)n);
    return 0;
}
