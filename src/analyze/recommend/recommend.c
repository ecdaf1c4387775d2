/* analyze/recommend/recommend.c - what to do next about a model, each with the metrics behind it:
 * the best first, few of them, and none whose gain is not worth the work. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "analyze/model/steadiness.h"
#include "analyze/recommend/recommend_internal.h"

#define LEAST_GAIN 0.01

const char *as_recommend_text(struct as_profile *p, const char *fmt, ...)
{
    char line[600];
    va_list args;
    const char *copy;

    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    copy = as_arena_text(&p->arena, line, strlen(line));
    return copy ? copy : "";
}

void as_recommend_add(struct as_profile *p, const struct as_advice *a)
{
    if (p->n_findings < AS_PROFILE_MAX_FINDINGS && !(a->gain < LEAST_GAIN))
        p->findings[p->n_findings++] = (struct assay_finding){
            .rule = a->rule,
            .target = a->target,
            .evidence = a->evidence,
            .action = a->action,
            .severity = as_severity_of_gain(a->gain, 50 * a->share),
            .expected_gain = a->gain,
            .confidence = a->confidence,
        };
}

static void advise_noise(struct as_profile *p)
{
    const struct as_latency_metrics *f = &p->data->latency.figures;
    double width = (f->median.interval.high - f->median.interval.low) / f->summary.median;
    struct as_advice advice = {.rule = "noisy-machine",
                               .gain = AS_UNKNOWN,
                               .share = fmin(width, 1),
                               .confidence = ASSAY_CONFIDENCE_HIGH};
    char text[AS_TEXT_HUMAN];

    as_text_percent(text, width);
    if (p->unsteady) {
        advice.action = "stop other work and measure again, or longer (--time): recommendations "
                        "need a steady measurement";
        advice.evidence = p->unsteady;
        advice.share = 1;
    } else if (!f->median.interval.reached) {
        advice.action = "measure longer (--time, --iterations)";
        advice.evidence = "too few independent iterations for a 95 % CI of p50";
        advice.share = 0;
    } else if (width > 0.05) {
        advice.action = "measure again on a quieter machine or for longer (--time): smaller "
                        "differences are not significant";
        advice.evidence = as_recommend_text(p, "the 95 %% CI of p50 is %s wide", text);
    } else {
        return;
    }
    as_recommend_add(p, &advice);
}

void as_profile_recommend(struct as_profile *p)
{
    bool telling;

    p->unsteady = as_unsteady(&p->data->latency, &p->arena);
    advise_noise(p);
    telling = as_recommend_threads(p); /* they may be what makes the times unsteady */
    if (!p->unsteady) {
        if (p->peaks && telling)
            as_recommend_by_roofline(p);
        as_recommend_plain(p);
        as_recommend_by_graph(p);
    }
    as_findings_rank(p->findings, p->n_findings);
    if (p->n_findings > AS_PROFILE_SHOWN_FINDINGS)
        p->n_findings = AS_PROFILE_SHOWN_FINDINGS;
}
