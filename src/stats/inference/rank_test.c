/* stats/inference/rank_test.c - whether two sets of runs differ, by how much, and how surely. */
#include "stats/inference/rank_test.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "stats/describe/sorted.h"

#define MAX_PAIRS (AS_RANK_TEST_EXACT_MAX * AS_RANK_TEST_EXACT_MAX)

/* Both sides, ascending. */
struct sides {
    const double *before, *after;
    size_t n_before, n_after;
};

/* What one walk over both sides yields. */
struct walk {
    double u;
    double tie_cubes; /* sum of t^3 - t over groups of t equal values */
};

static size_t equal_from(const double *v, size_t n, size_t i, double value)
{
    size_t end = i;

    while (end < n && v[end] == value)
        end++;
    return end - i;
}

static struct walk walk_groups(const struct sides *s)
{
    struct walk w = {0};
    size_t i = 0, j = 0;

    while (i < s->n_before || j < s->n_after) {
        double value = j == s->n_after || (i < s->n_before && s->before[i] < s->after[j])
                           ? s->before[i]
                           : s->after[j];
        size_t a = equal_from(s->before, s->n_before, i, value);
        size_t b = equal_from(s->after, s->n_after, j, value);
        double group = (double)(a + b);

        w.u += (double)b * ((double)i + (double)a / 2);
        w.tie_cubes += group * (group * group - 1);
        i += a;
        j += b;
    }
    return w;
}

/* The numbers of orders of both sides that give each u are the coefficients of a Gaussian binomial:
 * the product of (1 - q^(n+i)) / (1 - q^i). The greatest, for 20 and 20, has 11 digits. */
static void count_orders(size_t n1, size_t n2, int64_t orders[MAX_PAIRS + 1])
{
    size_t pairs = n1 * n2;

    memset(orders, 0, (pairs + 1) * sizeof *orders);
    orders[0] = 1;
    for (size_t i = 1; i <= n1; i++) {
        for (size_t k = pairs; k >= n2 + i; k--)
            orders[k] -= orders[k - n2 - i];
        for (size_t k = i; k <= pairs; k++)
            orders[k] += orders[k - i];
    }
}

static double exact_p(size_t n1, size_t n2, double u)
{
    size_t pairs = n1 * n2, tail = (size_t)fmin(u, (double)pairs - u);
    int64_t orders[MAX_PAIRS + 1];
    int64_t inside = 0, all = 0;

    count_orders(n1, n2, orders);
    for (size_t k = 0; k <= pairs; k++) {
        all += orders[k];
        inside += k <= tail ? orders[k] : 0;
    }
    return fmin(2 * (double)inside / (double)all, 1);
}

static double normal_score(const struct sides *s, const struct walk *w)
{
    double n1 = (double)s->n_before, n2 = (double)s->n_after, n = n1 + n2;
    double off = w->u - n1 * n2 / 2;
    double variance = n1 * n2 / 12 * (n + 1 - w->tie_cubes / (n * (n - 1)));

    if (fabs(off) <= 0.5 || !(variance > 0))
        return 0;
    return copysign((fabs(off) - 0.5) / sqrt(variance), off);
}

/* How many differences are at most `t`. Rounding keeps the order, so both indices only grow. */
static uint64_t count_up_to(const struct sides *s, double t)
{
    uint64_t total = 0;
    size_t j = 0;

    for (size_t i = 0; i < s->n_before; i++) {
        while (j < s->n_after && s->after[j] - s->before[i] <= t)
            j++;
        total += j;
    }
    return total;
}

static double least_above(const struct sides *s, double t)
{
    double least = (double)INFINITY;
    size_t j = 0;

    for (size_t i = 0; i < s->n_before; i++) {
        while (j < s->n_after && s->after[j] - s->before[i] <= t)
            j++;
        if (j < s->n_after)
            least = fmin(least, s->after[j] - s->before[i]);
    }
    return least;
}

/* The difference of that rank, from 1, among all of them. */
static double nth_difference(const struct sides *s, uint64_t rank)
{
    uint64_t low = as_sort_key(s->after[0] - s->before[s->n_before - 1]);
    uint64_t high = as_sort_key(s->after[s->n_after - 1] - s->before[0]);

    while (low < high) {
        uint64_t key = low + (high - low) / 2;

        if (count_up_to(s, as_sort_unkey(key)) >= rank)
            high = key;
        else
            low = key + 1;
    }
    return as_sort_unkey(low) + 0.0; /* never -0 */
}

/* The median of all differences, of which there are `pairs`. */
static double median_shift(const struct sides *s, uint64_t pairs)
{
    uint64_t rank = (pairs + 1) / 2;
    double middle = nth_difference(s, rank), next;

    if (pairs % 2 || count_up_to(s, middle) > rank)
        return middle;
    next = least_above(s, middle);
    return middle + (next - middle) / 2;
}

static int check_side(const double *v, size_t n, const char *name, struct assay_error *err)
{
    size_t bad = as_sort_find_bad(v, n);

    if (n == 0)
        return as_fail(err, ASSAY_ERR_USAGE, "no values %s the change", name);
    if (bad < n)
        return as_fail(err, ASSAY_ERR_USAGE, "value %zu %s the change is not a finite number", bad,
                       name);
    return ASSAY_OK;
}

static void fill(struct as_rank_test *out, const struct sides *s, uint64_t pairs)
{
    struct walk w = walk_groups(s);
    bool ties = w.tie_cubes > 0;
    size_t most = s->n_before > s->n_after ? s->n_before : s->n_after;
    size_t least = s->n_before < s->n_after ? s->n_before : s->n_after;
    double z = normal_score(s, &w);
    bool exact = !ties && most <= AS_RANK_TEST_EXACT_MAX;

    *out = (struct as_rank_test){
        .n_before = s->n_before,
        .n_after = s->n_after,
        .u = w.u,
        .z = z,
        .p = exact ? exact_p(s->n_before, s->n_after, w.u) : erfc(fabs(z) / M_SQRT2),
        .exact = exact,
        .ties = ties,
        .few = least < AS_RANK_TEST_FEW,
        .probability = w.u / (double)pairs,
        .delta = 2 * w.u / (double)pairs - 1,
        .shift = median_shift(s, pairs),
    };
}

/* Checks both sides and sorts copies of them into `*work`, which the caller frees. */
static int sort_sides(struct sides *s, double **work, uint64_t *pairs, struct assay_error *err)
{
    size_t n = s->n_before + s->n_after;
    double *sorted, *scratch;
    int rc = check_side(s->before, s->n_before, "before", err);

    if (rc == ASSAY_OK)
        rc = check_side(s->after, s->n_after, "after", err);
    if (rc < 0)
        return rc;
    if (!as_mul_u64(s->n_before, s->n_after, pairs))
        return as_fail(err, ASSAY_ERR_LIMIT, "too many values to compare");
    sorted = *work = as_alloc_zero(n, 2 * sizeof *sorted);
    if (!sorted)
        return as_fail_nomem(err);
    scratch = sorted + n;
    memcpy(sorted, s->before, s->n_before * sizeof *sorted);
    memcpy(sorted + s->n_before, s->after, s->n_after * sizeof *sorted);
    as_sort_f64(sorted, s->n_before, scratch);
    as_sort_f64(sorted + s->n_before, s->n_after, scratch);
    s->before = sorted;
    s->after = sorted + s->n_before;
    return ASSAY_OK;
}

int as_rank_test(struct as_rank_test *out, const double *before, size_t n_before,
                 const double *after, size_t n_after, struct assay_error *err)
{
    struct sides s = {before, after, n_before, n_after};
    double *work = NULL;
    uint64_t pairs;
    int rc = sort_sides(&s, &work, &pairs, err);

    if (rc < 0)
        return rc;
    fill(out, &s, pairs);
    as_free(work);
    return ASSAY_OK;
}

/* How likely u is below `k` when the sides do not differ. */
static double below_normal(const struct sides *s, uint64_t k)
{
    double n1 = (double)s->n_before, n2 = (double)s->n_after;
    double sd = sqrt(n1 * n2 * (n1 + n2 + 1) / 12);

    return k == 0 ? 0 : erfc((n1 * n2 / 2 - ((double)k - 0.5)) / sd / M_SQRT2) / 2;
}

/* The most differences that may be left out at each end, and how likely u is below that. */
static uint64_t cut_normal(const struct sides *s, uint64_t pairs, double tail, double *below)
{
    uint64_t low = 0, high = pairs / 2;

    while (low < high) {
        uint64_t k = low + (high - low + 1) / 2;

        if (below_normal(s, k) <= tail)
            low = k;
        else
            high = k - 1;
    }
    *below = below_normal(s, low);
    return low;
}

static uint64_t cut_exact(const struct sides *s, uint64_t pairs, double tail, double *below)
{
    int64_t orders[MAX_PAIRS + 1];
    double all = 0, inside = 0;
    uint64_t k = 0;

    count_orders(s->n_before, s->n_after, orders);
    for (uint64_t i = 0; i <= pairs; i++)
        all += (double)orders[i];
    while (k < pairs / 2 && (inside + (double)orders[k]) / all <= tail)
        inside += (double)orders[k++];
    *below = inside / all;
    return k;
}

int as_rank_shift_interval(struct as_interval *out, const double *before, size_t n_before,
                           const double *after, size_t n_after, double level,
                           struct assay_error *err)
{
    struct sides s = {before, after, n_before, n_after};
    double *work = NULL, below;
    uint64_t pairs, cut;
    int rc;

    if (!(level > 0 && level < 1))
        return as_fail(err, ASSAY_ERR_USAGE, "a level of confidence lies between 0 and 1");
    rc = sort_sides(&s, &work, &pairs, err);
    if (rc < 0)
        return rc;
    if (n_before <= AS_RANK_TEST_EXACT_MAX && n_after <= AS_RANK_TEST_EXACT_MAX)
        cut = cut_exact(&s, pairs, (1 - level) / 2, &below);
    else
        cut = cut_normal(&s, pairs, (1 - level) / 2, &below);
    *out = (struct as_interval){
        .low = nth_difference(&s, cut ? cut : 1),
        .high = nth_difference(&s, cut ? pairs + 1 - cut : pairs),
        .level = level,
        .coverage = cut ? 1 - 2 * below : 0,
        .reached = cut > 0,
    };
    as_free(work);
    return ASSAY_OK;
}
