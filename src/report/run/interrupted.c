/* report/run/interrupted.c - the fact that a measurement was ended early, as a run keeps it. */
#include "report/run/interrupted.h"

#include <stdio.h>

#define TABLE "interrupted"

static const struct as_json_field fields[] = {
    AS_FIELD(struct as_interrupted_fact, done),
    AS_FIELD(struct as_interrupted_fact, planned),
    AS_FIELD(struct as_interrupted_fact, unit),
};
static const struct as_json_shape shape = AS_SHAPE(struct as_interrupted_fact, fields);

void as_interrupted_put(struct as_run_maker *maker, const struct as_interrupted_fact *fact)
{
    as_run_maker_put(maker, TABLE, &shape, fact);
}

bool as_interrupted_get(struct as_run *run, struct as_interrupted_fact *fact)
{
    return as_run_has(run, TABLE) && as_run_get(run, TABLE, &shape, fact, NULL) == ASSAY_OK &&
           fact->unit;
}

void as_interrupted_text(const struct as_interrupted_fact *fact, char out[120])
{
    unsigned long long done = fact->done, planned = fact->planned;

    if (planned)
        (void)snprintf(out, 120, "interrupted after %llu of %llu %.40s%s", done, planned,
                       fact->unit, planned == 1 ? "" : "s");
    else
        (void)snprintf(out, 120, "interrupted after %llu %.40s%s", done, fact->unit,
                       done == 1 ? "" : "s");
}
