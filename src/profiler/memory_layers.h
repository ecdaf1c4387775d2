/* profiler/memory_layers.h - memory of layers by name, summed up as their calls end.
 * {0} is empty. Names are bounded in number: further ones share one row. */
#ifndef AS_PROFILER_MEMORY_LAYERS_H
#define AS_PROFILER_MEMORY_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_map.h"
#include "profiler/memory_profile.h"

struct as_memory_layer_sums;

struct as_memory_layers {
    struct as_memory_layer_sums *of; /* in the order of their first call */
    struct as_hash_map by_name;      /* indices of `of` */
    size_t n, capacity;
    uint64_t joined; /* calls that went to the row shared */
};

void as_memory_layers_fini(struct as_memory_layers *layers);

/* Sums the reading up under `name` and sets its `layer` to our copy of it. False: no memory. */
bool as_memory_layers_add(struct as_memory_layers *layers, const char *name,
                          struct as_memory_layer_reading *reading);

/* The number of its row; SIZE_MAX: there is none. */
size_t as_memory_layers_find(const struct as_memory_layers *layers, const char *name);

/* False when there is no such row. */
bool as_memory_layers_row(const struct as_memory_layers *layers, size_t i,
                          struct as_memory_layer_row *out);

#endif
