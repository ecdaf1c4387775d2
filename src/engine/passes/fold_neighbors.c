/* engine/passes/fold_neighbors.c - steps around a product that its own attributes can say: a Pad
 * with zeros before a Conv, a Transpose before a Gemm. */
#include "engine/passes/passes.h"

/* ---- Pad ---- */

/* The zeros put before and after each axis; false: it pads otherwise, or we cannot know. */
static bool zeros_around(const struct as_pass_graph *o, const struct as_step *pad,
                         struct as_dims *out)
{
    struct as_text mode;
    struct as_ints given;
    double value = 0;

    if (as_node_text(pad->spec, "mode", &mode) && !as_node_text_is(pad->spec, "mode", "constant"))
        return false;
    if (as_pass_in(pad, 3) != AS_NONE) /* for some axes only */
        return false;
    if (as_pass_in(pad, 2) != AS_NONE && !as_pass_scalar(o, pad->in[2], &value))
        return false;
    if (value != 0 || as_node_float(pad->spec, "value", 0) != 0)
        return false;
    if (as_pass_in(pad, 1) != AS_NONE)
        return as_pass_list(o, pad->in[1], out);
    if (!as_node_ints(pad->spec, "pads", &given) || given.n > AS_MAX_RANK)
        return false;
    out->rank = (int)given.n;
    for (size_t i = 0; i < given.n; i++)
        out->at[i] = given.at[i];
    return true;
}

/* The Conv's own pads and those of the Pad together, as the attribute has them. */
static bool sum_pads(const struct as_step *conv, const struct as_dims *zeros, int rank,
                     int64_t *sum)
{
    int spatial = rank - 2;
    struct as_ints own;
    struct as_text word;

    if (as_node_text(conv->spec, "auto_pad", &word) &&
        !as_node_text_is(conv->spec, "auto_pad", "NOTSET") &&
        !as_node_text_is(conv->spec, "auto_pad", "VALID"))
        return false;
    if (!as_node_ints(conv->spec, "pads", &own) || as_node_text_is(conv->spec, "auto_pad", "VALID"))
        own = (struct as_ints){0, NULL};
    if (zeros->rank != 2 * rank || (own.n && own.n != 2 * (size_t)spatial))
        return false;
    for (int i = 0; i < 2 * rank; i++) {
        int axis = i % rank, at = (i < rank ? 0 : spatial) + axis - 2;

        if (zeros->at[i] < 0 || zeros->at[i] > INT32_MAX || (axis < 2 && zeros->at[i] != 0))
            return false;
        if (axis < 2)
            continue;
        sum[at] = zeros->at[i] + (own.n ? own.at[at] : 0);
        if (own.n && (own.at[at] < 0 || own.at[at] > INT32_MAX))
            return false;
    }
    return true;
}

static int visit_conv(struct as_pass_graph *o, struct as_step *conv)
{
    struct as_step *pad = as_pass_inner(o, as_pass_in(conv, 0));
    int64_t sum[2 * AS_MAX_RANK];
    struct as_dims zeros;
    int rank, rc;

    if (!pad || pad->op != AS_OP_Pad || !as_pass_is_static(o, pad->in[0]) ||
        !as_pass_is_static(o, conv->out[0]) || !as_pass_is_float(o, pad->in[0]))
        return ASSAY_OK;
    rank = o->p->slots[pad->in[0]].type.rank;
    if (rank < 3 || !zeros_around(o, pad, &zeros) || !sum_pads(conv, &zeros, rank, sum))
        return ASSAY_OK;
    rc = as_pass_set_ints(o, conv, "pads", sum, 2 * (uint32_t)(rank - 2));
    if (rc == ASSAY_OK)
        rc = as_pass_set_text(o, conv, "auto_pad", "NOTSET");
    if (rc == ASSAY_OK)
        rc = as_pass_sources(o, conv, pad);
    if (rc == ASSAY_OK)
        rc = as_pass_inputs(o, conv,
                            (uint32_t[]){pad->in[0], as_pass_in(conv, 1), as_pass_in(conv, 2)},
                            conv->n_in < 3 ? conv->n_in : 3);
    if (rc == ASSAY_OK)
        as_pass_kill(o, pad);
    return rc;
}

/* ---- Transpose ---- */

static bool swaps_two(const struct as_pass_graph *o, const struct as_step *step)
{
    struct as_ints perm;

    if (o->p->slots[step->in[0]].type.rank != 2)
        return false;
    return !as_node_ints(step->spec, "perm", &perm) ||
           (perm.n == 2 && perm.at[0] == 1 && perm.at[1] == 0);
}

static int visit_gemm(struct as_pass_graph *o, struct as_step *gemm)
{
    static const char *const names[] = {"transA", "transB"};
    int rc = ASSAY_OK;

    for (uint32_t i = 0; i < 2 && rc == ASSAY_OK; i++) {
        struct as_step *turn = as_pass_inner(o, as_pass_in(gemm, i));

        if (!turn || turn->op != AS_OP_Transpose || turn->in[0] == AS_NONE || !swaps_two(o, turn))
            continue;
        rc = as_pass_set_int(o, gemm, names[i], !as_node_int(gemm->spec, names[i], 0));
        if (rc == ASSAY_OK)
            rc = as_pass_sources(o, gemm, turn);
        if (rc < 0)
            continue;
        as_pass_replace(o, gemm, i, turn->in[0]);
        as_pass_kill(o, turn);
    }
    return rc;
}

static int visit(struct as_pass_graph *o, struct as_step *step)
{
    if (step->op == AS_OP_Conv && step->n_in)
        return visit_conv(o, step);
    if (step->op == AS_OP_Gemm && step->n_in > 1)
        return visit_gemm(o, step);
    return ASSAY_OK;
}

const struct as_pass as_pass_neighbors = {.visit = visit};
