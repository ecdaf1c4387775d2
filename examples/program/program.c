/* examples/program - a program that profiles itself: a small network is trained on one thread while
 * another smooths signals and parses text, and now and then a text is broken.
 *
 * Everything assay needs is in main() and in the ASSAY_MANAGER_LAYER lines. The report is a JSON
 * file with layers, memory, leaks, bottlenecks, anomalies and what profiling cost. */
#include <assay/manager.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 64, HIDDEN = 128, CLASSES = 10, BATCH = 32, SIGNAL = 4096, NUMBERS = 2000 };

struct network {
    float w1[HIDDEN][INPUTS], w2[CLASSES][HIDDEN];
    float g1[HIDDEN][INPUTS], g2[CLASSES][HIDDEN];
};

struct batch {
    float in[BATCH][INPUTS], hidden[BATCH][HIDDEN], out[BATCH][CLASSES];
    int label[BATCH];
};

static struct assay_manager *manager;

static float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(*seed >> 8) / 16777216.0f - 0.5f;
}

/* Class i has its inputs around a center of its own. */
static void load(struct batch *b, uint32_t *seed)
{
    ASSAY_MANAGER_FUNCTION(manager);
    for (int n = 0; n < BATCH; n++) {
        b->label[n] = n % CLASSES;
        for (int i = 0; i < INPUTS; i++)
            b->in[n][i] = noise(seed) + (i % CLASSES == b->label[n] ? 1.0f : 0.0f);
    }
}

static void forward(const struct network *net, struct batch *b)
{
    const double flops = 2.0 * BATCH * HIDDEN * (INPUTS + CLASSES);
    const struct assay_metadata facts[] = {{"flops", NULL, flops}, {"phase", "forward", 0}};

    ASSAY_MANAGER_LAYER_NAMED(scope, manager, "forward");
    assay_manager_scope_tell(&scope, facts, sizeof facts / sizeof *facts);
    {
        ASSAY_MANAGER_LAYER(manager, "dense1");
        for (int n = 0; n < BATCH; n++) {
            for (int h = 0; h < HIDDEN; h++) {
                float sum = 0;

                for (int i = 0; i < INPUTS; i++)
                    sum += net->w1[h][i] * b->in[n][i];
                b->hidden[n][h] = sum > 0 ? sum : 0;
            }
        }
    }
    ASSAY_MANAGER_LAYER(manager, "dense2");
    for (int n = 0; n < BATCH; n++) {
        for (int c = 0; c < CLASSES; c++) {
            b->out[n][c] = 0;
            for (int h = 0; h < HIDDEN; h++)
                b->out[n][c] += net->w2[c][h] * b->hidden[n][h];
        }
    }
}

/* Turns outputs into the gradient of the cross entropy; returns the mean loss. */
static double loss(struct batch *b)
{
    double sum = 0;

    ASSAY_MANAGER_FUNCTION(manager);
    for (int n = 0; n < BATCH; n++) {
        float most = b->out[n][0], total = 0;

        for (int c = 1; c < CLASSES; c++)
            most = b->out[n][c] > most ? b->out[n][c] : most;
        for (int c = 0; c < CLASSES; c++) {
            b->out[n][c] = expf(b->out[n][c] - most);
            total += b->out[n][c];
        }
        for (int c = 0; c < CLASSES; c++)
            b->out[n][c] /= total;
        sum -= log((double)b->out[n][b->label[n]] + 1e-12);
        b->out[n][b->label[n]] -= 1.0f;
    }
    return sum / BATCH;
}

static void backward(struct network *net, const struct batch *b)
{
    ASSAY_MANAGER_FUNCTION(manager);
    memset(net->g1, 0, sizeof net->g1);
    memset(net->g2, 0, sizeof net->g2);
    for (int n = 0; n < BATCH; n++) {
        for (int h = 0; h < HIDDEN; h++) {
            float back = 0;

            for (int c = 0; c < CLASSES; c++) {
                net->g2[c][h] += b->out[n][c] * b->hidden[n][h];
                back += b->out[n][c] * net->w2[c][h];
            }
            for (int i = 0; b->hidden[n][h] > 0 && i < INPUTS; i++)
                net->g1[h][i] += back * b->in[n][i];
        }
    }
}

/* One step down the slope; returns how steep it is. */
static double descend(float *weight, const float *gradient, size_t n)
{
    double steep = 0;

    for (size_t i = 0; i < n; i++) {
        weight[i] -= 0.02f / BATCH * gradient[i];
        steep += (double)gradient[i] * (double)gradient[i];
    }
    return sqrt(steep) / BATCH;
}
/* The same function, as a layer of its name. */
ASSAY_MANAGER_WRAP(double, descend_layer, manager, descend,
                   (float *weight, const float *gradient, size_t n), (weight, gradient, n))

/* ---- the other thread ---- */

static void smooth(float *signal, float *scratch)
{
    ASSAY_MANAGER_FUNCTION(manager);
    for (int round = 0; round < 8; round++) {
        for (int i = 1; i + 1 < SIGNAL; i++)
            scratch[i] = 0.25f * signal[i - 1] + 0.5f * signal[i] + 0.25f * signal[i + 1];
        memcpy(signal + 1, scratch + 1, (SIGNAL - 2) * sizeof *signal);
    }
}

/* The sum of the numbers in `text`; a word that is none fails the layer. */
static double parse(const char *text)
{
    double sum = 0;

    ASSAY_MANAGER_LAYER_NAMED(scope, manager, "parse");
    while (*text) {
        char *end;

        sum += strtod(text, &end);
        if (end == text) {
            assay_manager_scope_fail(&scope, "a word is not a number");
            return sum;
        }
        text = end + strspn(end, " ");
    }
    return sum;
}

static void write_numbers(char *text, size_t capacity, bool broken)
{
    size_t at = 0;

    for (int i = 0; i < NUMBERS && at < capacity; i++)
        at += (size_t)snprintf(text + at, capacity - at, broken && i == NUMBERS / 2 ? "x " : "%d ",
                               i);
}

static void *side_work(void *iterations)
{
    static float signal[SIGNAL], scratch[SIGNAL];
    static char text[NUMBERS * 6];
    uint32_t seed = 11;

    for (unsigned long i = 0; i < *(const unsigned long *)iterations; i++) {
        ASSAY_MANAGER_LAYER(manager, "side work");
        for (int k = 0; k < SIGNAL; k++)
            signal[k] = noise(&seed);
        smooth(signal, scratch);
        write_numbers(text, sizeof text, i % 10 == 9);
        (void)parse(text);
    }
    return NULL;
}

/* ---- main ---- */

static double train(unsigned long iterations)
{
    static struct network net;
    static struct batch batch;
    uint32_t seed = 7;
    double mean = 0;

    for (size_t i = 0; i < sizeof net.w1 / sizeof(float); i++)
        (&net.w1[0][0])[i] = 0.2f * noise(&seed);
    for (size_t i = 0; i < sizeof net.w2 / sizeof(float); i++)
        (&net.w2[0][0])[i] = 0.2f * noise(&seed);
    for (unsigned long i = 0; i < iterations; i++) {
        assay_manager_step(manager, i);
        load(&batch, &seed);
        forward(&net, &batch);
        mean = loss(&batch);
        backward(&net, &batch);
        ASSAY_MANAGER_LAYER(manager, "optimizer");
        (void)descend_layer(&net.w1[0][0], &net.g1[0][0], sizeof net.w1 / sizeof(float));
        (void)descend_layer(&net.w2[0][0], &net.g2[0][0], sizeof net.w2 / sizeof(float));
    }
    return mean;
}

static int summarize(double last_loss, struct assay_error *err)
{
    const struct assay_bottleneck_result *result;
    struct assay_layer_profile *layers;
    struct assay_manager_session session;

    if (assay_manager_layers(manager, 3, &layers, err) < 0)
        return -1;
    assay_manager_read_session(manager, &session);
    printf("trained to a loss of %.3f; %zu layers, %llu calls, %llu failed, %u threads\n",
           last_loss, layers->n_layers, (unsigned long long)layers->total_calls,
           (unsigned long long)layers->failed_calls, layers->n_threads);
    for (size_t i = 0; i < layers->n_slowest; i++)
        printf("  %-12s %8.1f us a call\n", layers->slowest[i].layer,
               layers->slowest[i].value * 1e6);
    assay_layer_profile_free(layers);
    if (assay_manager_analyze_bottlenecks(manager, &result, err) < 0)
        return -1;
    if (result->n_ranked)
        printf("most time: %s, %.0f %% of all\n", result->ranked[0].layer,
               result->ranked[0].share * 100);
    printf("profiling took %.2f %% of the session\n", session.cost_share * 100);
    return 0;
}

static int run(const char *path, unsigned long iterations, struct assay_error *err)
{
    pthread_t side;
    double last_loss;

    if (assay_manager_new(&manager, NULL, err) < 0 || assay_manager_start(manager, err) < 0)
        return -1;
    if (pthread_create(&side, NULL, side_work, &iterations) != 0) {
        snprintf(err->msg, sizeof err->msg, "cannot start a thread");
        return -1;
    }
    last_loss = train(iterations);
    pthread_join(side, NULL);
    if (assay_manager_end(manager, err) < 0 || summarize(last_loss, err) < 0)
        return -1;
    return assay_manager_export(manager, path, err);
}

int main(int argc, char **argv)
{
    const char *path = "program/session.json";
    struct assay_error err = {0};
    unsigned long iterations = 200;
    int rc;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "-o") == 0)
            path = argv[i + 1];
        else if (strcmp(argv[i], "--iterations") == 0)
            iterations = strtoul(argv[i + 1], NULL, 10);
    }
    if (argc % 2 == 0 || iterations == 0) {
        fprintf(stderr, "usage: program [-o SESSION.json] [--iterations N]\n");
        return 2;
    }
    rc = run(path, iterations, &err);
    assay_manager_free(manager);
    if (rc < 0) {
        fprintf(stderr, "program: %s\n", err.msg);
        return 3;
    }
    printf("the whole session is in %s\n", path);
    return fflush(stdout) == 0 ? 0 : 3;
}
