/* model/cost/attention_mask.c - tells whether a mask keeps the lower triangle, by looking at what
 * it is made of: a constant triangle, a Trilu, or positions compared with positions. */
#include "model/cost/attention.h"
#include "model/weights/parameters.h"

enum {
    MAX_LOOKED_AT = 128,
    MAX_ROWS = 16,
    MAX_COLUMNS = 1 << 20,
    MAX_INPUTS = 64,
    MAX_POSITION_DEPTH = 10
};

static const struct as_node *producer(const struct as_model *model, uint32_t id)
{
    const struct as_value *value = &model->values[id];

    if (value->producer == AS_NONE || !value->graph || value->producer >= value->graph->n_nodes)
        return NULL;
    return &value->graph->nodes[value->producer];
}

struct triangle {
    const struct as_data *data;
    uint64_t rows, columns;
    bool by_sign; /* 0 and very negative numbers, instead of 0 and something else */
};

static bool is_set(const struct triangle *t, uint64_t i)
{
    double x = as_data_f64(t->data, i);

    return t->by_sign ? x > -1e3 : x < 0 || x > 0;
}

/* Those up to the edge are alike and the rest otherwise. */
static bool row_is_cut(const struct triangle *t, uint64_t row, bool kept)
{
    uint64_t edge = t->columns - t->rows + row;

    for (uint64_t c = 0; c < t->columns; c++)
        if (is_set(t, row * t->columns + c) != (c <= edge ? kept : !kept))
            return false;
    return true;
}

/* Some rows of the first matrix, its first and last among them; true above or true below. */
static bool is_triangle(const struct as_value *value)
{
    const struct as_type *type = &value->type;
    struct triangle t = {.data = value->data};
    uint64_t step;
    bool kept;

    if (!t.data || !t.data->bytes || t.data->partial || type->kind != AS_VALUE_TENSOR ||
        type->rank < 2 || t.data->dtype == AS_DTYPE_STRING ||
        as_dtype_at(t.data->dtype)->kind == AS_CLASS_BLOCK ||
        as_dtype_at(t.data->dtype)->kind == AS_CLASS_COMPLEX)
        return false;
    t.rows = (uint64_t)type->dims[type->rank - 2];
    t.columns = (uint64_t)type->dims[type->rank - 1];
    if (t.rows < 2 || t.columns < t.rows || t.columns > MAX_COLUMNS ||
        t.data->n / t.columns < t.rows)
        return false;
    t.by_sign =
        as_dtype_is_float(t.data->dtype) && as_data_f64(t.data, t.columns - t.rows + 1) < -1e3;
    kept = is_set(&t, 0);
    step = t.rows <= MAX_ROWS ? 1 : t.rows / MAX_ROWS;
    for (uint64_t r = 0; r < t.rows; r += step)
        if (!row_is_cut(&t, r, kept))
            return false;
    return row_is_cut(&t, t.rows - 1, kept);
}

/* 0, 1, 2 ... */
static bool is_count(const struct as_value *value)
{
    const struct as_data *data = value->data;

    if (!data || !data->bytes || data->partial || data->n < 2 || !as_dtype_is_integer(data->dtype))
        return false;
    for (uint64_t i = 0; i < data->n && i < 64; i++)
        if (as_data_i64(data, i) != (int64_t)i)
            return false;
    return true;
}

static bool hands_positions_on(enum as_op op)
{
    return op == AS_OP_Unsqueeze || op == AS_OP_Reshape || op == AS_OP_Cast || op == AS_OP_Add ||
           op == AS_OP_Sub || op == AS_OP_Expand || op == AS_OP_Transpose || op == AS_OP_Squeeze ||
           op == AS_OP_Slice || op == AS_OP_Identity || op == AS_OP_Where || op == AS_OP_Mul;
}

/* Depth is limited, and only these operators are followed. */
static bool is_position(const struct as_model *model, uint32_t id, int depth)
{
    const struct as_node *node;

    if (id == AS_NONE || depth > MAX_POSITION_DEPTH)
        return false;
    node = producer(model, id);
    if (!node || node->op == AS_OP_Constant)
        return is_count(&model->values[id]);
    if (node->op == AS_OP_Range || node->op == AS_OP_MS_Range || node->op == AS_OP_CumSum)
        return true;
    if (!hands_positions_on(node->op))
        return false;
    for (uint32_t i = 0; i < node->n_inputs && i < 2; i++)
        if (is_position(model, node->inputs[i], depth + 1))
            return true;
    return false;
}

static bool compares_order(enum as_op op)
{
    return op == AS_OP_Less || op == AS_OP_LessOrEqual || op == AS_OP_Greater ||
           op == AS_OP_GreaterOrEqual;
}

/* Behind these a mask does not go on: what they make is no mask, or a size. */
static bool ends_mask(enum as_op op)
{
    return op == AS_OP_Shape || op == AS_OP_Size || op == AS_OP_MatMul || op == AS_OP_Gemm ||
           op == AS_OP_Conv || op == AS_OP_Softmax || op == AS_OP_LayerNormalization ||
           op == AS_OP_Range || op == AS_OP_If || op == AS_OP_Loop;
}

bool as_mask_is_causal(const struct as_model *model, uint32_t value)
{
    uint32_t stack[MAX_LOOKED_AT], n = 0, done = 0;

    stack[n++] = value;
    while (done < n) {
        uint32_t id = stack[done++];
        const struct as_node *node = producer(model, id);

        if (!node || node->op == AS_OP_Constant) {
            if (is_triangle(&model->values[id]))
                return true;
            continue;
        }
        if (node->op == AS_OP_Trilu || node->op == AS_OP_MS_Trilu)
            return true;
        if (compares_order(node->op) && node->n_inputs == 2 &&
            is_position(model, node->inputs[0], 0) && is_position(model, node->inputs[1], 0))
            return true;
        if (ends_mask(node->op))
            continue;
        for (uint32_t i = 0; i < node->n_inputs && i < MAX_INPUTS; i++) {
            bool seen = node->inputs[i] == AS_NONE;

            for (uint32_t k = 0; k < n && !seen; k++)
                seen = stack[k] == node->inputs[i];
            if (!seen && n < MAX_LOOKED_AT)
                stack[n++] = node->inputs[i];
        }
    }
    return false;
}
