/* analyze/model/overhead.c - whether measuring is cheap enough: a class for each way to measure,
 * and the shortest layer for which it still is. */
#include "analyze/model/overhead.h"

#include <math.h>
#include <stdio.h>

#include "base/text/text.h"
#include "base/units.h"
#include "measure/latency/profile_pass.h"

const double as_overhead_limits[AS_BUDGET_LIMITS] = {0.01, 0.05};

static const struct {
    const char *key, *text;
} budget_names[] = {
#define X(name, key, text) {key, text},
    AS_OVERHEAD_BUDGETS(X)
#undef X
};

static void judge_row(struct as_overhead_row *row, const struct as_overhead_pair *pair)
{
    *row = (struct as_overhead_row){.cost_share = AS_UNKNOWN,
                                    .step_ns = AS_UNKNOWN,
                                    .class_name = "unknown",
                                    .hint = "could not be measured here"};
    if (!pair->known)
        return;
    row->pair = pair;
    row->cost_share = pair->factor - 1;
    row->step_ns = row->cost_share * pair->plain_ns / (double)pair->n_steps;
    row->shown = pair->factor_low > 1 || pair->factor_high < 1;
    row->class_name = as_profile_cost_class(pair->factor);
    row->hint = as_profile_cost_hint(pair->factor);
}

/* A cost below 0 is noise: then any layer is long enough. */
static void find_budget(struct as_overhead *o, enum as_overhead_budget_kind kind, double cost_ns)
{
    struct as_overhead_budget *budget = &o->budgets[kind];

    budget->key = budget_names[kind].key;
    budget->text = budget_names[kind].text;
    budget->cost_ns = isnan(cost_ns) ? cost_ns : fmax(cost_ns, 0);
    for (int i = 0; i < AS_BUDGET_LIMITS; i++)
        budget->shortest_ns[i] = budget->cost_ns / as_overhead_limits[i];
}

/* What everybody should know, with what was found here. */
static void give_advice(struct as_overhead *o)
{
    char scope[AS_TEXT_HUMAN], step[AS_TEXT_HUMAN], idle[AS_TEXT_HUMAN];
    const struct as_probe_cost *off = &o->run->probes[AS_PROBE_SCOPE_OFF];
    size_t n = 0;

    as_text_ns(scope, o->budgets[AS_BUDGET_SCOPE].shortest_ns[0], AS_TIME_AUTO);
    as_text_ns(step, o->budgets[AS_BUDGET_STEP].shortest_ns[0], AS_TIME_AUTO);
    as_text_ns(idle, off->known ? off->ns : AS_UNKNOWN, AS_TIME_AUTO);
    (void)snprintf(o->advice[n++], sizeof *o->advice,
                   "Profile while developing; take headline latencies from runs without it.");
    (void)snprintf(o->advice[n++], sizeof *o->advice,
                   "Find the critical path with a coarse profile first, then mark only that.");
    (void)snprintf(o->advice[n++], sizeof *o->advice,
                   "Balance detail against cost: scopes of %s and more cost up to 1 %%.", scope);
    (void)snprintf(o->advice[n++], sizeof *o->advice,
                   "Trust times of engine steps of %s and more; judge shorter ones as a group.",
                   step);
    (void)snprintf(o->advice[n++], sizeof *o->advice,
                   "Leave scopes in the program: without a session one costs %s.", idle);
    (void)snprintf(o->advice[n++], sizeof *o->advice,
                   "Use assay_switch() for layers that follow one another: one mark, not two.");
    (void)snprintf(
        o->advice[n++], sizeof *o->advice,
        "Count memory in a pass of its own: its times are not those of an unprofiled run.");
}

void as_overhead_judge(struct as_overhead *out, const struct as_overhead_run *run)
{
    const struct as_probe_cost *scope = &run->probes[AS_PROBE_SCOPE];

    *out = (struct as_overhead){.run = run};
    for (int i = 0; i < AS_OVERHEAD_COUNT; i++)
        judge_row(&out->rows[i], &run->pairs[i]);
    find_budget(out, AS_BUDGET_STEP, out->rows[AS_OVERHEAD_PROFILE_TINY].step_ns);
    find_budget(out, AS_BUDGET_SCOPE, scope->known ? scope->ns : AS_UNKNOWN);
    find_budget(out, AS_BUDGET_RECORDED_STEP, out->rows[AS_OVERHEAD_RECORD_TINY].step_ns);
    out->factor = run->pairs[AS_OVERHEAD_MEASURED].known ? run->pairs[AS_OVERHEAD_MEASURED].factor
                                                         : AS_UNKNOWN;
    out->class_name = out->rows[AS_OVERHEAD_MEASURED].class_name;
    out->hint = out->rows[AS_OVERHEAD_MEASURED].hint;
    give_advice(out);
}
