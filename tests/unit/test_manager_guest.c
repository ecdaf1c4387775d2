/* tests/unit/test_manager_guest.c - a manager as a guest in a program that forks, jumps, handles
 * signals and runs many threads; what it costs is reported as it is. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "manager_kit.h"

static _Atomic bool stop;

static void *mark_until_stopped(void *arg)
{
    while (!atomic_load(&stop)) {
        ASSAY_MANAGER_LAYER(arg, "busy");
    }
    return NULL;
}

/* What a child of fork() may do with its parent's manager: exit status 0 when all is as documented.
 */
static int in_child(struct assay_manager *m)
{
    struct assay_manager_span span = assay_manager_layer_begin(m, "child");
    struct assay_layer_profile *seen;
    struct assay_manager *own;
    struct assay_error err;
    int bad = 0;

    bad += span.serial != 0;
    bad += assay_manager_layer_end(m, &span, NULL, 0, NULL) != ASSAY_OK;
    assay_manager_step(m, 1);
    bad += assay_manager_is_active(m);
    bad += assay_manager_end(m, &err) != ASSAY_ERR_STATE;
    bad += assay_manager_layers(m, 0, &seen, &err) != ASSAY_ERR_STATE;
    bad += assay_manager_export(m, "child.json", &err) != ASSAY_ERR_STATE;
    assay_manager_free(m);
    if (assay_manager_new(&own, NULL, NULL) < 0 || assay_manager_start(own, NULL) < 0)
        return 99;
    kit_call(own, "own");
    span = assay_manager_layer_begin(m, "still not");
    bad += span.serial != 0;
    bad += assay_manager_end(own, NULL) != 0;
    assay_manager_free(own);
    return bad;
}

static void a_forked_child_marks_nothing_and_never_hangs(void **state)
{
    struct assay_manager *m = kit_manager(NULL);
    struct assay_layer_profile *seen;
    pthread_t thread[3];

    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    assay_manager_free(m);
    skip(); /* their runtimes hold locks of their own across a fork of many threads */
#endif
    atomic_store(&stop, false);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, mark_until_stopped, m), 0);
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        int status;

        assert_true(child >= 0);
        if (child == 0)
            _exit(in_child(m));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    assert_null(assay_layer_profile_find(seen, "child"));
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static struct assay_manager *handled;
static _Atomic unsigned n_handled;
static void on_alarm(int number)
{
    (void)number;
    ASSAY_MANAGER_LAYER(handled, "handler");
    atomic_fetch_add(&n_handled, 1);
}

/* `work` goes on until the handler has marked its layer many times. */
static void interrupt(struct assay_manager *m, void (*work)(struct assay_manager *m))
{
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm}, before;
    struct assay_layer_profile *seen;
    const struct assay_layer_stats *s;

    handled = m;
    atomic_store(&n_handled, 0);
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    while (atomic_load(&n_handled) < 300)
        work(m);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    s = assay_layer_profile_find(seen, "handler");
    assert_non_null(s);
    if (s->call_count != atomic_load(&n_handled) || seen->calls_abandoned || seen->calls_dropped)
        fail_msg("%llu of %u calls; %llu abandoned, %llu dropped, %llu too deep",
                 (unsigned long long)s->call_count, atomic_load(&n_handled),
                 (unsigned long long)seen->calls_abandoned, (unsigned long long)seen->calls_dropped,
                 (unsigned long long)seen->calls_too_deep);
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static void mark_layers(struct assay_manager *m)
{
    kit_call(m, "interrupted");
}

static void a_handler_may_interrupt_the_manager(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* its runtime delivers signals late */
#endif
    interrupt(kit_manager(NULL), mark_layers);
    interrupt(kit_manager("layer"), mark_layers);
}

/* The heap is locked for much of the time. */
static void use_the_heap(struct assay_manager *m)
{
    void *block[64];

    (void)m;
    for (size_t i = 0; i < 64; i++)
        block[i] = malloc(1000 * (i + 1));
    for (size_t i = 0; i < 64; i++)
        free(block[i]);
}

static void read_results(struct assay_manager *m)
{
    struct kit_tree tree = kit_report(m);

    kit_forget(&tree);
}

static void a_handler_may_interrupt_the_heap_and_readers(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip();
#endif
    interrupt(kit_manager(NULL), use_the_heap);
    interrupt(kit_manager(NULL), read_results);
}

/* The end of a layer that takes much of a chunk: a handler must not be led out of it. */
static void mark_with_texts(struct assay_manager *m)
{
    static char text[250];
    struct assay_metadata pair[16];
    struct assay_manager_span span = assay_manager_layer_begin(m, "told");

    memset(text, 'x', sizeof text - 1);
    for (size_t i = 0; i < 16; i++)
        pair[i] = (struct assay_metadata){.key = "0123456789abcdef" + i, .text = text};
    assert_int_equal(assay_manager_layer_end(m, &span, pair, 16, NULL), ASSAY_OK);
}

static void a_handler_may_interrupt_long_marks(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip();
#endif
    interrupt(kit_manager("layer"), mark_with_texts);
}

/* A signal that was blocked when the session started, and has a handler later. */
static void a_handler_is_known_by_its_signal(void **state)
{
    struct assay_manager *m;
    sigset_t alarm, before;

    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip();
#endif
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &alarm, &before), 0);
    m = kit_manager(NULL);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    interrupt(m, use_the_heap);
}

static jmp_buf back;
static void leave_without_an_end(struct assay_manager *m)
{
    struct assay_manager_span lost = assay_manager_layer_begin(m, "jumped");

    (void)lost;
    longjmp(back, 1);
}

static void jump(struct assay_manager *m, int times)
{
    static volatile int n;

    for (n = 0; n < times; n++) {
        if (setjmp(back) == 0)
            leave_without_an_end(m);
    }
}

static void an_outer_layer_ends_after_longjmp(void **state)
{
    struct assay_manager *m = kit_manager(NULL);
    struct assay_layer_profile *seen;
    struct assay_manager_span outer;

    (void)state;
    outer = assay_manager_layer_begin(m, "loopouter");
    jump(m, 1500); /* more than may be open at once */
    assert_int_equal(assay_manager_layer_end(m, &outer, NULL, 0, NULL), ASSAY_OK);
    kit_call(m, "after");
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    assert_int_equal(assay_layer_profile_find(seen, "loopouter")->call_count, 1);
    assert_int_equal(assay_layer_profile_find(seen, "after")->call_count, 1);
    assert_null(assay_layer_profile_find(seen, "jumped"));
    assert_int_equal(seen->calls_abandoned + seen->calls_too_deep, 1500);
    assert_int_equal(seen->n_open_at_end, 0);
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static sigjmp_buf escape;

static void jump_out(int number)
{
    (void)number;
    siglongjmp(escape, 1);
}

/* Now and then the handler leaves a mark in the middle: the manager goes on, and loses no more than
 * those marks. */
static void a_handler_may_jump_out_of_a_mark(void **state)
{
    const struct itimerval soon = {{0, 0}, {0, 300}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = jump_out}, before;
    struct assay_manager *m = kit_manager(NULL);
    enum { JUMPS = 200, AFTER = 2000 };
    static volatile int jumps;
    const struct assay_layer_stats *s;
    struct assay_layer_profile *seen;

    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    assay_manager_free(m);
    skip(); /* their runtimes do not follow such a jump */
#endif
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    jumps = 0;
    while (jumps < JUMPS) {
        if (sigsetjmp(escape, 1) == 0) {
            assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
            for (;;)
                kit_call(m, "left");
        }
        jumps++;
    }
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    for (int i = 0; i < AFTER; i++)
        kit_call(m, "after");
    assert_true(assay_manager_end(m, NULL) >= 0);
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    s = assay_layer_profile_find(seen, "after");
    assert_non_null(s);
    assert_int_equal(s->call_count, AFTER);
    assert_int_equal(seen->calls_dropped, 0);
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static void the_same_place_with_another_name_is_another_layer(void **state)
{
    struct assay_manager *m = kit_manager("layer");
    struct assay_layer_profile *seen;
    char name[64];

    (void)state;
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "a name in the same place that is %d", i % 3);
        kit_call(m, name);
    }
    kit_call(m, NULL);
    kit_call(m, "");
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    assert_int_equal(seen->n_layers, 4);
    assert_int_equal(
        assay_layer_profile_find(seen, "a name in the same place that is 1")->call_count, 2);
    assert_int_equal(assay_layer_profile_find(seen, "(unnamed)")->call_count, 2);
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static void too_deep_is_counted_and_stays_balanced(void **state)
{
    enum { DEPTH = 1024, MORE = 10 };
    static struct assay_manager_span span[DEPTH + MORE];
    struct assay_manager *m = kit_manager(NULL);
    struct assay_layer_profile *seen;

    (void)state;
    for (int i = 0; i < DEPTH + MORE; i++)
        span[i] = assay_manager_layer_begin(m, "deep");
    for (int i = DEPTH + MORE; i-- > 0;)
        assert_int_equal(assay_manager_layer_end(m, &span[i], NULL, 0, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    assert_int_equal(assay_layer_profile_find(seen, "deep")->call_count, DEPTH);
    assert_int_equal(seen->calls_too_deep, MORE);
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static void a_span_ends_once_and_in_its_turn(void **state)
{
    struct assay_manager *m = kit_manager(NULL), *other = kit_manager(NULL);
    struct assay_manager_span outer = assay_manager_layer_begin(m, "outer"),
                              inner = assay_manager_layer_begin(m, "inner");
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_manager_layer_end(other, &inner, NULL, 0, &err), ASSAY_ERR_STATE);
    assert_non_null(strstr(err.msg, "another manager"));
    assert_int_equal(assay_manager_layer_end(m, &inner, NULL, 0, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_layer_end(m, &inner, NULL, 0, &err), ASSAY_ERR_STATE);
    assert_non_null(strstr(err.msg, "inner"));
    assert_non_null(strstr(err.msg, "outer"));
    assert_int_equal(assay_manager_layer_end(m, &outer, NULL, 0, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_layer_end(m, &outer, NULL, 0, &err), ASSAY_ERR_STATE);
    assert_non_null(strstr(err.msg, "ended before"));
    assay_manager_free(other);
    assay_manager_free(m);
}

/* More marks than a lane holds, while nobody else drains it; texts of every length. */
static void nothing_is_lost_on_a_full_lane(void **state)
{
    struct assay_manager *m = kit_manager("layer");
    enum { CALLS = 100000 };
    char text[300];
    const struct assay_metadata pair[] = {{"text", text, 0}, {"number", NULL, 7}};
    struct assay_layer_profile *seen;

    (void)state;
    memset(text, 'x', sizeof text);
    for (int i = 0; i < CALLS; i++) {
        struct assay_manager_span span = assay_manager_layer_begin(m, "conv");

        text[i % 299] = '\0';
        assert_int_equal(assay_manager_layer_end(m, &span, pair, 2, NULL), ASSAY_OK);
        text[i % 299] = 'x';
    }
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    assert_int_equal(seen->total_calls + seen->calls_dropped, CALLS);
    assert_int_equal(seen->calls_dropped, 0);
    assert_int_equal(seen->metadata_dropped, 0);
    for (size_t i = 0; i < seen->n_timeline; i++) {
        const size_t call = CALLS - seen->n_timeline + i, size = call % 299;

        assert_int_equal(seen->timeline[i].n_metadata, 2);
        assert_int_equal(strlen(seen->timeline[i].metadata[0].text), size < 255 ? size : 255);
        assert_true(seen->timeline[i].metadata[1].number == 7);
    }
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static void every_manager_has_names_of_its_own(void **state)
{
    char name[48];

    (void)state;
    for (int k = 0; k < 3; k++) {
        struct assay_manager *m = kit_manager("layer");
        struct assay_layer_profile *seen;

        for (int i = 0; i < 30000; i++) {
            snprintf(name, sizeof name, "layer %d of %d", i, k);
            kit_call(m, name);
        }
        assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
        assert_int_equal(seen->n_layers, 30000);
        assert_int_equal(seen->calls_unnamed, 0);
        assay_layer_profile_free(seen);
        assay_manager_free(m);
    }
}

static void *exit_inside(void *arg)
{
    struct assay_manager_span lost = assay_manager_layer_begin(arg, "left");

    (void)lost;
    pthread_exit(NULL);
}

static void a_thread_that_exits_inside_a_layer_is_counted(void **state)
{
    struct assay_manager *m = kit_manager("layer");
    struct assay_layer_profile *seen;
    enum { LIVES = 300 };

    (void)state;
    for (int i = 0; i < LIVES; i++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, exit_inside, m), 0);
        pthread_join(thread, NULL);
    }
    assert_true(assay_manager_end(m, NULL) >= 1);
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    assert_int_equal(seen->calls_abandoned + seen->n_open_at_end, LIVES);
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static void *empty_layers(void *arg)
{
    for (int i = 0; i < 300; i++) {
        ASSAY_MANAGER_LAYER(arg, "empty");
    }
    return NULL;
}

/* Nothing but marks: nearly all of the time is the manager's, and it says so. */
static void the_cost_of_64_threads_is_reported(void **state)
{
    struct assay_manager *m = kit_manager(NULL);
    struct assay_manager_session session;
    enum { THREADS = 64 };
    pthread_t thread[THREADS];

    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    assay_manager_free(m);
    skip(); /* what a sanitizer takes for each thread is not the manager's */
#endif
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, empty_layers, m), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assay_manager_read_session(m, &session);
    assert_int_equal(session.calls, THREADS * 300);
    if (session.cost_share <= 0.9 || session.cost_share > 1)
        fail_msg("cost_share is %g: %g s of %g s CPU and %g s waiting", session.cost_share,
                 session.cost_seconds, session.cpu_seconds, session.wait_seconds);
    assay_manager_free(m);
}

/* Also where marks are all that is done. */
static void the_cost_of_bare_marks_is_reported(void **state)
{
    struct assay_manager *m = kit_manager("layer");
    struct assay_manager_session session;

    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    assay_manager_free(m);
    skip();
#endif
    for (int i = 0; i < 200000; i++)
        kit_call(m, "empty");
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assay_manager_read_session(m, &session);
    assert_true(session.cost_share > 0.5 && session.cost_share <= 1);
    assay_manager_free(m);
}

/* Faults of the first call, which took long, do not explain a thousand short ones. */
static void one_call_explains_no_others(void **state)
{
    struct assay_manager *m = kit_manager(NULL);
    const struct assay_bottleneck_result *result;
    char *page;

    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    assay_manager_free(m);
    skip(); /* their shadows fault where a layer runs */
#endif
    page = malloc((size_t)64 << 20);
    assert_non_null(page);
    for (int i = 0; i < 3000; i++) {
        struct assay_manager_span span = assay_manager_layer_begin(m, "mostly short");

        if (i == 0)
            page[(size_t)32 << 20] = 1; /* one fault */
        for (volatile int k = 0; k < 3000; k++)
            ;
        assert_int_equal(assay_manager_layer_end(m, &span, NULL, 0, NULL), ASSAY_OK);
    }
    assert_int_equal(assay_manager_analyze_bottlenecks(m, &result, NULL), ASSAY_OK);
    assert_true(result->n_ranked >= 1);
    for (size_t k = 0; k < result->ranked[0].n_causes; k++)
        assert_int_not_equal(result->ranked[0].cause[k].type, ASSAY_BOTTLENECK_PAGE_FAULTS);
    free(page);
    assay_manager_free(m);
}

static void own_page_faults_are_no_cause(void **state)
{
    struct assay_manager *m = kit_manager(NULL);
    const struct assay_bottleneck_result *result;

    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    assay_manager_free(m);
    skip(); /* their shadows fault where a layer runs */
#endif
    for (int i = 0; i < 10; i++)
        kit_call(m, "empty");
    assert_int_equal(assay_manager_analyze_bottlenecks(m, &result, NULL), ASSAY_OK);
    for (size_t i = 0; i < result->n_ranked; i++) {
        for (size_t k = 0; k < result->ranked[i].n_causes; k++)
            assert_int_not_equal(result->ranked[i].cause[k].type, ASSAY_BOTTLENECK_PAGE_FAULTS);
    }
    assay_manager_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forked_child_marks_nothing_and_never_hangs),
        cmocka_unit_test(a_handler_may_interrupt_the_manager),
        cmocka_unit_test(a_handler_may_interrupt_the_heap_and_readers),
        cmocka_unit_test(a_handler_may_interrupt_long_marks),
        cmocka_unit_test(a_handler_is_known_by_its_signal),
        cmocka_unit_test(an_outer_layer_ends_after_longjmp),
        cmocka_unit_test(a_handler_may_jump_out_of_a_mark),
        cmocka_unit_test(the_same_place_with_another_name_is_another_layer),
        cmocka_unit_test(too_deep_is_counted_and_stays_balanced),
        cmocka_unit_test(a_span_ends_once_and_in_its_turn),
        cmocka_unit_test(nothing_is_lost_on_a_full_lane),
        cmocka_unit_test(every_manager_has_names_of_its_own),
        cmocka_unit_test(a_thread_that_exits_inside_a_layer_is_counted),
        cmocka_unit_test(the_cost_of_64_threads_is_reported),
        cmocka_unit_test(the_cost_of_bare_marks_is_reported),
        cmocka_unit_test(one_call_explains_no_others),
        cmocka_unit_test(own_page_faults_are_no_cause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
