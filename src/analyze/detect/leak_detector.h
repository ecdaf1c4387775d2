/* analyze/detect/leak_detector.h - what the rest of the library may ask of a leak detector beside
 * <assay/leaks.h>. */
#ifndef AS_ANALYZE_DETECT_LEAK_DETECTOR_H
#define AS_ANALYZE_DETECT_LEAK_DETECTOR_H

#include <stdbool.h>

#include <assay/leaks.h>

/* Whether the heap's own account stayed level while readings of resident memory came in: small
 * growth of the process is then no incident but what as_leak_outside_heap_mb() tells. */
void as_leak_set_heap_level(struct assay_leak_detector *detector, bool level);

/* By how much resident memory grew while the heap did not, as of the last search for incidents; 0:
 * it did not. */
double as_leak_outside_heap_mb(const struct assay_leak_detector *detector);

#endif
