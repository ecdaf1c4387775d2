/* tests/fuzz/fuzz_export.h - a run in every format of `assay export`, with and without a limit.
 * Whatever is written within its limit, and JSON is sound wherever it was cut. */
#ifndef AS_FUZZ_EXPORT_H
#define AS_FUZZ_EXPORT_H

#include <stdlib.h>
#include <string.h>

#include "base/json/json_parser.h"
#include "report/export/export.h"

static void must_be_json(const char *text, size_t size)
{
    struct as_json_parser p;
    int kind;

    as_json_parser_init(&p, text, size);
    p.decode.max_bytes = SIZE_MAX / 2;
    while ((kind = as_json_next(&p, NULL)) > 0 && kind != AS_JSON_END)
        continue;
    if (kind != AS_JSON_END)
        abort();
    as_json_parser_fini(&p);
}

static void export_one(const struct as_exporter *exporter, struct as_run *run,
                       const struct as_export_options *options)
{
    struct as_export_result result;
    struct as_out out;
    const char *text;
    size_t size;

    if (as_out_memory(&out, NULL) < 0)
        return;
    if (as_export(exporter, run, options, &out, &result, NULL) == ASSAY_OK) {
        text = as_out_get(&out, &size);
        if (result.size_bytes != size || (options->max_bytes && size > options->max_bytes))
            abort();
        if (strstr(exporter->suffix, "json"))
            must_be_json(text, size);
    }
    as_out_drop(&out);
}

/* 0: no limit. */
static void export_all(struct as_run *run, uint64_t max_bytes)
{
    struct as_export_options options = AS_EXPORT_OPTIONS_INIT;

    options.max_bytes = max_bytes;
    for (size_t i = 0; i < as_n_exporters; i++)
        export_one(&as_exporters[i], run, &options);
}

#endif
