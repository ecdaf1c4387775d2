/* experiment/attention/attn_rows.c - blocks of rows: logits, softmax and the mix of values.
 * Columns are left out 16 at a time where no row of the block uses one; what is left out would have
 * added exact zeros, so the bits of the result do not show it. */
#include "experiment/attention/attn_rows.h"

#include <string.h>

#include "experiment/attention/attn_gate.h"

enum { DEEP = 16 }; /* panels of values that stay near while all rows of a block use them */

/* What a thread works in. */
struct block {
    float *s;         /* [rows][columns of the panels listed] */
    float *acc;       /* [rows][16] */
    uint16_t *bits;   /* [rows][panels]: what is kept */
    uint32_t *panels; /* those that some row uses */
    uint64_t *row, *squeezed;
    size_t n_panels, stride, bits_stride;
    size_t first, n_rows; /* rows of the head it is at */
    float over_sum[AS_ATTN_BLOCK_ROWS];
};

struct block_sizes {
    size_t s, acc, bits, panels, row, total; /* bytes, multiples of 64 */
};

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static struct block_sizes sizes_of(size_t seq_len, size_t n_kept)
{
    size_t panels = as_attn_panels(n_kept);
    struct block_sizes sizes = {
        .s = AS_ATTN_BLOCK_ROWS * (panels + 1) * AS_ATTN_PANEL * sizeof(float),
        .acc = whole_lines(sizeof(float) * AS_ATTN_BLOCK_ROWS * AS_ATTN_PANEL),
        .bits = whole_lines(AS_ATTN_BLOCK_ROWS * panels * sizeof(uint16_t)),
        .panels = whole_lines(panels * sizeof(uint32_t)),
        .row = whole_lines(as_attn_words(seq_len) * sizeof(uint64_t)),
    };

    sizes.total = sizes.s + sizes.acc + sizes.bits + sizes.panels + 2 * sizes.row;
    return sizes;
}

void as_attn_rows_need(const struct as_attn_run *run, size_t n_kept, size_t need[AS_ATTN_BUFFERS])
{
    size_t columns = as_attn_columns(n_kept), dim = run->shape->dim;

    /* Tokens and dim have limits that keep these products far below 2^63. */
    need[AS_ATTN_KEYS] = columns * dim * sizeof(float);
    need[AS_ATTN_VALUES] = run->in.v ? columns * as_attn_columns(dim) * sizeof(float) : 0;
    need[AS_ATTN_BLOCKS] = sizes_of(run->shape->seq_len, n_kept).total * run->attn->threads;
}

static void place(struct block *b, const struct as_attn_run *run, unsigned number)
{
    struct block_sizes sizes = sizes_of(run->shape->seq_len, run->n_kept);
    uint8_t *at = (uint8_t *)run->attn->buffer[AS_ATTN_BLOCKS] + number * sizes.total;

    b->s = (float *)(void *)at;
    b->acc = (float *)(void *)(at += sizes.s);
    b->bits = (uint16_t *)(void *)(at += sizes.acc);
    b->panels = (uint32_t *)(void *)(at += sizes.bits);
    b->row = (uint64_t *)(void *)(at += sizes.panels);
    b->squeezed = (uint64_t *)(void *)(at + sizes.row);
}

/* ---- what a block sees ---- */

/* The entries of row `i` of a head as words over the positions that are packed. */
static const uint64_t *row_entries(const struct as_attn_run *run, const struct block *b,
                                   size_t head, size_t i)
{
    size_t n = run->shape->seq_len, words = as_attn_words(n);
    size_t seen = run->shape->causal ? i + 1 : n;

    if (run->entries)
        return run->entries + i * words;
    if (run->mask) {
        as_attn_bits_get(run->mask, ((uint64_t)head * n + i) * n, n, b->row);
        as_attn_bits_trim(b->row, words, seen);
    } else {
        memset(b->row, 0xff, words * sizeof *b->row);
        as_attn_bits_trim(b->row, words, seen);
    }
    if (!run->kept_bits)
        return b->row;
    as_attn_bits_squeeze(b->row, run->kept_bits, words, b->squeezed);
    return b->squeezed;
}

/* Lists the panels that are used and keeps the bits of those. Where every row sees everything one
 * row of bits stands for all. */
static void look(const struct as_attn_run *run, struct block *b, size_t head)
{
    bool same = !run->mask && !run->entries && !run->shape->causal;
    size_t all = as_attn_panels(run->n_kept), n_rows = same ? 1 : b->n_rows;

    for (size_t r = 0; r < n_rows; r++) {
        const uint64_t *words = row_entries(run, b, head, b->first + r);

        for (size_t p = 0; p < all; p++)
            b->bits[r * all + p] = (uint16_t)(words[p / 4] >> p % 4 * AS_ATTN_PANEL);
    }
    b->n_panels = 0;
    for (size_t p = 0; p < all; p++) {
        unsigned any = 0;

        for (size_t r = 0; r < n_rows; r++)
            any |= b->bits[r * all + p];
        if (any)
            b->panels[b->n_panels++] = (uint32_t)p;
    }
    for (size_t r = 0; r < n_rows && b->n_panels < all; r++)
        for (size_t a = 0; a < b->n_panels; a++)
            b->bits[r * all + a] = b->bits[r * all + b->panels[a]];
    b->bits_stride = same ? 0 : all;
    /* One panel more, so that rows do not all begin at the same place of a cache. */
    b->stride = (b->n_panels + 1) * AS_ATTN_PANEL;
}

/* ---- the arithmetic ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Logits of some rows against one panel. */
static void score(const struct as_attn_run *run, size_t head, size_t first, size_t n_rows,
                  struct as_attn_scores *job)
{
    const struct as_attn_kernels *kernels = run->attn->kernels;
    float *s = job->s;

    job->q_stride = run->shape->dim;
    job->dim = run->shape->dim;
    job->scale = run->scale;
    for (size_t r = 0; r < n_rows; r += kernels->rows) {
        job->q = run->in.q + (head * run->shape->seq_len + first + r) * run->shape->dim;
        job->rows = smaller(n_rows - r, kernels->rows);
        job->s = s + r * job->s_stride;
        kernels->scores(job);
    }
}

static void make_scores(const struct as_attn_run *run, const struct block *b, size_t head)
{
    const float *keys = run->attn->buffer[AS_ATTN_KEYS];

    for (size_t a = 0; a < b->n_panels; a++) {
        struct as_attn_scores job = {
            .panel = keys + (size_t)b->panels[a] * AS_ATTN_PANEL * run->shape->dim,
            .s = b->s + a * AS_ATTN_PANEL,
            .s_stride = b->stride,
        };

        score(run, head, b->first, b->n_rows, &job);
    }
}

static void copy_scores(const struct as_attn_run *run, const struct block *b)
{
    size_t columns = as_attn_columns(run->shape->seq_len);

    for (size_t r = 0; r < b->n_rows; r++)
        for (size_t a = 0; a < b->n_panels; a++)
            memcpy(b->s + r * b->stride + a * AS_ATTN_PANEL,
                   run->logits + (b->first + r) * columns + (size_t)b->panels[a] * AS_ATTN_PANEL,
                   AS_ATTN_PANEL * sizeof(float));
}

static void make_weights(const struct as_attn_run *run, struct block *b)
{
    for (size_t r = 0; r < b->n_rows; r++) {
        int64_t sum = run->attn->kernels->softmax(b->s + r * b->stride,
                                                  b->bits + r * b->bits_stride, b->n_panels);

        b->over_sum[r] = sum > 0 ? (float)(0x1p30 / (double)sum) : 0;
    }
}

/* Sixteen columns of the output. */
static void mix_columns(const struct as_attn_run *run, const struct block *b, const float *values)
{
    const struct as_attn_kernels *kernels = run->attn->kernels;

    for (size_t a = 0; a < b->n_panels; a += DEEP)
        for (size_t r = 0; r < b->n_rows; r += kernels->rows) {
            struct as_attn_mix job = {
                .p = b->s + r * b->stride + a * AS_ATTN_PANEL,
                .p_stride = b->stride,
                .rows = smaller(b->n_rows - r, kernels->rows),
                .v = values,
                .panels = b->panels + a,
                .n_panels = smaller(b->n_panels - a, DEEP),
                .acc = b->acc + r * AS_ATTN_PANEL,
                .first = a == 0,
            };

            kernels->mix(&job);
        }
}

static void make_output(const struct as_attn_run *run, const struct block *b, size_t head)
{
    size_t dim = run->shape->dim, rows = as_attn_columns(run->n_kept);
    const float *values = run->attn->buffer[AS_ATTN_VALUES];
    float *out = run->out + (head * run->shape->seq_len + b->first) * dim;

    if (b->n_panels == 0)
        memset(b->acc, 0, sizeof *b->acc * AS_ATTN_BLOCK_ROWS * AS_ATTN_PANEL);
    for (size_t c = 0; c < as_attn_panels(dim); c++) {
        size_t column = c * AS_ATTN_PANEL, n = smaller(dim - column, AS_ATTN_PANEL);

        if (b->n_panels > 0)
            mix_columns(run, b, values + c * rows * AS_ATTN_PANEL);
        for (size_t r = 0; r < b->n_rows; r++)
            for (size_t i = 0; i < n; i++) {
                float x = b->acc[r * AS_ATTN_PANEL + i] * b->over_sum[r];

                /* Zeros that are left out may have changed the sign of a zero. */
                out[r * dim + column + i] = x == 0 ? 0 : x;
            }
    }
}

static void work_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct as_attn_run *run = arg;
    unsigned number = as_attn_take_block(run->attn);
    struct block b = {0};

    place(&b, run, number);
    for (uint64_t i = from; i < to; i++) {
        size_t head = run->head + i / run->blocks;

        b.first = i % run->blocks * AS_ATTN_BLOCK_ROWS;
        b.n_rows = smaller(run->shape->seq_len - b.first, AS_ATTN_BLOCK_ROWS);
        look(run, &b, head);
        if (run->logits)
            copy_scores(run, &b);
        else
            make_scores(run, &b, head);
        make_weights(run, &b);
        make_output(run, &b, head);
    }
    as_attn_leave_block(run->attn, number);
}

/* So many blocks are worth waking a thread for: a quarter of a million products. */
static uint64_t piece(const struct as_attn_run *run)
{
    return 1 + 250000 / (AS_ATTN_BLOCK_ROWS * (uint64_t)run->shape->dim * (run->n_kept + 1));
}

void as_attn_rows(const struct as_attn_run *run, size_t n_heads)
{
    struct as_attn_run job = *run;

    as_thread_pool_run(run->attn->pool, n_heads * run->blocks, piece(run), work_rows, &job);
}

/* ---- logits as a whole ---- */

struct logits_job {
    const struct as_attn_run *run;
    as_attn_row_done each;
    void *arg;
};

static void work_logits(void *arg, uint64_t from, uint64_t to)
{
    const struct logits_job *job = arg;
    const struct as_attn_run *run = job->run;
    size_t n = run->shape->seq_len, columns = as_attn_columns(n);
    const float *keys = run->attn->buffer[AS_ATTN_KEYS];

    for (uint64_t i = from; i < to; i++) {
        size_t first = i * AS_ATTN_BLOCK_ROWS, rows = smaller(n - first, AS_ATTN_BLOCK_ROWS);
        size_t seen = run->shape->causal ? first + rows : n;

        for (size_t p = 0; p < as_attn_panels(seen); p++) {
            struct as_attn_scores scores = {
                .panel = keys + p * AS_ATTN_PANEL * run->shape->dim,
                .s = run->logits + first * columns + p * AS_ATTN_PANEL,
                .s_stride = columns,
            };

            score(run, run->head, first, rows, &scores);
        }
        for (size_t r = 0; job->each && r < rows; r++)
            job->each(job->arg, first + r, run->logits + (first + r) * columns);
    }
}

void as_attn_logits(const struct as_attn_run *run, as_attn_row_done each, void *arg)
{
    struct logits_job job = {run, each, arg};

    as_thread_pool_run(run->attn->pool, run->blocks, piece(run), work_logits, &job);
}
