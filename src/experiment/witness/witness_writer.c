/* experiment/witness/witness_writer.c - writes a witness entry by entry and seals it at the end.
 * Each entry is one write, so a run that is killed leaves whole lines and at most one cut one. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file/file_open.h"
#include "base/output.h"
#include "experiment/witness/witness_check.h"

struct assay_witness {
    int fd;
    char *path;
    enum assay_witness_mask how;
    uint64_t entries;
    uint64_t bytes; /* in the file, whole lines */
    char head[ASSAY_WITNESS_HEX];
    struct as_sha256_stream file;
};

void assay_witness_abandon(struct assay_witness *witness)
{
    unsigned char digest[AS_SHA256_BYTES];

    if (!witness)
        return;
    if (witness->fd >= 0)
        close(witness->fd);
    (void)!as_sha256_end(&witness->file, digest, NULL);
    as_free(witness->path);
    as_free(witness);
}

static int make(struct assay_witness **out, const char *path, enum assay_witness_mask how,
                struct assay_error *err)
{
    struct assay_witness *w;

    if (!out || !path || (unsigned)how >= ASSAY_WITNESS_MASK_COUNT)
        return as_fail(err, ASSAY_ERR_USAGE, "a witness needs a path and a form of its masks");
    *out = NULL;
    w = as_alloc_zero(1, sizeof *w);
    if (!w)
        return as_fail_nomem(err);
    w->fd = -1;
    w->how = how;
    memcpy(w->head, as_witness_genesis, sizeof w->head);
    w->path = as_strdup(path);
    if (!w->path) {
        assay_witness_abandon(w);
        return as_fail_nomem(err);
    }
    *out = w;
    return ASSAY_OK;
}

int assay_witness_open(struct assay_witness **out, const char *path, enum assay_witness_mask how,
                       struct assay_error *err)
{
    int rc = make(out, path, how, err);

    if (rc < 0)
        return rc;
    as_sha256_begin(&(*out)->file);
    rc = as_folder_make_above(path, 0777, err);
    if (rc == ASSAY_OK) {
        struct assay_error why = {0};

        (*out)->fd = as_new_file_create(path, O_WRONLY, &why);
        if ((*out)->fd < 0) {
            errno = why.sys;
            rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot make the witness %s", path);
        }
    }
    if (rc < 0) {
        assay_witness_abandon(*out);
        *out = NULL;
    }
    return rc;
}

/* Reads what is there; takes over the hash of it. */
static int recover(struct assay_witness *w, uint64_t n_entries, struct assay_error *err)
{
    struct as_witness_check check;
    bool ended = false;
    int rc = as_witness_check_init(&check, NULL, NULL, err);

    if (rc == ASSAY_OK)
        rc = as_witness_check_fd(&check, w->fd, w->path, n_entries, &ended, err);
    if (rc == ASSAY_OK && check.report.first_bad_line)
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%.80s cannot be resumed: %.140s", w->path,
                     check.report.sentence);
    else if (rc == ASSAY_OK && check.report.entries < n_entries)
        rc = as_fail(err, ASSAY_ERR_STATE, "%.120s has %llu entries, not %llu", w->path,
                     (unsigned long long)check.report.entries, (unsigned long long)n_entries);
    if (rc == ASSAY_OK) {
        w->entries = check.report.entries;
        w->bytes = check.good_bytes;
        memcpy(w->head, check.report.head, sizeof w->head);
        w->file = check.file;
        check.file = (struct as_sha256_stream){0};
    }
    as_witness_check_fini(&check);
    return rc;
}

int assay_witness_resume(struct assay_witness **out, const char *path, enum assay_witness_mask how,
                         uint64_t n_entries, struct assay_error *err)
{
    struct assay_witness *w;
    int rc = make(out, path, how, err);

    if (rc < 0)
        return rc;
    w = *out;
    w->fd = as_open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (w->fd < 0)
        rc = as_fail_sys(err, errno == ENOENT ? ASSAY_ERR_NOTFOUND : ASSAY_ERR_IO, "cannot open %s",
                         path);
    else
        rc = recover(w, n_entries, err);
    if (rc == ASSAY_OK && (as_truncate_fd(w->fd, (off_t)w->bytes) != 0 ||
                           lseek(w->fd, (off_t)w->bytes, SEEK_SET) < 0))
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot cut %s", path);
    if (rc < 0) {
        assay_witness_abandon(w);
        *out = NULL;
    }
    return rc;
}

/* Appends a line, or leaves the file as it was. */
static int append(struct assay_witness *w, const struct as_out *line, struct assay_error *err)
{
    int rc;

    if (as_write_all(w->fd, line->buf, line->used)) {
        as_sha256_add(&w->file, line->buf, line->used);
        w->bytes += line->used;
        return ASSAY_OK;
    }
    rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", w->path);
    if (as_truncate_fd(w->fd, (off_t)w->bytes) == 0)
        (void)!lseek(w->fd, (off_t)w->bytes, SEEK_SET);
    return rc;
}

int assay_witness_add(struct assay_witness *witness, struct assay_witness_entry *entry,
                      struct assay_error *err)
{
    struct as_out line;
    int rc;

    if (!witness || !entry)
        return as_fail(err, ASSAY_ERR_USAGE, "a witness and an entry are needed");
    entry->index = witness->entries;
    memcpy(entry->prev_hash, witness->head, sizeof entry->prev_hash);
    rc = assay_witness_hash(entry, err);
    if (rc < 0)
        return rc;
    rc = as_out_memory(&line, err);
    if (rc < 0)
        return rc;
    rc = as_witness_put(entry, witness->how, &line, err);
    if (rc == ASSAY_OK)
        rc = append(witness, &line, err);
    as_out_drop(&line);
    if (rc == ASSAY_OK) {
        witness->entries++;
        memcpy(witness->head, entry->entry_hash, sizeof witness->head);
    }
    return rc;
}

int assay_witness_flush(struct assay_witness *witness, struct assay_error *err)
{
    if (!witness)
        return as_fail(err, ASSAY_ERR_USAGE, "no witness was given");
    if (as_sync_fd(witness->fd) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot put %s on the disk", witness->path);
    return ASSAY_OK;
}

void assay_witness_head(const struct assay_witness *witness, char hex[ASSAY_WITNESS_HEX])
{
    if (hex)
        memcpy(hex, witness ? witness->head : as_witness_genesis, ASSAY_WITNESS_HEX);
}

static int put_seal(struct assay_witness *w, struct assay_error *err)
{
    struct as_witness_seal seal = {.entries = w->entries};
    unsigned char digest[AS_SHA256_BYTES];
    struct as_out line;
    int rc = as_sha256_end(&w->file, digest, err);

    if (rc == ASSAY_OK)
        rc = as_out_memory(&line, err);
    if (rc < 0)
        return rc;
    memcpy(seal.head, w->head, sizeof seal.head);
    as_sha256_hex(digest, seal.file_hash);
    rc = as_witness_put_seal(&seal, &line, err);
    if (rc == ASSAY_OK)
        rc = append(w, &line, err);
    as_out_drop(&line);
    return rc;
}

int assay_witness_close(struct assay_witness *witness, struct assay_error *err)
{
    int rc;

    if (!witness)
        return ASSAY_OK;
    rc = put_seal(witness, err);
    if (rc == ASSAY_OK)
        rc = assay_witness_flush(witness, err);
    if (close(witness->fd) != 0 && rc == ASSAY_OK)
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", witness->path);
    witness->fd = -1;
    assay_witness_abandon(witness);
    return rc;
}
