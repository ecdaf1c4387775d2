/* tests/fuzz/fuzz_onnx.c - any bytes as an ONNX file, without a folder beside it.
 * What is accepted is read to the last number, written, and must be accepted again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/model_file.h"
#include "format/onnx/onnx_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_READ = 1 << 20 };

static void read_some(const struct as_data *data)
{
    static uint8_t out[4096 * 16];
    uint64_t n = data->n < 4096 ? data->n : 4096;

    if (data->dtype == AS_DTYPE_STRING) {
        for (uint64_t i = 0; i < data->n; i++)
            if (data->texts[i].size > 0 && data->texts[i].at[0] == 1)
                out[0]++;
        return;
    }
    for (uint64_t at = 0; at < data->n && at < MAX_READ; at += n) {
        uint64_t left = data->n - at < n ? data->n - at : n;

        if (as_data_read(data, at, left, out, NULL) < 0)
            abort(); /* the reader has checked it */
    }
}

static void read_all(const struct as_model *model)
{
    for (uint32_t i = 0; i < model->n_values; i++)
        if (model->values[i].data)
            read_some(model->values[i].data);
}

/* A model that would be too large when written is left. */
static bool is_small(const struct as_model *model)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < model->n_values; i++)
        if (model->values[i].data) {
            if (model->values[i].data->size_bytes > MAX_READ)
                return false;
            total += model->values[i].data->size_bytes;
        }
    return total < MAX_READ;
}

static struct as_model *open_bytes(const void *bytes, size_t size, struct assay_error *err)
{
    struct as_mapped_file file = {.bytes = bytes, .size = size};
    struct as_model *model = NULL;

    if (as_model_new(&model, ((size_t)48 << 20) + size, err) < 0)
        return NULL;
    if (as_format_onnx.read(model, &file, err) == ASSAY_OK)
        return model;
    if (err->msg[0] == '\0')
        abort();
    as_model_free(model);
    return NULL;
}

static void write_again(const struct as_model *model)
{
    struct assay_error err;
    struct as_model *again;
    struct as_out out;
    const char *bytes;
    size_t size;

    if (as_out_memory(&out, &err) < 0)
        return;
    if (as_onnx_write(model, &out, &err) == ASSAY_OK) {
        bytes = as_out_get(&out, &size);
        again = open_bytes(bytes, size, &err);
        /* Names made for what is in a function may be those of others. */
        if (!again && !strstr(err.msg, "made twice"))
            abort();
        if (again && again->main->n_nodes != model->main->n_nodes)
            abort();
        as_model_free(again);
    }
    as_out_drop(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_error err = {0};
    struct as_model *model;

    if (size == 0)
        return 0;
    (void)as_format_onnx.is(data, size);
    model = open_bytes(data, size, &err);
    if (!model)
        return 0;
    read_all(model);
    if (is_small(model))
        write_again(model);
    as_model_free(model);
    return 0;
}
