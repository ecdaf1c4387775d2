/* On how many threads a step runs: its work against what handing it over costs. */
#include "engine/step_threads.h"
#include "unit.h"

enum { A, B, C };

static int64_t dims_a[2], dims_b[2], dims_c[2];
static struct as_slot slots[3];
static uint32_t in[] = {A, B}, out[] = {C};

static void set(int slot, int64_t *dims, int64_t rows, int64_t columns)
{
    dims[0] = rows;
    dims[1] = columns;
    slots[slot].type =
        (struct as_type){.kind = AS_VALUE_TENSOR, .dtype = AS_DTYPE_F32, .rank = 2, .dims = dims};
}

static struct as_step step_of(enum as_op op)
{
    return (struct as_step){.op = op, .n_in = 2, .n_out = 1, .in = in, .out = out};
}

/* A product of square matrices on up to that many threads. */
static unsigned threads_of(int64_t size, unsigned most, double hand_over_ns)
{
    const struct as_engine_options options = {.threads = most};
    const struct as_exec_plan p = {.options = &options,
                                   .slots = slots,
                                   .n_slots = 3,
                                   .library_hand_over_ns = hand_over_ns,
                                   .pool_hand_over_ns = hand_over_ns};
    const struct as_step step = step_of(AS_OP_MatMul);

    set(A, dims_a, size, size);
    set(B, dims_b, size, size);
    set(C, dims_c, size, size);
    return as_step_threads(&p, &step, true);
}

static void short_work_stays_on_one_thread_and_long_work_is_shared(void **state)
{
    (void)state;
    assert_int_equal(threads_of(8, 2, 10e3), 1);
    assert_int_equal(threads_of(64, 4, 10e3), 1);
    assert_int_equal(threads_of(2048, 2, 10e3), 2);
    assert_int_equal(threads_of(2048, 4, 10e3), 4);
}

static void a_busy_machine_shares_less(void **state)
{
    unsigned before = 2;
    int changes = 0;

    (void)state;
    assert_int_equal(threads_of(512, 2, 5e3), 2);
    assert_int_equal(threads_of(512, 2, 1e9), 1);
    for (double cost = 1e3; cost < 1e9; cost *= 2) { /* once too dear, always too dear */
        unsigned now = threads_of(512, 2, cost);

        changes += now != before;
        before = now;
    }
    assert_int_equal(changes, 1);
}

static void one_thread_is_all_there_is(void **state)
{
    (void)state;
    assert_int_equal(threads_of(2048, 1, 0), 1);
}

static void shapes_that_are_not_known_are_no_work(void **state)
{
    const struct as_engine_options options = {.threads = 2};
    const struct as_exec_plan p = {.options = &options,
                                   .slots = slots,
                                   .n_slots = 3,
                                   .library_hand_over_ns = 10e3,
                                   .pool_hand_over_ns = 10e3};
    const struct as_step step = step_of(AS_OP_Gemm);

    (void)state;
    for (int i = 0; i < 3; i++)
        slots[i].type = (struct as_type){.kind = AS_VALUE_TENSOR, .rank = -1};
    assert_int_equal(as_step_threads(&p, &step, true), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_work_stays_on_one_thread_and_long_work_is_shared),
        cmocka_unit_test(a_busy_machine_shares_less),
        cmocka_unit_test(one_thread_is_all_there_is),
        cmocka_unit_test(shapes_that_are_not_known_are_no_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
