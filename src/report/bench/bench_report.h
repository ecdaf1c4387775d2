/* report/bench/bench_report.h - the results of an experiment: a page for a person, JSON, the files
 * of its folder, and figures. */
#ifndef AS_REPORT_BENCH_BENCH_REPORT_H
#define AS_REPORT_BENCH_BENCH_REPORT_H

#include "base/text/csv_target.h"
#include "base/text/term.h"
#include "experiment/bench/bench_result.h"
#include "probe/system/topology.h"
#include "trace/run/run_maker.h"

/* What starting the shell that runs the commands costs; subtracted from every sample. */
struct as_bench_shell {
    struct as_bench_estimate median_ns;
    double user_ns, system_ns; /* means */
};

struct as_bench_report {
    const struct as_bench_result *result;
    const struct as_grid *grid;         /* NULL: the settings have names alone */
    const char *title;                  /* what was measured */
    const char *experiment_hash;        /* of all that decides the results; stamped everywhere */
    const char (*config_hashes)[65];    /* of each setting, as its witness has it; NULL: none */
    const char *energy_source;          /* as it was asked for; NULL: none */
    const char *fingerprint;            /* JSON of everything known of this run; NULL: none */
    const char *energy_why;             /* why energy is unknown; NULL: it is known */
    const struct as_isa_choice *isa;    /* of our kernels; NULL: a command was measured */
    const char *witness_note;           /* what the verdict on the witness rests on; NULL: none */
    const struct as_bench_shell *shell; /* NULL: nothing was subtracted */
    bool markdown, wide;
};

AS_MUST_USE int as_bench_page(const struct as_bench_report *report, struct as_out *out,
                              const struct as_term *term, struct assay_error *err);
/* The table of a grid of commands or models and what follows from it: bench_grid_text.c. */
struct as_page;
void as_bench_put_grid(struct as_page *page, const struct as_bench_report *report);

/* Members of the document "assay.bench". */
void as_bench_json(const struct as_bench_report *report, struct as_json_writer *w);
/* settings.csv, and in a folder samples.csv too: bench_settings_csv.c. Answers the number of
 * tables. */
AS_MUST_USE int as_bench_csv(const struct as_bench_report *report, const struct as_csv_target *to,
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

/* ---- bench_kind.c ---- */

/* What a run of the kind "bench" keeps beside its settings and their samples. */
struct as_bench_facts {
    const char *kind, *title, *experiment_hash; /* of a report; never NULL */
    const char *fingerprint, *energy_source, *energy_why, *witness_note;
    bool runs_kernels; /* of our own: the report names their instruction set */
    bool has_grid, has_hashes;
    bool is_named;  /* the user gave the settings names, which hide nothing */
    bool has_shell; /* the last setting only starts the shell; what is shown is without it */
    uint64_t n_samples, baseline;
    struct as_bench_limits limits;
};

struct as_bench_data {
    struct as_bench_facts facts;
    const struct as_topology *topology;
    const struct as_bench *bench;
    const struct as_grid *grid;      /* NULL: the settings have names alone */
    const char (*config_hashes)[65]; /* NULL: none */
    const enum as_verdict *verdicts; /* on the witness, by setting; NULL: none */
};

void as_bench_put(struct as_run_maker *maker, const struct as_bench_data *data);

/* The same out of a run, and what follows from it. */
struct as_bench_view {
    struct as_bench_facts facts;
    char title[256]; /* of a redacted run */
    struct as_topology topology;
    struct as_grid grid;
    struct as_bench bench;
    struct as_bench_result *result;
    struct as_bench_shell shell;
    struct as_bench_report report; /* points into all of them */
};

/* `view` is freed by as_bench_view_fini(), also when this fails, and before the run is closed. */
AS_MUST_USE int as_bench_view_init(struct as_bench_view *view, struct as_run *run,
                                   struct assay_error *err);
void as_bench_view_fini(struct as_bench_view *view);

/* Facts and samples alone, as they were measured: nothing is subtracted and there is no result. */
AS_MUST_USE int as_bench_samples_read(struct as_bench_view *view, struct as_run *run,
                                      struct assay_error *err);

#endif
