/* tests/unit/test_model_inputs.c - inputs that models can run on, from files and made up.
 * The models are of the zoo; what is in the inputs is looked at, and that a run works. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/model_file.h"
#include "measure/inputs/model_inputs.h"

struct fixture {
    struct as_model *model;
    struct as_engine *engine;
    struct as_model_inputs inputs;
    struct as_input_options options;
    struct as_engine_options engine_options;
};

static int open_all(struct fixture *f, const char *path, struct assay_error *err)
{
    int rc = as_model_open(&f->model, path, err);

    if (rc == 0)
        rc = as_model_inputs_open(&f->inputs, f->model, &f->options, err);
    if (rc == 0)
        rc = as_model_inputs_sizes(&f->inputs, &f->engine_options.infer, err);
    if (rc == 0)
        rc = as_engine_new(&f->engine, f->model, &f->engine_options, err);
    if (rc == 0)
        rc = as_model_inputs_fill(&f->inputs, f->engine, err);
    return rc;
}

static void close_all(struct fixture *f)
{
    as_engine_free(f->engine);
    as_model_inputs_close(&f->inputs);
    as_model_free(f->model);
}

static void open_fine(struct fixture *f, const char *path)
{
    struct assay_error err = {0};

    if (open_all(f, path, &err) < 0)
        fail_msg("%s", err.msg);
}

static void floats_are_random_and_repeat(void **state)
{
    struct fixture a = {.options = {.seed = 5}}, b = a, c = {.options = {.seed = 6}};
    const float *x, *y, *z;
    double sum = 0, squares = 0;

    (void)state;
    open_fine(&a, "zoo:mlp");
    open_fine(&b, "zoo:mlp");
    open_fine(&c, "zoo:mlp");
    x = as_engine_input(a.engine, 0)->data;
    y = as_engine_input(b.engine, 0)->data;
    z = as_engine_input(c.engine, 0)->data;
    assert_memory_equal(x, y, 784 * sizeof *x);
    assert_memory_not_equal(x, z, 784 * sizeof *x);
    for (int i = 0; i < 784; i++) {
        assert_true(x[i] >= -1 && x[i] < 1);
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    assert_true(fabs(sum / 784) < 0.1);
    assert_true(fabs(squares / 784 - 1.0 / 3) < 0.05);
    assert_int_equal(a.inputs.n_choices, 1);
    assert_string_equal(a.inputs.choices[0].dtype, "f32");
    assert_string_equal(a.inputs.choices[0].shape, "1x784");
    assert_string_equal(a.inputs.choices[0].how, "random in [-1, 1), seed 5");
    close_all(&a);
    close_all(&b);
    close_all(&c);
}

static void zeros_ones_and_normal(void **state)
{
    static const enum as_input_fill fill[] = {AS_INPUTS_ZEROS, AS_INPUTS_ONES, AS_INPUTS_NORMAL};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(fill); i++) {
        struct fixture f = {.options = {.fill = fill[i]}};
        const float *x;
        double squares = 0;

        open_fine(&f, "zoo:mlp");
        x = as_engine_input(f.engine, 0)->data;
        for (int k = 0; k < 784; k++) {
            squares += (double)x[k] * (double)x[k] / 784;
            if (fill[i] != AS_INPUTS_NORMAL)
                assert_true((double)x[k] == (fill[i] == AS_INPUTS_ONES));
        }
        assert_true(fill[i] != AS_INPUTS_NORMAL || fabs(squares - 1) < 0.15);
        close_all(&f);
    }
}

/* Words go through a table of 50 rows; an index past it would make the run fail. */
static void indices_stay_inside_their_tables(void **state)
{
    struct fixture f = {.options = {.seed = 1}};
    struct assay_error err = {0};
    const struct as_value *v;
    bool found = false;

    (void)state;
    open_fine(&f, "zoo:bert-base:seq=16,layers=1,width=64,heads=2,vocab=50");
    for (size_t i = 0; (v = as_engine_input_value(f.engine, i)) != NULL; i++) {
        const struct as_val *val = as_engine_input(f.engine, i);
        int64_t most = 0;

        for (uint64_t k = 0; k < val->n; k++) {
            assert_true(as_val_f64(val, k) >= 0);
            most = as_val_i64(val, k) > most ? as_val_i64(val, k) : most;
        }
        assert_true(most < 50);
        if (strstr(f.inputs.choices[i].how, "indices below 50")) {
            found = true;
            assert_true(most > 10);
        }
        if (strstr(v->name, "mask"))
            assert_int_equal(as_val_i64(val, 0), 1);
    }
    assert_true(found);
    if (as_engine_run(f.engine, AS_RUN_PLAIN, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    close_all(&f);
}

static void write_npy(const char *path, const char *descr, const char *shape, size_t bytes)
{
    char header[200];
    FILE *out = fopen(path, "wb");
    int n = snprintf(header, sizeof header,
                     "{'descr': '%s', 'fortran_order': False, 'shape': %s}\n", descr, shape);

    assert_non_null(out);
    fwrite("\x93NUMPY\x01\x00", 1, 8, out);
    fputc(n, out);
    fputc(0, out);
    fwrite(header, 1, (size_t)n, out);
    for (size_t i = 0; i < bytes; i++)
        fputc((int)(i % 7), out);
    assert_int_equal(fclose(out), 0);
}

static char path[] = "/tmp/assay-inputs-XXXXXX";

static void expect_refusal(const char *name, const char *want)
{
    const struct as_input_file file = {name, path};
    struct fixture f = {.options = {.files = &file, .n_files = 1}};
    struct assay_error err = {0};

    assert_true(open_all(&f, "zoo:mlp", &err) < 0);
    if (!strstr(err.msg, want))
        fail_msg("'%s' does not say '%s'", err.msg, want);
    close_all(&f);
}

static void files_are_held_against_the_model(void **state)
{
    const struct as_input_file file = {"input", path}, twice[] = {file, file};
    struct fixture f = {.options = {.files = &file, .n_files = 1}};
    struct assay_error err = {0};
    uint8_t *data;

    (void)state;
    write_npy(path, "<f4", "(1, 784)", 4 * 784);
    open_fine(&f, "zoo:mlp");
    data = as_engine_input(f.engine, 0)->data;
    for (size_t i = 0; i < 4 * 784; i++)
        assert_int_equal(data[i], i % 7);
    assert_non_null(strstr(f.inputs.choices[0].how, path));
    close_all(&f);

    expect_refusal("other", "the model has no input 'other'; it has: input");
    f = (struct fixture){.options = {.files = twice, .n_files = 2}};
    assert_true(open_all(&f, "zoo:mlp", &err) < 0);
    assert_string_equal(err.msg, "input 'input' is given twice");
    close_all(&f);
    write_npy(path, "<f8", "(1, 784)", 8 * 784);
    expect_refusal(NULL, "holds f64 elements, but input 'input' takes f32");
    write_npy(path, "<f4", "(784,)", 4 * 784);
    expect_refusal(NULL, "holds 784, but input 'input' is");
    write_npy(path, "<f4", "(1, 783)", 4 * 783);
    expect_refusal(NULL, "holds 1x783, but input 'input' is");
    write_npy(path, "<f4", "(1, 784)", 100);
    expect_refusal(NULL, "100 bytes of data");
}

/* TensorProto: dims 1 and 784 (field 1), float (2) and raw data (9). */
static void tensors_of_onnx_are_read(void **state)
{
    static const uint8_t head[] = {0x08, 1, 0x08, 0x90, 0x06, 0x10, 1, 0x4a, 0xc0, 0x18};
    const struct as_input_file file = {NULL, path};
    struct fixture f = {.options = {.files = &file, .n_files = 1}};
    FILE *out = fopen(path, "wb");
    uint8_t *data;

    (void)state;
    assert_non_null(out);
    fwrite(head, 1, sizeof head, out);
    for (int i = 0; i < 4 * 784; i++)
        fputc(i % 11, out);
    fclose(out);
    open_fine(&f, "zoo:mlp");
    data = as_engine_input(f.engine, 0)->data;
    for (int i = 0; i < 4 * 784; i++)
        assert_int_equal(data[i], i % 11);
    close_all(&f);
    out = fopen(path, "wb");
    assert_non_null(out);
    fputs("<html>not a tensor</html>", out);
    fclose(out);
    expect_refusal(NULL, "neither .npy nor a tensor of ONNX");
    out = fopen(path, "wb");
    assert_non_null(out);
    fputs("PK\003\004", out);
    fclose(out);
    expect_refusal(NULL, "ZIP");
    assert_int_equal(truncate(path, 0), 0);
    expect_refusal(NULL, "is empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_random_and_repeat),
        cmocka_unit_test(zeros_ones_and_normal),
        cmocka_unit_test(indices_stay_inside_their_tables),
        cmocka_unit_test(files_are_held_against_the_model),
        cmocka_unit_test(tensors_of_onnx_are_read),
    };
    int fd = mkstemp(path), failed;

    if (fd < 0)
        return 1;
    close(fd);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
