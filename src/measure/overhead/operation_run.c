/* measure/overhead/operation_run.c - single operations of networks, each timed through the engine.
 * Each is a network of one operation, as a file would have it. */
#include "measure/overhead/operation_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "measure/overhead/built_network.h"
#include "model/build/build_attention.h"
#include "model/cost/cost.h"

/* What does not follow the size: as many rows as the batch of a small study, a picture of the
 * middle of an image network, tokens of a short text, words of a small vocabulary. */
enum { ROWS = 32, PICTURE = 28, TOKENS = 128, HEAD = 32, WORDS = 4096 };

/* The operations, and the call alone. */
enum { ALL = AS_OPERATION_COUNT + 1 };

#define ROUND_S 0.05

/* ---- the networks ---- */

static uint32_t input(struct as_builder *b, const char *name, int64_t rows, int64_t columns)
{
    const struct as_dims dims = {2, {rows, columns}};

    return as_build_input(b, name, AS_DTYPE_F32, &dims, NULL);
}

static int64_t channels(int64_t size)
{
    return size / 4 ? size / 4 : 1;
}

static int64_t heads(int64_t size)
{
    return size / HEAD && size % HEAD == 0 ? size / HEAD : 1;
}

static void build_elementwise(struct as_builder *b, int64_t size)
{
    uint32_t x = input(b, "x", ROWS, size), y = input(b, "y", ROWS, size);

    as_build_output(b, as_build_binary(b, "Add", "add", x, y), NULL);
}

static void build_matmul(struct as_builder *b, int64_t size)
{
    const struct as_dims square = {2, {size, size}};
    const struct as_seeded how = {AS_SEEDED_UNIFORM, 0, 0.1F};
    uint32_t x = input(b, "x", ROWS, size), w = as_build_param(b, "weight", &square, &how);

    as_build_output(b, as_build_matmul(b, "matmul", x, w), NULL);
}

static void build_reduction(struct as_builder *b, int64_t size)
{
    uint32_t x = input(b, "x", ROWS, size);
    const struct as_dims dims = {2, {ROWS, 1}};
    struct as_build_node node = {
        .op = "ReduceSum", .name = "sum", AS_BUILD_IN(x, as_build_ints(b, (int64_t[]){1}, 1))};

    as_build_output(b, as_build_one(b, &node, &dims), NULL);
}

static void build_picture(struct as_builder *b, int64_t size, bool depthwise)
{
    int64_t n = channels(size);
    const struct as_dims dims = {4, {1, n, PICTURE, PICTURE}};
    struct as_build_conv conv = {
        .channels = n, .kernel = {3, 3}, .pad = {1, 1}, .groups = depthwise ? n : 1};
    uint32_t x = as_build_input(b, "x", AS_DTYPE_F32, &dims, NULL);

    as_build_output(b, as_build_conv(b, "conv", x, &conv), NULL);
}

static void build_conv(struct as_builder *b, int64_t size)
{
    build_picture(b, size, false);
}

static void build_depthwise(struct as_builder *b, int64_t size)
{
    build_picture(b, size, true);
}

static void build_attention(struct as_builder *b, int64_t size)
{
    const struct as_dims dims = {3, {1, TOKENS, size}};
    const struct as_build_attention how = {.heads = heads(size), .mask = AS_NONE};
    uint32_t q = as_build_input(b, "q", AS_DTYPE_F32, &dims, NULL);
    uint32_t k = as_build_input(b, "k", AS_DTYPE_F32, &dims, NULL);
    uint32_t v = as_build_input(b, "v", AS_DTYPE_F32, &dims, NULL);

    as_build_output(b, as_build_attend(b, q, k, v, &how), NULL);
}

static void build_layer_norm(struct as_builder *b, int64_t size)
{
    as_build_output(b, as_build_layer_norm(b, "norm", input(b, "x", ROWS, size), 1e-5), NULL);
}

static void build_softmax(struct as_builder *b, int64_t size)
{
    as_build_output(b, as_build_softmax(b, "softmax", input(b, "x", ROWS, size), -1), NULL);
}

static void build_embedding(struct as_builder *b, int64_t size)
{
    const struct as_dims dims = {1, {ROWS}};
    uint32_t words = as_build_input(b, "words", AS_DTYPE_I64, &dims, NULL);

    as_build_output(b, as_build_embedding(b, "embedding", words, WORDS, size, NULL), NULL);
}

static void build_transpose(struct as_builder *b, int64_t size)
{
    uint32_t x = input(b, "x", ROWS, size);

    as_build_output(b, as_build_transpose(b, "transpose", x, (int64_t[]){1, 0}, 2), NULL);
}

static void build_activation(struct as_builder *b, int64_t size)
{
    uint32_t x = input(b, "x", ROWS, size);

    as_build_output(b, as_build_activation(b, AS_ACT_GELU, "gelu", x), NULL);
}

static void build_call(struct as_builder *b, int64_t size)
{
    (void)size;
    as_build_output(b, as_build_unary(b, "Neg", "call", input(b, "x", 1, 1)), NULL);
}

static const as_network_build build_of[] = {
    [AS_OPERATION_ELEMENTWISE] = build_elementwise, [AS_OPERATION_MATMUL] = build_matmul,
    [AS_OPERATION_REDUCTION] = build_reduction,     [AS_OPERATION_CONV] = build_conv,
    [AS_OPERATION_DEPTHWISE] = build_depthwise,     [AS_OPERATION_ATTENTION] = build_attention,
    [AS_OPERATION_LAYER_NORM] = build_layer_norm,   [AS_OPERATION_SOFTMAX] = build_softmax,
    [AS_OPERATION_EMBEDDING] = build_embedding,     [AS_OPERATION_TRANSPOSE] = build_transpose,
    [AS_OPERATION_ACTIVATION] = build_activation,   [AS_OPERATION_COUNT] = build_call,
};
_Static_assert(AS_COUNT_OF(build_of) == ALL, "build every operation");

/* ---- what they are ---- */

static const struct {
    const char *key, *text;
} names[] = {
#define X(name, key, text) {key, text},
    AS_OPERATIONS(X)
#undef X
};

const char *as_operation_key(enum as_operation operation)
{
    return (unsigned)operation < AS_OPERATION_COUNT ? names[operation].key : "unknown";
}

const char *as_operation_text(enum as_operation operation)
{
    return (unsigned)operation < AS_OPERATION_COUNT ? names[operation].text : "unknown";
}

static void append(char *out, size_t capacity, const char *between, const char *text)
{
    size_t size = strlen(out);

    (void)snprintf(out + size, capacity - size, "%s%s", size ? between : "", text);
}

/* "2 of 32x256": the inputs of an operation are all alike. */
static void tell_shape(struct as_operation_point *point, const struct as_engine *engine)
{
    const struct as_value *first = as_engine_input_value(engine, 0);
    size_t n = 0;
    char text[48];

    if (!first)
        return;
    while (as_engine_input_value(engine, n))
        n++;
    as_type_text(text, sizeof text, &first->type);
    if (n > 1)
        (void)snprintf(point->shape, sizeof point->shape, "%zu of %s", n, text);
    else
        (void)snprintf(point->shape, sizeof point->shape, "%s", text);
}

/* A tensor between fused nodes is never stored, so that bytes of several nodes are those of the
 * steps they became; those of a single node are its own: of a lookup the rows taken alone. */
static int count(struct as_operation_point *point, struct as_built_network *network,
                 struct assay_error *err)
{
    struct as_costs *costs = NULL;
    uint64_t step_bytes = 0;
    bool reorders = false;
    int rc = as_costs_new(&costs, network->model, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < as_engine_n_steps(network->engine); i++) {
        struct as_step_info step;

        as_engine_step(network->engine, i, &step);
        if (step.is_view)
            continue;
        point->n_steps++;
        step_bytes += step.bytes_in + step.bytes_out;
        reorders = reorders || step.is_reorder;
        if (!step.is_reorder && !strstr(point->kernel, step.kernel))
            append(point->kernel, sizeof point->kernel, ", ", step.kernel);
    }
    if (reorders)
        append(point->kernel, sizeof point->kernel, ", ", "reorder");
    point->macs = costs->forward.macs;
    point->flops = as_cost_flops(&costs->forward);
    point->executed_flops = as_cost_executed_flops(&costs->forward);
    point->bytes =
        costs->n_rows == 1 ? costs->forward.bytes_read + costs->forward.bytes_written : step_bytes;
    point->held_bytes = as_engine_memory(network->engine)->all.peak_bytes;
    if (point->held_bytes > point->bytes)
        point->held_bytes = point->bytes;
    if (costs->n_unknown_ops || costs->n_unknown_shapes || costs->overflow)
        rc = as_fail(err, ASSAY_ERR_UNSUPPORTED, "the work of %s cannot be counted",
                     point->operation < AS_OPERATION_COUNT ? as_operation_key(point->operation)
                                                           : "a call");
    as_costs_free(costs);
    return rc;
}

/* ---- the rounds ---- */

struct study {
    struct as_operation_options options;
    struct as_operation_run *run;
    struct as_built_network networks[ALL];
};

static struct as_operation_point *point_at(struct as_operation_run *run, int i)
{
    return i < AS_OPERATION_COUNT ? &run->points[i] : &run->call;
}

static int open_all(struct study *s, struct assay_error *err)
{
    const struct as_engine_options engine = {.threads = s->options.threads,
                                             .limit_bytes = s->options.limit_bytes};
    int rc = ASSAY_OK;

    for (int i = 0; rc == ASSAY_OK && i < ALL; i++) {
        struct as_operation_point *point = point_at(s->run, i);

        point->operation = (enum as_operation)i;
        rc = as_built_network_open(&s->networks[i], build_of[i], s->options.size, &engine, err);
        if (rc == ASSAY_OK) /* counts memory exactly */
            rc = as_engine_run(s->networks[i].engine, AS_RUN_MEMORY, NULL, err);
        if (rc == ASSAY_OK)
            rc = count(point, &s->networks[i], err);
        if (rc == ASSAY_OK)
            tell_shape(point, s->networks[i].engine);
    }
    return rc;
}

static int keep(struct as_operation_point *point, const struct as_latency_run *run,
                struct assay_error *err)
{
    double median = run->figures.summary.median;
    double *grown = as_realloc(point->samples_ns, point->n_samples + run->n, sizeof *grown);

    if (!grown)
        return as_fail_nomem(err);
    memcpy(grown + point->n_samples, run->samples_ns, run->n * sizeof *grown);
    point->least_round_ns = point->n_samples ? fmin(point->least_round_ns, median) : median;
    point->most_round_ns = point->n_samples ? fmax(point->most_round_ns, median) : median;
    point->samples_ns = grown;
    point->n_samples += run->n;
    return ASSAY_OK;
}

/* Each visit warms up anew: the others have used the caches meanwhile. */
static int visit(struct study *s, int i, struct assay_error *err)
{
    const struct as_latency_options options = {.time_s = s->options.round_s,
                                               .warmup_s = s->options.round_s / 2,
                                               .target = 1e-6, /* takes the whole time */
                                               .min_runs = 10,
                                               .whole_process = s->options.threads > 1};
    struct as_latency_run run = {0};
    int rc = as_latency_run(&run, as_built_network_run, &s->networks[i], &options, err);

    if (rc == ASSAY_OK)
        rc = keep(point_at(s->run, i), &run, err);
    as_latency_run_fini(&run);
    return rc;
}

/* Every other round goes backwards, so that none is always the first. */
static int measure(struct study *s, struct assay_error *err)
{
    unsigned all = s->options.rounds * ALL;
    int rc = ASSAY_OK;

    for (unsigned k = 0; rc == ASSAY_OK && k < all; k++) {
        int i = (int)(k % ALL);

        if (s->options.progress)
            s->options.progress(s->options.user, (double)k / all);
        rc = visit(s, k / ALL % 2 ? ALL - 1 - i : i, err);
    }
    for (int i = 0; rc == ASSAY_OK && i < ALL; i++) {
        struct as_operation_point *point = point_at(s->run, i);

        rc = as_latency_metrics(&point->figures, point->samples_ns, point->n_samples,
                                AS_LATENCY_LEVEL, err);
    }
    return rc;
}

static struct as_operation_options with_defaults(const struct as_operation_options *given)
{
    struct as_operation_options o = *given;

    o.size = o.size ? o.size : AS_OPERATION_SIZE;
    o.threads = o.threads ? o.threads : 1;
    o.rounds = o.rounds ? o.rounds : AS_OPERATION_ROUNDS;
    o.round_s = o.round_s > 0 ? o.round_s : ROUND_S;
    return o;
}

int as_operation_run_new(struct as_operation_run **out, const struct as_operation_options *options,
                         struct assay_error *err)
{
    struct study *s;
    int rc;

    *out = NULL;
    if (options->size < 0 || options->size > AS_OPERATION_MAX_SIZE)
        return as_fail(err, ASSAY_ERR_USAGE, "a size is from 1 to %d, not %lld",
                       AS_OPERATION_MAX_SIZE, (long long)options->size);
    s = as_alloc_zero(1, sizeof *s);
    if (!s)
        return as_fail_nomem(err);
    s->options = with_defaults(options);
    s->run = as_alloc_zero(1, sizeof *s->run);
    rc = s->run ? ASSAY_OK : as_fail_nomem(err);
    if (rc == ASSAY_OK) {
        s->run->size = s->options.size;
        s->run->threads = s->options.threads;
        s->run->rounds = s->options.rounds;
        rc = open_all(s, err);
    }
    if (rc == ASSAY_OK)
        rc = measure(s, err);
    for (int i = 0; i < ALL; i++)
        as_built_network_close(&s->networks[i]);
    if (rc == ASSAY_OK)
        *out = s->run;
    else
        as_operation_run_free(s->run);
    as_free(s);
    return rc;
}

void as_operation_run_free(struct as_operation_run *run)
{
    if (!run)
        return;
    for (int i = 0; i < ALL; i++)
        as_free(point_at(run, i)->samples_ns);
    as_free(run);
}
