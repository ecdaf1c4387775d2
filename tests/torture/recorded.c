/* tests/torture/recorded.c - a program that is recorded because ASSAY_RUN asks for it: two threads
 * that mark what they do, and a file of its own. What it prints and writes depends on nothing that
 * the recorder meets. Its own calls go to the kernel directly, so that they are never the ones that
 * fail. */
#include <assay/assay.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 3000 };

static unsigned work(unsigned seed)
{
    unsigned sum = seed;

    for (int i = 0; i < ROUNDS; i++) {
        ASSAY_SCOPE("round");
        sum = sum * 1664525u + 1013904223u;
    }
    return sum;
}

static void *second(void *result)
{
    *(unsigned *)result = work(2);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned one, two = 0;
    pthread_t thread;
    bool threaded;
    long fd;

    if (argc < 2)
        return 2;
    threaded = pthread_create(&thread, NULL, second, &two) == 0;
    one = work(1);
    if (threaded)
        pthread_join(thread, NULL);
    else
        two = work(2); /* this call may be the one that fails */
    fd = syscall(SYS_openat, AT_FDCWD, argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (syscall(SYS_write, fd, &one, sizeof one) != sizeof one)
        return 3;
    syscall(SYS_close, fd);
    printf("%u %u\n", one, two);
    return 0;
}
