/* analyze/run/layer_collect.c - gathers the figures of layers while the spans of a run are walked.
 */
#include "analyze/run/layer_collect.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"

#define AS_MAX_ITERATIONS ((size_t)4 << 20)

static const char *const phase_name[ASSAY_PHASE_COUNT] = {
    [ASSAY_PHASE_FORWARD] = "forward",     [ASSAY_PHASE_BACKWARD] = "backward",
    [ASSAY_PHASE_OPTIMIZER] = "optimizer", [ASSAY_PHASE_DATA] = "data",
    [ASSAY_PHASE_COMM] = "comm",
};

static int8_t find_phase(const struct as_run_site *site)
{
    if (site->category != ASSAY_CATEGORY_PHASE)
        return -1;
    for (int i = 0; i < ASSAY_PHASE_COUNT; i++) {
        if (strcmp(site->name, phase_name[i]) == 0)
            return (int8_t)i;
    }
    return -1;
}

int as_collector_init(struct as_collector *c, struct as_run *run, struct as_layers *out,
                      size_t max_samples, struct assay_error *err)
{
    size_t n = (size_t)run->n_sites + 1;

    *c = (struct as_collector){
        .run = run, .out = out, .max_samples = max_samples, .spark_shift = 10};
    c->site = as_alloc_zero(n, sizeof(struct as_gathered *));
    c->seen = as_alloc_zero(n, sizeof(struct as_gathered *));
    c->touched = as_alloc_zero(n, sizeof(struct as_gathered *));
    c->channel = as_alloc_zero(n, sizeof(struct as_channel *));
    c->phase_of_site = as_alloc_zero(n, 1);
    if (!c->site || !c->seen || !c->touched || !c->channel || !c->phase_of_site) {
        as_collector_fini(c);
        return as_fail_nomem(err);
    }
    for (size_t i = 0; i < n; i++)
        c->phase_of_site[i] = find_phase(as_run_site_at(run, (uint32_t)i));
    return ASSAY_OK;
}

void as_collector_fini(struct as_collector *c)
{
    for (size_t i = 0; c->seen && i < c->n_seen; i++) {
        as_free(c->seen[i]->sample);
        as_free(c->seen[i]->bucket);
    }
    as_free(c->site);
    as_free(c->seen);
    as_free(c->touched);
    as_free(c->channel);
    as_free(c->phase_of_site);
    as_free(c->path);
    as_free(c->phase);
    as_call_tree_fini(&c->tree);
    as_event_collector_fini(&c->events);
    as_arena_fini(&c->arena);
    *c = (struct as_collector){0};
}

/* Ids that the run does not name share one entry. */
static uint32_t known(const struct as_collector *c, uint32_t site)
{
    return site <= c->run->n_sites ? site : 0;
}

static struct as_gathered *gather(struct as_collector *c, uint32_t site, uint64_t ns)
{
    struct as_gathered *g = c->site[site];

    if (!g) {
        g = as_arena_zero(&c->arena, 1, sizeof *g);
        if (!g) {
            c->no_memory = true;
            return NULL;
        }
        if (c->n_sparks++ < AS_SPARK_LAYERS) {
            g->spark = as_arena_zero(&c->arena, 1, sizeof *g->spark);
            c->no_memory |= !g->spark;
        }
        g->site = site;
        g->first_ns = ns;
        c->site[site] = c->seen[c->n_seen++] = g;
    }
    if (!g->in_part) {
        g->in_part = true;
        c->touched[c->n_touched++] = g;
    }
    if (ns < g->first_ns)
        g->first_ns = ns;
    return g;
}

/* ---- sparklines ---- */

static void widen_sparks(struct as_collector *c)
{
    c->spark_shift++;
    for (size_t i = 0; i < c->n_seen; i++) {
        struct as_spark *s = c->seen[i]->spark;

        for (size_t b = 0; s && b < AS_SPARK_BINS; b++) {
            bool in = b < AS_SPARK_BINS / 2;

            s->sum_ns[b] = in ? s->sum_ns[2 * b] + s->sum_ns[2 * b + 1] : 0;
            s->n[b] = in ? s->n[2 * b] + s->n[2 * b + 1] : 0;
        }
    }
}

static void add_spark(struct as_collector *c, struct as_gathered *g, uint64_t end_ns, uint64_t ns)
{
    while (end_ns >> c->spark_shift >= AS_SPARK_BINS)
        widen_sparks(c);
    if (!g->spark)
        return;
    g->spark->sum_ns[end_ns >> c->spark_shift] += (double)ns;
    g->spark->n[end_ns >> c->spark_shift]++;
}

/* ---- durations ---- */

static bool make_histogram(struct as_gathered *g)
{
    g->bucket = as_alloc_zero(AS_HISTOGRAM_BUCKETS(AS_HISTOGRAM_DEFAULT_BITS), sizeof *g->bucket);
    for (size_t i = 0; g->bucket && i < g->n_samples; i++)
        g->bucket[as_histogram_bucket(AS_HISTOGRAM_DEFAULT_BITS, g->sample[i])]++;
    as_free(g->sample);
    g->sample = NULL;
    g->n_samples = g->capacity = 0;
    return g->bucket != NULL;
}

/* Too many durations to keep them all: from here on each layer has a histogram. */
static void change_to_histograms(struct as_collector *c)
{
    c->histograms = true;
    for (size_t i = 0; i < c->n_seen && !c->no_memory; i++)
        c->no_memory = !make_histogram(c->seen[i]);
}

static void add_sample(struct as_collector *c, struct as_gathered *g, uint64_t ns)
{
    if (c->histograms) {
        if (!g->bucket && !make_histogram(g))
            c->no_memory = true;
        else
            g->bucket[as_histogram_bucket(AS_HISTOGRAM_DEFAULT_BITS, ns)]++;
        return;
    }
    if (g->n_samples == g->capacity) {
        size_t capacity = g->capacity ? g->capacity + g->capacity / 2 : 64;
        uint64_t *grown = as_realloc(g->sample, capacity, sizeof *grown);

        if (!grown) {
            c->no_memory = true;
            return;
        }
        g->sample = grown;
        g->capacity = capacity;
    }
    g->sample[g->n_samples++] = ns;
    if (++c->n_samples > c->max_samples)
        change_to_histograms(c);
}

/* ---- spans ---- */

static bool reach_depth(struct as_collector *c, uint32_t depth)
{
    size_t capacity = c->depth_capacity ? 2 * c->depth_capacity : 64;
    uint32_t *path;
    uint8_t *phase;

    if (depth + 1 < c->depth_capacity)
        return true;
    path = as_realloc(c->path, capacity, sizeof *path);
    if (path)
        c->path = path;
    phase = as_realloc(c->phase, capacity, 1);
    if (phase)
        c->phase = phase;
    if (!path || !phase) {
        c->no_memory = true;
        return false;
    }
    c->path[0] = 0;
    c->phase[0] = AS_LAYER_NO_PHASE;
    c->depth_capacity = capacity;
    return true;
}

static void on_begin(void *user, uint32_t id, uint32_t depth, uint64_t ns)
{
    struct as_collector *c = user;
    uint32_t site = known(c, id);
    struct as_gathered *g = c->no_memory ? NULL : gather(c, site, ns);
    uint32_t node;

    if (!g || !reach_depth(c, depth))
        return;
    g->part.on_stack++;
    node = as_call_tree_child(&c->tree, c->path[depth], site);
    if (node == UINT32_MAX) {
        c->no_memory = true;
        return;
    }
    c->path[depth + 1] = node;
    c->phase[depth + 1] =
        c->phase_of_site[site] >= 0 ? (uint8_t)c->phase_of_site[site] : c->phase[depth];
}

static void count_incomplete(struct as_collector *c, struct as_gathered *g,
                             enum as_span_state state)
{
    if (state == AS_SPAN_UNCLOSED) {
        g->unclosed++;
        c->out->unclosed++;
    } else if (state == AS_SPAN_CUT) {
        g->cut++;
        c->out->cut++;
    } else {
        g->open++;
        c->out->open++;
    }
}

static void on_end(void *user, const struct as_span *span)
{
    struct as_collector *c = user;
    struct as_gathered *g = c->no_memory ? NULL : c->site[known(c, span->site)];
    uint64_t ns = span->end_ns - span->start_ns;
    uint64_t self_ns = ns > span->child_ns ? ns - span->child_ns : 0;
    bool failed = span->state == AS_SPAN_FAILED;
    struct as_call_node *node;
    unsigned phase;

    if (!g)
        return;
    g->part.on_stack--;
    if (span->depth == 0)
        c->thread->busy_ns += ns;
    if (span->state != AS_SPAN_OK && !failed) {
        count_incomplete(c, g, span->state);
        return;
    }
    as_moments_add(&g->part.moments, ns);
    g->part.failed += failed;
    g->part.self_ns += self_ns;
    if (g->part.on_stack == 0)
        g->part.inclusive_ns += ns;
    node = &c->tree.node[c->path[span->depth + 1]];
    node->calls++;
    node->failed += failed;
    node->inclusive_ns += ns;
    node->self_ns += self_ns;
    phase = c->phase[span->depth];
    g->phase_calls[phase]++;
    g->phase_self_ns[phase] += self_ns;
    add_spark(c, g, span->end_ns, ns);
    add_sample(c, g, ns);
}

/* ---- the rest ---- */

static void on_sample(void *user, uint32_t id, uint64_t ns, double value)
{
    struct as_collector *c = user;
    uint32_t site = known(c, id);
    struct as_channel *ch = c->channel[site];

    (void)ns;
    if (!(value - value == 0)) /* NaN and infinities are no measurement */
        return;
    if (!ch) {
        ch = as_arena_zero(&c->arena, 1, sizeof *ch);
        if (!ch) {
            c->no_memory = true;
            return;
        }
        *ch = (struct as_channel){
            .site = site, .info = as_run_site_at(c->run, site), .min = value, .max = value};
        c->channel[site] = ch;
        c->n_channels++;
    }
    ch->n++;
    ch->min = value < ch->min ? value : ch->min;
    ch->max = value > ch->max ? value : ch->max;
    ch->mean += (value - ch->mean) / (double)ch->n;
    ch->last = value;
}

static void on_iteration(void *user, const struct as_iteration *it)
{
    struct as_collector *c = user;
    struct as_iterations *all = &c->out->iterations;

    if (it->cut) {
        all->cut++;
        return;
    }
    if (all->n >= AS_MAX_ITERATIONS) {
        all->truncated = true;
        return;
    }
    if (!AS_VEC_RESERVE(all->record, all->n, c->iteration_capacity)) {
        c->no_memory = true;
        return;
    }
    all->record[all->n++] =
        (struct assay_latency_record){.sample_id = it->number,
                                      .wall_time_ns = it->end_ns - it->start_ns,
                                      .kernel_time_ns = it->cpu_ns,
                                      .kernel_available = it->has_cpu,
                                      .seq_len = it->has_length ? it->length : 0};
    all->any_kernel |= it->has_cpu;
    all->any_length |= it->has_length;
}

static void on_loss(void *user, uint64_t from_ns, uint64_t to_ns, uint64_t n_events)
{
    struct as_collector *c = user;

    (void)from_ns;
    (void)to_ns;
    c->thread->lost += n_events;
    c->thread->lost_unknown |= n_events == 0;
}

static void on_wait(void *user, uint64_t from_ns, uint64_t to_ns)
{
    struct as_collector *c = user;

    c->thread->waited_ns += to_ns - from_ns;
}

static void on_point(void *user, const struct as_point *point)
{
    struct as_collector *c = user;

    as_events_on_point(&c->events, point);
}

static void on_lock(void *user, const struct as_lock_span *lock)
{
    struct as_collector *c = user;

    as_events_on_lock(&c->events, lock);
}

/* Moves what the thread did from the parts into the whole, and keeps it as rows of its own. */
static bool fold_parts(struct as_collector *c, uint32_t thread)
{
    struct as_layers *out = c->out;

    for (size_t i = 0; i < c->n_touched; i++) {
        struct as_gathered *g = c->touched[i];
        struct as_part *p = &g->part;

        if (!AS_VEC_RESERVE(out->thread_layer, out->n_thread_layers, c->thread_layer_capacity))
            return false;
        out->thread_layer[out->n_thread_layers++] = (struct as_thread_layer){
            .layer = g->site, /* layers.c turns it into the layer's place */
            .thread = thread,
            .calls = p->moments.total.n,
            .failed = p->failed,
            .inclusive_ns = p->inclusive_ns,
            .self_ns = p->self_ns,
            .min_ns = p->moments.total.n ? (double)p->moments.total.min : AS_UNKNOWN,
            .max_ns = p->moments.total.n ? (double)p->moments.total.max : AS_UNKNOWN,
            .mean_ns = as_moments_mean(&p->moments),
            .std_population_ns = as_moments_std_population(&p->moments)};
        if (as_run_site_at(c->run, g->site)->category != ASSAY_CATEGORY_PHASE)
            out->thread[thread].calls += p->moments.total.n;
        as_moments_merge(&g->moments, &p->moments);
        g->failed += p->failed;
        g->inclusive_ns += p->inclusive_ns;
        g->self_ns += p->self_ns;
        g->n_threads++;
        *p = (struct as_part){0};
        g->in_part = false;
    }
    c->n_touched = 0;
    return true;
}

int as_collector_walk(struct as_collector *c, const struct as_run_thread *thread,
                      struct as_thread_summary *summary, struct assay_error *err)
{
    const struct as_span_visitor visitor = {.user = c,
                                            .begin = on_begin,
                                            .end = on_end,
                                            .iteration = on_iteration,
                                            .sample = on_sample,
                                            .loss = on_loss,
                                            .wait = on_wait,
                                            .point = on_point,
                                            .lock = on_lock};
    uint32_t index = (uint32_t)(summary - c->out->thread);
    int rc;

    summary->info = thread;
    c->thread = summary;
    c->events.run = c->run;
    c->events.thread = index + 1;
    rc = as_span_walk(c->run, thread, &visitor, &summary->counts, err);
    if (rc == ASSAY_OK && (c->no_memory || c->events.no_memory || !fold_parts(c, index)))
        rc = as_fail_nomem(err);
    return rc;
}
