/* trace/record/session_env.c - a session that the environment asks for, of a program that only has
 * marks.
 *
 *   ASSAY_RUN=FILE        records into FILE; "%p" in it is the process id, "%%" a percent sign
 *   ASSAY_REPORT=1        prints a short report to standard error when the program ends;
 *   ASSAY_REPORT=FILE     the same into a file
 *   ASSAY_RUN_OWNER=PID   set by the recorder: a process that inherits it is a descendant of one
 *                         that records into FILE and takes another name, FILE with its own pid */
#include "trace/record/session_env.h"

#include <assay/session.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/utf8.h"
#include "trace/record/recorder.h"
#include "trace/run/run_path.h"

#define OWNER      "ASSAY_RUN_OWNER"
#define MOST_NAMES 1000 /* of one process that becomes program after program by exec */

/* What comes from the environment may hold anything; a terminal must not obey it. */
static size_t put_safe(char *out, size_t capacity, const char *text)
{
    size_t size = strlen(text), used = 0;

    while (size > 0) {
        char escaped[12];
        const char *piece;
        size_t n_piece, n = as_utf8_next_safe(text, size, escaped, &piece, &n_piece);

        if (n_piece > capacity - used)
            break;
        memcpy(out + used, piece, n_piece);
        used += n_piece;
        text += n;
        size -= n;
    }
    return used;
}

/* The one sentence, which must not hurt: a program without standard error goes on. */
static void print_line(const char *variable, const char *why, const char *more)
{
    char text[512], safe[1024];
    int n = snprintf(text, sizeof text, "assay: %s: %s%s", variable, why, more);
    size_t size = n < 0 ? 0 : put_safe(safe, sizeof safe - 1, text);

    safe[size++] = '\n';
    (void)!write(STDERR_FILENO, safe, size);
}

static void tell(const char *variable, const char *why)
{
    print_line(variable, why, "; nothing is recorded");
}

void as_session_env_failed(const char *why)
{
    print_line("the end of the session", why, "");
}

/* `pattern` with its %p and %%; false when it does not fit. `*has_pid` tells whether a %p was
 * there. */
static bool expand(char out[PATH_MAX], const char *pattern, bool *has_pid)
{
    size_t used = 0;

    *has_pid = false;
    for (const char *at = pattern; *at; at++) {
        char pid[24] = {*at, '\0'};

        if (*at == '%' && (at[1] == 'p' || at[1] == '%')) {
            if (*++at == 'p') {
                (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
                *has_pid = true;
            }
        }
        if (used + strlen(pid) >= PATH_MAX)
            return false;
        memcpy(out + used, pid, strlen(pid));
        used += strlen(pid);
    }
    out[used] = '\0';
    return used > 0;
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* A name that no run has: a process that became another program by exec has its old pid. */
static bool find_free(char out[PATH_MAX], const char *path, bool has_pid)
{
    char name[PATH_MAX];

    if (has_pid)
        (void)snprintf(name, sizeof name, "%s", path);
    else if (!as_run_path_child(name, sizeof name, path, (long)getpid()))
        return false;
    memcpy(out, name, sizeof name);
    for (long i = 2; exists(out) && i < MOST_NAMES; i++) {
        if (!as_run_path_child(out, PATH_MAX, name, i))
            return false;
    }
    return true;
}

/* A run of its own for a program that is only to be reported; it goes when the report is there. */
static bool make_temporary(char out[PATH_MAX])
{
    static const char name[] = "/run.assay";
    char folder[] = P_tmpdir "/assay-XXXXXX";

    if (!mkdtemp(folder))
        return false;
    memcpy(out, folder, sizeof folder - 1);
    memcpy(out + sizeof folder - 1, name, sizeof name);
    return true;
}

/* The program may go to another folder before it ends. */
static bool make_absolute(char path[PATH_MAX])
{
    char given[PATH_MAX];

    memcpy(given, path, sizeof given);
    return as_run_path_absolute(path, given);
}

static bool find_path(char path[PATH_MAX], const char *pattern, bool owned)
{
    char wanted[PATH_MAX];
    bool has_pid;

    if (!expand(wanted, pattern, &has_pid) || !make_absolute(wanted))
        return false;
    if (owned || as_run_path_is_recorded(wanted))
        return find_free(path, wanted, has_pid);
    memcpy(path, wanted, sizeof wanted);
    return true;
}

static void open_session(const char *variable, const char *path, const char *report, bool temporary)
{
    struct assay_session_options options = {.size = sizeof options};
    char pid[24], report_path[PATH_MAX] = "-";
    struct assay_error err;
    bool has_pid;

    if (report && strcmp(report, "1") != 0 &&
        (!expand(report_path, report, &has_pid) || !make_absolute(report_path))) {
        tell("ASSAY_REPORT", "the path is too long");
        return;
    }
    options.report_path = report ? report_path : NULL;
    options.fork = temporary ? ASSAY_FORK_STOP : ASSAY_FORK_FOLLOW;
    if (as_session_open_for_environment(path, &options, temporary, &err) < 0) {
        tell(variable, err.msg);
        if (temporary)
            as_run_path_remove_alone(path);
        return;
    }
    (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    (void)setenv(OWNER, pid, 1);
}

void as_session_from_environment(void)
{
    const char *run = secure_getenv("ASSAY_RUN"), *report = secure_getenv("ASSAY_REPORT");
    char path[PATH_MAX];
    int kept = errno;
    bool wants_report = report && *report && strcmp(report, "0") != 0;

    if (&as_reads_runs)
        return; /* it would put its own run in the place of the one it is to read */
    if (run && *run) {
        if (find_path(path, run, secure_getenv(OWNER) != NULL))
            open_session("ASSAY_RUN", path, wants_report ? report : NULL, false);
        else
            tell("ASSAY_RUN", "the path is too long");
    } else if (wants_report) {
        if (make_temporary(path))
            open_session("ASSAY_REPORT", path, report, true);
        else
            tell("ASSAY_REPORT", "no run can be made in " P_tmpdir);
    }
    errno = kept;
}
