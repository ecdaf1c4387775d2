/* The zoo: the published parameter counts to the last digit, keys, and what a wrong spec is told.
 */
#include "unit.h"

#include "model/zoo.h"

/* Elements of the trained tensors: all constants but integers, single numbers and running sums. */
static uint64_t parameters(const struct as_model *model, bool with_running)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < model->n_values; i++) {
        const struct as_value *v = &model->values[i];
        uint64_t n;

        if (!v->is_initializer || !as_dtype_is_float(v->type.dtype) || v->type.rank == 0)
            continue;
        if (!with_running && strstr(v->name, ".running_"))
            continue;
        assert_true(as_type_elems(&v->type, &n));
        sum += n;
    }
    return sum;
}

static void zoo_parameters_are_the_published_ones(void **state)
{
    static const struct {
        const char *spec;
        uint64_t parameters, stored;
    } cases[] = {
        {"zoo:alexnet", 61100840, 61100840},
        {"zoo:vgg16", 138357544, 138357544},
        {"vgg19", 143667240, 143667240},
        {"resnet18", 11689512, 11699112},
        {"resnet34", 21797672, 21814696},
        {"resnet50", 25557032, 25610152},
        {"mobilenetv2", 3504872, 3538984},
        {"mobilenet_v2", 3504872, 3538984},
        {"squeezenet1_1", 1235496, 1235496},
        {"vit_b_16", 86567656, 86567656},
        {"bert-base", 109482240, 109482240},
        {"gpt2", 124439808, 124439808},
        {"gpt2:seq=8", 124439808, 124439808},
        {"gpt2:seq=0,batch=0", 124439808, 124439808},
        {"llama:layers=32,width=4096,heads=32,kv_heads=8,ffn=14336,vocab=128256", 8030261248,
         8030261248},
        {"lstm-tagger", 1280000 + 2 * 4 * 128 * (128 + 128 + 2) + 257 * 17,
         1280000 + 2 * 4 * 128 * (128 + 128 + 2) + 257 * 17},
        {"mlp", 785 * 256 + 257 * 256 + 2570, 785 * 256 + 257 * 256 + 2570},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_model *model = NULL;
        struct assay_error err = {0};

        if (as_zoo_open(&model, cases[i].spec, &err) < 0)
            fail_msg("%s: %s", cases[i].spec, err.msg);
        if (parameters(model, false) != cases[i].parameters ||
            parameters(model, true) != cases[i].stored)
            fail_msg("%s has %llu parameters, %llu stored", cases[i].spec,
                     (unsigned long long)parameters(model, false),
                     (unsigned long long)parameters(model, true));
        as_model_free(model);
    }
}

static void zoo_keys_change_the_model(void **state)
{
    struct as_model *model = NULL;
    const struct as_value *in;

    (void)state;
    assert_int_equal(as_zoo_open(&model, "zoo:resnet18:classes=10,batch=4", NULL), ASSAY_OK);
    in = &model->values[model->main->inputs[0]];
    assert_int_equal(in->type.dims[0], 4);
    assert_int_equal(parameters(model, false), 11689512 - 990 * 513);
    as_model_free(model);
    assert_int_equal(as_zoo_open(&model, "zoo:resnet18:batch=0", NULL), ASSAY_OK);
    in = &model->values[model->main->inputs[0]];
    assert_true(in->type.dims[0] == AS_DIM_UNKNOWN);
    assert_string_equal(in->symbols[0], "batch");
    as_model_free(model);
}

static void zoo_says_what_is_wrong_with_a_spec(void **state)
{
    static const struct {
        const char *spec, *part;
    } cases[] = {
        {"zoo:resnet51", "did you mean"},
        {"zoo:", "the zoo has no ''"},
        {"zoo:resnet18:colour=3", "has no key 'colour'; it has: classes, size, batch, seed"},
        {"zoo:resnet18:batch", "needs a value"},
        {"zoo:resnet18:batch=-1", "whole number from 0"},
        {"zoo:resnet18:batch=", "whole number"},
        {"zoo:resnet18:batch=9999999999999999999999", "whole number"},
        {"zoo:alexnet:size=32", "larger than its input"},
        {"zoo:llama:kv_heads=3", "must divide 8 heads"},
        {"zoo:llama:dtype=q4", "one of f32, f16"},
        {"zoo:gpt2:heads=7", "cannot be shared by 7 heads"},
        {"zoo:bert-base:seq=513", "longer than the context, 512"},
        {"zoo:vit_b_16:size=100", "multiple of 16"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_model *model = NULL;
        struct assay_error err = {0};

        assert_int_equal(as_zoo_open(&model, cases[i].spec, &err), ASSAY_ERR_USAGE);
        if (!strstr(err.msg, cases[i].part))
            fail_msg("%s: %s", cases[i].spec, err.msg);
        assert_null(model);
    }
}

static const struct as_value *value_of(const struct as_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->n_values; i++)
        if (strcmp(model->values[i].name, name) == 0)
            return &model->values[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static void llama_has_the_names_of_gguf(void **state)
{
    struct as_model *model = NULL;
    struct assay_error err = {0};
    const struct as_value *v;

    (void)state;
    assert_int_equal(as_zoo_llama_gguf(&model, "zoo:llama:dtype=f16,layers=2", &err), ASSAY_OK);
    assert_false(model->has_graph);
    assert_string_equal(model->decoder.architecture, "llama");
    assert_int_equal(model->decoder.kv_heads, 4);
    v = value_of(model, "blk.1.attn_k.weight");
    assert_int_equal(v->type.dims[0], 128);
    assert_int_equal(v->type.dims[1], 256);
    assert_int_equal(v->type.dtype, AS_DTYPE_F16);
    assert_int_equal(value_of(model, "output_norm.weight")->type.dtype, AS_DTYPE_F32);
    as_model_free(model);
    model = NULL;
    assert_int_equal(as_zoo_llama_gguf(&model, "zoo:gpt2", &err), ASSAY_ERR_USAGE);
    assert_null(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zoo_parameters_are_the_published_ones),
        cmocka_unit_test(zoo_keys_change_the_model),
        cmocka_unit_test(llama_has_the_names_of_gguf),
        cmocka_unit_test(zoo_says_what_is_wrong_with_a_spec),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
