/* report/page/time_columns.h - times for people: one unit and one number of decimals for a column.
 * A time that is not zero never reads as zero. */
#ifndef AS_REPORT_PAGE_TIME_COLUMNS_H
#define AS_REPORT_PAGE_TIME_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text/text.h"

struct as_time_scale {
    enum as_time_unit unit;
    unsigned decimals;
};

/* What suits a column whose largest time is that; `wanted` other than AS_TIME_AUTO sets the unit.
 */
struct as_time_scale as_time_scale_for(double largest_ns, enum as_time_unit wanted);

/* The number alone: the unit stands in the column's title. Not finite: "-". */
size_t as_text_scaled(char out[AS_TEXT_HUMAN], double ns, struct as_time_scale scale);

/* "0.02 %": two digits also of a small share. Not finite: "-". */
size_t as_text_share(char out[AS_TEXT_HUMAN], double share);

/* "2026-11-15 20:47:25 UTC" of nanoseconds since 1970; "-" when it cannot be told. */
size_t as_text_date(char out[AS_TEXT_HUMAN], uint64_t real_ns);

#endif
