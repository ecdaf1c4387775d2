/* cmd/common/show_options.c - how a run is shown: the options that measuring commands share with
 * `assay report`, and printing. */
#include "cmd/common/show_options.h"

#include <string.h>
#include <unistd.h>

#include "cmd/common/interrupt.h"
#include "trace/run/run_path.h"

static const struct as_opt *option_of(const struct as_cmd_line *line, const char *name)
{
    const struct as_opt *opt;

    for (size_t i = 0; (opt = as_cmd_opt_at(line->cmd, i)) != NULL; i++)
        if (strcmp(opt->name, name) == 0)
            return opt;
    return NULL;
}

/* Whether the command has the option and it was given. */
static bool given(const struct as_cmd_line *line, const char *name)
{
    return option_of(line, name) && as_opt_given(line, name);
}

static uint64_t number(const struct as_cmd_line *line, const char *name)
{
    return given(line, name) ? as_opt_number(line, name, 0) : 0;
}

static size_t read_words(const struct as_cmd_line *line, const char *name, const char **words)
{
    const struct as_opt *opt = option_of(line, name);
    unsigned places[AS_SHOW_MAX_WORDS];
    size_t n = opt ? as_opt_words(line, name, places, AS_SHOW_MAX_WORDS) : 0;

    for (size_t i = 0; i < n; i++)
        words[i] = opt->word_at(places[i]);
    return n;
}

/* That the run can be written is known before anything is measured. */
static int check_run_path(const struct as_cmd_line *line, struct assay_error *err)
{
    const char *path = as_show_run_path(line);
    int rc;

    if (!path || strcmp(line->cmd->name, "report") == 0)
        return ASSAY_OK;
    rc = as_run_path_check(path, err);
    if (rc < 0)
        return rc;
    return as_run_path_try(path, err);
}

int as_show_read(struct as_show *show, const struct as_cmd_line *line, struct assay_error *err)
{
    int rc;

    *show = (struct as_show)AS_SHOW_INIT;
    show->n_sections = read_words(line, "section", show->section);
    show->n_columns = read_words(line, "columns", show->column);
    if (given(line, "sort"))
        show->sort = as_opt_text(line, "sort");
    if (given(line, "unit"))
        show->unit = (enum as_time_unit)as_opt_word(line, "unit", AS_TIME_AUTO);
    if (given(line, "thread") && strcmp(line->cmd->name, "report") == 0)
        show->thread = (int64_t)number(line, "thread");
    show->top = (size_t)number(line, "top");
    show->scope_depth = (unsigned)number(line, "scope-depth");
    show->percentile = (double)number(line, "percentile");
    show->leak_threshold_mb = (double)number(line, "leak-threshold");
    show->leak_window = (size_t)number(line, "leak-window");
    show->fail_on_leak = given(line, "fail-on-leak");
    show->markdown = as_format_of(line) == AS_FORMAT_MARKDOWN;
    show->csv_safe = given(line, "csv-safe");
    show->classic = given(line, "classic");
    show->wide = given(line, "wide");
    show->quiet = given(line, "quiet");
    show->redact = given(line, "redact");
    if (show->classic && as_format_of(line) != AS_FORMAT_TEXT)
        return as_fail(err, ASSAY_ERR_USAGE, "choose one of --classic and --format %s",
                       as_opt_text(line, "format"));
    if (given(line, "roofline") && given(line, "no-roofline"))
        return as_fail(err, ASSAY_ERR_USAGE, "choose one of --roofline and --no-roofline");
    rc = as_forms_check(line, err);
    return rc < 0 ? rc : check_run_path(line, err);
}

const char *as_show_run_path(const struct as_cmd_line *line)
{
    const char *path = as_opt_text(line, "output");
    size_t size = path ? strlen(path) : 0;

    return size > 6 && strcmp(path + size - 6, ".assay") == 0 ? path : NULL;
}

static int put_page(const void *of, bool markdown, struct as_out *out, const struct as_term *term,
                    struct assay_error *err)
{
    const struct as_shown_run *shown = of;
    struct as_show show = *shown->show;

    show.markdown = markdown;
    return as_show_page(shown->run, &show, out, term, err);
}

static int put_json(const void *of, struct as_out *out, struct assay_error *err)
{
    const struct as_shown_run *shown = of;

    return as_show_json(shown->run, shown->show, out, err);
}

static int put_csv(const void *of, const struct as_csv_target *to, struct assay_error *err)
{
    const struct as_shown_run *shown = of;

    return as_show_csv(shown->run, shown->show, to, err);
}

struct as_forms as_show_forms(const struct as_shown_run *shown)
{
    return (struct as_forms){.of = shown, .page = put_page, .json = put_json, .csv = put_csv};
}

/* Into the file of --roofline, if it is given. */
static int draw_roofline(struct as_run *run, const struct as_show *show,
                         const struct as_cmd_line *line, struct assay_error *err)
{
    const char *path = given(line, "roofline") ? as_opt_text(line, "roofline") : NULL;
    struct as_out svg;
    int rc;

    if (!path)
        return ASSAY_OK;
    rc = as_out_file(&svg, path, err);
    if (rc < 0)
        return rc;
    rc = as_show_roofline(run, show, &svg, err);
    if (rc < 0) {
        as_out_drop(&svg);
        if (!as_interrupted())
            return rc;
        as_console_note(line, "%s: %s", path,
                        err->msg); /* a part of the result is one all the same */
        return ASSAY_OK;
    }
    rc = as_out_close(&svg, err);
    if (rc == ASSAY_OK)
        as_console_note(line, "wrote %s", path);
    return rc;
}

int as_show_print(struct as_run *run, const struct as_show *show, const struct as_cmd_line *line,
                  struct assay_error *err)
{
    const struct as_shown_run run_shown = {.run = run, .show = show};
    const struct as_forms forms = as_show_forms(&run_shown);
    const char *path = as_show_run_path(line);
    struct as_cmd_line shown = *line;
    int rc;

    for (size_t i = 0; path && i < AS_CMD_MAX_OPTS; i++)
        if (shown.value[i] == path)
            shown.value[i] = NULL; /* it takes the run, not the page */
    if (path)
        as_console_note(line, "wrote %s", path);
    rc = as_forms_print(&forms, &shown, err);
    if (rc >= 0) {
        int drawn = draw_roofline(run, show, line, err); /* last: the result is out already */

        rc = drawn < 0 ? drawn : rc;
    }
    /* A page or a document reports itself whether criteria are met; a table does not. */
    return rc == ASSAY_OK && as_format_of(line) == AS_FORMAT_CSV ? as_show_met(run, show, err) : rc;
}

int as_show_finish(struct as_run_maker *maker, const struct as_show *show,
                   const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_run *run;
    int rc = as_run_maker_finish(maker, &run, err);

    if (rc == ASSAY_OK)
        rc = as_show_print(run, show, line, err);
    as_run_close(run);
    return rc;
}
