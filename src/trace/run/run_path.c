/* trace/run/run_path.c - the files of a run: the run itself, its ring, the run it replaces, the
 * runs of children. */
#include "trace/run/run_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/file_open.h"
#include "base/units.h"
#include "trace/record/run_claim.h"
#include "trace/run/run_format.h"
#include "trace/run/run_old.h"

static bool fits(int n, size_t capacity)
{
    return n >= 0 && (size_t)n < capacity;
}

bool as_run_path_ring(char *out, size_t capacity, const char *path)
{
    return fits(snprintf(out, capacity, "%s.ring", path), capacity);
}

bool as_run_path_child(char *out, size_t capacity, const char *path, long pid)
{
    static const char suffix[] = ".assay";
    size_t size = strlen(path), tail = sizeof suffix - 1;

    if (size > tail && strcmp(path + size - tail, suffix) == 0)
        return fits(snprintf(out, capacity, "%.*s.%ld%s", (int)(size - tail), path, pid, suffix),
                    capacity);
    return fits(snprintf(out, capacity, "%s.%ld", path, pid), capacity);
}

bool as_run_path_is_recorded(const char *path)
{
    char ring[PATH_MAX];
    long pid;

    return as_run_path_ring(ring, sizeof ring, path) &&
           as_run_claim_is_recorded(AT_FDCWD, ring, &pid);
}

static int refuse_owner(const char *path, struct assay_error *err)
{
    return as_fail(err, ASSAY_ERR_IO,
                   "%s belongs to another user; remove it or choose another name", path);
}

/* What another user put there is no older run of ours. */
int as_run_path_check(const char *path, struct assay_error *err)
{
    struct stat st;

    if (lstat(path, &st) == 0 && st.st_uid != geteuid())
        return refuse_owner(path, err);
    return as_run_claim_check(AT_FDCWD, path, path, err);
}

bool as_run_path_absolute(char out[PATH_MAX], const char *path)
{
    char folder[PATH_MAX];

    if (path[0] == '/')
        return fits(snprintf(out, PATH_MAX, "%s", path), PATH_MAX);
    return getcwd(folder, sizeof folder) &&
           fits(snprintf(out, PATH_MAX, "%s/%s", folder, path), PATH_MAX);
}

void as_run_path_remove_alone(const char *path)
{
    char folder[PATH_MAX];
    char *slash;

    (void)unlink(path);
    if (!fits(snprintf(folder, sizeof folder, "%s", path), sizeof folder))
        return;
    slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    if (slash && slash > folder)
        (void)rmdir(folder);
}

/* Made before it is asked for; see the header. */
static struct {
    char path[PATH_MAX], temp[PATH_MAX];
    int fd;
    struct as_run_before before;
    bool published;
    int (*ask)(enum as_run_step step, struct assay_error *err);
} prepared;

int as_run_path_create(char *temp, size_t capacity, const char *path, struct assay_error *err)
{
    int fd;

    if (prepared.ask && prepared.fd >= 0 && strcmp(prepared.path, path) == 0 &&
        fits(snprintf(temp, capacity, "%s", prepared.temp), capacity)) {
        fd = prepared.fd;
        prepared.fd = -1;
        return fd;
    }
    if (strlen(path) + sizeof ".new.0123456789abcdef" > capacity)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path of the run is too long");
    do {
        as_run_claim_temporary(temp, capacity, path);
        fd = as_open_new_at(AT_FDCWD, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    } while (fd < 0 && errno == EEXIST);
    if (fd < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot create %s", path);
    return fd;
}

int as_run_path_try(const char *path, struct assay_error *err)
{
    char temp[PATH_MAX];
    int fd;

    if (prepared.ask && strcmp(prepared.path, path) == 0)
        return ASSAY_OK;
    fd = as_run_path_create(temp, sizeof temp, path, err);
    if (fd < 0)
        return fd;
    close(fd);
    unlink(temp);
    return ASSAY_OK;
}

/* Both kinds of file begin with 8 bytes of magic and 8 of numbers, then the identity of the run. */
static bool read_id(const char *path, uint8_t id[AS_RUN_ID_BYTES])
{
    int fd = as_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    bool ok = fd >= 0 && pread(fd, id, AS_RUN_ID_BYTES, 16) == AS_RUN_ID_BYTES;

    if (fd >= 0)
        close(fd);
    return ok;
}

/* Puts the ring of the older run aside. Without one, a ring of that name belongs to a still older
 * run and goes; but a program killed between this and the next step may have moved it already. */
static void keep_ring(const char *path, const char *ring, const char *old_ring)
{
    uint8_t id[AS_RUN_ID_BYTES], ring_id[AS_RUN_ID_BYTES];

    if (rename(ring, old_ring) == 0 || errno != ENOENT || !read_id(old_ring, ring_id))
        return;
    if (!read_id(path, id) || memcmp(id, ring_id, sizeof id) != 0)
        unlink(old_ring);
}

/* By its descriptor: a command that is confined changes no mode by name. */
static void set_mode(const char *path, mode_t mode)
{
    int fd = as_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return;
    (void)fchmod(fd, mode);
    close(fd);
}

/* The owner of a file we just made is who we are to this file system. */
static int check_owner(const char *temp, const struct stat *there, const char *path,
                       struct assay_error *err)
{
    struct stat st;

    if (lstat(temp, &st) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot put %s in place", path);
    if (st.st_uid != there->st_uid)
        return refuse_owner(path, err);
    if (!S_ISREG(there->st_mode))
        return as_fail(err, ASSAY_ERR_IO, "cannot write %s: it is not a regular file", path);
    return ASSAY_OK;
}

int as_run_path_publish(const char *temp, const char *path, struct assay_error *err)
{
    char ring[PATH_MAX], old[PATH_MAX], old_ring[PATH_MAX];
    bool there;
    struct stat st;
    int rc;

    if (prepared.ask && strcmp(temp, prepared.temp) == 0)
        return prepared.ask(AS_RUN_PUBLISH, err);

    if (!as_run_path_ring(ring, sizeof ring, path) ||
        !as_run_old_name(old, sizeof old, AT_FDCWD, path) ||
        !as_run_path_ring(old_ring, sizeof old_ring, old))
        return as_fail(err, ASSAY_ERR_LIMIT, "the path of the run is too long");
    there = lstat(path, &st) == 0;
    rc = there ? check_owner(temp, &st, path, err) : ASSAY_OK;
    if (rc < 0)
        return rc;
    if (there && st.st_size > 0) {
        keep_ring(path, ring, old_ring); /* there is one only when the older program was killed */
        if (rename(path, old) != 0)
            return as_fail_sys(err, ASSAY_ERR_IO, "cannot keep the older run as %s", old);
        set_mode(temp, st.st_mode & 0777); /* whoever could read it still can */
    }
    if (rename(temp, path) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot put %s in place", path);
    return ASSAY_OK;
}

void as_run_path_note(struct as_run_before *before, const char *path)
{
    struct stat st;

    *before = (struct as_run_before){0};
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        *before = (struct as_run_before){true, (uint64_t)st.st_dev, (uint64_t)st.st_ino};
}

static bool is_before(const struct as_run_before *before, const char *path)
{
    struct stat st;

    return before->there && lstat(path, &st) == 0 && (uint64_t)st.st_dev == before->device &&
           (uint64_t)st.st_ino == before->inode;
}

void as_run_path_undo(const struct as_run_before *before, const char *path)
{
    static const char *const suffix[] = {".old", ".old.2"};
    char old[PATH_MAX], ring[PATH_MAX], old_ring[PATH_MAX];

    if (prepared.ask && strcmp(path, prepared.path) == 0) {
        (void)prepared.ask(AS_RUN_UNDO, NULL);
        return;
    }
    if (is_before(before, path) || !as_run_path_ring(ring, sizeof ring, path))
        return;
    (void)unlink(path);
    (void)unlink(ring);
    for (size_t i = 0; i < AS_COUNT_OF(suffix); i++)
        if (fits(snprintf(old, sizeof old, "%s%s", path, suffix[i]), sizeof old) &&
            is_before(before, old) && as_run_path_ring(old_ring, sizeof old_ring, old)) {
            (void)rename(old_ring, ring);
            (void)rename(old, path);
            return;
        }
}

bool as_run_path_prepare(const char *path, const char **temp)
{
    prepared.fd = -1;
    if (as_run_path_check(path, NULL) < 0 ||
        !fits(snprintf(prepared.path, sizeof prepared.path, "%s", path), sizeof prepared.path))
        return false;
    as_run_path_note(&prepared.before, path);
    prepared.fd = as_run_path_create(prepared.temp, sizeof prepared.temp, path, NULL);
    *temp = prepared.temp;
    return prepared.fd >= 0;
}

void as_run_path_use(int (*ask)(enum as_run_step step, struct assay_error *err))
{
    prepared.ask = ask;
}

int as_run_path_step(enum as_run_step step, struct assay_error *err)
{
    int rc = ASSAY_OK;

    if (step == AS_RUN_PUBLISH && !prepared.published) {
        rc = as_run_path_publish(prepared.temp, prepared.path, err);
        prepared.published = rc == ASSAY_OK;
    } else if (step == AS_RUN_UNDO && prepared.published) {
        as_run_path_undo(&prepared.before, prepared.path);
    } else if (step == AS_RUN_DROP && !prepared.published) {
        (void)unlink(prepared.temp);
    }
    return rc;
}
