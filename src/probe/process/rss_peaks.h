/* probe/process/rss_peaks.h - the greatest of all readings since any moment, without keeping them
 * all. One thread adds, another asks; a forked child goes on with what its parent saw. */
#ifndef AS_PROBE_PROCESS_RSS_PEAKS_H
#define AS_PROBE_PROCESS_RSS_PEAKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define AS_RSS_PEAKS 1024

/* Readings that no later one reached, so they fall from old to new: only they can be the greatest
 * since some moment. When a fall is longer than the room, every second step of it is given up, and
 * what is told may then be lower by one step. */
struct as_rss_peaks {
    pthread_mutex_t lock;
    pid_t pid; /* whose lock it is */
    struct {
        uint64_t number, bytes;
    } step[AS_RSS_PEAKS];
    uint32_t n;
    uint64_t taken; /* readings so far */
};

bool as_rss_peaks_init(struct as_rss_peaks *peaks);
void as_rss_peaks_fini(struct as_rss_peaks *peaks);

void as_rss_peaks_add(struct as_rss_peaks *peaks, uint64_t bytes);

/* This moment: the number of the next reading. */
uint64_t as_rss_peaks_mark(struct as_rss_peaks *peaks);

/* How many readings were made since the mark, and the greatest of them; without any `bytes` is left
 * alone. */
uint64_t as_rss_peaks_since(struct as_rss_peaks *peaks, uint64_t mark, uint64_t *bytes);

#endif
