/* report/export/export_heap.h - the sampled stacks of a program's allocations in the files of other
 * tools: folded stacks, speedscope, pprof; and as a flame graph. */
#ifndef AS_REPORT_EXPORT_EXPORT_HEAP_H
#define AS_REPORT_EXPORT_EXPORT_HEAP_H

#include "analyze/watch/target.h"
#include "base/output.h"

enum as_heap_weight { AS_HEAP_WEIGH_ALLOCATED, AS_HEAP_WEIGH_LIVE, AS_HEAP_WEIGH_PEAK };

/* "allocated", "live", "peak"; NULL after the last. */
const char *as_heap_weight_at(size_t i);

/* Whether --to `format` can hold heap stacks. */
bool as_export_takes_heap(const char *format);

/* One of those formats; pprof and speedscope hold all weights. NOTFOUND when the run has no stack,
 * or none of the peak: an empty file would say that nothing was allocated. `max_bytes` is for the
 * flame graph alone; 0: no limit. */
AS_MUST_USE int as_export_heap(const struct as_target *target, const char *format,
                               enum as_heap_weight weight, uint64_t max_bytes, struct as_out *out,
                               struct assay_error *err);

#endif
