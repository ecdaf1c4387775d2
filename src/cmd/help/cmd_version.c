/* cmd/help/cmd_version.c - all of `assay version` and `assay --version`.
 * Tells the version of the program and of the files it reads. */
#include "base/json/json_writer.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "trace/run/run_format.h"

static const struct as_opt version_opts[] = {AS_OPTS_FORMAT(as_format_plain_at), {.name = NULL}};

static int put_json(struct as_out *out, struct assay_error *err)
{
    struct as_json_writer w;

    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.version");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_text(&w, "version", ASSAY_VERSION);
    as_json_kv_u64(&w, "run_format_major", AS_RUN_MAJOR);
    as_json_kv_u64(&w, "run_format_minor", AS_RUN_MINOR);
    as_json_object_end(&w);
    as_out_char(out, '\n');
    return as_json_writer_finish(&w, err);
}

static int run_version(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_console console;
    int rc = as_console_open(&console, line, err);

    if (rc < 0)
        return rc;
    if (as_opt_given(line, "json"))
        rc = put_json(&console.out, err);
    else
        as_out_printf(&console.out, "assay %s\n", ASSAY_VERSION);
    return as_console_close(&console, rc, err);
}

static const struct as_example version_examples[] = {
    {"assay version", "the version of this program"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "assay version [options]",
    .opts = version_opts,
    .examples = version_examples,
    .run = run_version,
};
