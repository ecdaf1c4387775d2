/* preload/main_return.c - notes when main returns, before anything that was constructed ahead of it
 * is destroyed. The C library calls exit() by a way of its own then, so a function is registered
 * right before main, which is entered by a jump: no frame of ours is on its stack. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "end_of_program.h"

#define EXPORT __attribute__((visibility("default")))

typedef int (*main_function)(int argc, char **argv, char **env);
typedef int (*start_function)(main_function program, int argc, char **argv, void (*init)(void),
                              void (*fini)(void), void (*end_of_loader)(void), void *stack_end);

static main_function program_main;

static int enter_main(int argc, char **argv, char **env)
{
    (void)atexit(as_shm_note_exit); /* without memory for it, the end is not noted */
    return program_main(argc, argv, env);
}

int __libc_start_main(main_function program, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*end_of_loader)(void), void *stack_end);

/* The first of the C library's functions that a program calls. */
EXPORT int __libc_start_main(main_function program, int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*end_of_loader)(void), void *stack_end)
{
    void *found = as_next_function("__libc_start_main", NULL);
    start_function start;

    if (!found)
        _exit(127); /* no C library: then nothing could have called us */
    memcpy(&start, &found, sizeof start);
    if (as_attached()) {
        program_main = program;
        program = enter_main;
    }
    return start(program, argc, argv, init, fini, end_of_loader, stack_end);
}
