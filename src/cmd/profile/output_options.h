/* cmd/profile/output_options.h - the options by which a user says what becomes of a model's
 * outputs: kept, compared, searched. */
#ifndef AS_CMD_PROFILE_OUTPUT_OPTIONS_H
#define AS_CMD_PROFILE_OUTPUT_OPTIONS_H

#include "cmd/common/console.h"
#include "cmd/common/options.h"
#include "measure/outputs/kept_outputs.h"

#define AS_GROUP_OUTPUTS "Model outputs"

#define AS_OPTS_OUTPUTS                                                                            \
    {.name = "save-outputs",                                                                       \
     .group = AS_GROUP_OUTPUTS,                                                                    \
     .kind = AS_OPT_FOLDER,                                                                        \
     .is_private = true,                                                                           \
     .argument = "DIR",                                                                            \
     .help = "write every output of the model to the folder DIR, as NAME.npy and NAME.pb"},        \
        {.name = "save-intermediates",                                                             \
         .group = AS_GROUP_OUTPUTS,                                                                \
         .kind = AS_OPT_LIST,                                                                      \
         .argument = "NODE",                                                                       \
         .help = "write the outputs of this node too, run without fusion; all: of every node; "    \
                 "repeatable"},                                                                    \
        {.name = "output-format",                                                                  \
         .group = AS_GROUP_OUTPUTS,                                                                \
         .kind = AS_OPT_WORD,                                                                      \
         .argument = "WHICH",                                                                      \
         .help = "write .npy, ONNX .pb, or both [default: both]",                                  \
         .word_at = as_output_format_at},                                                          \
        {.name = "expect",                                                                         \
         .group = AS_GROUP_OUTPUTS,                                                                \
         .kind = AS_OPT_FILE,                                                                      \
         .reads = true,                                                                            \
         .argument = "DIR|FILE",                                                                   \
         .help = "compare outputs with NAME.npy or NAME.pb in DIR, or the only one with FILE; "    \
                 "exit status 1 when one differs"},                                                \
        {.name = "rtol",                                                                           \
         .group = AS_GROUP_OUTPUTS,                                                                \
         .kind = AS_OPT_TEXT,                                                                      \
         .argument = "X",                                                                          \
         .help = "--expect: relative tolerance of floats [default: 1e-3]"},                        \
        {.name = "atol",                                                                           \
         .group = AS_GROUP_OUTPUTS,                                                                \
         .kind = AS_OPT_TEXT,                                                                      \
         .argument = "X",                                                                          \
         .help = "--expect: absolute tolerance of floats [default: 1e-5]"},                        \
        {.name = "bisect",                                                                         \
         .group = AS_GROUP_OUTPUTS,                                                                \
         .kind = AS_OPT_FLAG,                                                                      \
         .help = "--expect: name the first node whose output differs; DIR holds intermediates"},   \
    {                                                                                              \
        .name = "check-nan", .group = AS_GROUP_OUTPUTS, .kind = AS_OPT_FLAG,                       \
        .help = "name the first layer that makes NaN or infinity"                                  \
    }

const char *as_output_format_at(size_t i);

/* Outputs that one profile keeps. {0} is none; `work` is freed by as_outputs_work_free(). */
struct as_kept_outputs {
    struct as_outputs_options options;
    struct as_outputs_work *work; /* NULL: nothing was asked for */
    struct as_outputs found;
    bool done;
};

/* Reads the options and checks them against the model before anybody waits; `profile` learns what
 * to check when shapes are known. The line, the model and `arena` must outlive it. */
AS_MUST_USE int as_kept_outputs_open(struct as_kept_outputs *kept, const struct as_cmd_line *line,
                                     const struct as_model *model,
                                     struct as_profile_options *profile, struct as_arena *arena,
                                     struct assay_error *err);

/* After all that is timed: one more inference, or two. */
AS_MUST_USE int as_kept_outputs_run(struct as_kept_outputs *kept, const struct as_cmd_line *line,
                                    struct as_progress *progress, struct as_profile_run *run,
                                    struct assay_error *err);

#endif
