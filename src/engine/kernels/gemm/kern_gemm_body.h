/* engine/kernels/gemm/kern_gemm_body.h - the loops of a matrix product for one type of elements.
 * Included once for each by kern_gemm.c, which defines T (the element), NAME(x) and ALPHA(x). */

typedef T NAME(vec) __attribute__((vector_size(64), aligned(sizeof(T))));

enum { NAME(LANES) = 64 / sizeof(T), NAME(PANEL) = AS_GEMM_PANEL(sizeof(T)) };

/* MR rows by one panel: `a` is [kc][MR], `b` is [kc][PANEL]. */
static inline __attribute__((always_inline)) void NAME(tile)(const T *a, const T *b, uint64_t kc,
                                                             T tile[MR][2 * NAME(LANES)])
{
    NAME(vec) low[MR] = {{0}}, high[MR] = {{0}};

    for (uint64_t p = 0; p < kc; p++) {
        NAME(vec) b0 = *(const NAME(vec) *)(const void *)(b + p * NAME(PANEL));
        NAME(vec) b1 = *(const NAME(vec) *)(const void *)(b + p * NAME(PANEL) + NAME(LANES));

#pragma GCC unroll 6
        for (int i = 0; i < MR; i++) {
            low[i] += a[p * MR + (unsigned)i] * b0;
            high[i] += a[p * MR + (unsigned)i] * b1;
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++) {
        *(NAME(vec) *)(void *)tile[i] = low[i];
        *(NAME(vec) *)(void *)(tile[i] + NAME(LANES)) = high[i];
    }
}

static inline __attribute__((always_inline)) void NAME(put)(T *c, const T *tile, uint64_t n,
                                                            bool add)
{
    if (add)
        for (uint64_t j = 0; j < n; j++)
            c[j] += tile[j];
    else
        memcpy(c, tile, n * sizeof *c);
}

/* [rows][kc] of A, times alpha, to [kc][MR] for each MR rows; rows that are not there are 0. */
static inline __attribute__((always_inline)) void NAME(pack_a)(const struct as_gemm *g, const T *a,
                                                               uint64_t rows, uint64_t kc, T *to)
{
    for (uint64_t r = 0; r < rows; r += MR, to += kc * MR)
        for (uint64_t i = 0; i < MR; i++) {
            const T *from = a + (int64_t)(r + i) * g->a_row;

            if (r + i >= rows)
                for (uint64_t p = 0; p < kc; p++)
                    to[p * MR + i] = 0;
            else if (g->alpha == 1)
                for (uint64_t p = 0; p < kc; p++)
                    to[p * MR + i] = from[(int64_t)p * g->a_col];
            else
                for (uint64_t p = 0; p < kc; p++)
                    to[p * MR + i] = (T)(ALPHA(g->alpha) * from[(int64_t)p * g->a_col]);
        }
}

/* A block of rows against some panels; `packed` is [panels][k][PANEL]. */
AS_VECTOR(static, NAME(block),
          (const struct as_gemm *g, const T *a, const T *packed, T *c, const struct block *at),
          (g, a, packed, c, at))
{
    _Alignas(64) T own[ROWS * DEEP], tile[MR][2 * NAME(LANES)];

    for (uint64_t p = 0; p < g->k || p == 0; p += DEEP) {
        uint64_t kc = g->k - p < DEEP ? g->k - p : DEEP;

        NAME(pack_a)(g, a + (int64_t)p * g->a_col, at->rows, kc, own);
        for (uint64_t j = 0; j < at->columns; j += NAME(PANEL)) {
            const T *b = packed + (j * g->k) + p * NAME(PANEL);
            uint64_t n = at->columns - j < NAME(PANEL) ? at->columns - j : NAME(PANEL);

            for (uint64_t r = 0; r < at->rows; r += MR) {
                NAME(tile)(own + r * kc, b, kc, tile);
                for (uint64_t i = 0; i < MR && r + i < at->rows; i++)
                    NAME(put)(c + (int64_t)(r + i) * g->c_row + j, tile[i], n, g->add || p > 0);
            }
        }
    }
}

AS_VECTOR(static, NAME(pack_b), (const struct as_gemm *g, const struct as_gemm_part *part, T *to),
          (g, part, to))
{
    const T *from = (const T *)g->b + (g->b_at ? g->b_at[part->batch] : 0) +
                    (int64_t)part->row * g->b_row + (int64_t)part->column * g->b_col;

    for (uint64_t j = part->columns; j < NAME(PANEL); j++)
        for (uint64_t p = 0; p < part->rows; p++)
            to[p * NAME(PANEL) + j] = 0;
    if (g->b_col == 1)
        for (uint64_t p = 0; p < part->rows; p++)
            memcpy(to + p * NAME(PANEL), from + (int64_t)p * g->b_row, part->columns * sizeof *to);
    else
        for (uint64_t j = 0; j < part->columns; j++)
            for (uint64_t p = 0; p < part->rows; p++)
                to[p * NAME(PANEL) + j] = from[(int64_t)p * g->b_row + (int64_t)j * g->b_col];
}

static inline __attribute__((always_inline)) T NAME(dot)(const T *a, const T *b, uint64_t n)
{
    NAME(vec) sums[4] = {{0}};
    T sum = 0;
    uint64_t i = 0;

    for (; i + 4 * (uint64_t)NAME(LANES) <= n; i += 4 * (uint64_t)NAME(LANES))
#pragma GCC unroll 4
        for (uint64_t j = 0; j < 4; j++)
            sums[j] += *(const NAME(vec) *)(const void *)(a + i + j * NAME(LANES)) *
                       *(const NAME(vec) *)(const void *)(b + i + j * NAME(LANES));
    for (; i + NAME(LANES) <= n; i += NAME(LANES))
        sums[0] +=
            *(const NAME(vec) *)(const void *)(a + i) * *(const NAME(vec) *)(const void *)(b + i);
    sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int j = 0; j < NAME(LANES); j++)
        sum += sums[0][j];
    for (; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Columns [from, to) of a product of few rows whose factors both have k as neighbors. */
AS_VECTOR(static, NAME(dots), (const struct as_gemm *g, uint64_t from, uint64_t to), (g, from, to))
{
    const T *a = g->a, *b = g->b;
    T *c = g->c;

    for (uint64_t j = from; j < to; j++)
        for (uint64_t i = 0; i < g->m; i++) {
            T sum = NAME(dot)(a + (int64_t)i * g->a_row, b + (int64_t)j * g->b_col, g->k);
            T *out = c + (int64_t)i * g->c_row + j;

            sum = g->alpha == 1 ? sum : (T)(ALPHA(g->alpha) * sum);
            *out = g->add ? *out + sum : sum;
        }
}

/* Columns [from, to) of a product of few rows where the columns of B are neighbors. */
AS_VECTOR(static, NAME(sweep), (const struct as_gemm *g, uint64_t from, uint64_t to), (g, from, to))
{
    for (uint64_t i = 0; i < g->m; i++) {
        const T *a = (const T *)g->a + (int64_t)i * g->a_row, *b = (const T *)g->b + from;
        T *c = (T *)g->c + (int64_t)i * g->c_row + from;
        uint64_t n = to - from, p = 0;
        T alpha = ALPHA(g->alpha);

        if (!g->add)
            memset(c, 0, n * sizeof *c);
        for (; p + 4 <= g->k; p += 4) {
            T a0 = alpha * a[(int64_t)p * g->a_col], a1 = alpha * a[(int64_t)(p + 1) * g->a_col];
            T a2 = alpha * a[(int64_t)(p + 2) * g->a_col],
              a3 = alpha * a[(int64_t)(p + 3) * g->a_col];
            const T *restrict b0 = b + (int64_t)p * g->b_row, *restrict b1 = b0 + g->b_row;
            const T *restrict b2 = b1 + g->b_row, *restrict b3 = b2 + g->b_row;
            T *restrict out = c;

            for (uint64_t j = 0; j < n; j++)
                out[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
        }
        for (; p < g->k; p++) {
            T a0 = alpha * a[(int64_t)p * g->a_col];
            const T *restrict b0 = b + (int64_t)p * g->b_row;
            T *restrict out = c;

            for (uint64_t j = 0; j < n; j++)
                out[j] += a0 * b0[j];
        }
    }
}

static void NAME(work_pack)(void *arg, uint64_t from, uint64_t to)
{
    struct round *r = arg;
    const struct as_gemm *g = r->g;

    for (uint64_t i = from; i < to; i++) {
        uint64_t panel = i % r->panels;
        struct as_gemm_part part = {.batch = r->batch + i / r->panels, .rows = g->k};
        T *packed = (T *)r->packed + i * NAME(PANEL) * g->k;

        part.column = r->column + panel * NAME(PANEL);
        part.columns = g->n - part.column < NAME(PANEL) ? g->n - part.column : NAME(PANEL);
        if (g->pack)
            g->pack(g->pack_arg, &part, packed);
        else
            NAME(pack_b)(g, &part, packed);
    }
}

static void NAME(work_blocks)(void *arg, uint64_t from, uint64_t to)
{
    struct round *r = arg;
    const struct as_gemm *g = r->g;
    uint64_t wide = GROUP * (uint64_t)NAME(PANEL), n_groups = (r->columns + wide - 1) / wide;
    uint64_t n_rows = (g->m + ROWS - 1) / ROWS;

    for (uint64_t i = from; i < to; i++) {
        uint64_t group = i % n_groups, row = i / n_groups % n_rows, one = i / n_groups / n_rows;
        uint64_t batch = r->batch + one, skip = group * wide;
        struct block at = {g->m - row * ROWS, r->columns - skip};
        const T *packed = (const T *)r->packed + skip * g->k;

        if (!r->shared)
            packed += one * r->panels * NAME(PANEL) * g->k;
        at.rows = at.rows < ROWS ? at.rows : ROWS;
        at.columns = at.columns < wide ? at.columns : wide;
        NAME(block)
        (g, (const T *)g->a + (g->a_at ? g->a_at[batch] : 0) + (int64_t)(row * ROWS) * g->a_row,
         packed,
         (T *)g->c + (g->c_at ? g->c_at[batch] : 0) + (int64_t)(row * ROWS) * g->c_row + r->column +
             skip,
         &at);
    }
}
