/* Where the time of a network goes: what is made of times of layers that are given by hand. */
#include "unit.h"

#include <math.h>

#include "analyze/profile.h"
#include "format/model_file.h"

/* To a part in a billion. */
static void assert_near(double is, double should)
{
    assert_true(fabs(is - should) <= 1e-9 * fabs(should));
}

struct made {
    struct as_model *model;
    struct as_profile_run *run;
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

static void analyse(struct made *m)
{
    struct as_profile_inputs in = {.run = m->run, .model = m->model, .why_no_peaks = "not asked"};
    struct assay_error err = {0};

    if (as_profile_new(&m->profile, &in, &err) < 0)
        fail_msg("%s", err.msg);
}

static void drop(struct made *m)
{
    as_profile_free(m->profile);
    as_profile_run_free(m->run);
    as_model_free(m->model);
}

/* Every step takes 1 us and nothing is between them; in each run another one stalls for 50 us. */
static void layers_add_up_though_each_run_stalls_elsewhere(void **state)
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
    analyse(&m);
    assert_int_equal(m.profile->n_layers, pass->n_steps);
    for (size_t i = 0; i < m.profile->n_layers; i++) {
        sum += m.profile->layers[i].self_ns;
        shares += m.profile->layers[i].share;
        assert_near(m.profile->layers[i].share, 1.0 / (double)pass->n_steps);
    }
    for (size_t i = 0; i < m.profile->n_ops; i++)
        groups += m.profile->ops[i].self_ns;
    assert_near(sum, whole);
    assert_near(groups, whole);
    assert_near(shares, 1);
    assert_near(m.profile->sum_ns, whole);
    assert_near(m.profile->covered_share, 1);
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
        double speed = r % 2 ? 1 : 3; /* a slower run is slower in all its layers */

        pass->run_ns[r] = 0;
        for (size_t s = 0; s < pass->n_steps; s++) {
            pass->self_ns[s * pass->n_runs + r] = (uint64_t)(900 * (s + 1)) * (uint64_t)speed;
            pass->calls[s * pass->n_runs + r] = 1;
            pass->run_ns[r] += (double)(1000 * (s + 1)) * speed;
        }
    }
    pass->profiled.summary.median = pass->run_ns[1];
    analyse(&m);
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
    analyse(&m);
    assert_true(m.profile->memory.counted && !m.profile->memory.why);
    as_profile_free(m.profile);
    m.run->memory_counted = false;
    m.run->memory.counted = (struct as_mem){0};
    m.run->no_memory = (struct assay_error){.code = ASSAY_ERR_NOMEM, .msg = "there was none"};
    analyse(&m);
    assert_false(m.profile->memory.counted);
    assert_string_equal(m.profile->memory.why, "there was none");
    assert_true(m.profile->memory.held_bytes >= UINT64_C(4) * 269322);
    assert_true(m.profile->memory.planned && m.profile->memory.planned_bytes > 0);
    assert_true(isnan(m.profile->memory.efficiency));
    assert_true(m.profile->n_layers > 0 && !m.profile->layers[0].live_known);
    drop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_add_up_though_each_run_stalls_elsewhere),
        cmocka_unit_test(what_no_layer_explains_stays_missing),
        cmocka_unit_test(memory_that_was_not_counted_is_not_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
