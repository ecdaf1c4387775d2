/* examples/compare/compare.c - two implementations of the same layers compared from times that the
 * program measured itself: which is faster in each layer, and whether the difference is
 * significant. cc compare.c $(pkg-config --cflags --libs assay) */
#include <assay/assay.h>
#include <time.h>

enum { CALLS = 30, LAYERS = 2, N = 160 };

static float a[N][N], b[N][N];
float c[N][N]; /* not static: the compiler must not drop what is computed */

/* Rows times columns: strides through `b`. */
static void by_columns(int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            c[i][j] = 0;
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * b[k][j];
        }
    }
}

/* The same sums in the order in which `b` lies in memory. */
static void by_rows(int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            c[i][j] = 0;
        for (int k = 0; k < n; k++) {
            for (int j = 0; j < n; j++)
                c[i][j] += a[i][k] * b[k][j];
        }
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Times every layer with one implementation and adds it as a backend. */
static int add_backend(struct assay_compare *compare, const char *name, void (*multiply)(int),
                       struct assay_error *err)
{
    static double seconds[LAYERS][CALLS];
    static const char *const layer[LAYERS] = {"attention", "feed_forward"};
    struct assay_backend_layer layers[LAYERS] = {0};

    for (int l = 0; l < LAYERS; l++) {
        for (int i = 0; i < CALLS; i++) {
            double from = now();

            multiply(l ? N : N / 2);
            seconds[l][i] = now() - from;
        }
        layers[l].name = layer[l];
        layers[l].samples_seconds = seconds[l];
        layers[l].n_samples = CALLS;
    }
    return assay_compare_add(compare, name, layers, LAYERS, 0, 0, err);
}

int main(void)
{
    const struct assay_comparison *result;
    struct assay_compare *compare;
    struct assay_error err;

    if (assay_compare_new(&compare, &err) < 0 ||
        add_backend(compare, "by columns", by_columns, &err) < 0 ||
        add_backend(compare, "by rows", by_rows, &err) < 0 ||
        assay_compare_run(compare, NULL, 0, &result, &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 1;
    for (size_t i = 0; i < result->n_backends; i++)
        printf("%-12s %8.3f ms\n", result->backends[i].backend,
               result->backends[i].total_seconds * 1e3);
    printf("fastest: %s\n%s\n", result->summary.fastest_backend, result->summary.recommendation);
    assay_compare_free(compare);
    return 0;
}
