/* tests/unit/test_target.c - what was written about a program is read back as it was, and judged.
 * Blocks that make no sense are passed over and counted. */
#include "watch_kit.h"

#include "analyze/watch/target.h"
#include "analyze/watch/target_findings.h"
#include "analyze/watch/target_read.h"
#include "base/alloc.h"
#include "measure/peaks/peaks.h"
#include "report/run/show.h"
#include "report/watch/watch_report.h"

static const char *frame_text(const struct as_heap_frame *frame)
{
    static char text[400];

    as_heap_frame_text(frame, text, sizeof text);
    return text;
}

struct made {
    struct kit kit;
    struct as_run *run;
    struct as_target *program;
};

static struct made make(const struct program_kit *how)
{
    struct assay_error err = {0};
    struct made m;

    program_kit_make(&m.kit, how);
    m.run = kit_open(&m.kit);
    if (as_target_analyze(&m.program, m.run, &err) < 0)
        fail_msg("%s", err.msg);
    return m;
}

static void done(struct made *m)
{
    as_target_free(m->program);
    as_run_close(m->run);
    kit_close(&m->kit);
}

static void what_was_written_is_read_back(void **state)
{
    struct made m = make(&(struct program_kit){.marks = true});
    const struct as_target *p = m.program;
    const struct as_target_site *last;

    (void)state;
    assert_int_equal(p->passed_over, 0);
    assert_int_equal(p->n_args, 3);
    assert_string_equal(p->argv[1], "--rows");
    assert_string_equal(p->folder, "/home/somebody");
    assert_true(p->wall_seconds == 14);
    assert_int_equal(p->minor_faults.value, 523456);
    assert_null(p->minor_faults.why);
    assert_string_equal(p->written_bytes.why, "the kernel does not count it");
    assert_int_equal(p->n_processes, 3);
    assert_int_equal(p->process[0].pid, 4242);
    assert_true(isnan(p->process[2].end_seconds));
    assert_true(p->process[0].heap_watched);
    assert_int_equal(p->process[1].threads_most.value, 2);
    assert_true(p->heap_known);
    assert_true(p->symbols_known);
    assert_int_equal(p->heap.allocations, 3001234);
    assert_int_equal(p->heap.n_threads, 2);
    assert_int_equal(p->n_places, PROGRAM_KIT_PLACES);
    assert_string_equal(p->place[0].function, "load_weights"); /* most live first */
    assert_int_equal(p->place[0].offset, 0x1b0);
    assert_true(p->place[0].peak_known);
    assert_int_equal(p->n_heap_places, PROGRAM_KIT_PLACES - 1);
    last = &p->place[PROGRAM_KIT_PLACES - 1]; /* mappings are address space */
    assert_int_equal(last->site.live_bytes, 64u << 20);
    assert_int_equal(last->site.kind, AS_HEAP_MAPPING);
    assert_null(last->function);
    assert_string_equal(last->module, "libarena.so");
    assert_int_equal(p->n_traces, 2);
    assert_string_equal(frame_text(p->trace[0].frame[0]), "make_temp+0x20 (libfoo.so.1)");
    assert_string_equal(frame_text(p->trace[0].frame[3]), "0x7f00aa0012");
    assert_int_equal(p->trace[1].n_frames, AS_HEAP_MAX_FRAMES);
    assert_int_equal(p->n_layers, 2);
    assert_int_equal(p->layer[1].net_bytes, -512);
    assert_int_equal(p->marks.n, 100);
    assert_int_equal(p->rss.n, 280);
    assert_int_equal(p->heap_live.n, 280);
    assert_true(p->rss.seconds[20] > 0.99 && p->rss.seconds[20] < 1.01);
    assert_true(p->cpu.value[0] == 0.97);
    done(&m);
}

/* A sample stands for more than a small heap ever held. */
static void no_stack_is_estimated_above_what_was_counted(void **state)
{
    struct as_target_site place[] = {
        {.site =
             {.allocations = 1, .allocated_bytes = 205824, .live_bytes = 205824, .live_blocks = 1},
         .pid = 7,
         .function = "main",
         .module = "a.out",
         .offset = 0x17},
        {.site = {.allocations = 3, .allocated_bytes = 900}, .pid = 7, .function = "mainly"},
    };
    const struct as_heap_frame frame[] = {
        {.function = "main", .module = "a.out", .offset = 0x17},
        {.function = "other", .module = "a.out", .offset = 1},
    };
    const struct as_heap_frame *of_main = &frame[0], *of_other = &frame[1];
    struct as_heap_trace trace[] = {
        {.stack = {.samples = 1,
                   .allocations = 2.5,
                   .allocated_bytes = 524288,
                   .live_bytes = 524288,
                   .live_blocks = 2.5},
         .pid = 7,
         .frame = &of_main,
         .n_frames = 1},
        {.stack = {.samples = 1, .allocated_bytes = 524288, .live_bytes = 10},
         .pid = 7,
         .frame = &of_other,
         .n_frames = 1},
    };
    struct as_target p = {.heap_known = true,
                          .heap = {.allocations = 4,
                                   .allocated_bytes = 206724,
                                   .live_bytes = 205824,
                                   .live_blocks = 1},
                          .place = place,
                          .n_places = 2,
                          .trace = trace,
                          .n_traces = 2};

    (void)state;
    as_target_bound_stacks(&p);
    assert_true(trace[0].stack.allocated_bytes == 205824 && trace[0].stack.live_bytes == 205824);
    assert_true(trace[0].stack.allocations == 1 && trace[0].stack.live_blocks == 1);
    assert_true(trace[1].stack.allocated_bytes == 206724); /* of an unknown site: of all */
    assert_true(trace[1].stack.live_bytes == 10);          /* below the bound: as it is */
    trace[0].stack.allocated_bytes = 524288;
    p.heap.unplaced = 1; /* the site's count is not whole */
    as_target_bound_stacks(&p);
    assert_true(trace[0].stack.allocated_bytes == 206724);
}

static void the_same_products_of_two_processes_are_one_row(void **state)
{
    struct made m = make(&(struct program_kit){0});
    const struct as_target *p = m.program;

    (void)state;
    assert_int_equal(p->n_gemm, 2);
    assert_int_equal(p->gemm[0].calls, 2000);
    assert_int_equal(p->gemm[0].time_ns, 8000000000u);
    assert_int_equal(p->gemm[0].max_ns, 10000000);
    assert_true(isnan(p->gemm[1].flops));
    assert_int_equal(p->gemm_unplaced, 5);
    assert_true(fabs(p->gemm_time_share - 8.012 / 14) < 1e-9);
    assert_true(fabs(as_gemm_rate(&p->gemm[0]) / (2.0 * 512 * 512 * 512 * 250) - 1) < 1e-9);
    assert_true(isnan(as_gemm_rate(&p->gemm[1])));
    assert_true(isnan(as_gemm_roof_share(p, &p->gemm[0])));
    done(&m);
}

static void a_leak_is_told_with_its_place(void **state)
{
    struct made m = make(&(struct program_kit){.leaks = true});
    struct as_target_findings *f;

    (void)state;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_FOUND);
    assert_int_equal(f->n_growing, 1);
    assert_string_equal(f->growing[0].place->function, "parse_row");
    assert_true(fabs(f->growing[0].share - 1.15 / 1.2) < 0.02);
    assert_true(f->growing[0].place->growth_p_value < 0.001);
    /* It only grows: it held no less at the peak than at the end. */
    assert_int_equal(f->growing[0].place->site.peak_live_bytes,
                     f->growing[0].place->site.live_bytes);
    assert_string_equal(f->growth[0].key, "heap_live");
    assert_true(fabs(f->growth[0].rate / (1.2 * PROGRAM_KIT_MIB) - 1) < 0.02);
    assert_non_null(strstr(f->verdict_text, "the heap grew by 1.2"));
    assert_non_null(strstr(f->verdict_text, "allocated at parse_row+0x4c (a.out)"));
    assert_non_null(strstr(f->live_text, "is not visible from outside"));
    as_target_findings_free(f);
    done(&m);
}

/* The fall at the end neither hides the growth nor lets it pass for a leak. */
static void what_is_given_back_at_the_end_is_no_leak(void **state)
{
    struct made m = make(&(struct program_kit){.leaks = true, .returns = true});
    struct as_target_findings *f;

    (void)state;
    for (size_t i = 1; i < m.program->n_processes; i++)
        m.program->process[i].heap_watched = true;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_RETURNED);
    assert_int_equal(f->growth[0].verdict, AS_GROWTH_RETURNED);
    assert_int_equal(f->n_growing, 1);
    assert_string_equal(f->growing[0].place->function, "parse_row");
    assert_non_null(strstr(f->headline, "until the end of the program"));
    as_target_findings_free(f);
    /* What was counted never held it: a program that became another by exec. */
    m.program->heap.peak_bytes = 100;
    for (size_t i = 0; i < m.program->n_places; i++) {
        m.program->place[i].growing = false;
        m.program->place[i].site.allocated_bytes = 0;
    }
    m.program->heap.mapped_live_bytes = 0;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_FOUND);
    as_target_findings_free(f);
    m.program->heap.peak_bytes = 100u << 20;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_RETURNED);
    as_target_findings_free(f);
    /* A process that nobody counted may hold it. */
    m.program->process[1].heap_watched = false;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_FOUND);
    as_target_findings_free(f);
    done(&m);
}

static void the_end_of_a_program_is_not_judged(void **state)
{
    double seconds[100], value[100];

    (void)state;
    for (int i = 0; i < 100; i++) {
        seconds[i] = i;
        value[i] = i;
    }
    assert_int_equal(as_series_judged(seconds, value, 100, UNIT_NAN), 100);
    assert_int_equal(as_series_judged(seconds, value, 100, 59), 60);
    value[98] = 7;
    value[99] = 8; /* not even falling all the time */
    assert_int_equal(as_series_judged(seconds, value, 100, UNIT_NAN), 98);
    value[50] = 1e9; /* a peak long ago is no end */
    assert_int_equal(as_series_judged(seconds, value, 100, UNIT_NAN), 98);
    assert_int_equal(as_series_judged(seconds, value, 3, UNIT_NAN), 3);
    assert_int_equal(as_series_judged(seconds, value, 0, UNIT_NAN), 0);
}

/* Fills `value` with growth up to second `until` of ten, then a level. */
static void grow_until(double *seconds, double *value, size_t n, double until)
{
    for (size_t i = 0; i < n; i++) {
        seconds[i] = 10.0 * (double)i / (double)n;
        value[i] = 30 + (seconds[i] < until ? seconds[i] : until) + 0.01 * (double)(i * 7919 % 13);
    }
}

static void growth_stops_when_it_rests_longer_than_before(void **state)
{
    enum { N = 200 };
    double seconds[N], value[N];

    (void)state;
    grow_until(seconds, value, N, 10);
    assert_true(isnan(as_growth_stop(seconds, value, N)));
    value[40] = 1000; /* a peak that comes and goes */
    assert_true(isnan(as_growth_stop(seconds, value, N)));
    grow_until(seconds, value, N, 8);
    value[40] = 1000;
    assert_true(fabs(as_growth_stop(seconds, value, N) - 8) < 0.4);
    for (size_t i = 0; i < N; i++) /* a step every two seconds, the last one just now */
        value[i] = floor(seconds[i] / 1.9);
    assert_true(isnan(as_growth_stop(seconds, value, N)));
    for (size_t i = 0; i < N; i++)
        value[i] = 7;
    assert_true(isnan(as_growth_stop(seconds, value, N)));
    assert_true(isnan(as_growth_stop(seconds, value, 1)));
}

static void growth_in_few_steps_is_seen_when_it_lasts(void **state)
{
    enum { N = 200 };
    double seconds[N], value[N];
    uint32_t steps;

    (void)state;
    for (size_t i = 0; i < N; i++) { /* at 2.4, 4.8, 7.2 and 9.6 of ten */
        seconds[i] = 10.0 * (double)i / N;
        value[i] = 100 + 5 * floor(seconds[i] / 2.4);
    }
    assert_true(as_growth_in_steps(seconds, value, N, 1, &steps) == 20);
    assert_int_equal(steps, 4);
    assert_true(as_growth_in_steps(seconds, value, N, 21, &steps) == 0); /* less than that */
    value[90] = 300; /* what comes and goes hides it */
    assert_true(as_growth_in_steps(seconds, value, N, 1, &steps) == 0);
    value[90] = 113; /* or does not, when it is small */
    assert_true(as_growth_in_steps(seconds, value, N, 1, &steps) == 20);
    for (size_t i = 0; i < N; i++) /* it stopped */
        value[i] = 100 + 5 * floor(fmin(seconds[i], 5) / 1.2);
    assert_true(as_growth_in_steps(seconds, value, N, 1, &steps) == 0);
    for (size_t i = 0; i < N; i++) /* for the most part one step */
        value[i] = 100 + (seconds[i] > 3) + (seconds[i] > 6) * 10 + (seconds[i] > 9);
    assert_true(as_growth_in_steps(seconds, value, N, 1, &steps) == 0);
    for (size_t i = 0; i < N; i++) /* start-up, then a level */
        value[i] = 100 + fmin(seconds[i], 1.4) * 10;
    assert_true(as_growth_in_steps(seconds, value, N, 1, &steps) == 0);
    assert_true(as_growth_in_steps(seconds, value, 1, 0, &steps) == 0);
    assert_true(as_growth_in_steps(seconds, value, 0, 0, &steps) == 0);
}

/* A shell whose child filled its memory, rested, and ended: nobody counted the child's heap. */
static void what_a_child_gave_back_after_a_rest_is_no_leak(void **state)
{
    enum { N = 200 };
    double seconds[N], value[N];
    struct as_process_row process[] = {
        {.pid = 7, .end_seconds = 10, .heap_watched = true, .peak_rss_bytes = as_fact_of(1 << 20)},
        {.pid = 8, .end_seconds = 9.9, .peak_rss_bytes = as_fact_of(40 << 20)},
    };
    struct as_target p = {.heap_known = true,
                          .rss = {.seconds = seconds, .value = value, .n = N},
                          .process = process,
                          .n_processes = 2,
                          .wall_seconds = 10,
                          .judged_until_seconds = UNIT_NAN};
    struct as_target_findings *f;

    (void)state;
    grow_until(seconds, value, N, 7.5);
    for (int i = 0; i < N; i++)
        value[i] *= PROGRAM_KIT_MIB;
    process[1].peak_rss_bytes = as_fact_of(38 << 20);
    process[1].parent_pid = 7;
    assert_int_equal(as_target_findings_new(&f, &p, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_RETURNED);
    assert_true(fabs(f->growth[0].net_bytes / (7.5 * PROGRAM_KIT_MIB) - 1) < 0.1);
    assert_true(fabs(f->growth[0].rate * f->growth[0].length / f->growth[0].net_bytes - 1) < 1e-9);
    assert_non_null(strstr(f->headline, "for the first 7."));
    as_target_findings_free(f);
    /* It is still there, or the command itself holds it, and nobody saw it go. */
    process[1].end_seconds = UNIT_NAN;
    assert_int_equal(as_target_findings_new(&f, &p, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_FOUND);
    as_target_findings_free(f);
    /* Growth until the child ended may be a leak, and says what would tell. */
    process[1].end_seconds = 9.9;
    grow_until(seconds, value, N, 10);
    for (int i = 0; i < N; i++)
        value[i] *= PROGRAM_KIT_MIB;
    value[N - 1] = PROGRAM_KIT_MIB;
    assert_int_equal(as_target_findings_new(&f, &p, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_FOUND);
    assert_non_null(strstr(f->verdict_text, "--follow"));
    as_target_findings_free(f);
}

/* A place of several watched processes is told with its process; the machine's memory lasts. */
static void growth_says_whose_and_how_long(void **state)
{
    struct made m = make(&(struct program_kit){.leaks = true});
    const struct as_target_series *rss = &m.program->rss;
    struct as_target_findings *f;

    (void)state;
    m.program->n_heaps = 2;
    m.program->free_bytes =
        rss->value[rss->n - 1] - rss->value[0] + 120 * PROGRAM_KIT_MIB; /* 100 s of it */
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_non_null(strstr(f->growing[0].text, "pid 4242"));
    assert_true(fabs(f->growth[0].seconds_to_exhaustion / 100 - 1) < 0.05);
    assert_non_null(strstr(f->growth[f->n_growths - 1].text, "memory lasts"));
    assert_string_equal(f->growth[0].headroom_of, "machine");
    as_target_findings_free(f);
    /* Of what a limit leaves, when that is less. */
    m.program->group_limit_bytes = rss->value[rss->n - 1] + 12 * PROGRAM_KIT_MIB;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_string_equal(f->growth[0].headroom_of, "control_group");
    assert_true(fabs(f->growth[0].seconds_to_exhaustion / 10 - 1) < 0.05);
    assert_non_null(strstr(f->growth[f->n_growths - 1].text, "the limit of its control group"));
    as_target_findings_free(f);
    m.program->address_limit_bytes = rss->value[rss->n - 1] + 6 * PROGRAM_KIT_MIB;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_string_equal(f->growth[0].headroom_of,
                        "control_group"); /* of which of them nobody knows */
    as_target_findings_free(f);
    m.program->n_processes = 1;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_string_equal(f->growth[0].headroom_of, "address_space");
    as_target_findings_free(f);
    m.program->free_bytes = m.program->group_limit_bytes = UNIT_NAN;
    m.program->address_limit_bytes = UNIT_NAN;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_true(isnan(f->growth[0].seconds_to_exhaustion) && !f->growth[0].headroom_of);
    assert_non_null(strstr(f->growth[0].headroom_why, "unknown"));
    as_target_findings_free(f);
    done(&m);
}

static void mappings_that_stay_are_growth(void **state)
{
    struct made m = make(&(struct program_kit){.maps = true});
    struct as_target_findings *f;

    (void)state;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_FOUND);
    assert_non_null(strstr(f->mapping_text, "64.0 MiB mapped (address space"));
    assert_non_null(strstr(f->verdict_text, "libarena.so"));
    assert_non_null(strstr(f->live_text, "and 64.0 MiB mapped"));
    as_target_findings_free(f);
    m.program->heap.mapped_live_bytes = m.program->heap.live_bytes = 0;
    m.program->heap.live_blocks = 0;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_null(f->live_text);
    as_target_findings_free(f);
    done(&m);
}

static void a_short_run_is_said_to_be_short(void **state)
{
    struct made m = make(&(struct program_kit){.leaks = true});
    struct as_target_findings *f;

    (void)state;
    m.program->wall_seconds = 0.9;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_FOUND);
    assert_non_null(strstr(f->headline, "the end of a short run"));
    as_target_findings_free(f);
    done(&m);
}

/* Counts have a verdict of their own: a cache of files that has filled is none. */
static void descriptors_and_threads_that_are_kept_are_leaks(void **state)
{
    enum { N = 200 };
    double seconds[N], count[N], level[N];
    struct as_process_row process = {.pid = 7,
                                     .heap_watched = true,
                                     .peak_rss_bytes = as_fact_of(1 << 20),
                                     .threads_most = as_fact_of(2),
                                     .descriptors_most = as_fact_of(53)};
    struct as_target p = {.heap_known = true,
                          .anon = {.seconds = seconds, .value = level, .n = N},
                          .descriptors = {.seconds = seconds, .value = count, .n = N},
                          .process = &process,
                          .n_processes = 1,
                          .wall_seconds = 10,
                          .judged_until_seconds = UNIT_NAN,
                          .exit_live_bytes = UNIT_NAN};
    struct as_target_findings *f;

    (void)state;
    for (int i = 0; i < N; i++) {
        seconds[i] = 0.05 * i;
        level[i] = PROGRAM_KIT_MIB;
        count[i] = 3 + i / 4;
    }
    assert_int_equal(as_target_findings_new(&f, &p, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_FOUND);
    assert_string_equal(f->growth[1].key, "descriptors");
    assert_true(f->growth[1].counts && fabs(f->growth[1].rate - 5) < 0.2);
    assert_non_null(strstr(f->headline, "leak: open descriptors keep growing"));
    assert_non_null(strstr(f->verdict_text, "most in process 7: 53"));
    as_target_findings_free(f);
    for (int i = 0; i < N; i++)
        count[i] = i < N / 2 ? 3 + i / 4 : 3 + N / 8;
    assert_int_equal(as_target_findings_new(&f, &p, NULL), ASSAY_OK);
    assert_true(f->verdict == AS_GROWTH_STOPPED || f->verdict == AS_GROWTH_NONE);
    as_target_findings_free(f);
    for (int i = 0; i < N; i++)
        count[i] = 3 + i / 40; /* five more: no leak yet */
    assert_int_equal(as_target_findings_new(&f, &p, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_NONE);
    as_target_findings_free(f);
    p.threads = p.descriptors;
    p.descriptors = (struct as_target_series){0};
    for (int i = 0; i < N; i++)
        count[i] = 1 + i / 3;
    assert_int_equal(as_target_findings_new(&f, &p, NULL), ASSAY_OK);
    assert_non_null(strstr(f->headline, "leak: threads keep growing"));
    as_target_findings_free(f);
}

/* What only destructors free behind main was kept. */
static void what_is_freed_behind_main_was_kept(void **state)
{
    struct made m = make(&(struct program_kit){.leaks = true, .returns = true});
    struct as_target_findings *f;

    (void)state;
    for (size_t i = 0; i < m.program->n_processes; i++)
        m.program->process[i].heap_watched = true;
    m.program->n_heaps = 1;
    m.program->exit_live_bytes = 0; /* it freed all of it itself */
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_RETURNED);
    as_target_findings_free(f);
    m.program->exit_live_bytes = 100 * PROGRAM_KIT_MIB;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_FOUND);
    assert_non_null(strstr(f->headline, "only by destructors and exit handlers"));
    as_target_findings_free(f);
    done(&m);
}

static void memory_that_only_warms_up_does_not_grow(void **state)
{
    struct made m = make(&(struct program_kit){0});
    struct as_target_findings *f;

    (void)state;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_NONE);
    assert_int_equal(f->n_growing, 0);
    as_target_findings_free(f);
    done(&m);
}

static void too_few_readings_are_no_verdict(void **state)
{
    struct made m = make(&(struct program_kit){.leaks = true, .seconds = 0.4});
    struct as_target_findings *f;

    (void)state;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_UNKNOWN);
    assert_non_null(strstr(f->verdict_text, "not enough data"));
    assert_true(f->growth[0].judged < AS_TARGET_MIN_SAMPLES);
    as_target_findings_free(f);
    done(&m);
    /* More were taken than can be judged: the sentence tells the ones that count. */
    m = make(&(struct program_kit){.leaks = true, .seconds = 1.75});
    m.program->judged_until_seconds = 1.22;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    assert_int_equal(f->verdict, AS_GROWTH_UNKNOWN);
    assert_non_null(
        strstr(f->verdict_text, "not enough data: 25 samples before the program ended, need 30"));
    assert_non_null(strstr(f->growth[0].text, "not enough data: 25 samples"));
    as_target_findings_free(f);
    done(&m);
}

static const struct assay_finding *cause_of(const struct as_target_findings *f, const char *rule)
{
    for (size_t i = 0; i < f->n_causes; i++)
        if (strcmp(f->cause[i].rule, rule) == 0)
            return &f->cause[i];
    return NULL;
}

static void causes_have_figures_and_bounds(void **state)
{
    struct made m = make(&(struct program_kit){.waits = true});
    struct as_target_findings *f;
    const struct assay_finding *c;

    (void)state;
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    c = cause_of(f, "program-waits");
    assert_non_null(c);
    assert_true(fabs(c->expected_gain - 0.95) < 1e-6);
    assert_non_null(strstr(c->evidence, "95 %"));
    c = cause_of(f, "storage-wait");
    assert_non_null(c);
    assert_true(fabs(c->expected_gain - 7.5 / 14) < 1e-6);
    assert_non_null(cause_of(f, "heap-churn"));
    assert_non_null(strstr(cause_of(f, "heap-churn")->evidence, "make_temp+0x20"));
    assert_null(cause_of(f, "processors-idle"));
    for (size_t i = 1; i < f->n_causes; i++)
        assert_false(f->cause[i].severity > f->cause[i - 1].severity);
    as_target_findings_free(f);
    done(&m);
}

static struct as_target_findings *findings_of(const struct made *m)
{
    struct as_target_findings *f = NULL;

    assert_int_equal(as_target_findings_new(&f, m->program, NULL), ASSAY_OK);
    return f;
}

static void who_is_pushed_aside_does_not_wait_by_itself(void **state)
{
    struct made m = make(&(struct program_kit){.waits = true});
    struct as_target_findings *f;
    const struct assay_finding *c;

    (void)state;
    m.program->processors = 2;
    m.program->n_processes = 1;
    m.program->process[0].threads_most.value = 2;
    m.program->switches_voluntary.value =
        2; /* these say nothing: one that yields is switched, too */
    m.program->switches_involuntary.value = 1071;
    f = findings_of(&m);
    assert_null(cause_of(f, "waits-for-processor"));
    assert_non_null(cause_of(f, "program-waits"));
    as_target_findings_free(f);
    m.program->cpu_user_ns.value = m.program->run_delay_ns.value =
        5000000000u; /* as long as it runs */
    m.program->cpu_system_ns.value = 0;
    f = findings_of(&m);
    c = cause_of(f, "waits-for-processor");
    assert_non_null(c);
    assert_non_null(strstr(c->finding, "other programs used"));
    assert_non_null(strstr(c->evidence, "50 %"));
    assert_true(fabs(c->expected_gain - 5.0 / 14) < 1e-6); /* no more than was waited */
    assert_null(cause_of(f, "program-waits"));
    as_target_findings_free(f);
    m.program->run_delay_ns.value = 100000000u; /* of 14 s: nothing is won by it */
    m.program->cpu_user_ns.value = 100000000u;
    f = findings_of(&m);
    assert_null(cause_of(f, "waits-for-processor"));
    assert_non_null(cause_of(f, "program-waits"));
    as_target_findings_free(f);
    m.program->cpu_user_ns.value = m.program->run_delay_ns.value = 5000000000u;
    m.program->process[0].threads_most.value = 3; /* on two CPUs */
    f = findings_of(&m);
    c = cause_of(f, "waits-for-processor");
    assert_non_null(c);
    assert_non_null(strstr(c->finding, "more of them than CPUs"));
    as_target_findings_free(f);
    m.program->run_delay_ns.value = 0;
    /* A third of the time is not most of it. */
    m.program->switches_voluntary.value = 10000;
    m.program->cpu_user_ns.value = 9000000000u;
    m.program->cpu_system_ns.value = 0;
    f = findings_of(&m);
    c = cause_of(f, "program-waits");
    assert_non_null(c);
    assert_null(strstr(c->finding, "most"));
    as_target_findings_free(f);
    done(&m);
}

static void churn_needs_temporary_blocks(void **state)
{
    struct made m = make(&(struct program_kit){.waits = true});
    struct as_target_findings *f;

    (void)state;
    m.program->heap.allocations = 140000000;
    for (size_t i = 0; i < m.program->n_places; i++)
        m.program->place[i].site.temporary = 1;
    f = findings_of(&m);
    assert_null(cause_of(f, "heap-churn"));
    as_target_findings_free(f);
    done(&m);
}

static void faults_advise_what_exists_and_helps(void **state)
{
    struct made m = make(&(struct program_kit){0});
    struct as_target_findings *f;
    const char *advice;

    (void)state;
    m.program->heap.allocated_bytes = 4096u * 523456ull;
    f = findings_of(&m);
    advice = cause_of(f, "page-faults")->action;
    assert_non_null(strstr(advice, "MALLOC_MMAP_THRESHOLD_"));
    assert_non_null(strstr(advice, "M_TRIM_THRESHOLD of mallopt"));
    as_target_findings_free(f);
    m.program->heap.allocated_bytes = 100;
    f = findings_of(&m);
    advice = cause_of(f, "page-faults")->action;
    assert_null(strstr(advice, "THRESHOLD"));
    assert_non_null(strstr(advice, "MAP_POPULATE"));
    as_target_findings_free(f);
    done(&m);
}

static void products_are_held_against_the_roof_when_it_is_known(void **state)
{
    struct made m = make(&(struct program_kit){0});
    struct as_target_findings *f;
    const struct assay_finding *c;
    struct as_peaks peaks = {.n_counts = 1, .threads = {1}};

    (void)state;
    for (int t = 0; t < AS_PEAK_TYPE_COUNT; t++)
        peaks.compute[t][0].rate = 2.0 * 512 * 512 * 512 * 1000;
    m.program->peaks = &peaks;
    assert_true(fabs(as_gemm_roof_share(m.program, &m.program->gemm[0]) - 0.25) < 1e-9);
    assert_int_equal(as_target_findings_new(&f, m.program, NULL), ASSAY_OK);
    c = cause_of(f, "gemm-below-roofline");
    assert_non_null(c);
    assert_true(fabs(c->expected_gain - 8.0 / 14 * 0.75) < 1e-6);
    assert_null(strstr(c->action, "small"));          /* 512 on each side */
    assert_non_null(strstr(c->action, "is unknown")); /* nobody asked the library */
    assert_non_null(cause_of(f, "processors-idle"));
    as_target_findings_free(f);
    m.program->gemm_core = "Haswell";
    m.program->cpu_vectors = "avx512";
    f = findings_of(&m);
    c = cause_of(f, "gemm-below-roofline");
    assert_non_null(
        strstr(c->action, "reports kernels for Haswell (AVX2), and the CPU has AVX-512"));
    assert_non_null(strstr(c->action, "OPENBLAS_CORETYPE=SkylakeX"));
    as_target_findings_free(f);
    m.program->gemm_core = "Cooperlake";
    f = findings_of(&m);
    c = cause_of(f, "gemm-below-roofline");
    assert_null(strstr(c->action, "OPENBLAS_CORETYPE"));
    assert_non_null(strstr(c->action, "kernels for Cooperlake"));
    as_target_findings_free(f);
    m.program->gemm[0].n = 8;
    f = findings_of(&m);
    assert_non_null(strstr(cause_of(f, "gemm-below-roofline")->action, "batch small GEMM calls"));
    as_target_findings_free(f);
    done(&m);
}

/* Readings are dense at first: neither that nor the end of the run makes a leak faster than it is.
 */
static void a_leak_is_told_by_time_and_its_site_by_bytes(void **state)
{
    enum { N = 120, BLOCK = 100000 };
    double seconds[N], live[N], t = 0.001;
    struct as_target_site place = {.site = {.kind = AS_HEAP_MALLOC},
                                   .function = "main",
                                   .growing = true,
                                   .growth_bytes_per_second = 9.6e6,
                                   .growth_p_value = 1e-9};
    struct as_target p = {.heap_known = true,
                          .heap_live = {.seconds = seconds, .value = live, .n = N},
                          .place = &place,
                          .n_places = 1,
                          .n_heaps = 1,
                          .judged_until_seconds = UNIT_NAN};
    struct as_target_findings *f;

    (void)state;
    for (int i = 0; i < N; i++) { /* a block every 10 ms */
        seconds[i] = t;
        live[i] = BLOCK * (1 + floor(t / 0.01));
        t += i < 20 ? 0.002 : 0.012 + 0.0006 * (i * 7919 % 13);
    }
    p.wall_seconds = t;
    p.heap.allocations = (uint64_t)(live[N - 1] / BLOCK);
    p.heap.allocated_bytes = p.heap.live_bytes = (uint64_t)live[N - 1];
    place.site.live_bytes = place.site.allocated_bytes = (uint64_t)live[N - 1];
    place.growth_from_seconds = seconds[24];
    place.growth_to_seconds = seconds[N - 1];
    place.rise_bytes = place.growth_bytes = live[N - 1] - live[24];
    assert_int_equal(as_target_findings_new(&f, &p, NULL), ASSAY_OK);
    assert_int_equal(f->growth[0].verdict, AS_GROWTH_FOUND);
    assert_true(fabs(f->growth[0].rate / 1e7 - 1) < 0.02);
    assert_true(f->growth[0].rate * f->growth[0].length <= live[N - 1] * (1 + 1e-9));
    assert_true(fabs(f->growing[0].share - 1) < 1e-9);
    as_target_findings_free(f);
}

/* A product of a matrix with a vector is bound by memory: bytes decide its roof. */
static void thin_products_are_held_against_the_bandwidth(void **state)
{
    struct as_gemm_calls calls = {.function = "cblas_sgemv",
                                  .dtype = "f32",
                                  .m = 4096,
                                  .n = 1,
                                  .k = 4096,
                                  .batch = 1,
                                  .calls = 10,
                                  .flops = 2.0 * 4096 * 4096,
                                  .time_ns = 100000000};
    struct as_peaks peaks = {.n_counts = 1, .threads = {1}};
    const struct as_target program = {.peaks = &peaks};
    double bytes = 4.0 * (4096.0 * 4096 + 2 * 4096);

    (void)state;
    peaks.compute[AS_PEAK_F32][0].rate = 100e9;
    peaks.bandwidth[AS_PEAK_DRAM][AS_PEAK_READ][0].rate = 10e9;
    /* 10 ms a call; its bytes alone take bytes / 10e9, its arithmetic a twentieth of that. */
    assert_true(fabs(as_gemm_roof_share(&program, &calls) - bytes / 10e9 / 0.01) < 1e-9);
    calls.n = 4096; /* and of a square one the arithmetic decides */
    calls.flops *= 4096;
    assert_true(fabs(as_gemm_roof_share(&program, &calls) - calls.flops / 100e9 / 0.01) < 1e-6);
    calls.calls = 0;
    assert_true(isnan(as_gemm_roof_share(&program, &calls)));
}

static void long_lists_go_into_several_blocks(void **state)
{
    struct made m = make(&(struct program_kit){.n_sites = 25000});

    (void)state;
    assert_int_equal(m.program->passed_over, 0);
    assert_int_equal(m.program->n_places, 20000);
    assert_int_equal(m.program->places_left_out, 5000);
    assert_true(program_kit_largest < 4u << 20);
    assert_true(program_kit_largest > 2u << 20);
    done(&m);
}

static void without_a_session_nothing_is_written(void **state)
{
    const struct as_watch_facts facts = {.argv = (const char *const[]){"x"}, .n_args = 1};
    struct assay_error err;

    (void)state;
    assert_int_equal(as_watch_record_facts(&facts, &err), ASSAY_ERR_STATE);
    assert_int_equal(as_watch_record_processes(NULL, 0, &err), ASSAY_ERR_STATE);
    assert_int_equal(as_watch_record_gemm(1, NULL, 0, 0, &err), ASSAY_ERR_STATE);
}

static void another_run_tells_nothing_of_a_program(void **state)
{
    struct assay_error err;
    struct as_target *p;
    struct as_run *run;
    struct kit k;

    (void)state;
    kit_begin(&k);
    kit_end(&k, 0, 0);
    run = kit_open(&k);
    assert_false(as_target_in_run(run));
    assert_int_equal(as_target_analyze(&p, run, &err), ASSAY_ERR_NOTFOUND);
    assert_null(p);
    as_run_close(run);
    kit_close(&k);
}

#define PROGRAM "{\"argv\":[\"x\"],\"exit_status\":0,\"wall_seconds\":1}"

static void blocks_that_make_no_sense_are_counted(void **state)
{
    static const struct {
        const char *kind, *json;
        uint64_t passed_over; /* at least */
    } bad[] = {
        {"processes", "[", 1},
        {"processes", "[]", 1},
        {"processes", "7", 1},
        {"processes", "{\"processes\":7}", 1},
        {"processes", "{\"processes\":[7,null,[],{}]}", 4},
        {"processes", "{\"processes\":[{\"pid\":\"x\",\"parent_pid\":1,\"start_seconds\":0}]}", 1},
        {"processes", "{\"processes\":[{\"pid\":1,\"parent_pid\":1,\"start_seconds\":null}]}", 1},
        {"processes", "{\"processes\":[{\"pid\":99999999999999999999,\"parent_pid\":1}]}", 1},
        {"heap", "{\"pid\":1}", 1},
        {"heap", "{\"pid\":1,\"allocations\":-1}", 1},
        {"heap_sites", "{\"pid\":[],\"sites\":[{\"id\":1,\"kind\":99,\"layer\":null}]}", 2},
        {"heap_sites", "{\"sites\":[{\"id\":4294967296,\"kind\":0,\"layer\":null}]}", 1},
        {"heap_stacks", "{\"stacks\":[{\"frames\":7,\"samples\":1,\"layer\":null}]}", 1},
        {"heap_stacks", "{\"stacks\":[{\"frames\":[7],\"samples\":1,\"layer\":null}]}", 1},
        {"heap_layers", "{\"layers\":[{\"name\":3}]}", 1},
        {"heap_series", "{\"series\":[{\"id\":1,\"seconds\":[1],\"live_bytes\":[1,2]}]}", 1},
        {"heap_series", "{\"series\":[{\"id\":1,\"seconds\":[2,1],\"live_bytes\":[1,2]}]}", 1},
        {"gemm", "{\"left_out\":-3,\"calls\":[{\"function\":1}]}", 2},
        {"heap_iterations", "{\"live_bytes\":[1,\"x\",{}]}", 2},
        {"program", "{\"argv\":[\"y\"],\"exit_status\":0,\"wall_seconds\":1}", 1},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct as_target *p;
        struct as_run *run;
        struct kit k;

        kit_begin(&k);
        program_kit_run = &k;
        assert_int_equal(as_session_data("program", PROGRAM, strlen(PROGRAM), NULL), 0);
        assert_int_equal(as_session_data(bad[i].kind, bad[i].json, strlen(bad[i].json), NULL), 0);
        program_kit_run = NULL;
        kit_end(&k, 0, 0);
        run = kit_open(&k);
        assert_int_equal(as_target_analyze(&p, run, NULL), ASSAY_OK);
        if (p->passed_over < bad[i].passed_over)
            fail_msg("%s: %llu passed over", bad[i].json, (unsigned long long)p->passed_over);
        assert_string_equal(p->argv[0], "x");
        as_target_free(p);
        as_run_close(run);
        kit_close(&k);
    }
}

/* Everything that is done with a run; 0 or NOMEM. */
static int use_all(struct as_run *run)
{
    const struct as_term term = {.width = 80, .unicode = true};
    const struct as_show show = AS_SHOW_INIT;
    struct as_out out;
    int rc = as_out_memory(&out, NULL);

    if (rc < 0)
        return rc;
    rc = as_show_page(run, &show, &out, &term, NULL);
    if (rc == ASSAY_OK)
        rc = as_show_json(run, &show, &out, NULL);
    if (!as_out_ok(&out))
        rc = ASSAY_ERR_NOMEM;
    as_out_drop(&out);
    return rc;
}

static void every_allocation_may_fail(void **state)
{
    struct as_run *run;
    struct kit k;
    uint64_t needed;

    (void)state;
    program_kit_make(&k, &(struct program_kit){.leaks = true, .marks = true});
    run = kit_open(&k);
    as_alloc_fail_at(0, 0);
    assert_int_equal(use_all(run), ASSAY_OK);
    needed = as_alloc_count(); /* 0 in builds that cannot make them fail */
    for (uint64_t nth = 1; nth <= needed; nth++) {
        int rc;

        as_alloc_fail_at(nth, 1);
        rc = use_all(run);
        as_alloc_fail_at(0, 0);
        assert_int_equal(rc, ASSAY_ERR_NOMEM);
    }
    as_run_close(run);
    kit_close(&k);
}

/* As runs of before had them. */
static void frames_that_are_texts_are_taken_apart(void **state)
{
    static const struct {
        const char *text, *function, *module;
        uint64_t offset;
    } frames[] = {
        {"main+0x17 (a.out)", "main", "a.out", 0x17},
        {"operator new(unsigned long)+0x1c (libstdc++.so.6)", "operator new(unsigned long)",
         "libstdc++.so.6", 0x1c},
        {"operator+(a, b)+0x2 (x)", "operator+(a, b)", "x", 2},
        {"(anonymous namespace)::f()+0x2 (x)", "(anonymous namespace)::f()", "x", 2},
        {"0x1234 (libx.so)", NULL, "libx.so", 0x1234},
        {"0x7f0123", NULL, NULL, 0x7f0123},
        {"main+0x17", "main", NULL, 0x17},
        {"main", "main", NULL, 0},
        {"", NULL, NULL, 0},
        {" ()", NULL, NULL, 0},
    };
    struct as_arena arena = {0};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(frames); i++) {
        const struct as_heap_frame *f = as_heap_frame_parse(frames[i].text, &arena);

        assert_non_null(f);
        assert_int_equal(f->function != NULL, frames[i].function != NULL);
        assert_int_equal(f->module != NULL, frames[i].module != NULL);
        if (f->function)
            assert_string_equal(f->function, frames[i].function);
        if (f->module)
            assert_string_equal(f->module, frames[i].module);
        assert_int_equal(f->offset, frames[i].offset);
    }
    as_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_back),
        cmocka_unit_test(frames_that_are_texts_are_taken_apart),
        cmocka_unit_test(no_stack_is_estimated_above_what_was_counted),
        cmocka_unit_test(the_same_products_of_two_processes_are_one_row),
        cmocka_unit_test(a_leak_is_told_with_its_place),
        cmocka_unit_test(what_is_given_back_at_the_end_is_no_leak),
        cmocka_unit_test(the_end_of_a_program_is_not_judged),
        cmocka_unit_test(growth_says_whose_and_how_long),
        cmocka_unit_test(mappings_that_stay_are_growth),
        cmocka_unit_test(a_short_run_is_said_to_be_short),
        cmocka_unit_test(descriptors_and_threads_that_are_kept_are_leaks),
        cmocka_unit_test(what_is_freed_behind_main_was_kept),
        cmocka_unit_test(memory_that_only_warms_up_does_not_grow),
        cmocka_unit_test(too_few_readings_are_no_verdict),
        cmocka_unit_test(growth_stops_when_it_rests_longer_than_before),
        cmocka_unit_test(growth_in_few_steps_is_seen_when_it_lasts),
        cmocka_unit_test(what_a_child_gave_back_after_a_rest_is_no_leak),
        cmocka_unit_test(causes_have_figures_and_bounds),
        cmocka_unit_test(who_is_pushed_aside_does_not_wait_by_itself),
        cmocka_unit_test(churn_needs_temporary_blocks),
        cmocka_unit_test(faults_advise_what_exists_and_helps),
        cmocka_unit_test(products_are_held_against_the_roof_when_it_is_known),
        cmocka_unit_test(a_leak_is_told_by_time_and_its_site_by_bytes),
        cmocka_unit_test(thin_products_are_held_against_the_bandwidth),
        cmocka_unit_test(long_lists_go_into_several_blocks),
        cmocka_unit_test(without_a_session_nothing_is_written),
        cmocka_unit_test(another_run_tells_nothing_of_a_program),
        cmocka_unit_test(blocks_that_make_no_sense_are_counted),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
