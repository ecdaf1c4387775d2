/* report/page/findings.c - recommendations on a page, whichever analysis made them. */
#include <math.h>
#include <stdio.h>

#include "report/page/page.h"

/* "memory-bound-weights, severity 40, confidence medium, up to 40.0 % of the time". */
static void name_rule(const struct assay_finding *f, char *out, size_t capacity)
{
    char gain[AS_TEXT_HUMAN];

    as_text_percent(gain, f->expected_gain);
    (void)snprintf(out, capacity, "%s, severity %.0f, confidence %s%s%s%s", f->rule, f->severity,
                   as_confidence_name(f->confidence), isfinite(f->expected_gain) ? ", up to " : "",
                   isfinite(f->expected_gain) ? gain : "",
                   isfinite(f->expected_gain) ? " of the time" : "");
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

        name_rule(f, rule, sizeof rule);
        if (f->finding)
            as_page_line(page, style, "%zu. %s", i + 1, as_page_name(page, f->finding));
        if (f->finding && f->action)
            as_page_line(page, AS_STYLE_NONE, "   %s %s", as_page_glyph(page, AS_GLYPH_ARROW),
                         as_page_name(page, f->action));
        else if (f->action)
            as_page_line(page, style, "%zu. %s", i + 1, as_page_name(page, f->action));
        as_page_line(page, AS_STYLE_DIM, "   because %s (%s)", as_page_name(page, f->evidence),
                     rule);
    }
}
