/* engine/constants.c - the numbers of constants: read piece by piece, kept while a step needs them.
 * Pages of the model's file are given back behind each piece, so that nothing is in memory twice.
 */
#include <string.h>

#include "engine/exec_plan.h"

/* Numbers read at once; whole bytes and blocks of every dtype. */
#define PIECE ((uint64_t)1 << 18)

uint32_t as_exec_plan_constant_slot(struct as_exec_plan *p, const char *name, struct as_val *val)
{
    struct as_type type;
    struct as_dims dims;
    uint32_t id;

    as_val_dims(val, &dims);
    if (!as_type_tensor(&type, &p->arena, val->dtype, &dims)) {
        as_val_drop(val);
        return AS_NONE;
    }
    id = as_exec_plan_slot(p, name, &type);
    if (id == AS_NONE) {
        as_val_drop(val);
        return AS_NONE;
    }
    p->slots[id].is_const = p->slots[id].is_static = true;
    p->slots[id].bytes = val->bytes;
    p->slots[id].val = *val;
    return id;
}

static int blame(const struct as_slot *slot, int rc, const struct assay_error *why,
                 struct assay_error *err)
{
    return rc < 0 ? as_fail(err, rc, "constant '%.80s': %s", slot->name, why->msg) : rc;
}

/* Of a constant that is not in memory. */
static int read_piece(const struct as_exec_plan *p, const struct as_slot *slot, uint64_t first,
                      uint64_t n, void *out, struct assay_error *err)
{
    int rc = as_val_read(&slot->type, slot->data, first, n, out, err);

    as_model_let_go(p->model, slot->data, first, n);
    return rc;
}

int as_exec_plan_read(const struct as_exec_plan *p, uint32_t id, uint64_t first, uint64_t n,
                      void *out, struct assay_error *err)
{
    const struct as_slot *slot = &p->slots[id];
    struct assay_error why = {0};

    return blame(slot, read_piece(p, slot, first, n, out, &why), &why, err);
}

/* The numbers of a constant in a value of its own. */
static int load(struct as_exec_plan *p, const struct as_slot *slot, struct as_val *val,
                struct assay_error *err)
{
    const struct as_data *data = slot->data;
    int rc;

    if (data->dtype == AS_DTYPE_STRING)
        return as_val_load(val, &p->mem, AS_MEM_PARAMETERS, &slot->type, data, err);
    rc = as_val_for(val, &p->mem, AS_MEM_PARAMETERS, &slot->type, data, err);
    for (uint64_t first = 0; rc == ASSAY_OK && first < data->n; first += PIECE) {
        uint64_t n = data->n - first < PIECE ? data->n - first : PIECE, at = 0;

        (void)as_dtype_bytes(val->dtype, first, &at); /* of a part: it fits */
        rc = read_piece(p, slot, first, n, (uint8_t *)val->data + at, err);
    }
    if (rc < 0)
        as_val_drop(val);
    return rc;
}

const struct as_val *as_exec_plan_constant(struct as_exec_plan *p, uint32_t id,
                                           struct assay_error *err)
{
    struct as_slot *slot = &p->slots[id];
    struct assay_error why = {0};

    if (slot->val.present)
        return &slot->val;
    if (!slot->data) {
        as_fail(err, ASSAY_ERR_STATE, "constant '%.80s' has no numbers any more", slot->name);
        return NULL;
    }
    return blame(slot, load(p, slot, &slot->val, &why), &why, err) < 0 ? NULL : &slot->val;
}

int as_exec_plan_copy(struct as_exec_plan *p, uint32_t id, struct as_val *val,
                      struct assay_error *err)
{
    struct as_slot *slot = &p->slots[id];
    struct assay_error why = {0};
    const struct as_val *held;
    struct as_dims dims;
    int rc;

    *val = (struct as_val){0};
    if (!slot->val.present && slot->data)
        return blame(slot, load(p, slot, val, &why), &why, err);
    held = as_exec_plan_constant(p, id, err);
    if (!held)
        return ASSAY_ERR_STATE;
    as_val_dims(held, &dims);
    rc = as_val_new(val, &p->mem, AS_MEM_PARAMETERS, held->dtype, &dims, err);
    if (rc == ASSAY_OK)
        memcpy(val->data, held->data, (size_t)held->bytes);
    return rc;
}

void as_exec_plan_constant_done(struct as_exec_plan *p, uint32_t id)
{
    struct as_slot *slot = &p->slots[id];

    if (slot->n_waiting > 0)
        slot->n_waiting--;
    if (slot->n_waiting == 0 && !slot->is_output)
        as_val_drop(&slot->val);
}
