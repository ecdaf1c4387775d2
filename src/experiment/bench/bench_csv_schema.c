/* experiment/bench/bench_csv_schema.c - the columns of the CSV files of a benchmark, as tables. */
#include "experiment/bench/bench_csv_schema.h"

#include <math.h>

#define IN(type, field) offsetof(struct type, field)

/* Shared by both forms of results. */
#define SETTING                                                                                    \
    {                                                                                              \
        .name = "setting", .unit = "", .kind = AS_CSV_TEXT, .may_be_empty = true,                  \
        .offset = IN(assay_result_row, setting)                                                    \
    }
#define RESULT(field, what, of_kind, from, to)                                                     \
    {                                                                                              \
        .name = #field, .unit = (what), .kind = (of_kind), .may_be_empty = true,                   \
        .offset = IN(assay_result_row, field), .least = (from), .most = (to)                       \
    }
#define MEASURED                                                                                   \
    RESULT(coherence_delta, "", AS_CSV_REAL, -(double)INFINITY, (double)INFINITY),                 \
        RESULT(kv_cache_reduction, "share", AS_CSV_REAL, -(double)INFINITY, 1),                    \
        RESULT(peak_mem_reduction, "share", AS_CSV_REAL, -(double)INFINITY, 1),                    \
        RESULT(energy_reduction, "share", AS_CSV_REAL, -(double)INFINITY, 1),                      \
        RESULT(p95_latency_us, "us", AS_CSV_WHOLE, 0, AS_BENCH_CSV_WHOLE),                         \
        RESULT(accuracy, "share", AS_CSV_REAL, 0, 1)

#define U64(type, field, what, empty)                                                              \
    {                                                                                              \
        .name = #field, .unit = (what), .kind = AS_CSV_U64, .may_be_empty = (empty),               \
        .offset = IN(type, field)                                                                  \
    }
#define WALL_TIME(type)                                                                            \
    {                                                                                              \
        .name = "wall_time_us", .unit = "us", .kind = AS_CSV_US, .offset = IN(type, wall_time_ns)  \
    }

const struct as_csv_schema as_csv_schemas[ASSAY_CSV_SCHEMA_COUNT] = {
    [ASSAY_CSV_RESULTS] = {"results", sizeof(struct assay_result_row), 7, 0, {SETTING, MEASURED}},
    [ASSAY_CSV_RESULTS9] = {"results9",
                            sizeof(struct assay_result_row),
                            9,
                            0,
                            {SETTING, RESULT(lambda, "", AS_CSV_REAL, 0, (double)INFINITY),
                             RESULT(tau, "steps", AS_CSV_WHOLE, 0, AS_BENCH_CSV_WHOLE), MEASURED}},
    [ASSAY_CSV_LATENCY] = {"latency",
                           sizeof(struct assay_latency_record),
                           4,
                           0,
                           {U64(assay_latency_record, sample_id, "", false),
                            WALL_TIME(assay_latency_record),
                            {.name = "kernel_time_us",
                             .unit = "us",
                             .kind = AS_CSV_US,
                             .may_be_empty = true,
                             .offset = IN(assay_latency_record, kernel_time_ns),
                             .flag_offset = IN(assay_latency_record, kernel_available)},
                            U64(assay_latency_record, seq_len, "tokens", true)}},
    [ASSAY_CSV_MEMORY] = {"memory",
                          sizeof(struct assay_memory_snapshot),
                          6,
                          1,
                          {U64(assay_memory_snapshot, timestamp_us, "us", false),
                           U64(assay_memory_snapshot, peak_rss_bytes, "bytes", true),
                           U64(assay_memory_snapshot, kv_cache_bytes, "bytes", true),
                           U64(assay_memory_snapshot, activation_bytes, "bytes", true),
                           U64(assay_memory_snapshot, temp_buffer_bytes, "bytes", true),
                           {.name = "rss_bytes",
                            .unit = "bytes",
                            .kind = AS_CSV_U64,
                            .may_be_empty = true,
                            .offset = IN(assay_memory_snapshot, rss_bytes),
                            .zero_is_unknown = true}}},
    [ASSAY_CSV_SAMPLES] = {"samples",
                           sizeof(struct assay_sample_row),
                           5,
                           0,
                           {U64(assay_sample_row, sample_id, "", false),
                            U64(assay_sample_row, seq_len, "tokens", true),
                            WALL_TIME(assay_sample_row),
                            U64(assay_sample_row, peak_mem_bytes, "bytes", true),
                            {.name = "energy_j",
                             .unit = "J",
                             .kind = AS_CSV_REAL,
                             .may_be_empty = true,
                             .offset = IN(assay_sample_row, energy_j),
                             .most = (double)INFINITY}}},
    [ASSAY_CSV_POWER] = {"power",
                         sizeof(struct assay_power_sample),
                         2,
                         0,
                         {U64(assay_power_sample, timestamp_us, "us", false),
                          {.name = "watts",
                           .unit = "W",
                           .kind = AS_CSV_REAL,
                           .may_be_empty = true,
                           .offset = IN(assay_power_sample, watts),
                           .most = (double)INFINITY}}},
};

const char *assay_csv_schema_name(enum assay_csv_schema schema)
{
    return (unsigned)schema < ASSAY_CSV_SCHEMA_COUNT ? as_csv_schemas[schema].name : NULL;
}
