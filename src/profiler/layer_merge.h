/* profiler/layer_merge.h - copies of what every thread knows of its layers, put together by layer.
 * Between the copying and the telling: for the files of the layer profiler alone. */
#ifndef AS_PROFILER_LAYER_MERGE_H
#define AS_PROFILER_LAYER_MERGE_H

#include "base/buffer.h"
#include "profiler/layer_thread.h"

/* The times one thread gave, within times_ns. */
struct as_layer_part {
    size_t start, n;
    bool folded; /* they are in the buckets already */
};

struct as_layer_merged {
    struct as_moments times;
    uint64_t self_ns, failed, failed_ns;
    struct as_buffer times_ns; /* uint64_t */
    struct as_buffer own_ns;   /* of the same calls, without layers inside */
    struct as_buffer parts;    /* struct as_layer_part */
    uint64_t *bucket;          /* NULL: times_ns are all there are */
    bool newest_only;
    bool nested;   /* some call had layers inside */
    bool own_lost; /* own_ns is not known */
};

struct as_layer_merge {
    struct as_layer_merged *layer; /* by id */
    const char **text;             /* their names, in the arena */
    size_t n_layers;
    struct as_layer_record *record; /* of all threads; their extras are in the arena */
    size_t n_records, max_records;
    uint64_t horizon;   /* before this time some calls are missing */
    uint64_t all_calls; /* kept or not */
    uint64_t all_ns, all_self_ns;
    uint64_t unnamed, too_deep, metadata_dropped, open_dropped, abandoned;
    struct as_layer_name **open;
    size_t n_open;
    uint32_t n_numbers;
};

/* {0} before. False: no memory; fini in any case. */
bool as_layer_merge_init(struct as_layer_merge *merge, struct as_layer_profile *p,
                         struct as_arena *arena);
void as_layer_merge_fini(struct as_layer_merge *merge);

/* The newest calls in the order of their ends, with the sums up to each. */
bool as_layer_merge_timeline(struct as_layer_merge *merge, const struct as_layer_clock *clock,
                             struct as_arena *arena, struct assay_layer_profile *seen);

#endif
