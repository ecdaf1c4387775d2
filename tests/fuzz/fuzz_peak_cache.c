/* tests/fuzz/fuzz_peak_cache.c - any bytes as a cache of peaks.
 * What is taken makes sense; what is not leaves the caller's peaks alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/peaks/peak_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_peak(const struct as_peak *p)
{
    if (p->why ? !isnan(p->rate) || p->isa : !(p->rate >= 1 && p->rate <= 1e18) || !p->isa)
        abort();
}

static void check(const struct as_peaks *p)
{
    if (p->n_counts == 0 || p->n_counts > AS_PEAK_MAX_COUNTS || p->threads[0] != 1)
        abort();
    for (unsigned i = 0; i < p->n_counts; i++) {
        if (p->threads[i] > AS_PEAK_MAX_THREADS || (i && p->threads[i] <= p->threads[i - 1]))
            abort();
        for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
            check_peak(&p->compute[type][i]);
        for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++)
            for (int access = 0; access < AS_PEAK_ACCESS_COUNT; access++)
                check_peak(&p->bandwidth[level][access][i]);
    }
    for (unsigned threads = 0; threads < 300; threads += 7)
        (void)as_peak_ridge(p, AS_PEAK_F32, AS_PEAK_DRAM, threads);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char host[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const uint8_t nothing[1];
    struct as_peaks peaks, untouched;

    memset(&peaks, 0x5a, sizeof peaks);
    memcpy(&untouched, &peaks, sizeof peaks);
    if (as_peak_cache_parse(&peaks, size ? data : nothing, size, host) == AS_PEAK_CACHE_FOUND)
        check(&peaks);
    else if (memcmp(&peaks, &untouched, sizeof peaks) != 0)
        abort();
    return 0;
}
