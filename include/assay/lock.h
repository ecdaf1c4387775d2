/* assay/lock.h - how long threads wait for locks and hold them.
 *
 *     static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
 *     {
 *         ASSAY_LOCK(&mutex, "queue");
 *         work();
 *     }
 *
 * takes the mutex to the end of the block. A mutex that is free costs one scope (scope.h) more than
 * pthread_mutex_lock(). `assay report` has, for each name, how often the lock was taken, how often
 * a thread had to wait, how long the waits were and how long the lock was held. A lock is not a
 * layer: its time stays in the layer around it. Several locks may have one name. With
 * -DASSAY_DISABLE only the locking is left. For C11 and C++17. */
#ifndef ASSAY_LOCK_H
#define ASSAY_LOCK_H

#include <errno.h>
#include <pthread.h>

#include <assay/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A mutex taken until the end of a block. Kept in a variable only through the macros below. */
struct assay_lock_scope_ {
    pthread_mutex_t *mutex; /* NULL: not taken */
    struct assay_site *site;
};

ASSAY_HOT_ void assay_lock_mark_(struct assay_site *site, uint32_t kind)
{
#ifndef ASSAY_DISABLE
    assay_put_site_(site, kind);
#else
    (void)site, (void)kind;
#endif
}

/* Returns what pthread_mutex_lock() would. */
ASSAY_HOT_ int assay_mutex_lock_(pthread_mutex_t *mutex, struct assay_site *site)
{
    int rc = pthread_mutex_trylock(mutex);

    if (__builtin_expect(rc == EBUSY, 0)) {
        assay_lock_mark_(site, ASSAY_KIND_LOCK_WAIT_);
        rc = pthread_mutex_lock(mutex);
    }
    if (__builtin_expect(rc == 0 || rc == EOWNERDEAD, 1))
        assay_lock_mark_(site, ASSAY_KIND_LOCK_HELD_);
    return rc;
}

/* Returns what pthread_mutex_unlock() does. */
ASSAY_HOT_ int assay_mutex_unlock_(pthread_mutex_t *mutex, struct assay_site *site)
{
    assay_lock_mark_(site, ASSAY_KIND_LOCK_FREE_); /* while nobody else can have it */
    return pthread_mutex_unlock(mutex);
}

ASSAY_HOT_ struct assay_lock_scope_ assay_lock_scope_open_(pthread_mutex_t *mutex,
                                                           struct assay_site *site)
{
    struct assay_lock_scope_ scope = {mutex, site};
    int rc = assay_mutex_lock_(mutex, site);

    if (__builtin_expect(rc != 0 && rc != EOWNERDEAD, 0))
        scope.mutex = NULL;
    return scope;
}

ASSAY_HOT_ void assay_lock_scope_close_(const struct assay_lock_scope_ *scope)
{
    if (__builtin_expect(scope->mutex != NULL, 1))
        (void)assay_mutex_unlock_(scope->mutex, scope->site);
}

/* The mark of a lock that the caller takes and gives back. */
struct assay_lock_held_ {
    struct assay_site *site;
};

ASSAY_HOT_ struct assay_lock_held_ assay_lock_held_open_(struct assay_site *site)
{
    struct assay_lock_held_ held = {site};

    assay_lock_mark_(site, ASSAY_KIND_LOCK_HELD_);
    return held;
}

ASSAY_HOT_ void assay_lock_held_close_(const struct assay_lock_held_ *held)
{
    assay_lock_mark_(held->site, ASSAY_KIND_LOCK_FREE_);
}

#ifdef __cplusplus
}
#endif

#define ASSAY_LOCK_SITE_(var, name)                                                                \
    static struct assay_site var                                                                   \
        __attribute__((unused)) = {(name), __FILE__, __LINE__, ASSAY_CATEGORY_LOCK, 0}

/* Takes the pthread_mutex_t that `mutex` points to until the end of the enclosing block, whichever
 * way it is left. When pthread_mutex_lock() fails (an error-checking or robust mutex), the block
 * runs without the lock: such a mutex is for ASSAY_MUTEX_LOCK. */
#define ASSAY_LOCK(mutex, name) ASSAY_LOCK_(ASSAY_JOIN_(assay_lock_, __COUNTER__), mutex, name)
#define ASSAY_LOCK_(var, mutex, name)                                                              \
    ASSAY_LOCK_SITE_(ASSAY_JOIN_(var, _site_), name);                                              \
    struct assay_lock_scope_ var __attribute__((cleanup(assay_lock_scope_close_), unused)) =       \
        assay_lock_scope_open_((mutex), &ASSAY_JOIN_(var, _site_))

/* pthread_mutex_lock() and pthread_mutex_unlock() with marks; their values are theirs. Locks need
 * not be given back in the reverse order. */
#define ASSAY_MUTEX_LOCK(mutex, name)                                                              \
    __extension__({                                                                                \
        ASSAY_LOCK_SITE_(assay_lock_here_, name);                                                  \
        assay_mutex_lock_((mutex), &assay_lock_here_);                                             \
    })
#define ASSAY_MUTEX_UNLOCK(mutex, name)                                                            \
    __extension__({                                                                                \
        ASSAY_LOCK_SITE_(assay_lock_here_, name);                                                  \
        assay_mutex_unlock_((mutex), &assay_lock_here_);                                           \
    })

/* For any other kind of lock:
 *
 *     static pthread_mutex_t any = PTHREAD_MUTEX_INITIALIZER; // stands for your lock
 *     if (pthread_mutex_trylock(&any) != 0) {
 *         ASSAY_LOCK_WAIT("table");
 *         pthread_mutex_lock(&any);
 *     }
 *     {
 *         ASSAY_LOCK_HELD_SCOPE("table");
 *         work();
 *     }
 *     pthread_mutex_unlock(&any);
 *
 * A wait ends where the lock of that name is held next on the thread; one that is not followed by
 * that was given up, and is counted as such. */
#define ASSAY_LOCK_WAIT(name)                                                                      \
    do {                                                                                           \
        ASSAY_LOCK_SITE_(assay_lock_here_, name);                                                  \
        assay_lock_mark_(&assay_lock_here_, ASSAY_KIND_LOCK_WAIT_);                                \
    } while (0)
#define ASSAY_LOCK_HELD_SCOPE(name)                                                                \
    ASSAY_LOCK_HELD_SCOPE_(ASSAY_JOIN_(assay_lock_held_, __COUNTER__), name)
#define ASSAY_LOCK_HELD_SCOPE_(var, name)                                                          \
    ASSAY_LOCK_SITE_(ASSAY_JOIN_(var, _site_), name);                                              \
    struct assay_lock_held_ var __attribute__((cleanup(assay_lock_held_close_), unused)) =         \
        assay_lock_held_open_(&ASSAY_JOIN_(var, _site_))

#endif
