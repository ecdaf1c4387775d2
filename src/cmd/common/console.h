/* cmd/common/console.h - where results go, and what the terminal there can do.
 * Reads the environment for what a terminal can show. */
#ifndef AS_CMD_COMMON_CONSOLE_H
#define AS_CMD_COMMON_CONSOLE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/output.h"
#include "base/text/term.h"
#include "cmd/common/options.h"

struct as_console {
    struct as_out out; /* standard output, or the file of --output */
    struct as_term term;
    const struct as_cmd_line *line;
    const char *path; /* of --output; NULL: standard output */
};

/* What is known of the terminal, or of the file named by --output. */
struct as_term as_console_term(const struct as_cmd_line *line);

/* The same for a descriptor, when results go elsewhere than standard output; -1: a file. */
struct as_term as_console_term_of(const struct as_cmd_line *line, int fd);

/* Opens the one or the other; end with as_console_close(). */
AS_MUST_USE int as_console_open(struct as_console *console, const struct as_cmd_line *line,
                                struct assay_error *err);

/* With `rc` as the command has it so far: publishes what was written, with a note that names the
 * file, or drops it when rc is an error. Returns `rc`, or the code of a failure to write, which
 * names the file or standard output.
 */
AS_MUST_USE int as_console_close(struct as_console *console, int rc, struct assay_error *err);

/* A line for the person at standard error, left out by --quiet. Made safe for a terminal. */
AS_PRINTF(2, 3) void as_console_note(const struct as_cmd_line *line, const char *fmt, ...);

/* The one sentence of a failure, at standard error. */
void as_console_fail(const char *msg);

/* ---- own_argv.c ---- */

/* Words in `arena`; none where the system does not report it. Without the option that names
 * `output`, which may be NULL: what a command finds out does not depend on where it is kept. */
AS_MUST_USE int as_own_argv(struct as_arena *arena, const char *output, const char ***words,
                            size_t *n, struct assay_error *err);

/* ---- progress.c ---- */

/* Whether anybody would see it. */
bool as_progress_wanted(const struct as_cmd_line *line);

struct as_progress {
    bool wanted, shown;
    uint64_t last_ns;
    const char *last_what;
};

/* What the line reports; what is NaN or 0 is left out. */
struct as_progress_state {
    const char *what;  /* the step, in plain words */
    double share;      /* of the step, from 0 to 1 */
    double median_ns;  /* p50 so far */
    uint64_t done, of; /* counted in `unit`; `of` 0: as many as it takes */
    const char *unit;  /* as in "iteration", singular */
    double left_s;     /* estimated */
};

/* Replaces the line, some ten times per second unless the step changes: "measuring  p50 7.96 ms
 * 412 iterations  3 s left". */
void as_progress_put(struct as_progress *progress, const struct as_progress_state *state);

/* A step of which only a share is known: "checking decisions  43 %". NaN: no share. */
void as_progress_show(struct as_progress *progress, const char *what, double share);

/* Erases it. */
void as_progress_end(struct as_progress *progress);

#endif
