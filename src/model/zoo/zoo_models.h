/* model/zoo/zoo_models.h - the builders of the zoo, for the table in zoo.c alone.
 * Each fills a builder from the values of its keys, in the order of the enum beside it. */
#ifndef AS_MODEL_ZOO_ZOO_MODELS_H
#define AS_MODEL_ZOO_ZOO_MODELS_H

#include "model/build/build_attention.h"

typedef void (*as_zoo_build)(struct as_builder *b, const int64_t *values, int64_t batch);

/* Images: keys are classes and size. */
enum { AS_CNN_CLASSES, AS_CNN_SIZE };
void as_zoo_alexnet(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_vgg16(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_vgg19(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_resnet18(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_resnet34(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_resnet50(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_mobilenet_v2(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_mobilenet_v3_large(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_googlenet(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_squeezenet1_1(struct as_builder *b, const int64_t *values, int64_t batch);

/* A text of `seq` tokens (0: left open) through `layers` blocks. */
enum { AS_BERT_SEQ, AS_BERT_LAYERS, AS_BERT_WIDTH, AS_BERT_HEADS, AS_BERT_VOCAB, AS_BERT_CONTEXT };
enum { AS_GPT2_PAST = AS_BERT_CONTEXT + 1 }; /* of gpt2 alone */
void as_zoo_bert(struct as_builder *b, const int64_t *values, int64_t batch);
void as_zoo_gpt2(struct as_builder *b, const int64_t *values, int64_t batch);

enum { AS_VIT_CLASSES, AS_VIT_SIZE, AS_VIT_LAYERS };
void as_zoo_vit_b_16(struct as_builder *b, const int64_t *values, int64_t batch);

enum {
    AS_LLAMA_LAYERS,
    AS_LLAMA_WIDTH,
    AS_LLAMA_HEADS,
    AS_LLAMA_KV_HEADS, /* 0: as heads */
    AS_LLAMA_FFN,
    AS_LLAMA_VOCAB,
    AS_LLAMA_CONTEXT,
    AS_LLAMA_SEQ,
    AS_LLAMA_DTYPE, /* 0: f32, 1: f16 */
    AS_LLAMA_TIED,
    AS_LLAMA_PAST /* 0: no cache, -1: one left open */
};
void as_zoo_llama(struct as_builder *b, const int64_t *values, int64_t batch);
/* The weights alone, named and shaped as GGUF files have them. */
void as_zoo_llama_weights(struct as_builder *b, const int64_t *values, int64_t batch);

enum {
    AS_TAGGER_SEQ,
    AS_TAGGER_VOCAB,
    AS_TAGGER_WIDTH,
    AS_TAGGER_HIDDEN,
    AS_TAGGER_TAGS,
    AS_TAGGER_LAYERS
};
void as_zoo_lstm_tagger(struct as_builder *b, const int64_t *values, int64_t batch);

enum { AS_MLP_INPUTS, AS_MLP_HIDDEN, AS_MLP_LAYERS, AS_MLP_OUTPUTS };
void as_zoo_mlp(struct as_builder *b, const int64_t *values, int64_t batch);

/* An input of token numbers, batch x seq, each open when it is 0. */
uint32_t as_zoo_tokens(struct as_builder *b, const char *name, int64_t batch, int64_t seq);

/* ---- decoders ---- */

/* Of the cache: `past` 0 means none, -1 one whose length is left open. */
struct as_zoo_cache_sizes {
    int64_t past, layers, batch, heads, head_dim;
};

/* Tokens of a text with its past, as far as they are fixed. */
static inline int64_t as_zoo_text(int64_t past, int64_t seq)
{
    return past > 0 ? past + seq : seq;
}

/* Fills `cache` and gives it back; NULL when there is none. */
struct as_build_cache *as_zoo_cache(struct as_builder *b, struct as_build_cache *cache,
                                    const struct as_zoo_cache_sizes *sizes);

/* Where the tokens of a run stand in their text. */
struct as_zoo_places {
    uint32_t length, positions;
    int64_t known; /* the length, or AS_DIM_UNKNOWN */
};

struct as_zoo_places as_zoo_places(struct as_builder *b, uint32_t ids, int64_t seq,
                                   const struct as_build_cache *cache);
uint32_t as_zoo_causal(struct as_builder *b, const struct as_zoo_places *places,
                       const struct as_build_cache *cache);

/* "input" of batch x 3 x size x size, the batch open when it is 0. */
uint32_t as_zoo_image(struct as_builder *b, int64_t batch, int64_t size);

#endif
