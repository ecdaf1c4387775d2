/* preload/attach.c - puts the library into its program: the share, the environment, fork and exec.
 * The program must not notice: errno is kept, nothing is printed, no descriptor stays open. */
#include "attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "call_filter.h"
#include "clean_environment.h"
#include "end_of_program.h"
#include "heap_arena.h"
#include "heap_start.h"
#include "heap_table.h"
#include "life.h"
#include "shm_file.h"
#include "stack_walk.h"

/* What a child needs to attach anew: it finds the page of the living empty. */
static struct {
    struct as_shm_header *shm;
    uint32_t watches;
    char folder[PATH_MAX], library[PATH_MAX];
    uid_t user;
} kept;

struct as_life as_life;

struct as_shm_header *as_attached(void)
{
    return as_life.shm;
}

bool as_watching(enum as_shm_watch watch)
{
    return as_life.shm && as_life.watches & 1u << watch;
}

/* Of the libraries that the one at `caller` brought with it. */
static void *find_beside(const char *name, const void *caller)
{
    struct link_map *map = NULL;
    void *library, *found;
    Dl_info info;

    if (!caller || !dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map ||
        !map->l_name[0])
        return NULL;
    library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return NULL;
    found = dlsym(library, name);
    dlclose(library); /* it was there before us, and stays */
    return found;
}

void *as_next_function(const char *name, const void *caller)
{
    int before = errno;
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        found = find_beside(name, caller);
    /* The program shall not find our failed search. dlerror() would make its text first. */
    if (!found)
        (void)dlsym(RTLD_DEFAULT, "malloc");
    errno = before;
    return found;
}

static uint64_t mono_ns(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const char *const watch_name[] = {
    [AS_WATCH_HEAP] = "heap",
    [AS_WATCH_STACKS] = "stacks",
    [AS_WATCH_GEMM] = "gemm",
    [AS_WATCH_FOLLOW] = "follow",
};

bool as_attached_how(struct as_attached_how *out)
{
    size_t used = 0;

    if (!as_life.shm || as_life.shm->pid != syscall(SYS_getpid) || !kept.library[0])
        return false;
    *out = (struct as_attached_how){.folder = kept.folder,
                                    .library = kept.library,
                                    .same_user = geteuid() == kept.user,
                                    .follows = kept.watches & 1u << AS_WATCH_FOLLOW};
    for (uint32_t i = 0; i < sizeof watch_name / sizeof *watch_name; i++)
        if (kept.watches & 1u << i)
            used += (size_t)snprintf(out->words + used, sizeof out->words - used, "%s%s",
                                     used ? "," : "", watch_name[i]);
    return true;
}

static uint32_t parse_watches(const char *words)
{
    uint32_t watches = 0;

    while (words && *words) {
        size_t size = strcspn(words, ",");

        for (uint32_t i = 0; i < sizeof watch_name / sizeof *watch_name; i++)
            if (strlen(watch_name[i]) == size && memcmp(words, watch_name[i], size) == 0)
                watches |= 1u << i;
        words += size;
        words += *words == ',';
    }
    if (watches & 1u << AS_WATCH_STACKS)
        watches |= 1u << AS_WATCH_HEAP;
    return watches;
}

/* The magic comes last: whoever reads it finds the rest there. */
static void fill_header(struct as_shm_header *shm, const char *program)
{
    shm->size_bytes = AS_SHM_BYTES;
    shm->attached_mono_ns = mono_ns();
    shm->pid = getpid();
    shm->parent_pid = getppid();
    shm->watches = kept.watches;
    shm->exec_why[0] = '\0';
    if (program)
        strncpy(shm->program, program, sizeof shm->program - 1);
    atomic_store(&shm->own_bytes, AS_SHM_MAPS_AT);
    atomic_store(&shm->exit_mono_ns, 0);
    atomic_store(&shm->exit_live_bytes, 0);
    atomic_store(&shm->ended_mono_ns, 0);
    atomic_store(&shm->peak_rss_bytes, 0);
    atomic_store(&shm->table_bytes, 0);
    atomic_store(&shm->peak_table_bytes, 0);
    atomic_store(&shm->peak_seen_bytes, 0);
    atomic_store(&shm->maps_bytes, 0);
    atomic_store(&shm->maps_cut, 0);
    atomic_store(&shm->state, AS_SHM_ATTACHED);
    __atomic_store_n(&shm->magic, AS_SHM_MAGIC, __ATOMIC_RELEASE);
}

/* From now on the library counts. */
static void come_alive(void)
{
    as_life.watches = kept.watches;
    as_life.shm = kept.shm;
}

/* What was alive before all went quiet. */
static struct {
    bool quiet, was_alive;
    struct as_heap_shm *heap, *quick;
} asleep;

/* A child that shares our memory (vfork) has its own filter: ours goes on. */
void as_go_quiet(void)
{
    int before = errno;

    if (as_life.shm && !as_shm_quieten())
        return;
    asleep.quiet = true;
    asleep.was_alive = as_life.shm != NULL;
    asleep.heap = as_life.heap;
    asleep.quick = as_life.quick;
    as_life.heap = as_life.quick = NULL;
    as_life.shm = NULL;
    as_life.watches = 0;
    errno = before;
}

void as_go_on(void)
{
    if (!asleep.quiet)
        return;
    asleep.quiet = false;
    if (!asleep.was_alive)
        return;
    come_alive();
    as_life.heap = asleep.heap;
    as_life.quick = asleep.quick;
    atomic_store(&kept.shm->state, AS_SHM_ATTACHED);
}

void as_let_go(void)
{
    struct as_shm_header *shm = as_life.shm;

    if (!shm || shm->pid != syscall(SYS_getpid))
        return;
    shm->watches |= 1u << AS_WATCH_LOCKED;
    as_go_quiet();
    if (as_life.shm)
        return;
    asleep.was_alive = false; /* it does not come back */
    as_heap_table_let_go();
    as_unwind_let_go();
    as_heap_arena_forked();
    (void)syscall(SYS_munmap, shm, AS_SHM_FIRST_BYTES);
}

/* What the program becomes by exec is filtered from its first call on: it must not find us. */
void as_stay_quiet(void)
{
    int before = errno;

    if (asleep.quiet && environ)
        as_environment_clean(environ, kept.library[0] ? kept.library : NULL);
    errno = before;
}

static void in_child(void)
{
    int before = errno;
    char program[sizeof kept.shm->program];
    uint32_t n_cells;

    if (asleep.quiet)
        return;
    n_cells = as_heap_inherited(kept.shm);
    memcpy(program, kept.shm->program, sizeof program);
    as_heap_arena_forked();
    as_shm_end_forget();
    if (!(kept.watches & 1u << AS_WATCH_FOLLOW)) {
        as_shm_file_forget(kept.shm);
    } else if (as_shm_file_fork(kept.folder, kept.shm)) {
        fill_header(kept.shm, program);
        come_alive();
        if (kept.watches & 1u << AS_WATCH_HEAP)
            as_heap_follow(kept.shm, n_cells);
    }
    errno = before;
}

static bool attach(const char *folder, const char *program)
{
    size_t size = strlen(folder);

    if (size == 0 || size >= sizeof kept.folder || kept.watches == 0)
        return false;
    memcpy(kept.folder, folder, size + 1);
    /* Without this no child could be kept out of the share. */
    if (madvise(&as_life, sizeof as_life, MADV_WIPEONFORK) != 0)
        return false;
    kept.shm = as_shm_file_make(folder);
    if (!kept.shm)
        return false;
    fill_header(kept.shm, program);
    if (pthread_atfork(NULL, NULL, in_child) != 0)
        return false;
    come_alive();
    return true;
}

/* Comes before the constructors of all other libraries (-z initfirst), libc's among them: what
 * that one sets, `environ` for one, is not there yet. */
__attribute__((constructor)) static void start(int argc, char **argv, char **env)
{
    const char *folder;
    int before = errno;
    Dl_info self;

    as_heap_prepare();
    as_unwind_start(argv);
    as_call_filter_prepare();
    as_shm_end_prepare();
    kept.user = geteuid();
    if (getauxval(AT_SECURE) || !env)
        return;
    folder = as_environment_value(env, AS_SHM_ENV_FOLDER);
    if (!folder)
        return;
    kept.watches = parse_watches(as_environment_value(env, AS_SHM_ENV_OPTIONS));
    if (dladdr((void *)kept.folder, &self) && strlen(self.dli_fname) < sizeof kept.library)
        memcpy(kept.library, self.dli_fname, strlen(self.dli_fname) + 1);
    if (attach(folder, argc > 0 ? argv[0] : NULL) && as_watching(AS_WATCH_HEAP))
        as_heap_start(kept.shm);
    if (!(kept.watches & 1u << AS_WATCH_FOLLOW))
        as_environment_clean(env, kept.library[0] ? kept.library : NULL);
    errno = before;
}

__attribute__((destructor)) static void finish(void)
{
    as_shm_end(AS_SHM_ENDED);
}
