/* report/profile/profile_outputs_json.c - outputs that were kept, as JSON: the tables of `outputs`
 * and `output_check` in the document assay.profile. */
#include "report/profile/profile_report.h"

#define R struct as_output_row
#define O struct as_outputs

static bool is_compared(const void *object)
{
    return ((const R *)object)->expected != NULL;
}

static bool is_bisected(const void *object)
{
    return ((const O *)object)->bisected;
}

static const struct as_json_field output_fields[] = {
    AS_FIELD_HELP(R, name, NULL, "of the tensor"),
    AS_FIELD_HELP(R, node, NULL, "that makes it"),
    AS_FIELD_HELP(R, is_layer, NULL, "not an output of the model"),
    AS_FIELD(R, dtype),
    AS_FIELD(R, shape),
    AS_FIELD_KEY(R, "elements", n, NULL, NULL),
    AS_FIELD_KEY(R, "nan_elements", n_nan, NULL, NULL),
    AS_FIELD_KEY(R, "infinite_elements", n_inf, NULL, NULL),
    AS_FIELD_KEY(R, "npy_file", npy, NULL, "in the folder"),
    AS_FIELD_KEY(R, "pb_file", pb, NULL, "in the folder"),
    AS_FIELD_HELP(R, note, NULL, "what could not be done with it"),
    AS_FIELD_KEY(R, "expected_file", expected, NULL, "what it was compared with"),
    AS_FIELD_IF(R, "agrees", agrees, is_compared),
    AS_FIELD_IF(R, "elements_beyond", n_beyond, is_compared),
    AS_FIELD_KEY(R, "max_abs_error", max_abs, NULL, "of finite elements"),
    AS_FIELD_KEY(R, "max_rel_error", max_rel, NULL, "where the expected element is not 0"),
    AS_FIELD_KEY(R, "cosine_similarity", cosine, NULL, "of floats"),
    AS_FIELD_KEY(R, "top1_agreement", top1, "fraction",
                 "of rows along the last axis: the same largest element"),
};
const struct as_json_shape as_profile_output_shape = AS_SHAPE(R, output_fields);

static const struct as_json_field kept_fields[] = {
    AS_FIELD_HELP(O, folder, NULL, "that was written to"),
    AS_FIELD_KEY(O, "files", n_files, NULL, "written"),
    AS_FIELD_HELP(O, expect, NULL, "what outputs were compared with"),
    AS_FIELD(O, rtol),
    AS_FIELD(O, atol),
    AS_FIELD_KEY(O, "differing_outputs", n_differ, NULL, NULL),
    AS_FIELD_KEY(O, "layers_checked", n_layers, NULL, "tensors of layers, run without fusion"),
    AS_FIELD_KEY(O, "layers_unavailable", no_layers, NULL, NULL),
    AS_FIELD_KEY(O, "first_nan_node", nan.node, NULL, "in graph order"),
    AS_FIELD_KEY(O, "first_nan_tensor", nan.tensor, NULL, NULL),
    AS_FIELD_KEY(O, "first_nan_elements", nan.n, NULL, NULL),
    AS_FIELD_KEY(O, "first_nan_source", nan.source, NULL,
                 "an input of that node that holds NaN already"),
    AS_FIELD_KEY(O, "first_infinite_node", inf.node, NULL, "in graph order"),
    AS_FIELD_KEY(O, "first_infinite_tensor", inf.tensor, NULL, NULL),
    AS_FIELD_KEY(O, "first_infinite_elements", inf.n, NULL, NULL),
    AS_FIELD_KEY(O, "first_infinite_source", inf.source, NULL,
                 "an input of that node that holds infinity already"),
    AS_FIELD(O, bisected),
    AS_FIELD_KEY(O, "first_differing_node", differs_node, NULL,
                 "in graph order; its inputs agree as far as they were compared"),
    AS_FIELD_KEY(O, "first_differing_tensor", differs_tensor, NULL, NULL),
    AS_FIELD_IF(O, "inputs_not_compared", n_unknown_inputs, is_bisected),
};
const struct as_json_shape as_profile_outputs_shape = AS_SHAPE(O, kept_fields);
