/* tests/unit/test_gguf_writer.c - a decoder written as GGUF and read again is the same decoder.
 */
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

#include "format/gguf/gguf_writer.h"
#include "format/model_file.h"

/* Numbers made on the way, larger than one piece of the writer. */
static int count_up(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                    struct assay_error *err)
{
    uint8_t *at = out;

    (void)err;
    for (uint64_t i = 0; i < n; i++) {
        float value = (float)(first + i) + (float)data->seed;

        memcpy(at + i * 4, &value, 4);
    }
    return ASSAY_OK;
}

static void add(struct as_model *model, const char *name, unsigned dtype, int64_t outer,
                int64_t inner)
{
    struct as_dims dims = {2, {outer, inner}};
    uint32_t id = as_model_add_value(model, model->main, name, strlen(name), NULL);
    struct as_value *value = &model->values[id];
    uint64_t n = (uint64_t)(outer * inner);

    assert_true(as_type_tensor(&value->type, &model->arena, dtype, &dims));
    value->is_initializer = true;
    if (dtype == AS_DTYPE_F32) {
        value->data = as_arena_zero(&model->arena, 1, sizeof *value->data);
        value->data->dtype = (uint8_t)dtype;
        value->data->n = n;
        value->data->size_bytes = n * 4;
        value->data->make = count_up;
        value->data->seed = id;
    } else {
        value->data = as_data_new(&model->arena, dtype, n);
        for (uint64_t i = 0; i < n; i++)
            as_data_put_f64(value->data, i, (double)(i % 100));
    }
}

static struct as_model *decoder(void)
{
    struct as_model *model;

    assert_int_equal(as_model_new(&model, 0, NULL), ASSAY_OK);
    assert_non_null(as_graph_new(model, NULL, "", NULL));
    model->graph_name = "small";
    model->decoder = (struct as_decoder){.architecture = "llama",
                                         .layers = 2,
                                         .heads = 4,
                                         .kv_heads = 2,
                                         .head_dim = 16,
                                         .value_dim = 16,
                                         .width = 64,
                                         .ffn_width = 96,
                                         .context = 128,
                                         .vocabulary = 3000,
                                         .rope_dim = 16,
                                         .rope_base = 10000,
                                         .norm_eps = 1e-5};
    add(model, "token_embd.weight", AS_DTYPE_F32, 3000, 64);
    add(model, "blk.0.attn_q.weight", AS_DTYPE_F16, 64, 63);
    add(model, "output.weight", AS_DTYPE_F32, 3, 64);
    return model;
}

static void temporary(char *path)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
}

static void same_numbers(const struct as_value *a, const struct as_value *b)
{
    uint8_t *x = malloc(a->data->size_bytes), *y = malloc(b->data->size_bytes);

    assert_true(x && y);
    assert_true(as_type_equal(&a->type, &b->type));
    assert_int_equal(a->data->size_bytes, b->data->size_bytes);
    assert_int_equal(as_data_read(a->data, 0, a->data->n, x, NULL), ASSAY_OK);
    assert_int_equal(as_data_read(b->data, 0, b->data->n, y, NULL), ASSAY_OK);
    assert_memory_equal(x, y, a->data->size_bytes);
    free(x);
    free(y);
}

static void what_is_written_is_read_again(void **state)
{
    char path[] = "/tmp/assay-gguf-XXXXXX";
    struct as_model *model = decoder(), *again;
    struct assay_error err;

    (void)state;
    temporary(path);
    assert_int_equal(as_gguf_write(model, path, &err), ASSAY_OK);
    assert_int_equal(as_model_open(&again, path, &err), ASSAY_OK);
    assert_int_equal(again->format, AS_FORMAT_GGUF);
    assert_int_equal(again->n_values, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(again->values[i].name, model->values[i].name);
        same_numbers(&model->values[i], &again->values[i]);
    }
    assert_string_equal(again->graph_name, "small");
    assert_string_equal(again->decoder.architecture, "llama");
    again->decoder.architecture = model->decoder.architecture;
    assert_memory_equal(&again->decoder, &model->decoder, sizeof model->decoder);
    as_model_free(again);
    as_model_free(model);
    unlink(path);
}

static void what_gguf_cannot_hold_is_refused(void **state)
{
    char path[] = "/tmp/assay-gguf-XXXXXX";
    struct as_model *model = decoder();
    struct assay_error err;

    (void)state;
    temporary(path);
    unlink(path);
    add(model, "flags", AS_DTYPE_BOOL, 2, 2);
    assert_int_equal(as_gguf_write(model, path, &err), ASSAY_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "no type for the bool of tensor 'flags'"));
    assert_int_not_equal(access(path, F_OK), 0);
    model->decoder.architecture = NULL;
    assert_int_equal(as_gguf_write(model, path, &err), ASSAY_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "only a decoder"));
    as_model_free(model);
}

static void numbers_that_cannot_be_had_leave_no_file(void **state)
{
    char path[] = "/tmp/assay-gguf-XXXXXX";
    struct as_model *model = decoder();
    struct assay_error err;

    (void)state;
    temporary(path);
    unlink(path);
    model->values[2].data->make = NULL;
    assert_int_equal(as_gguf_write(model, path, &err), ASSAY_ERR_UNSUPPORTED);
    assert_int_not_equal(access(path, F_OK), 0);
    as_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(what_gguf_cannot_hold_is_refused),
        cmocka_unit_test(numbers_that_cannot_be_had_leave_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
