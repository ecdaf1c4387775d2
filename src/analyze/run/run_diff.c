/* analyze/run/run_diff.c - what changed between two runs, layer by layer, and how surely. */
#include "analyze/run/run_diff.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/order.h"
#include "base/units.h"

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

static bool all_zero(const double *v, size_t n)
{
    size_t i = 0;

    while (i < n && v[i] == 0)
        i++;
    return i == n;
}

/* Among the layers called different, at most `level` are so by chance. */
static int correct(struct as_diff *d, struct assay_error *err)
{
    struct as_diff_test **tested = as_alloc_zero(d->n_rows + 1, sizeof(struct as_diff_test *));

    if (!tested)
        return as_fail_nomem(err);
    for (size_t i = 0; i < d->n_rows; i++) {
        if (d->row[i].test.basis != AS_DIFF_NONE)
            tested[d->n_tested++] = &d->row[i].test;
    }
    as_diff_correct(tested, d->n_tested);
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
        *row = (struct as_diff_row){.name = layer->name, .test = as_diff_no_test};
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
    struct as_diff_pair p;

    row->inside = (a && !all_zero(a->iteration_ns, a->n_iteration_ns)) ||
                  (b && !all_zero(b->iteration_ns, b->n_iteration_ns));
    if (!a || !b)
        return ASSAY_OK;
    p = (struct as_diff_pair){{a->iteration_ns, b->iteration_ns},
                              {a->n_iteration_ns, b->n_iteration_ns}};
    if (row->inside && as_diff_is_enough(&p))
        return as_diff_test(&row->test, &p, AS_DIFF_ITERATIONS, err);
    p = (struct as_diff_pair){{a->call_ns, b->call_ns}, {a->n_call_ns, b->n_call_ns}};
    if (!a->call_ns || !b->call_ns) {
        p = (struct as_diff_pair){{a->whole_ns, b->whole_ns}, {a->n_whole_ns, b->n_whole_ns}};
        row->whole = a->whole_ns && b->whole_ns;
    }
    return as_diff_is_enough(&p) ? as_diff_test(&row->test, &p, AS_DIFF_CALLS, err) : ASSAY_OK;
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
    row->change =
        row->in[0] && row->in[1] ? as_diff_ratio(row->change_ns, row->time_ns[0]) : AS_UNKNOWN;
}

static enum as_diff_verdict judge(const struct as_diff *d, const struct as_diff_row *row)
{
    bool up = row->change_ns > 0;

    if (!row->in[1])
        return AS_DIFF_ONLY_A;
    if (!row->in[0])
        return AS_DIFF_ONLY_B;
    /* What was tested decides: a few stalls may move the sum the other way. */
    if (as_diff_is_shown(&d->options, &row->test))
        return row->test.shift_ns > 0 ? AS_DIFF_SLOWER : AS_DIFF_FASTER;
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
        /* A sum that stalls moved against the test counts for neither. */
        if (row->verdict == AS_DIFF_SLOWER || row->verdict == AS_DIFF_FASTER)
            shown += (row->verdict == AS_DIFF_SLOWER) == (row->change_ns > 0) ? row->change_ns : 0;
        else
            shown += row->verdict == AS_DIFF_SAME ? 0 : row->change_ns;
    }
    for (size_t i = 0; i < d->n_rows; i++)
        d->row[i].change_share = as_diff_ratio(fabs(d->row[i].change_ns), all);
    /* Layers that are all on one side say nothing of the other. */
    d->shown_change = d->n_common ? as_diff_ratio(shown, d->layers_ns[0]) : AS_UNKNOWN;
}

static int test_whole(struct as_diff *d, struct assay_error *err)
{
    struct as_diff_pair p = {{d->side[0]->iteration_ns, d->side[1]->iteration_ns},
                             {d->side[0]->n_iteration_ns, d->side[1]->n_iteration_ns}};

    d->whole = as_diff_no_test;
    if (!as_diff_is_enough(&p))
        return ASSAY_OK;
    d->per_iteration = d->side[0]->n_iterations != d->side[1]->n_iterations;
    return as_diff_test(&d->whole, &p, AS_DIFF_ITERATIONS, err);
}

static void judge_whole(struct as_diff *d)
{
    double by = d->whole.basis == AS_DIFF_NONE ? d->shown_change : d->whole.relative;

    d->slower_percent = 100 * by;
    if (d->whole.basis != AS_DIFF_NONE && !as_diff_is_shown(&d->options, &d->whole))
        d->slower_percent = 0;
    else if (fabs(by) >= d->options.threshold)
        d->verdict = by > 0 ? AS_DIFF_SLOWER : AS_DIFF_FASTER;
}

int as_diff_new(struct as_diff **out, const struct as_diff_side *a, const struct as_diff_side *b,
                const struct as_diff_options *options, struct assay_error *err)
{
    struct as_diff *d;
    struct as_diff_options o;
    int rc = as_diff_options_take(&o, options, err);

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
    d->speedup_percent = 100 * as_diff_ratio(d->total_ns[0] - d->total_ns[1], d->total_ns[0]);
    d->reduction_percent =
        100 * as_diff_ratio(d->memory_bytes[0] - d->memory_bytes[1], d->memory_bytes[0]);
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
