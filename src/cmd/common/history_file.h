/* cmd/common/history_file.h - what is remembered of earlier profiles of the same model at the same
 * settings on this machine, in the user's cache. Without a cache nothing is. */
#ifndef AS_CMD_COMMON_HISTORY_FILE_H
#define AS_CMD_COMMON_HISTORY_FILE_H

#include <limits.h>

#include "cmd/common/options.h"
#include "measure/latency/run_history.h"
#include "probe/system/topology.h"

struct as_earlier_runs {
    struct as_run_history history;
    char folder[PATH_MAX], path[PATH_MAX]; /* path "": nothing is kept */
};

/* The same: model (and the size and time of its file), machine, version, threads, and every option
 * that changes what is run. `threads` is the number really used. */
void as_earlier_runs_find(struct as_earlier_runs *earlier, const struct as_cmd_line *line,
                          const struct as_topology *topology, unsigned threads);

/* Adds one and keeps it; failing to is no failure of the command. */
void as_earlier_runs_add(struct as_earlier_runs *earlier, double median_ns);

#endif
