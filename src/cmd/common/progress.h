/* cmd/common/progress.h - one line at the foot of a terminal that tells how far long work is.
 * Silent where standard error is no terminal, and with --quiet. */
#ifndef AS_CMD_COMMON_PROGRESS_H
#define AS_CMD_COMMON_PROGRESS_H

#include "cmd/common/options.h"

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
