/* experiment/attention/attn_pack.c - keys and values of one head as the loops want them: 16
 * positions side by side, 16 columns side by side. What is not there is 0. */
#include <math.h>
#include <string.h>

#include "experiment/attention/attn_rows.h"

enum { PIECE = 16 }; /* panels a thread takes at once */

void as_attn_run_init(struct as_attn_run *run, struct assay_attn *attn,
                      const struct assay_attn_shape *shape, const struct as_attn_inputs *in,
                      float *out)
{
    *run = (struct as_attn_run){
        .attn = attn,
        .shape = shape,
        .in = *in,
        .scale = 1.0F / sqrtf((float)shape->dim),
        .group = shape->heads / shape->kv_heads,
        .n_kept = shape->seq_len,
        .blocks = (shape->seq_len + AS_ATTN_BLOCK_ROWS - 1) / AS_ATTN_BLOCK_ROWS,
    };
    run->out = out;
}

static size_t position(const struct as_attn_run *run, size_t i)
{
    return run->kept ? run->kept[i] : i;
}

static void pack_keys(const struct as_attn_run *run, size_t panel)
{
    size_t dim = run->shape->dim, first = panel * AS_ATTN_PANEL;
    size_t n = run->n_kept - first < AS_ATTN_PANEL ? run->n_kept - first : AS_ATTN_PANEL;
    const float *from = run->in.k + run->kv_head * run->shape->seq_len * dim;
    float *to = (float *)run->attn->buffer[AS_ATTN_KEYS] + first * dim;
    const float *key[AS_ATTN_PANEL];

    for (size_t j = 0; j < n; j++)
        key[j] = from + position(run, first + j) * dim;
    for (size_t p = 0; p < dim; p++, to += AS_ATTN_PANEL) {
        for (size_t j = 0; j < n; j++)
            to[j] = key[j][p];
        for (size_t j = n; j < AS_ATTN_PANEL; j++)
            to[j] = 0;
    }
}

static void pack_values(const struct as_attn_run *run, size_t panel)
{
    size_t dim = run->shape->dim, rows = as_attn_columns(run->n_kept);
    const float *from = run->in.v + run->kv_head * run->shape->seq_len * dim;
    float *values = run->attn->buffer[AS_ATTN_VALUES];

    for (size_t c = 0; c < as_attn_panels(dim); c++) {
        size_t column = c * AS_ATTN_PANEL;
        size_t n = dim - column < AS_ATTN_PANEL ? dim - column : AS_ATTN_PANEL;
        float *to = values + (c * rows + panel * AS_ATTN_PANEL) * AS_ATTN_PANEL;

        memset(to, 0, sizeof *to * AS_ATTN_PANEL * AS_ATTN_PANEL);
        for (size_t j = 0; j < AS_ATTN_PANEL && panel * AS_ATTN_PANEL + j < run->n_kept; j++)
            memcpy(to + j * AS_ATTN_PANEL,
                   from + position(run, panel * AS_ATTN_PANEL + j) * dim + column, n * sizeof *to);
    }
}

static void pack_some(void *arg, uint64_t from, uint64_t to)
{
    const struct as_attn_run *run = arg;

    for (uint64_t panel = from; panel < to; panel++) {
        pack_keys(run, panel);
        if (run->in.v)
            pack_values(run, panel);
    }
}

void as_attn_pack(const struct as_attn_run *run)
{
    struct as_attn_run job = *run;

    as_thread_pool_run(run->attn->pool, as_attn_panels(run->n_kept), PIECE, pack_some, &job);
}
