/* probe/system/isa_cap.h - the instruction set that kernels may use: the best that the processor
 * has, or a lower one when somebody caps it. The lowest of --max-isa, ASSAY_MAX_ISA,
 * ONEDNN_MAX_CPU_ISA, DNNL_MAX_CPU_ISA and the processor wins, for oneDNN and for our own kernels.
 *
 * The CRC of run files is not capped: it is no kernel, and its result does not depend on it. */
#ifndef AS_PROBE_SYSTEM_ISA_CAP_H
#define AS_PROBE_SYSTEM_ISA_CAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* In ascending order, with the names that oneDNN prints. AMX is above all of them and is not used:
 * oneDNN 2.6 faults where the kernel has not granted the tiles. */
#define AS_ISA_LEVELS(X)                                                                           \
    X(GENERIC, "generic") /* less than SSE4.1, or not x86-64; reported, but not a cap */           \
    X(SSE41, "sse41")                                                                              \
    X(AVX, "avx")                                                                                  \
    X(AVX2, "avx2") /* all of x86-64-v3 */                                                         \
    X(AVX2_VNNI, "avx2_vnni")                                                                      \
    X(AVX512_CORE, "avx512_core") /* all of x86-64-v4 */                                           \
    X(AVX512_CORE_VNNI, "avx512_core_vnni")                                                        \
    X(AVX512_CORE_BF16, "avx512_core_bf16")

enum as_isa {
#define X(name, text) AS_ISA_##name,
    AS_ISA_LEVELS(X)
#undef X
        AS_ISA_COUNT
};

enum as_isa_source {
    AS_ISA_BY_OPTION,
    AS_ISA_BY_ASSAY,  /* ASSAY_MAX_ISA */
    AS_ISA_BY_ONEDNN, /* ONEDNN_MAX_CPU_ISA */
    AS_ISA_BY_DNNL,   /* DNNL_MAX_CPU_ISA, the older name */
    AS_ISA_SOURCE_COUNT
};

/* A cap of each source; AS_ISA_COUNT: it does not cap. */
struct as_isa_caps {
    enum as_isa by[AS_ISA_SOURCE_COUNT];
};

struct as_isa_choice {
    enum as_isa effective; /* what kernels use */
    enum as_isa hardware;  /* what they would use without a cap */
    const char *capped_by; /* the option or variable; NULL: nothing lowers it */
};

/* "avx2". */
const char *as_isa_name(enum as_isa isa);
/* The i-th name that a cap may have; NULL past the last. */
const char *as_isa_cap_at(size_t i);
/* Names of caps in any case, and "avx512" for avx512_core. */
bool as_isa_parse(const char *text, enum as_isa *out);
/* Every name that oneDNN knows; AS_ISA_COUNT for those that cap nothing here, and for unknown ones,
 * which oneDNN ignores. */
enum as_isa as_isa_parse_onednn(const char *text);
/* The highest level that `hardware` (bit i: enum as_isa i) has and all caps allow. */
struct as_isa_choice as_isa_choose(const struct as_isa_caps *caps, uint32_t hardware);

/* Bit i: this processor and its system can run enum as_isa i. */
uint32_t as_isa_hardware(void);

/* USAGE: `name`, the option or the variable, has the value `text`, which is not a cap. */
AS_MUST_USE int as_isa_fail(const char *name, const char *text, struct assay_error *err);
/* USAGE: ASSAY_MAX_ISA is set to something that is not a cap. Such a value caps nothing. */
AS_MUST_USE int as_isa_check_environment(struct assay_error *err);

/* --max-isa of this process, in place of an earlier one; AS_ISA_COUNT: none. oneDNN takes the level
 * that is effective when the first engine of the process is made, and keeps it. Not while kernels
 * run. */
void as_isa_cap(enum as_isa isa);

/* What the option and the environment say now. Kernels keep what was effective at their first call,
 * or at as_isa_cap(): a program that changes its environment later changes the report alone. */
struct as_isa_choice as_isa_current(void);

/* 0 until the first call of as_isa_start(), else the effective level plus 1. */
extern _Atomic unsigned char as_isa_effective;
enum as_isa as_isa_start(void);

/* The effective level. Budget: 1 ns of CPU time per call. */
static inline enum as_isa as_isa_get(void)
{
    unsigned char level = atomic_load_explicit(&as_isa_effective, memory_order_relaxed);

    return level ? (enum as_isa)(level - 1) : as_isa_start();
}

#endif
