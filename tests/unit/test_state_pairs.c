/* State pairs: names that mean one state, those that do not, types that must fit, and what a user
 * may say. */
#include "unit.h"

#include "measure/tokens/token_inputs.h"
#include "model/build/builder.h"
#include "model/zoo/zoo.h"

static void names_of_one_state_match(void **state)
{
    static const char *const same[][2] = {
        {"past_key_values.0.key", "present.0.key"},
        {"past_key_values.11.value", "present_key_values.11.value"},
        {"past_0", "present_0"},
        {"past.3", "present.3"},
        {"past7", "present7"},
        {"decoder.past.0", "decoder.present.0"},
        {"state", "stateN"},
        {"state", "state_out"},
        {"state", "new_state"},
        {"h0", "hn"},
        {"c0", "cn"},
        {"hidden_in", "hidden_out"},
        {"in_cell", "out_cell"},
        {"old_h", "new_h"},
        {"initial_h", "final_h"},
        {"input_state", "output_state"},
    };
    static const char *const other[][2] = {
        {"past_0", "present_1"},
        {"past_key_values.1.key", "present.1.value"},
        {"past_1", "present_11"},
        {"input", "outputN"},
        {"input", "output"},
        {"input_ids", "output_ids"},
        {"state", "state"},
        {"past_0", "past_0"},
        {"repast", "represent"},
        {"h", "hn2"},
        {"", ""},
        {"past", ""},
        {"mask", "maskN"},
        {"image", "new_image"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(same); i++)
        if (!as_state_names_match(same[i][0], same[i][1]))
            fail_msg("%s and %s", same[i][0], same[i][1]);
    for (size_t i = 0; i < UNIT_COUNT(other); i++)
        if (as_state_names_match(other[i][0], other[i][1]))
            fail_msg("%s and %s", other[i][0], other[i][1]);
}

/* A model whose inputs go straight through to outputs of other names. */
struct wire {
    const char *input, *output;
    unsigned dtype;
    int64_t in, out; /* the last dimension */
};

static struct as_model *wired(const struct wire *wires, size_t n)
{
    struct as_model *model = NULL;
    struct as_builder b;

    assert_int_equal(as_model_new(&model, 0, NULL), ASSAY_OK);
    as_builder_init(&b, model, 1);
    for (size_t i = 0; i < n; i++) {
        struct as_dims in = {2, {1, wires[i].in}}, out = {2, {1, wires[i].out}};
        uint32_t x = as_build_input(&b, wires[i].input, wires[i].dtype, &in, NULL);
        struct as_build_node node = {.op = "Identity", AS_BUILD_IN(x)};

        as_build_output(&b, as_build_one(&b, &node, &out), wires[i].output);
    }
    assert_int_equal(as_builder_finish(&b, NULL), ASSAY_OK);
    as_builder_fini(&b);
    return model;
}

static void types_must_fit(void **state)
{
    static const struct wire wires[] = {
        {"past_0", "present_0", AS_DTYPE_F32, 4, 4},
        {"past_1", "present_1", AS_DTYPE_F32, 4, 5},
        {"past_2", "present_2", AS_DTYPE_F32, 4, 3},
    };
    struct as_model *model = wired(wires, UNIT_COUNT(wires));
    struct as_state_pairs pairs;

    (void)state;
    assert_int_equal(as_state_pairs_find(&pairs, model, NULL, 0, NULL), ASSAY_OK);
    assert_int_equal(pairs.n, 2);
    assert_false(pairs.at[0].growing);
    assert_true(pairs.at[1].growing);
    assert_int_equal(pairs.n_loops, 1);
    assert_string_equal(pairs.loops[0].input, "past_0");
    as_state_pairs_fini(&pairs);
    as_model_free(model);
}

static void what_is_ambiguous_is_left_alone(void **state)
{
    static const struct wire wires[] = {
        {"state", "stateN", AS_DTYPE_F32, 4, 4},
        {"other", "state_out", AS_DTYPE_F32, 4, 4},
    };
    struct as_model *model = wired(wires, UNIT_COUNT(wires));
    const char *given[] = {"stateN=state"};
    struct as_state_pairs pairs;

    (void)state;
    assert_int_equal(as_state_pairs_find(&pairs, model, NULL, 0, NULL), ASSAY_OK);
    assert_int_equal(pairs.n, 0);
    as_state_pairs_fini(&pairs);
    assert_int_equal(as_state_pairs_find(&pairs, model, given, 1, NULL), ASSAY_OK);
    assert_int_equal(pairs.n, 1);
    assert_true(pairs.at[0].given);
    assert_string_equal(pairs.at[0].output, "stateN");
    as_state_pairs_fini(&pairs);
    as_model_free(model);
}

static void wrong_pairs_are_refused(void **state)
{
    static const struct wire wires[] = {
        {"a=b", "c", AS_DTYPE_F32, 4, 4},
        {"i", "j", AS_DTYPE_I64, 4, 4},
        {"k", "l", AS_DTYPE_F32, 4, 3},
    };
    static const struct {
        const char *given[2];
        size_t n;
        const char *part;
    } cases[] = {
        {{"c", NULL}, 1, "OUTPUT=INPUT"},    {{"c=x", NULL}, 1, "does not name"},
        {{"x=i", NULL}, 1, "does not name"}, {{"c=i", NULL}, 1, "does not fit"},
        {{"l=k", NULL}, 1, "does not fit"},  {{"c=a=b", "c=a=b"}, 2, "another pair"},
        {{"=", NULL}, 1, "does not name"},
    };
    struct as_model *model = wired(wires, UNIT_COUNT(wires));
    const char *fine[] = {"c=a=b"};
    struct as_state_pairs pairs;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct assay_error err = {0};

        assert_int_equal(as_state_pairs_find(&pairs, model, cases[i].given, cases[i].n, &err),
                         ASSAY_ERR_USAGE);
        if (!strstr(err.msg, cases[i].part))
            fail_msg("%s: %s", cases[i].given[0], err.msg);
        assert_int_equal(pairs.n, 0);
    }
    assert_int_equal(as_state_pairs_find(&pairs, model, fine, 1, NULL), ASSAY_OK);
    assert_int_equal(pairs.n, 1);
    assert_string_equal(pairs.at[0].input, "a=b");
    as_state_pairs_fini(&pairs);
    as_model_free(model);
}

static void decoders_of_the_zoo_are_paired(void **state)
{
    static const struct {
        const char *spec;
        size_t n, n_loops;
    } cases[] = {
        {"llama:past=-1,seq=0,layers=3", 6, 6},
        {"gpt2:past=-1,seq=0,layers=2,vocab=10", 4, 4},
        {"llama:past=7,seq=1,layers=2", 4, 0},
        {"llama", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_state_pairs pairs;
        struct as_model *model;

        assert_int_equal(as_zoo_open(&model, cases[i].spec, NULL), ASSAY_OK);
        assert_int_equal(as_infer_shapes(model, NULL, NULL, NULL), ASSAY_OK);
        assert_int_equal(as_state_pairs_find(&pairs, model, NULL, 0, NULL), ASSAY_OK);
        assert_int_equal(pairs.n, cases[i].n);
        assert_int_equal(pairs.n_loops, cases[i].n_loops);
        as_state_pairs_fini(&pairs);
        as_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_one_state_match),
        cmocka_unit_test(types_must_fit),
        cmocka_unit_test(what_is_ambiguous_is_left_alone),
        cmocka_unit_test(wrong_pairs_are_refused),
        cmocka_unit_test(decoders_of_the_zoo_are_paired),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
