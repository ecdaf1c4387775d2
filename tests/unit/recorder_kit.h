/* tests/unit/recorder_kit.h - a folder of their own for tests that record, and what they recorded.
 * The folder must be empty at the end: a recorder leaves no litter. */
#ifndef AS_TESTS_RECORDER_KIT_H
#define AS_TESTS_RECORDER_KIT_H

#include "unit.h"

#include <assay/session.h>
#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/run/layers.h"
#include "trace/run/thread_events.h"

static char rec_folder[] = "/tmp/assay-rec-XXXXXX";

static inline int rec_enter(void **state)
{
    (void)state;
    return mkdtemp(rec_folder) && chdir(rec_folder) == 0 ? 0 : -1;
}

static inline int rec_leave(void **state)
{
    (void)state;
    return chdir("/") == 0 && rmdir(rec_folder) == 0 ? 0 : -1;
}

/* How many files there are here; with `remove`, none afterwards. */
static inline size_t rec_files(bool remove_them)
{
    DIR *dir = opendir(".");
    struct dirent *entry;
    size_t n = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        n++;
        if (remove_them)
            unlink(entry->d_name);
    }
    closedir(dir);
    return n;
}

/* After each test: removes what it recorded. */
static inline int rec_clean(void **state)
{
    (void)state;
    if (assay_session_is_open())
        assay_session_close(NULL);
    rec_files(true);
    return 0;
}

static inline void rec_start(const char *path, const struct assay_session_options *options)
{
    struct assay_error err = {0};

    if (assay_session_open(path, options, &err) < 0)
        fail_msg("%s", err.msg);
}

/* True when a thread of this process has the name of the recorder's thread. */
static inline bool rec_has_thread(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    bool found = false;

    assert_non_null(tasks);
    while (!found && (entry = readdir(tasks))) {
        char path[300], name[32] = "";
        FILE *comm;

        (void)snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        comm = fopen(path, "r");
        found = comm && fgets(name, sizeof name, comm) && strcmp(name, "assay-trace\n") == 0;
        if (comm)
            fclose(comm);
    }
    closedir(tasks);
    return found;
}

/* For tests that fork at once: a sanitizer's allocator is locked while a thread begins, and a child
 * that is forked in that moment never sees it unlocked. The thread names itself after that. */
static inline void rec_start_settled(const char *path)
{
    rec_start(path, NULL);
    while (!rec_has_thread())
        sched_yield();
}

static inline void rec_stop(void)
{
    struct assay_error err = {0};

    if (assay_session_close(&err) < 0)
        fail_msg("%s", err.msg);
}

struct rec {
    struct as_run *run;
    struct as_layers *layers;
};

static inline struct rec rec_read(const char *path)
{
    struct assay_error err = {0};
    struct rec r;

    if (as_run_open(&r.run, path, &err) < 0 || as_layers_analyze(&r.layers, r.run, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    return r;
}

static inline void rec_done(struct rec *r)
{
    as_layers_free(r->layers);
    as_run_close(r->run);
}

/* The layer of that name; one without a single call when there is none. */
static inline const struct as_layer *rec_find(const struct rec *r, const char *name)
{
    static const struct as_run_site nameless = {.name = ""};
    static const struct as_layer none = {.info = &nameless, .op = "", .shape = ""};

    for (size_t i = 0; i < r->layers->n_layers; i++) {
        if (strcmp(r->layers->layer[i].info->name, name) == 0)
            return &r->layers->layer[i];
    }
    return &none;
}

static inline uint64_t rec_calls(const struct rec *r, const char *name)
{
    return rec_find(r, name)->calls;
}

/* Every begin has its end, nothing is missing, nothing is out of place. */
static inline void rec_expect_whole(const struct rec *r)
{
    const struct as_layers *l = r->layers;

    assert_int_equal(l->stray_ends, 0);
    assert_int_equal(l->stray_after_loss, 0);
    assert_int_equal(l->unclosed, 0);
    assert_int_equal(l->cut, 0);
    assert_int_equal(l->open, 0);
    assert_int_equal(l->bad_events, 0);
    assert_int_equal(l->backwards, 0);
    assert_int_equal(l->too_deep, 0);
    assert_int_equal(l->lost_events, 0);
    assert_false(l->lost_unknown);
    assert_int_equal(r->run->health.damaged_blocks, 0);
    assert_int_equal(r->run->health.cut_bytes, 0);
}

/* Begins, ends and switches that were recorded. */
static inline uint64_t rec_marks(struct as_run *run)
{
    uint64_t n = 0;

    for (size_t i = 0; i < run->n_threads; i++) {
        struct as_thread_events events;
        struct as_event_batch batch;

        as_thread_events_init(&events, run, &run->thread[i]);
        while (as_thread_events_next(&events, &batch, NULL) == 1) {
            for (size_t k = 0; k < batch.n_events; k++)
                n += batch.event[k].kind >= AS_RECORD_BEGIN &&
                     batch.event[k].kind <= AS_RECORD_SWITCH;
        }
        as_thread_events_fini(&events);
    }
    return n;
}

/* Waits for a child of ours and expects it to have ended with status 0. */
static inline void rec_wait(pid_t pid)
{
    int status;

    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0)
        fail_msg("the child ended with %s %d", WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

#if defined(__SANITIZE_THREAD__)
#define REC_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define REC_TSAN 1
#endif
#endif
#ifndef REC_TSAN
#define REC_TSAN 0
#endif
#if REC_TSAN || defined(__SANITIZE_ADDRESS__)
#define REC_SANITIZED true
#else
#define REC_SANITIZED false
#endif

#endif
