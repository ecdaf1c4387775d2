/* tests/unit/test_peak_cache.c - peaks come back as they were kept, and damage is never an error.
 */
#include "peaks_kit.h"
#include "root_kit.h"

#include <sys/stat.h>

#include "measure/peaks/peak_cache.h"

#define HOST  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void same_peak(const struct as_peak *a, const struct as_peak *b)
{
    assert_ptr_equal(a->why, b->why);
    assert_ptr_equal(a->isa, b->isa);
    assert_true(a->why ? isnan(a->rate) && isnan(b->rate) : fabs(a->rate - b->rate) < 1e-3);
    assert_true(a->why || fabs(a->spread - b->spread) < 1e-12);
}

static void path_in(const struct kit_root *root, char path[128])
{
    assert_true(snprintf(path, 128, "%s/machine.json", root->path) < 128);
}

static size_t file_text(const char *path, char *out, size_t capacity)
{
    FILE *f = fopen(path, "re");
    size_t n;

    assert_non_null(f);
    n = fread(out, 1, capacity - 1, f);
    out[n] = '\0';
    assert_int_equal(fclose(f), 0);
    return n;
}

static void what_was_kept_comes_back(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_peaks p = kit_peaks(), back;
    char path[128];

    (void)state;
    path_in(&root, path);
    p.vector_hz = UNIT_NAN; /* not known: stays so */
    assert_int_equal(as_peak_cache_load(&back, path, HOST), AS_PEAK_CACHE_ABSENT);
    assert_int_equal(as_peak_cache_save(&p, path, HOST, NULL), ASSAY_OK);
    assert_int_equal(as_peak_cache_load(&back, path, HOST), AS_PEAK_CACHE_FOUND);
    assert_int_equal(back.n_counts, 2);
    assert_memory_equal(back.threads, p.threads, 2 * sizeof *p.threads);
    assert_memory_equal(back.place, p.place, sizeof p.place);
    assert_true(back.measured_unix_ns == p.measured_unix_ns && back.took_ns == p.took_ns);
    assert_true(fabs(back.frequency_hz - p.frequency_hz) < 1e-3 && isnan(back.vector_hz));
    for (unsigned i = 0; i < 2; i++) {
        for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
            same_peak(&back.compute[type][i], &p.compute[type][i]);
        for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++)
            for (int access = 0; access < AS_PEAK_ACCESS_COUNT; access++)
                same_peak(&back.bandwidth[level][access][i], &p.bandwidth[level][access][i]);
    }
    assert_int_equal(as_peak_cache_load(&back, path, OTHER), AS_PEAK_CACHE_FOREIGN);
    kit_root_fini(&root);
}

/* No cut and no changed byte may do more than lose the cache, or change a number within bounds. */
static void every_cut_and_every_flip_is_survived(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_peaks p = kit_peaks(), back;
    char path[128], text[32768];
    size_t size;

    (void)state;
    path_in(&root, path);
    assert_int_equal(as_peak_cache_save(&p, path, HOST, NULL), ASSAY_OK);
    size = file_text(path, text, sizeof text);
    for (size_t cut = 0; cut + 2 < size; cut += 7)
        assert_int_equal(as_peak_cache_parse(&back, text, cut, HOST), AS_PEAK_CACHE_DAMAGED);
    for (size_t at = 0; at < size; at += at < 1500 ? 1 : 13) {
        char was = text[at];

        for (int bit = 0; bit < 8; bit++) {
            text[at] = (char)(was ^ (1 << bit));
            if (as_peak_cache_parse(&back, text, size, HOST) != AS_PEAK_CACHE_FOUND)
                continue;
            assert_true(back.n_counts == 2 && back.threads[0] == 1);
            assert_true(back.threads[1] > 1 && back.threads[1] <= AS_PEAK_MAX_THREADS);
            assert_true(back.compute[0][0].rate >= 1 && back.compute[0][0].rate <= 1e18);
        }
        text[at] = was;
    }
    kit_root_fini(&root);
}

static void values_that_cannot_be_are_damage(void **state)
{
    static const char *const changes[][2] = {
        {"\"threads\":[1,2", "\"threads\":[2,1"},
        {"\"threads\":[1,2", "\"threads\":[1,1"},
        {"\"threads\":[1,2", "\"threads\":[0,2"},
        {"\"threads\":[1,2", "\"threads\":[1,999"},
        {"\"threads\":[1,2", "\"threads\":[1,2,3"},
        {"\"threads\":[1,2]", "\"threads\":[]"},
        {"\"rate\":179000000000", "\"rate\":-179000000000"},
        {"\"rate\":179000000000", "\"rate\":1e300"},
        {"\"rate\":179000000000", "\"rate\":0"},
        {"\"rate\":179000000000", "\"rate\":null"},
        {"\"rate\":179000000000", "\"rate\":\"179\""},
        {"\"spread\":0.05", "\"spread\":5"},
        {"\"isa\":\"", "\"isa\":\"x"},
        {"\"why\":\"", "\"why\":\"not "},
        {"\"clock_ns\":10.8", "\"clock_ns\":null"},
        {"\"took_ns\":4000000000", "\"took_ns\":4.5"},
        {"assay.peaks", "assay.machine"},
        {"\"frequency_hz\"", "\"frequency\""},
        {"{\"schema\"", "[{\"schema\""},
    };
    struct kit_root root = kit_root_new();
    struct as_peaks p = kit_peaks(), back;
    char path[128], text[32768], changed[40000];

    (void)state;
    path_in(&root, path);
    assert_int_equal(as_peak_cache_save(&p, path, HOST, NULL), ASSAY_OK);
    (void)file_text(path, text, sizeof text);
    for (size_t i = 0; i < UNIT_COUNT(changes); i++) {
        const char *at = strstr(text, changes[i][0]);
        int n;

        assert_non_null(at);
        n = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, changes[i][1],
                     at + strlen(changes[i][0]));
        assert_true(n > 0 && n < (int)sizeof changed);
        assert_int_equal(as_peak_cache_parse(&back, changed, (size_t)n, HOST),
                         AS_PEAK_CACHE_DAMAGED);
    }
    kit_root_fini(&root);
}

static void another_version_is_foreign(void **state)
{
    static const char text[] = "{\"schema\": \"assay.peaks\", \"schema_version\":999, \"x\": 1}";
    struct as_peaks back;

    (void)state;
    assert_int_equal(as_peak_cache_parse(&back, text, sizeof text - 1, HOST),
                     AS_PEAK_CACHE_FOREIGN);
}

static void what_is_no_file_is_not_waited_for(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_peaks p = kit_peaks(), back;
    char path[128];

    (void)state;
    path_in(&root, path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(as_peak_cache_load(&back, path, HOST), AS_PEAK_CACHE_DAMAGED);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(as_peak_cache_load(&back, root.path, HOST), AS_PEAK_CACHE_DAMAGED);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    assert_int_not_equal(as_peak_cache_save(&p, path, HOST, NULL), ASSAY_OK); /* through no link */
    assert_int_equal(unlink(path), 0);
    kit_root_put(&root, "/machine.json", "");
    assert_int_equal(truncate(path, 1 << 20), 0);
    assert_int_equal(as_peak_cache_load(&back, path, HOST), AS_PEAK_CACHE_DAMAGED);
    assert_int_equal(as_peak_cache_save(&p, "/nowhere/at/all.json", HOST, NULL), ASSAY_ERR_IO);
    kit_root_fini(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_kept_comes_back),
        cmocka_unit_test(every_cut_and_every_flip_is_survived),
        cmocka_unit_test(values_that_cannot_be_are_damage),
        cmocka_unit_test(another_version_is_foreign),
        cmocka_unit_test(what_is_no_file_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
