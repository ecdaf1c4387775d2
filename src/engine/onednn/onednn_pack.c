/* engine/onednn/onednn_pack.c - constant weights in the layout a kernel of oneDNN wants.
 * Large ones go there slice by slice, so that they are never in memory twice. */
#include "engine/onednn/onednn.h"

/* A slice stays in the cache of a core between being read and being laid out. */
#define SLICE_BYTES ((uint64_t)1 << 20)

/* Pages that were read are given back in parts of this size: whole huge pages. */
#define SPENT_BYTES ((uint64_t)2 << 20)

/* ---- slices ---- */

static uint64_t size_of(dnnl_data_type_t type)
{
    switch (type) {
    case dnnl_f32:
    case dnnl_s32:
        return 4;
    case dnnl_f16:
    case dnnl_bf16:
        return 2;
    case dnnl_s8:
    case dnnl_u8:
        return 1;
    default:
        return 0;
    }
}

/* The axis whose parts are next to each other; -1: the numbers do not fill their place. */
static int slowest_axis(const dnnl_memory_desc_t *d, uint64_t *row)
{
    const int64_t *strides = d->format_desc.blocking.strides;
    int64_t last = 0, all = 1;
    int axis = -1;

    if (d->format_kind != dnnl_blocked || d->format_desc.blocking.inner_nblks || d->offset0)
        return -1;
    for (int i = 0; i < d->ndims; i++) {
        all *= d->dims[i];
        if (d->dims[i] > 1 && (axis < 0 || strides[i] > strides[axis]))
            axis = i;
    }
    for (int i = 0; i < d->ndims && axis >= 0; i++)
        last += i == axis || d->dims[i] == 1 ? 0 : (d->dims[i] - 1) * strides[i];
    if (axis < 0 || last + 1 != strides[axis] || strides[axis] * d->dims[axis] != all)
        return -1;
    *row = (uint64_t)strides[axis];
    return axis;
}

/* What is behind the weights, such as sums of theirs, is of all of them together. */
static bool has_parts(const dnnl_memory_desc_t *d)
{
    if (d->format_kind != dnnl_blocked || d->extra.flags || d->offset0)
        return false;
    for (int i = 0; i < d->ndims; i++)
        if (d->padded_offsets[i])
            return false;
    return true;
}

static int64_t block_of(const dnnl_memory_desc_t *d, int axis)
{
    const dnnl_blocking_desc_t *b = &d->format_desc.blocking;
    int64_t block = 1;

    for (int i = 0; i < b->inner_nblks; i++)
        if (b->inner_idxs[i] == axis)
            block *= b->inner_blks[i];
    return block;
}

bool as_dnn_slices(const dnnl_memory_desc_t *desc, const dnnl_memory_desc_t *want, uint64_t bytes,
                   struct as_dnn_slices *out)
{
    uint64_t size = size_of(desc->data_type), row = 0;
    int axis = slowest_axis(desc, &row);
    int64_t block;

    if (axis < 0 || size == 0 || want->data_type != desc->data_type || !has_parts(want))
        return false;
    block = block_of(want, axis);
    *out = (struct as_dnn_slices){.axis = axis, .n = desc->dims[axis], .step = block, .row = row};
    if (bytes / size / row > (uint64_t)block)
        out->step = (int64_t)(bytes / size / row) / block * block;
    return out->step < out->n;
}

/* `n` of the axis, from `first` on: of the plain side and of the packed one. */
static bool describe(const struct as_dnn *d, const struct as_dnn_packing *p,
                     const struct as_dnn_slices *s, int64_t first, int64_t n,
                     struct as_dnn_ref *refs)
{
    dnnl_dims_t dims, offsets = {0};

    for (int i = 0; i < p->desc.ndims; i++)
        dims[i] = i == s->axis ? n : p->desc.dims[i];
    offsets[s->axis] = first;
    refs[0] = (struct as_dnn_ref){.place = AS_DNN_IN};
    refs[1] = (struct as_dnn_ref){.place = AS_DNN_OUT};
    if (d->lib->api.memory_desc_init_by_strides(
            &refs[0].desc, p->desc.ndims, dims, p->desc.data_type,
            p->desc.format_desc.blocking.strides) != dnnl_success ||
        d->lib->api.memory_desc_init_submemory(&refs[1].desc, &p->want, dims, offsets) !=
            dnnl_success)
        return false;
    /* One kernel does every slice of this length: the place is in the pointer. */
    refs[1].desc.offset0 = 0;
    return true;
}

static void *numbers_at(struct as_dnn *d, const struct as_dnn_from *from, uint64_t first,
                        uint64_t n, uint64_t size)
{
    int rc;

    if (from->numbers)
        return from->numbers + first * size;
    rc = as_exec_plan_read(d->p, from->slot, first, n, from->slice, d->err);
    return rc < 0 ? (as_dnn_fail(d, rc), NULL) : from->slice;
}

static void spend(const struct as_dnn_from *from, uint64_t *spent, uint64_t end)
{
    end = end / SPENT_BYTES * SPENT_BYTES;
    if (!from->spent || end <= *spent)
        return;
    as_mem_give_back(from->numbers + *spent, end - *spent);
    *spent = end;
}

/* Slices of `n` of the axis, from `first` on, by the call that is in d->state. */
static bool run_slices(struct as_dnn *d, const struct as_dnn_packing *p,
                       const struct as_dnn_slices *s, struct as_dnn_from *from, int64_t first,
                       int64_t n)
{
    uint64_t size = size_of(p->desc.data_type), spent = (uint64_t)first * s->row * size;
    int64_t block = block_of(&p->want, s->axis);
    int64_t stride = p->want.format_desc.blocking.strides[s->axis];
    struct as_dnn_data data = {0};
    void *in, *out;
    bool ok = true;

    data.in = &in;
    data.out = &out;
    if (d->state->work_bytes) {
        data.work = as_mem_alloc(d->state->mem, AS_MEM_WORKSPACE, d->state->work_bytes);
        ok = data.work || as_dnn_fail(d, as_fail_nomem(d->err));
    }
    for (int64_t i = first; ok && n <= s->n - i; i += n) {
        in = numbers_at(d, from, (uint64_t)i * s->row, (uint64_t)n * s->row, size);
        out = (uint8_t *)p->to + (uint64_t)(i / block * stride) * size;
        if (in) {
            int rc = as_dnn_run(d->state, &data, d->err);

            ok = rc == ASSAY_OK || as_dnn_fail(d, rc);
            spend(from, &spent, (uint64_t)(i + n) * s->row * size);
        }
        ok = ok && in;
    }
    as_mem_free(d->state->mem, AS_MEM_WORKSPACE, data.work, d->state->work_bytes);
    return ok;
}

/* Makes the call for slices of that length, and runs it over as many as there are. */
static bool move_slices(struct as_dnn *d, const struct as_dnn_packing *p,
                        const struct as_dnn_slices *s, struct as_dnn_from *from, int64_t first,
                        int64_t n)
{
    struct as_dnn_state *state = d->state;
    struct as_dnn_ref refs[2];
    bool ok;

    if (!describe(d, p, s, first, n, refs))
        return as_dnn_fail(d, as_fail(d->err, ASSAY_ERR_UNSUPPORTED,
                                      "oneDNN cannot lay out a part of the weights"));
    d->state = as_dnn_state_new(d->lib, state->mem);
    ok = d->state || as_dnn_fail(d, as_fail_nomem(d->err));
    ok = ok && as_dnn_copy(d, &refs[0], &refs[1]) && run_slices(d, p, s, from, first, n);
    as_dnn_state_free(d->state);
    d->state = state;
    return ok;
}

bool as_dnn_pack_slices(struct as_dnn *d, const struct as_dnn_packing *p,
                        const struct as_dnn_slices *s, struct as_dnn_from *from)
{
    uint64_t slice_bytes = (uint64_t)s->step * s->row * size_of(p->desc.data_type);
    int64_t rest = s->n % s->step;
    bool ok = true;

    if (!from->numbers) {
        from->slice = as_mem_alloc(d->state->mem, AS_MEM_WORKSPACE, slice_bytes);
        ok = from->slice || as_dnn_fail(d, as_fail_nomem(d->err));
    }
    ok = ok && move_slices(d, p, s, from, 0, s->step);
    if (ok && rest)
        ok = move_slices(d, p, s, from, s->n - rest, rest);
    as_mem_free(d->state->mem, AS_MEM_WORKSPACE, from->slice, slice_bytes);
    from->slice = NULL;
    return ok;
}

/* ---- at once ---- */

static bool move_all(struct as_dnn *d, void *numbers, const struct as_dnn_packing *p)
{
    struct as_dnn_state *s = d->state, *own = as_dnn_state_new(d->lib, s->mem);
    struct as_dnn_ref from = {.place = AS_DNN_KEPT, .desc = p->desc, .kept = numbers};
    struct as_dnn_ref to = {.place = AS_DNN_KEPT, .desc = p->want, .kept = p->to};
    struct as_dnn_data data = {0};
    bool ok;

    if (!own)
        return as_dnn_fail(d, as_fail_nomem(d->err));
    d->state = own;
    ok = as_dnn_copy(d, &from, &to);
    if (ok && own->work_bytes) {
        data.work = as_mem_alloc(s->mem, AS_MEM_WORKSPACE, own->work_bytes);
        ok = data.work || as_dnn_fail(d, as_fail_nomem(d->err));
    }
    if (ok) {
        int rc = as_dnn_run(own, &data, d->err);

        ok = rc == ASSAY_OK || as_dnn_fail(d, rc);
    }
    d->state = s;
    as_mem_free(s->mem, AS_MEM_WORKSPACE, data.work, own->work_bytes);
    as_dnn_state_free(own);
    return ok;
}

/* Integers stay with this: they are few, may have been shifted to other bytes before, and their
 * sums, which cannot be had in parts, are behind them. */
bool as_dnn_pack(struct as_dnn *d, void *numbers, const dnnl_memory_desc_t *desc,
                 const dnnl_memory_desc_t *want, struct as_dnn_ref *ref)
{
    struct as_dnn_packing p = {.desc = *desc, .want = *want};

    *ref = (struct as_dnn_ref){.place = AS_DNN_KEPT, .desc = *want};
    ref->kept = p.to = as_dnn_keep(d, d->lib->api.memory_desc_get_size(want));
    return p.to && move_all(d, numbers, &p);
}

/* ---- constants of the step ---- */

bool as_dnn_pack_later(struct as_dnn *d, const struct as_dnn_tensor *t,
                       const dnnl_memory_desc_t *want, struct as_dnn_ref *ref)
{
    struct as_dnn_packing *p = &d->packings[d->n_packings];

    *ref = (struct as_dnn_ref){.place = AS_DNN_KEPT, .desc = *want};
    ref->kept = as_dnn_keep(d, d->lib->api.memory_desc_get_size(want));
    if (!ref->kept)
        return false;
    /* There is as much room as there are kept blocks. */
    *p = (struct as_dnn_packing){t->index, t->desc, *want, ref->kept};
    d->n_packings++;
    d->packed[t->index] = true;
    return true;
}

/* Nobody else needs the plain numbers, now or later. */
static bool is_last_use(const struct as_dnn *d, int at)
{
    const struct as_slot *slot = &d->p->slots[d->step->in[d->packings[at].index]];

    for (int i = at + 1; i < d->n_packings; i++)
        if (d->packings[i].index == d->packings[at].index)
            return false;
    return !d->k && !slot->is_output && slot->n_waiting == 1 && slot->val.hold &&
           slot->val.hold->n_refs == 1;
}

/* Whether slices of the file's numbers begin and end between blocks. */
static bool reads_in_parts(const struct as_slot *slot, const struct as_dnn_slices *s)
{
    uint64_t block = slot->data ? as_dtype_at(slot->data->dtype)->block_elems : 0, n = 0;

    return block && slot->data->dtype != AS_DTYPE_STRING &&
           (uint64_t)s->step * s->row % block == 0 && as_type_elems(&slot->type, &n) &&
           n == slot->data->n;
}

static bool pack_one(struct as_dnn *d, int at)
{
    const struct as_dnn_packing *p = &d->packings[at];
    uint32_t id = d->step->in[p->index];
    const struct as_slot *slot = &d->p->slots[id];
    struct as_dnn_from from = {.slot = id};
    struct as_dnn_slices s;
    const struct as_val *val;

    if (as_dnn_slices(&p->desc, &p->want, SLICE_BYTES, &s)) {
        from.spent = slot->val.present && is_last_use(d, at);
        from.numbers = from.spent ? slot->val.data : NULL;
        if (from.spent || (!slot->val.present && reads_in_parts(slot, &s)))
            return as_dnn_pack_slices(d, p, &s, &from);
    }
    val = as_dnn_const(d, p->index);
    return val && move_all(d, val->data, p);
}

bool as_dnn_pack_all(struct as_dnn *d)
{
    for (int i = 0; i < d->n_packings; i++)
        if (!pack_one(d, i))
            return as_dnn_fail(d, ASSAY_ERR_NOMEM);
    return true;
}
