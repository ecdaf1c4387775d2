/* tests/fuzz/fuzz_drive.h - opens any model with the engine and runs it in every mode.
 * It works or says in one sentence why not; what was promised before the run must hold after it. */
#ifndef AS_FUZZ_DRIVE_H
#define AS_FUZZ_DRIVE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "engine/engine.h"
#include "engine/kernel.h"
#include "model/cost/cost.h"

enum {
    DRIVE_LIMIT_BYTES = 32 << 20,
    DRIVE_FLOPS = 10 * 1000 * 1000,
    DRIVE_BYTES = 64 << 20,
    DRIVE_OUTPUTS = 64,
    DRIVE_INPUT_ELEMS = 1 << 16,
};

/* How a model is run: bits of the first byte. */
enum drive_flag {
    DRIVE_LIBRARY = 1, /* with oneDNN, whose kernels are slow to make */
    DRIVE_NO_FUSE = 2,
    DRIVE_THREADS = 4,
    DRIVE_OPEN_DIMS = 8, /* dimensions without a value stay open until an input comes */
};

struct drive {
    struct as_model *model;
    struct as_cursor numbers; /* what inputs are made of */
    struct as_engine *engine;
    struct as_step_sample *samples;
    void *kept[DRIVE_OUTPUTS];
    uint64_t kept_bytes[DRIVE_OUTPUTS];
    bool is_random;
    bool takes_over, settling; /* the library, from the second run on */
};

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

/* A failure has its code and one sentence. */
static bool worked(int rc, const struct assay_error *err)
{
    if (rc >= 0)
        return true;
    if (getenv("DRIVE_TELL"))
        fprintf(stderr, "%s\n", err->msg);
    must(err->code == rc, "the code returned is that of the error");
    must(err->msg[0] != '\0', "a failure says why");
    return false;
}

static bool draws_numbers(const struct as_model *model, const struct as_graph *graph)
{
    (void)model;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_kernel *kernel = as_kernel_find(graph->nodes[i].op);

        if (kernel && kernel->flags & AS_KERNEL_RANDOM)
            return true;
    }
    return false;
}

/* Bodies are found through the values made in them. */
static bool is_random(const struct as_model *model)
{
    for (uint32_t i = 0; i < model->n_values; i++)
        if (model->values[i].graph && draws_numbers(model, model->values[i].graph))
            return true;
    return draws_numbers(model, model->main);
}

/* So that the fuzzer stays quick: what is known to be much work is left. */
static bool is_little(struct as_model *model, const struct as_infer_options *infer)
{
    struct as_costs *costs = NULL;
    struct assay_error err = {0};
    bool little = true;

    if (!worked(as_infer_shapes(model, infer, NULL, &err), &err))
        return true;
    if (worked(as_costs_new(&costs, model, &err), &err))
        little = !costs->overflow && as_cost_flops(&costs->forward) <= DRIVE_FLOPS &&
                 costs->forward.bytes_read <= DRIVE_BYTES &&
                 costs->forward.bytes_written <= DRIVE_BYTES;
    for (size_t i = 0; costs && i < costs->n_rows && little; i++)
        little = costs->rows[i].times <= 1000 &&
                 (costs->rows[i].times_known || costs->rows[i].depth == 0 ||
                  costs->rows[i].graph->owner->op == AS_OP_If);
    as_costs_free(costs);
    return little;
}

static unsigned drive_byte(struct drive *d)
{
    uint8_t b = 0;

    return as_take_u8(&d->numbers, &b) ? b : 0;
}

static double drive_number(struct drive *d)
{
    static const double odd[] = {0,    -0.0, 1e30,    -1e30,    1e-40,       65504,     3e9,
                                 -2e9, 1e19, -9.3e18, HUGE_VAL, (double)NAN, -HUGE_VAL, 255};
    unsigned b = drive_byte(d);

    return b < 24 ? odd[b % (sizeof odd / sizeof *odd)] : ((double)b - 128) / (b & 1 ? 16 : 1);
}

static void fill(struct drive *d, struct as_val *val)
{
    static char word[] = "a b1,C";

    if (val->kind != AS_VALUE_TENSOR)
        return;
    for (uint64_t i = 0; i < val->n && i < DRIVE_INPUT_ELEMS; i++) {
        if (val->dtype == AS_DTYPE_STRING)
            ((struct as_text *)val->data)[i] = (struct as_text){word, drive_byte(d) % sizeof word};
        else if (as_dtype_is_float(val->dtype))
            as_val_put_f64(val, i, drive_number(d));
        else if (val->dtype == AS_DTYPE_BOOL)
            as_val_put_i64(val, i, drive_byte(d) & 1);
        else if (as_dtype_is_integer(val->dtype))
            as_val_put_i64(val, i, (int64_t)(drive_byte(d) % 12) - 3);
    }
}

/* Memory for an input that has none yet; sequences stay without. */
static bool make_one(struct drive *d, size_t i, struct assay_error *err)
{
    const struct as_value *value = as_engine_input_value(d->engine, i);
    struct as_dims dims = {0};

    if (value->type.kind != AS_VALUE_TENSOR || value->type.dtype == AS_DTYPE_UNKNOWN)
        return false;
    if (!as_type_dims(&value->type, &dims))
        dims = (struct as_dims){2, {4, 4}};
    for (int k = 0; k < dims.rank; k++)
        if (dims.at[k] < 0)
            dims.at[k] = drive_byte(d) % 5;
    return worked(as_engine_make_input(d->engine, i, &dims, err), err);
}

static bool make_inputs(struct drive *d)
{
    struct assay_error err = {0};

    for (size_t i = 0; as_engine_input_value(d->engine, i); i++) {
        struct as_val *val = as_engine_input(d->engine, i);

        if (!val->present && !as_engine_input_value(d->engine, i)->data && !make_one(d, i, &err))
            return false;
        if (val->present && !as_engine_input_value(d->engine, i)->data)
            fill(d, val);
    }
    return true;
}

static void check_output(const struct drive *d, size_t i)
{
    const struct as_value *value = as_engine_output_value(d->engine, i);
    const struct as_val *val = as_engine_output(d->engine, i);
    const struct as_type *type = value ? &value->type : NULL;

    if (!val)
        return;
    must(val->present, "an output is there after a run");
    must(!val->layout, "an output is plain");
    if (!type || type->kind != AS_VALUE_TENSOR || !as_type_is_static(type))
        return;
    must(val->kind == AS_VALUE_TENSOR, "a tensor was promised");
    must(type->dtype == AS_DTYPE_UNKNOWN || type->dtype == val->dtype ||
             as_dtype_at(type->dtype)->kind == AS_CLASS_BLOCK,
         "the promised dtype");
    must(type->rank == val->rank, "the promised rank");
    for (int k = 0; k < type->rank; k++)
        must(type->dims[k] == val->dims[k], "the promised dimensions");
}

/* Every run of the same inputs gives the same. */
static void check_outputs(struct drive *d, bool first)
{
    for (size_t i = 0; i < d->model->main->n_outputs; i++) {
        const struct as_val *val = as_engine_output(d->engine, i);
        bool has_bytes = val && val->kind == AS_VALUE_TENSOR && val->dtype != AS_DTYPE_STRING;

        check_output(d, i);
        if (!has_bytes || i >= DRIVE_OUTPUTS || d->is_random)
            continue;
        if (first || d->settling) {
            as_free(d->kept[i]);
            d->kept[i] = as_alloc((size_t)val->bytes + 1);
            d->kept_bytes[i] = val->bytes;
            if (d->kept[i])
                memcpy(d->kept[i], val->data, (size_t)val->bytes);
        } else if (d->kept[i]) {
            must(d->kept_bytes[i] == val->bytes, "as many bytes as in the first run");
            must(memcmp(d->kept[i], val->data, (size_t)val->bytes) == 0,
                 "the bytes of the first run");
        }
    }
}

static bool run_once(struct drive *d, enum as_run_mode mode, bool first)
{
    const struct as_mem *mem = as_engine_memory(d->engine);
    struct assay_error err = {0};
    struct as_engine_plan plan;

    as_engine_reset_peaks(d->engine);
    if (!worked(as_engine_run(d->engine, mode, d->samples, &err), &err)) {
        must(first || err.code == ASSAY_ERR_NOMEM || err.code == ASSAY_ERR_LIMIT || d->is_random,
             "what worked once works again");
        return false;
    }
    check_outputs(d, first);
    as_engine_plan(d->engine, &plan);
    if (mode != AS_RUN_MEMORY || !plan.known)
        return true;
    if (mem->of[AS_MEM_ACTIVATIONS].peak_bytes != plan.peak_bytes)
        fprintf(stderr, "%llu bytes, not %llu\n",
                (unsigned long long)mem->of[AS_MEM_ACTIVATIONS].peak_bytes,
                (unsigned long long)plan.peak_bytes);
    must(mem->of[AS_MEM_ACTIVATIONS].peak_bytes == plan.peak_bytes, "the peak is that of the plan");
    return true;
}

static void run_all(struct drive *d)
{
    static const enum as_run_mode modes[] = {AS_RUN_PLAIN, AS_RUN_PROFILE, AS_RUN_MEMORY,
                                             AS_RUN_MEMORY, AS_RUN_PLAIN};
    bool goes = make_inputs(d);

    d->samples = as_alloc_zero(as_engine_n_steps(d->engine) + 1, sizeof *d->samples);
    d->is_random = is_random(d->model);
    for (size_t i = 0; i < sizeof modes / sizeof *modes && goes && d->samples; i++) {
        /* The library takes over small products only when their shapes come a second time. */
        d->settling = d->takes_over && i == 1;
        goes = run_once(d, modes[i], i == 0);
    }
    if (goes)
        as_engine_tell_shapes(d->engine);
    for (size_t i = 0; i < as_engine_n_steps(d->engine); i++) {
        struct as_step_info info;

        as_engine_step(d->engine, i, &info);
        must(info.name && info.op && info.kernel && info.fused, "a step has its names");
    }
    for (size_t i = 0; i < DRIVE_OUTPUTS; i++)
        as_free(d->kept[i]);
    as_free(d->samples);
}

/* For whoever looks into a finding: with DRIVE_TELL in the environment. */
static void tell_graph(const struct as_model *model)
{
    const struct as_graph *seen = NULL;

    for (uint32_t v = 0; getenv("DRIVE_TELL") && v < model->n_values; v++) {
        const struct as_graph *graph = model->values[v].graph;
        char text[200];

        as_type_text(text, sizeof text, &model->values[v].type);
        fprintf(stderr, "value %u: %s %s%s\n", v, as_dtype_name(model->values[v].type.dtype), text,
                model->values[v].data ? ", known" : "");
        if (!graph || graph == seen)
            continue;
        seen = graph;
        fprintf(stderr, "graph %p of depth %u\n", (const void *)graph, graph->depth);
        for (uint32_t i = 0; i < graph->n_nodes; i++) {
            const struct as_node *node = &graph->nodes[i];

            fprintf(stderr, "  %s(", node->op_name);
            for (uint32_t k = 0; k < node->n_inputs; k++)
                fprintf(stderr, " %d", (int)node->inputs[k]);
            fprintf(stderr, " ) ->");
            for (uint32_t k = 0; k < node->n_outputs; k++)
                fprintf(stderr, " %d", (int)node->outputs[k]);
            for (uint32_t k = 0; k < node->n_attrs; k++)
                fprintf(stderr, " %s=%lld", node->attrs[k].name, (long long)node->attrs[k].i);
            fprintf(stderr, "\n");
        }
        for (uint32_t i = 0; i < graph->n_outputs; i++)
            fprintf(stderr, "  gives %d\n", (int)graph->outputs[i]);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return setenv("OMP_NUM_THREADS", "1", 1);
}

/* A linked model; `numbers` is what its inputs are made of. */
static void drive(struct as_model *model, unsigned flags, struct as_cursor numbers)
{
    /* The search for leaks cannot look at the threads that a library leaves waiting. */
    bool has_threads = (flags & DRIVE_THREADS) && !(flags & DRIVE_LIBRARY);
    struct drive d = {.model = model,
                      .numbers = numbers,
                      .takes_over = (flags & DRIVE_LIBRARY) && (flags & DRIVE_OPEN_DIMS)};
    struct as_engine_options options = {.infer.keep_unknown = flags & DRIVE_OPEN_DIMS,
                                        .reference = !(flags & DRIVE_LIBRARY),
                                        .no_fuse = flags & DRIVE_NO_FUSE,
                                        .threads = has_threads ? 2 : 1,
                                        .limit_bytes = DRIVE_LIMIT_BYTES};
    struct assay_error err = {0};

    if (!is_little(model, &options.infer))
        return;
    if (worked(as_engine_new(&d.engine, model, &options, &err), &err)) {
        tell_graph(model);
        run_all(&d);
    }
    as_engine_free(d.engine);
}

#endif
