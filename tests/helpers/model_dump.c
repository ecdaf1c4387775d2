/* tests/helpers/model_dump.c - prints a model as JSON: nodes, values, attributes, checksums of
 * data. usage: model_dump FILE...; ends with status 3 and a sentence when one cannot be read. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/json/json_writer.h"
#include "format/model_file.h"

enum { PIECE_BYTES = 65536 };

static void put_type(struct as_json_writer *w, const struct as_type *type, int depth)
{
    static const char *const kinds[] = {"tensor", "sequence", "optional", "map"};

    as_json_object(w);
    as_json_kv_text(w, "kind", kinds[type->kind]);
    if (type->kind == AS_VALUE_TENSOR) {
        as_json_kv_text(w, "dtype", as_dtype_name(type->dtype));
        as_json_key(w, "dims");
        if (type->rank < 0) {
            as_json_null(w);
        } else {
            as_json_array(w);
            for (int i = 0; i < type->rank; i++)
                if (type->dims[i] < 0)
                    as_json_null(w);
                else
                    as_json_i64(w, type->dims[i]);
            as_json_array_end(w);
        }
    } else if (type->elems && depth < 8) {
        as_json_key(w, "elem");
        put_type(w, type->elems, depth + 1);
    }
    as_json_object_end(w);
}

/* CRC-32C of all elements, read in pieces as a user of the data would. */
static int checksum(const struct as_data *data, uint32_t *crc, struct assay_error *err)
{
    static uint8_t piece[PIECE_BYTES];
    const struct as_dtype_info *info = as_dtype_at(data->dtype);
    uint64_t step, bytes;

    *crc = 0;
    if (data->dtype == AS_DTYPE_STRING) {
        for (uint64_t i = 0; i < data->n; i++)
            *crc = as_crc32c(*crc, data->texts[i].at, data->texts[i].size);
        return ASSAY_OK;
    }
    step = sizeof piece / info->block_bytes * info->block_elems;
    for (uint64_t at = 0; at < data->n; at += step) {
        uint64_t n = data->n - at < step ? data->n - at : step;
        int rc = as_data_read(data, at, n, piece, err);

        if (rc < 0)
            return rc;
        (void)as_dtype_bytes(data->dtype, n, &bytes);
        *crc = as_crc32c(*crc, piece, (size_t)bytes);
    }
    return ASSAY_OK;
}

static int put_data(struct as_json_writer *w, const struct as_data *data, struct assay_error *err)
{
    uint32_t crc = 0;
    int rc = checksum(data, &crc, err);

    as_json_object(w);
    as_json_kv_text(w, "dtype", as_dtype_name(data->dtype));
    as_json_kv_u64(w, "n", data->n);
    as_json_kv_u64(w, "stored", data->stored_elems);
    as_json_kv_u64(w, "bytes", data->size_bytes);
    as_json_kv_u64(w, "crc", crc);
    as_json_object_end(w);
    return rc;
}

static int put_graph(struct as_json_writer *w, const struct as_graph *graph,
                     struct assay_error *err);

static int put_attr(struct as_json_writer *w, const struct as_attr *attr, struct assay_error *err)
{
    static const char *const kinds[] = {"int",  "float",  "text",  "tensor", "graph",
                                        "ints", "floats", "texts", "type",   "other"};
    int rc = ASSAY_OK;

    as_json_object(w);
    as_json_kv_text(w, "name", attr->name);
    as_json_kv_text(w, "kind", kinds[attr->kind]);
    as_json_key(w, "value");
    switch (attr->kind) {
    case AS_ATTR_INT:
        as_json_i64(w, attr->i);
        break;
    case AS_ATTR_FLOAT:
        as_json_f64(w, attr->f);
        break;
    case AS_ATTR_TEXT:
        as_json_text_n(w, attr->text.at, attr->text.size);
        break;
    case AS_ATTR_TENSOR:
        as_json_object(w);
        as_json_key(w, "type");
        put_type(w, &attr->type, 0);
        as_json_key(w, "data");
        rc = put_data(w, attr->data, err);
        as_json_object_end(w);
        break;
    case AS_ATTR_GRAPH:
        rc = put_graph(w, attr->graph, err);
        break;
    case AS_ATTR_TYPE:
        put_type(w, &attr->type, 0);
        break;
    case AS_ATTR_INTS:
    case AS_ATTR_FLOATS:
    case AS_ATTR_TEXTS:
        as_json_array(w);
        for (uint32_t i = 0; i < attr->n; i++)
            if (attr->kind == AS_ATTR_INTS)
                as_json_i64(w, attr->ints[i]);
            else if (attr->kind == AS_ATTR_FLOATS)
                as_json_f64(w, (double)attr->floats[i]);
            else
                as_json_text_n(w, attr->texts[i].at, attr->texts[i].size);
        as_json_array_end(w);
        break;
    default:
        as_json_null(w);
        break;
    }
    as_json_object_end(w);
    return rc;
}

static void put_ids(struct as_json_writer *w, const char *key, const struct as_model *model,
                    const uint32_t *ids, uint32_t n)
{
    as_json_kv_array(w, key);
    for (uint32_t i = 0; i < n; i++)
        as_json_text(w, ids[i] == AS_NONE ? "" : model->values[ids[i]].name);
    as_json_array_end(w);
}

static int put_node(struct as_json_writer *w, const struct as_model *model,
                    const struct as_node *node, struct assay_error *err)
{
    int rc = ASSAY_OK;

    as_json_object(w);
    as_json_kv_text(w, "name", node->name);
    as_json_kv_text(w, "op", node->op_name);
    as_json_kv_text(w, "domain", node->domain_name);
    as_json_kv_bool(w, "known", node->op != AS_OP_UNKNOWN);
    put_ids(w, "inputs", model, node->inputs, node->n_inputs);
    put_ids(w, "outputs", model, node->outputs, node->n_outputs);
    as_json_kv_array(w, "attrs");
    for (uint32_t i = 0; i < node->n_attrs && rc == ASSAY_OK; i++)
        rc = put_attr(w, &node->attrs[i], err);
    as_json_array_end(w);
    as_json_object_end(w);
    return rc;
}

/* The values of one graph, constants with the checksum of their data. */
static int put_values(struct as_json_writer *w, const struct as_graph *graph,
                      struct assay_error *err)
{
    const struct as_model *model = graph->model;
    int rc = ASSAY_OK;

    as_json_kv_array(w, "values");
    for (uint32_t i = 0; i < model->n_values && rc == ASSAY_OK; i++) {
        const struct as_value *value = &model->values[i];

        if (value->graph != graph)
            continue;
        as_json_object(w);
        as_json_kv_text(w, "name", value->name);
        as_json_key(w, "type");
        put_type(w, &value->type, 0);
        as_json_kv_bool(w, "initializer", value->is_initializer);
        if (value->symbols) {
            as_json_kv_array(w, "symbols");
            for (int d = 0; d < value->type.rank; d++)
                as_json_text(w, value->symbols[d]);
            as_json_array_end(w);
        }
        if (value->data) {
            as_json_key(w, "data");
            rc = put_data(w, value->data, err);
        }
        as_json_object_end(w);
    }
    as_json_array_end(w);
    return rc;
}

static int put_graph(struct as_json_writer *w, const struct as_graph *graph,
                     struct assay_error *err)
{
    const struct as_model *model = graph->model;
    int rc;

    as_json_object(w);
    as_json_kv_text(w, "name", graph->name);
    put_ids(w, "inputs", model, graph->inputs, graph->n_inputs);
    put_ids(w, "outputs", model, graph->outputs, graph->n_outputs);
    rc = put_values(w, graph, err);
    as_json_kv_array(w, "nodes");
    for (uint32_t i = 0; i < graph->n_nodes && rc == ASSAY_OK; i++)
        rc = put_node(w, model, &graph->nodes[i], err);
    as_json_array_end(w);
    as_json_object_end(w);
    return rc;
}

static int put_model(struct as_json_writer *w, const struct as_model *model,
                     struct assay_error *err)
{
    int rc;

    as_json_object(w);
    as_json_kv_text(w, "producer", model->producer);
    as_json_kv_i64(w, "ir_version", model->ir_version);
    as_json_kv_array(w, "opsets");
    for (size_t i = 0; i < model->n_opsets; i++) {
        as_json_object(w);
        as_json_kv_text(w, "domain", model->opsets[i].domain);
        as_json_kv_i64(w, "version", model->opsets[i].version);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_kv_object(w, "meta");
    for (size_t i = 0; i < model->n_meta; i++)
        as_json_kv_text(w, model->meta[i].key, model->meta[i].value);
    as_json_object_end(w);
    as_json_kv_array(w, "findings");
    for (const struct as_finding *f = model->findings; f; f = f->next)
        as_json_text(w, f->text);
    as_json_array_end(w);
    as_json_key(w, "graph");
    rc = put_graph(w, model->main, err);
    as_json_object_end(w);
    return rc;
}

/* One line of JSON on standard output. */
static int dump(const char *path, struct assay_error *err)
{
    struct as_model *model = NULL;
    struct as_json_writer w;
    struct as_out out = {.fd = -1};
    int rc = as_model_open(&model, path, err);

    if (rc == ASSAY_OK)
        rc = as_out_fd(&out, STDOUT_FILENO, "standard output", err);
    if (rc < 0)
        goto out;
    as_json_writer_init(&w, &out, 0);
    rc = put_model(&w, model, err);
    if (rc == ASSAY_OK)
        rc = as_json_writer_finish(&w, err);
    as_out_char(&out, '\n');
    if (rc == ASSAY_OK)
        rc = as_out_close(&out, err);
out:
    as_out_drop(&out);
    as_model_free(model);
    return rc;
}

/* For measuring: nothing is written, no data is read. */
static int open_one(const char *path, struct assay_error *err)
{
    struct as_model *model = NULL;
    int rc = as_model_open(&model, path, err);

    as_model_free(model);
    return rc;
}

int main(int argc, char **argv)
{
    bool open_only = argc > 1 && strcmp(argv[1], "--open") == 0;
    struct assay_error err;
    int status = 0;

    for (int i = open_only ? 2 : 1; i < argc; i++)
        if ((open_only ? open_one(argv[i], &err) : dump(argv[i], &err)) < 0) {
            fprintf(stderr, "assay: %s\n", err.msg);
            status = 3;
        }
    return status;
}
