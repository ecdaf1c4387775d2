/* tests/e2e/sandbox_probe.c - a library for LD_PRELOAD: when the program ends, it tries what a
 * confined command has given up, and prints "probe NAME: allowed" or the reason why not. What is
 * "allowed" includes calls that were let through and failed over their arguments.
 * PROBE_FOLDER: a folder that the command was not given, with a file "secret"; PROBE_WORK: that of
 * its model, with a file "private"; PROBE_HOME: one with files "notes", ".settings" and ".keys/id",
 * which the command may have for its output; PROBE_TABLES: one that it may have for tables;
 * PROBE_PROCESS: another process. */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static void tell(const char *what, bool allowed)
{
    dprintf(STDERR_FILENO, "probe %s: %s\n", what, allowed ? "allowed" : strerror(errno));
}

static const char *path_of(const char *folder, const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/%s", getenv(folder), name);
    return path;
}

static bool opens(const char *path, int flags)
{
    int fd = open(path, flags, 0600);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* ---- what threads, kernels made at run time and abort() need ---- */

static void *thread(void *unused)
{
    return unused;
}

static bool starts_thread(void)
{
    pthread_t id;
    int rc = pthread_create(&id, NULL, thread, NULL);

    if (rc == 0)
        pthread_join(id, NULL);
    errno = rc;
    return rc == 0;
}

static void probe_own(void)
{
    void *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    tell("own code", code != MAP_FAILED);
    tell("own thread", starts_thread());
    tell("own signal", raise(0) == 0);
    tell("own status",
         opens("/proc/self/status", O_RDONLY) && opens("/proc/thread-self/stat", O_RDONLY));
    tell("own mounts", opens("/proc/mounts", O_RDONLY));
    tell("own machine",
         opens("/proc/meminfo", O_RDONLY) && opens("/proc/sys/kernel/osrelease", O_RDONLY));
    tell("own peak", opens("/proc/self/clear_refs", O_WRONLY));
    tell("own input", opens(path_of("PROBE_WORK", "private"), O_RDONLY));
}

/* ---- other processes ---- */

/* A process made by `call` ends at once. */
static bool makes_process(long call, long flags)
{
    long pid = syscall(call, flags, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, __WALL);
    return pid > 0;
}

static void probe_processes(void)
{
    pid_t other = (pid_t)strtol(getenv("PROBE_PROCESS"), NULL, 10);
    siginfo_t info = {.si_code = SI_QUEUE};
    struct rlimit limit;
    int out[2];

    if (pipe(out) != 0)
        return;
    tell("kill", kill(other, 0) == 0);
    tell("tkill", syscall(SYS_tkill, other, 0) == 0);
    tell("tgkill", syscall(SYS_tgkill, other, other, 0) == 0);
    tell("sigqueue", syscall(SYS_rt_sigqueueinfo, other, 0, &info) == 0);
    tell("tgsigqueue", syscall(SYS_rt_tgsigqueueinfo, other, other, 0, &info) == 0);
    tell("pidfd", syscall(SYS_pidfd_open, other, 0) >= 0);
    tell("pidfd signal", syscall(SYS_pidfd_send_signal, -1, 0, NULL, 0) == 0 || errno == EBADF);
    tell("pidfd file", syscall(SYS_pidfd_getfd, -1, 0, 0) >= 0 || errno == EBADF);
    tell("ptrace", syscall(SYS_ptrace, 16, 0, 0, 0) == 0 || errno == ESRCH);
    tell("read memory", syscall(SYS_process_vm_readv, other, NULL, 0, NULL, 0, 0) >= 0);
    tell("owner of a pipe", fcntl(out[0], F_SETOWN, other) == 0);
    tell("limits", syscall(SYS_prlimit64, other, RLIMIT_CORE, NULL, &limit) == 0);
    tell("kcmp", syscall(SYS_kcmp, other, other, KCMP_VM, 0, 0) >= 0);
    tell("scheduler", sched_setscheduler(other, SCHED_OTHER, &(struct sched_param){0}) == 0);
    tell("scheduler parameters", sched_setparam(other, &(struct sched_param){0}) == 0);
    tell("scheduler attributes",
         syscall(SYS_sched_setattr, other, NULL, 0) == 0 || errno == EINVAL);
    tell("fork", makes_process(SYS_fork, 0));
    tell("clone", makes_process(SYS_clone, SIGCHLD));
    tell("clone3", syscall(SYS_clone3, NULL, 0) >= 0 || errno == EINVAL);
    tell("terminal", ioctl(STDIN_FILENO, TIOCSTI, "x") == 0 || errno == ENOTTY);
}

static void probe_proc(void)
{
    static const char *const names[] = {"environ", "cmdline", "status", "maps", "fd"};
    char path[64], what[64];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "/proc/%s/%s", getenv("PROBE_PROCESS"), names[i]);
        snprintf(what, sizeof what, "its %s", names[i]);
        tell(what, opens(path, O_RDONLY));
    }
    tell("/proc", opens("/proc", O_RDONLY));
}

static void probe_ipc(void)
{
    tell("socket", socket(AF_INET, SOCK_STREAM, 0) >= 0);
    tell("shmget", syscall(SYS_shmget, 0, 0, 0) >= 0 || errno == EINVAL);
    tell("semget", syscall(SYS_semget, 0, 0, 0) >= 0 || errno == EINVAL);
    tell("msgget", syscall(SYS_msgget, 12345, 0) >= 0 || errno == ENOENT);
    tell("mq_open", syscall(SYS_mq_open, "none", O_RDONLY, 0, NULL) >= 0 || errno == ENOENT);
    tell("keyctl", syscall(SYS_keyctl, 0, -3, 0, 0, 0) >= 0 || errno == ENOKEY);
    tell("io_uring",
         syscall(SYS_io_uring_setup, 0, NULL) >= 0 || errno == EFAULT || errno == EINVAL);
    tell("perf", syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0) >= 0 || errno == EFAULT);
}

/* ---- files elsewhere, and beside the model ---- */

static void probe_files(void)
{
    char *secret = strdup(path_of("PROBE_FOLDER", "secret")), shared[64];
    int beside = open(path_of("PROBE_WORK", "private"), O_RDONLY);

    snprintf(shared, sizeof shared, "/dev/shm/assay-probe-%s", getenv("PROBE_PROCESS"));
    tell("read", opens(secret, O_RDONLY));
    tell("write", opens(path_of("PROBE_FOLDER", "made"), O_CREAT | O_WRONLY));
    tell("write beside", opens(path_of("PROBE_WORK", "made"), O_CREAT | O_WRONLY));
    tell("write /dev/shm", opens(shared, O_CREAT | O_WRONLY));
    tell("chmod", chmod(secret, 0777) == 0);
    tell("fchmod", fchmod(beside, 0666) == 0);
    tell("chown", chown(secret, (uid_t)-1, getegid()) == 0);
    tell("fchown", fchown(beside, (uid_t)-1, getegid()) == 0);
    tell("utimes", utimensat(AT_FDCWD, secret, NULL, 0) == 0);
    tell("futimes", futimens(beside, NULL) == 0);
    tell("setxattr", setxattr(secret, "user.probe", "x", 1, 0) == 0 || errno == ENOTSUP);
    tell("fsetxattr", fsetxattr(beside, "user.probe", "x", 1, 0) == 0 || errno == ENOTSUP);
    tell("removexattr", removexattr(secret, "user.none") == 0 || errno == ENODATA);
    tell("truncate", truncate(secret, 6) == 0);
    tell("rename", rename(secret, path_of("PROBE_FOLDER", "moved")) == 0);
    free(secret);
}

/* Where a person keeps keys and settings, and works. */
static void probe_home(void)
{
    char *notes = strdup(path_of("PROBE_HOME", "notes"));

    tell("read hidden", opens(path_of("PROBE_HOME", ".settings"), O_RDONLY));
    tell("read in hidden", opens(path_of("PROBE_HOME", ".keys/id"), O_RDONLY));
    tell("change hidden", opens(path_of("PROBE_HOME", ".settings"), O_WRONLY));
    tell("add to hidden", opens(path_of("PROBE_HOME", ".keys/id"), O_WRONLY | O_APPEND));
    tell("make in hidden", opens(path_of("PROBE_HOME", ".keys/made"), O_WRONLY | O_CREAT));
    tell("change notes", opens(notes, O_WRONLY));
    tell("make in home", opens(path_of("PROBE_HOME", "made"), O_WRONLY | O_CREAT));
    tell("make a folder", mkdir(path_of("PROBE_HOME", "made"), 0700) == 0);
    tell("replace", rename(notes, path_of("PROBE_HOME", ".settings")) == 0);
    tell("remove", unlink(notes) == 0);
    tell("passwords", opens("/etc/shadow", O_RDONLY));
    tell("users", opens("/etc/passwd", O_RDONLY));
    free(notes);
}

static bool makes(const char *path, int flags, mode_t mode)
{
    int fd = open(path, flags | O_CREAT | O_WRONLY, mode);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Rights that a mode gives to other users. */
static void probe_modes(void)
{
    int at = open(path_of("PROBE_TABLES", ""), O_PATH);
    const char *path = path_of("PROBE_TABLES", "made");

    tell("make set-user-id", makes(path, 0, 06755));
    tell("make set-group-id", syscall(SYS_open, path, O_CREAT | O_WRONLY, 02755) >= 0);
    tell("create set-user-id", syscall(SYS_creat, path, 04755) >= 0);
    tell("nameless set-user-id", openat(at, ".", O_TMPFILE | O_WRONLY, 04755) >= 0);
    tell("sticky folder", mkdir(path, 01777) == 0);
    tell("sticky folder there", mkdirat(at, "made", 01777) == 0);
    tell("node", mknod(path, S_IFREG | 04755, 0) == 0);
    tell("node there", mknodat(at, "made", S_IFREG | 04755, 0) == 0);
    tell("adjtimex", syscall(SYS_adjtimex, NULL) >= 0 || errno == EFAULT);
    tell("clock_adjtime", syscall(SYS_clock_adjtime, 0, NULL) >= 0 || errno == EFAULT);
    close(at);
}

static void probe_mounts(void)
{
    const char *folder = path_of("PROBE_FOLDER", "");

    tell("mount", syscall(SYS_mount, NULL, NULL, NULL, 0, NULL) == 0 || errno == EFAULT);
    tell("umount", syscall(SYS_umount2, folder, 0) == 0 || errno == EINVAL);
    tell("open_tree", syscall(SYS_open_tree, AT_FDCWD, folder, 0) >= 0);
    tell("move_mount", syscall(SYS_move_mount, -1, "", -1, "", 0) == 0 || errno == ENOENT);
    tell("fsopen", syscall(SYS_fsopen, NULL, 0) >= 0 || errno == EFAULT);
    tell("fsmount", syscall(SYS_fsmount, -1, 0, 0) >= 0 || errno == EBADF);
    tell("unshare", unshare(0) == 0);
    tell("setns", setns(-1, 0) == 0 || errno == EBADF);
    tell("chroot", chroot("/") == 0);
    tell("setuid", setuid(getuid()) == 0);
    tell("setgroups", syscall(SYS_setgroups, -1, NULL) == 0 || errno == EINVAL);
    tell("later call", syscall(452, -1, "", 0, 0) == 0 || errno == EBADF); /* fchmodat2() */
}

__attribute__((destructor)) static void probe(void)
{
    char *argv[] = {(char[]){"true"}, NULL}, *environment[] = {NULL};

    probe_own();
    probe_processes();
    probe_proc();
    probe_ipc();
    probe_files();
    probe_home();
    probe_modes();
    probe_mounts();
    execve("/bin/true", argv, environment);
    tell("exec", false);
}
