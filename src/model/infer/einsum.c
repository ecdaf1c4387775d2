/* model/infer/einsum.c - the equations of Einsum: which letter is which dimension, and what comes
 * out.
 *
 * terms = term { "," term } [ "->" term ];  term = { letter | "..." at most once | blank }.
 * Without an arrow the output is "..." and every letter that is used once, in ASCII order. */
#include "model/infer/einsum.h"

#include <string.h>

/* One term: letters in order, and how many of them are before the dots. */
struct term {
    char letters[AS_MAX_RANK];
    int n;
    int dots; /* letters before them, or -1: there are none */
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int read_term(struct as_infer *ctx, const char *at, size_t size, struct term *term)
{
    term->n = 0;
    term->dots = -1;
    for (size_t i = 0; i < size; i++) {
        if (at[i] == ' ')
            continue;
        if (size - i >= 3 && memcmp(at + i, "...", 3) == 0) {
            if (term->dots >= 0)
                return as_conflict(ctx, "a term of the equation has '...' twice");
            term->dots = term->n;
            i += 2;
        } else if (!is_letter(at[i])) {
            return as_conflict(ctx, "byte %zu of a term of the equation is not a letter", i);
        } else if (term->n == AS_MAX_RANK) {
            return as_conflict(ctx, "a term of the equation has more than %d letters", AS_MAX_RANK);
        } else {
            term->letters[term->n++] = at[i];
        }
    }
    return ASSAY_OK;
}

static int meet_letter(struct as_infer *ctx, struct as_einsum *e, char letter, int64_t length)
{
    int64_t *known = &e->length[(int)letter];

    if (*known == AS_DIM_UNKNOWN || *known == 1)
        *known = length == AS_DIM_UNKNOWN ? *known : length;
    else if (length != AS_DIM_UNKNOWN && length != 1 && length != *known)
        return as_conflict(ctx, "'%c' is %lld in one input and %lld in another", letter,
                           (long long)*known, (long long)length);
    return ASSAY_OK;
}

static int meet_dots(struct as_infer *ctx, struct as_einsum *e, const struct as_dims *dims,
                     int first, int n)
{
    struct as_dims part = {.rank = n};

    for (int i = 0; i < n; i++)
        part.at[i] = dims->at[first + i];
    if (e->dots.rank >= 0 && !as_dims_broadcast(&e->dots, &part, &e->dots))
        return as_conflict(ctx, "what '...' stands for cannot be broadcast together");
    return ASSAY_OK;
}

static int meet_input(struct as_infer *ctx, struct as_einsum *e, size_t i, const struct term *term)
{
    struct as_dims dims;
    int extra, rc = ASSAY_OK;

    for (int k = 0; k < term->n; k++)
        e->uses[(int)term->letters[k]]++;
    e->dots_used |= term->dots >= 0;
    if (!as_in_type(ctx, i))
        return as_conflict(ctx, "the equation has more terms than there are inputs");
    if (!as_in_dims(ctx, i, &dims)) {
        if (term->dots >= 0)
            e->dots.rank = -1;
        return ASSAY_OK;
    }
    extra = dims.rank - term->n;
    if (term->dots >= 0 ? extra < 0 : extra != 0)
        return as_conflict(ctx, "input %zu has %d dimensions, its term %d letters", i, dims.rank,
                           term->n);
    for (int k = 0; k < term->n && rc == ASSAY_OK; k++)
        rc = meet_letter(ctx, e, term->letters[k],
                         dims.at[term->dots >= 0 && k >= term->dots ? k + extra : k]);
    if (rc == ASSAY_OK && term->dots >= 0)
        rc = meet_dots(ctx, e, &dims, term->dots, extra);
    return rc;
}

/* "..." first, then letters used once; true also for letters nobody else needs. */
static int implicit_output(struct as_infer *ctx, const struct as_einsum *e, struct term *out)
{
    out->n = 0;
    out->dots = e->dots_used ? 0 : -1;
    for (int c = 0; c < AS_EINSUM_LETTERS; c++) {
        if (e->uses[c] != 1)
            continue;
        if (out->n == AS_MAX_RANK)
            return as_conflict(ctx, "the output has more than %d dimensions", AS_MAX_RANK);
        out->letters[out->n++] = (char)c;
    }
    return ASSAY_OK;
}

static int put_output(struct as_infer *ctx, struct as_einsum *e, const struct term *term)
{
    int dots = term->dots >= 0 ? e->dots.rank : 0;

    e->out.rank = 0;
    e->dots_in_output = term->dots >= 0;
    for (int k = 0; k < term->n; k++) {
        if (e->uses[(int)term->letters[k]] == 0 || e->in_output[(int)term->letters[k]])
            return as_conflict(ctx, "'%c' of the output is in no input, or there twice",
                               term->letters[k]);
        e->in_output[(int)term->letters[k]] = true;
    }
    if (dots < 0) {
        e->out.rank = -1;
        return ASSAY_OK;
    }
    if (term->n + dots > AS_MAX_RANK)
        return as_conflict(ctx, "the output has more than %d dimensions", AS_MAX_RANK);
    for (int k = 0; k <= term->n; k++) {
        if (k == term->dots)
            for (int i = 0; i < dots; i++)
                e->out.at[e->out.rank++] = e->dots.at[i];
        if (k < term->n)
            e->out.at[e->out.rank++] = e->length[(int)term->letters[k]];
    }
    return ASSAY_OK;
}

static const char *find(const char *at, size_t size, const char *what)
{
    return size ? memmem(at, size, what, strlen(what)) : NULL;
}

int as_einsum_read(struct as_infer *ctx, struct as_einsum *e)
{
    const char *arrow, *at, *end;
    struct as_text text;
    struct term term;
    size_t i = 0;
    int rc;

    memset(e, 0, sizeof *e);
    for (int c = 0; c < AS_EINSUM_LETTERS; c++)
        e->length[c] = AS_DIM_UNKNOWN;
    if (!as_node_text(ctx->node, "equation", &text) || text.size == 0)
        return as_conflict(ctx, "there is no equation");
    arrow = find(text.at, text.size, "->");
    at = text.at;
    end = arrow ? arrow : text.at + text.size;
    for (bool more = true; more; i++) {
        const char *comma = find(at, (size_t)(end - at), ",");

        rc = read_term(ctx, at, (size_t)((comma ? comma : end) - at), &term);
        if (rc == ASSAY_OK)
            rc = meet_input(ctx, e, i, &term);
        if (rc < 0)
            return rc;
        more = comma != NULL;
        at = comma ? comma + 1 : end;
    }
    if (i != ctx->node->n_inputs)
        return as_conflict(ctx, "the equation has %zu terms for %u inputs", i, ctx->node->n_inputs);
    rc = arrow ? read_term(ctx, arrow + 2, (size_t)(text.at + text.size - arrow - 2), &term)
               : implicit_output(ctx, e, &term);
    return rc < 0 ? rc : put_output(ctx, e, &term);
}

int as_infer_einsum(struct as_infer *ctx)
{
    struct as_einsum e;
    int rc = as_einsum_read(ctx, &e);

    return rc < 0 ? rc : as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), e.out.rank < 0 ? NULL : &e.out);
}
