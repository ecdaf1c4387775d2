/* tests/fuzz/fuzz_run_history.c - any bytes as a file of earlier runs: what is taken makes sense.
 */
#include <math.h>
#include <stdlib.h>

#include "measure/latency/run_history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t nothing[1];
    struct as_run_history h;

    as_run_history_parse(&h, size ? data : nothing, size);
    if (h.n > AS_HISTORY_KEPT)
        abort();
    for (size_t i = 0; i < h.n; i++)
        if (!(h.median_ns[i] >= 1 && h.median_ns[i] < 1e18))
            abort();
    if (h.n >= AS_HISTORY_LEAST ? !(as_run_history_spread(&h) >= 0)
                                : !isnan(as_run_history_spread(&h)))
        abort();
    return 0;
}
