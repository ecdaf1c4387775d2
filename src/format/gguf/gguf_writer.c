/* format/gguf/gguf_writer.c - a decoder as a GGUF file.
 * The layout is drawn in gguf_meta.c; version 3, alignment 32. */
#include "format/gguf/gguf_writer.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/output.h"
#include "base/units.h"
#include "format/gguf/gguf_types.h"

enum { ALIGNMENT = 32, PIECE_BYTES = 1 << 18 };

static void put_int(struct as_out *out, uint64_t value, unsigned bytes)
{
    uint8_t raw[8];

    for (unsigned i = 0; i < bytes; i++)
        raw[i] = (uint8_t)(value >> (8 * i));
    as_out_put(out, raw, bytes);
}

static void put_text(struct as_out *out, const char *text)
{
    put_int(out, strlen(text), 8);
    as_out_text(out, text);
}

static void put_padding(struct as_out *out)
{
    while (out->total_bytes % ALIGNMENT)
        as_out_char(out, 0);
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool is_tensor(const struct as_value *value)
{
    return value->is_initializer && value->data;
}

/* A pair as it will be written; a number of 0 is not known and left out. */
struct pair {
    const char *suffix; /* after "<architecture>." */
    uint64_t number;
    double real;
};

static size_t decoder_pairs(const struct as_decoder *d, struct pair *pairs)
{
    const struct pair all[] = {
        {"context_length", d->context, 0},
        {"embedding_length", d->width, 0},
        {"block_count", d->layers, 0},
        {"feed_forward_length", d->ffn_width, 0},
        {"attention.head_count", d->heads, 0},
        {"attention.head_count_kv", d->kv_heads, 0},
        {"attention.key_length", d->head_dim, 0},
        {"attention.value_length", d->value_dim, 0},
        {"attention.sliding_window", d->window, 0},
        {"rope.dimension_count", d->rope_dim, 0},
        {"vocab_size", d->vocabulary, 0},
        {"expert_count", d->experts, 0},
        {"expert_used_count", d->experts_used, 0},
        {"rope.freq_base", 0, d->rope_base},
        {"attention.layer_norm_rms_epsilon", 0, d->norm_eps},
    };
    size_t n = 0;

    for (size_t i = 0; i < AS_COUNT_OF(all); i++)
        if (all[i].number || all[i].real != 0.0)
            pairs[n++] = all[i];
    return n;
}

static void put_pair(struct as_out *out, const char *architecture, const struct pair *pair)
{
    char key[160];
    float narrow = (float)pair->real;
    uint32_t raw;

    (void)snprintf(key, sizeof key, "%.64s.%s", architecture, pair->suffix);
    put_text(out, key);
    if (pair->number) {
        bool wide = pair->number > UINT32_MAX;

        put_int(out, wide ? AS_GGUF_U64 : AS_GGUF_U32, 4);
        put_int(out, pair->number, wide ? 8 : 4);
        return;
    }
    memcpy(&raw, &narrow, sizeof raw);
    put_int(out, AS_GGUF_F32, 4);
    put_int(out, raw, 4);
}

static void put_text_pair(struct as_out *out, const char *key, const char *text)
{
    put_text(out, key);
    put_int(out, AS_GGUF_STRING, 4);
    put_text(out, text);
}

static void put_meta(struct as_out *out, const struct as_model *model, uint64_t n_tensors)
{
    const struct as_decoder *d = &model->decoder;
    const char *name = model->graph_name[0] ? model->graph_name : d->architecture;
    struct pair pairs[20];
    size_t n = decoder_pairs(d, pairs);

    as_out_text(out, "GGUF");
    put_int(out, 3, 4);
    put_int(out, n_tensors, 8);
    put_int(out, n + 4, 8);
    put_text_pair(out, "general.architecture", d->architecture);
    put_text_pair(out, "general.name", name);
    put_text(out, "general.alignment");
    put_int(out, AS_GGUF_U32, 4);
    put_int(out, ALIGNMENT, 4);
    for (size_t i = 0; i < n; i++)
        put_pair(out, d->architecture, &pairs[i]);
    put_text_pair(out, "tokenizer.ggml.model", "none");
}

static int check_tensor(const struct as_value *value, uint32_t *code, uint64_t *bytes,
                        struct assay_error *err)
{
    const struct as_type *type = &value->type;
    uint64_t n;

    if (!as_gguf_code(type->dtype, code))
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "GGUF has no type for the %s of tensor '%.80s'",
                       as_dtype_name(type->dtype), value->name);
    if (type->rank < 0 || type->rank > 4)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "tensor '%.80s' has %d dimensions; GGUF has at most 4", value->name,
                       type->rank);
    if (!as_type_elems(type, &n) || n != value->data->n || type->dtype != value->data->dtype ||
        !as_dtype_bytes(type->dtype, n, bytes))
        return as_fail(err, ASSAY_ERR_USAGE, "the numbers of tensor '%.80s' do not fit its type",
                       value->name);
    if (n % as_dtype_at(type->dtype)->block_elems != 0)
        return as_fail(err, ASSAY_ERR_USAGE, "the rows of tensor '%.80s' do not fill blocks of %s",
                       value->name, as_dtype_name(type->dtype));
    return ASSAY_OK;
}

static int put_descriptions(struct as_out *out, const struct as_model *model,
                            struct assay_error *err)
{
    uint64_t offset = 0;

    for (uint32_t i = 0; i < model->n_values; i++) {
        const struct as_value *value = &model->values[i];
        uint32_t code;
        uint64_t bytes;
        int rc;

        if (!is_tensor(value))
            continue;
        rc = check_tensor(value, &code, &bytes, err);
        if (rc < 0)
            return rc;
        put_text(out, value->name);
        put_int(out, (uint64_t)value->type.rank, 4);
        for (int k = value->type.rank - 1; k >= 0; k--)
            put_int(out, (uint64_t)value->type.dims[k], 8);
        put_int(out, code, 4);
        put_int(out, offset, 8);
        if (bytes > INT64_MAX || !as_add_u64(offset, padded(bytes), &offset))
            return as_fail(err, ASSAY_ERR_LIMIT, "the tensors are larger than 2^64 bytes");
    }
    return ASSAY_OK;
}

static int put_data(struct as_out *out, const struct as_data *data, uint8_t *piece,
                    struct assay_error *err)
{
    const struct as_dtype_info *info = as_dtype_at(data->dtype);
    uint64_t step = (uint64_t)(PIECE_BYTES / info->block_bytes) * info->block_elems;

    for (uint64_t first = 0; first < data->n && as_out_ok(out); first += step) {
        uint64_t n = data->n - first < step ? data->n - first : step, bytes;
        int rc = as_data_read(data, first, n, piece, err);

        if (rc < 0)
            return rc;
        if (as_dtype_bytes(data->dtype, n, &bytes))
            as_out_put(out, piece, (size_t)bytes);
    }
    put_padding(out);
    return ASSAY_OK;
}

static int put_all(struct as_out *out, const struct as_model *model, uint8_t *piece,
                   struct assay_error *err)
{
    uint64_t n_tensors = 0;
    int rc;

    for (uint32_t i = 0; i < model->n_values; i++)
        n_tensors += is_tensor(&model->values[i]);
    put_meta(out, model, n_tensors);
    rc = put_descriptions(out, model, err);
    put_padding(out);
    for (uint32_t i = 0; i < model->n_values && rc == ASSAY_OK; i++)
        if (is_tensor(&model->values[i]))
            rc = put_data(out, model->values[i].data, piece, err);
    return rc;
}

int as_gguf_write(const struct as_model *model, const char *path, struct assay_error *err)
{
    uint8_t *piece = NULL;
    struct as_out out = {0};
    int rc;

    if (!model->decoder.architecture || strlen(model->decoder.architecture) > 64)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "only a decoder can be written as GGUF");
    rc = as_out_file(&out, path, err);
    if (rc < 0)
        return rc;
    piece = as_alloc(PIECE_BYTES);
    rc = piece ? put_all(&out, model, piece, err) : as_fail_nomem(err);
    if (rc == ASSAY_OK)
        rc = as_out_close(&out, err);
    as_out_drop(&out);
    as_free(piece);
    return rc;
}
