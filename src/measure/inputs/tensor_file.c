/* measure/inputs/tensor_file.c - one tensor in a file: NumPy's, or a TensorProto of ONNX. */
#include <string.h>

#include "format/onnx/onnx_value.h"
#include "measure/inputs/model_inputs.h"

static int parse_onnx(struct as_tensor_file *f, struct as_model **holder, struct assay_error *err)
{
    struct assay_error why = {0};
    struct as_type type;
    int rc = ASSAY_OK;

    if (f->file.size == 0)
        return as_fail(err, ASSAY_ERR_FORMAT, "%.120s is empty", f->file.path);
    if (f->file.size >= 2 && memcmp(f->file.bytes, "PK", 2) == 0)
        return as_fail(err, ASSAY_ERR_FORMAT,
                       "%.120s is a ZIP archive; one array alone is written by numpy.save",
                       f->file.path);
    if (!*holder)
        rc = as_model_new(holder, 0, err);
    if (rc < 0)
        return rc;
    rc = as_onnx_value_read(*holder, AS_VALUE_TENSOR, f->file.bytes, f->file.size, &type, &f->data,
                            &why);
    if (rc == ASSAY_OK && (!f->data || !as_type_dims(&type, &f->dims)))
        rc = as_fail(&why, ASSAY_ERR_FORMAT, "it holds no numeric data");
    if (rc < 0)
        return as_fail(err, rc, "%.100s is neither .npy nor a tensor of ONNX: %.110s", f->file.path,
                       why.msg);
    f->dtype = type.dtype;
    return ASSAY_OK;
}

static int parse(struct as_tensor_file *f, struct as_model **holder, struct assay_error *err)
{
    int rc;

    f->is_npy = as_npy_is(f->file.bytes, f->file.size);
    if (!f->is_npy)
        return parse_onnx(f, holder, err);
    rc = as_npy_parse(&f->npy, f->file.bytes, f->file.size, f->file.path, err);
    f->dtype = f->npy.dtype;
    f->dims = f->npy.dims;
    return rc;
}

int as_tensor_file_open(struct as_tensor_file *file, const char *path, struct as_model **holder,
                        struct assay_error *err)
{
    int rc;

    *file = (struct as_tensor_file){0};
    rc = as_mapped_file_open(&file->file, path, err);
    if (rc < 0) {
        *file = (struct as_tensor_file){0};
        return rc;
    }
    rc = parse(file, holder, err);
    if (rc < 0)
        as_tensor_file_close(file);
    return rc;
}

int as_tensor_file_read(const struct as_tensor_file *file, void *out, struct assay_error *err)
{
    if (!file->is_npy)
        return as_data_read(file->data, 0, file->data->n, out, err);
    as_npy_copy(&file->npy, out);
    return ASSAY_OK;
}

void as_tensor_file_close(struct as_tensor_file *file)
{
    as_mapped_file_close(&file->file);
    *file = (struct as_tensor_file){0};
}
