/* tests/helpers/model_fused.c - runs models with and without the optimizer and compares what comes
 * out: model_fused [--library|--sets] [-l RTOL] [-d SYMBOL=N] [-x INPUT=N] [-v] [-p] MODEL...
 * With
 * --sets the one side is the library and the optimizer, the other plain C node by node. -x gives a
 * scalar input of integers its number. -p prints every element that the optimized engine gives
 * before that. Prints one line a model: the steps before and after, and the
 * largest difference as a share of the output's range. Fails when one passes the tolerance. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "format/model_file.h"
#include "model/zoo/zoo.h"

enum { MAX_DIMS = 16 };

struct ask {
    struct as_infer_dim dims[MAX_DIMS];
    size_t n_dims;
    char symbols[MAX_DIMS][64];
    double relative;
    bool library, sets, verbose, print;
    const char *scalar; /* "INPUT=N", or NULL */
};

/* Numbers that every engine makes alike: small floats of both signs, small indices. */
static void fill(struct as_val *val, uint64_t seed)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15u + 1;

    for (uint64_t i = 0; i < val->n; i++) {
        double x;

        z = z * 6364136223846793005u + 1442695040888963407u;
        x = (double)(z >> 40) / 0x1p24;
        if (val->dtype == AS_DTYPE_STRING)
            continue;
        if (as_dtype_is_float(val->dtype))
            as_val_put_f64(val, i, 2 * x - 1);
        else
            as_val_put_i64(val, i, val->dtype == AS_DTYPE_BOOL ? 1 : (int64_t)(x * 2));
    }
}

static int open_model(struct as_model **model, const char *name, struct assay_error *err)
{
    return strncmp(name, "zoo:", 4) == 0 ? as_zoo_open(model, name, err)
                                         : as_model_open(model, name, err);
}

/* The scalar input named in "INPUT=N" as a known number. */
static bool give_scalar(struct as_model *model, const char *text, struct as_infer_input *given)
{
    const char *equals = strchr(text, '=');
    struct as_data *data = as_data_new(&model->arena, AS_DTYPE_I64, 1);
    char *name = equals ? as_arena_text(&model->arena, text, (size_t)(equals - text)) : NULL;

    if (!name || !data)
        return false;
    as_data_put_i64(data, 0, strtoll(equals + 1, NULL, 10));
    *given = (struct as_infer_input){.name = name, .data = data};
    return true;
}

static int run(struct as_engine **engine, struct as_model *model, const struct ask *ask,
               bool no_fuse, struct assay_error *err)
{
    struct as_engine_options options = {.threads = 2, .no_fuse = no_fuse};
    struct as_infer_input given;
    int rc;

    options.reference = ask->sets ? no_fuse : !ask->library;
    if (ask->scalar && !give_scalar(model, ask->scalar, &given))
        return as_fail(err, ASSAY_ERR_USAGE, "-x is INPUT=N");
    if (ask->scalar) {
        options.infer.inputs = &given;
        options.infer.n_inputs = 1;
    }
    options.infer.dims = ask->dims;
    options.infer.n_dims = ask->n_dims;
    rc = as_engine_new(engine, model, &options, err);
    for (size_t i = 0; rc == ASSAY_OK && as_engine_input_value(*engine, i); i++) {
        struct as_val *val = as_engine_input(*engine, i);

        if (ask->scalar && as_engine_input_value(*engine, i)->data)
            continue; /* a number that shapes were worked out from */
        if (!val || !val->present)
            return as_fail(err, ASSAY_ERR_UNSUPPORTED, "input %zu has no known shape", i);
        fill(val, i);
    }
    for (int k = 0; k < 2 && rc == ASSAY_OK; k++) /* what a run leaves must not harm the next */
        rc = as_engine_run(*engine, AS_RUN_PLAIN, NULL, err);
    return rc;
}

/* The largest difference as a share of the largest number; infinite when they are no match. */
static double difference(const struct as_val *a, const struct as_val *b)
{
    double most = 0, range = 1e-2;

    if (a->kind != b->kind || a->dtype != b->dtype || a->n != b->n || a->rank != b->rank)
        return (double)INFINITY;
    for (uint64_t i = 0; a->kind == AS_VALUE_TENSOR && i < a->n; i++) {
        double x = as_val_f64(a, i), y = as_val_f64(b, i);

        if (isnan(x) != isnan(y) || ((isinf(x) || isinf(y)) && x != y))
            return (double)INFINITY;
        if (isfinite(x) && isfinite(y)) {
            most = fmax(most, fabs(x - y));
            range = fmax(range, fabs(x));
        }
    }
    return most / range;
}

static void show_steps(const struct as_engine *engine)
{
    struct as_step_info info;

    for (size_t i = 0; i < as_engine_n_steps(engine); i++) {
        as_engine_step(engine, i, &info);
        printf("    %-24s %-24s %-16s %zu sources  %.60s\n", info.op, info.fused, info.kernel,
               info.n_sources, info.name);
    }
}

static void print_outputs(const struct as_engine *engine)
{
    for (size_t i = 0; as_engine_output_value(engine, i); i++) {
        const struct as_val *val = as_engine_output(engine, i);

        for (uint64_t k = 0; val->kind == AS_VALUE_TENSOR && k < val->n; k++)
            printf("%zu %.9g\n", i, as_val_f64(val, k));
    }
}

static bool compare(const char *name, const struct ask *ask)
{
    struct as_model *models[2] = {NULL, NULL};
    struct as_engine *engines[2] = {NULL, NULL};
    struct assay_error err = {0};
    double worst = 0;
    int rc = ASSAY_OK;
    bool fine;

    for (int k = 0; k < 2 && rc == ASSAY_OK; k++) {
        rc = open_model(&models[k], name, &err);
        if (rc == ASSAY_OK)
            rc = run(&engines[k], models[k], ask, k == 0, &err);
    }
    for (size_t i = 0; rc == ASSAY_OK && as_engine_output_value(engines[0], i); i++)
        worst = fmax(worst,
                     difference(as_engine_output(engines[0], i), as_engine_output(engines[1], i)));
    fine = rc == ASSAY_OK && worst <= ask->relative;
    if (rc == ASSAY_OK && ask->print)
        print_outputs(engines[1]);
    if (rc < 0)
        printf("%s: not run: %s\n", name, err.msg);
    else
        printf("%s: steps %zu to %zu, difference %.2g%s\n", name, as_engine_n_steps(engines[0]),
               as_engine_n_steps(engines[1]), worst, fine ? "" : " TOO MUCH");
    if (rc == ASSAY_OK && ask->verbose)
        show_steps(engines[1]);
    fflush(stdout);
    for (int k = 0; k < 2; k++) {
        as_engine_free(engines[k]);
        as_model_free(models[k]);
    }
    return fine;
}

static bool add_dim(struct ask *ask, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t size = equals ? (size_t)(equals - text) : 0;

    if (!equals || size >= sizeof ask->symbols[0] || ask->n_dims == MAX_DIMS)
        return false;
    memcpy(ask->symbols[ask->n_dims], text, size);
    ask->dims[ask->n_dims] =
        (struct as_infer_dim){ask->symbols[ask->n_dims], strtoll(equals + 1, NULL, 10)};
    ask->n_dims++;
    return true;
}

int main(int argc, char **argv)
{
    struct ask ask = {.relative = 1e-3};
    bool fine = true;
    int a = 1;

    for (; a < argc && argv[a][0] == '-'; a++) {
        if (strcmp(argv[a], "--library") == 0)
            ask.library = true;
        else if (strcmp(argv[a], "--sets") == 0)
            ask.sets = true;
        else if (strcmp(argv[a], "-x") == 0 && a + 1 < argc)
            ask.scalar = argv[++a];
        else if (strcmp(argv[a], "-v") == 0)
            ask.verbose = true;
        else if (strcmp(argv[a], "-p") == 0)
            ask.print = true;
        else if (strcmp(argv[a], "-l") == 0 && a + 1 < argc)
            ask.relative = strtod(argv[++a], NULL);
        else if (strcmp(argv[a], "-d") == 0 && a + 1 < argc)
            fine = add_dim(&ask, argv[++a]) && fine;
    }
    if (a >= argc || !fine) {
        fprintf(stderr,
                "model_fused [--library|--sets] [-l RTOL] [-d SYMBOL=N] [-x INPUT=N] [-v] [-p] "
                "MODEL...\n");
        return 2;
    }
    for (; a < argc; a++)
        fine = compare(argv[a], &ask) && fine;
    return fine ? 0 : 1;
}
