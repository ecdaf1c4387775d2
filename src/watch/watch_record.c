/* watch/watch_record.c - writes what was seen of a program into the open session, as data
 * blocks that analyze/watch/target.h reads back. A list goes into as many blocks as it needs. */
#include "watch/watch_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json/json_writer.h"
#include "trace/record/recorder.h"
#include "watch/watch_fields.h"
#include "watch/watch_frames.h"

#define BLOCK_BYTES (3u << 20) /* a new block is begun beyond; an item is far below 1 MiB */
#define MAX_ARGS    1024u
#define MAX_TEXT    1024u /* bytes of an argument or a name; the rest is left out */
#define MAX_SITES   20000u
#define MAX_STACKS  2000u

static int begin(struct as_out *out, struct as_json_writer *w, struct assay_error *err)
{
    int rc = as_out_memory(out, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(w, out, 0);
    as_json_object(w);
    return ASSAY_OK;
}

/* Ends the object, puts it into the run and frees it, also when that fails. */
static int end(struct as_out *out, struct as_json_writer *w, const char *kind,
               struct assay_error *err)
{
    const char *json;
    size_t size;
    int rc;

    as_json_object_end(w);
    rc = as_json_writer_finish(w, err);
    json = as_out_get(out, &size);
    if (rc == ASSAY_OK && !as_out_ok(out))
        rc = as_fail_nomem(err);
    if (rc == ASSAY_OK)
        rc = as_session_data(kind, json, size, err);
    as_out_drop(out);
    return rc;
}

/* A list: `put` writes item `i` of `items`. */
struct list {
    const char *kind, *key;
    int64_t pid; /* 0: of no one process */
    const void *items;
    size_t n;
    uint64_t left_out; /* items there were beyond `n` */
    void (*put)(struct as_json_writer *w, const void *items, size_t i);
};

static int put_list(const struct list *list, struct assay_error *err)
{
    size_t i = 0;
    int rc;

    do {
        struct as_json_writer w;
        struct as_out out;

        rc = begin(&out, &w, err);
        if (rc < 0)
            return rc;
        if (list->pid)
            as_json_kv_i64(&w, "pid", list->pid);
        if (i == 0)
            as_json_kv_u64(&w, "left_out", list->left_out);
        as_json_kv_array(&w, list->key);
        while (i < list->n && out.total_bytes < BLOCK_BYTES)
            list->put(&w, list->items, i++);
        as_json_array_end(&w);
        rc = end(&out, &w, list->kind, err);
    } while (rc == ASSAY_OK && i < list->n);
    return rc;
}

static void put_text(struct as_json_writer *w, const char *key, const char *text)
{
    as_json_key(w, key);
    if (text)
        as_json_text_n(w, text, strnlen(text, MAX_TEXT));
    else
        as_json_null(w);
}

static void put_fact(struct as_json_writer *w, const char *key, struct as_fact fact)
{
    if (fact.why)
        put_text(w, key, fact.why);
    else
        as_json_kv_u64(w, key, fact.value);
}

static void put_args(struct as_json_writer *w, const struct as_watch_facts *f)
{
    size_t most = f->without_args ? 1 : MAX_ARGS, n = f->n_args < most ? f->n_args : most;

    as_json_kv_array(w, "argv");
    for (size_t i = 0; i < n; i++)
        as_json_text_n(w, f->argv[i], strnlen(f->argv[i], MAX_TEXT));
    as_json_array_end(w);
    as_json_kv_u64(w, "args_left_out", f->n_args - n);
}

int as_watch_record_facts(const struct as_watch_facts *facts, struct assay_error *err)
{
    struct as_json_writer w;
    struct as_out out;
    int rc = begin(&out, &w, err);

    if (rc < 0)
        return rc;
    put_args(&w, facts);
    put_text(&w, "folder", facts->folder);
    AS_JSON_FIELDS(&w, facts, exit_status, signal, dumped);
    put_text(&w, "heap_why", facts->heap_why);
    put_text(&w, "peak_from", facts->peak_from);
    put_text(&w, "gemm_why", facts->gemm_why);
    put_text(&w, "gemm_core", facts->gemm_core);
    put_text(&w, "cpu_vectors", facts->cpu_vectors);
    AS_JSON_FIELDS(&w, facts, usable_cpus, address_limit_bytes, group_limit_bytes, started_mono_ns,
                   wall_seconds, interval_seconds, readings, processes_left_out,
                   judged_until_seconds, exit_live_bytes);
#define X(name) put_fact(&w, #name, facts->name);
    AS_WATCH_FACTS(X)
#undef X
    return end(&out, &w, AS_DATA_PROGRAM, err);
}

static void put_process(struct as_json_writer *w, const void *items, size_t i)
{
    const struct as_process_facts *p = (const struct as_process_facts *)items + i;

    as_json_object(w);
    as_json_kv_i64(w, "pid", p->pid);
    as_json_kv_i64(w, "parent_pid", p->parent_pid);
    put_text(w, "name", p->name);
    put_text(w, "runtime", p->runtime);
    AS_JSON_FIELDS(w, p, start_seconds, end_seconds, heap_watched);
#define X(name) put_fact(w, #name, p->name);
    AS_PROCESS_FACTS(X)
#undef X
    as_json_object_end(w);
}

int as_watch_record_processes(const struct as_process_facts *process, size_t n,
                              struct assay_error *err)
{
    const struct list list = {.kind = AS_DATA_PROCESSES,
                              .key = "processes",
                              .items = process,
                              .n = n,
                              .put = put_process};

    return put_list(&list, err);
}

/* The heap of one process on its way into the run. */
struct heap {
    struct as_heap_watch *watch;
    struct as_symbols *symbols; /* NULL: no names */
    int64_t pid;
    uint64_t attached_ns, ended_ns; /* watched from, and until; 0: it did not say */
    struct as_arena arena;
    struct as_heap_site *site;
    struct as_heap_stack *stack;
    size_t n_sites, n_stacks;
    uint64_t sites_left_out, stacks_left_out;
    struct as_watch_frames frames;
};

static int record_totals(struct heap *h, struct assay_error *err)
{
    struct as_heap_totals t;
    struct as_json_writer w;
    struct as_out out;
    int rc = as_heap_watch_totals(h->watch, &t, err);

    if (rc == ASSAY_OK)
        rc = begin(&out, &w, err);
    if (rc < 0)
        return rc;
    as_json_kv_i64(&w, "pid", h->pid);
    as_json_kv_bool(&w, "symbols", h->symbols != NULL);
    put_text(&w, "lines_why", h->symbols ? as_symbols_lines_why(h->symbols) : NULL);
    as_json_kv_u64(&w, "attached_mono_ns", h->attached_ns);
    as_json_kv_u64(&w, "ended_mono_ns", h->ended_ns);
#define X(name) as_json_kv_u64(&w, #name, t.name);
    AS_HEAP_TOTALS(X)
#undef X
    AS_JSON_FIELDS(&w, &t, n_sites, n_threads, n_stacks, n_layers);
    return end(&out, &w, AS_DATA_HEAP, err);
}

/* Where its frames begin in the list of frames. */
static void put_number(struct as_json_writer *w, const struct heap *h, uint64_t address)
{
    uint32_t number = as_watch_frames_number(&h->frames, address);

    if (number == AS_WATCH_NO_FRAME)
        as_json_null(w);
    else
        as_json_u64(w, number);
}

static void put_site(struct as_json_writer *w, const void *items, size_t i)
{
    const struct heap *h = items;
    const struct as_heap_site *s = &h->site[i];
    struct as_symbol symbol = {.offset = s->address};

    if (h->symbols)
        as_symbols_find(h->symbols, s->address, &symbol);
    as_json_object(w);
    as_json_key(w, "frame");
    put_number(w, h, s->address);
    as_json_kv_u64(w, "id", s->id);
    as_json_kv_u64(w, "kind", (uint64_t)s->kind);
    put_text(w, "layer", s->layer);
    put_text(w, "function", symbol.function);
    put_text(w, "module", symbol.module);
    as_json_kv_u64(w, "offset", symbol.offset);
#define X(name) as_json_kv_u64(w, #name, s->name);
    AS_HEAP_SITE_COUNTS(X)
#undef X
    as_json_object_end(w);
}

static int larger_site(const void *a, const void *b)
{
    const struct as_heap_site *x = a, *y = b;

    if (x->allocated_bytes != y->allocated_bytes)
        return x->allocated_bytes > y->allocated_bytes ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static void put_frame(struct as_json_writer *w, const void *items, size_t i)
{
    const struct as_watch_frame *f = (const struct as_watch_frame *)items + i;

    as_json_object(w);
    put_text(w, "function", f->function);
    put_text(w, "module", f->module);
    as_json_kv_u64(w, "offset", f->offset);
    if (f->file)
        put_text(w, "file", f->file);
    if (f->line)
        as_json_kv_u64(w, "line", f->line);
    if (f->inlined)
        as_json_kv_bool(w, "inlined", true);
    as_json_object_end(w);
}

static void put_stack(struct as_json_writer *w, const void *items, size_t i)
{
    const struct heap *h = items;
    const struct as_heap_stack *s = &h->stack[i];

    as_json_object(w);
    as_json_kv_u64(w, "samples", s->samples);
    put_text(w, "layer", s->layer);
#define X(name) as_json_kv_f64(w, #name, s->name);
    AS_HEAP_STACK_ESTIMATES(X)
#undef X
    as_json_kv_bool(w, "cut", s->cut);
    as_json_kv_array(w, "at");
    for (uint32_t k = 0; k < s->n_frames; k++)
        put_number(w, h, s->frame[k]);
    as_json_array_end(w);
    as_json_object_end(w);
}

static int larger_stack(const void *a, const void *b)
{
    const struct as_heap_stack *x = a, *y = b;

    return (x->allocated_bytes < y->allocated_bytes) - (x->allocated_bytes > y->allocated_bytes);
}

static int read_sites(struct heap *h, struct assay_error *err)
{
    int rc = as_heap_watch_sites(h->watch, &h->arena, &h->site, &h->n_sites, err);

    if (rc == ASSAY_OK && h->n_sites > MAX_SITES) {
        qsort(h->site, h->n_sites, sizeof *h->site, larger_site);
        h->sites_left_out = h->n_sites - MAX_SITES;
        h->n_sites = MAX_SITES;
    }
    return rc;
}

static int read_stacks(struct heap *h, struct assay_error *err)
{
    int rc = as_heap_watch_stacks(h->watch, &h->arena, &h->stack, &h->n_stacks, err);

    if (rc == ASSAY_OK && h->n_stacks > MAX_STACKS) {
        qsort(h->stack, h->n_stacks, sizeof *h->stack, larger_stack);
        h->stacks_left_out = h->n_stacks - MAX_STACKS;
        h->n_stacks = MAX_STACKS;
    }
    return rc;
}

/* Frames first: the others refer to them. */
static int record_sites(struct heap *h, struct assay_error *err)
{
    const struct list sites = {.kind = AS_DATA_SITES,
                               .key = "sites",
                               .pid = h->pid,
                               .items = h,
                               .n = h->n_sites,
                               .left_out = h->sites_left_out,
                               .put = put_site};
    const struct list stacks = {.kind = AS_DATA_STACKS,
                                .key = "stacks",
                                .pid = h->pid,
                                .items = h,
                                .n = h->n_stacks,
                                .left_out = h->stacks_left_out,
                                .put = put_stack};
    struct list frames = {.kind = AS_DATA_FRAMES, .key = "frames", .pid = h->pid, .put = put_frame};
    int rc;

    frames.items = h->frames.frame;
    frames.n = h->frames.n;
    frames.left_out = h->frames.left_out;
    rc = put_list(&frames, err);
    if (rc == ASSAY_OK)
        rc = put_list(&sites, err);
    return rc < 0 ? rc : put_list(&stacks, err);
}

static void put_layer(struct as_json_writer *w, const void *items, size_t i)
{
    const struct as_heap_layer *l = (const struct as_heap_layer *)items + i;

    as_json_object(w);
    put_text(w, "name", l->name);
    AS_JSON_FIELDS(w, l, calls, peak_within_bytes, net_bytes);
    as_json_object_end(w);
}

static void put_live(struct as_json_writer *w, const void *items, size_t i)
{
    as_json_u64(w, ((const uint64_t *)items)[i]);
}

static void put_series(struct as_json_writer *w, const void *items, size_t i)
{
    const struct as_site_series *s = (const struct as_site_series *)items + i;

    as_json_object(w);
    as_json_kv_u64(w, "id", s->id);
    as_json_kv_array(w, "seconds");
    for (size_t k = 0; k < s->n; k++)
        as_json_f64(w, s->seconds[k]);
    as_json_array_end(w);
    as_json_kv_array(w, "live_bytes");
    for (size_t k = 0; k < s->n; k++)
        as_json_f64(w, s->live_bytes[k]);
    as_json_array_end(w);
    as_json_object_end(w);
}

static int record_layers(struct heap *h, struct assay_error *err)
{
    struct list layers = {.kind = AS_DATA_LAYERS, .key = "layers", .pid = h->pid, .put = put_layer};
    struct list marks = {
        .kind = AS_DATA_ITERATIONS, .key = "live_bytes", .pid = h->pid, .put = put_live};
    struct as_heap_layer *layer = NULL;
    uint64_t *live = NULL;
    int rc = as_heap_watch_layers(h->watch, &h->arena, &layer, &layers.n, err);

    layers.items = layer;
    if (rc == ASSAY_OK && layers.n > 0)
        rc = put_list(&layers, err);
    if (rc == ASSAY_OK)
        rc = as_heap_watch_iterations(h->watch, &h->arena, &live, &marks.n, err);
    marks.items = live;
    if (rc == ASSAY_OK && marks.n > 0)
        rc = put_list(&marks, err);
    return rc;
}

int as_watch_record_heap(struct as_heap_watch *watch, struct as_symbols *symbols,
                         const struct as_site_series *series, size_t n_series,
                         struct assay_error *err)
{
    struct heap h = {.watch = watch, .symbols = symbols};
    struct as_shm_header header;
    struct list list = {
        .kind = AS_DATA_SERIES, .key = "series", .items = series, .n = n_series, .put = put_series};
    int rc;

    as_heap_watch_header(watch, &header);
    h.pid = list.pid = header.pid;
    h.attached_ns = header.attached_mono_ns;
    h.ended_ns = header.ended_mono_ns;
    rc = read_sites(&h, err);
    if (rc == ASSAY_OK)
        rc = read_stacks(&h, err);
    if (rc == ASSAY_OK)
        rc = as_watch_frames_find(&h.frames, symbols, h.site, h.n_sites, h.stack, h.n_stacks,
                                  &h.arena, err);
    if (rc == ASSAY_OK)
        rc = record_totals(&h, err);
    if (rc == ASSAY_OK)
        rc = record_sites(&h, err);
    if (rc == ASSAY_OK)
        rc = record_layers(&h, err);
    if (rc == ASSAY_OK && n_series > 0)
        rc = put_list(&list, err);
    as_arena_fini(&h.arena);
    return rc;
}

static void put_calls(struct as_json_writer *w, const void *items, size_t i)
{
    const struct as_gemm_calls *c = (const struct as_gemm_calls *)items + i;

    as_json_object(w);
    put_text(w, "function", c->function);
    put_text(w, "dtype", c->dtype);
    as_json_kv_text_n(w, "shape", c->shape, strnlen(c->shape, sizeof c->shape));
    as_json_kv_f64(w, "flops", c->flops);
#define X(name) as_json_kv_u64(w, #name, c->name);
    AS_GEMM_COUNTS(X)
#undef X
    as_json_object_end(w);
}

int as_watch_record_gemm(int64_t pid, const struct as_gemm_calls *calls, size_t n,
                         uint64_t unplaced, struct assay_error *err)
{
    const struct list list = {.kind = AS_DATA_GEMM,
                              .key = "calls",
                              .pid = pid,
                              .items = calls,
                              .n = n,
                              .left_out = unplaced,
                              .put = put_calls};

    return put_list(&list, err);
}
