/* format/gguf/gguf_meta.c - the header and the metadata of a GGUF file, read in place.
 *
 *   "GGUF"  u32 version (2, 3)  u64 tensors  u64 pairs
 *   pairs   string key, u32 kind, value
 *   tensors string name, u32 dimensions, u64 each (innermost first), u32 type, u64 offset
 *   data    from the next multiple of general.alignment (32) on; offsets count from there
 *
 * A string is u64 bytes and its text; an array is u32 kind, u64 count and its elements. All is
 * little-endian. */
#include "format/gguf/gguf_meta.h"

#include <string.h>

uint64_t as_gguf_at(const struct as_gguf *g)
{
    return (uint64_t)(g->in.at - g->file->bytes);
}

static int cut_off(const struct as_gguf *g, const char *what)
{
    return as_fail_at(g->err, as_gguf_at(g), "the file ends inside %s", what);
}

int as_gguf_take_text(struct as_gguf *g, const char *what, size_t max, struct as_text *out)
{
    uint64_t at = as_gguf_at(g), size;
    const uint8_t *bytes;

    if (!as_take_u64le(&g->in, &size))
        return cut_off(g, what);
    if (size > as_cursor_left(&g->in))
        return as_fail_at(g->err, at, "%s has %llu bytes, but %llu are left in the file", what,
                          (unsigned long long)size, (unsigned long long)as_cursor_left(&g->in));
    if (size > max)
        return as_fail_at(g->err, at, "%s has %llu bytes, more than %zu", what,
                          (unsigned long long)size, max);
    if (!as_take_bytes(&g->in, (size_t)size, &bytes))
        return cut_off(g, what);
    *out = (struct as_text){(const char *)bytes, (size_t)size};
    return ASSAY_OK;
}

static int read_header(struct as_gguf *g)
{
    const uint8_t *magic;

    if (!as_take_bytes(&g->in, 4, &magic) || memcmp(magic, "GGUF", 4) != 0)
        return as_fail_at(g->err, 0, "this is not a GGUF file");
    if (!as_take_u32le(&g->in, &g->version))
        return cut_off(g, "its version");
    if (g->version != 0 && (g->version & 0xffff) == 0)
        return as_fail_at(g->err, 4,
                          "this GGUF file is big-endian; only little-endian files are read");
    if (g->version != 2 && g->version != 3)
        return as_fail_at(g->err, 4, "this is version %u of GGUF; versions 2 and 3 are read",
                          g->version);
    if (!as_take_u64le(&g->in, &g->n_tensors) || !as_take_u64le(&g->in, &g->n_pairs))
        return cut_off(g, "its counts");
    /* The least a tensor and a pair can take. */
    if (g->n_tensors > as_cursor_left(&g->in) / 25)
        return as_fail_at(g->err, 8, "the file declares %llu tensors, more than fit into its bytes",
                          (unsigned long long)g->n_tensors);
    if (g->n_pairs > as_cursor_left(&g->in) / 14)
        return as_fail_at(g->err, 16,
                          "the file declares %llu metadata keys, more than fit into its bytes",
                          (unsigned long long)g->n_pairs);
    if (g->n_tensors > AS_GGUF_MAX_TENSORS)
        return as_fail_at(g->err, 8, "the file has %llu tensors, more than %d",
                          (unsigned long long)g->n_tensors, AS_GGUF_MAX_TENSORS);
    if (g->n_pairs > AS_GGUF_MAX_PAIRS)
        return as_fail_at(g->err, 16, "the file has %llu metadata keys, more than %d",
                          (unsigned long long)g->n_pairs, AS_GGUF_MAX_PAIRS);
    return ASSAY_OK;
}

/* The longest part of a key worth showing. */
static int key_width(const struct as_gguf_pair *pair)
{
    return pair->key_size < 80 ? (int)pair->key_size : 80;
}

static int take_array_head(struct as_gguf *g, const struct as_gguf_pair *pair, uint32_t *kind,
                           uint64_t *n)
{
    uint64_t at = as_gguf_at(g);

    if (!as_take_u32le(&g->in, kind) || !as_take_u64le(&g->in, n))
        return as_fail_at(g->err, at, "the file ends inside the array of key '%.*s'",
                          key_width(pair), pair->key);
    if (as_gguf_kind_bytes(*kind) == 0)
        return as_fail_at(g->err, at, "the array of key '%.*s' is of kind %u, which does not exist",
                          key_width(pair), pair->key, *kind);
    if (*n > as_cursor_left(&g->in) / as_gguf_kind_bytes(*kind))
        return as_fail_at(g->err, at,
                          "the array of key '%.*s' has %llu elements, more than the file holds",
                          key_width(pair), pair->key, (unsigned long long)*n);
    return ASSAY_OK;
}

static int skip_elements(struct as_gguf *g, const struct as_gguf_pair *pair, uint32_t kind,
                         uint64_t n, unsigned depth);

static int skip_arrays(struct as_gguf *g, const struct as_gguf_pair *pair, uint64_t n,
                       unsigned depth)
{
    int rc = ASSAY_OK;

    if (depth >= AS_GGUF_MAX_ARRAY_DEPTH)
        return as_fail_at(g->err, as_gguf_at(g), "the arrays of key '%.*s' nest more than %d deep",
                          key_width(pair), pair->key, AS_GGUF_MAX_ARRAY_DEPTH);
    for (uint64_t i = 0; i < n && rc == ASSAY_OK; i++) {
        uint32_t kind;
        uint64_t count;

        rc = take_array_head(g, pair, &kind, &count);
        if (rc == ASSAY_OK)
            rc = skip_elements(g, pair, kind, count, depth + 1);
    }
    return rc;
}

/* Goes past n elements whose least size was checked. Its depth is limited. */
static int skip_elements(struct as_gguf *g, const struct as_gguf_pair *pair, uint32_t kind,
                         uint64_t n, unsigned depth)
{
    if (kind == AS_GGUF_ARRAY)
        return skip_arrays(g, pair, n, depth);
    if (kind != AS_GGUF_STRING) {
        g->in.at += n * as_gguf_kind_bytes(kind);
        return ASSAY_OK;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = as_gguf_at(g), size = 0;

        if (!as_take_u64le(&g->in, &size) || size > as_cursor_left(&g->in))
            return as_fail_at(
                g->err, at, "text %llu of key '%.*s' has %llu bytes, more than are left",
                (unsigned long long)i, key_width(pair), pair->key, (unsigned long long)size);
        g->in.at += size;
    }
    return ASSAY_OK;
}

static int take_value(struct as_gguf *g, struct as_gguf_pair *pair)
{
    uint64_t at = as_gguf_at(g);
    struct as_text text = {NULL, 0};
    int rc;

    if (!as_take_u32le(&g->in, &pair->kind))
        return cut_off(g, "the kind of a metadata key");
    if (as_gguf_kind_bytes(pair->kind) == 0)
        return as_fail_at(g->err, at, "key '%.*s' is of kind %u, which does not exist",
                          key_width(pair), pair->key, pair->kind);
    if (as_cursor_left(&g->in) < as_gguf_kind_bytes(pair->kind))
        return as_fail_at(g->err, at, "the file ends inside the value of key '%.*s'",
                          key_width(pair), pair->key);
    pair->data = g->in.at;
    if (pair->kind == AS_GGUF_STRING) {
        rc = as_gguf_take_text(g, "the text of a metadata key", SIZE_MAX, &text);
        if (rc < 0)
            return rc;
        pair->n = text.size;
        pair->data = (const uint8_t *)text.at;
        return ASSAY_OK;
    }
    if (pair->kind == AS_GGUF_ARRAY) {
        rc = take_array_head(g, pair, &pair->elem_kind, &pair->n);
        pair->data = g->in.at;
        return rc < 0 ? rc : skip_elements(g, pair, pair->elem_kind, pair->n, 0);
    }
    if (pair->kind == AS_GGUF_BOOL && *pair->data > 1)
        return as_fail_at(g->err, as_gguf_at(g), "key '%.*s' is neither true nor false",
                          key_width(pair), pair->key);
    g->in.at += as_gguf_kind_bytes(pair->kind);
    return ASSAY_OK;
}

static int take_pair(struct as_gguf *g, uint32_t i)
{
    struct as_gguf_pair *pair = &g->pairs[i];
    uint64_t at = as_gguf_at(g);
    struct as_text key = {NULL, 0};
    int rc = as_gguf_take_text(g, "a metadata key", AS_MAX_NAME_BYTES, &key);

    if (rc < 0)
        return rc;
    if (key.size == 0 || memchr(key.at, 0, key.size))
        return as_fail_at(g->err, at, "metadata key %u is %s", i,
                          key.size ? "cut by a zero byte" : "empty");
    pair->key = key.at;
    pair->key_size = key.size;
    rc = as_hash_map_put(&g->keys, key.at, key.size, i);
    if (rc <= 0)
        return rc < 0 ? as_fail_nomem(g->err)
                      : as_fail_at(g->err, (uint64_t)((const uint8_t *)key.at - g->file->bytes),
                                   "metadata key '%.*s' is there twice", key_width(pair), key.at);
    return take_value(g, pair);
}

static int read_alignment(struct as_gguf *g)
{
    const struct as_gguf_pair *pair = as_gguf_find(g, "general.alignment");

    g->alignment = 32;
    if (!pair)
        return ASSAY_OK;
    if (pair->kind != AS_GGUF_U32 || !as_gguf_number(pair, &g->alignment))
        return as_fail_at(g->err, (uint64_t)(pair->data - g->file->bytes),
                          "general.alignment is a %s, not a u32", as_gguf_kind_name(pair->kind));
    if (g->alignment == 0 || (g->alignment & (g->alignment - 1)) != 0 ||
        g->alignment > AS_GGUF_MAX_ALIGNMENT)
        return as_fail_at(g->err, (uint64_t)(pair->data - g->file->bytes),
                          "general.alignment is %llu, not a power of two up to %d",
                          (unsigned long long)g->alignment, AS_GGUF_MAX_ALIGNMENT);
    return ASSAY_OK;
}

int as_gguf_read_meta(struct as_gguf *g)
{
    int rc = read_header(g);

    if (rc < 0)
        return rc;
    g->pairs = as_arena_zero(&g->model->arena, g->n_pairs ? g->n_pairs : 1, sizeof *g->pairs);
    if (!g->pairs)
        return as_fail_nomem(g->err);
    for (uint32_t i = 0; i < g->n_pairs && rc == ASSAY_OK; i++)
        rc = take_pair(g, i);
    return rc < 0 ? rc : read_alignment(g);
}

const struct as_gguf_pair *as_gguf_find(const struct as_gguf *g, const char *key)
{
    const uint64_t *at = as_hash_map_find(&g->keys, key, strlen(key));

    return at ? &g->pairs[*at] : NULL;
}

static uint64_t raw_number(const uint8_t *data, uint32_t bytes)
{
    uint64_t raw = 0;

    for (uint32_t i = 0; i < bytes; i++)
        raw |= (uint64_t)data[i] << (8 * i);
    return raw;
}

bool as_gguf_number(const struct as_gguf_pair *pair, uint64_t *out)
{
    uint32_t bytes = as_gguf_kind_bytes(pair->kind);
    uint64_t raw;

    switch (pair->kind) {
    case AS_GGUF_U8:
    case AS_GGUF_U16:
    case AS_GGUF_U32:
    case AS_GGUF_U64:
        *out = raw_number(pair->data, bytes);
        return true;
    case AS_GGUF_I8:
    case AS_GGUF_I16:
    case AS_GGUF_I32:
    case AS_GGUF_I64:
        raw = raw_number(pair->data, bytes);
        *out = raw;
        return raw >> (8 * bytes - 1) == 0;
    default:
        return false;
    }
}

bool as_gguf_float(const struct as_gguf_pair *pair, double *out)
{
    uint64_t raw;
    uint32_t low;
    float narrow;

    if (pair->kind == AS_GGUF_F32) {
        low = (uint32_t)raw_number(pair->data, 4);
        memcpy(&narrow, &low, sizeof narrow);
        *out = (double)narrow;
        return true;
    }
    if (pair->kind != AS_GGUF_F64)
        return false;
    raw = raw_number(pair->data, 8);
    memcpy(out, &raw, sizeof *out);
    return true;
}
