/* preload/end_of_program.c - what is written into the share when a program ends or becomes another
 * one. The functions it does that with are taken the place of, and behave as before. */
#include "end_of_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "exec_environment.h"
#include "life.h"
#include "own_memory.h"
#include "shm_file.h"

#define EXPORT       __attribute__((visibility("default")))
#define FEW_WORDS    64
#define LINE_BYTES   1024 /* of the memory map; what is longer is cut */
#define STATUS_BYTES 4096

typedef void (*leave_function)(int status);
typedef int (*execve_function)(const char *path, char *const argv[], char *const env[]);
typedef int (*fexecve_function)(int fd, char *const argv[], char *const env[]);
typedef int (*execveat_function)(int fd, const char *path, char *const argv[], char *const env[],
                                 int flags);

static struct {
    leave_function exit, exit_now, exit_now_c, exit_quick;
    execve_function execve, execvpe;
    fexecve_function fexecve;
    execveat_function execveat;
} next;

static _Atomic bool told;

/* Function pointers are read from where the loader's answer is stored: C has no cast for it. */
static void find(void *function, const char *name)
{
    void *found = as_next_function(name, NULL);

    memcpy(function, &found, sizeof found);
}

void as_shm_end_prepare(void)
{
    find(&next.exit, "exit");
    find(&next.exit_now, "_exit");
    find(&next.exit_now_c, "_Exit");
    find(&next.exit_quick, "quick_exit");
    find(&next.execve, "execve");
    find(&next.execvpe, "execvpe");
    find(&next.fexecve, "fexecve");
    find(&next.execveat, "execveat");
}

void as_shm_end_forget(void)
{
    atomic_store(&told, false);
}

/* Lines of the memory map as they go into the share. */
struct lines {
    char *to;
    size_t size, there, capacity; /* there: the pages for so much */
    bool code_only, cut;
    char line[LINE_BYTES];
    size_t line_size;
};

/* "start-end rwxp ...": whether the x is there. */
static bool is_code(const struct lines *l)
{
    const char *blank = memchr(l->line, ' ', l->line_size);

    return blank && blank + 3 < l->line + l->line_size && blank[3] == 'x';
}

/* A full disk has no page for it: the program must not end by that. */
static bool has_page(struct lines *l)
{
    size_t page = 4096, end = l->size + l->line_size;

    if (end <= l->there)
        return true;
    end = (end + page - 1) / page * page;
    end = end < l->capacity ? end : l->capacity;
    if (!as_shm_file_touch(l->to + l->there, end - l->there))
        return false;
    l->there = end;
    return true;
}

static void end_line(struct lines *l)
{
    if (l->code_only && !is_code(l)) {
        l->line_size = 0;
        return;
    }
    if (l->line_size > l->capacity - l->size || !has_page(l)) {
        l->cut = true;
    } else {
        memcpy(l->to + l->size, l->line, l->line_size);
        l->size += l->line_size;
    }
    l->line_size = 0;
}

static void take_bytes(struct lines *l, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (l->line_size < sizeof l->line - 1 || bytes[i] == '\n')
            l->line[l->line_size++] = bytes[i];
        if (bytes[i] == '\n')
            end_line(l);
    }
}

/* Reads the map once; false when it cannot be read. */
static bool copy_map(struct lines *l)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char bytes[4096];
    ssize_t n;

    if (fd < 0)
        return false;
    while ((n = read(fd, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            take_bytes(l, bytes, (size_t)n);
    close(fd);
    return n == 0;
}

/* All of the map, or, where it is too long, the lines of code: those name addresses. */
static void write_map(struct as_shm_header *shm)
{
    struct lines l = {.to = (char *)shm + AS_SHM_MAPS_AT, .capacity = AS_SHM_MAPS_BYTES};

    if (!copy_map(&l))
        return;
    if (l.cut) {
        l.size = 0;
        l.cut = false;
        l.code_only = true;
        if (!copy_map(&l))
            return;
    }
    atomic_store(&shm->maps_cut, l.cut);
    atomic_store_explicit(&shm->maps_bytes, (uint32_t)l.size, memory_order_release);
}

/* The kernel's peak of this program alone. Before anything else is done: what the share needs at
 * the end is no part of it. */
static void note_peak(struct as_shm_header *shm)
{
    static const char key[] = "\nVmHWM:";
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    char text[STATUS_BYTES + 1];
    uint64_t kib = 0;
    const char *at;
    ssize_t n;

    if (fd < 0)
        return;
    do
        n = read(fd, text, STATUS_BYTES);
    while (n < 0 && errno == EINTR);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    at = strstr(text, key);
    if (!at)
        return;
    at += sizeof key - 1;
    at += strspn(at, " \t");
    for (; *at >= '0' && *at <= '9' && kib < UINT64_MAX >> 16; at++)
        kib = 10 * kib + (uint64_t)(*at - '0');
    if (*at == ' ') /* not where the text was cut */
        atomic_store(&shm->peak_rss_bytes, kib * 1024);
}

/* Ours alone: a child that shares our memory (vfork) ends without us. */
static bool is_own(const struct as_shm_header *shm)
{
    return shm && shm->pid == syscall(SYS_getpid);
}

static void note_time(_Atomic uint64_t *ns)
{
    struct timespec now;

    if (clock_gettime(CLOCK_MONOTONIC, &now) == 0)
        atomic_store(ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

void as_shm_end(enum as_shm_state state)
{
    struct as_shm_header *shm = as_attached();
    int before = errno;

    if (!is_own(shm) || atomic_exchange(&told, true))
        return;
    if (state == AS_SHM_EXECED)
        note_time(&shm->exit_mono_ns);
    note_time(&shm->ended_mono_ns);
    as_own_memory_note(shm);
    note_peak(shm);
    write_map(shm);
    atomic_store(&shm->state, state);
    errno = before;
}

bool as_shm_quieten(void)
{
    struct as_shm_header *shm = as_attached();

    if (!is_own(shm))
        return false;
    as_own_memory_note(shm);
    write_map(shm);
    atomic_store(&shm->state, AS_SHM_QUIET);
    return true;
}

/* From here on it tidies up: what its memory does then is no part of its work. */
void as_shm_note_exit(void)
{
    struct as_shm_header *shm = as_attached();
    const struct as_heap_shm *heap = as_life.heap;
    int64_t live;

    if (!is_own(shm) || atomic_load(&shm->exit_mono_ns))
        return;
    live = heap ? atomic_load_explicit(&heap->live_bytes, memory_order_relaxed) : 0;
    atomic_store(&shm->exit_live_bytes, live > 0 ? (uint64_t)live : 0);
    note_time(&shm->exit_mono_ns);
}

EXPORT void exit(int status)
{
    as_shm_note_exit();
    if (next.exit)
        next.exit(status);
    _exit(status);
}

EXPORT void _exit(int status)
{
    as_shm_end(AS_SHM_ENDED);
    if (next.exit_now)
        next.exit_now(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

EXPORT void _Exit(int status)
{
    as_shm_end(AS_SHM_ENDED);
    if (next.exit_now_c)
        next.exit_now_c(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

EXPORT void quick_exit(int status)
{
    as_shm_end(AS_SHM_ENDED);
    if (next.exit_quick)
        next.exit_quick(status);
    _Exit(status);
}

static int missing(void)
{
    errno = ENOSYS;
    return -1;
}

/* Reported before, since nothing is after: that it became another program, and whether the library
 * goes along. */
static void begin_exec(struct as_exec_environment *e, const char *file, int search,
                       char *const env[])
{
    struct as_shm_header *shm = as_attached();

    as_exec_environment_make(e, file, search, env);
    if (is_own(shm)) {
        if (e->mapped)
            shm->watches |= 1u << AS_WATCH_EXEC;
        strncpy(shm->exec_why, e->why ? e->why : "", sizeof shm->exec_why - 1);
    }
    as_shm_end(AS_SHM_EXECED);
}

/* What was added to the environment may have been too much. */
static bool goes_again(struct as_exec_environment *e)
{
    bool again = e->mapped && errno == E2BIG;

    as_exec_environment_free(e);
    return again;
}

/* The program goes on: what was reported is taken back. */
static int exec_failed(int rc)
{
    struct as_shm_header *shm = as_attached();

    if (is_own(shm)) {
        shm->watches &= ~(1u << AS_WATCH_EXEC);
        atomic_store(&shm->state, AS_SHM_ATTACHED);
        atomic_store(&shm->maps_bytes, 0);
        atomic_store(&shm->peak_rss_bytes, 0);
        atomic_store(&shm->exit_mono_ns, 0);
        atomic_store(&shm->exit_live_bytes, 0);
        atomic_store(&shm->ended_mono_ns, 0);
        atomic_store(&told, false);
    }
    return rc;
}

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
    struct as_exec_environment e;
    int rc;

    begin_exec(&e, path, 0, env);
    rc = next.execve ? next.execve(path, argv, e.env) : missing();
    if (goes_again(&e))
        rc = next.execve(path, argv, env);
    return exec_failed(rc);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
    struct as_exec_environment e;
    int rc;

    begin_exec(&e, file, 1, env);
    rc = next.execvpe ? next.execvpe(file, argv, e.env) : missing();
    if (goes_again(&e))
        rc = next.execvpe(file, argv, env);
    return exec_failed(rc);
}

EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
    struct as_exec_environment e;
    char path[64];
    int rc;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    begin_exec(&e, path, 0, env);
    rc = next.fexecve ? next.fexecve(fd, argv, e.env) : missing();
    if (goes_again(&e))
        rc = next.fexecve(fd, argv, env);
    return exec_failed(rc);
}

/* The path of what is named beneath a folder; NULL when it is too long, or there is no name. */
static const char *path_beneath(char out[PATH_MAX], int fd, const char *name)
{
    int n;

    if (!name || name[0] == '/')
        return name;
    if (fd == AT_FDCWD)
        n = snprintf(out, PATH_MAX, "%s", name);
    else
        n = snprintf(out, PATH_MAX, "/proc/self/fd/%d%s%s", fd, name[0] ? "/" : "", name);
    return n < PATH_MAX ? out : NULL;
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const env[], int flags)
{
    struct as_exec_environment e;
    char at[PATH_MAX];
    int rc;

    begin_exec(&e, path_beneath(at, fd, path), 0, env);
    rc = next.execveat ? next.execveat(fd, path, argv, e.env, flags) : missing();
    if (goes_again(&e))
        rc = next.execveat(fd, path, argv, env, flags);
    return exec_failed(rc);
}

/* The words of a call with an open end, as an array; and what follows them. */
struct words {
    char *few[FEW_WORDS], **word;
    size_t bytes; /* mapped, when they are many */
    char *const *env;
};

static bool take_words(struct words *w, const char *first, va_list list, bool with_env)
{
    size_t n = 1;
    va_list count;

    va_copy(count, list);
    while (first && va_arg(count, char *))
        n++;
    va_end(count);
    w->word = w->few;
    w->bytes = 0;
    if (n >= FEW_WORDS) {
        w->bytes = (n + 1) * sizeof *w->word;
        w->word = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (w->word == MAP_FAILED)
            return false;
    }
    memcpy(w->word, &first, sizeof first);
    for (size_t i = 1; first && i <= n; i++)
        w->word[i] = va_arg(list, char *);
    if (with_env)
        w->env = va_arg(list, char *const *);
    return true;
}

static int words_done(struct words *w, int rc)
{
    int before = errno;

    if (w->bytes)
        munmap(w->word, w->bytes);
    errno = before;
    return rc;
}

EXPORT int execl(const char *path, const char *word, ...)
{
    struct words w;
    va_list list;
    bool taken;

    va_start(list, word);
    taken = take_words(&w, word, list, false);
    va_end(list);
    return taken ? words_done(&w, execv(path, w.word)) : -1;
}

EXPORT int execlp(const char *file, const char *word, ...)
{
    struct words w;
    va_list list;
    bool taken;

    va_start(list, word);
    taken = take_words(&w, word, list, false);
    va_end(list);
    return taken ? words_done(&w, execvp(file, w.word)) : -1;
}

EXPORT int execle(const char *path, const char *word, ...)
{
    struct words w;
    va_list list;
    bool taken;

    va_start(list, word);
    taken = take_words(&w, word, list, true);
    va_end(list);
    return taken ? words_done(&w, execve(path, w.word, w.env)) : -1;
}
