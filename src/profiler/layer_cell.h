/* profiler/layer_cell.h - what is known of one layer, and of the newest calls of all.
 * For the files of the layer profile alone. */
#ifndef AS_PROFILER_LAYER_CELL_H
#define AS_PROFILER_LAYER_CELL_H

#include "base/arena.h"
#include "profiler/layer_profile.h"
#include "stats/describe/histogram.h"
#include "stats/describe/moments.h"

#define AS_LAYER_BITS    AS_HISTOGRAM_DEFAULT_BITS
#define AS_LAYER_BUCKETS AS_HISTOGRAM_BUCKETS(AS_LAYER_BITS)

/* Sum and sum of squares are exact: no rounding, however many calls. */
__extension__ typedef unsigned __int128 as_layer_wide;
struct as_layer_times {
    uint64_t n, sum, min, max; /* ns; min is UINT64_MAX while n is 0 */
    as_layer_wide squares;
};

struct as_layer_cell {
    struct as_layer_name *name;
    uint64_t self_ns;
    uint64_t *sample; /* the times: all of them in order, or the newest in a ring */
    uint32_t n_samples, capacity, at;
    bool newest_only;            /* no room for all: percentiles are of what is there */
    bool own_lost;               /* no room for `own` */
    uint64_t *bucket;            /* counts by size, from AS_LAYER_EXACT calls on */
    struct as_layer_times times; /* of calls that did not fail */
    uint64_t failed, failed_ns;
    uint64_t *own; /* beside `sample`: without layers inside; NULL: no call had any so far */
};

#define AS_LAYER_LATE 4u

struct as_layer_frame {
    struct as_layer_cell *cell; /* NULL: there was no memory for it */
    uint64_t start_ticks, inner_ns;
    uint64_t excused_ns; /* within it, of no layer */
    uint64_t before_ns;  /* before it, of no layer */
    /* The last layers inside it: a signal handler's may have begun after it ended, while its end
     * was on its way. */
    struct {
        uint64_t start_ticks, ns, excused_ns;
    } last[AS_LAYER_LATE];
    uint32_t n_inner;
};

struct as_layer_thread {
    struct as_layer_frame *frame;
    uint32_t depth, capacity;
    uint32_t beyond; /* open deeper than there is memory for */
    uint32_t number, tid;
    uint64_t seen; /* resets before its last layer began, plus one; 0: it began none */
};

/* Metadata and reason of a call: one block, texts behind the pairs. */
struct as_layer_extra {
    const char *reason;
    size_t n;
    struct assay_metadata pair[];
};

struct as_layer_record {
    uint64_t start_ticks, end_ticks, duration_ns, self_ns;
    struct as_layer_name *name;
    struct as_layer_extra *extra;
    uint32_t thread, tid;
    uint16_t depth;
    bool failed;
};

/* The newest calls. */
struct as_layer_ring {
    struct as_layer_record *record;
    size_t capacity, at; /* at: the next one written, the oldest once the ring is full */
    size_t n;
    bool fixed; /* cannot grow any more */
    uint64_t dropped;
    uint64_t horizon; /* the last end among those: before it some calls are missing */
};

struct as_layer_profile {
    struct as_layer_clock clock;
    struct as_layer_limits limits;
    size_t history_bytes;
    struct as_arena arena;       /* of the names */
    struct as_layer_cell **cell; /* [id of the name], in the order of their first call */
    size_t n_cells, cell_capacity;
    struct as_layer_cell **by_site; /* NULL: not seen yet */
    size_t n_sites;
    struct as_layer_cell *other; /* where layers go that have no room */
    struct as_layer_thread **thread;
    size_t n_threads, thread_capacity;
    uint32_t n_seen; /* threads with layers since the last reset */
    uint64_t n_resets;
    struct as_layer_ring ring;
    uint64_t calls;               /* that ended, kept or not */
    uint64_t all_ns, all_self_ns; /* of all calls that were kept, failed ones too */
    uint64_t unnamed, no_memory, metadata_dropped, abandoned;
    struct as_layer_name *open[AS_LAYER_MAX_OPEN];
    size_t n_open;
    uint64_t open_dropped;
};

/* ---- layer_history.c ---- */

/* Adds the time of a call. */
void as_layer_cell_add(struct as_layer_profile *p, struct as_layer_cell *cell, uint64_t ns,
                       uint64_t own_ns);
/* Forgets all times. */
void as_layer_cell_reset(struct as_layer_profile *p, struct as_layer_cell *cell);
struct as_moments as_layer_times_moments(const struct as_layer_times *times);
/* The i-th oldest of a list of the cell's: `sample` or `own`. */
static inline uint64_t as_layer_cell_at(const struct as_layer_cell *cell, const uint64_t *list,
                                        size_t i)
{
    return list[cell->n_samples < cell->capacity ? i : (cell->at + i) % cell->capacity];
}

/* Keeps a call; `record->extra` becomes the ring's. */
void as_layer_ring_push(struct as_layer_profile *p, const struct as_layer_record *record);
void as_layer_ring_reset(struct as_layer_profile *p);

/* ---- layer_metadata.c ---- */

/* Copies metadata and reason of a call; NULL when there are none, or no memory. `dropped` counts
 * pairs. */
struct as_layer_extra *as_layer_extra_new(const struct as_layer_end *how, uint64_t *dropped);

#endif
