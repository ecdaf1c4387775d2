/* The same model at many settings: what one of them cannot do is its own row. */
#include "unit.h"

#include "measure/sweep/sweep_run.h"

static void a_setting_too_large_is_refused_and_the_others_stay(void **state)
{
    struct as_sweep_options o = {
        .spec = "zoo:mlp",
        .n_axes = 1,
        .axes = {{.kind = AS_SWEEP_BATCH, .name = "batch", .n = 2, .values = {1, 4000000}}},
        .engine = {.threads = 1, .limit_bytes = (uint64_t)256 << 20},
        .latency = {.runs = 3, .no_warmup = true},
    };
    struct as_sweep_run *run = NULL;
    struct assay_error err = {0};

    (void)state;
    if (as_sweep_run_new(&run, &o, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(run->n_points, 2);
    assert_int_equal(run->points[0].rc, ASSAY_OK);
    assert_int_equal(run->points[0].n_samples, 6);
    assert_true(run->points[0].peak_bytes > UINT64_C(4) * 269322);
    assert_int_equal(run->points[1].rc, ASSAY_ERR_LIMIT);
    assert_non_null(strstr(run->points[1].err.msg, "running this needs"));
    assert_int_equal(run->points[1].n_samples, 0);
    as_sweep_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setting_too_large_is_refused_and_the_others_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
