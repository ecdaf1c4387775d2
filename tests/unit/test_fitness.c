/* tests/unit/test_fitness.c - each circumstance gives its finding, with evidence and advice. */
#include "peaks_kit.h"

#include "analyze/model/fitness.h"

struct machine {
    struct as_topology topology;
    struct as_system_load load;
    struct as_memory_headroom headroom;
    struct as_noise noise;
    struct as_peaks peaks;
};

/* A machine that nothing can be said against. */
static struct machine ideal(void)
{
    struct machine m = {
        .topology = {.n_sockets = 1,
                     .n_cores = 8,
                     .n_threads = 8,
                     .n_numa = 1,
                     .smt.value = 1,
                     .n_usable = 8,
                     .clock_source = "tsc",
                     .paranoid.value = 1,
                     .frequency = {.governor = "performance", .turbo = AS_TURBO_OFF}},
        .load.load_1.value = 0.1,
        .headroom.left.value = UINT64_C(8) << 30,
        .noise = {.n_pairs = 500, .median_share = 0.001, .resolvable_share = 0.0005},
        .peaks = kit_peaks(),
    };

    return m;
}

static void judge(struct as_fitness *f, const struct machine *m)
{
    as_fitness_judge(f, &(struct as_fitness_facts){.topology = &m->topology,
                                                   .load = &m->load,
                                                   .headroom = &m->headroom,
                                                   .noise = &m->noise,
                                                   .peaks = &m->peaks});
}

static const struct assay_finding *find(const struct as_fitness *f, const char *key)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->findings[i].rule, key) == 0)
            return &f->findings[i];
    return NULL;
}

static void expect(const struct machine *m, const char *key, double severity, const char *evidence)
{
    struct as_fitness f;
    const struct assay_finding *found;

    judge(&f, m);
    found = find(&f, key);
    assert_non_null(found);
    assert_float_equal(found->severity, severity, 0);
    assert_non_null(strstr(found->evidence, evidence));
    assert_true(found->finding[0] && (severity > AS_SEVERITY_OK) == (found->action != NULL));
}

static void an_ideal_machine_has_no_warning(void **state)
{
    struct machine m = ideal();
    struct as_fitness f;

    (void)state;
    judge(&f, &m);
    assert_int_equal(f.n_warnings, 0);
    assert_int_equal(f.n_notes, 0);
    assert_true(f.n >= 5);
}

static void load_is_counted_for_each_processor(void **state)
{
    struct machine m = ideal();

    (void)state;
    m.load.load_1.value = 3.9;
    expect(&m, "load", AS_SEVERITY_OK, "3.90");
    m.load.load_1.value = 4.1;
    expect(&m, "load", AS_SEVERITY_WARNING, "4.10");
    m.load.load_1.why = "nobody knows";
    expect(&m, "load", AS_SEVERITY_NOTE, "nobody knows");
}

static void noise_and_steal_are_named(void **state)
{
    struct machine m = ideal();

    (void)state;
    m.noise.median_share = 0.021;
    m.noise.events.switches_involuntary.value = 88;
    expect(&m, "noise", AS_SEVERITY_WARNING, "interrupted 88 times");
    m.topology.cpu.virtual_machine = true;
    expect(&m, "virtual_machine", AS_SEVERITY_NOTE, "a hypervisor");
    m.noise.shares.steal.value = 0.02;
    expect(&m, "steal", AS_SEVERITY_WARNING, "2.0 %");
    m.noise.shares.steal.why = "not told";
    expect(&m, "virtual_machine", AS_SEVERITY_NOTE, "a hypervisor");
}

static void governor_and_turbo_are_judged(void **state)
{
    struct machine m = ideal();

    (void)state;
    (void)snprintf(m.topology.frequency.governor, 32, "powersave");
    expect(&m, "governor", AS_SEVERITY_WARNING, "powersave");
    m.topology.frequency.governors_differ = true;
    expect(&m, "governor", AS_SEVERITY_WARNING, "powersave");
    m.topology.frequency.governor_why = "no cpufreq";
    expect(&m, "governor", AS_SEVERITY_NOTE, "no cpufreq");
    m = ideal();
    m.topology.frequency.turbo = AS_TURBO_ON;
    expect(&m, "turbo", AS_SEVERITY_NOTE, "temperature");
    m.topology.frequency.turbo = AS_TURBO_UNKNOWN;
    m.topology.frequency.turbo_why = "not told";
    expect(&m, "turbo", AS_SEVERITY_NOTE, "not told");
}

static void limits_are_judged(void **state)
{
    struct machine m = ideal();

    (void)state;
    m.topology.container.cpu_quota = (struct as_limit){.value = 1.5, .set = true};
    expect(&m, "cpu_quota", AS_SEVERITY_WARNING, "1.50");
    m.topology.container.throttled.value = 3;
    expect(&m, "throttled", AS_SEVERITY_WARNING, "3 periods");
    m.topology.n_usable = 1;
    expect(&m, "affinity", AS_SEVERITY_NOTE, "1 of 8");
    expect(&m, "one_processor", AS_SEVERITY_NOTE, "1 usable");
    m.headroom.left.value = 1000;
    expect(&m, "memory", AS_SEVERITY_WARNING, "1000 B");
    m.headroom.swap_used.value = UINT64_C(1) << 30;
    expect(&m, "swap", AS_SEVERITY_WARNING, "1.00 GiB");
}

static void shape_and_tools_are_judged(void **state)
{
    struct machine m = ideal();

    (void)state;
    m.topology.smt.value = 2;
    m.topology.n_numa = 2;
    m.topology.cpu.isa = 1u << AS_CPU_AMX_TILE;
    m.topology.paranoid.value = 3;
    (void)snprintf(m.topology.clock_source, 32, "hpet");
    expect(&m, "smt", AS_SEVERITY_NOTE, "8 threads on 8 cores");
    expect(&m, "numa", AS_SEVERITY_NOTE, "2 NUMA nodes");
    expect(&m, "amx", AS_SEVERITY_NOTE, "amx_tile");
    expect(&m, "perf_events", AS_SEVERITY_NOTE, "is 3");
    expect(&m, "clock", AS_SEVERITY_WARNING, "hpet");
    m.peaks.compute[AS_PEAK_F32][1].rate = m.peaks.compute[AS_PEAK_F32][0].rate;
    expect(&m, "scaling", AS_SEVERITY_WARNING, "1.00 times");
    m.peaks.place[AS_PEAK_DRAM].set_bytes = m.peaks.place[AS_PEAK_L3].size_bytes;
    expect(&m, "dram_set", AS_SEVERITY_NOTE, "32 MiB walked");
}

static void warnings_come_first_and_nothing_runs_over(void **state)
{
    struct machine m = ideal();
    struct as_fitness f;

    (void)state;
    m.load.load_1.value = 99;
    (void)snprintf(m.topology.frequency.governor, 32, "powersave");
    m.topology.frequency.turbo = AS_TURBO_ON;
    m.topology.cpu.isa = 1u << AS_CPU_AMX_TILE;
    judge(&f, &m);
    assert_int_equal(f.n_warnings, 2);
    for (size_t i = 1; i < f.n; i++)
        assert_true(f.findings[i - 1].severity >= f.findings[i].severity);
    assert_true(f.n_notes > 0 && f.n > f.n_warnings + f.n_notes);
}

static void what_was_not_looked_at_is_not_judged(void **state)
{
    struct machine m = ideal();
    struct as_fitness f;

    (void)state;
    as_fitness_judge(&f, &(struct as_fitness_facts){.topology = &m.topology});
    assert_null(find(&f, "load"));
    assert_null(find(&f, "noise"));
    assert_null(find(&f, "memory"));
    assert_non_null(find(&f, "governor"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ideal_machine_has_no_warning),
        cmocka_unit_test(load_is_counted_for_each_processor),
        cmocka_unit_test(noise_and_steal_are_named),
        cmocka_unit_test(governor_and_turbo_are_judged),
        cmocka_unit_test(limits_are_judged),
        cmocka_unit_test(shape_and_tools_are_judged),
        cmocka_unit_test(warnings_come_first_and_nothing_runs_over),
        cmocka_unit_test(what_was_not_looked_at_is_not_judged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
