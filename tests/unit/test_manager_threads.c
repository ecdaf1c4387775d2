/* tests/unit/test_manager_threads.c - layers on many threads while others read, switch and end.
 * Run under TSan, it also shows that nothing is shared without a lock. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "manager_kit.h"

enum { THREADS = 4, CALLS = 400 };

static void *nest(void *arg)
{
    struct assay_manager *m = arg;

    for (int i = 0; i < CALLS; i++) {
        ASSAY_MANAGER_LAYER(m, "outer");
        {
            ASSAY_MANAGER_LAYER(m, "inner");
        }
        if (i % 4 == 0) {
            ASSAY_MANAGER_LAYER_NAMED(scope, m, "sometimes");
            assay_manager_scope_fail(&scope, "every fourth");
        }
    }
    return NULL;
}

static void start_all(pthread_t *thread, struct assay_manager *m, void *(*work)(void *))
{
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, m), 0);
}

static void join_all(const pthread_t *thread)
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void every_call_of_every_thread_is_counted(void **state)
{
    struct assay_manager *m = kit_manager(NULL);
    struct assay_layer_profile *seen;
    pthread_t thread[THREADS];

    (void)state;
    start_all(thread, m, nest);
    for (int i = 0; i < 10; i++) { /* while they run */
        struct kit_tree tree = kit_report(m);

        kit_forget(&tree);
    }
    join_all(thread);
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    assert_int_equal(assay_layer_profile_find(seen, "outer")->call_count, THREADS * CALLS);
    assert_int_equal(assay_layer_profile_find(seen, "inner")->call_count, THREADS * CALLS);
    assert_int_equal(assay_layer_profile_find(seen, "sometimes")->failed_count,
                     THREADS * CALLS / 4);
    assert_true(assay_layer_profile_find(seen, "outer")->self_seconds <=
                assay_layer_profile_find(seen, "outer")->total_seconds);
    assert_int_equal(seen->n_threads, THREADS);
    for (size_t i = 1; i < seen->n_timeline; i++) {
        assert_true(seen->timeline[i].timestamp_seconds >= seen->timeline[i - 1].timestamp_seconds);
        assert_true(seen->timeline[i].cumulative_seconds >=
                    seen->timeline[i - 1].cumulative_seconds);
    }
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static void *short_life(void *arg)
{
    kit_call(arg, "brief");
    return NULL;
}

static void threads_that_come_and_go_cost_no_more(void **state)
{
    struct assay_manager *m = kit_manager("layer");
    struct assay_layer_profile *seen;
    enum { LIVES = 500 };

    (void)state;
    for (int i = 0; i < LIVES; i++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, short_life, m), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    assert_int_equal(assay_layer_profile_find(seen, "brief")->call_count, LIVES);
    assert_int_equal(seen->n_threads, LIVES);
    assert_int_equal(seen->timeline[LIVES - 1].thread, LIVES - 1);
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static struct assay_manager_span elsewhere;
static void *begin_here(void *arg)
{
    elsewhere = assay_manager_layer_begin(arg, "elsewhere");
    return NULL;
}

static void a_layer_ends_on_its_own_thread(void **state)
{
    struct assay_manager *m = kit_manager("layer");
    struct assay_error err;
    pthread_t thread;

    (void)state;
    kit_call(m, "mine");
    assert_int_equal(pthread_create(&thread, NULL, begin_here, m), 0);
    pthread_join(thread, NULL);
    assert_int_equal(assay_manager_layer_end(m, &elsewhere, NULL, 0, &err), ASSAY_ERR_STATE);
    assert_non_null(strstr(err.msg, "another thread"));
    assert_int_equal(assay_manager_end(m, NULL), 1); /* it is told as left open */
    assay_manager_free(m);
}

static _Atomic bool stop;
static void *until_stopped(void *arg)
{
    char name[32];

    for (unsigned i = 0; !atomic_load(&stop); i++) {
        snprintf(name, sizeof name, "layer %u", i % 50);
        ASSAY_MANAGER_LAYER(arg, name);
    }
    return NULL;
}

static void sessions_begin_and_end_while_layers_run(void **state)
{
    struct assay_manager *m = kit_manager(NULL);
    pthread_t thread[THREADS];

    (void)state;
    start_all(thread, m, until_stopped);
    for (int i = 0; i < 20; i++) {
        struct assay_layer_profile *seen;

        assert_true(assay_manager_end(m, NULL) >= 0);
        assert_int_equal(assay_manager_reset(m, NULL), ASSAY_OK);
        assert_int_equal(i % 2 ? assay_manager_enable(m, "memory", NULL)
                               : assay_manager_disable(m, "memory", NULL),
                         ASSAY_OK);
        assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
        assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
        assay_layer_profile_free(seen);
    }
    atomic_store(&stop, true);
    join_all(thread);
    assert_true(assay_manager_end(m, NULL) == 0);
    assay_manager_free(m);
}

static void managers_do_not_mix(void **state)
{
    struct assay_manager *a = kit_manager("layer"), *b = kit_manager("layer");
    struct assay_manager_span in_a = assay_manager_layer_begin(a, "both");
    struct assay_manager_span in_b = assay_manager_layer_begin(b, "both");
    struct assay_manager_session session;

    (void)state;
    kit_call(b, "inside");
    assert_int_equal(assay_manager_layer_end(a, &in_a, NULL, 0, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_layer_end(b, &in_b, NULL, 0, NULL), ASSAY_OK);
    assay_manager_read_session(a, &session);
    assert_int_equal(session.calls, 1);
    assay_manager_free(a);
    a = kit_manager("layer"); /* perhaps where the old one was */
    kit_call(a, "new");
    assay_manager_read_session(a, &session);
    assert_int_equal(session.calls, 1);
    assay_manager_read_session(b, &session);
    assert_int_equal(session.calls, 2);
    assay_manager_free(a);
    assay_manager_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_every_thread_is_counted),
        cmocka_unit_test(threads_that_come_and_go_cost_no_more),
        cmocka_unit_test(a_layer_ends_on_its_own_thread),
        cmocka_unit_test(sessions_begin_and_end_while_layers_run),
        cmocka_unit_test(managers_do_not_mix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
