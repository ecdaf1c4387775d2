/* preload/call_filter.c - notices that the program is about to filter its system calls (seccomp).
 * Calls of ours would end it then: what is known is written before, and nothing is done after. */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach.h"
#include "call_filter.h"

#define EXPORT __attribute__((visibility("default")))

typedef int (*prctl_function)(int option, ...);

static prctl_function next_prctl;

static void have_filtered(bool is_set)
{
    if (is_set)
        as_stay_quiet();
    else
        as_go_on();
}

EXPORT int prctl(int option, ...)
{
    unsigned long word[4];
    bool is_filter;
    va_list list;
    int rc;

    va_start(list, option);
    for (int i = 0; i < 4; i++)
        word[i] = va_arg(list, unsigned long);
    va_end(list);
    /* A filter of NULL only asks whether there are filters. */
    is_filter = option == PR_SET_SECCOMP && (word[0] == SECCOMP_MODE_STRICT || word[1]);
    if (is_filter)
        as_go_quiet();
    if (next_prctl)
        rc = next_prctl(option, word[0], word[1], word[2], word[3]);
    else
        rc = (int)syscall(SYS_prctl, option, word[0], word[1], word[2], word[3]);
    if (is_filter)
        have_filtered(rc == 0);
    return rc;
}

#if defined(__x86_64__)

/* Any call may be made through syscall(), also one that returns on another stack: so it is jumped
 * to, with all words where they were. Only the one that sets a filter is looked at. */
extern long (*as_call_next)(long number, ...) __attribute__((visibility("hidden")));
extern long as_call_raw(long number, ...) __attribute__((visibility("hidden")));
long as_call_failed(long negative) __attribute__((visibility("hidden")));
long as_call_seccomp(unsigned long operation, unsigned long flags, void *words)
    __attribute__((visibility("hidden")));

long (*as_call_next)(long number, ...) = as_call_raw; /* until the one behind us is found */

_Static_assert(SYS_seccomp == 317, "as below");

__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        ".p2align 4\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "cmpq $317, %rdi\n"
        "je 1f\n"
        "movq as_call_next(%rip), %r11\n"
        "jmp *%r11\n"
        "1: movq %rsi, %rdi\n"
        "movq %rdx, %rsi\n"
        "movq %rcx, %rdx\n"
        "jmp as_call_seccomp\n"
        ".cfi_endproc\n"
        ".size syscall, .-syscall\n"
        ".hidden as_call_raw\n"
        ".type as_call_raw, @function\n"
        ".p2align 4\n"
        "as_call_raw:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "movq %rdi, %rax\n"
        "movq %rsi, %rdi\n"
        "movq %rdx, %rsi\n"
        "movq %rcx, %rdx\n"
        "movq %r8, %r10\n"
        "movq %r9, %r8\n"
        "movq 8(%rsp), %r9\n"
        "syscall\n"
        "cmpq $-4095, %rax\n"
        "jae 1f\n"
        "ret\n"
        "1: movq %rax, %rdi\n"
        "jmp as_call_failed\n"
        ".cfi_endproc\n"
        ".size as_call_raw, .-as_call_raw\n");

long as_call_failed(long negative)
{
    errno = (int)-negative;
    return -1;
}

long as_call_seccomp(unsigned long operation, unsigned long flags, void *words)
{
    bool is_filter =
        operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && words);
    long rc;

    if (is_filter)
        as_go_quiet();
    rc = as_call_next(SYS_seccomp, operation, flags, words);
    if (is_filter)
        have_filtered(rc >= 0);
    return rc;
}

static void find_call(void)
{
    void *found = as_next_function("syscall", NULL);

    if (found)
        memcpy(&as_call_next, &found, sizeof found);
}

#else

static void find_call(void)
{
}

#endif

void as_call_filter_prepare(void)
{
    void *found = as_next_function("prctl", NULL);

    memcpy(&next_prctl, &found, sizeof found);
    find_call();
}
