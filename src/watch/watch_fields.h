/* watch/watch_fields.h - the keys of what was seen of a program, as they stand in data blocks.
 * Each names a member of the structs written and of those read, so neither can forget one. */
#ifndef AS_WATCH_WATCH_FIELDS_H
#define AS_WATCH_WATCH_FIELDS_H

#include "trace/run/run_maker.h"

/* Kinds of data blocks. "program" is one object, "heap" one a process; of the others there may be
 * several blocks, each an object with the process and a part of the list. */
#define AS_DATA_PROCESSES  "processes"
#define AS_DATA_HEAP       "heap"
#define AS_DATA_FRAMES     "heap_frames" /* before those that name them by number */
#define AS_DATA_SITES      "heap_sites"
#define AS_DATA_STACKS     "heap_stacks"
#define AS_DATA_LAYERS     "heap_layers"
#define AS_DATA_ITERATIONS "heap_iterations"
#define AS_DATA_SERIES     "heap_series"
#define AS_DATA_GEMM       "gemm"

/* A struct as_fact: a number, or the text why there is none. */
#define AS_WATCH_FACTS(X)                                                                          \
    X(cpu_user_ns)                                                                                 \
    X(cpu_system_ns)                                                                               \
    X(peak_rss_bytes)                                                                              \
    X(tree_peak_rss_bytes)                                                                         \
    X(tree_peak_pss_bytes)                                                                         \
    X(minor_faults)                                                                                \
    X(major_faults)                                                                                \
    X(switches_voluntary)                                                                          \
    X(switches_involuntary)                                                                        \
    X(read_bytes)                                                                                  \
    X(written_bytes)                                                                               \
    X(run_delay_ns)                                                                                \
    X(own_cpu_ns)

#define AS_PROCESS_FACTS(X)                                                                        \
    X(cpu_user_ns)                                                                                 \
    X(cpu_system_ns)                                                                               \
    X(peak_rss_bytes)                                                                              \
    X(minor_faults)                                                                                \
    X(major_faults)                                                                                \
    X(switches_voluntary)                                                                          \
    X(switches_involuntary)                                                                        \
    X(read_bytes)                                                                                  \
    X(written_bytes)                                                                               \
    X(io_wait_ns)                                                                                  \
    X(run_delay_ns)                                                                                \
    X(threads_most)                                                                                \
    X(descriptors_most)

/* uint64_t members of struct as_heap_totals, then those of struct as_heap_site. */
#define AS_HEAP_SUMS(X)                                                                            \
    X(allocations)                                                                                 \
    X(frees)                                                                                       \
    X(allocated_bytes)                                                                             \
    X(freed_bytes)                                                                                 \
    X(live_bytes)                                                                                  \
    X(live_blocks)

#define AS_HEAP_TOTALS(X)                                                                          \
    AS_HEAP_SUMS(X)                                                                                \
    X(mapped_live_bytes)                                                                           \
    X(peak_bytes)                                                                                  \
    X(peak_slack_bytes)                                                                            \
    X(peak_mono_ns)                                                                                \
    X(own_bytes)                                                                                   \
    X(share_bytes)                                                                                 \
    X(foreign_frees)                                                                               \
    X(inherited_frees)                                                                             \
    X(unplaced)                                                                                    \
    X(stacks_lost)                                                                                 \
    X(iterations)

#define AS_HEAP_SITE_COUNTS(X)                                                                     \
    AS_HEAP_SUMS(X)                                                                                \
    X(address)                                                                                     \
    X(peak_live_bytes)                                                                             \
    X(temporary)                                                                                   \
    X(same_layer)

/* double members of struct as_heap_stack. */
#define AS_HEAP_STACK_ESTIMATES(X)                                                                 \
    X(allocations)                                                                                 \
    X(allocated_bytes)                                                                             \
    X(live_bytes)                                                                                  \
    X(live_blocks)                                                                                 \
    X(peak_live_bytes) /* NaN: unknown, as in older runs */

/* uint64_t members of struct as_gemm_calls. */
#define AS_GEMM_COUNTS(X)                                                                          \
    X(m)                                                                                           \
    X(n)                                                                                           \
    X(k)                                                                                           \
    X(batch)                                                                                       \
    X(calls)                                                                                       \
    X(time_ns)                                                                                     \
    X(min_ns)                                                                                      \
    X(max_ns)

#endif
