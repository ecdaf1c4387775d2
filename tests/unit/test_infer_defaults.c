/* tests/unit/test_infer_defaults.c - open dimensions that nobody gave: what they are taken as, and
 * what happens when that cannot work; and files that are wrong about their own tensors. */
#include "rule_kit.h"

static const struct as_finding *finding(const struct rule_kit *k, enum as_finding_kind kind,
                                        const char *part)
{
    for (const struct as_finding *f = k->model->findings; f; f = f->next)
        if (f->kind == kind && strstr(f->text, part))
            return f;
    return NULL;
}

static void open(struct rule_kit *k, const char *text)
{
    if (kit_infer(k, 17, text, NULL) < 0)
        fail_msg("%s: %s", text, k->err.msg);
}

static void open_dimensions_are_taken_by_what_they_look_like(void **state)
{
    struct rule_kit k;

    (void)state;
    open(&k, "in input ?x?; in state 2x?x128; in ids i64:?x?; in images ?x?x?x?; in c0 1x?x64; "
             "in frames 1x?x64; Relu input -> y");
    kit_is(&k, "input", "1x512");
    kit_is(&k, "state", "2x1x128");
    kit_is(&k, "c0", "1x1x64");
    kit_is(&k, "frames", "1x128x64");
    kit_is(&k, "ids", "1x128");
    kit_is(&k, "images", "1x3x224x224");
    assert_non_null(finding(&k, AS_FINDING_DEFAULT, "'state' was taken as 1"));
    kit_free(&k);
}

/* 128 x 16 numbers are no rows of 100: but that is our guess, not the file's mistake. */
#define ODD                                                                                        \
    "in x ?x?x16; const n i64{1,100}; Reshape x,n -> r; Relu x -> s; const w 100x4; "              \
    "MatMul r,w -> y"

static void defaults_that_cannot_work_are_given_up(void **state)
{
    const struct as_finding *f;
    struct rule_kit k;

    (void)state;
    open(&k, ODD);
    f = finding(&k, AS_FINDING_DEFAULT, "with the defaults x[0]=1, x[1]=128 node 'Reshape'");
    assert_non_null(f);
    assert_non_null(strstr(f->text, "give --dim or --shape"));
    kit_is(&k, "x", "?x?x16");
    kit_is(&k, "s", "?x?x16");
    kit_is(&k, "y", "1x4");
    assert_int_equal(k.err.code, 0);
    kit_free(&k);
}

static void sizes_the_user_gave_are_an_error(void **state)
{
    const struct as_dims dims = {3, {1, 128, 16}};
    const struct as_infer_input input = {.name = "x", .dims = &dims};
    const struct as_infer_options options = {.inputs = &input, .n_inputs = 1};
    struct rule_kit k;

    (void)state;
    assert_int_equal(kit_infer(&k, 17, ODD, &options), ASSAY_ERR_FORMAT);
    assert_non_null(strstr(k.err.msg, "Reshape"));
    kit_free(&k);
    /* So is what cannot work whatever the open dimensions are. */
    assert_int_equal(kit_infer(&k, 17, "in x ?x4; in y 3; Add x,y -> z", NULL), ASSAY_ERR_FORMAT);
    kit_free(&k);
}

/* Declares `name` before anything is inferred a second time. */
static void declare(struct rule_kit *k, const char *name, unsigned dtype,
                    const struct as_dims *dims)
{
    assert_true(as_type_tensor(&kit_value(k, name)->declared, &k->model->arena, dtype, dims));
}

static void a_file_that_is_wrong_about_a_tensor_is_told(void **state)
{
    const struct as_dims wrong = {2, {2, 9}}, right = {2, {2, 8}},
                         open_one = {2, {2, AS_DIM_UNKNOWN}};
    const struct as_dims other = {2, {3, 64}};
    const struct as_infer_input input = {.name = "x", .dims = &other};
    const struct as_infer_options options = {.inputs = &input, .n_inputs = 1};
    struct rule_kit k;

    (void)state;
    open(&k, "in x 2x64; const w 64x8; MatMul x,w -> y; Relu y -> z; out z");
    assert_null(k.model->findings);
    declare(&k, "y", AS_DTYPE_F32, &wrong);
    declare(&k, "z", AS_DTYPE_F16, &right);
    assert_int_equal(as_infer_shapes(k.model, NULL, NULL, NULL), ASSAY_OK);
    kit_is(&k, "y", "2x8");
    assert_non_null(
        finding(&k, AS_FINDING_CONFLICT, "'y' as f32 2x9, but the node produces f32 2x8"));
    assert_non_null(finding(&k, AS_FINDING_CONFLICT, "'z' as f16"));
    assert_int_equal(k.model->n_findings, 2);
    /* Other inputs than the file's make its other shapes stale, not wrong. */
    assert_int_equal(as_infer_shapes(k.model, &options, NULL, NULL), ASSAY_OK);
    assert_int_equal(k.model->n_findings, 0);
    declare(&k, "y", AS_DTYPE_F32, &open_one);
    declare(&k, "z", AS_DTYPE_UNKNOWN, NULL);
    assert_int_equal(as_infer_shapes(k.model, NULL, NULL, NULL), ASSAY_OK);
    assert_int_equal(k.model->n_findings, 0);
    kit_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_dimensions_are_taken_by_what_they_look_like),
        cmocka_unit_test(defaults_that_cannot_work_are_given_up),
        cmocka_unit_test(sizes_the_user_gave_are_an_error),
        cmocka_unit_test(a_file_that_is_wrong_about_a_tensor_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
