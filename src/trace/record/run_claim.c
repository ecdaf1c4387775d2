/* trace/record/run_claim.c - takes the path of a run for one recorder, however many want it at
 * once.
 */
#include "trace/record/run_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/record/ring.h"
#include "trace/run/run_old.h"
#include "trace/run/run_path.h"

#define MOST_TRIES 1000 /* at a name that comes and goes */
#define MOST_NAMES 1000
#define RUN_MODE   0600
#define RING_MODE  0600 /* while it is made; see guest.c */

/* Both kinds of file begin with 8 bytes of magic and 8 of numbers, then the identity of the run. */
#define ID_OFFSET 16

/* ---- what stands there ---- */

static bool read_run_id(int folder, const char *name, uint8_t id[AS_RUN_ID_BYTES])
{
    int fd = as_quiet_open(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    bool ok = fd >= 0 && as_quiet_read(fd, id, AS_RUN_ID_BYTES, ID_OFFSET) == AS_RUN_ID_BYTES;

    as_quiet_close(&fd);
    return ok;
}

/* Two files of one run: a ring and what it stands beside. */
static bool belong_together(int folder, const char *a, const char *b)
{
    uint8_t id[AS_RUN_ID_BYTES], other[AS_RUN_ID_BYTES];

    return read_run_id(folder, a, id) && read_run_id(folder, b, other) &&
           memcmp(id, other, sizeof id) == 0;
}

bool as_run_claim_is_recorded(int folder, const char *ring, long *pid)
{
    int fd = as_quiet_open(folder, ring, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    bool live = fd >= 0 && as_ring_is_recorded(fd, pid);

    as_quiet_close(&fd);
    return live;
}

static int refuse_live(const char *shown, long pid, struct assay_error *err)
{
    if (pid > 0)
        return as_fail(err, ASSAY_ERR_STATE, "process %ld is recording into %s", pid, shown);
    return as_fail(err, ASSAY_ERR_STATE, "another process is recording into %s", shown);
}

static int check_older(int folder, const char *name, const struct as_file_id *id, const char *shown,
                       struct assay_error *err)
{
    char magic[8] = {0};
    ssize_t n;
    int fd;

    if (S_ISLNK(id->mode))
        return as_fail(err, ASSAY_ERR_IO, "cannot record into %s: it is a symbolic link", shown);
    if (!S_ISREG(id->mode))
        return as_fail(err, ASSAY_ERR_IO, "cannot record into %s: it is not a regular file", shown);
    fd = as_quiet_open(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    n = fd < 0 ? -1 : as_quiet_read(fd, magic, sizeof magic, 0);
    as_quiet_close(&fd);
    if (n < 0 && errno == ENOENT)
        return ASSAY_OK; /* put aside by another that has the path meanwhile, as its lock will tell
                          */
    if (n < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot read the older %s", shown);
    if (n > 0 && (n < 8 || memcmp(magic, AS_RUN_MAGIC, 8) != 0))
        return as_fail(err, ASSAY_ERR_IO,
                       "%s exists and is not a run file; remove it or choose another name", shown);
    return ASSAY_OK;
}

int as_run_claim_check(int folder, const char *name, const char *shown, struct assay_error *err)
{
    char ring[PATH_MAX];
    struct as_file_id id;
    long pid;
    int rc;

    if (!as_quiet_identify_at(folder, name, &id)) {
        if (errno == ENOENT)
            return ASSAY_OK;
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot record into %s", shown);
    }
    rc = check_older(folder, name, &id, shown, err);
    if (rc == ASSAY_OK && as_run_path_ring(ring, sizeof ring, name) &&
        as_run_claim_is_recorded(folder, ring, &pid))
        return refuse_live(shown, pid, err);
    return rc;
}

/* ---- making ---- */

void as_run_claim_temporary(char *out, size_t capacity, const char *name)
{
    const int most = 200; /* of a name; a path is as long as it is */
    const char *slash = strrchr(name, '/');
    size_t above = slash ? (size_t)(slash - name) + 1 : 0;

    (void)snprintf(out, capacity, "%.*s%.*s.new.%016" PRIx64, (int)above, name, most, name + above,
                   as_quiet_random());
}

static int create(const struct as_run_claim *c, const char *name, char temp[NAME_MAX + 1],
                  mode_t mode)
{
    int fd = -1;

    for (int i = 0; i < MOST_TRIES; i++) {
        as_run_claim_temporary(temp, NAME_MAX + 1, name);
        fd = as_quiet_open(c->folder, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    if (fd < 0)
        temp[0] = '\0';
    else
        (void)as_quiet_chmod(fd, mode); /* whatever the mask of the program is */
    return fd;
}

/* A name with every suffix it may get. */
static bool set_names(struct as_run_claim *c, const char *name)
{
    char old[NAME_MAX + 1];

    return *name && snprintf(c->run, sizeof c->run, "%s", name) < (int)sizeof c->run &&
           as_run_path_ring(c->ring, sizeof c->ring, name) &&
           snprintf(old, sizeof old, "%s.old.2.ring", name) < (int)sizeof old;
}

int as_run_claim_open(struct as_run_claim *c, const char *path, const char *shown,
                      struct assay_error *err)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX] = ".";

    *c = AS_RUN_CLAIM_NONE;
    c->path = shown;
    if (slash && (size_t)(slash - path) < sizeof folder - 1) {
        memcpy(folder, path, (size_t)(slash - path));
        folder[slash - path] = '\0';
        if (slash == path)
            memcpy(folder, "/", 2);
    }
    if (!set_names(c, slash ? slash + 1 : path))
        return as_fail(err, ASSAY_ERR_LIMIT, "the name of the run is empty or too long: %s", shown);
    c->folder = as_quiet_open(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0);
    c->run_fd = c->folder < 0 ? -1 : create(c, c->run, c->temp_run, RUN_MODE);
    c->ring_fd = c->run_fd < 0 ? -1 : create(c, c->ring, c->temp_ring, RING_MODE);
    if (c->ring_fd < 0 || !as_quiet_identify(c->run_fd, &c->run_id) ||
        !as_quiet_identify(c->ring_fd, &c->ring_id))
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot create %s", shown);
    (void)as_quiet_lock(c->ring_fd); /* refused only where nothing can be locked */
    return ASSAY_OK;
}

/* ---- taking the name ---- */

static int fail_in_place(const struct as_run_claim *c, struct assay_error *err)
{
    return as_fail_sys(err, ASSAY_ERR_IO, "cannot put %s in place", c->path);
}

/* What another user put there is neither kept as an older run nor allowed to say who may read
 * ours. The owner of a file we just made is who we are to this file system. */
static int check_owner(const struct as_run_claim *c, const char *name, struct assay_error *err)
{
    struct as_file_id id;

    if (!as_quiet_identify_at(c->folder, name, &id) || id.uid == c->run_id.uid)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_IO,
                   "%s%s belongs to another user; remove it or choose another name", c->path,
                   name == c->ring ? ".ring" : "");
}

static bool is_ring(const struct as_run_claim *c, int fd)
{
    struct as_file_id id;
    char magic[8];

    return as_quiet_identify(fd, &id) && S_ISREG(id.mode) && id.uid == c->run_id.uid &&
           (id.size_bytes == 0 ||
            (as_quiet_read(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
             memcmp(magic, AS_RING_MAGIC, sizeof magic) == 0));
}

/* Opens the ring that is there for locking. Its file may be made read-only, as ours are: an owner
 * changes that, once it is known that nobody records into it. */
static int open_for_lock(const struct as_run_claim *c, long *pid)
{
    int fd = as_quiet_open(c->folder, c->ring, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

    if (fd < 0)
        return fd;
    if (!is_ring(c, fd)) {
        as_quiet_close(&fd);
        errno = EEXIST;
        return -1;
    }
    if (as_ring_is_recorded(fd, pid)) {
        as_quiet_close(&fd);
        errno = EAGAIN;
        return -1;
    }
    (void)as_quiet_chmod(fd, RING_MODE);
    as_quiet_close(&fd);
    return as_quiet_open(c->folder, c->ring, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
}

/* Gives the ring of an older run a second name beside the run that is about to be put aside. */
static bool keep_ring(const struct as_run_claim *c, const char *old_ring)
{
    char temp[NAME_MAX + 1];

    if (!belong_together(c->folder, c->ring, c->run))
        return true; /* of a process that was killed while it opened: it holds nothing */
    as_run_claim_temporary(temp, sizeof temp, c->ring);
    if (as_quiet_link(c->folder, c->ring, temp))
        return as_quiet_rename(c->folder, temp, old_ring, false);
    /* No links here: another may come in between and win. */
    return as_quiet_rename(c->folder, c->ring, old_ring, false);
}

enum outcome { TAKEN, AGAIN, REFUSED };

/* Puts our ring in the place of one whose program has ended. */
static enum outcome replace_dead(struct as_run_claim *c, const char *old_ring, int *rc,
                                 struct assay_error *err)
{
    struct as_file_id id, there;
    enum outcome outcome = AGAIN;
    long pid = 0;
    int fd = open_for_lock(c, &pid);

    if (fd < 0 && errno == ENOENT)
        return AGAIN;
    if (fd < 0 && errno == EEXIST) {
        *rc =
            as_fail(err, ASSAY_ERR_IO,
                    "%s.ring exists and is not a ring; remove it or choose another name", c->path);
        return REFUSED;
    }
    if (fd < 0 && errno != EAGAIN) {
        *rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot replace the older ring of %s", c->path);
        return REFUSED;
    }
    if (fd < 0 || (!as_quiet_lock(fd) && (errno == EAGAIN || errno == EACCES))) {
        *rc = refuse_live(c->path, pid, err);
        outcome = REFUSED;
    } else if (as_quiet_identify(fd, &id) && as_quiet_identify_at(c->folder, c->ring, &there) &&
               as_file_is_same(&id, &there)) {
        outcome = TAKEN;
        if (!keep_ring(c, old_ring) || !as_quiet_rename(c->folder, c->temp_ring, c->ring, false)) {
            *rc = fail_in_place(c, err);
            outcome = REFUSED;
        }
    }
    as_quiet_close(&fd);
    return outcome;
}

static int take_ring(struct as_run_claim *c, const char *old_ring, struct assay_error *err)
{
    int rc = ASSAY_OK;

    for (int i = 0; i < MOST_TRIES; i++) {
        enum outcome outcome = TAKEN;

        if (!as_quiet_rename(c->folder, c->temp_ring, c->ring, true)) {
            if (errno != EEXIST)
                return fail_in_place(c, err);
            outcome = replace_dead(c, old_ring, &rc, err);
        }
        if (outcome == REFUSED)
            return rc;
        if (outcome == TAKEN) {
            c->temp_ring[0] = '\0';
            c->has_ring = true;
            return ASSAY_OK;
        }
    }
    return refuse_live(c->path, 0, err);
}

/* Puts the older run aside; the path is ours. */
static int put_aside(const struct as_run_claim *c, const char *old, const char *old_ring,
                     struct assay_error *err)
{
    struct as_file_id id, ring;
    int rc;

    if (!as_quiet_identify_at(c->folder, c->run, &id))
        return ASSAY_OK;
    rc = check_older(c->folder, c->run, &id, c->path, err);
    if (rc == ASSAY_OK)
        rc = check_owner(c, c->run, err);
    if (rc < 0 || id.size_bytes == 0)
        return rc;
    (void)as_quiet_chmod(c->run_fd, id.mode & 0777);
    /* The ring of a run put aside earlier must not be taken for this one's. */
    if (as_quiet_identify_at(c->folder, old_ring, &ring) &&
        !belong_together(c->folder, c->run, old_ring))
        (void)as_quiet_remove(c->folder, old_ring, &ring);
    if (!as_quiet_rename(c->folder, c->run, old, false))
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot keep the older run %s", c->path);
    return ASSAY_OK;
}

int as_run_claim_publish(struct as_run_claim *c, struct assay_error *err)
{
    char old[NAME_MAX + 1], old_ring[NAME_MAX + 1];
    int rc = as_run_claim_check(c->folder, c->run, c->path, err);

    if (rc == ASSAY_OK)
        rc = check_owner(c, c->run, err);
    if (rc == ASSAY_OK)
        rc = check_owner(c, c->ring, err);
    if (rc < 0)
        return rc;
    if (!as_run_old_name(old, sizeof old, c->folder, c->run) ||
        !as_run_path_ring(old_ring, sizeof old_ring, old))
        return as_fail(err, ASSAY_ERR_LIMIT, "the path of the run is too long");
    rc = take_ring(c, old_ring, err);
    if (rc == ASSAY_OK)
        rc = put_aside(c, old, old_ring, err);
    if (rc < 0)
        return rc;
    if (!as_quiet_rename(c->folder, c->temp_run, c->run, false))
        return fail_in_place(c, err);
    c->temp_run[0] = '\0';
    return ASSAY_OK;
}

/* Both names, or neither. False with EEXIST when one is taken. */
static bool take_free(struct as_run_claim *c)
{
    int why;

    if (!as_quiet_rename(c->folder, c->temp_ring, c->ring, true))
        return false;
    if (as_quiet_rename(c->folder, c->temp_run, c->run, true)) {
        c->temp_run[0] = c->temp_ring[0] = '\0';
        c->has_ring = true;
        return true;
    }
    why = errno;
    (void)as_quiet_rename(c->folder, c->ring, c->temp_ring, false);
    errno = why;
    return false;
}

int as_run_claim_publish_free(struct as_run_claim *c, struct assay_error *err)
{
    char first[NAME_MAX + 1], next[NAME_MAX + 1];

    memcpy(first, c->run, sizeof first);
    for (long i = 2; !take_free(c); i++) {
        if (errno != EEXIST || i > MOST_NAMES)
            return fail_in_place(c, err);
        if (!as_run_path_child(next, sizeof next, first, i) || !set_names(c, next))
            return as_fail(err, ASSAY_ERR_LIMIT, "the path of the run is too long");
    }
    return ASSAY_OK;
}

/* ---- ending ---- */

bool as_run_claim_finish(const struct as_run_claim *c, bool keeps_ring)
{
    struct as_file_id there;
    bool in_place =
        as_quiet_identify_at(c->folder, c->run, &there) && as_file_is_same(&there, &c->run_id);

    /* Never shortened: a thread in the middle of a mark may still store into its mapping. */
    if (!keeps_ring)
        (void)as_quiet_remove(c->folder, c->ring, &c->ring_id);
    return in_place;
}

void as_run_claim_drop(struct as_run_claim *c)
{
    if (c->folder >= 0) {
        if (c->temp_run[0])
            (void)as_quiet_remove(c->folder, c->temp_run, &c->run_id);
        if (c->temp_ring[0])
            (void)as_quiet_remove(c->folder, c->temp_ring, &c->ring_id);
        if (c->has_ring)
            (void)as_quiet_remove(c->folder, c->ring, &c->ring_id);
    }
    as_quiet_close(&c->run_fd);
    as_quiet_close(&c->ring_fd); /* last of the files: its lock protects the names */
    as_quiet_close(&c->folder);
}
