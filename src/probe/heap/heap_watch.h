/* probe/heap/heap_watch.h - reads the heap counters of a watched process from its share, at any
 * time. The process may be running, ended or killed; the bytes are hostile until checked. */
#ifndef AS_PROBE_HEAP_HEAP_WATCH_H
#define AS_PROBE_HEAP_HEAP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "trace/shm/target_shm.h"

#define AS_HEAP_MAX_FRAMES 512u

struct as_heap_watch;

/* What an allocation was. */
enum as_heap_kind {
    AS_HEAP_MALLOC,  /* malloc and its relatives */
    AS_HEAP_NEW,     /* C++ operator new */
    AS_HEAP_MAPPING, /* an anonymous mmap of the program's own: arenas */
    AS_HEAP_KIND_COUNT
};

/* Exact sums; cheap to read: a few microseconds. */
struct as_heap_totals {
    uint64_t allocations, frees, allocated_bytes, freed_bytes;
    uint64_t live_bytes, live_blocks;
    uint64_t mapped_live_bytes; /* anonymous mappings, apart from the above */
    uint64_t peak_bytes;        /* of live_bytes */
    uint64_t peak_slack_bytes;  /* the true peak is at most this much lower: threads count apart */
    uint64_t peak_mono_ns;
    uint64_t own_bytes;       /* of the table of live blocks: part of the program's rss, and ours */
    uint64_t share_bytes;     /* of the share that the program touched: part of its rss too */
    uint64_t foreign_frees;   /* blocks freed that were allocated before or around us */
    uint64_t inherited_frees; /* of blocks that a forked process had from the one before */
    uint64_t unseen_frees; /* not through us; noticed when their addresses were given out again */
    uint64_t unplaced;     /* allocations not counted by site, or not at all: tables full */
    uint64_t stacks_lost;  /* samples that have no stack: tables full */
    uint64_t iterations;   /* marks seen */
    uint32_t n_sites, n_threads, n_stacks, n_layers;
    uint32_t n_ids; /* those of sites are below */
};

/* Where allocations were made: the address the allocating call returns to, within one layer. */
struct as_heap_site {
    uint32_t id; /* the same at every reading */
    uint64_t address;
    enum as_heap_kind kind;
    const char *layer; /* NULL: outside any; arena's */
    uint64_t allocations, frees, allocated_bytes, freed_bytes;
    uint64_t live_bytes, live_blocks;
    uint64_t peak_live_bytes; /* what of the process's peak was this site's */
    uint64_t temporary;       /* freed with no allocation of that thread in between */
    uint64_t same_layer;      /* freed by the layer that allocated them, in the same call of it */
};

/* A sampled stack: one for every 512 KiB on average; figures are scaled to what they stand for. */
struct as_heap_stack {
    uint64_t samples;
    double allocations, allocated_bytes; /* estimates */
    double live_bytes, live_blocks;      /* estimates */
    double peak_live_bytes; /* an estimate: when the process held most; NaN: not captured */
    uint32_t n_frames;
    const uint64_t *frame; /* return addresses, innermost first */
    bool cut;              /* there were more */
    const char *layer;     /* NULL: outside any */
};

/* Per layer: exact, on the thread that ran it. */
struct as_heap_layer {
    const char *name;
    uint64_t calls;
    uint64_t peak_within_bytes; /* greatest growth of the thread's live bytes within one call */
    int64_t net_bytes;          /* allocated in it less freed in it, over all calls */
};

/* Opens the share at `path`, which must be a regular file of ours. */
AS_MUST_USE int as_heap_watch_open(struct as_heap_watch **out, const char *path,
                                   struct assay_error *err);
void as_heap_watch_close(struct as_heap_watch *watch);

/* A copy of its header, strings ended. */
void as_heap_watch_header(const struct as_heap_watch *watch, struct as_shm_header *out);

/* The text of the target's memory map as it ended, NUL-terminated; NULL: it left none. Borrowed. */
const char *as_heap_watch_maps(const struct as_heap_watch *watch);

/* How much of the share was touched. */
uint64_t as_heap_watch_share_bytes(const struct as_heap_watch *watch);
/* Bytes of the table of live blocks beside it. */
uint64_t as_heap_watch_table_bytes(const struct as_heap_watch *watch);

AS_MUST_USE int as_heap_watch_totals(struct as_heap_watch *watch, struct as_heap_totals *out,
                                     struct assay_error *err);

/* Live bytes of every site, [id] up to `capacity`; for series over time. Returns how many ids there
 * are. */
size_t as_heap_watch_live(struct as_heap_watch *watch, uint64_t *live_bytes, size_t capacity);

/* The lists, in `arena`. */
AS_MUST_USE int as_heap_watch_sites(struct as_heap_watch *watch, struct as_arena *arena,
                                    struct as_heap_site **out, size_t *n, struct assay_error *err);
AS_MUST_USE int as_heap_watch_stacks(struct as_heap_watch *watch, struct as_arena *arena,
                                     struct as_heap_stack **out, size_t *n,
                                     struct assay_error *err);
AS_MUST_USE int as_heap_watch_layers(struct as_heap_watch *watch, struct as_arena *arena,
                                     struct as_heap_layer **out, size_t *n,
                                     struct assay_error *err);

/* Live bytes at the last iteration marks, oldest first, in `arena`. */
AS_MUST_USE int as_heap_watch_iterations(struct as_heap_watch *watch, struct as_arena *arena,
                                         uint64_t **live_bytes, size_t *n, struct assay_error *err);

#endif
