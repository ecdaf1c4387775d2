/* cmd/sweep/sweep_command.c - what `assay sweep` and `assay tune` share: options, settings, the run
 * and its page. */
#include "cmd/sweep/sweep_command.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text/text.h"
#include "base/units.h"
#include "cmd/common/interrupt.h"
#include "report/run/interrupted.h"

/* The new axis stands where it was typed among the others. */
struct as_sweep_axis *as_sweep_new_axis(struct as_sweep_command *w, enum as_sweep_kind kind,
                                        const char *name, int typed_at, struct assay_error *err)
{
    struct as_sweep_axis *axis;
    size_t at = w->options.n_axes;

    if (w->options.n_axes == AS_SWEEP_AXES) {
        as_fail(err, ASSAY_ERR_USAGE, "up to %d axes can vary at once", AS_SWEEP_AXES);
        return NULL;
    }
    for (; at > 0 && w->typed_at[at - 1] > typed_at; at--) {
        w->options.axes[at] = w->options.axes[at - 1];
        w->typed_at[at] = w->typed_at[at - 1];
    }
    w->options.n_axes++;
    w->typed_at[at] = typed_at;
    axis = &w->options.axes[at];
    *axis = (struct as_sweep_axis){.kind = kind, .name = name};
    return axis;
}

/* "1,8,32" into an axis; `option` for messages. */
static int read_numbers(struct as_sweep_axis *axis, const char *option, const char *text,
                        struct assay_error *err)
{
    for (const char *at = text;;) {
        size_t size = strcspn(at, ",");
        uint64_t value;

        if (axis->n == AS_SWEEP_VALUES)
            return as_fail(err, ASSAY_ERR_USAGE, "--%s takes at most %d numbers", option,
                           AS_SWEEP_VALUES);
        if (!as_parse_u64(at, size, &value) || value == 0 || value > INT32_MAX)
            return as_fail(err, ASSAY_ERR_USAGE,
                           "--%s is a list of whole numbers above 0 as in 1,8,32, not '%.40s'",
                           option, text);
        axis->values[axis->n++] = (int64_t)value;
        if (!at[size])
            return ASSAY_OK;
        at += size + 1;
    }
}

/* "NAME=..." split; the name lives in the arena. */
static const char *split(struct as_sweep_command *w, const char *option, const char *text,
                         const char **rest, struct assay_error *err)
{
    const char *equals = strrchr(text, '=');
    const char *name;

    if (!equals || equals == text || !equals[1]) {
        as_fail(err, ASSAY_ERR_USAGE, "--%s is NAME=VALUE,..., not '%.60s'", option, text);
        return NULL;
    }
    *rest = equals + 1;
    name = as_arena_text(&w->arena, text, (size_t)(equals - text));
    if (!name)
        as_fail_nomem(err);
    return name;
}

static int read_shapes(struct as_sweep_axis *axis, const char *text, struct assay_error *err)
{
    for (const char *at = text;;) {
        size_t size = strcspn(at, ",");
        char one[200];

        if (axis->n == AS_SWEEP_VALUES || size >= sizeof one)
            return as_fail(err, ASSAY_ERR_USAGE, "--shape takes at most %d shapes",
                           AS_SWEEP_VALUES);
        memcpy(one, at, size);
        one[size] = 0;
        if (!as_parse_dims(one, &axis->shapes[axis->n]))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "--shape is NAME=1x3x64x64,1x3x128x128, not '%.60s'", text);
        axis->values[axis->n] = 1;
        for (int i = 0; i < axis->shapes[axis->n].rank; i++)
            axis->values[axis->n] *= axis->shapes[axis->n].at[i];
        axis->n++;
        if (!at[size])
            return ASSAY_OK;
        at += size + 1;
    }
}

static int read_list(struct as_sweep_command *w, const char *option, enum as_sweep_kind kind,
                     struct assay_error *err)
{
    const char *text, *rest = NULL;
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && (text = as_opt_list_at(w->line, option, i)) != NULL; i++) {
        const char *name = split(w, option, text, &rest, err);
        struct as_sweep_axis *axis =
            name ? as_sweep_new_axis(w, kind, name, as_opt_position(w->line, option, i), err)
                 : NULL;

        if (!axis)
            return err->code;
        rc = kind == AS_SWEEP_SHAPE ? read_shapes(axis, rest, err)
                                    : read_numbers(axis, option, rest, err);
    }
    return rc;
}

/* What has one value is a setting, not an axis. */
static void settle_single(struct as_sweep_command *w)
{
    struct as_sweep_options *o = &w->options;
    size_t kept = 0;

    for (size_t i = 0; i < o->n_axes; i++) {
        struct as_sweep_axis *axis = &o->axes[i];
        size_t d = o->infer.n_dims, s = o->infer.n_inputs;

        if (axis->n > 1 || axis->kind == AS_SWEEP_KEY) {
            if (kept != i)
                o->axes[kept] = *axis;
            kept++;
        } else if (axis->kind == AS_SWEEP_BATCH) {
            o->infer.batch = axis->values[0];
        } else if (axis->kind == AS_SWEEP_THREADS) {
            o->engine.threads = (unsigned)axis->values[0];
        } else if (axis->kind == AS_SWEEP_DIM) {
            w->dims[d] = (struct as_infer_dim){axis->name, axis->values[0]};
            o->infer.n_dims++;
        } else {
            w->shapes[s] = axis->shapes[0];
            w->inputs[s] = (struct as_infer_input){.name = axis->name, .dims = &w->shapes[s]};
            o->infer.n_inputs++;
        }
    }
    o->n_axes = kept;
    o->infer.dims = w->dims;
    o->infer.inputs = w->inputs;
}

static int check_threads(const struct as_sweep_command *w, struct assay_error *err)
{
    const struct as_sweep_options *o = &w->options;
    int rc = ASSAY_OK;

    for (size_t i = 0; i < o->n_axes; i++)
        for (size_t k = 0; o->axes[i].kind == AS_SWEEP_THREADS && k < o->axes[i].n; k++)
            rc = rc < 0
                     ? rc
                     : as_topology_check_threads(&w->topology, (uint64_t)o->axes[i].values[k], err);
    return rc;
}

static int read_axes(struct as_sweep_command *w, struct assay_error *err)
{
    static const struct {
        const char *option;
        enum as_sweep_kind kind;
    } numbers[] = {{"batch", AS_SWEEP_BATCH}, {"threads", AS_SWEEP_THREADS}},
      lists[] = {{"key", AS_SWEEP_KEY}, {"dim", AS_SWEEP_DIM}, {"shape", AS_SWEEP_SHAPE}};
    int rc = as_batch_axis_read(&w->options.infer, w->line, &w->arena, err);

    for (size_t i = 0; rc == ASSAY_OK && i < 3; i++)
        rc = read_list(w, lists[i].option, lists[i].kind, err);
    for (size_t i = 0; rc == ASSAY_OK && i < 2; i++) {
        const char *text = as_opt_text(w->line, numbers[i].option);
        struct as_sweep_axis *axis =
            text ? as_sweep_new_axis(w, numbers[i].kind, numbers[i].option,
                                     as_opt_position(w->line, numbers[i].option, 0), err)
                 : NULL;

        if (text)
            rc = axis ? read_numbers(axis, numbers[i].option, text, err) : err->code;
    }
    return rc;
}

static int finish_axes(struct as_sweep_command *w, struct assay_error *err)
{
    int rc = check_threads(w, err);

    if (rc == ASSAY_OK)
        settle_single(w);
    if (rc == ASSAY_OK && w->options.n_axes == 0)
        rc = as_fail(err, ASSAY_ERR_USAGE,
                     "name what varies: --batch 1,8,32, --threads 1,2, --key, --dim or --shape");
    return rc;
}

static int read_positive(const struct as_cmd_line *line, const char *name, double scale,
                         double *out, struct assay_error *err)
{
    const char *text = as_opt_text(line, name);

    if (!text)
        return ASSAY_OK;
    if (!as_parse_f64(text, strlen(text), out) || !(*out > 0) || *out > 1e9)
        return as_fail(err, ASSAY_ERR_USAGE, "--%s is a number above 0, not '%.40s'", name, text);
    *out *= scale;
    return ASSAY_OK;
}

static int read_options(struct as_sweep_command *w, struct assay_error *err)
{
    struct as_sweep_options *o = &w->options;
    const char *memory = as_opt_text(w->line, "fit");
    uint64_t bytes = 0;
    int rc;

    o->spec = w->line->operand[0];
    o->engine.threads = as_topology_threads(&w->topology);
    o->engine.no_fuse = as_opt_given(w->line, "no-fuse");
    o->engine.reference = as_opt_word(w->line, "kernels", 0) == 1;
    o->engine.limit_bytes = w->headroom.left.why ? 0 : w->headroom.left.value;
    o->inputs.fill = (enum as_input_fill)as_opt_word(w->line, "fill", AS_INPUTS_RANDOM);
    o->inputs.seed = as_opt_number(w->line, "seed", 0);
    o->latency.runs = (unsigned)as_opt_number(w->line, "iterations", 0);
    o->latency.warmup_runs = (unsigned)as_opt_number(w->line, "warmup", 3);
    o->latency.no_warmup = o->latency.warmup_runs == 0;
    o->latency.min_runs = 10;
    o->latency.time_s = 1;
    rc = read_positive(w->line, "time", 1, &o->latency.time_s, err);
    if (rc == ASSAY_OK)
        rc = read_positive(w->line, "max-latency", 1e6, &w->limits.max_latency_ns, err);
    if (rc == ASSAY_OK && memory && !as_parse_bytes(memory, &bytes))
        rc = as_fail(err, ASSAY_ERR_USAGE, "--fit is an amount of memory as in 512MiB, not '%.40s'",
                     memory);
    w->limits.max_memory_bytes = (double)bytes;
    return rc == ASSAY_OK ? read_axes(w, err) : rc;
}

static void tell(void *user, size_t step, size_t of)
{
    struct as_sweep_command *w = user;

    w->step = step;
    w->n_steps = of;
    if (step == 0)
        w->start_ns = as_clock_mono_ns();
}

static double left_s(const struct as_sweep_command *w)
{
    double took_s = (double)(as_clock_mono_ns() - w->start_ns) / 1e9;

    return w->step ? took_s / (double)w->step * (double)(w->n_steps - w->step) : AS_UNKNOWN;
}

static void tell_latency(void *user, const struct as_latency_progress *now)
{
    struct as_sweep_command *w = user;
    const struct as_progress_state state = {
        .what = w->step < w->n_steps / 2 ? "measuring, forward pass" : "measuring, reverse pass",
        .share = AS_UNKNOWN,
        .median_ns = now->median_ns,
        .done = (w->step < w->n_steps / 2 ? w->step : w->n_steps - 1 - w->step) + 1,
        .of = w->n_steps / 2,
        .unit = "setting",
        .left_s = left_s(w),
    };

    as_progress_put(&w->progress, &state);
}

/* Rows appear as they are finished; the table with both passes follows at the end. */
static void tell_measured(void *user, const struct as_sweep_point *point, size_t step)
{
    struct as_sweep_command *w = user;
    char text[200] = "", time[AS_TEXT_HUMAN];
    size_t used = 0;

    if (!w->progress.wanted || step >= w->n_steps / 2)
        return;
    for (size_t i = 0; i < w->options.n_axes && used < sizeof text; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s=%lld  ", w->options.axes[i].name,
                             (long long)w->options.axes[i].values[point->place[i]]);
    as_text_ns(time, point->way_ns[0], AS_TIME_AUTO);
    as_progress_end(&w->progress);
    as_console_note(w->line, "%sp50 %s  %zu iterations", text, time, point->n_samples);
}

static int show(const struct as_sweep_command *w, const struct as_show *how,
                struct assay_error *err)
{
    struct as_interrupted_fact early = {.planned = w->run->n_points, .unit = "setting"};
    struct as_run_maker maker;
    int rc = as_run_maker_open(&maker, as_show_run_path(w->line), "sweep", err);

    for (size_t i = 0; i < w->run->n_points; i++)
        early.done += w->run->points[i].n_samples > 0;

    if (rc < 0)
        return rc;
    if (as_interrupted())
        as_interrupted_put(&maker, &early);
    as_sweep_put(&maker, w->run, &w->limits, &w->topology, w->has_peaks ? &w->peaks.peaks : NULL);
    return as_show_finish(&maker, how, w->line, err);
}

int as_sweep_command(const struct as_cmd_line *line,
                     int (*choose)(struct as_sweep_command *w, struct assay_error *err),
                     struct assay_error *err)
{
    struct as_sweep_command *w = as_alloc_zero(1, sizeof *w);
    struct as_peaks_wanted wanted = {0};
    struct assay_error no_peaks = {0};
    struct as_show how;
    int rc;

    if (!w)
        return as_fail_nomem(err);
    w->line = line;
    as_run_environment();
    rc = as_show_read(&how, line, err);
    if (rc == ASSAY_OK)
        rc = as_max_isa_read(line, err);
    if (rc == ASSAY_OK)
        rc = as_topology_read(&w->topology, NULL, err);
    as_memory_headroom_read(&w->headroom, "", &w->topology.container);
    wanted.topology = &w->topology;
    if (rc == ASSAY_OK)
        rc = read_options(w, err);
    if (rc == ASSAY_OK && choose)
        rc = choose(w, err);
    if (rc == ASSAY_OK)
        rc = finish_axes(w, err);
    as_interrupt_watch();
    as_stop_watched(as_interrupt_flag());
    if (rc == ASSAY_OK && !as_opt_given(line, "no-roofline"))
        w->has_peaks = as_peaks_get(&w->peaks, &wanted, line, &no_peaks) == ASSAY_OK;
    w->progress.wanted = as_progress_wanted(line);
    w->options.progress = tell;
    w->options.measured = tell_measured;
    w->options.latency.progress = tell_latency;
    w->options.latency.progress_user = w->options.user = w;
    w->options.latency.stop = as_interrupt_flag();
    if (rc == ASSAY_OK)
        rc = as_sweep_run_new(&w->run, &w->options, err);
    as_progress_end(&w->progress);
    if (rc == ASSAY_OK)
        rc = show(w, &how, err);
    as_sweep_run_free(w->run);
    as_arena_fini(&w->arena);
    as_free(w);
    return as_interrupt_result(rc, err);
}
