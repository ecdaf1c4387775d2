/* engine/kernels/text/kern_tfidf.c - TfIdfVectorizer: counts the n-grams of a pool in rows of words
 * or numbers, also those whose words stand apart by a fixed number of others. */
#include <string.h>

#include "engine/kernels/text/kern_text.h"

struct pool {
    const struct as_attr *items; /* texts or integers, one gram after another */
    struct as_ints counts;       /* where the grams of each length begin */
    struct as_ints places;       /* of each gram in the output */
    const struct as_attr *weights;
    int64_t shortest, longest, skips;
};

struct row {
    const struct as_val *in;
    uint64_t first, n;
};

static int read_pool(struct as_kernel_ctx *k, struct pool *p)
{
    const char *name = k->in[0]->dtype == AS_DTYPE_STRING ? "pool_strings" : "pool_int64s";
    enum as_attr_kind kind = k->in[0]->dtype == AS_DTYPE_STRING ? AS_ATTR_TEXTS : AS_ATTR_INTS;

    p->items = as_node_attr(k->node, name);
    p->weights = as_node_attr(k->node, "weights");
    p->shortest = as_node_int(k->node, "min_gram_length", 1);
    p->longest = as_node_int(k->node, "max_gram_length", 1);
    p->skips = as_node_int(k->node, "max_skip_count", 0);
    if (!p->items || p->items->kind != kind)
        return as_kernel_fail(k, "it has no %s", name);
    if (!as_node_ints(k->node, "ngram_counts", &p->counts) ||
        !as_node_ints(k->node, "ngram_indexes", &p->places))
        return as_kernel_fail(k, "its ngram_counts or ngram_indexes are missing");
    if (p->shortest < 1 || p->longest < p->shortest || p->skips < 0)
        return as_kernel_fail(k, "grams of %lld to %lld", (long long)p->shortest,
                              (long long)p->longest);
    for (size_t i = 0; i < p->counts.n; i++)
        if (p->counts.at[i] < 0 || p->counts.at[i] > p->items->n ||
            (i > 0 && p->counts.at[i] < p->counts.at[i - 1]))
            return as_kernel_fail(k, "grams begin at item %lld of %u", (long long)p->counts.at[i],
                                  p->items->n);
    if (p->weights && (p->weights->kind != AS_ATTR_FLOATS || p->weights->n < p->places.n))
        return as_kernel_fail(k, "its weights are fewer than its grams");
    return ASSAY_OK;
}

static bool same_item(const struct pool *p, int64_t item, const struct as_val *in, uint64_t i)
{
    const struct as_text *texts = in->data, *text;

    if (p->items->kind == AS_ATTR_INTS)
        return p->items->ints[item] == as_val_i64(in, i);
    text = &p->items->texts[item];
    return texts[i].size == text->size &&
           (text->size == 0 || memcmp(texts[i].at, text->at, text->size) == 0);
}

/* Counts the grams of `length` items in a row, `apart` from each other. `id` is the number of the
 * first such gram. */
static void count_grams(const struct pool *p, const struct row *row, int64_t length, uint64_t apart,
                        float *out)
{
    int64_t begin = p->counts.at[length - 1], id = 0;
    int64_t end = (size_t)length < p->counts.n ? p->counts.at[length] : p->items->n;
    uint64_t reach = (uint64_t)(length - 1) * apart;

    for (int64_t l = 1; l < length; l++)
        id += (p->counts.at[l] - p->counts.at[l - 1]) / l;
    for (; begin + length <= end && (uint64_t)id < p->places.n; begin += length, id++)
        for (uint64_t i = 0; i + reach < row->n; i++) {
            bool same = true;

            for (int64_t j = 0; j < length && same; j++)
                same = same_item(p, begin + j, row->in, row->first + i + (uint64_t)j * apart);
            if (same)
                out[p->places.at[id]] += 1;
        }
}

static void count_row(const struct pool *p, const struct row *row, float *out)
{
    for (int64_t length = p->shortest; length <= p->longest; length++) {
        if ((uint64_t)length > p->counts.n || (uint64_t)length > row->n)
            return;
        for (uint64_t apart = 1; apart <= (uint64_t)p->skips + 1; apart++) {
            if (length > 1 && apart > (row->n - 1) / (uint64_t)(length - 1))
                break;
            count_grams(p, row, length, apart, out);
            if (length == 1)
                break;
        }
    }
}

static void weigh(struct as_kernel_ctx *k, const struct pool *p, float *out, uint64_t n)
{
    bool idf = as_node_text_is(k->node, "mode", "IDF");

    for (uint64_t i = 0; idf && i < n; i++)
        out[i] = out[i] > 0 ? 1 : 0;
    if (as_node_text_is(k->node, "mode", "TF") || !p->weights)
        return;
    for (size_t i = 0; i < p->places.n; i++)
        out[p->places.at[i]] *= p->weights->floats[i];
}

int as_kern_tfidf(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    struct as_val *out = k->out[0];
    struct pool p = {0};
    uint64_t rows, columns;
    int rc = read_pool(k, &p);

    if (rc < 0)
        return rc;
    if (out->dtype != AS_DTYPE_F32 || out->rank < 1 || in->rank > 2)
        return as_kernel_fail(k, "the input has rank %d", in->rank);
    memset(out->data, 0, out->bytes);
    columns = (uint64_t)out->dims[out->rank - 1];
    for (size_t i = 0; i < p.places.n; i++)
        if (p.places.at[i] < 0 || (uint64_t)p.places.at[i] >= columns)
            return as_kernel_fail(k, "index %lld is outside of %llu elements",
                                  (long long)p.places.at[i], (unsigned long long)columns);
    rows = in->rank == 2 ? (uint64_t)in->dims[0] : 1;
    for (uint64_t r = 0; r < rows; r++) {
        struct row row = {.in = in, .n = in->n / rows};
        float *to = (float *)out->data + r * columns;

        row.first = r * row.n;
        count_row(&p, &row, to);
        weigh(k, &p, to, columns);
    }
    return ASSAY_OK;
}
