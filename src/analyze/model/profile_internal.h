/* analyze/model/profile_internal.h - what the files of a profile share while one is made.
 * Belongs to profile.c, which makes the layers; the others make sums of them. */
#ifndef AS_ANALYZE_MODEL_PROFILE_INTERNAL_H
#define AS_ANALYZE_MODEL_PROFILE_INTERNAL_H

#include "analyze/model/profile.h"

struct as_joining {
    struct as_profile *profile;
    const struct as_profile_data *data;
    uint64_t footprint_bytes;
};

struct as_profile_counts {
    uint64_t flops; /* as executed */
    uint64_t bytes;
    uint64_t weight_bytes; /* of the bytes */
    unsigned threads;      /* whose roofline it is held against */
};

/* Of work that took so long; without peaks all that needs them is NaN. */
void as_profile_find_roof(const struct as_joining *j, struct as_roof *roof, enum as_peak_type type,
                          const struct as_profile_counts *counts, double ns);

/* ---- profile_groups.c ---- */
/* Groups of the layers by operator, or by the first `depth` parts of their names, slowest first. */
AS_MUST_USE int as_profile_group(struct as_joining *j, bool by_op, unsigned depth,
                                 struct as_profile_group **out, size_t *n_out,
                                 struct assay_error *err);

/* ---- profile_order.c ---- */
/* The layers in the order of a word of as_profile_sort_at(), of which 0 is by time. */
void as_profile_order_by(const struct as_profile *profile, unsigned sort, uint32_t *order);

/* ---- profile_whole.c ---- */
/* What most of the time is bound by; of memory, which level. */
enum as_bound as_profile_bound(const double of_bound[AS_BOUND_COUNT]);
enum as_peak_level as_profile_level(const double of_level[AS_PEAK_LEVEL_COUNT]);
void as_profile_sum_memory(struct as_profile *p);
/* After layers and groups. */
AS_MUST_USE int as_profile_sum_up(struct as_joining *j, struct assay_error *err);

#endif
