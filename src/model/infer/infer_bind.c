/* model/infer/infer_bind.c - gives the inputs of a model their dimensions: what the user says, else
 * what the file says, else a default that is reported. */
#include "model/infer/infer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text/text.h"
#include "model/infer/batch_axis.h"

enum { MAX_SYMBOLS = 4096 };

struct symbol {
    const char *name, *input; /* the input where it was seen first */
    uint32_t hash;            /* of the name */
    int axis;
    int64_t value; /* AS_DIM_UNKNOWN: not yet */
    const char *source;
};

/* The source of what nobody gave. */
static const char by_default[] = "default";

struct binding {
    struct as_model *model;
    const struct as_infer_options *options;
    struct symbol *symbols; /* unnamed ones too, each alone */
    size_t n_symbols, capacity;
    bool *overridden;
    int64_t declared_batch; /* of the input that decides */
    struct assay_error *err;
};

static uint32_t n_inputs(const struct binding *b)
{
    return b->model->main->n_inputs;
}

static struct as_value *input_at(const struct binding *b, uint32_t i)
{
    return &b->model->values[b->model->main->inputs[i]];
}

static const char *symbol_at(const struct as_value *value, int axis)
{
    const char *name = value->symbols ? value->symbols[axis] : NULL;

    return name ? name : "";
}

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash;
}

/* The symbol of one open dimension: by its name, or by its place when it has none. */
static struct symbol *find_symbol(const struct binding *b, const struct as_value *value, int axis)
{
    const char *name = symbol_at(value, axis);
    uint32_t hash = hash_name(name);

    for (size_t i = 0; i < b->n_symbols; i++) {
        struct symbol *s = &b->symbols[i];

        if (s->hash == hash &&
            (name[0] ? strcmp(s->name, name) == 0 : s->axis == axis && s->input == value->name))
            return s;
    }
    return NULL;
}

static struct symbol *find_named(const struct binding *b, const char *name, size_t size)
{
    for (size_t i = 0; i < b->n_symbols; i++)
        if (strlen(b->symbols[i].name) == size && memcmp(b->symbols[i].name, name, size) == 0)
            return &b->symbols[i];
    return NULL;
}

static int collect_symbols(struct binding *b)
{
    for (uint32_t i = 0; i < n_inputs(b); i++)
        for (int axis = 0; axis < input_at(b, i)->type.rank; axis++)
            b->capacity += input_at(b, i)->type.dims[axis] == AS_DIM_UNKNOWN;
    if (b->capacity > MAX_SYMBOLS)
        return as_fail(b->err, ASSAY_ERR_LIMIT, "the inputs have more than %d open dimensions",
                       MAX_SYMBOLS);
    b->symbols =
        as_arena_zero(&b->model->inference, b->capacity ? b->capacity : 1, sizeof *b->symbols);
    if (!b->symbols)
        return as_fail_nomem(b->err);
    for (uint32_t i = 0; i < n_inputs(b); i++) {
        const struct as_value *value = input_at(b, i);

        for (int axis = 0; axis < value->type.rank; axis++)
            if (value->type.dims[axis] == AS_DIM_UNKNOWN && !find_symbol(b, value, axis))
                b->symbols[b->n_symbols++] = (struct symbol){
                    symbol_at(value, axis), value->name, hash_name(symbol_at(value, axis)), axis,
                    AS_DIM_UNKNOWN,         NULL};
    }
    return ASSAY_OK;
}

/* "a, b, c" of what there is, for a message. */
static void list_names(const struct binding *b, bool symbols, char *out, size_t capacity)
{
    size_t n = symbols ? b->n_symbols : n_inputs(b), size = 0;

    out[0] = 0;
    for (size_t i = 0; i < n && size < capacity; i++) {
        const char *name = symbols ? b->symbols[i].name : input_at(b, (uint32_t)i)->name;

        if (name[0])
            size +=
                (size_t)snprintf(out + size, capacity - size, "%s%.40s", size ? ", " : "", name);
    }
    if (!out[0])
        (void)snprintf(out, capacity, "none");
}

static int bind_symbol(const struct binding *b, struct symbol *s, int64_t value, const char *source)
{
    if (s->value != AS_DIM_UNKNOWN && s->value != value)
        return as_fail(b->err, ASSAY_ERR_USAGE, "dimension '%.60s' would be %lld and %lld", s->name,
                       (long long)s->value, (long long)value);
    s->value = value;
    s->source = source;
    return ASSAY_OK;
}

static int bind_dims_given(const struct binding *b)
{
    char names[140];

    for (size_t i = 0; i < b->options->n_dims; i++) {
        const struct as_infer_dim *dim = &b->options->dims[i];
        struct symbol *s = find_named(b, dim->symbol, strlen(dim->symbol));
        int rc;

        if (!s || !dim->symbol[0]) {
            list_names(b, true, names, sizeof names);
            return as_fail(b->err, ASSAY_ERR_USAGE,
                           "the model has no symbolic dimension '%.40s'; it has: %s", dim->symbol,
                           names);
        }
        rc = bind_symbol(b, s, dim->value, "--dim");
        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

static const struct as_infer_input *given_for(const struct binding *b, const char *name)
{
    for (size_t i = 0; i < b->options->n_inputs; i++)
        if (strcmp(b->options->inputs[i].name, name) == 0)
            return &b->options->inputs[i];
    return NULL;
}

static int check_given(const struct binding *b)
{
    char names[140];

    for (size_t i = 0; i < b->options->n_inputs; i++) {
        bool found = false;

        for (uint32_t k = 0; k < n_inputs(b) && !found; k++)
            found = strcmp(input_at(b, k)->name, b->options->inputs[i].name) == 0;
        if (!found) {
            list_names(b, false, names, sizeof names);
            return as_fail(b->err, ASSAY_ERR_USAGE, "the model has no input '%.40s'; it has: %s",
                           b->options->inputs[i].name, names);
        }
    }
    return ASSAY_OK;
}

/* Dimensions the user gives for one input; its symbols then hold for the others too. */
static int bind_input_dims(const struct binding *b, struct as_value *value,
                           const struct as_dims *dims, const char *source)
{
    char text[100];
    int rc = ASSAY_OK;

    as_type_text(text, sizeof text, &value->type);
    if (value->type.kind != AS_VALUE_TENSOR ||
        (value->type.rank >= 0 && value->type.rank != dims->rank))
        return as_fail(b->err, ASSAY_ERR_USAGE,
                       "input '%.60s' has %d dimensions (%s), but %d were given", value->name,
                       value->type.rank, text, dims->rank);
    for (int i = 0; i < value->type.rank && rc == ASSAY_OK; i++) {
        if (value->type.dims[i] == AS_DIM_UNKNOWN)
            rc = bind_symbol(b, find_symbol(b, value, i), dims->at[i], source);
        else if (value->type.dims[i] != dims->at[i])
            *b->overridden = true;
    }
    if (rc == ASSAY_OK &&
        !as_type_tensor(&value->type, &b->model->inference, value->type.dtype, dims))
        rc = as_fail_nomem(b->err);
    return rc;
}

static int bind_inputs_given(const struct binding *b)
{
    for (uint32_t i = 0; i < n_inputs(b); i++) {
        struct as_value *value = input_at(b, i);
        const struct as_infer_input *given = given_for(b, value->name);
        int rc = ASSAY_OK;

        if (!given)
            continue;
        if (given->dims)
            rc = bind_input_dims(b, value, given->dims, given->source ? given->source : "--shape");
        if (given->type) {
            value->type = *given->type;
            *b->overridden = true;
        }
        if (given->data)
            value->data = given->data;
        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

static int set_dim(const struct binding *b, struct as_value *value, int axis, int64_t n)
{
    struct as_dims dims;

    (void)as_type_dims(&value->type, &dims);
    dims.at[axis] = n;
    *b->overridden = true;
    if (!as_type_tensor(&value->type, &b->model->inference, value->type.dtype, &dims))
        return as_fail_nomem(b->err);
    return ASSAY_OK;
}

/* The batch of an input: what its name or its consumers say; else the first dimension, where that
 * is it in the input that decides. */
static int batch_axis(const struct binding *b, const struct as_value *value)
{
    const struct as_batch_place *place = &b->model->batch;
    int axis;

    if (value == &b->model->values[place->value])
        return place->axis;
    axis = as_batch_axis_of(b->model, value);
    return axis == AS_NO_BATCH_AXIS && place->axis == 0 ? 0 : axis;
}

/* Gives one input that batch, where its dimension is open or agrees with that which decides. */
static int bind_batch_of(const struct binding *b, struct as_value *value, int axis)
{
    const struct as_value *first = &b->model->values[b->model->batch.value];
    const int at = b->model->batch.axis;

    if (axis < 0 || axis >= value->type.rank)
        return ASSAY_OK;
    if (value->type.dims[axis] == AS_DIM_UNKNOWN) {
        struct symbol *s = find_symbol(b, value, axis);

        /* What --dim says of the batch itself must agree, and stays where it comes from. */
        if ((value == first && s->value != b->options->batch) ||
            (s->value == AS_DIM_UNKNOWN &&
             (!s->name[0] || strcmp(s->name, symbol_at(first, at)) == 0)))
            return bind_symbol(b, s, b->options->batch, "--batch");
        return ASSAY_OK;
    }
    if (value == first || (value->type.dims[axis] == b->declared_batch && value->type.rank > 1))
        return set_dim(b, value, axis, b->options->batch);
    return ASSAY_OK;
}

static int bind_batch(struct binding *b)
{
    const struct as_batch_place *place = &b->model->batch;
    const struct as_value *first;

    if (place->value == AS_NONE)
        return as_fail(b->err, ASSAY_ERR_USAGE,
                       "the batch dimension is unknown: %s; name it with --batch-axis INPUT=AXIS",
                       place->why);
    first = &b->model->values[place->value];
    if (given_for(b, first->name))
        return as_fail(b->err, ASSAY_ERR_USAGE,
                       "the shape or the file given for input '%.60s' already fixes the batch",
                       first->name);
    b->declared_batch = first->type.dims[place->axis];
    for (uint32_t i = 0; i < n_inputs(b); i++) {
        struct as_value *value = input_at(b, i);
        int rc;

        if (!value->is_input || value->type.kind != AS_VALUE_TENSOR || value->type.rank < 1 ||
            given_for(b, value->name))
            continue;
        rc = bind_batch_of(b, value, batch_axis(b, value));
        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

/* --batch-axis, or what the model shows. */
static int place_batch(const struct binding *b)
{
    const char *name = b->options->batch_input;
    const struct as_value *named = NULL;
    char names[140];

    for (uint32_t i = 0; name && i < n_inputs(b); i++)
        if (strcmp(input_at(b, i)->name, name) == 0)
            named = input_at(b, i);
    if (name && !named) {
        list_names(b, false, names, sizeof names);
        return as_fail(b->err, ASSAY_ERR_USAGE, "the model has no input '%.40s'; it has: %s", name,
                       names);
    }
    if (named && (b->options->batch_axis < 0 || b->options->batch_axis >= named->type.rank))
        return as_fail(b->err, ASSAY_ERR_USAGE, "input '%.60s' has %d dimensions, so no axis %d",
                       name, named->type.rank > 0 ? named->type.rank : 0, b->options->batch_axis);
    b->model->batch = as_batch_place_of(b->model, named, b->options->batch_axis);
    return ASSAY_OK;
}

static bool has_word(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(name, *words))
            return true;
    return false;
}

static bool is_word(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(name, *words) == 0)
            return true;
    return false;
}

/* What an open dimension most likely is. Nobody should rely on it, so it is reported. */
static int64_t guess(const struct as_value *value, int axis)
{
    static const char *const batches[] = {"batch", NULL}, *const batch_letters[] = {"n", "b", "bs",
                                                                                    NULL};
    static const char *const pasts[] = {"past", "cache", NULL};
    static const char *const states[] = {"state", "hidden", "h0", "c0", "h_0", "c_0", NULL};
    static const char *const lengths[] = {"seq", "len", "token", "time", "frame", NULL};
    static const char *const sides[] = {"height", "width", NULL}, *const side_letters[] = {"h", "w",
                                                                                           NULL};
    const char *name = symbol_at(value, axis);

    if (has_word(name, batches) || is_word(name, batch_letters))
        return 1;
    /* A cache is empty at first; its length may have the name of any other. */
    if (has_word(name, pasts) || (axis >= 2 && name[0] && has_word(value->name, pasts)))
        return 0;
    if (has_word(name, lengths))
        return 128;
    if (has_word(name, sides) || is_word(name, side_letters))
        return 224;
    if (axis == 0)
        return 1;
    /* [layers, batch, width] */
    if (value->type.rank == 3 && axis == 1 && has_word(value->name, states))
        return 1;
    /* A row of samples without a name is a signal; tokens are integers. */
    if (value->type.rank == 2 && !name[0] && as_dtype_is_float(value->type.dtype))
        return 512;
    if (value->type.rank == 4)
        return axis == 1 ? 3 : 224;
    return 128;
}

/* "past + seq" of symbols that have values, and of numbers. */
static bool sum_of_symbols(const struct binding *b, const char *name, int64_t *sum)
{
    const char *part = name, *plus;

    *sum = 0;
    if (!strchr(name, '+'))
        return false;
    do {
        size_t size;
        const struct symbol *s;
        int64_t number;

        plus = strchr(part, '+');
        size = plus ? (size_t)(plus - part) : strlen(part);
        for (; size && *part == ' '; size--)
            part++;
        while (size && part[size - 1] == ' ')
            size--;
        s = find_named(b, part, size);
        if (s && s->value != AS_DIM_UNKNOWN)
            number = s->value;
        else if (s || !as_parse_i64(part, size, &number))
            return false;
        if (__builtin_add_overflow(*sum, number, sum) || *sum < 0)
            return false;
        part = plus ? plus + 1 : part;
    } while (plus);
    return true;
}

static void give_defaults(const struct binding *b)
{
    for (uint32_t i = 0; i < n_inputs(b); i++) {
        const struct as_value *value = input_at(b, i);

        for (int axis = 0; axis < value->type.rank; axis++) {
            struct symbol *s;

            if (!value->is_input || value->type.dims[axis] != AS_DIM_UNKNOWN)
                continue;
            s = find_symbol(b, value, axis);
            if (s->value != AS_DIM_UNKNOWN || strchr(s->name, '+'))
                continue;
            s->value = guess(value, axis);
            s->source = by_default;
        }
    }
    for (size_t i = 0; i < b->n_symbols; i++) {
        struct symbol *s = &b->symbols[i];

        if (s->value != AS_DIM_UNKNOWN)
            continue;
        s->source = "sum of others";
        if (!sum_of_symbols(b, s->name, &s->value)) {
            s->value = s->axis == 0 ? 1 : 128;
            s->source = by_default;
        }
    }
}

static int apply_symbols(const struct binding *b)
{
    for (uint32_t i = 0; i < n_inputs(b); i++) {
        struct as_value *value = input_at(b, i);
        bool open = false;
        struct as_dims dims;

        if (!as_type_dims(&value->type, &dims))
            continue;
        for (int axis = 0; axis < dims.rank; axis++)
            if (dims.at[axis] == AS_DIM_UNKNOWN) {
                const struct symbol *s = find_symbol(b, value, axis);

                open = true;
                if (s)
                    dims.at[axis] = s->value;
            }
        if (open && !as_type_tensor(&value->type, &b->model->inference, value->type.dtype, &dims))
            return as_fail_nomem(b->err);
    }
    return ASSAY_OK;
}

/* Numbers given for an input must be as many as it turned out to hold. */
static int check_numbers(const struct binding *b)
{
    for (uint32_t i = 0; i < n_inputs(b); i++) {
        const struct as_value *value = input_at(b, i);
        uint64_t n;

        if (value->data && value->type.kind == AS_VALUE_TENSOR && as_type_elems(&value->type, &n) &&
            n != value->data->n)
            return as_fail(b->err, ASSAY_ERR_USAGE,
                           "input '%.60s' has %llu elements, but %llu were given", value->name,
                           (unsigned long long)n, (unsigned long long)value->data->n);
    }
    return ASSAY_OK;
}

static int tell(const struct binding *b, struct as_bound_dims *bound)
{
    bound->at =
        as_arena_zero(&b->model->inference, b->n_symbols ? b->n_symbols : 1, sizeof *bound->at);
    if (!bound->at)
        return as_fail_nomem(b->err);
    for (size_t i = 0; i < b->n_symbols; i++) {
        const struct symbol *s = &b->symbols[i];

        bound->at[bound->n++] = (struct as_bound_dim){s->name,
                                                      s->input,
                                                      s->axis,
                                                      s->value,
                                                      s->source == by_default,
                                                      s->source ? s->source : "open"};
        if (s->source != by_default)
            continue;
        if (s->name[0])
            as_model_find(b->model, AS_FINDING_DEFAULT, NULL, NULL,
                          "dimension '%.60s' was taken as %lld; give it with --dim %.60s=N",
                          s->name, (long long)s->value, s->name);
        else
            as_model_find(b->model, AS_FINDING_DEFAULT, NULL, NULL,
                          "dimension %d of input '%.60s' was taken as %lld; give it with --shape",
                          s->axis, s->input, (long long)s->value);
    }
    b->model->bound = bound->at;
    b->model->n_bound = bound->n;
    return ASSAY_OK;
}

int as_infer_bind(struct as_model *model, const struct as_infer_options *options,
                  struct as_bound_dims *bound, bool *overridden, struct assay_error *err)
{
    struct binding b = {.model = model, .options = options, .overridden = overridden, .err = err};
    int rc;

    *overridden = false;
    rc = check_given(&b);

    if (rc == ASSAY_OK)
        rc = collect_symbols(&b);
    if (rc == ASSAY_OK)
        rc = bind_dims_given(&b);
    if (rc == ASSAY_OK)
        rc = bind_inputs_given(&b);
    if (rc == ASSAY_OK)
        rc = place_batch(&b);
    if (rc == ASSAY_OK && options->batch > 0)
        rc = bind_batch(&b);
    if (rc < 0)
        return rc;
    if (!options->keep_unknown)
        give_defaults(&b);
    rc = apply_symbols(&b);
    if (rc == ASSAY_OK)
        rc = check_numbers(&b);
    return rc == ASSAY_OK ? tell(&b, bound) : rc;
}
