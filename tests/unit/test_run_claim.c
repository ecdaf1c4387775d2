/* tests/unit/test_run_claim.c - of several recorders that want one path exactly one has it at any
 * time, the others get one clear error, and no run that was complete is lost; some are killed in
 * the middle. ASSAY_LONG=1 makes 1,000 rounds. */
#include "recorder_kit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "trace/record/run_claim.h"
#include "trace/run/run_path.h"

#define MOST_RECORDERS 8
#define CALLS          500

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS 20
#else
#define ROUNDS 60
#endif

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

/* ---- one after the other ---- */

static int claim(struct as_run_claim *c, struct assay_error *err)
{
    int rc = as_run_claim_open(c, "run.assay", "run.assay", err);

    return rc < 0 ? rc : as_run_claim_publish(c, err);
}

static void the_second_gets_an_error_and_touches_nothing(void **state)
{
    struct as_run_claim first, second;
    struct assay_error err;
    struct stat before, after;

    (void)state;
    assert_int_equal(claim(&first, &err), ASSAY_OK);
    assert_int_equal(stat("run.assay.ring", &before), 0);
    assert_int_equal(claim(&second, &err), ASSAY_ERR_STATE);
    assert_non_null(strstr(err.msg, "recording into run.assay"));
    as_run_claim_drop(&second);
    assert_int_equal(stat("run.assay.ring", &after), 0);
    assert_true(before.st_ino == after.st_ino);
    assert_int_equal(rec_files(false), 2); /* no litter */
    assert_true(as_run_claim_finish(&first, false));
    as_run_claim_drop(&first);
    assert_int_equal(rec_files(false), 1);
}

/* A ring may be locked before the run beside it has its name. */
static void a_ring_alone_is_enough(void **state)
{
    struct as_run_claim first, second;
    struct assay_error err;

    (void)state;
    assert_int_equal(claim(&first, &err), ASSAY_OK);
    unlink("run.assay");
    assert_int_equal(claim(&second, &err), ASSAY_ERR_STATE);
    as_run_claim_drop(&second);
    assert_false(as_run_claim_finish(&first, false)); /* the run lost its name */
    as_run_claim_drop(&first);
    assert_int_equal(rec_files(false), 0);
}

static void what_is_not_a_ring_is_left_alone(void **state)
{
    struct as_run_claim c;
    struct assay_error err;

    (void)state;
    put_file("run.assay.ring", "dear diary");
    assert_int_equal(claim(&c, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "is not a ring"));
    as_run_claim_drop(&c);
    expect_file("run.assay.ring", "dear diary");
    unlink("run.assay.ring");
    assert_int_equal(mkdir("run.assay.ring", 0751), 0);
    assert_int_equal(claim(&c, &err), ASSAY_ERR_IO);
    as_run_claim_drop(&c);
    assert_int_equal(rec_files(false), 1);
    assert_int_equal(rmdir("run.assay.ring"), 0);
}

static void expect_old_ring(const char *text)
{
    struct as_run_claim c;
    struct assay_error err;

    if (claim(&c, &err) < 0)
        fail_msg("%s", err.msg);
    if (text)
        expect_file("run.assay.old.ring", text);
    else
        assert_int_not_equal(access("run.assay.old.ring", F_OK), 0);
    assert_true(as_run_claim_finish(&c, false));
    as_run_claim_drop(&c);
    rec_files(true);
}

static void the_ring_of_an_older_run_stays_with_it(void **state)
{
    static const char id[] = "ASSAYRNG 0123456the id of both..",
                      run[] = "ASSAYRUN 0123456the id of both..";

    (void)state;
    put_file("run.assay", run);
    put_file("run.assay.ring", id);
    expect_old_ring(id);
    /* Moved by one that was killed before it moved the run; its own ring holds nothing. */
    put_file("run.assay", run);
    put_file("run.assay.old.ring", id);
    put_file("run.assay.ring", "ASSAYRNG 0123456of the killed one");
    expect_old_ring(id);
    /* Of a run that was closed since. */
    put_file("run.assay", run);
    put_file("run.assay.old", "ASSAYRUN 0123456the id of oldest");
    put_file("run.assay.old.ring", "ASSAYRNG 0123456the id of oldest");
    expect_old_ring(NULL);
}

static void a_child_takes_the_next_free_name(void **state)
{
    struct as_run_claim c;
    struct assay_error err;

    (void)state;
    put_file("run.assay", "ASSAYRUN of another container");
    put_file("run.2.assay.ring", "x");
    assert_int_equal(as_run_claim_open(&c, "run.assay", "run.assay", &err), ASSAY_OK);
    assert_int_equal(as_run_claim_publish_free(&c, &err), ASSAY_OK);
    assert_string_equal(c.run, "run.3.assay");
    expect_file("run.assay", "ASSAYRUN of another container");
    assert_true(as_run_claim_finish(&c, false));
    as_run_claim_drop(&c);
    assert_int_equal(rec_files(false), 3);
}

static void files_are_their_owners_alone(void **state)
{
    struct stat st;

    (void)state;
    umask(0);
    rec_start("run.assay", NULL);
    assert_int_equal(stat("run.assay", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat("run.assay.ring", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0400);
    rec_stop();
    assert_int_equal(chmod("run.assay", 0640), 0);
    rec_start("run.assay", NULL);
    assert_int_equal(stat("run.assay", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640); /* as the older one */
    rec_stop();
    umask(022);
}

#define NOBODY 65534

static void give_away(const char *name)
{
    assert_int_equal(chown(name, NOBODY, NOBODY), 0);
    assert_int_equal(chmod(name, 0666), 0);
}

/* In a folder where everybody may write: a planted file would choose who reads the recording. */
static void what_another_user_put_there_is_no_older_run(void **state)
{
    static const char *const planted[] = {"run.assay", "run.assay.ring"};
    static const char *const text[] = {"ASSAYRUN of another user", "ASSAYRNG of another user"};
    struct assay_error err;

    (void)state;
    if (geteuid() != 0)
        skip(); /* nobody else can be played */
    for (size_t i = 0; i < 2; i++) {
        put_file(planted[i], text[i]);
        give_away(planted[i]);
        assert_int_equal(assay_session_open("run.assay", NULL, &err), ASSAY_ERR_IO);
        assert_non_null(strstr(err.msg, planted[i]));
        assert_non_null(strstr(err.msg, "belongs to another user"));
        expect_file(planted[i], text[i]);
        assert_int_equal(rec_files(true), 1);
    }
    put_file("run.assay", "");
    give_away("run.assay");
    assert_int_equal(assay_session_open("run.assay", NULL, &err), ASSAY_ERR_IO);
}

/* The same for a run that is made at once. */
static void a_run_made_at_once_takes_no_mode_of_another_user(void **state)
{
    struct assay_error err;
    char temp[PATH_MAX];
    int fd;

    (void)state;
    if (geteuid() != 0)
        skip();
    put_file("run.assay", "ASSAYRUN of another user");
    give_away("run.assay");
    assert_int_equal(as_run_path_check("run.assay", &err), ASSAY_ERR_IO);
    fd = as_run_path_create(temp, sizeof temp, "run.assay", &err);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(as_run_path_publish(temp, "run.assay", &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "belongs to another user"));
    expect_file("run.assay", "ASSAYRUN of another user");
}

static void a_lost_name_is_reported_at_the_end(void **state)
{
    struct assay_error err;

    (void)state;
    rec_start("run.assay", NULL);
    unlink("run.assay");
    put_file("run.assay", "of somebody else");
    assert_int_equal(assay_session_close(&err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "removed or replaced"));
    expect_file("run.assay", "of somebody else");
    assert_int_equal(rec_files(false), 1);
}

/* The program may open and close the files of its own run: the lock stays. */
static void the_program_cannot_drop_the_lock(void **state)
{
    long pid = 0;

    (void)state;
    rec_start("run.assay", NULL);
    close(open("run.assay.ring", O_RDONLY));
    assert_true(as_run_claim_is_recorded(AT_FDCWD, "run.assay.ring", &pid));
    assert_int_equal(pid, getpid());
    rec_stop();
    assert_false(as_run_claim_is_recorded(AT_FDCWD, "run.assay.ring", &pid));
}

static void expect_calls(const char *path)
{
    struct rec r = rec_read(path);

    rec_expect_whole(&r);
    assert_int_equal(rec_calls(&r, "work"), CALLS);
    rec_done(&r);
}

/* A child of fork holds no descriptor, so no lock; its ring says who records. */
static void a_living_child_is_recorded(void **state)
{
    char run[64], ring[80];
    struct assay_error err;
    int told[2];
    pid_t child;
    long pid = 0;
    char byte;

    (void)state;
    assert_int_equal(pipe(told), 0);
    rec_start("run.assay", NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (int i = 0; i < CALLS; i++) {
            ASSAY_SCOPE("work");
        }
        (void)!write(told[1], "x", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(told[0], &byte, 1), 1);
    (void)snprintf(run, sizeof run, "run.%d.assay", (int)child);
    (void)snprintf(ring, sizeof ring, "%s.ring", run);
    assert_true(as_run_claim_is_recorded(AT_FDCWD, ring, &pid));
    assert_int_equal(pid, child);
    assert_int_equal(as_run_path_check(run, &err), ASSAY_ERR_STATE);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(as_run_claim_is_recorded(AT_FDCWD, ring, &pid));
    rec_stop();
    close(told[0]);
    close(told[1]);
}

/* Without a thread of its own the recorder has its lock in the program's table. */
static void record_without_lock(int opened, int go_on)
{
    struct rlimit none = {0, 0};
    struct assay_error err;
    char byte;

    if ((geteuid() == 0 && setuid(NOBODY) != 0) || setrlimit(RLIMIT_NPROC, &none) != 0)
        _exit(1);
    if (assay_session_open("run.assay", NULL, &err) < 0)
        _exit(2);
    for (int fd = 3; fd < 1024; fd++)
        if (fd != opened && fd != go_on)
            close(fd);
    (void)!write(opened, "x", 1);
    (void)!read(go_on, &byte, 1);
    for (int i = 0; i < CALLS; i++) {
        ASSAY_SCOPE("work");
    }
    _exit(assay_session_close(&err) < 0 ? 3 : 0);
}

static void a_recorder_without_its_lock_keeps_the_path(void **state)
{
    int opened[2], go_on[2], status;
    struct assay_error err;
    pid_t first, second;
    char byte;

    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip();
#endif
    if (geteuid() != 0)
        skip(); /* the limit on threads would count what else this user runs */
    assert_int_equal(chmod(".", 0777), 0);
    assert_int_equal(pipe(opened) + pipe(go_on), 0);
    first = fork();
    if (first == 0)
        record_without_lock(opened[1], go_on[0]);
    assert_int_equal(read(opened[0], &byte, 1), 1);
    second = fork();
    if (second == 0) {
        if (setuid(NOBODY) != 0)
            _exit(1);
        _exit(assay_session_open("run.assay", NULL, &err) == ASSAY_ERR_STATE ? 0 : 2);
    }
    assert_int_equal(waitpid(second, &status, 0), second);
    assert_int_equal(status, 0);
    assert_int_equal(write(go_on[1], "x", 1), 1);
    assert_int_equal(waitpid(first, &status, 0), first);
    assert_int_equal(status, 0);
    expect_calls("run.assay");
    for (int i = 0; i < 2; i++)
        close(opened[i]), close(go_on[i]);
}

/* ---- all at once ---- */

struct shared {
    pthread_barrier_t barrier;
    _Atomic int recording, most, won, refused, wrong;
};

static void lift(_Atomic int *most, int n)
{
    int seen = atomic_load(most);

    while (n > seen && !atomic_compare_exchange_weak(most, &seen, n))
        ;
}

/* Wants the path until it has recorded once. One that is `doomed` is killed while it records. */
static void contend(struct shared *s, bool doomed)
{
    struct assay_error err;

    pthread_barrier_wait(&s->barrier);
    for (;;) {
        int rc = assay_session_open("run.assay", NULL, &err);

        if (rc == ASSAY_OK)
            break;
        atomic_fetch_add(&s->refused, 1);
        if (rc != ASSAY_ERR_STATE || !strstr(err.msg, "recording into run.assay")) {
            fprintf(stderr, "%s\n", err.msg);
            atomic_fetch_add(&s->wrong, 1);
            _exit(1);
        }
        sched_yield();
    }
    lift(&s->most, atomic_fetch_add(&s->recording, 1) + 1);
    for (int i = 0; i < CALLS; i++) {
        ASSAY_SCOPE("work");
    }
    atomic_fetch_add(&s->won, 1);
    atomic_fetch_sub(&s->recording, 1); /* before the path is free for the next */
    if (doomed)
        raise(SIGKILL);
    if (assay_session_close(&err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        atomic_fetch_add(&s->wrong, 1);
        _exit(1);
    }
    _exit(0);
}

static void contend_once(struct shared *s, int n, unsigned doomed)
{
    pthread_barrierattr_t attributes;
    pid_t pid[MOST_RECORDERS];

    memset(s, 0, sizeof *s);
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&s->barrier, &attributes, (unsigned)n);
    for (int i = 0; i < n; i++) {
        pid[i] = fork();
        assert_true(pid[i] >= 0);
        if (pid[i] == 0)
            contend(s, doomed >> i & 1);
    }
    for (int i = 0; i < n; i++) {
        int status;

        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, doomed >> i & 1 ? SIGKILL : 0);
    }
    pthread_barrier_destroy(&s->barrier);
    assert_int_equal(atomic_load(&s->won), n);
    assert_int_equal(atomic_load(&s->wrong), 0);
    assert_int_equal(atomic_load(&s->most), 1);
    expect_calls("run.assay");
    expect_calls("run.assay.old"); /* killed or closed: complete, by its ring if need be */
    rec_files(true);
}

static void of_many_recorders_one_has_the_path(void **state)
{
    int rounds = getenv("ASSAY_LONG") ? 1000 : ROUNDS;
    uint32_t seed = 7;
    struct shared *s;

    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* which does not follow threads made after a fork, and a session has one */
#endif
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(s, MAP_FAILED);
    for (int i = 0; i < rounds; i++) {
        seed = seed * 1664525u + 1013904223u;
        contend_once(s, 2 + i % (MOST_RECORDERS - 1), seed >> 9 & seed >> 18);
    }
    munmap(s, sizeof *s);
}

#define RECORDED(test) cmocka_unit_test_teardown(test, rec_clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDED(the_second_gets_an_error_and_touches_nothing),
        RECORDED(a_ring_alone_is_enough),
        RECORDED(what_is_not_a_ring_is_left_alone),
        RECORDED(the_ring_of_an_older_run_stays_with_it),
        RECORDED(a_child_takes_the_next_free_name),
        RECORDED(files_are_their_owners_alone),
        RECORDED(what_another_user_put_there_is_no_older_run),
        RECORDED(a_run_made_at_once_takes_no_mode_of_another_user),
        RECORDED(a_lost_name_is_reported_at_the_end),
        RECORDED(the_program_cannot_drop_the_lock),
        RECORDED(a_living_child_is_recorded),
        RECORDED(a_recorder_without_its_lock_keeps_the_path),
        RECORDED(of_many_recorders_one_has_the_path),
    };

    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
