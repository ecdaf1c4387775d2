/* tests/unit/test_guest.c - a program is the same with a profiler in it: what it prints, how it
 * ends, its files byte by byte, its descriptors, signals and errno. Each program of
 * guest_programs.h runs bare, with the recorder and with the manager, in a folder of its own. */
#include "guest_programs.h"
#include "unit.h"

#include "analyze/run/layers.h"
#include "base/buffer.h"

/* ---- one program, one mode ---- */

static int become(const char *self, const char *name, const char *mode)
{
    char folder[PATH_MAX];

    guest_self = self;
    guest_mode = (enum guest_mode)(mode[0] - '0');
    if (!getcwd(folder, sizeof folder) ||
        snprintf(guest_out, sizeof guest_out, "%s/out.txt", folder) >= (int)sizeof guest_out)
        return 94;
    for (size_t i = 0; i < UNIT_COUNT(guest_program); i++) {
        if (strcmp(guest_program[i].name, name) == 0) {
            guest_program[i].run();
            return 0;
        }
    }
    return 95;
}

/* The files of a run are the only difference there may be. */
static bool is_of_run(const char *name)
{
    return strncmp(name, "run.", 4) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void put(struct as_buffer *to, const void *bytes, size_t size)
{
    assert_true(as_buffer_add(to, bytes, size));
}

/* Every file below: its name, mode, owner and bytes. */
static void take_folder(struct as_buffer *to, const char *folder, bool top)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, NULL, by_name);

    assert_true(n >= 0);
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX], text[PATH_MAX + 64];
        struct stat st;
        int fd, size;

        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        assert_int_equal(lstat(path, &st), 0);
        if (entry[i]->d_name[0] == '.' || (top && is_of_run(entry[i]->d_name))) {
            free(entry[i]);
            continue;
        }
        size = snprintf(text, sizeof text, "\n== %s mode %o owner %d\n", entry[i]->d_name,
                        st.st_mode, (int)st.st_uid);
        put(to, text, (size_t)size);
        if (S_ISDIR(st.st_mode)) {
            take_folder(to, path, false);
        } else {
            char bytes[4096];
            ssize_t got;

            fd = open(path, O_RDONLY);
            assert_true(fd >= 0);
            while ((got = read(fd, bytes, sizeof bytes)) > 0)
                put(to, bytes, (size_t)got);
            close(fd);
        }
        free(entry[i]);
    }
    free(entry);
}

static void remove_folder(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *entry;

    assert_non_null(d);
    while ((entry = readdir(d))) {
        char path[PATH_MAX];

        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlink(path) != 0)
            remove_folder(path);
    }
    closedir(d);
    rmdir(folder);
}

static void begin_child(const char *folder, const char *self, const char *name, const char *mode)
{
    int out;

    if (chdir(folder) != 0)
        _exit(96);
    unsetenv("ASSAY_RUN");
    unsetenv("ASSAY_REPORT");
    out = open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(out, 1);
    if (!GUEST_SANITIZED) /* what a sanitizer has to say is for us */
        dup2(out, 2);
    closefrom(3);
    execl(self, self, name, mode, (char *)NULL);
    _exit(97);
}

static void run_mode(const struct guest_program *p, enum guest_mode mode, const char *folder,
                     struct as_buffer *seen)
{
    char self[PATH_MAX] = "", word[8], text[64];
    int status, size;
    pid_t pid;

    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(word, sizeof word, "%d", (int)mode);
    pid = fork();
    if (pid == 0)
        begin_child(folder, self, p->name, word);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    size = snprintf(text, sizeof text, "%s %d\n", WIFSIGNALED(status) ? "signal" : "status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    put(seen, text, (size_t)size);
    take_folder(seen, folder, true);
    put(seen, "", 1);
}

static void check_calls(const struct guest_program *p, const char *folder)
{
    struct as_layers *layers = NULL;
    struct assay_error err;
    char path[PATH_MAX];
    struct as_run *run = NULL;
    uint64_t calls = 0;

    snprintf(path, sizeof path, "%s/run.assay", folder);
    if (p->calls < 0 && access(path, F_OK) != 0)
        return;
    if (as_run_open(&run, path, &err) < 0 || as_layers_analyze(&layers, run, NULL, &err) < 0)
        fail_msg("%s: %s", p->name, err.msg);
    for (size_t i = 0; i < layers->n_layers; i++)
        if (strcmp(layers->layer[i].info->name, "work") == 0)
            calls = layers->layer[i].calls;
    if (p->calls >= 0 && calls + layers->lost_events / 2 != (uint64_t)p->calls)
        fail_msg("%s: %llu calls of %d were recorded, %llu events lost", p->name,
                 (unsigned long long)calls, p->calls, (unsigned long long)layers->lost_events);
    assert_int_equal(run->health.damaged_blocks, 0);
    as_layers_free(layers);
    as_run_close(run);
}

static void first_difference(const char *bare, const char *other, const char *name,
                             const char *mode)
{
    size_t at = 0, line = 0;

    while (bare[at] && bare[at] == other[at]) {
        if (bare[at] == '\n')
            line = at + 1;
        at++;
    }
    fail_msg("%s is another program with the %s:\nbare: %.400s\nwith: %.400s", name, mode,
             bare + line, other + line);
}

static bool is_possible(const struct guest_program *p)
{
#if defined(__SANITIZE_THREAD__)
    if (p->need == NO_TSAN)
        return false; /* it delivers signals late and one by one */
#endif
    if (p->need == NO_SANITIZER && GUEST_SANITIZED)
        return false; /* its allocator takes the address space, or is locked in the child */
    return p->need != NEEDS_ROOT || geteuid() == 0;
}

static void a_program_is_the_same_with_a_profiler(void **state)
{
    static const char *const mode_name[GUEST_MODES] = {"", "recorder", "manager"};
    const struct guest_program *p = *state;
    struct as_buffer seen[GUEST_MODES] = {{0}};

    if (!is_possible(p)) {
        print_message("%s: not here\n", p->name);
        skip();
    }
    for (int mode = 0; mode < GUEST_MODES; mode++) {
        char folder[] = "/tmp/assay-guest-XXXXXX";

        assert_non_null(mkdtemp(folder));
        run_mode(p, (enum guest_mode)mode, folder, &seen[mode]);
        if (mode == GUEST_RECORDER)
            check_calls(p, folder);
        remove_folder(folder);
        if (strcmp((char *)seen[0].data, (char *)seen[mode].data) != 0)
            first_difference((char *)seen[0].data, (char *)seen[mode].data, p->name,
                             mode_name[mode]);
    }
    for (int mode = 0; mode < GUEST_MODES; mode++)
        as_buffer_fini(&seen[mode]);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[UNIT_COUNT(guest_program)];

    if (argc == 3)
        return become(argv[0], argv[1], argv[2]);
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    for (size_t i = 0; i < UNIT_COUNT(guest_program); i++)
        tests[i] = (struct CMUnitTest){.name = guest_program[i].name,
                                       .test_func = a_program_is_the_same_with_a_profiler,
                                       .initial_state = (void *)(uintptr_t)&guest_program[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
