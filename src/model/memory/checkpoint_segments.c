/* model/memory/checkpoint_segments.c - where checkpointing cuts a network.
 * Only between nodes of the main graph; a body is never cut. */
#include "model/memory/train_memory.h"

/* Rows at which a node of the main graph ends, and the bytes that cross to the next. */
struct ends {
    uint32_t *row;
    uint64_t *crossing; /* row -> bytes alive in it and in a later row */
    uint32_t n;
};

static uint32_t root_of(uint32_t n)
{
    uint32_t root = 0;

    while ((uint64_t)(root + 1) * (root + 1) <= n)
        root++;
    return root;
}

/* The end, among those within half a block of the even share, that the fewest bytes cross; of
 * equals the nearest to the share. */
static uint32_t best_end(const struct ends *ends, uint32_t cut, uint32_t n_blocks)
{
    uint32_t size = ends->n / n_blocks;
    uint32_t middle = (uint32_t)((uint64_t)cut * ends->n / n_blocks) - 1;
    uint32_t reach = (size - 1) / 2, best = middle;

    for (uint32_t d = 1; d <= reach; d++) {
        if (ends->crossing[ends->row[middle - d]] < ends->crossing[ends->row[best]])
            best = middle - d;
        if (middle + d < ends->n &&
            ends->crossing[ends->row[middle + d]] < ends->crossing[ends->row[best]])
            best = middle + d;
    }
    return ends->row[best];
}

static void find_crossing(struct ends *ends, const struct as_lifetimes *life, size_t n_rows)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < life->n_tensors; i++)
        if (life->tensors[i].last > life->tensors[i].first)
            as_span_add(ends->crossing, life->tensors[i].first, life->tensors[i].last - 1,
                        life->tensors[i].bytes);
    for (size_t r = 0; r < n_rows; r++) {
        sum += ends->crossing[r];
        ends->crossing[r] = sum;
    }
}

int as_train_blocks_find(struct as_train_blocks *out, struct as_arena *arena,
                         const struct as_lifetimes *life, size_t n_rows, bool cut,
                         struct assay_error *err)
{
    struct ends ends = {0};
    uint32_t n_blocks = 1;

    *out = (struct as_train_blocks){0};
    ends.row = as_arena_zero(arena, n_rows + 1, sizeof *ends.row);
    ends.crossing = as_arena_zero(arena, n_rows + 1, sizeof *ends.crossing);
    out->block_of = as_arena_zero(arena, n_rows + 1, sizeof *out->block_of);
    out->start = as_arena_zero(arena, n_rows + 1, sizeof *out->start);
    out->end = as_arena_zero(arena, n_rows + 1, sizeof *out->end);
    if (!ends.row || !ends.crossing || !out->block_of || !out->start || !out->end)
        return as_fail_nomem(err);
    if (n_rows == 0)
        return ASSAY_OK;
    for (uint32_t r = 0; r < n_rows; r++)
        if (life->end_of[life->top_of[r]] == r)
            ends.row[ends.n++] = r;
    find_crossing(&ends, life, n_rows);
    if (cut && root_of(ends.n) > 1)
        n_blocks = root_of(ends.n);
    for (uint32_t b = 0; b < n_blocks; b++) {
        out->start[b] = b ? out->end[b - 1] + 1 : 0;
        out->end[b] = b + 1 < n_blocks ? best_end(&ends, b + 1, n_blocks) : (uint32_t)n_rows - 1;
        for (uint32_t r = out->start[b]; r <= out->end[b]; r++)
            out->block_of[r] = b;
    }
    out->n = n_blocks;
    return ASSAY_OK;
}
