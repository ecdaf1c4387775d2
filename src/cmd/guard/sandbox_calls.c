/* cmd/guard/sandbox_calls.c - a filter for system calls, made when the command starts: some are
 * kept for the process itself, and its number is known only then.
 * Whatever starts a program, reaches another process or changes a file by its name alone is
 * refused; descriptors are left, because Landlock decides what can be opened. */
#include "cmd/guard/sandbox_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/units.h"

enum {
    MOST_CODE = 512,
    FIRST_LATER = 451, /* calls from here on came after Linux 6.1, and none of them is needed */
};

/* Flags that move a thread into a namespace of its own. */
#define NEW_NAMESPACES                                                                             \
    ((uint32_t)CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |       \
     CLONE_NEWPID | CLONE_NEWNET)

/* O_CREAT, and what O_TMPFILE adds to O_DIRECTORY; set-user-id, set-group-id and sticky. */
#define MAKES_FILE ((uint32_t)O_CREAT | ((uint32_t)O_TMPFILE & ~(uint32_t)O_DIRECTORY))
#define OTHER_USER 07000u

static const uint16_t refused[] = {
    /* programs and processes */
    SYS_execve,
    SYS_execveat,
    SYS_fork,
    SYS_vfork,
    SYS_kill,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_pidfd_open,
    SYS_pidfd_send_signal,
    SYS_pidfd_getfd,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_process_mrelease,
    SYS_move_pages,
    SYS_migrate_pages,
    SYS_kcmp,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_perf_event_open,
    /* sockets and IPC */
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_mq_timedsend,
    SYS_mq_timedreceive,
    SYS_mq_notify,
    SYS_mq_getsetattr,
    /* files by name, and files that can only be read */
    SYS_chmod,
    SYS_fchmodat,
    SYS_chown,
    SYS_lchown,
    SYS_fchownat,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_truncate,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    /* mounts and namespaces */
    SYS_mount,
    SYS_umount2,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    /* users */
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    SYS_capset,
    /* the kernel and the machine */
    SYS_bpf,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_syslog,
    SYS_vhangup,
    SYS_iopl,
    SYS_ioperm,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_clock_settime,
};

struct program {
    struct sock_filter code[MOST_CODE];
    unsigned short n;
};

static void add(struct program *p, uint16_t what, uint32_t value, size_t when, size_t otherwise)
{
    if (p->n < MOST_CODE)
        p->code[p->n++] = (struct sock_filter){what, (uint8_t)when, (uint8_t)otherwise, value};
}

static void end(struct program *p, uint32_t verdict)
{
    add(p, BPF_RET | BPF_K, verdict, 0, 0);
}

static void allow(struct program *p)
{
    end(p, SECCOMP_RET_ALLOW);
}

static void refuse(struct program *p)
{
    end(p, SECCOMP_RET_ERRNO | EPERM);
}

/* The next `size` instructions are for this call alone. */
static void begin(struct program *p, uint32_t number, size_t size)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, number, 0, size);
}

/* Its lower half: what is asked about here is an int of the kernel. */
static void load_argument(struct program *p, size_t i)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * i), 0, 0);
}

/* The call is kept for these values of an argument, or for all others. */
static void choose(struct program *p, uint32_t number, size_t argument, const uint32_t *values,
                   size_t n, bool kept)
{
    begin(p, number, n + 3);
    load_argument(p, argument);
    for (size_t i = 0; i < n; i++)
        add(p, BPF_JMP | BPF_JEQ | BPF_K, values[i], n - i, 0);
    end(p, kept ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW);
    end(p, kept ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM);
}

/* clone() makes threads, and nothing else. The flags of clone3() stand in memory, where no filter
 * looks: the C library takes clone() when there is no such call. */
static void allow_threads(struct program *p)
{
    begin(p, SYS_clone, 5);
    load_argument(p, 0);
    add(p, BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 1, 0);
    add(p, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    refuse(p);
    allow(p);
    begin(p, SYS_clone3, 1);
    end(p, SECCOMP_RET_ERRNO | ENOSYS);
}

/* A descriptor that can only be read is enough to change a mode or an owner. */
static void allow_modes(struct program *p, const struct as_kept_modes *kept)
{
    begin(p, SYS_fchmod, 4);
    load_argument(p, 1);
    add(p, BPF_JMP | BPF_JSET | BPF_K, ~kept->modes, 0, 1);
    refuse(p);
    allow(p);
    begin(p, SYS_fchown, kept->has_group ? 6 : 1);
    if (kept->has_group) {
        load_argument(p, 1);
        add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)-1, 0, 2);
        load_argument(p, 2);
        add(p, BPF_JMP | BPF_JEQ | BPF_K, kept->group, 1, 0);
    }
    refuse(p);
    if (kept->has_group)
        allow(p);
}

/* No file or folder is made with a right to be another user. openat2() has its mode in memory,
 * where no filter looks. */
static void allow_making(struct program *p, bool beside)
{
    static const struct {
        uint32_t number, flags, mode; /* which arguments; flags 9: it always makes something */
    } calls[] = {
        {SYS_open, 1, 2},    {SYS_openat, 2, 3}, {SYS_creat, 9, 1},   {SYS_mkdir, 9, 1},
        {SYS_mkdirat, 9, 2}, {SYS_mknod, 9, 1},  {SYS_mknodat, 9, 2},
    };

    for (size_t i = 0; i < AS_COUNT_OF(calls); i++) {
        bool asks = calls[i].flags != 9;

        begin(p, calls[i].number, asks ? 6 : 4);
        if (asks) {
            load_argument(p, calls[i].flags);
            add(p, BPF_JMP | BPF_JSET | BPF_K, MAKES_FILE, 0, 3);
        }
        load_argument(p, calls[i].mode);
        add(p, BPF_JMP | BPF_JSET | BPF_K, OTHER_USER, 0, 1);
        refuse(p);
        allow(p);
    }
    if (!beside) {
        begin(p, SYS_openat2, 1);
        end(p, SECCOMP_RET_ERRNO | ENOSYS);
    }
}

/* raise() and abort() signal a thread of ours; terminals are asked about, never written into. */
static void allow_own(struct program *p)
{
    static const uint32_t terminal[] = {TCGETS, 0x802c542a /* TCGETS2 */, TIOCGWINSZ};
    static const uint32_t signal_owner[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};
    const uint32_t own[] = {(uint32_t)getpid(), 0};

    choose(p, SYS_tgkill, 0, own, 1, true);
    choose(p, SYS_prlimit64, 0, own, 2, true);
    choose(p, SYS_sched_setscheduler, 0, own, 2, true);
    choose(p, SYS_sched_setparam, 0, own, 2, true);
    choose(p, SYS_sched_setattr, 0, own, 2, true);
    choose(p, SYS_ioctl, 1, terminal, AS_COUNT_OF(terminal), true);
    choose(p, SYS_fcntl, 1, signal_owner, AS_COUNT_OF(signal_owner), false);
}

void as_sandbox_calls(const struct as_kept_modes *kept)
{
    struct program p = {.n = 0};
    struct sock_fprog program;

    add(&p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    add(&p, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    end(&p, SECCOMP_RET_KILL_PROCESS);
    add(&p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    add(&p, BPF_JMP | BPF_JGE | BPF_K, FIRST_LATER, 0, 1); /* those of x32 as well */
    end(&p, SECCOMP_RET_ERRNO | ENOSYS);
    allow_threads(&p);
    allow_modes(&p, kept);
    allow_making(&p, kept->beside);
    allow_own(&p);
    for (size_t i = 0; i < AS_COUNT_OF(refused); i++) {
        begin(&p, refused[i], 1);
        refuse(&p);
    }
    allow(&p);
    program = (struct sock_fprog){.len = p.n, .filter = p.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        (void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}
