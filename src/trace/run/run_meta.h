/* trace/run/run_meta.h - the facts kept with a run: tool, host, program, clock, configuration.
 * What cannot be learnt is null in the JSON, never a guess. */
#ifndef AS_TRACE_RUN_RUN_META_H
#define AS_TRACE_RUN_RUN_META_H

#include <stddef.h>

#include "trace/record/recorder.h"

/* What the process cannot be asked for. */
struct as_run_meta {
    const char *kind;                 /* of the run; NULL: scopes */
    const char *label;                /* may be NULL */
    const char *clock, *clock_reason; /* of events; NULL: there are none */
    uint64_t ring_bytes;
    const char *when_full;
};

/* Called once by a program before it makes a run: of its command line, only its own name is kept.
 */
void as_run_meta_without_args(void);

/* Writes the JSON of the first meta block into `out`; returns its size, or a negative code. */
AS_MUST_USE int as_run_meta_write(const struct as_run_meta *meta, char *out, size_t capacity,
                                  struct assay_error *err);

#endif
