/* format/safetensors/safetensors_index.c - the index of a model in several safetensors files.
 *
 *   {"metadata": {"total_size": bytes}, "weight_map": {"name": "shard.safetensors", ...}}
 *
 * Shards are opened beneath the folder of the index only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "format/safetensors/safetensors_reader.h"

#define SCAN_BYTES (4u << 20) /* "weight_map" is looked for in so much of a file */

struct place {
    const char *name, *shard; /* in the arena */
    size_t name_size, shard_size;
    size_t order; /* in the index */
};

struct shard {
    struct as_mapped_file file;
    uint32_t first, end; /* its values */
};

struct index {
    struct as_safetensors *s;
    const struct as_mapped_file *file;
    struct place *places; /* by shard once the index is read */
    size_t n_places, capacity;
    bool has_total, has_map;
    uint64_t total;
};

/* The shards, open as long as the model. */
struct open_shards {
    size_t n;
    struct shard at[];
};

static void drop_shards(void *held)
{
    struct open_shards *open = held;

    for (size_t i = 0; i < open->n; i++)
        as_mapped_file_close(&open->at[i].file);
    as_free(open);
}

bool as_safetensors_is_index(const uint8_t *bytes, uint64_t size)
{
    static const char word[] = "\"weight_map\"";
    uint64_t i = 0;

    while (i < size && i < 64 &&
           (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\t'))
        i++;
    return i < size && bytes[i] == '{' &&
           memmem(bytes, (size_t)(size < SCAN_BYTES ? size : SCAN_BYTES), word, sizeof word - 1);
}

static const char *keep_text(struct index *x, const struct as_json_parser *json)
{
    return as_arena_text(&x->s->model->arena, json->text, json->text_size);
}

static int add_place(struct index *x, const struct as_json_parser *json, struct place place)
{
    const struct place *last;

    if (json->text_size == 0 || json->text_size > AS_MAX_NAME_BYTES)
        return as_fail_at(x->s->err, json->token_at, "the shard of tensor '%.80s' has no fit name",
                          place.name);
    if (x->n_places == AS_SAFETENSORS_MAX_TENSORS)
        return as_fail_at(x->s->err, json->token_at, "the model has more than %d tensors",
                          AS_SAFETENSORS_MAX_TENSORS);
    if (!AS_VEC_RESERVE(x->places, x->n_places, x->capacity))
        return as_fail_nomem(x->s->err);
    last = x->n_places ? &x->places[x->n_places - 1] : NULL;
    place.order = x->n_places;
    place.shard_size = json->text_size;
    if (last && last->shard_size == json->text_size &&
        memcmp(last->shard, json->text, json->text_size) == 0)
        place.shard = last->shard;
    else
        place.shard = keep_text(x, json);
    if (!place.shard)
        return as_fail_nomem(x->s->err);
    x->places[x->n_places++] = place;
    return ASSAY_OK;
}

static int take_map(struct index *x, struct as_json_parser *json)
{
    int rc = as_json_expect(json, AS_JSON_OBJECT, "weight_map", x->s->err);

    x->has_map = true;
    while (rc >= 0) {
        struct place place = {0};

        rc = as_json_next(json, x->s->err);
        if (rc < 0 || rc == AS_JSON_OBJECT_END)
            break;
        place.name = keep_text(x, json);
        place.name_size = json->text_size;
        if (!place.name)
            return as_fail_nomem(x->s->err);
        rc = as_json_expect(json, AS_JSON_STRING, "the shard of a tensor", x->s->err);
        if (rc >= 0)
            rc = add_place(x, json, place);
    }
    return rc < 0 ? rc : ASSAY_OK;
}

static int take_metadata(struct index *x, struct as_json_parser *json)
{
    int rc = as_json_next(json, x->s->err);

    if (rc != AS_JSON_OBJECT)
        return rc < 0 ? rc : as_json_skip(json, x->s->err);
    while (rc >= 0) {
        bool total;

        rc = as_json_next(json, x->s->err);
        if (rc < 0 || rc == AS_JSON_OBJECT_END)
            break;
        total = as_json_text_is(json, "total_size");
        rc = as_json_next(json, x->s->err);
        if (rc == AS_JSON_NUMBER && total)
            x->has_total = as_json_get_u64(json, &x->total, NULL) == ASSAY_OK;
        else if (rc >= 0)
            rc = as_json_skip(json, x->s->err);
    }
    return rc < 0 ? rc : ASSAY_OK;
}

static int take_index(struct index *x)
{
    struct as_json_parser json;
    int rc;

    as_json_parser_init(&json, x->file->bytes, (size_t)x->file->size);
    rc = as_json_expect(&json, AS_JSON_OBJECT, "the index", x->s->err);
    while (rc >= 0) {
        rc = as_json_next(&json, x->s->err);
        if (rc < 0 || rc == AS_JSON_OBJECT_END)
            break;
        if (as_json_text_is(&json, "weight_map") && x->has_map)
            rc = as_fail_at(x->s->err, json.token_at, "weight_map is there twice");
        else if (as_json_text_is(&json, "weight_map"))
            rc = take_map(x, &json);
        else if (as_json_text_is(&json, "metadata"))
            rc = take_metadata(x, &json);
        else
            rc = as_json_skip(&json, x->s->err);
    }
    if (rc >= 0)
        rc = as_json_next(&json, x->s->err);
    as_json_parser_fini(&json);
    if (rc >= 0 && !x->has_map)
        rc = as_fail(x->s->err, ASSAY_ERR_FORMAT, "the index has no weight_map");
    return rc;
}

static int compare_shards(const struct place *a, const struct place *b)
{
    size_t common = a->shard_size < b->shard_size ? a->shard_size : b->shard_size;
    int order = a->shard == b->shard ? 0 : memcmp(a->shard, b->shard, common);

    return order ? order : (a->shard_size > b->shard_size) - (a->shard_size < b->shard_size);
}

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = compare_shards(a, b);

    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static bool begins_shard(const struct index *x, size_t i)
{
    return i == 0 || compare_shards(&x->places[i - 1], &x->places[i]) != 0;
}

static size_t count_shards(const struct index *x)
{
    size_t n = 0;

    for (size_t i = 0; i < x->n_places; i++)
        n += begins_shard(x, i);
    return n;
}

/* Puts the shard's name in front of its sentence. */
static int name_shard(const struct place *place, int rc, struct assay_error *err)
{
    struct assay_error inner = *err;

    (void)as_fail(err, rc, "shard '%.*s': %.150s",
                  place->shard_size < 60 ? (int)place->shard_size : 60, place->shard, inner.msg);
    err->sys = inner.sys;
    err->offset = inner.offset;
    return rc;
}

/* Opens every shard once and adds its tensors. */
static int read_shards(struct index *x, struct open_shards *open)
{
    struct as_model *model = x->s->model;

    for (size_t i = 0; i < x->n_places; i++) {
        const struct place *place = &x->places[i];
        struct shard *shard = &open->at[open->n];
        int rc;

        if (!begins_shard(x, i))
            continue;
        rc = as_mapped_file_open_beside(&shard->file, x->file->path, place->shard,
                                        place->shard_size, x->s->err);
        if (rc < 0)
            return name_shard(place, rc, x->s->err);
        open->n++;
        shard->first = model->n_values;
        rc = as_safetensors_read_file(x->s, &shard->file);
        if (rc < 0)
            return name_shard(place, rc, x->s->err);
        shard->end = model->n_values;
        model->file_bytes += shard->file.size;
    }
    return ASSAY_OK;
}

/* Each place must be in its shard; `seen` has a byte for each value. */
static int check_places(struct index *x, const struct open_shards *open, uint8_t *seen)
{
    size_t at = 0;

    for (size_t i = 0; i < x->n_places; i++) {
        const struct place *place = &x->places[i];
        const uint64_t *found = as_hash_map_find(&x->s->names, place->name, place->name_size);

        at += i > 0 && begins_shard(x, i);
        if (!found || *found < open->at[at].first || *found >= open->at[at].end)
            return as_fail(x->s->err, ASSAY_ERR_FORMAT,
                           "tensor '%.80s' is not in shard '%.80s', where the index places it",
                           place->name, place->shard);
        if (seen[*found]++)
            return as_fail(x->s->err, ASSAY_ERR_FORMAT, "the index has tensor '%.80s' twice",
                           place->name);
    }
    return ASSAY_OK;
}

static int check_all(struct index *x, const struct open_shards *open)
{
    struct as_model *model = x->s->model;
    uint8_t *seen = as_alloc_zero((size_t)model->n_values + 1, 1);
    uint32_t extra = 0, first = 0;
    int rc;

    if (!seen)
        return as_fail_nomem(x->s->err);
    rc = check_places(x, open, seen);
    for (uint32_t i = 0; rc == ASSAY_OK && i < model->n_values; i++)
        if (!seen[i] && extra++ == 0)
            first = i;
    as_free(seen);
    if (rc < 0)
        return rc;
    if (extra)
        as_model_find(model, AS_FINDING_NOTE, NULL, NULL,
                      "%u tensors of the shards are not in the index, first '%.80s'", extra,
                      model->values[first].name);
    if (x->has_total && x->total != x->s->data_bytes)
        as_model_find(model, AS_FINDING_NOTE, NULL, NULL,
                      "the index declares %llu bytes of tensors; there are %llu",
                      (unsigned long long)x->total, (unsigned long long)x->s->data_bytes);
    return ASSAY_OK;
}

static int read_model(struct index *x)
{
    struct open_shards *open;
    size_t n;
    int rc = take_index(x);

    if (rc < 0)
        return rc;
    if (x->n_places)
        qsort(x->places, x->n_places, sizeof *x->places, compare_places);
    n = count_shards(x);
    if (n > AS_SAFETENSORS_MAX_SHARDS)
        return as_fail(x->s->err, ASSAY_ERR_LIMIT, "the index names %zu shards, more than %d", n,
                       AS_SAFETENSORS_MAX_SHARDS);
    open = as_alloc_zero(1, sizeof *open + n * sizeof *open->at);
    if (!open)
        return as_fail_nomem(x->s->err);
    x->s->model->held = open;
    x->s->model->drop = drop_shards;
    rc = read_shards(x, open);
    return rc < 0 ? rc : check_all(x, open);
}

int as_safetensors_read_index(struct as_safetensors *s, const struct as_mapped_file *file)
{
    struct index x = {.s = s, .file = file};
    int rc = read_model(&x);

    as_free(x.places);
    return rc;
}
