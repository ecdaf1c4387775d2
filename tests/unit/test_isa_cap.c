/* tests/unit/test_isa_cap.c - caps on instruction sets: their names, which one wins, and that our
 * loops give the same at every level. */
#include "unit.h"

#include <stdlib.h>

#include "engine/kernels/gemm/kern_gemm.h"
#include "engine/kernels/reduce/kern_reduce.h"
#include "probe/system/isa_cap.h"

static const char *const variables[] = {"ASSAY_MAX_ISA", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"};

/* Every test starts without a cap, whatever the whole suite is capped at. */
static int forget_caps(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(variables); i++)
        unsetenv(variables[i]);
    as_isa_cap(AS_ISA_COUNT);
    return 0;
}

static void names_are_read_in_any_case(void **state)
{
    enum as_isa isa;

    (void)state;
    for (size_t i = 0; as_isa_cap_at(i); i++) {
        assert_true(as_isa_parse(as_isa_cap_at(i), &isa));
        assert_int_equal(isa, i + AS_ISA_SSE41);
        assert_string_equal(as_isa_name(isa), as_isa_cap_at(i));
    }
    assert_true(as_isa_parse("AVX2_VNNI", &isa));
    assert_int_equal(isa, AS_ISA_AVX2_VNNI);
    assert_true(as_isa_parse("AVX512", &isa));
    assert_int_equal(isa, AS_ISA_AVX512_CORE);
    assert_false(as_isa_parse("", &isa));
    assert_false(as_isa_parse("generic", &isa));
    assert_false(as_isa_parse("avx3", &isa));
    assert_false(as_isa_parse("avx512_core_amx", &isa));
}

static void names_of_onednn_cap_what_they_mean_there(void **state)
{
    (void)state;
    assert_int_equal(as_isa_parse_onednn("SSE41"), AS_ISA_SSE41);
    assert_int_equal(as_isa_parse_onednn("avx512_core_bf16"), AS_ISA_AVX512_CORE_BF16);
    assert_int_equal(as_isa_parse_onednn("AVX512_MIC"), AS_ISA_AVX2);
    assert_int_equal(as_isa_parse_onednn("AVX512_CORE_AMX"), AS_ISA_COUNT);
    assert_int_equal(as_isa_parse_onednn("ALL"), AS_ISA_COUNT);
    assert_int_equal(as_isa_parse_onednn("avx512"), AS_ISA_COUNT);
    assert_int_equal(as_isa_parse_onednn(""), AS_ISA_COUNT);
}

static struct as_isa_choice choose(enum as_isa option, enum as_isa assay, enum as_isa onednn,
                                   enum as_isa dnnl, uint32_t hardware)
{
    return as_isa_choose(&(struct as_isa_caps){.by = {option, assay, onednn, dnnl}}, hardware);
}

static void the_lowest_cap_wins(void **state)
{
    const uint32_t all = (1u << AS_ISA_COUNT) - 1;
    const enum as_isa none = AS_ISA_COUNT;
    struct as_isa_choice c;

    (void)state;
    c = choose(none, none, none, none, all);
    assert_int_equal(c.effective, AS_ISA_AVX512_CORE_BF16);
    assert_int_equal(c.hardware, AS_ISA_AVX512_CORE_BF16);
    assert_null(c.capped_by);
    c = choose(AS_ISA_AVX2, AS_ISA_AVX512_CORE, none, none, all);
    assert_int_equal(c.effective, AS_ISA_AVX2);
    assert_string_equal(c.capped_by, "--max-isa");
    c = choose(AS_ISA_AVX512_CORE, AS_ISA_AVX2, none, AS_ISA_AVX512_CORE_VNNI, all);
    assert_int_equal(c.effective, AS_ISA_AVX2);
    assert_string_equal(c.capped_by, "ASSAY_MAX_ISA");
    c = choose(AS_ISA_AVX2, AS_ISA_AVX, none, AS_ISA_SSE41, all);
    assert_int_equal(c.effective, AS_ISA_SSE41);
    assert_string_equal(c.capped_by, "DNNL_MAX_CPU_ISA");
    c = choose(none, none, AS_ISA_AVX, AS_ISA_AVX2, all);
    assert_int_equal(c.effective, AS_ISA_AVX);
    assert_string_equal(c.capped_by, "ONEDNN_MAX_CPU_ISA");
    assert_int_equal(c.hardware, AS_ISA_AVX512_CORE_BF16);
}

static void a_cap_never_raises_the_hardware(void **state)
{
    const uint32_t haswell =
        1u << AS_ISA_GENERIC | 1u << AS_ISA_SSE41 | 1u << AS_ISA_AVX | 1u << AS_ISA_AVX2;
    const uint32_t cascade_lake =
        haswell | 1u << AS_ISA_AVX512_CORE | 1u << AS_ISA_AVX512_CORE_VNNI;
    const enum as_isa none = AS_ISA_COUNT;
    struct as_isa_choice c;

    (void)state;
    c = choose(AS_ISA_AVX512_CORE_BF16, none, none, none, haswell);
    assert_int_equal(c.effective, AS_ISA_AVX2);
    assert_null(c.capped_by);
    /* A level that the processor skips falls to the next one that it has. */
    c = choose(AS_ISA_AVX2_VNNI, none, none, none, cascade_lake);
    assert_int_equal(c.effective, AS_ISA_AVX2);
    assert_int_equal(c.hardware, AS_ISA_AVX512_CORE_VNNI);
    assert_string_equal(c.capped_by, "--max-isa");
    c = choose(AS_ISA_SSE41, none, none, none, 1u << AS_ISA_GENERIC);
    assert_int_equal(c.effective, AS_ISA_GENERIC);
    assert_null(c.capped_by);
}

static void the_environment_caps_programs_that_link_the_library(void **state)
{
    enum as_isa hardware = as_isa_current().hardware;
    enum as_isa wanted = hardware < AS_ISA_SSE41 ? hardware : AS_ISA_SSE41;

    (void)state;
    assert_int_equal(as_isa_get(), hardware);
    for (size_t i = 0; i < UNIT_COUNT(variables); i++) {
        setenv(variables[i], "SSE41", 1);
        as_isa_cap(AS_ISA_AVX512_CORE_BF16);
        assert_int_equal(as_isa_get(), wanted);
        unsetenv(variables[i]);
    }
    as_isa_cap(AS_ISA_SSE41);
    assert_int_equal(as_isa_get(), wanted);
    as_isa_cap(AS_ISA_COUNT);
    assert_int_equal(as_isa_get(), hardware);
}

static void an_unknown_cap_is_refused_with_the_known_ones(void **state)
{
    struct assay_error err = {0};

    (void)state;
    setenv("ASSAY_MAX_ISA", "avx9", 1);
    assert_int_equal(as_isa_check_environment(&err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg,
                        "ASSAY_MAX_ISA cannot be 'avx9'; it is one of sse41, avx, avx2, avx2_vnni, "
                        "avx512_core, avx512_core_vnni, avx512_core_bf16");
    setenv("ASSAY_MAX_ISA", "AVX2", 1);
    assert_int_equal(as_isa_check_environment(&err), ASSAY_OK);
    unsetenv("ASSAY_MAX_ISA");
    assert_int_equal(as_isa_check_environment(&err), ASSAY_OK);
    /* oneDNN ignores what it does not know. */
    setenv("DNNL_MAX_CPU_ISA", "avx9", 1);
    assert_int_equal(as_isa_check_environment(&err), ASSAY_OK);
    assert_null(as_isa_current().capped_by);
}

static void loops_agree_at_every_level(void **state)
{
    enum { N = 1003 };
    static float a[N], b[N], first[N], soft[N];
    double dot = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        a[i] = (float)(i % 37) / 37 - 0.5f;
        b[i] = (float)(i % 41) / 41 - 0.25f;
        dot += (double)a[i] * (double)b[i];
    }
    for (int isa = AS_ISA_SSE41; isa < AS_ISA_COUNT; isa++) {
        as_isa_cap((enum as_isa)isa);
        assert_true(fabs((double)as_dot_f32(a, b, N) - dot) < 1e-3);
        as_softmax_row(a, soft, N, false);
        if (isa == AS_ISA_SSE41)
            memcpy(first, soft, sizeof first);
        for (int i = 0; i < N; i++)
            assert_true(fabs((double)soft[i] - (double)first[i]) < 1e-7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(names_are_read_in_any_case, forget_caps),
        cmocka_unit_test_setup(names_of_onednn_cap_what_they_mean_there, forget_caps),
        cmocka_unit_test_setup(the_lowest_cap_wins, forget_caps),
        cmocka_unit_test_setup(a_cap_never_raises_the_hardware, forget_caps),
        cmocka_unit_test_setup(the_environment_caps_programs_that_link_the_library, forget_caps),
        cmocka_unit_test_setup(an_unknown_cap_is_refused_with_the_known_ones, forget_caps),
        cmocka_unit_test_setup(loops_agree_at_every_level, forget_caps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
