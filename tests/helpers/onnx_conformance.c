/* tests/helpers/onnx_conformance.c - holds inferred output types against ONNX's own test cases:
 * onnx_conformance [-v] FOLDER. Prints one line for each case that is not right, then the count.
 * What a file declares of values that nodes make is forgotten first, so nothing is read off it.
 * Numbers that were computed on the way must be those of the test case too. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/model_file.h"
#include "format/onnx/onnx_value.h"
#include "model/infer/infer.h"

enum { MAX_INPUTS = 64 };

struct test_case {
    char path[1024];
    struct as_model *model;
    struct as_mapped_file files[2 * MAX_INPUTS];
    size_t n_files;
    struct as_infer_input given[MAX_INPUTS];
    struct as_type types[MAX_INPUTS];
    size_t n_given;
    unsigned n_numbers; /* outputs whose numbers were computed */
    char why[400];
};

/* What a file says of an output before it is forgotten. */
struct declared {
    enum as_value_kind kind;
    unsigned dtype;
};

/* Reads the n-th input or output of the case as a value of `kind`. */
static bool read_pb(struct test_case *c, const char *what, size_t n, enum as_value_kind kind,
                    struct as_type *type, struct as_data **data)
{
    struct as_mapped_file *file = &c->files[c->n_files];
    struct assay_error err = {0};
    char *path = NULL;
    bool fine = false;

    if (c->n_files == 2 * MAX_INPUTS ||
        asprintf(&path, "%s/test_data_set_0/%s_%zu.pb", c->path, what, n) < 0)
        return false;
    if (as_mapped_file_open(file, path, &err) == ASSAY_OK) {
        c->n_files++;
        fine = as_onnx_value_read(c->model, kind, file->bytes, file->size, type, data, &err) ==
               ASSAY_OK;
    }
    if (!fine)
        snprintf(c->why, sizeof c->why, "%s_%zu.pb: %s", what, n, err.msg);
    free(path);
    return fine;
}

/* NumPy has no bfloat16, so the files that hold such numbers call them uint16. */
static void mend_dtype(unsigned declared, struct as_type *type, struct as_data *data)
{
    if (declared != AS_DTYPE_BF16 || type->dtype != AS_DTYPE_U16)
        return;
    type->dtype = AS_DTYPE_BF16;
    if (data)
        data->dtype = AS_DTYPE_BF16;
}

static bool give_inputs(struct test_case *c)
{
    const struct as_graph *main_graph = c->model->main;

    for (uint32_t i = 0; i < main_graph->n_inputs; i++) {
        const struct as_value *value = &c->model->values[main_graph->inputs[i]];
        struct as_infer_input *given = &c->given[c->n_given];

        if (!value->is_input)
            continue;
        if (c->n_given == MAX_INPUTS)
            return false;
        *given = (struct as_infer_input){.name = value->name, .type = &c->types[c->n_given]};
        if (!read_pb(c, "input", c->n_given, (enum as_value_kind)value->type.kind,
                     &c->types[c->n_given], &given->data))
            return false;
        mend_dtype(value->type.dtype, &c->types[c->n_given], given->data);
        c->n_given++;
    }
    return true;
}

static void forget_made(struct as_model *model)
{
    for (uint32_t i = 0; i < model->n_values; i++)
        if (model->values[i].producer != AS_NONE)
            model->values[i].type = AS_TYPE_UNKNOWN;
}

static void describe(char *out, size_t capacity, const struct as_type *type)
{
    char text[160];

    as_type_text(text, sizeof text, type);
    snprintf(out, capacity, "%s %s",
             type->kind == AS_VALUE_TENSOR ? as_dtype_name(type->dtype) : "", text);
}

/* An empty sequence or optional says nothing of what it would hold. */
static bool same_type(const struct as_type *have, const struct as_type *want)
{
    if (have->kind != want->kind)
        return false;
    if (want->kind == AS_VALUE_TENSOR)
        return have->dtype == want->dtype && as_type_equal(have, want);
    if (have->n_elems != want->n_elems)
        return false;
    for (int32_t i = 0; i < want->n_elems; i++)
        if (!have->elems || !same_type(&have->elems[i], &want->elems[i]))
            return false;
    return true;
}

/* One step of bfloat16 is allowed, since the cases cut it off instead of rounding. */
static bool near(double a, double b, unsigned dtype)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= (dtype == AS_DTYPE_BF16 ? 1.0 / 128 : 1e-3) * fabs(b) + 1e-6;
}

static bool same_element(const struct as_data *have, const struct as_data *want, uint64_t i)
{
    if (have->dtype == AS_DTYPE_STRING)
        return have->texts[i].size == want->texts[i].size &&
               memcmp(have->texts[i].at, want->texts[i].at, have->texts[i].size) == 0;
    if (as_dtype_is_float(have->dtype))
        return near(as_data_f64(have, i), as_data_f64(want, i), have->dtype);
    return (have->partial && as_data_i64(have, i) == AS_DIM_UNKNOWN) ||
           as_data_i64(have, i) == as_data_i64(want, i);
}

/* True when there are no numbers to compare. */
static bool same_numbers(struct test_case *c, uint32_t i, struct as_data *have,
                         struct as_data *want)
{
    if (!have || !want || have->dtype != want->dtype)
        return true;
    if (have->n != want->n || as_data_load(have, &c->model->arena, 1 << 24, NULL) < 0 ||
        as_data_load(want, &c->model->arena, 1 << 24, NULL) < 0) {
        snprintf(c->why, sizeof c->why, "the numbers of output %u cannot be had", i);
        return false;
    }
    c->n_numbers++;
    for (uint64_t k = 0; k < have->n; k++)
        if (!same_element(have, want, k)) {
            snprintf(c->why, sizeof c->why, "output %u: number %llu was computed as %g", i,
                     (unsigned long long)k,
                     have->dtype == AS_DTYPE_STRING ? 0 : as_data_f64(have, k));
            return false;
        }
    return true;
}

static bool check_outputs(struct test_case *c, const struct declared *declared)
{
    const struct as_graph *main_graph = c->model->main;

    for (uint32_t i = 0; i < main_graph->n_outputs; i++) {
        const struct as_value *value = &c->model->values[main_graph->outputs[i]];
        char have[180], want[180];
        struct as_type type;
        struct as_data *data;

        if (!read_pb(c, "output", i, declared[i].kind, &type, &data))
            return false;
        mend_dtype(declared[i].dtype, &type, data);
        if (same_type(&value->type, &type)) {
            if (!same_numbers(c, i, value->data, data))
                return false;
            continue;
        }
        describe(have, sizeof have, &value->type);
        describe(want, sizeof want, &type);
        snprintf(c->why, sizeof c->why, "output %u is %s, not %s", i, want, have);
        return false;
    }
    return true;
}

static void tell_findings(const struct as_model *model)
{
    for (const struct as_finding *f = model->findings; f; f = f->next)
        printf("    %s: %s\n", f->op ? f->op : "", f->text);
}

static bool run_case(struct test_case *c, bool verbose)
{
    struct as_infer_options options = {0};
    struct declared declared[MAX_INPUTS] = {0};
    struct assay_error err = {0};
    char path[1100];
    bool right = false;

    snprintf(path, sizeof path, "%s/model.onnx", c->path);
    if (as_model_open(&c->model, path, &err) < 0) {
        snprintf(c->why, sizeof c->why, "%s", err.msg);
        return false;
    }
    for (uint32_t i = 0; i < c->model->main->n_outputs && i < MAX_INPUTS; i++) {
        const struct as_type *type = &c->model->values[c->model->main->outputs[i]].type;

        declared[i] = (struct declared){(enum as_value_kind)type->kind, type->dtype};
    }
    if (c->model->main->n_outputs <= MAX_INPUTS && give_inputs(c)) {
        forget_made(c->model);
        options.inputs = c->given;
        options.n_inputs = c->n_given;
        if (as_infer_shapes(c->model, &options, NULL, &err) < 0)
            snprintf(c->why, sizeof c->why, "%s", err.msg);
        else
            right = check_outputs(c, declared);
    }
    if (verbose && !right)
        tell_findings(c->model);
    return right;
}

static bool run_one(const char *folder, const char *name, bool verbose, unsigned *n_numbers)
{
    struct test_case *c = calloc(1, sizeof *c);
    bool right;

    if (!c)
        return false;
    snprintf(c->path, sizeof c->path, "%s/%s", folder, name);
    right = run_case(c, verbose);
    if (!right)
        printf("%s: %s\n", name, c->why);
    *n_numbers += c->n_numbers;
    as_model_free(c->model);
    for (size_t i = 0; i < c->n_files; i++)
        as_mapped_file_close(&c->files[i]);
    free(c);
    return right;
}

static int with_model(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};
    int verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    unsigned n = 0, n_right = 0, n_numbers = 0;

    argv += verbose;
    if (argc - verbose != 2) {
        fprintf(stderr, "onnx_conformance [-v] FOLDER\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct dirent **entries = NULL;
        char folder[400];
        int n_entries;

        snprintf(folder, sizeof folder, "%s/%s", argv[1], kinds[i]);
        n_entries = scandir(folder, &entries, with_model, alphasort);
        for (int k = 0; k < n_entries; k++) {
            n++;
            n_right += run_one(folder, entries[k]->d_name, verbose, &n_numbers);
            free(entries[k]);
        }
        free(entries);
    }
    printf("numbers of %u outputs were computed\n", n_numbers);
    printf("right %u of %u\n", n_right, n);
    return 0;
}
