/* engine/kernels/norm/kern_norm_loss.c - NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
 * The second is the first of a logarithm of softmax, which may be asked for as well. */
#include <string.h>

#include "engine/kernels/norm/kern_norm.h"
#include "engine/kernels/reduce/kern_reduce.h"

struct loss {
    const struct as_val *scores; /* logarithms of probabilities, [N, C, places] */
    const struct as_val *target, *weight;
    struct as_around a;
    bool ignores;
    int64_t ignored;
};

/* Minus the score of the target at place `i`, weighted; false: the target is to be ignored. A
 * target outside of the classes is an error. */
static int loss_at(struct as_kernel_ctx *k, const struct loss *l, uint64_t i, double *loss,
                   double *weight)
{
    int64_t class = as_val_i64(l->target, i);
    uint64_t n = i / l->a.inner, place = i % l->a.inner;

    *loss = *weight = 0;
    if (l->ignores && class == l->ignored)
        return ASSAY_OK;
    if (class < 0 || (uint64_t) class >= l->a.n)
        return as_kernel_fail(k, "target %lld is outside of %llu classes", (long long)class,
                              (unsigned long long)l->a.n);
    *weight = l->weight ? as_val_f64(l->weight, (uint64_t) class) : 1;
    *loss = -*weight * as_val_f64(l->scores, (n * l->a.n + (uint64_t) class) * l->a.inner + place);
    return ASSAY_OK;
}

static int sum_losses(struct as_kernel_ctx *k, const struct loss *l)
{
    bool none = as_node_text_is(k->node, "reduction", "none");
    bool mean = !none && !as_node_text_is(k->node, "reduction", "sum");
    double total = 0, weights = 0, loss, weight;
    struct as_val *out = k->out[0];

    if (out->n != (none ? l->target->n : 1))
        return as_kernel_fail(k, "its output has %llu elements", (unsigned long long)out->n);
    for (uint64_t i = 0; i < l->target->n; i++) {
        int rc = loss_at(k, l, i, &loss, &weight);

        if (rc < 0)
            return rc;
        if (none)
            as_val_put_f64(out, i, loss);
        total += loss;
        weights += weight;
    }
    if (!none)
        as_val_put_f64(out, 0, mean ? total / weights : total);
    return ASSAY_OK;
}

/* The logarithm of softmax goes where it is asked for, else into working memory. */
static int take_softmax(struct as_kernel_ctx *k, struct loss *l, struct as_val *logs)
{
    *logs = *l->scores;
    if (as_has_out(k, 1) && k->out[1]->n == logs->n)
        logs->data = k->out[1]->data;
    else
        logs->data = as_kernel_work(k, logs->n, as_elem_bytes(logs->dtype));
    if (!logs->data)
        return ASSAY_ERR_NOMEM;
    l->scores = logs;
    return as_softmax(k, k->in[0], logs, &l->a, true);
}

int as_run_loss(struct as_kernel_ctx *k)
{
    struct loss l = {.scores = k->in[0],
                     .target = k->in[1],
                     .weight = as_has_in(k, 2) ? k->in[2] : NULL,
                     .ignores = as_node_attr(k->node, "ignore_index") != NULL,
                     .ignored = as_node_int(k->node, "ignore_index", 0)};
    struct as_val logs = {0};
    int rc = ASSAY_OK;

    if (l.scores->rank < 2 || !as_dtype_is_integer(l.target->dtype))
        return as_kernel_fail(k, "scores of rank %d do not go with targets of %s", l.scores->rank,
                              as_dtype_name(l.target->dtype));
    l.a = as_around_axes(l.scores, 1, 2);
    if (l.target->n != l.a.outer * l.a.inner || (l.weight && l.weight->n != l.a.n))
        return as_kernel_fail(k, "targets or weights do not fit the scores");
    if (k->node->op == AS_OP_SoftmaxCrossEntropyLoss)
        rc = take_softmax(k, &l, &logs);
    return rc < 0 ? rc : sum_losses(k, &l);
}
