/* watch/watch_signals.c - lets a program behave towards signals as if nobody stood before it.
 */
#include "watch/watch_run.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"

/* In the order in which they are passed on: behind a SIGTERM, a SIGCONT would reach a program that
 * is already ending. */
static const int passed[] = {SIGCONT, SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                             SIGUSR1, SIGUSR2, SIGTSTP, SIGCHLD};

static void fill(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < AS_COUNT_OF(passed); i++)
        sigaddset(set, passed[i]);
}

void as_watch_signals_block(sigset_t *saved)
{
    sigset_t set;

    fill(&set);
    sigemptyset(saved);
    (void)pthread_sigmask(SIG_BLOCK, &set, saved);
}

void as_watch_signals_restore(const sigset_t *saved)
{
    const struct timespec now = {0};
    sigset_t set;

    fill(&set);
    while (sigtimedwait(&set, NULL, &now) > 0)
        ;
    (void)pthread_sigmask(SIG_SETMASK, saved, NULL);
}

int as_watch_signals_open(void)
{
    sigset_t set;

    fill(&set);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The terminal signals every process of the group in front: the program has it already, unless it
 * went into a group of its own, where a terminal signal was not meant for it. */
static bool is_ours_to_pass(const struct signalfd_siginfo *info, const struct as_process_tree *tree)
{
    if (info->ssi_signo == SIGCHLD || info->ssi_code == SI_KERNEL)
        return false;
    return !(info->ssi_code == SI_USER && tree && as_process_tree_has(tree, info->ssi_pid));
}

/* The order in which they came is not told: the lowest number is read first. */
void as_watch_signals_pass(int fd, pid_t pid, const struct as_process_tree *tree)
{
    struct signalfd_siginfo info;
    bool came[AS_COUNT_OF(passed)] = {false};

    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        for (size_t i = 0; i < AS_COUNT_OF(passed); i++)
            came[i] |= passed[i] == (int)info.ssi_signo && is_ours_to_pass(&info, tree);
    for (size_t i = 0; i < AS_COUNT_OF(passed); i++)
        if (came[i])
            (void)kill(pid, passed[i]);
}

static void stop_by(int signal)
{
    sigset_t set, before;

    sigemptyset(&set);
    sigaddset(&set, signal);
    (void)raise(signal);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, &before); /* here we stop, and go on from here */
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void as_watch_signals_mirror_stop(pid_t pid)
{
    siginfo_t info;

    memset(&info, 0, sizeof info);
    if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) != 0 || info.si_pid != pid)
        return;
    if (info.si_status == SIGTSTP || info.si_status == SIGTTIN || info.si_status == SIGTTOU)
        stop_by(info.si_status);
}
