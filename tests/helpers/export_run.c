/* tests/helpers/export_run.c - exports a run without the command line: export_run FORMAT RUN FILE
 * [BYTES [THREAD]]. Says what was left out at standard error. */
#include <stdio.h>
#include <stdlib.h>

#include "report/export_words.h"

int main(int argc, char **argv)
{
    struct as_export_options options = AS_EXPORT_OPTIONS_INIT;
    const struct as_exporter *exporter = argc > 3 ? as_exporter_find(argv[1]) : NULL;
    struct as_export_result result;
    struct assay_error err;
    struct as_run *run = NULL;
    struct as_out out = {.fd = -1};
    char text[AS_EXPORT_TEXT];
    int rc;

    if (!exporter)
        return 2;
    options.max_bytes = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    options.thread = argc > 5 ? strtoll(argv[5], NULL, 10) : -1;
    rc = as_run_open(&run, argv[2], &err);
    if (rc == ASSAY_OK)
        rc = as_out_file(&out, argv[3], &err);
    if (rc == ASSAY_OK)
        rc = as_export(exporter, run, &options, &out, &result, &err);
    if (rc == ASSAY_OK && as_export_cut_text(text, &result))
        fprintf(stderr, "%s\n", text);
    if (rc == ASSAY_OK && as_export_health_text(text, run, &result))
        fprintf(stderr, "%s\n", text);
    if (rc == ASSAY_OK)
        rc = as_out_close(&out, &err);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.msg);
    as_out_drop(&out);
    as_run_close(run);
    return rc < 0 ? 3 : 0;
}
