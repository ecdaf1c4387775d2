/* base/fact.h - a value of the machine, or the reason why there is none.
 * Absence is never 0: whoever shows a fact looks at `why` first. */
#ifndef AS_BASE_FACT_H
#define AS_BASE_FACT_H

#include <stdbool.h>
#include <stdint.h>

/* A count, a size or a time. */
struct as_fact {
    uint64_t value;
    const char *why; /* NULL: `value` is known; otherwise a static sentence without a full stop */
};

/* A share, a rate or a load. */
struct as_fact_real {
    double value;
    const char *why;
};

/* A limit somebody may have set: known to be absent is not the same as unknown. */
struct as_limit {
    double value;
    bool set;
    const char *why; /* not NULL: nobody can say whether there is one */
};

static inline struct as_fact as_fact_of(uint64_t value)
{
    return (struct as_fact){.value = value};
}

static inline struct as_fact as_fact_none(const char *why)
{
    return (struct as_fact){.why = why};
}

#endif
