/* engine/kernels/text/kern_text.c - kernels of strings. TfIdfVectorizer is in kern_tfidf.c.
 * Every text an output holds is in the output's own arena. */
#include "engine/kernels/text/kern_text.h"

#include <string.h>

#include "base/text/utf8.h"
#include "base/units.h"
#include "engine/kernels/move/kern_move.h"
#include "model/infer/infer_context.h"

static int need_texts(struct as_kernel_ctx *k, size_t i)
{
    if (!as_has_in(k, i) || k->in[i]->dtype != AS_DTYPE_STRING)
        return as_kernel_fail(k, "input %zu is not a tensor of strings", i);
    return ASSAY_OK;
}

/* ---- StringNormalizer ---- */

/* Alphabets whose capitals lie at a fixed distance from their small letters. */
static const struct {
    uint32_t first, last, distance;
} alphabets[] = {
    {'A', 'Z', 32},     {0xc0, 0xd6, 32},   {0xd8, 0xde, 32},   {0x391, 0x3a1, 32},
    {0x3a3, 0x3ab, 32}, {0x410, 0x42f, 32}, {0x400, 0x40f, 80}, {0x531, 0x556, 48},
};

static uint32_t change_case(uint32_t code, bool upper)
{
    for (size_t i = 0; i < AS_COUNT_OF(alphabets); i++) {
        uint32_t shift = upper ? alphabets[i].distance : 0;

        if (code < alphabets[i].first + shift || code > alphabets[i].last + shift)
            continue;
        return upper ? code - shift : code + alphabets[i].distance;
    }
    return code;
}

/* The text in the other case, in `arena`; a byte that is no UTF-8 stays. False: no memory. */
static bool in_case(struct as_arena *arena, const struct as_text *in, bool upper,
                    struct as_text *out)
{
    char *to = as_arena_alloc(arena, in->size + 4);
    size_t n = 0;

    if (!to)
        return false;
    for (size_t i = 0; i < in->size;) {
        uint32_t code = 0;
        size_t bytes = as_utf8_decode(in->at + i, in->size - i, &code);

        if (bytes == 0)
            to[n++] = in->at[i++];
        else /* no letter of the table is longer in the other case */
            n += as_utf8_encode(to + n, change_case(code, upper));
        i += bytes;
    }
    *out = (struct as_text){to, n};
    return true;
}

static bool same_text(const struct as_text *a, const struct as_text *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->at, b->at, a->size) == 0);
}

struct normalizing {
    const struct as_text *stop; /* in small letters when the case does not matter */
    uint32_t n_stop;
    bool with_case, changes, upper;
};

static int read_stopwords(struct as_kernel_ctx *k, struct normalizing *n)
{
    const struct as_attr *attr = as_node_attr(k->node, "stopwords");
    struct as_text *small;

    n->with_case = as_node_int(k->node, "is_case_sensitive", 0) != 0;
    n->upper = as_node_text_is(k->node, "case_change_action", "UPPER");
    n->changes = n->upper || as_node_text_is(k->node, "case_change_action", "LOWER");
    if (!attr || attr->kind != AS_ATTR_TEXTS || attr->n == 0)
        return ASSAY_OK;
    n->stop = attr->texts;
    n->n_stop = attr->n;
    if (n->with_case)
        return ASSAY_OK;
    small = as_arena_zero(k->scratch, attr->n, sizeof *small);
    for (uint32_t i = 0; small && i < attr->n; i++)
        if (!in_case(k->scratch, &attr->texts[i], false, &small[i]))
            small = NULL;
    n->stop = small;
    return small ? ASSAY_OK : as_fail_nomem(k->err);
}

static int is_stopped(struct as_kernel_ctx *k, const struct normalizing *n,
                      const struct as_text *word, bool *stopped)
{
    struct as_text small = *word;

    *stopped = false;
    if (n->n_stop > 0 && !n->with_case && !in_case(k->scratch, word, false, &small))
        return as_fail_nomem(k->err);
    for (uint32_t i = 0; i < n->n_stop && !*stopped; i++)
        *stopped = same_text(&small, &n->stop[i]);
    return ASSAY_OK;
}

static int normalizer(struct as_kernel_ctx *k)
{
    const struct as_text *words;
    struct as_text *kept;
    struct normalizing how = {0};
    struct as_dims dims;
    uint64_t n = 0;
    int rc = need_texts(k, 0);

    if (rc == ASSAY_OK)
        rc = read_stopwords(k, &how);
    if (rc < 0)
        return rc;
    as_val_dims(k->in[0], &dims);
    if (dims.rank < 1 || dims.rank > 2 || (dims.rank == 2 && dims.at[0] != 1))
        return as_kernel_fail(k, "the input is neither [C] nor [1, C]");
    words = k->in[0]->data;
    kept = as_arena_zero(k->scratch, k->in[0]->n + 1, sizeof *kept);
    if (!kept)
        return as_fail_nomem(k->err);
    for (uint64_t i = 0; i < k->in[0]->n && rc == ASSAY_OK; i++) {
        bool stopped;

        rc = is_stopped(k, &how, &words[i], &stopped);
        if (rc < 0 || stopped)
            continue;
        kept[n] = words[i];
        if (how.changes && !in_case(k->scratch, &words[i], how.upper, &kept[n]))
            return as_fail_nomem(k->err);
        n++;
    }
    dims.at[dims.rank - 1] = n ? (int64_t)n : 1; /* one empty text when nothing is left */
    if (rc == ASSAY_OK)
        rc = as_kernel_out(k, 0, AS_DTYPE_STRING, &dims);
    if (rc < 0 || !as_has_out(k, 0))
        return rc;
    memcpy(k->out[0]->data, kept, k->out[0]->n * sizeof *kept);
    return as_move_own_texts(k, k->out[0]);
}

/* ---- StringConcat ---- */

static int concat(struct as_kernel_ctx *k)
{
    int64_t steps[2][AS_MAX_RANK], at[AS_MAX_RANK] = {0};
    struct as_val *out = k->out[0];
    struct as_text *to = out->data;
    struct as_dims dims;
    int rc = need_texts(k, 0);

    if (rc == ASSAY_OK)
        rc = need_texts(k, 1);
    if (rc < 0)
        return rc;
    as_val_dims(out, &dims);
    if (!out->hold || !as_strides_broadcast(k->in[0], &dims, steps[0]) ||
        !as_strides_broadcast(k->in[1], &dims, steps[1]))
        return as_kernel_fail(k, "the two inputs do not fit together");
    for (uint64_t i = 0; i < out->n; i++) {
        const struct as_text *part[2];
        char *text;

        for (int j = 0; j < 2; j++) {
            part[j] = k->in[j]->data;
            for (int d = 0; d < dims.rank; d++)
                part[j] += at[d] * steps[j][d];
        }
        text = as_arena_alloc(&out->hold->texts, part[0]->size + part[1]->size + 1);
        if (!text)
            return as_fail_nomem(k->err);
        if (part[0]->size)
            memcpy(text, part[0]->at, part[0]->size);
        if (part[1]->size)
            memcpy(text + part[0]->size, part[1]->at, part[1]->size);
        to[i] = (struct as_text){text, part[0]->size + part[1]->size};
        (void)as_move_step(at, dims.at, dims.rank);
    }
    return ASSAY_OK;
}

/* ---- StringSplit ---- */

struct splitting {
    struct as_text by; /* empty: white space */
    int64_t most;      /* splits; negative: no limit */
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Takes the next part of `rest`; false when there is none. */
static bool next_part(const struct splitting *s, int64_t done, struct as_text *rest,
                      struct as_text *part)
{
    bool last = s->most >= 0 && done >= s->most;
    size_t n = 0, skip = s->by.size;

    while (s->by.size == 0 && rest->size > 0 && is_space(*rest->at)) {
        rest->at++;
        rest->size--;
    }
    if (!rest->at || (s->by.size == 0 && rest->size == 0))
        return false;
    if (last)
        n = rest->size;
    else if (s->by.size == 0)
        while (n < rest->size && !is_space(rest->at[n]))
            n++;
    else
        while (n < rest->size &&
               (rest->size - n < s->by.size || memcmp(rest->at + n, s->by.at, s->by.size) != 0))
            n++;
    *part = (struct as_text){rest->at, n};
    if (n >= rest->size)
        *rest = (struct as_text){NULL, 0};
    else
        *rest = (struct as_text){rest->at + n + skip, rest->size - n - skip};
    return true;
}

static struct as_text whole(const struct as_text *text)
{
    return (struct as_text){text->at ? text->at : "", text->at ? text->size : 0};
}

static int split(struct as_kernel_ctx *k)
{
    struct splitting s = {.most = as_node_int(k->node, "maxsplit", -1)};
    const struct as_text *from;
    struct as_text *to, part;
    struct as_dims dims, counts;
    int64_t most = 0;
    int rc = need_texts(k, 0);

    if (rc < 0)
        return rc;
    (void)as_node_text(k->node, "delimiter", &s.by);
    from = k->in[0]->data;
    as_val_dims(k->in[0], &dims);
    counts = dims;
    if (dims.rank >= AS_MAX_RANK)
        return as_kernel_fail(k, "more than %d dimensions", AS_MAX_RANK);
    rc = as_kernel_out(k, 1, AS_DTYPE_I64, &counts);
    for (uint64_t i = 0; i < k->in[0]->n && rc == ASSAY_OK; i++) {
        struct as_text rest = whole(&from[i]);
        int64_t n = 0;

        while (next_part(&s, n, &rest, &part))
            n++;
        if (as_has_out(k, 1))
            as_val_put_i64(k->out[1], i, n);
        most = n > most ? n : most;
    }
    dims.at[dims.rank++] = most;
    if (rc == ASSAY_OK)
        rc = as_kernel_out(k, 0, AS_DTYPE_STRING, &dims);
    if (rc < 0 || !as_has_out(k, 0))
        return rc;
    to = k->out[0]->data; /* empty texts at first */
    for (uint64_t i = 0; i < k->in[0]->n; i++) {
        struct as_text rest = whole(&from[i]);

        for (int64_t n = 0; next_part(&s, n, &rest, &part); n++)
            to[i * (uint64_t)most + (uint64_t)n] = part;
    }
    return as_move_own_texts(k, k->out[0]);
}

const struct as_kernel as_kernels_text[] = {
    {AS_OP_StringNormalizer, normalizer, AS_KERNEL_MAKES_OUT | AS_KERNEL_TEXT},
    {AS_OP_StringConcat, concat, AS_KERNEL_TEXT},
    {AS_OP_StringSplit, split, AS_KERNEL_MAKES_OUT | AS_KERNEL_TEXT},
    {AS_OP_TfIdfVectorizer, as_kern_tfidf, AS_KERNEL_TEXT},
    {AS_OP_UNKNOWN, NULL, 0},
};
