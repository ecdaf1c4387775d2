/* tests/unit/test_site_table.c - one id a name, for ever, from any thread; every entry reaches the
 * sink. The table is the process's, so tests here use names of their own. */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "trace/record/site_table.h"
#include "trace/run/run_format.h"

static struct {
    uint8_t bytes[1 << 16];
    size_t size, n_calls;
} sunk;

static void sink(const void *entries, size_t size)
{
    assert_true(sunk.size + size <= sizeof sunk.bytes);
    memcpy(sunk.bytes + sunk.size, entries, size);
    sunk.size += size;
    sunk.n_calls++;
}

static uint32_t intern(const char *name, uint32_t category)
{
    const struct as_site_spec spec = {
        .name = name, .category = category, .line = 12, .file = "a.c"};

    return as_site_intern(&spec);
}

static void one_name_has_one_id(void **state)
{
    uint32_t a = intern("one.a", 0), b = intern("one.b", 0);

    (void)state;
    assert_true(a != 0 && b != 0 && a != b);
    assert_int_equal(intern("one.a", 0), a);
    assert_true(intern("one.a", 3) != a); /* another category is another site */
    assert_true(intern("", 0) != 0);
}

static void a_long_name_is_cut_and_still_one(void **state)
{
    static char name[5000];

    (void)state;
    memset(name, 'x', sizeof name - 1);
    assert_true(intern(name, 0) != 0);
    assert_int_equal(intern(name, 0), intern(name, 0));
}

static size_t count_entries(uint8_t wanted, uint64_t id)
{
    struct as_cursor c = as_cursor_over(sunk.bytes, sunk.size);
    size_t n = 0;

    while (as_cursor_left(&c)) {
        const uint8_t *text;
        uint64_t got = 0, line, size = 0, bits;
        uint8_t entry = 0, category;

        assert_true(as_take_u8(&c, &entry) && as_take_varint(&c, &got));
        n += entry == wanted && got == id;
        if (entry == AS_ENTRY_SITE)
            assert_true(as_take_u8(&c, &category) && as_take_varint(&c, &line));
        for (int i = 0; i < (entry == AS_ENTRY_SITE ? 3 : entry == AS_ENTRY_TEXT ? 2 : 1); i++)
            assert_true(as_take_varint(&c, &size) && as_take_bytes(&c, size, &text));
        if (entry == AS_ENTRY_NUMBER)
            assert_true(as_take_u64le(&c, &bits));
    }
    return n;
}

static void the_sink_gets_what_was_and_what_comes(void **state)
{
    uint32_t before = intern("sink.before", 0), after;

    (void)state;
    sunk.size = sunk.n_calls = 0;
    as_sites_follow(sink);
    assert_int_equal(sunk.n_calls, 1);
    after = intern("sink.after", 0);
    assert_int_equal(sunk.n_calls, 2);
    intern("sink.after", 0);
    assert_int_equal(sunk.n_calls, 2);
    assert_int_equal(as_site_attribute(after, "op", "conv", 0, NULL), ASSAY_OK);
    assert_int_equal(as_site_attribute(after, "flops", NULL, 2e9, NULL), ASSAY_OK);
    assert_int_equal(count_entries(AS_ENTRY_SITE, before), 1);
    assert_int_equal(count_entries(AS_ENTRY_SITE, after), 1);
    assert_int_equal(count_entries(AS_ENTRY_TEXT, after), 1);
    assert_int_equal(count_entries(AS_ENTRY_NUMBER, after), 1);
    as_sites_follow(NULL);
    intern("sink.later", 0);
    assert_int_equal(sunk.n_calls, 4);
}

static void facts_about_nobody_are_refused(void **state)
{
    struct assay_error err;

    (void)state;
    assert_int_equal(as_site_attribute(0, "op", "conv", 0, &err), ASSAY_ERR_NOTFOUND);
    assert_int_equal(as_site_attribute(1u << 30, "op", "conv", 0, &err), ASSAY_ERR_NOTFOUND);
}

#define N_THREADS 8
#define N_NAMES   500

static void *intern_many(void *out)
{
    uint32_t *id = out;
    char name[32];

    for (int i = 0; i < N_NAMES; i++) {
        snprintf(name, sizeof name, "many.%d", i);
        id[i] = intern(name, 0);
    }
    return NULL;
}

static void threads_agree_on_ids(void **state)
{
    static uint32_t id[N_THREADS][N_NAMES];
    pthread_t thread[N_THREADS];

    (void)state;
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, intern_many, id[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < N_NAMES; i++) {
        assert_true(id[0][i] != 0);
        for (int t = 1; t < N_THREADS; t++)
            assert_int_equal(id[t][i], id[0][i]);
        for (int j = 0; j < i; j++)
            assert_true(id[0][j] != id[0][i]);
    }
}

/* Last: it fills the table of the process. */
static void a_full_table_gives_no_id_and_keeps_the_old(void **state)
{
    uint32_t first = intern("full.first", 0), id = first, n = 0;
    char name[32];

    (void)state;
    while (id && n <= AS_RUN_MAX_SITES) {
        snprintf(name, sizeof name, "full.%u", n++);
        id = intern(name, 0);
    }
    assert_int_equal(id, 0);
    assert_int_equal(intern("full.first", 0), first);
    assert_int_equal(intern("full.one.more", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_name_has_one_id),
        cmocka_unit_test(a_long_name_is_cut_and_still_one),
        cmocka_unit_test(the_sink_gets_what_was_and_what_comes),
        cmocka_unit_test(facts_about_nobody_are_refused),
        cmocka_unit_test(threads_agree_on_ids),
        cmocka_unit_test(a_full_table_gives_no_id_and_keeps_the_old),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
