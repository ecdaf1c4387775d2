/* profiler/memory_layers.c - memory of layers by name, summed up as their calls end.
 * {0} is empty. Names are bounded in number: further ones share one row. */
#include "profiler/memory_profile.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "stats/describe/moments.h"

#define UNKNOWN ASSAY_UNKNOWN

struct as_memory_layer_sums {
    char *name;
    uint64_t calls;
    struct as_moments rss; /* bytes, after each call */
    uint64_t counted_peak, rss_rise;
    uint64_t minor_faults, major_faults;
};

void as_memory_layers_fini(struct as_memory_layers *layers)
{
    for (size_t i = 0; i < layers->n; i++)
        as_free(layers->of[i].name);
    as_free(layers->of);
    as_hash_map_fini(&layers->by_name);
    *layers = (struct as_memory_layers){0};
}

size_t as_memory_layers_find(const struct as_memory_layers *layers, const char *name)
{
    const uint64_t *at = as_hash_map_find(&layers->by_name, name, strlen(name));

    return at ? (size_t)*at : SIZE_MAX;
}

static struct as_memory_layer_sums *insert(struct as_memory_layers *layers, const char *name)
{
    char *copy = AS_VEC_RESERVE(layers->of, layers->n, layers->capacity) ? as_strdup(name) : NULL;

    if (!copy || as_hash_map_put(&layers->by_name, copy, strlen(copy), layers->n) < 0) {
        as_free(copy);
        return NULL;
    }
    layers->of[layers->n] = (struct as_memory_layer_sums){
        .name = copy,
        .counted_peak = UNKNOWN,
        .rss_rise = UNKNOWN,
        .minor_faults = UNKNOWN,
        .major_faults = UNKNOWN,
    };
    return &layers->of[layers->n++];
}

static struct as_memory_layer_sums *sums_of(struct as_memory_layers *layers, const char *name)
{
    size_t at = as_memory_layers_find(layers, name);

    if (at == SIZE_MAX && layers->n >= AS_MEMORY_PROFILE_LAYERS) {
        name = "(other layers)";
        layers->joined++;
        at = as_memory_layers_find(layers, name);
    }
    return at != SIZE_MAX ? &layers->of[at] : insert(layers, name);
}

static void lift(uint64_t *most, uint64_t value)
{
    if (value != UNKNOWN && (*most == UNKNOWN || value > *most))
        *most = value;
}

static void sum_up(uint64_t *sum, uint64_t value)
{
    if (value != UNKNOWN)
        *sum = *sum == UNKNOWN ? value : *sum + value;
}

bool as_memory_layers_add(struct as_memory_layers *layers, const char *name,
                          struct as_memory_layer_reading *reading)
{
    struct as_memory_layer_sums *sums = sums_of(layers, name);

    if (!sums)
        return false;
    reading->layer = sums->name;
    sums->calls++;
    if (reading->rss_after_bytes != UNKNOWN)
        as_moments_add(&sums->rss, reading->rss_after_bytes);
    if (reading->rss_before_bytes != UNKNOWN && reading->rss_peak_bytes != UNKNOWN)
        lift(&sums->rss_rise, reading->rss_peak_bytes - reading->rss_before_bytes);
    lift(&sums->counted_peak, reading->counted_peak_bytes);
    sum_up(&sums->minor_faults, reading->minor_faults);
    sum_up(&sums->major_faults, reading->major_faults);
    return true;
}

bool as_memory_layers_row(const struct as_memory_layers *layers, size_t i,
                          struct as_memory_layer_row *out)
{
    const struct as_memory_layer_sums *s;
    const struct as_total *rss;

    if (i >= layers->n)
        return false;
    s = &layers->of[i];
    rss = &s->rss.total;
    *out = (struct as_memory_layer_row){
        .layer = s->name,
        .call_count = s->calls,
        .n_known = rss->n,
        .mean_memory_mb = as_moments_mean(&s->rss) / AS_MIB,
        .std_memory_mb = as_moments_std_population(&s->rss) / AS_MIB,
        .min_memory_mb = rss->n ? (double)rss->min / AS_MIB : AS_UNKNOWN,
        .max_memory_mb = rss->n ? (double)rss->max / AS_MIB : AS_UNKNOWN,
        .min_bytes = rss->n ? rss->min : UNKNOWN,
        .max_bytes = rss->n ? rss->max : UNKNOWN,
        .counted_peak_bytes = s->counted_peak,
        .rss_rise_bytes = s->rss_rise,
        .minor_faults = s->minor_faults,
        .major_faults = s->major_faults,
    };
    return true;
}
