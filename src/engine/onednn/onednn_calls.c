/* engine/onednn/onednn_calls.c - a step as a few calls of primitives: where their tensors are,
 * packed constants, and the run. Data pointers are handed over only when they have changed. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/units.h"
#include "engine/onednn/onednn.h"

bool as_dnn_fail(struct as_dnn *d, int rc)
{
    if (d->rc == ASSAY_OK)
        d->rc = rc;
    return false;
}

static bool fail_nomem(struct as_dnn *d)
{
    return as_dnn_fail(d, as_fail_nomem(d->err));
}

static bool fail_library(struct as_dnn *d, const char *what)
{
    return as_dnn_fail(d, as_fail(d->err, ASSAY_ERR_UNSUPPORTED,
                                  "oneDNN cannot make %s for node '%.60s'", what,
                                  as_node_label(d->step->graph, d->step->node)));
}

/* ---- tensors of the step ---- */

static bool tensor_of_type(const struct as_dnn *d, const struct as_type *type,
                           const struct as_layout *layout, struct as_dnn_tensor *out)
{
    if (!as_type_is_static(type))
        return false;
    out->dtype = type->dtype;
    if (!as_dnn_plain(d->lib, type->dtype, type->rank, type->dims, &out->desc))
        return false;
    if (layout)
        out->desc = *(const dnnl_memory_desc_t *)layout->desc;
    return true;
}

static bool tensor_at(const struct as_dnn *d, uint32_t slot, const struct as_val *val,
                      struct as_dnn_tensor *out)
{
    struct as_type type;

    out->viewed = false;
    out->is_const = slot != AS_NONE && as_slot_is_const(d->p, slot);
    if (!d->k)
        return slot != AS_NONE &&
               tensor_of_type(d, &d->p->slots[slot].type, d->p->slots[slot].layout, out);
    if (!val || val->kind != AS_VALUE_TENSOR || val->layout)
        return false;
    as_val_type(val, &type);
    return tensor_of_type(d, &type, NULL, out);
}

bool as_dnn_in(const struct as_dnn *d, uint32_t i, struct as_dnn_tensor *out)
{
    out->index = i;
    return i < d->step->n_in &&
           tensor_at(d, d->step->in[i], d->k && i < d->k->n_in ? d->k->in[i] : NULL, out);
}

bool as_dnn_out(const struct as_dnn *d, uint32_t i, struct as_dnn_tensor *out)
{
    out->index = i;
    return i < d->step->n_out &&
           tensor_at(d, d->step->out[i], d->k && i < d->k->n_out ? d->k->out[i] : NULL, out);
}

const struct as_val *as_dnn_const(struct as_dnn *d, uint32_t i)
{
    const struct as_val *val;

    if (i >= d->step->n_in || !as_slot_is_const(d->p, d->step->in[i]))
        return NULL;
    val = as_exec_plan_constant(d->p, d->step->in[i], d->err);
    if (!val)
        (void)as_dnn_fail(d, d->err && d->err->code ? d->err->code : ASSAY_ERR_NOMEM);
    return val;
}

bool as_dnn_numbers(struct as_dnn *d, uint32_t i, double *out, uint64_t max, uint64_t *n)
{
    const struct as_val *val = as_dnn_const(d, i);

    if (!val || val->kind != AS_VALUE_TENSOR || val->n > max || val->dtype == AS_DTYPE_STRING)
        return false;
    for (uint64_t j = 0; j < val->n; j++)
        out[j] = as_val_f64(val, j);
    *n = val->n;
    return true;
}

/* ---- memory ---- */

void *as_dnn_keep(struct as_dnn *d, uint64_t bytes)
{
    struct as_dnn_state *s = d->state;
    void *block = NULL;

    if (s->n_kept < AS_DNN_MAX_KEPT)
        block = as_mem_alloc(s->mem, AS_MEM_PARAMETERS, bytes);
    if (!block) {
        (void)as_dnn_fail(d, as_fail(d->err, ASSAY_ERR_NOMEM,
                                     "no memory for packed weights of %.1f MiB beside the %.1f MiB "
                                     "that are held",
                                     (double)bytes / 0x1p20,
                                     (double)s->mem->all.current_bytes / 0x1p20));
        return NULL;
    }
    s->kept[s->n_kept++] = (struct as_dnn_kept){.block = block, .bytes = bytes};
    return block;
}

bool as_dnn_work(struct as_dnn *d, const dnnl_memory_desc_t *desc, struct as_dnn_ref *ref)
{
    uint64_t end, bytes = d->lib->api.memory_desc_get_size(desc);

    *ref = (struct as_dnn_ref){.place = AS_DNN_WORK, .offset = d->state->work_bytes, .desc = *desc};
    if (!as_add_u64(d->state->work_bytes, bytes, &end) || end > UINT64_MAX / 2)
        return fail_nomem(d);
    d->state->work_bytes = (end + AS_MEM_ALIGN - 1) / AS_MEM_ALIGN * AS_MEM_ALIGN;
    return true;
}

/* ---- primitives ---- */

struct grade {
    const char *word;
    int grade;
};

/* Looked through in order: the first word found counts. */
static const struct grade grades[] = {
    {"ref", 0}, {"simple", 0}, {"sse41", 2}, {"avx512", 4}, {"avx2", 3}, {"gemm", 1}, {"jit", 3},
};

int as_dnn_grade(const char *impl)
{
    for (size_t i = 0; i < AS_COUNT_OF(grades); i++)
        if (strstr(impl, grades[i].word))
            return grades[i].grade;
    return 1;
}

const char *as_dnn_impl(const struct as_onednn *lib, dnnl_primitive_desc_t pd)
{
    const char *text = NULL;

    if (lib->api.primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &text) != dnnl_success ||
        !text)
        return "unknown";
    return text;
}

const dnnl_memory_desc_t *as_dnn_md(const struct as_onednn *lib, dnnl_primitive_desc_t pd,
                                    dnnl_query_t what, int index)
{
    return lib->api.primitive_desc_query_md(pd, what, index);
}

dnnl_primitive_attr_t as_dnn_attr(const struct as_onednn *lib)
{
    dnnl_primitive_attr_t attr = NULL;

    if (lib->api.primitive_attr_create(&attr) != dnnl_success)
        return NULL;
    if (lib->api.primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) ==
        dnnl_success)
        return attr;
    lib->api.primitive_attr_destroy(attr);
    return NULL;
}

dnnl_primitive_desc_t as_dnn_choose(const struct as_onednn *lib, const void *op_desc,
                                    dnnl_primitive_attr_t attr, int skip)
{
    dnnl_primitive_desc_iterator_t it = NULL;
    dnnl_primitive_desc_t pd = NULL;

    if (lib->api.primitive_desc_iterator_create(&it, op_desc, attr, lib->engine, NULL) !=
        dnnl_success)
        return NULL;
    do {
        pd = lib->api.primitive_desc_iterator_fetch(it);
        if (pd && as_dnn_grade(as_dnn_impl(lib, pd)) > 0 && skip-- == 0)
            break;
        if (pd)
            lib->api.primitive_desc_destroy(pd);
        pd = NULL;
    } while (lib->api.primitive_desc_iterator_next(it) == dnnl_success);
    lib->api.primitive_desc_iterator_destroy(it);
    return pd;
}

dnnl_primitive_desc_t as_dnn_find(const struct as_onednn *lib, const void *op_desc)
{
    dnnl_primitive_attr_t attr = as_dnn_attr(lib);
    dnnl_primitive_desc_t pd = attr ? as_dnn_choose(lib, op_desc, attr, 0) : NULL;

    if (attr)
        lib->api.primitive_attr_destroy(attr);
    return pd;
}

static bool more_args(struct as_dnn *d, struct as_dnn_call *call)
{
    int capacity = call->capacity ? call->capacity * 2 : 8;
    void *args = as_realloc(call->args, (size_t)capacity, sizeof *call->args), *exec;

    if (!args)
        return fail_nomem(d);
    call->args = args;
    exec = as_realloc(call->exec, (size_t)capacity, sizeof *call->exec);
    if (!exec)
        return fail_nomem(d);
    call->exec = exec;
    call->capacity = capacity;
    return true;
}

bool as_dnn_arg(struct as_dnn *d, struct as_dnn_call *call, int arg, const struct as_dnn_ref *ref)
{
    struct as_onednn *lib = d->lib;
    dnnl_memory_t memory = NULL;
    void *data = ref->place == AS_DNN_KEPT ? ref->kept : NULL;

    if (call->n_args == call->capacity && !more_args(d, call))
        return false;
    if (lib->api.memory_create(&memory, &ref->desc, lib->engine, data) != dnnl_success)
        return fail_library(d, "memory");
    call->args[call->n_args] = (struct as_dnn_arg){.at = *ref, .last = data};
    call->exec[call->n_args] = (dnnl_exec_arg_t){.arg = arg, .memory = memory};
    call->n_args++;
    return true;
}

struct as_dnn_call *as_dnn_call(struct as_dnn *d, dnnl_primitive_desc_t pd)
{
    struct as_dnn_state *s = d->state;
    struct as_dnn_call *call = &s->calls[s->n_calls];
    const dnnl_memory_desc_t *scratch = as_dnn_md(d->lib, pd, dnnl_query_scratchpad_md, 0);
    struct as_dnn_ref ref;

    if (s->n_calls == AS_DNN_MAX_CALLS ||
        d->lib->api.primitive_create(&call->primitive, pd) != dnnl_success) {
        (void)fail_library(d, "a kernel");
        return NULL;
    }
    s->n_calls++;
    if (scratch && d->lib->api.memory_desc_get_size(scratch) > 0 &&
        (!as_dnn_work(d, scratch, &ref) || !as_dnn_arg(d, call, DNNL_ARG_SCRATCHPAD, &ref)))
        return NULL;
    if (!s->impl[0])
        (void)snprintf(s->impl, sizeof s->impl, "%s", as_dnn_impl(d->lib, pd));
    return call;
}

bool as_dnn_copy(struct as_dnn *d, const struct as_dnn_ref *from, const struct as_dnn_ref *to)
{
    dnnl_primitive_attr_t attr = as_dnn_attr(d->lib);
    dnnl_primitive_desc_t pd = NULL;
    struct as_dnn_call *call = NULL;

    if (attr &&
        d->lib->api.reorder_primitive_desc_create(&pd, &from->desc, d->lib->engine, &to->desc,
                                                  d->lib->engine, attr) == dnnl_success) {
        call = as_dnn_call(d, pd);
        d->lib->api.primitive_desc_destroy(pd);
    } else {
        (void)fail_library(d, "a reorder");
    }
    if (attr)
        d->lib->api.primitive_attr_destroy(attr);
    return call && as_dnn_arg(d, call, DNNL_ARG_FROM, from) && as_dnn_arg(d, call, DNNL_ARG_TO, to);
}

/* ---- inputs and outputs ---- */

bool as_dnn_source(struct as_dnn *d, const struct as_dnn_tensor *t, const dnnl_memory_desc_t *want,
                   struct as_dnn_ref *ref)
{
    const struct as_layout *layout;
    bool plain = as_dnn_is_plain(want);
    uint32_t slot;

    *ref = (struct as_dnn_ref){.place = AS_DNN_IN, .index = t->index, .desc = *want};
    if (as_dnn_same(&t->desc, want) || (plain && as_dnn_is_plain(&t->desc)))
        return true;
    if (t->is_const)
        return as_dnn_pack_later(d, t, want, ref);
    if (d->k || t->viewed) {
        struct as_dnn_ref from = {.place = AS_DNN_IN, .index = t->index, .desc = t->desc};

        return as_dnn_work(d, want, ref) && as_dnn_copy(d, &from, ref);
    }
    if (!as_dnn_layout(d->lib, want, &layout))
        return fail_nomem(d);
    slot = as_exec_plan_reorder(d->p, d->plan, d->step, d->step->in[t->index],
                                plain ? NULL : layout, d->err);
    if (slot == AS_NONE)
        return as_dnn_fail(d, ASSAY_ERR_NOMEM);
    d->in[t->index] = slot;
    return true;
}

bool as_dnn_result(struct as_dnn *d, const dnnl_memory_desc_t *desc, struct as_dnn_ref *ref)
{
    struct as_dnn_tensor plain;

    *ref = (struct as_dnn_ref){.place = AS_DNN_OUT, .desc = *desc};
    if (d->k && !as_dnn_is_plain(desc)) {
        if (!as_dnn_out(d, 0, &plain) || !as_dnn_work(d, desc, ref))
            return fail_nomem(d);
        d->out = *ref;
        d->out_plain = (struct as_dnn_ref){.place = AS_DNN_OUT, .desc = plain.desc};
        return true;
    }
    d->out_bytes = d->lib->api.memory_desc_get_size(desc);
    return as_dnn_layout(d->lib, desc, &d->out_layout) || fail_nomem(d);
}

/* ---- states ---- */

struct as_dnn_state *as_dnn_state_new(struct as_onednn *lib, struct as_mem *mem)
{
    struct as_dnn_state *s = as_alloc_zero(1, sizeof *s);

    if (s) {
        s->lib = lib;
        s->mem = mem;
    }
    return s;
}

void as_dnn_state_free(struct as_dnn_state *s)
{
    if (!s)
        return;
    for (int c = 0; c < s->n_calls; c++) {
        struct as_dnn_call *call = &s->calls[c];

        for (int i = 0; i < call->n_args; i++)
            s->lib->api.memory_destroy(call->exec[i].memory);
        s->lib->api.primitive_destroy(call->primitive);
        as_free(call->args);
        as_free(call->exec);
    }
    for (int i = 0; i < s->n_kept; i++)
        as_mem_free(s->mem, AS_MEM_PARAMETERS, s->kept[i].block, s->kept[i].bytes);
    as_free(s);
}

static void *data_of(const struct as_dnn_ref *at, const struct as_dnn_data *data)
{
    switch (at->place) {
    case AS_DNN_IN:
        return data->in ? data->in[at->index] : NULL;
    case AS_DNN_OUT:
        return data->out ? data->out[at->index] : NULL;
    case AS_DNN_WORK:
        return data->work + at->offset;
    case AS_DNN_KEPT:
        return at->kept;
    }
    return NULL;
}

int as_dnn_run(struct as_dnn_state *s, const struct as_dnn_data *data, struct assay_error *err)
{
    const struct as_onednn *lib = s->lib;

    for (int c = 0; c < s->n_calls; c++) {
        struct as_dnn_call *call = &s->calls[c];

        for (int i = 0; i < call->n_args; i++) {
            void *at = data_of(&call->args[i].at, data);

            if (at == call->args[i].last)
                continue;
            if (lib->api.memory_set_data_handle(call->exec[i].memory, at) != dnnl_success)
                return as_fail(err, ASSAY_ERR_UNSUPPORTED, "oneDNN does not take a tensor");
            call->args[i].last = at;
        }
        if (lib->api.primitive_execute(call->primitive, lib->stream, call->n_args, call->exec) !=
            dnnl_success)
            return as_fail(err, ASSAY_ERR_UNSUPPORTED, "a kernel of oneDNN failed");
    }
    return lib->api.stream_wait(lib->stream) == dnnl_success
               ? ASSAY_OK
               : as_fail(err, ASSAY_ERR_UNSUPPORTED, "a kernel of oneDNN failed");
}
