/* analyze/run/layer_rates.c - figures made from those of a layer: rates of work, shares summed up,
 * means over all. NaN where a figure cannot be had. */
#include "analyze/run/layers.h"

#include "base/units.h"

static double rate(double each, const struct as_layer *layer)
{
    if (layer->inclusive_ns == 0 || layer->calls == 0)
        return AS_UNKNOWN;
    return each * (double)layer->calls / (double)layer->inclusive_ns;
}

double as_layer_gflops(const struct as_layer *layer)
{
    return rate(layer->flops, layer);
}

double as_layer_gbps(const struct as_layer *layer)
{
    return rate(layer->bytes, layer);
}

void as_layers_cumulate(const struct as_layers *layers, const uint32_t *order, double *cumulative)
{
    double sum = 0;

    for (size_t i = 0; i < layers->n_layers; i++) {
        sum += layers->layer[order[i]].share;
        cumulative[i] = sum;
    }
}

uint64_t as_layers_total_ns(const struct as_layers *layers)
{
    uint64_t total = 0;

    for (size_t i = 0; i < layers->n_layers; i++)
        total += layers->layer[i].self_ns;
    return total;
}

double as_layers_average_ns(const struct as_layers *layers)
{
    return layers->calls ? (double)as_layers_total_ns(layers) / (double)layers->calls : AS_UNKNOWN;
}
