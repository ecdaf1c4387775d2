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
#include "base/file/file_read.h"
#include "base/file/new_file.h"
#include "base/output.h"
#include "base/units.h"
#include "cmd/common/cache_folder.h"
#include "cmd/common/show_options.h"
#include "cmd/guard/output_keeper.h"
#include "cmd/guard/outputs.h"
#include "cmd/guard/sandbox_calls.h"
#include "trace/run/run_path.h"

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

enum { MOST_BESIDE = 500 }; /* names in a folder: about 1 ms */

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

/* Made before it is asked for; "": none is needed. */
static char line_temporary[AS_TEMPORARY_PATH];
static const char *line_run; /* NULL: none is recorded */

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

/* What the command does with an output called NAME.assay. */
enum run_use { RUN_NONE, RUN_MADE, RUN_RECORDED };

/* A run that is made at once is one file; one that is recorded has its ring beside it meanwhile. */
static enum run_use run_use_of(const struct as_cmd_line *line, size_t i)
{
    const char *path = as_show_run_path(line);

    if (!path || line->value[i] != path)
        return RUN_NONE;
    return strcmp(line->cmd->name, "sweep") == 0     ? RUN_MADE
           : strcmp(line->cmd->name, "profile") == 0 ? RUN_RECORDED
                                                     : RUN_NONE;
}

static bool keep_output(const struct as_cmd_line *line, size_t i)
{
    switch (run_use_of(line, i)) {
    case RUN_MADE:
        return as_output_keep_run(line->value[i], &line_run);
    case RUN_RECORDED:
        return false;
    default:
        return as_output_keep(line->value[i]);
    }
}

/* What can be opened now is put in place by the keeper: its folder is not given away. */
static void prepare_outputs(const struct as_cmd_line *line, bool kept[])
{
    const struct as_opt *opt;

    for (size_t i = 0; (opt = as_cmd_opt_at(line->cmd, i)) != NULL; i++) {
        if (!as_output_is(line, i))
            continue;
        if (opt->kind == AS_OPT_FOLDER)
            as_output_keep_folder(line->value[i], opt->is_private ? 0700 : 0777);
        else
            kept[i] = keep_output(line, i);
    }
    if (as_opt_known(line, "trace") && as_opt_given(line, "trace") && !as_show_run_path(line) &&
        as_temporary_folder_prepare(line_temporary, NULL) == ASSAY_OK)
        as_output_keep_temporary(line_temporary);
}

/* A device is written as it stands, and a link is refused later: the folder is not needed. Of a
 * file that is replaced the beginning is read, which may be that of a model. */
static void allow_output(const struct ruleset *rules, const char *path, bool is_folder, bool kept)
{
    struct stat st;
    bool there = lstat(path, &st) == 0;

    if (there && is_folder)
        allow_writing(rules, path);
    else if (kept && there)
        allow(rules, path, LANDLOCK_ACCESS_FS_READ_FILE);
    else if (!kept && (!there || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
        allow_above(rules, path);
    else if (!kept)
        allow(rules, path, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
}

/* It is read again when it is complete, with the ring beside it if there is one. */
static void allow_run(const struct ruleset *rules, const char *path)
{
    char ring[PATH_MAX];

    allow(rules, line_run, LANDLOCK_ACCESS_FS_READ_FILE);
    if (as_run_path_ring(ring, sizeof ring, path))
        allow(rules, ring, LANDLOCK_ACCESS_FS_READ_FILE);
}

/* Whether a file of that kind may have weights in others beside it. */
static bool has_beside(const char *path)
{
    char head[8] = {0};
    int fd = as_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    bool known = fd >= 0 && as_pread_some(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
                 (memcmp(head, "GGUF", 4) == 0 || memcmp(head + 4, "TFL3", 4) == 0);

    if (fd >= 0)
        (void)close(fd);
    return !known;
}

/* The files of a folder, and the folders in it with everything below; none whose name is hidden:
 * keys and settings are kept there. Where there are so many that it would take long, all of it. */
static void allow_beside(const struct ruleset *rules, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t n = 0;

    while (dir && n < MOST_BESIDE && (entry = readdir(dir)) != NULL) {
        int fd;

        if (entry->d_name[0] == '.' ||
            (entry->d_type != DT_REG && entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
            continue;
        fd = as_open_at(dirfd(dir), entry->d_name, O_PATH | O_NOFOLLOW);
        allow_held(rules, fd, RIGHTS_READ);
        if (fd >= 0)
            (void)close(fd);
        n++;
    }
    if (n == MOST_BESIDE)
        allow_reading(rules, folder);
    if (dir)
        (void)closedir(dir);
}

/* The file that an operand names; of one that may have external weights, what lies beside it. */
static bool allow_model(const struct ruleset *rules, const char *path)
{
    char folder[PATH_MAX], real[PATH_MAX], above[PATH_MAX];
    bool beside = has_beside(path);

    allow(rules, path, RIGHTS_READ);
    if (!beside || !folder_of(folder, path))
        return false;
    allow_beside(rules, folder);
    if (realpath(path, real) && folder_of(above, real) && realpath(folder, real) &&
        strcmp(above, real) != 0) /* through a link */
        allow_beside(rules, above);
    return true;
}

/* NAME=FILE */
static void allow_input(const struct ruleset *rules, const char *text)
{
    const char *equals = strchr(text, '=');

    allow(rules, equals && access(text, F_OK) != 0 ? equals + 1 : text, RIGHTS_READ);
}

/* Whether the option names a file or a folder to be read. */
static bool is_read(const struct as_cmd_line *line, const struct as_opt *opt, size_t i)
{
    return line->value[i] && opt->reads && (opt->kind == AS_OPT_FILE || opt->kind == AS_OPT_FOLDER);
}

/* Whether a file may be looked for beside another. */
static bool allow_line(const struct ruleset *rules, const struct as_cmd_line *line,
                       const bool kept[])
{
    const struct as_opt *opt;
    const char *input;
    bool beside = false;

    for (int i = 0; i < line->n_operands; i++)
        if (strncmp(line->operand[i], "zoo:", 4) != 0)
            beside |= allow_model(rules, line->operand[i]);
    for (size_t i = 0;
         as_opt_known(line, "input") && (input = as_opt_list_at(line, "input", i)) != NULL; i++)
        allow_input(rules, input);
    for (size_t i = 0; (opt = as_cmd_opt_at(line->cmd, i)) != NULL; i++)
        if (as_output_is(line, i))
            allow_output(rules, line->value[i], opt->kind == AS_OPT_FOLDER, kept[i]);
        else if (is_read(line, opt, i))
            allow_reading(rules, line->value[i]);
    if (line_temporary[0])
        allow_writing(rules, line_temporary);
    if (line_run)
        allow_run(rules, as_show_run_path(line));
    return beside;
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
    static const char *const folders[] = {"/usr", "/lib", "/lib64", "/sys", "/opt"};
    static const char *const files[] = {"/etc/ld.so.cache", "/etc/localtime",
                                        "/etc/ssl/openssl.cnf"};
    static const char *const devices[] = {"/dev/null",    "/dev/zero",   "/dev/full",
                                          "/dev/urandom", "/dev/random", "/dev/tty"};

    for (size_t i = 0; i < AS_COUNT_OF(folders); i++)
        allow_reading(rules, folders[i]);
    for (size_t i = 0; i < AS_COUNT_OF(files); i++)
        allow(rules, files[i], LANDLOCK_ACCESS_FS_READ_FILE);
    for (size_t i = 0; i < AS_COUNT_OF(devices); i++)
        allow(rules, devices[i],
              LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE);
}

static bool confine_files(const struct as_cmd_line *line)
{
    bool kept[AS_CMD_MAX_OPTS] = {false}, beside;
    struct ruleset rules;
    char cache[PATH_MAX];

    if (ruleset_new(&rules) < 0)
        return true;
    prepare_outputs(line, kept);
    if (!as_output_keeper_start())
        memset(kept, 0, sizeof kept);
    allow_system(&rules);
    allow_proc(&rules);
    allow_program(&rules);
    beside = allow_line(&rules, line, kept);
    /* Made now: afterwards its parent cannot be written. */
    if (as_opt_known(line, "no-roofline") && as_cache_folder(cache) &&
        as_folder_make(cache, 0700, NULL) == ASSAY_OK)
        allow_writing(&rules, cache);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        (void)syscall(SYS_landlock_restrict_self, rules.fd, 0);
    (void)close(rules.fd);
    return beside;
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
        if (as_output_is(line, i) && opt->kind == AS_OPT_FOLDER)
            keep_modes_in(kept, line->value[i]);
        else if (as_output_is(line, i) && lstat(line->value[i], &st) == 0)
            keep_modes_of(kept, &st);
}

void as_sandbox_enter(const struct as_cmd_line *line)
{
    struct as_kept_modes kept = {.modes = 0600};

    if (is_traced || !line->cmd->confined || as_opt_given(line, "no-sandbox"))
        return;
    kept.beside = confine_files(line);
    keep_modes(line, &kept);
    as_sandbox_calls(&kept);
}
