/* tests/fuzz/fuzz_manager.c - any parts of a manager's run, shown in every form. The input is
 * lines: the name of a part, a space, its JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/run/manager_run.h"
#include "report/run/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The classic text promises 80 columns of ASCII. */
static void check_classic(struct as_out *out)
{
    size_t size, line = 0;
    const char *text = as_out_get(out, &size);

    for (size_t i = 0; i < size; i++) {
        line = text[i] == '\n' ? 0 : line + 1;
        if (line > 80 || (text[i] != '\n' && (text[i] < ' ' || text[i] > '~')))
            abort();
    }
}

static void add_line(struct as_run_maker *maker, const char *line, size_t size)
{
    const char *space = memchr(line, ' ', size);
    size_t name = space ? (size_t)(space - line) : 0;
    uint8_t *payload, *end;

    if (name == 0 || name > 40 || !(payload = malloc(size + 64)))
        return;
    end = as_put_text(payload, line, name);
    memcpy(end, space + 1, size - name - 1);
    end += size - name - 1;
    (void)as_run_writer_add(&maker->file, AS_BLOCK_DATA, payload, (size_t)(end - payload), 0);
    free(payload);
}

static void show_all(struct as_run *run)
{
    static const char *const section[] = {"all"};
    const struct as_term term = {.width = 80};
    struct assay_error err = {0};
    struct as_out out;

    for (int form = 0; form < 4; form++) {
        struct as_show show = AS_SHOW_INIT;
        int rc;

        if (as_out_memory(&out, &err) < 0)
            return;
        show.classic = form == 1;
        if (form >= 2) {
            show.section[0] = section[0];
            show.n_sections = 1;
            show.top = 1;
            show.sort = "p99";
            show.leak_window = 3;
        }
        rc = form == 0 || form == 3 ? as_show_json(run, &show, &out, &err)
                                    : as_show_page(run, &show, &out, &term, &err);
        if (rc < 0 && err.msg[0] == '\0')
            abort();
        if (rc >= 0 && form == 1)
            check_classic(&out);
        as_out_drop(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct as_run_maker maker;
    struct assay_error err = {0};
    struct as_run *run = NULL;
    const char *at = (const char *)data, *end = at + size;

    if (as_run_maker_open(&maker, NULL, AS_KIND_MANAGER, &err) < 0)
        return 0;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = newline ? (size_t)(newline - at) : (size_t)(end - at);

        add_line(&maker, at, n);
        at += n + 1;
    }
    if (as_run_maker_finish(&maker, &run, &err) == ASSAY_OK)
        show_all(run);
    as_run_close(run);
    return 0;
}
