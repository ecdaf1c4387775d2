/* format/file_ranges.h - pieces of a file in the order of their places, to find those that overlap.
 * Pieces without bytes overlap nothing. */
#ifndef AS_FORMAT_FILE_RANGES_H
#define AS_FORMAT_FILE_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "model/graph/graph.h"

struct as_file_range {
    uint64_t at, bytes; /* at + bytes was checked to be in the file */
    uint32_t id;
};

/* The constants among the values from `first` on, sorted by place; the caller frees the list with
 * as_free(). NULL: no memory. */
struct as_file_range *as_file_ranges_new(const struct as_model *model, uint32_t first, size_t *n);

/* The first pair that overlaps, as the two ids; false: none does. */
bool as_file_ranges_overlap(const struct as_file_range *spans, size_t n, uint32_t *id,
                            uint32_t *other);

#endif
