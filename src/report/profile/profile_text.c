/* report/profile/profile_text.c - how fast a network runs and why, for a person: the headline.
 * The tables are in profile_tables_text.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/profile/profile_report.h"

enum { FEWEST_FOR_CI = 6 }; /* order statistics of fewer cannot reach 95 % */

const char *as_profile_section_at(size_t i)
{
    static const char *const names[] = {
#define X(name, function, help, usual) #function,
        AS_PROFILE_SECTIONS(X)
#undef X
    };

    return i < AS_PROFILE_SECTION_COUNT ? names[i] : NULL;
}

enum { MAX_ASSUMED = 4 };

static void put_title(const struct as_profile *p, struct as_page *page)
{
    char params[AS_TEXT_HUMAN], bytes[AS_TEXT_HUMAN], macs[AS_TEXT_HUMAN], flops[AS_TEXT_HUMAN];
    char batch[48], text[AS_PHASE_HEADING], sizes[600];
    const char *phase = as_profile_phase_name(p, text, sizeof text);

    as_text_si(params, (double)p->data->model.parameters, NULL);
    as_text_bytes(bytes, (double)p->memory.parameter_bytes);
    as_text_si(macs, (double)p->data->model.macs, "MAC");
    as_text_si(flops, (double)p->data->model.flops, "FLOP");
    as_page_title(page, p->data->model.path);
    if (p->data->model.batch_why)
        (void)snprintf(batch, sizeof batch, "; batch unknown (--batch-axis)");
    else
        (void)snprintf(batch, sizeof batch, " at batch %llu",
                       (unsigned long long)p->data->model.batch);
    as_page_line(page, AS_STYLE_DIM, "%s parameters (%s), %s%s, %s per inference%s", params, bytes,
                 p->data->model.complete ? "" : "at least ", macs, flops, batch);
    /* Those by default have a line each, with the option that changes them. */
    if (as_open_sizes_text(sizes, sizeof sizes, p->data->model.sizes, p->data->model.n_sizes,
                           "default"))
        as_page_line(page, AS_STYLE_DIM, "sizes: %s", as_page_name(page, sizes));
    if (phase)
        as_page_line(page, AS_STYLE_DIM, "metrics of a %s%s", phase,
                     p->decode ? "; of decoding see below" : "");
    for (size_t i = 0; i < p->data->model.n_assumed && i < MAX_ASSUMED; i++)
        as_page_line(page, AS_STYLE_WARN, "! %s", as_page_name(page, p->data->model.assumed[i]));
    if (p->data->model.n_assumed > MAX_ASSUMED)
        as_page_line(page, AS_STYLE_WARN, "! %zu more sizes were assumed: --section inputs",
                     p->data->model.n_assumed - MAX_ASSUMED);
}

static void put_machine(const struct as_profile_report *report, struct as_page *page)
{
    const struct as_profile *p = report->profile;
    const char *library = p->data->library, *why = p->data->why_no_library;
    const struct as_isa_choice *isa = &p->data->topology.isa;
    char nodes[AS_TEXT_HUMAN], steps[AS_TEXT_HUMAN];

    as_text_count(nodes, p->data->model.nodes);
    as_text_count(steps, p->n_layers);
    as_page_line(page, AS_STYLE_DIM, "%.50s, %u of %u threads; %s%s; %s nodes%s%s%s",
                 as_page_name(page, p->data->topology.cpu.model), p->data->threads,
                 p->data->topology.n_usable, library ? library : "plain C kernels, ",
                 library ? "" : as_isa_name(isa->effective), nodes,
                 p->data->profiled ? " executed as " : "", p->data->profiled ? steps : "",
                 p->data->profiled ? " layers" : "");
    if (isa->capped_by)
        as_page_pair(page, AS_STYLE_NONE, "ISA", "capped at %s by %s; the CPU has %s",
                     as_isa_name(isa->effective), isa->capped_by, as_isa_name(isa->hardware));
    if (!library && why && why[0])
        as_page_pair(page, AS_STYLE_WARN, "engine", "oneDNN is not used: %s",
                     as_page_name(page, why));
}

/* "p90 55.1 ms", or "p99 ~58 ms" where there are too few iterations for it. */
static size_t put_percentile(char *line, size_t size, size_t capacity, const char *name, double ns,
                             bool supported)
{
    char text[AS_TEXT_HUMAN];

    if (!isfinite(ns) || size >= capacity)
        return size;
    as_text_ns(text, ns, AS_TIME_AUTO);
    return size + (size_t)snprintf(line + size, capacity - size, "%s%s %s%s", size ? ", " : "",
                                   name, supported ? "" : "~", text);
}

static void put_causes(const struct as_profile *p, struct as_page *page)
{
    const struct as_latency_run *run = &p->data->latency;
    char line[300] = "";
    size_t size = 0;

    for (int i = 0; i < AS_CAUSE_COUNT; i++) {
        const struct as_cause_tally *c = &run->causes[i];

        if (c->suspected && size < sizeof line)
            size +=
                (size_t)snprintf(line + size, sizeof line - size, "%s%s in %zu", size ? ", " : "",
                                 as_cause_text((enum as_cause)i), c->n_outliers);
    }
    if (run->n_outliers)
        as_page_pair(page, AS_STYLE_DIM, NULL, "%zu outlier%s%s%s", run->n_outliers,
                     run->n_outliers == 1 ? "" : "s", size ? ": " : ", cause unknown", line);
    if (p->unsteady)
        as_page_pair(page, AS_STYLE_WARN, "unsteady",
                     "%s, so p50 depends on when it was taken; stop other work and measure again",
                     p->unsteady);
}

static void put_percentiles(const struct as_summary *s, struct as_page *page)
{
    static const struct {
        const char *name;
        int percentile;
    } shown[] = {{"p90", AS_SUMMARY_P90}, {"p95", AS_SUMMARY_P95}, {"p99", AS_SUMMARY_P99}};
    char line[300] = "";
    size_t size = 0;
    bool few = false;

    for (size_t i = 0; i < AS_COUNT_OF(shown); i++) {
        bool supported = s->supported[shown[i].percentile];

        size = put_percentile(line, size, sizeof line, shown[i].name,
                              s->percentile[shown[i].percentile], supported);
        few |= !supported && isfinite(s->percentile[shown[i].percentile]);
    }
    size = put_percentile(line, size, sizeof line, "min", s->min, true);
    (void)put_percentile(line, size, sizeof line, "max", s->max, true);
    as_page_pair(page, AS_STYLE_NONE, NULL, "%s", line);
    if (few)
        as_page_pair(page, AS_STYLE_DIM, NULL, "~ too few iterations for this percentile");
}

static void put_latency(const struct as_profile *p, struct as_page *page)
{
    const struct as_latency_run *run = &p->data->latency;
    const struct as_summary *s = &run->figures.summary;
    char median[AS_TEXT_HUMAN], low[AS_TEXT_HUMAN], high[AS_TEXT_HUMAN];

    as_text_ns(median, s->median, AS_TIME_AUTO);
    as_text_ns(low, run->figures.median.interval.low, AS_TIME_AUTO);
    as_text_ns(high, run->figures.median.interval.high, AS_TIME_AUTO);
    if (run->figures.median.interval.reached)
        as_page_pair(page, AS_STYLE_HEADING, "latency", "p50 %s (95 %% CI %s to %s, this process)",
                     median, low, high);
    else if (run->n < FEWEST_FOR_CI)
        as_page_pair(page, AS_STYLE_HEADING, "latency",
                     "p50 %s; no 95 %% CI: it needs %d iterations or more", median, FEWEST_FOR_CI);
    else
        as_page_pair(
            page, AS_STYLE_HEADING, "latency",
            "p50 %s; no 95 %% CI: the iterations resemble their neighbors and count as %.0f "
            "independent ones",
            median, fmax(1, (double)run->figures.median.n_effective));
    put_percentiles(s, page);
    if (run->n_earlier) {
        as_text_ns(low, run->between_low_ns, AS_TIME_AUTO);
        as_text_ns(high, run->between_high_ns, AS_TIME_AUTO);
        as_page_pair(page, AS_STYLE_NONE, "between runs",
                     "p50 of another profile is expected within %s to %s: %zu earlier ones spread "
                     "by %.2g %%",
                     low, high, run->n_earlier, run->earlier_spread * 100);
    }
    as_page_pair(page, AS_STYLE_DIM, NULL, "%zu iteration%s after %llu warm-up iteration%s", run->n,
                 run->n == 1 ? "" : "s", (unsigned long long)run->warm_up.runs,
                 run->warm_up.runs == 1 ? "" : "s");
    put_causes(p, page);
}

static void put_throughput(const struct as_profile *p, struct as_page *page)
{
    char rate[AS_TEXT_HUMAN], tokens[AS_TEXT_HUMAN + 16] = "", flops[AS_TEXT_HUMAN];
    char moved[AS_TEXT_HUMAN] = "";
    double seconds = p->data->latency.figures.summary.median / 1e9;

    as_text_si(rate, p->data->model.batch_why ? p->inferences_per_second : p->samples_per_second,
               NULL);
    as_text_si(flops, (double)p->data->model.executed_flops / seconds, "FLOP/s");
    if (p->data->profiled)
        as_text_si(moved, (double)p->bytes / seconds, "B/s");
    if (isfinite(p->tokens_per_second)) {
        char text[AS_TEXT_HUMAN];

        as_text_si(text, p->tokens_per_second, NULL);
        (void)snprintf(tokens, sizeof tokens, "%s tokens/s, ", text);
    }
    as_page_pair(page, AS_STYLE_NONE, "throughput", "%s %s/s, %s%s%s%s%s", rate,
                 p->data->model.batch_why ? "inferences" : "samples", tokens,
                 p->data->model.complete ? "" : "at least ", flops, moved[0] ? ", " : "", moved);
}

static void put_uncounted(const struct as_profile_memory *m, struct as_page *page)
{
    char held[AS_TEXT_HUMAN], plan[AS_TEXT_HUMAN] = "unknown";

    as_text_bytes(held, (double)m->held_bytes);
    if (m->planned)
        as_text_bytes(plan, (double)m->planned_bytes);
    as_page_pair(page, AS_STYLE_NONE, "memory", "weights %s; planned activations %s", held, plan);
    if (m->why)
        as_page_pair(page, AS_STYLE_WARN, "memory", "not measured: %s", m->why);
}

static void put_counted(const struct as_profile_memory *m, struct as_page *page)
{
    char held[AS_TEXT_HUMAN], active[AS_TEXT_HUMAN], peak[AS_TEXT_HUMAN];
    char text[AS_TEXT_HUMAN], plan[AS_TEXT_HUMAN + 24] = "";

    as_text_bytes(held, (double)m->held_bytes);
    as_text_bytes(active, (double)m->activation_bytes);
    as_text_bytes(peak, (double)m->peak_bytes);
    if (m->planned && m->planned_bytes == m->activation_bytes)
        (void)snprintf(plan, sizeof plan, " (as planned)");
    else if (m->planned) {
        as_text_bytes(text, (double)m->planned_bytes);
        (void)snprintf(plan, sizeof plan, " (planned %s)", text);
    }
    as_page_pair(page, AS_STYLE_NONE, "memory", "peak %s: weights %s, activations %s%s", peak, held,
                 active, plan);
}

static void put_memory(const struct as_profile *p, struct as_page *page)
{
    const struct as_profile_memory *m = &p->memory;
    char text[AS_TEXT_HUMAN], most[AS_TEXT_HUMAN], line[200] = "";
    size_t size = 0;

    if (m->counted)
        put_counted(m, page);
    else
        put_uncounted(m, page);
    if (m->widened.n) {
        as_text_bytes(text, (double)m->widened.stored_bytes);
        as_text_bytes(most, (double)m->widened.held_bytes);
        as_page_pair(page, AS_STYLE_NONE, NULL,
                     "%llu weights of %s are widened to f32: %s (%.1fx), which kernels read",
                     (unsigned long long)m->widened.n, text, most,
                     (double)m->widened.held_bytes / (double)m->widened.stored_bytes);
    }
    if (m->counted) {
        as_text_bytes(text, (double)m->workspace_bytes);
        size = (size_t)snprintf(line, sizeof line, "workspace %s", text);
    }
    if (m->counted && m->kv_cache_bytes) {
        as_text_bytes(text, (double)m->kv_cache_bytes);
        size += (size_t)snprintf(line + size, sizeof line - size,
                                 ", recurrent state and KV cache %s", text);
    }
    if (m->rss_known) {
        as_text_bytes(text, (double)m->rss_bytes);
        as_text_bytes(most, (double)m->peak_rss_bytes);
        size += (size_t)snprintf(line + size, sizeof line - size, "%sRSS %s, peak %s",
                                 size ? "; " : "", text, most);
    }
    if (size)
        as_page_pair(page, AS_STYLE_DIM, NULL, "%s", line);
}

/* Adds "compute 80.4 %" to the list. */
static void add_share(char line[200], const char *name, double share)
{
    size_t size = strlen(line);
    char text[AS_TEXT_HUMAN];

    if (share < 0.0005)
        return;
    as_text_percent(text, share);
    (void)snprintf(line + size, 200 - size, "%s%s %s", size ? ", " : "", name, text);
}

static void put_shares(const struct as_profile *p, struct as_page *page)
{
    char line[200] = "";

    add_share(line, "latency", p->short_share);
    add_share(line, as_bound_text(AS_BOUND_OVERHEAD),
              p->bound_share[AS_BOUND_OVERHEAD] - p->short_share);
    for (int b = AS_BOUND_OVERHEAD; b-- > 0;)
        add_share(line, as_bound_text((enum as_bound)b), p->bound_share[b]);
    if (line[0])
        as_page_pair(page, AS_STYLE_DIM, NULL, "by time: %s", line);
}

void as_profile_put_roof(const struct as_profile *p, struct as_page *page)
{
    const struct as_roof *r = &p->roof;
    char share[AS_TEXT_HUMAN], peak[AS_TEXT_HUMAN], intensity[AS_TEXT_HUMAN], of[AS_TEXT_HUMAN];

    if (!p->peaks) {
        as_page_pair(page, AS_STYLE_WARN, "roofline", "unknown: %s", p->data->why_no_peaks);
        return;
    }
    if (p->n_layers == 0) {
        as_page_pair(page, AS_STYLE_WARN, "roofline", "unknown: the layers were not measured");
        return;
    }
    if (r->bound == AS_BOUND_UNKNOWN) {
        as_page_pair(page, AS_STYLE_WARN, "roofline",
                     "unknown: most of the time is in layers whose cost is not counted");
        put_shares(p, page);
        return;
    }
    as_text_percent(share, r->roof_fraction);
    as_text_fixed(intensity, r->intensity, r->intensity < 10 ? 2 : 1);
    as_text_si(peak, as_peak_flops(p->peaks, p->type, p->data->threads),
               p->type == AS_PEAK_I8 ? "OP/s" : "FLOP/s");
    as_text_percent(of, r->achieved / as_peak_flops(p->peaks, p->type, p->data->threads));
    as_page_pair(page, AS_STYLE_NONE, "roofline",
                 "%s of roofline; %s%s; arithmetic intensity %s FLOP/byte", share,
                 r->bound == AS_BOUND_OVERHEAD && !r->is_short ? "" : "bound by ", as_roof_text(r),
                 intensity[0] ? intensity : "-");
    as_page_pair(page, AS_STYLE_NONE, NULL, "%s of the %s peak of %s on %u thread%s", of,
                 as_peak_type_name(p->type), peak, p->data->threads,
                 p->data->threads == 1 ? "" : "s");
    if (!p->data->model.complete)
        as_page_pair(page, AS_STYLE_WARN, NULL, "of the layers whose cost is counted");
    if (r->inconsistent)
        as_page_pair(page, AS_STYLE_WARN, NULL, "above 100 %%: a count or a peak is wrong");
    put_shares(p, page);
}

static void put_cost(const struct as_profile *p, struct as_page *page)
{
    char share[AS_TEXT_HUMAN], covered[AS_TEXT_HUMAN], low[AS_TEXT_HUMAN], high[AS_TEXT_HUMAN];
    char pass[AS_TEXT_HUMAN], passes[AS_TEXT_HUMAN + 60] = "";

    if (!p->data->profiled)
        return;
    as_text_ns(pass, p->run_ns, AS_TIME_AUTO);
    if (p->pass_differs) {
        as_text_percent(share, fabs(p->pass_ratio - 1));
        (void)snprintf(passes, sizeof passes, ", which ran %s %s than the timing pass", share,
                       p->pass_ratio > 1 ? "slower" : "faster");
    }
    as_text_percent(share, p->data->cost_share);
    as_text_percent(covered, p->covered_share);
    as_text_percent(low, p->data->cost_low_share);
    as_text_percent(high, p->data->cost_high_share);
    /* A second pass that ran faster shows noise: what profiling costs is less than that. */
    if (p->data->cost_share < 0)
        as_text_percent(high, fmax(fabs(p->data->cost_low_share), fabs(p->data->cost_high_share)));
    if (p->data->cost_low_share <= 0 || p->data->cost_share < 0)
        as_page_pair(page, AS_STYLE_DIM, "profiling",
                     p->data->cost_share < 0 || p->data->cost_high_share > 0.1
                         ? "overhead not measurable (below %s), not in the latency"
                         : "overhead below %s, not in the latency",
                     high);
    else
        as_page_pair(page, AS_STYLE_DIM, "profiling",
                     "overhead %s (95 %% CI %s to %s), not in the latency", share, low, high);
    as_page_pair(
        page, AS_STYLE_DIM, NULL,
        "layer times are p50s of a second pass of %s per inference%s; they add up to %s of "
        "it%s",
        pass, passes, covered, p->covered_share < 0.9 ? ", the rest is stalls" : "");
}

void as_profile_put_summary(const struct as_profile_report *report, struct as_page *page)
{
    const struct as_profile *p = report->profile;

    put_title(p, page);
    put_machine(report, page);
    put_latency(p, page);
    put_throughput(p, page);
    put_memory(p, page);
    as_profile_put_roof(p, page);
    put_cost(p, page);
}

int as_profile_page(const struct as_profile_report *report, struct as_out *out,
                    const struct as_term *term, struct assay_error *err)
{
    static const struct {
        void (*put)(const struct as_profile_report *report, struct as_page *page);
        bool usual;
    } sections[] = {
#define X(name, function, help, usual) {as_profile_put_##function, usual},
        AS_PROFILE_SECTIONS(X)
#undef X
    };
    struct as_page page;

    as_page_open(&page, out, term, report->markdown);
    page.wide = report->wide;
    for (unsigned i = 0; i < AS_PROFILE_SECTION_COUNT; i++)
        if (report->sections ? report->sections >> i & 1 : sections[i].usual)
            sections[i].put(report, &page);
    return as_page_close(&page, err);
}
