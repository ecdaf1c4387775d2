/* cmd/help/cmd_completion.c - all of `assay completion`: what a shell needs to complete commands
 * and options. Printed from the tables of commands, one writer for each shell. */
#include <string.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "model/zoo/zoo.h"

/* All words of a list, with a blank between. */
static void put_words(struct as_out *out, as_word_at word_at)
{
    const char *word;

    for (size_t i = 0; (word = word_at(i)) != NULL; i++) {
        if (i)
            as_out_char(out, ' ');
        as_out_text(out, word);
    }
}

/* All built-in models, each with `prefix` before its name and a blank between. */
static void put_zoo(struct as_out *out, const char *prefix)
{
    const struct as_zoo_entry *entry;

    for (size_t i = 0; (entry = as_zoo_at(i)) != NULL; i++)
        as_out_printf(out, "%s%s%s", i ? " " : "", prefix, entry->name);
}

/* `text` within single quotes; characters of `escaped` get a backslash. */
static void put_quoted(struct as_out *out, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'') {
            as_out_text(out, "'\\''");
            continue;
        }
        if (strchr(escaped, *text))
            as_out_char(out, '\\');
        as_out_char(out, *text);
    }
}

/* ---- bash ---- */

static void bash_value(struct as_out *out, const struct as_cmd *cmd, const struct as_opt *opt)
{
    as_out_printf(out, "    %s:--%s", cmd->name, opt->name);
    if (opt->letter)
        as_out_printf(out, "|%s:-%c", cmd->name, opt->letter);
    as_out_text(out, ")\n        ");
    if (opt->word_at) {
        as_out_text(out, "COMPREPLY=($(compgen -P \"$head\" -W \"");
        put_words(out, opt->word_at);
        as_out_text(out, "\" -- \"${cur##*,}\"))");
    } else if (opt->kind == AS_OPT_FOLDER) {
        as_out_text(out, "COMPREPLY=($(compgen -d -- \"$cur\"))");
    } else if (opt->kind == AS_OPT_FILE) {
        as_out_text(out, "COMPREPLY=($(compgen -f -- \"$cur\"))");
    } else {
        as_out_text(out, ":");
    }
    as_out_text(out, "\n        return\n        ;;\n");
}

static void bash_command(struct as_out *out, const struct as_cmd *cmd)
{
    const struct as_opt *opt;

    as_out_printf(out, "    %s:-*)\n        COMPREPLY=($(compgen -W \"", cmd->name);
    for (size_t i = 0; (opt = as_cmd_opt_at(cmd, i)) != NULL; i++) {
        as_out_printf(out, "%s--%s", i ? " " : "", opt->name);
        if (opt->letter)
            as_out_printf(out, " -%c", opt->letter);
    }
    as_out_text(out, "\" -- \"$cur\"))\n        ;;\n");
    if (cmd->operand_at) {
        as_out_printf(out, "    %s:*)\n        COMPREPLY=($(compgen -W \"", cmd->name);
        put_words(out, cmd->operand_at);
        as_out_text(out, "\" -- \"$cur\"))\n        ;;\n");
    } else if (cmd->operand_kind == AS_OPERAND_MODEL) {
        as_out_printf(out, "    %s:*)\n        COMPREPLY=($(compgen -W \"", cmd->name);
        put_zoo(out, "zoo:");
        as_out_text(out, "\" -- \"$cur\") $(compgen -f -- \"$cur\"))\n        ;;\n");
    }
}

/* A colon ends a word in bash: "zoo:res" comes as three, and only the last is replaced. */
static void bash_zoo(struct as_out *out)
{
    as_out_text(out, "    if [[ $cur == : && $prev == zoo ]]; then\n"
                     "        cur=\"\" prev=:\n"
                     "    fi\n"
                     "    if [[ $prev == : || $cmd:$prev == zoo:zoo ]]; then\n"
                     "        COMPREPLY=($(compgen -W \"");
    put_zoo(out, "");
    as_out_text(out, "\" -- \"$cur\"))\n        [[ $cur == -* ]] || return\n    fi\n");
}

static void put_bash(struct as_out *out)
{
    const struct as_cmd *cmd;
    const struct as_opt *opt;

    as_out_text(out, "# Completion of assay for bash: source <(assay completion bash)\n"
                     "_assay()\n{\n"
                     "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" cmd=\"\" head=\"\" i\n"
                     "    local prev=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n\n"
                     "    COMPREPLY=()\n"
                     "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                     "        case \"${COMP_WORDS[i]}\" in\n        ");
    for (size_t i = 0; (cmd = as_cmd_at(i)) != NULL; i++)
        as_out_printf(out, "%s%s", i ? "|" : "", cmd->name);
    as_out_text(out, ")\n            cmd=\"${COMP_WORDS[i]}\"\n            break\n"
                     "            ;;\n        esac\n    done\n"
                     "    [[ $prev == = ]] && prev=\"${COMP_WORDS[COMP_CWORD - 2]}\"\n"
                     "    [[ $cur == = ]] && cur=\"\" && prev=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
                     "    [[ $cur == *,* ]] && head=\"${cur%,*},\"\n");
    bash_zoo(out);
    as_out_text(out, "    case \"$cmd:$prev\" in\n");
    for (size_t i = 0; (cmd = as_cmd_at(i)) != NULL; i++) {
        for (size_t j = 0; (opt = as_cmd_opt_at(cmd, j)) != NULL; j++) {
            if (opt->argument)
                bash_value(out, cmd, opt);
        }
    }
    as_out_text(out, "    esac\n    case \"$cmd:$cur\" in\n");
    for (size_t i = 0; (cmd = as_cmd_at(i)) != NULL; i++)
        bash_command(out, cmd);
    as_out_text(out, "    :*)\n        COMPREPLY=($(compgen -W \"");
    put_words(out, as_cmd_name_at);
    as_out_text(out, " --version --help\" -- \"$cur\"))\n        ;;\n"
                     "    *)\n        COMPREPLY=($(compgen -f -- \"$cur\"))\n        ;;\n"
                     "    esac\n}\ncomplete -o filenames -F _assay assay\n");
}

/* ---- zsh ---- */

static void zsh_opt(struct as_out *out, const struct as_opt *opt)
{
    as_out_text(out, " \\\n            ");
    if (opt->letter)
        as_out_printf(out, "'(-%c --%s)'{-%c,--%s%s}", opt->letter, opt->name, opt->letter,
                      opt->name, opt->argument ? "=" : "");
    else
        as_out_printf(out, "'--%s%s'", opt->name, opt->argument ? "=" : "");
    as_out_text(out, "'[");
    put_quoted(out, opt->help, "[]:\\");
    as_out_char(out, ']');
    if (opt->argument) {
        as_out_char(out, ':');
        put_quoted(out, opt->argument, ":\\");
        as_out_char(out, ':');
    }
    if (opt->word_at) {
        as_out_text(out, opt->kind == AS_OPT_WORDS ? "_values -s , name " : "(");
        put_words(out, opt->word_at);
        as_out_text(out, opt->kind == AS_OPT_WORDS ? "" : ")");
    } else if (opt->kind == AS_OPT_FILE) {
        as_out_text(out, "_files");
    } else if (opt->kind == AS_OPT_FOLDER) {
        as_out_text(out, "_files -/");
    }
    as_out_char(out, '\'');
}

static void put_zsh(struct as_out *out)
{
    const struct as_cmd *cmd;
    const struct as_opt *opt;

    as_out_text(out, "#compdef assay\n# Completion of assay for zsh: put it into a folder of "
                     "$fpath as _assay\n"
                     "_assay()\n{\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; (cmd = as_cmd_at(i)) != NULL; i++) {
        as_out_printf(out, "        '%s:", cmd->name);
        put_quoted(out, cmd->summary, ":\\");
        as_out_text(out, "'\n");
    }
    as_out_text(out, "    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n"
                     "        return\n    fi\n    shift words\n    ((CURRENT--))\n"
                     "    case \"${words[1]}\" in\n");
    for (size_t i = 0; (cmd = as_cmd_at(i)) != NULL; i++) {
        as_out_printf(out, "    %s)\n        _arguments", cmd->name);
        for (size_t j = 0; (opt = as_cmd_opt_at(cmd, j)) != NULL; j++)
            zsh_opt(out, opt);
        if (cmd->operand_at) {
            as_out_text(out, " \\\n            '*:word:(");
            put_words(out, cmd->operand_at);
            as_out_text(out, ")'");
        } else if (cmd->operand_kind == AS_OPERAND_MODEL) {
            as_out_text(out, " \\\n            '*:model:_alternative \"files:file:_files\" "
                             "\"zoo:built-in model:(");
            put_zoo(out, "zoo\\\\\\:");
            as_out_text(out, ")\"'");
        } else if (cmd->operand) {
            as_out_text(out, " \\\n            '*:file:_files'");
        }
        as_out_text(out, "\n        ;;\n");
    }
    as_out_text(out, "    esac\n}\n_assay \"$@\"\n");
}

/* ---- fish ---- */

static void fish_opt(struct as_out *out, const struct as_cmd *cmd, const struct as_opt *opt)
{
    bool file = opt->kind == AS_OPT_FILE || opt->kind == AS_OPT_FOLDER;

    as_out_printf(out, "complete -c assay -n '__fish_seen_subcommand_from %s' -l %s", cmd->name,
                  opt->name);
    if (opt->letter)
        as_out_printf(out, " -s %c", opt->letter);
    if (opt->argument)
        as_out_text(out, file ? " -r" : " -x");
    if (opt->word_at) {
        as_out_text(out, " -a '");
        put_words(out, opt->word_at);
        as_out_char(out, '\'');
    }
    as_out_text(out, " -d '");
    put_quoted(out, opt->help, "\\");
    as_out_text(out, "'\n");
}

static void put_fish(struct as_out *out)
{
    const struct as_cmd *cmd;
    const struct as_opt *opt;

    as_out_text(out, "# Completion of assay for fish: assay completion fish | source\n");
    for (size_t i = 0; (cmd = as_cmd_at(i)) != NULL; i++) {
        as_out_printf(out, "complete -c assay -f -n __fish_use_subcommand -a %s -d '", cmd->name);
        put_quoted(out, cmd->summary, "\\");
        as_out_text(out, "'\n");
        for (size_t j = 0; (opt = as_cmd_opt_at(cmd, j)) != NULL; j++)
            fish_opt(out, cmd, opt);
        if (cmd->operand_at) {
            as_out_printf(out, "complete -c assay -f -n '__fish_seen_subcommand_from %s' -a '",
                          cmd->name);
            put_words(out, cmd->operand_at);
            as_out_text(out, "'\n");
        }
        if (cmd->operand_kind == AS_OPERAND_MODEL || cmd == as_cmd_find("zoo")) {
            as_out_printf(out, "complete -c assay -n '__fish_seen_subcommand_from %s' -a '",
                          cmd->name);
            put_zoo(out, cmd->operand_kind == AS_OPERAND_MODEL ? "zoo:" : "");
            as_out_text(out, "'\n");
        }
    }
}

/* ---- the command ---- */

static const struct {
    const char *name;
    void (*put)(struct as_out *out);
} shell[] = {
    {"bash", put_bash},
    {"zsh", put_zsh},
    {"fish", put_fish},
};

static const char *shell_at(size_t i)
{
    return i < AS_COUNT_OF(shell) ? shell[i].name : NULL;
}

static int run_completion(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_console console;
    int rc = as_console_open(&console, line, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < AS_COUNT_OF(shell); i++) {
        if (strcmp(shell[i].name, line->operand[0]) == 0)
            shell[i].put(&console.out);
    }
    return as_console_close(&console, rc, err);
}

static const struct as_example completion_examples[] = {
    {"source <(assay completion bash)", "complete commands, options and built-in models in bash"},
    {"assay completion fish | source", "the same in fish"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_completion = {
    .name = "completion",
    .summary = "print what a shell needs to complete commands",
    .usage = "assay completion [options] bash|zsh|fish",
    .examples = completion_examples,
    .operand = "SHELL",
    .min_operands = 1,
    .max_operands = 1,
    .operand_at = shell_at,
    .run = run_completion,
};
