/* How a model scales: power laws, the knee and the best setting from points made by hand. */
#include "unit.h"

#include "analyze/model/sweep.h"

static void a_power_law_is_found(void **state)
{
    const double x[] = {1, 2, 8, 32}, square[] = {3, 12, 192, 3072}, flat[] = {5, 5, 5, 5};
    struct as_power_law law = as_power_law_fit(x, square, 4);

    (void)state;
    assert_true(law.known);
    assert_int_equal(law.n, 4);
    assert_float_equal(law.exponent, 2, 1e-9);
    assert_float_equal(law.error, 0, 1e-6);
    assert_float_equal(law.r2, 1, 1e-9);
    assert_float_equal(as_power_law_fit(x, flat, 4).exponent, 0, 1e-9);
}

/* By hand: ln y = 0, 1, 1 at ln x = 0, 1, 2: slope 1/2, residuals 1/6 in all, error sqrt(1/12). */
static void its_error_is_that_of_the_slope(void **state)
{
    const double e = exp(1), x[] = {1, e, e * e}, y[] = {1, e, e};
    struct as_power_law law = as_power_law_fit(x, y, 3);

    (void)state;
    assert_float_equal(law.exponent, 0.5, 1e-9);
    assert_float_equal(law.error, sqrt(1.0 / 12), 1e-9);
    assert_float_equal(law.r2, 0.75, 1e-9);
}

static void points_that_have_no_logarithm_do_not_count(void **state)
{
    const double x[] = {1, 0, 4, UNIT_NAN}, y[] = {2, 9, 8, 1};
    const double same[] = {3, 3, 3, 3};
    struct as_power_law law = as_power_law_fit(x, y, 4);

    (void)state;
    assert_true(law.known);
    assert_int_equal(law.n, 2);
    assert_float_equal(law.exponent, 1, 1e-9);
    assert_true(isnan(law.error));
    assert_false(as_power_law_fit(same, y, 4).known);
    assert_false(as_power_law_fit(x, y, 1).known);
    assert_false(as_power_law_fit(x, y, 0).known);
}

enum { BATCHES = 5 };

struct made {
    struct as_sweep_options options;
    struct as_sweep_point points[BATCHES];
    struct as_sweep_run run;
    struct as_sweep *sweep;
};

/* Batches 1, 2, 4, 8, 16: throughput 1000, 1800, 2400, 2450, 2460 a second, memory 1 MiB each. */
static void make(struct made *m, const struct as_sweep_limits *limits)
{
    static const double per_second[BATCHES] = {1000, 1800, 2400, 2450, 2460};

    *m = (struct made){.options = {.n_axes = 1}, .run = {.points = m->points, .n_points = BATCHES}};
    m->options.axes[0] = (struct as_sweep_axis){.kind = AS_SWEEP_BATCH, .name = "batch"};
    m->run.options = &m->options;
    for (size_t i = 0; i < BATCHES; i++) {
        struct as_sweep_point *p = &m->points[i];

        m->options.axes[0].values[m->options.axes[0].n++] = 1 << i;
        *p = (struct as_sweep_point){.place = {i},
                                     .batch = (uint64_t)1 << i,
                                     .flops = (uint64_t)1000 << i,
                                     .peak_bytes = (uint64_t)1048576 << i,
                                     .threads = 1,
                                     .counted = true};
        p->figures.summary.median = (double)p->batch * 1e9 / per_second[i];
        p->way_ns[0] = p->way_ns[1] = p->figures.summary.median;
    }
    if (limits)
        assert_int_equal(as_sweep_new(&m->sweep, &m->run, NULL, limits, NULL), ASSAY_OK);
}

/* Batches 4 and 8 alone gain 2 %: whether that is a bend cannot be seen. */
static void two_settings_have_no_knee(void **state)
{
    struct made m;

    (void)state;
    make(&m, NULL);
    m.run.points = m.points + 2;
    for (m.run.n_points = 1; m.run.n_points <= 3; m.run.n_points++) {
        assert_int_equal(as_sweep_new(&m.sweep, &m.run, NULL, &(struct as_sweep_limits){0}, NULL),
                         ASSAY_OK);
        assert_int_equal(m.sweep->knee, m.run.n_points < 3 ? SIZE_MAX : 0);
        as_sweep_free(m.sweep);
    }
}

static void the_knee_is_where_doubling_gains_little(void **state)
{
    struct made m;

    (void)state;
    make(&m, &(struct as_sweep_limits){0});
    assert_int_equal(m.sweep->knee, 2); /* 2400 to 2450 is 2 % */
    assert_int_equal(m.sweep->best, 4);
    assert_int_equal(m.sweep->fastest, 0);
    assert_float_equal(m.sweep->work.exponent, 1, 1e-9);
    assert_float_equal(m.sweep->memory.exponent, 1, 1e-9);
    assert_float_equal(m.sweep->memory_growth, 16, 1e-9);
    assert_float_equal(m.sweep->rows[4].speedup, 2.46, 1e-9);
    as_sweep_free(m.sweep);
}

static void the_best_is_within_the_limits(void **state)
{
    struct made m;

    (void)state;
    make(&m, &(struct as_sweep_limits){.max_memory_bytes = 2.5 * 1048576});
    assert_int_equal(m.sweep->best, 1);
    as_sweep_free(m.sweep);
    make(&m, &(struct as_sweep_limits){.max_latency_ns = 2e6}); /* batch 4 takes 1.67 ms, 8: 3.3 */
    assert_int_equal(m.sweep->best, 2);
    as_sweep_free(m.sweep);
    make(&m, &(struct as_sweep_limits){.max_latency_ns = 1});
    assert_int_equal(m.sweep->best, SIZE_MAX);
    as_sweep_free(m.sweep);
}

/* What fails is a row and nothing more. */
static void a_failed_point_is_left_out(void **state)
{
    struct made m;

    (void)state;
    make(&m, NULL);
    m.points[4].rc = ASSAY_ERR_LIMIT;
    assert_int_equal(as_sweep_new(&m.sweep, &m.run, NULL, &(struct as_sweep_limits){0}, NULL),
                     ASSAY_OK);
    assert_int_equal(m.sweep->n_rows, BATCHES);
    assert_int_equal(m.sweep->best, 3);
    assert_int_equal(m.sweep->work.n, 4);
    assert_true(isnan(m.sweep->rows[4].samples_per_second));
    assert_float_equal(m.sweep->memory_growth, 8, 1e-9);
    as_sweep_free(m.sweep);
}

/* A size that makes the work larger has a best only under a limit: the most work within it. */
static void of_larger_work_the_best_needs_a_limit(void **state)
{
    struct made m;

    (void)state;
    make(&m, NULL);
    m.options.axes[0].kind = AS_SWEEP_KEY;
    assert_int_equal(as_sweep_new(&m.sweep, &m.run, NULL, &(struct as_sweep_limits){0}, NULL),
                     ASSAY_OK);
    assert_int_equal(m.sweep->best, SIZE_MAX);
    assert_int_equal(m.sweep->knee, SIZE_MAX);
    as_sweep_free(m.sweep);
    assert_int_equal(as_sweep_new(&m.sweep, &m.run, NULL,
                                  &(struct as_sweep_limits){.max_latency_ns = 2e6}, NULL),
                     ASSAY_OK);
    assert_int_equal(m.sweep->best, 2);
    as_sweep_free(m.sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_power_law_is_found),
        cmocka_unit_test(its_error_is_that_of_the_slope),
        cmocka_unit_test(points_that_have_no_logarithm_do_not_count),
        cmocka_unit_test(two_settings_have_no_knee),
        cmocka_unit_test(the_knee_is_where_doubling_gains_little),
        cmocka_unit_test(the_best_is_within_the_limits),
        cmocka_unit_test(a_failed_point_is_left_out),
        cmocka_unit_test(of_larger_work_the_best_needs_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
