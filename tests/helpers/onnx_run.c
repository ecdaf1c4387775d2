/* tests/helpers/onnx_run.c - runs ONNX's own test cases and compares what comes out:
 * onnx_run [--reference] [--no-fuse] [--memory] [-t THREADS] FOLDER [NAME...]. FOLDER holds node/,
 * simple/ and so on; NAMEs are parts of the names of cases. Prints one line for each case that is
 * not right, then the count. Engines are given the types of inputs alone, so nothing is computed
 * while shapes are inferred. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/proto/protobuf_reader.h"
#include "engine/engine.h"
#include "format/model_file.h"
#include "format/onnx/onnx_value.h"

enum { MAX_VALUES = 64, FIELD_TENSOR = 3, FIELD_SEQUENCE = 5, FIELD_OPTIONAL = 7 };

/* What operators need that are not exact by nature; the rest has rtol 1e-3, atol 1e-5. */
static const struct tolerance {
    const char *name; /* beginning of the case's name */
    double relative, absolute;
    const char *why;
} tolerances[] = {
    {"test_bernoulli", (double)INFINITY, (double)INFINITY, "random numbers: shape and dtype only"},
    {"test_randomuniformlike", (double)INFINITY, (double)INFINITY,
     "random numbers: shape and dtype only"},
};

struct test_case {
    char path[1024];
    const char *name;
    struct as_model *model;
    struct as_mapped_file files[2 * MAX_VALUES];
    size_t n_files;
    struct as_infer_input given[MAX_VALUES];
    struct as_type types[MAX_VALUES];
    struct as_val inputs[MAX_VALUES];
    size_t n_given;
    struct as_mem mem;
    const struct as_engine_options *options;
    enum as_run_mode mode;
    double relative, absolute;
    char why[400];
};

static bool read_values(struct test_case *c, enum as_value_kind kind, const uint8_t *bytes,
                        uint64_t size, struct as_val *val, struct assay_error *err);

static bool read_tensor(struct test_case *c, const uint8_t *bytes, uint64_t size,
                        struct as_val *val, struct assay_error *err)
{
    struct as_data *data;
    struct as_type type;

    return as_onnx_value_read(c->model, AS_VALUE_TENSOR, bytes, size, &type, &data, err) >= 0 &&
           as_val_load(val, &c->mem, AS_MEM_ACTIVATIONS, &type, data, err) >= 0;
}

static bool read_list(struct test_case *c, enum as_value_kind kind, const uint8_t *bytes,
                      uint64_t size, struct as_val *val, struct assay_error *err)
{
    struct as_proto_input input;
    struct as_proto message;
    struct as_proto_field f;
    int rc;

    *val = (struct as_val){.kind = (uint8_t)kind, .present = true};
    as_proto_init(&message, &input, "ONNX value", bytes, (size_t)size);
    while ((rc = as_proto_next(&message, &f, err)) > 0) {
        enum as_value_kind of = f.number == FIELD_TENSOR     ? AS_VALUE_TENSOR
                                : f.number == FIELD_SEQUENCE ? AS_VALUE_SEQUENCE
                                                             : AS_VALUE_OPTIONAL;

        if (f.number != FIELD_TENSOR && f.number != FIELD_SEQUENCE && f.number != FIELD_OPTIONAL)
            continue;
        val->elems = as_realloc(val->elems, (size_t)val->n_elems + 1, sizeof *val->elems);
        if (!val->elems ||
            !read_values(c, of, f.body.at, as_cursor_left(&f.body), &val->elems[val->n_elems], err))
            return false;
        val->n_elems++;
    }
    return rc >= 0;
}

static bool read_values(struct test_case *c, enum as_value_kind kind, const uint8_t *bytes,
                        uint64_t size, struct as_val *val, struct assay_error *err)
{
    return kind == AS_VALUE_TENSOR ? read_tensor(c, bytes, size, val, err)
                                   : read_list(c, kind, bytes, size, val, err);
}

static bool read_pb(struct test_case *c, const char *what, size_t n, const struct as_type *declared,
                    struct as_val *val)
{
    struct as_mapped_file *file = &c->files[c->n_files];
    struct assay_error err = {0};
    char path[1200];
    bool fine = false;

    *val = (struct as_val){0};
    if (c->n_files == 2 * MAX_VALUES)
        return false;
    snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", c->path, what, n);
    if (as_mapped_file_open(file, path, &err) == ASSAY_OK) {
        c->n_files++;
        fine =
            read_values(c, (enum as_value_kind)declared->kind, file->bytes, file->size, val, &err);
    }
    /* NumPy has no bfloat16, so the files that hold such numbers call them uint16. */
    if (fine && declared->dtype == AS_DTYPE_BF16 && val->dtype == AS_DTYPE_U16)
        val->dtype = AS_DTYPE_BF16;
    if (!fine)
        snprintf(c->why, sizeof c->why, "%s_%zu.pb: %s", what, n, err.msg);
    return fine;
}

static bool give_inputs(struct test_case *c)
{
    const struct as_graph *graph = c->model->main;

    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        const struct as_value *value = &c->model->values[graph->inputs[i]];
        struct as_val *val = &c->inputs[c->n_given];

        if (!value->is_input)
            continue;
        if (c->n_given == MAX_VALUES || !read_pb(c, "input", c->n_given, &value->type, val))
            return false;
        as_val_type(val, &c->types[c->n_given]);
        c->given[c->n_given] =
            (struct as_infer_input){.name = value->name, .type = &c->types[c->n_given]};
        /* What a sequence holds is left to the run. */
        if (val->kind != AS_VALUE_TENSOR)
            c->types[c->n_given] = value->type;
        c->n_given++;
    }
    return true;
}

static bool near(const struct test_case *c, double a, double b, unsigned dtype)
{
    double relative = dtype == AS_DTYPE_BF16 ? 1.0 / 128 : c->relative;

    if (isinf(c->relative))
        return true;
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= relative * fabs(b) + c->absolute;
}

static bool same(struct test_case *c, size_t i, const struct as_val *have,
                 const struct as_val *want)
{
    char a[80], b[80];
    struct as_type type_a, type_b;

    as_val_type(have, &type_a);
    as_val_type(want, &type_b);
    as_type_text(a, sizeof a, &type_a);
    as_type_text(b, sizeof b, &type_b);
    if (!have->present || have->kind != want->kind || have->dtype != want->dtype ||
        strcmp(a, b) != 0) {
        snprintf(c->why, sizeof c->why, "output %zu is %s %s, not %s %s", i,
                 as_dtype_name(have->dtype), a, as_dtype_name(want->dtype), b);
        return false;
    }
    if (want->kind != AS_VALUE_TENSOR) {
        for (int32_t k = 0; k < want->n_elems; k++)
            if (!same(c, i, &have->elems[k], &want->elems[k]))
                return false;
        return true;
    }
    for (uint64_t k = 0; k < want->n; k++) {
        if (want->dtype == AS_DTYPE_STRING) {
            const struct as_text *x = have->data, *y = want->data;

            if (x[k].size == y[k].size && memcmp(x[k].at, y[k].at, x[k].size) == 0)
                continue;
            snprintf(c->why, sizeof c->why, "output %zu: text %llu differs", i,
                     (unsigned long long)k);
            return false;
        }
        if (as_dtype_is_float(want->dtype)
                ? near(c, as_val_f64(have, k), as_val_f64(want, k), want->dtype)
                : isinf(c->relative) || as_val_i64(have, k) == as_val_i64(want, k))
            continue;
        snprintf(c->why, sizeof c->why, "output %zu: number %llu is %g, not %g", i,
                 (unsigned long long)k, as_val_f64(have, k), as_val_f64(want, k));
        return false;
    }
    return true;
}

static bool check_outputs(struct test_case *c, const struct as_engine *engine,
                          const struct as_type *declared)
{
    for (uint32_t i = 0; i < c->model->main->n_outputs; i++) {
        const struct as_val *have = as_engine_output(engine, i);
        struct as_val want;
        bool right;

        if (!have || !read_pb(c, "output", i, &declared[i], &want))
            return false;
        right = same(c, i, have, &want);
        as_val_drop(&want);
        if (!right)
            return false;
    }
    return true;
}

static bool run_engine(struct test_case *c, const struct as_type *declared)
{
    struct as_engine_options options = *c->options;
    struct as_engine *engine = NULL;
    struct assay_error err = {0};
    bool right = false;
    int rc;

    options.infer.inputs = c->given;
    options.infer.n_inputs = c->n_given;
    rc = as_engine_new(&engine, c->model, &options, &err);
    for (size_t i = 0; i < c->n_given && rc == ASSAY_OK; i++)
        rc = as_engine_set_input(engine, i, &c->inputs[i], &err);
    /* Twice: what one run leaves must not disturb the next. */
    for (int k = 0; k < 2 && rc == ASSAY_OK; k++)
        rc = as_engine_run(engine, c->mode, NULL, &err);
    if (rc < 0)
        snprintf(c->why, sizeof c->why, "%s", err.msg);
    else
        right = check_outputs(c, engine, declared);
    as_engine_free(engine);
    return right;
}

static bool run_case(struct test_case *c)
{
    struct as_type declared[MAX_VALUES] = {0};
    struct assay_error err = {0};
    char path[1100];

    snprintf(path, sizeof path, "%s/model.onnx", c->path);
    if (as_model_open(&c->model, path, &err) < 0) {
        snprintf(c->why, sizeof c->why, "%s", err.msg);
        return false;
    }
    for (uint32_t i = 0; i < c->model->main->n_outputs && i < MAX_VALUES; i++)
        declared[i] = c->model->values[c->model->main->outputs[i]].type;
    return c->model->main->n_outputs <= MAX_VALUES && give_inputs(c) && run_engine(c, declared);
}

static bool run_one(const char *folder, const char *name, const struct as_engine_options *options,
                    enum as_run_mode mode)
{
    struct test_case *c = calloc(1, sizeof *c);
    bool right;

    if (!c)
        return false;
    snprintf(c->path, sizeof c->path, "%s/%s", folder, name);
    c->name = name;
    c->options = options;
    c->mode = mode;
    c->relative = 1e-3;
    c->absolute = 1e-5;
    for (size_t i = 0; i < sizeof tolerances / sizeof *tolerances; i++)
        if (strncmp(name, tolerances[i].name, strlen(tolerances[i].name)) == 0) {
            c->relative = tolerances[i].relative;
            c->absolute = tolerances[i].absolute;
        }
    right = run_case(c);
    if (!right)
        printf("%s: %s\n", name, c->why);
    for (size_t i = 0; i < MAX_VALUES; i++)
        as_val_drop(&c->inputs[i]);
    as_model_free(c->model);
    for (size_t i = 0; i < c->n_files; i++)
        as_mapped_file_close(&c->files[i]);
    free(c);
    return right;
}

static int is_case(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool is_wanted(const char *name, int n, char **parts)
{
    for (int i = 0; i < n; i++)
        if (strstr(name, parts[i]))
            return true;
    return n == 0;
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};
    struct as_engine_options options = {.threads = 1, .limit_bytes = (uint64_t)4 << 30};
    enum as_run_mode mode = AS_RUN_PLAIN;
    unsigned n = 0, n_right = 0;
    int a = 1;

    for (; a < argc && argv[a][0] == '-'; a++) {
        if (strcmp(argv[a], "--reference") == 0)
            options.reference = true;
        else if (strcmp(argv[a], "--no-fuse") == 0)
            options.no_fuse = true;
        else if (strcmp(argv[a], "--memory") == 0)
            mode = AS_RUN_MEMORY;
        else if (strcmp(argv[a], "-t") == 0 && a + 1 < argc)
            options.threads = (unsigned)strtoul(argv[++a], NULL, 10);
    }
    if (a >= argc) {
        fprintf(stderr,
                "onnx_run [--reference] [--no-fuse] [--memory] [-t THREADS] FOLDER [NAME...]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct dirent **entries = NULL;
        char folder[400];
        int n_entries;

        snprintf(folder, sizeof folder, "%s/%s", argv[a], kinds[i]);
        n_entries = scandir(folder, &entries, is_case, alphasort);
        for (int k = 0; k < n_entries; k++) {
            if (is_wanted(entries[k]->d_name, argc - a - 1, argv + a + 1)) {
                n++;
                fflush(stdout);
                n_right += run_one(folder, entries[k]->d_name, &options, mode);
            }
            free(entries[k]);
        }
        free(entries);
    }
    printf("right %u of %u\n", n_right, n);
    return 0;
}
