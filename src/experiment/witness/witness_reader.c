/* experiment/witness/witness_reader.c - feeds the lines of a file to the check of its chain.
 * Holds one line at a time, whatever the size of the file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file/file_guard.h"
#include "base/file/file_open.h"
#include "base/file/new_file.h"
#include "experiment/witness/witness_check.h"

#define READ_BYTES ((size_t)256 * 1024)

/* Lines out of a descriptor. */
struct lines {
    struct as_buffer held;
    size_t at;      /* where the next line begins */
    size_t scanned; /* no newline stands before this */
    int fd;
    const char *name;
    bool ended;
};

static int read_more(struct lines *in, struct assay_error *err)
{
    uint8_t *to;
    ssize_t n;

    if (in->at > 0) {
        memmove(in->held.data, in->held.data + in->at, in->held.size - in->at);
        in->held.size -= in->at;
        in->scanned -= in->at;
        in->at = 0;
    }
    to = as_buffer_reserve(&in->held, READ_BYTES);
    if (!to)
        return as_fail_nomem(err);
    do
        n = read(in->fd, to, READ_BYTES);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", in->name);
    in->held.size += (size_t)n;
    in->ended = n == 0;
    return ASSAY_OK;
}

/* The next line with its newline, or what is left at the end; size 0: nothing. Past the longest
 * allowed it is given up with a size above the limit. */
static int next_line(struct lines *in, const char **text, size_t *size, struct assay_error *err)
{
    for (;;) {
        const uint8_t *from = in->held.data + in->at, *end = NULL;
        size_t left = in->held.size - in->at;
        int rc;

        if (in->held.size > in->scanned)
            end = memchr(in->held.data + in->scanned, '\n', in->held.size - in->scanned);
        if (end || in->ended || left > ASSAY_WITNESS_MAX_LINE) {
            *text = (const char *)from;
            *size = end ? (size_t)(end - from) + 1 : left;
            in->at += *size;
            in->scanned = in->at;
            return ASSAY_OK;
        }
        in->scanned = in->held.size;
        rc = read_more(in, err);
        if (rc < 0)
            return rc;
    }
}

int as_witness_check_fd(struct as_witness_check *check, int fd, const char *name,
                        uint64_t n_entries, bool *ended, struct assay_error *err)
{
    struct lines in = {.fd = fd, .name = name};
    int rc = ASSAY_OK;

    *ended = false;
    /* Something to point at, also for an empty file. */
    if (!as_buffer_reserve(&in.held, READ_BYTES))
        rc = as_fail_nomem(err);
    while (rc == ASSAY_OK && !check->report.first_bad_line && check->report.entries < n_entries) {
        const char *text = NULL;
        size_t size = 0;

        rc = next_line(&in, &text, &size, err);
        if (rc < 0)
            break;
        if (size == 0) {
            *ended = true;
            break;
        }
        if (size > ASSAY_WITNESS_MAX_LINE)
            as_witness_check_too_long(check);
        else
            rc = as_witness_check_line(check, text, size, err);
    }
    as_buffer_fini(&in.held);
    return rc;
}

int assay_witness_verify(const char *path, assay_witness_seen seen, void *user,
                         struct assay_witness_report *report, struct assay_error *err)
{
    struct as_witness_check check;
    struct stat st;
    bool ended;
    int fd, rc;

    if (!path || !report)
        return as_fail(err, ASSAY_ERR_USAGE, "a witness to verify needs a path and a report");
    *report = (struct assay_witness_report){.size = sizeof *report};
    fd = as_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
    as_guard_input(fd);
    if (fd < 0)
        return as_fail_sys(err, errno == ENOENT ? ASSAY_ERR_NOTFOUND : ASSAY_ERR_IO,
                           "cannot open %s", path);
    rc = as_witness_check_init(&check, seen, user, err);
    if (rc == ASSAY_OK && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
        rc = as_fail(err, ASSAY_ERR_IO, "%s is not a regular file", path);
    if (rc == ASSAY_OK)
        rc = as_witness_check_fd(&check, fd, path, UINT64_MAX, &ended, err);
    as_witness_check_end(&check);
    *report = check.report;
    as_witness_check_fini(&check);
    close(fd);
    return rc;
}
