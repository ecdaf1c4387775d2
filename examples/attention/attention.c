/* examples/attention - the whole loop of an experiment in one program: softmax attention against
 * attention gated by a minimum cut, with memory, power and latency tracked, quality compared, and
 * everything exported: configuration hash, CSV files and a witness.
 *
 *     attention [-o FOLDER] [--iterations N]
 *
 * The power is a constant that the program says itself: replace it by a meter of your own, which is
 * a struct with a function that reads watts. */
#include <assay/experiment/attention.h>
#include <assay/experiment/bench_csv.h>
#include <assay/experiment/fingerprint.h>
#include <assay/experiment/quality.h>
#include <assay/experiment/witness.h>
#include <assay/latency.h>
#include <assay/memory.h>
#include <assay/power.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DIM = 32, SHORTEST = 32, LONGEST = 128 };

struct tensors {
    float *q, *k, *v, *base, *gated;
    uint8_t *mask;
};

struct loop {
    const char *folder;
    unsigned iterations;
    struct assay_attn *attn;
    struct tensors t;
    struct assay_latency_record *base, *gated;
    struct assay_memory_tracker *memory;
    struct assay_power_tracker *power;
    struct assay_power_source source;
    struct assay_witness *witness;
    struct assay_mincut_config mincut;
    char config_hash[ASSAY_HASH_HEX];
    double loss;                      /* sum of 1 - cosine */
    uint64_t passed, kept, positions; /* samples good enough; KV positions */
};

static struct assay_error err;

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t = {0};

    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Bell-shaped enough: a sum of evenly spread numbers. */
static float noise(uint64_t *seed)
{
    float sum = 0;

    for (int i = 0; i < 4; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        sum += (float)(*seed >> 40) / 8388608.0F - 1.0F;
    }
    return sum;
}

static size_t make_sample(struct loop *l, unsigned i)
{
    uint64_t seed = l->mincut.seed + i;
    size_t n = SHORTEST + (size_t)(i * 37 % (LONGEST - SHORTEST + 1));

    for (size_t at = 0; at < n * DIM; at++) {
        l->t.q[at] = noise(&seed) + 0.4F;
        l->t.k[at] = noise(&seed) + 0.4F;
        l->t.v[at] = noise(&seed) + 1.0F;
    }
    return n;
}

/* One operator, timed by the wall and by the processor. */
static struct assay_latency_record timed(struct loop *l, const struct assay_attn_shape *shape,
                                         unsigned i, bool gate, struct assay_gating *gating,
                                         int *rc)
{
    uint64_t wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);

    *rc = gate ? assay_attn_mincut(l->attn, shape, &l->mincut, l->t.q, l->t.k, l->t.v, l->t.gated,
                                   l->t.mask, gating, &err)
               : assay_attn_softmax(l->attn, shape, l->t.q, l->t.k, l->t.v, l->t.base, &err);
    cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = now_ns(CLOCK_MONOTONIC) - wall;
    return (struct assay_latency_record){
        .sample_id = i,
        .wall_time_ns = wall,
        .kernel_time_ns = cpu,
        .kernel_available = true,
        .seq_len = shape->seq_len,
    };
}

static int add_witness(struct loop *l, const struct assay_attn_shape *shape, unsigned i,
                       const struct assay_gating *gating)
{
    size_t n = shape->seq_len * DIM;
    struct assay_witness_entry entry = {
        .sample_id = i,
        .seq_len = shape->seq_len,
        .mask = l->t.mask,
        .mask_bits = (uint64_t)shape->seq_len * shape->seq_len,
        .cut_cost = (float)gating->cut_cost,
        .lambda = l->mincut.lambda,
        .tau = l->mincut.tau,
        .eps = l->mincut.eps,
        .timestamp_ns = now_ns(CLOCK_REALTIME),
    };
    int rc = assay_witness_hash_tensor(l->t.q, n, entry.q_hash, &err);

    if (rc == 0)
        rc = assay_witness_hash_tensor(l->t.k, n, entry.k_hash, &err);
    if (rc == 0)
        rc = assay_witness_hash_tensor(l->t.v, n, entry.v_hash, &err);
    if (rc == 0)
        rc = assay_witness_hash_tensor(l->t.gated, n, entry.output_hash, &err);
    memcpy(entry.config_hash, l->config_hash, sizeof entry.config_hash);
    return rc == 0 ? assay_witness_add(l->witness, &entry, &err) : rc;
}

static int iterate(struct loop *l, unsigned i)
{
    struct assay_attn_shape shape = {
        .batch = 1, .heads = 1, .kv_heads = 1, .seq_len = make_sample(l, i), .dim = DIM};
    size_t n = shape.seq_len * DIM;
    struct assay_quality_result quality = {0};
    struct assay_delta_metric delta = {0};
    struct assay_gating gating = {0};
    int rc;

    l->base[i] = timed(l, &shape, i, false, NULL, &rc);
    if (rc == 0)
        l->gated[i] = timed(l, &shape, i, true, &gating, &rc);
    if (rc == 0)
        rc = assay_power_tracker_sample(l->power, &l->source, &err);
    if (rc == 0 && i % 10 == 0)
        rc = assay_memory_tracker_snapshot(l->memory, &err);
    if (rc == 0)
        rc = assay_quality_delta_behavior(l->t.base, n, l->t.gated, n, &delta, &err);
    if (rc == 0)
        rc = assay_quality_check(l->t.base, n, l->t.gated, n, 0.99, &quality, &err);
    if (rc < 0)
        return rc;
    l->loss += delta.coherence_loss;
    l->passed += quality.passes_threshold;
    l->kept += gating.positions_kept;
    l->positions += gating.positions_total;
    return add_witness(l, &shape, i, &gating);
}

/* ---- before and after ---- */

static int path_in(const struct loop *l, const char *name, char out[512])
{
    return snprintf(out, 512, "%s/%s", l->folder, name) < 512 ? 0 : -1;
}

static int open_all(struct loop *l)
{
    const struct assay_bench_config config = {.model_commit = "example",
                                              .weights_hash = "seed 42",
                                              .lambda = l->mincut.lambda,
                                              .tau = l->mincut.tau,
                                              .eps = l->mincut.eps,
                                              .compiler_flags = ""};
    size_t n = (size_t)LONGEST * DIM;
    char path[512];

    l->t = (struct tensors){calloc(n, sizeof(float)), calloc(n, sizeof(float)),
                            calloc(n, sizeof(float)), calloc(n, sizeof(float)),
                            calloc(n, sizeof(float)), calloc(LONGEST * LONGEST / 8, 1)};
    l->base = calloc(l->iterations, sizeof *l->base);
    l->gated = calloc(l->iterations, sizeof *l->gated);
    if (!l->t.q || !l->t.k || !l->t.v || !l->t.base || !l->t.gated || !l->t.mask || !l->base ||
        !l->gated || path_in(l, "witness.jsonl", path) < 0) {
        (void)snprintf(err.msg, sizeof err.msg, "out of memory");
        return -1;
    }
    if (assay_bench_config_hash(&config, l->config_hash, &err) < 0 ||
        assay_power_source_open("constant:75W", &l->source, &err) < 0 ||
        assay_memory_tracker_new(&l->memory, NULL, &err) < 0 ||
        assay_power_tracker_new(&l->power, NULL, &err) < 0 ||
        assay_attn_new(&l->attn, NULL, &err) < 0)
        return -1;
    return assay_witness_open(&l->witness, path, ASSAY_WITNESS_MASK_PACKED, &err);
}

static int write_latency(const struct loop *l, const char *name,
                         const struct assay_latency_record *records)
{
    const struct assay_csv_stamp stamp = {.size = sizeof stamp, .config_hash = l->config_hash};
    char path[512];

    return path_in(l, name, path) < 0
               ? -1
               : assay_csv_write_latency(path, records, l->iterations, &stamp, &err);
}

/* The documented row of results, from what was measured. */
static int write_results(const struct loop *l, double base_joules, double gated_joules)
{
    const struct assay_csv_stamp stamp = {.size = sizeof stamp, .config_hash = l->config_hash};
    struct assay_latency_stats stats;
    struct assay_result_row row = {
        .setting = "mincut_l0.5_t2",
        .coherence_delta = -l->loss / l->iterations,
        .kv_cache_reduction = 1 - (double)l->kept / (double)l->positions,
        .peak_mem_reduction = (double)NAN, /* not counted here */
        .energy_reduction = 1 - gated_joules / base_joules,
        .accuracy = (double)l->passed / l->iterations,
    };
    char path[512];
    int rc = assay_latency_summarize(l->gated, l->iterations, ASSAY_LATENCY_WALL, &stats, &err);

    row.p95_latency_us = (double)stats.p95_us;
    if (rc < 0 || path_in(l, "results.csv", path) < 0)
        return -1;
    return assay_csv_write_results(path, &row, 1, &stamp, &err);
}

/* Every reading of memory and of power. */
static int write_readings(const struct loop *l)
{
    const struct assay_csv_stamp stamp = {.size = sizeof stamp, .config_hash = l->config_hash};
    size_t n_memory = assay_memory_tracker_snapshots(l->memory, NULL, 0);
    size_t n_power = assay_power_tracker_samples(l->power, NULL, 0);
    struct assay_memory_snapshot *memory = calloc(n_memory + 1, sizeof *memory);
    struct assay_power_sample *power = calloc(n_power + 1, sizeof *power);
    char path[512];
    int rc = memory && power ? path_in(l, "memory.csv", path) : -1;

    if (rc >= 0) {
        n_memory = assay_memory_tracker_snapshots(l->memory, memory, n_memory);
        rc = assay_csv_write_memory(path, memory, n_memory, &stamp, &err);
    }
    if (rc >= 0)
        rc = path_in(l, "power.csv", path);
    if (rc >= 0) {
        n_power = assay_power_tracker_samples(l->power, power, n_power);
        rc = assay_csv_write_power(path, power, n_power, &stamp, &err);
    }
    free(memory);
    free(power);
    return rc;
}

static double seconds(const struct assay_latency_record *records, unsigned n)
{
    double sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += (double)records[i].wall_time_ns * 1e-9;
    return sum;
}

static int export_all(struct loop *l)
{
    struct assay_latency_stats base, gated;
    struct assay_energy_result energy;
    struct assay_memory_report memory;
    char head[ASSAY_WITNESS_HEX];

    assay_witness_head(l->witness, head);
    if (assay_witness_close(l->witness, &err) < 0)
        return -1;
    l->witness = NULL;
    if (assay_latency_summarize(l->base, l->iterations, ASSAY_LATENCY_WALL, &base, &err) < 0 ||
        assay_latency_summarize(l->gated, l->iterations, ASSAY_LATENCY_WALL, &gated, &err) < 0 ||
        assay_power_tracker_energy(l->power, &energy, &err) < 0 ||
        assay_memory_tracker_report(l->memory, &memory, &err) < 0)
        return -1;
    printf("softmax  p50 %llu us, p95 %llu us\n", (unsigned long long)base.p50_us,
           (unsigned long long)base.p95_us);
    printf(
        "mincut   p50 %llu us, p95 %llu us, coherence loss %.4f, %llu of %u good enough, %.1f %% "
        "of the KV cache kept\n",
        (unsigned long long)gated.p50_us, (unsigned long long)gated.p95_us, l->loss / l->iterations,
        (unsigned long long)l->passed, l->iterations,
        100.0 * (double)l->kept / (double)l->positions);
    printf("memory   %.1f MiB resident at most\n", (double)memory.peak_rss_bytes / 1048576);
    if (energy.available)
        printf("energy   %.3f J at %.0f W, as given to this program\n", energy.total_joules,
               energy.mean_watts);
    printf("config   %s\nwitness  %s\n", l->config_hash, head);
    if (write_latency(l, "softmax.csv", l->base) < 0 ||
        write_latency(l, "mincut.csv", l->gated) < 0 || write_readings(l) < 0)
        return -1;
    return write_results(l, 75 * seconds(l->base, l->iterations),
                         75 * seconds(l->gated, l->iterations));
}

static void close_all(struct loop *l)
{
    (void)assay_witness_close(l->witness, NULL);
    assay_attn_free(l->attn);
    assay_power_tracker_free(l->power);
    assay_power_source_close(&l->source);
    assay_memory_tracker_free(l->memory);
    free(l->base);
    free(l->gated);
    free(l->t.q);
    free(l->t.k);
    free(l->t.v);
    free(l->t.base);
    free(l->t.gated);
    free(l->t.mask);
}

int main(int argc, char **argv)
{
    struct loop l = {.folder = ".", .iterations = 1000, .mincut = assay_mincut_config_make()};
    int rc;

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "-o") == 0)
            l.folder = argv[i + 1];
        else if (i + 1 < argc && strcmp(argv[i], "--iterations") == 0)
            l.iterations = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else
            l.iterations = 0;
    }
    if (l.iterations == 0 || l.iterations > 1000000) {
        (void)fprintf(stderr, "usage: attention [-o FOLDER] [--iterations N]\n");
        return 2;
    }
    rc = open_all(&l);
    for (unsigned i = 0; rc == 0 && i < l.iterations; i++)
        rc = iterate(&l, i);
    if (rc == 0)
        rc = export_all(&l);
    if (rc < 0)
        (void)fprintf(stderr, "attention: %s\n", err.msg);
    close_all(&l);
    return rc < 0 ? 3 : 0;
}
