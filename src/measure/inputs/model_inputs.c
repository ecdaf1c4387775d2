/* measure/inputs/model_inputs.c - numbers for every input of a model: from files, or made up from a
 * seed so that the model can run on them. What was chosen for each input is kept, to be reported.
 */
#include "measure/inputs/model_inputs.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

struct as_given_file {
    struct as_tensor_file of;
    const struct as_value *value;
};

static const char *const fill_name[] = {
    [AS_INPUTS_RANDOM] = "random",
    [AS_INPUTS_NORMAL] = "normal",
    [AS_INPUTS_ZEROS] = "zeros",
    [AS_INPUTS_ONES] = "ones",
};
_Static_assert(AS_COUNT_OF(fill_name) == AS_INPUTS_COUNT, "name every fill");

const char *as_input_fill_name(enum as_input_fill fill)
{
    return (unsigned)fill < AS_INPUTS_COUNT ? fill_name[fill] : "unknown";
}

/* ---- files ---- */

static const struct as_value *input_at(const struct as_model *model, uint32_t *i)
{
    while (model->main && *i < model->main->n_inputs) {
        const struct as_value *v = &model->values[model->main->inputs[(*i)++]];

        if (v->is_input)
            return v;
    }
    return NULL;
}

static const struct as_value *find_input(const struct as_model *model, const char *name,
                                         struct assay_error *err)
{
    const struct as_value *v, *first = NULL;
    char names[150] = "none";
    size_t used = 0, n = 0;

    for (uint32_t i = 0; (v = input_at(model, &i)) != NULL; n++) {
        if (name && strcmp(v->name, name) == 0)
            return v;
        first = first ? first : v;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", n ? ", " : "",
                                     v->name);
    }
    if (!name && n == 1)
        return first;
    (void)(name ? as_fail(err, ASSAY_ERR_USAGE, "the model has no input '%.40s'; it has: %s", name,
                          names)
                : as_fail(err, ASSAY_ERR_USAGE,
                          "a file without the name of its input is for models with one; this one "
                          "has: %s",
                          names));
    return NULL;
}

static const struct as_type *declared(const struct as_model *model, const struct as_value *v)
{
    return model->inferred ? &v->declared : &v->type;
}

static void dims_text(char *out, size_t capacity, const struct as_dims *dims)
{
    struct as_type type = {.rank = (int16_t)dims->rank, .dims = dims->at};

    as_type_text(out, capacity, &type);
}

/* The kind of numbers and the count of dimensions; sizes come with inference. */
static int check_type(const struct as_model_inputs *in, const struct as_given_file *f,
                      struct assay_error *err)
{
    const struct as_type *want = declared(in->model, f->value);
    char have[60], wanted[60];

    if (want->kind != AS_VALUE_TENSOR)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "input '%.60s' is not a tensor; %.100s cannot be given", f->value->name,
                       f->of.file.path);
    if (want->dtype != AS_DTYPE_UNKNOWN && want->dtype != f->of.dtype)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "%.100s holds %s elements, but input '%.60s' takes %s; convert the file",
                       f->of.file.path, as_dtype_name(f->of.dtype), f->value->name,
                       as_dtype_name(want->dtype));
    if (want->rank < 0 || want->rank == f->of.dims.rank)
        return ASSAY_OK;
    dims_text(have, sizeof have, &f->of.dims);
    as_type_text(wanted, sizeof wanted, want);
    return as_fail(err, ASSAY_ERR_USAGE, "%.100s holds %s, but input '%.50s' is %s",
                   f->of.file.path, have, f->value->name, wanted);
}

static int open_file(struct as_model_inputs *in, const struct as_input_file *given,
                     struct assay_error *err)
{
    struct as_given_file *f = &in->files[in->n_files];
    int rc;

    f->value = find_input(in->model, given->name, err);
    if (!f->value)
        return ASSAY_ERR_USAGE;
    for (size_t i = 0; i < in->n_files; i++)
        if (in->files[i].value == f->value)
            return as_fail(err, ASSAY_ERR_USAGE, "input '%.60s' is given twice", f->value->name);
    in->n_files++;
    rc = as_tensor_file_open(&f->of, given->path, &in->holder, err);
    return rc < 0 ? rc : check_type(in, f, err);
}

int as_model_inputs_open(struct as_model_inputs *in, const struct as_model *model,
                         const struct as_input_options *options, struct assay_error *err)
{
    int rc = ASSAY_OK;

    *in = (struct as_model_inputs){.options = options, .model = model};
    in->files = as_alloc_zero(options->n_files + 1, sizeof *in->files);
    if (!in->files)
        return as_fail_nomem(err);
    for (size_t i = 0; i < options->n_files && rc == ASSAY_OK; i++)
        rc = open_file(in, &options->files[i], err);
    if (rc < 0)
        as_model_inputs_close(in);
    return rc;
}

static bool same_dims(const struct as_dims *a, const struct as_dims *b)
{
    return a->rank == b->rank && memcmp(a->at, b->at, (size_t)a->rank * sizeof *a->at) == 0;
}

/* A fixed size that the model declares can be changed by who asks for it, not by a file. */
static int check_sizes(const struct as_model_inputs *in, const struct as_given_file *f,
                       const struct as_infer_input *asked, struct assay_error *err)
{
    const struct as_type *want = declared(in->model, f->value);
    char have[60], wanted[60];
    bool fits = true;

    if (asked && asked->dims) {
        fits = same_dims(asked->dims, &f->of.dims);
        dims_text(wanted, sizeof wanted, asked->dims);
    } else {
        for (int i = 0; i < want->rank; i++)
            fits = fits && (want->dims[i] < 0 || want->dims[i] == f->of.dims.at[i]);
        as_type_text(wanted, sizeof wanted, want);
    }
    if (fits)
        return ASSAY_OK;
    dims_text(have, sizeof have, &f->of.dims);
    return as_fail(err, ASSAY_ERR_USAGE, "%.100s holds %s, but input '%.50s' is %s",
                   f->of.file.path, have, f->value->name, wanted);
}

int as_model_inputs_sizes(struct as_model_inputs *in, struct as_infer_options *infer,
                          struct assay_error *err)
{
    size_t n = infer->n_inputs;

    as_free(in->infer);
    in->infer = as_alloc_zero(n + in->n_files + 1, sizeof *in->infer);
    if (!in->infer)
        return as_fail_nomem(err);
    if (n)
        memcpy(in->infer, infer->inputs, n * sizeof *in->infer);
    for (size_t i = 0; i < in->n_files; i++) {
        const struct as_given_file *f = &in->files[i];
        const struct as_infer_input *asked = NULL;
        int rc;

        for (size_t k = 0; k < infer->n_inputs && !asked; k++)
            if (strcmp(infer->inputs[k].name, f->value->name) == 0)
                asked = &infer->inputs[k];
        if (asked && asked->data)
            return as_fail(err, ASSAY_ERR_USAGE,
                           "input '%.60s' is given numbers and the file %.100s: one of the two",
                           f->value->name, f->of.file.path);
        rc = check_sizes(in, f, asked, err);
        if (rc < 0)
            return rc;
        if (!asked)
            in->infer[n++] = (struct as_infer_input){
                .name = f->value->name, .dims = &f->of.dims, .source = "--input"};
    }
    infer->inputs = in->infer;
    infer->n_inputs = n;
    return ASSAY_OK;
}

/* ---- filling ---- */

static struct as_given_file *file_of(const struct as_model_inputs *in, const struct as_value *v)
{
    for (size_t i = 0; i < in->n_files; i++)
        if (in->files[i].value == v)
            return &in->files[i];
    return NULL;
}

static int fill_from_file(struct as_given_file *f, struct as_val *val, struct assay_error *err)
{
    struct as_dims dims;

    as_val_dims(val, &dims);
    if (val->dtype != f->of.dtype || !same_dims(&dims, &f->of.dims))
        return as_fail(err, ASSAY_ERR_USAGE, "%.100s does not fit input '%.60s' as it is run",
                       f->of.file.path, f->value->name);
    return as_tensor_file_read(&f->of, val->data, err);
}

/* An input that the engine has no memory for gets ours: texts, and what is no tensor stays empty.
 */
static int give_own(struct as_model_inputs *in, struct as_engine *engine, size_t i,
                    struct as_input_choice *choice, struct assay_error *err)
{
    const struct as_value *v = as_engine_input_value(engine, i);
    struct as_given_file *f = file_of(in, v);
    struct as_val val = {.kind = v->type.kind, .present = true};
    struct as_dims dims;
    int rc = ASSAY_OK;

    (void)snprintf(choice->how, sizeof choice->how, "empty");
    if (v->type.kind == AS_VALUE_MAP)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "input '%.60s' is a map; nothing can be given",
                       v->name);
    if (v->type.kind == AS_VALUE_TENSOR && f && f->of.dtype == AS_DTYPE_STRING) {
        struct as_type type = {.dtype = (uint8_t)f->of.dtype,
                               .rank = (int16_t)f->of.dims.rank,
                               .n_elems = -1,
                               .dims = f->of.dims.at};

        rc = as_val_load(&val, &in->mem, AS_MEM_ACTIVATIONS, &type, f->of.data, err);
    } else if (v->type.kind == AS_VALUE_TENSOR) {
        if (!as_type_dims(&v->type, &dims) || !as_type_is_static(&v->type))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "the shape of input '%.80s' is not known: give its sizes", v->name);
        rc = as_val_new(&val, &in->mem, AS_MEM_ACTIVATIONS, v->type.dtype, &dims, err);
        if (rc == ASSAY_OK)
            memset(val.data, 0, (size_t)val.bytes);
    }
    if (rc == ASSAY_OK)
        rc = as_engine_set_input(engine, i, &val, err);
    as_val_drop(&val);
    return rc;
}

/* "as given: 1, 2, 3 ...": numbers that went into the shapes, and are constants of the engine. */
static void tell_given(const struct as_data *data, struct as_input_choice *choice)
{
    const size_t capacity = sizeof choice->how;
    size_t size = (size_t)snprintf(choice->how, capacity, "as given");

    for (uint64_t i = 0; i < data->n && i < 4 && data->dtype != AS_DTYPE_STRING; i++)
        size += (size_t)snprintf(choice->how + size, capacity - size, "%s %.9g", i ? "," : ":",
                                 as_data_f64(data, i));
    if (data->n > 4)
        (void)snprintf(choice->how + size, capacity - size, " ...");
}

static bool is_looped(const struct as_input_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_loops; i++)
        if (strcmp(options->loops[i].input, name) == 0)
            return true;
    return false;
}

static int fill_one(struct as_model_inputs *in, struct as_engine *engine, size_t i,
                    struct as_input_choice *choice, struct assay_error *err)
{
    const struct as_value *v = as_engine_input_value(engine, i);
    struct as_val *val = as_engine_input(engine, i);
    struct as_given_file *f = file_of(in, v);
    struct as_input_guess guess = {
        .model = in->model,
        .value = (uint32_t)(v - in->model->values),
        .fill = in->options->fill,
        .seed = in->options->seed + i,
        .is_state = is_looped(in->options, v->name),
    };
    int rc = ASSAY_OK;

    choice->name = v->name;
    choice->dtype = v->type.kind == AS_VALUE_TENSOR ? as_dtype_name(v->type.dtype) : "";
    as_type_text(choice->shape, sizeof choice->shape, &v->type);
    if (guess.is_state && !as_type_is_static(&v->type)) {
        (void)snprintf(choice->how, sizeof choice->how, "the state left by the previous inference");
        return ASSAY_OK;
    }
    if (v->data) {
        tell_given(v->data, choice);
        return ASSAY_OK;
    }
    if (!val->present)
        rc = give_own(in, engine, i, choice, err);
    val = as_engine_input(engine, i);
    if (rc < 0 || !val->present || val->kind != AS_VALUE_TENSOR)
        return rc;
    if (f) {
        (void)snprintf(choice->how, sizeof choice->how, "file %.100s", f->of.file.path);
        return f->of.dtype == AS_DTYPE_STRING ? ASSAY_OK : fill_from_file(f, val, err);
    }
    return as_input_guess_fill(&guess, val, choice->how, sizeof choice->how, err);
}

int as_model_inputs_fill(struct as_model_inputs *in, struct as_engine *engine,
                         struct assay_error *err)
{
    size_t n = 0;
    int rc = ASSAY_OK;

    while (as_engine_input_value(engine, n))
        n++;
    as_free(in->choices);
    in->choices = as_alloc_zero(n + 1, sizeof *in->choices);
    in->n_choices = 0;
    if (!in->choices)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n && rc == ASSAY_OK; i++)
        rc = fill_one(in, engine, i, &in->choices[in->n_choices++], err);
    return rc;
}

void as_model_inputs_close(struct as_model_inputs *in)
{
    for (size_t i = 0; in->files && i < in->n_files; i++)
        as_tensor_file_close(&in->files[i].of);
    as_free(in->files);
    as_free(in->infer);
    as_free(in->choices);
    as_model_free(in->holder);
    *in = (struct as_model_inputs){0};
}
