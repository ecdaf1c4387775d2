/* tests/unit/onednn_kit.h - runs one small model twice: node by node in plain C, and as the engine
 * would with oneDNN; and compares what comes out. */
#ifndef AS_TESTS_ONEDNN_KIT_H
#define AS_TESTS_ONEDNN_KIT_H

#include <stdio.h>

#include "engine/engine.h"
#include "model/build/builder.h"
#include "unit.h"

enum { PAIR_INPUTS = 8 };

struct pair {
    struct as_model *model[2]; /* plain C, oneDNN */
    struct as_builder builder[2];
    struct as_engine *engine[2];
    struct as_engine_options options[2];
    double step; /* what one number may differ by, beside a part in 10^4 of the largest */
};

/* Both models are built by the same function. */
typedef void (*pair_build)(struct as_builder *b, const void *how);

static inline void pair_fill(struct as_val *val)
{
    uint64_t x = 88172645463325252u;

    for (uint64_t i = 0; i < val->n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if (val->dtype == AS_DTYPE_F32)
            as_val_put_f64(val, i, (double)(x >> 40) / 0x1p23 - 1);
        else
            as_val_put_i64(val, i,
                           (int64_t)(x >> 33 & 255) - (val->dtype == AS_DTYPE_I8 ? 128 : 0));
    }
}

static inline void pair_open(struct pair *p, pair_build build, const void *how)
{
    struct assay_error err = {0};

    for (int i = 0; i < 2; i++) {
        assert_int_equal(as_model_new(&p->model[i], 0, &err), ASSAY_OK);
        as_builder_init(&p->builder[i], p->model[i], 7);
        build(&p->builder[i], how);
        if (as_builder_finish(&p->builder[i], &err) < 0)
            fail_msg("%s", err.msg);
        as_builder_fini(&p->builder[i]);
        p->options[i] =
            (struct as_engine_options){.threads = 1, .reference = i == 0, .no_fuse = i == 0};
        if (as_engine_new(&p->engine[i], p->model[i], &p->options[i], &err) < 0)
            fail_msg("%s", err.msg);
        for (size_t n = 0; as_engine_input(p->engine[i], n); n++)
            pair_fill(as_engine_input(p->engine[i], n));
        if (as_engine_run(p->engine[i], AS_RUN_PLAIN, NULL, &err) < 0)
            fail_msg("%s", err.msg);
    }
}

static inline void pair_close(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        as_engine_free(p->engine[i]);
        as_model_free(p->model[i]);
    }
}

static inline void pair_same(const struct pair *p, const char *what)
{
    const struct as_val *a = as_engine_output(p->engine[0], 0);
    const struct as_val *b = as_engine_output(p->engine[1], 0);
    double largest = 0;

    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->dtype, b->dtype);
    for (uint64_t i = 0; i < a->n; i++)
        largest = fmax(largest, fabs(as_val_f64(a, i)));
    for (uint64_t i = 0; i < a->n; i++) {
        double x = as_val_f64(a, i), y = as_val_f64(b, i);
        double capacity = a->dtype == AS_DTYPE_F32 ? 1e-5 * largest + 1e-6 : p->step;

        if (!(fabs(x - y) <= capacity))
            fail_msg("%s: number %llu is %g, not %g", what, (unsigned long long)i, y, x);
    }
}

/* The kernel of the last step that does `op`; NULL: none does. */
static inline const char *pair_kernel(const struct pair *p, const char *op)
{
    const char *kernel = NULL;

    for (size_t i = 0; i < as_engine_n_steps(p->engine[1]); i++) {
        struct as_step_info info;

        as_engine_step(p->engine[1], i, &info);
        if (strcmp(info.op, op) == 0)
            kernel = info.kernel;
    }
    return kernel;
}

static inline size_t pair_reorders(const struct pair *p)
{
    size_t n = 0;

    for (size_t i = 0; i < as_engine_n_steps(p->engine[1]); i++) {
        struct as_step_info info;

        as_engine_step(p->engine[1], i, &info);
        n += info.is_reorder;
    }
    return n;
}

static inline bool pair_has_library(const struct pair *p)
{
    const char *why_not;

    return as_engine_library(p->engine[1], &why_not) != NULL;
}

#define PAIR_DIMS(...) (&(struct as_dims){UNIT_COUNT(((int64_t[]){__VA_ARGS__})), {__VA_ARGS__}})

#endif
