/* tests/unit/test_latency.c - latency records: the specification's cases, both times, groups by
 * length. Known mean and deviation: numpy 1.24 mean() and std(). */
#include "stats_near.h"

#include <assay/latency.h>
#include <string.h>

#include "base/alloc.h"

static struct assay_latency_stats wall_us(const uint64_t *us, size_t n)
{
    struct assay_latency_record records[64] = {{0}};
    struct assay_latency_stats out;

    for (size_t i = 0; i < n; i++)
        records[i] = (struct assay_latency_record){.sample_id = i, .wall_time_ns = us[i] * 1000};
    assert_int_equal(assay_latency_summarize(records, n, ASSAY_LATENCY_WALL, &out, NULL), 0);
    return out;
}

static void ten_to_a_hundred_has_median_50_and_mean_55(void **state)
{
    const uint64_t us[] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
    struct assay_latency_stats s = wall_us(us, 10);

    (void)state;
    assert_int_equal(s.p50_us, 50);
    assert_int_equal(s.p95_us, 100);
    assert_int_equal(s.p99_us, 100);
    assert_near(s.mean_us, 55, 1e-15);
    assert_near(s.std_us, 28.722813232690143, 1e-14);
    assert_int_equal(s.n, 10);
    assert_false(s.p95_supported || s.p99_supported);
}

static void the_order_of_records_is_irrelevant(void **state)
{
    const uint64_t us[] = {100, 10, 50, 90, 20}, ordered[] = {10, 20, 50, 90, 100};
    struct assay_latency_stats a = wall_us(us, 5), b = wall_us(ordered, 5);

    (void)state;
    assert_int_equal(a.p50_us, 50);
    assert_true(a.mean_ns == b.mean_ns && a.std_ns == b.std_ns && a.p95_ns == b.p95_ns);
}

static void a_single_record_is_all_its_percentiles(void **state)
{
    const uint64_t us[] = {42};
    struct assay_latency_stats s = wall_us(us, 1);

    (void)state;
    assert_int_equal(s.p50_us, 42);
    assert_int_equal(s.p95_us, 42);
    assert_int_equal(s.p99_us, 42);
    assert_near(s.mean_us, 42, 0);
    assert_near(s.std_us, 0, 0);
    assert_int_equal(s.n, 1);
}

static void no_records_give_all_zero(void **state)
{
    struct assay_latency_stats s;

    (void)state;
    memset(&s, 0xff, sizeof s);
    assert_int_equal(assay_latency_summarize(NULL, 0, ASSAY_LATENCY_WALL, &s, NULL), 0);
    assert_int_equal(s.n, 0);
    assert_int_equal(s.p50_us + s.p95_us + s.p99_us + s.min_ns + s.max_ns, 0);
    assert_true(s.mean_us == 0 && s.std_us == 0 && s.mean_ns == 0 && s.std_ns == 0);
    assert_int_equal(assay_latency_groups(NULL, 0, NULL, 0, NULL), 0);
}

static void nanoseconds_are_kept(void **state)
{
    static const uint64_t ns[] = {1200, 900, 15000, 2200, 1750, 1750, 3100, 980, 1010, 4444};
    struct assay_latency_record records[10];
    struct assay_latency_stats s;

    (void)state;
    for (size_t i = 0; i < 10; i++)
        records[i] = (struct assay_latency_record){.wall_time_ns = ns[i]};
    assert_int_equal(assay_latency_summarize(records, 10, ASSAY_LATENCY_WALL, &s, NULL), 0);
    assert_int_equal(s.p50_ns, 1750);
    assert_int_equal(s.p50_us, 1);
    assert_int_equal(s.min_ns, 900);
    assert_int_equal(s.max_ns, 15000);
    assert_near(s.mean_ns, 3233.4, 1e-15);
    assert_near(s.std_ns, 4062.0915843934395, 1e-15);
    assert_near(s.mean_us, 3.2334, 1e-15);
}

static void kernel_times_are_those_that_were_measured(void **state)
{
    struct assay_latency_record records[] = {
        {.wall_time_ns = 9000, .kernel_time_ns = 5000, .kernel_available = true},
        {.wall_time_ns = 8000, .kernel_time_ns = 77, .kernel_available = false},
        {.wall_time_ns = 7000, .kernel_time_ns = 3000, .kernel_available = true},
    };
    struct assay_latency_stats s;

    (void)state;
    assert_int_equal(assay_latency_summarize(records, 3, ASSAY_LATENCY_KERNEL, &s, NULL), 0);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.p50_us, 3);
    assert_int_equal(s.min_ns, 3000);
    assert_near(s.mean_us, 4, 0);
    assert_int_equal(assay_latency_summarize(records, 3, ASSAY_LATENCY_WALL, &s, NULL), 0);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.p50_us, 8);
    assert_int_equal(assay_latency_summarize(records + 1, 1, ASSAY_LATENCY_KERNEL, &s, NULL), 0);
    assert_int_equal(s.n, 0);
}

static void tails_are_supported_from_200_and_1000_on(void **state)
{
    static struct assay_latency_record records[1000];
    static const struct {
        size_t n;
        bool p95, p99;
    } want[] = {{199, false, false}, {200, true, false}, {999, true, false}, {1000, true, true}};

    (void)state;
    for (size_t i = 0; i < N_OF(want); i++) {
        struct assay_latency_stats s;

        assert_int_equal(assay_latency_summarize(records, want[i].n, ASSAY_LATENCY_WALL, &s, NULL),
                         0);
        assert_true(s.p95_supported == want[i].p95 && s.p99_supported == want[i].p99);
    }
}

static void fill_records(struct assay_latency_record *records, size_t n)
{
    struct as_rng rng;

    as_rng_seed(&rng, 81);
    for (size_t i = 0; i < n; i++)
        records[i] = (struct assay_latency_record){
            .sample_id = i,
            .wall_time_ns = 1000 + as_rng_below(&rng, 1000000),
            .kernel_time_ns = as_rng_below(&rng, 1000),
            .kernel_available = as_rng_below(&rng, 3) > 0,
            .seq_len = (uint64_t)16 << as_rng_below(&rng, 6),
        };
}

static void check_group(const struct assay_latency_group *group,
                        const struct assay_latency_record *records, size_t n)
{
    static struct assay_latency_record part[3000];
    struct assay_latency_stats wall, kernel;
    size_t n_part = 0;

    for (size_t i = 0; i < n; i++) {
        if (records[i].seq_len == group->seq_len)
            part[n_part++] = records[i];
    }
    assert_int_equal(group->n_records, n_part);
    assert_int_equal(assay_latency_summarize(part, n_part, ASSAY_LATENCY_WALL, &wall, NULL), 0);
    assert_int_equal(assay_latency_summarize(part, n_part, ASSAY_LATENCY_KERNEL, &kernel, NULL), 0);
    assert_int_equal(group->wall.n, wall.n);
    assert_int_equal(group->wall.p99_ns, wall.p99_ns);
    assert_true(group->wall.mean_ns == wall.mean_ns && group->wall.std_ns == wall.std_ns);
    assert_int_equal(group->kernel.n, kernel.n);
    assert_int_equal(group->kernel.p50_ns, kernel.p50_ns);
    assert_true(group->kernel.mean_ns == kernel.mean_ns);
}

static void a_group_is_the_stats_of_its_records(void **state)
{
    static struct assay_latency_record records[3000];
    struct assay_latency_group groups[6];

    (void)state;
    fill_records(records, N_OF(records));
    assert_int_equal(assay_latency_groups(records, N_OF(records), groups, 6, NULL), 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(groups[i].seq_len, 16 << i);
        check_group(&groups[i], records, N_OF(records));
    }
}

static void more_groups_than_room_are_counted(void **state)
{
    static struct assay_latency_record records[3000];
    struct assay_latency_group groups[3];

    (void)state;
    fill_records(records, N_OF(records));
    memset(&groups[2], 0x5a, sizeof groups[2]);
    assert_int_equal(assay_latency_groups(records, N_OF(records), NULL, 0, NULL), 6);
    assert_int_equal(assay_latency_groups(records, N_OF(records), groups, 2, NULL), 6);
    check_group(&groups[0], records, N_OF(records));
    check_group(&groups[1], records, N_OF(records));
    assert_int_equal(groups[2].seq_len, 0x5a5a5a5a5a5a5a5a);
}

static void running_out_of_memory_is_told(void **state)
{
    struct assay_latency_record record = {.wall_time_ns = 1};
    struct assay_latency_group group;
    struct assay_latency_stats s;

    (void)state;
#ifdef ASSAY_FAULTS
    as_alloc_fail_at(1, 1);
    assert_int_equal(assay_latency_summarize(&record, 1, ASSAY_LATENCY_WALL, &s, NULL),
                     ASSAY_ERR_NOMEM);
    assert_int_equal(assay_latency_groups(&record, 1, &group, 1, NULL), ASSAY_ERR_NOMEM);
    as_alloc_fail_at(0, 0);
#endif
    assert_int_equal(assay_latency_summarize(&record, 1, ASSAY_LATENCY_WALL, &s, NULL), 0);
    assert_int_equal(assay_latency_groups(&record, 1, &group, 1, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_to_a_hundred_has_median_50_and_mean_55),
        cmocka_unit_test(the_order_of_records_is_irrelevant),
        cmocka_unit_test(a_single_record_is_all_its_percentiles),
        cmocka_unit_test(no_records_give_all_zero),
        cmocka_unit_test(nanoseconds_are_kept),
        cmocka_unit_test(kernel_times_are_those_that_were_measured),
        cmocka_unit_test(tails_are_supported_from_200_and_1000_on),
        cmocka_unit_test(a_group_is_the_stats_of_its_records),
        cmocka_unit_test(more_groups_than_room_are_counted),
        cmocka_unit_test(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
