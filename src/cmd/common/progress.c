/* cmd/common/progress.c - one line at the foot of a terminal that tells how far long work is. */
#include "cmd/common/console.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/output.h"

enum { BAR = 24 };

#define PAUSE_NS UINT64_C(80000000)

bool as_progress_wanted(const struct as_cmd_line *line)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) && !as_opt_given(line, "quiet") && term &&
           strcmp(term, "dumb") != 0;
}

void as_progress_show(struct as_progress *progress, const char *what, double share)
{
    uint64_t now = progress->wanted ? as_clock_mono_ns() : 0;
    char text[160], bar[BAR + 1];
    int n, full;

    if (!progress->wanted || (what == progress->last_what && now - progress->last_ns < PAUSE_NS))
        return;
    progress->last_ns = now;
    progress->last_what = what;
    progress->shown = true;
    if (isnan(share)) {
        n = snprintf(text, sizeof text, "\r\033[K%s", what);
    } else {
        share = share < 0 ? 0 : share > 1 ? 1 : share;
        full = (int)(share * BAR);
        memset(bar, '#', (size_t)full);
        memset(bar + full, '.', (size_t)(BAR - full));
        bar[BAR] = 0;
        n = snprintf(text, sizeof text, "\r\033[K[%s] %3.0f %% %s", bar, share * 100, what);
    }
    if (n > 0 && n < (int)sizeof text)
        (void)as_write_all(STDERR_FILENO, text, (size_t)n);
}

void as_progress_end(struct as_progress *progress)
{
    if (progress->shown)
        (void)as_write_all(STDERR_FILENO, "\r\033[K", 4);
    progress->shown = false;
}
