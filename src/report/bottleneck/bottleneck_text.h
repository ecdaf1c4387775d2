/* report/bottleneck/bottleneck_text.h - a bottleneck analysis on a page, for people.
 * Only renders; what had to be left out for want of memory is told by as_page_close(). */
#ifndef AS_REPORT_BOTTLENECK_BOTTLENECK_TEXT_H
#define AS_REPORT_BOTTLENECK_BOTTLENECK_TEXT_H

#include <assay/bottlenecks.h>

#include "report/page/page.h"

/* The first `top` of each list; 0: all. */
void as_bottleneck_page(struct as_page *page, const struct assay_bottleneck_result *result,
                        size_t top);

#endif
