/* tests/helpers/model_blocks.c - quantized blocks on stdin, their numbers as raw f32 on stdout:
 * model_blocks DTYPE, for a judge that computes them another way. */
#include <stdio.h>
#include <string.h>

#include "model/weights/weight_stats.h"

int main(int argc, char **argv)
{
    static uint8_t blocks[1 << 20];
    static float numbers[1 << 22];
    size_t size = fread(blocks, 1, sizeof blocks, stdin);
    unsigned dtype = 0;
    uint64_t n;

    while (argc == 2 && dtype < AS_DTYPE_COUNT && strcmp(as_dtype_name(dtype), argv[1]) != 0)
        dtype++;
    if (argc != 2 || !as_dequant_can(dtype))
        return 1;
    n = size / as_dtype_at(dtype)->block_bytes * as_dtype_at(dtype)->block_elems;
    if (n > sizeof numbers / sizeof *numbers)
        return 1;
    as_dequant(dtype, blocks, n, numbers);
    return fwrite(numbers, sizeof *numbers, (size_t)n, stdout) == n ? 0 : 1;
}
