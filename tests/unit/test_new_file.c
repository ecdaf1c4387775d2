/* tests/unit/test_new_file.c - how files come to be, what they may not replace, and how others are
 * read. */
#include "base/file/file_guard.h"
#include "base/file/file_map.h"
#include "base/file/file_read.h"
#include "base/file/new_file.h"
#include "base/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static char folder[] = "/tmp/test_new_file_XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return chdir("/") || rmdir(folder);
}

static unsigned count_files(void)
{
    DIR *dir = opendir(".");
    unsigned n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

static void put(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

static int write_over(const char *path, struct assay_error *err)
{
    struct as_out out;
    int rc = as_out_file(&out, path, err);

    if (rc < 0)
        return rc;
    as_out_text(&out, "new");
    return as_out_close(&out, err);
}

static void check_content(const char *path, const char *want, size_t size)
{
    char text[64];
    int fd = open(path, O_RDONLY);

    assert_int_equal(as_read_some(fd, text, sizeof text), size);
    assert_memory_equal(text, want, size);
    close(fd);
}

static void a_run_or_a_model_is_not_replaced(void **state)
{
    static const struct {
        const char *name, *bytes;
        size_t size;
        const char *says;
    } cases[] = {
        {"a", "ASSAYRUN........", 16, "a recorded run is there"},
        {"b", "ASSAYRNG........", 16, "the ring of a recorded run"},
        {"c", "GGUF\3\0\0\0", 8, "a model is there"},
        {"d", "\x1c\0\0\0TFL3", 8, "a model is there"},
        {"e", "\x10\0\0\0\0\0\0\0{\"a\":1}", 15, "a model is there"},
        {"f", "\x08\x07\x12\x05maker", 9, "a model is there"},
        {"g.onnx", "anything", 8, "a model is there"},
        {"h.SafeTensors", "anything", 8, "a model is there"},
        {"i.onnx.data", "anything", 8, "a model is there"},
    };
    struct assay_error err;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        put(cases[i].name, cases[i].bytes, cases[i].size);
        assert_int_equal(write_over(cases[i].name, &err), ASSAY_ERR_STATE);
        assert_non_null(strstr(err.msg, cases[i].says));
        assert_non_null(strstr(err.msg, "remove it"));
        check_content(cases[i].name, cases[i].bytes, cases[i].size);
        assert_int_equal(count_files(), 1);
        assert_int_equal(unlink(cases[i].name), 0);
    }
    put("text", "{\"a\": 1}\n", 9);
    assert_int_equal(write_over("text", &err), ASSAY_OK);
    assert_int_equal(unlink("text"), 0);
}

/* The name was free when writing began. */
static void what_came_meanwhile_is_looked_at_too(void **state)
{
    struct assay_error err;
    struct as_out out;

    (void)state;
    assert_int_equal(as_out_file(&out, "x", &err), ASSAY_OK);
    put("x", "GGUF....", 8);
    assert_int_equal(as_out_close(&out, &err), ASSAY_ERR_STATE);
    check_content("x", "GGUF....", 8);
    assert_int_equal(unlink("x"), 0);

    assert_int_equal(as_out_file(&out, "x", &err), ASSAY_OK);
    assert_int_equal(symlink("elsewhere", "x"), 0);
    assert_int_equal(as_out_close(&out, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "symbolic link"));
    assert_int_equal(unlink("x"), 0);

    assert_int_equal(as_out_file(&out, "x", &err), ASSAY_OK);
    out.file->only_new = true;
    put("x", "other", 5);
    assert_int_equal(as_out_close(&out, &err), ASSAY_ERR_STATE);
    check_content("x", "other", 5);
    assert_int_equal(unlink("x"), 0);
    assert_int_equal(count_files(), 0);
}

static void modes_are_kept_and_new_files_are_private(void **state)
{
    mode_t mask = umask(0);
    struct stat st;

    (void)state;
    assert_int_equal(write_over("x", NULL), ASSAY_OK);
    assert_int_equal(stat("x", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(chmod("x", 0640), 0);
    assert_int_equal(write_over("x", NULL), ASSAY_OK);
    assert_int_equal(stat("x", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(chmod("x", 04755), 0);
    assert_int_equal(write_over("x", NULL), ASSAY_OK);
    assert_int_equal(stat("x", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755); /* not set-user-id */
    assert_int_equal(unlink("x"), 0);
    umask(mask);
}

/* Run in a child, whose standard descriptors are its own. */
static int in_child(int (*work)(void))
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        _exit(work());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

#define NOBODY 65534

static void expect_mode(const char *path, mode_t mode, gid_t group)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, geteuid());
    assert_int_equal(st.st_gid, group);
    assert_int_equal(st.st_mode & 07777, mode);
}

/* In a folder where everybody may write, somebody was there first. */
static void a_file_of_another_user_gives_neither_mode_nor_group(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* nobody else can be played */
    put("x", "old", 3);
    assert_int_equal(chown("x", NOBODY, NOBODY), 0);
    assert_int_equal(chmod("x", 0666), 0);
    assert_int_equal(write_over("x", NULL), ASSAY_OK);
    expect_mode("x", 0600, getegid());
    assert_int_equal(chown("x", 0, NOBODY), 0); /* a group of our own choice stays */
    assert_int_equal(chmod("x", 0660), 0);
    assert_int_equal(write_over("x", NULL), ASSAY_OK);
    expect_mode("x", 0660, NOBODY);
    assert_int_equal(unlink("x"), 0);
}

/* Opened for both, so that a writer would neither wait nor fail. */
static int listen_at(const char *path, uid_t owner)
{
    assert_int_equal(mkfifo(path, 0666), 0);
    assert_int_equal(chown(path, owner, owner), 0);
    return open(path, O_RDWR | O_NONBLOCK);
}

static void a_pipe_of_another_user_gets_nothing(void **state)
{
    struct assay_error err;
    char text[8];
    int fd;

    (void)state;
    if (geteuid() != 0)
        skip();
    fd = listen_at("x", NOBODY);
    assert_int_equal(write_over("x", &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "pipe of another user"));
    assert_int_equal(read(fd, text, sizeof text), -1);
    close(fd);
    assert_int_equal(symlink("x", "link"), 0); /* a link of ours to it is no better */
    assert_int_equal(write_over("link", &err), ASSAY_ERR_IO);
    assert_int_equal(unlink("x"), 0);
    fd = listen_at("x", 0);
    assert_int_equal(write_over("link", &err), ASSAY_OK);
    assert_int_equal(read(fd, text, sizeof text), 3);
    close(fd);
    assert_int_equal(unlink("x"), 0);
    assert_int_equal(unlink("link"), 0);
}

/* Its maker handed it to us, as a shell does that runs a command for another user. */
static void a_pipe_without_a_name_may_be_of_another_user(void **state)
{
    char path[64], text[8];
    int fd[2];

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(fchown(fd[1], NOBODY, NOBODY), 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd[1]);
    assert_int_equal(write_over(path, NULL), ASSAY_OK);
    assert_int_equal(read(fd[0], text, sizeof text), 3);
    close(fd[0]);
    close(fd[1]);
}

static int write_without_standard(void)
{
    struct as_out out;
    int fd;

    for (int i = 0; i < 3; i++)
        close(i);
    if (as_out_file(&out, "x", NULL) < 0 || out.fd < 3 || out.file->folder < 3)
        return 1;
    if (as_out_close(&out, NULL) < 0)
        return 2;
    fd = as_new_file_create("y", O_WRONLY, NULL);
    if (fd < 3 || as_new_file_create("y", O_WRONLY, NULL) >= 0)
        return 3;
    return fcntl(0, F_GETFD) == -1 && fcntl(1, F_GETFD) == -1 ? 0 : 4;
}

static void standard_descriptors_are_never_used(void **state)
{
    (void)state;
    assert_int_equal(in_child(write_without_standard), 0);
    assert_int_equal(unlink("x"), 0);
    assert_int_equal(unlink("y"), 0);
}

static int leave_by_signal(void)
{
    struct as_temporary *t;
    char path[AS_TEMPORARY_PATH], inner[AS_TEMPORARY_PATH + 8];
    int at = open(".", O_PATH | O_DIRECTORY);

    put("left", "x", 1);
    put("kept", "x", 1);
    as_temporary_forget(as_temporary_add(at, "kept"));
    if (!as_temporary_add(at, "left") || as_temporary_folder_make(&t, path, NULL) < 0)
        return 1;
    (void)snprintf(inner, sizeof inner, "%s/in", path);
    put(inner, "x", 1);
    if (fork() == 0) { /* they are not the child's */
        as_temporaries_remove();
        _exit(0);
    }
    wait(NULL);
    if (access("left", F_OK) != 0 || access(inner, F_OK) != 0)
        return 2;
    as_temporaries_remove();
    return access("left", F_OK) == 0 || access("kept", F_OK) != 0 || access(path, F_OK) == 0;
}

static void a_signal_handler_can_remove_what_is_left(void **state)
{
    (void)state;
    assert_int_equal(in_child(leave_by_signal), 0);
    assert_int_equal(unlink("kept"), 0);
}

static int guard(void)
{
    struct assay_error err;
    int fd;

    put("in", "text", 4);
    fd = open("in", O_RDONLY);
    as_guard_input(fd); /* nobody asked for it yet */
    if (write_over("in", &err) != ASSAY_OK)
        return 1;
    close(fd);
    as_guard_inputs();
    fd = open("in", O_RDONLY);
    as_guard_input(fd);
    as_guard_allow_replacing();
    if (write_over("in", &err) != ASSAY_ERR_STATE || !strstr(err.msg, "reads that file"))
        return 2;
    if (write_over("out", NULL) != ASSAY_OK)
        return 3;
    as_guard_input_path("out"); /* read back: still an output */
    put("model.onnx", "x", 1);
    return write_over("out", NULL) != ASSAY_OK || write_over("model.onnx", NULL) != ASSAY_OK;
}

static void an_input_is_never_replaced(void **state)
{
    (void)state;
    assert_int_equal(in_child(guard), 0);
    assert_int_equal(unlink("in"), 0);
    assert_int_equal(unlink("out"), 0);
    assert_int_equal(unlink("model.onnx"), 0);
}

enum { FILE_BYTES = 1 << 20 };

/* 1 MiB of which the middle is a range. */
static int open_map(struct as_file_map *map)
{
    static unsigned char bytes[FILE_BYTES];
    struct as_file_spans spans = {0};
    int fd, rc;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i / 4096 + 1);
    put("map", bytes, sizeof bytes);
    fd = open("map", O_RDONLY);
    assert_true(as_file_spans_add(&spans, 600001, 300000));
    assert_true(as_file_spans_add(&spans, 100001, 300000));
    assert_true(as_file_spans_add(&spans, 150000, 100000));
    assert_true(as_file_spans_add(&spans, 2, 100)); /* too short */
    rc = as_file_map_open(map, fd, FILE_BYTES, &spans, "map", NULL);
    close(fd);
    return rc;
}

static bool is_whole(const struct as_file_map *map)
{
    for (size_t i = 0; i < FILE_BYTES; i++)
        if (map->bytes[i] != (unsigned char)(i / 4096 + 1))
            return false;
    return true;
}

static void a_file_that_shrinks_stays_as_it_was_read(void **state)
{
    struct as_file_map map;

    (void)state;
    assert_int_equal(open_map(&map), ASSAY_OK);
    assert_int_equal(map.mapped.n, 0); /* this program does not handle SIGBUS */
    assert_int_equal(truncate("map", 0), 0);
    as_file_map_let_go(&map, 0, FILE_BYTES);
    assert_true(is_whole(&map));
    as_file_map_close(&map);
    assert_int_equal(unlink("map"), 0);
}

static int map_guarded(void)
{
    struct as_file_map map;

    as_file_map_guarded();
    if (open_map(&map) < 0 || map.mapped.n != 2 || !is_whole(&map))
        return 1;
    as_file_map_let_go(&map, 0, FILE_BYTES);
    if (!is_whole(&map) || map.mapped.item[0].at != 102400 || map.mapped.item[0].size != 294912)
        return 2;
    if (!as_file_map_find(map.bytes + 200000) || as_file_map_find(&map))
        return 3;
    if (strcmp(as_file_map_find(map.bytes), "map") != 0)
        return 4;
    as_file_map_close(&map);
    return as_file_map_find(map.bytes) != NULL;
}

static void a_guarded_program_maps_ranges_and_finds_them(void **state)
{
    (void)state;
    assert_int_equal(in_child(map_guarded), 0);
    assert_int_equal(unlink("map"), 0);
}

static void reading_past_the_end_is_told(void **state)
{
    struct assay_error err;
    char text[8];
    int fd;

    (void)state;
    put("short", "1234", 4);
    fd = open("short", O_RDONLY);
    assert_int_equal(as_pread_all(fd, text, 4, 0, "short", &err), ASSAY_OK);
    assert_int_equal(as_pread_all(fd, text, 4, 1, "short", &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "short was cut short"));
    close(fd);
    fd = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(as_pread_all(fd, text, 4, 0, "dir", &err), ASSAY_ERR_IO);
    assert_int_equal(err.sys, EISDIR);
    close(fd);
    assert_int_equal(unlink("short"), 0);
}

static void what_others_could_have_written_is_not_kept(void **state)
{
    char text[8];

    (void)state;
    put("cache", "1234", 4);
    assert_int_equal(as_read_kept("cache", text, sizeof text), 4);
    assert_int_equal(chmod("cache", 0646), 0);
    assert_int_equal(as_read_kept("cache", text, sizeof text), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(chmod("cache", 0644), 0);
    assert_int_equal(symlink("cache", "link"), 0);
    assert_int_equal(as_read_kept("link", text, sizeof text), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(as_read_kept(".", text, sizeof text), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(as_read_kept("none", text, sizeof text), -1);
    assert_int_equal(errno, ENOENT);
    if (geteuid() == 0) {
        assert_int_equal(chown("cache", 1, 1), 0);
        assert_int_equal(as_read_kept("cache", text, sizeof text), -1);
        assert_int_equal(errno, EPERM);
    }
    assert_int_equal(unlink("cache"), 0);
    assert_int_equal(unlink("link"), 0);
}

static void a_folder_made_early_is_the_next_one(void **state)
{
    char early[AS_TEMPORARY_PATH], first[AS_TEMPORARY_PATH], second[AS_TEMPORARY_PATH];
    struct as_temporary *a, *b;

    (void)state;
    assert_int_equal(as_temporary_folder_prepare(early, NULL), ASSAY_OK);
    assert_int_equal(as_temporary_folder_make(&a, first, NULL), ASSAY_OK);
    assert_int_equal(as_temporary_folder_make(&b, second, NULL), ASSAY_OK);
    assert_string_equal(early, first);
    assert_string_not_equal(first, second);
    as_temporary_folder_remove(a);
    as_temporary_folder_remove(b);
    assert_int_equal(access(first, F_OK), -1);
    assert_int_equal(as_temporary_folder_prepare(early, NULL), ASSAY_OK);
    as_temporaries_remove(); /* nobody took it */
    assert_int_equal(access(early, F_OK), -1);
    assert_int_equal(as_temporary_folder_make(&a, first, NULL), ASSAY_OK);
    as_temporary_folder_remove(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_or_a_model_is_not_replaced),
        cmocka_unit_test(what_came_meanwhile_is_looked_at_too),
        cmocka_unit_test(modes_are_kept_and_new_files_are_private),
        cmocka_unit_test(a_file_of_another_user_gives_neither_mode_nor_group),
        cmocka_unit_test(a_pipe_of_another_user_gets_nothing),
        cmocka_unit_test(a_pipe_without_a_name_may_be_of_another_user),
        cmocka_unit_test(standard_descriptors_are_never_used),
        cmocka_unit_test(a_signal_handler_can_remove_what_is_left),
        cmocka_unit_test(an_input_is_never_replaced),
        cmocka_unit_test(a_file_that_shrinks_stays_as_it_was_read),
        cmocka_unit_test(a_guarded_program_maps_ranges_and_finds_them),
        cmocka_unit_test(reading_past_the_end_is_told),
        cmocka_unit_test(a_folder_made_early_is_the_next_one),
        cmocka_unit_test(what_others_could_have_written_is_not_kept),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
