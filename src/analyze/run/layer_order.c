/* analyze/run/layer_order.c - puts layers in the order somebody asked for.
 * Layers that lack the figure come last; ties keep the order of self time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/run/layers.h"
#include "base/units.h"

const char *as_layer_sort_name(enum as_layer_sort sort)
{
    static const char *const name[] = {
#define X(key, text) [AS_SORT_##key] = (text),
        AS_LAYER_SORTS(X)
#undef X
    };

    return (unsigned)sort < AS_SORT_COUNT ? name[sort] : "";
}

/* What is compared, larger first. Names are compared apart. */
static double key_of(const struct as_layer *l, enum as_layer_sort sort)
{
    switch (sort) {
    case AS_SORT_SELF:
        return (double)l->self_ns;
    case AS_SORT_TOTAL:
        return (double)l->inclusive_ns;
    case AS_SORT_CALLS:
        return (double)l->calls;
    case AS_SORT_MEAN:
        return l->times.mean_ns;
    case AS_SORT_MEDIAN:
        return l->times.median_ns;
    case AS_SORT_STD:
        return l->times.std_population_ns;
    case AS_SORT_CV:
        return l->times.cv;
    case AS_SORT_MIN:
        return l->times.min_ns;
    case AS_SORT_MAX:
        return l->times.max_ns;
    case AS_SORT_P95:
        return l->times.p95_ns;
    case AS_SORT_P99:
        return l->times.p99_ns;
    case AS_SORT_FIRST:
        return -(double)l->first_ns;
    case AS_SORT_NAME:
    case AS_SORT_COUNT:
        break;
    }
    return AS_UNKNOWN;
}

struct ordering {
    const struct as_layers *layers;
    enum as_layer_sort sort;
};

static int compare(const void *a, const void *b, void *user)
{
    const struct ordering *o = user;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const struct as_layer *x = &o->layers->layer[i], *y = &o->layers->layer[j];

    if (o->sort == AS_SORT_NAME) {
        int by_name = strcmp(x->info->name, y->info->name);

        if (by_name)
            return by_name;
    } else {
        double p = key_of(x, o->sort), q = key_of(y, o->sort);

        if (isnan(p) != isnan(q))
            return isnan(p) ? 1 : -1;
        if (p > q || p < q)
            return p > q ? -1 : 1;
    }
    return i < j ? -1 : i > j;
}

void as_layers_order(const struct as_layers *layers, enum as_layer_sort sort, uint32_t *order)
{
    struct ordering o = {layers, sort};

    for (size_t i = 0; i < layers->n_layers; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, layers->n_layers, sizeof *order, compare, &o);
}
