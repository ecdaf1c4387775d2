/* report/machine/machine_text.c - what the machine is, what it can do and whether it is fit to
 * measure. This file is the page for people; machine_json.c has the same for programs. */
#include "report/machine/machine_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"

static const char *plural(unsigned n)
{
    return n == 1 ? "" : "s";
}

static const char *cpu_name(const struct as_topology *t)
{
    return t->cpu.model[0] ? t->cpu.model : "Unknown processor";
}

static void put_title(const struct as_machine_report *r, struct as_page *page)
{
    const struct as_topology *t = r->topology;
    const char *guest = t->hypervisor[0] ? t->hypervisor : "virtual";
    char memory[AS_TEXT_HUMAN] = "unknown";

    if (!t->memory_bytes.why)
        as_text_bytes(memory, (double)t->memory_bytes.value);
    as_page_title(page, cpu_name(t));
    as_page_line(page, AS_STYLE_DIM,
                 "%u socket%s, %u core%s, %u thread%s, %u NUMA node%s, %s of memory%s%s%s",
                 t->n_sockets, plural(t->n_sockets), t->n_cores, plural(t->n_cores), t->n_threads,
                 plural(t->n_threads), t->n_numa, plural(t->n_numa), memory,
                 t->cpu.virtual_machine ? ", " : "", t->cpu.virtual_machine ? guest : "",
                 t->cpu.virtual_machine ? " machine" : "");
}

void as_machine_named_line(struct as_page *page, const struct as_topology *topology)
{
    char isa[AS_ISA_TEXT];

    as_page_cut_line(page, AS_STYLE_DIM, "%s, %u core%s, %u usable CPU%s",
                     as_page_name(page, cpu_name(topology)), topology->n_cores,
                     plural(topology->n_cores), topology->n_usable, plural(topology->n_usable));
    as_page_line(page, AS_STYLE_DIM, "kernels %s", as_isa_text(isa, &topology->isa));
}

/* "2.99 GHz, 2.80 GHz under vectors", and who decides it. */
static void put_speed(const struct as_machine_report *r, struct as_page *page)
{
    const struct as_cpu_frequency *f = &r->topology->frequency;
    static const char *const turbo[] = {"turbo unknown", "turbo off", "turbo on"};
    char low[AS_TEXT_HUMAN], high[AS_TEXT_HUMAN], cycle[64] = "";
    double fma = as_peak_fma_a_cycle(r->peaks);

    as_text_si(low, r->peaks->frequency_hz, "Hz");
    as_text_si(high, r->peaks->vector_hz, "Hz");
    as_page_pair(page, AS_STYLE_NONE, "speed", "%s, %s with vector instructions", low, high);
    if (!f->min_hz.why && !f->max_hz.why) {
        as_text_si(low, (double)f->min_hz.value, "Hz");
        as_text_si(high, (double)f->max_hz.value, "Hz");
        as_page_pair(page, AS_STYLE_DIM, NULL, "allowed range %s to %s", low, high);
    }
    if (isfinite(fma))
        (void)snprintf(cycle, sizeof cycle, "%.2f vector FMA per cycle; ", fma);
    as_page_pair(page, AS_STYLE_DIM, NULL, "%sgovernor %s, %s", cycle,
                 f->governor_why ? "unknown" : f->governor, turbo[f->turbo]);
}

/* Those that decide which kernels run; the JSON has all. */
static void put_isa(const struct as_machine_report *r, struct as_page *page)
{
    static const enum as_cpu_isa shown[] = {
        AS_CPU_FMA,         AS_CPU_AVX2,        AS_CPU_AVX512F,  AS_CPU_AVX512_VNNI,
        AS_CPU_AVX512_BF16, AS_CPU_AVX512_FP16, AS_CPU_AMX_TILE, AS_CPU_ASIMD,
        AS_CPU_ASIMDDP,     AS_CPU_SVE,         AS_CPU_BF16,     AS_CPU_I8MM,
    };
    const struct as_cpu_info *cpu = &r->topology->cpu;
    char text[400] = "", used[AS_ISA_TEXT];
    size_t size = 0;

    for (size_t i = 0; i < AS_COUNT_OF(shown); i++)
        if (as_cpu_has(cpu, shown[i]))
            size += (size_t)snprintf(text + size, sizeof text - size, "%s%s", size ? " " : "",
                                     as_cpu_isa_name(shown[i]));
    if (size == 0)
        (void)snprintf(text, sizeof text, "%s",
                       cpu->flags_known ? "none known" : "the kernel does not report them");
    as_page_pair(page, AS_STYLE_NONE, "vectors", "%s", text);
    as_page_pair(page, AS_STYLE_NONE, "kernels", "%s", as_isa_text(used, &r->topology->isa));
}

static const char *limit_text(char out[AS_TEXT_HUMAN + 16], const struct as_limit *limit,
                              const char *value)
{
    (void)snprintf(out, AS_TEXT_HUMAN + 16, "%s",
                   limit->why   ? "unknown"
                   : limit->set ? value
                                : "none");
    return out;
}

static void put_limits(const struct as_machine_report *r, struct as_page *page)
{
    const struct as_topology *t = r->topology;
    char value[AS_TEXT_HUMAN], quota[AS_TEXT_HUMAN + 16], memory[AS_TEXT_HUMAN + 16];
    char left[AS_TEXT_HUMAN] = "unknown";

    (void)snprintf(value, sizeof value, "%.2f processors", t->container.cpu_quota.value);
    limit_text(quota, &t->container.cpu_quota, value);
    as_text_bytes(value, t->container.memory_bytes.value);
    limit_text(memory, &t->container.memory_bytes, value);
    if (!r->headroom->left.why)
        as_text_bytes(left, (double)r->headroom->left.value);
    as_page_pair(page, AS_STYLE_NONE, "usable", "%u CPU%s, %s of memory", t->n_usable,
                 plural(t->n_usable), left);
    as_page_pair(page, AS_STYLE_NONE, "limits", "CPUs %s, memory %s", quota, memory);
}

static void put_system(const struct as_machine_report *r, struct as_page *page)
{
    const struct as_topology *t = r->topology;
    char load[64] = "unknown";

    if (!r->load->load_1.why)
        (void)snprintf(load, sizeof load, "%.2f (1 min), %.2f (5 min), %.2f (15 min)",
                       r->load->load_1.value, r->load->load_5.value, r->load->load_15.value);
    as_page_pair(page, AS_STYLE_NONE, "load", "%s before this command", load);
    as_page_pair(page, AS_STYLE_DIM, "system", "Linux %s, clock %s, huge pages %s",
                 t->kernel[0] ? t->kernel : "unknown",
                 t->clock_source[0] ? t->clock_source : "unknown",
                 t->huge_pages[0] ? t->huge_pages : "unknown");
}

/* A column for each thread count; those between the first and the last go when it is too narrow. */
static size_t add_counts(struct as_table_column *columns, size_t at, char (*titles)[24],
                         const struct as_peaks *p)
{
    for (unsigned i = 0; i < p->n_counts; i++) {
        bool middle = i > 0 && i + 1 < p->n_counts;

        (void)snprintf(titles[i], sizeof titles[i], "%u thread%s", p->threads[i],
                       plural(p->threads[i]));
        columns[at++] = (struct as_table_column){
            .title = titles[i], .align = AS_ALIGN_RIGHT, .drop = middle ? 20 + i : 0};
    }
    return at;
}

static void put_rates(struct as_table *t, const struct as_peaks *p, const struct as_peak *row,
                      const char *unit)
{
    for (unsigned i = 0; i < p->n_counts; i++) {
        char rate[AS_TEXT_HUMAN];

        as_text_si(rate, row[i].rate, unit);
        as_table_text(t, AS_STYLE_NONE, rate);
    }
}

static void put_spread(struct as_table *t, const struct as_peaks *p, const struct as_peak *row)
{
    char text[AS_TEXT_HUMAN];

    as_text_percent(text, row[p->n_counts - 1].spread);
    as_table_text(t, AS_STYLE_DIM, text);
}

static void put_compute(const struct as_machine_report *r, struct as_page *page)
{
    const struct as_peaks *p = r->peaks;
    struct as_table_column columns[AS_PEAK_MAX_COUNTS + 4] = {{.title = "type"},
                                                              {.title = "by", .drop = 2}};
    char titles[AS_PEAK_MAX_COUNTS][24], unit[16];
    size_t n = add_counts(columns, 2, titles, p);
    struct as_table t;

    columns[n++] = (struct as_table_column){.title = "scaling", .align = AS_ALIGN_RIGHT, .drop = 3};
    columns[n++] = (struct as_table_column){.title = "spread", .align = AS_ALIGN_RIGHT, .drop = 4};
    as_page_heading(page, "Peak compute", "FMA on registers; 1 FMA = 2 FLOP");
    as_table_init(&t, columns, n);
    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++) {
        const struct as_peak *row = p->compute[type];
        double scaling = row[p->n_counts - 1].rate / row[0].rate;

        (void)snprintf(unit, sizeof unit, "%s/s", as_peak_type_unit((enum as_peak_type)type));
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_peak_type_name((enum as_peak_type)type));
        as_table_text(&t, AS_STYLE_DIM, row[0].isa ? row[0].isa : "-");
        put_rates(&t, p, row, unit);
        if (isfinite(scaling))
            as_table_printf(&t, AS_STYLE_NONE, "%.2fx", scaling);
        else
            as_table_text(&t, AS_STYLE_NONE, "-");
        put_spread(&t, p, row);
    }
    as_page_table(page, &t);
    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
        if (p->compute[type][0].why)
            as_page_line(page, AS_STYLE_DIM, "%s: %s", as_peak_type_name((enum as_peak_type)type),
                         p->compute[type][0].why);
}

static void put_bytes(struct as_table *t, enum as_style style, uint64_t bytes)
{
    char text[AS_TEXT_HUMAN] = "-";

    if (bytes)
        as_text_bytes(text, (double)bytes);
    as_table_text(t, style, text);
}

static void put_bandwidth(const struct as_machine_report *r, struct as_page *page)
{
    const struct as_peaks *p = r->peaks;
    struct as_table_column columns[AS_PEAK_MAX_COUNTS + 5] = {
        {.title = "level"},
        {.title = "size", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "working set", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "access"}};
    char titles[AS_PEAK_MAX_COUNTS][24];
    size_t n = add_counts(columns, 4, titles, p);
    struct as_table t;

    columns[n++] = (struct as_table_column){.title = "spread", .align = AS_ALIGN_RIGHT, .drop = 4};
    as_page_heading(page, "Memory bandwidth",
                    "bytes requested by the program (STREAM convention), all threads");
    as_table_init(&t, columns, n);
    for (int i = 0; i < AS_PEAK_LEVEL_COUNT * AS_PEAK_ACCESS_COUNT; i++) {
        enum as_peak_level level = (enum as_peak_level)(i / AS_PEAK_ACCESS_COUNT);
        enum as_peak_access access = (enum as_peak_access)(i % AS_PEAK_ACCESS_COUNT);
        bool first = access == 0;

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, first || r->markdown ? as_peak_level_name(level) : "");
        if (first) {
            put_bytes(&t, AS_STYLE_NONE, p->place[level].size_bytes);
            put_bytes(&t, AS_STYLE_DIM, p->place[level].set_bytes);
        } else {
            as_table_empty(&t);
            as_table_empty(&t);
        }
        as_table_text(&t, AS_STYLE_NONE, as_peak_access_name(access));
        put_rates(&t, p, p->bandwidth[level][access], "B/s");
        put_spread(&t, p, p->bandwidth[level][access]);
    }
    as_page_table(page, &t);
    for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++)
        if (p->bandwidth[level][0][0].why)
            as_page_line(page, AS_STYLE_DIM, "%s: %s",
                         as_peak_level_name((enum as_peak_level)level),
                         p->bandwidth[level][0][0].why);
}

/* What the tables above have in common. */
static void put_legend(struct as_page *page)
{
    as_page_line(
        page, AS_STYLE_DIM,
        "rates: best of many short trials; spread: distance of their median from the best");
}

static void put_ridges(const struct as_machine_report *r, struct as_page *page)
{
    static const struct as_table_column columns[] = {
        {.title = "type"},
        {.title = "threads", .align = AS_ALIGN_RIGHT},
        {.title = "L1", .align = AS_ALIGN_RIGHT},
        {.title = "L2", .align = AS_ALIGN_RIGHT},
        {.title = "L3", .align = AS_ALIGN_RIGHT},
        {.title = "DRAM", .align = AS_ALIGN_RIGHT},
    };
    const struct as_peaks *p = r->peaks;
    struct as_table t;

    as_page_heading(page, "Ridge points", "FLOP/byte: memory-bound below, compute-bound above");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
        for (unsigned i = 0; i < p->n_counts; i++) {
            if (p->compute[type][i].why)
                continue;
            as_table_row(&t);
            as_table_text(&t, AS_STYLE_NONE, as_peak_type_name((enum as_peak_type)type));
            as_table_printf(&t, AS_STYLE_NONE, "%u", p->threads[i]);
            for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++) {
                double ridge = as_peak_ridge(p, (enum as_peak_type)type, (enum as_peak_level)level,
                                             p->threads[i]);
                char text[AS_TEXT_FLOAT];

                as_text_fixed(text, ridge, ridge < 10 ? 2 : 1);
                as_table_text(&t, AS_STYLE_NONE, text[0] ? text : "-");
            }
        }
    as_page_table(page, &t);
}

static void put_noise(const struct as_machine_report *r, struct as_page *page)
{
    const struct as_noise *n = r->noise;
    char a[AS_TEXT_HUMAN], b[AS_TEXT_HUMAN], c[AS_TEXT_HUMAN], d[AS_TEXT_HUMAN];
    char kernel[AS_TEXT_HUMAN];

    if (!n)
        return;
    as_text_ns(kernel, n->kernel_ns, AS_TIME_AUTO);
    as_page_heading(page, "Noise", "the same kernel timed as A and as B, interleaved");
    as_text_percent(a, n->median_share);
    as_text_percent(b, n->p95_share);
    as_text_percent(c, n->cv);
    as_page_pair(page, AS_STYLE_NONE, "floor",
                 "median %s, p95 %s of the pairs; all samples vary by %s", a, b, c);
    as_text_percent(a, n->interval.low);
    as_text_percent(b, n->interval.high);
    as_text_percent(c, n->resolvable_share);
    as_page_pair(page, AS_STYLE_NONE, "difference",
                 "95 %% CI %s to %s of %s over %zu pairs; minimum detectable difference %s", a, b,
                 kernel, n->n_pairs, c);
    as_text_percent(d, n->shares.steal.why ? AS_UNKNOWN : n->shares.steal.value);
    (void)snprintf(a, sizeof a, "%llu", (unsigned long long)n->events.switches_involuntary.value);
    as_page_pair(page, AS_STYLE_DIM, "meanwhile",
                 "%s context switches, %s of the time stolen by the hypervisor",
                 n->events.switches_involuntary.why ? "-" : a, d);
}

static void put_finding(const struct assay_finding *finding, struct as_page *page)
{
    bool warning = finding->severity >= AS_SEVERITY_WARNING;
    bool fine = finding->severity <= AS_SEVERITY_OK;
    const char *mark = warning ? "!" : as_page_glyph(page, fine ? AS_GLYPH_CHECK : AS_GLYPH_BULLET);

    as_page_line(page,
                 warning ? AS_STYLE_WARN
                 : fine  ? AS_STYLE_GOOD
                         : AS_STYLE_NONE,
                 "%s %s: %s", mark, finding->finding, as_page_name(page, finding->evidence));
    if (finding->action)
        as_page_line(page, AS_STYLE_DIM, "  %s %s", as_page_glyph(page, AS_GLYPH_ARROW),
                     finding->action);
}

static void put_findings(const struct as_machine_report *r, struct as_page *page)
{
    const struct as_fitness *f = r->fitness;
    const char *verdict = f->n_warnings ? "Not fit to measure now" : "Fit to measure";
    char note[64];

    (void)snprintf(note, sizeof note, "%zu warning%s, %zu note%s", f->n_warnings,
                   plural((unsigned)f->n_warnings), f->n_notes, plural((unsigned)f->n_notes));
    as_page_heading(page, verdict, note);
    for (size_t i = 0; i < f->n; i++)
        put_finding(&f->findings[i], page);
}

static void put_origin(const struct as_machine_report *r, struct as_page *page)
{
    const struct as_peaks *p = r->peaks;
    double age_ns =
        r->now_unix_ns > p->measured_unix_ns ? (double)(r->now_unix_ns - p->measured_unix_ns) : 0;
    char clock[AS_TEXT_HUMAN], gettime[AS_TEXT_HUMAN], took[AS_TEXT_HUMAN], age[48];

    as_text_ns(clock, p->clock_ns, AS_TIME_AUTO);
    as_text_ns(gettime, p->gettime_ns, AS_TIME_AUTO);
    as_text_ns(took, (double)p->took_ns, AS_TIME_AUTO);
    if (age_ns < 120e9)
        (void)snprintf(age, sizeof age, "%.0f seconds", age_ns / 1e9);
    else if (age_ns < 2 * 3600e9)
        (void)snprintf(age, sizeof age, "%.0f minutes", age_ns / 60e9);
    else if (age_ns < 48 * 3600e9)
        (void)snprintf(age, sizeof age, "%.0f hours", age_ns / 3600e9);
    else
        (void)snprintf(age, sizeof age, "%.0f days", age_ns / 86400e9);
    as_page_pair(page, AS_STYLE_NONE, "clock", "%s per read, %s through clock_gettime", clock,
                 gettime);
    if (r->from_cache)
        as_page_pair(page, AS_STYLE_DIM, "peaks", "measured %s ago in %s; --fresh measures again",
                     age, took);
    else
        as_page_pair(page, AS_STYLE_DIM, "peaks", "measured now in %s%s", took,
                     p->quick ? ", quickly: lower bounds" : "");
}

int as_machine_page(const struct as_machine_report *report, struct as_out *out,
                    const struct as_term *term, struct assay_error *err)
{
    struct as_page page;

    as_page_open(&page, out, term, report->markdown);
    put_title(report, &page);
    put_findings(report, &page);
    as_page_heading(&page, "Machine", NULL);
    put_isa(report, &page);
    put_speed(report, &page);
    put_limits(report, &page);
    put_system(report, &page);
    put_origin(report, &page);
    put_compute(report, &page);
    put_bandwidth(report, &page);
    put_legend(&page);
    put_ridges(report, &page);
    put_noise(report, &page);
    return as_page_close(&page, err);
}
