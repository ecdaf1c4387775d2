/* Constants told apart by their use, counted once, and found again under other names. */
#include "cost_kit.h"

#include "format/model_file.h"

static const struct as_param *find(const struct cost_kit *k, const char *name)
{
    uint32_t id = kit_find(&k->graph, name);

    for (size_t i = 0; i < k->params->n_params; i++)
        if (k->params->params[i].value == id)
            return &k->params->params[i];
    return NULL;
}

static void expect_role(const struct cost_kit *k, const char *name, enum as_role role)
{
    const struct as_param *param = find(k, name);

    if (!param || param->role != role)
        fail_msg("%s is a %s", name, param ? as_role_name(param->role) : "nothing");
}

static void the_slot_tells_the_role(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(
        &k, 15,
        "in x 1x3x8x8; const w 4x3x3x3; const b 4; const s 4; const m 4; const v 4; Conv x,w,b "
        "-> c; BatchNormalization c,s,b,m,v -> n; const sh i64{1,-1}; Reshape n,sh -> f; const "
        "i i64{0,1}; const e 10x4; Gather e,i -> g; const ix i64:10; Gather ix,i -> j; const "
        "two f32=2; Mul g,two -> h; const co bool{1,0,1,0}; Where co,h,two -> y; const lost 7");
    expect_role(&k, "w", AS_ROLE_PARAMETER);
    expect_role(&k, "b", AS_ROLE_PARAMETER);
    expect_role(&k, "s", AS_ROLE_PARAMETER);
    expect_role(&k, "m", AS_ROLE_BUFFER);
    expect_role(&k, "v", AS_ROLE_BUFFER);
    expect_role(&k, "sh", AS_ROLE_INDEX);
    expect_role(&k, "i", AS_ROLE_INDEX);
    expect_role(&k, "ix", AS_ROLE_INDEX);
    expect_role(&k, "e", AS_ROLE_PARAMETER);
    expect_role(&k, "two", AS_ROLE_CONSTANT);
    expect_role(&k, "co", AS_ROLE_MASK);
    expect_role(&k, "lost", AS_ROLE_UNUSED);
    assert_int_equal(k.params->parameters, 108 + 4 + 4 + 40);
    assert_int_equal(k.params->trainable, k.params->parameters);
    assert_int_equal(k.params->frozen, 8);
    assert_int_equal(k.params->shared_uses, 1); /* b */
    assert_int_equal(find(&k, "b")->n_uses, 2);
    assert_string_equal(find(&k, "w")->layer, "Conv");
    assert_string_equal(find(&k, "lost")->layer, "");
    assert_int_equal(k.params->params[k.params->n_params - 1].role, AS_ROLE_UNUSED);
    assert_int_equal(k.params->by_dtype[AS_DTYPE_F32].elems, 108 + 4 + 4 + 40 + 8);
    cost_close(&k);
}

static void quantized_weights_are_parameters(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(
        &k, 13,
        "in x 2x8; const w i8:8x4; const s f32{0.5,0.25,1,2}; const z i8:4; DequantizeLinear w,s,z "
        "-> d axis=1; MatMul x,d -> y; const b i32:4; const bs f32=1; DequantizeLinear b,bs -> "
        "e; Add y,e -> o");
    expect_role(&k, "w", AS_ROLE_PARAMETER);
    expect_role(&k, "b", AS_ROLE_PARAMETER);
    expect_role(&k, "s", AS_ROLE_QUANT);
    expect_role(&k, "z", AS_ROLE_QUANT);
    assert_int_equal(k.params->parameters, 36);
    assert_int_equal(k.params->trainable, 0);
    assert_int_equal(k.params->frozen, 36);
    assert_int_equal(k.params->parameter_bytes, 32 + 16);
    assert_true(fabs(k.params->compression - 36.0 * 4 / (32 + 16 + 16 + 4 + 4)) < 1e-12);
    assert_int_equal(as_constant_behind(k.graph.model, kit_find(&k.graph, "d")),
                     kit_find(&k.graph, "w"));
    assert_int_equal(as_constant_behind(k.graph.model, kit_find(&k.graph, "y")), AS_NONE);
    cost_close(&k);
    cost_open(&k, 1,
              "in x 2x8; const w u8:5x1x4; const s 5; MatMulNBits@com.microsoft x,w,s -> y K=8 "
              "N=5 bits=4 block_size=16");
    assert_int_equal(k.params->parameters, 40);
    assert_int_equal(k.params->parameter_bytes, 20);
    assert_int_equal(find(&k, "w")->stored_elems, 20);
    cost_close(&k);
}

static void numbers_tell_masks_from_biases(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(&k, 13,
              "in x 4; const b f32{0.5,1.5,-2,3}; Add x,b -> a; const z f32{0,0,0,0}; Add a,z -> "
              "c; const "
              "m f32{0,-10000,0,-10000}; Add c,m -> d; const o f32{1,0,1,0}; Mul d,o -> e; const p "
              "f32{0,1,2,3}; Add e,p -> f; const u f32{1,1,1,1}; Mul f,u -> y");
    expect_role(&k, "b", AS_ROLE_PARAMETER);
    expect_role(&k, "z", AS_ROLE_PARAMETER); /* a bias that was not trained yet */
    expect_role(&k, "u", AS_ROLE_PARAMETER);
    expect_role(&k, "m", AS_ROLE_MASK);
    expect_role(&k, "o", AS_ROLE_MASK);
    expect_role(&k, "p", AS_ROLE_BUFFER);
    cost_close(&k);
}

static void made_weights_count_and_are_not_stored(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(&k, 13, "in x 2x8; const s i64{8,4}; ConstantOfShape s -> w; MatMul x,w -> y");
    expect_role(&k, "w", AS_ROLE_PARAMETER);
    assert_true(find(&k, "w")->generated);
    assert_int_equal(find(&k, "w")->stored_elems, 0);
    assert_int_equal(k.params->parameters, 32);
    assert_int_equal(k.params->stored, 0);
    cost_close(&k);
}

/* Numbers that differ, in rows of `columns`; or with rows and columns exchanged. */
static void fill(struct cost_kit *k, const char *name, uint64_t rows, uint64_t columns, bool turned)
{
    struct as_value *value = kit_value(&k->graph, name);

    value->data = as_data_new(&k->graph.model->arena, AS_DTYPE_F32, rows * columns);
    assert_non_null(value->data);
    for (uint64_t i = 0; i < rows * columns; i++) {
        uint64_t row = i / columns, column = i % columns;

        as_data_put_f64(value->data, i,
                        turned ? (double)(column * rows + row) + 0.5 : (double)i + 0.5);
    }
    value->data->generated = false;
    value->data->stored_elems = rows * columns;
    value->data->stored_bytes = 4 * rows * columns;
}

static void copies_are_parameters_of_their_own(void **state)
{
    struct as_params *params;
    struct cost_kit k;
    struct as_value *c;

    (void)state;
    cost_open(&k, 13,
              "in i i64:3; const a 80x64; Gather a,i -> x; const t 64x80; MatMul x,t -> y; const b "
              "80x64; Gather b,i -> z; const c 80x64; Gather c,i -> u; const o 64; const p 64; "
              "Add x,o -> v; Add v,p -> w");
    fill(&k, "a", 80, 64, false);
    fill(&k, "b", 80, 64, false);
    fill(&k, "t", 64, 80, true);
    fill(&k, "o", 1, 64, false);
    fill(&k, "p", 1, 64, false);
    fill(&k, "c", 80, 64, false);
    c = kit_value(&k.graph, "c");
    as_data_put_f64(c->data, 5119, -1); /* only the last number differs */
    for (uint64_t i = 0; i < 64; i++) { /* equal, but only as nothing was trained */
        as_data_put_f64(kit_value(&k.graph, "o")->data, i, 0);
        as_data_put_f64(kit_value(&k.graph, "p")->data, i, 0);
    }
    assert_int_equal(as_params_new(&params, k.graph.model, true, NULL), ASSAY_OK);
    assert_int_equal(params->parameters, 4 * 5120 + 128);
    assert_int_equal(params->trainable, 4 * 5120 + 128);
    assert_int_equal(params->tied_elems, 0);
    assert_int_equal(params->stored, 4 * 5120 + 128);
    assert_int_equal(params->equal_tensors, 3);
    assert_int_equal(params->equal_bytes, 2 * 5120 * 4);
    assert_int_equal(params->params[0].n_equal, 2);
    assert_int_equal(params->params[1].equal_to, 0); /* t: rows and columns exchanged */
    assert_int_equal(params->params[1].elems, 5120);
    assert_int_equal(params->params[2].equal_to, 0);
    assert_int_equal(params->params[3].equal_to, AS_NONE);
    for (size_t i = 0; i < params->n_params; i++)
        assert_int_equal(params->params[i].tied_to, AS_NONE);
    as_params_free(params);
    /* Without a look at the numbers none is known to be equal, and the counts are the same. */
    assert_int_equal(as_params_new(&params, k.graph.model, false, NULL), ASSAY_OK);
    assert_int_equal(params->parameters, 4 * 5120 + 128);
    assert_int_equal(params->equal_tensors, 0);
    as_params_free(params);
    /* Two names of one place are one parameter, and in the file once. */
    kit_value(&k.graph, "b")->data = kit_value(&k.graph, "a")->data;
    assert_int_equal(as_params_new(&params, k.graph.model, true, NULL), ASSAY_OK);
    assert_int_equal(params->parameters, 3 * 5120 + 128);
    assert_int_equal(params->stored, 3 * 5120 + 128);
    assert_int_equal(params->tied_elems, 5120);
    assert_int_equal(params->params[2].tied_to, 0);
    assert_int_equal(params->params[2].equal_to, AS_NONE);
    assert_int_equal(params->equal_tensors, 2);
    assert_int_equal(params->equal_bytes, 5120 * 4);
    as_params_free(params);
    cost_close(&k);
}

/* Without nodes the name and the type are all there is. */
/* Distinct elements of `n` tensors, of which every `kinds`-th is the same. Each tensor is counted
 * as parameters of its own all the same. */
static uint64_t count_alike(uint32_t n, uint32_t kinds, uint64_t columns, bool turned)
{
    struct as_graph *graph;
    struct as_model *model;
    struct as_params *params;
    uint64_t distinct, size = columns * columns;

    assert_int_equal(as_model_new(&model, 0, NULL), ASSAY_OK);
    graph = as_graph_new(model, NULL, "main", NULL);
    assert_non_null(graph);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = as_model_add_value(model, graph, "layer.weight", 12, NULL);
        struct as_dims dims = {2, {(int64_t)columns, (int64_t)columns}};
        struct as_value *value = &model->values[id];

        assert_true(as_type_tensor(&value->type, &model->arena, AS_DTYPE_F32, &dims));
        value->is_initializer = true;
        value->data = as_data_new(&model->arena, AS_DTYPE_F32, size);
        assert_non_null(value->data);
        for (uint64_t k = 0; k < size; k++) {
            uint64_t at = turned && i % 2 ? k % columns * columns + k / columns : k;

            as_data_put_f64(value->data, at, (double)k);
        }
        /* Where they differ the first bytes do not tell. */
        as_data_put_f64(value->data, size - 1, (double)(i % kinds) + 0.5);
    }
    assert_int_equal(as_model_link(model, NULL), ASSAY_OK);
    assert_int_equal(as_params_new(&params, model, true, NULL), ASSAY_OK);
    assert_int_equal(params->parameters, n * size);
    distinct = params->parameters - params->equal_bytes / 4;
    assert_null(model->findings);
    as_params_free(params);
    as_model_free(model);
    return distinct;
}

static void any_number_of_copies_is_found(void **state)
{
    (void)state;
    assert_int_equal(count_alike(20000, 1, 8, false), 64);
    assert_int_equal(count_alike(2000, 100, 20, false), 100 * 400);
    /* Half of them with rows and columns exchanged: the pairs are too many to try. */
    assert_int_equal(count_alike(602, 301, 64, true), 301 * 4096);
    assert_int_equal(count_alike(300, 3, 64, true), 3 * 4096);
}

static void files_without_a_graph_go_by_names(void **state)
{
    static const struct {
        const char *name;
        unsigned dtype;
        enum as_role role;
    } cases[] = {
        {"layer.weight", AS_DTYPE_BF16, AS_ROLE_PARAMETER},
        {"bn.running_mean", AS_DTYPE_F32, AS_ROLE_BUFFER},
        {"bn.num_batches_tracked", AS_DTYPE_I64, AS_ROLE_INDEX},
        {"rotary.inv_freq", AS_DTYPE_F32, AS_ROLE_BUFFER},
        {"rope_freqs.weight", AS_DTYPE_F32, AS_ROLE_BUFFER},
        {"embeddings.position_ids", AS_DTYPE_I64, AS_ROLE_INDEX},
        {"h.0.attn.mask", AS_DTYPE_BOOL, AS_ROLE_MASK},
        {"blk.0.attn_q.weight", AS_DTYPE_Q4_K, AS_ROLE_PARAMETER},
    };
    struct as_params *params;
    struct as_model *model;

    (void)state;
    assert_int_equal(as_model_new(&model, 0, NULL), ASSAY_OK);
    assert_non_null(as_graph_new(model, NULL, "", NULL));
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        uint32_t id =
            as_model_add_value(model, model->main, cases[i].name, strlen(cases[i].name), NULL);
        struct as_dims dims = {1, {256}};

        assert_int_not_equal(id, AS_NONE);
        assert_true(as_type_tensor(&model->values[id].type, &model->arena, cases[i].dtype, &dims));
        model->values[id].is_initializer = true;
    }
    assert_int_equal(as_model_link(model, NULL), ASSAY_OK);
    assert_int_equal(as_params_new(&params, model, true, NULL), ASSAY_OK);
    assert_int_equal(params->n_params, UNIT_COUNT(cases));
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        if (params->params[i].role != cases[i].role)
            fail_msg("%s is a %s", cases[i].name, as_role_name(params->params[i].role));
    assert_int_equal(params->trainable, 256);
    assert_int_equal(params->frozen, 256 + 3 * 256);
    assert_int_equal(params->parameter_bytes, 512 + 144);
    as_params_free(params);
    as_model_free(model);
}

static void a_model_without_weights_has_none(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(&k, 13, "in x 4; Relu x -> y");
    assert_int_equal(k.params->n_params, 0);
    assert_int_equal(k.params->parameters, 0);
    assert_true(isnan(k.params->compression));
    cost_close(&k);
}

/* Counted by an independent reader of the same files. */
static void real_files_have_their_counts(void **state)
{
    static const struct {
        const char *file, *input;
        struct as_dims dims;
        uint64_t stored, parameters, macs;
    } cases[] = {
        {"ppocrv4_det.onnx", "x", {4, {1, 3, 640, 640}}, 1171841, 1171488, 2301935744},
        {"ppocr_cls.onnx", "x", {4, {1, 3, 48, 192}}, 133665, 129356, 16315376},
        {"silero_vad_v5.onnx", "input", {2, {1, 512}}, 545597, 545282, 563968},
        {"mobilenet_v2_qdq.onnx", "image", {4, {1, 3, 224, 224}}, 3488008, 3487816, 300774272},
        {"ddddocr_int8_lstm.onnx", "input1", {4, {1, 1, 64, 160}}, 13520409, 13520258, 569118720},
        {"light_resnet50.onnx", "gpu_0/data_0", {4, {1, 3, 224, 224}}, 2194, 25557032, 4089184256},
        {"light_vgg19.onnx", "data_0", {4, {1, 3, 224, 224}}, 217, 143667240, 19632062464},
    };
    const char *folder = getenv("ASSAY_MODELS");
    size_t seen = 0;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_infer_input input = {.name = cases[i].input, .dims = &cases[i].dims};
        struct as_infer_options options = {.inputs = &input, .n_inputs = 1};
        struct as_model *model = NULL;
        struct as_costs *costs = NULL;
        struct as_params *params = NULL;
        struct assay_error err = {0};
        char path[400];

        snprintf(path, sizeof path, "%s/%s", folder ? folder : "../shared/models", cases[i].file);
        if (as_model_open(&model, path, &err) < 0) {
            if (err.code == ASSAY_ERR_IO || err.code == ASSAY_ERR_NOTFOUND)
                continue;
            fail_msg("%s: %s", path, err.msg);
        }
        seen++;
        if (as_infer_shapes(model, &options, NULL, &err) < 0 ||
            as_costs_new(&costs, model, &err) < 0 || as_params_new(&params, model, true, &err) < 0)
            fail_msg("%s: %s", path, err.msg);
        if (params->stored != cases[i].stored || params->parameters != cases[i].parameters ||
            costs->forward.macs != cases[i].macs)
            fail_msg("%s: %llu stored, %llu parameters, %llu MACs", path,
                     (unsigned long long)params->stored, (unsigned long long)params->parameters,
                     (unsigned long long)costs->forward.macs);
        as_params_free(params);
        as_costs_free(costs);
        as_model_free(model);
    }
    if (seen == 0) {
        print_message("the model set is not here\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slot_tells_the_role),
        cmocka_unit_test(quantized_weights_are_parameters),
        cmocka_unit_test(numbers_tell_masks_from_biases),
        cmocka_unit_test(made_weights_count_and_are_not_stored),
        cmocka_unit_test(copies_are_parameters_of_their_own),
        cmocka_unit_test(any_number_of_copies_is_found),
        cmocka_unit_test(files_without_a_graph_go_by_names),
        cmocka_unit_test(a_model_without_weights_has_none),
        cmocka_unit_test(real_files_have_their_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
