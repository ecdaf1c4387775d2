/* tests/unit/target_stand_ins.h - stands in for the recorder, the heap's share and the names of
 * addresses of a program that never was. For watch_kit.h alone. */
#ifndef AS_TESTS_TARGET_STAND_INS_H
#define AS_TESTS_TARGET_STAND_INS_H

#include "run_kit.h"

#include <assay/scope.h>

#include "trace/record/recorder.h"
#include "watch/watch_record.h"

struct program_kit {
    bool leaks;   /* site 1 grows by 1.15 MiB/s, the heap by 1.2 */
    bool returns; /* what grew is freed in the last readings */
    bool maps;    /* resident memory grows by what is mapped, the heap does not */
    bool hostile; /* names that want to harm a terminal, and long ones */
    bool no_heap, no_names;
    bool waits;     /* it hardly runs */
    bool marks;     /* iterations and layers were marked */
    size_t n_sites; /* more than the six that there are; 0: just those */
    double seconds; /* 14 unless set */
};

#define PROGRAM_KIT_MIB      (1024.0 * 1024)
#define PROGRAM_KIT_INTERVAL 0.05

/* ---- what records ---- */

static struct kit *program_kit_run; /* where data blocks go; NULL: no session */
static size_t program_kit_largest;  /* bytes of the largest block so far */

int as_session_data(const char *kind, const char *json, size_t size, struct assay_error *err)
{
    uint8_t *payload, *to;

    if (!program_kit_run)
        return as_fail(err, ASSAY_ERR_STATE, "no session is open");
    payload = malloc(16 + strlen(kind) + size);
    assert_non_null(payload);
    to = kit_text(payload, kind);
    memcpy(to, json, size);
    kit_add(program_kit_run, AS_BLOCK_DATA, payload, (size_t)(to - payload) + size, 0);
    free(payload);
    if (size > program_kit_largest)
        program_kit_largest = size;
    return ASSAY_OK;
}

/* ---- what names ---- */

static const char program_kit_nasty[] =
    "evil\x1b[31m\xe2\x80\xae<script>|`*_\n\t\xff\"name\"\x07=cmd";

static const struct {
    const char *function, *module;
    uint64_t offset;
} program_kit_names[] = {
    {"parse_row", "a.out", 0x4c},
    {"load_weights", "a.out", 0x1b0},
    {"make_temp", "libfoo.so.1", 0x20},
    {"std::vector<std::pair<int, float>, std::allocator<std::pair<int, float> > >::_M_realloc_"
     "insert<std::pair<int, float> >(__gnu_cxx::__normal_iterator<std::pair<int, float>*, "
     "std::vector<std::pair<int, float>, std::allocator<std::pair<int, float> > > >, "
     "std::pair<int, float>&&)",
     "a.out", 0x93},
    {NULL, "libarena.so", 0x7712},
    {NULL, NULL, 0x7f00aa0012},
};
#define PROGRAM_KIT_PLACES UNIT_COUNT(program_kit_names)

struct as_symbols {
    bool hostile;
};

void as_symbols_find(struct as_symbols *symbols, uint64_t address, struct as_symbol *out)
{
    size_t i = (size_t)(address / 0x1000) % PROGRAM_KIT_PLACES;

    *out = (struct as_symbol){program_kit_names[i].function, program_kit_names[i].module,
                              program_kit_names[i].offset, NULL, 0};
    if (symbols->hostile)
        out->function = out->module = program_kit_nasty;
}

int as_symbols_find_lines(struct as_symbols *symbols, const uint64_t *address, size_t n,
                          struct assay_error *err)
{
    (void)symbols;
    (void)address;
    (void)n;
    (void)err;
    return ASSAY_OK;
}

const char *as_symbols_lines_why(const struct as_symbols *symbols)
{
    return symbols->hostile ? program_kit_nasty : NULL;
}

/* ---- what watches the heap ---- */

struct as_heap_watch {
    const struct program_kit *how;
    double seconds;
};

static inline double program_kit_live(const struct program_kit *how, double t)
{
    double warm = t < 1 ? t : 1;

    return (20 * warm + (how->leaks ? 1.2 * t : 0)) * PROGRAM_KIT_MIB;
}

void as_heap_watch_header(const struct as_heap_watch *watch, struct as_shm_header *out)
{
    (void)watch;
    memset(out, 0, sizeof *out);
    out->pid = 4242;
}

int as_heap_watch_totals(struct as_heap_watch *watch, struct as_heap_totals *out,
                         struct assay_error *err)
{
    uint64_t live =
        watch->how->returns ? 4096 : (uint64_t)program_kit_live(watch->how, watch->seconds);

    (void)err;
    *out = (struct as_heap_totals){
        .allocations = 3001234,
        .frees = 2990000,
        .allocated_bytes = 900u << 20,
        .freed_bytes = (900u << 20) - live,
        .live_bytes = live,
        .live_blocks = 11234,
        .mapped_live_bytes = 64u << 20,
        .peak_bytes = live + 4096,
        .peak_slack_bytes = 65536,
        .peak_mono_ns = 13000000000u,
        .own_bytes = 11234 * 16,
        .foreign_frees = 3,
        .iterations = watch->how->marks ? 100 : 0,
        .n_sites = 6,
        .n_threads = 2,
        .n_stacks = 2,
        .n_layers = watch->how->marks ? 2 : 0,
    };
    return ASSAY_OK;
}

int as_heap_watch_sites(struct as_heap_watch *watch, struct as_arena *arena,
                        struct as_heap_site **out, size_t *n, struct assay_error *err)
{
    const struct program_kit *how = watch->how;
    struct as_heap_site *s;

    *n = how->n_sites > PROGRAM_KIT_PLACES ? how->n_sites : PROGRAM_KIT_PLACES;
    s = as_arena_zero(arena, *n, sizeof *s);
    if (!s)
        return as_fail_nomem(err);
    for (size_t i = 0; i < *n; i++)
        s[i] = (struct as_heap_site){.id = (uint32_t)i,
                                     .address = 0x1000 * i,
                                     .allocations = 100,
                                     .frees = 100,
                                     .allocated_bytes = 10000 + i,
                                     .freed_bytes = 10000 + i};
    s[0].live_bytes = how->leaks ? (uint64_t)(1.15 * watch->seconds * PROGRAM_KIT_MIB) : 0;
    s[0].allocated_bytes = s[0].peak_live_bytes = s[0].live_bytes;
    if (how->leaks && !how->returns) /* it was noted a little before the peak */
        s[0].peak_live_bytes -= 4096;
    if (how->returns)
        s[0].live_bytes = 0;
    s[0].live_blocks = 10000;
    s[0].layer = how->hostile ? program_kit_nasty : how->marks ? "embedding" : NULL;
    s[1].live_bytes = s[1].allocated_bytes = s[1].peak_live_bytes = 20u << 20;
    s[1].live_blocks = 4;
    s[2].allocations = s[2].frees = s[2].temporary = 2900000;
    s[2].allocated_bytes = s[2].freed_bytes = 800u << 20;
    s[3].kind = AS_HEAP_NEW;
    s[4].kind = AS_HEAP_MAPPING;
    s[4].live_bytes = s[4].allocated_bytes = s[4].peak_live_bytes = 64u << 20;
    *out = s;
    return ASSAY_OK;
}

int as_heap_watch_stacks(struct as_heap_watch *watch, struct as_arena *arena,
                         struct as_heap_stack **out, size_t *n, struct assay_error *err)
{
    struct as_heap_stack *s = as_arena_zero(arena, 2, sizeof *s);

    if (!s)
        return as_fail_nomem(err);
    for (size_t i = 0; i < 2; i++) {
        uint64_t *frame = as_arena_zero(arena, AS_HEAP_MAX_FRAMES, sizeof *frame);

        if (!frame)
            return as_fail_nomem(err);
        s[i].samples = 100 - i;
        s[i].allocations = 2000000.0 - (double)i;
        s[i].allocated_bytes = 800e6 / (double)(1 + i);
        s[i].live_bytes = 1e6;
        s[i].live_blocks = 12;
        s[i].n_frames = i ? AS_HEAP_MAX_FRAMES : 4;
        s[i].layer = watch->how->marks ? "embedding" : NULL;
        for (uint32_t k = 0; k < s[i].n_frames; k++)
            frame[k] = 0x1000 * (uint64_t)(2 + k);
        s[i].frame = frame;
    }
    *out = s;
    *n = 2;
    return ASSAY_OK;
}

int as_heap_watch_layers(struct as_heap_watch *watch, struct as_arena *arena,
                         struct as_heap_layer **out, size_t *n, struct assay_error *err)
{
    struct as_heap_layer *l = as_arena_zero(arena, 2, sizeof *l);

    if (!l)
        return as_fail_nomem(err);
    l[0] = (struct as_heap_layer){watch->how->hostile ? program_kit_nasty : "embedding", 100,
                                  3u << 20, 1 << 20};
    l[1] = (struct as_heap_layer){"attention", 100, 12u << 20, -512};
    *out = l;
    *n = watch->how->marks ? 2 : 0;
    return ASSAY_OK;
}

int as_heap_watch_iterations(struct as_heap_watch *watch, struct as_arena *arena,
                             uint64_t **live_bytes, size_t *n, struct assay_error *err)
{
    *n = watch->how->marks ? 100 : 0;
    *live_bytes = as_arena_zero(arena, 100, sizeof **live_bytes);
    if (!*live_bytes)
        return as_fail_nomem(err);
    for (size_t i = 0; i < 100; i++)
        (*live_bytes)[i] = (uint64_t)program_kit_live(watch->how, 1 + 0.13 * (double)i);
    return ASSAY_OK;
}

#endif
