/* trace/shm/heap_shm.h - the heap part of a share: what was allocated where, counted by each
 * thread. Written by preload/heap_*.c without locks while probe/heap/heap_watch.c reads; offsets
 * are from AS_SHM_HEAP_AT and numbers of pages from there too.
 *
 *   page 0       struct as_heap_shm
 *   fixed        the tables below, at AS_HEAP_*_AT; entry 0 of each stands for "none"
 *   AS_HEAP_ARENA_AT on: pages handed out one after the other: blocks of threads
 *                (struct as_heap_thread) and pages of counters (AS_HEAP_PAGE_COUNTERS each)
 *
 * A cell is a call site within a layer. Counters only grow, and each has one writer (the first
 * block's have many), so a sum over the threads is exact when they stand still, and at most one
 * operation of each behind when they do not. */
#ifndef AS_TRACE_SHM_HEAP_SHM_H
#define AS_TRACE_SHM_HEAP_SHM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define AS_HEAP_VERSION 4u

#define AS_HEAP_PAGE          4096u
#define AS_HEAP_CELLS         65536u /* numbers fit into 16 bits of a block's key */
#define AS_HEAP_STACKS        32768u /* into 15 */
#define AS_HEAP_LAYERS        4096u
#define AS_HEAP_THREADS       16384u
#define AS_HEAP_MARKS         4096u   /* the last iterations */
#define AS_HEAP_STACK_FRAMES  512u    /* of a stack; those further out are left out */
#define AS_HEAP_NODES         131072u /* frames of all stacks, of which neighbors share many */
#define AS_HEAP_LAYER_NAME    116u
#define AS_HEAP_OPEN          64u /* layers open at once, as AS_LAYER_NOW_DEPTH */
#define AS_HEAP_PAGE_COUNTERS 64u
#define AS_HEAP_CACHE         256u
#define AS_HEAP_SAMPLE_BYTES  (512u << 10)
#define AS_HEAP_WEIGHT_ONE    1024u /* weights of samples are in 1/1024 */

/* What a thread may keep to itself of its live bytes, by the number of its block: many threads keep
 * less each, so that the peak of all stays known. */
#define AS_HEAP_KEEP_BYTES      (16 << 10)
#define AS_HEAP_KEEP_BYTES_MANY (2 << 10)
#define AS_HEAP_FEW_THREADS     16u
static inline int64_t as_heap_keep_bytes(uint32_t number)
{
    return number <= AS_HEAP_FEW_THREADS ? AS_HEAP_KEEP_BYTES : AS_HEAP_KEEP_BYTES_MANY;
}

/* Sizes of the hashes that find them: twice the entries. */
#define AS_HEAP_CELL_SLOTS  131072u
#define AS_HEAP_STACK_SLOTS 65536u
#define AS_HEAP_LAYER_SLOTS 8192u
#define AS_HEAP_NODE_SLOTS  262144u

/* Sites are addresses below 1 << 48; what goes above them must fit: layer << 2 | kind. */
_Static_assert(AS_HEAP_LAYERS * 4 <= 1u << 16, "a tag has 16 bits for them");

/* Kinds of cells, as enum as_heap_kind; a number that lost the race for its cell has none. */
enum as_heap_cell_kind {
    AS_HEAP_CELL_MALLOC = 0,
    AS_HEAP_CELL_NEW = 1,
    AS_HEAP_CELL_MAPPING = 2,
    AS_HEAP_CELL_VOID = 255
};

/* Why allocations are not counted. */
enum as_heap_declined {
    AS_HEAP_COUNTED = 0,
    AS_HEAP_OWN_MALLOC = 1, /* the program, or a library of it, brings its own malloc */
    AS_HEAP_NO_CAPACITY = 2 /* no place for the tables */
};

struct as_heap_cell {
    uint64_t address;
    uint32_t layer; /* number in the table of layers; 0: none */
    uint32_t kind;  /* enum as_heap_cell_kind */
};

/* One cell, one thread: a cache line. */
struct as_heap_counter {
    _Atomic uint64_t allocations, allocated_bytes, frees, freed_bytes;
    _Atomic uint64_t temporary, same_layer;
    _Atomic uint64_t spare[2];
};

struct as_heap_layer_entry {
    uint32_t site; /* its number in the recorder */
    uint32_t name_size;
    _Atomic uint64_t calls, peak_within_bytes;
    _Atomic int64_t net_bytes;
    char name[AS_HEAP_LAYER_NAME];
    uint32_t spare[5];
};

/* A frame of stacks: those of the same callers are one, so that a stack is the number of its
 * innermost frame. A caller has a smaller number; 0 stands for none. */
struct as_heap_node {
    uint64_t address;
    uint32_t caller, spare;
};

enum as_heap_nodes_state {
    AS_HEAP_NODES_NONE = 0, /* no stack yet */
    AS_HEAP_NODES_BUSY = 1,
    AS_HEAP_NODES_READY = 2,
    AS_HEAP_NODES_REFUSED = 3 /* no memory for them */
};

struct as_heap_stack_entry {
    uint32_t node; /* innermost */
    uint32_t layer;
    uint32_t cut; /* it has more than AS_HEAP_STACK_FRAMES */
    uint32_t spare;
    _Atomic uint64_t samples;
    _Atomic uint64_t allocations, allocated_bytes, frees, freed_bytes; /* in AS_HEAP_WEIGHT_ONE */
    uint64_t spare2;
};

/* A layer that a thread is in: told by what the thread saw first and at most. */
struct as_heap_open {
    uint64_t call;
    uint32_t layer, spare; /* number in the table of layers */
    int64_t start_bytes, max_bytes;
};

struct as_heap_cached {
    uint64_t tag;        /* the site, and layer and kind above its 48 bits */
    uint32_t counter_at; /* in counters, from the beginning of the heap's part */
    uint32_t cell;
};

/* What one thread counts; three pages. */
struct as_heap_thread {
    /* Sums over its cells of malloc and new, so that totals need no walk. */
    _Atomic uint64_t allocations, allocated_bytes, frees, freed_bytes;
    _Atomic uint64_t foreign_frees;
    _Atomic uint64_t unseen_frees;    /* not through us: seen when the address came again */
    _Atomic uint64_t unplaced;        /* without a cell, or not counted at all: no memory for it */
    _Atomic uint64_t inherited_frees; /* of blocks from before the process was forked */
    /* Of its live bytes: what the total knows of, and the most since then. */
    _Atomic int64_t told_bytes, most_bytes;
    int64_t tell_above_bytes, tell_below_bytes; /* told_bytes, give or take what it may keep */
    _Atomic uint64_t mapped_bytes, unmapped_bytes;
    _Atomic uint32_t next_free; /* number of the next block in the list of free ones */
    uint32_t number;
    uint64_t last_block; /* the block it allocated last; 0: freed since */
    uint64_t sample_at;  /* allocated bytes at which the next stack is kept */
    uint64_t random;
    uint64_t marks_seen, iterations_seen;
    uint32_t layer;     /* number of the innermost layer, as of marks_seen */
    uint32_t walk_page; /* where it collects the frames of a stack; 0: none yet */
    _Atomic uint32_t n_open;
    uint32_t call_tag;
    struct as_heap_open open[AS_HEAP_OPEN];
    uint8_t fill[1872]; /* to the end of the page */
    struct as_heap_cached cache[AS_HEAP_CACHE];
    _Atomic uint32_t page[AS_HEAP_CELLS / AS_HEAP_PAGE_COUNTERS]; /* of counters; 0: none yet */
};

struct as_heap_shm {
    uint32_t version;
    uint32_t declined;       /* enum as_heap_declined */
    uint64_t capacity_pages; /* mapped, from AS_SHM_HEAP_AT on */
    uint64_t sample_bytes;   /* mean distance of samples; 0: no stacks */
    _Atomic uint32_t n_cells, n_stacks, n_layers, n_threads; /* entries, 0 among them */
    _Atomic uint32_t n_live_threads, max_live_threads;
    _Atomic uint64_t arena_pages; /* handed out, from page 0 on */
    _Atomic uint64_t iterations;  /* marks, of which the last AS_HEAP_MARKS are kept */

    _Alignas(64) _Atomic int64_t live_bytes; /* what threads have told */
    _Atomic int64_t peak_bytes;
    _Atomic uint64_t peak_mono_ns;

    _Alignas(64) _Atomic uint64_t free_threads; /* first of the list; the high half counts */
    _Atomic uint32_t snapshot_busy;
    _Atomic int64_t snapshot_bytes; /* live when the owners of the peak were noted */
    _Atomic uint64_t n_snapshots;   /* the last one is in half (n_snapshots - 1) % 2 */
    _Atomic uint32_t snapshot_cells[2], snapshot_stacks[2];
    _Atomic uint64_t snapshot_spent_ns;
    _Atomic uint32_t layers_bound; /* the program marks layers */
    uint32_t inherited_cells;      /* below are those of the process it was forked from; 0: none */
    _Atomic uint32_t n_nodes;      /* as n_stacks */
    _Atomic uint32_t nodes_state;  /* enum as_heap_nodes_state */
    _Atomic uint32_t node_pages;   /* of the table of nodes that were written to */
    _Atomic uint64_t stacks_lost;  /* samples without a stack: the tables were full */
};

#define AS_HEAP_CELL_INDEX_AT  (1u << 16) /* uint32_t [AS_HEAP_CELL_SLOTS] */
#define AS_HEAP_CELLS_AT       (AS_HEAP_CELL_INDEX_AT + AS_HEAP_CELL_SLOTS * 4)
#define AS_HEAP_PEAK_AT        (AS_HEAP_CELLS_AT + AS_HEAP_CELLS * 16)    /* uint64_t [2][cells] */
#define AS_HEAP_THREADS_AT     (AS_HEAP_PEAK_AT + 2 * AS_HEAP_CELLS * 8)  /* uint32_t pages */
#define AS_HEAP_MARKS_AT       (AS_HEAP_THREADS_AT + AS_HEAP_THREADS * 4) /* uint64_t */
#define AS_HEAP_LAYER_INDEX_AT (AS_HEAP_MARKS_AT + AS_HEAP_MARKS * 8)
#define AS_HEAP_LAYERS_AT      (AS_HEAP_LAYER_INDEX_AT + AS_HEAP_LAYER_SLOTS * 4)
#define AS_HEAP_STACK_INDEX_AT (AS_HEAP_LAYERS_AT + AS_HEAP_LAYERS * 168)
#define AS_HEAP_STACKS_AT      (AS_HEAP_STACK_INDEX_AT + AS_HEAP_STACK_SLOTS * 4)
#define AS_HEAP_NODE_INDEX_AT  (AS_HEAP_STACKS_AT + AS_HEAP_STACKS * 64)
#define AS_HEAP_NODES_AT       (AS_HEAP_NODE_INDEX_AT + AS_HEAP_NODE_SLOTS * 4)
#define AS_HEAP_STACK_PEAK_AT  (AS_HEAP_NODES_AT + AS_HEAP_NODES * 16) /* uint64_t [2][stacks] */
#define AS_HEAP_TABLES_END     (AS_HEAP_STACK_PEAK_AT + 2 * AS_HEAP_STACKS * 8)
#define AS_HEAP_ARENA_AT       ((AS_HEAP_TABLES_END + AS_HEAP_PAGE - 1) / AS_HEAP_PAGE * AS_HEAP_PAGE)
#define AS_HEAP_THREAD_PAGES   3u

_Static_assert(sizeof(struct as_heap_cell) == 16, "as in the table");
_Static_assert(sizeof(struct as_heap_counter) == 64, "one cache line");
_Static_assert(sizeof(struct as_heap_layer_entry) == 168, "as in the table");
_Static_assert(sizeof(struct as_heap_stack_entry) == 64, "as in the table");
_Static_assert(sizeof(struct as_heap_node) == 16, "as in the table");
_Static_assert(AS_HEAP_STACK_FRAMES * 8 <= AS_HEAP_PAGE, "a page holds those of a stack");
_Static_assert(offsetof(struct as_heap_thread, cache) == AS_HEAP_PAGE, "a page of its own");
_Static_assert(sizeof(struct as_heap_thread) == (size_t)AS_HEAP_THREAD_PAGES * AS_HEAP_PAGE,
               "fits");
_Static_assert(sizeof(struct as_heap_shm) <= AS_HEAP_PAGE, "fits");
_Static_assert(AS_HEAP_ARENA_AT % AS_HEAP_PAGE == 0, "whole pages");
_Static_assert(AS_HEAP_ARENA_AT < 20u << 20, "leaves room for the pages");

#endif
