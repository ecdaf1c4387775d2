/* tests/fuzz/fuzz_inspect.c - any bytes as a model of any format, through all of an inspection.
 * Read, inferred, counted, planned and reported; reports must be sound, whatever the names hold. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_parser.h"
#include "base/text/csv.h"
#include "format/model_file.h"
#include "report/inspect/inspect_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WITH_TRAINING = 1, WITH_WEIGHTS = 2, WITH_FIT = 4, WITH_BATCH = 8, KEEP_UNKNOWN = 16 };

/* Which options are used depends on the bytes, so that the same file is always read the same. */
static unsigned choose(const uint8_t *data, size_t size)
{
    unsigned sum = 0;

    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + data[i];
    return sum ^ sum >> 16;
}

static struct as_model *read_bytes(const uint8_t *data, size_t size)
{
    static const struct as_format *const formats[] = {&as_format_gguf, &as_format_tflite,
                                                      &as_format_safetensors, &as_format_onnx};
    struct as_mapped_file file = {.bytes = data, .size = size, .path = "/nowhere/model"};
    struct assay_error err = {0};
    struct as_model *model = NULL;

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!formats[i]->is(data, size))
            continue;
        if (as_model_new(&model, ((size_t)48 << 20) + size, NULL) < 0)
            return NULL;
        if (formats[i]->read(model, &file, &err) == ASSAY_OK)
            return model;
        if (err.msg[0] == '\0')
            abort();
        as_model_free(model);
        return NULL;
    }
    return NULL;
}

static void check_json(const char *text, size_t size)
{
    struct as_json_parser p;
    int kind;

    as_json_parser_init(&p, text, size);
    do
        kind = as_json_next(&p, NULL);
    while (kind > 0);
    if (kind < 0 && kind != ASSAY_ERR_NOMEM)
        abort();
    as_json_parser_fini(&p);
}

/* Nothing reaches a terminal but text and ends of lines. */
static void check_text(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (((uint8_t)text[i] < 0x20 && text[i] != '\n') || text[i] == 0x7f)
            abort();
}

static void report(struct as_inspection *in, unsigned how)
{
    struct as_inspect_report r = {.in = in,
                                  .grouping = (enum as_inspect_grouping)(how % AS_GROUP_COUNT),
                                  .depth = how % 3 + 1,
                                  .sort = how % 9,
                                  .exact = how % 5 == 0,
                                  .constants = how % 3 == 0,
                                  .markdown = how % 4 == 0};
    struct as_term term = {.width = 80};
    struct assay_error err = {0};

    for (int form = 0; form < 3; form++) {
        struct as_out out;
        const char *text;
        size_t size;
        int rc;

        if (as_out_memory(&out, NULL) < 0)
            return;
        rc = form == 0   ? as_inspect_json(&r, &out, &err)
             : form == 1 ? as_inspect_page(&r, &out, &term, &err)
                         : as_inspect_csv(&(struct as_csv_writer){.out = &out}, &r, &err);
        if (rc < 0 && err.msg[0] == '\0')
            abort();
        text = as_out_get(&out, &size);
        if (rc == ASSAY_OK && form == 0)
            check_json(text, size);
        if (rc == ASSAY_OK && form == 1)
            check_text(text, size);
        as_out_drop(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned how = choose(data, size);
    struct as_inspect_options options = {
        .infer = {.batch = how & WITH_BATCH ? 8 : 0, .keep_unknown = how & KEEP_UNKNOWN},
        .look_into_weights = true,
        .weights = how & WITH_WEIGHTS,
        .training = how & WITH_TRAINING,
        .train = {.optimizer = (enum as_optimizer)(how / 32 % AS_OPTIMIZER_COUNT),
                  .dtype = AS_DTYPE_F32,
                  .checkpoint = how & 64,
                  .accumulate = 1,
                  .ranks = 1},
        .fit_bytes = how & WITH_FIT ? (uint64_t)1 << 30 : 0,
        .fit_what = AS_FIT_BATCH,
        .gflops = 1,
        .gbps = 1,
    };
    struct as_inspection *in = NULL;
    struct assay_error err = {0};
    struct as_model *model = size ? read_bytes(data, size) : NULL;
    int rc;

    if (!model)
        return 0;
    rc = as_inspection_new(&in, model, &options, &err);
    if (rc < 0 && err.msg[0] == '\0')
        abort();
    if (rc == ASSAY_OK)
        report(in, how / 64);
    as_inspection_free(in);
    as_model_free(model);
    return 0;
}
