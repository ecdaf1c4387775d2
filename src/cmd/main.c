/* cmd/main.c - finds the command, runs it, and turns what it returns into an exit status.
 * Exit status: 0 success, 1 criteria not met, 2 usage error, 3 failure, 130 or 143 interrupted; of
 * `run` that of its command. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file/file_guard.h"
#include "base/text/text.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "cmd/common/faults.h"
#include "cmd/common/operand_hint.h"
#include "cmd/common/options.h"
#include "cmd/guard/guards.h"
#include "cmd/guard/limits.h"
#include "cmd/guard/outputs.h"
#include "cmd/guard/sandbox.h"
#include "cmd/help/help_text.h"
#include "trace/record/session_env.h"

enum { EXIT_DONE = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_FAILED = 3 };

/* Options that stand for a command when no other is named. */
static const struct {
    const char *option, *command;
} alias[] = {
    {"--version", "version"},
    {"-V", "version"},
    {"--help", "help"},
    {"-h", "help"},
};

static int fail_command(const char *name, struct assay_error *err)
{
    const char *names[32], *near;
    size_t n = 0;

    while (n < AS_COUNT_OF(names) && (names[n] = as_cmd_name_at(n)) != NULL)
        n++;
    near = as_text_nearest(name, names, n);
    if (near)
        return as_fail(err, ASSAY_ERR_USAGE, "no command '%.60s'; did you mean 'assay %s'?", name,
                       near);
    return as_fail(err, ASSAY_ERR_USAGE, "no command '%.60s'; 'assay help' lists them", name);
}

/* The command meant, its name taken out of `argv`; NULL with `err` filled. */
static const struct as_cmd *choose(int *argc, char **argv, struct assay_error *err)
{
    int place = as_options_find_command(*argc, argv);
    const char *name = place ? argv[place] : NULL;
    const struct as_cmd *cmd;

    for (size_t i = 0; *argc > 1 && i < AS_COUNT_OF(alias); i++) {
        if (strcmp(argv[1], alias[i].option) == 0) {
            place = 1;
            name = alias[i].command;
        }
    }
    if (!name) {
        as_fail(err, ASSAY_ERR_USAGE, "no command before '%.60s'; 'assay help' lists them",
                argv[1]);
        return NULL;
    }
    cmd = as_cmd_find(name);
    if (!cmd)
        fail_command(name, err);
    for (int i = place; i + 1 < *argc; i++)
        argv[i] = argv[i + 1];
    *argc -= 1;
    return cmd;
}

static int run(int argc, char **argv, struct assay_error *err)
{
    const struct as_cmd *cmd;
    struct as_cmd_line line;
    int rc;

    if (argc < 2)
        return as_start_print(err);
    cmd = choose(&argc, argv, err);
    if (!cmd)
        return ASSAY_ERR_USAGE;
    rc = as_options_parse(&line, cmd, argc - 1, argv + 1, err);
    if (rc < 0)
        return rc;
    if (as_opt_given(&line, "help"))
        return as_help_print(&line, cmd, err);
    rc = as_outputs_check(&line, err);
    if (rc < 0)
        return rc;
    if (as_opt_given(&line, "force"))
        as_guard_allow_replacing();
    for (int i = 0; cmd->operand_kind != AS_OPERAND_OTHER && i < line.n_operands; i++)
        as_guard_input_path(line.operand[i]);
    rc = as_limits_set(&line, err);
    if (rc < 0)
        return rc;
    as_sandbox_enter(&line);
    rc = cmd->run(&line, err);
    if (rc < 0)
        as_operand_hint(&line, err);
    return rc;
}

/* A reader that went away, as `head` does, is no failure to talk of: end as other tools do. */
static void end_by_pipe(void)
{
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

static int exit_status(int rc, const struct assay_error *err)
{
    if (rc >= AS_ANSWER_STATUS)
        return rc - AS_ANSWER_STATUS;
    if (rc >= 0)
        return rc == AS_ANSWER_NO ? EXIT_NO : EXIT_DONE;
    if (err->sys == EPIPE)
        end_by_pipe();
    as_console_fail(err->msg);
    return rc == ASSAY_ERR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

const char as_reads_runs = 1;

int main(int argc, char **argv)
{
    struct assay_error err = {0};
    int rc, status;

    as_guards_set();
    as_faults_arm();
    rc = run(argc, argv, &err);
    as_guards_clean();
    status = exit_status(rc, &err);
    as_faults_report();
    return status;
}
