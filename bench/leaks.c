/* bench/leaks.c - how often the leak detector is right about series whose truth is known, and what
 * a reading costs it. tests/unit/leak_kit.h says how the series are made.
 * Usage: bench-leaks [SEED [SERIES]] */
#include <stdio.h>
#include <time.h>

#include "leak_kit.h"

static const char *const kind_name[] = {
    [LEAK_FLAT] = "leak_told_flat",       [LEAK_SAWTOOTH] = "leak_told_sawtooth",
    [LEAK_WARM_UP] = "leak_told_warm_up", [LEAK_SPIKE] = "leak_told_spike",
    [LEAK_DRIFT] = "leak_told_drift",
};

static void print_fact(const char *name, double value, const char *unit)
{
    printf("%-34s %10.3f %-10s %-10s -\n", name, value, unit, "-");
}

static void print_line(const char *name, double value, const char *unit, double bound, int at_most)
{
    int ok = at_most ? value <= bound : value >= bound;

    printf("%-34s %10.3f %-10s %s%-8g %s\n", name, value, unit, at_most ? "<=" : ">=", bound,
           ok ? "ok" : "miss");
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds to add `n_steps` steps of eight layers, level or leaking; negative when it failed. */
static double add_steps(unsigned n_steps, double mb_per_step)
{
    static const char *const layers[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct assay_leak_detector *d = NULL;
    struct as_rng rng;
    double began;
    int rc = assay_leak_detector_new(&d, NULL, NULL);

    as_rng_seed(&rng, 1);
    began = cpu_seconds();
    for (unsigned i = 0; rc == 0 && i < 8 * n_steps; i++) {
        unsigned step = i / 8;
        double mb = 1000 + mb_per_step * step + as_rng_unit(&rng);

        rc = assay_leak_detector_add(d, layers[i % 8], mb, step, 0.1 * i, NULL);
    }
    began = cpu_seconds() - began;
    assay_leak_detector_free(d);
    return rc < 0 ? -1 : began;
}

static int print_costs(void)
{
    double few = add_steps(2000, 0), many = add_steps(20000, 0), leaking = add_steps(2000, 0.1);

    if (few < 0 || many < 0 || leaking < 0)
        return -1;
    print_fact("leak_add", few / 16000 * 1e6, "us");
    print_fact("leak_add_leaking", leaking / 16000 * 1e6, "us");
    print_line("leak_add_10x_readings_cost", many / few, "x", 12, 1);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    unsigned n = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 200;
    double worst = 0, found = 0;
    int told = 0;

    for (int kind = 0; kind < LEAK_KIND_COUNT && n > 0 && told >= 0; kind++) {
        double share;

        told = leak_kit_rate((enum leak_kind)kind, seed, n);
        share = (double)told / n;
        print_fact(kind_name[kind], share, "share");
        if (kind == LEAK_DRIFT)
            found = share;
        else if (share > worst)
            worst = share;
    }
    print_line("leak_false_alarms", worst, "share", 0.01, 1);
    print_line("leak_drifts_found", found, "share", 0.99, 0);
    if (told < 0 || print_costs() < 0) {
        fprintf(stderr, "bench-leaks: the detector failed\n");
        return 3;
    }
    return 0;
}
