/* engine/kernels/gemm/kern_einsum.c - Einsum as a chain of matrix products: operands are joined one
 * after the other, each pair brought into the form [batch, rows, inner] * [batch, inner, columns].
 */
#include "engine/kernels/gemm/kern_gemm.h"

#include <string.h>

#include "base/cursor.h"

/* Letters are labels by their ASCII numbers; what "..." stands for has the labels DOTS - 1 for its
 * last dimension, DOTS - 2 for the one before, and so on. */
enum { LABELS = 128, DOTS = AS_MAX_RANK, MAX_TERM = 96 };

struct term {
    int n;
    uint8_t at[MAX_TERM];
};

/* A tensor with a label for each dimension. */
struct operand {
    struct term term;
    int64_t dims[MAX_TERM], strides[MAX_TERM];
    const void *data;
};

struct sums {
    struct as_kernel_ctx *k;
    unsigned dtype;
    uint64_t width;
    int64_t length[LABELS];
    uint32_t left[LABELS]; /* how many operands not yet joined, and the output, have it */
    uint32_t uses[LABELS]; /* in the equation, before the arrow */
    int n_dots;
    struct term out;
};

static bool has(const struct term *term, uint8_t label)
{
    return memchr(term->at, label, (size_t)term->n) != NULL;
}

static bool add_label(struct term *term, uint8_t label)
{
    if (term->n == MAX_TERM)
        return false;
    term->at[term->n++] = label;
    return true;
}

/* One term; `dots` is how many dimensions "..." is, -1: it is not allowed. */
static bool read_term(struct as_text text, int dots, struct term *term)
{
    bool dotted = false;

    term->n = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.at[i];

        if (c == ' ')
            continue;
        if (text.size - i >= 3 && memcmp(text.at + i, "...", 3) == 0) {
            if (dotted || dots < 0)
                return false;
            for (int d = 0; d < dots; d++)
                if (!add_label(term, (uint8_t)(DOTS - dots + d)))
                    return false;
            dotted = true;
            i += 2;
        } else if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) ||
                   !add_label(term, (uint8_t)c)) {
            return false;
        }
    }
    return true;
}

/* The letters of a term, without the dots. */
static int count_letters(struct as_text text)
{
    int n = 0;

    for (size_t i = 0; i < text.size; i++)
        n += text.at[i] != ' ' && text.at[i] != '.';
    return n;
}

static int meet(struct sums *s, const struct as_val *in, struct as_text text, struct operand *op)
{
    int extra = in->rank - count_letters(text);

    if (in->dtype != s->dtype)
        return as_kernel_fail(s->k, "%s and %s in one sum", as_dtype_name(s->dtype),
                              as_dtype_name(in->dtype));
    if (!read_term(text, extra, &op->term) || op->term.n != in->rank)
        return as_kernel_fail(s->k, "the equation does not fit an input of %d dimensions",
                              in->rank);
    as_strides(in, op->strides);
    op->data = in->data;
    if (extra > s->n_dots && memchr(text.at, '.', text.size))
        s->n_dots = extra;
    for (int i = 0; i < in->rank; i++) {
        uint8_t label = op->term.at[i];

        op->dims[i] = in->dims[i];
        if (op->dims[i] == 1)
            op->strides[i] = 0;
        if (s->uses[label]++ == 0 || s->length[label] == 1)
            s->length[label] = in->dims[i];
        else if (in->dims[i] != 1 && in->dims[i] != s->length[label])
            return as_kernel_fail(s->k, "a letter is %lld in one input and %lld in another",
                                  (long long)s->length[label], (long long)in->dims[i]);
    }
    return ASSAY_OK;
}

/* ---- copies ---- */

/* How to walk over some labels of an operand. */
struct walk {
    int n;
    int64_t length[MAX_TERM], step[MAX_TERM], index[MAX_TERM];
};

static void walk_over(const struct sums *s, const struct operand *op, const struct term *labels,
                      struct walk *w)
{
    w->n = labels->n;
    for (int i = 0; i < labels->n; i++) {
        w->length[i] = s->length[labels->at[i]];
        w->step[i] = w->index[i] = 0;
        for (int d = 0; d < op->term.n; d++)
            if (op->term.at[d] == labels->at[i])
                w->step[i] += op->strides[d];
    }
}

static inline int64_t next_place(struct walk *w, int64_t at)
{
    for (int i = w->n; i-- > 0;) {
        at += w->step[i];
        if (++w->index[i] < w->length[i])
            break;
        at -= w->step[i] * w->index[i];
        w->index[i] = 0;
    }
    return at;
}

static bool count_of(const struct sums *s, const struct term *labels, uint64_t *n)
{
    *n = 1;
    for (int i = 0; i < labels->n; i++)
        if (!as_mul_u64(*n, (uint64_t)s->length[labels->at[i]], n) || *n > UINT64_MAX / 16)
            return false;
    return true;
}

#define GATHER(T)                                                                                  \
    for (uint64_t i = 0; i < n; i++, at = next_place(&kept, at)) {                                 \
        T sum = 0;                                                                                 \
        int64_t from = at;                                                                         \
                                                                                                   \
        for (uint64_t j = 0; j < n_rest; j++, from = next_place(&rest, from))                      \
            sum += ((const T *)op->data)[from];                                                    \
        ((T *)to)[i] = sum;                                                                        \
    }

/* The operand in the order of `labels`, summed over all others, into `to`. */
static int gather(const struct sums *s, const struct operand *op, const struct term *labels,
                  void *to)
{
    struct walk kept, rest;
    struct term others = {0};
    uint64_t n, n_rest;
    int64_t at = 0;

    for (int i = 0; i < op->term.n; i++)
        if (!has(labels, op->term.at[i]) && !has(&others, op->term.at[i]))
            (void)add_label(&others, op->term.at[i]);
    if (!count_of(s, labels, &n) || !count_of(s, &others, &n_rest))
        return as_kernel_fail(s->k, "the sum is too large");
    walk_over(s, op, labels, &kept);
    walk_over(s, op, &others, &rest);
    switch (s->dtype) {
    case AS_DTYPE_F32:
        GATHER(float)
        break;
    case AS_DTYPE_F64:
        GATHER(double)
        break;
    case AS_DTYPE_I32:
    case AS_DTYPE_U32:
        GATHER(uint32_t)
        break;
    default:
        GATHER(uint64_t)
    }
    return ASSAY_OK;
}

static int gather_new(const struct sums *s, const struct operand *op, const struct term *labels,
                      void **to)
{
    uint64_t n;

    if (!count_of(s, labels, &n))
        return as_kernel_fail(s->k, "the sum is too large");
    *to = as_kernel_work(s->k, n, s->width);
    return *to ? gather(s, op, labels, *to) : (int)ASSAY_ERR_NOMEM;
}

/* ---- joining ---- */

/* Labels of both, of the first alone, of the second alone; those nobody needs any more and that
 * only one has are summed away when it is copied. */
struct kinds {
    struct term batch, inner, rows, columns;
};

static void sort_labels(const struct sums *s, const struct operand *a, const struct operand *b,
                        struct kinds *kinds)
{
    *kinds = (struct kinds){0};
    for (int i = 0; i < a->term.n; i++) {
        uint8_t label = a->term.at[i];
        bool both = has(&b->term, label), needed = s->left[label] > 0;
        struct term *to =
            both ? (needed ? &kinds->batch : &kinds->inner) : (needed ? &kinds->rows : NULL);

        if (to && !has(to, label))
            (void)add_label(to, label);
    }
    for (int i = 0; i < b->term.n; i++) {
        uint8_t label = b->term.at[i];

        if (!has(&a->term, label) && s->left[label] > 0 && !has(&kinds->columns, label))
            (void)add_label(&kinds->columns, label);
    }
}

static bool join_terms(struct term *out, const struct term *a, const struct term *b,
                       const struct term *c)
{
    const struct term *all[] = {a, b, c};

    out->n = 0;
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < all[t]->n; i++)
            if (!add_label(out, all[t]->at[i]))
                return false;
    return true;
}

static void set_plain(const struct sums *s, struct operand *op, const void *data)
{
    int64_t step = 1;

    op->data = data;
    for (int i = op->term.n; i-- > 0;) {
        op->dims[i] = s->length[op->term.at[i]];
        op->strides[i] = step;
        step *= op->dims[i];
    }
}

static int multiply(const struct sums *s, const struct kinds *kinds, const void *a, const void *b,
                    void *c)
{
    struct as_gemm g = {.dtype = s->dtype, .a = a, .b = b, .c = c, .alpha = 1};
    int64_t *at;

    if (!count_of(s, &kinds->batch, &g.batch) || !count_of(s, &kinds->rows, &g.m) ||
        !count_of(s, &kinds->columns, &g.n) || !count_of(s, &kinds->inner, &g.k))
        return as_kernel_fail(s->k, "the sum is too large");
    g.a_row = (int64_t)g.k;
    g.a_col = g.b_col = 1;
    g.b_row = g.c_row = (int64_t)g.n;
    if (g.batch > 1) {
        at = as_kernel_work(s->k, 3 * g.batch, sizeof *at);
        if (!at)
            return ASSAY_ERR_NOMEM;
        for (uint64_t i = 0; i < g.batch; i++) {
            at[i] = (int64_t)(i * g.m * g.k);
            at[g.batch + i] = (int64_t)(i * g.k * g.n);
            at[2 * g.batch + i] = (int64_t)(i * g.m * g.n);
        }
        g.a_at = at;
        g.b_at = at + g.batch;
        g.c_at = at + 2 * g.batch;
    }
    return as_gemm_run(s->k, &g);
}

/* a becomes the product of a and b. */
static int join(const struct sums *s, struct operand *a, const struct operand *b)
{
    struct kinds kinds;
    struct term left, right, all;
    void *pa = NULL, *pb = NULL, *pc = NULL;
    uint64_t n;
    int rc;

    sort_labels(s, a, b, &kinds);
    if (!join_terms(&left, &kinds.batch, &kinds.rows, &kinds.inner) ||
        !join_terms(&right, &kinds.batch, &kinds.inner, &kinds.columns) ||
        !join_terms(&all, &kinds.batch, &kinds.rows, &kinds.columns) || !count_of(s, &all, &n))
        return as_kernel_fail(s->k, "the sum is too large");
    rc = gather_new(s, a, &left, &pa);
    if (rc == ASSAY_OK)
        rc = gather_new(s, b, &right, &pb);
    if (rc < 0)
        return rc;
    pc = as_kernel_work(s->k, n, s->width);
    if (!pc)
        return ASSAY_ERR_NOMEM;
    rc = multiply(s, &kinds, pa, pb, pc);
    a->term = all;
    set_plain(s, a, pc);
    return rc;
}

/* ---- the equation ---- */

static int read_output(struct sums *s, const struct as_text *text)
{
    if (text) {
        if (!read_term(*text, s->n_dots, &s->out))
            return as_kernel_fail(s->k, "the output of the equation cannot be read");
    } else {
        for (int i = DOTS - s->n_dots; i < DOTS; i++)
            (void)add_label(&s->out, (uint8_t)i);
        for (int c = 'A'; c <= 'z'; c++)
            if (s->uses[c] == 1)
                (void)add_label(&s->out, (uint8_t)c);
    }
    for (int i = 0; i < s->out.n; i++)
        if (s->uses[s->out.at[i]] == 0)
            return as_kernel_fail(s->k, "a letter of the output is in no input");
    return ASSAY_OK;
}

static int read_inputs(struct sums *s, struct as_text text, struct operand *ops)
{
    const char *at = text.at, *end = text.at + text.size;
    int rc;

    for (size_t i = 0; i < s->k->n_in; i++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct as_text one = {at, (size_t)((comma ? comma : end) - at)};

        if (!as_has_in(s->k, i) || (comma != NULL) != (i + 1 < s->k->n_in))
            return as_kernel_fail(s->k, "the equation is not one for %zu inputs", s->k->n_in);
        rc = meet(s, s->k->in[i], one, &ops[i]);
        if (rc < 0)
            return rc;
        at = comma ? comma + 1 : end;
    }
    return ASSAY_OK;
}

static void count_left(struct sums *s, const struct term *term, uint32_t by)
{
    for (int i = 0; i < term->n; i++)
        s->left[term->at[i]] += by;
}

static int run(struct sums *s, struct operand *ops)
{
    struct as_kernel_ctx *k = s->k;
    uint64_t n;
    int rc = ASSAY_OK;

    if (s->out.n != k->out[0]->rank || !count_of(s, &s->out, &n) || n != k->out[0]->n)
        return as_kernel_fail(k, "there is no room for the sum");
    for (int i = 0; i < s->out.n; i++)
        if (k->out[0]->dims[i] != s->length[s->out.at[i]])
            return as_kernel_fail(k, "there is no room for the sum");
    count_left(s, &s->out, 1);
    for (size_t i = 1; i < k->n_in; i++)
        count_left(s, &ops[i].term, 1);
    for (size_t i = 1; rc == ASSAY_OK && i < k->n_in; i++) {
        count_left(s, &ops[i].term, UINT32_MAX); /* one less */
        rc = join(s, &ops[0], &ops[i]);
    }
    return rc < 0 ? rc : gather(s, &ops[0], &s->out, k->out[0]->data);
}

int as_kernel_einsum(struct as_kernel_ctx *k)
{
    struct as_text text, out;
    struct sums *s = as_arena_zero(k->scratch, 1, sizeof *s);
    struct operand *ops = as_arena_zero(k->scratch, k->n_in + 1, sizeof *ops);
    const char *arrow;
    int rc;

    if (!s || !ops)
        return as_fail_nomem(k->err);
    if (!as_has_in(k, 0) || !as_has_out(k, 0) || !as_node_text(k->node, "equation", &text) ||
        text.size == 0)
        return as_kernel_fail(k, "there is no equation");
    s->k = k;
    s->dtype = k->in[0]->dtype;
    s->width = as_dtype_at(s->dtype)->block_bytes;
    if (!as_gemm_takes(s->dtype))
        return as_kernel_cannot(k, "sums of %s", as_dtype_name(s->dtype));
    arrow = memmem(text.at, text.size, "->", 2);
    if (arrow) {
        out = (struct as_text){arrow + 2, (size_t)(text.at + text.size - arrow - 2)};
        text.size = (size_t)(arrow - text.at);
    }
    rc = read_inputs(s, text, ops);
    if (rc == ASSAY_OK)
        rc = read_output(s, arrow ? &out : NULL);
    return rc < 0 ? rc : run(s, ops);
}
