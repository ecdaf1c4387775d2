/* profiler/layer_metadata.c - what a program tells of a call beside its time, copied into one
 * block. Keys that are ours get a prefix, and of two alike the last one counts: JSON has each key
 * once. */
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "profiler/layer_cell.h"

#define PREFIX "metadata_"

static const char *const our_key[] = {
    "layer",  "execution_time", "self_time", "timestamp", "cumulative_time", "cumulative_self_time",
    "status", "reason",         "depth",     "thread",
};

/* Where the next text goes; counts first, with no room at all, then writes. */
struct pen {
    char *at;
    size_t size;
};

static const char *put(struct pen *pen, const char *text, size_t size)
{
    const char *start = pen->at;

    if (pen->at) {
        memcpy(pen->at, text, size);
        pen->at += size;
    }
    pen->size += size;
    return start;
}

static const char *put_text(struct pen *pen, const char *text)
{
    const char *start = put(pen, text, strnlen(text, AS_LAYER_MAX_TEXT));

    put(pen, "", 1);
    return start;
}

static bool is_ours(const char *key)
{
    for (size_t i = 0; i < AS_COUNT_OF(our_key); i++) {
        if (strcmp(key, our_key[i]) == 0)
            return true;
    }
    return false;
}

static const char *put_key(struct pen *pen, const char *key)
{
    const char *start = pen->at;

    if (is_ours(key))
        put(pen, PREFIX, strlen(PREFIX));
    put_text(pen, key);
    return start;
}

/* The keys that `a` and `b` end up as are the same. */
static bool same_key(const char *a, const char *b)
{
    const size_t skip = strlen(PREFIX);

    if (is_ours(a) != is_ours(b)) {
        const char *ours = is_ours(a) ? a : b, *theirs = ours == a ? b : a;

        return strncmp(theirs, PREFIX, skip) == 0 && strcmp(theirs + skip, ours) == 0;
    }
    return strncmp(a, b, AS_LAYER_MAX_TEXT) == 0;
}

static bool told_later(const struct as_layer_end *how, size_t i, size_t n)
{
    for (size_t k = i + 1; k < n; k++) {
        if (how->metadata[k].key && same_key(how->metadata[i].key, how->metadata[k].key))
            return true;
    }
    return false;
}

static void put_all(struct pen *pen, const struct as_layer_end *how, size_t n,
                    struct as_layer_extra *extra)
{
    size_t kept = 0;
    const char *reason = how->reason ? put_text(pen, how->reason) : NULL;

    for (size_t i = 0; i < n; i++) {
        const struct assay_metadata *from = &how->metadata[i];
        struct assay_metadata to = {.number = from->number};

        if (!from->key || told_later(how, i, n))
            continue;
        to.key = put_key(pen, from->key);
        to.text = from->text ? put_text(pen, from->text) : NULL;
        if (extra)
            extra->pair[kept] = to;
        kept++;
    }
    if (extra) {
        extra->n = kept;
        extra->reason = reason;
    }
}

struct as_layer_extra *as_layer_extra_new(const struct as_layer_end *how, uint64_t *dropped)
{
    size_t n = how->n_metadata < AS_LAYER_MAX_PAIRS ? how->n_metadata : AS_LAYER_MAX_PAIRS;
    struct as_layer_extra *extra;
    struct pen pen = {0};
    size_t head;

    *dropped += how->n_metadata - n;
    if (!how->metadata)
        n = 0;
    if (!n && !how->reason)
        return NULL;
    head = sizeof *extra + n * sizeof *extra->pair;
    put_all(&pen, how, n, NULL);
    extra = as_alloc(head + pen.size);
    if (!extra) {
        *dropped += n;
        return NULL;
    }
    pen = (struct pen){.at = (char *)extra + head};
    put_all(&pen, how, n, extra);
    return extra;
}
