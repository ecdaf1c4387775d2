/* cmd/common/interrupt.c - Ctrl-C while something is measured: the first one ends the measurement
 * and keeps what there is, the second one ends the program at once. */
#include "cmd/common/interrupt.h"

#include <sys/types.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "cmd/guard/guards.h"

static const int first_only[] = {SIGINT, SIGTERM};
static const int at_once[] = {SIGHUP, SIGQUIT};

/* A signal handler has no other way to reach them. */
static atomic_int watched, on_terminal;
static struct as_stop flag = {.watched = &watched};
static const volatile sig_atomic_t no_child;
static const volatile sig_atomic_t *_Atomic child = &no_child;

void as_interrupt_pass_on(int number)
{
    pid_t pid = (pid_t)*atomic_load_explicit(&child, memory_order_relaxed);

    if (pid > 0)
        (void)kill(-pid, number); /* its process group */
}

static void end_now(int number)
{
    as_interrupt_pass_on(number);
    as_guards_clean();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* Nothing was measured: the progress line goes, one sentence says so. */
static void end_empty(int number)
{
    static const char text[] = "assay: interrupted before the first iteration was measured\n";

    as_interrupt_pass_on(number);
    as_guards_clean();
    if (atomic_load(&on_terminal))
        (void)!write(STDERR_FILENO, "\r\033[K", 4);
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(128 + number);
}

static void end_or_ask(int number)
{
    int none = 0;

    /* A first inference may never end, and there is nothing to keep. */
    if (!atomic_load(&watched))
        end_empty(number);
    if (atomic_compare_exchange_strong(&flag.asked, &none, number))
        as_interrupt_pass_on(number);
    else
        end_now(number);
}

static void handle(const int *numbers, size_t n, void (*handler)(int))
{
    for (size_t i = 0; i < n; i++) {
        struct sigaction now = {.sa_handler = SIG_DFL};
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

        (void)sigemptyset(&action.sa_mask);
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
}

void as_interrupt_watch(void)
{
    atomic_store(&on_terminal, isatty(STDERR_FILENO));
    handle(first_only, AS_COUNT_OF(first_only), end_or_ask);
}

void as_interrupt_child(const volatile sig_atomic_t *pid)
{
    atomic_store(&child, pid ? pid : &no_child);
    if (pid)
        handle(at_once, AS_COUNT_OF(at_once), end_now);
}

const struct as_stop *as_interrupt_flag(void)
{
    return &flag;
}

bool as_interrupted(void)
{
    return as_stop_asked(&flag);
}

int as_interrupt_result(int rc, const struct assay_error *err)
{
    int status = AS_ANSWER_STATUS + 128 + atomic_load(&flag.asked);

    if (!as_interrupted() || (rc < 0 && rc != ASSAY_ERR_STATE))
        return rc;
    if (rc < 0)
        as_console_fail(err->msg);
    return status;
}
