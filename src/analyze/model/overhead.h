/* analyze/model/overhead.h - whether measuring is cheap enough: a class for each way to measure,
 * and the shortest layer for which it still is. A pure function of what was timed. */
#ifndef AS_ANALYZE_MODEL_OVERHEAD_H
#define AS_ANALYZE_MODEL_OVERHEAD_H

#include "measure/overhead/overhead_run.h"

struct as_overhead_row {
    const struct as_overhead_pair *pair; /* NULL: could not be had */
    double cost_share;                   /* of the time without it: 0.01 is 1 % */
    double step_ns;                      /* what each step pays */
    bool shown;                          /* the interval of the factor does not hold 1 */
    const char *class_name, *hint;       /* by the factor: "low", "moderate", "high" */
};

/* What a layer pays once, and how long it must be for that to be little. */
#define AS_OVERHEAD_BUDGETS(X)                                                                     \
    X(STEP, "profiled_step", "profiled by the engine")                                             \
    X(SCOPE, "recorded_scope", "marked by a scope")                                                \
    X(RECORDED_STEP, "recorded_step", "profiled and recorded")

enum as_overhead_budget_kind {
#define X(name, key, text) AS_BUDGET_##name,
    AS_OVERHEAD_BUDGETS(X)
#undef X
        AS_BUDGET_COUNT
};

enum { AS_BUDGET_LIMITS = 2 };

struct as_overhead_budget {
    const char *key, *text;
    double cost_ns;                       /* NaN: not known */
    double shortest_ns[AS_BUDGET_LIMITS]; /* for each of as_overhead_limits */
};

extern const double as_overhead_limits[AS_BUDGET_LIMITS]; /* 0.01, 0.05 */

enum { AS_OVERHEAD_ADVICE = 7 };

struct as_overhead {
    const struct as_overhead_run *run;
    struct as_overhead_row rows[AS_OVERHEAD_COUNT];
    struct as_overhead_budget budgets[AS_BUDGET_COUNT];
    double factor; /* of a function measured call by call against the same called bare */
    const char *class_name, *hint;
    char advice[AS_OVERHEAD_ADVICE][200]; /* best practices, with the figures of this machine */
};

void as_overhead_judge(struct as_overhead *out, const struct as_overhead_run *run);

#endif
