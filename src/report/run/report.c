/* report/run/report.c - what was found out about a run, as text, Markdown, JSON or a folder of CSV
 * files. Only renders: every figure comes from analyze/. */
#include "report/run/report.h"

#include <string.h>

#include <stdio.h>

#include "base/units.h"
#include "trace/run/run_reader.h"

static const struct {
    const char *name, *help;
    bool usual;
    int (*print)(const struct as_report *report, struct as_page *page, struct assay_error *err);
} section[] = {
#define X(name, function, help, usual)                                                             \
    [AS_SECTION_##name] = {#function, help, usual, as_section_##function},
    AS_REPORT_SECTIONS(X)
#undef X
};

const char *as_report_section_at(size_t i)
{
    if (i == AS_SECTION_COUNT)
        return "all";
    return i < AS_SECTION_COUNT ? section[i].name : NULL;
}

const char *as_report_section_help(size_t i)
{
    return i < AS_SECTION_COUNT ? section[i].help : "everything above";
}

/* What else can be asked. */
static void tell_more(const struct as_report *report, struct as_page *page)
{
    as_out_char(page->out, '\n');
    if (report->program) {
        as_page_line(page, AS_STYLE_DIM,
                     "more: assay report --section all RUN, --top 50, --export-csv DIR");
        return;
    }
    as_page_line(page, AS_STYLE_DIM, "more: assay report --section bottlenecks,memory,leaks RUN");
    as_page_line(page, AS_STYLE_DIM, "      assay report --section tree,threads,timeline RUN");
    as_page_line(page, AS_STYLE_DIM, "      assay export --to perfetto RUN");
}

static const struct as_manager_run *manager_of(const struct as_report *report)
{
    return report->view ? report->view->manager : NULL;
}

/* Whether the run can have it at all. */
static bool is_possible(const struct as_report *report, unsigned i)
{
    return i < AS_SECTION_ANOMALIES || manager_of(report);
}

/* What few sessions of a manager have is shown by those alone. */
static bool is_usual_of_manager(const struct as_manager_run *run, unsigned i)
{
    switch (i) {
    case AS_SECTION_SUMMARY:
    case AS_SECTION_LAYERS:
    case AS_SECTION_MEMORY:
    case AS_SECTION_LEAKS:
    case AS_SECTION_BOTTLENECKS:
        return true;
    case AS_SECTION_ANOMALIES:
        return !run->reason[AS_PART_ANOMALIES];
    case AS_SECTION_DISTRIBUTED:
        return !run->reason[AS_PART_DISTRIBUTED];
    case AS_SECTION_BACKENDS:
        return !run->reason[AS_PART_BACKENDS];
    default:
        return false;
    }
}

/* Without a choice. A program that was watched has its own sections, and layers if it marked any.
 */
static bool is_usual(const struct as_report *report, unsigned i)
{
    const uint32_t own = 1u << AS_SECTION_SUMMARY | 1u << AS_SECTION_PROGRAM |
                         1u << AS_SECTION_PROCESSES | 1u << AS_SECTION_HEAP |
                         1u << AS_SECTION_PRODUCTS | 1u << AS_SECTION_MEMORY |
                         1u << AS_SECTION_LEAKS | 1u << AS_SECTION_BOTTLENECKS;

    if (manager_of(report))
        return is_usual_of_manager(manager_of(report), i);
    if (!report->program)
        return section[i].usual;
    if (own >> i & 1)
        return true;
    return section[i].usual && report->layers->n_layers > 0 && i != AS_SECTION_CHANNELS;
}

/* Without a choice a program's own sections are one page: what it used, what limits it, who holds
 * the memory. */
static bool is_brief(const struct as_report *report)
{
    return report->program && !report->options->sections && !report->options->top;
}

static bool in_brief(unsigned i)
{
    const uint32_t sections = 1u << AS_SECTION_PROGRAM | 1u << AS_SECTION_PROCESSES |
                              1u << AS_SECTION_HEAP | 1u << AS_SECTION_PRODUCTS |
                              1u << AS_SECTION_MEMORY | 1u << AS_SECTION_LEAKS |
                              1u << AS_SECTION_BOTTLENECKS;

    return sections >> i & 1;
}

int as_report_page(const struct as_report *report, struct as_out *out, const struct as_term *term,
                   struct assay_error *err)
{
    uint32_t wanted = report->options->sections;
    struct as_page page;
    int rc = ASSAY_OK, closed;

    as_page_open(&page, out, term, report->options->markdown);
    page.wide = report->options->wide;
    for (unsigned i = 0; i < AS_SECTION_COUNT && rc == ASSAY_OK; i++) {
        if (is_brief(report) && in_brief(i)) {
            if (i == AS_SECTION_PROGRAM)
                as_section_brief(report, &page);
            continue;
        }
        if (is_possible(report, i) && (wanted ? wanted >> i & 1 : is_usual(report, i)))
            rc = section[i].print(report, &page, err);
    }
    if (!wanted && !manager_of(report) && !report->options->quiet && !page.markdown &&
        rc == ASSAY_OK)
        tell_more(report, &page);
    closed = as_page_close(&page, rc < 0 ? NULL : err);
    return rc < 0 ? rc : closed;
}

size_t as_report_rows(const struct as_report *report, size_t usual, size_t n)
{
    size_t most = report->options->top ? report->options->top : usual;

    return most < n ? most : n;
}

bool as_report_has_thread(const struct as_report *report, const struct as_run_thread *thread)
{
    const struct as_layers *layers = report->layers;

    if (layers->n_threads == report->run->n_threads)
        return true;
    return layers->n_threads > 0 && layers->thread[0].info->index == thread->index;
}

const char *as_report_name(const struct as_report *report)
{
    const char *name = as_run_fact_text(report->run, "label");
    const char *slash;

    if (name && *name)
        return name;
    name = as_run_fact_list(report->run, "command");
    if (!name)
        name = report->run->path;
    /* Only the program: its arguments may hold slashes too. */
    for (slash = name; *slash && *slash != ' '; slash++) {
        if (*slash == '/' && slash[1] && slash[1] != ' ')
            name = slash + 1;
    }
    return name;
}

const char *as_category_name(uint32_t category)
{
    static const char *const name[] = {
        [ASSAY_CATEGORY_LAYER] = "layer",
        [ASSAY_CATEGORY_FUNCTION] = "function",
        [ASSAY_CATEGORY_TIMER] = "timer",
        [ASSAY_CATEGORY_PHASE] = "phase",
        [ASSAY_CATEGORY_CHANNEL] = "channel",
        [ASSAY_CATEGORY_KEY] = "key",
        [ASSAY_CATEGORY_INSTANT] = "instant",
        [ASSAY_CATEGORY_ASYNC] = "async",
        [ASSAY_CATEGORY_FLOW] = "flow",
        [ASSAY_CATEGORY_LOCK] = "lock",
    };

    return category < AS_COUNT_OF(name) ? name[category] : "";
}

const char *as_phase_name(uint32_t phase)
{
    static const char *const name[] = {
        [ASSAY_PHASE_FORWARD] = "forward",     [ASSAY_PHASE_BACKWARD] = "backward",
        [ASSAY_PHASE_OPTIMIZER] = "optimizer", [ASSAY_PHASE_DATA] = "data",
        [ASSAY_PHASE_COMM] = "comm",
    };
    _Static_assert(AS_COUNT_OF(name) == ASSAY_PHASE_COUNT, "name every phase");

    return phase < ASSAY_PHASE_COUNT ? name[phase] : "";
}

const char *as_span_state_name(enum as_span_state state)
{
    static const char *const name[] = {
        [AS_SPAN_OK] = "ok",   [AS_SPAN_FAILED] = "failed", [AS_SPAN_UNCLOSED] = "unclosed",
        [AS_SPAN_CUT] = "cut", [AS_SPAN_OPEN] = "open",
    };

    return (unsigned)state < AS_COUNT_OF(name) ? name[state] : "";
}

void as_span_notes_text(const struct as_run *run, const struct as_span *span, char *out,
                        size_t capacity)
{
    char number[AS_TEXT_FLOAT];
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < span->n_notes && used < capacity; i++) {
        as_text_f64(number, span->note[i].value);
        used += (size_t)snprintf(out + used, capacity - used, "%s%s=%s", i ? " " : "",
                                 as_run_site_at(run, span->note[i].key)->name, number);
    }
}
