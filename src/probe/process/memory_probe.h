/* probe/process/memory_probe.h - reads what the kernel says of this process's memory, again and
 * again. Files stay open between samples; a child that was forked opens its own. */
#ifndef AS_PROBE_PROCESS_MEMORY_PROBE_H
#define AS_PROBE_PROCESS_MEMORY_PROBE_H

#include <assay/memory.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum as_memory_file {
    AS_MEMORY_STATM,
    AS_MEMORY_STATUS,
    AS_MEMORY_STAT,
    AS_MEMORY_ROLLUP, /* smaps_rollup: the kernel walks the page tables for it */
    AS_MEMORY_FILE_COUNT
};

/* Used by one thread at a time. Its descriptors are in the table of the program, at numbers out of
 * its way; each is compared with the file that was opened before it is read or closed, since a
 * program that closes all it finds may have a file of its own there. */
struct as_memory_reader {
    const char *root; /* borrowed; "" for the machine itself */
    pid_t pid;        /* whose files these are; 0: none was opened yet */
    struct {
        int fd; /* -1: not open */
        dev_t device;
        ino_t inode; /* with the device: that nobody closed it and opened something else */
    } file[AS_MEMORY_FILE_COUNT];
    uint64_t page_bytes;
    uint64_t total_bytes; /* of the machine or the container */
    bool total_read;
};

void as_memory_reader_init(struct as_memory_reader *reader, const char *root);
/* Closes what is still ours to close. May be called again. */
void as_memory_reader_fini(struct as_memory_reader *reader);

/* Resident bytes now, from the smallest file; ASSAY_UNKNOWN when it cannot be read. Where
 * the kernel counts pages per processor it may lag by some of them. */
uint64_t as_memory_read_rss(struct as_memory_reader *reader);

/* The same from a file that is open already, by any thread or signal handler while another one uses
 * the reader. */
uint64_t as_memory_peek_rss(const struct as_memory_reader *reader);

/* Memory of the machine, or the container's limit when that is less; read once. */
uint64_t as_memory_read_total(struct as_memory_reader *reader);

/* The kernel's peak was reset: what was read before is no longer part of it. */
void as_memory_forget_peak(void);

/* A whole reading; as assay_memory_capture(). Its peak is never lower than that of an earlier
 * reading of the process, or than resident memory that was read. */
int as_memory_read(struct as_memory_reader *reader, struct assay_memory_snapshot *out,
                   enum assay_capture how, struct assay_error *err);

/* Now by the steady clock, and as UNIX microseconds counted from one look at the wall clock. */
void as_memory_now(uint64_t *monotonic_ns, uint64_t *unix_us);

/* Every field unknown, no time. */
void as_memory_snapshot_clear(struct assay_memory_snapshot *out);

/* Parsers of the texts; they fill what is there and leave the rest as it is. */
void as_memory_parse_status(struct assay_memory_snapshot *out, const char *text);
void as_memory_parse_statm(struct assay_memory_snapshot *out, const char *text,
                           uint64_t page_bytes);
void as_memory_parse_stat(struct assay_memory_snapshot *out, const char *text);
void as_memory_parse_rollup(struct assay_memory_snapshot *out, const char *text);

/* ---- rss_peaks.c ---- */

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
    _Atomic uint64_t taken; /* samples so far */
};

bool as_rss_peaks_init(struct as_rss_peaks *peaks);
void as_rss_peaks_fini(struct as_rss_peaks *peaks);

void as_rss_peaks_add(struct as_rss_peaks *peaks, uint64_t bytes);

/* This moment: the number of the next reading. */
uint64_t as_rss_peaks_mark(const struct as_rss_peaks *peaks);

/* How many samples were made since the mark, and the greatest of them; without any `bytes` is left
 * alone. In a signal handler that interrupted this very call: none. */
uint64_t as_rss_peaks_since(struct as_rss_peaks *peaks, uint64_t mark, uint64_t *bytes);

/* ---- memory_counts.c ---- */

/* Where the calling thread stood when a span began. Held by the caller. */
struct as_memory_thread_span {
    uint64_t height, highest; /* of the thread; wrap freely, only differences mean something */
    uint64_t thread;          /* whose it is; 0: ended or never begun */
    uint32_t depth;
};

struct as_memory_thread_use {
    uint64_t peak_bytes; /* greatest height above the beginning */
    int64_t net_bytes;   /* height at the end less that at the beginning */
    const char *why;     /* NULL: exact; otherwise a static sentence, and 0 above means nothing */
};

void as_memory_span_begin(struct as_memory_thread_span *span);

/* On the thread that began it, innermost first; otherwise `why` says so. */
void as_memory_span_end(struct as_memory_thread_span *span, struct as_memory_thread_use *out);

/* The sum of all kinds of all threads now; false when the program counts nothing. */
bool as_memory_counted_total(uint64_t *out);

#endif
