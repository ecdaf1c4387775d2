/* tests/unit/test_topology.c - prepared machines, and this one against what the system says. */
#include "root_kit.h"

#include <sched.h>

#include "probe/system/topology.h"

static struct as_topology read_at(const struct kit_root *root, const char *synthetic)
{
    struct as_topology_source source = {.root = root->path, .synthetic = synthetic};
    struct as_topology t;

    assert_int_equal(as_topology_read(&t, &source, NULL), ASSAY_OK);
    return t;
}

static void a_described_machine_is_counted(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_topology t =
        read_at(&root, "pack:2 numa:1 l3:1(size=33554432) l2:4(size=1048576) l1d:1(size=49152) "
                       "core:1 pu:2");
    const struct as_cache *l3 = as_topology_cache(&t, 3);

    (void)state;
    assert_int_equal(t.n_sockets, 2);
    assert_int_equal(t.n_numa, 2);
    assert_int_equal(t.n_cores, 8);
    assert_int_equal(t.n_threads, 16);
    assert_null(t.smt.why);
    assert_int_equal(t.smt.value, 2);
    assert_non_null(l3);
    assert_int_equal(l3->size_bytes, 33554432);
    assert_int_equal(l3->n, 2);
    assert_int_equal(l3->shared_by, 8);
    assert_int_equal(as_topology_cache(&t, 1)->size_bytes, 49152);
    assert_int_equal(as_topology_cache(&t, 1)->kind, AS_CACHE_DATA);
    assert_null(as_topology_cache(&t, 4));
    kit_root_fini(&root);
}

static void what_is_not_told_has_a_reason(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_topology t = read_at(&root, "pu:1");

    (void)state;
    assert_string_equal(t.cpu.model, "");
    assert_false(t.cpu.flags_known);
    assert_int_equal(t.cpu.isa, 0);
    assert_non_null(t.memory_bytes.why);
    assert_non_null(t.caches_why);
    assert_non_null(t.smt.why);
    assert_non_null(t.frequency.governor_why);
    assert_non_null(t.frequency.turbo_why);
    assert_int_equal(t.frequency.turbo, AS_TURBO_UNKNOWN);
    assert_non_null(t.frequency.max_hz.why);
    assert_non_null(t.paranoid.why);
    assert_int_equal(t.n_cores, 1);
    kit_root_fini(&root);
}

static void the_processor_is_read_from_cpuinfo(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_topology t;

    (void)state;
    kit_root_put(&root, "/proc/cpuinfo",
                 "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\n"
                 "model name\t: A processor\nstepping\t: 2\nmicrocode\t: 0x1\n"
                 "flags\t\t: fpu avx2 fma avx512f hypervisor avx512_vnni_not amx_tile\n\n"
                 "processor\t: 1\nmodel name\t: Another\n");
    kit_root_put(&root, "/proc/meminfo", "MemTotal:       24682416 kB\n");
    kit_root_put(&root, "/proc/sys/kernel/osrelease", "6.1.0-test\n");
    kit_root_put(&root, "/proc/sys/kernel/perf_event_paranoid", "3\n");
    kit_root_put(&root, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    t = read_at(&root, "pu:2");
    assert_string_equal(t.cpu.model, "A processor");
    assert_string_equal(t.cpu.model_number, "207");
    assert_true(as_cpu_has(&t.cpu, AS_CPU_AVX2));
    assert_true(as_cpu_has(&t.cpu, AS_CPU_AMX_TILE));
    assert_false(as_cpu_has(&t.cpu, AS_CPU_AVX512_VNNI)); /* only a longer word has it */
    assert_false(as_cpu_has(&t.cpu, AS_CPU_AVX));
    assert_true(t.cpu.virtual_machine);
    assert_true(t.memory_bytes.value == UINT64_C(24682416) * 1024);
    assert_string_equal(t.kernel, "6.1.0-test");
    assert_int_equal(t.paranoid.value, 3);
    assert_string_equal(t.huge_pages, "madvise");
    kit_root_fini(&root);
}

static void governor_and_turbo_are_read_from_sysfs(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_topology t;

    (void)state;
    kit_root_put(&root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    kit_root_put(&root, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
    kit_root_put(&root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "3500000\n");
    kit_root_put(&root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq",
                 "18446744073709551615\n");
    kit_root_put(&root, "/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    t = read_at(&root, "pu:2");
    assert_string_equal(t.frequency.governor, "performance");
    assert_true(t.frequency.governors_differ);
    assert_int_equal(t.frequency.turbo, AS_TURBO_OFF);
    assert_true(t.frequency.max_hz.value == UINT64_C(3500000000));
    assert_non_null(t.frequency.min_hz.why); /* would run over as hertz */
    kit_root_put(&root, "/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
    assert_int_equal(read_at(&root, "pu:1").frequency.turbo, AS_TURBO_ON);
    assert_false(read_at(&root, "pu:1").frequency.governors_differ);
    kit_root_fini(&root);
}

static void a_quota_limits_the_threads(void **state)
{
    struct as_topology t = {.n_usable = 8};

    (void)state;
    assert_int_equal(as_topology_threads(&t), 8);
    t.container.cpu_quota = (struct as_limit){.value = 2.9, .set = true};
    assert_int_equal(as_topology_threads(&t), 2);
    t.container.cpu_quota.value = 0.2;
    assert_int_equal(as_topology_threads(&t), 1);
    t.container.cpu_quota.value = 100;
    assert_int_equal(as_topology_threads(&t), 8);
}

static void this_machine_agrees_with_the_system(void **state)
{
    struct as_topology t;
    cpu_set_t set;
    int cpu;

    (void)state;
    assert_int_equal(as_topology_read(&t, NULL, NULL), ASSAY_OK);
    assert_true(t.n_cores >= 1 && t.n_threads >= t.n_cores);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    assert_int_equal(t.n_usable, CPU_COUNT(&set));
    for (unsigned i = 0; (cpu = as_topology_cpu_at(&t, i)) >= 0; i++)
        assert_true(CPU_ISSET((size_t)cpu, &set));
    assert_int_equal(as_topology_cpu_at(&t, t.n_usable), -1);
}

static void a_fingerprint_changes_with_what_matters(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_topology t = read_at(&root, "l2:1(size=1048576) pu:2");
    char a[65], b[65];

    (void)state;
    assert_int_equal(as_topology_fingerprint(&t, 1, a, NULL), ASSAY_OK);
    assert_int_equal(strspn(a, "0123456789abcdef"), 64);
    assert_int_equal(as_topology_fingerprint(&t, 1, b, NULL), ASSAY_OK);
    assert_string_equal(a, b);
    assert_int_equal(as_topology_fingerprint(&t, 2, b, NULL), ASSAY_OK);
    assert_string_not_equal(a, b);
    t.caches[0].size_bytes++;
    assert_int_equal(as_topology_fingerprint(&t, 1, b, NULL), ASSAY_OK);
    assert_string_not_equal(a, b);
    t.caches[0].size_bytes--;
    CPU_SET_S(4000, sizeof t.usable, t.usable);
    assert_int_equal(as_topology_fingerprint(&t, 1, b, NULL), ASSAY_OK);
    assert_string_not_equal(a, b);
    kit_root_fini(&root);
}

static void a_description_that_is_none_is_refused(void **state)
{
    struct as_topology_source source = {.synthetic = "no such machine"};
    struct as_topology t;
    struct assay_error err;

    (void)state;
    assert_int_equal(as_topology_read(&t, &source, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "no such machine"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_described_machine_is_counted),
        cmocka_unit_test(what_is_not_told_has_a_reason),
        cmocka_unit_test(the_processor_is_read_from_cpuinfo),
        cmocka_unit_test(governor_and_turbo_are_read_from_sysfs),
        cmocka_unit_test(a_quota_limits_the_threads),
        cmocka_unit_test(this_machine_agrees_with_the_system),
        cmocka_unit_test(a_fingerprint_changes_with_what_matters),
        cmocka_unit_test(a_description_that_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
