/* tests/fuzz/fuzz_reader.h - any bytes through the reader of one format.
 * It reads or refuses with a sentence; constants lie inside the file, and memory stays limited. */
#ifndef AS_FUZZ_READER_H
#define AS_FUZZ_READER_H

#include <stdint.h>
#include <stdlib.h>

#include "format/model_file.h"

static void check_constant(const struct as_value *value, const uint8_t *data, size_t size)
{
    const struct as_data *constant = value->data;

    if (!constant->bytes || constant->generated || constant->stored_bytes == 0)
        return;
    if (constant->bytes < data || constant->offset > size ||
        constant->bytes != data + constant->offset ||
        constant->stored_bytes > size - constant->offset)
        abort();
}

static int fuzz_reader(const struct as_format *format, const uint8_t *data, size_t size)
{
    struct as_mapped_file file = {.bytes = data, .size = size, .path = "/nowhere/model"};
    struct assay_error err = {0};
    struct as_model *model;
    int rc;

    if (size == 0 || !format->is(data, size) || as_model_new(&model, 64u << 20, NULL) < 0)
        return 0;
    rc = format->read(model, &file, &err);
    if (rc < 0 && (err.msg[0] == 0 || err.code != rc))
        abort();
    for (uint32_t i = 0; rc == ASSAY_OK && i < model->n_values; i++)
        if (model->values[i].is_initializer)
            check_constant(&model->values[i], data, size);
    as_model_free(model);
    return 0;
}

#endif
