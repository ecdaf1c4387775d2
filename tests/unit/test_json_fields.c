/* tests/unit/test_json_fields.c - structs by their tables: every kind of field out and in again,
 * and what hostile JSON can do to them, which is little. */
#include "unit.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/json/json_fields.h"

enum color { RED, GREEN, BLUE, COLOR_COUNT };

struct inner {
    uint64_t n;
    double x;
};

struct every {
    uint64_t u64;
    int64_t i64;
    uint32_t u32;
    uint8_t u8;
    int i;
    double f64;
    const char *text;
    char chars[8];
    bool flag;
    enum color color, named;
    struct as_fact fact, no_fact;
    struct as_fact_real real, no_real;
    struct as_limit limit, no_limit, unknown_limit;
    struct inner inner;
    struct inner array[4];
    size_t n_array;
    struct inner *list;
    size_t n_list;
    double *values;
    uint32_t n_values;
    double numbers[3];
};

static const char *const color_name[] = {"red", "green", "blue"};

static const struct as_json_field inner_fields[] = {
    AS_FIELD(struct inner, n),
    AS_FIELD(struct inner, x),
};
static const struct as_json_shape inner_shape = AS_SHAPE(struct inner, inner_fields);

static const struct as_json_field every_fields[] = {
    AS_FIELD(struct every, u64),
    AS_FIELD(struct every, i64),
    AS_FIELD(struct every, u32),
    AS_FIELD(struct every, u8),
    AS_FIELD(struct every, i),
    AS_FIELD(struct every, f64),
    AS_FIELD(struct every, text),
    AS_FIELD(struct every, chars),
    AS_FIELD(struct every, flag),
    AS_FIELD_ENUM(struct every, color, COLOR_COUNT),
    AS_FIELD_NAMED(struct every, named, color_name),
    AS_FIELD(struct every, fact),
    AS_FIELD(struct every, no_fact),
    AS_FIELD(struct every, real),
    AS_FIELD(struct every, no_real),
    AS_FIELD(struct every, limit),
    AS_FIELD(struct every, no_limit),
    AS_FIELD(struct every, unknown_limit),
    AS_FIELD_OBJECT(struct every, inner, &inner_shape),
    AS_FIELD_ARRAY(struct every, array, n_array, &inner_shape),
    AS_FIELD_LIST(struct every, list, n_list, &inner_shape, 3),
    AS_FIELD_VALUES(struct every, values, n_values, 5),
    AS_FIELD_NUMBERS(struct every, numbers, numbers[0]),
};
static const struct as_json_shape every_shape = AS_SHAPE(struct every, every_fields);

static struct inner listed[2] = {{7, 0.1}, {8, 0.2}};
static double valued[3] = {1e-300, 0.1, 12345678901234567.0};

static struct every sample(void)
{
    return (struct every){
        .u64 = UINT64_MAX,
        .i64 = INT64_MIN,
        .u32 = UINT32_MAX,
        .u8 = 255,
        .i = -5,
        .f64 = 0.1 + 0.2,
        .text = "a \"text\"\n\x01 of \xc3\xa9",
        .chars = "seven77",
        .flag = true,
        .color = BLUE,
        .named = GREEN,
        .fact.value = 12,
        .no_fact.why = "nobody says",
        .real.value = 1.5,
        .no_real = {.value = 0, .why = "not read"},
        .limit = {.value = 2.5, .set = true},
        .unknown_limit.why = "closed",
        .inner = {3, UNIT_NAN},
        .array = {{1, 1}, {2, 2}},
        .n_array = 2,
        .list = listed,
        .n_list = 2,
        .values = valued,
        .n_values = 3,
        .numbers = {1, UNIT_NAN, 3},
    };
}

static int parse(const struct as_json_shape *shape, void *object, struct as_arena *arena,
                 const char *text, size_t size)
{
    struct as_json_parser p;
    int rc;

    as_json_parser_init(&p, text, size);
    rc = as_json_next(&p, NULL);
    if (rc == AS_JSON_OBJECT)
        rc = as_json_fields_read(shape, object, NULL, arena, &p, NULL);
    as_json_parser_fini(&p);
    return rc;
}

static void expect_sample(const struct every *e)
{
    struct every s = sample();

    assert_true(e->u64 == s.u64 && e->i64 == s.i64 && e->u32 == s.u32 && e->u8 == s.u8);
    assert_true(e->i == s.i && memcmp(&e->f64, &s.f64, sizeof s.f64) == 0 && e->flag);
    assert_string_equal(e->text, s.text);
    assert_string_equal(e->chars, s.chars);
    assert_true(e->color == BLUE && e->named == GREEN);
    assert_true(e->fact.value == 12 && !e->fact.why && e->real.value == 1.5 && !e->real.why);
    assert_string_equal(e->no_fact.why, "nobody says");
    assert_string_equal(e->no_real.why, "not read");
    assert_true(e->limit.set && e->limit.value == 2.5 && !e->no_limit.set && !e->no_limit.why);
    assert_string_equal(e->unknown_limit.why, "closed");
    assert_true(e->inner.n == 3 && isnan(e->inner.x));
    assert_true(e->n_array == 2 && e->array[1].n == 2 && e->n_list == 2 && e->list[1].x == 0.2);
    assert_true(e->n_values == 3 && memcmp(e->values, valued, sizeof valued) == 0);
    assert_true(e->numbers[0] == 1 && isnan(e->numbers[1]) && e->numbers[2] == 3);
}

static void every_kind_comes_back_the_same(void **state)
{
    struct as_out out = unit_out(), again = unit_out();
    struct every e = sample(), read;
    struct as_arena arena = {0};
    struct as_json_writer w;
    size_t size;
    const char *text;

    (void)state;
    as_json_writer_init(&w, &out, 0);
    as_json_fields_write(&w, &every_shape, &e);
    assert_int_equal(as_json_writer_finish(&w, NULL), ASSAY_OK);
    text = as_out_get(&out, &size);
    assert_non_null(strstr(text, "\"named\":\"green\""));
    assert_non_null(strstr(text, "\"no_fact\":null,\"no_fact_reason\":\"nobody says\""));
    memset(&read, 0x5a, sizeof read);
    assert_int_equal(parse(&every_shape, &read, &arena, text, size), 1);
    expect_sample(&read);
    as_json_writer_init(&w, &again, 0);
    as_json_fields_write(&w, &every_shape, &read);
    assert_int_equal(as_json_writer_finish(&w, NULL), ASSAY_OK);
    assert_string_equal(as_out_get(&again, NULL), text);
    as_out_drop(&out);
    as_out_drop(&again);
    as_arena_fini(&arena);
}

/* Reads a table from `json` into rows; the number that was passed over. */
static uint64_t read_table(struct as_rows *rows, const struct as_json_shape *shape,
                           const char *json, size_t size, int *rc)
{
    struct as_json_parser p;

    rows->size = shape->size;
    as_json_parser_init(&p, json, size);
    *rc = as_json_next(&p, NULL);
    if (*rc == AS_JSON_OBJECT)
        *rc = as_rows_read_table(rows, shape, &p, NULL);
    as_json_parser_fini(&p);
    return rows->passed_over;
}

static void rows_come_back_the_same(void **state)
{
    struct as_out out = unit_out();
    struct every e = sample();
    struct as_arena arena = {0};
    struct as_rows rows = {.arena = &arena, .max = 10};
    struct as_json_writer w;
    size_t size;
    const char *text;
    int rc;

    (void)state;
    as_json_writer_init(&w, &out, 0);
    as_json_object(&w);
    as_json_fields_columns(&w, &every_shape);
    as_json_kv_array(&w, "rows");
    as_json_fields_row(&w, &every_shape, &e);
    as_json_fields_row(&w, &every_shape, &e);
    as_json_array_end(&w);
    as_json_object_end(&w);
    assert_int_equal(as_json_writer_finish(&w, NULL), ASSAY_OK);
    text = as_out_get(&out, &size);
    assert_int_equal(read_table(&rows, &every_shape, text, size, &rc), 0);
    assert_int_equal(rc, ASSAY_OK);
    assert_int_equal(rows.n, 2);
    expect_sample(&((struct every *)rows.at)[1]);
    as_out_drop(&out);
    as_arena_fini(&arena);
}

static void tables_need_their_columns_and_ignore_others(void **state)
{
    static const struct {
        const char *json;
        size_t n;
        uint64_t passed_over;
    } cases[] = {
        {"{\"columns\":[[\"n\",\"\"],[\"x\",\"\"]],\"rows\":[[1,2.5]]}", 1, 0},
        {"{\"columns\":[[\"x\",\"\"],[\"more\",\"\"],[\"n\",\"\"]],\"rows\":[[2.5,[{}],1]]}", 1, 0},
        {"{\"columns\":[[\"n\",\"\"]],\"rows\":[[1],[2]]}", 0, 2},
        {"{\"columns\":[],\"rows\":[[],[],[]]}", 0, 3},
        {"{\"rows\":[[1,2]],\"columns\":[[\"n\"],[\"x\"]]}", 0, 1},
        {"{\"columns\":[[\"n\",\"\"],[\"x\",\"\"]],\"rows\":[[1],[1,2,3],[-1,2],[1,\"x\"],7,[3,4]]"
         "}",
         1, 5},
        {"{\"columns\":7,\"rows\":7}", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_arena arena = {0};
        struct as_rows rows = {.arena = &arena, .max = 10};
        int rc;

        assert_int_equal(read_table(&rows, &inner_shape, cases[i].json, strlen(cases[i].json), &rc),
                         cases[i].passed_over);
        assert_int_equal(rc, ASSAY_OK);
        assert_int_equal(rows.n, cases[i].n);
        as_arena_fini(&arena);
    }
}

static void what_does_not_fit_is_not_taken(void **state)
{
    static const struct as_json_field one[] = {
        AS_FIELD(struct every, u8),
        AS_FIELD(struct every, i),
        AS_FIELD(struct every, chars),
        AS_FIELD_ENUM(struct every, color, COLOR_COUNT),
        AS_FIELD_NAMED(struct every, named, color_name),
        AS_FIELD_OBJECT(struct every, inner, &inner_shape),
        AS_FIELD_ARRAY(struct every, array, n_array, &inner_shape),
        AS_FIELD_LIST(struct every, list, n_list, &inner_shape, 3),
        AS_FIELD_NUMBERS(struct every, numbers, numbers[0]),
        AS_FIELD(struct every, flag),
    };
    static const struct as_json_shape shape = {one, UNIT_COUNT(one), sizeof(struct every),
                                               1u << 30};
    static const char *const wrong[] = {
        "{\"u8\":256}",
        "{\"u8\":-1}",
        "{\"u8\":1.5}",
        "{\"u8\":\"1\"}",
        "{\"i\":2147483648}",
        "{\"chars\":\"eight888\"}",
        "{\"chars\":\"a\\u0000b\"}",
        "{\"color\":3}",
        "{\"color\":4294967296}",
        "{\"color\":\"blue\"}",
        "{\"named\":\"pink\"}",
        "{\"named\":1}",
        "{\"inner\":[]}",
        "{\"inner\":{\"n\":1}}",
        "{\"array\":[{\"n\":1,\"x\":1},{\"n\":1,\"x\":1},{\"n\":1,\"x\":1},{\"n\":1,\"x\":1},{"
        "\"n\":1}]}",
        "{\"array\":{}}",
        "{\"list\":[{\"n\":1,\"x\":1},{}]}",
        "{\"list\":[{\"n\":1,\"x\":1},{\"n\":1,\"x\":1},{\"n\":1,\"x\":1},{\"n\":1,\"x\":1}]}",
        "{\"numbers\":[1,2]}",
        "{\"numbers\":[1,2,3,4]}",
        "{\"flag\":1}",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
        struct as_arena arena = {0};
        struct every e;

        assert_int_equal(parse(&shape, &e, &arena, wrong[i], strlen(wrong[i])), 0);
        assert_true(e.n_array <= 4 && e.n_list <= 3 && (unsigned)e.color < COLOR_COUNT);
        as_arena_fini(&arena);
    }
}

static void a_missing_key_is_noticed_and_an_unknown_one_passed_over(void **state)
{
    struct as_arena arena = {0};
    struct inner in;

    (void)state;
#define READ(text) parse(&inner_shape, &in, &arena, text, strlen(text))
    assert_int_equal(READ("{\"n\":1}"), 0);
    assert_true(in.n == 1 && isnan(in.x));
    assert_int_equal(READ("{}"), 0);
    assert_int_equal(READ("{\"y\":[[[{\"n\":9}]]],\"n\":1,\"x\":null}"), 1);
    assert_true(in.n == 1 && isnan(in.x));
    assert_true(READ("{\"n\":1,\"x\":") < 0);
    assert_true(READ("{\"n\":1 \"x\":2}") < 0);
#undef READ
    as_arena_fini(&arena);
}

static void deep_nesting_is_refused(void **state)
{
    enum { DEEP = 100000 };
    char *text = as_alloc(2 * DEEP + 64);
    struct as_arena arena = {0};
    struct inner in;
    int n;

    (void)state;
    assert_non_null(text);
    n = snprintf(text, 64, "{\"n\":1,\"y\":");
    memset(text + n, '[', DEEP);
    memset(text + n + DEEP, ']', DEEP);
    assert_true(parse(&inner_shape, &in, &arena, text, (size_t)n + 2 * DEEP) < 0);
    as_free(text);
    as_arena_fini(&arena);
}

/* A row of a table costs bytes of the file in proportion to the memory it takes. */
static void a_small_table_costs_little_memory(void **state)
{
    static const char head[] = "{\"columns\":[],\"rows\":[";
    enum { N = 1 << 20 };
    char *text = as_alloc(3 * N + 64);
    struct as_arena arena = {0};
    struct as_rows rows = {.arena = &arena, .max = SIZE_MAX / sizeof(struct every)};
    int rc;

    (void)state;
    assert_non_null(text);
    memcpy(text, head, sizeof head - 1);
    for (size_t i = 0; i < N; i++)
        memcpy(text + sizeof head - 1 + 3 * i, "[],", 3);
    memcpy(text + sizeof head - 1 + 3 * (size_t)N - 1, "]}", 2);
    assert_int_equal(
        read_table(&rows, &every_shape, text, sizeof head - 1 + 3 * (size_t)N + 1, &rc), N);
    assert_int_equal(rows.n, 0);
    assert_int_equal(rows.capacity, 0);
    as_free(text);
    as_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_comes_back_the_same),
        cmocka_unit_test(rows_come_back_the_same),
        cmocka_unit_test(tables_need_their_columns_and_ignore_others),
        cmocka_unit_test(what_does_not_fit_is_not_taken),
        cmocka_unit_test(a_missing_key_is_noticed_and_an_unknown_one_passed_over),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(a_small_table_costs_little_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
