/* analyze/model/profile_order.c - the orders in which the layers of a profile can be shown.
 * Ties keep the order of the run, so that two profiles of one model line up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/profile.h"
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

static double key_of(const struct as_profile_layer *layer, unsigned sort)
{
    switch (sort) {
    case SORT_FLOPS:
        return (double)layer->step->flops;
    case SORT_BYTES:
        return (double)layer->step->bytes;
    case SORT_MEMORY:
        return (double)layer->step->live_bytes;
    case SORT_ROOF: /* the furthest below its roof first */
        return isnan(layer->roof.roof_fraction) ? -(double)INFINITY : -layer->roof.roof_fraction;
    case SORT_TIME:
        return layer->self_ns;
    default:
        return 0;
    }
}

static int compare_order(const void *a, const void *b, void *user)
{
    const struct ordering *o = user;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct as_profile_layer *lx = &o->layers[x], *ly = &o->layers[y];
    double kx = key_of(lx, o->sort), ky = key_of(ly, o->sort);
    int words = o->sort == SORT_NAME ? strcmp(lx->step->name, ly->step->name)
                : o->sort == SORT_OP ? strcmp(lx->step->op, ly->step->op)
                                     : 0;

    if (words)
        return words;
    if (kx != ky)
        return kx < ky ? 1 : -1;
    return (x > y) - (x < y);
}

uint32_t *as_profile_order(struct as_profile *profile, unsigned sort)
{
    uint32_t *order = as_arena_zero(&profile->arena, profile->n_layers + 1, sizeof *order);
    struct ordering o = {profile->layers, sort};

    if (!order)
        return NULL;
    for (size_t i = 0; i < profile->n_layers; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, profile->n_layers, sizeof *order, compare_order, &o);
    return order;
}
