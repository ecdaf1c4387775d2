/* experiment/attention/attn_kernels.c - which of the loops this machine can run. */
#include "experiment/attention/attn_kernels.h"

const struct as_attn_kernels *as_attn_kernels_at(size_t i)
{
    const struct as_attn_kernels *there[3];
    size_t n = 0;

#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma"))
        there[n++] = &as_attn_kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        there[n++] = &as_attn_kernels_avx2;
#endif
    there[n++] = &as_attn_kernels_plain;
    return i < n ? there[i] : NULL;
}
