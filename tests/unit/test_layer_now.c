/* tests/unit/test_layer_now.c - a thread's open layers, followed through its own ring; data blocks.
 * Stands in for the injected library: the recorder finds the function below by its name. */
#include "recorder_kit.h"

#include <pthread.h>

#include "trace/record/layer_now.h"
#include "trace/record/recorder.h"

static const struct as_layer_source *source;

__attribute__((visibility("default"))) void assay_preload_bind_(const struct as_layer_source *s);
void assay_preload_bind_(const struct as_layer_source *s)
{
    source = s;
}

static void expect_open(const char *path)
{
    const struct as_layer_now *now = source->now();
    char text[512] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < now->depth; i++) {
        uint32_t size = 0;
        const char *name = source->name(now->open[i].layer, &size);

        assert_non_null(name);
        used += (size_t)snprintf(text + used, sizeof text - used, "/%.*s", (int)size, name);
    }
    assert_string_equal(text, path);
}

static void open_layers_are_followed(void **state)
{
    uint64_t call;
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    assert_non_null(source);
    assert_int_equal(source->version, AS_LAYER_SOURCE_VERSION);
    expect_open("");
    ASSAY_BEGIN("a");
    expect_open("/a");
    ASSAY_BEGIN("b");
    ASSAY_BEGIN("c");
    expect_open("/a/b/c");
    ASSAY_END("c");
    call = source->now()->open[1].call;
    ASSAY_END_FAILED("b");
    ASSAY_BEGIN("b");
    expect_open("/a/b");
    assert_int_not_equal(source->now()->open[1].call, call); /* another call of it */
    ASSAY_END("nobody opened this");
    expect_open("/a/b");
    ASSAY_BEGIN("left open");
    ASSAY_END("b");
    expect_open("/a");
    ASSAY_SWITCH("s1");
    ASSAY_SWITCH("s2");
    expect_open("/a/s2");
    ASSAY_SWITCH_END();
    expect_open("/a");
    assay_iteration(41);
    assay_iteration(42);
    assert_int_equal(source->now()->iterations, 2);
    assert_int_equal(source->now()->iteration, 42);
    ASSAY_END("a");
    expect_open("");
    rec_stop();
    assert_null(source);
    r = rec_read("run.assay");
    rec_done(&r);
}

static void chunks_that_went_by_unasked_are_followed(void **state)
{
    (void)state;
    rec_start("run.assay", NULL);
    ASSAY_BEGIN("stays");
    for (int i = 0; i < 100000; i++) { /* many times round the ring, ending inside a layer */
        ASSAY_BEGIN("inner");
        ASSAY_END("inner");
    }
    ASSAY_BEGIN("last");
    if (assay_session_lost() == 0)
        expect_open("/stays/last");
    ASSAY_END("last");
    ASSAY_END("stays");
    expect_open("");
    rec_stop();
}

static void deep_layers_keep_their_balance(void **state)
{
    uint32_t id = assay_layer("deep"), top = assay_layer("top");

    (void)state;
    rec_start("run.assay", NULL);
    assay_begin(top);
    for (int i = 0; i < 1000; i++)
        assay_begin(id);
    assert_int_equal(source->now()->depth, AS_LAYER_NOW_DEPTH);
    for (int i = 0; i < 1000; i++)
        assay_end(id);
    expect_open("/top");
    assay_end(top);
    expect_open("");
    rec_stop();
}

static void *on_a_thread(void *unused)
{
    expect_open("");
    ASSAY_BEGIN("of the thread");
    expect_open("/of the thread");
    ASSAY_END("of the thread");
    return unused;
}

static void threads_and_sessions_are_apart(void **state)
{
    pthread_t thread;

    (void)state;
    rec_start("run.assay", NULL);
    ASSAY_BEGIN("of main");
    assert_int_equal(pthread_create(&thread, NULL, on_a_thread, NULL), 0);
    pthread_join(thread, NULL);
    expect_open("/of main");
    rec_stop();
    rec_start("run.assay", NULL); /* what was open in the session before is not in this one */
    ASSAY_BEGIN("new");
    expect_open("/new");
    ASSAY_END("new");
    rec_stop();
}

static void data_blocks_come_back_in_order(void **state)
{
    struct assay_error err;
    struct rec r;

    (void)state;
    assert_int_equal(as_session_data("x", "{}", 2, &err), ASSAY_ERR_STATE);
    rec_start("run.assay", NULL);
    assert_int_equal(as_session_data("", "{}", 2, &err), ASSAY_ERR_LIMIT);
    assert_int_equal(as_session_data("first", "{\"a\":1}", 7, &err), ASSAY_OK);
    ASSAY_BEGIN("layer");
    ASSAY_END("layer");
    assert_int_equal(as_session_data("second", "[]", 2, &err), ASSAY_OK);
    rec_stop();
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(r.run->n_data, 2);
    assert_string_equal(r.run->data[0].kind, "first");
    assert_string_equal(r.run->data[0].json, "{\"a\":1}");
    assert_int_equal(r.run->data[0].json_size, 7);
    assert_string_equal(r.run->data[1].kind, "second");
    assert_int_equal(r.run->health.unknown_blocks, 0);
    rec_done(&r);
}

#define RECORDED(test) cmocka_unit_test_teardown(test, rec_clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDED(open_layers_are_followed),
        RECORDED(chunks_that_went_by_unasked_are_followed),
        RECORDED(deep_layers_keep_their_balance),
        RECORDED(threads_and_sessions_are_apart),
        RECORDED(data_blocks_come_back_in_order),
    };

    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
