/* trace/record/guest.h - everything the recorder owns inside somebody else's program: its thread,
 * its descriptors, its names. The rules, which every other source of this folder keeps:
 *
 *  1. Descriptors. The recorder's thread has a table of descriptors of its own, emptied before
 *     anything is opened there. So no number of ours is in the program's table, no descriptor of
 *     the program's is kept open by us, and nothing that the program closes, duplicates, inherits
 *     or limits reaches ours. Only functions that run by as_guest_call() open files.
 *  2. Without that thread (none to be had; children of fork, which have one thread and may be in a
 *     signal handler; filters that refuse an own table) each call is done by a task that lives as
 *     long as the call (own_task.h), again with a table of its own: the files are opened there by
 *     their absolute paths, compared with the ones that were made (device, inode), written and
 *     closed. A file that is another one is not written, and the loss is counted. Where no task is
 *     to be had either, the calling thread does that itself if it is the only one of the process,
 *     so that nobody can put another file under our number; else no file is used at all, and the
 *     loss is counted. A session of such a process holds one descriptor in the program's table, for
 *     its lock, if there was only one thread when it was opened. Nothing is ever written to or read
 *     from that number; it is closed only by the only thread of the process, and if it still is
 *     that file. A program may close it, and a child has none: so the ring also says which process
 *     records into it, and since when that lives.
 *  3. Never 0, 1 or 2.
 *  4. Names are used within the folder that was opened with the session, whatever the program's
 *     working directory and root are by then; a name is removed only if it still is our file's.
 *  5. Signals. The thread blocks all of them; whoever else runs our code holds them back, and
 *     cancellation with them. SIGXFSZ of our own writes is taken back (trace/run/file_limit.h).
 *     No handler is installed.
 *  6. errno is what it was, after marks and calls alike.
 *  7. Locks. The thread takes no lock that is held while somebody waits for it, none of the
 *     program's, and allocates nothing. A mark waits for it for AS_GUEST_PATIENCE_NS at most, and
 *     goes on without what it waited for.
 *  8. Memory is mapped by steps as threads come: as_lane_map() and nothing else.
 *  9. A mark takes AS_GUEST_STACK_BYTES of the stack it is called on, at most: it may be called in
 *     a handler on a small stack. Whatever takes more runs by as_guest_call(). */
#ifndef AS_TRACE_RECORD_GUEST_H
#define AS_TRACE_RECORD_GUEST_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define AS_GUEST_PATIENCE_NS 100000000u
#define AS_GUEST_STACK_BYTES 2048u

void as_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);
void as_futex_wake(_Atomic uint32_t *word);

/* ---- the thread ---- */

/* Before the first session. False when there is no memory. */
bool as_guest_prepare(void);

/* Starts it with `main`, which calls as_guest_serve() again and again until as_guest_is_stopping();
 * returns once it has settled. False when there is none to be had: everything is done by whoever
 * asks then. `retire`: see as_guest_keep(). */
bool as_guest_start(void (*main)(void), void (*retire)(void));

/* Ends it, also when called by itself. */
void as_guest_stop(void);
bool as_guest_is_stopping(void);

/* A program also ends when its last thread does, which then runs its exit handlers: these must not
 * meet an empty table of descriptors. So once the first thread of the program may end, a second
 * thread of ours waits, in the program's table, to be that last one. It calls as_guest_retire() by
 * the function given above. */
void as_guest_keep(void);
void as_guest_retire(void);

/* Threads of this library in the process, the manager's too: none may keep the program alive. */
extern _Atomic uint32_t as_own_threads;

/* Whether the program's own threads have all ended, for threads of ours that share its table and
 * may be its last one. Opens nothing. */
bool as_guest_program_has_ended(void);

/* By the first of them: only ours are left. False when there is no second one. */
bool as_guest_is_alone(void);

bool as_guest_has_thread(void);

/* True in what runs by as_guest_call(), and on the thread. */
bool as_guest_is_here(void);

/* Runs `work` where our files are and returns when it is done; on another stack than the caller's.
 * No lock may be taken in it that somebody holds who makes a call. */
void as_guest_call(void (*work)(void *), void *argument);

/* By the thread: does the calls that wait. When as_guest_is_stopping() after it, the thread has no
 * files any more and must return. */
void as_guest_serve(void);

/* Waits, within bounds, until the thread has once looked at all there is in memory for it since
 * now; by the thread: that it begins to, and that it has. */
void as_guest_need(void);
bool as_guest_is_needed(uint32_t *ticket);
void as_guest_satisfy(uint32_t ticket);

/* Something is there to do; the thread sleeps until then, at most so long. `seen` is what
 * as_guest_wake_count() returned before it looked. */
void as_guest_wake(void);
uint32_t as_guest_wake_count(void);
void as_guest_sleep(uint32_t seen, uint64_t most_ns);

/* Around fork(): no call is under way; in the child: there is no thread, and nothing of its files
 * is ours to close, but the lock of rule 2. */
void as_guest_lock(void);
void as_guest_unlock(void);
void as_guest_forget(void);

/* ---- the files; for what runs by as_guest_call() ---- */

struct as_run_header;

/* Makes run and ring of `path` (absolute where possible; `shown` is for sentences and stays the
 * caller's) under names that nobody can guess. */
AS_MUST_USE int as_guest_create(const char *path, const char *shown, struct assay_error *err);

/* Puts them in place; as a child under the first free name, which is written to `path`. */
AS_MUST_USE int as_guest_publish(bool child, char path[PATH_MAX], struct assay_error *err);

/* Their descriptors, open until the call ends: -1 with errno. */
int as_guest_borrow_run(void);
int as_guest_borrow_ring(void);

/* When the process began, if the lock of its ring may be lost while it records: rule 2. Else 0. */
uint64_t as_guest_started(void);

/* Gives up what was created. */
void as_guest_drop(void);

/* Whether run and ring still are where they were put. */
bool as_guest_is_in_place(void);

/* Everything is written: it is put onto the disk, the ring goes, unless it has what the run lacks
 * (`keeps_ring`). False when the run is no more where it was. */
bool as_guest_finish(bool keeps_ring);

enum as_guest_proc { AS_GUEST_STAT, AS_GUEST_STATM, AS_GUEST_PROC_COUNT };

/* Reads a file of /proc/self from its beginning; `text` ends with NUL. False when it cannot. */
bool as_guest_read_proc(enum as_guest_proc which, char *text, size_t size);

/* The lock of rule 2, by the program's thread and not by a call: after the files were created, and
 * when the session is over. */
void as_guest_hold(void);
void as_guest_release(void);

#endif
