/* tests/unit/test_witness.c - the witness: its hashes, its chain, its seal, and that nothing in it
 * can be changed, moved, repeated or cut without being noticed. */
#include "witness_made.h"

#include <signal.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "experiment/witness/witness_check.h"

static struct assay_witness_report verify_bytes(const void *bytes, size_t size)
{
    struct assay_witness_report r;

    assert_int_equal(as_witness_check_bytes(bytes, size, NULL, NULL, &r, NULL), ASSAY_OK);
    return r;
}

static struct assay_witness_report verify_file(const char *path)
{
    struct assay_witness_report r;

    assert_int_equal(assay_witness_verify(path, NULL, NULL, &r, NULL), ASSAY_OK);
    return r;
}

static void tensors_are_hashed_as_documented(void **state)
{
    char hex[ASSAY_WITNESS_HEX];

    (void)state;
    assert_int_equal(assay_witness_hash_tensor((const float[]){1, 2, 3}, 3, hex, NULL), ASSAY_OK);
    assert_string_equal(hex, "8e628779e6a74ee0b36991c10158f63cafec7d340ad4e075592502c8708524dd");
    assert_int_equal(assay_witness_hash_tensor((const float[]){4, 5, 6}, 3, hex, NULL), ASSAY_OK);
    assert_string_equal(hex, "3928b70927b41c1097fc750dc2759c182b37246ba79c1dfef52e7d96a86c944b");
    assert_int_equal(assay_witness_hash_tensor(NULL, 0, hex, NULL), ASSAY_OK);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_int_equal(assay_witness_hash_tensor(NULL, 1, hex, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_hash_tensor((const float[]){1}, 1, NULL, NULL), ASSAY_ERR_USAGE);
}

static void a_line_has_the_documented_form(void **state)
{
    static const uint8_t mask[2] = {0x0d, 0x01};
    struct assay_witness_entry e = {.sample_id = 7, .seq_len = 3, .mask = mask, .mask_bits = 9};
    char line[2048], want[2048];
    size_t size;

    (void)state;
    for (size_t i = 0; i < 64; i++)
        e.q_hash[i] = e.k_hash[i] = e.v_hash[i] = e.output_hash[i] = e.config_hash[i] = 'a';
    e.cut_cost = 1.5f;
    e.lambda = 0.1f;
    e.tau = 2;
    e.eps = 1e-6f;
    e.timestamp_ns = 18446744073709551615u;
    assert_int_equal(assay_witness_hash(&e, NULL), ASSAY_OK);
    assert_int_equal(e.mask_kept, 4);
    assert_int_equal(
        assay_witness_log(&e, ASSAY_WITNESS_MASK_PACKED, line, sizeof line, &size, NULL), ASSAY_OK);
    assert_int_equal(size, strlen(line));
    (void)snprintf(want, sizeof want,
                   "{\"q_hash\":\"%s\",\"k_hash\":\"%s\",\"keep_mask\":\"DQE=\",\"cut_cost\":1.5,"
                   "\"lambda\":0.1,\"tau\":2,\"eps\":1e-6,\"timestamp\":18446744073709551615,"
                   "\"index\":0,\"sample_id\":7,\"seq_len\":3,\"v_hash\":\"%s\",\"output_hash\":"
                   "\"%s\",\"config_hash\":\"%s\",\"mask_bits\":9,\"mask_kept\":4,\"mask_hash\":"
                   "\"%s\",\"prev_hash\":\"%064d\",\"entry_hash\":\"%s\"}\n",
                   e.q_hash, e.q_hash, e.q_hash, e.q_hash, e.q_hash, e.mask_hash, 0, e.entry_hash);
    assert_string_equal(line, want);
    assert_int_equal(assay_witness_log(&e, ASSAY_WITNESS_MASK_FULL, line, sizeof line, NULL, NULL),
                     ASSAY_OK);
    assert_non_null(strstr(
        line, "\"keep_mask\":[true,false,true,true,false,false,false,false,true],\"cut_cost\""));
    assert_int_equal(assay_witness_log(&e, ASSAY_WITNESS_MASK_HASH, line, sizeof line, NULL, NULL),
                     ASSAY_OK);
    assert_non_null(strstr(line, "\"keep_mask\":null,"));
    assert_int_equal(assay_witness_log(&e, ASSAY_WITNESS_MASK_HASH, NULL, 0, &size, NULL),
                     ASSAY_ERR_LIMIT);
    assert_int_equal(size, strlen(line));
    assert_int_equal(assay_witness_log(&e, ASSAY_WITNESS_MASK_HASH, line, size, NULL, NULL),
                     ASSAY_ERR_LIMIT);
}

static void a_witness_is_whole_in_every_form(void **state)
{
    static const enum assay_witness_mask forms[] = {
        ASSAY_WITNESS_MASK_PACKED, ASSAY_WITNESS_MASK_HASH, ASSAY_WITNESS_MASK_FULL};
    char head[ASSAY_WITNESS_HEX] = "";

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
        const char *path = made_path("form.jsonl");
        struct assay_witness_report r;

        made_file(path, (struct made){.seed = 1, .started_ns = 1000}, 20, forms[i]);
        r = verify_file(path);
        assert_string_equal(r.sentence, "");
        assert_true(r.whole && r.sealed && r.entries == 20 && r.first_bad_line == 0);
        assert_int_equal(r.first_timestamp_ns, 1000);
        assert_int_equal(r.last_timestamp_ns, 1000 + 19 * 1000003);
        assert_int_equal(strlen(r.config_hash), 64);
        assert_true(r.mask_bits > r.mask_kept && r.mask_kept > 0);
        if (i > 0)
            assert_string_equal(r.head, head);
        memcpy(head, r.head, sizeof head);
    }
}

static void the_chain_does_not_depend_on_the_clock(void **state)
{
    struct assay_witness_report a, b, c;

    (void)state;
    made_file(made_path("a"), (struct made){.seed = 5, .started_ns = 1}, 9, 0);
    made_file(made_path("b"), (struct made){.seed = 5, .started_ns = 77777}, 9, 0);
    made_file(made_path("c"), (struct made){.seed = 6, .started_ns = 1}, 9, 0);
    a = verify_file(made_path("a"));
    b = verify_file(made_path("b"));
    c = verify_file(made_path("c"));
    assert_true(a.whole && b.whole && c.whole);
    assert_string_equal(a.head, b.head);
    assert_string_not_equal(a.file_hash, b.file_hash);
    assert_string_not_equal(a.head, c.head);
}

static struct assay_witness_comparison compare(const char *a, const char *b)
{
    struct assay_witness_comparison c;

    assert_int_equal(assay_witness_compare(made_path(a), made_path(b), &c, NULL), ASSAY_OK);
    return c;
}

static void two_runs_are_compared(void **state)
{
    struct made m = {.seed = 5, .started_ns = 1};
    struct assay_witness_comparison c;
    struct assay_witness *w = NULL;
    struct assay_error err;

    (void)state;
    made_file(made_path("first"), m, 9, 0);
    made_file(made_path("later"), (struct made){.seed = 5, .started_ns = 9}, 9,
              ASSAY_WITNESS_MASK_HASH);
    made_file(made_path("longer"), m, 10, 0);
    c = compare("first", "later");
    assert_true(c.same && c.entries[0] == 9 && c.entries[1] == 9);
    assert_string_equal(c.sentence, "");
    c = compare("longer", "later");
    assert_true(!c.same && c.first_difference == 9);
    assert_string_equal(c.sentence, "one has 10 entries, the other 9; the first 9 are the same");
    assert_int_equal(assay_witness_open(&w, made_path("wrong output"), 0, NULL), ASSAY_OK);
    for (uint64_t i = 0; i < 9; i++) {
        struct assay_witness_entry e = made_entry(&m, i);

        if (i == 4)
            e.output_hash[7] = e.output_hash[7] == '1' ? '2' : '1';
        assert_int_equal(assay_witness_add(w, &e, NULL), ASSAY_OK);
    }
    c = compare("first", "wrong output");
    assert_false(c.same); /* and not yet sealed */
    assert_non_null(strstr(c.sentence, "the second is not intact: unfinished"));
    assert_int_equal(assay_witness_close(w, NULL), ASSAY_OK);
    c = compare("first", "wrong output");
    assert_true(!c.same && c.first_difference == 4);
    assert_string_equal(c.sentence, "entry 4 differs in output_hash");
    assert_int_equal(assay_witness_compare(NULL, NULL, &c, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_compare(made_path("first"), made_path("nowhere"), &c, &err),
                     ASSAY_ERR_NOTFOUND);
}

/* Each byte of a small file in each form becomes another one. */
static void each_byte_of_each_form_counts(void **state)
{
    struct made m = {.seed = 45};

    (void)state;
    for (int how = 0; how < ASSAY_WITNESS_MASK_COUNT; how++) {
        size_t size;
        char *bytes;

        made_file(made_path("each"), (struct made){.seed = 44, .bits = 30}, 2,
                  (enum assay_witness_mask)how);
        bytes = made_read(made_path("each"), &size);
        for (size_t i = 0; i < size; i++) {
            char old = bytes[i];

            do
                bytes[i] = (char)made_number(&m);
            while (bytes[i] == old);
            if (verify_bytes(bytes, size).whole)
                fail_msg("byte %zu changed from %d to %d was not noticed", i, old, bytes[i]);
            bytes[i] = old;
        }
        free(bytes);
    }
}

static void nothing_is_a_witness_too(void **state)
{
    struct assay_witness *w = NULL;
    struct assay_witness_report r;
    char head[ASSAY_WITNESS_HEX];

    (void)state;
    assert_int_equal(assay_witness_open(&w, made_path("none"), 0, NULL), ASSAY_OK);
    r = verify_file(made_path("none"));
    assert_true(!r.whole && !r.sealed && r.first_bad_line == 0);
    assert_non_null(strstr(r.sentence, "unfinished"));
    assay_witness_head(w, head);
    assert_string_equal(head, as_witness_genesis);
    assert_int_equal(assay_witness_flush(w, NULL), ASSAY_OK);
    assert_int_equal(assay_witness_close(w, NULL), ASSAY_OK);
    r = verify_file(made_path("none"));
    assert_true(r.whole && r.entries == 0);
}

static void any_float_comes_back(void **state)
{
    const char *path = made_path("floats");
    struct made m = {.seed = 3, .bits = 1};
    struct assay_witness *w = NULL;
    struct assay_witness_report r;

    (void)state;
    assert_int_equal(assay_witness_open(&w, path, 0, NULL), ASSAY_OK);
    for (uint32_t i = 0; i < 20000; i++) {
        struct assay_witness_entry e = made_entry(&m, 0);
        uint32_t bits = i < 300 ? i << 23 | (i & 1 ? 0x7fffff : 0) : (uint32_t)made_number(&m);

        if ((bits >> 23 & 255) == 255)
            bits ^= 1u << 30;
        memcpy(&e.cut_cost, &bits, sizeof bits);
        assert_int_equal(assay_witness_add(w, &e, NULL), ASSAY_OK);
    }
    assert_int_equal(assay_witness_close(w, NULL), ASSAY_OK);
    r = verify_file(path);
    assert_string_equal(r.sentence, "");
    assert_true(r.whole && r.entries == 20000);
}

/* ---- tampering ---- */

struct text {
    char *bytes;
    size_t size;
    size_t line[64]; /* where each begins, and the end */
    size_t n_lines;
};

static struct text read_lines(const char *path)
{
    struct text t = {0};

    t.bytes = made_read(path, &t.size);
    for (size_t i = 0; i < t.size; i++)
        if (i == 0 || t.bytes[i - 1] == '\n')
            t.line[t.n_lines++] = i;
    t.line[t.n_lines] = t.size;
    return t;
}

/* The lines of `order`, -1 ends it, verified as one file. */
static struct assay_witness_report verify_order(const struct text *t, const int *order)
{
    struct as_out out = unit_out();
    struct assay_witness_report r;

    for (; *order >= 0; order++)
        as_out_put(&out, t->bytes + t->line[*order], t->line[*order + 1] - t->line[*order]);
    r = verify_bytes(out.buf, out.used);
    as_out_drop(&out);
    return r;
}

static void lines_keep_their_places(void **state)
{
    static const struct {
        int order[8];
        uint64_t line;
        const char *words;
    } cases[] = {
        {{0, 1, 2, 3, -1}, 0, ""},
        {{0, 2, 3, -1}, 2, "found entry 2, expected entry 1"},
        {{1, 2, 3, -1}, 1, "found entry 1, expected entry 0"},
        {{0, 1, 1, 2, 3, -1}, 3, "entry 1 is out of order or repeated"},
        {{0, 2, 1, 3, -1}, 2, "expected entry 1"},
        {{0, 1, 3, -1}, 3, "the seal counts 3 entries, but 2 precede it"},
        {{0, 1, 2, 3, 3, -1}, 5, "there is data after the seal"},
        {{3, 0, 1, 2, -1}, 1, "the seal counts 3 entries, but 0"},
        {{0, 1, 2, -1}, 0, "unfinished: the file ends after line 3 without a seal"},
    };
    struct text t;

    (void)state;
    made_file(made_path("order"), (struct made){.seed = 11}, 3, 0);
    t = read_lines(made_path("order"));
    assert_int_equal(t.n_lines, 4);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct assay_witness_report r = verify_order(&t, cases[i].order);

        assert_int_equal(r.first_bad_line, cases[i].line);
        assert_non_null(strstr(r.sentence, cases[i].words));
        assert_int_equal(r.whole, i == 0);
    }
    free(t.bytes);
}

/* Replaces the first `from` by `to`, of the same size, and verifies. */
static struct assay_witness_report forge(struct text *t, size_t line, const char *from,
                                         const char *to)
{
    char *at =
        memmem(t->bytes + t->line[line], t->line[line + 1] - t->line[line], from, strlen(from));
    struct assay_witness_report r;

    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
    r = verify_bytes(t->bytes, t->size);
    memcpy(at, from, strlen(from));
    return r;
}

static void forgeries_are_told_by_name(void **state)
{
    static const struct {
        const char *from, *to, *words;
    } cases[] = {
        {"\"lambda\":0.5", "\"lambda\":0.4", "line 2: entry_hash does not follow"},
        {"\"lambda\":0.5", "\"lambda\":.50", "line 2: JSON"},
        {"\"lambda\":0.5", "\"lambda\":500", "line 2: lambda is not a float in its shortest form"},
        {"\"tau\":1", "\"tau\":2", "line 2: entry_hash does not follow"},
        {"\"tau\"", "\"tou\"", "line 2: another key is in the place of tau"},
        {"\"timestamp\":1000", "\"timestamp\":1001", "line 5: the seal does not match"},
        {"\"seq_len\":17", "\"seq_len\":18", "line 2: entry_hash does not follow"},
        {"\"q_hash\":\"", "\"q_hash\":1", "line 2: JSON"},
        {"\"config_hash\":\"c", "\"config_hash\":\"C",
         "line 2: config_hash is not 64 lower-case hex digits"},
        {"\"index\":1", "\"index\":2", "line 2: entry_hash does not follow"},
    };
    struct text t;

    (void)state;
    made_file(made_path("forge"), (struct made){.seed = 12}, 4, 0);
    t = read_lines(made_path("forge"));
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct assay_witness_report r = forge(&t, 1, cases[i].from, cases[i].to);

        if (!strstr(r.sentence, cases[i].words))
            fail_msg("%s: %s", cases[i].to, r.sentence);
        assert_false(r.whole);
    }
    free(t.bytes);
}

/* A line that is right in itself, but of another chain. */
static void an_entry_of_another_chain_is_noticed(void **state)
{
    struct text a, b;
    struct as_out out = unit_out();
    struct assay_witness_report r;

    (void)state;
    made_file(made_path("one"), (struct made){.seed = 21}, 3, 0);
    made_file(made_path("two"), (struct made){.seed = 22}, 3, 0);
    a = read_lines(made_path("one"));
    b = read_lines(made_path("two"));
    as_out_put(&out, a.bytes, a.line[1]);
    as_out_put(&out, b.bytes + b.line[1], b.line[2] - b.line[1]);
    r = verify_bytes(out.buf, out.used);
    assert_int_equal(r.first_bad_line, 2);
    assert_non_null(strstr(r.sentence, "prev_hash is not the hash of the entry before"));
    assert_int_equal(r.entries, 1);
    as_out_drop(&out);
    free(a.bytes);
    free(b.bytes);
}

static void white_space_and_blank_lines_are_noticed(void **state)
{
    static const struct {
        size_t at; /* from the begin of line 2 */
        const char *put;
    } cases[] = {{0, " "}, {1, " "}, {0, "\n"}, {1, "\t"}, {0, "\r\n"}, {9, " "}, {10, "\\u0071"}};
    struct text t;

    (void)state;
    made_file(made_path("space"), (struct made){.seed = 31}, 3, 0);
    t = read_lines(made_path("space"));
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_out out = unit_out();
        size_t cut = t.line[1] + cases[i].at;
        struct assay_witness_report r;

        as_out_put(&out, t.bytes, cut);
        as_out_text(&out, cases[i].put);
        as_out_put(&out, t.bytes + cut, t.size - cut);
        r = verify_bytes(out.buf, out.used);
        assert_int_equal(r.first_bad_line, 2);
        as_out_drop(&out);
    }
    free(t.bytes);
}

static void every_cut_is_noticed(void **state)
{
    struct text t;

    (void)state;
    made_file(made_path("cut"), (struct made){.seed = 41}, 3, 0);
    t = read_lines(made_path("cut"));
    for (size_t size = 0; size < t.size; size++) {
        struct assay_witness_report r = verify_bytes(t.bytes, size);
        bool between = false;

        for (size_t i = 0; i < t.n_lines; i++)
            between |= t.line[i] == size;
        assert_false(r.whole);
        assert_int_equal(r.first_bad_line != 0, !between);
        assert_non_null(strstr(r.sentence, between ? "unfinished" : "truncated"));
    }
    assert_true(verify_bytes(t.bytes, t.size).whole);
    free(t.bytes);
}

/* Bytes that are changed in a file of 1 MB; the benchmark asks for more of them. */
static size_t n_places = 400;

/* 1 MB, with masks of 512 x 512 bits; every changed byte must be found. */
static void any_changed_byte_is_noticed(void **state)
{
    struct made m = {.seed = 51};
    size_t size;
    char *bytes;

    (void)state;
    made_file(made_path("large"), (struct made){.seed = 50, .bits = (uint64_t)512 * 512}, 24, 0);
    bytes = made_read(made_path("large"), &size);
    assert_true(size > 1000000);
    assert_true(verify_bytes(bytes, size).whole);
    for (size_t i = 0; i < n_places; i++) {
        size_t at = i < 200 ? size - 1 - i : (size_t)(made_number(&m) * 2654435761u % size);
        char old = bytes[at];

        do
            bytes[at] = (char)made_number(&m);
        while (bytes[at] == old);
        if (verify_bytes(bytes, size).whole)
            fail_msg("byte %zu changed from %d to %d was not noticed", at, old, bytes[at]);
        bytes[at] = old;
    }
    assert_true(verify_bytes(bytes, size).whole);
    free(bytes);
}

/* ---- going on, and refusing ---- */

static void a_killed_run_goes_on(void **state)
{
    const struct made m = {.seed = 61, .started_ns = 5};
    size_t want_size, size;
    char *want, *got, *bytes;

    (void)state;
    made_file(made_path("want"), m, 8, 0);
    want = made_read(made_path("want"), &want_size);
    for (uint64_t keep = 0; keep <= 8; keep++) {
        struct assay_witness *w = NULL;
        struct made again = m;

        /* Whole to the end, or cut inside a line. */
        bytes = made_read(made_path("want"), &size);
        made_write(made_path("killed"), bytes, keep == 5 ? size - 1200 : size);
        free(bytes);
        assert_int_equal(assay_witness_resume(&w, made_path("killed"), 0, keep, NULL), ASSAY_OK);
        made_add(&again, w, keep, 8);
        assert_int_equal(assay_witness_close(w, NULL), ASSAY_OK);
        got = made_read(made_path("killed"), &size);
        assert_int_equal(size, want_size);
        assert_memory_equal(got, want, size);
        free(got);
    }
    free(want);
}

static void what_is_not_there_cannot_go_on(void **state)
{
    struct assay_witness *w = NULL;
    char below[600];
    struct assay_error err;
    size_t size, again;
    char *bytes, *same;

    (void)state;
    made_file(made_path("short"), (struct made){.seed = 71}, 3, 0);
    assert_int_equal(assay_witness_resume(&w, made_path("short"), 0, 4, &err), ASSAY_ERR_STATE);
    assert_null(w);
    assert_non_null(strstr(err.msg, "has 3 entries, not 4"));
    bytes = made_read(made_path("short"), &size);
    bytes[40] ^= 1;
    made_write(made_path("short"), bytes, size);
    assert_int_equal(assay_witness_resume(&w, made_path("short"), 0, 2, &err), ASSAY_ERR_FORMAT);
    assert_non_null(strstr(err.msg, "line 1"));
    same = made_read(made_path("short"), &again);
    assert_int_equal(again, size);
    assert_memory_equal(same, bytes, size);
    assert_int_equal(assay_witness_resume(&w, made_path("nowhere"), 0, 0, &err),
                     ASSAY_ERR_NOTFOUND);
    assert_int_equal(assay_witness_open(&w, made_path("short"), 0, &err), ASSAY_ERR_IO);
    (void)snprintf(below, sizeof below, "%s/folder/file", made_path("below"));
    assert_int_equal(assay_witness_open(&w, below, 0, &err), ASSAY_OK); /* makes the folders */
    assert_int_equal(assay_witness_close(w, NULL), ASSAY_OK);
    assert_int_equal(unlink(below), 0);
    *strrchr(below, '/') = '\0';
    assert_int_equal(rmdir(below) + rmdir(made_path("below")), 0);
    (void)snprintf(below, sizeof below, "%s/file", made_path("short"));
    assert_int_equal(assay_witness_open(&w, below, 0, &err), ASSAY_ERR_IO);
    free(bytes);
    free(same);
}

/* A file that may not grow stands for a disk that is full. */
static void a_full_disk_leaves_whole_lines(void **state)
{
    struct made m = {.seed = 75, .bits = 100}, again = m;
    struct rlimit before, tight;
    struct assay_witness *w = NULL;
    struct assay_error err;
    struct assay_witness_report r;
    uint64_t n = 0;
    int rc = ASSAY_OK;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = 5000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(assay_witness_open(&w, made_path("full"), 0, NULL), ASSAY_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    for (; rc == ASSAY_OK && n < 20; n++) {
        struct assay_witness_entry e = made_entry(&m, n);

        rc = assay_witness_add(w, &e, &err);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(rc, ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "cannot write"));
    r = verify_file(made_path("full"));
    assert_int_equal(r.first_bad_line, 0);
    assert_true(r.entries > 0 && r.entries == n - 1);
    made_add(&again, w, r.entries, r.entries + 3);
    assert_int_equal(assay_witness_close(w, NULL), ASSAY_OK);
    r = verify_file(made_path("full"));
    assert_true(r.whole && r.entries == n + 2);
}

static void wrong_entries_are_refused(void **state)
{
    struct made m = {.seed = 81, .bits = 12};
    struct assay_witness *w = NULL;
    struct assay_witness_entry e;
    struct assay_error err;

    (void)state;
    (void)unlink(made_path("wrong"));
    assert_int_equal(assay_witness_open(&w, made_path("wrong"), 0, NULL), ASSAY_OK);
    e = made_entry(&m, 0);
    e.cut_cost = NAN;
    assert_int_equal(assay_witness_add(w, &e, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "the cut_cost of a witness entry must be finite");
    e = made_entry(&m, 0);
    e.k_hash[3] = 'X';
    assert_int_equal(assay_witness_add(w, &e, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "k_hash"));
    e = made_entry(&m, 0);
    m.mask[1] |= 0x10;
    assert_int_equal(assay_witness_add(w, &e, &err), ASSAY_ERR_USAGE);
    e = made_entry(&m, 0);
    e.mask = NULL;
    assert_int_equal(assay_witness_add(w, &e, &err), ASSAY_ERR_USAGE);
    e.mask_bits = UINT64_MAX;
    assert_int_equal(assay_witness_add(w, &e, &err), ASSAY_ERR_LIMIT);
    assert_int_equal(assay_witness_add(w, NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_add(NULL, &e, &err), ASSAY_ERR_USAGE);
    made_add(&m, w, 0, 1);
    assert_int_equal(assay_witness_close(w, NULL), ASSAY_OK);
    assert_true(verify_file(made_path("wrong")).whole);
}

static void misuse_is_an_error(void **state)
{
    struct assay_witness *w = NULL;
    struct assay_witness_report r;
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_witness_open(NULL, "x", 0, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_open(&w, NULL, 0, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_open(&w, "x", ASSAY_WITNESS_MASK_COUNT, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_resume(NULL, "x", 0, 0, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_flush(NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_close(NULL, &err), ASSAY_OK);
    assert_int_equal(assay_witness_hash(NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_log(NULL, 0, NULL, 0, NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_verify(NULL, NULL, NULL, &r, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_verify("x", NULL, NULL, NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_witness_verify(made_path("nowhere"), NULL, NULL, &r, &err),
                     ASSAY_ERR_NOTFOUND);
    assert_int_equal(assay_witness_verify("/", NULL, NULL, &r, &err), ASSAY_ERR_IO);
    assay_witness_abandon(NULL);
    assay_witness_head(NULL, NULL);
}

static int stop_at_two(void *user, const struct assay_witness_entry *entry)
{
    uint64_t *seen = user;

    assert_int_equal(entry->index, *seen);
    assert_non_null(entry->mask);
    return ++*seen == 2 ? -77 : 0;
}

static void a_reader_may_stop(void **state)
{
    struct assay_witness_report r;
    uint64_t seen = 0;

    (void)state;
    made_file(made_path("stop"), (struct made){.seed = 91, .bits = 9}, 5, 0);
    assert_int_equal(assay_witness_verify(made_path("stop"), stop_at_two, &seen, &r, NULL), -77);
    assert_int_equal(seen, 2);
}

static void running_out_of_memory_is_an_error(void **state)
{
    const char *path = made_path("memory");
    int rc = ASSAY_ERR_NOMEM;

    (void)state;
    for (uint64_t nth = 1; rc != ASSAY_OK && nth < 100; nth++) {
        struct made m = {.seed = 99};
        struct assay_witness_entry e = made_entry(&m, 0);
        struct assay_witness_report r;
        struct assay_witness *w = NULL;

        (void)unlink(path);
        as_alloc_fail_at(nth, 0);
        rc = assay_witness_open(&w, path, ASSAY_WITNESS_MASK_FULL, NULL);
        if (rc == ASSAY_OK)
            rc = assay_witness_add(w, &e, NULL);
        if (rc == ASSAY_OK) {
            assay_witness_abandon(w);
            rc = assay_witness_resume(&w, path, ASSAY_WITNESS_MASK_FULL, 1, NULL);
        }
        if (rc == ASSAY_OK)
            rc = assay_witness_close(w, NULL);
        else
            assay_witness_abandon(w);
        if (rc == ASSAY_OK)
            rc = assay_witness_verify(path, NULL, NULL, &r, NULL);
        as_alloc_fail_at(0, 0);
        assert_true(rc == ASSAY_OK || rc == ASSAY_ERR_NOMEM);
        if (rc == ASSAY_OK)
            assert_true(r.whole);
    }
    assert_int_equal(rc, ASSAY_OK);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_hashed_as_documented),
        cmocka_unit_test(a_line_has_the_documented_form),
        cmocka_unit_test(a_witness_is_whole_in_every_form),
        cmocka_unit_test(the_chain_does_not_depend_on_the_clock),
        cmocka_unit_test(two_runs_are_compared),
        cmocka_unit_test(each_byte_of_each_form_counts),
        cmocka_unit_test(nothing_is_a_witness_too),
        cmocka_unit_test(any_float_comes_back),
        cmocka_unit_test(lines_keep_their_places),
        cmocka_unit_test(forgeries_are_told_by_name),
        cmocka_unit_test(an_entry_of_another_chain_is_noticed),
        cmocka_unit_test(white_space_and_blank_lines_are_noticed),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(any_changed_byte_is_noticed),
        cmocka_unit_test(a_killed_run_goes_on),
        cmocka_unit_test(what_is_not_there_cannot_go_on),
        cmocka_unit_test(a_full_disk_leaves_whole_lines),
        cmocka_unit_test(wrong_entries_are_refused),
        cmocka_unit_test(misuse_is_an_error),
        cmocka_unit_test(a_reader_may_stop),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };

    if (argc > 1)
        n_places = strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, made_tidy);
}
