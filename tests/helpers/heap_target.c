/* tests/helpers/heap_target.c - allocates known things in known ways, for tests/e2e/test_heap*.sh.
 * heap_target WHAT [FILE]: each WHAT is a row of the table below; ends with 1 when it was not
 * treated as it should be. Blocks of a kind have a size of their own, so that a test knows them. */
#include <assay/session.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_KEPT    1000
#define N_THREADS 8
#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "heap_target: line %d: %s\n", __LINE__, #x);                           \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static void *volatile keep[N_KEPT];

static const char *file; /* the second argument */

/* 1000 blocks of 101 bytes, 600 freed; 50 of 103, 30 of 107 freed at once. */
static int counts(void)
{
    for (int i = 0; i < N_KEPT; i++)
        keep[i] = malloc(101);
    for (int i = 0; i < 600; i++)
        free(keep[i]);
    for (int i = 0; i < 50; i++)
        keep[i] = calloc(1, 103);
    for (int i = 0; i < 50; i++)
        free(keep[i]);
    for (int i = 0; i < 30; i++) {
        void *volatile p = malloc(107);

        free(p);
    }
    return 0;
}

/* A child frees 600 of the 1000 blocks of 101 it has from its parent, lets one grow, and has 10 of
 * 109 of its own; its own child frees 5 of those. */
static int forked(void)
{
    void *own[10];
    int status = 1;
    pid_t pid;

    for (int i = 0; i < N_KEPT; i++)
        keep[i] = malloc(101);
    pid = fork();
    if (pid != 0) {
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
        return 0;
    }
    for (int i = 0; i < 600; i++)
        free(keep[i]);
    keep[600] = realloc(keep[600], 113);
    for (int i = 0; i < 10; i++)
        own[i] = malloc(109);
    pid = fork();
    for (int i = 0; i < 5 && pid == 0; i++)
        free(own[i]);
    if (pid == 0)
        _exit(0);
    _exit(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1);
}

/* What each function promises. */
static int promises(void)
{
    static const size_t align[] = {8, 16, 32, 64, 256, 4096, 1 << 16, 1 << 20};
    char *p = NULL, *volatile zero;
    void *q;

    for (size_t i = 0; i < sizeof align / sizeof *align; i++) {
        CHECK(posix_memalign(&q, align[i], 1009) == 0 && (uintptr_t)q % align[i] == 0);
        CHECK(malloc_usable_size(q) >= 1009);
        memset(q, 7, malloc_usable_size(q));
        p = realloc(q, 5000);
        CHECK(p && p[0] == 7 && p[1008] == 7);
        free(p);
        p = aligned_alloc(align[i], 1013);
        CHECK(p && (uintptr_t)p % align[i] == 0);
        free(p);
        p = memalign(align[i], 1019);
        CHECK(p && (uintptr_t)p % align[i] == 0);
        free(p);
    }
    p = valloc(1021);
    CHECK(p && (uintptr_t)p % 4096 == 0);
    free(p);
    p = pvalloc(1031);
    CHECK(p && (uintptr_t)p % 4096 == 0 && malloc_usable_size(p) >= 4096);
    free(p);
    CHECK(posix_memalign(&q, 3, 10) == EINVAL && posix_memalign(&q, 0, 10) == EINVAL);
    zero = malloc(0);
    CHECK(zero != NULL);
    CHECK(realloc(zero, 0) == NULL);
    CHECK(malloc_usable_size(NULL) == 0);
    p = realloc(NULL, 31);
    CHECK(p && malloc_usable_size(p) >= 31);
    memset(p, 1, 31);
    for (size_t size = 32; size < 3000000; size = size * 3 / 2) {
        p = realloc(p, size);
        CHECK(p && p[0] == 1 && p[30] == 1 && (uintptr_t)p % 16 == 0);
    }
    p = realloc(p, 31);
    CHECK(p && p[30] == 1);
    free(p);
    p = calloc(100, 100);
    for (int i = 0; i < 10000; i++)
        CHECK(p && p[i] == 0);
    free(p);
    return 0;
}

/* errno is left alone by what works, and set by what does not. */
static int keeps_errno(void)
{
    volatile size_t huge = SIZE_MAX / 2 + 1, most = SIZE_MAX;
    void *p;

    errno = 12345;
    for (int i = 0; i < 100000; i++) {
        p = malloc((size_t)i);
        free(p);
    }
    p = calloc(3, 70000);
    p = realloc(p, 90);
    free(p);
    CHECK(errno == 12345);
    CHECK(malloc(huge) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(malloc(most) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(calloc(most, 2) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(reallocarray(NULL, most, 2) == NULL && errno == ENOMEM);
    p = malloc(10);
    memset(p, 5, 10);
    errno = 0;
    CHECK(realloc(p, huge) == NULL && errno == ENOMEM && ((char *)p)[9] == 5);
    free(p);
    CHECK(posix_memalign(&p, 64, huge) == ENOMEM);
    errno = 0;
    CHECK(memalign(64, huge) == NULL && errno == ENOMEM);
    return 0;
}

/* Ten of a million bytes at once, then none, then three. */
static int peak(void)
{
    for (int i = 0; i < 10; i++)
        keep[i] = malloc(1000000);
    for (int i = 0; i < 10; i++)
        free(keep[i]);
    for (int i = 0; i < 3; i++)
        keep[i] = malloc(1000000);
    return 0;
}

static pthread_barrier_t barrier;

static void *allocate_many(void *blocks)
{
    void **block = blocks;

    for (int i = 0; i < 10000; i++)
        block[i] = malloc(109);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 5000; i++)
        free(block[i]);
    return NULL;
}

/* 80,000 blocks of 109 bytes on eight threads; each frees half, and the first thread the rest less
 * 400. Then 500 short threads with one block of 113 each. */
static int threads(void)
{
    static void *block[N_THREADS][10000];
    pthread_t thread[N_THREADS];

    pthread_barrier_init(&barrier, NULL, N_THREADS);
    for (int i = 0; i < N_THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, allocate_many, block[i]) == 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < N_THREADS; i++)
        for (int k = 5000; k < 9950; k++)
            free(block[i][k]);
    return 0;
}

static void *allocate_one(void *slot)
{
    *(void **)slot = malloc(113);
    return NULL;
}

static int short_threads(void)
{
    for (int i = 0; i < 500; i++) {
        void *block = NULL;
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, allocate_one, &block) == 0);
        pthread_join(thread, NULL);
        keep[i] = block;
    }
    return 0;
}

/* Three iterations; layer "outer" keeps 127 bytes a call, "inner" within it has 1000 and 2000 bytes
 * for a while; one block goes from a call of inner to the next. */
static int layers(void)
{
    struct assay_error err;
    uint32_t outer, inner;
    void *volatile carried = NULL;

    if (assay_session_open(file, NULL, &err) < 0)
        return 1;
    outer = assay_layer("outer");
    inner = assay_layer("inner");
    for (int i = 0; i < 3; i++) {
        void *volatile a, *volatile b;

        assay_iteration((uint64_t)i);
        assay_begin(outer);
        keep[i] = malloc(127);
        assay_begin(inner);
        free(carried);
        a = malloc(1000);
        b = malloc(2000);
        free(b);
        carried = a;
        assay_end(inner);
        assay_end(outer);
    }
    free(carried);
    assay_session_close(NULL);
    return 0;
}

/* A child allocates, and so does one that nobody is told of. */
static int forks(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t child = i == 1 ? _Fork() : fork();
        int status = 0;

        CHECK(child >= 0);
        if (child == 0) {
            for (int k = 0; k < 1000; k++)
                keep[k] = malloc(131);
            for (int k = 0; k < 1000; k++)
                free(keep[k]);
            if (i == 2)
                execlp("true", "true", (char *)NULL);
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    keep[0] = malloc(137);
    return 0;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_realloc(void *block, size_t size);

/* Blocks that did not come from us. */
static int foreign(void)
{
    for (int i = 0; i < 20; i++) {
        char *p = __libc_malloc(200);

        memset(p, 3, 200);
        if (i < 10)
            p = realloc(p, 90000);
        CHECK(p && p[199] == 3 && malloc_usable_size(p) >= 200);
        free(p);
    }
    return 0;
}

/* One mapping of 1 MiB stays, of another one half does; a third is moved; a reservation and a file
 * do not count. */
static int mappings(void)
{
    const size_t size = 1 << 20;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS, both = PROT_READ | PROT_WRITE;
    char *kept = mmap(NULL, size, both, flags, -1, 0);
    char *half = mmap(NULL, size, both, flags, -1, 0);
    char *moved = mmap(NULL, size, both, flags, -1, 0);
    char *reserved = mmap(NULL, 1 << 30, PROT_NONE, flags | MAP_NORESERVE, -1, 0);

    CHECK(kept != MAP_FAILED && half != MAP_FAILED && moved != MAP_FAILED);
    CHECK(reserved != MAP_FAILED && munmap(half + size / 4, size / 2) == 0);
    moved = mremap(moved, size, 3 * size, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED && munmap(moved, 3 * size) == 0);
    return 0;
}

struct worker {
    uint64_t random;
    int bad;
};

/* Random sizes and functions; what was written must still be there. */
static void *shuffle(void *data)
{
    struct worker *w = data;
    unsigned char *slot[64] = {NULL};
    size_t size[64] = {0};

    for (int i = 0; i < 200000; i++) {
        uint64_t r = w->random = w->random * 6364136223846793005u + 1442695040888963407u;
        unsigned k = (unsigned)(r >> 58), how = (unsigned)(r >> 50) % 5;
        size_t n = (r >> 40) % (how == 0 ? 200000 : 700) + 1;

        if (slot[k] && (slot[k][0] != k || slot[k][size[k] - 1] != k))
            w->bad = 1;
        if (how == 1 && slot[k]) {
            slot[k] = realloc(slot[k], n);
        } else {
            free(slot[k]);
            slot[k] = how == 2 ? calloc(1, n) : how == 3 ? memalign(64, n) : malloc(n);
        }
        if (!slot[k])
            w->bad = 1;
        else
            memset(slot[k], (int)k, n);
        size[k] = n;
    }
    for (int k = 0; k < 64; k++)
        free(slot[k]);
    return NULL;
}

static int stress(void)
{
    struct worker worker[N_THREADS];
    pthread_t thread[N_THREADS];
    int bad = 0;

    for (int i = 0; i < N_THREADS; i++) {
        worker[i] = (struct worker){(uint64_t)i * 77 + 1, 0};
        CHECK(pthread_create(&thread[i], NULL, shuffle, &worker[i]) == 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(thread[i], NULL);
        bad |= worker[i].bad;
    }
    return bad;
}

static int twice(void)
{
    void *volatile p = malloc(64);

    free(p);
    free(p);
    return 0;
}

static int killed(void)
{
    keep[0] = malloc(139);
    raise(SIGKILL);
    return 0;
}

static int leaves_at_once(void)
{
    keep[0] = malloc(149);
    _exit(7);
}

static const struct {
    const char *name;
    int (*run)(void);
} table[] = {
    {"counts", counts},
    {"forked", forked},
    {"promises", promises},
    {"errno", keeps_errno},
    {"peak", peak},
    {"threads", threads},
    {"short-threads", short_threads},
    {"layers", layers},
    {"forks", forks},
    {"foreign", foreign},
    {"mappings", mappings},
    {"stress", stress},
    {"twice", twice},
    {"killed", killed},
    {"leaves", leaves_at_once},
};

int main(int argc, char **argv)
{
    file = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (argc > 1 && strcmp(argv[1], table[i].name) == 0)
            return table[i].run();
    return 2;
}
