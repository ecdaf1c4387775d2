/* cmd/cmd_sweep.c - all of `assay sweep`: a model at many settings, and how it scales. */
#include "cmd/sweep/sweep_command.h"

static const struct as_opt sweep_opts[] = {
    {.name = "batch",
     .group = "Axes",
     .letter = 'b',
     .kind = AS_OPT_TEXT,
     .argument = "N,N,...",
     .help = "vary the batch size"},
    {.name = "threads",
     .group = "Axes",
     .letter = 't',
     .kind = AS_OPT_TEXT,
     .argument = "N,N,...",
     .help = "vary the thread count, or set it [default: all usable CPUs]"},
    {.name = "shape",
     .group = "Axes",
     .kind = AS_OPT_LIST,
     .argument = "NAME=1x3x64x64,...",
     .help = "vary the shape of an input, or set it"},
    {.name = "dim",
     .group = "Axes",
     .kind = AS_OPT_LIST,
     .argument = "SYMBOL=N,N,...",
     .help = "vary a symbolic dimension, or set it"},
    {.name = "key",
     .group = "Axes",
     .letter = 'k',
     .kind = AS_OPT_LIST,
     .argument = "NAME=N,N,...",
     .help = "vary a key of a built-in model, such as width, hidden or seq"},
    AS_OPTS_SWEEP,
    {.name = NULL},
};

static int run_sweep(const struct as_cmd_line *line, struct assay_error *err)
{
    return as_sweep_command(line, NULL, err);
}

static const struct as_example sweep_examples[] = {
    {"assay sweep model.onnx --batch 1,4,16 --threads 1,2", "the best batch size and thread count"},
    {"assay sweep model.onnx --batch 1,2,4,8 --max-latency 20", "the most throughput within 20 ms"},
    {"assay sweep zoo:mlp --key hidden=64,128,256", "how it grows with a key of a built-in model"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_sweep = {
    .name = "sweep",
    .summary = "run a model at many settings and show how it scales",
    .usage = "assay sweep [options] MODEL",
    .details =
        "Varies the batch, the threads, shapes, symbolic dimensions or keys of a built-in model; "
        "several lists give every combination. Each setting is measured twice, in a forward and a "
        "reverse pass, so that drift of the machine is visible.\n\nA power law is fitted to "
        "latency, work and memory along the first axis; the knee is the setting beyond which "
        "doubling gains less than 10 % throughput, of 3 settings or more; the best setting has the "
        "most throughput within "
        "--max-latency and --fit. Exit status 1: no setting is within them.\n\nassay sweep "
        "zoo:mlp --key hidden=64,128,256,512 --batch 32 is the study of model sizes; assay sweep "
        "zoo:mlp --batch 1,8,32,128 that of batches.",
    .examples = sweep_examples,
    .opts = sweep_opts,
    .operand = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .operand_kind = AS_OPERAND_MODEL,
    .confined = true,
    .timeout_seconds = 14400,
    .run = run_sweep,
};
