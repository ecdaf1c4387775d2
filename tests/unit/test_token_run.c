/* Decoders token by token: the same numbers as all tokens at once, bytes of the cache to the last
 * one, and what is said of models that have no cache or but one shape. */
#include "decode_kit.h"

#include "measure/tokens/token_run.h"
#include "model/cost/cost.h"

enum { VOCABULARY = 50, TOKENS = 7 };

#define SMALL_LLAMA "llama:layers=2,width=32,heads=4,kv_heads=2,ffn=40,vocab=50,context=64"
#define SMALL_GPT2  "gpt2:layers=2,width=32,heads=4,vocab=50,context=64"
#define SHORT_GPT2  "gpt2:layers=2,width=32,heads=4,vocab=50,context=8,seq=0,past=-1"

static void a_cache_gives_the_same_numbers(void **state)
{
    static const char *const specs[][2] = {
        {SMALL_LLAMA ",seq=0", SMALL_LLAMA ",seq=0,past=-1"},
        {SMALL_LLAMA ",seq=0,tied=1", SMALL_LLAMA ",seq=0,past=-1,tied=1"},
        {SMALL_GPT2 ",seq=0", SMALL_GPT2 ",seq=0,past=-1"},
        {SMALL_LLAMA ",seq=0,batch=2", SMALL_LLAMA ",seq=0,past=-1,batch=2"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(specs); i++) {
        int64_t batch = strstr(specs[i][0], "batch=2") ? 2 : 1;
        struct decode_kit whole = {.batch = batch}, step = {.batch = batch},
                          most = {.batch = batch};
        const float *all, *one;

        decode_begin(&whole, decode_zoo(specs[i][0]), TOKENS, false);
        decode_begin(&step, decode_zoo(specs[i][1]), 1, true);
        decode_begin(&most, decode_zoo(specs[i][1]), TOKENS, false);
        all = decode_run_at(&whole, 0, TOKENS);
        decode_near(decode_run_at(&most, 0, TOKENS), all, (size_t)batch * TOKENS * VOCABULARY,
                    1e-4);
        for (int64_t t = 0; t < TOKENS; t++) {
            one = decode_run_at(&step, t, 1);
            for (int64_t s = 0; s < batch; s++)
                decode_near(one + s * VOCABULARY, all + (s * TOKENS + t) * VOCABULARY, VOCABULARY,
                            1e-4);
            assert_int_equal(as_engine_loop(step.engine, NULL), ASSAY_OK);
        }
        decode_end(&most);
        decode_end(&step);
        decode_end(&whole);
    }
}

/* Takes the model. */
static struct as_token_run run_model(struct as_model *model, const char *spec,
                                     const struct as_token_options *options)
{
    struct as_token_options o = *options;
    struct as_state_pairs pairs;
    struct as_token_run run;
    struct assay_error err = {0};

    assert_int_equal(as_state_pairs_find(&pairs, model, NULL, 0, NULL), ASSAY_OK);
    o.pairs = &pairs;
    if (as_token_run(&run, model, &o, &err) < 0)
        fail_msg("%s: %s", spec, err.msg);
    as_state_pairs_fini(&pairs);
    as_model_free(model);
    return run;
}

static struct as_token_run run_of(const char *spec, const struct as_token_options *options)
{
    return run_model(decode_zoo(spec), spec, options);
}

/* A graph whose file says nothing of the decoder: its attention does. */
static void the_formula_needs_no_metadata(void **state)
{
    static const char spec[] = SMALL_GPT2 ",seq=0,past=-1";
    const struct as_token_options o = {.prompt = 5, .tokens = 9, .batch = 1};
    struct as_model *model = decode_zoo(spec);
    struct as_token_run run;

    (void)state;
    model->decoder = (struct as_decoder){0};
    run = run_model(model, spec, &o);
    assert_int_equal(run.formula_bytes, 14 * 2 * 2 * 4 * 8 * 4);
    assert_int_equal(run.formula_bytes, run.steps[8].cache_bytes);
    as_token_run_fini(&run);
}

static void the_cache_is_counted_to_the_byte(void **state)
{
    static const struct {
        const char *spec;
        uint64_t bytes; /* of a token */
        int64_t batch;
    } cases[] = {
        {SMALL_LLAMA ",seq=0,past=-1", 2 * 2 * 2 * 8 * 4, 1},
        {SMALL_LLAMA ",seq=0,past=-1,batch=0", 3 * 2 * 2 * 2 * 8 * 4, 3},
        {SMALL_LLAMA ",seq=0,past=-1,dtype=f16", 2 * 2 * 2 * 8 * 2, 1},
        {SMALL_LLAMA ",seq=1,past=-1", 2 * 2 * 2 * 8 * 4, 1},
        {SMALL_GPT2 ",seq=0,past=-1", 2 * 2 * 4 * 8 * 4, 1},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        const struct as_token_options o = {.prompt = 5, .tokens = 9, .batch = cases[i].batch};
        struct as_token_run run = run_of(cases[i].spec, &o);

        assert_int_equal(run.kind, AS_TOKENS_CACHED);
        assert_int_equal(run.n_steps, 9);
        for (size_t k = 0; k < 9; k++) {
            assert_int_equal(run.steps[k].context, 6 + k);
            assert_int_equal(run.steps[k].cache_bytes, (6 + k) * cases[i].bytes);
            assert_true(run.steps[k].ns > 0);
        }
        assert_int_equal(run.formula_bytes, 14 * cases[i].bytes);
        /* What goes in and what comes out are there together. */
        assert_true(run.peak_cache_bytes >= 27 * cases[i].bytes);
        assert_true(run.peak_bytes > run.peak_cache_bytes);
        assert_true(run.prompt_ns > 0 && run.median_ns > 0 && isnan(run.p95_ns));
        assert_true(isfinite(run.slope_ns) && run.tokens_per_s > 0);
        assert_true(run.shapes_ns > 0 && run.shapes_ns < run.profiled_ns);
        assert_int_equal(run.prompt_runs, strstr(cases[i].spec, "seq=1") ? 5 : 1);
        as_token_run_fini(&run);
    }
}

static void without_a_cache_the_whole_is_counted(void **state)
{
    const struct as_token_options o = {.prompt = 8};
    struct as_token_run run = run_of(SMALL_LLAMA ",seq=0", &o);

    (void)state;
    assert_int_equal(run.kind, AS_TOKENS_WHOLE);
    assert_int_equal(run.n_steps, 0);
    assert_true(isnan(run.median_ns) && run.prompt_ns > 0);
    /* By hand: products with weights, twice 8 keys for each query and head, the vocabulary. */
    assert_int_equal(run.whole_macs,
                     8 * (2 * (32 * 32 * 2 + 32 * 16 * 2 + 3 * 32 * 40 + 2 * 8 * 32) + 32 * 50));
    assert_int_equal(run.cached_macs, run.whole_macs / 8);
    as_token_run_fini(&run);
}

static void one_shape_is_one_context(void **state)
{
    const struct as_token_options o = {.tokens = 3};
    struct as_token_run run = run_of(SMALL_LLAMA ",seq=1,past=20", &o);

    (void)state;
    assert_int_equal(run.kind, AS_TOKENS_FIXED);
    assert_int_equal(run.n_steps, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(run.steps[i].context, 21);
    assert_true(isnan(run.slope_ns));
    as_token_run_fini(&run);
}

/* Sixteen and thirty-two do not fit eight positions; two and four do. */
static void a_short_table_of_positions_shortens_the_text(void **state)
{
    const struct as_token_options usual = {0}, prompt = {.prompt = 6}, longer = {.tokens = 40};
    struct as_token_run run = run_of(SHORT_GPT2, &usual);
    struct as_state_pairs pairs;
    struct assay_error err = {0};
    struct as_token_options o = longer;
    struct as_model *model;

    (void)state;
    assert_true(run.shortened);
    assert_int_equal(run.prompt, 2);
    assert_int_equal(run.n_steps, 4);
    assert_int_equal(run.steps[3].context, 6);
    as_token_run_fini(&run);
    run = run_of(SHORT_GPT2, &prompt);
    assert_true(run.shortened && run.prompt == 6 && run.n_steps == 2);
    as_token_run_fini(&run);
    run = run_of(SMALL_GPT2 ",seq=0,past=-1", &usual);
    assert_true(!run.shortened && run.prompt == 16 && run.n_steps == 32);
    as_token_run_fini(&run);
    model = decode_zoo(SHORT_GPT2);
    assert_int_equal(as_state_pairs_find(&pairs, model, NULL, 0, NULL), ASSAY_OK);
    o.pairs = &pairs;
    assert_int_equal(as_token_run(&run, model, &o, &err), ASSAY_ERR_FORMAT);
    assert_non_null(strstr(err.msg, "outside of 8 elements"));
    as_state_pairs_fini(&pairs);
    as_model_free(model);
}

static void a_model_without_tokens_or_state_is_refused(void **state)
{
    struct as_model *model = decode_zoo("mlp");
    struct as_state_pairs none = {0};
    const struct as_token_options o = {.pairs = &none};
    struct assay_error err = {0};
    struct as_token_run run;

    (void)state;
    assert_int_equal(as_token_run(&run, model, &o, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "no token input"));
    as_model_free(model);
}

/* Past and present: keys of both are multiplied, as are the values; nothing else changes. */
static void costs_with_a_past_are_counted(void **state)
{
    static const struct {
        const char *spec;
        uint64_t macs;
        size_t n;
        const char *kind;
    } cases[] = {
        {SMALL_LLAMA ",seq=1,past=20",
         2 * (32 * 32 * 2 + 32 * 16 * 2 + 3 * 32 * 40 + 2 * 21 * 32) + 32 * 50, 2, "GQA"},
        {SMALL_LLAMA ",seq=3,past=20",
         3 * (2 * (32 * 32 * 2 + 32 * 16 * 2 + 3 * 32 * 40 + 2 * 23 * 32) + 32 * 50), 2, "GQA"},
        {SMALL_GPT2 ",seq=2,past=5", 2 * (2 * (12 * 32 * 32 + 2 * 7 * 32) + 32 * 50), 2, "MHA"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_model *model = decode_zoo(cases[i].spec);
        struct as_costs *costs = NULL;

        assert_int_equal(as_infer_shapes(model, NULL, NULL, NULL), ASSAY_OK);
        assert_int_equal(as_costs_new(&costs, model, NULL), ASSAY_OK);
        assert_int_equal(costs->forward.macs, cases[i].macs);
        assert_int_equal(costs->n_attentions, cases[i].n);
        for (size_t k = 0; k < costs->n_attentions; k++) {
            assert_string_equal(as_attention_kind(&costs->attentions[k]), cases[i].kind);
            assert_true(costs->attentions[k].causal);
            assert_true(costs->attentions[k].projection_macs > 0);
            assert_false(costs->attentions[k].cross);
        }
        as_costs_free(costs);
        as_model_free(model);
    }
}

static void a_past_that_does_not_fit_is_refused(void **state)
{
    static const char *const specs[] = {"llama:past=2048", "gpt2:past=1,seq=1024", "llama:past=-2",
                                        "gpt2:past=2000000"};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(specs); i++) {
        struct as_model *model = NULL;

        assert_int_equal(as_zoo_open(&model, specs[i], NULL), ASSAY_ERR_USAGE);
        assert_null(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_gives_the_same_numbers),
        cmocka_unit_test(the_cache_is_counted_to_the_byte),
        cmocka_unit_test(the_formula_needs_no_metadata),
        cmocka_unit_test(without_a_cache_the_whole_is_counted),
        cmocka_unit_test(one_shape_is_one_context),
        cmocka_unit_test(a_short_table_of_positions_shortens_the_text),
        cmocka_unit_test(a_model_without_tokens_or_state_is_refused),
        cmocka_unit_test(costs_with_a_past_are_counted),
        cmocka_unit_test(a_past_that_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
