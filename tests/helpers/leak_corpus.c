/* tests/helpers/leak_corpus.c - small programs that leak, or do not: leak_corpus NAME SECONDS.
 * Each does a number of steps at an even pace; what it keeps or frees in a step is its subject. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STEPS 1200u
#define KIB   1024u
#define MIB   (1024u * 1024u)

struct pace {
    struct timespec begin;
    double seconds;
};

/* Until step `i` is due. */
static void wait_for_step(const struct pace *pace, unsigned i)
{
    double at = pace->seconds * i / STEPS;
    struct timespec due = pace->begin;

    due.tv_sec += (time_t)at;
    due.tv_nsec += (long)((at - (double)(time_t)at) * 1e9);
    if (due.tv_nsec >= 1000000000) {
        due.tv_nsec -= 1000000000;
        due.tv_sec++;
    }
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

static void *take(size_t bytes)
{
    void *p = malloc(bytes);

    if (!p)
        exit(3);
    memset(p, 1, bytes);
    return p;
}

static void *kept[STEPS]; /* what a program holds on purpose */

static void drop(void *volatile p)
{
    (void)p; /* nobody knows it any more */
}

static unsigned chance(unsigned below)
{
    static unsigned state = 12345;

    state = state * 1103515245u + 12345u;
    return (state >> 16) % below;
}

/* ---- what leaks ---- */

static void kilobyte(unsigned i)
{
    (void)i;
    drop(take(KIB));
}

static void late(unsigned i)
{
    if (i > STEPS / 2)
        drop(take(16 * KIB));
    else
        free(take(16 * KIB));
}

static void epochs(unsigned i)
{
    if (i % 60 == 0)
        drop(take(MIB));
    free(take(64 * KIB));
}

static void mapped(unsigned i)
{
    if (i % 4)
        return;
    void *p = mmap(NULL, 128 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        exit(3);
    memset(p, 1, 128 * KIB);
    drop(p);
}

static void files(unsigned i)
{
    if (i % 12 == 0 && open("/dev/null", O_RDONLY) < 0)
        exit(3);
}

static void sockets(unsigned i)
{
    int pair[2];

    if (i % 20 == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        exit(3);
    free(take(KIB));
}

static void *rest(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

static void start_thread(void)
{
    pthread_attr_t attr;
    pthread_t thread;

    if (pthread_attr_init(&attr) != 0 || pthread_attr_setstacksize(&attr, 64 * KIB) != 0 ||
        pthread_create(&thread, &attr, rest, NULL) != 0)
        exit(3);
    pthread_attr_destroy(&attr);
}

static void threads(unsigned i)
{
    if (i % 30 == 0)
        start_thread();
}

/* A list whose head nobody cuts, below what is freed again. */
static void drift(unsigned i)
{
    static void *round[32];

    free(round[i % 32]);
    round[i % 32] = take((1 + chance(64)) * KIB);
    if (i % 3 == 0)
        drop(take(8 * KIB));
}

/* A buffer that grows by as much again and again. */
static void appended(unsigned i)
{
    static char *buffer;

    buffer = realloc(buffer, (size_t)(i + 1) * 32 * KIB);
    if (!buffer)
        exit(3);
    memset(buffer + (size_t)i * 32 * KIB, 1, 32 * KIB);
}

/* ---- what does not ---- */

static void cache(unsigned i)
{
    if (i < STEPS / 3)
        kept[i] = take(32 * KIB);
    else
        memset(kept[i % (STEPS / 3)], 2, 32 * KIB);
}

static void replaced(unsigned i)
{
    free(kept[i % 100]);
    kept[i % 100] = take((1 + chance(100)) * KIB);
}

static void sawtooth(unsigned i)
{
    kept[i % 100] = take(64 * KIB);
    if (i % 100 != 99)
        return;
    for (unsigned k = 0; k < 100; k++)
        free(kept[k]);
}

static void steady(unsigned i)
{
    free(take((1 + i % 40) * KIB));
}

static void weights(unsigned i)
{
    static char *map;
    char name[] = "/tmp/leak-corpus.XXXXXX";
    const size_t part = 64 * KIB;

    if (!map) {
        int fd = mkostemp(name, O_CLOEXEC);

        if (fd < 0 || ftruncate(fd, (off_t)(STEPS * part)) != 0)
            exit(3);
        unlink(name);
        map = mmap(NULL, STEPS * part, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (map == MAP_FAILED)
            exit(3);
    }
    memset(map + i * part, 1, part);
}

static void closed(unsigned i)
{
    static int fd[50];

    if (i % 8 == 0 && (fd[i / 8 % 50] = open("/dev/null", O_RDONLY)) < 0)
        exit(3);
    for (unsigned k = 0; i % 400 == 399 && k < 50; k++)
        close(fd[k]);
}

static void pool(unsigned i)
{
    if (i % 20 == 0 && i < STEPS / 4)
        start_thread();
}

static void connections(unsigned i) /* as many as there are clients */
{
    static int fd[64];
    unsigned at = chance(64);

    if (i % 4)
        return;
    if (fd[at] > 0)
        close(fd[at]);
    fd[at] = fd[at] > 0 ? 0 : dup(0);
}

static void start_up(unsigned i) /* reads its input, and then works on it */
{
    if (i < STEPS / 10)
        kept[i] = take(256 * KIB);
    free(take(KIB));
}

static void freed_at_end(unsigned i)
{
    kept[i] = take(16 * KIB);
    for (unsigned k = 0; i == STEPS - 1 && k < STEPS; k++)
        free(kept[k]);
}

static void shrinks(unsigned i)
{
    if (i == 0)
        for (unsigned k = 0; k < STEPS; k++)
            kept[k] = take(16 * KIB);
    free(kept[i]);
    kept[i] = NULL;
}

static void unmapped(unsigned i)
{
    size_t bytes = (1 + i % 16) * 256 * KIB;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        exit(3);
    memset(p, 1, bytes);
    munmap(p, bytes);
}

static const struct program {
    const char *name;
    void (*step)(unsigned i);
} program[] = {
    {"kilobyte", kilobyte},
    {"late", late},
    {"epochs", epochs},
    {"mapped", mapped},
    {"files", files},
    {"sockets", sockets},
    {"threads", threads},
    {"drift", drift},
    {"appended", appended},
    {"cache", cache},
    {"replaced", replaced},
    {"sawtooth", sawtooth},
    {"steady", steady},
    {"weights", weights},
    {"closed", closed},
    {"pool", pool},
    {"connections", connections},
    {"start_up", start_up},
    {"freed_at_end", freed_at_end},
    {"shrinks", shrinks},
    {"unmapped", unmapped},
};

int main(int argc, char **argv)
{
    struct pace pace = {.seconds = argc == 3 ? strtod(argv[2], NULL) : 3};

    (void)clock_gettime(CLOCK_MONOTONIC, &pace.begin);
    for (size_t k = 0; argc > 1 && k < sizeof program / sizeof *program; k++) {
        if (strcmp(argv[1], program[k].name) != 0)
            continue;
        for (unsigned i = 0; i < STEPS; i++) {
            wait_for_step(&pace, i);
            program[k].step(i);
        }
        return 0;
    }
    (void)fprintf(stderr, "usage: leak_corpus NAME SECONDS\n");
    return 2;
}
