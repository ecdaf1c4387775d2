/* tests/unit/test_layers.c - the figures of layers, each against one worked out by hand or by a
 * plainer way. Runs are made in memory; times are what the tables say. */
#include "run_kit.h"

#include <math.h>

#include "analyze/run/layers.h"
#include "stats/describe/rng.h"

#define CONV     1
#define RELU     2
#define FACT     3
#define FORWARD  4
#define BACKWARD 5
#define POWER    6
#define N_SITES  6

static struct kit kit;
static struct as_run *run;
static struct as_layers *layers;

static void begin(void)
{
    kit_begin(&kit);
    kit_site(&kit, CONV, ASSAY_CATEGORY_LAYER, "conv");
    kit_site(&kit, RELU, ASSAY_CATEGORY_LAYER, "relu");
    kit_site(&kit, FACT, ASSAY_CATEGORY_FUNCTION, "fact");
    kit_site(&kit, FORWARD, ASSAY_CATEGORY_PHASE, "forward");
    kit_site(&kit, BACKWARD, ASSAY_CATEGORY_PHASE, "backward");
    kit_site(&kit, POWER, ASSAY_CATEGORY_CHANNEL, "power");
}

#define EVENTS(thread, ...)                                                                        \
    do {                                                                                           \
        const struct as_event given_[] = {__VA_ARGS__};                                            \
        kit_events(&kit, (thread), given_, UNIT_COUNT(given_));                                    \
    } while (0)

static void analyze(int64_t thread, size_t max_samples)
{
    const struct as_layers_options options = {thread, max_samples};
    struct assay_error err;

    run = kit_open(&kit);
    if (as_layers_analyze(&layers, run, &options, &err) < 0)
        fail_msg("%s", err.msg);
}

static void done(void)
{
    as_layers_free(layers);
    as_run_close(run);
    kit_close(&kit);
}

static const struct as_layer *find(uint32_t site)
{
    static const struct as_layer none;

    for (size_t i = 0; i < layers->n_layers; i++) {
        if (layers->layer[i].site == site)
            return &layers->layer[i];
    }
    fail_msg("no layer of site %u", site);
    return &none;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want) + 1e-12))
        fail_msg("%.17g is not %.17g", got, want);
}

/* Ten calls of conv of 10, 20 .. 100 ns, each with a relu of 4 ns inside. */
static uint64_t ten_calls(uint64_t thread, uint64_t at)
{
    for (uint64_t i = 1; i <= 10; i++) {
        EVENTS(thread, BEGIN(at, CONV), BEGIN(at + 2, RELU), END(at + 6, RELU),
               END(at + 10 * i, CONV));
        at += 10 * i + 5;
    }
    return at - 5;
}

static void figures_of_calls_are_exact(void **state)
{
    const struct as_layer *conv, *relu;
    uint64_t end;

    (void)state;
    begin();
    end = ten_calls(0, 100);
    kit_end(&kit, 0, 1);
    analyze(-1, 0);
    assert_int_equal(layers->n_layers, 2);
    conv = &layers->layer[0]; /* the largest self time first */
    relu = &layers->layer[1];
    assert_int_equal(conv->site, CONV);
    assert_string_equal(conv->info->name, "conv");
    assert_int_equal(conv->calls, 10);
    assert_int_equal(conv->inclusive_ns, 550);
    assert_int_equal(conv->self_ns, 510);
    assert_int_equal(relu->inclusive_ns, 40);
    assert_int_equal(relu->self_ns, 40);
    assert_int_equal(conv->first_ns, 100);
    assert_int_equal(relu->first_ns, 102);
    near(conv->share + relu->share, 1);
    near(relu->share, 40.0 / 550);
    assert_int_equal(layers->self_total_ns, 550);
    assert_int_equal(layers->calls, 20);
    assert_int_equal(layers->events, 40);
    assert_int_equal(layers->first_ns, 100);
    assert_int_equal(layers->last_ns, end);
    assert_int_equal(layers->wall_ns, end - 100);
    assert_int_equal(layers->thread[0].busy_ns, 550);
    near(conv->times.mean_ns, 55);
    near(conv->times.min_ns, 10);
    near(conv->times.max_ns, 100);
    near(conv->times.std_population_ns, sqrt(825));
    near(conv->times.std_sample_ns, sqrt(8250.0 / 9));
    near(conv->times.cv, sqrt(8250.0 / 9) / 55);
    near(conv->times.median_ns, 55);
    near(conv->times.mad_ns, 25);
    near(conv->times.p50_ns, 55);
    near(conv->times.p90_ns, 91);
    near(conv->times.p95_ns, 95.5);
    near(conv->times.p99_ns, 99.1);
    near(conv->times.p50_nearest_ns, 50);
    near(conv->times.p95_nearest_ns, 100);
    near(conv->times.p99_nearest_ns, 100);
    assert_true(conv->times.exact && conv->times.error == 0);
    assert_false(conv->times.p99_supported);
    assert_int_equal(layers->lost_events, 0);
    assert_false(layers->lost_unknown);
    assert_false(layers->cost_known || conv->near_cost);
    done();
}

/* fact(3) { fact(2) { fact(1) } }, twice. */
static void a_recursive_call_counts_once(void **state)
{
    const struct as_layer *fact;

    (void)state;
    begin();
    EVENTS(0, BEGIN(0, FACT), BEGIN(10, FACT), BEGIN(20, FACT), END(30, FACT), END(40, FACT),
           END(50, FACT), BEGIN(100, FACT), END(107, FACT));
    kit_end(&kit, 0, 1);
    analyze(-1, 0);
    fact = find(FACT);
    assert_int_equal(fact->calls, 4);
    assert_int_equal(fact->inclusive_ns, 57);
    assert_int_equal(fact->self_ns, 57);
    near(fact->times.max_ns, 50);
    assert_int_equal(layers->n_nodes, 4);
    assert_int_equal(layers->node[1].calls, 2);
    assert_int_equal(layers->node[1].inclusive_ns, 57);
    assert_int_equal(layers->node[1].self_ns, 27);
    assert_int_equal(layers->node[2].inclusive_ns, 30);
    assert_int_equal(layers->node[3].inclusive_ns, 10);
    done();
}

static void phases_own_what_is_inside_them(void **state)
{
    const struct as_layer *conv, *relu;

    (void)state;
    begin();
    EVENTS(0, BEGIN(0, FORWARD), BEGIN(10, CONV), BEGIN(12, RELU), END(16, RELU), END(20, CONV),
           END(30, FORWARD), BEGIN(30, BACKWARD), BEGIN(31, CONV), END(61, CONV), END(70, BACKWARD),
           BEGIN(80, RELU), END(83, RELU));
    kit_end(&kit, 0, 1);
    analyze(-1, 0);
    conv = find(CONV);
    relu = find(RELU);
    assert_int_equal(layers->n_layers, 2);
    assert_int_equal(conv->phase_calls[ASSAY_PHASE_FORWARD], 1);
    assert_int_equal(conv->phase_self_ns[ASSAY_PHASE_FORWARD], 6);
    assert_int_equal(conv->phase_calls[ASSAY_PHASE_BACKWARD], 1);
    assert_int_equal(conv->phase_self_ns[ASSAY_PHASE_BACKWARD], 30);
    assert_int_equal(conv->phase_calls[AS_LAYER_NO_PHASE], 0);
    assert_int_equal(relu->phase_calls[ASSAY_PHASE_FORWARD], 1);
    assert_int_equal(relu->phase_calls[AS_LAYER_NO_PHASE], 1);
    assert_int_equal(relu->phase_self_ns[AS_LAYER_NO_PHASE], 3);
    assert_true(layers->phase[ASSAY_PHASE_FORWARD].seen && !layers->phase[ASSAY_PHASE_DATA].seen);
    assert_int_equal(layers->phase[ASSAY_PHASE_FORWARD].inclusive_ns, 30);
    assert_int_equal(layers->phase[ASSAY_PHASE_FORWARD].self_ns, 20);
    assert_int_equal(layers->phase[ASSAY_PHASE_BACKWARD].self_ns, 10);
    assert_int_equal(layers->self_total_ns, 43); /* of layers: phases are none */
    near(conv->share + relu->share, 1);
    done();
}

static void rows_by_thread_sum_to_the_layer(void **state)
{
    uint64_t calls[N_SITES + 1] = {0}, self[N_SITES + 1] = {0}, inclusive[N_SITES + 1] = {0};

    (void)state;
    begin();
    kit_thread(&kit, 0, 100, "main");
    kit_thread(&kit, 1, 101, "worker");
    ten_calls(0, 0);
    ten_calls(1, 7);
    EVENTS(2, BEGIN(5, FACT), BEGIN(6, CONV), FAIL(16, CONV), END(50, FACT));
    kit_end(&kit, 0, 3);
    analyze(-1, 0);
    assert_int_equal(layers->n_threads, 3);
    assert_string_equal(layers->thread[1].info->name, "worker");
    assert_int_equal(layers->thread[1].info->tid, 101);
    assert_int_equal(layers->n_thread_layers, 6);
    for (size_t i = 0; i < layers->n_thread_layers; i++) {
        const struct as_thread_layer *row = &layers->thread_layer[i];
        uint32_t site = layers->layer[row->layer].site;

        assert_true(i == 0 || row->thread > row[-1].thread ||
                    (row->thread == row[-1].thread && row->layer > row[-1].layer));
        calls[site] += row->calls;
        self[site] += row->self_ns;
        inclusive[site] += row->inclusive_ns;
    }
    for (uint32_t site = CONV; site <= FACT; site++) {
        assert_int_equal(calls[site], find(site)->calls);
        assert_int_equal(self[site], find(site)->self_ns);
        assert_int_equal(inclusive[site], find(site)->inclusive_ns);
    }
    assert_int_equal(find(CONV)->n_threads, 3);
    assert_int_equal(find(CONV)->failed, 1);
    assert_int_equal(layers->failed, 1);
    done();
    begin();
    ten_calls(0, 0);
    ten_calls(1, 7);
    kit_end(&kit, 0, 2);
    analyze(1, 0); /* one thread alone */
    assert_int_equal(layers->n_threads, 1);
    assert_int_equal(find(CONV)->calls, 10);
    done();
}

static void a_thread_that_is_not_there_is_an_error(void **state)
{
    const struct as_layers_options options = {7, 0};
    struct assay_error err;

    (void)state;
    begin();
    ten_calls(0, 0);
    run = kit_open(&kit);
    assert_int_equal(as_layers_analyze(&layers, run, &options, &err), ASSAY_ERR_NOTFOUND);
    assert_null(layers);
    done();
}

static void incomplete_calls_are_in_no_figure(void **state)
{
    const struct as_layer *relu;

    (void)state;
    begin();
    EVENTS(0, BEGIN(0, CONV), BEGIN(10, RELU), END(30, CONV), BEGIN(40, RELU), LOST(50, 60, 3),
           END(70, RELU), BEGIN(80, RELU));
    kit_loss(&kit, AS_LOSS_RING_FULL, 3);
    kit_end(&kit, 3, 1);
    analyze(-1, 0);
    relu = find(RELU);
    assert_int_equal(relu->calls, 0);
    assert_int_equal(relu->unclosed, 1);
    assert_int_equal(relu->cut, 1);
    assert_int_equal(relu->open, 1);
    assert_int_equal(relu->inclusive_ns + relu->self_ns, 0);
    assert_true(isnan(relu->times.mean_ns) && isnan(relu->times.min_ns));
    assert_int_equal(layers->unclosed, 1);
    assert_int_equal(layers->cut, 1);
    assert_int_equal(layers->open, 1);
    assert_int_equal(layers->stray_after_loss, 1);
    assert_int_equal(layers->lost_events, 3);
    assert_int_equal(layers->thread[0].lost, 3);
    for (size_t i = 0; i < layers->n_thread_layers; i++) {
        const struct as_thread_layer *row = &layers->thread_layer[i];

        if (row->calls == 0) /* unknown is never 0 */
            assert_true(isnan(row->min_ns) && isnan(row->max_ns) && isnan(row->mean_ns));
    }
    done();
}

/* ---- losses ---- */

static void a_closed_run_tells_its_own_losses(void **state)
{
    (void)state;
    begin();
    ten_calls(0, 0);
    kit_loss(&kit, AS_LOSS_RING_FULL, 5);
    kit_loss(&kit, AS_LOSS_THREAD_EXIT, 2);
    kit_end(&kit, 7, 1);
    analyze(-1, 0);
    assert_int_equal(layers->lost_events, 7);
    assert_false(layers->lost_unknown);
    done();
}

/* The block of the loss was damaged, but the last block has the sum. */
static void the_end_tells_the_sum_of_losses(void **state)
{
    (void)state;
    begin();
    ten_calls(0, 0);
    kit_loss(&kit, AS_LOSS_RING_FULL, 5);
    assert_int_equal(pwrite(kit.w.fd, "\xff", 1, (off_t)kit.w.size_bytes - 1), 1);
    kit_end(&kit, 5, 1);
    analyze(-1, 0);
    assert_int_equal(run->health.damaged_blocks, 1);
    assert_int_equal(layers->lost_events, 5);
    done();
}

static void a_damaged_block_of_a_closed_run_is_counted_exactly(void **state)
{
    (void)state;
    begin();
    ten_calls(0, 0);
    assert_int_equal(pwrite(kit.w.fd, "\xff", 1, (off_t)kit.w.size_bytes - 1), 1);
    kit_end(&kit, 0, 1);
    analyze(-1, 0);
    assert_int_equal(run->health.damaged_events, 4);
    assert_int_equal(layers->events + layers->lost_events, 40);
    assert_false(layers->lost_unknown);
    done();
}

/* A program that was killed leaves a ring. Where there is none, nobody knows what it held. */
static void without_end_and_ring_the_loss_is_unknown(void **state)
{
    (void)state;
    begin();
    ten_calls(0, 0);
    analyze(-1, 0);
    assert_false(run->health.closed);
    assert_int_equal(layers->lost_events, 0);
    assert_true(layers->lost_unknown);
    done();
}

static void waits_are_summed(void **state)
{
    (void)state;
    begin();
    EVENTS(0, BEGIN(0, CONV), WAIT(10, 25), END(30, CONV), WAIT(40, 41));
    analyze(-1, 0);
    assert_int_equal(layers->waited_ns, 16);
    assert_int_equal(layers->thread[0].waited_ns, 16);
    done();
}

/* ---- the rest ---- */

static void channels_have_their_figures(void **state)
{
    static const double value[] = {4, 1, UNIT_NAN, 10, UNIT_INFINITY, 5};
    struct as_event event[2 * UNIT_COUNT(value)];

    (void)state;
    begin();
    for (size_t i = 0; i < UNIT_COUNT(value); i++) {
        event[2 * i] = (struct as_event){10 * i, POWER, AS_RECORD_SAMPLE};
        event[2 * i + 1] = (struct as_event){kit_bits(value[i]), 0, AS_RECORD_VALUE};
    }
    kit_events(&kit, 0, event, UNIT_COUNT(event));
    analyze(-1, 0);
    assert_int_equal(layers->n_channels, 1);
    assert_string_equal(layers->channel[0].info->name, "power");
    assert_int_equal(layers->channel[0].n, 4);
    near(layers->channel[0].min, 1);
    near(layers->channel[0].max, 10);
    near(layers->channel[0].mean, 5);
    near(layers->channel[0].last, 5);
    done();
}

static void iterations_have_statistics_by_length(void **state)
{
    uint64_t at = 0, cpu = 50;

    (void)state;
    begin();
    for (uint64_t i = 0; i < 6; i++) { /* 1000, 2000 .. 6000 ns, two lengths in turn */
        EVENTS(0, ITER(at), NUMBER(i), CPU(cpu), LENGTH(i % 2 ? 256 : 128));
        at += 1000 * (i + 1);
        cpu += 100 * (i + 1);
    }
    EVENTS(0, ITER_END(at), CPU(cpu), ITER(at + 5), NUMBER(6), CPU(cpu));
    kit_end(&kit, 0, 1);
    analyze(-1, 0);
    assert_int_equal(layers->iterations.n, 6);
    assert_int_equal(layers->iterations.cut, 1);
    assert_true(layers->iterations.any_kernel && layers->iterations.any_length);
    for (uint64_t i = 0; i < 6; i++) {
        assert_int_equal(layers->iterations.record[i].sample_id, i);
        assert_int_equal(layers->iterations.record[i].wall_time_ns, 1000 * (i + 1));
        assert_int_equal(layers->iterations.record[i].kernel_time_ns, 100 * (i + 1));
        assert_int_equal(layers->iterations.record[i].seq_len, i % 2 ? 256 : 128);
    }
    assert_int_equal(layers->iterations.wall.p50_ns, 3000);
    assert_int_equal(layers->iterations.wall.max_ns, 6000);
    assert_int_equal(layers->iterations.kernel.max_ns, 600);
    near(layers->iterations.times.median_ns, 3500);
    assert_int_equal(layers->iterations.n_groups, 2);
    assert_int_equal(layers->iterations.group[0].seq_len, 128);
    assert_int_equal(layers->iterations.group[0].n_records, 3);
    assert_int_equal(layers->iterations.group[1].wall.p50_ns, 4000);
    done();
}

static void a_sparkline_shows_means_by_slice(void **state)
{
    const uint64_t slice = 2048; /* of a run of 64 us */

    (void)state;
    begin();
    EVENTS(0, BEGIN(0, CONV), END(100, CONV), BEGIN(500, CONV), END(800, CONV),
           BEGIN(10 * slice, CONV), END(10 * slice + 50, CONV), BEGIN(32 * slice - 10, CONV),
           END(32 * slice - 1, CONV));
    analyze(-1, 0);
    near(find(CONV)->spark_ns[0], 200);
    near(find(CONV)->spark_ns[10], 50);
    near(find(CONV)->spark_ns[31], 9);
    for (int i = 1; i < 31; i++)
        assert_true(i == 10 || isnan(find(CONV)->spark_ns[i]));
    done();
}

static void a_sparkline_widens_with_the_run(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 0; i < 1000; i++) /* the second half takes twice as long */
        EVENTS(0, BEGIN(1000000 * i, CONV), END(1000000 * i + (i < 500 ? 100 : 200), CONV));
    analyze(-1, 0);
    for (int i = 0; i < AS_LAYER_SPARK; i++) {
        if (i < 14)
            near(find(CONV)->spark_ns[i], 100);
        else if (i > 17)
            near(find(CONV)->spark_ns[i], 200);
    }
    done();
}

static void attributes_and_cost_are_found(void **state)
{
    const struct as_layer *conv;

    (void)state;
    begin();
    kit_meta(&kit, "{\"cost\":{\"pair_ticks\":20,\"floor_ticks\":7}}");
    kit_attribute(&kit, CONV, "op", "conv2d", 0);
    kit_attribute(&kit, CONV, "shape", "1x64", 0);
    kit_attribute(&kit, CONV, "flops", NULL, 1e9);
    kit_attribute(&kit, CONV, "flops", NULL, 2e9); /* the last word wins */
    ten_calls(0, 0);
    EVENTS(0, BEGIN(10000, FACT), END(10200, FACT));
    analyze(-1, 0);
    conv = find(CONV);
    assert_string_equal(conv->op, "conv2d");
    assert_string_equal(conv->shape, "1x64");
    near(conv->flops, 2e9);
    assert_true(isnan(conv->bytes) && isnan(find(RELU)->flops));
    assert_true(layers->cost_known);
    near(layers->cost_pair_ns, 20);
    near(layers->cost_floor_ns, 7);
    near(layers->cost_total_ns, 21 * 20);
    near(layers->cost_share, 420.0 / 10200);
    assert_true(conv->near_cost); /* a median of 55 is under ten times 20 */
    assert_false(find(FACT)->near_cost);
    assert_int_equal(layers->n_near_cost, 2);
    done();
}

static void a_site_without_a_name_is_unknown(void **state)
{
    (void)state;
    begin();
    EVENTS(0, BEGIN(0, 77), BEGIN(1, 99), END(5, 99), END(10, 77));
    analyze(-1, 0);
    assert_int_equal(layers->n_layers, 1);
    assert_string_equal(layers->layer[0].info->name, "(unknown)");
    assert_int_equal(layers->layer[0].calls, 2);
    done();
}

static void an_empty_run_has_no_layers(void **state)
{
    (void)state;
    begin();
    kit_end(&kit, 0, 0);
    analyze(-1, 0);
    assert_int_equal(layers->n_layers, 0);
    assert_int_equal(layers->wall_ns, 0);
    assert_int_equal(layers->n_nodes, 0);
    done();
}

static void layers_can_be_ordered(void **state)
{
    uint32_t order[3];

    (void)state;
    begin();
    ten_calls(0, 0);
    EVENTS(0, BEGIN(10000, FACT), END(10200, FACT));
    analyze(-1, 0);
    assert_int_equal(layers->n_layers, 3); /* by self time: conv 510, fact 200, relu 40 */
    as_layers_order(layers, AS_SORT_SELF, order);
    assert_true(order[0] == 0 && order[1] == 1 && order[2] == 2);
    as_layers_order(layers, AS_SORT_MEAN, order);
    assert_true(order[0] == 1 && order[1] == 0 && order[2] == 2);
    as_layers_order(layers, AS_SORT_CALLS, order); /* ten each, then one */
    assert_true(order[0] == 0 && order[1] == 2 && order[2] == 1);
    as_layers_order(layers, AS_SORT_NAME, order);
    assert_true(order[0] == 0 && order[1] == 1 && order[2] == 2);
    as_layers_order(layers, AS_SORT_FIRST, order);
    assert_true(order[0] == 0 && order[1] == 2 && order[2] == 1);
    as_layers_order(layers, AS_SORT_STD, order); /* the two that never vary keep their order */
    assert_true(order[0] == 0 && order[1] == 1 && order[2] == 2);
    as_layers_order(layers, AS_SORT_CV, order); /* one call has no coefficient of variation: last */
    assert_true(order[0] == 0 && order[1] == 2 && order[2] == 1);
    for (unsigned i = 0; i < AS_SORT_COUNT; i++)
        assert_true(strlen(as_layer_sort_name(i)) > 0);
    assert_string_equal(as_layer_sort_name(AS_SORT_COUNT), "");
    done();
}

/* ---- properties ---- */

/* A balanced run of random calls on each thread; returns the sum of what is outermost. */
static uint64_t random_calls(struct as_rng *rng, uint64_t thread, size_t n)
{
    static struct as_event event[8192];
    uint32_t stack[12];
    uint64_t at = as_rng_below(rng, 1000), outer = 0, start = 0;
    size_t depth = 0, used = 0;

    while (n > 0 || depth > 0) {
        bool open = n > 0 && depth < UNIT_COUNT(stack) && (depth == 0 || as_rng_below(rng, 2));

        at += as_rng_below(rng, 4) ? as_rng_below(rng, 300) : 0;
        if (open) {
            stack[depth] = 1 + (uint32_t)as_rng_below(rng, 3);
            if (depth++ == 0)
                start = at;
            event[used++] = (struct as_event)BEGIN(at, stack[depth - 1]);
            n--;
        } else {
            event[used] = (struct as_event)END(at, stack[--depth]);
            event[used++].kind = as_rng_below(rng, 9) ? AS_RECORD_END : AS_RECORD_FAIL;
            if (depth == 0)
                outer += at - start;
        }
        if (used == UNIT_COUNT(event) || (n == 0 && depth == 0)) {
            kit_events(&kit, thread, event, used);
            used = 0;
        }
    }
    return outer;
}

static void self_times_sum_to_the_outermost(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        uint64_t outer = 0, self = 0, busy = 0, tree_self = 0, tree_top = 0;
        double share = 0;
        struct as_rng rng;

        as_rng_seed(&rng, seed);
        begin();
        for (uint64_t t = 0; t < 1 + seed % 4; t++)
            outer += random_calls(&rng, t, 1000);
        kit_end(&kit, 0, 1 + seed % 4);
        analyze(-1, 0);
        for (size_t i = 0; i < layers->n_layers; i++) {
            self += layers->layer[i].self_ns;
            share += layers->layer[i].share;
            assert_true(layers->layer[i].inclusive_ns >= layers->layer[i].self_ns);
            assert_true(i == 0 || layers->layer[i].self_ns <= layers->layer[i - 1].self_ns);
        }
        for (size_t i = 0; i < layers->n_threads; i++)
            busy += layers->thread[i].busy_ns;
        for (size_t i = 1; i < layers->n_nodes; i++) {
            tree_self += layers->node[i].self_ns;
            tree_top += layers->node[i].depth == 1 ? layers->node[i].inclusive_ns : 0;
        }
        assert_int_equal(self, outer);
        assert_int_equal(busy, outer);
        assert_int_equal(tree_self, outer);
        assert_int_equal(tree_top, outer);
        assert_int_equal(layers->self_total_ns, outer);
        near(share, 1);
        assert_int_equal(layers->calls, 1000 * layers->n_threads);
        done();
    }
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void a_histogram_stays_within_its_error(void **state)
{
    static double exact[5000];
    static struct as_event event[10000];
    static const double percent[] = {50, 90, 95, 99};
    const struct as_call_times *t;
    struct as_rng rng;
    uint64_t at = 0;
    double got[4], sum = 0;

    (void)state;
    as_rng_seed(&rng, 77);
    begin();
    for (size_t i = 0; i < UNIT_COUNT(exact); i++) {
        uint64_t ns = (uint64_t)exp(2 + 12 * as_rng_unit(&rng));

        exact[i] = (double)ns;
        sum += exact[i];
        event[2 * i] = (struct as_event)BEGIN(at, CONV);
        event[2 * i + 1] = (struct as_event)END(at + ns, CONV);
        at += ns + 3;
    }
    kit_events(&kit, 0, event, UNIT_COUNT(event));
    kit_end(&kit, 0, 1);
    analyze(-1, 100);
    qsort(exact, UNIT_COUNT(exact), sizeof *exact, by_size);
    t = &find(CONV)->times;
    assert_false(t->exact);
    assert_int_equal(t->n, UNIT_COUNT(exact));
    assert_true(t->error > 0 && t->error < 0.02);
    near(t->mean_ns, sum / UNIT_COUNT(exact));
    near(t->min_ns, exact[0]);
    near(t->max_ns, exact[UNIT_COUNT(exact) - 1]);
    got[0] = t->p50_nearest_ns;
    got[1] = t->p90_ns;
    got[2] = t->p95_nearest_ns;
    got[3] = t->p99_nearest_ns;
    for (size_t i = 0; i < UNIT_COUNT(percent); i++) {
        double want = exact[(size_t)ceil(percent[i] / 100 * UNIT_COUNT(exact)) - 1];

        if (!(fabs(got[i] - want) <= t->error * want))
            fail_msg("p%g is %g, exactly %g", percent[i], got[i], want);
    }
    assert_true(isnan(t->mad_ns) && isnan(t->ci95_low_ns));
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_of_calls_are_exact),
        cmocka_unit_test(a_recursive_call_counts_once),
        cmocka_unit_test(phases_own_what_is_inside_them),
        cmocka_unit_test(rows_by_thread_sum_to_the_layer),
        cmocka_unit_test(a_thread_that_is_not_there_is_an_error),
        cmocka_unit_test(incomplete_calls_are_in_no_figure),
        cmocka_unit_test(a_closed_run_tells_its_own_losses),
        cmocka_unit_test(the_end_tells_the_sum_of_losses),
        cmocka_unit_test(a_damaged_block_of_a_closed_run_is_counted_exactly),
        cmocka_unit_test(without_end_and_ring_the_loss_is_unknown),
        cmocka_unit_test(waits_are_summed),
        cmocka_unit_test(channels_have_their_figures),
        cmocka_unit_test(iterations_have_statistics_by_length),
        cmocka_unit_test(a_sparkline_shows_means_by_slice),
        cmocka_unit_test(a_sparkline_widens_with_the_run),
        cmocka_unit_test(attributes_and_cost_are_found),
        cmocka_unit_test(a_site_without_a_name_is_unknown),
        cmocka_unit_test(an_empty_run_has_no_layers),
        cmocka_unit_test(layers_can_be_ordered),
        cmocka_unit_test(self_times_sum_to_the_outermost),
        cmocka_unit_test(a_histogram_stays_within_its_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
