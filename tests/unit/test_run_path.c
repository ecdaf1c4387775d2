/* tests/unit/test_run_path.c - the names of a run's files, and that nothing older is lost.
 * Works in a folder of its own under /tmp. */
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/run/run_path.h"

static char folder[] = "/tmp/assay-path-XXXXXX";

static int enter(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0
                                                 : -1; /* fails when a test left something behind */
}

static void put_file(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void expect_file(const char *name, const char *text)
{
    char got[64] = {0};
    int fd = open(name, O_RDONLY);

    assert_true(fd >= 0);
    assert_int_equal(read(fd, got, sizeof got - 1), strlen(text));
    assert_string_equal(got, text);
    close(fd);
}

static void names_follow_from_the_run(void **state)
{
    char out[64];

    (void)state;
    assert_true(as_run_path_ring(out, sizeof out, "run.assay"));
    assert_string_equal(out, "run.assay.ring");
    assert_true(as_run_path_child(out, sizeof out, "a/run.assay", 12));
    assert_string_equal(out, "a/run.12.assay");
    assert_true(as_run_path_child(out, sizeof out, "trace", 12));
    assert_string_equal(out, "trace.12");
    assert_true(as_run_path_child(out, sizeof out, ".assay", 12));
    assert_string_equal(out, ".assay.12");
    assert_false(as_run_path_ring(out, 14, "run.assay"));
    assert_true(as_run_path_ring(out, 15, "run.assay"));
    assert_false(as_run_path_child(out, 12, "run.assay", 123));
}

static void a_free_name_may_be_recorded(void **state)
{
    (void)state;
    assert_int_equal(as_run_path_check("run.assay", NULL), ASSAY_OK);
    put_file("run.assay", "");
    assert_int_equal(as_run_path_check("run.assay", NULL), ASSAY_OK);
    put_file("run.assay", "ASSAYRUNxxxx");
    assert_int_equal(as_run_path_check("run.assay", NULL), ASSAY_OK);
    unlink("run.assay");
}

static void anything_but_a_run_is_refused(void **state)
{
    struct assay_error err;

    (void)state;
    put_file("notes.txt", "dear diary");
    assert_int_equal(as_run_path_check("notes.txt", &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "notes.txt"));
    put_file("short", "ASSAY");
    assert_int_equal(as_run_path_check("short", &err), ASSAY_ERR_IO);
    assert_int_equal(symlink("notes.txt", "link"), 0);
    assert_int_equal(as_run_path_check("link", &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "symbolic link"));
    assert_int_equal(mkdir("folder", 0755), 0);
    assert_int_equal(as_run_path_check("folder", &err), ASSAY_ERR_IO);
    assert_int_equal(mkfifo("fifo", 0644), 0);
    assert_int_equal(as_run_path_check("fifo", &err), ASSAY_ERR_IO);
    assert_int_equal(as_run_path_check("notes.txt/run", &err), ASSAY_ERR_IO);
    expect_file("notes.txt", "dear diary");
    unlink("notes.txt");
    unlink("short");
    unlink("link");
    unlink("fifo");
    rmdir("folder");
}

static void a_run_being_recorded_by_another_is_refused(void **state)
{
    struct assay_error err;
    int ready[2], done[2], status;
    char byte = 0;
    pid_t pid;

    (void)state;
    put_file("run.assay", "ASSAYRUN");
    put_file("run.assay.ring", "x");
    assert_int_equal(pipe(ready) | pipe(done), 0);
    pid = fork();
    if (pid == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        int fd = open("run.assay.ring", O_RDWR);
        bool ok = fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0;

        ok = write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1 && ok;
        _exit(!ok);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(as_run_path_check("run.assay", &err), ASSAY_ERR_STATE);
    snprintf(err.msg, sizeof err.msg, "%d", (int)pid);
    assert_int_equal(write(done[1], &byte, 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(as_run_path_check("run.assay", &err),
                     ASSAY_OK); /* dead: its run may be put aside */
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(done[i]);
    }
    unlink("run.assay");
    unlink("run.assay.ring");
}

/* A run made at once, as commands make them. */
static void publish(const char *text)
{
    char temp[PATH_MAX];
    int fd = as_run_path_create(temp, sizeof temp, "run.assay", NULL);

    assert_true(fd >= 0);
    close(fd);
    put_file(temp, text);
    assert_int_equal(as_run_path_publish(temp, "run.assay", NULL), ASSAY_OK);
}

static void an_older_run_and_its_ring_are_kept_beside(void **state)
{
    (void)state;
    put_file("run.assay", "ASSAYRUN older");
    put_file("run.assay.ring", "older ring");
    publish("new");
    expect_file("run.assay", "new");
    expect_file("run.assay.old", "ASSAYRUN older");
    expect_file("run.assay.old.ring", "older ring");
    unlink("run.assay");
    unlink("run.assay.old");
    unlink("run.assay.old.ring");
}

/* The ring that an older run's killed program left must not be taken for the one of a closed run
 * put aside later. */
static void an_older_run_without_ring_gets_none(void **state)
{
    (void)state;
    put_file("run.assay.old", "ASSAYRUN oldest");
    put_file("run.assay.old.ring", "ASSAYRNG 0123456the id of oldest");
    put_file("run.assay", "ASSAYRUN 0123456the id of older!");
    publish("new");
    expect_file("run.assay.old", "ASSAYRUN 0123456the id of older!");
    assert_int_not_equal(access("run.assay.old.ring", F_OK), 0);
    unlink("run.assay");
    unlink("run.assay.old");
}

static void a_ring_put_aside_before_a_kill_finds_its_run_again(void **state)
{
    (void)state;
    put_file("run.assay.old.ring", "ASSAYRNG 0123456the id of both..");
    put_file("run.assay", "ASSAYRUN 0123456the id of both..");
    publish("new");
    expect_file("run.assay.old", "ASSAYRUN 0123456the id of both..");
    expect_file("run.assay.old.ring", "ASSAYRNG 0123456the id of both..");
    unlink("run.assay");
    unlink("run.assay.old");
    unlink("run.assay.old.ring");
}

static void a_name_left_by_a_dead_process_is_no_obstacle(void **state)
{
    char temp[PATH_MAX], again[PATH_MAX];
    int fd = as_run_path_create(temp, sizeof temp, "run.assay", NULL);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    fd = as_run_path_create(again, sizeof again, "run.assay", NULL);
    assert_true(fd >= 0);
    close(fd);
    assert_string_not_equal(temp, again);
    unlink(temp);
    unlink(again);
}

static void a_path_too_long_is_an_error(void **state)
{
    static char path[PATH_MAX];
    char temp[PATH_MAX];
    struct assay_error err;

    (void)state;
    memset(path, 'x', sizeof path - 2);
    assert_int_equal(as_run_path_create(temp, sizeof temp, path, &err), ASSAY_ERR_LIMIT);
    assert_int_equal(as_run_path_publish("a", path, &err), ASSAY_ERR_LIMIT);
    assert_int_equal(as_run_path_check("nowhere/run.assay", &err), ASSAY_OK); /* told by create */
    assert_int_equal(as_run_path_create(temp, sizeof temp, "nowhere/run.assay", &err),
                     ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "nowhere/run.assay"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_follow_from_the_run),
        cmocka_unit_test(a_free_name_may_be_recorded),
        cmocka_unit_test(anything_but_a_run_is_refused),
        cmocka_unit_test(a_run_being_recorded_by_another_is_refused),
        cmocka_unit_test(an_older_run_and_its_ring_are_kept_beside),
        cmocka_unit_test(an_older_run_without_ring_gets_none),
        cmocka_unit_test(a_ring_put_aside_before_a_kill_finds_its_run_again),
        cmocka_unit_test(a_name_left_by_a_dead_process_is_no_obstacle),
        cmocka_unit_test(a_path_too_long_is_an_error),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
