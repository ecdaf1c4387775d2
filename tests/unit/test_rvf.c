/* tests/unit/test_rvf.c - bundles: the frame, the chains, the manifest, the signature, and that
 * nothing in one can be changed or cut without being noticed. */
#include "witness_made.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "experiment/bundle/rvf.h"

/* Writes a pair of keys as PEM files. */
static void make_keys(const char *private_path, const char *public_path)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, NULL);
    EVP_PKEY *key = NULL;
    FILE *f;

    assert_true(ctx && EVP_PKEY_keygen_init(ctx) == 1 && EVP_PKEY_keygen(ctx, &key) == 1);
    f = fopen(private_path, "wb");
    assert_true(f && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1);
    fclose(f);
    f = fopen(public_path, "wb");
    assert_true(f && PEM_write_PUBKEY(f, key) == 1);
    fclose(f);
    EVP_PKEY_free(key);
    EVP_PKEY_CTX_free(ctx);
}

static int make_witnesses(void **state)
{
    (void)state;
    made_file(made_path("a.jsonl"), (struct made){.seed = 1, .started_ns = 5000}, 5, 0);
    made_file(made_path("b.jsonl"), (struct made){.seed = 2, .started_ns = 3000}, 3,
              ASSAY_WITNESS_MASK_HASH);
    made_file(made_path("none.jsonl"), (struct made){.seed = 3}, 0, 0);
    make_keys(made_path("key.pem"), made_path("public.pem"));
    make_keys(made_path("other.pem"), made_path("other-public.pem"));
    return 0;
}

static void pack(const char *output, const char *key)
{
    char a[160], b[160], out[160], secret[160];
    const char *witnesses[] = {a, b};
    struct assay_bundle_options o = {
        .size = sizeof o, .output = out, .witnesses = witnesses, .n_witnesses = 2};
    struct assay_error err;

    (void)snprintf(a, sizeof a, "%s", made_path("a.jsonl"));
    (void)snprintf(b, sizeof b, "%s", made_path("b.jsonl"));
    (void)snprintf(out, sizeof out, "%s", made_path(output));
    (void)snprintf(secret, sizeof secret, "%s", made_path(key ? key : ""));
    o.meta = "{\"model_commit\":\"abc\",\"extra\":[1,2]}";
    o.meta_bytes = strlen(o.meta);
    o.stats = "{\"mean\":0.25}";
    o.stats_bytes = strlen(o.stats);
    o.key_path = key ? secret : NULL;
    o.timestamp_ns = 1234567890123;
    if (assay_bundle_pack(&o, &err) < 0)
        fail_msg("%s", err.msg);
}

static struct assay_bundle_report verify(const char *name, const char *key)
{
    struct assay_bundle_report r;

    assert_int_equal(assay_bundle_verify(made_path(name), key ? made_path(key) : NULL, &r, NULL),
                     ASSAY_OK);
    return r;
}

static struct assay_bundle_report verify_bytes(const void *bytes, size_t size)
{
    struct assay_bundle_report r;

    assert_int_equal(as_bundle_check_bytes(bytes, size, NULL, &r, NULL), ASSAY_OK);
    return r;
}

static void a_header_has_the_documented_bytes(void **state)
{
    static const uint8_t start[] = {0x53, 0x46, 0x56, 0x52, 1, 0x0a, 4, 0, 7, 0, 0, 0, 0, 0, 0, 0};
    const struct as_rvf_segment s = {.type = AS_RVF_WITNESS,
                                     .flags = AS_RVF_SIGNED,
                                     .id = 7,
                                     .payload_bytes = 0x0149,
                                     .timestamp_ns = 0x1122334455667788};
    uint8_t header[AS_RVF_HEADER_BYTES];

    (void)state;
    as_rvf_header_put(header, &s);
    assert_memory_equal(header, start, sizeof start);
    assert_true(header[0x10] == 0x49 && header[0x11] == 1 && header[0x18] == 0x88);
    assert_true(header[0x1f] == 0x11 && header[0x20] == 2 && header[0x21] == 0);
    assert_true(header[0x38] == 0x49 && header[0x39] == 1);
    assert_int_equal(header[0x3c], 64 * 7 - 0x149 - 72);
}

static void a_bundle_holds_what_was_packed(void **state)
{
    static const char *const types[] = {"metadata", "witness", "witness", "metadata", "manifest"};
    static const char *const names[] = {NULL, "a.jsonl", "b.jsonl", NULL, NULL};
    struct assay_bundle *b = NULL;
    struct assay_bundle_segment s;
    struct assay_bundle_report r;

    (void)state;
    pack("plain.rvf", NULL);
    r = verify("plain.rvf", NULL);
    assert_string_equal(r.sentence, "");
    assert_true(r.whole && r.signature == ASSAY_BUNDLE_SIGNATURE_NONE && r.public_key[0] == '\0');
    assert_true(r.segments == 5 && r.witnesses == 2 && r.entries == 8 && r.breaks == 0);
    assert_int_equal(r.first_timestamp_ns, 3000);
    assert_int_equal(r.last_timestamp_ns, 5000 + 4 * 1000003);
    assert_int_equal(r.bytes % 64, 0);
    assert_int_equal(assay_bundle_open(&b, made_path("plain.rvf"), NULL), ASSAY_OK);
    assert_int_equal(assay_bundle_count(b), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(assay_bundle_segment_at(b, i, &s, NULL), ASSAY_OK);
        assert_int_equal(s.id, i + 1);
        assert_string_equal(s.type_name, types[i]);
        assert_true(s.content_fits && !s.is_signed && s.timestamp_ns == 1234567890123);
        assert_int_equal(s.offset % 64, 0);
        if (names[i])
            assert_string_equal(s.name, names[i]);
        else
            assert_null(s.name);
        assert_int_equal(s.entries, i == 1 ? 5 : i == 2 ? 3 : 0);
        if (i == 0)
            assert_non_null(memmem(s.payload, s.payload_bytes, "\"model_commit\":\"abc\"", 20));
        if (i == 3)
            assert_non_null(memmem(s.payload, s.payload_bytes, "{\"mean\":0.25}", 13));
    }
    assert_int_equal(assay_bundle_segment_at(b, 5, &s, NULL), ASSAY_ERR_NOTFOUND);
    assay_bundle_close(b);
}

static void a_chain_is_linked_as_documented(void **state)
{
    const uint8_t action[32] = {1, 2, 3};
    struct as_buffer chain = {0};
    struct as_rvf_chain found;
    uint8_t link[32];

    (void)state;
    assert_int_equal(as_rvf_chain_add(&chain, action, 300, NULL), ASSAY_OK);
    assert_int_equal(as_rvf_chain_add(&chain, action, 200, NULL), ASSAY_OK);
    assert_int_equal(chain.size, 146);
    assert_true(chain.data[72] == 2 && chain.data[0] == 0 && chain.data[31] == 0);
    assert_int_equal(as_shake256(chain.data, 73, link, 32, NULL), ASSAY_OK);
    assert_memory_equal(chain.data + 73, link, 32);
    assert_int_equal(as_rvf_chain_check(&found, chain.data, chain.size, NULL), ASSAY_OK);
    assert_true(found.entries == 2 && found.breaks == 0);
    assert_true(found.first_timestamp == 200 && found.last_timestamp == 300);
    assert_int_equal(as_rvf_chain_check(&found, chain.data, chain.size - 1, NULL), ASSAY_OK);
    assert_true(found.entries == 1 && found.breaks == 1 && found.first_break == 1);
    chain.data[40] ^= 1;
    assert_int_equal(as_rvf_chain_check(&found, chain.data, chain.size, NULL), ASSAY_OK);
    assert_true(found.breaks == 1 && found.first_break == 1);
    as_buffer_fini(&chain);
}

static void signatures_are_told_apart(void **state)
{
    struct assay_bundle_report r;

    (void)state;
    pack("signed.rvf", "key.pem");
    r = verify("signed.rvf", NULL);
    assert_true(r.whole && r.signature == ASSAY_BUNDLE_SIGNATURE_UNPROVEN);
    assert_int_equal(strlen(r.public_key), 64);
    r = verify("signed.rvf", "public.pem");
    assert_true(r.whole && r.signature == ASSAY_BUNDLE_SIGNATURE_PROVEN);
    r = verify("signed.rvf", "other-public.pem");
    assert_true(!r.whole && r.signature == ASSAY_BUNDLE_SIGNATURE_OTHER);
    pack("plain.rvf", NULL);
    r = verify("plain.rvf", "public.pem");
    assert_true(!r.whole && r.signature == ASSAY_BUNDLE_SIGNATURE_NONE);
    assert_non_null(strstr(r.sentence, "not signed"));
}

static void the_same_is_packed_the_same(void **state)
{
    size_t n, m;
    char *one, *two;

    (void)state;
    pack("one.rvf", "key.pem");
    pack("two.rvf", "key.pem");
    one = made_read(made_path("one.rvf"), &n);
    two = made_read(made_path("two.rvf"), &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, two, n);
    free(one);
    free(two);
}

static void every_byte_and_every_cut_counts(void **state)
{
    static const char *const keys[] = {NULL, "key.pem"};
    struct made m = {.seed = 7};

    (void)state;
    for (size_t k = 0; k < UNIT_COUNT(keys); k++) {
        size_t size;
        char *bytes;

        pack("small.rvf", keys[k]);
        bytes = made_read(made_path("small.rvf"), &size);
        for (size_t i = 0; i < size; i++) {
            char old = bytes[i];

            bytes[i] = (char)(old ^ (1 << made_number(&m) % 8));
            if (verify_bytes(bytes, size).whole)
                fail_msg("byte %zu of %zu was changed unnoticed", i, size);
            bytes[i] = old;
        }
        for (size_t cut = 0; cut < size; cut++)
            assert_false(verify_bytes(bytes, cut).whole);
        assert_true(verify_bytes(bytes, size).whole);
        free(bytes);
    }
}

/* Bytes that are changed in a file of 1 MB; the benchmark asks for more of them. */
static size_t n_places = 400;

/* A bundle of 1 MB, most of it in its statistics: a chain of that length would take minutes. */
static void any_changed_byte_of_a_large_one_is_noticed(void **state)
{
    enum { ENTRIES = 500, TEXT = 1000000 };
    char input[160], output[160], *text = malloc(TEXT), *bytes;
    const char *witness = input;
    struct assay_bundle_options o = {
        .size = sizeof o, .output = output, .witnesses = &witness, .n_witnesses = 1};
    struct made m = {.seed = 8};
    size_t size;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < TEXT; i++)
        text[i] = (char)('a' + made_number(&m) % 26);
    text[0] = text[TEXT - 1] = '"';
    o.stats = text;
    o.stats_bytes = TEXT;
    (void)snprintf(input, sizeof input, "%s", made_path("many.jsonl"));
    (void)snprintf(output, sizeof output, "%s", made_path("many.rvf"));
    made_file(input, (struct made){.seed = 9, .bits = 16}, ENTRIES, ASSAY_WITNESS_MASK_HASH);
    assert_int_equal(assay_bundle_pack(&o, NULL), ASSAY_OK);
    free(text);
    bytes = made_read(output, &size);
    assert_true(size > 1000000);
    for (size_t i = 0; i < n_places; i++) {
        size_t at = i < 200 ? size - 1 - i : (size_t)(made_number(&m) * 2654435761u % size);
        char old = bytes[at];

        bytes[at] = (char)(old ^ (1 << made_number(&m) % 8));
        if (verify_bytes(bytes, size).whole)
            fail_msg("byte %zu was changed unnoticed", at);
        bytes[at] = old;
    }
    assert_true(verify_bytes(bytes, size).whole);
    free(bytes);
}

static void what_is_wrong_is_told(void **state)
{
    static const struct {
        size_t at;
        const char *words;
    } cases[] = {
        {0, "no segment begins here: the magic number is wrong"},
        {4, "unknown version"},
        {6, "flags that are not supported"},
        {8, "id does not follow"},
        {0x10, "the two lengths of the segment differ"},
        {0x18, "segment 1 does not match its hash in the manifest"},
        {0x20, "checksum is not SHAKE-256"},
        {0x21, "compressed"},
        {0x22, "reserved bytes"},
        {0x28, "the payload of segment 1 does not match its hash"},
        {0x3c, "padding is not what its length asks for"},
        {0x40, "the payload of segment 1 does not match its hash"},
    };
    size_t size;
    char *bytes;

    (void)state;
    pack("told.rvf", NULL);
    bytes = made_read(made_path("told.rvf"), &size);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct assay_bundle_report r;

        bytes[cases[i].at] ^= 0x10;
        r = verify_bytes(bytes, size);
        bytes[cases[i].at] ^= 0x10;
        if (r.whole || !strstr(r.sentence, cases[i].words))
            fail_msg("%zu: %s", cases[i].at, r.sentence);
    }
    assert_non_null(strstr(verify_bytes(bytes, 0).sentence, "empty"));
    free(bytes);
}

static void extracting_overwrites_nothing(void **state)
{
    char folder[160], file[200];
    struct assay_bundle *b = NULL;
    struct assay_error err;
    size_t size;
    char *bytes;

    (void)state;
    pack("take.rvf", "key.pem");
    (void)snprintf(folder, sizeof folder, "%s", made_path("taken"));
    (void)snprintf(file, sizeof file, "%s/segment-2-witness.bin", folder);
    assert_int_equal(assay_bundle_open(&b, made_path("take.rvf"), NULL), ASSAY_OK);
    assert_int_equal(assay_bundle_extract(b, folder, false, NULL), 5);
    bytes = made_read(file, &size);
    assert_int_equal(size, 5 * 73);
    free(bytes);
    made_write(file, "mine", 4);
    assert_int_equal(assay_bundle_extract(b, folder, false, &err), ASSAY_ERR_STATE);
    assert_non_null(strstr(err.msg, "already exists"));
    bytes = made_read(file, &size);
    assert_int_equal(size, 4);
    free(bytes);
    assert_int_equal(assay_bundle_extract(b, folder, true, NULL), 5);
    bytes = made_read(file, &size);
    assert_int_equal(size, 5 * 73);
    free(bytes);
    assert_int_equal(assay_bundle_extract(b, "", true, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bundle_extract(NULL, folder, true, NULL), ASSAY_ERR_USAGE);
    assay_bundle_close(b);
    for (int i = 1; i <= 5; i++) {
        static const char *const ends[] = {"metadata.json", "witness.bin", "witness.bin",
                                           "metadata.json", "manifest.json"};

        (void)snprintf(file, sizeof file, "%s/segment-%d-%s", folder, i, ends[i - 1]);
        assert_int_equal(unlink(file), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

static int pack_one(const char *witness, const char *meta, const char *key, struct assay_error *err)
{
    char input[160], output[160], secret[160];
    const char *witnesses[] = {input, input};
    struct assay_bundle_options o = {
        .size = sizeof o, .output = output, .witnesses = witnesses, .n_witnesses = 1};

    (void)snprintf(input, sizeof input, "%s", made_path(witness));
    (void)snprintf(output, sizeof output, "%s", made_path("bad.rvf"));
    (void)snprintf(secret, sizeof secret, "%s", made_path(key ? key : ""));
    o.meta = meta;
    o.meta_bytes = meta ? strlen(meta) : 0;
    o.key_path = key ? secret : NULL;
    if (strcmp(witness, "b.jsonl") == 0)
        o.n_witnesses = 2; /* the same name twice */
    return assay_bundle_pack(&o, err);
}

static void what_cannot_be_packed_is_refused(void **state)
{
    struct assay_error err;
    size_t size;
    char *bytes;

    (void)state;
    assert_int_equal(pack_one("none.jsonl", NULL, NULL, &err), ASSAY_OK);
    assert_true(verify("bad.rvf", NULL).whole);
    assert_int_equal(unlink(made_path("bad.rvf")), 0);
    assert_int_equal(pack_one("b.jsonl", NULL, NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(pack_one("nowhere.jsonl", NULL, NULL, &err), ASSAY_ERR_NOTFOUND);
    assert_int_equal(pack_one("a.jsonl", "[1]", NULL, &err), ASSAY_ERR_FORMAT);
    assert_int_equal(pack_one("a.jsonl", "{", NULL, &err), ASSAY_ERR_FORMAT);
    assert_int_equal(pack_one("a.jsonl", NULL, "public.pem", &err), ASSAY_ERR_FORMAT);
    assert_int_equal(pack_one("a.jsonl", NULL, "a.jsonl", &err), ASSAY_ERR_FORMAT);
    bytes = made_read(made_path("a.jsonl"), &size);
    made_write(made_path("cut.jsonl"), bytes, size - 1);
    free(bytes);
    assert_int_equal(pack_one("cut.jsonl", NULL, NULL, &err), ASSAY_ERR_FORMAT);
    assert_non_null(strstr(err.msg, "is not intact"));
    assert_int_equal(access(made_path("bad.rvf"), F_OK), -1); /* nothing half-made stays */
    assert_int_equal(assay_bundle_pack(NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bundle_pack(&(struct assay_bundle_options){0}, &err), ASSAY_ERR_USAGE);
}

static void misuse_is_an_error(void **state)
{
    struct assay_bundle *b = NULL;
    struct assay_bundle_report r;
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_bundle_open(NULL, "x", &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bundle_open(&b, NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bundle_open(&b, made_path("nowhere"), &err), ASSAY_ERR_NOTFOUND);
    assert_int_equal(assay_bundle_open(&b, made_path("a.jsonl"), &err), ASSAY_ERR_FORMAT);
    assert_null(b);
    assert_int_equal(assay_bundle_verify(NULL, NULL, &r, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bundle_verify("x", NULL, NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_bundle_verify(made_path("a.jsonl"), made_path("nowhere"), &r, &err),
                     ASSAY_ERR_NOTFOUND);
    assert_int_equal(assay_bundle_count(NULL), 0);
    assert_int_equal(assay_bundle_segment_at(NULL, 0, NULL, &err), ASSAY_ERR_USAGE);
    assert_null(assay_bundle_signature_name(ASSAY_BUNDLE_SIGNATURE_COUNT));
    assay_bundle_close(NULL);
}

static void running_out_of_memory_is_an_error(void **state)
{
    int rc = ASSAY_ERR_NOMEM;

    (void)state;
    for (uint64_t nth = 1; rc != ASSAY_OK && nth < 300; nth++) {
        struct assay_bundle_segment s;
        struct assay_bundle_report r;
        struct assay_bundle *b = NULL;

        as_alloc_fail_at(nth, 0);
        rc = pack_one("a.jsonl", "{\"host\":\"h\"}", "key.pem", NULL);
        if (rc == ASSAY_OK)
            rc = assay_bundle_verify(made_path("bad.rvf"), NULL, &r, NULL);
        if (rc == ASSAY_OK)
            assert_true(r.whole);
        if (rc == ASSAY_OK)
            rc = assay_bundle_open(&b, made_path("bad.rvf"), NULL);
        if (rc == ASSAY_OK)
            rc = assay_bundle_segment_at(b, 1, &s, NULL);
        assay_bundle_close(b);
        as_alloc_fail_at(0, 0);
        assert_true(rc == ASSAY_OK || rc == ASSAY_ERR_NOMEM);
    }
    assert_int_equal(rc, ASSAY_OK);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_has_the_documented_bytes),
        cmocka_unit_test(a_bundle_holds_what_was_packed),
        cmocka_unit_test(a_chain_is_linked_as_documented),
        cmocka_unit_test(signatures_are_told_apart),
        cmocka_unit_test(the_same_is_packed_the_same),
        cmocka_unit_test(every_byte_and_every_cut_counts),
        cmocka_unit_test(any_changed_byte_of_a_large_one_is_noticed),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(extracting_overwrites_nothing),
        cmocka_unit_test(what_cannot_be_packed_is_refused),
        cmocka_unit_test(misuse_is_an_error),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };

    if (argc > 1)
        n_places = strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, make_witnesses, made_tidy);
}
