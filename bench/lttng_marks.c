/* bench/lttng_marks.c - the same pair of marks through LTTng-UST, for the comparison in
 * bench/marks.c. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_marks.h"

void bench_loop_lttng(unsigned pairs);

void bench_loop_lttng(unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++) {
        lttng_ust_tracepoint(assay_bench, begin, 7);
        lttng_ust_tracepoint(assay_bench, end, 7);
    }
}
