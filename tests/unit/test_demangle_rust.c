/* tests/unit/test_demangle_rust.c - names of Rust functions come out as people write them; what is
 * no such name stays as it is. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "probe/symbols/demangle_rust.h"

static const struct {
    const char *name, *shown;
} known[] = {
    {"_RNvC6_123foo3bar", "123foo::bar"},
    {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
    {"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}"},
    {"_RNvMC0TReE3len", "<(&str,)>::len"},
    {"_RNvXC1aNtC1b3FooNtC1c3Bar3baz", "<b::Foo as c::Bar>::baz"},
    {"_RNvYNtC1b3FooNtC1c3Bar3baz", "<b::Foo as c::Bar>::baz"},
    {"_RINvC1a1fhE", "a::f::<u8>"},
    {"_RINvC1a1fNtC1b1cEB2_", "a::f::<b::c>"},
    {"_RINvC1a1fATEj3_E", "a::f::<[(); 3]>"},
    {"_RINvC1a1fKj1f_E", "a::f::<31>"},
    {"_RINvC1a1fKan80_E", "a::f::<-128>"},
    {"_RINvC1a1fKb1_E", "a::f::<true>"},
    {"_RINvC1a1fKc27_E", "a::f::<'\\''>"},
    {"_RINvC1a1fKc2202_E", "a::f::<'\xe2\x88\x82'>"},
    {"_RINvC1a1fKpE", "a::f::<_>"},
    {"_RINvC1a1fKoffffffffffffffffff_E", "a::f::<0xffffffffffffffffff>"},
    {"_RINvC1a1fFG_RL0_hEuE", "a::f::<for<'a> fn(&'a u8)>"},
    {"_RINvC1a1fFUKCjEjE", "a::f::<unsafe extern \"C\" fn(usize) -> usize>"},
    {"_RINvC1a1fDNtC1b1TpuE4ItemmEL_E", NULL},
    {"_RINvC1a1fDNtC1b1Tp4ItemmEL_E", "a::f::<dyn b::T<Item = u32>>"},
    {"_RINvC1a1fDINtC1b1ThEp4ItemmNtC1c4SendEL_E", "a::f::<dyn b::T<u8, Item = u32> + c::Send>"},
    {"_RINvC1a1fQShOePuE", "a::f::<&mut [u8], *mut str, *const ()>"},
    {"_RNvC1au8gdel_5qa", "a::g\xc3\xb6"
                          "del"},
    {"_RNSC1a3fooC1b", "a::{shim:foo#0}"},
    {"_RNvC1a3foo.llvm.123456", "a::foo"},
    {"_ZN3foo3bar17h05af221e174051e9E", "foo::bar"},
    {"_ZN3foo3bar17h05af221e174051e9E.llvm.77", "foo::bar"},
    {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
     "3bar17h930b740aa94f1d3aE",
     "<Test + 'static as foo::Bar<Test>>::bar"},
    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
};

static void known_names_are_shown(void **state)
{
    char out[256];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(known); i++) {
        bool is_name = as_demangle_rust(known[i].name, out, sizeof out);

        if (!known[i].shown) {
            assert_false(is_name);
        } else {
            assert_true(is_name);
            if (strcmp(out, known[i].shown) != 0)
                fail_msg("%s is %s, not %s", known[i].name, out, known[i].shown);
        }
    }
}

static void other_names_stay(void **state)
{
    static const char *const other[] = {
        "",
        "_R",
        "_RN",
        "_RNvC",
        "_RNvC3foo",
        "_RNvC9foo3bar",
        "malloc",
        "_ZN3foo3barE",
        "_Z3foov",
        "_RNvC3foo3barX",
        "_R0NvC1a1b",
        "_RNvB_1a",
        "_RNvB9_1a",
        "_RINvC1a1fRL0_hE",
        "_RINvC1a1fKz1_E",
        "_ZN3foo17h05af221e174051eE",
        "_ZN3foo17h05af221e174051e9",
        "_ZN17h05af221e174051e9E",
        "_RNvC1a3fo\xc3",
    };
    char out[64];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(other); i++)
        if (as_demangle_rust(other[i], out, sizeof out))
            fail_msg("%s became %s", other[i], out);
}

static void a_long_name_is_cut(void **state)
{
    char out[8];

    (void)state;
    assert_true(as_demangle_rust("_RNvC6_123foo3bar", out, sizeof out));
    assert_string_equal(out, "123foo:");
    assert_true(as_demangle_rust("_ZN3foo5alpha17h05af221e174051e9E", out, sizeof out));
    assert_string_equal(out, "foo::al");
    assert_false(as_demangle_rust("_RNvC6_123foo3bar", out, 1));
}

/* Each level repeats the one before three times. */
static void names_that_grow_without_end_do_not(void **state)
{
    static char name[8192], out[1025];
    size_t n = 0;

    (void)state;
    memcpy(name, "_RINvC1a1f", 10);
    n = 10;
    for (int i = 0; i < 300; i++)
        n += (size_t)snprintf(name + n, sizeof name - n, "TB7_B7_B7_");
    memset(name + n, 'E', 301);
    (void)as_demangle_rust(name, out, sizeof out);
    assert_true(strlen(out) < sizeof out);
    n = 2;
    while (n < sizeof name - 1)
        name[n++] = 'I';
    assert_false(as_demangle_rust(name, out, sizeof out));
    for (n = 2; n < sizeof name - 1; n++)
        name[n] = 'M';
    assert_false(as_demangle_rust(name, out, sizeof out));
}

static void every_cut_is_survived(void **state)
{
    char name[256], out[256];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(known); i++) {
        for (size_t size = 0; size < strlen(known[i].name); size++) {
            memcpy(name, known[i].name, size);
            name[size] = '\0';
            (void)as_demangle_rust(name, out, sizeof out);
            if (as_demangle_rust(known[i].name, out, size + 1))
                assert_true(strlen(out) <= size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_names_are_shown),
        cmocka_unit_test(other_names_stay),
        cmocka_unit_test(a_long_name_is_cut),
        cmocka_unit_test(names_that_grow_without_end_do_not),
        cmocka_unit_test(every_cut_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
