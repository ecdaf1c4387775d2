/* tests/unit/test_profile_run.c - the whole protocol on small models: every pass leaves what it
 * promises, and the parts fit the whole. */
#include "unit.h"

#include <assay/model.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "format/model_file.h"
#include "measure/latency/profile_run.h"
#include "model/graph/model_handle.h"

static struct as_profile_options quick(void)
{
    return (struct as_profile_options){
        .latency = {.runs = 20, .warmup_runs = 3, .warmup_s = 0.02, .time_s = 0.05},
        .profile_runs = 15,
    };
}

static struct as_profile_run *run_model(struct as_model *model, const struct as_profile_options *o)
{
    struct as_profile_run *run = NULL;
    struct assay_error err = {0};

    if (as_profile_run_new(&run, model, o, &err) < 0)
        fail_msg("%s", err.msg);
    return run;
}

static unsigned phases_seen;

static void note_phase(void *user, enum as_profile_phase phase,
                       const struct as_latency_progress *now)
{
    (void)user;
    assert_true(now->share >= 0 && now->share <= 1);
    phases_seen |= 1u << phase;
}

static void every_pass_leaves_its_numbers(void **state)
{
    struct as_profile_options o = quick();
    struct as_model *model;
    struct as_profile_run *run;
    const struct as_mem *mem;

    (void)state;
    assert_int_equal(as_model_open(&model, "zoo:mlp", NULL), 0);
    o.progress = note_phase;
    o.load_ns = 77;
    run = run_model(model, &o);
    assert_int_equal(run->latency.n, 20);
    assert_true(run->cold_ns > 0 && run->prepare_ns > 0 && run->load_ns == 77);
    assert_true(run->profiled && run->memory_counted);
    assert_int_equal(run->profile.n_runs, 15);
    assert_int_equal(run->profile.n_steps, as_engine_n_steps(run->engine));
    for (size_t r = 0; r < run->profile.n_runs; r++) {
        double sum = 0;

        for (size_t s = 0; s < run->profile.n_steps; s++)
            sum += (double)run->profile.self_ns[s * run->profile.n_runs + r];
        assert_true(sum > 0 && sum <= run->profile.run_ns[r]);
        assert_true(run->profile.plain_ns[r] > 0);
        assert_int_equal(run->profile.calls[r], 1);
    }
    assert_true(run->profile.cost_low_share <= run->profile.cost_share);
    assert_true(run->profile.cost_high_share >= run->profile.cost_share);
    mem = &run->memory.counted;
    assert_true(mem->of[AS_MEM_PARAMETERS].peak_bytes >= 4 * 269322);
    assert_true(mem->of[AS_MEM_ACTIVATIONS].peak_bytes >= 4 * 784);
    assert_true(mem->all.peak_bytes >=
                mem->of[AS_MEM_PARAMETERS].peak_bytes + mem->of[AS_MEM_ACTIVATIONS].peak_bytes);
    assert_true(run->memory.before.rss.value > 0 && run->memory.after.rss_peak.value > 0);
    assert_int_equal(run->inputs.n_choices, 1);
    assert_int_equal(phases_seen, 1u << AS_PHASE_PREPARE | 1u << AS_PHASE_WARM_UP |
                                      1u << AS_PHASE_PROFILING | 1u << AS_PHASE_MEMORY |
                                      (phases_seen & 1u << AS_PHASE_TIMING));
    as_profile_run_free(run);
    as_model_free(model);
}

static void passes_can_be_left_out(void **state)
{
    struct as_profile_options o = quick();
    struct as_model *model;
    struct as_profile_run *run;

    (void)state;
    assert_int_equal(as_model_open(&model, "zoo:mlp", NULL), 0);
    o.no_timing = o.no_profile = true;
    run = run_model(model, &o);
    assert_true(run->latency.n == 0 && !run->profiled && run->memory_counted);
    as_profile_run_free(run);
    o = quick();
    o.no_timing = o.no_memory = true;
    run = run_model(model, &o);
    assert_true(run->profiled && !run->memory_counted && run->latency.warm_up.runs >= 3);
    as_profile_run_free(run);
    as_model_free(model);
}

/* What was held before the model was prepared, and what counting memory takes, are not of it. The
 * kernel counts resident pages by thread and sums them up late, so its figures are a bit off. */
static void the_peak_is_that_of_running_the_model(void **state)
{
    const size_t size = (size_t)256 << 20;
    struct as_profile_options o = quick();
    char *block = as_alloc_pages(size);
    struct as_process_memory full;
    struct as_model *model;
    struct as_profile_run *run;

    (void)state;
    assert_non_null(block);
    memset(block, 1, size);
    __asm__ __volatile__("" ::"r"(block) : "memory");
    as_process_memory_read(&full, "");
    as_free_pages(block, size);
    assert_int_equal(as_model_open(&model, "zoo:mlp", NULL), 0);
    run = run_model(model, &o);
    assert_false(run->memory.peak_is_fresh);
    assert_true(run->memory.ran.rss_peak.value + size / 8 >= full.rss_peak.value);
    as_profile_run_free(run);
    o.reset_peak_rss = true;
    run = run_model(model, &o);
    if (run->memory.peak_is_fresh) {
        assert_true(run->memory.ran.rss_peak.value + size / 2 < full.rss_peak.value);
        assert_true(run->memory.ran.rss_peak.value + size / 8 >= run->memory.timed.rss.value);
    }
    as_profile_run_free(run);
    as_model_free(model);
}

/* Tensors of their own beside an arena that keeps its pages would be twice the memory. */
static void counting_memory_takes_no_more_than_running(void **state)
{
    struct as_profile_options o = quick();
    struct as_model *model;
    struct as_profile_run *run;

    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* what is freed stays for a while */
#endif
    assert_int_equal(as_model_open(&model, "zoo:mlp", NULL), 0);
    o.engine.infer.batch = 20000;
    o.latency = (struct as_latency_options){.runs = 1, .no_warmup = true};
    o.reset_peak_rss = o.no_profile = true;
    run = run_model(model, &o);
    assert_true(run->memory_counted);
    assert_true(run->memory.plan.arena_bytes >= (uint64_t)32 << 20);
    if (run->memory.peak_is_fresh)
        assert_true(run->memory.after.rss_peak.value <
                    run->memory.ran.rss_peak.value + run->memory.plan.arena_bytes / 4);
    as_profile_run_free(run);
    as_model_free(model);
}

/* From the memory pass on there are no more pages to be had. */
static void take_pages_away(void *user, enum as_profile_phase phase,
                            const struct as_latency_progress *now)
{
    struct rlimit limit = *(const struct rlimit *)user;

    (void)now;
    limit.rlim_cur = 1;
    if (phase == AS_PHASE_MEMORY)
        assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void a_failing_memory_pass_leaves_the_times(void **state)
{
    struct as_profile_options o = quick();
    struct assay_error err = {0};
    struct as_profile_run *run;
    struct as_model *model;
    struct rlimit limit;
    int rc;

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they need pages of their own */
#endif
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    assert_int_equal(as_model_open(&model, "zoo:mlp", NULL), 0);
    o.engine.infer.batch = 20000;
    o.latency = (struct as_latency_options){.runs = 2, .no_warmup = true};
    o.profile_runs = 2;
    o.progress = take_pages_away;
    o.user = &limit;
    rc = as_profile_run_new(&run, model, &o, &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_int_equal(rc, ASSAY_ERR_NOMEM);
    o.memory_may_fail = true;
    rc = as_profile_run_new(&run, model, &o, &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_int_equal(rc, ASSAY_OK);
    assert_int_equal(run->latency.n, 2);
    assert_true(run->profiled && !run->memory_counted);
    assert_int_equal(run->no_memory.code, ASSAY_ERR_NOMEM);
    assert_non_null(strstr(run->no_memory.msg, "memory"));
    assert_true(run->memory.plan.known && run->memory.plan.peak_bytes > 0);
    assert_int_equal(as_engine_run(run->engine, AS_RUN_PLAIN, NULL, &err), ASSAY_OK);
    as_profile_run_free(run);
    as_model_free(model);
}

static void costs_have_three_classes(void **state)
{
    (void)state;
    assert_string_equal(as_profile_cost_class(1.02), "low");
    assert_string_equal(as_profile_cost_class(2), "moderate");
    assert_string_equal(as_profile_cost_class(10), "high");
    assert_non_null(strstr(as_profile_cost_hint(50), "investigated"));
}

static void a_model_that_cannot_run_fails_with_its_reason(void **state)
{
    struct as_profile_options o = quick();
    struct as_profile_run *run;
    struct assay_error err = {0};
    struct as_model *model;

    (void)state;
    assert_int_equal(as_model_open(&model, "zoo:mlp", NULL), 0);
    o.engine.limit_bytes = 1000;
    assert_int_equal(as_profile_run_new(&run, model, &o, &err), ASSAY_ERR_LIMIT);
    assert_null(run);
    assert_true(err.msg[0] != '\0');
    as_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pass_leaves_its_numbers),
        cmocka_unit_test(passes_can_be_left_out),
        cmocka_unit_test(the_peak_is_that_of_running_the_model),
        cmocka_unit_test(counting_memory_takes_no_more_than_running),
        cmocka_unit_test(a_failing_memory_pass_leaves_the_times),
        cmocka_unit_test(costs_have_three_classes),
        cmocka_unit_test(a_model_that_cannot_run_fails_with_its_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
