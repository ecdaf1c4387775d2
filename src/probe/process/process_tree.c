/* probe/process/process_tree.c - every process beneath one: what each holds and does, read again
 * and again. A process is known by its pid and the moment it began, so a pid that is given out
 * again is another process. */
#include "probe/process/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file/file_open.h"
#include "base/text/text.h"
#include "probe/process/process_descriptors.h"
#include "probe/process/process_runtime.h"
#include "probe/process/process_stat.h"
#include "probe/system/root_file.h"

enum {
    MAX_KEPT_FDS = 256, /* beyond, files are opened for every reading */
    MANY_THREADS = 16,  /* their children are looked for less often */
    MAX_DELAYS = 1024,  /* threads of a process whose run delay is known */
    RARELY = 10,        /* thorough samples */
    SLOTS = 16384,      /* of the index by pid: four times the processes */
    MAX_PIDS = 4194304, /* the kernel's own limit */
    FILE_BYTES = 4096,
    CHILDREN_BYTES = 65536 /* of one thread: some ten thousand */
};

enum tree_file {
    FILE_STAT,
    FILE_CHILDREN,
    FILE_STATUS,
    FILE_IO,
    FILE_SCHEDSTAT,
    FILE_STATM,
    FILE_DESCRIPTORS,
    FILE_COUNT
};

/* The run delay of one thread. */
struct delay {
    uint64_t tid, ns;
    bool seen; /* at this reading */
};

struct row {
    struct as_tree_process seen;
    uint64_t start_ticks, n_threads, first_threads;
    uint64_t descriptors, first_descriptors;
    bool has_descriptors;
    struct delay *delay; /* of threads besides the first */
    size_t n_delays, delay_capacity;
    uint64_t ended_delay_ns; /* of those that have ended */
    char comm[AS_COMM_BYTES];
    int fd[FILE_COUNT]; /* -1: not open */
    clockid_t clock;
    bool has_clock;
    bool runtime_sought;
};

struct as_process_tree {
    char root[PATH_MAX];
    struct row *row;
    size_t n_rows, capacity;
    uint32_t alive[AS_TREE_MAX_PROCESSES]; /* rows */
    size_t n_alive;
    uint16_t slot[SLOTS]; /* row + 1 of those alive, by pid */
    uint64_t ended_cpu_ns;
    uint64_t left_out;
    uint8_t *told; /* bit by pid: counted in left_out; NULL while there is room */
    int n_fds;
    bool without_args;      /* of names */
    bool sized;             /* the number of open files is the size of a folder */
    bool scans;             /* the kernel has no children files: all of /proc is looked through */
    const char *no_io_wait; /* why */
    uint64_t tick_ns, page_bytes, n_thorough;
    char text[FILE_BYTES];
    char children[CHILDREN_BYTES];
};

_Static_assert(AS_TREE_MAX_PROCESSES < UINT16_MAX, "a slot holds a row");

/* ---- files ---- */

static bool row_path(const struct as_process_tree *t, const struct row *r, enum tree_file file,
                     char path[PATH_MAX])
{
    static const char *const name[] = {
        [FILE_STAT] = "stat",           [FILE_STATUS] = "status", [FILE_IO] = "io",
        [FILE_SCHEDSTAT] = "schedstat", [FILE_STATM] = "statm",   [FILE_DESCRIPTORS] = "fd"};
    long long pid = (long long)r->seen.pid;
    int n;

    if (file == FILE_CHILDREN)
        n = snprintf(path, PATH_MAX, "%s/proc/%lld/task/%lld/children", t->root, pid, pid);
    else
        n = snprintf(path, PATH_MAX, "%s/proc/%lld/%s", t->root, pid, name[file]);
    return n > 0 && n < PATH_MAX;
}

/* Reads from its beginning, NUL-terminated; the size, or -1 with errno. */
static ssize_t read_fd(int fd, char *text, size_t capacity)
{
    ssize_t n = pread(fd, text, capacity - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return n;
}

static ssize_t read_path(const char *path, char *text, size_t capacity)
{
    int fd = as_open(path, O_RDONLY | O_NONBLOCK);
    ssize_t n;

    text[0] = '\0';
    if (fd < 0)
        return -1;
    n = read_fd(fd, text, capacity);
    close(fd);
    return n;
}

/* Into t->text, or t->children. */
static ssize_t read_file(struct as_process_tree *t, struct row *r, enum tree_file file)
{
    char *text = file == FILE_CHILDREN ? t->children : t->text;
    size_t capacity = file == FILE_CHILDREN ? sizeof t->children : sizeof t->text;
    char path[PATH_MAX];

    if (r->fd[file] >= 0)
        return read_fd(r->fd[file], text, capacity);
    text[0] = '\0';
    if (!row_path(t, r, file, path))
        return -1;
    if (t->n_fds >= MAX_KEPT_FDS)
        return read_path(path, text, capacity);
    r->fd[file] = as_open(path, O_RDONLY | O_NONBLOCK);
    if (r->fd[file] < 0)
        return -1;
    t->n_fds++;
    return read_fd(r->fd[file], text, capacity);
}

static void close_files(struct as_process_tree *t, struct row *r)
{
    for (int i = 0; i < FILE_COUNT; i++) {
        if (r->fd[i] >= 0) {
            close(r->fd[i]);
            t->n_fds--;
        }
        r->fd[i] = -1;
    }
}

/* ---- the index ---- */

static size_t slot_of(const struct as_process_tree *t, int64_t pid)
{
    size_t i = (size_t)((uint64_t)pid * 0x9e3779b97f4a7c15u >> 50) % SLOTS;

    while (t->slot[i] && t->row[t->slot[i] - 1].seen.pid != pid)
        i = (i + 1) % SLOTS;
    return i;
}

static void index_alive(struct as_process_tree *t)
{
    memset(t->slot, 0, sizeof t->slot);
    for (size_t i = 0; i < t->n_alive; i++)
        t->slot[slot_of(t, t->row[t->alive[i]].seen.pid)] = (uint16_t)(t->alive[i] + 1);
}

bool as_process_tree_has(const struct as_process_tree *tree, int64_t pid)
{
    return tree->slot[slot_of(tree, pid)] != 0;
}

/* ---- one process ---- */

static void read_name(struct as_process_tree *t, struct row *r)
{
    char path[PATH_MAX];
    ssize_t n = 0;

    if (snprintf(path, sizeof path, "%s/proc/%lld/cmdline", t->root, (long long)r->seen.pid) <
        (int)sizeof path)
        n = read_path(path, t->text, sizeof t->text);
    if (n > 0 && t->without_args)
        n = (ssize_t)strnlen(t->text, (size_t)n);
    if (n > 0)
        as_process_command_text(r->seen.name, sizeof r->seen.name, t->text, (size_t)n);
    else if (!r->seen.name[0]) /* it has ended, or is the kernel's own */
        as_process_command_text(r->seen.name, sizeof r->seen.name, r->comm, strlen(r->comm));
}

static void raise_fact(struct as_fact *most, uint64_t value)
{
    if (most->why || value > most->value)
        *most = as_fact_of(value);
}

static uint64_t ticks_ns(const struct as_process_tree *t, uint64_t ticks)
{
    return ticks < UINT64_MAX / t->tick_ns ? ticks * t->tick_ns : 0;
}

/* The kernel's clock of the process knows nanoseconds; the ticks only hundredths of a second. */
static uint64_t cpu_of(const struct as_process_tree *t, const struct row *r,
                       const struct as_process_stat *stat)
{
    struct timespec now;

    if (r->has_clock && clock_gettime(r->clock, &now) == 0)
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return ticks_ns(t, stat->user_ticks) + ticks_ns(t, stat->system_ticks);
}

/* The sum is exact where the clock of the process tells it; ticks only divide it, and where none
 * has fallen yet all of it counts as the program's own. */
static void divide_cpu(const struct as_process_tree *t, struct as_tree_process *p,
                       const struct as_process_stat *stat)
{
    double user = (double)stat->user_ticks, system = (double)stat->system_ticks;
    uint64_t ticks = ticks_ns(t, stat->user_ticks) + ticks_ns(t, stat->system_ticks);
    uint64_t of_system = 0;

    if (ticks > p->cpu_ns) /* the clock of one that ends is gone before its ticks are */
        p->cpu_ns = ticks;
    if (user + system > 0)
        of_system = (uint64_t)((double)p->cpu_ns * (system / (user + system)));
    if (of_system > p->cpu_ns)
        of_system = p->cpu_ns;
    p->cpu_system_ns = as_fact_of(of_system);
    p->cpu_user_ns = as_fact_of(p->cpu_ns - of_system);
}

static void take_stat(struct as_process_tree *t, struct row *r, const struct as_process_stat *stat)
{
    struct as_tree_process *p = &r->seen;
    uint64_t cpu_ns = cpu_of(t, r, stat);

    p->rss_bytes =
        stat->rss_pages < UINT64_MAX / t->page_bytes ? stat->rss_pages * t->page_bytes : 0;
    if (cpu_ns > p->cpu_ns) /* of one that ends just now it may be gone */
        p->cpu_ns = cpu_ns;
    divide_cpu(t, p, stat);
    p->minor_faults = as_fact_of(stat->minor_faults);
    p->major_faults = as_fact_of(stat->major_faults);
    p->io_wait_ns = t->no_io_wait ? as_fact_none(t->no_io_wait)
                                  : as_fact_of(ticks_ns(t, stat->block_wait_ticks));
    if (p->rss_bytes)
        raise_fact(&p->peak_rss_bytes, p->rss_bytes);
    p->had_children |= stat->child_minor_faults > 0;
    r->n_threads = stat->n_threads;
    if (stat->n_threads)
        raise_fact(&p->threads_most, stat->n_threads);
}

static void take_anon(struct as_process_tree *t, struct row *r)
{
    uint64_t pages;

    r->seen.anon_bytes = 0;
    if (r->seen.rss_bytes && read_file(t, r, FILE_STATM) > 0 &&
        as_process_anon_pages_parse(&pages, t->text) && pages < UINT64_MAX / t->page_bytes)
        r->seen.anon_bytes = pages * t->page_bytes;
}

/* Where entries have to be counted, at thorough samples alone. */
static void take_descriptors(struct as_process_tree *t, struct row *r, bool thorough)
{
    char path[PATH_MAX];
    int fd = r->fd[FILE_DESCRIPTORS];
    bool counted;

    if ((!t->sized && !thorough) || (fd < 0 && !row_path(t, r, FILE_DESCRIPTORS, path)))
        return;
    if (fd < 0)
        fd = as_process_descriptors_open(path);
    counted = fd >= 0 && as_process_descriptors_count(&r->descriptors, fd, t->sized);
    if (fd >= 0 && r->fd[FILE_DESCRIPTORS] < 0) {
        if (t->n_fds < MAX_KEPT_FDS) {
            r->fd[FILE_DESCRIPTORS] = fd;
            t->n_fds++;
        } else {
            close(fd);
        }
    }
    if (!counted || r->descriptors == 0) /* one that ends has closed them */
        return;
    if (!r->has_descriptors)
        r->first_descriptors = r->descriptors;
    r->has_descriptors = true;
    raise_fact(&r->seen.descriptors_most, r->descriptors);
}

static void take_status(struct as_process_tree *t, struct row *r)
{
    struct as_process_status status;
    struct as_tree_process *p = &r->seen;

    if (read_file(t, r, FILE_STATUS) <= 0)
        return;
    as_process_status_parse(&status, t->text);
    if (!status.rss_peak_bytes.why)
        raise_fact(&p->peak_rss_bytes, status.rss_peak_bytes.value);
    if (status.catches_interrupt) {
        p->caught_ns = p->last_ns;
        p->ignored_ns = 0;
    } else if (status.catches_known && p->caught_ns && !p->ignored_ns) {
        p->ignored_ns = p->last_ns;
    }
    p->switches_voluntary = status.switches_voluntary;
    p->switches_involuntary = status.switches_involuntary;
    if (p->threads_most.value > 1)
        p->switches_voluntary = p->switches_involuntary =
            as_fact_none("the system counts them by thread, and this process had several");
}

static void take_io(struct as_process_tree *t, struct row *r)
{
    struct as_process_io io;
    ssize_t n = read_file(t, r, FILE_IO);

    if (n > 0) {
        as_process_io_parse(&io, t->text);
    } else {
        bool denied = n < 0 && (errno == EACCES || errno == EPERM);

        if (!denied && !r->seen.read_bytes.why)
            return; /* it ends: what was read before stays */
        io.read_bytes = io.written_bytes =
            as_fact_none(denied ? "not permitted to read it of this process"
                                : "the process ended before it was read");
    }
    r->seen.read_bytes = io.read_bytes;
    r->seen.written_bytes = io.written_bytes;
}

/* Of a thread that was not known: an entry, or NULL without room. */
static struct delay *find_delay(struct row *r, uint64_t tid)
{
    size_t capacity = r->delay_capacity ? 2 * r->delay_capacity : 16;
    struct delay *grown;

    for (size_t i = 0; i < r->n_delays; i++)
        if (r->delay[i].tid == tid)
            return &r->delay[i];
    if (r->n_delays == MAX_DELAYS)
        return NULL;
    if (r->n_delays == r->delay_capacity) {
        grown = as_realloc(r->delay, capacity, sizeof *grown);
        if (!grown)
            return NULL;
        r->delay = grown;
        r->delay_capacity = capacity;
    }
    r->delay[r->n_delays] = (struct delay){.tid = tid};
    return &r->delay[r->n_delays++];
}

static void read_delays_of_threads(struct as_process_tree *t, struct row *r)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    long long pid = (long long)r->seen.pid;
    DIR *dir = NULL;

    if (snprintf(path, sizeof path, "%s/proc/%lld/task", t->root, pid) < (int)sizeof path)
        dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL) {
        struct delay *d;
        uint64_t tid, ns;

        if (!as_parse_u64(entry->d_name, strlen(entry->d_name), &tid) || tid == (uint64_t)pid ||
            snprintf(path, sizeof path, "%s/proc/%lld/task/%llu/schedstat", t->root, pid,
                     (unsigned long long)tid) >= (int)sizeof path ||
            read_path(path, t->text, sizeof t->text) <= 0 ||
            !as_process_run_delay_parse(&ns, t->text))
            continue;
        d = find_delay(r, tid);
        if (d) {
            r->ended_delay_ns += ns < d->ns ? d->ns : 0; /* another thread got the number */
            d->ns = ns;
            d->seen = true;
        }
    }
    if (dir)
        closedir(dir);
}

/* The kernel counts by thread and forgets those that end: what they were last seen with stays. */
static void take_run_delay(struct as_process_tree *t, struct row *r, bool all_threads)
{
    ssize_t n = read_file(t, r, FILE_SCHEDSTAT);
    bool missing = n < 0 && errno == ENOENT;
    uint64_t total;
    size_t kept = 0;

    if (n <= 0 || !as_process_run_delay_parse(&total, t->text)) {
        if (r->seen.run_delay_ns.why && missing)
            r->seen.run_delay_ns = as_fact_none("the kernel does not count it");
        return;
    }
    if (all_threads)
        read_delays_of_threads(t, r);
    for (size_t i = 0; i < r->n_delays; i++) {
        struct delay d = r->delay[i];

        if (all_threads && !d.seen) {
            r->ended_delay_ns += d.ns;
            continue;
        }
        total += d.ns;
        d.seen = false;
        r->delay[kept++] = d;
    }
    r->n_delays = kept;
    raise_fact(&r->seen.run_delay_ns, total + r->ended_delay_ns);
}

/* The mask of more CPUs than that is not read. */
enum { MAX_CPUS = 4096 };

static void take_cpus(const struct as_process_tree *t, struct row *r)
{
    uint64_t mask[MAX_CPUS / 64];
    uint32_t n = 0;
    long bytes;

    if (t->root[0]) /* prepared files: the process is somebody else's */
        return;
    bytes = syscall(SYS_sched_getaffinity, (pid_t)r->seen.pid, sizeof mask, mask);
    for (long i = 0; i < bytes / 8; i++)
        n += (uint32_t)__builtin_popcountll(mask[i]);
    if (n)
        r->seen.cpus = n;
}

/* False when it has ended. */
static bool read_row(struct as_process_tree *t, struct row *r, uint64_t now_ns, bool thorough)
{
    struct as_process_stat stat;
    bool was_many = r->n_threads > 1;

    if (read_file(t, r, FILE_STAT) <= 0 || !as_process_stat_parse(&stat, t->text) ||
        stat.start_ticks != r->start_ticks)
        return false;
    take_stat(t, r, &stat);
    take_anon(t, r);
    take_descriptors(t, r, thorough);
    r->seen.last_ns = now_ns;
    if (stat.rss_pages)
        r->seen.memory_ns = now_ns;
    if (strcmp(stat.comm, r->comm) != 0) { /* it became another program */
        memcpy(r->comm, stat.comm, sizeof r->comm);
        r->seen.name[0] = '\0';
        r->seen.runtime = NULL;
        r->runtime_sought = false;
        read_name(t, r);
    } else if (thorough && t->n_thorough % RARELY == 0) {
        read_name(t, r); /* a program may write over its own command line */
    }
    if (thorough && !r->seen.runtime && (!r->runtime_sought || t->n_thorough % RARELY == 0)) {
        r->seen.runtime = as_process_runtime(t->root, r->seen.pid);
        r->runtime_sought = true;
    }
    if (thorough || stat.state == 'Z' || (!was_many && r->n_threads > 1)) {
        take_status(t, r);
        take_io(t, r);
        take_cpus(t, r);
        take_run_delay(t, r,
                       (r->n_threads > 1 || r->n_delays > 0) &&
                           (r->n_threads <= MANY_THREADS || t->n_thorough % RARELY == 0));
    }
    return stat.state != 'Z' && stat.state != 'X';
}

/* ---- finding them ---- */

static bool reserve(struct as_process_tree *t)
{
    size_t capacity = t->capacity ? 2 * t->capacity : 16;
    struct row *rows;

    if (t->n_rows < t->capacity)
        return true;
    if (t->n_rows == AS_TREE_MAX_PROCESSES)
        return false;
    rows = as_realloc(t->row, capacity, sizeof *rows);
    if (!rows)
        return false;
    t->row = rows;
    t->capacity = capacity;
    return true;
}

static void leave_out(struct as_process_tree *t, int64_t pid)
{
    if (!t->told)
        t->told = as_alloc_zero(MAX_PIDS / 8, 1);
    if (!t->told || pid >= MAX_PIDS || t->told[pid / 8] >> (pid % 8) & 1)
        return;
    t->told[pid / 8] |= (uint8_t)(1u << (pid % 8));
    t->left_out++;
}

static void start_row(struct row *r, int64_t pid, uint64_t now_ns)
{
    static const char why[] = "the process ended before it was read";
    const struct as_fact none = as_fact_none(why);

    *r = (struct row){.seen = {.pid = pid, .first_ns = now_ns, .last_ns = now_ns}};
    for (int i = 0; i < FILE_COUNT; i++)
        r->fd[i] = -1;
    r->seen.peak_rss_bytes = r->seen.threads_most = none;
    r->seen.switches_voluntary = r->seen.switches_involuntary = none;
    r->seen.read_bytes = r->seen.written_bytes = r->seen.run_delay_ns = none;
    r->seen.descriptors_most = none;
}

/* Takes a process that was not known into the list; false when it is not there any more. */
static bool add(struct as_process_tree *t, int64_t pid, uint64_t now_ns)
{
    struct as_process_stat stat;
    struct row *r;

    if (!reserve(t)) {
        leave_out(t, pid);
        return false;
    }
    r = &t->row[t->n_rows];
    start_row(r, pid, now_ns);
    if (read_file(t, r, FILE_STAT) <= 0 || !as_process_stat_parse(&stat, t->text) ||
        stat.state == 'Z' || stat.state == 'X') {
        close_files(t, r);
        return false;
    }
    r->start_ticks = stat.start_ticks;
    r->seen.parent_pid = (int64_t)(stat.parent_pid & INT32_MAX);
    /* The clocks of the machine say nothing about prepared files. */
    r->has_clock = !t->root[0] && clock_getcpuclockid((pid_t)pid, &r->clock) == 0;
    memcpy(r->comm, stat.comm, sizeof r->comm);
    take_stat(t, r, &stat);
    take_anon(t, r);
    take_descriptors(t, r, true);
    r->first_threads = r->n_threads;
    r->seen.memory_ns = stat.rss_pages ? now_ns : 0;
    read_name(t, r);
    take_status(t, r);
    take_io(t, r);
    take_cpus(t, r);
    take_run_delay(t, r, false);
    t->slot[slot_of(t, pid)] = (uint16_t)(t->n_rows + 1);
    t->alive[t->n_alive++] = (uint32_t)t->n_rows++;
    return true;
}

/* Those named in t->children. */
static void add_children(struct as_process_tree *t, uint64_t now_ns)
{
    const char *at = t->children;
    int64_t pid;

    while (as_process_next_child(&at, &pid))
        if (!as_process_tree_has(t, pid))
            (void)add(t, pid, now_ns);
}

/* Children belong to the thread that made them. */
static void add_children_of_threads(struct as_process_tree *t, int64_t pid, uint64_t now_ns)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    DIR *dir;

    if (snprintf(path, sizeof path, "%s/proc/%lld/task", t->root, (long long)pid) >=
        (int)sizeof path)
        return;
    dir = opendir(path);
    if (!dir)
        return;
    while ((entry = readdir(dir)) != NULL) {
        uint64_t tid;

        if (!as_parse_u64(entry->d_name, strlen(entry->d_name), &tid) || tid == (uint64_t)pid)
            continue;
        if (snprintf(path, sizeof path, "%s/proc/%lld/task/%llu/children", t->root, (long long)pid,
                     (unsigned long long)tid) < (int)sizeof path &&
            read_path(path, t->children, sizeof t->children) > 0)
            add_children(t, now_ns);
    }
    closedir(dir);
}

/* Without children files: everything whose parent is known, again and again until nothing is new.
 */
static void scan(struct as_process_tree *t, uint64_t now_ns)
{
    char path[PATH_MAX];
    bool found = true;

    if (snprintf(path, sizeof path, "%s/proc", t->root) >= (int)sizeof path)
        return;
    for (int pass = 0; found && pass < 64; pass++) {
        DIR *dir = opendir(path);
        const struct dirent *entry;

        found = false;
        while (dir && (entry = readdir(dir)) != NULL) {
            struct as_process_stat stat;
            char file[PATH_MAX];
            uint64_t pid;

            if (!as_parse_u64(entry->d_name, strlen(entry->d_name), &pid) || pid > INT32_MAX ||
                as_process_tree_has(t, (int64_t)pid))
                continue;
            if (snprintf(file, sizeof file, "%s/proc/%llu/stat", t->root, (unsigned long long)pid) <
                    (int)sizeof file &&
                read_path(file, t->text, sizeof t->text) > 0 &&
                as_process_stat_parse(&stat, t->text) &&
                as_process_tree_has(t, (int64_t)(stat.parent_pid & INT32_MAX)))
                found |= add(t, (int64_t)pid, now_ns);
        }
        if (dir)
            closedir(dir);
    }
}

static void end_row(struct as_process_tree *t, struct row *r, uint64_t now_ns)
{
    r->seen.ended = true;
    r->seen.last_ns = now_ns;
    r->seen.rss_bytes = r->seen.anon_bytes = 0;
    t->ended_cpu_ns += r->seen.cpu_ns;
    as_free(r->delay);
    r->delay = NULL;
    r->n_delays = r->delay_capacity = 0;
    close_files(t, r);
}

/* Those known, and what they made: new ones are put behind and come along in the same round. */
static void walk(struct as_process_tree *t, uint64_t now_ns, bool thorough)
{
    size_t kept = 0, n_before = t->n_alive;

    for (size_t i = 0; i < t->n_alive; i++) {
        uint32_t at = t->alive[i];
        bool many = t->row[at].n_threads > MANY_THREADS;
        /* One that was just added was just read. */
        bool there = i >= n_before || read_row(t, &t->row[at], now_ns, thorough);

        if (!there) {
            end_row(t, &t->row[at], now_ns);
            continue;
        }
        t->alive[kept++] = at;
        if (t->scans)
            continue;
        if (read_file(t, &t->row[at], FILE_CHILDREN) > 0)
            add_children(t, now_ns);
        if (thorough && t->row[at].n_threads > 1 && (!many || t->n_thorough % RARELY == 0))
            add_children_of_threads(t, t->row[at].seen.pid, now_ns);
    }
    if (kept != t->n_alive) {
        t->n_alive = kept;
        index_alive(t);
    }
}

static uint64_t beyond(uint64_t n, uint64_t first)
{
    return n > first ? n - first : 0;
}

static void add_row(struct as_tree_now *now, const struct row *r, bool first)
{
    now->rss_bytes += r->seen.rss_bytes;
    now->anon_bytes += r->seen.anon_bytes;
    now->cpu_ns += r->seen.cpu_ns;
    now->threads += first ? r->n_threads : beyond(r->n_threads, r->first_threads);
    if (!r->has_descriptors)
        return;
    now->descriptors += first ? r->descriptors : beyond(r->descriptors, r->first_descriptors);
    now->descriptors_known = true;
}

void as_process_tree_read(struct as_process_tree *tree, uint64_t now_ns, bool thorough,
                          struct as_tree_now *now)
{
    if (thorough)
        tree->n_thorough++;
    walk(tree, now_ns, thorough);
    if (tree->scans && thorough)
        scan(tree, now_ns);
    *now = (struct as_tree_now){.n_alive = tree->n_alive, .cpu_ns = tree->ended_cpu_ns};
    for (size_t i = 0; i < tree->n_alive; i++)
        add_row(now, &tree->row[tree->alive[i]], tree->alive[i] == 0);
}

bool as_process_tree_pss(struct as_process_tree *tree, uint64_t *bytes)
{
    char path[PATH_MAX];

    *bytes = 0;
    for (size_t i = 0; i < tree->n_alive; i++) {
        const struct as_tree_process *p = &tree->row[tree->alive[i]].seen;
        uint64_t kib;

        if (snprintf(path, sizeof path, "%s/proc/%lld/smaps_rollup", tree->root,
                     (long long)p->pid) >= (int)sizeof path)
            return false;
        if (read_path(path, tree->text, sizeof tree->text) <= 0) {
            if (errno == ESRCH || errno == ENOENT)
                continue; /* it has just ended */
            return false;
        }
        if (!as_text_field_u64(tree->text, "Pss", &kib) || kib > UINT64_MAX / 1024)
            return false;
        *bytes += kib * 1024;
    }
    return tree->n_alive > 0;
}

/* ---- the list ---- */

/* Waiting for storage is counted only when the kernel was told to: 0 would be no answer. */
static const char *why_no_io_wait(const char *root)
{
    struct as_fact on = as_root_u64(root, "/proc/sys/kernel/task_delayacct", "x");

    if (on.why)
        return "the kernel does not count waiting for disk I/O";
    return on.value ? NULL : "the kernel counts it only with kernel.task_delayacct = 1";
}

void as_process_tree_drop_args(struct as_process_tree *tree)
{
    tree->without_args = true;
    for (size_t i = 0; i < tree->n_rows; i++) {
        memset(tree->row[i].seen.name, 0, sizeof tree->row[i].seen.name);
        read_name(tree, &tree->row[i]);
    }
    memset(tree->text, 0, sizeof tree->text);
}

int as_process_tree_new(struct as_process_tree **out, const char *root, int64_t pid,
                        uint64_t now_ns, struct assay_error *err)
{
    struct as_process_tree *t = as_alloc_zero(1, sizeof *t);
    long hz = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);

    *out = NULL;
    if (!t)
        return as_fail_nomem(err);
    if (snprintf(t->root, sizeof t->root, "%s", root) >= (int)sizeof t->root) {
        as_free(t);
        return as_fail(err, ASSAY_ERR_LIMIT, "the path of the root is too long");
    }
    t->tick_ns = 1000000000u / (uint64_t)(hz > 0 ? hz : 100);
    t->page_bytes = page > 0 ? (uint64_t)page : 4096;
    t->no_io_wait = why_no_io_wait(root);
    t->sized = !root[0] && as_process_descriptors_sized();
    if (!add(t, pid, now_ns)) {
        as_process_tree_free(t);
        return as_fail(err, ASSAY_ERR_NOTFOUND, "process %lld is not in /proc: is /proc mounted?",
                       (long long)pid);
    }
    t->scans = read_file(t, &t->row[0], FILE_CHILDREN) < 0 && errno == ENOENT;
    *out = t;
    return ASSAY_OK;
}

void as_process_tree_free(struct as_process_tree *tree)
{
    if (!tree)
        return;
    for (size_t i = 0; i < tree->n_rows; i++) {
        close_files(tree, &tree->row[i]);
        as_free(tree->row[i].delay);
    }
    as_free(tree->row);
    as_free(tree->told);
    as_free(tree);
}

const struct as_tree_process *as_process_tree_at(const struct as_process_tree *tree, size_t i)
{
    return i < tree->n_rows ? &tree->row[i].seen : NULL;
}

uint64_t as_process_tree_left_out(const struct as_process_tree *tree)
{
    return tree->left_out;
}
