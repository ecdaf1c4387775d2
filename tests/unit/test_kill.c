/* tests/unit/test_kill.c - programs killed at random moments: no complete record is lost and none
 * is invented. The program keeps a journal of what it has completed in memory shared with the test,
 * which outlives it. */
#include "unit.h"

#include <assay/session.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyze/run/layers.h"
#include "trace/run/span_walk.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS 40
#else
#define ROUNDS 200
#endif

enum { SESSIONS = 64, THREADS = 3, PATTERN = 5, SCOPES = 9000 };

/* What the program says it has done. */
struct journal {
    _Atomic uint64_t done[SESSIONS][THREADS]; /* scopes completed */
    _Atomic int opened[SESSIONS], closed[SESSIONS];
};

struct worker {
    pthread_t thread;
    struct journal *journal;
    int session, index;
};

static char folder[] = "/tmp/assay-kill-XXXXXX";

static void path_of(char path[128], int session)
{
    snprintf(path, 128, "%s/run%d.assay", folder, session);
}

/* Marks "t0", then scopes in a pattern that tells each one's number, each journalled once it is
 * complete. */
static void *work(void *user)
{
    struct worker *w = user;
    uint32_t layer[PATTERN];
    char name[16];

    snprintf(name, sizeof name, "t%d", w->index);
    assay_begin(assay_layer(name));
    assay_end(assay_layer(name));
    for (int i = 0; i < PATTERN; i++) {
        snprintf(name, sizeof name, "s%d", i);
        layer[i] = assay_layer(name);
    }
    for (uint64_t i = 0; i < SCOPES; i++) {
        assay_begin(layer[i % PATTERN]);
        for (volatile int spin = 0; spin < 30; spin++)
            ;
        assay_end(layer[i % PATTERN]);
        atomic_store(&w->journal->done[w->session][w->index], i + 1);
    }
    return NULL;
}

/* Session after session, so that kills meet opening and closing too. */
static void program(struct journal *journal, int n_threads)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};

    options.overflow =
        ASSAY_OVERFLOW_WAIT; /* nothing may be lost by the ring, so that every loss is a fault */
    for (int s = 0; s < SESSIONS; s++) {
        struct worker w[THREADS];
        char path[128];

        path_of(path, s);
        if (assay_session_open(path, &options, NULL) < 0)
            _exit(1);
        atomic_store(&journal->opened[s], 1);
        for (int t = 0; t < n_threads; t++) {
            w[t] = (struct worker){.journal = journal, .session = s, .index = t};
            if (t > 0 && pthread_create(&w[t].thread, NULL, work, &w[t]) != 0)
                _exit(1);
        }
        work(&w[0]);
        for (int t = 1; t < n_threads; t++)
            pthread_join(w[t].thread, NULL);
        if (assay_session_close(NULL) < 0)
            _exit(1);
        atomic_store(&journal->closed[s], 1);
    }
    _exit(0);
}

/* What one thread of a run holds. */
struct seen {
    const struct as_run *run;
    int index;      /* by its "tN" span; -1 before it */
    uint64_t done;  /* complete scopes */
    uint64_t wrong; /* not the one the pattern asks for */
};

static void see(void *user, const struct as_span *span)
{
    struct seen *s = user;
    const char *name = as_run_site_at(s->run, span->site)->name;

    if (span->state != AS_SPAN_OK)
        return;
    if (name[0] == 't') {
        s->wrong += s->index != -1;
        s->index = name[1] - '0';
        return;
    }
    s->wrong += name[0] != 's' || name[1] != (char)('0' + s->done % PATTERN) || s->index < 0;
    s->done++;
}

/* Compares a run with the journal; true when the program was killed while it recorded it. */
static bool check_run(const struct journal *journal, int session, const char *path)
{
    uint64_t found[THREADS] = {0};
    struct as_layers *layers;
    struct assay_error err;
    struct as_run *run;
    bool killed;

    if (as_run_open(&run, path, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < run->n_threads; i++) {
        struct seen seen = {.run = run, .index = -1};
        struct as_span_visitor visitor = {.user = &seen, .end = see};

        if (as_span_walk(run, &run->thread[i], &visitor, NULL, &err) < 0)
            fail_msg("%s", err.msg);
        assert_int_equal(seen.wrong, 0);
        if (seen.index >= 0)
            found[seen.index] = seen.done;
    }
    for (int t = 0; t < THREADS; t++) {
        uint64_t done = atomic_load(&journal->done[session][t]);

        assert_true(found[t] >= done); /* nothing lost */
        assert_true(found[t] <=
                    done +
                        1); /* nothing invented: one may be complete and not yet in the journal */
    }
    assert_int_equal(as_layers_analyze(&layers, run, NULL, &err), ASSAY_OK);
    assert_int_equal(layers->lost_events, 0);
    assert_false(layers->lost_unknown);
    killed = !run->health.closed;
    assert_true(killed || atomic_load(&journal->done[session][0]) == SCOPES);
    as_layers_free(layers);
    as_run_close(run);
    return killed;
}

/* Also what a program killed while it opened a session left behind. */
static void clear_folder(void)
{
    DIR *d = opendir(folder);
    struct dirent *entry;

    assert_non_null(d);
    while ((entry = readdir(d)) != NULL)
        unlinkat(dirfd(d), entry->d_name, 0);
    closedir(d);
}

/* When a program is killed: once it has done so many scopes of a session; by the clock if that is
 * -1, which meets the opening and closing of sessions too. */
struct moment {
    int session;
    uint64_t scopes;
    unsigned delay_us;
};

static void wait_for(const struct journal *journal, const struct moment *moment, pid_t pid)
{
    struct timespec delay = {0, (long)moment->delay_us * 1000};
    siginfo_t info = {0};

    if (moment->session < 0) {
        nanosleep(&delay, NULL); /* the moment of the kill, not a wait for anything */
        return;
    }
    while (atomic_load(&journal->done[moment->session][0]) < moment->scopes &&
           waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
        sched_yield();
}

/* Returns how many of the program's runs were cut off. */
static int kill_one(struct journal *journal, int n_threads, const struct moment *moment)
{
    int status, n_killed = 0;
    pid_t pid;

    memset(journal, 0, sizeof *journal);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        program(journal, n_threads);
    wait_for(journal, moment, pid);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    for (int s = 0; s < SESSIONS; s++) {
        struct stat st;
        char path[128];

        path_of(path, s);
        if (stat(path, &st) == 0)
            n_killed += check_run(journal, s, path);
        else
            assert_false(atomic_load(&journal->opened[s])); /* an opened session has its file */
    }
    clear_folder();
    return n_killed;
}

static void killed_at_any_moment_no_record_is_lost_or_invented(void **state)
{
    struct journal *journal =
        mmap(NULL, sizeof *journal, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint32_t seed = 20;
    int n_killed = 0;

    (void)state;
    assert_ptr_not_equal(journal, MAP_FAILED);
    assert_non_null(mkdtemp(folder));
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 1664525u + 1013904223u;
        n_killed += kill_one(journal, 1 + round % THREADS,
                             &(struct moment){.session = round % 4 == 3 ? -1 : round / 3 % 3,
                                              .scopes = (seed >> 8) % SCOPES,
                                              .delay_us = (seed >> 8) % 30000});
    }
    print_message("%d programs killed, %d of them with a session open\n", ROUNDS, n_killed);
    assert_true(n_killed > ROUNDS / 4); /* or the test would show little */
    rmdir(folder);
    munmap(journal, sizeof *journal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_any_moment_no_record_is_lost_or_invented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
