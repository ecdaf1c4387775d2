/* analyze/run/metric_diff.c - what changed between two runs that have no layers. */
#include "analyze/run/metric_diff.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/order.h"
#include "base/units.h"

struct as_metric *as_metrics_add(struct as_metrics *metrics, const char *unit, double value,
                                 const char *name, ...)
{
    struct as_metric *metric;
    char text[400];
    va_list args;

    va_start(args, name);
    (void)vsnprintf(text, sizeof text, name, args);
    va_end(args);
    metrics->rows.arena = &metrics->arena;
    metrics->rows.size = sizeof *metric;
    metric = as_rows_add(&metrics->rows);
    if (!metric)
        metric = &metrics->none;
    *metric = (struct as_metric){
        .name = as_arena_text(&metrics->arena, text, strlen(text)), .unit = unit, .value = value};
    metric->public_name = metric->name;
    metrics->no_memory = metrics->no_memory || !metric->name || metric == &metrics->none;
    return metric;
}

int as_metrics_name(struct as_metrics *metrics, const struct as_metrics *redacted,
                    struct assay_error *err)
{
    const struct as_metric *from = redacted->rows.at;
    struct as_metric *to = metrics->rows.at;

    if (metrics->no_memory || redacted->no_memory || metrics->rows.n != redacted->rows.n)
        return as_fail_nomem(err);
    for (size_t i = 0; i < metrics->rows.n; i++)
        to[i].public_name = from[i].name;
    return ASSAY_OK;
}

void as_metrics_fini(struct as_metrics *metrics)
{
    as_arena_fini(&metrics->arena);
}

/* ---- rows ---- */

/* Of several metrics of one name on a side, the first counts. */
static int add_side(struct as_metric_diff *d, struct as_hash_map *map,
                    const struct as_metric **kept, int k, const struct as_metrics *from,
                    struct assay_error *err)
{
    const struct as_metric *metric = from->rows.at;

    for (size_t i = 0; i < from->rows.n; i++, metric++) {
        size_t size = strlen(metric->name);
        struct as_metric_row *row;
        int rc = as_hash_map_put(map, metric->name, size, d->n_rows);

        if (rc < 0)
            return as_fail_nomem(err);
        row = &d->row[*as_hash_map_find(map, metric->name, size)];
        if (rc == 1) {
            *row = (struct as_metric_row){.name = metric->name,
                                          .public_name = metric->public_name,
                                          .unit = metric->unit,
                                          .value = {AS_UNKNOWN, AS_UNKNOWN},
                                          .change = AS_UNKNOWN,
                                          .test = as_diff_no_test,
                                          .place = d->n_rows++};
        }
        if (row->in[k])
            continue;
        row->in[k] = true;
        row->value[k] = metric->value;
        kept[2 * row->place + (size_t)k] = metric;
    }
    return ASSAY_OK;
}

static int test_row(struct as_metric_row *row, const struct as_metric *const kept[2],
                    struct assay_error *err)
{
    struct as_diff_pair p;

    if (!row->in[0] || !row->in[1])
        return ASSAY_OK;
    row->change = as_diff_ratio(row->value[1] - row->value[0], row->value[0]);
    p = (struct as_diff_pair){{kept[0]->sample_ns, kept[1]->sample_ns},
                              {kept[0]->n_samples, kept[1]->n_samples}};
    return as_diff_is_enough(&p) ? as_diff_test(&row->test, &p, AS_DIFF_SAMPLES, err) : ASSAY_OK;
}

static enum as_diff_verdict judge(const struct as_metric_diff *d, const struct as_metric_row *row)
{
    if (!row->in[1])
        return AS_DIFF_ONLY_A;
    if (!row->in[0])
        return AS_DIFF_ONLY_B;
    if (row->test.basis == AS_DIFF_NONE)
        return AS_DIFF_UNTESTED;
    if (!as_diff_is_shown(&d->options, &row->test))
        return AS_DIFF_SAME;
    return row->test.shift_ns > 0 ? AS_DIFF_SLOWER : AS_DIFF_FASTER;
}

static int judge_all(struct as_metric_diff *d, struct assay_error *err)
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
    d->slower_percent = d->n_tested ? 0 : AS_UNKNOWN;
    for (size_t i = 0; i < d->n_rows; i++) {
        d->row[i].verdict = judge(d, &d->row[i]);
        if (d->row[i].verdict == AS_DIFF_SLOWER)
            d->slower_percent = fmax(d->slower_percent, 100 * d->row[i].test.relative);
    }
    return ASSAY_OK;
}

static void drop_unknown(struct as_metric_diff *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n_rows; i++)
        if (!isnan(d->row[i].value[0]) || !isnan(d->row[i].value[1]))
            d->row[n++] = d->row[i];
    d->n_rows = n;
}

static int make_rows(struct as_metric_diff *d, const struct as_metrics *const side[2],
                     struct assay_error *err)
{
    size_t capacity = side[0]->rows.n + side[1]->rows.n + 1;
    const struct as_metric **kept = as_alloc_zero(capacity, 2 * sizeof(const struct as_metric *));
    struct as_hash_map map = {0};
    int rc = ASSAY_OK;

    d->row = as_arena_zero(&d->arena, capacity, sizeof *d->row);
    if (!d->row || !kept || side[0]->no_memory || side[1]->no_memory)
        rc = as_fail_nomem(err);
    for (int k = 0; k < 2 && rc == ASSAY_OK; k++)
        rc = add_side(d, &map, kept, k, side[k], err);
    for (size_t i = 0; i < d->n_rows && rc == ASSAY_OK; i++)
        rc = test_row(&d->row[i], &kept[2 * i], err);
    as_hash_map_fini(&map);
    as_free(kept);
    return rc;
}

int as_metric_diff_new(struct as_metric_diff **out, const struct as_metrics *a,
                       const struct as_metrics *b, const struct as_diff_options *options,
                       struct assay_error *err)
{
    const struct as_metrics *const side[2] = {a, b};
    struct as_metric_diff *d = as_alloc_zero(1, sizeof *d);
    int rc = d ? as_diff_options_take(&d->options, options, err) : as_fail_nomem(err);

    *out = NULL;
    if (rc == ASSAY_OK)
        rc = make_rows(d, side, err);
    if (rc == ASSAY_OK) {
        drop_unknown(d);
        rc = judge_all(d, err);
    }
    if (rc < 0)
        as_metric_diff_free(d);
    else
        *out = d;
    return rc;
}

void as_metric_diff_free(struct as_metric_diff *diff)
{
    if (!diff)
        return;
    as_arena_fini(&diff->arena);
    as_free(diff);
}

static struct as_order_key key_of(const void *row, const void *user)
{
    const struct as_metric_row *r = row;
    const double number[] = {
        [AS_DIFF_BY_CHANGE] = fabs(r->change), [AS_DIFF_BY_PERCENT] = fabs(r->change),
        [AS_DIFF_BY_BEFORE] = r->value[0],     [AS_DIFF_BY_AFTER] = r->value[1],
        [AS_DIFF_BY_P] = -r->test.p,           [AS_DIFF_BY_NAME] = 0,
    };
    _Static_assert(AS_COUNT_OF(number) == AS_DIFF_SORT_COUNT, "order by everything");

    return (struct as_order_key){number[*(const enum as_diff_sort *)user], r->name, r->place};
}

void as_metric_diff_order(struct as_metric_diff *diff, enum as_diff_sort sort)
{
    as_order_sort(diff->row, diff->n_rows, sizeof *diff->row, key_of, &sort);
}
