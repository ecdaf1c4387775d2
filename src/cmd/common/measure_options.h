/* cmd/common/measure_options.h - the options by which a user says how a model is run and measured.
 * Shared by every command that runs one. */
#ifndef AS_CMD_COMMON_MEASURE_OPTIONS_H
#define AS_CMD_COMMON_MEASURE_OPTIONS_H

#include "cmd/common/options.h"
#include "measure/inputs/model_inputs.h"
#include "measure/latency/latency_run.h"
#include "probe/process/process_memory.h"
#include "probe/system/isa_cap.h"
#include "probe/system/topology.h"

#define AS_OPTS_RUN                                                                                \
    {.name = "threads",                                                                            \
     .group = AS_GROUP_MEASURE,                                                                    \
     .letter = 't',                                                                                \
     .kind = AS_OPT_TEXT,                                                                          \
     .argument = "N|auto",                                                                         \
     .help = "run on N threads; auto: as many as run this model fastest, found by a short trial "  \
             "[default: all usable CPUs]"},                                                        \
        {.name = "iterations",                                                                     \
         .group = AS_GROUP_MEASURE,                                                                \
         .kind = AS_OPT_NUMBER,                                                                    \
         .argument = "N",                                                                          \
         .help = "time exactly N iterations",                                                      \
         .min = 1,                                                                                 \
         .max = 200000},                                                                           \
        {.name = "time",                                                                           \
         .group = AS_GROUP_MEASURE,                                                                \
         .kind = AS_OPT_TEXT,                                                                      \
         .argument = "SECONDS",                                                                    \
         .help =                                                                                   \
             "stop timing after SECONDS, or earlier when p50 is known well enough; at least 20 "   \
             "iterations [default: 3]"},                                                           \
        {.name = "warmup",                                                                         \
         .group = AS_GROUP_MEASURE,                                                                \
         .kind = AS_OPT_NUMBER,                                                                    \
         .argument = "N",                                                                          \
         .help = "run at least N warm-up iterations [default: 10]",                                \
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
        {.name = "input",                                                                          \
         .group = AS_GROUP_INPUT,                                                                  \
         .letter = 'i',                                                                            \
         .kind = AS_OPT_LIST,                                                                      \
         .argument = "[NAME=]FILE",                                                                \
         .help = "feed an input from a .npy or ONNX .pb file; repeatable"},                        \
        {.name = "fill",                                                                           \
         .group = AS_GROUP_INPUT,                                                                  \
         .kind = AS_OPT_WORD,                                                                      \
         .argument = "HOW",                                                                        \
         .help = "generate the other inputs this way [default: random]",                           \
         .word_at = as_fill_at},                                                                   \
        AS_OPT_MAX_ISA,                                                                            \
    {                                                                                              \
        .name = "seed", .group = AS_GROUP_INPUT, .kind = AS_OPT_NUMBER, .argument = "N",           \
        .help = "seed of generated inputs", .max = UINT64_MAX                                      \
    }

/* Also of commands that measure the machine. */
#define AS_OPT_MAX_ISA                                                                             \
    {                                                                                              \
        .name = "max-isa", .group = AS_GROUP_MEASURE, .kind = AS_OPT_TEXT, .argument = "ISA",      \
        .help = "use no instruction set above ISA; ASSAY_MAX_ISA and oneDNN's DNNL_MAX_CPU_ISA "   \
                "cap it as well, and the lowest wins",                                             \
        .word_at = as_isa_cap_at                                                                   \
    }

/* Applies --max-isa. USAGE when it or ASSAY_MAX_ISA is not a cap. Before the topology is read and
 * before anything is measured. */
AS_MUST_USE int as_max_isa_read(const struct as_cmd_line *line, struct assay_error *err);

const char *as_kernels_at(size_t i);
const char *as_fill_at(size_t i);

enum { AS_MAX_INPUT_FILES = 64 };

/* What was given; {0} is nothing. */
struct as_run_options {
    struct as_engine_options engine; /* but for shapes */
    struct as_input_options inputs;
    struct as_latency_options latency;
    bool threads_auto; /* engine.threads is the most to try */
    struct as_input_file files[AS_MAX_INPUT_FILES];
    struct as_arena arena;
};

AS_MUST_USE int as_run_options_read(struct as_run_options *options, const struct as_cmd_line *line,
                                    const struct as_topology *topology,
                                    const struct as_memory_headroom *headroom,
                                    struct assay_error *err);
void as_run_options_fini(struct as_run_options *options);

/* Before the first engine: kernel libraries read the environment when they are loaded, and threads
 * that spin while they wait would disturb what is measured. What the user has set stays. */
void as_run_environment(void);

#endif
