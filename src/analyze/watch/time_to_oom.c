/* analyze/watch/time_to_oom.c - how long memory lasts at the rate it grows, and whose memory that
 * is: the machine's, or less where the program has a limit. */
#include "analyze/watch/time_to_oom.h"

#include <math.h>

/* What is left of each; a limit holds more than resident memory: of it no more than that is left.
 */
struct room {
    const char *of;
    double bytes;
};

static struct room least(struct room a, struct room b)
{
    return isnan(a.bytes) || b.bytes < a.bytes ? b : a;
}

static struct room find(const struct as_program *p)
{
    const struct as_program_series *rss = &p->rss;
    double now = rss->n ? rss->value[rss->n - 1] : 0, taken = rss->n ? now - rss->value[0] : 0;
    struct room room = {"machine", p->free_bytes - taken};

    room = least(room, (struct room){"control_group", p->group_limit_bytes - now});
    if (p->n_processes <= 1) /* each has that limit for itself */
        room = least(room, (struct room){"address_space", p->address_limit_bytes - now});
    return room;
}

void as_program_find_room(struct as_program_growth *g, const struct as_program *program)
{
    struct room room = find(program);

    if (g->verdict != AS_GROWTH_FOUND)
        g->room_why = "it does not keep growing";
    else if (isfinite(g->stopped_seconds))
        g->room_why = "it had stopped growing";
    else if (g->per_iteration)
        g->room_why = "iterations have no time";
    else if (isnan(room.bytes))
        g->room_why = "how much memory was free is not known";
    else if (!(room.bytes > 0) || !(g->rate > 0))
        g->room_why = "the program already holds more than was free as it began";
    if (g->room_why)
        return;
    g->room_of = room.of;
    g->seconds_to_exhaustion = room.bytes / g->rate;
}
