/* engine/kernels/math/kern_math_loops.h - loops over two broadcast rows, made from a formula of x
 * and y. T is the type of both. Rows are whole, or one number, or anything at all, in order of
 * speed. */
#ifndef AS_ENGINE_KERNELS_MATH_KERN_MATH_LOOPS_H
#define AS_ENGINE_KERNELS_MATH_KERN_MATH_LOOPS_H

#include "engine/kernels/math/kern_typed.h"

#define AS_LOOP2(name, tag, type, result, formula)                                                 \
    AS_VECTOR(                                                                                     \
        static, name##_##tag,                                                                      \
        (const void *arg, const void *const *in, void *out, uint64_t n, const int64_t *stride),    \
        (arg, in, out, n, stride))                                                                 \
    {                                                                                              \
        typedef type T;                                                                            \
        const T *a = in[0], *b = in[1];                                                            \
        result *to = out; /* NOLINT(bugprone-macro-parentheses): a type */                         \
                                                                                                   \
        (void)arg;                                                                                 \
        if (stride[0] == 1 && stride[1] == 1) {                                                    \
            AS_IVDEP for (uint64_t i = 0; i < n; i++)                                              \
            {                                                                                      \
                T x = a[i], y = b[i];                                                              \
                to[i] = (result)(formula);                                                         \
            }                                                                                      \
        } else if (stride[0] == 1 && stride[1] == 0) {                                             \
            T y = *b;                                                                              \
            AS_IVDEP for (uint64_t i = 0; i < n; i++)                                              \
            {                                                                                      \
                T x = a[i];                                                                        \
                to[i] = (result)(formula);                                                         \
            }                                                                                      \
        } else if (stride[0] == 0 && stride[1] == 1) {                                             \
            T x = *a;                                                                              \
            AS_IVDEP for (uint64_t i = 0; i < n; i++)                                              \
            {                                                                                      \
                T y = b[i];                                                                        \
                to[i] = (result)(formula);                                                         \
            }                                                                                      \
        } else {                                                                                   \
            for (uint64_t i = 0; i < n; i++) {                                                     \
                T x = a[(int64_t)i * stride[0]], y = b[(int64_t)i * stride[1]];                    \
                to[i] = (result)(formula);                                                         \
            }                                                                                      \
        }                                                                                          \
    }

#endif
