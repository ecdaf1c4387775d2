/* format/gguf/gguf_reader.c - GGUF files of version 2 and 3: tensors in place, never touched.
 * Their dimensions are stored innermost first and kept outermost first, as everywhere else. */
#include <string.h>

#include "base/alloc.h"
#include "format/gguf/gguf_meta.h"
#include "format/mapped_file.h"
#include "format/model_file.h"

/* One tensor as the file describes it. */
struct described {
    struct as_text name;
    struct as_dims dims; /* outermost first */
    unsigned dtype;
    uint64_t n, bytes, offset, at; /* offset: in the data; at: of the description */
};

static int name_width(const struct described *t)
{
    return t->name.size < 80 ? (int)t->name.size : 80;
}

static int take_dims(struct as_gguf *g, struct described *t)
{
    uint32_t rank;

    if (!as_take_u32le(&g->in, &rank))
        return as_fail_at(g->err, as_gguf_at(g), "the file ends inside tensor '%.*s'",
                          name_width(t), t->name.at);
    if (rank > AS_GGUF_MAX_DIMS)
        return as_fail_at(g->err, as_gguf_at(g) - 4,
                          "tensor '%.*s' has %u dimensions, more than %d", name_width(t),
                          t->name.at, rank, AS_GGUF_MAX_DIMS);
    t->dims.rank = (int)rank;
    for (int i = (int)rank - 1; i >= 0; i--) {
        uint64_t dim;

        if (!as_take_u64le(&g->in, &dim))
            return as_fail_at(g->err, as_gguf_at(g), "the file ends inside tensor '%.*s'",
                              name_width(t), t->name.at);
        if (dim > INT64_MAX)
            return as_fail_at(g->err, as_gguf_at(g) - 8,
                              "a dimension of tensor '%.*s' is %llu, past 2^63", name_width(t),
                              t->name.at, (unsigned long long)dim);
        t->dims.at[i] = (int64_t)dim;
    }
    return ASSAY_OK;
}

static int take_type(struct as_gguf *g, struct described *t)
{
    uint64_t at = as_gguf_at(g);
    const char *removed;
    uint32_t code;

    if (!as_take_u32le(&g->in, &code) || !as_take_u64le(&g->in, &t->offset))
        return as_fail_at(g->err, at, "the file ends inside tensor '%.*s'", name_width(t),
                          t->name.at);
    if (as_gguf_dtype(code, &t->dtype, &removed))
        return ASSAY_OK;
    if (removed)
        return as_fail_at(g->err, at,
                          "tensor '%.*s' is of type %s, which ggml has removed; convert the model "
                          "again",
                          name_width(t), t->name.at, removed);
    return as_fail_at(g->err, at, "tensor '%.*s' is of type %u, which is not known", name_width(t),
                      t->name.at, code);
}

static int check_size(struct as_gguf *g, struct described *t)
{
    const struct as_dtype_info *info = as_dtype_at(t->dtype);
    int64_t row = t->dims.rank ? t->dims.at[t->dims.rank - 1] : 1;
    struct as_type type = {.rank = (int16_t)t->dims.rank, .dims = t->dims.at};

    if (row % info->block_elems != 0)
        return as_fail_at(g->err, t->at,
                          "the rows of tensor '%.*s' have %lld elements, not a multiple of the %u "
                          "of a block of %s",
                          name_width(t), t->name.at, (long long)row, info->block_elems, info->name);
    if (!as_type_elems(&type, &t->n) || !as_dtype_bytes(t->dtype, t->n, &t->bytes))
        return as_fail_at(g->err, t->at, "the dimensions of tensor '%.*s' multiply past 2^63",
                          name_width(t), t->name.at);
    if (t->offset % g->alignment != 0)
        return as_fail_at(g->err, t->at,
                          "tensor '%.*s' is at offset %llu, not a multiple of the alignment %llu",
                          name_width(t), t->name.at, (unsigned long long)t->offset,
                          (unsigned long long)g->alignment);
    return ASSAY_OK;
}

static int take_tensor(struct as_gguf *g, struct described *t)
{
    int rc;

    *t = (struct described){.at = as_gguf_at(g)};
    rc = as_gguf_take_text(g, "the name of a tensor", AS_MAX_NAME_BYTES, &t->name);
    if (rc < 0)
        return rc;
    if (t->name.size == 0 || memchr(t->name.at, 0, t->name.size))
        return as_fail_at(g->err, t->at, "the name of a tensor is %s",
                          t->name.size ? "cut by a zero byte" : "empty");
    rc = take_dims(g, t);
    if (rc == ASSAY_OK)
        rc = take_type(g, t);
    return rc < 0 ? rc : check_size(g, t);
}

/* The tensor as a constant; its offset counts from the data until place_data(). */
static int keep_tensor(struct as_gguf *g, const struct described *t)
{
    struct as_model *model = g->model;
    uint32_t id = as_model_add_value(model, model->main, t->name.at, t->name.size, g->err);
    uint64_t blocks = t->n / as_dtype_at(t->dtype)->block_elems;
    struct as_value *value;
    int rc;

    if (id == AS_NONE)
        return ASSAY_ERR_NOMEM;
    value = &model->values[id];
    value->is_initializer = true;
    if (as_dtype_at(t->dtype)->kind == AS_CLASS_BLOCK)
        value->n_scales = blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks;
    value->data = as_data_over(&model->arena, t->dtype, t->n, NULL);
    if (!value->data || !as_type_tensor(&value->type, &model->arena, t->dtype, &t->dims))
        return as_fail_nomem(g->err);
    rc = as_hash_map_put(&g->tensors, value->name, t->name.size, id);
    if (rc <= 0)
        return rc < 0 ? as_fail_nomem(g->err)
                      : as_fail(g->err, ASSAY_ERR_FORMAT, "tensor '%.80s' is there twice",
                                value->name);
    value->data->offset = t->offset;
    return ASSAY_OK;
}

/* Where the data begins: from the tensors' descriptions on, aligned. */
static int place_data(struct as_gguf *g)
{
    uint64_t start = (as_gguf_at(g) + g->alignment - 1) & ~(g->alignment - 1);
    uint64_t left = start <= g->file->size ? g->file->size - start : 0;

    for (uint32_t i = 0; i < g->model->n_values; i++) {
        struct as_value *value = &g->model->values[i];
        struct as_data *data = value->data;

        if (data->offset > left || data->size_bytes > left - data->offset)
            return as_fail_at(g->err,
                              data->offset > UINT64_MAX - start ? start : start + data->offset,
                              "tensor '%.80s' of %llu bytes ends past the end of the file",
                              value->name, (unsigned long long)data->size_bytes);
        data->offset += start;
        data->bytes = g->file->bytes + (data->size_bytes ? data->offset : 0);
    }
    return ASSAY_OK;
}

static int check_overlap(const struct as_gguf *g)
{
    const struct as_model *model = g->model;
    size_t n;
    struct as_file_range *spans = as_file_ranges_new(model, 0, &n);
    uint32_t id, other;
    int rc = ASSAY_OK;

    if (!spans)
        return as_fail_nomem(g->err);
    if (as_file_ranges_overlap(spans, n, &id, &other))
        rc = as_fail_at(g->err, model->values[id].data->offset,
                        "tensor '%.60s' overlaps tensor '%.60s'", model->values[id].name,
                        model->values[other].name);
    as_free(spans);
    return rc;
}

static int read_tensors(struct as_gguf *g)
{
    int rc = ASSAY_OK;

    for (uint64_t i = 0; i < g->n_tensors && rc == ASSAY_OK; i++) {
        struct described t;

        rc = take_tensor(g, &t);
        if (rc == ASSAY_OK)
            rc = keep_tensor(g, &t);
    }
    if (rc < 0)
        return rc;
    rc = place_data(g);
    return rc < 0 ? rc : check_overlap(g);
}

static void note_split(const struct as_gguf *g)
{
    const struct as_gguf_pair *count = as_gguf_find(g, "split.count");
    uint64_t n;

    if (count && as_gguf_number(count, &n) && n > 1)
        as_model_find(g->model, AS_FINDING_NOTE, NULL, NULL,
                      "this file is one of %llu parts of a model; only its own tensors are counted",
                      (unsigned long long)n);
}

static int read_all(struct as_gguf *g)
{
    int rc = as_gguf_read_meta(g);

    if (rc == ASSAY_OK)
        rc = as_gguf_keep_meta(g);
    if (rc == ASSAY_OK && !as_graph_new(g->model, NULL, g->model->graph_name, g->err))
        rc = ASSAY_ERR_NOMEM;
    if (rc == ASSAY_OK)
        rc = read_tensors(g);
    if (rc < 0)
        return rc;
    note_split(g);
    as_gguf_keep_decoder(g);
    rc = as_gguf_build_graph(g);
    return rc < 0 ? rc : as_model_link(g->model, g->err);
}

static int read_gguf(struct as_model *model, const struct as_mapped_file *file,
                     struct assay_error *err)
{
    struct as_gguf g = {.model = model, .file = file, .err = err};
    int rc;

    model->format = AS_FORMAT_GGUF;
    model->file_bytes = file->size;
    g.in = as_cursor_over(file->bytes, file->size);
    rc = read_all(&g);
    model->ir_version = g.version;
    as_hash_map_fini(&g.keys);
    as_hash_map_fini(&g.tensors);
    return rc;
}

static bool is_gguf(const uint8_t *bytes, uint64_t size)
{
    return size >= 4 && memcmp(bytes, "GGUF", 4) == 0;
}

const struct as_format as_format_gguf = {
    .format = AS_FORMAT_GGUF,
    .name = "gguf",
    .is = is_gguf,
    .read = read_gguf,
};
