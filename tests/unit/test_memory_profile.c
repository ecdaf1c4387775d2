/* tests/unit/test_memory_profile.c - memory of a session's layers: the documented fields, the peaks
 * within, bounds, and JSON that another parser accepts. */
#include "root_kit.h"

#include <jansson.h>
#include <sched.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "probe/process/memory_probe.h"
#include "report/findings/findings_report.h"

#define UNKNOWN ASSAY_UNKNOWN
#define BLOCK   ((size_t)64 << 20)

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static struct as_memory_moment newest; /* the last reading of the thread */

static struct as_memory_profile *made(const struct as_memory_profile_options *options)
{
    struct as_memory_profile *p;

    assert_int_equal(as_memory_profile_new(&p, options, NULL), ASSAY_OK);
    newest = (struct as_memory_moment){0};
    return p;
}

/* rss of that many pages of 1/256 MiB, of a machine of 1000 MiB. */
static void put_rss(const struct kit_root *root, int pages)
{
    char text[64];

    assert_int_equal(sysconf(_SC_PAGESIZE), 4096);
    snprintf(text, sizeof text, "9999 %d 0 0\n", pages);
    kit_root_put(root, "/proc/self/statm", text);
    kit_root_put(root, "/proc/meminfo", "MemTotal: 1024000 kB\n");
}

/* As the thread of a layer and the manager do it together. */
static void begin(struct as_memory_profile *p, struct as_memory_span *span)
{
    as_memory_profile_refresh(p);
    as_memory_profile_begin_layer(p, &newest, span);
}

static int end(struct as_memory_profile *p, struct as_memory_span *span, const char *layer,
               double timestamp, const char *metadata, struct as_memory_layer_reading *out)
{
    struct as_memory_change change;

    as_memory_profile_end_layer(p, &newest, span, &change);
    return as_memory_profile_add(p, &change, layer, timestamp, metadata, out, NULL);
}

/* One call of a layer that finds and leaves so much. */
static struct as_memory_layer_reading call(struct as_memory_profile *p, const struct kit_root *root,
                                           const char *layer, int before, int after)
{
    struct as_memory_layer_reading r;
    struct as_memory_span span;

    put_rss(root, before);
    begin(p, &span);
    put_rss(root, after);
    assert_int_equal(end(p, &span, layer, 12.5, NULL, &r), ASSAY_OK);
    return r;
}

static void layers_give_the_documented_fields(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_memory_profile *p = made(&(struct as_memory_profile_options){.root = root.path});
    struct as_memory_profile_summary s;
    struct as_memory_layer_reading r;
    struct as_memory_layer_row row;
    struct as_memory_growth g;

    (void)state;
    put_rss(&root, 2560); /* 10 MiB */
    assert_int_equal(as_memory_profile_start(p, NULL), ASSAY_OK);
    r = call(p, &root, "conv1", 2560, 5120);
    assert_string_equal(r.layer, "conv1");
    assert_true(near(r.timestamp, 12.5));
    assert_true(near(r.cpu_memory_mb, 20) && near(r.memory_delta_mb, 10));
    assert_true(near(r.cpu_memory_percent, 2));
    assert_int_equal(r.rss_before_bytes, 10 << 20);
    assert_int_equal(r.rss_peak_bytes, 20 << 20);
    assert_int_equal(r.rss_samples, 0);
    assert_non_null(r.why); /* nothing is counted by category */
    assert_true(r.counted_peak_bytes == UNKNOWN && !r.counted_known);
    (void)call(p, &root, "conv1", 10240, 2560);
    (void)call(p, &root, "fc", 2560, 7680);
    assert_true(as_memory_profile_layer(p, "conv1", &row));
    assert_int_equal(row.call_count, 2);
    assert_true(near(row.mean_memory_mb, 15) && near(row.std_memory_mb, 5)); /* population */
    assert_true(near(row.min_memory_mb, 10) && near(row.max_memory_mb, 20));
    assert_int_equal(row.rss_rise_bytes, 10 << 20);
    assert_false(as_memory_profile_layer(p, "none", &row));
    assert_true(as_memory_profile_layer_at(p, 1, &row));
    assert_string_equal(row.layer, "fc");
    assert_false(as_memory_profile_layer_at(p, 2, &row));
    assert_true(as_memory_profile_growth(p, 1, &g));
    assert_true(near(g.memory_growth_mb, -10)); /* against the first snapshot, not the baseline */
    assert_false(as_memory_profile_growth(p, 3, &g));
    as_memory_profile_summary(p, &s);
    assert_true(near(s.baseline_memory_mb, 10));
    assert_true(near(s.peak_memory_mb, 40)); /* seen as a layer began */
    assert_int_equal(s.total_snapshots, 3);
    assert_true(near(s.memory_growth_mb, 10));
    as_memory_profile_reset(p);
    as_memory_profile_summary(p, &s);
    assert_false(s.started);
    assert_int_equal(s.total_snapshots + s.n_layers, 0);
    assert_true(isnan(s.baseline_memory_mb) && isnan(s.peak_memory_mb));
    assert_non_null(s.why);
    (void)call(p, &root, "again", 256, 256); /* without a start: its begin is the baseline */
    as_memory_profile_summary(p, &s);
    assert_true(near(s.baseline_memory_mb, 1));
    as_memory_profile_free(p);
    as_memory_profile_free(NULL);
    kit_root_fini(&root);
}

static void without_proc_it_says_so_and_goes_on(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_memory_profile *p = made(&(struct as_memory_profile_options){.root = root.path});
    struct as_memory_profile_summary s;
    struct as_memory_layer_reading r;
    struct as_memory_layer_row row;
    struct as_memory_span span;

    (void)state;
    assert_int_equal(as_memory_profile_start(p, NULL), ASSAY_ERR_UNSUPPORTED);
    begin(p, &span);
    assert_int_equal(end(p, &span, "a", 3, NULL, &r), ASSAY_OK);
    assert_true(isnan(r.cpu_memory_mb) && isnan(r.memory_delta_mb) && isnan(r.cpu_memory_percent));
    assert_true(r.rss_after_bytes == UNKNOWN && r.rss_peak_bytes == UNKNOWN);
    assert_non_null(r.why);
    assert_true(as_memory_profile_layer(p, "a", &row));
    assert_int_equal(row.call_count, 1);
    assert_true(isnan(row.mean_memory_mb) && row.max_bytes == UNKNOWN);
    as_memory_profile_summary(p, &s);
    assert_true(isnan(s.peak_memory_mb) && isnan(s.memory_growth_mb));
    as_memory_profile_free(p);
    kit_root_fini(&root);
}

static void young_readings_are_used_again_and_marked(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_memory_profile *p = made(&(struct as_memory_profile_options){
        .root = root.path, .interval_us = UINT64_C(3600) * 1000000});
    struct as_memory_layer_reading r;

    (void)state;
    r = call(p, &root, "a", 256, 512);
    assert_int_equal(r.rss_after_bytes, 1 << 20); /* the old one */
    assert_true(r.after_age_ns > 0);
    as_memory_profile_free(p);
    p = made(&(struct as_memory_profile_options){.root = root.path});
    r = call(p, &root, "a", 256, 512);
    assert_int_equal(r.rss_after_bytes, 2 << 20);
    assert_int_equal(r.after_age_ns, 0);
    as_memory_profile_free(p);
    kit_root_fini(&root);
}

static void old_snapshots_go_and_are_counted(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_memory_profile *p =
        made(&(struct as_memory_profile_options){.root = root.path, .max_snapshots = 3});
    struct as_memory_layer_row row;
    struct as_memory_profile_summary s;
    struct as_memory_growth g;

    (void)state;
    for (int i = 1; i <= 5; i++)
        (void)call(p, &root, "a", 256, 256 * i);
    as_memory_profile_summary(p, &s);
    assert_int_equal(s.total_snapshots, 5);
    assert_int_equal(s.snapshots_kept, 3);
    assert_int_equal(s.snapshots_dropped, 2);
    assert_true(near(as_memory_profile_at(p, 0)->cpu_memory_mb, 3));
    assert_true(near(as_memory_profile_at(p, 2)->cpu_memory_mb, 5));
    assert_null(as_memory_profile_at(p, 3));
    assert_true(as_memory_profile_growth(p, 0, &g));
    assert_true(near(g.memory_growth_mb, 2)); /* the first, though it is gone */
    assert_true(as_memory_profile_layer(p, "a", &row));
    assert_int_equal(row.call_count, 5);
    assert_true(near(row.mean_memory_mb, 3));
    as_memory_profile_free(p);
    kit_root_fini(&root);
}

static void many_layers_share_a_row_in_the_end(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_memory_profile *p = made(&(struct as_memory_profile_options){.root = root.path});
    struct as_memory_profile_summary s;
    struct as_memory_layer_row row;
    struct as_memory_span span;
    char name[32];

    (void)state;
    put_rss(&root, 256);
    for (int i = 0; i < AS_MEMORY_PROFILE_LAYERS + 10; i++) {
        snprintf(name, sizeof name, "layer%d", i * 7919 % 100003);
        begin(p, &span);
        assert_int_equal(end(p, &span, name, 1, NULL, NULL), ASSAY_OK);
    }
    as_memory_profile_summary(p, &s);
    assert_int_equal(s.n_layers, AS_MEMORY_PROFILE_LAYERS + 1);
    assert_int_equal(s.layers_joined, 10);
    assert_true(as_memory_profile_layer_at(p, AS_MEMORY_PROFILE_LAYERS, &row));
    assert_int_equal(row.call_count, 10);
    assert_true(as_memory_profile_layer(p, "layer7919", &row));
    assert_int_equal(row.call_count, 1);
    as_memory_profile_free(p);
    kit_root_fini(&root);
}

/* ---- this process ---- */

static void what_is_gone_by_the_end_is_seen_all_the_same(void **state)
{
    struct as_memory_profile *p = made(&(struct as_memory_profile_options){.sample_us = 1000});
    struct as_memory_profile_summary s;
    struct as_memory_layer_reading r;
    struct as_memory_span outer, inner;
    uint64_t samples;
    char *block;

    (void)state;
    if (as_memory_profile_start(p, NULL) < 0)
        skip();
    begin(p, &outer);
    begin(p, &inner);
    assay_memory_add(ASSAY_MEMORY_TEMP, BLOCK);
    block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    memset(block, 1, BLOCK);
    as_memory_profile_summary(p, &s);
    samples = s.samples;
    while (s.samples < samples + 3) { /* the sampler sees it */
        sched_yield();
        as_memory_profile_summary(p, &s);
    }
    assert_int_equal(munmap(block, BLOCK), 0);
    assay_memory_sub(ASSAY_MEMORY_TEMP, BLOCK);
    assert_int_equal(end(p, &inner, "inner", 1, NULL, &r), ASSAY_OK);
    assert_true(r.rss_samples >= 3);
    assert_true(r.rss_peak_bytes >= r.rss_before_bytes + BLOCK / 2);
    assert_true(r.rss_after_bytes < r.rss_before_bytes + BLOCK / 2);
    assert_true(r.minor_faults > 0 && r.minor_faults != UNKNOWN);
    assert_true(r.counted_known);
    assert_int_equal(r.counted_peak_bytes, BLOCK);
    assert_int_equal(r.counted_net_bytes, 0);
    assert_null(r.why);
    assay_memory_add(ASSAY_MEMORY_KV_CACHE, 100);
    assert_int_equal(end(p, &outer, "outer", 1, NULL, &r), ASSAY_OK);
    assert_int_equal(r.counted_peak_bytes, BLOCK);
    assert_int_equal(r.counted_net_bytes, 100);
    assay_memory_sub(ASSAY_MEMORY_KV_CACHE, 100);
    begin(p, &inner);
    as_memory_profile_cancel_layer(&inner);
    as_memory_profile_stop(p);
    as_memory_profile_stop(p);
    as_memory_profile_summary(p, &s);
    assert_int_equal(s.total_snapshots, 2);
    assert_true(s.sampler_cpu_ns != UNKNOWN && s.sampler_wall_ns > 0);
    assert_true(s.peak_bytes >= BLOCK && s.peak_rss_kernel_bytes >= BLOCK);
    assert_int_equal(as_memory_profile_start(p, NULL), ASSAY_OK);
    as_memory_profile_free(p); /* while it samples */
}

/* ---- JSON ---- */

static json_t *parsed(struct as_memory_profile *p)
{
    struct as_out out = unit_out();
    struct as_memory_report report;
    struct as_arena arena = {0};
    struct as_json_writer w;
    json_t *root;

    as_json_writer_init(&w, &out, 0);
    assert_int_equal(as_memory_profile_report(p, &arena, &report, NULL), ASSAY_OK);
    as_memory_json(&w, &report, 0);
    assert_int_equal(as_json_writer_finish(&w, NULL), ASSAY_OK);
    as_arena_fini(&arena);
    root = json_loads(as_out_get(&out, NULL), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    as_out_drop(&out);
    return root;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void json_has_every_documented_key(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_memory_profile *p = made(&(struct as_memory_profile_options){.root = root.path});
    json_t *doc, *row, *snapshots;
    struct as_memory_span span;
    char longest[AS_MEMORY_PROFILE_METADATA + 3];

    (void)state;
    (void)call(p, &root, "a\"\n<", 2560, 5120);
    begin(p, &span);
    assert_int_equal(end(p, &span, "b", 2, "{\"batch\":8}", NULL), ASSAY_OK);
    memset(longest, ' ', sizeof longest);
    longest[0] = '1';
    longest[sizeof longest - 1] = '\0';
    begin(p, &span);
    assert_int_equal(end(p, &span, "b", 3, longest, NULL), ASSAY_OK);
    doc = parsed(p);
    assert_string_equal(json_string_value(json_object_get(doc, "status")), "ok");
    assert_true(near(number(doc, "baseline_memory_mb"), 10));
    assert_true(near(number(doc, "peak_memory_mb"), 20));
    assert_true(near(number(doc, "peak_memory_bytes"), 20 << 20));
    assert_true(near(number(doc, "total_snapshots"), 3));
    assert_true(near(number(doc, "metadata_dropped"), 1));
    assert_true(json_is_null(json_object_get(doc, "peak_gpu_memory_mb")));
    assert_true(json_is_string(json_object_get(doc, "gpu_reason")));
    assert_int_equal(json_array_size(json_object_get(doc, "memory_growth")), 3);
    row = json_array_get(json_object_get(doc, "layer_stats"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "layer")), "a\"\n<");
    assert_true(near(number(row, "call_count"), 1) && near(number(row, "mean_memory_mb"), 20));
    assert_true(near(number(row, "std_memory_mb"), 0));
    assert_true(near(number(row, "min_memory_mb"), number(row, "max_memory_mb")));
    snapshots = json_object_get(doc, "snapshots");
    row = json_array_get(snapshots, 0);
    assert_true(near(number(row, "cpu_memory_mb"), 20) && near(number(row, "memory_delta_mb"), 10));
    assert_true(near(number(row, "cpu_memory_percent"), 2) && near(number(row, "timestamp"), 12.5));
    assert_true(json_is_null(json_object_get(row, "gpu_memory_mb")));
    row = json_object_get(json_array_get(snapshots, 1), "metadata");
    assert_true(near(number(row, "batch"), 8));
    assert_true(json_is_null(json_object_get(json_array_get(snapshots, 2), "metadata")));
    row = json_object_get(json_object_get(doc, "categories"), "kv_cache");
    assert_true(json_is_object(row));
    assert_non_null(json_object_get(row, "peak_bytes"));
    assert_non_null(json_object_get(row, "peak_mb"));
    json_decref(doc);
    as_memory_profile_free(p);
    kit_root_fini(&root);
}

/* Runs first: nothing is counted yet. */
static void json_of_nothing_is_null_with_reasons(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_memory_profile *p = made(&(struct as_memory_profile_options){.root = root.path});
    json_t *doc = parsed(p), *total;

    (void)state;
    assert_string_equal(json_string_value(json_object_get(doc, "status")), "unavailable");
    assert_true(json_is_string(json_object_get(doc, "reason")));
    assert_true(json_is_null(json_object_get(doc, "peak_memory_mb")));
    total = json_object_get(json_object_get(doc, "categories"), "total");
    assert_true(json_is_null(json_object_get(total, "current_bytes")));
    json_decref(doc);
    as_memory_profile_free(p);
    kit_root_fini(&root);
}

static void want_of_memory_is_an_error_like_others(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_memory_profile *p = NULL;
    struct as_memory_span span;
    int rc = ASSAY_ERR_NOMEM;

    (void)state;
    put_rss(&root, 256);
    for (uint64_t nth = 1; nth < 20 && rc < 0; nth++) {
        as_alloc_fail_at(nth, 0);
        rc =
            as_memory_profile_new(&p, &(struct as_memory_profile_options){.root = root.path}, NULL);
        if (rc == ASSAY_OK)
            begin(p, &span);
        if (rc == ASSAY_OK)
            rc = end(p, &span, "a", 1, "1", NULL);
        as_alloc_fail_at(0, 0);
        assert_true(rc == ASSAY_OK || rc == ASSAY_ERR_NOMEM);
        as_memory_profile_free(p);
        p = NULL;
    }
    assert_int_equal(rc, ASSAY_OK);
    kit_root_fini(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_of_nothing_is_null_with_reasons),
        cmocka_unit_test(layers_give_the_documented_fields),
        cmocka_unit_test(without_proc_it_says_so_and_goes_on),
        cmocka_unit_test(young_readings_are_used_again_and_marked),
        cmocka_unit_test(old_snapshots_go_and_are_counted),
        cmocka_unit_test(many_layers_share_a_row_in_the_end),
        cmocka_unit_test(want_of_memory_is_an_error_like_others),
        cmocka_unit_test(what_is_gone_by_the_end_is_seen_all_the_same),
        cmocka_unit_test(json_has_every_documented_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
