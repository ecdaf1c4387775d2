/* tests/unit/test_sized.c - structs that begin with their size: of older and newer programs, and as
 * the library fills them in. */
#include "unit.h"

#include <assay/assay.h>
#include <assay/experiment/quality.h>

#include "base/sized.h"

struct known {
    size_t size;
    double number;
    uint64_t count;
};

struct newer {
    struct known known;
    uint64_t added;
};

static void a_struct_of_the_same_version_is_copied(void **state)
{
    const struct known given = {.size = sizeof given, .number = 2, .count = 3};
    struct known to;

    (void)state;
    assert_int_equal(as_sized_take(&to, sizeof to, &given, "it", NULL), ASSAY_OK);
    assert_true(to.size == sizeof to && to.number == 2 && to.count == 3);
    assert_int_equal(as_sized_take(&to, sizeof to, NULL, "it", NULL), ASSAY_OK);
    assert_true(to.size == sizeof to && to.number == 0 && to.count == 0);
}

static void what_an_older_program_does_not_have_is_zero(void **state)
{
    const struct known given = {.size = offsetof(struct known, count), .number = 2, .count = 3};
    struct known to;

    (void)state;
    assert_int_equal(as_sized_take(&to, sizeof to, &given, "it", NULL), ASSAY_OK);
    assert_true(to.size == sizeof to && to.number == 2 && to.count == 0);
}

static void a_newer_program_may_not_ask_for_what_is_not_known(void **state)
{
    struct newer given = {.known = {.size = sizeof given, .number = 2}};
    struct known to;
    struct assay_error err = {0};

    (void)state;
    assert_int_equal(as_sized_take(&to, sizeof to, &given, "it", NULL), ASSAY_OK);
    assert_true(to.size == sizeof to && to.number == 2);
    given.added = 1;
    assert_int_equal(as_sized_take(&to, sizeof to, &given, "it", &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "it with fields that this version of the library does not know");
}

static void a_size_that_is_none_is_refused(void **state)
{
    struct known given = {.number = 2}, to;
    struct assay_error err = {0};

    (void)state;
    assert_int_equal(as_sized_take(&to, sizeof to, &given, "it", &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "it without a size"));
    given.size = SIZE_MAX;
    assert_int_equal(as_sized_take(&to, sizeof to, &given, "it", NULL), ASSAY_ERR_USAGE);
    given.size = sizeof given + (1 << 20);
    assert_int_equal(as_sized_take(&to, sizeof to, &given, "it", NULL), ASSAY_ERR_USAGE);
}

/* An older program's options are those of its header, and none without a size is guessed at. */
static void every_object_takes_options_of_another_version(void **state)
{
    struct assay_leak_detector *detector;
    struct assay_model *model;
    const struct {
        struct assay_leak_detector_options known;
        uint64_t added;
    } newer = {.known = {.size = sizeof newer}};
    const struct assay_leak_detector_options none = {0};

    (void)state;
    assert_int_equal(assay_leak_detector_new(&detector, &newer.known, NULL), ASSAY_OK);
    assay_leak_detector_free(detector);
    assert_int_equal(assay_leak_detector_new(&detector, &none, NULL), ASSAY_ERR_USAGE);
    assert_null(detector);
    assert_int_equal(assay_model_new(&model, &(struct assay_model_options){0}, NULL),
                     ASSAY_ERR_USAGE);
    assert_null(model);
}

static int nothing(void *user, struct assay_error *err)
{
    (void)user, (void)err;
    return 0;
}

static void results_tell_what_the_library_knows(void **state)
{
    const struct assay_measure_options once = {.size = sizeof once, .runs = 3, .no_warmup = true};
    const float vector[] = {1, 2};
    struct assay_latency latency = {0};
    struct assay_memory_counts counts = {0};
    struct assay_energy_result energy = {0};
    struct assay_delta_metric delta = {0};
    struct assay_leak_summary leaks = {0};
    struct assay_leak_detector *detector;
    const struct assay_comparison *comparison = NULL;
    struct assay_compare *compare;

    (void)state;
    assert_int_equal(assay_latency_measure(nothing, NULL, &once, &latency, NULL), ASSAY_OK);
    assert_int_equal(latency.size, sizeof latency);
    assay_memory_read_counts(&counts);
    assert_int_equal(counts.size, sizeof counts);
    assert_int_equal(assay_energy_estimate(NULL, 0, &energy, NULL), ASSAY_OK);
    assert_int_equal(energy.size, sizeof energy);
    assert_int_equal(assay_quality_delta_behavior(vector, 2, vector, 2, &delta, NULL), ASSAY_OK);
    assert_int_equal(delta.size, sizeof delta);
    assert_int_equal(assay_leak_detector_new(&detector, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_leak_detector_summary(detector, &leaks, NULL), ASSAY_OK);
    assert_int_equal(leaks.size, sizeof leaks);
    assay_leak_detector_free(detector);
    assert_int_equal(assay_compare_new(&compare, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_compare_run(compare, NULL, 0, &comparison, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(comparison->size, sizeof *comparison);
    assay_compare_free(compare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_struct_of_the_same_version_is_copied),
        cmocka_unit_test(what_an_older_program_does_not_have_is_zero),
        cmocka_unit_test(a_newer_program_may_not_ask_for_what_is_not_known),
        cmocka_unit_test(a_size_that_is_none_is_refused),
        cmocka_unit_test(every_object_takes_options_of_another_version),
        cmocka_unit_test(results_tell_what_the_library_knows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
