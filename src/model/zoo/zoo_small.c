/* model/zoo/zoo_small.c - the small ones of the zoo: a recurrent tagger and dense layers.
 * For tests and demonstrations that must be quick. */
#include <stdio.h>

#include "model/zoo/zoo_models.h"

void as_zoo_lstm_tagger(struct as_builder *b, const int64_t *values, int64_t batch)
{
    uint32_t x = as_zoo_tokens(b, "words", batch, values[AS_TAGGER_SEQ]);
    char name[32];

    x = as_build_embedding(b, "embedding", x, values[AS_TAGGER_VOCAB], values[AS_TAGGER_WIDTH],
                           NULL);
    for (int64_t i = 0; i < values[AS_TAGGER_LAYERS]; i++) {
        (void)snprintf(name, sizeof name, "lstm.%lld", (long long)i);
        x = as_build_lstm(b, name, x, values[AS_TAGGER_HIDDEN], true);
    }
    x = as_build_linear(b, "tags", x, values[AS_TAGGER_TAGS], true);
    as_build_output(b, x, "output");
}

void as_zoo_mlp(struct as_builder *b, const int64_t *values, int64_t batch)
{
    static const char *const symbols[] = {"batch", NULL};
    struct as_dims dims = {2, {batch ? batch : AS_DIM_UNKNOWN, values[AS_MLP_INPUTS]}};
    uint32_t x = as_build_input(b, "input", AS_DTYPE_F32, &dims, symbols);
    char name[32];

    for (int64_t i = 0; i < values[AS_MLP_LAYERS]; i++) {
        (void)snprintf(name, sizeof name, "layers.%lld", (long long)(2 * i));
        x = as_build_linear(b, name, x, values[AS_MLP_HIDDEN], true);
        (void)snprintf(name, sizeof name, "layers.%lld", (long long)(2 * i + 1));
        x = as_build_activation(b, AS_ACT_RELU, name, x);
    }
    (void)snprintf(name, sizeof name, "layers.%lld", (long long)(2 * values[AS_MLP_LAYERS]));
    x = as_build_linear(b, name, x, values[AS_MLP_OUTPUTS], true);
    as_build_output(b, x, "output");
}
