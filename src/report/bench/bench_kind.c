/* report/bench/bench_kind.c - the run of `assay bench`: from what was measured to a run, and from a
 * run to its page and JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/json_parser.h"
#include "base/text/redact.h"
#include "base/units.h"
#include "report/bench/bench_report.h"
#include "report/run/show.h"

enum { MAX_SETTINGS = 1u << 16, MAX_SAMPLES = 1u << 24 };

static const struct as_json_field limit_fields[] = {
    AS_FIELD(struct as_bench_limits, max_coherence_loss),
    AS_FIELD(struct as_bench_limits, min_accuracy),
    AS_FIELD(struct as_bench_limits, min_kv_reduction),
    AS_FIELD(struct as_bench_limits, min_energy_reduction),
    AS_FIELD(struct as_bench_limits, max_p95_change),
    AS_FIELD(struct as_bench_limits, energy_is_assumed),
};
static const struct as_json_shape limit_shape = AS_SHAPE(struct as_bench_limits, limit_fields);

static const struct as_json_field fact_fields[] = {
    AS_FIELD(struct as_bench_facts, kind),
    AS_FIELD(struct as_bench_facts, title),
    AS_FIELD(struct as_bench_facts, experiment_hash),
    AS_FIELD_HELP(struct as_bench_facts, fingerprint, NULL, "the whole result as JSON"),
    AS_FIELD(struct as_bench_facts, energy_source),
    AS_FIELD(struct as_bench_facts, energy_why),
    AS_FIELD(struct as_bench_facts, witness_note),
    AS_FIELD(struct as_bench_facts, runs_kernels),
    AS_FIELD(struct as_bench_facts, has_grid),
    AS_FIELD(struct as_bench_facts, has_hashes),
    AS_FIELD_LATER(struct as_bench_facts, is_named),
    AS_FIELD(struct as_bench_facts, has_shell),
    AS_FIELD(struct as_bench_facts, n_samples),
    AS_FIELD(struct as_bench_facts, baseline),
    AS_FIELD_OBJECT(struct as_bench_facts, limits, &limit_shape),
};
static const struct as_json_shape fact_shape = AS_SHAPE(struct as_bench_facts, fact_fields);

/* A setting without its samples. */
struct setting_row {
    char name[AS_GRID_NAME];
    double lambda, tau, items;
    bool failed;
    char why[sizeof((struct as_bench_setting *)0)->why];
    char config_hash[65];
    enum as_verdict witness;
};

static const struct as_json_field setting_fields[] = {
    AS_FIELD(struct setting_row, name),
    AS_FIELD(struct setting_row, lambda),
    AS_FIELD(struct setting_row, tau),
    AS_FIELD(struct setting_row, items),
    AS_FIELD(struct setting_row, failed),
    AS_FIELD(struct setting_row, why),
    AS_FIELD(struct setting_row, config_hash),
    AS_FIELD_ENUM(struct setting_row, witness, AS_VERDICT_MISSED + 1),
};
static const struct as_json_shape setting_shape = AS_SHAPE(struct setting_row, setting_fields);

/* ---- writing ---- */

static void put_setting(struct as_run_maker *maker, const struct as_bench_data *data, size_t i)
{
    const struct as_bench_setting *s = &data->bench->settings[i];
    struct setting_row row = {.lambda = s->lambda,
                              .tau = s->tau,
                              .items = s->items,
                              .failed = s->failed,
                              .witness = data->verdicts ? data->verdicts[i] : AS_VERDICT_UNKNOWN};

    memcpy(row.name, s->name, sizeof row.name);
    memcpy(row.why, s->why, sizeof row.why);
    if (data->config_hashes)
        memcpy(row.config_hash, data->config_hashes[i], sizeof row.config_hash);
    as_run_maker_rows(maker, "settings", &setting_shape, &row, 1);
}

void as_bench_put(struct as_run_maker *maker, const struct as_bench_data *data)
{
    const struct as_bench *bench = data->bench;
    struct as_bench_facts facts = data->facts;

    facts.kind = bench->kind;
    facts.n_samples = bench->n_samples;
    facts.baseline = bench->baseline;
    facts.has_grid = data->grid != NULL;
    facts.has_hashes = data->config_hashes != NULL;
    as_run_maker_put(maker, "topology", &as_topology_shape, data->topology);
    as_run_maker_put(maker, "bench", &fact_shape, &facts);
    if (data->grid)
        as_run_maker_put(maker, "grid", &as_grid_shape, data->grid);
    for (size_t i = 0; i < bench->n_settings; i++)
        put_setting(maker, data, i);
    for (size_t i = 0; i < bench->n_settings; i++)
        if (bench->settings[i].n)
            as_run_maker_rows(maker, "samples", &as_bench_sample_shape, bench->settings[i].samples,
                              bench->settings[i].n);
}

/* ---- reading ---- */

/* It becomes part of a document: nothing but one value of JSON may stand there. */
static bool is_json(const char *text)
{
    struct as_json_parser p;
    int kind;

    as_json_parser_init(&p, text, strlen(text));
    while ((kind = as_json_next(&p, NULL)) > 0 && kind != AS_JSON_END)
        continue;
    as_json_parser_fini(&p);
    return kind == AS_JSON_END;
}

static int read_settings(struct as_bench_view *v, struct as_run *run,
                         const struct setting_row *rows, size_t n, struct assay_error *err)
{
    struct as_bench_sample *samples;
    size_t n_samples;
    int rc = as_bench_init(&v->bench, v->facts.kind, n, err);

    v->bench.baseline = (size_t)v->facts.baseline;
    v->bench.n_samples = v->facts.n_samples;
    for (size_t i = 0; rc == ASSAY_OK && i < n; i++) {
        struct as_bench_setting *s = &v->bench.settings[i];

        memcpy(s->name, rows[i].name, sizeof s->name);
        memcpy(s->why, rows[i].why, sizeof s->why);
        s->lambda = rows[i].lambda;
        s->tau = rows[i].tau;
        s->items = rows[i].items;
        s->failed = rows[i].failed;
    }
    if (rc == ASSAY_OK)
        rc = as_run_get_rows(run, "samples", &as_bench_sample_shape, MAX_SAMPLES, &samples,
                             &n_samples, err);
    for (size_t i = 0; rc == ASSAY_OK && i < n_samples; i++)
        rc = as_bench_keep(&v->bench, &samples[i], NULL, err);
    return rc;
}

/* Hashes and verdicts beside the settings, in the run's memory. */
static int read_beside(struct as_bench_view *v, struct as_run *run, const struct setting_row *rows,
                       size_t n, struct assay_error *err)
{
    char(*hashes)[65] = as_arena_zero(&run->arena, n, sizeof *hashes);
    enum as_verdict *verdicts = as_arena_zero(&run->arena, n, sizeof *verdicts);

    if (!hashes || !verdicts)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        memcpy(hashes[i], rows[i].config_hash, sizeof *hashes);
        verdicts[i] = rows[i].witness;
    }
    if (v->facts.has_hashes)
        v->report.config_hashes = (const char(*)[65])hashes;
    return as_bench_result_new(&v->result, &v->bench, &v->facts.limits, verdicts, err);
}

int as_bench_samples_read(struct as_bench_view *v, struct as_run *run, struct assay_error *err)
{
    struct setting_row *rows = NULL;
    size_t n = 0;
    int rc;

    *v = (struct as_bench_view){.result = NULL};
    rc = as_run_get(run, "bench", &fact_shape, &v->facts, err);
    if (rc == ASSAY_OK)
        rc = as_run_get_rows(run, "settings", &setting_shape, MAX_SETTINGS, &rows, &n, err);
    if (rc == ASSAY_OK && (!v->facts.kind || v->facts.baseline >= n))
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%s: its settings are inconsistent", run->path);
    return rc == ASSAY_OK ? read_settings(v, run, rows, n, err) : rc;
}

static uint64_t less(uint64_t value, double by, uint64_t least)
{
    if (value == AS_BENCH_UNKNOWN || !(by > 0))
        return value;
    return (double)value > by + (double)least ? value - (uint64_t)by : least;
}

/* Takes the setting that only starts the shell out of the view, and its cost out of the others. A
 * ratio needs a time above 0: no sample becomes less than a hundredth of what is subtracted. */
static int take_shell(struct as_bench_view *v, struct assay_error *err)
{
    struct as_bench_setting *alone = &v->bench.settings[v->bench.n_settings - 1];
    struct as_bench only = {.kind = v->bench.kind,
                            .settings = alone,
                            .n_settings = 1,
                            .baseline = SIZE_MAX,
                            .n_samples = v->bench.n_samples};
    struct as_bench_result *result = NULL;
    int rc = as_bench_result_new(&result, &only, NULL, NULL, err);

    if (rc < 0)
        return rc;
    v->shell = (struct as_bench_shell){.median_ns = result->rows[0].median_ns,
                                       .user_ns = result->rows[0].user_mean_ns,
                                       .system_ns = result->rows[0].system_mean_ns};
    as_bench_result_free(result);
    as_free(alone->samples);
    v->bench.n_settings--;
    if (!isfinite(v->shell.median_ns.value)) /* interrupted before it was measured */
        return ASSAY_OK;
    for (size_t i = 0; i < v->bench.n_settings; i++)
        for (size_t k = 0; k < v->bench.settings[i].n; k++) {
            struct as_bench_sample *s = &v->bench.settings[i].samples[k];
            double cost = v->shell.median_ns.value;

            s->wall_ns = less(s->wall_ns, cost, (uint64_t)(cost / 100) + 1);
            s->user_ns = less(s->user_ns, v->shell.user_ns, 0);
            s->system_ns = less(s->system_ns, v->shell.system_ns, 0);
            s->kernel_ns = less(s->kernel_ns, v->shell.user_ns + v->shell.system_ns, 0);
        }
    return ASSAY_OK;
}

/* A time that is hardly above what was subtracted is noise: unknown. */
static void forget_times(struct as_bench_row *row)
{
    const struct as_bench_estimate none = {AS_UNKNOWN, AS_UNKNOWN, AS_UNKNOWN, 0};

    row->median_ns = row->item_ns = none;
    row->wall.mean = row->wall.median = row->wall.min = row->wall.max = AS_UNKNOWN;
    row->wall.sum = row->wall.std_population = row->wall.std_sample = AS_UNKNOWN;
    row->wall.mad = row->wall.cv = AS_UNKNOWN;
    for (size_t i = 0; i < AS_COUNT_OF(row->wall.percentile); i++)
        row->wall.percentile[i] = AS_UNKNOWN;
    row->p95_change = AS_UNKNOWN;
}

/* Where the subtraction leaves mostly noise, nothing is compared. */
static void judge_near_shell(struct as_bench_view *v)
{
    const struct as_bench_estimate *shell = &v->shell.median_ns;
    const struct as_bench_estimate none = {AS_UNKNOWN, AS_UNKNOWN, AS_UNKNOWN, 0};
    double noise = isfinite(shell->high) ? shell->high - shell->value : shell->value;
    struct as_bench_row *rows = v->result->rows;

    if (!isfinite(shell->value))
        return;
    for (size_t i = 0; i < v->bench.n_settings; i++) {
        const struct as_bench_estimate *e = &rows[i].median_ns;

        rows[i].near_shell = rows[i].wall.n && !((isfinite(e->low) ? e->low : e->value) > noise);
    }
    for (size_t i = 0; i < v->bench.n_settings; i++)
        if (rows[i].near_shell)
            forget_times(&rows[i]);
    for (size_t i = 0; i < v->bench.n_settings; i++)
        if (rows[i].near_shell || rows[v->bench.baseline].near_shell) {
            rows[i].time_ratio = rows[i].latency_reduction = none;
            rows[i].p = rows[i].samples_for_10 = AS_UNKNOWN;
        }
}

static bool is_sound(const struct as_bench_view *v, size_t n_settings)
{
    const struct as_bench_facts *f = &v->facts;

    return f->kind && (!f->has_shell || (n_settings > 1 && f->baseline + 1 < n_settings)) &&
           f->title && f->experiment_hash && f->baseline < n_settings &&
           (!f->fingerprint || is_json(f->fingerprint)) &&
           (!f->has_grid || as_grid_is_sound(&v->grid, n_settings));
}

static bool is_named(const struct as_bench *bench, size_t but, const char *name)
{
    for (size_t i = 0; i < bench->n_settings; i++)
        if (i != but && strcmp(bench->settings[i].name, name) == 0)
            return true;
    return false;
}

/* Programs without their arguments, and the number of the setting where two become the same. What a
 * command printed when it failed may hold its arguments too, and so does the plan among the facts.
 */
static void redact(struct as_bench_view *v)
{
    bool commands = strncmp(v->facts.kind, "command", 7) == 0;

    if (!commands)
        return;
    as_redact_command(v->title, sizeof v->title, v->facts.title);
    if (v->facts.has_grid)
        v->facts.title = v->title;
    v->facts.fingerprint = NULL;
    for (size_t i = 0; i < v->bench.n_settings; i++) {
        struct as_bench_setting *s = &v->bench.settings[i];
        char name[AS_GRID_NAME];

        if (s->failed)
            (void)snprintf(s->why, sizeof s->why, "it failed; why is %s", AS_REDACTED);
        if (v->facts.has_grid || v->facts.is_named)
            continue;
        as_redact_command(name, sizeof name, s->name);
        if (is_named(&v->bench, i, name))
            (void)snprintf(s->name, sizeof s->name, "%zu. %.150s", i + 1, name);
        else
            memcpy(s->name, name, sizeof s->name);
    }
}

static void fill_report(struct as_bench_view *v)
{
    const struct as_bench_facts *f = &v->facts;

    v->report.result = v->result;
    v->report.grid = f->has_grid ? &v->grid : NULL;
    v->report.title = f->title;
    v->report.experiment_hash = f->experiment_hash;
    v->report.energy_source = f->energy_source;
    v->report.fingerprint = f->fingerprint;
    v->report.energy_why = f->energy_why;
    v->report.isa = f->runs_kernels ? &v->topology.isa : NULL;
    v->report.witness_note = f->witness_note;
    v->report.shell = f->has_shell ? &v->shell : NULL;
}

int as_bench_view_init(struct as_bench_view *v, struct as_run *run, struct assay_error *err)
{
    struct setting_row *rows = NULL;
    size_t n = 0;
    int rc;

    *v = (struct as_bench_view){.result = NULL};
    rc = as_run_get(run, "topology", &as_topology_shape, &v->topology, err);
    if (rc == ASSAY_OK)
        rc = as_run_get(run, "bench", &fact_shape, &v->facts, err);
    if (rc == ASSAY_OK && v->facts.has_grid)
        rc = as_run_get(run, "grid", &as_grid_shape, &v->grid, err);
    if (rc == ASSAY_OK)
        rc = as_run_get_rows(run, "settings", &setting_shape, MAX_SETTINGS, &rows, &n, err);
    if (rc == ASSAY_OK && !is_sound(v, n))
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%s: its settings are inconsistent", run->path);
    if (rc == ASSAY_OK)
        rc = read_settings(v, run, rows, n, err);
    if (rc == ASSAY_OK && run->redacted)
        redact(v);
    if (rc == ASSAY_OK && v->facts.has_shell)
        rc = take_shell(v, err);
    if (rc == ASSAY_OK)
        rc = read_beside(v, run, rows, n, err);
    if (rc == ASSAY_OK && v->facts.has_shell)
        judge_near_shell(v);
    if (rc == ASSAY_OK)
        fill_report(v);
    return rc;
}

void as_bench_view_fini(struct as_bench_view *view)
{
    as_bench_result_free(view->result);
    as_bench_fini(&view->bench);
}

/* ---- showing ---- */

/* Not met when no setting meets the criteria, or when one failed. */
static int verdict(const struct as_bench_view *v, int rc)
{
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < v->bench.n_settings; i++)
        if (v->bench.settings[i].failed)
            return AS_SHOW_NOT_MET;
    return v->result->judged && v->result->n_met == 0 ? AS_SHOW_NOT_MET : ASSAY_OK;
}

static int page(struct as_run *run, const struct as_show *show, struct as_out *out,
                const struct as_term *term, struct assay_error *err)
{
    struct as_bench_view v;
    int rc = as_bench_view_init(&v, run, err);

    v.report.markdown = show->markdown;
    v.report.wide = show->wide;
    if (rc == ASSAY_OK)
        rc = verdict(&v, as_bench_page(&v.report, out, term, err));
    as_bench_view_fini(&v);
    return rc;
}

static int json(struct as_run *run, const struct as_show *show, struct as_json_writer *w,
                struct assay_error *err)
{
    struct as_bench_view v;
    int rc = as_bench_view_init(&v, run, err);

    (void)show;
    if (rc == ASSAY_OK) {
        as_bench_json(&v.report, w);
        rc = verdict(&v, ASSAY_OK);
    }
    as_bench_view_fini(&v);
    return rc;
}

static int csv(struct as_run *run, const struct as_show *show, const struct as_csv_target *to,
               struct assay_error *err)
{
    struct as_bench_view v;
    int rc = as_bench_view_init(&v, run, err);

    (void)show;
    if (rc == ASSAY_OK)
        rc = as_bench_csv(&v.report, to, err);
    as_bench_view_fini(&v);
    return rc;
}

/* Its samples as the comparison takes them. */
static void add_latency(struct as_metrics *to, const struct as_bench_row *row)
{
    const struct as_bench_setting *s = row->setting;
    struct as_metric *metric =
        as_metrics_add(to, "ns", row->median_ns.value, "%s: latency p50", s->name);
    double *ns = as_arena_zero(&to->arena, s->n + 1, sizeof *ns);

    to->no_memory = to->no_memory || !ns;
    for (size_t i = 0; ns && i < s->n; i++)
        if (s->samples[i].wall_ns != AS_BENCH_UNKNOWN)
            ns[metric->n_samples++] = (double)s->samples[i].wall_ns;
    metric->sample_ns = ns;
}

static int metrics(struct as_run *run, struct as_metrics *to, struct assay_error *err)
{
    struct as_bench_view v;
    int rc = as_bench_view_init(&v, run, err);

    for (size_t i = 0; rc == ASSAY_OK && i < v.bench.n_settings; i++) {
        const struct as_bench_row *row = &v.result->rows[i];
        const char *name = row->setting->name;

        if (row->setting->n == 0)
            continue;
        add_latency(to, row);
        as_metrics_add(to, "bytes", row->peak_mem_bytes, "%s: peak memory", name);
        as_metrics_add(to, "/s", 1e9 / row->item_ns.value, "%s: items", name);
        as_metrics_add(to, "J", row->energy_j.value, "%s: energy of a sample", name);
    }
    as_bench_view_fini(&v);
    return rc;
}

const struct as_run_kind as_kind_bench = {.name = "bench",
                                          .schema_version = 2,
                                          .page = page,
                                          .json = json,
                                          .csv = csv,
                                          .metrics = metrics};
