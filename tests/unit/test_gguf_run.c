/* GGUF files that run: the same answers as the graph they were made from, halves and blocks kept as
 * f32, and types that cannot be read refused by name. */
#include "decode_kit.h"

#include <stdlib.h>
#include <unistd.h>

#include "format/gguf/gguf_writer.h"
#include "format/model_file.h"

enum { VOCABULARY = 50, TOKENS = 6 };

#define SMALL "llama:layers=2,width=32,heads=4,kv_heads=2,ffn=64,vocab=50,context=64,seq=0"

static char path[] = "/tmp/test_gguf_run_XXXXXX";

static int make_path(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int drop_path(void **state)
{
    (void)state;
    return unlink(path);
}

static struct as_model *written(const char *spec)
{
    struct as_model *weights = NULL, *model = NULL;
    struct assay_error err = {0};

    (void)unlink(path); /* a model is not replaced */
    if (as_zoo_llama_gguf(&weights, spec, &err) < 0 || as_gguf_write(weights, path, &err) < 0 ||
        as_model_open(&model, path, &err) < 0)
        fail_msg("%s: %s", spec, err.msg);
    as_model_free(weights);
    return model;
}

static void file_and_graph_answer_alike(void **state)
{
    static const struct {
        const char *graph, *spec; /* the graph in f32 is what the file means */
        double relative;
        size_t widened;
    } cases[] = {
        {SMALL, SMALL, 1e-3, 0},
        {SMALL ",tied=1,seed=3", SMALL ",tied=1,seed=3", 1e-3, 0},
        {SMALL, SMALL ",dtype=f16", 0.1, 2 * 7 + 2},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct decode_kit graph = {.batch = 1}, file = {.batch = 1};

        decode_begin(&graph, decode_zoo(cases[i].graph), TOKENS, false);
        decode_begin(&file, written(cases[i].spec), TOKENS, false);
        decode_near(decode_run_at(&file, 0, TOKENS), decode_run_at(&graph, 0, TOKENS),
                    TOKENS * VOCABULARY, cases[i].relative);
        assert_int_equal(as_engine_widened(file.engine).n, cases[i].widened);
        decode_end(&file);
        decode_end(&graph);
    }
}

/* The first weight of the file is made a type of blocks, of which there are just enough bytes. */
static void retype(struct as_model *model, const char *name, unsigned dtype, uint64_t n)
{
    for (uint32_t i = 0; i < model->n_values; i++)
        if (strcmp(model->values[i].name, name) == 0) {
            model->values[i].type.dtype = (uint8_t)dtype;
            model->values[i].data->dtype = (uint8_t)dtype;
            model->values[i].data->n = n;
        }
}

static int opened(unsigned dtype, uint64_t n, struct assay_error *err)
{
    struct as_model *model = written(SMALL);
    struct as_engine *engine = NULL;
    int rc;

    retype(model, "blk.0.ffn_down.weight", dtype, n);
    rc = as_engine_new(&engine, model, NULL, err);
    if (rc == ASSAY_OK)
        assert_int_equal(as_engine_widened(engine).n, 1);
    as_engine_free(engine);
    as_model_free(model);
    return rc;
}

static void blocks_that_cannot_be_read_are_named(void **state)
{
    struct assay_error err = {0};

    (void)state;
    assert_int_equal(opened(AS_DTYPE_Q4_0, 32 * 64, &err), ASSAY_OK);
    assert_true(opened(AS_DTYPE_IQ2_XXS, 32 * 64, &err) < 0);
    assert_non_null(strstr(err.msg, "blk.0.ffn_down.weight"));
    assert_non_null(strstr(err.msg, "iq2_xxs"));
    /* Fewer numbers than the shape asks for. */
    assert_true(opened(AS_DTYPE_Q4_0, 32 * 63, &err) < 0);
    assert_non_null(strstr(err.msg, "blk.0.ffn_down.weight"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_and_graph_answer_alike),
        cmocka_unit_test(blocks_that_cannot_be_read_are_named),
    };

    return cmocka_run_group_tests(tests, make_path, drop_path);
}
