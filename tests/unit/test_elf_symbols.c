/* tests/unit/test_elf_symbols.c - addresses get the names that the files in the map give them.
 * Files that lie lose their names, never more. */
#include "unit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "elf_kit.h"
#include "probe/symbols/elf_file.h"
#include "probe/symbols/elf_symbols.h"
#include "root_kit.h"

#define START 0x555500000000ull
#define MAPS                                                                                       \
    "555500000000-555500010000 r-xp 00000000 fe:01 77 /bin/a.out\n"                                \
    "555500010000-555500020000 rw-p 00010000 fe:01 77 /bin/a.out\n"                                \
    "555600000000-555600021000 rw-p 00000000 00:00 0 [heap]\n"                                     \
    "7f0000000000-7f0000010000 r-xp 00000000 fe:01 78 /lib/gone.so (deleted)\n"                    \
    "7f0000020000-7f0000030000 r-xp 00000000 00:00 0 \n"                                           \
    "7fff00000000-7fff00002000 r-xp 00000000 00:00 0 [vdso]\n"

static const struct elf_kit_symbol two[] = {
    {"first", 0x1000, 0x100, 0, 0},
    {"second", 0x1100, 0x80, 0, 0},
};

static void put_file(const struct kit_root *root, const char *name, const struct elf_kit *kit)
{
    struct as_buffer b = elf_kit_make(kit);
    char path[300];
    FILE *f;

    kit_root_put(root, name, "");
    (void)snprintf(path, sizeof path, "%s%s", root->path, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(b.data, 1, b.size, f), b.size);
    assert_int_equal(fclose(f), 0);
    as_buffer_fini(&b);
}

/* Writes the file and opens a map of it. */
static struct as_symbols *open_kit(const struct kit_root *root, const struct elf_kit *kit)
{
    struct as_symbols *s;

    put_file(root, "/bin/a.out", kit);
    assert_int_equal(as_symbols_new(&s, MAPS, root->path, NULL), ASSAY_OK);
    return s;
}

static void expect(struct as_symbols *s, uint64_t address, const char *function, const char *module,
                   uint64_t offset)
{
    struct as_symbol found;

    as_symbols_find(s, address, &found);
    if (function)
        assert_string_equal(found.function, function);
    else
        assert_null(found.function);
    if (module)
        assert_string_equal(found.module, module);
    else
        assert_null(found.module);
    assert_int_equal(found.offset, offset);
}

static void a_return_address_is_of_the_call_before_it(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_symbols *s = open_kit(&root, &(struct elf_kit){.symbols = two, .n_symbols = 2});

    (void)state;
    expect(s, START + 0x1010, "first", "a.out", 0x10);
    /* The last thing first did was to call something that does not return. */
    expect(s, START + 0x1100, "first", "a.out", 0x100);
    expect(s, START + 0x1101, "second", "a.out", 1);
    expect(s, START + 0x1180, "second", "a.out", 0x80);
    expect(s, START + 0x1181, NULL, "a.out", 0x1181);
    expect(s, START + 0x800, NULL, "a.out", 0x800);
    as_symbols_free(s);
    kit_root_fini(&root);
}

static void what_is_no_file_is_told_by_its_place(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_symbols *s = open_kit(&root, &(struct elf_kit){.symbols = two, .n_symbols = 2});

    (void)state;
    kit_root_put(&root, "/lib/gone.so", "another file");
    expect(s, 0x555600000100, NULL, "[heap]", 0x100);
    expect(s, 0x7fff00000040, NULL, "[vdso]", 0x40);
    expect(s, 0x7f0000000040, NULL, "gone.so", 0x40);
    expect(s, 0x7f0000020040, NULL, NULL, 0x7f0000020040);
    expect(s, 0x1000, NULL, NULL, 0x1000);
    expect(s, 0, NULL, NULL, 0);
    expect(s, UINT64_MAX, NULL, NULL, UINT64_MAX);
    as_symbols_free(s);
    kit_root_fini(&root);
}

static void of_several_names_the_plain_one_is_taken(void **state)
{
    static const struct elf_kit_symbol symbols[] = {
        {"__libc_make", 0x1000, 0x100, 0, 0}, {"make", 0x1000, 0x100, 0, 0},
        {"__make", 0x1000, 0x100, 0, 0},      {"whole", 0x2000, 0x400, 0, 0},
        {"inner", 0x2100, 0x10, 0, 0},        {"open_ended", 0x3000, 0, 0, 0},
        {"chosen", 0x4000, 0x10, 10, 0},      {"an_object", 0x5000, 0x10, 1, 0},
    };
    struct kit_root root = kit_root_new();
    struct as_symbols *s =
        open_kit(&root, &(struct elf_kit){.symbols = symbols, .n_symbols = UNIT_COUNT(symbols)});

    (void)state;
    expect(s, START + 0x1001, "make", "a.out", 1);
    expect(s, START + 0x2105, "inner", "a.out", 5);
    expect(s, START + 0x2200, "whole", "a.out", 0x200);
    expect(s, START + 0x3800, "open_ended", "a.out", 0x800);
    expect(s, START + 0x4001, "chosen", "a.out", 1);
    expect(s, START + 0x5001, NULL, "a.out", 0x5001);
    as_symbols_free(s);
    kit_root_fini(&root);
}

static void a_stripped_file_gets_names_from_its_debug_file(void **state)
{
    static const struct elf_kit_symbol few[] = {{"exported", 0x1000, 0x10, 0, 0}};
    const struct elf_kit stripped = {.symbols = few,
                                     .n_symbols = 1,
                                     .dynamic = true,
                                     .build_id = "ABCDEFGH",
                                     .debug_link = "a.debug"};
    struct elf_kit whole = {.symbols = two, .n_symbols = 2, .build_id = "ABCDEFGH"};
    static const char *const places[] = {
        "/usr/lib/debug/.build-id/41/42434445464748.debug",
        "/usr/lib/debug/bin/a.debug",
        "/bin/.debug/a.debug",
        "/bin/a.debug",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(places); i++) {
        struct kit_root root = kit_root_new();
        struct as_symbols *s;

        put_file(&root, places[i], &whole);
        s = open_kit(&root, &stripped);
        expect(s, START + 0x1120, "second", "a.out", 0x20);
        as_symbols_free(s);
        /* One of another build would give wrong names. */
        whole.build_id = "ABCDEFGX";
        put_file(&root, places[i], &whole);
        whole.build_id = "ABCDEFGH";
        s = open_kit(&root, &stripped);
        expect(s, START + 0x1120, NULL, "a.out", 0x1120);
        expect(s, START + 0x1001, "exported", "a.out", 1);
        as_symbols_free(s);
        kit_root_fini(&root);
    }
}

static void a_huge_file_is_not_read(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_symbols *s = open_kit(&root, &(struct elf_kit){.symbols = two, .n_symbols = 2});
    char path[200];

    (void)state;
    as_symbols_free(s);
    (void)snprintf(path, sizeof path, "%s/bin/a.out", root.path);
    assert_int_equal(truncate(path, 64ll << 30), 0); /* what reading it would need is not here */
    assert_int_equal(as_symbols_new(&s, MAPS, root.path, NULL), ASSAY_OK);
    expect(s, START + 0x1010, "first", "a.out", 0x10);
    as_symbols_free(s);
    kit_root_fini(&root);
}

static const char *own_maps(void)
{
    static char maps[1 << 18];
    FILE *f = fopen("/proc/self/maps", "re");
    size_t n;

    assert_non_null(f);
    n = fread(maps, 1, sizeof maps - 1, f);
    maps[n] = '\0';
    assert_int_equal(fclose(f), 0);
    return maps;
}

static void this_program_and_its_libc_have_names(void **state)
{
    struct as_symbols *s;
    struct as_symbol found;

    (void)state;
    assert_int_equal(as_symbols_new(&s, own_maps(), "", NULL), ASSAY_OK);
    as_symbols_find(s, (uint64_t)(uintptr_t)as_symbols_new + 3, &found);
    assert_string_equal(found.function, "as_symbols_new");
    assert_int_equal(found.offset, 3);
    for (int i = 0; i < 100000; i++)
        as_symbols_find(s, (uint64_t)(uintptr_t)as_symbols_find + 1 + (uint64_t)(i % 16), &found);
    assert_string_equal(found.function, "as_symbols_find");
    as_symbols_find(s, (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort") + 1, &found);
    if (found.module && strcmp(found.module, "libc.so.6") == 0)
        assert_string_equal(found.function, "qsort");
    as_symbols_free(s);
}

/* Whether libdw is there decides about lines, and about nothing else. */
static void this_program_has_lines_where_libdw_is(void **state)
{
    const uint64_t at[] = {(uint64_t)(uintptr_t)as_symbols_new + 3,
                           (uint64_t)(uintptr_t)as_memory_map_parse + 3, 1, UINT64_MAX};
    struct as_symbols *s;
    struct as_symbol found;

    (void)state;
    assert_int_equal(as_symbols_new(&s, own_maps(), "", NULL), ASSAY_OK);
    assert_int_equal(as_symbols_find_lines(s, at, UNIT_COUNT(at), NULL), ASSAY_OK);
    as_symbols_find(s, at[0], &found);
    assert_string_equal(found.function, "as_symbols_new");
    if (found.n_frames) {
        const struct as_symbol_frame *last = &found.frame[found.n_frames - 1];

        assert_string_equal(last->function, "as_symbols_new");
        assert_non_null(strstr(last->file, "elf_symbols.c"));
        assert_true(last->line > 0);
        as_symbols_find(s, at[1], &found);
        assert_non_null(strstr(found.frame[found.n_frames - 1].file, "memory_map.c"));
        assert_null(as_symbols_lines_why(s));
    }
    as_symbols_find(s, at[0] + 1, &found); /* it was not asked for */
    assert_int_equal(found.n_frames, 0);
    as_symbols_free(s);
}

static void without_memory_there_are_no_lines_and_no_harm(void **state)
{
    const uint64_t at[] = {(uint64_t)(uintptr_t)as_symbols_new + 3,
                           (uint64_t)(uintptr_t)as_memory_map_parse + 3};
    const char *maps = own_maps();

    (void)state;
    for (uint64_t nth = 1; nth < 30; nth++) {
        struct as_symbols *s;
        struct as_symbol found;
        int rc;

        assert_int_equal(as_symbols_new(&s, maps, "", NULL), ASSAY_OK);
        as_alloc_fail_at(nth, nth % 2);
        rc = as_symbols_find_lines(s, at, UNIT_COUNT(at), NULL);
        as_alloc_fail_at(0, 0);
        assert_true(rc == ASSAY_OK || rc == ASSAY_ERR_NOMEM);
        as_symbols_find(s, at[0], &found);
        as_symbols_free(s);
    }
}

static void names_of_cplusplus_are_shown_as_written(void **state)
{
    char out[AS_DEMANGLE_MAX + 1], grown[900] = "_ZN2at6native3addI";
    struct as_demangler d;

    (void)state;
    as_demangler_open(&d);
    if (!d.demangle) {
        as_demangler_close(&d);
        skip();
    }
    assert_true(as_demangle(&d, "_ZN3foo3barEi", out));
    assert_string_equal(out, "foo::bar(int)");
    assert_false(as_demangle(&d, "main", out));
    assert_false(as_demangle(&d, "_Z", out));
    assert_false(as_demangle(&d, "_ZNSt", out));
    /* Every St4pairIS_S_E doubles what stands before it. */
    for (size_t i = strlen(grown); i + 10 < sizeof grown; i += 9)
        memcpy(grown + i, "4pairIS_S_E", 12);
    assert_true(as_demangle(&d, grown, out));
    assert_string_equal(out, "at::native::add<...>");
    as_demangler_close(&d);
}

/* Everything that can be asked of a file. */
static void ask_all(const uint8_t *bytes, size_t size)
{
    struct as_elf_functions list = {0};
    struct as_elf_file file;
    uint64_t address;

    if (as_elf_file_parse(&file, bytes, size, NULL) < 0)
        return;
    assert_int_equal(as_elf_functions_add(&list, &file.symtab, NULL), ASSAY_OK);
    assert_int_equal(as_elf_functions_add(&list, &file.dynsym, NULL), ASSAY_OK);
    as_elf_functions_sort(&list);
    for (uint64_t at = 0; at < 0x2000; at += 0x40) {
        size_t i = SIZE_MAX, n;

        if (as_elf_file_address(&file, at, &address))
            i = as_elf_functions_find(&list, address);
        if (i != SIZE_MAX && as_elf_functions_name(&list, i, &n))
            assert_true(n <= AS_ELF_MAX_NAME);
    }
    as_elf_functions_fini(&list);
}

static void files_that_lie_lose_their_names_alone(void **state)
{
    static const uint8_t bad[] = {0, 1, 0x7f, 0x80, 0xff};
    struct as_buffer b = elf_kit_make(&(struct elf_kit){
        .symbols = two, .n_symbols = 2, .build_id = "0123456789", .debug_link = "x.debug"});

    (void)state;
    for (size_t at = 0; at < b.size; at += at == 255 ? ELF_KIT_TABLES - 255 : 1) {
        uint8_t was = b.data[at];

        for (size_t i = 0; i < sizeof bad; i++) {
            b.data[at] = bad[i];
            ask_all(b.data, b.size);
        }
        b.data[at] = was;
    }
    for (size_t size = 0; size < b.size; size += size < 256 ? 1 : 61) {
        /* In a block of its own, so that a read past the end is seen. */
        uint8_t *cut = as_alloc(size ? size : 1);

        assert_non_null(cut);
        memcpy(cut, b.data, size);
        ask_all(cut, size);
        as_free(cut);
    }
    as_buffer_fini(&b);
}

static void maps_that_make_no_sense_are_passed_over(void **state)
{
    static const char *const bad[] = {
        "",
        "\n\n\n",
        "zzz",
        "1000-",
        "1000-2000",
        "1000-2000 ",
        "1000-2000 r",
        "1000-2000 r-xp",
        "1000-2000 r-xp 0 0 0",
        "2000-1000 r-xp 00000000 fe:01 77 /bin/a.out\n",
        "10000000000000000-20000000000000000 r-xp 00000000 fe:01 77 /bin/a.out\n",
        "0-ffffffffffffffff r-xp ffffffffffffffff fe:01 77 /bin/a.out\n",
        "1000-3000 r-xp 0 0 0 /a\n2000-4000 r-xp 0 0 0 /b\n",
        "1000-3000 r-xp 0 0 0 /dev/zero\n4000-5000 r-xp 0 0 0 /proc/self/mem\n",
        "1000-3000 r-xp 0 0 0 (deleted)\n4000-5000 r-xp 0 0 0 a\\012b\\01",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct as_symbols *s;
        struct as_symbol found;

        assert_int_equal(as_symbols_new(&s, bad[i], "", NULL), ASSAY_OK);
        for (uint64_t at = 0; at < 0x6000; at += 0x800) {
            as_symbols_find(s, at, &found);
            assert_null(found.function);
        }
        as_symbols_find(s, UINT64_MAX, &found);
        as_symbols_free(s);
    }
}

static void without_memory_there_are_fewer_names_and_no_harm(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_symbols *s = open_kit(&root, &(struct elf_kit){.symbols = two, .n_symbols = 2});

    (void)state;
    as_symbols_free(s);
    for (uint64_t nth = 1; nth < 20; nth++) {
        struct as_symbol found;
        int rc;

        as_alloc_fail_at(nth, 1);
        rc = as_symbols_new(&s, MAPS, root.path, NULL);
        assert_true(rc == ASSAY_OK || rc == ASSAY_ERR_NOMEM);
        if (rc == ASSAY_OK)
            as_symbols_find(s, START + 0x1010, &found);
        as_alloc_fail_at(0, 0);
        as_symbols_free(s);
    }
    kit_root_fini(&root);
}

/* The map knows its device and inode. */
static void a_file_that_took_the_place_of_the_mapped_one_names_nothing(void **state)
{
    struct kit_root root = kit_root_new();
    const struct elf_kit kit = {.symbols = two, .n_symbols = 2};
    char path[300], maps[200];
    struct as_symbols *s;
    struct stat st;

    (void)state;
    put_file(&root, "/bin/a.out", &kit);
    (void)snprintf(path, sizeof path, "%s/bin/a.out", root.path);
    assert_int_equal(stat(path, &st), 0);
    for (unsigned other = 0; other < 3; other++) { /* this file; another; one elsewhere */
        (void)snprintf(maps, sizeof maps,
                       "555500000000-555500010000 r-xp 00000000 %02x:%02x %llu   /bin/a.out\n",
                       major(st.st_dev) + (other == 2), minor(st.st_dev),
                       (unsigned long long)st.st_ino + (other > 0));
        assert_int_equal(as_symbols_new(&s, maps, root.path, NULL), ASSAY_OK);
        if (other == 1)
            expect(s, START + 0x1010, NULL, "a.out", 0x1010);
        else
            expect(s, START + 0x1010, "first", "a.out", 0x10);
        as_symbols_free(s);
    }
    kit_root_fini(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_return_address_is_of_the_call_before_it),
        cmocka_unit_test(what_is_no_file_is_told_by_its_place),
        cmocka_unit_test(of_several_names_the_plain_one_is_taken),
        cmocka_unit_test(a_stripped_file_gets_names_from_its_debug_file),
        cmocka_unit_test(a_huge_file_is_not_read),
        cmocka_unit_test(this_program_and_its_libc_have_names),
        cmocka_unit_test(this_program_has_lines_where_libdw_is),
        cmocka_unit_test(without_memory_there_are_no_lines_and_no_harm),
        cmocka_unit_test(names_of_cplusplus_are_shown_as_written),
        cmocka_unit_test(files_that_lie_lose_their_names_alone),
        cmocka_unit_test(maps_that_make_no_sense_are_passed_over),
        cmocka_unit_test(a_file_that_took_the_place_of_the_mapped_one_names_nothing),
        cmocka_unit_test(without_memory_there_are_fewer_names_and_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
