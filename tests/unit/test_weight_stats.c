/* tests/unit/test_weight_stats.c - the distribution of weights, judged by numpy where it is there.
 * Every way a weight can be stored is read at least once. */
#include "plan_kit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text/text.h"
#include "model/weights/weight_stats.h"
#include "stats/describe/rng.h"

/* A weight over `bytes`, which the test keeps. */
static uint32_t put(struct kit *k, unsigned dtype, uint64_t n, const void *bytes)
{
    uint32_t id = kit_weight(k, (int64_t)n);

    k->model->values[id].type.dtype = (uint8_t)dtype;
    k->model->values[id].data = as_data_over(&k->model->arena, dtype, n, bytes);
    assert_non_null(k->model->values[id].data);
    return id;
}

static struct as_weight_stats stats_of(struct kit *k, struct as_weight_stats *each)
{
    struct as_weight_stats all;

    assert_int_equal(as_weight_stats_read(&all, each, k->model, &k->params, NULL, NULL, NULL),
                     ASSAY_OK);
    return all;
}

static void near(double a, double b, double relative)
{
    if (!(fabs(a - b) <= relative * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void ten_numbers_are_added_up(void **state)
{
    static const float w[] = {-1, 2, -3, 4, -5, 6, -7, 8, -9, 10};
    struct as_weight_stats s, each;
    struct kit k;

    (void)state;
    kit_begin(&k);
    put(&k, AS_DTYPE_F32, 10, w);
    s = stats_of(&k, &each);
    assert_int_equal(s.total_weights, 10);
    near(s.mean, 5.5, 1e-15);
    near(s.std, sqrt(8.25), 1e-15);
    near(s.min, 1, 0);
    near(s.max, 10, 0);
    near(s.percentile[0], 1.9, 1e-15);
    near(s.percentile[1], 3.25, 0);
    near(s.percentile[2], 5.5, 0);
    near(s.percentile[3], 7.75, 0);
    near(s.percentile[4], 9.1, 1e-15);
    assert_true(s.percentile_error == 0);
    assert_int_equal(s.bytes_read, 40);
    assert_memory_equal(&s, &each, sizeof s);
    kit_end(&k);
}

static void thresholds_are_strict_and_odd_numbers_apart(void **state)
{
    const double w[] = {0,    -0.0, 0.0005, 0.001,    0.005,         0.01,
                        0.05, 0.1,  -0.5,   UNIT_NAN, UNIT_INFINITY, -UNIT_INFINITY};
    struct as_weight_stats s;
    struct kit k;

    (void)state;
    kit_begin(&k);
    put(&k, AS_DTYPE_F64, UNIT_COUNT(w), w);
    s = stats_of(&k, NULL);
    assert_int_equal(s.total_weights, 9);
    assert_int_equal(s.n_zero, 2);
    assert_int_equal(s.n_nan, 1);
    assert_int_equal(s.n_inf, 2);
    assert_int_equal(s.below_0001, 3);
    assert_int_equal(s.below_001, 5);
    assert_int_equal(s.below_01, 7);
    near(s.max, 0.5, 0);
    near(s.min, 0, 0);
    kit_end(&k);
}

static void a_tensor_counts_once_and_buffers_do_not(void **state)
{
    static const float w[] = {1, 2, 3, 4};
    struct as_weight_stats s, each[3];
    struct kit k;

    (void)state;
    kit_begin(&k);
    put(&k, AS_DTYPE_F32, 2, w);
    put(&k, AS_DTYPE_F32, 2, w + 2);
    put(&k, AS_DTYPE_F32, 2, w);
    k.param[1].role = AS_ROLE_BUFFER;
    k.param[2].elems = 0; /* another name of the first */
    s = stats_of(&k, each);
    assert_int_equal(s.total_weights, 2);
    near(s.mean, 1.5, 0);
    assert_int_equal(each[1].total_weights, 0);
    assert_int_equal(each[2].total_weights, 0);
    kit_end(&k);
}

static void a_model_without_weights_is_an_error(void **state)
{
    struct as_weight_stats s;
    struct assay_error err;
    struct kit k;

    (void)state;
    kit_begin(&k);
    assert_int_equal(as_weight_stats_read(&s, NULL, k.model, &k.params, NULL, NULL, &err),
                     ASSAY_ERR_NOTFOUND);
    assert_string_equal(err.msg, "the model has no weights");
    kit_end(&k);
}

static void small_floats_are_read(void **state)
{
    static const uint8_t half[] = {0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0xff,
                                   0x7b, 0x00, 0x7c, 0x01, 0xfe}; /* 1 -2 2^-24 65504 inf nan */
    static const uint8_t brain[] = {0x80, 0x3f, 0x00, 0xc0, 0xc0, 0x7f}; /* 1 -2 nan */
    static const uint8_t tiny[] = {0x38, 0xb8};                          /* 1 -1 in e4m3fn */
    struct as_weight_stats s, each[3];
    struct kit k;

    (void)state;
    kit_begin(&k);
    put(&k, AS_DTYPE_F16, 6, half);
    put(&k, AS_DTYPE_BF16, 3, brain);
    put(&k, AS_DTYPE_F8E4M3FN, 2, tiny);
    s = stats_of(&k, each);
    near(each[0].min, ldexp(1, -24), 0);
    near(each[0].max, 65504, 0);
    assert_int_equal(each[0].n_inf, 1);
    assert_int_equal(each[0].n_nan, 1);
    near(each[1].mean, 1.5, 0);
    near(each[2].mean, 1, 0);
    assert_int_equal(s.total_weights, 4 + 2 + 2);
    kit_end(&k);
}

/* A scale a row: 2 x 3 numbers along axis 0. */
static void integers_are_what_they_stand_for(void **state)
{
    static const int8_t q[] = {1, -2, 3, 10, -20, 30};
    static const float scale[] = {0.5f, 0.25f};
    static const int8_t zero[] = {1, 0};
    struct as_attr axis = {.name = "axis", .kind = AS_ATTR_INT, .i = 0};
    struct as_dims dims = {2, {2, 3}};
    struct as_weight_stats s;
    uint32_t w, by, from, out;
    struct kit k;

    (void)state;
    kit_begin(&k);
    w = put(&k, AS_DTYPE_I8, 6, q);
    assert_true(as_type_tensor(&k.model->values[w].type, &k.model->arena, AS_DTYPE_I8, &dims));
    by = put(&k, AS_DTYPE_F32, 2, scale);
    from = put(&k, AS_DTYPE_I8, 2, zero);
    k.param[1].role = k.param[2].role = AS_ROLE_QUANT;
    s = stats_of(&k, NULL); /* nobody says the scale */
    assert_int_equal(s.skipped, 6);
    assert_int_equal(s.total_weights, 0);
    assert_true(isnan(s.mean));
    out = kit_f32(&k, 6);
    kit_node_in(&k, k.main, AS_OP_DequantizeLinear, (uint32_t[]){w, by, from}, 3, &out, 1);
    k.nodes[0].attrs = &axis;
    k.nodes[0].n_attrs = 1;
    k.main->nodes = k.nodes;
    k.main->n_nodes = 1;
    s = stats_of(&k, NULL); /* 0 1.5 1 2.5 5 7.5 */
    assert_int_equal(s.skipped, 0);
    assert_int_equal(s.n_zero, 1);
    near(s.max, 7.5, 0);
    near(s.mean, 17.5 / 6, 1e-15);
    axis.i = 1; /* two scales for three columns: not to be trusted */
    s = stats_of(&k, NULL);
    assert_int_equal(s.skipped, 6);
    k.main->n_nodes = 0;
    kit_end(&k);
}

/* Scale 2; element i of a block in the ways its numbers are packed. */
static void blocks_are_read(void **state)
{
    uint8_t q8[34] = {0x00, 0x40}, q4[18] = {0x00, 0x40}, q41[20] = {0x00, 0x40, 0x00, 0x3c};
    uint8_t q5[22] = {0x00, 0x40}, q51[24] = {0x00, 0x40, 0x00, 0x3c};
    struct as_weight_stats each[6];
    struct kit k;

    (void)state;
    q8[2] = 0x80;  /* -128 */
    q4[2] = 0x80;  /* element 0: 0 - 8, element 16: 8 - 8 */
    q41[4] = 0xf0; /* element 16: 15 */
    q5[2] = 1;     /* fifth bit of element 0: 16 - 16 */
    q51[4] = 1;    /* 16 */
    kit_begin(&k);
    put(&k, AS_DTYPE_Q8_0, 32, q8);
    put(&k, AS_DTYPE_Q4_0, 32, q4);
    put(&k, AS_DTYPE_Q4_1, 32, q41);
    put(&k, AS_DTYPE_Q5_0, 32, q5);
    put(&k, AS_DTYPE_Q5_1, 32, q51);
    put(&k, AS_DTYPE_IQ2_XXS, 256, q8);
    (void)stats_of(&k, each);
    near(each[0].max, 256, 0);
    assert_int_equal(each[0].n_zero, 31);
    near(each[1].max, 16, 0);
    assert_int_equal(each[1].n_zero, 1);
    near(each[2].max, 31, 0);
    near(each[2].min, 1, 0);
    near(each[3].max, 32, 0);
    assert_int_equal(each[3].n_zero, 1);
    near(each[4].max, 33, 0);
    assert_int_equal(each[5].skipped, 256);
    kit_end(&k);
}

static int refuse(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                  struct assay_error *err)
{
    (void)data;
    (void)n;
    (void)out;
    if (first == 0)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "the numbers of this tensor are not known");
    return as_fail(err, ASSAY_ERR_IO, "gone");
}

static void what_cannot_be_had_is_skipped(void **state)
{
    struct as_data data = {.dtype = AS_DTYPE_F32, .n = 10, .size_bytes = 40, .make = refuse};
    struct as_weight_stats s;
    struct kit k;
    uint32_t id;

    (void)state;
    kit_begin(&k);
    id = kit_weight(&k, 10);
    s = stats_of(&k, NULL); /* no data at all */
    assert_int_equal(s.skipped, 10);
    k.model->values[id].data = &data;
    s = stats_of(&k, NULL);
    assert_int_equal(s.skipped, 10);
    data.n = k.param[0].elems = (uint64_t)1 << 40; /* would never end */
    s = stats_of(&k, NULL);
    assert_true(s.skipped == (uint64_t)1 << 40);
    kit_end(&k);
}

static void progress(void *user, uint64_t done, uint64_t of)
{
    uint64_t *last = user;

    assert_true(done > *last && done <= of);
    *last = done;
}

static float *random_weights(size_t n)
{
    float *w = as_alloc_zero(n, sizeof *w);
    struct as_rng rng;

    assert_non_null(w);
    as_rng_seed(&rng, 11);
    for (size_t i = 0; i < n; i++)
        w[i] = (float)(0.05 * as_rng_normal(&rng));
    return w;
}

/* Above the limit percentiles are estimates; the same numbers in two halves are exact. */
static void estimates_are_within_their_error(void **state)
{
    const size_t n = AS_WEIGHT_EXACT_MAX + 1000;
    struct as_weight_stats all, each[2], whole, one;
    float *w = random_weights(n);
    uint64_t told = 0;
    struct kit k;

    (void)state;
    kit_begin(&k);
    put(&k, AS_DTYPE_F32, n, w);
    assert_int_equal(as_weight_stats_read(&whole, &one, k.model, &k.params, progress, &told, NULL),
                     ASSAY_OK);
    assert_true(told > 0);
    assert_memory_equal(&whole, &one, sizeof one);
    kit_end(&k);
    kit_begin(&k);
    put(&k, AS_DTYPE_F32, n / 2, w);
    put(&k, AS_DTYPE_F32, n - n / 2, w + n / 2);
    all = stats_of(&k, each);
    assert_true(all.percentile_error > 0 && all.percentile_error < 0.004);
    assert_true(each[0].percentile_error == 0);
    assert_int_equal(all.total_weights, n);
    assert_int_equal(all.below_001, whole.below_001);
    near(all.mean, whole.mean, 1e-14);
    near(all.std, whole.std, 1e-13);
    for (int i = 0; i < AS_WEIGHT_PERCENTILES; i++) {
        near(all.percentile[i], whole.percentile[i], 1e-12);
        near(each[0].percentile[i], all.percentile[i], 0.01); /* the halves are alike */
    }
    /* |normal| has its quartiles here */
    near(all.percentile[2], 0.05 * 0.67448975, 0.006);
    kit_end(&k);
    as_free(w);
}

/* ---- numpy ---- */

static const char judge[] =
    "import sys\n"
    "try:\n"
    "    import numpy as np\n"
    "except ImportError:\n"
    "    sys.exit(77)\n"
    "w = np.abs(np.fromfile(sys.argv[1], dtype=sys.argv[3]).astype(np.float64))\n"
    "f = [w.mean(), w.std(), w.min(), w.max()]\n"
    "f += [np.percentile(w, p) for p in (10, 25, 50, 75, 90)]\n"
    "f += [(w < t).sum() for t in (0.001, 0.01, 0.1)]\n"
    "open(sys.argv[2], 'w').write(''.join('%.17g\\n' % x for x in f))\n";

/* False: there is no numpy to ask. */
static bool ask_numpy(const char *data, const char *answer, const char *dtype, double out[12])
{
    int status;
    pid_t pid = fork();
    char line[64];
    FILE *f;

    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/usr/bin/python3", "python3", "-c", judge, data, answer, dtype, (char *)NULL);
        execlp("python3", "python3", "-c", judge, data, answer, dtype, (char *)NULL);
        _exit(77);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        return false;
    assert_int_equal(WEXITSTATUS(status), 0);
    f = fopen(answer, "re");
    assert_non_null(f);
    for (int i = 0; i < 12; i++) {
        assert_non_null(fgets(line, sizeof line, f));
        assert_true(as_parse_f64(line, strcspn(line, "\n"), &out[i]));
    }
    (void)fclose(f);
    return true;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void expect_judged(const struct as_weight_stats *s, const double judged[12])
{
    double error = s->percentile_error > 1e-15 ? s->percentile_error : 1e-15;

    near(s->mean, judged[0], 1e-13);
    near(s->std, judged[1], 1e-12);
    near(s->min, judged[2], 0);
    near(s->max, judged[3], 0);
    for (int i = 0; i < AS_WEIGHT_PERCENTILES; i++)
        near(s->percentile[i], judged[4 + i], error);
    near((double)s->below_0001, judged[9], 0);
    near((double)s->below_001, judged[10], 0);
    near((double)s->below_01, judged[11], 0);
}

static void numpy_agrees(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 49, 1000, 123457, AS_WEIGHT_EXACT_MAX + 12345};
    char dir[] = "/tmp/assay-weights-XXXXXX", data[64], answer[64];
    float *w = random_weights(sizes[UNIT_COUNT(sizes) - 1]);
    bool there = true;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(data, sizeof data, "%s/data", dir);
    (void)snprintf(answer, sizeof answer, "%s/answer", dir);
    for (size_t i = 0; there && i < UNIT_COUNT(sizes); i++) {
        struct as_weight_stats s;
        double judged[12];
        struct kit k;

        write_file(data, w, sizes[i] * sizeof *w);
        kit_begin(&k);
        put(&k, AS_DTYPE_F32, sizes[i], w);
        s = stats_of(&k, NULL);
        there = ask_numpy(data, answer, "<f4", judged);
        if (there)
            expect_judged(&s, judged);
        if (there && sizes[i] < 2000) { /* the same bytes as half floats; NaN is not for numpy */
            static uint8_t half[4000];

            for (size_t b = 0; b < sizes[i]; b++) {
                half[2 * b] = (uint8_t)(b * 37);
                half[2 * b + 1] = (uint8_t)(b * 11 % 124);
            }
            write_file(data, half, sizes[i] * 2);
            kit_end(&k);
            kit_begin(&k);
            put(&k, AS_DTYPE_F16, sizes[i], half);
            s = stats_of(&k, NULL);
            assert_true(ask_numpy(data, answer, "<f2", judged));
            expect_judged(&s, judged);
        }
        kit_end(&k);
    }
    (void)unlink(data);
    (void)unlink(answer);
    (void)rmdir(dir);
    as_free(w);
    if (!there) {
        print_message("skipped: python3 with numpy is not here\n");
        skip();
    }
}

static int read_again(void *user, struct assay_error *err)
{
    struct as_weight_stats s, each[KIT_PARAMS];
    struct kit *k = user;

    return as_weight_stats_read(&s, each, k->model, &k->params, NULL, NULL, err);
}

static void any_allocation_may_fail(void **state)
{
    static const int8_t q[] = {1, -2};
    static const float scale[] = {0.5f};
    uint32_t w, by, out;
    struct kit k;

    (void)state;
    kit_begin(&k);
    w = put(&k, AS_DTYPE_I8, 2, q);
    by = put(&k, AS_DTYPE_F32, 1, scale);
    out = kit_f32(&k, 2);
    kit_node(&k, AS_OP_DequantizeLinear, w, by, out);
    k.main->nodes = k.nodes;
    k.main->n_nodes = 1;
    kit_fail_each(read_again, &k);
    k.main->n_nodes = 0;
    kit_end(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_numbers_are_added_up),
        cmocka_unit_test(thresholds_are_strict_and_odd_numbers_apart),
        cmocka_unit_test(a_tensor_counts_once_and_buffers_do_not),
        cmocka_unit_test(a_model_without_weights_is_an_error),
        cmocka_unit_test(small_floats_are_read),
        cmocka_unit_test(integers_are_what_they_stand_for),
        cmocka_unit_test(blocks_are_read),
        cmocka_unit_test(what_cannot_be_had_is_skipped),
        cmocka_unit_test(estimates_are_within_their_error),
        cmocka_unit_test(numpy_agrees),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
