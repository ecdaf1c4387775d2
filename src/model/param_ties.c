/* model/param_ties.c - finds parameters that hold the same numbers under several names: at the same
 * place of the file, as a second copy, or as a copy with rows and columns exchanged. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/param_scan.h"

enum {
    PLAIN_BYTES = 4096,     /* looked at to see that a tensor is not one number again and again */
    FIRST_BYTES = 1024,     /* looked at of every tensor that shares its size with another */
    MAX_COPIES = 8,         /* tensors with equal first bytes that one is compared with */
    MAX_BACK = 4096,        /* and looked back for */
    MIN_TRANSPOSED = 4096,  /* elements */
    MAX_TRANSPOSED = 20000, /* pairs tried */
    SAMPLES = 61,
};

/* Bytes of pairs that look alike and are compared to the end: real models have few such pairs. */
#define MAX_COMPARED ((uint64_t)256 << 20)

struct candidate {
    const struct as_data *data;
    const struct as_type *type;
    uint64_t key; /* of the step: place, then hash of the first bytes */
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

static bool is_tied(const struct as_params *params, const struct candidate *c)
{
    return params->params[c->param].tied_to != AS_NONE;
}

/* ---- the same place ---- */

static bool same_place(const struct candidate *a, const struct candidate *b)
{
    if (!as_type_equal(a->type, b->type))
        return false;
    if (a->data->bytes || b->data->bytes)
        return a->data->bytes == b->data->bytes;
    return a->data == b->data || (a->data->make && a->data->make == b->data->make &&
                                  a->data->seed != 0 && a->data->seed == b->data->seed);
}

static void tie_places(struct as_params *params, struct candidate *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i].key = at[i].data->bytes ? (uint64_t)(uintptr_t)at[i].data->bytes : at[i].data->seed;
    qsort(at, n, sizeof *at, compare);
    for (size_t i = 0, first = 0; i < n; i++) {
        if (i == first || !same_size(&at[first], &at[i]) || at[first].key != at[i].key ||
            !same_place(&at[first], &at[i]))
            first = i;
        else
            params->params[at[i].param].tied_to = at[first].param;
    }
}

/* ---- copies ---- */

static uint64_t hash_first(const struct as_data *data)
{
    uint64_t hash = 1469598103934665603u;
    uint64_t n = data->size_bytes < FIRST_BYTES ? data->size_bytes : FIRST_BYTES;

    for (uint64_t i = 0; i < n; i++)
        hash = (hash ^ data->bytes[i]) * 1099511628211u;
    return hash;
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

/* False: so much was compared that no more is. One pair always is, however large. */
static bool may_compare(struct as_params *params, uint64_t *compared, const struct candidate *c)
{
    if (*compared >= MAX_COMPARED) {
        params->ties_cut = true;
        return false;
    }
    *compared += c->data->size_bytes;
    return true;
}

static bool same_bytes(struct as_params *params, uint64_t *compared, const struct candidate *a,
                       const struct candidate *b)
{
    return as_type_equal(a->type, b->type) && a->data->size_bytes == b->data->size_bytes &&
           !is_plain(a->data) && may_compare(params, compared, a) &&
           memcmp(a->data->bytes, b->data->bytes, a->data->size_bytes) == 0;
}

static bool readable(const struct as_params *params, const struct candidate *c)
{
    return c->data->bytes && !is_tied(params, c);
}

static void tie_copies(struct as_params *params, struct candidate *at, size_t n, uint64_t *compared)
{
    for (size_t i = 0; i < n; i++) {
        bool twin = (i > 0 && same_size(&at[i - 1], &at[i])) ||
                    (i + 1 < n && same_size(&at[i], &at[i + 1]));

        at[i].key = twin && readable(params, &at[i]) ? hash_first(at[i].data) : 0;
    }
    qsort(at, n, sizeof *at, compare);
    for (size_t i = 1; i < n; i++) {
        if (at[i].key == 0 || !readable(params, &at[i]))
            continue;
        for (size_t k = i, tries = 0; k-- > 0 && i - k <= MAX_BACK && tries < MAX_COPIES;) {
            if (!same_size(&at[k], &at[i]) || at[k].key != at[i].key)
                break;
            if (!readable(params, &at[k]))
                continue;
            tries++;
            if (!same_bytes(params, compared, &at[k], &at[i]))
                continue;
            params->params[at[i].param].tied_to = at[k].param;
            break;
        }
    }
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

static bool is_transposed(struct as_params *params, uint64_t *compared, const struct candidate *a,
                          const struct candidate *b)
{
    const struct as_dtype_info *info = as_dtype_at(a->dtype);
    struct exchange e = {a->data->bytes, b->data->bytes, 0, 0, info->block_bytes};

    if (a->type->rank != 2 || b->type->rank != 2 || a->type->dims[0] != b->type->dims[1] ||
        a->type->dims[1] != b->type->dims[0] || info->block_elems != 1)
        return false;
    e.rows = (uint64_t)a->type->dims[0];
    e.columns = (uint64_t)a->type->dims[1];
    return !is_plain(a->data) && samples_match(&e) && may_compare(params, compared, a) &&
           is_exchanged(&e);
}

static void tie_transposed(struct as_params *params, struct candidate *at, size_t n,
                           uint64_t *compared)
{
    size_t tried = 0;

    for (size_t i = 0; i < n; i++) {
        if (at[i].data->n < MIN_TRANSPOSED || !readable(params, &at[i]))
            continue;
        for (size_t k = i + 1; k < n && same_size(&at[i], &at[k]); k++) {
            size_t early = at[i].param < at[k].param ? i : k, late = early == i ? k : i;

            if (!readable(params, &at[i]) || !readable(params, &at[k]))
                continue;
            if (++tried > MAX_TRANSPOSED) {
                params->ties_cut = true;
                return;
            }
            if (is_transposed(params, compared, &at[early], &at[late]))
                params->params[at[late].param].tied_to = at[early].param;
        }
    }
}

/* A chain of ties ends at the one that is counted. */
static void flatten(struct as_params *params)
{
    for (size_t i = 0; i < params->n_params; i++) {
        uint32_t to = params->params[i].tied_to;

        for (int hop = 0; hop < 8 && to != AS_NONE && params->params[to].tied_to != AS_NONE; hop++)
            to = params->params[to].tied_to;
        params->params[i].tied_to = to;
    }
}

int as_params_tie(struct as_params *params, const struct as_model *model, bool compare_bytes,
                  struct assay_error *err)
{
    struct candidate *at = as_alloc_zero(params->n_params + 1, sizeof *at);
    uint64_t compared = 0;
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
    tie_places(params, at, n);
    if (compare_bytes) {
        tie_copies(params, at, n, &compared);
        tie_transposed(params, at, n, &compared);
    }
    flatten(params);
    as_free(at);
    return ASSAY_OK;
}
