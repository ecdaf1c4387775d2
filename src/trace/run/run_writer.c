/* trace/run/run_writer.c - appends whole blocks to a run file, or leaves it as it was. */
#include "trace/run/run_writer.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/crc32c.h"
#include "trace/record/quiet_file.h"
#include "trace/run/file_limit.h"

/* Both parts at `offset`, whatever signals and short writes say. */
static bool write_parts(int fd, struct iovec *part, int n_parts, uint64_t offset)
{
    while (n_parts > 0) {
        ssize_t n = as_quiet_write(fd, part, n_parts, offset);

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return false;
        }
        offset += (uint64_t)n;
        while (n_parts > 0 && (size_t)n >= part->iov_len) {
            n -= (ssize_t)part->iov_len;
            part++;
            n_parts--;
        }
        if (n_parts > 0) {
            part->iov_base = (char *)part->iov_base + n;
            part->iov_len -= (size_t)n;
        }
    }
    return true;
}

static bool write_at(int fd, struct iovec *part, int n_parts, uint64_t offset)
{
    struct as_file_limit limit;
    bool ok;

    as_file_limit_enter(&limit);
    ok = write_parts(fd, part, n_parts, offset);
    as_file_limit_leave(&limit);
    return ok;
}

int as_run_writer_open(struct as_run_writer *w, int fd, const struct as_run_header *header,
                       struct assay_error *err)
{
    uint8_t bytes[AS_RUN_HEADER_BYTES];
    struct iovec part = {bytes, sizeof bytes};

    *w = (struct as_run_writer){.fd = fd, .salt = header->salt};
    as_run_header_pack(bytes, header);
    if (!write_at(fd, &part, 1, 0))
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot write the run file");
    w->size_bytes = sizeof bytes;
    return ASSAY_OK;
}

bool as_run_writer_add(struct as_run_writer *w, uint16_t kind, const void *payload, size_t size,
                       uint32_t records)
{
    uint8_t bytes[AS_BLOCK_BYTES];
    union {
        const void *in;
        void *out;
    } view = {.in = payload}; /* writev takes a pointer to non-const and does not write */
    struct iovec part[2] = {{bytes, sizeof bytes}, {view.out, size}};
    struct as_block_header header = {.kind = kind,
                                     .size = (uint32_t)size,
                                     .number = w->next_number,
                                     .crc = as_crc32c(0, payload, size),
                                     .records = records,
                                     .salt = w->salt};

    if (w->sys || w->fd < 0 || size > AS_BLOCK_MAX_BYTES)
        return false;
    as_block_header_pack(bytes, &header);
    if (!write_at(w->fd, part, size ? 2 : 1, w->size_bytes)) {
        w->sys = errno;
        (void)as_quiet_truncate(w->fd, w->size_bytes); /* half a block helps nobody */
        return false;
    }
    w->size_bytes += sizeof bytes + size;
    w->next_number++;
    w->events += records;
    return true;
}

void as_run_writer_close(struct as_run_writer *w)
{
    as_quiet_close(&w->fd);
}
