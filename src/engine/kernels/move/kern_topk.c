/* engine/kernels/move/kern_topk.c - TopK: the largest or smallest numbers along an axis, and where
 * they were. Numbers become unsigned keys of the same order, so one heap serves every type. Equal
 * numbers come in the order of their places. */
#include <string.h>

#include "engine/kernels/math/fast_math.h"
#include "engine/kernels/math/kern_typed.h"
#include "engine/kernels/reduce/kern_reduce.h"

struct item {
    uint64_t key; /* the larger, the better */
    uint64_t at;
};

/* ---- keys ---- */

static uint64_t key_of_f64(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    if (x == 0)
        bits = 0; /* either zero */
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t key_of(const struct as_val *in, uint64_t i)
{
    switch (in->dtype) {
    case AS_DTYPE_F32:
        return key_of_f64((double)((const float *)in->data)[i]);
    case AS_DTYPE_U64:
        return ((const uint64_t *)in->data)[i];
    case AS_DTYPE_I64:
        return (uint64_t)((const int64_t *)in->data)[i] ^ (uint64_t)1 << 63;
    default:
        return as_dtype_is_float(in->dtype) ? key_of_f64(as_val_f64(in, i))
                                            : (uint64_t)as_val_i64(in, i) ^ (uint64_t)1 << 63;
    }
}

/* ---- a heap with the worst on top ---- */

static bool worse(const struct item *a, const struct item *b)
{
    return a->key != b->key ? a->key < b->key : a->at > b->at;
}

static void sift(struct item *heap, uint64_t n, uint64_t i)
{
    struct item moved = heap[i];

    for (;;) {
        uint64_t child = 2 * i + 1;

        if (child >= n)
            break;
        if (child + 1 < n && worse(&heap[child + 1], &heap[child]))
            child++;
        if (!worse(&heap[child], &moved))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

/* The best first: the worst goes to the end, again and again. */
static void sort_heap(struct item *heap, uint64_t n)
{
    for (uint64_t left = n; left > 1; left--) {
        struct item last = heap[left - 1];

        heap[left - 1] = heap[0];
        heap[0] = last;
        sift(heap, left - 1, 0);
    }
}

struct topk {
    const struct as_val *in;
    struct as_val *values, *places;
    struct as_around a;
    uint64_t k;
    bool smallest;
};

static void one_row(const struct topk *t, struct item *heap, uint64_t o, uint64_t i)
{
    uint64_t first = o * t->a.n * t->a.inner + i;
    uint64_t to = o * t->k * t->a.inner + i;
    size_t bytes = as_elem_bytes(t->in->dtype);

    for (uint64_t j = 0; j < t->a.n; j++) {
        uint64_t key = key_of(t->in, first + j * t->a.inner);
        struct item item = {t->smallest ? ~key : key, j};

        if (j < t->k) {
            heap[j] = item;
            if (j + 1 == t->k)
                for (uint64_t h = t->k / 2 + 1; h-- > 0;)
                    sift(heap, t->k, h);
        } else if (worse(&heap[0], &item)) {
            heap[0] = item;
            sift(heap, t->k, 0);
        }
    }
    sort_heap(heap, t->k);
    for (uint64_t j = 0; j < t->k; j++, to += t->a.inner) {
        if (t->values)
            memcpy((char *)t->values->data + to * bytes,
                   (const char *)t->in->data + (first + heap[j].at * t->a.inner) * bytes, bytes);
        if (t->places)
            ((int64_t *)t->places->data)[to] = (int64_t)heap[j].at;
    }
}

static int read_k(struct as_kernel_ctx *k, int64_t along, uint64_t *out)
{
    int64_t n = as_node_int(k->node, "k", -1);
    struct as_dims given;

    if (k->opset >= 10) {
        if (!as_in_numbers(k, 1, &given) || given.rank != 1)
            return as_kernel_fail(k, "how many it takes is not one number");
        n = given.at[0];
    }
    if (n < 0 || n > along)
        return as_kernel_fail(k, "%lld are taken of %lld", (long long)n, (long long)along);
    *out = (uint64_t)n;
    return ASSAY_OK;
}

int as_run_topk(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    struct topk t = {.in = in, .smallest = as_node_int(k->node, "largest", 1) == 0};
    struct item *heap;
    int axis, rc = as_kernel_axis(k, as_node_int(k->node, "axis", -1), in->rank, &axis);

    if (rc == ASSAY_OK)
        rc = read_k(k, in->dims[axis], &t.k);
    if (rc < 0)
        return rc;
    t.a = as_around_axes(in, axis, axis + 1);
    t.values = as_has_out(k, 0) ? k->out[0] : NULL;
    t.places = as_has_out(k, 1) ? k->out[1] : NULL;
    if ((t.values && t.values->n != t.a.outer * t.k * t.a.inner) ||
        (t.places && t.places->n != t.a.outer * t.k * t.a.inner) || as_elem_bytes(in->dtype) == 0)
        return as_kernel_fail(k, "its outputs do not fit");
    heap = as_kernel_work(k, t.k + 1, sizeof *heap);
    if (!heap)
        return ASSAY_ERR_NOMEM;
    for (uint64_t o = 0; o < t.a.outer && t.k > 0; o++)
        for (uint64_t i = 0; i < t.a.inner; i++)
            one_row(&t, heap, o, i);
    return ASSAY_OK;
}
