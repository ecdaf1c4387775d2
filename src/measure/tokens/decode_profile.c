/* measure/tokens/decode_profile.c - the second phase of a text model with a cache: one new token
 * after a text of a given length. Its shapes are fixed, so that it is measured as any model is. */
#include "measure/tokens/decode_profile.h"

#include <string.h>

static int64_t dim_of(const struct as_type *type, int axis)
{
    return axis >= 0 && axis < type->rank ? type->dims[axis] : AS_DIM_UNKNOWN;
}

/* The axis along which the cache grows: its output is longer there by the new tokens. */
static int growing_axis(const struct as_model *model, const struct as_state_pair *pair,
                        int64_t tokens)
{
    const struct as_type *in = &model->values[pair->input_value].type;
    const struct as_type *out = &model->values[pair->output_value].type;

    for (int k = 0; k < in->rank && in->rank == out->rank; k++)
        if (in->dims[k] >= 0 && out->dims[k] == in->dims[k] + tokens && tokens > 0)
            return k;
    return -1;
}

int as_token_phase_find(struct as_token_phase *phase, const struct as_model *model,
                        const struct as_state_pairs *pairs, struct assay_error *err)
{
    struct as_token_inputs in;
    const struct as_type *ids;
    int rc;

    *phase = (struct as_token_phase){.batch = 1};
    if (!model->main || pairs->n == 0)
        return ASSAY_OK;
    rc = as_token_inputs_init(&in, model, pairs, err);
    if (rc < 0)
        return rc;
    if (in.ids != AS_NONE) {
        ids = &model->values[model->main->inputs[in.ids]].type;
        phase->tokens = dim_of(ids, ids->rank - 1);
        phase->batch = ids->rank > 1 ? dim_of(ids, 0) : 1;
        phase->fixed_batch = in.fixed_batch;
        phase->one_by_one = in.fixed_n == 1;
        for (size_t i = 0; i < pairs->n && !phase->has_cache && in.fixed_n <= 1; i++) {
            int axis = growing_axis(model, &pairs->at[i], phase->tokens);

            if (axis < 0 || pairs->at[i].growing)
                continue;
            phase->past = model->values[pairs->at[i].input_value].type.dims[axis];
            phase->has_cache = phase->batch > 0;
        }
    }
    as_token_inputs_fini(&in);
    return ASSAY_OK;
}

int as_decode_infer(struct as_token_inputs *in, struct as_model *model,
                    const struct as_token_place *at, struct as_infer_options *infer,
                    struct assay_error *err)
{
    const struct as_token_place empty = {at->batch, 0, at->n};
    struct as_infer_options given = *infer, first;
    int rc = as_token_inputs_release(in, &given, err);

    if (rc < 0)
        return rc;
    first = *infer = given;
    rc = as_token_inputs_sizes(in, &empty, false, &first, err);
    if (rc == ASSAY_OK)
        rc = as_infer_shapes(model, &first, NULL, err);
    if (rc < 0)
        return rc;
    as_token_inputs_keep_states(in);
    rc = as_token_inputs_sizes(in, at, false, infer, err);
    return rc < 0 ? rc : as_infer_shapes(model, infer, NULL, err);
}

static int fill(void *user, struct as_engine *engine, struct assay_error *err)
{
    struct as_decode_profile *d = user;
    int rc = as_token_inputs_fill(&d->in, engine, &d->at, true, err);

    return rc < 0 ? rc : as_token_inputs_begin(&d->in, engine, d->at.past, err);
}

int as_decode_profile_init(struct as_decode_profile *d, struct as_model *model,
                           const struct as_token_place *at,
                           const struct as_profile_options *options, struct assay_error *err)
{
    struct as_profile_options o = *options;
    int rc;

    *d = (struct as_decode_profile){.model = model, .at = *at};
    rc = as_state_pairs_find(&d->pairs, model, NULL, 0, err);
    if (rc == ASSAY_OK)
        rc = as_token_inputs_init(&d->in, model, &d->pairs, err);
    d->in.seed = options->inputs.seed;
    if (rc == ASSAY_OK)
        rc = as_decode_infer(&d->in, model, at, &o.engine.infer, err);
    o.engine.loops = d->pairs.loops;
    o.engine.n_loops = d->pairs.n_loops;
    o.fill = fill;
    o.fill_user = d;
    o.record = NULL;
    o.reset_peak_rss = false;
    o.latency.n_earlier = 0;
    /* Files of inputs are those of the prompt. */
    o.inputs.files = NULL;
    o.inputs.n_files = 0;
    if (rc == ASSAY_OK)
        rc = as_profile_run_new(&d->run, model, &o, err);
    if (rc < 0)
        as_decode_profile_fini(d);
    return rc;
}

void as_decode_profile_fini(struct as_decode_profile *d)
{
    as_profile_run_free(d->run);
    as_token_inputs_fini(&d->in);
    as_state_pairs_fini(&d->pairs);
    *d = (struct as_decode_profile){0};
}
