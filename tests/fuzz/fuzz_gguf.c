/* tests/fuzz/fuzz_gguf.c - any bytes through the gguf reader.
 * What is checked of every reader is in fuzz_reader.h. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_reader(&as_format_gguf, data, size);
}
