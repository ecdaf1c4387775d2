/* tests/fuzz/fuzz_stack_rules.c - any bytes as a module in memory, from whose call frame
 * information a rule is taken. Input: the places of the index and of the address, two bytes each,
 * then the module. */
#include <stdlib.h>
#include <string.h>

#include "../../preload/stack_rules.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uintptr_t place_of(const uint8_t *data)
{
    return (uintptr_t)data[0] | (uintptr_t)data[1] << 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t bytes = size < PAGE + 4 ? PAGE : size - 4;
    struct as_unwind_module m;
    struct as_unwind_rule r;
    uint8_t *image;

    if (size < 4 || size > 65536)
        return 0;
    image = calloc(1, bytes); /* no more of it than there is */
    if (!image)
        return 0;
    memcpy(image, data + 4, size - 4);
    m = (struct as_unwind_module){.start = (uintptr_t)image,
                                  .end = (uintptr_t)image + bytes,
                                  .bias = (uintptr_t)image,
                                  .index = (uintptr_t)image + place_of(data)};
    r = as_unwind_rule_find(&m, (uintptr_t)image + place_of(data + 2));
    if (r.cfa > AS_CFA_SIGNAL || r.rbp > AS_RBP_FROM_RBP)
        abort();
    free(image);
    return 0;
}
