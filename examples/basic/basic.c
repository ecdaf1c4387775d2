/* examples/basic - a small real network in plain C, with its layers marked.
 *
 * Two convolutions, two poolings, two dense layers: the forward pass of a digit classifier on
 * seeded data, computed for real, some hundreds of times. Everything assay needs is in main() and
 * in the ASSAY_SCOPE lines of forward(). */
#include <assay/session.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE = 28, KERNEL = 5, CHANNELS1 = 16, CHANNELS2 = 32, HIDDEN = 128, CLASSES = 10 };
enum {
    SIDE1 = IMAGE - KERNEL + 1,
    POOLED1 = SIDE1 / 2,
    SIDE2 = POOLED1 - KERNEL + 1,
    POOLED2 = SIDE2 / 2
};
enum { FLAT = CHANNELS2 * POOLED2 * POOLED2 };

struct network {
    float conv1[CHANNELS1][1][KERNEL][KERNEL];
    float conv2[CHANNELS2][CHANNELS1][KERNEL][KERNEL];
    float dense1[HIDDEN][FLAT];
    float dense2[CLASSES][HIDDEN];
};

struct activations {
    float image[1][IMAGE][IMAGE];
    float conv1[CHANNELS1][SIDE1][SIDE1];
    float pool1[CHANNELS1][POOLED1][POOLED1];
    float conv2[CHANNELS2][SIDE2][SIDE2];
    float pool2[CHANNELS2][POOLED2][POOLED2];
    float hidden[HIDDEN];
    float out[CLASSES];
};

/* Seeded, so that every run computes the same. */
static void fill(float *values, size_t n, uint32_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        values[i] = ((float)(*seed >> 8) / 16777216.0f - 0.5f) * 0.2f;
    }
}

/* A valid convolution: `n_in` planes of `side`, `n_out` planes of side - KERNEL + 1. */
static void convolve(const float *in, int n_in, int side, const float *weight, float *out,
                     int n_out)
{
    const int to = side - KERNEL + 1;

    for (int o = 0; o < n_out; o++) {
        float *plane = out + (size_t)o * (size_t)(to * to);

        memset(plane, 0, (size_t)(to * to) * sizeof *plane);
        for (int i = 0; i < n_in; i++) {
            for (int k = 0; k < KERNEL * KERNEL; k++) {
                const float w =
                    weight[((size_t)o * (size_t)n_in + (size_t)i) * KERNEL * KERNEL + (size_t)k];
                const float *from = in + (size_t)i * (size_t)(side * side) +
                                    (size_t)(k / KERNEL * side + k % KERNEL);

                for (int y = 0; y < to; y++) {
                    for (int x = 0; x < to; x++)
                        plane[y * to + x] += w * from[y * side + x];
                }
            }
        }
    }
}

static void rectify(float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = values[i] > 0 ? values[i] : 0;
}

/* The largest of each 2 x 2 square. */
static void pool(const float *in, int n, int side, float *out)
{
    const int to = side / 2;

    for (int c = 0; c < n; c++) {
        for (int y = 0; y < to; y++) {
            for (int x = 0; x < to; x++) {
                const float *square =
                    in + (size_t)c * (size_t)(side * side) + (size_t)(2 * y * side + 2 * x);
                float a = square[0] > square[1] ? square[0] : square[1];
                float b = square[side] > square[side + 1] ? square[side] : square[side + 1];

                out[(size_t)c * (size_t)(to * to) + (size_t)(y * to + x)] = a > b ? a : b;
            }
        }
    }
}

static void multiply(const float *weight, const float *in, int n_in, float *out, int n_out)
{
    for (int o = 0; o < n_out; o++) {
        float sum = 0;

        for (int i = 0; i < n_in; i++)
            sum += weight[(size_t)o * (size_t)n_in + (size_t)i] * in[i];
        out[o] = sum;
    }
}

/* One inference; each block is a layer of the report. */
static int forward(const struct network *net, struct activations *a)
{
    int best = 0;

    ASSAY_PHASE_SCOPE(ASSAY_PHASE_FORWARD);
    {
        ASSAY_SCOPE("conv1");
        convolve(&a->image[0][0][0], 1, IMAGE, &net->conv1[0][0][0][0], &a->conv1[0][0][0],
                 CHANNELS1);
    }
    {
        ASSAY_SCOPE("relu1");
        rectify(&a->conv1[0][0][0], sizeof a->conv1 / sizeof(float));
    }
    {
        ASSAY_SCOPE("pool1");
        pool(&a->conv1[0][0][0], CHANNELS1, SIDE1, &a->pool1[0][0][0]);
    }
    {
        ASSAY_SCOPE("conv2");
        convolve(&a->pool1[0][0][0], CHANNELS1, POOLED1, &net->conv2[0][0][0][0],
                 &a->conv2[0][0][0], CHANNELS2);
    }
    {
        ASSAY_SCOPE("relu2");
        rectify(&a->conv2[0][0][0], sizeof a->conv2 / sizeof(float));
    }
    {
        ASSAY_SCOPE("pool2");
        pool(&a->conv2[0][0][0], CHANNELS2, SIDE2, &a->pool2[0][0][0]);
    }
    {
        ASSAY_SCOPE("dense1");
        multiply(&net->dense1[0][0], &a->pool2[0][0][0], FLAT, a->hidden, HIDDEN);
        ASSAY_CALL("relu3", rectify(a->hidden, HIDDEN));
    }
    {
        ASSAY_SCOPE("dense2");
        multiply(&net->dense2[0][0], a->hidden, HIDDEN, a->out, CLASSES);
    }
    for (int i = 1; i < CLASSES; i++)
        best = a->out[i] > a->out[best] ? i : best;
    return best;
}

/* Facts that turn times into rates; one multiply-accumulate is two FLOPs. */
static int describe(const char *name, const char *op, const char *shape, double macs, double values,
                    struct assay_error *err)
{
    struct assay_layer_info info = {.size = sizeof info,
                                    .op = op,
                                    .shape = shape,
                                    .flops = 2 * macs,
                                    .bytes = values * sizeof(float)};

    return assay_layer_describe(assay_layer(name), &info, err);
}

static int describe_layers(struct assay_error *err)
{
    const double macs1 = (double)CHANNELS1 * SIDE1 * SIDE1 * KERNEL * KERNEL;
    const double macs2 = (double)CHANNELS2 * SIDE2 * SIDE2 * CHANNELS1 * KERNEL * KERNEL;

    if (describe("conv1", "conv2d", "16x24x24", macs1,
                 IMAGE * IMAGE + CHANNELS1 * KERNEL * KERNEL + CHANNELS1 * SIDE1 * SIDE1,
                 err) < 0 ||
        describe("conv2", "conv2d", "32x8x8", macs2,
                 CHANNELS1 * POOLED1 * POOLED1 + CHANNELS2 * CHANNELS1 * KERNEL * KERNEL +
                     CHANNELS2 * SIDE2 * SIDE2,
                 err) < 0 ||
        describe("dense1", "linear", "128", (double)HIDDEN * FLAT, FLAT + HIDDEN * FLAT + HIDDEN,
                 err) < 0 ||
        describe("dense2", "linear", "10", (double)CLASSES * HIDDEN,
                 HIDDEN + CLASSES * HIDDEN + CLASSES, err) < 0)
        return -1;
    return 0;
}

static int usage(const char *why)
{
    fprintf(stderr, "basic: %s\nusage: basic [-o RUN.assay] [--iterations N]\n", why);
    return 2;
}

static int fail(const struct assay_error *err)
{
    fprintf(stderr, "basic: %s\n", err->msg);
    return 3;
}

int main(int argc, char **argv)
{
    static struct network net;
    static struct activations a;
    const char *path = "basic.assay";
    struct assay_error err;
    unsigned long iterations = 500;
    uint32_t seed = 7;
    int votes[CLASSES] = {0};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
            path = argv[++i];
        } else if (strcmp(argv[i], "--iterations") == 0 && i + 1 < argc) {
            char *end;

            errno = 0;
            iterations = strtoul(argv[++i], &end, 10);
            if (errno || *end || end == argv[i] || argv[i][0] == '-' || iterations == 0)
                return usage("--iterations takes a number from 1 on");
        } else {
            return usage("unknown option or missing value");
        }
    }
    fill((float *)&net, sizeof net / sizeof(float), &seed);

    if (assay_session_open(path, NULL, &err) < 0 || describe_layers(&err) < 0)
        return fail(&err);
    for (unsigned long i = 0; i < iterations; i++) {
        assay_iteration(i);
        {
            ASSAY_PHASE_SCOPE(ASSAY_PHASE_DATA);
            ASSAY_SCOPE("load image");
            fill(&a.image[0][0][0], sizeof a.image / sizeof(float), &seed);
        }
        votes[forward(&net, &a)]++;
    }
    assay_iteration_end();
    if (assay_session_close(&err) < 0)
        return fail(&err);

    printf("%lu inferences; classes", iterations);
    for (int i = 0; i < CLASSES; i++)
        printf(" %d", votes[i]);
    printf("\nrecorded into %s; now: assay report %s\n", path, path);
    return fflush(stdout) == 0 ? 0 : 3;
}
