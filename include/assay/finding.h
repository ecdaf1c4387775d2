/* assay/finding.h - one recommendation, whichever analysis made it: what was found, how much it
 * matters, what shows it and what to do. Every list of them is in the same order: by severity, the
 * greatest first, then by expected gain. */
#ifndef ASSAY_FINDING_H
#define ASSAY_FINDING_H

#ifdef __cplusplus
extern "C" {
#endif

/* How sure it is that the action helps. */
enum assay_confidence {
    ASSAY_CONFIDENCE_LOW,
    ASSAY_CONFIDENCE_MEDIUM,
    ASSAY_CONFIDENCE_HIGH,
    ASSAY_CONFIDENCE_COUNT
};

struct assay_finding {
    const char *rule;     /* an id that stays the same over versions: "memory-bound-weights" */
    const char *target;   /* the layer, process or setting it is about; NULL: the whole */
    const char *finding;  /* what was found; NULL: the action contains it */
    const char *evidence; /* the metrics behind it */
    const char *action;   /* what to do; NULL: nothing */
    double severity;      /* 0 to 100 */
    double expected_gain; /* fraction of the whole time that following it is expected to save; NaN:
                             unknown */
    enum assay_confidence confidence;
};

#ifdef __cplusplus
}
#endif
#endif
