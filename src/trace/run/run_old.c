/* trace/run/run_old.c - where an older run goes when another takes its place. */
#include "trace/run/run_old.h"

#include <fcntl.h>
#include <stdio.h>

#include "trace/record/quiet_file.h"
#include "trace/run/run_format.h"

#define MOST_BLOCKS (1u << 20) /* a run of more is taken for one without an end */

static bool read_whole(int fd, void *to, size_t size, uint64_t offset)
{
    return as_quiet_read(fd, to, size, offset) == (ssize_t)size;
}

/* Whether the run has its end: by the heads of its blocks, which are read alone. */
static bool is_complete(int folder, const char *name)
{
    int fd = as_quiet_open(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    uint8_t head[AS_RUN_HEADER_BYTES], bytes[AS_BLOCK_BYTES];
    struct as_run_header run;
    struct as_block_header block;
    uint64_t at = sizeof head;
    bool found = false;

    if (fd < 0)
        return false;
    if (read_whole(fd, head, sizeof head, 0) &&
        as_run_header_unpack(head, sizeof head, &run) == AS_HEADER_GOOD)
        for (uint32_t i = 0; !found && i < MOST_BLOCKS; i++) {
            if (!read_whole(fd, bytes, sizeof bytes, at) ||
                !as_block_header_unpack(bytes, run.salt, &block))
                break;
            found = block.kind == AS_BLOCK_END;
            at += sizeof bytes + block.size;
        }
    as_quiet_close(&fd);
    return found;
}

bool as_run_old_name(char *out, size_t capacity, int folder, const char *name)
{
    int n = snprintf(out, capacity, "%s.old", name);

    if (n < 0 || (size_t)n >= capacity)
        return false;
    if (!is_complete(folder, out) || is_complete(folder, name))
        return true;
    n = snprintf(out, capacity, "%s.old.2", name);
    return n >= 0 && (size_t)n < capacity;
}
