/* model/weights/weight_stats.c - how the weights of a model are distributed, read in one streaming
 * pass. Everything is on absolute values; exact but for the percentiles, whose error is stated. */
#include "model/weights/weight_stats.h"

#include "base/alloc.h"

#define PROGRESS_BYTES (4u << 20)

/* A file of a few bytes can ask for any number of made ones. */
#define MAX_MADE ((uint64_t)1 << 34)

struct reading {
    const struct as_model *model;
    const struct as_params *params;
    struct as_weight_stats *per_param;
    void (*progress)(void *user, uint64_t done, uint64_t of);
    void *user;
    uint64_t done, of, told; /* bytes */
    struct as_weight_quant *quants;
    struct as_weight_tally all;
    bool all_kept;     /* few enough: all.kept has room for every number */
    double *kept;      /* for one parameter when not */
    uint64_t *buckets; /* for one parameter that is too large for that */
    double *slice;
    void *raw;
};

static bool counts(const struct as_param *param)
{
    return param->role == AS_ROLE_PARAMETER && param->elems > 0;
}

static void tell(struct reading *r, uint64_t bytes)
{
    r->done += bytes;
    if (r->progress && r->done - r->told >= PROGRESS_BYTES) {
        r->told = r->done;
        r->progress(r->user, r->done, r->of);
    }
}

/* The numbers of one parameter go where its percentiles, or only those of all, are taken from. */
static void choose_capacity(struct reading *r, struct as_weight_tally *tally, uint64_t n)
{
    if (r->all_kept) {
        tally->kept = r->all.kept + r->all.n_kept;
        return;
    }
    tally->buckets = r->all.buckets;
    if (!r->per_param)
        return;
    if (n <= AS_WEIGHT_EXACT_MAX) {
        tally->kept = r->kept;
        return;
    }
    tally->buckets = r->buckets;
    for (size_t i = 0; i < AS_WEIGHT_BUCKETS; i++)
        tally->buckets[i] = 0;
}

static int read_numbers(struct reading *r, const struct as_weight_numbers *numbers,
                        struct as_weight_tally *tally, struct assay_error *err)
{
    uint64_t n = numbers->data->n, bytes = 0;

    choose_capacity(r, tally, n);
    for (uint64_t first = 0; first < n; first += AS_WEIGHT_SLICE) {
        size_t here = n - first < AS_WEIGHT_SLICE ? (size_t)(n - first) : AS_WEIGHT_SLICE;
        int rc = as_weight_numbers_read(numbers, first, here, r->slice, r->raw, err);

        if (rc == ASSAY_ERR_UNSUPPORTED && first > 0) /* too late to leave it out */
            return as_fail(err, ASSAY_ERR_IO, "the numbers of a weight end before it does");
        if (rc < 0)
            return rc;
        as_weight_tally_add(tally, r->slice, here);
        if (as_dtype_bytes(numbers->data->dtype, here, &bytes)) {
            tally->stats.bytes_read += bytes;
            tell(r, bytes);
        }
    }
    return ASSAY_OK;
}

static int read_param(struct reading *r, size_t i, struct assay_error *err)
{
    const struct as_param *param = &r->params->params[i];
    struct as_weight_tally tally = {0};
    struct as_weight_numbers numbers;
    int rc = as_weight_numbers_init(&numbers, r->model, param->value, r->quants, err);

    if (rc > 0 && !numbers.data->bytes && numbers.data->n > MAX_MADE)
        rc = 0;
    if (rc > 0)
        rc = read_numbers(r, &numbers, &tally, err);
    else if (rc == 0)
        rc = ASSAY_ERR_UNSUPPORTED;
    as_weight_numbers_fini(&numbers);
    if (rc == ASSAY_ERR_UNSUPPORTED) { /* nothing of it, then */
        tally = (struct as_weight_tally){0};
        tally.stats.skipped = param->elems;
    } else if (rc < 0) {
        return rc;
    }
    as_weight_tally_merge(&r->all, &tally);
    r->all.n_kept += tally.n_kept * r->all_kept;
    if (r->per_param) {
        as_weight_tally_finish(&tally);
        r->per_param[i] = tally.stats;
    }
    return ASSAY_OK;
}

/* Counts what there is to read. False: no parameter at all. */
static bool measure(struct reading *r, uint64_t *n, uint64_t *largest)
{
    bool any = false;

    *n = *largest = 0;
    for (size_t i = 0; i < r->params->n_params; i++) {
        const struct as_param *param = &r->params->params[i];
        const struct as_data *data;

        if (!counts(param))
            continue;
        any = true;
        data = param->value < r->model->n_values ? r->model->values[param->value].data : NULL;
        if (!data)
            continue;
        r->of += data->size_bytes;
        *n = data->n > UINT64_MAX - *n ? UINT64_MAX : *n + data->n;
        if (data->n <= AS_WEIGHT_EXACT_MAX && data->n > *largest)
            *largest = data->n;
    }
    return any;
}

static int reserve(struct reading *r, uint64_t n, uint64_t largest, struct assay_error *err)
{
    r->all_kept = n <= AS_WEIGHT_EXACT_MAX;
    r->quants = as_weight_quants_new(r->model);
    r->slice = as_alloc_zero(AS_WEIGHT_SLICE, sizeof *r->slice);
    r->raw = as_alloc_zero(AS_WEIGHT_SLICE, 16);
    if (r->all_kept) {
        r->all.kept = as_alloc_zero((size_t)n, sizeof *r->all.kept);
    } else {
        r->all.buckets = as_alloc_zero(AS_WEIGHT_BUCKETS, sizeof *r->all.buckets);
        r->buckets = as_alloc_zero(AS_WEIGHT_BUCKETS, sizeof *r->buckets);
        r->kept = as_alloc_zero(r->per_param ? (size_t)largest : 0, sizeof *r->kept);
    }
    if (!r->quants || !r->slice || !r->raw ||
        (r->all_kept ? !r->all.kept : !r->all.buckets || !r->buckets || !r->kept))
        return as_fail_nomem(err);
    return ASSAY_OK;
}

int as_weight_stats_read(struct as_weight_stats *all, struct as_weight_stats *per_param,
                         const struct as_model *model, const struct as_params *params,
                         void (*progress)(void *user, uint64_t done, uint64_t of), void *user,
                         struct assay_error *err)
{
    struct reading r = {.model = model,
                        .params = params,
                        .per_param = per_param,
                        .progress = progress,
                        .user = user};
    uint64_t n, largest;
    int rc;

    *all = (struct as_weight_stats){0};
    for (size_t i = 0; per_param && i < params->n_params; i++)
        per_param[i] = (struct as_weight_stats){0};
    if (!measure(&r, &n, &largest))
        return as_fail(err, ASSAY_ERR_NOTFOUND, "the model has no weights");
    rc = reserve(&r, n, largest, err);
    for (size_t i = 0; rc == ASSAY_OK && i < params->n_params; i++)
        if (counts(&params->params[i]))
            rc = read_param(&r, i, err);
    if (rc == ASSAY_OK) {
        as_weight_tally_finish(&r.all);
        *all = r.all.stats;
    }
    as_free(r.kept);
    as_free(r.buckets);
    as_free(r.all.buckets);
    as_free(r.all.kept);
    as_free(r.raw);
    as_free(r.slice);
    as_free(r.quants);
    return rc;
}
