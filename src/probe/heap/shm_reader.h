/* probe/heap/shm_reader.h - opens the share of a watched process and reads pieces of it.
 * It is read, never mapped: a target that shortens its file must not stop whoever looks at it. */
#ifndef AS_PROBE_HEAP_SHM_READER_H
#define AS_PROBE_HEAP_SHM_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/shm/target_shm.h"

/* Checks that it is a whole share of this version. The caller closes `fd`, -1 when it failed. */
AS_MUST_USE int as_shm_open(const char *path, int *fd, struct as_shm_header *header,
                            struct assay_error *err);

/* Exactly `size` bytes from `offset` on. `path` is for the message. */
AS_MUST_USE int as_shm_read(int fd, const char *path, uint64_t offset, void *out, size_t size,
                            struct assay_error *err);

#endif
