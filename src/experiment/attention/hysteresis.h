/* experiment/attention/hysteresis.h - the memory a tracker of masks takes. */
#ifndef AS_EXPERIMENT_ATTENTION_HYSTERESIS_H
#define AS_EXPERIMENT_ATTENTION_HYSTERESIS_H

#include <assay/attention.h>

/* Bytes of its masks and counters; 0 for NULL. */
uint64_t as_hysteresis_bytes(const struct assay_hysteresis *hysteresis);

#endif
