/* format/model_file.c - opens a model, whatever its kind: the kind is found by content. */
#include "format/model_file.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "model/zoo/zoo.h"

#define SPARE_BYTES ((uint64_t)48 << 20)

/* A model, what is found out about it and a report of it must stay within 64 MB and twice the file;
 * the rest of the 64 is the program itself and one page or file of what it reports. */
#define ROOM_BYTES ((uint64_t)44 * 1000 * 1000)

/* What analyses and reports take beside the model's own tables, as measured. */
enum { NODE_BYTES = 260, VALUE_BYTES = 100, CONSTANT_BYTES = 120 };

static const struct as_format *const formats[] = {
    &as_format_gguf, &as_format_tflite, &as_format_safetensors, &as_format_onnx, NULL,
};

/* What a model from a file holds on to: the file, and what its reader held. */
struct held {
    struct as_mapped_file file;
    void (*drop)(void *held);
    void (*let_go)(void *held, const uint8_t *at, uint64_t size);
    void *held;
};

static void drop_held(void *at)
{
    struct held *held = at;

    if (held->drop)
        held->drop(held->held);
    as_mapped_file_close(&held->file);
    as_free(held);
}

static void let_go_held(void *at, const uint8_t *bytes, uint64_t size)
{
    const struct held *held = at;

    as_mapped_file_let_go_part(&held->file, bytes, size);
    if (held->let_go)
        held->let_go(held->held, bytes, size);
}

static const struct as_format *find_format(const struct as_mapped_file *file)
{
    for (const struct as_format *const *format = formats; *format; format++)
        if ((*format)->is(file->bytes, file->size))
            return *format;
    return NULL;
}

static int refuse(const struct as_mapped_file *file, struct assay_error *err)
{
    const char *what = as_model_sniff(file->bytes, file->size);

    if (what)
        return as_fail(err, ASSAY_ERR_FORMAT, "%s is not a model file: this is %s", file->path,
                       what);
    return as_fail(err, ASSAY_ERR_FORMAT,
                   "%s is not a model file assay knows (ONNX, GGUF, safetensors, TensorFlow Lite)",
                   file->path);
}

const char *as_model_file_kind(const char *path)
{
    struct as_mapped_file file = {0};
    const struct as_format *format = NULL;

    if (as_mapped_file_open_model(&file, path, NULL) == ASSAY_OK) {
        format = file.size > 0 ? find_format(&file) : NULL;
        as_mapped_file_close(&file);
    }
    return format ? format->name : NULL;
}

/* 0: a file so large that nothing is to be limited. */
static uint64_t room_for(uint64_t file_bytes)
{
    uint64_t room;

    if (!as_mul_u64(file_bytes, 2, &room) || !as_add_u64(room, ROOM_BYTES, &room) ||
        room > SIZE_MAX / 2)
        return 0;
    return room;
}

static uint64_t need_of(const struct as_model *model, uint64_t n_nodes, uint64_t n_constants)
{
    return n_nodes * NODE_BYTES + model->n_values * (VALUE_BYTES + sizeof *model->values) +
           n_constants * CONSTANT_BYTES;
}

static int check_need(const struct as_model *model, uint64_t n_nodes, uint64_t need, uint64_t room,
                      struct assay_error *err)
{
    if (!room || need + model->arena.used_bytes <= room)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_LIMIT,
                   "%llu nodes and %u tensors need more memory than %llu bytes, which is the limit "
                   "for a file of its size",
                   (unsigned long long)n_nodes, model->n_values, (unsigned long long)room);
}

int as_model_check_tables(const struct as_model *model, uint64_t n_nodes, uint64_t file_bytes,
                          struct assay_error *err)
{
    return check_need(model, n_nodes, need_of(model, n_nodes, 0), room_for(file_bytes), err);
}

/* A graph of very many nodes in few bytes is refused here, before anybody works on it; what is left
 * is for inference. */
static int limit_tables(struct as_model *model, uint64_t file_bytes, struct assay_error *err)
{
    uint64_t room = room_for(file_bytes), need, n_constants = 0;
    int rc;

    for (uint32_t i = 0; i < model->n_values; i++)
        n_constants += model->values[i].is_initializer;
    need = need_of(model, model->capacity_nodes, n_constants);
    rc = check_need(model, model->capacity_nodes, need, room, err);
    if (rc == ASSAY_OK && room && room - need < model->arena.max_bytes)
        model->arena.max_bytes = (size_t)(room - need);
    return rc;
}

static int read_model(struct as_model **out, struct held *held, const char *path,
                      struct assay_error *err)
{
    const struct as_format *format;
    struct as_model *model = NULL;
    uint64_t max_bytes;
    int rc = as_mapped_file_open_model(&held->file, path, err);

    if (rc < 0)
        return rc;
    if (held->file.size == 0)
        return as_fail(err, ASSAY_ERR_FORMAT, "%s is empty", path);
    format = find_format(&held->file);
    if (!format)
        return refuse(&held->file, err);
    max_bytes = SPARE_BYTES + held->file.size;
    rc = as_model_new(&model, max_bytes < SIZE_MAX / 2 ? (size_t)max_bytes : SIZE_MAX / 2, err);
    if (rc < 0)
        return rc;
    model->path = as_arena_text(&model->arena, path, strlen(path));
    if (!model->path)
        rc = as_fail_nomem(err);
    held->file.path = model->path;
    if (rc == ASSAY_OK)
        rc = format->read(model, &held->file, err);
    if (rc == ASSAY_OK)
        rc = limit_tables(model, held->file.size, err);
    held->drop = model->drop;
    held->let_go = model->let_go;
    held->held = model->held;
    model->drop = NULL;
    if (rc < 0) {
        rc = as_fail_in_file(err, rc, path);
        as_model_free(model);
        return rc;
    }
    model->drop = drop_held;
    model->let_go = let_go_held;
    model->held = held;
    *out = model;
    return ASSAY_OK;
}

int as_model_open(struct as_model **model, const char *path, struct assay_error *err)
{
    struct held *held;
    int rc;

    *model = NULL;
    if (strncmp(path, "zoo:", 4) == 0)
        return as_zoo_open(model, path, err);
    held = as_alloc_zero(1, sizeof *held);
    if (!held)
        return as_fail_nomem(err);
    rc = read_model(model, held, path, err);
    if (rc < 0)
        drop_held(held);
    return rc;
}
