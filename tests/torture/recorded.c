/* tests/torture/recorded.c - a program that is recorded because ASSAY_RUN asks for it: two threads
 * that mark what they do, on request a child that does, and a file of its own. What it prints and
 * writes depends on nothing that the recorder meets. Its own calls are made by the C library, so
 * that they are never the ones that fail. */
#include <assay/assay.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
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

/* A process of its own, recorded into a run of its own. */
static bool work_in_child(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        (void)work(3);
        exit(0);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0;
}

int main(int argc, char **argv)
{
    unsigned one, two = 0;
    pthread_t thread;
    bool threaded;
    FILE *own;

    if (argc < 2)
        return 2;
    threaded = pthread_create(&thread, NULL, second, &two) == 0;
    one = work(1);
    if (threaded)
        pthread_join(thread, NULL);
    else
        two = work(2); /* this call may be the one that fails */
    if (argc > 2 && !work_in_child())
        return 4;
    own = fopen(argv[1], "wb");
    if (!own || fwrite(&one, sizeof one, 1, own) != 1 || fclose(own) != 0)
        return 3;
    printf("%u %u\n", one, two);
    return 0;
}
