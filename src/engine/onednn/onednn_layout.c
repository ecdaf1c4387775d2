/* engine/onednn/onednn_layout.c - how oneDNN lays tensors out, and when two ways are one and the
 * same. Axes of length 1 have no place of their own: a layout that only moves those is plain. */
#include <stdio.h>
#include <string.h>

#include "engine/onednn/onednn.h"

struct as_onednn_layout {
    struct as_layout layout;
    dnnl_memory_desc_t desc;
    char text[48];
    struct as_onednn_layout *next;
};

static const dnnl_data_type_t types[AS_DTYPE_COUNT] = {
    [AS_DTYPE_F32] = dnnl_f32, [AS_DTYPE_BF16] = dnnl_bf16, [AS_DTYPE_F16] = dnnl_f16,
    [AS_DTYPE_I32] = dnnl_s32, [AS_DTYPE_I8] = dnnl_s8,     [AS_DTYPE_U8] = dnnl_u8,
};

bool as_dnn_plain(const struct as_onednn *lib, unsigned dtype, int rank, const int64_t *dims,
                  dnnl_memory_desc_t *desc)
{
    dnnl_dims_t sizes = {1}, strides = {1};
    int64_t step = 1;

    if (rank < 0 || rank > DNNL_MAX_NDIMS || dtype >= AS_DTYPE_COUNT || !types[dtype])
        return false;
    for (int i = rank; i-- > 0;) {
        /* Half of what fits: padding and products inside of the library have room. */
        if (dims[i] < 1 || step > INT64_MAX / 4096 / dims[i] || dims[i] > INT32_MAX / 2)
            return false;
        sizes[i] = dims[i];
        strides[i] = step;
        step *= dims[i];
    }
    return lib->api.memory_desc_init_by_strides(desc, rank ? rank : 1, sizes, types[dtype],
                                                strides) == dnnl_success;
}

bool as_dnn_channels_last(const struct as_onednn *lib, const dnnl_memory_desc_t *plain,
                          dnnl_memory_desc_t *desc)
{
    dnnl_dims_t strides;
    int64_t step = plain->dims[1];

    if (plain->ndims < 3)
        return false;
    strides[1] = 1;
    for (int i = plain->ndims; i-- > 2;) {
        strides[i] = step;
        step *= plain->dims[i];
    }
    strides[0] = step;
    return lib->api.memory_desc_init_by_strides(desc, plain->ndims, plain->dims, plain->data_type,
                                                strides) == dnnl_success;
}

void as_dnn_any(dnnl_memory_desc_t *desc)
{
    desc->format_kind = dnnl_format_kind_any;
    memset(&desc->format_desc, 0, sizeof desc->format_desc);
}

static bool is_padded(const dnnl_memory_desc_t *d)
{
    for (int i = 0; i < d->ndims; i++)
        if (d->padded_dims[i] != d->dims[i])
            return true;
    return false;
}

/* Blocks that turn out to be strides are taken away: one block whose outer part follows it directly
 * is no block. False: it stays blocked. */
static bool unblock(const dnnl_memory_desc_t *d, dnnl_dims_t strides)
{
    const dnnl_blocking_desc_t *b = &d->format_desc.blocking;
    int axis;

    if (d->format_kind != dnnl_blocked || d->extra.flags || is_padded(d))
        return false;
    memcpy(strides, b->strides, sizeof b->strides);
    if (b->inner_nblks == 0)
        return true;
    axis = (int)b->inner_idxs[0];
    if (b->inner_nblks > 1 ||
        (b->strides[axis] != b->inner_blks[0] && d->dims[axis] != b->inner_blks[0]))
        return false;
    strides[axis] = 1;
    return true;
}

bool as_dnn_same(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b)
{
    dnnl_dims_t sa = {0}, sb = {0};

    if (a->ndims != b->ndims || a->data_type != b->data_type || a->offset0 != b->offset0 ||
        memcmp(a->dims, b->dims, (size_t)a->ndims * sizeof *a->dims) != 0)
        return false;
    if (!unblock(a, sa) || !unblock(b, sb))
        /* NOLINTNEXTLINE(*-memory-comparison,cert-*): different padding costs a reorder, no more */
        return memcmp(a, b, sizeof *a) == 0;
    for (int i = 0; i < a->ndims; i++)
        if (a->dims[i] != 1 && sa[i] != sb[i])
            return false;
    return true;
}

bool as_dnn_is_plain(const dnnl_memory_desc_t *desc)
{
    dnnl_dims_t strides = {0};
    int64_t step = 1;

    if (desc->offset0 != 0 || !unblock(desc, strides))
        return false;
    for (int i = desc->ndims; i-- > 0;) {
        if (desc->dims[i] != 1 && strides[i] != step)
            return false;
        step *= desc->dims[i];
    }
    return true;
}

/* "aBcd16b": axes by falling stride, in capitals where a block of the axis follows. */
static void describe(const dnnl_memory_desc_t *d, char *text, size_t capacity)
{
    const dnnl_blocking_desc_t *b = &d->format_desc.blocking;
    bool used[DNNL_MAX_NDIMS] = {false};
    size_t n = 0;

    for (int k = 0; k < d->ndims && n + 1 < capacity; k++) {
        int next = 0;

        for (int i = 0; i < d->ndims; i++)
            if (used[next] || (!used[i] && b->strides[i] > b->strides[next]))
                next = i;
        used[next] = true;
        text[n] = (char)('a' + next);
        for (int i = 0; i < b->inner_nblks; i++)
            if (b->inner_idxs[i] == next)
                text[n] = (char)('A' + next);
        n++;
    }
    text[n] = '\0';
    for (int i = 0; i < b->inner_nblks && n + 1 < capacity; i++) {
        int wrote = snprintf(text + n, capacity - n, "%lld%c", (long long)b->inner_blks[i],
                             (char)('a' + b->inner_idxs[i]));

        n += wrote > 0 ? (size_t)wrote : 0;
    }
}

bool as_dnn_layout(struct as_onednn *lib, const dnnl_memory_desc_t *desc,
                   const struct as_layout **out)
{
    struct as_onednn_layout *l;

    *out = NULL;
    if (as_dnn_is_plain(desc))
        return true;
    for (l = lib->layouts; l && !as_dnn_same(&l->desc, desc); l = l->next)
        ;
    if (!l) {
        l = as_arena_zero(lib->arena, 1, sizeof *l);
        if (!l)
            return false;
        l->desc = *desc;
        describe(desc, l->text, sizeof l->text);
        l->layout.bytes = lib->api.memory_desc_get_size(desc);
        l->layout.text = l->text;
        l->layout.desc = &l->desc;
        l->next = lib->layouts;
        lib->layouts = l;
    }
    *out = &l->layout;
    return true;
}

bool as_dnn_same_layout(const struct as_layout *a, const struct as_layout *b)
{
    return a == b || (a && b && as_dnn_same(a->desc, b->desc));
}
