/* engine/kernels/norm/kern_norm_rows.c - loops over one row of f32 or f64 for the family norm.
 * Sums are taken in lanes and added up in double. */
#include "engine/kernels/norm/kern_norm.h"

enum { LANES = 64 };

/* In a formula x is the number and m the mean. */
#define SUM(name, tag, type, formula)                                                              \
    AS_VECTOR_OF(static, double, name##_##tag, (const void *in, uint64_t n, double mean),          \
                 (in, n, mean))                                                                    \
    {                                                                                              \
        const type *from = in, m = (type)mean;                                                     \
        type lane[LANES] = {0};                                                                    \
        uint64_t i = 0;                                                                            \
        double total = 0;                                                                          \
                                                                                                   \
        (void)m;                                                                                   \
        for (; n - i >= LANES; i += LANES)                                                         \
            for (uint64_t l = 0; l < LANES; l++) {                                                 \
                type x = from[i + l];                                                              \
                                                                                                   \
                lane[l] += (formula);                                                              \
            }                                                                                      \
        for (uint64_t l = 0; l < n - i; l++) {                                                     \
            type x = from[i + l];                                                                  \
                                                                                                   \
            lane[l] += (formula);                                                                  \
        }                                                                                          \
        for (uint64_t l = 0; l < LANES && l < n; l++)                                              \
            total += (double)lane[l];                                                              \
        return total;                                                                              \
    }

#define LOOPS(tag, type)                                                                           \
    SUM(plain, tag, type, x)                                                                       \
    SUM(deviation, tag, type, (x - m) * (x - m))                                                   \
    static double sum_##tag(const void *in, uint64_t n)                                            \
    {                                                                                              \
        return plain_##tag(in, n, 0);                                                              \
    }                                                                                              \
    AS_VECTOR(static, line_##tag,                                                                  \
              (const void *in, void *out, uint64_t n, double times, double plus),                  \
              (in, out, n, times, plus))                                                           \
    {                                                                                              \
        const type *from = in, a = (type)times, b = (type)plus;                                    \
        type *to = out; /* NOLINT(bugprone-macro-parentheses): a type */                           \
                                                                                                   \
        AS_IVDEP for (uint64_t i = 0; i < n; i++) to[i] = from[i] * a + b;                         \
    }                                                                                              \
    AS_VECTOR(static, lines_##tag,                                                                 \
              (const void *in, void *out, uint64_t n, const void *times, const void *plus),        \
              (in, out, n, times, plus))                                                           \
    {                                                                                              \
        const type *from = in, *a = times, *b = plus;                                              \
        type *to = out; /* NOLINT(bugprone-macro-parentheses): a type */                           \
                                                                                                   \
        AS_IVDEP for (uint64_t i = 0; i < n; i++) to[i] = from[i] * a[i] + b[i];                   \
    }                                                                                              \
    AS_VECTOR(static, scale_##tag,                                                                 \
              (const void *in, void *out, uint64_t n, double mean, double by, const void *times,   \
               const void *plus),                                                                  \
              (in, out, n, mean, by, times, plus))                                                 \
    {                                                                                              \
        const type *from = in, *a = times, *b = plus, m = (type)mean, c = (type)by;                \
        type *to = out; /* NOLINT(bugprone-macro-parentheses): a type */                           \
                                                                                                   \
        if (a && b)                                                                                \
            AS_IVDEP for (uint64_t i = 0; i < n; i++) to[i] = (from[i] - m) * c * a[i] + b[i];     \
        else if (a)                                                                                \
            AS_IVDEP for (uint64_t i = 0; i < n; i++) to[i] = (from[i] - m) * c * a[i];            \
        else                                                                                       \
            AS_IVDEP for (uint64_t i = 0; i < n; i++) to[i] = (from[i] - m) * c + (b ? b[i] : 0);  \
    }
LOOPS(f32, float)
LOOPS(f64, double)

const struct as_norm_loops *as_norm_loops(struct as_kernel_ctx *k, unsigned dtype)
{
    static const struct as_norm_loops f32 = {sum_f32, deviation_f32, scale_f32, line_f32,
                                             lines_f32};
    static const struct as_norm_loops f64 = {sum_f64, deviation_f64, scale_f64, line_f64,
                                             lines_f64};

    if (dtype == AS_DTYPE_F32)
        return &f32;
    if (dtype == AS_DTYPE_F64)
        return &f64;
    (void)as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(dtype));
    return NULL;
}
