/* tests/unit/test_layer_columns.c - the list of figures has no holes, and each finds its number.
 */
#include "unit.h"

#include "analyze/run/layers.h"
#include "report/run/layer_columns.h"
#include "report/run/run_health.h"

static struct as_run_site site = {.name = "conv", .file = "net.c", .line = 7, .known = true};

static struct as_layer make_layer(void)
{
    return (struct as_layer){
        .info = &site,
        .calls = 4,
        .failed = 1,
        .inclusive_ns = 200,
        .self_ns = 100,
        .share = 0.25,
        .flops = 50,
        .bytes = UNIT_NAN,
        .n_threads = 2,
        .times = {.mean_ns = 50, .p95_ns = 60, .p95_supported = true, .p99_ns = 70, .cv = UNIT_NAN},
    };
}

static void every_figure_has_a_name_a_title_and_a_meaning(void **state)
{
    const struct as_layer_metric *f;
    size_t n = 0;

    (void)state;
    for (; (f = as_layer_metric_at(n)) != NULL; n++) {
        assert_non_null(f->name);
        assert_non_null(f->title);
        assert_non_null(f->help);
        assert_string_equal(as_layer_metric_name_at(n), f->name);
        for (size_t i = 0; i < n; i++)
            assert_string_not_equal(as_layer_metric_name_at(i), f->name);
    }
    assert_int_equal(n, AS_LAYER_METRIC_COUNT_OF_ALL);
    assert_null(as_layer_metric_name_at(n));
}

static void figures_find_their_numbers(void **state)
{
    struct as_layer layer = make_layer();

    (void)state;
    assert_true(as_layer_metric_number(AS_LAYER_METRIC_CALLS, &layer) == 4);
    assert_true(as_layer_metric_number(AS_LAYER_METRIC_THREADS, &layer) == 2);
    assert_true(as_layer_metric_number(AS_LAYER_METRIC_SELF, &layer) == 100);
    assert_true(as_layer_metric_number(AS_LAYER_METRIC_MEAN, &layer) == 50);
    assert_true(as_layer_metric_number(AS_LAYER_METRIC_GFLOPS, &layer) == 1);
    assert_true(isnan(as_layer_metric_number(AS_LAYER_METRIC_GBPS, &layer)));
    assert_true(isnan(as_layer_metric_number(AS_LAYER_METRIC_CV, &layer)));
    assert_true(as_layer_metric_supported(AS_LAYER_METRIC_P95, &layer));
    assert_false(as_layer_metric_supported(AS_LAYER_METRIC_P99, &layer));
    assert_true(as_layer_metric_supported(AS_LAYER_METRIC_MAX, &layer));
}

static void sums_of_no_calls_cannot_be_had(void **state)
{
    struct as_layer layer = make_layer();

    (void)state;
    layer.calls = 0;
    assert_true(isnan(as_layer_metric_number(AS_LAYER_METRIC_SELF, &layer)));
    assert_true(isnan(as_layer_metric_number(AS_LAYER_METRIC_TOTAL, &layer)));
    assert_true(isnan(as_layer_metric_number(AS_LAYER_METRIC_GFLOPS, &layer)));
    assert_true(as_layer_metric_number(AS_LAYER_METRIC_CALLS, &layer) == 0);
}

static void texts_are_composed_or_missing(void **state)
{
    struct as_layer layer = make_layer();
    char line[64];

    (void)state;
    assert_string_equal(as_layer_metric_text(AS_LAYER_METRIC_NAME, &layer, line, sizeof line),
                        "conv");
    assert_string_equal(as_layer_metric_text(AS_LAYER_METRIC_FILE, &layer, line, sizeof line),
                        "net.c:7");
    assert_string_equal(as_layer_metric_text(AS_LAYER_METRIC_FLAGS, &layer, line, sizeof line),
                        "F");
    assert_null(as_layer_metric_text(AS_LAYER_METRIC_OP, &layer, line, sizeof line));
    assert_null(as_layer_metric_text(AS_LAYER_METRIC_MEAN, &layer, line, sizeof line));
}

static void totals_count_nested_layers_once(void **state)
{
    struct as_layer layer[2] = {make_layer(), make_layer()};
    struct as_layers layers = {.layer = layer, .n_layers = 2, .calls = 8};
    struct as_layers none = {0};
    const uint32_t order[] = {1, 0};
    double cumulative[2];

    (void)state;
    assert_int_equal(as_layers_total_ns(&layers), 200);
    assert_true(as_layers_average_ns(&layers) == 25);
    assert_true(isnan(as_layers_average_ns(&none)));
    layer[1].share = 0.5;
    as_layers_cumulate(&layers, order, cumulative);
    assert_true(cumulative[0] == 0.5);
    assert_true(cumulative[1] == 0.75);
}

static void health_tells_each_thing_in_its_words(void **state)
{
    struct as_run run = {.health = {.closed = true}, .time = {.known = true}};
    struct as_layers layers = {.run = &run, .events = 5};
    struct as_health_finding finding[AS_MAX_FINDINGS];

    (void)state;
    assert_int_equal(as_health_findings(&layers, finding), 0);
    assert_string_equal(as_health_status(&layers), "complete");
    run.health = (struct as_run_health){.ring_found = true, .ring_events = 1234};
    assert_int_equal(as_health_findings(&layers, finding), 1);
    assert_string_equal(finding[0].text, "not closed: the program ended without it; 1,234 events "
                                         "recovered from its ring");
    assert_true(as_health_is_whole(&layers));
    run.health = (struct as_run_health){.live = true, .live_pid = 7};
    assert_string_equal(as_health_status(&layers), "live");
    run.health = (struct as_run_health){.closed = true, .damaged_blocks = 1};
    assert_string_equal(as_health_status(&layers), "damaged");
    assert_false(as_health_is_whole(&layers));
    run.health = (struct as_run_health){.closed = true, .lost = {3}};
    layers.lost_events = 3;
    assert_int_equal(as_health_findings(&layers, finding), 1);
    assert_string_equal(finding[0].word, "lost");
    assert_string_equal(as_health_status(&layers), "lossy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_figure_has_a_name_a_title_and_a_meaning),
        cmocka_unit_test(figures_find_their_numbers),
        cmocka_unit_test(sums_of_no_calls_cannot_be_had),
        cmocka_unit_test(texts_are_composed_or_missing),
        cmocka_unit_test(totals_count_nested_layers_once),
        cmocka_unit_test(health_tells_each_thing_in_its_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
