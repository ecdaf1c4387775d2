/* cmd/common/faults.h - makes allocations fail on request, in builds made with ASSAY_FAULTS.
 * In other builds both functions do nothing. */
#ifndef AS_CMD_COMMON_FAULTS_H
#define AS_CMD_COMMON_FAULTS_H

/* Reads ASSAY_ALLOC_FAIL: N makes the n-th allocation fail, N+ every one from there on, ..N each of
 * the first N in processes of their own; then it returns only in those. */
void as_faults_arm(void);

/* Switches failing off and, with ASSAY_ALLOC_COUNT, prints how many allocations were made. */
void as_faults_report(void);

#endif
