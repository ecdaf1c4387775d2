/* trace/run/file_limit.c - writes of our own that reach RLIMIT_FSIZE fail like any other write. */
#include "trace/run/file_limit.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static bool is_pending(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

void as_file_limit_enter(struct as_file_limit *limit)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, &limit->saved);
    limit->was_pending = is_pending();
}

void as_file_limit_leave(const struct as_file_limit *limit)
{
    const struct timespec at_once = {0, 0};
    int kept = errno;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    if (!limit->was_pending && is_pending())
        (void)sigtimedwait(&set, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &limit->saved, NULL);
    errno = kept;
}
