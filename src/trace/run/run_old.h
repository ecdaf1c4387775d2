/* trace/run/run_old.h - where an older run goes when another takes its place. */
#ifndef AS_TRACE_RUN_RUN_OLD_H
#define AS_TRACE_RUN_RUN_OLD_H

#include <stdbool.h>
#include <stddef.h>

/* "NAME.old" for the run `name` in the folder; "NAME.old.2" when NAME.old has its end and the run
 * that would displace it has not: what a full disk or a kill left must not cost a good run. False
 * when that is too long. */
bool as_run_old_name(char *out, size_t capacity, int folder, const char *name);

#endif
