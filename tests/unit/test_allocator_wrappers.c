/* tests/unit/test_allocator_wrappers.c - functions that allocate for others are known by their
 * names. */
#include "unit.h"

#include "analyze/watch/allocator_wrappers.h"

static void wrappers_are_known(void **state)
{
    static const char *const names[] = {
        "malloc",
        "xmalloc",
        "xcalloc",
        "xrealloc",
        "xstrdup",
        "g_malloc",
        "g_malloc0_n",
        "PyObject_Malloc",
        "PyMem_RawCalloc",
        "_PyObject_GC_New",
        "operator new(unsigned long)",
        "operator new[](unsigned long, std::nothrow_t const&)",
        "c10::alloc_cpu(unsigned long)",
        "std::string::_M_construct",
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
        ">::_M_create(unsigned long&, unsigned long)",
        "void std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
        ">::_M_construct<char const*>(char const*, char const*, std::forward_iterator_tag)",
        "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)",
        "std::allocator<(anonymous namespace)::row>::allocate(unsigned long)",
        "int& std::vector<int, std::allocator<int> >::emplace_back<int>(int&&)",
        "__rust_alloc",
        "alloc::alloc::alloc",
        "alloc::raw_vec::RawVec<T,A>::grow_one",
        "<alloc::vec::Vec<alloc::string::String>>::push",
        "<alloc::raw_vec::RawVecInner>::try_allocate_in",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(names); i++)
        if (!as_is_allocator_wrapper(names[i], "a.out", NULL))
            fail_msg("%s is none", names[i]);
    assert_true(as_is_allocator_wrapper(NULL, "libc10.so.1.13.0", NULL));
    assert_true(as_is_allocator_wrapper("any", NULL, "/usr/include/c++/12/bits/stl_algo.h"));
    assert_true(as_is_allocator_wrapper("any", NULL, "/rustc/5980/library/core/src/iter/mod.rs"));
}

static void others_are_not(void **state)
{
    static const char *const names[] = {
        "main",
        "make_row",
        "malloc_rows",
        "my_mallocator",
        "load(std::vector<int, std::allocator<int> >&)",
        "app::vector<int>::push(int)",
        "(anonymous namespace)::load(int)",
        "std::sort<int*>(int*, int*)",
        "std::thread::join()",
        "t2::inner::build",
        "<t2::Table<alloc::string::String>>::grow",
        "operator+(row const&, row const&)",
        "sqlite3_prepare",
        "",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(names); i++)
        if (as_is_allocator_wrapper(names[i], "a.out", NULL))
            fail_msg("%s is one", names[i]);
    assert_false(as_is_allocator_wrapper(NULL, "a.out", NULL));
    assert_false(as_is_allocator_wrapper("build", "a.out", "/home/me/src/build.rs"));
    assert_false(
        as_is_allocator_wrapper("main", "a.out", "/rustc/59807616e/library/std/src/rt.rs"));
    assert_false(as_is_allocator_wrapper(NULL, NULL, NULL));
}

static void plain(const char *name, const char *wanted)
{
    char out[AS_PLAIN_NAME];

    as_plain_function_name(name, out);
    assert_string_equal(out, wanted);
}

static void names_become_plain(void **state)
{
    static char name[5000];

    (void)state;
    plain("int& std::vector<int>::emplace_back<int>(int&&)", "std::vector::emplace_back");
    plain("(anonymous namespace)::load(int)", "(anonymous namespace)::load");
    plain("main", "main");
    plain("", "");
    plain("a<b<c>>::d", "a::d");
    memset(name, '<', sizeof name - 1);
    plain(name, "");
    memset(name, 'x', sizeof name - 1);
    plain(name, name + sizeof name - AS_PLAIN_NAME); /* cut */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrappers_are_known),
        cmocka_unit_test(others_are_not),
        cmocka_unit_test(names_become_plain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
