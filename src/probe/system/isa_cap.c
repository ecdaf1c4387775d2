/* probe/system/isa_cap.c - the instruction set that kernels may use.
 * This is the one file of the library that reads the environment: programs that link the library
 * obey the same caps as the command, and oneDNN's own variables, which its interface overrides. */
#include "probe/system/isa_cap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const isa_name[] = {
#define X(name, text) [AS_ISA_##name] = (text),
    AS_ISA_LEVELS(X)
#undef X
};

static const char *const source_name[] = {
    [AS_ISA_BY_OPTION] = "--max-isa",
    [AS_ISA_BY_ASSAY] = "ASSAY_MAX_ISA",
    [AS_ISA_BY_ONEDNN] = "ONEDNN_MAX_CPU_ISA",
    [AS_ISA_BY_DNNL] = "DNNL_MAX_CPU_ISA",
};
_Static_assert(sizeof source_name / sizeof *source_name == AS_ISA_SOURCE_COUNT,
               "name every source");

_Atomic unsigned char as_isa_effective;
static _Atomic unsigned char option_cap = AS_ISA_COUNT;

const char *as_isa_name(enum as_isa isa)
{
    return isa_name[isa];
}

const char *as_isa_cap_at(size_t i)
{
    return i + AS_ISA_SSE41 < AS_ISA_COUNT ? isa_name[i + AS_ISA_SSE41] : NULL;
}

bool as_isa_parse(const char *text, enum as_isa *out)
{
    for (int i = AS_ISA_SSE41; i < AS_ISA_COUNT; i++) {
        if (strcasecmp(text, isa_name[i]) == 0) {
            *out = (enum as_isa)i;
            return true;
        }
    }
    *out = AS_ISA_AVX512_CORE;
    return strcasecmp(text, "avx512") == 0;
}

enum as_isa as_isa_parse_onednn(const char *text)
{
    enum as_isa isa;

    /* Xeon Phi has AVX2, and AVX-512 of a kind that no kernel here uses. */
    if (strcasecmp(text, "avx512_mic") == 0 || strcasecmp(text, "avx512_mic_4ops") == 0)
        return AS_ISA_AVX2;
    return strcasecmp(text, "avx512") != 0 && as_isa_parse(text, &isa) ? isa : AS_ISA_COUNT;
}

static enum as_isa highest(uint32_t hardware, enum as_isa cap)
{
    int isa = cap == AS_ISA_COUNT ? AS_ISA_COUNT - 1 : (int)cap;

    while (isa > AS_ISA_GENERIC && !(hardware >> isa & 1))
        isa--;
    return (enum as_isa)isa;
}

struct as_isa_choice as_isa_choose(const struct as_isa_caps *caps, uint32_t hardware)
{
    struct as_isa_choice choice = {.hardware = highest(hardware, AS_ISA_COUNT)};

    choice.effective = choice.hardware;
    for (int i = 0; i < AS_ISA_SOURCE_COUNT; i++) {
        enum as_isa isa = highest(hardware, caps->by[i]);

        if (isa < choice.effective) {
            choice.effective = isa;
            choice.capped_by = source_name[i];
        }
    }
    return choice;
}

#if defined(__x86_64__)
/* What x86-64-v3 needs and not every compiler's __builtin_cpu_supports() knows. Their registers are
 * those of AVX, which that has looked for. */
static bool has_rest_of_v3(void)
{
    unsigned a, b, c, d;
    bool f16c_movbe = __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C && c & bit_MOVBE;

    return f16c_movbe && __get_cpuid(0x80000001, &a, &b, &c, &d) && c & bit_LZCNT;
}

static bool has_avx_vnni(void)
{
    const unsigned bit = 1u << 4;
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a & bit;
}

static uint32_t bit_of(enum as_isa isa, bool has)
{
    return has ? (uint32_t)1 << isa : 0;
}

uint32_t as_isa_hardware(void)
{
    bool sse41, avx, avx2, avx512, vnni, bf16;

    __builtin_cpu_init();
    sse41 = __builtin_cpu_supports("sse4.1");
    avx = sse41 && __builtin_cpu_supports("avx");
    avx2 = avx && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_rest_of_v3();
    avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    vnni = avx512 && __builtin_cpu_supports("avx512vnni");
    bf16 = vnni && __builtin_cpu_supports("avx512bf16");
    return bit_of(AS_ISA_GENERIC, true) | bit_of(AS_ISA_SSE41, sse41) | bit_of(AS_ISA_AVX, avx) |
           bit_of(AS_ISA_AVX2, avx2) | bit_of(AS_ISA_AVX2_VNNI, avx2 && has_avx_vnni()) |
           bit_of(AS_ISA_AVX512_CORE, avx512) | bit_of(AS_ISA_AVX512_CORE_VNNI, vnni) |
           bit_of(AS_ISA_AVX512_CORE_BF16, bf16);
}
#else
uint32_t as_isa_hardware(void)
{
    return 1u << AS_ISA_GENERIC;
}
#endif

int as_isa_fail(const char *name, const char *text, struct assay_error *err)
{
    char list[160] = "";
    size_t used = 0;
    const char *word;

    for (size_t i = 0; (word = as_isa_cap_at(i)) != NULL && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", word);
    return as_fail(err, ASSAY_ERR_USAGE, "%s cannot be '%.40s'; it is one of %s", name, text, list);
}

int as_isa_check_environment(struct assay_error *err)
{
    const char *text = getenv("ASSAY_MAX_ISA");
    enum as_isa isa;

    return text && !as_isa_parse(text, &isa) ? as_isa_fail("ASSAY_MAX_ISA", text, err) : ASSAY_OK;
}

static struct as_isa_caps read_caps(void)
{
    struct as_isa_caps caps = {
        .by = {(enum as_isa)atomic_load_explicit(&option_cap, memory_order_relaxed), AS_ISA_COUNT,
               AS_ISA_COUNT, AS_ISA_COUNT}};
    const char *text = getenv("ASSAY_MAX_ISA");

    if (text && !as_isa_parse(text, &caps.by[AS_ISA_BY_ASSAY]))
        caps.by[AS_ISA_BY_ASSAY] = AS_ISA_COUNT;
    for (int i = AS_ISA_BY_ONEDNN; i <= AS_ISA_BY_DNNL; i++)
        if ((text = getenv(source_name[i])) != NULL)
            caps.by[i] = as_isa_parse_onednn(text);
    return caps;
}

struct as_isa_choice as_isa_current(void)
{
    struct as_isa_caps caps = read_caps();

    return as_isa_choose(&caps, as_isa_hardware());
}

enum as_isa as_isa_start(void)
{
    enum as_isa isa = as_isa_current().effective;

    atomic_store_explicit(&as_isa_effective, (unsigned char)(isa + 1), memory_order_relaxed);
    return isa;
}

void as_isa_cap(enum as_isa isa)
{
    atomic_store_explicit(&option_cap, (unsigned char)isa, memory_order_relaxed);
    (void)as_isa_start();
}
