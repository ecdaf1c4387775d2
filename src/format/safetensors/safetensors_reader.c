/* format/safetensors/safetensors_reader.c - safetensors files: tensors in place, never touched.
 *
 *   u64 bytes of the header, JSON header, data
 *   {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3],
 *    "data_offsets": [begin, end]}, ...}      offsets count from the start of the data
 *
 * The bytes of a tensor must be exactly those of its shape; tensors must not overlap. */
#include "format/safetensors/safetensors_reader.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "format/mapped_file.h"
#include "format/model_file.h"

static const struct element {
    const char *name;
    uint8_t dtype; /* AS_DTYPE_UNKNOWN: only its size is known */
    uint8_t bits;
} elements[] = {
    {"F64", AS_DTYPE_F64, 64},
    {"F32", AS_DTYPE_F32, 32},
    {"F16", AS_DTYPE_F16, 16},
    {"BF16", AS_DTYPE_BF16, 16},
    {"F8_E4M3", AS_DTYPE_F8E4M3FN, 8},
    {"F8_E5M2", AS_DTYPE_F8E5M2, 8},
    {"F8_E4M3FNUZ", AS_DTYPE_F8E4M3FNUZ, 8},
    {"F8_E5M2FNUZ", AS_DTYPE_F8E5M2FNUZ, 8},
    {"F8_E8M0", AS_DTYPE_UNKNOWN, 8},
    {"F6_E2M3", AS_DTYPE_UNKNOWN, 6},
    {"F6_E3M2", AS_DTYPE_UNKNOWN, 6},
    {"F4", AS_DTYPE_F4E2M1, 4},
    {"I64", AS_DTYPE_I64, 64},
    {"I32", AS_DTYPE_I32, 32},
    {"I16", AS_DTYPE_I16, 16},
    {"I8", AS_DTYPE_I8, 8},
    {"U64", AS_DTYPE_U64, 64},
    {"U32", AS_DTYPE_U32, 32},
    {"U16", AS_DTYPE_U16, 16},
    {"U8", AS_DTYPE_U8, 8},
    {"BOOL", AS_DTYPE_BOOL, 8},
    {"C64", AS_DTYPE_C64, 64},
};

/* A header being read. */
struct header {
    struct as_safetensors *s;
    struct as_json_parser json;
    const uint8_t *data; /* behind the header */
    uint64_t data_at, data_bytes;
    uint32_t first; /* value of this file */
};

/* One entry of the header. */
struct entry {
    const char *name; /* in the arena */
    uint64_t at;      /* byte of the file */
    const struct element *element;
    struct as_dims dims;
    uint64_t begin, end;
    bool has_shape, has_offsets;
};

static int take_dtype(struct header *h, struct entry *e)
{
    int rc = as_json_expect(&h->json, AS_JSON_STRING, "dtype", h->s->err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < AS_COUNT_OF(elements); i++)
        if (as_json_text_is(&h->json, elements[i].name)) {
            e->element = &elements[i];
            return ASSAY_OK;
        }
    return as_fail_at(h->s->err, 8 + h->json.token_at,
                      "tensor '%.80s' is of type '%.*s', which is not known", e->name,
                      h->json.text_size < 20 ? (int)h->json.text_size : 20, h->json.text);
}

/* Takes a list of at most `max` whole numbers. */
static int take_numbers(struct header *h, const struct entry *e, const char *what, uint64_t *out,
                        size_t max, size_t *n)
{
    int rc = as_json_expect(&h->json, AS_JSON_ARRAY, what, h->s->err);

    for (*n = 0; rc >= 0;) {
        rc = as_json_next(&h->json, h->s->err);
        if (rc < 0 || rc == AS_JSON_ARRAY_END)
            break;
        if (rc != AS_JSON_NUMBER || *n == max)
            return as_fail_at(h->s->err, 8 + h->json.token_at,
                              rc == AS_JSON_NUMBER
                                  ? "the %s of tensor '%.80s' has more than %zu "
                                    "numbers"
                                  : "the %s of tensor '%.80s' is not a list of up to "
                                    "%zu numbers",
                              what, e->name, max);
        rc = as_json_get_u64(&h->json, &out[(*n)++], h->s->err);
        if (rc < 0)
            return as_fail_at(h->s->err, 8 + h->json.token_at,
                              "the %s of tensor '%.80s' has '%.*s', which is not a count", what,
                              e->name, h->json.text_size < 30 ? (int)h->json.text_size : 30,
                              h->json.text);
    }
    return rc < 0 ? rc : ASSAY_OK;
}

static int take_shape(struct header *h, struct entry *e)
{
    uint64_t dims[AS_MAX_RANK];
    size_t n;
    int rc = take_numbers(h, e, "shape", dims, AS_MAX_RANK, &n);

    if (rc < 0)
        return rc;
    e->dims.rank = (int)n;
    for (size_t i = 0; i < n; i++) {
        if (dims[i] > INT64_MAX)
            return as_fail_at(h->s->err, e->at, "a dimension of tensor '%.80s' is past 2^63",
                              e->name);
        e->dims.at[i] = (int64_t)dims[i];
    }
    e->has_shape = true;
    return ASSAY_OK;
}

static int take_offsets(struct header *h, struct entry *e)
{
    uint64_t offsets[2];
    size_t n;
    int rc = take_numbers(h, e, "data_offsets", offsets, 2, &n);

    if (rc < 0)
        return rc;
    if (n != 2)
        return as_fail_at(h->s->err, e->at, "tensor '%.80s' has %zu data_offsets instead of 2",
                          e->name, n);
    e->begin = offsets[0];
    e->end = offsets[1];
    e->has_offsets = true;
    return ASSAY_OK;
}

static int take_field(struct header *h, struct entry *e)
{
    bool dtype = as_json_text_is(&h->json, "dtype"), shape = as_json_text_is(&h->json, "shape");
    bool offsets = as_json_text_is(&h->json, "data_offsets");

    if ((dtype && e->element) || (shape && e->has_shape) || (offsets && e->has_offsets))
        return as_fail_at(h->s->err, 8 + h->json.token_at, "tensor '%.80s' has its %.*s twice",
                          e->name, (int)h->json.text_size, h->json.text);
    if (dtype)
        return take_dtype(h, e);
    if (shape)
        return take_shape(h, e);
    if (offsets)
        return take_offsets(h, e);
    return as_json_skip(&h->json, h->s->err);
}

static int check_entry(struct header *h, const struct entry *e, uint64_t *n)
{
    struct as_type type = {.rank = (int16_t)e->dims.rank, .dims = e->dims.at};
    uint64_t bits, bytes;

    if (!e->element || !e->has_shape || !e->has_offsets)
        return as_fail_at(h->s->err, e->at, "tensor '%.80s' has no %s", e->name,
                          !e->element     ? "dtype"
                          : !e->has_shape ? "shape"
                                          : "data_offsets");
    if (e->begin > e->end || e->end > h->data_bytes)
        return as_fail_at(h->s->err, e->at,
                          "tensor '%.80s' is from %llu to %llu, but there are %llu bytes of data",
                          e->name, (unsigned long long)e->begin, (unsigned long long)e->end,
                          (unsigned long long)h->data_bytes);
    if (!as_type_elems(&type, n) || !as_mul_u64(*n, e->element->bits, &bits))
        return as_fail_at(h->s->err, e->at, "the shape of tensor '%.80s' multiplies past 2^63",
                          e->name);
    bytes = bits / 8 + (bits % 8 != 0);
    if (bytes != e->end - e->begin)
        return as_fail_at(h->s->err, e->at,
                          "tensor '%.80s' needs %llu bytes for its shape, but has %llu", e->name,
                          (unsigned long long)bytes, (unsigned long long)(e->end - e->begin));
    return ASSAY_OK;
}

static int keep_entry(struct header *h, const struct entry *e, uint32_t id)
{
    struct as_model *model = h->s->model;
    struct as_value *value = &model->values[id];
    uint64_t n = 0;
    int rc = check_entry(h, e, &n);

    if (rc < 0)
        return rc;
    value->data = as_data_over(&model->arena, e->element->dtype, n, h->data + e->begin);
    if (!value->data || !as_type_tensor(&value->type, &model->arena, e->element->dtype, &e->dims))
        return as_fail_nomem(h->s->err);
    value->is_initializer = true;
    value->data->size_bytes = value->data->stored_bytes = e->end - e->begin;
    value->data->offset = h->data_at + e->begin;
    h->s->data_bytes += e->end - e->begin;
    if (e->element->dtype == AS_DTYPE_UNKNOWN)
        as_model_find(model, AS_FINDING_NOTE, NULL, NULL,
                      "numbers of type %s are counted, but cannot be read", e->element->name);
    return ASSAY_OK;
}

/* The current token is the key. */
static int take_tensor(struct header *h)
{
    struct as_safetensors *s = h->s;
    struct entry e = {.at = 8 + h->json.token_at};
    uint32_t id;
    int rc;

    if (h->json.text_size == 0 || h->json.text_size > AS_MAX_NAME_BYTES ||
        memchr(h->json.text, 0, h->json.text_size))
        return as_fail_at(s->err, e.at,
                          "the name of a tensor is empty, above %d bytes or cut by a "
                          "zero byte",
                          AS_MAX_NAME_BYTES);
    if (s->names.n >= AS_SAFETENSORS_MAX_TENSORS)
        return as_fail_at(s->err, e.at, "the model has more than %d tensors",
                          AS_SAFETENSORS_MAX_TENSORS);
    id = as_model_add_value(s->model, s->model->main, h->json.text, h->json.text_size, s->err);
    if (id == AS_NONE)
        return s->err->code;
    e.name = s->model->values[id].name;
    rc = as_hash_map_put(&s->names, e.name, h->json.text_size, id);
    if (rc <= 0)
        return rc < 0 ? as_fail_nomem(s->err)
                      : as_fail(s->err, ASSAY_ERR_FORMAT, "tensor '%.80s' is there twice", e.name);
    rc = as_json_expect(&h->json, AS_JSON_OBJECT, "a tensor's entry", s->err);
    while (rc >= 0) {
        rc = as_json_next(&h->json, s->err);
        if (rc < 0 || rc == AS_JSON_OBJECT_END)
            break;
        rc = take_field(h, &e);
    }
    return rc < 0 ? rc : keep_entry(h, &e, id);
}

static int keep_meta(struct header *h, const char *key)
{
    struct as_model *model = h->s->model;
    const char *value = as_arena_text(&model->arena, h->json.text,
                                      h->json.text_size < 256 ? h->json.text_size : 256);

    if (!value)
        return as_fail_nomem(h->s->err);
    for (size_t i = 0; i < model->n_meta; i++)
        if (strcmp(model->meta[i].key, key) == 0 && strcmp(model->meta[i].value, value) == 0)
            return ASSAY_OK; /* every shard says the same */
    model->meta[model->n_meta++] = (struct as_model_meta){key, value};
    return ASSAY_OK;
}

/* "__metadata__": texts by name; the current token is its key. */
static int take_metadata(struct header *h)
{
    struct as_model *model = h->s->model;
    int rc = as_json_expect(&h->json, AS_JSON_OBJECT, "__metadata__", h->s->err);

    if (rc >= 0 && !model->meta) {
        model->meta = as_arena_zero(&model->arena, AS_SAFETENSORS_MAX_META, sizeof *model->meta);
        if (!model->meta)
            return as_fail_nomem(h->s->err);
    }
    while (rc >= 0) {
        bool capacity = model->n_meta < AS_SAFETENSORS_MAX_META;
        const char *key = NULL;

        rc = as_json_next(&h->json, h->s->err);
        if (rc < 0 || rc == AS_JSON_OBJECT_END)
            break;
        if (capacity) {
            key = as_arena_text(&model->arena, h->json.text,
                                h->json.text_size < 256 ? h->json.text_size : 256);
            if (!key)
                return as_fail_nomem(h->s->err);
        }
        rc = as_json_expect(&h->json, AS_JSON_STRING, "a value in __metadata__", h->s->err);
        if (rc >= 0 && capacity)
            rc = keep_meta(h, key);
    }
    return rc < 0 ? rc : ASSAY_OK;
}

static int take_header(struct header *h)
{
    struct assay_error inner;
    bool had_meta = false;
    int rc = as_json_expect(&h->json, AS_JSON_OBJECT, "the header", h->s->err);

    while (rc >= 0) {
        rc = as_json_next(&h->json, h->s->err);
        if (rc < 0 || rc == AS_JSON_OBJECT_END)
            break;
        if (!as_json_text_is(&h->json, "__metadata__"))
            rc = take_tensor(h);
        else if (had_meta)
            rc = as_fail_at(h->s->err, 8 + h->json.token_at, "__metadata__ is there twice");
        else {
            had_meta = true;
            rc = take_metadata(h);
        }
    }
    if (rc >= 0)
        rc = as_json_next(&h->json, h->s->err);
    if (rc >= 0 || h->json.fault.code == ASSAY_OK || rc == ASSAY_ERR_NOMEM)
        return rc;
    /* The parser counts bytes from the header's first. */
    inner = *h->s->err;
    return as_fail_at(h->s->err, 8 + inner.offset, "the header, which begins at byte 8: %.180s",
                      inner.msg);
}

/* Bytes before, between and after the tensors. */
static uint64_t count_holes(const struct header *h, const struct as_file_range *spans, size_t n)
{
    uint64_t holes = h->data_bytes;

    for (size_t i = 0; i < n; i++)
        holes -= spans[i].bytes;
    return holes;
}

static int check_places(const struct header *h)
{
    struct as_model *model = h->s->model;
    size_t n;
    struct as_file_range *spans = as_file_ranges_new(model, h->first, &n);
    uint32_t id, other;
    uint64_t holes;

    if (!spans)
        return as_fail_nomem(h->s->err);
    if (as_file_ranges_overlap(spans, n, &id, &other)) {
        as_free(spans);
        return as_fail_at(h->s->err, model->values[id].data->offset,
                          "tensor '%.60s' overlaps tensor '%.60s'", model->values[id].name,
                          model->values[other].name);
    }
    holes = count_holes(h, spans, n);
    if (holes)
        as_model_find(model, AS_FINDING_NOTE, NULL, NULL,
                      "%llu bytes of the data belong to no tensor, which the format does not allow",
                      (unsigned long long)holes);
    as_free(spans);
    return ASSAY_OK;
}

int as_safetensors_read_file(struct as_safetensors *s, const struct as_mapped_file *file)
{
    struct as_cursor in = as_cursor_over(file->bytes, file->size);
    struct header h = {.s = s, .first = s->model->n_values};
    uint64_t size;
    int rc;

    if (!as_take_u64le(&in, &size))
        return as_fail_at(s->err, 0, "the file ends inside the length of its header");
    if (size > as_cursor_left(&in))
        return as_fail_at(s->err, 0, "the header has %llu bytes, but %llu are left in the file",
                          (unsigned long long)size, (unsigned long long)as_cursor_left(&in));
    if (size > AS_SAFETENSORS_MAX_HEADER)
        return as_fail_at(s->err, 0, "the header has %llu bytes, more than %d",
                          (unsigned long long)size, AS_SAFETENSORS_MAX_HEADER);
    h.data = in.at + size;
    h.data_at = 8 + size;
    h.data_bytes = as_cursor_left(&in) - size;
    as_json_parser_init(&h.json, in.at, (size_t)size);
    rc = take_header(&h);
    as_json_parser_fini(&h.json);
    return rc < 0 ? rc : check_places(&h);
}

static int read_all(struct as_safetensors *s, const struct as_mapped_file *file)
{
    if (!as_graph_new(s->model, NULL, "", s->err))
        return ASSAY_ERR_NOMEM;
    if (as_safetensors_is_index(file->bytes, file->size))
        return as_safetensors_read_index(s, file);
    return as_safetensors_read_file(s, file);
}

static int read_safetensors(struct as_model *model, const struct as_mapped_file *file,
                            struct assay_error *err)
{
    struct assay_error unread = {0};
    struct as_safetensors s = {.model = model, .err = err ? err : &unread};
    int rc;

    model->format = AS_FORMAT_SAFETENSORS;
    model->file_bytes = file->size;
    rc = read_all(&s, file);
    as_hash_map_fini(&s.names);
    if (rc < 0)
        return rc;
    if (file->path && file->path[0])
        as_safetensors_read_config(model, file->path);
    return as_model_link(model, err);
}

/* A JSON object behind eight bytes, whatever they say: a wrong length must be reported as such. */
static bool is_safetensors(const uint8_t *bytes, uint64_t size)
{
    if (as_safetensors_is_index(bytes, size))
        return true;
    return size >= 10 && bytes[8] == '{' && (bytes[9] == '"' || bytes[9] == '}' || bytes[9] == ' ');
}

const struct as_format as_format_safetensors = {
    .format = AS_FORMAT_SAFETENSORS,
    .name = "safetensors",
    .is = is_safetensors,
    .read = read_safetensors,
};
