/* bench/start.c - what opening a session and the first mark add to the start of a program, in
 * milliseconds. usage: bench-start RUN.assay ; prints one number: open and the first mark of a
 * fresh process */
#include <assay/session.h>

#include <stdio.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    struct assay_error err;
    double start = now_ms();

    if (argc != 2 || assay_session_open(argv[1], NULL, &err) < 0) {
        fprintf(stderr, "bench-start: %s\n", argc == 2 ? err.msg : "give the run to write");
        return 3;
    }
    ASSAY_BEGIN("first");
    ASSAY_END("first");
    printf("%.4f\n", now_ms() - start);
    return assay_session_close(&err) < 0 ? 3 : 0;
}
