/* tests/fuzz/fuzz_run_kinds.c - any bytes as a run of every kind, shown as a page and as JSON,
 * and exported.
 * Input: a line with the kind, then lines of a part's name and its JSON; the blocks around them are
 * made here, so that their checksums hold. What does not begin with a letter is taken as the bytes
 * of a run file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_export.h"
#include "report/run/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *line_end(const char *at, const char *end)
{
    const char *found = memchr(at, '\n', (size_t)(end - at));

    return found ? found : end;
}

static void add_part(struct as_run_writer *w, const char *at, const char *end)
{
    static uint8_t payload[1 << 16];
    const char *space = memchr(at, ' ', (size_t)(end - at));
    size_t name = space ? (size_t)(space - at) : 0, n;
    uint8_t *to;

    if (!space || name > 60 || (size_t)(end - at) > sizeof payload - 100)
        return;
    to = as_put_text(payload, at, name);
    n = (size_t)(end - space - 1);
    memcpy(to, space + 1, n);
    (void)!as_run_writer_add(w, AS_BLOCK_DATA, payload, (size_t)(to - payload) + n, 0);
}

static int make_run(int fd, const char *at, const char *end)
{
    static const uint8_t nothing[3] = {0, 0, 0};
    struct as_run_header header;
    struct as_run_writer w;
    const char *eol = line_end(at, end);
    char meta[96];
    int n, copy = dup(fd);

    as_run_header_new(&header);
    if (copy < 0 || as_run_writer_open(&w, copy, &header, NULL) < 0)
        return -1;
    n = snprintf(meta, sizeof meta, "{\"kind\":\"%.*s\"}", (int)(eol - at < 40 ? eol - at : 40),
                 at);
    (void)!as_run_writer_add(&w, AS_BLOCK_META, meta, (size_t)n, 0);
    while (eol < end) {
        at = eol + 1;
        eol = line_end(at, end);
        add_part(&w, at, eol);
    }
    (void)!as_run_writer_add(&w, AS_BLOCK_END, nothing, sizeof nothing, 0);
    as_run_writer_close(&w);
    return 0;
}

/* Whatever is accepted gives JSON that is sound. */
static void show_json(struct as_run *run, struct as_out *out)
{
    const struct as_show show = AS_SHOW_INIT;
    const char *text;
    size_t size;

    if (as_show_json(run, &show, out, NULL) < 0)
        return;
    text = as_out_get(out, &size);
    must_be_json(text, size);
}

static void show_pages(struct as_run *run, struct as_out *out)
{
    const struct as_term narrow = {.width = 60}, wide = {.width = 160, .unicode = true};
    struct as_show show = AS_SHOW_INIT;

    (void)!as_show_page(run, &show, out, &narrow, NULL);
    show.wide = true;
    (void)!as_show_page(run, &show, out, &wide, NULL);
    show.markdown = true;
    (void)!as_show_page(run, &show, out, &wide, NULL);
    (void)!as_show_met(run, &show, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool named = size > 0 && data[0] >= 'a' && data[0] <= 'z';
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct as_run *run = NULL;
    struct as_out out;

    if (fd < 0)
        return 0;
    if (named ? make_run(fd, (const char *)data, (const char *)data + size) < 0
              : write(fd, data, size) != (ssize_t)size) {
        close(fd);
        return 0;
    }
    if (as_run_open_fd(&run, fd, "the run", NULL) < 0)
        return 0;
    if (as_out_memory(&out, NULL) == ASSAY_OK) {
        show_json(run, &out);
        out.used = 0;
        show_pages(run, &out);
        export_all(run, 0);
        export_all(run, 1 + 64u * data[size - 1]);
        as_out_drop(&out);
    }
    as_run_close(run);
    return 0;
}
