/* cmd/help/cmd_man.c - all of `assay man`: the manual as roff, printed from the tables of commands.
 * `assay man report | man -l -` shows a page. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "cmd/help/help_text.h"

/* Text that roff takes for text: no request at the start of a line, no escape, hyphens that can be
 * copied. */
static void put_roff(struct as_out *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        as_out_text(out, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            as_out_text(out, "\\e");
        else if (*text == '-')
            as_out_text(out, "\\-");
        else
            as_out_char(out, *text);
        if (*text == '\n' && (text[1] == '.' || text[1] == '\''))
            as_out_text(out, "\\&");
    }
}

static void put_section(struct as_out *out, const char *name)
{
    as_out_text(out, ".SH ");
    for (; *name; name++) {
        char letter = (char)toupper((unsigned char)*name);

        as_out_text(out, letter == '-' ? " " : (char[]){letter, '\0'});
    }
    as_out_char(out, '\n');
}

static void put_entry(struct as_out *out, const char *label, const char *sentence)
{
    as_out_text(out, ".TP\n.B ");
    put_roff(out, label + strspn(label, " "));
    as_out_char(out, '\n');
    put_roff(out, sentence);
    as_out_char(out, '\n');
}

/* The options of one group; NULL: all. */
static void put_opts(struct as_out *out, const struct as_opt *opt, const char *group)
{
    char label[AS_WORDS_BYTES], sentence[AS_WORDS_BYTES];

    for (; opt && opt->name; opt++) {
        if (group && strcmp(as_opt_group(opt), group) != 0)
            continue;
        as_opt_label(opt, label);
        as_opt_sentence(opt, sentence);
        put_entry(out, label, sentence);
    }
}

/* The common options, without those of which the command tells in its own words. */
static void put_common(struct as_out *out, const struct as_cmd *cmd)
{
    const struct as_opt *opt;
    size_t own = 0;

    while (cmd->opts && cmd->opts[own].name)
        own++;
    for (size_t i = own; (opt = as_cmd_opt_at(cmd, i)) != NULL; i++) {
        const struct as_opt one[] = {*opt, {.name = NULL}};

        put_opts(out, one, NULL);
    }
}

static void put_topic(struct as_out *out, const struct as_topic *topic)
{
    const char *word;

    put_section(out, topic->name);
    for (size_t i = 0; (word = topic->word_at(i)) != NULL; i++)
        put_entry(out, word, topic->meaning_at(i));
}

static void put_head(struct as_out *out, const char *title, const char *summary)
{
    as_out_text(out, ".TH ");
    put_roff(out, title);
    as_out_printf(out, " 1 \"\" \"assay %s\" \"User Commands\"\n.SH NAME\n", ASSAY_VERSION);
    put_roff(out, title);
    as_out_text(out, " \\- ");
    put_roff(out, summary);
    as_out_char(out, '\n');
}

static void put_synopsis(struct as_out *out, const char *usage)
{
    as_out_text(out, ".SH SYNOPSIS\n.B ");
    put_roff(out, usage);
    as_out_char(out, '\n');
}

static void put_examples(struct as_out *out, const struct as_example *example)
{
    if (!example)
        return;
    as_out_text(out, ".SH EXAMPLES\n");
    for (; example->line; example++)
        put_entry(out, example->line, example->what);
}

static void put_command(struct as_out *out, const struct as_cmd *cmd)
{
    char title[64];
    const char *group;

    snprintf(title, sizeof title, "assay-%s", cmd->name);
    put_head(out, title, cmd->summary);
    put_synopsis(out, cmd->usage);
    if (cmd->details) {
        as_out_text(out, ".SH DESCRIPTION\n");
        put_roff(out, cmd->details);
        as_out_char(out, '\n');
    }
    put_examples(out, cmd->examples);
    as_out_text(out, ".SH OPTIONS\n");
    for (size_t i = 0; (group = as_opt_group_at(cmd->opts, i)) != NULL; i++) {
        as_out_text(out, ".SS ");
        put_roff(out, group);
        as_out_char(out, '\n');
        put_opts(out, cmd->opts, group);
    }
    as_out_text(out, ".SS Options of every command\n");
    put_common(out, cmd);
    as_out_text(out, ".SH SEE ALSO\n.BR assay (1)\n");
}

static void put_all(struct as_out *out)
{
    const struct as_cmd *cmd;
    const struct as_topic *topic;

    put_head(out, "assay",
             "profile neural networks: where time and memory go, what limits each layer");
    put_synopsis(out, "assay COMMAND [options] ...");
    as_out_text(out, ".SH COMMANDS\n");
    for (size_t i = 0; (cmd = as_cmd_at(i)) != NULL; i++)
        put_entry(out, cmd->usage, cmd->summary);
    as_out_text(out, ".SH OPTIONS\nEvery command understands these; assay\\-COMMAND(1) has its "
                     "own.\n");
    put_opts(out, as_common_opts, NULL);
    for (size_t i = 0; (topic = as_topic_at(i)) != NULL; i++)
        put_topic(out, topic);
}

static int run_man(const struct as_cmd_line *line, struct assay_error *err)
{
    const struct as_cmd *cmd = line->n_operands ? as_cmd_find(line->operand[0]) : NULL;
    struct as_console console;
    int rc = as_console_open(&console, line, err);

    if (rc < 0)
        return rc;
    if (cmd)
        put_command(&console.out, cmd);
    else
        put_all(&console.out);
    return as_console_close(&console, rc, err);
}

static const struct as_example man_examples[] = {
    {"assay man profile | man -l -", "read a page"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_man = {
    .name = "man",
    .summary = "print the manual, or a command's page of it, as roff",
    .usage = "assay man [COMMAND]",
    .examples = man_examples,
    .operand = "COMMAND",
    .max_operands = 1,
    .operand_at = as_cmd_name_at,
    .run = run_man,
};
