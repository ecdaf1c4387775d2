/* assay/session.h - records what a program does into a run file.
 *
 *     struct assay_error err;
 *     if (assay_session_open("run.assay", NULL, &err) < 0)
 *         fprintf(stderr, "%s\n", err.msg);
 *     for (uint64_t i = 0; i < 100; i++) {
 *         assay_iteration(i);
 *         ASSAY_SCOPE("conv1");
 *         work();
 *     }
 *     assay_session_close(&err);
 *
 * Then `assay report run.assay`. Link with -lassay-trace (needs libc alone) or -lassay. Every call
 * may be made from any thread. A call that can fail returns 0 or a negative enum assay_code and
 * fills `err`, which may be NULL. The library never exits and installs no signal handler. It prints
 * only the report that the program asks for (report_path), and reads the environment in one case:
 *
 * A program that only has marks needs no call at all. When it is started with ASSAY_RUN=FILE, a
 * session is opened before main() and closed when the program ends. "%p" in FILE is the process id,
 * "%%" a percent sign. A child by fork() records into a run of its own (ASSAY_FORK_FOLLOW
 * below); with ASSAY_REPORT alone it records nothing (ASSAY_FORK_STOP). A program started from such
 * a program by exec inherits the variable, and the recorder's own ASSAY_RUN_OWNER: it records into
 * FILE with its own pid, "run.assay" becoming "run.4711.assay", and never replaces a run.
 * ASSAY_REPORT=1 prints a short report of the layers to standard error when the program ends,
 * ASSAY_REPORT=FILE writes it to a file; without ASSAY_RUN the run itself is not kept. While such a
 * session is open, assay_session_open() and assay_session_close() fail with ASSAY_ERR_STATE: the
 * environment's session goes on to the end of the program. When it cannot be opened, one line at
 * standard error reports why and the program runs unrecorded. Programs with raised privileges
 * (setuid) ignore all of it. */
#ifndef ASSAY_SESSION_H
#define ASSAY_SESSION_H

#include <assay/error.h>
#include <assay/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happens to an event for which the thread's ring has no capacity left. */
enum assay_overflow {
    ASSAY_OVERFLOW_DROP = 0, /* it is dropped and counted in the report; the program never waits */
    ASSAY_OVERFLOW_WAIT = 1  /* the thread waits for capacity; the time waited is itself recorded */
};

/* Which clock stamps events. */
enum assay_clock {
    ASSAY_CLOCK_BEST =
        0, /* the CPU's counter when it and the kernel call it reliable, else the system's */
    ASSAY_CLOCK_MONOTONIC = 1 /* the system's monotonic clock always */
};

/* What a child made by fork() does. A child of vfork() or posix_spawn() needs nothing; one made by
 * a bare clone() records nothing. */
enum assay_fork {
    ASSAY_FORK_FOLLOW = 0, /* it records into a run of its own, <path without .assay>.<pid>.assay,
                              from its first event; with ".2", ".3"... when that is taken */
    ASSAY_FORK_STOP = 1    /* it records nothing */
};

/* How a session records. Zero means the default everywhere. */
struct assay_session_options {
    size_t size;       /* sizeof(struct assay_session_options) */
    const char *label; /* free text kept with the run; NULL for none */
    uint32_t ring_kib; /* memory of a thread's ring: 128 to 4096, in steps of 64; 0 means 512 */
    enum assay_overflow overflow;
    enum assay_clock clock;
    enum assay_fork fork;
    uint32_t memory_interval_ms; /* samples of the process's memory at this distance, by a thread of
                                    the recorder: channels "rss" and "rss_anonymous"; 0: none. A
                                    sample costs some 3 us. A forked child takes none */
    const char *report_path; /* where a short text report of the layers goes when the session ends:
                                a file, or "-" for standard error; NULL: none. Forked children
                                write none */
};

#ifndef ASSAY_DISABLE
/* "0.1.0": the version of the library in use, which may differ from the header's. */
ASSAY_API const char *assay_version(void);

/* Begins recording into the file `path`; folders that are missing above it are made. One session
 * records at a time in a process, and one process at a time into a path: the others get
 * ASSAY_ERR_STATE. A run that is already there is kept as `path`.old; another kind of file is
 * refused. While recording, `path`.ring stands beside it: should the program be killed, the reader
 * takes the last events from there. Both files are their owner's alone (mode 0600, or that of the
 * older run). A thread of the recorder holds them open in a table of descriptors of its own: the
 * program may close, duplicate, limit and fork what it likes, and change its folder, its root and
 * its rights. `options` may be NULL. */
ASSAY_API int assay_session_open(const char *path, const struct assay_session_options *options,
                                 struct assay_error *err);

/* Ends it: everything recorded is in the file, on the disk, when this returns 0. ASSAY_ERR_IO when
 * something could not be written, or when the file was removed or replaced meanwhile; what could be
 * is kept. An open session is also closed when the program ends by
 * exit() or by returning from main. Events that another thread is recording at this very moment may
 * be missing. */
ASSAY_API int assay_session_close(struct assay_error *err);

/* True between open and close. */
ASSAY_API bool assay_session_is_open(void);

/* Stops and resumes recording without ending the session. Open scopes should be balanced by the
 * caller. */
ASSAY_API void assay_session_pause(void);
ASSAY_API void assay_session_resume(void);

/* Events lost so far in this session, for whatever reason. */
ASSAY_API uint64_t assay_session_lost(void);

#endif

/* What is known of a layer beside its time. Zero or NULL: not known. */
struct assay_layer_info {
    size_t size;       /* sizeof(struct assay_layer_info) */
    const char *op;    /* the kind of operation, as in "conv2d" */
    const char *shape; /* of its output, as in "1x64x112x112" */
    double flops;      /* of one call; 1 multiply-accumulate = 2 FLOPs */
    double bytes;      /* read and written by one call */
};

#ifndef ASSAY_DISABLE
/* Keeps facts about a layer (from assay_layer()) with the run. The last word wins. */
ASSAY_API int assay_layer_describe(uint32_t layer, const struct assay_layer_info *info,
                                   struct assay_error *err);

/* Any other fact: a key of your own and its text. */
ASSAY_API int assay_layer_set(uint32_t layer, const char *key, const char *value,
                              struct assay_error *err);

#else /* all of it works and records nothing */
#define ASSAY_TEXT2_(x) #x
#define ASSAY_TEXT_(x)  ASSAY_TEXT2_(x)
static inline const char *assay_version(void)
{
    return ASSAY_TEXT_(ASSAY_VERSION_MAJOR) "." ASSAY_TEXT_(ASSAY_VERSION_MINOR) "." ASSAY_TEXT_(
        ASSAY_VERSION_PATCH);
}
static inline int assay_session_open(const char *path, const struct assay_session_options *options,
                                     struct assay_error *err)
{
    (void)path, (void)options, (void)err;
    return ASSAY_OK;
}
static inline int assay_session_close(struct assay_error *err)
{
    (void)err;
    return ASSAY_OK;
}
static inline bool assay_session_is_open(void)
{
    return false;
}
static inline void assay_session_pause(void)
{
}
static inline void assay_session_resume(void)
{
}
static inline uint64_t assay_session_lost(void)
{
    return 0;
}
static inline int assay_layer_describe(uint32_t layer, const struct assay_layer_info *info,
                                       struct assay_error *err)
{
    (void)layer, (void)info, (void)err;
    return ASSAY_OK;
}
static inline int assay_layer_set(uint32_t layer, const char *key, const char *value,
                                  struct assay_error *err)
{
    (void)layer, (void)key, (void)value, (void)err;
    return ASSAY_OK;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
