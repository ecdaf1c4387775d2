/* tests/unit/test_manager_extend.c - a profiler that a program adds: it hears every call, has its
 * part of the report, and cannot spoil the rest of it. */
#include "base/error.h"
#include "manager_kit.h"

/* The longest call of each depth. */
struct depths {
    double longest[8];
    unsigned calls, failed, starts, resets;
    bool gone;
};

static int create(void *context, void **state, struct assay_error *err)
{
    (void)err;
    *state = context;
    return ASSAY_OK;
}

static void started(void *state)
{
    ((struct depths *)state)->starts++;
}

static void layer_end(void *state, const struct assay_layer_call *call)
{
    struct depths *d = state;

    assert_int_equal(call->size, sizeof *call);
    d->calls++;
    d->failed += call->failed;
    if (call->depth < 8 && call->execution_seconds > d->longest[call->depth])
        d->longest[call->depth] = call->execution_seconds;
}

static int report(void *state, struct assay_json *out, struct assay_error *err)
{
    const struct depths *d = state;

    (void)err;
    assay_json_count(out, "calls", d->calls);
    assay_json_flag(out, "any_failed", d->failed > 0);
    assay_json_text(out, "unit", "seconds");
    assay_json_number(out, "unknown", UNIT_NAN);
    assay_json_array(out, "longest");
    for (int i = 0; i < 2; i++) {
        assay_json_object(out, NULL);
        assay_json_number(out, "time", d->longest[i]);
        assay_json_close(out);
    }
    assay_json_close(out);
    return ASSAY_OK;
}

static void reset(void *state)
{
    struct depths *d = state;

    *d = (struct depths){.starts = d->starts, .resets = d->resets + 1};
}

static void destroy(void *state)
{
    ((struct depths *)state)->gone = true;
}

static struct assay_profiler table_of(const char *name, struct depths *d)
{
    return (struct assay_profiler){
        sizeof(struct assay_profiler), name, d, create, started, layer_end, report, reset, destroy};
}

static void a_profiler_is_added(void **state)
{
    const char *const none[] = {"gpu"};
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    struct depths d = {0};
    struct assay_profiler table = table_of("depths", &d);
    const struct as_json_value *part;
    struct assay_manager_span outer, inner;
    struct assay_manager *m;
    struct kit_tree tree;
    uint64_t calls;

    (void)state;
    options.profilers = none;
    options.n_profilers = 1;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_add_profiler(m, &table, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
    assert_int_equal(d.starts, 1);
    outer = assay_manager_layer_begin(m, "outer");
    inner = assay_manager_layer_begin(m, "inner");
    assert_int_equal(assay_manager_layer_fail(m, &inner, "why not", NULL), ASSAY_OK);
    assert_int_equal(assay_manager_layer_end(m, &outer, NULL, 0, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_flush(m, NULL), ASSAY_OK);
    assert_int_equal(d.calls, 2);
    assert_int_equal(d.failed, 1);
    tree = kit_report(m);
    part = as_json_path(tree.root, "extensions", "depths");
    assert_true(as_json_whole(as_json_get(part, "calls"), &calls));
    assert_int_equal(calls, 2);
    assert_true(as_json_is_true(as_json_get(part, "any_failed")));
    assert_int_equal(as_json_get(part, "unknown")->type, AS_TYPE_NULL);
    assert_int_equal(as_json_get(part, "longest")->n, 2);
    kit_forget(&tree);
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assert_int_equal(assay_manager_reset(m, NULL), ASSAY_OK);
    assert_int_equal(d.resets, 1);
    assert_int_equal(d.calls, 0);
    assay_manager_free(m);
    assert_true(d.gone);
}

static int refuse_create(void *context, void **state, struct assay_error *err)
{
    (void)context, (void)state;
    return as_fail(err, ASSAY_ERR_UNSUPPORTED, "not on this machine");
}

static void what_cannot_be_added_is_refused(void **state)
{
    struct depths d = {0};
    struct assay_profiler table = table_of("layer", &d);
    struct assay_manager *m;
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_manager_new(&m, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_add_profiler(m, &table, &err), ASSAY_ERR_USAGE);
    table.name = "";
    assert_int_equal(assay_manager_add_profiler(m, &table, &err), ASSAY_ERR_USAGE);
    table.name = "once";
    assert_int_equal(assay_manager_add_profiler(m, &table, &err), ASSAY_OK);
    assert_int_equal(assay_manager_add_profiler(m, &table, &err), ASSAY_ERR_USAGE);
    table.name = "refuses";
    table.create = refuse_create;
    assert_int_equal(assay_manager_add_profiler(m, &table, &err), ASSAY_ERR_UNSUPPORTED);
    assert_string_equal(err.msg, "not on this machine");
    assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
    table.name = "late";
    assert_int_equal(assay_manager_add_profiler(m, &table, &err), ASSAY_ERR_STATE);
    table.size = 2;
    assert_int_equal(assay_manager_add_profiler(m, &table, &err), ASSAY_ERR_USAGE);
    assay_manager_free(m);
}

static int key_in_array(void *state, struct assay_json *out, struct assay_error *err)
{
    (void)state, (void)err;
    assay_json_array(out, "list");
    assay_json_count(out, "key", 1);
    assay_json_close(out);
    return ASSAY_OK;
}

static int never_closed(void *state, struct assay_json *out, struct assay_error *err)
{
    (void)state, (void)err;
    assay_json_object(out, "open");
    return ASSAY_OK;
}

static int closed_twice(void *state, struct assay_json *out, struct assay_error *err)
{
    (void)state, (void)err;
    assay_json_close(out);
    assay_json_close(out);
    return ASSAY_OK;
}

static int too_deep(void *state, struct assay_json *out, struct assay_error *err)
{
    (void)state, (void)err;
    assay_json_array(out, "deep");
    for (int i = 0; i < 100; i++)
        assay_json_array(out, NULL);
    return ASSAY_OK;
}

static int fails(void *state, struct assay_json *out, struct assay_error *err)
{
    (void)state;
    assay_json_count(out, "half", 1);
    return as_fail(err, ASSAY_ERR_IO, "the sensor is gone");
}

static void a_wrong_part_costs_only_itself(void **state)
{
    int (*const wrong[])(void *, struct assay_json *, struct assay_error *) = {
        key_in_array, never_closed, closed_twice, too_deep, fails};
    static const char *const name[] = {"array", "open", "twice", "deep", "fails"};
    struct depths d = {0};
    struct assay_manager *m;
    struct kit_tree tree;

    (void)state;
    assert_int_equal(assay_manager_new(&m, NULL, NULL), ASSAY_OK);
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
        struct assay_profiler table = table_of(name[i], &d);

        table.report = wrong[i];
        assert_int_equal(assay_manager_add_profiler(m, &table, NULL), ASSAY_OK);
    }
    tree = kit_report(m);
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++)
        assert_int_equal(as_json_path(tree.root, "extensions", name[i])->type, AS_TYPE_NULL);
    assert_string_equal(as_json_words(as_json_path(tree.root, "extensions", "fails_reason")),
                        "the sensor is gone");
    kit_forget(&tree);
    assay_manager_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profiler_is_added),
        cmocka_unit_test(what_cannot_be_added_is_refused),
        cmocka_unit_test(a_wrong_part_costs_only_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
