/* cmd/guard/sandbox.c - which files a confined command keeps, decided by Landlock; sandbox_calls.c
 * has the system calls. Both fail open: an older kernel runs the command as it always did. */
#include "cmd/guard/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file/file_open.h"
#include "base/file/new_file.h"
#include "base/output.h"
#include "base/units.h"
#include "cmd/common/cache_folder.h"
#include "cmd/common/show_options.h"
#include "cmd/guard/sandbox_calls.h"

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
#define SCOPE_SIGNAL   (1ull << 1)  /* ABI 6 */

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

/* As the kernel has it today: an older one takes what it knows when the rest is 0. */
struct ruleset_attributes {
    uint64_t files, network, scoped;
};

static int ruleset_new(struct ruleset *rules)
{
    struct ruleset_attributes attributes = {0};
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    if (abi < 1)
        return -1;
    rules->handled = RIGHTS_READ | RIGHTS_WRITE | RIGHTS_OTHER;
    if (abi >= 2)
        rules->handled |= RIGHT_REFER;
    if (abi >= 3)
        rules->handled |= RIGHT_TRUNCATE;
    if (abi >= 6)
        attributes.scoped = SCOPE_SIGNAL;
    attributes.files = rules->handled;
    rules->fd = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
    return rules->fd;
}

/* What `held` names; it stays open. */
static void allow_held(const struct ruleset *rules, int held, uint64_t rights)
{
    struct landlock_path_beneath_attr rule = {
        .allowed_access = rights & rules->handled,
        .parent_fd = held,
    };

    if (held < 0)
        return;
    if (syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0 &&
        errno == EINVAL) { /* not a folder: only the rights of a file */
        rule.allowed_access &=
            LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE;
        (void)syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
}

/* A path that is not there allows nothing. */
static void allow(const struct ruleset *rules, const char *path, uint64_t rights)
{
    int fd = as_open(path, O_PATH);

    allow_held(rules, fd, rights);
    if (fd >= 0)
        (void)close(fd);
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

/* ---- what the command line names ---- */

/* Whether the i-th option names a file or folder to write. */
static bool is_output(const struct as_cmd_line *line, size_t i)
{
    const struct as_opt *opt = as_cmd_opt_at(line->cmd, i);

    return line->value[i] && (opt->kind == AS_OPT_FILE || opt->kind == AS_OPT_FOLDER) &&
           (strcmp(opt->name, "output") != 0 || strcmp(line->value[i], "-") != 0);
}

/* The nearest folder above `path` that exists: outputs make the folders they need. */
static void allow_above(const struct ruleset *rules, const char *path)
{
    char folder[PATH_MAX], above[PATH_MAX];

    if (!folder_of(folder, path))
        return;
    while (access(folder, F_OK) != 0 && folder_of(above, folder) && strcmp(above, folder) != 0)
        memcpy(folder, above, sizeof folder);
    allow_writing(rules, folder);
}

/* A device is written as it stands, and a link is refused later: the folder is not needed. */
static void allow_output(const struct ruleset *rules, const char *path, bool is_folder)
{
    struct stat st;
    bool there = lstat(path, &st) == 0;

    if (there && is_folder)
        allow_writing(rules, path);
    else if (!there || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        allow_above(rules, path);
    else
        allow(rules, path, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
}

/* Made now, and taken by the command: the folder it stands in is not given away. */
static void allow_temporary(const struct ruleset *rules)
{
    char path[AS_TEMPORARY_PATH], folder[PATH_MAX];

    if (as_temporary_folder_prepare(path, NULL) < 0)
        return; /* the command tries again, and says why not */
    allow_writing(rules, path);
    if (folder_of(folder, path))
        allow(rules, folder, LANDLOCK_ACCESS_FS_REMOVE_DIR);
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
    const char *input;

    for (int i = 0; i < line->n_operands; i++)
        if (strncmp(line->operand[i], "zoo:", 4) != 0)
            allow_input(rules, line->operand[i]);
    for (size_t i = 0;
         as_opt_known(line, "input") && (input = as_opt_list_at(line, "input", i)) != NULL; i++)
        allow_input(rules, input);
    for (size_t i = 0; (opt = as_cmd_opt_at(line->cmd, i)) != NULL; i++)
        if (is_output(line, i))
            allow_output(rules, line->value[i], opt->kind == AS_OPT_FOLDER);
    if (as_opt_known(line, "trace") && as_opt_given(line, "trace") && !as_show_run_path(line))
        allow_temporary(rules);
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

/* Of /proc, what is about the machine and about this process. The descriptors stay open: the
 * kernel makes other inodes of these names once nobody has them. */
static void allow_proc(const struct ruleset *rules)
{
    static const char *const about[] = {
        "/proc/self",    "/proc/cpuinfo",    "/proc/meminfo", "/proc/stat",
        "/proc/loadavg", "/proc/sys/kernel", "/proc/sys/vm",
    };

    for (size_t i = 0; i < AS_COUNT_OF(about); i++)
        allow_held(rules, as_open(about[i], O_PATH), RIGHTS_READ);
    allow_held(rules, as_open("/proc/self/clear_refs", O_PATH), LANDLOCK_ACCESS_FS_WRITE_FILE);
}

static void allow_system(const struct ruleset *rules)
{
    static const char *const folders[] = {"/usr", "/lib", "/lib64", "/etc", "/sys", "/opt"};
    static const char *const devices[] = {"/dev/null",    "/dev/zero",   "/dev/full",
                                          "/dev/urandom", "/dev/random", "/dev/tty"};

    for (size_t i = 0; i < AS_COUNT_OF(folders); i++)
        allow_reading(rules, folders[i]);
    for (size_t i = 0; i < AS_COUNT_OF(devices); i++)
        allow(rules, devices[i],
              LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE);
}

static void confine_files(const struct as_cmd_line *line)
{
    struct ruleset rules;
    char cache[PATH_MAX];

    if (ruleset_new(&rules) < 0)
        return;
    allow_system(&rules);
    allow_proc(&rules);
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

/* ---- modes ---- */

/* Outputs get the modes of the files that they replace. */
static void keep_modes_of(struct as_kept_modes *kept, const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return;
    kept->modes |= st->st_mode & 0777;
    if (st->st_gid != getegid()) {
        kept->group = st->st_gid;
        kept->has_group = true;
    }
}

static void keep_modes_in(struct as_kept_modes *kept, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    struct stat st;

    while (dir && (entry = readdir(dir)) != NULL)
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            keep_modes_of(kept, &st);
    if (dir)
        (void)closedir(dir);
}

static void keep_modes(const struct as_cmd_line *line, struct as_kept_modes *kept)
{
    const struct as_opt *opt;
    struct stat st;

    for (size_t i = 0; (opt = as_cmd_opt_at(line->cmd, i)) != NULL; i++)
        if (is_output(line, i) && opt->kind == AS_OPT_FOLDER)
            keep_modes_in(kept, line->value[i]);
        else if (is_output(line, i) && lstat(line->value[i], &st) == 0)
            keep_modes_of(kept, &st);
}

void as_sandbox_enter(const struct as_cmd_line *line)
{
    struct as_kept_modes kept = {.modes = 0600};

    if (is_traced || !line->cmd->confined || as_opt_given(line, "no-sandbox"))
        return;
    confine_files(line);
    keep_modes(line, &kept);
    as_sandbox_calls(&kept);
}
