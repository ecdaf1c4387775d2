/* format/mapped_file.c - a file of somebody else's in memory, read-only. */
#include "format/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file/file_guard.h"
#include "base/file/file_open.h"
#include "base/file/new_file.h"
#include "base/text/utf8.h"
#include "base/units.h"

static const char *kind_of(mode_t mode)
{
    static const struct {
        mode_t mode;
        const char *name;
    } kinds[] = {
        {S_IFDIR, "a directory"},    {S_IFIFO, "a FIFO"},    {S_IFCHR, "a device"},
        {S_IFBLK, "a block device"}, {S_IFSOCK, "a socket"},
    };

    for (size_t i = 0; i < AS_COUNT_OF(kinds); i++)
        if ((mode & S_IFMT) == kinds[i].mode)
            return kinds[i].name;
    return "no regular file";
}

/* What is worth mapping: nothing, the weights of a model, or all when it has no form of its own. */
enum content { WHOLE, MODEL, WEIGHTS };

/* Takes what `fd` is open on into memory. */
static int take(struct as_mapped_file *file, int fd, uint64_t size, enum content content,
                const char *path, struct assay_error *err)
{
    struct as_file_spans large = {0};
    bool fits = true;
    int rc;

    file->size = size;
    file->path = path;
    as_guard_input(fd);
    if (content != WHOLE && as_file_map_wants_ranges(size))
        fits = as_weight_ranges(&large, fd, size);
    if (fits && content == WEIGHTS && large.n == 0)
        fits = as_file_spans_add(&large, 0, size);
    if (!fits) {
        as_file_spans_fini(&large);
        return as_fail_nomem(err);
    }
    rc = as_file_map_open(&file->map, fd, size, &large, path, err);
    file->bytes = file->map.bytes;
    return rc;
}

static int open_file(struct as_mapped_file *file, const char *path, enum content content,
                     struct assay_error *err)
{
    struct stat st;
    int fd, rc;

    *file = (struct as_mapped_file){.path = path};
    /* O_NONBLOCK: a FIFO without a writer must not make us wait. */
    fd = as_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return as_fail_sys(err, errno == ENOENT ? ASSAY_ERR_NOTFOUND : ASSAY_ERR_IO,
                           "cannot open %s", path);
    if (fstat(fd, &st) != 0)
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot look at %s", path);
    else if (!S_ISREG(st.st_mode))
        rc = as_fail(err, ASSAY_ERR_IO, "%s is %s, not a model file", path, kind_of(st.st_mode));
    else
        rc = take(file, fd, (uint64_t)st.st_size, content, path, err);
    close(fd);
    return rc;
}

int as_mapped_file_open(struct as_mapped_file *file, const char *path, struct assay_error *err)
{
    return open_file(file, path, WHOLE, err);
}

int as_mapped_file_open_model(struct as_mapped_file *file, const char *path,
                              struct assay_error *err)
{
    return open_file(file, path, MODEL, err);
}

/* The name in a form that may stand in a message; made once, in memory of its own. */
struct shown {
    struct as_out out;
    const char *text;
};

static int show(struct shown *s, const char *name, size_t size, struct assay_error *err)
{
    int rc = as_out_memory(&s->out, err);

    if (rc < 0)
        return rc;
    as_utf8_put_safe(&s->out, name, size < 100 ? size : 100);
    s->text = as_out_get(&s->out, NULL);
    return ASSAY_OK;
}

static bool has_parent_part(const char *name, size_t size)
{
    for (size_t at = 0; at < size;) {
        const char *slash = memchr(name + at, '/', size - at);
        size_t end = slash ? (size_t)(slash - name) : size;

        if (end - at == 2 && name[at] == '.' && name[at + 1] == '.')
            return true;
        at = end + 1;
    }
    return false;
}

/* What the name alone tells; what it leads to is the kernel's to judge. */
static int check_name(const char *name, size_t size, const char *shown, struct assay_error *err)
{
    if (size == 0)
        return as_fail(err, ASSAY_ERR_FORMAT, "the model names an external file without a name");
    if (size >= PATH_MAX)
        return as_fail(err, ASSAY_ERR_FORMAT,
                       "the model names an external file '%s...' of %zu bytes", shown, size);
    if (memchr(name, 0, size))
        return as_fail(err, ASSAY_ERR_FORMAT,
                       "the model names an external file '%s' with a NUL in it", shown);
    if (name[0] == '/')
        return as_fail(err, ASSAY_ERR_FORMAT,
                       "the model names an external file by an absolute path, '%s': refused",
                       shown);
    if (has_parent_part(name, size))
        return as_fail(err, ASSAY_ERR_FORMAT,
                       "the model names an external file with '..' in its path, '%s': refused",
                       shown);
    return ASSAY_OK;
}

static int open_folder(const char *model_path, struct assay_error *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(model_path, '/');
    size_t size = slash ? (size_t)(slash - model_path) + 1 : 0;
    int fd;

    if (size >= sizeof folder)
        return as_fail(err, ASSAY_ERR_LIMIT, "path too long: %.80s...", model_path);
    memcpy(folder, slash ? model_path : ".", slash ? size : 1);
    folder[slash ? size : 1] = '\0';
    fd = as_open(folder, O_PATH | O_DIRECTORY);
    if (fd < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot open folder %s", folder);
    return fd;
}

static int open_beneath(int folder, const char *name, size_t size, uint64_t flags,
                        const char *shown, struct assay_error *err)
{
    struct open_how how = {.flags = flags | O_CLOEXEC,
                           .resolve =
                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    char path[PATH_MAX];
    long fd = -1;

    memcpy(path, name, size);
    path[size] = '\0';
    errno = EAGAIN; /* what the kernel says when somebody renames folders meanwhile */
    for (int tries = 0; fd < 0 && (errno == EINTR || errno == EAGAIN) && tries < 32; tries++)
        fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (fd >= 0)
        return (int)fd;
    if (errno == ENOSYS)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "the external file '%s' is not opened: this kernel has no openat2, which "
                       "keeps names within the model's folder",
                       shown);
    if (errno == ELOOP)
        return as_fail(err, ASSAY_ERR_FORMAT,
                       "the external file '%s' is or goes through a symbolic link: refused", shown);
    if (errno == EXDEV)
        return as_fail(err, ASSAY_ERR_FORMAT,
                       "the external file '%s' is outside the model's folder: refused", shown);
    return as_fail_sys(err, errno == ENOENT ? ASSAY_ERR_NOTFOUND : ASSAY_ERR_IO,
                       "cannot open the external file '%s'", shown);
}

/* A second name of a file could lead out of the folder without being a link. */
static int check_file(const struct stat *st, const char *shown, struct assay_error *err)
{
    if (!S_ISREG(st->st_mode))
        return as_fail(err, ASSAY_ERR_FORMAT, "the external file '%s' is %s: refused", shown,
                       kind_of(st->st_mode));
    if (st->st_nlink > 1)
        return as_fail(err, ASSAY_ERR_FORMAT,
                       "the external file '%s' has %llu names (hard links): refused", shown,
                       (unsigned long long)st->st_nlink);
    return ASSAY_OK;
}

/* Looked at before it is opened, which may not be allowed of what is no file. */
static int look_beneath(int folder, const char *name, size_t size, const char *shown,
                        struct assay_error *err)
{
    int fd = open_beneath(folder, name, size, O_PATH, shown, err), rc = fd < 0 ? fd : ASSAY_OK;
    struct stat st;

    if (rc == ASSAY_OK && fstat(fd, &st) == 0)
        rc = check_file(&st, shown, err);
    if (fd >= 0)
        close(fd);
    return rc;
}

int as_mapped_file_open_beside(struct as_mapped_file *file, const char *model_path,
                               const char *name, size_t size, struct assay_error *err)
{
    struct shown s = {.out = {.fd = -1}};
    int folder = -1, fd = -1, rc;
    struct stat st;

    *file = (struct as_mapped_file){.path = model_path};
    rc = show(&s, name, size, err);
    if (rc == ASSAY_OK)
        rc = check_name(name, size, s.text, err);
    if (rc < 0)
        goto out;
    folder = rc = open_folder(model_path, err);
    if (rc < 0)
        goto out;
    rc = look_beneath(folder, name, size, s.text, err);
    if (rc < 0)
        goto out;
    fd = rc = open_beneath(folder, name, size, O_RDONLY | O_NONBLOCK | O_NOCTTY, s.text, err);
    if (rc < 0)
        goto out;
    if (fstat(fd, &st) != 0)
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot look at the external file '%s'", s.text);
    else
        rc = check_file(&st, s.text, err);
    if (rc == ASSAY_OK)
        rc = take(file, fd, (uint64_t)st.st_size, WEIGHTS, s.text, err);
    file->path = model_path;
out:
    if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
    as_out_drop(&s.out);
    return rc;
}

void as_mapped_file_let_go_part(const struct as_mapped_file *file, const uint8_t *at, uint64_t size)
{
    uintptr_t begin = (uintptr_t)file->bytes, from = (uintptr_t)at;

    if (!file->map.bytes || from < begin || from - begin > file->size ||
        size > file->size - (from - begin))
        return;
    as_file_map_let_go(&file->map, from - begin, size);
}

void as_mapped_file_close(struct as_mapped_file *file)
{
    as_file_map_close(&file->map);
    *file = (struct as_mapped_file){0};
}
