/* analyze/run/layer_rates.h - figures made from those of a layer: rates of work, shares summed up,
 * means over all. NaN where a figure cannot be had. */
#ifndef AS_ANALYZE_RUN_LAYER_RATES_H
#define AS_ANALYZE_RUN_LAYER_RATES_H

#include "analyze/run/layers.h"

/* 10^9 operations a second while the layer ran: the FLOPs of its complete calls by their inclusive
 * time. */
double as_layer_gflops(const struct as_layer *layer);

/* 10^9 bytes a second, read and written, in the same way. */
double as_layer_gbps(const struct as_layer *layer);

/* Fills `cumulative` (room for n_layers) with the running sum of shares in that `order`. */
void as_layers_cumulate(const struct as_layers *layers, const uint32_t *order, double *cumulative);

/* Time in layers: their self times together, so that nested layers count once. */
uint64_t as_layers_total_ns(const struct as_layers *layers);

/* That time by the number of calls. */
double as_layers_average_ns(const struct as_layers *layers);

#endif
