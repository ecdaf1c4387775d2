/* cmd/main.c - finds the command, runs it, and turns what it returns into an exit status.
 * Exit status: 0 done, 1 the answer is no, 2 wrong use, 3 failed; of `run` that of its command. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef ASSAY_FAULTS
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "base/alloc.h"
#include "base/text/text.h"
#include "base/units.h"
#include "cmd/cmd_table.h"
#include "cmd/common/console.h"
#include "cmd/common/options.h"
#include "cmd/help/cmd_help.h"

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
        as_fail(err, ASSAY_ERR_USAGE, "name a command; 'assay help' lists them");
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
    const struct as_cmd *cmd = choose(&argc, argv, err);
    struct as_cmd_line line;
    int rc;

    if (!cmd)
        return ASSAY_ERR_USAGE;
    rc = as_options_parse(&line, cmd, argc - 1, argv + 1, err);
    if (rc < 0)
        return rc;
    return as_opt_given(&line, "help") ? as_help_print(&line, cmd, err) : cmd->run(&line, err);
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

#ifdef ASSAY_FAULTS
/* One line for a run that has ended: its number, its status, what it said. */
static void tell_run(uint64_t nth, bool persistent, int status, FILE *said)
{
    char text[400] = "";
    size_t n;

    rewind(said);
    n = fread(text, 1, sizeof text - 1, said);
    text[n] = '\0';
    for (char *at = text; (at = strchr(at, '\n')) != NULL;)
        *at = at[1] ? '|' : '\0';
    printf("%llu%s %d %s\n", (unsigned long long)nth, persistent ? "+" : "",
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text);
}

/* True in the child, which goes on with that allocation failing. */
static bool run_apart(uint64_t nth, bool persistent)
{
    FILE *said = tmpfile();
    int status = 0;
    pid_t pid;

    fflush(stdout);
    pid = said ? fork() : -1;
    if (pid == 0) {
        if (dup2(fileno(said), STDERR_FILENO) < 0 || !freopen("/dev/null", "w", stdout))
            _exit(EXIT_FAILED);
        fclose(said);
        as_alloc_fail_at(nth, persistent);
        return true;
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        exit(EXIT_FAILED);
    tell_run(nth, persistent, status, said);
    fclose(said);
    return false;
}

/* A process for each of the runs, which start here, behind what all of them have in common: an
 * address sanitizer takes longer to start than most commands to run. That all later allocations
 * fail too is tried for every other one. Returns in the children. */
static void run_each(uint64_t last)
{
    for (uint64_t nth = 1; nth <= last; nth++)
        if (run_apart(nth, false) || (nth % 2 && run_apart(nth, true)))
            return;
    exit(EXIT_DONE);
}

/* ASSAY_ALLOC_FAIL=N makes the n-th allocation fail, N+ every one from there, ..N one after another
 * in runs of their own, both ways. */
static void arm_faults(void)
{
    const char *text = getenv("ASSAY_ALLOC_FAIL");
    size_t size = text ? strlen(text) : 0;
    bool persistent = size > 0 && text[size - 1] == '+';
    bool each = size > 2 && strncmp(text, "..", 2) == 0;
    uint64_t nth;

    if (each && as_parse_u64(text + 2, size - 2, &nth))
        run_each(nth);
    else if (text && as_parse_u64(text, size - persistent, &nth))
        as_alloc_fail_at(nth, persistent);
}

static void tell_faults(void)
{
    uint64_t count = as_alloc_count();

    as_alloc_fail_at(0, 0);
    if (getenv("ASSAY_ALLOC_COUNT"))
        fprintf(stderr, "allocations: %llu\n", (unsigned long long)count);
}
#else
static void arm_faults(void)
{
}

static void tell_faults(void)
{
}
#endif

int main(int argc, char **argv)
{
    struct assay_error err = {0};
    int rc, status;

    arm_faults();
    rc = run(argc, argv, &err);
    status = exit_status(rc, &err);
    tell_faults();
    return status;
}
