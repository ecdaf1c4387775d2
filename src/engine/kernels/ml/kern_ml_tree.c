/* engine/kernels/ml/kern_ml_tree.c - ensembles of decision trees, of classifiers and regressors.
 * Nodes are found by tree and number, checked once, and walked by place; no walk is longer than
 * there are nodes, so a circle in the file ends in an error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/kernels/ml/kern_ml.h"

enum mode { LEQ, LT, GTE, GT, EQ, NEQ, LEAF, N_MODES };

struct node {
    int64_t tree, id;
    uint64_t feature;
    double value;
    uint64_t when_true, when_false; /* places */
    uint64_t first, n;              /* of its weights, when it is a leaf */
    uint8_t mode;
    bool missing_true;
};

struct weight {
    uint64_t node; /* place */
    uint64_t target;
    double value;
};

struct forest {
    struct node *nodes;
    uint64_t n_nodes, n_weights, n_targets, n_trees;
    struct weight *weights; /* by node */
    uint64_t *roots;
    const struct as_attr *base;
    double *sums;
    bool *seen;
};

static int by_name(const void *a, const void *b)
{
    const struct node *x = a, *y = b;

    return x->tree != y->tree ? (x->tree < y->tree ? -1 : 1)
           : x->id != y->id   ? (x->id < y->id ? -1 : 1)
                              : 0;
}

static int by_node(const void *a, const void *b)
{
    const struct weight *x = a, *y = b;

    return x->node != y->node ? (x->node < y->node ? -1 : 1) : 0;
}

/* The place of a node, or n_nodes. */
static uint64_t find_node(const struct forest *f, int64_t tree, int64_t id)
{
    struct node key = {.tree = tree, .id = id};
    const struct node *at = bsearch(&key, f->nodes, f->n_nodes, sizeof *f->nodes, by_name);

    return at ? (uint64_t)(at - f->nodes) : f->n_nodes;
}

static int read_mode(struct as_kernel_ctx *k, struct as_text word, uint8_t *mode)
{
    static const char *const words[N_MODES] = {
        "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};

    for (int i = 0; i < N_MODES; i++)
        if (word.size == strlen(words[i]) && memcmp(word.at, words[i], word.size) == 0) {
            *mode = (uint8_t)i;
            return ASSAY_OK;
        }
    return as_kernel_fail(k, "'%.*s' is not a node mode", (int)(word.size < 40 ? word.size : 40),
                          word.at);
}

static int read_nodes(struct as_kernel_ctx *k, struct forest *f, uint64_t features)
{
    const struct as_attr *trees = as_listed(k, "nodes_treeids", AS_ATTR_INTS);
    const struct as_attr *ids = as_listed(k, "nodes_nodeids", AS_ATTR_INTS);
    const struct as_attr *feature = as_listed(k, "nodes_featureids", AS_ATTR_INTS);
    const struct as_attr *values = as_listed(k, "nodes_values", AS_ATTR_FLOATS);
    const struct as_attr *modes = as_listed(k, "nodes_modes", AS_ATTR_TEXTS);
    const struct as_attr *yes = as_listed(k, "nodes_truenodeids", AS_ATTR_INTS);
    const struct as_attr *no = as_listed(k, "nodes_falsenodeids", AS_ATTR_INTS);
    const struct as_attr *missing = as_listed(k, "nodes_missing_value_tracks_true", AS_ATTR_INTS);

    if (!trees || !ids || !feature || !values || !modes || !yes || !no || ids->n != trees->n ||
        feature->n != trees->n || values->n != trees->n || modes->n != trees->n ||
        yes->n != trees->n || no->n != trees->n)
        return as_kernel_fail(k, "the lists of its nodes are not all there or of one length");
    f->n_nodes = trees->n;
    f->nodes = as_kernel_work(k, f->n_nodes, sizeof *f->nodes);
    if (!f->nodes)
        return ASSAY_ERR_NOMEM;
    for (uint64_t i = 0; i < f->n_nodes; i++) {
        struct node *n = &f->nodes[i];
        int rc;

        *n = (struct node){.tree = trees->ints[i],
                           .id = ids->ints[i],
                           .feature = (uint64_t)feature->ints[i],
                           .value = (double)values->floats[i],
                           .when_true = (uint64_t)yes->ints[i],
                           .when_false = (uint64_t)no->ints[i],
                           .missing_true = missing && i < missing->n && missing->ints[i] != 0};
        rc = read_mode(k, modes->texts[i], &n->mode);
        if (rc < 0)
            return rc;
        if (n->mode != LEAF && n->feature >= features)
            return as_kernel_fail(k, "a node asks for feature %lld of %llu",
                                  (long long)feature->ints[i], (unsigned long long)features);
    }
    qsort(f->nodes, f->n_nodes, sizeof *f->nodes, by_name);
    return ASSAY_OK;
}

/* Children by place; roots are the nodes that are nobody's child. */
static int link_nodes(struct as_kernel_ctx *k, struct forest *f)
{
    f->seen = as_kernel_work(k, f->n_nodes, sizeof *f->seen);
    f->roots = as_kernel_work(k, f->n_nodes, sizeof *f->roots);
    if (!f->seen || !f->roots)
        return ASSAY_ERR_NOMEM;
    memset(f->seen, 0, f->n_nodes * sizeof *f->seen);
    for (uint64_t i = 0; i < f->n_nodes; i++) {
        struct node *n = &f->nodes[i];

        if (n->mode == LEAF)
            continue;
        n->when_true = find_node(f, n->tree, (int64_t)n->when_true);
        n->when_false = find_node(f, n->tree, (int64_t)n->when_false);
        if (n->when_true == f->n_nodes || n->when_false == f->n_nodes)
            return as_kernel_fail(k, "node %lld of tree %lld has a child that is not there",
                                  (long long)n->id, (long long)n->tree);
        f->seen[n->when_true] = f->seen[n->when_false] = true;
    }
    for (uint64_t i = 0; i < f->n_nodes; i++)
        if (!f->seen[i])
            f->roots[f->n_trees++] = i;
    return ASSAY_OK;
}

static int read_weights(struct as_kernel_ctx *k, struct forest *f, const char *const names[4])
{
    const struct as_attr *trees = as_listed(k, names[0], AS_ATTR_INTS);
    const struct as_attr *ids = as_listed(k, names[1], AS_ATTR_INTS);
    const struct as_attr *targets = as_listed(k, names[2], AS_ATTR_INTS);
    const struct as_attr *values = as_listed(k, names[3], AS_ATTR_FLOATS);

    if (!trees || !ids || !targets || !values || ids->n != trees->n || targets->n != trees->n ||
        values->n != trees->n)
        return as_kernel_fail(k, "the lists of its weights are not all there or of one length");
    f->n_weights = trees->n;
    f->weights = as_kernel_work(k, f->n_weights, sizeof *f->weights);
    if (!f->weights)
        return ASSAY_ERR_NOMEM;
    for (uint64_t i = 0; i < f->n_weights; i++) {
        f->weights[i] = (struct weight){find_node(f, trees->ints[i], ids->ints[i]),
                                        (uint64_t)targets->ints[i], (double)values->floats[i]};
        if (f->weights[i].node == f->n_nodes || f->weights[i].target >= f->n_targets)
            return as_kernel_fail(k, "weight %llu is for no node or no class",
                                  (unsigned long long)i);
    }
    qsort(f->weights, f->n_weights, sizeof *f->weights, by_node);
    for (uint64_t i = 0; i < f->n_weights; i++) {
        struct node *n = &f->nodes[f->weights[i].node];

        if (n->n++ == 0)
            n->first = i;
    }
    return ASSAY_OK;
}

static bool goes_true(const struct node *n, double x)
{
    switch (n->mode) {
    case LEQ:
        return x <= n->value;
    case LT:
        return x < n->value;
    case GTE:
        return x >= n->value;
    case GT:
        return x > n->value;
    case EQ:
        return x == n->value;
    default:
        return x != n->value;
    }
}

/* The leaf for one example, or n_nodes when the walk does not end. */
static uint64_t walk(const struct forest *f, const struct as_val *x, uint64_t first, uint64_t at)
{
    for (uint64_t steps = 0; steps <= f->n_nodes; steps++) {
        const struct node *n = &f->nodes[at];
        double value;

        if (n->mode == LEAF)
            return at;
        value = as_val_f64(x, first + n->feature);
        at =
            goes_true(n, value) || (n->missing_true && isnan(value)) ? n->when_true : n->when_false;
    }
    return f->n_nodes;
}

enum gather { SUM, AVERAGE, MIN, MAX };

static enum gather read_gather(const struct as_kernel_ctx *k)
{
    return as_node_text_is(k->node, "aggregate_function", "AVERAGE") ? AVERAGE
           : as_node_text_is(k->node, "aggregate_function", "MIN")   ? MIN
           : as_node_text_is(k->node, "aggregate_function", "MAX")   ? MAX
                                                                     : SUM;
}

static void gather_leaf(struct forest *f, const struct node *leaf, enum gather how)
{
    for (uint64_t w = leaf->first; w < leaf->first + leaf->n; w++) {
        double *sum = &f->sums[f->weights[w].target], value = f->weights[w].value;

        if (!f->seen[f->weights[w].target] || how == SUM || how == AVERAGE)
            *sum += value;
        else if (how == MIN ? value < *sum : value > *sum)
            *sum = value;
        f->seen[f->weights[w].target] = true;
    }
}

/* f->sums for one example; `seen` says which targets any tree spoke of. */
static int evaluate(struct as_kernel_ctx *k, struct forest *f, uint64_t first, enum gather how)
{
    for (uint64_t t = 0; t < f->n_targets; t++) {
        f->sums[t] = 0;
        f->seen[t] = false;
    }
    for (uint64_t r = 0; r < f->n_trees; r++) {
        uint64_t leaf = walk(f, k->in[0], first, f->roots[r]);

        if (leaf == f->n_nodes)
            return as_kernel_fail(k, "tree %lld has a circle",
                                  (long long)f->nodes[f->roots[r]].tree);
        gather_leaf(f, &f->nodes[leaf], how);
    }
    for (uint64_t t = 0; t < f->n_targets; t++) {
        if (how == AVERAGE && f->n_trees > 0)
            f->sums[t] /= (double)f->n_trees;
        if (f->base && t < f->base->n)
            f->sums[t] += (double)f->base->floats[t];
    }
    return ASSAY_OK;
}

static int read_forest(struct as_kernel_ctx *k, struct forest *f, uint64_t features,
                       const char *const names[4])
{
    int rc = read_nodes(k, f, features);

    if (rc == ASSAY_OK)
        rc = link_nodes(k, f);
    if (rc == ASSAY_OK)
        rc = read_weights(k, f, names);
    if (rc < 0)
        return rc;
    f->base = as_listed(k, "base_values", AS_ATTR_FLOATS);
    f->sums = as_kernel_work(k, f->n_targets + 1, sizeof *f->sums);
    f->seen = as_kernel_work(k, f->n_targets + 1, sizeof *f->seen);
    return f->sums && f->seen ? ASSAY_OK : ASSAY_ERR_NOMEM;
}

int as_run_tree_regressor(struct as_kernel_ctx *k)
{
    static const char *const names[] = {"target_treeids", "target_nodeids", "target_ids",
                                        "target_weights"};
    int64_t targets = as_node_int(k->node, "n_targets", 1);
    struct forest f = {.n_targets = targets > 0 ? (uint64_t)targets : 1};
    uint64_t n, features;
    int rc;

    as_examples(k->in[0], &n, &features);
    if (k->out[0]->n / f.n_targets != n || k->out[0]->n % f.n_targets != 0)
        return as_kernel_fail(k, "its output does not fit");
    rc = read_forest(k, &f, features, names);
    for (uint64_t i = 0; i < n && rc == ASSAY_OK; i++) {
        rc = evaluate(k, &f, i * features, read_gather(k));
        as_ml_transform(as_read_post(k), f.sums, f.n_targets);
        for (uint64_t t = 0; t < f.n_targets; t++)
            as_val_put_f64(k->out[0], i * f.n_targets + t, f.sums[t]);
    }
    return rc;
}

/* Two labels and weights for one class only: the score is that of the second, as a chance when it
 * cannot be less than 0. */
static int classify_two(struct as_kernel_ctx *k, const struct forest *f,
                        const struct as_labels *labels, uint64_t example)
{
    double score = f->sums[f->weights[0].target], scores[2] = {score, 0};
    bool chances = as_read_post(k) == AS_POST_NONE;

    if (f->base && f->base->n == 1 && f->weights[0].target > 0)
        scores[0] = score += (double)f->base->floats[0];
    for (uint64_t w = 0; w < f->n_weights; w++)
        chances &= f->weights[w].value >= 0;
    if (!chances)
        return as_classify(k, labels, example, scores, 1);
    scores[0] = 1 - score;
    scores[1] = score;
    return as_classify(k, labels, example, scores, 2);
}

int as_run_tree_classifier(struct as_kernel_ctx *k)
{
    static const char *const names[] = {"class_treeids", "class_nodeids", "class_ids",
                                        "class_weights"};
    struct as_labels labels;
    struct forest f = {.n_targets = 0};
    uint64_t n, features;
    bool two;
    int rc = as_read_labels(k, "classlabels_int64s", &labels);

    if (rc < 0)
        return rc;
    f.n_targets = labels.n;
    as_examples(k->in[0], &n, &features);
    if ((as_has_out(k, 0) && k->out[0]->n != n) ||
        (as_has_out(k, 1) && k->out[1]->n != n * labels.n))
        return as_kernel_fail(k, "its outputs do not fit");
    rc = read_forest(k, &f, features, names);
    if (rc < 0)
        return rc;
    two = labels.n == 2;
    for (uint64_t w = 1; w < f.n_weights; w++)
        two &= f.weights[w].target == f.weights[0].target;
    for (uint64_t i = 0; i < n && rc == ASSAY_OK; i++) {
        rc = evaluate(k, &f, i * features, SUM);
        if (rc == ASSAY_OK)
            rc = two ? classify_two(k, &f, &labels, i)
                     : as_classify(k, &labels, i, f.sums, f.n_targets);
    }
    return rc;
}
