/* tests/unit/test_attn_softmax.c - attention against the plain one in double, the same bits from
 * every number of threads and every kind of loops, what masks leave out, and what is refused. */
#include "attn_kit.h"

#include <assay/memory.h>

#include "base/alloc.h"
#include "experiment/attention/attn_worker.h"

static const struct assay_attn_shape shapes[] = {
    {1, 1, 1, 1, 1, false},    {1, 1, 1, 1, 64, true},   {1, 1, 1, 2, 3, false},
    {1, 1, 1, 16, 16, false},  {1, 1, 1, 17, 15, false}, {2, 4, 2, 33, 20, false},
    {2, 4, 1, 33, 20, true},   {1, 2, 2, 100, 64, true}, {3, 6, 3, 25, 8, false},
    {1, 1, 1, 300, 40, false}, {1, 1, 1, 65, 17, true},  {1, 1, 1, 24, 4, true},
};

static struct assay_attn *worker(unsigned threads, const struct as_attn_kernels *kernels)
{
    struct assay_attn *attn;

    assert_int_equal(
        assay_attn_new(&attn,
                       &(struct assay_attn_options){.size = sizeof(struct assay_attn_options),
                                                    .threads = threads},
                       NULL),
        ASSAY_OK);
    if (kernels)
        attn->kernels = kernels;
    return attn;
}

static void softmax_is_right(void **state)
{
    struct assay_attn *attn = worker(2, NULL);

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(shapes); i++) {
        struct attn_kit kit = kit_new(shapes[i], i);

        assert_int_equal(assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v, kit.out, NULL),
                         ASSAY_OK);
        kit_expect(&kit, NULL, kit.out);
        kit_free(&kit);
    }
    assay_attn_free(attn);
}

/* The weights of one query add up to 1, so equal values come out as they are. */
static void equal_values_stay(void **state)
{
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 1, 1, 50, 4, false}, 3);
    struct assay_attn *attn = worker(1, NULL);

    (void)state;
    for (size_t i = 0; i < kit.n_kv; i++)
        kit.v[i] = 2;
    assert_int_equal(assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v, kit.out, NULL),
                     ASSAY_OK);
    for (size_t i = 0; i < kit.n_q; i++)
        assert_true(fabs((double)kit.out[i] - 2) < 1e-6);
    assay_attn_free(attn);
    kit_free(&kit);
}

/* Logits so far apart that only the greatest counts, and great equal ones. */
static void far_logits_do_not_overflow(void **state)
{
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 1, 1, 20, 4, false}, 5);
    struct assay_attn *attn = worker(1, NULL);

    (void)state;
    for (size_t i = 0; i < kit.n_q; i++)
        kit.q[i] = 1e10F;
    for (size_t i = 0; i < kit.n_kv; i++)
        kit.k[i] = i / 4 == 7 ? 1e10F : -1e10F;
    assert_int_equal(assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v, kit.out, NULL),
                     ASSAY_OK);
    for (size_t i = 0; i < kit.n_q; i++)
        assert_true(kit.out[i] == kit.v[7 * 4 + i % 4]);
    assay_attn_free(attn);
    kit_free(&kit);
}

static void random_mask(struct attn_kit *kit, unsigned kept_of_100, uint64_t seed)
{
    size_t n = kit->shape.seq_len;
    struct as_rng rng;

    as_rng_seed(&rng, seed);
    for (size_t i = 0; i < kit->n_bits; i++)
        kit_set_bit(kit->mask, i, as_rng_below(&rng, 100) < kept_of_100);
    /* Some positions of every head are used by nobody, and some rows see nothing. */
    for (size_t i = 0; i < kit->n_bits; i++)
        if (i % n % 3 == 1 || i / n % n % 7 == 2)
            kit_set_bit(kit->mask, i, false);
}

static void masks_are_right(void **state)
{
    static const unsigned kept[] = {0, 2, 50, 100};
    struct assay_attn *attn = worker(2, NULL);

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(shapes); i++)
        for (size_t m = 0; m < UNIT_COUNT(kept); m++) {
            struct attn_kit kit = kit_new(shapes[i], i + 100);

            random_mask(&kit, kept[m], i * 7 + m);
            assert_int_equal(
                assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, kit.mask, kit.out, NULL),
                ASSAY_OK);
            kit_expect(&kit, kit.mask, kit.out);
            kit_free(&kit);
        }
    assay_attn_free(attn);
}

static void a_full_mask_is_softmax(void **state)
{
    struct assay_attn *attn = worker(2, NULL);

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(shapes); i++) {
        struct attn_kit kit = kit_new(shapes[i], i);

        memset(kit.mask, 0xff, kit.mask_bytes);
        assert_int_equal(assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v, kit.out, NULL),
                         ASSAY_OK);
        assert_int_equal(
            assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, kit.mask, kit.other, NULL),
            ASSAY_OK);
        assert_memory_equal(kit.out, kit.other, kit.n_q * sizeof *kit.out);
        kit_free(&kit);
    }
    assay_attn_free(attn);
}

/* Leaving a position out of the tensors altogether gives the bits of masking it. */
static void left_out_is_masked(void **state)
{
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 1, 1, 61, 12, false}, 9);
    struct attn_kit less = kit_new((struct assay_attn_shape){1, 1, 1, 61, 12, false}, 9);
    struct assay_attn *attn = worker(1, NULL);

    (void)state;
    for (size_t i = 0; i < kit.n_bits; i++)
        kit_set_bit(kit.mask, i, i % 61 != 20 && i % 61 != 21);
    for (size_t i = 0; i < less.n_bits; i++) /* the last two instead of those two */
        kit_set_bit(less.mask, i, i % 61 < 59);
    memmove(less.k + 20 * 12, less.k + 22 * 12, 39 * 12 * sizeof *less.k);
    memmove(less.v + 20 * 12, less.v + 22 * 12, 39 * 12 * sizeof *less.v);
    assert_int_equal(
        assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, kit.mask, kit.out, NULL),
        ASSAY_OK);
    assert_int_equal(
        assay_attn_masked(attn, &less.shape, less.q, less.k, less.v, less.mask, less.out, NULL),
        ASSAY_OK);
    assert_memory_equal(kit.out, less.out, kit.n_q * sizeof *kit.out);
    assay_attn_free(attn);
    kit_free(&kit);
    kit_free(&less);
}

static void bits_do_not_depend_on_who_computes(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(shapes); i++) {
        struct attn_kit kit = kit_new(shapes[i], i);
        struct assay_attn *first = worker(1, NULL);

        random_mask(&kit, 60, i);
        for (int masked = 0; masked < 2; masked++) {
            int rc =
                masked ? assay_attn_masked(first, &kit.shape, kit.q, kit.k, kit.v, kit.mask,
                                           kit.out, NULL)
                       : assay_attn_softmax(first, &kit.shape, kit.q, kit.k, kit.v, kit.out, NULL);

            assert_int_equal(rc, ASSAY_OK);
            for (size_t kind = 0; as_attn_kernels_at(kind); kind++)
                for (unsigned threads = 1; threads <= 4; threads++) {
                    struct assay_attn *attn = worker(threads, as_attn_kernels_at(kind));

                    rc = masked ? assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, kit.mask,
                                                    kit.other, NULL)
                                : assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v,
                                                     kit.other, NULL);
                    assert_int_equal(rc, ASSAY_OK);
                    assert_memory_equal(kit.out, kit.other, kit.n_q * sizeof *kit.out);
                    assay_attn_free(attn);
                }
        }
        assay_attn_free(first);
        kit_free(&kit);
    }
}

static void memory_is_counted(void **state)
{
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 2, 2, 200, 16, false}, 1);
    struct assay_attn_shape small = {1, 2, 2, 20, 16, false};
    struct assay_attn *attn = worker(2, NULL);
    struct assay_attn_usage first, usage;
    struct assay_memory_counts before, counts;

    (void)state;
    assay_memory_read_counts(&before);
    assay_attn_read_usage(attn, &usage);
    assert_true(usage.workspace_bytes == 0 && usage.peak_workspace_bytes == 0);
    assert_int_equal(assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v, kit.out, NULL), 0);
    assay_attn_read_usage(attn, &first);
    assert_true(first.workspace_bytes > 208 * 16 * 4 * 2);
    assert_true(first.peak_workspace_bytes == first.workspace_bytes);
    assert_true(first.kv_bytes == 2 * 2 * 200 * 16 * 4 && first.kv_bytes_dense == first.kv_bytes);
    assay_memory_read_counts(&counts);
    assert_int_equal(counts.current_bytes[ASSAY_MEMORY_TEMP] -
                         before.current_bytes[ASSAY_MEMORY_TEMP],
                     first.workspace_bytes);
    /* A smaller call holds less; the peak stays until it is reset. */
    assert_int_equal(assay_attn_softmax(attn, &small, kit.q, kit.k, kit.v, kit.out, NULL), 0);
    assay_attn_read_usage(attn, &usage);
    assert_true(usage.workspace_bytes < first.workspace_bytes);
    assert_true(usage.peak_workspace_bytes == first.workspace_bytes);
    assay_attn_reset_peak(attn);
    assert_int_equal(assay_attn_softmax(attn, &small, kit.q, kit.k, kit.v, kit.out, NULL), 0);
    assay_attn_read_usage(attn, &usage);
    assert_true(usage.peak_workspace_bytes == usage.workspace_bytes);
    /* Half of the positions of one head, all of the other. */
    memset(kit.mask, 0xff, kit.mask_bytes);
    for (size_t i = 0; i < 200 * 200; i++)
        kit_set_bit(kit.mask, i, i % 200 < 100);
    assert_int_equal(
        assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, kit.mask, kit.out, NULL), 0);
    assay_attn_read_usage(attn, &usage);
    assert_true(usage.kv_bytes == 2 * 300 * 16 * 4 && usage.kv_bytes_dense == first.kv_bytes);
    assay_attn_free(attn);
    assay_memory_read_counts(&counts);
    assert_int_equal(counts.current_bytes[ASSAY_MEMORY_TEMP],
                     before.current_bytes[ASSAY_MEMORY_TEMP]);
    kit_free(&kit);
}

static void fewer_positions_need_less_memory(void **state)
{
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 1, 1, 256, 32, false}, 1);
    struct assay_attn *attn = worker(1, NULL);
    struct assay_attn_usage full, half;

    (void)state;
    memset(kit.mask, 0xff, kit.mask_bytes);
    assert_int_equal(
        assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, kit.mask, kit.out, NULL), 0);
    assay_attn_read_usage(attn, &full);
    for (size_t i = 0; i < kit.n_bits; i++)
        kit_set_bit(kit.mask, i, i % 2);
    assert_int_equal(
        assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, kit.mask, kit.out, NULL), 0);
    assay_attn_read_usage(attn, &half);
    assert_true(half.workspace_bytes < full.workspace_bytes * 6 / 10);
    assay_attn_free(attn);
    kit_free(&kit);
}

/* Entries past the diagonal use nothing, whatever the mask says. */
static void causal_masks_use_less(void **state)
{
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 1, 1, 20, 4, true}, 1);
    struct assay_attn *attn = worker(1, NULL);
    struct assay_attn_usage usage;

    (void)state;
    for (size_t i = 0; i < 20; i++) { /* tokens 0 and 5; 12 is used by earlier ones alone */
        kit_set_bit(kit.mask, i * 20, true);
        kit_set_bit(kit.mask, i * 20 + 5, true);
        kit_set_bit(kit.mask, i * 20 + 12, i < 12);
    }
    assert_int_equal(
        assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, kit.mask, kit.out, NULL), 0);
    kit_expect(&kit, kit.mask, kit.out);
    assay_attn_read_usage(attn, &usage);
    assert_int_equal(usage.kv_bytes, 2 * 2 * 4 * sizeof(float));
    assay_attn_free(attn);
    kit_free(&kit);
}

/* A product too small for any number leaves a zero with a sign, which a zero added after it would
 * take away: what is left out must not show. Beside the others the last token weighs e^-80. */
static void zeros_have_no_sign(void **state)
{
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 1, 1, 20, 1, false}, 1);
    struct assay_attn *attn = worker(1, NULL);

    (void)state;
    for (size_t i = 0; i < 20; i++) {
        kit.q[i] = 1;
        kit.k[i] = i == 15 ? -80 : 0;
        kit.v[i] = i == 15 ? -1e-40F : 0;
    }
    for (size_t n = 15; n <= 20; n++) { /* with 16 it is the last that is added */
        for (size_t i = 0; i < kit.n_bits; i++)
            kit_set_bit(kit.mask, i, i % 20 < n);
        assert_int_equal(
            assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, kit.mask, kit.out, NULL), 0);
        for (size_t i = 0; i < 20; i++)
            assert_true(kit.out[i] == 0 && !signbit(kit.out[i]));
    }
    assay_attn_free(attn);
    kit_free(&kit);
}

/* Every weight within two units in the last place, and their sum in units of 2^-30. */
static void exponentials_are_right(void **state)
{
    const uint16_t bits[2] = {0xffff, 0x7fff};

    (void)state;
    for (size_t kind = 0; as_attn_kernels_at(kind); kind++)
        for (int step = 0; step < 20000; step++) {
            float s[32] = {0}, x[32];
            double sum = 1;
            int64_t total;

            for (int i = 1; i < 32; i++)
                s[i] = -(float)step * 0x1p-8F - (float)i * 0x1.234p-9F;
            memcpy(x, s, sizeof x);
            total = as_attn_kernels_at(kind)->softmax(s, bits, 2);
            assert_true(s[0] == 1 && s[31] == 0);
            for (int i = 1; i < 31; i++) {
                double right = x[i] < -86.5F ? 0 : exp((double)x[i]);

                assert_true(fabs((double)s[i] - right) <= 1.6e-7 * right);
                sum += right;
            }
            assert_true(fabs((double)total * 0x1p-30 - sum) < 1.6e-7 * sum + 31 * 0x1p-31);
        }
}

static void what_is_not_finite_is_named(void **state)
{
    struct attn_kit kit = kit_new((struct assay_attn_shape){2, 2, 1, 5, 3, false}, 1);
    struct assay_attn *attn = worker(1, NULL);
    struct assay_error err;

    (void)state;
    kit.k[(1 * 5 + 2) * 3 + 1] = NAN;
    assert_int_equal(assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v, kit.out, &err),
                     ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg,
                        "k is not a number in batch 1, head 0, token 2, column 1 (element 22)");
    kit.k[(1 * 5 + 2) * 3 + 1] = 0;
    kit.q[((1 * 2 + 1) * 5 + 4) * 3] = -INFINITY;
    assert_int_equal(assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v, kit.out, &err),
                     ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg,
                        "q is infinite in batch 1, head 1, token 4, column 0 (element 57)");
    kit.q[((1 * 2 + 1) * 5 + 4) * 3] = 1e30F;
    kit.k[0] = 1e30F;
    assert_int_equal(assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v, kit.out, &err),
                     ASSAY_ERR_LIMIT);
    kit.k[0] = 1;
    kit.v[3] = 1e38F;
    assert_int_equal(assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v, kit.out, &err),
                     ASSAY_ERR_LIMIT);
    assay_attn_free(attn);
    kit_free(&kit);
}

static void wrong_use_is_refused(void **state)
{
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 1, 1, 4, 4, false}, 1);
    static const struct assay_attn_shape wrong[] = {
        {0, 1, 1, 4, 4, false},
        {1, 3, 2, 4, 4, false},
        {1, 1, 1, 0, 4, false},
        {1, 1, 1, 4, 0, false},
        {1, 1, 1, ASSAY_ATTN_MAX_SEQ + 1, 4, false},
        {1, 1, 1, 4, ASSAY_ATTN_MAX_DIM + 1, false},
        {SIZE_MAX / 2, 4, 4, 4, 4, false},
        {(size_t)1 << 40, (size_t)1 << 20, 1, 64, 64, false},
    };
    struct assay_attn *attn = worker(1, NULL);
    struct assay_attn_usage usage;
    size_t bytes;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
        assert_true(assay_attn_softmax(attn, &wrong[i], kit.q, kit.k, kit.v, kit.out, NULL) < 0);
        assert_true(assay_attn_mask_bytes(&wrong[i], &bytes, NULL) < 0);
    }
    assert_int_equal(assay_attn_softmax(NULL, &kit.shape, kit.q, kit.k, kit.v, kit.out, NULL),
                     ASSAY_ERR_USAGE);
    assert_int_equal(assay_attn_softmax(attn, NULL, kit.q, kit.k, kit.v, kit.out, NULL),
                     ASSAY_ERR_USAGE);
    assert_int_equal(assay_attn_softmax(attn, &kit.shape, NULL, kit.k, kit.v, kit.out, NULL),
                     ASSAY_ERR_USAGE);
    assert_int_equal(assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, NULL, kit.out, NULL),
                     ASSAY_ERR_USAGE);
    assert_int_equal(assay_attn_mask_bytes(&kit.shape, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_attn_new(NULL, NULL, NULL), ASSAY_ERR_USAGE);
    assay_attn_free(attn);
    assert_int_equal(assay_attn_new(&attn, &(struct assay_attn_options){0}, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(
        assay_attn_new(&attn,
                       &(struct assay_attn_options){.size = sizeof(struct assay_attn_options),
                                                    .threads = AS_ATTN_MOST_THREADS + 1},
                       NULL),
        ASSAY_ERR_USAGE);
    assert_null(attn);
    assay_attn_read_usage(NULL, &usage);
    assert_true(usage.workspace_bytes == 0);
    assay_attn_reset_peak(NULL);
    assay_attn_free(NULL);
    kit_free(&kit);
}

/* Only builds that can make allocations fail see more than the last round. */
static void every_allocation_may_fail(void **state)
{
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 2, 1, 40, 8, false}, 1);
    int rc = ASSAY_ERR_NOMEM;

    (void)state;
    memset(kit.mask, 0x55, kit.mask_bytes);
    for (uint64_t nth = 1; rc < 0; nth++) {
        struct assay_attn *attn = NULL;

        as_alloc_fail_at(nth, 0);
        rc = assay_attn_new(
            &attn,
            &(struct assay_attn_options){.size = sizeof(struct assay_attn_options), .threads = 2},
            NULL);
        if (rc == ASSAY_OK)
            rc = assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v, kit.other, NULL);
        if (rc == ASSAY_OK)
            rc = assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, kit.mask, kit.out, NULL);
        as_alloc_fail_at(0, 0);
        assert_true(rc == ASSAY_OK || rc == ASSAY_ERR_NOMEM);
        if (rc < 0 && attn) /* it can still be used */
            assert_int_equal(
                assay_attn_softmax(attn, &kit.shape, kit.q, kit.k, kit.v, kit.other, NULL),
                ASSAY_OK);
        assay_attn_free(attn);
    }
    kit_expect(&kit, kit.mask, kit.out);
    kit_free(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_is_right),
        cmocka_unit_test(equal_values_stay),
        cmocka_unit_test(far_logits_do_not_overflow),
        cmocka_unit_test(masks_are_right),
        cmocka_unit_test(a_full_mask_is_softmax),
        cmocka_unit_test(left_out_is_masked),
        cmocka_unit_test(bits_do_not_depend_on_who_computes),
        cmocka_unit_test(memory_is_counted),
        cmocka_unit_test(fewer_positions_need_less_memory),
        cmocka_unit_test(causal_masks_use_less),
        cmocka_unit_test(zeros_have_no_sign),
        cmocka_unit_test(exponentials_are_right),
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
