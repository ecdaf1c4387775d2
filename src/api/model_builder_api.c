/* api/model_builder_api.c - the public calls of assay/model.h that describe a model, layer by
 * layer. Each checks that the model can still grow and hands over to the builder. */
#include <assay/model.h>

#include <stdio.h>
#include <string.h>

#include "api/model_sizes.h"
#include "base/alloc.h"
#include "base/error.h"
#include "model/build/build_layers.h"
#include "model/build/build_ops.h"
#include "model/graph/model_handle.h"

static const uint8_t dtypes[] = {
    [ASSAY_DTYPE_F32] = AS_DTYPE_F32,
    [ASSAY_DTYPE_F64] = AS_DTYPE_F64,
    [ASSAY_DTYPE_F16] = AS_DTYPE_F16,
    [ASSAY_DTYPE_BF16] = AS_DTYPE_BF16,
    [ASSAY_DTYPE_I64] = AS_DTYPE_I64,
    [ASSAY_DTYPE_I32] = AS_DTYPE_I32,
    [ASSAY_DTYPE_I8] = AS_DTYPE_I8,
    [ASSAY_DTYPE_U8] = AS_DTYPE_U8,
    [ASSAY_DTYPE_BOOL] = AS_DTYPE_BOOL,
    [ASSAY_DTYPE_I16] = AS_DTYPE_I16,
    [ASSAY_DTYPE_U16] = AS_DTYPE_U16,
    [ASSAY_DTYPE_U32] = AS_DTYPE_U32,
    [ASSAY_DTYPE_U64] = AS_DTYPE_U64,
    [ASSAY_DTYPE_I4] = AS_DTYPE_I4,
    [ASSAY_DTYPE_U4] = AS_DTYPE_U4,
    [ASSAY_DTYPE_F8E4M3FN] = AS_DTYPE_F8E4M3FN,
    [ASSAY_DTYPE_F8E4M3FNUZ] = AS_DTYPE_F8E4M3FNUZ,
    [ASSAY_DTYPE_F8E5M2] = AS_DTYPE_F8E5M2,
    [ASSAY_DTYPE_F8E5M2FNUZ] = AS_DTYPE_F8E5M2FNUZ,
};

int as_dtype_public(unsigned dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i] == dtype)
            return (int)i;
    return -1;
}

struct as_builder *as_handle_growing(struct assay_model *model)
{
    struct as_builder *b = model ? model->builder : NULL;

    if (model && model->sealed) {
        if (model->refused.code == 0)
            (void)as_fail(&model->refused, ASSAY_ERR_STATE, "the model was %s: it cannot grow",
                          b ? "counted or written" : "opened from a file");
        return NULL;
    }
    return b && as_build_ok(b) ? b : NULL;
}

int as_handle_code(const struct assay_model *model)
{
    int rc = assay_model_error(model, NULL);

    return rc < 0 ? rc : ASSAY_ERR_STATE;
}

bool as_handle_given(struct as_builder *b, const char *name, int tensor)
{
    if (tensor >= 0 && (uint32_t)tensor < b->model->n_values)
        return true;
    as_build_fail(b, ASSAY_ERR_USAGE, "layer '%.80s' gets a tensor that is none", name ? name : "");
    return false;
}

bool as_handle_take(struct as_builder *b, void *to, size_t size, const void *from, const char *name)
{
    struct assay_error err;
    char what[96];

    (void)snprintf(what, sizeof what, "'%.80s'", name);
    if (!from)
        as_build_fail(b, ASSAY_ERR_USAGE, "%s is described by NULL", what);
    else if (as_sized_take(to, size, from, what, &err) < 0)
        as_build_fail(b, ASSAY_ERR_USAGE, "%s", err.msg);
    else
        return true;
    return false;
}

int assay_model_new(struct assay_model **out, const struct assay_model_options *options,
                    struct assay_error *err)
{
    struct assay_model_options o;
    struct assay_model *model;
    struct as_builder *b;
    const char *name = NULL;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "the pointer for the new model is NULL");
    *out = NULL;
    rc = as_sized_take(&o, sizeof o, options, "options of a model", err);
    if (rc < 0)
        return rc;
    if ((unsigned)o.dtype > ASSAY_DTYPE_BF16)
        return as_fail(err, ASSAY_ERR_USAGE, "parameters must be of a floating type");
    model = as_alloc_zero(1, sizeof *model);
    b = as_alloc_zero(1, sizeof *b);
    if (model && b && as_model_new(&model->model, 0, NULL) == ASSAY_OK)
        name =
            as_arena_text(&model->model->arena, o.name ? o.name : "", o.name ? strlen(o.name) : 0);
    if (!name) {
        if (model)
            as_model_free(model->model);
        as_free(model);
        as_free(b);
        return as_fail_nomem(err);
    }
    model->builder = b;
    as_builder_init(b, model->model, o.seed);
    b->dtype = dtypes[o.dtype];
    if (o.name)
        model->model->graph_name = name;
    *out = model;
    return ASSAY_OK;
}

void assay_model_free(struct assay_model *model)
{
    if (!model)
        return;
    if (model->forget)
        model->forget(model->counted);
    for (size_t i = 0; i < model->n_inputs; i++)
        as_free(model->inputs[i].name);
    for (size_t i = 0; i < model->n_dims; i++)
        as_free(model->dims[i].symbol);
    as_free(model->inputs);
    as_free(model->dims);
    if (model->builder)
        as_builder_fini(model->builder);
    as_free(model->builder);
    as_model_free(model->model);
    as_free(model);
}

int assay_model_error(const struct assay_model *model, struct assay_error *err)
{
    const struct assay_error *first;

    if (!model)
        return as_fail_nomem(err);
    first = model->builder && !as_build_ok(model->builder) ? &model->builder->err : &model->refused;
    if (first->code < 0 && err)
        *err = *first;
    return first->code;
}

/* What no node uses is given out when the user named no output. */
static void give_out_rest(struct as_builder *b)
{
    bool *used = as_alloc_zero(b->model->n_values + 1u, sizeof *used);

    if (!used) {
        as_build_fail(b, ASSAY_ERR_NOMEM, "out of memory");
        return;
    }
    for (size_t i = 0; i < b->n_nodes; i++)
        for (uint32_t k = 0; k < b->nodes[i].n_inputs; k++)
            if (b->nodes[i].inputs[k] < b->model->n_values)
                used[b->nodes[i].inputs[k]] = true;
    for (size_t i = 0; i < b->n_nodes; i++)
        for (uint32_t k = 0; k < b->nodes[i].n_outputs; k++)
            if (!used[b->nodes[i].outputs[k]])
                as_build_output(b, b->nodes[i].outputs[k], NULL);
    as_free(used);
}

int as_handle_seal(struct assay_model *model, struct assay_error *err)
{
    struct as_builder *b;
    int rc;

    if (!model)
        return as_fail_nomem(err);
    b = model->builder;
    if (model->sealed) {
        if (b && !as_build_ok(b) && err)
            *err = b->err;
        return b ? b->err.code : ASSAY_OK;
    }
    if (b->n_outputs == 0 && as_build_ok(b))
        give_out_rest(b);
    model->sealed = true;
    rc = as_builder_finish(b, &b->err);
    if (rc < 0 && err)
        *err = b->err;
    return rc;
}

void assay_model_scope_begin(struct assay_model *model, const char *name)
{
    struct as_builder *b = as_handle_growing(model);

    if (b)
        as_build_scope(b, "%s", name ? name : "scope");
}

void assay_model_scope_end(struct assay_model *model)
{
    struct as_builder *b = as_handle_growing(model);

    if (b)
        as_build_scope_end(b);
}

/* ---- tensors ---- */

/* Checks what comes from outside; a negative dimension is open where that may be. */
static bool read_dims(struct as_builder *b, const char *name, int rank, const int64_t *dims,
                      bool may_be_open, struct as_dims *to)
{
    to->rank = rank;
    if (rank < 0 || rank > AS_MAX_RANK || (rank > 0 && !dims)) {
        as_build_fail(b, ASSAY_ERR_USAGE, "tensor '%.80s' cannot have %d dimensions",
                      name ? name : "", rank);
        return false;
    }
    for (int i = 0; i < rank; i++) {
        to->at[i] = dims[i] < 0 ? AS_DIM_UNKNOWN : dims[i];
        if (dims[i] < 0 && !may_be_open)
            as_build_fail(b, ASSAY_ERR_USAGE, "tensor '%.80s' cannot have a dimension of %lld",
                          name ? name : "", (long long)dims[i]);
    }
    return as_build_ok(b);
}

static bool read_dtype(struct as_builder *b, enum assay_dtype dtype)
{
    if ((unsigned)dtype < sizeof dtypes)
        return true;
    as_build_fail(b, ASSAY_ERR_USAGE, "there is no dtype number %d", (int)dtype);
    return false;
}

int assay_model_input_named(struct assay_model *model, const char *name, enum assay_dtype dtype,
                            int rank, const int64_t *dims, const char *const *symbols)
{
    struct as_builder *b = as_handle_growing(model);
    struct as_dims d;

    if (!b || !read_dtype(b, dtype) || !read_dims(b, name, rank, dims, true, &d))
        return as_handle_code(model);
    return as_handle_out(model,
                         as_build_input(b, name ? name : "input", dtypes[dtype], &d, symbols));
}

int assay_model_input(struct assay_model *model, const char *name, enum assay_dtype dtype, int rank,
                      const int64_t *dims)
{
    return assay_model_input_named(model, name, dtype, rank, dims, NULL);
}

int assay_model_constant(struct assay_model *model, const char *name, enum assay_dtype dtype,
                         int rank, const int64_t *dims, const void *data)
{
    struct as_builder *b = as_handle_growing(model);
    struct as_dims d;

    if (!b || !read_dtype(b, dtype) || !read_dims(b, name, rank, dims, false, &d))
        return as_handle_code(model);
    if (!data)
        return as_handle_out(
            model,
            as_build_fail(b, ASSAY_ERR_USAGE, "constant '%.80s' has no data", name ? name : ""));
    return as_handle_out(model,
                         as_build_const(b, name ? name : "constant", dtypes[dtype], &d, data));
}

int assay_model_parameter(struct assay_model *model, const char *name, int rank,
                          const int64_t *dims, double spread)
{
    struct as_builder *b = as_handle_growing(model);
    struct as_seeded how = {AS_SEEDED_NORMAL, 0, (float)spread};
    struct as_dims d;

    if (!b || !read_dims(b, name, rank, dims, false, &d))
        return as_handle_code(model);
    return as_handle_out(model, as_build_param(b, name ? name : "parameter", &d, &how));
}

static bool is_trained_dtype(enum assay_dtype dtype)
{
    return (unsigned)dtype <= ASSAY_DTYPE_BF16 || dtype == ASSAY_DTYPE_I8 ||
           dtype == ASSAY_DTYPE_U8 || dtype == ASSAY_DTYPE_I4 || dtype == ASSAY_DTYPE_U4;
}

int assay_model_parameter_typed(struct assay_model *model, const char *name, enum assay_dtype dtype,
                                int rank, const int64_t *dims, double spread)
{
    struct as_builder *b = as_handle_growing(model);
    struct as_seeded how = {AS_SEEDED_NORMAL, 0, (float)spread};
    struct as_dims d;

    if (!b || !read_dtype(b, dtype) || !read_dims(b, name, rank, dims, false, &d))
        return as_handle_code(model);
    name = name ? name : "parameter";
    if (!is_trained_dtype(dtype))
        return as_handle_out(model,
                             as_build_fail(b, ASSAY_ERR_USAGE, "parameter '%.80s' cannot be of %s",
                                           name, as_dtype_name(dtypes[dtype])));
    return as_handle_out(model, as_build_param_of(b, name, dtypes[dtype], &d, &how));
}

void assay_model_output(struct assay_model *model, int tensor, const char *name)
{
    struct as_builder *b = as_handle_growing(model);

    if (b)
        as_build_output(b, as_handle_in(tensor), name);
}

int assay_model_dims(const struct assay_model *model, int tensor, int64_t *dims, int capacity)
{
    struct as_dims d;

    if (!model || (capacity > 0 && !dims))
        return ASSAY_ERR_USAGE;
    if (!model->builder || model->sealed ||
        !as_build_dims(model->builder, as_handle_in(tensor), &d))
        return ASSAY_ERR_NOTFOUND;
    for (int i = 0; i < d.rank && i < capacity; i++)
        dims[i] = d.at[i] < 0 ? -1 : d.at[i];
    return d.rank;
}

/* ---- layers ---- */

int assay_model_linear(struct assay_model *model, const char *name, int x, int64_t width, bool bias)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    return as_handle_out(model, as_build_linear(b, name, as_handle_in(x), width, bias));
}

int assay_model_linear_quantized(struct assay_model *model, const char *name, int x, int64_t width,
                                 int bits, bool bias)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    return as_handle_out(model,
                         as_build_linear_quantized(b, name, as_handle_in(x), width, bits, bias));
}

typedef uint32_t (*build_scaled)(struct as_builder *b, const char *name, uint32_t x,
                                 const struct as_build_scale *by);

/* A negative zero point is none; any other must be one. */
static int scaled(struct assay_model *model, const char *name, int x,
                  const struct as_build_scale *by, build_scaled build)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x) || !as_handle_given(b, name, (int)by->scale) ||
        (by->zero_point != AS_NONE && !as_handle_given(b, name, (int)by->zero_point)))
        return as_handle_code(model);
    return as_handle_out(model, build(b, name, as_handle_in(x), by));
}

int assay_model_quantize(struct assay_model *model, const char *name, int x, int scale,
                         int zero_point, int axis)
{
    const struct as_build_scale by = {as_handle_in(scale), as_handle_in(zero_point), axis};

    return scaled(model, name, x, &by, as_build_quantize);
}

int assay_model_dequantize(struct assay_model *model, const char *name, int x, int scale,
                           int zero_point, int axis)
{
    const struct as_build_scale by = {as_handle_in(scale), as_handle_in(zero_point), axis};

    return scaled(model, name, x, &by, as_build_dequantize);
}

int assay_model_linear_tied(struct assay_model *model, const char *name, int x, int table)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x) || !as_handle_given(b, name, table))
        return as_handle_code(model);
    return as_handle_out(model,
                         as_build_linear_tied(b, name, as_handle_in(x), as_handle_in(table)));
}

static bool read_conv(struct as_builder *b, const char *name, const struct assay_conv2d *conv,
                      struct as_build_conv *to)
{
    struct assay_conv2d c;

    if (!as_handle_take(b, &c, sizeof c, conv, name ? name : "conv"))
        return false;
    *to = (struct as_build_conv){.channels = c.channels,
                                 .kernel = {c.kernel_h, c.kernel_w},
                                 .stride = {c.stride_h, c.stride_w},
                                 .pad = {c.pad_h, c.pad_w},
                                 .dilation = {c.dilation_h, c.dilation_w},
                                 .groups = c.groups,
                                 .output_pad = {c.output_pad_h, c.output_pad_w},
                                 .bias = !c.no_bias};
    return true;
}

int assay_model_conv2d(struct assay_model *model, const char *name, int x,
                       const struct assay_conv2d *conv)
{
    struct as_builder *b = as_handle_growing(model);
    struct as_build_conv c;

    if (!b || !as_handle_given(b, name, x) || !read_conv(b, name, conv, &c))
        return as_handle_code(model);
    return as_handle_out(model, as_build_conv(b, name, as_handle_in(x), &c));
}

int assay_model_conv_transpose2d(struct assay_model *model, const char *name, int x,
                                 const struct assay_conv2d *conv)
{
    struct as_builder *b = as_handle_growing(model);
    struct as_build_conv c;

    if (!b || !as_handle_given(b, name, x) || !read_conv(b, name, conv, &c))
        return as_handle_code(model);
    return as_handle_out(model, as_build_conv_transpose(b, name, as_handle_in(x), &c));
}

static bool read_pool(struct as_builder *b, const char *name, const struct assay_pool2d *pool,
                      struct as_build_pool *to)
{
    struct assay_pool2d p;

    if (!as_handle_take(b, &p, sizeof p, pool, name ? name : "pool"))
        return false;
    *to = (struct as_build_pool){.kernel = {p.kernel_h, p.kernel_w},
                                 .stride = {p.stride_h, p.stride_w},
                                 .pad = {p.pad_h, p.pad_w},
                                 .ceil = p.ceil,
                                 .count_pad = p.count_pad};
    return true;
}

int assay_model_max_pool2d(struct assay_model *model, const char *name, int x,
                           const struct assay_pool2d *pool)
{
    struct as_builder *b = as_handle_growing(model);
    struct as_build_pool p;

    if (!b || !as_handle_given(b, name, x) || !read_pool(b, name, pool, &p))
        return as_handle_code(model);
    return as_handle_out(model, as_build_max_pool(b, name, as_handle_in(x), &p));
}

int assay_model_avg_pool2d(struct assay_model *model, const char *name, int x,
                           const struct assay_pool2d *pool)
{
    struct as_builder *b = as_handle_growing(model);
    struct as_build_pool p;

    if (!b || !as_handle_given(b, name, x) || !read_pool(b, name, pool, &p))
        return as_handle_code(model);
    return as_handle_out(model, as_build_avg_pool(b, name, as_handle_in(x), &p));
}

int assay_model_global_avg_pool(struct assay_model *model, const char *name, int x)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    return as_handle_out(model, as_build_global_avg_pool(b, name, as_handle_in(x)));
}

int assay_model_adaptive_avg_pool2d(struct assay_model *model, const char *name, int x,
                                    int64_t height, int64_t width)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    return as_handle_out(model,
                         as_build_adaptive_avg_pool(b, name, as_handle_in(x), height, width));
}

/* 0 is the default of the norms. */
static double eps_or(double eps)
{
    return eps > 0 ? eps : 1e-5;
}

typedef uint32_t (*build_norm)(struct as_builder *b, const char *name, uint32_t x, double eps);

static int norm(struct assay_model *model, const char *name, int x, double eps, build_norm build)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    return as_handle_out(model, build(b, name, as_handle_in(x), eps_or(eps)));
}

int assay_model_batch_norm(struct assay_model *model, const char *name, int x, double eps)
{
    return norm(model, name, x, eps, as_build_batch_norm);
}

int assay_model_layer_norm(struct assay_model *model, const char *name, int x, double eps)
{
    return norm(model, name, x, eps, as_build_layer_norm);
}

int assay_model_rms_norm(struct assay_model *model, const char *name, int x, double eps)
{
    return norm(model, name, x, eps, as_build_rms_norm);
}

int assay_model_group_norm(struct assay_model *model, const char *name, int x, int64_t groups,
                           double eps)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    return as_handle_out(model, as_build_group_norm(b, name, as_handle_in(x), groups, eps_or(eps)));
}

_Static_assert((int)ASSAY_ACTIVATION_GELU_TANH == (int)AS_ACT_GELU_TANH && (int)AS_ACT_COUNT == 10,
               "activations have the same numbers outside and inside");

int assay_model_activation(struct assay_model *model, enum assay_activation activation,
                           const char *name, int x)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    return as_handle_out(
        model, as_build_activation(b, (enum as_activation)activation, name, as_handle_in(x)));
}

int assay_model_softmax(struct assay_model *model, const char *name, int x, int axis)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    return as_handle_out(model,
                         as_build_softmax(b, name ? name : "softmax", as_handle_in(x), axis));
}

int assay_model_dropout(struct assay_model *model, const char *name, int x, double ratio)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    return as_handle_out(model,
                         as_build_dropout(b, name ? name : "dropout", as_handle_in(x), ratio));
}
