/* tests/fuzz/fuzz_safetensors.c - any bytes through the safetensors reader.
 * What is checked of every reader is in fuzz_reader.h. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_reader(&as_format_safetensors, data, size);
}
