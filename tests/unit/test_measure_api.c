/* assay/measure.h: every figure promised is there, fits the others, and failures are failures. */
#include "unit.h"

#include <assay/bottlenecks.h>
#include <assay/measure.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/model/profile_internal.h"

static struct assay_model *new_model(void)
{
    struct assay_model *model;

    (void)assay_model_new(&model, NULL, NULL);
    return model;
}

/* Few runs: what is tested is not how long anything takes. */
static struct assay_measure_options quick(void)
{
    static const struct assay_roof roof = {.size = sizeof roof,
                                           .threads = 1,
                                           .peak_gflops = 100,
                                           .bandwidth_gbs = 10,
                                           .cache_bandwidth_gbs = 50,
                                           .cache_bytes = 1 << 20};
    struct assay_measure_options o = {.size = sizeof(struct assay_measure_options)};

    o.runs = 12;
    o.warmup = 3;
    o.time_seconds = 0.03;
    o.roof = &roof;
    return o;
}

/* `width` inputs, a hidden layer of `width`, ten outputs. */
static struct assay_model *perceptron(int64_t batch, int64_t width)
{
    const int64_t shape[] = {batch, width};
    struct assay_model *m = new_model();
    int x = assay_model_input(m, "x", ASSAY_DTYPE_F32, 2, shape);

    x = assay_model_linear(m, "fc1", x, width, true);
    x = assay_model_activation(m, ASSAY_ACTIVATION_RELU, "relu", x);
    x = assay_model_linear(m, "fc2", x, 10, true);
    assay_model_output(m, x, "y");
    return m;
}

static int count_calls(void *user, struct assay_error *err)
{
    volatile int *n = user;

    (void)err;
    for (int i = 0; i < 1000; i++)
        (*n)++;
    return 0;
}

static void a_function_is_measured_with_every_field(void **state)
{
    struct assay_measure_options o = quick();
    double samples[12] = {0};
    struct assay_latency l;
    int n = 0;

    (void)state;
    o.samples_ns = samples;
    o.samples_capacity = 12;
    assert_int_equal(assay_latency_measure(count_calls, &n, &o, &l, NULL), 0);
    assert_int_equal(l.n, 12);
    assert_string_equal(l.stop, "runs");
    assert_true(l.min_ns > 0 && l.min_ns <= l.median_ns && l.median_ns <= l.max_ns);
    assert_true(l.low_ns < l.median_ns && l.median_ns < l.high_ns);
    assert_true(l.p50_ns <= l.p90_ns && l.p90_ns <= l.p95_ns && l.p95_ns <= l.p99_ns);
    assert_true(l.p99_ns <= l.max_ns && l.mean_ns >= l.min_ns && l.mean_ns <= l.max_ns);
    assert_true(l.std_ns >= 0 && l.mad_ns >= 0 && l.cv >= 0);
    assert_true(l.latency_ms == l.median_ns / 1e6);
    assert_true(l.level == 0.95 && l.batch >= 1 && l.warmup_runs >= 3 && l.first_ns > 0);
    assert_false(l.p99_supported);
    assert_true(l.timer_cost_ns > 0 && l.seconds > 0);
    for (int i = 0; i < 12; i++)
        assert_true(samples[i] >= l.min_ns && samples[i] <= l.max_ns);
    for (int i = 0; i < ASSAY_LATENCY_CAUSES; i++)
        assert_non_null(l.causes[i].text);
    assert_true(fabs(assay_latency_throughput(&l, 2) * l.median_ns - 2e9) < 1);
}

static int fail_at_five(void *user, struct assay_error *err)
{
    int *n = user;

    if (++*n < 5)
        return 0;
    snprintf(err->msg, sizeof err->msg, "the fifth one is too many");
    return -42;
}

static void a_function_that_fails_gives_no_number(void **state)
{
    struct assay_latency l;
    struct assay_error err;
    int n = 0;

    (void)state;
    assert_int_equal(assay_latency_measure(fail_at_five, &n, NULL, &l, &err), -42);
    assert_string_equal(err.msg, "the fifth one is too many");
    assert_true(l.n == 0 && l.median_ns == 0);
    assert_int_equal(assay_latency_measure(NULL, NULL, NULL, &l, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_latency_measure(fail_at_five, &n, NULL, NULL, &err), ASSAY_ERR_USAGE);
}

static void memory_is_what_the_parts_are(void **state)
{
    struct assay_measure_options o = quick();
    struct assay_model *small = perceptron(1, 64), *large = perceptron(64, 64);
    struct assay_memory a, b;

    (void)state;
    assert_int_equal(assay_model_measure_memory(small, &o, &a, NULL), 0);
    assert_int_equal(assay_model_measure_memory(large, &o, &b, NULL), 0);
    assert_int_equal(a.parameter_bytes, 4 * (64 * 64 + 64 + 64 * 10 + 10));
    assert_true(a.parameter_memory_mb == (double)a.parameter_bytes / 1048576);
    assert_true(a.activation_bytes >= 4 * 64 * 2);
    assert_true(b.activation_bytes >= 64 * 4 * 64 * 2);
    assert_true(b.activation_bytes > a.activation_bytes);
    assert_int_equal(a.parameter_bytes, b.parameter_bytes);
    assert_true(a.peak_bytes >= a.held_parameter_bytes + a.activation_bytes);
    assert_true(a.memory_efficiency > 0 && a.memory_efficiency <= 1);
    assert_true(b.memory_efficiency > 0 && b.memory_efficiency <= 1);
    assert_true(a.planned);
    assert_int_equal(a.planned_difference, (int64_t)a.activation_bytes - (int64_t)a.planned_bytes);
    assert_true(a.rss_peak_bytes >= a.peak_bytes);
    assay_model_free(small);
    assay_model_free(large);
}

static void check_forward(const struct assay_forward_profile *f)
{
    double seconds = f->latency_ms / 1e3;

    assert_true(f->latency_ms > 0 && f->gflops_per_second > 0 &&
                f->memory_bandwidth_mib_per_second > 0);
    assert_true(fabs(f->gflops_per_second * seconds * 1e9 / (double)f->flops - 1) < 1e-9);
    assert_true(
        fabs(f->memory_bandwidth_mib_per_second * seconds * 1048576 / (double)f->bytes_moved - 1) <
        1e-9);
    assert_true(fabs(f->computational_efficiency * 100 / f->gflops_per_second - 1) < 1e-9);
    assert_true(f->peak_memory_mb >= f->activation_memory_mb && f->activation_memory_mb > 0);
    assert_true(f->memory_efficiency > 0 && f->memory_efficiency <= 1);
    assert_false(f->is_memory_bound && f->is_compute_bound);
    assert_int_equal(f->is_memory_bound, strcmp(f->bottleneck, "memory") == 0);
    assert_int_equal(f->is_compute_bound, strcmp(f->bottleneck, "compute") == 0);
    assert_true(f->complete && !f->reason);
}

static void a_forward_profile_has_its_thirteen_fields(void **state)
{
    struct assay_measure_options o = quick();
    struct assay_model *small = perceptron(1, 64), *large = perceptron(32, 512);
    struct assay_forward_profile a, b;

    (void)state;
    assert_int_equal(assay_model_profile_forward(small, &o, &a, NULL), 0);
    assert_int_equal(assay_model_profile_forward(large, &o, &b, NULL), 0);
    check_forward(&a);
    check_forward(&b);
    assert_int_equal(a.parameters, 64 * 64 + 64 + 64 * 10 + 10);
    /* 2 x MACs, a bias each, and the Relu between. */
    assert_int_equal(a.flops, 2 * (64 * 64 + 64 * 10) + 64 + 10 + 64);
    assert_int_equal(a.flops, assay_model_count_flops(small) + 64 + 10 + 64);
    assert_int_equal(b.flops, 32 * (assay_model_count_flops(large) + 512 + 10 + 512));
    assert_true(b.parameters > a.parameters && b.flops > a.flops);
    assert_true(b.latency_ms > a.latency_ms && b.peak_memory_mb > a.peak_memory_mb);
    assay_model_free(small);
    assay_model_free(large);
}

/* The bound and the share of the roof that the analyzer of bottlenecks finds for the same work. */
static const char *analyzed(const struct assay_forward_profile *f, const struct assay_roof *roof,
                            double *fraction)
{
    struct assay_bottleneck_analyzer_options o = {
        .size = sizeof(struct assay_bottleneck_analyzer_options)};
    struct assay_layer_metrics m = {.size = sizeof m};
    struct assay_bottleneck_analyzer *a;
    const struct assay_bottleneck_result *r;
    const char *bound = "unknown";

    o.peak_flops_per_second = roof->peak_gflops > 0 ? roof->peak_gflops * 1e9 : 0;
    o.peak_bytes_per_second = roof->bandwidth_gbs * 1e9;
    o.min_strength = 1e-12;
    o.tiny_seconds = 1e6; /* whatever the roofs do not explain is the call's own cost */
    m.execution_seconds = f->latency_ms / 1e3;
    m.flops = (double)f->flops;
    m.bytes = (double)f->bytes_moved;
    assert_int_equal(assay_bottleneck_analyzer_new(&a, &o, NULL), 0);
    assert_int_equal(assay_bottleneck_analyzer_record(a, "whole", &m, NULL), 0);
    assert_int_equal(assay_bottleneck_analyzer_analyze(a, &r, NULL), 0);
    assert_true(r->n_ranked == 1 && r->ranked[0].n_causes <= 1);
    if (r->ranked[0].n_causes)
        bound = assay_bottleneck_type_name(r->ranked[0].cause[0].type);
    *fraction = r->ranked[0].roof_fraction;
    assay_bottleneck_analyzer_free(a);
    return bound;
}

static bool same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * fabs(b);
}

/* One work, one time, one machine: `assay profile`, the call of the library and the analyzer of
 * bottlenecks say the same of it. */
static void check_one_roofline(const struct assay_forward_profile *f, const struct assay_roof *roof)
{
    struct as_peak_rates rates = {.flops = {[AS_PEAK_F32] = roof->peak_gflops * 1e9},
                                  .bytes = {[AS_PEAK_DRAM] = roof->bandwidth_gbs * 1e9,
                                            [AS_PEAK_L3] = roof->cache_bandwidth_gbs * 1e9},
                                  .size = {[AS_PEAK_L3] = roof->cache_bytes}};
    struct as_peaks peaks;
    struct as_profile profile = {.peaks = &peaks};
    struct as_profile_data data = {.threads = 1};
    struct as_joining j = {.profile = &profile, .data = &data};
    struct as_profile_counts counts = {.flops = f->flops, .bytes = f->bytes_moved, .threads = 1};
    struct as_roof found;
    double fraction;

    as_peaks_from_rates(&peaks, &rates, 1);
    as_profile_find_roof(&j, &found, AS_PEAK_F32, &counts, f->latency_ms * 1e6);
    assert_string_equal(as_bound_name(found.bound), f->bottleneck);
    assert_true(same_number(found.roof_fraction, f->attained_share));
    assert_string_equal(analyzed(f, roof, &fraction), f->bottleneck);
    assert_true(same_number(fraction, f->attained_share));
}

/* The same times against machines that are bound by different things. */
static void the_roof_decides_what_bounds(void **state)
{
    struct assay_measure_options o = quick();
    struct assay_model *m = perceptron(8, 128);
    struct assay_forward_profile f;
    struct assay_roof roof = *o.roof;

    (void)state;
    o.roof = &roof;
    roof.peak_gflops = 1e-4;
    roof.bandwidth_gbs = roof.cache_bandwidth_gbs = 1e6;
    assert_int_equal(assay_model_profile_forward(m, &o, &f, NULL), 0);
    assert_string_equal(f.bottleneck, "compute");
    check_one_roofline(&f, &roof);
    assert_true(f.computational_efficiency > 1); /* never held down to 1 */
    roof.peak_gflops = 1e9;
    roof.bandwidth_gbs = roof.cache_bandwidth_gbs = 1e-4;
    assert_int_equal(assay_model_profile_forward(m, &o, &f, NULL), 0);
    assert_string_equal(f.bottleneck, "memory");
    check_one_roofline(&f, &roof);
    roof.bandwidth_gbs = roof.cache_bandwidth_gbs = 1e9;
    assert_int_equal(assay_model_profile_forward(m, &o, &f, NULL), 0);
    assert_string_equal(f.bottleneck, "overhead");
    check_one_roofline(&f, &roof);
    assert_false(f.is_memory_bound || f.is_compute_bound);
    roof.peak_gflops = UNIT_NAN;
    assert_int_equal(assay_model_profile_forward(m, &o, &f, NULL), 0);
    assert_string_equal(f.bottleneck, "unknown");
    check_one_roofline(&f, &roof);
    assert_true(isnan(f.computational_efficiency));
    assert_non_null(f.reason);
    assay_model_free(m);
}

/* A roof that was measured before says the same as one measured now. */
static void a_measured_roof_given_back_has_every_level(void **state)
{
    struct assay_roof roof;

    (void)state;
    assert_int_equal(assay_roof_measure(1, &roof, NULL), 0);
    assert_true(roof.l1_bandwidth_gbs > 0 || isnan(roof.l1_bandwidth_gbs));
    assert_true(roof.l1_bytes == 0 || roof.l2_bytes == 0 || roof.l1_bytes < roof.l2_bytes);
    assert_true(isnan(roof.peak_i8_gops) || roof.peak_i8_gops > 0);
}

static void layers_add_up_to_the_model(void **state)
{
    struct assay_measure_options o = quick();
    struct assay_model *m = perceptron(4, 128);
    struct assay_model_layer_profile layers[16], one;
    struct assay_model_layer counted;
    uint64_t parameters = 0, flops = 0;
    double share = 0;
    int n = assay_model_profile_layers(m, &o, layers, 16, NULL);

    (void)state;
    assert_true(n >= 3 && n <= 16);
    for (int i = 0; i < n; i++) {
        assert_int_equal(assay_model_layer_at(m, (size_t)i, &counted), 0);
        assert_string_equal(layers[i].name, counted.name);
        assert_string_equal(layers[i].layer_type, counted.op);
        assert_int_equal(layers[i].parameters, counted.parameters);
        assert_true(layers[i].latency_ms >= 0);
        assert_true(layers[i].peak_memory_mb >=
                    layers[i].parameter_memory_mb + layers[i].activation_memory_mb);
        assert_true(layers[i].memory_efficiency >= 0 && layers[i].memory_efficiency <= 1);
        parameters += layers[i].parameters;
        flops += layers[i].flops;
        share += layers[i].share;
    }
    assert_int_equal(parameters, assay_model_count_parameters(m));
    assert_int_equal(flops, 4 * (assay_model_count_flops(m) + 128 + 10 + 128));
    assert_true(fabs(share - 1) < 1e-9);
    assert_int_equal(assay_model_profile_layer(m, 0, &o, &one, NULL), 0);
    assert_string_equal(one.name, layers[0].name);
    assert_int_equal(assay_model_profile_layer(m, (size_t)n, &o, &one, NULL), ASSAY_ERR_NOTFOUND);
    assay_model_free(m);
}

static void a_quick_profile_is_a_few_lines(void **state)
{
    struct assay_measure_options o = quick();
    struct assay_model *m = perceptron(1, 64);
    struct assay_forward_profile f;
    char text[600], cut[20];
    int n;

    (void)state;
    n = assay_model_profile_quick(m, &o, &f, text, sizeof text, NULL);
    assert_int_equal(n, strlen(text));
    assert_non_null(strstr(text, "Parameters   4,810\n"));
    assert_non_null(strstr(text, f.bottleneck));
    assert_non_null(strstr(text, " ms ("));
    assert_true(assay_model_profile_quick(m, &o, NULL, cut, sizeof cut, NULL) > 20);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    assert_true(assay_model_profile_quick(m, &o, NULL, NULL, 0, NULL) > 20);
    assay_model_free(m);
}

static void a_model_that_cannot_run_is_a_failure(void **state)
{
    struct assay_measure_options o = quick();
    const struct assay_input_file files[] = {{"nothing", "x.npy"}, {"x", "/nonexistent.npy"}};
    struct assay_forward_profile f;
    struct assay_latency l;
    struct assay_error err = {0};
    struct assay_model *m = perceptron(1, 64);

    (void)state;
    o.files = files;
    o.n_files = 1;
    assert_int_equal(assay_model_profile_forward(m, &o, &f, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "the model has no input 'nothing'; it has: x");
    assert_true(f.latency_ms == 0);
    o.files = files + 1;
    assert_int_equal(assay_model_measure_latency(m, &o, &l, &err), ASSAY_ERR_NOTFOUND);
    assert_non_null(strstr(err.msg, "/nonexistent.npy"));
    o.n_files = 0;
    o.limit_bytes = 100;
    assert_int_equal(assay_model_measure_latency(m, &o, &l, &err), ASSAY_ERR_LIMIT);
    o.limit_bytes = 0;
    assert_int_equal(assay_model_measure_latency(m, &o, &l, &err), 0);
    assert_int_equal(assay_model_measure_latency(NULL, &o, &l, &err), ASSAY_ERR_NOMEM);
    assay_model_free(m);
}

static void a_file_gives_an_input_its_size(void **state)
{
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 64), }\n";
    const char begin[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, sizeof header - 1, 0};
    struct assay_measure_options o = quick();
    char path[] = "/tmp/assay-measure-XXXXXX";
    struct assay_input_file file = {NULL, path};
    const int64_t open[] = {-1, 64};
    struct assay_model *m = new_model();
    int x = assay_model_input(m, "x", ASSAY_DTYPE_F32, 2, open), fd = mkstemp(path);
    struct assay_forward_profile f;
    float numbers[3 * 64] = {0};
    struct assay_error err = {0};

    (void)state;
    assay_model_output(m, assay_model_linear(m, "fc", x, 5, false), "y");
    assert_true(fd >= 0);
    assert_int_equal(write(fd, begin, sizeof begin), sizeof begin);
    assert_int_equal(write(fd, header, sizeof header - 1), sizeof header - 1);
    assert_int_equal(write(fd, numbers, sizeof numbers), sizeof numbers);
    close(fd);
    o.files = &file;
    o.n_files = 1;
    if (assay_model_profile_forward(m, &o, &f, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(f.flops, 3 * 2 * 64 * 5);
    unlink(path);
    assay_model_free(m);
}

/* Only moves elements: nothing is computed. */
static void what_is_nan_has_a_reason(void **state)
{
    struct assay_measure_options o = quick();
    const int64_t shape[] = {4, 16};
    struct assay_model *m = new_model();
    int x = assay_model_input(m, "x", ASSAY_DTYPE_F32, 2, shape);
    struct assay_forward_profile f;

    (void)state;
    assay_model_output(m, assay_model_transpose(m, "t", x, 2, (const int64_t[]){1, 0}), "y");
    assert_int_equal(assay_model_profile_forward(m, &o, &f, NULL), 0);
    assert_true(f.complete && f.flops == 0);
    assert_true(isnan(f.attained_share));
    assert_non_null(f.reason);
    assay_model_free(m);
}

static void options_that_cannot_be_are_refused(void **state)
{
    struct assay_measure_options o = quick();
    const double wrong[] = {-1, UNIT_NAN, UNIT_INFINITY};
    struct assay_model *m = perceptron(1, 64);
    struct assay_error err = {0};
    struct assay_roof roof;
    struct assay_latency l;
    int n = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        o = quick();
        o.time_seconds = wrong[i];
        assert_int_equal(assay_latency_measure(count_calls, &n, &o, &l, &err), ASSAY_ERR_USAGE);
        assert_non_null(strstr(err.msg, "time_s"));
        assert_int_equal(assay_model_measure_latency(m, &o, &l, &err), ASSAY_ERR_USAGE);
        o = quick();
        o.target = wrong[i];
        assert_int_equal(assay_latency_measure(count_calls, &n, &o, &l, &err), ASSAY_ERR_USAGE);
        o = quick();
        o.level = wrong[i];
        assert_int_equal(assay_latency_measure(count_calls, &n, &o, &l, &err), ASSAY_ERR_USAGE);
    }
    assert_int_equal(n, 0);
    o = quick();
    o.threads = 2;
    assert_int_equal(assay_model_measure_latency(m, &o, &l, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "the roofline is for 1"));
    o.roof = NULL;
    o.threads = 1 << 20;
    assert_int_equal(assay_model_measure_latency(m, &o, &l, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "CPU"));
    assert_int_equal(assay_roof_measure(1 << 20, &roof, &err), ASSAY_ERR_USAGE);
    assay_model_free(m);
}

static int count_one(void *user, struct assay_error *err)
{
    (void)err;
    ++*(int *)user;
    return 0;
}

static void without_warm_up_there_is_one_run_before(void **state)
{
    struct assay_measure_options o = quick();
    struct assay_latency l;
    int n = 0;

    (void)state;
    o.runs = 2;
    o.no_warmup = o.no_batch = true;
    assert_int_equal(assay_latency_measure(count_one, &n, &o, &l, NULL), 0);
    assert_int_equal(n, 3);
    assert_true(l.n == 2 && l.warmup_runs == 1 && l.first_ns > 0);
}

struct taken {
    int n;
    float first;
    bool refuse;
};

static int take(void *user, const struct assay_output_tensor *o, struct assay_error *err)
{
    struct taken *t = user;

    (void)err;
    assert_int_equal(o->size, sizeof *o);
    assert_string_equal(o->name, "y");
    assert_string_equal(o->type, "f32");
    assert_int_equal(o->dtype, ASSAY_DTYPE_F32);
    assert_int_equal(o->rank, 2);
    assert_int_equal(o->dims[0], 3);
    assert_int_equal(o->dims[1], 10);
    assert_int_equal(o->elements, 30);
    assert_int_equal(o->bytes, 30 * sizeof(float));
    assert_int_equal(o->nan_elements, 0);
    assert_null(o->reason);
    memcpy(&t->first, o->data, sizeof t->first);
    t->n++;
    return t->refuse ? 1 : 0;
}

static void outputs_are_given_and_repeat(void **state)
{
    struct assay_measure_options o = quick();
    struct assay_model *m = perceptron(3, 16);
    struct taken one = {0}, two = {0}, three = {.refuse = true};
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_model_measure_outputs(m, &o, take, &one, &err), 1);
    assert_int_equal(assay_model_measure_outputs(m, &o, take, &two, NULL), 1);
    assert_int_equal(one.n, 1);
    assert_true(one.first == two.first && one.first != 0);
    assert_int_equal(assay_model_measure_outputs(m, &o, take, &three, &err), ASSAY_ERR_STATE);
    assert_int_equal(assay_model_measure_outputs(m, &o, NULL, NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_measure_outputs(NULL, &o, take, &one, &err), ASSAY_ERR_NOMEM);
    assay_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_measured_with_every_field),
        cmocka_unit_test(a_function_that_fails_gives_no_number),
        cmocka_unit_test(memory_is_what_the_parts_are),
        cmocka_unit_test(a_forward_profile_has_its_thirteen_fields),
        cmocka_unit_test(the_roof_decides_what_bounds),
        cmocka_unit_test(a_measured_roof_given_back_has_every_level),
        cmocka_unit_test(layers_add_up_to_the_model),
        cmocka_unit_test(a_quick_profile_is_a_few_lines),
        cmocka_unit_test(a_model_that_cannot_run_is_a_failure),
        cmocka_unit_test(a_file_gives_an_input_its_size),
        cmocka_unit_test(what_is_nan_has_a_reason),
        cmocka_unit_test(options_that_cannot_be_are_refused),
        cmocka_unit_test(without_warm_up_there_is_one_run_before),
        cmocka_unit_test(outputs_are_given_and_repeat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
