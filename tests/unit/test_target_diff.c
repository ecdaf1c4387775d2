/* tests/unit/test_target_diff.c - what changed between two watched programs, row by row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/watch/target_diff.h"
#include "base/alloc.h"

static struct as_target_site site(const char *function, uint64_t offset, uint64_t peak,
                                  uint64_t allocations)
{
    return (struct as_target_site){
        .site = {.kind = AS_HEAP_MALLOC, .peak_live_bytes = peak, .allocations = allocations},
        .function = function,
        .module = "a.out",
        .offset = offset,
        .peak_known = true};
}

static struct as_gemm_calls product(const char *function, const char *shape, uint64_t ns)
{
    struct as_gemm_calls c = {
        .function = function, .dtype = "f32", .calls = 3, .time_ns = ns, .max_ns = ns / 2};

    strncpy(c.shape, shape, sizeof c.shape - 1);
    return c;
}

static struct as_process_row process(const char *name, uint64_t cpu_ns)
{
    return (struct as_process_row){.name = name,
                                   .cpu_user_ns = as_fact_of(cpu_ns),
                                   .cpu_system_ns = as_fact_of(0),
                                   .peak_rss_bytes = as_fact_of(5 << 20)};
}

/* Two places in a function are one row, whatever their offsets are; the widest change comes first.
 */
static void rows_are_joined_by_name(void **state)
{
    struct as_target_site in_a[] = {site("parse", 4, 1000, 5), site("parse", 9, 500, 2),
                                    site("load", 0, 70, 1)};
    struct as_target_site in_b[] = {site("parse", 64, 9000, 7), site("fresh", 0, 10, 1)};
    struct as_gemm_calls gemm_a[] = {product("sgemm_", "m 8 n 8 k 8", 100)};
    struct as_gemm_calls gemm_b[] = {product("sgemm_", "m 8 n 8 k 8", 400),
                                     product("sgemm_", "m 9 n 8 k 8", 50)};
    struct as_process_row process_a[] = {process("make", 10), process("cc", 20), process("cc", 30)};
    struct as_process_row process_b[] = {process("make", 10)};
    const struct as_target a = {.place = in_a,
                                .n_places = 3,
                                .gemm = gemm_a,
                                .n_gemm = 1,
                                .process = process_a,
                                .n_processes = 3};
    const struct as_target b = {.place = in_b,
                                .n_places = 2,
                                .gemm = gemm_b,
                                .n_gemm = 2,
                                .process = process_b,
                                .n_processes = 1};
    struct as_target_diff *d;

    (void)state;
    assert_int_equal(as_target_diff_new(&d, &a, &b, NULL), ASSAY_OK);
    assert_int_equal(d->sites.n, 3);
    assert_string_equal(d->sites.row[0].name, "parse (a.out)");
    assert_true(d->sites.row[0].value[0] == 1500 && d->sites.row[0].value[1] == 9000);
    assert_true(d->sites.row[0].count[0] == 7 && d->sites.row[0].count[1] == 7);
    assert_string_equal(d->sites.row[1].name, "load (a.out)");
    assert_true(isnan(d->sites.row[1].value[1]));
    assert_int_equal(d->products.n, 2);
    assert_string_equal(d->products.row[0].name, "sgemm_ f32 m 8 n 8 k 8");
    assert_true(d->products.row[0].value[1] == 400 && d->products.row[0].largest[1] == 200);
    assert_true(isnan(d->products.row[1].value[0]));
    assert_int_equal(d->processes.n, 2);
    assert_string_equal(d->processes.row[0].name, "cc");
    assert_true(d->processes.row[0].value[0] == 50 && d->processes.row[0].count[0] == 2);
    as_target_diff_free(d);
}

static void runs_without_anything_have_no_rows(void **state)
{
    const struct as_target none = {0};
    struct as_target_diff *d;

    (void)state;
    assert_int_equal(as_target_diff_new(&d, &none, &none, NULL), ASSAY_OK);
    assert_int_equal(d->sites.n + d->products.n + d->processes.n, 0);
    as_target_diff_free(d);
    as_target_diff_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_joined_by_name),
        cmocka_unit_test(runs_without_anything_have_no_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
