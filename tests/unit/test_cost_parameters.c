/* tests/unit/test_cost_parameters.c - the parameters of the rows: each with the first that uses it,
 * copies once, and all rows together as many as the model has. */
#include "cost_kit.h"

#include "model/zoo/zoo.h"

static void rows_sum_up(const struct as_costs *costs, const struct as_params *params,
                        const char *what)
{
    uint64_t elems = 0, bytes = 0;

    for (size_t i = 0; i < costs->n_rows; i++) {
        elems += costs->rows[i].parameters;
        bytes += costs->rows[i].parameter_bytes;
    }
    if (elems != params->parameters || bytes != params->parameter_bytes)
        fail_msg("%s: the rows have %llu parameters, the model %llu", what,
                 (unsigned long long)elems, (unsigned long long)params->parameters);
}

static void open_attributed(struct cost_kit *k, const char *text)
{
    cost_open(k, 17, text);
    assert_int_equal(as_costs_attribute(k->costs, k->graph.model, k->params, NULL), ASSAY_OK);
    rows_sum_up(k->costs, k->params, text);
}

/* Numbers that differ; turned: with rows and columns exchanged. */
static void fill(struct cost_kit *k, const char *name, uint64_t rows, uint64_t columns, bool turned)
{
    struct as_value *value = kit_value(&k->graph, name);

    value->data = as_data_new(&k->graph.model->arena, AS_DTYPE_F32, rows * columns);
    assert_non_null(value->data);
    for (uint64_t i = 0; i < rows * columns; i++)
        as_data_put_f64(value->data, i,
                        turned ? (double)(i % columns * rows + i / columns) : (double)i);
}

/* An embedding and a head with the same numbers, stored twice, are two; of one place they are one.
 */
static void a_tied_head_belongs_to_the_embedding(void **state)
{
    struct as_params *params;
    struct cost_kit k;

    (void)state;
    cost_open(&k, 17,
              "in i i64:3; const e 64x64; Gather e,i -> x; const w 64x64; MatMul x,w -> a; "
              "const t 64x64; MatMul a,t -> y");
    fill(&k, "e", 64, 64, false);
    fill(&k, "t", 64, 64, false);
    assert_int_equal(as_params_new(&params, k.graph.model, true, NULL), ASSAY_OK);
    assert_int_equal(params->parameters, 3 * 4096);
    assert_int_equal(params->equal_tensors, 2);
    assert_int_equal(as_costs_attribute(k.costs, k.graph.model, params, NULL), ASSAY_OK);
    assert_int_equal(k.costs->rows[2].parameters, 4096);
    rows_sum_up(k.costs, params, "an equal head");
    as_params_free(params);
    kit_value(&k.graph, "t")->data = kit_value(&k.graph, "e")->data;
    assert_int_equal(as_params_new(&params, k.graph.model, true, NULL), ASSAY_OK);
    assert_int_equal(params->parameters, 2 * 4096);
    assert_int_equal(as_costs_attribute(k.costs, k.graph.model, params, NULL), ASSAY_OK);
    assert_int_equal(k.costs->rows[0].parameters, 4096);
    assert_false(k.costs->rows[0].shares_parameters);
    assert_int_equal(k.costs->rows[1].parameters, 4096);
    assert_int_equal(k.costs->rows[2].parameters, 0);
    assert_true(k.costs->rows[2].shares_parameters);
    rows_sum_up(k.costs, params, "a tied head");
    as_params_free(params);
    cost_close(&k);
}

/* Two weights multiplied, a third added: computed when the model is loaded. */
static void what_is_made_from_constants_costs_nothing_at_run_time(void **state)
{
    struct cost_kit k;

    (void)state;
    open_attributed(&k, "in x 2x512; const a 512x4; const b 4x512; const w 512x512; "
                        "MatMul a,b -> d; Add w,d -> e; MatMul x,e -> y");
    assert_true(k.costs->rows[0].constant);
    assert_true(k.costs->rows[1].constant);
    assert_false(k.costs->rows[2].constant);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(as_cost_flops(&k.costs->rows[i].forward), 0);
        assert_int_equal(k.costs->rows[i].forward.bytes_read, 0);
        assert_int_equal(k.costs->rows[i].output_bytes, 0);
        assert_int_equal(k.costs->rows[i].parameters, 0);
    }
    assert_int_equal(k.costs->forward.macs, 2 * 512 * 512);
    assert_int_equal(k.costs->rows[2].parameters, 512 * 512 + 2 * 4 * 512);
    /* A training step changes them, and so goes through all. */
    assert_int_equal(k.costs->rows[0].backward.macs, 2 * 512 * 512 * 4);
    cost_close(&k);
}

static void a_dequantized_weight_is_constant_an_activation_is_not(void **state)
{
    struct cost_kit k;

    (void)state;
    open_attributed(&k, "in x 1x512; const s f32=0.1; const z i8=0; QuantizeLinear x,s,z -> q; "
                        "DequantizeLinear q,s,z -> d; const w i8:512x512; const u f32=0.1; "
                        "const v i8=0; DequantizeLinear w,u,v -> e; MatMul d,e -> y");
    assert_false(k.costs->rows[0].constant);
    assert_false(k.costs->rows[1].constant);
    assert_true(k.costs->rows[2].constant);
    assert_int_equal(k.costs->rows[2].forward.elementwise, 0);
    assert_int_equal(k.costs->forward.elementwise, 5 * 512 + 2 * 512);
    assert_int_equal(k.costs->rows[3].parameters, 512 * 512);
    cost_close(&k);
}

static void numbers_that_change_every_time_are_no_constants(void **state)
{
    struct cost_kit k;

    (void)state;
    open_attributed(&k, "const s f32:600x600; in x 600; RandomNormalLike s -> r; Add r,x -> y");
    assert_false(k.costs->rows[0].constant);
    assert_true(k.costs->rows[0].forward.bytes_written > 0);
    cost_close(&k);
}

static void every_parameter_has_a_row(void **state)
{
    static const char *const texts[] = {
        "in x 4x8; const w 8x8; Transpose w -> t; MatMul x,t -> y; MatMul y,t -> z; MatMul z,w -> "
        "u",
        /* the product of two constants used by two rows */
        "in x 4x8; const a 8x8; const b 8x8; MatMul a,b -> c; MatMul x,c -> y; MatMul y,c -> z",
        /* handed on to an output; never used */
        "const layer.weight 8x8; Transpose layer.weight -> y; out y",
        "const a 8x8; const b 8x8; MatMul a,b -> y; out y",
        "in x 4x8; in c bool:scalar; const w 8x8; graph yes; MatMul x,w -> a; out a; end; graph "
        "no; "
        "const v 8x8; MatMul x,v -> b; out b; end; If c -> r then_branch=@yes else_branch=@no",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        struct cost_kit k;

        open_attributed(&k, texts[i]);
        cost_close(&k);
    }
}

static void the_rows_of_every_built_in_model_sum_up(void **state)
{
    (void)state;
    for (size_t i = 0; as_zoo_at(i); i++) {
        struct as_model *model = NULL;
        struct as_params *params = NULL;
        struct as_costs *costs = NULL;
        struct assay_error err = {0};

        if (as_zoo_open(&model, as_zoo_at(i)->name, &err) < 0 ||
            as_infer_shapes(model, NULL, NULL, &err) < 0 || as_costs_new(&costs, model, &err) < 0 ||
            as_params_new(&params, model, false, &err) < 0 ||
            as_costs_attribute(costs, model, params, &err) < 0)
            fail_msg("%s: %s", as_zoo_at(i)->name, err.msg);
        assert_true(params->parameters > 0);
        rows_sum_up(costs, params, as_zoo_at(i)->name);
        as_costs_free(costs);
        as_params_free(params);
        as_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tied_head_belongs_to_the_embedding),
        cmocka_unit_test(what_is_made_from_constants_costs_nothing_at_run_time),
        cmocka_unit_test(a_dequantized_weight_is_constant_an_activation_is_not),
        cmocka_unit_test(numbers_that_change_every_time_are_no_constants),
        cmocka_unit_test(every_parameter_has_a_row),
        cmocka_unit_test(the_rows_of_every_built_in_model_sum_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
