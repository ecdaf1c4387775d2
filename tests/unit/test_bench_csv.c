/* tests/unit/test_bench_csv.c - the CSV files of a benchmark: to the letter, there and back, and
 * what is refused. */
#include "unit.h"

#include <assay/experiment/bench_csv.h>

#include <locale.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "experiment/bench/bench_csv_schema.h"
#include "probe/process/memory_probe.h"
#include "root_kit.h"
#include "stats/describe/rng.h"

#define ALL ((1u << ASSAY_CSV_SCHEMA_COUNT) - 1)
#define HEADER7                                                                                    \
    "setting,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,"              \
    "p95_latency_us,accuracy\n"
#define HEADER9                                                                                    \
    "setting,lambda,tau,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,"   \
    "p95_latency_us,accuracy\n"
#define LATENCY "sample_id,wall_time_us,kernel_time_us,seq_len\n"
#define MEMORY  "timestamp_us,peak_rss_bytes,kv_cache_bytes,activation_bytes,temp_buffer_bytes\n"
#define SAMPLES "sample_id,seq_len,wall_time_us,peak_mem_bytes,energy_j\n"
#define POWER   "timestamp_us,watts\n"

static char path[256], beside[300];
static struct kit_root folder;

static int set_up(void **state)
{
    (void)state;
    folder = kit_root_new();
    snprintf(path, sizeof path, "%s/a/b/file.csv", folder.path);
    snprintf(beside, sizeof beside, "%s.meta.json", path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kit_root_fini(&folder);
    return 0;
}

static void expect_file(const char *expected)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "re");
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    assert_string_equal(text, expected);
}

static const struct assay_result_row documented = {
    .setting = "mincut_l0.5_t2",
    .lambda = 0.5,
    .tau = 2,
    .coherence_delta = -0.003,
    .kv_cache_reduction = 0.25,
    .peak_mem_reduction = 0.18,
    .energy_reduction = 0.12,
    .p95_latency_us = 1150,
    .accuracy = 0.994,
};

static void the_documented_rows(void **state)
{
    (void)state;
    assert_int_equal(assay_csv_write_results(path, &documented, 1, NULL, NULL), ASSAY_OK);
    expect_file(HEADER7 "mincut_l0.5_t2,-0.003,0.25,0.18,0.12,1150,0.994\n");
    assert_int_equal(assay_csv_write_results9(path, &documented, 1, NULL, NULL), ASSAY_OK);
    expect_file(HEADER9 "mincut_l0.5_t2,0.5,2,-0.003,0.25,0.18,0.12,1150,0.994\n");
    assert_int_equal(access(beside, F_OK), -1);
}

static void headers_alone(void **state)
{
    (void)state;
    assert_int_equal(assay_csv_write_results(path, NULL, 0, NULL, NULL), ASSAY_OK);
    expect_file(HEADER7);
    assert_int_equal(assay_csv_write_results9(path, NULL, 0, NULL, NULL), ASSAY_OK);
    expect_file(HEADER9);
    assert_int_equal(assay_csv_write_latency(path, NULL, 0, NULL, NULL), ASSAY_OK);
    expect_file(LATENCY);
    assert_int_equal(assay_csv_write_memory(path, NULL, 0, NULL, NULL), ASSAY_OK);
    expect_file(MEMORY);
    assert_int_equal(assay_csv_write_samples(path, NULL, 0, NULL, NULL), ASSAY_OK);
    expect_file(SAMPLES);
    assert_int_equal(assay_csv_write_power(path, NULL, 0, NULL, NULL), ASSAY_OK);
    expect_file(POWER);
}

static void unknown_is_an_empty_field_and_never_zero(void **state)
{
    const struct assay_result_row none = {"x",      UNIT_NAN, UNIT_NAN, UNIT_NAN, UNIT_NAN,
                                          UNIT_NAN, UNIT_NAN, UNIT_NAN, UNIT_NAN};
    const struct assay_latency_record records[] = {
        {.sample_id = 1, .wall_time_ns = 1999, .kernel_time_ns = 7000, .seq_len = 128},
        {2, 1000999, 999, true, 0},
    };
    const struct assay_sample_row samples[] = {
        {1, 128, 1500, ASSAY_UNKNOWN, UNIT_NAN},
        {2, 256, 2000000, 0, 0},
    };
    const struct assay_power_sample power[] = {{UNIT_NAN, 1}, {0, 2}, {75.5, 3}};
    struct assay_memory_snapshot m[2];

    (void)state;
    assert_int_equal(assay_csv_write_results9(path, &none, 1, NULL, NULL), ASSAY_OK);
    expect_file(HEADER9 "x,,,,,,,,\n");
    assert_int_equal(assay_csv_write_latency(path, records, 2, NULL, NULL), ASSAY_OK);
    expect_file(LATENCY "1,1,,128\n2,1000,0,0\n");
    assert_int_equal(assay_csv_write_samples(path, samples, 2, NULL, NULL), ASSAY_OK);
    expect_file(SAMPLES "1,128,1,,\n2,256,2000,0,0\n");
    assert_int_equal(assay_csv_write_power(path, power, 3, NULL, NULL), ASSAY_OK);
    expect_file(POWER "1,\n2,0\n3,75.5\n");
    as_memory_snapshot_clear(&m[0]);
    as_memory_snapshot_clear(&m[1]);
    m[0].timestamp_us = 5;
    m[0].rss_bytes = 1; /* not in the file */
    m[1] = (struct assay_memory_snapshot){.timestamp_us = 6,
                                          .peak_rss_bytes = 100,
                                          .kv_cache_bytes = 10,
                                          .activation_bytes = 0,
                                          .temp_buffer_bytes = UINT64_MAX - 1};
    assert_int_equal(assay_csv_write_memory(path, m, 2, NULL, NULL), ASSAY_OK);
    expect_file(MEMORY "5,,,,\n6,100,10,0,18446744073709551614\n");
}

static void settings_are_quoted_and_come_back(void **state)
{
    static const char *const names[] = {
        "a,b", "say \"hi\"", "two\nlines", "cr\rlf", "=1+1", "'=x", "-5", "", "é\xf0\x9f\x98\x80"};
    struct assay_result_row rows[UNIT_COUNT(names)];
    const struct assay_result_row *back;
    struct assay_csv_rows *out;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(names); i++) {
        rows[i] = documented;
        rows[i].setting = names[i];
    }
    assert_int_equal(assay_csv_write_results(path, rows, 5, NULL, NULL), ASSAY_OK);
    expect_file(HEADER7 "\"a,b\",-0.003,0.25,0.18,0.12,1150,0.994\n"
                        "\"say \"\"hi\"\"\",-0.003,0.25,0.18,0.12,1150,0.994\n"
                        "\"two\nlines\",-0.003,0.25,0.18,0.12,1150,0.994\n"
                        "cr\\rlf,-0.003,0.25,0.18,0.12,1150,0.994\n"
                        "'=1+1,-0.003,0.25,0.18,0.12,1150,0.994\n");
    assert_int_equal(assay_csv_write_results(path, rows, UNIT_COUNT(names), NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_csv_read_results(path, &out, NULL), ASSAY_OK);
    assert_int_equal(assay_csv_rows_count(out), UNIT_COUNT(names));
    back = assay_csv_rows_results(out);
    for (size_t i = 0; i < UNIT_COUNT(names); i++) {
        /* What could move the cursor of a terminal is shown, not sent. */
        assert_string_equal(back[i].setting, i == 3 ? "cr\\rlf" : names[i]);
        assert_true(isnan(back[i].lambda) && isnan(back[i].tau));
        assert_true(back[i].p95_latency_us == 1150 && back[i].accuracy == 0.994);
    }
    assay_csv_rows_free(out);
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

/* Any finite double. */
static double any_double(struct as_rng *rng)
{
    double value;

    do {
        uint64_t bits = as_rng_next(rng);

        memcpy(&value, &bits, sizeof value);
    } while (!isfinite(value));
    return value;
}

static void numbers_come_back_as_they_were(void **state)
{
    enum { N = 2000 };
    static struct assay_result_row rows[N];
    static struct assay_sample_row samples[N];
    const struct assay_result_row *back;
    const struct assay_sample_row *sample;
    struct assay_csv_rows *out;
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 7);
    for (size_t i = 0; i < N; i++) {
        rows[i] = documented;
        rows[i].lambda = i % 5 ? fabs(any_double(&rng)) : UNIT_NAN;
        rows[i].tau = (double)as_rng_below(&rng, 1000);
        rows[i].coherence_delta = any_double(&rng);
        rows[i].energy_reduction = -fabs(any_double(&rng));
        rows[i].accuracy = (double)as_rng_below(&rng, 1u << 30) / (1u << 30);
        samples[i] = (struct assay_sample_row){as_rng_next(&rng), as_rng_next(&rng),
                                               as_rng_next(&rng) / 1000 * 1000,
                                               as_rng_next(&rng) - 1, fabs(any_double(&rng))};
    }
    assert_int_equal(assay_csv_write_results9(path, rows, N, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_csv_read_any(path, &out, NULL), ASSAY_OK);
    assert_int_equal(assay_csv_rows_schema(out), ASSAY_CSV_RESULTS9);
    back = assay_csv_rows_results(out);
    for (size_t i = 0; i < N; i++)
        assert_true(same(back[i].lambda, rows[i].lambda) && same(back[i].tau, rows[i].tau) &&
                    same(back[i].coherence_delta, rows[i].coherence_delta) &&
                    same(back[i].energy_reduction, rows[i].energy_reduction) &&
                    same(back[i].accuracy, rows[i].accuracy));
    assay_csv_rows_free(out);
    assert_int_equal(assay_csv_write_samples(path, samples, N, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_csv_read_samples(path, &out, NULL), ASSAY_OK);
    assert_int_equal(assay_csv_rows_count(out), N);
    sample = assay_csv_rows_samples(out);
    for (size_t i = 0; i < N; i++)
        assert_true(sample[i].sample_id == samples[i].sample_id &&
                    sample[i].seq_len == samples[i].seq_len &&
                    sample[i].wall_time_ns == samples[i].wall_time_ns &&
                    sample[i].peak_mem_bytes == samples[i].peak_mem_bytes &&
                    same(sample[i].energy_j, samples[i].energy_j));
    assay_csv_rows_free(out);
}

/* The rows of a text. */
static struct assay_csv_rows *parsed(const char *text, unsigned allowed)
{
    struct assay_csv_rows *out;
    struct assay_error err;

    if (as_bench_csv_parse(text, strlen(text), "f", allowed, &out, &err) != ASSAY_OK)
        fail_msg("%s", err.msg);
    return out;
}

static void what_the_file_does_not_hold_is_unknown(void **state)
{
    struct assay_csv_rows *out = parsed(LATENCY "1,2,,3\r\n4,5,6,7", ALL);
    const struct assay_latency_record *r = assay_csv_rows_latency(out);
    const struct assay_memory_snapshot *m;
    const struct assay_power_sample *p;

    (void)state;
    assert_int_equal(assay_csv_rows_count(out), 2);
    assert_true(r[0].wall_time_ns == 2000 && !r[0].kernel_available && r[0].seq_len == 3);
    assert_true(r[1].kernel_time_ns == 6000 && r[1].kernel_available);
    assert_null(assay_csv_rows_memory(out));
    assert_null(assay_csv_rows_results(out));
    assay_csv_rows_free(out);
    out = parsed("\xef\xbb\xbf" MEMORY "9,100,,0,\n", 1u << ASSAY_CSV_MEMORY);
    m = assay_csv_rows_memory(out);
    assert_true(m->timestamp_us == 9 && m->peak_rss_bytes == 100 && m->activation_bytes == 0);
    assert_true(m->kv_cache_bytes == ASSAY_UNKNOWN && m->temp_buffer_bytes == ASSAY_UNKNOWN);
    assert_true(m->rss_bytes == ASSAY_UNKNOWN && m->swap_bytes == ASSAY_UNKNOWN);
    assert_non_null(m->why);
    assay_csv_rows_free(out);
    out = parsed(POWER "1,\n2,7.5\n", ALL);
    p = assay_csv_rows_power(out);
    assert_true(isnan(p[0].watts) && p[1].watts == 7.5 && p[1].timestamp_us == 2);
    assay_csv_rows_free(out);
    out = parsed(POWER, ALL);
    assert_true(assay_csv_rows_count(out) == 0 && !assay_csv_rows_power(out));
    assay_csv_rows_free(out);
    assay_csv_rows_free(NULL);
    assert_int_equal(assay_csv_rows_count(NULL), 0);
    assert_int_equal(assay_csv_rows_schema(NULL), ASSAY_CSV_SCHEMA_COUNT);
    assert_null(assay_csv_rows_results(NULL));
}

struct refusal {
    const char *text, *blame;
};

static void damaged_files_are_refused_with_line_and_column(void **state)
{
    static const struct refusal cases[] = {
        {"", "line 1"},
        {"\n\n", "line 1"},
        {"hello\n", "line 1"},
        {"sample_id,wall_time_us,kernel_time_us\n1,2,3\n", "line 1"},
        {"timestamp_us,Watts\n", "line 1"},
        {"timestamp_us, watts\n", "line 1"},
        {"watts,timestamp_us\n", "line 1"},
        {POWER "1\n", "line 2: 1 fields"},
        {POWER "1,2,3\n", "line 2: 3 fields"},
        {POWER "1,2\n\n1,2,\n", "line 4: 3 fields"},
        {POWER ",2\n", "line 2, column timestamp_us"},
        {POWER "1,-2\n", "line 2, column watts"},
        {POWER "1,nan\n", "line 2, column watts"},
        {POWER "1,NaN\n", "line 2, column watts"},
        {POWER "1,inf\n", "line 2, column watts"},
        {POWER "1,1e999\n", "line 2, column watts"},
        {POWER "1,0x10\n", "line 2, column watts"},
        {POWER "1, 2\n", "line 2, column watts"},
        {POWER "1,2 \n", "line 2, column watts"},
        {POWER "1,\"2,5\"\n", "line 2, column watts"},
        {POWER "1,2\n-1,2\n", "line 3, column timestamp_us"},
        {POWER "1.5,2\n", "line 2, column timestamp_us"},
        {POWER "18446744073709551616,2\n", "line 2, column timestamp_us"},
        {POWER "1,\"2\n", "line 2"},
        {LATENCY "1,,2,3\n", "line 2, column wall_time_us"},
        {LATENCY "1,18446744073709552,2,3\n", "line 2, column wall_time_us"},
        {LATENCY "1,2,x,3\n", "line 2, column kernel_time_us"},
        {MEMORY "1,18446744073709551615,2,3,4\n", "line 2, column peak_rss_bytes"},
        {SAMPLES "1,2,3,4,-0.5\n", "line 2, column energy_j"},
        {HEADER7 "x,0,0,0,0,-1,0\n", "line 2, column p95_latency_us"},
        {HEADER7 "x,0,0,0,0,1.5,0\n", "line 2, column p95_latency_us"},
        {HEADER7 "x,0,0,0,0,9007199254740993,0\n", "line 2, column p95_latency_us"},
        {HEADER7 "x,0,0,0,0,1,1.01\n", "line 2, column accuracy"},
        {HEADER7 "x,0,1.5,0,0,1,1\n", "line 2, column kv_cache_reduction"},
        {HEADER7 "\"a\nb\",0,0,0,0,1,1\nx,0,0,?,0,1,1\n", "line 4, column peak_mem_reduction"},
        {HEADER7 "\xff,0,0,0,0,1,1\n", "line 2, column setting"},
        {HEADER9 "x,-0.1,2,0,0,0,0,1,1\n", "line 2, column lambda"},
        {HEADER9 "x,0.1,-2,0,0,0,0,1,1\n", "line 2, column tau"},
        {HEADER9 "x,0.1,2.5,0,0,0,0,1,1\n", "line 2, column tau"},
        {HEADER9 "x,0,0,0,0,1,1\n", "line 2: 7 fields"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct assay_csv_rows *out;
        struct assay_error err;

        assert_int_equal(
            as_bench_csv_parse(cases[i].text, strlen(cases[i].text), "f.csv", ALL, &out, &err),
            ASSAY_ERR_FORMAT);
        assert_null(out);
        if (!strstr(err.msg, cases[i].blame))
            fail_msg("'%s' does not say '%s'", err.msg, cases[i].blame);
    }
}

static void a_file_of_another_kind_is_refused(void **state)
{
    static int (*const readers[])(const char *, struct assay_csv_rows **, struct assay_error *) = {
        assay_csv_read_results, assay_csv_read_memory, assay_csv_read_samples,
        assay_csv_read_power};
    struct assay_csv_rows *out;
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_csv_write_latency(path, NULL, 0, NULL, NULL), ASSAY_OK);
    for (size_t i = 0; i < UNIT_COUNT(readers); i++) {
        assert_int_equal(readers[i](path, &out, &err), ASSAY_ERR_FORMAT);
        assert_null(out);
        assert_non_null(strstr(err.msg, "line 1"));
    }
    assert_int_equal(assay_csv_read_latency(path, &out, NULL), ASSAY_OK);
    assay_csv_rows_free(out);
    assert_int_equal(assay_csv_read_latency(folder.path, &out, &err), ASSAY_ERR_IO);
    assert_int_equal(assay_csv_read_latency(NULL, &out, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_csv_read_latency(path, NULL, NULL), ASSAY_ERR_USAGE);
}

static void what_cannot_be_read_back_is_not_written(void **state)
{
    const struct assay_power_sample power[] = {{1, 1}, {-1, 2}};
    struct assay_result_row rows[2] = {documented, documented};
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_csv_write_power(path, power, 1, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_csv_write_power(path, power, 2, NULL, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "row 2, watts"));
    expect_file(POWER "1,1\n"); /* the older file stays */
#define REFUSED(field, value)                                                                      \
    do {                                                                                           \
        rows[1] = documented;                                                                      \
        rows[1].field = value;                                                                     \
        assert_int_equal(assay_csv_write_results9(path, rows, 2, NULL, &err), ASSAY_ERR_USAGE);    \
        assert_non_null(strstr(err.msg, "row 2, " #field));                                        \
    } while (0)
    REFUSED(setting, NULL);
    REFUSED(setting, "\xff");
    REFUSED(lambda, -1);
    REFUSED(lambda, UNIT_INFINITY);
    REFUSED(tau, -1);
    REFUSED(coherence_delta, UNIT_INFINITY);
    REFUSED(kv_cache_reduction, 1.5);
    REFUSED(p95_latency_us, -1);
    REFUSED(p95_latency_us, 1e300);
    REFUSED(accuracy, 1.5);
    REFUSED(accuracy, -0.5);
    expect_file(POWER "1,1\n");
    assert_int_equal(assay_csv_write_power(NULL, power, 1, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_csv_write_power("", power, 1, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_csv_write_power(path, NULL, 1, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_csv_write_power("/proc/none/x.csv", power, 1, NULL, NULL), ASSAY_ERR_IO);
    assert_int_equal(assay_csv_write_power("/dev/full", power, 1, NULL, &err), ASSAY_ERR_IO);
}

static void a_stamp_stands_beside_the_file(void **state)
{
    struct assay_csv_stamp stamp = {.size = sizeof stamp, .config_hash = "not hex"};
    struct assay_csv_rows *out;
    struct stat st;

    (void)state;
    assert_int_equal(assay_csv_write_results(path, &documented, 1, &stamp, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(stat(path, &st), -1);
    stamp.config_hash = NULL;
    assert_int_equal(assay_csv_write_results(path, &documented, 1, &stamp, NULL), ASSAY_OK);
    assert_int_equal(stat(beside, &st), 0);
    assert_int_equal(assay_csv_read_results(path, &out, NULL), ASSAY_OK); /* to the letter still */
    assay_csv_rows_free(out);
}

static void a_decimal_comma_changes_nothing(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip();
    assert_int_equal(assay_csv_write_results(path, &documented, 1, NULL, NULL), ASSAY_OK);
    setlocale(LC_NUMERIC, "C");
    expect_file(HEADER7 "mincut_l0.5_t2,-0.003,0.25,0.18,0.12,1150,0.994\n");
}

static void schemas_have_names(void **state)
{
    (void)state;
    assert_string_equal(assay_csv_schema_name(ASSAY_CSV_RESULTS9), "results9");
    assert_string_equal(assay_csv_schema_name(ASSAY_CSV_POWER), "power");
    assert_null(assay_csv_schema_name(ASSAY_CSV_SCHEMA_COUNT));
}

static void running_out_of_memory_is_told(void **state)
{
    (void)state;
#ifdef ASSAY_FAULTS
    for (uint64_t nth = 1; nth < 500; nth++) {
        struct assay_fingerprint *f = NULL;
        struct assay_csv_stamp stamp = {.size = sizeof stamp};
        struct assay_csv_rows *out = NULL;
        int rc;

        assert_int_equal(assay_fingerprint_new(&f, NULL, NULL), ASSAY_OK);
        stamp.fingerprint = f;
        assert_int_equal(assay_fingerprint_set_u64(f, "seed", 1, ASSAY_FACT_DECIDES, NULL), 0);
        as_alloc_fail_at(nth, 0);
        rc = assay_csv_write_results(path, &documented, 1, &stamp, NULL);
        if (rc == 0)
            rc = assay_csv_read_results(path, &out, NULL);
        as_alloc_fail_at(0, 0);
        assay_csv_rows_free(out);
        assay_fingerprint_free(f);
        if (rc == 0)
            return;
        assert_int_equal(rc, ASSAY_ERR_NOMEM);
        assert_null(out);
    }
    fail_msg("every allocation failed");
#endif
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_documented_rows),
        TEST(headers_alone),
        TEST(unknown_is_an_empty_field_and_never_zero),
        TEST(settings_are_quoted_and_come_back),
        TEST(numbers_come_back_as_they_were),
        TEST(what_the_file_does_not_hold_is_unknown),
        TEST(damaged_files_are_refused_with_line_and_column),
        TEST(a_file_of_another_kind_is_refused),
        TEST(what_cannot_be_read_back_is_not_written),
        TEST(a_stamp_stands_beside_the_file),
        TEST(a_decimal_comma_changes_nothing),
        TEST(schemas_have_names),
        TEST(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
