/* probe/process/memory_sampler.h - a thread that takes a reading again and again, out of step with
 * the rest. Deadlines stand still on the steady clock: a late reading does not make the next ones
 * late.
 */
#ifndef AS_PROBE_PROCESS_MEMORY_SAMPLER_H
#define AS_PROBE_PROCESS_MEMORY_SAMPLER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define AS_SAMPLER_LEAST_US 1000
#define AS_SAMPLER_MOST_US  60000000

typedef void (*as_sampler_take)(void *user);

/* {0} is one that does not run. Start and stop are called by one thread at a time. */
struct as_memory_sampler {
    pthread_t thread;
    pthread_mutex_t lock; /* of `stopping` */
    pthread_cond_t wake;
    bool stopping;
    bool runs;
    pid_t pid; /* of the process that has the thread: a forked child has it not */
    uint64_t interval_ns;
    uint64_t begun_ns;
    as_sampler_take take;
    void *user;
    const char *name;             /* of the thread; NULL: "assay-memory" */
    uint64_t past_cpu, past_wall; /* of those that ended */
};

/* The first reading is taken at once, the next after `interval_us`, each shifted by up to a tenth
 * of it. `take` runs on the thread. USAGE for an interval outside the limits, STATE when it runs
 * already. */
AS_MUST_USE int as_memory_sampler_start(struct as_memory_sampler *sampler, uint64_t interval_us,
                                        as_sampler_take take, void *user, struct assay_error *err);

/* Waits until the reading that may be going on is done. Does nothing when it does not run. */
void as_memory_sampler_stop(struct as_memory_sampler *sampler);

/* Whether the thread is there, in this process. */
bool as_memory_sampler_runs(const struct as_memory_sampler *sampler);

/* What all its threads cost and how long they ran; false when there was none. */
bool as_memory_sampler_cost(const struct as_memory_sampler *sampler, uint64_t *cpu_ns,
                            uint64_t *wall_ns);

/* ---- what the trackers of memory and power share ---- */

/* Samples in bounded memory: of a full list every second one goes, and from then on only every
 * second sample comes in. {.most = N, .stride = 1, .bytes = sizeof(sample)} is empty. */
struct as_kept_samples {
    void *at; /* freed with as_free() */
    size_t n, capacity, most, bytes;
    uint64_t stride;
};

/* Keeps sample `number`, counted from 0, when its turn has come. False without memory. */
bool as_kept_samples_offer(struct as_kept_samples *kept, uint64_t number, const void *sample);

/* Copies up to `capacity` of them to `out`, which may be NULL; returns how many there are. */
size_t as_kept_samples_copy(const struct as_kept_samples *kept, void *out, size_t capacity);

/* The lock of a tracker that its owner and its sampler share. */
struct as_tracker_lock {
    pid_t pid; /* of the process that uses it: after a fork the mutex may be held by nobody */
    pthread_mutex_t mutex;
};

bool as_tracker_lock_init(struct as_tracker_lock *lock);
void as_tracker_lock_fini(struct as_tracker_lock *lock);
/* In a child that was forked, the lock starts anew and the sampler, which it does not have, ends.
 */
void as_tracker_enter(struct as_tracker_lock *lock, struct as_memory_sampler *sampler);
void as_tracker_leave(struct as_tracker_lock *lock);

#endif
