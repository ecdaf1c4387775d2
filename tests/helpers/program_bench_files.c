/* tests/helpers/program_bench_files.c - writes every CSV file of a benchmark, or copies one.
 * usage: program_bench_files write FOLDER | copy FROM TO */
#include <assay/experiment/bench_csv.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct assay_fingerprint *new_fingerprint(void)
{
    struct assay_fingerprint *fingerprint;

    (void)assay_fingerprint_new(&fingerprint, NULL, NULL);
    return fingerprint;
}

enum { ROWS = 500 };

static struct assay_error err;

static int fail(void)
{
    fprintf(stderr, "%s\n", err.msg);
    return 3;
}

/* The same in the script that judges. */
static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static double share(uint64_t *state)
{
    uint64_t above = next(state) + 1, below = next(state) + 1;

    return (double)above / (double)(above + below);
}

static const char *path_of(const char *folder, const char *name)
{
    static char path[512];

    (void)snprintf(path, sizeof path, "%s/csv/%s.csv", folder, name);
    return path;
}

static int write_results(const char *folder, const struct assay_csv_stamp *stamp)
{
    static const char *const names[] = {"mincut_l0.5_t2", "a,b", "say \"hi\"", "two\nlines",
                                        "cr\r"};
    static struct assay_result_row rows[ROWS];
    uint64_t state = 1;
    int rc;

    for (size_t i = 0; i < ROWS; i++) {
        rows[i].setting = names[i % 5];
        rows[i].lambda = (double)(i % 10) / 10;
        rows[i].tau = (double)(i % 7);
        rows[i].coherence_delta = -share(&state) / 1e6;
        rows[i].kv_cache_reduction = share(&state);
        rows[i].peak_mem_reduction = -share(&state) * 1e9;
        rows[i].energy_reduction = i % 3 ? share(&state) : (double)NAN;
        rows[i].p95_latency_us = (double)next(&state);
        rows[i].accuracy = share(&state);
    }
    rc = assay_csv_write_results(path_of(folder, "results7"), rows, ROWS, stamp, &err);
    if (rc == 0)
        rc = assay_csv_write_results9(path_of(folder, "results"), rows, ROWS, stamp, &err);
    return rc;
}

static int write_others(const char *folder, const struct assay_csv_stamp *stamp)
{
    static struct assay_latency_record latency[ROWS];
    static struct assay_memory_snapshot memory[ROWS];
    static struct assay_sample_row samples[ROWS];
    static struct assay_power_sample power[ROWS];
    uint64_t state = 2;
    int rc;

    for (size_t i = 0; i < ROWS; i++) {
        latency[i] = (struct assay_latency_record){i, next(&state), next(&state), i % 2, i * 3};
        memory[i].timestamp_us = 1700000000000000 + i;
        memory[i].peak_rss_bytes = next(&state);
        memory[i].kv_cache_bytes = ASSAY_UNKNOWN;
        memory[i].activation_bytes = i % 2 ? next(&state) : ASSAY_UNKNOWN;
        samples[i] = (struct assay_sample_row){i, i * 2, next(&state), next(&state), share(&state)};
        power[i] = (struct assay_power_sample){share(&state) * 100, 1700000000000000 + i};
    }
    rc = assay_csv_write_latency(path_of(folder, "latency"), latency, ROWS, stamp, &err);
    if (rc == 0)
        rc = assay_csv_write_memory(path_of(folder, "memory"), memory, ROWS, stamp, &err);
    if (rc == 0)
        rc = assay_csv_write_samples(path_of(folder, "baseline"), samples, ROWS, stamp, &err);
    if (rc == 0)
        rc = assay_csv_write_power(path_of(folder, "power"), power, ROWS, NULL, &err);
    return rc;
}

static int write_all(const char *folder)
{
    const struct assay_bench_config config = {
        "abc\n\x01\"\xc3\xa9", "def\x7f/", 0.5F, 2, 0.015625F, "-O3"};
    struct assay_fingerprint *facts = new_fingerprint();
    char hash[ASSAY_HASH_HEX];
    struct assay_csv_stamp stamp = {
        .size = sizeof stamp, .config_hash = hash, .fingerprint = facts};
    char *text = NULL;
    int rc = assay_bench_config_hash(&config, hash, &err);

    if (rc == 0)
        rc = assay_bench_config_json(&config, &text, NULL, &err);
    if (rc == 0)
        rc = assay_fingerprint_set_config(facts, &config, &err);
    if (rc == 0)
        rc = assay_fingerprint_set_u64(facts, "seed", 42, ASSAY_FACT_DECIDES, &err);
    if (rc == 0)
        rc = assay_fingerprint_machine(facts, &err);
    if (rc == 0)
        rc = write_results(folder, &stamp);
    if (rc == 0)
        rc = write_others(folder, &stamp);
    if (rc == 0)
        printf("%s\n%s\n", text, hash);
    assay_fingerprint_text_free(text);
    assay_fingerprint_free(facts);
    return rc < 0 ? fail() : 0;
}

static int copy(const char *from, const char *to)
{
    struct assay_csv_rows *rows = NULL;
    size_t n;
    int rc = assay_csv_read_any(from, &rows, &err);

    if (rc < 0)
        return fail();
    n = assay_csv_rows_count(rows);
    switch (assay_csv_rows_schema(rows)) {
    case ASSAY_CSV_RESULTS:
        rc = assay_csv_write_results(to, assay_csv_rows_results(rows), n, NULL, &err);
        break;
    case ASSAY_CSV_RESULTS9:
        rc = assay_csv_write_results9(to, assay_csv_rows_results(rows), n, NULL, &err);
        break;
    case ASSAY_CSV_LATENCY:
        rc = assay_csv_write_latency(to, assay_csv_rows_latency(rows), n, NULL, &err);
        break;
    case ASSAY_CSV_MEMORY:
        rc = assay_csv_write_memory(to, assay_csv_rows_memory(rows), n, NULL, &err);
        break;
    case ASSAY_CSV_SAMPLES:
        rc = assay_csv_write_samples(to, assay_csv_rows_samples(rows), n, NULL, &err);
        break;
    case ASSAY_CSV_POWER:
    case ASSAY_CSV_SCHEMA_COUNT:
        rc = assay_csv_write_power(to, assay_csv_rows_power(rows), n, NULL, &err);
        break;
    }
    assay_csv_rows_free(rows);
    return rc < 0 ? fail() : 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_all(argv[2]);
    if (argc == 4 && strcmp(argv[1], "copy") == 0)
        return copy(argv[2], argv[3]);
    return 2;
}
