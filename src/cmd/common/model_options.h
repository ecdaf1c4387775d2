/* cmd/common/model_options.h - the options by which a user says what goes into a model.
 * Shared by every command that takes one. */
#ifndef AS_CMD_COMMON_MODEL_OPTIONS_H
#define AS_CMD_COMMON_MODEL_OPTIONS_H

#include "cmd/common/options.h"
#include "model/infer/infer.h"

#define AS_OPT_BATCH_AXIS                                                                          \
    {                                                                                              \
        .name = "batch-axis", .group = AS_GROUP_INPUT, .kind = AS_OPT_TEXT,                        \
        .argument = "INPUT=AXIS",                                                                  \
        .help = "which dimension of which input counts samples, from 0 [default: by names and by " \
                "what the first nodes do with the input]"                                          \
    }

#define AS_OPTS_MODEL                                                                              \
    {.name = "shape",                                                                              \
     .group = AS_GROUP_INPUT,                                                                      \
     .kind = AS_OPT_LIST,                                                                          \
     .argument = "NAME=1x3x224x224",                                                               \
     .help = "give an input this shape; repeatable"},                                              \
        {.name = "batch",                                                                          \
         .group = AS_GROUP_INPUT,                                                                  \
         .letter = 'b',                                                                            \
         .kind = AS_OPT_NUMBER,                                                                    \
         .argument = "N",                                                                          \
         .help = "set the batch size",                                                             \
         .min = 1,                                                                                 \
         .max = 1000000000},                                                                       \
        AS_OPT_BATCH_AXIS,                                                                         \
        {.name = "dim",                                                                            \
         .group = AS_GROUP_INPUT,                                                                  \
         .kind = AS_OPT_LIST,                                                                      \
         .argument = "SYMBOL=N",                                                                   \
         .help = "give a symbolic dimension its value; repeatable"},                               \
    {                                                                                              \
        .name = "value", .group = AS_GROUP_INPUT, .kind = AS_OPT_LIST,                             \
        .argument = "NAME=V[,V...]",                                                               \
        .help = "set the values of an input that shapes or branches depend on"                     \
    }

enum { AS_MAX_GIVEN = 64 };

/* What was given; {0} is nothing. */
struct as_model_options {
    struct as_infer_options infer; /* points into the rest */
    struct as_infer_input inputs[AS_MAX_GIVEN];
    struct as_infer_dim dims[AS_MAX_GIVEN];
    struct as_dims shapes[AS_MAX_GIVEN];
    struct as_arena arena;
};

/* Reads the four options. `model` is asked for the types of inputs that are given numbers. */
AS_MUST_USE int as_model_options_read(struct as_model_options *options,
                                      const struct as_cmd_line *line, const struct as_model *model,
                                      struct assay_error *err);
void as_model_options_fini(struct as_model_options *options);

/* --batch-axis INPUT=AXIS, in `arena`. */
AS_MUST_USE int as_batch_axis_read(struct as_infer_options *options, const struct as_cmd_line *line,
                                   struct as_arena *arena, struct assay_error *err);

/* "512M", "16GiB", "80GB", "1000000": bytes. False when it is none. */
bool as_parse_bytes(const char *text, uint64_t *bytes);

/* "1x3x224x224" or "scalar"; false when it is neither. */
bool as_parse_dims(const char *text, struct as_dims *dims);

#endif
