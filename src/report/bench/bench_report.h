/* report/bench/bench_report.h - the results of an experiment: a page for a person, JSON, the files
 * of its folder, and figures. */
#ifndef AS_REPORT_BENCH_BENCH_REPORT_H
#define AS_REPORT_BENCH_BENCH_REPORT_H

#include "base/text/term.h"
#include "experiment/bench/bench_result.h"
#include "probe/system/isa_cap.h"

struct as_bench_report {
    const struct as_bench_result *result;
    const struct as_grid *grid;      /* NULL: the settings have names alone */
    const char *title;               /* what was measured */
    const char *experiment_hash;     /* of all that decides the results; stamped everywhere */
    const char (*config_hashes)[65]; /* of each setting, as its witness has it; NULL: none */
    const char *energy_source;       /* as it was asked for; NULL: none */
    const char *fingerprint;         /* JSON of everything known of this run; NULL: none */
    const char *energy_why;          /* why energy is unknown; NULL: it is known */
    const struct as_isa_choice *isa; /* of our kernels; NULL: a command was measured */
    const char *witness_note;        /* what the verdict on the witness rests on; NULL: none */
    bool markdown, wide;
};

AS_MUST_USE int as_bench_page(const struct as_bench_report *report, struct as_out *out,
                              const struct as_term *term, struct assay_error *err);
AS_MUST_USE int as_bench_json(const struct as_bench_report *report, struct as_out *out,
                              struct assay_error *err);
/* One row a setting with everything that is known of it. */
AS_MUST_USE int as_bench_summary_csv(const struct as_bench_report *report, struct as_out *out,
                                     struct assay_error *err);
/* One row a sample of one setting, with what the documented columns have no place for. */
AS_MUST_USE int as_bench_details_csv(const struct as_bench_setting *setting, struct as_out *out,
                                     struct assay_error *err);

/* Writes the figures into `folder`, which is there: latency.svg, energy.svg, and for an attention
 * workload tradeoff.svg and lengths.svg, for others axis.svg where an axis has numbers. */
AS_MUST_USE int as_bench_plots(const struct as_bench_report *report, const char *folder,
                               struct assay_error *err);

#endif
