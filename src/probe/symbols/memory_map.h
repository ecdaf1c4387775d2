/* probe/symbols/memory_map.h - the text of /proc/PID/maps as a list of regions in order of address.
 * Lines that make no sense are passed over and counted. */
#ifndef AS_PROBE_SYMBOLS_MEMORY_MAP_H
#define AS_PROBE_SYMBOLS_MEMORY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#define AS_MAP_MAX_REGIONS 65536u

struct as_map_region {
    uint64_t start, end;
    uint64_t offset;  /* of `start` in the file */
    const char *path; /* "" for memory of no file; "[heap]" and the like; without " (deleted)" */
    bool deleted;     /* the file is not there under this name any more */
    bool executable;
};

struct as_memory_map {
    struct as_map_region *region; /* sorted, none overlaps another */
    size_t n;
    uint64_t passed_over; /* lines */
};

/* Everything is in `arena`. NOMEM alone. */
AS_MUST_USE int as_memory_map_parse(struct as_memory_map *map, struct as_arena *arena,
                                    const char *text, struct assay_error *err);

/* The region that holds `address`, or NULL. */
const struct as_map_region *as_memory_map_find(const struct as_memory_map *map, uint64_t address);

#endif
