/* model/infer/rules/rules_rnn.c - shape rules of recurrent layers.
 * Weights are [directions, gates * hidden, in]; the recurrence has the hidden size last. */
#include "model/infer/infer_context.h"
#include "model/infer/infer_rules.h"

static int infer_one_state(struct as_infer *ctx)
{
    return as_infer_recurrent(ctx, 2, 1);
}

static int infer_two_states(struct as_infer *ctx)
{
    return as_infer_recurrent(ctx, 2, 2);
}

const struct as_op_rule as_rules_rnn[] = {
    {AS_OP_RNN, infer_one_state, NULL},
    {AS_OP_GRU, infer_one_state, NULL},
    {AS_OP_LSTM, infer_two_states, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
