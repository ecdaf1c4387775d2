/* preload/memory_lock.c - notices that the program is about to lock all of its memory under a limit
 * (ulimit -l). All of its address space counts for that, and ours is part of it: what is known is
 * written before, and our memory is given back. */
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach.h"

#define EXPORT    __attribute__((visibility("default")))
#define NO_THREAD 2 /* links of a folder without folders in it */

typedef int (*lock_function)(int flags);

static bool is_limited(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {{0}};
    struct rlimit limit;

    if (syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return false;
    return syscall(SYS_capget, &head, has) != 0 || !(has[0].effective >> CAP_IPC_LOCK & 1);
}

/* Another thread may be counting at this moment: it must not lose the ground. */
static bool is_alone(void)
{
    struct stat st;

    return stat("/proc/self/task", &st) == 0 && st.st_nlink == NO_THREAD + 1;
}

EXPORT int mlockall(int flags)
{
    int before = errno;
    void *found;
    lock_function lock;

    if (flags & (MCL_CURRENT | MCL_FUTURE) && as_attached() && is_limited() && is_alone())
        as_let_go();
    errno = before;
    found = as_next_function("mlockall", NULL);
    if (!found)
        return (int)syscall(SYS_mlockall, flags);
    memcpy(&lock, &found, sizeof lock);
    return lock(flags);
}
