/* cmd/profile/output_options.c - the options by which a user says what becomes of a model's
 * outputs.
 */
#include "cmd/profile/output_options.h"

#include <string.h>

#include "base/text/text.h"
#include "base/units.h"

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

int as_output_options_read(struct as_outputs_options *o, bool *asked,
                           const struct as_cmd_line *line, struct as_arena *arena,
                           struct assay_error *err)
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
    *asked = o->folder || o->expect || o->check_nan;
    if (rc == ASSAY_OK)
        rc = read_tolerance(&o->rtol, line, "rtol", AS_OUTPUTS_RTOL, err);
    if (rc == ASSAY_OK)
        rc = read_tolerance(&o->atol, line, "atol", AS_OUTPUTS_ATOL, err);
    return rc < 0 ? rc : read_nodes(o, line, arena, err);
}
