/* api/manager/manager_export.c - all that a manager found, as a run of its kind; what it exports
 * and reports is made from that run, as `assay report` makes it later. */
#include <assay/session.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/manager/manager_internal.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/output.h"
#include "base/units.h"
#include "report/findings/findings_report.h"
#include "report/run/show.h"

typedef int (*write_text)(struct as_out *out, struct assay_manager *m, struct assay_error *err);

/* ---- gathering, with the lock held ---- */

static const char *why_off(const struct assay_manager *m, enum assay_profiler_id id,
                           struct as_arena *arena)
{
    char why[64];

    if (atomic_load_explicit(&m->enabled, memory_order_relaxed) >> id & 1u)
        return NULL;
    (void)snprintf(why, sizeof why, "the %s profiler is off", assay_profiler_name(id));
    return as_arena_text(arena, why, strlen(why));
}

static void gather_reasons(struct assay_manager *m, struct as_manager_run *to,
                           struct as_arena *arena)
{
    static const enum assay_profiler_id profiler[] = {
        [AS_PART_LAYERS] = ASSAY_PROFILER_LAYER,
        [AS_PART_MEMORY] = ASSAY_PROFILER_MEMORY,
        [AS_PART_LEAKS] = ASSAY_PROFILER_LEAK,
        [AS_PART_BOTTLENECKS] = ASSAY_PROFILER_BOTTLENECK,
        [AS_PART_GPU] = ASSAY_PROFILER_GPU,
        [AS_PART_DISTRIBUTED] = ASSAY_PROFILER_DISTRIBUTED,
        [AS_PART_BACKENDS] = ASSAY_PROFILER_COMPARATIVE,
    };
    const struct {
        enum as_manager_part part;
        const char *why;
    } more[] = {
        {AS_PART_MEMORY, m->memory_why},
        {AS_PART_GPU, "no device is read yet by this version"},
        {AS_PART_DISTRIBUTED, assay_distributed_nodes(m->distributed) ? NULL : "no node was added"},
        {AS_PART_BACKENDS, m->n_backends ? NULL : "no backend was added"},
        {AS_PART_ANOMALIES,
         atomic_load_explicit(&m->enabled, memory_order_relaxed) & AS_MANAGER_WATCHED
             ? NULL
             : "not asked for, and the bottleneck profiler is off"},
    };

    for (size_t i = 0; i < AS_COUNT_OF(profiler); i++)
        to->reason[i] = why_off(m, profiler[i], arena);
    for (size_t i = 0; i < AS_COUNT_OF(more); i++)
        if (!to->reason[more[i].part])
            to->reason[more[i].part] = more[i].why;
    for (int i = 0; i < ASSAY_PROFILER_COUNT; i++)
        to->on[i] = !why_off(m, (enum assay_profiler_id)i, arena);
}

/* Times of calls without layers inside would be in the run twice. */
static int gather_layers(struct as_manager_run *to, const struct assay_layer_profile *from,
                         struct as_arena *arena, struct assay_error *err)
{
    struct assay_layer_stats *layer = as_arena_zero(arena, from->n_layers + 1, sizeof *layer);

    if (!layer)
        return as_fail_nomem(err);
    to->layers = *from;
    to->layers.layers = layer;
    for (size_t i = 0; i < from->n_layers; i++) {
        layer[i] = from->layers[i];
        if (!layer[i].nested)
            layer[i].n_self_times = 0;
    }
    return ASSAY_OK;
}

static int gather_leaks(struct assay_manager *m, struct as_manager_run *to, struct assay_error *err)
{
    struct assay_left_memory left;
    int rc = as_manager_held_read(&m->held, m->leak, &to->leaks, &left, err);

    if (rc < 0)
        return rc;
    to->held = (struct as_held_report){
        .source = left.source,
        .all_mb = left.left_behind_mb,
        .leak = m->held.leak,
        .n = left.n_layer_leaks,
    };
    return ASSAY_OK;
}

static int gather_results(struct assay_manager *m, struct as_manager_run *to,
                          struct assay_error *err)
{
    const struct assay_bottleneck_result *bottlenecks = NULL;
    const struct assay_distributed_result *distributed = NULL;
    const struct assay_comparison *backends = NULL;
    int rc = ASSAY_OK;

    if (!to->reason[AS_PART_BOTTLENECKS])
        rc = assay_bottleneck_analyzer_analyze(m->bottleneck, &bottlenecks, err);
    if (rc == ASSAY_OK && !to->reason[AS_PART_DISTRIBUTED])
        rc = assay_distributed_analyze(m->distributed, &distributed, err);
    if (rc < 0)
        return rc;
    /* One backend alone is no failure of the report: it says so itself. */
    if (!to->reason[AS_PART_BACKENDS])
        rc = assay_compare_run(m->compare, NULL, 0, &backends, err);
    if (rc < 0 && rc != ASSAY_ERR_USAGE)
        return rc;
    if (bottlenecks)
        to->bottlenecks = *bottlenecks;
    if (distributed)
        to->distributed = *distributed;
    if (backends)
        to->backends = *backends;
    return ASSAY_OK;
}

static int gather_extras(struct assay_manager *m, struct as_manager_run *to, struct as_arena *arena,
                         struct assay_error *err)
{
    struct as_manager_extra *extra = as_arena_zero(arena, m->n_extensions + 1, sizeof *extra);
    int rc = extra ? ASSAY_OK : as_fail_nomem(err);

    for (size_t i = 0; i < m->n_extensions && rc == ASSAY_OK; i++)
        rc = as_manager_write_extension(&m->extension[i], arena, &extra[i], err);
    to->extra = extra;
    to->n_extra = m->n_extensions;
    return rc;
}

/* All of it but the layers, borrowed until the lock is given back. */
static int gather(struct assay_manager *m, struct as_manager_run *to, struct as_arena *arena,
                  struct assay_error *err)
{
    int rc = ASSAY_OK;

    gather_reasons(m, to, arena);
    if (!to->reason[AS_PART_MEMORY])
        rc = as_memory_profile_report(m->memory, arena, &to->memory, err);
    if (rc == ASSAY_OK && !to->reason[AS_PART_LEAKS])
        rc = gather_leaks(m, to, err);
    if (rc == ASSAY_OK)
        rc = gather_results(m, to, err);
    if (rc == ASSAY_OK && !to->reason[AS_PART_ANOMALIES])
        rc = as_anomaly_report(m->anomaly, arena, &to->anomalies, err);
    return rc < 0 ? rc : gather_extras(m, to, arena, err);
}

/* ---- what becomes of it ---- */

typedef void (*use_found)(void *user, const struct as_manager_run *found);

/* Hands what was found to `use`, while nothing of it can change. */
static int with_found(struct assay_manager *m, use_found use, void *user, struct assay_error *err)
{
    struct as_manager_run found = {.assay_version = assay_version(),
                                   .timestamp = as_clock_unix_seconds()};
    struct assay_layer_profile *layers;
    struct as_arena arena = {0};
    int rc = assay_manager_layers(m, 0, &layers, err);

    if (rc < 0)
        return rc;
    assay_manager_read_session(m, &found.session);
    if (!found.session.sessions)
        found.session.duration_seconds = AS_UNKNOWN;
    rc = gather_layers(&found, layers, &arena, err);
    if (rc == ASSAY_OK) {
        as_manager_lock(m);
        rc = gather(m, &found, &arena, err);
        if (rc == ASSAY_OK)
            use(user, &found);
        as_manager_unlock(m);
    }
    as_arena_fini(&arena);
    assay_layer_profile_free(layers);
    return rc;
}

struct making {
    struct as_run_maker maker;
    const struct as_layer_profile *layers;
};

static void put_run(void *user, const struct as_manager_run *found)
{
    struct making *making = user;

    as_manager_run_put(&making->maker, found);
    if (!found->reason[AS_PART_LAYERS])
        as_layer_profile_put_spans(making->layers, &making->maker);
}

static int make_run(struct assay_manager *m, const char *path, struct as_run **run,
                    struct assay_error *err)
{
    struct making making = {.layers = m->layers};
    int rc = as_run_maker_open(&making.maker, path, AS_KIND_MANAGER, err);

    *run = NULL;
    if (rc < 0)
        return rc;
    rc = with_found(m, put_run, &making, err);
    if (rc == ASSAY_OK)
        return as_run_maker_finish(&making.maker, run, err);
    as_run_maker_drop(&making.maker);
    return rc;
}

static int write_report(struct as_out *out, struct assay_manager *m, struct assay_error *err)
{
    const struct as_show show = AS_SHOW_INIT;
    struct as_run *run;
    int rc = make_run(m, NULL, &run, err);

    if (rc == ASSAY_OK)
        rc = as_show_json(run, &show, out, err);
    as_run_close(run);
    return rc;
}

static void put_dashboard(void *user, const struct as_manager_run *found)
{
    struct as_json_writer *w = user;

    as_json_object(w);
    as_manager_dashboard_json(w, found);
    as_json_object_end(w);
}

static int write_dashboard(struct as_out *out, struct assay_manager *m, struct assay_error *err)
{
    struct as_json_writer w;
    int rc;

    as_json_writer_init(&w, out, 2);
    rc = with_found(m, put_dashboard, &w, err);
    as_out_char(out, '\n');
    return rc < 0 ? rc : as_json_writer_finish(&w, err);
}

static bool is_run_path(const char *path)
{
    size_t size = strlen(path);

    return size > 6 && strcmp(path + size - 6, ".assay") == 0;
}

int assay_manager_export(struct assay_manager *manager, const char *path, struct assay_error *err)
{
    struct as_run *run;
    struct as_out out;
    int rc = as_manager_check(manager, err);

    if (rc < 0)
        return rc;
    if (!path || !*path)
        return as_fail(err, ASSAY_ERR_USAGE, "an export needs the path of the file to write");
    rc = as_folder_make_above(path, 0777, err);
    if (rc < 0)
        return rc;
    if (is_run_path(path)) {
        rc = make_run(manager, path, &run, err);
        as_run_close(run);
        return rc;
    }
    rc = as_out_file(&out, path, err);
    if (rc < 0)
        return rc;
    rc = write_report(&out, manager, err);
    if (rc < 0) {
        as_out_drop(&out);
        return rc;
    }
    return as_out_close(&out, err);
}

static int to_memory(struct assay_manager *m, write_text write, char **text, size_t *size,
                     struct assay_error *err)
{
    struct as_out out;
    size_t n;
    int rc = as_manager_check(m, err);

    if (rc < 0)
        return rc;
    if (!text)
        return as_fail(err, ASSAY_ERR_USAGE, "no place was given for the text");
    *text = NULL;
    rc = as_out_memory(&out, err);
    if (rc < 0)
        return rc;
    rc = write(&out, m, err);
    if (rc == ASSAY_OK && !as_out_ok(&out))
        rc = as_fail_nomem(err);
    if (rc == ASSAY_OK) {
        const char *got = as_out_get(&out, &n);

        *text = as_alloc(n + 1);
        if (*text) {
            memcpy(*text, got, n);
            (*text)[n] = '\0';
            if (size)
                *size = n;
        } else {
            rc = as_fail_nomem(err);
        }
    }
    as_out_drop(&out);
    return rc;
}

int assay_manager_report(struct assay_manager *manager, char **text, size_t *size,
                         struct assay_error *err)
{
    return to_memory(manager, write_report, text, size, err);
}

int assay_manager_dashboard(struct assay_manager *manager, char **text, size_t *size,
                            struct assay_error *err)
{
    return to_memory(manager, write_dashboard, text, size, err);
}

static int write_page(struct as_out *out, struct assay_manager *m, const struct as_term *term,
                      struct assay_error *err)
{
    const struct as_show show = AS_SHOW_INIT;
    struct as_run *run;
    int rc = make_run(m, NULL, &run, err);

    if (rc == ASSAY_OK)
        rc = as_show_page(run, &show, out, term, err);
    as_run_close(run);
    return rc;
}

int assay_manager_print(struct assay_manager *manager, FILE *file, struct assay_error *err)
{
    struct winsize window = {0};
    struct as_term_inputs inputs = {0};
    struct as_term term;
    struct as_out out;
    int rc = as_manager_check(manager, err), fd;

    if (rc < 0)
        return rc;
    if (!file)
        return as_fail(err, ASSAY_ERR_USAGE, "no file was given to print to");
    rc = as_out_memory(&out, err);
    if (rc < 0)
        return rc;
    fd = fileno(file); /* -1: a stream in memory */
    inputs.is_tty = fd >= 0 && isatty(fd);
    if (inputs.is_tty && ioctl(fd, TIOCGWINSZ, &window) == 0)
        inputs.window_columns = window.ws_col;
    term = as_term_from(&inputs);
    rc = write_page(&out, manager, &term, err);
    if (rc >= 0 && !as_out_ok(&out))
        rc = as_fail_nomem(err);
    if (rc >= 0) {
        size_t n;
        const char *text = as_out_get(&out, &n);

        rc = fwrite(text, 1, n, file) == n && fflush(file) == 0
                 ? ASSAY_OK
                 : as_fail_sys(err, ASSAY_ERR_IO, "cannot print the report of the manager");
    }
    as_out_drop(&out);
    return rc;
}

void assay_manager_text_free(char *text)
{
    as_free(text);
}
