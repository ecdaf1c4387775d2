/* cmd/common/forms.c - one result in every form: what --format prints and what --export-json,
 * --export-csv and --export-markdown write all come from the same value. */
#include "cmd/common/forms.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/file_guard.h"

/* The value of an option that the command may not have. */
static const char *text_of(const struct as_cmd_line *line, const char *name)
{
    return as_opt_known(line, name) ? as_opt_text(line, name) : NULL;
}

static bool is_safe(const struct as_cmd_line *line)
{
    return as_opt_known(line, "csv-safe") && as_opt_given(line, "csv-safe");
}

static int check_file(const char *option, const char *path, struct assay_error *err)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    char folder[4096];
    struct stat st;

    if (!path)
        return ASSAY_OK;
    if (strcmp(path, "-") == 0)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--%s writes a file; --format %s prints to standard "
                       "output",
                       option, option + strlen("export-"));
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return as_fail(err, ASSAY_ERR_IO, "--%s %.150s: it is a folder", option, path);
    if (slash && (size_t)(slash - path) >= sizeof folder)
        return as_fail(err, ASSAY_ERR_USAGE, "--%s: the path is too long", option);
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                   slash ? path : ".");
    if (access(folder, W_OK) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot write --%s %s", option, path);
    return as_guard_check_path(path, err);
}

/* A page; a run that is recorded keeps the one it replaces. */
static int check_output(const struct as_cmd_line *line, struct assay_error *err)
{
    const char *path = text_of(line, "output");
    size_t size = path ? strlen(path) : 0;

    if (!path || strcmp(path, "-") == 0 || strcmp(line->cmd->name, "run") == 0 ||
        (size > 6 && strcmp(path + size - 6, ".assay") == 0))
        return ASSAY_OK;
    return as_guard_check_path(path, err);
}

/* That it can be drawn is known before anything is measured. */
static int check_picture(const char *option, const char *path, struct assay_error *err)
{
    size_t size = path ? strlen(path) : 0;

    if (path && (size < 5 || strcmp(path + size - 4, ".svg") != 0))
        return as_fail(err, ASSAY_ERR_USAGE, "--%s is a file FILE.svg, not '%.60s'", option, path);
    return check_file(option, path, err);
}

int as_forms_check(const struct as_cmd_line *line, struct assay_error *err)
{
    const char *folder = text_of(line, "export-csv");
    struct stat st;
    int rc = check_output(line, err);

    if (rc == ASSAY_OK)
        rc = check_file("export-json", text_of(line, "export-json"), err);
    if (rc == ASSAY_OK)
        rc = check_file("export-markdown", text_of(line, "export-markdown"), err);
    if (rc == ASSAY_OK && text_of(line, "report-file") &&
        strcmp(text_of(line, "report-file"), "-") != 0)
        rc = check_file("report-file", text_of(line, "report-file"), err);
    if (rc == ASSAY_OK)
        rc = check_picture("roofline", text_of(line, "roofline"), err);
    if (rc == ASSAY_OK && folder && stat(folder, &st) == 0 && !S_ISDIR(st.st_mode))
        rc = as_fail(err, ASSAY_ERR_IO, "--export-csv %.150s: it is not a folder", folder);
    return rc;
}

bool as_forms_want_json(const struct as_cmd_line *line)
{
    return as_format_of(line) == AS_FORMAT_JSON || text_of(line, "export-json");
}

static int put(const struct as_forms *forms, enum as_output_format format,
               const struct as_cmd_line *line, struct as_out *out, const struct as_term *term,
               struct assay_error *err)
{
    int rc;

    if (format == AS_FORMAT_JSON)
        return forms->json(forms->of, out, err);
    if (format != AS_FORMAT_CSV)
        return forms->page(forms->of, format == AS_FORMAT_MARKDOWN, out, term, err);
    if (!forms->csv)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "this result has no table for CSV; its formats are text, json and markdown");
    rc = forms->csv(forms->of, &(struct as_csv_target){.out = out, .safe = is_safe(line)}, err);
    return rc < 0 ? rc : ASSAY_OK;
}

int as_forms_put(const struct as_forms *forms, const struct as_cmd_line *line, struct as_out *out,
                 const struct as_term *term, struct assay_error *err)
{
    return put(forms, as_format_of(line), line, out, term, err);
}

static int export_file(const struct as_forms *forms, const char *option,
                       enum as_output_format format, const struct as_cmd_line *line,
                       struct assay_error *err)
{
    const char *path = text_of(line, option);
    struct as_term term;
    struct as_out out;
    int rc;

    if (!path)
        return ASSAY_OK;
    rc = as_out_file(&out, path, err);
    if (rc < 0)
        return rc;
    term = as_console_term_of(line, -1);
    rc = put(forms, format, line, &out, &term, err);
    if (rc < 0) {
        as_out_drop(&out);
        return rc;
    }
    rc = as_out_close(&out, err);
    if (rc == ASSAY_OK)
        as_console_note(line, "wrote %s", path);
    return rc;
}

static int export_folder(const struct as_forms *forms, const struct as_cmd_line *line,
                         struct assay_error *err)
{
    const char *folder = text_of(line, "export-csv");
    int n;

    if (!folder)
        return ASSAY_OK;
    if (!forms->csv)
        return as_fail(err, ASSAY_ERR_USAGE, "--export-csv: this result has no tables");
    n = forms->csv(forms->of, &(struct as_csv_target){.folder = folder, .safe = is_safe(line)},
                   err);
    if (n < 0)
        return n;
    as_console_note(line, "%d file%s written to %s", n, n == 1 ? "" : "s", folder);
    return ASSAY_OK;
}

int as_forms_export(const struct as_forms *forms, const struct as_cmd_line *line,
                    struct assay_error *err)
{
    int rc = export_file(forms, "export-json", AS_FORMAT_JSON, line, err);

    if (rc == ASSAY_OK)
        rc = export_folder(forms, line, err);
    if (rc == ASSAY_OK)
        rc = export_file(forms, "export-markdown", AS_FORMAT_MARKDOWN, line, err);
    return rc;
}

int as_forms_print(const struct as_forms *forms, const struct as_cmd_line *line,
                   struct assay_error *err)
{
    int exported = as_forms_export(forms, line, err), rc;
    struct assay_error why = {0};
    struct as_console console;

    rc = as_console_open(&console, line, &why);
    if (rc == ASSAY_OK) {
        rc = as_forms_put(forms, line, &console.out, &console.term, &why);
        rc = as_console_close(&console, rc, &why);
    }
    if (exported < 0)
        return exported;
    if (rc < 0 && err)
        *err = why;
    return rc;
}
