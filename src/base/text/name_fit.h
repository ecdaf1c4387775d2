/* base/text/name_fit.h - names of layers such as "features.2.conv.0.0" or
 * "bert/encoder/layer_0/add" in few columns. Leading segments are abbreviated first: what tells two
 * layers apart is mostly at the end of a name and in its digits. */
#ifndef AS_BASE_TEXT_NAME_FIT_H
#define AS_BASE_TEXT_NAME_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* `name` in at most `max_width` columns, in `arena`: leading segments become the first letters and
 * trailing digits of their words, one after the other, then those of the first word alone, and only
 * if that is not enough the middle is replaced by `ellipsis`. A name that fits is returned as it
 * is. NULL without memory. */
const char *as_name_fit(struct as_arena *arena, const char *name, size_t max_width,
                        const char *ellipsis);

/* The smallest width from `floor` to `natural` found at which names that differ still differ after
 * as_name_fit(); `natural` when there is none, or without memory. */
size_t as_name_least_width(const char *const *names, size_t n, size_t floor, size_t natural,
                           const char *ellipsis);

/* Bytes of the longest prefix of whole segments, separator included, that all names share and none
 * consists of; 0: none, or fewer than two names. */
size_t as_name_common_prefix(const char *const *names, size_t n);

/* TensorFlow Lite calls a fused layer by the names of all its parts: of "a/Relu;a/BiasAdd;a/Conv2D"
 * the last one, inside it; any other name as it is. */
const char *as_name_last(const char *name);

/* Fills `brief` with as_name_last() of each, or with the whole name where the last ones of
 * different names are the same. ASSAY_ERR_NOMEM without memory. */
int as_names_brief(const char *const *names, size_t n, const char **brief);

#endif
