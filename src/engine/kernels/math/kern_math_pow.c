/* engine/kernels/math/kern_math_pow.c - Pow, whose two inputs may be of different types.
 * The exponent is brought to the type the power is worked out in; the base keeps its own. */
#include <tgmath.h>

#include "engine/kernels/math/kern_broadcast.h"
#include "engine/kernels/math/kern_math.h"
#include "engine/kernels/math/kern_math_loops.h"
#include "engine/kernels/math/kern_typed.h"

/* By squaring, wrapping around. Below 0 only 1 and -1 have an answer in whole numbers. */
static int64_t whole_power(int64_t base, int64_t exponent)
{
    uint64_t result = 1, square = (uint64_t)base;

    if (exponent < 0) {
        if (base == 1 || base == -1)
            return exponent % 2 ? base : 1;
        return 0;
    }
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= square;
        square *= square;
    }
    return (int64_t)result;
}

AS_LOOP2(general, f32, float, float, pow(x, y))
AS_LOOP2(general, f64, double, double, pow(x, y))
AS_LOOP2(general, i64, int64_t, int64_t, whole_power(x, y))

/* Exponents that need no power: nearly all that models have. */
AS_LOOP2(square, f32, float, float, ((void)y, x *x))
AS_LOOP2(cube, f32, float, float, ((void)y, x *x *x))
AS_LOOP2(root, f32, float, float, ((void)y, sqrt(x)))

static as_row_fn find_row(unsigned dtype, const struct as_val *exponent)
{
    if (dtype == AS_DTYPE_F32 && exponent->n == 1) {
        float y = *(const float *)exponent->data;

        if (y == 2)
            return square_f32;
        if (y == 3)
            return cube_f32;
        if (y == 0.5f)
            return root_f32;
    }
    return dtype == AS_DTYPE_F32 ? general_f32 : dtype == AS_DTYPE_F64 ? general_f64 : general_i64;
}

int as_run_pow(struct as_kernel_ctx *k)
{
    const struct as_val *base = k->in[0];
    struct as_val second = {0}, wide_base = {0}, wide_exponent = {0}, wide_out = *k->out[0];
    struct as_broadcast two = {.n_in = 2, .in = {&wide_base, &wide_exponent}, .out = &wide_out};
    struct as_dims dims;
    unsigned dtype = base->dtype;
    int rc = as_second_input(k, &second);

    if (dtype != AS_DTYPE_F32 && dtype != AS_DTYPE_F64)
        dtype = as_dtype_is_float(second.dtype) ? AS_DTYPE_F64 : AS_DTYPE_I64;
    if (rc == ASSAY_OK)
        rc = as_cast_to(k, base, dtype, &wide_base);
    if (rc == ASSAY_OK)
        rc = as_cast_to(k, &second, dtype, &wide_exponent);
    if (rc < 0)
        return rc;
    two.row = find_row(dtype, &wide_exponent);
    if (dtype == k->out[0]->dtype)
        return as_broadcast_run(k, &two);
    as_val_dims(k->out[0], &dims);
    wide_out = (struct as_val){0};
    rc = as_val_shape(&wide_out, dtype, &dims, k->err);
    if (rc < 0)
        return rc;
    wide_out.data = as_kernel_work(k, wide_out.n, as_elem_bytes(dtype));
    if (!wide_out.data)
        return ASSAY_ERR_NOMEM;
    rc = as_broadcast_run(k, &two);
    if (rc == ASSAY_OK)
        as_cast_piece(&wide_out, k->out[0], true, 0, wide_out.n);
    return rc;
}
