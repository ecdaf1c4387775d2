/* analyze/model/profile_order.c - the orders in which the layers of a profile can be shown.
 * Ties keep the order of the run, so that two profiles of one model line up. */
#include "analyze/model/profile_internal.h"
#include "base/order.h"
#include "base/units.h"

enum sort {
    SORT_TIME,
    SORT_GRAPH,
    SORT_FLOPS,
    SORT_BYTES,
    SORT_MEMORY,
    SORT_ROOF,
    SORT_NAME,
    SORT_OP,
    SORT_COUNT
};

const char *as_profile_sort_at(size_t i)
{
    static const char *const words[] = {"time",   "graph", "flops", "bytes",
                                        "memory", "roof",  "name",  "op"};
    _Static_assert(AS_COUNT_OF(words) == SORT_COUNT, "name every order");

    return i < SORT_COUNT ? words[i] : NULL;
}

struct ordering {
    const struct as_profile_layer *layers;
    unsigned sort;
};

static struct as_order_key key_of(const void *row, const void *user)
{
    const struct ordering *o = user;
    uint32_t place = *(const uint32_t *)row;
    const struct as_profile_layer *layer = &o->layers[place];
    struct as_order_key key = {.place = place};

    switch (o->sort) {
    case SORT_FLOPS:
        key.number = (double)layer->step->flops;
        break;
    case SORT_BYTES:
        key.number = (double)layer->step->bytes;
        break;
    case SORT_MEMORY:
        key.number = (double)layer->step->live_bytes;
        break;
    case SORT_ROOF: /* the furthest below its roof first */
        key.number = -layer->roof.roof_fraction;
        break;
    case SORT_TIME:
        key.number = layer->self_ns;
        break;
    case SORT_NAME:
        key.text = layer->step->name;
        break;
    case SORT_OP:
        key.text = layer->step->op;
        break;
    default:
        break;
    }
    return key;
}

void as_profile_order_by(const struct as_profile *profile, unsigned sort, uint32_t *order)
{
    struct ordering o = {profile->layers, sort};

    for (size_t i = 0; i < profile->n_layers; i++)
        order[i] = (uint32_t)i;
    as_order_sort(order, profile->n_layers, sizeof *order, key_of, &o);
}

uint32_t *as_profile_order(struct as_profile *profile, unsigned sort)
{
    uint32_t *order = as_arena_zero(&profile->arena, profile->n_layers + 1, sizeof *order);

    if (order)
        as_profile_order_by(profile, sort, order);
    return order;
}
