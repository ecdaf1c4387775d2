/* analyze/run/run_diff.c - what changed between two runs, layer by layer, and how surely. */
#include "analyze/run/run_diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/order.h"
#include "base/units.h"
#include "stats/describe/sorted.h"
#include "stats/inference/interval.h"
#include "stats/inference/rank_test.h"

static const struct as_diff_test no_test = {.p = AS_UNKNOWN,
                                            .q = AS_UNKNOWN,
                                            .median_ns = {AS_UNKNOWN, AS_UNKNOWN},
                                            .shift_ns = AS_UNKNOWN,
                                            .shift_low_ns = AS_UNKNOWN,
                                            .shift_high_ns = AS_UNKNOWN,
                                            .relative = AS_UNKNOWN,
                                            .inflation = AS_UNKNOWN};

#define X(name, text) text,
static const char *const basis_name[] = {AS_DIFF_BASES(X)};
static const char *const verdict_name[] = {AS_DIFF_VERDICTS(X)};
static const char *const sort_name[] = {AS_DIFF_SORTS(X)};
#undef X

const char *as_diff_basis_name(enum as_diff_basis basis)
{
    return (unsigned)basis < AS_DIFF_BASIS_COUNT ? basis_name[basis] : "unknown";
}

const char *as_diff_verdict_name(enum as_diff_verdict verdict)
{
    return (unsigned)verdict < AS_DIFF_VERDICT_COUNT ? verdict_name[verdict] : "unknown";
}

const char *as_diff_sort_name(enum as_diff_sort sort)
{
    return (unsigned)sort < AS_DIFF_SORT_COUNT ? sort_name[sort] : NULL;
}

/* What is left of `before` when `part` of it goes; NaN when there was nothing. */
static double ratio(double part, double before)
{
    return before > 0 && isfinite(part) ? part / before : AS_UNKNOWN;
}

/* ---- tests ---- */

/* Some readings of each side. */
struct pair {
    const double *value[2];
    size_t n[2];
};

static bool is_enough(const struct pair *p)
{
    return p->value[0] && p->value[1] && p->n[0] >= AS_RANK_TEST_FEW && p->n[1] >= AS_RANK_TEST_FEW;
}

#define INTERVAL_LEVEL 0.95

static bool all_zero(const double *v, size_t n)
{
    size_t i = 0;

    while (i < n && v[i] == 0)
        i++;
    return i == n;
}

/* Both sides sorted, and how many readings of each are worth one independent reading. */
struct sides {
    double *sorted[2];
    struct as_sorted view[2];
    double inflation[2];
};

static void sides_fini(struct sides *s)
{
    as_free(s->sorted[0]);
    as_free(s->sorted[1]);
}

static int sides_init(struct sides *s, const struct pair *p, struct assay_error *err)
{
    struct as_series_interval series = {0};
    int rc = ASSAY_OK;

    *s = (struct sides){0};
    for (int k = 0; k < 2 && rc == ASSAY_OK; k++) {
        size_t n = p->n[k];

        s->sorted[k] = as_alloc_zero(n, 2 * sizeof(double));
        if (!s->sorted[k])
            return as_fail_nomem(err);
        memcpy(s->sorted[k], p->value[k], n * sizeof(double));
        as_sort_f64(s->sorted[k], n, s->sorted[k] + n);
        s->view[k] = as_sorted_f64(s->sorted[k], n);
        rc = as_series_interval(&series, p->value[k], &s->view[k], 0.95, err);
        s->inflation[k] = series.inflation;
    }
    return rc;
}

/* The variance of where the readings of a side fall among those of the other, from 0 to 1: 1/12
 * when the sides are alike, 0 when they are wholly apart. */
static double placement_variance(const struct sides *s, int k)
{
    const struct as_sorted *own = &s->view[k], *other = &s->view[1 - k];
    double sum = 0, squares = 0, n = (double)own->n;

    for (size_t i = 0; i < own->n; i++) {
        double x = as_sorted_at(own, i);
        size_t above = as_sorted_count_above(other, x), below = as_sorted_count_below(other, x);
        double place = ((double)below + (double)(other->n - above)) / 2 / (double)other->n;

        sum += place;
        squares += place * place;
    }
    return fmax(squares / n - sum / n * (sum / n), 0);
}

/* Neighbours that are alike tell less than they are many. By how much the variance of u grows
 * thereby: as much as the readings move among those of the other side. */
static double variance_growth(const struct sides *s)
{
    double n1 = (double)s->view[0].n, n2 = (double)s->view[1].n;
    double independent = (n1 + n2 + 1) / (12 * n1 * n2);

    return 1 + ((s->inflation[0] - 1) * placement_variance(s, 0) / n1 +
                (s->inflation[1] - 1) * placement_variance(s, 1) / n2) /
                   independent;
}

static double p_of(const struct as_rank_test *test, double growth)
{
    return growth > 1 ? erfc(fabs(test->z) / sqrt(growth) / M_SQRT2) : test->p;
}

/* The p-value when the second side is moved back by `shift`; `moved` has room for its values
 * twice. */
static int p_after_shift(double *out, const struct pair *p, const struct sides *s, double shift,
                         double *moved, struct assay_error *err)
{
    struct sides at = *s;
    struct as_rank_test test;
    size_t n = p->n[1];
    int rc;

    for (size_t i = 0; i < n; i++) {
        moved[i] = p->value[1][i] - shift;
        moved[n + i] = s->sorted[1][i] - shift;
    }
    at.view[1] = as_sorted_f64(moved + n, n);
    rc = as_rank_test(&test, p->value[0], p->n[0], moved, n, err);
    if (rc == ASSAY_OK)
        *out = p_of(&test, variance_growth(&at));
    return rc;
}

/* The interval holds the shifts that the test does not reject, so that it holds 0 exactly when the
 * test shows nothing. Widened by the whole inflation it may hold a 0 that the test rejects: then
 * its end is looked for between 0 and the end it has for independent readings, which is `inner`. */
static int settle_end(double *end, double inner, double p_at_0, const struct pair *p,
                      const struct sides *s, struct assay_error *err)
{
    double out = 0, in = inner, at, here;
    double *moved;
    int rc = ASSAY_OK;

    if (p_at_0 >= 1 - INTERVAL_LEVEL || *end * inner > 0)
        return ASSAY_OK;
    moved = as_alloc_zero(p->n[1], 2 * sizeof *moved);
    if (!moved)
        return as_fail_nomem(err);
    for (int i = 0; i < 12 && rc == ASSAY_OK; i++) {
        at = (out + in) / 2;
        rc = p_after_shift(&here, p, s, at, moved, err);
        if (rc == ASSAY_OK && here < 1 - INTERVAL_LEVEL)
            out = at;
        else
            in = at;
    }
    as_free(moved);
    *end = in;
    return rc;
}

/* Where the test shows nothing, the interval holds 0. */
static void hold_zero(struct as_diff_test *t)
{
    if (t->p < 1 - INTERVAL_LEVEL)
        return;
    t->shift_low_ns = fmin(t->shift_low_ns, 0);
    t->shift_high_ns = fmax(t->shift_high_ns, 0);
}

static int run_test(struct as_diff_test *t, const struct pair *p, enum as_diff_basis basis,
                    struct assay_error *err)
{
    struct as_interval shift = {0};
    struct as_rank_test test = {0};
    struct sides s = {0};
    double growth, wider;
    int rc = as_rank_test(&test, p->value[0], p->n[0], p->value[1], p->n[1], err);

    *t = no_test;
    if (rc == ASSAY_OK)
        rc = as_rank_shift_interval(&shift, p->value[0], p->n[0], p->value[1], p->n[1],
                                    INTERVAL_LEVEL, err);
    if (rc == ASSAY_OK)
        rc = sides_init(&s, p, err);
    if (rc < 0)
        goto out;
    growth = variance_growth(&s);
    t->basis = basis;
    t->inflation = fmax(s.inflation[0], s.inflation[1]);
    wider = sqrt(t->inflation);
    for (int k = 0; k < 2; k++) {
        t->n[k] = p->n[k];
        t->median_ns[k] = as_sorted_median(&s.view[k]);
    }
    t->p = t->q = p_of(&test, growth);
    t->shift_ns = test.shift;
    t->shift_low_ns = test.shift - wider * (test.shift - shift.low);
    t->shift_high_ns = test.shift + wider * (shift.high - test.shift);
    t->relative = ratio(test.shift, t->median_ns[0]);
    rc = shift.low > 0    ? settle_end(&t->shift_low_ns, shift.low, t->p, p, &s, err)
         : shift.high < 0 ? settle_end(&t->shift_high_ns, shift.high, t->p, p, &s, err)
                          : ASSAY_OK;
    hold_zero(t);
out:
    sides_fini(&s);
    return rc;
}

/* A shift away from a median of 0 is a change of any size. */
static bool is_shown(const struct as_diff *d, const struct as_diff_test *t)
{
    return t->basis != AS_DIFF_NONE && t->q < d->options.level && t->shift_ns != 0 &&
           !(fabs(t->relative) < d->options.threshold);
}

static int by_p(const void *a, const void *b)
{
    const struct as_diff_row *const *x = a, *const *y = b;

    return ((*x)->test.p > (*y)->test.p) - ((*x)->test.p < (*y)->test.p);
}

/* Benjamini and Hochberg: among the layers called different, at most `level` are so by chance. */
static int correct(struct as_diff *d, struct assay_error *err)
{
    struct as_diff_row **tested = as_alloc_zero(d->n_rows + 1, sizeof(struct as_diff_row *));
    double least = 1;
    size_t n = 0;

    if (!tested)
        return as_fail_nomem(err);
    for (size_t i = 0; i < d->n_rows; i++) {
        if (d->row[i].test.basis != AS_DIFF_NONE)
            tested[n++] = &d->row[i];
    }
    qsort(tested, n, sizeof(struct as_diff_row *), by_p);
    for (size_t i = n; i > 0; i--) {
        least = fmin(least, tested[i - 1]->test.p * (double)n / (double)i);
        tested[i - 1]->test.q = least;
    }
    d->n_tested = n;
    as_free(tested);
    return ASSAY_OK;
}

/* ---- rows ---- */

/* While rows are made: what each side kept of them. */
struct join {
    struct as_diff *d;
    struct as_hash_map map;
    const struct as_diff_layer **layer[2]; /* [row]; NULL: none, or several of one name */
};

static int add_layer(struct join *j, int k, const struct as_diff_layer *layer,
                     struct assay_error *err)
{
    size_t size = strlen(layer->name);
    int rc = as_hash_map_put(&j->map, layer->name, size, j->d->n_rows);
    struct as_diff_row *row;
    uint64_t at;

    if (rc < 0)
        return as_fail_nomem(err);
    at = *as_hash_map_find(&j->map, layer->name, size);
    row = &j->d->row[at];
    if (rc == 1) {
        *row = (struct as_diff_row){.name = layer->name, .test = no_test};
        j->d->n_rows++;
    }
    j->layer[k][at] = row->in[k] ? NULL : layer;
    row->in[k] = true;
    row->calls[k] += layer->calls;
    row->total_ns[k] += isfinite(layer->total_ns) ? layer->total_ns : 0;
    row->self_ns[k] += isfinite(layer->self_ns) ? layer->self_ns : 0;
    row->mean_ns[k] = row->calls[k] ? row->total_ns[k] / (double)row->calls[k] : AS_UNKNOWN;
    return ASSAY_OK;
}

/* By iterations where the layer runs inside them on both sides, otherwise by calls. */
static int test_row(struct join *j, size_t at, struct assay_error *err)
{
    struct as_diff_row *row = &j->d->row[at];
    const struct as_diff_layer *a = j->layer[0][at], *b = j->layer[1][at];
    struct pair p;

    row->inside = (a && !all_zero(a->iteration_ns, a->n_iteration_ns)) ||
                  (b && !all_zero(b->iteration_ns, b->n_iteration_ns));
    if (!a || !b)
        return ASSAY_OK;
    p = (struct pair){{a->iteration_ns, b->iteration_ns}, {a->n_iteration_ns, b->n_iteration_ns}};
    if (row->inside && is_enough(&p))
        return run_test(&row->test, &p, AS_DIFF_ITERATIONS, err);
    p = (struct pair){{a->call_ns, b->call_ns}, {a->n_call_ns, b->n_call_ns}};
    if (!a->call_ns || !b->call_ns) {
        p = (struct pair){{a->whole_ns, b->whole_ns}, {a->n_whole_ns, b->n_whole_ns}};
        row->whole = a->whole_ns && b->whole_ns;
    }
    return is_enough(&p) ? run_test(&row->test, &p, AS_DIFF_CALLS, err) : ASSAY_OK;
}

static void fill_times(struct as_diff *d, struct as_diff_row *row)
{
    for (int k = 0; k < 2; k++) {
        bool divide = d->per_iteration && row->inside;
        double ns = row->whole ? row->total_ns[k] : row->self_ns[k];

        if (!row->in[k])
            row->mean_ns[k] = row->total_ns[k] = row->self_ns[k] = AS_UNKNOWN;
        row->time_ns[k] =
            row->in[k] ? ns / (divide ? (double)d->side[k]->n_iterations : 1) : AS_UNKNOWN;
        d->layers_ns[k] += row->in[k] ? row->time_ns[k] : 0;
    }
    row->change_ns = (row->in[1] ? row->time_ns[1] : 0) - (row->in[0] ? row->time_ns[0] : 0);
    row->change = row->in[0] && row->in[1] ? ratio(row->change_ns, row->time_ns[0]) : AS_UNKNOWN;
}

static enum as_diff_verdict judge(const struct as_diff *d, const struct as_diff_row *row)
{
    bool up = row->change_ns > 0;

    if (!row->in[1])
        return AS_DIFF_ONLY_A;
    if (!row->in[0])
        return AS_DIFF_ONLY_B;
    /* Some very long calls may move the sum against all others: then nothing is shown. */
    if (is_shown(d, &row->test) && up == (row->test.shift_ns > 0))
        return up ? AS_DIFF_SLOWER : AS_DIFF_FASTER;
    /* Calls are counted, not measured: that their number changed needs no test. */
    if (row->test.basis != AS_DIFF_ITERATIONS && !(d->per_iteration && row->inside) &&
        row->calls[0] != row->calls[1] && up == (row->calls[1] > row->calls[0]) &&
        fabs(row->change) >= d->options.threshold)
        return up ? AS_DIFF_MORE : AS_DIFF_FEWER;
    return AS_DIFF_SAME;
}

static int make_rows(struct as_diff *d, struct assay_error *err)
{
    size_t capacity = d->side[0]->n_layers + d->side[1]->n_layers + 1;
    struct join j = {.d = d};
    int rc = ASSAY_OK;

    d->row = as_arena_zero(&d->arena, capacity, sizeof *d->row);
    j.layer[0] = as_alloc_zero(capacity, 2 * sizeof(const struct as_diff_layer *));
    if (!d->row || !j.layer[0]) {
        rc = as_fail_nomem(err);
        goto out;
    }
    j.layer[1] = j.layer[0] + capacity;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < d->side[k]->n_layers && rc == ASSAY_OK; i++)
            rc = add_layer(&j, k, &d->side[k]->layer[i], err);
    }
    for (size_t i = 0; i < d->n_rows && rc == ASSAY_OK; i++)
        rc = test_row(&j, i, err);
    if (rc == ASSAY_OK)
        rc = correct(d, err);
out:
    as_hash_map_fini(&j.map);
    as_free(j.layer[0]);
    return rc;
}

/* ---- the whole ---- */

static void sum_up(struct as_diff *d)
{
    double all = 0, shown = 0;

    for (size_t i = 0; i < d->n_rows; i++) {
        struct as_diff_row *row = &d->row[i];

        fill_times(d, row);
        row->verdict = judge(d, row);
        d->n_common += row->in[0] && row->in[1];
        d->n_calls_tested += row->test.basis == AS_DIFF_CALLS;
        d->n_whole += row->whole;
        all += fabs(row->change_ns);
        shown += row->verdict == AS_DIFF_SAME ? 0 : row->change_ns;
    }
    for (size_t i = 0; i < d->n_rows; i++)
        d->row[i].change_share = ratio(fabs(d->row[i].change_ns), all);
    /* Layers that are all on one side say nothing of the other. */
    d->shown_change = d->n_common ? ratio(shown, d->layers_ns[0]) : AS_UNKNOWN;
}

static int test_whole(struct as_diff *d, struct assay_error *err)
{
    struct pair p = {{d->side[0]->iteration_ns, d->side[1]->iteration_ns},
                     {d->side[0]->n_iteration_ns, d->side[1]->n_iteration_ns}};

    d->whole = no_test;
    if (!is_enough(&p))
        return ASSAY_OK;
    d->per_iteration = d->side[0]->n_iterations != d->side[1]->n_iterations;
    return run_test(&d->whole, &p, AS_DIFF_ITERATIONS, err);
}

static void judge_whole(struct as_diff *d)
{
    double by = d->whole.basis == AS_DIFF_NONE ? d->shown_change : d->whole.relative;

    d->slower_percent = 100 * by;
    if (d->whole.basis != AS_DIFF_NONE && !is_shown(d, &d->whole))
        d->slower_percent = 0;
    else if (fabs(by) >= d->options.threshold)
        d->verdict = by > 0 ? AS_DIFF_SLOWER : AS_DIFF_FASTER;
}

static int take_options(struct as_diff_options *o, const struct as_diff_options *given,
                        struct assay_error *err)
{
    *o = given ? *given : (struct as_diff_options){0};
    if (!(o->threshold >= 0 && o->threshold <= 1e6) || !(o->level >= 0 && o->level < 1))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "the threshold is a share and the level lies between 0 and 1");
    o->threshold = o->threshold > 0 ? o->threshold : 0.01;
    o->level = o->level > 0 ? o->level : 0.05;
    return ASSAY_OK;
}

int as_diff_new(struct as_diff **out, const struct as_diff_side *a, const struct as_diff_side *b,
                const struct as_diff_options *options, struct assay_error *err)
{
    struct as_diff *d;
    struct as_diff_options o;
    int rc = take_options(&o, options, err);

    *out = NULL;
    if (rc < 0)
        return rc;
    d = as_alloc_zero(1, sizeof *d);
    if (!d)
        return as_fail_nomem(err);
    d->options = o;
    d->side[0] = a;
    d->side[1] = b;
    for (int k = 0; k < 2; k++) {
        d->total_ns[k] = d->side[k]->total_ns;
        d->memory_bytes[k] = d->side[k]->peak_memory_bytes;
    }
    d->speedup_percent = 100 * ratio(d->total_ns[0] - d->total_ns[1], d->total_ns[0]);
    d->reduction_percent = 100 * ratio(d->memory_bytes[0] - d->memory_bytes[1], d->memory_bytes[0]);
    rc = test_whole(d, err);
    if (rc == ASSAY_OK)
        rc = make_rows(d, err);
    if (rc < 0) {
        as_diff_free(d);
        return rc;
    }
    sum_up(d);
    judge_whole(d);
    as_diff_order(d, AS_DIFF_BY_CHANGE);
    *out = d;
    return ASSAY_OK;
}

void as_diff_free(struct as_diff *diff)
{
    if (!diff)
        return;
    as_arena_fini(&diff->arena);
    as_free(diff);
}

/* ---- orders ---- */

/* By one metric, then by name. */
static struct as_order_key key_of(const void *row, const void *user)
{
    const struct as_diff_row *r = row;
    const double number[] = {
        [AS_DIFF_BY_CHANGE] = fabs(r->change_ns),
        [AS_DIFF_BY_PERCENT] = fabs(r->change),
        [AS_DIFF_BY_BEFORE] = r->time_ns[0],
        [AS_DIFF_BY_AFTER] = r->time_ns[1],
        [AS_DIFF_BY_P] = -r->test.p,
        [AS_DIFF_BY_NAME] = 0,
    };
    _Static_assert(AS_COUNT_OF(number) == AS_DIFF_SORT_COUNT, "order by everything");

    return (struct as_order_key){number[*(const enum as_diff_sort *)user], r->name, 0};
}

void as_diff_order(struct as_diff *diff, enum as_diff_sort sort)
{
    as_order_sort(diff->row, diff->n_rows, sizeof *diff->row, key_of, &sort);
}
