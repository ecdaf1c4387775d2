/* The study of operations: classes from made-up peaks, and one small real run. */
#include "peaks_kit.h"
#include "study_kit.h"

#include "report/machine/machine_report.h"

/* Peaks of one rate for computing and one for moving, wherever the bytes lie. */
static struct as_peaks flat_peaks(double flops, double bytes)
{
    struct as_peaks p = kit_peaks();

    for (unsigned i = 0; i < p.n_counts; i++) {
        p.compute[AS_PEAK_F32][i].rate = flops;
        for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++)
            for (int access = 0; access < AS_PEAK_ACCESS_COUNT; access++)
                p.bandwidth[level][access][i].rate = bytes;
    }
    return p;
}

/* Every operation does one FLOP a byte, of 1e6 each, in so many seconds. */
static struct as_operation_run even_run(double seconds)
{
    struct as_operation_run run = {.size = 256, .threads = 1, .rounds = 1};

    for (int i = 0; i < AS_OPERATION_COUNT; i++) {
        run.points[i] = (struct as_operation_point){.operation = (enum as_operation)i,
                                                    .shape = "32x256",
                                                    .kernel = "made up",
                                                    .flops = 1000000,
                                                    .executed_flops = 1000000,
                                                    .bytes = 1000000,
                                                    .held_bytes = 1000000};
        run.points[i].figures.summary.median = seconds * 1e9;
        run.points[i].figures.median.interval =
            (struct as_interval){.low = seconds * 0.9e9, .high = seconds * 1.1e9};
    }
    run.call.figures.summary.median = 1;
    return run;
}

static void classes_follow_the_peaks(void **state)
{
    struct as_peaks slow_memory = flat_peaks(100e9, 10e9),
                    slow_arithmetic = flat_peaks(10e9, 100e9);
    struct as_operation_run run = even_run(2e-4); /* half of what the slower roof allows */
    struct as_operations o;

    (void)state;
    as_operations_judge(&o, &run, &slow_memory);
    assert_int_equal(o.n_of[AS_BOUND_MEMORY], AS_OPERATION_COUNT);
    assert_int_equal(o.priority, AS_BOUND_MEMORY);
    for (int i = 0; i < AS_OPERATION_COUNT; i++) {
        assert_string_equal(o.rows[i].class_name, "memory-bound");
        assert_true(o.rows[i].roof.intensity < o.rows[i].ridge);
        assert_float_equal(o.rows[i].roof.roof_fraction, 0.5, 1e-9);
        assert_float_equal(o.rows[i].gflops_per_second, 5, 1e-9);
    }
    as_operations_judge(&o, &run, &slow_arithmetic);
    assert_int_equal(o.n_of[AS_BOUND_COMPUTE], AS_OPERATION_COUNT);
    assert_int_equal(o.priority, AS_BOUND_COMPUTE);
    for (int i = 0; i < AS_OPERATION_COUNT; i++) {
        assert_string_equal(o.rows[i].class_name, "compute-bound");
        assert_true(o.rows[i].roof.intensity > o.rows[i].ridge);
    }
}

static void what_neither_roof_explains_is_overhead(void **state)
{
    struct as_peaks peaks = flat_peaks(100e9, 10e9);
    struct as_operation_run run = even_run(1e-2); /* a hundredth of the roof */
    struct as_operations o;

    (void)state;
    as_operations_judge(&o, &run, &peaks);
    assert_int_equal(o.n_of[AS_BOUND_OVERHEAD], AS_OPERATION_COUNT);
    assert_int_equal(o.priority, AS_BOUND_OVERHEAD);
    assert_string_equal(o.rows[AS_OPERATION_MATMUL].focus, "algorithms");
    assert_string_equal(o.rows[AS_OPERATION_REDUCTION].focus, "parallelization");
    /* The same time, but a call takes most of it by itself. */
    run.call.figures.summary.median = 0.6e7;
    as_operations_judge(&o, &run, &peaks);
    for (int i = 0; i < AS_OPERATION_COUNT; i++)
        assert_string_equal(o.rows[i].focus, "batching");
}

static void the_focus_is_that_of_class_and_kind(void **state)
{
    static const struct {
        enum as_operation operation;
        const char *memory, *compute;
    } wanted[] = {
        {AS_OPERATION_ELEMENTWISE, "data_locality", "vectorization"},
        {AS_OPERATION_MATMUL, "data_locality", "algorithms"},
        {AS_OPERATION_REDUCTION, "parallelization", "parallelization"},
        {AS_OPERATION_ATTENTION, "flash_attention", "algorithms"},
        {AS_OPERATION_SOFTMAX, "fusion", "vectorization"},
        {AS_OPERATION_EMBEDDING, "caching", "caching"},
    };
    struct as_peaks slow_memory = flat_peaks(100e9, 10e9),
                    slow_arithmetic = flat_peaks(10e9, 100e9);
    struct as_operation_run run = even_run(2e-4);
    struct as_operations memory, compute;

    (void)state;
    as_operations_judge(&memory, &run, &slow_memory);
    as_operations_judge(&compute, &run, &slow_arithmetic);
    for (size_t i = 0; i < UNIT_COUNT(wanted); i++) {
        assert_string_equal(memory.rows[wanted[i].operation].focus, wanted[i].memory);
        assert_string_equal(compute.rows[wanted[i].operation].focus, wanted[i].compute);
    }
}

/* GEMM calls compute more a byte; the transpose computes nothing and has no rate. */
static void extremes_and_priorities_follow_the_figures(void **state)
{
    struct as_peaks peaks = flat_peaks(100e9, 10e9);
    struct as_operation_run run = even_run(2e-4);
    struct as_operations o;

    (void)state;
    run.points[AS_OPERATION_MATMUL].flops = 18000000;
    run.points[AS_OPERATION_MATMUL].executed_flops = 18000000;
    run.points[AS_OPERATION_TRANSPOSE].flops = 0;
    run.points[AS_OPERATION_TRANSPOSE].executed_flops = 0;
    run.points[AS_OPERATION_SOFTMAX].figures.summary.median = 3e5;
    as_operations_judge(&o, &run, &peaks);
    assert_int_equal(o.most_gflops, AS_OPERATION_MATMUL);
    assert_int_equal(o.most_roof, AS_OPERATION_MATMUL);
    assert_int_equal(o.least_gflops, AS_OPERATION_SOFTMAX);
    assert_int_equal(o.least_roof, AS_OPERATION_SOFTMAX);
    assert_int_equal(o.n_of[AS_BOUND_COMPUTE], 1);
    assert_int_equal(o.n_of[AS_BOUND_MEMORY], AS_OPERATION_COUNT - 1);
    assert_int_equal(o.priority, AS_BOUND_MEMORY);
    assert_non_null(strstr(o.priority_text, "locality"));
    for (int i = 0; i < AS_OPERATION_COUNT; i += 2)
        for (int k = i; k <= i + (i + 1 < AS_OPERATION_COUNT); k++)
            run.points[k].flops = run.points[k].executed_flops = 18000000;
    as_operations_judge(&o, &run, &peaks);
    assert_int_equal(o.priority, AS_BOUND_COMPUTE);
    assert_non_null(strstr(o.priority_text, "vectori"));
}

static void without_peaks_no_class_is_told(void **state)
{
    struct as_peaks peaks = flat_peaks(UNIT_NAN, UNIT_NAN);
    struct as_operation_run run = even_run(2e-4);
    struct as_operations o;

    (void)state;
    as_operations_judge(&o, &run, &peaks);
    assert_int_equal(o.n_of[AS_BOUND_UNKNOWN], AS_OPERATION_COUNT);
    assert_string_equal(o.rows[0].class_name, "unknown");
    assert_string_equal(o.rows[0].focus, "none");
    assert_int_equal(o.most_roof, SIZE_MAX);
    assert_int_not_equal(o.most_gflops, SIZE_MAX);
}

static void pages_fit_and_have_every_key(void **state)
{
    static const unsigned widths[] = {80, 100, 160};
    static const char *const keys[] = {
        "operation", "latency_ms",    "flops",  "gflops_per_second", "efficiency_class", "bytes",
        "intensity", "roof_fraction", "kernel", "optimization_focus"};
    struct as_peaks peaks = flat_peaks(100e9, 10e9);
    struct as_topology topology = kit_topology();
    struct as_operation_run run = even_run(2e-4);
    struct as_operations o;
    struct as_operations_report report = {.operations = &o, .topology = &topology, .peaks = &peaks};
    struct as_out out = unit_out();
    const char *text;

    (void)state;
    as_operations_judge(&o, &run, &peaks);
    for (size_t i = 0; i < UNIT_COUNT(widths); i++) {
        const struct as_term term = {.unicode = i > 0, .width = widths[i]};

        assert_int_equal(as_operations_page(&report, &out, &term, NULL), ASSAY_OK);
        text = as_out_get(&out, NULL);
        kit_expect_width(text, widths[i]);
        assert_null(strchr(text, '\x1b'));
        for (int op = 0; op < AS_OPERATION_COUNT; op++)
            assert_non_null(strstr(text, as_operation_text((enum as_operation)op)));
        assert_non_null(strstr(text, "11 memory-bound, 0 compute-bound"));
        out.used = 0;
    }
    report.markdown = true;
    assert_int_equal(as_operations_page(&report, &out, &(struct as_term){.width = 80}, NULL),
                     ASSAY_OK);
    assert_non_null(strstr(as_out_get(&out, NULL), "\n| Matrix multiply | 32x256 |"));
    out.used = 0;
    UNIT_JSON(&out, as_json_fields_put(&w_, &as_operations_document_shape, &report));
    text = as_out_get(&out, NULL);
    for (size_t i = 0; i < UNIT_COUNT(keys); i++)
        kit_expect_key(text, keys[i], true);
    as_out_drop(&out);
}

static void a_small_run_counts_exactly(void **state)
{
    const uint64_t n = 16, rows = 32;
    const struct as_operation_options options = {.size = 16, .rounds = 2, .round_s = 0.001};
    struct as_operation_run *run = NULL;
    const struct as_operation_point *p;
    struct assay_error err;

    (void)state;
    assert_int_equal(as_operation_run_new(&run, &options, &err), ASSAY_OK);
    p = run->points;
    assert_int_equal(p[AS_OPERATION_ELEMENTWISE].flops, rows * n);
    assert_int_equal(p[AS_OPERATION_ELEMENTWISE].bytes, 3 * rows * n * 4);
    assert_int_equal(p[AS_OPERATION_MATMUL].flops, 2 * rows * n * n);
    assert_int_equal(p[AS_OPERATION_MATMUL].bytes, (2 * rows * n + n * n) * 4);
    assert_int_equal(p[AS_OPERATION_REDUCTION].flops, rows * n);
    assert_int_equal(p[AS_OPERATION_CONV].macs, 4 * 4 * 9 * 28 * 28);
    assert_int_equal(p[AS_OPERATION_DEPTHWISE].macs, 4 * 9 * 28 * 28);
    assert_int_equal(p[AS_OPERATION_ATTENTION].macs, 2 * 128 * 128 * n);
    assert_int_equal(p[AS_OPERATION_EMBEDDING].flops, 0);
    assert_int_equal(p[AS_OPERATION_EMBEDDING].bytes, rows * 8 + 2 * rows * n * 4);
    assert_int_equal(p[AS_OPERATION_TRANSPOSE].flops, 0);
    assert_string_equal(p[AS_OPERATION_ELEMENTWISE].shape, "2 of 32x16");
    for (int i = 0; i < AS_OPERATION_COUNT; i++) {
        assert_int_equal(p[i].operation, i);
        assert_true(p[i].figures.summary.median > 0);
        assert_true(p[i].least_round_ns <= p[i].most_round_ns);
        assert_true(p[i].n_samples >= options.rounds && p[i].n_steps > 0 && p[i].kernel[0]);
        assert_true(p[i].held_bytes > 0 && p[i].held_bytes <= p[i].bytes);
    }
    assert_true(run->call.figures.summary.median > 0);
    as_operation_run_free(run);
}

static void a_size_out_of_range_is_refused(void **state)
{
    static const int64_t sizes[] = {-1, AS_OPERATION_MAX_SIZE + 1};
    struct as_operation_run *run = NULL;
    struct assay_error err;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(sizes); i++) {
        const struct as_operation_options options = {.size = sizes[i]};

        assert_int_equal(as_operation_run_new(&run, &options, &err), ASSAY_ERR_USAGE);
        assert_null(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_follow_the_peaks),
        cmocka_unit_test(what_neither_roof_explains_is_overhead),
        cmocka_unit_test(the_focus_is_that_of_class_and_kind),
        cmocka_unit_test(extremes_and_priorities_follow_the_figures),
        cmocka_unit_test(without_peaks_no_class_is_told),
        cmocka_unit_test(pages_fit_and_have_every_key),
        cmocka_unit_test(a_small_run_counts_exactly),
        cmocka_unit_test(a_size_out_of_range_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
