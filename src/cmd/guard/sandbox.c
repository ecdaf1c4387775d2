/* cmd/guard/sandbox.c - Landlock decides about files, seccomp about system calls. Both fail open:
 * an older kernel runs the command as it always did. */
#include "cmd/guard/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file/file_open.h"
#include "base/output.h"
#include "base/units.h"
#include "cmd/common/cache_folder.h"

/* LeakSanitizer traces the process and reads its own files at the end: nothing is confined then. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_traced = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
static const bool is_traced = true;
#else
static const bool is_traced = false;
#endif
#else
static const bool is_traced = false;
#endif

/* ---- files ---- */

/* Rights of later kernels than the header we build with. */
#define RIGHT_REFER    (1ull << 13) /* ABI 2 */
#define RIGHT_TRUNCATE (1ull << 14) /* ABI 3 */

#define RIGHTS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHTS_WRITE                                                                               \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |   \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR)
#define RIGHTS_OTHER                                                                               \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |    \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

struct ruleset {
    int fd;
    uint64_t handled;
};

static int ruleset_new(struct ruleset *rules)
{
    struct landlock_ruleset_attr attributes;
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    if (abi < 1)
        return -1;
    rules->handled = RIGHTS_READ | RIGHTS_WRITE | RIGHTS_OTHER;
    if (abi >= 2)
        rules->handled |= RIGHT_REFER;
    if (abi >= 3)
        rules->handled |= RIGHT_TRUNCATE;
    attributes = (struct landlock_ruleset_attr){.handled_access_fs = rules->handled};
    rules->fd = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
    return rules->fd;
}

/* A path that is not there allows nothing. */
static void allow(const struct ruleset *rules, const char *path, uint64_t rights)
{
    struct landlock_path_beneath_attr rule = {
        .allowed_access = rights & rules->handled,
        .parent_fd = as_open(path, O_PATH),
    };

    if (rule.parent_fd < 0)
        return;
    if (syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0 &&
        errno == EINVAL) { /* not a folder: only the rights of a file */
        rule.allowed_access &=
            LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE;
        (void)syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    (void)close(rule.parent_fd);
}

static void allow_reading(const struct ruleset *rules, const char *path)
{
    allow(rules, path, RIGHTS_READ);
}

static void allow_writing(const struct ruleset *rules, const char *path)
{
    allow(rules, path, RIGHTS_READ | RIGHTS_WRITE | RIGHT_REFER | RIGHT_TRUNCATE);
}

/* The folder that `path` stands in, or will. */
static bool folder_of(char out[PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');

    if (strlen(path) >= PATH_MAX)
        return false;
    if (!slash)
        memcpy(out, ".", 2);
    else
        (void)snprintf(out, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return true;
}

/* The nearest folder above `path` that exists: outputs make the folders they need. */
static void allow_output(const struct ruleset *rules, const char *path)
{
    char folder[PATH_MAX], above[PATH_MAX];

    if (!folder_of(folder, path))
        return;
    while (access(folder, F_OK) != 0 && folder_of(above, folder) && strcmp(above, folder) != 0)
        memcpy(folder, above, sizeof folder);
    allow_writing(rules, folder);
}

/* The file that an operand or NAME=FILE names, with what stands beside it: external weights. */
static void allow_input(const struct ruleset *rules, const char *text)
{
    const char *equals = strchr(text, '=');
    char folder[PATH_MAX], real[PATH_MAX];

    if (equals && access(text, F_OK) != 0)
        text = equals + 1;
    if (folder_of(folder, text))
        allow_reading(rules, folder);
    if (realpath(text, real) && folder_of(folder, real)) /* through a link */
        allow_reading(rules, folder);
}

static void allow_line(const struct ruleset *rules, const struct as_cmd_line *line)
{
    const struct as_opt *opt;

    for (int i = 0; i < line->n_operands; i++)
        allow_input(rules, line->operand[i]);
    for (size_t i = 0; i < line->n_list; i++)
        allow_input(rules, line->list[i]);
    for (size_t i = 0; (opt = as_cmd_opt_at(line->cmd, i)) != NULL; i++)
        if (line->value[i] && (opt->kind == AS_OPT_FILE || opt->kind == AS_OPT_FOLDER))
            allow_output(rules, line->value[i]);
    if (as_opt_known(line, "trace") && as_opt_given(line, "trace"))
        allow_writing(rules, "/tmp");
}

/* Libraries beside the program, and where the dynamic linker was told to look. */
static void allow_program(const struct ruleset *rules)
{
    const char *paths = getenv("LD_LIBRARY_PATH");
    char path[PATH_MAX], folder[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

    if (n > 0) {
        path[n] = '\0';
        if (folder_of(folder, path)) {
            allow_reading(rules, folder);
            (void)snprintf(path, sizeof path, "%.4000s/../lib", folder);
            allow_reading(rules, path);
        }
    }
    while (paths && *paths) {
        size_t size = strcspn(paths, ":");

        if (size > 0 && size < sizeof path) {
            memcpy(path, paths, size);
            path[size] = '\0';
            allow_reading(rules, path);
        }
        paths += size + (paths[size] == ':');
    }
}

static void confine_files(const struct as_cmd_line *line)
{
    static const char *const system_folders[] = {"/usr",  "/lib", "/lib64", "/etc",
                                                 "/proc", "/sys", "/opt",   "/var/lib"};
    struct ruleset rules;
    char cache[PATH_MAX];

    if (ruleset_new(&rules) < 0)
        return;
    for (size_t i = 0; i < AS_COUNT_OF(system_folders); i++)
        allow_reading(&rules, system_folders[i]);
    allow(&rules, "/dev", RIGHTS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE);
    allow_program(&rules);
    allow_line(&rules, line);
    /* Made now: afterwards its parent cannot be written. */
    if (as_opt_known(line, "no-roofline") && as_cache_folder(cache) &&
        as_folder_make(cache, 0700, NULL) == ASSAY_OK)
        allow_writing(&rules, cache);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        (void)syscall(SYS_landlock_restrict_self, rules.fd, 0);
    (void)close(rules.fd);
}

/* ---- system calls ---- */

static const uint32_t refused[] = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_kill,
    SYS_tkill,
    SYS_bpf,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_open_by_handle_at,
    SYS_move_mount,
    SYS_fsopen,
};

/* Refused calls fail with EPERM; another architecture's calls end the program. */
static void confine_calls(void)
{
    enum { HEAD = 6, N = AS_COUNT_OF(refused) };
    struct sock_filter code[HEAD + N + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1), /* x32 */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    };
    struct sock_fprog program = {.len = HEAD + N + 2, .filter = code};

    for (size_t i = 0; i < N; i++)
        code[HEAD + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i],
                                                      (uint8_t)(N - i), 0);
    code[HEAD + N] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[HEAD + N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        (void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

void as_sandbox_enter(const struct as_cmd_line *line)
{
    if (is_traced || !line->cmd->confined || as_opt_given(line, "no-sandbox"))
        return;
    confine_files(line);
    confine_calls();
}
