/* measure/inputs/open_sizes.h - the sizes that a measurement took for open dimensions, and who gave
 * each: what every page of a measured model states. */
#ifndef AS_MEASURE_INPUTS_OPEN_SIZES_H
#define AS_MEASURE_INPUTS_OPEN_SIZES_H

#include "base/json/json_fields.h"
#include "model/infer/infer.h"

enum { AS_OPEN_SIZES_MAX = 4096 };

struct as_open_size {
    const char *name; /* the symbol; "input[axis]" where it has none */
    int64_t value;
    const char *source; /* as in as_bound_dim */
};

extern const struct as_json_shape as_open_size_shape;

/* Of the last inference, in `arena`; sizes that stayed open are left out. */
AS_MUST_USE int as_open_sizes_list(struct as_open_size **sizes, size_t *n,
                                   const struct as_model *model, struct as_arena *arena,
                                   struct assay_error *err);

/* "seq 128 (default), batch 4 (--batch)", cut where it does not fit. `skip`: the source that is not
 * listed; NULL: all are. Returns how many are listed. */
size_t as_open_sizes_text(char *out, size_t capacity, const struct as_open_size *sizes, size_t n,
                          const char *skip);

#endif
