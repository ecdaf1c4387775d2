/* model/infer/batch_axis.h - which dimension of an input counts samples: by the name of its symbol,
 * else by what the first nodes do with it. What cannot be known is not guessed. */
#ifndef AS_MODEL_INFER_BATCH_AXIS_H
#define AS_MODEL_INFER_BATCH_AXIS_H

#include "model/graph/graph.h"

#define AS_NO_BATCH_AXIS (-1) /* nothing says which */
#define AS_BATCH_AXIS_INSIDE                                                                       \
    (-2) /* the input is one sample: the model adds the dimension itself                           \
          */

/* An axis of `input`, or one of the two above. The graph is linked; types are those of the inputs.
 */
int as_batch_axis_of(const struct as_model *model, const struct as_value *input);

/* Of the whole model: the first input that has one. `named` NULL: find it; else it is axis
 * `named_axis` of that input, which was checked. */
struct as_batch_place as_batch_place_of(const struct as_model *model, const struct as_value *named,
                                        int named_axis);

#endif
