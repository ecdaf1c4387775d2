/* engine/kernels/attention/kern_attention_core.c - scaled dot-product attention on plain floats,
 * block by block, with the softmax kept up to date as blocks come in. */
#include "engine/kernels/attention/kern_attention.h"

#include <math.h>
#include <string.h>

#include "engine/kernels/gemm/kern_gemm.h"
#include "engine/kernels/math/fast_math.h"

enum { ROWS = 16, KEYS = 64, DEEP = 128, LANES = 16 };

typedef float vec __attribute__((vector_size(64), aligned(4)));

/* A few rows of one head of one sample. */
struct piece {
    const struct as_attend *a;
    int64_t batch, head, row, n_rows, n_keys, past;
    float most[ROWS], sum[ROWS];
    float score[ROWS][KEYS];
};

static inline const float *row_of(const float *base, const struct as_heads *at, int64_t batch,
                                  int64_t head, int64_t row)
{
    return base + batch * at->batch + head * at->head + row * at->row;
}

/* Keys of a block turned to [deep][KEYS]; those past the last are zeros. */
static inline void turn_keys(const struct as_attend *a, const float *k, int64_t n, int64_t first,
                             int64_t deep, float turned[DEEP][KEYS])
{
    for (int64_t j = 0; j < KEYS; j++)
        for (int64_t h = 0; h < deep; h++)
            turned[h][j] = j < n ? k[j * a->k_at.row + first + h] : 0;
}

static inline void add_scores(const float *q, int64_t deep, float turned[DEEP][KEYS], float *score)
{
    vec sums[4] = {{0}};

    for (int64_t h = 0; h < deep; h++)
#pragma GCC unroll 4
        for (int64_t i = 0; i < 4; i++)
            sums[i] += q[h] * *(const vec *)(const void *)(turned[h] + i * LANES);
    for (int64_t i = 0; i < 4; i++)
        *(vec *)(void *)(score + i * LANES) += sums[i];
}

/* Products of the rows with keys [key, key + n). */
static inline void score_block(struct piece *p, int64_t key, int64_t n)
{
    const struct as_attend *a = p->a;
    const float *k = row_of(a->k, &a->k_at, p->batch, p->head / (a->heads / a->kv_heads), key);
    float turned[DEEP][KEYS];

    memset(p->score, 0, sizeof p->score);
    if (p->n_rows < 4) {
        for (int64_t r = 0; r < p->n_rows; r++)
            for (int64_t j = 0; j < n; j++)
                p->score[r][j] = as_dot_f32(row_of(a->q, &a->q_at, p->batch, p->head, p->row + r),
                                            k + j * a->k_at.row, (uint64_t)a->width);
        return;
    }
    for (int64_t h = 0; h < a->width; h += DEEP) {
        int64_t deep = a->width - h < DEEP ? a->width - h : DEEP;

        turn_keys(a, k, n, h, deep, turned);
        for (int64_t r = 0; r < p->n_rows; r++)
            add_scores(row_of(a->q, &a->q_at, p->batch, p->head, p->row + r) + h, deep, turned,
                       p->score[r]);
    }
}

/* Scale, cap, bias and masks; what a row may not see becomes -infinity. */
static inline void mask_row(const struct piece *p, int64_t r, int64_t key, int64_t n, float *score)
{
    const struct as_attend *a = p->a;
    int64_t own = p->past + p->row + r; /* the place of the row's own key */
    int64_t end = a->causal ? own + 1 : p->n_keys, begin = 0;

    if (a->causal && a->window > 0 && own + 1 > a->window)
        begin = own + 1 - a->window;
    for (int64_t j = 0; j < n; j++)
        score[j] *= a->scale;
    if (a->softcap > 0)
        for (int64_t j = 0; j < n; j++)
            score[j] = a->softcap * as_tanhf(score[j] / a->softcap);
    if (a->bias) {
        const float *bias = row_of(a->bias, &a->bias_at, p->batch, p->head, p->row + r) + key;

        for (int64_t j = 0; j < n; j++)
            score[j] += bias[j];
    }
    if (a->key_mask)
        for (int64_t j = 0; j < n; j++)
            score[j] += a->key_mask[p->batch * a->keys + key + j];
    for (int64_t j = 0; j < n; j++)
        if (key + j < begin || key + j >= end)
            score[j] = -INFINITY;
}

/* Takes a block into the running softmax; `score` becomes weights. False: nothing is seen. */
static inline bool soften(struct piece *p, int64_t r, int64_t n, float *score, float *out)
{
    float most = p->most[r], sum = 0, less;

    for (int64_t j = 0; j < n; j++)
        most = score[j] > most ? score[j] : most;
    if (!(most > -INFINITY))
        return false;
    less = p->most[r] > -INFINITY ? as_expf(p->most[r] - most) : 0;
    for (int64_t j = 0; j < n; j++) {
        score[j] = as_expf(score[j] - most);
        sum += score[j];
    }
    if (less < 1)
        for (int64_t i = 0; i < p->a->value_width; i++)
            out[i] *= less;
    p->sum[r] = p->sum[r] * less + sum;
    p->most[r] = most;
    return true;
}

static inline void add_values(const struct as_attend *a, const float *v, const float *weights,
                              int64_t n, float *restrict out)
{
    int64_t j = 0, step = a->v_at.row, width = a->value_width;

    for (; j + 4 <= n; j += 4) {
        const float *restrict v0 = v + j * step, *restrict v1 = v0 + step;
        const float *restrict v2 = v1 + step, *restrict v3 = v2 + step;
        float w0 = weights[j], w1 = weights[j + 1], w2 = weights[j + 2], w3 = weights[j + 3];

        for (int64_t i = 0; i < width; i++)
            out[i] += w0 * v0[i] + w1 * v1[i] + w2 * v2[i] + w3 * v3[i];
    }
    for (; j < n; j++) {
        const float *restrict v0 = v + j * step;

        for (int64_t i = 0; i < width; i++)
            out[i] += weights[j] * v0[i];
    }
}

static inline float *out_row(const struct piece *p, int64_t r)
{
    const struct as_attend *a = p->a;

    return a->out + p->batch * a->out_at.batch + p->head * a->out_at.head +
           (p->row + r) * a->out_at.row;
}

AS_VECTOR(static, run_piece, (struct piece * p), (p))
{
    const struct as_attend *a = p->a;
    int64_t end = p->n_keys, last = p->past + p->row + p->n_rows;

    if (a->causal && last < end)
        end = last;
    for (int64_t r = 0; r < p->n_rows; r++) {
        memset(out_row(p, r), 0, (size_t)a->value_width * sizeof(float));
        p->most[r] = a->sink ? a->sink[p->head] : -INFINITY;
        p->sum[r] = a->sink ? 1 : 0;
    }
    for (int64_t key = 0; key < end; key += KEYS) {
        int64_t n = end - key < KEYS ? end - key : KEYS;
        const float *v = row_of(a->v, &a->v_at, p->batch, p->head / (a->heads / a->kv_heads), key);

        score_block(p, key, n);
        for (int64_t r = 0; r < p->n_rows; r++) {
            mask_row(p, r, key, n, p->score[r]);
            if (soften(p, r, n, p->score[r], out_row(p, r)))
                add_values(a, v, p->score[r], n, out_row(p, r));
        }
    }
    for (int64_t r = 0; r < p->n_rows; r++) {
        float *out = out_row(p, r), scale = p->sum[r] > 0 ? 1 / p->sum[r] : 0;

        for (int64_t i = 0; i < a->value_width; i++)
            out[i] *= scale;
    }
}

static void work_pieces(void *arg, uint64_t from, uint64_t to)
{
    const struct as_attend *a = arg;
    int64_t blocks = (a->rows + ROWS - 1) / ROWS;

    for (int64_t i = (int64_t)from; i < (int64_t)to; i++) {
        struct piece p = {.a = a,
                          .row = i % blocks * ROWS,
                          .head = i / blocks % a->heads,
                          .batch = i / blocks / a->heads};

        p.n_rows = a->rows - p.row < ROWS ? a->rows - p.row : ROWS;
        p.n_keys = a->n_keys ? a->n_keys[p.batch] : a->keys;
        p.past = a->past ? a->past[p.batch] : 0;
        run_piece(&p);
    }
}

void as_attend_run(struct as_kernel_ctx *k, const struct as_attend *a)
{
    struct as_attend own = *a;
    int64_t blocks = (a->rows + ROWS - 1) / ROWS, work = a->keys * (a->width + a->value_width);
    int64_t rows = a->rows < ROWS ? a->rows : ROWS;

    as_kernel_parallel(k, (uint64_t)(a->batch * a->heads * blocks),
                       (uint64_t)(work * rows > 65536 ? 1 : 65536 / (work * rows + 1) + 1),
                       work_pieces, &own);
}

void as_rotary_row(const struct as_rotary *r, float *row, int64_t position)
{
    int64_t half = r->dim / 2;
    const float *cosines = r->cos + position * half, *sines = r->sin + position * half;

    for (int64_t i = 0; i < half; i++) {
        float *a = row + (r->interleaved ? 2 * i : i);
        float *b = r->interleaved ? a + 1 : a + half;
        float x = *a, y = *b;

        *a = x * cosines[i] - y * sines[i];
        *b = y * cosines[i] + x * sines[i];
    }
}
