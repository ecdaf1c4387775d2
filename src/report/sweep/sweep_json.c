/* report/sweep/sweep_json.c - how a model scales, as JSON (schema assay.sweep).
 * Base units in the keys; what cannot be had is null. */

#include "base/json/json_writer.h"
#include "base/units.h"
#include "report/machine/machine_report.h"
#include "report/sweep/sweep_text.h"

static void put_law(struct as_json_writer *w, const char *key, const struct as_power_law *law)
{
    as_json_kv_object(w, key);
    as_json_kv_f64(w, "exponent", law->exponent);
    as_json_kv_f64(w, "standard_error", law->error);
    as_json_kv_f64(w, "r2", law->r2);
    as_json_kv_u64(w, "points", law->n);
    as_json_object_end(w);
}

static void put_row_place(struct as_json_writer *w, const char *key, size_t row)
{
    if (row == SIZE_MAX)
        as_json_kv_null(w, key);
    else
        as_json_kv_u64(w, key, row);
}

static void put_setting(struct as_json_writer *w, const struct as_sweep *s,
                        const struct as_sweep_point *point)
{
    const struct as_sweep_options *o = s->run->options;

    as_json_kv_object(w, "setting");
    for (size_t i = 0; i < o->n_axes; i++) {
        const struct as_sweep_axis *axis = &o->axes[i];

        as_json_key(w, axis->name);
        if (axis->kind != AS_SWEEP_SHAPE) {
            as_json_i64(w, axis->values[point->place[i]]);
            continue;
        }
        as_json_array(w);
        for (int d = 0; d < axis->shapes[point->place[i]].rank; d++)
            as_json_i64(w, axis->shapes[point->place[i]].at[d]);
        as_json_array_end(w);
    }
    as_json_object_end(w);
}

static void put_row(struct as_json_writer *w, const struct as_sweep *s,
                    const struct as_sweep_row *row)
{
    const struct as_sweep_point *point = row->point;
    const struct as_latency_metrics *f = &point->figures;
    bool right = point->rc == ASSAY_OK;
    double no = AS_UNKNOWN;

    as_json_object(w);
    put_setting(w, s, point);
    as_json_kv_text(w, "error", right ? NULL : point->err.msg);
    AS_JSON_FIELDS(w, point, threads, batch, parameters, macs, flops);
    as_json_kv_f64(w, "latency_ms", right ? f->summary.median * 1e-6 : no);
    as_json_kv_f64(w, "median_ns", right ? f->summary.median : no);
    as_json_kv_f64(w, "ci95_low_ns",
                   right && f->median.interval.reached ? f->median.interval.low : no);
    as_json_kv_f64(w, "ci95_high_ns",
                   right && f->median.interval.reached ? f->median.interval.high : no);
    as_json_kv_u64(w, "runs", point->n_samples);
    as_json_kv_f64(w, "samples_per_second", row->samples_per_second);
    as_json_kv_f64(w, "memory_mb", row->memory_mb);
    as_json_kv_u64(w, "peak_bytes", point->peak_bytes);
    as_json_kv_u64(w, "activation_bytes", point->activation_bytes);
    as_json_kv_f64(w, "samples_per_second_per_mb", row->samples_per_second_mb);
    as_json_kv_f64(w, "gflops_per_second", row->gflops_per_second);
    as_json_kv_f64(w, "speedup", row->speedup);
    as_json_kv_f64(w, "drift_share", row->drift);
    as_json_kv_text(w, "bound", as_bound_name(row->roof.bound));
    as_json_kv_f64(w, "roof_fraction",
                   row->roof.bound == AS_BOUND_UNKNOWN ? no : row->roof.roof_fraction);
    as_json_object_end(w);
}

void as_sweep_json(const struct as_sweep_report *report, struct as_json_writer *w)
{
    const struct as_sweep *s = report->sweep;

    as_json_kv_text(w, "model", report->model);
    as_isa_json(w, &report->isa);
    as_json_kv_array(w, "rows");
    for (size_t r = 0; r < s->n_rows; r++)
        put_row(w, s, &s->rows[r]);
    as_json_array_end(w);
    as_json_kv_object(w, "scaling");
    as_json_kv_text(w, "axis", s->run->options->axes[0].name);
    put_law(w, "latency", &s->latency);
    put_law(w, "flops", &s->work);
    put_law(w, "memory", &s->memory);
    put_law(w, "throughput", &s->throughput);
    as_json_kv_f64(w, "memory_growth", s->memory_growth);
    as_json_kv_f64(w, "compute_growth", s->compute_growth);
    as_json_object_end(w);
    put_row_place(w, "knee_row", s->knee);
    put_row_place(w, "best_row", s->best);
    put_row_place(w, "fastest_row", s->fastest);
    as_json_kv_f64(w, "max_latency_ns", s->max_latency_ns);
    as_json_kv_f64(w, "max_memory_bytes", s->max_memory_bytes);
    as_json_kv_text(w, "verdict", as_bound_name(s->verdict));
    as_json_kv_text(w, "advice", s->advice);
}
