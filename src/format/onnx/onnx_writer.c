/* format/onnx/onnx_writer.c - a model as an ONNX file. Numbers are read and written in pieces, so a
 * model larger than memory can be written. Field numbers are those in the readers' comments. */
#include "format/onnx/onnx_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/proto/protobuf_writer.h"
#include "format/onnx/onnx_reader.h"

enum {
    PIECE_BYTES = 65536,
    EXTERNAL_FROM = 1024, /* smaller tensors stay in the file */
    EXTERNAL_GRAIN = 64,
    DEFAULT_IR = 8,
    DEFAULT_OPSET = 17,
    OFFSET_DIGITS = 20,
};

/* What the functions that put messages share. The first failure is kept. */
struct writing {
    const struct as_model *model;
    struct as_out *data;       /* of external data, or NULL */
    const char *data_name;     /* as the file shall name it */
    struct as_hash_map graphs; /* graph -> its first value */
    uint32_t *next;            /* value -> the next of the same graph */
    struct assay_error err;
    int rc;
};

static struct writing *ctx_of(const struct as_protobuf *p)
{
    return p->ctx;
}

static void stop(struct writing *w, int rc)
{
    if (w->rc == ASSAY_OK)
        w->rc = rc;
}

/* Every tensor of an ONNX file has a name. */
static void put_value_name(struct as_protobuf *p, uint32_t field, uint32_t id)
{
    const struct as_model *model = ctx_of(p)->model;
    char made[32];

    if (id == AS_NONE) {
        as_protobuf_string(p, field, "");
    } else if (model->values[id].name[0]) {
        as_protobuf_string(p, field, model->values[id].name);
    } else {
        (void)snprintf(made, sizeof made, "assay_tensor_%u", (unsigned)id);
        as_protobuf_string(p, field, made);
    }
}

/* A named tensor on its way out. */
struct tensor_item {
    const char *name;
    uint32_t id; /* of a value; AS_NONE: none */
    const struct as_type *type;
    const struct as_data *data;
};

struct pair {
    const char *key, *value;
};

static void put_pair(struct as_protobuf *p, const void *what)
{
    const struct pair *pair = what;

    as_protobuf_string(p, 1, pair->key);
    as_protobuf_string(p, 2, pair->value);
}

/* All bytes of the data into `out`, in pieces. */
static void stream(struct writing *w, const struct as_data *data, struct as_protobuf *to)
{
    const struct as_dtype_info *info = as_dtype_at(data->dtype);
    uint64_t step = (uint64_t)PIECE_BYTES / info->block_bytes * info->block_elems, bytes = 0;
    uint8_t piece[PIECE_BYTES];

    for (uint64_t at = 0; at < data->n && w->rc == ASSAY_OK && as_out_ok(to->out); at += step) {
        uint64_t n = data->n - at < step ? data->n - at : step;
        int rc = as_data_read(data, at, n, piece, &w->err);

        if (rc < 0) {
            stop(w, rc);
            return;
        }
        (void)as_dtype_bytes(data->dtype, n, &bytes);
        as_protobuf_raw(to, piece, (size_t)bytes);
    }
}

/* The places of external data have a fixed width, so that measuring does not need to know them. */
static void put_external(struct as_protobuf *p, const struct as_data *data)
{
    struct writing *w = ctx_of(p);
    static const char zeros[EXTERNAL_GRAIN];
    char offset[OFFSET_DIGITS + 1], length[OFFSET_DIGITS + 1];
    struct as_protobuf to = {.out = w->data};
    uint64_t at = w->data->total_bytes, pad = -at % EXTERNAL_GRAIN;

    (void)snprintf(offset, sizeof offset, "%0*" PRIu64, OFFSET_DIGITS, p->out ? at + pad : 0);
    (void)snprintf(length, sizeof length, "%0*" PRIu64, OFFSET_DIGITS, data->size_bytes);
    as_protobuf_message(p, 13, put_pair, &(struct pair){"location", w->data_name});
    as_protobuf_message(p, 13, put_pair, &(struct pair){"offset", offset});
    as_protobuf_message(p, 13, put_pair, &(struct pair){"length", length});
    as_protobuf_u64(p, 14, 1);
    if (!p->out)
        return;
    as_protobuf_raw(&to, zeros, (size_t)pad);
    stream(w, data, &to);
}

static void put_tensor(struct as_protobuf *p, const void *what)
{
    const struct tensor_item *item = what;
    struct writing *w = ctx_of(p);
    unsigned number = as_onnx_dtype_number(item->data->dtype);

    for (int i = 0; i < item->type->rank; i++)
        as_protobuf_u64(p, 1, (uint64_t)item->type->dims[i]);
    as_protobuf_u64(p, 2, number);
    if (item->data->dtype == AS_DTYPE_STRING) {
        for (uint64_t i = 0; i < item->data->n; i++)
            as_protobuf_bytes(p, 6, item->data->texts[i].at, item->data->texts[i].size);
    }
    if (item->id != AS_NONE)
        put_value_name(p, 8, item->id);
    if (number == 0) {
        stop(w, as_fail(&w->err, ASSAY_ERR_UNSUPPORTED,
                        "tensor '%.80s' is of %s, which ONNX does not have", item->name,
                        as_dtype_name(item->data->dtype)));
    } else if (item->data->dtype == AS_DTYPE_STRING) {
        return;
    } else if (w->data && item->data->size_bytes > EXTERNAL_FROM) {
        put_external(p, item->data);
    } else {
        as_protobuf_head(p, 9, item->data->size_bytes);
        if (p->out)
            stream(w, item->data, p);
        else
            p->size += item->data->size_bytes;
    }
}

/* A type with the symbols of its dimensions. */
struct type_item {
    const struct as_type *type;
    const char *const *symbols;
    bool batch_first; /* its first dimension counts samples */
};

struct dim_item {
    int64_t value;
    const char *symbol;
    bool is_batch;
};

static void put_dim(struct as_protobuf *p, const void *what)
{
    const struct dim_item *dim = what;
    bool declared = dim->symbol && strcmp(dim->symbol, AS_DATA_BATCH) == 0;

    if (dim->symbol && !declared)
        as_protobuf_string(p, 2, dim->symbol);
    else if (dim->value >= 0)
        as_protobuf_u64(p, 1, (uint64_t)dim->value);
    if (dim->is_batch || declared)
        as_protobuf_string(p, 3, AS_DATA_BATCH);
}

static void put_shape(struct as_protobuf *p, const void *what)
{
    const struct type_item *item = what;

    for (int i = 0; i < item->type->rank; i++)
        as_protobuf_message(p, 1, put_dim,
                            &(struct dim_item){item->type->dims[i],
                                               item->symbols ? item->symbols[i] : NULL,
                                               item->batch_first && i == 0});
}

static void put_tensor_type(struct as_protobuf *p, const void *what)
{
    const struct type_item *item = what;

    as_protobuf_u64(p, 1, as_onnx_dtype_number(item->type->dtype));
    if (item->type->rank >= 0)
        as_protobuf_message(p, 2, put_shape, item);
}

static void put_type(struct as_protobuf *p, const void *what);

static void put_element_type(struct as_protobuf *p, const void *what)
{
    const struct type_item *item = what;

    if (item->type->elems)
        as_protobuf_message(p, 1, put_type, &(struct type_item){.type = item->type->elems});
}

static void put_type(struct as_protobuf *p, const void *what)
{
    const struct type_item *item = what;

    switch (item->type->kind) {
    case AS_VALUE_TENSOR:
        as_protobuf_message(p, 1, put_tensor_type, item);
        break;
    case AS_VALUE_SEQUENCE:
        as_protobuf_message(p, 4, put_element_type, item);
        break;
    case AS_VALUE_OPTIONAL:
        as_protobuf_message(p, 9, put_element_type, item);
        break;
    default: /* a map's key type is not kept, so nothing is reported */
        break;
    }
}

static bool is_known(const struct as_type *type)
{
    if (type->kind == AS_VALUE_TENSOR)
        return as_onnx_dtype_number(type->dtype) != 0;
    return (type->kind == AS_VALUE_SEQUENCE || type->kind == AS_VALUE_OPTIONAL) && type->elems &&
           type->n_elems != 0 && is_known(type->elems);
}

static void put_info(struct as_protobuf *p, const void *what)
{
    const uint32_t *id = what;
    const struct as_model *model = ctx_of(p)->model;
    const struct as_value *value = &model->values[*id];
    bool built = model->format == AS_FORMAT_BUILT || model->format == AS_FORMAT_TFLITE;

    put_value_name(p, 1, *id);
    if (is_known(&value->type))
        as_protobuf_message(p, 2, put_type,
                            &(struct type_item){&value->type, value->symbols,
                                                built && value->is_input && value->type.rank > 0});
}

static void put_graph(struct as_protobuf *p, const void *what);

/* An attribute and the node it is of. */
struct attr_item {
    const struct as_attr *attr;
    const struct as_node *node;
};

static void put_lists(struct as_protobuf *p, const struct as_attr *attr)
{
    for (uint32_t i = 0; i < attr->n; i++)
        if (attr->kind == AS_ATTR_INTS)
            as_protobuf_u64(p, 8, (uint64_t)attr->ints[i]);
        else if (attr->kind == AS_ATTR_FLOATS)
            as_protobuf_f32(p, 7, attr->floats[i]);
        else if (attr->kind == AS_ATTR_TEXTS)
            as_protobuf_bytes(p, 9, attr->texts[i].at, attr->texts[i].size);
}

/* By our kind: the number the file says. */
static const uint8_t attr_numbers[] = {
    [AS_ATTR_INT] = 2,   [AS_ATTR_FLOAT] = 1, [AS_ATTR_TEXT] = 3,   [AS_ATTR_TENSOR] = 4,
    [AS_ATTR_GRAPH] = 5, [AS_ATTR_INTS] = 7,  [AS_ATTR_FLOATS] = 6, [AS_ATTR_TEXTS] = 8,
    [AS_ATTR_TYPE] = 13, [AS_ATTR_OTHER] = 0,
};
_Static_assert(sizeof attr_numbers == AS_ATTR_COUNT, "a number for every kind");

static void put_attr(struct as_protobuf *p, const void *what)
{
    const struct attr_item *item = what;
    const struct as_attr *attr = item->attr;
    struct writing *w = ctx_of(p);
    /* A sparse constant is written dense. */
    bool sparse = item->node->op == AS_OP_Constant && strcmp(attr->name, "sparse_value") == 0;

    as_protobuf_string(p, 1, sparse ? "value" : attr->name);
    switch (attr->kind) {
    case AS_ATTR_FLOAT:
        as_protobuf_f32(p, 2, (float)attr->f);
        break;
    case AS_ATTR_INT:
        as_protobuf_u64(p, 3, (uint64_t)attr->i);
        break;
    case AS_ATTR_TEXT:
        as_protobuf_bytes(p, 4, attr->text.at, attr->text.size);
        break;
    case AS_ATTR_TENSOR:
        as_protobuf_message(p, 5, put_tensor,
                            &(struct tensor_item){attr->name, AS_NONE, &attr->type, attr->data});
        break;
    case AS_ATTR_GRAPH:
        as_protobuf_message(p, 6, put_graph, attr->graph);
        break;
    case AS_ATTR_TYPE:
        as_protobuf_message(p, 14, put_type, &(struct type_item){.type = &attr->type});
        break;
    case AS_ATTR_OTHER:
    case AS_ATTR_COUNT:
        stop(w, as_fail(&w->err, ASSAY_ERR_UNSUPPORTED,
                        "attribute '%.60s' of node '%.80s' is of a kind that cannot be written",
                        attr->name, item->node->name));
        return;
    default:
        put_lists(p, attr);
        break;
    }
    as_protobuf_u64(p, 20, attr_numbers[attr->kind]);
}

static void put_node(struct as_protobuf *p, const void *what)
{
    const struct as_node *node = what;
    struct writing *w = ctx_of(p);

    if (as_node_is_lowered(node))
        stop(w, as_fail(&w->err, ASSAY_ERR_UNSUPPORTED,
                        "node '%.80s' is TensorFlow Lite's %.40s, which ONNX does not have",
                        node->name, node->op_name));
    for (uint32_t i = 0; i < node->n_inputs; i++)
        put_value_name(p, 1, node->inputs[i]);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        put_value_name(p, 2, node->outputs[i]);
    as_protobuf_name(p, 3, node->name);
    as_protobuf_string(p, 4, node->op_name);
    for (uint32_t i = 0; i < node->n_attrs; i++)
        as_protobuf_message(p, 5, put_attr, &(struct attr_item){&node->attrs[i], node});
    as_protobuf_name(p, 7, node->domain_name);
}

/* The first value of a graph, or AS_NONE; the next follow by w->next. */
static uint32_t first_value(const struct writing *w, const struct as_graph *graph)
{
    const uint64_t *first = as_hash_map_find(&w->graphs, (const char *)&graph, sizeof(void *));

    return first ? (uint32_t)*first : AS_NONE;
}

static void put_constants(struct as_protobuf *p, const struct as_graph *graph)
{
    const struct writing *w = ctx_of(p);

    for (uint32_t i = first_value(w, graph); i != AS_NONE; i = w->next[i]) {
        const struct as_value *value = &w->model->values[i];

        if (value->data && value->producer == AS_NONE)
            as_protobuf_message(p, 5, put_tensor,
                                &(struct tensor_item){value->name, i, &value->type, value->data});
    }
}

static void put_infos(struct as_protobuf *p, const struct as_graph *graph)
{
    const struct writing *w = ctx_of(p);

    for (uint32_t i = first_value(w, graph); i != AS_NONE; i = w->next[i]) {
        const struct as_value *value = &w->model->values[i];

        if (value->producer != AS_NONE && !value->is_output && is_known(&value->type))
            as_protobuf_message(p, 13, put_info, &i);
    }
}

/* Bodies are limited in depth where they are made, so this may call itself. */
static void put_graph(struct as_protobuf *p, const void *what)
{
    const struct as_graph *graph = what;

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        as_protobuf_message(p, 1, put_node, &graph->nodes[i]);
    as_protobuf_string(p, 2, graph->name[0] ? graph->name : "graph");
    put_constants(p, graph);
    for (uint32_t i = 0; i < graph->n_inputs; i++)
        as_protobuf_message(p, 11, put_info, &graph->inputs[i]);
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        as_protobuf_message(p, 12, put_info, &graph->outputs[i]);
    put_infos(p, graph);
}

static void put_opset(struct as_protobuf *p, const void *what)
{
    const struct as_model_opset *opset = what;

    as_protobuf_name(p, 1, opset->domain);
    as_protobuf_u64(p, 2, (uint64_t)opset->version);
}

static void put_opsets(struct as_protobuf *p, const struct as_model *model)
{
    for (size_t i = 0; i < model->n_opsets; i++)
        as_protobuf_message(p, 8, put_opset, &model->opsets[i]);
    if (model->n_opsets == 0)
        as_protobuf_message(
            p, 8, put_opset,
            &(struct as_model_opset){"", model->opset > 0 ? model->opset : DEFAULT_OPSET});
}

static void put_model(struct as_protobuf *p, const void *what)
{
    const struct as_model *model = what;

    as_protobuf_u64(p, 1, (uint64_t)(model->ir_version > 0 ? model->ir_version : DEFAULT_IR));
    as_protobuf_name(p, 2, model->format == AS_FORMAT_BUILT ? "assay" : model->producer);
    as_protobuf_message(p, 7, put_graph, model->main);
    put_opsets(p, model);
    for (size_t i = 0; i < model->n_meta; i++)
        as_protobuf_message(p, 14, put_pair,
                            &(struct pair){model->meta[i].key, model->meta[i].value});
}

/* Chains the values of each graph, in order. */
static int chain_values(struct writing *w)
{
    const struct as_model *model = w->model;

    w->next = as_alloc((model->n_values + 1) * sizeof *w->next);
    if (!w->next)
        return as_fail_nomem(&w->err);
    for (uint32_t i = model->n_values; i-- > 0;) {
        const char *key = (const char *)&model->values[i].graph;
        uint64_t *first = as_hash_map_find(&w->graphs, key, sizeof(void *));

        w->next[i] = first ? (uint32_t)*first : AS_NONE;
        if (first)
            *first = i;
        else if (as_hash_map_put(&w->graphs, key, sizeof(void *), i) < 0)
            return as_fail_nomem(&w->err);
    }
    return ASSAY_OK;
}

static int write_all(struct writing *w, struct as_out *out)
{
    struct as_protobuf measure = {.measure = true, .ctx = w}, real = {.out = out, .ctx = w};

    if (!w->model->has_graph && w->model->format != AS_FORMAT_BUILT)
        return as_fail(&w->err, ASSAY_ERR_UNSUPPORTED,
                       "the model has weights but no graph, so it cannot be written as ONNX");
    if (!w->model->main)
        return as_fail(&w->err, ASSAY_ERR_UNSUPPORTED, "the model has no graph");
    w->rc = chain_values(w);
    if (w->rc == ASSAY_OK)
        put_model(&measure, w->model);
    if (w->rc == ASSAY_OK && measure.size > INT32_MAX)
        stop(w, as_fail(&w->err, ASSAY_ERR_LIMIT,
                        "the ONNX file would have %llu bytes, and 2 GB is the most it can have: "
                        "write it with external data",
                        (unsigned long long)measure.size));
    if (w->rc == ASSAY_OK)
        put_model(&real, w->model);
    return w->rc;
}

static int finish(struct writing *w, int rc, struct assay_error *err)
{
    as_free(w->next);
    as_hash_map_fini(&w->graphs);
    if (rc < 0 && err)
        *err = w->err;
    return rc;
}

int as_onnx_write(const struct as_model *model, struct as_out *out, struct assay_error *err)
{
    struct writing w = {.model = model};

    return finish(&w, write_all(&w, out), err);
}

/* PATH.data, and how a file beside it names it. */
static char *data_path(const char *path, const char **name)
{
    size_t size = strlen(path);
    char *full = as_alloc(size + sizeof ".data");
    const char *slash;

    if (!full)
        return NULL;
    (void)snprintf(full, size + sizeof ".data", "%s.data", path);
    slash = strrchr(full, '/');
    *name = slash ? slash + 1 : full;
    return full;
}

int as_onnx_save(const struct as_model *model, const char *path, bool external,
                 struct assay_error *err)
{
    struct writing w = {.model = model};
    struct as_out out = {.fd = -1}, data = {.fd = -1};
    char *beside = NULL;
    int rc = as_out_file(&out, path, &w.err);

    if (rc == ASSAY_OK && external) {
        beside = data_path(path, &w.data_name);
        rc = beside ? as_out_file(&data, beside, &w.err) : as_fail_nomem(&w.err);
        w.data = &data;
    }
    if (rc == ASSAY_OK)
        rc = write_all(&w, &out);
    /* The data first: a model whose data is not there is of no use. */
    if (rc == ASSAY_OK && external)
        rc = as_out_close(&data, &w.err);
    if (rc == ASSAY_OK)
        rc = as_out_close(&out, &w.err);
    as_out_drop(&data);
    as_out_drop(&out);
    as_free(beside);
    return finish(&w, rc, err);
}
