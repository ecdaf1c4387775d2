/* api/measure_outputs_api.c - the public call of assay/measure.h that gives the outputs of a model.
 */
#include <string.h>

#include "api/measure_internal.h"
#include "measure/outputs/kept_outputs.h"

static int give(const struct as_value *value, const struct as_val *val, assay_output_taken fn,
                void *user, struct assay_error *err)
{
    bool is_tensor = val && val->present && val->kind == AS_VALUE_TENSOR;
    struct assay_output_tensor out = {
        .size = sizeof out,
        .name = value->name,
        .type = is_tensor ? as_dtype_name(val->dtype) : "",
        .reason =
            is_tensor ? "its elements are not numbers of assay/model.h" : "it is not a tensor",
    };
    int dtype = is_tensor ? as_dtype_public(val->dtype) : -1;

    if (is_tensor) {
        out.rank = val->rank;
        out.dims = val->dims;
        out.elements = val->n;
    }
    if (dtype >= 0) {
        out.dtype = (enum assay_dtype)dtype;
        out.data = val->data;
        out.bytes = val->bytes;
        out.reason = NULL;
        as_output_count(val, &out.nan_elements, &out.infinite_elements);
    }
    return fn(user, &out, err);
}

static int give_all(const struct as_engine *engine, assay_output_taken fn, void *user,
                    struct assay_error *err)
{
    const struct as_value *value;
    int n = 0;

    while ((value = as_engine_output_value(engine, (size_t)n)) != NULL) {
        int rc = give(value, as_engine_output(engine, (size_t)n++), fn, user, err);

        if (rc != 0)
            return rc < 0 ? rc
                          : as_fail(err, ASSAY_ERR_STATE, "the function gave up at output %d", n);
    }
    return n;
}

int assay_model_measure_outputs(struct assay_model *model,
                                const struct assay_measure_options *options, assay_output_taken fn,
                                void *user, struct assay_error *err)
{
    struct as_measure_setup s;
    int n, rc;

    if (!fn)
        return as_fail(err, ASSAY_ERR_USAGE, "no function that takes outputs is given");
    rc = as_measure_setup_open(&s, model, options, 0, err);
    if (rc < 0)
        return rc;
    n = as_engine_run(s.run->engine, AS_RUN_PLAIN, NULL, err);
    if (n == ASSAY_OK)
        n = give_all(s.run->engine, fn, user, err);
    rc = as_measure_setup_close(&s, n < 0 ? NULL : err);
    return n < 0 || rc == ASSAY_OK ? n : rc;
}
