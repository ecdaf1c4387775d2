/* trace/run/run_writer.h - appends whole blocks to a run file, or leaves it as it was.
 * Allocates nothing, so it may be used where malloc may not. The caller serializes calls. */
#ifndef AS_TRACE_RUN_RUN_WRITER_H
#define AS_TRACE_RUN_RUN_WRITER_H

#include "base/error.h"
#include "trace/run/run_format.h"

struct as_run_writer {
    int fd;  /* -1: closed */
    int sys; /* errno of the first write that failed; nothing is written after it */
    uint32_t salt, next_number;
    uint64_t size_bytes;
    uint64_t events; /* in the blocks written */
};

/* Writes the file header to `fd`, which becomes the writer's. */
AS_MUST_USE int as_run_writer_open(struct as_run_writer *w, int fd,
                                   const struct as_run_header *header, struct assay_error *err);

/* Appends one block. After a failure the file ends where it did before, and false comes back for
 * good. */
bool as_run_writer_add(struct as_run_writer *w, uint16_t kind, const void *payload, size_t size,
                       uint32_t records);

/* Closes the descriptor; the file stays. */
void as_run_writer_close(struct as_run_writer *w);

#endif
