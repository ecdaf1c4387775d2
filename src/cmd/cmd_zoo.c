/* cmd/cmd_zoo.c - all of `assay zoo`: lists the built-in models, shows one, writes one as a file.
 * Counts are worked out from the graph each time, never looked up. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "analyze/model/inspect.h"
#include "base/cursor.h"
#include "base/json/json_writer.h"
#include "base/text/csv.h"
#include "base/text/table.h"
#include "base/text/text.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "format/gguf/gguf_writer.h"
#include "format/onnx/onnx_writer.h"
#include "model/zoo/zoo.h"
#include "report/page/page.h"

enum file_format { FILE_ONNX, FILE_GGUF, N_FORMATS };

static const char *const format_names[N_FORMATS] = {"onnx", "gguf"};

static const char *format_at(size_t i)
{
    return i < N_FORMATS ? format_names[i] : NULL;
}

static const struct as_opt zoo_opts[] = {
    {.name = "to",
     .kind = AS_OPT_WORD,
     .argument = "FORMAT",
     .help = "write FILE as FORMAT, whatever it is called; gguf for llama only",
     .word_at = format_at},
    {.name = "external",
     .kind = AS_OPT_FLAG,
     .help = "write the weights of an ONNX file into FILE.data beside it, as is done from 2 GB on"},
    AS_OPTS_FORMAT(as_format_at),
    AS_OPT_CSV_SAFE,
    {.name = NULL},
};

/* ---- counting ---- */

struct counted {
    const struct as_zoo_entry *entry;
    int64_t values[AS_ZOO_VALUES];
    struct as_model *model;
    struct as_inspection *found;
};

static int count(struct counted *c, const char *spec, struct assay_error *err)
{
    const struct as_inspect_options options = {0};
    int rc = as_zoo_parse(spec, &c->entry, c->values, err);

    if (rc == ASSAY_OK)
        rc = as_zoo_open(&c->model, spec, err);
    if (rc == ASSAY_OK)
        rc = as_inspection_new(&c->found, c->model, &options, err);
    if (rc == ASSAY_OK && c->found->costs->overflow)
        rc = as_fail(err, ASSAY_ERR_LIMIT,
                     "one inference of %s takes more than 2^64 operations; give smaller keys",
                     c->entry->name);
    return rc;
}

static void count_fini(struct counted *c)
{
    as_inspection_free(c->found);
    as_model_free(c->model);
    *c = (struct counted){0};
}

/* "1x3x224x224"; "3 of 1x128" when several are alike. */
static void shapes_text(char *out, size_t capacity, const struct as_model *model)
{
    const struct as_graph *graph = model->main;
    size_t used = 0;
    char type[80], last[80] = "";
    bool alike = true;

    out[0] = '\0';
    for (uint32_t i = 0; i < graph->n_inputs && used < capacity; i++) {
        as_type_text(type, sizeof type, &model->values[graph->inputs[i]].type);
        used += (size_t)snprintf(out + used, capacity - used, "%s%s", i ? ", " : "", type);
        alike = alike && (i == 0 || strcmp(type, last) == 0);
        (void)snprintf(last, sizeof last, "%s", type);
    }
    if (alike && graph->n_inputs > 1)
        (void)snprintf(out, capacity, "%u of %s", graph->n_inputs, last);
}

/* "input 1x3x224x224", each with its name. */
static void inputs_text(char *out, size_t capacity, const struct as_model *model)
{
    const struct as_graph *graph = model->main;
    size_t used = 0;
    char type[80];

    out[0] = '\0';
    for (uint32_t i = 0; i < graph->n_inputs && used < capacity; i++) {
        const struct as_value *v = &model->values[graph->inputs[i]];

        as_type_text(type, sizeof type, &v->type);
        used +=
            (size_t)snprintf(out + used, capacity - used, "%s%s %s", i ? ", " : "", v->name, type);
    }
}

/* ---- the list ---- */

/* Nothing is ever cut: what has no room is left out, and `assay zoo NAME` shows it. */
static const struct as_table_column list_columns[] = {
    {.title = "model"},
    {.title = "parameters", .align = AS_ALIGN_RIGHT},
    {.title = "MACs", .align = AS_ALIGN_RIGHT},
    {.title = "what it is", .drop = 1},
    {.title = "input", .drop = 2},
    {.title = "keys", .drop = 3},
};

static void keys_text(char *out, size_t capacity, const struct as_zoo_entry *entry)
{
    size_t used = 0;

    out[0] = '\0';
    for (const struct as_zoo_key *k = entry->keys; k && k->name && used < capacity; k++)
        used += (size_t)snprintf(out + used, capacity - used, "%s%s", used ? ", " : "", k->name);
}

static void put_row(struct as_table *table, const struct counted *c)
{
    char number[AS_TEXT_HUMAN], text[200];

    as_table_row(table);
    as_table_text(table, AS_STYLE_HEADING, c->entry->name);
    as_text_count(number, c->found->params->parameters);
    as_table_text(table, AS_STYLE_NONE, number);
    as_text_count(number, c->found->costs->forward.macs);
    as_table_text(table, AS_STYLE_NONE, number);
    as_table_text(table, AS_STYLE_NONE, c->entry->summary);
    shapes_text(text, sizeof text, c->model);
    as_table_text(table, AS_STYLE_NONE, text);
    keys_text(text, sizeof text, c->entry);
    as_table_text(table, AS_STYLE_DIM, text);
}

static int print_list(struct as_console *console, bool markdown, struct assay_error *err)
{
    struct as_table table;
    struct as_page page;
    int rc = ASSAY_OK, closed;

    as_page_open(&page, &console->out, &console->term, markdown);
    as_table_init(&table, list_columns, AS_COUNT_OF(list_columns));
    for (size_t i = 0; rc == ASSAY_OK && as_zoo_at(i); i++) {
        struct counted c = {0};

        rc = count(&c, as_zoo_at(i)->name, err);
        if (rc == ASSAY_OK)
            put_row(&table, &c);
        count_fini(&c);
    }
    if (rc == ASSAY_OK) {
        as_page_table(&page, &table);
        as_out_char(&console->out, '\n');
        as_page_line(
            &page, AS_STYLE_NONE,
            "MACs of one inference with the default keys: convolutions and GEMM calls only.");
        as_page_line(&page, AS_STYLE_NONE,
                     "`assay zoo NAME` shows the keys of a model; zoo:NAME[:key=value,...] is a "
                     "model wherever one is asked for.");
    }
    as_table_fini(&table);
    closed = as_page_close(&page, rc < 0 ? NULL : err);
    return rc < 0 ? rc : closed;
}

/* ---- one model ---- */

static void put_key(struct as_table *table, const struct as_zoo_key *key, int64_t value)
{
    as_table_row(table);
    as_table_text(table, AS_STYLE_HEADING, key->name);
    if (key->words)
        as_table_text(table, AS_STYLE_NONE, key->words[value]);
    else
        as_table_printf(table, AS_STYLE_NONE, "%lld", (long long)value);
    if (key->words)
        as_table_text(table, AS_STYLE_NONE, key->words[key->fallback]);
    else
        as_table_printf(table, AS_STYLE_NONE, "%lld", (long long)key->fallback);
    as_table_text(table, AS_STYLE_NONE, key->help);
}

typedef void (*key_step)(void *user, const struct as_zoo_key *key, int64_t value);

/* The model's own keys, then the common ones, each with the value it has here. */
static void each_key(const struct counted *c, key_step step, void *user)
{
    size_t n = 0;

    for (const struct as_zoo_key *k = c->entry->keys; k && k->name; k++)
        step(user, k, c->values[n++]);
    for (const struct as_zoo_key *k = as_zoo_common_keys; k->name; k++)
        step(user, k, c->values[n++]);
}

static void table_step(void *user, const struct as_zoo_key *key, int64_t value)
{
    put_key(user, key, value);
}

static void put_figure(struct as_out *out, const char *name, uint64_t value)
{
    char number[AS_TEXT_HUMAN];

    as_text_count(number, value);
    as_out_printf(out, "%-22s %22s\n", name, number);
}

static int print_one(struct as_console *console, const struct counted *c, bool markdown,
                     struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "key"},
        {.title = "value", .align = AS_ALIGN_RIGHT},
        {.title = "default", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "what it is", .drop = 1}};
    const struct as_inspection *found = c->found;
    struct as_out *out = &console->out;
    struct as_table table;
    struct as_page page;
    char text[240];

    inputs_text(text, sizeof text, c->model);
    as_page_open(&page, out, &console->term, markdown);
    as_page_line(&page, AS_STYLE_NONE, "%s: %s", c->entry->name, c->entry->detail);
    as_page_line(&page, AS_STYLE_NONE, "input: %s", text);
    as_out_char(out, '\n');
    put_figure(out, "parameters", found->params->parameters);
    put_figure(out, "stored elements", found->params->stored);
    put_figure(out, "bytes of parameters", found->params->parameter_bytes);
    put_figure(out, "MACs", found->costs->forward.macs);
    put_figure(out, "elementwise", found->costs->forward.elementwise);
    put_figure(out, "transcendental", found->costs->forward.transcendental);
    put_figure(out, "FLOPs", found->flops);
    put_figure(out, "nodes", found->n_nodes);
    as_out_char(out, '\n');
    as_page_line(&page, AS_STYLE_NONE, "%s", AS_COST_CONVENTION);
    as_out_char(out, '\n');
    as_table_init(&table, columns, AS_COUNT_OF(columns));
    each_key(c, table_step, &table);
    as_page_table(&page, &table);
    as_table_fini(&table);
    return as_page_close(&page, err);
}

/* ---- JSON ---- */

static void json_step(void *user, const struct as_zoo_key *key, int64_t value)
{
    struct as_json_writer *w = user;

    as_json_object(w);
    as_json_kv_text(w, "name", key->name);
    as_json_kv_text(w, "help", key->help);
    if (key->words) {
        as_json_kv_text(w, "value", key->words[value]);
        as_json_kv_text(w, "default", key->words[key->fallback]);
    } else {
        as_json_kv_i64(w, "value", value);
        as_json_kv_i64(w, "default", key->fallback);
        as_json_kv_i64(w, "min", key->min);
        as_json_kv_i64(w, "max", key->max);
    }
    as_json_object_end(w);
}

static void json_inputs(struct as_json_writer *w, const struct as_model *model)
{
    as_json_kv_array(w, "inputs");
    for (uint32_t i = 0; i < model->main->n_inputs; i++) {
        const struct as_value *v = &model->values[model->main->inputs[i]];

        as_json_object(w);
        as_json_kv_text(w, "name", v->name);
        as_json_kv_text(w, "dtype", as_dtype_name(v->type.dtype));
        as_json_kv_array(w, "shape");
        for (int k = 0; k < v->type.rank; k++)
            as_json_i64(w, v->type.dims[k]);
        as_json_array_end(w);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void json_model(struct as_json_writer *w, const struct counted *c)
{
    const struct as_inspection *found = c->found;

    as_json_object(w);
    as_json_kv_text(w, "name", c->entry->name);
    as_json_kv_text(w, "summary", c->entry->detail);
    json_inputs(w, c->model);
    as_json_kv_u64(w, "parameters", found->params->parameters);
    as_json_kv_u64(w, "parameters_stored", found->params->stored);
    as_json_kv_u64(w, "parameter_bytes", found->params->parameter_bytes);
    as_json_kv_u64(w, "macs", found->costs->forward.macs);
    as_json_kv_u64(w, "flops", found->flops);
    as_json_kv_u64(w, "elementwise_ops", found->costs->forward.elementwise);
    as_json_kv_u64(w, "transcendental_ops", found->costs->forward.transcendental);
    as_json_kv_u64(w, "nodes", found->n_nodes);
    as_json_kv_array(w, "keys");
    each_key(c, json_step, w);
    as_json_array_end(w);
    as_json_object_end(w);
}

static int print_json(struct as_out *out, const struct counted *one, struct assay_error *err)
{
    struct as_json_writer w;
    int rc = ASSAY_OK;

    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.zoo");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_text(&w, "convention", AS_COST_CONVENTION);
    as_json_kv_array(&w, "models");
    if (one)
        json_model(&w, one);
    for (size_t i = 0; !one && rc == ASSAY_OK && as_zoo_at(i); i++) {
        struct counted c = {0};

        rc = count(&c, as_zoo_at(i)->name, err);
        if (rc == ASSAY_OK)
            json_model(&w, &c);
        count_fini(&c);
    }
    if (rc < 0)
        return rc;
    as_json_array_end(&w);
    as_json_object_end(&w);
    rc = as_json_writer_finish(&w, err);
    as_out_char(out, '\n');
    return rc;
}

/* ---- CSV ---- */

static void csv_row(struct as_csv_writer *w, const struct counted *c)
{
    const struct as_inspection *found = c->found;
    char inputs[240];

    inputs_text(inputs, sizeof inputs, c->model);
    as_csv_text(w, c->entry->name);
    as_csv_text(w, c->entry->summary);
    as_csv_text(w, inputs);
    as_csv_u64(w, found->params->parameters);
    as_csv_u64(w, found->params->parameter_bytes);
    as_csv_u64(w, found->costs->forward.macs);
    as_csv_u64(w, found->flops);
    as_csv_u64(w, found->n_nodes);
    as_csv_row_end(w);
}

static int print_csv(const struct as_cmd_line *line, struct as_out *out, const struct counted *one,
                     struct assay_error *err)
{
    static const char *const names[] = {"model",           "summary", "inputs", "parameters",
                                        "parameter_bytes", "macs",    "flops",  "nodes"};
    struct as_csv_writer w = {.out = out, .safe = as_opt_given(line, "csv-safe")};
    int rc = ASSAY_OK;

    for (size_t i = 0; i < AS_COUNT_OF(names); i++)
        as_csv_text(&w, names[i]);
    as_csv_row_end(&w);
    if (one)
        csv_row(&w, one);
    for (size_t i = 0; !one && rc == ASSAY_OK && as_zoo_at(i); i++) {
        struct counted c = {0};

        rc = count(&c, as_zoo_at(i)->name, err);
        if (rc == ASSAY_OK)
            csv_row(&w, &c);
        count_fini(&c);
    }
    return rc;
}

static int print(const struct as_cmd_line *line, const struct counted *one, struct assay_error *err)
{
    enum as_output_format format = as_format_of(line);
    struct as_console console;
    int rc = as_console_open(&console, line, err);

    if (rc < 0)
        return rc;
    if (format == AS_FORMAT_JSON)
        rc = print_json(&console.out, one, err);
    else if (format == AS_FORMAT_CSV)
        rc = print_csv(line, &console.out, one, err);
    else
        rc = one ? print_one(&console, one, format == AS_FORMAT_MARKDOWN, err)
                 : print_list(&console, format == AS_FORMAT_MARKDOWN, err);
    return as_console_close(&console, rc, err);
}

/* ---- files ---- */

/* By --to, else by the end of the name; -1: neither says. */
static int format_of(const struct as_cmd_line *line, const char *path)
{
    const char *dot = strrchr(path, '.');

    if (as_opt_given(line, "to"))
        return as_opt_word(line, "to", 0);
    for (int i = 0; dot && i < N_FORMATS; i++)
        if (strcmp(dot + 1, format_names[i]) == 0)
            return i;
    return -1;
}

static uint64_t bytes_of(const struct as_model *model)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < model->n_values; i++)
        if (model->values[i].is_initializer && model->values[i].data &&
            !as_add_u64(sum, model->values[i].data->size_bytes, &sum))
            return UINT64_MAX;
    return sum;
}

/* A disk is not filled for a file that cannot fit on it. */
static int check_disk_space(const char *path, uint64_t bytes, struct assay_error *err)
{
    const char *slash = strrchr(path, '/');
    char folder[4096], need[AS_TEXT_HUMAN], left[AS_TEXT_HUMAN];
    struct statvfs disk;
    struct stat there;
    uint64_t free_bytes;

    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                   slash ? path : ".");
    if ((stat(path, &there) == 0 && !S_ISREG(there.st_mode)) || statvfs(folder, &disk) != 0)
        return ASSAY_OK; /* a device; or opening it says what is wrong */
    if (!as_mul_u64(disk.f_bavail, disk.f_frsize, &free_bytes) || bytes <= free_bytes)
        return ASSAY_OK;
    as_text_bytes(need, (double)bytes);
    as_text_bytes(left, (double)free_bytes);
    return as_fail(err, ASSAY_ERR_IO, "%.120s would take %s of weights, and its disk has %s left",
                   path, need, left);
}

static int write_file(const struct as_cmd_line *line, const char *spec, const char *path,
                      enum file_format format, struct assay_error *err)
{
    const uint64_t protobuf_max = 0x7fffffff - (16 << 20); /* with room for the graph */
    struct as_model *model = NULL;
    char size[AS_TEXT_HUMAN];
    uint64_t bytes;
    int rc =
        format == FILE_GGUF ? as_zoo_llama_gguf(&model, spec, err) : as_zoo_open(&model, spec, err);

    if (rc < 0)
        return rc;
    bytes = bytes_of(model);
    rc = check_disk_space(path, bytes, err);
    if (rc < 0) {
        as_model_free(model);
        return rc;
    }
    as_text_bytes(size, (double)bytes);
    if (bytes > UINT64_C(256) << 20)
        as_console_note(line, "writing %s of weights to %s", size, path);
    if (format == FILE_GGUF)
        rc = as_gguf_write(model, path, err);
    else
        rc = as_onnx_save(model, path, as_opt_given(line, "external") || bytes > protobuf_max, err);
    as_model_free(model);
    if (rc == ASSAY_OK)
        as_console_note(line, "%s: %s of weights as %s", path, size, format_names[format]);
    return rc;
}

static int run_zoo(const struct as_cmd_line *line, struct assay_error *err)
{
    const char *spec = line->n_operands ? line->operand[0] : NULL;
    const char *path = as_opt_text(line, "output");
    int format = path ? format_of(line, path) : -1;
    struct counted c = {0};
    int rc;

    if (as_opt_given(line, "to") && (!path || !spec))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--to needs a model and a file, as in "
                       "`assay zoo llama --to gguf -o llama.gguf`");
    if (!spec)
        return print(line, NULL, err);
    if (path && as_format_of(line) == AS_FORMAT_TEXT) {
        if (format < 0)
            return as_fail(err, ASSAY_ERR_USAGE,
                           "%.120s ends neither in .onnx nor in .gguf; name the format with --to",
                           path);
        return write_file(line, spec, path, (enum file_format)format, err);
    }
    rc = count(&c, spec, err);
    if (rc == ASSAY_OK)
        rc = print(line, &c, err);
    count_fini(&c);
    return rc;
}

static const struct as_example zoo_examples[] = {
    {"assay zoo", "all built-in models"},
    {"assay zoo resnet50 -o resnet50.onnx", "write one as an ONNX file"},
    {"assay zoo llama:layers=4 -o small.gguf", "a small text model as GGUF"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_zoo = {
    .name = "zoo",
    .summary = "list, show and write the built-in models",
    .usage = "assay zoo [options] [NAME[:KEY=VALUE,...]]",
    .details = "Without NAME: all models, with the parameters and MACs of one inference. With "
               "NAME: its keys and counts. With NAME and --output: the model as a file, ONNX or, "
               "for llama, GGUF, by the suffix of the name or --to. The weights are random values "
               "that follow from the key seed: the same on every machine, but not "
               "trained.\n\nWherever a command takes a model, zoo:NAME[:KEY=VALUE,...] is one too.",
    .examples = zoo_examples,
    .opts = zoo_opts,
    .operand = "NAME",
    .min_operands = 0,
    .max_operands = 1,
    .run = run_zoo,
};
