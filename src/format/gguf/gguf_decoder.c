/* format/gguf/gguf_decoder.c - what the metadata of a GGUF file says: as text, and as the sizes of
 * a decoder. Keys begin with the name of the architecture, so any architecture can be read. */
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "format/gguf/gguf_meta.h"

/* A longer text is described by its size: a chat template, a license. */
#define SHORT_TEXT 256

/* A float with as few digits as tell it apart: 1e-05, not 9.9999997473787516e-06. */
static void float_text(char out[AS_TEXT_FLOAT], double value, bool narrow)
{
    for (int digits = 6; narrow && digits <= 9; digits++) {
        int size = snprintf(out, AS_TEXT_FLOAT, "%.*g", digits, value);
        char *comma = strchr(out, ',');
        double back;

        if (comma)
            *comma = '.';
        if (as_parse_f64(out, (size_t)size, &back) && (float)back == (float)value)
            return;
    }
    if (as_text_f64(out, value) == 0)
        (void)snprintf(out, AS_TEXT_FLOAT, "not a number");
}

static const char *keep_text(struct as_gguf *g, const struct as_gguf_pair *pair)
{
    char *copy, said[64];

    if (pair->n > SHORT_TEXT) {
        int size = snprintf(said, sizeof said, "text of %llu bytes", (unsigned long long)pair->n);

        return as_arena_text(&g->model->arena, said, (size_t)size);
    }
    copy = as_arena_text(&g->model->arena, (const char *)pair->data, (size_t)pair->n);
    for (size_t i = 0; copy && i < pair->n; i++)
        if (copy[i] == 0)
            copy[i] = ' ';
    return copy;
}

static const char *keep_value(struct as_gguf *g, const struct as_gguf_pair *pair)
{
    uint32_t bits = as_gguf_kind_bytes(pair->kind) * 8;
    char said[64];
    uint64_t number;
    double real;

    if (pair->kind == AS_GGUF_STRING)
        return keep_text(g, pair);
    if (pair->kind == AS_GGUF_ARRAY)
        (void)snprintf(said, sizeof said, "%s[%llu]", as_gguf_kind_name(pair->elem_kind),
                       (unsigned long long)pair->n);
    else if (pair->kind == AS_GGUF_BOOL)
        (void)snprintf(said, sizeof said, "%s", *pair->data ? "true" : "false");
    else if (as_gguf_float(pair, &real))
        float_text(said, real, pair->kind == AS_GGUF_F32);
    else if (as_gguf_number(pair, &number))
        (void)as_text_u64(said, number);
    else /* negative: the sign is carried up to 64 bits */
        (void)as_text_i64(said, (int64_t)(number << (64 - bits)) >> (64 - bits));
    return as_arena_text(&g->model->arena, said, strlen(said));
}

int as_gguf_keep_meta(struct as_gguf *g)
{
    struct as_model *model = g->model;

    model->meta = as_arena_zero(&model->arena, g->n_pairs ? g->n_pairs : 1, sizeof *model->meta);
    if (!model->meta)
        return as_fail_nomem(g->err);
    for (uint64_t i = 0; i < g->n_pairs; i++) {
        struct as_model_meta *meta = &model->meta[i];

        meta->key = as_arena_text(&model->arena, g->pairs[i].key, g->pairs[i].key_size);
        meta->value = keep_value(g, &g->pairs[i]);
        if (!meta->key || !meta->value)
            return as_fail_nomem(g->err);
        model->n_meta++;
        if (strcmp(meta->key, "general.name") == 0 && g->pairs[i].kind == AS_GGUF_STRING)
            model->graph_name = meta->value;
    }
    return ASSAY_OK;
}

const struct as_gguf_pair *as_gguf_find_arch(const struct as_gguf *g, const char *suffix)
{
    const struct as_gguf_pair *arch = as_gguf_find(g, "general.architecture");
    char key[256];
    int size;

    if (!arch || arch->kind != AS_GGUF_STRING || arch->n > 64)
        return NULL;
    size = snprintf(key, sizeof key, "%.*s.%s", (int)arch->n, (const char *)arch->data, suffix);
    return size < (int)sizeof key ? as_gguf_find(g, key) : NULL;
}

/* A number, or the largest of a list of one for each layer. */
static bool number_or_list(struct as_gguf *g, const struct as_gguf_pair *pair, uint64_t *out)
{
    uint32_t bytes = as_gguf_kind_bytes(pair->elem_kind);
    bool differ = false;
    uint64_t most = 0;

    if (pair->kind != AS_GGUF_ARRAY)
        return as_gguf_number(pair, out);
    for (uint64_t i = 0; i < pair->n; i++) {
        struct as_gguf_pair element = {.kind = pair->elem_kind, .data = pair->data + i * bytes};
        uint64_t value;

        if (!as_gguf_number(&element, &value))
            return false;
        differ = differ || (i > 0 && value != most);
        most = value > most ? value : most;
    }
    if (differ)
        as_model_find(g->model, AS_FINDING_NOTE, NULL, NULL,
                      "'%.*s' differs between layers; its largest value, %llu, is taken",
                      pair->key_size < 80 ? (int)pair->key_size : 80, pair->key,
                      (unsigned long long)most);
    *out = most;
    return pair->n > 0;
}

/* The embedding has a row for each word, the vocabulary a text. */
static uint64_t vocabulary(const struct as_gguf *g)
{
    static const char embedding[] = "token_embd.weight";
    const struct as_gguf_pair *words = as_gguf_find(g, "tokenizer.ggml.tokens");
    const uint64_t *id;

    if (words && words->kind == AS_GGUF_ARRAY)
        return words->n;
    id = as_hash_map_find(&g->tensors, embedding, sizeof embedding - 1);
    if (id && g->model->values[*id].type.rank == 2)
        return (uint64_t)g->model->values[*id].type.dims[0];
    return 0;
}

static void fill_numbers(struct as_gguf *g, struct as_decoder *d)
{
    const struct {
        const char *suffix;
        uint64_t *out;
    } numbers[] = {
        {"block_count", &d->layers},
        {"attention.head_count", &d->heads},
        {"attention.head_count_kv", &d->kv_heads},
        {"attention.key_length", &d->head_dim},
        {"attention.value_length", &d->value_dim},
        {"embedding_length", &d->width},
        {"feed_forward_length", &d->ffn_width},
        {"context_length", &d->context},
        {"vocab_size", &d->vocabulary},
        {"rope.dimension_count", &d->rope_dim},
        {"expert_count", &d->experts},
        {"expert_used_count", &d->experts_used},
        {"attention.sliding_window", &d->window},
    };

    for (size_t i = 0; i < AS_COUNT_OF(numbers); i++) {
        const struct as_gguf_pair *pair = as_gguf_find_arch(g, numbers[i].suffix);
        uint64_t value;

        if (!pair)
            continue;
        if (number_or_list(g, pair, &value))
            *numbers[i].out = value;
        else
            as_model_find(g->model, AS_FINDING_NOTE, NULL, NULL,
                          "metadata key '<architecture>.%s' is not a count", numbers[i].suffix);
    }
}

static void fill_floats(const struct as_gguf *g, struct as_decoder *d)
{
    const struct {
        const char *suffix;
        double *out;
    } floats[] = {
        {"rope.freq_base", &d->rope_base},
        {"attention.layer_norm_epsilon", &d->norm_eps},
        {"attention.layer_norm_rms_epsilon", &d->norm_eps},
    };

    for (size_t i = 0; i < AS_COUNT_OF(floats); i++) {
        const struct as_gguf_pair *pair = as_gguf_find_arch(g, floats[i].suffix);
        char text[AS_TEXT_FLOAT];
        double value;

        if (!pair || !as_gguf_float(pair, &value))
            continue;
        float_text(text, value, pair->kind == AS_GGUF_F32);
        if (!as_parse_f64(text, strlen(text), floats[i].out))
            *floats[i].out = 0;
    }
}

void as_gguf_keep_decoder(struct as_gguf *g)
{
    const struct as_gguf_pair *arch = as_gguf_find(g, "general.architecture");
    const struct as_gguf_pair *causal = as_gguf_find_arch(g, "attention.causal");
    struct as_decoder *d = &g->model->decoder;

    if (!arch || arch->kind != AS_GGUF_STRING || arch->n == 0 || arch->n > 64) {
        as_model_find(g->model, AS_FINDING_NOTE, NULL, NULL,
                      "the file does not name its architecture");
        return;
    }
    fill_numbers(g, d);
    fill_floats(g, d);
    if (d->kv_heads == 0)
        d->kv_heads = d->heads;
    if (d->head_dim == 0 && d->heads > 0)
        d->head_dim = d->width / d->heads;
    if (d->value_dim == 0)
        d->value_dim = d->head_dim;
    if (d->vocabulary == 0)
        d->vocabulary = vocabulary(g);
    /* An encoder keeps nothing from token to token. */
    if (d->layers > 0 && !(causal && causal->kind == AS_GGUF_BOOL && !*causal->data))
        d->architecture = keep_text(g, arch);
}
