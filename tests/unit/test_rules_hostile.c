/* tests/unit/test_rules_hostile.c - every operator has one rule, and none can be made to misbehave.
 * Nodes are given random inputs and attributes, among them the worst numbers there are. */
#include "model/infer/infer_rules.h"

#include "rule_kit.h"

struct dice {
    uint64_t state;
};

static uint64_t roll(struct dice *d, uint64_t sides)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (d->state >> 33) % sides;
}

static int64_t any_number(struct dice *d)
{
    static const int64_t worst[] = {0,
                                    -1,
                                    1,
                                    2,
                                    INT64_MAX,
                                    INT64_MIN,
                                    INT64_MIN + 1,
                                    (int64_t)1 << 62,
                                    (int64_t)1 << 31,
                                    -((int64_t)1 << 31),
                                    ((int64_t)1 << 30) + 1};

    return roll(d, 3) ? (int64_t)roll(d, 9) - 2 : worst[roll(d, UNIT_COUNT(worst))];
}

static int64_t any_dim(struct dice *d)
{
    static const int64_t odd[] = {0, AS_DIM_UNKNOWN, (int64_t)1 << 62, (int64_t)1 << 40, 1};

    return roll(d, 4) ? (int64_t)roll(d, 8) + 1 : odd[roll(d, UNIT_COUNT(odd))];
}

static void any_tensor(struct rule_kit *k, struct dice *d, struct as_type *type)
{
    struct as_dims dims = {roll(d, 20) ? (int)roll(d, 6) : AS_MAX_RANK, {0}};

    for (int i = 0; i < dims.rank; i++)
        dims.at[i] = any_dim(d);
    assert_true(as_type_tensor(type, &k->model->arena, (unsigned)roll(d, AS_DTYPE_C128),
                               roll(d, 10) ? &dims : NULL));
}

static void any_input(struct rule_kit *k, struct dice *d, struct as_value *value)
{
    static const uint8_t dtypes[] = {AS_DTYPE_I64, AS_DTYPE_I32, AS_DTYPE_F32, AS_DTYPE_BOOL};
    uint64_t kind = roll(d, 10), n = roll(d, 7);
    struct as_dims dims = {1, {(int64_t)n}};

    if (kind < 6) {
        any_tensor(k, d, &value->type);
    } else if (kind < 9) {
        unsigned dtype = dtypes[roll(d, UNIT_COUNT(dtypes))];

        if (roll(d, 3) == 0)
            dims.rank = 0;
        n = dims.rank ? n : 1;
        assert_true(as_type_tensor(&value->type, &k->model->arena, dtype, &dims));
        value->data = as_data_new(&k->model->arena, dtype, n);
        for (uint64_t i = 0; i < n; i++)
            as_data_put_i64(value->data, i, any_number(d));
        value->is_initializer = true;
    } else {
        struct as_type *elems = kit_capacity(k, 8 * sizeof *elems);

        for (uint64_t i = 0; i < 8; i++)
            any_tensor(k, d, &elems[i]);
        value->type = (struct as_type){.kind = (uint8_t)(1 + roll(d, 2)),
                                       .rank = -1,
                                       .n_elems = (int32_t)n - 1,
                                       .elems = elems};
    }
}

static void any_attr(struct rule_kit *k, struct dice *d, struct as_attr *attr)
{
    static const char *const names[] = {"axis",
                                        "axes",
                                        "kernel_shape",
                                        "strides",
                                        "pads",
                                        "dilations",
                                        "group",
                                        "auto_pad",
                                        "ceil_mode",
                                        "output_padding",
                                        "output_shape",
                                        "num_heads",
                                        "kv_num_heads",
                                        "hidden_size",
                                        "direction",
                                        "layout",
                                        "blocksize",
                                        "block_size",
                                        "keepdims",
                                        "keep_dims",
                                        "new_axis",
                                        "num_groups",
                                        "K",
                                        "N",
                                        "border",
                                        "scale",
                                        "padding",
                                        "stride_h",
                                        "stride_w",
                                        "filter_height",
                                        "filter_width",
                                        "new_shape",
                                        "squeeze_dims",
                                        "begin_mask",
                                        "end_mask",
                                        "ellipsis_mask",
                                        "new_axis_mask",
                                        "shrink_axis_mask",
                                        "batch_dims",
                                        "offset",
                                        "to",
                                        "dtype",
                                        "perm",
                                        "split",
                                        "shape",
                                        "value_ints",
                                        "starts",
                                        "ends",
                                        "num_outputs",
                                        "transA",
                                        "transBatchA",
                                        "transB",
                                        "reduction",
                                        "pooled_shape",
                                        "output_height",
                                        "gather_axis",
                                        "bits",
                                        "merge_outputs",
                                        "rank",
                                        "inputdimensions",
                                        "n_targets",
                                        "equation",
                                        "scales",
                                        "qkv_hidden_sizes"};
    static const char *const words[] = {"SAME_UPPER", "VALID", "SAME", "none", "bidirectional"};
    uint64_t kind = roll(d, 8), n = roll(d, 8);
    int64_t *ints = kit_capacity(k, 8 * sizeof *ints);
    float *floats = kit_capacity(k, 8 * sizeof *floats);

    attr->name = names[roll(d, UNIT_COUNT(names))];
    for (uint64_t i = 0; i < n; i++) {
        ints[i] = any_number(d);
        floats[i] = (float)any_number(d);
    }
    attr->n = (uint32_t)n;
    if (kind < 3) {
        attr->kind = AS_ATTR_INT;
        attr->i = any_number(d);
    } else if (kind < 6) {
        attr->kind = AS_ATTR_INTS;
        attr->ints = ints;
    } else if (kind == 6) {
        attr->kind = AS_ATTR_FLOATS;
        attr->floats = floats;
    } else {
        const char *word = words[roll(d, UNIT_COUNT(words))];

        attr->kind = AS_ATTR_TEXT;
        attr->text = (struct as_text){word, strlen(word)};
    }
}

static void any_node(struct rule_kit *k, struct dice *d, enum as_op op)
{
    struct as_graph *graph = k->graphs[0];
    struct as_node *node = &graph->nodes[graph->n_nodes++];
    struct as_attr *attrs = kit_capacity(k, 16 * sizeof *attrs);
    uint32_t *ids = kit_capacity(k, 16 * sizeof *ids), n = (uint32_t)roll(d, 9);
    char name[16];

    node->name = node->op_name = as_op_name(op);
    node->domain_name = as_domain_name(as_op_domain(op));
    node->op = op;
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "i%u", i);
        ids[i] = roll(d, 12) ? kit_name(k, name) : AS_NONE;
        if (ids[i] == AS_NONE)
            continue;
        any_input(k, d, &k->model->values[ids[i]]);
        if (!k->model->values[ids[i]].is_initializer)
            kit_push(graph->inputs, &graph->n_inputs, ids[i]);
    }
    node->inputs = ids;
    node->n_inputs = n;
    node->n_outputs = (uint32_t)roll(d, 5);
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        snprintf(name, sizeof name, "o%u", i);
        ids[10 + i] = kit_name(k, name);
    }
    node->outputs = ids + 10;
    node->attrs = attrs;
    for (node->n_attrs = 0; node->n_attrs < 8; node->n_attrs++)
        any_attr(k, d, &attrs[node->n_attrs]);
}

static void check_types(const struct rule_kit *k)
{
    for (uint32_t i = 0; i < k->model->n_values; i++) {
        const struct as_type *type = &k->model->values[i].type;

        assert_true(type->rank <= AS_MAX_RANK);
        for (int a = 0; a < type->rank; a++)
            assert_true(type->dims[a] >= 0 || type->dims[a] == AS_DIM_UNKNOWN);
    }
}

static void no_rule_can_be_led_astray(void **state)
{
    static const struct as_infer_options open = {.keep_unknown = true};
    struct dice d = {1};

    (void)state;
    for (int round = 0; round < 60; round++)
        for (unsigned op = 1; op < AS_OP_COUNT; op++) {
            struct rule_kit k = {0};
            int rc;

            assert_int_equal(as_model_new(&k.model, 64 << 20, &k.err), ASSAY_OK);
            k.model->opset = 7 + (int64_t)roll(&d, 15);
            kit_open(&k, NULL, "main");
            any_node(&k, &d, (enum as_op)op);
            rc = as_model_link(k.model, &k.err);
            assert_int_equal(rc, ASSAY_OK);
            rc = as_infer_shapes(k.model, &open, NULL, &k.err);
            if (rc != ASSAY_OK && rc != ASSAY_ERR_FORMAT)
                fail_msg("%s: %d %s", as_op_name((enum as_op)op), rc, k.err.msg);
            if (rc == ASSAY_OK)
                check_types(&k);
            kit_free(&k);
        }
}

static void every_operator_has_one_rule(void **state)
{
    static const struct as_op_rule *const families[] = {
#define X(name) as_rules_##name,
        AS_RULE_FAMILIES(X)
#undef X
    };
    static unsigned seen[AS_OP_COUNT];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(families); i++)
        for (const struct as_op_rule *rule = families[i]; rule->op != AS_OP_UNKNOWN; rule++)
            seen[rule->op]++;
    for (unsigned op = 1; op < AS_OP_COUNT; op++)
        if (seen[op] != 1)
            fail_msg("%s has %u rules", as_op_name((enum as_op)op), seen[op]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_has_one_rule),
        cmocka_unit_test(no_rule_can_be_led_astray),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
