/* analyze/run/diff_side.h - one side of a comparison, from a file.
 * Refuses a run that is not whole unless told otherwise: its totals would mislead. */
#ifndef AS_ANALYZE_RUN_DIFF_SIDE_H
#define AS_ANALYZE_RUN_DIFF_SIDE_H

#include "analyze/run/layers.h"
#include "analyze/run/run_diff.h"

struct as_saved_profile;

struct as_diff_run {
    struct as_diff_side side;
    struct as_run *run;
    struct as_layers *layers;
    const char *broken; /* what is wrong with the run, as in "was never closed"; NULL: nothing */
    struct as_arena arena;
    struct as_saved_profile *session; /* when it came from the JSON of a session; else NULL */
};

/* Opens and reads `path`: a run, or the JSON of a session. STATE when the run is not whole and
 * `partial` is false; NOTFOUND when there is nothing in it to compare. Close with
 * as_diff_run_close(). */
AS_MUST_USE int as_diff_run_open(struct as_diff_run **out, const char *path, bool partial,
                                 struct assay_error *err);

/* Accepts NULL. */
void as_diff_run_close(struct as_diff_run *r);

#endif
