/* tests/unit/decode_kit.h - a decoder in an engine, run over any part of a text. */
#ifndef AS_TESTS_DECODE_KIT_H
#define AS_TESTS_DECODE_KIT_H

#include "unit.h"

#include "measure/tokens/token_inputs.h"
#include "model/zoo/zoo.h"

struct decode_kit {
    struct as_model *model;
    struct as_state_pairs pairs;
    struct as_token_inputs in;
    struct as_engine *engine;
    int64_t batch;
};

/* Takes the model. `n` tokens in a run; open: the past may have any length, else it is empty. */
static inline void decode_begin(struct decode_kit *k, struct as_model *model, int64_t n, bool open)
{
    struct as_token_place at = {k->batch, 0, n};
    struct as_engine_options options = {.threads = 1};
    struct as_infer_options first = {0};
    struct assay_error err = {0};

    k->model = model;
    if (as_state_pairs_find(&k->pairs, model, NULL, 0, &err) < 0 ||
        as_token_inputs_init(&k->in, model, &k->pairs, &err) < 0 ||
        as_token_inputs_sizes(&k->in, &at, false, &first, &err) < 0 ||
        as_infer_shapes(model, &first, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    as_token_inputs_keep_states(&k->in);
    options.loops = k->pairs.loops;
    options.n_loops = k->pairs.n_loops;
    if (as_token_inputs_sizes(&k->in, &at, open, &options.infer, &err) < 0 ||
        as_engine_new(&k->engine, model, &options, &err) < 0 ||
        as_token_inputs_fill(&k->in, k->engine, &at, true, &err) < 0 ||
        as_token_inputs_begin(&k->in, k->engine, 0, &err) < 0)
        fail_msg("%s", err.msg);
}

static inline const float *decode_run_at(struct decode_kit *k, int64_t past, int64_t n)
{
    struct as_token_place at = {k->batch, past, n};
    struct assay_error err = {0};

    if (as_token_inputs_fill(&k->in, k->engine, &at, false, &err) < 0 ||
        as_engine_run(k->engine, AS_RUN_PLAIN, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(as_engine_output(k->engine, 0)->dtype, AS_DTYPE_F32);
    return as_engine_output(k->engine, 0)->data;
}

static inline void decode_end(struct decode_kit *k)
{
    as_engine_free(k->engine);
    as_token_inputs_fini(&k->in);
    as_state_pairs_fini(&k->pairs);
    as_model_free(k->model);
}

static inline struct as_model *decode_zoo(const char *spec)
{
    struct as_model *model = NULL;
    struct assay_error err = {0};

    if (as_zoo_open(&model, spec, &err) < 0)
        fail_msg("%s: %s", spec, err.msg);
    return model;
}

static inline void decode_near(const float *a, const float *b, size_t n, double relative)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)b[i]));
    assert_true(most > 0);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <=
              relative * fmax(fabs((double)b[i]), 0.01 * most)))
            fail_msg("number %zu is %.9g instead of %.9g", i, (double)a[i], (double)b[i]);
}

#endif
