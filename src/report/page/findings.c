/* report/page/findings.c - recommendations on a page, whichever analysis made them. */
#include <math.h>
#include <stdio.h>

#include "report/page/page.h"

static void put_evidence(struct as_page *page, const struct assay_finding *f)
{
    char gain[AS_TEXT_HUMAN + 32] = "", share[AS_TEXT_HUMAN];

    if (isfinite(f->expected_gain)) {
        as_text_percent(share, f->expected_gain);
        (void)snprintf(gain, sizeof gain, ", up to %s of the time", share);
    }
    as_page_line(page, AS_STYLE_DIM, "   because %s (%s, severity %.0f, confidence %s%s)",
                 as_page_name(page, f->evidence), f->rule, f->severity,
                 as_confidence_name(f->confidence), gain);
}

void as_page_findings(struct as_page *page, const char *heading,
                      const struct assay_finding *findings, size_t n)
{
    if (n == 0)
        return;
    as_page_heading(page, heading, NULL);
    for (size_t i = 0; i < n; i++) {
        const struct assay_finding *f = &findings[i];

        as_page_line(page, AS_STYLE_NONE, "%zu. %s", i + 1,
                     as_page_name(page, f->action ? f->action : f->finding));
        put_evidence(page, f);
    }
}
