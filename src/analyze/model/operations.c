/* analyze/model/operations.c - what bounds each kind of operation on this machine, and what would
 * help. */
#include "analyze/model/operations.h"

#include <math.h>

#include "base/units.h"

/* What to work on: name, key, sentence. */
#define FOCUSES(X)                                                                                 \
    X(NONE, "none", "unknown")                                                                     \
    X(LOCALITY, "data_locality", "keep the data in a nearer cache: smaller blocks, fewer copies")  \
    X(ALGORITHMS, "algorithms", "fewer operations: another algorithm, a tuned library, 8 bits")    \
    X(PARALLEL, "parallelization", "read with all cores and wide vectors, in partial sums")        \
    X(VECTORS, "vectorization", "wide vectors and approximations of the costly functions")         \
    X(FUSION, "fusion", "do it while the neighbor has the data in registers")                      \
    X(FLASH, "flash_attention",                                                                    \
      "fuse scores, softmax and values in blocks (FlashAttention): scores are never stored")       \
    X(LAYOUT, "data_layout", "store it in the layout in which it is read")                         \
    X(CACHING, "caching", "cache frequent rows, store rows in fewer bits")                         \
    X(BATCHING, "batching", "fewer and larger calls: most of the time is call overhead")

enum focus {
#define X(name, key, text) FOCUS_##name,
    FOCUSES(X)
#undef X
};

static const struct {
    const char *key, *text;
} focuses[] = {
#define X(name, key, text) {key, text},
    FOCUSES(X)
#undef X
};

/* What helps a kind of operation once it is known what bounds it. Of one that neither roof explains
 * though the call is not to blame, the kernel is. */
static const struct {
    enum focus memory, compute, kernel;
} focus_of[] = {
    [AS_OPERATION_ELEMENTWISE] = {FOCUS_LOCALITY, FOCUS_VECTORS, FOCUS_VECTORS},
    [AS_OPERATION_MATMUL] = {FOCUS_LOCALITY, FOCUS_ALGORITHMS, FOCUS_ALGORITHMS},
    [AS_OPERATION_REDUCTION] = {FOCUS_PARALLEL, FOCUS_PARALLEL, FOCUS_PARALLEL},
    [AS_OPERATION_CONV] = {FOCUS_LOCALITY, FOCUS_ALGORITHMS, FOCUS_LAYOUT},
    [AS_OPERATION_DEPTHWISE] = {FOCUS_FUSION, FOCUS_VECTORS, FOCUS_LAYOUT},
    [AS_OPERATION_ATTENTION] = {FOCUS_FLASH, FOCUS_ALGORITHMS, FOCUS_FLASH},
    [AS_OPERATION_LAYER_NORM] = {FOCUS_FUSION, FOCUS_VECTORS, FOCUS_FUSION},
    [AS_OPERATION_SOFTMAX] = {FOCUS_FUSION, FOCUS_VECTORS, FOCUS_VECTORS},
    [AS_OPERATION_EMBEDDING] = {FOCUS_CACHING, FOCUS_CACHING, FOCUS_CACHING},
    [AS_OPERATION_TRANSPOSE] = {FOCUS_LAYOUT, FOCUS_LAYOUT, FOCUS_LAYOUT},
    [AS_OPERATION_ACTIVATION] = {FOCUS_FUSION, FOCUS_VECTORS, FOCUS_FUSION},
};
_Static_assert(AS_COUNT_OF(focus_of) == AS_OPERATION_COUNT, "every operation");

static const char *const class_name[] = {
    [AS_BOUND_UNKNOWN] = "unknown",
    [AS_BOUND_COMPUTE] = "compute-bound",
    [AS_BOUND_MEMORY] = "memory-bound",
    [AS_BOUND_OVERHEAD] = "overhead-bound",
};
_Static_assert(AS_COUNT_OF(class_name) == AS_BOUND_COUNT, "name every class");

static const char *const priority_text[] = {
    [AS_BOUND_UNKNOWN] = "unknown: the peaks of the machine are missing",
    [AS_BOUND_COMPUTE] = "compute: better algorithms, vectorization, BLAS-class libraries",
    [AS_BOUND_MEMORY] = "memory: data locality, bandwidth, caching, fusion of operations",
    [AS_BOUND_OVERHEAD] = "overhead: fewer and larger operations; batches, fusion",
};
_Static_assert(AS_COUNT_OF(priority_text) == AS_BOUND_COUNT, "every priority");

const char *as_operation_class(enum as_bound bound)
{
    return class_name[(unsigned)bound < AS_BOUND_COUNT ? bound : AS_BOUND_UNKNOWN];
}

static enum focus find_focus(const struct as_operation_row *row)
{
    enum as_operation operation = row->point->operation;
    const enum focus by_bound[] = {
        [AS_BOUND_UNKNOWN] = FOCUS_NONE,
        [AS_BOUND_COMPUTE] = focus_of[operation].compute,
        [AS_BOUND_MEMORY] = focus_of[operation].memory,
        [AS_BOUND_OVERHEAD] = row->call_share >= AS_OPERATION_CALL_SHARE
                                  ? FOCUS_BATCHING
                                  : focus_of[operation].kernel,
    };

    return by_bound[row->roof.bound];
}

/* The same data is used in every run, so all bytes come from the level that holds them. */
static void judge_row(struct as_operation_row *row, const struct as_operation_point *point,
                      const struct as_peaks *peaks, const struct as_operation_run *run)
{
    const struct as_roof_work work = {.type = AS_PEAK_F32,
                                      .flops = (double)point->executed_flops,
                                      .streamed_bytes = (double)point->bytes,
                                      .footprint_bytes = point->held_bytes,
                                      .seconds = point->figures.summary.median / 1e9,
                                      .threads = run->threads};
    enum focus focus;

    row->point = point;
    row->latency_ns = point->figures.summary.median;
    as_roof_find(&row->roof, peaks, &work);
    row->gflops_per_second = row->roof.achieved / 1e9;
    row->ridge = as_peak_ridge(peaks, AS_PEAK_F32, row->roof.level, run->threads);
    row->class_name = as_operation_class(row->roof.bound);
    row->call_share = run->call.figures.summary.median / row->latency_ns;
    focus = find_focus(row);
    row->focus = focuses[focus].key;
    row->advice = focuses[focus].text;
}

typedef double (*row_value)(const struct as_operation_row *row);

/* What only moves bytes has no rate to compare. */
static double rate_of(const struct as_operation_row *row)
{
    return row->point->flops > 0 ? row->gflops_per_second : AS_UNKNOWN;
}

static double share_of(const struct as_operation_row *row)
{
    return row->roof.roof_fraction;
}

/* The row with the most of `sign` times the value; those that are not known do not count. */
static size_t find_most(const struct as_operations *o, row_value value, double sign)
{
    double most = -(double)INFINITY;
    size_t best = SIZE_MAX;

    for (size_t r = 0; r < AS_OPERATION_COUNT; r++)
        if (sign * value(&o->rows[r]) > most) {
            most = sign * value(&o->rows[r]);
            best = r;
        }
    return best;
}

static enum as_bound find_priority(const size_t n_of[AS_BOUND_COUNT])
{
    if (n_of[AS_BOUND_COMPUTE] > n_of[AS_BOUND_MEMORY])
        return AS_BOUND_COMPUTE;
    if (n_of[AS_BOUND_MEMORY] > 0)
        return AS_BOUND_MEMORY;
    return n_of[AS_BOUND_OVERHEAD] > 0 ? AS_BOUND_OVERHEAD : AS_BOUND_UNKNOWN;
}

void as_operations_judge(struct as_operations *out, const struct as_operation_run *run,
                         const struct as_peaks *peaks)
{
    *out = (struct as_operations){.run = run};
    for (size_t r = 0; r < AS_OPERATION_COUNT; r++) {
        judge_row(&out->rows[r], &run->points[r], peaks, run);
        out->n_of[out->rows[r].roof.bound]++;
    }
    out->most_gflops = find_most(out, rate_of, 1);
    out->least_gflops = find_most(out, rate_of, -1);
    out->most_roof = find_most(out, share_of, 1);
    out->least_roof = find_most(out, share_of, -1);
    out->priority = find_priority(out->n_of);
    out->priority_text = priority_text[out->priority];
}
