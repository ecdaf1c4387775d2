/* measure/inputs/npy_file.c - a tensor in NumPy's own file format: versions 1 to 3 read, 1 written.
 *
 *     93 'N' 'U' 'M' 'P' 'Y' major minor, size of the header (2 bytes, from version 2 on 4)
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   blanks, a line feed
 *     the numbers
 *
 * The header is a Python dictionary with exactly these keys, in any order. */
#include "measure/inputs/model_inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "base/units.h"

enum {
    MAX_HEADER = 1 << 16,
    MAGIC_SIZE = 6,
    WORD_CAPACITY = 24,
    GRAIN = 64,         /* elements begin at a multiple of it in what NumPy and we write */
    PIECE_BYTES = 65536 /* so that the output does not buffer a tensor whole */
};

static const uint8_t magic[MAGIC_SIZE] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* Without the sign of byte order in front. */
static const struct {
    const char *descr;
    unsigned dtype;
} types[] = {
    {"f4", AS_DTYPE_F32}, {"f8", AS_DTYPE_F64},   {"f2", AS_DTYPE_F16}, {"i8", AS_DTYPE_I64},
    {"i4", AS_DTYPE_I32}, {"i2", AS_DTYPE_I16},   {"i1", AS_DTYPE_I8},  {"u8", AS_DTYPE_U64},
    {"u4", AS_DTYPE_U32}, {"u2", AS_DTYPE_U16},   {"u1", AS_DTYPE_U8},  {"b1", AS_DTYPE_BOOL},
    {"c8", AS_DTYPE_C64}, {"c16", AS_DTYPE_C128},
};

struct header {
    struct as_cursor at;
    const uint8_t *begin; /* of the file */
    const char *path;
    struct as_npy *out;
    bool has_descr, has_order, has_shape;
    struct assay_error *err;
};

static int wrong(const struct header *h, const char *what)
{
    return as_fail_at(h->err, (uint64_t)(h->at.at - h->begin), "%.120s: %s", h->path, what);
}

static void skip_blanks(struct header *h)
{
    while (h->at.at < h->at.end &&
           (*h->at.at == ' ' || *h->at.at == '\n' || *h->at.at == '\t' || *h->at.at == '\r'))
        h->at.at++;
}

static bool take_char(struct header *h, char c)
{
    skip_blanks(h);
    if (h->at.at == h->at.end || *h->at.at != (uint8_t)c)
        return false;
    h->at.at++;
    return true;
}

static int take_string(struct header *h, char out[WORD_CAPACITY])
{
    size_t n = 0;
    uint8_t quote, c;

    skip_blanks(h);
    if (!as_take_u8(&h->at, &quote) || (quote != '\'' && quote != '"'))
        return wrong(h, "the header needs a string here; arrays of records cannot be read");
    while (as_take_u8(&h->at, &c) && c != quote) {
        if (n + 1 == WORD_CAPACITY || c < ' ' || c > '~' || c == '\\')
            return wrong(h, "a text in the header is none that NumPy writes");
        out[n++] = (char)c;
        c = 0;
    }
    out[n] = '\0';
    return h->at.at[-1] == quote ? ASSAY_OK : wrong(h, "a text in the header does not end");
}

static int take_descr(struct header *h)
{
    char text[WORD_CAPACITY] = "";
    int rc = take_string(h, text);

    if (rc < 0)
        return rc;
    if (text[0] == '>')
        return as_fail(h->err, ASSAY_ERR_UNSUPPORTED,
                       "%.120s is big-endian ('%s'); save it with astype('<%s')", h->path, text,
                       text + 1);
    for (size_t i = 0; i < AS_COUNT_OF(types); i++)
        if ((text[0] == '<' || text[0] == '|') && strcmp(text + 1, types[i].descr) == 0) {
            h->out->dtype = types[i].dtype;
            return ASSAY_OK;
        }
    return as_fail(h->err, ASSAY_ERR_UNSUPPORTED,
                   "%.120s has an element type that no input has: '%s'", h->path, text);
}

static bool take_word(struct header *h, const char *word)
{
    size_t size = strlen(word);
    const uint8_t *at;

    skip_blanks(h);
    if (as_cursor_left(&h->at) < size || memcmp(h->at.at, word, size) != 0)
        return false;
    return as_take_bytes(&h->at, size, &at);
}

static int take_order(struct header *h)
{
    h->out->fortran = take_word(h, "True");
    if (!h->out->fortran && !take_word(h, "False"))
        return wrong(h, "'fortran_order' is neither True nor False");
    return ASSAY_OK;
}

static int take_number(struct header *h, int64_t *out)
{
    const uint8_t *from;
    int64_t value = 0;

    skip_blanks(h);
    from = h->at.at;
    for (; h->at.at < h->at.end && *h->at.at >= '0' && *h->at.at <= '9'; h->at.at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *h->at.at - '0', &value))
            return wrong(h, "a dimension is too large");
    *out = value;
    return h->at.at > from ? ASSAY_OK : wrong(h, "a dimension is not a number");
}

static int take_shape(struct header *h)
{
    struct as_dims *dims = &h->out->dims;

    if (!take_char(h, '('))
        return wrong(h, "'shape' is not a list of numbers in parentheses");
    for (dims->rank = 0; !take_char(h, ')');) {
        int rc;

        if (dims->rank == AS_MAX_RANK)
            return wrong(h, "there are more dimensions than an input can have");
        rc = take_number(h, &dims->at[dims->rank++]);
        if (rc < 0)
            return rc;
        if (!take_char(h, ',') && !(h->at.at < h->at.end && *h->at.at == ')'))
            return wrong(h, "dimensions are not separated by commas");
    }
    return ASSAY_OK;
}

static int take_pair(struct header *h)
{
    char key[WORD_CAPACITY];
    bool *seen;
    int (*take)(struct header *);
    int rc = take_string(h, key);

    if (rc < 0)
        return rc;
    if (strcmp(key, "descr") == 0) {
        seen = &h->has_descr;
        take = take_descr;
    } else if (strcmp(key, "fortran_order") == 0) {
        seen = &h->has_order;
        take = take_order;
    } else if (strcmp(key, "shape") == 0) {
        seen = &h->has_shape;
        take = take_shape;
    } else {
        return wrong(h, "the header has a key that NumPy does not write");
    }
    if (*seen)
        return wrong(h, "the header has a key twice");
    *seen = true;
    return take_char(h, ':') ? take(h) : wrong(h, "a key has no value");
}

static int take_header(struct header *h)
{
    if (!take_char(h, '{'))
        return wrong(h, "the header does not begin with a bracket");
    while (!take_char(h, '}')) {
        int rc = take_pair(h);

        if (rc < 0)
            return rc;
        if (!take_char(h, ',') && !(h->at.at < h->at.end && *h->at.at == '}'))
            return wrong(h, "the header ends before its bracket");
    }
    skip_blanks(h);
    if (h->at.at != h->at.end)
        return wrong(h, "something follows the header's bracket");
    if (!h->has_descr || !h->has_order || !h->has_shape)
        return wrong(h, "the header must have 'descr', 'fortran_order' and 'shape'");
    return ASSAY_OK;
}

static int check_size(const struct header *h, uint64_t left)
{
    struct as_npy *npy = h->out;
    const struct as_dims *dims = &npy->dims;
    uint64_t n = 1;
    bool fits = true;

    for (int i = 0; i < dims->rank; i++)
        fits = fits && as_mul_u64(n, (uint64_t)dims->at[i], &n);
    for (int i = 0; i < dims->rank; i++)
        if (dims->at[i] == 0) {
            n = 0;
            fits = true;
        }
    if (!fits || !as_dtype_bytes(npy->dtype, n, &npy->data_bytes))
        return wrong(h, "its shape has too many elements");
    npy->n = n;
    if (npy->data_bytes != left)
        return as_fail_at(h->err, (uint64_t)(h->at.end - h->begin),
                          "%.120s has %llu bytes of data where its shape needs %llu", h->path,
                          (unsigned long long)left, (unsigned long long)npy->data_bytes);
    return ASSAY_OK;
}

bool as_npy_is(const uint8_t *bytes, uint64_t size)
{
    return bytes && size >= MAGIC_SIZE && memcmp(bytes, magic, MAGIC_SIZE) == 0;
}

/* The size of the header, as wide as the version has it. */
static bool take_header_size(struct as_cursor *c, uint8_t major, uint32_t *size)
{
    uint16_t narrow = 0;

    if (major > 1)
        return as_take_u32le(c, size);
    if (!as_take_u16le(c, &narrow))
        return false;
    *size = narrow;
    return true;
}

int as_npy_parse(struct as_npy *out, const uint8_t *bytes, uint64_t size, const char *path,
                 struct assay_error *err)
{
    struct header h = {.begin = bytes, .path = path, .out = out, .err = err};
    struct as_cursor c = as_cursor_over(bytes, bytes ? (size_t)size : 0);
    const uint8_t *text = NULL;
    uint8_t major = 0, minor = 0;
    uint32_t header_size = 0;
    int rc;

    *out = (struct as_npy){0};
    if (!as_npy_is(bytes, size) || !as_take_bytes(&c, MAGIC_SIZE, &text))
        return as_fail(err, ASSAY_ERR_FORMAT, "%.120s is not a NumPy file (.npy)", path);
    if (!as_take_u8(&c, &major) || !as_take_u8(&c, &minor) || major < 1 || major > 3)
        return as_fail_at(err, MAGIC_SIZE, "%.120s has version %u; 1 to 3 can be read", path,
                          (unsigned)major);
    if (!take_header_size(&c, major, &header_size) || header_size > MAX_HEADER ||
        !as_take_bytes(&c, header_size, &text))
        return as_fail_at(err, MAGIC_SIZE + 2, "%.120s ends inside its header, or that is too long",
                          path);
    h.at = as_cursor_over(text, header_size);
    rc = take_header(&h);
    if (rc < 0)
        return rc;
    out->data = c.at;
    return check_size(&h, as_cursor_left(&c));
}

/* Walks the result in row-major order and the file by strides. */
static void copy_turned(const struct as_npy *npy, uint8_t *out)
{
    size_t size = (size_t)(npy->data_bytes / npy->n);
    uint64_t strides[AS_MAX_RANK], from = 0;
    int64_t at[AS_MAX_RANK] = {0};
    int rank = npy->dims.rank;

    for (int i = 0; i < rank; i++)
        strides[i] = i ? strides[i - 1] * (uint64_t)npy->dims.at[i - 1] : 1;
    for (uint64_t i = 0; i < npy->n; i++) {
        memcpy(out + i * size, npy->data + from * size, size);
        for (int axis = rank - 1; axis >= 0; axis--) {
            from += strides[axis];
            if (++at[axis] < npy->dims.at[axis])
                break;
            from -= strides[axis] * (uint64_t)npy->dims.at[axis];
            at[axis] = 0;
        }
    }
}

void as_npy_copy(const struct as_npy *npy, void *out)
{
    if (npy->n == 0)
        return;
    if (npy->fortran && npy->dims.rank > 1)
        copy_turned(npy, out);
    else
        memcpy(out, npy->data, (size_t)npy->data_bytes);
}

/* ---- writing ---- */

static const char *descr_of(unsigned dtype)
{
    for (size_t i = 0; i < AS_COUNT_OF(types); i++)
        if (types[i].dtype == dtype)
            return types[i].descr;
    return NULL;
}

bool as_npy_has(unsigned dtype)
{
    return descr_of(dtype) != NULL;
}

/* "(2, 3)", "(3,)", "()". */
static void dims_text(char *out, size_t capacity, const struct as_dims *dims)
{
    size_t used = (size_t)snprintf(out, capacity, "(");

    for (int i = 0; i < dims->rank; i++)
        used +=
            (size_t)snprintf(out + used, capacity - used, "%s%" PRId64, i ? ", " : "", dims->at[i]);
    (void)snprintf(out + used, capacity - used, "%s", dims->rank == 1 ? ",)" : ")");
}

int as_npy_write(struct as_out *out, unsigned dtype, const struct as_dims *dims, const void *data,
                 uint64_t data_bytes, struct assay_error *err)
{
    static const char blanks[GRAIN + 1] =
        "                                                                ";
    const char *descr = descr_of(dtype);
    char shape[AS_MAX_RANK * 24 + 8], text[sizeof shape + 80];
    size_t size, pad;

    if (!descr)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "NumPy's format has no %s",
                       as_dtype_name(dtype));
    dims_text(shape, sizeof shape, dims);
    size = (size_t)snprintf(text, sizeof text,
                            "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }",
                            descr[1] == '1' && !descr[2] ? '|' : '<', descr, shape);
    pad = GRAIN - (MAGIC_SIZE + 4 + size + 1) % GRAIN;
    as_out_put(out, magic, sizeof magic);
    as_out_char(out, 1);
    as_out_char(out, 0);
    as_out_char(out, (char)((size + pad + 1) & 0xff));
    as_out_char(out, (char)((size + pad + 1) >> 8));
    as_out_put(out, text, size);
    as_out_put(out, blanks, pad);
    as_out_char(out, '\n');
    for (uint64_t at = 0; at < data_bytes; at += PIECE_BYTES)
        as_out_put(out, (const uint8_t *)data + at,
                   (size_t)(data_bytes - at < PIECE_BYTES ? data_bytes - at : PIECE_BYTES));
    return ASSAY_OK; /* a failure of the output is kept there */
}
