/* cmd/cmd_verify.c - all of `assay verify`: checks every block and every event of a run.
 * The answer is no when something that was recorded cannot be read. */
#include "cmd/cmd.h"
#include "cmd/console.h"
#include "report/report_health.h"
#include "report/report_verify.h"

static const struct as_opt verify_opts[] = {AS_OPT_JSON, {.name = NULL}};

static int print(const struct as_cmd_line *line, const struct as_layers *layers,
                 struct assay_error *err)
{
    struct as_console console;
    int rc = as_console_open(&console, line, err);

    if (rc < 0)
        return rc;
    if (as_opt_given(line, "json"))
        rc = as_verify_json(layers, &console.out, err);
    else
        rc = as_verify_page(layers, &console.out, &console.term, err);
    return as_console_close(&console, rc, err);
}

static int run_verify(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_layers_options how = AS_LAYERS_OPTIONS_INIT;
    struct as_layers *layers = NULL;
    struct as_run *run = NULL;
    int rc = as_run_open(&run, line->operand[0], err);

    if (rc == ASSAY_OK)
        rc = as_layers_analyze(&layers, run, &how, err);
    if (rc == ASSAY_OK)
        rc = print(line, layers, err);
    if (rc == ASSAY_OK && !as_health_is_whole(layers))
        rc = AS_ANSWER_NO;
    as_layers_free(layers);
    as_run_close(run);
    return rc;
}

const struct as_cmd as_cmd_verify = {
    .name = "verify",
    .summary = "check that a run is whole",
    .usage = "assay verify [options] RUN",
    .details = "Checks the checksum of every block, decodes every event and looks at the ring "
               "beside a run that was not closed. The exit status is 0 when everything that was "
               "recorded can be read, 1 when something is damaged, cut or lost, and 3 when the "
               "file is no run at all.",
    .opts = verify_opts,
    .operand = "RUN",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_verify,
};
