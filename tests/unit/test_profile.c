/* Where the time of a network goes: what is made of times of layers that are given by hand. */
#include "unit.h"

#include <math.h>

#include "analyze/model/profile_internal.h"
#include "format/model_file.h"

/* To a part in a billion. */
static void assert_near(double is, double should)
{
    assert_true(fabs(is - should) <= 1e-9 * fabs(should));
}

struct made {
    struct as_model *model;
    struct as_profile_run *run;
    struct as_profile_data data;
    struct as_arena arena;
    struct as_profile *profile;
};

/* A real run of a small network, whose times are then written over. */
static void make(struct made *m, unsigned runs)
{
    struct as_profile_options o = {
        .latency = {.runs = 3, .no_warmup = true, .time_s = 0.01},
        .profile_runs = runs,
    };
    struct assay_error err = {0};

    *m = (struct made){0};
    assert_int_equal(as_model_open(&m->model, "zoo:mlp", &err), 0);
    if (as_profile_run_new(&m->run, m->model, &o, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(m->run->profile.n_runs, runs);
    assert_true(m->run->profile.n_steps >= 3);
}

static void analyze(struct made *m)
{
    struct assay_error err = {0};

    if (as_profile_data_init(&m->data, m->run, m->model, &m->arena, &err) < 0)
        fail_msg("%s", err.msg);
    m->data.why_no_peaks = "not asked";
    if (as_profile_new(&m->profile, &m->data, 0, &err) < 0)
        fail_msg("%s", err.msg);
}

static void drop(struct made *m)
{
    as_profile_free(m->profile);
    as_arena_fini(&m->arena);
    as_profile_run_free(m->run);
    as_model_free(m->model);
}

/* Every step takes 1 us; in each run another one stalls for 50 us. No layer's p50 has a stall in
 * it, so their sum leaves the stalls out, and says so. */
static void stalls_that_hit_other_layers_each_time_are_in_no_layer(void **state)
{
    struct made m;
    struct as_profile_pass *pass;
    double sum = 0, shares = 0, whole, groups = 0;

    (void)state;
    make(&m, 30);
    pass = &m.run->profile;
    for (size_t r = 0; r < pass->n_runs; r++) {
        for (size_t s = 0; s < pass->n_steps; s++) {
            pass->self_ns[s * pass->n_runs + r] = r % pass->n_steps == s ? 51000 : 1000;
            pass->calls[s * pass->n_runs + r] = 1;
        }
        pass->run_ns[r] = (double)(50000 + 1000 * pass->n_steps);
    }
    whole = pass->run_ns[0];
    pass->profiled.summary.median = whole;
    analyze(&m);
    assert_int_equal(m.profile->n_layers, pass->n_steps);
    for (size_t i = 0; i < m.profile->n_layers; i++) {
        sum += m.profile->layers[i].self_ns;
        shares += m.profile->layers[i].share;
        assert_near(m.profile->layers[i].share, 1.0 / (double)pass->n_steps);
    }
    for (size_t i = 0; i < m.profile->n_ops; i++)
        groups += m.profile->ops[i].self_ns;
    assert_near(sum, 1000.0 * (double)pass->n_steps);
    assert_near(groups, sum);
    assert_near(shares, 1);
    assert_near(m.profile->sum_ns, sum);
    assert_near(m.profile->covered_share, sum / whole);
    drop(&m);
}

/* A tenth of each run is in no layer: that stays missing, and is told. */
static void what_no_layer_explains_stays_missing(void **state)
{
    struct made m;
    struct as_profile_pass *pass;
    double sum = 0;

    (void)state;
    make(&m, 30);
    pass = &m.run->profile;
    for (size_t r = 0; r < pass->n_runs; r++) {
        double speed = r % 3 ? 1 : 3; /* a slower run is slower in all its layers */

        pass->run_ns[r] = 0;
        for (size_t s = 0; s < pass->n_steps; s++) {
            pass->self_ns[s * pass->n_runs + r] = (uint64_t)(900 * (s + 1)) * (uint64_t)speed;
            pass->calls[s * pass->n_runs + r] = 1;
            pass->run_ns[r] += (double)(1000 * (s + 1)) * speed;
        }
    }
    pass->profiled.summary.median = pass->run_ns[1];
    analyze(&m);
    for (size_t i = 0; i < m.profile->n_layers; i++) {
        assert_near(m.profile->layers[i].self_ns, 900.0 * (double)(i + 1));
        sum += m.profile->layers[i].self_ns;
    }
    assert_near(m.profile->covered_share, 0.9);
    assert_near(sum, 0.9 * pass->run_ns[1]);
    drop(&m);
}

static void memory_that_was_not_counted_is_not_zero(void **state)
{
    struct made m;

    (void)state;
    make(&m, 10);
    analyze(&m);
    assert_true(m.profile->memory.counted && !m.profile->memory.why);
    as_profile_free(m.profile);
    m.run->memory_counted = false;
    m.run->memory.counted = (struct as_mem){0};
    m.run->no_memory = (struct assay_error){.code = ASSAY_ERR_NOMEM, .msg = "there was none"};
    analyze(&m);
    assert_false(m.profile->memory.counted);
    assert_string_equal(m.profile->memory.why, "there was none");
    assert_true(m.profile->memory.held_bytes >= UINT64_C(4) * 269322);
    assert_true(m.profile->memory.planned && m.profile->memory.planned_bytes > 0);
    assert_true(isnan(m.profile->memory.efficiency));
    assert_true(m.profile->n_layers > 0 && !m.profile->data->memory_counted);
    drop(&m);
}

/* ---- advice, from layers and peaks made by hand ---- */

struct by_hand {
    struct as_profile p;
    struct as_profile_layer layers[3];
    struct as_profile_step steps[3];
    uint32_t by_time[3];
    struct as_profile_data data;
};

/* Two threads have twice the peak, and no more bandwidth. */
static void make_by_hand(struct by_hand *h)
{
    *h = (struct by_hand){.data = {.peaks = {.n_counts = 2, .threads = {1, 2}}},
                          .by_time = {0, 1, 2}};
    for (int t = 0; t < AS_PEAK_TYPE_COUNT; t++)
        for (int c = 0; c < 2; c++)
            h->data.peaks.compute[t][c].rate = 1e11 * (c + 1);
    for (int l = 0; l < AS_PEAK_LEVEL_COUNT; l++)
        for (int a = 0; a < AS_PEAK_ACCESS_COUNT; a++)
            for (int c = 0; c < 2; c++)
                h->data.peaks.bandwidth[l][a][c].rate = 1e10;
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"first", "second", "third"};

        h->steps[i] = (struct as_profile_step){.name = names[i],
                                               .op = "MatMul",
                                               .kernel = "jit:avx2",
                                               .fused = "",
                                               .calls = 1,
                                               .counted = true,
                                               .macs = 1,
                                               .flops = 2,
                                               .bytes = 4};
        h->layers[i] =
            (struct as_profile_layer){.step = &h->steps[i],
                                      .self_ns = 1e6,
                                      .share = 1.0 / 3,
                                      .roof = {.bound = AS_BOUND_COMPUTE, .roof_fraction = 0.9}};
    }
    h->data.threads = 1;
    h->data.latency.steady = true;
    h->data.model.batch = 1;
    h->p = (struct as_profile){.data = &h->data,
                               .peaks = &h->data.peaks,
                               .layers = h->layers,
                               .n_layers = 3,
                               .by_time = h->by_time,
                               .sum_ns = 3e6};
}

static const struct assay_finding *advice_of(const struct by_hand *h, const char *id)
{
    for (size_t i = 0; i < h->p.n_findings; i++)
        if (strcmp(h->p.findings[i].rule, id) == 0)
            return &h->p.findings[i];
    return NULL;
}

static void threads_are_advised_for_what_they_can_shorten(void **state)
{
    struct by_hand h;
    const struct assay_finding *a;

    (void)state;
    make_by_hand(&h);
    h.layers[1].roof.bound = AS_BOUND_OVERHEAD;
    h.layers[2].roof.bound = AS_BOUND_MEMORY; /* whose bandwidth does not grow */
    as_profile_recommend(&h.p);
    a = advice_of(&h, "more-threads");
    assert_non_null(a);
    assert_near(a->expected_gain, 1.0 / 6);
    as_arena_fini(&h.p.arena);

    make_by_hand(&h);
    for (int i = 0; i < 3; i++)
        h.layers[i].roof.bound = i == 0 ? AS_BOUND_MEMORY : AS_BOUND_OVERHEAD;
    as_profile_recommend(&h.p);
    assert_null(advice_of(&h, "more-threads"));
    as_arena_fini(&h.p.arena);

    make_by_hand(&h); /* too short to be shared out */
    for (int i = 0; i < 3; i++)
        h.layers[i].self_ns = 15000;
    as_profile_recommend(&h.p);
    assert_null(advice_of(&h, "more-threads"));
    as_arena_fini(&h.p.arena);
}

static void a_product_in_plain_c_is_named_as_such_first(void **state)
{
    struct by_hand h;

    (void)state;
    make_by_hand(&h);
    h.steps[0].kernel = "plain C";
    h.layers[0].roof = (struct as_roof){.bound = AS_BOUND_OVERHEAD, .roof_fraction = 0.01};
    h.layers[0].share = 0.9;
    h.layers[1].share = h.layers[2].share = 0.05;
    h.p.plain_share = 0.9;
    h.p.bound_share[AS_BOUND_OVERHEAD] = 0.9;
    as_profile_recommend(&h.p);
    assert_true(h.p.n_findings > 0);
    assert_string_equal(h.p.findings[0].rule, "plain-products");
    assert_near(h.p.findings[0].expected_gain, 0.9 * (1 - 3 * 0.01));
    assert_null(advice_of(&h, "far-below-roof"));
    assert_null(advice_of(&h, "overhead"));
    assert_null(advice_of(&h, "plain-kernels"));
    as_arena_fini(&h.p.arena);
}

/* Most of the time in steps far below every roof, though the whole reaches a third of its roof. */
static void the_verdict_is_what_bounds_most_of_the_time(void **state)
{
    const double shares[AS_BOUND_COUNT] = {[AS_BOUND_COMPUTE] = 0.41, [AS_BOUND_OVERHEAD] = 0.59};
    const double none[AS_BOUND_COUNT] = {0};

    (void)state;
    assert_int_equal(as_profile_bound(shares), AS_BOUND_OVERHEAD);
    assert_int_equal(as_profile_bound(none), AS_BOUND_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stalls_that_hit_other_layers_each_time_are_in_no_layer),
        cmocka_unit_test(what_no_layer_explains_stays_missing),
        cmocka_unit_test(memory_that_was_not_counted_is_not_zero),
        cmocka_unit_test(threads_are_advised_for_what_they_can_shorten),
        cmocka_unit_test(a_product_in_plain_c_is_named_as_such_first),
        cmocka_unit_test(the_verdict_is_what_bounds_most_of_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
