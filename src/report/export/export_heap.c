/* report/export/export_heap.c - the sampled stacks of a program's allocations in the files of other
 * tools. Figures are the estimates of the report; a frame is a function, whatever the address
 * within it, so that the calls of one function are one block of a flame graph. */
#include "report/export/export_heap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/watch/allocator_wrappers.h"
#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/json/json_writer.h"
#include "base/proto/protobuf_writer.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "base/vec.h"
#include "report/export/flame_graph.h"

static const struct {
    const char *word, *profile, *title;
    unsigned type; /* of pprof: number of its string below */
} weights[] = {
    [AS_HEAP_WEIGH_ALLOCATED] = {"allocated", "allocated",
                                 "Heap: bytes allocated, by the calls that allocated them", 3},
    [AS_HEAP_WEIGH_LIVE] = {"live", "live at the end",
                            "Heap: bytes live at the end, by the calls that allocated them", 6},
    [AS_HEAP_WEIGH_PEAK] = {"peak", "live at the peak",
                            "Heap: bytes live at the peak, by the calls that allocated them", 7},
};

const char *as_heap_weight_at(size_t i)
{
    return i < AS_COUNT_OF(weights) ? weights[i].word : NULL;
}

/* One function of all stacks: numbered in the order they come up. */
struct function {
    const char *name, *file;
};

/* A function at a line. */
struct location {
    uint32_t function, line;
};

struct frames {
    struct as_arena arena;
    struct as_hash_map index, places;
    struct function *function;
    size_t n, capacity;
    struct location *location;
    size_t n_locations, locations_capacity;
    bool nomem;
};

/* What it comes from may hold any bytes; none that separates frames or lines stays. */
static char *clean_name(struct as_arena *arena, const struct as_heap_frame *f)
{
    char text[600], *name;

    if (f->function)
        (void)snprintf(text, sizeof text, "%.380s%s%.200s%s", f->function, f->module ? " (" : "",
                       f->module ? f->module : "", f->module ? ")" : "");
    else
        as_heap_frame_address(f, text, sizeof text);
    name = as_utf8_safe(arena, text, strlen(text));
    for (char *c = name; c && *c; c++)
        if (*c == ';')
            *c = ':';
    return name;
}

static uint32_t function_number(struct frames *f, const struct as_heap_frame *frame)
{
    char *name = clean_name(&f->arena, frame);
    const uint64_t *known = name ? as_hash_map_find(&f->index, name, strlen(name)) : NULL;

    if (known)
        return (uint32_t)*known;
    if (!name || !AS_VEC_RESERVE(f->function, f->n, f->capacity) ||
        as_hash_map_put(&f->index, name, strlen(name), f->n) < 0) {
        f->nomem = true;
        return 0;
    }
    f->function[f->n] = (struct function){name, frame->file};
    return (uint32_t)f->n++;
}

static uint32_t location_number(struct frames *f, const struct as_heap_frame *frame)
{
    struct location at = {function_number(f, frame), frame->line};
    const uint64_t *known = as_hash_map_find(&f->places, &at, sizeof at);
    struct location *key;

    if (known)
        return (uint32_t)*known;
    key = as_arena_alloc(&f->arena, sizeof *key);
    if (key)
        *key = at;
    if (!key || !AS_VEC_RESERVE(f->location, f->n_locations, f->locations_capacity) ||
        as_hash_map_put(&f->places, key, sizeof *key, f->n_locations) < 0) {
        f->nomem = true;
        return 0;
    }
    f->location[f->n_locations] = at;
    return (uint32_t)f->n_locations++;
}

/* The frames of each stack as numbers of locations, innermost first. */
struct stacks {
    const struct as_target *target;
    struct frames frames;
    uint32_t **frame;
    uint64_t max_bytes; /* of a picture; 0: no limit */
    bool peak_known;    /* of some: older runs have none */
};

static void stacks_fini(struct stacks *s)
{
    as_hash_map_fini(&s->frames.index);
    as_hash_map_fini(&s->frames.places);
    as_arena_fini(&s->frames.arena);
    as_free(s->frames.function);
    as_free(s->frames.location);
}

static uint32_t depth_of(const struct as_heap_trace *trace)
{
    return trace->n_frames;
}

static const char *name_at(const struct stacks *s, size_t stack, uint32_t k)
{
    return s->frames.function[s->frames.location[s->frame[stack][k]].function].name;
}

static bool number_stack(struct stacks *s, size_t i)
{
    const struct as_heap_trace *trace = &s->target->trace[i];

    s->frame[i] = as_arena_zero(&s->frames.arena, (size_t)trace->n_frames + 1, sizeof **s->frame);
    for (uint32_t k = 0; s->frame[i] && k < trace->n_frames; k++)
        s->frame[i][k] = location_number(&s->frames, trace->frame[k]);
    return s->frame[i] && !s->frames.nomem;
}

static int stacks_init(struct stacks *s, const struct as_target *target, struct assay_error *err)
{
    bool ok;

    *s = (struct stacks){.target = target};
    s->frame = as_arena_zero(&s->frames.arena, target->n_traces + 1, sizeof(uint32_t *));
    ok = s->frame != NULL;
    for (size_t i = 0; ok && i < target->n_traces; i++)
        ok = number_stack(s, i);
    if (ok)
        return ASSAY_OK;
    stacks_fini(s);
    return as_fail_nomem(err);
}

static uint64_t rounded(double value)
{
    return value > 0 && value < 0x1p63 ? (uint64_t)llround(value) : 0;
}

static uint64_t bytes_of(const struct as_heap_trace *trace, enum as_heap_weight weight)
{
    const struct as_heap_stack *s = &trace->stack;

    return rounded(weight == AS_HEAP_WEIGH_PEAK   ? s->peak_live_bytes
                   : weight == AS_HEAP_WEIGH_LIVE ? s->live_bytes
                                                  : s->allocated_bytes);
}

static bool is_peak_known(const struct as_target *target)
{
    for (size_t i = 0; i < target->n_traces; i++)
        if (target->trace[i].stack.peak_live_bytes >= 0)
            return true;
    return false;
}

/* ---- folded: "outermost;...;innermost bytes" ---- */

static int put_folded(struct stacks *s, enum as_heap_weight weight, struct as_out *out,
                      struct assay_error *err)
{
    (void)err;
    for (size_t i = 0; i < s->target->n_traces; i++) {
        const struct as_heap_trace *trace = &s->target->trace[i];
        uint64_t bytes = bytes_of(trace, weight);

        if (bytes == 0)
            continue;
        for (uint32_t k = depth_of(trace); k-- > 0;)
            as_out_printf(out, "%s%s", name_at(s, i, k), k ? ";" : "");
        as_out_printf(out, " %llu\n", (unsigned long long)bytes);
    }
    return ASSAY_OK;
}

/* ---- speedscope: a sampled profile for each weight ---- */

static void put_profile(const struct stacks *s, struct as_json_writer *w,
                        enum as_heap_weight weight)
{
    uint64_t sum = 0;

    as_json_object(w);
    as_json_kv_text(w, "type", "sampled");
    as_json_kv_text(w, "name", weights[weight].profile);
    as_json_kv_text(w, "unit", "bytes");
    as_json_kv_u64(w, "startValue", 0);
    as_json_kv_array(w, "samples");
    for (size_t i = 0; i < s->target->n_traces; i++) {
        as_json_array(w);
        for (uint32_t k = depth_of(&s->target->trace[i]); k-- > 0;)
            as_json_u64(w, s->frame[i][k]);
        as_json_array_end(w);
    }
    as_json_array_end(w);
    as_json_kv_array(w, "weights");
    for (size_t i = 0; i < s->target->n_traces; i++) {
        as_json_u64(w, bytes_of(&s->target->trace[i], weight));
        sum += bytes_of(&s->target->trace[i], weight);
    }
    as_json_array_end(w);
    as_json_kv_u64(w, "endValue", sum);
    as_json_object_end(w);
}

static int put_speedscope(struct stacks *s, enum as_heap_weight weight, struct as_out *out,
                          struct assay_error *err)
{
    struct as_json_writer w;

    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    as_json_kv_text(&w, "$schema", "https://www.speedscope.app/file-format-schema.json");
    as_json_kv_text(&w, "exporter", "assay " ASSAY_VERSION);
    as_json_kv_u64(&w, "activeProfileIndex", (uint64_t)weight);
    as_json_kv_object(&w, "shared");
    as_json_kv_array(&w, "frames");
    for (size_t i = 0; i < s->frames.n_locations; i++) {
        const struct location *at = &s->frames.location[i];
        const struct function *f = &s->frames.function[at->function];

        as_json_object(&w);
        as_json_kv_text(&w, "name", f->name);
        if (f->file && at->line) {
            as_json_kv_text(&w, "file", f->file);
            as_json_kv_u64(&w, "line", at->line);
        }
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_json_kv_array(&w, "profiles");
    put_profile(s, &w, AS_HEAP_WEIGH_ALLOCATED);
    put_profile(s, &w, AS_HEAP_WEIGH_LIVE);
    if (s->peak_known)
        put_profile(s, &w, AS_HEAP_WEIGH_PEAK);
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_out_char(out, '\n');
    return as_json_writer_finish(&w, err);
}

/* ---- pprof: profile.proto, not compressed, which its readers take as well ---- */

enum { /* fields */
       PROFILE_SAMPLE_TYPE = 1,
       PROFILE_SAMPLE = 2,
       PROFILE_LOCATION = 4,
       PROFILE_FUNCTION = 5,
       PROFILE_STRINGS = 6,
       PROFILE_DEFAULT_TYPE = 14,
       TYPE_TYPE = 1,
       TYPE_UNIT = 2,
       SAMPLE_LOCATION = 1,
       SAMPLE_VALUE = 2,
       LOCATION_ID = 1,
       LOCATION_LINE = 4,
       LINE_FUNCTION = 1,
       LINE_LINE = 2,
       FUNCTION_ID = 1,
       FUNCTION_NAME = 2,
       FUNCTION_SYSTEM_NAME = 3,
       FUNCTION_FILE = 4
};

/* Strings 0 to 7; names of frames follow. */
static const char *const strings[] = {"",      "alloc_objects", "count",       "alloc_space",
                                      "bytes", "inuse_objects", "inuse_space", "peak_space"};

static void put_types(const struct stacks *s, struct as_protobuf *p)
{
    static const unsigned type[][2] = {{1, 2}, {3, 4}, {5, 2}, {6, 4}, {7, 4}};

    for (size_t i = 0; i < AS_COUNT_OF(type) - !s->peak_known; i++) {
        as_protobuf_begin(p, PROFILE_SAMPLE_TYPE);
        as_protobuf_u64(p, TYPE_TYPE, type[i][0]);
        as_protobuf_u64(p, TYPE_UNIT, type[i][1]);
        as_protobuf_end(p);
    }
}

static void put_samples(const struct stacks *s, struct as_protobuf *p)
{
    for (size_t i = 0; i < s->target->n_traces; i++) {
        const struct as_heap_trace *trace = &s->target->trace[i];

        as_protobuf_begin(p, PROFILE_SAMPLE);
        for (uint32_t k = 0; k < depth_of(trace); k++)
            as_protobuf_u64(p, SAMPLE_LOCATION, s->frame[i][k] + UINT64_C(1));
        as_protobuf_u64(p, SAMPLE_VALUE, rounded(trace->stack.allocations));
        as_protobuf_u64(p, SAMPLE_VALUE, rounded(trace->stack.allocated_bytes));
        as_protobuf_u64(p, SAMPLE_VALUE, rounded(trace->stack.live_blocks));
        as_protobuf_u64(p, SAMPLE_VALUE, rounded(trace->stack.live_bytes));
        if (s->peak_known)
            as_protobuf_u64(p, SAMPLE_VALUE, rounded(trace->stack.peak_live_bytes));
        as_protobuf_end(p);
    }
}

static void put_location(struct as_protobuf *p, size_t i, const struct location *at)
{
    as_protobuf_begin(p, PROFILE_LOCATION);
    as_protobuf_u64(p, LOCATION_ID, i + 1);
    as_protobuf_begin(p, LOCATION_LINE);
    as_protobuf_u64(p, LINE_FUNCTION, at->function + UINT64_C(1));
    if (at->line)
        as_protobuf_u64(p, LINE_LINE, at->line);
    as_protobuf_end(p);
    as_protobuf_end(p);
}

/* Its name stands behind the strings above, its file behind the names of all. */
static void put_function(struct as_protobuf *p, size_t i, const struct function *f, size_t n)
{
    as_protobuf_begin(p, PROFILE_FUNCTION);
    as_protobuf_u64(p, FUNCTION_ID, i + 1);
    as_protobuf_u64(p, FUNCTION_NAME, AS_COUNT_OF(strings) + i);
    as_protobuf_u64(p, FUNCTION_SYSTEM_NAME, AS_COUNT_OF(strings) + i);
    if (f->file)
        as_protobuf_u64(p, FUNCTION_FILE, AS_COUNT_OF(strings) + n + i);
    as_protobuf_end(p);
}

static void put_file(struct as_protobuf *p, const char *file)
{
    if (file)
        as_protobuf_text(p, PROFILE_STRINGS, file);
    else
        as_protobuf_string(p, PROFILE_STRINGS, "");
}

static int put_pprof(struct stacks *s, enum as_heap_weight weight, struct as_out *out,
                     struct assay_error *err)
{
    struct as_protobuf p = {0};
    int rc = ASSAY_OK;

    put_types(s, &p);
    put_samples(s, &p);
    for (size_t i = 0; i < s->frames.n_locations; i++)
        put_location(&p, i, &s->frames.location[i]);
    for (size_t i = 0; i < s->frames.n; i++)
        put_function(&p, i, &s->frames.function[i], s->frames.n);
    for (size_t i = 0; i < AS_COUNT_OF(strings); i++)
        as_protobuf_string(&p, PROFILE_STRINGS, strings[i]);
    for (size_t i = 0; i < s->frames.n; i++)
        as_protobuf_text(&p, PROFILE_STRINGS, s->frames.function[i].name);
    for (size_t i = 0; i < s->frames.n; i++)
        put_file(&p, s->frames.function[i].file);
    as_protobuf_u64(&p, PROFILE_DEFAULT_TYPE, weights[weight].type);
    if (as_protobuf_ok(&p))
        as_out_put(out, p.bytes.data, p.bytes.size);
    else
        rc = as_fail_nomem(err);
    as_protobuf_fini(&p);
    return rc;
}

/* ---- flame graph ---- */

static size_t bytes_text(char *out, double weight)
{
    return as_text_bytes(out, weight);
}

/* Templates and arguments make names too long for a frame; the tip has them. */
static const char *label_of(struct as_arena *arena, const struct as_heap_frame *f, const char *name)
{
    char plain[AS_PLAIN_NAME], *label;

    if (!f->function)
        return name;
    as_plain_function_name(f->function, plain);
    if (!plain[0] || plain[0] == ':')
        return name;
    label = as_arena_text(arena, plain, strlen(plain));
    return label ? label : name;
}

/* The name, and the file where it is known. */
static const char *tip_of(struct as_arena *arena, const struct function *f)
{
    size_t size = strlen(f->name) + (f->file ? strlen(f->file) : 0) + 8;
    char *tip = as_arena_alloc(arena, size);

    if (!tip)
        return f->name;
    (void)snprintf(tip, size, "%s%s%s", f->name, f->file ? " in " : "", f->file ? f->file : "");
    return tip;
}

static void grow_stack(struct as_flame *flame, struct as_flame_name *name, struct stacks *s,
                       size_t i, uint64_t bytes)
{
    const struct as_heap_trace *trace = &s->target->trace[i];
    uint32_t node = 0;

    for (uint32_t k = depth_of(trace); bytes && k-- > 0;) {
        const struct as_heap_frame *frame = trace->frame[k];
        uint32_t number = s->frames.location[s->frame[i][k]].function;
        const struct function *f = &s->frames.function[number];

        if (!name[number].label)
            name[number] =
                (struct as_flame_name){.label = label_of(&s->frames.arena, frame, f->name),
                                       .tip = tip_of(&s->frames.arena, f),
                                       .group = frame->module,
                                       .pale = frame->wrapper};
        node = as_flame_step(flame, node, number);
    }
    as_flame_add(flame, node, bytes);
}

static int put_flame_graph(struct stacks *s, enum as_heap_weight weight, struct as_out *out,
                           struct assay_error *err)
{
    struct as_flame_name *name = as_arena_zero(&s->frames.arena, s->frames.n + 1, sizeof *name);
    const struct as_target *t = s->target;
    char subtitle[300], command[160];
    struct as_flame flame = {0};
    uint64_t samples = 0;
    int rc;

    if (!name)
        return as_fail_nomem(err);
    for (size_t i = 0; i < t->n_traces; i++) {
        grow_stack(&flame, name, s, i, bytes_of(&t->trace[i], weight));
        samples += t->trace[i].stack.samples;
    }
    (void)snprintf(command, sizeof command, "%s", t->n_args ? t->argv[0] : "a program");
    (void)snprintf(subtitle, sizeof subtitle,
                   "%s; estimated from %llu samples; gray: functions that allocate for others",
                   command, (unsigned long long)samples);
    rc = as_flame_draw(&flame, name,
                       &(struct as_flame_title){.title = weights[weight].title,
                                                .subtitle = subtitle,
                                                .text = bytes_text,
                                                .max_bytes = s->max_bytes},
                       out, err);
    as_flame_fini(&flame);
    return rc;
}

/* ---- all ---- */

static const struct {
    const char *name;
    int (*put)(struct stacks *s, enum as_heap_weight weight, struct as_out *out,
               struct assay_error *err);
} formats[] = {{"folded", put_folded},
               {"speedscope", put_speedscope},
               {"pprof", put_pprof},
               {"flamegraph", put_flame_graph}};

bool as_export_takes_heap(const char *format)
{
    for (size_t i = 0; i < AS_COUNT_OF(formats); i++)
        if (strcmp(formats[i].name, format) == 0)
            return true;
    return false;
}

int as_export_heap(const struct as_target *target, const char *format, enum as_heap_weight weight,
                   uint64_t max_bytes, struct as_out *out, struct assay_error *err)
{
    struct stacks s;
    int rc;

    if (target->n_traces == 0)
        return as_fail(err, ASSAY_ERR_NOTFOUND, "the run has no stacks of allocations: %s",
                       !target->heap_known && target->heap_why ? target->heap_why
                       : target->heap_known
                           ? "none was sampled, or they were not asked for (--no-stacks)"
                           : "the heap was not watched");
    if (weight == AS_HEAP_WEIGH_PEAK && !is_peak_known(target))
        return as_fail(err, ASSAY_ERR_NOTFOUND,
                       "the run does not hold what stacks had live at the peak of the heap: it was "
                       "made by an older version, or its heap stayed too small to be looked at");
    rc = stacks_init(&s, target, err);
    if (rc < 0)
        return rc;
    s.max_bytes = max_bytes;
    s.peak_known = is_peak_known(target);
    rc = ASSAY_ERR_NOTFOUND;
    for (size_t i = 0; i < AS_COUNT_OF(formats); i++)
        if (strcmp(formats[i].name, format) == 0)
            rc = formats[i].put(&s, weight, out, err);
    stacks_fini(&s);
    return rc;
}
