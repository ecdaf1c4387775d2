/* model/memory/optimizer_state.c - what an optimizer remembers of every weight.
 * States are f32 whatever the weights are, but for the 8-bit ones. */
#include "model/memory/train_memory.h"

#include "base/cursor.h"
#include "base/units.h"

enum { STATE_BYTES = 4, BLOCK_ELEMS = 2048 };

static const struct {
    const char *name;
    unsigned states;
} optimizers[] = {
#define X(name, word, states) [AS_OPTIMIZER_##name] = {word, states},
    AS_OPTIMIZERS(X)
#undef X
};
_Static_assert(AS_COUNT_OF(optimizers) == AS_OPTIMIZER_COUNT, "name every one");

const char *as_optimizer_name(enum as_optimizer optimizer)
{
    return (unsigned)optimizer < AS_OPTIMIZER_COUNT ? optimizers[optimizer].name : "?";
}

bool as_param_is_trained(const struct as_model *model, const struct as_param *param)
{
    return param->role == AS_ROLE_PARAMETER && param->elems > 0 &&
           as_dtype_is_float(model->values[param->value].type.dtype);
}

/* One byte an element and one f32 a block that was begun. */
static bool small_bytes(uint64_t n, unsigned states, uint64_t *bytes)
{
    uint64_t blocks = n / BLOCK_ELEMS + (n % BLOCK_ELEMS != 0), one;

    return as_mul_u64(blocks, STATE_BYTES, &one) && as_add_u64(one, n, &one) &&
           as_mul_u64(one, states, bytes);
}

static bool factored_bytes(const struct as_type *type, uint64_t n, uint64_t *bytes)
{
    uint64_t rows, columns, matrices, sum;

    if (type->kind != AS_VALUE_TENSOR || type->rank < 2 || !as_type_is_static(type))
        return as_mul_u64(n, STATE_BYTES, bytes);
    rows = (uint64_t)type->dims[type->rank - 2];
    columns = (uint64_t)type->dims[type->rank - 1];
    if (rows == 0 || columns == 0 || n % rows || n / rows % columns)
        return as_mul_u64(n, STATE_BYTES, bytes);
    matrices = n / rows / columns;
    return as_add_u64(rows, columns, &sum) && as_mul_u64(sum, matrices, &sum) &&
           as_mul_u64(sum, STATE_BYTES, bytes);
}

static bool state_bytes(const struct as_type *type, uint64_t n, enum as_optimizer optimizer,
                        uint64_t *bytes)
{
    switch (optimizer) {
    case AS_OPTIMIZER_ADAFACTOR:
        return factored_bytes(type, n, bytes);
    case AS_OPTIMIZER_ADAM8:
        return small_bytes(n, 2, bytes);
    case AS_OPTIMIZER_LION8:
        return small_bytes(n, 1, bytes);
    default:
        return as_mul_u64(n, STATE_BYTES, bytes) &&
               as_mul_u64(*bytes, optimizers[optimizer].states, bytes);
    }
}

uint64_t as_optimizer_bytes(const struct as_params *params, const struct as_model *model,
                            enum as_optimizer optimizer)
{
    uint64_t sum = 0, bytes = 0;

    if ((unsigned)optimizer >= AS_OPTIMIZER_COUNT)
        return 0;
    for (size_t i = 0; i < params->n_params; i++) {
        const struct as_param *param = &params->params[i];

        if (!as_param_is_trained(model, param))
            continue;
        if (!state_bytes(&model->values[param->value].type, param->elems, optimizer, &bytes) ||
            !as_add_u64(sum, bytes, &sum))
            return UINT64_MAX;
    }
    return sum;
}
