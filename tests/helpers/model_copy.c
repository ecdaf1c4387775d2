/* tests/helpers/model_copy.c - reads a model and writes it as ONNX.
 * usage: model_copy FROM TO [external]; ends with status 3 and a sentence when that fails. */
#include <stdio.h>

#include "format/model_file.h"
#include "format/onnx/onnx_writer.h"

int main(int argc, char **argv)
{
    struct as_model *model = NULL;
    struct assay_error err;
    int rc;

    if (argc < 3)
        return 2;
    rc = as_model_open(&model, argv[1], &err);
    if (rc == ASSAY_OK)
        rc = as_onnx_save(model, argv[2], argc > 3, &err);
    as_model_free(model);
    if (rc < 0)
        fprintf(stderr, "assay: %s\n", err.msg);
    return rc < 0 ? 3 : 0;
}
