/* report/profile/profile_phases_text.c - the phases of a text model with a cache: what each is
 * called, and the one in which a single new token goes in. */
#include <math.h>
#include <stdio.h>

#include "base/text/text.h"
#include "report/profile/profile_report.h"

/* New tokens of each sample in one inference. */
static unsigned long long new_tokens(const struct as_profile_subject *model)
{
    return (unsigned long long)(model->batch ? model->tokens / model->batch : model->tokens);
}

const char *as_profile_phase_name(const struct as_profile *p, char *out, size_t capacity)
{
    const struct as_profile_subject *model = &p->data->model;
    unsigned long long n = new_tokens(model), past = (unsigned long long)model->past;

    if (past > 0 && n == 1)
        (void)snprintf(out, capacity, "decode with %llu token%s in the cache", past,
                       past == 1 ? "" : "s");
    else if (past > 0)
        (void)snprintf(out, capacity, "prefill of %llu tokens with %llu in the cache", n, past);
    else if (p->decode)
        (void)snprintf(out, capacity, "prefill of %llu token%s", n, n == 1 ? "" : "s");
    else
        return NULL;
    return out;
}

const char *as_profile_heading(const struct as_profile *p, const char *heading,
                               char out[AS_PHASE_HEADING])
{
    char phase[AS_PHASE_HEADING / 2];
    const char *name = as_profile_phase_name(p, phase, sizeof phase);

    (void)snprintf(out, AS_PHASE_HEADING, "%s%s%s", heading, name ? ": " : "", name ? name : "");
    return out;
}

static void put_speed(const struct as_profile *p, struct as_page *page)
{
    const struct as_latency_metrics *f = &p->data->latency.figures;
    char median[AS_TEXT_HUMAN], low[AS_TEXT_HUMAN], high[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN];
    char macs[AS_TEXT_HUMAN], bytes[AS_TEXT_HUMAN];

    as_text_ns(median, f->summary.median, AS_TIME_AUTO);
    as_text_ns(low, f->median.interval.low, AS_TIME_AUTO);
    as_text_ns(high, f->median.interval.high, AS_TIME_AUTO);
    as_text_si(rate, p->tokens_per_second, NULL);
    if (f->median.interval.reached)
        as_page_pair(page, AS_STYLE_NONE, "latency",
                     "p50 %s (95 %% CI %s to %s, this process), %s tokens/s over %zu iterations",
                     median, low, high, rate, p->data->latency.n);
    else
        as_page_pair(page, AS_STYLE_NONE, "latency",
                     "p50 %s (no 95 %% CI), %s tokens/s over %zu iterations", median, rate,
                     p->data->latency.n);
    as_text_si(macs, (double)p->data->model.macs, "MAC");
    as_text_bytes(bytes, (double)p->bytes);
    as_page_pair(page, AS_STYLE_DIM, NULL, "%s%s and %s moved per inference at batch %llu",
                 p->data->model.complete ? "" : "at least ", macs, bytes,
                 (unsigned long long)p->data->model.batch);
    if (p->memory.counted && p->memory.kv_cache_bytes) {
        as_text_bytes(bytes, (double)p->memory.kv_cache_bytes);
        as_page_pair(page, AS_STYLE_NONE, "cache", "%s", bytes);
    }
}

void as_profile_put_decode(const struct as_profile_report *report, struct as_page *page)
{
    enum { USUAL_ROWS = 8 };
    struct as_profile_report decode = *report;
    char heading[AS_PHASE_HEADING];

    decode.profile = report->profile->decode;
    if (!decode.profile)
        return;
    decode.top = report->top ? report->top : USUAL_ROWS;
    as_page_heading(page, as_profile_heading(decode.profile, "One token", heading), NULL);
    put_speed(decode.profile, page);
    as_profile_put_roof(decode.profile, page);
    as_profile_put_ops(&decode, page);
    as_profile_put_layers(&decode, page);
}

void as_profile_put_recommendations(const struct as_profile_report *report, struct as_page *page)
{
    const struct as_profile *p = report->profile;
    char heading[AS_PHASE_HEADING];

    as_page_findings(page, as_profile_heading(p, "What to do next", heading), p->findings,
                     p->n_findings);
    if (p->decode)
        as_page_findings(page, as_profile_heading(p->decode, "What to do next", heading),
                         p->decode->findings, p->decode->n_findings);
}
