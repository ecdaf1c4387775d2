/* format/model_sniff.h - what a file that is no model probably is, by its first bytes.
 * The most common wrong file is a mistake: a page saved under a model's name. */
#ifndef AS_FORMAT_MODEL_SNIFF_H
#define AS_FORMAT_MODEL_SNIFF_H

#include <stdint.h>

/* A few words, such as "an HTML page"; NULL: nothing we know. */
const char *as_model_sniff(const uint8_t *bytes, uint64_t size);

#endif
