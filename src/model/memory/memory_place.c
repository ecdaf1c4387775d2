/* model/memory/memory_place.c - gives every tensor of a plan a place in one arena.
 * The largest first; the other way, for crowds, is in memory_place_order.c. */
#include "model/memory/memory_plan.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cursor.h"

/* A piece of the arena that is taken. */
struct piece {
    uint64_t at, end;
};

/* A tensor in the list of a node of the tree. */
struct entry {
    uint32_t tensor, next;
};

/* Tensors that have their place are entered in a segment tree over the rows, so that those alive in
 * a row are found without looking at the rest. */
struct placing {
    struct as_plan_tensor *tensors;
    uint32_t n, n_rows;
    uint32_t *by_size;  /* tensors, largest first */
    uint32_t *by_first; /* tensors by their first row */
    uint32_t *begin;    /* row -> where its tensors begin in by_first */
    uint8_t *placed;
    uint32_t *heads; /* node of the tree -> its first entry */
    struct entry *entries;
    uint32_t n_entries, capacity;
    struct piece *pieces; /* of those alive together with the one to place */
};

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + AS_PLAN_ALIGN - 1) / AS_PLAN_ALIGN * AS_PLAN_ALIGN;
}

static int larger_first(const void *a, const void *b, void *user)
{
    const struct as_plan_tensor *tensors = user;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

    if (tensors[i].bytes != tensors[j].bytes)
        return tensors[i].bytes > tensors[j].bytes ? -1 : 1;
    return i < j ? -1 : i > j;
}

static int by_place(const void *a, const void *b)
{
    const struct piece *p = a, *q = b;

    return p->at < q->at ? -1 : p->at > q->at;
}

static void sort_pieces(struct piece *at, size_t n)
{
    if (n > 24) {
        qsort(at, n, sizeof *at, by_place);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct piece moved = at[i];
        size_t k = i;

        for (; k > 0 && at[k - 1].at > moved.at; k--)
            at[k] = at[k - 1];
        at[k] = moved;
    }
}

static void count_rows(struct placing *p)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < p->n; i++)
        p->begin[p->tensors[i].first]++;
    for (uint32_t r = 0; r <= p->n_rows; r++) {
        uint32_t here = p->begin[r];

        p->begin[r] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < p->n; i++)
        p->by_first[p->begin[p->tensors[i].first]++] = i;
    for (uint32_t r = p->n_rows; r > 0; r--)
        p->begin[r] = p->begin[r - 1];
    p->begin[0] = 0;
}

static uint64_t count_pairs(const struct placing *p)
{
    uint64_t pairs = 0;

    for (uint32_t i = 0; i < p->n; i++)
        pairs += p->begin[p->tensors[i].last + 1] - p->begin[p->tensors[i].first];
    return pairs;
}

static bool enter_at(struct placing *p, uint32_t node, uint32_t t)
{
    if (p->n_entries == p->capacity) {
        struct entry *entries = as_realloc(p->entries, (size_t)p->capacity * 2, sizeof *entries);

        if (!entries)
            return false;
        p->entries = entries;
        p->capacity *= 2;
    }
    p->entries[p->n_entries] = (struct entry){t, p->heads[node]};
    p->heads[node] = p->n_entries++;
    return true;
}

static bool enter(struct placing *p, uint32_t t)
{
    uint32_t low = p->tensors[t].first + p->n_rows, high = p->tensors[t].last + p->n_rows + 1;

    for (; low < high; low /= 2, high /= 2) {
        if (low % 2 && !enter_at(p, low++, t))
            return false;
        if (high % 2 && !enter_at(p, --high, t))
            return false;
    }
    p->placed[t] = 1;
    return true;
}

static void add_piece(struct placing *p, size_t *n, uint32_t t)
{
    const struct as_plan_tensor *tensor = &p->tensors[t];

    p->pieces[(*n)++] = (struct piece){tensor->offset, tensor->offset + rounded(tensor->bytes)};
}

/* Alive together with `t` are those alive in its first row and those that begin later within its
 * life: each is met once. */
static size_t collect(struct placing *p, uint32_t t)
{
    const struct as_plan_tensor *tensor = &p->tensors[t];
    size_t n = 0;

    for (uint32_t node = tensor->first + p->n_rows; node > 0; node /= 2)
        for (uint32_t e = p->heads[node]; e != AS_NONE; e = p->entries[e].next)
            add_piece(p, &n, p->entries[e].tensor);
    for (uint32_t k = p->begin[tensor->first + 1]; k < p->begin[tensor->last + 1]; k++)
        if (p->placed[p->by_first[k]])
            add_piece(p, &n, p->by_first[k]);
    return n;
}

/* The start of the smallest gap that takes `bytes`; behind everything when there is none. */
static uint64_t best_gap(const struct piece *pieces, size_t n, uint64_t bytes)
{
    uint64_t end = 0, best = UINT64_MAX, best_at = 0;

    for (size_t i = 0; i < n; i++) {
        if (pieces[i].at > end && pieces[i].at - end >= bytes && pieces[i].at - end < best) {
            best = pieces[i].at - end;
            best_at = end;
        }
        if (pieces[i].end > end)
            end = pieces[i].end;
    }
    return best == UINT64_MAX ? end : best_at;
}

static bool place_all(struct placing *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        p->by_size[i] = i;
    qsort_r(p->by_size, p->n, sizeof *p->by_size, larger_first, p->tensors);
    for (uint32_t i = 0; i < p->n && p->tensors[p->by_size[i]].bytes > 0; i++) {
        uint32_t t = p->by_size[i];
        size_t n = collect(p, t);

        sort_pieces(p->pieces, n);
        p->tensors[t].offset = best_gap(p->pieces, n, rounded(p->tensors[t].bytes));
        if (!enter(p, t))
            return false;
    }
    return true;
}

static int place(struct placing *p, struct assay_error *err)
{
    bool fine;

    count_rows(p);
    if (count_pairs(p) > AS_PLACE_MAX_PAIRS)
        return as_memory_place_in_order(p->tensors, p->n, err);
    p->by_size = as_alloc_zero(p->n, sizeof *p->by_size);
    p->placed = as_alloc_zero(p->n, sizeof *p->placed);
    p->heads = as_alloc_zero((size_t)p->n_rows * 2, sizeof *p->heads);
    p->pieces = as_alloc_zero(p->n, sizeof *p->pieces);
    p->capacity = p->n + 1;
    p->entries = as_alloc_zero(p->capacity, sizeof *p->entries);
    fine = p->by_size && p->placed && p->heads && p->pieces && p->entries;
    for (uint32_t i = 0; fine && i < p->n_rows * 2; i++)
        p->heads[i] = AS_NONE;
    return fine && place_all(p) ? ASSAY_OK : as_fail_nomem(err);
}

/* True when the rounded sizes of all are less than 2^64, so that no place can pass it. */
static bool sums_fit(const struct as_plan_tensor *tensors, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        if (tensors[i].bytes > UINT64_MAX - AS_PLAN_ALIGN ||
            !as_add_u64(sum, rounded(tensors[i].bytes), &sum))
            return false;
    return true;
}

int as_memory_place(struct as_plan_tensor *tensors, size_t n, uint64_t *arena_bytes,
                    struct assay_error *err)
{
    struct placing p = {.tensors = tensors, .n = (uint32_t)n, .n_rows = 1};
    bool fits = sums_fit(tensors, n);
    int rc = ASSAY_OK;

    for (size_t i = 0; i < n; i++) {
        tensors[i].offset = fits ? 0 : UINT64_MAX;
        if (tensors[i].last >= p.n_rows)
            p.n_rows = tensors[i].last + 1;
    }
    *arena_bytes = fits ? 0 : UINT64_MAX;
    if (n == 0 || !fits)
        return ASSAY_OK;
    p.by_first = as_alloc_zero(n, sizeof *p.by_first);
    p.begin = as_alloc_zero((size_t)p.n_rows + 2, sizeof *p.begin);
    rc = p.by_first && p.begin ? place(&p, err) : as_fail_nomem(err);
    for (size_t i = 0; rc == ASSAY_OK && i < n; i++)
        if (tensors[i].bytes && tensors[i].offset + tensors[i].bytes > *arena_bytes)
            *arena_bytes = tensors[i].offset + tensors[i].bytes;
    as_free(p.pieces);
    as_free(p.heads);
    as_free(p.entries);
    as_free(p.placed);
    as_free(p.by_size);
    as_free(p.begin);
    as_free(p.by_first);
    return rc;
}
