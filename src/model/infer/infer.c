/* model/infer/infer.c - works out the type of every value from those of the inputs.
 * Walks the graphs in order; the rules are in rules_*.c, the inputs' values in infer_bind.c. */
#include "model/infer/infer.h"

#include <stdio.h>
#include <string.h>

#include "model/infer/infer_rules.h"

enum { MAX_CONFLICTS = 32 };

struct inferring {
    struct as_infer ctx; /* first, so that a body finds the rest */
    struct as_op_rule rules[AS_OP_COUNT];
    uint64_t folded; /* elements of constants made so far */
    bool exact;      /* the sizes of the inputs are those the file's declarations are for */
    unsigned n_conflicts;
    bool proven_only;
    bool overridden; /* inputs differ from what the file declares: its other shapes may be stale */
};

static bool contradicts(const struct as_type *a, const struct as_type *b)
{
    if (a->dtype != b->dtype && a->dtype != AS_DTYPE_UNKNOWN && b->dtype != AS_DTYPE_UNKNOWN)
        return true;
    if (a->rank < 0 || b->rank < 0)
        return false;
    if (a->rank != b->rank)
        return true;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i] && a->dims[i] != AS_DIM_UNKNOWN &&
            b->dims[i] != AS_DIM_UNKNOWN)
            return true;
    return false;
}

/* The file is wrong about a tensor: of ONNX, whose declarations nobody needs, that is a finding. A
 * TensorFlow Lite file declares every tensor and other runtimes trust it, so there it is an error.
 * Shapes can be compared when every input is as the file says. */
static int compare_declared(struct inferring *in, const struct as_value *value)
{
    struct as_infer *ctx = &in->ctx;
    bool strict = ctx->model->format == AS_FORMAT_TFLITE, same_shape = in->exact && ctx->again == 0;
    struct as_type made = value->type;
    char said[80], found[80];

    if (!same_shape)
        made.rank = -1;
    if ((!strict && (!same_shape || in->proven_only)) || !contradicts(&made, &value->declared))
        return ASSAY_OK;
    as_type_text(said, sizeof said, &value->declared);
    as_type_text(found, sizeof found, &value->type);
    if (strict)
        return as_conflict(ctx, "the file declares output '%.40s' as %s %s, but it is %s %s",
                           value->name, as_dtype_name(value->declared.dtype), said,
                           as_dtype_name(value->type.dtype), found);
    if (in->n_conflicts == MAX_CONFLICTS)
        return ASSAY_OK;
    in->n_conflicts++;
    as_model_find(
        ctx->model, AS_FINDING_CONFLICT, as_node_label(ctx->graph, ctx->node), ctx->node->op_name,
        "the file declares '%.60s' as %s %s, but the node produces %s %s", value->name,
        as_dtype_name(value->declared.dtype), said, as_dtype_name(value->type.dtype), found);
    return ASSAY_OK;
}

/* Takes from what the file declares whatever the rule left open. */
static void merge_declared(struct inferring *in, struct as_value *value)
{
    const struct as_type *said = &value->declared;
    struct as_type *type = &value->type;
    struct as_dims dims;

    if (type->kind == AS_VALUE_TENSOR && type->dtype == AS_DTYPE_UNKNOWN && type->rank < 0 &&
        said->kind != AS_VALUE_TENSOR) {
        *type = *said;
        return;
    }
    if (type->kind != AS_VALUE_TENSOR || said->kind != AS_VALUE_TENSOR || in->proven_only)
        return;
    if (type->dtype == AS_DTYPE_UNKNOWN)
        type->dtype = said->dtype;
    if (in->overridden || !as_type_dims(said, &dims))
        return;
    if (type->rank < 0) {
        type->rank = said->rank;
        type->dims = said->dims;
        return;
    }
    if (type->rank != said->rank)
        return;
    for (int i = 0; i < type->rank; i++)
        if (type->dims[i] != AS_DIM_UNKNOWN)
            dims.at[i] = type->dims[i];
    (void)as_type_tensor(type, in->ctx.arena, type->dtype, &dims);
}

/* Large constants may be made while there are few of them, so that neither time nor memory grows
 * with what a file repeats. */
static uint64_t fold_max(uint64_t folded)
{
    return folded < 1u << 20 ? AS_FOLD_MAX : folded < 1u << 21 ? 1024 : 64;
}

static bool is_small(const struct as_infer *ctx, const struct as_value *value)
{
    uint64_t n;

    if (!value || value->data || value->type.kind != AS_VALUE_TENSOR)
        return false;
    /* A fold may find the length itself, so an unknown one is tried. */
    return !as_type_elems(&value->type, &n) || n <= ctx->fold_max;
}

/* Folds compute with the integers of a tensor, not with what they stand for, and know the
 * attributes and inputs of ONNX only. */
static bool may_fold(const struct as_infer *ctx)
{
    static const char *const unknown[] = {"fused_activation_function", "output_dtype",
                                          "batch_dims"};

    if (ctx->node->op == AS_OP_TFL_RANK) /* looks at no numbers */
        return true;
    if (ctx->node->op == AS_OP_Clip || ctx->node->op == AS_OP_Pad || ctx->node->op == AS_OP_Split)
        return false;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (as_node_attr(ctx->node, unknown[i]))
            return false;
    for (size_t i = 0; i < ctx->node->n_inputs; i++)
        if (as_value_is_quantized(as_node_input(ctx->graph, ctx->node, i)))
            return false;
    for (size_t i = 0; i < ctx->node->n_outputs; i++)
        if (as_value_is_quantized(as_node_output(ctx->graph, ctx->node, i)))
            return false;
    return true;
}

static int run_rule(struct inferring *in, const struct as_op_rule *rule)
{
    struct as_infer *ctx = &in->ctx;
    int rc = rule->infer(ctx);

    if (rc == ASSAY_OK)
        as_out_quantized(ctx);
    if (rc < 0 || !rule->fold || (as_node_is_lowered(ctx->node) && !may_fold(ctx)))
        return rc;
    ctx->fold_max = fold_max(in->folded);
    for (uint32_t i = 0; i < ctx->node->n_outputs; i++)
        if (is_small(ctx, as_node_output(ctx->graph, ctx->node, i))) {
            rc = rule->fold(ctx);
            break;
        }
    for (uint32_t i = 0; i < ctx->node->n_outputs; i++) {
        const struct as_value *value = as_node_output(ctx->graph, ctx->node, i);

        in->folded += value && value->data && value->data->bytes ? value->data->n : 0;
    }
    return rc;
}

static void forget_outputs(const struct as_infer *ctx)
{
    for (uint32_t i = 0; i < ctx->node->n_outputs; i++) {
        struct as_value *value = as_node_output(ctx->graph, ctx->node, i);

        if (value) {
            value->type = AS_TYPE_UNKNOWN;
            value->data = NULL;
        }
    }
}

/* Whoever reads a constant may count on as many numbers as its type says. */
static bool fits(const struct as_value *value)
{
    uint64_t n;

    return value->type.kind == AS_VALUE_TENSOR && value->type.dtype == value->data->dtype &&
           as_type_elems(&value->type, &n) && n == value->data->n;
}

/* A file that does not say which it is of is old; what is built in memory is new. */
static int64_t opset_of(const struct as_infer *ctx)
{
    int64_t opset = as_model_opset_of(ctx->model, ctx->node);

    if (opset > 0 || (as_domain_find(ctx->node->domain_name) != AS_DOMAIN_ONNX &&
                      as_op_domain(ctx->node->op) != AS_DOMAIN_ONNX))
        return opset;
    return ctx->model->format == AS_FORMAT_ONNX ? 7 : 21;
}

static int infer_node(struct inferring *in)
{
    struct as_infer *ctx = &in->ctx;
    const struct as_op_rule *rule = &in->rules[ctx->node->op];
    int rc = ASSAY_OK;

    forget_outputs(ctx);
    ctx->opset = opset_of(ctx);
    if (rule->infer)
        rc = run_rule(in, rule);
    else if (ctx->again == 0)
        as_model_find(ctx->model, AS_FINDING_UNKNOWN_OP, NULL, ctx->node->op_name,
                      "operator %s%s%.80s is not known; what it makes and costs is not counted",
                      ctx->node->domain_name, ctx->node->domain_name[0] ? "." : "",
                      ctx->node->op_name);
    /* Where a branch may never run, a node that cannot work is no error of the whole. */
    if (rc == ASSAY_ERR_FORMAT && ctx->unsure > 0) {
        as_model_find(ctx->model, AS_FINDING_CONFLICT, as_node_label(ctx->graph, ctx->node),
                      ctx->node->op_name, "%s", ctx->err->msg);
        forget_outputs(ctx);
        rc = ASSAY_OK;
    }
    /* A declaration that contradicts inference is refused wherever it stands. */
    for (uint32_t i = 0; i < ctx->node->n_outputs && rc == ASSAY_OK; i++) {
        const struct as_value *value = as_node_output(ctx->graph, ctx->node, i);

        if (value && value->type.kind == AS_VALUE_TENSOR && value->declared.kind == AS_VALUE_TENSOR)
            rc = compare_declared(in, value);
    }
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < ctx->node->n_outputs; i++) {
        struct as_value *value = as_node_output(ctx->graph, ctx->node, i);

        if (!value)
            continue;
        merge_declared(in, value);
        if (value->data && !fits(value))
            value->data = NULL;
    }
    return ASSAY_OK;
}

static int infer_graph(struct inferring *in, struct as_graph *graph)
{
    struct as_infer outer = in->ctx;
    int rc = ASSAY_OK;

    for (uint32_t i = 0; i < graph->n_nodes && rc == ASSAY_OK; i++) {
        in->ctx.graph = graph;
        in->ctx.node = &graph->nodes[i];
        rc = infer_node(in);
    }
    in->ctx.graph = outer.graph;
    in->ctx.node = outer.node;
    in->ctx.opset = outer.opset;
    return rc;
}

/* The context a rule has is the first member of ours. */
static int infer_body(struct as_infer *ctx, struct as_graph *body)
{
    struct inferring *in = (struct inferring *)(void *)ctx;

    return infer_graph(in, body);
}

/* Back to what the file said; the first time, keeps what it said. */
static void start_types(struct as_model *model)
{
    for (uint32_t i = 0; i < model->n_values; i++) {
        struct as_value *value = &model->values[i];

        if (!model->inferred)
            value->declared = value->type;
        value->type = value->declared;
        value->varies = false;
        if (value->graph)
            value->graph->ran = AS_DIM_UNKNOWN;
        if (!value->is_initializer)
            value->data = NULL;
    }
    as_model_drop_inference(model);
}

/* TensorFlow Lite writes 1 for an open dimension wherever it declares a tensor; what does not
 * depend on one that stays unknown can be compared too. */
static bool is_as_declared(const struct as_model *model, const struct as_bound_dims *bound)
{
    for (size_t i = 0; i < bound->n; i++)
        if (model->format != AS_FORMAT_TFLITE ||
            (bound->at[i].value != 1 && bound->at[i].value != AS_DIM_UNKNOWN))
            return false;
    return true;
}

static int infer_once(struct as_model *model, const struct as_infer_options *options,
                      struct as_bound_dims *bound, struct assay_error *err)
{
    struct inferring in = {0};
    int rc;

    *bound = (struct as_bound_dims){NULL, 0};
    start_types(model);
    as_rules_collect(in.rules);
    in.proven_only = options->proven_only;
    in.ctx = (struct as_infer){.model = model,
                               .arena = &model->inference,
                               .err = err,
                               .body = infer_body,
                               .fold_max = AS_FOLD_MAX};
    model->main->times = 1;
    rc = as_infer_bind(model, options, bound, &in.overridden, err);
    in.exact = !in.overridden && is_as_declared(model, bound);
    if (rc == ASSAY_OK) {
        rc = infer_graph(&in, model->main);
        if (rc == ASSAY_ERR_FORMAT && options->batch > 0 && in.overridden)
            as_error_add(err, "; the file fixes the batch inside: export it with dynamic axes");
    }
    return rc == ASSAY_ERR_NOMEM ? as_model_no_memory(model, err) : rc;
}

/* "a=1, b=128" of what was taken by default; false: nothing was. */
static bool list_defaults(const struct as_bound_dims *bound, char *out, size_t capacity)
{
    size_t size = 0;

    out[0] = 0;
    for (size_t i = 0; i < bound->n && size < capacity; i++) {
        const struct as_bound_dim *dim = &bound->at[i];

        if (dim->by_default && dim->symbol[0])
            size += (size_t)snprintf(out + size, capacity - size, "%s%.30s=%lld", size ? ", " : "",
                                     dim->symbol, (long long)dim->value);
        else if (dim->by_default)
            size +=
                (size_t)snprintf(out + size, capacity - size, "%s%.30s[%d]=%lld", size ? ", " : "",
                                 dim->input, dim->axis, (long long)dim->value);
    }
    return size > 0;
}

int as_infer_shapes(struct as_model *model, const struct as_infer_options *options,
                    struct as_bound_dims *bound, struct assay_error *err)
{
    static const struct as_infer_options none;
    struct as_bound_dims unused = {NULL, 0};
    struct assay_error local = {0}, first;
    struct as_infer_options open;
    char defaults[120];
    int rc;

    options = options ? options : &none;
    bound = bound ? bound : &unused;
    err = err ? err : &local;
    rc = infer_once(model, options, bound, err);
    if (rc != ASSAY_ERR_FORMAT || !list_defaults(bound, defaults, sizeof defaults))
        return rc;
    /* Our own guess may be what cannot work: what does not depend on it is still known. */
    first = *err;
    open = *options;
    open.keep_unknown = true;
    rc = infer_once(model, &open, bound, err);
    if (rc == ASSAY_OK) {
        *err = (struct assay_error){0};
        as_model_find(model, AS_FINDING_DEFAULT, NULL, NULL,
                      "with the defaults %s %s; give --dim or --shape", defaults, first.msg);
    }
    return rc;
}

static const struct as_op_rule *const families[] = {
#define X(name) as_rules_##name,
    AS_RULE_FAMILIES(X)
#undef X
        NULL,
};

void as_rules_collect(struct as_op_rule rules[AS_OP_COUNT])
{
    memset(rules, 0, AS_OP_COUNT * sizeof *rules);
    for (size_t i = 0; families[i]; i++)
        for (const struct as_op_rule *rule = families[i]; rule->op != AS_OP_UNKNOWN; rule++)
            rules[rule->op] = *rule;
}
