/* engine/thread_pool.c - a few threads that share the items of one piece of work.
 * Pieces are taken by a counter, so a thread that is held up takes fewer. */
#include "engine/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/clock.h"

enum {
    MAX_THREADS = 1024,
    /* Work often follows work, and waking a thread takes about as long. Who waits longer sleeps, so
     * that a busy machine loses little. */
    SPIN_NS = 30000,
    LOOKS = 16 /* between two readings of the clock */
};

struct as_thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t work_there, work_done;
    pthread_t threads[MAX_THREADS];
    unsigned n_threads; /* beside the caller */
    /* Written with the lock held; looked at without. */
    _Atomic uint64_t round; /* of work; changes wake the threads */
    _Atomic uint64_t n_busy;
    bool stop;
    uint64_t n, grain;
    _Atomic uint64_t next;
    as_pool_work work;
    void *arg;
};

static void take_pieces(struct as_thread_pool *pool)
{
    for (;;) {
        uint64_t from = atomic_fetch_add(&pool->next, pool->grain);

        if (from >= pool->n)
            return;
        pool->work(pool->arg, from, pool->n - from < pool->grain ? pool->n : from + pool->grain);
    }
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Until the word is, or is no longer, that value, for a while. */
static void look(const _Atomic uint64_t *word, uint64_t value, bool is)
{
    uint64_t until = as_clock_mono_ns() + SPIN_NS;

    do
        for (int i = 0; i < LOOKS; i++) {
            if ((atomic_load_explicit(word, memory_order_relaxed) == value) == is)
                return;
            relax();
        }
    while (as_clock_mono_ns() < until);
}

static void *thread_main(void *user)
{
    struct as_thread_pool *pool = user;
    uint64_t seen = 0;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->round == seen && !pool->stop)
            pthread_cond_wait(&pool->work_there, &pool->lock);
        if (pool->stop)
            break;
        seen = pool->round;
        pthread_mutex_unlock(&pool->lock);
        take_pieces(pool);
        pthread_mutex_lock(&pool->lock);
        if (--pool->n_busy == 0)
            pthread_cond_signal(&pool->work_done);
        pthread_mutex_unlock(&pool->lock);
        look(&pool->round, seen, false);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int as_thread_pool_new(struct as_thread_pool **out, unsigned threads, struct assay_error *err)
{
    struct as_thread_pool *pool = as_alloc_zero(1, sizeof *pool);
    sigset_t all, before;
    int rc = ASSAY_OK;

    *out = NULL;
    if (!pool)
        return as_fail_nomem(err);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work_there, NULL);
    pthread_cond_init(&pool->work_done, NULL);
    /* Signals are for the program's own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (rc == ASSAY_OK && pool->n_threads + 1 < threads && pool->n_threads < MAX_THREADS) {
        int failed = pthread_create(&pool->threads[pool->n_threads], NULL, thread_main, pool);

        if (failed)
            rc = as_fail(err, ASSAY_ERR_LIMIT, "cannot start thread %u of %u", pool->n_threads + 2,
                         threads);
        else
            pool->n_threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc < 0)
        as_thread_pool_free(pool);
    else
        *out = pool;
    return rc;
}

void as_thread_pool_free(struct as_thread_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work_there);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->n_threads; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->work_done);
    pthread_cond_destroy(&pool->work_there);
    pthread_mutex_destroy(&pool->lock);
    as_free(pool);
}

void as_thread_pool_run(struct as_thread_pool *pool, uint64_t n, uint64_t grain, as_pool_work work,
                        void *arg)
{
    grain = grain ? grain : 1;
    if (!pool || pool->n_threads == 0 || n <= grain) {
        for (uint64_t from = 0; from < n; from += grain)
            work(arg, from, n - from < grain ? n : from + grain);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->n = n;
    pool->grain = grain;
    pool->work = work;
    pool->arg = arg;
    atomic_store(&pool->next, 0);
    pool->n_busy = pool->n_threads;
    pool->round++;
    pthread_cond_broadcast(&pool->work_there);
    pthread_mutex_unlock(&pool->lock);
    take_pieces(pool);
    look(&pool->n_busy, 0, true);
    pthread_mutex_lock(&pool->lock);
    while (pool->n_busy > 0)
        pthread_cond_wait(&pool->work_done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
