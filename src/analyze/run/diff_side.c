/* analyze/run/diff_side.c - one side of a comparison, from a run file.
 * Refuses a run that is not whole unless told otherwise: its totals would mislead. */
#include "analyze/run/run_diff.h"

#include <string.h>

#include "analyze/model/layer_times.h"
#include "analyze/model/steadiness.h"
#include "analyze/run/manager_run.h"
#include "analyze/run/run_document.h"
#include "analyze/watch/target.h"
#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/units.h"
#include "measure/latency/profile_data.h"
#include "stats/describe/rng.h"
#include "trace/run/run_maker.h"
#include "watch/watch_record.h"

#define MAX_KEPT       4096              /* calls, or iterations, of one layer */
#define MAX_VALUES     ((size_t)4 << 20) /* of all layers */
#define MIN_KEPT       16
#define MAX_ITERATIONS ((size_t)1 << 20)

/* The iterations of the thread that has most of them. */
struct intervals {
    uint64_t *start_ns, *end_ns;
    size_t n, capacity;
    size_t stride; /* every so many are kept */
    bool no_memory;
};

/* One layer while it is collected; `out` is what the comparison sees. */
struct gathered {
    double *call_ns, *iteration_ns;
    size_t n_calls, capacity;
    uint64_t seen;
};

struct collector {
    struct as_diff_run *r;
    struct as_diff_layer *layer;
    size_t n_layers;
    struct gathered *gathered;
    uint32_t *place; /* [site]: place in `layer` plus one; 0: no layer */
    struct intervals iterations;
    size_t n_kept; /* of them */
    size_t now;    /* the first iteration that has not ended before the span now seen */
    struct as_rng rng;
};

/* ---- iterations ---- */

static void on_iteration(void *user, const struct as_iteration *it)
{
    struct intervals *all = user;

    if (it->cut || all->no_memory || all->n >= MAX_ITERATIONS)
        return;
    if (all->n == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 64;
        uint64_t *start = as_realloc(all->start_ns, capacity, sizeof *start), *end = NULL;

        if (start) {
            all->start_ns = start;
            end = as_realloc(all->end_ns, capacity, sizeof *end);
        }
        if (!end) {
            all->no_memory = true;
            return;
        }
        all->end_ns = end;
        all->capacity = capacity;
    }
    all->start_ns[all->n] = it->start_ns;
    all->end_ns[all->n++] = it->end_ns;
}

static void forget_intervals(struct intervals *all)
{
    as_free(all->start_ns);
    as_free(all->end_ns);
    *all = (struct intervals){0};
}

static int find_iterations(struct collector *c, struct assay_error *err)
{
    struct as_run *run = c->r->run;
    int rc = ASSAY_OK;

    if (c->r->layers->iterations.n == 0)
        return ASSAY_OK;
    for (size_t i = 0; i < run->n_threads && rc == ASSAY_OK; i++) {
        struct intervals found = {0};
        const struct as_span_visitor v = {.user = &found, .iteration = on_iteration};

        rc = as_span_walk(run, &run->thread[i], &v, NULL, err);
        if (rc == ASSAY_OK && found.no_memory)
            rc = as_fail_nomem(err);
        if (rc == ASSAY_OK && found.n > c->iterations.n) {
            forget_intervals(&c->iterations);
            c->iterations = found;
        } else {
            forget_intervals(&found);
        }
    }
    return rc;
}

/* How many values of a layer are kept, so that all of them together stay within bounds. */
static size_t capacity_for(size_t n_layers)
{
    size_t each = MAX_VALUES / (n_layers ? n_layers : 1);

    return each > MAX_KEPT ? MAX_KEPT : each < MIN_KEPT ? MIN_KEPT : each;
}

static int keep_iterations(struct collector *c, struct assay_error *err)
{
    struct intervals *all = &c->iterations;
    size_t capacity = capacity_for(c->n_layers);
    double *wall;

    if (all->n == 0)
        return ASSAY_OK;
    all->stride = (all->n + capacity - 1) / capacity;
    c->n_kept = (all->n + all->stride - 1) / all->stride;
    wall = as_arena_zero(&c->r->arena, c->n_kept, sizeof *wall);
    if (!wall)
        return as_fail_nomem(err);
    for (size_t i = 0; i < c->n_kept; i++)
        wall[i] = (double)(all->end_ns[i * all->stride] - all->start_ns[i * all->stride]);
    c->r->side.iteration_ns = wall;
    c->r->side.n_iteration_ns = c->n_kept;
    c->r->side.n_iterations = all->n;
    return ASSAY_OK;
}

/* ---- layers ---- */

/* Layers of one name are one layer, wherever they stand in the source. */
static int merge_layers(struct collector *c, struct assay_error *err)
{
    const struct as_layers *layers = c->r->layers;
    struct as_hash_map map = {0};
    int rc = ASSAY_OK;

    for (size_t i = 0; i < layers->n_layers && rc == ASSAY_OK; i++) {
        const struct as_layer *from = &layers->layer[i];
        size_t size = strlen(from->info->name);
        struct as_diff_layer *to;
        uint64_t at;

        if (from->calls == 0)
            continue;
        if (as_hash_map_put(&map, from->info->name, size, c->n_layers) < 0) {
            rc = as_fail_nomem(err);
            continue;
        }
        at = *as_hash_map_find(&map, from->info->name, size);
        c->n_layers += at == c->n_layers;
        to = &c->layer[at];
        to->name = from->info->name;
        to->calls += from->calls;
        to->total_ns += (double)from->inclusive_ns;
        to->self_ns += (double)from->self_ns;
        to->mean_ns = to->total_ns / (double)to->calls;
        c->place[from->site] = (uint32_t)at + 1;
    }
    as_hash_map_fini(&map);
    return rc;
}

static int reserve(struct collector *c, struct assay_error *err)
{
    size_t most = capacity_for(c->n_layers);

    c->gathered = as_arena_zero(&c->r->arena, c->n_layers + 1, sizeof *c->gathered);
    for (size_t i = 0; c->gathered && i < c->n_layers; i++) {
        struct gathered *g = &c->gathered[i];

        g->capacity = c->layer[i].calls < most ? (size_t)c->layer[i].calls : most;
        g->call_ns = as_arena_zero(&c->r->arena, g->capacity + c->n_kept, sizeof *g->call_ns);
        if (!g->call_ns)
            return as_fail_nomem(err);
        g->iteration_ns = g->call_ns + g->capacity;
    }
    return c->gathered ? ASSAY_OK : as_fail_nomem(err);
}

/* Any call of the layer is as likely kept as another. */
static void keep_call(struct collector *c, struct gathered *g, double self_ns)
{
    uint64_t at = g->seen++;

    if (g->n_calls < g->capacity) {
        g->call_ns[g->n_calls++] = self_ns;
        return;
    }
    at = as_rng_below(&c->rng, at + 1);
    if (at < g->capacity)
        g->call_ns[at] = self_ns;
}

static void on_end(void *user, const struct as_span *span)
{
    struct collector *c = user;
    const struct intervals *all = &c->iterations;
    uint32_t place = span->site <= c->r->run->n_sites ? c->place[span->site] : c->place[0];
    uint64_t ns = span->end_ns - span->start_ns;
    double self_ns = ns > span->child_ns ? (double)(ns - span->child_ns) : 0;
    struct gathered *g;

    if (!place || (span->state != AS_SPAN_OK && span->state != AS_SPAN_FAILED))
        return;
    g = &c->gathered[place - 1];
    keep_call(c, g, self_ns);
    while (c->now < all->n && all->end_ns[c->now] < span->end_ns)
        c->now++;
    if (c->now < all->n && span->end_ns > all->start_ns[c->now] && c->now % all->stride == 0)
        g->iteration_ns[c->now / all->stride] += self_ns;
}

static int collect(struct collector *c, struct assay_error *err)
{
    const struct as_span_visitor v = {.user = c, .end = on_end};
    struct as_run *run = c->r->run;
    int rc = ASSAY_OK;

    as_rng_seed(&c->rng, 1); /* the same run gives the same sample */
    for (size_t i = 0; i < run->n_threads && rc == ASSAY_OK; i++) {
        c->now = 0;
        rc = as_span_walk(run, &run->thread[i], &v, NULL, err);
    }
    for (size_t i = 0; i < c->n_layers; i++) {
        c->layer[i].call_ns = c->gathered[i].call_ns;
        c->layer[i].n_call_ns = c->gathered[i].n_calls;
        c->layer[i].iteration_ns = c->n_kept ? c->gathered[i].iteration_ns : NULL;
        c->layer[i].n_iteration_ns = c->n_kept;
    }
    return rc;
}

static int fill_layers(struct as_diff_run *r, struct assay_error *err)
{
    struct collector c = {.r = r};
    int rc = ASSAY_OK;

    c.layer = as_arena_zero(&r->arena, r->layers->n_layers + 1, sizeof *c.layer);
    c.place = as_alloc_zero((size_t)r->run->n_sites + 1, sizeof *c.place);
    if (!c.layer || !c.place)
        rc = as_fail_nomem(err);
    if (rc == ASSAY_OK)
        rc = merge_layers(&c, err);
    if (rc == ASSAY_OK)
        rc = find_iterations(&c, err);
    if (rc == ASSAY_OK)
        rc = keep_iterations(&c, err);
    if (rc == ASSAY_OK)
        rc = reserve(&c, err);
    if (rc == ASSAY_OK)
        rc = collect(&c, err);
    r->side.layer = c.layer;
    r->side.n_layers = c.n_layers;
    as_free(c.place);
    forget_intervals(&c.iterations);
    return rc;
}

/* ---- the run ---- */

/* The greatest value of the first of these channels that the run has. */
static double peak_memory(const struct as_layers *layers)
{
    static const char *const channel[] = {AS_CHANNEL_TREE_RSS, "rss"};

    for (size_t k = 0; k < AS_COUNT_OF(channel); k++) {
        for (size_t i = 0; i < layers->n_channels; i++) {
            const struct as_channel *ch = &layers->channel[i];

            if (strcmp(ch->info->name, channel[k]) == 0 && ch->info->unit &&
                strcmp(ch->info->unit, "bytes") == 0)
                return ch->max;
        }
    }
    return AS_UNKNOWN;
}

/* Of a run of `assay run`: its events are readings, which begin late and end early.
 * 1 when it is one. */
static int take_program(struct as_diff_run *r, struct assay_error *err)
{
    struct as_target *program = NULL;
    struct assay_error none;
    int rc = as_target_analyze(&program, r->run, &none);

    if (rc == ASSAY_ERR_NOTFOUND)
        return ASSAY_OK;
    if (rc < 0) {
        if (err)
            *err = none;
        return rc;
    }
    r->side.total_ns = program->wall_seconds * 1e9;
    r->side.peak_memory_bytes = as_target_peak_bytes(program);
    as_target_free(program);
    return 1;
}

/* A step of the engine, of one inference: the time that its profile reports, and its samples. */
static int take_step(struct as_diff_run *r, struct as_diff_layer *layer,
                     const struct as_profile_step *step, double self_ns, struct assay_error *err)
{
    double *ns = as_arena_zero(&r->arena, step->n_inferences + 1, sizeof *ns);

    if (!ns)
        return as_fail_nomem(err);
    *layer = (struct as_diff_layer){.name = step->name,
                                    .calls = step->calls,
                                    .total_ns = self_ns,
                                    .self_ns = self_ns,
                                    .mean_ns = self_ns / (double)step->calls,
                                    .iteration_ns = ns,
                                    .n_iteration_ns = step->n_inferences};
    for (size_t i = 0; i < step->n_inferences; i++)
        ns[i] = (double)step->self_ns[i];
    return ASSAY_OK;
}

/* Of a profile: latency and steps of one inference. 1 when it is one. */
static int take_profile(struct as_diff_run *r, struct assay_error *err)
{
    struct as_profile_data *d;
    struct as_diff_layer *layers;
    double *ns, sum;
    int rc = ASSAY_OK;

    if (strcmp(as_run_kind(r->run), "profile") != 0)
        return ASSAY_OK;
    d = as_arena_zero(&r->arena, 1, sizeof *d);
    rc = d ? as_profile_data_get(d, r->run, err) : as_fail_nomem(err);
    if (rc == ASSAY_OK && (!d->profiled || d->n_steps == 0))
        rc = as_fail(err, ASSAY_ERR_NOTFOUND, "%s holds no layers to compare", r->run->path);
    if (rc < 0)
        return rc;
    layers = as_arena_zero(&r->arena, d->n_steps, sizeof *layers);
    ns = as_arena_zero(&r->arena, d->n_steps, sizeof *ns);
    if (!layers || !ns)
        return as_fail_nomem(err);
    rc = as_layer_times(ns, &sum, d, NULL, d->n_steps, err);
    for (size_t i = 0; rc == ASSAY_OK && i < d->n_steps; i++)
        rc = take_step(r, &layers[i], &d->steps[i], ns[i], err);
    r->side = (struct as_diff_side){
        .total_ns = d->latency.figures.summary.mean,
        .peak_memory_bytes = d->memory_counted ? (double)d->memory.all.peak_bytes : AS_UNKNOWN,
        .layer = layers,
        .n_layers = d->n_steps,
        .iteration_ns = d->latency.samples_ns,
        .n_iteration_ns = d->latency.n,
        .n_iterations = 1}; /* all times are of one inference */
    r->unsteady = as_unsteady(&d->latency, &r->arena);
    return rc < 0 ? rc : 1;
}

static const double *in_ns(struct as_diff_run *r, const double *seconds, size_t n)
{
    double *ns = seconds ? as_arena_zero(&r->arena, n + 1, sizeof *ns) : NULL;

    for (size_t i = 0; ns && i < n; i++)
        ns[i] = seconds[i] * 1e9;
    return ns;
}

/* Of a manager's run: sums are there, single calls as far as they were kept. */
static int take_manager(struct as_diff_run *r, struct assay_error *err)
{
    struct as_manager_run m;
    struct as_diff_layer *layer;
    int rc = as_manager_run_get(r->run, &m, err);

    if (rc == ASSAY_OK)
        rc = as_manager_run_layers(&r->layers, r->run, &m, err);
    if (rc < 0)
        return rc;
    if (r->layers->n_layers == 0)
        return as_fail(err, ASSAY_ERR_NOTFOUND, "%s holds no layers to compare", r->run->path);
    layer = as_arena_zero(&r->arena, r->layers->n_layers, sizeof *layer);
    if (!layer)
        return as_fail_nomem(err);
    for (size_t i = 0; i < r->layers->n_layers; i++) {
        const struct as_layer *from = &r->layers->layer[i];
        const size_t n = from->n_call_seconds;

        layer[i] = (struct as_diff_layer){
            .name = from->info->name,
            .calls = from->calls,
            .total_ns = (double)from->inclusive_ns,
            .self_ns = (double)from->self_ns,
            .mean_ns = from->times.mean_ns,
            .call_ns = in_ns(r, from->call_self_seconds, n),
            .whole_ns = in_ns(r, from->call_seconds, n),
        };
        layer[i].n_call_ns = layer[i].call_ns ? n : 0;
        layer[i].n_whole_ns = layer[i].whole_ns ? n : 0;
        if ((from->call_self_seconds && !layer[i].call_ns) ||
            (from->call_seconds && !layer[i].whole_ns))
            return as_fail_nomem(err);
    }
    r->side = (struct as_diff_side){.total_ns = (double)r->layers->wall_ns,
                                    .peak_memory_bytes = m.memory.summary.peak_memory_mb * AS_MIB,
                                    .layer = layer,
                                    .n_layers = r->layers->n_layers};
    return ASSAY_OK;
}

/* Of recorded scopes, watched programs and profiles. */
static bool has_layers(const char *kind)
{
    return strcmp(kind, "trace") == 0 || strcmp(kind, "watch") == 0 || strcmp(kind, "profile") == 0;
}

static int read_run(struct as_diff_run *r, const char *path, bool partial, struct assay_error *err)
{
    int rc = as_run_open_any(&r->run, path, err);

    if (rc < 0)
        return rc;
    r->broken = as_run_what_is_broken(r->run);
    if (r->broken && !partial)
        return as_fail(err, ASSAY_ERR_STATE,
                       "%s %s, so its totals would mislead: record it again, or compare its intact "
                       "part with --partial",
                       path, r->broken);
    if (strcmp(as_run_kind(r->run), AS_KIND_MANAGER) == 0)
        return take_manager(r, err);
    if (!has_layers(as_run_kind(r->run)))
        return ASSAY_OK;
    rc = as_layers_analyze(&r->layers, r->run, NULL, err);
    if (rc < 0)
        return rc;
    r->side = (struct as_diff_side){.total_ns = (double)r->layers->wall_ns,
                                    .peak_memory_bytes = peak_memory(r->layers)};
    rc = take_profile(r, err);
    if (rc != 0)
        return rc < 0 ? rc : ASSAY_OK;
    rc = take_program(r, err);
    if (rc < 0)
        return rc;
    if (rc == 0 && r->layers->calls == 0 && r->layers->n_channels == 0)
        return as_fail(err, ASSAY_ERR_NOTFOUND,
                       "%s, a run of kind \"%.40s\", holds no layers to compare", path,
                       as_run_kind(r->run));
    return fill_layers(r, err);
}

int as_diff_run_open(struct as_diff_run **out, const char *path, bool partial,
                     struct assay_error *err)
{
    struct as_diff_run *r = as_alloc_zero(1, sizeof *r);
    int rc;

    *out = NULL;
    if (!r)
        return as_fail_nomem(err);
    rc = read_run(r, path, partial, err);
    r->side.name = as_arena_text(&r->arena, path, strlen(path));
    if (rc == ASSAY_OK && !r->side.name)
        rc = as_fail_nomem(err);
    if (rc < 0)
        as_diff_run_close(r);
    else
        *out = r;
    return rc;
}

void as_diff_run_close(struct as_diff_run *r)
{
    if (!r)
        return;
    as_layers_free(r->layers);
    as_run_close(r->run);
    as_arena_fini(&r->arena);
    as_free(r);
}
