/* format/gguf/gguf_graph.c - the decoder that a GGUF file means: nodes over its tensors.
 * What differs between architectures is mostly which tensors a block has; the rest is a table. */
#include "format/gguf/gguf_meta.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum {
    MAX_LAYERS = 1024,
    NODES_PER_LAYER = 48,
    MAX_INPUTS = 8,
    MAX_OUTPUTS = 3,
    MAX_ATTRS = 6,
};

/* The architectures of which we know the graph. */
static const struct architecture {
    const char *name;
    bool gelu;     /* in the feed-forward part; else SiLU */
    bool pairs;    /* rotary positions turn neighbors; else numbers half a head apart */
    bool scaled;   /* the embedding is multiplied by the root of the width */
    uint8_t whole; /* every so many blocks one looks past the window; 0: none does */
} architectures[] = {
    {"llama", false, true, false, 0},     {"mistral3", false, true, false, 0},
    {"qwen2", false, false, false, 0},    {"qwen3", false, false, false, 0},
    {"qwen2moe", false, false, false, 0}, {"qwen3moe", false, false, false, 0},
    {"phi3", false, false, false, 0},     {"smollm3", false, true, false, 0},
    {"internlm2", false, true, false, 0}, {"gemma", true, false, true, 0},
    {"gemma2", true, false, true, 2},     {"gemma3", true, false, true, 6},
};

/* While it is built. The first trouble stops it: either an error, or a reason why the file has no
 * graph we know. */
struct building {
    struct as_gguf *g;
    struct as_model *model;
    struct as_graph *graph;
    const struct architecture *arch;
    uint32_t n_nodes, capacity, layer;
    int rc;
    char why[200]; /* not empty: there will be no graph */
    char prefix[24];
};

static bool stopped(const struct building *b)
{
    return b->rc < 0 || b->why[0];
}

AS_PRINTF(2, 3) static void give_up(struct building *b, const char *fmt, ...)
{
    va_list args;

    if (stopped(b))
        return;
    va_start(args, fmt);
    (void)vsnprintf(b->why, sizeof b->why, fmt, args);
    va_end(args);
}

static void *need(struct building *b, size_t count, size_t size)
{
    void *block = as_arena_zero(&b->model->arena, count ? count : 1, size);

    if (!block)
        b->rc = as_fail_nomem(b->g->err);
    return block;
}

/* The tensor of a block (or, with an empty prefix, of the model), or AS_NONE. */
static uint32_t tensor(const struct building *b, const char *name)
{
    const uint64_t *id;
    char full[96];
    int size = snprintf(full, sizeof full, "%s%s", b->prefix, name);

    id = as_hash_map_find(&b->g->tensors, full, (size_t)size);
    return id ? (uint32_t)*id : AS_NONE;
}

/* The same for one that must be there and have `rank` dimensions. */
static uint32_t required(struct building *b, const char *name, int rank)
{
    uint32_t id = tensor(b, name);

    if (id == AS_NONE)
        give_up(b, "tensor '%s%s' is missing", b->prefix, name);
    else if (b->model->values[id].type.rank != rank)
        give_up(b, "tensor '%s%s' has %d dimensions instead of %d", b->prefix, name,
                b->model->values[id].type.rank, rank);
    else
        return id;
    return AS_NONE;
}

static int64_t dim_of(const struct building *b, uint32_t id, int axis)
{
    return id == AS_NONE ? 0 : b->model->values[id].type.dims[axis];
}

static uint32_t add_value(struct building *b, const char *name)
{
    uint32_t id = as_model_add_value(b->model, b->graph, name, strlen(name), b->g->err);

    if (id == AS_NONE && b->rc == ASSAY_OK)
        b->rc = ASSAY_ERR_NOMEM;
    return id;
}

/* A node as it is written down below. */
struct plan {
    const char *domain, *op, *name; /* the name without the block */
    uint32_t in[MAX_INPUTS];
    uint32_t n_in, n_out;
    struct as_attr attrs[MAX_ATTRS];
    uint32_t n_attrs;
};

static struct as_attr int_attr(const char *name, int64_t value)
{
    return (struct as_attr){.name = name, .kind = AS_ATTR_INT, .i = value};
}

static struct as_attr float_attr(const char *name, double value)
{
    return (struct as_attr){.name = name, .kind = AS_ATTR_FLOAT, .f = value};
}

/* Adds the node; its outputs go to `out` and are named after it. */
static void add_node_n(struct building *b, const struct plan *plan, uint32_t *out)
{
    struct as_node *node;
    struct as_attr *attrs;
    uint32_t *in, *outputs;
    char name[96];

    for (uint32_t i = 0; i < plan->n_out; i++)
        out[i] = AS_NONE;
    if (stopped(b))
        return;
    if (!plan->name) {
        b->rc = as_fail_nomem(b->g->err);
        return;
    }
    if (b->n_nodes == b->capacity) {
        give_up(b, "a block has more parts than expected");
        return;
    }
    (void)snprintf(name, sizeof name, "%s%s", b->prefix, plan->name);
    node = &b->graph->nodes[b->n_nodes];
    in = need(b, plan->n_in, sizeof *in);
    outputs = need(b, plan->n_out, sizeof *outputs);
    attrs = need(b, plan->n_attrs, sizeof *attrs);
    node->name = as_arena_text(&b->model->arena, name, strlen(name));
    if (!in || !outputs || !attrs || !node->name) {
        b->rc = as_fail_nomem(b->g->err);
        return;
    }
    for (uint32_t i = 0; i < plan->n_out; i++) {
        (void)snprintf(name, sizeof name, i ? "%s%s.out%u" : "%s%s.out", b->prefix, plan->name, i);
        out[i] = outputs[i] = add_value(b, name);
    }
    memcpy(in, plan->in, plan->n_in * sizeof *in);
    memcpy(attrs, plan->attrs, plan->n_attrs * sizeof *attrs);
    node->op_name = plan->op;
    node->domain_name = plan->domain;
    node->op = as_op_find(as_domain_find(plan->domain), plan->op);
    node->inputs = in;
    node->outputs = outputs;
    node->attrs = attrs;
    node->n_inputs = plan->n_in;
    node->n_outputs = plan->n_out;
    node->n_attrs = plan->n_attrs;
    b->n_nodes++;
}

static uint32_t add_node(struct building *b, struct plan plan)
{
    uint32_t out[1];

    plan.n_out = 1;
    add_node_n(b, &plan, out);
    return out[0];
}

/* A small constant of ours, not of the file. */
static uint32_t constant(struct building *b, const char *name, unsigned dtype, const double *at,
                         uint32_t n, int rank)
{
    struct as_dims dims = {.rank = rank, .at = {(int64_t)n}};
    char full[96];
    uint32_t id;
    struct as_data *data;

    if (stopped(b))
        return AS_NONE;
    (void)snprintf(full, sizeof full, "%s%s", b->prefix, name);
    id = add_value(b, full);
    data = as_data_new(&b->model->arena, dtype, n);
    if (id == AS_NONE || !data ||
        !as_type_tensor(&b->model->values[id].type, &b->model->arena, dtype, &dims)) {
        b->rc = as_fail_nomem(b->g->err);
        return AS_NONE;
    }
    for (uint32_t i = 0; i < n; i++)
        as_data_put_f64(data, i, at[i]);
    b->model->values[id].data = data;
    b->model->values[id].is_initializer = true; /* stays when shapes are worked out again */
    return id;
}

static uint32_t binary(struct building *b, const char *op, const char *name, uint32_t x, uint32_t y)
{
    return add_node(b,
                    (struct plan){.domain = "", .op = op, .name = name, .in = {x, y}, .n_in = 2});
}

/* Weights are kept as out x in, so they are used transposed, without a node that would do it. */
static uint32_t linear(struct building *b, const char *name, uint32_t x, uint32_t weight)
{
    char bias_name[64];
    uint32_t bias, y = add_node(b, (struct plan){.domain = "com.microsoft",
                                                 .op = "FusedMatMul",
                                                 .name = name,
                                                 .in = {x, weight},
                                                 .n_in = 2,
                                                 .attrs = {int_attr("transB", 1)},
                                                 .n_attrs = 1});

    (void)snprintf(bias_name, sizeof bias_name, "%s.bias", name);
    bias = tensor(b, bias_name);
    if (bias == AS_NONE)
        return y;
    (void)snprintf(bias_name, sizeof bias_name, "%s_bias", name);
    return binary(b, "Add", as_arena_text(&b->model->arena, bias_name, strlen(bias_name)), y, bias);
}

static uint32_t norm(struct building *b, const char *name, uint32_t x, uint32_t scale)
{
    return add_node(b, (struct plan){.domain = "",
                                     .op = "SimplifiedLayerNormalization",
                                     .name = name,
                                     .in = {x, scale},
                                     .n_in = 2,
                                     .attrs = {int_attr("axis", -1),
                                               float_attr("epsilon", b->model->decoder.norm_eps)},
                                     .n_attrs = 2});
}

/* The norm of a block when the file has it, else nothing is done. */
static uint32_t optional_norm(struct building *b, const char *name, uint32_t x)
{
    char weight[64];
    uint32_t scale;

    (void)snprintf(weight, sizeof weight, "%s.weight", name);
    scale = tensor(b, weight);
    return scale == AS_NONE ? x : norm(b, name, x, scale);
}

static uint32_t reshape(struct building *b, const char *name, uint32_t x, const double *shape,
                        uint32_t rank)
{
    char shape_name[64];
    uint32_t id;

    (void)snprintf(shape_name, sizeof shape_name, "%s.shape", name);
    id = constant(b, shape_name, AS_DTYPE_I64, shape, rank, 1);
    return binary(b, "Reshape", name, x, id);
}

/* q or k of `heads` heads: normalized per head where the file has such a norm, then turned. */
static uint32_t turn(struct building *b, bool query, uint32_t x, int64_t heads)
{
    const struct as_decoder *d = &b->model->decoder;
    uint32_t scale = tensor(b, query ? "attn_q_norm.weight" : "attn_k_norm.weight");
    double split[] = {0, 0, (double)heads, (double)d->head_dim};
    double joined[] = {0, 0, (double)heads * (double)d->head_dim};
    int64_t rope = d->rope_dim && d->rope_dim < d->head_dim ? (int64_t)d->rope_dim : 0;
    double base = d->rope_base > 0 ? d->rope_base : 10000;

    if (scale != AS_NONE && dim_of(b, scale, 0) == (int64_t)d->head_dim) {
        x = reshape(b, query ? "attn_q_split" : "attn_k_split", x, split, 4);
        x = norm(b, query ? "attn_q_norm" : "attn_k_norm", x, scale);
        x = reshape(b, query ? "attn_q_join" : "attn_k_join", x, joined, 3);
    } else if (scale != AS_NONE) {
        x = norm(b, query ? "attn_q_norm" : "attn_k_norm", x, scale);
    }
    return add_node(b, (struct plan){.domain = "com.microsoft",
                                     .op = "RotaryEmbedding",
                                     .name = query ? "attn_q_rope" : "attn_k_rope",
                                     .in = {x},
                                     .n_in = 1,
                                     .attrs = {int_attr("num_heads", heads),
                                               int_attr("rotary_embedding_dim", rope),
                                               int_attr("interleaved", b->arch->pairs),
                                               float_attr("rope_base", base)},
                                     .n_attrs = 4});
}

/* q, k and v of a block, and how many heads they have. */
struct heads {
    uint32_t q, k, v;
    int64_t n, n_kv;
};

static void split3(struct building *b, uint32_t x, const double *sizes, uint32_t *out)
{
    struct plan plan = {.domain = "",
                        .op = "Split",
                        .name = "attn_qkv_split",
                        .n_in = 2,
                        .n_out = 3,
                        .attrs = {int_attr("axis", -1)},
                        .n_attrs = 1};

    plan.in[0] = x;
    plan.in[1] = constant(b, "attn_qkv_split.sizes", AS_DTYPE_I64, sizes, 3, 1);
    add_node_n(b, &plan, out);
}

/* One product for all three, as in Phi-3. */
static void fused_heads(struct building *b, struct heads *h, uint32_t x, uint32_t weight)
{
    const struct as_decoder *d = &b->model->decoder;
    uint64_t q = d->heads * d->head_dim, k = d->kv_heads * d->head_dim,
             v = d->kv_heads * d->value_dim;
    double sizes[] = {(double)q, (double)k, (double)v};
    uint32_t out[3];

    if (b->model->values[weight].type.rank != 2 || dim_of(b, weight, 0) != (int64_t)(q + k + v) ||
        dim_of(b, weight, 1) != (int64_t)d->width) {
        give_up(b, "tensor '%sattn_qkv.weight' does not fit the heads", b->prefix);
        return;
    }
    split3(b, linear(b, "attn_qkv", x, weight), sizes, out);
    *h = (struct heads){out[0], out[1], out[2], (int64_t)d->heads, (int64_t)d->kv_heads};
}

static void check_heads(struct building *b, const char *name, uint32_t id, uint64_t head_dim,
                        int64_t *n)
{
    int64_t rows = dim_of(b, id, 0);

    if (stopped(b))
        return;
    if (rows <= 0 || rows % (int64_t)head_dim != 0 ||
        dim_of(b, id, 1) != (int64_t)b->model->decoder.width)
        give_up(b, "tensor '%s%s' does not fit heads of %llu", b->prefix, name,
                (unsigned long long)head_dim);
    *n = rows / (int64_t)head_dim;
}

static void make_heads(struct building *b, struct heads *h, uint32_t x)
{
    const struct as_decoder *d = &b->model->decoder;
    uint32_t fused = tensor(b, "attn_qkv.weight"), q, k, v;
    int64_t n_values = 0;

    if (fused != AS_NONE) {
        fused_heads(b, h, x, fused);
        return;
    }
    q = required(b, "attn_q.weight", 2);
    k = required(b, "attn_k.weight", 2);
    v = required(b, "attn_v.weight", 2);
    check_heads(b, "attn_q.weight", q, d->head_dim, &h->n);
    check_heads(b, "attn_k.weight", k, d->head_dim, &h->n_kv);
    check_heads(b, "attn_v.weight", v, d->value_dim, &n_values);
    if (!stopped(b) && (n_values != h->n_kv || h->n % h->n_kv != 0))
        give_up(b, "block '%s' has %lld heads, %lld of keys and %lld of values", b->prefix,
                (long long)h->n, (long long)h->n_kv, (long long)n_values);
    h->q = linear(b, "attn_q", x, q);
    h->k = linear(b, "attn_k", x, k);
    h->v = linear(b, "attn_v", x, v);
}

static bool looks_past_window(const struct building *b)
{
    return b->arch->whole && b->layer % b->arch->whole == b->arch->whole - 1u;
}

static uint32_t attention(struct building *b, uint32_t x)
{
    const struct as_decoder *d = &b->model->decoder;
    const struct as_gguf_pair *cap = as_gguf_find_arch(b->g, "attn_logit_softcapping");
    struct plan plan = {
        .domain = "com.microsoft", .op = "GroupQueryAttention", .name = "attn", .n_in = 3};
    struct heads h = {AS_NONE, AS_NONE, AS_NONE, 0, 0};
    uint32_t out;
    double softcap;

    make_heads(b, &h, x);
    plan.in[0] = turn(b, true, h.q, h.n);
    plan.in[1] = turn(b, false, h.k, h.n_kv);
    plan.in[2] = h.v;
    plan.attrs[plan.n_attrs++] = int_attr("num_heads", h.n);
    plan.attrs[plan.n_attrs++] = int_attr("kv_num_heads", h.n_kv);
    if (d->window > 0 && d->window <= INT32_MAX && !looks_past_window(b))
        plan.attrs[plan.n_attrs++] = int_attr("local_window_size", (int64_t)d->window);
    if (cap && as_gguf_float(cap, &softcap) && isfinite(softcap))
        plan.attrs[plan.n_attrs++] = float_attr("softcap", softcap);
    x = add_node(b, plan);
    out = required(b, "attn_output.weight", 2);
    if (!stopped(b) && (dim_of(b, out, 0) != (int64_t)d->width ||
                        dim_of(b, out, 1) != h.n * (int64_t)d->value_dim))
        give_up(b, "tensor '%sattn_output.weight' does not fit the heads", b->prefix);
    return linear(b, "attn_output", x, out);
}

static uint32_t activation(struct building *b, uint32_t x)
{
    uint32_t y;

    if (b->arch->gelu)
        return add_node(b, (struct plan){.domain = "com.microsoft",
                                         .op = "FastGelu",
                                         .name = "ffn_gelu",
                                         .in = {x},
                                         .n_in = 1});
    y = add_node(
        b,
        (struct plan){.domain = "", .op = "Sigmoid", .name = "ffn_sigmoid", .in = {x}, .n_in = 1});
    return binary(b, "Mul", "ffn_silu", x, y);
}

/* ffn_up holds both halves, as in Phi-3. */
static void split_gate(struct building *b, uint32_t x, int64_t width, uint32_t *gate, uint32_t *up)
{
    struct plan plan = {.domain = "",
                        .op = "Split",
                        .name = "ffn_up_split",
                        .n_in = 2,
                        .n_out = 2,
                        .attrs = {int_attr("axis", -1)},
                        .n_attrs = 1};
    double sizes[] = {(double)width, (double)width};
    uint32_t out[2];

    plan.in[0] = x;
    plan.in[1] = constant(b, "ffn_up_split.sizes", AS_DTYPE_I64, sizes, 2, 1);
    add_node_n(b, &plan, out);
    *gate = out[0];
    *up = out[1];
}

static uint32_t feed_forward(struct building *b, uint32_t x)
{
    uint32_t gate_weight = tensor(b, "ffn_gate.weight"),
             up_weight = required(b, "ffn_up.weight", 2);
    uint32_t down_weight = required(b, "ffn_down.weight", 2), gate, up;
    int64_t inner = dim_of(b, down_weight, 1), rows = dim_of(b, up_weight, 0);
    int64_t width = (int64_t)b->model->decoder.width;

    if (gate_weight != AS_NONE)
        gate_weight = required(b, "ffn_gate.weight", 2);
    if (stopped(b))
        return AS_NONE;
    if (dim_of(b, up_weight, 1) != width || dim_of(b, down_weight, 0) != width ||
        (gate_weight != AS_NONE &&
         (dim_of(b, gate_weight, 0) != rows || dim_of(b, gate_weight, 1) != width)) ||
        inner <= 0 ||
        (gate_weight == AS_NONE ? inner > INT64_MAX / 2 || rows != 2 * inner : rows != inner)) {
        give_up(b, "the tensors of '%sffn' do not fit together", b->prefix);
        return AS_NONE;
    }
    up = linear(b, "ffn_up", x, up_weight);
    if (gate_weight == AS_NONE)
        split_gate(b, up, inner, &gate, &up);
    else
        gate = linear(b, "ffn_gate", x, gate_weight);
    x = binary(b, "Mul", "ffn_mul", activation(b, gate), up);
    return linear(b, "ffn_down", x, down_weight);
}

static uint32_t mixture(struct building *b, uint32_t x, uint32_t router)
{
    const struct as_decoder *d = &b->model->decoder;
    uint32_t gate = required(b, "ffn_gate_exps.weight", 3),
             up = required(b, "ffn_up_exps.weight", 3);
    uint32_t down = required(b, "ffn_down_exps.weight", 3), choice;
    int64_t n = dim_of(b, gate, 0), inner = dim_of(b, gate, 1), width = (int64_t)d->width;

    if (stopped(b))
        return AS_NONE;
    if (b->model->values[router].type.rank != 2 || dim_of(b, router, 0) != n ||
        dim_of(b, router, 1) != width || dim_of(b, gate, 2) != width || dim_of(b, up, 0) != n ||
        dim_of(b, up, 1) != inner || dim_of(b, up, 2) != width || dim_of(b, down, 0) != n ||
        dim_of(b, down, 1) != width || dim_of(b, down, 2) != inner || n != (int64_t)d->experts ||
        d->experts_used == 0 || d->experts_used > d->experts) {
        give_up(b, "the experts of '%sffn' do not fit together", b->prefix);
        return AS_NONE;
    }
    if (tensor(b, "ffn_gate_shexp.weight") != AS_NONE) {
        give_up(b, "shared experts are not known here");
        return AS_NONE;
    }
    choice = linear(b, "ffn_gate_inp", x, router);
    return add_node(b, (struct plan){.domain = "com.microsoft",
                                     .op = "MoE",
                                     .name = "ffn_experts",
                                     .in = {x, choice, gate, AS_NONE, down, AS_NONE, up},
                                     .n_in = 7,
                                     .attrs = {int_attr("k", (int64_t)d->experts_used),
                                               (struct as_attr){.name = "activation_type",
                                                                .kind = AS_ATTR_TEXT,
                                                                .text = {"silu", 4}},
                                               int_attr("normalize_routing_weights", 1)},
                                     .n_attrs = 3});
}

static uint32_t block(struct building *b, uint32_t x)
{
    uint32_t router = tensor(b, "ffn_gate_inp.weight"), y;

    y = norm(b, "attn_norm", x, required(b, "attn_norm.weight", 1));
    y = attention(b, y);
    y = optional_norm(b, "post_attention_norm", y);
    x = binary(b, "Add", "attn_residual", x, y);
    y = norm(b, "ffn_norm", x, required(b, "ffn_norm.weight", 1));
    y = router == AS_NONE ? feed_forward(b, y) : mixture(b, y, router);
    y = optional_norm(b, "post_ffw_norm", y);
    return binary(b, "Add", "ffn_residual", x, y);
}

static uint32_t tokens_input(struct building *b)
{
    static const char *const symbols[] = {"batch", "seq"};
    struct as_dims dims = {.rank = 2, .at = {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};
    uint32_t id = add_value(b, "tokens"), *inputs = need(b, 1, sizeof *inputs);

    if (id == AS_NONE || !inputs)
        return AS_NONE;
    if (!as_type_tensor(&b->model->values[id].type, &b->model->arena, AS_DTYPE_I64, &dims))
        b->rc = as_fail_nomem(b->g->err);
    b->model->values[id].is_input = true;
    b->model->values[id].symbols = symbols;
    inputs[0] = id;
    b->graph->inputs = inputs;
    b->graph->n_inputs = 1;
    return id;
}

static uint32_t embed(struct building *b, uint32_t table)
{
    uint32_t tokens = tokens_input(b);
    double factor = sqrt((double)b->model->decoder.width);
    uint32_t x = binary(b, "Gather", "token_embd", table, tokens);

    /* Rows are kept in the type of the file and computed with in f32. */
    if (!stopped(b) && b->model->values[table].type.dtype != AS_DTYPE_F32)
        x = add_node(b, (struct plan){.domain = "",
                                      .op = "Cast",
                                      .name = "token_embd_f32",
                                      .in = {x},
                                      .n_in = 1,
                                      .attrs = {int_attr("to", 1)},
                                      .n_attrs = 1});
    if (b->arch->scaled)
        x = binary(b, "Mul", "token_embd_scale", x,
                   constant(b, "token_embd_scale.factor", AS_DTYPE_F32, &factor, 1, 0));
    return x;
}

static uint32_t head(struct building *b, uint32_t x, uint32_t table)
{
    const struct as_gguf_pair *cap = as_gguf_find_arch(b->g, "final_logit_softcapping");
    uint32_t weight = tensor(b, "output.weight"), factor;
    double limit;

    x = norm(b, "output_norm", x, required(b, "output_norm.weight", 1));
    if (weight != AS_NONE)
        weight = required(b, "output.weight", 2);
    else
        weight = table; /* tied to the embedding */
    if (!stopped(b) && dim_of(b, weight, 1) != (int64_t)b->model->decoder.width)
        give_up(b, "tensor 'output.weight' does not fit the width");
    x = linear(b, "output", x, weight);
    if (!cap || !as_gguf_float(cap, &limit) || !isfinite(limit) || limit <= 0)
        return x;
    factor = constant(b, "output_softcap.limit", AS_DTYPE_F32, &limit, 1, 0);
    x = binary(b, "Div", "output_softcap_div", x, factor);
    x = add_node(
        b, (struct plan){
               .domain = "", .op = "Tanh", .name = "output_softcap_tanh", .in = {x}, .n_in = 1});
    return binary(b, "Mul", "output_softcap_mul", x, factor);
}

static void build(struct building *b)
{
    const struct as_decoder *d = &b->model->decoder;
    uint32_t table = required(b, "token_embd.weight", 2), x, *outputs;

    if (d->head_dim == 0 || d->value_dim == 0 || d->head_dim > INT32_MAX ||
        d->value_dim > INT32_MAX || d->heads > INT32_MAX || d->kv_heads > INT32_MAX)
        give_up(b, "the file does not say how its attention is divided into heads");
    if (!stopped(b) && dim_of(b, table, 1) != (int64_t)d->width)
        give_up(b, "tensor 'token_embd.weight' does not fit the width");
    x = embed(b, table);
    for (uint32_t i = 0; i < d->layers && !stopped(b); i++) {
        (void)snprintf(b->prefix, sizeof b->prefix, "blk.%u.", i);
        b->layer = i;
        x = block(b, x);
    }
    b->prefix[0] = 0;
    x = head(b, x, table);
    outputs = need(b, 1, sizeof *outputs);
    if (stopped(b))
        return;
    outputs[0] = x;
    b->graph->outputs = outputs;
    b->graph->n_outputs = 1;
    b->graph->n_nodes = b->n_nodes;
}

static const struct architecture *find_architecture(const char *name)
{
    for (size_t i = 0; name && i < AS_COUNT_OF(architectures); i++)
        if (strcmp(architectures[i].name, name) == 0)
            return &architectures[i];
    return NULL;
}

static int keep_opsets(struct building *b, struct assay_error *err)
{
    struct as_model *model = b->model;

    if (b->arch->whole && model->decoder.window)
        as_model_find(model, AS_FINDING_NOTE, NULL, NULL,
                      "one of %u blocks looks past the window of %llu tokens", b->arch->whole,
                      (unsigned long long)model->decoder.window);
    model->opsets = as_arena_zero(&model->arena, 2, sizeof *model->opsets);
    if (!model->opsets)
        return as_fail_nomem(err);
    model->opsets[0] = (struct as_model_opset){"", 17};
    model->opsets[1] = (struct as_model_opset){"com.microsoft", 1};
    model->n_opsets = 2;
    model->opset = 17;
    model->has_graph = true;
    return ASSAY_OK;
}

int as_gguf_build_graph(struct as_gguf *g)
{
    struct as_model *model = g->model;
    struct building b = {.g = g, .model = model, .graph = model->main};
    uint32_t n_values = model->n_values;
    const char *name = model->decoder.architecture;

    b.arch = find_architecture(name);
    if (!b.arch) {
        if (name)
            as_model_find(model, AS_FINDING_NOTE, NULL, NULL,
                          "the graph of architecture '%.64s' is not known here: its parameters are "
                          "counted, its costs are not",
                          name);
        return ASSAY_OK;
    }
    if (model->decoder.layers > MAX_LAYERS)
        give_up(&b, "it has %llu blocks, more than %d", (unsigned long long)model->decoder.layers,
                MAX_LAYERS);
    else
        b.capacity = (uint32_t)model->decoder.layers * NODES_PER_LAYER + 16;
    if (!stopped(&b))
        b.rc = as_graph_reserve_nodes(model->main, b.capacity, g->err);
    if (!stopped(&b))
        build(&b);
    if (b.rc < 0)
        return b.rc;
    if (!b.why[0])
        return keep_opsets(&b, g->err);
    model->n_values = n_values;
    model->main->n_nodes = 0;
    model->main->inputs = model->main->outputs = NULL;
    model->main->n_inputs = model->main->n_outputs = 0;
    as_model_find(model, AS_FINDING_NOTE, NULL, NULL,
                  "the graph of this '%.64s' could not be built: %s", name, b.why);
    return ASSAY_OK;
}
