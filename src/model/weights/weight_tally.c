/* model/weights/weight_tally.c - sums, counts and percentiles of numbers that come in slices.
 * Keeps either every number or a histogram of them, as the caller gives it room. */
#include "model/weights/weight_stats.h"

#include <math.h>
#include <string.h>

#include "base/units.h"

const int as_weight_percentiles[AS_WEIGHT_PERCENTILES] = {10, 25, 50, 75, 90};

enum { N_LANES = 8 };

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* An f32 has its exponent and the top of its fraction at the same places as this makes them. */
static size_t bucket_of(double x)
{
    uint64_t low = (uint64_t)(1023 - 127) << 8, top = bits_of(x) >> 44;

    if (top < low)
        return 0;
    return top - low < AS_WEIGHT_BUCKETS ? (size_t)(top - low) : AS_WEIGHT_BUCKETS - 1;
}

static double bucket_start(size_t bucket)
{
    uint64_t bits = ((uint64_t)bucket + ((uint64_t)(1023 - 127) << 8)) << 44;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* What is not finite is counted and left out. */
static size_t keep_finite(struct as_weight_stats *stats, double *x, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (isfinite(x[i]))
            x[kept++] = x[i];
        else if (isnan(x[i]))
            stats->n_nan++;
        else
            stats->n_inf++;
    }
    return kept;
}

/* In lanes, so that additions need not wait for each other; also the more exact order. */
static double sum_of(const double *x, size_t n)
{
    double lane[N_LANES] = {0}, sum = 0;
    size_t i = 0;

    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t k = 0; k < N_LANES; k++)
            lane[k] += x[i + k];
    for (; i < n; i++)
        sum += x[i];
    for (size_t k = 0; k < N_LANES; k++)
        sum += lane[k];
    return sum;
}

static double squares_about(const double *x, size_t n, double mean)
{
    double lane[N_LANES] = {0}, sum = 0;
    size_t i = 0;

    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t k = 0; k < N_LANES; k++)
            lane[k] += (x[i + k] - mean) * (x[i + k] - mean);
    for (; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    for (size_t k = 0; k < N_LANES; k++)
        sum += lane[k];
    return sum;
}

static void find_ends(struct as_weight_stats *stats, const double *x, size_t n)
{
    double low[N_LANES], high[N_LANES];
    size_t i = 0;

    for (size_t k = 0; k < N_LANES; k++)
        low[k] = high[k] = x[0];
    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t k = 0; k < N_LANES; k++) {
            low[k] = x[i + k] < low[k] ? x[i + k] : low[k];
            high[k] = x[i + k] > high[k] ? x[i + k] : high[k];
        }
    for (; i < n; i++) {
        low[0] = x[i] < low[0] ? x[i] : low[0];
        high[0] = x[i] > high[0] ? x[i] : high[0];
    }
    for (size_t k = 0; k < N_LANES; k++) {
        stats->min = stats->total_weights + k == 0 || low[k] < stats->min ? low[k] : stats->min;
        stats->max = stats->total_weights + k == 0 || high[k] > stats->max ? high[k] : stats->max;
    }
}

/* Bits of numbers without sign are in the order of the numbers, and the top bit of a difference
 * says which is less: two at a time on any machine. */
static uint64_t count_below(const double *x, size_t n, double limit)
{
    uint64_t lane[N_LANES] = {0}, count = 0, at = bits_of(limit);
    size_t i = 0;

    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t k = 0; k < N_LANES; k++)
            lane[k] += (bits_of(x[i + k]) - at) >> 63;
    for (; i < n; i++)
        count += x[i] < limit;
    for (size_t k = 0; k < N_LANES; k++)
        count += lane[k];
    return count;
}

/* What has none below a limit has none below a lower one. */
static void count_small(struct as_weight_stats *stats, const double *x, size_t n)
{
    uint64_t tenths = count_below(x, n, 0.1), hundredths = 0, thousandths = 0, zeros = 0;

    if (tenths)
        hundredths = count_below(x, n, 0.01);
    if (hundredths)
        thousandths = count_below(x, n, 0.001);
    if (thousandths)
        zeros = count_below(x, n, 5e-324); /* the least there is */
    stats->below_01 += tenths;
    stats->below_001 += hundredths;
    stats->below_0001 += thousandths;
    stats->n_zero += zeros;
}

static double mean_of(const struct as_weight_tally *tally)
{
    return (tally->sum + tally->lost) / (double)tally->stats.total_weights;
}

static void add_sum(struct as_weight_tally *tally, double x)
{
    double sum = tally->sum + x;

    tally->lost += tally->sum >= x ? tally->sum - sum + x : x - sum + tally->sum;
    tally->sum = sum;
}

/* Moments of `n` more numbers with the sum and the squares about their own mean. */
static void add_moments(struct as_weight_tally *tally, uint64_t n, double sum, double m2)
{
    double before = (double)tally->stats.total_weights, now = (double)n;

    if (before > 0) {
        double delta = sum / now - mean_of(tally);

        m2 += delta * delta * (before * now / (before + now));
    }
    tally->m2 += m2;
    add_sum(tally, sum);
    tally->stats.total_weights += n;
}

void as_weight_tally_add(struct as_weight_tally *tally, double *numbers, size_t n)
{
    double sum = sum_of(numbers, n);

    if (!isfinite(sum)) {
        n = keep_finite(&tally->stats, numbers, n);
        sum = sum_of(numbers, n);
    }
    if (n == 0)
        return;
    find_ends(&tally->stats, numbers, n);
    count_small(&tally->stats, numbers, n);
    add_moments(tally, n, sum, squares_about(numbers, n, sum / (double)n));
    for (size_t i = 0; tally->buckets && i < n; i++)
        tally->buckets[bucket_of(numbers[i])]++;
    if (tally->kept) {
        memcpy(tally->kept + tally->n_kept, numbers, n * sizeof *numbers);
        tally->n_kept += n;
    }
}

void as_weight_tally_merge(struct as_weight_tally *into, const struct as_weight_tally *from)
{
    struct as_weight_stats *to = &into->stats;
    const struct as_weight_stats *s = &from->stats;

    to->n_nan += s->n_nan;
    to->n_inf += s->n_inf;
    to->skipped += s->skipped;
    to->bytes_read += s->bytes_read;
    if (s->total_weights == 0)
        return;
    to->min = to->total_weights == 0 || s->min < to->min ? s->min : to->min;
    to->max = to->total_weights == 0 || s->max > to->max ? s->max : to->max;
    to->n_zero += s->n_zero;
    to->below_0001 += s->below_0001;
    to->below_001 += s->below_001;
    to->below_01 += s->below_01;
    add_moments(into, s->total_weights, from->sum, from->m2);
    add_sum(into, from->lost);
    for (size_t i = 0;
         into->buckets && from->buckets && into->buckets != from->buckets && i < AS_WEIGHT_BUCKETS;
         i++)
        into->buckets[i] += from->buckets[i];
}

static void sort_few(double *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double moved = v[i];
        size_t k = i;

        for (; k > 0 && v[k - 1] > moved; k--)
            v[k] = v[k - 1];
        v[k] = moved;
    }
}

static size_t digit_of(double x, unsigned shift)
{
    return (size_t)(bits_of(x) >> shift & 2047);
}

/* Moves those with a smaller digit ahead of `low` and those with a greater one behind `high`. */
static void part(double *v, size_t *low, size_t *high, size_t digit, unsigned shift)
{
    size_t i = *low;

    while (i < *high) {
        size_t here = digit_of(v[i], shift);
        double x = v[i];

        if (here < digit) {
            v[i++] = v[*low];
            v[(*low)++] = x;
        } else if (here > digit) {
            v[i] = v[--(*high)];
            v[*high] = x;
        } else {
            i++;
        }
    }
}

/* Puts the number of rank `k` at v[k], the smaller ones before and the greater ones behind. By
 * digits, the highest first: linear, whatever order a file has its numbers in. */
static double select_rank(double *v, size_t n, size_t k)
{
    static const unsigned shifts[] = {53, 42, 31, 20, 9, 0};
    size_t low = 0, high = n;

    for (size_t s = 0; s < AS_COUNT_OF(shifts) && high - low > 48; s++) {
        uint32_t count[2048] = {0};
        size_t digit = 0, before = low;

        for (size_t i = low; i < high; i++)
            count[digit_of(v[i], shifts[s])]++;
        while (before + count[digit] <= k)
            before += count[digit++];
        part(v, &low, &high, digit, shifts[s]);
    }
    if (high - low <= 48)
        sort_few(v + low, high - low);
    return v[k];
}

/* The rank of a percentile among n, and how far it is on the way to the next. */
static uint64_t rank_of(uint64_t n, int percent, double *fraction)
{
    /* Whole numbers, so that a whole rank has no fraction. */
    uint64_t last = n - 1, p = (uint64_t)percent;
    uint64_t hundreds = last / 100 * p, rest = last % 100 * p;

    *fraction = (double)(rest % 100) / 100;
    return hundreds + rest / 100;
}

/* What was selected before, at `*sorted`, has only greater ones behind it: percentiles are asked
 * for in rising order and the rest gets shorter. */
static double kept_percentile(struct as_weight_tally *tally, int percent, size_t *sorted)
{
    double fraction, low, high = (double)INFINITY;
    size_t rank = (size_t)rank_of(tally->n_kept, percent, &fraction);

    low = select_rank(tally->kept + *sorted, tally->n_kept - *sorted, rank - *sorted);
    *sorted = rank;
    if (fraction == 0)
        return low;
    for (size_t i = rank + 1; i < tally->n_kept; i++)
        high = tally->kept[i] < high ? tally->kept[i] : high;
    return low + (high - low) * fraction;
}

/* The number of rank `k`, taking those of a bucket to be evenly spread over it. */
static double bucket_number(struct as_weight_tally *tally, uint64_t k)
{
    struct as_weight_stats *stats = &tally->stats;
    uint64_t before = stats->n_zero, here = 0;
    size_t b = 0;
    double x, start, end;

    if (k < before)
        return 0;
    if (k + 1 == stats->total_weights)
        return stats->max;
    for (; b < AS_WEIGHT_BUCKETS; b++) {
        here = tally->buckets[b] - (b == 0 ? stats->n_zero : 0);
        if (before + here > k)
            break;
        before += here;
    }
    start = b < 256 ? 0 : bucket_start(b);
    end = b < 256 ? bucket_start(256) : bucket_start(b + 1);
    x = start + (end - start) * ((double)(k - before) + 0.5) / (double)here;
    if (b < 256 || b + 1 == AS_WEIGHT_BUCKETS)
        stats->percentile_error = 1;
    else if (stats->percentile_error == 0)
        stats->percentile_error = 1.0 / 256;
    return x > stats->max ? stats->max : x < stats->min ? stats->min : x;
}

static double bucket_percentile(struct as_weight_tally *tally, int percent)
{
    double fraction, low;
    uint64_t rank = rank_of(tally->stats.total_weights, percent, &fraction);

    low = bucket_number(tally, rank);
    if (fraction == 0)
        return low;
    return low + (bucket_number(tally, rank + 1) - low) * fraction;
}

void as_weight_tally_finish(struct as_weight_tally *tally)
{
    struct as_weight_stats *stats = &tally->stats;
    size_t sorted = 0;

    if (stats->total_weights == 0) {
        stats->mean = stats->std = stats->min = stats->max = AS_UNKNOWN;
        for (int i = 0; i < AS_WEIGHT_PERCENTILES; i++)
            stats->percentile[i] = AS_UNKNOWN;
        return;
    }
    stats->mean = mean_of(tally);
    stats->std = sqrt(tally->m2 / (double)stats->total_weights);
    for (int i = 0; i < AS_WEIGHT_PERCENTILES; i++)
        stats->percentile[i] = tally->kept
                                   ? kept_percentile(tally, as_weight_percentiles[i], &sorted)
                                   : bucket_percentile(tally, as_weight_percentiles[i]);
}
