/* format/model_file.h - opens a model, whatever its kind: the kind is found by content.
 * "zoo:NAME[:key=value...]" is accepted wherever a path is. */
#ifndef AS_FORMAT_MODEL_FILE_H
#define AS_FORMAT_MODEL_FILE_H

#include <stdint.h>

#include "format/mapped_file.h"
#include "model/graph/graph.h"

/* One kind of file. A new one is a new file and one line in the table of model_file.c. */
struct as_format {
    enum as_model_format format;
    const char *name;                                /* "onnx" */
    bool (*is)(const uint8_t *bytes, uint64_t size); /* by content */
    /* Fills a new, empty model from the mapped file, which lives as long as the model: data may
     * point into it. Does not infer shapes; must call as_model_link(). */
    int (*read)(struct as_model *model, const struct as_mapped_file *file, struct assay_error *err);
};

extern const struct as_format as_format_onnx, as_format_gguf, as_format_safetensors,
    as_format_tflite;

/* The model at `path`; the caller frees it. Errors name the file and the byte or node to blame;
 * a file of another kind is called by what it probably is ("this is an HTML page"). Memory is
 * limited to 48 MiB and the size of the file, beside the mapping. */
AS_MUST_USE int as_model_open(struct as_model **model, const char *path, struct assay_error *err);

/* For readers that make more nodes than lie in the file: whether so many, with the model's tensors
 * and all that its arena holds, are too much for a file of that size. To be asked while they are
 * made. */
AS_MUST_USE int as_model_check_tables(const struct as_model *model, uint64_t n_nodes,
                                      uint64_t file_bytes, struct assay_error *err);

/* The name of the format of the file at `path`, such as "onnx", by its content; NULL when it is not
 * a model or cannot be read. */
const char *as_model_file_kind(const char *path);

/* ---- model_sniff.c ---- */

/* A few words, such as "an HTML page"; NULL: nothing we know. */
const char *as_model_sniff(const uint8_t *bytes, uint64_t size);

#endif
