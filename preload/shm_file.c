/* preload/shm_file.c - makes the file of a process and puts it into its memory.
 * No descriptor stays open, nothing is allocated, and errno is the caller's to keep. */
#include "shm_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define MAX_PROGRAMS 10000 /* that one process becomes */

/* A limit on the address space is the program's, not ours. */
static bool is_allowed(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < AS_SHM_BYTES)
        return false; /* the program would be sent SIGXFSZ */
    return getrlimit(RLIMIT_AS, &limit) == 0 &&
           limit.rlim_cur / AS_SHM_LIMIT_PART >= AS_SHM_FIRST_BYTES;
}

static int name_file(char *path, size_t capacity, const char *folder, unsigned program)
{
    long pid = (long)getpid();

    if (program == 0)
        return snprintf(path, capacity, "%s/%ld.share", folder, pid);
    return snprintf(path, capacity, "%s/%ld.%u.share", folder, pid, program);
}

/* A descriptor of a new file of full size, or -1. */
static int new_file(const char *folder)
{
    char path[PATH_MAX];
    int fd = -1;

    for (unsigned program = 0; fd < 0 && program < MAX_PROGRAMS; program++) {
        int size = name_file(path, sizeof path, folder, program);

        if (size < 0 || size >= (int)sizeof path)
            return -1;
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    if (fd >= 0 && ftruncate(fd, (off_t)AS_SHM_BYTES) != 0) {
        unlink(path);
        close(fd);
        return -1;
    }
    return fd;
}

static void *map_file(int fd, void *at)
{
    const size_t bytes = AS_SHM_FIRST_BYTES;
    int fixed = at ? MAP_FIXED : 0;
    void *mapped =
        mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | fixed, fd, 0);

    if (mapped == MAP_FAILED)
        return NULL;
    (void)madvise(mapped, bytes, MADV_DONTDUMP);
    return mapped;
}

struct as_shm_header *as_shm_file_make(const char *folder)
{
    void *mapped = NULL;
    int fd;

    if (!is_allowed() || folder[0] != '/')
        return NULL;
    fd = new_file(folder);
    if (fd < 0)
        return NULL;
    mapped = map_file(fd, NULL);
    close(fd);
    if (mapped && !as_shm_file_touch(mapped, sizeof(struct as_shm_header))) {
        munmap(mapped, AS_SHM_FIRST_BYTES);
        mapped = NULL;
    }
    return mapped;
}

void as_shm_file_forget(struct as_shm_header *shm)
{
    (void)mmap(shm, AS_SHM_FIRST_BYTES, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool as_shm_file_fork(const char *folder, struct as_shm_header *shm)
{
    int fd = new_file(folder);
    bool made = fd >= 0 && map_file(fd, shm) != NULL && as_shm_file_touch(shm, sizeof *shm);

    if (fd >= 0)
        close(fd);
    if (!made)
        as_shm_file_forget(shm);
    return made;
}

bool as_shm_file_touch(const void *at, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)at & ~(page - 1),
              end = ((uintptr_t)at + bytes + page - 1) & ~(page - 1);
    int before = errno;
    bool there;

    /* A kernel that does not know the question (before 5.14) leaves us to hope. */
    there = madvise((void *)start, end - start, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
    errno = before;
    return there;
}
