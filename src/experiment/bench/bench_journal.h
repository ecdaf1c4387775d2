/* experiment/bench/bench_journal.h - every finished sample, appended as one line the moment it is
 * finished, so that a run that is killed goes on where it was. The first line is the plan. */
#ifndef AS_EXPERIMENT_BENCH_BENCH_JOURNAL_H
#define AS_EXPERIMENT_BENCH_BENCH_JOURNAL_H

#include "experiment/bench/bench_sample.h"

/* Each line is a JSON object whose last member is the CRC-32C of what stands before it, so that a
 * line cut short or changed is seen. {.fd = -1} is closed. */
struct as_journal {
    int fd;
    const char *path; /* the caller's */
    bool torn;        /* a resumed journal ended in the middle of a line, which was cut off */
    uint64_t synced_ns;
};

/* A sample that was read; `why` is NULL, or says that the setting failed, and then the sample has
 * nothing but the setting. Negative codes end the reading. */
typedef int (*as_journal_seen)(void *user, const struct as_bench_sample *sample, const char *why,
                               struct assay_error *err);

/* A new journal with that plan, a JSON object on one line. STATE when there is one at `path`. */
AS_MUST_USE int as_journal_create(struct as_journal *journal, const char *path, const char *plan,
                                  struct assay_error *err);

/* Opens one that is there, tells `seen` what it holds and goes on behind it. Its plan must be the
 * same: STATE names the first member that is not. FORMAT for a line that is damaged before the
 * last; a last line without its end is cut off. STATE too when another
 * process writes it. */
AS_MUST_USE int as_journal_resume(struct as_journal *journal, const char *path, const char *plan,
                                  as_journal_seen seen, void *user, struct assay_error *err);

AS_MUST_USE int as_journal_add(struct as_journal *journal, const struct as_bench_sample *sample,
                               struct assay_error *err);
AS_MUST_USE int as_journal_fail(struct as_journal *journal, uint64_t setting, const char *why,
                                struct assay_error *err);

/* Accepts one already closed. */
AS_MUST_USE int as_journal_close(struct as_journal *journal, struct assay_error *err);

/* The plan, in `arena`, and all samples of the journal at `path`, which stays as it is. FORMAT for
 * a line that is damaged or cut short. */
AS_MUST_USE int as_journal_read(const char *path, struct as_arena *arena,
                                const struct as_json_value **plan, as_journal_seen seen, void *user,
                                struct assay_error *err);

/* The plan of the journal at `path`, in `arena`, for those who look at a run from outside. */
AS_MUST_USE int as_journal_plan(const char *path, struct as_arena *arena,
                                const struct as_json_value **plan, struct assay_error *err);

#endif
