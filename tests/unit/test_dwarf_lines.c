/* tests/unit/test_dwarf_lines.c - answers about lines are believed as far as they make sense, and
 * what reads them survives whatever it reads. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "probe/symbols/dwarf_internal.h"

static const uint64_t some_addresses[] = {0x1000, 0x2000, 0x3000};

static const struct as_dwarf_module modules[] = {
    {"/a", some_addresses, 2},
    {"/b", some_addresses + 2, 1},
};

struct said {
    uint8_t bytes[8192];
    size_t n;
};

static void say(struct said *s, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        s->bytes[s->n++] = (uint8_t)(value >> 8 * i);
}

static void say_text(struct said *s, const char *text)
{
    memcpy(s->bytes + s->n, text, strlen(text));
    s->n += strlen(text);
}

static void say_begin(struct said *s, uint32_t module)
{
    say(s, AS_DWARF_BEGINS, 1);
    say(s, module, 4);
}

static void say_place(struct said *s, uint32_t i, uint8_t n)
{
    say(s, AS_DWARF_PLACE, 1);
    say(s, i, 4);
    say(s, n, 1);
    for (uint8_t k = 0; k < n && k < AS_DWARF_MAX_DEPTH; k++) {
        say(s, 10u + k, 4);
        say(s, 3, 2);
        say(s, 4, 2);
        say_text(s, "funfile");
    }
}

struct hearing {
    struct as_dwarf_place place[3];
    struct as_dwarf_answers a;
    struct as_arena arena;
    int rc;
    size_t used;
};

static void hear(struct hearing *h, const uint8_t *bytes, size_t size)
{
    struct as_cursor c = as_cursor_over(bytes, size);

    memset(h, 0, sizeof *h);
    h->a = (struct as_dwarf_answers){
        .module = modules, .n_modules = 2, .place = h->place, .arena = &h->arena, .at = 2};
    h->rc = as_dwarf_answers_take(&h->a, &c);
    h->used = size - as_cursor_left(&c);
}

static void forget(struct hearing *h)
{
    as_hash_map_fini(&h->a.texts);
    as_arena_fini(&h->arena);
}

static struct said all_of_it(void)
{
    struct said s = {.n = 0};

    say_begin(&s, 0);
    say_place(&s, 1, 2);
    say_begin(&s, 1);
    say_place(&s, 0, 1);
    say(&s, AS_DWARF_ENDS, 1);
    say(&s, 1, 1);
    return s;
}

static void answers_find_their_places(void **state)
{
    struct said s = all_of_it();
    struct hearing h;

    (void)state;
    hear(&h, s.bytes, s.n);
    assert_int_equal(h.rc, 0);
    assert_true(h.a.ended);
    assert_false(h.a.missing);
    assert_int_equal(h.place[0].n, 0);
    assert_int_equal(h.place[1].n, 2);
    assert_int_equal(h.place[2].n, 1);
    assert_string_equal(h.place[1].frame[1].function, "fun");
    assert_string_equal(h.place[1].frame[1].file, "file");
    assert_int_equal(h.place[1].frame[1].line, 11);
    assert_ptr_equal(h.place[1].frame[1].file, h.place[2].frame[0].file); /* kept once */
    forget(&h);
}

static void what_is_not_all_there_waits(void **state)
{
    struct said s = all_of_it();
    struct hearing h;

    (void)state;
    for (size_t n = 0; n < s.n; n++) {
        hear(&h, s.bytes, n);
        assert_int_equal(h.rc, 1);
        assert_true(h.used <= n);
        forget(&h);
    }
}

static void expect_refused(const struct said *s)
{
    struct hearing h;

    hear(&h, s->bytes, s->n);
    assert_int_equal(h.rc, ASSAY_ERR_FORMAT);
    forget(&h);
}

static void what_cannot_be_is_refused(void **state)
{
    struct said s = {.n = 0};

    (void)state;
    say_place(&s, 0, 1); /* of no module */
    expect_refused(&s);
    s.n = 0;
    say_begin(&s, 1);
    say_begin(&s, 0); /* behind it */
    expect_refused(&s);
    s.n = 0;
    say_begin(&s, 2);
    expect_refused(&s);
    s.n = 0;
    say_begin(&s, 1);
    say_place(&s, 1, 1); /* it has one address */
    expect_refused(&s);
    s.n = 0;
    say_begin(&s, 0);
    say_place(&s, 0, 1);
    say_place(&s, 0, 1); /* twice */
    expect_refused(&s);
    s.n = 0;
    say_begin(&s, 0);
    say_place(&s, 0, 0);
    expect_refused(&s);
    s.n = 0;
    say_begin(&s, 0);
    say_place(&s, 0, AS_DWARF_MAX_DEPTH + 1);
    expect_refused(&s);
    s.n = 0;
    say_begin(&s, 0);
    say(&s, AS_DWARF_PLACE, 1);
    say(&s, 0, 4);
    say(&s, 1, 1);
    say(&s, 7, 4);
    say(&s, AS_DWARF_MAX_TEXT + 1, 2);
    say(&s, 0, 2);
    expect_refused(&s);
    s.n = 0;
    say(&s, 9, 1);
    expect_refused(&s);
}

static void look_up(const char *path, struct as_dwarf_limits limits, struct as_dwarf_report *report,
                    uint32_t *found)
{
    const struct as_dwarf_module module = {path, some_addresses, 3};
    struct as_dwarf_place place[3];
    struct as_arena arena = {0};

    assert_int_equal(as_dwarf_look_up(&module, 1, &limits, place, &arena, report, NULL), ASSAY_OK);
    *found = place[0].n + place[1].n + place[2].n;
    as_arena_fini(&arena);
}

static void files_without_lines_have_none(void **state)
{
    struct as_dwarf_limits limits = AS_DWARF_LIMITS_INIT;
    struct as_dwarf_report report;
    uint32_t found;

    (void)state;
    look_up("/nonexistent", limits, &report, &found);
    assert_int_equal(found, 0);
    assert_int_equal(report.given_up, 0);
    look_up("/dev/zero", limits, &report, &found);
    assert_int_equal(found, 0);
    assert_int_equal(report.given_up, 0);
}

static void without_time_nothing_is_answered(void **state)
{
    struct as_dwarf_limits limits = AS_DWARF_LIMITS_INIT;
    struct as_dwarf_report report;
    uint32_t found;

    (void)state;
    limits.wall_seconds = 0;
    look_up("/proc/self/exe", limits, &report, &found);
    assert_int_equal(found, 0);
    assert_int_equal(report.unanswered, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_find_their_places),
        cmocka_unit_test(what_is_not_all_there_waits),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(files_without_lines_have_none),
        cmocka_unit_test(without_time_nothing_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
