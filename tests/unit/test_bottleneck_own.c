/* tests/unit/test_bottleneck_own.c - causes and advice are about a layer's own time: what layers
 * inside it did is theirs. */
#include <assay/bottlenecks.h>
#include <math.h>
#include <string.h>

#include "unit.h"

static struct assay_bottleneck_analyzer *analyzer;
static const struct assay_bottleneck_result *result;

static void record(const char *layer, double seconds, double self, double cpu, double wait)
{
    struct assay_layer_metrics m = {.size = sizeof m};

    m.execution_seconds = seconds;
    m.self_seconds = self;
    m.cpu_seconds = cpu;
    m.io_wait_seconds = wait;
    assert_int_equal(assay_bottleneck_analyzer_record(analyzer, layer, &m, NULL), ASSAY_OK);
}

static double strength(const char *layer, enum assay_bottleneck_type type)
{
    for (size_t i = 0; i < result->n_ranked; i++) {
        const struct assay_ranked_layer *r = &result->ranked[i];

        for (size_t k = 0; strcmp(r->layer, layer) == 0 && k < r->n_causes; k++) {
            if (r->cause[k].type == type)
                return r->cause[k].strength;
        }
    }
    return 0;
}

static void begin(void)
{
    assert_int_equal(assay_bottleneck_analyzer_new(&analyzer, NULL, NULL), ASSAY_OK);
}

static void analyze(void)
{
    assert_int_equal(assay_bottleneck_analyzer_analyze(analyzer, &result, NULL), ASSAY_OK);
}

static void waiting_inside_is_not_waiting_outside(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 20; i++) {
        record("child", 8e-3, 8e-3, 0.2e-3, 7.8e-3);
        /* 7.8 ms of waiting cannot be in 2 ms. */
        record("parent", 10e-3, 2e-3, 2e-3, 7.8e-3);
    }
    analyze();
    assert_true(strength("child", ASSAY_BOTTLENECK_WAITING) > 0.9);
    assert_true(strength("child", ASSAY_BOTTLENECK_IO) > 0.9);
    assert_true(strength("parent", ASSAY_BOTTLENECK_WAITING) == 0);
    assert_true(strength("parent", ASSAY_BOTTLENECK_IO) == 0);
    assay_bottleneck_analyzer_free(analyzer);
}

static void a_part_of_own_time_is_a_cause(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 20; i++)
        record("parent", 10e-3, 2e-3, 1e-3, 0.5e-3);
    analyze();
    assert_true(fabs(strength("parent", ASSAY_BOTTLENECK_WAITING) - 0.5) < 1e-9);
    assert_true(fabs(strength("parent", ASSAY_BOTTLENECK_IO) - 0.25) < 1e-9);
    assay_bottleneck_analyzer_free(analyzer);
}

/* The inner layer's calls differ, the outer's own work does not; and the other way round. */
static void uneven_calls_are_those_of_the_layer_itself(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 40; i++) {
        double inner = i % 2 ? 1e-3 : 9e-3;

        record("steady", 1e-3 + inner, 1e-3, UNIT_NAN, UNIT_NAN);
        record("uneven", 10e-3, 10e-3 - inner, UNIT_NAN, UNIT_NAN);
    }
    analyze();
    assert_true(strength("steady", ASSAY_BOTTLENECK_VARIANCE) == 0);
    assert_true(strength("uneven", ASSAY_BOTTLENECK_VARIANCE) > 0.3);
    for (size_t i = 0; i < result->n_ranked; i++) {
        if (strcmp(result->ranked[i].layer, "steady") == 0) {
            assert_true(fabs(result->ranked[i].mean_seconds - 1e-3) < 1e-12);
            assert_true(result->ranked[i].cv < 1e-6);
        }
    }
    assay_bottleneck_analyzer_free(analyzer);
}

/* Its first calls had no layers inside: they are kept as they were. */
static void inner_layers_may_come_late(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 100; i++)
        record("x", i < 50 ? 1e-3 : 5e-3, 1e-3, UNIT_NAN, UNIT_NAN);
    analyze();
    assert_true(strength("x", ASSAY_BOTTLENECK_VARIANCE) == 0);
    assay_bottleneck_analyzer_free(analyzer);
}

static void only_what_is_missing_is_asked_for(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 20; i++)
        record("x", 10e-3, 10e-3, 10e-3, UNIT_NAN);
    analyze();
    assert_string_equal(result->findings[0].rule, "cause-unknown");
    assert_string_equal(result->findings[0].action,
                        "Measure more of this layer: its work (FLOPs, bytes), its page faults and "
                        "its time waiting for disk I/O.");
    assay_bottleneck_analyzer_free(analyzer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_inside_is_not_waiting_outside),
        cmocka_unit_test(a_part_of_own_time_is_a_cause),
        cmocka_unit_test(uneven_calls_are_those_of_the_layer_itself),
        cmocka_unit_test(inner_layers_may_come_late),
        cmocka_unit_test(only_what_is_missing_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
