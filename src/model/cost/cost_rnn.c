/* model/cost/cost_rnn.c - counts of recurrent cells: each step multiplies the input and the last
 * state by all gates. Activations are taken to be the usual ones, and sequences to have full
 * length. */
#include "model/cost/cost_rules.h"

/* Of one unit of the state in one step, besides the products. */
struct cell {
    uint8_t gates;
    uint8_t elementwise; /* with sums of the two products, without bias */
    uint8_t transcendental;
    uint8_t peepholes; /* operations they add */
    uint8_t kept;      /* numbers kept for the backward pass */
};

/* LSTM: 4 sums, 3 sigmoids of 2, c = f c + i g: 3, h = o tanh c: 1. GRU: 3 sums, 2 sigmoids, r h:
 * 1, h = (1 - z) g + z h: 4. RNN: 1 sum.
 * Kept by an LSTM are the four gates, the cell, its tanh and the state; by a GRU the three gates,
 * the part of the last one that r is multiplied with, the new gate, its difference from the state
 * and the state; by an RNN its state: as PyTorch 1.13 does. The states of all steps that come out
 * are a tensor of their own. */
static const struct cell lstm = {4, 14, 5, 6, 7}, gru = {3, 12, 3, 0, 7}, rnn = {1, 1, 1, 0, 1};

struct steps {
    uint64_t steps;        /* sequence x batch, in each direction */
    uint64_t input, state; /* weights that meet the input and the state in one step */
    uint64_t units;        /* of all directions */
    bool biased, peeps;
};

static void count_cells(struct as_cost_ctx *ctx, const struct cell *cell, const struct steps *s)
{
    uint64_t input = as_sat_mul(s->steps, s->input), state = as_sat_mul(s->steps, s->state);
    uint64_t units = as_sat_mul(s->steps, s->units);
    uint64_t each = (uint64_t)cell->elementwise + (s->biased ? cell->gates : 0) +
                    (s->peeps ? cell->peepholes : 0);

    as_count(&ctx->forward->macs, as_sat_add(input, state));
    as_count_each(&ctx->forward->elementwise, units, each);
    as_count_each(&ctx->forward->transcendental, units, cell->transcendental);
    /* The gradients of both weights and of the state; that of the input where it is asked for. */
    as_count(&ctx->backward->macs, as_sat_add(input, as_sat_mul(state, 2)));
    if (as_cost_grad(ctx, 0))
        as_count(&ctx->backward->macs, input);
    as_count_each(&ctx->backward->elementwise, units, 2 * each);
    as_count_each(&ctx->kept_floats, units, cell->kept);
}

/* X, W, R, B, lengths, h, c, P */
static void onnx_cells(struct as_cost_ctx *ctx, const struct cell *cell)
{
    bool quantized = ctx->node->op == AS_OP_MS_DynamicQuantizeLSTM;
    uint64_t directions = as_cost_attr_is(ctx, "direction", "bidirectional") ? 2 : 1;
    int64_t hidden = as_node_int(ctx->node, "hidden_size", 0);
    struct steps s = {0};
    struct as_dims x, r;

    if (!as_cost_in_dims(ctx, 0, &x) || !as_cost_in_dims(ctx, 2, &r) || x.rank != 3 ||
        r.rank != 3) {
        ctx->unknown = true;
        return;
    }
    if (hidden <= 0)
        hidden = r.at[quantized ? 1 : 2];
    s.steps = as_cost_volume(&x, 0, 2);
    s.input = as_cost_in(ctx, 1);
    s.state = as_cost_in(ctx, 2);
    s.units = as_sat_mul(directions, (uint64_t)hidden);
    s.biased = as_cost_has(ctx, 3);
    s.peeps = as_cost_has(ctx, 7);
    count_cells(ctx, cell, &s);
    if (s.biased) /* the two biases of a gate are added once */
        as_count_each(&ctx->forward->elementwise, s.units, cell->gates);
}

void as_cost_lstm(struct as_cost_ctx *ctx)
{
    onnx_cells(ctx, &lstm);
}

void as_cost_gru(struct as_cost_ctx *ctx)
{
    onnx_cells(ctx, &gru);
}

void as_cost_rnn(struct as_cost_ctx *ctx)
{
    onnx_cells(ctx, &rnn);
}

/* ---- TensorFlow Lite ---- */

/* Steps of an input [batch, in], [batch, time, in] or [time, batch, in]. */
static uint64_t tfl_steps(struct as_cost_ctx *ctx)
{
    struct as_dims x;

    if (!as_cost_in_dims(ctx, 0, &x) || x.rank < 2) {
        ctx->unknown = true;
        return 0;
    }
    return as_cost_volume(&x, 0, x.rank - 1);
}

static uint64_t sum_in(struct as_cost_ctx *ctx, size_t from, size_t to)
{
    uint64_t sum = 0;

    for (size_t i = from; i < to; i++)
        sum = as_sat_add(sum, as_cost_in(ctx, i));
    return sum;
}

/* One direction whose weights start at input `at`: four that meet the input (the first may be left
 * out), four that meet the state, three peepholes, four biases, a projection and its bias. */
static void tfl_lstm_at(struct as_cost_ctx *ctx, size_t at, uint64_t steps)
{
    struct steps s = {.steps = steps};
    struct as_dims forget;
    uint64_t each;

    if (!as_cost_in_dims(ctx, at + 1, &forget) || forget.rank != 2) {
        ctx->unknown = true;
        return;
    }
    s.input = sum_in(ctx, at, at + 4);
    s.state = sum_in(ctx, at + 4, at + 8);
    s.units = (uint64_t)forget.at[0];
    s.biased = as_cost_has(ctx, at + 12);
    s.peeps = as_cost_has(ctx, at + 9);
    count_cells(ctx, &lstm, &s);
    each = as_cost_in(ctx, at + 15);
    as_count_each(&ctx->forward->macs, steps, each);
    as_count_each(&ctx->backward->macs, steps, as_sat_mul(each, 2));
    if (each > 0) /* what is projected */
        as_count_each(&ctx->kept_floats, steps, s.units);
    as_count_each(&ctx->forward->elementwise, steps, as_cost_in(ctx, at + 16));
}

void as_cost_tfl_lstm(struct as_cost_ctx *ctx)
{
    uint64_t steps = tfl_steps(ctx);
    struct steps s = {.steps = steps};
    struct as_dims w;

    if (ctx->node->n_inputs == 5) { /* the plain cell: input, last output, weights, biases, state */
        if (!as_cost_in_dims(ctx, 2, &w) || w.rank != 2) {
            ctx->unknown = true;
            return;
        }
        s.units = (uint64_t)w.at[0] / 4;
        s.state = as_sat_mul((uint64_t)w.at[0], s.units);
        s.input = as_sat_sub(as_cost_in(ctx, 2), s.state);
        s.biased = true;
        count_cells(ctx, &lstm, &s);
        return;
    }
    tfl_lstm_at(ctx, 1, steps);
    if (ctx->node->op == AS_OP_TFL_BIDIRECTIONAL_SEQUENCE_LSTM)
        tfl_lstm_at(ctx, 18, steps);
}

/* input, then for each direction weights, recurrent weights, bias and state */
void as_cost_tfl_rnn(struct as_cost_ctx *ctx)
{
    size_t directions = ctx->node->op == AS_OP_TFL_BIDIRECTIONAL_SEQUENCE_RNN ? 2 : 1;
    uint64_t steps = tfl_steps(ctx);

    for (size_t i = 0; i < directions; i++) {
        size_t at = 1 + 4 * i;
        struct steps s = {.steps = steps};
        struct as_dims w;

        if (!as_cost_in_dims(ctx, at, &w) || w.rank != 2) {
            ctx->unknown = true;
            return;
        }
        s.input = as_cost_in(ctx, at);
        s.state = as_cost_in(ctx, at + 1);
        s.units = (uint64_t)w.at[0];
        s.biased = as_cost_has(ctx, at + 2);
        count_cells(ctx, &rnn, &s);
    }
}

/* input [batch, in], features [filters, in], times [filters, memory], bias, state: each filter
 * meets the input once and its memory once; `rank` filters make one unit. */
void as_cost_tfl_svdf(struct as_cost_ctx *ctx)
{
    uint64_t steps = tfl_steps(ctx), n = as_cost_out(ctx, 0);
    struct as_dims w;

    as_cost_product(ctx, as_sat_mul(steps, as_cost_in(ctx, 1)), 0, 1);
    as_cost_product(ctx, as_sat_mul(steps, as_cost_in(ctx, 2)), 2, 2);
    if (!as_cost_in_dims(ctx, 1, &w) || w.rank < 1) {
        ctx->unknown = true;
        return;
    }
    /* The filters of a unit are summed. */
    as_count_each(&ctx->forward->elementwise, steps, (uint64_t)w.at[0]);
    as_cost_bias(ctx, 3, n);
    as_cost_fused(ctx, n);
}
