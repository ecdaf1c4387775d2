/* tests/unit/test_safetensors_reader.c - safetensors made by hand: one file, an index with shards,
 * a config.json beside them, and everything that must be refused. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "bytes_kit.h"

static struct as_buffer made(const char *json, size_t data)
{
    struct as_buffer b = {0};

    put_u64(&b, strlen(json));
    put_bytes(&b, json, strlen(json));
    put_zeros(&b, data);
    return b;
}

static struct as_model *good(struct as_buffer *b)
{
    struct as_model *model;
    struct assay_error err;

    if (kit_read(&as_format_safetensors, b, &model, &err) != ASSAY_OK)
        fail_msg("%s", err.msg);
    return model;
}

static void refuse(const char *json, size_t data, const char *words)
{
    struct as_buffer b = made(json, data);

    kit_refuse(&as_format_safetensors, &b, words);
    as_buffer_fini(&b);
}

static void tensors_are_read_in_place(void **state)
{
    struct as_buffer b = made("{\"__metadata__\":{\"format\":\"pt\"},"
                              "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                              "\"b\":{\"shape\":[],\"data_offsets\":[24,26],\"dtype\":\"BF16\"},"
                              "\"c\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[26,28]}} ",
                              28);
    struct as_model *model = good(&b);
    const struct as_value *a = kit_value(model, "a");

    (void)state;
    assert_int_equal(model->format, AS_FORMAT_SAFETENSORS);
    assert_false(model->has_graph);
    assert_int_equal(model->n_values, 3);
    assert_int_equal(a->type.rank, 2);
    assert_int_equal(a->type.dims[1], 3);
    assert_ptr_equal(a->data->bytes, b.data + b.size - 28);
    assert_int_equal(a->data->offset, b.size - 28);
    assert_int_equal(a->data->stored_bytes, 24);
    assert_int_equal(kit_value(model, "b")->type.rank, 0);
    assert_int_equal(kit_value(model, "b")->type.dtype, AS_DTYPE_BF16);
    assert_string_equal(kit_meta(model, "format"), "pt");
    assert_null(model->findings);
    as_model_free(model);
    as_buffer_fini(&b);
}

static void every_type_has_its_size(void **state)
{
    static const struct {
        const char *name;
        unsigned bytes; /* of 8 elements */
    } types[] = {{"F64", 64},    {"F32", 32},    {"F16", 16},    {"BF16", 16}, {"F8_E4M3", 8},
                 {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F6_E2M3", 6}, {"F4", 4},    {"I64", 64},
                 {"I32", 32},    {"I16", 16},    {"I8", 8},      {"U64", 64},  {"U32", 32},
                 {"U16", 16},    {"U8", 8},      {"BOOL", 8},    {"C64", 64}};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(types); i++) {
        struct as_buffer b;
        struct as_model *model;
        char json[200];

        (void)snprintf(json, sizeof json,
                       "{\"t\":{\"dtype\":\"%s\",\"shape\":[8],\"data_offsets\":[0,%u]}}",
                       types[i].name, types[i].bytes);
        b = made(json, types[i].bytes);
        model = good(&b);
        assert_int_equal(model->values[0].data->size_bytes, types[i].bytes);
        assert_int_equal(kit_found(model, "F8_E8M0"), strcmp(types[i].name, "F8_E8M0") == 0);
        as_model_free(model);
        as_buffer_fini(&b);
    }
    refuse("{\"t\":{\"dtype\":\"Q9\",\"shape\":[8],\"data_offsets\":[0,8]}}", 8,
           "tensor 't' is of type 'Q9'");
}

static void holes_are_told(void **state)
{
    struct as_buffer b =
        made("{\"t\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}", 10);
    struct as_model *model = good(&b);

    (void)state;
    assert_true(kit_found(model, "8 bytes of the data belong to no tensor"));
    as_model_free(model);
    as_buffer_fini(&b);
}

#define T(fields) "{\"t\":{" fields "}}"
#define U8(shape) "\"dtype\":\"U8\",\"shape\":" shape ","

static void wrong_entries_are_refused(void **state)
{
    (void)state;
    refuse(T(U8("[2]") "\"data_offsets\":[2,0]"), 8, "tensor 't' is from 2 to 0");
    refuse(T(U8("[9]") "\"data_offsets\":[0,9]"), 8, "there are 8 bytes of data");
    refuse(T(U8("[3]") "\"data_offsets\":[0,4]"), 8, "needs 3 bytes for its shape, but has 4");
    refuse(T(U8("[4294967296,4294967296]") "\"data_offsets\":[0,0]"), 8, "multiplies past 2^63");
    refuse(T("\"dtype\":\"F64\",\"shape\":[2305843009213693953],\"data_offsets\":[0,8]"), 8,
           "past 2^63");
    refuse(T(U8("[18446744073709551615]") "\"data_offsets\":[0,0]"), 8, "past 2^63");
    refuse(T(U8("[99999999999999999999]") "\"data_offsets\":[0,0]"), 8, "which is not a count");
    refuse(T(U8("[-1]") "\"data_offsets\":[0,0]"), 8, "'-1', which is not a count");
    refuse(T(U8("[1.5]") "\"data_offsets\":[0,0]"), 8, "'1.5', which is not a count");
    refuse(T(U8("[[1]]") "\"data_offsets\":[0,0]"), 8, "is not a list of up to 32 numbers");
    refuse(T(U8("[1]") "\"data_offsets\":[0]"), 8, "has 1 data_offsets instead of 2");
    refuse(T(U8("[1]") "\"data_offsets\":[0,1,2]"), 8, "more than 2 numbers");
    refuse(T("\"dtype\":\"U8\",\"shape\":[1]"), 8, "tensor 't' has no data_offsets");
    refuse(T("\"shape\":[1],\"data_offsets\":[0,1]"), 8, "tensor 't' has no dtype");
    refuse(T("\"dtype\":\"U8\",\"data_offsets\":[0,1]"), 8, "tensor 't' has no shape");
    refuse(T(U8("[1]") "\"dtype\":\"U8\",\"data_offsets\":[0,1]"), 8, "has its dtype twice");
    refuse(
        "{\"t\":{" U8("[2]") "\"data_offsets\":[0,2]},\"u\":{" U8("[2]") "\"data_offsets\":[1,3]}}",
        8, "tensor 'u' overlaps tensor 't'");
    refuse(
        "{\"t\":{" U8("[1]") "\"data_offsets\":[0,1]},\"t\":{" U8("[1]") "\"data_offsets\":[1,2]}}",
        8, "tensor 't' is there twice");
    refuse("{\"\":{}}", 8, "name of a tensor is empty");
    refuse("{\"a\\u0000b\":{}}", 8, "cut by a zero byte");
    refuse("{\"t\":7}", 8, "a tensor's entry");
    refuse("{\"__metadata__\":{\"a\":1}}", 8, "a value in __metadata__");
    refuse("{\"__metadata__\":{},\"__metadata__\":{}}", 8, "__metadata__ is there twice");
    refuse("{} x", 8, "the header, which begins at byte 8");
}

static void wrong_headers_are_refused(void **state)
{
    struct as_buffer b = made("{}", 0);
    char deep[300] = "{\"t\":{\"x\":";

    (void)state;
    b.data[0] = 200;
    kit_refuse(&as_format_safetensors, &b, "the header has 200 bytes, but 2 are left");
    memset(b.data, 0xff, 8);
    kit_refuse(&as_format_safetensors, &b, "18446744073709551615 bytes");
    b.size = 5;
    kit_refuse(&as_format_safetensors, &b, "ends inside the length");
    as_buffer_fini(&b);
    memset(deep + strlen(deep), '[', 200);
    refuse(deep, 0, "the header, which begins at byte 8");
}

static void an_empty_file_has_no_tensors(void **state)
{
    struct as_buffer b = made("{}", 0);
    struct as_model *model = good(&b);

    (void)state;
    assert_int_equal(model->n_values, 0);
    as_model_free(model);
    as_buffer_fini(&b);
}

static void many_entries_take_no_quadratic_time(void **state)
{
    struct as_buffer json = {0}, b = {0};
    struct as_model *model;
    char entry[120];

    (void)state;
    put_bytes(&json, "{", 1);
    for (int i = 0; i < 100000; i++) {
        int size = snprintf(entry, sizeof entry,
                            "%s\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
                            i ? "," : "", i, i, i + 1);

        put_bytes(&json, entry, (size_t)size);
    }
    put_bytes(&json, "}", 1);
    put_u64(&b, json.size);
    put_bytes(&b, json.data, json.size);
    put_zeros(&b, 100000);
    model = good(&b);
    assert_int_equal(model->n_values, 100000);
    as_model_free(model);
    as_buffer_fini(&b);
    as_buffer_fini(&json);
}

/* ---- folders ---- */

struct folder {
    char path[64];
    char name[128];
};

static void enter(struct folder *f)
{
    (void)snprintf(f->path, sizeof f->path, "/tmp/assay-shards-XXXXXX");
    assert_non_null(mkdtemp(f->path));
}

static const char *in(struct folder *f, const char *name)
{
    (void)snprintf(f->name, sizeof f->name, "%s/%s", f->path, name);
    return f->name;
}

static void write_file(struct folder *f, const char *name, const void *data, size_t size)
{
    FILE *file = fopen(in(f, name), "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_text(struct folder *f, const char *name, const char *text)
{
    write_file(f, name, text, strlen(text));
}

/* A shard with one tensor of four bytes. */
static void write_shard(struct folder *f, const char *name, const char *tensor)
{
    char json[200];
    struct as_buffer b;

    (void)snprintf(json, sizeof json,
                   "{\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", tensor);
    b = made(json, 4);
    write_file(f, name, b.data, b.size);
    as_buffer_fini(&b);
}

static void leave(struct folder *f)
{
    static const char *const names[] = {"m.index.json", "one.st", "two.st", "config.json",
                                        "link.st"};

    for (size_t i = 0; i < UNIT_COUNT(names); i++)
        (void)unlink(in(f, names[i]));
    assert_int_equal(rmdir(f->path), 0);
}

static struct as_model *open_index(struct folder *f)
{
    struct as_model *model;
    struct assay_error err;

    if (as_model_open(&model, in(f, "m.index.json"), &err) != ASSAY_OK)
        fail_msg("%s", err.msg);
    return model;
}

static void refuse_index(struct folder *f, const char *json, const char *words)
{
    struct as_model *model;
    struct assay_error err = {0};

    write_text(f, "m.index.json", json);
    assert_true(as_model_open(&model, in(f, "m.index.json"), &err) < 0);
    if (!strstr(err.msg, words))
        print_message("expected '%s', got '%s'\n", words, err.msg);
    assert_non_null(strstr(err.msg, words));
}

static void an_index_brings_its_shards(void **state)
{
    struct folder f;
    struct as_model *model;

    (void)state;
    enter(&f);
    write_shard(&f, "one.st", "a");
    write_shard(&f, "two.st", "b");
    write_text(
        &f, "m.index.json",
        "{\"metadata\":{\"total_size\":8},\"weight_map\":{\"b\":\"two.st\",\"a\":\"one.st\"}}");
    model = open_index(&f);
    assert_int_equal(model->n_values, 2);
    assert_non_null(kit_value(model, "a"));
    assert_null(model->findings);
    assert_true(model->file_bytes > 150);
    as_model_free(model);
    write_text(&f, "m.index.json",
               "\n{\"metadata\":{\"total_size\":9},\"weight_map\":{\"b\":\"two.st\"}}");
    model = open_index(&f);
    assert_true(kit_found(model, "the index declares 9 bytes of tensors; there are 4"));
    as_model_free(model);
    leave(&f);
}

static void wrong_indexes_are_refused(void **state)
{
    struct folder f;

    (void)state;
    enter(&f);
    write_shard(&f, "one.st", "a");
    write_shard(&f, "two.st", "a");
    assert_int_equal(symlink("one.st", in(&f, "link.st")), 0);
    refuse_index(&f, "{\"weight_map\":{\"b\":\"one.st\"}}", "tensor 'b' is not in shard 'one.st'");
    refuse_index(&f, "{\"weight_map\":{\"a\":\"none.st\"}}", "shard 'none.st'");
    refuse_index(&f, "{\"weight_map\":{\"a\":\"../one.st\"}}", "shard '../one.st'");
    refuse_index(&f, "{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "shard '/etc/passwd'");
    refuse_index(&f, "{\"weight_map\":{\"a\":\"link.st\"}}", "shard 'link.st'");
    refuse_index(&f, "{\"weight_map\":{\"a\":\"m.index.json\"}}", "shard 'm.index.json'");
    refuse_index(&f, "{\"weight_map\":{\"a\":\"one.st\",\"b\":\"two.st\"}}",
                 "tensor 'a' is there twice");
    refuse_index(&f, "{\"weight_map\":{\"a\":\"one.st\",\"a\":\"one.st\"}}",
                 "the index has tensor 'a' twice");
    refuse_index(&f, "{\"weight_map\":{\"a\":7}}", "the shard of a tensor");
    refuse_index(&f, "{\"weight_map\":{\"a\":\"\"}}", "has no fit name");
    refuse_index(&f, "{\"x\":\"\\\"weight_map\\\"\", \"y\": [\"weight_map\"]}",
                 "has no weight_map");
    leave(&f);
}

static void a_config_beside_gives_the_sizes(void **state)
{
    struct folder f;
    struct as_model *model;
    const struct as_decoder *d;

    (void)state;
    enter(&f);
    write_shard(&f, "one.st", "a");
    write_text(&f, "m.index.json", "{\"weight_map\":{\"a\":\"one.st\"}}");
    write_text(&f, "config.json",
               "{\"architectures\":[\"LlamaForCausalLM\"],\"model_type\":\"llama\","
               "\"num_hidden_layers\":32,\"num_attention_heads\":16,\"num_key_value_heads\":4,"
               "\"hidden_size\":2048,\"intermediate_size\":5632,\"max_position_embeddings\":4096,"
               "\"vocab_size\":32000,\"rope_theta\":10000.0,\"rms_norm_eps\":1e-05,"
               "\"sliding_window\":null,\"rope_scaling\":{\"factor\":2,\"x\":[1,{}]}}");
    model = open_index(&f);
    d = &model->decoder;
    assert_string_equal(d->architecture, "llama");
    assert_int_equal(d->layers, 32);
    assert_int_equal(d->heads, 16);
    assert_int_equal(d->kv_heads, 4);
    assert_int_equal(d->head_dim, 128);
    assert_int_equal(d->width, 2048);
    assert_int_equal(d->ffn_width, 5632);
    assert_int_equal(d->context, 4096);
    assert_int_equal(d->vocabulary, 32000);
    assert_true(d->rope_base == 10000 && d->norm_eps == 1e-5);
    assert_int_equal(d->window, 0);
    as_model_free(model);

    write_text(&f, "config.json",
               "{\"architectures\":[\"BertModel\"],\"model_type\":\"bert\","
               "\"text_config\":{\"num_hidden_layers\":3}}");
    model = open_index(&f);
    assert_null(model->decoder.architecture);
    assert_int_equal(model->decoder.layers, 3);
    as_model_free(model);

    write_text(&f, "config.json", "{\"num_hidden_layers\":3");
    model = open_index(&f);
    assert_int_equal(model->decoder.layers, 0);
    assert_true(kit_found(model, "config.json was not used"));
    as_model_free(model);
    leave(&f);
}

static void every_allocation_may_fail(void **state)
{
    struct as_buffer b = made("{\"__metadata__\":{\"f\":\"\\u00e4\"},\"a\":{\"dtype\":\"F32\","
                              "\"shape\":[2,3],\"data_offsets\":[0,24]}}",
                              24);

    (void)state;
    for (uint64_t nth = 1; nth < 30; nth++) {
        struct as_mapped_file mapped = {.bytes = b.data, .size = b.size, .path = ""};
        struct assay_error err = {0};
        struct as_model *model;
        int rc;

        assert_int_equal(as_model_new(&model, 0, &err), ASSAY_OK);
        as_alloc_fail_at(nth, 0);
        rc = as_format_safetensors.read(model, &mapped, &err);
        as_alloc_fail_at(0, 0);
        if (rc < 0)
            assert_int_equal(err.code, ASSAY_ERR_NOMEM);
        as_model_free(model);
    }
    as_buffer_fini(&b);
}

static void it_is_known_by_content(void **state)
{
    (void)state;
    assert_true(as_format_safetensors.is((const uint8_t *)"\2\0\0\0\0\0\0\0{}", 10));
    assert_true(
        as_format_safetensors.is((const uint8_t *)"\377\377\377\377\377\377\377\377{\"", 10));
    assert_false(as_format_safetensors.is((const uint8_t *)"\2\0\0\0\0\0\0\0[]", 10));
    assert_false(as_format_safetensors.is((const uint8_t *)"{\"a\": 1}", 8));
    assert_true(as_format_safetensors.is((const uint8_t *)" {\"weight_map\": {}}", 19));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_read_in_place),
        cmocka_unit_test(every_type_has_its_size),
        cmocka_unit_test(holes_are_told),
        cmocka_unit_test(wrong_entries_are_refused),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(an_empty_file_has_no_tensors),
        cmocka_unit_test(many_entries_take_no_quadratic_time),
        cmocka_unit_test(an_index_brings_its_shards),
        cmocka_unit_test(wrong_indexes_are_refused),
        cmocka_unit_test(a_config_beside_gives_the_sizes),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(it_is_known_by_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
