/* model/weights/dequant.h - the numbers behind quantised blocks, as f32.
 * Blocks lie as GGUF files have them: little-endian, scales beside the numbers they belong to. */
#ifndef AS_MODEL_WEIGHTS_DEQUANT_H
#define AS_MODEL_WEIGHTS_DEQUANT_H

#include "model/graph/tensor.h"

enum { AS_DEQUANT_MAX = 256 }; /* elements of a block, at most */

/* Whether blocks of this dtype can be read. */
bool as_dequant_can(unsigned dtype);

/* `n` elements from the beginning of a block on; the last block may be cut. The dtype is one that
 * can be read, and there are as many bytes as as_dtype_bytes() says. */
void as_dequant(unsigned dtype, const uint8_t *blocks, uint64_t n, float *out);

/* `n` numbers of a constant of blocks, f16 or bf16; `first` is at the start of a block. FORMAT when
 * the constant is not of whole blocks, UNSUPPORTED for a dtype that cannot be read. */
AS_MUST_USE int as_dequant_data(const struct as_data *data, uint64_t first, uint64_t n, float *out,
                                struct assay_error *err);

#endif
