/* api/manager/manager_export.c - a manager's texts on their way out: into a file that appears
 * whole, or into memory the caller frees. */
#include <limits.h>
#include <string.h>

#include "api/manager/manager_report.h"
#include "base/alloc.h"
#include "base/output.h"

typedef int (*write_text)(struct as_out *out, struct assay_manager *m, struct assay_error *err);

static int make_folder_above(const char *path, struct assay_error *err)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];

    if (!slash || slash == path)
        return ASSAY_OK;
    if ((size_t)(slash - path) >= sizeof folder)
        return as_fail(err, ASSAY_ERR_LIMIT, "path too long: %.80s", path);
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    return as_folder_make(folder, 0777, err);
}

int assay_manager_export(struct assay_manager *manager, const char *path, struct assay_error *err)
{
    struct as_out out;
    int rc = make_folder_above(path, err);

    if (rc == ASSAY_OK)
        rc = as_out_file(&out, path, err);
    if (rc < 0)
        return rc;
    rc = as_manager_json_report(&out, manager, err);
    if (rc < 0) {
        as_out_drop(&out);
        return rc;
    }
    return as_out_close(&out, err);
}

static int to_memory(struct assay_manager *m, write_text write, char **text, size_t *size,
                     struct assay_error *err)
{
    struct as_out out;
    size_t n;
    int rc = as_out_memory(&out, err);

    *text = NULL;
    if (rc < 0)
        return rc;
    rc = write(&out, m, err);
    if (rc == ASSAY_OK && !as_out_ok(&out))
        rc = as_fail_nomem(err);
    if (rc == ASSAY_OK) {
        const char *got = as_out_get(&out, &n);

        *text = as_alloc(n + 1);
        if (*text) {
            memcpy(*text, got, n);
            (*text)[n] = '\0';
            if (size)
                *size = n;
        } else {
            rc = as_fail_nomem(err);
        }
    }
    as_out_drop(&out);
    return rc;
}

int assay_manager_report(struct assay_manager *manager, char **text, size_t *size,
                         struct assay_error *err)
{
    return to_memory(manager, as_manager_json_report, text, size, err);
}

int assay_manager_dashboard(struct assay_manager *manager, char **text, size_t *size,
                            struct assay_error *err)
{
    return to_memory(manager, as_manager_json_dashboard, text, size, err);
}

void assay_manager_text_free(char *text)
{
    as_free(text);
}
