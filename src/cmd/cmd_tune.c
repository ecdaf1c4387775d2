/* cmd/cmd_tune.c - all of `assay tune`: which batch and how many threads run a model best. A sweep
 * whose axes it chooses itself. */
#include <string.h>

#include "cmd/sweep/sweep_command.h"
#include "format/model_file.h"

#define MOST_BATCH 64

static const struct as_opt tune_opts[] = {
    {.name = "batch",
     .group = "Axes",
     .letter = 'b',
     .kind = AS_OPT_TEXT,
     .argument = "N,N,...",
     .help = "try these batch sizes [default: 1, 4, 16 and 64, where the model takes them]"},
    {.name = "threads",
     .group = "Axes",
     .letter = 't',
     .kind = AS_OPT_TEXT,
     .argument = "N,N,...",
     .help = "try these thread counts [default: 1, 2, 4 ... and all usable CPUs]"},
    {.name = "shape",
     .group = "Axes",
     .kind = AS_OPT_LIST,
     .argument = "NAME=1x3x64x64",
     .help = "set the shape of an input"},
    {.name = "dim",
     .group = "Axes",
     .kind = AS_OPT_LIST,
     .argument = "SYMBOL=N",
     .help = "set a symbolic dimension"},
    {.name = "key",
     .group = "Axes",
     .letter = 'k',
     .kind = AS_OPT_LIST,
     .argument = "NAME=N",
     .help = "set a key of a built-in model, or try several: NAME=N,N"},
    AS_OPTS_SWEEP,
    {.name = NULL},
};

/* Whether shapes can be inferred with that batch: a file may fix its batch inside. */
static bool takes_batch(const struct as_sweep_command *w, int64_t batch, struct assay_error *why)
{
    struct as_infer_options infer = w->options.infer;
    struct as_model *model = NULL;
    int rc = as_model_open(&model, w->options.spec, why);

    infer.batch = batch;
    if (rc == ASSAY_OK)
        rc = as_infer_shapes(model, &infer, NULL, why);
    if (rc == ASSAY_OK && model->batch.value == AS_NONE)
        rc = as_fail(why, ASSAY_ERR_UNSUPPORTED, "%s",
                     model->batch.why ? model->batch.why : "no dimension counts samples");
    as_model_free(model);
    return rc == ASSAY_OK;
}

static int add_batches(struct as_sweep_command *w, struct assay_error *err)
{
    struct assay_error why = {0};
    struct as_sweep_axis *axis;

    if (!takes_batch(w, 2, &why)) {
        as_console_note(w->line, "note: only thread counts are tried: %s", why.msg);
        return ASSAY_OK;
    }
    axis = as_sweep_new_axis(w, AS_SWEEP_BATCH, "batch", -2, err);
    for (int64_t n = 1; axis && n <= MOST_BATCH; n *= 4)
        axis->values[axis->n++] = n;
    return axis ? ASSAY_OK : err->code;
}

static int add_threads(struct as_sweep_command *w, struct assay_error *err)
{
    int64_t most = w->options.engine.threads;
    struct as_sweep_axis *axis = as_sweep_new_axis(w, AS_SWEEP_THREADS, "threads", -1, err);

    if (!axis)
        return err->code;
    for (int64_t n = 1; n < most; n *= 2)
        axis->values[axis->n++] = n;
    axis->values[axis->n++] = most;
    return ASSAY_OK;
}

/* What was not typed is tried in steps. Without a batch and with one CPU there is nothing to try,
 * and the one setting is measured all the same. */
static int choose(struct as_sweep_command *w, struct assay_error *err)
{
    int rc = ASSAY_OK;

    if (!as_opt_given(w->line, "batch"))
        rc = add_batches(w, err);
    if (rc == ASSAY_OK && !as_opt_given(w->line, "threads"))
        rc = add_threads(w, err);
    return rc;
}

static int run_tune(const struct as_cmd_line *line, struct assay_error *err)
{
    return as_sweep_command(line, choose, err);
}

static const struct as_example tune_examples[] = {
    {"assay tune model.onnx", "the batch and thread count with the most throughput"},
    {"assay tune model.onnx --max-latency 20", "the most throughput within 20 ms"},
    {"assay tune model.onnx --batch 1", "the thread count with the lowest latency"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_tune = {
    .name = "tune",
    .summary = "find the batch and thread count that run a model best",
    .usage = "assay tune [options] MODEL",
    .details = "Runs the model at every combination of batch size and thread count, each in a "
               "forward and a reverse pass, and reports the setting with the lowest latency and "
               "the one with the most throughput within --max-latency and --fit, with the commands "
               "that profile them, and how many settings the best is not significantly better "
               "than.\n\nIt is a sweep whose axes are chosen: 'assay sweep' varies shapes, "
               "dimensions and keys as well. Exit status 1: no setting is within the limits.",
    .examples = tune_examples,
    .opts = tune_opts,
    .operand = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .operand_kind = AS_OPERAND_MODEL,
    .confined = true,
    .timeout_seconds = 14400,
    .run = run_tune,
};
