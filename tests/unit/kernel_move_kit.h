/* tests/unit/kernel_move_kit.h - one node run by the engine on numbers or texts given in the test.
 * Inputs are known by type alone before the run, so that nothing is folded. */
#ifndef AS_TESTS_KERNEL_MOVE_KIT_H
#define AS_TESTS_KERNEL_MOVE_KIT_H

#include "engine/engine.h"
#include "graph_kit.h"

enum { MOVE_INPUTS = 8 };

struct move_run {
    struct kit *k;
    struct as_mem mem;
    struct as_val in[MOVE_INPUTS];
    size_t n_in;
    uint32_t outs[4];
    struct as_engine *engine;
    struct assay_error err;
};

static inline void move_init(struct move_run *r, int64_t opset)
{
    *r = (struct move_run){.k = kit_new(opset)};
    r->k->model->has_graph = true;
}

static inline void move_fini(struct move_run *r)
{
    as_engine_free(r->engine);
    for (size_t i = 0; i < r->n_in; i++)
        as_val_drop(&r->in[i]);
    kit_free(r->k);
    assert_int_equal(r->mem.all.current_bytes, 0);
}

static inline struct as_val *move_input(struct move_run *r, unsigned dtype, struct as_dims dims,
                                        uint32_t *id)
{
    struct as_val *val = &r->in[r->n_in++];

    *id = kit_input(r->k, dtype, &dims);
    assert_int_equal(as_val_new(val, &r->mem, AS_MEM_ACTIVATIONS, dtype, &dims, NULL), ASSAY_OK);
    return val;
}

static inline uint32_t move_numbers(struct move_run *r, unsigned dtype, struct as_dims dims,
                                    const double *at)
{
    uint32_t id;
    struct as_val *val = move_input(r, dtype, dims, &id);

    for (uint64_t i = 0; i < val->n; i++)
        as_val_put_f64(val, i, at[i]);
    return id;
}

/* Numbers 0, 1, 2 and so on. */
static inline uint32_t move_count(struct move_run *r, unsigned dtype, struct as_dims dims)
{
    uint32_t id;
    struct as_val *val = move_input(r, dtype, dims, &id);

    for (uint64_t i = 0; i < val->n; i++)
        as_val_put_f64(val, i, (double)i);
    return id;
}

static inline uint32_t move_texts(struct move_run *r, struct as_dims dims, const char *const *at)
{
    uint32_t id;
    struct as_val *val = move_input(r, AS_DTYPE_STRING, dims, &id);
    struct as_text *texts = val->data;

    for (uint64_t i = 0; i < val->n; i++)
        texts[i] = (struct as_text){at[i], strlen(at[i])};
    return id;
}

#define MOVE_INTS(r, ...)                                                                          \
    move_numbers(r, AS_DTYPE_I64, KIT_DIMS(UNIT_COUNT(((double[]){__VA_ARGS__}))),                 \
                 (const double[]){__VA_ARGS__})

/* Runs the graph; outputs are `n` values from `first` on. */
static inline int move_go(struct move_run *r, uint32_t first, uint32_t n)
{
    struct as_engine_options options = {.reference = true, .limit_bytes = 1 << 28};
    struct as_graph *graph = r->k->model->main;
    int rc;

    assert_int_equal(as_graph_reserve_nodes(graph, r->k->n_nodes, NULL), ASSAY_OK);
    memcpy(graph->nodes, r->k->nodes, r->k->n_nodes * sizeof *r->k->nodes);
    for (uint32_t i = 0; i < n; i++)
        r->outs[i] = first + i;
    graph->inputs = r->k->inputs;
    graph->n_inputs = r->k->n_inputs;
    graph->outputs = r->outs;
    graph->n_outputs = n;
    assert_int_equal(as_model_link(r->k->model, &r->err), ASSAY_OK);
    rc = as_engine_new(&r->engine, r->k->model, &options, &r->err);
    for (size_t i = 0; i < r->n_in && rc == ASSAY_OK; i++)
        rc = as_engine_set_input(r->engine, i, &r->in[i], &r->err);
    return rc < 0 ? rc : as_engine_run(r->engine, AS_RUN_PLAIN, NULL, &r->err);
}

static inline void move_expect_dims(struct move_run *r, size_t i, struct as_dims dims)
{
    const struct as_val *out = as_engine_output(r->engine, i);

    assert_non_null(out);
    assert_int_equal(out->rank, dims.rank);
    for (int d = 0; d < dims.rank; d++)
        assert_int_equal(out->dims[d], dims.at[d]);
}

static inline void move_expect(struct move_run *r, size_t i, const double *at, size_t n)
{
    const struct as_val *out = as_engine_output(r->engine, i);

    assert_non_null(out);
    assert_int_equal(out->n, n);
    for (uint64_t j = 0; j < n; j++)
        assert_float_equal((float)as_val_f64(out, j), (float)at[j], 1e-5f);
}

#define MOVE_EXPECT(r, i, ...)                                                                     \
    move_expect(r, i, (const double[]){__VA_ARGS__}, UNIT_COUNT(((double[]){__VA_ARGS__})))

static inline void move_expect_texts(struct move_run *r, size_t i, const char *const *at, size_t n)
{
    const struct as_val *out = as_engine_output(r->engine, i);
    const struct as_text *texts = out->data;

    assert_int_equal(out->n, n);
    for (size_t j = 0; j < n; j++) {
        assert_int_equal(texts[j].size, strlen(at[j]));
        assert_memory_equal(texts[j].at, at[j], texts[j].size);
    }
}

#define MOVE_EXPECT_TEXTS(r, i, ...)                                                               \
    move_expect_texts(r, i, (const char *const[]){__VA_ARGS__},                                    \
                      UNIT_COUNT(((const char *const[]){__VA_ARGS__})))

/* The run fails and its sentence holds `words`. */
static inline void move_fails(struct move_run *r, uint32_t first, const char *words)
{
    int rc = move_go(r, first, 1);

    if (rc >= 0 || !strstr(r->err.msg, words))
        fail_msg("%d: '%s' has no '%s'", rc, r->err.msg, words);
    move_fini(r);
}

#endif
