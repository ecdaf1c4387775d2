/* tests/unit/test_gemm_watch.c - the products in a share are told as they were, and what nobody of
 * ours would write is refused or passed over. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/heap/gemm_watch.h"
#include "trace/shm/gemm_shm.h"

struct fixture {
    char path[64];
    struct as_arena arena;
    struct as_gemm_calls *calls;
    size_t n;
    uint64_t unplaced;
    struct assay_error err;
};

static void put(const struct fixture *f, const void *data, size_t size, size_t offset)
{
    FILE *file = fopen(f->path, "r+b");

    assert_non_null(file);
    assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void put_n_entries(const struct fixture *f, uint64_t n, uint64_t unplaced)
{
    struct as_gemm_header header = {.n_entries = n, .unplaced = unplaced};

    put(f, &header, sizeof header, AS_SHM_GEMM_AT);
}

static void put_entry(const struct fixture *f, unsigned number, struct as_gemm_key key,
                      uint64_t calls, uint64_t time_ns)
{
    struct as_gemm_entry entry = {
        .key = key, .calls = calls, .time_ns = time_ns, .min_ns = 1, .max_ns = time_ns};

    put(f, &entry, sizeof entry,
        AS_SHM_GEMM_AT + offsetof(struct as_gemm_shm, entry) + number * sizeof entry);
}

static int read_all(struct fixture *f)
{
    return as_gemm_watch_read(f->path, &f->arena, &f->calls, &f->n, &f->unplaced, &f->err);
}

static int set_up(void **state)
{
    struct as_shm_header header = {.magic = AS_SHM_MAGIC, .size_bytes = AS_SHM_BYTES};
    struct fixture *f = calloc(1, sizeof *f);
    int fd;

    if (!f)
        return -1;
    snprintf(f->path, sizeof f->path, "/tmp/gemm-watch-XXXXXX");
    fd = mkstemp(f->path);
    if (fd < 0 || ftruncate(fd, AS_SHM_GEMM_AT + AS_SHM_GEMM_BYTES) != 0)
        return -1;
    close(fd);
    put(f, &header, sizeof header, 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    unlink(f->path);
    as_arena_fini(&f->arena);
    free(f);
    return 0;
}

static void a_share_without_products_has_none(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_all(f), 0);
    assert_int_equal(f->n, 0);
    assert_int_equal(f->unplaced, 0);
}

static void products_come_with_most_time_first(void **state)
{
    struct fixture *f = *state;
    struct as_gemm_key key = {
        .function = AS_GEMM_SGEMM, .dtype = AS_GEMM_F32, .m = 2, .n = 3, .k = 5, .batch = 1};

    put_entry(f, 0, key, 4, 100);
    key.transposed = AS_GEMM_A_TRANSPOSED | AS_GEMM_B_TRANSPOSED;
    put_entry(f, 2, key, 7, 900); /* the one between them was never used */
    put_n_entries(f, 3, 11);
    assert_int_equal(read_all(f), 0);
    assert_int_equal(f->n, 2);
    assert_int_equal(f->unplaced, 11);
    assert_string_equal(f->calls[0].shape, "m 2 n 3 k 5, A and B transposed");
    assert_int_equal(f->calls[0].calls, 7);
    assert_string_equal(f->calls[1].function, "sgemm_");
    assert_string_equal(f->calls[1].dtype, "f32");
    assert_string_equal(f->calls[1].shape, "m 2 n 3 k 5");
    assert_true(f->calls[1].flops == 60);
    assert_int_equal(f->calls[1].max_ns, 100);
}

static double flops_of(struct fixture *f, struct as_gemm_key key)
{
    put_entry(f, 0, key, 1, 10);
    put_n_entries(f, 1, 0);
    assert_int_equal(read_all(f), 0);
    assert_int_equal(f->n, 1);
    return f->calls[0].flops;
}

static void complex_products_are_four_times_the_work(void **state)
{
    struct as_gemm_key key = {
        .function = AS_GEMM_CBLAS_ZGEMM, .dtype = AS_GEMM_C128, .m = 2, .n = 3, .k = 5, .batch = 1};

    assert_true(flops_of(*state, key) == 8 * 2 * 3 * 5);
}

static void a_product_with_itself_makes_one_triangle(void **state)
{
    struct as_gemm_key key = {
        .function = AS_GEMM_DSYRK, .dtype = AS_GEMM_F64, .m = 4, .n = 4, .k = 5, .batch = 1};

    assert_true(flops_of(*state, key) == 4 * 5 * 5);
}

/* A complex multiplication is six, an addition two; how long values take to converge nobody knows.
 */
static void drivers_have_the_work_of_their_formula(void **state)
{
    struct fixture *f = *state;
    struct as_gemm_key key = {
        .function = AS_GEMM_DGETRF, .dtype = AS_GEMM_F64, .m = 3, .n = 3, .batch = 1};

    /* By hand: 2 + 1 divisions' products, 3 reciprocals, 4 + 1 multiplications and as many sums. */
    assert_true(fabs(flops_of(f, key) - (3 + 3 + 5 + 5)) < 1e-9);
    assert_string_equal(f->calls[0].function, "dgetrf_");
    assert_string_equal(f->calls[0].shape, "m 3 n 3");
    assert_true(as_gemm_is_driver(&f->calls[0]));
    assert_true(f->calls[0].m == 0 && f->calls[0].k == 0); /* not a product */
    key.function = AS_GEMM_ZGETRF64;
    key.dtype = AS_GEMM_C128;
    assert_true(fabs(flops_of(f, key) - (6 * 11 + 2 * 5)) < 1e-9);
    assert_string_equal(f->calls[0].function, "zgetrf_64_");
    key.function = AS_GEMM_ZHEEVD_SCIPY64;
    key.transposed = AS_GEMM_VALUES_ONLY;
    assert_true(isnan(flops_of(f, key)));
    assert_string_equal(f->calls[0].function, "scipy_zheevd_64_");
    assert_string_equal(f->calls[0].shape, "n 3, values only");
    key.function = AS_GEMM_SGEMM_SCIPY64;
    key.transposed = 0;
    (void)flops_of(f, key);
    assert_string_equal(f->calls[0].function, "scipy_sgemm_64_");
    assert_false(as_gemm_is_driver(&f->calls[0]));
}

static void a_core_is_told_when_it_is_a_name(void **state)
{
    struct fixture *f = *state;
    struct as_gemm_header header = {.core = "Haswell"};
    char core[AS_GEMM_CORE_TEXT];

    put(f, &header, sizeof header, AS_SHM_GEMM_AT);
    as_gemm_watch_core(f->path, core);
    assert_string_equal(core, "Haswell");
    memset(header.core, 'x', sizeof header.core); /* without an end */
    put(f, &header, sizeof header, AS_SHM_GEMM_AT);
    as_gemm_watch_core(f->path, core);
    assert_int_equal(strlen(core), AS_GEMM_CORE_TEXT - 1);
    header.core[3] = 27;
    put(f, &header, sizeof header, AS_SHM_GEMM_AT);
    as_gemm_watch_core(f->path, core);
    assert_string_equal(core, "");
    as_gemm_watch_core("/nowhere", core);
    assert_string_equal(core, "");
}

static struct as_gemm_key primitive(unsigned kind)
{
    return (struct as_gemm_key){.function = AS_GEMM_DNNL_PRIMITIVE,
                                .kind = (uint16_t)kind,
                                .dtype = AS_GEMM_BF16,
                                .n_dims = {4, 4, 4},
                                .dims = {{2, 8, 10, 12}, {16, 8, 3, 5}, {2, 16, 8, 8}}};
}

static void convolutions_have_their_work(void **state)
{
    struct fixture *f = *state;
    struct as_gemm_key key = primitive(AS_GEMM_KIND_CONVOLUTION);
    static const uint64_t grouped[AS_GEMM_MAX_DIMS] = {4, 4, 2, 3, 5};

    assert_true(flops_of(f, key) == 2.0 * (2 * 16 * 8 * 8) * 8 * 15);
    assert_string_equal(f->calls[0].function, "dnnl convolution");
    assert_string_equal(f->calls[0].dtype, "bf16");
    assert_string_equal(f->calls[0].shape, "src 2x8x10x12 weights 16x8x3x5 dst 2x16x8x8");
    assert_int_equal(f->calls[0].m, 0);
    key.n_dims[AS_GEMM_WEIGHTS] = 5;
    memcpy(key.dims[AS_GEMM_WEIGHTS], grouped, sizeof grouped);
    key.pass = AS_GEMM_BACKWARD_WEIGHTS;
    assert_true(flops_of(f, key) == 2.0 * (2 * 16 * 8 * 8) * 2 * 15);
    assert_string_equal(f->calls[0].function, "dnnl convolution backward weights");
    key.kind = AS_GEMM_KIND_DECONVOLUTION;
    assert_true(flops_of(f, key) == 2.0 * (2 * 8 * 10 * 12) * 4 * 15);
}

static void a_matmul_has_a_batch(void **state)
{
    struct fixture *f = *state;
    struct as_gemm_key key = primitive(AS_GEMM_KIND_MATMUL);
    static const uint64_t dims[][AS_GEMM_MAX_DIMS] = {{3, 7, 4, 5}, {3, 7, 5, 6}, {3, 7, 4, 6}};

    memcpy(key.dims, dims, sizeof dims);
    assert_true(flops_of(f, key) == 2.0 * 21 * 4 * 5 * 6);
    assert_int_equal(f->calls[0].m, 4);
    assert_int_equal(f->calls[0].n, 6);
    assert_int_equal(f->calls[0].k, 5);
    assert_int_equal(f->calls[0].batch, 21);
}

static void an_inner_product_is_one_over_all_but_the_first(void **state)
{
    struct fixture *f = *state;
    struct as_gemm_key key = primitive(AS_GEMM_KIND_INNER_PRODUCT);

    key.n_dims[AS_GEMM_DST] = 2;
    assert_true(flops_of(f, key) == 2.0 * 2 * 16 * (8 * 10 * 12));
    assert_int_equal(f->calls[0].k, 8 * 10 * 12);
}

static void what_is_not_known_is_not_a_number(void **state)
{
    struct fixture *f = *state;
    struct as_gemm_key key = primitive(AS_GEMM_KIND_CONVOLUTION);

    key.dims[AS_GEMM_DST][0] = AS_GEMM_DIM_LATE;
    assert_true(isnan(flops_of(f, key)));
    assert_string_equal(f->calls[0].shape, "src 2x8x10x12 weights 16x8x3x5 dst ?x16x8x8");
    key.n_dims[AS_GEMM_DST] = 9;
    assert_true(isnan(flops_of(f, key)));
    assert_string_equal(f->calls[0].shape, "src 2x8x10x12 weights 16x8x3x5 dst of 9 dimensions");
    assert_true(isnan(flops_of(f, primitive(8))));
    key = (struct as_gemm_key){.function = AS_GEMM_DNNL_PRIMITIVE};
    assert_true(isnan(flops_of(f, key)));
    assert_string_equal(f->calls[0].function, "dnnl primitive");
    assert_string_equal(f->calls[0].dtype, "unknown");
    assert_string_equal(f->calls[0].shape, "unknown");
}

static void long_shapes_are_cut(void **state)
{
    struct fixture *f = *state;
    struct as_gemm_key key = primitive(AS_GEMM_KIND_CONVOLUTION);

    for (int t = 0; t < AS_GEMM_TENSOR_COUNT; t++) {
        key.n_dims[t] = AS_GEMM_MAX_DIMS;
        for (unsigned i = 0; i < AS_GEMM_MAX_DIMS; i++)
            key.dims[t][i] = UINT64_MAX - 1;
    }
    (void)flops_of(f, key);
    assert_int_equal(strlen(f->calls[0].shape), sizeof f->calls[0].shape - 1);
}

static void entries_that_nobody_wrote_are_passed_over(void **state)
{
    struct fixture *f = *state;
    struct as_gemm_key key = {.function = AS_GEMM_SGEMM, .dtype = AS_GEMM_F32, .batch = 1};
    struct as_gemm_key wrong[] = {key, key, key, key};

    wrong[0].function = AS_GEMM_FUNCTION_COUNT;
    wrong[1].dtype = AS_GEMM_DTYPE_COUNT;
    wrong[2].kind = AS_GEMM_KIND_COUNT;
    wrong[3].pass = AS_GEMM_PASS_COUNT;
    for (unsigned i = 0; i < 4; i++)
        put_entry(f, i, wrong[i], 1, 1);
    put_entry(f, 4, key, 1, 1);
    put_n_entries(f, UINT64_MAX, 0);
    assert_int_equal(read_all(f), 0);
    assert_int_equal(f->n, 1);
}

static void other_files_are_refused(void **state)
{
    struct fixture *f = *state;
    uint64_t magic = AS_SHM_MAGIC + 1;

    put_n_entries(f, 100, 0);
    assert_int_equal(truncate(f->path, AS_SHM_GEMM_AT + 256), 0);
    assert_int_equal(read_all(f), ASSAY_ERR_FORMAT);
    assert_non_null(strstr(f->err.msg, "truncated"));
    put(f, &magic, sizeof magic, 0);
    assert_int_equal(read_all(f), ASSAY_ERR_FORMAT);
    assert_non_null(strstr(f->err.msg, f->path));
    assert_int_equal(truncate(f->path, 0), 0);
    assert_int_equal(read_all(f), ASSAY_ERR_FORMAT);
    assert_int_equal(
        as_gemm_watch_read("/dev/null", &f->arena, &f->calls, &f->n, &f->unplaced, &f->err),
        ASSAY_ERR_FORMAT);
    assert_int_equal(
        as_gemm_watch_read("/nowhere", &f->arena, &f->calls, &f->n, &f->unplaced, &f->err),
        ASSAY_ERR_IO);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_share_without_products_has_none),
        CASE(products_come_with_most_time_first),
        CASE(complex_products_are_four_times_the_work),
        CASE(a_product_with_itself_makes_one_triangle),
        CASE(drivers_have_the_work_of_their_formula),
        CASE(a_core_is_told_when_it_is_a_name),
        CASE(convolutions_have_their_work),
        CASE(a_matmul_has_a_batch),
        CASE(an_inner_product_is_one_over_all_but_the_first),
        CASE(what_is_not_known_is_not_a_number),
        CASE(long_shapes_are_cut),
        CASE(entries_that_nobody_wrote_are_passed_over),
        CASE(other_files_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
