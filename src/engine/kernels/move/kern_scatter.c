/* engine/kernels/move/kern_scatter.c - kernels that place elements by index, in order, so that of
 * two to one place the later wins or is added last. */
#include <string.h>

#include "engine/kernels/move/kern_move.h"

enum reduction { PLACE, ADD, MUL, MIN, MAX, REDUCTIONS };

static int read_reduction(struct as_kernel_ctx *k, enum reduction *out)
{
    static const char *const names[REDUCTIONS] = {
        [PLACE] = "none", [ADD] = "add", [MUL] = "mul", [MIN] = "min", [MAX] = "max"};
    struct as_text said;

    *out = PLACE;
    if (!as_node_text(k->node, "reduction", &said))
        return ASSAY_OK;
    for (int i = 0; i < REDUCTIONS; i++)
        if (as_node_text_is(k->node, "reduction", names[i])) {
            *out = (enum reduction)i;
            return ASSAY_OK;
        }
    return as_kernel_fail(k, "its reduction is '%.*s'", (int)(said.size < 20 ? said.size : 20),
                          said.at);
}

#define REDUCE(name, type)                                                                         \
    static void reduce_##name(enum reduction how, type to[], const type *from, uint64_t n)         \
    {                                                                                              \
        for (uint64_t i = 0; how == ADD && i < n; i++)                                             \
            to[i] = (type)(to[i] + from[i]);                                                       \
        for (uint64_t i = 0; how == MUL && i < n; i++)                                             \
            to[i] = (type)(to[i] * from[i]);                                                       \
        for (uint64_t i = 0; how == MIN && i < n; i++)                                             \
            to[i] = from[i] < to[i] ? from[i] : to[i];                                             \
        for (uint64_t i = 0; how == MAX && i < n; i++)                                             \
            to[i] = from[i] > to[i] ? from[i] : to[i];                                             \
    }
REDUCE(f32, float)
REDUCE(f64, double)
#undef REDUCE

static int64_t reduced(enum reduction how, int64_t a, int64_t b)
{
    switch (how) {
    case ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case MIN:
        return b < a ? b : a;
    case MAX:
        return b > a ? b : a;
    default:
        return b;
    }
}

static double reduced_float(enum reduction how, double a, double b)
{
    switch (how) {
    case ADD:
        return a + b;
    case MUL:
        return a * b;
    case MIN:
        return b < a ? b : a;
    case MAX:
        return b > a ? b : a;
    default:
        return b;
    }
}

/* A run of n elements of `updates` from `from` on meets those of `out` from `to` on. */
static void meet(enum reduction how, struct as_val *out, uint64_t to, const struct as_val *updates,
                 uint64_t from, uint64_t n)
{
    if (out->dtype == AS_DTYPE_F32) {
        reduce_f32(how, (float *)out->data + to, (const float *)updates->data + from, n);
    } else if (out->dtype == AS_DTYPE_F64) {
        reduce_f64(how, (double *)out->data + to, (const double *)updates->data + from, n);
    } else if (as_dtype_is_float(out->dtype)) {
        for (uint64_t i = 0; i < n; i++)
            as_val_put_f64(
                out, to + i,
                reduced_float(how, as_val_f64(out, to + i), as_val_f64(updates, from + i)));
    } else {
        for (uint64_t i = 0; i < n; i++)
            as_val_put_i64(out, to + i,
                           reduced(how, as_val_i64(out, to + i), as_val_i64(updates, from + i)));
    }
}

struct scattering {
    enum reduction how;
    struct as_val *out;
    const struct as_val *at, *updates;
    size_t width;
};

/* What both begin with: the output is the data, the updates are of its type. */
static int begin(struct as_kernel_ctx *k, struct scattering *s)
{
    int rc;

    *s = (struct scattering){.out = k->out[0], .at = k->in[1], .updates = k->in[2]};
    rc = read_reduction(k, &s->how);
    if (rc == ASSAY_OK)
        rc = as_move_width(k, s->out, &s->width);
    if (rc < 0)
        return rc;
    if (s->updates->dtype != s->out->dtype || k->in[0]->n != s->out->n ||
        k->in[0]->dtype != s->out->dtype)
        return as_kernel_fail(k, "its updates are %s, its data %s",
                              as_dtype_name(s->updates->dtype), as_dtype_name(k->in[0]->dtype));
    if (s->how != PLACE &&
        (s->out->dtype == AS_DTYPE_STRING || as_dtype_at(s->out->dtype)->kind == AS_CLASS_COMPLEX))
        return as_kernel_cannot(k, "%s cannot be reduced", as_dtype_name(s->out->dtype));
    memcpy(s->out->data, k->in[0]->data, s->out->bytes);
    return ASSAY_OK;
}

static void put(const struct scattering *s, uint64_t to, uint64_t from, uint64_t n)
{
    if (s->how == PLACE)
        memcpy((uint8_t *)s->out->data + to * s->width,
               (const uint8_t *)s->updates->data + from * s->width, n * s->width);
    else
        meet(s->how, s->out, to, s->updates, from, n);
}

int as_kern_scatter_elements(struct as_kernel_ctx *k)
{
    int64_t strides[AS_MAX_RANK], at[AS_MAX_RANK] = {0}, length;
    struct scattering s;
    int axis, rc = as_move_axis_of(k, "axis", 0, k->in[0]->rank, &axis);

    if (rc == ASSAY_OK)
        rc = begin(k, &s);
    if (rc != ASSAY_OK)
        return rc;
    if (s.at->rank != s.out->rank || s.updates->rank != s.out->rank || s.at->n != s.updates->n)
        return as_kernel_fail(k, "indices, updates and data are not of one rank");
    for (int d = 0; d < s.out->rank; d++)
        if (s.at->dims[d] != s.updates->dims[d] || (d != axis && s.at->dims[d] > s.out->dims[d]))
            return as_kernel_fail(k, "dimension %d of the indices does not fit", d);
    length = s.out->dims[axis];
    rc = as_move_check_indices(k, s.at, length);
    as_strides(s.out, strides);
    for (uint64_t i = 0; rc == ASSAY_OK && i < s.at->n; i++) {
        int64_t index = as_move_index(s.at, i), to;

        to = (index < 0 ? index + length : index) * strides[axis];
        for (int d = 0; d < s.out->rank; d++)
            to += d == axis ? 0 : at[d] * strides[d];
        put(&s, (uint64_t)to, i, 1);
        (void)as_move_step(at, s.at->dims, s.at->rank);
    }
    return rc < 0 ? rc : as_move_own_texts(k, s.out);
}

int as_kern_scatter_nd(struct as_kernel_ctx *k)
{
    int64_t strides[AS_MAX_RANK];
    struct scattering s;
    uint64_t length, n, run;
    int rc = begin(k, &s);

    if (rc == ASSAY_OK)
        rc = as_gather_check_tuples(k, s.at, s.out, 0);
    if (rc < 0)
        return rc;
    length = (uint64_t)s.at->dims[s.at->rank - 1];
    n = s.at->n / length;
    run = (uint64_t)as_move_product(s.out->dims, (int)length, s.out->rank);
    if (n != 0 && (s.updates->n % n != 0 || s.updates->n / n != run))
        return as_kernel_fail(k, "%llu updates for %llu places of %llu elements",
                              (unsigned long long)s.updates->n, (unsigned long long)n,
                              (unsigned long long)run);
    as_strides(s.out, strides);
    for (uint64_t i = 0; i < n; i++) {
        int64_t to = 0;

        for (uint64_t d = 0; d < length; d++) {
            int64_t index = as_move_index(s.at, i * length + d);

            to += (index < 0 ? index + s.out->dims[d] : index) * strides[d];
        }
        put(&s, (uint64_t)to, i * run, run);
    }
    return as_move_own_texts(k, s.out);
}
