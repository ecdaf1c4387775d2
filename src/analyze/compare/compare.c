/* analyze/compare/compare.c - which of several backends runs the same layers fastest: what is told,
 * and who is asked for. The layers are joined and judged in files of their own. */
#include <assay/compare.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyze/compare/compare_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash_map.h"
#include "base/units.h"

int assay_compare_new(struct assay_compare **out, const struct assay_compare_options *options,
                      struct assay_error *err)
{
    struct assay_compare_options o;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "the pointer for the new comparison is NULL");
    *out = NULL;
    rc = as_sized_take(&o, sizeof o, options, "options of a comparison", err);
    if (rc < 0)
        return rc;
    *out = as_alloc_zero(1, sizeof **out);
    return *out ? ASSAY_OK : as_fail_nomem(err);
}

void assay_compare_reset(struct assay_compare *compare)
{
    if (!compare)
        return;
    for (size_t i = 0; i < compare->n_backends; i++)
        as_arena_fini(&compare->backends[i].arena);
    for (size_t i = 0; i < compare->n_aliases; i++) {
        as_free(compare->aliases[i].alias);
        as_free(compare->aliases[i].layer);
    }
    as_free(compare->backends);
    as_free(compare->aliases);
    as_arena_fini(&compare->arena);
    as_arena_fini(&compare->ranking_arena);
    memset(compare, 0, sizeof *compare);
}

void assay_compare_free(struct assay_compare *compare)
{
    if (!compare)
        return;
    assay_compare_reset(compare);
    as_free(compare);
}

static struct as_compare_backend *find_backend(const struct assay_compare *compare,
                                               const char *name)
{
    for (size_t i = 0; i < compare->n_backends; i++)
        if (strcmp(compare->backends[i].name, name) == 0)
            return &compare->backends[i];
    return NULL;
}

/* NaN is not told; anything else must be a time, a size or an energy. */
static bool makes_sense(double value)
{
    return isnan(value) || (value >= 0 && isfinite(value));
}

/* Kept as logarithms: backends are compared by ratios. */
static int keep_samples(struct as_compare_layer *out, struct as_arena *arena,
                        const struct assay_backend_layer *layer, struct assay_error *err)
{
    double *kept = as_arena_zero(arena, layer->n_samples, sizeof *kept);

    if (!kept)
        return as_fail_nomem(err);
    for (size_t i = 0; i < layer->n_samples; i++) {
        if (layer->samples_seconds[i] == 0)
            return ASSAY_OK;
        kept[i] = log(layer->samples_seconds[i]);
    }
    out->log_samples = kept;
    out->n_samples = layer->n_samples;
    return ASSAY_OK;
}

static int take_samples(struct as_compare_layer *out, struct as_arena *arena,
                        const struct assay_backend_layer *layer, struct assay_error *err)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < layer->n_samples; i++) {
        if (isnan(layer->samples_seconds[i]) || !makes_sense(layer->samples_seconds[i]))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "sample %zu of layer %s is not a time: give seconds, 0 or more", i,
                           layer->name);
        sum += layer->samples_seconds[i];
    }
    out->calls = layer->n_samples;
    out->total = sum;
    out->mean = sum / (double)layer->n_samples;
    for (size_t i = 0; i < layer->n_samples; i++)
        squares +=
            (layer->samples_seconds[i] - out->mean) * (layer->samples_seconds[i] - out->mean);
    out->std = sqrt(squares / (double)layer->n_samples);
    return keep_samples(out, arena, layer, err);
}

static int take_layer(struct as_compare_layer *out, struct as_arena *arena,
                      const struct assay_backend_layer *layer, struct assay_error *err)
{
    if (!layer->name || !layer->name[0])
        return as_fail(err, ASSAY_ERR_USAGE, "a layer without a name cannot be compared");
    if (!makes_sense(layer->mean_seconds) || !makes_sense(layer->std_seconds) ||
        !makes_sense(layer->total_seconds))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "a time of layer %s is negative or infinite: give seconds, or NaN",
                       layer->name);
    out->name = as_arena_text(arena, layer->name, strlen(layer->name));
    if (!out->name)
        return as_fail_nomem(err);
    if (layer->n_samples > 0)
        return take_samples(out, arena, layer, err);
    out->mean = as_known_input(layer->mean_seconds);
    out->std = as_known_input(layer->std_seconds);
    out->total = as_known_input(layer->total_seconds);
    out->calls = layer->call_count;
    if (isnan(out->mean) && out->calls > 0)
        out->mean = out->total / (double)out->calls;
    if (isnan(out->total) && out->calls > 0)
        out->total = out->mean * (double)out->calls;
    return ASSAY_OK;
}

static int check_names(const struct as_compare_backend *backend, struct assay_error *err)
{
    struct as_hash_map map = {0};
    int rc = ASSAY_OK;

    for (size_t i = 0; i < backend->n_layers && rc == ASSAY_OK; i++) {
        const char *name = backend->layers[i].name;
        int added = as_hash_map_put(&map, name, strlen(name), i);

        if (added < 0)
            rc = as_fail_nomem(err);
        else if (added == 0)
            rc = as_fail(err, ASSAY_ERR_USAGE,
                         "layer %s is twice in the profile of %s: sum up its calls first", name,
                         backend->name);
    }
    as_hash_map_fini(&map);
    return rc;
}

static void take_total(struct as_compare_backend *backend, double told)
{
    double sum = backend->n_layers > 0 ? 0 : AS_UNKNOWN;

    for (size_t i = 0; i < backend->n_layers; i++)
        sum += backend->layers[i].total;
    backend->total = isnan(told) ? sum : told;
    backend->total_is_sum = fabs(backend->total - sum) <= 1e-6 * sum;
}

static int fill_backend(struct as_compare_backend *backend, const char *name,
                        const struct assay_backend_layer *layers, size_t n, struct assay_error *err)
{
    int rc;

    backend->name = as_arena_text(&backend->arena, name, strlen(name));
    backend->layers = as_arena_zero(&backend->arena, n ? n : 1, sizeof *backend->layers);
    if (!backend->name || !backend->layers)
        return as_fail_nomem(err);
    backend->n_layers = n;
    backend->capacity = n ? n : 1;
    for (size_t i = 0; i < n; i++) {
        rc = take_layer(&backend->layers[i], &backend->arena, &layers[i], err);
        if (rc < 0)
            return rc;
    }
    return check_names(backend, err);
}

/* Takes the backend over, in the place of one of the same name. */
static int put_backend(struct assay_compare *compare, const struct as_compare_backend *backend,
                       struct assay_error *err)
{
    struct as_compare_backend *there = find_backend(compare, backend->name), *grown;

    if (there) {
        as_arena_fini(&there->arena);
        *there = *backend;
        return ASSAY_OK;
    }
    grown = as_realloc(compare->backends, compare->n_backends + 1, sizeof *grown);
    if (!grown)
        return as_fail_nomem(err);
    compare->backends = grown;
    grown[compare->n_backends++] = *backend;
    return ASSAY_OK;
}

static double now_s(void)
{
    struct timespec t;

    return clock_gettime(CLOCK_REALTIME, &t) == 0 ? (double)t.tv_sec + (double)t.tv_nsec / 1e9
                                                  : AS_UNKNOWN;
}

/* What was borrowed of the last comparison named layers that may go now. */
static void forget_results(struct assay_compare *compare)
{
    as_arena_fini(&compare->arena);
    as_arena_fini(&compare->ranking_arena);
    memset(&compare->result, 0, sizeof compare->result);
}

int assay_compare_add(struct assay_compare *compare, const char *name,
                      const struct assay_backend_layer *layers, size_t n, double total_time,
                      double timestamp, struct assay_error *err)
{
    struct as_compare_backend backend = {.peak_memory_mb = AS_UNKNOWN, .energy_j = AS_UNKNOWN};
    int rc;

    if (!compare || (!layers && n > 0))
        return as_fail(err, ASSAY_ERR_USAGE, "the comparison or the array of layers is NULL");
    if (!name || !name[0])
        return as_fail(err, ASSAY_ERR_USAGE, "a backend needs a name");
    if (!makes_sense(total_time) || isinf(timestamp))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "the total time of %s is negative or infinite: give seconds, or NaN", name);
    forget_results(compare);
    rc = fill_backend(&backend, name, layers, n, err);
    if (rc == ASSAY_OK) {
        take_total(&backend, as_known_input(total_time));
        backend.timestamp = isnan(as_known_input(timestamp)) ? now_s() : timestamp;
        rc = put_backend(compare, &backend, err);
    }
    if (rc < 0)
        as_arena_fini(&backend.arena);
    return rc;
}

/* One more at the end, whose fields are 0; NULL without memory. */
static struct as_compare_layer *grow_layers(struct as_compare_backend *backend)
{
    if (backend->n_layers == backend->capacity) {
        struct as_compare_layer *more =
            as_arena_zero(&backend->arena, 2 * backend->capacity, sizeof *more);

        if (!more)
            return NULL;
        memcpy(more, backend->layers, backend->n_layers * sizeof *more);
        backend->layers = more;
        backend->capacity *= 2;
    }
    return &backend->layers[backend->n_layers];
}

int assay_compare_layer(struct assay_compare *compare, const char *backend, const char *layer,
                        const double *samples_seconds, size_t n_samples)
{
    const struct assay_backend_layer one = {
        .name = layer, .samples_seconds = samples_seconds, .n_samples = n_samples};
    struct as_compare_backend *to = compare && backend ? find_backend(compare, backend) : NULL;
    struct as_compare_layer *out;
    bool told;
    int rc;

    if (!layer || !samples_seconds || n_samples == 0)
        return ASSAY_ERR_USAGE;
    if (!to)
        return assay_compare_add(compare, backend, &one, 1, 0, 0, NULL);
    for (size_t i = 0; i < to->n_layers; i++)
        if (strcmp(to->layers[i].name, layer) == 0)
            return ASSAY_ERR_USAGE;
    forget_results(compare);
    out = grow_layers(to);
    rc = out ? take_layer(out, &to->arena, &one, NULL) : ASSAY_ERR_NOMEM;
    if (rc < 0)
        return rc;
    told = !to->total_is_sum && !isnan(to->total);
    to->n_layers++;
    take_total(to, told ? to->total : AS_UNKNOWN);
    return ASSAY_OK;
}

int assay_compare_add_resources(struct assay_compare *compare, const char *name,
                                double peak_memory_mb, double energy_j, struct assay_error *err)
{
    struct as_compare_backend *backend;

    if (!compare || !name)
        return as_fail(err, ASSAY_ERR_USAGE, "the comparison or the name of the backend is NULL");
    backend = find_backend(compare, name);
    if (!backend)
        return as_fail(err, ASSAY_ERR_NOTFOUND, "no backend %s was added", name);
    if (!makes_sense(peak_memory_mb) || !makes_sense(energy_j))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "memory or energy of %s is negative or infinite: give NaN when unknown",
                       name);
    backend->peak_memory_mb = as_known_input(peak_memory_mb);
    backend->energy_j = as_known_input(energy_j);
    return ASSAY_OK;
}

int assay_compare_add_alias(struct assay_compare *compare, const char *alias, const char *layer,
                            struct assay_error *err)
{
    struct as_compare_alias *grown;

    if (!compare)
        return as_fail(err, ASSAY_ERR_USAGE, "the comparison is NULL");
    if (!alias || !alias[0] || !layer || !layer[0] || strcmp(alias, layer) == 0)
        return as_fail(err, ASSAY_ERR_USAGE, "an alias needs two different names");
    for (size_t i = 0; i < compare->n_aliases; i++) {
        const struct as_compare_alias *a = &compare->aliases[i];

        if (strcmp(a->alias, alias) == 0 || strcmp(a->alias, layer) == 0 ||
            strcmp(a->layer, alias) == 0)
            return as_fail(err, ASSAY_ERR_USAGE, "%s is an alias of %s already", a->alias,
                           a->layer);
    }
    grown = as_realloc(compare->aliases, compare->n_aliases + 1, sizeof *grown);
    if (!grown)
        return as_fail_nomem(err);
    compare->aliases = grown;
    grown += compare->n_aliases;
    grown->alias = as_strdup(alias);
    grown->layer = as_strdup(layer);
    if (!grown->alias || !grown->layer) {
        as_free(grown->alias);
        as_free(grown->layer);
        return as_fail_nomem(err);
    }
    compare->n_aliases++;
    return ASSAY_OK;
}

static struct assay_backend_total total_of(const struct as_compare_backend *backend)
{
    return (struct assay_backend_total){
        .backend = backend->name,
        .total_seconds = backend->total,
        .normalized_seconds = AS_UNKNOWN,
        .peak_memory_mb = backend->peak_memory_mb,
        .energy_j = backend->energy_j,
        .timestamp_seconds = backend->timestamp,
    };
}

static int list_available(struct assay_compare *compare, struct assay_error *err)
{
    const char **names = as_arena_zero(&compare->arena, compare->n_backends + 1, sizeof *names);

    if (!names)
        return as_fail_nomem(err);
    for (size_t i = 0; i < compare->n_backends; i++)
        names[i] = compare->backends[i].name;
    compare->result.available_backends = names;
    compare->result.n_available = compare->n_backends;
    return ASSAY_OK;
}

/* Each backend that is asked for, once; names nobody added go into a list of their own. */
static int choose(struct assay_compare *compare, struct as_compare_join *join,
                  const char *const *names, size_t n, struct assay_error *err)
{
    size_t n_asked = names ? n : compare->n_backends;
    const char **unknown = as_arena_zero(&compare->arena, n_asked + 1, sizeof *unknown);

    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    join->backends = as_arena_zero(&compare->arena, n_asked + 1, sizeof *join->backends);
    if (!unknown || !join->backends)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n_asked; i++) {
        const char *name = names ? names[i] : compare->backends[i].name;
        const struct as_compare_backend *backend = name ? find_backend(compare, name) : NULL;
        bool twice = false;

        for (size_t k = 0; k < join->n_backends; k++)
            twice = twice || join->backends[k] == backend;
        if (backend && !twice)
            join->backends[join->n_backends++] = backend;
        else if (!backend && name)
            unknown[compare->result.n_unknown++] =
                as_arena_text(&compare->arena, name, strlen(name));
    }
    compare->result.unknown_backends = unknown;
    return ASSAY_OK;
}

static int fail_too_few(struct assay_compare *compare, struct assay_error *err)
{
    char text[200];
    size_t used = (size_t)snprintf(text, sizeof text, "%s",
                                   compare->n_backends ? "available: " : "none has been added");

    for (size_t i = 0; i < compare->n_backends && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "",
                                 compare->backends[i].name);
    compare->result.error = "a comparison needs at least two backends";
    return as_fail(err, ASSAY_ERR_USAGE, "a comparison needs at least two backends; %s", text);
}

static int compare_chosen(struct assay_compare *compare, struct as_compare_join *join,
                          struct assay_error *err)
{
    struct assay_backend_total *totals =
        as_arena_zero(&compare->arena, join->n_backends, sizeof *totals);
    int rc;

    if (!totals)
        return as_fail_nomem(err);
    for (size_t i = 0; i < join->n_backends; i++)
        totals[i] = total_of(join->backends[i]);
    compare->result.backends = totals;
    compare->result.n_backends = join->n_backends;
    rc = as_compare_join_layers(join, compare, err);
    if (rc == ASSAY_OK)
        rc = as_compare_layers(compare, join, totals, err);
    if (rc == ASSAY_OK)
        rc = as_compare_summary(compare, join, totals, err);
    return rc;
}

int assay_compare_run(struct assay_compare *compare, const char *const *names, size_t n,
                      const struct assay_comparison **out, struct assay_error *err)
{
    struct as_compare_join join = {0};
    int rc;

    if (out)
        *out = NULL;
    if (!compare || !out)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "the comparison or the pointer for its result is NULL");
    forget_results(compare);
    compare->result.size = sizeof compare->result;
    *out = &compare->result;
    rc = list_available(compare, err);
    if (rc == ASSAY_OK)
        rc = choose(compare, &join, names, n, err);
    if (rc < 0)
        return rc;
    return join.n_backends < 2 ? fail_too_few(compare, err) : compare_chosen(compare, &join, err);
}

static bool comes_later(const struct assay_backend_total *a, const struct assay_backend_total *b)
{
    if (isnan(a->total_seconds))
        return !isnan(b->total_seconds);
    return a->total_seconds > b->total_seconds;
}

/* A few backends: insertion keeps those of equal time in the order they came. */
static void sort_totals(struct assay_backend_total *totals, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct assay_backend_total moved = totals[i];
        size_t k = i;

        for (; k > 0 && comes_later(&totals[k - 1], &moved); k--)
            totals[k] = totals[k - 1];
        totals[k] = moved;
    }
}

int assay_compare_ranking(struct assay_compare *compare, const struct assay_backend_total **out,
                          size_t *n, struct assay_error *err)
{
    struct assay_backend_total *totals;

    if (!compare || !out || !n)
        return as_fail(err, ASSAY_ERR_USAGE, "the comparison or a pointer for its ranking is NULL");
    as_arena_fini(&compare->ranking_arena);
    totals = as_arena_zero(&compare->ranking_arena, compare->n_backends + 1, sizeof *totals);
    if (!totals)
        return as_fail_nomem(err);
    for (size_t i = 0; i < compare->n_backends; i++)
        totals[i] = total_of(&compare->backends[i]);
    sort_totals(totals, compare->n_backends);
    *out = totals;
    *n = compare->n_backends;
    return ASSAY_OK;
}
