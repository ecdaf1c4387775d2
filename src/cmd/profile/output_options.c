/* cmd/profile/output_options.c - the options by which a user says what becomes of the outputs of a
 * model, and what the command then does. */
#include "cmd/profile/output_options.h"

#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "cmd/common/interrupt.h"

enum { FORMAT_BOTH, FORMAT_NPY, FORMAT_PB };

const char *as_output_format_at(size_t i)
{
    static const char *const words[] = {
        [FORMAT_BOTH] = "both", [FORMAT_NPY] = "npy", [FORMAT_PB] = "pb"};

    return i < AS_COUNT_OF(words) ? words[i] : NULL;
}

static int read_tolerance(double *out, const struct as_cmd_line *line, const char *name,
                          double usual, struct assay_error *err)
{
    const char *text = as_opt_text(line, name);

    *out = usual;
    if (text && (!as_parse_f64(text, strlen(text), out) || !(*out >= 0) || *out > 1e300))
        return as_fail(err, ASSAY_ERR_USAGE, "--%s is a number from 0 on, not '%.40s'", name, text);
    return ASSAY_OK;
}

static int read_nodes(struct as_outputs_options *o, const struct as_cmd_line *line,
                      struct as_arena *arena, struct assay_error *err)
{
    const char **nodes = as_arena_zero(arena, AS_CMD_MAX_LIST, sizeof *nodes);

    if (!nodes)
        return as_fail_nomem(err);
    o->nodes = nodes;
    while (o->n_nodes < AS_CMD_MAX_LIST &&
           (nodes[o->n_nodes] = as_opt_list_at(line, "save-intermediates", o->n_nodes)) != NULL)
        o->n_nodes++;
    return ASSAY_OK;
}

/* One option is nothing without another. */
static int check_needs(const struct as_cmd_line *line, struct assay_error *err)
{
    static const struct {
        const char *name, *needs;
    } pairs[] = {{"save-intermediates", "save-outputs"},
                 {"output-format", "save-outputs"},
                 {"bisect", "expect"},
                 {"rtol", "expect"},
                 {"atol", "expect"}};

    for (size_t i = 0; i < AS_COUNT_OF(pairs); i++)
        if (as_opt_given(line, pairs[i].name) && !as_opt_given(line, pairs[i].needs))
            return as_fail(err, ASSAY_ERR_USAGE, "--%s needs --%s", pairs[i].name, pairs[i].needs);
    return ASSAY_OK;
}

static int read_options(struct as_outputs_options *o, const struct as_cmd_line *line,
                        struct as_arena *arena, struct assay_error *err)
{
    int format = as_opt_word(line, "output-format", FORMAT_BOTH);
    int rc = check_needs(line, err);

    *o = (struct as_outputs_options){
        .folder = as_opt_text(line, "save-outputs"),
        .npy = format != FORMAT_PB,
        .pb = format != FORMAT_NPY,
        .expect = as_opt_text(line, "expect"),
        .bisect = as_opt_given(line, "bisect"),
        .check_nan = as_opt_given(line, "check-nan"),
    };
    if (rc == ASSAY_OK)
        rc = read_tolerance(&o->rtol, line, "rtol", AS_OUTPUTS_RTOL, err);
    if (rc == ASSAY_OK)
        rc = read_tolerance(&o->atol, line, "atol", AS_OUTPUTS_ATOL, err);
    return rc < 0 ? rc : read_nodes(o, line, arena, err);
}

int as_kept_outputs_open(struct as_kept_outputs *kept, const struct as_cmd_line *line,
                         const struct as_model *model, struct as_profile_options *profile,
                         struct as_arena *arena, struct assay_error *err)
{
    const struct as_outputs_options *o = &kept->options;
    int rc = read_options(&kept->options, line, arena, err);

    if (rc < 0 || (!o->folder && !o->expect && !o->check_nan))
        return rc;
    rc = as_outputs_work_new(&kept->work, model, o, arena, err);
    profile->fill = as_outputs_fit;
    profile->fill_user = kept->work;
    return rc;
}

int as_kept_outputs_run(struct as_kept_outputs *kept, const struct as_cmd_line *line,
                        struct as_progress *progress, struct as_profile_run *run,
                        struct assay_error *err)
{
    unsigned long long n;
    int rc;

    if (!kept->work)
        return ASSAY_OK;
    if (as_interrupted()) {
        as_console_note(line, "note: outputs were not looked at: interrupted");
        return ASSAY_OK;
    }
    as_progress_show(progress, "checking outputs", AS_UNKNOWN);
    rc = as_outputs_run(kept->work, &kept->found, run, line->operand[0], err);
    as_progress_end(progress);
    if (rc < 0)
        return rc;
    kept->done = true;
    n = (unsigned long long)kept->found.n_files;
    if (kept->options.folder)
        as_console_note(line, "wrote %llu file%s to %s", n, n == 1 ? "" : "s",
                        kept->options.folder);
    return ASSAY_OK;
}
