/* format/safetensors/safetensors_config.c - the sizes of a decoder from the config.json beside its
 * weights. It is optional and somebody else's: whatever is wrong with it is a finding, never an
 * error. */
#include <errno.h>
#include <stddef.h>

#include "base/units.h"
#include "format/safetensors/safetensors_reader.h"

enum { MAX_CONFIG_BYTES = 4 << 20 };

/* The names that the families of models use. */
static const struct {
    const char *key;
    size_t place; /* in struct as_decoder */
    bool real;
} sizes[] = {
    {"num_hidden_layers", offsetof(struct as_decoder, layers), false},
    {"n_layer", offsetof(struct as_decoder, layers), false},
    {"num_attention_heads", offsetof(struct as_decoder, heads), false},
    {"n_head", offsetof(struct as_decoder, heads), false},
    {"num_key_value_heads", offsetof(struct as_decoder, kv_heads), false},
    {"hidden_size", offsetof(struct as_decoder, width), false},
    {"n_embd", offsetof(struct as_decoder, width), false},
    {"intermediate_size", offsetof(struct as_decoder, ffn_width), false},
    {"n_inner", offsetof(struct as_decoder, ffn_width), false},
    {"max_position_embeddings", offsetof(struct as_decoder, context), false},
    {"n_positions", offsetof(struct as_decoder, context), false},
    {"vocab_size", offsetof(struct as_decoder, vocabulary), false},
    {"head_dim", offsetof(struct as_decoder, head_dim), false},
    {"v_head_dim", offsetof(struct as_decoder, value_dim), false},
    {"num_local_experts", offsetof(struct as_decoder, experts), false},
    {"num_experts", offsetof(struct as_decoder, experts), false},
    {"num_experts_per_tok", offsetof(struct as_decoder, experts_used), false},
    {"sliding_window", offsetof(struct as_decoder, window), false},
    {"rope_theta", offsetof(struct as_decoder, rope_base), true},
    {"rms_norm_eps", offsetof(struct as_decoder, norm_eps), true},
    {"layer_norm_eps", offsetof(struct as_decoder, norm_eps), true},
    {"layer_norm_epsilon", offsetof(struct as_decoder, norm_eps), true},
};

struct config {
    struct as_model *model;
    struct as_json_parser json;
    const char *type; /* model_type, in the arena */
    bool generates;   /* an architecture that makes text */
    bool no_window;   /* use_sliding_window is false */
};

static bool contains(const struct as_json_parser *json, const char *word)
{
    return memmem(json->text, json->text_size, word, strlen(word)) != NULL;
}

static int take_architectures(struct config *c, struct assay_error *err)
{
    int rc = as_json_next(&c->json, err);

    if (rc != AS_JSON_ARRAY)
        return rc < 0 ? rc : as_json_skip(&c->json, err);
    while ((rc = as_json_next(&c->json, err)) > 0 && rc != AS_JSON_ARRAY_END) {
        if (rc == AS_JSON_STRING)
            c->generates = c->generates || contains(&c->json, "CausalLM") ||
                           contains(&c->json, "LMHead") ||
                           contains(&c->json, "ForConditionalGeneration");
        else if ((rc = as_json_skip(&c->json, err)) < 0)
            return rc;
    }
    return rc < 0 ? rc : ASSAY_OK;
}

static int take_size(struct config *c, size_t i, struct assay_error *err)
{
    char *place = (char *)&c->model->decoder + sizes[i].place;
    uint64_t number = 0;
    double real = 0;
    int rc = as_json_next(&c->json, err);

    if (rc < 0 || rc == AS_JSON_NULL)
        return rc < 0 ? rc : ASSAY_OK;
    if (rc != AS_JSON_NUMBER || (sizes[i].real ? as_json_get_f64(&c->json, &real, NULL)
                                               : as_json_get_u64(&c->json, &number, NULL)) < 0) {
        as_model_find(c->model, AS_FINDING_NOTE, NULL, NULL,
                      "'%s' in config.json is not a number of the kind expected", sizes[i].key);
        return as_json_skip(&c->json, err);
    }
    if (sizes[i].real)
        memcpy(place, &real, sizeof real);
    else
        memcpy(place, &number, sizeof number);
    return ASSAY_OK;
}

static int take_type(struct config *c, struct assay_error *err)
{
    int rc = as_json_next(&c->json, err);

    if (rc != AS_JSON_STRING)
        return rc < 0 ? rc : as_json_skip(&c->json, err);
    if (c->json.text_size > 0 && c->json.text_size <= 64 && !c->type)
        c->type = as_arena_text(&c->model->arena, c->json.text, c->json.text_size);
    return ASSAY_OK;
}

/* The current token is a key. */
static int take_key(struct config *c, struct assay_error *err)
{
    int rc;

    for (size_t i = 0; i < AS_COUNT_OF(sizes); i++)
        if (as_json_text_is(&c->json, sizes[i].key))
            return take_size(c, i, err);
    if (as_json_text_is(&c->json, "architectures"))
        return take_architectures(c, err);
    if (as_json_text_is(&c->json, "model_type"))
        return take_type(c, err);
    if (as_json_text_is(&c->json, "use_sliding_window")) {
        rc = as_json_next(&c->json, err);
        c->no_window = rc == AS_JSON_FALSE;
        return rc < 0 ? rc : as_json_skip(&c->json, err);
    }
    return as_json_skip(&c->json, err);
}

/* Keys at the top, and those of the text half of a model of several senses. */
static int take_config(struct config *c, struct assay_error *err)
{
    int rc = as_json_expect(&c->json, AS_JSON_OBJECT, "config.json", err);
    bool inside = false;

    while (rc >= 0) {
        rc = as_json_next(&c->json, err);
        if (rc == AS_JSON_OBJECT_END && inside) {
            inside = false;
            continue;
        }
        if (rc < 0 || rc == AS_JSON_OBJECT_END)
            break;
        if (inside || !as_json_text_is(&c->json, "text_config")) {
            rc = take_key(c, err);
            continue;
        }
        rc = as_json_next(&c->json, err);
        inside = rc == AS_JSON_OBJECT;
        if (rc >= 0 && !inside)
            rc = as_json_skip(&c->json, err);
    }
    return rc < 0 ? rc : as_json_next(&c->json, err);
}

static void complete(struct config *c)
{
    struct as_decoder *d = &c->model->decoder;

    if (c->no_window)
        d->window = 0;
    if (d->kv_heads == 0)
        d->kv_heads = d->heads;
    if (d->head_dim == 0 && d->heads > 0)
        d->head_dim = d->width / d->heads;
    if (d->value_dim == 0)
        d->value_dim = d->head_dim;
    if (c->generates && d->layers > 0)
        d->architecture = c->type ? c->type : "unnamed";
}

void as_safetensors_read_config(struct as_model *model, const char *path)
{
    static const char name[] = "config.json";
    struct config c = {.model = model};
    struct as_mapped_file file;
    struct assay_error err = {0};
    int rc = as_mapped_file_open_beside(&file, path, name, sizeof name - 1, &err);

    if (rc < 0 && err.sys == ENOENT)
        return;
    if (rc == ASSAY_OK && file.size > MAX_CONFIG_BYTES)
        rc = as_fail(&err, ASSAY_ERR_LIMIT, "it has more than %d bytes", MAX_CONFIG_BYTES);
    if (rc == ASSAY_OK) {
        as_json_parser_init(&c.json, file.bytes ? (const void *)file.bytes : "", (size_t)file.size);
        rc = take_config(&c, &err);
        as_json_parser_fini(&c.json);
    }
    as_mapped_file_close(&file);
    if (rc < 0) {
        model->decoder = (struct as_decoder){0};
        as_model_find(model, AS_FINDING_NOTE, NULL, NULL, "config.json was not used: %s", err.msg);
        return;
    }
    complete(&c);
}
