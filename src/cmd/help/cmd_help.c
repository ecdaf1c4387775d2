/* cmd/help/cmd_help.c - explains a command, all of them, or a topic.
 * Every word comes from the tables of commands, options, columns and sections. */
#include "cmd/help/help_text.h"

#include <string.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "report/run/show.h"

#define AS_TAG_LINE "profiles neural networks: where time goes, why, and what to do"

extern const struct as_cmd as_cmd_help;

static void put_heading(struct as_console *c, const char *text)
{
    as_term_put(&c->term, &c->out, AS_STYLE_HEADING, text);
    as_out_char(&c->out, '\n');
}

/* The options of one group; NULL: all. */
static void put_opts(struct as_console *c, const struct as_opt *opt, const char *group)
{
    char label[AS_WORDS_BYTES], sentence[AS_WORDS_BYTES];

    for (; opt && opt->name; opt++) {
        if (group && strcmp(as_opt_group(opt), group) != 0)
            continue;
        as_opt_label(opt, label);
        as_opt_sentence(opt, sentence);
        as_put_entry(&c->out, label, sentence, c->term.width);
    }
}

/* The common options, without those of which the command tells in its own words. */
static void put_common(struct as_console *c, const struct as_cmd *cmd)
{
    const struct as_opt *opt;
    size_t own = 0;

    while (cmd->opts && cmd->opts[own].name)
        own++;
    for (size_t i = own; (opt = as_cmd_opt_at(cmd, i)) != NULL; i++) {
        const struct as_opt one[] = {*opt, {.name = NULL}};

        put_opts(c, one, NULL);
    }
}

/* Paragraphs stand between empty lines. */
static void put_details(struct as_console *c, const char *text)
{
    while (text && *text) {
        const char *end = strstr(text, "\n\n");
        size_t size = end ? (size_t)(end - text) : strlen(text);
        char paragraph[1024];

        size = size < sizeof paragraph ? size : sizeof paragraph - 1;
        memcpy(paragraph, text, size);
        paragraph[size] = '\0';
        as_out_char(&c->out, '\n');
        as_put_wrapped(&c->out, paragraph, 0, 0, c->term.width);
        text = end ? end + 2 : NULL;
    }
}

static void put_examples(struct as_console *c, const struct as_example *example)
{
    if (!example)
        return;
    put_heading(c, "Examples");
    for (; example->line; example++) {
        as_out_printf(&c->out, "  %s\n", example->line);
        as_put_wrapped(&c->out, example->what, 0, 6, c->term.width);
    }
    as_out_char(&c->out, '\n');
}

static void explain_command(struct as_console *c, const struct as_cmd *cmd)
{
    const char *group;

    put_heading(c, cmd->usage);
    as_put_wrapped(&c->out, cmd->summary, 0, 0, c->term.width);
    as_out_char(&c->out, '\n');
    put_examples(c, cmd->examples);
    for (size_t i = 0; (group = as_opt_group_at(cmd->opts, i)) != NULL; i++) {
        put_heading(c, group);
        put_opts(c, cmd->opts, group);
        as_out_char(&c->out, '\n');
    }
    put_heading(c, "Options of every command");
    put_common(c, cmd);
    if (cmd->details) {
        as_out_char(&c->out, '\n');
        put_heading(c, "Details");
        put_details(c, cmd->details);
    }
}

static void explain_all(struct as_console *c)
{
    const struct as_cmd *cmd;
    const struct as_topic *topic;

    as_out_text(&c->out, "assay " AS_TAG_LINE ".\n\n");
    put_heading(c, "Commands");
    for (size_t i = 0; (cmd = as_cmd_at(i)) != NULL; i++)
        as_put_entry(&c->out, cmd->name, cmd->summary, c->term.width);
    as_out_char(&c->out, '\n');
    put_heading(c, "Topics");
    for (size_t i = 0; (topic = as_topic_at(i)) != NULL; i++)
        as_put_entry(&c->out, topic->name, topic->summary, c->term.width);
    as_out_char(&c->out, '\n');
    put_heading(c, "Options of every command");
    put_opts(c, as_common_opts, NULL);
    as_out_text(&c->out, "\n'assay help COMMAND' explains a command, with examples.\n");
}

static void explain_topic(struct as_console *c, const struct as_topic *topic)
{
    const char *word;

    if (!topic)
        return;
    put_heading(c, topic->summary);
    for (size_t i = 0; (word = topic->word_at(i)) != NULL; i++)
        as_put_entry(&c->out, word, topic->meaning_at(i), c->term.width);
}

static const struct as_topic *find_topic(const char *name)
{
    const struct as_topic *topic;
    size_t i = 0;

    while ((topic = as_topic_at(i)) != NULL && strcmp(topic->name, name) != 0)
        i++;
    return topic;
}

/* Commands first, then topics, then names of schemas. */
static const char *subject_at(size_t i)
{
    const struct as_topic *topic;
    const char *name = as_cmd_name_at(i);

    for (size_t n = 0; !name && as_cmd_at(n); n++)
        i--;
    for (size_t n = 0; !name && (topic = as_topic_at(n)) != NULL; n++)
        if (i-- == 0)
            name = topic->name;
    return name ? name : as_schema_name_at(i);
}

int as_help_print(const struct as_cmd_line *line, const struct as_cmd *cmd, struct assay_error *err)
{
    struct as_console console;
    int rc = as_console_open(&console, line, err);

    if (rc < 0)
        return rc;
    explain_command(&console, cmd);
    return as_console_close(&console, rc, err);
}

int as_start_print(struct assay_error *err)
{
    static const struct {
        const char *line, *what;
    } first[] = {
        {"assay inspect MODEL", "parameters, MACs and memory, layer by layer"},
        {"assay profile MODEL", "latency, slow layers, roofline, what to do next"},
        {"assay sweep MODEL --batch 1,8", "the best batch size and thread count"},
        {"assay diff A B", "what changed between two runs or models"},
        {"assay run -- COMMAND", "memory, heap and GEMM calls of any program"},
        {"assay machine", "peak compute and bandwidth of this machine"},
    };
    struct as_cmd_line line = {.cmd = &as_cmd_help};
    struct as_console console;
    int rc = as_console_open(&console, &line, err);

    if (rc < 0)
        return rc;
    as_out_printf(&console.out, "assay %s: %s\n\n", ASSAY_VERSION, AS_TAG_LINE);
    for (size_t i = 0; i < AS_COUNT_OF(first); i++) {
        as_out_printf(&console.out, "  %-31s", first[i].line);
        as_put_wrapped(&console.out, first[i].what, 33, 33, console.term.width);
    }
    as_out_char(&console.out, '\n');
    as_put_wrapped(&console.out,
                   "MODEL is an .onnx, .tflite, .gguf or .safetensors file, or a built-in model. "
                   "To try it without one: assay profile zoo:mobilenetv2",
                   0, 0, console.term.width);
    as_put_wrapped(&console.out,
                   "All commands: assay help. One of them: assay help profile. Built-in models: "
                   "assay zoo.",
                   0, 0, console.term.width);
    return as_console_close(&console, rc, err);
}

/* `assay help schema NAME`. */
static int print_schema(const struct as_cmd_line *line, struct assay_error *err)
{
    const char *name = line->n_operands > 1 ? line->operand[1] : NULL;
    const struct as_run_kind *kind = NULL;
    struct as_console console;
    int rc;

    for (size_t i = 0; name && (kind = as_run_kind_at(i)) != NULL; i++)
        if (strcmp(kind->name, name) == 0 && kind->document)
            break;
    if (!kind)
        return as_fail_word(err, "help schema", name, as_schema_name_at);
    rc = as_console_open(&console, line, err);
    if (rc == ASSAY_OK)
        rc = as_console_close(&console, as_show_schema(kind, &console.out, err), err);
    return rc;
}

static int run_help(const struct as_cmd_line *line, struct assay_error *err)
{
    const char *subject = line->n_operands ? line->operand[0] : NULL;
    const struct as_cmd *cmd = subject ? as_cmd_find(subject) : NULL;
    bool json = as_opt_given(line, "json");
    struct as_console console;
    int rc;

    if (subject && line->n_operands > 1 && strcmp(subject, "schema") != 0)
        return as_fail(err, ASSAY_ERR_USAGE, "help takes one word, or schema and its name");
    if (line->n_operands > 1)
        return print_schema(line, err);
    if (cmd && !json)
        return as_help_print(line, cmd, err);
    rc = as_console_open(&console, line, err);
    if (rc < 0)
        return rc;
    if (json)
        rc = as_help_json(&console.out, cmd, err);
    else if (subject)
        explain_topic(&console, find_topic(subject));
    else
        explain_all(&console);
    return as_console_close(&console, rc, err);
}

static const struct as_opt help_opts[] = {AS_OPTS_FORMAT(as_format_plain_at), {.name = NULL}};

static const struct as_example help_examples[] = {
    {"assay help profile", "all options of a command"},
    {"assay help columns", "what the columns of layers mean"},
    {"assay help schema profile", "the JSON Schema of a document"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_help = {
    .name = "help",
    .summary = "explain a command or a topic",
    .usage = "assay help [options] [COMMAND | TOPIC | schema NAME]",
    .opts = help_opts,
    .examples = help_examples,
    .operand = "COMMAND or TOPIC",
    .max_operands = 2,
    .operand_at = subject_at,
    .run = run_help,
};
