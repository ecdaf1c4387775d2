/* watch/watch_run.c - watches a program from outside until it ends, and records what was seen.
 * One thread: it sleeps until a signal, the end of the program, or the time of the next reading. */
#include "watch/watch_run.h"

#include <assay/session.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "probe/process/process_memory.h"
#include "probe/process/process_tree.h"
#include "stats/describe/rng.h"
#include "watch/teardown.h"
#include "watch/watch_fields.h"
#include "watch/watch_record.h"
#include "watch/watch_shm.h"

enum {
    THOROUGH_NS = 100 * 1000 * 1000,
    SHARES_NS = 15 * 1000 * 1000, /* their peaks are exact: they need not be read as often */
    FIRST_WAIT_NS = 1000 * 1000,
    SETTLED_NS = 10 * 1000 * 1000, /* of a process: until then it may still be loaded */
    TOLD_SLACK_BYTES = 1 << 20,    /* the kernel's own counts of pages differ by that */
    PSS_FIRST_WAIT_NS = 200 * 1000 * 1000,
    PSS_MOST_WAIT_NS = 2000 * 1000 * 1000,
    PSS_TIME_PART = 100
};
#define PSS_GROWN 1.03

#define NEAR_ITS_END 0.75 /* of its time */

struct watch {
    const struct as_watch_options *options;
    struct as_watch_end *end;
    pid_t pid;
    int pid_fd, signal_fd;
    struct as_process_tree *tree; /* NULL: /proc does not show it */
    struct as_watch_shm *shm;
    struct as_tree_now now;
    struct as_rng rng;
    struct rusage usage;
    bool has_usage;
    uint64_t ended_ns, next_ns, thorough_ns, shares_ns;
    uint64_t last_ns, last_cpu_ns; /* of the last sample */
    uint64_t readings, tree_peak_bytes;
    uint64_t pss_peak_bytes, pss_next_ns, pss_wait_ns, pss_soonest_ns;
    uint64_t pss_at_rss_bytes;     /* the most resident memory at which it was asked */
    bool pss_denied, tree_settled; /* read when the program was no longer being loaded */
    uint64_t own_peak_bytes, own_cpu_from_ns, own_cpu_ns;
    struct as_watch_inside inside; /* of what the processes hold: ours */
    struct as_last_fall fall;
    struct as_heap_lost lost;
    struct as_watch_limits limits; /* as the program was started */
    char why[320];                 /* the heap is not told */
    char gemm_why[120];
    uint32_t rss_channel, anon_channel, cpu_channel, heap_channel, descriptors_channel,
        threads_channel;
};

static uint64_t own_cpu_ns(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double seconds_at(const struct watch *w, uint64_t ns)
{
    uint64_t from = w->options->started_ns;

    return ns > from ? (double)(ns - from) / 1e9 : 0;
}

/* The first sentence stays. */
static struct assay_error *wrong(const struct watch *w)
{
    return w->end->wrong.code ? NULL : &w->end->wrong;
}

/* What cannot be recorded ends nothing: the sentence is kept for the end. */
static void keep_wrong(const struct watch *w, int rc)
{
    if (rc < 0 && !w->end->wrong.code)
        w->end->wrong.code = rc;
}

/* ---- samples ---- */

static uint64_t without(uint64_t bytes, uint64_t ours)
{
    return bytes > ours ? bytes - ours : bytes;
}

static void sample_tree(struct watch *w, uint64_t now_ns)
{
    uint64_t rss_bytes = without(w->now.rss_bytes, w->inside.table_bytes + w->inside.share_bytes);

    if (w->now.n_alive == 0)
        return;
    if (rss_bytes > w->tree_peak_bytes)
        w->tree_peak_bytes = rss_bytes;
    w->tree_settled |= rss_bytes && now_ns - w->options->started_ns >= SETTLED_NS;
    if (rss_bytes) /* one that is just ending holds nothing any more */
        assay_sample(w->rss_channel, (double)rss_bytes);
    if (w->now.anon_bytes)
        assay_sample(w->anon_channel, (double)without(w->now.anon_bytes, w->inside.table_bytes));
    if (rss_bytes && w->now.descriptors_known)
        assay_sample(w->descriptors_channel, (double)w->now.descriptors);
    if (rss_bytes)
        assay_sample(w->threads_channel, (double)w->now.threads);
    if (now_ns > w->last_ns && w->now.cpu_ns >= w->last_cpu_ns)
        assay_sample(w->cpu_channel,
                     (double)(w->now.cpu_ns - w->last_cpu_ns) / (double)(now_ns - w->last_ns));
    w->last_ns = now_ns;
    w->last_cpu_ns = w->now.cpu_ns;
}

/* The resident memory of several counts the pages they share in each. The kernel walks all pages
 * for this figure: it is asked for seldom, sooner where resident memory is more than it was at any
 * time before, and no more than a hundredth of the time goes into it. */
static void sample_pss(struct watch *w, uint64_t now_ns)
{
    uint64_t bytes, took_ns;

    bool grown = (double)w->now.rss_bytes > PSS_GROWN * (double)w->pss_at_rss_bytes;

    if (!w->tree || w->now.n_alive < 2 || w->pss_denied ||
        now_ns < (grown ? w->pss_soonest_ns : w->pss_next_ns))
        return;
    w->pss_denied = !as_process_tree_pss(w->tree, &bytes);
    took_ns = as_clock_mono_ns() - now_ns;
    w->pss_wait_ns = w->pss_wait_ns ? 2 * w->pss_wait_ns : PSS_FIRST_WAIT_NS;
    if (w->pss_wait_ns > PSS_MOST_WAIT_NS)
        w->pss_wait_ns = PSS_MOST_WAIT_NS;
    w->pss_soonest_ns = now_ns + PSS_TIME_PART * took_ns;
    w->pss_next_ns = w->pss_soonest_ns + w->pss_wait_ns;
    if (w->now.rss_bytes > w->pss_at_rss_bytes)
        w->pss_at_rss_bytes = w->now.rss_bytes;
    if (w->pss_denied)
        return;
    bytes = without(bytes, w->inside.table_bytes + w->inside.share_bytes);
    if (bytes > w->pss_peak_bytes)
        w->pss_peak_bytes = bytes;
}

static void read_shares(struct watch *w, uint64_t now_ns, bool look)
{
    uint64_t live_bytes;

    if (look) {
        as_watch_shm_find(w->shm);
        keep_wrong(w, as_watch_shm_record(w->shm, w->tree, wrong(w)));
    }
    if (!as_watch_shm_read(w->shm, seconds_at(w, now_ns), &live_bytes))
        return;
    assay_sample(w->heap_channel, (double)live_bytes);
    as_last_fall_add(&w->fall, seconds_at(w, now_ns), live_bytes);
}

/* Short programs are read often: at 1, 1.5, 2.25 ms and so on, until the interval is reached. Times
 * are spread, so that a program with a rhythm of its own is not always met at the same beat. */
static void plan_next(struct watch *w, uint64_t now_ns)
{
    uint64_t wait = (now_ns - w->options->started_ns) / 2;

    if (wait < FIRST_WAIT_NS)
        wait = FIRST_WAIT_NS;
    if (wait > w->options->interval_ns)
        wait = w->options->interval_ns;
    w->next_ns = now_ns + wait - wait / 4 + as_rng_below(&w->rng, wait / 2 + 1);
}

static void take_reading(struct watch *w)
{
    uint64_t now_ns = as_clock_mono_ns();
    bool thorough = now_ns - w->thorough_ns >= THOROUGH_NS;
    bool early = now_ns - w->options->started_ns < THOROUGH_NS;

    if (thorough)
        w->thorough_ns = now_ns;
    if (w->shm) /* just before: the table grows with the heap */
        as_watch_shm_inside(w->shm, &w->inside);
    if (w->tree)
        as_process_tree_read(w->tree, now_ns, thorough, &w->now);
    sample_tree(w, now_ns);
    if (thorough)
        sample_pss(w, now_ns);
    if (w->shm && (early || now_ns - w->shares_ns >= SHARES_NS)) {
        w->shares_ns = now_ns;
        read_shares(w, now_ns, thorough || early);
    }
    w->readings++;
    plan_next(w, now_ns);
}

/* ---- waiting ---- */

/* It stays a zombie until its last figures were read. */
static bool has_ended(const struct watch *w)
{
    siginfo_t info;

    memset(&info, 0, sizeof info);
    if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return errno != EINTR;
    return info.si_pid == w->pid;
}

/* True when the program may have ended. */
static bool sleep_until_next(const struct watch *w)
{
    struct pollfd fds[] = {{.fd = w->signal_fd, .events = POLLIN},
                           {.fd = w->pid_fd, .events = POLLIN}};
    uint64_t now_ns = as_clock_mono_ns(), wait = w->next_ns > now_ns ? w->next_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(wait / 1000000000u), (long)(wait % 1000000000u)};

    (void)ppoll(fds, 2, &timeout, NULL);
    if (fds[0].revents & POLLIN) {
        as_watch_signals_pass(w->signal_fd, w->pid, w->tree);
        as_watch_signals_mirror_stop(w->pid);
    }
    return w->pid_fd < 0 || fds[0].revents || fds[1].revents;
}

static void wait_for_end(struct watch *w)
{
    take_reading(w);
    for (bool look = true; !look || !has_ended(w);) {
        look = sleep_until_next(w);
        if (as_clock_mono_ns() >= w->next_ns)
            take_reading(w);
    }
    w->ended_ns = as_clock_mono_ns();
}

static int reap(struct watch *w, struct assay_error *err)
{
    struct as_watch_end *end = w->end;
    int status = 0;
    pid_t got;

    if (w->tree)
        as_process_tree_read(w->tree, w->ended_ns, true, &w->now);
    do
        got = wait4(w->pid, &status, 0, &w->usage);
    while (got < 0 && errno == EINTR);
    if (got != w->pid) {
        end->exit_status = 127;
        return as_fail_sys(err, ASSAY_ERR_IO, "the exit of the command was not reported");
    }
    w->has_usage = true;
    if (WIFSIGNALED(status)) {
        end->signal = WTERMSIG(status);
        end->dumped = WCOREDUMP(status);
        end->exit_status = 128 + end->signal;
    } else {
        end->exit_status = WEXITSTATUS(status);
    }
    return ASSAY_OK;
}

/* ---- figures ---- */

static struct as_fact time_fact(const struct watch *w, const struct timeval *t)
{
    if (!w->has_usage)
        return as_fact_none("the exit of the command was not reported");
    return as_fact_of((uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u);
}

static struct as_fact count_fact(const struct watch *w, long n)
{
    if (!w->has_usage || n < 0)
        return as_fact_none(n < 0 ? "the system's counter overflowed"
                                  : "the exit of the command was not reported");
    return as_fact_of((uint64_t)n);
}

/* Blocks of 512 bytes; a system without that account says 0, which would be no answer. */
static struct as_fact block_fact(const struct watch *w, long n)
{
    if (access("/proc/self/io", F_OK) != 0)
        return as_fact_none("the system does not count disk writes");
    if (n > LONG_MAX / 512)
        n = -1;
    return count_fact(w, n < 0 ? -1 : n * 512);
}

/* What a process held while it was still being set up says nothing about its peak, nor does what it
 * held long before its end. */
static bool was_seen_at_work(const struct watch *w, const struct as_tree_process *p)
{
    uint64_t from = p->first_ns, to = p->ended ? p->last_ns : w->ended_ns;

    return p->memory_ns > from && p->memory_ns - from >= SETTLED_NS &&
           (to <= from || p->memory_ns - from >= (to - from) / 2);
}

/* Of one process: by its own word as it ended, else by what was seen. */
static struct as_fact peak_of(const struct watch *w, const struct as_tree_process *p,
                              const char **from)
{
    uint64_t told = w->shm ? as_watch_shm_peak_bytes(w->shm, p->pid) : 0;
    uint64_t limit = w->has_usage ? (uint64_t)w->usage.ru_maxrss * 1024 : 0;

    if (told > 0 && (p->pid != w->pid || told <= limit + TOLD_SLACK_BYTES)) {
        *from = "reported by the program at exit";
        return as_fact_of(told);
    }
    *from = "the largest seen";
    return p->peak_rss_bytes.why || was_seen_at_work(w, p)
               ? p->peak_rss_bytes
               : as_fact_none("the process ended before its memory was sampled");
}

static struct as_fact largest_seen(const struct watch *w, const char **from)
{
    struct as_fact most = as_fact_none(
        "the program ended before its memory was sampled, and held less memory than assay itself");
    const struct as_tree_process *p;

    *from = NULL;
    for (size_t i = 0; w->tree && (p = as_process_tree_at(w->tree, i)) != NULL; i++) {
        const char *how;
        struct as_fact peak = peak_of(w, p, &how);

        if (peak.why || (!most.why && peak.value <= most.value))
            continue;
        most = peak;
        *from = how;
    }
    return most;
}

/* The kernel's figure for a new program begins with what its starter held: it is the program's only
 * when it is more. */
static struct as_fact peak_fact(const struct watch *w, const char **from)
{
    uint64_t told = (uint64_t)w->usage.ru_maxrss * 1024;

    *from = "reported by the kernel at exit";
    if (w->has_usage && told > w->own_peak_bytes)
        return as_fact_of(w->shm ? as_watch_shm_less_own(w->shm, told) : told);
    return largest_seen(w, from);
}

/* No less than the largest of them: samples come in between. */
static struct as_fact tree_peak_fact(const struct watch *w, struct as_fact largest)
{
    if (w->tree_peak_bytes && w->tree_settled)
        return as_fact_of(!largest.why && largest.value > w->tree_peak_bytes ? largest.value
                                                                             : w->tree_peak_bytes);
    return as_fact_none("the program ended before its memory was sampled");
}

static struct as_fact pss_fact(const struct watch *w)
{
    if (w->pss_peak_bytes)
        return as_fact_of(w->pss_peak_bytes);
    return as_fact_none(w->pss_denied
                            ? "the kernel does not report it of these processes"
                            : "no two processes were there at one time when it was sampled");
}

/* Of all processes seen. */
static struct as_fact run_delay_fact(const struct watch *w)
{
    struct as_fact sum = as_fact_none("no process was seen");
    const struct as_tree_process *p;

    for (size_t i = 0; w->tree && (p = as_process_tree_at(w->tree, i)) != NULL; i++) {
        if (!p->run_delay_ns.why)
            sum = as_fact_of((sum.why ? 0 : sum.value) + p->run_delay_ns.value);
        else if (sum.why)
            sum = p->run_delay_ns;
    }
    return sum;
}

static const char *tell_lost(struct watch *w)
{
    double ms = seconds_at(w, w->lost.exec_ns) * 1e3;

    int n;

    if (w->lost.recorded) {
        (void)snprintf(w->why, sizeof w->why,
                       "the command became another program by exec after %.0f ms, and the library "
                       "did not get into that one: its heap is not included",
                       ms);
        return w->why;
    }
    n = snprintf(w->why, sizeof w->why,
                 "the command became another program by exec after %.0f ms; its heap before that "
                 "was %llu allocation%s",
                 ms, (unsigned long long)w->lost.allocations, w->lost.allocations == 1 ? "" : "s");
    if (w->lost.why && w->lost.why[0] && n > 0 && (size_t)n < sizeof w->why)
        (void)snprintf(w->why + n, sizeof w->why - (size_t)n, "; %s", w->lost.why);
    return w->why;
}

static const char *heap_why(struct watch *w)
{
    if (w->end->heap_lost)
        return tell_lost(w);
    if (w->end->heap_watched)
        return w->shm ? as_watch_shm_quiet(w->shm) : NULL;
    if (w->options->heap_why)
        return w->options->heap_why;
    if (as_watch_limits_forbid(w->why, sizeof w->why))
        return w->why;
    return "the library left no data: the program ended or called exec before it was loaded, or "
           "there was no space for its file";
}

static const char *gemm_why(struct watch *w)
{
    const char *library = w->shm ? as_watch_shm_unseen_library(w->shm) : NULL;

    if (!library)
        return NULL;
    (void)snprintf(w->gemm_why, sizeof w->gemm_why,
                   "%s was loaded, but none of its calls went through a watched function", library);
    return w->gemm_why;
}

/* An interpreter that gives back its handler of SIGINT begins to end, unless it did so long before:
 * then the program wanted it so. */
static double finalized_at(const struct watch *w)
{
    const struct as_tree_process *p, *most = NULL;
    double at;

    for (size_t i = 0; w->tree && (p = as_process_tree_at(w->tree, i)) != NULL; i++)
        if (!p->peak_rss_bytes.why &&
            (!most || p->peak_rss_bytes.value > most->peak_rss_bytes.value))
            most = p;
    if (!most || !most->runtime || strcmp(most->runtime, "CPython") != 0 || !most->ignored_ns)
        return AS_UNKNOWN;
    at = seconds_at(w, most->caught_ns);
    return at > NEAR_ITS_END * seconds_at(w, w->ended_ns) ? at : AS_UNKNOWN;
}

/* A Python frees before it calls exit(), a C++ program behind it. */
static double judged_until(const struct watch *w)
{
    uint64_t exit_ns = w->shm ? as_watch_shm_exit_ns(w->shm, w->pid) : 0;
    double fall = as_last_fall_seconds(&w->fall), left = AS_UNKNOWN;

    if (exit_ns > w->options->started_ns && exit_ns < w->ended_ns)
        left = seconds_at(w, exit_ns);
    return fmin(finalized_at(w), fmin(fall, left)); /* those that are numbers */
}

/* Of the processes that did the work: one that only started another may be bound elsewhere. */
static double usable_cpus(const struct watch *w)
{
    const struct as_tree_process *p;
    uint64_t most_ns = 0;
    uint32_t most = 0;

    for (size_t i = 0; w->tree && (p = as_process_tree_at(w->tree, i)) != NULL; i++)
        most_ns = p->cpu_ns > most_ns ? p->cpu_ns : most_ns;
    for (size_t i = 0; w->tree && (p = as_process_tree_at(w->tree, i)) != NULL; i++)
        if (p->cpu_ns >= most_ns / 10 && p->cpus > most)
            most = p->cpus;
    return most ? fmin(most, w->limits.group_cpus) : AS_UNKNOWN;
}

static void record_facts(struct watch *w)
{
    const struct rusage *u = &w->usage;
    const char *from;
    struct as_fact peak = peak_fact(w, &from);
    struct as_watch_facts facts = {
        .argv = w->options->argv,
        .without_args = w->options->without_args,
        .n_args = w->options->n_args,
        .folder = w->options->folder,
        .exit_status = w->end->exit_status,
        .signal = w->end->signal,
        .dumped = w->end->dumped,
        .heap_why = heap_why(w),
        .started_mono_ns = w->options->started_ns,
        .wall_seconds = seconds_at(w, w->ended_ns),
        .interval_seconds = (double)w->options->interval_ns / 1e9,
        .readings = w->readings,
        .cpu_user_ns = time_fact(w, &u->ru_utime),
        .cpu_system_ns = time_fact(w, &u->ru_stime),
        .peak_rss_bytes = peak,
        .peak_from = from,
        .gemm_why = gemm_why(w),
        .gemm_core = w->shm ? as_watch_shm_core(w->shm) : NULL,
        .cpu_vectors = as_watch_cpu_vectors(""),
        .usable_cpus = usable_cpus(w),
        .address_limit_bytes = w->limits.address_bytes,
        .group_limit_bytes = w->limits.group_bytes,
        .tree_peak_rss_bytes = tree_peak_fact(w, peak),
        .tree_peak_pss_bytes = pss_fact(w),
        .minor_faults = count_fact(w, u->ru_minflt),
        .major_faults = count_fact(w, u->ru_majflt),
        .switches_voluntary = count_fact(w, u->ru_nvcsw),
        .switches_involuntary = count_fact(w, u->ru_nivcsw),
        .read_bytes = block_fact(w, u->ru_inblock),
        .written_bytes = block_fact(w, u->ru_oublock),
        .run_delay_ns = run_delay_fact(w),
        .own_cpu_ns = as_fact_of(w->own_cpu_ns),
        .judged_until_seconds = judged_until(w),
        .exit_live_bytes = w->shm ? as_watch_shm_exit_live_bytes(w->shm, w->pid) : AS_UNKNOWN,
        .processes_left_out = w->tree ? as_process_tree_left_out(w->tree) : 0,
    };

    keep_wrong(w, as_watch_record_facts(&facts, wrong(w)));
}

/* Should we be killed, the run still says what was run. */
static void record_start(struct watch *w)
{
    static const char why[] = "the recording ends before the command did";
    struct as_watch_facts facts = {.argv = w->options->argv,
                                   .without_args = w->options->without_args,
                                   .n_args = w->options->n_args,
                                   .folder = w->options->folder,
                                   .exit_status = AS_EXIT_UNKNOWN,
                                   .heap_why = w->options->heap_why ? w->options->heap_why : why,
                                   .started_mono_ns = w->options->started_ns,
                                   .wall_seconds = AS_UNKNOWN,
                                   .interval_seconds = (double)w->options->interval_ns / 1e9,
                                   .judged_until_seconds = AS_UNKNOWN,
                                   .exit_live_bytes = AS_UNKNOWN,
                                   .usable_cpus = AS_UNKNOWN,
                                   .address_limit_bytes = w->limits.address_bytes,
                                   .group_limit_bytes = w->limits.group_bytes,
#define X(name) .name = {.why = why},
                                   AS_WATCH_FACTS(X)
#undef X
    };

    keep_wrong(w, as_watch_record_facts(&facts, wrong(w)));
}

/* Of a command that was one process all the time, the kernel's sums are that process's. */
static void take_usage(const struct watch *w, struct as_process_facts *out)
{
    uint64_t told = (uint64_t)w->usage.ru_maxrss * 1024;

    out->cpu_user_ns = time_fact(w, &w->usage.ru_utime);
    out->cpu_system_ns = time_fact(w, &w->usage.ru_stime);
    out->switches_voluntary = count_fact(w, w->usage.ru_nvcsw);
    out->switches_involuntary = count_fact(w, w->usage.ru_nivcsw);
    out->minor_faults = count_fact(w, w->usage.ru_minflt);
    out->major_faults = count_fact(w, w->usage.ru_majflt);
    if (told > w->own_peak_bytes)
        out->peak_rss_bytes = as_fact_of(w->shm ? as_watch_shm_less_own(w->shm, told) : told);
}

static void fill_process(const struct watch *w, const struct as_tree_process *p,
                         struct as_process_facts *out)
{
    bool alone = p->pid == w->pid && !p->had_children && !as_process_tree_at(w->tree, 1);
    const char *from;

    *out = (struct as_process_facts){
        .pid = p->pid,
        .parent_pid = p->parent_pid,
        .name = p->name,
        .runtime = p->runtime,
        .start_seconds = seconds_at(w, p->first_ns),
        .end_seconds = p->ended ? seconds_at(w, p->last_ns) : AS_UNKNOWN,
        .cpu_user_ns = p->cpu_user_ns,
        .cpu_system_ns = p->cpu_system_ns,
        .peak_rss_bytes = peak_of(w, p, &from),
        .minor_faults = p->minor_faults,
        .major_faults = p->major_faults,
        .switches_voluntary = p->switches_voluntary,
        .switches_involuntary = p->switches_involuntary,
        .read_bytes = p->read_bytes,
        .written_bytes = p->written_bytes,
        .io_wait_ns = p->io_wait_ns,
        .run_delay_ns = p->run_delay_ns,
        .threads_most = p->threads_most,
        .descriptors_most = p->descriptors_most,
        .heap_watched = w->shm && as_watch_shm_watched(w->shm, p->pid),
    };
    if (alone && w->has_usage)
        take_usage(w, out);
}

static void record_processes(struct watch *w)
{
    struct as_process_facts *list;
    const struct as_tree_process *p;
    size_t n = 0;

    while (w->tree && as_process_tree_at(w->tree, n))
        n++;
    list = as_alloc_zero(n ? n : 1, sizeof *list);
    if (!list) {
        (void)as_fail_nomem(wrong(w));
        return;
    }
    for (size_t i = 0; i < n && (p = as_process_tree_at(w->tree, i)) != NULL; i++)
        fill_process(w, p, &list[i]);
    keep_wrong(w, as_watch_record_processes(list, n, wrong(w)));
    as_free(list);
}

/* Those that are still there after everything was written are no race with the end. */
static void find_left(struct watch *w)
{
    struct as_watch_end *end = w->end;
    const struct as_tree_process *p;

    if (!w->tree)
        return;
    as_process_tree_read(w->tree, as_clock_mono_ns(), false, &w->now);
    for (size_t i = 0; (p = as_process_tree_at(w->tree, i)) != NULL; i++) {
        if (p->ended)
            continue;
        if (end->n_left < AS_WATCH_MAX_LEFT) {
            end->left_pid[end->n_left] = p->pid;
            (void)snprintf(end->left_name[end->n_left], sizeof end->left_name[0], "%.60s", p->name);
        }
        end->n_left++;
    }
}

static void record(struct watch *w)
{
    if (w->shm) {
        as_watch_shm_find(w->shm);
        keep_wrong(w, as_watch_shm_record(w->shm, NULL, wrong(w)));
        w->end->heap_watched = as_watch_shm_watched(w->shm, 0);
        w->end->heap_lost = as_watch_shm_lost(w->shm, w->pid, &w->lost);
        w->end->heaps_left_out = as_watch_shm_left_out(w->shm);
    }
    record_processes(w);
    record_facts(w);
    find_left(w);
}

static void open_sources(struct watch *w)
{
    const struct as_watch_options *o = w->options;
    struct as_process_memory memory;

    as_process_memory_read(&memory, "");
    w->own_peak_bytes = memory.rss_peak.why ? 0 : memory.rss_peak.value;
    as_watch_limits_read(&w->limits, "");
    w->signal_fd = as_watch_signals_open();
    w->pid_fd = (int)syscall(SYS_pidfd_open, w->pid, 0); /* SIGCHLD tells where there is none */
    if (as_process_tree_new(&w->tree, "", w->pid, o->started_ns, NULL) < 0)
        w->tree = NULL;
    if (w->tree && o->without_args)
        as_process_tree_drop_args(w->tree);
    if (o->share_folder &&
        as_watch_shm_new(&w->shm, o->share_folder, o->heap, o->gemm, wrong(w)) < 0)
        w->shm = NULL;
    as_rng_seed(&w->rng, o->started_ns);
    w->rss_channel = assay_channel(AS_CHANNEL_TREE_RSS, "bytes");
    w->anon_channel = assay_channel(AS_CHANNEL_TREE_ANON, "bytes");
    w->cpu_channel = assay_channel(AS_CHANNEL_TREE_CPU, "processors");
    w->heap_channel = assay_channel(AS_CHANNEL_HEAP_LIVE, "bytes");
    w->descriptors_channel = assay_channel(AS_CHANNEL_TREE_DESCRIPTORS, "descriptors");
    w->threads_channel = assay_channel(AS_CHANNEL_TREE_THREADS, "threads");
}

int as_watch_run(struct as_watch_end *end, pid_t pid, const struct as_watch_options *options,
                 struct assay_error *err)
{
    struct watch w = {.options = options, .end = end, .pid = pid, .last_ns = options->started_ns};
    int rc;

    *end = (struct as_watch_end){0};
    w.own_cpu_from_ns = own_cpu_ns();
    open_sources(&w);
    record_start(&w);
    wait_for_end(&w);
    w.own_cpu_ns = own_cpu_ns() - w.own_cpu_from_ns;
    rc = reap(&w, err);
    record(&w);
    as_watch_shm_free(w.shm);
    as_process_tree_free(w.tree);
    if (w.signal_fd >= 0)
        close(w.signal_fd);
    if (w.pid_fd >= 0)
        close(w.pid_fd);
    return rc;
}
