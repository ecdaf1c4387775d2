/* cmd/bench/bench_commands.c - `assay bench 'cmd a' 'cmd b'`: commands side by side, each run by a
 * shell whose own start is measured among them, and the commands around them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text/redact.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "cmd/bench/bench_work.h"

#define SHELL_ALONE "sh -c :"

/* ---- hooks ---- */

/* The value of --setup, --prepare or --cleanup for a command: one for all, or one for each. NULL:
 * none. */
static const char *hook_of(const struct as_bench_work *w, const char *option, size_t command)
{
    if (!as_opt_list_at(w->line, option, 1))
        command = 0;
    return as_opt_list_at(w->line, option, command);
}

static int check_hooks(const struct as_bench_work *w, size_t n, struct assay_error *err)
{
    static const char *const options[] = {"setup", "prepare", "cleanup"};

    for (size_t i = 0; i < AS_COUNT_OF(options); i++) {
        size_t given = 0;

        while (as_opt_list_at(w->line, options[i], given))
            given++;
        if (given > 1 && given != n)
            return as_fail(err, ASSAY_ERR_USAGE,
                           "--%s is given once for all commands or once for each of %zu, not %zu "
                           "times",
                           options[i], n, given);
    }
    return ASSAY_OK;
}

static int set_prepare(struct as_bench_work *w, size_t n, struct assay_error *err)
{
    struct as_load_command *load = &w->command;

    if (!as_opt_list_at(w->line, "prepare", 0))
        return ASSAY_OK;
    load->prepare = as_arena_zero(&load->arena, load->n_settings, sizeof *load->prepare);
    if (!load->prepare)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        load->prepare[i] = hook_of(w, "prepare", i);
    return ASSAY_OK;
}

/* The shell alone, when it is among the settings, has none of them. */
static size_t n_commands(const struct as_bench_work *w)
{
    return w->bench.n_settings - w->has_shell;
}

int as_bench_hooks(struct as_bench_work *w, const char *option, struct assay_error *err)
{
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && w->command.argv && i < n_commands(w); i++) {
        const char *hook = hook_of(w, option, i);

        if (hook && (i == 0 || as_opt_list_at(w->line, option, 1) ||
                     strcmp(w->kind->name, "commands") == 0))
            rc = as_load_command_hook(&w->command, option, hook, err);
    }
    return rc;
}

int as_bench_plan_hooks(struct as_bench_work *w, struct assay_error *err)
{
    size_t n = n_commands(w);
    int rc = check_hooks(w, n, err);

    return rc == ASSAY_OK ? set_prepare(w, n, err) : rc;
}

/* ---- words without a shell ---- */

/* Copies the next word of `*at`, with quotes and backslashes taken away; false: there is none, or
 * (`*bad`) a quote is not closed. `out` holds all of the text. */
static bool next_word(const char **at, char *out, bool *bad)
{
    const char *c = *at + strspn(*at, " \t\n");
    char quote = 0;

    if (!*c)
        return false;
    for (; *c && (quote || !strchr(" \t\n", *c)); c++) {
        if (quote ? *c == quote : *c == '\'' || *c == '"')
            quote = (char)(quote ? 0 : *c);
        else if (*c == '\\' && quote != '\'' && c[1])
            *out++ = *++c;
        else
            *out++ = *c;
    }
    *out = '\0';
    *bad = quote != 0;
    *at = c;
    return !*bad;
}

static int split(struct as_load_command *load, const char *command, char ***argv,
                 struct assay_error *err)
{
    size_t size = strlen(command), n = 0;
    char **words = as_arena_zero(&load->arena, size / 2 + 2, sizeof *words);
    const char *at = command;
    char shown[64];
    bool bad = false;

    *argv = words;
    for (;;) {
        char *word = words ? as_arena_zero(&load->arena, size + 1, 1) : NULL;

        if (!word)
            return as_fail_nomem(err);
        if (!next_word(&at, word, &bad))
            break;
        words[n++] = word;
    }
    as_redact_command(shown, sizeof shown, command);
    if (bad)
        return as_fail(err, ASSAY_ERR_USAGE, "a quote is not closed in '%.60s'",
                       load->redact ? shown : command);
    return n ? ASSAY_OK : as_fail(err, ASSAY_ERR_USAGE, "a command is empty");
}

static int by_shell(struct as_load_command *load, const char *command, char ***argv,
                    struct assay_error *err)
{
    char **words = as_arena_zero(&load->arena, 4, sizeof *words);

    *argv = words;
    if (!words)
        return as_fail_nomem(err);
    words[0] = as_arena_text(&load->arena, "sh", 2);
    words[1] = as_arena_text(&load->arena, "-c", 2);
    words[2] = as_arena_text(&load->arena, command, strlen(command));
    return words[0] && words[1] && words[2] ? ASSAY_OK : as_fail_nomem(err);
}

/* ---- the plan ---- */

/* With --redact, arguments get into nothing that is kept: numbers tell the settings apart. */
static void redact_name(struct as_bench_setting *s, size_t i, const char *command)
{
    char name[150];

    as_redact_command(name, sizeof name, command);
    (void)snprintf(s->name, sizeof s->name, "%zu. %s", i + 1, name);
}

static int name_setting(struct as_bench_setting *s, const char *command, struct assay_error *err)
{
    if (command[strspn(command, " \t\n")] == '\0')
        return as_fail(err, ASSAY_ERR_USAGE, "a command is empty");
    if (!as_utf8_valid(command, strlen(command)))
        return as_fail(err, ASSAY_ERR_USAGE, "a command must be UTF-8");
    if (strlen(command) >= sizeof s->name)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "the command '%.40s...' is longer than %zu bytes: put it into a script",
                       command, sizeof s->name - 1);
    (void)snprintf(s->name, sizeof s->name, "%s", command);
    return ASSAY_OK;
}

/* --name, one for each command. */
static int take_names(struct as_bench_work *w, size_t n, struct assay_error *err)
{
    size_t given = 0;

    while (as_opt_list_at(w->line, "name", given))
        given++;
    if (given > 0 && given != n)
        return as_fail(err, ASSAY_ERR_USAGE, "--name is given %zu times for %zu commands", given,
                       n);
    for (size_t i = 0; i < given; i++) {
        int rc = name_setting(&w->bench.settings[i], as_opt_list_at(w->line, "name", i), err);

        for (size_t k = 0; rc == ASSAY_OK && k < i; k++)
            if (strcmp(w->bench.settings[k].name, w->bench.settings[i].name) == 0)
                rc = as_fail(err, ASSAY_ERR_USAGE, "two commands have the --name '%.60s'",
                             w->bench.settings[i].name);
        if (rc < 0)
            return rc;
    }
    w->is_named = given > 0;
    return ASSAY_OK;
}

static int find_baseline(struct as_bench_work *w, struct assay_error *err)
{
    const char *wanted = as_opt_text(w->line, "baseline");
    char shown[64];

    w->bench.baseline = 0;
    if (!wanted)
        return ASSAY_OK;
    for (size_t i = 0; i < n_commands(w); i++)
        if (strcmp(w->line->operand[i], wanted) == 0 ||
            (w->is_named && strcmp(w->bench.settings[i].name, wanted) == 0)) {
            w->bench.baseline = i;
            return ASSAY_OK;
        }
    as_redact_command(shown, sizeof shown, wanted);
    return as_fail(err, ASSAY_ERR_USAGE, "--baseline '%.60s' is none of the commands",
                   as_opt_given(w->line, "redact") ? shown : wanted);
}

static int plan_settings(struct as_bench_work *w, size_t n, struct assay_error *err)
{
    struct as_load_command *load = &w->command;
    int rc = as_bench_init(&w->bench, w->kind->name, n + w->has_shell, err);

    *load = (struct as_load_command){.environment = environ,
                                     .n_settings = n + w->has_shell,
                                     .redact = as_opt_given(w->line, "redact"),
                                     .out_fd = -1,
                                     .err_fd = -1};
    load->argv = as_arena_zero(&load->arena, load->n_settings, sizeof *load->argv);
    if (rc == ASSAY_OK && !load->argv)
        rc = as_fail_nomem(err);
    for (size_t i = 0; rc == ASSAY_OK && i < load->n_settings; i++) {
        const char *command = i < n ? w->line->operand[i] : ":";

        rc = name_setting(&w->bench.settings[i], i < n ? command : SHELL_ALONE, err);
        if (rc == ASSAY_OK && i < n && as_opt_given(w->line, "redact"))
            redact_name(&w->bench.settings[i], i, command);
        if (rc == ASSAY_OK)
            rc = w->has_shell ? by_shell(load, command, &load->argv[i], err)
                              : split(load, command, &load->argv[i], err);
    }
    return rc;
}

int as_bench_plan_commands(struct as_bench_work *w, struct assay_error *err)
{
    size_t n = (size_t)w->line->n_operands;
    int rc;

    if (as_opt_list_at(w->line, "grid", 0))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--grid fills in {name} of one command: put that command after --");
    if (n >= AS_GRID_SETTINGS)
        return as_fail(err, ASSAY_ERR_USAGE, "at most %d commands are compared",
                       AS_GRID_SETTINGS - 1);
    w->has_shell = !as_opt_given(w->line, "no-shell");
    rc = plan_settings(w, n, err);
    if (rc == ASSAY_OK)
        rc = take_names(w, n, err);
    w->command.any_status = as_opt_given(w->line, "ignore-failure");
    w->command.keep_output = as_opt_given(w->line, "outputs");
    w->bench.n_samples = as_opt_number(w->line, "iterations", w->kind->samples);
    if (rc == ASSAY_OK)
        rc = find_baseline(w, err);
    if (rc == ASSAY_OK)
        rc = as_bench_plan_hooks(w, err);
    (void)snprintf(w->title, sizeof w->title, "%zu command%s", n, n == 1 ? "" : "s");
    return rc;
}

void as_bench_put_command(const struct as_bench_work *w, struct as_json_writer *out,
                          const char *command)
{
    char text[200];

    as_redact_command(text, sizeof text, command);
    as_json_text(out, as_opt_given(w->line, "redact") ? text : command);
}

static void write_list(const struct as_bench_work *w, const char *option,
                       struct as_json_writer *out)
{
    const char *value;

    as_json_kv_array(out, option);
    for (size_t i = 0; (value = as_opt_list_at(w->line, option, i)) != NULL; i++)
        as_bench_put_command(w, out, value);
    as_json_array_end(out);
}

void as_bench_write_commands(const struct as_bench_work *w, struct as_json_writer *out)
{
    as_json_kv_array(out, "commands");
    for (int i = 0; i < w->line->n_operands; i++)
        as_bench_put_command(w, out, w->line->operand[i]);
    as_json_array_end(out);
    as_json_kv_bool(out, "shell", w->has_shell);
    as_json_kv_bool(out, "ignore_failure", w->command.any_status);
    as_json_kv_bool(out, "outputs", w->command.keep_output);
    as_json_kv_text(out, "baseline", w->bench.settings[w->bench.baseline].name);
    write_list(w, "setup", out);
    write_list(w, "prepare", out);
    write_list(w, "cleanup", out);
}
