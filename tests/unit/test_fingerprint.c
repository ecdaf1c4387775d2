/* tests/unit/test_fingerprint.c - hashes of configurations and fingerprints: fixed vectors, order,
 * escapes, unknown facts. */
#include "unit.h"

#include <assay/experiment/fingerprint.h>

#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"

static struct assay_fingerprint *new_fingerprint(void)
{
    struct assay_fingerprint *fingerprint;

    (void)assay_fingerprint_new(&fingerprint, NULL, NULL);
    return fingerprint;
}

static const struct assay_bench_config documented = {
    .model_commit = "abc1234",
    .weights_hash = "def5678",
    .lambda = 0.5F,
    .tau = 2,
    .eps = 0.01F,
    .compiler_flags = "-O3",
};

static void hash_of(const struct assay_bench_config *config, char hex[ASSAY_HASH_HEX])
{
    assert_int_equal(assay_bench_config_hash(config, hex, NULL), ASSAY_OK);
    assert_int_equal(strlen(hex), 64);
}

static void the_documented_vectors(void **state)
{
    struct assay_bench_config config = documented;
    char hex[ASSAY_HASH_HEX];
    char *text;
    size_t size;

    (void)state;
    hash_of(&config, hex);
    assert_string_equal(hex, "8194ad7276a762e3eeee09d9d2cb18ab888c08854a9f3deaf87e92142bca82df");
    config.compiler_flags = "-O3 -mavx2";
    hash_of(&config, hex);
    assert_string_equal(hex, "45b57923f8c1a4fe99d72e45cea9b1d27607af3a2e8af6963e6fe3276e2319b7");
    assert_int_equal(assay_bench_config_json(&config, &text, &size, NULL), ASSAY_OK);
    assert_string_equal(text, "{\"model_commit\":\"abc1234\",\"weights_hash\":\"def5678\","
                              "\"lambda\":0.5,\"tau\":2,\"eps\":0.01,"
                              "\"compiler_flags\":\"-O3 -mavx2\"}");
    assert_int_equal(size, strlen(text));
    assay_fingerprint_text_free(text);
}

static void every_field_changes_the_hash(void **state)
{
    struct assay_bench_config other[7];
    char hex[7][ASSAY_HASH_HEX];

    (void)state;
    for (size_t i = 0; i < 7; i++)
        other[i] = documented;
    other[1].model_commit = "abc1235";
    other[2].weights_hash = "";
    other[3].lambda = 0.50000006F; /* the next float */
    other[4].tau = UINT64_MAX;
    other[5].eps = -0.01F;
    other[6].compiler_flags = "-O3 ";
    for (size_t i = 0; i < 7; i++) {
        hash_of(&other[i], hex[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(hex[i], hex[j]);
    }
    hash_of(&documented, hex[1]);
    assert_string_equal(hex[0], hex[1]); /* and nothing else does */
}

static void text_is_escaped_as_json_needs_and_no_more(void **state)
{
    struct assay_bench_config config = documented;
    char *text;

    (void)state;
    config.model_commit = "\"\\/<>&'\x7f\b\f\n\r\t\x01\x1f";
    config.weights_hash = "\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80\xc2\x85";
    config.compiler_flags = "";
    assert_int_equal(assay_bench_config_json(&config, &text, NULL, NULL), ASSAY_OK);
    assert_string_equal(text,
                        "{\"model_commit\":\"\\\"\\\\/<>&'\x7f\\b\\f\\n\\r\\t\\u0001\\u001f\","
                        "\"weights_hash\":\"\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80\xc2\x85\","
                        "\"lambda\":0.5,\"tau\":2,\"eps\":0.01,\"compiler_flags\":\"\"}");
    assay_fingerprint_text_free(text);
}

static void what_has_no_text_is_refused(void **state)
{
    static const char *const not_utf8[] = {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\xaf", "\x80"};
    struct assay_bench_config config = documented;
    struct assay_error err;
    char hex[ASSAY_HASH_HEX];
    char *text = hex;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(not_utf8); i++) {
        config.weights_hash = not_utf8[i];
        assert_int_equal(assay_bench_config_hash(&config, hex, &err), ASSAY_ERR_FORMAT);
        assert_string_equal(hex, "");
        assert_int_equal(assay_bench_config_json(&config, &text, NULL, &err), ASSAY_ERR_FORMAT);
        assert_null(text);
    }
    config = documented;
    config.compiler_flags = NULL;
    assert_int_equal(assay_bench_config_hash(&config, hex, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "compiler_flags"));
    config = documented;
    config.lambda = (float)NAN;
    assert_int_equal(assay_bench_config_hash(&config, hex, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "lambda"));
    config = documented;
    config.eps = INFINITY;
    assert_int_equal(assay_bench_config_hash(&config, hex, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bench_config_hash(NULL, hex, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bench_config_hash(&documented, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bench_config_json(&documented, NULL, NULL, NULL), ASSAY_ERR_USAGE);
}

static void expect_json(const struct assay_fingerprint *f, enum assay_fingerprint_part part,
                        const char *expected)
{
    unsigned char digest[AS_SHA256_BYTES];
    char hex[ASSAY_HASH_HEX], ours[ASSAY_HASH_HEX];
    char *text;
    size_t size;

    assert_int_equal(assay_fingerprint_json(f, part, &text, &size, NULL), ASSAY_OK);
    assert_string_equal(text, expected);
    assert_int_equal(size, strlen(expected));
    assert_int_equal(as_sha256(text, size, digest, NULL), ASSAY_OK);
    as_sha256_hex(digest, ours);
    assert_int_equal(assay_fingerprint_hash(f, part, hex, NULL), ASSAY_OK);
    assert_string_equal(hex, ours);
    assay_fingerprint_text_free(text);
}

static void facts_are_sorted_and_the_last_word_counts(void **state)
{
    struct assay_fingerprint *f = new_fingerprint();
    const enum assay_fact_role plain = ASSAY_FACT_CIRCUMSTANCE, decides = ASSAY_FACT_DECIDES;

    (void)state;
    expect_json(f, ASSAY_FINGERPRINT_ALL, "{}");
    assert_int_equal(assay_fingerprint_set_u64(f, "seed", 42, decides, NULL), ASSAY_OK);
    assert_int_equal(assay_fingerprint_set_text(f, "host", "a\nb", plain, NULL), ASSAY_OK);
    assert_int_equal(assay_fingerprint_set_f32(f, "lambda", 0.3F, decides, NULL), ASSAY_OK);
    assert_int_equal(assay_fingerprint_set_f64(f, "a\"", 0.1, plain, NULL), ASSAY_OK);
    assert_int_equal(assay_fingerprint_set_u64(f, "seed", UINT64_MAX, decides, NULL), ASSAY_OK);
    expect_json(f, ASSAY_FINGERPRINT_ALL,
                "{\"a\\\"\":0.1,\"host\":\"a\\nb\",\"lambda\":0.3,"
                "\"seed\":18446744073709551615}");
    expect_json(f, ASSAY_FINGERPRINT_DECIDING, "{\"lambda\":0.3,\"seed\":18446744073709551615}");
    assert_int_equal(assay_fingerprint_set_u64(f, "lambda", 1, plain, NULL), ASSAY_OK);
    expect_json(f, ASSAY_FINGERPRINT_DECIDING, "{\"seed\":18446744073709551615}");
    assay_fingerprint_free(f);
    assay_fingerprint_free(NULL);
}

static void the_order_of_setting_changes_nothing(void **state)
{
    struct assay_fingerprint *up = new_fingerprint(), *down = new_fingerprint();
    char a[ASSAY_HASH_HEX], b[ASSAY_HASH_HEX], key[16];

    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        snprintf(key, sizeof key, "k%u", i);
        assert_int_equal(assay_fingerprint_set_u64(up, key, i, ASSAY_FACT_DECIDES, NULL), 0);
        snprintf(key, sizeof key, "k%u", 299 - i);
        assert_int_equal(assay_fingerprint_set_u64(down, key, 299 - i, ASSAY_FACT_DECIDES, NULL),
                         0);
    }
    assert_int_equal(assay_fingerprint_hash(up, ASSAY_FINGERPRINT_ALL, a, NULL), ASSAY_OK);
    assert_int_equal(assay_fingerprint_hash(down, ASSAY_FINGERPRINT_DECIDING, b, NULL), ASSAY_OK);
    assert_string_equal(a, b);
    assay_fingerprint_free(up);
    assay_fingerprint_free(down);
}

static void unknown_facts_have_a_reason_until_they_are_known(void **state)
{
    struct assay_fingerprint *f = new_fingerprint();
    const enum assay_fact_role plain = ASSAY_FACT_CIRCUMSTANCE;

    (void)state;
    assert_int_equal(assay_fingerprint_set_unknown(f, "gpu", "there is none", plain, NULL), 0);
    expect_json(f, ASSAY_FINGERPRINT_ALL, "{\"gpu\":null,\"gpu_why\":\"there is none\"}");
    assert_int_equal(assay_fingerprint_set_text(f, "gpu", "X", plain, NULL), ASSAY_OK);
    expect_json(f, ASSAY_FINGERPRINT_ALL, "{\"gpu\":\"X\"}");
    assay_fingerprint_free(f);
}

static void limits_and_misuse_are_told(void **state)
{
    struct assay_fingerprint *f = new_fingerprint();
    const enum assay_fact_role plain = ASSAY_FACT_CIRCUMSTANCE;
    static char key[130], text[(1 << 20) + 2];
    char hex[ASSAY_HASH_HEX];
    char *json;

    (void)state;
    memset(key, 'k', sizeof key - 1);
    assert_int_equal(assay_fingerprint_set_u64(f, key, 1, plain, NULL), ASSAY_ERR_LIMIT);
    key[128] = '\0';
    assert_int_equal(assay_fingerprint_set_u64(f, key, 1, plain, NULL), ASSAY_OK);
    assert_int_equal(assay_fingerprint_set_unknown(f, key, "x", plain, NULL), ASSAY_ERR_LIMIT);
    memset(text, 't', sizeof text - 1);
    assert_int_equal(assay_fingerprint_set_text(f, "t", text, plain, NULL), ASSAY_ERR_LIMIT);
    assert_int_equal(assay_fingerprint_set_text(f, "t", NULL, plain, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_fingerprint_set_text(f, "", "x", plain, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_fingerprint_set_text(f, NULL, "x", plain, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_fingerprint_set_text(NULL, "t", "x", plain, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_fingerprint_set_text(f, "t", "\xff", plain, NULL), ASSAY_ERR_FORMAT);
    assert_int_equal(assay_fingerprint_set_text(f, "\xff", "x", plain, NULL), ASSAY_ERR_FORMAT);
    assert_int_equal(assay_fingerprint_set_f64(f, "t", UNIT_NAN, plain, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_fingerprint_set_f32(f, "t", INFINITY, plain, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_fingerprint_set_unknown(f, "t", NULL, plain, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_fingerprint_machine(NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_fingerprint_json(NULL, 0, &json, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_fingerprint_json(f, 0, NULL, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_fingerprint_hash(NULL, 0, hex, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_fingerprint_hash(f, 0, NULL, NULL), ASSAY_ERR_USAGE);
    assay_fingerprint_free(f);
}

static void the_configuration_decides_and_the_machine_does_not(void **state)
{
    static const char *const keys[] = {"host",
                                       "cpu_model",
                                       "cores",
                                       "threads",
                                       "kernel",
                                       "governor",
                                       "os",
                                       "assay_version",
                                       "assay_compiler",
                                       "library_libc",
                                       "library_openssl",
                                       "library_onednn",
                                       "assay_compiler_flags"};
    struct assay_fingerprint *f = new_fingerprint();
    char before[ASSAY_HASH_HEX], after[ASSAY_HASH_HEX], all[ASSAY_HASH_HEX], name[80];
    char *text;

    (void)state;
    assert_int_equal(assay_fingerprint_set_config(f, &documented, NULL), ASSAY_OK);
    assert_int_equal(assay_fingerprint_hash(f, ASSAY_FINGERPRINT_DECIDING, before, NULL), 0);
    assert_int_equal(assay_fingerprint_machine(f, NULL), ASSAY_OK);
    assert_int_equal(assay_fingerprint_hash(f, ASSAY_FINGERPRINT_DECIDING, after, NULL), 0);
    assert_int_equal(assay_fingerprint_hash(f, ASSAY_FINGERPRINT_ALL, all, NULL), 0);
    assert_string_equal(before, after);
    assert_string_not_equal(before, all);
    assert_int_equal(assay_fingerprint_json(f, ASSAY_FINGERPRINT_ALL, &text, NULL, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(keys); i++) {
        const char *at;

        snprintf(name, sizeof name, "\"%s\":", keys[i]);
        at = strstr(text, name);
        assert_non_null(at);
        snprintf(name, sizeof name, "\"%s_why\":", keys[i]);
        /* Null and a reason, or a value and none. */
        assert_true((strncmp(strchr(at, ':') + 1, "null", 4) == 0) == (strstr(text, name) != NULL));
    }
    assay_fingerprint_text_free(text);
    assay_fingerprint_free(f);
}

static void running_out_of_memory_is_told(void **state)
{
    (void)state;
#ifdef ASSAY_FAULTS
    for (uint64_t nth = 1; nth < 500; nth++) {
        struct assay_fingerprint *f;
        char hex[ASSAY_HASH_HEX];
        char *text = NULL;
        int rc;

        as_alloc_fail_at(nth, 0);
        f = new_fingerprint();
        rc = f ? assay_fingerprint_set_config(f, &documented, NULL) : ASSAY_ERR_NOMEM;
        if (rc == 0)
            rc = assay_fingerprint_machine(f, NULL);
        if (rc == 0)
            rc = assay_fingerprint_json(f, ASSAY_FINGERPRINT_ALL, &text, NULL, NULL);
        if (rc == 0)
            rc = assay_fingerprint_hash(f, ASSAY_FINGERPRINT_ALL, hex, NULL);
        as_alloc_fail_at(0, 0);
        assay_fingerprint_text_free(text);
        assay_fingerprint_free(f);
        if (rc == 0)
            return;
        assert_int_equal(rc, ASSAY_ERR_NOMEM);
    }
    fail_msg("every allocation failed");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documented_vectors),
        cmocka_unit_test(every_field_changes_the_hash),
        cmocka_unit_test(text_is_escaped_as_json_needs_and_no_more),
        cmocka_unit_test(what_has_no_text_is_refused),
        cmocka_unit_test(facts_are_sorted_and_the_last_word_counts),
        cmocka_unit_test(the_order_of_setting_changes_nothing),
        cmocka_unit_test(unknown_facts_have_a_reason_until_they_are_known),
        cmocka_unit_test(limits_and_misuse_are_told),
        cmocka_unit_test(the_configuration_decides_and_the_machine_does_not),
        cmocka_unit_test(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
