/* probe/process/rss_peaks.c - the greatest of all samples since any moment, without keeping them
 * all. One thread adds, another asks; a forked child goes on with what its parent saw. */
#include "probe/process/memory_probe.h"

#include <sched.h>
#include <unistd.h>

bool as_rss_peaks_init(struct as_rss_peaks *peaks)
{
    peaks->n = 0;
    peaks->taken = 0;
    peaks->pid = getpid();
    return pthread_mutex_init(&peaks->lock, NULL) == 0;
}

void as_rss_peaks_fini(struct as_rss_peaks *peaks)
{
    if (peaks->pid == getpid())
        pthread_mutex_destroy(&peaks->lock);
}

#define TRIES 100000 /* whoever holds the lock on another thread lets go of it within some */

static void renew_in_child(struct as_rss_peaks *p)
{
    if (p->pid != getpid()) { /* a thread that is not here may have held it when we were forked */
        p->pid = getpid();
        pthread_mutex_init(&p->lock, NULL);
    }
}

/* False: the thread that holds it is this one, interrupted. */
static bool try_enter(struct as_rss_peaks *p)
{
    renew_in_child(p);
    for (int i = 0; i < TRIES; i++) {
        if (pthread_mutex_trylock(&p->lock) == 0)
            return true;
        if (i % 100 == 99)
            sched_yield();
    }
    return false;
}

static void enter(struct as_rss_peaks *p)
{
    renew_in_child(p);
    pthread_mutex_lock(&p->lock);
}

static void leave(struct as_rss_peaks *p)
{
    pthread_mutex_unlock(&p->lock);
}

/* The first and the last step stay: the greatest of all and the newest. */
static void give_up_every_second(struct as_rss_peaks *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n; i += 2)
        p->step[n++] = p->step[i];
    p->n = n;
}

void as_rss_peaks_add(struct as_rss_peaks *peaks, uint64_t bytes)
{
    enter(peaks);
    while (peaks->n > 0 && peaks->step[peaks->n - 1].bytes <= bytes)
        peaks->n--;
    if (peaks->n == AS_RSS_PEAKS)
        give_up_every_second(peaks);
    peaks->step[peaks->n].number = peaks->taken++;
    peaks->step[peaks->n++].bytes = bytes;
    leave(peaks);
}

uint64_t as_rss_peaks_mark(const struct as_rss_peaks *peaks)
{
    return atomic_load_explicit(&peaks->taken, memory_order_acquire);
}

uint64_t as_rss_peaks_since(struct as_rss_peaks *peaks, uint64_t mark, uint64_t *bytes)
{
    uint32_t from = 0, to;
    uint64_t n;

    if (atomic_load_explicit(&peaks->taken, memory_order_acquire) <= mark || !try_enter(peaks))
        return 0;
    n = peaks->taken > mark ? peaks->taken - mark : 0;
    to = peaks->n;
    while (from < to) { /* the first step made since */
        uint32_t middle = from + (to - from) / 2;

        if (peaks->step[middle].number < mark)
            from = middle + 1;
        else
            to = middle;
    }
    if (n > 0 && from < peaks->n)
        *bytes = peaks->step[from].bytes;
    leave(peaks);
    return n;
}
