/* bench/sampler.c - what watching a program from outside costs: the share of one processor that a
 * hundred readings a second take while it runs. usage: bench-sampler RUN */
#include <assay/session.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "watch/watch_run.h"

enum { TRIES = 5 };

static const uint64_t child_ns = 3000000000u;

static const double bound = 0.005;

static double own_cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void spin(uint64_t from_ns)
{
    while (as_clock_mono_ns() - from_ns < child_ns)
        ;
    _exit(0);
}

/* What else runs on the machine can only make it dearer: the best of some tries counts. */
static double share_of_one(const char *path, struct assay_error *err)
{
    const char *const argv[] = {"spin", NULL};
    struct assay_session_options session = {.size = sizeof(struct assay_session_options)};
    struct as_watch_options options = {
        .argv = argv, .n_args = 1, .heap_why = "a bench", .interval_ns = 10000000};
    struct as_watch_end end;
    double cpu_s;
    pid_t pid;

    session.fork = ASSAY_FORK_STOP;
    if (assay_session_open(path, &session, err) < 0)
        return -1;
    options.started_ns = as_clock_mono_ns();
    pid = fork();
    if (pid == 0)
        spin(options.started_ns);
    cpu_s = own_cpu_s();
    if (pid < 0 || as_watch_run(&end, pid, &options, err) < 0)
        return -1;
    cpu_s = own_cpu_s() - cpu_s;
    if (assay_session_close(err) < 0)
        return -1;
    return cpu_s / ((double)(as_clock_mono_ns() - options.started_ns) * 1e-9);
}

int main(int argc, char **argv)
{
    struct assay_error err = {0};
    double best = 1;
    sigset_t saved;

    if (argc != 2) {
        fprintf(stderr, "usage: bench-sampler RUN\n");
        return 2;
    }
    as_watch_signals_block(&saved);
    for (int i = 0; i < TRIES; i++) {
        double share = share_of_one(argv[1], &err);

        if (share < 0) {
            fprintf(stderr, "bench-sampler: %s\n", err.msg);
            return 3;
        }
        if (share < best)
            best = share;
    }
    printf("%-34s %10.4f %-10s <=%-8g %s\n", "run_sampler_cpu_share", best, "share", bound,
           best <= bound ? "ok" : "miss");
    return 0;
}
