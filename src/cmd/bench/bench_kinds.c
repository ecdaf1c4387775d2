/* cmd/bench/bench_kinds.c - what `assay bench` can measure: attention, any command, any model. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text/redact.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "cmd/bench/bench_work.h"
#include "cmd/common/measure_options.h"
#include "format/mapped_file.h"
#include "model/zoo/zoo.h"

/* ---- grids of commands and models ---- */

static int read_grid(struct as_bench_work *w, struct assay_error *err)
{
    const char *text, *baseline = as_opt_text(w->line, "baseline");
    size_t n;
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && (text = as_opt_list_at(w->line, "grid", i)) != NULL; i++)
        rc = as_grid_add(&w->grid, text, err);
    if (rc < 0)
        return rc;
    n = as_grid_count(&w->grid);
    rc = as_bench_init(&w->bench, w->kind->name, n, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n; i++) {
        as_grid_name(&w->grid, i, w->bench.settings[i].name);
        if (!as_utf8_valid(w->bench.settings[i].name, strlen(w->bench.settings[i].name)))
            return as_fail(err, ASSAY_ERR_USAGE, "the values of --grid must be UTF-8");
    }
    w->bench.n_samples = as_opt_number(w->line, "iterations", w->kind->samples);
    w->bench.baseline = 0;
    return baseline ? as_grid_find(&w->grid, baseline, &w->bench.baseline, err) : ASSAY_OK;
}

static void write_grid(const struct as_bench_work *w, struct as_json_writer *out)
{
    as_json_kv_object(out, "grid");
    for (size_t a = 0; a < w->grid.n_axes; a++) {
        as_json_kv_array(out, w->grid.axes[a].name);
        for (size_t i = 0; i < w->grid.axes[a].n; i++)
            as_json_text(out, w->grid.axes[a].values[i]);
        as_json_array_end(out);
    }
    as_json_object_end(out);
    as_json_kv_text(out, "baseline", w->bench.settings[w->bench.baseline].name);
}

/* ---- attention ---- */

/* A mask must fit into a line of the witness. */
static int check_masks(const struct as_bench_work *w, struct assay_error *err)
{
    static const uint64_t most[] = {[ASSAY_WITNESS_MASK_PACKED] = (uint64_t)1 << 27,
                                    [ASSAY_WITNESS_MASK_HASH] = ASSAY_WITNESS_MAX_BITS,
                                    [ASSAY_WITNESS_MASK_FULL] = (uint64_t)1 << 23};
    const struct as_attention_plan *p = &w->attention_plan;
    int how = as_opt_word(w->line, "masks", ASSAY_WITNESS_MASK_PACKED);
    uint64_t longest = p->n_long && p->long_max > p->short_max ? p->long_max : p->short_max;

    if (p->heads * longest * longest <= most[how])
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_USAGE,
                   "masks of %llu heads and %llu tokens are too large for the witness%s",
                   (unsigned long long)p->heads, (unsigned long long)longest,
                   how == ASSAY_WITNESS_MASK_HASH ? "" : " in this form; --masks hash takes more");
}

static int plan_attention(struct as_bench_work *w, struct assay_error *err)
{
    struct as_attention_plan *p = &w->attention_plan;
    int rc;

    if (w->line->n_operands || as_opt_list_at(w->line, "grid", 0) ||
        as_opt_given(w->line, "baseline"))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--workload attention takes --lambda and --tau, not a grid, a model or a "
                       "command");
    as_attention_plan_init(p);
    rc = as_bench_attention_options(w->line, p, err);
    if (rc == ASSAY_OK)
        rc = check_masks(w, err);
    if (rc == ASSAY_OK)
        rc = as_attention_plan_settings(p, &w->bench, err);
    (void)snprintf(w->title, sizeof w->title,
                   "attention: softmax against min-cut gates, %llu head%s of %llu%s",
                   (unsigned long long)p->heads, p->heads == 1 ? "" : "s",
                   (unsigned long long)p->dim, p->causal ? ", causal" : "");
    return rc;
}

static void write_attention(const struct as_bench_work *w, struct as_json_writer *out)
{
    as_json_kv_object(out, "attention");
    as_attention_plan_write(&w->attention_plan, out);
    as_json_object_end(out);
}

static int open_attention(struct as_bench_work *w, struct as_bench_load *load,
                          struct assay_error *err)
{
    int rc = as_load_attention_new(&w->attention, &w->attention_plan, &w->bench, w->threads, err);

    if (rc == ASSAY_OK)
        *load = as_load_attention_table(w->attention);
    return rc;
}

static int begin_attention(struct as_bench_work *w, struct assay_error *err)
{
    return as_load_attention_witness(
        w->attention, w->witness,
        (enum assay_witness_mask)as_opt_word(w->line, "masks", ASSAY_WITNESS_MASK_PACKED), err);
}

/* ---- a command ---- */

static int plan_command(struct as_bench_work *w, struct assay_error *err)
{
    size_t used;
    int rc = read_grid(w, err);

    if (rc == ASSAY_OK)
        rc = as_load_command_init(&w->command, &w->grid, w->line->operand,
                                  (size_t)w->line->n_operands, environ, err);
    w->command.any_status = as_opt_given(w->line, "ignore-failure");
    w->command.keep_output = as_opt_given(w->line, "outputs");
    w->command.redact = as_opt_given(w->line, "redact");
    if (rc == ASSAY_OK)
        rc = as_bench_plan_hooks(w, err);
    used = (size_t)snprintf(w->title, sizeof w->title, "%s", w->line->operand[0]);
    for (int i = 1; i < w->line->n_operands && used < sizeof w->title; i++)
        used +=
            (size_t)snprintf(w->title + used, sizeof w->title - used, " %s",
                             as_opt_given(w->line, "redact") ? AS_REDACTED : w->line->operand[i]);
    return rc;
}

static void write_command(const struct as_bench_work *w, struct as_json_writer *out)
{
    as_json_kv_array(out, "command");
    for (int i = 0; i < w->line->n_operands; i++)
        as_json_text(out, i && as_opt_given(w->line, "redact") ? AS_REDACTED : w->line->operand[i]);
    as_json_array_end(out);
    as_json_kv_bool(out, "ignore_failure", w->command.any_status);
    as_json_kv_bool(out, "outputs", w->command.keep_output);
    write_grid(w, out);
}

static int open_command(struct as_bench_work *w, struct as_bench_load *load,
                        struct assay_error *err)
{
    (void)err;
    *load = as_load_command_table(&w->command);
    return ASSAY_OK;
}

/* ---- a model ---- */

static bool is_built_in(const char *spec)
{
    return strncmp(spec, "zoo:", 4) == 0;
}

static int hash_file(const char *path, char hex[ASSAY_HASH_HEX], struct assay_error *err)
{
    struct as_mapped_file file = {0};
    unsigned char digest[AS_SHA256_BYTES];
    int rc = as_mapped_file_open(&file, path, err);

    if (rc == ASSAY_OK)
        rc =
            as_sha256(file.size ? file.bytes : (const uint8_t *)"", (size_t)file.size, digest, err);
    if (rc == ASSAY_OK)
        as_sha256_hex(digest, hex);
    as_mapped_file_close(&file);
    return rc;
}

/* Which models they are, not only what they are called. */
static int hash_models(struct as_bench_work *w, struct assay_error *err)
{
    struct as_sha256_stream stream;
    unsigned char digest[AS_SHA256_BYTES];
    char hex[ASSAY_HASH_HEX] = "";
    int rc = ASSAY_OK;

    if (w->line->n_operands == 1)
        return is_built_in(w->line->operand[0])
                   ? ASSAY_OK
                   : hash_file(w->line->operand[0], w->model_hash, err);
    as_sha256_begin(&stream);
    for (int i = 0; rc == ASSAY_OK && i < w->line->n_operands; i++) {
        const char *text = w->line->operand[i];

        if (!is_built_in(text)) {
            rc = hash_file(text, hex, err);
            text = hex;
        }
        as_sha256_add(&stream, text, strlen(text) + 1);
    }
    if (rc == ASSAY_OK)
        rc = as_sha256_end(&stream, digest, err);
    if (rc == ASSAY_OK)
        as_sha256_hex(digest, w->model_hash);
    return rc;
}

/* Several models are an axis of their own. */
static int add_models(struct as_bench_work *w, struct assay_error *err)
{
    struct as_grid_axis *axis = &w->grid.axes[0];
    size_t n = (size_t)w->line->n_operands;

    if (n == 1)
        return ASSAY_OK;
    if (n > AS_GRID_VALUES)
        return as_fail(err, ASSAY_ERR_USAGE, "at most %d models are compared", AS_GRID_VALUES);
    axis->name = AS_MODEL_AXIS;
    axis->n = n;
    memcpy(axis->values, w->line->operand, n * sizeof *axis->values);
    w->grid.n_axes = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(axis->values[i], axis->values[k]) == 0)
                return as_fail(err, ASSAY_ERR_USAGE, "%.100s is given twice", axis->values[i]);
    return ASSAY_OK;
}

/* A run of a batch does so many times the work; what is no number is refused when it is opened. */
static void put_items(struct as_bench_setting *setting, const char *batch)
{
    uint64_t n = 0;

    if (as_parse_u64(batch, strlen(batch), &n) && n > 0)
        setting->items = (double)n;
}

static int plan_model(struct as_bench_work *w, struct assay_error *err)
{
    int rc = add_models(w, err);

    if (rc == ASSAY_OK)
        rc = read_grid(w, err);
    if (w->line->n_operands > 1)
        (void)snprintf(w->title, sizeof w->title, "%d models", w->line->n_operands);
    else
        (void)snprintf(w->title, sizeof w->title, "%s", w->line->operand[0]);
    for (size_t a = 0; rc == ASSAY_OK && a < w->grid.n_axes; a++)
        for (size_t i = 0; strcmp(w->grid.axes[a].name, "batch") == 0 && i < w->bench.n_settings;
             i++)
            put_items(&w->bench.settings[i], as_grid_value(&w->grid, i, a));
    return rc == ASSAY_OK ? hash_models(w, err) : rc;
}

static void write_model(const struct as_bench_work *w, struct as_json_writer *out)
{
    /* A file counts by what is in it, wherever it is and whatever it is called. */
    as_json_kv_text(out, "model", w->model_hash[0] ? NULL : w->line->operand[0]);
    as_json_kv_text(out, "model_sha256", w->model_hash[0] ? w->model_hash : NULL);
    write_grid(w, out);
}

static int open_model(struct as_bench_work *w, struct as_bench_load *load, struct assay_error *err)
{
    struct as_memory_headroom headroom;
    struct as_load_model_options options = {.spec = w->line->operand[0]};
    int rc;

    as_run_environment();
    as_memory_headroom_read(&headroom, "", &w->topology.container);
    options.engine.threads = w->threads;
    options.engine.limit_bytes =
        headroom.left.why ? 0 : headroom.left.value / as_grid_count(&w->grid);
    options.inputs.seed = w->seed;
    rc = as_load_model_new(&w->model, &w->grid, &options, err);
    if (rc == ASSAY_OK)
        *load = as_load_model_table(w->model);
    return rc;
}

/* ---- the table ---- */

static const struct as_bench_kind kinds[] = {
    {.name = "attention",
     .folder = "results/mincut-bench",
     .warmup = 3,
     .runs_kernels = true,
     .plan = plan_attention,
     .write = write_attention,
     .open = open_attention,
     .begin = begin_attention},
    {.name = "command",
     .folder = "results/command-bench",
     .samples = 10,
     .warmup = 1,
     .has_grid = true,
     .plan = plan_command,
     .write = write_command,
     .open = open_command},
    {.name = "model",
     .folder = "results/model-bench",
     .samples = 50,
     .warmup = 3,
     .runs_kernels = true,
     .has_grid = true,
     .plan = plan_model,
     .write = write_model,
     .open = open_model},
    {.name = "commands",
     .samples = 10,
     .warmup = 1,
     .plan = as_bench_plan_commands,
     .write = as_bench_write_commands,
     .open = open_command},
};

static bool looks_like_a_model(const char *name)
{
    static const char *const ends[] = {".onnx", ".gguf", ".tflite", ".safetensors"};
    size_t size = strlen(name);

    if (strchr(name, ' '))
        return access(name, R_OK) == 0;
    if (strncmp(name, "zoo:", 4) == 0)
        return true;
    for (size_t i = 0; i < AS_COUNT_OF(ends); i++)
        if (size > strlen(ends[i]) && strcmp(name + size - strlen(ends[i]), ends[i]) == 0)
            return true;
    return access(name, X_OK) != 0 && access(name, R_OK) == 0;
}

/* The name of a built-in model without "zoo:" would be run by the shell. */
static int refuse_bare_zoo(const struct as_cmd_line *line, struct assay_error *err)
{
    const struct as_zoo_entry *entry;

    for (int i = 0; i < line->n_operands; i++)
        for (size_t k = 0; (entry = as_zoo_at(k)) != NULL; k++) {
            size_t size = strlen(entry->name);

            if (strncmp(line->operand[i], entry->name, size) == 0 &&
                (line->operand[i][size] == '\0' || line->operand[i][size] == ':'))
                return as_fail(err, ASSAY_ERR_USAGE,
                               "'%.60s' is a built-in model: assay bench zoo:%.60s; a program of "
                               "this name: -- %.60s",
                               line->operand[i], line->operand[i], line->operand[i]);
        }
    return ASSAY_OK;
}

/* Options that mean something to one workload alone. */
static int check_options(const struct as_cmd_line *line, const struct as_bench_kind *kind,
                         struct assay_error *err)
{
    static const char *const attention[] = {"lambda",         "tau",          "eps",
                                            "short-samples",  "long-samples", "short-min-len",
                                            "short-max-len",  "long-min-len", "long-max-len",
                                            "head-dim",       "heads",        "kv-heads",
                                            "causal",         "steps",        "refresh",
                                            "gating",         "topics",       "filler",
                                            "drift",          "quality",      "masks",
                                            "replay-samples", "against"};
    static const char *const command[] = {"ignore-failure", "outputs", "prepare", "setup",
                                          "cleanup"};

    if (kind == &kinds[3] && refuse_bare_zoo(line, err) < 0)
        return ASSAY_ERR_USAGE;
    if (kind != &kinds[3] && as_opt_given(line, "name"))
        return as_fail(err, ASSAY_ERR_USAGE, "--name is for commands in quotes");
    if (kind != &kinds[3] && as_opt_given(line, "no-shell"))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--no-shell is for commands in quotes; what follows -- is run without a "
                       "shell anyway");

    if (kind != &kinds[0])
        for (size_t i = 0; i < AS_COUNT_OF(attention); i++)
            if (as_opt_given(line, attention[i]))
                return as_fail(err, ASSAY_ERR_USAGE, "--%s is for --workload attention",
                               attention[i]);
    if (!kind->runs_kernels && as_opt_given(line, "max-isa"))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--max-isa caps assay's own kernels, and a command runs its own");
    if (kind != &kinds[1] && kind != &kinds[3])
        for (size_t i = 0; i < AS_COUNT_OF(command); i++)
            if (as_opt_given(line, command[i]))
                return as_fail(err, ASSAY_ERR_USAGE, "--%s is for commands", command[i]);
    return ASSAY_OK;
}

static const struct as_bench_kind *find_kind(const struct as_cmd_line *line,
                                             struct assay_error *err)
{
    int models = 0;

    if (as_opt_given(line, "workload"))
        return &kinds[0];
    if (line->n_operands == 0) {
        (void)as_fail(err, ASSAY_ERR_USAGE,
                      "name what to measure: commands in quotes, a model, -- and a command, or "
                      "--workload attention");
        return NULL;
    }
    if (line->after_dashes)
        return &kinds[1];
    for (int i = 0; i < line->n_operands; i++)
        models += looks_like_a_model(line->operand[i]);
    if (models == 0)
        return &kinds[3];
    if (models == line->n_operands)
        return &kinds[2];
    for (int i = 0; i < line->n_operands; i++)
        if (!looks_like_a_model(line->operand[i]))
            (void)as_fail(err, ASSAY_ERR_USAGE,
                          "models and commands cannot be compared: '%.60s' is not a model",
                          line->operand[i]);
    return NULL;
}

const struct as_bench_kind *as_bench_kind_of(const struct as_cmd_line *line,
                                             struct assay_error *err)
{
    const struct as_bench_kind *kind = find_kind(line, err);

    return kind && check_options(line, kind, err) == ASSAY_OK ? kind : NULL;
}
