/* report/profile/profile_csv.c - a profile as a folder of CSV files, one for each list.
 * Whole numbers are exact; what is not known is empty. */
#include <stdio.h>

#include "base/output.h"
#include "base/text/csv.h"
#include "base/units.h"
#include "report/profile/profile_report.h"

static void put_header(struct as_csv_writer *w, const char *const *names)
{
    for (; *names; names++)
        as_csv_text(w, *names);
    as_csv_row_end(w);
}

static void put_count(struct as_csv_writer *w, uint64_t count, bool counted)
{
    if (counted)
        as_csv_u64(w, count);
    else
        as_csv_empty(w);
}

static void put_roof(struct as_csv_writer *w, const struct as_roof *roof, bool counted)
{
    as_csv_f64(w, counted ? roof->achieved * 1e-9 : AS_UNKNOWN);
    as_csv_f64(w, counted || roof->bandwidth > 0 ? roof->bandwidth : AS_UNKNOWN);
    as_csv_f64(w, counted ? roof->intensity : AS_UNKNOWN);
    as_csv_text(w, as_bound_name(roof->bound));
    as_csv_text(w, roof->bound == AS_BOUND_MEMORY ? as_peak_level_name(roof->level) : "");
    as_csv_f64(w, counted ? roof->roof_fraction : AS_UNKNOWN);
}

static int write_layers(struct as_csv_writer *w, const struct as_profile_report *report,
                        struct assay_error *err)
{
    static const char *const names[] = {"name",
                                        "op",
                                        "fused",
                                        "kernel",
                                        "layout",
                                        "nodes",
                                        "calls",
                                        "self_ns",
                                        "mean_ns",
                                        "std_ns",
                                        "min_ns",
                                        "max_ns",
                                        "share",
                                        "cumulative_share",
                                        "macs",
                                        "flops",
                                        "bytes",
                                        "weight_bytes",
                                        "live_bytes",
                                        "gflops_per_second",
                                        "bytes_per_second",
                                        "arithmetic_intensity",
                                        "bound",
                                        "bound_level",
                                        "roof_fraction",
                                        NULL};
    struct as_profile *p = report->profile;
    const uint32_t *order = as_profile_order(p, report->sort);

    if (!order)
        return as_fail_nomem(err);
    put_header(w, names);
    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[order[i]];

        as_csv_text(w, layer->step->name);
        as_csv_text(w, layer->step->op);
        as_csv_text(w, layer->step->fused);
        as_csv_text(w, layer->step->kernel);
        as_csv_text(w, layer->step->layout);
        as_csv_u64(w, layer->step->n_nodes);
        as_csv_u64(w, layer->step->calls);
        as_csv_f64(w, layer->self_ns);
        as_csv_f64(w, layer->mean_ns);
        as_csv_f64(w, layer->std_ns);
        as_csv_f64(w, layer->min_ns);
        as_csv_f64(w, layer->max_ns);
        as_csv_f64(w, layer->share);
        as_csv_f64(w, layer->cumulative_share);
        put_count(w, layer->step->macs, layer->step->counted);
        put_count(w, layer->step->flops, layer->step->counted);
        put_count(w, layer->step->bytes, layer->step->counted || layer->step->bytes > 0);
        as_csv_u64(w, layer->step->weight_bytes);
        put_count(w, layer->step->live_bytes, p->data->memory_counted);
        put_roof(w, &layer->roof, layer->step->counted);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

static int write_groups(struct as_csv_writer *w, const struct as_profile_group *groups, size_t n)
{
    static const char *const names[] = {"name",
                                        "layers",
                                        "calls",
                                        "self_ns",
                                        "share",
                                        "cumulative_share",
                                        "macs",
                                        "flops",
                                        "bytes",
                                        "gflops_per_second",
                                        "bytes_per_second",
                                        "arithmetic_intensity",
                                        "bound",
                                        "bound_level",
                                        "roof_fraction",
                                        NULL};

    put_header(w, names);
    for (size_t i = 0; i < n; i++) {
        as_csv_text(w, groups[i].name);
        as_csv_u64(w, groups[i].n_layers);
        as_csv_u64(w, groups[i].calls);
        as_csv_f64(w, groups[i].self_ns);
        as_csv_f64(w, groups[i].share);
        as_csv_f64(w, groups[i].cumulative_share);
        put_count(w, groups[i].macs, groups[i].counted);
        put_count(w, groups[i].flops, groups[i].counted);
        as_csv_u64(w, groups[i].bytes);
        put_roof(w, &groups[i].roof, groups[i].counted);
        as_csv_row_end(w);
    }
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
