/* trace/run/run_facts.h - looks up the facts kept with a run by a path such as "host.cpu_model".
 * A later meta block's word wins over an earlier one's. */
#ifndef AS_TRACE_RUN_RUN_FACTS_H
#define AS_TRACE_RUN_RUN_FACTS_H

#include "trace/run/run_reader.h"

/* The text there, in the run's own memory; NULL when there is none. */
const char *as_run_fact_text(struct as_run *run, const char *path);

/* Whether the text there is this one; copies nothing. */
bool as_run_fact_is(const struct as_run *run, const char *path, const char *text);

/* The number there; false when there is none. */
bool as_run_fact_number(const struct as_run *run, const char *path, double *out);

/* The strings of the array there, joined by spaces, in the run's own memory; NULL when there is
 * none. */
const char *as_run_fact_list(struct as_run *run, const char *path);

#endif
