/* tests/unit/test_machine_report.c - one made-up machine as a page and as JSON. */
#include "peaks_kit.h"

#include "base/json/json_parser.h"
#include "base/text/utf8.h"
#include "report/machine/machine_report.h"

struct shown {
    struct as_topology topology;
    struct as_system_load load;
    struct as_memory_headroom headroom;
    struct as_noise noise;
    struct as_peaks peaks;
    struct as_fitness fitness;
    struct as_machine_report report;
};

static void make(struct shown *s)
{
    *s = (struct shown){
        .topology = {.cpu = {.model = "A processor \x1b[31m of \xff bytes", .flags_known = true},
                     .n_sockets = 1,
                     .n_cores = 2,
                     .n_threads = 2,
                     .n_numa = 1,
                     .n_usable = 2,
                     .smt.value = 1,
                     .caches_why = "none are told",
                     .memory_bytes.why = "nobody tells",
                     .container = {.memory_used.why = "x", .throttled.why = "x"},
                     .frequency = {.governor_why = "no cpufreq",
                                   .turbo_why = "no cpufreq",
                                   .min_hz.why = "no cpufreq",
                                   .max_hz.why = "no cpufreq",
                                   .current_hz.why = "no cpufreq"}},
        .load.load_1.why = "no loadavg",
        .headroom.left.value = UINT64_C(5) << 30,
        .noise = {.n_pairs = 10, .kernel_ns = 1e6, .p95_share = UNIT_NAN, .shares.steal.why = "x"},
        .peaks = kit_peaks(),
    };
    as_fitness_judge(&s->fitness, &(struct as_fitness_facts){.topology = &s->topology,
                                                             .load = &s->load,
                                                             .headroom = &s->headroom,
                                                             .noise = &s->noise,
                                                             .peaks = &s->peaks});
    s->report = (struct as_machine_report){.topology = &s->topology,
                                           .load = &s->load,
                                           .headroom = &s->headroom,
                                           .peaks = &s->peaks,
                                           .noise = &s->noise,
                                           .fitness = &s->fitness,
                                           .fingerprint = "ab",
                                           .from_cache = true,
                                           .now_unix_ns = s->peaks.measured_unix_ns +
                                                          UINT64_C(3 * 86400) * 1000000000};
}

static void the_page_fits_its_width(void **state)
{
    static const unsigned widths[] = {80, 100, 160};
    struct shown s;

    (void)state;
    make(&s);
    for (size_t i = 0; i < UNIT_COUNT(widths); i++) {
        const struct as_term term = {.unicode = i > 0, .width = widths[i]};
        struct as_out out = unit_out();
        const char *text, *line;

        assert_int_equal(as_machine_page(&s.report, &out, &term, NULL), ASSAY_OK);
        text = as_out_get(&out, NULL);
        assert_null(strchr(text, '\x1b'));
        assert_non_null(strstr(text, "measured 3 days ago"));
        assert_non_null(strstr(text, "bf16: the CPU has no AVX512_BF16"));
        assert_non_null(strstr(text, "179 GFLOP/s"));
        assert_non_null(strstr(text, "Ridge points"));
        for (line = text; *line;) {
            size_t size = strcspn(line, "\n");

            assert_true(as_utf8_width(line, size) <= widths[i]);
            line += size + (line[size] == '\n');
        }
        as_out_drop(&out);
    }
}

static void markdown_has_tables(void **state)
{
    const struct as_term term = {.width = 80};
    struct as_out out = unit_out();
    struct shown s;

    (void)state;
    make(&s);
    s.report.markdown = true;
    assert_int_equal(as_machine_page(&s.report, &out, &term, NULL), ASSAY_OK);
    assert_non_null(strstr(as_out_get(&out, NULL), "## Peak compute"));
    assert_non_null(strstr(as_out_get(&out, NULL), "\n| L1"));
    as_out_drop(&out);
}

/* Whatever is null has a reason beside it. */
static void nothing_is_null_without_a_reason(void **state)
{
    struct as_out out = unit_out();
    struct as_json_parser p;
    struct shown s;
    char key[80] = "", waiting[80] = "";
    size_t size, n_null = 0;
    const char *text;
    int kind;

    (void)state;
    make(&s);
    s.report.noise = NULL;
    UNIT_JSON(&out, as_json_fields_put(&w_, &as_machine_document_shape, &s.report));
    text = as_out_get(&out, &size);
    as_json_parser_init(&p, text, size);
    while ((kind = as_json_next(&p, NULL)) > 0) {
        if (kind == AS_JSON_KEY) {
            assert_true(p.text_size < sizeof key);
            memcpy(key, p.text, p.text_size);
            key[p.text_size] = '\0';
            if (waiting[0])
                assert_string_equal(key, waiting);
            waiting[0] = '\0';
        }
        /* These are absent by their nature: no advice, no name, nothing measured to spread. */
        if (kind == AS_JSON_NULL && strcmp(key, "action") != 0 && strcmp(key, "target") != 0 &&
            strcmp(key, "expected_gain") != 0 && strcmp(key, "hypervisor") != 0 &&
            strcmp(key, "cache_path") != 0 && strcmp(key, "kernel_isa_capped_by") != 0 &&
            strcmp(key, "spread_share") != 0 && strcmp(key, "isa") != 0) {
            assert_true(snprintf(waiting, sizeof waiting, "%.70s_reason", key) > 0);
            n_null++;
        }
    }
    assert_int_equal(kind, AS_JSON_END);
    assert_true(n_null >= 10);
    as_json_parser_fini(&p);
    as_out_drop(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_fits_its_width),
        cmocka_unit_test(markdown_has_tables),
        cmocka_unit_test(nothing_is_null_without_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
