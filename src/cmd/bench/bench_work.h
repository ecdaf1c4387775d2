/* cmd/bench/bench_work.h - what the parts of `assay bench` share: the options, the workload, the
 * folder. Each kind of workload is a row of a table. */
#ifndef AS_CMD_BENCH_BENCH_WORK_H
#define AS_CMD_BENCH_BENCH_WORK_H

#include <assay/experiment/fingerprint.h>
#include <assay/memory.h>
#include <assay/power.h>
#include <limits.h>

#include "cmd/common/console.h"
#include "cmd/common/options.h"
#include "cmd/common/show_options.h"
#include "experiment/attention/attention_plan.h"
#include "experiment/bench/bench_result.h"
#include "experiment/bench/bench_sample.h"
#include "experiment/bench/workload.h"
#include "probe/system/topology.h"
#include "report/bench/bench_report.h"
#include "report/run/interrupted.h"

struct as_bench_work;

struct as_bench_kind {
    const char *name;
    const char *folder; /* when none is given; NULL: then nothing is kept */
    uint64_t samples;   /* when none are given; 0: the plan says */
    unsigned warmup;    /* rounds, when none are given */
    bool runs_kernels;  /* of our own, which --max-isa caps */
    bool has_grid;      /* settings are those of --grid */
    /* Settings, and everything that is wrong with the words. */
    int (*plan)(struct as_bench_work *w, struct assay_error *err);
    /* The members of the plan that are its own, into an open object. */
    void (*write)(const struct as_bench_work *w, struct as_json_writer *out);
    /* Before there is a folder: what cannot work is told without leaving one behind. */
    int (*open)(struct as_bench_work *w, struct as_bench_load *load, struct assay_error *err);
    /* Once there is one; NULL: nothing to do. */
    int (*begin)(struct as_bench_work *w, struct assay_error *err);
};

struct as_bench_work {
    const struct as_cmd_line *line;
    const struct as_bench_kind *kind;
    struct as_progress progress;
    uint64_t start_ns, start_done; /* of the samples that are taken now, for the time left */
    struct as_topology topology;
    unsigned threads;
    uint64_t seed;
    char folder[PATH_MAX], journal_path[PATH_MAX], witness[PATH_MAX];
    char title[400];
    struct as_grid grid;
    struct as_attention_plan attention_plan;
    struct as_bench bench;
    struct as_load_command command;
    struct as_load_model *model;
    struct as_load_attention *attention;
    struct as_journal journal;
    bool resumed;
    bool is_named;           /* by --name */
    bool has_shell;          /* the last setting only starts the shell that runs the commands */
    struct as_out plan_text; /* of the journal: JSON on one line */
    struct assay_fingerprint *fingerprint;
    char *fingerprint_json;
    char experiment_hash[ASSAY_HASH_HEX];  /* of all that decides */
    char fingerprint_hash[ASSAY_HASH_HEX]; /* of everything known */
    char data_hash[ASSAY_HASH_HEX];        /* of what an attention workload computes on */
    char host[256];
    char model_hash[ASSAY_HASH_HEX]; /* of a model's file; "": built in */
    struct assay_power_source power;
    bool has_power;
    struct as_power_meter meter;
    struct assay_memory_tracker *memory;
    bool keeps_signed; /* the experiment was finished and signed before, and stays as it is */
    enum as_verdict *verdicts; /* on the witness, by setting */
    char witness_note[800], witness_differs[320];
    struct as_show show;
    struct as_run *run; /* of what was measured; NULL before */
    struct as_bench_view view;
};

/* The kind of workload that the words ask for; NULL with `err` filled. */
const struct as_bench_kind *as_bench_kind_of(const struct as_cmd_line *line,
                                             struct assay_error *err);

/* cmd/bench/bench_options.c: the attention plan from the options. */
AS_MUST_USE int as_bench_attention_options(const struct as_cmd_line *line,
                                           struct as_attention_plan *plan, struct assay_error *err);
/* "0.3 0.5,0.7" into numbers; `option` for messages. */
AS_MUST_USE int as_bench_number_list(const char *option, const char *text, double *out, uint64_t *n,
                                     struct assay_error *err);

/* cmd/bench/bench_folder.c: makes the folder, or finds what is in it and what may be done with it,
 * and opens the journal. */
AS_MUST_USE int as_bench_folder_open(struct as_bench_work *w, struct assay_error *err);

/* The names, beneath the folder, of all files that the experiment may have written there, bundles
 * aside. {0} is empty; as_bench_names_fini() also after a failure. */
struct as_bench_names {
    const char **name;
    size_t n, capacity;
    struct as_arena arena;
};
AS_MUST_USE int as_bench_names_init(struct as_bench_names *names, const struct as_bench *bench,
                                    struct assay_error *err);
void as_bench_names_fini(struct as_bench_names *names);

/* cmd/bench/bench_recheck.c: what `assay verify` adds to the check of a folder: results, tables and
 * figures are computed again from the samples of its run, and the run is held against the journal.
 */
struct as_folder_check;
AS_MUST_USE int as_bench_recheck(struct as_folder_check *check, struct assay_error *err);

/* cmd/bench/bench_finish.c: what follows the measuring. */
AS_MUST_USE int as_bench_check_witness(struct as_bench_work *w, struct assay_error *err);
AS_MUST_USE int as_bench_pack(struct as_bench_work *w, struct assay_error *err);
AS_MUST_USE int as_bench_results(struct as_bench_work *w, struct assay_error *err);

/* cmd/bench/bench_commands.c: commands side by side, and --setup, --prepare and --cleanup of any
 * command. */
AS_MUST_USE int as_bench_plan_commands(struct as_bench_work *w, struct assay_error *err);
void as_bench_write_commands(const struct as_bench_work *w, struct as_json_writer *out);
/* The command line as the plan has it: redacted when that is asked for. */
void as_bench_put_command(const struct as_bench_work *w, struct as_json_writer *out,
                          const char *command);
AS_MUST_USE int as_bench_plan_hooks(struct as_bench_work *w, struct assay_error *err);
/* Runs those of "setup" or "cleanup". */
AS_MUST_USE int as_bench_hooks(struct as_bench_work *w, const char *option,
                               struct assay_error *err);

/* cmd/bench/bench_interrupted.c: prints what there is and how to resume. The folder keeps the
 * journal and gets no results: those are of the whole experiment. */
AS_MUST_USE int as_bench_interrupted(struct as_bench_work *w, struct assay_error *err);
/* cmd/bench/bench_finish.c: makes w->run and w->view of what was measured. */
AS_MUST_USE int as_bench_make_run(struct as_bench_work *w, const struct as_interrupted_fact *early,
                                  struct assay_error *err);

#endif
