/* tests/helpers/run_manners.c - does one thing that a program under watch might do, and ends with a
 * status that tells whether it went as it should. usage: run_manners MODE */
#include <elf.h>
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AS_IT_SHOULD = 42 };

/* Calls that work leave errno as it was. */
static int keeps_errno(void)
{
    void *block, *map;
    pid_t pid;

    errno = EXDEV;
    block = malloc(100);
    block = realloc(block, 1 << 20);
    free(block);
    block = calloc(10, 10);
    free(block);
    free(NULL);
    if (errno != EXDEV)
        return 1;
    map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || munmap(map, 1 << 20) != 0 || errno != EXDEV)
        return 2;
    pid = fork();
    if (pid == 0)
        _exit(errno == EXDEV ? 0 : 1);
    if (errno != EXDEV)
        return 3;
    return pid > 0 && waitpid(pid, NULL, 0) == pid ? AS_IT_SHOULD : 4;
}

static int closes_everything(void)
{
    for (int fd = 0; fd < 4096; fd++)
        (void)close(fd);
    for (int i = 0; i < 1000; i++)
        free(malloc(100));
    return AS_IT_SHOULD;
}

static int forks_often(void)
{
    for (int i = 0; i < 1000; i++) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            free(malloc(10));
            _exit(i % 100);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != i % 100)
            return 1;
    }
    return AS_IT_SHOULD;
}

static void *end_program(void *unused)
{
    (void)unused;
    exit(AS_IT_SHOULD);
}

static int ends_in_a_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, end_program, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 2;
}

static int runs_out_of_memory(void)
{
    struct rlimit limit = {64 << 20, 64 << 20};
    void *block;

    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 1;
    errno = 0;
    block = malloc((size_t)1 << 30);
    if (block || errno != ENOMEM) {
        free(block);
        return 2;
    }
    free(malloc(1000));
    return AS_IT_SHOULD;
}

static int stands_on_its_own(void)
{
    sigset_t mask;

    if (sigprocmask(SIG_SETMASK, NULL, &mask) != 0)
        return 1;
    for (int i = 1; i < 32; i++) {
        struct sigaction action;

        if (sigismember(&mask, i))
            printf("blocked %d\n", i);
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            printf("ignored %d\n", i);
    }
    return AS_IT_SHOULD;
}

/* Waits for a signal, having said that it can be sent. */
static volatile sig_atomic_t caught;

static void catch (int number)
{
    caught = number;
}

static int waits_for_a_signal(void)
{
    static const int number[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};
    struct sigaction action = {.sa_handler = catch};
    sigset_t all, before;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        sigaction(number[i], &action, NULL);
        sigdelset(&before, number[i]);
    }
    printf("ready\n");
    fflush(stdout);
    while (!caught)
        sigsuspend(&before);
    printf("caught %d\n", (int)caught);
    return AS_IT_SHOULD;
}

static int aborts(void)
{
    const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
    abort();
}

/* Locks all its memory, what is there and what comes, under the usual limit, without the right to
 * pass over it. */
static int locks_its_memory(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];
    struct rlimit limit = {8 << 20, 8 << 20};
    void *block, *map;

    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || syscall(SYS_capget, &head, has) != 0)
        return 1;
    has[0].effective &= ~(1u << CAP_IPC_LOCK);
    if (syscall(SYS_capset, &head, has) != 0)
        return 2;
    block = malloc(1000); /* of before, freed behind it */
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return 3;
    free(block);
    map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || munmap(map, 1 << 20) != 0)
        return 4;
    for (int i = 0; i < 1000; i++)
        free(malloc(100 + (size_t)i));
    return forks_often();
}

static int sets_its_own_preload(void)
{
    static const char mine[] = "/nonexistent/of-my-own.so";
    const char *got;

    setenv("LD_PRELOAD", mine, 1);
    got = getenv("LD_PRELOAD");
    return got && strcmp(got, mine) == 0 ? AS_IT_SHOULD : 1;
}

static char **arguments;

/* As the runtime of Go does: behind the arguments the environment, behind that what the kernel
 * says. */
static int looks_behind_its_environment(void)
{
    char **at = arguments;

    while (*at++)
        ;
    while (*at++)
        ;
    for (const unsigned long *word = (const unsigned long *)(const void *)at; word[0]; word += 2)
        if (word[0] == AT_PAGESZ)
            return word[1] == (unsigned long)sysconf(_SC_PAGESIZE) ? AS_IT_SHOULD : 1;
    return 2;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } mode[] = {
        {"errno", keeps_errno},
        {"close", closes_everything},
        {"fork", forks_often},
        {"thread", ends_in_a_thread},
        {"memory", runs_out_of_memory},
        {"signals", stands_on_its_own},
        {"wait", waits_for_a_signal},
        {"abort", aborts},
        {"preload", sets_its_own_preload},
        {"lock", locks_its_memory},
        {"auxv", looks_behind_its_environment},
    };

    arguments = argv;
    for (size_t i = 0; argc == 2 && i < sizeof mode / sizeof *mode; i++)
        if (strcmp(argv[1], mode[i].name) == 0)
            return mode[i].run();
    fprintf(stderr, "usage: run_manners MODE\n");
    return 2;
}
