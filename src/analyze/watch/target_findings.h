/* analyze/watch/target_findings.h - whether a program's memory grows, and what holds the program
 * back. Each answer comes with the figures it rests on; what cannot be told is said to be unknown.
 */
#ifndef AS_ANALYZE_WATCH_TARGET_FINDINGS_H
#define AS_ANALYZE_WATCH_TARGET_FINDINGS_H

#include <assay/bottlenecks.h>
#include <stddef.h>

#include "analyze/watch/target.h"
#include "base/finding.h"

enum as_growth_verdict {
    AS_GROWTH_UNKNOWN,
    AS_GROWTH_NONE,
    AS_GROWTH_STOPPED,  /* it grew, then not for a third of the time or longer: a cache that filled
                         */
    AS_GROWTH_RETURNED, /* it grew, and was given back before the end: worth a look, no leak */
    AS_GROWTH_FOUND
};

/* Growth of one series of the whole tree, by the sound test of <assay/leaks.h>. */
struct as_target_growth {
    const char *key, *what;  /* "heap_live", "the heap" */
    bool of_processes;       /* memory as seen from outside, with what no heap holds */
    bool counts;             /* things and not bytes: rate and net are of those */
    size_t readings, judged; /* taken, and of those the ones before the program began to end */
    enum as_growth_verdict verdict; /* UNKNOWN: too few samples */
    bool per_iteration;             /* else by the second */
    /* The greatest incident: bytes a second or iteration, seconds or iterations; NaN without one.
     */
    double rate, length, net_bytes, p_value;
    double seconds_to_exhaustion; /* at that rate; NaN: not known */
    const char *headroom_of;  /* what is exhausted: "machine", "control_group", "address_space" */
    const char *headroom_why; /* why that is not known; NULL: it is */
    bool lasts;               /* it was found up to the last samples */
    bool to_the_end;          /* it grew for most of the run, until the program began to end */
    double stopped_seconds;   /* it grew no more from there on; NaN: it went on growing */
    bool rested;              /* for a third of the time or longer, up to the end */
    bool fell;                /* the last reading is down again */
    /* NONE, but it rose in steps up to the last sample, too few of them to decide: by so much, in
     * so many. 0: it did not. */
    double open_rise;
    uint32_t open_steps;
    const char *text; /* one sentence */
};
#define AS_TARGET_MIN_SAMPLES 30 /* fewer and the test keeps silent */
#define AS_TARGET_GROWTHS     5 /* heap, at iterations too, resident memory, descriptors, threads */

struct as_growing_site {
    const struct as_target_site *place;
    double share; /* of the growth of the heap, or of all growing places when that is unknown; NaN:
                     a mapping */
    const char *text; /* one sentence */
};

#define AS_TARGET_MAX_CAUSES 16

struct as_target_findings {
    struct as_arena arena;
    enum as_growth_verdict verdict;      /* over all series */
    const char *headline, *verdict_text; /* in short, and with the figures */
    struct as_target_growth growth[AS_TARGET_GROWTHS];
    size_t n_growths; /* of series that the run has */
    struct as_growing_site *growing;
    size_t n_growing;         /* fastest first */
    const char *mapping_text; /* the mapping behind the growth of resident memory; NULL: none */
    const char *live_text;    /* what was not freed at the end; NULL: nothing, or not watched */
    double processors_used;
    bool heap_in_part; /* counted for a part of the time, or of one program of several */
    struct assay_finding cause[AS_TARGET_MAX_CAUSES]; /* what may hold the program back, ranked */
    size_t n_causes;
};

/* The program must outlive the findings. */
AS_MUST_USE int as_target_findings_new(struct as_target_findings **out,
                                       const struct as_target *target, struct assay_error *err);
void as_target_findings_free(struct as_target_findings *findings);

const char *as_growth_verdict_name(enum as_growth_verdict verdict);

/* For the parts of it alone. */
AS_PRINTF(2, 3)
const char *as_findings_say(struct as_target_findings *f, const char *fmt, ...);
AS_MUST_USE int as_target_find_growth(struct as_target_findings *f, const struct as_target *target,
                                      struct assay_error *err);
/* Verdicts of all series are there: holds them against what was live at the end, and sums up. */
void as_target_find_verdict(struct as_target_findings *f, const struct as_target *target);
void as_target_find_causes(struct as_target_findings *f, const struct as_target *target);

/* ---- target_growth.c ---- */

/* Whether what stopped growing at `stop` rested for a third of the time that was judged. */
bool as_growth_rested(const double *seconds, size_t n, double stop);

/* The time at which `value` came to its last level; NaN: it grew up to the last of them, or did not
 * grow. `seconds` never fall. */
double as_growth_stop(const double *seconds, const double *value, size_t n);

/* How `value` rises in steps that stay, up to the last: by how much in all, 0 when it does not, or
 * in one step for the most part, or by less than `least`. Start-up is left out. */
double as_growth_in_steps(const double *seconds, const double *value, size_t n, double least,
                          uint32_t *steps);

/* Fills seconds_to_exhaustion and what runs out, or why that is not known. */
void as_target_find_time_to_oom(struct as_target_growth *g, const struct as_target *target);

#endif
