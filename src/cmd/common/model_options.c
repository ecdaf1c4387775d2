/* cmd/common/model_options.c - the options by which a user says what goes into a model.
 * Names come from the user, so every mistake is answered with what would be right. */
#include "cmd/common/model_options.h"

#include <string.h>

#include "base/text/text.h"
#include "base/units.h"

/* The input called `name`, new or given before; NULL: too many or no memory. */
static struct as_infer_input *input_for(struct as_model_options *o, const char *name, size_t size)
{
    size_t n = o->infer.n_inputs;
    char *copy;

    for (size_t i = 0; i < n; i++)
        if (strlen(o->inputs[i].name) == size && memcmp(o->inputs[i].name, name, size) == 0)
            return &o->inputs[i];
    copy = n < AS_MAX_GIVEN ? as_arena_text(&o->arena, name, size) : NULL;
    if (!copy)
        return NULL;
    o->inputs[n].name = copy;
    o->infer.inputs = o->inputs;
    o->infer.n_inputs = n + 1;
    return &o->inputs[n];
}

bool as_parse_dims(const char *text, struct as_dims *dims)
{
    dims->rank = 0;
    if (strcmp(text, "scalar") == 0)
        return true;
    for (;;) {
        size_t size = strcspn(text, "x,");
        uint64_t n;

        if (dims->rank == AS_MAX_RANK || !as_parse_u64(text, size, &n) || n > INT32_MAX)
            return false;
        dims->at[dims->rank++] = (int64_t)n;
        if (!text[size])
            return true;
        text += size + 1;
    }
}

/* The '=' that ends the name: the last one, for names may hold some themselves. */
static const char *split(const char *text)
{
    const char *equals = strrchr(text, '=');

    return equals && equals != text ? equals : NULL;
}

static const char *only_input(const struct as_model *model)
{
    const char *name = NULL;

    for (uint32_t i = 0; i < model->main->n_inputs; i++) {
        const struct as_value *value = &model->values[model->main->inputs[i]];

        if (value->is_input && name)
            return NULL;
        if (value->is_input)
            name = value->name;
    }
    return name;
}

static int read_shape(struct as_model_options *o, const char *text, const struct as_model *model,
                      struct assay_error *err)
{
    const char *equals = split(text), *name = equals ? text : only_input(model);
    const char *dims_text = equals ? equals + 1 : text;
    struct as_dims dims;
    struct as_infer_input *input;

    if (!name)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--shape is NAME=1x3x224x224; the model has several inputs, so name one");
    if (!as_parse_dims(dims_text, &dims))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--shape is NAME=1x3x224x224, at most %d dimensions up to %d, not '%.60s'",
                       AS_MAX_RANK, INT32_MAX, text);
    input = input_for(o, name, equals ? (size_t)(equals - text) : strlen(name));
    if (!input)
        return as_fail(err, ASSAY_ERR_USAGE, "--shape was given too often");
    o->shapes[input - o->inputs] = dims;
    input->dims = &o->shapes[input - o->inputs];
    return ASSAY_OK;
}

static int read_dim(struct as_model_options *o, const char *text, struct assay_error *err)
{
    const char *equals = split(text);
    size_t n = o->infer.n_dims;
    uint64_t value;
    char *name;

    if (!equals || !as_parse_u64(equals + 1, strlen(equals + 1), &value) || value > INT32_MAX)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--dim is SYMBOL=N with N a whole number up to %d, not '%.60s'", INT32_MAX,
                       text);
    name = n < AS_MAX_GIVEN ? as_arena_text(&o->arena, text, (size_t)(equals - text)) : NULL;
    if (!name)
        return as_fail(err, ASSAY_ERR_USAGE, "--dim was given too often");
    o->dims[n] = (struct as_infer_dim){name, (int64_t)value};
    o->infer.dims = o->dims;
    o->infer.n_dims = n + 1;
    return ASSAY_OK;
}

static const struct as_value *value_named(const struct as_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->main->n_inputs; i++)
        if (strcmp(model->values[model->main->inputs[i]].name, name) == 0)
            return &model->values[model->main->inputs[i]];
    return NULL;
}

static struct as_data *parse_numbers(struct as_arena *arena, unsigned dtype, const char *text)
{
    struct as_data *data;
    uint64_t n = 1, i = 0;

    for (const char *at = text; *at; at++)
        n += *at == ',';
    data = as_data_new(arena, dtype, n);
    for (; data; i++) {
        size_t size = strcspn(text, ",");
        double number;

        if (!as_parse_f64(text, size, &number))
            return NULL;
        as_data_put_f64(data, i, number);
        if (!text[size])
            break;
        text += size + 1;
    }
    return data;
}

static int read_value(struct as_model_options *o, const char *text, const struct as_model *model,
                      struct assay_error *err)
{
    const char *equals = split(text);
    const struct as_value *value;
    struct as_infer_input *input;
    uint64_t n;

    input = equals ? input_for(o, text, (size_t)(equals - text)) : NULL;
    if (!input)
        return as_fail(err, ASSAY_ERR_USAGE, "--value is NAME=V[,V...], not '%.60s'", text);
    value = value_named(model, input->name);
    if (!value) /* inference says which inputs there are */
        return ASSAY_OK;
    if (!as_dtype_is_float(value->type.dtype) && !as_dtype_is_integer(value->type.dtype) &&
        value->type.dtype != AS_DTYPE_BOOL)
        return as_fail(err, ASSAY_ERR_USAGE, "input '%.60s' is not numeric", input->name);
    input->data = parse_numbers(&o->arena, value->type.dtype, equals + 1);
    if (!input->data)
        return as_fail(err, ASSAY_ERR_USAGE, "--value is NAME=V[,V...], not '%.60s'", text);
    if (as_type_elems(&value->type, &n) && n != input->data->n)
        return as_fail(err, ASSAY_ERR_USAGE, "input '%.60s' has %llu elements, but %llu were given",
                       input->name, (unsigned long long)n, (unsigned long long)input->data->n);
    return ASSAY_OK;
}

int as_model_options_read(struct as_model_options *options, const struct as_cmd_line *line,
                          const struct as_model *model, struct assay_error *err)
{
    const char *text;
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && (text = as_opt_list_at(line, "shape", i)) != NULL; i++)
        rc = read_shape(options, text, model, err);
    for (size_t i = 0; rc == ASSAY_OK && (text = as_opt_list_at(line, "dim", i)) != NULL; i++)
        rc = read_dim(options, text, err);
    for (size_t i = 0; rc == ASSAY_OK && (text = as_opt_list_at(line, "value", i)) != NULL; i++)
        rc = read_value(options, text, model, err);
    options->infer.batch = (int64_t)as_opt_number(line, "batch", 0);
    return rc < 0 ? rc : as_batch_axis_read(&options->infer, line, &options->arena, err);
}

int as_batch_axis_read(struct as_infer_options *options, const struct as_cmd_line *line,
                       struct as_arena *arena, struct assay_error *err)
{
    const char *text = as_opt_text(line, "batch-axis"), *equals;
    int64_t axis;

    if (!text)
        return ASSAY_OK;
    equals = strrchr(text, '=');
    if (!equals || equals == text || !as_parse_i64(equals + 1, strlen(equals + 1), &axis) ||
        axis < 0 || axis >= AS_MAX_RANK)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--batch-axis is INPUT=AXIS with an axis from 0, not "
                       "'%.60s'",
                       text);
    options->batch_input = as_arena_text(arena, text, (size_t)(equals - text));
    options->batch_axis = (int)axis;
    return options->batch_input ? ASSAY_OK : as_fail_nomem(err);
}

void as_model_options_fini(struct as_model_options *options)
{
    as_arena_fini(&options->arena);
}

bool as_parse_bytes(const char *text, uint64_t *bytes)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"", 1},
                 {"B", 1},
                 {"K", 1024},
                 {"KiB", 1024},
                 {"M", 1048576},
                 {"MiB", 1048576},
                 {"G", 1073741824},
                 {"GiB", 1073741824},
                 {"T", 1024.0 * 1073741824},
                 {"TiB", 1024.0 * 1073741824},
                 {"kB", 1e3},
                 {"KB", 1e3},
                 {"MB", 1e6},
                 {"GB", 1e9},
                 {"TB", 1e12}};
    size_t size = strspn(text, "0123456789.");
    double number;

    if (!as_parse_f64(text, size, &number))
        return false;
    for (size_t i = 0; i < AS_COUNT_OF(units); i++)
        if (strcmp(text + size, units[i].unit) == 0) {
            number *= units[i].factor;
            if (!(number >= 1 && number < 9e18))
                return false;
            *bytes = (uint64_t)number;
            return true;
        }
    return false;
}
