/* tests/unit/test_mapped_file.c - files are mapped only when they are files, and those a model
 * names only from its own folder. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "format/mapped_file.h"

static char folder[64], model[96];

static void in_folder(char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
}

static void write_file(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    in_folder(path, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_folder(void **state)
{
    char path[128];

    (void)state;
    snprintf(folder, sizeof folder, "/tmp/assay-mapped-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(model, sizeof model, "%s/model.onnx", folder);
    write_file("model.onnx", "model");
    write_file("weights.bin", "weights");
    write_file("empty", "");
    in_folder(path, "sub");
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("sub/weights.bin", "deeper");
    in_folder(path, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    in_folder(path, "link");
    assert_int_equal(symlink("weights.bin", path), 0);
    in_folder(path, "up");
    assert_int_equal(symlink("/", path), 0);
    return 0;
}

static int drop_folder(void **state)
{
    static const char *const names[] = {"model.onnx", "weights.bin", "empty", "sub/weights.bin",
                                        "pipe",       "link",        "up",    "second",
                                        "sub"};
    char path[128];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(names); i++) {
        in_folder(path, names[i]);
        (void)remove(path);
    }
    return rmdir(folder);
}

static void a_file_is_mapped_whole(void **state)
{
    struct as_mapped_file file;
    char path[128];

    (void)state;
    assert_int_equal(as_mapped_file_open(&file, model, NULL), ASSAY_OK);
    assert_int_equal(file.size, 5);
    assert_memory_equal(file.bytes, "model", 5);
    as_mapped_file_let_go_part(&file, file.bytes + 1, 3);
    assert_memory_equal(file.bytes, "model", 5);
    as_mapped_file_close(&file);
    assert_null(file.bytes);
    as_mapped_file_close(&file);
    in_folder(path, "empty");
    assert_int_equal(as_mapped_file_open(&file, path, NULL), ASSAY_OK);
    assert_int_equal(file.size, 0);
    assert_null(file.bytes);
    as_mapped_file_close(&file);
    in_folder(path, "link"); /* the user's own link is the user's business */
    assert_int_equal(as_mapped_file_open(&file, path, NULL), ASSAY_OK);
    as_mapped_file_close(&file);
}

/* Memory of somebody else's would be lost, not only given back. */
static void only_pages_of_the_file_are_given_back(void **state)
{
    static uint8_t other[3 * 65536];
    struct as_mapped_file file, borrowed = {.bytes = other, .size = sizeof other};

    (void)state;
    memset(other, 7, sizeof other);
    assert_int_equal(as_mapped_file_open(&file, model, NULL), ASSAY_OK);
    as_mapped_file_let_go_part(&file, other, sizeof other);
    as_mapped_file_let_go_part(&file, file.bytes + 4, 2);
    as_mapped_file_let_go_part(&file, file.bytes + 6, 0);
    as_mapped_file_let_go_part(&borrowed, other + 10, sizeof other - 10);
    for (size_t i = 0; i < sizeof other; i++)
        assert_int_equal(other[i], 7);
    as_mapped_file_close(&file);
    as_mapped_file_let_go_part(&file, other, 5);
}

static void what_is_no_file_is_named(void **state)
{
    static const struct {
        const char *name, *says;
    } cases[] = {{"pipe", "is a FIFO"}, {"sub", "is a directory"}, {"gone", "cannot open"}};
    struct as_mapped_file file;
    struct assay_error err;
    char path[128];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        in_folder(path, cases[i].name);
        assert_true(as_mapped_file_open(&file, path, &err) < 0);
        assert_non_null(strstr(err.msg, cases[i].says));
        assert_non_null(strstr(err.msg, path));
        as_mapped_file_close(&file);
    }
    assert_true(as_mapped_file_open(&file, "/dev/zero", &err) < 0);
    assert_non_null(strstr(err.msg, "is a device"));
    assert_int_equal(as_mapped_file_open(&file, "/nowhere/at/all", &err), ASSAY_ERR_NOTFOUND);
}

static int open_beside(const char *name, size_t size, struct assay_error *err)
{
    struct as_mapped_file file;
    int rc = as_mapped_file_open_beside(&file, model, name, size, err);

    if (err->code == ASSAY_ERR_UNSUPPORTED)
        skip(); /* no openat2 here */
    as_mapped_file_close(&file);
    return rc;
}

static void files_beside_the_model_are_found(void **state)
{
    struct assay_error err = {0};

    (void)state;
    assert_int_equal(open_beside("weights.bin/never", 11, &err), ASSAY_OK); /* not ended by NUL */
    assert_int_equal(open_beside("sub/weights.bin", 15, &err), ASSAY_OK);
    assert_int_equal(open_beside("./weights.bin", 13, &err), ASSAY_OK);
}

static void ways_out_are_refused(void **state)
{
    static char endless[8000];
    static const struct {
        const char *name;
        size_t size; /* 0: all of it */
        const char *says;
    } cases[] = {
        {"../weights.bin", 0, "'..' in its path, '../weights.bin'"},
        {"sub/../weights.bin", 0, "'..'"},
        {"sub/..", 0, "'..'"},
        {"/etc/passwd", 0, "absolute path, '/etc/passwd'"},
        {"link", 0, "symbolic link"},
        {"up/etc/passwd", 0, "symbolic link"},
        {"pipe", 0, "a FIFO"},
        {"sub", 0, "a directory"},
        {"gone", 0, "cannot open the external file 'gone'"},
        {"a\0b", 3, "NUL"},
        {"a\x1b[1m/../b", 0, "a\\x1b[1m"},
        {endless, sizeof endless, "8000 bytes"},
    };
    struct assay_error err = {0};

    (void)state;
    memset(endless, 'a', sizeof endless);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        size_t size = cases[i].size ? cases[i].size : strlen(cases[i].name);

        assert_true(open_beside(cases[i].name, size, &err) < 0);
        assert_non_null(strstr(err.msg, cases[i].says));
    }
    assert_true(open_beside("", 0, &err) < 0);
    assert_non_null(strstr(err.msg, "without a name"));
}

static void a_second_name_of_a_file_is_refused(void **state)
{
    struct assay_error err = {0};
    char from[128], to[128];

    (void)state;
    in_folder(from, "weights.bin");
    in_folder(to, "second");
    assert_int_equal(link(from, to), 0);
    assert_true(open_beside("second", 6, &err) < 0);
    assert_non_null(strstr(err.msg, "hard links"));
    assert_int_equal(unlink(to), 0);
    assert_int_equal(open_beside("weights.bin", 11, &err), ASSAY_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_mapped_whole),
        cmocka_unit_test(only_pages_of_the_file_are_given_back),
        cmocka_unit_test(what_is_no_file_is_named),
        cmocka_unit_test(files_beside_the_model_are_found),
        cmocka_unit_test(ways_out_are_refused),
        cmocka_unit_test(a_second_name_of_a_file_is_refused),
    };

    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
