/* probe/heap/heap_lists.c - the lists of heap_watch.h: sites, stacks, layers, iterations.
 * Each is read anew from the share; a process that still runs may be a step ahead of it. */
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "probe/heap/heap_pages.h"

#define MAX_FRAMES (UINT64_C(4) << 20) /* of all stacks; beyond, a stack keeps its innermost */
#define FEW_FRAMES 32u

/* The sums of all cells over all threads, [n_cells]; freed by the caller. */
static int sum_cells(const struct as_heap_watch *watch, const struct as_heap_sizes *sizes,
                     struct as_heap_counter **out, struct assay_error *err)
{
    struct as_heap_threads threads = {.watch = watch, .sizes = sizes};
    struct as_heap_counter *sum = as_alloc_zero((size_t)sizes->n_cells + 1, sizeof *sum);
    struct as_heap_thread *t = as_alloc_aligned(_Alignof(struct as_heap_thread), sizeof *t);
    int rc = sum && t ? 1 : as_fail_nomem(err);

    while (rc > 0) {
        rc = as_heap_threads_next(&threads, t, sizeof *t, err);
        if (rc > 0) {
            int added = as_heap_threads_add(&threads, t, sum, err);

            rc = added < 0 ? added : 1;
        }
    }
    as_free(t);
    if (rc < 0) {
        as_free(sum);
        sum = NULL;
    }
    *out = sum;
    return rc;
}

size_t as_heap_watch_live(struct as_heap_watch *watch, uint64_t *live_bytes, size_t capacity)
{
    struct as_heap_counter *sum = NULL;
    struct as_heap_sizes sizes;
    size_t n = 0;

    if (as_heap_read_sizes(watch, &sizes, NULL) < 0 || sum_cells(watch, &sizes, &sum, NULL) < 0)
        goto out;
    for (; n < sizes.n_cells; n++)
        if (n < capacity)
            live_bytes[n] = as_heap_less(sum[n].allocated_bytes, sum[n].freed_bytes);
out:
    as_free(sum);
    return n;
}

#define NO_HALF UINT32_MAX

/* Where the last finished snapshot of the peak is; NO_HALF: there is none. */
static uint32_t last_half(const struct as_heap_sizes *sizes)
{
    uint64_t number = sizes->heap.n_snapshots;

    return number ? (uint32_t)((number + 1) % 2) : NO_HALF;
}

/* What each cell owned of the peak, [n_cells]: of the last snapshot that was finished. A program
 * that makes two more while it is read mixes them; its peak is not over then anyway. */
static int read_peak(const struct as_heap_watch *watch, const struct as_heap_sizes *sizes,
                     uint64_t *peak, struct assay_error *err)
{
    uint32_t half = last_half(sizes), n;

    if (half == NO_HALF)
        return ASSAY_OK;
    n = sizes->heap.snapshot_cells[half];
    if (n > sizes->n_cells)
        n = sizes->n_cells;
    return as_heap_read(watch, AS_HEAP_PEAK_AT + (uint64_t)half * AS_HEAP_CELLS * sizeof *peak,
                        peak, n * sizeof *peak, err);
}

/* The same of stacks, [n_stacks], in AS_HEAP_WEIGHT_ONE. Those that came later had nothing then. */
static int read_stack_peaks(const struct as_heap_watch *watch, const struct as_heap_sizes *sizes,
                            uint64_t *peak, struct assay_error *err)
{
    uint32_t half = last_half(sizes), n;

    if (half == NO_HALF)
        return ASSAY_OK;
    n = sizes->heap.snapshot_stacks[half];
    if (n > sizes->n_stacks)
        n = sizes->n_stacks;
    return as_heap_read(watch,
                        AS_HEAP_STACK_PEAK_AT + (uint64_t)half * AS_HEAP_STACKS * sizeof *peak,
                        peak, n * sizeof *peak, err);
}

static bool fill_site(struct as_heap_site *site, const struct as_heap_cell *cell,
                      const struct as_heap_counter *sum, uint64_t peak)
{
    if (cell->kind >= AS_HEAP_KIND_COUNT || sum->allocations == 0)
        return false;
    site->address = cell->address;
    site->kind = (enum as_heap_kind)cell->kind;
    site->allocations = sum->allocations;
    site->frees = sum->frees;
    site->allocated_bytes = sum->allocated_bytes;
    site->freed_bytes = sum->freed_bytes;
    site->live_bytes = as_heap_less(sum->allocated_bytes, sum->freed_bytes);
    site->live_blocks = as_heap_less(sum->allocations, sum->frees);
    site->peak_live_bytes = peak > INT64_MAX ? 0 : peak; /* seen between two counts: less than 0 */
    site->temporary = sum->temporary;
    site->same_layer = sum->same_layer;
    return true;
}

int as_heap_watch_sites(struct as_heap_watch *watch, struct as_arena *arena,
                        struct as_heap_site **out, size_t *n, struct assay_error *err)
{
    struct as_heap_counter *sum = NULL;
    struct as_heap_cell *cells = NULL;
    struct as_heap_site *site = NULL;
    struct as_heap_sizes sizes;
    const char **layer = NULL;
    uint64_t *peak = NULL;
    int rc = as_heap_read_sizes(watch, &sizes, err);

    *out = NULL;
    *n = 0;
    if (rc < 0)
        return rc;
    cells = as_alloc_zero((size_t)sizes.n_cells + 1, sizeof *cells);
    peak = as_alloc_zero((size_t)sizes.n_cells + 1, sizeof *peak);
    site = as_arena_zero(arena, (size_t)sizes.n_cells + 1, sizeof *site);
    rc = cells && peak && site ? ASSAY_OK : as_fail_nomem(err);
    if (rc == ASSAY_OK)
        rc = as_heap_read(watch, AS_HEAP_CELLS_AT, cells, sizes.n_cells * sizeof *cells, err);
    if (rc == ASSAY_OK)
        rc = read_peak(watch, &sizes, peak, err);
    if (rc == ASSAY_OK)
        rc = as_heap_layer_names(watch, &sizes, arena, &layer, err);
    if (rc == ASSAY_OK)
        rc = sum_cells(watch, &sizes, &sum, err);
    for (uint32_t i = 1; rc == ASSAY_OK && i < sizes.n_cells; i++) {
        struct as_heap_site *to = &site[*n];

        if (!fill_site(to, &cells[i], &sum[i], peak[i]))
            continue;
        to->id = i;
        to->layer = cells[i].layer < sizes.n_layers ? layer[cells[i].layer] : NULL;
        ++*n;
    }
    as_free(sum);
    as_free(peak);
    as_free(cells);
    *out = rc == ASSAY_OK ? site : NULL;
    return rc;
}

static double weighed(uint64_t more, uint64_t less)
{
    return (double)as_heap_less(more, less) / AS_HEAP_WEIGHT_ONE;
}

/* The frames of all stacks, for as long as they are read. */
struct nodes {
    struct as_heap_node *at;
    uint32_t n;
    uint64_t left; /* frames that may be kept */
};

/* A caller stands before the one it calls, so the way out has an end. */
static uint32_t depth_of(const struct nodes *nodes, uint32_t node)
{
    uint32_t depth = 0;

    while (node > 0 && node < nodes->n && depth < AS_HEAP_MAX_FRAMES) {
        uint32_t caller = nodes->at[node].caller;

        depth++;
        node = caller < node ? caller : 0;
    }
    return depth;
}

static int fill_frames(struct as_heap_stack *stack, struct nodes *nodes, uint32_t node,
                       struct as_arena *arena, struct assay_error *err)
{
    uint32_t n = depth_of(nodes, node);
    uint64_t *frame;

    if (n > FEW_FRAMES && n > nodes->left) {
        n = FEW_FRAMES;
        stack->cut = true;
    }
    nodes->left -= n < nodes->left ? n : nodes->left;
    frame = as_arena_zero(arena, (size_t)n + 1, sizeof *frame);
    if (!frame)
        return as_fail_nomem(err);
    for (uint32_t i = 0; i < n; i++, node = nodes->at[node].caller)
        frame[i] = nodes->at[node].address;
    stack->frame = frame;
    stack->n_frames = n;
    return ASSAY_OK;
}

/* Read between two counts it may be below 0; more than was allocated nobody held. */
static double peak_of(const struct as_heap_stack_entry *e, uint64_t peak)
{
    uint64_t most = e->allocated_bytes;

    if (peak > INT64_MAX)
        return 0;
    return (double)(peak < most ? peak : most) / AS_HEAP_WEIGHT_ONE;
}

/* False: it was never sampled, or has no frame. */
static bool fill_stack(struct as_heap_stack *stack, const struct as_heap_stack_entry *e,
                       const uint64_t *peak, const struct nodes *nodes)
{
    if (e->samples == 0 || depth_of(nodes, e->node) == 0)
        return false;
    *stack = (struct as_heap_stack){.samples = e->samples,
                                    .allocations = weighed(e->allocations, 0),
                                    .allocated_bytes = weighed(e->allocated_bytes, 0),
                                    .live_blocks = weighed(e->allocations, e->frees),
                                    .live_bytes = weighed(e->allocated_bytes, e->freed_bytes),
                                    .peak_live_bytes = peak ? peak_of(e, *peak) : AS_UNKNOWN,
                                    .cut = e->cut != 0};
    return true;
}

static int read_nodes(const struct as_heap_watch *watch, const struct as_heap_sizes *sizes,
                      struct nodes *out, struct assay_error *err)
{
    *out = (struct nodes){.n = sizes->n_nodes, .left = MAX_FRAMES};
    out->at = as_alloc_zero((size_t)out->n + 1, sizeof *out->at);
    if (!out->at)
        return as_fail_nomem(err);
    return as_heap_read(watch, AS_HEAP_NODES_AT, out->at, out->n * sizeof *out->at, err);
}

/* What is read beside the entries. */
struct beside {
    struct nodes nodes;
    uint64_t *peak; /* [n_stacks] */
    const char **layer;
};

static int read_beside(const struct as_heap_watch *watch, const struct as_heap_sizes *sizes,
                       struct as_arena *arena, struct beside *out, struct assay_error *err)
{
    int rc = read_nodes(watch, sizes, &out->nodes, err);

    out->peak = as_alloc_zero((size_t)sizes->n_stacks + 1, sizeof *out->peak);
    if (!out->peak)
        return as_fail_nomem(err);
    if (rc == ASSAY_OK)
        rc = read_stack_peaks(watch, sizes, out->peak, err);
    return rc < 0 ? rc : as_heap_layer_names(watch, sizes, arena, &out->layer, err);
}

static int read_stacks(const struct as_heap_watch *watch, const struct as_heap_sizes *sizes,
                       struct beside *beside, struct as_arena *arena, struct as_heap_stack *stack,
                       size_t *n, struct assay_error *err)
{
    bool captured = last_half(sizes) != NO_HALF;
    struct as_heap_stack_entry entry;
    struct nodes *nodes = &beside->nodes;
    int rc = ASSAY_OK;

    for (uint32_t i = 1; rc == ASSAY_OK && i < sizes->n_stacks; i++) {
        rc = as_heap_read(watch, AS_HEAP_STACKS_AT + (uint64_t)i * sizeof entry, &entry,
                          sizeof entry, err);
        if (rc < 0 || !fill_stack(&stack[*n], &entry, captured ? &beside->peak[i] : NULL, nodes))
            continue;
        rc = fill_frames(&stack[*n], nodes, entry.node, arena, err);
        stack[*n].layer = entry.layer < sizes->n_layers ? beside->layer[entry.layer] : NULL;
        ++*n;
    }
    return rc;
}

int as_heap_watch_stacks(struct as_heap_watch *watch, struct as_arena *arena,
                         struct as_heap_stack **out, size_t *n, struct assay_error *err)
{
    struct as_heap_stack *stack;
    struct as_heap_sizes sizes;
    struct beside beside = {.peak = NULL};
    int rc = as_heap_read_sizes(watch, &sizes, err);

    *out = NULL;
    *n = 0;
    if (rc < 0)
        return rc;
    stack = as_arena_zero(arena, (size_t)sizes.n_stacks + 1, sizeof *stack);
    if (!stack)
        return as_fail_nomem(err);
    rc = read_beside(watch, &sizes, arena, &beside, err);
    if (rc == ASSAY_OK)
        rc = read_stacks(watch, &sizes, &beside, arena, stack, n, err);
    as_free(beside.peak);
    as_free(beside.nodes.at);
    *out = rc == ASSAY_OK ? stack : NULL;
    return rc;
}

/* Calls that a thread is still in, or has not looked since: as far as they came. */
static void add_open(struct as_heap_layer *layer, uint32_t n_layers, const struct as_heap_thread *t)
{
    uint32_t n = t->n_open < AS_HEAP_OPEN ? t->n_open : AS_HEAP_OPEN;
    uint64_t live = t->allocated_bytes - t->freed_bytes;
    int64_t most = INT64_MIN;

    for (uint32_t i = n; i > 0; i--) {
        const struct as_heap_open *o = &t->open[i - 1];
        uint64_t grown;

        most = o->max_bytes > most ? o->max_bytes : most; /* what is within counts too */
        if (o->layer == 0 || o->layer >= n_layers)
            continue;
        grown = (uint64_t)most - (uint64_t)o->start_bytes;
        layer[o->layer].calls++;
        layer[o->layer].net_bytes =
            (int64_t)((uint64_t)layer[o->layer].net_bytes + live - (uint64_t)o->start_bytes);
        if (grown <= INT64_MAX && grown > layer[o->layer].peak_within_bytes)
            layer[o->layer].peak_within_bytes = grown;
    }
}

static int read_layers(const struct as_heap_watch *watch, const struct as_heap_sizes *sizes,
                       struct as_heap_layer *layer, struct assay_error *err)
{
    struct as_heap_threads threads = {.watch = watch, .sizes = sizes};
    struct as_heap_layer_entry entry;
    struct as_heap_thread t;
    int rc = ASSAY_OK;

    for (uint32_t i = 1; i < sizes->n_layers; i++) {
        rc = as_heap_read(watch, AS_HEAP_LAYERS_AT + (uint64_t)i * sizeof entry, &entry,
                          sizeof entry, err);
        if (rc < 0)
            return rc;
        layer[i].calls = entry.calls;
        layer[i].peak_within_bytes = entry.peak_within_bytes;
        layer[i].net_bytes = entry.net_bytes;
    }
    while ((rc = as_heap_threads_next(&threads, &t, offsetof(struct as_heap_thread, cache), err)) >
           0)
        add_open(layer, sizes->n_layers, &t);
    return rc;
}

int as_heap_watch_layers(struct as_heap_watch *watch, struct as_arena *arena,
                         struct as_heap_layer **out, size_t *n, struct assay_error *err)
{
    struct as_heap_sizes sizes;
    struct as_heap_layer *layer;
    const char **name = NULL;
    int rc = as_heap_read_sizes(watch, &sizes, err);

    *out = NULL;
    *n = 0;
    if (rc < 0)
        return rc;
    layer = as_arena_zero(arena, (size_t)sizes.n_layers + 1, sizeof *layer);
    if (!layer)
        return as_fail_nomem(err);
    rc = as_heap_layer_names(watch, &sizes, arena, &name, err);
    if (rc == ASSAY_OK)
        rc = read_layers(watch, &sizes, layer, err);
    for (uint32_t i = 1; rc == ASSAY_OK && i < sizes.n_layers; i++) {
        if (!name[i] || layer[i].calls == 0)
            continue;
        layer[*n] = layer[i];
        layer[(*n)++].name = name[i];
    }
    *out = rc == ASSAY_OK ? layer : NULL;
    return rc;
}

int as_heap_watch_iterations(struct as_heap_watch *watch, struct as_arena *arena,
                             uint64_t **live_bytes, size_t *n, struct assay_error *err)
{
    uint64_t total, *ring = as_arena_zero(arena, AS_HEAP_MARKS, sizeof *ring), *live;
    struct as_heap_sizes sizes;
    int rc = as_heap_read_sizes(watch, &sizes, err);

    *live_bytes = NULL;
    *n = 0;
    if (rc < 0)
        return rc;
    if (!ring)
        return as_fail_nomem(err);
    rc = as_heap_read(watch, AS_HEAP_MARKS_AT, ring, AS_HEAP_MARKS * sizeof *ring, err);
    if (rc < 0)
        return rc;
    total = sizes.heap.iterations;
    *n = total < AS_HEAP_MARKS ? (size_t)total : AS_HEAP_MARKS;
    live = as_arena_zero(arena, *n + 1, sizeof *live);
    if (!live)
        return as_fail_nomem(err);
    for (size_t i = 0; i < *n; i++)
        live[i] = ring[(total - *n + i) % AS_HEAP_MARKS];
    *live_bytes = live;
    return ASSAY_OK;
}
