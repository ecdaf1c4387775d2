/* tests/fuzz/fuzz_graph.h - any bytes as a graph of any operators with any attributes.
 * The numbers a file could hold are drawn from a table of nasty ones; a byte that is not there is
 * 0. */
#ifndef AS_FUZZ_GRAPH_H
#define AS_FUZZ_GRAPH_H

#include <stdint.h>
#include <string.h>

#include "base/cursor.h"
#include "model/graph/graph.h"

enum { MAX_VALUES = 96, MAX_NODES = 12, MAX_INPUTS = 7, MAX_ATTRS = 5, MAX_LIST = 9 };

static const int64_t nasty[] = {0,
                                1,
                                2,
                                3,
                                4,
                                5,
                                8,
                                16,
                                -1,
                                -2,
                                -3,
                                7,
                                33,
                                255,
                                4096,
                                65536,
                                65537,
                                (int64_t)1 << 31,
                                (int64_t)1 << 40,
                                (int64_t)1 << 61,
                                ((int64_t)1 << 62) - 1,
                                (int64_t)1 << 62,
                                INT64_MAX,
                                INT64_MIN,
                                INT64_MIN + 1,
                                -((int64_t)1 << 40)};

static const char *const names[] = {"K",
                                    "N",
                                    "allowzero",
                                    "axes",
                                    "axis",
                                    "batch_dims",
                                    "bits",
                                    "block_size",
                                    "blocksize",
                                    "border",
                                    "ceil_mode",
                                    "center_point_box",
                                    "channels_last",
                                    "dtype",
                                    "end",
                                    "ends",
                                    "equation",
                                    "exclusive",
                                    "fmod",
                                    "group",
                                    "hidden_size",
                                    "inputdimensions",
                                    "inverse",
                                    "k",
                                    "keepdims",
                                    "kv_num_heads",
                                    "largest",
                                    "layout",
                                    "mode",
                                    "n_targets",
                                    "new_axis",
                                    "ngram_indexes",
                                    "noop_with_empty_axes",
                                    "num_groups",
                                    "num_heads",
                                    "num_outputs",
                                    "num_scan_inputs",
                                    "onesided",
                                    "output_datatype",
                                    "output_shape",
                                    "paddings",
                                    "pads",
                                    "perm",
                                    "pooled_shape",
                                    "qkv_hidden_sizes",
                                    "reverse",
                                    "sample_size",
                                    "scales",
                                    "shape",
                                    "sorted",
                                    "split",
                                    "start",
                                    "starts",
                                    "stopwords",
                                    "to",
                                    "transA",
                                    "transB",
                                    "value",
                                    "value_ints",
                                    "value_floats",
                                    "value_strings",
                                    "reduction",
                                    "direction",
                                    "kernel_shape",
                                    "strides",
                                    "dilations",
                                    "auto_pad",
                                    "output_padding",
                                    "storage_order",
                                    "offset",
                                    "sampling_ratio",
                                    "output_height",
                                    "output_width",
                                    "coordinate_transformation_mode",
                                    "keep_aspect_ratio_policy",
                                    "antialias",
                                    "block_row",
                                    "clip",
                                    "input_forget",
                                    "linear_before_reset",
                                    "activations",
                                    "size",
                                    "bias",
                                    "begin_mask",
                                    "end_mask",
                                    "ellipsis_mask",
                                    "new_axis_mask",
                                    "shrink_axis_mask",
                                    "stride_h",
                                    "stride_w",
                                    "filter_height",
                                    "filter_width",
                                    "dilation_h_factor",
                                    "dilation_w_factor",
                                    "padding",
                                    "squeeze_dims",
                                    "new_shape",
                                    "keep_dims",
                                    "classlabels_int64s",
                                    "targets",
                                    "upper",
                                    "saturate",
                                    "select_last_index",
                                    "k_value",
                                    "max",
                                    "min"};

static const char *const words[] = {"ij,jk->ik", "...i,i...->...", "bij,bjk",    "add",
                                    "LEFT",      "NOTSET",         "SAME_UPPER", "VALID",
                                    "wrap",      "reflect",        "linear",     "bidirectional",
                                    "",          "a,b,c",          "...",        "sum",
                                    "CRD",       "nearest",        "max",        "edge"};

struct making {
    struct as_cursor in;
    struct as_model *model;
    struct as_graph *graph; /* nodes and values are made in it; NULL: the main one */
    bool small;             /* most dimensions are 4, so that much of it can run */
    uint32_t inputs[MAX_VALUES];
};

static unsigned byte(struct making *m)
{
    uint8_t b = 0;

    (void)as_take_u8(&m->in, &b);
    return b;
}

static int64_t number(struct making *m)
{
    unsigned b = byte(m);

    return b < (m->small ? 40 : 128) ? nasty[b % (sizeof nasty / sizeof *nasty)] : (int64_t)(b % 8);
}

static int64_t dimension(struct making *m)
{
    static const uint8_t other[] = {0, 1, 2, 3, 5, 7, 8, 12, 16, 1, 2};
    unsigned b = m->small ? byte(m) : 0;

    if (!m->small || b > 250)
        return number(m);
    return b < 128 ? 4 : other[b % sizeof other];
}

static struct as_data *make_data(struct making *m, unsigned dtype, uint64_t n)
{
    struct as_data *data;

    if (dtype == AS_DTYPE_STRING) {
        struct as_text *texts = as_arena_zero(&m->model->arena, n + 1, sizeof *texts);

        data = as_data_new(&m->model->arena, dtype, n);
        for (uint64_t i = 0; texts && i < n; i++)
            texts[i] = (struct as_text){"Abc", byte(m) % 4};
        if (data)
            data->texts = texts;
        return texts ? data : NULL;
    }
    data = as_data_new(&m->model->arena, dtype, n);
    for (uint64_t i = 0; data && i < n && i < 64; i++) {
        if (as_dtype_is_float(dtype))
            as_data_put_f64(data, i, byte(m) & 1 ? (double)number(m) : 0.5);
        else if (as_dtype_at(dtype)->kind != AS_CLASS_BLOCK)
            as_data_put_i64(data, i, number(m));
    }
    return data;
}

static uint32_t make_value(struct making *m, bool typed)
{
    uint32_t id = as_model_add_value(m->model, m->graph ? m->graph : m->model->main, "v", 1, NULL);
    struct as_dims dims = {0};
    struct as_value *value;
    unsigned dtype, flags;
    uint64_t n;

    if (id == AS_NONE || !typed)
        return id;
    value = &m->model->values[id];
    flags = byte(m);
    dtype = byte(m) % (AS_DTYPE_C128 + 2);
    dims.rank = flags % 16 == 15 ? AS_MAX_RANK : (int)(flags % 16 % 6);
    for (int i = 0; i < dims.rank; i++) {
        dims.at[i] = dimension(m);
        if (dims.at[i] < 0)
            dims.at[i] = AS_DIM_UNKNOWN;
    }
    if (!as_type_tensor(&value->type, &m->model->arena, dtype, flags % 32 == 31 ? NULL : &dims))
        return AS_NONE;
    if (flags >= 96 && as_type_elems(&value->type, &n) && n <= 4096 && dtype != AS_DTYPE_UNKNOWN) {
        value->data = make_data(m, dtype, n);
        value->is_initializer = value->data != NULL;
    }
    return id;
}

static void make_list(struct making *m, struct as_attr *attr)
{
    struct as_text *texts = as_arena_zero(&m->model->arena, MAX_LIST, sizeof *texts);
    int64_t *ints = as_arena_zero(&m->model->arena, MAX_LIST, sizeof *ints);
    float *floats = as_arena_zero(&m->model->arena, MAX_LIST, sizeof *floats);

    attr->n = texts && ints && floats ? byte(m) % MAX_LIST : 0;
    for (uint32_t i = 0; i < attr->n; i++) {
        int64_t x = number(m);

        ints[i] = x;
        floats[i] = (float)x;
        texts[i] = (struct as_text){"abc", (size_t)x & 3};
    }
    if (attr->kind == AS_ATTR_INTS)
        attr->ints = ints;
    else if (attr->kind == AS_ATTR_FLOATS)
        attr->floats = floats;
    else
        attr->texts = texts;
}

static void make_attr(struct making *m, struct as_attr *attr)
{
    const char *word;

    attr->name = names[byte(m) % (sizeof names / sizeof *names)];
    attr->kind = (enum as_attr_kind)(byte(m) % AS_ATTR_COUNT);
    switch (attr->kind) {
    case AS_ATTR_INT:
        attr->i = number(m);
        break;
    case AS_ATTR_FLOAT:
        attr->f = (double)number(m);
        break;
    case AS_ATTR_TEXT:
        word = words[byte(m) % (sizeof words / sizeof *words)];
        attr->text = (struct as_text){word, strlen(word)};
        break;
    case AS_ATTR_INTS:
    case AS_ATTR_FLOATS:
    case AS_ATTR_TEXTS:
        make_list(m, attr);
        break;
    case AS_ATTR_TENSOR: {
        unsigned dtype = 1 + byte(m) % AS_DTYPE_C128;
        struct as_dims one = {(int)(byte(m) % 2), {1}};

        attr->data = make_data(m, dtype, 1);
        if (!attr->data || !as_type_tensor(&attr->type, &m->model->arena, dtype, &one))
            attr->kind = AS_ATTR_OTHER;
        break;
    }
    default:
        attr->kind = AS_ATTR_OTHER;
    }
}

static bool make_node(struct making *m, struct as_node *node)
{
    uint32_t n_inputs = byte(m) % (MAX_INPUTS + 1), n_outputs = 1 + byte(m) % 4;
    uint32_t *ids = as_arena_zero(&m->model->arena, MAX_INPUTS + 4, sizeof *ids);
    struct as_attr *attrs = as_arena_zero(&m->model->arena, MAX_ATTRS, sizeof *attrs);
    unsigned op = byte(m) << 8;

    op |= byte(m);
    if (!ids || !attrs)
        return false;
    *node = (struct as_node){.name = "", .domain_name = "", .inputs = ids, .attrs = attrs};
    node->op = (enum as_op)(op % AS_OP_COUNT);
    node->op_name = as_op_name(node->op);
    node->domain_name = as_domain_name(as_op_domain(node->op));
    for (uint32_t i = 0; i < n_inputs; i++) {
        unsigned pick = byte(m);

        ids[i] = pick >= 250 ? AS_NONE : pick % m->model->n_values;
    }
    node->n_inputs = n_inputs;
    node->outputs = ids + n_inputs;
    for (uint32_t i = 0; i < n_outputs; i++) {
        ids[n_inputs + i] = byte(m) < 16 ? AS_NONE : make_value(m, false);
        node->n_outputs++;
    }
    for (node->n_attrs = 0; node->n_attrs < byte(m) % (MAX_ATTRS + 1);)
        make_attr(m, &attrs[node->n_attrs++]);
    return true;
}

#endif
