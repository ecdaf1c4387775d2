/* tests/unit/test_bottlenecks.c - the bottleneck analyzer: the documented answer against numpy's
 * figures, each rule on both sides of its threshold, the ranking, and its bounds. */
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "analyze/detect/bottleneck_internal.h"
#include "base/alloc.h"
#include "base/json/json_parser.h"
#include "report/findings/findings_report.h"

static struct assay_bottleneck_analyzer *analyzer;
static const struct assay_bottleneck_result *result;

static void begin(const struct assay_bottleneck_analyzer_options *options)
{
    struct assay_error err = {0};

    if (assay_bottleneck_analyzer_new(&analyzer, options, &err) < 0)
        fail_msg("%s", err.msg);
}

static void record(const char *layer, const struct assay_layer_metrics *m)
{
    struct assay_error err = {0};

    if (assay_bottleneck_analyzer_record(analyzer, layer, m, &err) < 0)
        fail_msg("%s", err.msg);
}

static void call(const char *layer, double seconds)
{
    struct assay_layer_metrics m = {.size = sizeof m};

    m.execution_seconds = seconds == 0 ? ASSAY_MEASURED_ZERO : seconds;
    record(layer, &m);
}

static void analyze(void)
{
    struct assay_error err = {0};

    if (assay_bottleneck_analyzer_analyze(analyzer, &result, &err) < 0)
        fail_msg("%s", err.msg);
}

static void done(void)
{
    assay_bottleneck_analyzer_free(analyzer);
    analyzer = NULL;
    result = NULL;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want) + 1e-15))
        fail_msg("%.17g is not %.17g", got, want);
}

static const struct assay_ranked_layer *ranked(const char *name)
{
    static const struct assay_ranked_layer none;

    for (size_t i = 0; i < result->n_ranked; i++) {
        if (strcmp(result->ranked[i].layer, name) == 0)
            return &result->ranked[i];
    }
    fail_msg("%s is not ranked", name);
    return &none;
}

/* The strength of a cause; NaN when it is not named. */
static double strength(const char *name, enum assay_bottleneck_type type)
{
    const struct assay_ranked_layer *layer = ranked(name);

    for (size_t i = 0; i < layer->n_causes; i++) {
        if (layer->cause[i].type == type)
            return layer->cause[i].strength;
    }
    return UNIT_NAN;
}

/* ---- the documented answer ---- */

static const double conv[] = {0.010, 0.012, 0.011, 0.013, 0.0105};
static const double attention[] = {0.050, 0.055, 0.045, 0.300};

static void three_layers(const struct assay_bottleneck_analyzer_options *options)
{
    begin(options);
    for (size_t i = 0; i < UNIT_COUNT(conv); i++)
        call("conv", conv[i]);
    for (size_t i = 0; i < UNIT_COUNT(attention); i++)
        call("attention", attention[i]);
    for (size_t i = 0; i < 20; i++)
        call("relu", 0.002);
}

/* numpy: percentile(all, 90) = 0.046, mean = 0.1125, std = 0.10831089511217235. */
static void figures_are_those_of_numpy(void **state)
{
    const struct assay_bottleneck *b;

    (void)state;
    three_layers(NULL);
    analyze();
    near(result->threshold_seconds, 0.046);
    assert_true(result->threshold_exact);
    assert_int_equal(result->n_bottlenecks, 1);
    b = &result->bottlenecks[0];
    assert_string_equal(b->layer, "attention");
    near(b->mean_execution_seconds, 0.1125);
    near(b->std_execution_seconds, 0.10831089511217235);
    near(b->threshold_seconds, 0.046);
    near(b->overhead_percentage, 144.56521739130437);
    assert_true(isnan(b->mean_memory_usage_mb) && isnan(b->io_intensity) &&
                isnan(b->gpu_utilization_percent));
    assert_int_equal(b->n_types, 1);
    assert_int_equal(b->type[0], ASSAY_BOTTLENECK_COMPUTE);
    near(b->severity_score, 0.225);
    assert_int_equal(result->summary.total_bottlenecks, 1);
    assert_int_equal(result->summary.critical_bottlenecks, 1);
    near(result->summary.total_overhead_ms, 66.5);
    assert_int_equal(result->summary.by_type[ASSAY_BOTTLENECK_COMPUTE], 1);
    assert_int_equal(result->n_recommendations, 2);
    assert_string_equal(result->recommendations[0].type, "optimization");
    assert_string_equal(result->recommendations[0].category, "compute");
    assert_int_equal(result->recommendations[0].priority, ASSAY_PRIORITY_HIGH);
    assert_string_equal(result->recommendations[1].type, "stability");
    assert_string_equal(result->recommendations[1].category, "variance");
    assert_int_equal(result->recommendations[1].priority, ASSAY_PRIORITY_LOW);
    done();
}

static void the_percentile_can_be_set(void **state)
{
    struct assay_bottleneck_analyzer_options o = {
        .size = sizeof(struct assay_bottleneck_analyzer_options)};

    (void)state;
    o.threshold_percentile = 95;
    three_layers(&o);
    analyze();
    near(result->threshold_seconds, 0.05299999999999999);
    done();
}

static void no_data_gives_empty_lists(void **state)
{
    (void)state;
    begin(NULL);
    analyze();
    assert_int_equal(result->n_bottlenecks + result->n_recommendations + result->n_ranked +
                         result->n_findings + result->summary.total_bottlenecks,
                     0);
    assert_true(isnan(result->threshold_seconds));
    done();
}

/* With both layers of one call of 1 s, the threshold is 1 s and both are flagged: the documented
 * rule. Each metric is tried at its limit and beyond it. */
static void each_type_begins_past_its_limit(void **state)
{
    static const struct {
        size_t at;
        double off, on;
        enum assay_bottleneck_type type;
        double factor;
        const char *category;
        enum assay_priority priority;
    } rule[] = {
        {offsetof(struct assay_layer_metrics, memory_usage_mb), 500, 500.001,
         ASSAY_BOTTLENECK_MEMORY, 1.5, "memory", ASSAY_PRIORITY_HIGH},
        {offsetof(struct assay_layer_metrics, io_operations), 100, 101, ASSAY_BOTTLENECK_IO, 1.3,
         "io", ASSAY_PRIORITY_MEDIUM},
        {offsetof(struct assay_layer_metrics, gpu_utilization_percent), 50, 49.99,
         ASSAY_BOTTLENECK_UNDERUTILIZATION, 1.2, "gpu", ASSAY_PRIORITY_MEDIUM},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rule); i++) {
        for (int on = 0; on < 2; on++) {
            struct assay_layer_metrics m = {.size = sizeof m};

            begin(NULL);
            m.execution_seconds = 1;
            memcpy((char *)&m + rule[i].at, on ? &rule[i].on : &rule[i].off, sizeof(double));
            record("x", &m);
            analyze();
            assert_int_equal(result->n_bottlenecks, 1);
            assert_int_equal(result->bottlenecks[0].n_types, 1);
            assert_int_equal(result->bottlenecks[0].type[0],
                             on ? rule[i].type : ASSAY_BOTTLENECK_UNKNOWN);
            near(result->bottlenecks[0].severity_score, on ? rule[i].factor : 1.0);
            assert_int_equal(result->n_recommendations, on);
            if (on) {
                assert_string_equal(result->recommendations[0].category, rule[i].category);
                assert_int_equal(result->recommendations[0].priority, rule[i].priority);
            }
            done();
        }
    }
}

/* 8 calls of 1 s, one of `mean`: the 50th percentile is 1. */
static void compute_begins_past_its_factor(void **state)
{
    struct assay_bottleneck_analyzer_options o = {
        .size = sizeof(struct assay_bottleneck_analyzer_options)};

    (void)state;
    o.threshold_percentile = 50;
    for (int on = 0; on < 2; on++) {
        begin(&o);
        for (int i = 0; i < 8; i++)
            call("usual", 1);
        call("slow", on ? 1.5000001 : 1.5);
        analyze();
        assert_int_equal(result->n_bottlenecks, 2);
        assert_string_equal(result->bottlenecks[0].layer, "slow");
        assert_int_equal(result->bottlenecks[0].type[0],
                         on ? ASSAY_BOTTLENECK_COMPUTE : ASSAY_BOTTLENECK_UNKNOWN);
        assert_int_equal(result->summary.critical_bottlenecks, on);
        done();
    }
}

static void factors_are_averaged(void **state)
{
    struct assay_layer_metrics m = {.size = sizeof m};

    (void)state;
    begin(NULL);
    m.execution_seconds = 2;
    m.memory_usage_mb = 600;
    m.io_operations = 200;
    m.gpu_utilization_percent = 10;
    record("x", &m);
    analyze();
    assert_int_equal(result->bottlenecks[0].n_types, 3);
    near(result->bottlenecks[0].severity_score, 2 * (1.5 + 1.3 + 1.2) / 3);
    near(result->bottlenecks[0].mean_memory_usage_mb, 600);
    done();
}

/* Calls of 1 - cv and 1 + cv have exactly that population std over mean. */
static void variance_begins_past_its_limit(void **state)
{
    struct assay_bottleneck_analyzer_options o = {
        .size = sizeof(struct assay_bottleneck_analyzer_options)};

    (void)state;
    o.threshold_percentile = 50;
    o.variance_cv = 0.25;
    for (int on = 0; on < 2; on++) {
        double cv = on ? 0.2501 : 0.25;

        begin(&o);
        call("slow", 1 - cv);
        call("slow", 1 + cv);
        analyze();
        assert_string_equal(result->bottlenecks[0].layer, "slow");
        assert_int_equal(result->n_recommendations, on);
        assert_int_equal(isfinite(strength("slow", ASSAY_BOTTLENECK_VARIANCE)), on);
        done();
    }
}

static void a_threshold_of_zero_divides_nothing(void **state)
{
    (void)state;
    begin(NULL);
    for (int i = 0; i < 100; i++)
        call("nothing", 0);
    call("something", 1);
    analyze();
    near(result->threshold_seconds, 0);
    assert_int_equal(result->n_bottlenecks, 2);
    assert_true(isnan(result->bottlenecks[0].overhead_percentage));
    assert_int_equal(result->summary.critical_bottlenecks, 0);
    assert_int_equal(result->n_ranked, 1);
    near(result->ranked[0].share, 1);
    assert_true(isinf(result->ranked[0].speedup_bound));
    done();
}

/* ---- the ranking ---- */

static void equal_layers_are_not_all_severe(void **state)
{
    (void)state;
    begin(NULL);
    for (int i = 0; i < 10; i++) {
        char name[16];

        snprintf(name, sizeof name, "l%d", i);
        call(name, 0.001);
    }
    analyze();
    assert_int_equal(result->n_bottlenecks, 10); /* the documented rule flags all of them */
    assert_int_equal(result->n_ranked, 10);
    for (size_t i = 0; i < 10; i++) {
        near(result->ranked[i].share, 0.1);
        near(result->ranked[i].severity, 10);
        near(result->ranked[i].speedup_bound, 1 / 0.9);
    }
    done();
}

static void the_one_slow_layer_is_not_missed(void **state)
{
    (void)state;
    begin(NULL);
    for (int i = 0; i < 50; i++)
        call("slow", i % 4 == 0 ? 0.100 : 0.010);
    for (int i = 0; i < 50; i++)
        call("quick", 0.001);
    analyze();
    assert_int_equal(result->n_bottlenecks, 0); /* its mean is below its own 90th percentile */
    assert_string_equal(result->ranked[0].layer, "slow");
    assert_true(result->ranked[0].share > 0.9);
    done();
}

static void one_call_does_not_weigh_like_a_thousand(void **state)
{
    (void)state;
    begin(NULL);
    call("once", 0.005);
    for (int i = 0; i < 1000; i++)
        call("often", 0.001);
    analyze();
    assert_string_equal(result->ranked[0].layer, "often");
    assert_int_equal(result->ranked[0].calls, 1000);
    assert_int_equal(result->n_ranked, 1); /* 0.5 % of the time is below the least share */
    done();
}

static void self_time_is_what_is_ranked(void **state)
{
    struct assay_layer_metrics m = {.size = sizeof m};

    (void)state;
    begin(NULL);
    m.execution_seconds = 1;
    m.self_seconds = 0.1;
    record("outer", &m);
    call("inner", 0.9);
    analyze();
    assert_string_equal(result->ranked[0].layer, "inner");
    near(result->ranked[0].share, 0.9);
    near(result->ranked[1].self_seconds, 0.1);
    near(result->total_self_seconds, 1);
    done();
}

static void failed_calls_count_apart(void **state)
{
    struct assay_layer_metrics m = {.size = sizeof m};

    (void)state;
    begin(NULL);
    call("x", 1);
    m.failed = true;
    record("x", &m);
    m.execution_seconds = 1000;
    record("x", &m);
    record("only", &m);
    analyze();
    assert_int_equal(result->n_calls, 1);
    assert_int_equal(result->n_failed, 3);
    assert_int_equal(ranked("x")->calls, 1);
    assert_int_equal(ranked("x")->failed, 2);
    near(result->total_self_seconds, 1);
    near(result->threshold_seconds, 1);
    done();
}

/* ---- causes ---- */

/* One call of a second with those metrics, beside another of a second. */
static void one_cause(const struct assay_layer_metrics *given,
                      const struct assay_bottleneck_analyzer_options *options)
{
    struct assay_layer_metrics m = *given;

    begin(options);
    if (m.execution_seconds == 0)
        m.execution_seconds = 1;
    record("x", &m);
    call("other", 1);
    analyze();
}

static struct assay_bottleneck_analyzer_options with_peaks(void)
{
    struct assay_bottleneck_analyzer_options o = {
        .size = sizeof(struct assay_bottleneck_analyzer_options)};

    o.peak_flops_per_second = 100e9;
    o.peak_bytes_per_second = 10e9;
    return o;
}

static void the_roofline_names_what_bounds(void **state)
{
    struct assay_bottleneck_analyzer_options o = with_peaks();
    struct assay_layer_metrics m = {.size = sizeof m};

    (void)state;
    m.flops = 80e9;
    m.bytes = 0.5e9;
    one_cause(&m, &o);
    near(strength("x", ASSAY_BOTTLENECK_COMPUTE), 0.8);
    assert_true(isnan(strength("x", ASSAY_BOTTLENECK_MEMORY)));
    near(ranked("x")->roof_fraction, 0.8);
    assert_string_equal(result->findings[0].rule, "compute-bound");
    near(result->findings[0].expected_gain, 0.4);
    near(result->findings[0].severity, 40);
    /* Of the other, half of all: what could be gained is not known. */
    assert_string_equal(result->findings[1].rule, "cause-unknown");
    assert_true(isnan(result->findings[1].expected_gain));
    near(result->findings[1].severity, 30);
    done();
    m.flops = 1e9;
    m.bytes = 9e9;
    one_cause(&m, &o);
    near(strength("x", ASSAY_BOTTLENECK_MEMORY), 0.9);
    done();
    m.bytes = 1.9e9; /* 19 % of the time: neither roof explains it */
    one_cause(&m, &o);
    near(strength("x", ASSAY_BOTTLENECK_UNKNOWN), 0.81);
    done();
    m.bytes = 2e9; /* 20 %: just bound */
    one_cause(&m, &o);
    near(strength("x", ASSAY_BOTTLENECK_MEMORY), 0.2);
    assert_true(isnan(strength("x", ASSAY_BOTTLENECK_UNKNOWN)));
    done();
    m.flops = 1e3;
    m.bytes = 1e3; /* 0.1 us of work in a second */
    one_cause(&m, &o);
    assert_true(strength("x", ASSAY_BOTTLENECK_UNKNOWN) > 0.99); /* no call costs a second */
    done();
    o.tiny_seconds = 2; /* unless somebody says that it may */
    one_cause(&m, &o);
    assert_true(strength("x", ASSAY_BOTTLENECK_OVERHEAD) > 0.99);
    done();
    o.tiny_seconds = 0;
    one_cause(&m, NULL); /* no peaks: no cause */
    assert_int_equal(ranked("x")->n_causes, 0);
    assert_true(isnan(ranked("x")->roof_fraction));
    done();
}

static void measured_peaks_tell_the_level(void **state)
{
    struct as_peak_rates rates = {.flops = {[AS_PEAK_F32] = 100e9},
                                  .bytes = {[AS_PEAK_DRAM] = 10e9, [AS_PEAK_L3] = 50e9},
                                  .size = {[AS_PEAK_L3] = 1 << 20}};
    struct assay_layer_metrics m = {.size = sizeof m};
    struct as_peaks peaks;

    (void)state;
    as_peaks_from_rates(&peaks, &rates, 1);
    begin(NULL);
    as_bottleneck_set_peaks(analyzer, &peaks, 1);
    assay_bottleneck_analyzer_reset(analyzer); /* which forgets calls, not the machine */
    m.execution_seconds = 20e-6;
    m.flops = 1;
    m.bytes = 500e3; /* fits into the cache: 10 us at 50 GB/s */
    record("near", &m);
    m.execution_seconds = 1e-3;
    m.bytes = 5e6; /* does not: 500 us at 10 GB/s */
    record("far", &m);
    analyze();
    near(ranked("near")->roof_fraction, 0.5);
    near(strength("near", ASSAY_BOTTLENECK_MEMORY), 0.5);
    assert_non_null(strstr(ranked("near")->cause[0].evidence, "at 50.0 GB/s from L3"));
    near(ranked("far")->roof_fraction, 0.5);
    assert_non_null(strstr(ranked("far")->cause[0].evidence, "at 10.0 GB/s from DRAM"));
    done();
}

/* A program may tell anything. */
static void absurd_counts_do_no_harm(void **state)
{
    struct assay_bottleneck_analyzer_options o = with_peaks();
    struct assay_layer_metrics m = {.size = sizeof m};

    (void)state;
    m.flops = -1;
    m.bytes = 1e300;
    one_cause(&m, &o);
    assert_true(ranked("x")->roof_fraction > 1e200);
    near(strength("x", ASSAY_BOTTLENECK_MEMORY), 1);
    done();
}

static void more_than_the_roof_allows_is_said(void **state)
{
    struct assay_bottleneck_analyzer_options o = with_peaks();
    struct assay_layer_metrics m = {.size = sizeof m};

    (void)state;
    m.flops = 300e9;
    one_cause(&m, &o);
    near(strength("x", ASSAY_BOTTLENECK_COMPUTE), 1);
    near(ranked("x")->roof_fraction, 3);
    assert_non_null(strstr(ranked("x")->cause[0].evidence, "counts or peaks are wrong"));
    done();
}

static void other_causes_are_parts_of_the_time(void **state)
{
    struct assay_layer_metrics m = {.size = sizeof m};

    (void)state;
    m.minor_faults = 200000; /* of 0.5 us each */
    m.major_faults = 2000;   /* of 100 us */
    m.io_wait_seconds = 0.25;
    m.io_bytes = 1 << 20;
    m.cpu_seconds = 0.4;
    m.switches = 12;
    m.gpu_utilization_percent = 30;
    one_cause(&m, NULL);
    near(strength("x", ASSAY_BOTTLENECK_PAGE_FAULTS), 0.3);
    near(strength("x", ASSAY_BOTTLENECK_IO), 0.25);
    near(strength("x", ASSAY_BOTTLENECK_WAITING), 0.6);
    near(strength("x", ASSAY_BOTTLENECK_UNDERUTILIZATION), 0.7);
    assert_int_equal(ranked("x")->n_causes, 4);
    assert_int_equal(ranked("x")->cause[0].type, ASSAY_BOTTLENECK_UNDERUTILIZATION);
    near(ranked("x")->severity,
         100 * (1 - 0.5 * (1 - 0.15) * (1 - 0.125) * (1 - 0.3) * (1 - 0.35)));
    done();
}

static void weak_causes_are_not_named(void **state)
{
    struct assay_bottleneck_analyzer_options o = {
        .size = sizeof(struct assay_bottleneck_analyzer_options)};
    struct assay_layer_metrics m = {.size = sizeof m};

    (void)state;
    m.io_wait_seconds = 0.05;
    one_cause(&m, NULL);
    near(strength("x", ASSAY_BOTTLENECK_IO), 0.05);
    done();
    o.min_strength = 0.06;
    one_cause(&m, &o);
    assert_true(isnan(strength("x", ASSAY_BOTTLENECK_IO)));
    done();
    m.io_wait_seconds = UNIT_NAN;
    m.cpu_seconds = 4; /* of several threads */
    one_cause(&m, NULL);
    assert_int_equal(ranked("x")->n_causes, 0);
    done();
}

/* The calls of 1 s and 5 s have the median 1 and lose 4 of 8 seconds above it. */
static void variance_is_what_exceeds_the_median(void **state)
{
    (void)state;
    begin(NULL);
    call("x", 1);
    call("x", 1);
    call("x", 1);
    call("x", 5);
    call("x", 1);
    analyze();
    near(strength("x", ASSAY_BOTTLENECK_VARIANCE), 4.0 / 9);
    done();
}

static void severity_never_falls(void **state)
{
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 7);
    for (int i = 0; i < 20000; i++) {
        struct assay_cause cause[ASSAY_BOTTLENECK_TYPE_COUNT] = {{0}};
        size_t n = (size_t)as_rng_below(&rng, ASSAY_BOTTLENECK_TYPE_COUNT);
        size_t k = n ? (size_t)as_rng_below(&rng, n) : 0;
        double share = as_rng_unit(&rng), before, more;

        for (size_t c = 0; c <= n; c++)
            cause[c].strength = as_rng_unit(&rng);
        before = as_bottleneck_severity(share, cause, n);
        assert_true(before >= 0 && before <= 100);
        assert_true(as_bottleneck_severity(share, cause, n + 1) >= before);
        more = share + (1 - share) * as_rng_unit(&rng);
        assert_true(as_bottleneck_severity(more, cause, n) >= before);
        cause[k].strength += (1 - cause[k].strength) * as_rng_unit(&rng);
        assert_true(as_bottleneck_severity(share, cause, n) >= before);
    }
}

/* A profiler's own page faults happen around a layer that is too short for them. */
static void faults_that_do_not_fit_are_not_its_own(void **state)
{
    struct assay_layer_metrics m = {.size = sizeof m};

    (void)state;
    m.execution_seconds = 1;
    m.minor_faults = 2e7; /* 2 s at the least */
    one_cause(&m, NULL);
    for (size_t i = 0; i < ranked("x")->n_causes; i++)
        assert_int_not_equal(ranked("x")->cause[i].type, ASSAY_BOTTLENECK_PAGE_FAULTS);
    done();
}

/* The same through the analyzer: a metric that tells more of a cause never lowers the severity. */
static void telling_more_never_lowers_severity(void **state)
{
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 8);
    for (int i = 0; i < 500; i++) {
        struct assay_layer_metrics m = {.size = sizeof m};
        double last = 0;

        m.execution_seconds = 0.1 + as_rng_unit(&rng);
        for (int step = 0; step < 8; step++) {
            if (step & 1)
                m.io_wait_seconds = m.execution_seconds * (step + as_rng_unit(&rng)) / 9;
            else
                m.minor_faults = 1e5 * (step + as_rng_unit(&rng)); /* as many as fit into 0.1 s */
            if (step == 4)
                m.cpu_seconds = m.execution_seconds * as_rng_unit(&rng);
            if (step == 6)
                m.gpu_utilization_percent = 100 * as_rng_unit(&rng);
            one_cause(&m, NULL);
            assert_true(ranked("x")->severity >= last);
            last = ranked("x")->severity;
            done();
        }
    }
}

/* ---- bounds ---- */

static void a_sample_weighs_by_calls(void **state)
{
    struct assay_bottleneck_analyzer_options o = {
        .size = sizeof(struct assay_bottleneck_analyzer_options)};

    (void)state;
    o.max_samples = 64;
    o.threshold_percentile = 80;
    begin(&o);
    for (int i = 0; i < 90000; i++)
        call("often", 0.001 + 1e-9 * (i % 1000));
    for (int i = 0; i < 50; i++)
        call("rarely", 1);
    analyze();
    assert_false(result->threshold_exact);
    /* Weighed by samples, rarely would be 44 % of all and the threshold 1 s. */
    assert_true(result->threshold_seconds < 0.0011);
    assert_int_equal(result->n_bottlenecks, 1);
    done();
}

static void a_fair_sample_is_near_the_whole(void **state)
{
    struct assay_bottleneck_analyzer_options o = {
        .size = sizeof(struct assay_bottleneck_analyzer_options)};

    (void)state;
    o.max_samples = 4096;
    begin(&o);
    for (int i = 0; i < 200000; i++)
        call("ramp", i * 1e-5);
    analyze();
    assert_false(result->threshold_exact);
    if (!(fabs(result->threshold_seconds - 1.8) < 0.03)) /* six standard errors of a fair sample */
        fail_msg("%.17g is not near 1.8", result->threshold_seconds);
    near(ranked("ramp")->mean_seconds, 0.999995);
    done();
}

static void layers_past_the_limit_are_counted(void **state)
{
    char name[32];

    (void)state;
    begin(NULL);
    for (int i = 0; i < ASSAY_BOTTLENECK_MAX_LAYERS + 10; i++) {
        snprintf(name, sizeof name, "layer%d", i);
        call(name, 1);
    }
    call("layer7", 1);
    analyze();
    assert_int_equal(result->n_layers, ASSAY_BOTTLENECK_MAX_LAYERS);
    assert_int_equal(result->dropped_calls, 10);
    assert_int_equal(result->n_calls, ASSAY_BOTTLENECK_MAX_LAYERS + 1);
    done();
}

/* Without timing: once its sample is full, a layer asks for no memory, and the sample stays. */
static void ten_times_the_calls_cost_no_more_memory(void **state)
{
    uint64_t asked;

    (void)state;
    begin(NULL);
    for (int i = 0; i < 5000; i++)
        call("x", 1);
    as_alloc_fail_at(0, 0);
    asked = as_alloc_count();
    for (int i = 0; i < 50000; i++)
        call("x", 1);
    assert_int_equal(as_alloc_count(), asked);
    assert_int_equal(analyzer->layer[0].n_samples, 4096);
    assert_int_equal(analyzer->layer[0].capacity, 4096);
    done();
}

static void wrong_use_is_refused(void **state)
{
    static const double bad[] = {-1, UNIT_INFINITY, UNIT_NAN, 1e300};
    struct assay_bottleneck_analyzer_options o = {
        .size = sizeof(struct assay_bottleneck_analyzer_options)};
    struct assay_layer_metrics m = {.size = sizeof m};
    char *long_name = malloc(ASSAY_BOTTLENECK_MAX_NAME + 2);
    struct assay_error err;

    (void)state;
    begin(NULL);
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        m.execution_seconds = bad[i];
        assert_int_equal(assay_bottleneck_analyzer_record(analyzer, "x", &m, &err),
                         ASSAY_ERR_USAGE);
    }
    m.execution_seconds = 1;
    assert_int_equal(assay_bottleneck_analyzer_record(analyzer, NULL, &m, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bottleneck_analyzer_record(analyzer, "", &m, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bottleneck_analyzer_record(analyzer, "x", NULL, &err), ASSAY_ERR_USAGE);
    m.cpu_seconds = -1;
    assert_int_equal(assay_bottleneck_analyzer_record(analyzer, "x", &m, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "cpu_seconds"));
    m.cpu_seconds = UNIT_NAN;
    m.memory_usage_mb = UNIT_INFINITY; /* not known */
    record("x", &m);
    assert_non_null(long_name);
    memset(long_name, 'n', ASSAY_BOTTLENECK_MAX_NAME + 1);
    long_name[ASSAY_BOTTLENECK_MAX_NAME + 1] = '\0';
    record(long_name, &m);
    analyze();
    assert_int_equal(result->n_calls, 1);
    assert_int_equal(result->dropped_calls, 1);
    assert_true(isnan(result->bottlenecks[0].mean_memory_usage_mb));
    free(long_name);
    done();
    o.threshold_percentile = 101;
    assert_int_equal(assay_bottleneck_analyzer_new(&analyzer, &o, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "threshold_percentile"));
    o.threshold_percentile = UNIT_NAN;
    assert_int_equal(assay_bottleneck_analyzer_new(&analyzer, &o, &err), ASSAY_ERR_USAGE);
    assay_bottleneck_analyzer_free(NULL);
}

static void reset_forgets_everything(void **state)
{
    (void)state;
    three_layers(NULL);
    analyze();
    assay_bottleneck_analyzer_reset(analyzer);
    analyze();
    assert_int_equal(result->n_layers + result->n_ranked + result->n_bottlenecks, 0);
    call("y", 1);
    analyze();
    assert_int_equal(result->n_layers, 1);
    done();
}

/* ---- faults ---- */

static int whole_life(struct assay_error *err)
{
    struct assay_layer_metrics m = {.size = sizeof m};
    struct assay_bottleneck_analyzer *a = NULL;
    const struct assay_bottleneck_result *r;
    int rc = assay_bottleneck_analyzer_new(&a, NULL, err);

    m.io_wait_seconds = 0.2;
    for (int i = 0; rc == ASSAY_OK && i < 200; i++) {
        char name[16];

        snprintf(name, sizeof name, "l%d", i % 20);
        m.execution_seconds = 1 + i % 3;
        rc = assay_bottleneck_analyzer_record(a, name, &m, err);
    }
    if (rc == ASSAY_OK)
        rc = assay_bottleneck_analyzer_analyze(a, &r, err);
    assay_bottleneck_analyzer_free(a);
    return rc;
}

static void any_allocation_may_fail(void **state)
{
    struct assay_error err = {0};
    uint64_t n;

    (void)state;
    as_alloc_fail_at(0, 0);
    assert_int_equal(whole_life(&err), ASSAY_OK);
    n = as_alloc_count();
    for (uint64_t nth = 1; nth <= n; nth++) {
        for (int persistent = 0; persistent < 2; persistent++) {
            int rc;

            as_alloc_fail_at(nth, persistent);
            rc = whole_life(&err);
            as_alloc_fail_at(0, 0);
            assert_int_equal(rc, ASSAY_ERR_NOMEM);
        }
    }
}

/* ---- what is shown ---- */

static void make_hostile(void)
{
    static const char *const name[] = {"\x1b[31mred", "a|b\n<script>", "bad\xff\xfe",
                                       "rtl\xe2\x80\xae.exe", "%s%n \"quoted\""};
    struct assay_bottleneck_analyzer_options o = with_peaks();
    struct assay_layer_metrics m = {.size = sizeof m};

    begin(&o);
    for (size_t i = 0; i < UNIT_COUNT(name); i++) {
        m.execution_seconds = 1 + (double)i;
        m.memory_usage_mb = 600;
        m.io_wait_seconds = 0.5;
        m.flops = 50e9;
        record(name[i], &m);
    }
    analyze();
}

static void json_is_strict(void **state)
{
    struct as_json_writer w;
    struct as_out out = unit_out();
    const char *text;
    size_t size;

    (void)state;
    make_hostile();
    as_json_writer_init(&w, &out, 0);
    as_bottleneck_json(&w, result, 0);
    assert_int_equal(as_json_writer_finish(&w, NULL), ASSAY_OK);
    text = as_out_get(&out, &size);
    assert_null(memchr(text, 0x1b, size));
    assert_null(memchr(text, '<', size));
    assert_null(strstr(text, "nan"));
    assert_non_null(strstr(text, "\"io_intensity\":null"));
    assert_non_null(strstr(text, "\"bottleneck_type\":[\"memory\"]"));
    assert_non_null(strstr(text, "\"severity_score\":7.5"));
    assert_non_null(strstr(text, "\"bottleneck_types\":{\"memory\":1}"));
    as_out_drop(&out);
    done();
}

static void the_page_is_safe_and_colored(void **state)
{
    const struct as_term plain = {.width = 80}, color = {.color = true, .width = 160};
    struct as_out out = unit_out();
    struct as_page page;
    const char *text;

    (void)state;
    make_hostile();
    as_page_open(&page, &out, &plain, false);
    as_bottleneck_page(&page, result, 2);
    assert_int_equal(as_page_close(&page, NULL), ASSAY_OK);
    text = as_out_get(&out, NULL);
    assert_null(strchr(text, 0x1b));
    for (const char *at = text; *at; at++)
        assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
    assert_non_null(strstr(text, "... 3 more"));
    out.used = 0;
    as_page_open(&page, &out, &color, false);
    as_bottleneck_page(&page, result, 0);
    assert_int_equal(as_page_close(&page, NULL), ASSAY_OK);
    text = as_out_get(&out, NULL);
    assert_non_null(strstr(text, as_term_style(&color, AS_STYLE_BAD)));
    as_out_drop(&out);
    done();
}

/* A program that leaves fields out by a designated initializer must not get wrong answers. */
static void fields_left_out_are_unknown(void **state)
{
    struct assay_layer_metrics m = {.size = sizeof m, .execution_seconds = 0.25};

    (void)state;
    begin(NULL);
    record("conv", &m);
    m.execution_seconds = 1;
    record("dense", &m);
    analyze();
    near(result->total_self_seconds, 1.25);
    assert_int_equal(result->summary.by_type[ASSAY_BOTTLENECK_UNDERUTILIZATION], 0);
    assert_true(isnan(result->bottlenecks[0].gpu_utilization_percent));
    assert_true(isnan(result->bottlenecks[0].io_intensity));
    m.gpu_utilization_percent = m.io_operations = ASSAY_MEASURED_ZERO;
    record("dense", &m);
    analyze();
    assert_true(result->bottlenecks[0].gpu_utilization_percent == 0);
    assert_true(result->bottlenecks[0].io_intensity == 0);
    assert_int_equal(result->summary.by_type[ASSAY_BOTTLENECK_UNDERUTILIZATION], 1);
    done();
}

static void the_short_call_knows_the_time_alone(void **state)
{
    (void)state;
    begin(NULL);
    assert_int_equal(assay_bottleneck_analyzer_call(analyzer, "x", 0.5), ASSAY_OK);
    assert_int_equal(assay_bottleneck_analyzer_call(analyzer, "idle", 0), ASSAY_OK);
    assert_int_equal(assay_bottleneck_analyzer_call(analyzer, NULL, 1), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bottleneck_analyzer_call(analyzer, "x", -1), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bottleneck_analyzer_call(NULL, "x", 1), ASSAY_ERR_USAGE);
    analyze();
    assert_int_equal(result->size, sizeof *result);
    assert_int_equal(result->n_calls, 2);
    near(result->total_self_seconds, 0.5);
    assert_int_equal(ranked("x")->n_causes, 0);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_left_out_are_unknown),
        cmocka_unit_test(figures_are_those_of_numpy),
        cmocka_unit_test(the_percentile_can_be_set),
        cmocka_unit_test(no_data_gives_empty_lists),
        cmocka_unit_test(each_type_begins_past_its_limit),
        cmocka_unit_test(compute_begins_past_its_factor),
        cmocka_unit_test(factors_are_averaged),
        cmocka_unit_test(variance_begins_past_its_limit),
        cmocka_unit_test(a_threshold_of_zero_divides_nothing),
        cmocka_unit_test(equal_layers_are_not_all_severe),
        cmocka_unit_test(the_one_slow_layer_is_not_missed),
        cmocka_unit_test(one_call_does_not_weigh_like_a_thousand),
        cmocka_unit_test(self_time_is_what_is_ranked),
        cmocka_unit_test(failed_calls_count_apart),
        cmocka_unit_test(the_roofline_names_what_bounds),
        cmocka_unit_test(measured_peaks_tell_the_level),
        cmocka_unit_test(absurd_counts_do_no_harm),
        cmocka_unit_test(more_than_the_roof_allows_is_said),
        cmocka_unit_test(other_causes_are_parts_of_the_time),
        cmocka_unit_test(weak_causes_are_not_named),
        cmocka_unit_test(variance_is_what_exceeds_the_median),
        cmocka_unit_test(severity_never_falls),
        cmocka_unit_test(faults_that_do_not_fit_are_not_its_own),
        cmocka_unit_test(telling_more_never_lowers_severity),
        cmocka_unit_test(a_sample_weighs_by_calls),
        cmocka_unit_test(a_fair_sample_is_near_the_whole),
        cmocka_unit_test(layers_past_the_limit_are_counted),
        cmocka_unit_test(ten_times_the_calls_cost_no_more_memory),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(reset_forgets_everything),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(json_is_strict),
        cmocka_unit_test(the_page_is_safe_and_colored),
        cmocka_unit_test(the_short_call_knows_the_time_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
