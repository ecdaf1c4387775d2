/* measure/outputs/output_compare.c - how far a tensor is from the one that was expected. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "measure/outputs/kept_outputs_internal.h"

/* Elements of complex kinds as twice as many floats. */
static struct as_val in_parts(const struct as_val *val)
{
    struct as_val parts = *val;

    if (val->dtype == AS_DTYPE_C64 || val->dtype == AS_DTYPE_C128) {
        parts.dtype = val->dtype == AS_DTYPE_C64 ? AS_DTYPE_F32 : AS_DTYPE_F64;
        parts.n = val->n * 2;
        parts.rank = 0;
    }
    return parts;
}

void as_output_count(const struct as_val *val, uint64_t *n_nan, uint64_t *n_inf)
{
    struct as_val parts = in_parts(val);

    *n_nan = *n_inf = 0;
    if (!as_dtype_is_float(parts.dtype))
        return;
    for (uint64_t i = 0; i < parts.n; i++) {
        double x = as_val_f64(&parts, i);

        *n_nan += isnan(x) != 0;
        *n_inf += isinf(x) != 0;
    }
}

/* ---- numbers ---- */

struct sums {
    double have, want, both;
};

static bool is_near(const struct as_outputs_options *o, double have, double want)
{
    if (have == want || (isnan(have) && isnan(want)))
        return true;
    return isfinite(have) && isfinite(want) && fabs(have - want) <= o->atol + o->rtol * fabs(want);
}

/* Integers are exact, also where a double is not. */
static bool is_same(const struct as_val *have, const struct as_val *want, uint64_t i)
{
    if (have->dtype == AS_DTYPE_U64 || have->dtype == AS_DTYPE_I64)
        return memcmp((const uint64_t *)have->data + i, (const uint64_t *)want->data + i,
                      sizeof(uint64_t)) == 0;
    return as_val_f64(have, i) == as_val_f64(want, i);
}

static void add_pair(struct as_output_row *row, struct sums *sums, double have, double want)
{
    double off = fabs(have - want);

    if (!isfinite(have) || !isfinite(want))
        return;
    if (!(off <= row->max_abs))
        row->max_abs = off;
    if (want != 0 && !(off / fabs(want) <= row->max_rel))
        row->max_rel = off / fabs(want);
    sums->have += have * have;
    sums->want += want * want;
    sums->both += have * want;
}

static uint64_t largest_in(const struct as_val *val, uint64_t from, uint64_t n)
{
    uint64_t best = 0;

    for (uint64_t i = 1; i < n; i++)
        if (as_val_f64(val, from + i) > as_val_f64(val, from + best))
            best = i;
    return best;
}

/* The share of rows whose largest element is the same; a classifier's answer. */
static double top1_of(const struct as_val *have, const struct as_val *want)
{
    uint64_t size = have->rank > 0 ? (uint64_t)have->dims[have->rank - 1] : 0, same = 0, n = 0;

    if (size < 2 || have->n == 0)
        return AS_UNKNOWN;
    for (uint64_t at = 0; at < have->n; at += size, n++)
        same += largest_in(have, at, size) == largest_in(want, at, size);
    return (double)same / (double)n;
}

static void compare_numbers(struct as_output_row *row, const struct as_val *of_have,
                            const struct as_val *of_want, const struct as_outputs_options *o)
{
    struct as_val have = in_parts(of_have), want = in_parts(of_want);
    bool floats = as_dtype_is_float(have.dtype);
    struct sums sums = {0};

    for (uint64_t i = 0; i < have.n; i++) {
        double a = as_val_f64(&have, i), b = as_val_f64(&want, i);

        row->n_beyond += floats ? !is_near(o, a, b) : !is_same(&have, &want, i);
        add_pair(row, &sums, a, b);
    }
    if (!floats)
        return;
    if (sums.have > 0 && sums.want > 0 && isfinite(sums.have) && isfinite(sums.want))
        row->cosine = fmax(-1, fmin(1, sums.both / sqrt(sums.have) / sqrt(sums.want)));
    row->top1 = top1_of(&have, &want);
}

static void compare_texts(struct as_output_row *row, const struct as_text *have,
                          const struct as_text *want)
{
    for (uint64_t i = 0; i < row->n; i++)
        row->n_beyond += have[i].size != want[i].size ||
                         (have[i].size && memcmp(have[i].at, want[i].at, have[i].size) != 0);
}

/* ---- with a file ---- */

static int check_type(const struct as_output_row *row, const struct as_val *have,
                      const struct as_tensor_file *want, struct assay_error *err)
{
    struct as_type type = {.rank = (int16_t)want->dims.rank, .dims = want->dims.at};
    char text[80];

    if (have->dtype != want->dtype)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "%.100s holds %s elements, but tensor '%.60s' is %s; convert the file",
                       want->file.path, as_dtype_name(want->dtype), row->name,
                       as_dtype_name(have->dtype));
    if (have->rank == want->dims.rank &&
        memcmp(have->dims, want->dims.at, (size_t)have->rank * sizeof *have->dims) == 0)
        return ASSAY_OK;
    as_type_text(text, sizeof text, &type);
    return as_fail(err, ASSAY_ERR_USAGE, "%.100s holds %s, but tensor '%.60s' is %s",
                   want->file.path, text, row->name, row->shape);
}

int as_output_compare(struct as_output_row *row, const struct as_val *have,
                      const struct as_tensor_file *file, const struct as_outputs_options *options,
                      struct assay_error *err)
{
    struct as_val want = {0};
    void *memory = NULL;
    int rc = check_type(row, have, file, err);

    if (rc < 0)
        return rc;
    if (have->dtype == AS_DTYPE_STRING) {
        compare_texts(row, have->data, file->data->texts);
    } else {
        rc = as_val_shape(&want, file->dtype, &file->dims, err);
        if (rc < 0)
            return rc;
        memory = as_alloc((size_t)want.bytes + 1);
        if (!memory)
            return as_fail_nomem(err);
        want.data = memory;
        rc = as_tensor_file_read(file, memory, err);
        if (rc == ASSAY_OK)
            compare_numbers(row, have, &want, options);
    }
    as_free(memory);
    row->expected = file->file.path;
    row->agrees = row->n_beyond == 0;
    return rc;
}
