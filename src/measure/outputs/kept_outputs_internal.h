/* measure/outputs/kept_outputs_internal.h - what the files of this module share. */
#ifndef AS_MEASURE_OUTPUTS_KEPT_OUTPUTS_INTERNAL_H
#define AS_MEASURE_OUTPUTS_KEPT_OUTPUTS_INTERNAL_H

#include "measure/outputs/kept_outputs.h"

enum as_agreement { AS_AGREES_UNKNOWN, AS_AGREES, AS_DIFFERS };

/* A tensor of the main graph that may be kept. */
struct as_kept_tensor {
    uint32_t value;             /* the same in every copy of the model */
    const struct as_node *node; /* NULL: an input or a constant */
    const char *file;           /* its name in folders, without an ending */
    bool is_layer;              /* not an output of the model */
    bool wanted;                /* to be written */
    bool has_want;              /* `want` is open: of outputs */
    struct as_tensor_file want;
    const char *expected;        /* its path; NULL: nothing is expected */
    enum as_agreement agreement; /* node by node */
};

struct as_outputs_work {
    const struct as_model *model;
    const struct as_outputs_options *options;
    struct as_arena *arena;
    struct as_model *holder; /* of what is read from ONNX files */
    struct as_kept_tensor
        *tensors; /* outputs of the model in its order, then layers in graph order */
    size_t n_tensors, n_outputs;
    bool all_layers; /* every layer is looked at, not only those to be written */
    struct as_outputs *out;
};

/* ---- output_names.c ---- */

/* Gives every tensor a name that is unique and harmless: letters, digits, '.', '_' and '-' only. */
AS_MUST_USE int as_output_names(struct as_outputs_work *work, struct assay_error *err);

/* "FOLDER/NAME.END" in the arena; NULL: no memory. */
char *as_output_path(struct as_outputs_work *work, const char *folder, const char *name,
                     const char *end);

/* ---- output_compare.c ---- */

/* Fills the figures of the comparison. USAGE when the file is of another type or shape. */
AS_MUST_USE int as_output_compare(struct as_output_row *row, const struct as_val *have,
                                  const struct as_tensor_file *want,
                                  const struct as_outputs_options *options,
                                  struct assay_error *err);

/* ---- output_files.c ---- */

/* Finds and opens what is expected. */
AS_MUST_USE int as_output_expect(struct as_outputs_work *work, struct assay_error *err);

/* The folder is there and takes the files. */
AS_MUST_USE int as_output_folder(struct as_outputs_work *work, struct assay_error *err);

/* Writes the tensor; names of files go to the row, and what could not be written. */
AS_MUST_USE int as_output_save(struct as_outputs_work *work, const struct as_kept_tensor *tensor,
                               struct as_output_row *row, const struct as_val *val,
                               struct assay_error *err);

/* ---- output_layers.c ---- */

/* Runs node by node: writes and compares layers, and finds where a difference or what is not
 * finite begins. */
AS_MUST_USE int as_output_layers(struct as_outputs_work *work, const struct as_profile_run *run,
                                 const char *path, struct assay_error *err);

/* ---- outputs.c ---- */

/* The row of a tensor, filled but for files and comparison. */
void as_output_describe(const struct as_outputs_work *work, struct as_output_row *row,
                        const struct as_kept_tensor *tensor, const struct as_val *val);

#endif
