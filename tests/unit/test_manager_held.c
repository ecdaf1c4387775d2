/* tests/unit/test_manager_held.c - which layers leave memory behind, and their shares of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/manager/manager_internal.h"
#include "unit.h"

static struct as_layer_name *name_layer(uint32_t id, const char *text)
{
    struct as_layer_name *name = calloc(1, sizeof *name + strlen(text) + 1);

    assert_non_null(name);
    name->id = id;
    memcpy(name->text, text, strlen(text) + 1);
    return name;
}

static void hold(struct as_manager_held *held, const struct as_layer_name *layer, int64_t bytes,
                 uint64_t step)
{
    assert_int_equal(as_manager_held_add(held, layer, bytes, step, 1000 + (double)step, NULL),
                     ASSAY_OK);
}

/* A leak is told from when it is sure of itself on, the sum is of the whole session. */
static void shares_are_of_the_whole_session_on_both_sides(void **state)
{
    struct assay_leak_detector_options options = {.size =
                                                      sizeof(struct assay_leak_detector_options)};
    struct as_layer_name *outer = name_layer(0, "forward"), *inner = name_layer(7, "leaky");
    struct as_manager_held held = {0};

    (void)state;
    assert_int_equal(as_manager_held_init(&held, &options, NULL), ASSAY_OK);
    for (uint64_t step = 0; step < 60; step++) {
        hold(&held, inner, 300000, step);
        hold(&held, outer, 1048576, step);
    }
    assert_int_equal(as_manager_held_judge(&held, NULL), 2);
    assert_string_equal(held.leak[0].layer, "forward");
    assert_true(fabs(held.leak[0].process_share - 1048576.0 / 1348576) < 1e-9);
    assert_true(fabs(held.leak[1].process_share - 300000.0 / 1348576) < 1e-9);
    assert_true(fabs(held.leak[0].growth_mb - 59) < 3);
    as_manager_held_fini(&held);
    free(outer);
    free(inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_of_the_whole_session_on_both_sides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
