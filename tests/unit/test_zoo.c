/* The zoo: the published parameter counts to the last digit, keys, and what a wrong spec is told.
 */
#include "unit.h"

#include "model/cost/cost.h"
#include "model/infer/infer.h"
#include "model/weights/parameters.h"
#include "model/zoo/zoo.h"

/* A model of the zoo, inferred and counted. */
struct counted {
    struct as_model *model;
    struct as_costs *costs;
    struct as_params *params;
};

static struct counted count(const char *spec)
{
    struct counted c = {0};
    struct assay_error err = {0};

    if (as_zoo_open(&c.model, spec, &err) < 0 || as_infer_shapes(c.model, NULL, NULL, &err) < 0 ||
        as_costs_new(&c.costs, c.model, &err) < 0 ||
        as_params_new(&c.params, c.model, false, &err) < 0)
        fail_msg("%s: %s", spec, err.msg);
    return c;
}

static void count_fini(struct counted *c)
{
    as_params_free(c->params);
    as_costs_free(c->costs);
    as_model_free(c->model);
}

static void zoo_counts_are_the_published_ones(void **state)
{
    static const struct {
        const char *spec;
        uint64_t parameters, buffers, macs;
    } cases[] = {
        {"zoo:alexnet", 61100840, 0, 714188480},
        {"zoo:vgg16", 138357544, 0, 15470264320},
        {"vgg19", 143667240, 0, 19632062464},
        {"resnet18", 11689512, 9600, 1814073344},
        {"resnet34", 21797672, 17024, 3663761408},
        {"resnet50", 25557032, 53120, 4089184256},
        {"resnet50:batch=4", 25557032, 53120, UINT64_C(4) * 4089184256},
        {"mobilenetv2", 3504872, 34112, 300774272},
        {"mobilenet_v2", 3504872, 34112, 300774272},
        {"mobilenet_v3_large", 5483032, 24400, 216589760},
        {"googlenet", 6624904, 14560, 1498376192},
        {"squeezenet1_1", 1235496, 0, 349151936},
        {"vit_b_16", 86567656, 0, 17563828224},
        {"vit_b_16:batch=3", 86567656, 0, UINT64_C(3) * 17563828224},
        {"bert-base", 109482240, 0, 11174215680},
        {"bert-base:seq=0,batch=0", 109482240, 0, 11174215680},
        {"gpt2", 124439808, 0, 145824153600},
        {"gpt2:seq=8", 124439808, 0, 989435904},
        /* By hand: weights but for the table and norms once a token, and two products a layer. */
        {"llama:layers=32,width=4096,heads=32,kv_heads=8,ffn=14336,vocab=128256,seq=1024",
         8030261248, 0, 7959648141312},
        {"lstm-tagger", 1280000 + 2 * 4 * 128 * (128 + 128 + 2) + 257 * 17, 0,
         32 * (2 * 4 * 128 * (128 + 128) + 256 * 17)},
        {"mlp", 785 * 256 + 257 * 256 + 257 * 10, 0, 784 * 256 + 256 * 256 + 2560},
        {"mlp:inputs=128,hidden=64,layers=1", 129 * 64 + 65 * 10, 0, 17664 / 2},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct counted c = count(cases[i].spec);

        if (c.params->parameters != cases[i].parameters ||
            c.params->by_role[AS_ROLE_BUFFER].elems != cases[i].buffers ||
            c.costs->forward.macs != cases[i].macs || c.costs->n_unknown_ops ||
            c.costs->n_unknown_shapes || c.params->tied_elems)
            fail_msg("%s: %llu parameters, %llu buffers, %llu MACs", cases[i].spec,
                     (unsigned long long)c.params->parameters,
                     (unsigned long long)c.params->by_role[AS_ROLE_BUFFER].elems,
                     (unsigned long long)c.costs->forward.macs);
        count_fini(&c);
    }
}

static void attention_of_the_zoo_is_found(void **state)
{
    static const struct {
        const char *spec, *kind;
        size_t n;
        uint64_t macs, projections; /* of all */
        bool causal;
    } cases[] = {
        {"vit_b_16", "MHA", 12, 715327488, 12 * UINT64_C(464781312), false},
        {"bert-base", "MHA", 12, 301989888, 12 * UINT64_C(301989888), false},
        {"gpt2", "MHA", 12, 19327352832, 12 * UINT64_C(2415919104), true},
        {"llama", "GQA", 4, 4 * 2 * 128 * 128 * 256, 4 * 128 * 256 * (256 + 128) * 2, true},
        {"llama:kv_heads=1", "MQA", 4, 4 * 2 * 128 * 128 * 256, 4 * 128 * 256 * (256 + 32) * 2,
         true},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct counted c = count(cases[i].spec);
        uint64_t macs = 0, projections = 0;

        assert_int_equal(c.costs->n_attentions, cases[i].n);
        for (size_t k = 0; k < cases[i].n; k++) {
            assert_string_equal(as_attention_kind(&c.costs->attentions[k]), cases[i].kind);
            assert_int_equal(c.costs->attentions[k].causal, cases[i].causal);
            macs += c.costs->attentions[k].macs;
            projections += c.costs->attentions[k].projection_macs;
        }
        assert_int_equal(macs, cases[i].macs);
        assert_int_equal(projections, cases[i].projections);
        count_fini(&c);
    }
}

/* What the builder says of its outputs is what inference finds. */
static void shapes_of_builder_and_inference_agree(void **state)
{
    (void)state;
    for (size_t i = 0; as_zoo_at(i); i++) {
        struct counted c = count(as_zoo_at(i)->name);
        const struct as_graph *graph = c.model->main;

        for (uint32_t k = 0; k < graph->n_outputs; k++) {
            const struct as_value *v = &c.model->values[graph->outputs[k]];

            assert_true(as_type_is_static(&v->type));
            assert_true(as_type_equal(&v->type, &v->declared));
        }
        count_fini(&c);
    }
}

/* Equal tensors would be a finding. */
static void no_two_weights_are_equal(void **state)
{
    static const char *const specs[] = {"resnet18", "bert-base:layers=1,vocab=50", "lstm-tagger"};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(specs); i++) {
        struct counted c = count(specs[i]);
        struct as_params *looked = NULL;

        assert_int_equal(as_params_new(&looked, c.model, true, NULL), ASSAY_OK);
        assert_int_equal(looked->equal_tensors, 0);
        assert_int_equal(looked->parameters, c.params->parameters);
        as_params_free(looked);
        count_fini(&c);
    }
}

static void zoo_keys_change_the_model(void **state)
{
    struct counted c = count("zoo:resnet18:classes=10,batch=4");
    struct as_model *model = NULL;
    const struct as_value *in;

    (void)state;
    in = &c.model->values[c.model->main->inputs[0]];
    assert_int_equal(in->type.dims[0], 4);
    assert_int_equal(c.params->parameters, 11689512 - 990 * 513);
    count_fini(&c);
    assert_int_equal(as_zoo_open(&model, "zoo:resnet18:batch=0", NULL), ASSAY_OK);
    in = &model->values[model->main->inputs[0]];
    assert_true(in->type.dims[0] == AS_DIM_UNKNOWN);
    assert_string_equal(in->symbols[0], "batch");
    as_model_free(model);
}

/* Other sizes than those it was built for, as a user of a file would ask. */
static void zoo_takes_other_sizes_later(void **state)
{
    static const char *const specs[] = {
        "resnet18",     "vit_b_16:layers=1", "bert-base:layers=1", "gpt2:layers=1,seq=16",
        "llama:tied=1", "lstm-tagger",       "llama:kv_heads=0"};
    const struct as_infer_options eight = {.batch = 8};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(specs); i++) {
        struct counted c = count(specs[i]);
        struct as_costs *more = NULL;
        struct assay_error err = {0};

        if (as_infer_shapes(c.model, &eight, NULL, &err) < 0 ||
            as_costs_new(&more, c.model, &err) < 0)
            fail_msg("%s: %s", specs[i], err.msg);
        assert_int_equal(more->batch, 8);
        assert_int_equal(more->forward.macs, 8 * c.costs->forward.macs);
        as_costs_free(more);
        count_fini(&c);
    }
}

static void zoo_says_what_is_wrong_with_a_spec(void **state)
{
    static const struct {
        const char *spec, *part;
    } cases[] = {
        {"zoo:resnet51", "did you mean"},
        {"zoo:", "the zoo has no ''"},
        {"zoo:resnet18:color=3", "has no key 'color'; it has: classes, size, batch, seed"},
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
        cmocka_unit_test(zoo_counts_are_the_published_ones),
        cmocka_unit_test(attention_of_the_zoo_is_found),
        cmocka_unit_test(shapes_of_builder_and_inference_agree),
        cmocka_unit_test(no_two_weights_are_equal),
        cmocka_unit_test(zoo_takes_other_sizes_later),
        cmocka_unit_test(zoo_keys_change_the_model),
        cmocka_unit_test(llama_has_the_names_of_gguf),
        cmocka_unit_test(zoo_says_what_is_wrong_with_a_spec),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
