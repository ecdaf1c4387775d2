/* model/weights/param_ties.c - finds parameters that are one under several names: those at the same
 * place of the file. Apart from them those of equal content, as it is or with rows and columns
 * exchanged: what was trained apart may begin equal, so these stay parameters of their own. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/weights/parameters.h"

enum {
    PLAIN_BYTES = 4096,    /* looked at to see that a tensor is not one number again and again */
    FIRST_BYTES = 1024,    /* looked at of every tensor that shares its size with another */
    MAX_ALIKE = 16,        /* different tensors of one hash that one is compared with */
    MIN_TRANSPOSED = 4096, /* elements */
    SAMPLES = 61,
};

/* Bytes of tensors that look alike and are read to the end, besides a few times those of the file:
 * real models have few such tensors, but a file may give the same bytes out many times. */
#define MAX_READ ((uint64_t)256 << 20)

struct candidate {
    const struct as_data *data;
    const struct as_type *type;
    uint64_t key; /* of the step: place, then a hash of the numbers; 0: not looked at */
    uint32_t param;
    uint8_t dtype;
};

static int compare(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;

    if (a->data->n != b->data->n)
        return a->data->n < b->data->n ? -1 : 1;
    if (a->dtype != b->dtype)
        return a->dtype < b->dtype ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->param < b->param ? -1 : a->param > b->param;
}

static bool same_size(const struct candidate *a, const struct candidate *b)
{
    return a->data->n == b->data->n && a->dtype == b->dtype;
}

struct tying {
    struct as_params *params;
    bool content;  /* what is found now is of equal content, not of one place */
    uint64_t left; /* bytes that may still be read to the end */
};

/* False: so much was read that no more is. One that is begun is read whole, however large. */
static bool may_read(struct tying *t, const struct candidate *c)
{
    if (t->left == 0) {
        t->params->ties_cut = true;
        return false;
    }
    t->left -= t->left < c->data->size_bytes ? t->left : c->data->size_bytes;
    return true;
}

static bool is_tied(const struct as_params *params, const struct candidate *c)
{
    return params->params[c->param].tied_to != AS_NONE ||
           params->params[c->param].equal_to != AS_NONE;
}

static void tie(struct tying *t, uint32_t param, uint32_t to)
{
    if (t->content)
        t->params->params[param].equal_to = to;
    else
        t->params->params[param].tied_to = to;
}

/* ---- the same place ---- */

static bool same_place(struct tying *t, const struct candidate *a, const struct candidate *b)
{
    (void)t;
    if (!as_type_equal(a->type, b->type))
        return false;
    if (a->data->bytes || b->data->bytes)
        return a->data->bytes == b->data->bytes;
    return a->data == b->data || (a->data->make && a->data->make == b->data->make &&
                                  a->data->seed != 0 && a->data->seed == b->data->seed);
}

typedef bool (*same_numbers)(struct tying *t, const struct candidate *a, const struct candidate *b);

/* One run of equal keys. Of tensors that are the same the first stands for all, so that each is
 * only compared with those that differ from one another. */
static void tie_run(struct tying *t, const struct candidate *at, size_t n, same_numbers same)
{
    const struct candidate *alike[MAX_ALIKE];
    size_t n_alike = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        if (is_tied(t->params, &at[i]))
            continue;
        while (k < n_alike && !same(t, alike[k], &at[i]))
            k++;
        if (k < n_alike)
            tie(t, at[i].param, alike[k]->param);
        else if (n_alike < MAX_ALIKE)
            alike[n_alike++] = &at[i];
        else
            t->params->ties_cut = true;
    }
}

static size_t run_end(const struct candidate *at, size_t from, size_t n)
{
    size_t to = from + 1;

    while (to < n && same_size(&at[from], &at[to]) && at[from].key == at[to].key)
        to++;
    return to;
}

static void tie_runs(struct tying *t, struct candidate *at, size_t n, same_numbers same)
{
    qsort(at, n, sizeof *at, compare);
    for (size_t i = 0, end; i < n; i = end) {
        end = run_end(at, i, n);
        if (at[i].key != 0 && end - i > 1)
            tie_run(t, at + i, end - i, same);
    }
}

static void tie_places(struct tying *t, struct candidate *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct as_data *data = at[i].data;

        at[i].key = data->bytes  ? (uint64_t)(uintptr_t)data->bytes
                    : data->seed ? data->seed
                                 : (uint64_t)(uintptr_t)data;
    }
    tie_runs(t, at, n, same_place);
}

/* ---- copies ---- */

/* Never 0. */
static uint64_t hash_bytes(const uint8_t *bytes, uint64_t n)
{
    uint64_t hash = 1469598103934665603u, i = 0, word;

    for (; i + 8 <= n; i += 8) {
        memcpy(&word, bytes + i, 8);
        hash = (hash ^ word) * 1099511628211u;
        hash ^= hash >> 29;
    }
    for (; i < n; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash | 1;
}

/* Begins with one number again and again, as biases and scales do before training, and as files do
 * whose weights are holes: equal means nothing then, and is not looked for. */
static bool is_plain(const struct as_data *data)
{
    const struct as_dtype_info *info = as_dtype_at(data->dtype);
    uint64_t step = info->block_bytes;
    uint64_t n = data->size_bytes < PLAIN_BYTES ? data->size_bytes : PLAIN_BYTES;

    return step == 0 || n <= step || memcmp(data->bytes, data->bytes + step, n - step) == 0;
}

static bool same_bytes(struct tying *t, const struct candidate *a, const struct candidate *b)
{
    return as_type_equal(a->type, b->type) && a->data->size_bytes == b->data->size_bytes &&
           may_read(t, b) && memcmp(a->data->bytes, b->data->bytes, a->data->size_bytes) == 0;
}

static bool readable(const struct as_params *params, const struct candidate *c)
{
    return c->data->bytes && !is_tied(params, c);
}

static bool has_twin(const struct candidate *at, size_t i, size_t n)
{
    return (i > 0 && same_size(&at[i - 1], &at[i])) || (i + 1 < n && same_size(&at[i], &at[i + 1]));
}

static uint64_t hash_all(const struct candidate *c)
{
    return hash_bytes(c->data->bytes, c->data->size_bytes);
}

/* Where the quick key is that of several, `hash` reads all of their numbers. */
static void look_closer(struct tying *t, struct candidate *at, size_t n,
                        uint64_t (*hash)(const struct candidate *c))
{
    qsort(at, n, sizeof *at, compare);
    for (size_t i = 0, end; i < n; i = end) {
        end = run_end(at, i, n);
        if (at[i].key == 0 || end - i < 2)
            continue;
        for (size_t k = i; k < end; k++)
            if (may_read(t, &at[k]))
                at[k].key = hash(&at[k]);
    }
}

/* By the first bytes of all that share their size, then by all bytes of those that share these. */
static void tie_copies(struct tying *t, struct candidate *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t size = at[i].data->size_bytes;
        bool look = has_twin(at, i, n) && readable(t->params, &at[i]) && !is_plain(at[i].data);

        at[i].key =
            look ? hash_bytes(at[i].data->bytes, size < FIRST_BYTES ? size : FIRST_BYTES) : 0;
    }
    look_closer(t, at, n, hash_all);
    tie_runs(t, at, n, same_bytes);
}

/* ---- copies with rows and columns exchanged ---- */

struct exchange {
    const uint8_t *a, *b;
    uint64_t rows, columns; /* of a */
    uint32_t size;          /* of an element */
};

static bool same_at(const struct exchange *e, uint64_t row, uint64_t column)
{
    return memcmp(e->a + (row * e->columns + column) * e->size,
                  e->b + (column * e->rows + row) * e->size, e->size) == 0;
}

static bool samples_match(const struct exchange *e)
{
    for (uint64_t i = 0; i < SAMPLES; i++)
        if (!same_at(e, (i * 7919 + i) % e->rows, (i * 104729 + 1) % e->columns))
            return false;
    return true;
}

static bool is_exchanged(const struct exchange *e)
{
    enum { TILE = 32 };

    for (uint64_t r = 0; r < e->rows; r += TILE)
        for (uint64_t c = 0; c < e->columns; c += TILE)
            for (uint64_t y = r; y < r + TILE && y < e->rows; y++)
                for (uint64_t x = c; x < c + TILE && x < e->columns; x++)
                    if (!same_at(e, y, x))
                        return false;
    return true;
}

static bool is_transposed(struct tying *t, const struct candidate *a, const struct candidate *b)
{
    struct exchange e = {a->data->bytes, b->data->bytes, 0, 0, as_dtype_at(a->dtype)->block_bytes};

    if (a->type->dims[0] != b->type->dims[1] || a->type->dims[1] != b->type->dims[0])
        return false;
    e.rows = (uint64_t)a->type->dims[0];
    e.columns = (uint64_t)a->type->dims[1];
    return samples_match(&e) && may_read(t, b) && is_exchanged(&e);
}

/* Of the numbers that stay in place when rows and columns are exchanged, and of the two corners
 * that change places. */
static uint64_t hash_exchanged(const struct candidate *c)
{
    uint64_t rows = (uint64_t)c->type->dims[0], columns = (uint64_t)c->type->dims[1];
    uint64_t size = as_dtype_at(c->dtype)->block_bytes, n = rows < columns ? rows : columns;
    const uint8_t *bytes = c->data->bytes;
    uint64_t hash = hash_bytes(bytes + (columns - 1) * size, size) +
                    hash_bytes(bytes + (rows - 1) * columns * size, size);

    for (uint64_t i = 0; i < SAMPLES; i++) {
        uint64_t at = n > SAMPLES ? i * (n / SAMPLES) : i % n;

        hash = (hash ^ hash_bytes(bytes + (at * columns + at) * size, size)) * 1099511628211u;
    }
    return hash | 1;
}

/* Of all numbers, whatever their order. */
static uint64_t hash_unordered(const struct candidate *c)
{
    uint64_t size = as_dtype_at(c->dtype)->block_bytes, hash = 0;

    for (uint64_t i = 0; i < c->data->n; i++)
        hash += hash_bytes(c->data->bytes + i * size, size);
    return hash | 1;
}

static void tie_transposed(struct tying *t, struct candidate *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool look = at[i].data->n >= MIN_TRANSPOSED && at[i].type->rank == 2 &&
                    as_dtype_at(at[i].dtype)->block_elems == 1 && readable(t->params, &at[i]) &&
                    !is_plain(at[i].data);

        at[i].key = look ? hash_exchanged(&at[i]) : 0;
    }
    look_closer(t, at, n, hash_unordered);
    tie_runs(t, at, n, is_transposed);
}

/* A copy may be equal to one that is equal to an earlier one with rows and columns exchanged. */
static void flatten(struct as_params *params)
{
    for (size_t i = 0; i < params->n_params; i++) {
        uint32_t to = params->params[i].equal_to;

        for (int hop = 0; hop < 8 && to != AS_NONE && params->params[to].equal_to != AS_NONE; hop++)
            to = params->params[to].equal_to;
        params->params[i].equal_to = to;
        if (to != AS_NONE)
            params->params[to].n_equal++;
    }
}

int as_params_tie(struct as_params *params, const struct as_model *model, bool compare_bytes,
                  struct assay_error *err)
{
    struct candidate *at = as_alloc_zero(params->n_params + 1, sizeof *at);
    struct tying t = {params, false,
                      MAX_READ + (model->file_bytes < UINT64_MAX / 8 ? 4 * model->file_bytes : 0)};
    size_t n = 0;

    if (!at)
        return as_fail_nomem(err);
    for (size_t i = 0; i < params->n_params; i++) {
        const struct as_param *param = &params->params[i];
        const struct as_value *value = &model->values[param->value];

        if (param->role == AS_ROLE_PARAMETER && !param->generated && value->data &&
            value->data->n > 1 && value->type.dtype == value->data->dtype)
            at[n++] =
                (struct candidate){value->data, &value->type, 0, (uint32_t)i, value->type.dtype};
    }
    tie_places(&t, at, n);
    t.content = true;
    if (compare_bytes) {
        tie_copies(&t, at, n);
        tie_transposed(&t, at, n);
    }
    flatten(params);
    as_free(at);
    return ASSAY_OK;
}
