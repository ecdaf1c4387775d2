/* analyze/compare/compare_layers.c - the layers of several backends side by side, under one name
 * each. Means of a call are compared, so backends that ran for longer or shorter meet on equal
 * terms. */
#include <math.h>
#include <string.h>

#include "analyze/compare/compare_internal.h"
#include "base/error.h"
#include "base/hash_map.h"
#include "base/units.h"
#include "stats/inference/rank_test.h"
#include "stats/inference/welch.h"

/* Several layers of one backend that are one layer: the times of a call add up. With unlike counts
 * a call is one of those that came most often, and its deviation is not known. */
static void add_to_cell(struct as_compare_cell *cell, const struct as_compare_layer *layer)
{
    if (!cell->told) {
        *cell = (struct as_compare_cell){.mean = layer->mean,
                                         .std = layer->std,
                                         .total = layer->total,
                                         .calls = layer->calls,
                                         .told = true,
                                         .log_samples = layer->log_samples,
                                         .n_samples = layer->n_samples};
        return;
    }
    cell->log_samples = NULL;
    cell->total += layer->total;
    if (cell->calls == layer->calls) {
        cell->mean += layer->mean;
        cell->std = sqrt(cell->std * cell->std + layer->std * layer->std);
        return;
    }
    cell->calls = cell->calls > layer->calls ? cell->calls : layer->calls;
    cell->mean = cell->total / (double)cell->calls;
    cell->std = AS_UNKNOWN;
}

static int put_aliases(struct as_hash_map *map, const struct assay_compare *compare,
                       struct assay_error *err)
{
    for (size_t i = 0; i < compare->n_aliases; i++) {
        const char *alias = compare->aliases[i].alias;

        if (as_hash_map_put(map, alias, strlen(alias), i) < 0)
            return as_fail_nomem(err);
    }
    return ASSAY_OK;
}

static const char *own_name(const struct as_hash_map *aliases, const struct assay_compare *compare,
                            const char *name)
{
    const uint64_t *i = as_hash_map_find(aliases, name, strlen(name));

    return i ? compare->aliases[*i].layer : name;
}

/* The number of each layer by its own name. */
static int number_layers(struct as_compare_join *join, struct as_hash_map *numbers,
                         const struct as_hash_map *aliases, const struct assay_compare *compare,
                         struct assay_error *err)
{
    for (size_t b = 0; b < join->n_backends; b++) {
        for (size_t i = 0; i < join->backends[b]->n_layers; i++) {
            const char *name = own_name(aliases, compare, join->backends[b]->layers[i].name);
            int added = as_hash_map_put(numbers, name, strlen(name), join->n_layers);

            if (added < 0)
                return as_fail_nomem(err);
            if (added > 0)
                join->names[join->n_layers++] = name;
        }
    }
    return ASSAY_OK;
}

static void fill_cells(struct as_compare_join *join, const struct as_hash_map *numbers,
                       const struct as_hash_map *aliases, const struct assay_compare *compare)
{
    for (size_t b = 0; b < join->n_backends; b++) {
        for (size_t i = 0; i < join->backends[b]->n_layers; i++) {
            const struct as_compare_layer *layer = &join->backends[b]->layers[i];
            const char *name = own_name(aliases, compare, layer->name);
            const uint64_t *number = as_hash_map_find(numbers, name, strlen(name));

            if (number)
                add_to_cell(&join->cells[*number * join->n_backends + b], layer);
        }
    }
}

int as_compare_join_layers(struct as_compare_join *join, struct assay_compare *compare,
                           struct assay_error *err)
{
    struct as_hash_map aliases = {0}, numbers = {0};
    size_t most = 0;
    int rc;

    for (size_t b = 0; b < join->n_backends; b++)
        most += join->backends[b]->n_layers;
    join->names = as_arena_zero(&compare->arena, most + 1, sizeof *join->names);
    if (!join->names)
        return as_fail_nomem(err);
    rc = put_aliases(&aliases, compare, err);
    if (rc == ASSAY_OK)
        rc = number_layers(join, &numbers, &aliases, compare, err);
    if (rc < 0)
        goto out;
    join->cells =
        as_arena_zero(&compare->arena, join->n_layers + 1, join->n_backends * sizeof *join->cells);
    if (!join->cells) {
        rc = as_fail_nomem(err);
        goto out;
    }
    fill_cells(join, &numbers, &aliases, compare);
out:
    as_hash_map_fini(&aliases);
    as_hash_map_fini(&numbers);
    return rc;
}

void as_compare_test(struct assay_speedup_test *out, const struct as_mean_estimate *slow,
                     const struct as_mean_estimate *fast)
{
    struct as_ratio_test test;

    as_welch_ratio(&test, slow, fast, AS_COMPARE_LEVEL);
    out->low = test.low;
    out->high = test.high;
    out->p_value = test.p;
    out->degrees = test.degrees;
    if (isnan(test.p))
        out->difference = ASSAY_DIFFERENCE_UNKNOWN;
    else
        out->difference =
            test.p < 1 - AS_COMPARE_LEVEL ? ASSAY_DIFFERENCE_SHOWN : ASSAY_DIFFERENCE_NONE;
}

/* The backends with the least and the greatest mean; how many have one. */
static size_t find_ends(const struct as_compare_join *join, size_t layer, size_t *fast,
                        size_t *slow)
{
    size_t n = 0;

    for (size_t b = 0; b < join->n_backends; b++) {
        double mean = as_compare_cell_at(join, layer, b)->mean;

        if (!as_compare_cell_at(join, layer, b)->told || isnan(mean))
            continue;
        if (n == 0 || mean < as_compare_cell_at(join, layer, *fast)->mean)
            *fast = b;
        if (n == 0 || mean > as_compare_cell_at(join, layer, *slow)->mean)
            *slow = b;
        n++;
    }
    return n;
}

static int fill_backend_data(struct assay_layer_comparison *out, struct as_arena *arena,
                             const struct as_compare_join *join, size_t layer,
                             struct assay_error *err)
{
    struct assay_backend_data *data = as_arena_zero(arena, join->n_backends, sizeof *data);
    uint64_t calls = 0;

    if (!data)
        return as_fail_nomem(err);
    for (size_t b = 0; b < join->n_backends; b++) {
        const struct as_compare_cell *cell = as_compare_cell_at(join, layer, b);

        if (!cell->told)
            continue;
        data[out->n_backends++] = (struct assay_backend_data){join->backends[b]->name, cell->mean,
                                                              cell->std, cell->total, cell->calls};
        if (calls && cell->calls && cell->calls != calls)
            out->call_counts_differ = true;
        calls = cell->calls ? cell->calls : calls;
    }
    out->backend_data = data;
    return ASSAY_OK;
}

static bool has_samples(const struct as_compare_cell *cell)
{
    return cell->log_samples && cell->n_samples >= AS_RANK_TEST_FEW;
}

int as_compare_test_ranks(struct assay_speedup_test *out, const double *fast_logs, size_t n_fast,
                          const double *slow_logs, size_t n_slow, struct assay_error *err)
{
    struct as_rank_test test = {0};
    struct as_interval shift = {0};
    int rc = as_rank_test(&test, fast_logs, n_fast, slow_logs, n_slow, err);

    if (rc == ASSAY_OK)
        rc = as_rank_shift_interval(&shift, fast_logs, n_fast, slow_logs, n_slow, AS_COMPARE_LEVEL,
                                    err);
    if (rc < 0)
        return rc;
    out->low = exp(shift.low);
    out->high = exp(shift.high);
    out->p_value = test.p;
    out->degrees = AS_UNKNOWN;
    /* Calls that are usually quicker on the backend with the greater mean show no speedup. */
    out->difference = test.p < 1 - AS_COMPARE_LEVEL && test.shift > 0 ? ASSAY_DIFFERENCE_SHOWN
                                                                      : ASSAY_DIFFERENCE_NONE;
    return ASSAY_OK;
}

static int judge(struct assay_layer_comparison *out, const struct as_compare_cell *fast,
                 const struct as_compare_cell *slow, struct assay_error *err)
{
    struct as_mean_estimate fast_mean = {0}, slow_mean = {0};

    out->speedup = fast->mean > 0 ? slow->mean / fast->mean : 1;
    out->time_difference_ms = (slow->mean - fast->mean) * 1000;
    if (has_samples(fast) && has_samples(slow))
        return as_compare_test_ranks(&out->test, fast->log_samples, fast->n_samples,
                                     slow->log_samples, slow->n_samples, err);
    as_mean_estimate_add(&fast_mean, 1, fast->mean, fast->std, fast->calls);
    as_mean_estimate_add(&slow_mean, 1, slow->mean, slow->std, slow->calls);
    as_compare_test(&out->test, &slow_mean, &fast_mean);
    return ASSAY_OK;
}

int as_compare_layers(struct assay_compare *compare, const struct as_compare_join *join,
                      struct assay_backend_total *totals, struct assay_error *err)
{
    struct assay_layer_comparison *layers =
        as_arena_zero(&compare->arena, join->n_layers + 1, sizeof *layers);

    if (!layers)
        return as_fail_nomem(err);
    for (size_t i = 0; i < join->n_layers; i++) {
        struct assay_layer_comparison *out = &layers[compare->result.n_layers];
        size_t fast = 0, slow = 0;
        int rc;

        if (find_ends(join, i, &fast, &slow) < 2)
            continue;
        rc = fill_backend_data(out, &compare->arena, join, i, err);
        if (rc < 0)
            return rc;
        out->layer = as_arena_text(&compare->arena, join->names[i], strlen(join->names[i]));
        if (!out->layer)
            return as_fail_nomem(err);
        rc = judge(out, as_compare_cell_at(join, i, fast), as_compare_cell_at(join, i, slow), err);
        if (rc < 0)
            return rc;
        compare->result.n_layers++;
        if (!(out->speedup >= AS_COMPARE_TIE))
            continue;
        out->fastest_backend = totals[fast].backend;
        out->slowest_backend = totals[slow].backend;
        totals[fast].layer_wins++;
        totals[fast].sure_wins += out->test.difference == ASSAY_DIFFERENCE_SHOWN;
    }
    compare->result.layers = layers;
    return ASSAY_OK;
}
