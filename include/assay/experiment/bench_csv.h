/* assay/experiment/bench_csv.h - the CSV files of a benchmark, written and read.
 *
 *     assay_csv_write_latency("out/csv/latency.csv", records, n, NULL, NULL);
 *
 * Each schema has one header and no other lines than rows; a value that is not known is an empty
 * field. Numbers are the same in every locale and read back as the same numbers. Missing folders
 * are made; the whole file appears, or nothing does. Beside a file, `<file>.meta.json` describes
 * what it is, when a stamp is given. */
#ifndef ASSAY_EXPERIMENT_BENCH_CSV_H
#define ASSAY_EXPERIMENT_BENCH_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>
#include <assay/experiment/fingerprint.h>
#include <assay/latency.h>
#include <assay/memory.h>
#include <assay/power.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One setting against the baseline. NaN: not known. A reduction is 1 - setting / baseline, so that
 * a saving is above 0. */
struct assay_result_row {
    const char *setting; /* UTF-8, not NULL */
    double lambda, tau;  /* in nine columns only; tau is whole */
    double coherence_delta;
    double kv_cache_reduction, peak_mem_reduction, energy_reduction;
    double p95_latency_us; /* below 2^53; written as a whole number, rounded down */
    double accuracy;       /* 0 to 1 */
};

/* One sample of the baseline or of a setting. */
struct assay_sample_row {
    uint64_t sample_id, seq_len;
    uint64_t wall_time_ns;   /* written in whole microseconds, rounded down */
    uint64_t peak_mem_bytes; /* ASSAY_UNKNOWN: not known */
    double energy_j;         /* NaN: not known */
};

/* What `<file>.meta.json` holds beside the schema, its columns and units, the number of rows and
 * the SHA-256 of the file. Both may be NULL: unknown. */
struct assay_csv_stamp {
    size_t size;                                 /* sizeof(struct assay_csv_stamp) */
    const char *config_hash;                     /* 64 digits of hex */
    const struct assay_fingerprint *fingerprint; /* all facts, and both hashes */
};

/* ---- writing ----
 * `stamp` NULL: no file beside it. USAGE, with the number of the row, for what cannot stand in the
 * file: infinite, negative where that is impossible, text that is not UTF-8. Unless there is memory
 * and disk, nothing else fails. */

/* setting,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,p95_latency_us,
 * accuracy. Text that a spreadsheet would run as a formula gets an apostrophe in front; reading
 * takes it away. */
ASSAY_API int assay_csv_write_results(const char *path, const struct assay_result_row *rows,
                                      size_t n, const struct assay_csv_stamp *stamp,
                                      struct assay_error *err);
/* The same with lambda,tau after the setting. */
ASSAY_API int assay_csv_write_results9(const char *path, const struct assay_result_row *rows,
                                       size_t n, const struct assay_csv_stamp *stamp,
                                       struct assay_error *err);
/* sample_id,wall_time_us,kernel_time_us,seq_len: whole microseconds, rounded down. */
ASSAY_API int assay_csv_write_latency(const char *path, const struct assay_latency_record *records,
                                      size_t n, const struct assay_csv_stamp *stamp,
                                      struct assay_error *err);
/* timestamp_us,peak_rss_bytes,kv_cache_bytes,activation_bytes,temp_buffer_bytes. */
ASSAY_API int assay_csv_write_memory(const char *path,
                                     const struct assay_memory_snapshot *snapshots, size_t n,
                                     const struct assay_csv_stamp *stamp, struct assay_error *err);
/* sample_id,seq_len,wall_time_us,peak_mem_bytes,energy_j. */
ASSAY_API int assay_csv_write_samples(const char *path, const struct assay_sample_row *rows,
                                      size_t n, const struct assay_csv_stamp *stamp,
                                      struct assay_error *err);
/* timestamp_us,watts. */
ASSAY_API int assay_csv_write_power(const char *path, const struct assay_power_sample *samples,
                                    size_t n, const struct assay_csv_stamp *stamp,
                                    struct assay_error *err);

/* ---- reading ---- */

enum assay_csv_schema {
    ASSAY_CSV_RESULTS,
    ASSAY_CSV_RESULTS9,
    ASSAY_CSV_LATENCY,
    ASSAY_CSV_MEMORY,
    ASSAY_CSV_SAMPLES,
    ASSAY_CSV_POWER,
    ASSAY_CSV_SCHEMA_COUNT
};

/* "results", "results9", "latency", "memory", "samples", "power"; NULL for a number that is not a
 * schema.
 */
ASSAY_API const char *assay_csv_schema_name(enum assay_csv_schema schema);

/* The rows of one file, and their texts. */
struct assay_csv_rows;

/* Strict: the header must be one of those above, every row has as many fields, and what is not a
 * number, is negative where that is impossible, or is empty where it may not be, is an error that
 * names line and column. Files of at most 1 GiB. `*out` is freed with assay_csv_rows_free(); NULL
 * on failure. */
ASSAY_API int assay_csv_read_results(const char *path, struct assay_csv_rows **out,
                                     struct assay_error *err); /* of seven or nine columns */
ASSAY_API int assay_csv_read_latency(const char *path, struct assay_csv_rows **out,
                                     struct assay_error *err);
ASSAY_API int assay_csv_read_memory(const char *path, struct assay_csv_rows **out,
                                    struct assay_error *err);
ASSAY_API int assay_csv_read_samples(const char *path, struct assay_csv_rows **out,
                                     struct assay_error *err);
ASSAY_API int assay_csv_read_power(const char *path, struct assay_csv_rows **out,
                                   struct assay_error *err);
/* Whichever of them it is. */
ASSAY_API int assay_csv_read_any(const char *path, struct assay_csv_rows **out,
                                 struct assay_error *err);

/* Accepts NULL. */
ASSAY_API void assay_csv_rows_free(struct assay_csv_rows *rows);
ASSAY_API size_t assay_csv_rows_count(const struct assay_csv_rows *rows);
/* ASSAY_CSV_SCHEMA_COUNT for NULL. */
ASSAY_API enum assay_csv_schema assay_csv_rows_schema(const struct assay_csv_rows *rows);

/* Borrowed. NULL when there are none or the file was another one. What the file does not hold is
 * unknown: lambda and tau of seven columns, all of a snapshot beside the five columns. */
ASSAY_API const struct assay_result_row *assay_csv_rows_results(const struct assay_csv_rows *rows);
ASSAY_API const struct assay_latency_record *
assay_csv_rows_latency(const struct assay_csv_rows *rows);
ASSAY_API const struct assay_memory_snapshot *
assay_csv_rows_memory(const struct assay_csv_rows *rows);
ASSAY_API const struct assay_sample_row *assay_csv_rows_samples(const struct assay_csv_rows *rows);
ASSAY_API const struct assay_power_sample *assay_csv_rows_power(const struct assay_csv_rows *rows);

#ifdef __cplusplus
}
#endif
#endif
