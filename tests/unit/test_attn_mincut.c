/* tests/unit/test_attn_mincut.c - gating: the documented rules on small logits, heads of whole
 * tensors against them, and the operator against the sparse path bit by bit. */
#include "attn_kit.h"

#include "base/alloc.h"
#include "experiment/attention/attn_worker.h"

static const struct assay_attn_shape shapes[] = {
    {1, 1, 1, 1, 4, false},  {1, 1, 1, 2, 3, false},   {1, 1, 1, 9, 5, false},
    {2, 4, 2, 17, 8, false}, {2, 4, 1, 23, 20, true},  {1, 2, 2, 100, 16, false},
    {1, 1, 1, 65, 17, true}, {1, 3, 3, 130, 8, false}, {1, 8, 2, 31, 4, false},
};

static struct assay_gating gate(const float *logits, size_t n, float lambda, float eps,
                                uint8_t *mask)
{
    struct assay_gating gating;

    memset(mask, 0xff, (n * n + 7) / 8);
    assert_int_equal(assay_mincut_gate(logits, n, lambda, 2, eps, mask, &gating, NULL), ASSAY_OK);
    assert_int_equal(gating.edges_total, n * n);
    for (size_t i = n * n; i < (n * n + 7) / 8 * 8; i++)
        assert_false(kit_bit(mask, i));
    return gating;
}

static void zero_and_less_is_dropped(void **state)
{
    const float logits[] = {1, -1, 0.01F, 0, 2, 0.02F, -3, 0.005F, 3};
    uint8_t mask[2];
    struct assay_gating g;

    (void)state;
    g = gate(logits, 3, 0, 0.01F, mask);
    assert_int_equal(mask[0], 1 << 0 | 1 << 4 | 1 << 5);
    assert_int_equal(mask[1], 1);
    assert_int_equal(g.edges_kept, 4);
    /* No way from token 0 to token 2: a cut of nothing, applied for nothing. */
    assert_true(g.cut_cost == 0 && g.threshold == 0 && g.cuts_applied == 1);
    assert_int_equal(g.rows_empty, 0);
    assert_int_equal(g.positions_kept, 3);
    assert_int_equal(g.positions_total, 3);
}

static void a_cheap_cut_is_made(void **state)
{
    /* 0 -> 1 -> 2, where the second edge is weak; the others make the mean great. */
    const float logits[] = {8, 4, 0, 0, 8, 1, 0, 0, 8};
    uint8_t mask[2];
    struct assay_gating g;

    (void)state;
    g = gate(logits, 3, 0.5F, 0.01F, mask); /* the mean is 29 / 5 = 5.8 */
    assert_true(g.cut_cost == 1 && g.cuts_applied == 1);
    assert_true(fabs(g.threshold - 2.9) < 1e-12);
    assert_int_equal(mask[0], 1 << 0 | 1 << 1 | 1 << 4);
    assert_int_equal(mask[1], 1);
    assert_int_equal(g.edges_kept, 4);
    /* One that is too dear is not, and costs nothing. */
    g = gate(logits, 3, 0.1F, 0.01F, mask);
    assert_true(g.cut_cost == 0 && g.cuts_applied == 0);
    assert_int_equal(g.edges_kept, 5);
    assert_true(kit_bit(mask, 5));
}

static void the_bound_itself_is_cheap_enough(void **state)
{
    const float logits[] = {0, 2, 0, 0}; /* the cut costs the mean */
    uint8_t mask[1];

    (void)state;
    assert_true(gate(logits, 2, 1, 0, mask).cut_cost == 2);
    assert_int_equal(mask[0], 0);
    assert_true(gate(logits, 2, 0.99F, 0, mask).cut_cost == 0);
    assert_int_equal(mask[0], 2);
}

static void nothing_to_keep(void **state)
{
    const float negative[] = {-1, -2, -3, -4}, one[] = {5};
    uint8_t mask[1];
    struct assay_gating g;

    (void)state;
    g = gate(negative, 2, 0.5F, 0.01F, mask);
    assert_true(g.edges_kept == 0 && g.cut_cost == 0 && g.cuts_applied == 0 && mask[0] == 0);
    assert_true(g.rows_empty == 2 && g.positions_kept == 0);
    g = gate(one, 1, 0.5F, 0.01F, mask);
    assert_true(g.edges_kept == 0 && g.edges_total == 1 && mask[0] == 0);
    assert_int_equal(assay_mincut_gate(NULL, 0, 0.5F, 2, 0.01F, NULL, &g, NULL), ASSAY_OK);
    assert_int_equal(g.edges_total, 0);
}

static void wrong_logits_are_refused(void **state)
{
    const float logits[] = {1, 2, 3, -INFINITY};
    struct assay_error err;
    uint8_t mask[1];

    (void)state;
    assert_int_equal(assay_mincut_gate(logits, 2, 0.5F, 2, 0.01F, mask, NULL, &err),
                     ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg, "the logit of row 1, column 1 is infinite");
    assert_int_equal(assay_mincut_gate(logits, 1, NAN, 2, 0.01F, mask, NULL, NULL),
                     ASSAY_ERR_USAGE);
    assert_int_equal(assay_mincut_gate(logits, 1, 0.5F, 2, -1, mask, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_mincut_gate(NULL, 1, 0.5F, 2, 0, mask, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_mincut_gate(logits, SIZE_MAX, 0.5F, 2, 0, mask, NULL, NULL),
                     ASSAY_ERR_LIMIT);
}

/* The mask of a head is that of its logits, computed here with fmaf() in the order promised. */
static void check_head(const struct attn_kit *kit, const struct assay_mincut_config *config,
                       size_t head, struct assay_gating *sum)
{
    size_t n = kit->shape.seq_len, d = kit->shape.dim;
    size_t kv = head / (kit->shape.heads / kit->shape.kv_heads);
    float *logits = calloc(n * n, sizeof *logits);
    uint8_t *mask = calloc(n * n / 8 + 1, 1);
    struct assay_gating one;

    assert_true(logits && mask);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < (kit->shape.causal ? i + 1 : n); j++) {
            float x = 0;

            for (size_t p = 0; p < d; p++)
                x = fmaf(kit->q[(head * n + i) * d + p], kit->k[(kv * n + j) * d + p], x);
            /* A causal mask is cut from the last token to the first: the order turned round. */
            logits[kit->shape.causal ? n * n - 1 - (i * n + j) : i * n + j] =
                x * (1 / sqrtf((float)d));
        }
    one = gate(logits, n, config->lambda, config->eps, mask);
    for (size_t i = 0; i < n * n; i++)
        assert_int_equal(kit_bit(mask, kit->shape.causal ? n * n - 1 - i : i),
                         kit_bit(kit->mask, head * n * n + i));
    sum->cut_cost += one.cut_cost;
    sum->threshold += one.threshold;
    sum->edges_kept += one.edges_kept;
    sum->edges_total += one.edges_total;
    sum->rows_empty += one.rows_empty;
    sum->cuts_applied += one.cuts_applied;
    free(mask);
    free(logits);
}

static uint64_t positions_used(const struct attn_kit *kit)
{
    size_t n = kit->shape.seq_len, group = kit->shape.heads / kit->shape.kv_heads;
    uint64_t used = 0;

    for (size_t kv = 0; kv < kit->shape.batch * kit->shape.kv_heads; kv++)
        for (size_t j = 0; j < n; j++) {
            bool any = false;

            for (size_t row = kv * group * n; row < (kv + 1) * group * n; row++)
                any = any || kit_bit(kit->mask, row * n + j);
            used += any;
        }
    return used;
}

static void heads_are_gated_one_by_one(void **state)
{
    static const float lambdas[] = {0, 0.5F, 40, 1000};
    struct assay_attn *attn;

    (void)state;
    assert_int_equal(assay_attn_new(&attn,
                                    &(struct assay_attn_options){
                                        .size = sizeof(struct assay_attn_options), .threads = 2},
                                    NULL),
                     ASSAY_OK);
    for (size_t s = 0; s < UNIT_COUNT(shapes); s++)
        for (size_t l = 0; l < UNIT_COUNT(lambdas); l++) {
            struct assay_mincut_config config = assay_mincut_config_make();
            struct attn_kit kit = kit_new(shapes[s], s * 10 + l);
            struct assay_gating got, sum = {0};

            config.lambda = lambdas[l];
            assert_int_equal(
                assay_attn_decide(attn, &kit.shape, &config, kit.q, kit.k, kit.mask, &got, NULL),
                ASSAY_OK);
            for (size_t head = 0; head < kit.shape.batch * kit.shape.heads; head++)
                check_head(&kit, &config, head, &sum);
            assert_true(fabs(got.cut_cost - sum.cut_cost) <= 1e-9 * sum.cut_cost);
            assert_true(fabs(got.threshold - sum.threshold) <= 1e-9 * sum.threshold);
            assert_int_equal(got.edges_kept, sum.edges_kept);
            assert_int_equal(got.edges_total, sum.edges_total);
            assert_int_equal(got.rows_empty, sum.rows_empty);
            assert_int_equal(got.cuts_applied, sum.cuts_applied);
            assert_int_equal(got.positions_kept, positions_used(&kit));
            assert_int_equal(got.positions_total,
                             kit.shape.batch * kit.shape.kv_heads * kit.shape.seq_len);
            kit_free(&kit);
        }
    assay_attn_free(attn);
}

static void the_sparse_path_gives_the_same_bits(void **state)
{
    (void)state;
    for (size_t s = 0; s < UNIT_COUNT(shapes); s++)
        for (size_t kind = 0; as_attn_kernels_at(kind); kind++) {
            struct assay_mincut_config config = assay_mincut_config_make();
            struct attn_kit kit = kit_new(shapes[s], s);
            struct assay_gating decided, used;
            struct assay_attn *attn;

            assert_int_equal(assay_attn_new(&attn,
                                            &(struct assay_attn_options){
                                                .size = sizeof(struct assay_attn_options),
                                                .threads = 1 + (unsigned)s % 3},
                                            NULL),
                             ASSAY_OK);
            attn->kernels = as_attn_kernels_at(kind);
            config.lambda = 30;
            assert_int_equal(assay_attn_decide(attn, &kit.shape, &config, kit.q, kit.k, kit.mask,
                                               &decided, NULL),
                             ASSAY_OK);
            assert_int_equal(assay_attn_mincut(attn, &kit.shape, &config, kit.q, kit.k, kit.v,
                                               kit.out, NULL, &used, NULL),
                             ASSAY_OK);
            assert_memory_equal(&decided, &used, sizeof used);
            kit_expect(&kit, kit.mask, kit.out);
            assert_int_equal(
                assay_attn_masked(attn, &kit.shape, kit.q, kit.k, kit.v, kit.mask, kit.other, NULL),
                ASSAY_OK);
            assert_memory_equal(kit.out, kit.other, kit.n_q * sizeof *kit.out);
            assay_attn_free(attn);
            kit_free(&kit);
        }
}

static void one_token_gates_itself(void **state)
{
    struct assay_mincut_config config = assay_mincut_config_make();
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 1, 1, 1, 4, false}, 1);
    struct assay_gating g;
    struct assay_attn *attn;

    (void)state;
    memcpy(kit.k, kit.q, 4 * sizeof *kit.k); /* a positive logit */
    assert_int_equal(assay_attn_new(&attn, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_attn_mincut(attn, &kit.shape, &config, kit.q, kit.k, kit.v, kit.out,
                                       kit.mask, &g, NULL),
                     ASSAY_OK);
    for (size_t i = 0; i < 4; i++)
        assert_true(kit.out[i] == 0 && !signbit(kit.out[i]));
    assert_true(g.rows_empty == 1 && kit.mask[0] == 0);
    assay_attn_free(attn);
    kit_free(&kit);
}

/* ---- hysteresis ---- */

static void mincut(struct assay_attn *attn, struct attn_kit *kit,
                   const struct assay_mincut_config *config, uint8_t *mask, struct assay_gating *g)
{
    assert_int_equal(assay_attn_mincut(attn, &kit->shape, config, kit->q, kit->k, kit->v, kit->out,
                                       mask, g, NULL),
                     ASSAY_OK);
}

static void masks_go_through_the_tracker(void **state)
{
    struct assay_mincut_config config = assay_mincut_config_make();
    struct attn_kit a = kit_new((struct assay_attn_shape){1, 2, 1, 21, 6, false}, 1);
    struct attn_kit b = kit_new(a.shape, 2);
    uint8_t *seen = malloc(a.mask_bytes);
    struct assay_gating g, raw;
    struct assay_attn *attn;

    (void)state;
    assert_non_null(seen);
    assert_int_equal(assay_attn_new(&attn,
                                    &(struct assay_attn_options){
                                        .size = sizeof(struct assay_attn_options), .threads = 2},
                                    NULL),
                     ASSAY_OK);
    config.mode = ASSAY_GATING_HYSTERESIS;
    assert_int_equal(assay_attn_decide(attn, &a.shape, &config, a.q, a.k, a.mask, NULL, NULL), 0);
    assert_int_equal(assay_attn_decide(attn, &b.shape, &config, b.q, b.k, b.mask, &raw, NULL), 0);
    assert_memory_not_equal(a.mask, b.mask, a.mask_bytes);
    mincut(attn, &a, &config, seen, NULL); /* the first passes */
    assert_memory_equal(seen, a.mask, a.mask_bytes);
    mincut(attn, &b, &config, seen, &g); /* the second disagrees once: not enough */
    assert_memory_equal(seen, a.mask, a.mask_bytes);
    assert_true(g.cut_cost == raw.cut_cost && g.threshold == raw.threshold);
    assert_int_equal(g.edges_total, raw.edges_total);
    assert_int_not_equal(g.edges_kept, raw.edges_kept);
    kit_expect(&b, a.mask, b.out);
    mincut(attn, &b, &config, NULL, &g); /* twice in a row */
    kit_expect(&b, b.mask, b.out);
    assert_int_equal(g.edges_kept, raw.edges_kept);
    assert_int_equal(g.positions_kept, raw.positions_kept);
    /* What it saw is forgotten on demand, with another tau and with another shape. */
    assay_attn_reset_masks(attn);
    mincut(attn, &a, &config, seen, NULL);
    assert_memory_equal(seen, a.mask, a.mask_bytes);
    config.tau = 3;
    mincut(attn, &b, &config, seen, NULL);
    assert_memory_equal(seen, b.mask, b.mask_bytes);
    a.shape.kv_heads = 2; /* as many bits; keys of another size are read as they lie */
    a.k = realloc(a.k, a.n_q * sizeof *a.k);
    a.v = realloc(a.v, a.n_q * sizeof *a.v);
    for (size_t i = a.n_kv; i < a.n_q; i++)
        a.k[i] = a.v[i] = 0.5F;
    assert_int_equal(assay_attn_decide(attn, &a.shape, &config, a.q, a.k, a.mask, NULL, NULL), 0);
    mincut(attn, &a, &config, seen, NULL);
    assert_memory_equal(seen, a.mask, a.mask_bytes);
    assay_attn_reset_masks(NULL);
    assay_attn_free(attn);
    free(seen);
    kit_free(&a);
    kit_free(&b);
}

static void exact_gating_ignores_tau(void **state)
{
    struct assay_mincut_config config = assay_mincut_config_make();
    struct attn_kit a = kit_new((struct assay_attn_shape){1, 1, 1, 21, 6, false}, 1);
    struct attn_kit b = kit_new(a.shape, 2);
    struct assay_attn *attn;

    (void)state;
    assert_int_equal(assay_attn_new(&attn, NULL, NULL), ASSAY_OK);
    config.tau = 1000;
    mincut(attn, &a, &config, NULL, NULL);
    mincut(attn, &b, &config, a.mask, NULL);
    assert_int_equal(assay_attn_decide(attn, &b.shape, &config, b.q, b.k, b.mask, NULL, NULL), 0);
    assert_memory_equal(a.mask, b.mask, a.mask_bytes);
    assay_attn_free(attn);
    kit_free(&a);
    kit_free(&b);
}

static void wrong_use_is_refused(void **state)
{
    struct assay_mincut_config config = assay_mincut_config_make();
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 1, 1, 4, 4, false}, 1);
    struct assay_attn_shape large = {1, 1, 1, ASSAY_ATTN_MAX_GATED + 1, 4, false};
    struct assay_attn *attn;

    (void)state;
    assert_int_equal(assay_attn_new(&attn, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_attn_decide(attn, &kit.shape, &config, kit.q, kit.k, NULL, NULL, NULL),
                     ASSAY_ERR_USAGE);
    assert_int_equal(assay_attn_decide(attn, &kit.shape, NULL, kit.q, kit.k, kit.mask, NULL, NULL),
                     ASSAY_ERR_USAGE);
    assert_int_equal(
        assay_attn_decide(NULL, &kit.shape, &config, kit.q, kit.k, kit.mask, NULL, NULL),
        ASSAY_ERR_USAGE);
    assert_int_equal(assay_attn_decide(attn, &large, &config, kit.q, kit.k, kit.mask, NULL, NULL),
                     ASSAY_ERR_LIMIT);
    assert_int_equal(
        assay_attn_mincut(attn, &kit.shape, &config, kit.q, kit.k, NULL, kit.out, NULL, NULL, NULL),
        ASSAY_ERR_USAGE);
    config.lambda = -1;
    assert_int_equal(
        assay_attn_decide(attn, &kit.shape, &config, kit.q, kit.k, kit.mask, NULL, NULL),
        ASSAY_ERR_USAGE);
    config.lambda = 1;
    config.eps = NAN;
    assert_int_equal(
        assay_attn_decide(attn, &kit.shape, &config, kit.q, kit.k, kit.mask, NULL, NULL),
        ASSAY_ERR_USAGE);
    config.eps = 0;
    kit.q[0] = NAN;
    assert_int_equal(
        assay_attn_decide(attn, &kit.shape, &config, kit.q, kit.k, kit.mask, NULL, NULL),
        ASSAY_ERR_FORMAT);
    assay_attn_free(attn);
    kit_free(&kit);
}

static void every_allocation_may_fail(void **state)
{
    struct attn_kit kit = kit_new((struct assay_attn_shape){1, 2, 1, 30, 8, false}, 1);
    struct assay_mincut_config config = assay_mincut_config_make();
    int rc = ASSAY_ERR_NOMEM;

    (void)state;
    config.mode = ASSAY_GATING_HYSTERESIS;
    for (uint64_t nth = 1; rc < 0; nth++) {
        struct assay_attn *attn = NULL;

        assert_int_equal(
            assay_attn_new(&attn,
                           &(struct assay_attn_options){.size = sizeof(struct assay_attn_options),
                                                        .threads = 2},
                           NULL),
            ASSAY_OK);
        as_alloc_fail_at(nth, 0);
        rc = assay_attn_decide(attn, &kit.shape, &config, kit.q, kit.k, kit.mask, NULL, NULL);
        if (rc == ASSAY_OK)
            rc = assay_attn_mincut(attn, &kit.shape, &config, kit.q, kit.k, kit.v, kit.out, NULL,
                                   NULL, NULL);
        as_alloc_fail_at(0, 0);
        assert_true(rc == ASSAY_OK || rc == ASSAY_ERR_NOMEM);
        if (rc < 0) { /* it can still be used */
            assay_attn_reset_masks(attn);
            mincut(attn, &kit, &config, kit.mask, NULL);
            kit_expect(&kit, kit.mask, kit.out);
        }
        assay_attn_free(attn);
    }
    kit_expect(&kit, kit.mask, kit.out);
    kit_free(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_and_less_is_dropped),
        cmocka_unit_test(a_cheap_cut_is_made),
        cmocka_unit_test(the_bound_itself_is_cheap_enough),
        cmocka_unit_test(nothing_to_keep),
        cmocka_unit_test(wrong_logits_are_refused),
        cmocka_unit_test(heads_are_gated_one_by_one),
        cmocka_unit_test(the_sparse_path_gives_the_same_bits),
        cmocka_unit_test(one_token_gates_itself),
        cmocka_unit_test(masks_go_through_the_tracker),
        cmocka_unit_test(exact_gating_ignores_tau),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
