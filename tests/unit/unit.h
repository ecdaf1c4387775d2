/* tests/unit/unit.h - what every unit test begins with: cmocka, after the headers it needs.
 * The helpers stop the test that called them when they fail. */
#ifndef AS_TESTS_UNIT_H
#define AS_TESTS_UNIT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/output.h"

#define UNIT_COUNT(array) (sizeof(array) / sizeof *(array))
#define UNIT_NAN          ((double)NAN) /* the standard ones are floats */
#define UNIT_INFINITY     ((double)INFINITY)

/* An output into memory. */
static inline struct as_out unit_out(void)
{
    struct as_out out;

    assert_int_equal(as_out_memory(&out, NULL), ASSAY_OK);
    return out;
}

/* Compares what was collected with `expected` and empties the output for the next step. */
static inline void unit_expect(struct as_out *out, const char *expected)
{
    assert_string_equal(as_out_get(out, NULL), expected);
    out->used = 0;
}

/* Writes one object, whose members `call` writes into the writer `w_`. */
#define UNIT_JSON(out, call)                                                                       \
    do {                                                                                           \
        struct as_json_writer w_;                                                                  \
                                                                                                   \
        as_json_writer_init(&w_, (out), 2);                                                        \
        as_json_object(&w_);                                                                       \
        call;                                                                                      \
        as_json_object_end(&w_);                                                                   \
        assert_int_equal(as_json_writer_finish(&w_, NULL), ASSAY_OK);                              \
    } while (0)

#endif
