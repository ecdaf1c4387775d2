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

/* Words in `arena`; none where the system does not tell. Without the option that names `output`,
 * which may be NULL: what a command finds out does not depend on where it is kept. */
AS_MUST_USE int as_own_argv(struct as_arena *arena, const char *output, const char ***words,
                            size_t *n, struct assay_error *err);

/* ---- progress.c ---- */

/* Whether anybody would see it. */
bool as_progress_wanted(const struct as_cmd_line *line);

/* Replaces the line; `share` from 0 to 1 draws a bar, NaN none. At most some ten times a second
 * unless the words change. */
struct as_progress {
    bool wanted, shown;
    uint64_t last_ns;
    const char *last_what;
};
void as_progress_show(struct as_progress *progress, const char *what, double share);

/* Takes it away. */
void as_progress_end(struct as_progress *progress);

#endif
