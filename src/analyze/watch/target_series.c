/* analyze/watch/target_series.c - the sampled series of a program's run, and which heap sites grow.
 * A site grows when stats/inference/growth.h says so of its live bytes after warm-up. */
#include "analyze/watch/target_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "stats/inference/growth.h"
#include "stats/inference/trend.h"
#include "trace/run/span_walk.h"
#include "watch/watch_record.h"

#define MAX_POINTS (1u << 17) /* of a series; beyond, every second one is kept */

/* What of a series is left out at its beginning, and what a site must grow by to be told. */
#define WARM_UP         5u  /* one part in so many */
#define MIN_POINTS      24u /* after warm-up */
#define TAIL            20u /* one part in so many may be the program's end */
#define MIN_TAIL        4u
#define GROWTH_P        0.001
#define GROWTH_MIN_RISE (16.0 * 1024)

struct point {
    double seconds, value;
};

/* One channel on its way into a series. */
struct channel {
    const char *name;
    struct as_target_series *series;
    struct as_rows points;
    uint64_t seen, stride;
};

struct collector {
    const struct as_run *run;
    uint64_t start_ns; /* of the program, since the run began */
    struct channel channel[6];
    bool nomem;
};

#define N_CHANNELS (sizeof((struct collector *)0)->channel / sizeof(struct channel))

static void thin(struct channel *c)
{
    struct point *at = c->points.at;

    for (size_t i = 0; 2 * i < c->points.n; i++)
        at[i] = at[2 * i];
    c->points.n = (c->points.n + 1) / 2;
    c->stride *= 2;
}

static bool add_point(struct channel *c, double seconds, double value)
{
    struct point *at = c->points.at, *to;

    if (!isfinite(value) || c->seen++ % c->stride != 0 ||
        (c->points.n && seconds < at[c->points.n - 1].seconds))
        return true;
    if (c->points.n == MAX_POINTS)
        thin(c);
    to = as_rows_add(&c->points);
    if (!to)
        return false;
    *to = (struct point){seconds, value};
    return true;
}

static void take_sample(void *user, uint32_t channel, uint64_t ns, double value)
{
    struct collector *all = user;
    const char *name = as_run_site_at(all->run, channel)->name;
    double seconds = ns > all->start_ns ? (double)(ns - all->start_ns) / 1e9 : 0;

    for (size_t i = 0; i < N_CHANNELS; i++) {
        if (strcmp(name, all->channel[i].name) == 0 && !add_point(&all->channel[i], seconds, value))
            all->nomem = true;
    }
}

/* The points as two arrays in the program's own memory. */
static bool keep_series(struct as_target *target, const struct channel *c)
{
    struct as_target_series *s = c->series;
    const struct point *at = c->points.at;

    s->seconds = as_arena_zero(&target->arena, c->points.n + 1, sizeof *s->seconds);
    s->value = as_arena_zero(&target->arena, c->points.n + 1, sizeof *s->value);
    if (!s->seconds || !s->value)
        return false;
    for (size_t i = 0; i < c->points.n; i++) {
        s->seconds[i] = at[i].seconds;
        s->value[i] = at[i].value;
    }
    s->n = c->points.n;
    return true;
}

/* The session is open before the program is started. */
static uint64_t start_in_run(const struct as_target *target, const struct as_run *run)
{
    uint64_t origin = run->time.origin_ns;

    return target->started_mono_ns > origin ? target->started_mono_ns - origin : 0;
}

int as_target_channels(struct as_target *target, struct as_run *run, struct as_arena *scratch,
                       struct assay_error *err)
{
    const struct as_rows none = {.arena = scratch, .size = sizeof(struct point), .max = MAX_POINTS};
    struct collector all = {
        .run = run,
        .start_ns = start_in_run(target, run),
        .channel = {{AS_CHANNEL_TREE_RSS, &target->rss, none, 0, 1},
                    {AS_CHANNEL_HEAP_LIVE, &target->heap_live, none, 0, 1},
                    {AS_CHANNEL_TREE_ANON, &target->anon, none, 0, 1},
                    {AS_CHANNEL_TREE_CPU, &target->cpu, none, 0, 1},
                    {AS_CHANNEL_TREE_DESCRIPTORS, &target->descriptors, none, 0, 1},
                    {AS_CHANNEL_TREE_THREADS, &target->threads, none, 0, 1}},
    };
    const struct as_span_visitor visitor = {.user = &all, .sample = take_sample};

    for (size_t i = 0; i < run->n_threads; i++) {
        int rc = as_span_walk(run, &run->thread[i], &visitor, NULL, err);

        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < N_CHANNELS; i++)
        all.nomem |= !keep_series(target, &all.channel[i]);
    return all.nomem ? as_fail_nomem(err) : ASSAY_OK;
}

static int by_id(const void *a, const void *b)
{
    const struct as_target_site *x = a, *y = b;

    if (x->heap != y->heap)
        return x->heap < y->heap ? -1 : 1;
    return (x->site.id > y->site.id) - (x->site.id < y->site.id);
}

static bool is_sound(const struct as_site_history *s)
{
    if (s->n_seconds != s->n_live)
        return false;
    for (size_t i = 0; i < s->n_live; i++)
        if (!isfinite(s->seconds[i]) || !(s->live_bytes[i] >= 0 && s->live_bytes[i] < 0x1p64) ||
            (i && s->seconds[i] < s->seconds[i - 1]))
            return false;
    return true;
}

size_t as_series_judged(const double *seconds, const double *value, size_t n, double until)
{
    size_t tail, most;

    while (n > 0 && seconds[n - 1] > until)
        n--;
    tail = n / TAIL > MIN_TAIL ? n / TAIL : MIN_TAIL;
    if (n < 2 * tail)
        return n;
    most = n;
    for (size_t i = n; i > n - tail; i--) /* the last of the greatest */
        if (most == n || value[i - 1] > value[most])
            most = i - 1;
    return value[n - 1] < value[most] ? most + 1 : n;
}

/* Fewer samples than growth can be told from leave the place as it is. */
static int judge(struct as_target_site *place, const struct as_site_history *s, double until,
                 struct assay_error *err)
{
    const struct as_growth_rule rule = {.p = GROWTH_P, .min_rise = GROWTH_MIN_RISE};
    size_t all = as_series_judged(s->seconds, s->live_bytes, s->n_live, until);
    size_t first = all / WARM_UP, n = all - first;
    const double *live = s->live_bytes + first, *seconds = s->seconds + first;
    struct as_trend_line line;
    struct as_trend_test test;
    struct as_growth growth;
    int rc;

    if (n < MIN_POINTS || n > AS_GROWTH_MAX || !(seconds[n - 1] > seconds[0]))
        return ASSAY_OK;
    rc = as_trend_line(&line, seconds, live, n, err);
    if (rc == ASSAY_OK)
        rc = as_trend_test(&test, live, n, err);
    if (rc == ASSAY_OK)
        rc = as_growth_test(&growth, live, n, &rule, err);
    if (rc < 0)
        return rc;
    place->growth_bytes_per_second = line.slope;
    place->growth_bytes = line.slope * (seconds[n - 1] - seconds[0]);
    place->rise_bytes = live[n - 1] - live[0];
    place->growth_from_seconds = seconds[0];
    place->growth_to_seconds = seconds[n - 1];
    /* Where it was worked out, the one that heeds how samples depend on each other. */
    place->growth_p_value = growth.grows ? growth.p : test.p;
    place->growing = growth.grows && line.slope > 0;
    return ASSAY_OK;
}

/* NULL for a site that was left out of the run. */
static struct as_target_site *find_place(const struct as_target *target,
                                         const struct as_site_history *series)
{
    const struct as_target_site wanted = {.heap = series->heap, .site.id = series->id};

    if (target->n_places == 0)
        return NULL;
    return bsearch(&wanted, target->place, target->n_places, sizeof *target->place, by_id);
}

int as_target_growth(struct as_target *target, const struct as_site_history *series, size_t n,
                     struct assay_error *err)
{
    for (size_t i = 0; i < target->n_places; i++) {
        struct as_target_site *place = &target->place[i];

        place->growth_bytes_per_second = place->growth_p_value = AS_UNKNOWN;
        place->growth_bytes = place->rise_bytes = AS_UNKNOWN;
    }
    if (target->n_places)
        qsort(target->place, target->n_places, sizeof *target->place, by_id);
    for (size_t i = 0; i < n; i++) {
        struct as_target_site *place = find_place(target, &series[i]);
        bool sound = is_sound(&series[i]);
        int rc =
            place && sound ? judge(place, &series[i], target->judged_until_seconds, err) : ASSAY_OK;

        if (rc < 0)
            return rc;
        target->passed_over += !sound;
    }
    return ASSAY_OK;
}
