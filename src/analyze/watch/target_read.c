/* analyze/watch/target_read.c - the data blocks of a run that tell of a program, into struct
 * as_target. What cannot be trusted is passed over and counted. */
#include "analyze/watch/target_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "watch/watch_fields.h"
#include "watch/watch_record.h"

/* More than these are not kept: a small file must not cost much memory. */
#define MAX_PROCESSES 65536u
#define MAX_PLACES    131072u
#define MAX_FRAMES    2097152u
#define MAX_TRACES    16384u
#define MAX_LAYERS    65536u
#define MAX_GEMM      65536u
#define MAX_SERIES    131072u
#define MAX_POINTS    1024u /* of one series */
#define MAX_MARKS     65536u
#define MAX_HEAPS     4096u
#define MAX_ARGS      1024u

#define FIELD(type, member, field_kind)                                                            \
    {                                                                                              \
        .key = #member, .kind = AS_FIELD_##field_kind, .offset = offsetof(type, member)            \
    }
#define OWN_FIELD(name, function)                                                                  \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_OWN, .read = (function)                                    \
    }
#define SHAPE(type, table, needed)                                                                 \
    {                                                                                              \
        .field = (table), .n = sizeof(table) / sizeof *(table), .size = sizeof(type),              \
        .need = (needed)                                                                           \
    }

/* ---- the program ---- */

static int read_args(void *user, void *object, struct as_json_parser *p, struct assay_error *err)
{
    struct as_target_reader *r = user;
    struct as_watch_facts *facts = object;
    struct as_rows args = {
        .arena = &r->target->arena, .size = sizeof *facts->argv, .max = MAX_ARGS};
    int rc = as_rows_read_texts(&args, p, err);

    facts->argv = args.at;
    facts->n_args = args.n;
    r->target->passed_over += args.passed_over;
    return rc < 0 ? rc : 1;
}

static int read_args_left_out(void *user, void *object, struct as_json_parser *p,
                              struct assay_error *err)
{
    struct as_target_reader *r = user;
    int rc = as_json_next(p, err);

    (void)object;
    if (rc < 0)
        return rc;
    if (as_json_get_u64(p, &r->target->args_left_out, NULL) == ASSAY_OK)
        return 1;
    rc = as_json_skip(p, err);
    return rc < 0 ? rc : 0;
}

static const struct as_json_field program_fields[] = {
    OWN_FIELD("argv", read_args),
    FIELD(struct as_watch_facts, exit_status, INT),
    FIELD(struct as_watch_facts, wall_seconds, F64),
    OWN_FIELD("args_left_out", read_args_left_out),
    FIELD(struct as_watch_facts, folder, TEXT),
    FIELD(struct as_watch_facts, signal, INT),
    FIELD(struct as_watch_facts, dumped, BOOL),
    FIELD(struct as_watch_facts, heap_why, TEXT),
    FIELD(struct as_watch_facts, peak_from, TEXT),
    FIELD(struct as_watch_facts, gemm_why, TEXT),
    FIELD(struct as_watch_facts, gemm_core, TEXT),
    FIELD(struct as_watch_facts, cpu_vectors, TEXT),
    FIELD(struct as_watch_facts, usable_cpus, F64),
    FIELD(struct as_watch_facts, address_limit_bytes, F64),
    FIELD(struct as_watch_facts, group_limit_bytes, F64),
    FIELD(struct as_watch_facts, started_mono_ns, U64),
    FIELD(struct as_watch_facts, interval_seconds, F64),
    FIELD(struct as_watch_facts, judged_until_seconds, F64),
    FIELD(struct as_watch_facts, exit_live_bytes, F64),
    FIELD(struct as_watch_facts, readings, U64),
    FIELD(struct as_watch_facts, processes_left_out, U64),
#define X(name) FIELD(struct as_watch_facts, name, FACT),
    AS_WATCH_FACTS(X)
#undef X
};
static const struct as_json_shape program_shape =
    SHAPE(struct as_watch_facts, program_fields, 7); /* the first three */

static int read_program(struct as_target_reader *r, struct as_json_parser *p,
                        struct assay_error *err)
{
    struct as_target *target = r->target;
    struct as_watch_facts f;
    bool begins; /* written when the command was started */
    int rc = as_json_fields_read(&program_shape, &f, r, &target->arena, p, err);

    if (rc < 0)
        return rc;
    begins = f.exit_status == AS_EXIT_UNKNOWN && isnan(f.wall_seconds);
    if (rc == 0 || !(begins || f.wall_seconds >= 0) || (begins ? r->has_program : r->has_end)) {
        target->passed_over++;
        return ASSAY_OK;
    }
    r->has_program = true;
    r->has_end = !begins;
    target->argv = f.argv;
    target->n_args = f.n_args;
    target->folder = f.folder;
    target->exit_status = f.exit_status;
    target->signal = f.signal;
    target->dumped = f.dumped;
    target->heap_why = f.heap_why;
    target->peak_from = f.peak_from;
    target->gemm_why = f.gemm_why;
    target->gemm_core = f.gemm_core;
    target->cpu_vectors = f.cpu_vectors;
    if (f.usable_cpus >= 1 && !(target->processors <= f.usable_cpus))
        target->processors = f.usable_cpus;
    target->address_limit_bytes = f.address_limit_bytes > 0 ? f.address_limit_bytes : AS_UNKNOWN;
    target->group_limit_bytes = f.group_limit_bytes > 0 ? f.group_limit_bytes : AS_UNKNOWN;
    target->started_mono_ns = f.started_mono_ns;
    target->wall_seconds = f.wall_seconds;
    target->interval_seconds = f.interval_seconds;
    target->readings = f.readings;
    target->judged_until_seconds = f.judged_until_seconds > 0 ? f.judged_until_seconds : AS_UNKNOWN;
    target->exit_live_bytes = f.exit_live_bytes >= 0 ? f.exit_live_bytes : AS_UNKNOWN;
    target->processes_left_out = f.processes_left_out;
#define X(name) target->name = f.name;
    AS_WATCH_FACTS(X)
#undef X
    return ASSAY_OK;
}

/* ---- the heap of one process ---- */

struct heap_told {
    int64_t pid;
    bool symbols;
    const char *lines_why;
    uint32_t n_sites, n_threads, n_stacks, n_layers;
    uint64_t attached_mono_ns, ended_mono_ns; /* 0: not told */
#define X(name) uint64_t name;
    AS_HEAP_TOTALS(X)
#undef X
};

static const struct as_json_field heap_fields[] = {FIELD(struct heap_told, pid, I64),
                                                   FIELD(struct heap_told, allocations, U64),
                                                   FIELD(struct heap_told, n_sites, U32),
                                                   FIELD(struct heap_told, n_threads, U32),
                                                   FIELD(struct heap_told, n_stacks, U32),
                                                   FIELD(struct heap_told, n_layers, U32),
                                                   FIELD(struct heap_told, symbols, BOOL),
                                                   FIELD(struct heap_told, lines_why, TEXT),
                                                   FIELD(struct heap_told, attached_mono_ns, U64),
                                                   FIELD(struct heap_told, ended_mono_ns, U64),
#define X(name) FIELD(struct heap_told, name, U64),
                                                   AS_HEAP_TOTALS(X)
#undef X
};
static const struct as_json_shape heap_shape = SHAPE(struct heap_told, heap_fields, 3);

/* Sums stay at their end rather than running over. */
static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return as_add_u64(a, b, &sum) ? sum : UINT64_MAX;
}

static uint32_t plus_u32(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* When the greatest of the peaks was stands for when they all were. */
static void add_heap(struct as_target *target, const struct heap_told *h, uint64_t *greatest_peak)
{
    struct as_heap_totals *t = &target->heap;
    uint64_t when = h->peak_bytes >= *greatest_peak ? h->peak_mono_ns : t->peak_mono_ns;

#define X(name) t->name = plus(t->name, h->name);
    AS_HEAP_TOTALS(X)
#undef X
    t->peak_mono_ns = when;
    *greatest_peak = h->peak_bytes > *greatest_peak ? h->peak_bytes : *greatest_peak;
    t->n_sites = plus_u32(t->n_sites, h->n_sites);
    t->n_threads = plus_u32(t->n_threads, h->n_threads);
    t->n_stacks = plus_u32(t->n_stacks, h->n_stacks);
    t->n_layers = plus_u32(t->n_layers, h->n_layers);
    target->heap_known = true;
    target->n_heaps++;
    target->symbols_known |= h->symbols;
    if (!target->lines_why)
        target->lines_why = h->lines_why;
}

/* Peaks of several do not add up unless they were there together. */
static int keep_span(struct as_target_reader *r, const struct heap_told *h, struct assay_error *err)
{
    struct as_heap_span *span;

    if (r->heaps.n == MAX_HEAPS)
        return ASSAY_OK;
    span = as_rows_add(&r->heaps);
    if (!span)
        return as_fail_nomem(err);
    *span = (struct as_heap_span){.from_ns = h->attached_mono_ns,
                                  .to_ns = h->ended_mono_ns ? h->ended_mono_ns : UINT64_MAX,
                                  .peak_bytes = h->peak_bytes,
                                  .slack_bytes = h->peak_slack_bytes,
                                  .heap = r->heap};
    return ASSAY_OK;
}

static int read_heap(struct as_target_reader *r, struct as_json_parser *p, struct assay_error *err)
{
    struct heap_told told;
    int rc = as_json_fields_read(&heap_shape, &told, r, &r->target->arena, p, err);

    if (rc < 0)
        return rc;
    r->heap++;
    if (rc == 0) {
        r->target->passed_over++;
        return ASSAY_OK;
    }
    add_heap(r->target, &told, &r->greatest_peak);
    return keep_span(r, &told, err);
}

/* ---- lists ---- */

static const struct as_json_field process_fields[] = {
    FIELD(struct as_process_row, pid, I64),
    FIELD(struct as_process_row, parent_pid, I64),
    FIELD(struct as_process_row, start_seconds, F64),
    FIELD(struct as_process_row, name, TEXT),
    FIELD(struct as_process_row, end_seconds, F64),
    FIELD(struct as_process_row, runtime, TEXT),
    FIELD(struct as_process_row, heap_watched, BOOL),
#define X(name) FIELD(struct as_process_row, name, FACT),
    AS_PROCESS_FACTS(X)
#undef X
};
static const struct as_json_shape process_shape = SHAPE(struct as_process_row, process_fields, 7);

static const struct as_json_field frame_fields[] = {
    FIELD(struct as_heap_frame, offset, U64),  FIELD(struct as_heap_frame, function, TEXT),
    FIELD(struct as_heap_frame, module, TEXT), FIELD(struct as_heap_frame, file, TEXT),
    FIELD(struct as_heap_frame, line, U32),    FIELD(struct as_heap_frame, inlined, BOOL),
};
static const struct as_json_shape frame_shape = SHAPE(struct as_heap_frame, frame_fields, 1);

/* Of the whole run, counted from 1; 0: the heap has no such frame. */
static uint32_t frame_number(const struct as_target_reader *r, double number)
{
    size_t n = r->frames.n - r->frames_from;

    if (r->frames_of != r->heap || !(number >= 0 && number < (double)n))
        return 0;
    return (uint32_t)(r->frames_from + (size_t)number + 1);
}

static int read_frame(void *user, void *object, struct as_json_parser *p, struct assay_error *err)
{
    const struct as_target_reader *r = user;
    struct as_target_site *place = object;
    uint64_t number;
    int rc = as_json_next(p, err);

    if (rc < 0)
        return rc;
    if (as_json_get_u64(p, &number, NULL) == ASSAY_OK) {
        place->frame_id = frame_number(r, (double)number);
        return 1;
    }
    rc = as_json_skip(p, err);
    return rc < 0 ? rc : 1;
}

_Static_assert(sizeof(enum as_heap_kind) == sizeof(uint32_t), "kinds are read as numbers");
static const struct as_json_field place_fields[] = {
    {.key = "id", .kind = AS_FIELD_U32, .offset = offsetof(struct as_target_site, site.id)},
    {.key = "kind", .kind = AS_FIELD_U32, .offset = offsetof(struct as_target_site, site.kind)},
    {.key = "layer", .kind = AS_FIELD_TEXT, .offset = offsetof(struct as_target_site, site.layer)},
    FIELD(struct as_target_site, function, TEXT),
    FIELD(struct as_target_site, module, TEXT),
    FIELD(struct as_target_site, offset, U64),
    OWN_FIELD("frame", read_frame),
#define X(name)                                                                                    \
    {.key = #name, .kind = AS_FIELD_U64, .offset = offsetof(struct as_target_site, site.name)},
    AS_HEAP_SITE_COUNTS(X)
#undef X
};
static const struct as_json_shape place_shape = SHAPE(struct as_target_site, place_fields, 3);

static int read_at(void *user, void *object, struct as_json_parser *p, struct assay_error *err)
{
    struct as_target_reader *r = user;
    struct as_heap_trace *trace = object;
    struct as_rows rows = {
        .arena = &r->target->arena, .size = sizeof(double), .max = AS_HEAP_MAX_FRAMES};
    int rc = as_rows_read_numbers(&rows, p, err);
    double *at = rows.at;

    for (size_t i = 0; rc >= 0 && i < rows.n; i++)
        at[i] = frame_number(r, at[i]);
    trace->at = at;
    trace->stack.n_frames = (uint32_t)rows.n;
    return rc < 0 ? rc : 1;
}

/* As older runs have them. */
static int read_frames(void *user, void *object, struct as_json_parser *p, struct assay_error *err)
{
    struct as_target_reader *r = user;
    struct as_heap_trace *trace = object;
    struct as_rows rows = {
        .arena = r->scratch, .size = sizeof(const char *), .max = AS_HEAP_MAX_FRAMES};
    int rc = as_rows_read_texts(&rows, p, err);
    const struct as_heap_frame **frame;

    if (rc < 0)
        return rc;
    frame = as_arena_zero(&r->target->arena, rows.n + 1, sizeof(const struct as_heap_frame *));
    if (!frame)
        return as_fail_nomem(err);
    for (size_t i = 0; i < rows.n; i++) {
        frame[i] = as_heap_frame_parse(((const char *const *)rows.at)[i], &r->target->arena);
        if (!frame[i])
            return as_fail_nomem(err);
    }
    trace->frame = frame;
    trace->n_frames = (uint32_t)rows.n;
    return rows.passed_over == 0;
}

static const struct as_json_field trace_fields[] = {
    {.key = "samples",
     .kind = AS_FIELD_U64,
     .offset = offsetof(struct as_heap_trace, stack.samples)},
    OWN_FIELD("at", read_at),
    OWN_FIELD("frames", read_frames),
    {.key = "cut", .kind = AS_FIELD_BOOL, .offset = offsetof(struct as_heap_trace, stack.cut)},
    {.key = "layer", .kind = AS_FIELD_TEXT, .offset = offsetof(struct as_heap_trace, stack.layer)},
#define X(name)                                                                                    \
    {.key = #name, .kind = AS_FIELD_F64, .offset = offsetof(struct as_heap_trace, stack.name)},
    AS_HEAP_STACK_ESTIMATES(X)
#undef X
};
static const struct as_json_shape trace_shape = SHAPE(struct as_heap_trace, trace_fields, 1);

static const struct as_json_field layer_fields[] = {
    FIELD(struct as_heap_layer, name, TEXT),
    FIELD(struct as_heap_layer, calls, U64),
    FIELD(struct as_heap_layer, peak_within_bytes, U64),
    FIELD(struct as_heap_layer, net_bytes, I64),
};
static const struct as_json_shape layer_shape = SHAPE(struct as_heap_layer, layer_fields, 15);

static int read_shape_text(void *user, void *object, struct as_json_parser *p,
                           struct assay_error *err)
{
    struct as_gemm_calls *calls = object;
    int rc = as_json_next(p, err);

    (void)user;
    if (rc == AS_JSON_STRING) {
        (void)snprintf(
            calls->shape, sizeof calls->shape, "%.*s",
            (int)(p->text_size < sizeof calls->shape ? p->text_size : sizeof calls->shape),
            p->text);
        return 1;
    }
    return rc < 0 ? rc : as_json_skip(p, err);
}

static const struct as_json_field gemm_fields[] = {FIELD(struct as_gemm_calls, function, TEXT),
                                                   FIELD(struct as_gemm_calls, calls, U64),
                                                   FIELD(struct as_gemm_calls, time_ns, U64),
                                                   FIELD(struct as_gemm_calls, dtype, TEXT),
                                                   OWN_FIELD("shape", read_shape_text),
                                                   FIELD(struct as_gemm_calls, flops, F64),
#define X(name) FIELD(struct as_gemm_calls, name, U64),
                                                   AS_GEMM_COUNTS(X)
#undef X
};
static const struct as_json_shape gemm_shape = SHAPE(struct as_gemm_calls, gemm_fields, 7);

static int read_points(struct as_target_reader *r, struct as_json_parser *p, double **out,
                       size_t *n, struct assay_error *err)
{
    struct as_rows rows = {.arena = r->scratch, .size = sizeof **out, .max = MAX_POINTS};
    int rc = as_rows_read_numbers(&rows, p, err);

    *out = rows.at;
    *n = rows.n;
    return rc < 0 ? rc : rows.passed_over == 0;
}

static int read_seconds(void *user, void *object, struct as_json_parser *p, struct assay_error *err)
{
    struct as_site_history *s = object;

    return read_points(user, p, &s->seconds, &s->n_seconds, err);
}

static int read_live(void *user, void *object, struct as_json_parser *p, struct assay_error *err)
{
    struct as_site_history *s = object;

    return read_points(user, p, &s->live_bytes, &s->n_live, err);
}

static const struct as_json_field series_fields[] = {
    FIELD(struct as_site_history, id, U32),
    OWN_FIELD("seconds", read_seconds),
    OWN_FIELD("live_bytes", read_live),
};
static const struct as_json_shape series_shape = SHAPE(struct as_site_history, series_fields, 7);

/* ---- blocks ---- */

#define NO_PID ((size_t)-1)

/* Blocks that hold {"pid": ..., "left_out": ..., key: [...]}. */
static const struct list {
    const char *kind, *key;
    const struct as_json_shape *shape; /* NULL: of numbers */
    size_t rows;                       /* where in the reader */
    size_t pid, heap;                  /* where in a row; NO_PID: nowhere */
    size_t left_out;                   /* where in the program; NO_PID: nowhere */
} lists[] = {
    {AS_DATA_PROCESSES, "processes", &process_shape, offsetof(struct as_target_reader, processes),
     NO_PID, NO_PID, NO_PID},
    {AS_DATA_FRAMES, "frames", &frame_shape, offsetof(struct as_target_reader, frames), NO_PID,
     NO_PID, NO_PID},
    {AS_DATA_SITES, "sites", &place_shape, offsetof(struct as_target_reader, places),
     offsetof(struct as_target_site, pid), offsetof(struct as_target_site, heap),
     offsetof(struct as_target, places_left_out)},
    {AS_DATA_STACKS, "stacks", &trace_shape, offsetof(struct as_target_reader, traces),
     offsetof(struct as_heap_trace, pid), offsetof(struct as_heap_trace, heap),
     offsetof(struct as_target, traces_left_out)},
    {AS_DATA_LAYERS, "layers", &layer_shape, offsetof(struct as_target_reader, layers), NO_PID,
     NO_PID, NO_PID},
    {AS_DATA_SERIES, "series", &series_shape, offsetof(struct as_target_reader, series), NO_PID,
     offsetof(struct as_site_history, heap), NO_PID},
    {AS_DATA_GEMM, "calls", &gemm_shape, offsetof(struct as_target_reader, gemm), NO_PID, NO_PID,
     offsetof(struct as_target, gemm_unplaced)},
    {AS_DATA_ITERATIONS, "live_bytes", NULL, offsetof(struct as_target_reader, marks), NO_PID,
     NO_PID, NO_PID},
};

/* Tells the rows of a block whose they are. */
static void set_owner(const struct as_target_reader *r, const struct list *list,
                      struct as_rows *rows, size_t from, int64_t pid)
{
    for (size_t i = from; i < rows->n; i++) {
        char *row = (char *)rows->at + i * rows->size;

        if (list->pid != NO_PID)
            memcpy(row + list->pid, &pid, sizeof pid);
        if (list->heap != NO_PID)
            memcpy(row + list->heap, &r->heap, sizeof r->heap);
    }
}

/* Numbers of frames are counted within a heap. */
static void begin_frames(struct as_target_reader *r, const struct as_rows *rows)
{
    if (rows != &r->frames || r->frames_of == r->heap)
        return;
    r->frames_of = r->heap;
    r->frames_from = rows->n;
}

/* Iterations of several processes do not make one series: those of the first count. */
static void keep_marks(struct as_target_reader *r, struct as_rows *rows, size_t from, int64_t pid)
{
    if (from == 0)
        r->marks_pid = pid;
    else if (pid != r->marks_pid)
        rows->n = from;
}

static int read_list(struct as_target_reader *r, const struct list *list, struct as_json_parser *p,
                     struct assay_error *err)
{
    struct as_rows *rows = (struct as_rows *)(void *)((char *)r + list->rows);
    uint64_t *left_out =
        list->left_out == NO_PID ? NULL : (uint64_t *)(void *)((char *)r->target + list->left_out);
    size_t from = rows->n;
    uint64_t more = 0;
    int64_t pid = 0;
    int rc;

    begin_frames(r, rows);
    while ((rc = as_json_next(p, err)) == AS_JSON_KEY) {
        bool bad = false;

        if (as_json_text_is(p, list->key)) {
            rc = list->shape ? as_rows_read(rows, list->shape, r, p, err)
                             : as_rows_read_numbers(rows, p, err);
        } else if (as_json_text_is(p, "pid")) {
            rc = as_json_next(p, err);
            bad = rc > 0 && as_json_get_i64(p, &pid, NULL) < 0;
        } else if (as_json_text_is(p, "left_out")) {
            rc = as_json_next(p, err);
            bad = rc > 0 && as_json_get_u64(p, &more, NULL) < 0;
        } else {
            rc = as_json_skip(p, err);
        }
        if (bad) {
            r->target->passed_over++;
            rc = as_json_skip(p, err);
        }
        if (rc < 0)
            break;
    }
    /* What came before a fault is kept. */
    set_owner(r, list, rows, from, pid);
    if (!list->shape)
        keep_marks(r, rows, from, pid);
    if (left_out)
        *left_out = plus(*left_out, more);
    return rc < 0 ? rc : ASSAY_OK;
}

void as_target_reader_init(struct as_target_reader *r, struct as_target *target,
                           struct as_arena *scratch)
{
    struct as_arena *arena = &target->arena;

    *r = (struct as_target_reader){
        .target = target,
        .scratch = scratch,
        .processes = {.arena = arena, .size = sizeof *target->process, .max = MAX_PROCESSES},
        .frames = {.arena = arena, .size = sizeof *target->frame, .max = MAX_FRAMES},
        .places = {.arena = arena, .size = sizeof *target->place, .max = MAX_PLACES},
        .traces = {.arena = arena, .size = sizeof *target->trace, .max = MAX_TRACES},
        .layers = {.arena = arena, .size = sizeof *target->layer, .max = MAX_LAYERS},
        .gemm = {.arena = arena, .size = sizeof *target->gemm, .max = MAX_GEMM},
        .series = {.arena = scratch, .size = sizeof(struct as_site_history), .max = MAX_SERIES},
        .marks = {.arena = arena, .size = sizeof(double), .max = MAX_MARKS},
        .heaps = {.arena = scratch, .size = sizeof(struct as_heap_span), .max = MAX_HEAPS},
    };
}

static int read_kind(struct as_target_reader *r, const char *kind, struct as_json_parser *p,
                     struct assay_error *err)
{
    if (strcmp(kind, AS_DATA_PROGRAM) == 0)
        return read_program(r, p, err);
    if (strcmp(kind, AS_DATA_HEAP) == 0)
        return read_heap(r, p, err);
    for (size_t i = 0; i < AS_COUNT_OF(lists); i++)
        if (strcmp(kind, lists[i].kind) == 0)
            return read_list(r, &lists[i], p, err);
    return ASSAY_OK; /* somebody else's */
}

int as_target_read_block(struct as_target_reader *r, const char *kind, const char *json,
                         size_t size, struct assay_error *err)
{
    struct as_json_parser p;
    int rc;

    as_json_parser_init(&p, json, size);
    rc = as_json_next(&p, NULL);
    if (rc == AS_JSON_OBJECT)
        rc = read_kind(r, kind, &p, err);
    else if (rc >= 0)
        rc = ASSAY_ERR_FORMAT;
    as_json_parser_fini(&p);
    if (rc == ASSAY_ERR_NOMEM)
        return rc;
    r->target->passed_over += rc < 0;
    return ASSAY_OK;
}
