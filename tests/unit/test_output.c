/* tests/unit/test_output.c - bytes to a descriptor, into memory, or into a file that appears whole.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static char folder[] = "/tmp/assay-test-output-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails, and the run with it, when a test leaves a file behind */
}

static const char *in_folder(const char *name)
{
    static char path[2][256];
    static unsigned turn;

    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void check_file(const char *path, const char *expected)
{
    char text[256] = "";
    FILE *f = fopen(path, "rbe");

    assert_non_null(f);
    (void)!fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_string_equal(text, expected);
}

static void put_old_file(const char *path)
{
    FILE *f = fopen(path, "wbe");

    assert_non_null(f);
    fputs("old", f);
    fclose(f);
}

static int count_files(void)
{
    DIR *d = opendir(folder);
    int n = 0;

    assert_non_null(d);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void memory_collects_everything(void **state)
{
    struct as_out out = unit_out();
    size_t size;
    const char *text;

    (void)state;
    for (int i = 0; i < 100000; i++)
        as_out_printf(&out, "%d,", i % 10);
    as_out_text(&out, "end");
    as_out_char(&out, '!');
    text = as_out_get(&out, &size);
    assert_int_equal(size, 200004);
    assert_int_equal(out.total_bytes, 200004);
    assert_int_equal(strlen(text), size);
    assert_string_equal(text + 200000, "end!");
    assert_int_equal(as_out_close(&out, NULL), ASSAY_OK);
    assert_int_equal(as_out_close(&out, NULL), ASSAY_OK);
    as_out_drop(&out);
}

static void a_descriptor_stays_the_callers(void **state)
{
    struct as_out out;
    char text[8] = "";
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(as_out_fd(&out, ends[1], "pipe", NULL), ASSAY_OK);
    as_out_text(&out, "hello");
    assert_int_equal(as_out_close(&out, NULL), ASSAY_OK);
    assert_int_equal(read(ends[0], text, sizeof text), 5);
    assert_string_equal(text, "hello");
    assert_int_equal(write(ends[1], "x", 1), 1); /* still open */
    close(ends[0]);
    close(ends[1]);
}

static void a_file_appears_whole_at_close(void **state)
{
    const char *path = in_folder("report.json");
    struct as_out out;

    (void)state;
    assert_int_equal(as_out_file(&out, path, NULL), ASSAY_OK);
    as_out_text(&out, "{}");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(as_out_close(&out, NULL), ASSAY_OK);
    check_file(path, "{}");
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink(path), 0);
}

static void an_older_file_is_replaced_or_untouched(void **state)
{
    const char *path = in_folder("old.txt");
    struct as_out out;

    (void)state;
    put_old_file(path);
    assert_int_equal(as_out_file(&out, path, NULL), ASSAY_OK);
    as_out_text(&out, "half of it");
    as_out_drop(&out);
    as_out_drop(&out);
    check_file(path, "old");
    assert_int_equal(count_files(), 1);

    assert_int_equal(as_out_file(&out, path, NULL), ASSAY_OK);
    as_out_text(&out, "new");
    assert_int_equal(as_out_close(&out, NULL), ASSAY_OK);
    check_file(path, "new");
    assert_int_equal(unlink(path), 0);
}

/* A limit on the size of files makes the write fail as a full disk would. */
static void a_failed_write_leaves_the_older_file(void **state)
{
    const char *path = in_folder("full.txt");
    struct rlimit old, small;
    struct assay_error err;
    struct as_out out;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

    (void)state;
    put_old_file(path);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = old.rlim_max};
    assert_int_equal(as_out_file(&out, path, NULL), ASSAY_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 100000; i++)
        as_out_text(&out, "0123456789");
    assert_false(as_out_ok(&out));
    assert_int_equal(as_out_close(&out, &err), ASSAY_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(err.sys, EFBIG);
    assert_non_null(strstr(err.msg, path));
    check_file(path, "old");
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink(path), 0);
}

static void a_full_device_is_named(void **state)
{
    struct assay_error err;
    struct as_out out;

    (void)state;
    assert_int_equal(as_out_file(&out, "/dev/full", NULL), ASSAY_OK);
    as_out_text(&out, "does not fit");
    assert_int_equal(as_out_close(&out, &err), ASSAY_ERR_IO);
    assert_int_equal(err.sys, ENOSPC);
    assert_string_equal(err.msg, "cannot write /dev/full: No space left on device");

    assert_int_equal(as_out_file(&out, "/dev/full", NULL), ASSAY_OK);
    for (int i = 0; i < 100000; i++)
        as_out_text(&out, "0123456789");
    assert_false(as_out_ok(&out));
    assert_int_equal(as_out_close(&out, &err), ASSAY_ERR_IO);
    assert_int_equal(err.sys, ENOSPC);
}

static void a_link_is_refused(void **state)
{
    const char *target = in_folder("target"), *link = in_folder("link");
    struct assay_error err;
    struct as_out out;

    (void)state;
    put_old_file(target);
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(as_out_file(&out, link, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "symbolic link"));
    check_file(target, "old");
    assert_int_equal(count_files(), 2);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(target), 0);
}

static void a_folder_or_a_missing_one_is_refused(void **state)
{
    struct assay_error err;
    struct as_out out;

    (void)state;
    assert_int_equal(as_out_file(&out, folder, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "is a directory"));
    assert_int_equal(as_out_file(&out, in_folder("no/such/file"), &err), ASSAY_ERR_IO);
    assert_int_equal(err.sys, ENOENT);
    as_out_drop(&out);
}

static void writing_after_the_end_does_nothing(void **state)
{
    struct as_out out = unit_out();

    (void)state;
    assert_int_equal(as_out_close(&out, NULL), ASSAY_OK);
    as_out_text(&out, "lost");
    assert_int_equal(out.total_bytes, 0);
    as_out_drop(&out);
}

static void running_out_of_memory_is_told_at_close(void **state)
{
    struct as_out out = unit_out();
    struct assay_error err;

    (void)state;
    as_alloc_fail_at(1, 1);
    for (int i = 0; i < 10000; i++)
        as_out_text(&out, "0123456789");
    as_alloc_fail_at(0, 0);
    if (!as_out_ok(&out))
        assert_int_equal(as_out_close(&out, &err), ASSAY_ERR_NOMEM);
    as_out_drop(&out);

    for (uint64_t nth = 1; nth < 5; nth++) {
        int rc;

        as_alloc_fail_at(nth, 1);
        rc = as_out_file(&out, in_folder("nomem"), &err);
        as_alloc_fail_at(0, 0);
        if (rc < 0)
            assert_int_equal(rc, ASSAY_ERR_NOMEM);
        as_out_drop(&out);
    }
    assert_int_equal(count_files(), 0);
}

static void an_empty_name_is_refused_with_a_sentence(void **state)
{
    struct assay_error err;
    struct as_out out;

    (void)state;
    assert_int_equal(as_out_file(&out, "", &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "the name of the file to write is empty");
    as_out_drop(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_name_is_refused_with_a_sentence),
        cmocka_unit_test(memory_collects_everything),
        cmocka_unit_test(a_descriptor_stays_the_callers),
        cmocka_unit_test(a_file_appears_whole_at_close),
        cmocka_unit_test(an_older_file_is_replaced_or_untouched),
        cmocka_unit_test(a_failed_write_leaves_the_older_file),
        cmocka_unit_test(a_full_device_is_named),
        cmocka_unit_test(a_link_is_refused),
        cmocka_unit_test(a_folder_or_a_missing_one_is_refused),
        cmocka_unit_test(writing_after_the_end_does_nothing),
        cmocka_unit_test(running_out_of_memory_is_told_at_close),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
