/* tests/helpers/model_attention.c - runs attention for the scripts.
 * usage: model_attention bits                      digests of what every kind of loops gives
 *        model_attention attend FOLDER BATCH HEADS KV_HEADS TOKENS DIM CAUSAL LAMBDA EPS
 *        model_attention cut FOLDER TOKENS LAMBDA EPS
 * Tensors are raw f32 in the folder: q.f32, k.f32, v.f32, logits.f32; answers are written beside
 * them and figures printed. */
#include <assay/experiment/attention.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "experiment/attention/attn_worker.h"
#include "stats/describe/rng.h"

static struct assay_error err;

static void must(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "model_attention: %s\n", err.msg);
        exit(3);
    }
}

static void *memory(size_t bytes)
{
    void *block = calloc(bytes + 1, 1);

    if (!block)
        exit(3);
    return block;
}

/* ---- bits ---- */

static float *numbers(size_t n, struct as_rng *rng)
{
    float *x = memory(n * sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = ((float)as_rng_below(rng, 1 << 16) - 0x1p15F) * 0x1.8p-14F;
    return x;
}

struct answers {
    float *softmax, *mincut, *masked;
    uint8_t *mask;
    struct assay_gating gating;
    size_t out_bytes, mask_bytes;
};

static void attend(struct assay_attn *attn, const struct assay_attn_shape *shape,
                   const struct assay_mincut_config *config, const float *const qkv[3],
                   struct answers *a)
{
    must(assay_attn_mask_bytes(shape, &a->mask_bytes, &err));
    a->out_bytes = shape->batch * shape->heads * shape->seq_len * shape->dim * sizeof(float);
    a->softmax = memory(a->out_bytes);
    a->mincut = memory(a->out_bytes);
    a->masked = memory(a->out_bytes);
    a->mask = memory(a->mask_bytes);
    must(assay_attn_softmax(attn, shape, qkv[0], qkv[1], qkv[2], a->softmax, &err));
    must(assay_attn_mincut(attn, shape, config, qkv[0], qkv[1], qkv[2], a->mincut, a->mask,
                           &a->gating, &err));
    must(assay_attn_masked(attn, shape, qkv[0], qkv[1], qkv[2], a->mask, a->masked, &err));
}

static void answers_free(struct answers *a)
{
    free(a->softmax);
    free(a->mincut);
    free(a->masked);
    free(a->mask);
}

static void print_digest(const struct answers *a, size_t shape, const char *kernels,
                         unsigned threads)
{
    unsigned char digest[AS_SHA256_BYTES];
    struct as_sha256_stream stream;
    char hex[AS_SHA256_HEX];

    as_sha256_begin(&stream);
    as_sha256_add(&stream, a->softmax, a->out_bytes);
    as_sha256_add(&stream, a->mincut, a->out_bytes);
    as_sha256_add(&stream, a->masked, a->out_bytes);
    as_sha256_add(&stream, a->mask, a->mask_bytes);
    as_sha256_add(&stream, &a->gating, sizeof a->gating);
    must(as_sha256_end(&stream, digest, &err));
    as_sha256_hex(digest, hex);
    printf("%zu %s %s %u\n", shape, hex, kernels, threads);
}

static int bits(void)
{
    static const struct assay_attn_shape shapes[] = {
        {1, 1, 1, 1, 8, false},   {1, 1, 1, 7, 5, false},     {2, 4, 2, 33, 20, false},
        {1, 2, 1, 90, 33, true},  {1, 1, 1, 250, 64, false},  {2, 2, 2, 64, 16, true},
        {1, 1, 1, 128, 3, false}, {1, 4, 4, 100, 128, false},
    };
    static const float lambdas[] = {0.5F, 60, 0, 20, 100, 5, 0.3F, 10};

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t kind = 0; as_attn_kernels_at(kind); kind++)
            for (unsigned threads = 1; threads <= 3; threads++) {
                struct assay_mincut_config config = assay_mincut_config_make();
                const struct assay_attn_shape *shape = &shapes[s];
                size_t n = shape->batch * shape->heads * shape->seq_len * shape->dim;
                struct assay_attn *attn;
                struct answers a = {0};
                struct as_rng rng;
                float *qkv[3];

                as_rng_seed(&rng, s);
                for (int i = 0; i < 3; i++)
                    qkv[i] = numbers(n, &rng);
                must(assay_attn_new(
                    &attn,
                    &(struct assay_attn_options){.size = sizeof(struct assay_attn_options),
                                                 .threads = threads},
                    &err));
                attn->kernels = as_attn_kernels_at(kind);
                config.lambda = lambdas[s];
                attend(attn, shape, &config, (const float *const[]){qkv[0], qkv[1], qkv[2]}, &a);
                print_digest(&a, s, attn->kernels->name, threads);
                answers_free(&a);
                assay_attn_free(attn);
                for (int i = 0; i < 3; i++)
                    free(qkv[i]);
            }
    return 0;
}

/* ---- files ---- */

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, mode);
    if (!f) {
        perror(path);
        exit(3);
    }
    return f;
}

static float *read_tensor(const char *folder, const char *name, size_t n)
{
    float *x = memory(n * sizeof *x);
    FILE *f = open_in(folder, name, "rbe");

    if (fread(x, sizeof *x, n, f) != n)
        exit(3);
    fclose(f);
    return x;
}

static void write_bytes(const char *folder, const char *name, const void *data, size_t size)
{
    FILE *f = open_in(folder, name, "wbe");

    if (fwrite(data, 1, size, f) != size || fclose(f) != 0)
        exit(3);
}

static void print_gating(const struct assay_gating *g)
{
    printf("%.17g %.17g %llu %llu %llu %llu %llu %llu\n", g->cut_cost, g->threshold,
           (unsigned long long)g->edges_kept, (unsigned long long)g->edges_total,
           (unsigned long long)g->positions_kept, (unsigned long long)g->positions_total,
           (unsigned long long)g->rows_empty, (unsigned long long)g->cuts_applied);
}

static size_t whole(const char *text)
{
    return (size_t)strtoull(text, NULL, 10);
}

static int attend_files(char **argv)
{
    struct assay_attn_shape shape = {whole(argv[3]), whole(argv[4]), whole(argv[5]),
                                     whole(argv[6]), whole(argv[7]), whole(argv[8]) > 0};
    struct assay_mincut_config config = assay_mincut_config_make();
    size_t n = shape.batch * shape.seq_len * shape.dim;
    float *q = read_tensor(argv[2], "q.f32", n * shape.heads);
    float *k = read_tensor(argv[2], "k.f32", n * shape.kv_heads);
    float *v = read_tensor(argv[2], "v.f32", n * shape.kv_heads);
    struct answers a = {0};
    struct assay_attn *attn;

    config.lambda = strtof(argv[9], NULL);
    config.eps = strtof(argv[10], NULL);
    must(assay_attn_new(
        &attn,
        &(struct assay_attn_options){.size = sizeof(struct assay_attn_options), .threads = 2},
        &err));
    attend(attn, &shape, &config, (const float *const[]){q, k, v}, &a);
    write_bytes(argv[2], "softmax.f32", a.softmax, a.out_bytes);
    write_bytes(argv[2], "mincut.f32", a.mincut, a.out_bytes);
    write_bytes(argv[2], "masked.f32", a.masked, a.out_bytes);
    write_bytes(argv[2], "mask.bits", a.mask, a.mask_bytes);
    print_gating(&a.gating);
    answers_free(&a);
    assay_attn_free(attn);
    free(q);
    free(k);
    free(v);
    return 0;
}

static int cut_file(char **argv)
{
    size_t n = whole(argv[3]);
    float *logits = read_tensor(argv[2], "logits.f32", n * n);
    uint8_t *mask = memory((n * n + 7) / 8);
    struct assay_gating gating;

    must(assay_mincut_gate(logits, n, strtof(argv[4], NULL), 2, strtof(argv[5], NULL), mask,
                           &gating, &err));
    write_bytes(argv[2], "mask.bits", mask, (n * n + 7) / 8);
    print_gating(&gating);
    free(mask);
    free(logits);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "bits") == 0)
        return bits();
    if (argc == 11 && strcmp(argv[1], "attend") == 0)
        return attend_files(argv);
    if (argc == 6 && strcmp(argv[1], "cut") == 0)
        return cut_file(argv);
    fputs("usage: model_attention bits | attend FOLDER ... | cut FOLDER TOKENS LAMBDA EPS\n",
          stderr);
    return 2;
}
