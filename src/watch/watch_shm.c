/* watch/watch_shm.c - the shares that an injected library makes in a folder, one a process.
 */
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
#include "base/text/text.h"
#include "watch/heap_series.h"
#include "watch/watch_record.h"

enum { MAPS_MAX_BYTES = 8 << 20, MAPS_STEP_BYTES = 64 << 10 };

static const double maps_first_wait_s = 0.1, maps_most_wait_s = 2;

struct share {
    char name[AS_SHARE_NAME_MAX];
    int64_t pid;
    struct as_heap_watch *watch; /* NULL: not open, or done with */
    bool watched, done;
    bool met;      /* by the process tree */
    bool execed;   /* the process became another program */
    bool followed; /* which makes a share of its own */
    uint64_t allocations;
    uint64_t attached_ns, exit_ns;
    uint64_t peak_bytes; /* as the program itself read it at its end; 0: it did not */
    struct as_site_points points;
    struct as_buffer maps; /* of the process, kept in case it is killed; NUL-terminated */
    uint32_t maps_sites;   /* known when they were read */
    double maps_next_s, maps_wait_s;
};

struct as_program_shares {
    char folder[PATH_MAX];
    bool heap, gemm;
    struct share *share;
    size_t n, room;
    size_t left_out;
    bool gemm_seen;
    const char *library; /* of matrix products that one of them had loaded; NULL: none seen */
    struct as_heap_totals totals; /* of one reading */
};

int as_program_shares_new(struct as_program_shares **out, const char *folder, bool heap, bool gemm,
                          struct assay_error *err)
{
    struct as_program_shares *s = as_alloc_zero(1, sizeof *s);

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

static void end_share(struct share *share)
{
    as_heap_watch_close(share->watch);
    share->watch = NULL;
    share->done = true;
    as_site_points_fini(&share->points);
    as_buffer_fini(&share->maps);
}

void as_program_shares_free(struct as_program_shares *shares)
{
    if (!shares)
        return;
    for (size_t i = 0; i < shares->n; i++)
        end_share(&shares->share[i]);
    as_free(shares->share);
    as_free(shares);
}

/* ---- finding ---- */

/* "<pid>.share" or "<pid>.<n>.share". */
static bool parse_name(const char *name, int64_t *pid)
{
    size_t size = strlen(name), digits = strcspn(name, ".");
    uint64_t value;

    if (size >= AS_SHARE_NAME_MAX || size < sizeof ".share" ||
        strcmp(name + size - (sizeof ".share" - 1), ".share") != 0 ||
        !as_parse_u64(name, digits, &value) || value == 0 || value > INT32_MAX)
        return false;
    *pid = (int64_t)value;
    return true;
}

static bool is_known(const struct as_program_shares *s, const char *name)
{
    for (size_t i = s->n; i-- > 0;)
        if (!s->share[i].done && strcmp(s->share[i].name, name) == 0)
            return true; /* that of one done with is removed: another process has it now */
    return false;
}

static bool share_path(const struct as_program_shares *s, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", s->folder, name) < PATH_MAX;
}

static void add(struct as_program_shares *s, const char *name, int64_t pid)
{
    struct share *share;

    if (s->n == AS_SHARES_MAX) {
        char path[PATH_MAX];

        /* The file stays its process's while that has it mapped; its name must not fill the list.
         */
        if (share_path(s, name, path))
            (void)unlink(path);
        s->left_out++;
        return;
    }
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 4;
        struct share *more = as_realloc(s->share, room, sizeof *more);

        if (!more)
            return;
        s->share = more;
        s->room = room;
    }
    share = &s->share[s->n++];
    *share = (struct share){.pid = pid, .maps = {.max_bytes = MAPS_MAX_BYTES}};
    memcpy(share->name, name, strlen(name) + 1);
}

/* A share that is just being made is not yet one: the next reading tries again. */
static void open_watch(struct as_program_shares *s, struct share *share)
{
    char path[PATH_MAX];

    if (!s->heap || share->watch || share->done || !share_path(s, share->name, path))
        return;
    if (as_heap_watch_open(&share->watch, path, NULL) < 0)
        share->watch = NULL;
    share->watched |= share->watch != NULL;
}

void as_program_shares_find(struct as_program_shares *shares)
{
    DIR *dir = opendir(shares->folder);
    const struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)) != NULL) {
        int64_t pid;

        if (parse_name(entry->d_name, &pid) && !is_known(shares, entry->d_name))
            add(shares, entry->d_name, pid);
    }
    closedir(dir);
}

/* ---- reading ---- */

static void read_maps(struct share *share)
{
    char path[64];
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%lld/maps", (long long)share->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    share->maps.size = 0;
    for (;;) {
        uint8_t *to = as_buffer_reserve(&share->maps, MAPS_STEP_BYTES);
        ssize_t n = to ? read(fd, to, MAPS_STEP_BYTES) : -1;

        if (n <= 0)
            break;
        share->maps.size += (size_t)n;
    }
    close(fd);
    if (!as_buffer_add(&share->maps, "", 1))
        share->maps.size = 0;
}

/* Should it be killed, it leaves no map: where new sites have appeared, new code may have too. */
static void keep_maps(struct share *share, uint32_t n_sites, double seconds)
{
    if (n_sites == share->maps_sites || seconds < share->maps_next_s)
        return;
    share->maps_wait_s = share->maps_wait_s > 0 ? 1.5 * share->maps_wait_s : maps_first_wait_s;
    if (share->maps_wait_s > maps_most_wait_s)
        share->maps_wait_s = maps_most_wait_s;
    share->maps_next_s = seconds + share->maps_wait_s;
    share->maps_sites = n_sites;
    read_maps(share);
}

bool as_program_shares_read(struct as_program_shares *shares, double seconds, uint64_t *live_bytes)
{
    struct as_heap_totals *totals = &shares->totals;
    bool known = false;

    *live_bytes = 0;
    for (size_t i = 0; i < shares->n; i++) {
        struct share *share = &shares->share[i];

        open_watch(shares, share);
        if (!share->watch || as_heap_watch_totals(share->watch, totals, NULL) < 0)
            continue;
        known = true;
        *live_bytes += totals->live_bytes;
        as_site_points_add(&share->points, share->watch, totals->n_ids, seconds);
        keep_maps(share, totals->n_sites, seconds);
    }
    return known;
}

/* ---- recording ---- */

/* What the process left when it ended, unless it did not fit there. */
static const char *maps_of(const struct share *share)
{
    const char *left = as_heap_watch_maps(share->watch);
    struct as_share_header header;

    as_heap_watch_header(share->watch, &header);
    if (share->maps.size && (!left || header.maps_cut))
        return (const char *)share->maps.data;
    return left;
}

static int record_heap(const struct share *share, struct as_arena *arena, struct assay_error *err)
{
    const char *maps = maps_of(share);
    struct as_symbols *symbols = NULL;
    struct as_site_series *series = NULL;
    size_t n = 0;
    int rc = as_site_points_series(&share->points, arena, &series, &n, err);

    if (rc < 0)
        return rc;
    if (maps && as_symbols_new(&symbols, maps, "", NULL) < 0)
        symbols = NULL; /* addresses stay addresses */
    rc = as_program_record_heap(share->watch, symbols, series, n, err);
    as_symbols_free(symbols);
    return rc;
}

static int record_gemm(struct as_program_shares *s, const struct share *share, const char *path,
                       struct as_arena *arena, struct assay_error *err)
{
    struct as_gemm_calls *calls = NULL;
    uint64_t unplaced = 0;
    size_t n = 0;

    if (as_gemm_watch_read(path, arena, &calls, &n, &unplaced, NULL) < 0 || (!n && !unplaced))
        return ASSAY_OK; /* it ran none, or ended before it could say so */
    s->gemm_seen = true;
    return as_program_record_gemm(share->pid, calls, n, unplaced, err);
}

/* Whose products are watched, when they are reached by their names. */
static void note_libraries(struct as_program_shares *s, const struct share *share)
{
    static const char *const name[] = {"libdnnl", "openblas", "libmkl_", "libcblas", "libblas"};
    static const char *const told[] = {"libdnnl", "OpenBLAS", "MKL", "libcblas", "libblas"};
    const char *maps = s->gemm ? maps_of(share) : NULL;

    for (size_t i = 0; maps && !s->library && i < sizeof name / sizeof *name; i++)
        if (strstr(maps, name[i]))
            s->library = told[i];
}

static void note_end(struct share *share)
{
    struct as_share_header header;

    as_heap_watch_header(share->watch, &header);
    share->execed = header.state == AS_SHARE_EXECED;
    share->followed = header.watches & 1u << AS_WATCH_FOLLOW;
    share->attached_ns = header.attached_mono_ns;
    share->exit_ns = header.exit_mono_ns;
    share->peak_bytes = header.peak_rss_bytes;
}

static bool is_lost(const struct share *share)
{
    return share->execed && !share->followed;
}

static void lose_heap(struct as_program_shares *s, struct share *share)
{
    share->watched = false;
    if (as_heap_watch_totals(share->watch, &s->totals, NULL) == ASSAY_OK)
        share->allocations = s->totals.allocations;
}

static bool has_execed(const struct share *share)
{
    struct as_share_header header;

    as_heap_watch_header(share->watch, &header);
    return header.state == AS_SHARE_EXECED;
}

static int record(struct as_program_shares *s, struct share *share, struct assay_error *err)
{
    struct as_arena arena = {0};
    char path[PATH_MAX];
    int rc = ASSAY_OK, other = ASSAY_OK;

    open_watch(s, share);
    if (share->watch) {
        note_end(share);
        if (is_lost(share))
            lose_heap(s, share);
        else
            rc = record_heap(share, &arena, err);
        note_libraries(s, share);
    }
    if (share_path(s, share->name, path)) {
        if (s->gemm)
            other = record_gemm(s, share, path, &arena, rc < 0 ? NULL : err);
        (void)unlink(path);
    }
    as_arena_fini(&arena);
    end_share(share);
    return rc < 0 ? rc : other;
}

/* A process that the tree has not met yet has just begun, unless there is none of that number. */
static bool is_over(struct share *share, const struct as_process_tree *tree)
{
    if (!tree)
        return true;
    if (!as_process_tree_has(tree, share->pid))
        return share->met || (kill((pid_t)share->pid, 0) != 0 && errno == ESRCH);
    share->met = true;
    return share->watch && has_execed(share);
}

int as_program_shares_record(struct as_program_shares *shares, const struct as_process_tree *tree,
                             struct assay_error *err)
{
    int first = ASSAY_OK;

    for (size_t i = 0; i < shares->n; i++) {
        struct share *share = &shares->share[i];
        int rc;

        if (share->done || !is_over(share, tree))
            continue;
        rc = record(shares, share, first < 0 ? NULL : err);
        if (first == ASSAY_OK)
            first = rc;
    }
    return first;
}

bool as_program_shares_watched(const struct as_program_shares *shares, int64_t pid)
{
    for (size_t i = 0; i < shares->n; i++)
        if (shares->share[i].watched && (pid == 0 || shares->share[i].pid == pid))
            return true;
    return false;
}

/* The last program that the process was. */
static const struct share *last_of(const struct as_program_shares *shares, int64_t pid)
{
    const struct share *last = NULL;

    for (size_t i = 0; i < shares->n; i++)
        if (shares->share[i].pid == pid &&
            (!last || shares->share[i].attached_ns >= last->attached_ns))
            last = &shares->share[i];
    return last;
}

bool as_program_shares_lost(const struct as_program_shares *shares, int64_t pid,
                            struct as_heap_lost *out)
{
    const struct share *last = last_of(shares, pid);

    *out = (struct as_heap_lost){0};
    if (!last || !last->execed)
        return false;
    *out = (struct as_heap_lost){last->exit_ns, last->allocations, last->watched};
    return true;
}

uint64_t as_program_shares_exit_ns(const struct as_program_shares *shares, int64_t pid)
{
    const struct share *last = last_of(shares, pid);

    return last && !last->execed ? last->exit_ns : 0;
}

uint64_t as_program_shares_peak_bytes(const struct as_program_shares *shares, int64_t pid)
{
    const struct share *last = last_of(shares, pid);
    uint64_t most = 0;

    if (!last || last->execed || last->peak_bytes == 0)
        return 0;
    for (size_t i = 0; i < shares->n; i++) /* each program it was has a peak of its own */
        if (shares->share[i].pid == pid && shares->share[i].peak_bytes > most)
            most = shares->share[i].peak_bytes;
    return most;
}

const char *as_program_shares_unseen_library(const struct as_program_shares *shares)
{
    return shares->gemm_seen ? NULL : shares->library;
}

size_t as_program_shares_count(const struct as_program_shares *shares)
{
    return shares->n;
}

size_t as_program_shares_left_out(const struct as_program_shares *shares)
{
    return shares->left_out;
}
