/* tests/unit/test_leak_detector.c - the documented window test, what it records and what it
 * bounds. Slopes: numpy's polyfit. */
#include "unit.h"

#include <assay/leaks.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/json/json_writer.h"
#include "report/findings/findings_report.h"

static const double rising[] = {100, 101.5, 99, 104, 103, 108, 107, 112.25, 111, 115, 120.5};
#define SLOPE_FIRST  1.7075757575757606
#define SLOPE_SECOND 2.0893939393939385

struct told {
    unsigned leaks, incidents;
    double increase_mb;
};

static void count(void *user, const struct assay_leak *leak,
                  const struct assay_leak_incident *incident)
{
    struct told *told = user;

    told->leaks += leak != NULL;
    told->incidents += incident != NULL;
    if (leak)
        told->increase_mb = leak->increase_mb;
}

static struct assay_leak_detector *detector(const struct assay_leak_detector_options *options)
{
    struct assay_leak_detector *d = NULL;

    assert_int_equal(assay_leak_detector_new(&d, options, NULL), 0);
    return d;
}

static void add(struct assay_leak_detector *d, const char *layer, double mb, double time)
{
    assert_int_equal(assay_leak_detector_add(d, layer, mb, ASSAY_UNKNOWN, time, NULL), 0);
}

static void add_rising(struct assay_leak_detector *d)
{
    static const char *const layers[] = {"conv", "pool", "conv", "fc"};

    for (size_t i = 0; i < UNIT_COUNT(rising); i++)
        add(d, layers[i % 4], rising[i], 1000 + (double)i);
}

static void every_window_above_the_threshold_is_recorded(void **state)
{
    struct assay_leak_detector *d = detector(NULL);
    const struct assay_leak *leaks;
    struct assay_leak_summary s;

    (void)state;
    assert_false(assay_leak_detector_any(d));
    add_rising(d);
    assert_int_equal(assay_leak_detector_leaks(d, &leaks), 2);
    assert_true(assay_leak_detector_any(d));
    assert_true(leaks[0].start_memory_mb == 100 && leaks[0].end_memory_mb == 115);
    assert_true(leaks[0].increase_mb == 15 && leaks[0].timestamp_seconds == 1009);
    assert_true(fabs(leaks[0].growth_rate_mb_per_step - SLOPE_FIRST) < 1e-12);
    assert_int_equal(leaks[0].window_size, 10);
    assert_int_equal(leaks[0].n_layers_involved, 3);
    assert_string_equal(leaks[0].layers_involved[0], "conv");
    assert_string_equal(leaks[0].layers_involved[1], "pool");
    assert_string_equal(leaks[0].layers_involved[2], "fc");
    assert_string_equal(leaks[1].layers_involved[0], "pool");
    assert_true(leaks[1].increase_mb == 19 && leaks[1].timestamp_seconds == 1010);
    assert_true(fabs(leaks[1].growth_rate_mb_per_step - SLOPE_SECOND) < 1e-12);
    assert_int_equal(assay_leak_detector_summary(d, &s, NULL), 0);
    assert_true(s.has_leaks && s.leak_count == 2 && s.leaks_dropped == 0);
    assert_true(s.total_memory_leaked_mb == 34);
    assert_true(fabs(s.average_growth_mb_per_step - (SLOPE_FIRST + SLOPE_SECOND) / 2) < 1e-12);
    assert_int_equal(s.n_readings, 11);
    assert_int_equal(s.n_series, 4);
    assay_leak_detector_free(d);
}

static void an_increase_of_just_the_threshold_is_none(void **state)
{
    struct assay_leak_detector_options o = {.size = sizeof(struct assay_leak_detector_options)};
    struct assay_leak_detector *d;

    (void)state;
    o.threshold_mb = 15;
    d = detector(&o);
    for (size_t i = 0; i < 10; i++)
        add(d, "conv", rising[i], 0);
    assert_false(assay_leak_detector_any(d));
    assay_leak_detector_free(d);
}

static void window_and_threshold_can_be_chosen(void **state)
{
    struct assay_leak_detector_options o = {.size = sizeof(struct assay_leak_detector_options)};
    const struct assay_leak *leaks;
    struct assay_leak_detector *d;

    (void)state;
    o.threshold_mb = 3.5;
    o.window_size = 3;
    d = detector(&o);
    add_rising(d);
    /* 103-99, 108-104, 107-103, 112.25-108, 111-107, 120.5-111; 99-100, 104-101.5 and 115-112.25
     * are not enough. */
    assert_int_equal(assay_leak_detector_leaks(d, &leaks), 6);
    assert_true(leaks[0].start_memory_mb == 99 && leaks[0].growth_rate_mb_per_step == 2);
    assay_leak_detector_free(d);
}

static void a_window_is_told_once_for_what_it_overlaps(void **state)
{
    struct assay_leak_detector_options o = {.size = sizeof(struct assay_leak_detector_options)};
    struct told told = {0};
    struct assay_leak_detector *d;

    (void)state;
    o.alert = count;
    o.user = &told;
    d = detector(&o);
    for (int i = 0; i < 35; i++)
        add(d, "conv", 2 * i, i);
    /* Windows 0-9, 10-19, 20-29: 26 were recorded. */
    assert_int_equal(told.leaks, 3);
    assert_true(told.increase_mb == 18);
    assert_int_equal(told.incidents, 0);
    assay_leak_detector_free(d);
}

static void more_than_are_kept_are_counted(void **state)
{
    struct assay_leak_detector *d = detector(NULL);
    const struct assay_leak *leaks;
    struct assay_leak_summary s;

    (void)state;
    for (int i = 0; i < 10509; i++)
        add(d, NULL, 2 * i, i);
    assert_int_equal(assay_leak_detector_leaks(d, &leaks), 10000);
    assert_int_equal(leaks[0].n_layers_involved, 0);
    assert_int_equal(assay_leak_detector_summary(d, &s, NULL), 0);
    assert_int_equal(s.leak_count, 10500);
    assert_int_equal(s.leaks_dropped, 500);
    assert_true(s.total_memory_leaked_mb == 10500 * 18);
    assert_true(fabs(s.average_growth_mb_per_step - 2) < 1e-12);
    assay_leak_detector_free(d);
}

static void layers_beyond_the_limit_share_one_name(void **state)
{
    struct assay_leak_detector *d = detector(NULL);
    const struct assay_leak *leaks;
    struct assay_leak_summary s;
    char name[32];

    (void)state;
    for (int i = 0; i < 2050; i++) {
        snprintf(name, sizeof name, "layer%d", i);
        add(d, name, i < 2049 ? 1 : 100, 0);
    }
    assert_int_equal(assay_leak_detector_summary(d, &s, NULL), 0);
    assert_int_equal(s.n_series, 2049);
    assert_int_equal(s.layers_dropped, 2);
    assert_int_equal(assay_leak_detector_leaks(d, &leaks), 1);
    assert_int_equal(leaks[0].n_layers_involved, 9);
    assert_string_equal(leaks[0].layers_involved[7], "layer2047");
    assert_string_equal(leaks[0].layers_involved[8], "(other layers)");
    assay_leak_detector_free(d);
}

static void reset_forgets_all_readings(void **state)
{
    struct assay_leak_detector *d = detector(NULL);
    struct assay_leak_summary s;

    (void)state;
    add_rising(d);
    assay_leak_detector_reset(d);
    assert_false(assay_leak_detector_any(d));
    assert_int_equal(assay_leak_detector_summary(d, &s, NULL), 0);
    assert_true(s.leak_count == 0 && s.n_readings == 0 && s.n_series == 1 && !s.growing);
    assert_true(s.total_memory_leaked_mb == 0 && isnan(s.average_growth_mb_per_step));
    add_rising(d);
    assert_int_equal(assay_leak_detector_summary(d, &s, NULL), 0);
    assert_int_equal(s.leak_count, 2);
    assay_leak_detector_free(d);
    assay_leak_detector_free(NULL);
}

static void refuse(struct assay_leak_detector_options o, const char *sentence)
{
    struct assay_leak_detector *d;
    struct assay_error err;

    assert_int_equal(assay_leak_detector_new(&d, &o, &err), ASSAY_ERR_USAGE);
    assert_null(d);
    assert_string_equal(err.msg, sentence);
}

static void wrong_options_and_readings_are_refused(void **state)
{
    struct assay_leak_detector_options o = {.size = sizeof(struct assay_leak_detector_options)};
    struct assay_leak_detector *d = detector(NULL);
    struct assay_leak_summary s;
    struct assay_error err;

    (void)state;
    o.threshold_mb = -1;
    refuse(o, "the leak threshold must be 0 MB or more");
    o.threshold_mb = UNIT_INFINITY;
    refuse(o, "the leak threshold must be 0 MB or more");
    o.threshold_mb = 0;
    o.window_size = 2;
    refuse(o, "the leak window must have 3 to 10000 samples");
    o.window_size = 0;
    o.warm_up = 0.6;
    refuse(o, "the share of warm-up must be 0 to 0.5");
    o.warm_up = 0;
    o.p_value = UNIT_NAN;
    refuse(o, "the p-value of a leak must be below 1");
    o.p_value = 0;
    o.max_readings = 10;
    refuse(o, "300 to 1000000 samples per series can be kept");
    assert_int_equal(assay_leak_detector_add(d, "conv", -1, 0, 0, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "memory of conv must be 0 MB or more");
    assert_int_equal(assay_leak_detector_add(d, NULL, UNIT_NAN, 0, 0, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "memory of the process must be 0 MB or more");
    assert_int_equal(assay_leak_detector_add(d, NULL, 1, 0, UNIT_INFINITY, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_leak_detector_summary(d, &s, NULL), 0);
    assert_int_equal(s.n_readings, 0);
    assay_leak_detector_free(d);
}

static void the_time_is_now_when_none_is_given(void **state)
{
    struct assay_leak_detector *d = detector(NULL);
    const struct assay_leak *leaks;

    (void)state;
    for (int i = 0; i < 10; i++)
        add(d, "conv", 2 * i, UNIT_NAN);
    assert_int_equal(assay_leak_detector_leaks(d, &leaks), 1);
    assert_true(leaks[0].timestamp_seconds > 1.6e9);
    assay_leak_detector_free(d);
}

static void json_has_the_documented_keys_first(void **state)
{
    struct assay_leak_detector_options o = {.size = sizeof(struct assay_leak_detector_options)};
    struct assay_leak_detector *d;
    struct as_leak_report report;
    struct as_json_writer w;
    struct as_out out = unit_out();
    const char *text;

    (void)state;
    o.window_size = 3;
    d = detector(&o);
    as_json_writer_init(&w, &out, 0);
    assert_int_equal(as_leak_report(d, &report, NULL), 0);
    as_leak_json(&w, &report, 0);
    assert_int_equal(as_json_writer_finish(&w, NULL), 0);
    text = as_out_get(&out, NULL);
    assert_ptr_equal(strstr(text,
                            "{\"has_leaks\":false,\"leak_count\":0,\"total_memory_leaked_mb\":0,"
                            "\"average_growth_rate\":null,\"leaks\":[],"),
                     text);
    out.used = 0;
    add(d, "a<b", 1, 5);
    add(d, NULL, 2, 6);
    add(d, "c", 21, 7);
    as_json_writer_init(&w, &out, 0);
    assert_int_equal(as_leak_report(d, &report, NULL), 0);
    as_leak_json(&w, &report, 0);
    text = as_out_get(&out, NULL);
    assert_ptr_equal(
        strstr(text, "{\"has_leaks\":true,\"leak_count\":1,\"total_memory_leaked_mb\":20,"
                     "\"average_growth_rate\":10,\"leaks\":[{\"start_memory_mb\":1,"
                     "\"end_memory_mb\":21,\"increase_mb\":20,\"growth_rate_mb_per_step\":10,"
                     "\"window_size\":3,\"layers_involved\":[\"a\\u003cb\",\"c\"],"
                     "\"timestamp\":7}],\"leaks_dropped\":0,\"growing\":false,\"incidents\":[],"),
        text);
    assay_leak_detector_reset(d);
    for (unsigned i = 0; i < 200; i++) /* of a machine whose memory nobody told */
        add(d, NULL, 100 + i, i);
    out.used = 0;
    as_json_writer_init(&w, &out, 0);
    assert_int_equal(as_leak_report(d, &report, NULL), 0);
    as_leak_json(&w, &report, 0);
    assert_non_null(
        strstr(as_out_get(&out, NULL),
               "\"seconds_to_exhaustion\":null,"
               "\"seconds_to_exhaustion_reason\":\"how much memory is left is unknown\""));
    assert_int_equal(as_out_close(&out, NULL), 0);
    assay_leak_detector_free(d);
}

/* Whatever allocation fails, the call says so, and nothing is lost or leaked. */
static void running_out_of_memory_is_told(void **state)
{
    (void)state;
#ifdef ASSAY_FAULTS
    for (uint64_t nth = 1; nth < 2000; nth++) {
        struct assay_leak_detector *d = NULL;
        struct assay_leak_summary s;
        int rc;

        as_alloc_fail_at(nth, 0);
        rc = assay_leak_detector_new(&d, NULL, NULL);
        for (int i = 0; rc == 0 && i < 320; i++)
            rc = assay_leak_detector_add(d, i % 2 ? "a" : "b", 100 + i, (uint64_t)i, i, NULL);
        if (rc == 0)
            rc = assay_leak_detector_summary(d, &s, NULL);
        as_alloc_fail_at(0, 0);
        assay_leak_detector_free(d);
        if (rc == 0)
            return;
        assert_int_equal(rc, ASSAY_ERR_NOMEM);
    }
    fail_msg("every allocation failed");
#endif
}

static void the_short_call_takes_bytes(void **state)
{
    struct assay_leak_detector *d = NULL;
    const struct assay_leak *leaks;

    (void)state;
    assert_int_equal(assay_leak_detector_new(&d, NULL, NULL), ASSAY_OK);
    for (uint64_t i = 0; i < 10; i++)
        assert_int_equal(assay_leak_detector_sample(d, "conv1", (100 + 2 * i) << 20), ASSAY_OK);
    assert_int_equal(assay_leak_detector_sample(NULL, "conv1", 1), ASSAY_ERR_USAGE);
    assert_int_equal(assay_leak_detector_leaks(d, &leaks), 1);
    assert_true(leaks[0].increase_mb == 18);
    assay_leak_detector_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_window_above_the_threshold_is_recorded),
        cmocka_unit_test(an_increase_of_just_the_threshold_is_none),
        cmocka_unit_test(window_and_threshold_can_be_chosen),
        cmocka_unit_test(a_window_is_told_once_for_what_it_overlaps),
        cmocka_unit_test(more_than_are_kept_are_counted),
        cmocka_unit_test(layers_beyond_the_limit_share_one_name),
        cmocka_unit_test(reset_forgets_all_readings),
        cmocka_unit_test(wrong_options_and_readings_are_refused),
        cmocka_unit_test(the_time_is_now_when_none_is_given),
        cmocka_unit_test(json_has_the_documented_keys_first),
        cmocka_unit_test(running_out_of_memory_is_told),
        cmocka_unit_test(the_short_call_takes_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
