/* format/weight_ranges.c - where the large tensors of a model file are, found by small reads.
 *
 * This only decides what of a file is read at once and what is mapped: a wrong answer, of a file
 * that is damaged or meant to deceive, costs memory or a later read, and changes no result. So it
 * stops wherever something is odd and leaves errors to the readers of the formats. */
#include <string.h>

#include "base/file/file_read.h"
#include "base/units.h"
#include "format/mapped_file.h"

enum { WINDOW = 8192, MAX_NESTING = 16, MAX_FOUND = 65536 };

/* What has been read of the file around the last place asked for. */
struct window {
    int fd;
    uint64_t size; /* of the file */
    uint64_t at, n;
    uint8_t bytes[WINDOW];
    struct as_file_spans *out;
    bool fits; /* false: out of memory */
};

/* The `n` bytes at `at`, at most 64; NULL: they are not there. */
static const uint8_t *bytes_at(struct window *w, uint64_t at, uint64_t n)
{
    if (at > w->size || n > w->size - at)
        return NULL;
    if (at < w->at || at - w->at > w->n || n > w->n - (at - w->at)) {
        ssize_t got = as_pread_some(w->fd, w->bytes, sizeof w->bytes, at);

        w->at = at;
        w->n = got > 0 ? (uint64_t)got : 0;
        if (n > w->n)
            return NULL;
    }
    return w->bytes + (at - w->at);
}

static bool number_at(struct window *w, uint64_t at, unsigned size, uint64_t *out)
{
    const uint8_t *bytes = bytes_at(w, at, size);

    *out = 0;
    for (unsigned i = 0; bytes && i < size; i++)
        *out |= (uint64_t)bytes[i] << (8 * i);
    return bytes != NULL;
}

static void add(struct window *w, uint64_t at, uint64_t size)
{
    if (at <= w->size && w->fits && w->out->n < MAX_FOUND)
        w->fits = as_file_spans_add(w->out, at, size < w->size - at ? size : w->size - at);
}

/* ---- ONNX: messages in messages ---- */

enum message { MODEL, GRAPH, NODE, ATTRIBUTE, TENSOR, SPARSE, FUNCTION, NUMBERS, N_MESSAGES };

/* The fields that may hold large numbers, and what is in them. */
static const struct {
    uint8_t in, field, holds;
} fields[] = {
    {MODEL, 7, GRAPH},         {MODEL, 25, FUNCTION},   {GRAPH, 1, NODE},
    {GRAPH, 5, TENSOR},        {GRAPH, 15, SPARSE},     {NODE, 5, ATTRIBUTE},
    {ATTRIBUTE, 5, TENSOR},    {ATTRIBUTE, 6, GRAPH},   {ATTRIBUTE, 10, TENSOR},
    {ATTRIBUTE, 11, GRAPH},    {ATTRIBUTE, 22, SPARSE}, {ATTRIBUTE, 23, SPARSE},
    {SPARSE, 1, TENSOR},       {SPARSE, 2, TENSOR},     {FUNCTION, 7, NODE},
    {FUNCTION, 11, ATTRIBUTE}, {TENSOR, 4, NUMBERS},    {TENSOR, 5, NUMBERS},
    {TENSOR, 7, NUMBERS},      {TENSOR, 9, NUMBERS},    {TENSOR, 10, NUMBERS},
    {TENSOR, 11, NUMBERS},
};

static enum message held_by(enum message in, uint64_t field)
{
    for (size_t i = 0; i < AS_COUNT_OF(fields); i++)
        if (fields[i].in == in && fields[i].field == field)
            return (enum message)fields[i].holds;
    return N_MESSAGES;
}

static bool varint_at(struct window *w, uint64_t *at, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = bytes_at(w, *at, 1);

        if (!byte)
            return false;
        (*at)++;
        *out |= (uint64_t)(*byte & 0x7f) << shift;
        if (!(*byte & 0x80))
            return true;
    }
    return false;
}

struct level {
    enum message message;
    uint64_t end;
};

/* One field; false: it makes no sense. Large ones that are looked into become a level. */
static bool step(struct window *w, uint64_t *at, struct level *level, size_t *depth)
{
    struct level now = level[*depth];
    uint64_t tag, size = 0;
    enum message inner;

    if (!varint_at(w, at, &tag) || tag >> 3 == 0)
        return false;
    if ((tag & 7) == 0)
        return varint_at(w, at, &size);
    if ((tag & 7) == 1 || (tag & 7) == 5)
        size = (tag & 7) == 1 ? 8 : 4;
    else if ((tag & 7) != 2 || !varint_at(w, at, &size))
        return false;
    if (*at > now.end || size > now.end - *at)
        return false;
    inner =
        (tag & 7) == 2 && size >= AS_FILE_RANGE_LEAST ? held_by(now.message, tag >> 3) : N_MESSAGES;
    if (inner == NUMBERS)
        add(w, *at, size);
    if (inner < NUMBERS && *depth + 1 < MAX_NESTING) {
        level[++*depth] = (struct level){inner, *at + size};
        return true;
    }
    *at += size;
    return true;
}

static void find_onnx(struct window *w)
{
    struct level level[MAX_NESTING] = {{MODEL, w->size}};
    size_t depth = 0;
    uint64_t at = 0;

    while (w->fits) {
        while (depth > 0 && at >= level[depth].end)
            depth--;
        if (at >= level[depth].end || !step(w, &at, level, &depth))
            return;
    }
}

/* ---- GGUF: pairs, descriptions of tensors, then all data ---- */

enum { GGUF_STRING = 8, GGUF_ARRAY = 9, GGUF_KINDS = 13 };
static const uint8_t gguf_bytes[GGUF_KINDS] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

static bool skip(struct window *w, uint64_t *at, uint64_t size)
{
    if (*at > w->size || size > w->size - *at)
        return false;
    *at += size;
    return true;
}

static bool skip_text(struct window *w, uint64_t *at)
{
    uint64_t size;

    return number_at(w, *at, 8, &size) && skip(w, at, 8) && skip(w, at, size);
}

static bool skip_array(struct window *w, uint64_t *at)
{
    uint64_t kind, n;

    if (!number_at(w, *at, 4, &kind) || !skip(w, at, 4) || !number_at(w, *at, 8, &n) ||
        !skip(w, at, 8) || kind >= GGUF_KINDS || kind == GGUF_ARRAY || n > w->size)
        return false;
    if (kind != GGUF_STRING)
        return skip(w, at, n * gguf_bytes[kind]);
    while (n-- > 0)
        if (!skip_text(w, at))
            return false;
    return true;
}

static bool skip_pair(struct window *w, uint64_t *at)
{
    uint64_t kind;

    if (!skip_text(w, at) || !number_at(w, *at, 4, &kind) || !skip(w, at, 4) || kind >= GGUF_KINDS)
        return false;
    if (kind == GGUF_STRING)
        return skip_text(w, at);
    return kind == GGUF_ARRAY ? skip_array(w, at) : skip(w, at, gguf_bytes[kind]);
}

static bool skip_tensor(struct window *w, uint64_t *at)
{
    uint64_t n_dims;

    return skip_text(w, at) && number_at(w, *at, 4, &n_dims) && n_dims <= 8 &&
           skip(w, at, 4 + 8 * n_dims + 4 + 8);
}

static void find_gguf(struct window *w)
{
    uint64_t at = 24, n_tensors, n_pairs;

    if (!number_at(w, 8, 8, &n_tensors) || !number_at(w, 16, 8, &n_pairs))
        return;
    while (n_pairs-- > 0)
        if (!skip_pair(w, &at))
            return;
    while (n_tensors-- > 0)
        if (!skip_tensor(w, &at))
            return;
    add(w, at, w->size - at);
}

/* ---- TensorFlow Lite: the buffers of the model ---- */

/* Where field `i` of the table at `table` is; 0: it has none. */
static uint64_t flat_field(struct window *w, uint64_t table, unsigned i)
{
    uint64_t back, size, offset, vtable;

    if (!number_at(w, table, 4, &back))
        return 0;
    vtable = table - (uint64_t)(int64_t)(int32_t)(uint32_t)back;
    if (!number_at(w, vtable, 2, &size) || size < 6 + (uint64_t)2 * i ||
        !number_at(w, vtable + 4 + (uint64_t)2 * i, 2, &offset) || offset == 0)
        return 0;
    return table + offset;
}

/* What the offset at `at` leads to; 0: nothing. */
static uint64_t flat_target(struct window *w, uint64_t at)
{
    uint64_t offset;

    return at && number_at(w, at, 4, &offset) && offset < w->size ? at + offset : 0;
}

static void find_buffer(struct window *w, uint64_t buffer)
{
    uint64_t data = flat_target(w, flat_field(w, buffer, 0));
    uint64_t far = flat_field(w, buffer, 1), far_size = flat_field(w, buffer, 2), at, size;

    if (data && number_at(w, data, 4, &size))
        add(w, data + 4, size);
    if (far && far_size && number_at(w, far, 8, &at) && number_at(w, far_size, 8, &size) && at > 1)
        add(w, at, size);
}

static void find_tflite(struct window *w)
{
    uint64_t buffers = flat_target(w, flat_field(w, flat_target(w, 0), 4)), n, entry;

    if (!buffers || !number_at(w, buffers, 4, &n))
        return;
    for (uint64_t i = 0; i < n && w->fits; i++) {
        entry = flat_target(w, buffers + 4 + 4 * i);
        if (!entry)
            return;
        find_buffer(w, entry);
    }
}

/* ---- any of them ---- */

bool as_weight_ranges(struct as_file_spans *out, int fd, uint64_t size)
{
    struct window w = {.fd = fd, .size = size, .out = out, .fits = true};
    const uint8_t *head = bytes_at(&w, 0, 10);
    uint64_t text;

    if (!head)
        return true;
    if (memcmp(head, "GGUF", 4) == 0)
        find_gguf(&w);
    else if (memcmp(head + 4, "TFL3", 4) == 0)
        find_tflite(&w);
    else if (head[8] == '{' && number_at(&w, 0, 8, &text) && text < size - 8)
        add(&w, 8 + text, size - 8 - text);
    else
        find_onnx(&w);
    return w.fits;
}
