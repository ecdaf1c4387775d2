/* engine/kernels/math/fast_math.h - exp, tanh, erf and the logistic function in single precision,
 * without branches or tables, so that loops over them become vector code. Errors stay below 2 units
 * in the last place or 1e-6 of the value; infinities and NaN come out as in libm. */
#ifndef AS_ENGINE_KERNELS_MATH_FAST_MATH_H
#define AS_ENGINE_KERNELS_MATH_FAST_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float as_float_of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t as_bits_of_float(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* x is n times ln 2 and a rest below 0.35, whose series ends after the seventh power. Adding 1.5 *
 * 2^23 rounds to a whole n that can be read from the bits, also of NaN; 2^n is put together of two
 * halves, so that results below 2^-126 and above 2^127 come out right. */
static inline float as_expf(float x)
{
    const float shift = 12582912.0f;
    float t, n, r, sum;
    uint32_t whole, half;

    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    t = x * 1.44269504f + shift;
    n = t - shift;
    whole = as_bits_of_float(t) - as_bits_of_float(shift);
    r = x - n * 0.693145752f;
    r = r - n * 1.42860677e-6f;
    sum = 1.98412698e-4f;
    sum = sum * r + 1.38888889e-3f;
    sum = sum * r + 8.33333333e-3f;
    sum = sum * r + 4.16666667e-2f;
    sum = sum * r + 1.66666667e-1f;
    sum = sum * r + 0.5f;
    sum = sum * r * r + r + 1.0f;
    half = (uint32_t)((int32_t)whole >> 1);
    return sum * as_float_of_bits((half + 127) << 23) *
           as_float_of_bits((whole - half + 127) << 23);
}

static inline float as_sigmoidf(float x)
{
    return 1.0f / (1.0f + as_expf(-x));
}

/* Near 0 an odd polynomial, fitted to 2^-26 of the value on [0, 0.7]. */
static inline float as_tanhf(float x)
{
    float size = fabsf(x), u = x * x, far = 1.0f - 2.0f / (as_expf(2.0f * size) + 1.0f), near;

    near = -5.105278102e-3f;
    near = near * u + 2.004524858e-2f;
    near = near * u - 5.353494376e-2f;
    near = near * u + 0.1332857161f;
    near = near * u - 0.3333314007f;
    near = near * u * x + x;
    return size < 0.7f ? near : copysignf(far, x);
}

/* Near 0 an odd polynomial; from 1 on the logarithm of 1 - erf is one, fitted on [1, 4]. */
static inline float as_erff(float x)
{
    float size = fabsf(x), u = x * x, far, near;

    near = 7.889119378e-5f;
    near = near * u - 8.02084123e-4f;
    near = near * u + 5.189535333e-3f;
    near = near * u - 2.685444459e-2f;
    near = near * u + 0.1128360018f;
    near = near * u - 0.3761262714f;
    near = near * u + 1.128379166f;
    size = size > 4.0f ? 4.0f : size;
    far = -1.334547434e-5f;
    far = far * size + 3.181894905e-4f;
    far = far * size - 3.441248752e-3f;
    far = far * size + 2.26386441e-2f;
    far = far * size - 0.1033555281f;
    far = far * size + 0.3609528358f;
    far = far * size - 1.125956966f;
    far = far * size - 7.48414926e-4f;
    far = 1.0f - as_expf(far - size * size);
    return size < 1.0f ? near * x : copysignf(far, x);
}

/* exp(x) - 1 without loss near 0. */
static inline float as_expm1f(float x)
{
    float t = as_tanhf(0.5f * x);

    return x > 1.0f ? as_expf(x) - 1.0f : 2.0f * t / (1.0f - t);
}

static inline double as_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* Either precision. */
#define AS_EXP(x)     _Generic((x), float : as_expf, double : (exp))(x)
#define AS_TANH(x)    _Generic((x), float : as_tanhf, double : (tanh))(x)
#define AS_ERF(x)     _Generic((x), float : as_erff, double : (erf))(x)
#define AS_EXPM1(x)   _Generic((x), float : as_expm1f, double : (expm1))(x)
#define AS_SIGMOID(x) _Generic((x), float : as_sigmoidf, double : as_sigmoid)(x)

#endif
