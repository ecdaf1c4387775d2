/* tests/torture/calls.c - put before libc by LD_PRELOAD: one table of the calls that reach the
 * kernel, any of which fails on request.
 *
 *   TORTURE_PROGRAM=NAME     acts only in programs of that file name
 *   TORTURE_COUNT=FILE       at the end: one line per call that was made, "name times"
 *   TORTURE_FAIL=CALL:N:WHAT the N-th such call (from 1 on) fails with WHAT, an error by its name,
 *                            or "short": only half of what was asked for is read or written
 *   TORTURE_DONE=FILE        begins with "!" when that happened
 *   TORTURE_KEEP_STANDARD=1  calls on descriptors 0 to 2 are neither counted nor failed
 *
 * Only calls made by the program's own code count, not those of its libraries. close() closes and
 * then fails, as Linux does. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#define CALLS(X) \
    X(access) X(chmod) X(close) X(dlopen) X(faccessat) X(fchmod) X(fcntl) X(fdatasync) \
    X(fdopendir) X(fgetxattr) X(flock) X(fstat) X(fstatat) X(fstatvfs) X(fsync) X(ftruncate) \
    X(getcwd) X(getrandom) X(getrlimit) X(getrusage) X(ioctl) X(linkat) X(lseek) X(lstat) \
    X(madvise) X(memfd_create) X(mkdir) X(mkdtemp) X(mmap) X(mprotect) X(nanosleep) X(open) \
    X(openat) X(opendir) X(poll) X(posix_spawnp) X(ppoll) X(prctl) X(pread) X(pthread_create) \
    X(pthread_sigmask) X(read) X(readdir) X(readlink) X(rename) X(renameat) X(rmdir) \
    X(sched_getaffinity) X(setitimer) X(setrlimit) X(sigaction) X(signalfd) X(stat) X(statvfs) \
    X(syscall_close) X(syscall_fallocate) X(syscall_fchmod) X(syscall_fdatasync) \
    X(syscall_ftruncate) \
    X(syscall_futex) X(syscall_linkat) X(syscall_openat) X(syscall_openat2) X(syscall_other) \
    X(syscall_pidfd_open) X(syscall_preadv) X(syscall_process_vm_readv) X(syscall_pwritev) \
    X(syscall_renameat2) X(syscall_statx) X(syscall_unlinkat) X(uname) X(unlink) X(unlinkat) \
    X(wait4) X(waitid) X(waitpid) X(write)
/* clang-format on */

enum call {
#define X(name) CALL_##name,
    CALLS(X)
#undef X
        N_CALLS
};

static const char *const call_name[] = {
#define X(name) #name,
    CALLS(X)
#undef X
};

static const struct {
    const char *name;
    int number;
} errors[] = {{"EIO", EIO},       {"EINTR", EINTR},   {"ENOSPC", ENOSPC}, {"EMFILE", EMFILE},
              {"EACCES", EACCES}, {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN}, {"EPERM", EPERM},
              {"ENOSYS", ENOSYS}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS},   {"ENOENT", ENOENT}};

enum { SHORT = -2 };

static struct {
    bool ready, acts, keep_standard;
    enum call call;
    unsigned long nth;
    int what;            /* an error, or SHORT */
    volatile char *done; /* both opened first: a command may confine itself later */
    int count;
    uintptr_t first, last; /* of the program's code */
    _Atomic unsigned long times[N_CALLS];
} t = {.first = UINTPTR_MAX};

#define NEXT(name) ((__typeof__(&name))next(#name))

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        _exit(120);
    return found;
}

/* A descriptor far above those of the program. */
static int raw_open(const char *path)
{
    long low = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_APPEND, 0600) : -1;
    long fd = low < 0 ? -1 : syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 900);

    if (low >= 0)
        syscall(SYS_close, low);
    return (int)fd;
}

/* A byte of that file, for threads that have another table of descriptors too. */
static volatile char *map_done(const char *path)
{
    int fd = raw_open(path);
    void *map = MAP_FAILED;

    if (fd >= 0 && syscall(SYS_ftruncate, fd, 1L) == 0)
        map = (void *)syscall(SYS_mmap, NULL, 1L, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    if (fd >= 0)
        syscall(SYS_close, fd);
    return map == MAP_FAILED ? NULL : map;
}

/* CALL:N:WHAT */
static void read_plan(const char *plan)
{
    const char *nth = plan ? strchr(plan, ':') : NULL, *what = nth ? strchr(nth + 1, ':') : NULL;

    if (!what)
        return;
    t.nth = strtoul(nth + 1, NULL, 10);
    for (unsigned i = 0; i < N_CALLS; i++)
        if (strncmp(call_name[i], plan, (size_t)(nth - plan)) == 0 && !call_name[i][nth - plan])
            t.call = (enum call)i;
    if (strcmp(what + 1, "short") == 0)
        t.what = SHORT;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i].name, what + 1) == 0)
            t.what = errors[i].number;
    if (t.what == 0)
        _exit(121);
}

/* Where the program's own code lies: the first entry is the program. */
static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        t.first = from < t.first ? from : t.first;
        t.last =
            from + info->dlpi_phdr[i].p_memsz > t.last ? from + info->dlpi_phdr[i].p_memsz : t.last;
    }
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("TORTURE_PROGRAM");
    const char *name = program_invocation_short_name;

    t.keep_standard = getenv("TORTURE_KEEP_STANDARD") != NULL;
    read_plan(getenv("TORTURE_FAIL"));
    t.acts = wanted && name && strcmp(wanted, name) == 0;
    t.count = t.acts ? raw_open(getenv("TORTURE_COUNT")) : -1;
    t.done = t.acts ? map_done(getenv("TORTURE_DONE")) : NULL;
    (void)dl_iterate_phdr(find_program, NULL);
    t.ready = true;
}

__attribute__((destructor)) static void end(void)
{
    char line[96];

    if (!t.acts || t.count < 0)
        return;
    t.acts = false;
    for (unsigned i = 0; i < N_CALLS; i++) {
        int n = snprintf(line, sizeof line, "%s %lu\n", call_name[i], atomic_load(&t.times[i]));

        if (t.times[i] && syscall(SYS_write, t.count, line, n) < 0)
            _exit(122);
    }
}

/* 0: the call goes on; SHORT; else the error it fails with. `fd`: -1 where the call has none.
 * `from`: who calls. The calls of other libraries are theirs: libgomp, for example, ends the
 * program when a thread cannot be had. */
static int fault_from(enum call call, int fd, const void *from)
{
    unsigned long nth;

    if ((uintptr_t)from < t.first || (uintptr_t)from >= t.last)
        return 0;
    if (!t.ready || !t.acts || (t.keep_standard && fd >= 0 && fd <= 2))
        return 0;
    nth = atomic_fetch_add(&t.times[call], 1) + 1;
    if (t.what == 0 || call != t.call || nth != t.nth)
        return 0;
    if (t.done)
        *t.done = '!';
    return t.what;
}

#define fault(call, fd) fault_from(call, fd, __builtin_return_address(0))

/* A call that returns -1 and errno. */
#define CALL(type, bad, name, fd, params, args)                                                    \
    type name params                                                                               \
    {                                                                                              \
        int e = fault(CALL_##name, fd);                                                            \
                                                                                                   \
        if (e > 0) {                                                                               \
            errno = e;                                                                             \
            return bad;                                                                            \
        }                                                                                          \
        return NEXT(name) args;                                                                    \
    }

/* One that returns the error. */
#define CODE(name, params, args)                                                                   \
    int name params                                                                                \
    {                                                                                              \
        int e = fault(CALL_##name, -1);                                                            \
                                                                                                   \
        return e > 0 ? e : NEXT(name) args;                                                        \
    }

/* One that moves `size` bytes. */
#define MOVE(name, params, args)                                                                   \
    ssize_t name params                                                                            \
    {                                                                                              \
        int e = fault(CALL_##name, fd);                                                            \
                                                                                                   \
        if (e > 0) {                                                                               \
            errno = e;                                                                             \
            return -1;                                                                             \
        }                                                                                          \
        if (e == SHORT && size > 1)                                                                \
            size /= 2;                                                                             \
        return NEXT(name) args;                                                                    \
    }

CALL(int, -1, access, -1, (const char *path, int mode), (path, mode))
CALL(int, -1, chmod, -1, (const char *path, mode_t mode), (path, mode))
CALL(int, -1, faccessat, -1, (int at, const char *path, int mode, int flags),
     (at, path, mode, flags))
CALL(int, -1, fchmod, fd, (int fd, mode_t mode), (fd, mode))
CALL(int, -1, fdatasync, fd, (int fd), (fd))
CALL(DIR *, NULL, fdopendir, fd, (int fd), (fd))
CALL(ssize_t, -1, fgetxattr, fd, (int fd, const char *name, void *to, size_t size),
     (fd, name, to, size))
CALL(int, -1, flock, fd, (int fd, int how), (fd, how))
CALL(int, -1, fstat, fd, (int fd, struct stat *st), (fd, st))
CALL(int, -1, fstatat, -1, (int at, const char *path, struct stat *st, int flags),
     (at, path, st, flags))
CALL(int, -1, fstatvfs, fd, (int fd, struct statvfs *st), (fd, st))
CALL(int, -1, fsync, fd, (int fd), (fd))
CALL(int, -1, ftruncate, fd, (int fd, off_t size), (fd, size))
CALL(char *, NULL, getcwd, -1, (char *to, size_t size), (to, size))
CALL(int, -1, getrlimit, -1, (__rlimit_resource_t what, struct rlimit *to), (what, to))
CALL(int, -1, getrusage, -1, (__rusage_who_t who, struct rusage *to), (who, to))
CALL(int, -1, linkat, -1, (int from, const char *a, int to, const char *b, int flags),
     (from, a, to, b, flags))
CALL(off_t, -1, lseek, fd, (int fd, off_t at, int whence), (fd, at, whence))
CALL(int, -1, lstat, -1, (const char *path, struct stat *st), (path, st))
CALL(int, -1, madvise, -1, (void *at, size_t size, int advice), (at, size, advice))
CALL(int, -1, memfd_create, -1, (const char *name, unsigned flags), (name, flags))
CALL(int, -1, mkdir, -1, (const char *path, mode_t mode), (path, mode))
CALL(char *, NULL, mkdtemp, -1, (char *name), (name))
CALL(void *, MAP_FAILED, mmap, fd,
     (void *at, size_t size, int prot, int flags, int fd, off_t offset),
     (at, size, prot, flags, fd, offset))
CALL(int, -1, mprotect, -1, (void *at, size_t size, int prot), (at, size, prot))
CALL(int, -1, nanosleep, -1, (const struct timespec *a, struct timespec *b), (a, b))
CALL(DIR *, NULL, opendir, -1, (const char *path), (path))
CALL(int, -1, poll, -1, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
CALL(int, -1, ppoll, -1,
     (struct pollfd * fds, nfds_t n, const struct timespec *t2, const sigset_t *set),
     (fds, n, t2, set))
CALL(struct dirent *, NULL, readdir, -1, (DIR * dir), (dir))
CALL(ssize_t, -1, readlink, -1, (const char *path, char *to, size_t size), (path, to, size))
CALL(int, -1, rename, -1, (const char *a, const char *b), (a, b))
CALL(int, -1, renameat, -1, (int from, const char *a, int to, const char *b), (from, a, to, b))
CALL(int, -1, rmdir, -1, (const char *path), (path))
CALL(int, -1, sched_getaffinity, -1, (pid_t pid, size_t size, cpu_set_t *set), (pid, size, set))
CALL(int, -1, setitimer, -1,
     (__itimer_which_t which, const struct itimerval *a, struct itimerval *b), (which, a, b))
CALL(int, -1, setrlimit, -1, (__rlimit_resource_t what, const struct rlimit *to), (what, to))
CALL(int, -1, sigaction, -1, (int nr, const struct sigaction *a, struct sigaction *b), (nr, a, b))
CALL(int, -1, signalfd, fd, (int fd, const sigset_t *set, int flags), (fd, set, flags))
CALL(int, -1, stat, -1, (const char *path, struct stat *st), (path, st))
CALL(int, -1, statvfs, -1, (const char *path, struct statvfs *st), (path, st))
CALL(int, -1, uname, -1, (struct utsname * to), (to))
CALL(int, -1, unlink, -1, (const char *path), (path))
CALL(int, -1, unlinkat, -1, (int at, const char *path, int flags), (at, path, flags))
CALL(pid_t, -1, wait4, -1, (pid_t pid, int *status, int options, struct rusage *use),
     (pid, status, options, use))
CALL(int, -1, waitid, -1, (idtype_t type, id_t id, siginfo_t *info, int options),
     (type, id, info, options))
CALL(pid_t, -1, waitpid, -1, (pid_t pid, int *status, int options), (pid, status, options))
CODE(pthread_create,
     (pthread_t * thread, const pthread_attr_t *attr, void *(*main)(void *), void *arg),
     (thread, attr, main, arg))
CODE(pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
CODE(posix_spawnp,
     (pid_t * pid, const char *file, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attr, char *const argv[], char *const envp[]),
     (pid, file, actions, attr, argv, envp))
MOVE(read, (int fd, void *to, size_t size), (fd, to, size))
MOVE(pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
MOVE(write, (int fd, const void *from, size_t size), (fd, from, size))

ssize_t getrandom(void *to, size_t size, unsigned flags)
{
    int e = fault(CALL_getrandom, -1);

    if (e > 0) {
        errno = e;
        return -1;
    }
    return NEXT(getrandom)(to, e == SHORT && size > 1 ? size / 2 : size, flags);
}

int close(int fd)
{
    int e = fault(CALL_close, fd);
    int rc = NEXT(close)(fd);

    if (e > 0) {
        errno = e;
        return -1;
    }
    return rc;
}

void *dlopen(const char *name, int flags)
{
    return fault(CALL_dlopen, -1) > 0 ? NULL : NEXT(dlopen)(name, flags);
}

static mode_t mode_of(int flags, va_list list)
{
    return flags & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(list, int) : 0;
}

int open(const char *path, int flags, ...)
{
    int e = fault(CALL_open, -1);
    va_list list;
    mode_t mode;

    va_start(list, flags);
    mode = mode_of(flags, list);
    va_end(list);
    if (e > 0) {
        errno = e;
        return -1;
    }
    return NEXT(open)(path, flags, mode);
}

int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

int openat(int at, const char *path, int flags, ...)
{
    int e = fault(CALL_openat, -1);
    va_list list;
    mode_t mode;

    va_start(list, flags);
    mode = mode_of(flags, list);
    va_end(list);
    if (e > 0) {
        errno = e;
        return -1;
    }
    return NEXT(openat)(at, path, flags, mode);
}

int fcntl(int fd, int what, ...)
{
    int e = fault(CALL_fcntl, fd);
    va_list list;
    long arg;

    va_start(list, what);
    arg = va_arg(list, long);
    va_end(list);
    if (e > 0) {
        errno = e;
        return -1;
    }
    return NEXT(fcntl)(fd, what, arg);
}

int ioctl(int fd, unsigned long what, ...)
{
    int e = fault(CALL_ioctl, fd);
    va_list list;
    void *arg;

    va_start(list, what);
    arg = va_arg(list, void *);
    va_end(list);
    if (e > 0) {
        errno = e;
        return -1;
    }
    return NEXT(ioctl)(fd, what, arg);
}

int prctl(int what, ...)
{
    int e = fault(CALL_prctl, -1);
    va_list list;
    unsigned long arg[4];

    va_start(list, what);
    for (int i = 0; i < 4; i++)
        arg[i] = va_arg(list, unsigned long);
    va_end(list);
    if (e > 0) {
        errno = e;
        return -1;
    }
    return NEXT(prctl)(what, arg[0], arg[1], arg[2], arg[3]);
}

static enum call numbered(long number)
{
    static const struct {
        long number;
        enum call call;
    } known[] = {{SYS_close, CALL_syscall_close},
                 {SYS_fallocate, CALL_syscall_fallocate},
                 {SYS_fchmod, CALL_syscall_fchmod},
                 {SYS_fdatasync, CALL_syscall_fdatasync},
                 {SYS_ftruncate, CALL_syscall_ftruncate},
                 {SYS_futex, CALL_syscall_futex},
                 {SYS_linkat, CALL_syscall_linkat},
                 {SYS_openat, CALL_syscall_openat},
                 {SYS_openat2, CALL_syscall_openat2},
                 {SYS_pidfd_open, CALL_syscall_pidfd_open},
                 {SYS_preadv, CALL_syscall_preadv},
                 {SYS_process_vm_readv, CALL_syscall_process_vm_readv},
                 {SYS_pwritev, CALL_syscall_pwritev},
                 {SYS_renameat2, CALL_syscall_renameat2},
                 {SYS_statx, CALL_syscall_statx},
                 {SYS_unlinkat, CALL_syscall_unlinkat}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].number == number)
            return known[i].call;
    }
    return CALL_syscall_other;
}

static bool moves_bytes(enum call call)
{
    return call == CALL_syscall_preadv || call == CALL_syscall_pwritev;
}

/* The first half of what `part` has, one part of it. */
static struct iovec half_of(const struct iovec *part)
{
    return (struct iovec){part->iov_base, part->iov_len > 1 ? part->iov_len / 2 : part->iov_len};
}

long syscall(long number, ...)
{
    static __typeof__(&syscall) really;
    va_list list;
    long arg[6];
    int e = 0;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arg[i] = va_arg(list, long);
    va_end(list);
    if (!really)
        really = NEXT(syscall);
    if (number != SYS_gettid) /* which cannot fail */
        e = fault(numbered(number), -1);
    if (e > 0) {
        if (number == SYS_close)
            (void)really(number, arg[0]);
        errno = e;
        return -1;
    }
    if (e == SHORT && moves_bytes(numbered(number))) {
        struct iovec half = half_of((const struct iovec *)(uintptr_t)arg[1]);

        return really(number, arg[0], &half, 1, arg[3], arg[4]);
    }
    return really(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
