/* tests/unit/test_hysteresis.c - masks that flip only after disagreeing long enough, against
 * counters kept one by one; and what a KV cache takes. */
#include "attn_kit.h"

#include "base/alloc.h"

static struct assay_hysteresis *tracker(unsigned tau)
{
    struct assay_hysteresis *h;

    assert_int_equal(
        assay_hysteresis_new(&h,
                             &(struct assay_hysteresis_options){
                                 .size = sizeof(struct assay_hysteresis_options), .tau = tau},
                             NULL),
        ASSAY_OK);
    return h;
}

static unsigned step(struct assay_hysteresis *h, unsigned raw)
{
    uint8_t in = (uint8_t)raw, out;

    assert_int_equal(assay_hysteresis_apply(h, &in, 4, &out, NULL), ASSAY_OK);
    return out;
}

static void the_first_mask_passes(void **state)
{
    struct assay_hysteresis *h = tracker(3);
    size_t n_bits = 7;

    (void)state;
    assert_null(assay_hysteresis_current_mask(h, &n_bits));
    assert_int_equal(n_bits, 0);
    assert_int_equal(assay_hysteresis_step(h), 0);
    assert_int_equal(step(h, 0xfa), 0x0a); /* bits past the end are 0 */
    assert_int_equal(assay_hysteresis_step(h), 1);
    assert_int_equal(*assay_hysteresis_current_mask(h, &n_bits), 0x0a);
    assert_int_equal(n_bits, 4);
    assay_hysteresis_free(h);
}

static void tau_in_a_row_flip(void **state)
{
    struct assay_hysteresis *h = tracker(2);

    (void)state;
    assert_int_equal(step(h, 1), 1);
    assert_int_equal(step(h, 3), 1); /* once */
    assert_int_equal(step(h, 3), 3); /* twice */
    assert_int_equal(step(h, 2), 3);
    assert_int_equal(step(h, 3), 3); /* agreement starts the count again */
    assert_int_equal(step(h, 2), 3);
    assert_int_equal(step(h, 2), 2);
    assert_int_equal(assay_hysteresis_step(h), 7);
    assay_hysteresis_free(h);
}

static void small_tau_flips_at_once(void **state)
{
    (void)state;
    for (unsigned tau = 0; tau < 2; tau++) {
        struct assay_hysteresis *h = tracker(tau);

        assert_int_equal(step(h, 5), 5);
        assert_int_equal(step(h, 10), 10);
        assert_int_equal(step(h, 0), 0);
        assay_hysteresis_free(h);
    }
}

static void another_length_starts_anew(void **state)
{
    struct assay_hysteresis *h = tracker(2);
    uint8_t wide[2] = {0xff, 0xff}, out[2];

    (void)state;
    assert_int_equal(step(h, 1), 1);
    assert_int_equal(step(h, 0), 1);
    assert_int_equal(assay_hysteresis_apply(h, wide, 9, out, NULL), ASSAY_OK);
    assert_true(out[0] == 0xff && out[1] == 1);
    assert_int_equal(step(h, 0), 0); /* passes, as the first of its length */
    assert_int_equal(step(h, 1), 0); /* its disagreements from before are forgotten */
    assert_int_equal(step(h, 1), 1);
    assert_int_equal(assay_hysteresis_step(h), 6);
    assert_int_equal(assay_hysteresis_apply(h, NULL, 0, NULL, NULL), ASSAY_OK);
    assay_hysteresis_free(h);
}

/* Counters of whole numbers, one an entry. */
static void counters_agree(void **state)
{
    enum { BITS = 61, STEPS = 400 };
    static const unsigned taus[] = {0, 1, 2, 3, 4, 5, 7, 8, 20};
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 3);
    for (size_t t = 0; t < UNIT_COUNT(taus); t++) {
        struct assay_hysteresis *h = tracker(taus[t]);
        unsigned count[BITS] = {0};
        uint8_t raw[8], got[8], now[8] = {0};

        for (int s = 0; s < STEPS; s++) {
            for (size_t i = 0; i < BITS; i++) {
                bool bit = as_rng_below(&rng, 10) < (i % 10 ? 8 : 5);

                kit_set_bit(raw, i, bit);
                count[i] = s > 0 && bit != kit_bit(now, i) ? count[i] + 1 : 0;
                if (s == 0 || (count[i] > 0 && count[i] >= taus[t])) {
                    kit_set_bit(now, i, bit);
                    count[i] = 0;
                }
            }
            assert_int_equal(assay_hysteresis_apply(h, raw, BITS, got, NULL), ASSAY_OK);
            for (size_t i = 0; i < 64; i++)
                assert_int_equal(kit_bit(got, i), i < BITS && kit_bit(now, i));
        }
        assay_hysteresis_free(h);
    }
}

static void the_greatest_tau_never_flips_here(void **state)
{
    struct assay_hysteresis *h = tracker(UINT32_MAX);

    (void)state;
    assert_int_equal(step(h, 3), 3);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(step(h, 12), 3);
    assay_hysteresis_free(h);
}

static void wrong_use_and_no_memory(void **state)
{
    uint8_t mask[4] = {1, 2, 3, 4}, out[4];
    int rc = ASSAY_ERR_NOMEM;

    (void)state;
    assert_int_equal(
        assay_hysteresis_new(NULL,
                             &(struct assay_hysteresis_options){
                                 .size = sizeof(struct assay_hysteresis_options), .tau = 1},
                             NULL),
        ASSAY_ERR_USAGE);
    assert_int_equal(assay_hysteresis_apply(NULL, mask, 8, out, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_hysteresis_step(NULL), 0);
    assert_null(assay_hysteresis_current_mask(NULL, NULL));
    assay_hysteresis_free(NULL);
    for (uint64_t nth = 1; rc < 0; nth++) {
        struct assay_hysteresis *h = NULL;

        as_alloc_fail_at(nth, 0);
        rc = assay_hysteresis_new(&h,
                                  &(struct assay_hysteresis_options){
                                      .size = sizeof(struct assay_hysteresis_options), .tau = 2},
                                  NULL);
        if (rc == ASSAY_OK)
            rc = assay_hysteresis_apply(h, mask, 16, out, NULL);
        if (rc == ASSAY_OK) {
            rc = assay_hysteresis_apply(h, mask, 32, out, NULL);
            if (rc < 0) /* it is as it was */
                assert_int_equal(assay_hysteresis_current_mask(h, NULL)[1], 2);
        }
        as_alloc_fail_at(0, 0);
        assay_hysteresis_free(h);
    }
    assert_int_equal(rc, ASSAY_OK);
}

static void caches_are_counted(void **state)
{
    struct assay_kv_cache cache = {32, 8, 128, 4096, 2, 2, ASSAY_KV_ALL};
    uint64_t bytes;

    (void)state;
    assert_int_equal(assay_kv_cache_bytes(&cache, &bytes, NULL), ASSAY_OK);
    assert_true(bytes == UINT64_C(2) * 32 * 8 * 128 * 4096 * 2 * 2);
    cache.kept_positions = 10;
    assert_int_equal(assay_kv_cache_bytes(&cache, &bytes, NULL), ASSAY_OK);
    assert_int_equal(bytes, 10 * 2 * 128 * 2);
    cache.kept_positions = 0;
    assert_int_equal(assay_kv_cache_bytes(&cache, &bytes, NULL), ASSAY_OK);
    assert_int_equal(bytes, 0);
    cache.kept_positions = UINT64_C(32) * 8 * 4096 * 2 + 1;
    assert_int_equal(assay_kv_cache_bytes(&cache, &bytes, NULL), ASSAY_ERR_USAGE);
    cache.kept_positions = ASSAY_KV_ALL;
    cache.seq_len = UINT64_MAX / 2;
    assert_int_equal(assay_kv_cache_bytes(&cache, &bytes, NULL), ASSAY_ERR_LIMIT);
    cache = (struct assay_kv_cache){1, 1, UINT64_MAX / 4, 100, 1, 1, ASSAY_KV_ALL};
    assert_int_equal(assay_kv_cache_bytes(&cache, &bytes, NULL), ASSAY_ERR_LIMIT);
    assert_int_equal(assay_kv_cache_bytes(NULL, &bytes, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_kv_cache_bytes(&cache, NULL, NULL), ASSAY_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_mask_passes),
        cmocka_unit_test(tau_in_a_row_flip),
        cmocka_unit_test(small_tau_flips_at_once),
        cmocka_unit_test(another_length_starts_anew),
        cmocka_unit_test(counters_agree),
        cmocka_unit_test(the_greatest_tau_never_flips_here),
        cmocka_unit_test(wrong_use_and_no_memory),
        cmocka_unit_test(caches_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
