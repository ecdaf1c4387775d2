/* watch/watch_shm.c - the shares that an injected library makes in a folder, one a process. */
#include "watch/watch_shm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/file/file_open.h"
#include "base/text/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "watch/watch_record.h"

enum {
    MAPS_MAX_BYTES = 8 << 20,
    MAPS_STEP_BYTES = 64 << 10,
    PEAK_SLACK_BYTES = 1 << 20,
    EXEC_MOST_NS = 100 * 1000 * 1000
};

static const double maps_first_wait_s = 0.1, maps_most_wait_s = 2;

struct proc {
    char name[AS_SHM_NAME_MAX];
    int64_t pid;
    struct as_heap_watch *watch; /* NULL: not open, or done with */
    bool watched, done;
    bool met;                        /* by the process tree */
    bool quiet;                      /* it was about to forbid itself system calls, */
    bool locked;                     /* or to lock its memory */
    bool execed;                     /* the process became another program */
    bool followed;                   /* which makes a share of its own */
    char exec_why[AS_SHM_WHY_BYTES]; /* why it does not; "": it did not say */
    uint64_t execed_since_ns;        /* seen to be about to become another program; 0: not */
    uint64_t allocations;
    uint64_t attached_ns, exit_ns, exit_live_bytes;
    uint64_t peak_bytes; /* as the program itself read it at its end; 0: it did not */
    uint64_t seen_bytes; /* the same, when it last looked */
    uint64_t own_bytes;  /* of the peak */
    struct as_heap_series points;
    struct as_buffer maps; /* of the process, kept in case it is killed; NUL-terminated */
    uint32_t maps_sites;   /* known when they were read */
    double maps_next_s, maps_wait_s;
};

struct as_watch_shm {
    char folder[PATH_MAX];
    bool heap, gemm;
    struct proc *proc;
    size_t n, capacity;
    size_t left_out;
    bool gemm_seen;
    char core[AS_GEMM_CORE_TEXT]; /* of an OpenBLAS that one of them called */
    const char *library; /* of matrix products that one of them had loaded; NULL: none seen */
    struct as_heap_totals totals; /* of one reading */
    struct as_symbols *symbols;   /* of the process recorded last; NULL: none yet */
};

int as_watch_shm_new(struct as_watch_shm **out, const char *folder, bool heap, bool gemm,
                     struct assay_error *err)
{
    struct as_watch_shm *s = as_alloc_zero(1, sizeof *s);

    *out = NULL;
    if (!s)
        return as_fail_nomem(err);
    if (snprintf(s->folder, sizeof s->folder, "%s", folder) >= (int)sizeof s->folder) {
        as_free(s);
        return as_fail(err, ASSAY_ERR_LIMIT, "the path of the folder for shares is too long");
    }
    s->heap = heap;
    s->gemm = gemm;
    *out = s;
    return ASSAY_OK;
}

static void end_share(struct proc *proc)
{
    as_heap_watch_close(proc->watch);
    proc->watch = NULL;
    proc->done = true;
    as_heap_series_fini(&proc->points);
    as_buffer_fini(&proc->maps);
}

void as_watch_shm_free(struct as_watch_shm *shm)
{
    if (!shm)
        return;
    for (size_t i = 0; i < shm->n; i++)
        end_share(&shm->proc[i]);
    as_symbols_free(shm->symbols);
    as_free(shm->proc);
    as_free(shm);
}

/* ---- finding ---- */

/* "<pid>.share" or "<pid>.<n>.share". */
static bool parse_name(const char *name, int64_t *pid)
{
    size_t size = strlen(name), digits = strcspn(name, ".");
    uint64_t value;

    if (size >= AS_SHM_NAME_MAX || size < sizeof ".share" ||
        strcmp(name + size - (sizeof ".share" - 1), ".share") != 0 ||
        !as_parse_u64(name, digits, &value) || value == 0 || value > INT32_MAX)
        return false;
    *pid = (int64_t)value;
    return true;
}

static bool is_known(const struct as_watch_shm *s, const char *name)
{
    for (size_t i = s->n; i-- > 0;)
        if (!s->proc[i].done && strcmp(s->proc[i].name, name) == 0)
            return true; /* that of one done with is removed: another process has it now */
    return false;
}

static bool share_path(const struct as_watch_shm *s, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", s->folder, name) < PATH_MAX;
}

static void add(struct as_watch_shm *s, const char *name, int64_t pid)
{
    struct proc *proc;

    if (s->n == AS_WATCH_SHM_MAX) {
        char path[PATH_MAX];

        /* The file stays its process's while that has it mapped; its name must not fill the list.
         */
        if (share_path(s, name, path))
            (void)unlink(path);
        s->left_out++;
        return;
    }
    if (!AS_VEC_RESERVE(s->proc, s->n, s->capacity))
        return;
    proc = &s->proc[s->n++];
    *proc = (struct proc){.pid = pid, .maps = {.max_bytes = MAPS_MAX_BYTES}};
    memcpy(proc->name, name, strlen(name) + 1);
}

/* A share that is just being made is not yet one: the next reading tries again. */
static void open_watch(struct as_watch_shm *s, struct proc *proc)
{
    char path[PATH_MAX];

    if (!s->heap || proc->watch || proc->done || !share_path(s, proc->name, path))
        return;
    if (as_heap_watch_open(&proc->watch, path, NULL) < 0)
        proc->watch = NULL;
    proc->watched |= proc->watch != NULL;
}

void as_watch_shm_find(struct as_watch_shm *shm)
{
    DIR *dir = opendir(shm->folder);
    const struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)) != NULL) {
        int64_t pid;

        if (parse_name(entry->d_name, &pid) && !is_known(shm, entry->d_name))
            add(shm, entry->d_name, pid);
    }
    closedir(dir);
}

/* ---- reading ---- */

static void read_maps(struct proc *proc)
{
    char path[64];
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%lld/maps", (long long)proc->pid);
    fd = as_open(path, O_RDONLY);
    if (fd < 0)
        return;
    proc->maps.size = 0;
    for (;;) {
        uint8_t *to = as_buffer_reserve(&proc->maps, MAPS_STEP_BYTES);
        ssize_t n = to ? read(fd, to, MAPS_STEP_BYTES) : -1;

        if (n <= 0)
            break;
        proc->maps.size += (size_t)n;
    }
    close(fd);
    if (!as_buffer_add(&proc->maps, "", 1))
        proc->maps.size = 0;
}

/* Should it be killed, it leaves no map: where new sites have appeared, new code may have too. */
static void keep_maps(struct proc *proc, uint32_t n_sites, double seconds)
{
    if (n_sites == proc->maps_sites || seconds < proc->maps_next_s)
        return;
    proc->maps_wait_s = proc->maps_wait_s > 0 ? 1.5 * proc->maps_wait_s : maps_first_wait_s;
    if (proc->maps_wait_s > maps_most_wait_s)
        proc->maps_wait_s = maps_most_wait_s;
    proc->maps_next_s = seconds + proc->maps_wait_s;
    proc->maps_sites = n_sites;
    read_maps(proc);
}

void as_watch_shm_inside(const struct as_watch_shm *shm, struct as_watch_inside *inside)
{
    *inside = (struct as_watch_inside){0};
    for (size_t i = 0; i < shm->n; i++) {
        const struct proc *proc = &shm->proc[i];
        struct as_shm_header header;

        if (!proc->watch)
            continue;
        as_heap_watch_header(proc->watch, &header);
        if (header.state != AS_SHM_ATTACHED && header.state != AS_SHM_QUIET)
            continue; /* one that ended holds nothing any more */
        inside->table_bytes += as_heap_watch_table_bytes(proc->watch);
        inside->share_bytes += as_heap_watch_share_bytes(proc->watch);
    }
}

bool as_watch_shm_read(struct as_watch_shm *shm, double seconds, uint64_t *live_bytes)
{
    struct as_heap_totals *totals = &shm->totals;
    bool known = false;

    *live_bytes = 0;
    for (size_t i = 0; i < shm->n; i++) {
        struct proc *proc = &shm->proc[i];

        open_watch(shm, proc);
        if (!proc->watch || as_heap_watch_totals(proc->watch, totals, NULL) < 0)
            continue;
        known = true;
        *live_bytes += totals->live_bytes;
        as_heap_series_add(&proc->points, proc->watch, totals->n_ids, seconds);
        keep_maps(proc, totals->n_sites, seconds);
    }
    return known;
}

/* ---- recording ---- */

/* What the process left when it ended, unless it did not fit there. */
static const char *maps_of(const struct proc *proc)
{
    const char *left = as_heap_watch_maps(proc->watch);
    struct as_shm_header header;

    as_heap_watch_header(proc->watch, &header);
    if (proc->maps.size && (!left || header.maps_cut))
        return (const char *)proc->maps.data;
    return left;
}

/* Children have the files of their parents and of each other: those are read once. NULL: addresses
 * stay addresses. */
static struct as_symbols *symbols_of(struct as_watch_shm *s, const char *maps)
{
    bool kept = s->symbols && !as_symbols_is_full(s->symbols) &&
                as_symbols_move(s->symbols, maps, NULL) == ASSAY_OK;

    if (!kept) {
        as_symbols_free(s->symbols);
        s->symbols = NULL;
        if (as_symbols_new(&s->symbols, maps, "", NULL) < 0)
            s->symbols = NULL;
    }
    return s->symbols;
}

static int record_heap(struct as_watch_shm *s, const struct proc *proc, bool others_run,
                       struct as_arena *arena, struct assay_error *err)
{
    const char *maps = maps_of(proc);
    struct as_symbols *symbols = NULL;
    struct as_site_series *series = NULL;
    size_t n = 0;
    int rc = as_heap_series_series(&proc->points, arena, &series, &n, err);

    if (rc < 0)
        return rc;
    if (maps)
        symbols = symbols_of(s, maps);
    if (symbols) /* others are to be read on, and signals passed on to them */
        as_symbols_limit_lines(symbols, others_run);
    return as_watch_record_heap(proc->watch, symbols, series, n, err);
}

static int record_gemm(struct as_watch_shm *s, const struct proc *proc, const char *path,
                       struct as_arena *arena, struct assay_error *err)
{
    struct as_gemm_calls *calls = NULL;
    uint64_t unplaced = 0;
    size_t n = 0;

    if (as_gemm_watch_read(path, arena, &calls, &n, &unplaced, NULL) < 0 || (!n && !unplaced))
        return ASSAY_OK; /* it ran none, or ended before it could say so */
    s->gemm_seen = true;
    if (!s->core[0])
        as_gemm_watch_core(path, s->core);
    return as_watch_record_gemm(proc->pid, calls, n, unplaced, err);
}

/* Whose products are watched, when they are reached by their names. */
static void note_libraries(struct as_watch_shm *s, const struct proc *proc)
{
    static const char *const name[] = {"libdnnl", "openblas", "libmkl_", "libcblas", "libblas"};
    static const char *const told[] = {"libdnnl", "OpenBLAS", "MKL", "libcblas", "libblas"};
    const char *maps = s->gemm ? maps_of(proc) : NULL;

    for (size_t i = 0; maps && !s->library && i < AS_COUNT_OF(name); i++)
        if (strstr(maps, name[i]))
            s->library = told[i];
}

static void note_end(struct proc *proc)
{
    struct as_shm_header header;

    as_heap_watch_header(proc->watch, &header);
    proc->execed = header.state == AS_SHM_EXECED;
    proc->quiet = header.state == AS_SHM_QUIET;
    proc->locked = header.watches & 1u << AS_WATCH_LOCKED;
    proc->followed = header.watches & 1u << AS_WATCH_FOLLOW;
    header.exec_why[sizeof header.exec_why - 1] = '\0';
    (void)snprintf(proc->exec_why, sizeof proc->exec_why, "%s",
                   header.watches & 1u << AS_WATCH_EXEC ? "the library did not get into that one"
                                                        : header.exec_why);
    proc->attached_ns = header.attached_mono_ns;
    proc->exit_ns = header.exit_mono_ns;
    proc->exit_live_bytes = header.exit_live_bytes;
    proc->peak_bytes = header.peak_rss_bytes;
    proc->seen_bytes = header.peak_seen_bytes;
    proc->own_bytes = header.peak_table_bytes + as_heap_watch_share_bytes(proc->watch);
}

static bool is_lost(const struct proc *proc)
{
    return proc->execed && !proc->followed;
}

static void lose_heap(struct as_watch_shm *s, struct proc *proc)
{
    proc->watched = false;
    if (as_heap_watch_totals(proc->watch, &s->totals, NULL) == ASSAY_OK)
        proc->allocations = s->totals.allocations;
}

static bool has_successor(const struct as_watch_shm *s, const struct proc *proc)
{
    for (const struct proc *p = proc + 1; p < s->proc + s->n; p++)
        if (p->pid == proc->pid)
            return true;
    return false;
}

/* It says so before the call, which may fail: then it takes it back soon. */
static bool has_execed(const struct as_watch_shm *s, struct proc *proc)
{
    struct as_shm_header header;
    uint64_t now_ns = as_clock_mono_ns();

    as_heap_watch_header(proc->watch, &header);
    if (header.state != AS_SHM_EXECED) {
        proc->execed_since_ns = 0;
        return false;
    }
    if (proc->execed_since_ns == 0)
        proc->execed_since_ns = now_ns;
    return has_successor(s, proc) || now_ns - proc->execed_since_ns > EXEC_MOST_NS;
}

static int record(struct as_watch_shm *s, struct proc *proc, bool others_run,
                  struct assay_error *err)
{
    struct as_arena arena = {0};
    char path[PATH_MAX];
    int rc = ASSAY_OK, other = ASSAY_OK;

    open_watch(s, proc);
    if (proc->watch) {
        note_end(proc);
        if (is_lost(proc))
            lose_heap(s, proc);
        else
            rc = record_heap(s, proc, others_run, &arena, err);
        note_libraries(s, proc);
    }
    if (share_path(s, proc->name, path)) {
        if (s->gemm)
            other = record_gemm(s, proc, path, &arena, rc < 0 ? NULL : err);
        (void)unlink(path);
    }
    as_arena_fini(&arena);
    end_share(proc);
    return rc < 0 ? rc : other;
}

/* A process that the tree has not met yet has just begun, unless there is none of that number. */
static bool is_over(const struct as_watch_shm *s, struct proc *proc,
                    const struct as_process_tree *tree)
{
    if (!tree)
        return true;
    if (!as_process_tree_has(tree, proc->pid))
        return proc->met || (kill((pid_t)proc->pid, 0) != 0 && errno == ESRCH);
    proc->met = true;
    return proc->watch && has_execed(s, proc);
}

int as_watch_shm_record(struct as_watch_shm *shm, const struct as_process_tree *tree,
                        struct assay_error *err)
{
    int first = ASSAY_OK;

    for (size_t i = 0; i < shm->n; i++) {
        struct proc *proc = &shm->proc[i];
        int rc;

        if (proc->done || !is_over(shm, proc, tree))
            continue;
        rc = record(shm, proc, tree != NULL, first < 0 ? NULL : err);
        if (first == ASSAY_OK)
            first = rc;
    }
    return first;
}

bool as_watch_shm_watched(const struct as_watch_shm *shm, int64_t pid)
{
    for (size_t i = 0; i < shm->n; i++)
        if (shm->proc[i].watched && (pid == 0 || shm->proc[i].pid == pid))
            return true;
    return false;
}

/* The last program that the process was. */
static const struct proc *last_of(const struct as_watch_shm *shm, int64_t pid)
{
    const struct proc *last = NULL;

    for (size_t i = 0; i < shm->n; i++)
        if (shm->proc[i].pid == pid && (!last || shm->proc[i].attached_ns >= last->attached_ns))
            last = &shm->proc[i];
    return last;
}

bool as_watch_shm_lost(const struct as_watch_shm *shm, int64_t pid, struct as_heap_lost *out)
{
    const struct proc *last = last_of(shm, pid);

    *out = (struct as_heap_lost){0};
    if (!last || !last->execed)
        return false;
    *out = (struct as_heap_lost){last->exit_ns, last->allocations, last->watched, last->exec_why};
    return true;
}

uint64_t as_watch_shm_exit_ns(const struct as_watch_shm *shm, int64_t pid)
{
    const struct proc *last = last_of(shm, pid);

    return last && !last->execed ? last->exit_ns : 0;
}

double as_watch_shm_exit_live_bytes(const struct as_watch_shm *shm, int64_t pid)
{
    const struct proc *last = last_of(shm, pid);

    return last && last->watched && !last->execed && !last->quiet && last->exit_ns
               ? (double)last->exit_live_bytes
               : AS_UNKNOWN;
}

/* It is the program's word: what cannot be is not subtracted. */
static uint64_t less_own(const struct proc *proc, uint64_t peak_bytes)
{
    return proc->own_bytes < peak_bytes ? peak_bytes - proc->own_bytes : peak_bytes;
}

uint64_t as_watch_shm_peak_bytes(const struct as_watch_shm *shm, int64_t pid)
{
    const struct proc *last = last_of(shm, pid);
    uint64_t most = 0;

    if (!last || last->execed || last->peak_bytes == 0)
        return 0;
    for (size_t i = 0; i < shm->n; i++) /* each program it was has a peak of its own */
        if (shm->proc[i].pid == pid && less_own(&shm->proc[i], shm->proc[i].peak_bytes) > most)
            most = less_own(&shm->proc[i], shm->proc[i].peak_bytes);
    return most;
}

/* How far the peak that the process last saw of itself lies from that one. It may have grown since:
 * killed a while after it looked, or in its last steps, after ours. */
static uint64_t distance_of(const struct proc *proc, uint64_t peak_bytes)
{
    uint64_t known = proc->peak_bytes ? proc->peak_bytes : proc->seen_bytes;

    if (!known)
        return UINT64_MAX;
    return known > peak_bytes ? known - peak_bytes : peak_bytes - known;
}

uint64_t as_watch_shm_less_own(const struct as_watch_shm *shm, uint64_t peak_bytes)
{
    const struct proc *nearest = NULL;

    for (size_t i = 0; i < shm->n; i++)
        if (!nearest || distance_of(&shm->proc[i], peak_bytes) < distance_of(nearest, peak_bytes))
            nearest = &shm->proc[i];
    if (!nearest || distance_of(nearest, peak_bytes) > PEAK_SLACK_BYTES + peak_bytes / 16)
        return peak_bytes;
    return less_own(nearest, peak_bytes);
}

const char *as_watch_shm_unseen_library(const struct as_watch_shm *shm)
{
    return shm->gemm_seen ? NULL : shm->library;
}

const char *as_watch_shm_core(const struct as_watch_shm *shm)
{
    return shm->core[0] ? shm->core : NULL;
}

const char *as_watch_shm_quiet(const struct as_watch_shm *shm)
{
    for (size_t i = 0; i < shm->n; i++)
        if (shm->proc[i].quiet)
            return shm->proc[i].locked
                       ? "the program locked its memory under a limit (mlockall): nothing is "
                         "counted from then on"
                       : "the program set a filter of system calls (seccomp): nothing is counted "
                         "from then on";
    return NULL;
}

size_t as_watch_shm_left_out(const struct as_watch_shm *shm)
{
    return shm->left_out;
}
