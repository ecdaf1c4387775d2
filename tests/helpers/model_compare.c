/* tests/helpers/model_compare.c - prints a comparison of three backends as JSON, for a judge.
 * usage: model_compare [few]: with it only one backend is added. */
#include <stdio.h>

#include "report/compare/compare_report.h"

static int add_all(struct assay_compare *c, int few, struct assay_error *err)
{
    const double unknown = ASSAY_NOT_TOLD;
    struct assay_backend_layer fast[] = {
        {"conv", 0.008, 0.001, unknown, 50, NULL, 0},
        {"fc", 0.005, 0.0005, unknown, 50, NULL, 0},
        {"<only> \"here\"", 0.5, unknown, unknown, 0, NULL, 0},
    };
    struct assay_backend_layer slow[] = {
        {"conv", 0.010, 0.001, unknown, 100, NULL, 0},
        {"fc", 0.004, 0.0005, unknown, 100, NULL, 0},
    };

    if (assay_compare_add(c, "slow", slow, 2, unknown, 1000.5, err) < 0)
        return 3;
    if (few)
        return 0;
    return assay_compare_add(c, "fast\xff", fast, 3, unknown, 2000, err) < 0 ||
                   assay_compare_add(c, "nothing", NULL, 0, unknown, 3000, err) < 0 ||
                   assay_compare_add_resources(c, "slow", 64, 5, err) < 0
               ? 3
               : 0;
}

int main(int argc, char **argv)
{
    struct assay_compare *c = NULL;
    struct assay_error err = {0};
    struct as_json_writer w;
    struct as_out out;
    int failed = 3;

    (void)argv;
    if (assay_compare_new(&c, &err) < 0 || as_out_fd(&out, 1, "output", &err) < 0)
        return 3;
    as_json_writer_init(&w, &out, 2);
    if (add_all(c, argc > 1, &err) == 0 && as_compare_export_json(&w, c, &err) == 0 &&
        as_json_writer_finish(&w, &err) == 0)
        failed = 0;
    if (as_out_close(&out, &err) < 0)
        failed = 3;
    if (failed)
        fprintf(stderr, "%s\n", err.msg);
    assay_compare_free(c);
    return failed;
}
