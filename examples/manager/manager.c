/* examples/manager/manager.c - basic profiling: mark layers, print the page, keep the run.
 * cc manager.c $(pkg-config --cflags --libs assay); then `assay report manager.assay`. */
#include <assay/assay.h>

static double sink;

static void multiply(int n)
{
    for (int i = 0; i < n * n; i++)
        sink += (double)i * 1e-9;
}

int main(void)
{
    struct assay_manager *m;
    struct assay_error err;

    if (assay_manager_new(&m, NULL, &err) < 0 || assay_manager_start(m, &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 1;
    for (uint64_t i = 0; i < 50; i++) {
        assay_manager_step(m, i);
        ASSAY_MANAGER_CALL(m, "dense", multiply(300));
        ASSAY_MANAGER_CALL(m, "softmax", multiply(60));
    }
    if (assay_manager_end(m, &err) < 0 || assay_manager_print(m, stdout, &err) < 0 ||
        assay_manager_export(m, "manager.assay", &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 1;
    assay_manager_free(m);
    return 0;
}
