/* tests/e2e/stack_harm.c - programs whose stacks cannot be trusted, and which run all the same:
 * "coroutine" has words without meaning at the bottom of a stack of its own, "pushes" moves the
 * stack pointer without saying so, "fault" allocates in the handler of a call to nowhere, "header"
 * and "gone" close and unmap the first page of the program, "moved" puts its read-only pages into
 * memory of its own and throws an exception of the compiler's through them. */
#define _GNU_SOURCE
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { BLOCKS = 64, BLOCK = 1 << 20, STACK = 1 << 18 };

static volatile char *sink;

static __attribute__((noinline)) void allocate(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        char *block = malloc(BLOCK);

        if (!block)
            _exit(9);
        block[0] = 1;
        sink = block;
        free(block);
    }
}

static ucontext_t here, there;

/* makecontext() leaves a proper end; this one is overwritten. */
static void on_coroutine(void)
{
    allocate();
    (void)swapcontext(&there, &here);
}

static int coroutine(void)
{
    uint64_t *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (stack == MAP_FAILED || getcontext(&there) != 0)
        return 9;
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK;
    there.uc_link = NULL;
    makecontext(&there, on_coroutine, 0);
    for (size_t i = STACK / 8 - 64; i < STACK / 8; i++)
        stack[i] = 0x1234 + i * 0x5a5a5a5a5aull;
    return swapcontext(&here, &there);
}

static int pushes(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        void *block;
        size_t size = BLOCK;

        __asm__ volatile("subq $128, %%rsp\n\t" /* the red zone stays */
                         "pushq $0x1234\n\tpushq $0x5678\n\t"
                         "pushq $0x9abc\n\tpushq $0x9abc\n\t"
                         "movq %1, %%rdi\n\t"
                         "call *%2\n\t"
                         "addq $160, %%rsp\n\t"
                         : "=a"(block)
                         : "r"(size), "r"(&malloc)
                         : "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
        free(block);
    }
    return 0;
}

static void on_fault(int number)
{
    (void)number;
    allocate();
    _exit(42);
}

static int fault(void)
{
    void (*volatile nowhere)(void) = (void (*)(void))(uintptr_t)0x10;

    (void)signal(SIGSEGV, on_fault);
    nowhere();
    return 9;
}

static uintptr_t first_page(void)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));

    return (uintptr_t)__ehdr_start;
}

static int header(bool gone)
{
    void *page = (void *)first_page();

    allocate();
    if (gone ? munmap(page, 4096) != 0 : mprotect(page, 4096, PROT_NONE) != 0)
        return 9;
    allocate();
    _exit(0); /* what runs at the end of a program reads that page */
}

/* Every read-only segment of the program in anonymous memory at its place. */
static int move_segment(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = (info->dlpi_addr + p->p_vaddr) & ~(uintptr_t)4095;
        uintptr_t to = (info->dlpi_addr + p->p_vaddr + p->p_memsz + 4095) & ~(uintptr_t)4095;
        char *copy;

        if (p->p_type != PT_LOAD || p->p_flags != PF_R)
            continue;
        copy = mmap(NULL, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (copy == MAP_FAILED)
            return -1;
        memcpy(copy, (void *)from, to - from);
        if (mremap(copy, to - from, to - from, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)from) ==
                MAP_FAILED ||
            mprotect((void *)from, to - from, PROT_READ) != 0)
            return -1;
    }
    return 1; /* the program alone */
}

static int sum_segment(struct dl_phdr_info *info, size_t size, void *data)
{
    uint64_t *sum = data;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_LOAD && p->p_flags == PF_R)
            for (size_t k = 0; k < p->p_filesz; k++)
                *sum = *sum * 31 + ((const uint8_t *)(info->dlpi_addr + p->p_vaddr))[k];
    }
    return 1;
}

static int moved(void)
{
    uint64_t before = 0, after = 0;

    (void)dl_iterate_phdr(sum_segment, &before);
    if (dl_iterate_phdr(move_segment, NULL) < 0)
        return 9;
    allocate();
    (void)dl_iterate_phdr(sum_segment, &after);
    return before == after ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int status = strcmp(what, "coroutine") == 0 ? coroutine()
                 : strcmp(what, "pushes") == 0  ? pushes()
                 : strcmp(what, "fault") == 0   ? fault()
                 : strcmp(what, "header") == 0  ? header(false)
                 : strcmp(what, "gone") == 0    ? header(true)
                 : strcmp(what, "moved") == 0   ? moved()
                                                : 9;

    (void)printf("%s %d\n", what, status);
    return status;
}
