/* analyze/watch/time_to_oom.c - how long memory lasts at the rate it grows, and whose memory that
 * is: the machine's, or less where the program has a limit. */
#include "analyze/watch/time_to_oom.h"

#include <math.h>

/* What is left of each; a limit holds more than resident memory: of it no more than that is left.
 */
struct capacity {
    const char *of;
    double bytes;
};

static struct capacity least(struct capacity a, struct capacity b)
{
    return isnan(a.bytes) || b.bytes < a.bytes ? b : a;
}

static struct capacity find(const struct as_target *p)
{
    const struct as_target_series *rss = &p->rss;
    double now = rss->n ? rss->value[rss->n - 1] : 0, taken = rss->n ? now - rss->value[0] : 0;
    struct capacity capacity = {"machine", p->free_bytes - taken};

    capacity = least(capacity, (struct capacity){"control_group", p->group_limit_bytes - now});
    if (p->n_processes <= 1) /* each has that limit for itself */
        capacity =
            least(capacity, (struct capacity){"address_space", p->address_limit_bytes - now});
    return capacity;
}

void as_target_find_time_to_oom(struct as_target_growth *g, const struct as_target *target)
{
    struct capacity capacity = find(target);

    if (g->verdict != AS_GROWTH_FOUND)
        g->capacity_why = "it does not keep growing";
    else if (isfinite(g->stopped_seconds))
        g->capacity_why = "it had stopped growing";
    else if (g->per_iteration)
        g->capacity_why = "iterations have no time";
    else if (isnan(capacity.bytes))
        g->capacity_why = "how much memory was free is not known";
    else if (!(capacity.bytes > 0) || !(g->rate > 0))
        g->capacity_why = "the program already holds more than was free as it began";
    if (g->capacity_why)
        return;
    g->capacity_of = capacity.of;
    g->seconds_to_exhaustion = capacity.bytes / g->rate;
}
