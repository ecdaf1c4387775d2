/* engine/kernels/math/kern_math_compare.c - comparisons and logic of two tensors; truth is one
 * byte. Each formula is written once and made into loops for each type and way of broadcasting. */
#include <string.h>

#include "base/units.h"
#include "engine/kernels/math/kern_broadcast.h"
#include "engine/kernels/math/kern_math.h"
#include "engine/kernels/math/kern_math_loops.h"
#include "engine/kernels/math/kern_typed.h"

#define X(DTYPE, tag, type, wide)                                                                  \
    AS_LOOP2(Equal, tag, type, uint8_t, x == y)                                                    \
    AS_LOOP2(Less, tag, type, uint8_t, x < y)                                                      \
    AS_LOOP2(LessOrEqual, tag, type, uint8_t, x <= y)
AS_TYPES_NUMBER(X)
#undef X
AS_LOOP2(Equal, flag, uint8_t, uint8_t, (x != 0) == (y != 0))
AS_LOOP2(And, flag, uint8_t, uint8_t, (x != 0) & (y != 0))
AS_LOOP2(Or, flag, uint8_t, uint8_t, (x | y) != 0)
AS_LOOP2(Xor, flag, uint8_t, uint8_t, (x != 0) != (y != 0))

static bool same_text(struct as_text a, struct as_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

AS_LOOP2(Equal, text, struct as_text, uint8_t, same_text(x, y))

struct row {
    unsigned dtype;
    as_row_fn equal, less, less_or_equal;
};

static const struct row rows[] = {
#define X(DTYPE, tag, type, wide) {AS_DTYPE_##DTYPE, Equal_##tag, Less_##tag, LessOrEqual_##tag},
    AS_TYPES_NUMBER(X)
#undef X
        {AS_DTYPE_BOOL, Equal_flag, NULL, NULL},
    {AS_DTYPE_STRING, Equal_text, NULL, NULL},
};

static as_row_fn find_row(enum as_op op, unsigned dtype)
{
    for (size_t i = 0; i < AS_COUNT_OF(rows); i++)
        if (rows[i].dtype == dtype)
            return op == AS_OP_Equal                         ? rows[i].equal
                   : op == AS_OP_Less || op == AS_OP_Greater ? rows[i].less
                                                             : rows[i].less_or_equal;
    return NULL;
}

int as_run_compare(struct as_kernel_ctx *k)
{
    enum as_op op = k->node->op;
    struct as_val second = {0};
    struct as_broadcast two = {.n_in = 2, .in = {k->in[0], &second}, .out = k->out[0]};
    int rc = as_second_input(k, &second);

    if (rc < 0)
        return rc;
    if (op == AS_OP_Greater || op == AS_OP_GreaterOrEqual) {
        two.in[0] = &second;
        two.in[1] = k->in[0];
    }
    two.row = find_row(op, second.dtype);
    if (!two.row)
        return as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(second.dtype));
    if (second.dtype != k->in[0]->dtype)
        return as_kernel_fail(k, "%s and %s do not go together", as_dtype_name(k->in[0]->dtype),
                              as_dtype_name(second.dtype));
    return as_broadcast_run(k, &two);
}

int as_run_logic(struct as_kernel_ctx *k)
{
    struct as_val second = {0};
    struct as_broadcast two = {.n_in = 2, .in = {k->in[0], &second}, .out = k->out[0]};
    int rc = as_second_input(k, &second);

    if (rc < 0)
        return rc;
    if (second.dtype != AS_DTYPE_BOOL || k->in[0]->dtype != AS_DTYPE_BOOL)
        return as_kernel_fail(k, "its inputs are not of type bool");
    two.row = k->node->op == AS_OP_And ? And_flag : k->node->op == AS_OP_Or ? Or_flag : Xor_flag;
    return as_broadcast_run(k, &two);
}
