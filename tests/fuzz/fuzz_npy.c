/* tests/fuzz/fuzz_npy.c - any bytes as a tensor in NumPy's format.
 * What is accepted must be copied within its bounds, and turned and straight must hold the same. */
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "measure/inputs/model_inputs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum_of(const uint8_t *bytes, uint64_t n)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < n; i++)
        sum += bytes[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_error err = {0};
    struct as_npy npy;
    uint8_t *out;
    int rc = as_npy_parse(&npy, data, size, "input.npy", &err);

    if (rc < 0) {
        if (err.msg[0] == '\0' || err.offset > size)
            abort();
        return 0;
    }
    if (npy.data_bytes > size)
        abort();
    out = as_alloc((size_t)npy.data_bytes);
    if (!out)
        return 0;
    as_npy_copy(&npy, out);
    if (npy.n && sum_of(out, npy.data_bytes) != sum_of(npy.data, npy.data_bytes))
        abort();
    as_free(out);
    return 0;
}
