/* tests/fuzz/fuzz_demangle.c - any bytes as the name of a Rust function. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/symbols/demangle_rust.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 1), out[1025];

    if (!name)
        return 0;
    if (size)
        memcpy(name, data, size);
    name[size] = '\0';
    for (size_t capacity = 0; capacity < sizeof out; capacity += capacity < 8 ? 1 : 1016)
        if (as_demangle_rust(name, out, capacity) && strlen(out) >= capacity)
            abort();
    free(name);
    return 0;
}
