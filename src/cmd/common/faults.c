/* cmd/common/faults.c - makes allocations fail on request, in builds made with ASSAY_FAULTS. */
#include "cmd/common/faults.h"

#ifdef ASSAY_FAULTS
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text/text.h"

enum { EXIT_STATUS_FAILED = 3 };

/* One line for a run that has ended: its number, its status, what it printed. */
static void print_run(uint64_t nth, bool persistent, int status, FILE *messages)
{
    char text[400] = "";
    size_t n;

    rewind(messages);
    n = fread(text, 1, sizeof text - 1, messages);
    text[n] = '\0';
    for (char *at = text; (at = strchr(at, '\n')) != NULL;)
        *at = at[1] ? '|' : '\0';
    printf("%llu%s %d %s\n", (unsigned long long)nth, persistent ? "+" : "",
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text);
}

/* True in the child, which goes on with that allocation failing. */
static bool run_apart(uint64_t nth, bool persistent)
{
    FILE *messages = tmpfile();
    int status = 0;
    pid_t pid;

    fflush(stdout);
    pid = messages ? fork() : -1;
    if (pid == 0) {
        if (dup2(fileno(messages), STDERR_FILENO) < 0 || !freopen("/dev/null", "w", stdout))
            _exit(EXIT_STATUS_FAILED);
        fclose(messages);
        as_alloc_fail_at(nth, persistent);
        return true;
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        exit(EXIT_STATUS_FAILED);
    print_run(nth, persistent, status, messages);
    fclose(messages);
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
    exit(0);
}

/* ASSAY_ALLOC_FAIL=N makes the n-th allocation fail, N+ every one from there, ..N one after another
 * in runs of their own, both ways. */
void as_faults_arm(void)
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

void as_faults_report(void)
{
    uint64_t count = as_alloc_count();

    as_alloc_fail_at(0, 0);
    if (getenv("ASSAY_ALLOC_COUNT"))
        fprintf(stderr, "allocations: %llu\n", (unsigned long long)count);
}
#else
void as_faults_arm(void)
{
}

void as_faults_report(void)
{
}
#endif
