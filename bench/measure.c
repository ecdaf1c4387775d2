/* bench/measure.c - runs a command several times and prints the medians: wall ms, CPU seconds, peak
 * MiB. With a second command the two take turns, and the medians are those of the differences,
 * first minus second. Their output goes to /dev/null.
 * usage: bench-measure TIMES COMMAND... [:: COMMAND...] */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

struct figures {
    double wall_ms, cpu_s, peak_mib;
};

static struct figures measure(char **argv)
{
    struct figures f;
    int status = run(argv, &f.wall_ms, &f.cpu_s, &f.peak_mib);

    if (status != 0) {
        fprintf(stderr, "bench-measure: %s ended with %d\n", argv[0], status);
        exit(3);
    }
    return f;
}

/* What follows the "::", which becomes the end of the first command; NULL: there is none. */
static char **split(char **argv)
{
    for (char **at = argv; *at; at++) {
        if (strcmp(*at, "::") == 0) {
            *at = NULL;
            return at + 1;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static double wall[MAX_TIMES], cpu[MAX_TIMES], peak[MAX_TIMES];
    long times = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    char **other;

    if (times < 1 || times > MAX_TIMES)
        return 2;
    other = split(argv + 2);
    for (long i = 0; i < times; i++) {
        const bool swapped = other && i % 2; /* whoever comes first finds another cache */
        struct figures b = swapped ? measure(other) : (struct figures){0};
        struct figures a = measure(argv + 2);

        if (other && !swapped)
            b = measure(other);
        wall[i] = a.wall_ms - b.wall_ms;
        cpu[i] = a.cpu_s - b.cpu_s;
        peak[i] = a.peak_mib - b.peak_mib;
    }
    qsort(wall, (size_t)times, sizeof *wall, by_value);
    qsort(cpu, (size_t)times, sizeof *cpu, by_value);
    qsort(peak, (size_t)times, sizeof *peak, by_value);
    printf("%.4f %.4f %.1f\n", wall[times / 2], cpu[times / 2], peak[times / 2]);
    return 0;
}
