/* measure/tokens/token_inputs.c - what the inputs of a decoder mean, by name and type, and their
 * numbers at any place of a text. */
#include "measure/tokens/token_inputs.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "measure/inputs/model_inputs.h"
#include "stats/describe/rng.h"

static const struct {
    const char *word;
    enum as_token_role role;
} words[] = {
    {"use_cache", AS_TOKEN_USE_CACHE}, {"seqlens_k", AS_TOKEN_LAST},
    {"total_seq", AS_TOKEN_ALL},       {"past_seq", AS_TOKEN_PAST},
    {"past_len", AS_TOKEN_PAST},       {"position", AS_TOKEN_POSITIONS},
    {"mask", AS_TOKEN_MASK},           {"token_type", AS_TOKEN_OTHER},
    {"segment", AS_TOKEN_OTHER},       {"input_ids", AS_TOKEN_IDS},
    {"token", AS_TOKEN_IDS},           {"ids", AS_TOKEN_IDS},
};

static uint32_t n_inputs(const struct as_token_inputs *in)
{
    return in->model->main->n_inputs;
}

static const struct as_value *input_at(const struct as_token_inputs *in, uint32_t i)
{
    return &in->model->values[in->model->main->inputs[i]];
}

static enum as_token_role role_of(const struct as_value *value)
{
    const struct as_type *type = as_declared_type(value);

    if (type->kind != AS_VALUE_TENSOR)
        return AS_TOKEN_OTHER;
    for (size_t i = 0; i < AS_COUNT_OF(words); i++) {
        bool whole = as_dtype_is_integer(type->dtype) || words[i].role == AS_TOKEN_MASK ||
                     words[i].role == AS_TOKEN_USE_CACHE;

        if (whole && strcasestr(value->name, words[i].word))
            return words[i].role;
    }
    return AS_TOKEN_OTHER;
}

static bool is_ids(const struct as_type *type)
{
    return type->kind == AS_VALUE_TENSOR && as_dtype_is_integer(type->dtype) &&
           (type->rank == 1 || type->rank == 2);
}

/* The first that is called so; else the only one that could be. */
static void find_ids(struct as_token_inputs *in)
{
    uint32_t only = AS_NONE, n = 0;

    for (uint32_t i = 0; i < n_inputs(in); i++) {
        if (in->roles[i] == AS_TOKEN_IDS &&
            (in->ids != AS_NONE || !is_ids(as_declared_type(input_at(in, i)))))
            in->roles[i] = AS_TOKEN_OTHER;
        else if (in->roles[i] == AS_TOKEN_IDS)
            in->ids = i;
        if (in->roles[i] == AS_TOKEN_OTHER && input_at(in, i)->is_input &&
            is_ids(as_declared_type(input_at(in, i)))) {
            only = i;
            n++;
        }
    }
    if (in->ids == AS_NONE && n == 1) {
        in->ids = only;
        in->roles[only] = AS_TOKEN_IDS;
    }
}

static void find_fixed(struct as_token_inputs *in)
{
    const struct as_type *type;

    if (in->ids == AS_NONE)
        return;
    type = as_declared_type(input_at(in, in->ids));
    in->fixed_n = type->dims[type->rank - 1] > 0 ? type->dims[type->rank - 1] : 0;
    in->fixed_batch = type->rank > 1 && type->dims[0] > 0 ? type->dims[0] : 0;
}

int as_token_inputs_init(struct as_token_inputs *in, const struct as_model *model,
                         const struct as_state_pairs *pairs, struct assay_error *err)
{
    size_t n = (size_t)model->main->n_inputs + 1;

    *in = (struct as_token_inputs){.model = model, .ids = AS_NONE};
    in->roles = as_alloc_zero(n, sizeof *in->roles);
    in->states = as_alloc_zero(n, sizeof *in->states);
    in->given_dims = as_alloc_zero(n, sizeof *in->given_dims);
    if (!in->roles || !in->states || !in->given_dims) {
        as_token_inputs_fini(in);
        return as_fail_nomem(err);
    }
    for (uint32_t i = 0; i < n_inputs(in); i++) {
        in->roles[i] =
            input_at(in, i)->is_input ? (uint8_t)role_of(input_at(in, i)) : (uint8_t)AS_TOKEN_OTHER;
        for (size_t k = 0; k < pairs->n; k++)
            if (pairs->at[k].input_value == model->main->inputs[i])
                in->roles[i] = AS_TOKEN_STATE;
    }
    find_ids(in);
    find_fixed(in);
    return ASSAY_OK;
}

void as_token_inputs_fini(struct as_token_inputs *in)
{
    as_free(in->roles);
    as_free(in->states);
    as_free(in->given_dims);
    as_free(in->infer);
    as_free(in->released_inputs);
    as_free(in->released_dims);
    *in = (struct as_token_inputs){0};
}

/* ---- sizes ---- */

/* What the dimensions of an input are at that place; false: they do not depend on it. */
static bool dims_at(const struct as_token_inputs *in, uint32_t i, const struct as_token_place *at,
                    struct as_dims *dims)
{
    const struct as_type *type = as_declared_type(input_at(in, i));
    bool grows = in->roles[i] == AS_TOKEN_MASK;
    struct as_dims want = {.rank = type->rank};

    if (type->rank < 1 || type->rank > 4 || !as_type_dims(type, dims) ||
        (in->roles[i] != AS_TOKEN_IDS && in->roles[i] != AS_TOKEN_POSITIONS && !grows))
        return false;
    want.at[0] = at->batch;
    if (type->rank == 4) {
        want.at[1] = 1;
        want.at[2] = at->n;
    } else if (type->rank == 3) {
        want.at[1] = at->n;
    }
    want.at[type->rank - 1] = grows ? at->past + at->n : at->n;
    for (int k = 0; k < type->rank; k++)
        if (dims->at[k] == AS_DIM_UNKNOWN)
            dims->at[k] = want.at[k];
    return true;
}

/* A state with so many tokens in it. */
static bool state_dims_at(const struct as_token_inputs *in, uint32_t i,
                          const struct as_token_place *at, struct as_dims *dims)
{
    int axis = in->roles[i] == AS_TOKEN_STATE ? as_token_state_axis(in, i) : -1;

    if (axis < 0 || at->past <= 0)
        return false;
    *dims = in->states[i];
    dims->at[axis] = at->past;
    return true;
}

/* The symbol counts tokens: of an input of them, any but the samples; of a state, any. */
static bool counts_tokens(const struct as_token_inputs *in, const char *symbol)
{
    for (uint32_t i = 0; i < n_inputs(in); i++) {
        const struct as_value *value = input_at(in, i);
        bool of_tokens = in->roles[i] == AS_TOKEN_IDS || in->roles[i] == AS_TOKEN_POSITIONS ||
                         in->roles[i] == AS_TOKEN_MASK;
        int rank = value->symbols ? as_declared_type(value)->rank : 0;

        for (int k = of_tokens && rank > 1 ? 1 : 0;
             k < rank && (of_tokens || in->roles[i] == AS_TOKEN_STATE); k++)
            if (value->symbols[k] && strcmp(value->symbols[k], symbol) == 0 && (of_tokens || k > 0))
                return true;
    }
    return false;
}

static bool depends_on_place(const struct as_token_inputs *in, const char *name)
{
    for (uint32_t i = 0; i < n_inputs(in); i++)
        if (strcmp(input_at(in, i)->name, name) == 0)
            return in->roles[i] != AS_TOKEN_OTHER;
    return false;
}

int as_token_inputs_release(struct as_token_inputs *in, struct as_infer_options *infer,
                            struct assay_error *err)
{
    size_t n_inputs_left = 0, n_dims_left = 0;

    as_free(in->released_inputs);
    as_free(in->released_dims);
    in->released_inputs = as_alloc_zero(infer->n_inputs + 1, sizeof *in->released_inputs);
    in->released_dims = as_alloc_zero(infer->n_dims + 1, sizeof *in->released_dims);
    if (!in->released_inputs || !in->released_dims)
        return as_fail_nomem(err);
    for (size_t i = 0; i < infer->n_inputs; i++)
        if (!depends_on_place(in, infer->inputs[i].name))
            in->released_inputs[n_inputs_left++] = infer->inputs[i];
    for (size_t i = 0; i < infer->n_dims; i++)
        if (!counts_tokens(in, infer->dims[i].symbol))
            in->released_dims[n_dims_left++] = infer->dims[i];
    infer->inputs = in->released_inputs;
    infer->n_inputs = n_inputs_left;
    infer->dims = in->released_dims;
    infer->n_dims = n_dims_left;
    infer->batch = 0; /* as the tokens have it */
    infer->batch_input = NULL;
    return ASSAY_OK;
}

static bool is_given(const struct as_infer_options *infer, const char *name)
{
    for (size_t i = 0; i < infer->n_inputs; i++)
        if (strcmp(infer->inputs[i].name, name) == 0)
            return true;
    return false;
}

int as_token_inputs_sizes(struct as_token_inputs *in, const struct as_token_place *at,
                          bool open_past, struct as_infer_options *infer, struct assay_error *err)
{
    size_t n = infer->n_inputs;

    as_free(in->infer);
    in->infer = as_alloc_zero(n + n_inputs(in) + 1, sizeof *in->infer);
    if (!in->infer)
        return as_fail_nomem(err);
    if (n)
        memcpy(in->infer, infer->inputs, n * sizeof *in->infer);
    for (uint32_t i = 0; i < n_inputs(in); i++) {
        if (is_given(infer, input_at(in, i)->name) ||
            (open_past && in->roles[i] == AS_TOKEN_MASK) ||
            !(dims_at(in, i, at, &in->given_dims[i]) ||
              (!open_past && state_dims_at(in, i, at, &in->given_dims[i]))))
            continue;
        in->infer[n++] =
            (struct as_infer_input){.name = input_at(in, i)->name, .dims = &in->given_dims[i]};
    }
    infer->inputs = in->infer;
    infer->n_inputs = n;
    infer->keep_unknown = infer->keep_unknown || open_past;
    return ASSAY_OK;
}

void as_token_inputs_keep_states(struct as_token_inputs *in)
{
    for (uint32_t i = 0; i < n_inputs(in); i++)
        if (in->roles[i] != AS_TOKEN_STATE || !as_type_is_static(&input_at(in, i)->type) ||
            !as_type_dims(&input_at(in, i)->type, &in->states[i]))
            in->states[i] = (struct as_dims){0};
}

int as_token_state_axis(const struct as_token_inputs *in, uint32_t input)
{
    for (int k = 0; k < in->states[input].rank; k++)
        if (in->states[input].at[k] == 0)
            return k;
    return -1;
}

/* ---- numbers ---- */

static void fill_positions(struct as_val *val, const struct as_token_place *at)
{
    uint64_t row = val->rank ? (uint64_t)val->dims[val->rank - 1] : 1;

    for (uint64_t i = 0; i < val->n; i++)
        as_val_put_i64(val, i, at->past + (int64_t)(row ? i % row : 0));
}

/* Everything counts; as numbers that are added, that is 0. */
static void fill_mask(struct as_val *val)
{
    bool added = as_dtype_is_float(val->dtype);

    for (uint64_t i = 0; i < val->n; i++)
        if (added)
            as_val_put_f64(val, i, 0);
        else
            as_val_put_i64(val, i, 1);
}

static int fill_ids(const struct as_token_inputs *in, struct as_val *val, uint32_t input,
                    const struct as_token_place *at, struct assay_error *err)
{
    struct as_input_use use;
    struct as_rng rng;
    int rc = as_input_use_find(&use, in->model, in->model->main->inputs[input], err);
    uint64_t below = in->model->decoder.vocabulary;

    if (rc < 0)
        return rc;
    below = use.below ? use.below : below ? below : 1;
    /* The same tokens at the same places, however they are cut into runs. */
    for (uint64_t i = 0; i < val->n; i++) {
        uint64_t row = val->rank ? (uint64_t)val->dims[val->rank - 1] : 1;

        as_rng_seed(&rng, in->seed + 1000003 * (i / row) + (uint64_t)at->past + i % row);
        as_val_put_i64(val, i, (int64_t)as_rng_below(&rng, below));
    }
    return ASSAY_OK;
}

static void fill_number(struct as_val *val, int64_t number)
{
    for (uint64_t i = 0; i < val->n; i++)
        as_val_put_i64(val, i, number);
}

static int fill_other(const struct as_token_inputs *in, struct as_val *val, uint32_t input,
                      struct assay_error *err)
{
    struct as_input_guess guess = {
        .model = in->model, .value = in->model->main->inputs[input], .seed = in->seed + input};
    char how[120];

    return as_input_guess_fill(&guess, val, how, sizeof how, err);
}

static int fill_one(const struct as_token_inputs *in, struct as_engine *engine, size_t slot,
                    uint32_t input, const struct as_token_place *at, struct assay_error *err)
{
    struct as_val *val = as_engine_input(engine, slot);
    struct as_dims dims;
    int rc = ASSAY_OK;

    if (input_at(in, input)->data)
        return ASSAY_OK; /* its numbers were given, and went into the shapes */
    if (!val->present || !as_type_is_static(&input_at(in, input)->type)) {
        if (!dims_at(in, input, at, &dims))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "the shape of input '%.80s' is not known: give its sizes",
                           input_at(in, input)->name);
        rc = as_engine_make_input(engine, slot, &dims, err);
    }
    if (rc < 0 || !val->present || val->kind != AS_VALUE_TENSOR)
        return rc;
    switch (in->roles[input]) {
    case AS_TOKEN_IDS:
        return fill_ids(in, val, input, at, err);
    case AS_TOKEN_POSITIONS:
        fill_positions(val, at);
        break;
    case AS_TOKEN_MASK:
        fill_mask(val);
        break;
    case AS_TOKEN_PAST:
        fill_number(val, at->past);
        break;
    case AS_TOKEN_LAST:
        fill_number(val, at->past + at->n - 1);
        break;
    case AS_TOKEN_ALL:
        fill_number(val, at->past + at->n);
        break;
    case AS_TOKEN_USE_CACHE:
        fill_number(val, at->past > 0);
        break;
    default:
        return fill_other(in, val, input, err);
    }
    return ASSAY_OK;
}

/* The place of an input of the engine among those of the graph. */
static uint32_t input_of(const struct as_token_inputs *in, const struct as_value *value)
{
    for (uint32_t i = 0; i < n_inputs(in); i++)
        if (input_at(in, i) == value)
            return i;
    return AS_NONE;
}

int as_token_inputs_fill(const struct as_token_inputs *in, struct as_engine *engine,
                         const struct as_token_place *at, bool all, struct assay_error *err)
{
    const struct as_value *value;
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && (value = as_engine_input_value(engine, i)) != NULL; i++) {
        uint32_t input = input_of(in, value);

        if (input != AS_NONE && in->roles[input] != AS_TOKEN_STATE &&
            (all || in->roles[input] != AS_TOKEN_OTHER))
            rc = fill_one(in, engine, i, input, at, err);
    }
    return rc;
}

int as_token_inputs_begin(const struct as_token_inputs *in, struct as_engine *engine, int64_t past,
                          struct assay_error *err)
{
    const struct as_value *value;
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && (value = as_engine_input_value(engine, i)) != NULL; i++) {
        uint32_t input = input_of(in, value);
        struct as_val *val = as_engine_input(engine, i);
        struct as_dims dims;
        int axis;

        if (input == AS_NONE || in->roles[input] != AS_TOKEN_STATE)
            continue;
        if (val->present && as_type_is_static(&value->type)) {
            memset(val->data, 0, (size_t)val->bytes);
            continue;
        }
        dims = in->states[input];
        axis = as_token_state_axis(in, input);
        if (axis >= 0)
            dims.at[axis] = past;
        rc = as_engine_make_input(engine, i, &dims, err);
    }
    return rc;
}
