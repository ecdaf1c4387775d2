/* cmd/cmd_bench.c - all of `assay bench`: a grid of settings measured in turns, against a baseline,
 * with everything that is needed to do it again. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text/float_text.h"
#include "base/units.h"
#include "cmd/bench/bench_work.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "cmd/common/interrupt.h"
#include "cmd/common/measure_options.h"
#include "cmd/guard/limits.h"
#include "trace/run/run_meta.h"

static const char *workload_at(size_t i)
{
    static const char *const words[] = {"attention", NULL};

    return i < 1 ? words[i] : NULL;
}

static const char *gating_at(size_t i)
{
    static const char *const words[] = {"exact", "hysteresis"};

    return i < 2 ? words[i] : NULL;
}

static const char *masks_at(size_t i)
{
    static const char *const words[] = {"packed", "hash", "full"};

    return i < 3 ? words[i] : NULL;
}

#define NUMBER(option, text, least, most)                                                          \
    {                                                                                              \
        .name = (option), .kind = AS_OPT_NUMBER, .argument = "N", .help = (text), .min = (least),  \
        .max = (most)                                                                              \
    }
#define ATTENTION "Of --workload attention"
#define ATTENTION_NUMBER(option, text, least, most)                                                \
    {                                                                                              \
        .name = (option), .group = ATTENTION, .kind = AS_OPT_NUMBER, .argument = "N",              \
        .help = (text), .min = (least), .max = (most)                                              \
    }
#define ATTENTION_TEXT(option, what, text)                                                         \
    {                                                                                              \
        .name = (option), .group = ATTENTION, .kind = AS_OPT_TEXT, .argument = (what),             \
        .help = (text)                                                                             \
    }
#define TEXT(option, what, text)                                                                   \
    {                                                                                              \
        .name = (option), .kind = AS_OPT_TEXT, .argument = (what), .help = (text)                  \
    }

static const struct as_opt bench_opts[] = {
    {.name = "workload",
     .kind = AS_OPT_WORD,
     .argument = "NAME",
     .help = "a built-in workload",
     .word_at = workload_at},
    {.name = "grid",
     .letter = 'g',
     .kind = AS_OPT_LIST,
     .argument = "NAME=V,V,...",
     .help = "what varies; repeatable, every combination is a setting"},
    TEXT("baseline", "NAME=V,...",
         "what the others are compared with: a setting, or one of the commands [default: the "
         "first]"),
    {.name = "output-dir",
     .kind = AS_OPT_FOLDER,
     .argument = "DIR",
     .help = "where everything is written; results/mincut-bench for attention, "
             "results/command-bench or results/model-bench for others; commands in quotes keep "
             "nothing without it"},
    NUMBER("iterations",
           "measure N samples of each setting [default: 10 of a command, 50 of a model, 1000 of "
           "attention]",
           1, 1000000),
    NUMBER("warmup", "run every setting N times before the first sample; 3, or 1 for a command", 0,
           100000),
    NUMBER("seed", "seed of the data and of the order of settings [default: 42]", 0, UINT64_MAX),
    {.name = "threads",
     .letter = 't',
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "compute on N threads [default: all usable CPUs]",
     .min = 1,
     .max = 256},
    AS_OPT_MAX_ISA,
    TEXT("power", "SOURCE", "power source, such as constant:75W; without one, energy is unknown"),
    ATTENTION_TEXT("lambda", "LIST", "pruning strengths from 0 to 1 [default: \"0.3 0.5 0.7\"]"),
    ATTENTION_TEXT("tau", "LIST", "steps of hysteresis [default: \"0 2\"]"),
    ATTENTION_TEXT("eps", "X", "logits up to it are dropped [default: 0.01]"),
    ATTENTION_NUMBER("short-samples",
                     "number of short samples; all others are long (of --iterations, else none)", 0,
                     1000000),
    ATTENTION_NUMBER("long-samples", "number of long samples; the others are short", 0, 1000000),
    ATTENTION_NUMBER("short-min-len", "tokens of the shortest sample [default: 16]", 1, 16384),
    ATTENTION_NUMBER("short-max-len", "maximum tokens of a short sample [default: 128]", 1, 16384),
    ATTENTION_NUMBER("long-min-len", "minimum tokens of a long sample [default: 256]", 1, 16384),
    ATTENTION_NUMBER("long-max-len", "maximum tokens of a sample [default: 1024]", 1, 16384),
    ATTENTION_NUMBER("head-dim", "head_dim [default: 64]", 1, 1024),
    ATTENTION_NUMBER("heads", "query heads [default: 1]", 1, 256),
    ATTENTION_NUMBER("kv-heads",
                     "key heads, shared by as many query heads each [default: as --heads]", 1, 256),
    {.name = "causal",
     .group = ATTENTION,
     .kind = AS_OPT_FLAG,
     .help = "no query sees later tokens"},
    ATTENTION_NUMBER("steps", "queries over the same keys in a sample [default: 4]", 1, 1000),
    ATTENTION_NUMBER(
        "refresh",
        "decide again every N steps; in between, only what is kept is computed [default: 1]", 1,
        1000),
    {.name = "gating",
     .group = ATTENTION,
     .kind = AS_OPT_WORD,
     .argument = "HOW",
     .help = "exact (as documented; tau has no effect) or with hysteresis [default: hysteresis]",
     .word_at = gating_at},
    ATTENTION_NUMBER("topics", "kinds of tokens in the data [default: 8]", 1, 1024),
    ATTENTION_TEXT("filler", "SHARE", "fraction of tokens that no query looks for [default: 0.25]"),
    ATTENTION_TEXT("drift", "X", "how far queries move from step to step [default: 0.3]"),
    ATTENTION_TEXT("quality", "COSINE",
                   "a sample counts as correct from this cosine similarity on [default: 0.99]"),
    {.name = "masks",
     .group = ATTENTION,
     .kind = AS_OPT_WORD,
     .argument = "HOW",
     .help = "how masks are stored in the witness [default: packed]",
     .word_at = masks_at},
    ATTENTION_NUMBER("replay-samples",
                     "compute N samples of each setting again and compare [default: 16], 0 none", 0,
                     1000000),
    {.name = "against",
     .group = ATTENTION,
     .kind = AS_OPT_FOLDER,
     .reads = true,
     .argument = "DIR",
     .help = "compare the witness with that of another machine's folder"},
    {.name = "sign-key",
     .kind = AS_OPT_FILE,
     .reads = true,
     .argument = "FILE",
     .help = "sign every file of the folder with this Ed25519 key (PEM), for 'assay verify'"},
    {.name = "outputs",
     .kind = AS_OPT_FLAG,
     .help = "keep the output of a command in memory and report whether all settings print the "
             "same; otherwise it is discarded"},
    {.name = "ignore-failure",
     .kind = AS_OPT_FLAG,
     .help = "do not treat a nonzero exit status of a command as a failure"},
    {.name = "setup",
     .kind = AS_OPT_LIST,
     .argument = "COMMAND",
     .help = "run it once before all samples of each command; repeatable, one for each"},
    {.name = "prepare",
     .kind = AS_OPT_LIST,
     .argument = "COMMAND",
     .help = "run it before every sample, untimed; repeatable, one for each command"},
    {.name = "cleanup",
     .kind = AS_OPT_LIST,
     .argument = "COMMAND",
     .help = "run it once after all samples; repeatable, one for each command"},
    {.name = "name",
     .kind = AS_OPT_LIST,
     .argument = "NAME",
     .help = "call a command NAME in tables and files, also in Markdown; repeatable, one for each "
             "command"},
    {.name = "no-shell",
     .letter = 'N',
     .kind = AS_OPT_FLAG,
     .help = "run commands in quotes without a shell"},
    {.name = "dry-run", .kind = AS_OPT_FLAG, .help = "print what would be done, without doing it"},
    {.name = "resume", .kind = AS_OPT_FLAG, .help = "resume an interrupted experiment"},
    {.name = "force", .kind = AS_OPT_FLAG, .help = "overwrite an older experiment"},
    AS_OPT_REDACT,
    AS_OPTS_LIMITS("86400"),
    AS_OPT_WIDE,
    AS_OPTS_FORMAT(as_format_at),
    AS_OPTS_EXPORT,
    {.name = NULL},
};

/* ---- the plan ---- */

static int write_plan(struct as_bench_work *w, struct assay_error *err)
{
    struct as_json_writer out;
    int rc = as_out_memory(&w->plan_text, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&out, &w->plan_text, 0);
    as_json_object(&out);
    as_json_kv_text(&out, "version", ASSAY_VERSION);
    as_json_kv_text(&out, "workload", w->kind->name);
    as_json_kv_u64(&out, "samples", w->bench.n_samples);
    as_json_kv_u64(&out, "seed", w->seed);
    as_json_kv_u64(&out, "threads", w->threads);
    if (w->kind->runs_kernels)
        as_json_kv_text(&out, "kernel_isa", as_isa_name(w->topology.isa.effective));
    as_json_kv_text(&out, "power", as_opt_text(w->line, "power"));
    as_json_kv_array(&out, "settings");
    for (size_t i = 0; i < w->bench.n_settings; i++)
        as_json_text(&out, w->bench.settings[i].name);
    as_json_array_end(&out);
    w->kind->write(w, &out);
    as_json_object_end(&out);
    rc = as_json_writer_finish(&out, err);
    if (rc == ASSAY_OK && !as_out_ok(&w->plan_text))
        rc = as_fail_nomem(err);
    return rc;
}

/* The six documented settings of each gate, hashed as documented. */
static int add_configs(struct as_bench_work *w, struct assay_error *err)
{
    char key[AS_GRID_NAME + 24], hex[ASSAY_HASH_HEX];
    int rc = as_attention_config_hash(&w->attention_plan, &w->bench.settings[w->bench.baseline],
                                      w->data_hash, err);

    for (size_t i = 0; rc == ASSAY_OK && i < w->bench.n_settings; i++) {
        struct assay_bench_config config = {
            .model_commit = "assay " ASSAY_VERSION,
            .weights_hash = w->data_hash,
            .lambda = (float)w->bench.settings[i].lambda,
            .tau = (uint64_t)(i == w->bench.baseline ? 0 : w->bench.settings[i].tau),
            .eps = (float)w->attention_plan.eps,
            .compiler_flags = ASSAY_COMPILER_FLAGS,
        };

        if (i == w->bench.baseline)
            continue;
        (void)snprintf(key, sizeof key, "bench_config_hash.%s", w->bench.settings[i].name);
        rc = assay_bench_config_hash(&config, hex, err);
        if (rc == ASSAY_OK)
            rc = assay_fingerprint_set_text(w->fingerprint, key, hex, ASSAY_FACT_CIRCUMSTANCE, err);
    }
    return rc;
}

/* The machine and the libraries that are loaded by now, and the hashes of it all. */
static int look_at_machine(struct as_bench_work *w, struct assay_error *err)
{
    struct assay_fingerprint *fp = w->fingerprint;
    int rc = assay_fingerprint_machine(fp, err);

    assay_fingerprint_text_free(w->fingerprint_json);
    w->fingerprint_json = NULL;
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_hash(fp, ASSAY_FINGERPRINT_ALL, w->fingerprint_hash, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_hash(fp, ASSAY_FINGERPRINT_DECIDING, w->experiment_hash, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_json(fp, ASSAY_FINGERPRINT_ALL, &w->fingerprint_json, NULL, err);
    return rc;
}

static int make_fingerprint(struct as_bench_work *w, struct assay_error *err)
{
    struct assay_fingerprint *fp;
    struct as_out own;
    struct as_json_writer out;
    int rc = assay_fingerprint_new(&w->fingerprint, NULL, err);

    if (rc == ASSAY_OK)
        rc = as_out_memory(&own, err);
    if (rc < 0)
        return rc;
    fp = w->fingerprint;
    as_json_writer_init(&out, &own, 0);
    as_json_object(&out);
    w->kind->write(w, &out);
    as_json_object_end(&out);
    rc = assay_fingerprint_set_text(fp, "plan", as_out_get(&own, NULL), ASSAY_FACT_DECIDES, err);
    as_out_drop(&own);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_text(fp, "workload", w->kind->name, ASSAY_FACT_DECIDES, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_u64(fp, "seed", w->seed, ASSAY_FACT_DECIDES, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_u64(fp, "samples", w->bench.n_samples, ASSAY_FACT_DECIDES, err);
    if (rc == ASSAY_OK)
        rc =
            assay_fingerprint_set_u64(fp, "threads_used", w->threads, ASSAY_FACT_CIRCUMSTANCE, err);
    if (rc == ASSAY_OK && strcmp(w->kind->name, "attention") == 0)
        rc = add_configs(w, err);
    if (rc == ASSAY_OK && as_opt_given(w->line, "power"))
        rc = assay_fingerprint_set_text(fp, "power_source", as_opt_text(w->line, "power"),
                                        ASSAY_FACT_CIRCUMSTANCE, err);
    return rc == ASSAY_OK ? look_at_machine(w, err) : rc;
}

static int open_power(struct as_bench_work *w, struct assay_error *err)
{
    const char *spec = as_opt_text(w->line, "power");
    int rc = spec ? assay_power_source_open(spec, &w->power, err) : ASSAY_OK;

    if (!spec || rc < 0)
        return rc == ASSAY_ERR_NOMEM ? rc : rc < 0 ? ASSAY_ERR_USAGE : ASSAY_OK;
    w->has_power = true;
    w->meter.source = &w->power;
    return assay_power_tracker_new(&w->meter.tracker, NULL, err);
}

/* The other machine has a witness of every setting, and its folder is another. */
static int check_against(const struct as_bench_work *w, const char *against,
                         struct assay_error *err)
{
    char witness[PATH_MAX], path[PATH_MAX];
    struct stat theirs, ours;
    int rc = ASSAY_OK;

    if (snprintf(witness, sizeof witness, "%s/witness", against) >= (int)sizeof witness ||
        stat(witness, &theirs) != 0 || !S_ISDIR(theirs.st_mode))
        return as_fail(err, ASSAY_ERR_USAGE, "--against %.100s has no folder witness", against);
    for (size_t i = 0; rc == ASSAY_OK && i < w->bench.n_settings; i++) {
        if (i == w->bench.baseline)
            continue;
        rc = as_witness_path(witness, &w->bench.settings[i], path, sizeof path, err);
        if (rc == ASSAY_OK && access(path, R_OK) != 0)
            rc = as_fail(err, ASSAY_ERR_USAGE, "--against %.100s has no witness of %.60s", against,
                         w->bench.settings[i].name);
    }
    if (rc == ASSAY_OK &&
        snprintf(witness, sizeof witness, "%s/witness", w->folder) < (int)sizeof witness &&
        stat(witness, &ours) == 0 && ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev)
        rc = as_fail(err, ASSAY_ERR_USAGE, "--against is the folder itself");
    return rc;
}

/* What would be found missing only after everything was measured. */
static int check_files(const struct as_bench_work *w, struct assay_error *err)
{
    const char *key = as_opt_text(w->line, "sign-key"), *against = as_opt_text(w->line, "against");

    if (key && !w->folder[0])
        return as_fail(err, ASSAY_ERR_USAGE, "--sign-key needs the folder: --output-dir DIR");
    if (key && access(key, R_OK) != 0)
        return as_fail_sys(err, ASSAY_ERR_USAGE, "cannot read --sign-key %s", key);
    return against ? check_against(w, against, err) : ASSAY_OK;
}

static int plan(struct as_bench_work *w, struct assay_error *err)
{
    const char *folder = as_opt_text(w->line, "output-dir");
    int rc = as_topology_read(&w->topology, NULL, err);

    (void)gethostname(w->host, sizeof w->host - 1);
    w->seed = as_opt_number(w->line, "seed", 42);
    w->threads =
        (unsigned)as_opt_number(w->line, "threads", rc < 0 ? 1 : as_topology_threads(&w->topology));
    if (snprintf(w->folder, sizeof w->folder, "%s",
                 folder            ? folder
                 : w->kind->folder ? w->kind->folder
                                   : "") >= (int)sizeof w->folder)
        return as_fail(err, ASSAY_ERR_USAGE, "the name of the folder is too long");
    if (rc == ASSAY_OK && folder && !w->folder[0])
        rc = as_fail(err, ASSAY_ERR_USAGE, "--output-dir is empty");
    if (rc == ASSAY_OK && !w->folder[0] &&
        (as_opt_given(w->line, "resume") || as_opt_given(w->line, "force")))
        rc = as_fail(err, ASSAY_ERR_USAGE, "--%s needs the folder: --output-dir DIR",
                     as_opt_given(w->line, "resume") ? "resume" : "force");
    if (rc == ASSAY_OK && as_opt_given(w->line, "resume") && as_opt_given(w->line, "force"))
        rc = as_fail(err, ASSAY_ERR_USAGE, "choose one of --resume and --force");
    if (rc == ASSAY_OK)
        rc = w->kind->plan(w, err);
    if (rc == ASSAY_OK)
        rc = check_files(w, err);
    if (rc == ASSAY_OK)
        rc = open_power(w, err);
    if (rc == ASSAY_OK)
        rc = write_plan(w, err);
    return rc == ASSAY_OK ? make_fingerprint(w, err) : rc;
}

/* ---- measuring ---- */

static void tell(void *user, const struct as_bench *bench, bool warming)
{
    struct as_bench_work *w = user;
    uint64_t all = bench->n_samples * bench->n_settings, done = as_bench_done(bench);
    uint64_t now = as_clock_mono_ns();
    struct as_progress_state state = {.what = warming ? "warming up" : "measuring",
                                      .share = AS_UNKNOWN,
                                      .median_ns = AS_UNKNOWN,
                                      .done = done,
                                      .of = all,
                                      .unit = warming ? NULL : "sample",
                                      .left_s = AS_UNKNOWN};

    if (warming || w->start_ns == 0) {
        w->start_ns = now;
        w->start_done = done;
    }
    if (done > w->start_done)
        state.left_s = (double)(now - w->start_ns) / 1e9 / (double)(done - w->start_done) *
                       (double)(all - done);
    as_progress_put(&w->progress, &state);
}

static int measure(struct as_bench_work *w, const struct as_bench_load *load,
                   struct assay_error *err)
{
    struct as_bench_meter meter = as_power_meter_table(&w->meter);
    struct as_bench_loop loop = {
        .load = load,
        .meter = w->has_power ? &meter : NULL,
        .journal = w->folder[0] ? &w->journal : NULL,
        .redact = as_opt_given(w->line, "redact"),
        .seed = w->seed,
        .warmup = (unsigned)as_opt_number(w->line, "warmup", w->kind->warmup),
        .stop = as_interrupt_flag(),
        .progress = tell,
        .user = w,
    };
    static const struct assay_memory_tracker_options memory = {.size = sizeof memory,
                                                               .max_snapshots = 10000};
    int rc = w->kind->begin ? w->kind->begin(w, err) : ASSAY_OK;

    if (rc < 0)
        return rc;
    if (w->attention && assay_memory_tracker_new(&w->memory, &memory, NULL) == ASSAY_OK)
        (void)assay_memory_tracker_start(w->memory, 100000, NULL);
    rc = as_bench_run(&w->bench, &loop, err);
    as_progress_end(&w->progress);
    if (w->memory)
        (void)assay_memory_tracker_stop(w->memory, NULL);
    return rc;
}

/* Times of a slow build mislead where its own kernels are measured. */
static void tell_build(const struct as_bench_work *w)
{
#ifndef NDEBUG
    if (w->kind->runs_kernels)
        as_console_note(w->line, "note: this is a debug build: its kernels are slow");
#else
    (void)w;
#endif
}

static int dry_run(struct as_bench_work *w, struct assay_error *err)
{
    struct as_console console;
    int rc = as_console_open(&console, w->line, err);

    if (rc < 0)
        return rc;
    if (as_opt_given(w->line, "json")) {
        as_out_printf(&console.out, "%s\n", as_out_get(&w->plan_text, NULL));
        return as_console_close(&console, rc, err);
    }
    as_out_printf(&console.out, "%s\n", w->title);
    as_out_printf(&console.out, "%zu settings, %llu samples each, on %u thread%s, into %s\n",
                  w->bench.n_settings, (unsigned long long)w->bench.n_samples, w->threads,
                  w->threads == 1 ? "" : "s", w->folder);
    for (size_t i = 0; i < w->bench.n_settings; i++)
        as_out_printf(&console.out, "  %s%s\n", w->bench.settings[i].name,
                      i == w->bench.baseline ? " (baseline)" : "");
    as_out_printf(&console.out, "experiment %s\nplan %s\n", w->experiment_hash,
                  as_out_get(&w->plan_text, NULL));
    return as_console_close(&console, rc, err);
}

static void tell_saved(const struct as_bench_work *w)
{
    if (!w->folder[0]) {
        if (!as_show_run_path(w->line))
            as_console_note(w->line,
                            "saved: nothing; --output-dir DIR keeps all files, -o FILE.assay "
                            "the run");
        return;
    }
    as_console_note(w->line,
                    w->attention ? "saved: %s (results.json, summary.md, csv/, figs/, witness/)"
                                 : "saved: %s (results.json, summary.md, latency.svg)",
                    w->folder);
}

static int finish(struct as_bench_work *w, struct assay_error *err)
{
    int rc = as_bench_results(w, err);

    if (rc == ASSAY_OK)
        rc = as_bench_pack(w, err);
    if (rc == ASSAY_OK)
        rc = as_show_print(w->run, &w->show, w->line, err);
    if (rc >= 0)
        tell_saved(w);
    return rc;
}

static int measure_all(struct as_bench_work *w, struct assay_error *err)
{
    struct assay_error unclean = {0};
    struct as_bench_load load;
    int rc = w->kind->open(w, &load, err);

    if (rc == ASSAY_OK && w->model)
        rc = look_at_machine(w, err); /* an engine brings its library */
    if (rc == ASSAY_OK && w->folder[0])
        rc = as_bench_folder_open(w, err);
    if (rc < 0)
        return rc;
    tell_build(w);
    as_interrupt_watch();
    as_stop_watched(as_interrupt_flag());
    rc = as_bench_hooks(w, "setup", err);
    if (rc == ASSAY_OK)
        rc = measure(w, &load, err);
    if (rc == ASSAY_ERR_UNSUPPORTED && as_interrupted())
        rc = ASSAY_OK; /* the signal ended --setup */
    if (as_bench_hooks(w, "cleanup", &unclean) < 0 && rc == ASSAY_OK && !as_interrupted())
        rc = as_fail(err, unclean.code, "%s", unclean.msg);
    if (rc == ASSAY_OK)
        rc = as_journal_close(&w->journal, err);
    if (rc == ASSAY_OK && as_interrupted())
        return as_bench_interrupted(w, err);
    if (rc == ASSAY_OK && w->attention)
        rc = as_load_attention_seal(w->attention, err);
    if (rc == ASSAY_OK && w->attention)
        rc = as_bench_check_witness(w, err);
    return rc == ASSAY_OK ? finish(w, err) : rc;
}

/* ---- the command ---- */

static void close_all(struct as_bench_work *w)
{
    as_bench_view_fini(&w->view);
    as_run_close(w->run);
    as_free(w->verdicts);
    as_load_attention_free(w->attention);
    as_load_model_free(w->model);
    as_load_command_fini(&w->command);
    (void)!as_journal_close(&w->journal, NULL);
    assay_memory_tracker_free(w->memory);
    assay_power_tracker_free(w->meter.tracker);
    if (w->has_power)
        assay_power_source_close(&w->power);
    assay_fingerprint_text_free(w->fingerprint_json);
    assay_fingerprint_free(w->fingerprint);
    as_out_drop(&w->plan_text);
    as_bench_fini(&w->bench);
    as_grid_fini(&w->grid);
}

static int run_bench(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_bench_work *w = as_alloc_zero(1, sizeof *w);
    int rc;

    if (!w)
        return as_fail_nomem(err);
    w->line = line;
    w->journal.fd = -1;
    w->progress.wanted = as_progress_wanted(line);
    /* Somebody who ignores the end of children would have it unknown to us too. */
    (void)signal(SIGCHLD, SIG_DFL);
    /* What ends us ends the command that runs; the journal holds what was finished before. */
    as_interrupt_child(&w->command.pid);
    if (as_opt_given(line, "redact"))
        as_run_meta_without_args();
    rc = as_show_read(&w->show, line, err);
    if (rc == ASSAY_OK) {
        w->kind = as_bench_kind_of(line, err);
        rc = w->kind ? ASSAY_OK : ASSAY_ERR_USAGE;
    }
    if (rc == ASSAY_OK && w->kind->runs_kernels) /* in this process: nothing is started */
        rc = as_limits_set_memory(line, err);
    if (rc == ASSAY_OK)
        rc = as_max_isa_read(line, err);
    if (rc == ASSAY_OK)
        rc = plan(w, err);
    if (rc == ASSAY_OK && as_opt_given(line, "dry-run"))
        rc = dry_run(w, err);
    else if (rc == ASSAY_OK)
        rc = measure_all(w, err);
    as_progress_end(&w->progress);
    as_interrupt_child(NULL);
    close_all(w);
    as_free(w);
    return as_interrupt_result(rc, err);
}

static const struct as_example bench_examples[] = {
    {"assay bench 'gzip -1 -c data' 'gzip -9 -c data'", "two commands, interleaved"},
    {"assay bench --prepare 'make clean' 'make -j1' 'make -j4'", "a command before each sample"},
    {"assay bench zoo:mobilenetv2 --grid threads=1,2", "a model at two settings, interleaved"},
    {"assay bench --grid level=1,6,9 -- gzip -k -f -{level} data", "a command over a grid"},
    {"assay bench --grid level=1,6,9 --resume -- gzip -k -f -{level} data",
     "resume after an interruption"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_bench = {
    .name = "bench",
    .summary = "measure commands, models or a grid of settings against a baseline, reproducibly",
    .usage = "assay bench [options] 'COMMAND'... | MODEL... | -- COMMAND...",
    .details =
        "Interleaves the settings, sample by sample, in an order that changes from round to round, "
        "and keeps each finished sample in a journal: an experiment that was killed continues with "
        "--resume and repeats nothing.\n\nA word that is neither zoo:NAME nor an existing file is "
        "a command, run by sh -c; what starting the shell costs is measured among the samples and "
        "subtracted. Several commands or several models are compared with the first one.\n\n-- "
        "COMMAND runs a command without a shell, with {name} replaced by the value of an axis: "
        "assay bench --grid n=1000,2000 -- sort -n --parallel={n} file. A model is run by the "
        "engine, along the axes threads, batch, fuse (0 or 1), kernels (auto or reference), keys "
        "of a built-in model or symbolic dimensions of a file.\n\n--workload attention measures "
        "softmax attention against attention gated by minimum cuts over a grid of lambda and tau: "
        "quality, KV cache, memory, energy and latency, with a witness of every sample that 'assay "
        "verify --replay' computes again.\n\nThe folder gets run.assay, results.json, results.csv, "
        "summary.md, latency.svg, fingerprint.json and the journal; of an attention workload csv/, "
        "figs/ and witness/ in place of the tables. With --sign-key a bundle lists every file with "
        "its hash and is signed (bundle.rvf, or witness/witness.rvf of an attention workload). A "
        "setting that failed is not tried again by "
        "--resume. Exit status 1: no setting meets the criteria, or one failed.",
    .examples = bench_examples,
    .opts = bench_opts,
    .operand = "COMMAND or MODEL",
    .min_operands = 0,
    .max_operands = 4096,
    .starts_commands = true,
    .timeout_seconds = 86400,
    .run = run_bench,
};
