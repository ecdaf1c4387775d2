/* tests/unit/peaks_kit.h - made-up peaks with every kind of figure, for what reads and shows them.
 */
#ifndef AS_TESTS_PEAKS_KIT_H
#define AS_TESTS_PEAKS_KIT_H

#include <stdio.h>

#include "unit.h"

#include "measure/peaks/peak_kernels.h"

static inline struct as_peaks kit_peaks(void)
{
    const char *isa = as_compute_kernel_at(0)->isa;
    struct as_peaks p = {
        .n_counts = 2,
        .threads = {1, 2},
        .frequency_hz = 2.99e9,
        .vector_hz = 2.8e9,
        .clock_ns = 10.8,
        .gettime_ns = 22.5,
        .measured_unix_ns = UINT64_C(1700000000000000000),
        .took_ns = UINT64_C(4000000000),
    };

    for (unsigned i = 0; i < 2; i++) {
        for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
            p.compute[type][i] =
                (struct as_peak){.rate = 179e9 * (i + 1) / (type + 1), .spread = 0.05, .isa = isa};
        for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++)
            for (int access = 0; access < AS_PEAK_ACCESS_COUNT; access++)
                p.bandwidth[level][access][i] = (struct as_peak){
                    .rate = 280e9 * (i + 1) / (1 + 4 * level + access), .spread = 0.1, .isa = isa};
        p.compute[AS_PEAK_BF16][i] = (struct as_peak){
            .rate = UNIT_NAN, .spread = UNIT_NAN, .why = as_peak_reason_text(AS_PEAK_NO_BF16)};
    }
    p.place[AS_PEAK_L1] = (struct as_peak_place){49152, 24576};
    p.place[AS_PEAK_L2] = (struct as_peak_place){2097152, 1048576};
    p.place[AS_PEAK_L3] = (struct as_peak_place){33554432, 16777216};
    p.place[AS_PEAK_DRAM] = (struct as_peak_place){UINT64_C(25000000000), 134217728};
    return p;
}

#endif
