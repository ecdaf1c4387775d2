/* tests/unit/test_fit.c - the largest batch, context or dimension that a memory holds.
 * Networks of the zoo, so that inference, costs, plan and search are tried together. */
#include "plan_kit.h"

#include "model/memory/fit.h"
#include "model/memory/memory_plan.h"
#include "model/weights/weight_stats.h"
#include "model/zoo/zoo.h"

static struct as_model *open_zoo(const char *name)
{
    struct as_model *model = NULL;

    assert_int_equal(as_zoo_open(&model, name, NULL), ASSAY_OK);
    return model;
}

/* What inference with this batch needs, in the way fit.h promises. */
static uint64_t needed(struct as_model *model, int64_t batch, bool training)
{
    const struct as_infer_options options = {.batch = batch};
    const struct as_train_options train = {.optimizer = AS_OPTIMIZER_ADAM};
    struct as_train_memory memory = {0};
    struct as_memory_plan *plan = NULL;
    struct as_params *params = NULL;
    struct as_costs *costs = NULL;
    uint64_t sum;

    assert_int_equal(as_infer_shapes(model, &options, NULL, NULL), ASSAY_OK);
    assert_int_equal(as_costs_new(&costs, model, NULL), ASSAY_OK);
    assert_int_equal(as_params_new(&params, model, false, NULL), ASSAY_OK);
    assert_int_equal(as_memory_plan_new(&plan, model, costs, NULL), ASSAY_OK);
    assert_int_equal(as_train_memory_count(&memory, model, costs, params, &train, NULL), ASSAY_OK);
    sum = plan->arena_bytes;
    for (int role = 0; role < AS_ROLE_COUNT; role++)
        sum += role == AS_ROLE_UNUSED ? 0 : params->by_role[role].bytes;
    as_memory_plan_free(plan);
    as_params_free(params);
    as_costs_free(costs);
    return training ? memory.peak_bytes : sum;
}

static void the_answer_fits_and_the_next_does_not(void **state)
{
    struct as_model *model = open_zoo("mlp");

    (void)state;
    for (int training = 0; training < 2; training++) {
        uint64_t one = needed(model, 1, training), many = needed(model, 3000, training);
        struct as_fit_question question = {
            .what = AS_FIT_BATCH, .training = training, .train = {.optimizer = AS_OPTIMIZER_ADAM}};
        struct as_fit_answer answer;

        question.memory_bytes = many;
        assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
        assert_true(answer.value >= 3000 && answer.bytes <= many);
        assert_true(answer.exact && !answer.at_max && answer.probes <= 40);
        assert_true(answer.bytes_at_one == one);
        assert_true(needed(model, (int64_t)answer.value, training) == answer.bytes);
        assert_true(needed(model, (int64_t)answer.value + 1, training) > many);
        question.memory_bytes = one - 1; /* not even one */
        assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
        assert_int_equal(answer.value, 0);
        assert_int_equal(answer.bytes, 0);
        assert_true(answer.bytes_at_one == one);
        question.memory_bytes = one; /* just one */
        assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
        assert_true(answer.value >= 1 && answer.bytes == one);
        question.memory_bytes = many;
        question.max = 17;
        assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
        assert_int_equal(answer.value, 17);
        assert_true(answer.at_max);
    }
    as_model_free(model);
}

static void shapes_are_those_of_before_afterwards(void **state)
{
    const struct as_fit_question question = {.what = AS_FIT_BATCH, .memory_bytes = 1 << 30};
    const struct as_infer_options base = {.batch = 5};
    struct as_model *model = open_zoo("mlp");
    struct as_fit_answer answer;
    const struct as_type *type;
    size_t before;

    (void)state;
    assert_int_equal(as_infer_shapes(model, &base, NULL, NULL), ASSAY_OK);
    before = model->arena.used_bytes;
    assert_int_equal(as_fit(&answer, model, &base, &question, NULL), ASSAY_OK);
    type = &model->values[model->main->outputs[0]].type;
    assert_true(type->rank >= 1);
    assert_int_equal(type->dims[0], 5);
    /* what was grown is a few kilobytes a probe */
    assert_true(model->arena.used_bytes - before < (size_t)answer.probes * 16384);
    as_model_free(model);
}

static void a_cache_takes_what_is_left(void **state)
{
    struct as_fit_question question = {.what = AS_FIT_CONTEXT};
    struct as_model *model = open_zoo("llama:layers=2");
    struct as_fit_answer answer;
    struct as_costs *costs = NULL;
    uint64_t rest = needed(model, 0, false), each;

    (void)state;
    assert_int_equal(as_costs_new(&costs, model, NULL), ASSAY_OK);
    each = as_kv_bytes_per_token(&costs->decoder, 16);
    assert_true(each > 0);
    question.memory_bytes = rest + 1000 * each + each - 1;
    assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
    assert_int_equal(answer.value, 1000);
    assert_true(answer.bytes == rest + 1000 * each);
    assert_true(answer.bytes_at_one == rest + each);
    question.kv_bits = 8;
    assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
    assert_true(answer.value >= 2000 && answer.value <= 2002);
    question.memory_bytes = rest - 1;
    assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
    assert_int_equal(answer.value, 0);
    question.memory_bytes = UINT64_MAX;
    assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
    assert_int_equal(answer.value, 2048); /* the decoder's context, however much is left */
    assert_true(answer.at_context && !answer.at_max);
    question.max = 7;
    assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
    assert_int_equal(answer.value, 7);
    assert_true(answer.at_max && !answer.at_context);
    as_costs_free(costs);
    as_model_free(model);
}

static void a_text_does_not_outgrow_the_context(void **state)
{
    struct as_fit_question question = {.what = AS_FIT_DIM, .symbol = "seq"};
    struct as_model *model = open_zoo("gpt2:layers=1,vocab=100,context=50,seq=0,batch=0");
    struct as_fit_answer answer;

    (void)state;
    question.memory_bytes = (uint64_t)1 << 40;
    assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
    assert_int_equal(answer.value, 50);
    assert_true(answer.at_context && !answer.at_max && answer.bytes < question.memory_bytes);
    question.what = AS_FIT_CONTEXT;
    assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
    assert_int_equal(answer.value, 50);
    question.memory_bytes = answer.bytes - 1; /* memory ends before the context does */
    assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
    assert_true(answer.value > 0 && answer.value < 50 && !answer.at_context);
    question = (struct as_fit_question){
        .what = AS_FIT_DIM, .symbol = "batch", .memory_bytes = 1 << 30, .max = 99};
    assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
    assert_int_equal(answer.value, 99); /* the context is no bound of the batch */
    assert_true(answer.at_max && !answer.at_context);
    as_model_free(model);
}

static void weights_alone_have_no_batch(void **state)
{
    const struct as_fit_question question = {.what = AS_FIT_BATCH, .memory_bytes = 1 << 30};
    struct as_model *model = NULL;
    struct as_fit_answer answer;
    struct assay_error err;

    (void)state;
    assert_int_equal(as_zoo_llama_gguf(&model, "llama:layers=1", NULL), ASSAY_OK);
    model->has_graph = false;
    assert_int_equal(as_fit(&answer, model, NULL, &question, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "the file holds weights only, so"));
    as_model_free(model);
}

static void a_shape_fixes_the_batch(void **state)
{
    const struct as_dims dims = {2, {3, 784}};
    const struct as_infer_input input = {.name = "input", .dims = &dims};
    const struct as_infer_options options = {.inputs = &input, .n_inputs = 1, .batch = 4};
    struct as_model *model = open_zoo("mlp");
    struct assay_error err;

    (void)state;
    assert_int_equal(as_infer_shapes(model, &options, NULL, &err), ASSAY_ERR_USAGE);
    assert_non_null(
        strstr(err.msg, "the shape or the file given for input 'input' already fixes the batch"));
    as_model_free(model);
}

static void what_is_not_there_is_said(void **state)
{
    struct as_fit_question question = {.what = AS_FIT_CONTEXT, .memory_bytes = 1 << 30};
    struct as_model *model = open_zoo("mlp");
    struct as_fit_answer answer;
    struct assay_error err;

    (void)state;
    assert_int_equal(as_fit(&answer, model, NULL, &question, &err), ASSAY_ERR_NOTFOUND);
    question = (struct as_fit_question){.what = AS_FIT_DIM, .memory_bytes = 1 << 30};
    assert_int_equal(as_fit(&answer, model, NULL, &question, &err), ASSAY_ERR_USAGE);
    question.symbol = "nosuchdim";
    assert_int_equal(as_fit(&answer, model, NULL, &question, &err), ASSAY_ERR_USAGE);
    as_model_free(model);
}

/* x of n numbers, n not given, and y = Relu(x), or y = x + 8 constants. */
static struct as_model *open_dim(bool sum, const char *const *symbols)
{
    static const float eight[8];
    struct as_dims open_dims = {1, {AS_DIM_UNKNOWN}}, fixed = {1, {8}};
    struct as_model *model = NULL;
    uint32_t *ids, x, w, y;

    assert_int_equal(as_model_new(&model, 0, NULL), ASSAY_OK);
    assert_non_null(as_graph_new(model, NULL, "main", NULL));
    x = as_model_add_value(model, model->main, "x", 1, NULL);
    w = as_model_add_value(model, model->main, "w", 1, NULL);
    y = as_model_add_value(model, model->main, "y", 1, NULL);
    ids = as_arena_zero(&model->arena, 4, sizeof *ids);
    assert_true(ids && y != AS_NONE);
    ids[0] = x;
    ids[1] = w;
    ids[2] = y;
    assert_true(as_type_tensor(&model->values[x].type, &model->arena, AS_DTYPE_F32, &open_dims));
    assert_true(as_type_tensor(&model->values[w].type, &model->arena, AS_DTYPE_F32, &fixed));
    model->values[x].is_input = true;
    model->values[x].symbols = symbols;
    model->values[w].is_initializer = true;
    model->values[w].data = as_data_over(&model->arena, AS_DTYPE_F32, 8, eight);
    assert_int_equal(as_graph_reserve_nodes(model->main, 1, NULL), ASSAY_OK);
    model->main->nodes[0] = (struct as_node){.name = "",
                                             .op_name = sum ? "Add" : "Relu",
                                             .domain_name = "",
                                             .op = sum ? AS_OP_Add : AS_OP_Relu,
                                             .n_inputs = sum ? 2 : 1,
                                             .n_outputs = 1,
                                             .inputs = ids,
                                             .outputs = ids + 2};
    model->main->inputs = ids;
    model->main->outputs = ids + 2;
    model->main->n_inputs = model->main->n_outputs = 1;
    model->opset = 17;
    assert_int_equal(as_model_link(model, NULL), ASSAY_OK);
    return model;
}

static void any_named_dimension_can_be_fitted(void **state)
{
    static const char *const symbols[] = {"n"};
    /* beside what is always held, 8 bytes a step in places of 64 */
    struct as_fit_question question = {.what = AS_FIT_DIM, .symbol = "n", .memory_bytes = 80000};
    const struct as_infer_dim base_dim = {"n", 3};
    const struct as_infer_options base = {.dims = &base_dim, .n_dims = 1};
    struct as_model *model = open_dim(false, symbols);
    struct as_fit_answer answer;

    (void)state;
    assert_int_equal(as_fit(&answer, model, &base, &question, NULL), ASSAY_OK);
    assert_true(answer.value >= 9980 && answer.value <= 10000);
    assert_true(answer.bytes <= 80000 && answer.exact);
    assert_int_equal(model->values[2].type.dims[0], 3);
    question.max = (uint64_t)1 << 62; /* far, but found by few tries */
    question.memory_bytes = (uint64_t)1 << 50;
    assert_int_equal(as_fit(&answer, model, &base, &question, NULL), ASSAY_OK);
    assert_true(answer.value > (uint64_t)1 << 46 && answer.probes <= 40);
    as_model_free(model);
}

static void a_size_that_cannot_work_is_a_bound(void **state)
{
    static const char *const symbols[] = {"n"};
    struct as_fit_question question = {.what = AS_FIT_DIM, .symbol = "n", .memory_bytes = 1 << 30};
    struct as_model *model = open_dim(true, symbols);
    struct as_fit_answer answer;

    (void)state;
    /* 1 and 8 are added to 8, nothing between */
    assert_int_equal(as_fit(&answer, model, NULL, &question, NULL), ASSAY_OK);
    assert_int_equal(answer.value, 1);
    as_model_free(model);
}

/* Saved activations are what the costs say, each tensor once. */
static void training_saves_what_the_costs_say(void **state)
{
    static const char *const names[] = {"resnet18", "mobilenetv2", "mlp"};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(names); i++) {
        const struct as_train_options options = {0};
        struct as_model *model = open_zoo(names[i]);
        struct as_train_memory memory;
        struct as_params *params = NULL;
        struct as_costs *costs = NULL;
        uint64_t sum = 0;

        assert_int_equal(as_infer_shapes(model, NULL, NULL, NULL), ASSAY_OK);
        assert_int_equal(as_costs_new(&costs, model, NULL), ASSAY_OK);
        assert_int_equal(as_params_new(&params, model, false, NULL), ASSAY_OK);
        assert_int_equal(as_train_memory_count(&memory, model, costs, params, &options, NULL),
                         ASSAY_OK);
        for (size_t r = 0; r < costs->n_rows; r++)
            sum += costs->rows[r].saved_bytes * costs->rows[r].times;
        assert_int_equal(memory.saved_bytes, sum);
        assert_true(memory.exact);
        as_params_free(params);
        as_costs_free(costs);
        as_model_free(model);
    }
}

static int fit_again(void *user, struct assay_error *err)
{
    const struct as_fit_question question = {.what = AS_FIT_BATCH, .memory_bytes = 1 << 22};
    struct as_fit_answer answer;

    return as_fit(&answer, user, NULL, &question, err);
}

static void any_allocation_may_fail(void **state)
{
    struct as_model *model = open_zoo("mlp");

    (void)state;
    kit_fail_each(fit_again, model);
    as_model_free(model);
}

static void inference_again_takes_no_more_memory(void **state)
{
    struct as_model *model = open_zoo("mlp");
    struct as_infer_options options = {.batch = 1};
    size_t kept, made;

    (void)state;
    assert_int_equal(as_infer_shapes(model, &options, NULL, NULL), ASSAY_OK);
    kept = model->arena.used_bytes;
    made = model->inference.used_bytes;
    for (options.batch = 2; options.batch < 50; options.batch++)
        assert_int_equal(as_infer_shapes(model, &options, NULL, NULL), ASSAY_OK);
    assert_int_equal(model->arena.used_bytes, kept);
    assert_int_equal(model->inference.used_bytes, made);
    as_model_free(model);
}

/* What does not fit into the limit is said to be the model's size, not a lack of memory. */
static void a_model_past_its_limit_is_called_so(void **state)
{
    struct as_model *model = open_zoo("mlp");
    struct assay_error err = {0};

    (void)state;
    model->arena.max_bytes = model->arena.used_bytes + 64;
    assert_int_equal(as_infer_shapes(model, NULL, NULL, &err), ASSAY_ERR_LIMIT);
    assert_non_null(strstr(err.msg, "the limit for a file of its size"));
    as_model_free(model);
}

static void findings_past_the_last_are_counted(void **state)
{
    struct as_model *model = open_zoo("mlp");

    (void)state;
    assert_int_equal(as_infer_shapes(model, NULL, NULL, NULL), ASSAY_OK);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 2000; i++)
            as_model_find(model, AS_FINDING_NOTE, NULL, NULL, "finding %d", i);
    assert_int_equal(model->n_findings, AS_MAX_FINDINGS);
    assert_int_equal(model->findings->times, 2);
    assert_int_equal(model->findings_lost, 2 * (2000 - AS_MAX_FINDINGS));
    assert_int_equal(as_infer_shapes(model, NULL, NULL, NULL), ASSAY_OK);
    assert_int_equal(model->findings_lost, 0);
    as_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_fits_and_the_next_does_not),
        cmocka_unit_test(shapes_are_those_of_before_afterwards),
        cmocka_unit_test(a_cache_takes_what_is_left),
        cmocka_unit_test(a_text_does_not_outgrow_the_context),
        cmocka_unit_test(weights_alone_have_no_batch),
        cmocka_unit_test(a_shape_fixes_the_batch),
        cmocka_unit_test(what_is_not_there_is_said),
        cmocka_unit_test(any_named_dimension_can_be_fitted),
        cmocka_unit_test(a_size_that_cannot_work_is_a_bound),
        cmocka_unit_test(training_saves_what_the_costs_say),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(inference_again_takes_no_more_memory),
        cmocka_unit_test(a_model_past_its_limit_is_called_so),
        cmocka_unit_test(findings_past_the_last_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
