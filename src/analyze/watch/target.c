/* analyze/watch/target.c - what an unmodified program did while `assay run` watched it. */
#include "analyze/watch/target.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/roofline.h"
#include "analyze/watch/target_read.h"
#include "base/alloc.h"
#include "base/text/redact.h"
#include "base/units.h"
#include "measure/peaks/peaks.h"
#include "probe/process/process_tree.h"
#include "trace/run/run_reader.h"
#include "watch/watch_fields.h"

bool as_target_in_run(const struct as_run *run)
{
    for (size_t i = 0; i < run->n_data; i++)
        if (strcmp(run->data[i].kind, AS_DATA_PROGRAM) == 0)
            return true;
    return false;
}

static int by_start(const void *a, const void *b)
{
    const struct as_process_row *x = a, *y = b;

    if (x->start_seconds != y->start_seconds)
        return x->start_seconds < y->start_seconds ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* What a site held at the end or when the heap was largest, whichever is more. */
static uint64_t held(const struct as_heap_site *s)
{
    return s->live_bytes > s->peak_live_bytes ? s->live_bytes : s->peak_live_bytes;
}

static int by_held(const void *a, const void *b)
{
    const struct as_heap_site *x = &((const struct as_target_site *)a)->site;
    const struct as_heap_site *y = &((const struct as_target_site *)b)->site;
    bool x_maps = x->kind == AS_HEAP_MAPPING, y_maps = y->kind == AS_HEAP_MAPPING;

    if (x_maps != y_maps)
        return x_maps ? 1 : -1;
    if (held(x) != held(y))
        return held(x) > held(y) ? -1 : 1;
    if (x->allocated_bytes != y->allocated_bytes)
        return x->allocated_bytes > y->allocated_bytes ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_allocated(const void *a, const void *b)
{
    const struct as_heap_trace *x = a, *y = b;

    return (x->stack.allocated_bytes < y->stack.allocated_bytes) -
           (x->stack.allocated_bytes > y->stack.allocated_bytes);
}

static int same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int by_shape(const void *a, const void *b)
{
    const struct as_gemm_calls *x = a, *y = b;
    int order = same_text(x->function, y->function);

    if (order == 0)
        order = same_text(x->dtype, y->dtype);
    return order ? order : strcmp(x->shape, y->shape);
}

static int by_time(const void *a, const void *b)
{
    const struct as_gemm_calls *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns > y->time_ns ? -1 : 1;
    return by_shape(a, b);
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return as_add_u64(a, b, &sum) ? sum : UINT64_MAX;
}

/* The same calls of several processes become one row. */
static void join_gemm(struct as_target *target)
{
    struct as_gemm_calls *at = target->gemm;
    size_t kept = 0;
    double total = 0;

    target->gemm_time_share = AS_UNKNOWN;
    if (target->n_gemm == 0)
        return;
    qsort(at, target->n_gemm, sizeof *at, by_shape);
    for (size_t i = 1; i < target->n_gemm; i++) {
        if (by_shape(&at[kept], &at[i]) != 0) {
            at[++kept] = at[i];
            continue;
        }
        at[kept].calls = plus(at[kept].calls, at[i].calls);
        at[kept].time_ns = plus(at[kept].time_ns, at[i].time_ns);
        at[kept].min_ns = at[i].min_ns < at[kept].min_ns ? at[i].min_ns : at[kept].min_ns;
        at[kept].max_ns = at[i].max_ns > at[kept].max_ns ? at[i].max_ns : at[kept].max_ns;
    }
    target->n_gemm = kept + 1;
    qsort(at, target->n_gemm, sizeof *at, by_time);
    for (size_t i = 0; i < target->n_gemm; i++)
        total += (double)at[i].time_ns;
    if (target->wall_seconds > 0)
        target->gemm_time_share = total / (target->wall_seconds * 1e9);
}

/* What has no start or an impossible kind is no row. */
static void drop_senseless(struct as_target *target)
{
    size_t kept = 0;

    for (size_t i = 0; i < target->n_processes; i++)
        if (isfinite(target->process[i].start_seconds))
            target->process[kept++] = target->process[i];
    target->passed_over += target->n_processes - kept;
    target->n_processes = kept;
    kept = 0;
    for (size_t i = 0; i < target->n_places; i++)
        if ((unsigned)target->place[i].site.kind < AS_HEAP_KIND_COUNT)
            target->place[kept++] = target->place[i];
    target->passed_over += target->n_places - kept;
    target->n_places = kept;
    kept = 0;
    for (size_t i = 0; i < target->n_traces; i++)
        if (target->trace[i].stack.allocated_bytes >= 0) /* neither is NaN */
            target->trace[kept++] = target->trace[i];
    target->passed_over += target->n_traces - kept;
    target->n_traces = kept;
}

static int keep_marks(struct as_target *target, const struct as_rows *marks,
                      struct assay_error *err)
{
    target->marks.value = marks->at;
    target->marks.seconds =
        as_arena_zero(&target->arena, marks->n + 1, sizeof *target->marks.seconds);
    if (!target->marks.seconds)
        return as_fail_nomem(err);
    for (size_t i = 0; i < marks->n; i++)
        target->marks.seconds[i] = (double)i;
    target->marks.n = marks->n;
    return ASSAY_OK;
}

static int take_lists(struct as_target *target, const struct as_target_reader *r,
                      struct assay_error *err)
{
    const struct as_rows *rows[] = {&r->processes, &r->frames, &r->places, &r->traces,
                                    &r->layers,    &r->gemm,   &r->series, &r->marks};

    target->process = r->processes.at;
    target->n_processes = r->processes.n;
    target->frame = r->frames.at;
    target->n_frames = r->frames.n;
    target->place = r->places.at;
    target->n_places = r->places.n;
    target->trace = r->traces.at;
    target->n_traces = r->traces.n;
    target->layer = r->layers.at;
    target->n_layers = r->layers.n;
    target->gemm = r->gemm.at;
    target->n_gemm = r->gemm.n;
    for (size_t i = 0; i < AS_COUNT_OF(rows); i++)
        target->passed_over = plus(target->passed_over, rows[i]->passed_over);
    drop_senseless(target);
    return keep_marks(target, &r->marks, err);
}

/* What sites held at the peak is noted a little before it. Where all of them together hold more at
 * the end than they did then, the end is nearer to the peak. */
static bool take_end_for_peak(struct as_target_site *at, size_t n)
{
    double peak = 0, end = 0;

    for (size_t i = 0; i < n; i++) {
        if (at[i].site.kind == AS_HEAP_MAPPING)
            continue;
        peak += (double)at[i].site.peak_live_bytes;
        end += (double)at[i].site.live_bytes;
    }
    for (size_t i = 0; i < n && peak > 0 && end > peak; i++)
        if (at[i].site.kind != AS_HEAP_MAPPING)
            at[i].site.peak_live_bytes = at[i].site.live_bytes;
    return peak > 0 && end > peak;
}

/* Traces stand by their heap; `from` is where those of the last one ended. */
static size_t take_end_for_stacks(struct as_target *target, uint32_t heap, size_t from, bool end)
{
    for (; from < target->n_traces && target->trace[from].heap <= heap; from++) {
        struct as_heap_stack *stack = &target->trace[from].stack;

        if (end && target->trace[from].heap == heap && !isnan(stack->peak_live_bytes))
            stack->peak_live_bytes = stack->live_bytes;
    }
    return from;
}

/* Places stand by their heap: of one whose peak has no owners at all, none was captured. A mapping
 * is no part of the peak; what it held then is known only when something was seen. */
static void find_peaks(struct as_target *target)
{
    struct as_target_site *at = target->place;

    for (size_t i = 0, trace = 0, end; i < target->n_places; i = end) {
        bool captured = false, at_end;

        for (end = i; end < target->n_places && at[end].heap == at[i].heap; end++)
            ;
        at_end = take_end_for_peak(at + i, end - i);
        trace = take_end_for_stacks(target, at[i].heap, trace, at_end);
        for (size_t k = i; k < end; k++)
            captured |= at[k].site.peak_live_bytes > 0 && at[k].site.kind != AS_HEAP_MAPPING;
        for (size_t k = i; k < end; k++)
            at[k].peak_known =
                at[k].site.kind == AS_HEAP_MAPPING ? at[k].site.peak_live_bytes > 0 : captured;
    }
}

/* Hostile runs may have many: beyond what is kept, the sum stays. */
static void join_heaps(struct as_target *target, struct as_rows *heaps)
{
    struct as_heap_span *span = heaps->at;
    size_t k = 0;

    if (heaps->n == 0 || heaps->n < target->n_heaps)
        return;
    target->heap.peak_bytes = as_heap_overlap(span, heaps->n, &target->heap.peak_slack_bytes);
    for (size_t i = 0; i < target->n_places; i++) { /* places stand by their heap */
        while (k + 1 < heaps->n && span[k].heap < target->place[i].heap)
            k++;
        target->place[i].apart = span[k].heap == target->place[i].heap && !span[k].together;
    }
}

static void sort_lists(struct as_target *target)
{
    find_peaks(target);
    if (target->n_processes)
        qsort(target->process, target->n_processes, sizeof *target->process, by_start);
    if (target->n_places)
        qsort(target->place, target->n_places, sizeof *target->place, by_held);
    for (size_t i = 0; i < target->n_places; i++)
        target->n_heap_places += target->place[i].site.kind != AS_HEAP_MAPPING;
    as_target_bound_stacks(target);
    if (target->n_traces)
        qsort(target->trace, target->n_traces, sizeof *target->trace, by_allocated);
    join_gemm(target);
}

static int analyze(struct as_target *target, struct as_run *run, struct as_arena *scratch,
                   struct assay_error *err)
{
    struct as_target_reader r;
    int rc = ASSAY_OK;

    if (!as_run_fact_number(run, "host.cpus_online", &target->processors) ||
        !(target->processors >= 1))
        target->processors = AS_UNKNOWN;
    if (!as_run_fact_number(run, "host.memory_available_bytes", &target->free_bytes) ||
        !(target->free_bytes >= 0))
        target->free_bytes = AS_UNKNOWN;
    target->judged_until_seconds = AS_UNKNOWN;
    target->group_limit_bytes = target->address_limit_bytes = AS_UNKNOWN;
    as_target_reader_init(&r, target, scratch);
    for (size_t i = 0; i < run->n_data && rc == ASSAY_OK; i++)
        rc = as_target_read_block(&r, run->data[i].kind, run->data[i].json, run->data[i].json_size,
                                  err);
    if (rc == ASSAY_OK && !r.has_program)
        rc = as_fail(err, ASSAY_ERR_NOTFOUND,
                     "%s holds no watched program: it was not made by 'assay run', or its "
                     "end is missing",
                     run->path);
    if (rc == ASSAY_OK)
        rc = take_lists(target, &r, err);
    if (rc == ASSAY_OK)
        rc = as_target_channels(target, run, scratch, err);
    if (rc == ASSAY_OK)
        rc = as_target_growth(target, r.series.at, r.series.n, err);
    if (rc == ASSAY_OK)
        rc = as_target_join_frames(target, err);
    if (rc < 0)
        return rc;
    join_heaps(target, &r.heaps);
    sort_lists(target);
    return as_target_find_callers(target, err);
}

/* Names of programs stay. */
static int redact(struct as_target *t, struct assay_error *err)
{
    const char **argv = as_arena_zero(&t->arena, t->n_args + 1, sizeof *argv);

    if (!argv)
        return as_fail_nomem(err);
    for (size_t i = 0; i < t->n_args; i++)
        argv[i] = i ? AS_REDACTED : t->argv[i];
    t->argv = argv;
    for (size_t i = 0; i < t->n_processes; i++) {
        char name[AS_TREE_NAME_BYTES + sizeof AS_REDACTED + 1];

        if (!t->process[i].name)
            continue;
        as_redact_command(name, sizeof name, t->process[i].name);
        t->process[i].name = as_arena_text(&t->arena, name, strlen(name));
        if (!t->process[i].name)
            return as_fail_nomem(err);
    }
    return ASSAY_OK;
}

int as_target_analyze(struct as_target **out, struct as_run *run, struct assay_error *err)
{
    struct as_target *target = as_alloc_zero(1, sizeof *target);
    struct as_arena scratch = {0};
    int rc = target ? analyze(target, run, &scratch, err) : as_fail_nomem(err);

    as_arena_fini(&scratch);
    if (rc == ASSAY_OK && run->redacted)
        rc = redact(target, err);
    if (rc < 0) {
        as_target_free(target);
        target = NULL;
    }
    *out = target;
    return rc;
}

void as_target_free(struct as_target *target)
{
    if (!target)
        return;
    as_arena_fini(&target->arena);
    as_free(target);
}

double as_target_peak_bytes(const struct as_target *target)
{
    struct as_fact one = target->peak_rss_bytes, all = target->tree_peak_rss_bytes;

    return fmax(one.why ? AS_UNKNOWN : (double)one.value, /* the one that is a number */
                all.why ? AS_UNKNOWN : (double)all.value);
}

const char *as_heap_kind_name(enum as_heap_kind kind)
{
    static const char *const name[] = {
        [AS_HEAP_MALLOC] = "malloc",
        [AS_HEAP_NEW] = "new",
        [AS_HEAP_MAPPING] = "mmap",
    };
    _Static_assert(AS_COUNT_OF(name) == AS_HEAP_KIND_COUNT, "name every kind");

    return (unsigned)kind < AS_HEAP_KIND_COUNT ? name[kind] : "";
}

double as_target_cpus_used(const struct as_target *target)
{
    if (target->cpu_user_ns.why || target->cpu_system_ns.why || !(target->wall_seconds > 0))
        return AS_UNKNOWN;
    return ((double)target->cpu_user_ns.value + (double)target->cpu_system_ns.value) /
           (target->wall_seconds * 1e9);
}

double as_gemm_rate(const struct as_gemm_calls *calls)
{
    if (!(calls->flops > 0) || calls->time_ns == 0)
        return AS_UNKNOWN;
    return calls->flops * (double)calls->calls / ((double)calls->time_ns / 1e9);
}

/* Each operand read and the result written once; 0: not a product. One with itself has one operand.
 */
static double gemm_bytes(const struct as_gemm_calls *c, enum as_peak_type type)
{
    static const double element_bytes[] = {
        [AS_PEAK_F32] = 4, [AS_PEAK_F64] = 8, [AS_PEAK_BF16] = 2, [AS_PEAK_I8] = 1};
    _Static_assert(AS_COUNT_OF(element_bytes) == AS_PEAK_TYPE_COUNT, "every one");
    double m = (double)c->m, n = (double)c->n, k = (double)c->k;
    bool with_itself = c->function && strstr(c->function, "syrk");

    return (m * k + (with_itself ? 0 : k * n) + m * n) * element_bytes[type] *
           (double)(c->batch ? c->batch : 1);
}

/* Against the roof of its intensity; where the bandwidth was not measured, of computing alone. */
static double roof_share(const struct as_peaks *peaks, const struct as_gemm_calls *calls,
                         enum as_peak_type type)
{
    double bytes = gemm_bytes(calls, type), seconds = (double)calls->time_ns / 1e9;
    struct as_roof_work work = {.type = type,
                                .flops = calls->flops,
                                .seconds = seconds / (double)calls->calls,
                                .threads = peaks->threads[peaks->n_counts - 1]};
    struct as_roof roof;

    if (!(calls->flops > 0) || calls->calls == 0 || calls->time_ns == 0)
        return AS_UNKNOWN;
    if (bytes < 0x1p63) {
        work.footprint_bytes = (uint64_t)bytes;
        if (as_peak_bandwidth(peaks, as_peak_level(peaks, work.footprint_bytes), work.threads) > 0)
            work.local_bytes = bytes;
    }
    as_roof_find(&roof, peaks, &work);
    return roof.roof_fraction;
}

double as_gemm_roof_share(const struct as_target *target, const struct as_gemm_calls *calls)
{
    const struct as_peaks *peaks = target->peaks;

    if (!peaks || !calls->dtype || peaks->n_counts == 0 || as_gemm_is_driver(calls))
        return AS_UNKNOWN;
    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
        if (strcmp(calls->dtype, as_peak_type_name((enum as_peak_type)type)) == 0)
            return roof_share(peaks, calls, (enum as_peak_type)type);
    return AS_UNKNOWN;
}

const struct as_process_row *as_target_largest_unwatched(const struct as_target *target)
{
    const struct as_process_row *most = NULL;

    for (size_t i = 0; i < target->n_processes; i++) {
        const struct as_process_row *r = &target->process[i];

        if (!r->peak_rss_bytes.why &&
            (!most || r->peak_rss_bytes.value > most->peak_rss_bytes.value))
            most = r;
    }
    return most && !most->heap_watched ? most : NULL;
}
