/* tests/unit/test_executable.c - whether a library can be put into a program, told from its file.
 */
#include "root_kit.h"

#include <elf.h>
#include <sys/stat.h>

#include "base/file/executable.h"

/* A program file made up of bytes; its path in `path`. */
static void make(const struct kit_root *root, const char *name, const void *data, size_t size,
                 char path[128])
{
    FILE *f;

    (void)snprintf(path, 128, "%s/%s", root->path, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

struct small_elf {
    Elf64_Ehdr head;
    Elf64_Phdr part[3];
    Elf64_Dyn dynamic[3];
    char loader[32], names[32];
};

/* Our own machine's, with a loader and one library. */
static struct small_elf elf_with(const char *loader, const char *library)
{
    struct small_elf e = {0}, own;
    FILE *f = fopen("/proc/self/exe", "re");

    assert_non_null(f);
    assert_int_equal(fread(&own.head, sizeof own.head, 1, f), 1);
    (void)fclose(f);
    memcpy(e.head.e_ident, own.head.e_ident, EI_NIDENT);
    e.head.e_machine = own.head.e_machine;
    e.head.e_phoff = offsetof(struct small_elf, part);
    e.head.e_phentsize = sizeof(Elf64_Phdr);
    e.head.e_phnum = 3;
    e.part[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof e};
    e.part[1] = (Elf64_Phdr){.p_type = PT_INTERP, .p_offset = offsetof(struct small_elf, loader)};
    e.part[2] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_offset = offsetof(struct small_elf, dynamic)};
    e.dynamic[0] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 1};
    e.dynamic[1] = (Elf64_Dyn){.d_tag = DT_STRTAB, .d_un.d_ptr = offsetof(struct small_elf, names)};
    (void)snprintf(e.loader, sizeof e.loader, "%s", loader);
    (void)snprintf(e.names + 1, sizeof e.names - 1, "%s", library);
    return e;
}

static const char *why(const char *path)
{
    return as_executable_why_not(path, "/proc/self/exe");
}

static void an_ordinary_program_takes_it(void **state)
{
    (void)state;
    assert_null(why("/bin/sh"));
    assert_null(as_executable_why_not("/bin/sh", "/bin/sh"));
}

static void reasons_are_told_apart(void **state)
{
    struct kit_root root = kit_root_new();
    struct small_elf e = elf_with("/lib/ld-musl-x86_64.so.1", "libc.so");
    char path[128];

    (void)state;
    make(&root, "musl", &e, sizeof e, path);
    assert_non_null(strstr(why(path), "another C library"));
    e = elf_with("/lib64/ld-linux-x86-64.so.2", "libasan.so.8");
    make(&root, "asan", &e, sizeof e, path);
    assert_non_null(strstr(why(path), "sanitizer"));
    e.head.e_phnum = 0;
    make(&root, "static", &e, sizeof e, path);
    assert_non_null(strstr(why(path), "statically"));
    e.head.e_machine = EM_S390;
    make(&root, "other", &e, sizeof e, path);
    assert_non_null(strstr(why(path), "another CPU architecture"));
    e.head.e_ident[EI_CLASS] = ELFCLASS32;
    make(&root, "small", &e, sizeof e, path);
    assert_non_null(strstr(why(path), "another CPU architecture"));
    make(&root, "bytes", "\0\1\2", 3, path);
    assert_non_null(strstr(why(path), "unknown kind"));
    assert_non_null(strstr(why("/nonexistent"), "cannot be read"));
    kit_root_fini(&root);
}

static void a_script_is_what_its_interpreter_is(void **state)
{
    struct kit_root root = kit_root_new();
    struct small_elf e = elf_with("", "");
    char fixed[128], path[128], text[160];

    (void)state;
    make(&root, "script", "#! /bin/sh -e\n", 14, path);
    assert_null(why(path));
    make(&root, "plain", "echo no first line\n", 19, path);
    assert_null(why(path)); /* a shell runs it */
    e.head.e_phnum = 0;
    make(&root, "fixed", &e, sizeof e, fixed);
    (void)snprintf(text, sizeof text, "#!%s\n", fixed);
    make(&root, "script2", text, strlen(text), path);
    assert_non_null(strstr(why(path), "statically"));
    (void)snprintf(text, sizeof text, "#!%s/loop\n", root.path);
    make(&root, "loop", text, strlen(text), path); /* its own interpreter */
    assert_non_null(why(path));
    kit_root_fini(&root);
}

static void other_rights_are_seen(void **state)
{
    struct kit_root root = kit_root_new();
    struct small_elf e = elf_with("/lib64/ld-linux-x86-64.so.2", "libc.so.6");
    char path[128];

    (void)state;
    make(&root, "suid", &e, sizeof e, path);
    /* Only another user's gives other rights; making one needs rights of its own. */
    if (chown(path, 65534, 65534) == 0 && chmod(path, 04755) == 0)
        assert_non_null(strstr(why(path), "setuid"));
    kit_root_fini(&root);
}

static void every_cut_is_survived(void **state)
{
    struct kit_root root = kit_root_new();
    struct small_elf e = elf_with("/lib64/ld-linux-x86-64.so.2", "libasan.so.8");
    char path[128];

    (void)state;
    for (size_t size = 0; size < sizeof e; size++) {
        make(&root, "cut", &e, size, path);
        (void)why(path);
    }
    e.part[2].p_offset = UINT64_MAX - 7;
    e.dynamic[1].d_un.d_ptr = UINT64_MAX;
    e.part[1].p_offset = UINT64_MAX;
    make(&root, "far", &e, sizeof e, path);
    assert_non_null(why(path));
    kit_root_fini(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_program_takes_it),
        cmocka_unit_test(reasons_are_told_apart),
        cmocka_unit_test(a_script_is_what_its_interpreter_is),
        cmocka_unit_test(other_rights_are_seen),
        cmocka_unit_test(every_cut_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
