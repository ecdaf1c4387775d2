/* engine/passes/pass_query.c - what passes ask of slots and patterns: numbers, types, who reads
 * what. Only small constants are loaded to be looked at. */
#include <math.h>

#include "engine/passes/passes.h"

/* Lists of axes and shapes, and per-channel numbers, are no longer than this. */
#define SMALL_BYTES 4096

static const struct as_val *small_constant(const struct as_pass_graph *o, uint32_t slot)
{
    struct assay_error ignored = {0};
    uint64_t bytes = 0;
    const struct as_val *val;

    if (slot >= o->p->n_slots || !o->p->slots[slot].is_const)
        return NULL;
    if (!as_type_bytes(&o->p->slots[slot].type, &bytes) || bytes > SMALL_BYTES)
        return NULL;
    val = as_exec_plan_constant(o->p, slot, &ignored);
    return val && val->kind == AS_VALUE_TENSOR ? val : NULL;
}

static bool is_plain_number(unsigned dtype)
{
    enum as_dtype_class kind = as_dtype_at(dtype)->kind;

    return kind == AS_CLASS_FLOAT || kind == AS_CLASS_INT || kind == AS_CLASS_UINT ||
           kind == AS_CLASS_BOOL;
}

bool as_pass_scalar(const struct as_pass_graph *o, uint32_t slot, double *out)
{
    const struct as_val *val = small_constant(o, slot);

    if (!val || val->n != 1 || !is_plain_number(val->dtype))
        return false;
    *out = as_val_f64(val, 0);
    return isfinite(*out);
}

bool as_pass_list(const struct as_pass_graph *o, uint32_t slot, struct as_dims *out)
{
    const struct as_val *val = small_constant(o, slot);

    if (!val || val->n > AS_MAX_RANK || !as_dtype_is_integer(val->dtype))
        return false;
    out->rank = (int)val->n;
    for (uint64_t i = 0; i < val->n; i++)
        out->at[i] = as_val_i64(val, i);
    return true;
}

bool as_pass_clip_bounds(const struct as_pass_graph *o, const struct as_step *clip, double *low,
                         double *high)
{
    struct as_pattern_graph g = as_pass_pattern_graph(o);
    struct as_pattern_op op = {.op = clip->op,
                               .opset = clip->opset,
                               .spec = clip->spec,
                               .in = clip->in,
                               .n_in = clip->n_in};

    return as_pattern_clip_bounds(&g, &op, low, high);
}

uint32_t as_pass_fill(struct as_pass_graph *o, const char *name, unsigned dtype,
                      const struct as_dims *dims, double x)
{
    struct as_val val = {0};

    if (as_val_new(&val, &o->p->mem, AS_MEM_PARAMETERS, dtype, dims, o->err) < 0)
        return AS_NONE;
    for (uint64_t i = 0; i < val.n; i++)
        as_val_put_f64(&val, i, x);
    return as_exec_plan_constant_slot(o->p, name, &val);
}

bool as_pass_is_static(const struct as_pass_graph *o, uint32_t slot)
{
    const struct as_slot *s = slot < o->p->n_slots ? &o->p->slots[slot] : NULL;

    return s && s->type.dtype != AS_DTYPE_UNKNOWN && as_type_is_static(&s->type) &&
           (s->value == AS_NONE || !o->p->model->values[s->value].varies);
}

bool as_pass_same_type(const struct as_pass_graph *o, uint32_t a, uint32_t b)
{
    return as_pass_is_static(o, a) && as_pass_is_static(o, b) &&
           as_type_equal(&o->p->slots[a].type, &o->p->slots[b].type);
}

bool as_pass_is_float(const struct as_pass_graph *o, uint32_t slot)
{
    const struct as_type *type = slot < o->p->n_slots ? &o->p->slots[slot].type : NULL;

    return type && type->kind == AS_VALUE_TENSOR &&
           (type->dtype == AS_DTYPE_F32 || type->dtype == AS_DTYPE_F64 ||
            type->dtype == AS_DTYPE_F16 || type->dtype == AS_DTYPE_BF16);
}

int64_t as_pass_last_dim(const struct as_pass_graph *o, uint32_t slot)
{
    const struct as_type *type = slot < o->p->n_slots ? &o->p->slots[slot].type : NULL;

    if (!type || type->kind != AS_VALUE_TENSOR || type->rank < 1)
        return AS_DIM_UNKNOWN;
    return type->dims[type->rank - 1];
}

bool as_pass_add(struct as_pass_match *m, struct as_step *step)
{
    for (unsigned i = 0; i < m->n; i++)
        if (m->parts[i] == step)
            return true;
    if (m->n == AS_OPT_PARTS)
        return false;
    m->parts[m->n++] = step;
    return true;
}

static uint32_t reads(const struct as_step *step, uint32_t slot)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < step->n_in; i++)
        n += step->in[i] == slot;
    return n;
}

bool as_pass_closed(const struct as_pass_graph *o, const struct as_pass_match *m,
                    const struct as_step *last)
{
    for (unsigned i = 0; i < m->n; i++) {
        for (uint32_t k = 0; k < m->parts[i]->n_out; k++) {
            uint32_t slot = m->parts[i]->out[k], n = 0;

            if (slot >= o->n_slots)
                continue;
            for (unsigned j = 0; j < m->n; j++)
                n += reads(m->parts[j], slot);
            if (o->kept[slot] || o->n_uses[slot] != n + reads(last, slot))
                return false;
        }
    }
    return true;
}
