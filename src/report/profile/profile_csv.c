/* report/profile/profile_csv.c - a profile as a folder of CSV files, one for each list.
 * Whole numbers are exact; what is not known is empty. */
#include <stdio.h>

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

static int write_layers_of(struct as_csv_writer *w, struct as_profile *p,
                           const struct as_profile_report *report, struct assay_error *err)
{
    const uint32_t *order = as_profile_order(p, report->sort);

    if (!order)
        return as_fail_nomem(err);
    as_csv_fields_header(w, &as_profile_layer_shape);
    for (size_t i = 0; i < p->n_layers; i++)
        as_csv_fields_row(w, &as_profile_layer_shape, &p->layers[order[i]]);
    return ASSAY_OK;
}

static int write_layers(struct as_csv_writer *w, const struct as_profile_report *report,
                        struct assay_error *err)
{
    return write_layers_of(w, report->profile, report, err);
}

static int write_decode(struct as_csv_writer *w, const struct as_profile_report *report,
                        struct assay_error *err)
{
    return write_layers_of(w, report->profile->decode, report, err);
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
        as_csv_ns(w, run->samples_ns[i]);
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

static int write_outputs(struct as_csv_writer *w, const struct as_profile_report *report,
                         struct assay_error *err)
{
    const struct as_outputs *o = report->profile->data->outputs;

    (void)err;
    as_csv_fields_header(w, &as_profile_output_shape);
    for (size_t i = 0; i < o->n_rows; i++)
        as_csv_fields_row(w, &as_profile_output_shape, &o->rows[i]);
    return ASSAY_OK;
}

static bool has_decode(const struct as_profile_data *data)
{
    return data->decode != NULL;
}

static bool has_outputs(const struct as_profile_data *data)
{
    return data->outputs != NULL;
}

static const struct {
    const char *name;
    int (*write)(struct as_csv_writer *w, const struct as_profile_report *report,
                 struct assay_error *err);
    bool (*has)(const struct as_profile_data *data); /* NULL: every profile has it */
} files[] = {
    {"layers.csv", write_layers, NULL},          {"operators.csv", write_operators, NULL},
    {"scopes.csv", write_scopes, NULL},          {"latency.csv", write_latency, NULL},
    {"memory.csv", write_memory, NULL},          {"decode_layers.csv", write_decode, has_decode},
    {"outputs.csv", write_outputs, has_outputs},
};

struct table {
    const struct as_profile_report *report;
    size_t file;
};

static int write_table(struct as_csv_writer *w, const void *of, struct assay_error *err)
{
    const struct table *t = of;

    return files[t->file].write(w, t->report, err);
}

int as_profile_csv(const struct as_profile_report *report, const struct as_csv_target *to,
                   struct assay_error *err)
{
    size_t all = to->folder ? AS_COUNT_OF(files) : 1, n = 0; /* the layers are the main table */
    int rc = as_csv_target_open(to, err);

    for (size_t i = 0; i < all && rc >= 0; i++) {
        if (files[i].has && !files[i].has(report->profile->data))
            continue;
        rc = as_csv_target_put(to, files[i].name, write_table,
                               &(struct table){.report = report, .file = i}, err);
        n++;
    }
    return rc < 0 ? rc : (int)n;
}
