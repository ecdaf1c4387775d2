/* report/compare/diff_json.c - what changed between two runs, as JSON (schema assay.diff).
 * The documented keys, and beside them base units; what cannot be had is null. */
#include <math.h>

#include "base/json/json_writer.h"
#include "base/units.h"
#include "report/compare/compare_report.h"

static void put_improvements(struct as_json_writer *w, const struct as_diff *d)
{
    as_json_kv_object(w, "improvements");
    as_json_kv_object(w, "total_time");
    as_json_kv_f64(w, "session1_ms", d->total_ns[0] / 1e6);
    as_json_kv_f64(w, "session2_ms", d->total_ns[1] / 1e6);
    as_json_kv_f64(w, "speedup_percent", d->speedup_percent);
    as_json_kv_f64(w, "session1_ns", d->total_ns[0]);
    as_json_kv_f64(w, "session2_ns", d->total_ns[1]);
    as_json_object_end(w);
    as_json_kv_object(w, "memory");
    as_json_kv_f64(w, "session1_mb", d->memory_bytes[0] / AS_MIB);
    as_json_kv_f64(w, "session2_mb", d->memory_bytes[1] / AS_MIB);
    as_json_kv_f64(w, "reduction_percent", d->reduction_percent);
    as_json_kv_f64(w, "session1_bytes", d->memory_bytes[0]);
    as_json_kv_f64(w, "session2_bytes", d->memory_bytes[1]);
    as_json_object_end(w);
    as_json_object_end(w);
}

void as_diff_test_json(struct as_json_writer *w, const struct as_diff_test *t)
{
    as_json_kv_object(w, "test");
    as_json_kv_text(w, "basis", as_diff_basis_name(t->basis));
    as_json_kv_u64(w, "session1_n", t->n[0]);
    as_json_kv_u64(w, "session2_n", t->n[1]);
    as_json_kv_f64(w, "p", t->p);
    as_json_kv_f64(w, "p_corrected", t->q);
    as_json_kv_f64(w, "session1_median_ns", t->median_ns[0]);
    as_json_kv_f64(w, "session2_median_ns", t->median_ns[1]);
    as_json_kv_f64(w, "median_factor", t->factor);
    as_json_kv_f64(w, "shift_ns", t->shift_ns);
    as_json_kv_f64(w, "shift_ci95_low_ns", t->shift_low_ns);
    as_json_kv_f64(w, "shift_ci95_high_ns", t->shift_high_ns);
    as_json_kv_f64(w, "shift_share", t->relative);
    as_json_kv_f64(w, "inflation", t->inflation);
    as_json_object_end(w);
}

static void put_side(struct as_json_writer *w, const char *key, const struct as_diff_row *row,
                     int k)
{
    as_json_key(w, key);
    if (!row->in[k]) {
        as_json_null(w);
        return;
    }
    as_json_object(w);
    as_json_kv_u64(w, "calls", row->calls[k]);
    as_json_kv_f64(w, "total_ns", row->total_ns[k]);
    as_json_kv_f64(w, "self_ns", row->self_ns[k]);
    as_json_kv_f64(w, "mean_ns", row->mean_ns[k]);
    as_json_kv_f64(w, "compared_ns", row->time_ns[k]);
    as_json_object_end(w);
}

static void put_row(struct as_json_writer *w, const struct as_diff_row *row)
{
    as_json_object(w);
    as_json_kv_text(w, "layer", row->name);
    as_json_kv_text(w, "verdict", as_diff_verdict_name(row->verdict));
    as_json_kv_text(w, "compared_time", row->whole ? "inclusive" : "self");
    put_side(w, "session1", row, 0);
    put_side(w, "session2", row, 1);
    as_json_kv_f64(w, "change_ns", row->change_ns);
    as_json_kv_f64(w, "change_percent", 100 * row->change);
    as_json_kv_f64(w, "share_of_changes", row->change_share);
    as_diff_test_json(w, &row->test);
    as_json_object_end(w);
}

int as_diff_json(const struct as_diff_report *report, struct as_out *out, struct assay_error *err)
{
    const struct as_diff *d = report->diff;
    size_t n = report->top && report->top < d->n_rows ? report->top : d->n_rows;
    struct as_json_writer w;

    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.diff");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_text(&w, "session1", d->side[0]->name);
    as_json_kv_text(&w, "session2", d->side[1]->name);
    as_json_kv_text(&w, "session1_broken", report->broken[0]);
    as_json_kv_text(&w, "session2_broken", report->broken[1]);
    as_json_kv_text(&w, "session1_unsteady", report->unsteady[0]);
    as_json_kv_text(&w, "session2_unsteady", report->unsteady[1]);
    put_improvements(&w, d);
    as_json_kv_text(&w, "verdict",
                    isnan(d->slower_percent) ? NULL : as_diff_verdict_name(d->verdict));
    as_json_kv_f64(&w, "slower_percent", d->slower_percent);
    as_json_kv_bool(&w, "within_this_pair_of_runs", d->whole.basis == AS_DIFF_NONE);
    as_diff_test_json(&w, &d->whole);
    as_json_kv_f64(&w, "threshold_percent", 100 * d->options.threshold);
    as_json_kv_f64(&w, "significance_level", d->options.level);
    as_json_kv_text(&w, "compared", d->per_iteration ? "iteration" : "run");
    as_json_kv_u64(&w, "n_layers", d->n_rows);
    as_json_kv_u64(&w, "n_common", d->n_common);
    as_json_kv_u64(&w, "n_tested", d->n_tested);
    as_json_kv_u64(&w, "n_tested_by_calls", d->n_calls_tested);
    as_json_kv_array(&w, "layers");
    for (size_t i = 0; i < n; i++)
        put_row(&w, &d->row[i]);
    as_json_array_end(&w);
    if (report->program)
        as_program_diff_json(&w, report->program, report->top);
    as_json_object_end(&w);
    return as_json_writer_finish(&w, err);
}
