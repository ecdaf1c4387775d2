/* bench/lttng_marks.h - two tracepoints for LTTng-UST, as small as ours: an id of four bytes. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER assay_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_marks.h"

#if !defined(AS_BENCH_LTTNG_MARKS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define AS_BENCH_LTTNG_MARKS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(assay_bench, begin, LTTNG_UST_TP_ARGS(unsigned, id),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned, id, id)))
LTTNG_UST_TRACEPOINT_EVENT(assay_bench, end, LTTNG_UST_TP_ARGS(unsigned, id),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned, id, id)))

#endif
#include <lttng/tracepoint-event.h>
