/* cmd/machine/machine_study.c - the two studies of `assay machine`: of operations, and of our own
 * overhead. */
#include "cmd/machine/machine_study.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/common/cached_peaks.h"
#include "cmd/common/console.h"
#include "cmd/common/measure_options.h"
#include "report/machine/machine_report.h"

enum { QUICK_ROUNDS = 2, QUICK_TRIALS = 12 };

#define QUICK_ROUND_S 0.01
#define QUICK_PAIR_S  0.05

static void tell_operations(void *user, double share)
{
    as_progress_show(user, "timing operations", share);
}

/* On one thread unless asked: at these sizes waking others costs more than the work. */
static int measure_operations(struct as_operation_run **run, const struct as_cmd_line *line,
                              const struct as_topology *topology, struct assay_error *err)
{
    struct as_progress progress = {.wanted = as_progress_wanted(line)};
    bool quick = as_opt_given(line, "quick");
    struct as_memory_headroom headroom;
    struct as_operation_options options = {
        .size = (int64_t)as_opt_number(line, "size", AS_OPERATION_SIZE),
        .threads = (unsigned)as_opt_number(line, "threads", 1),
        .rounds = quick ? QUICK_ROUNDS : 0,
        .round_s = quick ? QUICK_ROUND_S : 0,
        .progress = tell_operations,
        .user = &progress,
    };
    int rc;

    as_memory_headroom_read(&headroom, "", &topology->container);
    options.limit_bytes = headroom.left.why ? 0 : headroom.left.value;
    as_run_environment();
    rc = as_operation_run_new(run, &options, err);
    as_progress_end(&progress);
    return rc;
}

/* The peaks of all thread counts serve any number of threads. */
int as_study_operations(const struct as_show *show, const struct as_cmd_line *line,
                        const struct as_topology *topology, struct assay_error *err)
{
    struct as_peaks_wanted wanted = {.topology = topology,
                                     .fresh = as_opt_given(line, "fresh"),
                                     .quick = as_opt_given(line, "quick")};
    struct as_operation_run *run = NULL;
    struct as_run_maker maker;
    struct as_peaks_cached cached;
    int rc = as_peaks_get(&cached, &wanted, line, err);

    if (rc == ASSAY_OK)
        rc = measure_operations(&run, line, topology, err);
    if (rc == ASSAY_OK)
        rc = as_run_maker_open(&maker, as_show_run_path(line), "operations", err);
    if (rc == ASSAY_OK) {
        as_operations_put(&maker, topology, &cached.peaks, run);
        rc = as_show_finish(&maker, show, line, err);
    }
    as_operation_run_free(run);
    return rc;
}

static void tell_overhead(void *user, const char *what, double share)
{
    as_progress_show(user, what, share);
}

/* Marks are recorded into a folder of our own, which goes with what is in it. */
static int measure_overhead(struct as_overhead_run *run, const struct as_cmd_line *line,
                            struct assay_error *err)
{
    struct as_progress progress = {.wanted = as_progress_wanted(line)};
    bool quick = as_opt_given(line, "quick");
    char folder[AS_TEMPORARY_PATH], path[AS_TEMPORARY_PATH + 16];
    struct as_temporary *held = NULL;
    struct as_overhead_options options = {
        .rounds = quick ? QUICK_TRIALS : 0,
        .pair_s = quick ? QUICK_PAIR_S : 0,
        .progress = tell_overhead,
        .user = &progress,
    };
    int rc;

    if (as_temporary_folder_make(&held, folder, NULL) == ASSAY_OK) {
        (void)snprintf(path, sizeof path, "%s/run.assay", folder);
        options.record = path;
    }
    as_run_environment();
    rc = as_overhead_run(run, &options, err);
    as_progress_end(&progress);
    as_temporary_folder_remove(held);
    return rc;
}

int as_study_overhead(const struct as_show *show, const struct as_cmd_line *line,
                      const struct as_topology *topology, struct assay_error *err)
{
    struct as_overhead_run run;
    struct as_run_maker maker;
    int rc = measure_overhead(&run, line, err);

    if (rc == ASSAY_OK)
        rc = as_run_maker_open(&maker, as_show_run_path(line), "overhead", err);
    if (rc < 0)
        return rc;
    as_overhead_put(&maker, topology, &run);
    return as_show_finish(&maker, show, line, err);
}
