/* report/bottleneck/memory_profile_json.h - the memory of a session's layers as JSON, bytes and
 * MiB. What is unknown is null, and `reason` says why. */
#ifndef AS_REPORT_BOTTLENECK_MEMORY_PROFILE_JSON_H
#define AS_REPORT_BOTTLENECK_MEMORY_PROFILE_JSON_H

#include "base/json/json_writer.h"
#include "profiler/memory_profile.h"

/* One object: the summary's keys, then `layer_stats`, `categories`, `snapshots`. */
void as_memory_profile_json(struct as_json_writer *w, struct as_memory_profile *profile);

/* One object: the summary's keys alone. */
void as_memory_profile_json_summary(struct as_json_writer *w, struct as_memory_profile *profile);

/* One array of the kept snapshots, oldest first. */
void as_memory_profile_json_snapshots(struct as_json_writer *w,
                                      const struct as_memory_profile *profile);

/* One array of `layer`, `timestamp`, `memory_growth_mb`. */
void as_memory_profile_json_growth(struct as_json_writer *w,
                                   const struct as_memory_profile *profile);

/* One array, layer by layer. */
void as_memory_profile_json_layers(struct as_json_writer *w,
                                   const struct as_memory_profile *profile);

#endif
