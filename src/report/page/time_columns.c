/* report/page/time_columns.c - times for people: one unit and one number of decimals for a column.
 * A time that is not zero never reads as zero. */
#include "report/page/page.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

#define MOST_DECIMALS 9

static const double unit_ns[] = {
    [AS_TIME_AUTO] = 1, [AS_TIME_NS] = 1, [AS_TIME_US] = 1e3, [AS_TIME_MS] = 1e6, [AS_TIME_S] = 1e9,
};
_Static_assert(AS_COUNT_OF(unit_ns) == AS_TIME_COUNT, "size every unit");

struct as_time_scale as_time_scale_for(double largest_ns, enum as_time_unit wanted)
{
    struct as_time_scale scale = {wanted, 3};
    double largest;

    /* A tenth: the largest then has two digits or more, and the smaller ones keep some. */
    if (wanted == AS_TIME_AUTO)
        scale.unit = as_time_unit_for(largest_ns / 10);
    largest = largest_ns / unit_ns[scale.unit];
    if (scale.unit == AS_TIME_NS)
        scale.decimals = largest >= 100 ? 0 : 1;
    else if (largest >= 1000)
        scale.decimals = 1;
    else if (largest >= 100)
        scale.decimals = 2;
    return scale;
}

static size_t put_unknown(char out[AS_TEXT_HUMAN])
{
    memcpy(out, "-", 2);
    return 1;
}

/* `value` with that many decimals, or with more when it would read as zero. */
static size_t put_visible(char out[AS_TEXT_HUMAN], double value, unsigned decimals)
{
    double step = pow(10, -(double)decimals);

    while (value != 0 && fabs(value) < step / 2 && decimals < MOST_DECIMALS) {
        decimals++;
        step /= 10;
    }
    return as_text_fixed(out, value, decimals);
}

size_t as_text_scaled(char out[AS_TEXT_HUMAN], double ns, struct as_time_scale scale)
{
    if (!isfinite(ns))
        return put_unknown(out);
    return put_visible(out, ns / unit_ns[scale.unit], scale.decimals);
}

size_t as_text_share(char out[AS_TEXT_HUMAN], double share)
{
    size_t n;

    if (!isfinite(share))
        return put_unknown(out);
    n = put_visible(out, 100 * share, fabs(share) < 0.01 ? 2 : 1);
    memcpy(out + n, " %", 3);
    return n + 2;
}

size_t as_text_date(char out[AS_TEXT_HUMAN], uint64_t real_ns)
{
    time_t seconds = (time_t)(real_ns / 1000000000u);
    struct tm tm;
    size_t n = 0;

    if (real_ns > 0 && gmtime_r(&seconds, &tm))
        n = strftime(out, AS_TEXT_HUMAN, "%Y-%m-%d %H:%M:%S UTC", &tm);
    return n ? n : put_unknown(out);
}
