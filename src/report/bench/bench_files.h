/* report/bench/bench_files.h - the folder of an experiment: csv/, figs/, run.assay, results.json,
 * summary.md and fingerprint.json, each written whole and stamped. The journal and the witness are
 * not of here. */
#ifndef AS_REPORT_BENCH_BENCH_FILES_H
#define AS_REPORT_BENCH_BENCH_FILES_H

#include <assay/experiment/fingerprint.h>
#include <assay/memory.h>
#include <assay/power.h>

#include "report/bench/bench_report.h"

struct as_bench_folder {
    const char *path; /* there, and so are csv/ and figs/ in it for an attention workload */
    const struct as_bench_report *report;
    struct as_run *run; /* that the report is of: becomes run.assay and results.json */
    const struct assay_fingerprint *fingerprint;
    struct assay_memory_tracker *memory; /* of the whole run; NULL: none */
    struct assay_power_tracker *power;   /* NULL: none */
    const char *csv, *figs;              /* folders in place of those in `path`; NULL: those */
    bool unstamped;                      /* nothing is written beside the tables */
    bool resumed;                        /* earlier parts of the run may have left rows */
};

/* The name of a setting's file, with what has no place in one replaced. False: it is too long. */
bool as_bench_file_name(const char *name, size_t setting, const char *suffix, char *out,
                        size_t capacity);

/* <path>/<folder>/<setting><suffix>, with what has no place in a file name replaced; the baseline
 * is called "baseline". */
AS_MUST_USE int as_bench_file(const struct as_bench_folder *folder, size_t setting,
                              const char *suffix, char *out, size_t capacity,
                              struct assay_error *err);

AS_MUST_USE int as_bench_write(const struct as_bench_folder *folder, struct assay_error *err);

#endif
