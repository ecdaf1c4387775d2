/* base/file/temporaries.c - names that must go when a signal ends the program.
 * A table of fixed size that a signal handler can read: the one place where it can find them. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file/file_open.h"
#include "base/file/new_file.h"
#include "base/units.h"

enum { FREE, BEING_FILLED, HELD };

struct as_temporary {
    atomic_int state;
    pid_t owner; /* a child that was forked has the table, not the files */
    int folder;
    bool is_folder;
    char name[AS_TEMPORARY_PATH];
};

static struct as_temporary table[64];

static struct as_temporary *add(int folder, const char *name, bool is_folder)
{
    for (size_t i = 0; i < AS_COUNT_OF(table); i++) {
        struct as_temporary *t = &table[i];
        int none = FREE;

        if (!atomic_compare_exchange_strong(&t->state, &none, BEING_FILLED))
            continue;
        t->owner = getpid();
        t->folder = folder;
        t->is_folder = is_folder;
        (void)snprintf(t->name, sizeof t->name, "%s", name);
        atomic_store(&t->state, HELD);
        return t;
    }
    return NULL;
}

struct as_temporary *as_temporary_add(int folder, const char *name)
{
    return add(folder, name, false);
}

void as_temporary_forget(struct as_temporary *temporary)
{
    if (temporary)
        atomic_store(&temporary->state, FREE);
}

/* What the kernel writes of each entry of a folder. */
struct entry {
    uint64_t inode;
    int64_t next;
    unsigned short size;
    unsigned char kind;
    char name[];
};

/* The files of a folder, by system calls alone: readdir() may allocate. */
static void empty_folder(int fd)
{
    _Alignas(struct entry) char list[4096];
    long n;

    while ((n = syscall(SYS_getdents64, fd, list, sizeof list)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(const void *)(list + at);

            (void)unlinkat(fd, e->name, 0); /* "." and ".." are folders, and stay */
            at += e->size;
        }
}

static void remove_folder(const char *path)
{
    int fd = as_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

    if (fd >= 0) {
        empty_folder(fd);
        (void)close(fd);
    }
    (void)unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

void as_temporaries_remove(void)
{
    pid_t self = getpid();
    int saved = errno;

    for (size_t i = 0; i < AS_COUNT_OF(table); i++) {
        const struct as_temporary *t = &table[i];

        if (atomic_load(&t->state) != HELD || t->owner != self)
            continue;
        if (t->is_folder)
            remove_folder(t->name);
        else
            (void)unlinkat(t->folder, t->name, 0);
    }
    errno = saved;
}

static int make_folder(struct as_temporary **folder, char path[AS_TEMPORARY_PATH],
                       struct assay_error *err)
{
    *folder = NULL;
    (void)snprintf(path, AS_TEMPORARY_PATH, "/tmp/assay-XXXXXX");
    if (!mkdtemp(path)) {
        path[0] = '\0';
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot make a temporary folder in /tmp");
    }
    *folder = add(AT_FDCWD, path, true);
    if (*folder)
        return ASSAY_OK;
    (void)rmdir(path);
    path[0] = '\0';
    return as_fail(err, ASSAY_ERR_LIMIT, "there are too many temporary files");
}

/* Made before it is asked for; NULL: none. */
static _Atomic(struct as_temporary *) ready;

int as_temporary_folder_prepare(char path[AS_TEMPORARY_PATH], struct assay_error *err)
{
    struct as_temporary *folder;
    int rc = make_folder(&folder, path, err);

    if (rc == ASSAY_OK)
        atomic_store(&ready, folder);
    return rc;
}

int as_temporary_folder_make(struct as_temporary **folder, char path[AS_TEMPORARY_PATH],
                             struct assay_error *err)
{
    *folder = atomic_exchange(&ready, NULL);
    if (!*folder)
        return make_folder(folder, path, err);
    (void)snprintf(path, AS_TEMPORARY_PATH, "%s", (*folder)->name);
    return ASSAY_OK;
}

void as_temporary_folder_clean(const char *path)
{
    remove_folder(path);
}

void as_temporary_folder_remove(struct as_temporary *folder)
{
    if (folder)
        remove_folder(folder->name);
    as_temporary_forget(folder);
}
