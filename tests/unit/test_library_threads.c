/* tests/unit/test_library_threads.c - an engine works on as many threads as it was told, from its
 * first run on and whatever engine ran before it. */
#include "unit.h"

#include <stdlib.h>
#include <time.h>

#include "engine/engine.h"
#include "format/model_file.h"

static double seconds(clockid_t clock)
{
    struct timespec t;

    assert_int_equal(clock_gettime(clock, &t), 0);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The share of the CPU time of a few runs that was spent by other threads than this one. */
static double share_of_others(struct as_model *model, unsigned threads, bool reference)
{
    struct as_engine_options options = {.threads = threads, .reference = reference};
    struct as_engine *engine = NULL;
    struct assay_error err = {0};
    double all, mine;

    assert_int_equal(as_engine_new(&engine, model, &options, &err), ASSAY_OK);
    for (size_t i = 0; as_engine_input_value(engine, i); i++) {
        struct as_val *val = as_engine_input(engine, i);

        memset(val->data, 0, (size_t)val->bytes);
    }
    all = seconds(CLOCK_PROCESS_CPUTIME_ID);
    mine = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 3; i++)
        assert_int_equal(as_engine_run(engine, AS_RUN_PLAIN, NULL, &err), ASSAY_OK);
    all = seconds(CLOCK_PROCESS_CPUTIME_ID) - all;
    mine = seconds(CLOCK_THREAD_CPUTIME_ID) - mine;
    as_engine_free(engine);
    return (all - mine) / all;
}

static void as_many_as_were_told(void **state)
{
    static const unsigned threads[] = {1, 2, 1, 1, 2, 2, 1};
    struct as_model *model = NULL;
    struct assay_error err = {0};

    (void)state;
    assert_int_equal(as_model_open(&model, "zoo:squeezenet", &err), ASSAY_OK);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++) {
        double others = share_of_others(model, threads[i], false);

        print_message("%u threads: %.2f by others\n", threads[i], others);
        if (threads[i] == 1)
            assert_true(others < 0.1);
        else
            assert_true(others > 0.1);
    }
    as_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_were_told),
    };

    /* Threads of OpenMP that spin while they wait spend CPU time without working: on a busy
     * machine that of an engine before, or of this thread. Waiting ones sleep here, as they do for
     * the command, so that the shares are those of the work. OpenMP reads it when it is loaded. */
    assert_int_equal(setenv("OMP_WAIT_POLICY", "passive", 1), 0);
    assert_int_equal(setenv("GOMP_SPINCOUNT", "0", 1), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
