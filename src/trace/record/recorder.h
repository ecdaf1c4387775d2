/* trace/record/recorder.h - the state of the process's one recorder, shared by its four sources.
 * session.c opens and ends it, lane.c gives threads their rings, drain.c moves chunks to the file,
 * marks.c adds the rarer marks. Locks are taken in the order lock, site table, the guest's
 * (guest.h), file_lock, with all signals held back; the recorder's thread takes the last alone. */
#ifndef AS_TRACE_RECORD_RECORDER_H
#define AS_TRACE_RECORD_RECORDER_H

#include <assay/session.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "trace/record/guest.h"
#include "trace/record/ring.h"
#include "trace/run/run_writer.h"

#define AS_MAX_LANES      4096u /* threads recording at the same time */
#define AS_META_MAX_BYTES 8192u

enum as_recorder_state {
    AS_RECORDER_CLOSED,
    AS_RECORDER_OPEN,
    AS_RECORDER_CHILD /* after fork(): the child's own run is made at its first event */
};

struct as_recorder {
    pthread_mutex_t lock;      /* the session, its lanes */
    pthread_mutex_t file_lock; /* the run file */
    enum as_recorder_state state;
    _Atomic pid_t owner; /* the process whose session it is: a bare clone() has the memory, and no
                            business here */
    uint64_t epoch;      /* of the open session; never 0 or 1 */
    _Atomic uint64_t
        live; /* the same while chunks are moved, paused or not; 0 once the session ends */
    bool paused;
    enum as_clock_kind clock;
    const char *clock_reason;
    bool wait_when_full, follow_fork;
    bool
        drains_inline; /* no background thread: whoever fills a chunk moves it (children of fork) */
    uint32_t n_chunks;
    uint64_t floor_ticks,
        pair_ticks; /* cost of recording: inside an empty scope, and of a whole one */
    struct as_run_writer file;
    struct as_run_header header;
    char path[PATH_MAX];          /* as the program gave it */
    char full[PATH_MAX];          /* from anywhere */
    char report_path[PATH_MAX];   /* "" for no report when the session ends */
    bool from_environment;        /* opened by session_env.c: the program cannot end it */
    bool temporary;               /* the run is alone in its folder; both go when it was reported */
    char meta[AS_META_MAX_BYTES]; /* the facts of the host, written again by a child */
    size_t meta_size;
    struct as_lane *lane[AS_MAX_LANES];
    _Atomic uint32_t n_lanes;
    uint64_t n_threads;
    uint8_t *packed; /* where a chunk is encoded */
    _Atomic uint64_t lost[AS_LOSS_REASON_COUNT];

    /* The run cannot be written any more: what the ring file has stays there, and nothing comes to
     * it for which there is no capacity. */
    _Atomic bool failed;
    bool ring_is_gone; /* under the file's lock: nor can the ring be kept */

    /* Names that the file lacks: from `sites_at`, under the file's lock, to `sites_to`. */
    const uint8_t *sites_at;
    _Atomic(const uint8_t *) sites_to;

    _Atomic(struct as_lane *) spare; /* mapped ahead for the next thread */
    _Atomic bool wants_spare;        /* a thread waits for it */
    _Atomic bool keeps_spare;        /* there was a second thread: there may be more */
    uint32_t next_index;             /* of a lane in the ring file */

    _Atomic bool thread_ended; /* one that recorded has: it may have been the last */
};

extern struct as_recorder as_recorder;

/* ---- lane.c ---- */

/* Stores `n` records whose words lack the tag, on the calling thread's lane. Signals are held back
 * by the caller. With `restamp`, the time of the first is read again just before it is stored. */
void as_lane_put(struct assay_record_ *record, size_t n, bool restamp);

/* Ends the calling thread's use of its lane, if it has one; the lock is held. */
void as_lane_release(bool thread_ends);

/* Forgets the lane of the calling thread without touching it. */
void as_lane_forget(void);

/* Says in the file what the ring had no room for, as chunk `sequence`; nobody fills the lane any
 * more. Where the files are. */
void as_lane_tell_loss(struct as_lane *lane, uint64_t thread, uint64_t sequence);

/* Makes the key whose destructor seals a lane when its thread ends; idempotent. */
bool as_lane_prepare(void);

/* Sees to it that the program can end by the end of its last thread; once a session. */
void as_lane_watch_first(void);

/* Measures what a scope costs on this thread; the lane is the caller's and not yet in use. */
void as_lane_measure_cost(struct as_lane *lane);

/* ---- drain.c ---- */

/* Moves every full chunk of every lane; true when some were. With `all`, also those still being
 * filled. */
bool as_drain_lanes(bool all);

/* The same for one lane. */
bool as_drain_lane(struct as_lane *lane, bool all);

/* The same by a thread that marks, where there is no other to do it. */
void as_drain_inline(struct as_lane *lane);

/* What the recorder's thread does. */
void as_mover_main(void);

/* Only threads of ours are left: what follows is done by whoever marks. */
void as_mover_retire(void);

/* Maps a lane of the ring; under no lock but the session's, or by the recorder's thread. */
struct as_lane *as_lane_make(void);

/* The same by as_guest_call(), into `*lane`. */
void as_lane_make_work(void *lane);

/* ---- session.c ---- */

/* Appends a block, wherever the files are. */
bool as_recorder_write(uint16_t kind, const void *payload, size_t size, uint32_t records);

/* The same where they are, under the file's lock. */
bool as_recorder_put(uint16_t kind, const void *payload, size_t size, uint32_t records);

/* Puts the names that the file lacks there; likewise. */
void as_recorder_put_sites(void);

/* Reads the clocks and keeps them in the file. */
void as_recorder_anchor(void);

/* Opens the run of a forked child; the lock is held. */
bool as_recorder_open_child(void);

/* Prints why the run or the report of such a session could not be written to its end: nobody else
 * hears of it. */
void as_session_env_failed(const char *why);

/* The session of session_env.c. With `temporary` the run and the folder it stands in go when the
 * session has ended. */
AS_MUST_USE int as_session_open_for_environment(const char *path,
                                                const struct assay_session_options *options,
                                                bool temporary, struct assay_error *err);

/* ---- session_data.c ---- */

/* `json` is one JSON value of at most AS_BLOCK_MAX_BYTES - 4096 bytes, `kind` a short name. STATE
 * when no session is open, IO when the run cannot be written. */
AS_MUST_USE int as_session_data(const char *kind, const char *json, size_t size,
                                struct assay_error *err);

/* ---- memory_samples.c ---- */

/* The channels: resident bytes, and those of them that no file backs. */
#define AS_CHANNEL_RSS           "rss"
#define AS_CHANNEL_RSS_ANONYMOUS "rss_anonymous"

#define AS_MEMORY_THREAD "assay-memory" /* the name their thread has in a run; its tid is 0 */

/* Before the recorder's thread starts; the session's lock is held. An interval of 0 takes none. */
void as_memory_samples_open(uint32_t interval_ms);

/* Takes one when it is due. Returns the nanoseconds until the next; UINT64_MAX: never. */
uint64_t as_memory_samples_take(uint64_t now_ns);

/* After the thread ended: the last sample, so that even a short run has two. */
void as_memory_samples_close(void);

/* In a forked child: the parent's are not its own. */
void as_memory_samples_forget(void);

#endif
