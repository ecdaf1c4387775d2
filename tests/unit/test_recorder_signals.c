/* tests/unit/test_recorder_signals.c - handlers that record while the code they interrupt does.
 * Once at random, by timers, and once between any two instructions of a mark, by single steps. */
#include "recorder_kit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include "trace/record/recorder.h"

/* How often signals come, and how many must have come before the test is content. TSan takes longer
 * to hand one over than the code takes between two. */
#define EVERY_US (REC_TSAN ? 2000 : 31)
#define SETTLED  (REC_TSAN ? 200u : 2000u)

static _Atomic uint64_t n_handled, n_handled_inside;

static void handle_alarm(int signal)
{
    (void)signal;
    ASSAY_SCOPE("alarm"); /* the first time, its first mark of all */
    ASSAY_BEGIN("in alarm");
    ASSAY_END("in alarm");
    atomic_fetch_add(&n_handled, 1);
}

/* May interrupt the other handler. */
static void handle_virtual(int signal)
{
    (void)signal;
    ASSAY_SCOPE("virtual");
    atomic_fetch_add(&n_handled_inside, 1);
}

static void set_timer(enum __itimer_which which, long us)
{
    const struct itimerval every = {{0, us}, {0, us}};

    assert_int_equal(setitimer(which, &every, NULL), 0);
}

/* TSan keeps the mask of the code that a handler interrupts in one place: when another signal comes
 * while it hands one over, it puts back the mask of the handler, which holds all of them. */
static void mend_mask(void)
{
    sigset_t both;

    sigemptyset(&both);
    sigaddset(&both, SIGALRM);
    sigaddset(&both, SIGVTALRM);
    if (REC_TSAN)
        pthread_sigmask(SIG_UNBLOCK, &both, NULL);
}

static void record_under_timers(const struct assay_session_options *options)
{
    struct sigaction on_alarm = {.sa_handler = handle_alarm},
                     on_virtual = {.sa_handler = handle_virtual};
    uint64_t calls = 0;
    struct rec r;

    atomic_store(&n_handled, 0);
    atomic_store(&n_handled_inside, 0);
    sigaction(SIGALRM, &on_alarm, NULL);
    sigaction(SIGVTALRM, &on_virtual, NULL);
    rec_start("run.assay", options);
    set_timer(ITIMER_REAL, EVERY_US);
    set_timer(ITIMER_VIRTUAL, 1000);
    while (atomic_load(&n_handled) < SETTLED || atomic_load(&n_handled_inside) < 20) {
        for (int i = 0; i < 100; i++) {
            ASSAY_SCOPE("work");
            ASSAY_BEGIN("inner");
            ASSAY_END("inner");
            ASSAY_SWITCH("first");
            ASSAY_SWITCH("second");
            ASSAY_SWITCH_END();
            calls++;
        }
        mend_mask();
    }
    set_timer(ITIMER_REAL, 0);
    set_timer(ITIMER_VIRTUAL, 0);
    signal(SIGALRM, SIG_IGN);
    signal(SIGVTALRM, SIG_IGN);
    rec_stop();
    assert_int_equal(assay_session_lost(), 0);
    r = rec_read("run.assay");
    assert_int_equal(rec_calls(&r, "work"), calls);
    assert_int_equal(rec_calls(&r, "inner"), calls);
    assert_int_equal(rec_calls(&r, "alarm"), atomic_load(&n_handled));
    assert_int_equal(rec_calls(&r, "in alarm"), atomic_load(&n_handled));
    assert_int_equal(rec_calls(&r, "virtual"), atomic_load(&n_handled_inside));
    assert_int_equal(r.layers->stray_ends, 0);
    assert_int_equal(r.layers->unclosed, 0);
    assert_int_equal(r.layers->open, 0);
    assert_int_equal(r.layers->bad_events, 0);
    assert_int_equal(r.layers->lost_events, 0);
    assert_int_equal(r.layers->backwards, 0);
    rec_done(&r);
}

static void handlers_record_while_the_main_code_does(void **state)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};

    (void)state;
    options.overflow = ASSAY_OVERFLOW_WAIT;
    record_under_timers(&options);
}

static void and_with_the_system_clock(void **state)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};

    (void)state;
    options.overflow = ASSAY_OVERFLOW_WAIT;
    options.clock = ASSAY_CLOCK_MONOTONIC;
    options.ring_kib = 128;
    record_under_timers(&options);
}

/* ---- single steps ---- */

#if defined(__x86_64__) && !REC_TSAN

#define TRAP_FLAG 0x100

static struct {
    uint64_t at, now; /* the step at which the handler records, and the step it is */
    unsigned n_calls; /* how many scopes it records then */
    uint32_t site;
    bool fired;
} steps;

static void step(int signal, siginfo_t *info, void *context)
{
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;

    (void)signal, (void)info;
    if ((uintptr_t)reg[REG_RIP] == (uintptr_t)assay_record_slow_)
        reg[REG_EFL] &= ~TRAP_FLAG; /* it holds signals back, and a held trap would kill us */
    if (steps.now++ != steps.at)
        return;
    steps.fired = true;
    for (unsigned i = 0; i < steps.n_calls; i++) {
        assay_begin(steps.site);
        assay_end(steps.site);
    }
}

static void start_steps(void)
{
    __asm__ __volatile__("pushfq\n orq $0x100, (%%rsp)\n popfq" : : : "memory", "cc");
}

static void end_steps(void)
{
    __asm__ __volatile__("pushfq\n andq $~0x100, (%%rsp)\n popfq" : : : "memory", "cc");
}

static __attribute__((noinline)) void one_mark(uint32_t site, bool begin)
{
    start_steps();
    if (begin)
        assay_begin(site);
    else
        assay_end(site);
    end_steps();
}

/* Records scopes until `left` slots of the chunk are free; returns how many. */
static uint64_t fill_chunk(uint32_t site, size_t left)
{
    uint64_t n = 0;

    for (;;) {
        size_t free_slots =
            assay_lane_.at < assay_lane_.end ? (assay_lane_.end - assay_lane_.at) / 16 : 0;

        if (free_slots == left || free_slots == left + 1)
            return n;
        assay_begin(site);
        assay_end(site);
        n++;
    }
}

/* One scope whose marks are each interrupted at every instruction in turn, with the chunk that
 * full. */
static void step_through(size_t left, unsigned n_calls)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    uint32_t fill = assay_layer("fill"), site = assay_layer("stepped");
    uint64_t filled = 0, stepped = 0, handled = 0;
    struct rec r;

    options.overflow = ASSAY_OVERFLOW_WAIT;
    options.ring_kib = 128;
    steps.site = assay_layer("handler");
    steps.n_calls = n_calls;
    rec_start("run.assay", &options);
    for (int second = 0; second < 2; second++) {
        for (steps.at = 0;; steps.at++) {
            filled++;
            assay_begin(fill); /* odd counts of slots need an odd number of marks */
            filled += fill_chunk(fill, left + (size_t)(second && left == 0));
            steps.fired = false;
            steps.now = second ? UINT64_MAX - 100000 : 0;
            one_mark(site, true);
            steps.now = second ? 0 : UINT64_MAX - 100000;
            one_mark(site, false);
            assay_end(fill);
            stepped++;
            handled += steps.fired ? n_calls : 0;
            if (!steps.fired)
                break;
        }
        assert_true(steps.at > 5);
    }
    rec_stop();
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(rec_calls(&r, "stepped"), stepped);
    assert_int_equal(rec_calls(&r, "handler"), handled);
    assert_int_equal(rec_calls(&r, "fill"), filled);
    rec_done(&r);
}

static void a_handler_may_come_between_any_two_instructions(void **state)
{
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO}, kept;

    (void)state;
    sigaction(SIGTRAP, &action, &kept);
    for (size_t left = 0; left < 6; left++)
        step_through(left, 1);
    step_through(0, 3);
    step_through(2, 300);
    step_through(2000, 1);
    sigaction(SIGTRAP, &kept, NULL);
}

#else

static void a_handler_may_come_between_any_two_instructions(void **state)
{
    (void)state;
    skip(); /* steps are known for x86-64 alone, and TSan puts signals off */
}

#endif

#define RECORDED(test) cmocka_unit_test_teardown(test, rec_clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDED(handlers_record_while_the_main_code_does),
        RECORDED(and_with_the_system_clock),
        RECORDED(a_handler_may_come_between_any_two_instructions),
    };

    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
