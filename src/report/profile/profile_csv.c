/* report/profile/profile_csv.c - a profile as a folder of CSV files, one for each list.
 * Whole numbers are exact; what is not known is empty. */
#include <stdio.h>

#include "base/output.h"
#include "base/text/csv.h"
#include "base/text/csv_fields.h"
#include "base/units.h"
#include "report/profile/profile_report.h"

static void put_header(struct as_csv_writer *w, const char *const *names)
{
    for (; *names; names++)
        as_csv_text(w, *names);
    as_csv_row_end(w);
}

static int write_layers(struct as_csv_writer *w, const struct as_profile_report *report,
                        struct assay_error *err)
{
    struct as_profile *p = report->profile;
    const uint32_t *order = as_profile_order(p, report->sort);

    if (!order)
        return as_fail_nomem(err);
    as_csv_fields_header(w, &as_profile_layer_shape);
    for (size_t i = 0; i < p->n_layers; i++)
        as_csv_fields_row(w, &as_profile_layer_shape, &p->layers[order[i]]);
    return ASSAY_OK;
}

static int write_groups(struct as_csv_writer *w, const struct as_profile_group *groups, size_t n)
{
    as_csv_fields_header(w, &as_profile_group_shape);
    for (size_t i = 0; i < n; i++)
        as_csv_fields_row(w, &as_profile_group_shape, &groups[i]);
    return ASSAY_OK;
}

static int write_operators(struct as_csv_writer *w, const struct as_profile_report *report,
                           struct assay_error *err)
{
    (void)err;
    return write_groups(w, report->profile->ops, report->profile->n_ops);
}

static int write_scopes(struct as_csv_writer *w, const struct as_profile_report *report,
                        struct assay_error *err)
{
    (void)err;
    return write_groups(w, report->profile->scopes, report->profile->n_scopes);
}

static int write_latency(struct as_csv_writer *w, const struct as_profile_report *report,
                         struct assay_error *err)
{
    static const char *const names[] = {"run", "latency_ns", "seen", NULL};
    const struct as_latency_run *run = &report->profile->data->latency;

    (void)err;
    put_header(w, names);
    for (size_t i = 0; i < run->n; i++) {
        char seen[200] = "";
        size_t size = 0;

        for (int c = 0; c < AS_CAUSE_COUNT && size < sizeof seen; c++)
            if (run->seen[i] >> c & 1)
                size += (size_t)snprintf(seen + size, sizeof seen - size, "%s%s", size ? " " : "",
                                         as_cause_name((enum as_cause)c));
        as_csv_u64(w, i);
        as_csv_f64(w, run->samples_ns[i]);
        as_csv_text(w, seen);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

static int write_memory(struct as_csv_writer *w, const struct as_profile_report *report,
                        struct assay_error *err)
{
    static const char *const names[] = {"kind", "peak_bytes", "allocations", NULL};
    const struct as_mem *mem = &report->profile->data->memory;

    (void)err;
    put_header(w, names);
    if (!report->profile->data->memory_counted)
        return ASSAY_OK; /* not known: no row, rather than zeros */
    for (int i = 0; i < AS_MEM_KIND_COUNT; i++) {
        as_csv_text(w, as_mem_kind_name((enum as_mem_kind)i));
        as_csv_u64(w, mem->of[i].peak_bytes);
        as_csv_u64(w, mem->of[i].n_allocations);
        as_csv_row_end(w);
    }
    as_csv_text(w, "all");
    as_csv_u64(w, mem->all.peak_bytes);
    as_csv_u64(w, mem->all.n_allocations);
    as_csv_row_end(w);
    return ASSAY_OK;
}

static const struct {
    const char *name;
    int (*write)(struct as_csv_writer *w, const struct as_profile_report *report,
                 struct assay_error *err);
} files[] = {
    {"layers.csv", write_layers}, {"operators.csv", write_operators},
    {"scopes.csv", write_scopes}, {"latency.csv", write_latency},
    {"memory.csv", write_memory},
};

static int write_file(const struct as_profile_report *report, const char *folder, size_t i,
                      struct assay_error *err)
{
    struct as_csv_writer w = {0};
    struct as_out out;
    char path[4096];
    int rc;

    if (snprintf(path, sizeof path, "%s/%s", folder, files[i].name) >= (int)sizeof path)
        return as_fail(err, ASSAY_ERR_LIMIT, "path too long: %.80s", folder);
    rc = as_out_file(&out, path, err);
    if (rc < 0)
        return rc;
    w.out = &out;
    rc = files[i].write(&w, report, err);
    if (rc < 0)
        as_out_drop(&out);
    else
        rc = as_out_close(&out, err);
    return rc;
}

int as_profile_csv(const struct as_profile_report *report, const char *folder,
                   struct assay_error *err)
{
    int rc = as_folder_make(folder, 0777, err);
    int n = 0;

    for (size_t i = 0; i < AS_COUNT_OF(files) && rc >= 0; i++, n++)
        rc = write_file(report, folder, i, err);
    return rc < 0 ? rc : n;
}
