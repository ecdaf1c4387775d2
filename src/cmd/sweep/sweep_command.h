/* cmd/sweep/sweep_command.h - what `assay sweep` and `assay tune` share: options, settings, the run
 * and its page. */
#ifndef AS_CMD_SWEEP_SWEEP_COMMAND_H
#define AS_CMD_SWEEP_SWEEP_COMMAND_H

#include "cmd/cmd.h"
#include "cmd/common/cached_peaks.h"
#include "cmd/common/console.h"
#include "cmd/common/measure_options.h"
#include "cmd/common/model_options.h"
#include "cmd/common/show_options.h"
#include "report/sweep/sweep_text.h"

struct as_sweep_command {
    const struct as_cmd_line *line;
    struct as_sweep_options options;
    int typed_at[AS_SWEEP_AXES]; /* by axis */
    struct as_infer_dim dims[AS_CMD_MAX_LIST];
    struct as_infer_input inputs[AS_CMD_MAX_LIST];
    struct as_dims shapes[AS_CMD_MAX_LIST];
    struct as_sweep_limits limits;
    struct as_topology topology;
    struct as_memory_headroom headroom;
    struct as_peaks_cached peaks;
    bool has_peaks;
    struct as_progress progress;
    size_t step, n_steps;
    uint64_t start_ns;
    struct as_sweep_run *run;
    struct as_arena arena;
};

/* The new axis stands where it was typed among the others; NULL with an error: too many. */
struct as_sweep_axis *as_sweep_new_axis(struct as_sweep_command *w, enum as_sweep_kind kind,
                                        const char *name, int typed_at, struct assay_error *err);

/* All of the command. `choose` may add axes before those that were typed are checked; NULL: it need
 * not. */
AS_MUST_USE int as_sweep_command(const struct as_cmd_line *line,
                                 int (*choose)(struct as_sweep_command *w, struct assay_error *err),
                                 struct assay_error *err);

/* Options of both, behind those of their axes. */
#define AS_OPTS_SWEEP                                                                              \
    {.name = "max-latency",                                                                        \
     .group = "Goals",                                                                             \
     .kind = AS_OPT_TEXT,                                                                          \
     .argument = "MS",                                                                             \
     .help = "find the best setting with a p50 of at most this many milliseconds"},                \
        {.name = "fit",                                                                            \
         .group = "Goals",                                                                         \
         .kind = AS_OPT_TEXT,                                                                      \
         .argument = "SIZE",                                                                       \
         .help = "find the best setting within this much memory, as in 512MiB"},                   \
        AS_OPT_BATCH_AXIS,                                                                         \
        {.name = "iterations",                                                                     \
         .group = AS_GROUP_MEASURE,                                                                \
         .kind = AS_OPT_NUMBER,                                                                    \
         .argument = "N",                                                                          \
         .help = "time exactly N iterations of a setting in each pass",                            \
         .min = 1,                                                                                 \
         .max = 100000},                                                                           \
        {.name = "time",                                                                           \
         .group = AS_GROUP_MEASURE,                                                                \
         .kind = AS_OPT_TEXT,                                                                      \
         .argument = "SECONDS",                                                                    \
         .help = "time a setting for up to SECONDS in each pass [default: 1]"},                    \
        {.name = "warmup",                                                                         \
         .group = AS_GROUP_MEASURE,                                                                \
         .kind = AS_OPT_NUMBER,                                                                    \
         .argument = "N",                                                                          \
         .help = "run at least N warm-up iterations [default: 3]",                                 \
         .max = 1000000},                                                                          \
        {.name = "no-fuse",                                                                        \
         .group = AS_GROUP_MEASURE,                                                                \
         .kind = AS_OPT_FLAG,                                                                      \
         .help = "run node by node as the file has them"},                                         \
        {.name = "kernels",                                                                        \
         .group = AS_GROUP_MEASURE,                                                                \
         .kind = AS_OPT_WORD,                                                                      \
         .argument = "WHICH",                                                                      \
         .help = "auto: the fastest available; reference: plain C only",                           \
         .word_at = as_kernels_at},                                                                \
        {.name = "fill",                                                                           \
         .group = AS_GROUP_INPUT,                                                                  \
         .kind = AS_OPT_WORD,                                                                      \
         .argument = "HOW",                                                                        \
         .help = "generate the inputs this way [default: random]",                                 \
         .word_at = as_fill_at},                                                                   \
        AS_OPT_MAX_ISA,                                                                            \
        {.name = "seed",                                                                           \
         .group = AS_GROUP_INPUT,                                                                  \
         .kind = AS_OPT_NUMBER,                                                                    \
         .argument = "N",                                                                          \
         .help = "seed of generated inputs",                                                       \
         .max = UINT64_MAX},                                                                       \
        {.name = "no-roofline",                                                                    \
         .group = AS_GROUP_MEASURE,                                                                \
         .kind = AS_OPT_FLAG,                                                                      \
         .help = "do not measure the machine's peaks"},                                            \
        AS_OPT_WIDE, AS_OPTS_LIMITS("14400"), AS_OPT_SANDBOX, AS_OPTS_FORMAT(as_format_at),        \
        AS_OPTS_EXPORT

#endif
