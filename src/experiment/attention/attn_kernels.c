/* experiment/attention/attn_kernels.c - which of the loops this machine and the cap on
 * instruction sets allow. */
#include "experiment/attention/attn_kernels.h"

#include "probe/system/isa_cap.h"

const struct as_attn_kernels *as_attn_kernels_at(size_t i)
{
    const struct as_attn_kernels *there[3];
    size_t n = 0;

#if defined(__x86_64__)
    if (as_isa_get() >= AS_ISA_AVX512_CORE)
        there[n++] = &as_attn_kernels_avx512;
    if (as_isa_get() >= AS_ISA_AVX2)
        there[n++] = &as_attn_kernels_avx2;
#endif
    there[n++] = &as_attn_kernels_plain;
    return i < n ? there[i] : NULL;
}
