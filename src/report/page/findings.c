/* report/page/findings.c - recommendations on a page, whichever analysis made them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/name_fit.h"
#include "report/page/page.h"

/* "expected gain 40.0 %, confidence medium, memory-bound-weights". */
static void name_rule(const struct assay_finding *f, char *out, size_t capacity)
{
    char gain[AS_TEXT_HUMAN];

    as_text_percent(gain, f->expected_gain);
    (void)snprintf(out, capacity, "%s%s%sconfidence %s; rule %s",
                   isfinite(f->expected_gain) ? "expected gain " : "",
                   isfinite(f->expected_gain) ? gain : "", isfinite(f->expected_gain) ? ", " : "",
                   as_confidence_name(f->confidence), f->rule);
}

/* The last part of a long name is enough unless the analysis needed the whole one. */
static const char *target_name(const struct assay_finding *f)
{
    return f->evidence && strstr(f->evidence, f->target) ? f->target : as_name_last(f->target);
}

void as_page_findings(struct as_page *page, const char *heading,
                      const struct assay_finding *findings, size_t n)
{
    char rule[160];

    if (n == 0)
        return;
    if (heading)
        as_page_heading(page, heading, NULL);
    for (size_t i = 0; i < n; i++) {
        const struct assay_finding *f = &findings[i];
        enum as_style style = f->severity >= AS_SEVERITY_HIGH ? AS_STYLE_WARN : AS_STYLE_NONE;
        const char *first = f->finding ? f->finding : f->action;

        name_rule(f, rule, sizeof rule);
        if (first && f->target && !strstr(first, as_name_last(f->target)))
            as_page_item(page, style, i + 1, "%s: %s", as_page_name(page, target_name(f)),
                         as_page_name(page, first));
        else if (first)
            as_page_item(page, style, i + 1, "%s", as_page_name(page, first));
        if (f->finding && f->action)
            as_page_item_more(page, AS_STYLE_NONE, "%s %s", as_page_glyph(page, AS_GLYPH_ARROW),
                              as_page_name(page, f->action));
        if (f->evidence)
            as_page_item_more(page, AS_STYLE_DIM, "why: %s", as_page_name(page, f->evidence));
        as_page_item_more(page, AS_STYLE_DIM, "%s", rule);
    }
}
