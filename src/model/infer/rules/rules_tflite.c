/* model/infer/rules/rules_tflite.c - shape rules of TensorFlow Lite's layers: channels come last.
 * An operator whose rule sets nothing keeps the type and the shape that the file declares, so none
 * of those may have a kernel. */
#include "model/infer/rules/rules_tflite.h"

#include "model/infer/infer_context.h"
#include "model/infer/infer_rules.h"
#include "model/infer/infer_subgraph.h"

/* Where the type of an output comes from when it is not that of input 0. */
enum typed { OF_INPUT, FIXED, INDEX, OPEN };

static const struct {
    enum as_op op;
    enum typed typed;
    uint8_t arg; /* of OF_INPUT the input, of FIXED the type */
} typed[] = {
    {AS_OP_TFL_TRANSPOSE_CONV, OF_INPUT, 2},
    {AS_OP_TFL_CONV_3D_TRANSPOSE, OF_INPUT, 2},
    {AS_OP_TFL_FILL, OF_INPUT, 1},
    {AS_OP_TFL_SCATTER_ND, OF_INPUT, 1},
    {AS_OP_TFL_ONE_HOT, OF_INPUT, 2},
    {AS_OP_TFL_NOT_EQUAL, FIXED, AS_DTYPE_BOOL},
    {AS_OP_TFL_RANK, FIXED, AS_DTYPE_I32},
    {AS_OP_TFL_BUCKETIZE, FIXED, AS_DTYPE_I32},
    {AS_OP_TFL_WHERE, FIXED, AS_DTYPE_I64},
    {AS_OP_TFL_RFFT2D, FIXED, AS_DTYPE_C64},
    {AS_OP_TFL_RANDOM_STANDARD_NORMAL, FIXED, AS_DTYPE_F32},
    {AS_OP_TFL_RANDOM_UNIFORM, FIXED, AS_DTYPE_F32},
    {AS_OP_TFL_MULTINOMIAL, INDEX, 0},
    {AS_OP_TFL_EMBEDDING_LOOKUP, OPEN, 0},
    {AS_OP_TFL_REAL, OPEN, 0},
    {AS_OP_TFL_IMAG, OPEN, 0},
    {AS_OP_TFL_COMPLEX_ABS, OPEN, 0},
};

/* The declared type of the output is a parameter of a few operators; all others decide it. */
static unsigned param_dtype(const struct as_value *out, enum typed how, unsigned in)
{
    unsigned said = out->declared.dtype;

    if (how == INDEX)
        return said == AS_DTYPE_I64 ? AS_DTYPE_I64 : AS_DTYPE_I32;
    return said != AS_DTYPE_UNKNOWN ? said : in;
}

unsigned as_tfl_dtype(const struct as_infer *ctx, size_t i)
{
    const struct as_value *out = as_node_output(ctx->graph, ctx->node, i);

    if (ctx->node->op == AS_OP_TFL_TOPK_V2 && i == 1)
        return AS_DTYPE_I32;
    for (size_t k = 0; out && k < sizeof typed / sizeof *typed; k++) {
        if (typed[k].op != ctx->node->op)
            continue;
        if (typed[k].typed == FIXED)
            return typed[k].arg;
        if (typed[k].typed == OF_INPUT)
            return as_in_dtype(ctx, typed[k].arg);
        return param_dtype(out, typed[k].typed, as_in_dtype(ctx, 0));
    }
    return as_in_dtype(ctx, 0);
}

int as_tfl_out(struct as_infer *ctx, size_t i, const struct as_dims *dims)
{
    return as_out_tensor(ctx, i, as_tfl_dtype(ctx, i), dims);
}

int as_tfl_list(const struct as_infer *ctx, size_t in, int64_t out[AS_MAX_RANK])
{
    const struct as_data *data = as_in_data(ctx, in);

    if (!data || data->n > AS_MAX_RANK || !as_dtype_is_integer(data->dtype))
        return -1;
    for (uint64_t i = 0; i < data->n; i++)
        out[i] = as_data_i64(data, i);
    return (int)data->n;
}

int as_tfl_declared(struct as_infer *ctx)
{
    (void)ctx;
    return ASSAY_OK;
}

int as_tfl_like(struct as_infer *ctx)
{
    struct as_dims dims;

    return as_tfl_out(ctx, 0, as_in_dims(ctx, 0, &dims) ? &dims : NULL);
}

static int broadcast(struct as_infer *ctx)
{
    struct as_dims out, one;

    if (!as_in_dims(ctx, 0, &out))
        return as_tfl_out(ctx, 0, NULL);
    for (size_t i = 1; i < ctx->node->n_inputs; i++) {
        if (!as_in_dims(ctx, i, &one))
            return as_tfl_out(ctx, 0, NULL);
        if (!as_dims_broadcast(&out, &one, &out))
            return as_conflict(ctx, "input %zu does not fit those before it", i);
    }
    return as_tfl_out(ctx, 0, &out);
}

static int64_t attr(const struct as_infer *ctx, const char *name, int64_t fallback)
{
    return as_node_int(ctx->node, name, fallback);
}

/* Input 0 says the output's shape for the batch of the file; input 2 has the batch there is. */
static int transpose_conv(struct as_infer *ctx)
{
    struct as_dims x, out;
    int n = as_tfl_list(ctx, 0, out.at);

    if (n < 1)
        return as_tfl_out(ctx, 0, NULL);
    out.rank = n;
    if (as_in_dims(ctx, 2, &x) && x.rank > 0)
        out.at[0] = x.at[0];
    return as_tfl_out(ctx, 0, &out);
}

static int64_t dim_of(const struct as_infer *ctx, size_t in, int axis)
{
    struct as_dims dims;

    return as_in_dims(ctx, in, &dims) && axis < dims.rank ? dims.at[axis] : AS_DIM_UNKNOWN;
}

static int embedding_lookup(struct as_infer *ctx)
{
    struct as_dims table;

    if (!as_in_dims(ctx, 1, &table) || table.rank < 1)
        return as_tfl_out(ctx, 0, NULL);
    table.at[0] = dim_of(ctx, 0, 0);
    return as_tfl_out(ctx, 0, &table);
}

/* ---- recurrent layers ---- */

/* Batch and, of a sequence, time as they come; `units` last. */
static int out_units(struct as_infer *ctx, size_t i, int64_t units)
{
    struct as_dims x;

    if (!as_in_dims(ctx, 0, &x) || x.rank < 1)
        return as_tfl_out(ctx, i, NULL);
    x.at[x.rank - 1] = units;
    return as_tfl_out(ctx, i, &x);
}

/* Rows of the projection, else columns of the recurrence of the output gate. */
static int64_t lstm_units(const struct as_infer *ctx, size_t projection, size_t recurrence)
{
    return as_in_type(ctx, projection) ? dim_of(ctx, projection, 0) : dim_of(ctx, recurrence, 1);
}

static int lstm(struct as_infer *ctx)
{
    if (attr(ctx, "kernel_type", 0) == 1) /* the basic one has five inputs in another order */
        return as_tfl_declared(ctx);
    return out_units(ctx, 0, lstm_units(ctx, 16, 8));
}

static int rnn(struct as_infer *ctx)
{
    return out_units(ctx, 0, dim_of(ctx, 1, 0));
}

static int out_both_ways(struct as_infer *ctx, int64_t forward, int64_t backward)
{
    int rc;

    if (attr(ctx, "merge_outputs", 0) != 0)
        return out_units(ctx, 0, as_dim_add(forward, backward));
    rc = out_units(ctx, 0, forward);
    return rc == ASSAY_OK ? out_units(ctx, 1, backward) : rc;
}

static int both_ways_lstm(struct as_infer *ctx)
{
    return out_both_ways(ctx, lstm_units(ctx, 16, 8), lstm_units(ctx, 33, 25));
}

static int both_ways_rnn(struct as_infer *ctx)
{
    return out_both_ways(ctx, dim_of(ctx, 1, 0), dim_of(ctx, 5, 0));
}

static int svdf(struct as_infer *ctx)
{
    int64_t rank = attr(ctx, "rank", 1), filters = dim_of(ctx, 1, 0);

    if (rank < 1 || (filters != AS_DIM_UNKNOWN && filters % rank != 0))
        return as_conflict(ctx, "%lld filters of rank %lld", (long long)filters, (long long)rank);
    return out_units(ctx, 0, filters == AS_DIM_UNKNOWN ? filters : filters / rank);
}

/* ---- control ---- */

static int copy_outputs(struct as_infer *ctx, const struct as_graph *body)
{
    int rc = ASSAY_OK;

    for (size_t i = 0; i < ctx->node->n_outputs && rc == ASSAY_OK; i++)
        rc = as_out_type(ctx, i, &as_body_output(body, i)->type);
    return rc;
}

/* The inputs from `first` on go into the body. */
static void set_inputs(struct as_infer *ctx, struct as_graph *body, size_t first)
{
    for (size_t i = first; i < ctx->node->n_inputs; i++) {
        const struct as_value *value = as_node_input(ctx->graph, ctx->node, i);

        if (value)
            as_body_set(body, i - first, &value->type, value->data);
    }
}

static int call(struct as_infer *ctx)
{
    bool once = ctx->node->op == AS_OP_TFL_CALL_ONCE, ran;
    struct as_graph *body = as_node_graph(ctx->node, once ? "init" : "subgraph");
    int rc;

    if (!body)
        return as_tfl_declared(ctx);
    /* What runs once prepares the model and is no part of a run. */
    body->times = once ? 0 : 1;
    set_inputs(ctx, body, 0);
    rc = as_body_run(ctx, body, false, &ran);
    return rc == ASSAY_OK && !once && ran ? copy_outputs(ctx, body) : rc;
}

static void find_branch(const struct as_infer *ctx, const char *text)
{
    if (ctx->again == 0)
        as_model_find(ctx->model, AS_FINDING_BRANCH, as_node_label(ctx->graph, ctx->node),
                      ctx->node->op_name, "%s", text);
}

static int infer_if(struct as_infer *ctx)
{
    struct as_graph *bodies[] = {as_node_graph(ctx->node, "else"),
                                 as_node_graph(ctx->node, "then")};
    int64_t condition = 0;
    bool known = as_in_int(ctx, 0, &condition), ran = true;
    int rc = ASSAY_OK;

    if (!bodies[0] || !bodies[1])
        return as_tfl_declared(ctx);
    for (int i = 0; i < 2; i++) {
        set_inputs(ctx, bodies[i], 1);
        bodies[i]->times = known ? (condition != 0) == i : AS_DIM_UNKNOWN;
    }
    if (known) {
        rc = as_body_run(ctx, bodies[condition != 0], false, &ran);
        return rc == ASSAY_OK && ran ? copy_outputs(ctx, bodies[condition != 0]) : rc;
    }
    find_branch(ctx, "which branch runs depends on data; the one with more known FLOPs is counted");
    ctx->unsure++;
    for (int i = 0; i < 2 && rc == ASSAY_OK && ran; i++)
        rc = as_body_run(ctx, bodies[i], false, &ran);
    ctx->unsure--;
    for (size_t i = 0; i < ctx->node->n_outputs && rc == ASSAY_OK && ran; i++) {
        struct as_type merged;

        if (!as_type_merge(ctx->arena, &as_body_output(bodies[0], i)->type,
                           &as_body_output(bodies[1], i)->type, &merged))
            return as_fail_nomem(ctx->err);
        rc = as_out_type(ctx, i, &merged);
    }
    return rc;
}

/* How often it runs is decided by a graph that works on data. */
static int infer_while(struct as_infer *ctx)
{
    struct as_graph *condition = as_node_graph(ctx->node, "cond");
    struct as_graph *body = as_node_graph(ctx->node, "body");
    size_t n = ctx->node->n_inputs;
    struct as_type *types = as_arena_zero(ctx->arena, n + 1, sizeof *types);
    bool settled = false, ran;
    int rc;

    if (!types)
        return as_fail_nomem(ctx->err);
    if (!condition || !body || body->n_inputs != n || body->n_outputs != n)
        return as_tfl_declared(ctx);
    for (size_t i = 0; i < n; i++)
        types[i] = as_in_type(ctx, i) ? *as_in_type(ctx, i) : AS_TYPE_UNKNOWN;
    condition->times = body->times = AS_DIM_UNKNOWN;
    find_branch(ctx, "how often the body runs depends on data");
    ctx->unsure++;
    rc = as_body_settle(ctx, &(struct as_carry){body, 0, 0, n, types, false}, &settled);
    for (size_t i = 0; i < n && rc == ASSAY_OK; i++)
        as_body_set(condition, i, &types[i], NULL);
    if (rc == ASSAY_OK)
        rc = as_body_run(ctx, condition, false, &ran);
    ctx->unsure--;
    for (size_t i = 0; i < n && rc == ASSAY_OK && settled; i++)
        rc = as_out_type(ctx, i, &types[i]);
    return rc;
}

#define LIKE(name)                                                                                 \
    {                                                                                              \
        AS_OP_TFL_##name, as_tfl_like, NULL                                                        \
    }
#define FITS(name)                                                                                 \
    {                                                                                              \
        AS_OP_TFL_##name, broadcast, NULL                                                          \
    }
#define DECLARED(name)                                                                             \
    {                                                                                              \
        AS_OP_TFL_##name, as_tfl_declared, NULL                                                    \
    }

const struct as_op_rule as_rules_tflite[] = {
    {AS_OP_TFL_TRANSPOSE_CONV, transpose_conv, NULL},
    {AS_OP_TFL_CONV_3D_TRANSPOSE, transpose_conv, NULL},
    {AS_OP_TFL_EMBEDDING_LOOKUP, embedding_lookup, NULL},
    {AS_OP_TFL_LSTM, lstm, NULL},
    {AS_OP_TFL_UNIDIRECTIONAL_SEQUENCE_LSTM, lstm, NULL},
    {AS_OP_TFL_BIDIRECTIONAL_SEQUENCE_LSTM, both_ways_lstm, NULL},
    {AS_OP_TFL_RNN, rnn, NULL},
    {AS_OP_TFL_UNIDIRECTIONAL_SEQUENCE_RNN, rnn, NULL},
    {AS_OP_TFL_BIDIRECTIONAL_SEQUENCE_RNN, both_ways_rnn, NULL},
    {AS_OP_TFL_SVDF, svdf, NULL},
    {AS_OP_TFL_CALL, call, NULL},
    {AS_OP_TFL_CALL_ONCE, call, NULL},
    {AS_OP_TFL_IF, infer_if, NULL},
    {AS_OP_TFL_WHILE, infer_while, NULL},
    FITS(NOT_EQUAL),
    FITS(FLOOR_DIV),
    FITS(FLOOR_MOD),
    FITS(SQUARED_DIFFERENCE),
    FITS(ATAN2),
    LIKE(LOCAL_RESPONSE_NORMALIZATION),
    LIKE(RSQRT),
    LIKE(FAKE_QUANT),
    LIKE(ZEROS_LIKE),
    LIKE(REVERSE_V2),
    LIKE(MATRIX_SET_DIAG),
    LIKE(DENSIFY),
    LIKE(IMAG),
    LIKE(REAL),
    LIKE(COMPLEX_ABS),
    LIKE(BUCKETIZE),
    LIKE(DYNAMIC_UPDATE_SLICE),
    DECLARED(HASHTABLE_LOOKUP),
    DECLARED(LSH_PROJECTION),
    DECLARED(CONCAT_EMBEDDINGS),
    DECLARED(SKIP_GRAM),
    DECLARED(EMBEDDING_LOOKUP_SPARSE),
    DECLARED(SPARSE_TO_DENSE),
    DECLARED(UNIQUE),
    DECLARED(NON_MAX_SUPPRESSION_V4),
    DECLARED(NON_MAX_SUPPRESSION_V5),
    DECLARED(SEGMENT_SUM),
    DECLARED(HASHTABLE),
    DECLARED(HASHTABLE_FIND),
    DECLARED(HASHTABLE_IMPORT),
    DECLARED(HASHTABLE_SIZE),
    DECLARED(VAR_HANDLE),
    DECLARED(READ_VARIABLE),
    DECLARED(ASSIGN_VARIABLE),
    DECLARED(UNSORTED_SEGMENT_PROD),
    DECLARED(UNSORTED_SEGMENT_MAX),
    DECLARED(UNSORTED_SEGMENT_SUM),
    DECLARED(UNSORTED_SEGMENT_MIN),
    DECLARED(BITCAST),
    {AS_OP_UNKNOWN, NULL, NULL},
};
