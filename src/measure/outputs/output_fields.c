/* measure/outputs/output_fields.c - kept outputs, into a run and back. */
#include "measure/outputs/kept_outputs.h"

#define MAX_ROWS (1u << 21)

static const struct as_json_field row_fields[] = {
    AS_FIELD(struct as_output_row, name),     AS_FIELD(struct as_output_row, node),
    AS_FIELD(struct as_output_row, is_layer), AS_FIELD(struct as_output_row, dtype),
    AS_FIELD(struct as_output_row, shape),    AS_FIELD(struct as_output_row, n),
    AS_FIELD(struct as_output_row, n_nan),    AS_FIELD(struct as_output_row, n_inf),
    AS_FIELD(struct as_output_row, npy),      AS_FIELD(struct as_output_row, pb),
    AS_FIELD(struct as_output_row, note),     AS_FIELD(struct as_output_row, expected),
    AS_FIELD(struct as_output_row, agrees),   AS_FIELD(struct as_output_row, n_beyond),
    AS_FIELD(struct as_output_row, max_abs),  AS_FIELD(struct as_output_row, max_rel),
    AS_FIELD(struct as_output_row, cosine),   AS_FIELD(struct as_output_row, top1),
};
static const struct as_json_shape row_shape = AS_SHAPE(struct as_output_row, row_fields);

static const struct as_json_field origin_fields[] = {
    AS_FIELD(struct as_output_origin, node),
    AS_FIELD(struct as_output_origin, tensor),
    AS_FIELD(struct as_output_origin, n),
    AS_FIELD(struct as_output_origin, source),
};
static const struct as_json_shape origin_shape = AS_SHAPE(struct as_output_origin, origin_fields);

static const struct as_json_field outputs_fields[] = {
    AS_FIELD(struct as_outputs, folder),
    AS_FIELD(struct as_outputs, expect),
    AS_FIELD(struct as_outputs, rtol),
    AS_FIELD(struct as_outputs, atol),
    AS_FIELD(struct as_outputs, n_files),
    AS_FIELD(struct as_outputs, n_differ),
    AS_FIELD(struct as_outputs, n_layers),
    AS_FIELD(struct as_outputs, no_layers),
    AS_FIELD_OBJECT(struct as_outputs, nan, &origin_shape),
    AS_FIELD_OBJECT(struct as_outputs, inf, &origin_shape),
    AS_FIELD(struct as_outputs, bisected),
    AS_FIELD(struct as_outputs, differs_node),
    AS_FIELD(struct as_outputs, differs_tensor),
    AS_FIELD(struct as_outputs, n_unknown_inputs),
    AS_FIELD(struct as_outputs, n_rows),
};
static const struct as_json_shape outputs_shape = AS_SHAPE(struct as_outputs, outputs_fields);

void as_outputs_put(const struct as_outputs *o, struct as_run_maker *maker)
{
    as_run_maker_put(maker, "outputs", &outputs_shape, o);
    as_run_maker_rows(maker, "output_tensors", &row_shape, o->rows, o->n_rows);
}

int as_outputs_get(struct as_outputs **outputs, struct as_run *run, struct assay_error *err)
{
    struct as_outputs *o;
    size_t n;
    bool good;
    int rc;

    *outputs = NULL;
    if (!as_run_has(run, "outputs"))
        return ASSAY_OK;
    o = as_arena_zero(&run->arena, 1, sizeof *o);
    if (!o)
        return as_fail_nomem(err);
    rc = as_run_get(run, "outputs", &outputs_shape, o, err);
    n = o->n_rows;
    if (rc == ASSAY_OK)
        rc =
            as_run_get_rows(run, "output_tensors", &row_shape, MAX_ROWS, &o->rows, &o->n_rows, err);
    if (rc < 0)
        return rc;
    good = n == o->n_rows;
    for (size_t i = 0; i < o->n_rows && good; i++)
        good = o->rows[i].name && o->rows[i].dtype;
    if (!good)
        return as_fail(err, ASSAY_ERR_FORMAT, "%s: the parts of its outputs do not fit together",
                       run->path);
    *outputs = o;
    return ASSAY_OK;
}
