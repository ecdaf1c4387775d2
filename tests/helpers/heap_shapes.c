/* tests/helpers/heap_shapes.c - heaps whose size and blocks are compared with and without the
 * library in the program, for tests/e2e/test_heap_untouched.sh. usage: heap_shapes WHAT [MODULE]
 * Prints its peak RSS, or what blocks it was given. */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_SMALL   3000000
#define N_ALIGNED 200000
#define N_DEEP    10000
#define N_THREADS 8
#define N_CROWD   1500
#define N_EACH    200000
#define N_EARLY   ((size_t)400 << 20)

/* Without a block of the heap: it would be one more. */
static void print_peak(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    const char *at;

    if (n <= 0)
        return;
    close(fd);
    text[n] = '\0';
    at = strstr(text, "VmHWM:");
    if (at)
        n = snprintf(text, sizeof text, "%ld\n", strtol(at + 6, NULL, 10) * 1024);
    if (at && write(STDOUT_FILENO, text, (size_t)n) != n)
        exit(1);
}

static int small(void)
{
    for (int i = 0; i < N_SMALL; i++) {
        char *p = malloc(24);

        if (!p)
            return 1;
        *(volatile char *)p = 1;
    }
    print_peak();
    return 0;
}

static int aligned(void)
{
    for (int i = 0; i < N_ALIGNED; i++) {
        char *p = aligned_alloc(64, 4096);

        if (!p || (uintptr_t)p % 64)
            return 1;
        memset(p, 1, 4096);
    }
    print_peak();
    return 0;
}

/* Large first: then many small ones, whose part of the table is larger than the peak allows for. */
static int early(void)
{
    volatile char *p = malloc(N_EARLY);

    for (size_t i = 0; p && i < N_EARLY; i += 4096)
        p[i] = 1;
    free((void *)(uintptr_t)p);
    return small();
}

/* The table cannot grow as it would: blocks are left out of the count, and nothing else. */
static int limited(void)
{
    const struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};

    return setrlimit(RLIMIT_AS, &limit) != 0 || small();
}

struct share {
    pthread_barrier_t *barrier;
    char **block, **other;
};

static void *keep_and_release(void *data)
{
    const struct share *s = data;

    for (int i = 0; i < N_EACH; i++) {
        s->block[i] = malloc((size_t)(i % 90) + 1);
        if (s->block[i])
            s->block[i][0] = (char)i;
    }
    pthread_barrier_wait(s->barrier);
    for (int i = 0; i < N_EACH; i++) {
        if (s->other[i] && s->other[i][0] != (char)i)
            abort();
        free(s->other[i]);
    }
    return NULL;
}

/* The table grows while all threads fill it, and each frees what another allocated. */
static int together(void)
{
    static char *block[N_THREADS][N_EACH];
    pthread_barrier_t barrier;
    pthread_t thread[N_THREADS];
    struct share share[N_THREADS];

    pthread_barrier_init(&barrier, NULL, N_THREADS);
    for (int i = 0; i < N_THREADS; i++) {
        share[i] = (struct share){&barrier, block[i], block[(i + 1) % N_THREADS]};
        if (pthread_create(&thread[i], NULL, keep_and_release, &share[i]) != 0)
            return 1;
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

static pthread_barrier_t crowd_barrier;

static void *stand_in_crowd(void *data)
{
    void *volatile block = malloc(223);

    (void)data;
    pthread_barrier_wait(&crowd_barrier);
    free(block);
    return NULL;
}

/* So many threads at one time that what they count in takes more than is mapped at first; then a
 * child whose own threads do. */
static int crowd(void)
{
    static pthread_t thread[N_CROWD];
    pthread_attr_t small_stack;
    int status = 0;
    pid_t child = -2;

    pthread_attr_init(&small_stack);
    pthread_attr_setstacksize(&small_stack, 65536);
    for (int round = 0; round < 2 && child < 0; round++) {
        pthread_barrier_init(&crowd_barrier, NULL, N_CROWD);
        for (int i = 0; i < N_CROWD; i++)
            if (pthread_create(&thread[i], &small_stack, stand_in_crowd, NULL) != 0)
                return 77;
        for (int i = 0; i < N_CROWD; i++)
            pthread_join(thread[i], NULL);
        child = round == 0 ? fork() : child;
        if (child == 0)
            child = -1;
    }
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    return 0;
}

static void print_block(const char *what, size_t size, const void *p)
{
    static const char *first;

    first = first ? first : p;
    printf("%s %zu at %td usable %zu\n", what, size, (const char *)p - first,
           malloc_usable_size((void *)(uintptr_t)p));
}

/* Every other block is freed, so that later ones find holes. None is so large that it is mapped:
 * those lie where the kernel puts them. */
static int blocks(void)
{
    void *p = NULL, *moved = NULL;

    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t size = 0; size < 30000; size = size * 9 / 8 + 1) {
        print_block("malloc", size, p = malloc(size));
        free(p);
        print_block("malloc", size, malloc(size + 1));
        print_block("calloc", size, calloc(1, size));
        print_block("realloc", size, moved = realloc(moved, size + 1));
        print_block("reallocarray", size, reallocarray(NULL, 2, size + 1));
        for (size_t align = 8; align <= 65536; align *= 8) {
            print_block("memalign", size, memalign(align, size));
            print_block("aligned_alloc", size, p = aligned_alloc(align, size));
            free(p);
            if (posix_memalign(&p, align, size) != 0)
                return 1;
            print_block("posix_memalign", size, p);
        }
        print_block("valloc", size, valloc(size));
        print_block("pvalloc", size, pvalloc(size));
    }
    return 0;
}

/* Blocks of the program go to a module that binds deeply, and come from it. */
static int deep(const char *module)
{
    void *handle = dlopen(module, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND), *found;
    void *(*make)(size_t size);
    void (*release)(void *block);

    if (!handle) {
        fprintf(stderr, "heap_shapes: %s\n", dlerror());
        return 1;
    }
    found = dlsym(handle, "heap_deep_make");
    memcpy(&make, &found, sizeof make);
    found = dlsym(handle, "heap_deep_free");
    memcpy(&release, &found, sizeof release);
    if (!make || !release)
        return 1;
    for (int i = 0; i < N_DEEP; i++) {
        char *ours = malloc(173), *theirs = make(179);

        if (!ours || !theirs)
            return 1;
        memset(ours, 1, 173);
        memset(theirs, 2, 179);
        release(ours);
        theirs = realloc(theirs, 211);
        if (!theirs || theirs[178] != 2)
            return 1;
        free(theirs);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "small") == 0)
        return small();
    if (strcmp(what, "aligned") == 0)
        return aligned();
    if (strcmp(what, "early") == 0)
        return early();
    if (strcmp(what, "blocks") == 0)
        return blocks();
    if (strcmp(what, "limited") == 0)
        return limited();
    if (strcmp(what, "together") == 0)
        return together();
    if (strcmp(what, "crowd") == 0)
        return crowd();
    if (strcmp(what, "deep") == 0 && argc > 2)
        return deep(argv[2]);
    return 2;
}
