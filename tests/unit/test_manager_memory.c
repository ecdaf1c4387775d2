/* tests/unit/test_manager_memory.c - what a layer takes and gives back again is seen: by a thread
 * that reads memory meanwhile, and by the kernel. */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/manager/manager_internal.h"
#include "manager_kit.h"
#include "report/run/show.h"

#define BLOCK    ((size_t)64 << 20)
#define BLOCK_MB 64.0

static uint64_t readings(struct assay_manager *m)
{
    struct as_memory_profile_summary s;

    as_memory_profile_summary(m->memory, &s);
    return s.samples;
}

/* Holds a block until the thread has read memory twice more; at once without one. */
static void run_layer(struct assay_manager *m, bool sampled)
{
    struct assay_manager_span span = assay_manager_layer_begin(m, "transient");
    char *p = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t from;

    assert_ptr_not_equal(p, MAP_FAILED);
    memset(p, 1, BLOCK);
    from = sampled ? readings(m) : 0;
    while (sampled && readings(m) < from + 2)
        sched_yield();
    munmap(p, BLOCK);
    assert_int_equal(assay_manager_layer_end(m, &span, NULL, 0, NULL), ASSAY_OK);
}

static struct assay_manager *manager(uint64_t sample_us)
{
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    struct assay_manager *m;

    options.memory_sample_us = sample_us;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
    return m;
}

static void a_sampler_sees_the_peak_within_a_layer(void **state)
{
    struct assay_manager *m = manager(1000);
    const struct as_json_value *memory, *snapshot;
    struct kit_tree tree;

    (void)state;
    run_layer(m, true);
    assert_int_equal(assay_manager_end(m, NULL), 0);
    tree = kit_report(m);
    memory = as_json_get(tree.root, "memory_profiling");
    snapshot = as_json_get(memory, "snapshots")->first;
    assert_true(as_json_number(as_json_get(memory, "peak_memory_mb")) > BLOCK_MB);
    assert_true(as_json_number(as_json_get(snapshot, "cpu_memory_peak_mb")) > BLOCK_MB);
    assert_true(as_json_number(as_json_get(snapshot, "peak_samples")) >= 2);
    assert_true(as_json_number(as_json_get(memory, "sampler_readings")) >= 2);
    kit_forget(&tree);
    /* And again: the thread of the last session is gone. */
    assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
    run_layer(m, true);
    assay_manager_free(m);
}

static void the_kernels_peak_is_shown_where_it_is_higher(void **state)
{
    static const struct as_term term = {.width = 80};
    struct as_show show = AS_SHOW_INIT;
    struct assay_manager *m = manager(0);
    struct as_run *run;
    struct as_out out;

    (void)state;
    run_layer(m, false);
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assert_int_equal(assay_manager_export(m, "manager_peak.assay", NULL), ASSAY_OK);
    assert_int_equal(as_run_open(&run, "manager_peak.assay", NULL), ASSAY_OK);
    (void)unlink("manager_peak.assay");
    assert_int_equal(as_out_memory(&out, NULL), 0);
    assert_int_equal(as_show_page(run, &show, &out, &term, NULL), ASSAY_OK);
    assert_non_null(strstr(as_out_get(&out, NULL), "the kernel saw a peak of"));
    as_out_drop(&out);
    assert_int_equal(as_out_memory(&out, NULL), 0);
    show.classic = true;
    assert_int_equal(as_show_page(run, &show, &out, &term, NULL), ASSAY_OK);
    assert_non_null(strstr(as_out_get(&out, NULL), "Peak RSS (kernel)"));
    as_out_drop(&out);
    as_run_close(run);
    assay_manager_free(m);
}

static void the_interval_is_checked(void **state)
{
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    struct assay_manager *m;

    (void)state;
    options.memory_sample_us = 999;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_ERR_USAGE);
    options.memory_sample_us = 60000001;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_ERR_USAGE);
    /* A program built before there was such an option asks for none. */
    options.size = offsetof(struct assay_manager_options, memory_sample_us);
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_OK);
    assay_manager_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: the kernel's peak is of the whole process. */
        cmocka_unit_test(the_kernels_peak_is_shown_where_it_is_higher),
        cmocka_unit_test(a_sampler_sees_the_peak_within_a_layer),
        cmocka_unit_test(the_interval_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
