/* tests/fuzz/fuzz_gguf_run.c - any bytes as a GGUF file that is run.
 * The first byte says how, the last ones are what its inputs are made of. */
#include "format/model_file.h"
#include "fuzz_drive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct as_mapped_file file = {.bytes = data + 1, .size = size - 1};
    struct assay_error err = {0};
    struct as_model *model;

    if (size < 2 || as_model_new(&model, 64u << 20, NULL) < 0)
        return 0;
    if (worked(as_format_gguf.read(model, &file, &err), &err))
        drive(model, data[0], as_cursor_over(data + size / 2, size - size / 2));
    as_model_free(model);
    return 0;
}
