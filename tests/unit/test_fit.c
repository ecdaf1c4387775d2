/* tests/unit/test_fit.c - the largest batch, context or dimension that a memory holds.
 * Networks of the zoo, so that inference, costs, plan and search are tried together. */
#include "plan_kit.h"

#include "model/fit.h"
#include "model/memory_plan.h"
#include "model/weight_stats.h"
#include "model/zoo.h"

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
    assert_int_equal(answer.value, 1 << 20);
    assert_true(answer.at_max);
    as_costs_free(costs);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_fits_and_the_next_does_not),
        cmocka_unit_test(shapes_are_those_of_before_afterwards),
        cmocka_unit_test(a_cache_takes_what_is_left),
        cmocka_unit_test(what_is_not_there_is_said),
        cmocka_unit_test(training_saves_what_the_costs_say),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
