/* probe/process/memory_probe.h - reads what the kernel says of this process's memory, again and
 * again. Files stay open between readings; a child that was forked opens its own. */
#ifndef AS_PROBE_PROCESS_MEMORY_PROBE_H
#define AS_PROBE_PROCESS_MEMORY_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <assay/memory.h>

#include "base/error.h"

enum as_memory_file {
    AS_MEMORY_STATM,
    AS_MEMORY_STATUS,
    AS_MEMORY_STAT,
    AS_MEMORY_ROLLUP, /* smaps_rollup: the kernel walks the page tables for it */
    AS_MEMORY_FILE_COUNT
};

/* Used by one thread at a time. */
struct as_memory_reader {
    const char *root; /* borrowed; "" for the machine itself */
    pid_t pid;        /* whose files these are; 0: none was opened yet */
    struct {
        int fd; /* -1: not open */
        dev_t device;
        ino_t inode; /* with the device: that nobody closed it and opened something else */
    } file[AS_MEMORY_FILE_COUNT];
    uint64_t total_bytes; /* of the machine or the container */
    bool total_read;
};

void as_memory_reader_init(struct as_memory_reader *reader, const char *root);
/* Closes what is still ours to close. May be called again. */
void as_memory_reader_fini(struct as_memory_reader *reader);

/* Resident bytes now, from the smallest file; ASSAY_MEMORY_UNKNOWN when it cannot be read. Where
 * the kernel counts pages per processor it may lag by some of them. */
uint64_t as_memory_read_rss(struct as_memory_reader *reader);

/* Memory of the machine, or the container's limit when that is less; read once. */
uint64_t as_memory_read_total(struct as_memory_reader *reader);

/* A whole reading; as assay_capture_memory(). */
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

#endif
