/* engine/thread_pool.h - a few threads that share the items of one piece of work.
 * They sleep between pieces: a waiting thread must not disturb what is being measured. */
#ifndef AS_ENGINE_THREAD_POOL_H
#define AS_ENGINE_THREAD_POOL_H

#include "base/error.h"

struct as_thread_pool;

typedef void (*as_pool_work)(void *arg, uint64_t from, uint64_t to);

/* `threads` counts the caller's own; 1 makes a pool that does everything itself. */
AS_MUST_USE int as_thread_pool_new(struct as_thread_pool **pool, unsigned threads,
                                   struct assay_error *err);
void as_thread_pool_free(struct as_thread_pool *pool);

/* Items 0..n-1 in pieces of `grain`; returns when all are done. From the owner's thread only; NULL:
 * that thread does them all. */
void as_thread_pool_run(struct as_thread_pool *pool, uint64_t n, uint64_t grain, as_pool_work work,
                        void *arg);

#endif
