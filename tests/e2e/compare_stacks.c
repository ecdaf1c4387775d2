/* tests/e2e/compare_stacks.c - preloaded into programs: at every n-th allocation the stack as
 * preload/stack_walk.c sees it is held against the compiler's own unwinder. What it found stands in
 * the file that COMPARE_STACKS names: stacks that are equal, that went the other way, that differ.
 * With COMPARE_STACKS_ALONE the other is not asked. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include "stack_walk.h"

#define FRAMES 512u

extern void *__libc_malloc(size_t size);
void *malloc(size_t size);

extern const char etext[] __attribute__((visibility("hidden")));
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static _Atomic unsigned long calls, equal, refused, different, unfinished, frames;
static unsigned long every = 97;
static const char *path;
static _Atomic bool started;
static bool alone; /* the compiler's would not survive the program */
static __thread bool within;
static __thread uint64_t ours[FRAMES], theirs[FRAMES];

void *as_unwind_memory(void)
{
    void *p = mmap(NULL, AS_UNWIND_CACHE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

void as_unwind_count(uint64_t bytes)
{
    (void)bytes;
}

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *data)
{
    uintptr_t at = (uintptr_t)_Unwind_GetIP(context);
    struct as_unwound *w = data;

    if (at == 0)
        return _URC_END_OF_STACK;
    if (at >= (uintptr_t)__ehdr_start && at < (uintptr_t)etext)
        return _URC_NO_REASON;
    w->cut = w->n == w->capacity;
    if (w->cut)
        return _URC_END_OF_STACK;
    w->frame[w->n++] = at;
    return _URC_NO_REASON;
}

static void note_difference(const struct as_unwound *a, const struct as_unwound *b)
{
    char text[400];
    uint32_t i = 0;
    int n, fd;
    Dl_info info = {.dli_fname = "?"};

    while (i < a->n && i < b->n && a->frame[i] == b->frame[i])
        i++;
    if (i > 0)
        (void)dladdr((void *)a->frame[i - 1], &info);
    n = snprintf(text, sizeof text, "differs at %u of %u and %u: %llx, %llx behind %s+%llx\n", i,
                 a->n, b->n, i < a->n ? (unsigned long long)a->frame[i] : 0,
                 i < b->n ? (unsigned long long)b->frame[i] : 0, info.dli_fname,
                 i ? (unsigned long long)(a->frame[i - 1] - (uintptr_t)info.dli_fbase) : 0);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, text, (size_t)n) < 0)
        abort();
    if (fd >= 0)
        close(fd);
}

static __attribute__((noinline)) void compare(void)
{
    struct as_unwound a = {.frame = ours, .capacity = FRAMES};
    struct as_unwound b = {.frame = theirs, .capacity = FRAMES};
    int before = errno;

    within = true;
    if (!as_unwind(__builtin_frame_address(0), (uintptr_t)__ehdr_start, (uintptr_t)etext, &a)) {
        atomic_fetch_add(&refused, 1);
    } else if (alone) {
        atomic_fetch_add(&equal, 1);
    } else {
        (void)_Unwind_Backtrace(step, &b);
        atomic_fetch_add(&frames, b.n);
        if (a.n == b.n && a.cut == b.cut && memcmp(ours, theirs, a.n * sizeof *ours) == 0) {
            atomic_fetch_add(&equal, 1);
        } else if (a.cut && a.n < b.n && memcmp(ours, theirs, a.n * sizeof *ours) == 0) {
            atomic_fetch_add(&unfinished, 1);
        } else if (atomic_fetch_add(&different, 1) < 10) {
            note_difference(&a, &b);
        }
    }
    within = false;
    errno = before;
}

void *malloc(size_t size)
{
    void *p = __libc_malloc(size);

    if (started && !within && atomic_fetch_add(&calls, 1) % every == 0)
        compare();
    return p;
}

static void finish(void)
{
    char text[200];
    int n = snprintf(text, sizeof text,
                     "equal %lu frames %lu refused %lu unfinished %lu different %lu\n", equal,
                     frames, refused, unfinished, different);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd >= 0 && write(fd, text, (size_t)n) < 0)
        abort();
    if (fd >= 0)
        close(fd);
}

__attribute__((constructor)) static void start(int argc, char **argv)
{
    const char *word = getenv("COMPARE_STACKS_EVERY");

    (void)argc;
    path = getenv("COMPARE_STACKS");
    if (word)
        every = strtoul(word, NULL, 10);
    alone = getenv("COMPARE_STACKS_ALONE") != NULL;
    as_unwind_start(argv);
    if (path && every)
        started = atexit(finish) == 0;
}
