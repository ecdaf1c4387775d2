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

#define START_UP   0.15 /* of the time: what it takes then does not count as growth */
#define FEW_STEPS  3u
#define ONE_STEP   0.6  /* of the rise: it rose once */
#define SMALL_STEP 0.05 /* of the rise: less is none */
#define TOGETHER   0.02 /* of the time: as close they are one step */
#define SWING      0.5  /* of the rise: what comes and goes by more hides it */
#define LATE       1.5  /* times the longest rest between steps: then it had stopped */

/* Steps as they are met, the last one first. */
struct steps {
    double rise, span, end; /* of all: how high, how long, where they end */
    double height, begin;   /* of the step that is met now; 0: none */
    double last, first, longest, greatest;
    uint32_t n;
};

static void end_step(struct steps *s)
{
    if (s->height >= SMALL_STEP * s->rise) {
        if (s->n)
            s->longest = fmax(s->longest, s->first - s->begin);
        else
            s->last = s->begin;
        s->first = s->begin;
        s->greatest = fmax(s->greatest, s->height);
        s->n++;
    }
    s->height = 0;
}

static void add_rise(struct steps *s, double seconds, double height)
{
    if (s->height > 0 && s->begin - seconds > TOGETHER * s->span)
        end_step(s);
    s->height += height;
    s->begin = seconds;
}

double as_growth_in_steps(const double *seconds, const double *value, size_t n, double least,
                          uint32_t *steps)
{
    double low, swing = 0, start;
    struct steps s = {.n = 0};
    size_t first = 0;

    *steps = 0;
    if (n < 2)
        return 0;
    s.end = seconds[n - 1];
    s.span = s.end - seconds[0];
    start = seconds[0] + START_UP * s.span;
    while (first < n && seconds[first] < start)
        first++;
    low = value[n - 1];
    for (size_t i = n; i-- > first;)
        low = fmin(low, value[i]);
    s.rise = value[n - 1] - low;
    if (!(s.rise >= least) || !(s.rise > 0))
        return 0;
    low = value[n - 1];
    for (size_t i = n - 1; i-- > first;) { /* backwards, what stays */
        double next = fmin(low, value[i]);

        swing = fmax(swing, value[i] - next);
        if (next < low)
            add_rise(&s, seconds[i + 1], low - next);
        low = next;
    }
    end_step(&s);
    if (s.n < FEW_STEPS || s.greatest > ONE_STEP * s.rise || swing > SWING * s.rise ||
        s.end - s.last > LATE * fmax(s.longest, s.first - start))
        return 0;
    *steps = s.n;
    return s.rise;
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
