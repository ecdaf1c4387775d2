/* cmd/help/cmd_help.c - explains a command, all of them, or a topic.
 * Every word comes from the tables of commands, options, columns and sections. */
#include "cmd/help/help_text.h"

#include <string.h>

#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "report/run/show.h"

static void put_heading(struct as_console *c, const char *text)
{
    as_term_put(&c->term, &c->out, AS_STYLE_HEADING, text);
    as_out_char(&c->out, '\n');
}

static void put_opts(struct as_console *c, const struct as_opt *opt)
{
    char label[AS_WORDS_BYTES], sentence[AS_WORDS_BYTES];

    for (; opt && opt->name; opt++) {
        as_opt_label(opt, label);
        as_opt_sentence(opt, sentence);
        as_put_entry(&c->out, label, sentence, c->term.width);
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

static void explain_command(struct as_console *c, const struct as_cmd *cmd)
{
    put_heading(c, cmd->usage);
    as_put_wrapped(&c->out, cmd->summary, 0, 0, c->term.width);
    put_details(c, cmd->details);
    as_out_char(&c->out, '\n');
    if (cmd->opts && cmd->opts->name) {
        put_heading(c, "Options");
        put_opts(c, cmd->opts);
        as_out_char(&c->out, '\n');
    }
    put_heading(c, "Options of every command");
    put_opts(c, as_common_opts);
}

static void explain_all(struct as_console *c)
{
    const struct as_cmd *cmd;
    const struct as_topic *topic;

    as_out_text(&c->out, "assay tells where the time of a neural network goes.\n\n");
    put_heading(c, "Commands");
    for (size_t i = 0; (cmd = as_cmd_at(i)) != NULL; i++)
        as_put_entry(&c->out, cmd->name, cmd->summary, c->term.width);
    as_out_char(&c->out, '\n');
    put_heading(c, "Topics");
    for (size_t i = 0; (topic = as_topic_at(i)) != NULL; i++)
        as_put_entry(&c->out, topic->name, topic->summary, c->term.width);
    as_out_char(&c->out, '\n');
    put_heading(c, "Options of every command");
    put_opts(c, as_common_opts);
    as_out_text(&c->out, "\n'assay help COMMAND' explains a command.\n");
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

static const struct as_opt help_opts[] = {AS_OPT_JSON, {.name = NULL}};

const struct as_cmd as_cmd_help = {
    .name = "help",
    .summary = "explain a command or a topic",
    .usage = "assay help [options] [COMMAND | TOPIC | schema NAME]",
    .opts = help_opts,
    .operand = "COMMAND or TOPIC",
    .max_operands = 2,
    .operand_at = subject_at,
    .run = run_help,
};
