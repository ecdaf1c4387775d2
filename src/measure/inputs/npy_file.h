/* measure/inputs/npy_file.h - a tensor in NumPy's own file format, versions 1 to 3.
 * The file is not trusted; its numbers are copied row by row whichever way it keeps them. */
#ifndef AS_MEASURE_INPUTS_NPY_FILE_H
#define AS_MEASURE_INPUTS_NPY_FILE_H

#include "model/graph/tensor.h"

struct as_npy {
    unsigned dtype; /* enum as_dtype */
    struct as_dims dims;
    bool fortran; /* the first dimension runs fastest */
    const uint8_t *data;
    uint64_t n, data_bytes;
};

/* Whether the bytes begin as such a file does. */
bool as_npy_is(const uint8_t *bytes, uint64_t size);

/* Borrows from `bytes`. FORMAT names the byte to blame, UNSUPPORTED a kind of numbers that no input
 * can have; `path` is for the sentence. */
AS_MUST_USE int as_npy_parse(struct as_npy *out, const uint8_t *bytes, uint64_t size,
                             const char *path, struct assay_error *err);

/* The numbers in row-major order; `out` holds data_bytes. */
void as_npy_copy(const struct as_npy *npy, void *out);

#endif
