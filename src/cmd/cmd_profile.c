/* cmd/cmd_profile.c - all of `assay profile`: runs a model and shows where time and memory go.
 * Numbers go to standard output, talk and progress to standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/session.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file/new_file.h"
#include "base/text/text.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/cached_peaks.h"
#include "cmd/common/console.h"
#include "cmd/common/each_model.h"
#include "cmd/common/history_file.h"
#include "cmd/common/interrupt.h"
#include "cmd/common/measure_options.h"
#include "cmd/common/model_options.h"
#include "cmd/common/show_options.h"
#include "cmd/profile/output_options.h"
#include "format/model_file.h"
#include "measure/latency/profile_data.h"
#include "measure/tokens/decode_profile.h"
#include "report/export/export.h"
#include "report/profile/profile_report.h"
#include "report/run/interrupted.h"
#include "trace/run/run_path.h"

static const struct as_opt profile_opts[] = {
    AS_OPTS_MODEL,
    AS_OPTS_RUN,
    {.name = "loop",
     .group = AS_GROUP_INPUT,
     .kind = AS_OPT_LIST,
     .argument = "OUTPUT=INPUT",
     .help = "feed an output into an input of the next inference; repeatable"},
    {.name = "prompt",
     .group = AS_GROUP_INPUT,
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "tokens of the prompt when a text model is run token by token [default: 16]",
     .min = 1,
     .max = 1000000},
    {.name = "tokens",
     .group = AS_GROUP_INPUT,
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "decode N tokens one by one after the prompt, or N pieces of a stream [default: 32]",
     .min = 1,
     .max = 100000},
    AS_OPTS_OUTPUTS,
    {.name = "no-roofline",
     .group = AS_GROUP_MEASURE,
     .kind = AS_OPT_FLAG,
     .help = "do not measure the machine's peaks"},
    {.name = "no-history",
     .group = AS_GROUP_MEASURE,
     .kind = AS_OPT_FLAG,
     .help = "neither use nor keep results of earlier profiles of this model"},
    {.name = "section",
     .group = AS_GROUP_VIEW,
     .letter = 's',
     .kind = AS_OPT_WORDS,
     .argument = "NAME,...",
     .help = "show these parts only",
     .word_at = as_profile_section_at},
    AS_OPT_TOP,
    {.name = "sort",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_WORD,
     .argument = "KEY",
     .help = "order the layers by KEY [default: time]",
     .word_at = as_profile_sort_at},
    {.name = "scope-depth",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "sum up by the first N parts of a name [default: all but the last part]",
     .min = 1,
     .max = 64},
    AS_OPT_WIDE,
    AS_OPTS_LIMITS("3600"),
    AS_OPT_SANDBOX,
    AS_OPTS_FORMAT(as_format_at),
    AS_OPTS_EXPORT,
    {.name = "roofline",
     .group = AS_GROUP_OUTPUT,
     .kind = AS_OPT_FILE,
     .argument = "FILE.svg",
     .help = "draw the layers under the measured roofline"},
    {.name = "trace",
     .group = AS_GROUP_OUTPUT,
     .kind = AS_OPT_FILE,
     .argument = "FILE",
     .help = "write the profiled inferences as a Chrome trace"},
    {.name = NULL},
};

/* Everything one run of the command holds. */
struct work {
    const struct as_cmd_line *line;
    struct as_show show;
    struct as_progress progress;
    struct as_topology topology;
    struct as_system_load load;
    struct as_memory_headroom headroom;
    struct as_earlier_runs earlier;
    struct as_peaks_cached peaks;
    bool has_peaks;
    struct assay_error no_peaks;
    struct as_model *model;
    struct as_model_options given;
    struct as_run_options run_options;
    struct as_profile_options options;
    struct as_state_pairs pairs;
    struct as_profile_run *run;
    struct as_thread_trial trial; /* of fewer threads; of `auto` the one that was chosen by */
    char fixed_why[sizeof((struct assay_error *)0)->msg]; /* "": another batch can be run */
    struct as_token_run tokens;
    bool has_tokens;
    struct assay_error no_tokens;
    struct as_kept_outputs outputs;
    struct as_profile_data data, decode_data;
    struct as_model *decode_model;
    struct as_decode_profile decode;
    struct as_run *saved;        /* the run as anybody will read it */
    const char *record;          /* where inferences are recorded; NULL: nowhere */
    struct as_run_before before; /* what stood there */
    struct as_temporary *folder; /* of a run made only for its trace */
    char temporary[AS_TEMPORARY_PATH + 16];
    struct as_arena arena; /* of the data and the command line */
};

/* `-o NAME.assay` records a run; any other name takes the page. */
static int read_outputs(struct work *w, struct assay_error *err)
{
    w->record = as_show_run_path(w->line);
    if (!w->record && as_opt_given(w->line, "trace")) {
        /* A folder of our own: in one that others write to, a name could be taken from us. */
        char folder[AS_TEMPORARY_PATH];
        int rc = as_temporary_folder_make(&w->folder, folder, err);

        if (rc < 0)
            return rc;
        (void)snprintf(w->temporary, sizeof w->temporary, "%s/run.assay", folder);
        w->record = w->temporary;
    }
    if (w->record)
        as_run_path_note(&w->before, w->record);
    return ASSAY_OK;
}

/* States that go from run to run: those the user names, and those that names give away. */
static int read_loops(struct work *w, struct assay_error *err)
{
    const char *texts[AS_CMD_MAX_LIST];
    size_t n = 0;
    int rc;

    while (n < AS_CMD_MAX_LIST && (texts[n] = as_opt_list_at(w->line, "loop", n)) != NULL)
        n++;
    rc = as_state_pairs_find(&w->pairs, w->model, texts, n, err);
    w->options.engine.loops = w->pairs.loops;
    w->options.engine.n_loops = w->pairs.n_loops;
    return rc;
}

static void tell(void *user, enum as_profile_phase phase, const struct as_latency_progress *now)
{
    struct work *w = user;
    const struct as_progress_state state = {
        .what = as_profile_phase_text(phase),
        .share = phase == AS_PHASE_PROFILING ? now->share : AS_UNKNOWN,
        .median_ns = now->median_ns,
        .done = now->calls,
        .unit = phase == AS_PHASE_TIMING ? "iteration" : NULL,
        .left_s = now->left_s,
    };

    as_progress_put(&w->progress, &state);
}

static int open_model(struct work *w, struct assay_error *err)
{
    uint64_t from = as_clock_mono_ns();
    int rc = as_model_open(&w->model, w->line->operand[0], err);

    w->options.load_ns = as_clock_mono_ns() - from;
    if (rc == ASSAY_OK)
        rc = as_model_options_read(&w->given, w->line, w->model, err);
    if (rc == ASSAY_OK)
        rc = as_run_options_read(&w->run_options, w->line, &w->topology, &w->headroom, err);
    if (rc < 0)
        return rc;
    w->options.engine = w->run_options.engine;
    w->options.engine.infer = w->given.infer;
    w->options.inputs = w->run_options.inputs;
    w->options.latency = w->run_options.latency;
    w->options.latency.stop = as_interrupt_flag();
    w->options.record = w->record;
    w->options.reset_peak_rss = true;
    w->options.memory_may_fail = true;
    w->options.progress = tell;
    w->options.user = w;
    rc = read_loops(w, err);
    return rc < 0
               ? rc
               : as_kept_outputs_open(&w->outputs, w->line, w->model, &w->options, &w->arena, err);
}

/* How much runs of this model differ here: no single one can tell. */
static void find_earlier(struct work *w)
{
    if (as_opt_given(w->line, "no-history"))
        return;
    as_earlier_runs_find(&w->earlier, w->line, &w->topology, w->options.engine.threads);
    w->options.latency.n_earlier = w->earlier.history.n;
    w->options.latency.earlier_spread = as_run_history_spread(&w->earlier.history);
    w->options.latency.earlier_median_ns = as_run_history_median(&w->earlier.history);
    w->options.latency.earlier_degrees = as_run_history_degrees(&w->earlier.history);
}

/* Peaks that cannot be had leave the roofline unknown, and the rest as it is. */
static void find_peaks(struct work *w)
{
    struct as_peaks_wanted wanted = {.topology = &w->topology};

    if (as_opt_given(w->line, "no-roofline")) {
        (void)as_fail(&w->no_peaks, ASSAY_ERR_STATE, "it was not asked for");
        return;
    }
    w->has_peaks = as_peaks_get(&w->peaks, &wanted, w->line, &w->no_peaks) == ASSAY_OK;
}

/* What stands against the metrics, before anybody waits for them. */
static void warn(const struct work *w)
{
    struct as_fitness fitness;

    if (as_interrupted())
        return;
    as_fitness_judge(&fitness, &(struct as_fitness_facts){
                                   .topology = &w->topology,
                                   .load = &w->load,
                                   .headroom = &w->headroom,
                                   .peaks = w->has_peaks ? &w->peaks.peaks : NULL,
                               });
    for (size_t i = 0; i < fitness.n; i++)
        if (fitness.findings[i].severity >= AS_SEVERITY_WARNING)
            as_console_note(w->line, "warning: %s (%s)", fitness.findings[i].finding,
                            fitness.findings[i].evidence);
}

/* --threads auto: as many as run this model fastest. */
static int choose_threads(struct work *w, struct assay_error *err)
{
    unsigned most = w->options.engine.threads;
    int rc;

    if (!w->run_options.threads_auto || as_interrupted())
        return ASSAY_OK;
    as_progress_show(&w->progress, "trying numbers of threads", AS_UNKNOWN);
    rc = as_thread_trial_best(&w->trial, w->line->operand[0], &w->options, most, err);
    as_progress_end(&w->progress);
    if (rc == ASSAY_OK)
        w->options.engine.threads = w->trial.threads;
    return rc;
}

/* What recommendations want to know and the measurement alone does not show: whether one thread is
 * faster where layers are short, and whether the model can be run with another batch. */
static int try_settings(struct work *w, struct assay_error *err)
{
    struct as_infer_options infer = w->options.engine.infer;
    unsigned threads = as_thread_trial_wanted(w->run, as_topology_threads(&w->topology));
    struct as_model *model = NULL;
    struct assay_error why = {0};
    int rc = ASSAY_OK;

    if (as_interrupted())
        return ASSAY_OK;
    if (!w->run_options.threads_auto && threads > 0)
        rc = as_thread_trial_run(&w->trial, w->line->operand[0], &w->options, threads,
                                 w->options.engine.threads, err);
    /* Shapes that the user gives fix the batch, whatever the file does. */
    if (rc < 0 || w->data.model.batch_why || infer.n_inputs > 0 || infer.n_dims > 0 ||
        w->options.inputs.n_files > 0)
        return rc;
    infer.batch = (int64_t)(2 * w->data.model.batch);
    if (as_model_open(&model, w->line->operand[0], &why) < 0 ||
        as_infer_shapes(model, &infer, NULL, &why) < 0)
        (void)snprintf(w->fixed_why, sizeof w->fixed_why, "%s", why.msg);
    as_model_free(model);
    return rc;
}

static int measure(struct work *w, struct assay_error *err)
{
    int rc;

    if (as_interrupted())
        return as_fail(err, ASSAY_ERR_STATE, AS_STOPPED_BEFORE_FIRST);
    w->progress.wanted = as_progress_wanted(w->line);
    rc = choose_threads(w, err);
    if (rc < 0)
        return rc;
    find_earlier(w);
    rc = as_profile_run_new(&w->run, w->model, &w->options, err);
    as_progress_end(&w->progress);
    if (rc < 0)
        return rc;
    if (!as_opt_given(w->line, "no-history") && !as_interrupted())
        as_earlier_runs_add(&w->earlier, w->run->latency.figures.summary.median);
    rc = as_kept_outputs_run(&w->outputs, w->line, &w->progress, w->run, err);
    if (rc == ASSAY_OK)
        rc = as_profile_data_init(&w->data, w->run, w->model, &w->arena, err);
    return rc < 0 ? rc : try_settings(w, err);
}

/* A text model or one with a state, as it is used: in a model of its own, since shapes grow. */
static int run_tokens(struct work *w, struct assay_error *err)
{
    struct as_token_options options = {.engine = w->options.engine,
                                       .batch = w->given.infer.batch,
                                       .prompt = (int64_t)as_opt_number(w->line, "prompt", 0),
                                       .tokens = (int64_t)as_opt_number(w->line, "tokens", 0),
                                       .seed = w->options.inputs.seed,
                                       .repeats = 3};
    struct as_state_pairs pairs = {0};
    struct as_model *model = NULL;
    bool asked = as_opt_given(w->line, "tokens") || as_opt_given(w->line, "prompt");
    int rc;

    if (w->pairs.n == 0 && !asked)
        return ASSAY_OK;
    if (as_interrupted()) {
        (void)as_fail(&w->no_tokens, ASSAY_ERR_STATE, "the measurement was interrupted");
        return ASSAY_OK;
    }
    as_progress_show(&w->progress, "measuring token by token", AS_UNKNOWN);
    rc = as_model_open(&model, w->line->operand[0], err);
    if (rc == ASSAY_OK)
        rc = as_state_pairs_find(&pairs, model, NULL, 0, err);
    options.pairs = &pairs;
    if (rc == ASSAY_OK)
        rc = as_token_run(&w->tokens, model, &options, err);
    as_progress_end(&w->progress);
    w->has_tokens = rc == ASSAY_OK;
    if (rc == ASSAY_OK && options.prompt && w->tokens.prompt != options.prompt)
        as_console_note(w->line,
                        "note: the model fixes its prompt at %lld tokens: --prompt %lld is "
                        "not used",
                        (long long)w->tokens.prompt, (long long)options.prompt);
    /* Not asked for, what cannot be shown is a note: the profile itself is whole. */
    if (rc < 0 && !asked) {
        as_console_note(w->line, "note: not run token by token: %s", err->msg);
        w->no_tokens = *err;
        *err = (struct assay_error){0};
        rc = ASSAY_OK;
    }
    as_state_pairs_fini(&pairs);
    as_model_free(model);
    return rc;
}

/* One new token after as many others as the profile's inference took, or else after as many as were
 * run token by token. */
static int profile_decode(struct work *w, int64_t past, struct assay_error *err)
{
    struct as_profile_options o = w->options;
    struct as_token_place at = {(int64_t)w->data.model.batch, past, 1};
    double time_s = o.latency.time_s > 0 ? o.latency.time_s : AS_LATENCY_TIME_S;
    int rc = as_model_open(&w->decode_model, w->line->operand[0], err);

    o.latency.time_s = time_s / 2;
    if (rc == ASSAY_OK)
        rc = as_decode_profile_init(&w->decode, w->decode_model, &at, &o, err);
    as_progress_end(&w->progress);
    if (rc == ASSAY_OK)
        rc = as_profile_data_init(&w->decode_data, w->decode.run, w->decode_model, &w->arena, err);
    if (rc < 0)
        return rc;
    w->decode_data.model.past = (uint64_t)past;
    w->decode_data.model.tokens = w->decode_data.model.batch;
    if (w->decode_data.model.batch != w->data.model.batch)
        as_console_note(w->line,
                        "note: the file fixes its batch: decoding was profiled at batch %llu",
                        (unsigned long long)w->decode_data.model.batch);
    w->data.decode = &w->decode_data;
    return ASSAY_OK;
}

static void forget_decode(struct work *w)
{
    as_decode_profile_fini(&w->decode);
    as_model_free(w->decode_model);
    w->decode_model = NULL;
}

/* The second phase of a text model with a cache; what does not take it keeps its profile. */
static int measure_decode(struct work *w, struct assay_error *err)
{
    const struct as_token_run *t = &w->tokens;
    struct as_token_phase phase;
    int64_t walked = w->has_tokens && t->n_steps ? t->steps[t->n_steps - 1].context - 1 : 0, past;
    int rc = as_token_phase_find(&phase, w->model, &w->pairs, err);

    if (rc < 0 || !phase.has_cache || as_interrupted() || w->options.no_profile)
        return rc;
    w->data.model.past = (uint64_t)phase.past;
    w->data.model.recomputed = 0; /* earlier tokens come from the cache */
    if (phase.tokens == 1 && phase.past > 0)
        return ASSAY_OK; /* the profile is of that phase */
    past = phase.tokens > 1 ? phase.past + phase.tokens : walked;
    rc = past > 0 ? profile_decode(w, past, err) : ASSAY_OK;
    if (rc < 0 && rc != ASSAY_ERR_NOMEM && walked > 0 && walked != past) {
        forget_decode(w);
        rc = profile_decode(w, walked, err);
    }
    if (rc < 0 && rc != ASSAY_ERR_NOMEM) {
        as_console_note(w->line, "note: decoding was not profiled: %s", err->msg);
        *err = (struct assay_error){0};
        rc = ASSAY_OK;
    }
    return rc;
}

static int write_trace(const struct work *w, struct assay_error *err)
{
    const char *path = as_opt_text(w->line, "trace");
    struct as_export_options options = AS_EXPORT_OPTIONS_INIT;
    struct as_export_result result;
    struct as_out out;
    int rc;

    if (!path)
        return ASSAY_OK;
    rc = as_out_file(&out, path, err);
    if (rc < 0)
        return rc;
    rc = as_export(as_exporter_find("chrome-trace"), w->saved, &options, &out, &result, err);
    if (rc < 0)
        as_out_drop(&out);
    else
        rc = as_out_close(&out, err);
    return rc;
}

/* The values of a repeatable option. */
static int take_list(struct work *w, const char *name, const char ***list, size_t *n,
                     struct assay_error *err)
{
    *list = as_arena_zero(&w->arena, AS_CMD_MAX_LIST, sizeof **list);
    if (!*list)
        return as_fail_nomem(err);
    while (*n < AS_CMD_MAX_LIST && ((*list)[*n] = as_opt_list_at(w->line, name, *n)) != NULL)
        (*n)++;
    return ASSAY_OK;
}

/* What was asked for, in the words it was asked in. */
static int take_words(struct work *w, struct assay_error *err)
{
    struct as_profile_config *c = &w->data.config;
    int rc = take_list(w, "shape", &c->shape, &c->n_shape, err);

    rc = rc < 0 ? rc : take_list(w, "dim", &c->dim, &c->n_dim, err);
    rc = rc < 0 ? rc : take_list(w, "value", &c->value, &c->n_value, err);
    rc = rc < 0 ? rc : take_list(w, "loop", &c->loop, &c->n_loop, err);
    rc = rc < 0 ? rc : take_list(w, "input", &c->input, &c->n_input, err);
    return rc < 0 ? rc
                  : as_own_argv(&w->arena, as_opt_text(w->line, "output"), &c->command,
                                &c->n_command, err);
}

/* Makes the run of all that was measured. */
static int save(struct work *w, struct assay_error *err)
{
    struct as_profile_data *d = &w->data;
    const struct as_interrupted_fact early = {.done = w->run->latency.n * w->run->latency.batch,
                                              .unit = "iteration"};
    struct as_run_maker maker;
    int rc = take_words(w, err);

    d->topology = w->topology;
    d->load = w->load;
    d->headroom = w->headroom;
    d->has_peaks = w->has_peaks;
    d->peaks = w->peaks.peaks;
    d->why_no_peaks = w->has_peaks ? NULL : w->no_peaks.msg;
    d->trial = w->trial;
    d->model.fixed_why = w->fixed_why[0] ? w->fixed_why : NULL;
    d->has_tokens = w->has_tokens;
    d->outputs = w->outputs.done ? &w->outputs.found : NULL;
    d->tokens = w->tokens;
    d->why_no_tokens = w->no_tokens.code ? w->no_tokens.msg : NULL;
    if (rc == ASSAY_OK)
        rc = w->run->recorded ? as_run_maker_append(&maker, w->record, "profile", err)
                              : as_run_maker_open(&maker, w->record, "profile", err);
    if (rc < 0)
        return rc;
    if (as_interrupted())
        as_interrupted_put(&maker, &early);
    as_profile_data_put(d, &maker);
    return as_run_maker_finish(&maker, &w->saved, err);
}

/* One of several: its row and its document. */
static int take_row(struct as_models_row *row, const struct work *w, struct assay_error *err)
{
    int rc = ASSAY_OK;

    if (as_forms_want_json(w->line)) {
        rc = as_out_memory(&row->document, err);
        if (rc == ASSAY_OK)
            rc = as_show_json(w->saved, &w->show, &row->document, err);
    }
    return rc < 0 ? rc : as_models_take_profile(row, w->saved, err);
}

/* The first operand, printed, or into `row` when there are several. */
static int profile_one(const struct as_cmd_line *line, struct as_models_row *row,
                       struct assay_error *err)
{
    struct work *w = as_alloc_zero(1, sizeof *w);
    int rc;

    if (!w)
        return as_fail_nomem(err);
    w->line = line;
    as_run_environment();
    as_system_load_read(&w->load, "");
    rc = as_show_read(&w->show, line, err);
    if (rc == ASSAY_OK)
        rc = as_max_isa_read(line, err);
    if (rc == ASSAY_OK)
        rc = read_outputs(w, err);
    if (rc == ASSAY_OK)
        rc = as_topology_read(&w->topology, NULL, err);
    if (rc == ASSAY_OK) {
        as_memory_headroom_read(&w->headroom, "", &w->topology.container);
        rc = open_model(w, err);
    }
    if (rc == ASSAY_OK) {
        as_interrupt_watch();
        find_peaks(w);
        warn(w);
        rc = measure(w, err);
        if (rc == ASSAY_ERR_FORMAT || rc == ASSAY_ERR_UNSUPPORTED || rc == ASSAY_ERR_LIMIT)
            (void)as_fail_in_file(err, rc, line->operand[0]);
    }
    if (rc == ASSAY_OK)
        rc = run_tokens(w, err);
    if (rc == ASSAY_OK)
        rc = measure_decode(w, err);
    if (rc == ASSAY_OK)
        rc = save(w, err);
    if (rc < 0 && rc != ASSAY_ERR_STATE && w->record && !w->saved)
        as_run_path_undo(&w->before, w->record);
    if (rc == ASSAY_OK)
        rc = write_trace(w, err);
    if (rc == ASSAY_OK && as_opt_given(line, "trace"))
        as_console_note(line, "wrote %s", as_opt_text(line, "trace"));
    if (rc == ASSAY_OK)
        rc = row ? take_row(row, w, err) : as_show_print(w->saved, &w->show, line, err);
    if (rc == ASSAY_OK && w->outputs.found.n_differ > 0)
        rc = AS_ANSWER_NO;
    as_temporary_folder_remove(w->folder);
    as_run_close(w->saved);
    forget_decode(w);
    as_profile_run_free(w->run);
    as_token_run_fini(&w->tokens);
    as_state_pairs_fini(&w->pairs);
    as_run_options_fini(&w->run_options);
    as_model_options_fini(&w->given);
    as_outputs_work_free(w->outputs.work);
    as_model_free(w->model);
    as_arena_fini(&w->arena);
    as_free(w);
    return as_interrupt_result(rc, err);
}

static int run_profile(const struct as_cmd_line *line, struct assay_error *err)
{
    static const char *const one_model[] = {"trace",  "roofline",    "section",
                                            "sort",   "scope-depth", "save-outputs",
                                            "expect", "check-nan",   NULL};
    int rc;

    if (line->n_operands == 1)
        return profile_one(line, NULL, err);
    if (as_show_run_path(line))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "-o RUN.assay keeps one model, and %d were given: profile them one by one "
                       "to keep them, or name a file for the table",
                       line->n_operands);
    rc = as_one_model_only(line, one_model, err);
    return rc < 0 ? rc : as_each_model(line, "assay.profile_models", true, profile_one, err);
}

static const struct as_example profile_examples[] = {
    {"assay profile zoo:mobilenetv2", "latency, layers and recommendations of a built-in model"},
    {"assay profile model.onnx --batch 8 --threads 1", "one batch of 8 on one thread"},
    {"assay profile model.onnx -o before.assay", "keep the run for assay report and assay diff"},
    {"assay profile model.onnx --input x.npy --expect expected/", "compare outputs with these"},
    {"assay profile a.onnx b.onnx", "one comparison table; assay bench interleaves them"},
    {"assay profile model.gguf --prompt 128 --tokens 64", "prefill and decode of a text model"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_profile = {
    .name = "profile",
    .summary = "run a model and show where its time and memory go",
    .usage = "assay profile [options] MODEL...",
    .details =
        "MODEL is an ONNX, GGUF or TensorFlow Lite file, or a built-in model as in zoo:resnet50. "
        "Inputs are random unless --input gives a file.\n\n"
        "Latency is timed without instrumentation after warm-up; a second pass times every layer, "
        "and a third counts memory. Each layer is compared with the roofline of this machine "
        "('assay explain roofline').\n\n"
        "-o keeps the run when FILE ends in .assay, otherwise the page. Several models are "
        "profiled one after the other and compared in one table; a model that fails keeps its "
        "row, and the exit status is 3.",
    .examples = profile_examples,
    .opts = profile_opts,
    .operand = "MODEL",
    .min_operands = 1,
    .max_operands = AS_MODELS_MAX,
    .operand_kind = AS_OPERAND_MODEL,
    .confined = true,
    .timeout_seconds = 3600,
    .run = run_profile,
};
