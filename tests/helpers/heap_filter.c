/* tests/helpers/heap_filter.c - a program that forbids itself most system calls and goes on
 * allocating, for tests/e2e/test_heap_manners.sh. usage: heap_filter prctl|seccomp|strict|asks|exec
 * It is killed when anything of another makes a call that it does not make itself; with exec, when
 * the program that it becomes calls madvise(), which the C library does not as it starts. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(call)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(write),
    ALLOW(brk),
    ALLOW(mmap),
    ALLOW(munmap),
    ALLOW(mremap),
    ALLOW(exit_group),
    ALLOW(exit),
    ALLOW(prctl),
    ALLOW(seccomp),
    ALLOW(newfstatat),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static struct sock_fprog program = {sizeof code / sizeof *code, code};

static struct sock_filter no_madvise[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static int become_another(void)
{
    struct sock_fprog filter = {sizeof no_madvise / sizeof *no_madvise, no_madvise};

    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return 3;
    execl("/bin/echo", "echo", "done", (char *)NULL);
    return 4;
}

static int allocate(int n)
{
    static void *block[200000];

    for (int i = 0; i < n; i++) {
        block[i] = malloc(151);
        if (!block[i])
            return 1;
    }
    for (int i = 0; i < n; i += 2) {
        block[i] = realloc(block[i], 4000);
        free(block[i]);
    }
    return 0;
}

static int set(const char *how)
{
    if (strcmp(how, "prctl") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    if (strcmp(how, "seccomp") == 0)
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    if (strcmp(how, "strict") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    /* It only asks, and fails: the count goes on. */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, ~0u, &program) == 0 || errno != EINVAL)
        return -1;
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    bool is_strict = strcmp(how, "strict") == 0;

    if (strcmp(how, "exec") == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        return become_another();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || allocate(1000) != 0 || set(how) != 0)
        return 3;
    /* Strict mode has neither brk nor mmap: what is freed is all there is. */
    if (!is_strict && allocate(200000) != 0)
        return 1;
    if (is_strict)
        syscall(SYS_exit, 0);
    return write(STDOUT_FILENO, "done\n", 5) != 5;
}
