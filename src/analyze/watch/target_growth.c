/* analyze/watch/target_growth.c - when a series that grew stopped growing.
 * It did when it then rested far longer than ever before: growth in steps rests between them. */
#include "analyze/watch/target_findings.h"

#include <math.h>

#include "base/units.h"

#define STEP      0.02 /* of the whole rise: by that much it must have risen to go on growing */
#define LONG_REST 0.1  /* of the time */
#define FAR       2    /* times the longest rest before */
#define RESTED    (1.0 / 3) /* of the time: then it is over, rather than having paused */

double as_growth_stop(const double *seconds, const double *value, size_t n)
{
    double least, low, level, next, stop = AS_UNKNOWN, rest = 0, longest = 0;

    if (n < 2)
        return AS_UNKNOWN;
    least = low = level = value[n - 1];
    for (size_t i = 0; i < n; i++)
        least = fmin(least, value[i]);
    if (!(level > least))
        return AS_UNKNOWN;
    next = level - STEP * (level - least);
    /* Backwards, what stays: peaks that come and go are no growth. */
    for (size_t i = n - 1; i-- > 0;) {
        low = fmin(low, value[i]);
        if (low > next)
            continue;
        if (isnan(stop))
            stop = seconds[i + 1];
        else
            longest = fmax(longest, rest - seconds[i + 1]);
        rest = seconds[i + 1];
        next = low - STEP * (level - least);
    }
    rest = seconds[n - 1] - stop;
    return rest > LONG_REST * (seconds[n - 1] - seconds[0]) && rest > FAR * longest ? stop
                                                                                    : AS_UNKNOWN;
}

bool as_growth_rested(const double *seconds, size_t n, double stop)
{
    return n > 1 && isfinite(stop) &&
           seconds[n - 1] - stop >= RESTED * (seconds[n - 1] - seconds[0]);
}

/* What is left of each; a limit holds more than resident memory: of it no more than that is left.
 */
struct headroom {
    const char *of;
    double bytes;
};

static struct headroom least(struct headroom a, struct headroom b)
{
    return isnan(a.bytes) || b.bytes < a.bytes ? b : a;
}

static struct headroom find(const struct as_target *p)
{
    const struct as_target_series *rss = &p->rss;
    double now = rss->n ? rss->value[rss->n - 1] : 0, taken = rss->n ? now - rss->value[0] : 0;
    struct headroom headroom = {"machine", p->free_bytes - taken};

    headroom = least(headroom, (struct headroom){"control_group", p->group_limit_bytes - now});
    if (p->n_processes <= 1) /* each has that limit for itself */
        headroom =
            least(headroom, (struct headroom){"address_space", p->address_limit_bytes - now});
    return headroom;
}

void as_target_find_time_to_oom(struct as_target_growth *g, const struct as_target *target)
{
    struct headroom headroom = find(target);

    if (g->verdict != AS_GROWTH_FOUND)
        g->headroom_why = "it does not keep growing";
    else if (g->counts)
        g->headroom_why = "its limit is unknown";
    else if (isfinite(g->stopped_seconds))
        g->headroom_why = "it had stopped growing";
    else if (g->per_iteration)
        g->headroom_why = "iterations have no time";
    else if (isnan(headroom.bytes))
        g->headroom_why = "the free memory is unknown";
    else if (!(headroom.bytes > 0) || !(g->rate > 0))
        g->headroom_why = "the program already holds more than was free at its start";
    if (g->headroom_why)
        return;
    g->headroom_of = headroom.of;
    g->seconds_to_exhaustion = headroom.bytes / g->rate;
}
