/* engine/passes/common_subexpressions.c - what is computed twice from the same inputs is computed
 * once. Small constants of equal numbers count as the same, since exporters write them again and
 * again.
 */
#include <string.h>

#include "base/alloc.h"
#include "engine/passes/passes.h"

/* Steps of one plan by what they compute; open addressing, at most half full. */
struct table {
    struct as_step **at;
    size_t mask;
};

/* Gives up on what hashes alike: only somebody who means it brings that about. */
#define MAX_TRIES      32
#define MAX_TINY_BYTES 256

static size_t mask_for(size_t n)
{
    size_t mask = 15;

    while (mask < 2 * n)
        mask = 2 * mask + 1;
    return mask;
}

static uint64_t mix(uint64_t hash, uint64_t more)
{
    hash ^= more;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < size; i++)
        hash = mix(hash, at[i]);
    return mix(hash, size);
}

static uint64_t hash_attr(uint64_t hash, const struct as_attr *attr)
{
    switch (attr->kind) {
    case AS_ATTR_TEXT:
        return mix_bytes(hash, attr->text.at, attr->text.size);
    case AS_ATTR_INTS:
        return mix_bytes(hash, attr->ints, attr->n * sizeof *attr->ints);
    case AS_ATTR_FLOATS:
        return mix_bytes(hash, attr->floats, attr->n * sizeof *attr->floats);
    default:
        return mix(hash, (uint64_t)attr->i); /* of a float: its bits, near enough */
    }
}

static uint64_t hash_step(const struct as_step *step)
{
    uint64_t hash = mix((uint64_t)step->op, (uint64_t)step->opset);
    const struct as_node *spec = step->spec;

    for (uint32_t i = 0; i < step->n_in; i++)
        hash = mix(hash, step->in[i]);
    for (uint32_t i = 0; i < spec->n_attrs; i++)
        hash = hash_attr(hash, &spec->attrs[i]);
    return hash;
}

static bool same_texts(const struct as_text *a, const struct as_text *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->at, b->at, a->size) == 0);
}

/* Tensors, bodies and lists of texts are never taken for equal. */
static bool same_attr(const struct as_attr *a, const struct as_attr *b)
{
    if (a->kind != b->kind || a->n != b->n || strcmp(a->name, b->name) != 0)
        return false;
    switch (a->kind) {
    case AS_ATTR_INT:
        return a->i == b->i;
    case AS_ATTR_FLOAT:
        /* NOLINTNEXTLINE(*-memory-comparison,cert-*): bits are meant, as of NaN and -0 */
        return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case AS_ATTR_TEXT:
        return same_texts(&a->text, &b->text);
    case AS_ATTR_INTS:
        return !a->n || memcmp(a->ints, b->ints, a->n * sizeof *a->ints) == 0;
    case AS_ATTR_FLOATS:
        return !a->n || memcmp(a->floats, b->floats, a->n * sizeof *a->floats) == 0;
    default:
        return false;
    }
}

static bool same_step(const struct as_step *a, const struct as_step *b)
{
    const struct as_node *x = a->spec, *y = b->spec;

    if (a->op != b->op || a->opset != b->opset || a->n_in != b->n_in || a->n_out != b->n_out ||
        a->graph != b->graph || x->n_attrs != y->n_attrs)
        return false;
    if (a->n_in && memcmp(a->in, b->in, a->n_in * sizeof *a->in) != 0)
        return false;
    for (uint32_t i = 0; i < x->n_attrs; i++)
        if (!same_attr(&x->attrs[i], &y->attrs[i]))
            return false;
    return true;
}

static bool is_comparable(enum as_attr_kind kind)
{
    return kind == AS_ATTR_INT || kind == AS_ATTR_FLOAT || kind == AS_ATTR_TEXT ||
           kind == AS_ATTR_INTS || kind == AS_ATTR_FLOATS;
}

/* Whether it gives the same numbers each time and is worth a look. */
static bool is_steady(const struct as_step *step)
{
    const struct as_kernel *kernel = step->kernel;
    const struct as_node *spec = step->spec;

    if (!step->n_out || !step->n_in || step->n_post_ops || step->op == AS_OP_UNKNOWN || !kernel)
        return false;
    if (kernel->flags & AS_KERNEL_RANDOM)
        return false;
    for (uint32_t i = 0; i < spec->n_attrs; i++)
        if (!is_comparable(spec->attrs[i].kind))
            return false;
    return true;
}

/* Every output the readers of `again` need is one that `first` makes too. */
static bool can_stand_for(const struct as_pass_graph *o, const struct as_step *first,
                          const struct as_step *again)
{
    for (uint32_t i = 0; i < again->n_out; i++) {
        uint32_t slot = again->out[i];

        if (slot == AS_NONE)
            continue;
        if (slot >= o->n_slots || o->kept[slot] || first->out[i] == AS_NONE)
            return false;
    }
    return true;
}

static void stand_for(struct as_pass_graph *o, const struct as_step *first, struct as_step *again)
{
    for (uint32_t i = 0; i < again->n_out; i++)
        if (again->out[i] != AS_NONE)
            as_pass_alias(o, again->out[i], first->out[i]);
    as_pass_kill(o, again);
}

static void join_plan(struct as_pass_graph *o, struct as_plan *plan, struct table *table)
{
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        struct as_step *step = &plan->steps[i];
        size_t at, tries = 0;

        as_pass_resolve(o, step);
        if (step->dead || !is_steady(step))
            continue;
        at = (size_t)hash_step(step) & table->mask;
        while (table->at[at] && !same_step(table->at[at], step) && tries++ < MAX_TRIES)
            at = (at + 1) & table->mask;
        if (!table->at[at])
            table->at[at] = step;
        else if (tries < MAX_TRIES && can_stand_for(o, table->at[at], step))
            stand_for(o, table->at[at], step);
    }
}

static int join_plans(struct as_pass_graph *o)
{
    int rc = ASSAY_OK;

    for (uint32_t i = 0; rc == ASSAY_OK && i < o->p->n_plans; i++) {
        struct table table = {.mask = mask_for(o->p->plans[i].n_steps)};

        table.at = as_alloc_zero(table.mask + 1, sizeof(struct as_step *));
        if (table.at)
            join_plan(o, &o->p->plans[i], &table);
        else
            rc = as_fail_nomem(o->err);
        as_free(table.at);
    }
    return rc;
}

/* ---- constants ---- */

static const struct as_val *tiny(struct as_pass_graph *o, uint32_t slot)
{
    const struct as_slot *s = &o->p->slots[slot];
    struct assay_error ignored = {0};
    uint64_t bytes = 0;

    if (!s->is_const || !o->n_uses[slot] || s->type.kind != AS_VALUE_TENSOR ||
        s->type.dtype == AS_DTYPE_STRING || !as_type_bytes(&s->type, &bytes) ||
        bytes > MAX_TINY_BYTES)
        return NULL;
    return as_exec_plan_constant(o->p, slot, &ignored);
}

static bool same_numbers(const struct as_val *a, const struct as_val *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && a->bytes == b->bytes &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0 &&
           (!a->bytes || memcmp(a->data, b->data, (size_t)a->bytes) == 0);
}

static int join_constants(struct as_pass_graph *o)
{
    size_t mask = mask_for(o->n_slots);
    uint32_t *at = as_alloc_zero(mask + 1, sizeof *at); /* slot + 1 */

    if (!at)
        return as_fail_nomem(o->err);
    for (uint32_t i = 0; i < o->n_slots; i++) {
        const struct as_val *val = tiny(o, i), *other = NULL;
        size_t k, tries = 0;

        if (!val)
            continue;
        k = (size_t)mix_bytes(mix(val->dtype, (uint64_t)val->rank), val->data, (size_t)val->bytes);
        for (k &= mask; at[k] && tries++ < MAX_TRIES; k = (k + 1) & mask) {
            other = tiny(o, at[k] - 1);
            if (other && same_numbers(val, other))
                break;
            other = NULL;
        }
        if (!at[k])
            at[k] = i + 1;
        else if (other)
            as_pass_alias(o, i, at[k] - 1);
    }
    as_free(at);
    return ASSAY_OK;
}

static int join_all(struct as_pass_graph *o)
{
    int rc = join_constants(o);

    return rc < 0 ? rc : join_plans(o);
}

const struct as_pass as_pass_cse = {.finish = join_all};
