/* format/onnx/onnx_external.c - tensors whose bytes are in another file beside the model.
 * Every such file is mapped once and kept as long as the model.
 *
 * The fields 13 of a tensor are pairs of texts (key 1, value 2): "location", "offset", "length" and
 * "checksum", the numbers in decimal. */
#include <string.h>

#include "base/alloc.h"
#include "base/text/text.h"
#include "format/onnx/onnx_reader.h"

struct place {
    struct as_text location, offset, length;
};

void as_onnx_drop_files(void *first_file)
{
    struct as_onnx_file *file = first_file;

    while (file) {
        struct as_onnx_file *next = file->next;

        as_mapped_file_close(&file->file);
        as_free(file);
        file = next;
    }
}

void as_onnx_let_go_files(void *first_file, const uint8_t *at, uint64_t size)
{
    for (const struct as_onnx_file *file = first_file; file; file = file->next)
        as_mapped_file_let_go_part(&file->file, at, size);
}

static bool is_word(struct as_text text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.at, word, text.size) == 0;
}

static int read_place(struct as_onnx *r, const struct as_proto *message, struct place *place)
{
    struct as_proto p = *message, inner;
    struct as_proto_field f, g;
    int rc;

    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        struct as_text pair[2] = {{"", 0}, {"", 0}};

        if (f.number != 13)
            continue;
        rc = as_proto_enter(&inner, &p, &f, r->err);
        while (rc >= 0 && (rc = as_proto_next(&inner, &g, r->err)) > 0)
            if (g.number == 1 || g.number == 2)
                rc = as_proto_text(&inner, &g, &pair[g.number - 1], r->err);
        if (rc < 0)
            return rc;
        if (is_word(pair[0], "location"))
            place->location = pair[1];
        else if (is_word(pair[0], "offset"))
            place->offset = pair[1];
        else if (is_word(pair[0], "length"))
            place->length = pair[1];
    }
    return rc;
}

/* The file of that name, opened when this is the first tensor in it. */
static int find_file(struct as_onnx *r, struct as_text location, const struct as_mapped_file **out)
{
    const uint64_t *known = as_hash_map_find(&r->files, location.at, location.size);
    struct as_onnx_file *file;
    int rc;

    if (known) {
        *out = &((const struct as_onnx_file *)(uintptr_t)*known)->file;
        return ASSAY_OK;
    }
    if (r->files.n >= AS_ONNX_MAX_FILES)
        return as_fail(r->err, ASSAY_ERR_LIMIT, "the model is spread over more than %d files",
                       AS_ONNX_MAX_FILES);
    file = as_alloc_zero(1, sizeof *file);
    if (!file)
        return as_onnx_no_memory(r);
    rc = as_mapped_file_open_beside(&file->file, r->file->path, location.at, location.size, r->err);
    if (rc >= 0 && as_hash_map_put(&r->files, location.at, location.size, (uintptr_t)file) < 0) {
        as_mapped_file_close(&file->file);
        rc = as_onnx_no_memory(r);
    }
    if (rc < 0) {
        as_free(file);
        return rc;
    }
    file->next = r->first_file;
    r->first_file = file;
    r->model->file_bytes += file->file.size;
    *out = &file->file;
    return ASSAY_OK;
}

static int bad_number(const struct as_onnx *r, struct as_text name, const char *what,
                      struct as_text text)
{
    return as_fail_at(r->err, as_onnx_offset(r, text.at),
                      "tensor '%.*s' has an external %s of '%.*s'", AS_ONNX_SHOWN(name), what,
                      AS_ONNX_SHOWN(text));
}

int as_onnx_external(struct as_onnx *r, const struct as_proto *message, struct as_text name,
                     uint64_t need, const uint8_t **bytes)
{
    const struct as_mapped_file *file = NULL;
    struct place place = {0};
    uint64_t offset = 0, length;
    int rc = read_place(r, message, &place);

    if (rc < 0)
        return rc;
    if (!place.location.at)
        return as_fail_at(r->err, as_proto_offset(message),
                          "tensor '%.*s' is outside the file but does not say where",
                          AS_ONNX_SHOWN(name));
    if (!r->file->path)
        return as_fail(r->err, ASSAY_ERR_UNSUPPORTED,
                       "tensor '%.*s' is in another file, and this model is not one",
                       AS_ONNX_SHOWN(name));
    if (place.offset.size && !as_parse_u64(place.offset.at, place.offset.size, &offset))
        return bad_number(r, name, "offset", place.offset);
    length = need;
    if (place.length.size && !as_parse_u64(place.length.at, place.length.size, &length))
        return bad_number(r, name, "length", place.length);
    rc = find_file(r, place.location, &file);
    if (rc < 0 || !file)
        return rc;
    if (!place.length.size && offset <= file->size)
        length = file->size - offset;
    if (offset > file->size || length > file->size - offset)
        return as_fail_at(r->err, as_proto_offset(message),
                          "tensor '%.*s' wants bytes %llu to %llu + %llu of a file of %llu",
                          AS_ONNX_SHOWN(name), (unsigned long long)offset,
                          (unsigned long long)offset, (unsigned long long)length,
                          (unsigned long long)file->size);
    if (length != need)
        return as_fail_at(r->err, as_proto_offset(message),
                          "tensor '%.*s' has %llu external bytes where its shape and type need "
                          "%llu",
                          AS_ONNX_SHOWN(name), (unsigned long long)length,
                          (unsigned long long)need);
    *bytes = file->bytes ? file->bytes + offset : message->at.at;
    return ASSAY_OK;
}
