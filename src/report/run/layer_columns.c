/* report/run/layer_columns.c - every figure of a layer that a report can show, and where it stands.
 * The table of layers on the screen, their CSV and their JSON are printed from this one list. */
#include "report/run/layer_columns.h"

#include <stddef.h>
#include <stdio.h>

#include "analyze/run/layers.h"
#include "base/units.h"
#include "report/run/report.h"

enum place_type { NOWHERE, U64, U32, F64, CALLED };

typedef double (*figure_fn)(const struct as_layer *layer);

/* Where the number stands: in the struct, or made by a function of analyze/. */
struct place {
    enum place_type type;
    size_t offset;
    figure_fn call;
    size_t supported; /* offset of the flag of a percentile; 0: always */
};

#define AT(type, member)                                                                           \
    {                                                                                              \
        (type), offsetof(struct as_layer, member), NULL, 0                                         \
    }
#define PERCENTILE(figure, flag)                                                                   \
    {                                                                                              \
        F64, offsetof(struct as_layer, times.figure), NULL, offsetof(struct as_layer, times.flag)  \
    }
#define BY(function)                                                                               \
    {                                                                                              \
        CALLED, 0, (function), 0                                                                   \
    }

static const struct place place[AS_LAYER_METRIC_COUNT_OF_ALL] = {
    [AS_LAYER_METRIC_CALLS] = AT(U64, calls),
    [AS_LAYER_METRIC_FAILED] = AT(U64, failed),
    [AS_LAYER_METRIC_TOTAL] = AT(U64, inclusive_ns),
    [AS_LAYER_METRIC_SELF] = AT(U64, self_ns),
    [AS_LAYER_METRIC_SHARE_OF_SELF] = AT(F64, share),
    [AS_LAYER_METRIC_SHARE_BAR] = AT(F64, share),
    [AS_LAYER_METRIC_MEAN] = AT(F64, times.mean_ns),
    [AS_LAYER_METRIC_STD] = AT(F64, times.std_population_ns),
    [AS_LAYER_METRIC_STD_SAMPLE] = AT(F64, times.std_sample_ns),
    [AS_LAYER_METRIC_MIN] = AT(F64, times.min_ns),
    [AS_LAYER_METRIC_MAX] = AT(F64, times.max_ns),
    [AS_LAYER_METRIC_MEDIAN] = AT(F64, times.median_ns),
    [AS_LAYER_METRIC_P50] = AT(F64, times.p50_ns),
    [AS_LAYER_METRIC_P90] = PERCENTILE(p90_ns, p90_supported),
    [AS_LAYER_METRIC_P95] = PERCENTILE(p95_ns, p95_supported),
    [AS_LAYER_METRIC_P99] = PERCENTILE(p99_ns, p99_supported),
    [AS_LAYER_METRIC_CV] = AT(F64, times.cv),
    [AS_LAYER_METRIC_MAD] = AT(F64, times.mad_ns),
    [AS_LAYER_METRIC_CI] = AT(F64, times.ci95_high_ns),
    [AS_LAYER_METRIC_CI_LOW] = AT(F64, times.ci95_low_ns),
    [AS_LAYER_METRIC_CI_HIGH] = AT(F64, times.ci95_high_ns),
    [AS_LAYER_METRIC_OUTLIERS] = AT(U64, times.n_outliers),
    [AS_LAYER_METRIC_THREADS] = AT(U32, n_threads),
    [AS_LAYER_METRIC_FLOPS] = AT(F64, flops),
    [AS_LAYER_METRIC_GFLOPS] = BY(as_layer_gflops),
    [AS_LAYER_METRIC_BYTES] = AT(F64, bytes),
    [AS_LAYER_METRIC_GBPS] = BY(as_layer_gbps),
    [AS_LAYER_METRIC_FIRST] = AT(U64, first_ns),
};

static const struct as_layer_metric figure[AS_LAYER_METRIC_COUNT_OF_ALL] = {
    [AS_LAYER_METRIC_NAME] = {"name", "name", "layer", "the layer's name", AS_SHOWN_TEXT, 0},
    [AS_LAYER_METRIC_FLAGS] = {"flags", NULL, "",
                               "! too short to measure well, F failed, U unbalanced", AS_SHOWN_TEXT,
                               0},
    [AS_LAYER_METRIC_OP] = {"op", "op", "op", "kind of operation", AS_SHOWN_TEXT, 10},
    [AS_LAYER_METRIC_SHAPE] = {"shape", "shape", "shape", "shape of the output", AS_SHOWN_TEXT, 12},
    [AS_LAYER_METRIC_CATEGORY] = {"category", "category", "category", "layer, function or timer",
                                  AS_SHOWN_TEXT, 12},
    [AS_LAYER_METRIC_CALLS] = {"calls", "calls", "calls", "complete calls", AS_SHOWN_COUNT, 0},
    [AS_LAYER_METRIC_FAILED] = {"failed", "failed", "failed", "complete calls that failed",
                                AS_SHOWN_COUNT, 8},
    [AS_LAYER_METRIC_TOTAL] = {"total", "total_ns", "total", "total time: with the layers it calls",
                               AS_SHOWN_TIME, 7},
    [AS_LAYER_METRIC_SELF] = {"self", "self_ns", "self", "self time: without the layers it calls",
                              AS_SHOWN_TIME, 0},
    [AS_LAYER_METRIC_SHARE_OF_SELF] = {"share", "share", "share", "of the self time of all layers",
                                       AS_SHOWN_SHARE, 0},
    [AS_LAYER_METRIC_SHARE_BAR] = {"bar", NULL, " ", "the share as a bar", AS_SHOWN_BAR, 4},
    [AS_LAYER_METRIC_CUM] = {"cum", "cumulative_share", "cum", "cumulative share from the top",
                             AS_SHOWN_SHARE, 6},
    [AS_LAYER_METRIC_MEAN] = {"mean", "mean_ns", "mean", "mean time of a call", AS_SHOWN_TIME, 8},
    [AS_LAYER_METRIC_STD] = {"std", "std_ns", "std", "population standard deviation", AS_SHOWN_TIME,
                             9},
    [AS_LAYER_METRIC_STD_SAMPLE] = {"std_sample", "std_sample_ns", "std n-1",
                                    "sample standard deviation", AS_SHOWN_TIME, 9},
    [AS_LAYER_METRIC_MIN] = {"min", "min_ns", "min", "shortest call", AS_SHOWN_TIME, 9},
    [AS_LAYER_METRIC_MAX] = {"max", "max_ns", "max", "longest call", AS_SHOWN_TIME, 3},
    [AS_LAYER_METRIC_MEDIAN] = {"median", "median_ns", "median", "median call", AS_SHOWN_TIME, 0},
    [AS_LAYER_METRIC_P50] = {"p50", "p50_ns", "p50", "50th percentile, linear", AS_SHOWN_TIME, 9},
    [AS_LAYER_METRIC_P90] = {"p90", "p90_ns", "p90", "90th percentile, linear", AS_SHOWN_TIME, 9},
    [AS_LAYER_METRIC_P95] = {"p95", "p95_ns", "p95", "95th percentile, linear", AS_SHOWN_TIME, 2},
    [AS_LAYER_METRIC_P99] = {"p99", "p99_ns", "p99", "99th percentile, linear", AS_SHOWN_TIME, 9},
    [AS_LAYER_METRIC_CV] = {"cv", "cv", "CV", "coefficient of variation: sample deviation by mean",
                            AS_SHOWN_SHARE, 5},
    [AS_LAYER_METRIC_MAD] = {"mad", "mad_ns", "MAD", "median absolute deviation", AS_SHOWN_TIME, 9},
    [AS_LAYER_METRIC_CI] = {"ci", NULL, "95 % CI of p50", "95 % CI of the median",
                            AS_SHOWN_INTERVAL, 9},
    [AS_LAYER_METRIC_CI_LOW] = {"ci_low", "ci95_low_ns", "low", "lower end of that interval",
                                AS_SHOWN_TIME, 9},
    [AS_LAYER_METRIC_CI_HIGH] = {"ci_high", "ci95_high_ns", "high", "upper end of that interval",
                                 AS_SHOWN_TIME, 9},
    [AS_LAYER_METRIC_OUTLIERS] = {"outliers", "n_outliers", "outliers",
                                  "calls ten deviations from the median", AS_SHOWN_COUNT, 9},
    [AS_LAYER_METRIC_THREADS] = {"threads", "n_threads", "threads", "threads that ran it",
                                 AS_SHOWN_COUNT, 9},
    [AS_LAYER_METRIC_FLOPS] = {"flops", "flops", "FLOP", "floating-point operations of a call",
                               AS_SHOWN_NUMBER, 9},
    [AS_LAYER_METRIC_GFLOPS] = {"gflops", "gflops_per_s", "GFLOP/s",
                                "10^9 floating-point operations a second while it ran",
                                AS_SHOWN_NUMBER, 6},
    [AS_LAYER_METRIC_BYTES] = {"bytes", "bytes", "bytes", "bytes read and written by a call",
                               AS_SHOWN_NUMBER, 9},
    [AS_LAYER_METRIC_GBPS] = {"gbps", "gbytes_per_s", "GB/s", "10^9 bytes a second while it ran",
                              AS_SHOWN_NUMBER, 9},
    [AS_LAYER_METRIC_FIRST] = {"first", "first_ns", "first",
                               "when it first began, since the run began", AS_SHOWN_TIME, 9},
    [AS_LAYER_METRIC_SPARKLINE] = {"spark", NULL, "over time", "mean time of a call along the run",
                                   AS_SHOWN_SPARK, 11},
    [AS_LAYER_METRIC_FILE] = {"file", "file", "file", "where it is marked", AS_SHOWN_TEXT, 13},
};

const struct as_layer_metric *as_layer_metric_at(size_t i)
{
    return i < AS_LAYER_METRIC_COUNT_OF_ALL ? &figure[i] : NULL;
}

const char *as_layer_metric_name_at(size_t i)
{
    return i < AS_LAYER_METRIC_COUNT_OF_ALL ? figure[i].name : NULL;
}

const char *as_layer_metric_help_at(size_t i)
{
    return i < AS_LAYER_METRIC_COUNT_OF_ALL ? figure[i].help : NULL;
}

/* Sums of complete calls say nothing when there are none. */
static bool is_of_calls(enum as_layer_metric_id id)
{
    return id == AS_LAYER_METRIC_TOTAL || id == AS_LAYER_METRIC_SELF ||
           id == AS_LAYER_METRIC_SHARE_OF_SELF;
}

double as_layer_metric_number(enum as_layer_metric_id id, const struct as_layer *layer)
{
    const struct place *p = &place[id];
    const char *at = (const char *)layer + p->offset;

    if (layer->calls == 0 && is_of_calls(id))
        return AS_UNKNOWN;
    switch (p->type) {
    case U64:
        return (double)*(const uint64_t *)(const void *)at;
    case U32:
        return (double)*(const uint32_t *)(const void *)at;
    case F64:
        return *(const double *)(const void *)at;
    case CALLED:
        return p->call(layer);
    case NOWHERE:
        break;
    }
    return AS_UNKNOWN;
}

bool as_layer_metric_supported(enum as_layer_metric_id id, const struct as_layer *layer)
{
    const struct place *p = &place[id];

    return p->supported == 0 || *(const bool *)((const char *)layer + p->supported);
}

static const char *flags_of(const struct as_layer *layer, char *line, size_t capacity)
{
    snprintf(line, capacity, "%s%s%s", layer->near_cost ? "!" : "", layer->failed ? "F" : "",
             layer->unclosed || layer->cut || layer->open ? "U" : "");
    return line;
}

const char *as_layer_metric_text(enum as_layer_metric_id id, const struct as_layer *layer,
                                 char *line, size_t capacity)
{
    switch (id) {
    case AS_LAYER_METRIC_NAME:
        return layer->info->name;
    case AS_LAYER_METRIC_OP:
        return layer->op;
    case AS_LAYER_METRIC_SHAPE:
        return layer->shape;
    case AS_LAYER_METRIC_CATEGORY:
        return as_category_name(layer->info->category);
    case AS_LAYER_METRIC_FLAGS:
        return flags_of(layer, line, capacity);
    case AS_LAYER_METRIC_FILE:
        if (!layer->info->file)
            return NULL;
        snprintf(line, capacity, "%s:%u", layer->info->file, layer->info->line);
        return line;
    default:
        return NULL;
    }
}

const char *as_layer_sort_at(size_t i)
{
    return i < AS_SORT_COUNT ? as_layer_sort_name((enum as_layer_sort)i) : NULL;
}

struct as_report_options as_report_options_of(const struct as_show *show)
{
    struct as_report_options o = {
        .top = show->top,
        .sort = (enum as_layer_sort)as_show_word(show->sort, as_layer_sort_at, AS_SORT_SELF),
        .unit = show->unit,
        .wide = show->wide,
        .markdown = show->markdown,
        .quiet = show->quiet,
        .n_columns = show->n_columns,
    };
    _Static_assert(AS_COUNT_OF(o.column) >= AS_SHOW_MAX_WORDS, "room for every word");

    for (size_t i = 0; i < show->n_columns; i++)
        o.column[i] = as_show_word(show->column[i], as_layer_metric_name_at, 0);
    return o;
}
