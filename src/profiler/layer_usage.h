/* profiler/layer_usage.h - what a thread used of the machine while a layer ran: CPU, faults,
 * context switches. What layers inside it used, and what profiling them used, is left out. */
#ifndef AS_PROFILER_LAYER_USAGE_H
#define AS_PROFILER_LAYER_USAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Counts of a thread since it began, or between two samples. */
struct as_layer_usage {
    uint64_t cpu_ns;
    uint64_t minor_faults, major_faults, switches, sleeps, io_blocks;
};

#define AS_USAGE_BLOCK_BYTES 512.0 /* what the kernel counts blocks of storage in */

/* Of the calling thread. False: the system does not report it. */
bool as_layer_usage_read(struct as_layer_usage *out);

/* Adds what passed between two samples. */
void as_layer_usage_add(struct as_layer_usage *to, const struct as_layer_usage *from,
                        const struct as_layer_usage *until);

/* What a call used itself: `until` less `from`, less `inner`. */
struct as_layer_usage as_layer_usage_own(const struct as_layer_usage *from,
                                         const struct as_layer_usage *until,
                                         const struct as_layer_usage *inner);

#endif
