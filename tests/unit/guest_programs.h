/* tests/unit/guest_programs.h - small programs that do to themselves what real programs do. Each is
 * one function: it brings about its situation, calls guest_open() where a program would begin to be
 * profiled, guest_mark() where it works and guest_close() before it ends, and says in `out.txt`
 * what it sees. Included by test_guest.c, whose child process runs one of them. */
#ifndef AS_TESTS_GUEST_PROGRAMS_H
#define AS_TESTS_GUEST_PROGRAMS_H

#include <assay/manager.h>
#include <assay/session.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GUEST_SANITIZED 1
#else
#define GUEST_SANITIZED 0
#endif

#define NOBODY 65534

enum guest_mode { GUEST_BARE, GUEST_RECORDER, GUEST_MANAGER, GUEST_MODES };

static enum guest_mode guest_mode;
static struct assay_manager *guest_manager;
static char guest_out[PATH_MAX]; /* absolute */
static const char *guest_self;   /* the program's own name and its arguments, for exec */

/* ---- what a program does with its profiler ---- */

static void guest_open(void)
{
    if (guest_mode == GUEST_RECORDER && assay_session_open("run.assay", NULL, NULL) < 0)
        _exit(90);
    if (guest_mode == GUEST_MANAGER) {
        if (assay_manager_new(&guest_manager, NULL, NULL) < 0)
            _exit(91);
        (void)assay_manager_start(guest_manager, NULL); /* refused where it gets no thread */
    }
}

static void guest_work(void)
{
    if (guest_mode == GUEST_MANAGER) {
        ASSAY_MANAGER_LAYER(guest_manager, "work");
    } else {
        ASSAY_SCOPE("work");
    }
}

/* Enough that a chunk is full, and names that are new. */
static void guest_mark(void)
{
    static _Atomic int n;
    char name[32];

    snprintf(name, sizeof name, "new %d", atomic_fetch_add(&n, 1) % 100);
    if (guest_mode == GUEST_RECORDER) {
        uint32_t layer = assay_layer(name);

        assay_begin(layer);
        assay_end(layer);
    }
    for (int i = 0; i < (guest_mode == GUEST_MANAGER ? 20 : 3000); i++)
        guest_work();
}

/* Its result is not looked at: what a program prints does not depend on the profiler. */
static void guest_close(void)
{
    if (guest_mode == GUEST_RECORDER)
        assay_session_close(NULL);
    if (guest_mode == GUEST_MANAGER) {
        assay_manager_end(guest_manager, NULL);
        assay_manager_free(guest_manager);
    }
}

/* ---- what it sees ---- */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char text[1024];
    va_list list;
    int n, fd;

    va_start(list, format);
    n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fd = open(guest_out, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, text, (size_t)n) != n)
        _exit(92);
    close(fd);
}

/* A manager keeps files of /proc open, at numbers out of the way: see docs/security.md. */
static bool is_manager_file(int fd, const char *target)
{
    return guest_mode == GUEST_MANAGER && fd >= 900 && strncmp(target, "/proc/", 6) == 0;
}

/* By asking for every number, since /proc may be out of reach. */
static void say_descriptors(void)
{
    for (int fd = 0; fd < 1100; fd++) {
        char link[64], target[PATH_MAX] = "";
        int flags = fcntl(fd, F_GETFD);

        if (flags < 0)
            continue;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (readlink(link, target, sizeof target - 1) < 0)
            target[0] = '\0';
        if (is_manager_file(fd, target))
            continue;
        if (strncmp(target, "pipe:", 5) == 0 || strncmp(target, "socket:", 7) == 0)
            strchr(target, ':')[0] = '\0'; /* its number is another each time */
        if (strrchr(target, '/') && target[0] == '/')
            memmove(target, strrchr(target, '/'), strlen(strrchr(target, '/')) + 1);
        say("descriptor %d flags %d file %s\n", fd, flags, target);
    }
}

static void say_signals(void)
{
    sigset_t mask, pending;

    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigpending(&pending);
    for (int s = 1; s < NSIG; s++) {
        struct sigaction action;

        if (sigaction(s, NULL, &action) != 0)
            continue;
        if (action.sa_handler != SIG_DFL || sigismember(&mask, s) == 1 ||
            sigismember(&pending, s) == 1)
            say("signal %d %s masked %d pending %d\n", s,
                action.sa_handler == SIG_DFL   ? "default"
                : action.sa_handler == SIG_IGN ? "ignored"
                                               : "handled",
                sigismember(&mask, s), sigismember(&pending, s));
    }
}

/* All that must be as it is without us. */
static void guest_look(const char *when)
{
    mode_t mask = umask(0);
    char folder[PATH_MAX] = "";

    umask(mask);
    say("-- %s\n", when);
    say("umask %o folder %s children %d\n", mask,
        getcwd(folder, sizeof folder) && strrchr(folder, '/')[1] ? "some" : "root",
        waitpid(-1, NULL, WNOHANG) == 0 || errno != ECHILD);
    say_descriptors();
    say_signals();
}

/* Writes known bytes into files of its own, and reports the numbers they get. */
static void write_files(const char *prefix, int n)
{
    int fd[64];

    for (int i = 0; i < n; i++) {
        char name[64], text[64];
        int size = snprintf(text, sizeof text, "%s %d: known bytes\n", prefix, i);

        snprintf(name, sizeof name, "%s%d.db", prefix, i);
        fd[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
        say("opened %s as %d\n", name, fd[i]);
        if (fd[i] >= 0 && write(fd[i], text, (size_t)size) != size)
            _exit(93);
    }
    for (int i = 0; i < 3; i++)
        guest_mark();
    for (int i = 0; i < n; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

static void wait_for(pid_t pid)
{
    int status = -1;

    if (waitpid(pid, &status, 0) != pid)
        say("wait failed with %d\n", errno);
    say("child: %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* ---- descriptors ---- */

static void p_plain(void)
{
    guest_open();
    guest_mark();
    write_files("plain", 4);
    guest_look("open");
    guest_close();
    guest_look("closed");
}

static void close_all(int from)
{
    for (int fd = from; fd < 1024; fd++)
        close(fd);
}

static void p_closefrom(void)
{
    guest_open();
    guest_mark();
    closefrom(3);
    write_files("closefrom", 20);
    guest_look("open");
    guest_close();
    guest_look("closed");
}

static void p_close_range(void)
{
    guest_open();
    guest_mark();
    close_range(3, ~0u, 0);
    write_files("range", 20);
    guest_close();
}

static void p_close_loop(void)
{
    guest_open();
    guest_mark();
    close_all(3);
    write_files("loop", 60);
    guest_mark();
    guest_close();
    guest_look("closed");
}

/* A file of its own under every number there is. */
static void p_dup_over(void)
{
    int own = open("own.db", O_RDWR | O_CREAT, 0644);

    guest_open();
    guest_mark();
    for (int fd = 3; fd < 1024; fd++)
        if (fd != own)
            dup2(own, fd);
    for (int i = 0; i < 40; i++) {
        guest_mark();
        if (write(3 + i * 20, "line\n", 5) != 5)
            _exit(93);
    }
    guest_close();
    guest_look("closed");
}

static void close_first(int n)
{
    for (int fd = 0; fd < n; fd++)
        close(fd);
}

static void p_no_stdin(void)
{
    close_first(1);
    guest_open();
    guest_mark();
    write_files("stdin", 3);
    guest_close();
    guest_look("closed");
}

static void p_no_standard_files(void)
{
    close_first(3);
    guest_open();
    guest_mark();
    (void)!write(1, "nowhere", 7);
    (void)!write(2, "nowhere", 7);
    write_files("standard", 5);
    guest_close();
    guest_look("closed");
}

static void p_standard_files_replaced(void)
{
    guest_open();
    guest_mark();
    close_first(3);
    write_files("replaced", 5);
    guest_mark();
    guest_look("open");
    guest_close();
}

static void p_no_free_number(void)
{
    struct rlimit limit = {3, 4096};
    int fd, error;

    guest_open();
    guest_mark();
    setrlimit(RLIMIT_NOFILE, &limit);
    guest_mark();
    fd = open("none.db", O_RDWR | O_CREAT, 0644);
    error = errno;
    guest_mark();
    guest_close();
    limit.rlim_cur = 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    say("open gives %d, errno %d\n", fd, error);
    guest_look("closed");
}

/* Nobody else keeps the writing end of a pipe open. */
static void p_end_of_pipe(void)
{
    int ends[2];
    char byte;

    if (pipe(ends) != 0)
        _exit(93);
    guest_open();
    guest_mark();
    close(ends[1]);
    say("read gives %zd\n", read(ends[0], &byte, 1));
    guest_close();
}

/* ---- folders and rights ---- */

static void put_text(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        _exit(93);
    close(fd);
}

/* Files of the same names, of another program, stand where it goes. */
static void p_chdir(void)
{
    mkdir("other", 0755);
    put_text("other/run.assay", "precious");
    put_text("other/run.assay.ring", "precious");
    guest_open();
    guest_mark();
    if (chdir("other") != 0)
        _exit(93);
    guest_mark();
    guest_close();
    guest_look("closed");
}

static void p_chroot(void)
{
    mkdir("cell", 0755);
    put_text("cell/run.assay.ring", "precious");
    guest_open();
    guest_mark();
    if (chroot("cell") != 0 || chdir("/") != 0)
        _exit(93);
    snprintf(guest_out, sizeof guest_out, "/out.txt");
    guest_mark();
    write_files("root", 3);
    guest_close();
    guest_look("closed");
}

static void p_umask(void)
{
    umask(0777);
    guest_open();
    umask(027);
    guest_mark();
    write_files("umask", 2);
    guest_close();
    guest_look("closed");
}

/* Of every thread there is. */
static void say_ids(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int other = 0;

    while (tasks && (entry = readdir(tasks))) {
        char path[300], line[256];
        FILE *status;

        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        status = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (status && fgets(line, sizeof line, status))
            other += (strncmp(line, "Uid:", 4) == 0 || strncmp(line, "Gid:", 4) == 0) &&
                     !strstr(line, "65534\t65534\t65534\t65534");
        if (status)
            fclose(status);
    }
    if (tasks)
        closedir(tasks);
    say("threads with other rights: %d\n", other);
}

static void drop_rights(void)
{
    if (chmod(".", 0777) != 0 || setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 ||
        setuid(NOBODY) != 0)
        _exit(93);
}

static void p_setuid(void)
{
    put_text(guest_out, "");
    chmod(guest_out, 0666);
    guest_open();
    guest_mark();
    drop_rights();
    say_ids();
    guest_mark();
    write_files("nobody", 2);
    guest_close();
    guest_look("closed");
}

/* ---- limits ---- */

static void p_no_thread_to_be_had(void)
{
    struct rlimit limit = {0, 0};

    put_text(guest_out, "");
    chmod(guest_out, 0666);
    drop_rights();
    setrlimit(RLIMIT_NPROC, &limit);
    guest_open();
    guest_mark();
    closefrom(3);
    write_files("alone", 20);
    guest_look("open");
    guest_close();
    guest_look("closed");
}

static void p_address_space(void)
{
    struct rlimit limit;
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    guest_open();
    guest_mark();
    if (!f || fscanf(f, "%lu", &pages) != 1)
        _exit(93);
    fclose(f);
    limit.rlim_cur = limit.rlim_max = (pages + 16384) * 4096;
    setrlimit(RLIMIT_AS, &limit);
    for (int i = 0; i < 10; i++)
        guest_mark();
    write_files("space", 2);
    guest_close();
}

static void p_file_size(void)
{
    struct rlimit limit = {200000, 200000};

    guest_open();
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 60; i++)
        guest_mark();
    write_files("size", 2);
    guest_close();
    guest_look("closed");
}

static _Atomic int n_signals;

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&n_signals, 1);
}

static void p_file_size_handled(void)
{
    struct rlimit limit = {100000, 100000};

    signal(SIGXFSZ, count_signal);
    setrlimit(RLIMIT_FSIZE, &limit);
    if (guest_mode == GUEST_RECORDER) /* the ring is larger than that, and the run in time too */
        (void)assay_session_open("run.assay", NULL, NULL);
    else
        guest_open();
    for (int i = 0; i < 60; i++)
        guest_mark();
    guest_close();
    say("signals %d\n", atomic_load(&n_signals));
    guest_look("closed");
}

static void p_locked_memory(void)
{
    guest_open();
    guest_mark();
    say("mlockall: %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
    guest_mark();
    guest_close();
}

/* ---- processes ---- */

static void p_fork(void)
{
    pid_t pid;

    guest_open();
    guest_mark();
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 30; i++)
            guest_mark();
        closefrom(3);
        write_files("child", 20);
        guest_look("child");
        exit(7);
    }
    wait_for(pid);
    guest_mark();
    guest_close();
    guest_look("closed");
}

/* A child replaces every number after it recorded, and writes into what it has there. */
static void p_fork_dup_over(void)
{
    pid_t pid;

    guest_open();
    pid = fork();
    if (pid == 0) {
        int own = open("child.db", O_RDWR | O_CREAT, 0644);

        guest_mark();
        for (int fd = 3; fd < 1024; fd++)
            if (fd != own)
                dup2(own, fd);
        for (int i = 0; i < 30; i++)
            guest_mark();
        guest_look("child");
        _exit(0);
    }
    wait_for(pid);
    guest_close();
}

static _Atomic bool marker_ended;

static void *mark_much(void *unused)
{
    for (int i = 0; i < 400; i++)
        guest_mark();
    atomic_store(&marker_ended, true);
    return unused;
}

/* A child that marks on one thread, while another puts a file of its own under every low number
 * again and again. Nothing may come into that file, and no number of it may be closed. */
static void replace_numbers(void)
{
    int own = fcntl(open("child.db", O_RDWR | O_CREAT, 0644), F_DUPFD, 50), closed = 0;
    pthread_t thread;
    struct stat st;

    close_range(3, 49, 0);
    pthread_create(&thread, NULL, mark_much, NULL);
    while (!atomic_load(&marker_ended)) {
        for (int fd = 3; fd < 8; fd++)
            dup2(own, fd);
        for (int fd = 3; fd < 8; fd++)
            closed += close(fd) != 0;
    }
    pthread_join(thread, NULL);
    fstat(own, &st);
    say("bytes of others %d, closed by others %d\n", st.st_size != 0, closed);
}

static void p_fork_numbers_replaced(void)
{
    pid_t pid;

    guest_open();
    pid = fork();
    if (pid == 0) {
        replace_numbers();
        _exit(0);
    }
    wait_for(pid);
    guest_close();
}

static void p_thousand_forks(void)
{
    int bad = 0;

    guest_open();
    guest_mark();
    for (int i = 0; i < (GUEST_SANITIZED ? 50 : 1000); i++) {
        pid_t pid = fork();
        int status;

        if (pid == 0)
            _exit(i % 7);
        bad += waitpid(pid, &status, 0) != pid || status != (i % 7) << 8;
    }
    say("bad children: %d\n", bad);
    guest_close();
    guest_look("closed");
}

static void *fork_and_mark(void *unused)
{
    pid_t pid = fork();

    if (pid == 0) {
        guest_mark();
        exit(3);
    }
    wait_for(pid);
    return unused;
}

static void p_fork_in_thread(void)
{
    pthread_t thread;

    guest_open();
    guest_mark();
    for (int i = 0; i < 5; i++) {
        pthread_create(&thread, NULL, fork_and_mark, NULL);
        pthread_join(thread, NULL);
    }
    guest_mark();
    guest_close();
}

static void p_vfork(void)
{
    guest_open();
    guest_mark();
    for (int i = 0; i < 20; i++) {
        pid_t pid = vfork();

        if (pid == 0) {
            execl("/bin/sh", "sh", "-c", "ls /proc/self/fd | wc -l >>vfork.txt; exit 5",
                  (char *)NULL);
            _exit(1);
        }
        wait_for(pid);
    }
    guest_close();
}

extern char **environ;

static void p_spawn(void)
{
    char shell[] = "sh", option[] = "-c";
    char line[] = "ls /proc/self/fd | wc -l >>spawn.txt; exit 4";
    char *const argv[] = {shell, option, line, NULL};
    pid_t pid;

    guest_open();
    guest_mark();
    for (int i = 0; i < 20; i++) {
        if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) != 0)
            _exit(93);
        wait_for(pid);
    }
    guest_close();
}

static void p_pipe_from_child(void)
{
    int ends[2];
    char text[256];
    ssize_t n;
    pid_t pid;

    if (pipe(ends) != 0)
        _exit(93);
    guest_open();
    guest_mark();
    pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        closefrom(3);
        execl("/bin/sh", "sh", "-c", "echo one; ls /proc/self/fd | wc -l", (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    while ((n = read(ends[0], text, sizeof text)) > 0)
        say("%.*s", (int)n, text);
    close(ends[0]);
    wait_for(pid);
    guest_close();
    guest_look("closed");
}

/* The same program again and again; its profiler is not closed. */
static void p_exec_chain(void)
{
    const char *left = getenv("GUEST_CHAIN");
    char next[16], mode[16];
    int n = left ? left[0] - '0' : 3;

    guest_open();
    guest_mark();
    guest_look("link");
    if (n == 0) {
        guest_close();
        return;
    }
    snprintf(next, sizeof next, "%d", n - 1);
    snprintf(mode, sizeof mode, "%d", (int)guest_mode);
    setenv("GUEST_CHAIN", next, 1);
    execl(guest_self, guest_self, "exec_chain", mode, (char *)NULL);
    _exit(93);
}

static void p_bare_clone(void)
{
    guest_open();
    guest_mark();
    for (int i = 0; i < 3; i++) {
        pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

        if (pid == 0) {
            guest_mark();
            _exit(6);
        }
        wait_for(pid);
    }
    guest_close();
}

/* As every daemon does; the first process waits for the end of the pipe, which only the daemon has.
 */
static void p_daemon(void)
{
    char folder[PATH_MAX], byte;
    int ends[2], null;
    pid_t pid;

    if (!getcwd(folder, sizeof folder) || pipe(ends) != 0)
        _exit(93);
    guest_open();
    guest_mark();
    pid = fork();
    if (pid == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        guest_mark();
        if (chdir("/") != 0)
            _exit(93);
        umask(0);
        close(ends[0]);
        dup2(ends[1], 3);
        close_first(3);
        closefrom(4);
        null = open("/dev/null", O_RDWR);
        dup2(null, 1);
        dup2(null, 2);
        for (int i = 0; i < 30; i++)
            guest_mark();
        if (chdir(folder) != 0)
            _exit(93);
        write_files("daemon", 20);
        guest_look("daemon");
        exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 0) /* all that the daemon says comes before what we say */
        say("the pipe did not end\n");
    wait_for(pid);
    guest_mark();
    guest_close();
}

/* ---- threads and signals ---- */

static void *mark_in_thread(void *unused)
{
    guest_mark();
    return unused;
}

static void p_many_threads(void)
{
    pthread_t thread[50];
    int made = 0;

    guest_open();
    for (int i = 0; i < 50; i++)
        made += pthread_create(&thread[i], NULL, mark_in_thread, NULL) == 0;
    for (int i = 0; i < made; i++)
        pthread_join(thread[i], NULL);
    say("threads %d\n", made);
    guest_close();
    guest_look("closed");
}

static void mark_in_handler(int number)
{
    (void)number;
    guest_work();
    atomic_fetch_add(&n_signals, 1);
}

static void p_signal_storm(void)
{
    const struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

    signal(SIGALRM, mark_in_handler);
    guest_open();
    setitimer(ITIMER_REAL, &every, NULL);
    while (atomic_load(&n_signals) < 100)
        guest_mark();
    setitimer(ITIMER_REAL, &never, NULL);
    guest_close();
    signal(SIGALRM, SIG_IGN); /* one may be on its way */
    guest_look("closed");
}

static sigjmp_buf landing;

static void jump(int number)
{
    (void)number;
    guest_work();
    siglongjmp(landing, 1);
}

static void p_jump_from_handler(void)
{
    static volatile int n;

    signal(SIGUSR1, jump);
    guest_open();
    if (sigsetjmp(landing, 1) == 0 || n < 200) {
        n++;
        guest_mark();
        raise(SIGUSR1);
    }
    say("jumps %d\n", n);
    guest_mark();
    guest_close();
    guest_look("closed");
}

static jmp_buf outside;

static void leave_scope(void)
{
    ASSAY_SCOPE("left by a jump");
    guest_mark();
    longjmp(outside, 1);
}

static void p_jump_from_scope(void)
{
    static volatile int n;

    guest_open();
    if (setjmp(outside) == 0 || n < 50) {
        n++;
        leave_scope();
    }
    say("jumps %d\n", n);
    guest_close();
    guest_look("closed");
}

static void end_thread(int number)
{
    (void)number;
    guest_work();
    pthread_exit(NULL);
}

static void *raise_in_thread(void *unused)
{
    guest_mark();
    raise(SIGUSR2);
    return unused;
}

static void p_thread_ends_in_handler(void)
{
    pthread_t thread;

    signal(SIGUSR2, end_thread);
    guest_open();
    for (int i = 0; i < 20; i++) {
        pthread_create(&thread, NULL, raise_in_thread, NULL);
        pthread_join(thread, NULL);
    }
    guest_mark();
    guest_close();
    guest_look("closed");
}

static _Atomic bool marks_on;

static void *mark_until_cancelled(void *unused)
{
    for (;;) {
        guest_mark();
        atomic_store(&marks_on, true);
        pthread_testcancel();
    }
    return unused;
}

static void p_cancel(void)
{
    pthread_t thread;
    void *result;

    guest_open();
    for (int i = 0; i < 10; i++) {
        atomic_store(&marks_on, false);
        pthread_create(&thread, NULL, mark_until_cancelled, NULL);
        while (!atomic_load(&marks_on))
            sched_yield();
        pthread_cancel(thread);
        pthread_join(thread, &result);
        say("cancelled %d\n", result == PTHREAD_CANCELED);
    }
    guest_close();
}

static void *wait_for_signal(void *unused)
{
    sigset_t set;
    int number = 0;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    say("sigwait %d", sigwait(&set, &number));
    say(" %d\n", number);
    return unused;
}

/* A signal to the process goes to the thread that waits for it. */
static void p_sigwait(void)
{
    pthread_t thread;
    sigset_t set;

    guest_open();
    guest_mark();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&thread, NULL, wait_for_signal, NULL);
    kill(getpid(), SIGUSR1);
    pthread_join(thread, NULL);
    guest_close();
    guest_look("closed");
}

static void p_broken_pipe(void)
{
    int ends[2];

    signal(SIGPIPE, count_signal);
    if (pipe(ends) != 0)
        _exit(93);
    guest_open();
    guest_mark();
    close(ends[0]);
    errno = 0;
    if (write(ends[1], "x", 1) < 0)
        say("write fails with %d\n", errno);
    guest_mark();
    say("signals %d\n", atomic_load(&n_signals));
    guest_close();
}

/* A mark of a name that is new, in a handler on a stack of 8 KiB: the kernel's frame takes up to a
 * half of it. */
static void mark_on_small_stack(int number)
{
    (void)number;
    if (guest_mode == GUEST_RECORDER) {
        assay_instant("in a handler");
        ASSAY_SCOPE("new in a handler");
    }
    guest_work();
}

static void raise_on_small_stack(void)
{
    enum { PAGE = 4096, SIZE = 2 * PAGE };
    char *map = mmap(NULL, PAGE + SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = map + PAGE, .ss_size = SIZE};
    struct sigaction action = {.sa_flags = SA_ONSTACK};

    action.sa_handler = mark_on_small_stack;
    if (map == MAP_FAILED || mprotect(map + PAGE, SIZE, PROT_READ | PROT_WRITE) != 0 ||
        sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
        _exit(93);
    for (int i = 0; i < 5000; i++) /* more than a chunk */
        raise(SIGUSR1);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    signal(SIGUSR1, SIG_DFL);
}

static void *work_in_thread(void *unused)
{
    for (int i = 0; i < 5000; i++)
        guest_work();
    return unused;
}

static void mark_in_small_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    if (pthread_create(&thread, &attributes, work_in_thread, NULL) != 0)
        _exit(93);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static void p_small_stacks(void)
{
    static void (*const mark[])(void) = {raise_on_small_stack, mark_in_small_thread};

    guest_open();
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            mark[i]();
            mark[1 - i]();
            _exit(0);
        }
        wait_for(pid);
        mark[i]();
    }
    guest_close();
    guest_look("closed");
}

/* ---- ends ---- */

static void say_last(void)
{
    guest_mark();
    printf("from an exit handler\n");
}

static void p_exit_handlers(void)
{
    atexit(say_last);
    guest_open();
    guest_mark();
    printf("in main\n");
    exit(9);
}

static void *outlive_main(void *first)
{
    pthread_join(*(pthread_t *)first, NULL);
    guest_mark();
    printf("from the last thread\n"); /* left in the buffer: exit() writes it */
    return NULL;
}

/* main() ends its thread alone; the program ends with the last one, and flushes its output. */
static void p_main_ends_first(void)
{
    static pthread_t first;
    pthread_t thread;

    first = pthread_self();
    atexit(say_last);
    guest_open();
    guest_mark();
    pthread_create(&thread, NULL, outlive_main, &first);
    pthread_detach(thread);
    pthread_exit(NULL);
}

static void p_killed(void)
{
    guest_open();
    guest_mark();
    raise(SIGKILL);
}

static void p_aborts(void)
{
    struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
    guest_open();
    guest_mark();
    abort();
}

static void p_quick_exit(void)
{
    guest_open();
    guest_mark();
    printf("never written");
    _exit(11);
}

static void leave(int number)
{
    guest_work();
    _exit(number);
}

static void p_exit_in_handler(void)
{
    signal(SIGUSR1, leave);
    guest_open();
    guest_mark();
    raise(SIGUSR1);
}

/* ---- the files of the run ---- */

static void p_run_removed(void)
{
    guest_open();
    guest_mark();
    unlink("run.assay");
    unlink("run.assay.ring");
    guest_mark();
    put_text("run.assay.ring", "the program's own");
    guest_close();
    rename("run.assay.ring", "kept.db");
    guest_look("closed");
}

/* A program may read the files of its own run. */
static void p_run_read(void)
{
    char byte;

    guest_open();
    guest_mark();
    for (int i = 0; i < 2; i++) {
        int fd = open(i ? "run.assay.ring" : "run.assay", O_RDONLY);

        if (fd >= 0)
            (void)!read(fd, &byte, 1);
        close(fd);
    }
    guest_mark();
    guest_close();
    guest_look("closed");
}

/* ---- a plugin ---- */

static void *guest_plugin;

static void *plugin_symbol(const char *name)
{
    void *found = guest_plugin ? dlsym(guest_plugin, name) : NULL;

    if (!found)
        _exit(93);
    return found;
}

static void plugin_load(void)
{
    const char *slash = strrchr(guest_self, '/');
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%.*s/libguest_plugin.so", slash ? (int)(slash - guest_self) : 1,
             slash ? guest_self : ".");
    guest_plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *work_in_plugin(void *go_on)
{
    void (*work)(int);

    *(void **)&work = plugin_symbol("plugin_work");
    work(1000);
    pthread_barrier_wait(go_on); /* it has marked */
    pthread_barrier_wait(go_on); /* the plugin is gone */
    return NULL;
}

/* The plugin holds the recorder, and is unloaded while a thread that marked lives on; the session
 * is not closed. */
static void p_unload(void)
{
    int (*open_session)(const char *);
    pthread_barrier_t go_on;
    pthread_t thread;
    pid_t pid;

    plugin_load();
    *(void **)&open_session = plugin_symbol("plugin_open");
    if (guest_mode == GUEST_RECORDER && open_session("run.assay") < 0)
        _exit(90);
    pthread_barrier_init(&go_on, NULL, 2);
    pthread_create(&thread, NULL, work_in_plugin, &go_on);
    pthread_barrier_wait(&go_on);
    say("unloaded %d\n", dlclose(guest_plugin));
    guest_look("unloaded");
    pid = fork();
    if (pid == 0)
        exit(8);
    wait_for(pid);
    pthread_barrier_wait(&go_on);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&go_on);
    write_files("unload", 3);
    guest_look("ended");
}

/* ---- filters ---- */

static void install_filter(const struct sock_filter *filter, size_t n)
{
    union {
        const struct sock_filter *in;
        struct sock_filter *out;
    } view = {.in = filter};
    struct sock_fprog program = {(unsigned short)n, view.out};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        _exit(93);
}

#define FILTER_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define FILTER_LET(call)                                                                           \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define FILTER_REFUSE(call)                                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

/* A worker that is killed at any call but its own and the two that docs/security.md names. */
static void p_confined(void)
{
    static const struct sock_filter filter[] = {
        FILTER_NUMBER,          FILTER_LET(write),
        FILTER_LET(exit_group), FILTER_LET(rt_sigprocmask),
        FILTER_LET(futex),      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};

    guest_open();
    guest_work(); /* the first mark makes more calls */
    if (guest_mode != GUEST_MANAGER)
        install_filter(filter, sizeof filter / sizeof *filter);
    for (int i = 0; i < 9999; i++)
        guest_work();
    (void)!write(1, "worked\n", 7);
    _exit(7);
}

/* As containers of some years ago have it: nobody gets an empty table of descriptors. */
static void p_no_own_table(void)
{
    static const struct sock_filter filter[] = {FILTER_NUMBER, FILTER_REFUSE(close_range),
                                                FILTER_REFUSE(unshare),
                                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    pthread_t thread;
    pid_t pid;

    install_filter(filter, sizeof filter / sizeof *filter);
    guest_open();
    guest_mark();
    close_all(3);
    pthread_create(&thread, NULL, mark_in_thread, NULL);
    pthread_join(thread, NULL);
    write_files("table", 20);
    pid = fork();
    if (pid == 0) {
        guest_mark();
        write_files("child", 5);
        guest_look("child");
        exit(7);
    }
    wait_for(pid);
    guest_look("open");
    guest_close();
    guest_look("closed");
}

/* ---- a ring that is shortened ---- */

/* What `: >FILE` does, to every ring that is here. How many let it. */
static int truncate_rings(void)
{
    DIR *folder = opendir(".");
    struct dirent *entry;
    int n = 0;

    while (folder && (entry = readdir(folder))) {
        const char *suffix = strrchr(entry->d_name, '.');
        int fd = -1;

        if (suffix && strcmp(suffix, ".ring") == 0)
            fd = open(entry->d_name, O_WRONLY | O_TRUNC);
        if (fd >= 0)
            close(fd);
        n += fd >= 0;
    }
    closedir(folder);
    return n;
}

/* Root may shorten every file. */
static void be_nobody(void)
{
    put_text(guest_out, "");
    chmod(guest_out, 0666);
    if (geteuid() == 0)
        drop_rights();
}

static void p_ring_truncated(void)
{
    pid_t pid;

    be_nobody();
    guest_open();
    guest_mark();
    say("shortened %d\n", truncate_rings());
    guest_mark();
    pid = fork();
    if (pid == 0) {
        guest_mark();
        say("shortened in the child %d\n", truncate_rings());
        for (int i = 0; i < 30; i++)
            guest_mark();
        guest_look("child");
        exit(7);
    }
    wait_for(pid);
    guest_close();
    guest_look("closed");
}

/* A second thread gets a part of the ring of its own, which is opened again for that. */
static void p_ring_truncated_alone(void)
{
    static const struct sock_filter filter[] = {FILTER_NUMBER, FILTER_REFUSE(close_range),
                                                FILTER_REFUSE(unshare),
                                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    pthread_t thread;

    be_nobody();
    install_filter(filter, sizeof filter / sizeof *filter);
    guest_open();
    guest_mark();
    say("shortened %d\n", truncate_rings());
    pthread_create(&thread, NULL, mark_in_thread, NULL);
    pthread_join(thread, NULL);
    say("shortened again %d\n", truncate_rings());
    guest_mark();
    guest_close();
    guest_look("closed");
}

/* ---- errno ---- */

static void p_errno(void)
{
    int bad = 0;

    guest_open();
    for (int i = 1; i < 3000; i++) {
        errno = i % 130;
        guest_work();
        bad += errno != i % 130;
    }
    errno = 77;
    (void)assay_session_lost();
    (void)assay_session_is_open();
    assay_session_pause();
    assay_session_resume();
    (void)assay_layer_set(1, "key", "value", NULL);
    assay_message("text");
    assay_instant("instant");
    assay_async_begin("async", 1);
    assay_async_end("async", 1);
    assay_iteration(1);
    assay_iteration_end();
    assay_note("note", 1);
    assay_phase_begin(ASSAY_PHASE_FORWARD);
    assay_phase_end(ASSAY_PHASE_FORWARD);
    bad += errno != 77;
    guest_close();
    bad += errno != 77;
    say("errno changed %d times\n", bad);
}

static void p_not_dumpable(void)
{
    guest_open();
    prctl(PR_SET_DUMPABLE, 0);
    for (int i = 0; i < 20; i++)
        guest_mark();
    write_files("dump", 2);
    guest_close();
}

enum guest_need { NEEDS_NOTHING, NEEDS_ROOT, NO_SANITIZER, NO_TSAN };

struct guest_program {
    const char *name;
    void (*run)(void);
    int calls; /* of "work" that the run holds; -1: as many as it may be */
    enum guest_need need;
};

#define PER_MARK 3000

static const struct guest_program guest_program[] = {
    {"plain", p_plain, 4 * PER_MARK, NEEDS_NOTHING},
    {"closefrom", p_closefrom, 4 * PER_MARK, NEEDS_NOTHING},
    {"close_range", p_close_range, 4 * PER_MARK, NEEDS_NOTHING},
    {"close_loop", p_close_loop, 5 * PER_MARK, NEEDS_NOTHING},
    {"dup_over", p_dup_over, 41 * PER_MARK, NEEDS_NOTHING},
    {"no_stdin", p_no_stdin, 4 * PER_MARK, NEEDS_NOTHING},
    {"no_standard_files", p_no_standard_files, 4 * PER_MARK, NEEDS_NOTHING},
    {"standard_files_replaced", p_standard_files_replaced, 5 * PER_MARK, NEEDS_NOTHING},
    {"no_free_number", p_no_free_number, 3 * PER_MARK, NEEDS_NOTHING},
    {"end_of_pipe", p_end_of_pipe, PER_MARK, NEEDS_NOTHING},
    {"chdir", p_chdir, 2 * PER_MARK, NEEDS_NOTHING},
    {"chroot", p_chroot, 5 * PER_MARK, NEEDS_ROOT},
    {"umask", p_umask, 4 * PER_MARK, NEEDS_NOTHING},
    {"setuid", p_setuid, 5 * PER_MARK, NEEDS_ROOT},
    {"no_thread_to_be_had", p_no_thread_to_be_had, 4 * PER_MARK, NEEDS_ROOT},
    {"address_space", p_address_space, 14 * PER_MARK, NO_SANITIZER},
    {"file_size", p_file_size, -1, NEEDS_NOTHING},
    {"file_size_handled", p_file_size_handled, -1, NEEDS_NOTHING},
    {"locked_memory", p_locked_memory, 2 * PER_MARK, NO_SANITIZER},
    {"fork", p_fork, 2 * PER_MARK, NEEDS_NOTHING},
    {"fork_dup_over", p_fork_dup_over, 0, NEEDS_NOTHING},
    {"fork_numbers_replaced", p_fork_numbers_replaced, 0, NO_SANITIZER},
    {"thousand_forks", p_thousand_forks, PER_MARK, NEEDS_NOTHING},
    {"fork_in_thread", p_fork_in_thread, 2 * PER_MARK, NO_SANITIZER},
    {"vfork", p_vfork, PER_MARK, NEEDS_NOTHING},
    {"spawn", p_spawn, PER_MARK, NEEDS_NOTHING},
    {"pipe_from_child", p_pipe_from_child, PER_MARK, NEEDS_NOTHING},
    {"exec_chain", p_exec_chain, PER_MARK, NEEDS_NOTHING},
    {"bare_clone", p_bare_clone, PER_MARK, NO_SANITIZER},
    {"daemon", p_daemon, 2 * PER_MARK, NEEDS_NOTHING},
    {"many_threads", p_many_threads, 50 * PER_MARK, NEEDS_NOTHING},
    {"signal_storm", p_signal_storm, -1, NO_TSAN},
    {"jump_from_handler", p_jump_from_handler, -1, NEEDS_NOTHING},
    {"jump_from_scope", p_jump_from_scope, 50 * PER_MARK, NEEDS_NOTHING},
    {"thread_ends_in_handler", p_thread_ends_in_handler, 21 * PER_MARK + 20, NO_SANITIZER},
    {"cancel", p_cancel, -1, NO_SANITIZER},
    {"sigwait", p_sigwait, PER_MARK, NEEDS_NOTHING},
    {"broken_pipe", p_broken_pipe, 2 * PER_MARK, NEEDS_NOTHING},
    {"small_stacks", p_small_stacks, 10000, NO_SANITIZER},
    {"exit_handlers", p_exit_handlers, -1, NEEDS_NOTHING},
    {"main_ends_first", p_main_ends_first, -1, NO_SANITIZER},
    {"killed", p_killed, PER_MARK, NEEDS_NOTHING},
    {"aborts", p_aborts, PER_MARK, NEEDS_NOTHING},
    {"quick_exit", p_quick_exit, PER_MARK, NEEDS_NOTHING},
    {"exit_in_handler", p_exit_in_handler, PER_MARK + 1, NEEDS_NOTHING},
    {"run_removed", p_run_removed, -1, NEEDS_NOTHING},
    {"run_read", p_run_read, 2 * PER_MARK, NEEDS_NOTHING},
    {"ring_truncated", p_ring_truncated, 2 * PER_MARK, NEEDS_NOTHING},
    {"ring_truncated_alone", p_ring_truncated_alone, 3 * PER_MARK, NO_SANITIZER},
    {"unload", p_unload, 1000, NO_SANITIZER},
    {"confined", p_confined, 10000, NO_SANITIZER},
    {"no_own_table", p_no_own_table, 5 * PER_MARK, NO_SANITIZER},
    {"errno", p_errno, 2999, NEEDS_NOTHING},
    {"not_dumpable", p_not_dumpable, 23 * PER_MARK, NEEDS_NOTHING},
};

#endif
