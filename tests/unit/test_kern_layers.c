/* tests/unit/test_kern_layers.c - layers where ONNX's own cases do not look: attention, weights of
 * few bits, TensorFlow Lite. Expected numbers were computed by torch and numpy in double precision
 * from the same patterns. */
#include "kernel_move_kit.h"

static const double group_out[] = {0.039012, -0.273713, -0.129541, -0.324625, -0.041150, -0.368405,
                                   0.027671, -0.404787, 0.131622,  -0.240648, -0.196411, -0.232014,
                                   0.060859, -0.275889, -0.097041, -0.302777};
static const double group_key[] = {0.909091,  0.090909, -0.727273, 0.545455,  -0.272727,
                                   1.000000,  0.181818, -0.636364, 0.636364,  -0.181818,
                                   -1.000000, 0.272727, -0.545455, -0.305785, -1.057851,
                                   -0.413223, 0.049587, 0.669421,  0.247934,  -0.578512};
static const double window_out[] = {
    -0.302192, 0.094502,  0.152354,  -0.665828, -0.223951, -0.277142, 0.230594,  -0.587587,
    0.401132,  -0.417050, -0.276017, 0.037496,  0.211299,  -0.606883, -0.029234, -0.152337};
static const double multi_out[] = {
    -0.799737, 0.409744, 0.109354,  -0.591896, 0.349659, -0.498146, -0.519090, 0.260878, 0.390001,
    -0.781898, 0.705286, -0.619319, -0.645935, 0.036380, 0.263156,  -0.334849, 0.493192, -0.880786,
    -0.862556, 1.119688, 0.046535,  -0.869399, 0.283677, -0.639125, -0.540061, 0.895383, 0.369030,
    -1.074040, 0.494624, -0.632453, -0.857943, 1.125014, 0.051147,  -1.266250, 0.697157, -0.630554};
static const double attention_out[] = {
    0.048608,  0.040526, -0.229602, -0.430666, 0.375072,  0.601168, -0.075642, -1.102455,
    -0.483457, 0.402301, -0.316240, -0.303968, -0.100077, 1.011236, -0.211829, -0.748811};
static const double attention_present[] = {
    0.909091,  0.090909,  -0.727273, 0.545455,  0.123967,  0.090909,  1.223140,  -0.644628,
    1.371901,  -0.619835, 1.520661,  -0.595041, -0.272727, 1.000000,  0.181818,  -0.636364,
    -1.842975, 0.975207,  -0.041322, -0.958678, -0.140496, 1.289256,  -0.239669, -0.834711,
    0.636364,  -0.181818, -1.000000, 0.272727,  -0.008264, 0.148760,  0.595041,  1.388430,
    -1.652893, 1.487603,  0.471074,  1.586777,  -0.545455, 0.727273,  -0.090909, -0.909091,
    0.115702,  -1.818182, -0.479339, 0.123967,  -0.504132, -0.024793, -0.528926, -0.173554};
static const double long_rows[] = {
    -0.090909, -0.909091, 0.363636,  -0.454545, 0.818182,  0.000000,  -0.818182, 0.454545,
    -0.363636, 0.909091,  0.090909,  -0.727273, 0.545455,  -0.272727, 1.000000,  0.181818,
    -0.636364, 0.636364,  -0.181818, -1.000000, 0.230992,  0.058402,  -0.355344, 0.293690,
    -0.153042, 0.058982,  0.110410,  -0.308132, 0.300685,  -0.102948, -0.061874, 0.158573,
    -0.282730, 0.334574,  -0.049877, -0.238788, 0.227911,  -0.257936, 0.310384,  0.004432,
    0.108881,  0.127849,  -0.335960, 0.335852,  -0.098024, -0.151422, 0.182045,  -0.300899,
    0.330252,  -0.038900, -0.283839, 0.230626,  -0.253911, 0.283546,  0.021093,  -0.341102,
    0.278577,  -0.207578, 0.234791,  0.070167};
static const double nbits_out[] = {12.834711, 7.570248,  10.545455,  -33.123967, 4.628099,
                                   6.826446,  8.355372,  -9.719008,  -12.289256, 12.768595,
                                   4.256198,  18.966942, -27.487603, 15.380165,  20.190083,
                                   7.338843,  1.983471,  -11.471074};
static const double lstm_y[] = {0.275399, 0.067418, -0.331038, -0.040793, 0.023882, 0.174436,
                                0.072910, 0.078048, -0.453207, -0.064832, 0.002810, 0.207722,
                                0.086195, 0.066583, -0.370658, 0.194694,  0.092702, -0.344587};
static const double lstm_c[] = {0.262431, 0.174841, -1.792932, 0.324724, 0.233634, -0.667527};
static const double product_some[] = {-54.363636, -17.892562, -17.338843, -1.925620, 15.322314};
static const double conv_some[] = {1.338843, -0.900826, 1.677686, -1.214876, -1.454545};
static const double skip_out[] = {0.800177,  1.504472,  -0.588234, 0.557041,  0.800177,  1.504472,
                                  -0.588234, 0.557041,  0.787127,  -0.315636, -0.889891, 1.155273,
                                  0.787127,  -0.315636, -0.889891, 1.155273,  0.906774,  0.438507,
                                  -0.161848, 1.090024,  0.973506,  1.203532,  -0.282224, 0.223379};
static const double tfl_conv[] = {11,  29,  -8,  -20, -20, -20, -14, -15, -18, -7,  -3,  -15,
                                  8,   32,  -5,  10,  30,  -7,  -20, -20, -20, -20, -20, -20,
                                  -20, -20, -20, 7,   34,  -4,  9,   31,  -6,  -20, -20, -20,
                                  -20, -20, -20, -20, -20, -20, -20, -20, -20, 13,  35,  -6};

static double pattern(uint64_t i, uint64_t seed)
{
    return ((double)((i * 37 + seed * 11) % 23) - 11) / 11;
}

/* An f32 input that holds the pattern of that seed. */
static uint32_t floats(struct move_run *r, struct as_dims dims, uint64_t seed)
{
    uint32_t id;
    struct as_val *val = move_input(r, AS_DTYPE_F32, dims, &id);

    for (uint64_t i = 0; i < val->n; i++)
        as_val_put_f64(val, i, pattern(i, seed));
    return id;
}

/* The same as a constant of the model. */
static uint32_t fixed(struct move_run *r, struct as_dims dims, uint64_t seed)
{
    uint64_t n = (uint64_t)as_dims_product(&dims, 0, dims.rank);
    struct as_data *data = as_data_new(&r->k->model->arena, AS_DTYPE_F32, n);

    assert_non_null(data);
    for (uint64_t i = 0; i < n; i++)
        as_data_put_f64(data, i, pattern(i, seed));
    return kit_constant(r->k, data, dims);
}

/* Bytes (i * step + first) % limit + least. */
static uint32_t bytes(struct move_run *r, unsigned dtype, struct as_dims dims, int64_t step,
                      int64_t first, int64_t limit, int64_t least)
{
    uint32_t id;
    struct as_val *val = move_input(r, dtype, dims, &id);

    for (uint64_t i = 0; i < val->n; i++)
        as_val_put_i64(val, i, ((int64_t)i * step + first) % limit + least);
    return id;
}

static void expect_at(struct move_run *r, size_t out, const uint64_t *at, const double *expected,
                      size_t n)
{
    const struct as_val *val = as_engine_output(r->engine, out);

    assert_non_null(val);
    for (size_t i = 0; i < n; i++) {
        assert_in_range(at[i], 0, val->n - 1);
        assert_float_equal((float)as_val_f64(val, at[i]), (float)expected[i], 1e-3f);
    }
}

#define EXPECT_ALL(r, i, expected) move_expect(r, i, expected, UNIT_COUNT(expected))

/* ---- products and convolutions ---- */

static void a_product_of_many_blocks_is_right_at_their_edges(void **state)
{
    static const uint64_t at[] = {0, 47 * 70 + 31, 48 * 70 + 32, 99 * 70 + 69, 53 * 70 + 64};
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 13);
    out = KIT_NODE(r.k, AS_OP_MatMul, floats(&r, KIT_DIMS(100, 300), 1),
                   floats(&r, KIT_DIMS(300, 70), 2));
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    expect_at(&r, 0, at, product_some, 5);
    move_fini(&r);
}

static void a_product_of_one_row_or_none_is_right(void **state)
{
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 13);
    out = KIT_NODE(r.k, AS_OP_MatMul, floats(&r, KIT_DIMS(2, 0), 1), floats(&r, KIT_DIMS(0, 2), 2));
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    MOVE_EXPECT(&r, 0, 0, 0, 0, 0);
    move_fini(&r);
}

static void a_grouped_uneven_convolution_is_right(void **state)
{
    static const uint64_t at[] = {0, (3 * 5 + 2) * 10 + 5, (4 * 5 + 4) * 10 + 9,
                                  (7 * 5 + 4) * 10 + 9, (7 * 5 + 0) * 10 + 3};
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 13);
    out = KIT_NODE(r.k, AS_OP_Conv, floats(&r, KIT_DIMS(1, 6, 9, 11), 1),
                   floats(&r, KIT_DIMS(8, 3, 3, 2), 2), floats(&r, KIT_DIMS(8), 3));
    kit_attr_int(r.k, "group", 2);
    KIT_ATTR_INTS(r.k, "strides", 2, 1);
    KIT_ATTR_INTS(r.k, "dilations", 1, 2);
    KIT_ATTR_INTS(r.k, "pads", 1, 0, 2, 1);
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    move_expect_dims(&r, 0, KIT_DIMS(1, 8, 5, 10));
    expect_at(&r, 0, at, conv_some, 5);
    move_fini(&r);
}

static void an_unpool_refuses_an_index_outside(void **state)
{
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 13);
    out = KIT_NODE(r.k, AS_OP_MaxUnpool, floats(&r, KIT_DIMS(1, 1, 1, 2), 1),
                   move_numbers(&r, AS_DTYPE_I64, KIT_DIMS(1, 1, 1, 2), (const double[]){1, 8}));
    KIT_ATTR_INTS(r.k, "kernel_shape", 2, 2);
    KIT_ATTR_INTS(r.k, "strides", 2, 2);
    move_fails(&r, out, "index 8 is outside");
}

/* ---- attention ---- */

static uint32_t group_node(struct move_run *r, double last, int64_t window)
{
    uint32_t q = floats(r, KIT_DIMS(1, 2, 8), 1), k = floats(r, KIT_DIMS(1, 2, 4), 2);
    uint32_t v = floats(r, KIT_DIMS(1, 2, 4), 3), pk = floats(r, KIT_DIMS(1, 1, 3, 4), 4);
    uint32_t pv = floats(r, KIT_DIMS(1, 1, 3, 4), 5);
    uint32_t lens = move_numbers(r, AS_DTYPE_I32, KIT_DIMS(1), (const double[]){last});
    uint32_t total = kit_numbers(r->k, AS_DTYPE_I32, KIT_SCALAR, (const double[]){5});
    const uint32_t ins[] = {
        q, k, v, pk, pv, lens, total, fixed(r, KIT_DIMS(8, 2), 6), fixed(r, KIT_DIMS(8, 2), 7)};
    uint32_t out = kit_node(r->k, AS_OP_MS_GroupQueryAttention, 9, ins, 3);

    kit_attr_int(r->k, "num_heads", 2);
    kit_attr_int(r->k, "kv_num_heads", 1);
    kit_attr_int(r->k, "do_rotary", 1);
    kit_attr_int(r->k, "local_window_size", window);
    return out;
}

static void heads_that_share_keys_turn_and_remember(void **state)
{
    struct move_run r;

    (void)state;
    move_init(&r, 13);
    assert_int_equal(move_go(&r, group_node(&r, 4, -1), 3), ASSAY_OK);
    EXPECT_ALL(&r, 0, group_out);
    EXPECT_ALL(&r, 1, group_key);
    move_fini(&r);
}

static void a_window_hides_older_keys(void **state)
{
    struct move_run r;

    (void)state;
    move_init(&r, 13);
    assert_int_equal(move_go(&r, group_node(&r, 4, 2), 3), ASSAY_OK);
    EXPECT_ALL(&r, 0, window_out);
    move_fini(&r);
}

static void a_cache_refuses_a_token_past_its_end(void **state)
{
    struct move_run r;

    (void)state;
    move_init(&r, 13);
    move_fails(&r, group_node(&r, 7, -1), "in a cache of");
}

static void masked_keys_are_not_seen(void **state)
{
    static const double mask[] = {1, 1, 1, 0, 0, 1, 1, 1, 1, 0};
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 13);
    out =
        KIT_NODE(r.k, AS_OP_MS_MultiHeadAttention, floats(&r, KIT_DIMS(2, 3, 6), 1),
                 floats(&r, KIT_DIMS(2, 5, 6), 2), floats(&r, KIT_DIMS(2, 5, 6), 3),
                 floats(&r, KIT_DIMS(18), 4), move_numbers(&r, AS_DTYPE_I32, KIT_DIMS(2, 5), mask));
    kit_attr_int(r.k, "num_heads", 2);
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    EXPECT_ALL(&r, 0, multi_out);
    move_fini(&r);
}

static void attention_goes_on_behind_its_past(void **state)
{
    struct move_run r;
    uint32_t ids[5], out;

    (void)state;
    move_init(&r, 13);
    ids[0] = floats(&r, KIT_DIMS(1, 4, 4), 1);
    ids[1] = floats(&r, KIT_DIMS(4, 12), 2);
    ids[2] = floats(&r, KIT_DIMS(12), 3);
    ids[3] = AS_NONE;
    ids[4] = floats(&r, KIT_DIMS(2, 1, 2, 2, 2), 4);
    out = kit_node(r.k, AS_OP_MS_Attention, 5, ids, 2);
    kit_attr_int(r.k, "num_heads", 2);
    kit_attr_int(r.k, "unidirectional", 1);
    assert_int_equal(move_go(&r, out, 2), ASSAY_OK);
    EXPECT_ALL(&r, 0, attention_out);
    EXPECT_ALL(&r, 1, attention_present);
    move_fini(&r);
}

static void a_long_sequence_is_softened_block_by_block(void **state)
{
    uint64_t at[60];
    struct move_run r;
    uint32_t out;

    (void)state;
    for (uint64_t i = 0; i < 60; i++)
        at[i] = (uint64_t[]){0, 40, 69}[i / 20] * 20 + i % 20;
    move_init(&r, 13);
    out = KIT_NODE(r.k, AS_OP_MS_MultiHeadAttention, floats(&r, KIT_DIMS(1, 70, 20), 1),
                   floats(&r, KIT_DIMS(1, 70, 20), 2), floats(&r, KIT_DIMS(1, 70, 20), 3));
    kit_attr_int(r.k, "num_heads", 1);
    kit_attr_int(r.k, "unidirectional", 1);
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    expect_at(&r, 0, at, long_rows, 60);
    move_fini(&r);
}

/* ---- the rest of com.microsoft ---- */

static void four_bits_and_a_scale_make_a_weight(void **state)
{
    static const double zeros[] = {0x75, 0x08, 0x3a, 0x0c, 0x88, 0x01};

    (void)state;
    for (int64_t rows = 6; rows >= 1; rows -= 5) { /* both ways through the kernel */
        struct move_run r;
        uint32_t out;

        move_init(&r, 13);
        out =
            KIT_NODE(r.k, AS_OP_MS_MatMulNBits, floats(&r, KIT_DIMS(rows, 40), 6),
                     bytes(&r, AS_DTYPE_U8, KIT_DIMS(3, 3, 8), 53, 17, 256, 0),
                     floats(&r, KIT_DIMS(9), 5), move_numbers(&r, AS_DTYPE_U8, KIT_DIMS(6), zeros));
        kit_attr_int(r.k, "K", 40);
        kit_attr_int(r.k, "N", 3);
        kit_attr_int(r.k, "bits", 4);
        kit_attr_int(r.k, "block_size", 16);
        assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
        move_expect(&r, 0, nbits_out, (size_t)rows * 3);
        move_fini(&r);
    }
}

static void an_lstm_of_bytes_is_that_of_their_numbers(void **state)
{
    struct move_run r;
    uint32_t ids[12], out;

    (void)state;
    move_init(&r, 13);
    for (int i = 0; i < 12; i++)
        ids[i] = AS_NONE;
    ids[0] = floats(&r, KIT_DIMS(3, 2, 4), 1);
    ids[1] = bytes(&r, AS_DTYPE_U8, KIT_DIMS(1, 4, 12), 29, 5, 200, 0);
    ids[2] = bytes(&r, AS_DTYPE_U8, KIT_DIMS(1, 3, 12), 31, 9, 200, 0);
    ids[3] = floats(&r, KIT_DIMS(1, 24), 3);
    ids[8] = kit_numbers(r.k, AS_DTYPE_F32, KIT_DIMS(1), (const double[]){0.01});
    ids[9] = kit_numbers(r.k, AS_DTYPE_U8, KIT_DIMS(1), (const double[]){100});
    ids[10] = kit_numbers(r.k, AS_DTYPE_F32, KIT_DIMS(1), (const double[]){0.02});
    ids[11] = kit_numbers(r.k, AS_DTYPE_U8, KIT_DIMS(1), (const double[]){90});
    out = kit_node(r.k, AS_OP_MS_DynamicQuantizeLSTM, 12, ids, 3);
    kit_attr_int(r.k, "hidden_size", 3);
    assert_int_equal(move_go(&r, out, 3), ASSAY_OK);
    EXPECT_ALL(&r, 0, lstm_y);
    EXPECT_ALL(&r, 2, lstm_c);
    move_fini(&r);
}

static void what_is_skipped_is_added(void **state)
{
    struct move_run r;
    uint32_t ids[5], out;

    (void)state;
    move_init(&r, 13);
    ids[0] = floats(&r, KIT_DIMS(2, 3, 4), 1);
    ids[1] = floats(&r, KIT_DIMS(2, 3, 4), 2);
    for (uint64_t i = 2; i < 5; i++)
        ids[i] = floats(&r, KIT_DIMS(4), i + 1);
    out = kit_node(r.k, AS_OP_MS_SkipLayerNormalization, 5, ids, 4);
    kit_attr(r.k, (struct as_attr){.name = "epsilon", .kind = AS_ATTR_FLOAT, .f = 1e-5});
    /* Mean and deviation are left out. */
    ((uint32_t *)(uintptr_t)r.k->nodes[0].outputs)[1] = AS_NONE;
    ((uint32_t *)(uintptr_t)r.k->nodes[0].outputs)[2] = AS_NONE;
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    EXPECT_ALL(&r, 0, skip_out);
    move_fini(&r);
}

static void an_embedding_outside_of_its_table_is_refused(void **state)
{
    struct move_run r;
    uint32_t ids[7], out;

    (void)state;
    move_init(&r, 13);
    ids[0] = move_numbers(&r, AS_DTYPE_I32, KIT_DIMS(1, 2), (const double[]){1, 5});
    ids[1] = AS_NONE;
    ids[2] = floats(&r, KIT_DIMS(5, 4), 1);
    ids[3] = floats(&r, KIT_DIMS(2, 4), 2);
    ids[4] = AS_NONE;
    ids[5] = floats(&r, KIT_DIMS(4), 3);
    ids[6] = floats(&r, KIT_DIMS(4), 4);
    out = kit_node(r.k, AS_OP_MS_EmbedLayerNormalization, 7, ids, 1);
    move_fails(&r, out, "row 5 of a table of 5");
}

/* ---- TensorFlow Lite ---- */

static void quantize(struct move_run *r, uint32_t id, uint32_t n, const float *scales,
                     const int64_t *zeros)
{
    struct as_quant *quant = as_arena_zero(&r->k->model->arena, 1, sizeof *quant);

    assert_non_null(quant);
    *quant = (struct as_quant){n, 0, scales, zeros};
    r->k->model->values[id].quant = quant;
}

static void a_convolution_of_bytes_rounds_once(void **state)
{
    static const float x_scale = 0.05f, w_scales[] = {0.01f, 0.02f, 0.005f}, out_scale = 0.1f;
    static const int64_t x_zero = -7, w_zeros[3] = {0}, out_zero = -20;
    struct move_run r;
    uint32_t x, w, bias, out;

    (void)state;
    move_init(&r, 0);
    x = bytes(&r, AS_DTYPE_I8, KIT_DIMS(1, 4, 4, 2), 41, 3, 200, -100);
    w = bytes(&r, AS_DTYPE_I8, KIT_DIMS(3, 2, 2, 2), 23, 7, 180, -90);
    bias = move_numbers(&r, AS_DTYPE_I32, KIT_DIMS(3), (const double[]){500, -300, 100});
    out = KIT_NODE(r.k, AS_OP_Conv, x, w, bias);
    r.k->nodes[0].domain_name = "tflite";
    kit_attr_text(r.k, "auto_pad", "SAME_UPPER");
    kit_attr_text(r.k, "filter_layout", "OHWI");
    kit_attr_text(r.k, "fused_activation_function", "RELU");
    quantize(&r, x, 1, &x_scale, &x_zero);
    quantize(&r, w, 3, w_scales, w_zeros);
    quantize(&r, out, 1, &out_scale, &out_zero);
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    EXPECT_ALL(&r, 0, tfl_conv);
    move_fini(&r);
}

static void floats_become_bytes_and_back(void **state)
{
    static const float scale = 0.5f;
    static const int64_t zero = 3;
    struct move_run r;
    uint32_t x, q, out;

    (void)state;
    move_init(&r, 0);
    x = move_numbers(&r, AS_DTYPE_F32, KIT_DIMS(5), (const double[]){-100, -0.25, 0.25, 0.6, 100});
    q = KIT_NODE(r.k, AS_OP_Cast, x);
    r.k->nodes[0].domain_name = "tflite";
    kit_attr_int(r.k, "to", 3);
    assert_true(
        as_type_tensor(&r.k->model->values[q].type, &r.k->model->arena, AS_DTYPE_I8, &KIT_DIMS(5)));
    quantize(&r, q, 1, &scale, &zero);
    out = KIT_NODE(r.k, AS_OP_Cast, q);
    r.k->nodes[1].domain_name = "tflite";
    kit_attr_int(r.k, "to", 1);
    assert_true(as_type_tensor(&r.k->model->values[out].type, &r.k->model->arena, AS_DTYPE_F32,
                               &KIT_DIMS(5)));
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    MOVE_EXPECT(&r, 0, -65.5, -0.5, 0.5, 0.5, 62);
    move_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_of_many_blocks_is_right_at_their_edges),
        cmocka_unit_test(a_product_of_one_row_or_none_is_right),
        cmocka_unit_test(a_grouped_uneven_convolution_is_right),
        cmocka_unit_test(an_unpool_refuses_an_index_outside),
        cmocka_unit_test(heads_that_share_keys_turn_and_remember),
        cmocka_unit_test(a_window_hides_older_keys),
        cmocka_unit_test(a_cache_refuses_a_token_past_its_end),
        cmocka_unit_test(masked_keys_are_not_seen),
        cmocka_unit_test(attention_goes_on_behind_its_past),
        cmocka_unit_test(a_long_sequence_is_softened_block_by_block),
        cmocka_unit_test(four_bits_and_a_scale_make_a_weight),
        cmocka_unit_test(an_lstm_of_bytes_is_that_of_their_numbers),
        cmocka_unit_test(what_is_skipped_is_added),
        cmocka_unit_test(an_embedding_outside_of_its_table_is_refused),
        cmocka_unit_test(a_convolution_of_bytes_rounds_once),
        cmocka_unit_test(floats_become_bytes_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
