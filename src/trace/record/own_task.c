/* trace/record/own_task.c - runs one function on a task that lives as long as the function does. */
#include "trace/record/own_task.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define UNSHARE_TABLE 2u /* CLOSE_RANGE_UNSHARE */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_BYTES ((size_t)1 << 20)
#else
#define STACK_BYTES ((size_t)128 << 10)
#endif
#define GUARD_BYTES ((size_t)64 << 10) /* a page on every machine */

/* What a thread shares with its process, but for the table of descriptors. */
#define THREAD_FLAGS                                                                               \
    (CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |    \
     CLONE_CHILD_CLEARTID)

#define MOST_LOOKS 10000 /* at a task that ends */

static struct {
    uint8_t *stack;
    void (*work)(void *);
    void *argument;
    _Atomic uint32_t lives; /* the kernel clears it and wakes us when the task ends */
    uint32_t tid;
    bool copies_table; /* an empty table is refused here */
    bool has_table, copies_now;
} task;

bool as_own_task_prepare(void)
{
    uint8_t *base;

    if (task.stack)
        return true;
    base = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    if (mprotect(base + GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE) != 0) {
        munmap(base, GUARD_BYTES + STACK_BYTES);
        return false;
    }
    task.stack = base + GUARD_BYTES;
    return true;
}

/* ---- the machine ---- */

/* A task that runs `main` on the stack that ends at `top` and then ends itself. Its number, which
 * is in task.tid too, or a negative error. */
static long spawn(unsigned long flags, uintptr_t top, void (*main)(void))
{
#if defined(__x86_64__)
    register uintptr_t lives __asm__("r10") = (uintptr_t)&task.lives;
    register uintptr_t tls __asm__("r8") = 0;
    long rc = SYS_clone;

    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xorl %%ebp, %%ebp\n\t"
                     "call *%%rbx\n\t"
                     "xorl %%edi, %%edi\n\t"
                     "movl %[end], %%eax\n\t"
                     "syscall\n\t"
                     "hlt\n"
                     "1:"
                     : "+a"(rc)
                     : "D"(flags), "S"(top), "d"(&task.tid), "r"(lives), "r"(tls),
                       "b"(main), [end] "i"(SYS_exit)
                     : "rcx", "r11", "memory", "cc");
    return rc;
#elif defined(__aarch64__)
    register unsigned long x0 __asm__("x0") = flags;
    register uintptr_t x1 __asm__("x1") = top;
    register uintptr_t x2 __asm__("x2") = (uintptr_t)&task.tid;
    register uintptr_t x3 __asm__("x3") = 0;
    register uintptr_t x4 __asm__("x4") = (uintptr_t)&task.lives;
    register uintptr_t x8 __asm__("x8") = SYS_clone;
    register uintptr_t x19 __asm__("x19") = (uintptr_t)main;

    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "blr x19\n\t"
                     "mov x0, xzr\n\t"
                     "mov x8, %[end]\n\t"
                     "svc #0\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x8), "r"(x19), [end] "i"(SYS_exit)
                     : "memory", "cc");
    return (long)x0;
#else
    (void)flags;
    (void)top;
    (void)main;
    return -1;
#endif
}

/* Runs `main` on the stack that ends at `top`; elsewhere on the caller's. */
__attribute__((noinline)) static void run_on(uintptr_t top, void (*main)(void))
{
#if defined(__x86_64__)
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "call *%[main]\n\t"
                     "movq %%rbx, %%rsp"
                     : [top] "+r"(top), [main] "+r"(main)
                     :
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory",
                       "cc");
#elif defined(__aarch64__)
    register uintptr_t x19 __asm__("x19") = top;
    register uintptr_t x20 __asm__("x20") = (uintptr_t)main;

    __asm__ volatile("mov x21, sp\n\t"
                     "mov sp, x19\n\t"
                     "blr x20\n\t"
                     "mov sp, x21"
                     : "+r"(x19), "+r"(x20)
                     :
                     : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
                       "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x21", "x30", "memory",
                       "cc");
#else
    (void)top;
    main();
#endif
}

/* ---- the task ---- */

static uintptr_t stack_top(void)
{
    return (uintptr_t)task.stack + STACK_BYTES;
}

/* An empty table is taken rather than a copy, which would hold what the program closes. */
static void task_main(void)
{
    task.has_table = task.copies_now || syscall(SYS_close_range, 0u, ~0u, UNSHARE_TABLE) == 0;
    if (task.has_table)
        task.work(task.argument);
}

/* Until nothing of it is left: its descriptors go after it has woken us. */
static void wait_for_end(void)
{
    while (atomic_load(&task.lives))
        syscall(SYS_futex, &task.lives, FUTEX_WAIT, 1u, NULL, NULL, 0);
    for (int i = 0; i < MOST_LOOKS && syscall(SYS_tgkill, getpid(), task.tid, 0) == 0; i++)
        syscall(SYS_sched_yield);
}

static bool run_once(bool copies)
{
    task.has_table = false;
    task.copies_now = copies;
    atomic_store(&task.lives, 1);
    if (spawn(THREAD_FLAGS | (copies ? 0 : CLONE_FILES), stack_top(), task_main) < 0)
        return false;
    wait_for_end();
    return task.has_table;
}

bool as_own_task_run(void (*work)(void *), void *argument)
{
    if (!task.stack)
        return false;
    task.work = work;
    task.argument = argument;
    if (!task.copies_table && run_once(false))
        return true;
    if (!run_once(true))
        return false;
    task.copies_table = true;
    return true;
}

static void work_here(void)
{
    task.work(task.argument);
}

void as_own_stack_run(void (*work)(void *), void *argument)
{
    task.work = work;
    task.argument = argument;
    if (task.stack)
        run_on(stack_top(), work_here);
    else
        work(argument);
}

bool as_is_only_thread(void)
{
    struct statx tasks;

    return syscall(SYS_statx, AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &tasks) == 0 &&
           tasks.stx_nlink == 3; /* ".", "..", the caller */
}
