/* format/onnx/onnx_writer.h - a model as an ONNX file. Numbers are read and written in pieces, so a
 * model larger than memory can be written. Only graphs of ONNX operators can. */
#ifndef AS_FORMAT_ONNX_ONNX_WRITER_H
#define AS_FORMAT_ONNX_ONNX_WRITER_H

#include <stdbool.h>

#include "base/output.h"
#include "model/graph/graph.h"

/* Puts the whole file into `out`, which stays open. ASSAY_ERR_UNSUPPORTED for what ONNX cannot say,
 * ASSAY_ERR_LIMIT for 2 GB and more, which protobuf cannot hold. */
AS_MUST_USE int as_onnx_write(const struct as_model *model, struct as_out *out,
                              struct assay_error *err);

/* The file at `path`, whole or not at all. With `external`, tensors above 1 KiB go into
 * PATH.data beside it, and there is no limit of 2 GB. */
AS_MUST_USE int as_onnx_save(const struct as_model *model, const char *path, bool external,
                             struct assay_error *err);

/* ---- onnx_tensor_writer.c ---- */

struct as_onnx_tensor_out {
    const char *name; /* may be empty */
    unsigned dtype;
    const struct as_dims *dims;
    const void *data; /* row-major; of strings: struct as_text[n] */
    uint64_t n, data_bytes;
};

/* One tensor as a TensorProto. UNSUPPORTED for a kind of elements ONNX does not have, LIMIT for
 * 2 GB and more; failures of `out` are kept there. */
AS_MUST_USE int as_onnx_tensor_write(const struct as_onnx_tensor_out *tensor, struct as_out *out,
                                     struct assay_error *err);

#endif
