/* bench/measure.c - runs a command several times and prints the medians: wall ms, CPU seconds, peak
 * MiB. usage: bench-measure TIMES COMMAND... ; the command's output goes to /dev/null */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_TIMES 1000

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Waits for the child alone, so that its figures are not those of an earlier one. */
static int run(char **argv, double *wall_ms, double *cpu_s, double *peak_mib)
{
    double start = now_ms();
    struct rusage use;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);

        dup2(null, STDOUT_FILENO);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &use) != pid)
        return -1;
    *wall_ms = now_ms() - start;
    *cpu_s = seconds(use.ru_utime) + seconds(use.ru_stime);
    *peak_mib = (double)use.ru_maxrss / 1024;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
    static double wall[MAX_TIMES], cpu[MAX_TIMES], peak[MAX_TIMES];
    long times = argc > 2 ? strtol(argv[1], NULL, 10) : 0;

    if (times < 1 || times > MAX_TIMES)
        return 2;
    for (long i = 0; i < times; i++) {
        int status = run(argv + 2, &wall[i], &cpu[i], &peak[i]);

        if (status != 0) {
            fprintf(stderr, "bench-measure: %s ended with %d\n", argv[2], status);
            return 3;
        }
    }
    qsort(wall, (size_t)times, sizeof *wall, by_value);
    qsort(cpu, (size_t)times, sizeof *cpu, by_value);
    qsort(peak, (size_t)times, sizeof *peak, by_value);
    printf("%.4f %.4f %.1f\n", wall[times / 2], cpu[times / 2], peak[times / 2]);
    return 0;
}
