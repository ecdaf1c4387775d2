/* experiment/bench/workload_command.c - a command as a workload: each sample runs it once, with the
 * values of its setting filled in. */
#include "experiment/bench/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file/file_open.h"
#include "base/file/file_read.h"
#include "base/hash.h"
#include "base/text/redact.h"

static int check_axes(const struct as_grid *grid, const char *const *pattern, size_t n,
                      struct assay_error *err)
{
    for (size_t i = 0; i < grid->n_axes; i++) {
        bool used = false;

        for (size_t w = 0; w < n; w++)
            used = used || as_grid_uses(pattern[w], grid->axes[i].name);
        if (!used)
            return as_fail(err, ASSAY_ERR_USAGE,
                           "{%s} does not occur in the command, so nothing would vary",
                           grid->axes[i].name);
    }
    return ASSAY_OK;
}

int as_load_command_init(struct as_load_command *load, struct as_grid *grid,
                         const char *const *pattern, size_t n, char *const *environment,
                         struct assay_error *err)
{
    int rc = check_axes(grid, pattern, n, err);

    *load = (struct as_load_command){
        .environment = environment, .n_settings = as_grid_count(grid), .out_fd = -1, .err_fd = -1};
    if (rc < 0)
        return rc;
    load->argv = as_arena_zero(&load->arena, load->n_settings, sizeof *load->argv);
    if (!load->argv)
        return as_fail_nomem(err);
    for (size_t s = 0; rc == ASSAY_OK && s < load->n_settings; s++) {
        load->argv[s] = as_arena_zero(&load->arena, n + 1, sizeof **load->argv);
        if (!load->argv[s])
            rc = as_fail_nomem(err);
        for (size_t w = 0; rc == ASSAY_OK && w < n; w++) {
            const char *word = NULL;

            rc = as_grid_fill(grid, s, pattern[w], &word, err);
            if (rc == ASSAY_OK) {
                load->argv[s][w] = as_arena_text(&load->arena, word, strlen(word));
                rc = load->argv[s][w] ? ASSAY_OK : as_fail_nomem(err);
            }
        }
    }
    if (rc < 0)
        as_load_command_fini(load);
    return rc;
}

/* ---- running ---- */

/* What a command writes goes into memory of ours, so that nothing meets a disk while it is timed.
 */
static void close_streams(struct as_load_command *load)
{
    if (load->out_fd >= 0)
        (void)close(load->out_fd);
    if (load->err_fd >= 0)
        (void)close(load->err_fd);
    load->out_fd = load->err_fd = -1;
}

static int open_streams(struct as_load_command *load, struct assay_error *err)
{
    load->out_fd =
        load->keep_output ? memfd_create("output", MFD_CLOEXEC) : as_open("/dev/null", O_WRONLY);
    load->err_fd = memfd_create("errors", MFD_CLOEXEC);
    if (load->out_fd >= 0 && load->err_fd >= 0)
        return ASSAY_OK;
    (void)as_fail_sys(err, ASSAY_ERR_IO, "cannot keep the output of a command");
    close_streams(load);
    return ASSAY_ERR_IO;
}

/* The signals of the caller are the command's own; they are held back here until `pid` is known. */
static int spawn_with(struct as_load_command *load, char **argv,
                      const posix_spawn_file_actions_t *actions, const sigset_t *mask)
{
    posix_spawnattr_t attributes;
    pid_t pid = 0;
    int failed = posix_spawnattr_init(&attributes);

    if (failed)
        return failed;
    failed = posix_spawnattr_setsigmask(&attributes, mask);
    if (!failed) /* a group of its own: a signal for the command reaches all its processes */
        failed =
            posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    if (!failed)
        failed = posix_spawnp(&pid, argv[0], actions, &attributes, argv, load->environment);
    posix_spawnattr_destroy(&attributes);
    if (!failed)
        load->pid = pid;
    return failed;
}

static int spawn(struct as_load_command *load, char **argv)
{
    posix_spawn_file_actions_t actions;
    sigset_t all, mask;
    int failed = posix_spawn_file_actions_init(&actions);

    if (failed)
        return failed;
    failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, load->out_fd, STDOUT_FILENO);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, load->err_fd, STDERR_FILENO);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &mask);
    if (!failed)
        failed = spawn_with(load, argv, &actions, &mask);
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Nobody may signal a number that was given back. */
static int wait_for(struct as_load_command *load, int *status, struct rusage *usage)
{
    siginfo_t info;
    pid_t pid = load->pid, got;

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
    load->pid = 0;
    do
        got = wait4(pid, status, 0, usage);
    while (got < 0 && errno == EINTR);
    return got == pid ? ASSAY_OK : ASSAY_ERR_IO;
}

static int hash_output(int fd, char hex[65], struct assay_error *err)
{
    struct as_sha256_stream stream;
    unsigned char digest[AS_SHA256_BYTES], block[16384];
    ssize_t got;
    int rc;

    as_sha256_begin(&stream);
    for (uint64_t at = 0; (got = as_pread_some(fd, block, sizeof block, at)) > 0;
         at += (uint64_t)got)
        as_sha256_add(&stream, block, (size_t)got);
    rc = as_sha256_end(&stream, digest, err);
    if (got < 0)
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot read the output of a command");
    if (rc == ASSAY_OK)
        as_sha256_hex(digest, hex);
    return rc;
}

/* The last line of what it said, where the reason mostly is; the one before when the last only
 * tells where help is to be had. */
static void last_words(int fd, char out[120])
{
    char text[2048];
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t)sizeof text - 1 ? size - (off_t)sizeof text + 1 : 0;
    ssize_t got = as_pread_some(fd, text, sizeof text - 1, (uint64_t)from);
    const char *line;

    while (got > 0 && (text[got - 1] == '\n' || text[got - 1] == ' '))
        got--;
    text[got > 0 ? got : 0] = '\0';
    line = strrchr(text, '\n');
    if (line && strncmp(line, "\nTry ", 5) == 0) {
        text[line - text] = '\0';
        line = strrchr(text, '\n');
    }
    (void)snprintf(out, 120, "%.119s", line ? line + 1 : text);
}

static int tell_end(const char *name, int status, int errors, struct assay_error *err)
{
    char words[120] = "";

    if (errors >= 0)
        last_words(errors, words);
    if (WIFSIGNALED(status))
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "%.60s was ended by signal %d", name,
                       WTERMSIG(status));
    return as_fail(err, ASSAY_ERR_UNSUPPORTED, "%.60s ended with status %d%s%s", name,
                   WEXITSTATUS(status), words[0] ? ": " : "", words);
}

static uint64_t ns_of(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

static void put_usage(struct as_bench_sample *out, const struct rusage *used,
                      const struct rusage *ours)
{
    out->user_ns = ns_of(&used->ru_utime);
    out->system_ns = ns_of(&used->ru_stime);
    out->kernel_ns = out->user_ns + out->system_ns;
    if (used->ru_maxrss > ours->ru_maxrss)
        out->peak_mem_bytes = (uint64_t)used->ru_maxrss * 1024;
}

int as_load_command_hook(struct as_load_command *load, const char *what, const char *command,
                         struct assay_error *err)
{
    char shell[] = "sh", option[] = "-c";
    char *text = as_arena_text(&load->arena, command, strlen(command));
    char *argv[] = {shell, option, text, NULL};
    struct rusage used = {0};
    int status = 0, failed, rc;

    if (!text)
        return as_fail_nomem(err);
    close_streams(load);
    rc = open_streams(load, err);
    if (rc < 0)
        return rc;
    failed = spawn(load, argv);
    if (failed) {
        errno = failed;
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot run sh for --%s", what);
    }
    if (wait_for(load, &status, &used) < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot wait for --%s", what);
    if (status != 0) {
        char name[80], shown[48];

        if (load->redact)
            as_redact_command(shown, sizeof shown, command);
        else
            (void)snprintf(shown, sizeof shown, "%.40s", command);
        (void)snprintf(name, sizeof name, "--%s '%s'", what, shown);
        return tell_end(name, status, load->redact ? -1 : load->err_fd, err);
    }
    return ASSAY_OK;
}

static int before(void *user, size_t setting, struct assay_error *err)
{
    struct as_load_command *load = user;
    int rc = ASSAY_OK;

    if (load->prepare && load->prepare[setting])
        rc = as_load_command_hook(load, "prepare", load->prepare[setting], err);
    if (rc < 0)
        return rc;
    close_streams(load);
    return open_streams(load, err);
}

static int run(void *user, size_t setting, uint64_t sample_id, struct as_bench_sample *out,
               struct assay_error *err)
{
    struct as_load_command *load = user;
    char **argv = load->argv[setting];
    struct rusage used = {0}, ours = {0};
    int rc = ASSAY_OK, status = 0, failed;
    uint64_t from;

    (void)sample_id;
    (void)getrusage(RUSAGE_SELF, &ours);
    from = as_clock_mono_ns();
    failed = spawn(load, argv);
    if (failed) {
        errno = failed;
        rc = as_fail_sys(err, ASSAY_ERR_NOTFOUND, "cannot run %.60s", argv[0]);
    } else if (wait_for(load, &status, &used) < 0) {
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot wait for %.60s", argv[0]);
    }
    out->wall_ns = as_clock_mono_ns() - from;
    if (rc == ASSAY_OK && (WIFSIGNALED(status) || (status != 0 && !load->any_status)))
        rc = tell_end(argv[0], status, load->redact ? -1 : load->err_fd, err);
    if (rc == ASSAY_OK) {
        out->status = (uint64_t)WEXITSTATUS(status);
        put_usage(out, &used, &ours);
    }
    return rc;
}

static int after(void *user, size_t setting, uint64_t sample_id, struct as_bench_sample *out,
                 struct assay_error *err)
{
    struct as_load_command *load = user;

    (void)setting;
    (void)sample_id;
    return load->keep_output ? hash_output(load->out_fd, out->output_hash, err) : ASSAY_OK;
}

void as_load_command_fini(struct as_load_command *load)
{
    if (load->argv)
        close_streams(load);
    as_arena_fini(&load->arena);
    *load = (struct as_load_command){.out_fd = -1, .err_fd = -1};
}

struct as_bench_load as_load_command_table(struct as_load_command *load)
{
    return (struct as_bench_load){.user = load, .before = before, .run = run, .after = after};
}
