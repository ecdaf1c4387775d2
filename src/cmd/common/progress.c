/* cmd/common/progress.c - one line at the foot of a terminal that reports how far long work is. */
#include "cmd/common/console.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/output.h"
#include "base/text/text.h"
#include "base/units.h"

enum { LINE = 160 };

#define PAUSE_NS UINT64_C(80000000)
#define ERASE    "\r\033[K"

bool as_progress_wanted(const struct as_cmd_line *line)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) && !as_opt_given(line, "quiet") && term &&
           strcmp(term, "dumb") != 0;
}

static void add(char text[LINE], const char *more)
{
    size_t used = strlen(text);

    (void)snprintf(text + used, LINE - used, "%s%s", used ? "  " : "", more);
}

static void add_counts(char text[LINE], const struct as_progress_state *s)
{
    char part[80];

    if (s->of)
        (void)snprintf(part, sizeof part, "%llu of %llu %s%s", (unsigned long long)s->done,
                       (unsigned long long)s->of, s->unit, s->of == 1 ? "" : "s");
    else
        (void)snprintf(part, sizeof part, "%llu %s%s", (unsigned long long)s->done, s->unit,
                       s->done == 1 ? "" : "s");
    add(text, part);
}

static void add_left(char text[LINE], double left_s)
{
    char part[40];

    if (left_s >= 7200)
        (void)snprintf(part, sizeof part, "%.0f h left", left_s / 3600);
    else if (left_s >= 120)
        (void)snprintf(part, sizeof part, "%.0f min left", left_s / 60);
    else
        (void)snprintf(part, sizeof part, "%.0f s left", ceil(left_s));
    add(text, part);
}

static void compose(char text[LINE], const struct as_progress_state *s)
{
    char part[80], time[AS_TEXT_HUMAN];

    text[0] = '\0';
    add(text, s->what);
    if (isfinite(s->median_ns) && s->median_ns > 0) {
        as_text_ns(time, s->median_ns, AS_TIME_AUTO);
        (void)snprintf(part, sizeof part, "p50 %s", time);
        add(text, part);
    }
    if (s->unit && s->done)
        add_counts(text, s);
    if (isfinite(s->share) && !s->unit) {
        (void)snprintf(part, sizeof part, "%.0f %%", fmin(fmax(s->share, 0), 1) * 100);
        add(text, part);
    }
    if (isfinite(s->left_s))
        add_left(text, s->left_s);
}

/* A line that wraps could not be erased. */
static size_t columns(void)
{
    struct winsize size = {0};

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79;
}

void as_progress_put(struct as_progress *progress, const struct as_progress_state *state)
{
    uint64_t now = progress->wanted ? as_clock_mono_ns() : 0;
    char text[LINE], all[LINE + sizeof ERASE];
    size_t most;
    int n;

    if (!progress->wanted ||
        (state->what == progress->last_what && now - progress->last_ns < PAUSE_NS))
        return;
    progress->last_ns = now;
    progress->last_what = state->what;
    progress->shown = true;
    compose(text, state);
    most = columns();
    n = snprintf(all, sizeof all, ERASE "%.*s", (int)(most < LINE ? most : LINE - 1), text);
    if (n > 0 && n < (int)sizeof all)
        (void)as_write_all(STDERR_FILENO, all, (size_t)n);
}

void as_progress_show(struct as_progress *progress, const char *what, double share)
{
    const struct as_progress_state state = {
        .what = what, .share = share, .median_ns = AS_UNKNOWN, .left_s = AS_UNKNOWN};

    as_progress_put(progress, &state);
}

void as_progress_end(struct as_progress *progress)
{
    if (progress->shown)
        (void)as_write_all(STDERR_FILENO, ERASE, sizeof ERASE - 1);
    progress->shown = false;
}
