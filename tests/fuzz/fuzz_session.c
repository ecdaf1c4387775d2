/* tests/fuzz/fuzz_session.c - any bytes as the JSON of a session, printed in every form.
 * What is accepted is shown as pages, as the classic text and as JSON again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/run/report.h"
#include "report/session/session_report.h"

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

/* The same with options: another order, other limits, rows and sections of it. */
static void look_again(struct as_saved_profile *view, struct as_out *out,
                       const struct as_term *term)
{
    const struct as_report_options options = {.sections = ~0u, .top = 1, .unit = AS_TIME_US};
    struct assay_leak_options leaks = ASSAY_LEAK_OPTIONS_INIT;
    struct assay_error err = {0};
    struct as_json_writer w;

    leaks.threshold_mb = 1;
    leaks.window_size = 3;
    as_saved_profile_order(view, AS_SORT_P99);
    (void)!as_saved_profile_judge_leaks(view, &leaks, &err);
    as_json_writer_init(&w, out, 0);
    if (as_session_json(&w, view, &options, &err) < 0)
        abort();
    (void)!as_report_session_page(view, &options, out, term, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct as_report_options options = {0};
    const struct as_term term = {.width = 80};
    struct assay_error err = {0};
    struct as_saved_profile *view;
    struct as_json_writer w;
    struct as_out out;

    if (as_saved_profile_json(&view, "fuzz", data, size, &err) < 0) {
        if (err.msg[0] == '\0' || err.offset > size)
            abort();
        return 0;
    }
    if (as_out_memory(&out, &err) == ASSAY_OK) {
        as_session_classic(&out, view, 0);
        check_classic(&out);
        as_json_writer_init(&w, &out, 0);
        as_json_tree_write(&w, view->json);
        if (as_json_writer_finish(&w, &err) < 0)
            abort();
        (void)!as_report_session_page(view, &options, &out, &term, &err);
        look_again(view, &out, &term);
        as_out_drop(&out);
    }
    as_saved_profile_free(view);
    return 0;
}
