/* analyze/watch/target_frames.c - the frames of sites and stacks, joined by their numbers, and how
 * they are written. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/watch/allocator_wrappers.h"
#include "analyze/watch/target_read.h"
#include "base/text/text.h"

#define MAX_CHAIN  64u               /* frames of one address */
#define MAX_JOINED ((size_t)4 << 20) /* frames of all stacks: a small file must not cost much */
#define VIA_BYTES  60

/* ---- older runs ---- */

static const char *text_or_none(struct as_arena *arena, const char *text, size_t size, bool *nomem)
{
    const char *copy = size ? as_arena_text(arena, text, size) : NULL;

    *nomem |= size && !copy;
    return copy;
}

const struct as_heap_frame *as_heap_frame_parse(const char *text, struct as_arena *arena)
{
    struct as_heap_frame *f = as_arena_zero(arena, 1, sizeof *f);
    const char *plus = NULL, *module = strstr(text, " ("), *end = text + strlen(text);
    bool nomem = false;

    if (!f)
        return NULL;
    for (const char *at = strstr(text, " ("); at; at = strstr(at + 1, " ("))
        module = at; /* the last one: functions have such, too */
    for (const char *at = strstr(text, "+0x"); at; at = strstr(at + 1, "+0x"))
        plus = at;
    if (module && end[-1] == ')')
        f->module = text_or_none(arena, module + 2, (size_t)(end - 1 - (module + 2)), &nomem);
    if (plus) {
        f->function = text_or_none(arena, text, (size_t)(plus - text), &nomem);
        f->offset = strtoull(plus + 3, NULL, 16);
    } else if (strncmp(text, "0x", 2) == 0) {
        f->offset = strtoull(text + 2, NULL, 16);
    } else {
        f->function = text_or_none(arena, text, (size_t)((module ? module : end) - text), &nomem);
    }
    return nomem ? NULL : f;
}

/* ---- joining ---- */

/* How many frames the address has whose first is number `id`. */
static uint32_t chain_of(const struct as_target *target, uint32_t id)
{
    uint32_t n = 1;

    if (id == 0 || id > target->n_frames)
        return 0;
    while (n < MAX_CHAIN && id - 1 + n < target->n_frames && target->frame[id - 2 + n].inlined)
        n++;
    return n;
}

/* The frames of a stack up to the first that is unknown. */
static int join_stack(struct as_target *target, struct as_heap_trace *trace, size_t *left,
                      struct assay_error *err)
{
    const struct as_heap_frame **frame;
    size_t n = 0, machine = 0;

    for (; machine < trace->stack.n_frames && trace->at[machine] > 0; machine++)
        n += chain_of(target, (uint32_t)trace->at[machine]);
    if (n > *left) {
        n = *left;
        trace->stack.cut = true;
    }
    *left -= n;
    frame = as_arena_zero(&target->arena, n + 1, sizeof(const struct as_heap_frame *));
    if (!frame)
        return as_fail_nomem(err);
    trace->frame = frame;
    trace->frame_id = machine ? (uint32_t)trace->at[0] : 0;
    for (size_t i = 0; i < machine; i++) {
        uint32_t id = (uint32_t)trace->at[i], chain = chain_of(target, id);

        for (uint32_t k = 0; k < chain && trace->n_frames < n; k++)
            frame[trace->n_frames++] = &target->frame[id - 1 + k];
    }
    return ASSAY_OK;
}

int as_target_join_frames(struct as_target *target, struct assay_error *err)
{
    size_t left = MAX_JOINED;

    for (size_t i = 0; i < target->n_frames; i++) {
        struct as_heap_frame *f = &target->frame[i];

        f->wrapper = as_is_allocator_wrapper(f->function, f->module, f->file);
    }
    for (size_t i = 0; i < target->n_places; i++) {
        struct as_target_site *place = &target->place[i];

        place->n_frames = chain_of(target, place->frame_id);
        if (place->n_frames)
            place->frame = &target->frame[place->frame_id - 1];
    }
    for (size_t i = 0; i < target->n_traces; i++) {
        struct as_heap_trace *trace = &target->trace[i];
        int rc = trace->at ? join_stack(target, trace, &left, err) : ASSAY_OK;

        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

/* ---- texts ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void put_plain(const char *function, uint64_t offset, const char *module, char *out,
                      size_t capacity)
{
    int n = snprintf(out, capacity, "%s%s0x%" PRIx64, function ? function : "", function ? "+" : "",
                     offset);

    if (module && n > 0 && (size_t)n < capacity)
        (void)snprintf(out + n, capacity - (size_t)n, " (%s)", module);
}

void as_heap_frame_address(const struct as_heap_frame *frame, char *out, size_t capacity)
{
    if (frame->inlined)
        (void)snprintf(out, capacity, "%s (inlined%s%s)", frame->function ? frame->function : "?",
                       frame->module ? ", " : "", frame->module ? frame->module : "");
    else
        put_plain(frame->function, frame->offset, frame->module, out, capacity);
}

void as_heap_frame_text(const struct as_heap_frame *frame, char *out, size_t capacity)
{
    if (frame->file && frame->line)
        (void)snprintf(out, capacity, "%s  %s:%u", frame->function ? frame->function : "?",
                       base_name(frame->file), frame->line);
    else
        as_heap_frame_address(frame, out, capacity);
}

/* " via xmalloc": the last of the functions at the site, which the caller called. */
static void put_via(const struct as_target_site *place, char *out, size_t capacity)
{
    const char *wrapper = place->n_frames ? place->frame[place->n_frames - 1].function : NULL;
    char name[AS_PLAIN_NAME];

    if (!wrapper)
        return;
    as_plain_function_name(wrapper, name);
    (void)snprintf(out, capacity, " via %.*s", VIA_BYTES, name);
}

void as_target_caller_text(const struct as_target_site *place,
                           const struct as_target_caller *caller, char *out, size_t capacity)
{
    size_t used;

    if (!caller || !caller->frame) {
        if (place->n_frames && place->frame[place->n_frames - 1].file)
            as_heap_frame_text(&place->frame[place->n_frames - 1], out, capacity);
        else
            put_plain(place->function, place->offset, place->module, out, capacity);
        return;
    }
    out[0] = '\0';
    if (caller->estimate && capacity > 1)
        (void)snprintf(out, capacity, "~");
    used = strlen(out);
    as_heap_frame_text(caller->frame, out + used, capacity - used);
    used = strlen(out);
    if (caller->estimate)
        put_via(place, out + used, capacity - used);
}

static double held_share(const struct as_target_site *place, size_t i)
{
    return place->site.live_bytes ? place->caller[i].live_share : place->caller[i].peak_share;
}

/* Of what is live, when anything is: that is what people look for who ask about a site. Else of
 * what was held at the peak; NULL: samples do not show it. */
static const struct as_target_caller *main_caller(const struct as_target_site *place)
{
    size_t most = 0;

    if (place->n_callers == 0 || isnan(held_share(place, 0)))
        return NULL;
    for (size_t i = 1; i < place->n_callers; i++)
        if (held_share(place, i) > held_share(place, most))
            most = i;
    return &place->caller[most];
}

void as_target_site_text(const struct as_target_site *place, char *out, size_t capacity)
{
    size_t used;

    as_target_caller_text(place, main_caller(place), out, capacity);
    used = strlen(out);
    if (place->n_callers > 1)
        (void)snprintf(out + used, capacity - used,
                       main_caller(place) ? ", one of %zu callers" : ", for %zu callers",
                       place->n_callers);
}

static void put_owner(const struct as_target *target, const struct as_target_site *place, char *out,
                      size_t capacity)
{
    size_t used = strlen(out);

    if (target->n_heaps > 1)
        (void)snprintf(out + used, capacity - used, " pid %lld", (long long)place->pid);
}

void as_target_row_owner(const struct as_target *target, const struct as_target_row *row, char *out,
                         size_t capacity)
{
    size_t used;

    as_target_caller_text(row->place, row->caller, out, capacity);
    used = strlen(out);
    if (!row->caller && row->place->n_callers > 1)
        (void)snprintf(out + used, capacity - used, ", for %zu callers", row->place->n_callers);
    put_owner(target, row->place, out, capacity);
}

void as_target_site_owner(const struct as_target *target, const struct as_target_site *place,
                          char *out, size_t capacity)
{
    as_target_site_text(place, out, capacity);
    put_owner(target, place, out, capacity);
}
