/* tests/fuzz/fuzz_json.c - any bytes through the JSON parser.
 * What it takes, written again by the writer, must give the same tokens. */
#include <stdint.h>
#include <stdlib.h>

#include "base/json/json_parser.h"
#include "base/json/json_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_token(struct as_json_writer *w, const struct as_json_parser *p)
{
    switch (p->kind) {
    case AS_JSON_OBJECT:
        as_json_object(w);
        break;
    case AS_JSON_OBJECT_END:
        as_json_object_end(w);
        break;
    case AS_JSON_ARRAY:
        as_json_array(w);
        break;
    case AS_JSON_ARRAY_END:
        as_json_array_end(w);
        break;
    case AS_JSON_KEY:
        as_json_key_n(w, p->text, p->text_size);
        break;
    case AS_JSON_STRING:
        as_json_text_n(w, p->text, p->text_size);
        break;
    case AS_JSON_NUMBER:
        as_json_raw(w, p->text, p->text_size);
        break;
    case AS_JSON_TRUE:
    case AS_JSON_FALSE:
        as_json_bool(w, p->kind == AS_JSON_TRUE);
        break;
    default:
        as_json_null(w);
    }
}

static void check_number(const struct as_json_parser *p)
{
    uint64_t u;
    int64_t i;
    double f;

    if (as_json_get_f64(p, &f, NULL) < 0 &&
        (as_json_get_u64(p, &u, NULL) == ASSAY_OK || as_json_get_i64(p, &i, NULL) == ASSAY_OK))
        abort(); /* a whole number is a float too */
}

static bool rewrite(const uint8_t *data, size_t size, struct as_out *out, unsigned indent)
{
    struct as_json_parser p;
    struct as_json_writer w;
    struct assay_error err;
    int kind;

    as_json_parser_init(&p, data, size);
    as_json_writer_init(&w, out, indent);
    while ((kind = as_json_next(&p, &err)) > 0) {
        if (kind == AS_JSON_NUMBER)
            check_number(&p);
        write_token(&w, &p);
    }
    if (kind < 0 && (err.msg[0] == '\0' || err.offset > size))
        abort();
    as_json_parser_fini(&p);
    if (kind == AS_JSON_END && as_json_writer_finish(&w, NULL) < 0)
        abort();
    return kind == AS_JSON_END;
}

static void compare(const uint8_t *a, size_t a_size, const char *b, size_t b_size)
{
    struct as_json_parser p, q;
    int kind;

    as_json_parser_init(&p, a, a_size);
    as_json_parser_init(&q, b, b_size);
    do {
        kind = as_json_next(&p, NULL);
        if (kind != as_json_next(&q, NULL) || p.text_size != q.text_size ||
            memcmp(p.text, q.text, p.text_size) != 0)
            abort();
    } while (kind > 0);
    as_json_parser_fini(&p);
    as_json_parser_fini(&q);
}

/* Skipping must agree with pulling on what is acceptable. */
static void check_skip(const uint8_t *data, size_t size, bool good)
{
    struct as_json_parser p;
    bool skipped;

    as_json_parser_init(&p, data, size);
    skipped = as_json_next(&p, NULL) > 0 && as_json_skip(&p, NULL) == ASSAY_OK &&
              as_json_next(&p, NULL) == AS_JSON_END;
    if (skipped != good)
        abort();
    as_json_parser_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t nothing[1];

    if (size == 0)
        data = nothing; /* no pointer arithmetic on NULL */
    for (unsigned indent = 0; indent <= 2; indent += 2) {
        struct as_out out;
        bool good;

        if (as_out_memory(&out, NULL) < 0)
            return 0;
        good = rewrite(data, size, &out, indent);
        if (good) {
            size_t n;
            const char *text = as_out_get(&out, &n);

            compare(data, size, text, n);
        }
        check_skip(data, size, good);
        as_out_drop(&out);
    }
    return 0;
}
