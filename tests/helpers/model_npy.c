/* tests/helpers/model_npy.c - prints a tensor in NumPy's format as we read it: model_npy FILE. One
 * line with type and shape, then one for each number. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/mapped_file.h"
#include "measure/inputs/model_inputs.h"

int main(int argc, char **argv)
{
    struct as_mapped_file file;
    struct assay_error err = {0};
    struct as_npy npy;
    struct as_data data;
    uint8_t *numbers;

    if (argc != 2 || as_mapped_file_open(&file, argv[1], &err) < 0 ||
        as_npy_parse(&npy, file.bytes, file.size, argv[1], &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 3;
    }
    numbers = malloc(npy.data_bytes + 1);
    if (!numbers)
        return 3;
    as_npy_copy(&npy, numbers);
    data = (struct as_data){
        .dtype = (uint8_t)npy.dtype, .n = npy.n, .size_bytes = npy.data_bytes, .bytes = numbers};
    printf("%s", as_dtype_name(npy.dtype));
    for (int i = 0; i < npy.dims.rank; i++)
        printf(" %" PRId64, npy.dims.at[i]);
    printf("\n");
    for (uint64_t i = 0; i < npy.n; i++) {
        if (as_dtype_is_float(npy.dtype))
            printf("%.17g\n", as_data_f64(&data, i));
        else
            printf("%" PRId64 "\n", as_data_i64(&data, i));
    }
    free(numbers);
    as_mapped_file_close(&file);
    return 0;
}
