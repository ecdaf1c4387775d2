/* model/memory/memory_place_order.c - places tensors in the order of their rows, whatever their
 * number. Free pieces are kept by size in lists, so that each step takes the same short time. */
#include <string.h>

#include "base/alloc.h"
#include "model/memory/memory_plan.h"

/* Sizes are in units of the alignment. A list holds the free pieces of sixteen to an octave. */
enum { N_FINE = 16, N_LISTS = 64 * N_FINE, N_WORDS = N_LISTS / 64 };

struct piece {
    uint64_t at, size;
    uint32_t before, after; /* neighbors in the arena */
    uint32_t prev, next;    /* in its list, while free */
    bool is_free;
};

struct arena {
    struct piece *pieces; /* at most two a tensor: those freed by merging are used again */
    uint32_t n_pieces, last, unused;
    uint64_t top;
    uint32_t lists[N_LISTS];
    uint64_t filled[N_WORDS];
};

static unsigned list_of(uint64_t size)
{
    unsigned octave = 63u - (unsigned)__builtin_clzll(size);

    if (octave < 4)
        return (unsigned)size;
    return (octave - 3) * N_FINE + (unsigned)(size >> (octave - 4) & (N_FINE - 1));
}

static void unlist(struct arena *a, uint32_t i)
{
    struct piece *piece = &a->pieces[i];
    unsigned list = list_of(piece->size);

    if (piece->prev != AS_NONE)
        a->pieces[piece->prev].next = piece->next;
    else
        a->lists[list] = piece->next;
    if (piece->next != AS_NONE)
        a->pieces[piece->next].prev = piece->prev;
    if (a->lists[list] == AS_NONE)
        a->filled[list / 64] &= ~((uint64_t)1 << list % 64);
    piece->is_free = false;
}

static void enlist(struct arena *a, uint32_t i)
{
    struct piece *piece = &a->pieces[i];
    unsigned list = list_of(piece->size);

    piece->is_free = true;
    piece->prev = AS_NONE;
    piece->next = a->lists[list];
    if (piece->next != AS_NONE)
        a->pieces[piece->next].prev = i;
    a->lists[list] = i;
    a->filled[list / 64] |= (uint64_t)1 << list % 64;
}

/* The first list at or after `list` that holds a piece, or N_LISTS. */
static unsigned filled_from(const struct arena *a, unsigned list)
{
    unsigned word = list / 64;
    uint64_t bits;

    if (list >= N_LISTS)
        return N_LISTS;
    bits = a->filled[word] & ~(uint64_t)0 << list % 64;
    while (bits == 0 && ++word < N_WORDS)
        bits = a->filled[word];
    return bits ? word * 64 + (unsigned)__builtin_ctzll(bits) : N_LISTS;
}

static uint32_t new_piece(struct arena *a, uint64_t at, uint64_t size, uint32_t before,
                          uint32_t after)
{
    uint32_t i = a->unused;

    if (i != AS_NONE)
        a->unused = a->pieces[i].next;
    else
        i = a->n_pieces++;
    a->pieces[i] = (struct piece){at, size, before, after, AS_NONE, AS_NONE, false};
    if (before != AS_NONE)
        a->pieces[before].after = i;
    if (after != AS_NONE)
        a->pieces[after].before = i;
    else
        a->last = i;
    return i;
}

/* A free piece of at least `size`: the first of the own list if it fits, else of any larger one. */
static uint32_t find_free(const struct arena *a, uint64_t size)
{
    unsigned list = list_of(size);
    uint32_t i = a->lists[list];

    if (i != AS_NONE && a->pieces[i].size >= size)
        return i;
    list = filled_from(a, list + 1);
    return list < N_LISTS ? a->lists[list] : AS_NONE;
}

static uint32_t take(struct arena *a, uint64_t size)
{
    uint32_t i = find_free(a, size);

    if (i != AS_NONE) {
        unlist(a, i);
    } else if (a->last != AS_NONE && a->pieces[a->last].is_free) {
        i = a->last; /* too small, but at the end: it grows */
        unlist(a, i);
        a->top += size - a->pieces[i].size;
        a->pieces[i].size = size;
    } else {
        i = new_piece(a, a->top, size, a->last, AS_NONE);
        a->top += size;
    }
    if (a->pieces[i].size > size) {
        uint32_t rest =
            new_piece(a, a->pieces[i].at + size, a->pieces[i].size - size, i, a->pieces[i].after);

        a->pieces[i].size = size;
        enlist(a, rest);
    }
    return i;
}

/* Joins `i` with the free piece after it, which disappears. */
static void join_after(struct arena *a, uint32_t i)
{
    uint32_t gone = a->pieces[i].after;

    a->pieces[i].size += a->pieces[gone].size;
    a->pieces[i].after = a->pieces[gone].after;
    if (a->pieces[i].after != AS_NONE)
        a->pieces[a->pieces[i].after].before = i;
    else
        a->last = i;
    a->pieces[gone].next = a->unused;
    a->unused = gone;
}

static void give_back(struct arena *a, uint32_t i)
{
    uint32_t before = a->pieces[i].before, after = a->pieces[i].after;

    if (after != AS_NONE && a->pieces[after].is_free) {
        unlist(a, after);
        join_after(a, i);
    }
    if (before != AS_NONE && a->pieces[before].is_free) {
        unlist(a, before);
        join_after(a, before);
        i = before;
    }
    enlist(a, i);
}

/* Lists of tensors by first and by last row, through `next`. */
struct agenda {
    uint32_t *born, *dead;           /* row -> the first of its tensors */
    uint32_t *next_born, *next_dead; /* tensor -> the next of the same row */
    uint32_t *piece;                 /* tensor -> where it is */
    uint32_t n_rows;
};

static void run_agenda(struct arena *a, const struct agenda *g, struct as_plan_tensor *tensors)
{
    for (uint32_t r = 0; r < g->n_rows; r++) {
        for (uint32_t t = r ? g->dead[r - 1] : AS_NONE; t != AS_NONE; t = g->next_dead[t])
            give_back(a, g->piece[t]);
        for (uint32_t t = g->born[r]; t != AS_NONE; t = g->next_born[t]) {
            uint64_t units = (tensors[t].bytes - 1) / AS_PLAN_ALIGN + 1;

            g->piece[t] = take(a, units);
            tensors[t].offset = a->pieces[g->piece[t]].at * AS_PLAN_ALIGN;
        }
    }
}

static void fill_agenda(struct agenda *g, const struct as_plan_tensor *tensors, uint32_t n)
{
    for (uint32_t r = 0; r < g->n_rows; r++)
        g->born[r] = g->dead[r] = AS_NONE;
    for (uint32_t t = n; t-- > 0;) {
        if (tensors[t].bytes == 0)
            continue;
        g->next_born[t] = g->born[tensors[t].first];
        g->born[tensors[t].first] = t;
        g->next_dead[t] = g->dead[tensors[t].last];
        g->dead[tensors[t].last] = t;
    }
}

int as_memory_place_in_order(struct as_plan_tensor *tensors, size_t n, struct assay_error *err)
{
    struct agenda g = {.n_rows = 1};
    struct arena *a = as_alloc_zero(1, sizeof *a);
    int rc = ASSAY_OK;

    for (size_t i = 0; i < n; i++) {
        tensors[i].offset = 0;
        if (tensors[i].last >= g.n_rows)
            g.n_rows = tensors[i].last + 1;
    }
    g.born = as_alloc_zero((size_t)g.n_rows * 2, sizeof *g.born);
    g.next_born = as_alloc_zero(n * 3, sizeof *g.next_born);
    if (a)
        a->pieces = as_alloc_zero(n * 2 + 1, sizeof *a->pieces);
    if (!a || !a->pieces || !g.born || !g.next_born) {
        rc = as_fail_nomem(err);
        goto out;
    }
    g.dead = g.born + g.n_rows;
    g.next_dead = g.next_born + n;
    g.piece = g.next_dead + n;
    a->last = a->unused = AS_NONE;
    memset(a->lists, 0xff, sizeof a->lists);
    fill_agenda(&g, tensors, (uint32_t)n);
    run_agenda(a, &g, tensors);
out:
    as_free(g.next_born);
    as_free(g.born);
    as_free(a ? a->pieces : NULL);
    as_free(a);
    return rc;
}
