/* cmd/guard/guards.c - what the program sets up before anything else, so that it ends without
 * harm. Programs we start get none of it: handlers end at exec, and descriptors are closed there.
 */
#include "cmd/guard/guards.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/file/file_guard.h"
#include "base/file/file_map.h"
#include "base/file/new_file.h"
#include "base/units.h"
#include "cmd/guard/output_keeper.h"

enum { FAILED = 3 };

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU};

void as_guards_clean(void)
{
    as_temporaries_remove();
    as_output_keeper_end();
}

static void end(int number)
{
    as_guards_clean();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void carry_on(int number)
{
    (void)number;
}

/* What a reader of a file's pages gets when they are not there anymore. Anywhere else it is our own
 * mistake, and ends us as such. */
static void end_shrunk(int number, siginfo_t *info, void *context)
{
    static const char before[] = "assay: cannot read ",
                      after[] = ": it was cut short, or its disk failed, while it was read\n";
    const char *path = as_file_map_find(info->si_addr);

    (void)context;
    if (!path) {
        (void)signal(number, SIG_DFL);
        return; /* the same access ends us now */
    }
    as_guards_clean();
    (void)!write(STDERR_FILENO, before, sizeof before - 1);
    for (size_t i = 0; path[i]; i++) {
        bool shown = path[i] >= 0x20 && path[i] < 0x7f;

        (void)!write(STDERR_FILENO, shown ? &path[i] : "?", 1);
    }
    (void)!write(STDERR_FILENO, after, sizeof after - 1);
    _exit(FAILED);
}

/* Writing to what stands in for standard output fails, as it did when that was closed; for standard
 * error there is nobody to tell. */
static void fill_standard(void)
{
    static const int flags[] = {O_RDONLY, O_RDONLY, O_RDWR};

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", flags[fd] | O_CLOEXEC);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction now = {.sa_handler = SIG_DFL};
    struct sigaction action = {.sa_handler = handler};

    (void)sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        (void)sigaction(number, &action, NULL);
}

void as_guards_set(void)
{
    struct sigaction shrunk = {.sa_sigaction = end_shrunk, .sa_flags = SA_SIGINFO};

    fill_standard();
    for (size_t i = 0; i < AS_COUNT_OF(ending); i++)
        handle(ending[i], end);
    handle(SIGXFSZ, carry_on);
    (void)sigemptyset(&shrunk.sa_mask);
    (void)sigaction(SIGBUS, &shrunk, NULL);
    as_guard_inputs();
    as_file_map_guarded();
}
