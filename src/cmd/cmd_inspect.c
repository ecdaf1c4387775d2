/* cmd/cmd_inspect.c - all of `assay inspect`: what a model is made of, without running it.
 * Formats: text, Markdown, JSON, and CSV of the layers. */
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "cmd/common/each_model.h"
#include "cmd/common/forms.h"
#include "cmd/common/graph_file.h"
#include "cmd/common/model_options.h"
#include "format/model_file.h"
#include "model/zoo/zoo.h"
#include "report/inspect/inspect_report.h"

static const char *group_at(size_t i)
{
    static const char *const words[] = {"none", "op", "scope", "depth", "tree"};

    return i < AS_GROUP_COUNT ? words[i] : NULL;
}

static const char *optimizer_at(size_t i)
{
    return i < AS_OPTIMIZER_COUNT ? as_optimizer_name((enum as_optimizer)i) : NULL;
}

static const struct as_opt inspect_opts[] = {
    AS_OPTS_MODEL,
    {.name = "section",
     .group = AS_GROUP_VIEW,
     .letter = 's',
     .kind = AS_OPT_WORDS,
     .argument = "NAME,...",
     .help = "show these parts only",
     .word_at = as_inspect_section_at},
    AS_OPT_TOP,
    {.name = "sort",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_WORD,
     .argument = "KEY",
     .help = "order the layers by KEY [default: macs on pages, graph in JSON and CSV]",
     .word_at = as_inspect_sort_at},
    {.name = "group",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_WORD,
     .argument = "BY",
     .help = "sum up the layers by operator, by scope, by depth of name, or as a tree of scopes",
     .word_at = group_at},
    {.name = "depth",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "with --group depth or tree: the first N parts of the name",
     .min = 1,
     .max = 64},
    {.name = "columns",
     .group = AS_GROUP_VIEW,
     .letter = 'c',
     .kind = AS_OPT_WORDS,
     .argument = "NAME,...",
     .help = "show these columns of the layers",
     .word_at = as_inspect_column_at},
    {.name = "exact",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_FLAG,
     .help = "show exact numbers instead of rounded ones"},
    {.name = "constants",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_FLAG,
     .help = "also show nodes that only make constants and cost nothing at inference"},
    AS_OPT_WIDE,
    {.name = "weights",
     .group = "Analyses",
     .kind = AS_OPT_FLAG,
     .help = "read the weights and show their distribution"},
    {.name = "train",
     .group = "Training step",
     .kind = AS_OPT_FLAG,
     .help = "show the memory of a training step"},
    {.name = "optimizer",
     .group = "Training step",
     .kind = AS_OPT_WORD,
     .argument = "NAME",
     .help = "with this optimizer [default: adam]",
     .word_at = optimizer_at},
    {.name = "mixed",
     .group = "Training step",
     .kind = AS_OPT_FLAG,
     .help = "train with 16-bit weights and activations and a 32-bit master copy"},
    {.name = "checkpoint",
     .group = "Training step",
     .kind = AS_OPT_FLAG,
     .help = "checkpointing: keep few activations of a training step and recompute the rest"},
    {.name = "accumulate",
     .group = "Training step",
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "accumulate the gradients of N steps before the optimizer runs",
     .min = 1,
     .max = 1000000},
    {.name = "zero",
     .group = "Training step",
     .kind = AS_OPT_NUMBER,
     .argument = "STAGE",
     .help = "ZeRO stage: shard optimizer state (1), also gradients (2), also parameters (3) among "
             "ranks",
     .max = 3},
    {.name = "ranks",
     .group = "Training step",
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "number of ranks of a training job",
     .min = 1,
     .max = 1000000},
    {.name = "fit",
     .group = "Analyses",
     .kind = AS_OPT_TEXT,
     .argument = "MEMORY",
     .help = "find the largest batch that fits into this much memory, as in 8GiB"},
    {.name = "fit-what",
     .group = "Analyses",
     .kind = AS_OPT_TEXT,
     .argument = "WHAT",
     .help = "find the largest of this instead: batch, context or a symbolic dimension"},
    {.name = "scale",
     .group = "Analyses",
     .kind = AS_OPT_TEXT,
     .argument = "NAME=N,N,...",
     .help = "show how it grows with batch, a symbolic dimension or a key of a built-in model"},
    {.name = "kv-bits",
     .group = "Analyses",
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "bits per element of the KV cache [default: 16]",
     .min = 1,
     .max = 64},
    {.name = "gflops",
     .group = "Analyses",
     .kind = AS_OPT_TEXT,
     .argument = "RATE",
     .help = "the least time of an inference on a machine with this many GFLOP/s"},
    {.name = "bandwidth",
     .group = "Analyses",
     .kind = AS_OPT_TEXT,
     .argument = "GB/S",
     .help = "the same for a memory bandwidth in GB/s; also the maximum tokens per second"},
    AS_OPTS_LIMITS("600"),
    AS_OPT_SANDBOX,
    AS_OPTS_FORMAT(as_format_at),
    AS_OPTS_EXPORT,
    AS_OPT_GRAPH,
    {.name = NULL},
};

static int read_rate(const struct as_cmd_line *line, const char *name, double *rate,
                     struct assay_error *err)
{
    const char *text = as_opt_text(line, name);

    *rate = 0;
    if (!text)
        return ASSAY_OK;
    if (!as_parse_f64(text, strlen(text), rate) || !(*rate > 0))
        return as_fail(err, ASSAY_ERR_USAGE, "--%s is a number above 0, not '%.40s'", name, text);
    return ASSAY_OK;
}

static int read_fit(const struct as_cmd_line *line, struct as_inspect_options *o,
                    struct assay_error *err)
{
    const char *memory = as_opt_text(line, "fit"), *what = as_opt_text(line, "fit-what");

    if (!memory) {
        if (what)
            return as_fail(err, ASSAY_ERR_USAGE, "--fit-what also needs --fit MEMORY");
        return ASSAY_OK;
    }
    if (!as_parse_bytes(memory, &o->fit_bytes))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--fit is an amount of memory as in 512MiB or 8GB, not '%.40s'", memory);
    o->fit_what = AS_FIT_BATCH;
    if (what && strcmp(what, "context") == 0)
        o->fit_what = AS_FIT_CONTEXT;
    else if (what && strcmp(what, "batch") != 0) {
        o->fit_what = AS_FIT_DIM;
        o->fit_symbol = what;
    }
    return ASSAY_OK;
}

static int read_analysis(const struct as_cmd_line *line, struct as_inspect_options *o,
                         struct assay_error *err)
{
    static const char *const train_words[] = {"optimizer",  "mixed", "checkpoint",
                                              "accumulate", "zero",  "ranks"};
    int rc;

    o->look_into_weights = true;
    o->weights = as_opt_given(line, "weights");
    o->training = as_opt_given(line, "train");
    for (size_t i = 0; i < AS_COUNT_OF(train_words); i++)
        o->training |= as_opt_given(line, train_words[i]);
    o->train = (struct as_train_options){
        .optimizer = (enum as_optimizer)as_opt_word(line, "optimizer", AS_OPTIMIZER_ADAM),
        .dtype = as_opt_given(line, "mixed") ? AS_DTYPE_BF16 : AS_DTYPE_F32,
        .mixed = as_opt_given(line, "mixed"),
        .accumulate = (uint32_t)as_opt_number(line, "accumulate", 1),
        .checkpoint = as_opt_given(line, "checkpoint"),
        .zero_stage = (uint32_t)as_opt_number(line, "zero", 0),
        .ranks = (uint32_t)as_opt_number(line, "ranks", 1),
    };
    if (o->train.zero_stage && o->train.ranks < 2)
        return as_fail(err, ASSAY_ERR_USAGE, "--zero shards among ranks: give --ranks N as well");
    o->kv_bits = (unsigned)as_opt_number(line, "kv-bits", 16);
    rc = read_rate(line, "gflops", &o->gflops, err);
    if (rc == ASSAY_OK)
        rc = read_rate(line, "bandwidth", &o->gbps, err);
    return rc == ASSAY_OK ? read_fit(line, o, err) : rc;
}

static int read_report(const struct as_cmd_line *line, struct as_inspect_report *r,
                       struct assay_error *err)
{
    unsigned words[2 * AS_INSPECT_SECTION_COUNT];
    size_t n = as_opt_words(line, "section", words, AS_COUNT_OF(words));

    *r = (struct as_inspect_report){
        .top = (size_t)as_opt_number(line, "top", 0),
        .sort = (unsigned)as_opt_word(line, "sort", 0),
        .sort_given = as_opt_given(line, "sort"),
        .grouping = (enum as_inspect_grouping)as_opt_word(line, "group", AS_GROUP_NONE),
        .wide = as_opt_given(line, "wide"),
        .exact = as_opt_given(line, "exact"),
        .constants = as_opt_given(line, "constants"),
    };
    if (as_opt_given(line, "depth") && r->grouping == AS_GROUP_NONE)
        r->grouping = AS_GROUP_DEPTH;
    r->depth = (unsigned)as_opt_number(line, "depth", r->grouping == AS_GROUP_TREE ? 3 : 1);
    if (r->grouping == AS_GROUP_TREE && r->sort)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--group tree keeps the order of the graph; sort another grouping");
    for (size_t i = 0; i < n; i++)
        r->sections |= 1u << words[i];
    r->n_columns = as_opt_words(line, "columns", r->column, AS_COUNT_OF(r->column));
    return ASSAY_OK;
}

/* The built-in model with one more key; a later key wins over an earlier one. */
static int open_scaled(struct as_model **model, const char *spec, const char *name, int64_t value,
                       struct assay_error *err)
{
    const char *colon = strchr(spec + strlen("zoo:"), ':');
    char text[512];
    int size =
        snprintf(text, sizeof text, "%s%s%s=%lld", spec, colon ? "," : ":", name, (long long)value);

    if (size < 0 || (size_t)size >= sizeof text)
        return as_fail(err, ASSAY_ERR_USAGE, "the name of the model is too long");
    return as_model_open(model, text, err);
}

static bool has_key(const struct as_zoo_key *keys, const char *name)
{
    for (; keys && keys->name; keys++)
        if (strcmp(keys->name, name) == 0)
            return true;
    return false;
}

/* Whether `name` is a key of the built-in model, and not a dimension to be given. */
static bool is_zoo_key(const char *spec, const char *name)
{
    const struct as_zoo_entry *entry;
    int64_t values[AS_ZOO_VALUES];

    return strncmp(spec, "zoo:", 4) == 0 && strcmp(name, "batch") != 0 &&
           as_zoo_parse(spec, &entry, values, NULL) == ASSAY_OK && has_key(entry->keys, name);
}

struct scaling {
    const char *spec, *name;
    struct as_model *model; /* for dimensions */
    struct as_inspect_options options;
    const struct as_train_options *train;
};

static int scale_one(const struct scaling *s, struct as_scale_row *row, struct assay_error *err)
{
    struct as_infer_options infer = s->options.infer;
    struct as_infer_dim dims[AS_MAX_GIVEN + 1];
    struct as_model *model = NULL;
    int rc;

    if (is_zoo_key(s->spec, s->name)) {
        rc = open_scaled(&model, s->spec, s->name, row->value, err);
        if (rc == ASSAY_OK)
            rc = as_scale_count(row, model, &infer, s->train, err);
        as_model_free(model);
        return rc;
    }
    if (strcmp(s->name, "batch") == 0) {
        infer.batch = row->value;
        return as_scale_count(row, s->model, &infer, s->train, err);
    }
    if (infer.n_dims)
        memcpy(dims, infer.dims, infer.n_dims * sizeof *dims);
    dims[infer.n_dims++] = (struct as_infer_dim){s->name, row->value};
    infer.dims = dims;
    return as_scale_count(row, s->model, &infer, s->train, err);
}

/* "--scale NAME=1,2,4": counts each before the inspection itself, which sets the shapes last. */
static int read_scale(const struct as_cmd_line *line, struct scaling *s, struct as_arena *arena,
                      struct as_scale_row *rows, size_t *n, struct assay_error *err)
{
    const char *text = as_opt_text(line, "scale"), *equals = text ? strrchr(text, '=') : NULL;
    int rc = ASSAY_OK;

    *n = 0;
    if (!text)
        return ASSAY_OK;
    if (!equals || equals == text)
        return as_fail(err, ASSAY_ERR_USAGE, "--scale is NAME=N,N,..., not '%.40s'", text);
    s->name = as_arena_text(arena, text, (size_t)(equals - text));
    if (!s->name)
        return as_fail_nomem(err);
    for (const char *at = equals + 1; rc == ASSAY_OK;) {
        size_t size = strcspn(at, ",");
        uint64_t value;

        if (*n == AS_SCALE_MAX)
            return as_fail(err, ASSAY_ERR_USAGE, "--scale takes at most %d numbers", AS_SCALE_MAX);
        if (!as_parse_u64(at, size, &value) || value == 0 || value > INT32_MAX)
            return as_fail(err, ASSAY_ERR_USAGE, "--scale is NAME=N,N,..., not '%.40s'", text);
        rows[*n] = (struct as_scale_row){.value = (int64_t)value};
        rc = scale_one(s, &rows[(*n)++], err);
        if (!at[size])
            break;
        at += size + 1;
    }
    return rc;
}

static int put_page(const void *of, bool markdown, struct as_out *out, const struct as_term *term,
                    struct assay_error *err)
{
    struct as_inspect_report report = *(const struct as_inspect_report *)of;

    report.markdown = markdown;
    return as_inspect_page(&report, out, term, err);
}

static int put_json(const void *of, struct as_out *out, struct assay_error *err)
{
    return as_inspect_json(of, out, err);
}

static int put_csv(const void *of, const struct as_csv_target *to, struct assay_error *err)
{
    const struct as_inspect_report *report = of;
    const char *name = report->grouping == AS_GROUP_NONE ? "layers.csv" : "groups.csv";
    int rc = as_csv_target_open(to, err);

    if (rc == ASSAY_OK)
        rc = as_csv_target_put(to, name, as_inspect_csv, report, err);
    return rc < 0 ? rc : 1;
}

static int print(const struct as_cmd_line *line, const struct as_inspect_report *report,
                 struct assay_error *err)
{
    const struct as_forms forms = {
        .of = report, .page = put_page, .json = put_json, .csv = put_csv};

    return as_forms_print(&forms, line, err);
}

/* One of several: its row and its document. */
static int take_row(struct as_models_row *row, const struct as_inspect_report *report,
                    const struct as_cmd_line *line, struct assay_error *err)
{
    int rc = ASSAY_OK;

    if (as_forms_want_json(line)) {
        rc = as_out_memory(&row->document, err);
        if (rc == ASSAY_OK)
            rc = as_inspect_json(report, &row->document, err);
    }
    as_models_take_inspection(row, report->in);
    return rc;
}

/* The first operand, printed, or into `row` when there are several. */
static int inspect_one(const struct as_cmd_line *line, struct as_models_row *row,
                       struct assay_error *err)
{
    struct as_scale_row rows[AS_SCALE_MAX];
    struct scaling scaling = {.spec = line->operand[0]};
    struct as_model_options given = {0};
    size_t n_rows = 0;
    struct as_inspect_options options = {0};
    struct as_inspect_report report;
    struct as_inspection *inspection = NULL;
    struct as_model *model = NULL;
    int rc = as_forms_check(line, err);

    if (rc == ASSAY_OK)
        rc = as_graph_file_check(as_opt_text(line, "graph"), err);
    if (rc == ASSAY_OK)
        rc = read_report(line, &report, err);
    if (rc == ASSAY_OK)
        rc = read_analysis(line, &options, err);
    if (rc == ASSAY_OK)
        rc = as_model_open(&model, line->operand[0], err);
    if (rc == ASSAY_OK)
        rc = as_model_options_read(&given, line, model, err);
    options.infer = given.infer;
    scaling.model = model;
    scaling.options = options;
    scaling.train = options.training ? &options.train : NULL;
    if (rc == ASSAY_OK)
        rc = read_scale(line, &scaling, &given.arena, rows, &n_rows, err);
    if (rc == ASSAY_OK) {
        rc = as_inspection_new(&inspection, model, &options, err);
        if (rc == ASSAY_ERR_FORMAT)
            (void)as_fail_in_file(err, rc, line->operand[0]);
    }
    if (rc == ASSAY_OK) {
        memcpy(inspection->scale, rows, n_rows * sizeof *rows);
        inspection->n_scale = n_rows;
        inspection->scale_name = scaling.name;
        report.in = inspection;
        rc = as_graph_file_write(as_opt_text(line, "graph"), inspection, line->operand[0], err);
        if (rc == ASSAY_OK)
            rc = row ? take_row(row, &report, line, err) : print(line, &report, err);
    }
    as_inspection_free(inspection);
    as_model_options_fini(&given);
    as_model_free(model);
    return rc;
}

static int run_inspect(const struct as_cmd_line *line, struct assay_error *err)
{
    static const char *const one_model[] = {"section", "sort",  "group",   "depth",
                                            "columns", "fit",   "train",   "optimizer",
                                            "scale",   "graph", "weights", NULL};
    int rc = as_one_model_only(line, one_model, err);

    if (rc < 0)
        return rc;
    return line->n_operands == 1
               ? inspect_one(line, NULL, err)
               : as_each_model(line, "assay.inspect_models", false, inspect_one, err);
}

static const struct as_example inspect_examples[] = {
    {"assay inspect model.onnx", "parameters, MACs, memory and layers"},
    {"assay inspect model.onnx --fit 8GiB", "the largest batch that fits into 8 GiB"},
    {"assay inspect model.onnx --train --optimizer adam", "memory of a training step"},
    {"assay inspect small.onnx large.onnx", "one comparison table"},
    {"assay inspect model.onnx --json", "every count, for a program"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_inspect = {
    .name = "inspect",
    .summary = "show what a model is made of, without running it",
    .usage = "assay inspect [options] MODEL...",
    .details = "MODEL is an ONNX, GGUF, safetensors or TensorFlow Lite file, recognized by its "
               "content, or a built-in one as in zoo:resnet50.\n\nParameters, multiply-accumulates "
               "(MACs), other operations, bytes moved and memory are counted exactly, layer by "
               "layer. MACs are those of convolutions and GEMM calls; 1 MAC is 2 FLOPs; everything "
               "else has columns of its own. Counts are for one inference with the shapes given; a "
               "dimension that the file leaves open takes a default, which is printed.\n\nAn "
               "unknown operator, or a shape that depends on data, is listed and the rest is "
               "counted; the sums are then lower bounds and marked as such.",
    .examples = inspect_examples,
    .opts = inspect_opts,
    .operand = "MODEL",
    .min_operands = 1,
    .max_operands = AS_MODELS_MAX,
    .operand_kind = AS_OPERAND_MODEL,
    .confined = true,
    .timeout_seconds = 600,
    .run = run_inspect,
};
