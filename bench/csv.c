/* bench/csv.c - how fast the CSV files of a benchmark are written, to a file in memory.
 * usage: bench-csv */
#include <assay/experiment/bench_csv.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "floor.h"
#include "stats/describe/rng.h"

enum { ROWS = 200000, ROUNDS = 7 };

static char path[64];

static struct assay_latency_record latency[ROWS];
static struct assay_result_row results[ROWS];
static struct assay_sample_row samples[ROWS];
static struct assay_memory_snapshot memory[ROWS];
static struct assay_power_sample power[ROWS];

/* From 0 to 1, with all the digits a quotient has. */
static double share(struct as_rng *rng)
{
    return (double)(1 + as_rng_below(rng, 1000000)) /
           (double)(1000001 + as_rng_below(rng, 1000000));
}

static void fill(void)
{
    struct as_rng rng;

    as_rng_seed(&rng, 42);
    for (uint64_t i = 0; i < ROWS; i++) {
        uint64_t ns = 100000 + as_rng_below(&rng, 5000000);

        latency[i] =
            (struct assay_latency_record){i, ns, ns - ns / 9, true, as_rng_below(&rng, 1024)};
        results[i] = (struct assay_result_row){
            .setting = "mincut_l0.5_t2",
            .lambda = 0.5,
            .tau = 2,
            .coherence_delta = -share(&rng) / 100,
            .kv_cache_reduction = share(&rng),
            .peak_mem_reduction = 1 - share(&rng),
            .energy_reduction = share(&rng),
            .p95_latency_us = (double)(1000 + as_rng_below(&rng, 100000)),
            .accuracy = share(&rng),
        };
        samples[i] = (struct assay_sample_row){i, as_rng_below(&rng, 1024), ns,
                                               as_rng_below(&rng, 1u << 30), share(&rng)};
        memory[i] = (struct assay_memory_snapshot){
            .timestamp_us = 1700000000000000 + i * 1000,
            .peak_rss_bytes = as_rng_below(&rng, 1u << 30),
            .kv_cache_bytes = as_rng_below(&rng, 1u << 26),
            .activation_bytes = as_rng_below(&rng, 1u << 26),
            .temp_buffer_bytes = ASSAY_UNKNOWN,
        };
        power[i] = (struct assay_power_sample){75 * share(&rng), 1700000000000000 + i * 1000};
    }
}

static int write_latency(void)
{
    return assay_csv_write_latency(path, latency, ROWS, NULL, NULL);
}

static int write_results(void)
{
    return assay_csv_write_results9(path, results, ROWS, NULL, NULL);
}

static int write_samples(void)
{
    return assay_csv_write_samples(path, samples, ROWS, NULL, NULL);
}

static int write_memory(void)
{
    return assay_csv_write_memory(path, memory, ROWS, NULL, NULL);
}

static int write_power(void)
{
    return assay_csv_write_power(path, power, ROWS, NULL, NULL);
}

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The median of some rounds, in MB of file a second of CPU, what the kernel does included. */
static void bench(const char *name, int (*write_file)(void))
{
    double rate[ROUNDS];
    struct stat st;

    for (int i = 0; i < ROUNDS; i++) {
        double from = cpu_s();

        if (write_file() < 0 || stat(path, &st) != 0) {
            fprintf(stderr, "%s: cannot write %s\n", name, path);
            exit(3);
        }
        rate[i] = (double)st.st_size / 1e6 / (cpu_s() - from);
    }
    bench_line(name, bench_median(rate, ROUNDS), "MB/s", 200, 0);
}

int main(void)
{
    (void)snprintf(path, sizeof path, "/dev/shm/assay-bench-%u.csv", (unsigned)getpid());
    bench_pin(1);
    fill();
    bench("csv_write_latency", write_latency);
    bench("csv_write_results", write_results);
    bench("csv_write_samples", write_samples);
    bench("csv_write_memory", write_memory);
    bench("csv_write_power", write_power);
    unlink(path);
    return 0;
}
