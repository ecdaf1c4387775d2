/* cmd/cmd_run.c - all of `assay run`: runs a program as it is, watches it from outside and keeps
 * what was seen. Standard output is the program's: we speak at standard error, after its end. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <assay/session.h>

#include "analyze/watch/target.h"
#include "analyze/watch/target_findings.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/text/redact.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/cached_peaks.h"
#include "cmd/common/console.h"
#include "cmd/common/options.h"
#include "cmd/common/show_options.h"
#include "cmd/run/launch.h"
#include "cmd/run/run_inject.h"
#include "cmd/run/run_name.h"
#include "trace/run/run_meta.h"
#include "watch/watch_run.h"

static const struct as_opt run_opts[] = {
    {.name = "interval",
     .group = "Measurement",
     .kind = AS_OPT_NUMBER,
     .argument = "MS",
     .help = "read the processes every MS milliseconds [default: 10]",
     .min = 1,
     .max = 60000},
    {.name = "follow",
     .group = "Measurement",
     .letter = 'f',
     .kind = AS_OPT_FLAG,
     .help = "also watch the heap of child processes"},
    {.name = "no-heap",
     .group = "Measurement",
     .kind = AS_OPT_FLAG,
     .help = "do not watch the heap"},
    {.name = "no-stacks",
     .group = "Measurement",
     .kind = AS_OPT_FLAG,
     .help = "do not sample stacks of allocations"},
    {.name = "no-gemm",
     .group = "Measurement",
     .kind = AS_OPT_FLAG,
     .help = "do not watch GEMM calls"},
    {.name = "no-args",
     .group = "Measurement",
     .kind = AS_OPT_FLAG,
     .help = "record no arguments of the command and its children, only the names of programs"},
    {.name = "report",
     .group = "Output",
     .kind = AS_OPT_FLAG,
     .help = "show the summary even when standard error is not a terminal"},
    {.name = "no-report",
     .group = "Output",
     .kind = AS_OPT_FLAG,
     .help = "show no summary at the end"},
    {.name = "report-file",
     .group = "Output",
     .kind = AS_OPT_FILE,
     .argument = "FILE",
     .help = "write the summary to FILE instead of standard error; - is standard output"},
    AS_OPTS_FORMAT(as_format_at),
    AS_OPTS_EXPORT,
    AS_OPT_REDACT,
    AS_OPT_TOP,
    {.name = "fail-on-leak",
     .kind = AS_OPT_FLAG,
     .help =
         "exit 1 when the command exits with 0 but its memory, open descriptors or threads grew "
         "and were kept"},
    {.name = NULL},
};

/* Everything one run of the command holds. */
struct work {
    const struct as_cmd_line *line;
    char output[PATH_MAX];
    const char **argv; /* NULL behind the last */
    struct as_launch target;
    struct as_inject inject;
    char folder[PATH_MAX];
    struct as_watch_options options;
    struct as_watch_end end;
    struct as_topology topology;
    struct as_peaks_cached peaks;
};

static bool wants_report(const struct as_cmd_line *line)
{
    if (as_opt_given(line, "no-report"))
        return false;
    return as_opt_given(line, "report") || as_opt_given(line, "report-file") ||
           as_opt_given(line, "format") || (isatty(STDERR_FILENO) && !as_opt_given(line, "quiet"));
}

static int check_options(const struct as_cmd_line *line, struct assay_error *err)
{
    static const char *const shown[] = {"report", "report-file", "format"};

    for (size_t i = 0; i < AS_COUNT_OF(shown); i++)
        if (as_opt_given(line, "no-report") && as_opt_given(line, shown[i]))
            return as_fail(err, ASSAY_ERR_USAGE, "choose one of --no-report and --%s", shown[i]);
    if (as_opt_given(line, "fail-on-leak") && as_opt_given(line, "no-heap"))
        return as_fail(err, ASSAY_ERR_USAGE, "--fail-on-leak has no use beside --no-heap");
    return as_forms_check(line, err);
}

/* ---- before ---- */

static int copy_command(struct work *w, struct assay_error *err)
{
    size_t n = (size_t)w->line->n_operands;

    w->argv = as_alloc_zero(n + 1, sizeof *w->argv);
    if (!w->argv)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        w->argv[i] = w->line->operand[i];
    return ASSAY_OK;
}

/* What the library is told to watch; "" when nothing. */
static void name_watches(const struct as_cmd_line *line, char *out, size_t capacity)
{
    bool heap = !as_opt_given(line, "no-heap"), gemm = !as_opt_given(line, "no-gemm");
    const char *stacks = heap && !as_opt_given(line, "no-stacks") ? "stacks," : "";

    (void)snprintf(out, capacity, "%s%s%s%s", heap ? "heap," : "", stacks, gemm ? "gemm," : "",
                   (heap || gemm) && as_opt_given(line, "follow") ? "follow," : "");
    if (out[0])
        out[strlen(out) - 1] = '\0';
}

/* Everything that can fail without the command having run. */
static int prepare(struct work *w, struct assay_error *err)
{
    struct assay_session_options session = {.size = sizeof(struct assay_session_options)};
    bool heap = !as_opt_given(w->line, "no-heap");
    char words[64];
    int rc;

    name_watches(w->line, words, sizeof words);
    rc = as_inject_init(&w->inject, w->target.path, words, err);
    if (rc < 0)
        return rc;
    w->options = (struct as_watch_options){
        .argv = w->argv,
        .n_args = (size_t)w->line->n_operands,
        .without_args = as_opt_given(w->line, "no-args"),
        .folder = getcwd(w->folder, sizeof w->folder),
        .share_folder = w->inject.folder[0] ? w->inject.folder : NULL,
        .heap = heap,
        .gemm = !as_opt_given(w->line, "no-gemm"),
        .heap_why = heap ? w->inject.why : "it was not asked for (--no-heap)",
        .interval_ns = as_opt_number(w->line, "interval", 10) * 1000000u,
    };
    session.fork = ASSAY_FORK_STOP;
    if (w->options.without_args)
        as_run_meta_without_args();
    rc = assay_session_open(w->output, &session, err);
    if (rc < 0 && !as_opt_given(w->line, "output"))
        as_console_note(w->line, "note: -o RUN.assay writes the run to another file");
    return rc;
}

/* ---- after ---- */

static void tell_end(const struct work *w)
{
    const struct as_watch_end *end = &w->end;
    const char *name = end->signal ? sigabbrev_np(end->signal) : NULL;
    const char *text = end->signal ? sigdescr_np(end->signal) : NULL;
    char number[16];

    (void)snprintf(number, sizeof number, "%d", end->signal);
    if (end->signal)
        as_console_note(w->line, "assay: %.80s was ended by signal %s%s (%s)%s", w->argv[0],
                        name ? "SIG" : "", name ? name : number, text ? text : "unknown",
                        end->dumped ? " and left a core dump" : "");
}

static void tell_left(const struct work *w)
{
    const struct as_watch_end *end = &w->end;
    char text[400] = "";
    size_t used = 0;

    if (end->n_left == 0)
        return;
    for (size_t i = 0; i < end->n_left && i < AS_WATCH_MAX_LEFT && used < sizeof text; i++) {
        char name[sizeof end->left_name[i] + sizeof AS_REDACTED + 1];

        if (as_opt_given(w->line, "redact"))
            as_redact_command(name, sizeof name, end->left_name[i]);
        else
            (void)snprintf(name, sizeof name, "%s", end->left_name[i]);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld (%s)", i ? ", " : "",
                                 (long long)end->left_pid[i], name);
    }
    as_console_note(w->line,
                    "assay: %zu process%s of the command still run%s and %s watched no "
                    "longer: %s%s",
                    end->n_left, end->n_left == 1 ? "" : "es", end->n_left == 1 ? "s" : "",
                    end->n_left == 1 ? "is" : "are", text,
                    end->n_left > AS_WATCH_MAX_LEFT ? ", ..." : "");
}

/* Also with --quiet: the exit status is the command's and cannot say it. */
static void tell_failed(const char *what, const struct assay_error *err)
{
    char text[600];

    (void)snprintf(text, sizeof text, "%s: %.500s", what, err->msg);
    as_console_fail(text);
}

static int print(const struct work *w, const struct as_forms *forms, struct assay_error *err)
{
    const char *path = as_opt_text(w->line, "report-file");
    bool to_stdout = path && strcmp(path, "-") == 0;
    int fd = to_stdout ? STDOUT_FILENO : path ? -1 : STDERR_FILENO;
    struct as_term term = as_console_term_of(w->line, fd);
    struct as_out out;
    int rc = fd < 0 ? as_out_file(&out, path, err)
                    : as_out_fd(&out, fd, to_stdout ? "standard output" : "standard error", err);

    if (rc < 0)
        return rc;
    rc = as_forms_put(forms, w->line, &out, &term, err);
    if (rc < 0) {
        as_out_drop(&out);
        return rc;
    }
    return as_out_close(&out, err);
}

/* The summary, and the exports, which are written whether or not there is one. */
static int show(const struct work *w, struct as_run *run, struct assay_error *err)
{
    struct as_cmd_line quiet = *w->line;
    struct as_show how;
    const struct as_shown_run shown = {.run = run, .show = &how};
    const struct as_forms forms = as_show_forms(&shown);
    int rc = as_show_read(&how, w->line, err);

    if (rc < 0)
        return rc;
    how.fail_on_leak = false; /* judged below, with a sentence */
    for (size_t i = 0; as_format_of(w->line) != AS_FORMAT_TEXT && as_cmd_opt_at(quiet.cmd, i); i++)
        if (strcmp(as_cmd_opt_at(quiet.cmd, i)->name, "quiet") == 0)
            quiet.value[i] = ""; /* a document at standard error stands alone */
    if (wants_report(w->line))
        rc = print(w, &forms, err);
    return rc < 0 ? rc : as_forms_export(&forms, &quiet, err);
}

/* True when --fail-on-leak has something to say against the command. */
static bool judge_leaks(const struct work *w, const struct as_target *program)
{
    struct as_target_findings *findings = NULL;
    struct assay_error err = {0};
    bool found = false;

    if (!as_opt_given(w->line, "fail-on-leak"))
        return false;
    if (as_target_findings_new(&findings, program, &err) < 0) {
        as_console_note(w->line, "assay: leaks are unknown: %s", err.msg);
    } else if (!program->heap_known && findings->verdict != AS_GROWTH_FOUND) {
        as_console_note(w->line, "assay: leaks are unknown: %s",
                        program->heap_why ? program->heap_why : "the heap was not watched");
    } else if (findings->verdict != AS_GROWTH_NONE) {
        found = findings->verdict == AS_GROWTH_FOUND;
        as_console_note(w->line, "assay: %s%s%s%s",
                        findings->verdict == AS_GROWTH_UNKNOWN ? "leaks are unknown: " : "",
                        findings->headline, found ? ": " : "", found ? findings->verdict_text : "");
    }
    as_target_findings_free(findings);
    return found;
}

/* Completes the run, and reads it back: what is shown is what is kept. Peaks of the machine are
 * those measured before, if any. */
static int complete(struct work *w, struct as_run **run, struct assay_error *err)
{
    struct as_run_maker maker;
    struct as_arena arena = {0};
    const char **words;
    size_t n;
    int rc = as_run_maker_append(&maker, w->output, "watch", err);

    if (rc < 0) /* a full disk must not cost the summary */
        return as_run_open(run, w->output, err);
    if (as_opt_given(w->line, "no-args"))
        as_run_maker_command(&maker, (const char *const[]){"assay", "run", w->argv[0]}, 3);
    else if (as_own_argv(&arena, as_opt_text(w->line, "output"), &words, &n, err) == ASSAY_OK)
        as_run_maker_command(&maker, words, n);
    as_arena_fini(&arena);
    if (as_topology_read(&w->topology, NULL, NULL) == ASSAY_OK &&
        as_peaks_find(&w->peaks, &w->topology))
        as_run_maker_put(&maker, "peaks", &as_peaks_shape, &w->peaks.peaks);
    rc = as_run_maker_finish(&maker, run, err);
    return rc < 0 ? as_run_open(run, w->output, err) : rc;
}

static bool report(struct work *w, struct assay_error *err)
{
    struct as_target *program = NULL;
    struct as_run *run = NULL;
    bool leaks = false;
    int rc = complete(w, &run, err);

    if (rc == ASSAY_OK)
        rc = show(w, run, err);
    if (rc == ASSAY_OK && as_opt_given(w->line, "fail-on-leak"))
        rc = as_target_analyze(&program, run, err);
    if (program)
        leaks = judge_leaks(w, program);
    if (rc < 0)
        tell_failed("no summary", err);
    else if (wants_report(w->line) && as_format_of(w->line) == AS_FORMAT_TEXT &&
             !as_opt_given(w->line, "report-file"))
        as_console_note(w->line, "run kept in %s: assay report %s", w->output, w->output);
    as_target_free(program);
    as_run_close(run);
    return leaks;
}

/* From here on the command has run: its exit status is ours, whatever else goes wrong. */
static int finish(struct work *w, int watched, struct assay_error *err)
{
    struct assay_error wrong = {0};
    bool leaks;

    if (assay_session_close(&wrong) < 0 && !w->end.wrong.code)
        w->end.wrong = wrong;
    as_inject_fini(&w->inject);
    as_watch_signals_restore(&w->target.mask);
    if (watched < 0 && !w->end.wrong.code)
        w->end.wrong = *err;
    tell_end(w);
    tell_left(w);
    /* A document at standard error stands alone, and has it among the health of the run. */
    if (w->end.wrong.code && !(wants_report(w->line) && as_format_of(w->line) != AS_FORMAT_TEXT &&
                               !as_opt_given(w->line, "report-file")))
        tell_failed("the run is incomplete", &w->end.wrong);
    if (w->end.heaps_left_out && wants_report(w->line))
        as_console_note(w->line, "assay: the heaps of %zu more processes were not recorded",
                        w->end.heaps_left_out);
    leaks = report(w, err);
    if (leaks && w->end.exit_status == 0)
        return AS_ANSWER_NO;
    return AS_ANSWER_STATUS + w->end.exit_status;
}

static int fail_start(struct work *w, int status, const struct assay_error *err)
{
    if (assay_session_is_open()) {
        (void)assay_session_close(NULL);
        (void)unlink(w->output); /* nothing ran */
    }
    as_console_fail(err->msg);
    return AS_ANSWER_STATUS + status;
}

static int run_command(struct work *w, struct assay_error *err)
{
    int status, rc = copy_command(w, err);
    pid_t pid = 0;

    if (rc < 0)
        return rc;
    as_launch_prepare(&w->target);
    status = as_launch_find(&w->target, w->argv[0], err);
    if (status)
        return fail_start(w, status, err);
    rc = prepare(w, err);
    if (rc < 0)
        return rc;
    w->options.started_ns = as_clock_mono_ns();
    status = as_launch_start(&w->target, w->argv, w->inject.envp, &pid, err);
    if (status)
        return fail_start(w, status, err);
    rc = as_watch_run(&w->end, pid, &w->options, err);
    return finish(w, rc, err);
}

static int run_run(const struct as_cmd_line *line, struct assay_error *err)
{
    struct work *w;
    int rc = check_options(line, err);

    if (rc < 0)
        return rc;
    w = as_alloc_zero(1, sizeof *w);
    if (!w)
        return as_fail_nomem(err);
    w->line = line;
    rc = as_run_name(w->output, sizeof w->output, as_opt_text(line, "output"), err);
    if (rc == ASSAY_OK)
        rc = run_command(w, err);
    as_inject_fini(&w->inject);
    as_free((void *)(uintptr_t)w->argv);
    as_free(w);
    return rc;
}

static const struct as_example run_examples[] = {
    {"assay run -- ./program", "processes, memory, heap and GEMM calls of any program"},
    {"assay run -o leak.assay --fail-on-leak -- ./program", "exit status 1 when memory leaks"},
    {"mpirun -n 4 assay run -o job.%r.assay -- ./program", "one run for each rank"},
    {"assay run --follow -- make test", "child processes too"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_run = {
    .name = "run",
    .summary = "run any program and show its processes, memory, heap and GEMM calls",
    .usage = "assay run [options] [--] COMMAND [ARGUMENT...]",
    .details =
        "The program is run as it is, without recompiling. Its processes are read from /proc: CPU "
        "time, memory, page faults, context switches, disk I/O. A small injected library "
        "(LD_PRELOAD) counts its heap by allocation site, and GEMM calls by shape; it removes "
        "itself from the environment, so that children run without it unless --follow is given; a "
        "program that the command becomes by exec is watched in any case. A program that cannot "
        "load a library (static, setuid) is watched from outside only, and the "
        "summary gives the reason.\n\nEverything goes into the run file, run.assay or what -o "
        "names; an existing run is kept as FILE.old. In that name %p stands for the process id of "
        "assay, %h for the host, %r for the rank that an MPI launcher or a batch system gave it, "
        "%% for a percent sign; under such a launcher the default is run.%r.assay, so that each "
        "rank has a file of its own: mpirun -n 4 assay run -- ./prog. Standard input, output and "
        "error are the "
        "command's. The summary goes to standard error after its end when that is a terminal, or "
        "with --report, or to --report-file.\n\nThe exit status is that of the command: 128 + N "
        "when signal N ended it, 127 when it was not found, 126 when it cannot be executed. With "
        "--fail-on-leak it is 1 when the command ended with 0, its memory kept growing and was not "
        "freed at the end. Status 2 or 3 with an error message and without starting the command: "
        "usage error, or the run cannot be written. Signals sent to assay are forwarded.",
    .examples = run_examples,
    .opts = run_opts,
    .operand = "COMMAND",
    .min_operands = 1,
    .max_operands = INT_MAX,
    .ends_options = true,
    .run = run_run,
};
