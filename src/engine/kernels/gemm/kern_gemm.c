/* engine/kernels/gemm/kern_gemm.c - matrix products for the kernels in plain C: B is packed in
 * panels that stay in the caches, A in blocks of rows; products of a row or two go straight
 * through. */
#include "engine/kernels/gemm/kern_gemm.h"

#include <string.h>

#include "base/cursor.h"

enum {
    MR = 6,     /* rows of a tile in registers */
    ROWS = 48,  /* of A packed at once */
    DEEP = 256, /* of k at once */
    GROUP = 8,  /* panels a piece of work takes */
    FEW = 3,    /* rows that are not worth packing B for */
};

#define PACKED_BYTES ((uint64_t)4 << 20)

/* One packing and all that is done with it. */
struct round {
    const struct as_gemm *g;
    void *packed;
    uint64_t batch, n_batch, column, columns, panels;
    bool shared; /* one B for the whole batch */
};

struct block {
    uint64_t rows, columns;
};

#define ALPHA(x) ((T)(x))
#define T        float
#define NAME(x)  x##_f32
#include "engine/kernels/gemm/kern_gemm_body.h"
#undef T
#undef NAME
#define T       double
#define NAME(x) x##_f64
#include "engine/kernels/gemm/kern_gemm_body.h"
#undef T
#undef NAME
#undef ALPHA
#define ALPHA(x) ((T)(int64_t)(x))
#define T        uint32_t
#define NAME(x)  x##_u32
#include "engine/kernels/gemm/kern_gemm_body.h"
#undef T
#undef NAME
#define T       uint64_t
#define NAME(x) x##_u64
#include "engine/kernels/gemm/kern_gemm_body.h"
#undef T
#undef NAME

struct loops {
    uint64_t width;
    void (*pack)(void *arg, uint64_t from, uint64_t to);
    void (*blocks)(void *arg, uint64_t from, uint64_t to);
    void (*dots)(const struct as_gemm *g, uint64_t from, uint64_t to);
    void (*sweep)(const struct as_gemm *g, uint64_t from, uint64_t to);
};

static const struct loops all_loops[] = {
    {4, work_pack_f32, work_blocks_f32, dots_f32, sweep_f32},
    {8, work_pack_f64, work_blocks_f64, dots_f64, sweep_f64},
    {4, work_pack_u32, work_blocks_u32, dots_u32, sweep_u32},
    {8, work_pack_u64, work_blocks_u64, dots_u64, sweep_u64},
};

static const struct loops *loops_of(unsigned dtype)
{
    switch (dtype) {
    case AS_DTYPE_F32:
        return &all_loops[0];
    case AS_DTYPE_F64:
        return &all_loops[1];
    case AS_DTYPE_I32:
    case AS_DTYPE_U32:
        return &all_loops[2];
    case AS_DTYPE_I64:
    case AS_DTYPE_U64:
        return &all_loops[3];
    default:
        return NULL;
    }
}

bool as_gemm_takes(unsigned dtype)
{
    return loops_of(dtype) != NULL;
}

/* ---- few rows ---- */

struct thin {
    const struct as_gemm *g;
    void (*run)(const struct as_gemm *g, uint64_t from, uint64_t to);
};

static void work_thin(void *arg, uint64_t from, uint64_t to)
{
    struct thin *thin = arg;

    thin->run(thin->g, from, to);
}

static uint64_t grain_of(uint64_t work_per_item)
{
    uint64_t least = 1 << 16; /* multiplications worth a thread's while */

    return work_per_item >= least ? 1 : least / (work_per_item ? work_per_item : 1);
}

static void run_thin(struct as_kernel_ctx *k, const struct as_gemm *g, const struct loops *loops)
{
    for (uint64_t i = 0; i < g->batch; i++) {
        struct as_gemm one = *g;
        struct thin thin = {&one, g->b_row == 1 ? loops->dots : loops->sweep};

        one.a = (const char *)g->a + (g->a_at ? g->a_at[i] : 0) * (int64_t)loops->width;
        one.b = (const char *)g->b + (g->b_at ? g->b_at[i] : 0) * (int64_t)loops->width;
        one.c = (char *)g->c + (g->c_at ? g->c_at[i] : 0) * (int64_t)loops->width;
        as_kernel_parallel(k, g->n, grain_of(g->k * g->m) + 63, work_thin, &thin);
    }
}

static bool is_thin(const struct as_gemm *g)
{
    if (g->pack || g->m > FEW)
        return false;
    return g->b_col == 1 || (g->b_row == 1 && g->a_col == 1);
}

/* ---- the rest ---- */

static bool same_b(const struct as_gemm *g)
{
    for (uint64_t i = 1; g->b_at && i < g->batch; i++)
        if (g->b_at[i] != g->b_at[0])
            return false;
    return !g->pack;
}

static void run_round(struct as_kernel_ctx *k, struct round *r, const struct loops *loops)
{
    uint64_t panel = AS_GEMM_PANEL(loops->width), n_rows = (r->g->m + ROWS - 1) / ROWS, n_groups;

    r->panels = (r->columns + panel - 1) / panel;
    n_groups = (r->panels + GROUP - 1) / GROUP;
    as_kernel_parallel(k, r->panels * (r->shared ? 1 : r->n_batch), grain_of(r->g->k * panel / 4),
                       loops->pack, r);
    as_kernel_parallel(k, r->n_batch * n_rows * n_groups,
                       grain_of(r->g->k * (r->g->m < ROWS ? r->g->m : ROWS) * panel), loops->blocks,
                       r);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void *scratch_for(struct as_kernel_ctx *k, struct as_gemm_scratch *scratch, uint64_t count,
                         uint64_t size)
{
    void *at;

    if (scratch && scratch->at && scratch->bytes >= count * size)
        return scratch->at;
    at = as_kernel_work(k, count, size);
    if (scratch && at)
        *scratch = (struct as_gemm_scratch){at, count * size};
    return at;
}

int as_gemm_run(struct as_kernel_ctx *k, const struct as_gemm *g)
{
    const struct loops *loops = loops_of(g->dtype);
    uint64_t panel, column_bytes, columns, batches, bytes;
    struct round r = {.g = g};

    if (!loops)
        return as_kernel_cannot(k, "GEMM of %s", as_dtype_name(g->dtype));
    if (!as_dtype_is_float(g->dtype) && !(g->alpha > -1e9 && g->alpha < 1e9))
        return as_kernel_fail(k, "whole numbers times %g", g->alpha);
    if (g->m == 0 || g->n == 0 || g->batch == 0)
        return ASSAY_OK;
    if (is_thin(g)) {
        run_thin(k, g, loops);
        return ASSAY_OK;
    }
    panel = AS_GEMM_PANEL(loops->width);
    if (!as_mul_u64(g->k ? g->k : 1, loops->width, &column_bytes) ||
        !as_mul_u64(column_bytes, panel, &bytes))
        return as_kernel_fail(k, "rows of %llu elements", (unsigned long long)g->k);
    columns = (g->n + panel - 1) / panel * panel;
    if (PACKED_BYTES / column_bytes < columns)
        columns = PACKED_BYTES / bytes ? PACKED_BYTES / bytes * panel : panel;
    r.shared = same_b(g);
    batches = r.shared ? g->batch : PACKED_BYTES / (column_bytes * columns);
    batches = columns < g->n && !r.shared ? 1 : least(batches ? batches : 1, g->batch);
    r.packed = scratch_for(k, g->scratch, columns * (r.shared ? 1 : batches), column_bytes);
    if (!r.packed)
        return ASSAY_ERR_NOMEM;
    for (r.batch = 0; r.batch < g->batch; r.batch += batches) {
        r.n_batch = least(batches, g->batch - r.batch);
        for (r.column = 0; r.column < g->n; r.column += columns) {
            r.columns = least(columns, g->n - r.column);
            run_round(k, &r, loops);
        }
    }
    return ASSAY_OK;
}

struct as_gemm as_gemm_plain(uint64_t m, uint64_t n, uint64_t k, const float *a, const float *b,
                             bool turned, float *c)
{
    return (struct as_gemm){
        .dtype = AS_DTYPE_F32,
        .m = m,
        .n = n,
        .k = k,
        .batch = 1,
        .a = a,
        .b = b,
        .c = c,
        .a_row = (int64_t)k,
        .a_col = 1,
        .b_row = turned ? 1 : (int64_t)n,
        .b_col = turned ? (int64_t)k : 1,
        .c_row = (int64_t)n,
        .alpha = 1,
    };
}

AS_VECTOR_OF(extern, float, as_dot_f32, (const float *a, const float *b, uint64_t n), (a, b, n))
{
    return dot_f32(a, b, n);
}
