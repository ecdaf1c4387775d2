/* tests/unit/test_onednn_pack.c - weights packed slice by slice are those packed at once, byte for
 * byte, wherever their numbers come from. */
#include "base/alloc.h"
#include "engine/onednn/onednn.h"
#include "model/weights/seeded_data.h"
#include "onednn_kit.h"

/* A program with nothing in it but the library. */
struct bench {
    struct as_exec_plan p;
    struct as_engine_options options;
    struct as_step step;
    struct as_dnn d;
    struct assay_error err;
};

static bool bench_open(struct bench *b)
{
    *b = (struct bench){.options = {.threads = 1}};
    b->p.options = &b->options;
    assert_int_equal(as_model_new(&b->p.model, 0, &b->err), ASSAY_OK);
    if (as_onednn_open(&b->p, &b->err) < 0) {
        as_model_free(b->p.model);
        return false;
    }
    b->d = (struct as_dnn){
        .p = &b->p, .step = &b->step, .lib = b->p.library, .err = &b->err, .state = NULL};
    b->d.state = as_dnn_state_new(b->d.lib, &b->p.mem);
    assert_non_null(b->d.state);
    return true;
}

static void bench_close(struct bench *b)
{
    as_dnn_state_free(b->d.state);
    assert_int_equal(b->p.mem.all.current_bytes, 0);
    as_onednn_close(&b->p);
    as_model_free(b->p.model);
    as_arena_fini(&b->p.arena);
}

struct shape {
    const char *what;
    int n;
    dnnl_dims_t dims;
    int order[5]; /* axes from the slowest to the fastest, as stored */
    dnnl_format_tag_t tag;
    uint64_t bytes; /* of a slice */
    int64_t step;   /* what comes of it */
};

static const struct shape shapes[] = {
    {"columns in blocks", 2, {64, 256}, {1, 0}, dnnl_BA16a64b, 16384, 64},
    {"columns, both cut", 2, {37, 201}, {1, 0}, dnnl_BA16a64b, 20000, 128},
    {"rows in blocks", 2, {96, 128}, {0, 1}, dnnl_BA16a64b, 10000, 16},
    {"rows, both cut", 2, {101, 67}, {0, 1}, dnnl_BA16a64b, 9000, 32},
    {"blocks of 48", 2, {50, 150}, {1, 0}, dnnl_BA16a48b, 1, 48},
    {"turned only", 2, {33, 71}, {1, 0}, dnnl_ab, 1000, 7},
    {"filters", 4, {96, 32, 3, 3}, {0, 1, 2, 3}, dnnl_ABcd16b16a, 40000, 32},
    {"filters, cut", 4, {70, 19, 3, 5}, {0, 1, 2, 3}, dnnl_ABcd16b16a, 1, 16},
    {"wide filters, cut", 4, {150, 5, 3, 3}, {0, 1, 2, 3}, dnnl_Acdb64a, 1, 64},
    {"inputs first", 4, {40, 50, 2, 2}, {1, 0, 2, 3}, dnnl_ABcd16b16a, 4000, 16},
    {"groups", 5, {5, 24, 20, 3, 3}, {0, 1, 2, 3, 4}, dnnl_aBCde16c16b, 1, 1},
    {"depthwise", 5, {90, 1, 1, 3, 3}, {0, 1, 2, 3, 4}, dnnl_Abcde16a, 1200, 32},
    {"an axis of one in front", 3, {1, 60, 70}, {0, 2, 1}, dnnl_abc, 480, 2},
};

static void describe(const struct bench *b, const struct shape *s, struct as_dnn_packing *p)
{
    dnnl_dims_t strides = {0};
    int64_t step = 1;

    for (int i = s->n; i-- > 0;) {
        strides[s->order[i]] = step;
        step *= s->dims[s->order[i]];
    }
    *p = (struct as_dnn_packing){0};
    assert_int_equal(
        b->d.lib->api.memory_desc_init_by_strides(&p->desc, s->n, s->dims, dnnl_f32, strides),
        dnnl_success);
    assert_int_equal(
        b->d.lib->api.memory_desc_init_by_tag(&p->want, s->n, s->dims, dnnl_f32, s->tag),
        dnnl_success);
}

static uint64_t count(const struct shape *s)
{
    uint64_t n = 1;

    for (int i = 0; i < s->n; i++)
        n *= (uint64_t)s->dims[i];
    return n;
}

/* Where an element is, worked out from the description alone. */
static int64_t place_of(const dnnl_memory_desc_t *d, const int64_t *at)
{
    const dnnl_blocking_desc_t *b = &d->format_desc.blocking;
    int64_t left[DNNL_MAX_NDIMS], place = 0, inner = 1;

    memcpy(left, at, (size_t)d->ndims * sizeof *left);
    for (int i = b->inner_nblks; i-- > 0;) {
        place += left[b->inner_idxs[i]] % b->inner_blks[i] * inner;
        left[b->inner_idxs[i]] /= b->inner_blks[i];
        inner *= b->inner_blks[i];
    }
    for (int i = 0; i < d->ndims; i++)
        place += left[i] * b->strides[i];
    return place;
}

/* Every element is where it belongs, and what is left are zeros. */
static void check_places(const struct shape *s, const struct as_dnn_packing *p,
                         const float *numbers, const float *packed, uint64_t n_packed)
{
    int64_t at[DNNL_MAX_NDIMS] = {0};
    uint64_t zeros = 0;

    for (uint64_t i = 0; i < count(s); i++) {
        if (packed[place_of(&p->want, at)] != numbers[place_of(&p->desc, at)])
            fail_msg("%s: element %llu is not in its place", s->what, (unsigned long long)i);
        for (int k = s->n; k-- > 0 && ++at[k] == s->dims[k];)
            at[k] = 0;
    }
    for (uint64_t i = 0; i < n_packed; i++)
        zeros += packed[i] == 0;
    assert_int_equal(zeros, n_packed - count(s));
}

/* Packs at once and in slices, the latter into memory full of something else. */
static void pack_both(struct bench *b, const struct shape *s, struct as_dnn_from *from,
                      float *numbers)
{
    struct as_dnn_packing p;
    struct as_dnn_slices slices;
    struct as_dnn_ref whole;
    uint64_t bytes;

    describe(b, s, &p);
    bytes = b->d.lib->api.memory_desc_get_size(&p.want);
    assert_true(as_dnn_pack(&b->d, numbers, &p.desc, &p.want, &whole));
    check_places(s, &p, numbers, whole.kept, bytes / sizeof(float));
    assert_true(as_dnn_slices(&p.desc, &p.want, s->bytes, &slices));
    assert_int_equal(slices.axis, s->order[s->dims[s->order[0]] == 1]);
    assert_int_equal(slices.step, s->step);
    p.to = as_alloc((size_t)bytes);
    assert_non_null(p.to);
    memset(p.to, 0x5a, (size_t)bytes);
    assert_true(as_dnn_pack_slices(&b->d, &p, &slices, from));
    if (memcmp(p.to, whole.kept, (size_t)bytes) != 0)
        fail_msg("%s: slices give other bytes", s->what);
    as_free(p.to);
}

static void slices_from_memory_are_the_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(shapes); i++) {
        struct bench b;
        uint64_t n = count(&shapes[i]);
        float *numbers = as_alloc_zero((size_t)n, sizeof *numbers);
        struct as_dnn_from from = {.numbers = (uint8_t *)numbers};

        if (!bench_open(&b)) {
            as_free(numbers);
            skip();
        }
        for (uint64_t k = 0; k < n; k++)
            numbers[k] = (float)(k + 1);
        pack_both(&b, &shapes[i], &from, numbers);
        for (uint64_t k = 0; k < n; k++)
            assert_true(numbers[k] == (float)(k + 1)); /* others may read them */
        bench_close(&b);
        as_free(numbers);
    }
}

/* A slot with data of that dtype, and its numbers as the engine loads them. */
static uint32_t constant(struct bench *b, const struct shape *s, struct as_data *data,
                         struct as_val *val)
{
    struct as_dims dims = {.rank = s->n};
    struct as_type type;
    uint32_t id;

    for (int i = 0; i < s->n; i++)
        dims.at[i] = s->dims[s->order[i]];
    assert_non_null(data);
    assert_true(as_type_tensor(&type, &b->p.arena, AS_DTYPE_F32, &dims));
    id = as_exec_plan_slot(&b->p, "w", &type);
    b->p.slots[id].is_const = true;
    b->p.slots[id].data = data;
    assert_int_equal(as_val_load(val, &b->p.mem, AS_MEM_PARAMETERS, &type, data, &b->err),
                     ASSAY_OK);
    return id;
}

static void slices_from_a_model_are_the_whole(void **state)
{
    static const struct as_seeded how = {AS_SEEDED_NORMAL, 4, 0.1f}; /* none is 0 */

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(shapes); i++) {
        struct bench b;
        struct as_val val;
        struct as_dnn_from from = {0};

        if (!bench_open(&b))
            skip();
        from.slot = constant(
            &b, &shapes[i],
            as_seeded_data(&b.p.model->arena, AS_DTYPE_F32, count(&shapes[i]), i, &how), &val);
        pack_both(&b, &shapes[i], &from, val.data);
        assert_false(b.p.slots[from.slot].val.present);
        as_val_drop(&val);
        bench_close(&b);
        as_free(b.p.slots);
    }
}

/* Blocks of 32 numbers behind one scale, in rows of 64. */
static void slices_of_quantized_blocks_are_the_whole(void **state)
{
    const struct shape s = {"blocks", 2, {64, 200}, {1, 0}, dnnl_BA16a64b, 16384, 64};
    uint64_t n_blocks = count(&s) / 32;
    struct as_dnn_from from = {0};
    struct bench b;
    struct as_val val;
    uint8_t *bytes;

    (void)state;
    if (!bench_open(&b))
        skip();
    bytes = as_arena_zero(&b.p.arena, (size_t)n_blocks, 34);
    assert_non_null(bytes);
    for (uint64_t i = 0; i < n_blocks; i++) {
        bytes[34 * i + 1] = (uint8_t)(0x30 + i % 8); /* the high byte of a half float */
        for (uint64_t k = 0; k < 32; k++)
            bytes[34 * i + 2 + k] = (uint8_t)(1 + (i * 32 + k) % 127);
    }
    from.slot = constant(&b, &s, as_data_over(&b.p.arena, AS_DTYPE_Q8_0, count(&s), bytes), &val);
    pack_both(&b, &s, &from, val.data);
    as_val_drop(&val);
    bench_close(&b);
    as_free(b.p.slots);
}

static void numbers_that_nobody_needs_go_behind_the_slices(void **state)
{
    const struct shape s = {"spent", 2, {1024, 1500}, {1, 0}, dnnl_BA16a64b, 1 << 20, 256};
    struct as_dnn_from from = {.spent = true};
    struct bench b;
    uint64_t n = count(&s), left = 0;
    float *numbers;

    (void)state;
    if (!bench_open(&b))
        skip();
    numbers = as_mem_alloc(&b.p.mem, AS_MEM_PARAMETERS, n * sizeof *numbers);
    assert_non_null(numbers);
    for (uint64_t i = 0; i < n; i++)
        numbers[i] = (float)(i + 1);
    from.numbers = (uint8_t *)numbers;
    pack_both(&b, &s, &from, numbers);
    for (uint64_t i = 0; i < n; i++)
        left += numbers[i] != 0;
    assert_true(left * sizeof *numbers < (uint64_t)3 << 20);
    as_mem_free(&b.p.mem, AS_MEM_PARAMETERS, numbers, n * sizeof *numbers);
    bench_close(&b);
}

static void layouts_without_parts_are_refused(void **state)
{
    const struct shape s = {"plain", 2, {64, 256}, {1, 0}, dnnl_BA16a64b, 0, 0};
    struct as_dnn_packing p;
    struct as_dnn_slices slices;
    struct bench b;

    (void)state;
    if (!bench_open(&b))
        skip();
    describe(&b, &s, &p);
    assert_true(as_dnn_slices(&p.desc, &p.want, 0, &slices));
    assert_int_equal(slices.step, 64);
    assert_false(as_dnn_slices(&p.desc, &p.want, sizeof(float) * 64 * 256, &slices));
    p.want.extra.flags = dnnl_memory_extra_flag_compensation_conv_s8s8;
    assert_false(as_dnn_slices(&p.desc, &p.want, 0, &slices));
    p.want.extra.flags = 0;
    p.want.data_type = dnnl_bf16;
    assert_false(as_dnn_slices(&p.desc, &p.want, 0, &slices));
    p.want.data_type = dnnl_f32;
    as_dnn_any(&p.want);
    assert_false(as_dnn_slices(&p.desc, &p.want, 0, &slices));
    describe(&b, &s, &p);
    p.desc.format_desc.blocking.strides[1] += 8; /* there are holes between columns */
    assert_false(as_dnn_slices(&p.desc, &p.want, 0, &slices));
    bench_close(&b);
}

static void a_read_that_fails_is_said(void **state)
{
    const struct shape s = {"cut", 2, {64, 256}, {1, 0}, dnnl_BA16a64b, 0, 64};
    static const struct as_seeded how = {AS_SEEDED_NORMAL, 4, 0.1f};
    struct as_dnn_from from = {0};
    struct as_dnn_slices slices;
    struct as_dnn_packing p;
    struct as_val val;
    struct bench b;

    (void)state;
    if (!bench_open(&b))
        skip();
    from.slot =
        constant(&b, &s, as_seeded_data(&b.p.arena, AS_DTYPE_F32, count(&s), 1, &how), &val);
    b.p.slots[from.slot].data = as_seeded_data(&b.p.arena, AS_DTYPE_F32, count(&s) - 1, 1, &how);
    describe(&b, &s, &p);
    p.to = as_dnn_keep(&b.d, b.d.lib->api.memory_desc_get_size(&p.want));
    assert_true(as_dnn_slices(&p.desc, &p.want, 0, &slices));
    assert_false(as_dnn_pack_slices(&b.d, &p, &slices, &from));
    assert_int_equal(b.d.rc, ASSAY_ERR_USAGE);
    assert_non_null(strstr(b.err.msg, "constant 'w': "));
    as_val_drop(&val);
    bench_close(&b);
    as_free(b.p.slots);
}

/* ---- whole models ---- */

static const struct as_seeded weights = {AS_SEEDED_NORMAL, 0, 0.05f};

static void build_dense(struct as_builder *b, const void *how)
{
    const struct as_attr turn = as_attr_of_int("transB", 1);
    uint32_t x = as_build_input(b, "x", AS_DTYPE_F32, PAIR_DIMS(1, 2002), NULL);

    (void)how;
    as_build_output(
        b,
        as_build_one(b,
                     &(struct as_build_node){
                         .op = "Gemm",
                         AS_BUILD_IN(x, as_build_param(b, "w", PAIR_DIMS(1200, 2002), &weights),
                                     as_build_param(b, "b", PAIR_DIMS(1200), &weights)),
                         .attrs = &turn,
                         .n_attrs = 1},
                     NULL),
        "y");
}

/* Its scale goes into the weights, which then are the engine's own. */
static void build_scaled(struct as_builder *b, const void *how)
{
    static const struct as_seeded around_one = {AS_SEEDED_UNIFORM, 1, 0.2f};
    const struct as_attr pads = as_attr_of_ints("pads", (const int64_t[]){1, 1, 1, 1}, 4);
    uint32_t x = as_build_input(b, "x", AS_DTYPE_F32, PAIR_DIMS(1, 200, 5, 5), NULL), y;

    (void)how;
    y = as_build_one(
        b,
        &(struct as_build_node){
            .op = "Conv",
            AS_BUILD_IN(x, as_build_param(b, "w", PAIR_DIMS(330, 200, 3, 3), &weights)),
            .attrs = &pads,
            .n_attrs = 1},
        NULL);
    y = as_build_one(
        b,
        &(struct as_build_node){.op = "BatchNormalization",
                                AS_BUILD_IN(y, as_build_param(b, "s", PAIR_DIMS(330), &around_one),
                                            as_build_param(b, "t", PAIR_DIMS(330), &weights),
                                            as_build_param(b, "m", PAIR_DIMS(330), &weights),
                                            as_build_param(b, "v", PAIR_DIMS(330), &around_one))},
        NULL);
    as_build_output(b, y, "y");
}

/* One tensor for two products, one of them by another way round: both are packed. */
static void build_shared(struct as_builder *b, const void *how)
{
    const struct as_attr turn = as_attr_of_int("transB", 1);
    uint32_t x = as_build_input(b, "x", AS_DTYPE_F32, PAIR_DIMS(3, 640), NULL);
    uint32_t w = as_build_param(b, "w", PAIR_DIMS(640, 640), &weights), y;

    (void)how;
    y = as_build_one(b, &(struct as_build_node){.op = "MatMul", AS_BUILD_IN(x, w)}, NULL);
    y = as_build_one(
        b, &(struct as_build_node){.op = "Gemm", AS_BUILD_IN(y, w), .attrs = &turn, .n_attrs = 1},
        NULL);
    as_build_output(b, y, "y");
}

static void models_with_large_weights_agree(void **state)
{
    static const struct {
        const char *what;
        pair_build build;
    } models[] = {{"dense", build_dense}, {"scaled", build_scaled}, {"shared", build_shared}};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(models); i++) {
        struct pair p = {0};

        pair_open(&p, models[i].build, NULL);
        pair_same(&p, models[i].what);
        pair_close(&p);
    }
}

/* The limit is of what is counted: a second copy of the weights would pass it. */
static void weights_are_never_there_twice(void **state)
{
    struct as_engine_options options = {.threads = 1, .limit_bytes = UINT64_C(6) * 1200 * 2002};
    struct assay_error err = {0};
    struct as_engine *engine;
    struct as_builder b;
    struct as_model *model;

    (void)state;
    assert_int_equal(as_model_new(&model, 0, &err), ASSAY_OK);
    as_builder_init(&b, model, 7);
    build_dense(&b, NULL);
    assert_int_equal(as_builder_finish(&b, &err), ASSAY_OK);
    as_builder_fini(&b);
    if (as_engine_new(&engine, model, &options, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(as_engine_memory(engine)->of[AS_MEM_PARAMETERS].current_bytes >=
                (uint64_t)1200 * 2002 * sizeof(float));
    as_engine_free(engine);
    as_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_from_memory_are_the_whole),
        cmocka_unit_test(slices_from_a_model_are_the_whole),
        cmocka_unit_test(slices_of_quantized_blocks_are_the_whole),
        cmocka_unit_test(numbers_that_nobody_needs_go_behind_the_slices),
        cmocka_unit_test(layouts_without_parts_are_refused),
        cmocka_unit_test(a_read_that_fails_is_said),
        cmocka_unit_test(models_with_large_weights_agree),
        cmocka_unit_test(weights_are_never_there_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
