/* tests/unit/test_guest_stack.c - how much of the stack it is called on a mark takes, at the most:
 * measured in a handler on a stack that was painted before, in a program and in its child. */
#include "recorder_kit.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "trace/record/guest.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define IS_RELEASE false
#else
#define IS_RELEASE true
#endif

#define STACK_BYTES ((size_t)256 << 10)
#define PAINT       0x5a

static uint8_t *stack;
static size_t *depth; /* shared with the child: of nothing, of marks */

static void mark_nothing(int number)
{
    (void)number;
}

static void mark_all(int number)
{
    (void)number;
    assay_message("the first mark of the process");
    assay_instant("a name that is new");
    assay_iteration(1);
    assay_sample(assay_channel("channel", "bytes"), 1);
    assay_async_begin("async", 1);
    assay_iteration_end();
    for (int i = 0; i < 50000; i++) { /* a ring */
        ASSAY_SCOPE("work");
        if (i % 1000 == 0)
            assay_note("key", i);
    }
}

static size_t bytes_used(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    size_t untouched = 0;

    memset(stack, PAINT, STACK_BYTES);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    while (untouched < STACK_BYTES && stack[untouched] == PAINT)
        untouched++;
    return STACK_BYTES - untouched;
}

static void measure(size_t *nothing, size_t *marks)
{
    *nothing = bytes_used(mark_nothing);
    *marks = bytes_used(mark_all);
}

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(p != MAP_FAILED);
    return p;
}

static void expect_little(const size_t measured[2])
{
    print_message("%zu bytes\n", measured[1] - measured[0]);
    assert_in_range(measured[1] - measured[0], 1, AS_GUEST_STACK_BYTES);
}

static void a_mark_takes_little_of_the_stack(void **state)
{
    pid_t pid;

    (void)state;
    if (!IS_RELEASE) /* whose frames are many times as large */
        skip();
    stack = map(STACK_BYTES);
    depth = map(4 * sizeof *depth);
    assert_int_equal(sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK_BYTES}, NULL), 0);
    rec_start("run.assay", NULL);
    pid = fork();
    if (pid == 0) {
        measure(&depth[2], &depth[3]);
        _exit(0);
    }
    rec_wait(pid);
    measure(&depth[0], &depth[1]);
    rec_stop();
    expect_little(depth);
    expect_little(depth + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_mark_takes_little_of_the_stack, rec_clean),
    };

    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
