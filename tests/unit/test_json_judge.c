/* tests/unit/test_json_judge.c - our JSON reader and writer judged by jansson, which is not ours.
 * Both must accept and refuse the same documents, and find the same values in them. */
#include "unit.h"

#include <jansson.h>
#include <stdio.h>

#include "base/json/json_parser.h"
#include "base/json/json_writer.h"

/* jansson's floor: it refuses whole numbers past 64 bits, so none is here; nor is nesting past 64.
 */
static const char *const documents[] = {
    "{}",
    "[]",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "\"\"",
    "[1,2,3]",
    "{\"a\":1}",
    "{\"a\":{\"b\":{\"c\":[]}}}",
    " [ 1 , 2 ] ",
    "\t\r\n1\n",
    "1.5",
    "-1.5e10",
    "1E5",
    "1e-5",
    "1e+5",
    "0.1",
    "0e0",
    "0.0",
    "-0.0",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "1e400",
    "-1e400",
    "1e-400",
    "3.141592653589793238462643383279",
    "123456789.123456789",
    "\"\\u0041\"",
    "\"\\u00e9\"",
    "\"\\ud83d\\ude00\"",
    "\"\\n\\t\\r\\b\\f\\/\\\\\\\"\"",
    "\"\\u0000\"",
    "\"größe 畳 😀\"",
    "\"\x7f\"",
    "\"</script>\"",
    "\"\\u2028\"",
    "\"\xe2\x80\xa8\"",
    "{\"a\":1,\"a\":2}",
    "{\"\":0}",
    "{\"\\u0061\":1}",
    "",
    " ",
    "[",
    "]",
    "{",
    "}",
    "[1,]",
    "[,1]",
    "[1,,2]",
    "{\"a\":1,}",
    "{,}",
    "{\"a\"}",
    "{\"a\":}",
    "{a:1}",
    "{1:2}",
    "[1 2]",
    "{\"a\" 1}",
    "{\"a\":1 \"b\":2}",
    "[1}",
    "{\"a\":1]",
    "01",
    "-01",
    "00",
    "1.",
    ".5",
    "1e",
    "1e+",
    "+1",
    "-",
    "--1",
    "0x10",
    "1.5.5",
    "1e5e5",
    "NaN",
    "Infinity",
    "-Infinity",
    "nan",
    "tru",
    "True",
    "truefalse",
    "nul",
    "nulll",
    "1 1",
    "[] []",
    "{} x",
    "\"a",
    "'a'",
    "\"a\nb\"",
    "\"a\tb\"",
    "\"\x01\"",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud800\\u0041\"",
    "\"\\ud800x\"",
    "\"\\ude00\\ud83d\"",
    "\"\xff\"",
    "\"\xc0\x80\"",
    "\"\xed\xa0\x80\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xe2\x82\"",
    "\xef\xbb\xbf[]",
    "// c\n1",
    "/* c */1",
    "[1]//",
    "\v1",
    "\f1",
    "\xc2\xa0[]",
    "\"\\U0041\"",
    "\"\\'\"",
    "\"\\0\"",
    "[\"a\",\"b\":1]",
    "{\"a\":1:2}",
    "[1,2",
    "[\"",
};

/* Writes what the parser finds; false when it refuses the document or a number in it. */
static bool rewrite(const char *json, size_t size, struct as_out *out)
{
    struct as_json_parser p;
    struct as_json_writer w;
    bool good = true;
    int kind;

    as_json_parser_init(&p, json, size);
    as_json_writer_init(&w, out, 0);
    while (good && (kind = as_json_next(&p, NULL)) != AS_JSON_END) {
        int64_t whole;
        double real = 0;

        if (kind == AS_JSON_OBJECT)
            as_json_object(&w);
        else if (kind == AS_JSON_OBJECT_END)
            as_json_object_end(&w);
        else if (kind == AS_JSON_ARRAY)
            as_json_array(&w);
        else if (kind == AS_JSON_ARRAY_END)
            as_json_array_end(&w);
        else if (kind == AS_JSON_KEY)
            as_json_key_n(&w, p.text, p.text_size);
        else if (kind == AS_JSON_STRING)
            as_json_text_n(&w, p.text, p.text_size);
        else if (kind == AS_JSON_TRUE || kind == AS_JSON_FALSE)
            as_json_bool(&w, kind == AS_JSON_TRUE);
        else if (kind == AS_JSON_NULL)
            as_json_null(&w);
        else if (kind == AS_JSON_NUMBER && as_json_get_i64(&p, &whole, NULL) == ASSAY_OK)
            as_json_i64(&w, whole);
        else if (kind == AS_JSON_NUMBER && as_json_get_f64(&p, &real, NULL) == ASSAY_OK)
            as_json_f64(&w, real);
        else
            good = false;
    }
    good = good && as_json_writer_finish(&w, NULL) == ASSAY_OK;
    as_json_parser_fini(&p);
    return good;
}

/* Equal values; 1 and 1.0 are, because our writer writes both as 1. */
static bool same(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b) &&
               (!json_is_integer(a) || !json_is_integer(b) ||
                json_integer_value(a) == json_integer_value(b));
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_object(a)) {
        if (json_object_size(a) != json_object_size(b))
            return false;
        for (void *at = json_object_iter((json_t *)(uintptr_t)a); at;
             at = json_object_iter_next((json_t *)(uintptr_t)a, at)) {
            key = json_object_iter_key(at);
            member = json_object_get(b, key);
            if (!member || !same(json_object_iter_value(at), member))
                return false;
        }
        return true;
    }
    if (json_is_array(a)) {
        if (json_array_size(a) != json_array_size(b))
            return false;
        for (i = 0; i < json_array_size(a); i++) {
            if (!same(json_array_get(a, i), json_array_get(b, i)))
                return false;
        }
        return true;
    }
    return json_equal(a, b);
}

static void jansson_agrees_on_every_document(void **state)
{
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(documents); i++) {
        struct as_out out = unit_out();
        size_t size = strlen(documents[i]), written;
        json_t *theirs = json_loadb(documents[i], size, flags, NULL);
        bool ours = rewrite(documents[i], size, &out);

        if (ours != (theirs != NULL))
            fail_msg("document %zu <%s>: ours %d, jansson %d", i, documents[i], ours, !!theirs);
        if (ours) {
            const char *text = as_out_get(&out, &written);
            json_t *again = json_loadb(text, written, flags, NULL);

            if (!again || !same(theirs, again))
                fail_msg("document %zu <%s> became <%s>", i, documents[i], text);
            json_decref(again);
        }
        json_decref(theirs);
        as_out_drop(&out);
    }
}

static void jansson_reads_every_byte_we_write(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < 65536; pair += 7) {
        struct as_out out = unit_out();
        struct as_json_writer w;
        char text[2] = {(char)(pair >> 8), (char)(pair & 255)};
        json_t *read;
        size_t size;

        as_json_writer_init(&w, &out, 0);
        as_json_text_n(&w, text, 2);
        read =
            json_loadb(as_out_get(&out, &size), out.used, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(read);
        assert_true(json_is_string(read));
        json_decref(read);
        as_out_drop(&out);
    }
}

static void we_read_what_jansson_writes(void **state)
{
    json_t *root = json_pack("{s:[f,i,b,n,s],s:{s:I}}", "list", 0.1, -7, 1, "a\"\\\n\xe2\x82\xac",
                             "object", "big", (json_int_t)9007199254740993);
    const size_t forms[] = {0, JSON_COMPACT, JSON_INDENT(4), JSON_ENSURE_ASCII, JSON_ESCAPE_SLASH};

    (void)state;
    assert_non_null(root);
    for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
        struct as_out out = unit_out();
        char *text = json_dumps(root, forms[i]);
        json_t *again;
        size_t size;

        assert_non_null(text);
        assert_true(rewrite(text, strlen(text), &out));
        as_out_get(&out, &size);
        again = json_loadb(as_out_get(&out, NULL), size, 0, NULL);
        assert_true(again && same(root, again));
        json_decref(again);
        free(text);
        as_out_drop(&out);
    }
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jansson_agrees_on_every_document),
        cmocka_unit_test(jansson_reads_every_byte_we_write),
        cmocka_unit_test(we_read_what_jansson_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
