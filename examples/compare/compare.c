/* examples/compare/compare.c - two implementations of the same layers compared from times that the
 * program measured itself: which is faster in each layer, and whether the difference is
 * significant. cc compare.c $(pkg-config --cflags --libs assay) */
#include <assay/assay.h>

enum { CALLS = 30, N = 160 };

static float a[N][N], b[N][N];
float c[N][N]; /* not static: the compiler must not drop what is computed */

/* Rows times columns: strides through `b`. */
static void by_columns(int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * b[k][j];
}

/* The same sums in the order in which `b` lies in memory. */
static void by_rows(int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                c[i][j] += a[i][k] * b[k][j];
}

/* Times one layer with one implementation and adds it to its backend. */
static int add(struct assay_compare *compare, const char *backend, const char *layer,
               void (*multiply)(int), int n)
{
    double seconds[CALLS], ms = 0;

    for (int i = 0; i < CALLS; i++) {
        ASSAY_TIMED(layer, &ms)
        {
            multiply(n);
        }
        seconds[i] = ms / 1e3;
    }
    return assay_compare_layer(compare, backend, layer, seconds, CALLS);
}

int main(void)
{
    const struct assay_comparison *result;
    struct assay_compare *compare;
    struct assay_error err;

    if (assay_compare_new(&compare, NULL, &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 1;
    add(compare, "by columns", "attention", by_columns, N / 2);
    add(compare, "by columns", "feed_forward", by_columns, N);
    add(compare, "by rows", "attention", by_rows, N / 2);
    add(compare, "by rows", "feed_forward", by_rows, N);
    if (assay_compare_run(compare, NULL, 0, &result, &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 1;
    for (size_t i = 0; i < result->n_layers; i++)
        printf("%-12s %s is %.1f times as fast\n", result->layers[i].layer,
               result->layers[i].fastest_backend, result->layers[i].speedup);
    printf("fastest: %s\n%s\n", result->summary.fastest_backend, result->summary.recommendation);
    assay_compare_free(compare);
    return 0;
}
