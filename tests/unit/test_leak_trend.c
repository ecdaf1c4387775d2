/* tests/unit/test_leak_trend.c - incidents of growth: what they tell, once, and what withdraws
 * them. Lines without noise have slopes that can be worked out by hand. */
#include "unit.h"

#include <assay/leaks.h>

#include "analyze/detect/leak_detector.h"
#include "stats/describe/rng.h"

struct told {
    unsigned n;
    struct assay_leak_incident first;
};

static void note(void *user, const struct assay_leak *leak,
                 const struct assay_leak_incident *incident)
{
    struct told *told = user;

    (void)leak;
    if (incident && told->n++ == 0)
        told->first = *incident;
}

static struct assay_leak_detector *watched(struct told *told)
{
    struct assay_leak_detector_options o = {.size = sizeof(struct assay_leak_detector_options)};
    struct assay_leak_detector *d = NULL;

    *told = (struct told){0};
    o.alert = note;
    o.user = told;
    assert_int_equal(assay_leak_detector_new(&d, &o, NULL), 0);
    return d;
}

static void add(struct assay_leak_detector *d, double mb, unsigned step)
{
    assert_int_equal(assay_leak_detector_add(d, NULL, mb, step, 1000 + 0.5 * step, NULL), 0);
}

static const struct assay_leak_incident *only(struct assay_leak_detector *d)
{
    const struct assay_leak_incident *incidents;

    assert_int_equal(assay_leak_detector_incidents(d, &incidents, NULL), 1);
    return incidents;
}

static int how_many(struct assay_leak_detector *d)
{
    const struct assay_leak_incident *incidents;

    return assay_leak_detector_incidents(d, &incidents, NULL);
}

static void a_line_is_one_incident_with_its_slope(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);
    const struct assay_leak_incident *i;

    (void)state;
    assay_leak_detector_set_headroom(d, 1000);
    for (unsigned step = 0; step <= 1000; step++)
        add(d, 500 + 0.25 * step, step);
    assert_int_equal(told.n, 1);
    assert_null(told.first.layer);
    i = only(d);
    assert_true(i->first == 0 && i->last == 999);
    assert_true(i->first_step == 0 && i->last_step == 999);
    assert_true(fabs(i->mb_per_step - 0.25) < 1e-12);
    assert_true(fabs(i->mb_per_second - 0.5) < 1e-12);
    assert_true(fabs(i->seconds_to_exhaustion - 2000) < 1e-9);
    assert_true(i->start_time_seconds == 1000 && fabs(i->end_time_seconds - 1499.5) < 1e-9);
    assert_true(fabs(i->start_memory_mb - 500) < 1e-9);
    assert_true(fabs(i->end_memory_mb - 749.75) < 1e-9);
    assert_true(fabs(i->net_growth_mb - 249.75) < 1e-9);
    assert_true(i->tau == 1 && i->p_value < 1e-6);
    assay_leak_detector_set_headroom(d, UNIT_NAN);
    assert_true(isnan(only(d)->seconds_to_exhaustion));
    assay_leak_detector_free(d);
}

static void the_growth_of_an_incident_is_its_rate_by_its_length(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);
    struct as_rng rng;
    const struct assay_leak_incident *i;
    double length;

    (void)state;
    as_rng_seed(&rng, 11);
    for (unsigned step = 0; step < 400; step++) { /* with noise, and an outlier at either end */
        bool far = step == 1 || step == 397;

        add(d, 300 + 0.2 * step + as_rng_normal(&rng) + (far ? 200 : 0), step);
    }
    i = only(d);
    length = (double)(i->last_step - i->first_step);
    assert_true(fabs(i->net_growth_mb - i->mb_per_step * length) < 1e-9);
    assert_true(fabs(i->end_memory_mb - i->start_memory_mb - i->net_growth_mb) < 1e-9);
    assert_true(fabs(i->net_growth_mb - 0.2 * length) < 1);
    assert_true(fabs(i->start_memory_mb - 300 - 0.2 * (double)i->first_step) < 1);
    assay_leak_detector_free(d);
}

/* Neighbors that depend on each other: whole incidents are less sure than the ranges they are of.
 */
static void the_p_value_told_is_the_one_judged(void **state)
{
    unsigned n_found = 0;

    (void)state;
    for (unsigned seed = 0; seed < 60; seed++) {
        const struct assay_leak_incident *found;
        struct told told;
        struct assay_leak_detector *d = watched(&told);
        struct as_rng rng;
        double noise = 0, leaked = 0;
        int n;

        as_rng_seed(&rng, seed);
        for (unsigned step = 0; step < 300; step++) {
            noise = 0.97 * noise + 0.2 * as_rng_normal(&rng);
            leaked += step % 7 == 0 ? 0.25 : 0;
            add(d, 200 + leaked + noise, step);
        }
        n = assay_leak_detector_incidents(d, &found, NULL);
        for (int i = 0; i < n; i++)
            assert_true(found[i].p_value > 0 && found[i].p_value < 0.001);
        if (told.n)
            assert_true(told.first.p_value > 0 && told.first.p_value < 0.001);
        n_found += n > 0;
        assay_leak_detector_free(d);
    }
    assert_true(n_found > 30);
}

static void growth_on_a_curve_stays_within_its_readings(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);
    const struct assay_leak_incident *i;

    (void)state;
    for (unsigned step = 0; step < 400; step++)
        add(d, 10 + 1e-3 * step * step + 0.1 * step, step);
    i = only(d);
    assert_true(i->start_memory_mb >= 10 && i->end_memory_mb <= 10 + 160 + 40);
    assay_leak_detector_free(d);
}

static void growth_that_begins_later_begins_there(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);
    struct as_rng rng;
    const struct assay_leak_incident *i;

    (void)state;
    as_rng_seed(&rng, 5);
    for (unsigned step = 0; step < 2000; step++)
        add(d, 800 + as_rng_normal(&rng) + (step > 1000 ? 0.1 * (step - 1000) : 0), step);
    i = only(d);
    assert_in_range(i->first, 750, 1100);
    assert_in_range(i->last, 1990, 2000);
    assert_true(fabs(i->mb_per_step - 0.1) < 0.01);
    assert_int_equal(told.n, 1);
    assay_leak_detector_free(d);
}

static void growth_below_a_tall_swing_is_found(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 6);
    for (unsigned step = 0; step < 1600; step++)
        add(d, 1000 + 0.1 * step + 200 * (step % 70 / 70.0) + as_rng_normal(&rng), step);
    assert_true(told.n >= 1);
    assert_true(how_many(d) >= 1);
    assay_leak_detector_free(d);
}

static void growth_that_comes_back_is_withdrawn(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 7);
    /* Teeth of 500 steps: the first cannot be told from a leak before it falls. */
    for (unsigned step = 0; step < 2400; step++)
        add(d, 1000 + 0.3 * (step % 500) + as_rng_normal(&rng), step);
    assert_int_equal(told.n, 1);
    assert_int_equal(how_many(d), 0);
    assay_leak_detector_free(d);
}

static void a_short_series_is_judged_when_it_is_asked_for(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);

    (void)state;
    for (unsigned step = 0; step < 29; step++)
        add(d, 100 + 5 * step, step);
    assert_int_equal(how_many(d), 0);
    for (unsigned step = 29; step < 60; step++)
        add(d, 100 + 5 * step, step);
    assert_int_equal(told.n, 0);
    assert_true(fabs(only(d)->mb_per_step - 5) < 1e-12);
    assay_leak_detector_free(d);
}

/* Two layers a step, whose readings differ much; only one layer grows. */
static void layers_have_series_of_their_own(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);
    const struct assay_leak_incident *i;
    struct assay_leak_summary s;

    (void)state;
    for (unsigned step = 0; step < 600; step++) {
        double time = 0.1 * step;

        assert_int_equal(assay_leak_detector_add(d, "cache", 100 + 0.05 * step, step, time, NULL),
                         0);
        assert_int_equal(assay_leak_detector_add(d, "conv", 700, step, time + 0.05, NULL), 0);
    }
    i = only(d);
    assert_string_equal(i->layer, "cache");
    assert_true(fabs(i->mb_per_step - 0.05) < 1e-12);
    assert_int_equal(assay_leak_detector_summary(d, &s, NULL), 0);
    assert_true(s.growing && s.n_incidents == 1 && s.n_series == 3 && s.n_readings == 1200);
    assert_int_equal(told.n, 1);
    assert_string_equal(told.first.layer, "cache");
    assay_leak_detector_free(d);
}

static void the_last_reading_of_a_step_is_the_process(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);
    const struct assay_leak_incident *i;

    (void)state;
    for (unsigned step = 0; step < 700; step++) {
        add(d, 900, step);
        add(d, 100 + 0.5 * step, step);
    }
    i = only(d);
    assert_true(fabs(i->mb_per_step - 0.5) < 1e-12);
    assert_int_equal(i->last, i->last_step);
    assay_leak_detector_free(d);
}

static void readings_without_steps_count_one_each(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);
    const struct assay_leak_incident *i;

    (void)state;
    for (unsigned r = 0; r < 400; r++)
        assert_int_equal(assay_leak_detector_add(d, NULL, 100 + r, ASSAY_UNKNOWN, 50, NULL), 0);
    i = only(d);
    assert_true(i->first_step == ASSAY_UNKNOWN && i->last == 399);
    assert_true(fabs(i->mb_per_step - 1) < 1e-12);
    /* The clock stood still. */
    assert_true(isnan(i->mb_per_second) && isnan(i->seconds_to_exhaustion));
    assay_leak_detector_free(d);
}

static void warm_up_can_be_told_as_a_share(void **state)
{
    struct assay_leak_detector_options o = {.size = sizeof(struct assay_leak_detector_options)};
    struct assay_leak_detector *d = NULL;

    (void)state;
    o.warm_up = 0.5;
    assert_int_equal(assay_leak_detector_new(&d, &o, NULL), 0);
    for (unsigned step = 0; step < 2000; step++)
        add(d, step < 800 ? 100 + step : 900, step);
    assert_int_equal(how_many(d), 0);
    assay_leak_detector_free(d);
}

/* Ten times the readings that are kept: the room stays, and so does what is known. */
static void many_readings_are_kept_in_bounded_capacity(void **state)
{
    struct as_leak_series s;
    struct assay_leak_detector_options o = {.size = sizeof(struct assay_leak_detector_options)};
    struct assay_leak_detector *d = NULL;
    const struct assay_leak_incident *i;

    (void)state;
    as_leak_series_init(&s, NULL, 4096);
    for (unsigned r = 0; r < 40960; r++) {
        struct as_leak_sample p = {.mb = r, .low_mb = r, .time = r, .step = r};

        assert_int_equal(as_leak_series_add(&s, &p, NULL), 0);
        assert_true(s.n <= 4095 && s.capacity <= 4095);
    }
    assert_int_equal(s.per_point, 27);
    assert_int_equal(s.n, 40960 / 27);
    for (size_t k = 0; k < s.n; k++) {
        assert_true(s.points[k].mb == (double)(27 * k + 13) &&
                    s.points[k].low_mb == (double)(27 * k));
        assert_int_equal(s.points[k].step, 27 * k + 26);
    }
    as_leak_series_fini(&s);

    o.max_readings = 900;
    assert_int_equal(assay_leak_detector_new(&d, &o, NULL), 0);
    for (unsigned step = 0; step < 9000; step++)
        add(d, 500 + 0.01 * step, step);
    i = only(d);
    assert_true(i->first == 0 && i->last > 8900);
    assert_true(fabs(i->mb_per_step - 0.01) < 1e-9);
    assay_leak_detector_free(d);
}

/* 0.02 % in 100 steps below noise of 0.2 %: too little for any 300 steps, enough for thousands. */
static void very_slow_growth_shows_in_time(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 8);
    for (unsigned step = 0; step < 4000; step++)
        add(d, 1000 + 0.002 * step + 2 * as_rng_normal(&rng), step);
    assert_int_equal(how_many(d), 1);
    assay_leak_detector_free(d);
}

/* 300 steps, the first 64 of them warm-up: what is left is shorter than a range. */
static void growth_behind_a_long_warm_up_is_found(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);

    (void)state;
    for (unsigned step = 0; step <= 300; step++)
        add(d, 8 + 0.2 * fmin(step, 64) + 0.02 * step, step);
    assert_true(only(d)->first_step >= 39);
    assert_true(fabs(only(d)->mb_per_step - 0.02) < 0.002);
    assay_leak_detector_free(d);
}

static void a_long_warm_up_alone_is_no_growth(void **state)
{
    struct told told;
    struct assay_leak_detector *d = watched(&told);

    (void)state;
    for (unsigned step = 0; step <= 300; step++)
        add(d, 8 + 0.2 * fmin(step, 64), step);
    assert_int_equal(how_many(d), 0);
    assay_leak_detector_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_one_incident_with_its_slope),
        cmocka_unit_test(the_growth_of_an_incident_is_its_rate_by_its_length),
        cmocka_unit_test(the_p_value_told_is_the_one_judged),
        cmocka_unit_test(growth_on_a_curve_stays_within_its_readings),
        cmocka_unit_test(growth_that_begins_later_begins_there),
        cmocka_unit_test(growth_below_a_tall_swing_is_found),
        cmocka_unit_test(growth_that_comes_back_is_withdrawn),
        cmocka_unit_test(a_short_series_is_judged_when_it_is_asked_for),
        cmocka_unit_test(layers_have_series_of_their_own),
        cmocka_unit_test(the_last_reading_of_a_step_is_the_process),
        cmocka_unit_test(readings_without_steps_count_one_each),
        cmocka_unit_test(warm_up_can_be_told_as_a_share),
        cmocka_unit_test(many_readings_are_kept_in_bounded_capacity),
        cmocka_unit_test(very_slow_growth_shows_in_time),
        cmocka_unit_test(growth_behind_a_long_warm_up_is_found),
        cmocka_unit_test(a_long_warm_up_alone_is_no_growth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
