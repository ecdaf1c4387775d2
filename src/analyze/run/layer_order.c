/* analyze/run/layer_order.c - puts layers in the order somebody asked for.
 * Layers that lack the figure come last; ties keep the order of self time. */
#include "analyze/run/layers.h"
#include "base/order.h"

const char *as_layer_sort_name(enum as_layer_sort sort)
{
    static const char *const name[] = {
#define X(key, text) [AS_SORT_##key] = (text),
        AS_LAYER_SORTS(X)
#undef X
    };

    return (unsigned)sort < AS_SORT_COUNT ? name[sort] : "";
}

struct ordering {
    const struct as_layers *layers;
    enum as_layer_sort sort;
};

static struct as_order_key key_of(const void *row, const void *user)
{
    const struct ordering *o = user;
    const uint32_t i = *(const uint32_t *)row;
    const struct as_layer *l = &o->layers->layer[i];
    const double number[AS_SORT_COUNT] = {
        [AS_SORT_SELF] = (double)l->self_ns,
        [AS_SORT_TOTAL] = (double)l->inclusive_ns,
        [AS_SORT_CALLS] = (double)l->calls,
        [AS_SORT_MEAN] = l->times.mean_ns,
        [AS_SORT_MEDIAN] = l->times.median_ns,
        [AS_SORT_STD] = l->times.std_population_ns,
        [AS_SORT_CV] = l->times.cv,
        [AS_SORT_MIN] = l->times.min_ns,
        [AS_SORT_MAX] = l->times.max_ns,
        [AS_SORT_P95] = l->times.p95_ns,
        [AS_SORT_P99] = l->times.p99_ns,
        [AS_SORT_FIRST] = -(double)l->first_ns,
    };

    return (struct as_order_key){number[o->sort], o->sort == AS_SORT_NAME ? l->info->name : NULL,
                                 i};
}

void as_layers_order(const struct as_layers *layers, enum as_layer_sort sort, uint32_t *order)
{
    const struct ordering o = {layers, (unsigned)sort < AS_SORT_COUNT ? sort : AS_SORT_SELF};

    for (size_t i = 0; i < layers->n_layers; i++)
        order[i] = (uint32_t)i;
    as_order_sort(order, layers->n_layers, sizeof *order, key_of, &o);
}
