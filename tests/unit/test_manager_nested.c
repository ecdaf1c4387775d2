/* tests/unit/test_manager_nested.c - layers inside layers: whose time, faults and memory it is.
 * What profiling the inner ones takes is nobody's. */
#include <string.h>
#include <sys/mman.h>

#include "manager_kit.h"

#define MIB ((size_t)1 << 20)

/* Takes fresh pages and gives them back: a fault each. */
static void touch_pages(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(p, MAP_FAILED);
    memset(p, 1, bytes);
    munmap(p, bytes);
}

static double faults_of(const struct assay_bottleneck_result *result, const char *layer)
{
    for (size_t i = 0; i < result->n_ranked; i++) {
        for (size_t k = 0; k < result->ranked[i].n_causes; k++) {
            const struct assay_cause *cause = &result->ranked[i].cause[k];

            if (strcmp(result->ranked[i].layer, layer) == 0 &&
                cause->type == ASSAY_BOTTLENECK_PAGE_FAULTS)
                return cause->strength;
        }
    }
    return 0;
}

/* Faults are taken to cost so much that those of a call explain all of its time. */
static struct assay_manager *watching_faults(void)
{
    struct assay_bottleneck_analyzer_options bottleneck = {
        .size = sizeof(struct assay_bottleneck_analyzer_options)};
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    struct assay_manager *m;

    bottleneck.minor_fault_seconds = 10e-6;
    bottleneck.min_share = 1e-12;
    options.bottleneck = &bottleneck;
    options.usage_min_seconds = 1e-9;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
    return m;
}

static void an_outer_layer_has_no_cause_of_an_inner_one(void **state)
{
    struct assay_manager *m = watching_faults();
    const struct assay_bottleneck_result *result;

    (void)state;
    for (int i = 0; i < 40; i++) {
        struct assay_manager_span outer = assay_manager_layer_begin(m, "outer"), inner;

        inner = assay_manager_layer_begin(m, "inner");
        touch_pages(MIB);
        assert_int_equal(assay_manager_layer_end(m, &inner, NULL, 0, NULL), ASSAY_OK);
        for (volatile int k = 0; k < 200000; k++)
            ;
        assert_int_equal(assay_manager_layer_end(m, &outer, NULL, 0, NULL), ASSAY_OK);
    }
    assert_int_equal(assay_manager_analyze_bottlenecks(m, &result, NULL), ASSAY_OK);
    assert_true(faults_of(result, "inner") > 0.5);
    assert_true(faults_of(result, "outer") < 0.5);
    assay_manager_free(m);
}

static void an_outer_layer_keeps_the_cause_of_its_own(void **state)
{
    struct assay_manager *m = watching_faults();
    const struct assay_bottleneck_result *result;

    (void)state;
    for (int i = 0; i < 40; i++) {
        struct assay_manager_span outer = assay_manager_layer_begin(m, "outer"), inner;

        inner = assay_manager_layer_begin(m, "inner");
        for (volatile int k = 0; k < 200000; k++)
            ;
        assert_int_equal(assay_manager_layer_end(m, &inner, NULL, 0, NULL), ASSAY_OK);
        touch_pages(MIB);
        assert_int_equal(assay_manager_layer_end(m, &outer, NULL, 0, NULL), ASSAY_OK);
    }
    assert_int_equal(assay_manager_analyze_bottlenecks(m, &result, NULL), ASSAY_OK);
    assert_true(faults_of(result, "inner") < 0.5);
    assert_true(faults_of(result, "outer") > 0.5);
    assay_manager_free(m);
}

/* Inner layers that nobody asked about leave the outer one's own use unknown. */
static void use_that_was_not_read_is_not_told(void **state)
{
    struct assay_manager *m = watching_faults();
    const struct assay_bottleneck_result *result;

    (void)state;
    for (int i = 0; i < 40; i++) {
        struct assay_manager_span outer = assay_manager_layer_begin(m, "outer"), inner;

        assert_int_equal(assay_manager_disable(m, "bottleneck", NULL), ASSAY_OK);
        inner = assay_manager_layer_begin(m, "inner");
        touch_pages(MIB);
        assert_int_equal(assay_manager_layer_end(m, &inner, NULL, 0, NULL), ASSAY_OK);
        assert_int_equal(assay_manager_enable(m, "bottleneck", NULL), ASSAY_OK);
        assert_int_equal(assay_manager_layer_end(m, &outer, NULL, 0, NULL), ASSAY_OK);
    }
    assert_int_equal(assay_manager_analyze_bottlenecks(m, &result, NULL), ASSAY_OK);
    assert_true(faults_of(result, "outer") == 0);
    assay_manager_free(m);
}

static void near_ns(double got, double want)
{
    assert_true(got - want < 1e-9 && want - got < 1e-9);
}

/* With every profiler on, at three depths: nothing is lost and nothing is counted that is ours. */
static void time_is_own_time_and_inner_time(void **state)
{
    struct assay_manager *m = kit_manager(NULL);
    const struct assay_layer_stats *a, *b, *c;
    struct assay_layer_profile *p;

    (void)state;
    for (int i = 0; i < 50; i++) {
        struct assay_manager_span outer = assay_manager_layer_begin(m, "a"), middle;

        for (int k = 0; k < 4; k++) {
            middle = assay_manager_layer_begin(m, "b");
            kit_call(m, "c");
            kit_call(m, "c");
            assert_int_equal(assay_manager_layer_end(m, &middle, NULL, 0, NULL), ASSAY_OK);
        }
        assert_int_equal(assay_manager_layer_end(m, &outer, NULL, 0, NULL), ASSAY_OK);
    }
    assert_int_equal(assay_manager_layers(m, 0, &p, NULL), ASSAY_OK);
    a = assay_layer_profile_find(p, "a");
    b = assay_layer_profile_find(p, "b");
    c = assay_layer_profile_find(p, "c");
    near_ns(a->total_seconds, a->self_seconds + b->total_seconds);
    near_ns(b->total_seconds, b->self_seconds + c->total_seconds);
    near_ns(c->total_seconds, c->self_seconds);
    near_ns(a->total_seconds, p->total_self_seconds);
    assay_layer_profile_free(p);
    assay_manager_free(m);
}

/* Kept by call too, beyond the calls that are all kept, and only where they differ. */
static void own_times_of_calls_are_told(void **state)
{
    struct assay_manager *m = kit_manager("layer");
    const struct as_json_value *stats, *a;
    const struct assay_layer_stats *s;
    struct assay_layer_profile *p;
    struct kit_tree tree;

    (void)state;
    kit_call(m, "a"); /* with nothing inside */
    for (int i = 0; i < 5000; i++) {
        struct assay_manager_span outer = assay_manager_layer_begin(m, "a");

        kit_call(m, "b");
        assert_int_equal(assay_manager_layer_end(m, &outer, NULL, 0, NULL), ASSAY_OK);
        if (i != 10 && i != 4999)
            continue;
        assert_int_equal(assay_manager_layers(m, 0, &p, NULL), ASSAY_OK);
        s = assay_layer_profile_find(p, "a");
        assert_true(s->nested && s->self_times_seconds != s->execution_times_seconds);
        assert_int_equal(s->n_execution_times, i == 10 ? 12 : 1000);
        if (i == 10)
            near_ns(s->self_times_seconds[0], s->execution_times_seconds[0]);
        for (size_t k = i == 10; k < s->n_execution_times; k++)
            near_ns(
                s->execution_times_seconds[k],
                s->self_times_seconds[k] +
                    p->timeline[p->n_timeline - 2 * (s->n_execution_times - k)].execution_seconds);
        s = assay_layer_profile_find(p, "b");
        assert_true(!s->nested && s->self_times_seconds == s->execution_times_seconds);
        assay_layer_profile_free(p);
    }
    tree = kit_report(m);
    stats = as_json_path(tree.root, "layer_profiling", "layer_stats");
    a = as_json_path(stats, "a", "self_times");
    assert_true(a && a->type == AS_TYPE_ARRAY && a->n == 1000);
    assert_null(as_json_path(stats, "b", "self_times"));
    kit_forget(&tree);
    assay_manager_free(m);
}

/* Without room the times stay, and what is not known is null. */
static void own_times_without_room_are_unknown(void **state)
{
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    static const char *const layer = "layer";
    const struct as_json_value *stats;
    struct assay_manager *m;
    struct kit_tree tree;

    (void)state;
    options.profilers = &layer;
    options.n_profilers = 1;
    options.max_timeline = 1;
    options.max_history_bytes = 16 * sizeof(double) * 2 + 128;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
    for (int i = 0; i < 3; i++) {
        struct assay_manager_span outer = assay_manager_layer_begin(m, "a");

        kit_call(m, "b");
        assert_int_equal(assay_manager_layer_end(m, &outer, NULL, 0, NULL), ASSAY_OK);
    }
    tree = kit_report(m);
    stats = as_json_path(tree.root, "layer_profiling", "layer_stats");
    assert_int_equal(as_json_path(stats, "a", "execution_times")->n, 3);
    assert_int_equal(as_json_path(stats, "a", "self_times")->type, AS_TYPE_NULL);
    assert_non_null(as_json_words(as_json_path(stats, "a", "self_times_reason")));
    kit_forget(&tree);
    assay_manager_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_outer_layer_has_no_cause_of_an_inner_one),
        cmocka_unit_test(an_outer_layer_keeps_the_cause_of_its_own),
        cmocka_unit_test(use_that_was_not_read_is_not_told),
        cmocka_unit_test(time_is_own_time_and_inner_time),
        cmocka_unit_test(own_times_of_calls_are_told),
        cmocka_unit_test(own_times_without_room_are_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
