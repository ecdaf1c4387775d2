/* model/zoo/zoo.c - well-known architectures built in code, with seeded weights made when asked
 * for. The networks themselves are in zoo_cnn.c, zoo_transformer.c and the files like them. */
#include "model/zoo/zoo.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text/text.h"
#include "base/units.h"
#include "model/zoo/zoo_models.h"

enum { MAX_KEYS = 16, MAX_NAMES = 64, KEY_BATCH = 0, KEY_SEED = 1 };

const struct as_zoo_key as_zoo_common_keys[] = {
    [KEY_BATCH] = {"batch", "samples per inference; 0: left open", 1, 0, 1 << 20, NULL},
    [KEY_SEED] = {"seed", "of the weights", 1, 0, INT64_MAX, NULL},
    {0},
};

static const struct as_zoo_key image_keys[] = {
    [AS_CNN_CLASSES] = {"classes", "elements of the output", 1000, 1, 1 << 20, NULL},
    [AS_CNN_SIZE] = {"size", "height and width of the image", 224, 32, 4096, NULL},
    {0},
};

#define SEQ_KEY(tokens)                                                                            \
    {                                                                                              \
        "seq", "tokens of the text; 0: left open", tokens, 0, 1 << 20, NULL                        \
    }
#define PAST_KEY                                                                                   \
    {                                                                                              \
        "past", "tokens in a cache; -1: left open; 0: no cache", 0, -1, 1 << 20, NULL              \
    }
#define TEXT_KEYS(tokens, rows, positions)                                                         \
    [AS_BERT_SEQ] = SEQ_KEY(tokens), [AS_BERT_LAYERS] = {"layers", "blocks", 12, 1, 1024, NULL},   \
    [AS_BERT_WIDTH] = {"width", "of what flows through, a multiple of heads", 768, 1, 1 << 16,     \
                       NULL},                                                                      \
    [AS_BERT_HEADS] = {"heads", "of attention", 12, 1, 1024, NULL},                                \
    [AS_BERT_VOCAB] = {"vocab", "different tokens", rows, 1, 1 << 24, NULL},                       \
    [AS_BERT_CONTEXT] = {"context", "most tokens of a text", positions, 1, 1 << 20, NULL}

static const struct as_zoo_key bert_keys[] = {TEXT_KEYS(128, 30522, 512), {0}};
static const struct as_zoo_key gpt2_keys[] = {
    TEXT_KEYS(1024, 50257, 1024),
    [AS_GPT2_PAST] = PAST_KEY,
    {0},
};

static const struct as_zoo_key vit_keys[] = {
    [AS_VIT_CLASSES] = {"classes", "elements of the output", 1000, 1, 1 << 20, NULL},
    [AS_VIT_SIZE] = {"size", "of the image, a multiple of 16", 224, 16, 4096, NULL},
    [AS_VIT_LAYERS] = {"layers", "blocks", 12, 1, 1024, NULL},
    {0},
};

static const char *const dtype_words[] = {"f32", "f16"};

static const struct as_zoo_key llama_keys[] = {
    [AS_LLAMA_LAYERS] = {"layers", "blocks", 4, 1, 1024, NULL},
    [AS_LLAMA_WIDTH] = {"width", "of what flows through, a multiple of heads", 256, 2, 1 << 16,
                        NULL},
    [AS_LLAMA_HEADS] = {"heads", "of attention", 8, 1, 1024, NULL},
    [AS_LLAMA_KV_HEADS] = {"kv_heads", "of keys and values; 0: as many as heads", 4, 0, 1024, NULL},
    [AS_LLAMA_FFN] = {"ffn", "width of the gated layers", 688, 1, 1 << 20, NULL},
    [AS_LLAMA_VOCAB] = {"vocab", "different tokens", 8000, 1, 1 << 24, NULL},
    [AS_LLAMA_CONTEXT] = {"context", "most tokens of a text", 2048, 1, 1 << 24, NULL},
    [AS_LLAMA_SEQ] = SEQ_KEY(128),
    [AS_LLAMA_DTYPE] = {"dtype", "f32, f16", 0, 0, 1, dtype_words},
    [AS_LLAMA_TIED] = {"tied", "1: the last product uses the table", 0, 0, 1, NULL},
    [AS_LLAMA_PAST] = PAST_KEY,
    {0},
};

static const struct as_zoo_key tagger_keys[] = {
    [AS_TAGGER_SEQ] = SEQ_KEY(32),
    [AS_TAGGER_VOCAB] = {"vocab", "different tokens", 10000, 1, 1 << 24, NULL},
    [AS_TAGGER_WIDTH] = {"width", "of the table of tokens", 128, 1, 1 << 16, NULL},
    [AS_TAGGER_HIDDEN] = {"hidden", "units each way", 128, 1, 1 << 16, NULL},
    [AS_TAGGER_TAGS] = {"tags", "different tags", 17, 1, 1 << 20, NULL},
    [AS_TAGGER_LAYERS] = {"layers", "recurrent layers", 1, 1, 64, NULL},
    {0},
};

static const struct as_zoo_key mlp_keys[] = {
    [AS_MLP_INPUTS] = {"inputs", "length of a sample", 784, 1, 1 << 24, NULL},
    [AS_MLP_HIDDEN] = {"hidden", "units of a hidden layer", 256, 1, 1 << 20, NULL},
    [AS_MLP_LAYERS] = {"layers", "hidden layers", 2, 0, 1024, NULL},
    [AS_MLP_OUTPUTS] = {"outputs", "elements of the output", 10, 1, 1 << 24, NULL},
    {0},
};

static const struct as_zoo_entry entries[] = {
    {"alexnet", "CNN of 2012, 8 layers", "CNN of 2012, 5 convolutions and 3 dense layers",
     image_keys, as_zoo_alexnet},
    {"vgg16", "deep plain CNN, 16 layers", "deep plain CNN, 16 layers", image_keys, as_zoo_vgg16},
    {"vgg19", "deep plain CNN, 19 layers", "deep plain CNN, 19 layers", image_keys, as_zoo_vgg19},
    {"resnet18", "residual CNN, 18 layers", "residual CNN, 18 layers", image_keys, as_zoo_resnet18},
    {"resnet34", "residual CNN, 34 layers", "residual CNN, 34 layers", image_keys, as_zoo_resnet34},
    {"resnet50", "residual CNN, 50 layers", "residual CNN, 50 layers", image_keys, as_zoo_resnet50},
    {"mobilenetv2", "CNN for phones, depthwise", "CNN for phones, depthwise convolutions",
     image_keys, as_zoo_mobilenet_v2},
    {"mobilenet_v3_large", "CNN for phones, squeeze-excite",
     "CNN for phones with squeeze-and-excitation", image_keys, as_zoo_mobilenet_v3_large},
    {"googlenet", "Inception CNN of 2014", "Inception CNN of 2014, without the side heads",
     image_keys, as_zoo_googlenet},
    {"squeezenet1_1", "small CNN, no dense layers", "small CNN without dense layers", image_keys,
     as_zoo_squeezenet1_1},
    {"vit_b_16", "vision transformer, base", "vision transformer, base, patches of 16", vit_keys,
     as_zoo_vit_b_16},
    {"bert-base", "text encoder with pooler", "text encoder, uncased, with pooler", bert_keys,
     as_zoo_bert},
    {"gpt2", "text decoder, small", "text decoder, small, head tied to the table", gpt2_keys,
     as_zoo_gpt2},
    {"llama", "text decoder of any size",
     "text decoder of any size: grouped heads, RMS norm, SwiGLU, rotary", llama_keys, as_zoo_llama},
    {"lstm-tagger", "recurrent tagger of words", "recurrent tagger of words, both ways",
     tagger_keys, as_zoo_lstm_tagger},
    {"mlp", "dense layers", "dense layers", mlp_keys, as_zoo_mlp},
};

/* Other spellings people use. */
static const struct {
    const char *word, *name;
} aliases[] = {
    {"mobilenet_v2", "mobilenetv2"}, {"mobilenetv3", "mobilenet_v3_large"},
    {"squeezenet", "squeezenet1_1"}, {"vit", "vit_b_16"},
    {"bert", "bert-base"},           {"bert_base", "bert-base"},
    {"lstm_tagger", "lstm-tagger"},
};

const struct as_zoo_entry *as_zoo_at(size_t i)
{
    return i < AS_COUNT_OF(entries) ? &entries[i] : NULL;
}

static bool same(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && memcmp(text, word, size) == 0;
}

static const struct as_zoo_entry *find_entry(const char *name, size_t size, struct assay_error *err)
{
    const char *names[MAX_NAMES], *near;
    size_t n = 0;
    char word[64];

    for (size_t i = 0; i < AS_COUNT_OF(aliases); i++)
        if (same(name, size, aliases[i].word)) {
            name = aliases[i].name;
            size = strlen(name);
        }
    for (; n < MAX_NAMES && as_zoo_at(n); n++) {
        names[n] = as_zoo_at(n)->name;
        if (same(name, size, names[n]))
            return as_zoo_at(n);
    }
    (void)snprintf(word, sizeof word, "%.*s", size < sizeof word ? (int)size : (int)sizeof word - 1,
                   name);
    near = as_text_nearest(word, names, n);
    if (near)
        (void)as_fail(err, ASSAY_ERR_USAGE, "the zoo has no '%s'; did you mean '%s'?", word, near);
    else
        (void)as_fail(err, ASSAY_ERR_USAGE, "the zoo has no '%s'; `assay zoo` lists what it has",
                      word);
    return NULL;
}

/* The keys of a model and then the common ones, in one list. */
static size_t list_keys(const struct as_zoo_entry *entry, const struct as_zoo_key **keys)
{
    size_t n = 0;

    for (const struct as_zoo_key *k = entry->keys; k && k->name && n < MAX_KEYS - 2; k++)
        keys[n++] = k;
    keys[n++] = &as_zoo_common_keys[KEY_BATCH];
    keys[n++] = &as_zoo_common_keys[KEY_SEED];
    return n;
}

static int no_key(const struct as_zoo_entry *entry, const char *text, size_t size,
                  struct assay_error *err)
{
    const struct as_zoo_key *keys[MAX_KEYS];
    size_t n = list_keys(entry, keys), used = 0;
    char list[160] = "";

    for (size_t i = 0; i < n && used < sizeof list; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", keys[i]->name);
    return as_fail(err, ASSAY_ERR_USAGE, "%s has no key '%.*s'; it has: %s", entry->name,
                   size < 40 ? (int)size : 40, text, list);
}

static int parse_value(const struct as_zoo_key *key, const char *text, size_t size, int64_t *out,
                       struct assay_error *err)
{
    int shown = size < 40 ? (int)size : 40;

    for (int64_t i = 0; key->words && i <= key->max; i++)
        if (same(text, size, key->words[i])) {
            *out = i;
            return ASSAY_OK;
        }
    if (key->words)
        return as_fail(err, ASSAY_ERR_USAGE, "%s cannot be '%.*s'; it is one of %s", key->name,
                       shown, text, key->help);
    if (!as_parse_i64(text, size, out) || *out < key->min || *out > key->max)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "%s cannot be '%.*s'; give a whole number from %lld to %lld", key->name,
                       shown, text, (long long)key->min, (long long)key->max);
    return ASSAY_OK;
}

/* "key=value,key=value", also with colons between them. */
static int parse_keys(const struct as_zoo_entry *entry, const char *text, int64_t *values,
                      struct assay_error *err)
{
    const struct as_zoo_key *keys[MAX_KEYS];
    size_t n = list_keys(entry, keys);
    int rc = ASSAY_OK;

    for (size_t i = 0; i < n; i++)
        values[i] = keys[i]->fallback;
    while (*text && rc == ASSAY_OK) {
        size_t size = strcspn(text, ",:"), name = strcspn(text, "=,:"), i = 0;

        while (i < n && !same(text, name, keys[i]->name))
            i++;
        if (i == n)
            return no_key(entry, text, name, err);
        if (name == size)
            return as_fail(err, ASSAY_ERR_USAGE, "key %s needs a value, as in %s=%lld",
                           keys[i]->name, keys[i]->name, (long long)keys[i]->fallback);
        rc = parse_value(keys[i], text + name + 1, size - name - 1, &values[i], err);
        text += size + (text[size] != '\0');
    }
    return rc;
}

int as_zoo_parse(const char *spec, const struct as_zoo_entry **entry, int64_t *values,
                 struct assay_error *err)
{
    size_t size;

    if (strncmp(spec, "zoo:", 4) == 0)
        spec += 4;
    size = strcspn(spec, ":");
    *entry = find_entry(spec, size, err);
    if (!*entry)
        return ASSAY_ERR_USAGE;
    return parse_keys(*entry, spec + size + (spec[size] == ':'), values, err);
}

/* What both ways to open do: the model's own builder, or the one given. */
static int build(struct as_model **model, const char *spec, as_zoo_build builder,
                 struct assay_error *err)
{
    const struct as_zoo_entry *entry;
    int64_t values[AS_ZOO_VALUES] = {0};
    struct as_builder *b;
    struct as_model *m = NULL;
    size_t own = 0;
    int rc;

    rc = as_zoo_parse(spec, &entry, values, err);
    if (rc < 0)
        return rc;
    if (builder && entry->build != as_zoo_llama)
        return as_fail(err, ASSAY_ERR_USAGE, "only llama can be had as GGUF, not %s", entry->name);
    while (entry->keys && entry->keys[own].name)
        own++;
    b = as_alloc_zero(1, sizeof *b);
    if (!b)
        return as_fail_nomem(err);
    rc = as_model_new(&m, 0, err);
    if (rc < 0)
        goto out;
    as_builder_init(b, m, (uint64_t)values[own + KEY_SEED]);
    m->graph_name = entry->name;
    m->path = as_arena_text(&m->arena, spec, strlen(spec));
    if (!m->path) {
        rc = as_fail_nomem(err);
        goto out;
    }
    (builder ? builder : entry->build)(b, values, values[own + KEY_BATCH]);
    rc = as_builder_finish(b, err);
    if (rc < 0)
        goto out;
    *model = m;
    m = NULL;
out:
    as_builder_fini(b);
    as_free(b);
    as_model_free(m);
    return rc;
}

int as_zoo_open(struct as_model **model, const char *spec, struct assay_error *err)
{
    return build(model, spec, NULL, err);
}

int as_zoo_llama_gguf(struct as_model **model, const char *spec, struct assay_error *err)
{
    return build(model, spec, as_zoo_llama_weights, err);
}
