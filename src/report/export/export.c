/* report/export/export.c - a run in the files of other tools: one table of formats, all of them
 * streams. */
#include "report/export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/export/export_common.h"
#include "trace/run/run_reader.h"

#define ROW_FREE ((uint32_t)1 << 22) /* no Linux thread has a number as large */

const struct as_exporter as_exporters[] = {
    {"chrome-trace", ".json", "Chrome trace events, for Perfetto and chrome://tracing",
     as_export_chrome},
    {"perfetto", ".pftrace", "Perfetto's own binary form, a third of the size", as_export_perfetto},
    {"speedscope", ".speedscope.json", "for speedscope.app, one profile per thread",
     as_export_speedscope},
    {"folded", ".folded", "stacks and their self time, for flame graphs", as_export_folded},
    {"flamegraph", ".svg", "a flame graph as SVG, for any browser", as_export_flame_graph},
    {"json", ".json", "every span, sample, iteration and loss", as_export_json},
    {"csv", ".csv", "every call in the order the calls ended", as_export_csv},
};
const size_t as_n_exporters = AS_COUNT_OF(as_exporters);

const struct as_exporter *as_exporter_find(const char *name)
{
    for (size_t i = 0; i < as_n_exporters; i++)
        if (strcmp(as_exporters[i].name, name) == 0)
            return &as_exporters[i];
    return NULL;
}

static int by_row(const void *a, const void *b)
{
    const struct as_export_thread *const *x = a, *const *y = b;

    if ((*x)->row != (*y)->row)
        return (*x)->row < (*y)->row ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

/* Gives every thread a row of its own: the system reuses the numbers of threads, and a damaged run
 * may lack them. */
static int number_rows(struct as_export *x, struct assay_error *err)
{
    struct as_export_thread **sorted =
        as_arena_zero(&x->arena, x->n_threads + 1, sizeof(struct as_export_thread *));
    uint32_t before = 0;

    if (!sorted)
        return as_fail_nomem(err);
    for (size_t i = 0; i < x->n_threads; i++) {
        const struct as_run_thread *t = x->thread[i].info;

        x->thread[i].row = t->tid < ROW_FREE ? (uint32_t)t->tid : 0;
        sorted[i] = &x->thread[i];
    }
    qsort(sorted, x->n_threads, sizeof(struct as_export_thread *), by_row);
    for (size_t i = 0; i < x->n_threads; i++) {
        uint32_t row = sorted[i]->row;

        if (row == before)
            sorted[i]->row = ROW_FREE + (uint32_t)(sorted[i] - x->thread);
        before = row;
    }
    return ASSAY_OK;
}

static int choose_threads(struct as_export *x, struct assay_error *err)
{
    const struct as_run *run = x->run;

    x->thread = as_arena_zero(&x->arena, run->n_threads + 1, sizeof *x->thread);
    if (!x->thread)
        return as_fail_nomem(err);
    for (size_t i = 0; i < run->n_threads; i++) {
        const struct as_run_thread *t = &run->thread[i];
        struct as_export_thread *chosen = &x->thread[x->n_threads];

        if (x->options.thread >= 0 && t->index != (uint64_t)x->options.thread)
            continue;
        x->n_threads++;
        chosen->info = t;
        for (size_t c = 0; c < t->n_chunks; c++)
            chosen->events += t->chunk[c].records; /* 32 bits each: no overflow */
    }
    if (x->options.thread >= 0 && x->n_threads == 0)
        return as_fail(err, ASSAY_ERR_NOTFOUND,
                       "the run has no thread %" PRId64 "; it has %zu, numbered from 0",
                       x->options.thread, run->n_threads);
    return number_rows(x, err);
}

static void learn_facts(struct as_export *x)
{
    const char *title = as_run_fact_text(x->run, "label");
    double pid;

    if (!title || !title[0])
        title = as_run_fact_list(x->run, "command");
    x->title = title && title[0] ? title : x->run->path;
    x->pid = 1;
    if (as_run_fact_number(x->run, "pid", &pid) && pid >= 1 && pid < (double)ROW_FREE)
        x->pid = (uint32_t)pid;
}

int as_export(const struct as_exporter *exporter, struct as_run *run,
              const struct as_export_options *options, struct as_out *out,
              struct as_export_result *result, struct assay_error *err)
{
    struct as_export x = {.run = run,
                          .out = out,
                          .to = out,
                          .options = *options,
                          .stop_at = UINT64_MAX,
                          .first = true};
    uint64_t before = out->total_bytes;
    int rc = as_out_memory(&x.scratch, err);

    if (rc == ASSAY_OK)
        rc = as_out_memory(&x.quoted, err);
    if (rc < 0)
        goto out;
    if (options->max_bytes)
        x.to = &x.scratch;
    rc = choose_threads(&x, err);
    if (rc < 0)
        goto out;
    learn_facts(&x);
    rc = exporter->run(&x, err);
    if (rc == ASSAY_OK && !as_out_ok(&x.scratch))
        rc = as_fail_nomem(err);
    x.result.size_bytes = out->total_bytes - before;
    *result = x.result;
out:
    as_arena_fini(&x.arena);
    as_out_drop(&x.quoted);
    as_out_drop(&x.scratch);
    return rc;
}

bool as_export_is_cut(const struct as_export_result *result)
{
    return memcmp(&result->seen, &result->kept, sizeof result->seen) != 0;
}
