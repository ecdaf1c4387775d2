/* bench/attention.c - how fast attention is beside the two matrix products it is made of, what a
 * cut costs, and what leaving positions out saves. Variants take turns; the best wall time of each
 * counts, since whatever else runs only adds to it.
 * usage: bench-attention */
#include <assay/experiment/attention.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "floor.h"
#include "measure/overhead/built_network.h"
#include "model/build/build_ops.h"
#include "stats/describe/rng.h"

enum { TOKENS = 1024, DIM = 64, HEADS = 8, TURNS = 41, CUTS = 11, SETTLE_NS = 20000000 };

static float q[HEADS * TOKENS * DIM], k[HEADS * TOKENS * DIM], v[HEADS * TOKENS * DIM];
static float out[HEADS * TOKENS * DIM];
static uint8_t mask[HEADS * TOKENS * TOKENS / 8];

static void fail(const struct assay_error *err)
{
    fprintf(stderr, "bench-attention: %s\n", err->msg);
    exit(3);
}

static void fill(float *x, struct as_rng *rng)
{
    for (size_t i = 0; i < (size_t)HEADS * TOKENS * DIM; i++)
        x[i] = (float)as_rng_normal(rng);
}

static struct assay_attn_shape shape_of(size_t heads)
{
    return (struct assay_attn_shape){1, heads, heads, TOKENS, DIM, false};
}

static double softmax_ns(struct assay_attn *attn, size_t heads)
{
    struct assay_attn_shape shape = shape_of(heads);
    struct assay_error err;
    uint64_t from = as_clock_mono_ns();

    if (assay_attn_softmax(attn, &shape, q, k, v, out, &err) < 0)
        fail(&err);
    return (double)(as_clock_mono_ns() - from);
}

static double masked_ns(struct assay_attn *attn, size_t heads)
{
    struct assay_attn_shape shape = shape_of(heads);
    struct assay_error err;
    uint64_t from = as_clock_mono_ns();

    if (assay_attn_masked(attn, &shape, q, k, v, mask, out, &err) < 0)
        fail(&err);
    return (double)(as_clock_mono_ns() - from);
}

/* ---- beside the engine ---- */

static void build_products(struct as_builder *b, int64_t heads)
{
    const struct as_dims rows = {3, {heads, TOKENS, DIM}}, columns = {3, {heads, DIM, TOKENS}};
    uint32_t queries = as_build_input(b, "q", AS_DTYPE_F32, &rows, NULL);
    uint32_t keys = as_build_input(b, "k", AS_DTYPE_F32, &columns, NULL);
    uint32_t values = as_build_input(b, "v", AS_DTYPE_F32, &rows, NULL);
    uint32_t logits = as_build_matmul(b, "logits", queries, keys);

    as_build_output(b, as_build_matmul(b, "mixed", logits, values), NULL);
}

static double engine_ns(struct as_built_network *network)
{
    struct assay_error err;
    uint64_t from = as_clock_mono_ns();

    if (as_built_network_run(network, &err) < 0)
        fail(&err);
    return (double)(as_clock_mono_ns() - from);
}

/* Threads of one that still wait, spinning, for more work would slow the other down: the first
 * SETTLE_NS of a turn are not counted. */
static double turn_ours(struct assay_attn *attn, size_t heads)
{
    uint64_t from = as_clock_mono_ns();

    while (as_clock_mono_ns() - from < SETTLE_NS)
        (void)softmax_ns(attn, heads);
    return fmin(softmax_ns(attn, heads), softmax_ns(attn, heads));
}

static double turn_theirs(struct as_built_network *network)
{
    uint64_t from = as_clock_mono_ns();

    while (as_clock_mono_ns() - from < SETTLE_NS)
        (void)engine_ns(network);
    return fmin(engine_ns(network), engine_ns(network));
}

static void beside_engine(size_t heads, unsigned threads)
{
    const struct as_engine_options options = {.threads = threads};
    const double flops = 4.0 * TOKENS * TOKENS * DIM * (double)heads;
    double ours = (double)INFINITY, theirs = (double)INFINITY;
    struct as_built_network network;
    struct assay_attn *attn;
    struct assay_error err;
    char name[64];

    if (assay_attn_new(&attn,
                       &(struct assay_attn_options){.size = sizeof(struct assay_attn_options),
                                                    .threads = threads},
                       &err) < 0 ||
        as_built_network_open(&network, build_products, (int64_t)heads, &options, &err) < 0)
        fail(&err);
    for (int i = 0; i < TURNS; i++) {
        ours = fmin(ours, turn_ours(attn, heads));
        theirs = fmin(theirs, turn_theirs(&network));
    }
    snprintf(name, sizeof name, "attention_softmax_h%zu_t%u", heads, threads);
    bench_fact(name, flops / ours, "GFLOP/s");
    snprintf(name, sizeof name, "engine_products_h%zu_t%u", heads, threads);
    bench_fact(name, flops / theirs, "GFLOP/s");
    snprintf(name, sizeof name, "attention_vs_engine_h%zu_t%u", heads, threads);
    bench_line(name, theirs / ours, "x", 0.7, 0);
    as_built_network_close(&network);
    assay_attn_free(attn);
}

/* ---- cuts ---- */

static void cuts(void)
{
    struct assay_mincut_config config = assay_mincut_config_make();
    struct assay_attn_shape shape = shape_of(1);
    float *logits = calloc((size_t)TOKENS * TOKENS, sizeof *logits);
    double cut[CUTS], decided[CUTS], gated[CUTS];
    struct assay_attn *attn;
    struct assay_error err;
    struct as_rng rng;

    as_rng_seed(&rng, 7);
    for (size_t i = 0; logits && i < (size_t)TOKENS * TOKENS; i++)
        logits[i] = (float)as_rng_normal(&rng);
    if (!logits || assay_attn_new(&attn, NULL, &err) < 0)
        exit(3);
    for (int i = 0; i < CUTS; i++) {
        uint64_t from = as_clock_mono_ns(), then;

        if (assay_mincut_gate(logits, TOKENS, 0.5F, 2, 0.01F, mask, NULL, &err) < 0)
            fail(&err);
        then = as_clock_mono_ns();
        cut[i] = (double)(then - from) / 1e6;
        if (assay_attn_decide(attn, &shape, &config, q, k, mask, NULL, &err) < 0)
            fail(&err);
        from = as_clock_mono_ns();
        decided[i] = (double)(from - then) / 1e6;
        if (assay_attn_mincut(attn, &shape, &config, q, k, v, out, NULL, NULL, &err) < 0)
            fail(&err);
        gated[i] = (double)(as_clock_mono_ns() - from) / 1e6;
    }
    bench_line("dinic_1024_tokens", bench_median(cut, CUTS), "ms", 50, 1);
    bench_fact("attention_decide_1024", bench_median(decided, CUTS), "ms");
    bench_fact("attention_mincut_1024", bench_median(gated, CUTS), "ms");
    assay_attn_free(attn);
    free(logits);
}

/* ---- what leaving out saves ---- */

/* Drops so many of a hundred positions, the same for every query of a head. */
static void make_mask(unsigned dropped)
{
    struct as_rng rng;

    as_rng_seed(&rng, dropped);
    memset(mask, 0, sizeof mask);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t j = 0; j < TOKENS; j++)
            if (as_rng_below(&rng, 100) >= dropped)
                for (size_t i = 0; i < TOKENS; i++) {
                    size_t bit = (h * TOKENS + i) * TOKENS + j;

                    mask[bit / 8] |= (uint8_t)(1U << bit % 8);
                }
}

static void sparse(unsigned dropped)
{
    double d = (double)INFINITY, m = (double)INFINITY;
    struct assay_attn *dense, *masked;
    struct assay_error err;
    char name[64];

    make_mask(dropped);
    if (assay_attn_new(
            &dense,
            &(struct assay_attn_options){.size = sizeof(struct assay_attn_options), .threads = 2},
            &err) < 0 ||
        assay_attn_new(
            &masked,
            &(struct assay_attn_options){.size = sizeof(struct assay_attn_options), .threads = 2},
            &err) < 0)
        fail(&err);
    for (int i = 0; i < TURNS; i++) {
        d = fmin(d, softmax_ns(dense, HEADS));
        m = fmin(m, masked_ns(masked, HEADS));
    }
    snprintf(name, sizeof name, "attention_masked_%u_speed", dropped);
    bench_fact(name, d / m, "x dense");
    assay_attn_free(dense);
    assay_attn_free(masked);
}

int main(void)
{
    struct as_rng rng;

    as_rng_seed(&rng, 1);
    fill(q, &rng);
    fill(k, &rng);
    fill(v, &rng);
    for (unsigned threads = 1; threads <= 2; threads++) {
        beside_engine(1, threads);
        beside_engine(HEADS, threads);
    }
    cuts();
    for (unsigned dropped = 0; dropped <= 75; dropped += 25)
        sparse(dropped);
    return 0;
}
