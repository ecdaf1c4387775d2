/* experiment/witness/replay.h - computes again what a witness tells of, and compares.
 * Needs a file that says what the inputs were; one that does not is reported as such. */
#ifndef AS_EXPERIMENT_WITNESS_REPLAY_H
#define AS_EXPERIMENT_WITNESS_REPLAY_H

#include <stdint.h>

#include "base/error.h"

struct as_replay_report {
    uint64_t checked;   /* entries computed again */
    uint64_t differing; /* witnesses in which one has another result */
    char sentence[240]; /* what differs first; "" when nothing does */
};

enum as_replay_kind { AS_REPLAY_WITNESS, AS_REPLAY_BUNDLE, AS_REPLAY_FOLDER };

/* `path` is of that kind, and was found whole before. A bundle brings its plan; that of a witness
 * is beside it. ASSAY_ERR_UNSUPPORTED when it holds nothing that can be computed again. */
AS_MUST_USE int as_replay_check(const char *path, enum as_replay_kind kind,
                                struct as_replay_report *report, struct assay_error *err);

#endif
