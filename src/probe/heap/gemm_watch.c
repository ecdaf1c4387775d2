/* probe/heap/gemm_watch.c - reads which matrix products and oneDNN primitives a watched process
 * ran. The bytes are hostile until checked. */
#include "probe/heap/gemm_watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/units.h"
#include "probe/heap/heap_pages.h"
#include "trace/shm/gemm_shm.h"

static const char *const function_name[AS_GEMM_FUNCTION_COUNT] = {
#define X(id, name, form, scalar, dtype, bits) [AS_GEMM_##id] = #name,
    AS_GEMM_BLAS(X)
#undef X
#define X(id, name, form, dtype, bits) [AS_GEMM_##id] = #name,
        AS_GEMM_LAPACK(X)
#undef X
            [AS_GEMM_DNNL_SGEMM] = "dnnl_sgemm",
    [AS_GEMM_DNNL_PRIMITIVE] = "dnnl primitive",
};

static const char *const primitive_name[AS_GEMM_KIND_COUNT][AS_GEMM_PASS_COUNT] = {
#define X(number, text)                                                                            \
    [number] = {"dnnl " text, "dnnl " text " backward", "dnnl " text " backward data",             \
                "dnnl " text " backward weights"},
    AS_GEMM_PRIMITIVES(X)
#undef X
};

static const char *const dtype_name[] = {
    [AS_GEMM_UNTYPED] = "unknown", [AS_GEMM_F16] = "f16", [AS_GEMM_BF16] = "bf16",
    [AS_GEMM_F32] = "f32",         [AS_GEMM_S32] = "s32", [AS_GEMM_S8] = "s8",
    [AS_GEMM_U8] = "u8",           [AS_GEMM_F64] = "f64", [AS_GEMM_C64] = "c64",
    [AS_GEMM_C128] = "c128",
};
_Static_assert(AS_COUNT_OF(dtype_name) == AS_GEMM_DTYPE_COUNT, "name every type");

enum form {
    FORM_CBLAS_GEMM,
    FORM_CBLAS_GEMV,
    FORM_CBLAS_SYRK,
    FORM_GESV, /* from here on of LAPACK */
    FORM_GETRF,
    FORM_POTRF,
    FORM_GEQRF,
    FORM_SYEV,
    FORM_GESDD
};
#define FORM_HEEV          FORM_SYEV
#define FORM_SYEVD         FORM_SYEV
#define FORM_HEEVD         FORM_SYEV
#define FORM_COMPLEX_GESDD FORM_GESDD
#define FORM_FORTRAN_GEMM  FORM_CBLAS_GEMM
#define FORM_FORTRAN_GEMV  FORM_CBLAS_GEMV
#define FORM_FORTRAN_SYRK  FORM_CBLAS_SYRK

static const enum form function_form[AS_GEMM_FUNCTION_COUNT] = {
#define X(id, name, form, scalar, dtype, bits) [AS_GEMM_##id] = FORM_##form,
    AS_GEMM_BLAS(X)
#undef X
#define X(id, name, form, dtype, bits) [AS_GEMM_##id] = FORM_##form,
        AS_GEMM_LAPACK(X)
#undef X
};

/* Whether the dimensions of a tensor are all there. */
static bool has_dims(const struct as_gemm_key *key, int tensor)
{
    unsigned n = key->n_dims[tensor];

    for (unsigned i = 0; i < n && i < AS_GEMM_MAX_DIMS; i++)
        if (key->dims[tensor][i] == AS_GEMM_DIM_LATE)
            return false;
    return n > 0 && n <= AS_GEMM_MAX_DIMS;
}

/* Of the dimensions from `first` up to, not with, `end`. */
static double elements(const struct as_gemm_key *key, int tensor, unsigned first, unsigned end)
{
    double product = 1;

    for (unsigned i = first; i < end && i < AS_GEMM_MAX_DIMS; i++)
        product *= (double)key->dims[tensor][i];
    return product;
}

static uint64_t whole_or_zero(double value)
{
    return value >= 0 && value < 0x1p63 ? (uint64_t)value : 0;
}

/* dst[.., m, n] = src[.., m, k] * weights[.., k, n] */
static void take_matmul(struct as_gemm_calls *out, const struct as_gemm_key *key)
{
    unsigned n_dims = key->n_dims[AS_GEMM_DST];

    if (n_dims < 2 || key->n_dims[AS_GEMM_SRC] != n_dims)
        return;
    out->m = key->dims[AS_GEMM_DST][n_dims - 2];
    out->n = key->dims[AS_GEMM_DST][n_dims - 1];
    out->k = key->dims[AS_GEMM_SRC][n_dims - 1];
    out->batch = whole_or_zero(elements(key, AS_GEMM_DST, 0, n_dims - 2));
    out->flops = 2 * elements(key, AS_GEMM_DST, 0, n_dims) * (double)out->k;
}

/* dst[m, n] = src[m, k...] * weights[n, k...] */
static void take_inner_product(struct as_gemm_calls *out, const struct as_gemm_key *key)
{
    double k = elements(key, AS_GEMM_SRC, 1, key->n_dims[AS_GEMM_SRC]);

    if (key->n_dims[AS_GEMM_DST] != 2 || key->n_dims[AS_GEMM_SRC] < 2)
        return;
    out->m = key->dims[AS_GEMM_DST][0];
    out->n = key->dims[AS_GEMM_DST][1];
    out->k = whole_or_zero(k);
    out->batch = 1;
    out->flops = 2 * (double)out->m * (double)out->n * k;
}

/* Weights are [channels out, channels in, kernel...], with the groups before them when there are
 * any: then channels are those of a group. */
static void take_convolution(struct as_gemm_calls *out, const struct as_gemm_key *key)
{
    unsigned n_weights = key->n_dims[AS_GEMM_WEIGHTS];
    unsigned first = n_weights == key->n_dims[AS_GEMM_SRC] + 1u ? 1 : 0;
    double kernel = elements(key, AS_GEMM_WEIGHTS, first + 2, n_weights);

    if (n_weights < first + 2)
        return;
    if (key->kind == AS_GEMM_KIND_DECONVOLUTION)
        out->flops = 2 * elements(key, AS_GEMM_SRC, 0, key->n_dims[AS_GEMM_SRC]) *
                     (double)key->dims[AS_GEMM_WEIGHTS][first] * kernel;
    else
        out->flops = 2 * elements(key, AS_GEMM_DST, 0, key->n_dims[AS_GEMM_DST]) *
                     (double)key->dims[AS_GEMM_WEIGHTS][first + 1] * kernel;
}

static void (*const take_primitive[AS_GEMM_KIND_COUNT])(struct as_gemm_calls *,
                                                        const struct as_gemm_key *) = {
    [AS_GEMM_KIND_CONVOLUTION] = take_convolution,
    [AS_GEMM_KIND_DECONVOLUTION] = take_convolution,
    [AS_GEMM_KIND_INNER_PRODUCT] = take_inner_product,
    [AS_GEMM_KIND_MATMUL] = take_matmul,
};

static size_t add_dims(char *text, size_t capacity, size_t used, const struct as_gemm_key *key,
                       int tensor)
{
    static const char *const name[] = {
        [AS_GEMM_SRC] = "src", [AS_GEMM_WEIGHTS] = "weights", [AS_GEMM_DST] = "dst"};
    unsigned n = key->n_dims[tensor];
    int wrote;

    if (n == 0 || used >= capacity)
        return used;
    wrote = snprintf(text + used, capacity - used, "%s%s ", used ? " " : "", name[tensor]);
    used += (size_t)wrote;
    if (n > AS_GEMM_MAX_DIMS && used < capacity)
        return used + (size_t)snprintf(text + used, capacity - used, "of %u dimensions", n);
    for (unsigned i = 0; i < n && used < capacity; i++) {
        uint64_t dim = key->dims[tensor][i];

        if (dim == AS_GEMM_DIM_LATE)
            wrote = snprintf(text + used, capacity - used, "%s?", i ? "x" : "");
        else
            wrote = snprintf(text + used, capacity - used, "%s%" PRIu64, i ? "x" : "", dim);
        used += (size_t)wrote;
    }
    return used;
}

static void describe_primitive(struct as_gemm_calls *out, const struct as_gemm_key *key)
{
    size_t used = 0;

    for (int t = 0; t < AS_GEMM_TENSOR_COUNT; t++)
        used = add_dims(out->shape, sizeof out->shape, used, key, t);
    if (used == 0)
        (void)snprintf(out->shape, sizeof out->shape, "unknown");
}

static void describe_product(struct as_gemm_calls *out, const struct as_gemm_key *key)
{
    bool a = key->transposed & AS_GEMM_A_TRANSPOSED, b = key->transposed & AS_GEMM_B_TRANSPOSED;

    (void)snprintf(out->shape, sizeof out->shape, "m %" PRIu64 " n %" PRIu64 " k %" PRIu64 "%s",
                   out->m, out->n, out->k,
                   a && b ? ", A and B transposed"
                   : a    ? ", A transposed"
                   : b    ? ", B transposed"
                          : "");
}

static bool is_complex(const struct as_gemm_key *key)
{
    return key->dtype == AS_GEMM_C64 || key->dtype == AS_GEMM_C128;
}

/* A complex multiply-accumulate is four of the real kind. A product with itself makes only one
 * triangle of the result. */
static void take_product(struct as_gemm_calls *out, const struct as_gemm_key *key)
{
    double columns =
        function_form[key->function] == FORM_CBLAS_SYRK ? ((double)key->n + 1) / 2 : (double)key->n;

    out->m = key->m;
    out->n = key->n;
    out->k = key->k;
    out->batch = key->batch;
    out->flops =
        (is_complex(key) ? 8 : 2) * (double)key->m * columns * (double)key->k * (double)key->batch;
    describe_product(out, key);
}

/* Multiplications and additions, which cost a complex number six and two. */
struct operations {
    double multiply, add;
};

/* The operation counts of LAPACK Working Note 41. */
static struct operations count_getrf(double m, double n)
{
    double least = fmin(m, n), most = fmax(m, n);

    return (struct operations){
        .multiply = 0.5 * least * (least * (most - least / 3 - 1) + most) + 2 * least / 3,
        .add = 0.5 * least * (least * (most - least / 3) - most) + least / 6,
    };
}

static struct operations count_potrf(double n)
{
    return (struct operations){.multiply = n * ((n / 6 + 0.5) * n + 1.0 / 3),
                               .add = n * (n / 6 * n - 1.0 / 6)};
}

static struct operations count_geqrf(double m, double n)
{
    if (m > n)
        return (struct operations){
            .multiply = n * (n * (0.5 - n / 3 + m) + m + 23.0 / 6),
            .add = n * (n * (0.5 - n / 3 + m) + 5.0 / 6),
        };
    return (struct operations){
        .multiply = m * (m * (-0.5 - m / 3 + n) + 2 * n + 23.0 / 6),
        .add = m * (m * (-0.5 - m / 3 + n) + n + 5.0 / 6),
    };
}

static struct operations count_gesv(double n, double sides)
{
    struct operations count = count_getrf(n, n);

    count.multiply += sides * n * n;
    count.add += sides * n * (n - 1);
    return count;
}

/* Those of values and vectors depend on how soon they converge. */
static bool count_driver(struct operations *out, const struct as_gemm_key *key)
{
    double m = (double)key->m, n = (double)key->n;

    switch (function_form[key->function]) {
    case FORM_GESV:
        *out = count_gesv(n, (double)key->k);
        return true;
    case FORM_GETRF:
        *out = count_getrf(m, n);
        return true;
    case FORM_POTRF:
        *out = count_potrf(n);
        return true;
    case FORM_GEQRF:
        *out = count_geqrf(m, n);
        return true;
    default:
        return false;
    }
}

/* Sizes are in the shape alone: m, n and k of a row are those of a product. */
static void take_driver(struct as_gemm_calls *out, const struct as_gemm_key *key)
{
    enum form form = function_form[key->function];
    const char *jobs = key->transposed & AS_GEMM_VALUES_ONLY ? ", values only" : "";
    struct operations count;

    if (form == FORM_GESV)
        (void)snprintf(out->shape, sizeof out->shape, "n %" PRIu64 " nrhs %" PRIu64, key->n,
                       key->k);
    else if (form == FORM_POTRF || form == FORM_SYEV)
        (void)snprintf(out->shape, sizeof out->shape, "n %" PRIu64 "%s", key->n, jobs);
    else
        (void)snprintf(out->shape, sizeof out->shape, "m %" PRIu64 " n %" PRIu64 "%s", key->m,
                       key->n, jobs);
    if (count_driver(&count, key))
        out->flops =
            is_complex(key) ? 6 * count.multiply + 2 * count.add : count.multiply + count.add;
}

static void take_shape(struct as_gemm_calls *out, const struct as_gemm_key *key)
{
    out->flops = AS_UNKNOWN;
    out->function = function_name[key->function];
    out->dtype = dtype_name[key->dtype];
    if (key->function != AS_GEMM_DNNL_PRIMITIVE) {
        if (function_form[key->function] >= FORM_GESV)
            take_driver(out, key);
        else
            take_product(out, key);
        return;
    }
    out->function = primitive_name[key->kind][key->pass];
    describe_primitive(out, key);
    if (take_primitive[key->kind] && has_dims(key, AS_GEMM_SRC) && has_dims(key, AS_GEMM_WEIGHTS) &&
        has_dims(key, AS_GEMM_DST))
        take_primitive[key->kind](out, key);
}

/* False for an entry nobody has used, and for one that nobody of ours has written. */
static bool take_entry(struct as_gemm_calls *out, const struct as_gemm_entry *entry)
{
    const struct as_gemm_key *key = &entry->key;

    memset(out, 0, sizeof *out);
    out->calls = atomic_load_explicit(&entry->calls, memory_order_relaxed);
    if (out->calls == 0 || key->function >= AS_GEMM_FUNCTION_COUNT ||
        key->kind >= AS_GEMM_KIND_COUNT || key->dtype >= AS_GEMM_DTYPE_COUNT ||
        key->pass >= AS_GEMM_PASS_COUNT)
        return false;
    take_shape(out, key);
    out->time_ns = atomic_load_explicit(&entry->time_ns, memory_order_relaxed);
    out->max_ns = atomic_load_explicit(&entry->max_ns, memory_order_relaxed);
    out->min_ns = atomic_load_explicit(&entry->min_ns, memory_order_relaxed);
    if (out->min_ns > out->max_ns) /* read while it was written */
        out->min_ns = out->max_ns;
    return true;
}

static int most_time_first(const void *left, const void *right)
{
    const struct as_gemm_calls *a = left, *b = right;
    int order = (a->time_ns < b->time_ns) - (a->time_ns > b->time_ns);

    if (!order)
        order = strcmp(a->function, b->function);
    return order ? order : strcmp(a->shape, b->shape);
}

static int take_entries(const struct as_gemm_entry *entries, uint64_t n_entries,
                        struct as_arena *arena, struct as_gemm_calls **out, size_t *n,
                        struct assay_error *err)
{
    struct as_gemm_calls *calls;
    size_t used = 0;

    for (uint64_t i = 0; i < n_entries; i++)
        used += atomic_load_explicit(&entries[i].calls, memory_order_relaxed) > 0;
    if (used == 0)
        return ASSAY_OK;
    calls = as_arena_zero(arena, used, sizeof *calls);
    if (!calls)
        return as_fail_nomem(err);
    for (uint64_t i = 0; i < n_entries && *n < used; i++)
        *n += take_entry(&calls[*n], &entries[i]);
    qsort(calls, *n, sizeof *calls, most_time_first);
    *out = calls;
    return ASSAY_OK;
}

bool as_gemm_is_driver(const struct as_gemm_calls *calls)
{
    for (int i = 0; i < AS_GEMM_FUNCTION_COUNT; i++)
        if (calls->function && strcmp(calls->function, function_name[i]) == 0)
            return function_form[i] >= FORM_GESV;
    return false;
}

int as_gemm_watch_read(const char *path, struct as_arena *arena, struct as_gemm_calls **out,
                       size_t *n, uint64_t *unplaced, struct assay_error *err)
{
    int rc, fd = -1;
    struct as_shm_header shm;
    struct as_gemm_header header;
    struct as_gemm_entry *entries = NULL;
    uint64_t n_entries;

    *out = NULL;
    *n = 0;
    *unplaced = 0;
    rc = as_shm_open(path, &fd, &shm, err);
    if (rc < 0)
        return rc;
    rc = as_shm_read(fd, path, AS_SHM_GEMM_AT, &header, sizeof header, err);
    if (rc < 0)
        goto out;
    *unplaced = atomic_load_explicit(&header.unplaced, memory_order_relaxed);
    n_entries = atomic_load_explicit(&header.n_entries, memory_order_relaxed);
    if (n_entries > AS_GEMM_ENTRIES)
        n_entries = AS_GEMM_ENTRIES;
    if (n_entries == 0)
        goto out;
    entries = as_alloc(n_entries * sizeof *entries);
    if (!entries) {
        rc = as_fail_nomem(err);
        goto out;
    }
    rc = as_shm_read(fd, path, AS_SHM_GEMM_AT + offsetof(struct as_gemm_shm, entry), entries,
                     n_entries * sizeof *entries, err);
    if (rc == ASSAY_OK)
        rc = take_entries(entries, n_entries, arena, out, n, err);
out:
    as_free(entries);
    close(fd);
    return rc;
}

void as_gemm_watch_core(const char *path, char out[AS_GEMM_CORE_TEXT])
{
    _Static_assert(AS_GEMM_CORE_TEXT == AS_GEMM_CORE_BYTES, "the name fits");
    struct as_gemm_header header;
    struct as_shm_header shm;
    int fd;

    out[0] = '\0';
    if (as_shm_open(path, &fd, &shm, NULL) < 0)
        return;
    if (as_shm_read(fd, path, AS_SHM_GEMM_AT, &header, sizeof header, NULL) == ASSAY_OK)
        memcpy(out, header.core, AS_GEMM_CORE_TEXT);
    close(fd);
    out[AS_GEMM_CORE_TEXT - 1] = '\0';
    for (char *c = out; *c; c++)
        if ((*c < '0' || *c > '9') && (*c < 'A' || *c > 'Z') && (*c < 'a' || *c > 'z') && *c != '_')
            out[0] = '\0'; /* nobody of ours wrote that */
}
