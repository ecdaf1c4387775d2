/* report/export/export.h - a run in the files of other tools: one table of formats, all of them
 * streams. Whatever state the run is in, the file is valid; what a size limit left out is counted
 * exactly.
 */
#ifndef AS_REPORT_EXPORT_EXPORT_H
#define AS_REPORT_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"
#include "trace/run/run_reader.h"

struct as_export_options {
    int64_t thread;     /* only the thread of this index; -1 for all */
    uint64_t max_bytes; /* of the whole output; 0 for no limit */
};
#define AS_EXPORT_OPTIONS_INIT                                                                     \
    {                                                                                              \
        -1, 0                                                                                      \
    }

/* How many of each there are. Formats that have no place for one do not count it as left out. */
struct as_export_tally {
    uint64_t spans, samples, iterations, losses, waits, notes;
    uint64_t points; /* messages, instant events, and those of async spans and flows */
    uint64_t locks;
    uint64_t stacks, stacks_ns; /* of folded stacks alone: lines, and the time they stand for */
};

struct as_export_result {
    struct as_export_tally seen, kept;
    uint64_t size_bytes; /* of the output */
    bool stacks_merged;  /* folded: so many different stacks that the last are counted with their
                            parents */
    bool no_clock; /* the clock readings are damaged: no event has a time, so none was written */
};

struct as_export;

struct as_exporter {
    const char *name, *suffix, *summary;
    int (*run)(struct as_export *x, struct assay_error *err);
};

extern const struct as_exporter as_exporters[];
extern const size_t as_n_exporters;

/* The format of that name, or NULL. */
const struct as_exporter *as_exporter_find(const char *name);

/* Writes `run` to `out`, which stays the caller's to close: failures of the output are told there.
 * ASSAY_ERR_NOTFOUND when the run has no such thread, ASSAY_ERR_LIMIT when not even an empty file
 * fits in max_bytes; nothing was written then. */
AS_MUST_USE int as_export(const struct as_exporter *exporter, struct as_run *run,
                          const struct as_export_options *options, struct as_out *out,
                          struct as_export_result *result, struct assay_error *err);

/* Whether the limit left anything out. */
bool as_export_is_cut(const struct as_export_result *result);

#endif
