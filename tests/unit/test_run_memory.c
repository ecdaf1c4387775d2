/* tests/unit/test_run_memory.c - reading, analysing and listing a run when any one allocation
 * fails. The answer is then "out of memory" and nothing else; what was taken is given back. */
#include "recorder_kit.h"

#include <sys/wait.h>

#include "analyze/run/timeline.h"
#include "base/alloc.h"

/* Something of everything, on two threads' worth of rings, killed so that the ring is read too. */
static void record_and_die(void)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    uint32_t channel = assay_channel("power", "watts"), layer = assay_layer("described");
    const struct assay_layer_info info = {sizeof info, "conv2d", "1x64", 2e9, 1e6};

    options.label = "memory";
    if (assay_session_open("run.assay", &options, NULL) < 0 ||
        assay_layer_describe(layer, &info, NULL) < 0)
        _exit(1);
    for (uint64_t i = 0; i < 3000; i++) {
        assay_iteration(i);
        assay_iteration_length(i % 5);
        ASSAY_PHASE_SCOPE(ASSAY_PHASE_FORWARD);
        assay_begin(layer);
        ASSAY_BEGIN("inner");
        assay_note("i", (double)i);
        ASSAY_END("inner");
        assay_end(layer);
        assay_sample(channel, 1);
    }
    for (int i = 0; i < 200; i++)
        ASSAY_BEGIN("deep");
    _exit(0);
}

/* The first code that is not 0, or how many calls were listed. */
static int read_all(size_t max_samples, struct assay_error *err)
{
    const struct as_layers_options options = {-1, max_samples};
    struct as_timeline *timeline = NULL;
    struct as_layers *layers = NULL;
    struct as_timeline_entry entry;
    struct as_run *run = NULL;
    int rc = as_run_open(&run, "run.assay", err), n = 0;

    if (rc == ASSAY_OK)
        rc = as_layers_analyze(&layers, run, &options, err);
    if (rc == ASSAY_OK) {
        timeline = as_timeline_new(run);
        rc = timeline ? ASSAY_OK : ASSAY_ERR_NOMEM;
        if (!timeline)
            err->code = rc;
    }
    while (rc >= 0 && (rc = as_timeline_next(timeline, &entry, err)) == 1)
        n++;
    as_timeline_free(timeline);
    as_layers_free(layers);
    as_run_close(run);
    return rc < 0 ? rc : n;
}

static void fail_every_allocation(size_t max_samples)
{
    struct assay_error err = {0};
    uint64_t n_allocations;
    int n_calls;

    as_alloc_fail_at(0, 0);
    n_calls = read_all(max_samples, &err);
    n_allocations = as_alloc_count();
    assert_int_equal(n_calls, 2 * 3000 + 200);
    for (uint64_t nth = 1; nth <= n_allocations; nth++) {
        for (int persistent = 0; persistent < 2; persistent++) {
            int rc;

            err = (struct assay_error){0};
            as_alloc_fail_at(nth, persistent);
            rc = read_all(max_samples, &err);
            as_alloc_fail_at(0, 0);
            if (rc != ASSAY_ERR_NOMEM || err.code != ASSAY_ERR_NOMEM)
                fail_msg("allocation %u of %u: %d, %s", (unsigned)nth, (unsigned)n_allocations, rc,
                         err.msg);
        }
    }
}

static void every_allocation_may_fail(void **state)
{
    pid_t pid;
    int status;

    (void)state;
    as_alloc_fail_at(0, 0);
    as_free(as_alloc(1));
    if (as_alloc_count() == 0)
        skip(); /* this build cannot make allocations fail */
    pid = fork();
    if (pid == 0)
        record_and_die();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    fail_every_allocation(0);
    fail_every_allocation(100); /* with histograms */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_allocation_may_fail, rec_clean),
    };

    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
