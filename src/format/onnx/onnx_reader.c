/* format/onnx/onnx_reader.c - an ONNX file as a model: the outermost message and what all parts
 * share. Weights are not read; they stay in the file until somebody asks for them.
 *
 * ModelProto: ir version 1, producer 2 with version 3, domain 4, model version 5, doc 6, graph 7,
 * opsets 8 (domain 1, version 2), metadata 14 (key 1, value 2), training 20, functions 25. */
#include "format/onnx/onnx_reader.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text/utf8.h"
#include "format/model_file.h"

/* Beside the arena, the tables of values and names may take as much as this. */
#define TABLE_BYTES ((size_t)8 << 20)

/* How far we walk before the pages behind us are given back. */
#define LET_GO_BYTES ((ptrdiff_t)4 << 20)

uint64_t as_onnx_offset(const struct as_onnx *r, const void *at)
{
    return (uint64_t)((const uint8_t *)at - r->input.base);
}

void as_onnx_let_go(struct as_onnx *r, const struct as_proto *p)
{
    ptrdiff_t distance = p->at.at - r->let_go;

    if (distance > LET_GO_BYTES || distance < -LET_GO_BYTES) {
        const uint8_t *from = distance > 0 ? r->let_go : p->at.at;

        as_mapped_file_let_go_part(r->file, from, (uint64_t)(distance > 0 ? distance : -distance));
        r->let_go = p->at.at;
    }
}

static int too_large(const struct as_onnx *r)
{
    return as_fail(r->err, ASSAY_ERR_LIMIT,
                   "the tables of this model need more memory than %zu bytes, which is the limit "
                   "for a file of its size",
                   r->model->arena.max_bytes + TABLE_BYTES);
}

int as_onnx_no_memory(const struct as_onnx *r)
{
    const struct as_arena *arena = &r->model->arena;

    /* The arena says only "no"; near its limit that is the likely cause. */
    if (arena->max_bytes && arena->used_bytes > arena->max_bytes / 2)
        return too_large(r);
    return as_fail_nomem(r->err);
}

int as_onnx_check_capacity(const struct as_onnx *r, size_t more)
{
    const struct as_model *m = r->model;
    size_t used = more + m->arena.used_bytes + r->maps_bytes + m->n_values * sizeof *m->values;

    if (!m->arena.max_bytes)
        return ASSAY_OK;
    if (used > m->arena.max_bytes + TABLE_BYTES)
        return too_large(r);
    return as_model_check_tables(m, m->capacity_nodes + r->n_loose, r->file->size, r->err);
}

static bool is_plain(struct as_text text)
{
    unsigned char high = 0;
    bool zero = false;

    for (size_t i = 0; i < text.size; i++) {
        high |= (unsigned char)text.at[i];
        zero |= text.at[i] == 0;
    }
    return high < 0x80 && !zero;
}

int as_onnx_check_name(const struct as_onnx *r, struct as_text name, const char *what)
{
    if (name.size > AS_MAX_NAME_BYTES)
        return as_fail_at(r->err, as_onnx_offset(r, name.at), "the %s is longer than %d bytes",
                          what, AS_MAX_NAME_BYTES);
    if (is_plain(name))
        return ASSAY_OK;
    if (memchr(name.at, 0, name.size))
        return as_fail_at(r->err, as_onnx_offset(r, name.at), "the %s has a NUL in it", what);
    if (!as_utf8_valid(name.at, name.size))
        return as_fail_at(r->err, as_onnx_offset(r, name.at), "the %s is not UTF-8", what);
    return ASSAY_OK;
}

const char *as_onnx_word(struct as_onnx *r, struct as_text text)
{
    const uint64_t *known;
    char *copy;

    if (text.size == 0)
        return "";
    known = as_hash_map_find(&r->words, text.at, text.size);
    if (known)
        return (const char *)(uintptr_t)*known;
    if (as_onnx_check_name(r, text, "name of an operator, attribute or symbol") < 0)
        return NULL;
    copy = as_arena_text(&r->model->arena, text.at, text.size);
    if (copy && r->words.n >= AS_ONNX_MAX_WORDS)
        return copy;
    r->maps_bytes -= as_hash_map_bytes(&r->words);
    if (!copy || as_hash_map_put(&r->words, copy, text.size, (uintptr_t)copy) < 0) {
        as_onnx_no_memory(r);
        copy = NULL;
    }
    r->maps_bytes += as_hash_map_bytes(&r->words);
    return copy;
}

/* A pair of texts, or of a text and a number: fields 1 and 2. */
static int read_pair(struct as_onnx *r, const struct as_proto *outer,
                     const struct as_proto_field *field, struct as_text texts[2], int64_t *number)
{
    struct as_proto p;
    struct as_proto_field f;
    int rc = as_proto_enter(&p, outer, field, r->err);

    texts[0] = texts[1] = (struct as_text){"", 0};
    *number = 0;
    while (rc >= 0 && (rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (f.number == 2 && f.wire == AS_WIRE_VARINT)
            rc = as_proto_i64(&p, &f, number, r->err);
        else if (f.number == 1 || f.number == 2)
            rc = as_proto_text(&p, &f, &texts[f.number - 1], r->err);
    }
    return rc;
}

/* What the outermost message says beside its graph. */
struct head {
    struct as_proto graph;
    bool has_graph, has_training;
    size_t n_opsets, n_meta;
    struct as_text producer, version;
};

static int count_field(struct as_onnx *r, const struct as_proto *p, const struct as_proto_field *f,
                       struct head *head)
{
    switch (f->number) {
    case 1:
        return as_proto_i64(p, f, &r->model->ir_version, r->err);
    case 2:
        return as_proto_text(p, f, &head->producer, r->err);
    case 3:
        return as_proto_text(p, f, &head->version, r->err);
    case 7:
        if (head->has_graph)
            return as_proto_damaged(p, f->offset, r->err, "it has two graphs");
        head->has_graph = true;
        return as_proto_enter(&head->graph, p, f, r->err);
    case 8:
        head->n_opsets++;
        return ASSAY_OK;
    case 14:
        head->n_meta++;
        return ASSAY_OK;
    case 20:
        head->has_training = true;
        return ASSAY_OK;
    case 25:
        r->n_functions++;
        return ASSAY_OK;
    default:
        return ASSAY_OK;
    }
}

static int add_opset(struct as_onnx *r, const struct as_proto *p, const struct as_proto_field *f)
{
    struct as_model *m = r->model;
    struct as_text texts[2];
    const char *domain;
    int64_t version;
    int rc = read_pair(r, p, f, texts, &version);

    if (rc < 0)
        return rc;
    domain = as_onnx_word(r, texts[0]);
    if (!domain)
        return r->err->code;
    m->opsets[m->n_opsets++] = (struct as_model_opset){domain, version};
    if (as_domain_find(domain) == AS_DOMAIN_ONNX && version > m->opset)
        m->opset = version;
    return ASSAY_OK;
}

static int add_meta(struct as_onnx *r, const struct as_proto *p, const struct as_proto_field *f)
{
    struct as_model *m = r->model;
    struct as_text texts[2];
    struct as_model_meta *meta;
    int64_t unused;
    int rc = read_pair(r, p, f, texts, &unused);

    if (rc < 0)
        return rc;
    meta = &m->meta[m->n_meta];
    meta->key = as_arena_text(&m->arena, texts[0].at, texts[0].size);
    meta->value = as_arena_text(&m->arena, texts[1].at, texts[1].size);
    if (!meta->key || !meta->value)
        return as_onnx_no_memory(r);
    m->n_meta++;
    return ASSAY_OK;
}

static int keep_producer(struct as_onnx *r, const struct head *head)
{
    size_t size = head->producer.size + (head->version.size ? 1 + head->version.size : 0);
    char *text;

    if (size == 0)
        return ASSAY_OK;
    text = as_arena_zero(&r->model->arena, size + 1, 1);
    if (!text)
        return as_onnx_no_memory(r);
    if (head->producer.size)
        memcpy(text, head->producer.at, head->producer.size);
    if (head->version.size) {
        text[head->producer.size] = ' ';
        memcpy(text + head->producer.size + 1, head->version.at, head->version.size);
    }
    r->model->producer = text;
    return ASSAY_OK;
}

static int read_head(struct as_onnx *r, const struct as_proto *message, struct head *head)
{
    struct as_model *m = r->model;
    struct as_proto p = *message;
    struct as_proto_field f;
    int rc;

    while ((rc = as_proto_next(&p, &f, r->err)) > 0)
        if ((rc = count_field(r, &p, &f, head)) < 0)
            return rc;
    if (rc < 0)
        return rc;
    if (!head->has_graph)
        return as_fail_at(r->err, as_proto_offset(&p),
                          "damaged ONNX file: it ends without a graph");
    if (head->n_opsets > AS_ONNX_MAX_OPSETS)
        return as_fail(r->err, ASSAY_ERR_LIMIT, "the file names %zu opsets, more than %d",
                       head->n_opsets, AS_ONNX_MAX_OPSETS);
    if (head->n_meta > AS_ONNX_MAX_META)
        return as_fail(r->err, ASSAY_ERR_LIMIT,
                       "the file has %zu entries of metadata, more than %d", head->n_meta,
                       AS_ONNX_MAX_META);
    m->opsets = as_arena_zero(&m->arena, head->n_opsets + 1, sizeof *m->opsets);
    m->meta = as_arena_zero(&m->arena, head->n_meta + 1, sizeof *m->meta);
    if (!m->opsets || !m->meta)
        return as_onnx_no_memory(r);
    for (p = *message; rc >= 0 && (rc = as_proto_next(&p, &f, r->err)) > 0;) {
        if (f.number == 8)
            rc = add_opset(r, &p, &f);
        else if (f.number == 14)
            rc = add_meta(r, &p, &f);
    }
    AS_ONNX_STEP(rc, keep_producer(r, head));
    return rc;
}

static void tell_versions(struct as_model *m, const struct head *head)
{
    if (m->ir_version > AS_ONNX_NEWEST_IR)
        as_model_find(m, AS_FINDING_NOTE, NULL, NULL,
                      "the file is of ONNX IR version %lld, newer than the %d we know",
                      (long long)m->ir_version, AS_ONNX_NEWEST_IR);
    if (m->opset == 0)
        as_model_find(m, AS_FINDING_NOTE, NULL, NULL,
                      "the file does not say its opset; the rules of opset %d are used",
                      AS_ONNX_OLDEST_OPSET);
    else if (m->opset < AS_ONNX_OLDEST_OPSET)
        as_model_find(m, AS_FINDING_NOTE, NULL, NULL,
                      "the file is of opset %lld, older than %d; its operators are read by the "
                      "rules of %d",
                      (long long)m->opset, AS_ONNX_OLDEST_OPSET, AS_ONNX_OLDEST_OPSET);
    else if (m->opset > AS_ONNX_NEWEST_OPSET)
        as_model_find(m, AS_FINDING_NOTE, NULL, NULL,
                      "the file is of opset %lld, newer than %d; operators changed since then are "
                      "read by the rules of %d",
                      (long long)m->opset, AS_ONNX_NEWEST_OPSET, AS_ONNX_NEWEST_OPSET);
    if (head->has_training)
        as_model_find(m, AS_FINDING_NOTE, NULL, NULL,
                      "the file holds training information, which is left out");
}

/* The outermost message of a file and what kind each of its fields is. */
static bool plausible(const struct as_proto_field *f, bool first)
{
    static const uint8_t wires[26] = {
        [1] = 1, [5] = 1, /* numbers */
        [2] = 2, [3] = 2, [4] = 2, [6] = 2, [7] = 2, [8] = 2, [14] = 2, [20] = 2, [25] = 2,
    };

    if (f->number >= sizeof wires)
        return !first; /* of a newer version, perhaps */
    return wires[f->number] == (f->wire == AS_WIRE_VARINT ? 1 : f->wire == AS_WIRE_SIZED ? 2 : 9);
}

/* What a field that is cut off would have been. */
static bool plausible_tag(struct as_cursor at)
{
    struct as_proto_field f = {0};
    uint64_t tag;

    if (!as_take_varint(&at, &tag) || tag >> 3 > 25)
        return false;
    f.number = (uint32_t)(tag >> 3);
    f.wire = (enum as_proto_wire)(tag & 7);
    return plausible(&f, true);
}

/* Text could begin like a field; it has no control characters. */
static bool is_binary(const uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = 0; i < size && i < 64; i++)
        if (bytes[i] < 0x20 && (bytes[i] < '\t' || bytes[i] > '\r'))
            return true;
    return false;
}

/* The first field must be one of the outermost message. A small version number there and one more
 * such field, or a graph, are nobody else's; a file that ends early is still one of ours. */
static bool is_onnx(const uint8_t *bytes, uint64_t size)
{
    struct as_proto_input input;
    struct as_proto_field f;
    struct as_proto p;
    struct as_cursor before;
    bool telling = false;
    int n = 0, rc;

    as_proto_init(&p, &input, "ONNX file", bytes, (size_t)size);
    for (; n < 64; n++) {
        before = p.at;
        rc = as_proto_next(&p, &f, NULL);
        if (rc <= 0 || !plausible(&f, n == 0))
            break;
        telling |= (n == 0 && f.number == 1 && f.value > 0 && f.value < 1000) || f.number == 7;
    }
    if (telling)
        return n > 1 || as_cursor_left(&before) == 0 || plausible_tag(before);
    return n == 0 && plausible_tag(before) && is_binary(bytes, size);
}

static int read_onnx(struct as_model *model, const struct as_mapped_file *file,
                     struct assay_error *err)
{
    struct assay_error unread = {0};
    struct as_onnx r = {.model = model, .file = file, .err = err ? err : &unread};
    struct as_graph *main_graph = NULL;
    struct as_proto message;
    struct head head = {0};
    int rc;

    model->format = AS_FORMAT_ONNX;
    model->has_graph = true;
    model->file_bytes = file->size;
    as_proto_init(&message, &r.input, "ONNX file", file->bytes, (size_t)file->size);
    r.let_go = file->bytes;
    rc = read_head(&r, &message, &head);
    if (rc >= 0)
        tell_versions(model, &head);
    AS_ONNX_STEP(rc, as_onnx_index_functions(&r, &message));
    AS_ONNX_STEP(rc, as_onnx_read_graph(&r, &head.graph, NULL, &main_graph));
    if (main_graph)
        model->graph_name = main_graph->name;
    model->held = r.first_file;
    model->drop = as_onnx_drop_files;
    model->let_go = as_onnx_let_go_files;
    as_hash_map_fini(&r.words);
    as_hash_map_fini(&r.ops);
    as_hash_map_fini(&r.files);
    as_hash_map_fini(&r.function_names);
    as_hash_map_fini(&r.prefixes);
    as_free(r.functions);
    AS_ONNX_STEP(rc, as_model_link(model, err));
    return rc < 0 ? rc : ASSAY_OK;
}

const struct as_format as_format_onnx = {
    .format = AS_FORMAT_ONNX,
    .name = "onnx",
    .is = is_onnx,
    .read = read_onnx,
};
