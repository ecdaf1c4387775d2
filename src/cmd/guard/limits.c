/* cmd/guard/limits.c - time by a timer, memory by a limit of the process. */
#include "cmd/guard/limits.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "cmd/common/interrupt.h"
#include "cmd/common/model_options.h"
#include "cmd/guard/guards.h"
#include "probe/process/process_memory.h"
#include "probe/system/topology.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define AS_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define AS_SANITIZED
#endif
#endif

enum { FAILED = 3, LEAST_BYTES = 256 * 1024 * 1024 };

/* ---- time ---- */

/* What a signal handler prints; filled before the timer starts. */
static char over[96];

static void end_over(int number)
{
    (void)number;
    as_interrupt_pass_on(SIGKILL); /* the command that is measured */
    as_guards_clean();
    if (isatty(STDERR_FILENO))
        (void)!write(STDERR_FILENO, "\r\033[K", 4);
    (void)!write(STDERR_FILENO, over, strlen(over));
    _exit(FAILED);
}

/* Whoever starts us may have blocked the signal or ignored it, or left one that waits. */
static void limit_time(uint64_t seconds)
{
    sigset_t alarm_only;
    struct sigaction action = {.sa_handler = end_over};
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds}};

    if (seconds == 0)
        return;
    (void)snprintf(over, sizeof over,
                   "assay: stopped after %llu s: --timeout SECONDS allows more\n",
                   (unsigned long long)seconds);
    (void)sigemptyset(&action.sa_mask);
    (void)signal(SIGALRM, SIG_IGN); /* one that waits is gone */
    (void)sigaction(SIGALRM, &action, NULL);
    (void)sigemptyset(&alarm_only);
    (void)sigaddset(&alarm_only, SIGALRM);
    (void)sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- memory ---- */

/* Files that are mapped to be read do not count. */
static void limit_memory(uint64_t bytes)
{
#ifdef AS_SANITIZED /* whose shadow would count */
    (void)bytes;
#else
    struct rlimit limit;

    if (bytes == 0 || getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= bytes)
        return;
    limit.rlim_cur = bytes;
    (void)setrlimit(RLIMIT_DATA, &limit);
#endif
}

static uint64_t usual_memory(void)
{
    struct as_memory_headroom room;
    struct as_container container;
    uint64_t bytes = 0;

    as_container_read(&container, "");
    as_memory_headroom_read(&room, "", &container);
    if (room.left.why)
        return 0;
    bytes = room.left.value / 10 * 9;
    return bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
}

static int read_memory(const struct as_cmd_line *line, uint64_t *out, struct assay_error *err)
{
    const char *memory = as_opt_text(line, "max-memory");
    uint64_t bytes = 0;

    if (memory && strcmp(memory, "0") != 0 && !as_parse_bytes(memory, &bytes))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--max-memory is an amount of memory as in 2GiB, not '%.40s'", memory);
    *out = memory ? bytes : usual_memory();
    return ASSAY_OK;
}

int as_limits_set_memory(const struct as_cmd_line *line, struct assay_error *err)
{
    uint64_t bytes = 0;
    int rc = read_memory(line, &bytes, err);

    if (rc == ASSAY_OK)
        limit_memory(bytes);
    return rc;
}

int as_limits_set(const struct as_cmd_line *line, struct assay_error *err)
{
    uint64_t bytes = 0;
    int rc;

    if (!as_opt_known(line, "timeout"))
        return ASSAY_OK;
    rc = read_memory(line, &bytes, err);
    if (rc < 0)
        return rc;
    if (!line->cmd->starts_commands)
        limit_memory(bytes);
    limit_time(as_opt_number(line, "timeout", line->cmd->timeout_seconds));
    return ASSAY_OK;
}
