/* probe/system/cpu_info.h - what the processor calls itself and which instructions it has.
 * Read from /proc/cpuinfo; the first processor speaks for all. */
#ifndef AS_PROBE_SYSTEM_CPU_INFO_H
#define AS_PROBE_SYSTEM_CPU_INFO_H

#include <stdbool.h>
#include <stdint.h>

/* Instruction sets that matter to kernels: name here, word among the kernel's flags. */
#define AS_CPU_ISAS(X)                                                                             \
    X(SSE2, "sse2")                                                                                \
    X(AVX, "avx")                                                                                  \
    X(F16C, "f16c")                                                                                \
    X(FMA, "fma")                                                                                  \
    X(AVX2, "avx2")                                                                                \
    X(AVX_VNNI, "avx_vnni")                                                                        \
    X(AVX512F, "avx512f")                                                                          \
    X(AVX512BW, "avx512bw")                                                                        \
    X(AVX512_VNNI, "avx512_vnni")                                                                  \
    X(AVX512_BF16, "avx512_bf16")                                                                  \
    X(AVX512_FP16, "avx512_fp16")                                                                  \
    X(AMX_TILE, "amx_tile")                                                                        \
    X(AMX_INT8, "amx_int8")                                                                        \
    X(AMX_BF16, "amx_bf16")                                                                        \
    X(ASIMD, "asimd")                                                                              \
    X(ASIMDDP, "asimddp")                                                                          \
    X(SVE, "sve")                                                                                  \
    X(BF16, "bf16")                                                                                \
    X(I8MM, "i8mm")

enum as_cpu_isa {
#define X(name, word) AS_CPU_##name,
    AS_CPU_ISAS(X)
#undef X
        AS_CPU_ISA_COUNT
};

/* Texts are "" when the kernel does not report it. */
struct as_cpu_info {
    char model[128], vendor[64];
    char family[24], model_number[24], stepping[24], microcode[24];
    char flags[4096];
    uint32_t isa;         /* bit i: enum as_cpu_isa i */
    bool flags_known;     /* otherwise `isa` says nothing */
    bool virtual_machine; /* the processor says that a hypervisor runs it */
};

void as_cpu_info_read(struct as_cpu_info *out, const char *root);

/* The kernel's word for it. */
const char *as_cpu_isa_name(enum as_cpu_isa isa);

static inline bool as_cpu_has(const struct as_cpu_info *cpu, enum as_cpu_isa isa)
{
    return cpu->isa >> isa & 1;
}

#endif
