/* tests/unit/bytes_kit.h - files made by hand, byte by byte, and models read from them.
 * Include after unit.h. */
#ifndef AS_TESTS_BYTES_KIT_H
#define AS_TESTS_BYTES_KIT_H

#include "base/buffer.h"
#include "format/model_file.h"

static inline void put_bytes(struct as_buffer *b, const void *data, size_t size)
{
    assert_true(as_buffer_add(b, data, size));
}

static inline void put_int(struct as_buffer *b, uint64_t value, unsigned bytes)
{
    uint8_t raw[8];

    for (unsigned i = 0; i < bytes; i++)
        raw[i] = (uint8_t)(value >> (8 * i));
    put_bytes(b, raw, bytes);
}

static inline void put_u32(struct as_buffer *b, uint32_t value)
{
    put_int(b, value, 4);
}

static inline void put_u64(struct as_buffer *b, uint64_t value)
{
    put_int(b, value, 8);
}

static inline void put_f32(struct as_buffer *b, float value)
{
    uint32_t raw;

    memcpy(&raw, &value, sizeof raw);
    put_u32(b, raw);
}

static inline void put_zeros(struct as_buffer *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_int(b, 0, 1);
}

static inline void put_align(struct as_buffer *b, size_t to)
{
    while (b->size % to)
        put_int(b, 0, 1);
}

/* Reads what was made; the model is the caller's, also when it failed. */
static inline int kit_read(const struct as_format *format, const struct as_buffer *b,
                           struct as_model **model, struct assay_error *err)
{
    struct as_mapped_file file = {.bytes = b->data, .size = b->size, .path = ""};

    memset(err, 0, sizeof *err);
    assert_int_equal(as_model_new(model, 64u << 20, err), ASSAY_OK);
    return format->read(*model, &file, err);
}

/* It must be refused with these words. */
static inline void kit_refuse(const struct as_format *format, const struct as_buffer *b,
                              const char *words)
{
    struct as_model *model;
    struct assay_error err;
    int rc = kit_read(format, b, &model, &err);

    as_model_free(model);
    if (rc == ASSAY_OK || !strstr(err.msg, words))
        print_message("expected '%s', got %d '%s'\n", words, rc, err.msg);
    assert_true(rc < 0);
    assert_non_null(strstr(err.msg, words));
}

static inline const struct as_value *kit_value(const struct as_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->n_values; i++)
        if (strcmp(model->values[i].name, name) == 0)
            return &model->values[i];
    return NULL;
}

static inline const struct as_node *kit_node(const struct as_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->main->n_nodes; i++)
        if (strcmp(model->main->nodes[i].name, name) == 0)
            return &model->main->nodes[i];
    return NULL;
}

static inline const char *kit_meta(const struct as_model *model, const char *key)
{
    for (size_t i = 0; i < model->n_meta; i++)
        if (strcmp(model->meta[i].key, key) == 0)
            return model->meta[i].value;
    return NULL;
}

static inline bool kit_found(const struct as_model *model, const char *words)
{
    for (const struct as_finding *f = model->findings; f; f = f->next)
        if (strstr(f->text, words))
            return true;
    return false;
}

#endif
