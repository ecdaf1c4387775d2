/* tests/helpers/model_compare.c - prints a comparison of three backends as JSON, for a judge.
 * usage: model_compare [few]: with it only one backend is added. */
#include <stdio.h>

#include "report/findings/findings_report.h"

static int add_all(struct assay_compare *c, int few, struct assay_error *err)
{
    const double unknown = (double)NAN;
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

static void put_ranking(struct as_json_writer *w, const struct assay_backend_total *totals,
                        size_t n)
{
    as_json_kv_array(w, "backend_ranking");
    for (size_t i = 0; i < n; i++) {
        as_json_array(w);
        as_json_text(w, totals[i].backend);
        as_json_f64(w, totals[i].total_seconds);
        as_json_array_end(w);
    }
    as_json_array_end(w);
}

/* `backend_profiles`, `comparison_results` and `backend_ranking`. */
static int put_all(struct as_json_writer *w, struct assay_compare *compare, struct assay_error *err)
{
    const struct assay_comparison *comparison;
    const struct assay_backend_total *ranking;
    size_t n;
    int rc = assay_compare_run(compare, NULL, 0, &comparison, err);

    if (rc < 0 && !comparison->error)
        return rc;
    rc = assay_compare_ranking(compare, &ranking, &n, err);
    if (rc < 0)
        return rc;
    as_json_object(w);
    as_json_kv_object(w, "backend_profiles");
    for (size_t i = 0; i < n; i++) {
        as_json_kv_object(w, ranking[i].backend);
        as_json_kv_f64(w, "timestamp", ranking[i].timestamp_seconds);
        as_json_kv_object(w, "profile_summary");
        as_json_kv_f64(w, "total_time", ranking[i].total_seconds);
        AS_JSON_FIELDS(w, &ranking[i], peak_memory_mb, energy_j);
        as_json_object_end(w);
        as_json_object_end(w);
    }
    as_json_object_end(w);
    as_json_key(w, "comparison_results");
    as_compare_json(w, comparison, 0);
    put_ranking(w, ranking, n);
    as_json_object_end(w);
    return ASSAY_OK;
}

int main(int argc, char **argv)
{
    struct assay_compare *c = NULL;
    struct assay_error err = {0};
    struct as_json_writer w;
    struct as_out out;
    int failed = 3;

    (void)argv;
    if (assay_compare_new(&c, NULL, &err) < 0 || as_out_fd(&out, 1, "output", &err) < 0)
        return 3;
    as_json_writer_init(&w, &out, 2);
    if (add_all(c, argc > 1, &err) == 0 && put_all(&w, c, &err) == 0 &&
        as_json_writer_finish(&w, &err) == 0)
        failed = 0;
    if (as_out_close(&out, &err) < 0)
        failed = 3;
    if (failed)
        fprintf(stderr, "%s\n", err.msg);
    assay_compare_free(c);
    return failed;
}
