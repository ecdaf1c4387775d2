/* experiment/bench/bench_result.h - what an experiment says: each setting's figures with their
 * intervals, what it saves beside the baseline, and which success criteria it meets. */
#ifndef AS_EXPERIMENT_BENCH_BENCH_RESULT_H
#define AS_EXPERIMENT_BENCH_BENCH_RESULT_H

#include "experiment/bench/bench.h"
#include "stats/describe/summary.h"

/* A figure with its 95 % interval. Value NaN: unknown. The bounds are NaN when too few samples
 * pin it down. */
struct as_bench_estimate {
    double value, low, high;
    size_t n;
};

/* What makes a setting a success, and by how much. */
struct as_bench_limits {
    double max_coherence_loss;   /* 0.05 */
    double min_accuracy;         /* 0.99 */
    double min_kv_reduction;     /* 0.15 */
    double min_energy_reduction; /* 0.10 */
    double max_p95_change;       /* 0.10 */
    bool energy_is_assumed;      /* watts were told, not metered: nothing is claimed of energy */
};
#define AS_BENCH_LIMITS_INIT                                                                       \
    {                                                                                              \
        0.05, 0.99, 0.15, 0.10, 0.10, false                                                        \
    }

enum as_criterion {
    AS_CRITERION_QUALITY, /* coherence loss and accuracy */
    AS_CRITERION_KV_CACHE,
    AS_CRITERION_ENERGY,
    AS_CRITERION_LATENCY,
    AS_CRITERION_WITNESS, /* the decisions come out the same when they are computed again */
    AS_CRITERION_COUNT
};

enum as_verdict { AS_VERDICT_UNKNOWN, AS_VERDICT_MET, AS_VERDICT_MISSED };

struct as_bench_row {
    const struct as_bench_setting *setting;
    struct as_summary wall;                   /* ns; percentiles by nearest rank */
    struct as_bench_estimate median_ns;       /* of wall times */
    struct as_bench_estimate decide_ns;       /* mean */
    double kernel_mean_ns;                    /* NaN: unknown */
    double user_mean_ns, system_mean_ns;      /* CPU time of a command; NaN: unknown */
    struct as_bench_estimate mean_mem_bytes;  /* counted peak of a sample */
    double peak_mem_bytes;                    /* the greatest */
    struct as_bench_estimate energy_j;        /* a sample */
    struct as_bench_estimate coherence_delta; /* mean of cosine - 1 */
    struct as_bench_estimate cuts;            /* share of decisions whose cut took an edge away */
    double deciding;                          /* share of the time */
    struct as_bench_estimate edges_kept;      /* share of all */
    double coherence_loss;                    /* mean of 1 - cosine: never below 0 */
    double accuracy, contradiction_rate;      /* shares of samples */
    double max_abs_error;                     /* the greatest */
    struct as_bench_estimate
        kv_cache_reduction; /* 1 - kept / all positions, all samples together */
    struct as_bench_estimate peak_mem_reduction; /* 1 - setting / baseline, all samples together */
    struct as_bench_estimate energy_reduction;
    struct as_bench_estimate latency_reduction; /* of the mean wall time, paired by sample */
    struct as_bench_estimate time_ratio;        /* geometric mean of setting / baseline by sample */
    struct as_bench_estimate item_ns;           /* the median for one item of work */
    double ratio_log_sd;                        /* spread of the logarithms of these ratios */
    double samples_for_10;                      /* that show a ratio of 1.1, 4 of 5 times */
    double p;                                   /* that the two do not differ; NaN: not tested */
    double p95_change;                          /* setting / baseline - 1 */
    bool same_outputs, outputs_known;           /* as the baseline's, by their hashes */
    bool near_shell; /* hardly slower than the start of the shell that was subtracted: no ratio */
    enum as_verdict criteria[AS_CRITERION_COUNT];
    bool met, missed; /* all that could be told are met; one is missed */
};

struct as_bench_result {
    const struct as_bench *bench;
    struct as_bench_limits limits;
    struct as_bench_row *rows; /* one a setting, in their order */
    bool judged;               /* criteria apply: an attention workload */
    /* Settings do different work: times and energies are compared by the item, not the sample. */
    bool by_item;
    size_t n_met; /* settings that meet every criterion that could be told */
};

/* `witness` holds a verdict for each setting, from whoever computed the decisions again; NULL:
 * none. `limits` may be NULL. */
AS_MUST_USE int as_bench_result_new(struct as_bench_result **out, const struct as_bench *bench,
                                    const struct as_bench_limits *limits,
                                    const enum as_verdict *witness, struct assay_error *err);
void as_bench_result_free(struct as_bench_result *result);

/* "quality", "kv_cache", "energy", "latency", "witness", and the rule in words. */
const char *as_criterion_name(enum as_criterion which);
void as_criterion_rule(enum as_criterion which, const struct as_bench_limits *limits,
                       char out[120]);

/* "met", "missed", "unknown". */
const char *as_verdict_name(enum as_verdict verdict);

#endif
