/* cmd/run/run_name.h - the name of a run's file: one for each process or rank where it says so. */
#ifndef AS_CMD_RUN_RUN_NAME_H
#define AS_CMD_RUN_RUN_NAME_H

#include <stddef.h>

#include "base/error.h"

/* The rank that an MPI launcher or a batch system gave this process, as its decimal digits; NULL:
 * none. Borrowed from the environment. */
const char *as_run_rank(void);

/* `pattern` with %p (the process id of assay), %h (the host's name), %r (the rank) and %% (a
 * percent sign) filled in. NULL: "run.assay", or "run.%r.assay" where there is a rank. */
AS_MUST_USE int as_run_name(char *out, size_t capacity, const char *pattern,
                            struct assay_error *err);

#endif
