/* format/onnx/onnx_tensor_writer.c - one tensor as a file of its own, a TensorProto.
 *
 *     1 dims (each), 2 data_type, 6 string_data (each), 8 name, 9 raw_data */
#include "base/proto/protobuf_writer.h"
#include "format/onnx/onnx_reader.h"
#include "format/onnx/onnx_writer.h"

enum { PIECE_BYTES = 65536, HEADER_BYTES = 1 << 16 };

static void put_numbers(struct as_protobuf *p, const struct as_onnx_tensor_out *t)
{
    as_protobuf_head(p, 9, t->data_bytes);
    for (uint64_t at = 0; at < t->data_bytes; at += PIECE_BYTES)
        as_protobuf_raw(
            p, (const uint8_t *)t->data + at,
            (size_t)(t->data_bytes - at < PIECE_BYTES ? t->data_bytes - at : PIECE_BYTES));
}

int as_onnx_tensor_write(const struct as_onnx_tensor_out *t, struct as_out *out,
                         struct assay_error *err)
{
    unsigned number = as_onnx_dtype_number(t->dtype);
    const struct as_text *texts = t->data;
    struct as_protobuf p = {.out = out};

    if (number == 0)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "ONNX has no %s", as_dtype_name(t->dtype));
    if (t->data_bytes > INT32_MAX - HEADER_BYTES)
        return as_fail(err, ASSAY_ERR_LIMIT,
                       "it has 2 GB or more, which a tensor of ONNX cannot hold");
    for (int i = 0; i < t->dims->rank; i++)
        as_protobuf_u64(&p, 1, (uint64_t)t->dims->at[i]);
    as_protobuf_u64(&p, 2, number);
    for (uint64_t i = 0; t->dtype == AS_DTYPE_STRING && i < t->n; i++)
        as_protobuf_bytes(&p, 6, texts[i].at, texts[i].size);
    as_protobuf_name(&p, 8, t->name);
    if (t->dtype != AS_DTYPE_STRING)
        put_numbers(&p, t);
    return ASSAY_OK; /* a failure of the output is kept there */
}
