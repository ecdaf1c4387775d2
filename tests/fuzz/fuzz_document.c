/* tests/fuzz/fuzz_document.c - any bytes as a JSON document of assay that holds its run, or as the
 * bytes of such a run. Whatever is opened is shown, exported, and embedded again: the document made
 * of it must open in turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/run/run_document.h"
#include "base/base64.h"
#include "fuzz_export.h"
#include "report/run/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A document around bytes that do not begin as JSON. */
static void wrap(struct as_out *out, const uint8_t *data, size_t size)
{
    as_out_text(out, "{\"schema\":\"assay.report/1\",\"run_file\":\"");
    as_base64_put(out, data, size);
    as_out_text(out, "\"}");
}

static int open_document(struct as_run **run, const char *text, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC), rc = -1;
    struct assay_error err = {0};
    char path[40];

    *run = NULL;
    if (fd < 0)
        return rc;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, text, size) == (ssize_t)size) {
        rc = as_run_open_any(run, path, &err);
        if (rc < 0 && (*run || err.code != rc || err.msg[0] == '\0'))
            abort();
    }
    close(fd);
    return rc;
}

/* The document of a run opens as the same bytes. */
static void check_again(const struct as_run *run)
{
    struct as_run *again = NULL;
    struct as_json_writer w;
    struct as_out out;
    const char *text;
    size_t size;

    if (as_out_memory(&out, NULL) < 0)
        return;
    as_json_writer_init(&w, &out, 0);
    as_json_object(&w);
    if (as_run_embed(&w, run, NULL) == ASSAY_OK) {
        as_json_object_end(&w);
        text = as_out_get(&out, &size);
        if (strstr(text, "run_file_reason") == NULL &&
            (open_document(&again, text, size) < 0 || again->size_bytes != run->size_bytes))
            abort();
    }
    as_run_close(again);
    as_out_drop(&out);
}

static void show(struct as_run *run)
{
    const struct as_show options = AS_SHOW_INIT;
    struct as_out out;
    const char *text;
    size_t size;

    if (as_out_memory(&out, NULL) < 0)
        return;
    if (as_show_json(run, &options, &out, NULL) >= 0) {
        text = as_out_get(&out, &size);
        must_be_json(text, size);
    }
    as_out_drop(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool is_text = size > 0 && (data[0] == '{' || data[0] == ' ' || data[0] == '\n');
    struct as_run *run = NULL;
    struct as_out out;
    const char *text;

    if (size == 0 || as_out_memory(&out, NULL) < 0)
        return 0;
    if (is_text)
        as_out_put(&out, data, size);
    else
        wrap(&out, data, size);
    text = as_out_get(&out, &size);
    if (open_document(&run, text, size) == ASSAY_OK) {
        show(run);
        export_all(run, 0);
        check_again(run);
    }
    as_run_close(run);
    as_out_drop(&out);
    return 0;
}
